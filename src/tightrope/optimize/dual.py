r"""Few answers: the prices of all of them by one linear program.

The dual of the optimal-mechanism problem asks for prices :math:`\lambda` and, for each guess k,
edge multipliers :math:`y_k \ge 0` that prove them,

.. math:: \max \sum_i \lambda_i \quad\text{with}\quad
   \lambda + \sum_{i \to h} y_{k,ih} (e_h - \alpha^{|ih|} e_i) \le c_k,

and its own multipliers are the columns. The simplex method starts where every column falls as
fast as it can from its anchor, which is near the end already.
"""

from __future__ import annotations

import numpy as np

from tightrope.optimize.faces import TIGHT_TOLERANCE
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import Solved, minimise


def dual_variables(problem: Problem) -> int:
    """Return the number of multipliers: two for each edge and guess.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> dual_variables(Problem(PathPower(3), Epsilon.of(1), np.ones((3, 3))))
    12
    """
    return 2 * len(problem.edges) * len(problem.useful)


def solve_dual_program(
    problem: Problem, watch: Watch | None = None
) -> tuple[dict[int, Floats], Floats]:
    """Return the columns of the guesses that are useful, and the prices, as the solver found them.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> costs = (np.ones((4, 4)) - np.eye(4)) / 4
    >>> columns, prices = solve_dual_program(Problem(Cycle(4), Epsilon.of("ln(2)"), costs))
    >>> round(float(prices.sum()), 9), columns[0].round(6).tolist()
    (0.555555556, [0.444444, 0.222222, 0.111111, 0.222222])
    """
    guesses = problem.useful
    fall = problem.alpha ** problem.ways[2].astype(float)
    unit, solved = _solved(problem, problem.costs[:, guesses].T, fall, watch)
    # Prices are the last variables, one for each class of answers.
    of_classes = solved.values[-len(problem.class_sizes) :]
    prices = unit * of_classes[problem.classes]
    # The duals of a guess's rows are its column, summed over the guesses of its orbit.
    duals = solved.duals.reshape(len(guesses), -1)
    columns = {
        k: x / problem.copies[k] for k, x in zip(guesses.tolist(), duals, strict=True)
    }
    return columns, prices


def _solved(
    problem: Problem, costs: Floats, fall: Floats, watch: Watch | None
) -> tuple[float, Solved]:
    """Solve the program in a unit of cost, its rows turned round to have lower bounds."""
    from scipy.sparse import csc_array

    count, n = costs.shape
    first_rows = n * np.arange(count)[:, None]
    # A column for each multiplier: α at the start of its arc, -1 at the end. Then one for each
    # class of answers, whose price is in the rows of all guesses.
    of_arcs = np.stack(problem.ways[:2], axis=1)
    pairs = (first_rows[:, :, None] + of_arcs).ravel()
    of_arc = np.stack([fall, -np.ones(len(fall))], axis=1)
    signs = np.tile(of_arc.ravel(), count)
    order = np.argsort(problem.classes, kind="stable")
    sizes = problem.class_sizes
    by_class = [
        (first_rows + nodes).ravel() for nodes in np.split(order, np.cumsum(sizes)[:-1])
    ]
    ends = len(pairs) + count * np.cumsum([0, *sizes])
    matrix = csc_array(
        (
            np.concatenate([signs, -np.ones(count * n)]),
            np.concatenate([pairs, *by_class]),
            np.concatenate([np.arange(0, len(pairs), 2), ends]),
        ),
        shape=(count * n, len(pairs) // 2 + len(sizes)),
    )
    # Costs of order 1 suit the absolute tolerances of the solver.
    unit = max(float(np.abs(costs).mean()), 1e-300)
    return unit, minimise(
        np.concatenate([np.zeros(len(pairs) // 2), -sizes]),
        matrix,
        -costs.ravel() / unit,
        np.full(costs.size, np.inf),
        free=len(sizes),
        basis=_steepest(problem),
        watch=watch,
    )


def _steepest(problem: Problem) -> tuple[Ints, Ints]:
    """Return the basis at which every column falls as fast as it can from its anchor."""
    n = problem.size
    anchors = problem.anchors[problem.useful]
    far = problem.distances[anchors]
    start, end, length = problem.ways
    # Of each guess a spanning tree of tight arcs is basic: the first that enters each node.
    slack = far[:, start] + length - far[:, end]
    tight = np.abs(slack) <= TIGHT_TOLERANCE
    guess, edge = np.nonzero(tight)
    entered = n * guess + end[edge]
    _, tree = np.unique(entered, return_index=True)
    columns = np.zeros(tight.size + len(problem.class_sizes), np.int64)
    basic = len(start) * guess[tree] + edge[tree]
    columns[basic] = 1
    # A guess has one number more: the price of its anchor, or what the second one has to spare.
    priced, first = np.unique(problem.classes[anchors], return_index=True)
    columns[tight.size + priced] = 1
    rows = np.zeros((len(anchors), n), np.int64)
    others = np.setdiff1d(np.arange(len(anchors)), first)
    rows[others, anchors[others]] = 1
    return columns, rows.ravel()
