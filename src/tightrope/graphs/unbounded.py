r"""Questions without ends: the lattice that an answer graph is a part of.

Far from the ends a question looks the same everywhere: answers are points of a lattice, and
neighbours differ by a fixed set of steps. A :class:`NoiseLattice` knows the *layers*, the points at
distance t from 0: how many there are, what they lose, how to find one by its number, and how to
bring a point back to the answers.

============  ===========================  ================================================
form          steps                        distance of z from 0
============  ===========================  ================================================
``line``      ±1 … ±v                      :math:`\lceil |z| / v \rceil`
``cube``      any coordinates by ±1        :math:`\max |z_i|`
``range``     any coordinates by 1, or -1  :math:`\max z_i^+ + \max z_i^-`
``cross``     one coordinate by ±1         :math:`\sum |z_i|`
``roots``     one up, another one down     :math:`\frac12 \sum |z_i|`, where :math:`\sum z_i = 0`
============  ===========================  ================================================

Sums are lines, counts cubes, and under add-remove ranges; histograms are roots, under add-remove
crosses. Every number of points is a polynomial in t from the first layer on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NoiseLattice:
    r"""A lattice with the part of it that the answers of a question are.

    Attributes
    ----------
    form
        ``line``, ``cube``, ``range``, ``cross`` or ``roots``.
    parts
        The number of coordinates.
    people
        The largest coordinate of an answer. The coordinates of roots have this sum, those of a
        cross at most this one.
    width
        The largest step on a line.
    hidden
        Whether the last coordinate is not shown (people who are absent).
    step
        What neighbouring numbers of a line stand apart.
    ends
        Whether edges are missing at the largest answers.

    Examples
    --------
    >>> counts = NoiseLattice("cube", 3, 1000)
    >>> [counts.layer(t) for t in range(3)], counts.loss_sum("absolute", 1)
    ([1, 26, 98], 54)
    >>> classes = NoiseLattice("roots", 3, 10)
    >>> [classes.layer(t) for t in range(4)], classes.points(2, [0, 11]).tolist()
    ([1, 6, 12, 18], [[2, 0, -2], [-2, 1, 1]])
    """

    form: str
    parts: int
    people: int
    width: int = 1
    hidden: bool = False
    step: int | Fraction = 1
    ends: bool = False

    # -- layers ---------------------------------------------------------------------------

    def ball(self, t: int, core: int = 0) -> int:
        """Return how many points lie at distance t or nearer; a line may have a wider middle.

        On a line with a core r the first layer is -r … r, and every other has v points more on
        either side.
        """
        k = self.parts
        if t < 0:
            return 0
        if self.form == "range":
            return int((t + 1) ** (k + 1) - t ** (k + 1))
        if self.form in ("cross", "roots"):
            return self._coefficient(t, 1)
        return int((2 * (core + t * self.width) + 1) ** k)

    def layer(self, t: int, core: int = 0) -> int:
        """Return how many points lie at distance t."""
        if self.form in ("cross", "roots"):
            return self._coefficient(t, 0)
        return self.ball(t, core) - self.ball(t - 1, core)

    def _coefficient(self, t: int, more: int) -> int:
        """Return that of x^t in the series P(x) / (1-x)^m of layers; with one more, of balls."""
        m, power = (self.parts, 1) if self.form == "cross" else (self.parts - 1, 2)
        under = m + more - 1
        return sum(comb(m, j) ** power * comb(t - j + under, under) for j in range(min(m, t) + 1))

    def loss_sum(self, loss: str, t: int, core: int = 0) -> int:
        """Return the sum of a loss over the points at distance t, in units of the step."""
        k, shown = self.parts, self.parts - self.hidden
        if loss == "binary":
            return self.layer(t, core) - (t == 0)
        if loss == "distance" and self.form != "line":
            return t * self.layer(t)
        if self.form in ("line", "cube", "range"):
            return self._ball_sum(loss, t, core) - self._ball_sum(loss, t - 1, core)
        if loss == "absolute":
            return shown * (t * self.layer(t) * (1 if self.form == "cross" else 2) // k)
        if self.form == "cross":  # the coefficients of 2x(1+x)^k / (1-x)^(k+2)
            steps = range(min(k, t - 1) + 1)
            return shown * 2 * sum(comb(k, j) * comb(t - j + k, k + 1) for j in steps)
        total = 0
        for j in range(min(k - 1, t) + 1):
            squares = comb(t - j + k, k + 1) + comb(t - j + k - 1, k + 1)
            total += (-1) ** j * comb(k - 1, j) * squares * _spread(t - j, k - 1)
        return int(2 * shown * total)

    def _ball_sum(self, loss: str, t: int, core: int) -> int:
        """Return the sum of a loss over all points of a line, cube or range up to distance t."""
        k, r = self.parts, core + t * self.width
        if t < 0:
            return 0
        if self.form == "range":
            # Points are tuples of k+1 numbers from 0 … t, one of them 0, less the first of them.
            ends = ((m, 2 if loss == "absolute" else m) for m in (t, t + 1))
            less, more = (k * m**k * (m * m - 1) * each // 6 for m, each in ends)
            return int(more - less)
        if loss == "distance":  # ⌈|z| / v⌉ on a line
            whole, rest = divmod(r, self.width)
            return (self.width * whole + 2 * rest) * (whole + 1)
        one = r * (r + 1) if loss == "absolute" else r * (r + 1) * (2 * r + 1) // 3
        return int(k * (2 * r + 1) ** (k - 1) * one)

    def layers(self, count: int, core: int = 0) -> list[int]:
        """Return the sizes of the first layers."""
        return _polynomial(partial(self.layer, core=core), count, self.parts + 2)

    def loss_sums(self, loss: str, count: int, core: int = 0) -> list[int]:
        """Return the sums of a loss over the first layers."""
        return _polynomial(partial(self.loss_sum, loss, core=core), count, self.parts + 2)

    def within(self, t: int, r: int, core: int = 0) -> int:
        """Return how many points at distance t have their first coordinate in -r … r.

        >>> [NoiseLattice("roots", 3, 10).within(1, r) for r in range(2)]
        [2, 6]
        """
        k = self.parts
        if self.form in ("line", "cube", "range"):
            return self._ball_within(t, r, core) - self._ball_within(t - 1, r, core)
        far = t - r - 1  # what is left for the other coordinates when the first is just beyond r
        if far < 0:
            return self.layer(t)
        if self.form == "cross":
            beyond = NoiseLattice("cross", k - 1, 0).ball(far)
        else:
            beyond = sum(
                (-1) ** j * comb(k - 1, j) * _spread(far - j, k) * _spread(t - j, k - 1)
                for j in range(min(k - 1, far) + 1)
            )
        return self.layer(t) - 2 * beyond

    def _ball_within(self, t: int, r: int, core: int) -> int:
        k, reach = self.parts, core + t * self.width
        most = min(r, reach)
        if t < 0:
            return 0
        if self.form != "range":
            return int((2 * most + 1) * (2 * reach + 1) ** (k - 1))
        ends = most * (most + 1)
        all_of, smaller = (2 * most + 1) * (t + 1) - ends, (2 * most + 1) * t - ends
        return int(all_of * (t + 1) ** (k - 1) - smaller * t ** (k - 1))

    # -- points by number -----------------------------------------------------------------

    def points(self, t: int, numbers: Any, core: int = 0) -> NDArray[np.int64]:
        """Return the points with numbers from 0 up to the size of the layer, one in each row.

        Every point is found with the same searches in tables of the same lengths.
        """
        k, size = self.parts, self.layer(t, core)
        given = np.asarray(numbers, np.int64 if size < 1 << 62 else object)
        if self.form == "line":
            half, reach = size // 2, core + (t - 1) * self.width if t else -1
            far = np.where(given < half, -reach - 1 - given, reach + 1 + given - half)
            return np.asarray(given - half if t == 0 else far, np.int64)[:, None]
        if t == 0:
            return np.zeros((len(given), k), np.int64)
        if self.form == "cube":
            return self._on_cube(t, given)
        if self.form == "range":
            return np.array([self._on_range(t, int(number)) for number in given], np.int64)
        found = np.zeros((len(given), k), np.int64)
        # First by the number of positive coordinates (on a cross, of those that are not 0).
        sums = [0, *_sums(self, t)]
        kinds = np.searchsorted(np.array(sums[1:], given.dtype), given, side="right")
        for kind in np.unique(kinds).tolist():
            mine, many = kinds == kind, kind + 1
            rest, point = given[mine] - sums[kind], np.zeros((int(mine.sum()), k), np.int64)
            if self.form == "cross":
                rest, signs = _divided(rest, 1 << many)
                bits = signs[:, None] >> np.arange(many).astype(given.dtype) & 1
            else:
                rest, below = _divided(rest, _spread(t, k - many))
            which, above = _divided(rest, comb(t - 1, kind))
            places, sizes = _subsets(which, many, k), _parts(above, many, t)
            if self.form == "cross":
                sizes = sizes * (1 - 2 * bits.astype(np.int64))
            np.put_along_axis(point, places, sizes, axis=1)
            if self.form == "roots":
                free = np.ones(point.shape, bool)
                np.put_along_axis(free, places, False, axis=1)
                others = np.nonzero(free)[1].reshape(len(point), -1)
                sizes = 1 - _parts(below, k - many, t + k - many)
                np.put_along_axis(point, others, sizes, axis=1)
            found[mine] = point
        return found

    def _on_cube(self, t: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Find points with some coordinate ±t: before the first such one all are smaller."""
        point, reached = [], np.zeros(len(numbers), bool)
        for rest in range(self.parts - 1, -1, -1):
            free = (2 * t + 1) ** rest
            inside = max(1, free - (2 * t - 1) ** rest)
            outer, inner = _divided(numbers, free), _divided(numbers - 2 * free, inside)
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
        found, low, high = list[int](), False, False
        for rest in range(self.parts, -1, -1):

            def ways(low: bool, high: bool, rest: int = rest) -> int:
                missed = (2 - low - high) * t**rest
                return int((t + 1) ** rest - missed + (0 if low or high else (t - 1) ** rest))

            for digit in range(t + 1) if rest == self.parts else (0, t, 1):
                is_low, is_high = low or digit == 0, high or digit == t
                count = ways(is_low, is_high) * (t - 1 if rest < self.parts and digit == 1 else 1)
                if number < count:
                    break
                number -= count
            if rest < self.parts and digit == 1 and 0 < digit < t:
                inside, number = divmod(number, ways(is_low, is_high))
                digit += inside
            found.append(digit)
            low, high = is_low, is_high
        return tuple(digit - found[0] for digit in found[1:])

    # -- the answers, and a part of the lattice around them -----------------------------------

    def around(self, reach: int, core: int = 0) -> int:
        """Return the number of points around the answers that have all within a distance.

        For lines, cubes, ranges and crosses this is a box, for roots a simplex.
        """
        if self.form == "roots":
            return _spread(self.people + self.parts * reach, self.parts)
        wide = core + reach * self.width
        return int((self.people + 1 + 2 * wide) ** self.parts)

    def point_around(self, reach: int, number: int, core: int = 0) -> tuple[int, ...]:
        """Return the point with a number among those around the answers."""
        k = self.parts
        if self.form == "roots":
            parts = _parts(np.array([number], object), k, self.people + k * reach + k)
            return tuple((parts[0] - 1 - reach).tolist())
        wide, point = core + reach * self.width, []
        for _ in range(k):
            number, digit = divmod(number, self.people + 1 + 2 * wide)
            point.append(digit - wide)
        return tuple(point)

    def coordinates(self, answer: Hashable) -> tuple[int, ...]:
        """Return the point that an answer is."""
        if self.form == "line":
            # Not by /, which makes a float of whole numbers: neighbours would come apart.
            return (int(answer // self.step),)  # type: ignore[operator]
        shown: tuple[int, ...] = tuple(answer)  # type: ignore[arg-type]
        return (*shown, self.people - sum(shown)) if self.hidden else shown

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
    counts = (comb(k, m) * comb(t - 1, m - 1) for m in range(1, most + 1))
    if lattice.form == "cross":
        return list(accumulate(n << m for m, n in enumerate(counts, 1)))
    return list(accumulate(n * _spread(t, k - m) for m, n in enumerate(counts, 1)))


def _polynomial(rule: Callable[[int], int], count: int, degree: int) -> list[int]:
    """Return the values at 0, 1, …, of what is a polynomial from 1 on, by its differences."""
    found = [rule(t) for t in range(min(count, degree + 2))]
    last = list[int]()
    row = found[1:]
    while row:
        last.append(row[-1])
        row = [b - a for a, b in pairwise(row)]
    while len(found) < count:
        for order in range(len(last) - 2, -1, -1):
            last[order] += last[order + 1]
        found.append(last[0])
    return found


def _spread(people: int, classes: int) -> int:
    """Return the number of ways to spread people over classes."""
    if people < 0 or classes == 0:
        return int(people == 0)
    return comb(people + classes - 1, classes - 1)


@lru_cache(maxsize=256)
def _binomials(r: int, most: int, wide: bool) -> NDArray[Any]:
    """Return C(m, r) for m = 0 … most, for searches; of 64 bits, none above 2^62."""
    found = [comb(m, r) for m in range(most + 1)]
    return np.array(found, object) if wide else np.array([min(x, 1 << 62) for x in found])


def _subsets(numbers: NDArray[Any], size: int, most: int) -> NDArray[np.int64]:
    r"""Return the subsets of 0 … most with these numbers among those of one size.

    Subsets are numbered by :math:`\sum_j \binom{e_j}{j}` over their elements in rising order.
    """
    found, top = np.empty((len(numbers), size), np.int64), (1 << most.bit_length()) - 1
    for r in range(size, 0, -1):
        if top < 1 << 14:  # one table for many layers
            table = _binomials(r, top, numbers.dtype == object)
            e = np.searchsorted(table, numbers, side="right") - 1
            numbers = numbers - table[e]
        else:
            key = partial(_choose, r)
            e = np.array([bisect_right(range(top), x, key=key) - 1 for x in numbers.tolist()])
            numbers = numbers - np.array([comb(m, r) for m in e.tolist()], object)
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
    cuts = _subsets(numbers, count - 1, total)
    ends = np.full((len(cuts), 1), total - 1)
    return np.diff(np.concatenate([cuts, ends], axis=1), axis=1, prepend=-1)
