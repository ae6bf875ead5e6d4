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
from tightrope.optimize.objective import ExpectedLoss, Objective, SideRows
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import SMALLEST_ENTRY, minimise

_LOWER = 0
_BASIC = 1


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
    basis: tuple[Ints, Ints]


def solve_master(
    problem: Problem,
    faces: dict[int, Face],
    before: MasterSolution | None = None,
    objective: Objective | None = None,
    watch: Watch | None = None,
    *,
    presolve: bool = False,
    seconds: float = np.inf,
) -> MasterSolution:
    """Solve the program over the faces, starting from the basis of an earlier one.

    The objective is the expected loss with the costs of the problem, unless another is given.
    A watch ends it when time is up. Without a good basis the solver may ``presolve`` the program.
    One that would take more than the ``seconds`` raises :class:`OutOfSteps`.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> faces = {k: Face.of_ray(problem, problem.distances[k]) for k in range(3)}
    >>> round(solve_master(problem, faces).value, 9)
    0.5
    """
    label_all(faces.values(), watch)
    start, row_start = _starts(faces)
    side = (objective or ExpectedLoss(problem)).side(faces, start)
    matrix, cost = _assemble(problem, faces, start, row_start, side)
    classes = len(problem.class_sizes)
    rows = int(row_start[-1])
    sums = np.full(classes, side.total)
    # Sums are equations; privacy rows and side rows have lower bounds only.
    solved = minimise(
        cost,
        matrix,
        np.concatenate([sums, np.zeros(rows), side.lower * side.total]),
        np.concatenate([sums, np.full(rows + len(side.lower), np.inf)]),
        free=len(side.extra),
        presolve=presolve,
        basis=None if before is None else _carried(problem, faces, before, side),
        watch=watch,
        seconds=seconds,
    )
    multipliers, constant = side.read(solved.duals[classes + rows :])
    # A row is a mean over a class, so its dual is the sum of the equal prices there.
    prices = (solved.duals[:classes] / problem.class_sizes)[problem.classes]
    parts = np.split(solved.values / side.total, start[1:])
    return MasterSolution(
        faces=dict(faces),
        value=float(solved.value / side.total),
        prices=np.asarray(prices + constant, dtype=np.float64),
        multipliers=multipliers,
        columns={
            k: faces[k].column(part) for k, part in zip(faces, parts, strict=False)
        },
        variables=int(start[-1]),
        seconds=solved.seconds,
        basis=(solved.basic_columns, solved.basic_rows),
    )


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


def _starts(faces: dict[int, Face]) -> tuple[Ints, Ints]:
    """Return where the variables of each face begin, and its privacy rows; the last is the end."""
    return (
        np.cumsum([0, *(face.dimension for face in faces.values())]),
        np.cumsum([0, *(len(face.rows[0]) for face in faces.values())]),
    )


def _assemble(
    problem: Problem,
    faces: dict[int, Face],
    start: Ints,
    row_start: Ints,
    side: SideRows,
) -> tuple[Any, Floats]:
    """Return the matrix (sums, then privacy rows, then side rows) and the costs."""
    from scipy.sparse import coo_array, vstack

    # A row for each class of answers: Σ_k copies_k · (mean of x^k over the class) = 1. Then for
    # each face its privacy rows f_b u_b - f_a u_a ≥ 0.
    classes = len(problem.class_sizes)
    entry_rows = []
    entry_cols = []
    entries = []
    costs = []
    for q, (k, face) in enumerate(faces.items()):
        shape = face.shape
        # Smaller entries would be rounded to 0 by the solver all the same.
        big = np.flatnonzero(shape >= SMALLEST_ENTRY)
        a, b, less, more, _ = face.rows
        numbers = np.arange(row_start[q], row_start[q + 1])
        number = classes + numbers
        entry_rows += [problem.classes[big], number, number]
        component = start[q] + face.component[big]
        entry_cols += [component, start[q] + a, start[q] + b]
        size = problem.class_sizes[problem.classes[big]]
        by_class = shape[big] * problem.copies[k] / size
        entries += [by_class, -less, more]
        weighted = problem.copies[k] * shape
        full = weighted * side.costs[:, k]
        costs.append(np.bincount(face.component, full, face.dimension))
    row_count = classes + int(row_start[-1])
    column_count = int(start[-1]) + len(side.extra)
    whole = (row_count, column_count)
    place = (np.concatenate(entry_rows), np.concatenate(entry_cols))
    matrix = coo_array((np.concatenate(entries), place), whole).tocsc()
    if side.rows is not None:
        matrix = vstack([matrix, side.rows], format="csc")
    return matrix, np.concatenate([*costs, side.extra])


