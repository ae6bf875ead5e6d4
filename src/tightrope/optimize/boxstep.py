r"""Boxstep: column generation whose prices stay near the best ones known.

Column generation solves a program over some columns, prices at its duals and adds the cheapest ray
of each guess. At first the duals are far from any that prove something, and so are the rays.
Here they stay in a box around the *centre*, the prices with the best bound so far [R. Marsten,
W. Hogan and J. Blankenship, "The boxstep method for large-scale optimization", 1975]: what a row's
sum is short of 1 may be bought at the upper end of the box, and what it has too much is sold at the
lower end,

.. math:: \min \sum_r c_r z_r + u \cdot p - l \cdot q \quad\text{with}\quad
   \sum_r z_r r + p - q = 1.

With one row for each orbit of answers and one guess for each orbit the program stays small: what
takes faces of rays minutes for three counts takes seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.optimize.columns import private_columns
from tightrope.optimize.layers import layered_prices
from tightrope.optimize.orbits import expanded
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import OutOfSteps, Watch, digits_done, relative_gap
from tightrope.optimize.result import Design
from tightrope.optimize.simplex import minimise
from tightrope.optimize.solvers import finished, too_many
from tightrope.optimize.task import RoutePlan, Task
from tightrope.progress import Progress

#: Half the width of the box, as part of a price and of the mean price.
WIDTH = 0.4
#: Most orbits: rows of the program.
MOST_ORBITS = 1000
#: Rounds that a ray stays in the program without being used.
KEPT = 6
#: Rounds without a better bound after which the search ends.
PATIENCE = 40
#: Part of what rows must sum to that is bought or sold at the end, at most.
TRADED = 1e-9


def boxstep_route(task: Task) -> RoutePlan | str:
    """Column generation around the best prices, on orbits of many answers.

    >>> from tightrope.queries import query
    >>> graph = query("counts(10,3)").graph
    >>> boxstep_route(Task.of(graph, 1, prior="uniform", loss="absolute")).reason
    '56 orbits of answers: cheapest rays at prices near the best ones'
    """
    if task.consumer.risk_averse:
        return "boxes around prices are for a consumer with a prior"
    if task.graph.is_line:
        return "answers on a line have staircases"
    if refused := too_many(task):
        return refused
    few = task.settings.window_answers
    if task.graph.size <= few:
        return f"{task.graph.size} answers are few enough for the engine"
    group = task.symmetries
    if group is None:
        return "no symmetry of the graph keeps prior and loss"
    if group.orbit_count > MOST_ORBITS:
        return f"{group.orbit_count} orbits of answers are more than {MOST_ORBITS}"
    reason = f"{group.orbit_count} orbits of answers: cheapest rays at prices near the best ones"

    def solve() -> Design:
        search = Boxstep(task.on_orbits, task.gap, task.watch, task.prices)
        search.run()
        return finished(
            task,
            expanded(search.columns(), group),
            task.objective.first,
            search.prices,
            proved=True,
            stopped=search.stopped,
            rounds=search.rounds,
        )

    return RoutePlan(reason, solve)


class Boxstep:
    """The state of a search: the rays in the program, the centre and the best proof so far.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> costs = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> search = Boxstep(Problem(PathPower(9, 2), Epsilon.of("ln(2)"), costs), 1e-9)
    >>> search.run()
    >>> columns = search.columns()
    >>> loss = sum(float(costs[:, k] @ x) for k, x in columns.items())
    >>> round(loss, 6), round(search.bound, 6)
    (1.595238, 1.595238)
    """

    def __init__(
        self,
        problem: Problem,
        gap: float,
        watch: Watch | None = None,
        proved: Floats | None = None,
    ) -> None:
        self.problem = problem
        self.gap = gap
        self.watch = Watch() if watch is None else watch
        self.pricer = Pricer(problem, self.watch)
        self.rounds = 0
        self.stopped = False
        sizes = problem.class_sizes
        #: Of every ray its guess, its column, its row sums by class and its cost.
        self.guesses = np.zeros(0, np.int64)
        self.rays = np.zeros((0, problem.size))
        self.sums = np.zeros((0, len(sizes)))
        self.costs = np.zeros(0)
        self.idle = np.zeros(0, np.int64)
        self.basis: tuple[Ints, Ints] | None = None
        # λ_i = min_k c_k(i) is feasible.
        self.prices = problem.costs.min(axis=1)
        if proved is None:
            proved = layered_prices(problem, np.ones(problem.size), self.watch)
        if proved.sum() > self.prices.sum():
            self.prices = proved
            self.centre = proved
        else:
            # What the steepest ray from an answer costs for each unit of its sum.
            steepest = problem.price_limits / problem.rates.sum(axis=1)
            self.centre = problem.class_means(steepest)
        # The flat ray comes first, and stays: with it rows can always sum to 1.
        blind = problem.costs[:, problem.guesses].sum(axis=0)
        flat = problem.guesses[blind.argmin()]
        self._add(np.array([flat]), np.ones((1, problem.size)))
        self._add(problem.guesses, problem.rates[problem.anchors[problem.guesses]])

    @property
    def bound(self) -> float:
        """What is proved."""
        return float(self.prices.sum())

    def _add(self, guesses: Ints, rays: Floats) -> None:
        """Take rays into the program, each for all guesses of its orbit."""
        from scipy.sparse import csc_array

        problem = self.problem
        copies = np.array([problem.copies[k] for k in guesses.tolist()], float)
        by_class = csc_array(
            (
                1 / problem.class_sizes[problem.classes],
                (np.arange(problem.size), problem.classes),
            )
        )
        own = (rays * problem.costs[:, guesses].T).sum(axis=1)
        self.guesses = np.concatenate([self.guesses, guesses])
        self.rays = np.vstack([self.rays, rays])
        sums = copies[:, None] * (rays @ by_class)
        self.sums = np.vstack([self.sums, sums])
        self.costs = np.concatenate([self.costs, copies * own])
        not_idle = np.zeros(len(rays), np.int64)
        self.idle = np.concatenate([self.idle, not_idle])
        if self.basis is not None:
            columns, rows = self.basis
            nonbasic = np.zeros(len(rays), np.int64)
            self.basis = np.concatenate([columns, nonbasic]), rows

    def run(self) -> None:
        """Go on round by round until the gap is closed, time is up, or nothing is gained."""
        best = -np.inf
        idle = 0
        seconds = 0.0
        try:
            while idle < PATIENCE and not self.stopped:
                began = self.watch.seconds
                closed = self._round()
                idle = 0 if self.bound > best else idle + 1
                best = self.bound
                seconds = max(seconds, self.watch.seconds - began)
                # What is left is for a mechanism whose rows sum to 1.
                if closed or self.watch.left < 2 * seconds:
                    self.stopped = self.stopped or not closed
                    return
        except OutOfSteps:
            pass  # what was found stays
        except KeyboardInterrupt:
            self.stopped = True

    def _round(self) -> bool:
        """Solve the program in the box, price at its duals; whether the gap is closed."""
        self.rounds += 1
        problem = self.problem
        sizes = problem.class_sizes
        centre = np.bincount(problem.classes, self.centre)
        usual = np.abs(self.centre).mean()
        reach = WIDTH * (np.abs(centre) + sizes * usual)
        value, values, duals = self._solved(centre - reach, centre + reach)
        traded = float(values[: 2 * len(sizes)].sum())
        here = (duals / sizes)[problem.classes]
        priced = price(problem, self.pricer, here, problem.guesses)
        if priced.bound > self.bound:
            self.prices = priced.prices
            self.centre = here
        gap = relative_gap(value, self.bound)
        self.stopped = self.watch(
            Progress(
                "pricing in a box",
                *digits_done(gap, self.gap),
                self.rounds,
                len(self.costs),
                value,
                self.bound,
                gap,
            )
        )
        if gap <= self.gap / 2 and traded <= TRADED * len(sizes):
            return True
        rays = priced.rays
        cheap = np.flatnonzero(rays.negative)
        self._drop(values[2 * len(sizes) :] > 0)
        # Heights are those above the anchor, where a ray is 1: elsewhere it may be higher.
        columns = problem.alpha ** rays.heights[cheap].astype(float)
        self._add(problem.guesses[cheap], columns)
        return False

    def _solved(self, low: Floats, high: Floats) -> tuple[float, Floats, Floats]:
        """Solve the program, with duals between two limits; the traded sums come first."""
        from scipy.sparse import csc_array, eye_array, hstack

        count = len(low)
        unit = eye_array(count, format="csc")
        matrix = csc_array(hstack([unit, -unit, csc_array(self.sums.T)]))
        solved = minimise(
            np.concatenate([high, -low, self.costs]),
            matrix,
            np.ones(count),
            np.ones(count),
            basis=self.basis,
            watch=self.watch,
            presolve=self.basis is None,
        )
        self.basis = solved.basic_columns, solved.basic_rows
        return solved.value, solved.values, solved.duals

    def _drop(self, used: NDArray[np.bool_]) -> None:
        """Leave out rays that have not been used for some rounds."""
        assert self.basis is not None
        columns, rows = self.basis
        own = columns[-len(self.costs) :]
        in_use = used | (own > 0)
        self.idle = np.where(in_use, 0, self.idle + 1)
        kept = self.idle <= KEPT
        kept[0] = True
        traded = columns[: len(columns) - len(own)]
        self.basis = np.concatenate([traded, own[kept]]), rows
        for name in ("guesses", "rays", "sums", "costs", "idle"):
            setattr(self, name, getattr(self, name)[kept])

    def columns(self) -> dict[int, Floats]:
        """Return a private mechanism of the rays, a column for each guess."""
        from scipy.sparse import csc_array

        ones = np.ones(len(self.problem.class_sizes))
        # Without trade, and without the clock: a search that was stopped needs a mechanism.
        matrix = csc_array(self.sums.T)
        weights = minimise(self.costs, matrix, ones, ones, presolve=True).values
        columns = {}
        for k in np.unique(self.guesses[weights > 0]).tolist():
            own = self.guesses == k
            columns[k] = weights[own] @ self.rays[own]
        return private_columns(self.problem, columns, self.watch)
