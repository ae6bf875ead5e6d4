r"""Generic differential privacy [D, Def 2.1.3]: bounds M, channels that keep to them, beliefs.

A definition says how likely a set of outputs may be under a neighbouring answer when it has
probability a under the true one: at most M(a), with M concave on [0, 1], continuous on (0, 1] and
:math:`M(1) = 1`. Then :math:`m(a) = 1 - M(1-a)` bounds it from below.

For two rows p and q only the sets of outputs with a likelihood ratio q/p above a threshold
matter: they are the corners of the region of all :math:`(p(O), q(O))`, and :math:`b - M(a)` is
convex. Sorting the ratios therefore decides about all :math:`2^m` sets.

An output moves the log-odds of a neighbouring answer h against the true answer i by
:math:`Δ = \ln P(o \mid h)/P(o \mid i)`. Under generic privacy [D, Prop 2.1.4]

.. math::
    P(Δ \ge t \mid i) \le \sup\{a : M(a) \ge e^t a\}, \qquad
    P(Δ \le -t \mid i) \le \sup\{a : m(a) \le e^{-t} a\}.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tightrope.arrays import Nodes
from tightrope.channels import Channel, IntegerChannel
from tightrope.channels.privacy import check_sizes
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.texts import to_exact

#: How far above M(a) a probability in floats may lie, and M itself from a concave function.
GENERIC_TOLERANCE = 1e-9


class PrivacyBound:
    """A concave bound M with M(1) = 1: a Python function, tested at some points.

    Parameters
    ----------
    function
        From a in [0, 1] to M(a).
    name
        What it is called.
    samples
        At how many points it is tested.
    lines
        Slope and height at 0 of straight lines of which M is the least, where it is known exactly.

    Attributes
    ----------
    points
        The pairs (a, M(a)) of a table.

    Examples
    --------
    >>> PrivacyBound(lambda a: a**0.5, "root")(0.25)
    0.5
    >>> PrivacyBound(lambda a: a * a)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a bound must be concave, but M(0.00390625) = 1.52588e-05 lies ...
    """

    def __init__(
        self,
        function: Callable[[float], float],
        name: str = "function",
        *,
        samples: int = 257,
        lines: Iterable[tuple[Fraction, Fraction]] = (),
    ) -> None:
        self._function = function
        self.name = name
        self.lines = tuple(lines)
        self.points: tuple[tuple[Fraction, Fraction], ...] = ()
        # Sampling cannot prove concavity of a function; it refutes what is plainly not concave.
        grid = [k / (samples - 1) for k in range(samples)]
        values = [self(a) for a in grid]
        if abs(values[-1] - 1) > GENERIC_TOLERANCE:
            raise InputError(f"a bound must have M(1) = 1, got {values[-1]:g}")
        for a, low, here, high in zip(
            grid[1:], values, values[1:], values[2:], strict=False
        ):
            # Written so that NaN is refused too.
            if not -GENERIC_TOLERANCE <= here <= 1 + GENERIC_TOLERANCE:
                raise InputError(f"M(a) must be in [0, 1], got M({a:g}) = {here:g}")
            if here < (low + high) / 2 - GENERIC_TOLERANCE:
                raise InputError(
                    f"a bound must be concave, but M({a:g}) = {here:g} lies below the middle of "
                    "its neighbours"
                )

    @classmethod
    def _least(cls, lines: list[tuple[Fraction, Fraction]], name: str) -> PrivacyBound:
        floats = [(float(slope), float(height)) for slope, height in lines]
        return cls(
            lambda a: min(slope * a + b for slope, b in floats), name, lines=lines
        )

    @classmethod
    def approximate(
        cls, epsilon: Level, delta: float | Fraction | str = 0
    ) -> PrivacyBound:
        r"""Return (ε, δ)-privacy, :math:`\min\{1,\; e^ε a + δ,\; 1 - e^{-ε}(1 - a - δ)\}`.

        With δ = 0 it is ε-privacy, :math:`M(a) = \min\{e^ε a,\; 1 - e^{-ε}(1-a)\}` [D, §2.1].

        Parameters
        ----------
        epsilon
            The privacy level.
        delta
            δ in [0, 1]: a fraction, a text such as ``"1e-6"``, or a float read as it prints.

        Examples
        --------
        >>> bound = PrivacyBound.approximate("ln(2)", 0.1)
        >>> bound.exact(Fraction(1, 4)), bound(0.0)
        (Fraction(3, 5), 0.1)
        """
        level = Epsilon.of(epsilon)
        spared = to_exact(delta)
        if not 0 <= spared <= 1:
            raise InputError(f"δ must be in [0, 1], got {delta}")
        ratio = level.ratio
        tail = f", {float(spared):g}" if spared else ""
        # 1, e^ε a + δ and 1 − e^{−ε}(1 − a − δ), as slope and height at 0.
        lines = [
            (Fraction(0), Fraction(1)),
            (ratio, spared),
            (1 / ratio, 1 - (1 - spared) / ratio),
        ]
        return cls._least(lines, f"ε = {level}{tail}")

    @classmethod
    def table(cls, points: Iterable[tuple[Any, Any]]) -> PrivacyBound:
        """Return a bound that is linear between given points, in fractions.

        Parameters
        ----------
        points
            Pairs (a, M(a)) with a increasing from 0 to 1 and M(1) = 1, concave.

        Examples
        --------
        >>> PrivacyBound.table([(0, "1/10"), (1, 1)]).exact(Fraction(1, 2))
        Fraction(11, 20)
        >>> PrivacyBound.table([(0, 0), (".5", ".25"), (1, 1)])
        Traceback (most recent call last):
        ...
        tightrope.errors.InputError: a bound must be concave, but its slope grows at a = 1/2
        """
        given = tuple((to_exact(a), to_exact(b)) for a, b in points)
        places = [a for a, _ in given]
        # The last place has M(1) = 1: a certain event stays certain.
        if len(places) < 2 or places[0] != 0 or places[-1] != 1 or given[-1][1] != 1:
            raise InputError("a table must go from a = 0 to a = 1 with M(1) = 1")
        if any(a >= b for a, b in pairwise(places)):
            raise InputError("a table must list its places in increasing order")
        if any(not 0 <= b <= 1 for _, b in given):
            raise InputError("M(a) must be in [0, 1]")
        slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(given)]
        changes = pairwise(slopes)
        for place, (before, after) in zip(places[1:], changes, strict=False):
            if after > before:
                raise InputError(
                    f"a bound must be concave, but its slope grows at a = {place}"
                )
        # A concave piecewise linear function is the minimum of the lines through its pieces.
        lines = [
            (slope, b - slope * a) for slope, (a, b) in zip(slopes, given, strict=False)
        ]
        bound = cls._least(lines, f"table of {len(places)} points")
        bound.points = given
        return bound

    def __call__(self, a: float) -> float:
        """Return M(a)."""
        return float(self._function(a))

    def exact(self, a: Fraction) -> Fraction | None:
        """Return a bound on M(a) from below as a fraction, M(a) itself where it is one."""
        # The least of the lines is M, and fractions keep it exact.
        heights = (slope * a + height for slope, height in self.lines)
        return min(heights, default=None)

    def lower(self, a: float) -> float:
        """Return m(a) = 1 - M(1 - a)."""
        if not self.lines:
            return 1 - self(1 - a)
        # m(a) = 1 - M(1 - a), line by line: no cancellation near a = 0.
        return max(
            float(1 - height - slope) + float(slope) * a for slope, height in self.lines
        )

    def __repr__(self) -> str:
        return f"<PrivacyBound {self.name}>"


BoundRule = PrivacyBound | Callable[[int, int], PrivacyBound]


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
    outputs: Nodes
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
    bound: BoundRule | Level,
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
        A bound M, a privacy level (for ε-privacy, times the length on longer edges), or a function
        from a pair (i, h) of nodes to the bound of that pair.
    tolerance
        How far floats may pass the bound.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> leaky = IntegerChannel([[9, 0, 1], [0, 9, 1]])
    >>> bool(is_generic_private(leaky, PathPower(2), PrivacyBound.approximate(1, "0.9")))
    True
    >>> bool(is_generic_private(leaky, PathPower(2), PrivacyBound.approximate(1, "0.89")))
    False
    """
    check_sizes(channel, graph)
    rule = _rule(bound, graph)
    pairs = (pair for i, h in graph.edges() for pair in ((i, h), (h, i)))
    checks = (_check_pair(channel, *pair, rule(*pair), tolerance) for pair in pairs)
    nothing = GenericCheck(True, None, (), 0.0, 0.0, 1.0, 1.0, True, 0.0)
    # A broken pair first, then the smallest margin.
    return min(checks, key=lambda check: (check.private, check.margin), default=nothing)


