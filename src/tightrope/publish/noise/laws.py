r"""The law of one number's noise, and of a sum of two independent ones.

A published sum by group is :math:`S + cN`, a centred sum and c times a count, each with its own
noise. Adding up what each exceeds with half of the allowed probability is 1.5 to 1.75 times too
wide. The law of :math:`Z_S + cZ_N` is a convolution; it is computed from below, so that coverage
is kept.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.publish.intervals import galloping_search

#: Sums of at most 2^23 positive floats are within this share of the exact ones.
ROUND_OFF = 2.0**-29
#: Widths of a pair are multiples of this part of a unit, or of 2^-16 of the reach of wide noise.
PART = Fraction(1, 16)
#: Intervals of factors are not halved below this length: a margin of N grows by N/2000 at most.
FINEST = Fraction(1, 1024)
#: The least and the largest factor of an interval.
FactorRange = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """Noise that is symmetric around 0 and falls with the distance from it.

    Attributes
    ----------
    edges
        Distances from 0, increasing, the first of them 0.
    inside
        For each of them a bound from below on the probability to be no further away.
    ends
        The least and the largest number that is published: noise beyond is held there.

    Examples
    --------
    >>> coin = NoiseLaw(np.arange(2), np.array([0.5, 1.0]), (0, 9))
    >>> coin.joint_width(coin, Fraction(2), Fraction(7, 10)), coin.joint_width(coin, 0, 0.4)
    (2, 0)
    """

    edges: Ints
    inside: Floats
    ends: tuple[int, int]

    def _side(self, distances: Floats) -> Floats:
        """Bound the probability of one side up to some distances, without 0, from below."""
        # P(0 < Z ≤ d) = (P(|Z| ≤ d) − P(Z = 0)) / 2, at the last edge that is not above d
        places = np.searchsorted(self.edges, distances, side="right") - 1
        sides = (self.inside[places] - self.inside[0]) / 2
        return np.where(places < 0, 0.0, sides)

    def _side_at_most(self, distances: Floats) -> Floats:
        """Bound the same from above: what is not in the law may lie there as well."""
        places = np.searchsorted(self.edges, distances)
        nearest = np.minimum(places, len(self.edges) - 1)
        both_sides = self.inside[nearest] - self.inside[0] + 1 - self.inside[-1]
        return np.asarray(both_sides / 2)

    @lru_cache(maxsize=256)  # noqa: B019
    def joint_width(self, other: NoiseLaw, factor: Fraction, level: Fraction) -> int:
        r"""Return the least r with :math:`P(|Z + f Z'| \le r)` at least a level.

        Given :math:`Z' = n` the noise must lie within r of :math:`-fn`. That is the less likely
        the larger n is, so a group of n counts as its largest.
        """
        masses = np.diff(other.inside, prepend=0.0)
        shifts: Floats = other.edges * np.float64(abs(factor))

        def suffices(width: int) -> bool:
            # P(−shift − r ≤ Z ≤ −shift + r) = P(0) + one side up to each end
            outer = self._side(shifts + width)
            around = self.inside[0] + outer + self._side(width - shifts)
            # Beyond the width the window does not hold 0: a difference of two sides.
            nearer = np.ceil(shifts - width) - 1
            beside = np.maximum(outer - self._side_at_most(nearer), 0.0)
            possible = np.where(shifts <= width, around, beside)
            held = float(masses @ possible)
            return held * (1 - ROUND_OFF) >= float(level) * (1 + ROUND_OFF)

        farthest = int(self.edges[-1])
        most = farthest + int(shifts[-1]) + 1
        return galloping_search(suffices, most, farthest // 4)

    def is_inside(self, output: int) -> bool:
        """Whether an output is between the ends, so that it was not held there."""
        low, high = self.ends
        return low < output < high


@dataclass(frozen=True, eq=False)
class PairLaw:
    r"""Noise on pairs of whole numbers that falls with the larger one of both.

    Attributes
    ----------
    masses
        For t = 0, 1, …: a bound from below on the probability of each pair with
        :math:`\max(|z_1|, |z_2|) = t`.
    ends
        The least and the largest number that is published: noise beyond is held there.

    Examples
    --------
    >>> law = PairLaw(np.array([0.2, 0.1]), (0, 9))
    >>> [str(law.width(Fraction(1), Fraction(7, 10), r)) for r in (Fraction(0), Fraction(1, 2))]
    ['1', '3/2']
    """

    masses: Floats
    ends: tuple[int, int]

    @functools.cached_property
    def part(self) -> Fraction:
        """What widths are multiples of."""
        return max(PART, Fraction(len(self.masses), 1 << 16))

    @functools.cached_property
    def _beyond(self) -> Floats:
        """The sums of the masses up to each t."""
        return np.cumsum(self.masses)

    def _upto(self, place: Ints, other: Ints) -> Floats:
        """Return the probability that z_1 lies in 0 … x beside each z_2, for x >= 0."""
        # As far as z_2 is from 0 all z_1 have one mass, and beyond they have their own.
        side = np.abs(other)
        alike = self.masses[side] * (np.minimum(place, side) + 1)
        further = self._beyond[np.maximum(place, side)] - self._beyond[side]
        return np.asarray(alike + further)

    def inside(self, factors: FactorRange, low: int, high: int) -> float:
        r"""Bound the probability of :math:`a \le z_1 + f z_2 \le b` from below.

        The ends a and b are given as multiples of the part, and f is any number between two
        factors that are not negative: counted are the points that lie inside for all of them.
        """
        most = len(self.masses) - 1
        size = self.part.numerator
        parts = self.part.denominator
        far = max(-low, high) * size
        products = [f.numerator * parts * most + f.denominator * far for f in factors]
        is_large = max(products) >= 1 << 62
        integers = object if is_large else np.int64
        other = np.arange(-most, most + 1, dtype=integers)
        # z_1 lies from ⌈a - f·z_2⌉ to ⌊b - f·z_2⌋, whichever f makes these the narrowest.
        firsts = []
        lasts = []
        for f in factors:
            shift = f.numerator * parts * other
            step = f.denominator * parts
            lowest = shift - low * size * f.denominator
            highest = high * size * f.denominator - shift
            firsts.append(-(lowest // step))
            lasts.append(highest // step)
        first = np.clip(np.maximum(*firsts), -most, most + 1)
        last = np.clip(np.minimum(*lasts), -most - 1, most)
        upto_last = self._from_zero(last, other)
        shares = upto_last - self._from_zero(first - 1, other)
        held = float(np.maximum(shares, 0.0).sum())
        return held * (1 - ROUND_OFF)

    def _from_zero(self, place: Any, other: Any) -> Floats:
        """Return how much more likely z_1 <= x is than z_1 < 0, beside each z_2."""
        place = place.astype(np.int64)
        other = other.astype(np.int64)
        # By symmetry z_1 = x + 1 … -1 are as likely as 1 … -x - 1.
        mirrored = np.where(place >= 0, place, -place - 1)
        reached = self._upto(mirrored, other)
        middle = self.masses[np.abs(other)]
        return np.where(place >= 0, reached, middle - reached)

    @lru_cache(maxsize=256)  # noqa: B019
    def width(self, factor: Fraction, level: Fraction, rounded: Fraction) -> Fraction:
        r"""Return a w with :math:`P(|z_1 + f z_2 + r| \le w)` at least a level for all r.

        These r are at most ``rounded``, in absolute value, and w is the least multiple of the part
        that is found to suffice. As the noise is symmetric, r may be taken to be positive.
        The windows -w - r … w - r of all r between two multiples contain the one that has the
        lower of them at its left end and the upper at its right end.
        """
        both = abs(factor), abs(factor)
        return self._parts(both, level, rounded) * self.part

    @lru_cache(maxsize=256)  # noqa: B019
    def widest(self, factor: Fraction, level: Fraction, rounded: Fraction) -> Fraction:
        """Return a w that suffices for all factors up to this one, in absolute value.

        A smaller factor may need a wider window: between whole numbers a window may hold one of
        them less. So intervals of factors are halved until the window suffices for all in them.
        """
        size = abs(factor)
        width = self._parts((size, size), level, rounded)
        open_intervals = [(Fraction(0), size)]
        while open_intervals:
            low, high = open_intervals.pop()
            if self._suffices((low, high), width, level, rounded):
                continue
            if high - low > FINEST:
                middle = (low + high) / 2
                open_intervals += [(low, middle), (middle, high)]
            else:
                width = self._parts((low, high), level, rounded)
        return width * self.part

    def _parts(self, factors: FactorRange, level: Fraction, rounded: Fraction) -> int:
        """Return the least multiple of the part that is found to suffice between two factors."""
        farthest = len(self.masses) * (1 + factors[1]) + rounded
        most = math.ceil(farthest / self.part)
        return galloping_search(
            lambda width: self._suffices(factors, width, level, rounded),
            most,
            most // 4,
        )

    def _suffices(
        self,
        factors: FactorRange,
        width: int,
        level: Fraction,
        rounded: Fraction,
    ) -> bool:
        """Whether a multiple of the part suffices for all factors between two."""
        enough = float(level) * (1 + ROUND_OFF)
        shifts = range(math.ceil(rounded / self.part))
        # The largest shift first: it is the one that fails.
        neighbours = ((lower, lower + 1) for lower in reversed(shifts))
        pairs = [*neighbours, (0, 0)]
        return all(
            self.inside(factors, -width - lower, width - upper) >= enough
            for lower, upper in pairs
        )

    def is_inside(self, outputs: Sequence[int]) -> bool:
        """Whether all outputs are between the ends, so that none was held there."""
        low, high = self.ends
        return all(low < output < high for output in outputs)


def law_edges(farthest: int, most: int = 400) -> Sequence[int]:
    """Return distances up to the farthest, at most so many.

    >>> list(law_edges(3)), len(law_edges(10**6))
    ([0, 1, 2, 3], 401)
    """
    cell = max(-(-farthest // most), 1)
    return range(0, farthest + cell, cell)
