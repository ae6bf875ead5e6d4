"""One linear program for HiGHS, with the options that these problems ask for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import CheckFailed
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import Stopped, Watch

#: Entries of the program below this are left out; the final polish puts them back.
SMALLEST_ENTRY = 1e-12
#: Costs are scaled to this mean, so that the solver's absolute tolerance is a small part.
COST_SCALE = 1.0
#: Most steps of a warm start for each row and variable: beyond it the method may be in a cycle.
MOST_STEPS = 5


@dataclass(frozen=True, eq=False)
class Solved:
    """The optimum of a linear program, its duals, and which variables and rows are basic.

    >>> Solved(0.0, np.zeros(1), np.zeros(0), np.ones(1, int), np.zeros(0, int), 0).iterations
    0
    """

    value: float
    values: Floats
    duals: Floats
    basic_columns: Ints
    basic_rows: Ints
    iterations: int


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

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> half = minimise(np.array([1.0, 3.0]), csc_array([[2.0, 1.0]]), np.ones(1), np.ones(1))
    >>> half.value, half.values.tolist(), half.duals.tolist()
    (0.5, [0.5, 0.0], [0.5])
    """
    import highspy

    total = len(cost)
    scale = COST_SCALE / max(float(np.abs(cost).mean()), 1e-300)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "on" if presolve else "off"),
        ("simplex_scale_strategy", 0),
        ("small_matrix_value", SMALLEST_ENTRY),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        solver.setOptionValue(option, value)
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
        matrix.data,
        np.zeros(total, np.int32),
    )
    if basis is not None:
        _start_from(solver, basis)
    optimal = highspy.HighsModelStatus.kOptimal
    run = solver.run
    if watch is not None and matrix.nnz >= watched_from:
        run = functools.partial(_watched, solver, watch)
    run()
    for simplified, tolerance in (("on", 1e-10), ("off", 1e-9), ("on", 1e-7)):
        if solver.getModelStatus() == optimal:
            break
        solver.clearSolver()
        solver.setOptionValue("simplex_strategy", 1)
        solver.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        solver.setOptionValue("presolve", simplified)
        solver.setOptionValue("primal_feasibility_tolerance", tolerance)
        solver.setOptionValue("dual_feasibility_tolerance", tolerance)
        # Huge multipliers stop the dual simplex method; smaller costs get round that.
        scale /= 100
        solver.changeColsCost(total, np.arange(total, dtype=np.int32), cost * scale)
        run()
    if solver.getModelStatus() != optimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise CheckFailed(f"the linear program was not solved ({status}): try the plain route")
    solution, info = solver.getSolution(), solver.getInfo()
    # Numbers of variables, and of rows as -1, -2, …
    basic = solver.getBasicVariables()[1]
    is_basic = np.zeros(total + len(lower), np.int64)
    is_basic[np.where(basic >= 0, basic, total - 1 - basic)] = 1
    return Solved(
        value=info.objective_function_value / scale,
        values=np.array(solution.col_value),
        duals=np.array(solution.row_dual) / scale,
        basic_columns=is_basic[:total],
        basic_rows=is_basic[total:],
        iterations=max(info.simplex_iteration_count, 0),
    )


def _watched(solver: Any, watch: Watch, pause: float = 0.1) -> None:
    """Run a solver in a thread of its own, which an interruption or the end of time ends."""
    solver.HandleUserInterrupt = True
    solver.startSolve()
    try:
        while not solver.wait(pause)[0]:
            if watch.still_at_it():
                raise Stopped
    except KeyboardInterrupt:
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
    solver.setOptionValue("simplex_strategy", 4)
    # Perturbed bounds have to be put back at the end, which took as long as all the rest.
    solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
    solver.setOptionValue("simplex_iteration_limit", MOST_STEPS * (len(basis[0]) + len(basis[1])))
