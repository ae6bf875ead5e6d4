r"""What is believed about the secret after an output: posteriors and hyper-distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.leakage.entropy import PriorLike, as_prior

Array = NDArray[np.float64]

#: Two posteriors whose probabilities agree to this many decimals count as one.
MERGE_DECIMALS = 12


@dataclass(frozen=True)
class Hyper:
    r"""A distribution over posteriors: how likely each belief is to come about.

    Attributes
    ----------
    outer
        Probability of each posterior, in falling order.
    posteriors
        One row for each posterior: the belief over the secrets.
    outputs
        For each posterior the outputs that lead to it.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> found = hyper(Channel([[0.5, 0.25, 0.25, 0], [0, 0.5, 0.5, 0]]), [0.5, 0.5])
    >>> found.outer.tolist(), found.posteriors.round(4).tolist(), found.outputs
    ([0.75, 0.25], [[0.3333, 0.6667], [1.0, 0.0]], ((1, 2), (0,)))
    """

    outer: Array
    posteriors: Array
    outputs: tuple[tuple[int, ...], ...]

    @property
    def prior(self) -> Array:
        """The mean of the posteriors, which is the prior."""
        return np.asarray(self.outer @ self.posteriors)

    @property
    def vulnerability(self) -> float:
        """The expected chance of a right guess."""
        return float(self.outer @ self.posteriors.max(axis=1))


def posterior(channel: Channel, output: int, prior: PriorLike = None) -> Array:
    r"""Return the belief after one output, :math:`π_i X_{io} / \sum_h π_h X_{ho}`.

    >>> from tightrope.channels import Channel
    >>> posterior(Channel([[0.75, 0.25], [0.25, 0.75]]), 1, [0.5, 0.5]).tolist()
    [0.25, 0.75]
    """
    joint = as_prior(prior, channel.shape[0]).probabilities * channel.column(output)
    total = float(joint.sum())
    if total <= 0:
        raise InputError(f"output {output} has probability 0 under this prior: no posterior")
    return np.asarray(joint / total)


def hyper(channel: Channel, prior: PriorLike = None) -> Hyper:
    """Return the hyper-distribution of a prior through a channel.

    Outputs that lead to the same posterior (proportional columns) are one, and outputs that
    cannot occur are left out: the channel in reduced form. Leakage depends on nothing else.

    Parameters
    ----------
    channel
        Any channel whose matrix fits.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> hyper(GeometricChannel(5, 1)).outer.round(4).tolist()
    [0.2297, 0.2297, 0.1854, 0.1775, 0.1775]
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    joint = channel.matrix() * pi[:, None]
    mass = joint.sum(axis=0)
    seen = np.flatnonzero(mass > 0)
    beliefs = (joint[:, seen] / mass[seen]).T
    _, group = np.unique(beliefs.round(MERGE_DECIMALS), axis=0, return_inverse=True)
    group = group.ravel()
    outer: Array = np.bincount(group, weights=mass[seen]).astype(np.float64)
    rows = np.zeros((len(outer), len(pi)))
    np.add.at(rows, group, joint[:, seen].T)
    # Stable order: likeliest first, then by first output.
    first = np.full(len(outer), channel.shape[1])
    np.minimum.at(first, group, seen)
    order = np.lexsort((first, -outer.round(MERGE_DECIMALS)))
    members = tuple(tuple(int(o) for o in seen[group == k]) for k in order)
    return Hyper(_frozen(outer[order]), _frozen(rows[order] / outer[order][:, None]), members)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
