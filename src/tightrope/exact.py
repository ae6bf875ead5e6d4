r"""Exact arithmetic: integer matrices and integer polynomials, on FLINT.

Matrices go in and out as NumPy arrays of integers of any length, polynomials as FLINT's
:class:`flint.fmpz_poly`. Nothing here rounds, and no answer is a guess: what a prime or a ball
cannot decide is decided over the integers, or with a smaller ball.

References
----------
.. [1] J. D. Dixon, "Exact solution of linear equations using p-adic expansions", Numerische
   Mathematik 40 (1982): how FLINT solves large systems.
.. [2] E. H. Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian
   elimination", Mathematics of Computation 22 (1968): how it eliminates without fractions.
.. [3] J. von zur Gathen, J. Gerhard, "Modern Computer Algebra", §8.4: Kronecker substitution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tightrope.arrays import Integers

# FLINT takes 60 ms to import: it is imported where it is used.
if TYPE_CHECKING:
    from flint import arb, fmpz_mat, fmpz_poly

Factor = TypeVar("Factor")


def power(
    value: Factor, count: int, times: Callable[[Factor, Factor], Factor]
) -> Factor:
    """Return a product of so many equal factors, at least one, by repeated squaring.

    >>> power("ab", 5, str.__add__)
    'ababababab'
    """
    if count == 1:
        return value
    square = power(times(value, value), count // 2, times)
    return times(square, value) if count % 2 else square


def over_one(fractions: Sequence[Any]) -> tuple[Integers, int]:
    """Return an array of fractions as integers over their least common denominator.

    >>> numerators, denominator = over_one([Fraction(1, 2), Fraction(2, 3)])
    >>> numerators.tolist(), denominator
    ([3, 4], 6)
    """
    given: Integers = np.array(fractions, dtype=object)
    below = math.lcm(*(value.denominator for value in given.flat))
    numerators = [
        value.numerator * (below // value.denominator) for value in given.flat
    ]
    return np.array(numerators, dtype=object).reshape(given.shape), below


# -- matrices -----------------------------------------------------------------------------


def _flint(matrix: Integers) -> fmpz_mat:
    from flint import fmpz_mat

    return fmpz_mat(matrix.tolist())


def _numpy(matrix: fmpz_mat) -> Integers:
    entries = [int(value) for value in matrix.entries()]
    return np.array(entries, dtype=object).reshape(matrix.nrows(), matrix.ncols())


def product(left: Integers, right: Integers) -> Integers:
    """Return the product of two integer matrices.

    >>> product(np.array([[2**40, 1]]), np.array([[2**40], [1]])).tolist() == [[2**80 + 1]]
    True
    """
    return _numpy(_flint(left) * _flint(right))


def determinant(matrix: Integers) -> int:
    """Return the determinant of a square integer matrix.

    >>> determinant(np.array([[2, 1], [1, 3]]))
    5
    """
    return int(_flint(matrix).det())


def independent_rows(matrix: Integers) -> list[int]:
    """Return row indices, increasing, of a basis of the space that the rows span.

    Rows that are independent modulo a prime are independent; only where they are fewer than
    there could be is the matrix eliminated over the integers.

    >>> independent_rows(np.array([[0, 0], [1, 2], [2, 4], [0, 1]]))
    [1, 3]
    """
    from flint import nmod_mat

    # Pivot columns of the transpose are independent rows.
    turned = _flint(matrix.T)
    # A Mersenne prime of one machine word: a rank falls modulo it with probability 2^-61.
    echelon, rank = nmod_mat(turned, 2**61 - 1).rref()
    if rank < min(matrix.shape):
        exact, _, rank = turned.rref()
        return _pivots(exact, rank)
    return _pivots(echelon, rank)


def _pivots(echelon: Any, rank: int) -> list[int]:
    """Return the column of the first entry of each row of an echelon form."""
    columns: list[int] = []
    for row in range(rank):
        start = columns[-1] + 1 if columns else 0
        columns.append(
            next(j for j in range(start, echelon.ncols()) if echelon[row, j] != 0)
        )
    return columns


def solve(matrix: Integers, right: Integers) -> tuple[Integers, int] | None:
    """Solve ``matrix @ s = right`` over the rationals, where at most one solution exists.

    Parameters
    ----------
    matrix
        Integers, at least as many rows as columns.
    right
        Integers, one column for each system.

    Returns
    -------
    The numerators and their common positive denominator; ``None`` when there is no solution or
    the columns of the matrix are dependent.

    Examples
    --------
    >>> matrix = np.array([[3, 1], [1, 3], [4, 4]])
    >>> numerators, denominator = solve(matrix, np.array([[1], [1], [2]]))
    >>> numerators.tolist(), denominator
    ([[1], [1]], 4)
    >>> solve(matrix, np.array([[1], [1], [3]])) is None
    True
    """
    from flint import fmpq_mat

    rows = independent_rows(matrix)
    if len(rows) < matrix.shape[1]:
        return None
    right_rows = fmpq_mat(_flint(right[rows]))
    solution = fmpq_mat(_flint(matrix[rows])).solve(right_rows)
    top, below = solution.numer_denom()
    if len(rows) < len(matrix) and _flint(matrix) * top != _flint(right) * below:
        return None
    return _numpy(top), int(below)


# -- polynomials --------------------------------------------------------------------------


def cramer(
    layers: Sequence[Integers], exponents: Sequence[int], right: Sequence[int]
) -> tuple[fmpz_poly, list[fmpz_poly]]:
    r"""Solve a linear system whose matrix is polynomial in α, by Cramer's rule.

    With :math:`Q(\alpha) = \sum_k L_k \alpha^{e_k}`, the solution of :math:`Q\zeta = b` is
    :math:`\zeta_A = N_A / D` with :math:`D = \det Q` and integer polynomials :math:`N_A`. They
    are read off the solution at one large power of two (Kronecker substitution [3]_).

    Parameters
    ----------
    layers
        The integer matrices :math:`L_k`; their sum must have no negative entry, and
        :math:`Q(0)` must be regular.
    exponents
        The exponents :math:`e_k`.
    right
        The right-hand side b.

    Returns
    -------
    D and all :math:`N_A`, not reduced.

    Examples
    --------
    >>> edge = [np.eye(2, dtype=int), np.array([[0, 1], [1, 0]])]
    >>> bottom, tops = cramer(edge, [0, 1], [1, 1])
    >>> bottom.coeffs(), tops[0].coeffs()
    ([1, 0, -1], [1, -1])
    """
    from flint import fmpz_mat, fmpz_poly

    size = len(right)
    # No coefficient of a determinant exceeds the product of the row sums in size; with two bits
    # for sign and carry the digits in base 2^bits are the coefficients.
    row_sums = np.sum(layers, axis=0).sum(axis=1)
    total = int(row_sums.max())
    largest = max(abs(b) for b in right)
    bits = size * max(total, 2).bit_length() + largest.bit_length() + 2
    value = sum(
        layer.astype(object) * (1 << (bits * exponent))
        for layer, exponent in zip(layers, exponents, strict=True)
    )
    matrix = fmpz_mat(np.asarray(value).tolist())
    # Not zero: as a polynomial it is det Q(0) at α = 0.
    below = matrix.det()
    column = fmpz_mat([[int(b)] for b in right])
    solution = matrix.solve(column)
    tops = [below * solution[a, 0] for a in range(size)]
    return (
        fmpz_poly(_digits(int(below), bits)),
        [fmpz_poly(_digits(int(top.p), bits)) for top in tops],
    )


def _digits(number: int, bits: int) -> list[int]:
    """Return the signed digits of a number in base 2^bits, the lowest first."""
    digits = []
    half = 1 << (bits - 1)
    full = 1 << bits
    while number:
        digit = number & (full - 1)
        if digit >= half:
            digit -= full
        digits.append(digit)
        number = (number - digit) >> bits
    return digits


def sign_at(polynomial: fmpz_poly, x: Fraction) -> int:
    """Return the sign of a polynomial at a fraction: -1, 0 or 1.

    >>> from flint import fmpz_poly
    >>> sign_at(fmpz_poly([-1, 0, 2]), Fraction(1, 2)), sign_at(fmpz_poly([1, -2]), Fraction(1, 2))
    (-1, 0)
    """
    from flint import fmpq

    value = polynomial(fmpq(x.numerator, x.denominator))
    return int(value > 0) - int(value < 0)


@dataclass(frozen=True)
class Root:
    """A real root of an irreducible polynomial, in an interval with rational ends.

    Attributes
    ----------
    polynomial
        The irreducible integer polynomial that it is a root of.
    low, high
        The interval, which holds no other root of that polynomial; equal for a rational root.

    Examples
    --------
    >>> from flint import fmpz_poly
    >>> float(unit_roots([fmpz_poly([-1, 0, 2])])[0])
    0.7071067811865476
    """

    polynomial: fmpz_poly
    low: Fraction
    high: Fraction

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)

    def is_root_of(self, polynomial: fmpz_poly) -> bool:
        """Whether another polynomial vanishes here: iff the irreducible one divides it."""
        return (polynomial % self.polynomial).is_zero()


def unit_roots(polynomials: Iterable[fmpz_poly], bits: int = 64) -> list[Root]:
    """Return the different roots of some polynomials strictly between 0 and 1, in order.

    Polynomials are factored over the integers, so each root is found once; roots of different
    irreducible factors are different. The intervals are disjoint and exclude 0 and 1.

    Parameters
    ----------
    polynomials
        Integer polynomials.
    bits
        Accuracy of the intervals; doubled until they are disjoint.

    Examples
    --------
    >>> from flint import fmpz_poly
    >>> [str(root.low) for root in unit_roots([fmpz_poly([1, -5, 6]), fmpz_poly([1, -2])])]
    ['1/3', '1/2']
    """
    import flint

    factors = {
        tuple(map(int, factor.coeffs())): factor
        for polynomial in polynomials
        if not polynomial.is_zero()
        for factor, _ in polynomial.factor()[1]
    }
    while True:
        with flint.ctx.workprec(bits):
            roots = [
                root for factor in factors.values() for root in _real_roots(factor)
            ]
        inside = [root for root in roots if root.high > 0 and root.low < 1]
        inside.sort(key=lambda root: root.low)
        # Disjoint intervals strictly between 0 and 1, or twice the precision.
        ends = [end for root in inside for end in (root.low, root.high)]
        ends = [Fraction(0), *ends, Fraction(1)]
        pairs = zip(ends[::2], ends[1::2], strict=True)
        if all(a < b for a, b in pairs):
            return inside
        bits *= 2


def _real_roots(factor: fmpz_poly) -> list[Root]:
    """Return the real roots of an irreducible polynomial, to the working precision."""
    if factor.degree() == 1:
        constant, slope = map(int, factor.coeffs())
        return [Root(factor, at := Fraction(-constant, slope), at)]
    # FLINT separates real from complex roots with certainty: their imaginary part is 0.
    roots: list[Any] = factor.complex_roots()
    real = [root.real for root, _ in roots if root.imag == 0]
    return [
        Root(factor, _fraction(ball.lower()), _fraction(ball.upper())) for ball in real
    ]


def _fraction(number: arb) -> Fraction:
    mantissa, exponent = number.man_exp()
    power = Fraction(2) ** int(exponent)
    return Fraction(int(mantissa)) * power
