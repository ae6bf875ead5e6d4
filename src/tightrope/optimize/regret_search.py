r"""Column generation for the least worst regret.

The program over rays r with weights w and its dual:

.. math:: \min t:\; \sum_r w_r v_a(r) \le \mathrm{opt}_a + t,\; \sum_r w_r r = 1
   \qquad
   \max \sum_i \lambda_i - \sum_a \mu_a \mathrm{opt}_a:\;
   \lambda \cdot r \le \sum_a \mu_a v_a(r),\; \sum_a \mu_a = 1,

where :math:`v_a(r) = \min_k c^a_k \cdot r`. The dual is convex in :math:`(\lambda, \mu)`, and the
consumers' own certificates are a point of it. Rays are looked for half way between the best
point known and the master's: either there is one, or half of the gap is proved.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightrope.errors import CheckFailed
from tightrope.optimize.guess_tuples import Crowd, Explored, explore, named
from tightrope.optimize.pricing import pricer_for
from tightrope.optimize.problem import Floats, Heights, Problem
from tightrope.optimize.progress import Callback, Progress

#: Most rounds of pricing.
MOST_ROUNDS = 300
#: Consumers whose multiplier is below this are left out of the tuples.
IDLE_MULTIPLIER = 1e-9
#: Rays with a smaller weight are not in use.
USED_WEIGHT = 1e-12
#: Regrets this close to the largest, as parts of the largest optimum, are equal to it.
TIED_REGRET = 1e-7
#: While the gap is larger than this many times what is wanted, rays are looked for half way.
ASIDE = 16.0
#: How often the way is halved at most where a search through the tuples is cut short.
RETREATS = 5


@dataclass(frozen=True, eq=False)
class Found:
    """A mixture of rays and what is proved about it.

    Parameters
    ----------
    heights, weights
        The rays and their weights.
    bound
        No private mechanism has a smaller worst regret.
    stopped
        Whether the search was stopped from outside.
    finished
        Whether no search through the tuples was cut short in the end.

    Examples
    --------
    >>> Found(np.zeros((1, 2), int), np.ones(1), 0.0, False, True).bound
    0.0
    """

    heights: Heights
    weights: Floats
    bound: float
    stopped: bool
    finished: bool


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the dual: shares of the consumers and prices of the answers."""

    share: Floats
    prices: Floats

    def half_way_to(self, other: _Point) -> _Point:
        return _Point((self.share + other.share) / 2, (self.prices + other.prices) / 2)


def search(
    problem: Problem,
    crowd: Crowd,
    optima: Floats,
    heights: Heights,
    slack: float,
    progress: Callback | None = None,
) -> Found:
    """Return rays with weights whose worst regret is least, and a bound.

    Parameters
    ----------
    problem
        Graph and privacy level.
    crowd
        The consumers.
    optima
        What each consumer loses with its own optimal mechanism.
    heights
        Rays to start with; they must allow for a mechanism.
    slack
        How far the worst regret may lie above the bound.
    progress
        Called between the steps of the search; ``True`` stops it.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.zeros((2, 1)))
    >>> binary = np.array([[0, 0.5], [0.5, 0]])
    >>> crowd = Crowd((binary, binary), np.full((2, 2), 1 / 6), 0.5)
    >>> found = search(problem, crowd, np.full(2, 1 / 3), np.array([[0, 1], [1, 0]]), 1e-9)
    >>> found.finished, found.bound < 1e-9
    (True, True)
    """
    return _Search(problem, crowd, optima, heights, slack, progress).run()


