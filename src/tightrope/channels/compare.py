"""Equality of channels within a named tolerance, reduced channels, and how alike rows are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import LIMITS, Channel, IntegerChannel
from tightrope.channels.structured import GeometricChannel
from tightrope.errors import TooLarge


@dataclass(frozen=True)
class Comparison:
    """Whether two channels are equal, and where they differ most.

    Attributes
    ----------
    equal
        The answer; also the truth value of the comparison.
    difference
        The largest difference of two probabilities; ``inf`` when the shapes differ.
    place
        Row and column where it is found; ``None`` when the shapes differ.
    tolerance
        What was allowed.
    exact
        Whether the difference was computed in integers.

    Examples
    --------
    >>> equal(Channel([[0.5, 0.5]]), Channel([[0.25, 0.75]])).difference
    0.25
    """

    equal: bool
    difference: float
    place: tuple[int, int] | None
    tolerance: float
    exact: bool

    def __bool__(self) -> bool:
        return self.equal


def equal(first: Channel, second: Channel, *, tolerance: float | None = None) -> Comparison:
    """Compare the matrices of two channels; labels do not matter.

    Parameters
    ----------
    first, second
        The channels. Two with integer weights are compared exactly.
    tolerance
        The largest difference that counts as equal; by default 0 between integer channels and
        1e-12 otherwise.

    Examples
    --------
    >>> bool(equal(IntegerChannel([[1, 2], [2, 1]]), IntegerChannel([[2, 4], [4, 2]])))
    True
    """
    exact = isinstance(first, IntegerChannel) and isinstance(second, IntegerChannel)
    rounding = 0.0 if exact else 1e-12
    allowed = rounding if tolerance is None else float(tolerance)
    if first.shape != second.shape:
        return Comparison(False, math.inf, None, allowed, exact)
    worst, place = -1.0, (0, 0)
    for i, rows in enumerate(zip(first.exact_rows(), second.exact_rows(), strict=True)):
        gaps = np.abs(np.subtract(*map(np.array, rows)))
        o = int(gaps.argmax())
        if gaps[o] > worst:
            worst, place = gaps[o], (i, o)
    return Comparison(bool(worst <= allowed), float(worst), place, allowed, exact)


Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Reduction:
    """A channel without zero columns in which no two columns are proportional.

    Attributes
    ----------
    channel
        The reduced channel. A merged column has the label of the first of its group.
    groups
        For each column of it the original columns that were added up; a column of zeros is in
        none of them.

    Examples
    --------
    >>> reduced(Channel([[0.5, 0.25, 0.25], [0.25, 0.125, 0.625]])).groups
    ((0, 1), (2,))
    """

    channel: Channel
    groups: Groups


def reduced(channel: Channel, *, tolerance: float = 1e-10) -> Reduction:
    r"""Drop zero columns and add up proportional ones.

    Proportional columns give every prior the same posterior, so the reduced channel is
    equivalent: each can be derived from the other by a remap.

    Parameters
    ----------
    channel
        A channel whose matrix fits. Integer weights are decided exactly.
    tolerance
        For floats: how far two columns, each divided by its largest entry, may differ.

    Examples
    --------
    >>> small = reduced(IntegerChannel([[2, 1, 0, 3], [4, 2, 0, 0]]))
    >>> small.channel.weights.tolist(), small.groups
    ([[3, 3], [6, 0]], ((0, 1), (3,)))
    """
    kind: type[Channel] = Channel
    if isinstance(channel, IntegerChannel):
        kind, source = IntegerChannel, channel.weights
        groups = _exact_groups(source)
    else:
        source = channel.matrix()
        groups = _float_groups(source, tolerance)
    summed = np.stack([source[:, list(group)].sum(axis=1) for group in groups], axis=1)
    labels = [channel.output_label(group[0]) for group in groups]
    return Reduction(kind(summed, inputs=channel.inputs, outputs=labels), groups)


def _exact_groups(weights: NDArray[Any]) -> Groups:
    members: dict[tuple[int, ...], list[int]] = {}
    for o, column in enumerate(weights.T.tolist()):
        shared = math.gcd(*column)
        if shared:
            members.setdefault(tuple(w // shared for w in column), []).append(o)
    return tuple(map(tuple, members.values()))


def _float_groups(matrix: NDArray[np.float64], tolerance: float) -> Groups:
    tops = matrix.max(axis=0)
    live = np.flatnonzero(tops > 0)
    scaled = (matrix[:, live] / tops[live]).T
    # Columns within the tolerance have means within it: only those are compared.
    means = scaled.mean(axis=1)
    leaders: list[int] = []
    members: dict[int, list[int]] = {}
    first = 0
    for k in np.argsort(means, kind="stable").tolist():
        while first < len(leaders) and means[k] - means[leaders[first]] > tolerance:
            first += 1
        near = leaders[first:]
        gaps = np.abs(scaled[near] - scaled[k]).max(axis=1) if near else np.ones(1)
        if gaps.min() <= tolerance:
            members[near[int(gaps.argmin())]].append(k)
        else:
            leaders.append(k)
            members[k] = [k]
    return tuple(sorted(tuple(sorted(live[group].tolist())) for group in members.values()))


def dobrushin(channel: Channel, *, limit: int = 4_000_000_000) -> float:
    r"""Return :math:`μ = -\min_{i,h} \sum_o \min(X_{io}, X_{ho})`, a utility between -1 and 0.

    It is the negative of Dobrushin's coefficient of ergodicity: -1 when two rows are alike
    whatever one does, 0 when two inputs are told apart for certain. Post-processing never
    raises it [D, Ex 3.2.3, App A]. Equivalently :math:`μ = \max_{i,h} TV(X_i, X_h) - 1`.

    Parameters
    ----------
    channel
        Any channel; all pairs of rows are compared unless a rule names the worst pair.
    limit
        Largest number of comparisons (pairs of rows times outputs) that is made.

    Examples
    --------
    >>> from tightrope.channels import Channel, GeometricChannel
    >>> dobrushin(Channel([[0.75, 0.25], [0.25, 0.75]]))
    -0.5
    >>> round(dobrushin(GeometricChannel(5, "ln(2)")), 12)    # diameter 4: -exp(-2ε)
    -0.25
    """
    rows, columns = channel.shape
    if isinstance(channel, GeometricChannel):
        # Rows are ordered by likelihood ratio, so the two ends are told apart best.
        return -float(np.minimum(channel.row(0), channel.row(rows - 1)).sum())
    if rows * rows * columns > 2 * limit:
        raise TooLarge(
            f"the Dobrushin coefficient compares all pairs of {rows} rows with {columns} outputs, "
            f"more than {limit} comparisons"
        )
    from scipy.spatial.distance import cdist

    matrix, step = channel.matrix(), max(1, LIMITS.block // rows)
    blocks = (matrix[low : low + step] for low in range(0, rows, step))
    return max(float(cdist(block, matrix, "cityblock").max()) for block in blocks) / 2 - 1
