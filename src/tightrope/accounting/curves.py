r"""Trade-off curves: what a test can find out about one person, exactly.

Somebody has seen an output and asks: was the answer i, or its neighbour h? A test that says h
wrongly with probability :math:`\alpha` overlooks it with probability at least :math:`f(\alpha)`:
the *trade-off curve* of the two rows [1]_. By the lemma of Neyman and Pearson the best tests take
the outputs in the order of their likelihood ratio, so for rows of integers the curve is piecewise
linear with rational corners. Two rows are a channel with two inputs, and the curve is all that
counts about it: one channel of two rows can be made from another by post-processing exactly when
its curve is nowhere below [2]_. That is the order of the leakage measures too, with a secret of
two values.

Everything else is read off the curve. A mechanism is :math:`(\varepsilon, \delta)`-private on the
edge when :math:`1 - \beta \le e^\varepsilon \alpha + \delta` at all corners, in both directions.
Independent mechanisms compose by multiplying likelihoods, also when each question is chosen after
the answers before it: dominated rows can be made from dominating ones, whose outputs might as well
all have been drawn in advance.

References
----------
.. [1] J. Dong, A. Roth, W. J. Su, "Gaussian differential privacy", JRSS B 84 (2022).
.. [2] D. Blackwell, "Equivalent comparisons of experiments", Ann. Math. Statist. 24 (1953).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from tightrope.channels import Channel, IntegerChannel
from tightrope.channels.privacy import check_sizes
from tightrope.epsilon import Epsilon, Level, log_ratio
from tightrope.errors import InputError, TooLarge, blamed, whole_number
from tightrope.graphs import AnswerGraph
from tightrope.texts import to_exact

#: A point of a curve over a common total: weight of a false alarm, weight of a miss.
Point = tuple[int, int]


@dataclass(frozen=True)
class TradeOff:
    r"""The trade-off curve of two rows of integer weights with one total.

    Parameters
    ----------
    null, other
        Weights of the outputs under the two answers, with equal sums. They are kept sorted by
        likelihood ratio, outputs of the same ratio merged.

    Examples
    --------
    >>> coin = TradeOff((3, 1), (1, 3))
    >>> [(str(a), str(b)) for a, b in coin.corners]
    [('0', '1'), ('1/4', '1/4'), ('1', '0')]
    >>> coin(Fraction(1, 8)), coin.delta("ln(2)"), coin.times(2).ratio(0), coin.levels
    (Fraction(5, 8), Fraction(1, 4), Fraction(9, 1), [0.0, 1.0986122886681098])
    """

    null: tuple[int, ...]
    other: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.null) != len(self.other) or sum(self.null) != sum(self.other):
            raise InputError(
                "a trade-off curve needs two rows of weights with the same sum"
            )
        if not self.null or min(*self.null, *self.other) < 0 or not sum(self.null):
            raise InputError(
                "weights must not be negative, and must have a positive sum"
            )
        from flint import fmpq

        # Outputs of one likelihood ratio, by the ratio in lowest terms.
        merged: dict[Point, int] = defaultdict(int)
        for p, q in zip(self.null, self.other, strict=True):
            if p or q:
                common = math.gcd(p, q)
                merged[p // common, q // common] += common
        # By the lemma of Neyman and Pearson the best tests alarm at the smallest ratios first.
        order = sorted(merged, key=lambda pair: fmpq(pair[0], sum(pair)))
        shared = math.gcd(*(c * n for pair, n in merged.items() for c in pair))
        for place, name in enumerate(("null", "other")):
            counts = (pair[place] * merged[pair] for pair in order)
            row = tuple(count // shared for count in counts)
            object.__setattr__(self, name, row)

    @classmethod
    def randomized_response(cls, epsilon: Level) -> TradeOff:
        r"""Return the lowest curve of all :math:`\varepsilon`-private mechanisms.

        Its corner is :math:`(1/(1 + e^\varepsilon), 1/(1 + e^\varepsilon))`, as is that of the
        geometric mechanism. Where :math:`e^\varepsilon` is not rational, a fraction at or above
        it takes its place: the curve is never too high.

        >>> [str(x) for x in TradeOff.randomized_response("ln(3)").corners[1]]
        ['1/4', '1/4']
        """
        ratio = Epsilon.of(epsilon).ratio_above
        return cls(
            (ratio.numerator, ratio.denominator), (ratio.denominator, ratio.numerator)
        )

    @classmethod
    def of(cls, channel: Channel, i: int = 0, h: int = 1) -> TradeOff:
        """Return the curve of two rows of a channel: exactly where its numbers are integers.

        Floats are taken as the fractions that they are, but for the largest of a row, which takes
        what the row lacks to 1.

        >>> from tightrope.channels import IntegerChannel
        >>> TradeOff.of(IntegerChannel([[3, 1], [1, 3]])).corners[1]
        (Fraction(1, 4), Fraction(1, 4))
        """
        if isinstance(channel, IntegerChannel):
            null, other = (channel.weights[k].tolist() for k in (i, h))
            return cls(tuple(null), tuple(other))
        rows = [[x.as_integer_ratio() for x in channel.row(k).tolist()] for k in (i, h)]
        # Floats are dyadic: the largest denominator is a common one.
        total = max(q for row in rows for _, q in row) << 64
        for row in rows:
            row[:] = [p * (total // q) for p, q in row]
            largest = row.index(max(row))
            row[largest] += total - sum(row)
        return cls(tuple(rows[0]), tuple(rows[1]))

    @classmethod
    def below(cls, points: Iterable[Point], total: int) -> TradeOff:
        """Return the highest curve that is nowhere above some points: their convex hull."""
        # The lower hull, from left to right [A. M. Andrew, 1979].
        hull: list[Point] = []
        for a, b in sorted({(0, total), (total, 0), *points}):
            while len(hull) > 1 and _turns(hull[-2], hull[-1], (a, b)) <= 0:
                hull.pop()
            if not hull or b < hull[-1][1]:
                hull.append((a, b))
        if hull[-1][0] < total:
            hull.append((total, 0))
        steps = list(pairwise(hull))
        # A miss that costs nothing from the start on: the first step goes straight down.
        first = hull[0]
        rises = [after[0] - before[0] for before, after in steps]
        falls = [before[1] - after[1] for before, after in steps]
        return cls((first[0], *rises), (total - first[1], *falls))

    @property
    def total(self) -> int:
        """The sum of each row."""
        return sum(self.null)

    @cached_property
    def points(self) -> list[Point]:
        """The corners as integers over the total, from "never an alarm" to "always"."""
        points = [(0, self.total)]
        for p, q in zip(self.null, self.other, strict=True):
            alarm, miss = points[-1]
            points.append((alarm + p, miss - q))
        return points

    @property
    def corners(self) -> list[tuple[Fraction, Fraction]]:
        r"""The corners :math:`(\alpha, f(\alpha))`, exactly."""
        return [
            (Fraction(a, self.total), Fraction(b, self.total)) for a, b in self.points
        ]

    def __call__(self, size: float | Fraction) -> Fraction:
        """Return the least probability of a miss among tests of a size."""
        size = Fraction(size)
        if not 0 <= size <= 1:
            raise InputError(f"the size of a test is between 0 and 1, got {size}")
        corners = self.corners
        for (a, high), (b, low) in pairwise(corners):
            if size < b:
                # Between two corners the best test mixes those of both.
                share = (size - a) / (b - a)
                return high + (low - high) * share
        return corners[-1][1]

    def delta(self, epsilon: Level | Fraction) -> Fraction:
        r"""Return the least :math:`\delta` for a level, or a little more where it is irrational."""
        ratio = Fraction(1) if epsilon == 0 else Epsilon.of(epsilon).ratio
        return self.excess(ratio)

    def excess(self, ratio: Fraction) -> Fraction:
        r"""Return :math:`\max (1 - \beta - r\alpha)` over the corners, in both directions."""
        t = self.total
        p = ratio.numerator
        q = ratio.denominator
        # q t (1 - b/t - (p/q) a/t)
        both = [*self.points, *(point[::-1] for point in self.points)]
        excesses = [q * (t - b) - p * a for a, b in both]
        most = max(excesses)
        return Fraction(most, q * t)

    def ratio(self, delta: float | Fraction | str = 0) -> Fraction | None:
        r"""Return the least :math:`e^\varepsilon` for a :math:`\delta`, exactly; ``None`` for none.

        >>> TradeOff((3, 1), (1, 3)).ratio("1/4"), TradeOff((1, 1), (0, 2)).ratio("1/3")
        (Fraction(2, 1), None)
        """
        spared = delta_of(delta) * self.total
        least = Fraction(1)
        for point in self.points:
            for a, b in (point, point[::-1]):
                # δ ≥ 1 - b - r a at every corner
                left = self.total - b - spared
                if left > least * a:
                    if not a:
                        return None
                    least = left / a
        return least

    def epsilon(self, delta: float | Fraction | str = 0) -> float:
        r"""Return the least :math:`\varepsilon` for a :math:`\delta`; ``inf`` for none."""
        ratio = self.ratio(delta)
        return math.inf if ratio is None else log_ratio(ratio)

    @property
    def levels(self) -> list[float]:
        r"""The :math:`\varepsilon \ge 0` where :math:`\delta(\varepsilon)` bends, in order."""
        # An output of probability 0 in one row has no finite ratio.
        pairs = zip(self.null + self.other, self.other + self.null, strict=True)
        ratios = {Fraction(p, q) for p, q in pairs if p > q > 0}
        return sorted({0.0, *map(log_ratio, ratios)})

    def compose(self, other: TradeOff, *, most: int = 1_000_000) -> TradeOff:
        """Return the curve of two independent mechanisms, exactly.

        Parameters
        ----------
        other
            The other curve.
        most
            Most pairs of outputs. Beyond, :class:`PrivacyLoss` composes with outward rounding.
        """
        if len(self.null) * len(other.null) > most:
            raise TooLarge(
                f"the exact curve of {len(self.null)} and {len(other.null)} likelihood ratios has "
                f"more than {most} pairs: compose with PrivacyLoss, which rounds outward"
            )
        rows = ((self.null, other.null), (self.other, other.other))
        # The likelihoods of independent outputs multiply.
        null, alternative = (tuple(x * y for x in a for y in b) for a, b in rows)
        return TradeOff(null, alternative)

    def times(self, count: int) -> TradeOff:
        """Return the curve of so many independent uses."""
        composed = self
        for _ in range(whole_number(count, "the number of uses") - 1):
            composed = composed.compose(self)
        return composed

    def symmetric(self) -> TradeOff:
        """Return the highest symmetric curve that is nowhere above this one."""
        return lowest_curve([self])


def _turns(a: Point, b: Point, c: Point) -> int:
    """Return whether the way from a by b to c turns to the left (positive) or to the right."""
    # The cross product of the two steps from a.
    first = (b[0] - a[0], b[1] - a[1])
    second = (c[0] - a[0], c[1] - a[1])
    return first[0] * second[1] - first[1] * second[0]


def delta_of(value: float | Fraction | str) -> Fraction:
    r"""Read a :math:`\delta`, a float as the decimal that prints as it.

    >>> delta_of(1e-6)
    Fraction(1, 1000000)
    """
    with blamed("δ"):
        delta = to_exact(value)
    if not 0 <= delta < 1:
        raise InputError(
            f"δ must be a number from 0 to below 1, such as 1e-6, got {value!r:.60}"
        )
    return delta


def worst_curve(
    channel: Channel, graph: AnswerGraph, *, most: int = 1_000_000
) -> TradeOff:
    r"""Return the highest symmetric curve that is nowhere above that of any edge.

    Questions that are asked one after another may each move two neighbouring tables along another
    edge, in either direction, so what one release costs is the convex hull of all their curves.

    Parameters
    ----------
    channel
        The mechanism.
    graph
        The answer graph.
    most
        Most weights that are compared.

    Examples
    --------
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import PathPower
    >>> count = rational([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    >>> worst_curve(count, PathPower(3)) == TradeOff.randomized_response("ln(2)")
    True
    """
    check_sizes(channel, graph)
    if channel.shape[1] * graph.edge_count > most:
        raise TooLarge(
            f"the curves of {graph.edge_count} edges with {channel.shape[1]} outputs each are "
            f"more than {most} numbers: count the release by its ε"
        )
    edges = {(int(i), int(h)) for i, h in graph.edge_array()}
    return lowest_curve({TradeOff.of(channel, i, h) for i, h in edges})


def lowest_curve(curves: Iterable[TradeOff]) -> TradeOff:
    """Return the highest symmetric curve that is nowhere above any of the given ones.

    >>> lowest_curve([TradeOff((4, 1), (3, 2)), TradeOff((3, 1), (1, 3))]).corners[1]
    (Fraction(1, 4), Fraction(1, 4))
    """
    known = list(curves)
    # A common total makes all points comparable as integers.
    total = math.lcm(*(curve.total for curve in known))
    points = [
        (a * scale, b * scale)
        for curve in known
        for scale in (total // curve.total,)
        for point in curve.points
        for a, b in (point, point[::-1])
    ]
    return TradeOff.below(points, total)
