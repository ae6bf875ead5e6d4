import numpy as np
import pytest

from tightrope.channels import ScaledPhi
from tightrope.channels.privacy import is_private, smallest_epsilon
from tightrope.graphs import (
    AnswerGraph,
    Cycle,
    Databases,
    ExplicitGraph,
    PathPower,
    Star,
    petersen,
)
from tightrope.mechanisms import exponential
from tightrope.mechanisms.closed_forms import ExponentialChannel

UNEVEN = [
    PathPower(6),
    PathPower(9, 2),
    Star(4),
    ExplicitGraph([(0, 1), (1, 2)], lengths=[0.5, 2.0]),
]


@pytest.mark.parametrize("graph", UNEVEN, ids=lambda graph: graph.name)
def test_on_uneven_graphs_half_the_level_pays_for_the_sums(graph: AnswerGraph) -> None:
    channel = exponential(graph, 1)
    assert isinstance(channel, ExponentialChannel)
    matrix = channel.matrix()
    assert np.allclose(matrix.sum(axis=1), 1)
    assert is_private(channel, graph, 1)
    assert 0.5 <= smallest_epsilon(channel, graph).value <= 1
    for i, o in [(0, 0), (1, 2), (2, 1)]:
        assert channel.entry(i, o) == pytest.approx(matrix[i, o])
        assert channel.column(o)[i] == pytest.approx(matrix[i, o])
        assert channel.row(i)[o] == pytest.approx(matrix[i, o])


def test_the_whole_level_would_not_be_private_on_a_star() -> None:
    graph = Star(4)
    powers = np.exp(-graph.distance_matrix())
    whole = powers / powers.sum(axis=1, keepdims=True)
    worst = np.log(whole[1:] / whole[0]).max()
    assert worst > 1


@pytest.mark.parametrize(
    "graph", [Cycle(8), petersen(), Databases(20, range(4))], ids=str
)
def test_on_even_graphs_it_is_a_scaled_phi(graph: AnswerGraph) -> None:
    channel = exponential(graph, 1)
    assert isinstance(channel, ScaledPhi)
    assert channel.constant_scale is not None
    assert is_private(channel, graph, 1)
    assert not is_private(channel, graph, 0.999)


def test_it_prints_what_it_is() -> None:
    assert repr(exponential(PathPower(4), 1)) == "<ExponentialChannel path(4), ε = 1>"
    assert exponential(PathPower(4), 1).inputs == [0, 1, 2, 3]
