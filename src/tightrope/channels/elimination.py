"""Exact elimination: linear systems over the integers, solved without rounding.

Fraction-free elimination keeps every intermediate number a determinant of the given matrix, so
that sizes stay as small as exact answers allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Eliminated:
    """A matrix after fraction-free Gauss–Jordan elimination.

    Attributes
    ----------
    table
        The integers; column ``pivots[r]`` is ``scale`` in row r and 0 elsewhere.
    pivots
        The pivot columns, one for each of the first rows.
    scale
        The common denominator, a determinant of the given matrix; of either sign.

    Examples
    --------
    >>> eliminate(np.array([[2, 1, 1], [1, 3, 2]], dtype=object), 2).table.tolist()
    [[-5, 0, -1], [0, -5, -3]]
    """

    table: NDArray[Any]
    pivots: tuple[int, ...]
    scale: int

    @property
    def rank(self) -> int:
        """The number of pivots."""
        return len(self.pivots)


def eliminate(matrix: NDArray[Any], columns: int) -> Eliminated:
    """Clear the first columns of an integer matrix as far as its rank allows.

    Parameters
    ----------
    matrix
        Integers; not changed.
    columns
        How many columns may hold pivots. The others are carried along: right-hand sides.

    Examples
    --------
    >>> found = eliminate(np.array([[1, 2], [2, 4]], dtype=object), 2)
    >>> found.rank, found.pivots
    (1, (0,))
    """
    table = matrix.astype(object)
    scale, row = 1, 0
    pivots: list[int] = []
    for column in range(columns):
        if row == table.shape[0]:
            break
        below = table[row:, column]
        places = [i for i, value in enumerate(below) if value]
        if not places:
            continue
        # The smallest pivot keeps the products short.
        best = row + min(places, key=lambda i: abs(below[i]))
        if best != row:
            table[[row, best]] = table[[best, row]]
        pivot = table[row, column]
        kept = table[row].copy()
        factors = table[:, column].copy()
        table = (table * pivot - np.multiply.outer(factors, kept)) // scale
        table[row] = kept
        scale = pivot
        pivots.append(column)
        row += 1
    return Eliminated(table, tuple(pivots), scale)


def null_space(matrix: NDArray[Any]) -> list[list[int]]:
    """Return integer vectors that span all v with ``matrix @ v = 0``.

    >>> null_space(np.array([[1, 1, 0], [0, 1, 1]], dtype=object))
    [[1, -1, 1]]
    """
    width = matrix.shape[1]
    done = eliminate(matrix, width)
    found = []
    for free in sorted(set(range(width)) - set(done.pivots)):
        vector = [0] * width
        vector[free] = done.scale
        for r, column in enumerate(done.pivots):
            vector[column] = -done.table[r, free]
        found.append(shortened(vector))
    return found


def shortened(vector: list[int]) -> list[int]:
    """Return the vector divided by what all entries share; the first entry gets positive.

    >>> shortened([0, -4, 6])
    [0, 2, -3]
    """
    shared = gcd(*vector)
    if shared == 0:
        return vector
    sign = next(1 if value > 0 else -1 for value in vector if value)
    return [sign * value // shared for value in vector]


def common_denominator(fractions: list[Fraction]) -> tuple[list[int], int]:
    """Return integers and one denominator for a list of fractions.

    >>> common_denominator([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    from math import lcm

    below = lcm(*(value.denominator for value in fractions)) if fractions else 1
    return [value.numerator * (below // value.denominator) for value in fractions], below
