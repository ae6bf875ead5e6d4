r"""Towards good multipliers: the plain engine at multipliers half way to those of the master.

A master program with side rows is much slower than one without, and its multipliers jump from
corner to corner as long as the faces are poor. So multipliers are moved half the way from the
best ones known to the master's, and for these fixed ones the problem is a plain one: the engine
solves it quickly, which proves a bound and leaves faces that suit. A few such steps come near
enough for the engine to finish with the side rows.
"""

from __future__ import annotations

import time

from tightrope.optimize.engine import EngineResult, first_faces, run_engine
from tightrope.optimize.faces import Face
from tightrope.optimize.master import solve_master
from tightrope.optimize.objective import Objective
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.progress import Callback, Progress, Stopped, Watch, relative_gap
from tightrope.optimize.settings import SolverSettings

#: The approach ends at this gap: from there the engine needs few rounds.
CLOSE_GAP = 5e-3
#: A step that closes less than this part of the gap is the last one.
LEAST_STEP = 0.1
#: Most steps of the approach.
MOST_STEPS = 12
#: The gap of each plain problem, as part of the gap that is left.
INNER_SHARE = 1e-2


def run_approach(
    objective: Objective,
    *,
    gap: float = 1e-9,
    progress: Callback | None = None,
    start: dict[int, Face] | None = None,
    settings: SolverSettings | None = None,
) -> EngineResult:
    """Minimise an objective; one without side rows needs no approach.

    Parameters
    ----------
    objective
        The objective.
    gap
        Relative gap between value and bound at which to stop.
    progress
        Called after each step and round; ``True`` stops.
    start
        Faces that hold a mechanism which keeps all side rows.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.optimize.objective import MinimaxLoss
    >>> consumer = Consumer.of(PathPower(9, 2), support="all", loss="absolute")
    >>> found = run_approach(MinimaxLoss.of(PathPower(9, 2), Epsilon.of("ln(2)"), consumer))
    >>> found.value - found.bound < 1e-9
    True
    """
    if not len(objective.first):
        return run_engine(objective, gap=gap, progress=progress, start=start, settings=settings)
    clock = time.perf_counter()
    watch = progress if isinstance(progress, Watch) else None
    pricer = Pricer(objective.problem)
    best = objective.first
    faces = dict(start or first_faces(objective.problem, objective.guesses))
    multipliers, bound, prices = best, float("-inf"), None
    value, left = float("inf"), 1.0
    steps, result = 0, None

    def within(now: Progress) -> bool | None:
        """Say where the approach stands while the engine runs for fixed multipliers."""
        if progress is None:
            return None
        step = "searching for fixed multipliers"
        return progress(Progress(steps, value, bound, left, now.variables, 0.0, step))

    for steps in range(1, MOST_STEPS + 1):
        try:
            inner = run_engine(
                objective.weighed(multipliers),
                gap=INNER_SHARE * left,
                progress=within,
                start=start if steps == 1 else faces,
            )
            if inner.stopped and result is None:
                raise Stopped
            if prices is None or inner.bound > bound:
                best, bound, prices = multipliers, inner.bound, inner.prices
            faces |= inner.master.faces
            master = solve_master(objective.problem, faces, None, objective, watch)
            corner = objective.weighed(master.multipliers)
            checked = price(corner, pricer, master.prices, corner.guesses)
            if checked.bound > bound:
                best, bound, prices = master.multipliers, checked.bound, checked.prices
        except KeyboardInterrupt:
            if result is None:
                raise
            return result
        before, value = left, min(value, master.value)
        left = relative_gap(value, bound)
        told = Progress(steps, value, bound, left, master.variables, time.perf_counter() - clock)
        result = EngineResult(
            master.value, bound, prices, best, master.columns, steps, True, master
        )
        if inner.stopped or (progress is not None and progress(told)):
            return result
        if left <= CLOSE_GAP or (steps > 1 and left > (1 - LEAST_STEP) * before):
            break
        multipliers = (master.multipliers + best) / 2
    assert prices is not None

    def later(now: Progress) -> bool | None:
        if progress is None:
            return None
        seconds = time.perf_counter() - clock
        return progress(
            Progress(steps + now.round, now.loss, now.bound, now.gap, now.variables, seconds)
        )

    return run_engine(objective, gap=gap, progress=later, start=faces, proved=(best, prices))
