"""Metric privacy on points."""

import numpy as np
import pytest

from tightrope.channels import is_private, smallest_epsilon
from tightrope.consumers import Consumer, expected_loss
from tightrope.errors import InputError
from tightrope.graphs.points import PointsGraph
from tightrope.optimize import design
from tightrope.optimize.points import (
    design_on_spanner,
    planar_geometric,
    planar_laplace,
    spanner,
)

GRID = PointsGraph([(x, y) for x in range(3) for y in range(3)])


@pytest.mark.parametrize("stretch", [1.0, 1.05, 1.3, 2.0])
def test_a_spanner_keeps_its_stretch(stretch: float) -> None:
    found = spanner(GRID, stretch)
    way = found.graph.distance_matrix()
    metric = GRID.distance_matrix()
    assert (way <= metric * found.stretch * (1 + 1e-9)).all()
    assert found.stretch <= stretch * (1 + 1e-9)


def test_a_larger_stretch_needs_fewer_edges() -> None:
    edges = [spanner(GRID, s).graph.edge_count for s in (1.0, 1.2, 2.0)]
    assert edges[0] > edges[1] > edges[2] >= GRID.size - 1


def test_a_design_on_a_spanner_is_private_for_the_metric_and_loses_little() -> None:
    consumer = Consumer.of(GRID, prior="uniform", loss="distance")
    best = design(GRID, 1, consumer)
    sparse, _ = design_on_spanner(GRID, 1, consumer, stretch=1.1)
    assert best.certified
    assert is_private(sparse.channel, GRID, 1)
    assert best.expected_loss <= sparse.expected_loss <= 1.3 * best.expected_loss
    for noise in (
        planar_laplace(GRID, 1, grid=120),
        planar_geometric(GRID, 1, step=0.5),
    ):
        assert expected_loss(noise, consumer) > best.expected_loss - 1e-6


def test_planar_noise_is_nearly_private() -> None:
    noise = planar_laplace(GRID, 1)
    assert np.asarray(noise.matrix()).sum(axis=1) == pytest.approx(
        np.ones(9), abs=1e-12
    )
    assert 0.8 < float(smallest_epsilon(noise, GRID)) < 1.01


def test_requests_without_sense_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        spanner(GRID, 0.5)
    with pytest.raises(InputError, match="positive"):
        planar_geometric(GRID, 1, step=0)
    with pytest.raises(InputError, match="two coordinates"):
        planar_laplace(PointsGraph([[0.0], [1.0]]), 1)
    with pytest.raises(InputError, match="euclidean"):
        planar_laplace(PointsGraph([(48.0, 2.0), (52.0, 13.0)], metric="haversine"), 1)
