r"""Mechanisms for a tuple of values: several quantiles, or one with both ends of an interval.

Drawn one by one, each of m quantiles has a part of ε only. But one person moves all ranks
together: who comes in moves those beyond by one, and no other. A draw of the whole tuple pays
for that once.

The judge proves privacy by a theorem: see :mod:`tightrope.certify.theorems.tuples`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import judge
from tightrope.certify.flips import first_accepted
from tightrope.certify.mechanism import MechanismFile
from tightrope.errors import InputError

#: How many totals are tried on either side of the number of people. A total that is off by a few
#: people for each 1/ε hardly moves a quantile, and each takes a sum over all slots.
_TOTALS = 12


class TupleMechanism(MechanismFile):
    """A mechanism that draws a tuple of values from the counts of all values.

    Attributes
    ----------
    ranks
        The quantiles that are drawn.
    values
        The number of values.
    steps
        Twice the steps by which one person can move the levels of a tuple.
    """

    question: judge.TupleQuestion
    route = ""

    def _read(self, header: dict[str, Any]) -> None:
        judge.need(self.kind == "tuples", "this is not a mechanism for tuples")
        self.query = str(header["query"])
        self.question = judge.tuple_question(self.query, self.neighbours)
        self.values = self.question.values
        self.steps = self.question.steps
        part = self.question.denominator
        self.ranks = tuple(Fraction(rank, part) for rank in self.question.ranks)

    def guess(self, answer: Hashable) -> Hashable:
        """Return the answer: there is no remap."""
        return answer

    @functools.cached_property
    def levels(self) -> list[int]:
        """The level at each number of steps; the last one goes on for ever."""
        return judge.falling_levels([1 << self.bits], self.ratio)

    def level(self, steps: int) -> int:
        """Return the level after some steps."""
        return self.levels[min(steps, len(self.levels) - 1)]

    def check_counts(self, counts: Sequence[int]) -> None:
        """Refuse another number of counts than of values."""
        if len(counts) != self.values:
            raise InputError(
                f"{self.query} needs {self.values} counts, got {len(counts)}"
            )

    def promised_gap(self, confidence: Fraction) -> Fraction | None:
        """Return the least gap that every rank keeps with this probability, in people."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<TupleMechanism {self.query} ({self.neighbours}), ε = {self.epsilon}>"


