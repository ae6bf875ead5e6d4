r"""Exact solutions of integer systems by p-adic lifting.

A solution modulo a prime p is improved digit by digit: with C the inverse of Y modulo p, the
residue r gives the digit :math:`C r \bmod p` and leaves :math:`(r - Y\,\text{digit})/p`. Short
solutions show after few digits, long before determinants of the matrix would be reached.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.elimination import eliminate

Integers = NDArray[Any]

#: The prime; products of two digits, added up over a row, fit into machine integers.
PRIME = 1_048_573
#: Most digits that are computed before elimination is left to do the work.
DIGIT_LIMIT = 512


def exact_solution(matrix: Integers, right: Integers) -> tuple[Integers, int] | None:
    """Solve ``matrix @ s = right`` by lifting, or by elimination where that does not end.

    Parameters
    ----------
    matrix
        Integers with independent columns.
    right
        Integers, one column for each system.

    Returns
    -------
    The numerators and their common positive denominator; ``None`` when there is no solution or
    the columns are dependent.

    Examples
    --------
    >>> matrix = np.array([[3, 1], [1, 3], [4, 4]])
    >>> exact_solution(matrix, np.array([[1], [1], [2]]))[1]
    4
    >>> exact_solution(matrix, np.array([[1], [1], [3]])) is None
    True
    """
    found = lifted_solution(matrix, right)
    if found is not None:
        return found
    rank = matrix.shape[1]
    solved = eliminate(np.hstack([matrix, right]), rank)
    if solved.rank < rank or solved.table[rank:, rank:].any():
        return None
    return solved.table[:rank, rank:], solved.scale


def lifted_solution(matrix: Integers, right: Integers) -> tuple[Integers, int] | None:
    """Solve ``matrix @ s = right`` exactly, or return ``None``.

    Parameters
    ----------
    matrix
        Integers with independent columns.
    right
        Integers, one column for each system.

    Returns
    -------
    The numerators and their common positive denominator, checked in integers; ``None`` when the
    columns are dependent modulo the prime, or no solution showed within ``DIGIT_LIMIT`` digits.

    Examples
    --------
    >>> matrix, right = np.array([[3, 1], [1, 3]]), np.array([[1], [1]])
    >>> top, below = lifted_solution(matrix, right)
    >>> top.tolist(), below
    ([[1], [1]], 4)
    """
    wide, wanted = matrix.astype(object), right.astype(object)
    inverse, rows = _inverse(wide)
    if inverse is None:
        return None
    square, rest = _machine(wide[rows]), wanted[rows]
    value = np.zeros((len(rows), right.shape[1]), dtype=object)
    modulus, next_try, last = 1, 8, min(DIGIT_LIMIT, _digits(wide[rows], rest))
    for digit in range(1, last + 1):
        found = inverse @ (rest % PRIME).astype(np.int64) % PRIME
        value = value + found.astype(object) * modulus
        rest = (rest - (square @ found.astype(square.dtype)).astype(object)) // PRIME
        modulus *= PRIME
        if digit in (next_try, last):
            next_try *= 2
            solved = _reconstructed(value, modulus)
            if solved is not None and (wide @ solved[0] == wanted * solved[1]).all():
                return solved
    return None


def _digits(square: Integers, right: Integers) -> int:
    """Return how many digits a solution can need: by Hadamard, none is longer than this."""
    norms: list[int] = [math.isqrt(sum(v * v for v in column)) + 1 for column in square.T.tolist()]
    longest: int = max(sum(v * v for v in column) for column in right.T.tolist())
    bits = 2 * sum(norm.bit_length() for norm in norms) + longest.bit_length() + 3
    return -(-bits // (PRIME.bit_length() - 1))


def _machine(matrix: Integers) -> Integers:
    """Return the matrix in machine integers where its products with digits fit into them."""
    largest = max((abs(int(value)) for value in matrix.ravel().tolist()), default=0)
    return matrix.astype(np.int64) if largest * PRIME * len(matrix) < 2**62 else matrix


def _inverse(matrix: Integers) -> tuple[NDArray[np.int64] | None, list[int]]:
    """Invert independent rows of a matrix modulo the prime."""
    n, m = matrix.shape
    table = np.zeros((n, m + n), dtype=np.int64)
    table[:, :m] = (matrix % PRIME).astype(np.int64)
    table[np.arange(n), m + np.arange(n)] = 1
    order = list(range(n))
    for column in range(m):
        below = np.flatnonzero(table[column:, column])
        if not len(below):
            return None, []
        best = column + int(below[0])
        table[[column, best]] = table[[best, column]]
        order[column], order[best] = order[best], order[column]
        scale = pow(int(table[column, column]), -1, PRIME)
        table[column] = table[column] * scale % PRIME
        factors = table[:, column].copy()
        factors[column] = 0
        table = (table - factors[:, None] * table[column]) % PRIME
    rows = order[:m]
    return table[:m, m:][:, rows], rows


def _reconstructed(value: Integers, modulus: int) -> tuple[Integers, int] | None:
    """Return short numerators over one short denominator with these residues, if there are any."""
    bound = math.isqrt(modulus // 2)
    below = 1
    for entry in value.ravel().tolist():
        residue = entry * below % modulus
        if residue > modulus // 2:
            residue -= modulus
        if abs(residue) <= bound:
            continue
        more = _denominator(residue % modulus, modulus, bound)
        below *= more
        if more == 0 or below > bound:
            return None
    top = value * below % modulus
    top = np.where(top > modulus // 2, top - modulus, top)
    return top, below


def _denominator(residue: int, modulus: int, bound: int) -> int:
    """Return the denominator of the fraction with this residue, 0 when there is none."""
    before, now = (modulus, 0), (residue, 1)
    while now[0] > bound:
        times = before[0] // now[0]
        before, now = now, (before[0] - times * now[0], before[1] - times * now[1])
    return abs(now[1]) if abs(now[1]) <= bound else 0
