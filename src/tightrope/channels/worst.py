r"""Where a channel is least private: the worst ratio of two probabilities over an edge.

Floats search; where the channel has integer weights the places that come close to the largest
ratio are compared again in integers, so that the answer is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import MATRIX_LIMIT, Channel, RuleChannel
from tightrope.channels.compose import CascadeChannel
from tightrope.channels.integer import IntegerChannel
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph

#: Number of entries that are compared at once; small enough for a processor's cache.
SEARCH_ENTRIES = 500_000
#: Up to this many entries the matrix is made before it is looked through.
HELD_ENTRIES = 16_000_000
#: Largest number of entries of a channel without a rule that is looked through.
SEARCH_LIMIT = 5_000_000_000
#: Two quotients of integers, rounded to floats, lie closer than this to the exact ones.
_QUOTIENT_ERROR = 1e-14
#: A logarithm this much smaller than another is smaller before rounding as well.
_CLEARLY = 1e-11


@dataclass(frozen=True)
class Worst:
    r"""The largest ratio of two probabilities over the edges of one length.

    Attributes
    ----------
    edge
        The two nodes, the one with the larger probability first; ``None`` without edges.
    output
        The output at which the ratio is found.
    ratio
        The ratio: exact as a ``Fraction``, ``inf`` for a zero beside a non-zero.
    length
        The length of the edge.
    level
        :math:`\ln(\text{ratio})/\text{length}`, the smallest :math:`\varepsilon` for it.
    rule
        (times, ε) when a rule gives the level as exactly times·ε.

    Examples
    --------
    >>> Worst((0, 1), 0, Fraction(2)).level == math.log(2)
    True
    """

    edge: tuple[int, int] | None
    output: int | None
    ratio: Fraction | float
    length: float = 1.0
    rule: tuple[Fraction, Epsilon] | None = None

    @property
    def level(self) -> float:
        """The smallest ε for this edge and output."""
        if self.rule is not None:
            times, epsilon = self.rule
            return float(times) * float(epsilon)
        return log_ratio(self.ratio) / self.length


def log_ratio(ratio: Fraction | float) -> float:
    """Return the logarithm of a ratio of any size.

    >>> log_ratio(Fraction(10**400)) > 900, log_ratio(math.inf)
    (True, inf)
    """
    if isinstance(ratio, Fraction):
        # The difference of two close logarithms would lose the digits that matter.
        if ratio < 2:
            return math.log1p(float(ratio - 1))
        return math.log(ratio.numerator) - math.log(ratio.denominator)
    return math.log(ratio)


NOWHERE = Worst(None, None, Fraction(1))


def search(channel: Channel, graph: AnswerGraph) -> list[Worst]:
    """Return the worst place for every length of edge by looking at all entries.

    For floats only the worst of all is returned. Structured kinds that know their worst place
    are not looked through; see :mod:`tightrope.channels.privacy`.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> search(IntegerChannel([[3, 1], [1, 3]]), PathPower(2))[0].ratio
    Fraction(3, 1)
    """
    if graph.size == 1:
        return [NOWHERE]
    rows, columns = channel.shape
    if rows * columns > SEARCH_LIMIT:
        raise TooLarge(
            f"looking through {rows} × {columns} probabilities is more than {SEARCH_LIMIT}: "
            f"use a kind of channel with a rule for {graph.name}"
        )
    if isinstance(channel, IntegerChannel):
        return [_exact_worst(channel.weights, *group) for group in _groups(graph)]
    return [_float_worst(channel, graph)]


# -- floats -------------------------------------------------------------------------------


def _column_blocks(channel: Channel) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield all rows of a few columns at a time, with the first column's index."""
    rows, columns = channel.shape
    step = max(1, SEARCH_ENTRIES // rows)
    # A column of a matrix product costs as much as many: make the matrix while it fits.
    held = not isinstance(channel, RuleChannel) or isinstance(channel, CascadeChannel)
    wanted = MATRIX_LIMIT if held else HELD_ENTRIES
    matrix = channel.matrix() if rows * columns <= wanted else None
    for start in range(0, columns, step):
        stop = min(columns, start + step)
        if matrix is not None:
            yield start, matrix[:, start:stop]
        else:
            yield start, np.stack([channel.column(o) for o in range(start, stop)], axis=1)


def _float_worst(channel: Channel, graph: AnswerGraph) -> Worst:
    by_rule = graph.knows_maxima
    edges = None if by_rule else graph.edge_array()
    lengths = graph.edge_lengths() if graph.has_lengths else None
    score, best = -math.inf, NOWHERE
    for start, block in _column_blocks(channel):
        if edges is None:
            top = graph.nearby_maxima(block)
            ratios = _quotients(top, block)
            i, o = divmod(int(ratios.argmax()), block.shape[1])
            if ratios[i, o] > score:
                score = float(ratios[i, o])
                best = Worst(_edge_to(graph, i, block[:, o]), start + o, score)
            continue
        for first in range(0, len(edges), _edge_step(block)):
            part = edges[first : first + _edge_step(block)]
            left, right = block[part[:, 0]], block[part[:, 1]]
            ratios = _quotients(np.maximum(left, right), np.minimum(left, right))
            tops = ratios.max(axis=1)
            scores = tops
            if lengths is not None:
                scores = np.log(tops) / lengths[first : first + len(part)]
            e = int(scores.argmax())
            if scores[e] > score:
                score, o = float(scores[e]), int(ratios[e].argmax())
                edge = _ordered(part[e], left[e, o], right[e, o])
                length = 1.0 if lengths is None else float(lengths[first + e])
                best = Worst(edge, start + o, float(tops[e]), length)
    return best


def _quotients(large: NDArray[Any], small: NDArray[Any]) -> NDArray[np.float64]:
    """Quotients of numbers ≥ 0, with 0/0 = 1 and x/0 = ∞."""
    if large.dtype == object:
        each: NDArray[Any] = np.frompyfunc(_quotient, 2, 1)(large, small)
        return np.asarray(each, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out: NDArray[np.float64] = np.divide(large, small)
    if not small.all():
        out[(small == 0) & (large == 0)] = 1
    return out


def _quotient(large: Any, small: Any) -> Any:
    if small == 0:
        return math.inf if large else 1.0
    try:
        return large / small
    except OverflowError:
        return math.inf


def _edge_step(block: NDArray[Any]) -> int:
    return max(1, SEARCH_ENTRIES // int(block.shape[1]))


def _edge_to(graph: AnswerGraph, i: int, column: NDArray[Any]) -> tuple[int, int]:
    near = graph.neighbours(i)
    return int(near[column[near].argmax()]), i


def _ordered(edge: NDArray[np.int64], left: Any, right: Any) -> tuple[int, int]:
    i, h = map(int, edge)
    return (i, h) if left >= right else (h, i)


# -- integers -----------------------------------------------------------------------------


def _groups(graph: AnswerGraph) -> Iterator[tuple[AnswerGraph, float, NDArray[np.int64] | None]]:
    """Yield the edges of each length; ``None`` for all edges of a graph with a rule."""
    if graph.knows_maxima:
        yield graph, 1.0, None
        return
    edges, lengths = graph.edge_array(), graph.edge_lengths()
    order = np.argsort(lengths, kind="stable")
    values, starts = np.unique(lengths[order], return_index=True)
    for value, part in zip(values, np.split(order, starts[1:]), strict=True):
        yield graph, float(value), edges[part]


def _exact_worst(
    weights: NDArray[Any], graph: AnswerGraph, length: float, edges: NDArray[np.int64] | None
) -> Worst:
    best = Worst(None, None, Fraction(0), length)
    columns = weights.shape[1]
    step = max(1, SEARCH_ENTRIES // len(weights))
    for start in range(0, columns, step):
        block = weights[:, start : start + step]
        if edges is None:
            found = _exact_best(graph.nearby_maxima(block), block, best.ratio)
            if found is not None:
                (i, o), ratio = found
                edge = _edge_to(graph, i, block[:, o])
                best = Worst(edge, start + o, ratio, length)
            continue
        for first in range(0, len(edges), _edge_step(block)):
            part = edges[first : first + _edge_step(block)]
            left, right = block[part[:, 0]], block[part[:, 1]]
            large, small = np.maximum(left, right), np.minimum(left, right)
            found = _exact_best(large, small, best.ratio)
            if found is not None:
                (e, o), ratio = found
                edge = _ordered(part[e], left[e, o], right[e, o])
                best = Worst(edge, start + o, ratio, length)
    return best


def _exact_best(
    large: NDArray[Any], small: NDArray[Any], beat: Fraction | float
) -> tuple[tuple[int, int], Fraction | float] | None:
    """Return place and value of the largest exact quotient when it is above ``beat``."""
    if beat == math.inf:
        return None
    broken = np.argwhere((small == 0) & (large != 0))
    if len(broken):
        return (int(broken[0][0]), int(broken[0][1])), math.inf
    quotients = _quotients(large, small)
    top = float(quotients.max())
    if beat and log_ratio(beat) > math.log(top) + _CLEARLY:
        return None
    close = np.argwhere(quotients >= top * (1 - _QUOTIENT_ERROR))
    place, value = None, beat
    above, below = large[tuple(close.T)], small[tuple(close.T)]
    for k in _different(above, below):
        # Only 0/0 is left with a zero below, and it breaks nothing.
        ratio = Fraction(int(above[k]), int(below[k])) if below[k] else Fraction(1)
        if ratio > value:
            place, value = (int(close[k][0]), int(close[k][1])), ratio
    return None if place is None else (place, value)


def _different(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.int64]:
    """Places of the first of each different fraction, in order."""
    if above.dtype == object:
        first: dict[tuple[int, int], int] = {}
        for k, pair in enumerate(zip(above, below, strict=True)):
            first.setdefault(pair, k)
        return np.array(list(first.values()))
    shared = np.maximum(np.gcd(above, below), 1)
    pairs = np.stack([above // shared, below // shared], axis=1)
    return np.sort(np.unique(pairs, axis=0, return_index=True)[1])


def check_sizes(channel: Channel, graph: AnswerGraph) -> None:
    """Refuse a channel that does not have one row for each node.

    >>> from tightrope.graphs import PathPower
    >>> check_sizes(Channel([[1.0]]), PathPower(2))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a channel on path(2) must have 2 rows, got 1
    """
    if channel.shape[0] != graph.size:
        raise InputError(
            f"a channel on {graph.name} must have {graph.size} rows, got {channel.shape[0]}"
        )
