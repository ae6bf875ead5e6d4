r"""Boxstep: column generation whose prices stay near the best ones known.

Column generation solves a program over some columns, prices at its duals and adds the cheapest ray
of each guess. At first the duals are far from any that prove something, and so are the rays.
Here they stay in a box around the *centre*, the prices with the best bound so far [R. Marsten,
W. Hogan and J. Blankenship, "The boxstep method for large-scale optimization", 1975]: what a row's
sum is short of 1 may be bought at the upper end of the box, and what it has too much is sold at the
lower end,

.. math:: \min \sum_r c_r z_r + u \cdot p - l \cdot q \quad\text{with}\quad
   \sum_r z_r r + p - q = 1.

Answers that are alike form a *class* with one row and one price, and guesses that are alike have
one representative: the program stays small. Which answers are alike, and what the cheapest rays
are, a *market* says: orbits of a group here, depths in :mod:`tightrope.optimize.depths`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Protocol

import numpy as np

from tightrope.optimize.columns import private_columns
from tightrope.optimize.layers import layered_prices
from tightrope.optimize.orbits import expanded
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import OutOfSteps, Watch, digits_done, relative_gap
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.simplex import minimise
from tightrope.optimize.solvers import finished, too_many
from tightrope.optimize.task import RoutePlan, Task
from tightrope.progress import Progress

#: Part of what rows must sum to that is bought or sold at the end, on average, at most.
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
    most = task.settings.box_rows
    if group.orbit_count > most:
        return f"{group.orbit_count} orbits of answers are more than {most}"
    reason = f"{group.orbit_count} orbits of answers: cheapest rays at prices near the best ones"

    def solve() -> Design:
        market = Orbits(task.on_orbits, task.watch, task.prices)
        search = Boxstep(market, task.gap, task.watch, task.settings)
        search.run()
        return finished(
            task,
            expanded(market.columns(search.weights()), group),
            task.objective.first,
            market.by_answer(search.prices),
            proved=True,
            stopped=search.stopped,
            rounds=search.rounds,
        )

    return RoutePlan(reason, solve)


class Offers(NamedTuple):
    """Rays for the program: the sum that each adds to the rows of each class, and its costs.

    A ray stands for all guesses like its own; a class's row is the mean of its answers' rows.
    """

    sums: Floats
    costs: Floats


class Market(Protocol):
    """Classes of answers with one price each, and where rays come from.

    Attributes
    ----------
    sizes
        The number of answers in each class.
    highest
        No price of an answer is above this.
    lowest
        Prices this low are feasible: the box reaches down to them, or a ray of less cost than its
        lower end would have no limit.
    traded
        How much of a row may be bought or sold at the end, on average: prices may then still be at
        the end of their box, and a mechanism lacks that much.
    proved
        Prices that prove a bound, to begin with.
    centre
        Prices to search around, to begin with.
    """

    sizes: Floats
    highest: float
    lowest: float
    traded: float
    proved: Floats
    centre: Floats

    def total(self, prices: Floats) -> float:
        """Return the bound that prices prove."""

    def first(self) -> Offers:
        """Return rays with which rows can sum to 1; the first of them is never left out."""

    def cheapest(self, prices: Floats) -> tuple[Floats, Offers]:
        """Return the prices, lowered until they prove a bound, and rays with a negative value."""


class Boxstep:
    """The state of a search: the rays in the program, the centre and the best proof so far.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> costs = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> market = Orbits(Problem(PathPower(9, 2), Epsilon.of("ln(2)"), costs))
    >>> search = Boxstep(market, 1e-9)
    >>> search.run()
    >>> columns = market.columns(search.weights())
    >>> loss = sum(float(costs[:, k] @ x) for k, x in columns.items())
    >>> round(loss, 6), round(search.bound, 6)
    (1.595238, 1.595238)
    """

    def __init__(
        self,
        market: Market,
        gap: float,
        watch: Watch | None = None,
        settings: SolverSettings | None = None,
    ) -> None:
        self.market = market
        self.gap = gap
        self.watch = Watch() if watch is None else watch
        self.settings = SolverSettings() if settings is None else settings
        self.rounds = 0
        self.stopped = False
        self.prices = market.proved
        self.centre = market.centre
        self.sums = np.zeros((0, len(market.sizes)))
        self.costs = np.zeros(0)
        self.basis: tuple[Ints, Ints] | None = None
        self._add(market.first())

    @property
    def bound(self) -> float:
        """What is proved."""
        return self.market.total(self.prices)

    def _add(self, offers: Offers) -> None:
        """Take rays into the program; none of them is basic."""
        self.sums = np.vstack([self.sums, offers.sums])
        self.costs = np.concatenate([self.costs, offers.costs])
        if self.basis is not None:
            columns, rows = self.basis
            nonbasic = np.zeros(len(offers.costs), np.int64)
            self.basis = np.concatenate([columns, nonbasic]), rows

    def run(self, seconds: float = np.inf) -> None:
        """Go on round by round until the gap is closed, time is up, or nothing is gained.

        No round is begun that would probably end after so many seconds.
        """
        best = -np.inf
        idle = 0
        longest = 0.0
        end = self.watch.seconds + seconds
        try:
            while idle < self.settings.box_patience and not self.stopped:
                began = self.watch.seconds
                closed = self._round()
                idle = 0 if self.bound > best else idle + 1
                best = self.bound
                longest = max(longest, self.watch.seconds - began)
                # What is left is for a mechanism whose rows sum to 1.
                out_of_time = self.watch.left < 2 * longest
                self.stopped = self.stopped or (out_of_time and not closed)
                if closed or self.watch.seconds + longest > end:
                    return
        except OutOfSteps:
            pass  # what was found stays
        except KeyboardInterrupt:
            self.stopped = True

    def _round(self) -> bool:
        """Solve the program in the box, price at its duals; whether the gap is closed."""
        self.rounds += 1
        sizes = self.market.sizes
        usual = float(sizes @ np.abs(self.centre) / sizes.sum())
        reach = self.settings.box_width * (np.abs(self.centre) + usual)
        high = np.minimum(self.centre + reach, self.market.highest)
        low = np.minimum(self.centre - reach, self.market.lowest)
        value, values, duals = self._solved(sizes * low, sizes * high)
        bought, sold = np.split(values[: 2 * len(sizes)], 2)
        # A price that may not rise says nothing of a box that is too small.
        bought[high >= self.market.highest] = 0.0
        traded = float((bought + sold).mean())
        here = duals / sizes
        proved, offers = self.market.cheapest(here)
        if self.market.total(proved) > self.bound:
            self.prices = proved
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
        self._add(offers)
        return gap <= self.gap / 2 and traded <= self.market.traded

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

    def weights(self) -> Floats:
        """Return how much of each ray is in the best mechanism of them, without trade."""
        from scipy.sparse import csc_array

        ones = np.ones(len(self.market.sizes))
        # Without the clock: a search that was stopped needs a mechanism.
        matrix = csc_array(self.sums.T)
        return minimise(self.costs, matrix, ones, ones, presolve=True).values


class Orbits:
    """Orbits of answers, each with one price, and one guess for each orbit of guesses.

    Parameters
    ----------
    problem
        The problem on orbits.
    watch
        The clock.
    known
        Prices of all answers that are proved already.
    """

    highest = np.inf
    lowest = np.inf
    traded = TRADED

    def __init__(
        self, problem: Problem, watch: Watch | None = None, known: Floats | None = None
    ) -> None:
        self.problem = problem
        self.watch = Watch() if watch is None else watch
        self.pricer = Pricer(problem, self.watch)
        self.sizes = problem.class_sizes.astype(float)
        #: Of every ray its guess and its column.
        self.guesses = np.zeros(0, np.int64)
        self.rays = np.zeros((0, problem.size))
        # λ_i = min_k c_k(i) is feasible.
        proved = problem.costs.min(axis=1)
        if known is None:
            known = layered_prices(problem, np.ones(problem.size), self.watch)
        if known.sum() > proved.sum():
            proved = known
            centre = known
        else:
            # What the steepest ray from an answer costs for each unit of its sum.
            centre = problem.price_limits / problem.rates.sum(axis=1)
        self.proved = self._means @ proved
        self.centre = self._means @ centre

    @functools.cached_property
    def _means(self) -> Any:
        """The mean over each class, as a sparse matrix."""
        from scipy.sparse import csr_array

        problem = self.problem
        places = problem.classes, np.arange(problem.size)
        return csr_array((1 / self.sizes[problem.classes], places))

    def total(self, prices: Floats) -> float:
        """Return what prices of orbits prove."""
        return float(self.sizes @ prices)

    def by_answer(self, prices: Floats) -> Floats:
        """Return the price of every answer."""
        return prices[self.problem.classes]

    def first(self) -> Offers:
        """Return the flat ray, with which rows can always sum to 1, and the steepest ones."""
        problem = self.problem
        blind = problem.costs[:, problem.guesses].sum(axis=0)
        flat = problem.guesses[blind.argmin()]
        rays = np.vstack(
            [
                np.ones((1, problem.size)),
                problem.rates[problem.anchors[problem.guesses]],
            ]
        )
        return self._offers(np.append(flat, problem.guesses), rays)

    def cheapest(self, prices: Floats) -> tuple[Floats, Offers]:
        """Price every guess by minimum cuts."""
        problem = self.problem
        priced = price(problem, self.pricer, self.by_answer(prices), problem.guesses)
        rays = priced.rays
        cheap = np.flatnonzero(rays.negative)
        # Heights are those above the anchor, where a ray is 1: elsewhere it may be higher.
        columns = problem.alpha ** rays.heights[cheap].astype(float)
        offers = self._offers(problem.guesses[cheap], columns)
        return self._means @ priced.prices, offers

    def _offers(self, guesses: Ints, rays: Floats) -> Offers:
        """Keep rays, each for all guesses of its orbit, and return what the program needs."""
        problem = self.problem
        copies = np.array([problem.copies[k] for k in guesses.tolist()], float)
        own = (rays * problem.costs[:, guesses].T).sum(axis=1)
        self.guesses = np.concatenate([self.guesses, guesses])
        self.rays = np.vstack([self.rays, rays])
        means = (self._means @ rays.T).T
        return Offers(copies[:, None] * means, copies * own)

    def columns(self, weights: Floats) -> dict[int, Floats]:
        """Return a private mechanism of the rays, a column for each guess."""
        columns = {}
        for k in np.unique(self.guesses[weights > 0]).tolist():
            own = self.guesses == k
            columns[k] = weights[own] @ self.rays[own]
        return private_columns(self.problem, columns, self.watch)
