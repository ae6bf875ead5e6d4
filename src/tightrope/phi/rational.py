r""":math:`\Phi z = 1` in fractions, for an ε with rational :math:`e^\varepsilon`.

Where an entry of z is exactly zero no floating-point bound can tell its sign: on a star of three
leaves at ε = ln 2 the middle is never reported. Fractions can.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.phi.cells import CELL_LIMIT, Cells, cells_of, single_cells

#: Largest number of cells for which the system is solved in fractions.
RATIONAL_CELLS = 40


def rational_ones(graph: AnswerGraph, epsilon: Epsilon) -> list[Fraction] | None:
    r"""Return z with :math:`\Phi z = 1` as fractions, or ``None`` when it is out of reach.

    It is out of reach when :math:`e^\varepsilon` is not rational, the graph has too many cells,
    or the system on cells is singular.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> [str(z) for z in rational_ones(Star(3), Epsilon.of("ln(2)"))]
    ['0', '2/3', '2/3', '2/3']
    """
    if not epsilon.exact or graph.has_lengths:
        return None
    alpha = 1 / epsilon.ratio
    if graph.is_tree:
        return [(1 - (int(degree) - 1) * alpha) / (1 + alpha) for degree in graph.degrees]
    if graph.size > CELL_LIMIT or alpha.denominator.bit_length() > 64:
        return None
    cells = cells_of(graph)
    if cells.size > RATIONAL_CELLS:
        return None
    return _on_cells(cells, alpha, None)


def rational_solve(
    graph: AnswerGraph, epsilon: Epsilon, rhs: Sequence[Fraction]
) -> list[Fraction] | None:
    r"""Return x with :math:`\Phi x = b` as fractions, or ``None`` when it is out of reach.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner = [Fraction(k, 5) for k in (2, 1, 1, 1)]
    >>> [str(y) for y in rational_solve(Clique(4), Epsilon.of("ln(2)"), corner)]
    ['2/5', '0', '0', '0']
    """
    if not epsilon.exact or graph.has_lengths or graph.size > RATIONAL_CELLS:
        return None
    alpha = 1 / epsilon.ratio
    if alpha.denominator.bit_length() > 64:
        return None
    return _on_cells(single_cells(graph), alpha, rhs)


def _on_cells(
    cells: Cells, alpha: Fraction, rhs: Sequence[Fraction] | None
) -> list[Fraction] | None:
    right = [Fraction(1)] * cells.size if rhs is None else list(rhs)
    powers = [alpha ** int(length) for length in cells.lengths]
    rows = [
        [*(_weigh(powers, cells.counts[:, a, b]) for b in range(cells.size)), right[a]]
        for a in range(cells.size)
    ]
    solved = _eliminate(rows)
    return None if solved is None else [solved[cell] for cell in cells.label]


def _weigh(powers: list[Fraction], counts: NDArray[np.int64]) -> Fraction:
    return sum((p * int(c) for p, c in zip(powers, counts, strict=True) if c), Fraction(0))


def _eliminate(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve a square system given with its right-hand side as the last column."""
    size = len(rows)
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lead = rows[k][k]
        rows[k] = [x / lead for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
