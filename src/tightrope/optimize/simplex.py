"""One linear program for HiGHS, with the options that these problems ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import OutOfSteps, Stopped, Watch

#: Entries of the program below this are left out; columns are made whole after it.
SMALLEST_ENTRY = 1e-12
#: Most steps for each row and variable: beyond it the method may be in a cycle.
MOST_STEPS = 5
#: Seconds that a step takes for each entry of the matrix and for each row, measured.
STEP_SECONDS = 2.3e-9, 2.6e-8
#: Tolerance of rows and reduced costs, and that of a second try: without it limits on leakage on
#: count_mod(60,43) under a spiky prior end at a gap of 0.15.
TOLERANCE = 1e-10
LOOSE_TOLERANCE = 1e-7
#: Relative gap of an interior-point solution.
INTERIOR_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Solved:
    """The optimum of a linear program, its duals, and which variables and rows are basic.

    ``seconds`` is about how many of a processor it took (counted in steps).
    """

    value: float
    values: Floats
    duals: Floats
    basic_columns: Ints
    basic_rows: Ints
    seconds: float


def minimise(
    cost: Floats,
    matrix: Any,
    lower: Floats,
    upper: Floats,
    *,
    free: int = 0,
    basis: tuple[Ints, Ints] | None = None,
    watch: Watch | None = None,
    presolve: bool = False,
    watched_from: int = 10_000,
    seconds: float = np.inf,
    interior: bool = False,
) -> Solved:
    r"""Minimise :math:`c \cdot x` with :math:`l \le A x \le u` and :math:`x \ge 0`.

    Parameters
    ----------
    cost, matrix, lower, upper
        The program; the matrix is sparse, by columns.
    free
        How many of the last variables have no sign.
    basis
        For variables and rows 1 where they are basic: where the primal simplex method starts.
    watch
        Says when time is up; an interruption (Ctrl-C) ends the search at once too, and not
        after it. For programs that take long.
    watched_from
        Programs with fewer entries are not watched: a thread of their own costs them 3 ms.
    presolve
        Whether the solver simplifies the program first: worth it without a good basis.
    seconds
        About how many seconds of a processor it may take before :class:`OutOfSteps` is raised;
        counted in steps, so that the outcome does not depend on the machine.
    interior
        Whether to use an interior-point method where it succeeds; then nothing is said to be basic.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> half = minimise(np.array([1.0, 3.0]), csc_array([[2.0, 1.0]]), np.ones(1), np.ones(1))
    >>> half.value, half.values.tolist(), half.duals.tolist()
    (0.5, [0.5, 0.0], [0.5])
    """
    import highspy

    total = len(cost)
    size = len(cost) + len(lower)
    # Costs are scaled to a mean of 1, so that the solver's absolute tolerance is a small part.
    scale = 1 / max(float(np.abs(cost).mean()), 1e-300)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "on" if presolve else "off"),
        ("simplex_scale_strategy", 0),
        ("small_matrix_value", SMALLEST_ENTRY),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
    ):
        solver.setOptionValue(option, value)
    # Variables are at least 0, but for the last ones, which are free.
    solver.passModel(
        total,
        len(lower),
        matrix.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost * scale,
        np.append(np.zeros(total - free), np.full(free, -np.inf)),
        np.full(total, np.inf),
        lower,
        upper,
        matrix.indptr,
        matrix.indices,
        matrix.data.astype(np.float64),
        np.zeros(total, np.int32),
    )
    per_entry, per_column = STEP_SECONDS
    step = per_entry * matrix.nnz + per_column * len(lower)
    most = min(seconds / step, highspy.kHighsIInf)
    solver.setOptionValue("simplex_iteration_limit", int(min(most, MOST_STEPS * size)))
    if basis is not None:
        _start_from(solver, basis)

    def solve() -> bool:
        if watch is not None and matrix.nnz >= watched_from:
            _watched(solver, watch)
        else:
            solver.run()
        if solver.getInfo().simplex_iteration_count >= most:
            raise OutOfSteps("the linear program takes more steps than it may")
        return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    if interior:
        solver.setOptionValue("solver", "ipm")
        solver.setOptionValue("run_crossover", "off")
        solver.setOptionValue("ipm_optimality_tolerance", INTERIOR_TOLERANCE)
    optimal = solve()
    if interior and not optimal:
        interior = False
        # The interior-point method failed: start again with the simplex method.
        solver.clearSolver()
        solver.setOptionValue("solver", "simplex")
        optimal = solve()
    if not optimal:
        # A warm start that cycles, or a cold one with huge multipliers: start cold, simplified.
        solver.clearSolver()
        # 1 is the dual simplex method.
        solver.setOptionValue("simplex_strategy", 1)
        solver.setOptionValue("presolve", "off" if presolve else "on")
        solver.setOptionValue("primal_feasibility_tolerance", LOOSE_TOLERANCE)
        solver.setOptionValue("dual_feasibility_tolerance", LOOSE_TOLERANCE)
        optimal = solve()
    if not optimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise OutOfSteps(
            f"the linear program was not solved ({status}): try the plain route"
        )
    info = solver.getInfo()
    value = info.objective_function_value / scale
    taken = max(info.simplex_iteration_count, 0)
    is_basic = np.zeros(size, np.int64)
    if not interior:
        # Numbers of variables, and of rows as -1, -2, …
        basic = solver.getBasicVariables()[1]
        places = np.where(basic >= 0, basic, total - 1 - basic)
        is_basic[places] = 1
    solution = solver.getSolution()
    return Solved(
        value=value,
        values=np.array(solution.col_value),
        duals=np.array(solution.row_dual) / scale,
        basic_columns=is_basic[:total],
        basic_rows=is_basic[total:],
        seconds=step * taken,
    )


def _watched(solver: Any, watch: Watch, pause: float = 0.1) -> None:
    """Run a solver in a thread of its own, which an interruption or the end of time ends."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        while not solver.wait(pause)[0]:
            if watch.heartbeat():
                raise Stopped
    except KeyboardInterrupt:
        # The solver's thread must end before the exception leaves this function.
        solver.cancelSolve()
        solver.wait()
        raise


def _start_from(solver: Any, basis: tuple[Ints, Ints]) -> None:
    import highspy

    status = highspy.HighsBasisStatus
    kinds = np.array([status.kLower, status.kBasic], object)
    given = highspy.HighsBasis()
    given.col_status, given.row_status = (kinds[part].tolist() for part in basis)
    given.valid = True
    solver.setBasis(given)
    # 4 is the primal simplex method: with further columns at 0 a basis stays primal feasible.
    solver.setOptionValue("simplex_strategy", 4)
    # Perturbed bounds have to be put back at the end, which took as long as all the rest.
    solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
