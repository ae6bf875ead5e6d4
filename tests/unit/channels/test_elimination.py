"""Exact elimination."""

from fractions import Fraction

import numpy as np

from tightrope.channels.elimination import (
    common_denominator,
    determinant,
    eliminate,
    null_space,
    shortened,
)


def test_a_system_is_solved_exactly():
    rng = np.random.default_rng(0)
    matrix = rng.integers(-9, 10, (7, 7)).astype(object)
    right = rng.integers(-9, 10, (7, 3)).astype(object)
    done = eliminate(np.hstack([matrix, right]), 7)
    assert done.rank == 7
    assert (matrix @ done.table[:, 7:] == right * done.scale).all()
    assert determinant(matrix) == round(np.linalg.det(matrix.astype(float)))
    assert determinant(matrix) % done.scale == 0
    assert determinant(np.ones((3, 3), dtype=object)) == 0
    assert determinant(matrix[[1, 0, *range(2, 7)]]) == -determinant(matrix)


def test_rank_and_null_space():
    rng = np.random.default_rng(1)
    matrix = (rng.integers(-3, 4, (6, 2)) @ rng.integers(-3, 4, (2, 5))).astype(object)
    found = null_space(matrix)
    assert eliminate(matrix, 5).rank == 2
    assert len(found) == 3
    assert not (matrix @ np.array(found, dtype=object).T).any()
    assert null_space(np.eye(3, dtype=int).astype(object)) == []


def test_numbers():
    assert shortened([0, 0]) == [0, 0]
    assert shortened([6, -9]) == [2, -3]
    assert common_denominator([Fraction(1, 4), Fraction(-5, 6)]) == ([3, -10], 12)
    assert common_denominator([]) == ([], 1)
