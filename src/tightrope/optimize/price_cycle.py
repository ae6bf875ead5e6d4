r"""Pricing on a cycle by dynamic programming over heights.

The ring is cut at the anchor, whose height is 0 at both ends of the cut. A walk round the ring
changes the height by at most 1 a step and has to come back to 0, so after p of n steps it is
at most :math:`\min(p, n-p)` away from 0: about :math:`n^2/2` places for each guess.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.optimize.problem import Floats, Ints

#: Largest ε·n/2: beyond it the largest number on a ray comes near the end of the floats.
LARGEST_EXPONENT = 600.0
#: Places of the walk that are kept at once; more guesses than fit are taken in turns.
PLACES = 20_000_000


class CyclePricer:
    """Cheapest rays on a cycle whose nodes are visited in the order given.

    Examples
    --------
    >>> pricer = CyclePricer(np.arange(4), 0.5)
    >>> weights = np.array([[-1.0], [1.0], [1.0], [1.0]])
    >>> values, heights, _ = pricer.cheapest(weights, np.array([0]))
    >>> values.tolist(), heights.tolist()
    ([0.25], [[0, 1, 2, 1]])
    """

    def __init__(self, order: Ints, alpha: float) -> None:
        self.size = len(order)
        self._order = order
        self._place = np.argsort(order)
        self._top = self.size // 2
        self._powers = alpha ** np.arange(-self._top, self._top + 1.0)

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Ints, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        n, count = weights.shape
        values, heights = np.empty(count), np.empty((count, n), np.int64)
        turn = max(1, PLACES // (n * len(self._powers)))
        for first in range(0, count, turn):
            some = np.arange(first, min(first + turn, count))
            round_trip = (np.arange(n)[:, None] + self._place[anchors[some]]) % n
            nodes = self._order[round_trip]
            values[some], walk = self._walks(weights[nodes, some])
            heights[some, nodes] = walk
        return values, heights, np.zeros(count)

    def _walks(self, weights: Floats) -> tuple[Floats, Ints]:
        """Return the cheapest walks from the first row of weights round to it again."""
        n, count = weights.shape
        # Row `middle + h` is for height h, with a height at either side that no walk reaches.
        middle = self._top + 1
        cost = np.full((2 * middle + 1, count), np.inf)
        cost[middle] = weights[0]
        came = np.zeros((n + 1, len(cost), count), np.int8)
        for p in range(1, n + 1):
            reach = min(p, n - p)
            here = slice(middle - reach, middle + reach + 1)
            best = _cheapest_step(cost, here, came[p, here])
            if p < n:
                powers = self._powers[here.start - 1 : here.stop - 1]
                best += powers[:, None] * weights[p]
            cost[here] = best
        heights = np.zeros((n + 1, count), np.int64)
        each = np.arange(count)
        for p in range(n, 1, -1):
            heights[p - 1] = heights[p] + came[p, middle + heights[p], each]
        return cost[middle], heights[:n]


def _cheapest_step(cost: Floats, here: slice, pick: NDArray[np.int8]) -> Floats:
    """Return the least cost of the step before, one lower, level or higher; note which."""
    best = cost[here].copy()
    for step in (-1, 1):
        option = cost[here.start + step : here.stop + step]
        np.putmask(pick, option < best, step)
        np.minimum(best, option, out=best)
    return best
