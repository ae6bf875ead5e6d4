"""Exact arithmetic on FLINT."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_poly

from tightrope.exact import (
    cramer,
    determinant,
    independent_rows,
    sign_at,
    solve,
    unit_roots,
)


@pytest.mark.parametrize("size", [1, 5, 30])
@pytest.mark.parametrize("high", [7, 2**50])
def test_a_system_is_solved_exactly(size, high):
    rng = np.random.default_rng(size)
    matrix = rng.integers(-high, high, (size, size)).astype(object)
    right = rng.integers(-(2**40), 2**40, (size, 3)).astype(object)
    top, below = solve(matrix, right)
    assert below > 0
    assert (matrix @ top == right * below).all()
    assert determinant(matrix) % below == 0


def test_integers_longer_than_a_machine_word():
    rng = np.random.default_rng(0)
    big = [[int(v * 2**200) for v in row] for row in rng.normal(size=(6, 6))]
    matrix = np.array(big, dtype=object)
    top, below = solve(matrix, np.eye(6, dtype=int))
    assert (matrix @ top == np.eye(6, dtype=int).astype(object) * below).all()


def test_more_rows_than_columns():
    matrix = np.array([[0, 0], [1, 2], [3, 4]], dtype=object)
    top, below = solve(matrix, matrix @ np.array([[5], [7]], dtype=object))
    assert (top.tolist(), below) == ([[5], [7]], 1)
    # A right-hand side outside the column space has no solution.
    assert solve(matrix, np.array([[1], [1], [1]], dtype=object)) is None


def test_dependent_columns_have_no_single_solution():
    assert solve(np.array([[1, 2], [2, 4]]), np.array([[1], [2]])) is None
    assert solve(np.array([[1, 2]]), np.array([[1]])) is None


def test_a_multiple_of_the_prime_is_no_zero():
    """Modulo 2^61 - 1 the matrix vanishes, over the integers it is regular."""
    prime = 2**61 - 1
    matrix = np.array([[prime, 0], [0, 2 * prime]], dtype=object)
    assert independent_rows(matrix) == [0, 1]
    top, below = solve(matrix, np.array([[3], [1]], dtype=object))
    assert [Fraction(int(v), below) for v in top[:, 0]] == [
        Fraction(3, prime),
        Fraction(1, 2 * prime),
    ]


def test_determinant():
    rng = np.random.default_rng(0)
    matrix = rng.integers(-9, 10, (7, 7))
    assert determinant(matrix) == round(np.linalg.det(matrix.astype(float)))
    assert determinant(np.ones((3, 3), dtype=int)) == 0
    assert determinant(matrix[[1, 0, *range(2, 7)]]) == -determinant(matrix)


def test_independent_rows():
    rng = np.random.default_rng(1)
    matrix = rng.integers(-3, 4, (6, 2)) @ rng.integers(-3, 4, (2, 5))
    assert len(independent_rows(matrix)) == 2
    assert np.linalg.matrix_rank(matrix[independent_rows(matrix)]) == 2


def product(*factors: list[int]) -> fmpz_poly:
    return math.prod(map(fmpz_poly, factors), start=fmpz_poly([1]))


def test_all_roots_between_0_and_1():
    p = product(
        [-1, 2], [-1, 3], [-2, 3], [-2, 0, 5], [1, 0, 1], [-3, 2], [0, 1], [-1, 1]
    )
    found = [float(root) for root in unit_roots([p, p * p])]
    assert found == pytest.approx([1 / 3, 1 / 2, math.sqrt(2 / 5), 2 / 3], abs=1e-15)
    assert unit_roots([fmpz_poly([1, 1, 1]), fmpz_poly([-7, 2]), fmpz_poly([])]) == []


@pytest.mark.parametrize("far", [10**3, 10**40])
def test_close_roots_are_told_apart(far):
    """Three roots near 1/√2, too close together for the precision that is tried first."""
    factors = [[-far - k, 0, 2 * far + k] for k in range(3)]
    found = unit_roots(map(fmpz_poly, factors))
    assert len(found) == 3
    for root, after in itertools.pairwise(found):
        assert root.low < root.high < after.low
        assert root.is_root_of(root.polynomial * fmpz_poly([5, 7]))
        assert not root.is_root_of(after.polynomial)
        assert (
            sign_at(root.polynomial, root.low) * sign_at(root.polynomial, root.high)
            == -1
        )


def test_roots_close_to_the_ends_are_not_lost():
    far = 10**50
    found = unit_roots([fmpz_poly([-1, 0, far]), fmpz_poly([1 - far, 0, far])])
    assert [float(root) for root in found] == pytest.approx([1e-25, 1.0])
    assert found[0].low > 0
    assert found[1].high < 1


def test_signs_at_fractions():
    line = fmpz_poly([-1, 2])
    assert [sign_at(line, Fraction(k, 4)) for k in (1, 2, 3)] == [-1, 0, 1]


def test_cramers_rule_on_a_path_of_three():
    """Φ of a path has determinant (1 - α²)² and z = (1, 1 - α, 1)/(1 + α)."""
    far = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    layers = [(far == k).astype(int) for k in range(3)]
    bottom, tops = cramer(layers, [0, 1, 2], [1, 1, 1])
    assert bottom == product([1, 0, -1], [1, 0, -1])
    assert tops[1] * fmpz_poly([1, 1]) == bottom * fmpz_poly([1, -1])
    assert tops[0] == tops[2]
    assert tops[0] * fmpz_poly([1, 1]) == bottom