class _Search:
    def __init__(
        self,
        problem: Problem,
        crowd: Crowd,
        optima: Floats,
        heights: Heights,
        slack: float,
        progress: Callback | None,
    ) -> None:
        self.problem, self.crowd, self.optima = problem, crowd, optima
        self.slack, self.progress = slack, progress
        self.pricer = pricer_for(problem)
        self.heights = np.unique(heights - heights.min(axis=1, keepdims=True), axis=0)
        self.clock, self.rounds, self.stopped = time.perf_counter(), 0, False
        share = np.full(len(optima), 1 / len(optima))
        self.centre = _Point(share, share @ crowd.floors)
        self.best, self.worst = 0.0, np.inf

    def run(self) -> Found:
        """Add rays until the worst regret is proved, or nothing more can be done."""
        weights, finished = np.zeros(0), False
        for self.rounds in range(1, MOST_ROUNDS + 1):
            try:
                self.worst, weights, corner = self._master()
                rays, finished = self._rays(corner)
            except KeyboardInterrupt:
                if not len(weights):
                    raise
                self.stopped = True
            if self.stopped or self._told() or self.worst - self.best <= self.slack / 4:
                break
            if not len(rays):
                break
            weights = np.concatenate([weights, np.zeros(len(rays))])
            self.heights = np.concatenate([self.heights, rays])
        used = weights > USED_WEIGHT
        sharp = self._sharpened(self.heights[used], weights[used])
        return Found(self.heights[used], sharp, self.best, self.stopped, finished)

    def _sharpened(self, heights: Heights, weights: Floats) -> Floats:
        """Solve once more for the weights: rows sum to 1 and the largest regrets stay equal."""
        rays, worth = self.problem.alpha ** heights.astype(float), self.crowd.worth(heights).T
        scale = max(float(np.abs(self.optima).max()), 1e-300)
        regrets = (worth @ weights - self.optima) / scale
        tied = regrets >= regrets.max() - TIED_REGRET
        sums = np.hstack([rays.T, np.zeros((len(rays.T), 1))])
        ties = np.hstack([worth[tied] / scale, -np.ones((int(tied.sum()), 1))])
        system = np.vstack([sums, ties])
        wanted = np.concatenate([np.ones(len(sums)), self.optima[tied] / scale])
        for _ in range(4):
            # Scaling by the weights prefers small relative changes, which keep them positive.
            size = np.append(weights, 1.0)
            missing = wanted - system @ np.append(weights, regrets.max())
            step = np.linalg.lstsq(system * size, missing, rcond=1e-14)[0] * size
            weights = np.maximum(weights + step[:-1], 0.0)
            regrets = (worth @ weights - self.optima) / scale
        return np.asarray(weights)

    def _told(self) -> bool:
        """Say how far the search is; whether it shall stop."""
        scale = max(float(np.abs(self.optima).max()), 1e-300)
        gap = (self.worst - self.best) / scale
        seconds = time.perf_counter() - self.clock
        now = Progress(self.rounds, self.worst, self.best, gap, len(self.heights), seconds)
        self.stopped = self.progress is not None and bool(self.progress(now))
        return self.stopped

    def _rays(self, corner: _Point) -> tuple[Heights, bool]:
        """Look for rays half way to the corner, or further where there are none; note bounds."""
        target = corner
        for _ in range(RETREATS if self.worst - self.best > ASIDE * self.slack else 0):
            middle = self.centre.half_way_to(target)
            found = self._explored(middle)
            if len(found.heights):
                return found.heights, found.finished
            if found.finished or self.stopped:
                break
            # Too many branches: nearer to the proofs at hand fewer of them are open.
            target = middle
        found = self._explored(corner)
        return found.heights, found.finished

    def _explored(self, point: _Point) -> Explored:
        share = np.where(point.share > IDLE_MULTIPLIER, point.share, 0.0)
        share = share / share.sum()
        noise = self.slack / (16 * self.problem.size)
        known = {named(ray) for ray in self.heights}
        found = explore(self.crowd, self.pricer, share, point.prices, noise, known, self._told)
        bound = found.bound - float(share @ self.optima)
        if bound > self.best:
            self.best, self.centre = bound, _Point(share, found.lowered)
        return found

    def _master(self) -> tuple[float, Floats, _Point]:
        from scipy.optimize import linprog

        rays = self.problem.alpha ** self.heights.astype(float)
        worth = self.crowd.worth(self.heights).T
        count = len(rays)
        scale = 1 / max(float(np.abs(self.optima).max()), 1e-12)
        found = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.hstack([worth * scale, -np.ones((len(worth), 1))]),
            b_ub=self.optima * scale,
            A_eq=np.hstack([rays.T, np.zeros((self.problem.size, 1))]),
            b_eq=np.ones(self.problem.size),
            bounds=[(0, None)] * count + [(None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            raise CheckFailed(f"the regret program was not solved: {found.message.strip()}")
        share = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        share /= max(float(share.sum()), 1e-300)
        prices = np.asarray(found.eqlin.marginals) / scale
        # The rays in use determine the prices; solving for them removes the solver's tolerance.
        used = found.x[:-1] > USED_WEIGHT
        off = share @ worth[:, used] - rays[used] @ prices
        prices += np.linalg.lstsq(rays[used], off, rcond=1e-12)[0]
        return float(found.fun) / scale, found.x[:-1], _Point(share, prices)
