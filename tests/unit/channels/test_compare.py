"""Equality, reduction and the Dobrushin coefficient."""

import math

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel, IntegerChannel, equal, remap
from tightrope.channels.compose import reduced
from tightrope.channels.generality import dobrushin
from tightrope.errors import TooLarge


def test_equality_shows_where_channels_differ_most() -> None:
    left = Channel([[0.5, 0.5], [0.25, 0.75]])
    found = equal(left, Channel([[0.5, 0.5], [0.5, 0.5]]))
    assert not found
    assert (found.difference, found.place, found.exact) == (0.25, (1, 0), False)
    assert equal(left, left).difference == 0
    assert equal(left, Channel([[0.5, 0.5], [0.25 + 1e-13, 0.75 - 1e-13]]))
    assert not equal(left, Channel([[0.5, 0.5], [0.25 + 1e-11, 0.75 - 1e-11]]))
    assert equal(
        left, Channel([[0.5, 0.5], [0.25 + 1e-11, 0.75 - 1e-11]]), tolerance=1e-9
    )
    assert found.tolerance == 1e-12


def test_integers_are_compared_exactly() -> None:
    big = 10**30
    left = IntegerChannel([[big, big]])
    assert equal(left, IntegerChannel([[1, 1]]))
    near = equal(left, IntegerChannel([[big + 1, big - 1]]))
    assert not near
    assert 0 < near.difference < 1e-29
    assert near.exact
    assert equal(left, IntegerChannel([[big + 1, big - 1]]), tolerance=1e-20)


def test_other_shapes_are_not_equal() -> None:
    found = equal(Channel([[1.0]]), Channel([[0.5, 0.5]]))
    assert (found.equal, found.difference, found.place) == (False, math.inf, None)


def test_integer_columns_are_merged_exactly() -> None:
    big = 10**20
    made = reduced(IntegerChannel([[2, 0, 1, 4 * big], [1, 0, 1, 4 * big + 1]]))
    assert made.groups == ((0,), (2,), (3,))
    merged = reduced(IntegerChannel([[2, 4, 3], [1, 2, 6]], outputs="abc"))
    assert merged.groups == ((0, 1), (2,))
    assert merged.channel.outputs == ["a", "c"]
    assert isinstance(merged.channel, IntegerChannel)
    assert merged.channel.weights.tolist() == [[6, 3], [3, 6]]


def test_float_columns_are_merged_within_the_tolerance() -> None:
    matrix = np.array([[0.2, 0.4, 0.0, 0.4], [0.1, 0.2, 0.0, 0.7]])
    made = reduced(Channel(matrix))
    assert made.groups == ((0, 1), (3,))
    matrix[1] += [1e-6, 0, 0, -1e-6]
    assert reduced(Channel(matrix)).groups == ((0,), (1,), (3,))
    assert reduced(Channel(matrix), tolerance=1e-3).groups == ((0, 1), (3,))


def test_columns_with_equal_means_are_told_apart() -> None:
    matrix = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    made = reduced(Channel(matrix))
    assert made.groups == ((0,), (1,), (2,))


def test_reducing_undoes_a_split() -> None:
    base = GeometricChannel(6, 0.8)
    split = Channel(np.hstack([base.matrix() * 0.3, base.matrix() * 0.7]))
    made = reduced(split)
    assert made.groups == tuple((k, k + 6) for k in range(6))
    assert equal(made.channel, base)
    targets = np.zeros(12, dtype=int)
    for k, group in enumerate(made.groups):
        targets[list(group)] = k
    assert equal(remap(split, targets), made.channel)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 9])
def test_the_geometric_channel_has_the_best_value_for_its_diameter(size: int) -> None:
    epsilon, d = 0.7, size - 1
    if d % 2:
        best = -2 * math.exp(-epsilon * (d - 1) / 2) / (1 + math.exp(epsilon))
    else:
        best = -math.exp(-epsilon * d / 2)
    assert dobrushin(GeometricChannel(size, epsilon)) == pytest.approx(best)


def test_by_rule_and_by_all_pairs() -> None:
    channel = GeometricChannel(7, 0.3, width=3)
    slow = dobrushin(Channel(channel.matrix()))
    assert dobrushin(channel) == pytest.approx(slow)


def test_ends_of_the_scale() -> None:
    assert dobrushin(Channel(np.eye(3))) == 0
    assert dobrushin(Channel(np.full((3, 3), 1 / 3))) == pytest.approx(-1)
    assert dobrushin(Channel([[0.5, 0.5]])) == -1


def test_all_pairs_of_rows_are_compared() -> None:
    matrix = np.random.default_rng(6).dirichlet(np.ones(5), size=60)
    least = min(np.minimum(one, other).sum() for one in matrix for other in matrix)
    assert dobrushin(Channel(matrix)) == pytest.approx(-least)


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(TooLarge, match="all pairs of 9 rows"):
        dobrushin(Channel(np.eye(9)), limit=10)
