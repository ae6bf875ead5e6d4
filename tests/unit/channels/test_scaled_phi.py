"""The channel Φ·diag(z)."""

import numpy as np
import pytest

from tightrope.channels import ScaledPhi
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique, Cycle, ExplicitGraph, PathPower


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
    np.testing.assert_array_equal(channel.diagonal(), z)
    np.testing.assert_array_equal(channel.column_maxima(), z)
    assert channel.column_maxima_sum() == pytest.approx(z.sum())
    assert channel.inputs == list("abcd")
    assert channel.checked_rows == 4


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
    assert channel.checked_rows == people.size
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
        ([0.5, 0.5, -0.1], "got -0.1 at answer 2"),
        ([0.5, float("nan"), 0.1], "got nan at answer 1"),
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
    assert channel.checked_rows == 16
    assert abs(channel.row(777).sum() - 1) < 1e-12
    wrong = path_weighting(size)
    wrong[-1] += 1e-3
    with pytest.raises(InputError, match=f"row {size - 1} sums"):
        ScaledPhi(PathPower(size), "ln(2)", wrong)


def test_a_graph_that_cannot_be_checked_is_refused() -> None:
    grid = CartesianProduct([PathPower(10_000), PathPower(10_000)])
    with pytest.raises(TooLarge, match="cannot be checked"):
        ScaledPhi(grid, 1, 0.1)
