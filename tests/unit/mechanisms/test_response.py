import pytest

from tightrope.channels.privacy import is_private
from tightrope.errors import InputError
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.mechanisms import randomized_response, ring


def test_response_on_any_graph_treats_all_answers_as_neighbours() -> None:
    for graph in (PathPower(5), Star(4), Clique(5)):
        channel = randomized_response(graph, "ln(2)")
        assert (channel.row(0) * 6).round(9).tolist() == [2, 1, 1, 1, 1]
        assert is_private(channel, graph, "ln(2)")
        assert is_private(channel, Clique(5), "ln(2)")
        assert not is_private(channel, Clique(5), 0.69)


def test_response_keeps_labels() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], labels="abc")
    channel = randomized_response(graph, 1)
    assert channel.inputs == ["a", "b", "c"]
    assert channel.outputs == ["a", "b", "c"]
    assert ring(graph, 1).inputs == ["a", "b", "c"]


def test_response_refuses_edges_shorter_than_one() -> None:
    with pytest.raises(InputError, match="shorter edges"):
        randomized_response(ExplicitGraph([(0, 1)], lengths=[0.5]), 1)


def test_a_ring_is_private_on_ring_and_path() -> None:
    channel = ring(6, 1)
    assert is_private(channel, Cycle(6), 1)
    assert is_private(channel, PathPower(6), 1)
    assert not is_private(channel, Clique(6), 1)


def test_a_ring_refuses_answers_in_another_order() -> None:
    with pytest.raises(InputError, match="follow each other"):
        ring(Star(4), 1)
