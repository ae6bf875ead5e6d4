r"""The optimal-mechanism problem as one plain linear program, the reference for the others.

One variable for each answer and guess, one row for each guess and directed edge: what anybody
would write down first. Its solution is only as private as the solver's tolerances; rays are
taken from it afterwards like from any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.errors import TooLarge
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.simplex import minimise

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


def solve_plain_program(problem: Problem, watch: Watch | None = None) -> PlainSolution:
    """Solve the plain program with HiGHS.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    >>> round(solve_plain_program(problem).value, 9)
    0.5
    """
    from scipy.sparse import eye_array, hstack, kron, vstack

    if plain_entries(problem) > PLAIN_ENTRIES:
        raise TooLarge(
            f"the plain program would have {plain_entries(problem)} entries, more than "
            f"{PLAIN_ENTRIES}: use the route 'rays'"
        )
    n, guesses = problem.costs.shape
    private = kron(eye_array(guesses), privacy_rows(problem))
    sums = hstack([eye_array(n)] * guesses)
    free = np.zeros(private.shape[0])
    found = minimise(
        problem.costs.T.ravel(),
        vstack([sums, private], format="csc"),
        np.append(np.ones(n), free),
        np.append(np.ones(n), free + np.inf),
        watch=watch,
        presolve=True,
    )
    return PlainSolution(found.value, found.values.reshape(guesses, n).T, found.duals[:n])
