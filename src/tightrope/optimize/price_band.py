r"""Pricing on a band by dynamic programming over profiles.

On the graph :math:`|i-j| \le w` the heights of any :math:`w+1` consecutive answers differ by at
most 1. A *profile* is what the last w heights look like from the newest of them. The cost of
everything to the left, for a column that is 1 at the newest answer, depends on the profile
only, because costs scale with the column: no table over heights is needed, and there are
:math:`2^w - 1` profiles.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightrope.optimize.problem import Floats, Ints


class _Moves(NamedTuple):
    """For each profile: the profiles beside it, the factor of their cost, the step in height."""

    profile: Ints
    factor: Floats
    step: Ints


class BandPricer:
    """Cheapest rays on ``PathPower(size, width)``.

    Examples
    --------
    >>> pricer = BandPricer(4, 2, 0.5)
    >>> weights = np.array([[1.0], [1.0], [-1.0], [1.0]])
    >>> values, heights, _ = pricer.cheapest(weights, np.array([0]))
    >>> values.tolist(), heights.tolist()
    ([1.0], [[0, 0, -1, 0]])
    """

    def __init__(self, size: int, width: int, alpha: float) -> None:
        self.size = size
        profiles = [
            (*older, 0)
            for older in itertools.product((-1, 0, 1), repeat=width - 1)
            if max(*older, 0, 0) - min(*older, 0, 0) <= 1
        ]
        number = {profile: p for p, profile in enumerate(profiles)}
        before: list[list[tuple[int, float, int]]] = [[] for _ in profiles]
        after: list[list[tuple[int, float, int]]] = [[] for _ in profiles]
        for profile, step in itertools.product(profiles, (-1, 0, 1)):
            seen = (*profile, step)
            if max(seen) - min(seen) <= 1:
                follower = number[tuple(h - step for h in seen[1:])]
                before[follower].append((number[profile], alpha**-step, step))
                after[number[profile]].append((follower, alpha**step, step))
        self._before, self._after = _padded(before), _padded(after)

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Ints, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        n, count = weights.shape
        each = np.arange(count)
        profiles = len(self._before.profile)
        total = np.zeros((profiles, count))
        whose = [np.flatnonzero(anchors == i) for i in range(n)]
        came = np.empty((n, profiles, count), np.int8)
        cost = np.zeros((profiles, count))
        for i in range(n):
            cost = _best(cost, self._before, came[i])
            cost += weights[i]
            total[:, whose[i]] += cost[:, whose[i]]
        goes = np.empty((n, profiles, count), np.int8)
        cost = np.zeros((profiles, count))
        for i in range(n - 2, -1, -1):
            cost = _best(cost + weights[i + 1], self._after, goes[i])
            total[:, whose[i]] += cost[:, whose[i]]
        profile = total.argmin(axis=0)
        heights = self._trace(anchors, profile, came, goes)
        return total[profile, each], heights, np.zeros(count)

    def _trace(
        self, anchors: Ints, start: Ints, came: NDArray[np.int8], goes: NDArray[np.int8]
    ) -> Ints:
        """Follow the choices from the anchors to both ends, all guesses in step."""
        n, _, count = came.shape
        heights = np.zeros((count, n), np.int64)
        each = np.arange(count)
        for choices, moves, way in ((came, self._before, -1), (goes, self._after, 1)):
            profile, place = start.copy(), anchors.copy()
            moving = each[place > 0] if way < 0 else each[place < n - 1]
            while len(moving):
                i, p = place[moving], profile[moving]
                pick = choices[i, p, moving]
                heights[moving, i + way] = heights[moving, i] + way * moves.step[p, pick]
                profile[moving] = moves.profile[p, pick]
                place[moving] += way
                moving = moving[(place[moving] > 0) & (place[moving] < n - 1)]
        return heights


def _best(cost: Floats, moves: _Moves, pick: NDArray[np.int8]) -> Floats:
    """Return the cheapest continuation of every profile; write down which one it is."""
    options: Floats = cost[moves.profile.T]
    options *= moves.factor.T[:, :, None]
    best: Floats = options[0]
    pick[:] = 0
    for p in range(1, len(options)):
        np.putmask(pick, options[p] < best, p)
        np.minimum(best, options[p], out=best)
    return best


def _padded(moves: list[list[tuple[int, float, int]]]) -> _Moves:
    """Equal numbers of moves for each profile, the last one repeated."""
    longest = max(len(options) for options in moves)
    full = [options + options[-1:] * (longest - len(options)) for options in moves]
    return _Moves(
        np.array([[move[0] for move in options] for options in full]),
        np.array([[move[1] for move in options] for options in full]),
        np.array([[move[2] for move in options] for options in full]),
    )
