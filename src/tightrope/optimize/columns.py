r"""Repair solver output to exact feasibility: columns that are private and sum to 1.

A column that violates privacy a little is replaced by its *smallest private majorant*
:math:`x'_i = \max_j \alpha^{d(i,j)} x_j`. The rows then sum to :math:`1 + \delta_i`. Parts of the
columns are scaled to make up for it (:func:`balanced`). Where something is left, a further column
:math:`\Delta - \delta_i` makes the sums equal and is private itself when
:math:`(1-\alpha)\,\Delta \ge \max\delta - \alpha \min\delta`. Everything is divided by
:math:`1 + \Delta`, so the loss grows by the order of the error and no more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tightrope.optimize.pricing import Pricer
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.progress import Stopped, Watch

#: Rows whose sums are this close to 1 are left as they are: doubles do not show more.
SUM_TOLERANCE = 1e-13


def private_columns(
    problem: Problem, columns: dict[int, Floats], watch: Watch | None = None
) -> dict[int, Floats]:
    """Return private columns near the given ones, one for each guess, that sum to 1.

    Where guesses stand for others of their orbit, all of them together do. When time is up the
    columns are not balanced, or only as far as that has come: what is left costs more then, but
    there is a mechanism.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of("ln(2)"), np.eye(3)[:, :2])
    >>> inexact = {0: np.array([0.8, 0.5, -1e-9]), 1: np.array([0.2, 0.5, 1.0])}
    >>> repaired = private_columns(problem, inexact)
    >>> repaired[0].round(3).tolist(), repaired[1].round(3).tolist()
    ([0.833, 0.667, 0.333], [0.167, 0.333, 0.667])
    """
    guesses = list(columns)
    # One row for each guess; only what is positive can be a probability.
    matrix = np.maximum(np.array([columns[k] for k in guesses]), 0.0)
    positive = matrix.max(axis=1) > 0
    pairs = zip(guesses, positive.tolist(), strict=True)
    guesses = [k for k, keep in pairs if keep]
    matrix = np.ascontiguousarray(matrix[positive])
    watch = Watch() if watch is None else watch
    pricer = Pricer(problem, watch)
    copies = np.array([problem.copies[k] for k in guesses], float)

    def excess() -> Floats:
        return problem.class_means(copies @ matrix) - 1

    pricer.raise_to_private(matrix)
    if np.abs(excess()).max() > SUM_TOLERANCE and not watch.over:
        matrix = balanced(problem, pricer, matrix, copies, watch)
        pricer.raise_to_private(matrix)
    if np.abs(left := excess()).max() > SUM_TOLERANCE:
        # Δ ≥ (max δ - α min δ) / (1 - α)
        # The shortest edge is the strictest: there α^length is largest.
        least = float(problem.alpha ** float(problem.lengths.min(initial=1)))
        surplus = float(left.max() - least * left.min())
        spread = max(surplus, 0.0) / (1 - least)
        extra = max(spread, float(left.max())) + SUM_TOLERANCE
        # The further column serves the guess that is best without an answer.
        flat = int(
            problem.guesses[np.argmin(problem.costs[:, problem.guesses].sum(axis=0))]
        )
        if flat not in guesses:
            guesses.append(flat)
            matrix = np.vstack([matrix, np.zeros(problem.size)])
        added = (extra - left) / problem.copies[flat]
        matrix[guesses.index(flat)] += added
        matrix /= 1 + extra
    return dict(zip(guesses, matrix, strict=True))


def balanced(
    problem: Problem,
    pricer: Pricer,
    columns: Floats,
    copies: Floats,
    watch: Watch | None = None,
    *,
    most: float = 0.5,
    steps: int = 500,
) -> Floats:
    r"""Scale the parts of columns that tight edges join, until all rows sum to 1.

    Edges inside a part stay as tight as they are, and the others have room. With
    :math:`x_{ci}` for the entries of part c, :math:`m_c` for their sum and e for what rows lack,
    the least change, :math:`\min \sum_c m_c \eta_c^2` with :math:`\sum_c x_{ci} \eta_c = e_i`, is
    :math:`\eta_c = \sum_i x_{ci} \lambda_i / m_c`, where

    .. math:: \sum_j S_{ij} \lambda_j = e_i, \qquad S_{ij} = \sum_c x_{ci} x_{cj} / m_c.

    S is symmetric and semidefinite, and its rows sum to 1: conjugate gradients solve for
    :math:`\lambda`. Columns that would have to change by more than the part ``most`` stay as they
    are, and all do when time is up before the parts are known.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(2), Epsilon.of("ln(2)"), np.eye(2))
    >>> inexact = np.array([[0.6667, 0.3333], [0.3333, 0.6667]]) * [[1.01], [0.98]]
    >>> balanced(problem, Pricer(problem), inexact, np.ones(2)).round(3).tolist()
    [[0.667, 0.333], [0.333, 0.667]]
    """
    from scipy.sparse import csr_array

    # S = B B', with B the entries divided by the roots of the m_c
    try:
        part = pricer.parts(columns).ravel()
    except Stopped:
        return columns
    classes = problem.classes
    entries = (columns * copies[:, None]).ravel()
    # A part without mass needs no change, but a divisor.
    root = np.maximum(np.sqrt(np.bincount(part, entries)), 1e-150)
    rows = np.tile(classes, len(columns))
    weights = entries / root[part] / problem.class_sizes[rows]
    spread = csr_array((weights, (rows, part)))
    gather = spread.T.tocsr()
    sums = np.bincount(classes, copies @ columns)
    missing = 1 - sums / problem.class_sizes
    prices = _conjugate_gradients(
        lambda x: np.asarray(spread @ (gather @ x)),
        missing,
        steps,
        Watch() if watch is None else watch,
    )
    change = gather @ prices / root
    # Written so that NaN, where conjugate gradients broke down, keeps the columns too.
    if not np.abs(change).max() <= most:
        return columns
    factors = 1 + change[part].reshape(columns.shape)
    return np.asarray(columns * factors)


def _conjugate_gradients(
    product: Callable[[Floats], Floats], right: Floats, steps: int, watch: Watch
) -> Floats:
    """Solve a semidefinite system until every row is within tolerance, or time is up.

    The method of Hestenes and Stiefel (1952). The largest residual decides: on thousands of rows
    their Euclidean norm stays above the tolerance by round-off alone.
    """
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual
    squared = float(residual @ residual)
    for _ in range(steps):
        if np.abs(residual).max() <= SUM_TOLERANCE or watch.heartbeat():
            break
        image = product(direction)
        curvature = float(direction @ image)
        if (
            not curvature > 0
        ):  # the rest of the residual is not in the range of the matrix
            break
        length = squared / curvature
        solution = solution + length * direction
        residual = residual - length * image
        before = squared
        squared = float(residual @ residual)
        direction = residual + squared / before * direction
    return solution
