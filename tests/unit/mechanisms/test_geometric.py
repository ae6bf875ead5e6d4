import numpy as np
import pytest

from tightrope.channels import GeometricChannel, KroneckerChannel
from tightrope.channels.privacy import is_private, smallest_epsilon
from tightrope.errors import InputError
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
    petersen,
)
from tightrope.mechanisms import geometric

GRAPHS = [
    PathPower(1),
    PathPower(6),
    PathPower(16, 5),
    Clique(6),
    Cycle(7),
    Star(3),
    petersen(),
    StrongProduct([PathPower(4), PathPower(3)]),
    CartesianProduct([PathPower(4), Clique(3)]),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_it_is_private_on_every_graph(graph: AnswerGraph) -> None:
    channel = geometric(graph, 0.7)
    assert channel.shape == (graph.size, graph.size)
    assert np.allclose(channel.matrix().sum(axis=1), 1)
    assert is_private(channel, graph, 0.7)


@pytest.mark.parametrize(
    "graph", [PathPower(6), PathPower(16, 5), Clique(6), Cycle(7)], ids=str
)
def test_it_uses_the_whole_level(graph: AnswerGraph) -> None:
    assert smallest_epsilon(geometric(graph, 0.7), graph).value == pytest.approx(0.7)
    assert not is_private(geometric(graph, 0.7), graph, 0.69)


def test_one_level_is_shared_where_one_person_moves_all_coordinates() -> None:
    together = geometric(StrongProduct([PathPower(5), PathPower(5)]), 1)
    alone = geometric(CartesianProduct([PathPower(5), PathPower(5)]), 1)
    assert isinstance(together, KroneckerChannel)
    assert isinstance(alone, KroneckerChannel)
    assert together.entry(0, 0) < alone.entry(0, 0)
    # Independent full-strength noise on both counts would not be private.
    assert not is_private(alone, StrongProduct([PathPower(5), PathPower(5)]), 1)


def test_labels_are_the_answers() -> None:
    colours = ExplicitGraph([(0, 1), (1, 2)], labels=["red", "green", "blue"])
    channel = geometric(colours, 1)
    assert channel.inputs == channel.outputs == ["red", "green", "blue"]


def test_sums_scale_by_the_largest_value() -> None:
    channel = geometric(PathPower(751, 5), 1)
    assert isinstance(channel, GeometricChannel)
    assert channel.width == 5


def test_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="edges of length 1"):
        geometric(ExplicitGraph([(0, 1)], lengths=[2.0]), 1)
