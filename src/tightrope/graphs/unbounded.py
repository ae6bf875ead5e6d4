"""Noise on the lattice of an answer graph: points by their number, and back to the answers.

How many points there are and what they lose is said in :mod:`tightrope.lattices`, which the judge
shares.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.lattices import Lattice


class NoiseLattice(Lattice):
    """A lattice whose points can be drawn.

    Examples
    --------
    >>> classes = NoiseLattice("roots", 3, 10)
    >>> [classes.layer(t) for t in range(4)], classes.points(2, [0, 11]).tolist()
    ([1, 6, 12, 18], [[2, 0, -2], [-2, 1, 1]])
    """

    def within(self, t: int, r: int) -> int:
        """Return how many points at distance t have their first coordinate in -r … r.

        >>> [NoiseLattice("roots", 3, 10).within(1, r) for r in range(2)]
        [2, 6]
        """
        k = self.parts
        if self.form in ("line", "cube", "range"):
            return self._ball_within(t, r) - self._ball_within(t - 1, r)
        far = (
            t - r - 1
        )  # what is left for the other coordinates when the first is just beyond r
        if far < 0:
            return _layer(self, t)
        if self.form == "cross":
            # A first coordinate x > r leaves t - x ≤ far for the others: a ball of them.
            beyond = NoiseLattice("cross", k - 1, 0).ball(far)
        else:
            beyond = sum(
                (-1) ** j * comb(k - 1, j) * _spread(far - j, k) * _spread(t - j, k - 1)
                for j in range(min(k - 1, far) + 1)
            )
        return _layer(self, t) - 2 * beyond

    def _ball_within(self, t: int, r: int) -> int:
        k = self.parts
        # Each coordinate of a ball lies within core + t·width.
        reach = self.core + t * self.width
        most = min(r, reach)
        if t < 0:
            return 0
        span = 2 * most + 1
        if self.form != "range":
            return int(span * (2 * reach + 1) ** (k - 1))
        ends = most * (most + 1)
        all_of = span * (t + 1) - ends
        smaller = span * t - ends
        return int(all_of * (t + 1) ** (k - 1) - smaller * t ** (k - 1))

    # -- points by number -----------------------------------------------------------------

    def points(self, t: int, numbers: Any) -> NDArray[np.int64]:
        """Return the points with numbers from 0 up to the size of the layer, one in each row.

        Every point is found with the same searches in tables of the same lengths.
        """
        k = self.parts
        size = self.layer(t)
        integers = np.int64 if size < 1 << 62 else object
        given = np.asarray(numbers, integers)
        if self.form == "line":
            half = size // 2
            reach = self.core + (t - 1) * self.width if t else -1
            # A layer of a line has `width` places on each side, just beyond the layer before.
            left = -reach - 1 - given
            right = reach + 1 + given - half
            far = np.where(given < half, left, right)
            answers = given - half if t == 0 else far
            return np.asarray(answers, np.int64)[:, None]
        if t == 0:
            return np.zeros((len(given), k), np.int64)
        if self.form == "cube":
            return self._on_cube(t, given)
        if self.form == "range":
            return np.array(
                [self._on_range(t, int(number)) for number in given], np.int64
            )
        found = np.zeros((len(given), k), np.int64)
        # First by the number of positive coordinates (on a cross, of those that are not 0).
        sums = [0, *_sums(self, t)]
        ends = np.array(sums[1:], given.dtype)
        kinds = np.searchsorted(ends, given, side="right")
        for kind in np.unique(kinds).tolist():
            mine = kinds == kind
            many = kind + 1
            rest = given[mine] - sums[kind]
            point = np.zeros((int(mine.sum()), k), np.int64)
            if self.form == "cross":
                # The lowest bits of a number are the signs.
                rest, signs = _divided(rest, 1 << many)
                shifts = np.arange(many).astype(given.dtype)
                bits = signs[:, None] >> shifts & 1
            else:
                rest, below = _divided(rest, _spread(t, k - many))
            # Then which coordinates are positive, and how these share the sum t.
            which, above = _divided(rest, comb(t - 1, kind))
            places = _subsets(which, many, k)
            sizes = _parts(above, many, t)
            if self.form == "cross":
                factors = 1 - 2 * bits.astype(np.int64)
                sizes = sizes * factors
            np.put_along_axis(point, places, sizes, axis=1)
            if self.form == "roots":
                free = np.ones(point.shape, bool)
                np.put_along_axis(free, places, False, axis=1)
                _, free_places = np.nonzero(free)
                others = free_places.reshape(len(point), -1)
                # Parts ≤ 0 with the sum -t are 1 less positive parts of t + k - m.
                sizes = 1 - _parts(below, k - many, t + k - many)
                np.put_along_axis(point, others, sizes, axis=1)
            found[mine] = point
        return found

    def _on_cube(self, t: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Find points with some coordinate ±t: before the first such one all are smaller."""
        point = []
        reached = np.zeros(len(numbers), bool)
        for rest in range(self.parts - 1, -1, -1):
            # Ways to complete a point once some coordinate is ±t, and as long as none is.
            free = (2 * t + 1) ** rest
            # Of the other coordinates, those tuples that reach ±t somewhere.
            inside = max(1, free - (2 * t - 1) ** rest)
            outer = _divided(numbers, free)
            inner = _divided(numbers - 2 * free, inside)
            # The first 2·free numbers have this coordinate at ±t, the others nearer to 0.
            small = ~reached & (outer[0] >= 2)
            point.append(
                np.where(
                    reached,
                    outer[0] - t,
                    np.where(small, inner[0] - t + 1, t * (2 * outer[0] - 1)),
                )
            )
            numbers = np.where(small, inner[1], outer[1])
            reached = reached | ~small
        return np.stack(point, axis=1).astype(np.int64)

    def _on_range(self, t: int, number: int) -> tuple[int, ...]:
        """Find k+1 numbers from 0 … t, both of which occur; the first is taken off the others."""
        found = list[int]()
        low = False
        high = False
        for rest in range(self.parts, -1, -1):

            def ways(low: bool, high: bool, rest: int = rest) -> int:
                # Inclusion and exclusion: tuples that still must contain 0, t or both.
                missed = (2 - low - high) * t**rest
                return int(
                    (t + 1) ** rest - missed + (0 if low or high else (t - 1) ** rest)
                )

            # 0 and t come first: only they change which ends have occurred.
            digits = range(t + 1) if rest == self.parts else (0, t, 1)
            for digit in digits:
                is_low = low or digit == 0
                is_high = high or digit == t
                # Digit 1 represents all t - 1 inner digits.
                count = ways(is_low, is_high) * (
                    t - 1 if rest < self.parts and digit == 1 else 1
                )
                if number < count:
                    break
                number -= count
            if rest < self.parts and digit == 1 and 0 < digit < t:
                inside, number = divmod(number, ways(is_low, is_high))
                digit += inside
            found.append(digit)
            low = is_low
            high = is_high
        return tuple(digit - found[0] for digit in found[1:])

    # -- the answers, and a part of the lattice around them -------------------------------

    def point_around(self, reach: int, number: int) -> tuple[int, ...]:
        """Return the point with a number among those around the answers."""
        k = self.parts
        if self.form == "roots":
            total = self.people + k * reach + k
            parts = _parts(np.array([number], object), k, total)
            # Shifted by 1 + reach, the coordinates around the answers are positive parts.
            return tuple((parts[0] - 1 - reach).tolist())
        wide = self.core + reach * self.width
        point = []
        for _ in range(k):
            # Digits of a mixed radix number, one for each coordinate.
            number, digit = divmod(number, self.people + 1 + 2 * wide)
            point.append(digit - wide)
        return tuple(point)

    def coordinates(self, answer: Hashable) -> tuple[int, ...]:
        """Return the point that an answer is."""
        if self.form == "line":
            # Not by /, which makes a float of whole numbers: neighbours would come apart.
            return (int(answer // self.step),)  # type: ignore[operator]
        shown: tuple[int, ...] = tuple(answer)  # type: ignore[arg-type]
        if not self.hidden:
            return shown
        return (*shown, self.people - sum(shown))

    def clamped(self, point: Sequence[int]) -> Hashable:
        """Return what is reported for a point: every number held between 0 and all people.

        No number is then further from that of an answer than before. The classes of a histogram
        need not sum to all people: to make them would put the noise of the small classes into the
        largest ones.

        >>> NoiseLattice("roots", 3, 9).clamped((-2, 4, 7))
        (0, 4, 7)
        """
        found = [min(max(x, 0), self.people) for x in point]
        if self.form == "line":
            return found[0] * self.step
        return tuple(found[: self.parts - self.hidden])


@lru_cache(maxsize=4096)
def _sums(lattice: NoiseLattice, t: int) -> list[int]:
    """Return running sums of the points of a layer by their number of (positive) coordinates."""
    k = lattice.parts
    most = min(k - (lattice.form == "roots"), t)
    # Choose the m coordinates, then a composition of t into m parts.
    counts = (comb(k, m) * comb(t - 1, m - 1) for m in range(1, most + 1))
    if lattice.form == "cross":
        return list(accumulate(n << m for m, n in enumerate(counts, 1)))
    spread = (n * _spread(t, k - m) for m, n in enumerate(counts, 1))
    return list(accumulate(spread))


@lru_cache(maxsize=1 << 16)
def _layer(lattice: NoiseLattice, t: int) -> int:
    """Return how many points lie at a distance: margins ask for each layer again and again."""
    return lattice.layer(t)


@lru_cache(maxsize=1 << 16)
def _spread(people: int, classes: int) -> int:
    """Return the number of ways to spread people over classes."""
    if people < 0 or classes == 0:
        return int(people == 0)
    return comb(people + classes - 1, classes - 1)


@lru_cache(maxsize=256)
def _binomials(r: int, most: int, wide: bool) -> NDArray[Any]:
    """Return C(m, r) for m = 0 … most, for searches; of 64 bits, none above 2^62."""
    # Capped, the table stays sorted and above every number that is searched for.
    found = [comb(m, r) for m in range(most + 1)]
    return (
        np.array(found, object) if wide else np.array([min(x, 1 << 62) for x in found])
    )


def _subsets(numbers: NDArray[Any], size: int, most: int) -> NDArray[np.int64]:
    r"""Return the subsets of 0 … most with these numbers among those of one size.

    Subsets are numbered by :math:`\sum_j \binom{e_j}{j}` over their elements in rising order.
    """
    found = np.empty((len(numbers), size), np.int64)
    top = (1 << most.bit_length()) - 1
    for r in range(size, 0, -1):
        if top < 1 << 14:  # one table for many layers
            table = _binomials(r, top, numbers.dtype == object)
            # The combinatorial number system: the largest e with C(e, r) ≤ number.
            e = np.searchsorted(table, numbers, side="right") - 1
            numbers = numbers - table[e]
        else:
            # A table of this size would not pay: bisection on the binomials themselves.
            key = partial(_choose, r)
            e = np.array(
                [bisect_right(range(top), x, key=key) - 1 for x in numbers.tolist()]
            )
            choices = np.array([comb(m, r) for m in e.tolist()], object)
            numbers = numbers - choices
        found[:, r - 1] = e
    return found


def _divided(numbers: NDArray[Any], by: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return quotients and remainders; NumPy's divmod refuses integers of any size."""
    quotients = numbers // by
    return quotients, numbers - quotients * by


def _choose(r: int, m: int) -> int:
    return comb(m, r)


def _parts(numbers: NDArray[Any], count: int, total: int) -> NDArray[np.int64]:
    """Return the ways to write a total as so many positive parts that have these numbers."""
    # Compositions of a total into parts are the subsets of its cuts.
    cuts = _subsets(numbers, count - 1, total)
    ends = np.full((len(cuts), 1), total - 1)
    padded = np.concatenate([cuts, ends], axis=1)
    return np.diff(padded, axis=1, prepend=-1)
