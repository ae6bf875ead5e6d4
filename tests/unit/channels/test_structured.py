"""Channels by rule: powers of α, geometric noise, scaled Φ, products."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel, ScaledPhi
from tightrope.channels.structured import alpha_powers, compare_levels, log_alpha_sum
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique, Cycle, ExplicitGraph, PathPower


def test_powers_of_a_logarithm_are_exact() -> None:
    assert alpha_powers(Epsilon.of("ln(2)"), np.arange(1000)).tolist() == [
        0.5**k for k in range(1000)
    ]
    assert alpha_powers(Epsilon.of("3*ln(2)"), [2], parts=6).tolist() == [0.5]


def test_powers_are_within_a_few_units_of_the_true_ones() -> None:
    found = alpha_powers(Epsilon.of("1/3"), [300], parts=7)[0]
    assert found == pytest.approx(math.exp(-100 / 7), rel=1e-14)


def test_sums_over_balls_of_any_size() -> None:
    sizes = tuple(math.comb(2000, d) * 3**d for d in range(2001))
    assert log_alpha_sum(Epsilon.of("ln(2)"), sizes) == pytest.approx(
        2000 * math.log(2.5)
    )


def test_levels_of_one_kind_are_compared_exactly() -> None:
    tenth, third = Epsilon.of("0.1"), Epsilon.of("0.3")
    assert compare_levels(tenth, third, times=Fraction(3)) == 0
    assert compare_levels(third, tenth) < 0 < compare_levels(tenth, third)
    assert (
        compare_levels(Epsilon.of("ln(3)"), Epsilon.of("2*ln(3)"), times=Fraction(2))
        == 0
    )
    assert compare_levels(Epsilon.of("ln(2)"), Epsilon.of("0.7")) == pytest.approx(
        0.7 - math.log(2)
    )


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
        np.testing.assert_array_equal(channel.column_maxima(), matrix.max(axis=0))
        assert channel.column_maxima_sum() == pytest.approx(
            matrix.max(axis=0).sum(), rel=1e-15
        )


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
    assert GeometricChannel(3, 1, label=lambda i: Fraction(i, 2)).inputs[1] == Fraction(
        1, 2
    )


@pytest.mark.parametrize(
    ("size", "width"), [(0, 1), (2.5, 1), (3, 0), (True, 1), (3, -1)]
)
def test_sizes_are_whole_and_positive(size: int, width: int) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        GeometricChannel(size, 1, width)


def weighting(graph: object, alpha: float) -> np.ndarray:
    phi = alpha ** graph.distance_matrix()  # type: ignore[attr-defined]
    return np.linalg.solve(phi, np.ones(len(phi)))


def test_it_is_phi_times_a_diagonal() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[1, 2, 0.5], labels="abcd")
    z = weighting(graph, np.exp(-3))
    channel = ScaledPhi(graph, 3, z)
    expected = np.exp(-3 * graph.distance_matrix()) * z
    np.testing.assert_allclose(channel.matrix(), expected, rtol=1e-13)
    np.testing.assert_allclose(channel.column(2), expected[:, 2], rtol=1e-13)
    assert channel.entry(0, 3) == pytest.approx(expected[0, 3], rel=1e-13)
    np.testing.assert_array_equal(channel.column_maxima(), z)
    assert channel.column_maxima_sum() == pytest.approx(z.sum())
    assert channel.inputs == list("abcd")


def test_one_number_serves_a_symmetric_graph() -> None:
    channel = ScaledPhi(Cycle(5), "ln(2)", 0.4)
    assert channel.constant_scale == 0.4
    assert channel.scale.tolist() == [0.4] * 5
    assert channel.row(0).tolist() == [0.4, 0.2, 0.1, 0.1, 0.2]


def test_databases_without_arrays() -> None:
    people = CartesianProduct([Clique(4)] * 20)
    channel = ScaledPhi(people, "ln(2)", 0.4**20)
    assert channel.entry(0, 0) == 0.4**20
    assert channel.entry(0, people.size - 1) == pytest.approx(0.2**20)
    assert channel.column_maxima_sum() == pytest.approx(1.6**20)
    for refused in (channel.row, channel.column):
        with pytest.raises(TooLarge, match="1099511627776"):
            refused(0)
    with pytest.raises(TooLarge):
        _ = channel.scale
    with pytest.raises(InputError, match=r"row 0 sums to 1\.0"):
        ScaledPhi(people, "ln(2)", 0.4**20 * (1 + 1e-8))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ([0.5, 0.5, -0.1], "got -0.1 at position 2"),
        ([0.5, float("nan"), 0.1], "got nan at position 1"),
        ([0.5, 0.5], "3 answers, got shape"),
        (-1, "got -1.0"),
        (0, "positive"),
        ("z", "one number"),
        ([0.5, 0.5, 0.5], "row 0 sums to 0.875"),
        (0.5, "row 0 sums to 0.875"),
    ],
)
def test_a_bad_scale_is_refused(scale: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ScaledPhi(PathPower(3), "ln(2)", scale)


def path_weighting(size: int) -> np.ndarray:
    z = np.full(size, 1 / 3)
    z[[0, -1]] = 2 / 3
    return z


def test_some_rows_are_checked_on_a_large_graph() -> None:
    size = 100_000
    channel = ScaledPhi(PathPower(size), "ln(2)", path_weighting(size))
    assert abs(channel.row(777).sum() - 1) < 1e-12
    wrong = path_weighting(size)
    wrong[-1] += 1e-3
    with pytest.raises(InputError, match=f"row {size - 1} sums"):
        ScaledPhi(PathPower(size), "ln(2)", wrong)


def test_a_graph_that_cannot_be_checked_is_refused() -> None:
    grid = CartesianProduct([PathPower(10_000), PathPower(10_000)])
    with pytest.raises(TooLarge, match="cannot be checked"):
        ScaledPhi(grid, 1, 0.1)


X = Channel([[0.5, 0.5], [0.25, 0.75]], inputs="ab")
Y = Channel([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], outputs="xyz")


def test_it_is_the_kronecker_product() -> None:
    channel = KroneckerChannel([X, Y, X])
    expected = np.kron(np.kron(X.matrix(), Y.matrix()), X.matrix())
    assert channel.shape == (8, 12)
    np.testing.assert_array_equal(channel.matrix(), expected)
    for o in range(12):
        np.testing.assert_array_equal(channel.column(o), expected[:, o])
    assert channel.entry(5, 7) == expected[5, 7]
    np.testing.assert_array_equal(channel.column_maxima(), expected.max(axis=0))
    assert channel.column_maxima_sum() == pytest.approx(expected.max(axis=0).sum())
    assert channel.input_label(5) == ("b", 0, "b")
    assert channel.output_label(7) == (1, "x", 1)
    with pytest.raises(InputError, match="column must be in 0 … 11, got 12"):
        channel.output_label(12)


def test_numbering_is_that_of_graphs() -> None:
    people = CartesianProduct([Clique(3)] * 3)
    one = ScaledPhi(Clique(3), "ln(2)", 0.5)
    whole = ScaledPhi(people, "ln(2)", 0.125)
    np.testing.assert_allclose(
        KroneckerChannel([one] * 3).matrix(), whole.matrix(), rtol=1e-15
    )


def test_sixty_people() -> None:
    channel = KroneckerChannel([X] * 60)
    assert channel.shape == (2**60, 2**60)
    assert channel.entry(0, 2**60 - 1) == pytest.approx(0.5**60)
    with pytest.raises(TooLarge):
        channel.row(0)
    assert "of 60" in repr(channel)


def test_what_is_not_a_product_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        KroneckerChannel([])
    with pytest.raises(InputError, match="factor 1 must be a channel"):
        KroneckerChannel([X, [[1.0]]])  # type: ignore[list-item]