def likelihood_curve(
    channel: Channel, i: int, h: int
) -> tuple[list[int], list[Any], list[Any]]:
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
    if isinstance(channel, IntegerChannel):
        p = channel.weights[i].tolist()
        q = channel.weights[h].tolist()
        order = [o for o in range(len(p)) if p[o] or q[o]]
        # p = 0 sorts first: an infinite likelihood ratio.
        order.sort(key=lambda o: (p[o] == 0, Fraction(q[o], p[o] or 1)), reverse=True)
        return (
            order,
            [Fraction(s, channel.total) for s in accumulate(p[o] for o in order)],
            [Fraction(s, channel.total) for s in accumulate(q[o] for o in order)],
        )
    p_row = channel.row(i)
    q_row = channel.row(h)
    possible = np.flatnonzero((p_row > 0) | (q_row > 0))
    with np.errstate(divide="ignore"):
        ratios = np.where(
            p_row[possible] > 0, q_row[possible] / p_row[possible], np.inf
        )
    order = possible[np.argsort(-ratios, kind="stable")].tolist()
    below = np.cumsum(p_row[order])
    above = np.cumsum(q_row[order])
    return order, below.tolist(), above.tolist()


def _check_pair(
    channel: Channel, i: int, h: int, bound: PrivacyBound, tolerance: float
) -> GenericCheck:
    order, below, above = likelihood_curve(channel, i, h)
    zero: Any = Fraction(0) if isinstance(channel, IntegerChannel) else 0.0
    lows = [zero, *below]
    highs = [zero, *above]
    places = list(zip(lows, highs, strict=True))
    # Exact only if both the weights and the bound are fractions.
    exact = isinstance(channel, IntegerChannel) and bound.exact(Fraction(0)) is not None
    allowed = [bound.exact(a) if exact else bound(float(a)) for a, _ in places]
    pairs = zip(allowed, places, strict=True)
    margins = [m - b for m, (_, b) in pairs]
    # Sets along falling likelihood ratio suffice (Neyman–Pearson); where M is concave, one of
    # them comes closest to it.
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


