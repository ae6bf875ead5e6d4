r"""The engine: one face of rays for each guess, enlarged by pricing until nothing is gained.

Dantzig-Wolfe over single rays needs very many of them when several rays share a guess (binary
loss). Here each guess owns the smallest face that contains the rays found for it so far, a
program with few variables; pricing says which faces must grow, and proves the bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.errors import CheckFailed
from tightrope.optimize.columns import private_columns
from tightrope.optimize.faces import Face, joined, label_all
from tightrope.optimize.interior import Interior, interior_effort, interior_points
from tightrope.optimize.master import MasterSolution, solve_master
from tightrope.optimize.objective import ExpectedLoss, Objective
from tightrope.optimize.pricing import Priced, Pricer, highest, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import (
    OutOfSteps,
    Stopped,
    Watch,
    digits_done,
    relative_gap,
)
from tightrope.optimize.settings import SolverSettings
from tightrope.progress import Progress, ProgressCallback


@dataclass(frozen=True, eq=False)
class EngineResult:
    """A mechanism, column by column, prices that prove a bound, and how far apart they are.

    The prices are those of the problem with the costs that ``multipliers`` amount to.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> best = run_engine(problem)
    >>> round(best.value, 9), round(best.bound, 9), best.stopped
    (0.5, 0.5, False)
    """

    value: float
    bound: float
    prices: Floats
    multipliers: Floats
    columns: dict[int, Floats]
    rounds: int
    stopped: bool
    faces: dict[int, Face]


def run_engine(
    aim: Problem | Objective,
    *,
    gap: float = 1e-9,
    progress: ProgressCallback | None = None,
    start: dict[int, Face] | None = None,
    settings: SolverSettings | None = None,
) -> EngineResult:
    r"""Minimise :math:`\sum_k c_k \cdot x^k` over private columns with sum 1.

    Parameters
    ----------
    aim
        The problem, or an objective other than the expected loss.
    gap
        Relative gap between loss and bound at which to stop.
    progress
        Called after each round; ``True`` stops.
    start
        Faces to start from, such as those of staircases or of a neighbouring ε.
    settings
        The tuned numbers of the search.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> costs = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> best = run_engine(Problem(PathPower(9, 2), Epsilon.of("ln(2)"), costs))
    >>> best.value - best.bound < 1e-9
    True
    """
    objective: Objective = ExpectedLoss(aim) if isinstance(aim, Problem) else aim
    search = _EngineSearch(objective, gap, Watch.of(progress), start, settings)
    search.run()
    return search.result()


class _EngineSearch:
    """The state of a search: faces, the last master program, the best columns and proof so far."""

    def __init__(
        self,
        objective: Objective,
        gap: float,
        watch: Watch,
        start: dict[int, Face] | None,
        settings: SolverSettings | None,
    ) -> None:
        self.objective = objective
        self.gap = gap
        self.watch = watch
        self.tuned = settings or SolverSettings()
        self.problem = objective.problem
        self.guesses = objective.guesses
        self.pricer = Pricer(self.problem, watch)
        self.master: MasterSolution | None = None
        self.inside: Interior | None = None
        # The best mechanism, and the least value of a program, whose columns are not yet exactly
        # feasible.
        self.columns: dict[int, Floats] = {}
        self.value = np.inf
        self.program_value = np.inf
        self.rounds = 0
        self.idle = 0
        self.stopped = False
        # What masters and pricing may take for each tenth of the gap before the interior-point
        # method is the better bet: near the end column generation gets faster.
        self.seconds = np.inf
        self.tenth = np.inf
        if objective.loss_rows is not None:
            effort = interior_effort(self.problem, self.guesses)
            self.seconds = self.tuned.interior_wait * effort
        self.faces = first_faces(self.problem, self.guesses, start, watch)
        # Prices at which every ray of every guess is free: the least cost of each answer. Over all
        # guesses, not only one for each orbit: prices must treat the answers of an orbit alike.
        weighed = objective.weighed(objective.first)
        self.best = _Proof(weighed, objective.first, weighed.costs.min(axis=1))
        self.spent = 0.0

    def run(self) -> None:
        """Go on round by round until the gap is closed, or nothing is gained any more."""
        try:
            while self.rounds < self.tuned.most_rounds and not self._round():
                pass
        except KeyboardInterrupt:
            if self.master is None and self.inside is None:
                raise
            self.stopped = True
        if not self.closed:
            if self.master is not None:
                self._make(self.master.columns)
            if self.inside is not None:
                self._make(
                    _heavy_columns(self.problem, self.inside, self.guesses, self.gap)
                )
        if len(self.guesses) < len(self.problem.guesses):
            # Without the clock: a search that was stopped still needs a bound that holds.
            self.best = self.best.priced(Pricer(self.problem), self.problem.guesses)[1]

    @property
    def closed(self) -> bool:
        """Whether the mechanism is as good as was asked for."""
        return self._left(self.value) <= self.gap

    def _left(self, value: float) -> float:
        """Return the gap between a value and what is proved."""
        return relative_gap(value, self.best.bound)

    def _make(self, columns: dict[int, Floats]) -> None:
        """Make a mechanism of numerical columns; keep it if it is the best."""
        feasible = private_columns(self.problem, columns, self.watch)
        value = self.objective.worth(feasible)
        if value < self.value:
            self.value = value
            self.columns = feasible

    def _round(self) -> bool:
        """Solve the program over the faces, price its duals, and grow the faces; whether done."""
        self.rounds += 1
        bound = self.best.bound
        value = self.program_value
        try:
            left = max(self.seconds - self.spent, 0.0)
            solved, here, priced = self._priced(left)
        except OutOfSteps:
            if self.objective.loss_rows is None and self.master is None:
                raise
            return self._interior()
        self.master = solved
        self.program_value = min(self.program_value, solved.value)
        better = self.best.bound > bound or self.program_value < value
        self.idle = 0 if better else self.idle + 1
        self._count(solved.seconds + self.pricer.seconds)
        self.stopped = self._report(self.program_value, solved.variables, "searching")
        # Half of the gap is left for making the columns exactly feasible.
        if self._left(self.program_value) <= self.gap / 2:
            self._make(solved.columns)
            return self.closed or self._interior()
        # Without an interior-point method to fall back on, patience ends the search.
        alone = self.seconds == np.inf
        if self.stopped or (self.idle >= self.tuned.patience and alone):
            return True
        grown = self._grown(here, priced)
        if all(grown[k] is self.faces.get(k) for k in grown):
            self.idle += 1  # nothing is cheap
        else:
            label_all(grown.values(), self.watch)
            self.faces = grown
        return False

    def _priced(self, seconds: float) -> tuple[MasterSolution, _Proof, Priced]:
        """Solve the master program and price at its duals, in time; the best proof is kept."""
        solved = solve_master(
            self.problem,
            self.faces,
            self.master,
            self.objective,
            self.watch,
            seconds=seconds,
        )
        # Pricing may take what the master program has left of the budget.
        self.pricer.seconds = 0.0
        self.pricer.most_seconds = seconds - solved.seconds
        multipliers = solved.multipliers
        here = _Proof(
            self.objective.weighed(multipliers), multipliers, np.asarray(solved.prices)
        )
        priced, proof = here.priced(self.pricer, self.guesses)
        self.best = max(self.best, proof, key=lambda point: point.bound)
        return solved, here, priced

    def _grown(self, here: _Proof, priced: Priced) -> dict[int, Face]:
        """Join the rays with a negative value to the faces of their guesses."""
        problem = here.problem
        prices = here.prices
        rays = priced.rays
        grown = dict(self.faces)
        # Pricing cuts off what prices are above the steepest rays, so it does not find these.
        above = np.flatnonzero(prices > highest(problem, prices))
        cheap = [
            (int(problem.steepest_guesses[i]), problem.distances[i])
            for i in above.tolist()
        ]
        cheap = [(k, ray) for k, ray in cheap if k in grown]
        for q in np.flatnonzero(rays.negative).tolist():
            cheap.append((int(self.guesses[q]), rays.heights[q]))
        for k, heights in cheap:
            face = grown.get(k)
            larger = joined(problem, face, heights)
            if face is None or (larger.tight != face.tight).any():
                grown[k] = larger
        return grown

    def _count(self, seconds: float) -> None:
        """Count the time of a round against the budget for a tenth of the gap."""
        # Rounds that gain nothing count the more, the longer it lasts.
        self.spent += (1 + self.idle) * seconds
        if (left := self._left(self.program_value)) < self.tenth:
            # The first budget pays for the first round as well.
            self.spent = 0.0 if self.rounds > 1 else self.spent
            self.tenth = left / 10

    def _report(self, value: float, variables: int, step: str) -> bool:
        """Report how far the search is; return whether to stop."""
        gap = self._left(value)
        return self.watch(
            Progress(
                step,
                *digits_done(gap, self.gap),
                self.rounds,
                variables,
                value,
                self.best.bound,
                gap,
            )
        )

    def _interior(self) -> bool:
        """Solve for all columns at once; whether the gap is closed or the search must stop.

        This takes over where column generation takes too long, and where the solver lost too many
        digits or gave up. Prices far from the optimum take long to be priced and prove little:
        those of a point are priced when it promises a hundredth of the gap that is proved, or all
        that is wanted.
        """
        if self.inside is not None or self.objective.loss_rows is None:
            return True
        # This is the last method: there is nothing left to save time for.
        self.seconds = self.pricer.most_seconds = np.inf
        step = "solving for all columns at once by an interior-point method"
        for point in interior_points(self.objective):
            enough = max(self.gap / 2, self._left(point.value) / 100)
            if point.gap <= enough:
                costs = self.objective.weighed(point.multipliers)
                here = _Proof(costs, point.multipliers, point.prices)
                proof = here.priced(self.pricer, self.guesses)[1]
                self.best = max(self.best, proof, key=lambda dual: dual.bound)
            if self.inside is None or point.gap < self.inside.gap:
                self.inside = point
            if self._left(point.value) <= self.gap / 2:
                self._make(_heavy_columns(self.problem, point, self.guesses, self.gap))
            value = min(self.program_value, self.inside.value)
            self.stopped = self._report(value, point.columns.size, step)
            if self.stopped or self.closed:
                return True
        return False

    def result(self) -> EngineResult:
        """Return the best columns and prices."""
        if not self.columns:
            raise CheckFailed(
                "neither column generation nor an interior-point method got anywhere"
            )
        best = self.best
        return EngineResult(
            self.value, best.bound, best.prices, best.multipliers, self.columns, self.rounds,
            self.stopped, self.faces if self.master is None else self.master.faces,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Proof:
    """A point of the dual: multipliers, the problem they amount to, and prices for it."""

    problem: Problem
    multipliers: Floats
    prices: Floats

    @property
    def bound(self) -> float:
        return float(self.prices.sum())

    def priced(self, pricer: Pricer, guesses: Ints) -> tuple[Priced, _Proof]:
        """Return what pricing finds, and the point with prices lowered until they prove it."""
        priced = price(self.problem, pricer, self.prices, guesses)
        return priced, _Proof(self.problem, self.multipliers, priced.prices)


def _heavy_columns(
    problem: Problem, point: Interior, guesses: Ints, gap: float
) -> dict[int, Floats]:
    """Return the columns of a point but those that make no difference to its gap.

    What they had goes to the best guess without an answer (see :func:`private_columns`).
    """
    copies = [problem.copies[k] for k in guesses.tolist()]
    heights = point.columns.max(axis=1) * copies
    least = problem.alpha ** float(problem.lengths.min(initial=1))
    blind = float(problem.costs.sum(axis=0).min())
    # A unit that is moved costs at most blind / (1 - α): a tenth of the gap is given away.
    size = max(abs(blind), 1e-300)
    most = 0.1 * gap * (1 - least) * abs(point.value) / size
    # Dropped are the lightest columns whose heights together stay within that.
    lightest = np.argsort(heights)
    heavy = np.sort(lightest[np.cumsum(heights[lightest]) > most])
    return {int(guesses[q]): point.columns[q] for q in heavy}


def first_faces(
    problem: Problem,
    guesses: Ints,
    start: dict[int, Face] | None = None,
    watch: Watch | None = None,
) -> dict[int, Face]:
    """Return faces to start from, or the steepest ray around each guess's region; and a flat ray.

    With the flat ray a mechanism always exists.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of(1), np.ones((3, 3)) - np.eye(3))
    >>> [face.dimension for face in first_faces(problem, problem.guesses).values()]
    [3, 1, 1]
    """
    faces = dict(start or {})
    for k in () if start else guesses.tolist():
        if watch is not None and watch.heartbeat():
            raise Stopped
        faces[k] = joined(
            problem, None, problem.distances[problem.regions[k]].min(axis=0)
        )
    # The flat ray belongs to the best guess without an answer.
    blind_costs = problem.costs[:, guesses].sum(axis=0)
    flat = int(guesses[np.argmin(blind_costs)])
    ray = np.zeros(problem.size, problem.lengths.dtype)
    return faces | {flat: joined(problem, faces.get(flat), ray)}
