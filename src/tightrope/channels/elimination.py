"""Exact elimination: linear systems over the integers, solved without rounding.

Rows stay integers without a common divisor, so numbers are never longer than determinants of the
given matrix, and much shorter where the matrix has structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Eliminated:
    """An integer matrix after Gauss–Jordan elimination.

    Attributes
    ----------
    table
        The integers; column ``pivots[r]`` is ``scale`` in row r and 0 elsewhere.
    pivots
        The pivot columns, one for each of the first rows.
    scale
        The common denominator, positive.

    Examples
    --------
    >>> eliminate(np.array([[2, 1, 1], [1, 3, 2]], dtype=object), 2).table.tolist()
    [[5, 0, 1], [0, 5, 3]]
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
    row = 0
    pivots: list[int] = []
    for column in range(columns):
        if row == table.shape[0]:
            break
        below = table[row:, column].tolist()
        places = [i for i, value in enumerate(below) if value]
        if not places:
            continue
        # The smallest pivot keeps the products short.
        best = row + min(places, key=lambda i: abs(below[i]))
        if best != row:
            table[[row, best]] = table[[best, row]]
        kept = table[row]
        for other, factor in enumerate(table[:, column].tolist()):
            if factor and other != row:
                shared = gcd(kept[column], factor)
                line = table[other] * (kept[column] // shared) - kept * (factor // shared)
                table[other] = _without_content(line)
        pivots.append(column)
        row += 1
    return _with_one_scale(table, pivots)


def _without_content(line: NDArray[Any]) -> NDArray[Any]:
    shared = gcd(*line.tolist())
    return line // shared if shared > 1 else line


def _with_one_scale(table: NDArray[Any], pivots: list[int]) -> Eliminated:
    heads = [int(table[r, column]) for r, column in enumerate(pivots)]
    scale = lcm(*heads) if heads else 1
    for r, head in enumerate(heads):
        table[r] = table[r] * (scale // head)
    return Eliminated(table, tuple(pivots), scale)


def determinant(matrix: NDArray[Any]) -> int:
    """Return the determinant of a square integer matrix, by fraction-free elimination.

    >>> determinant(np.array([[2, 1], [1, 3]], dtype=object))
    5
    """
    table = matrix.astype(object)
    size, before, sign = len(table), 1, 1
    for k in range(size):
        below = next((i for i in range(k, size) if table[i, k]), None)
        if below is None:
            return 0
        if below != k:
            table[[k, below]] = table[[below, k]]
            sign = -sign
        rest = table[k + 1 :, k + 1 :] * table[k, k]
        rest = rest - np.multiply.outer(table[k + 1 :, k].copy(), table[k, k + 1 :].copy())
        table[k + 1 :, k + 1 :] = rest // before
        before = table[k, k]
    return sign * int(before)


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
    below = lcm(*(value.denominator for value in fractions)) if fractions else 1
    return [value.numerator * (below // value.denominator) for value in fractions], below
