r"""Leakage about a property of the secret: "is the count above 10?" instead of the count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.leakage.entropy import PriorLike, as_prior

Array = NDArray[np.float64]

#: Largest number of choices of one secret for each class that are gone through.
CHOICE_LIMIT = 200_000


@dataclass(frozen=True)
class PredicateLeakage:
    """How well a property of the secret is guessed, before and after the output.

    Attributes
    ----------
    classes
        The values that the predicate takes.
    before, after
        The chance of a right guess of the predicate's value.
    leakage_bits
        The logarithm of their ratio.

    Examples
    --------
    >>> PredicateLeakage((False, True), 0.5, 0.75, 0.584963).after
    0.75
    """

    classes: tuple[Hashable, ...]
    before: float
    after: float
    leakage_bits: float


@dataclass(frozen=True)
class PredicateCapacity:
    """The largest leakage about a predicate over all priors, and the secrets that show it.

    Attributes
    ----------
    bits
        What the secrets below reach.
    upper_bits
        What no prior exceeds; equal to ``bits`` when ``exact``.
    exact
        Whether all choices were gone through.
    secrets
        One secret for each class: the worst prior is uniform on these.

    Examples
    --------
    >>> PredicateCapacity(0.5, 0.5, True, (0, 3)).secrets
    (0, 3)
    """

    bits: float
    upper_bits: float
    exact: bool
    secrets: tuple[int, ...]


def predicate_leakage(
    channel: Channel,
    predicate: Callable[[Any], Hashable] | Sequence[Hashable],
    prior: PriorLike = None,
) -> PredicateLeakage:
    r"""Return how much the output helps to guess a predicate of the secret.

    :math:`V = \sum_o \max_c \sum_{i : P(i) = c} π_i X_{io}`, the g-vulnerability for the gain 1
    when the class is right.

    Parameters
    ----------
    channel
        Any channel.
    predicate
        A function of the input's label, or the list of its values for all inputs.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> found = predicate_leakage(GeometricChannel(6, "ln(2)"), lambda count: count >= 3)
    >>> found.before, round(found.after, 6)
    (0.5, 0.805556)
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    classes, member = _classes(channel, predicate)
    total = np.zeros((len(classes), channel.shape[1]))
    weighted = np.zeros((len(classes), channel.shape[0]))
    weighted[member, np.arange(len(member))] = pi
    for start, block in channel.row_blocks():
        total += weighted[:, start : start + len(block)] @ block
    before = float(weighted.sum(axis=1).max())
    after = float(total.max(axis=0).sum())
    return PredicateLeakage(classes, before, after, max(0.0, math.log2(after / before)))


def predicate_capacity(
    channel: Channel, predicate: Callable[[Any], Hashable] | Sequence[Hashable]
) -> PredicateCapacity:
    r"""Return the largest leakage about a predicate over all priors of the secret.

    The rows of the channel from the predicate's value to the output are mixtures of rows of
    one class, and leakage is convex in each: the worst prior puts each class on one secret,
    and all classes are equally likely. So the capacity is
    :math:`\log_2 \max \sum_o \max_c X_{i_c o}` over choices of one secret :math:`i_c` for each
    class; for two classes that is :math:`\log_2(1 + \max TV(X_i, X_h))`.

    All choices are gone through when there are at most ``CHOICE_LIMIT``; otherwise choices are
    improved one class at a time and the result lies between two bounds.

    Parameters
    ----------
    channel
        Any channel whose matrix fits.
    predicate
        A function of the input's label, or the list of its values for all inputs.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> found = predicate_capacity(GeometricChannel(6, "ln(2)"), lambda count: count >= 3)
    >>> round(found.bits, 6), found.secrets
    (0.874469, (0, 5))
    """
    classes, member = _classes(channel, predicate)
    rows = [np.flatnonzero(member == c) for c in range(len(classes))]
    matrix = channel.matrix()
    if len(classes) == 1:
        return PredicateCapacity(0.0, 0.0, True, (0,))
    if len(classes) == 2:
        best, chosen = _worst_pair(matrix, rows[0], rows[1])
        return PredicateCapacity(math.log2(best), math.log2(best), True, chosen)
    if math.prod(len(group) for group in rows) <= CHOICE_LIMIT:
        best, chosen = max(
            (float(matrix[list(choice)].max(axis=0).sum()), tuple(map(int, choice)))
            for choice in itertools.product(*rows)
        )
        return PredicateCapacity(math.log2(best), math.log2(best), True, chosen)
    best, chosen = _climb(matrix, rows)
    upper = min(float(len(classes)), float(matrix.max(axis=0).sum()))
    return PredicateCapacity(math.log2(best), math.log2(upper), False, chosen)


def _classes(
    channel: Channel, predicate: Callable[[Any], Hashable] | Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    count = channel.shape[0]
    if callable(predicate):
        values = [predicate(label) for label in channel.inputs]
    else:
        values = list(predicate)
        if len(values) != count:
            raise InputError(
                f"the predicate must have a value for each of the {count} inputs, got {len(values)}"
            )
    places: dict[Hashable, int] = {}
    member = np.array([places.setdefault(value, len(places)) for value in values], np.int64)
    return tuple(places), member


def _worst_pair(
    matrix: Array, first: NDArray[np.int64], second: NDArray[np.int64]
) -> tuple[float, tuple[int, ...]]:
    best = 0.0
    chosen: tuple[int, ...] = (0, 0)
    for i in first:
        totals = np.maximum(matrix[second], matrix[i]).sum(axis=1)
        place = int(totals.argmax())
        if totals[place] > best:
            best, chosen = float(totals[place]), (int(i), int(second[place]))
    return best, chosen


def _climb(matrix: Array, rows: list[NDArray[np.int64]]) -> tuple[float, tuple[int, ...]]:
    chosen = [int(group[0]) for group in rows]
    best = float(matrix[chosen].max(axis=0).sum())
    better = True
    while better:
        better = False
        for c, group in enumerate(rows):
            others = matrix[[i for k, i in enumerate(chosen) if k != c]].max(axis=0)
            totals = np.maximum(matrix[group], others).sum(axis=1)
            place = int(totals.argmax())
            if totals[place] > best + 1e-12:
                best, chosen[c], better = float(totals[place]), int(group[place]), True
    return best, tuple(chosen)
