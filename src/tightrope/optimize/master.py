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

from tightrope.optimize.faces import Face, label_all
from tightrope.optimize.objective import ExpectedLoss, Objective, Side
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import SMALLEST_ENTRY, Solved, minimise

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
    seconds: float
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
    watch: Watch | None = None,
    *,
    refine: bool = False,
    presolve: bool = False,
    seconds: float = np.inf,
) -> MasterSolution:
    """Solve the program over the faces, starting from the basis of an earlier one.

    The objective is the expected loss with the costs of the problem, unless another is given.
    A watch ends it when time is up. To ``refine`` the solution gives the columns the digits that a
    mechanism needs; the prices keep those they had. Without a good basis the solver may
    ``presolve`` the program. One that would take more than the ``seconds`` raises
    :class:`OutOfSteps`.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> faces = {k: Face.of_ray(problem, problem.distances[k]) for k in range(3)}
    >>> round(solve_master(problem, faces).value, 9)
    0.5
    """
    label_all(faces.values())
    start = np.cumsum([0, *(face.dimension for face in faces.values())])
    row_start = np.cumsum([0, *(len(face.rows[0]) for face in faces.values())])
    side = (objective or ExpectedLoss(problem)).side(faces, start)
    matrix, cost = _assemble(problem, faces, start, row_start, side, refine)
    sums = np.full(len(problem.class_sizes), side.total)
    rows = int(row_start[-1])
    same = before is not None and (
        (len(before.side_status), len(before.extra_status)) == (len(side.lower), len(side.extra))
    )
    solved = minimise(
        cost,
        matrix,
        np.concatenate([sums, np.zeros(rows), side.lower * side.total]),
        np.concatenate([sums, np.full(rows + len(side.lower), np.inf)]),
        free=len(side.extra),
        refine=refine,
        sharpen=False,
        presolve=presolve,
        basis=_carried(faces, before, start, row_start) if before is not None and same else None,
        watch=watch,
        seconds=seconds,
    )
    return _read(problem, faces, side, solved, start, row_start)


def solve_whole(objective: Objective, watch: Watch | None = None) -> MasterSolution:
    """Solve the whole problem as one program: every guess has the whole cone.

    What anybody would write down first, and the reference for all other ways.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> round(solve_whole(ExpectedLoss(problem)).value, 9)
    0.5
    """
    problem = objective.problem
    faces = dict.fromkeys(problem.guesses.tolist(), Face.whole(problem))
    return solve_master(problem, faces, objective=objective, watch=watch, presolve=True)


def _read(
    problem: Problem,
    faces: dict[int, Face],
    side: Side,
    solved: Solved,
    start: Ints,
    row_start: Ints,
) -> MasterSolution:
    values = solved.values / side.total
    classes = len(problem.class_sizes)
    first_side = classes + int(row_start[-1])
    cols, status = solved.basic_columns, solved.basic_rows
    multipliers, constant = side.read(solved.duals[first_side:].astype(np.float64))
    prices = (solved.duals[:classes] / problem.class_sizes)[problem.classes]
    columns, col_status, row_status = {}, {}, {}
    for q, (k, face) in enumerate(faces.items()):
        columns[k] = face.column(values[start[q] : start[q + 1]])
        col_status[k] = cols[start[q] : start[q + 1]]
        row_status[k] = status[classes + row_start[q] : classes + row_start[q + 1]]
    return MasterSolution(
        faces=dict(faces),
        value=float(solved.value / side.total),
        prices=np.asarray(prices + constant, dtype=np.float64),
        multipliers=multipliers,
        columns=columns,
        variables=int(start[-1]),
        seconds=solved.seconds,
        col_status=col_status,
        row_status=row_status,
        sum_status=status[:classes],
        side_status=status[first_side:],
        extra_status=cols[int(start[-1]) :],
    )


def _assemble(
    problem: Problem, faces: dict[int, Face], start: Ints, row_start: Ints, side: Side, refine: bool
) -> tuple[Any, Floats]:
    """Return the matrix (sums, then privacy rows, then side rows) and the costs."""
    from scipy.sparse import coo_array, vstack

    classes = len(problem.class_sizes)
    entry_rows, entry_cols, entries, costs = [], [], [], []
    for q, (k, face) in enumerate(faces.items()):
        shape = face.shape
        big = np.arange(len(shape)) if refine else np.flatnonzero(shape >= SMALLEST_ENTRY)
        a, b, less, more, _ = face.rows
        number = classes + np.arange(row_start[q], row_start[q + 1])
        entry_rows += [problem.classes[big], number, number]
        entry_cols += [start[q] + face.component[big], start[q] + a, start[q] + b]
        size = problem.class_sizes[problem.classes[big]]
        entries += [shape[big] * problem.copies[k] / size, -less, more]
        full = problem.copies[k] * shape * side.costs[:, k]
        costs.append(np.bincount(face.component, full.astype(float), face.dimension))
    whole = (classes + int(row_start[-1]), int(start[-1]) + len(side.extra))
    place = (np.concatenate(entry_rows), np.concatenate(entry_cols))
    matrix = coo_array((np.concatenate(entries), place), whole).tocsc()
    if side.rows is not None:
        matrix = vstack([matrix, side.rows], format="csc")
    return matrix, np.concatenate([*costs, side.extra])


def _carried(
    faces: dict[int, Face], before: MasterSolution, start: Ints, row_start: Ints
) -> tuple[Ints, Ints]:
    """Translate a basis to faces that contain the earlier ones.

    Where a component fell apart its parts stay in proportion, held by a spanning tree of rows
    at equality; a row that was at equality stays so between the parts that its edge joins.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    total = int(start[-1])
    cols, rows = np.full(total, _LOWER), np.full(int(row_start[-1]), _BASIC)
    edges = next(iter(faces.values())).problem.edges
    # Every edge in both directions, numbered as in the rows of a face.
    ways = np.concatenate([edges, edges[:, ::-1]])
    pairs, held, equal = [], [], []
    for q, (k, face) in enumerate(faces.items()):
        pairs.append((start[q] + face.rows[0]) * total + start[q] + face.rows[1])
        if (old := before.faces.get(k)) is None:
            continue
        parts, block = cols[start[q] : start[q + 1]], slice(row_start[q], row_start[q + 1])
        if old is face:
            parts[:], rows[block] = before.col_status[k], before.row_status[k]
            continue
        parts[:] = _BASIC
        _, first = np.unique(old.component, return_index=True)
        parts[face.component[first[before.col_status[k] == _LOWER]]] = _LOWER
        here = start[q] + face.component
        freed = np.flatnonzero((old.tight != 0) & (face.tight == 0))
        freed = np.where(old.tight[freed] > 0, freed, freed + len(edges))
        freed = freed[here[ways[freed, 0]] != here[ways[freed, 1]]]
        held.append(np.column_stack([here[ways[freed]], freed % len(edges)]))
        equal.append(here[ways[old.rows[4][before.row_status[k] == _LOWER]]])
    if held:
        a, b, edge = np.concatenate(held).T
        # Of several edges between two parts the first, and first edges first in the tree.
        _, first = np.unique(a * total + b, return_index=True)
        joined = csr_array((edge[first] + 1.0, (a[first], b[first])), (total, total))
        tree = np.stack(minimum_spanning_tree(joined).nonzero(), axis=1)
        a, b = np.concatenate([tree, *equal]).T
        rows[np.searchsorted(np.concatenate(pairs), a * total + b)] = _LOWER
    return (
        np.concatenate([cols, before.extra_status]),
        np.concatenate([before.sum_status, rows, before.side_status]),
    )