class Bracket(TupleMechanism):
    """A quantile and both ends of an interval around it.

    The three gaps count by the largest of them, so what all pairs of ends add to a quantile
    depends on its gap alone. Permute-and-flip draws the quantile; then a level is drawn, and each
    end among those whose gap is at most that: no search, however many values there are.

    The least value as the lower end, and the largest one as the upper end, count as often as all
    values together. In a small group these are the only ends that are far enough from the
    quantile. If they counted once, quantiles that are wrong enough to leave the ends free would
    gain a factor of c².
    """

    route = "a quantile by permute-and-flip, and its interval, in one draw"

    @property
    def room(self) -> tuple[int, int, int]:
        """What is subtracted from the gaps of the lower end, the quantile and the upper end."""
        _, slack = self.question.sizes
        return slack, 0, slack

    def gaps(self, counts: Sequence[int]) -> list[NDArray[Any]]:
        """Return the gaps of all values as lower end, as quantile and as upper end."""
        self.check_counts(counts)
        part = self.question.denominator
        (rank,) = self.question.ranks
        offset, _ = self.question.sizes
        # Products of counts and ranks must not overflow, however many rows there are.
        large = part * sum(map(int, counts)) + offset >= 1 << 62
        people: NDArray[Any] = np.array(counts, object if large else np.int64)
        upto = np.cumsum(people)
        wanted = rank * upto[-1]
        # Ranks covered by v relative to the quantile, in units of 1/D person.
        above = part * upto - wanted
        below = part * (upto - people) - wanted
        found = []
        for shift in (-offset, 0, offset):
            # Distance of the shift from [D·#{<v} - t·n, D·#{≤v} - t·n].
            gap = np.maximum(np.maximum(below - shift, shift - above), 0)
            # There is always room below the least value, and above the largest one.
            gap[0] = max(shift - above[0], 0)
            gap[-1] = max(below[-1] - shift, 0) if self.values > 1 else 0
            found.append(gap)
        return found

    @functools.cached_property
    def places(self) -> list[NDArray[np.int64]]:
        """The values that may be lower end, quantile and upper end, as often as they count."""
        own = np.arange(self.values)
        # The extremes count c times: once among all values, and c - 1 times besides.
        least = np.zeros(self.values - 1, np.int64)
        largest = least + self.values - 1
        return [np.concatenate([own, least]), own, np.concatenate([own, largest])]

    @property
    def triples(self) -> int:
        """How many triples there are, each as often as it counts."""
        return math.prod(map(len, self.places))

    def choices(self, counts: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return how many places each coordinate may take at each level."""
        many = []
        parts = zip(self.gaps(counts), self.places, self.room, strict=True)
        for gap, places, room in parts:
            in_order = np.sort(gap[places])
            # At level g a coordinate may be any value with gap - room ≤ g.
            steps = np.arange(len(self.levels), dtype=in_order.dtype) + room
            many.append(np.searchsorted(in_order, steps, side="right"))
            many[-1][-1] = len(places)  # the last level goes on for ever
        return many

    def level_weights(self, counts: Sequence[int]) -> list[int]:
        """Return the weight of each level: what it adds to all pairs of ends that reach it."""
        # Layer cake: w_g = Σ_{h ≥ g} (w_h - w_{h+1}); level h adds its rise to the box of gaps ≤ h.
        rises = [now - later for now, later in itertools.pairwise([*self.levels, 0])]
        lower, _, upper = self.choices(counts)
        boxes = zip(rises, lower.tolist(), upper.tolist(), strict=True)
        return [rise * low * high for rise, low, high in boxes]

    def gap_weights(self, counts: Sequence[int]) -> list[int]:
        """Return W by the gap of a quantile: the weights of the levels from there on."""
        falling = itertools.accumulate(reversed(self.level_weights(counts)))
        return list(falling)[::-1]

    def value_steps(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """Return the gap of each value as quantile, up to the last level."""
        last = len(self.levels) - 1
        return np.asarray(np.minimum(self.gaps(counts)[1], last), np.int64)

    def value_chances(self, counts: Sequence[int]) -> list[Fraction]:
        """Return the exact probability of each quantile: for small numbers of values."""
        weights = self.gap_weights(counts)
        # Some value is a quantile, and W falls with the gap: the largest is that of gap 0.
        steps = self.value_steps(counts).tolist()
        return first_accepted([Fraction(weights[g], weights[0]) for g in steps])

    def chances(self, counts: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        """Return the exact probability of each triple: for small numbers of values."""
        gaps = [
            np.maximum(gap - room, 0).tolist()
            for gap, room in zip(self.gaps(counts), self.room, strict=True)
        ]
        often = [np.bincount(places).tolist() for places in self.places]
        weights = {}
        sums = [0] * self.values
        for triple in itertools.product(range(self.values), repeat=3):
            largest = max(gap[v] for gap, v in zip(gaps, triple, strict=True))
            times = math.prod(many[v] for many, v in zip(often, triple, strict=True))
            weights[triple] = times * self.level(largest)
            sums[triple[1]] += weights[triple]
        drawn = first_accepted([Fraction(total, max(sums)) for total in sums])
        return {
            triple: drawn[triple[1]] * Fraction(weight, sums[triple[1]])
            for triple, weight in weights.items()
        }

    def promised_steps(self, confidence: Fraction) -> int | None:
        """Return the least number of steps that the largest gap keeps with this probability.

        A triple of weight w has a chance of at most ``w/max W``, and some triple has no gap: all
        others together are beyond a gap with at most ``(N-1)·w_{g+1}/2^bits``, if there are N.
        """
        others = self.triples - 1
        miss = 1 - confidence

        def is_kept(steps: int) -> bool:
            return others * self.level(steps + 1) <= miss * self.total

        last = len(self.levels) - 1
        return bisect_left(range(last), True, key=is_kept) if is_kept(last) else None

    def promised_gap(self, confidence: Fraction) -> Fraction | None:
        """Return the least gap of the quantile that is kept with this probability, in people.

        >>> from tightrope.certify import by_score
        >>> by_score("bracket(1/2,121,40,10)", 1).promised_gap(Fraction(19, 20))
        Fraction(75, 2)
        """
        steps = self.promised_steps(confidence)
        return None if steps is None else Fraction(steps, self.question.denominator)


class JointQuantiles(TupleMechanism):
    """Several quantiles in one draw, by the people in the cells between them.

    A *slot* i is what lies between person i and the next one on the grid of the theorem: its
    points have i people not above them. Weights depend on slots alone.
    """

    route = "all quantiles in one draw of the exponential mechanism"

    @property
    def places(self) -> int:
        """How many places there are for people in each value."""
        return self.question.sizes[0]

    def slot_ends(self, places: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return where slots begin, and the end of the last one, for the places in each value."""
        sizes = [len(taken) for taken in places]
        own = np.repeat(np.arange(self.values) * self.places, sizes)
        inside = [np.sort(np.array(taken, np.int64)) for taken in places]
        # The person at place s is the odd point 2s+1 of the grid, where the next slot begins.
        people = 2 * (own + np.concatenate(inside)) + 1
        return np.concatenate([[0], people, [2 * self.places * self.values]])

    @property
    def counts_totals(self) -> bool:
        """Whether totals are tried, as nobody knows how many people there are."""
        return self.neighbours == "add-remove"

    def totals(self, people: int) -> range:
        """Return the totals whose weights are added: so many people would be wanted in all."""
        if not self.counts_totals:
            return range(people, people + 1)
        reach = -(-(len(self.levels) - 1) // self.question.denominator)
        step = max(1, reach // _TOTALS)
        first = -(-(people - reach) // step) * step
        return range(first, people + reach + 1, step)

    @functools.cached_property
    def spare(self) -> int:
        """The weight that every tuple has besides, for a total that may be lost."""
        if not self.counts_totals:
            return 0
        p, q = self.ratio.numerator, self.ratio.denominator
        rest = -(-p // (p - q))
        most = (self.levels[0] + rest) ** len(self.ranks) * (self.levels[-1] + rest)
        return int(-(-most * q // (self.question.denominator * (p - q))))

    @property
    def tuple_count(self) -> int:
        """How many tuples there are."""
        many = len(self.ranks)
        return math.comb(2 * self.places * self.values + many - 1, many)

    def cell_levels(self, people: int, cell: int, total: int) -> list[int]:
        """Return the level of a cell for a total, by the people in it, from nobody to all."""
        part = self.question.denominator
        tops = (0, *self.question.ranks, part)
        # A cell between adjacent ranks should hold (t_{k+1} - t_k)/D of the total.
        wanted = (tops[cell + 1] - tops[cell]) * total
        steps = np.abs(part * np.arange(people + 1) - wanted)
        levels = np.array(self.levels, object)
        found: list[int] = levels[np.minimum(steps, len(levels) - 1)].tolist()
        return found

    def ways(self, sizes: Sequence[int], total: int) -> Ways:
        """Add up the weights of all tuples for a total, quantile by quantile.

        Several quantiles in one slot of M points are one of the C(M+b-1, b) multisets of b
        points, and the cells between them are empty.
        """
        people = len(sizes) - 1
        many = len(self.ranks)
        cells = [self.cell_levels(people, cell, total) for cell in range(many + 1)]
        multisets = [[1] * len(sizes)]
        for b in range(1, many + 1):
            last = zip(multisets[-1], sizes, strict=True)
            # C(M+b-1, b) = C(M+b-2, b-1)·(M+b-1)/b: every division is exact.
            multisets.append([ways * (size + b - 1) // b for ways, size in last])
        arrive = [cells[0]]
        leave = []
        for j in range(1, many + 1):
            there = [0] * len(sizes)
            for b in range(1, j + 1):
                # The last b of j quantiles share a slot, so the b-1 cells between them are empty.
                empty = math.prod(cells[k][0] for k in range(j - b + 1, j))
                parts = zip(there, arrive[j - b], multisets[b], strict=True)
                there = [known + empty * x * y for known, x, y in parts]
            leave.append(there)
            if j < many:
                # m products of polynomials instead of a sum over all pairs of slots, O(m·n²).
                arrive.append(_convolved(there, cells[j], self.levels[-1]))
        return Ways(cells, multisets, arrive, leave)

    def promised_gap(self, confidence: Fraction) -> Fraction | None:
        r"""Return a gap that all ranks keep together with this probability, in people.

        A rank that is off by h steps makes the cells on both sides of it off by h in all each:
        the levels of its tuple have a product of at most :math:`u_h^2 u_0^{m-1}`, where
        :math:`u_h = 2^b \rho^h + 1/(1-\rho)` with :math:`\rho = q/p` is log-convex and not below
        w_h. There are :math:`N = \binom{2Rc+m-1}{m}` tuples, and the one of the nearest people
        has at least :math:`2^{b(m+1)} \rho^{mD}`.

        For another total z people away the sides are off by :math:`|h + tz| + |(D-t)z - h|`, at
        least :math:`H = hD/\max(t, D-t)`: each of k totals gives at most :math:`u_H u_0^m`, and the
        spare weight is added. The nearest total is half a step S of totals away, which costs
        :math:`\rho^{DS/2}`.

        >>> from tightrope.certify import by_score
        >>> made = by_score("quantiles(1/4,1/2,3/4,121,1000)", 1)
        >>> made.promised_gap(Fraction(19, 20))
        Fraction(157, 2)
        """
        from flint import arb, ctx, fmpq

        many = len(self.ranks)
        part = self.question.denominator
        tuples = self.tuple_count
        miss = 1 - confidence
        widest = max(max(rank, part - rank) for rank in self.question.ranks)
        # Any number of people has the same step; so many are away from both ends.
        totals = self.totals(len(self.levels))
        off = many * part + part * (totals.step // 2)

        def is_kept(steps: int) -> bool:
            with ctx.workprec(self.bits + 256):
                fall = arb(fmpq(self.ratio.denominator, self.ratio.numerator))
                rest = 1 / ((1 - fall) * self.total)
                # u_h / 2^b = ρ^h + 1/((1-ρ)·2^b), and u_0 for the other cells.
                if self.counts_totals:
                    one = (fall ** (steps * part // widest) + rest) * (1 + rest) ** many
                    spare = arb(fmpq(self.spare, self.total ** (many + 1)))
                    worst = len(totals) * one + spare
                else:
                    worst = (fall**steps + rest) ** 2 * (1 + rest) ** (many - 1)
                allowed = arb(fmpq(miss.numerator, miss.denominator))
                # N·worst ≤ (1-c)·ρ^(mD + DS/2), all divided by 2^(b(m+1)).
                return bool(worst * tuples <= allowed * fall**off)

        last = len(self.levels) - 1
        if not is_kept(last):
            return None
        return Fraction(bisect_left(range(last), True, key=is_kept), part)


class Ways(NamedTuple):
    """Sums of weights: ways to place the first quantiles, by slot.

    Attributes
    ----------
    cells
        The level of each cell by the people in it.
    multisets
        In how many ways b quantiles lie in each slot.
    arrive
        ``arrive[j][i]``: all ways to have j quantiles below slot i, with the cell that ends in i.
    leave
        ``leave[j-1][i]``: all ways in which the j-th is in slot i.
    """

    cells: list[list[int]]
    multisets: list[list[int]]
    arrive: list[list[int]]
    leave: list[list[int]]

    @property
    def mass(self) -> int:
        """The weight of all tuples: the last quantile in each slot, with the cell above it."""
        return sum(map(operator.mul, self.leave[-1], reversed(self.cells[-1])))


def _convolved(ways: list[int], levels: list[int], least: int) -> list[int]:
    """Return Σ_{i' < i} ways(i')·levels(i - i') for each i.

    Levels are all the least one but in a window: that is a product of polynomials, and the rest
    a running sum.

    >>> _convolved([1, 1, 1], [9, 5, 2], 2)
    [0, 5, 7]
    """
    from flint import fmpz_poly

    size = len(ways)
    # Level 0 is left out, because the sum has i' < i.
    excess = [0] + [level - least for level in levels[1:]]
    first = next((i for i, level in enumerate(excess) if level), 0)
    last = next((i for i in range(size - 1, -1, -1) if excess[i]), 0)
    product = fmpz_poly(ways) * fmpz_poly(excess[first : last + 1])
    peak = [0] * first + [int(x) for x in product.coeffs()[: size - first]]
    peak += [0] * (size - len(peak))
    before = itertools.accumulate(ways[:-1], initial=0)
    return [x + least * total for x, total in zip(peak, before, strict=True)]
