r"""Shannon capacity: the most information a channel can carry, with a certified gap."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.consumers import Prior
from tightrope.errors import InputError
from tightrope.leakage import by_rule
from tightrope.leakage.simplex import Objective, maximise

Array = NDArray[np.float64]

#: Bits by which the capacity may be uncertain, unless another gap is asked for.
CAPACITY_GAP = 1e-9


@dataclass(frozen=True)
class Capacity:
    r"""Shannon capacity between two certified bounds.

    Attributes
    ----------
    bits
        The information :math:`I(p; X)` that the prior below carries: a lower bound.
    upper_bits
        :math:`\max_i D(X_i \| pX)`, which no prior exceeds.
    prior
        The prior that reaches ``bits``; ``None`` when the capacity was found by rule (then the
        uniform prior reaches it, or the product of the coordinates' own priors).
    steps
        Steps taken; 0 when the capacity was found by rule.
    converged
        Whether the gap asked for was reached.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> found = shannon_capacity(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(found.bits, 6), found.gap < 1e-9
    (0.188722, True)
    """

    bits: float
    upper_bits: float
    prior: Array | None
    steps: int
    converged: bool

    @property
    def gap(self) -> float:
        """How far the true capacity can lie above ``bits``."""
        return self.upper_bits - self.bits


def shannon_capacity(channel: Channel, *, gap: float = CAPACITY_GAP) -> Capacity:
    r"""Return :math:`\max_p I(p; X)` in bits with lower and upper bounds.

    Any prior p bounds the capacity from both sides,
    :math:`I(p; X) \le C \le \max_i D(X_i \| pX)` (Blahut, Arimoto), so the result is certified
    whatever the method. The Blahut-Arimoto step
    :math:`p_i \leftarrow p_i\,2^{D(X_i \| pX)}` (normalised) converges slowly where two inputs
    are nearly equally good; after a few of them Newton steps finish the work.

    Parameters
    ----------
    channel
        Any channel whose matrix fits, or one whose capacity follows a rule.
    gap
        Largest difference wanted between the two bounds, in bits.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> erasure = Channel([[0.7, 0.0, 0.3], [0.0, 0.7, 0.3]])
    >>> round(shannon_capacity(erasure).bits, 9)
    0.7
    """
    if not gap > 0:
        raise InputError(f"the gap must be positive, got {gap}")
    split = by_rule.parts(channel, Prior.uniform(channel.shape[0]))
    if split is not None:
        return _sum_of_parts(split, gap)
    found = by_rule.symmetric_information(channel)
    if found is not None:
        return Capacity(found, found, None, 0, True)
    matrix = channel.matrix()
    matrix = matrix[:, matrix.any(axis=0)]
    nats = gap * math.log(2)
    best = maximise(_information(matrix), len(matrix), gap=nats)
    low = max(0.0, best.value / math.log(2))
    return Capacity(low, low + best.gap / math.log(2), best.point, best.steps, best.converged)


def _sum_of_parts(split: list[by_rule.Part], gap: float) -> Capacity:
    """Independent coordinates: capacities, and the gaps between their bounds, add up."""
    total = sum(part.times for part in split)
    found = [(part.times, shannon_capacity(part.channel, gap=gap / total)) for part in split]
    return Capacity(
        sum(times * each.bits for times, each in found),
        sum(times * each.upper_bits for times, each in found),
        None,
        sum(each.steps for _, each in found),
        all(each.converged for _, each in found),
    )


def _information(matrix: Array) -> Objective:
    """Mutual information in nats as a function of the prior."""
    logs = np.log(matrix, out=np.zeros_like(matrix), where=matrix > 0)
    own = np.einsum("ij,ij->i", matrix, logs)

    def divergences(p: Array) -> Array:
        return np.asarray(own - matrix @ np.log(p @ matrix))

    def value(p: Array) -> float:
        return float(p @ divergences(p))

    def curvature(p: Array) -> Array:
        half = matrix / np.sqrt(p @ matrix)
        return np.asarray(half @ half.T)

    def step(p: Array) -> Array:
        grown = p * np.exp(divergences(p))
        return np.asarray(grown / grown.sum())

    return Objective(value, divergences, curvature, step)
