r"""The law of one number's noise, and of a sum of two independent ones.

A published sum by group is :math:`S + cN`, a centred sum and c times a count, each with its own
noise. Adding up what each exceeds with half of the allowed probability is 1.5 to 1.75 times too
wide. The law of :math:`Z_S + cZ_N` is a convolution; it is computed from below, so that coverage
is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.publish.intervals import galloping_search

#: Sums of at most 2^23 positive floats are within this share of the exact ones.
ROUND_OFF = 2.0**-29


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
            held = float(masses @ np.where(shifts <= width, around, beside))
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
    >>> PairLaw(np.array([0.2, 0.1]), (0, 9)).width(Fraction(1), Fraction(7, 10))
    Fraction(17, 16)
    """

    masses: Floats
    ends: tuple[int, int]

    def inside(self, factor: float, width: float) -> float:
        r"""Bound :math:`P(|z_1 + f z_2| \le r)` from below, for a factor that is not negative.

        On the sides :math:`z_2 = \pm t` of a square there is a window of z_1, on the others one
        of z_2; both are counted for all squares at once.
        """
        t = np.arange(1, len(self.masses), dtype=float)
        slack = 1e-9 * (1 + width)  # round-off leaves points out, and lets none in
        first = np.maximum(np.ceil(-width - factor * t + slack), -t)
        last = np.minimum(np.floor(width - factor * t - slack), t)
        points = np.maximum(last - first + 1, 0)
        inner = t - 1
        if factor == 0:
            points = points + np.where(t <= width, 2 * inner + 1, 0)
        else:
            first = np.maximum(np.ceil((-width - t) / factor + slack), -inner)
            last = np.minimum(np.floor((width - t) / factor - slack), inner)
            points = points + np.maximum(last - first + 1, 0)
        held = self.masses[0] + 2 * float(points @ self.masses[1:])
        return float(held * (1 - ROUND_OFF))

    @lru_cache(maxsize=256)  # noqa: B019
    def width(self, factor: Fraction, level: Fraction) -> Fraction:
        """Return the least r, in sixteenths, with P(|z_1 + f·z_2| <= r) at least a level."""
        size = float(abs(factor))
        enough = float(level) * (1 + ROUND_OFF)
        farthest = int(len(self.masses) * (1 + size)) + 1
        found = galloping_search(
            lambda steps: self.inside(size, steps / 16) >= enough,
            16 * farthest,
            4 * farthest,
        )
        return Fraction(found, 16)

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
