"""What every answer graph has from the base class, and what it refuses."""

import numpy as np
import pytest

from tightrope import AnswerGraph
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.graphs.base import LIMITS

FAMILIES = [
    PathPower(6),
    PathPower(7, 3),
    Cycle(5),
    Clique(4),
    Star(3),
    CartesianProduct([PathPower(2), Cycle(3)]),
]


class Wheel(AnswerGraph):
    """A family that says only what it must: a hub (node 0) and a ring of five."""

    name, size = "wheel", 6

    def distance(self, i: int, j: int) -> int:
        return int(self.distances_from(i)[j])

    def distances_from(self, i: int) -> np.ndarray:
        near = self.neighbours(i)
        row = np.full(6, 2)
        row[near], row[i] = 1, 0
        return row

    def neighbours(self, i: int) -> np.ndarray:
        if i == 0:
            return np.arange(1, 6)
        return np.array(sorted({0, 1 + i % 5, 1 + (i - 2) % 5}))

    @property
    def diameter(self) -> int:
        return 2


def test_the_rest_follows_from_four_answers() -> None:
    wheel = Wheel()
    assert wheel.degrees.tolist() == [5, 3, 3, 3, 3, 3]
    assert (wheel.max_degree, wheel.min_degree, wheel.edge_count) == (5, 3, 10)
    assert wheel.edge_array().tolist() == list(map(list, wheel.edges()))
    assert wheel.edge_lengths().tolist() == [1.0] * 10
    assert wheel.ball_sizes(1) == (1, 3, 2)
    assert wheel.constant_ball_sizes is None
    assert not (wheel.is_path)
    assert not (wheel.is_cycle)
    assert not (wheel.is_tree)
    assert not (wheel.is_clique)
    listed = wheel.explicit()
    assert np.array_equal(listed.distance_matrix(), wheel.distance_matrix())
    assert len(wheel) == 6
    assert repr(wheel) == "<Wheel wheel: 6 answers>"
    assert sorted(wheel.to_networkx().edges) == sorted(wheel.edges())


@pytest.mark.parametrize("graph", FAMILIES, ids=lambda g: g.name)
def test_rules_equal_the_listed_graph(graph: AnswerGraph) -> None:
    listed = graph.explicit()
    assert np.array_equal(graph.distance_matrix(), listed.distance_matrix())
    assert graph.degrees.tolist() == listed.degrees.tolist()
    assert graph.edge_count == listed.edge_count
    assert graph.diameter == listed.diameter
    assert graph.labels == listed.labels
    for shape in ("is_path", "is_cycle", "is_tree", "is_clique", "constant_ball_sizes"):
        assert getattr(graph, shape) == getattr(listed, shape), shape


@pytest.mark.parametrize(
    ("graph", "shapes"),
    [
        (Clique(1), {"is_path", "is_tree", "is_clique"}),
        (Clique(2), {"is_path", "is_tree", "is_clique"}),
        (Clique(3), {"is_cycle", "is_clique"}),
        (PathPower(5), {"is_path", "is_tree"}),
        (Star(3), {"is_tree"}),
        (Cycle(7), {"is_cycle"}),
        (PathPower(5, 2), set()),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_shapes(graph: AnswerGraph, shapes: set[str]) -> None:
    for one in (graph, graph.explicit()):
        assert {
            s for s in ("is_path", "is_cycle", "is_tree", "is_clique") if getattr(one, s)
        } == shapes


@pytest.mark.parametrize("node", [-1, 6, 1.0, "0", None, 10**30])
def test_only_nodes_are_nodes(node: object) -> None:
    for graph in (PathPower(6), PathPower(6).explicit(), Clique(6), Cycle(6)):
        with pytest.raises(InputError, match="node must be in 0 … 5"):
            graph.distances_from(node)  # type: ignore[arg-type]


def test_answers_and_nodes() -> None:
    assert PathPower(6).index(3) == 3
    for wrong in (6, -1, "3", 2.5, None):
        with pytest.raises(InputError, match="is not an answer of"):
            PathPower(6).index(wrong)


def test_arrays_are_read_only() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)])
    for array in (
        graph.edge_array(),
        graph.edge_lengths(),
        graph.degrees,
        graph.adjacency.data,
        graph.distance_matrix(),
        graph.distances_from(0),
        Wheel().degrees,
        Wheel().edge_array(),
        Wheel().distance_matrix(),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_would_not_fit_is_refused_with_its_size() -> None:
    huge = CartesianProduct([Clique(4)] * 20)
    for call in (
        lambda: huge.distances_from(0),
        lambda: huge.labels,
        huge.edge_array,
        huge.distance_matrix,
        huge.explicit,
    ):
        with pytest.raises(TooLarge, match=r"1099511627776|longer than"):
            call()
    with pytest.raises(TooLarge, match=f"{LIMITS.matrix + 1}²"):
        PathPower(LIMITS.matrix + 1).distance_matrix()
    assert huge.neighbours(0).size == 60
