r"""The master program: the best mixture of columns, one face for each guess.

Variables are the free numbers of each face, rows the sums to 1 (one for each class of answers)
and the privacy rows of each face; an objective may add side rows and free variables. When faces
grow, the simplex basis of the last program is carried over: the solution does not change by it,
so the primal simplex goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import CheckFailed
from tightrope.optimize.faces import Face, label_all
from tightrope.optimize.objective import ExpectedLoss, Objective, Side
from tightrope.optimize.problem import Floats, Ints, Problem

#: Entries of the program below this are left out; the final polish puts them back.
SMALLEST_ENTRY = 1e-12
#: Costs are scaled to this mean loss, so that the solver's absolute tolerance is a small part.
COST_SCALE = 1.0
#: Most steps of a warm start for each row and variable: beyond it the method may be in a cycle.
MOST_STEPS = 5

_LOWER, _BASIC = 0, 1


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """The optimum of a master program and the basis to start the next one from.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> faces = {k: Face.of_ray(problem, problem.distances[k]) for k in (0, 1)}
    >>> found = solve_master(problem, faces)
    >>> round(found.value, 9), found.columns[0].round(9).tolist()
    (0.333333333, [0.666666667, 0.333333333])
    """

    faces: dict[int, Face]
    value: float
    prices: Floats
    multipliers: Floats
    columns: dict[int, Floats]
    variables: int
    rows: int
    iterations: int
    col_status: dict[int, Ints]
    row_status: dict[int, Ints]
    sum_status: Ints
    side_status: Ints
    extra_status: Ints


def solve_master(
    problem: Problem,
    faces: dict[int, Face],
    before: MasterSolution | None = None,
    objective: Objective | None = None,
) -> MasterSolution:
    """Solve the program over the faces, starting from the basis of an earlier one.

    The objective is the expected loss with the costs of the problem, unless another is given.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> faces = {k: Face.of_ray(problem, problem.distances[k]) for k in range(3)}
    >>> round(solve_master(problem, faces).value, 9)
    0.5
    """
    import highspy

    label_all(faces.values())
    start = np.cumsum([0, *(face.dimension for face in faces.values())])
    row_start = np.cumsum([0, *(len(face.rows[0]) for face in faces.values())])
    classes = len(problem.class_sizes)
    rows = int(row_start[-1])
    side = (objective or ExpectedLoss(problem)).side(faces, start)
    matrix, cost = _assemble(problem, faces, start, row_start, side)
    scale = COST_SCALE / max(float(np.abs(cost).mean()), 1e-300)

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "off"),
        ("simplex_scale_strategy", 0),
        ("small_matrix_value", SMALLEST_ENTRY),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        solver.setOptionValue(option, value)
    lp = highspy.HighsLp()
    total, free = len(cost), len(side.extra)
    lp.num_col_, lp.num_row_ = total, classes + rows + len(side.lower)
    lp.col_cost_ = cost * scale
    lp.col_lower_ = np.append(np.zeros(total - free), np.full(free, -highspy.kHighsInf))
    lp.col_upper_ = np.full(total, highspy.kHighsInf)
    sums = np.ones(classes)
    lp.row_lower_ = np.concatenate([sums, np.zeros(rows), side.lower])
    lp.row_upper_ = np.concatenate([sums, np.full(rows + len(side.lower), highspy.kHighsInf)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    solver.passModel(lp)
    if before is not None:
        _start_from(solver, _carried(faces, before))
    optimal = highspy.HighsModelStatus.kOptimal
    solver.run()
    for presolve, tolerance in (("on", 1e-10), ("off", 1e-9), ("on", 1e-7)):
        if solver.getModelStatus() == optimal:
            break
        solver.clearSolver()
        solver.setOptionValue("simplex_strategy", 1)
        solver.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        solver.setOptionValue("presolve", presolve)
        solver.setOptionValue("primal_feasibility_tolerance", tolerance)
        solver.setOptionValue("dual_feasibility_tolerance", tolerance)
        # Huge multipliers stop the dual simplex method; smaller costs get round that.
        scale /= 100
        solver.changeColsCost(total, np.arange(total, dtype=np.int32), cost * scale)
        solver.run()
    if solver.getModelStatus() != optimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise CheckFailed(f"the master program was not solved ({status}): try the plain route")
    return _read(problem, faces, side, solver, scale, start, row_start)


def _read(
    problem: Problem,
    faces: dict[int, Face],
    side: Side,
    solver: Any,
    scale: float,
    start: Ints,
    row_start: Ints,
) -> MasterSolution:
    solution, basis, info = solver.getSolution(), solver.getBasis(), solver.getInfo()
    values = np.array(solution.col_value)
    classes = len(problem.class_sizes)
    dual = np.array(solution.row_dual) / scale
    first_side = classes + int(row_start[-1])
    cols = np.array([int(s) == _BASIC for s in basis.col_status], np.int64)
    status = np.array([int(s) == _BASIC for s in basis.row_status], np.int64)
    columns, col_status, row_status = {}, {}, {}
    for q, (k, face) in enumerate(faces.items()):
        columns[k] = face.column(values[start[q] : start[q + 1]])
        col_status[k] = cols[start[q] : start[q + 1]]
        row_status[k] = status[classes + row_start[q] : classes + row_start[q + 1]]
    return MasterSolution(
        faces=dict(faces),
        value=info.objective_function_value / scale,
        prices=(dual[:classes] / problem.class_sizes)[problem.classes],
        multipliers=side.read(dual[first_side:]),
        columns=columns,
        variables=int(start[-1]),
        rows=int(row_start[-1]),
        iterations=max(info.simplex_iteration_count, 0),
        col_status=col_status,
        row_status=row_status,
        sum_status=status[:classes],
        side_status=status[first_side:],
        extra_status=cols[int(start[-1]) :],
    )


def _assemble(
    problem: Problem, faces: dict[int, Face], start: Ints, row_start: Ints, side: Side
) -> tuple[Any, Floats]:
    """Return the matrix (sums, then privacy rows, then side rows) and the costs."""
    from scipy.sparse import coo_array, vstack

    classes = len(problem.class_sizes)
    weight = dict(zip(problem.guesses.tolist(), problem.multiplicity.tolist(), strict=True))
    entry_rows, entry_cols, entries, costs = [], [], [], []
    for q, (k, face) in enumerate(faces.items()):
        big = np.flatnonzero(face.shape >= SMALLEST_ENTRY)
        a, b, factor, _ = face.rows
        number = classes + np.arange(row_start[q], row_start[q + 1])
        entry_rows += [problem.classes[big], number, number]
        entry_cols += [start[q] + face.component[big], start[q] + a, start[q] + b]
        size = problem.class_sizes[problem.classes[big]]
        entries += [face.shape[big] * weight[k] / size, -factor, np.ones(len(b))]
        full = weight[k] * face.shape * side.costs[:, k]
        costs.append(np.bincount(face.component, full, face.dimension))
    shape = (classes + int(row_start[-1]), int(start[-1]) + len(side.extra))
    place = (np.concatenate(entry_rows), np.concatenate(entry_cols))
    matrix = coo_array((np.concatenate(entries), place), shape).tocsc()
    if side.rows is not None:
        matrix = vstack([matrix, side.rows], format="csc")
    return matrix, np.concatenate([*costs, side.extra])


def _start_from(solver: Any, basis: tuple[Ints, Ints]) -> None:
    import highspy

    kinds = (highspy.HighsBasisStatus.kLower, highspy.HighsBasisStatus.kBasic)
    given = highspy.HighsBasis()
    given.col_status = [kinds[s] for s in basis[0]]
    given.row_status = [kinds[s] for s in basis[1]]
    given.valid = True
    solver.setBasis(given)
    solver.setOptionValue("simplex_strategy", 4)
    # Perturbed bounds have to be put back at the end, which took as long as all the rest.
    solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
    solver.setOptionValue("simplex_iteration_limit", MOST_STEPS * (len(basis[0]) + len(basis[1])))


def _carried(faces: dict[int, Face], before: MasterSolution) -> tuple[Ints, Ints]:
    """Translate a basis to faces that contain the earlier ones."""
    cols, rows = [], [before.sum_status]
    for k, face in faces.items():
        old = before.faces.get(k)
        if old is face:
            cols.append(before.col_status[k])
            rows.append(before.row_status[k])
        elif old is None:
            cols.append(np.full(face.dimension, _LOWER))
            rows.append(np.full(len(face.rows[0]), _BASIC))
        else:
            col, row = _split(old, face, before.col_status[k], before.row_status[k])
            cols.append(col)
            rows.append(row)
    cols.append(before.extra_status)
    rows.append(before.side_status)
    return np.concatenate(cols), np.concatenate(rows)


def _split(old: Face, new: Face, old_cols: Ints, old_rows: Ints) -> tuple[Ints, Ints]:
    """Return the basis of one block after its components fell apart.

    The parts of a component stay in proportion, held by a spanning tree of rows at equality;
    a row that was at equality stays so between the parts that its edge joins.
    """
    parent = np.empty(new.dimension, np.int64)
    parent[new.component] = old.component
    cols = np.full(new.dimension, _BASIC)
    idle = np.flatnonzero(old_cols == _LOWER)
    _, first = np.unique(parent, return_index=True)
    cols[first[idle]] = _LOWER
    rows = np.full(len(new.rows[0]), _BASIC)
    edges, number = old.problem.edges, new.row_numbers
    count = len(edges)

    sets = np.arange(new.dimension)

    def find(x: int) -> int:
        while sets[x] != x:
            sets[x] = sets[sets[x]]
            x = int(sets[x])
        return x

    for e in np.flatnonzero((old.tight != 0) & (new.tight == 0)).tolist():
        i, j = edges[e] if old.tight[e] > 0 else edges[e][::-1]
        a, b = int(new.component[i]), int(new.component[j])
        if a != b and (low := find(a)) != (high := find(b)):
            sets[low] = high
            rows[number[a, b]] = _LOWER
    for e in old.rows[3][old_rows == _LOWER].tolist():
        i, j = edges[e] if e < count else edges[e - count][::-1]
        rows[number[int(new.component[i]), int(new.component[j])]] = _LOWER
    return cols, rows