def _rule(
    bound: BoundRule | Level, graph: AnswerGraph
) -> Callable[[int, int], PrivacyBound]:
    if isinstance(bound, PrivacyBound):
        return lambda i, h: bound
    if isinstance(bound, Epsilon | int | float | str | Fraction):
        level = Epsilon.of(bound)
        # On an edge of length ℓ the level is ε·ℓ.
        scaled = functools.cache(
            lambda far: PrivacyBound.approximate(level.scaled(far))
        )
        return lambda i, h: scaled(graph.distance(i, h))
    return bound


@dataclass(frozen=True)
class LogOdds:
    """Probabilities that beliefs move by at least t, towards and away from the neighbour.

    Examples
    --------
    >>> LogOdds(0.1, 0.2).towards
    0.1
    """

    towards: float
    away: float


def log_odds_bound(bound: PrivacyBound, shift: float) -> LogOdds:
    """Bound the probability that the log-odds move by at least ``shift`` [D, Prop 2.1.4].

    Parameters
    ----------
    bound
        The bound M.
    shift
        t > 0.

    Examples
    --------
    >>> sharp = log_odds_bound(PrivacyBound.approximate("ln(2)"), 0.6931471805)
    >>> round(sharp.towards, 6), round(sharp.away, 6)
    (0.333333, 0.666667)
    >>> log_odds_bound(PrivacyBound.approximate("ln(2)"), 0.7)
    LogOdds(towards=0.0, away=0.0)
    """
    if not (math.isfinite(shift) and shift > 0):
        raise InputError(f"the shift must be positive and finite, got {shift}")
    growth = math.exp(shift)
    # 1 - M(1-a) is within this of m(a) in floats; it only makes the bound larger.
    rounding = 2**-52
    # M(a)/a falls and m(a)/a grows with a, so both conditions hold on an interval from 0.
    return LogOdds(
        _last(lambda a: bound(a) >= growth * a),
        _last(lambda a: growth * bound.lower(a) <= a + rounding),
    )


def _last(test: Callable[[float], bool], parts: int = 10**12) -> float:
    """Return where a condition that holds up to some place ends, rounded upwards."""
    # Bisection over 10^12 steps, rounded upwards: the bound is never too small.
    shares = range(1, parts + 1)
    held = bisect_left(shares, True, key=lambda k: not test(k / parts))
    if not held:
        return 0.0
    return min(1.0, (held + 1) / parts)


def log_odds(channel: Channel, truth: int, other: int, shift: float) -> LogOdds:
    r"""Return how likely a channel moves the log-odds by at least ``shift``, given the truth.

    Parameters
    ----------
    channel
        The channel.
    truth, other
        The true answer i and the neighbour h.
    shift
        t > 0.

    Examples
    --------
    >>> log_odds(Channel([[0.75, 0.25], [0.25, 0.75]]), 0, 1, 1.0)
    LogOdds(towards=0.25, away=0.75)
    """
    p = channel.row(truth)
    q = channel.row(other)
    live = p > 0
    with np.errstate(divide="ignore"):
        moves = np.log(q[live] / p[live])
    return LogOdds(
        float(p[live][moves >= shift].sum()), float(p[live][moves <= -shift].sum())
    )