def _carried(
    problem: Problem, faces: dict[int, Face], before: MasterSolution, side: SideRows
) -> tuple[Ints, Ints] | None:
    """Translate a basis to faces that contain the earlier ones, if the side rows are as many.

    Where a component fell apart its parts stay in proportion, held by a spanning tree of rows
    at equality; a row that was at equality stays so between the parts that its edge joins.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    start, row_start = _starts(faces)
    old_start, old_row_start = _starts(before.faces)
    *basic_cols, extra = np.split(before.basis[0], old_start[1:])
    sums, *basic_rows, beside = np.split(
        before.basis[1], len(problem.class_sizes) + old_row_start
    )
    if (len(beside), len(extra)) != (len(side.lower), len(side.extra)):
        return None
    olds = zip(before.faces.values(), basic_cols, basic_rows, strict=True)
    known = dict(zip(before.faces, olds, strict=True))
    total = int(start[-1])
    cols = np.full(total, _LOWER)
    rows = np.full(int(row_start[-1]), _BASIC)
    ways = np.stack(problem.ways[:2], axis=1)
    edge_count = len(problem.edges)
    pairs = []
    held = []
    equal = []
    for q, (k, face) in enumerate(faces.items()):
        first_column = start[q] + face.rows[0]
        pairs.append(first_column * total + start[q] + face.rows[1])
        if k not in known:
            continue
        old, old_cols, old_rows = known[k]
        parts = cols[start[q] : start[q + 1]]
        block = slice(row_start[q], row_start[q + 1])
        if old is face:
            parts[:] = old_cols
            rows[block] = old_rows
            continue
        # All parts of a component are basic where it was: as many more as rows at equality below.
        parts[:] = _BASIC
        _, first = np.unique(old.component, return_index=True)
        parts[face.component[first[old_cols == _LOWER]]] = _LOWER
        here = start[q] + face.component
        # Edges that were tight and are free now, in the direction in which they were tight.
        is_freed = (old.tight != 0) & (face.tight == 0)
        freed = np.flatnonzero(is_freed)
        forward = old.tight[freed] > 0
        freed = np.where(forward, freed, freed + edge_count)
        begin, end = here[ways[freed]].T
        freed = freed[begin != end]
        held.append(np.column_stack([here[ways[freed]], freed % edge_count]))
        at_border = old.rows[4][old_rows == _LOWER]
        equal.append(here[ways[at_border]])
    if held:
        a, b, edge = np.concatenate(held).T
        # Of several edges between two parts the first, and first edges first in the tree.
        _, first = np.unique(a * total + b, return_index=True)
        # Weights begin at 1, as a sparse graph has no edge of weight 0.
        weights = edge[first] + 1.0
        joined = csr_array((weights, (a[first], b[first])), (total, total))
        tree = np.stack(minimum_spanning_tree(joined).nonzero(), axis=1)
        a, b = np.concatenate([tree, *equal]).T
        places = np.searchsorted(np.concatenate(pairs), a * total + b)
        rows[places] = _LOWER
    return np.append(cols, extra), np.concatenate([sums, rows, beside])
