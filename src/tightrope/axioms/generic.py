r"""Generic differential privacy of a channel, and its tightest (ε, δ) curve [D, Def 2.1.3].

For two rows p and q only the sets of outputs with a likelihood ratio q/p above a threshold
matter: they are the corners of the region of all :math:`(p(O), q(O))`, and :math:`b - M(a)` is
convex. Sorting the ratios therefore decides about all :math:`2^m` sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.axioms.bounds import ApproximateBound, PrivacyBound
from tightrope.channels import Channel, IntegerChannel
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph

#: How far above M(a) a probability in floats may lie.
GENERIC_TOLERANCE = 1e-9

Rule = PrivacyBound | Callable[[int, int], PrivacyBound]


@dataclass(frozen=True)
class GenericCheck:
    r"""Whether a channel keeps to a bound, and the set of outputs that comes closest to it.

    Attributes
    ----------
    private
        The answer; also the truth value.
    pair
        The true answer i and the neighbour h.
    outputs
        The set O.
    probability, neighbour_probability
        :math:`P(O \mid i)` and :math:`P(O \mid h)`.
    allowed
        :math:`M(P(O \mid i))`.
    margin
        ``allowed`` less the neighbour's probability; negative where the bound is broken.
    exact, tolerance
        Whether fractions decided, and how far below 0 the margin may be otherwise.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> found = is_generic_private(IntegerChannel([[3, 1], [1, 3]]), PathPower(2), "ln(2)")
    >>> found.private, found.pair, found.outputs, found.margin
    (False, (0, 1), (1,), Fraction(-1, 4))
    """

    private: bool
    pair: tuple[int, int] | None
    outputs: tuple[int, ...]
    probability: Fraction | float
    neighbour_probability: Fraction | float
    allowed: Fraction | float
    margin: Fraction | float
    exact: bool
    tolerance: float

    def __bool__(self) -> bool:
        return self.private


def is_generic_private(
    channel: Channel,
    graph: AnswerGraph,
    bound: Rule | Epsilon | float | str,
    *,
    tolerance: float = GENERIC_TOLERANCE,
) -> GenericCheck:
    r"""Check :math:`P(O \mid h) \le M(P(O \mid i))` for all sets O and neighbours [D, Def 2.1.3].

    Takes :math:`O(m \log m)` steps for an edge. Integer weights against a bound in fractions are
    decided exactly.

    Parameters
    ----------
    channel
        One row for each node.
    graph
        The answer graph; both directions of every edge count.
    bound
        A bound M, a privacy level (for ε-privacy), or a function from a pair (i, h) of nodes to
        the bound of that pair.
    tolerance
        How far floats may pass the bound.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> leaky = IntegerChannel([[9, 0, 1], [0, 9, 1]])
    >>> bool(is_generic_private(leaky, PathPower(2), ApproximateBound(1, "0.9")))
    True
    >>> bool(is_generic_private(leaky, PathPower(2), ApproximateBound(1, "0.89")))
    False
    """
    _check_sizes(channel, graph)
    rule = _rule(bound)
    worst: GenericCheck | None = None
    for i, h in _pairs(graph):
        found = _check_pair(channel, i, h, rule(i, h), tolerance)
        if worst is None or (found.private, found.margin) < (worst.private, worst.margin):
            worst = found
    if worst is None:
        return GenericCheck(True, None, (), 0.0, 0.0, 1.0, 1.0, True, 0.0)
    return worst


def likelihood_curve(channel: Channel, i: int, h: int) -> tuple[list[int], list[Any], list[Any]]:
    r"""Return outputs by falling likelihood ratio, and the sums of both rows along them.

    The points (a, b) are the upper border of all :math:`(P(O \mid i), P(O \mid h))`: what a
    test at significance a can reach [D, App D].

    Parameters
    ----------
    channel
        The channel; integer weights give fractions.
    i, h
        The true answer and the other.

    Examples
    --------
    >>> likelihood_curve(IntegerChannel([[1, 2, 1], [2, 1, 1]]), 0, 1)
    ([0, 2, 1], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 1)],
     [Fraction(1, 2), Fraction(3, 4), Fraction(1, 1)])
    """
    p, q = _row(channel, i), _row(channel, h)
    if isinstance(channel, IntegerChannel):
        live = [o for o in range(len(p)) if p[o] or q[o]]
        live.sort(key=lambda o: (p[o] == 0, Fraction(q[o], p[o] or 1)), reverse=True)
        return (
            live,
            [Fraction(s, channel.total) for s in accumulate(p[o] for o in live)],
            [Fraction(s, channel.total) for s in accumulate(q[o] for o in live)],
        )
    p_row, q_row = np.asarray(p), np.asarray(q)
    some = np.flatnonzero((p_row > 0) | (q_row > 0))
    with np.errstate(divide="ignore"):
        ratios = np.where(p_row[some] > 0, q_row[some] / p_row[some], np.inf)
    live = some[np.argsort(-ratios, kind="stable")].tolist()
    return live, np.cumsum(p_row[live]).tolist(), np.cumsum(q_row[live]).tolist()


def _check_pair(
    channel: Channel, i: int, h: int, bound: PrivacyBound, tolerance: float
) -> GenericCheck:
    order, below, above = likelihood_curve(channel, i, h)
    zero: Any = Fraction(0) if isinstance(channel, IntegerChannel) else 0.0
    places = list(zip([zero, *below], [zero, *above], strict=True))
    exact = isinstance(channel, IntegerChannel) and bound.exact(Fraction(0)) is not None
    allowed = [bound.exact(a) if exact else bound(float(a)) for a, _ in places]
    margins = [m - b for m, (_, b) in zip(allowed, places, strict=True)]
    # The empty set and all outputs together say nothing unless M itself is odd there.
    k = min(range(len(margins)), key=margins.__getitem__)
    slack = 0.0 if exact else tolerance
    return GenericCheck(
        margins[k] >= -slack,
        (i, h),
        tuple(sorted(order[:k])),
        *places[k],
        allowed[k],  # type: ignore[arg-type]
        margins[k],
        exact,
        slack,
    )


class PrivacyCurve:
    r"""The smallest δ for every ε, and the reverse, over all edges of a graph.

    .. math:: δ(ε) = \max_{i \sim h} \sum_o \max\{0,\; X_{ho} - e^ε X_{io}\}

    Parameters
    ----------
    channel
        One row for each node.
    graph
        The answer graph.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> curve = PrivacyCurve(IntegerChannel([[9, 0, 1], [0, 9, 1]]), PathPower(2))
    >>> curve.delta(1), curve.epsilon(0.9), curve.epsilon(0.5)
    (0.9, 0.0, inf)
    """

    def __init__(self, channel: Channel, graph: AnswerGraph) -> None:
        _check_sizes(channel, graph)
        self._sums = []
        for i, h in _pairs(graph):
            _, below, above = likelihood_curve(channel, i, h)
            self._sums.append(
                (np.array(below, dtype=np.float64), np.array(above, dtype=np.float64), (i, h))
            )

    def delta(self, epsilon: float | Epsilon | str) -> float:
        """Return the smallest δ for which the channel is (ε, δ)-private; ε may be 0."""
        level = float(epsilon) if isinstance(epsilon, int | float) else float(Epsilon.of(epsilon))
        if not (math.isfinite(level) and level >= 0):
            raise InputError(f"ε must be finite and not negative, got {epsilon}")
        growth = math.exp(level)
        return max((float((q - growth * p).max()) for p, q, _ in self._sums), default=0.0) or 0.0

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε for which the channel is (ε, δ)-private; ``inf`` for none."""
        if not 0 <= delta <= 1:
            raise InputError(f"δ must be in [0, 1], got {delta}")
        worst = 1.0
        for p, q, _ in self._sums:
            # max(Q - tP) ≤ δ for all prefixes iff t ≥ (Q - δ)/P for all of them.
            if ((p == 0) & (q > delta)).any():
                return math.inf
            some = p > 0
            worst = max(worst, float(((q[some] - delta) / p[some]).max()))
        return math.log(worst)

    @property
    def corners(self) -> tuple[float, ...]:
        """The values of ε ≥ 0 at which some edge's curve bends: logarithms of ratios."""
        found: set[float] = {0.0}
        for p, q, _ in self._sums:
            steps_p, steps_q = np.diff(p, prepend=0.0), np.diff(q, prepend=0.0)
            both = (steps_p > 0) & (steps_q > steps_p)
            found |= set(np.log(steps_q[both] / steps_p[both]).round(12).tolist())
        return tuple(sorted(found))


def _rule(bound: Rule | Epsilon | float | str) -> Callable[[int, int], PrivacyBound]:
    if isinstance(bound, PrivacyBound):
        return lambda i, h: bound
    if isinstance(bound, Epsilon | int | float | str | Fraction):
        one = ApproximateBound(bound)
        return lambda i, h: one
    return bound


def _pairs(graph: AnswerGraph) -> Iterator[tuple[int, int]]:
    for i, h in graph.edges():
        yield i, h
        yield h, i


def _row(channel: Channel, i: int) -> Any:
    if isinstance(channel, IntegerChannel):
        return channel.weights[i].tolist()
    row: NDArray[np.float64] = channel.row(i)
    return row


def _check_sizes(channel: Channel, graph: AnswerGraph) -> None:
    if channel.shape[0] != graph.size:
        raise InputError(
            f"the channel must have one row for each of the {graph.size} answers of {graph.name}, "
            f"got {channel.shape[0]}"
        )
