"""Exact solutions by p-adic lifting."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import IntegerChannel, cascade, derivable, equal
from tightrope.channels.elimination import eliminate
from tightrope.channels.lifting import PRIME, exact_solution, lifted_solution


@pytest.mark.parametrize("bits", [3, 40, 200])
def test_it_agrees_with_elimination(bits):
    rng = np.random.default_rng(bits)
    big = 2**bits
    matrix = np.array(
        [[int(v * big) for v in row] for row in rng.normal(size=(6, 6))], dtype=object
    )
    right = np.array([[int(v * big) for v in row] for row in rng.normal(size=(6, 2))], dtype=object)
    found = lifted_solution(matrix, right)
    done = eliminate(np.hstack([matrix, right]), 6)
    assert found is not None
    top, below = found
    assert (top * done.scale == done.table[:, 6:] * below).all()


def test_more_rows_than_columns():
    matrix = np.array([[0, 0], [1, 2], [3, 4]], dtype=object)
    top, below = lifted_solution(matrix, matrix @ np.array([[5], [7]], dtype=object))
    assert (top.tolist(), below) == ([[5], [7]], 1)
    # A right-hand side outside the column space has no solution.
    assert lifted_solution(matrix, np.array([[1], [1], [1]], dtype=object)) is None


def test_what_it_cannot_do_it_leaves():
    assert lifted_solution(np.array([[1, 2], [2, 4]]), np.array([[1], [2]])) is None
    assert lifted_solution(np.array([[PRIME]], dtype=object), np.array([[1]])) is None
    assert lifted_solution(np.array([[1, 2]]), np.array([[1]])) is None


def test_long_weights_are_decided():
    rng = np.random.default_rng(0)

    def channel():
        rows = [[int(v * 2**62) + 1 for v in rng.dirichlet(np.ones(16))] for _ in range(16)]
        for row in rows:
            row[0] += 2**63 - sum(row)
        return IntegerChannel(np.array(rows, dtype=object))

    y = channel()
    x = cascade(y, channel())
    found = derivable(x, y)
    assert equal(cascade(y, found.remap), x).difference == 0
    assert not derivable(y, x)


@pytest.mark.parametrize("size", [1, 5, 20])
@pytest.mark.parametrize("high", [7, 2**50])
def test_the_longest_solutions_show_within_the_digits_of_hadamard(size, high):
    """A random matrix has solutions about as long as its determinant."""
    rng = np.random.default_rng(size)
    matrix = rng.integers(-high, high, (size, size)).astype(object)
    right = rng.integers(-(2**40), 2**40, (size, 3)).astype(object)
    top, below = lifted_solution(matrix, right)
    assert (matrix @ top == right * below).all()
    assert (top == exact_solution(matrix, right)[0]).all()


def test_what_lifting_leaves_elimination_solves():
    matrix, right = np.array([[PRIME]], dtype=object), np.array([[3]], dtype=object)
    assert lifted_solution(matrix, right) is None
    top, below = exact_solution(matrix, right)
    assert Fraction(int(top[0, 0]), below) == Fraction(3, PRIME)
    assert exact_solution(np.array([[1, 2], [2, 4]]), np.array([[1], [2]])) is None
