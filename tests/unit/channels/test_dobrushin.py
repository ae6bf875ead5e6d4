import math

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel
from tightrope.channels.compare import dobrushin
from tightrope.errors import TooLarge


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 9])
def test_the_geometric_channel_has_the_best_value_for_its_diameter(size: int) -> None:
    epsilon, d = 0.7, size - 1
    if d % 2:
        best = -2 * math.exp(-epsilon * (d - 1) / 2) / (1 + math.exp(epsilon))
    else:
        best = -math.exp(-epsilon * d / 2)
    assert dobrushin(GeometricChannel(size, epsilon)).value == pytest.approx(best)


def test_by_rule_and_by_all_pairs() -> None:
    channel = GeometricChannel(7, 0.3, width=3)
    slow = dobrushin(Channel(channel.matrix()))
    assert dobrushin(channel).value == pytest.approx(slow.value)
    assert slow.rows == (0, 6)


def test_ends_of_the_scale() -> None:
    assert dobrushin(Channel(np.eye(3))).value == 0
    assert dobrushin(Channel(np.full((3, 3), 1 / 3))).value == pytest.approx(-1)
    assert dobrushin(Channel([[0.5, 0.5]])).value == -1


def test_the_witness_shows_the_value() -> None:
    rng = np.random.default_rng(6)
    matrix = rng.dirichlet(np.ones(5), size=300)
    found = dobrushin(Channel(matrix))
    i, h = found.rows
    assert float(found) == pytest.approx(-np.minimum(matrix[i], matrix[h]).sum())
    assert float(found) >= -np.minimum(matrix[0], matrix[1]).sum()


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(TooLarge, match="all pairs of 9 rows"):
        dobrushin(Channel(np.eye(9)), limit=10)
