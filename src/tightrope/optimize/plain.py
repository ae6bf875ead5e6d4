r"""The optimal-mechanism problem as one plain linear program, the reference for the others.

One variable for each answer and guess, one row for each guess and directed edge: what anybody
would write down first. Its solution is only as private as the solver's tolerances; rays are
taken from it afterwards like from any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import CheckFailed, TooLarge
from tightrope.optimize.problem import Floats, Problem

#: Most entries of the constraint matrix that are handed to the solver.
PLAIN_ENTRIES = 8_000_000


@dataclass(frozen=True, eq=False)
class PlainSolution:
    """What the solver found: the columns as they are, and the prices of the answers.

    >>> PlainSolution(0.5, np.eye(2), np.zeros(2)).value
    0.5
    """

    value: float
    matrix: Floats
    prices: Floats


def plain_entries(problem: Problem) -> int:
    """Return the number of non-zero entries of the plain program.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> plain_entries(Problem(PathPower(3), Epsilon.of(1), np.ones((3, 3))))
    33
    """
    guesses = int(problem.costs.shape[1])
    return guesses * (4 * len(problem.edges) + problem.size)


def privacy_rows(problem: Problem) -> Any:
    r"""Return the rows :math:`x_h - \alpha^{|e|} x_i \ge 0` of one column, for both directions.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> privacy_rows(Problem(PathPower(2), Epsilon.of("ln(2)"), np.ones((2, 1)))).toarray().tolist()
    [[-0.5, 1.0], [1.0, -0.5]]
    """
    from scipy.sparse import coo_array

    edges = problem.edges
    i = np.concatenate([edges[:, 0], edges[:, 1]])
    j = np.concatenate([edges[:, 1], edges[:, 0]])
    count = len(i)
    row = np.tile(np.arange(count), 2)
    factor = problem.alpha ** np.tile(problem.lengths, 2).astype(float)
    entries = np.concatenate([-factor, np.ones(count)])
    return coo_array((entries, (row, np.concatenate([i, j]))), (count, problem.size)).tocsr()


def solve_plain_program(problem: Problem) -> PlainSolution:
    """Solve the plain program with HiGHS.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> round(solve_plain_program(problem).value, 9)
    0.5
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack, kron

    if plain_entries(problem) > PLAIN_ENTRIES:
        raise TooLarge(
            f"the plain program would have {plain_entries(problem)} entries, more than "
            f"{PLAIN_ENTRIES}: use the route 'rays'"
        )
    n, guesses = problem.costs.shape
    one = -privacy_rows(problem)
    count = one.shape[0]
    scale = 1 / max(float(np.abs(problem.costs).mean()), 1e-300)
    found = linprog(
        problem.costs.T.ravel() * scale,
        A_ub=kron(eye_array(guesses), one, format="csc") if count else None,
        b_ub=np.zeros(count * guesses) if count else None,
        A_eq=hstack([eye_array(n)] * guesses, format="csc"),
        b_eq=np.ones(n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise CheckFailed(f"the plain program was not solved: {found.message.strip()}")
    matrix = found.x.reshape(guesses, n).T
    return PlainSolution(
        float(found.fun) / scale, matrix, np.asarray(found.eqlin.marginals) / scale
    )
