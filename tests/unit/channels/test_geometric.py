"""The truncated geometric channel."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import GeometricChannel
from tightrope.errors import InputError


def by_definition(size: int, ratio: float) -> np.ndarray:
    """Clip two-sided geometric noise at the ends, summing the tails term by term."""
    out = np.zeros((size, size))
    for i in range(size):
        for step in range(-3000, 3001):
            out[i, min(max(i + step, 0), size - 1)] += (
                (1 - ratio) / (1 + ratio) * ratio ** abs(step)
            )
    return out


@pytest.mark.parametrize(("size", "width"), [(1, 1), (2, 1), (3, 1), (6, 5), (7, 3)])
def test_it_is_the_clipped_geometric_distribution(size: int, width: int) -> None:
    channel = GeometricChannel(size, "ln(2)", width)
    expected = by_definition(size, 0.5 ** (1 / width))
    np.testing.assert_allclose(channel.matrix(), expected, rtol=1e-12)
    for k in range(size):
        np.testing.assert_array_equal(channel.column(k), channel.matrix()[:, k])
        assert [channel.entry(k, o) for o in range(size)] == channel.row(k).tolist()


def test_closed_forms_equal_those_of_the_matrix() -> None:
    for size in (1, 2, 3, 9):
        channel = GeometricChannel(size, 0.7, 2)
        matrix = channel.matrix()
        np.testing.assert_array_equal(channel.diagonal(), np.diag(matrix))
        np.testing.assert_array_equal(channel.column_maxima(), matrix.max(axis=0))
        assert channel.column_maxima_sum() == pytest.approx(matrix.max(axis=0).sum(), rel=1e-15)


def test_powers_of_two_are_exact() -> None:
    channel = GeometricChannel(4, "ln(2)")
    exact = [
        [Fraction(1, 2 ** abs(i - o)) * (2 if o in (0, 3) else 1) / 3 for o in range(4)]
        for i in range(4)
    ]
    assert channel.matrix().tolist() == [[float(x) for x in row] for row in exact]


@pytest.mark.parametrize("epsilon", [1e-10, 1e-5, 1.0, 40.0, 499.0])
def test_rows_sum_to_one_at_every_level(epsilon: float) -> None:
    channel = GeometricChannel(1001, epsilon)
    for i in (0, 1, 500, 1000):
        assert abs(channel.row(i).sum() - 1) < 1e-12


def test_no_digits_are_lost_when_the_ratio_is_near_one() -> None:
    assert GeometricChannel(3, 1e-10).entry(1, 1) == pytest.approx(5e-11, rel=1e-12)


def test_a_million_answers_need_one_row() -> None:
    channel = GeometricChannel(1_000_001, 1, width=5)
    row = channel.row(1_000_000)
    assert row[-1] == pytest.approx(1 / (1 + np.exp(-0.2)), rel=1e-15)
    assert abs(row.sum() - 1) < 1e-12


def test_labels_follow_a_rule() -> None:
    assert GeometricChannel(3, 1, label=lambda i: Fraction(i, 2)).inputs[1] == Fraction(1, 2)


@pytest.mark.parametrize(("size", "width"), [(0, 1), (2.5, 1), (3, 0), (True, 1), (3, -1)])
def test_sizes_are_whole_and_positive(size: int, width: int) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        GeometricChannel(size, 1, width)
