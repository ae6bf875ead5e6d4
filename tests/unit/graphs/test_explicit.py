"""Listed graphs and the shortest paths in them."""

import copy
import gc
import math
import pickle
import weakref
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from tightrope.arrays import LIMITS
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph, Cycle, ExplicitGraph, PathPower
from tightrope.graphs.explicit import distances, largest_distance
from tightrope.graphs.points import PointsGraph
from tightrope.graphs.products import grid


def test_edges_are_sorted_and_both_ways_round() -> None:
    graph = ExplicitGraph([(2, 1), (1, 0)], lengths=[5, 3], labels="abc", name="bent")
    assert graph.edge_array().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_lengths().tolist() == [3.0, 5.0]
    assert graph.distance(0, 2) == 8.0
    assert graph.index("c") == 2
    assert graph.has_lengths
    assert AnswerGraph.of([(0, 1)], labels="ab").label(1) == "b"


def test_lengths_of_one_are_no_lengths() -> None:
    graph = ExplicitGraph([(0, 1)], lengths=[1.0])
    assert not graph.has_lengths
    assert graph.distance(0, 1) == 1
    assert isinstance(graph.distance(0, 1), int)


def test_a_way_round_may_be_shorter_than_an_edge() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2), (0, 2)], lengths=[1, 1, 5])
    assert graph.distance(0, 2) == 2.0
    with pytest.raises(InputError, match="ball sizes need edges of length 1"):
        graph.ball_sizes(0)
    assert graph.constant_ball_sizes is None


@pytest.mark.parametrize("edges", [[], np.zeros((0, 2)), ()])
def test_a_single_answer(edges: object) -> None:
    graph = ExplicitGraph(edges)  # type: ignore[arg-type]
    assert (graph.size, graph.edge_count, graph.diameter) == (1, 0, 0)
    assert graph.distances_from(0).tolist() == [0]
    assert graph.is_path


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ExplicitGraph([(0, 1), (2, 3)]), "2 parts: no way from 0 to 2"),
        (lambda: ExplicitGraph([(0, 1)], size=3), "2 parts: no way from 0 to 2"),
        (lambda: ExplicitGraph([(0, 1), (1, 1)]), "got one from 1 to itself"),
        (
            lambda: ExplicitGraph([(0, 1), (1, 0)]),
            "each edge must be given once, got 0 – 1",
        ),
        (lambda: ExplicitGraph([(0, 1), (0, 1)], labels="ab"), "got 'a' – 'b' again"),
        (lambda: ExplicitGraph([(0, -1)], size=2), "got node -1"),
        (lambda: ExplicitGraph([(0, 2)], size=2), "got node 2"),
        (lambda: ExplicitGraph([(0, 1, 2), (3, 4, 5)]), r"got shape (2, 3)"),
        (lambda: ExplicitGraph([0, 1]), r"got shape (2,)"),
        (lambda: ExplicitGraph(5), "pairs of node indices"),
        (lambda: ExplicitGraph("ab"), "pairs of node indices"),
        (lambda: ExplicitGraph([("a", "b")]), "pairs of node indices"),
        (lambda: ExplicitGraph([(0, 1), (2,)]), "pairs of node indices"),
        (lambda: ExplicitGraph([(0, 0.5)]), "whole node indices, got 0.5"),
        (lambda: ExplicitGraph([(0, math.nan)]), "whole node indices, got nan"),
        (lambda: ExplicitGraph([(0, math.inf)]), "whole node indices, got inf"),
        (
            lambda: ExplicitGraph([(0, 1)], lengths=[math.nan]),
            "finite and positive, got nan",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], lengths=[-1]),
            "finite and positive, got -1.0",
        ),
        (lambda: ExplicitGraph([(0, 1)], lengths=[0]), "finite and positive, got 0.0"),
        (
            lambda: ExplicitGraph([(0, 1)], lengths=[math.inf]),
            "finite and positive, got inf",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], lengths=["x"]),
            "edge lengths must be numbers",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], lengths=[1, 2]),
            "one length for each of the 1 edges",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], labels="aa"),
            "different labels, got 'a' twice",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], labels=[[0], [1]]),
            "must be hashable, got [[0], [1]]",
        ),
        (
            lambda: ExplicitGraph([(0, 1)], labels="ab", size=3),
            "size must equal the number",
        ),
        (lambda: ExplicitGraph([], labels=[]), "needs at least one answer"),
        (lambda: ExplicitGraph([], size=0), "needs at least one answer"),
        (lambda: ExplicitGraph([(0, 1)], size=2.0), "size must be a whole number"),
        (lambda: ExplicitGraph([(0, 10**12)]), "at most 20000000 answers"),
    ],
    ids=range(29),
)
def test_refusals(call: Callable[[], object], says: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_answers_is_a_matter_of_size() -> None:
    with pytest.raises(TooLarge):
        ExplicitGraph([], size=10**9)


# -- NetworkX -----------------------------------------------------------------------------


def test_networkx_there_and_back() -> None:
    given = nx.Graph(name="triangle")
    given.add_edge("x", "y", length=2.5)
    given.add_edge("y", "z")
    graph = ExplicitGraph.from_networkx(given)
    assert (graph.name, graph.labels) == ("triangle", ["x", "y", "z"])
    assert graph.edge_lengths().tolist() == [2.5, 1.0]
    back = graph.to_networkx()
    assert back["x"]["y"]["length"] == 2.5
    assert nx.utils.graphs_equal(back, ExplicitGraph.from_networkx(back).to_networkx())


def test_networkx_whole_numbers_are_sorted() -> None:
    graph = ExplicitGraph.from_networkx(nx.Graph([(2, 10), (10, 0)]))
    assert graph.labels == [0, 2, 10]
    assert graph.edge_array().tolist() == [[0, 2], [1, 2]]


@pytest.mark.parametrize("length", [math.nan, -1, 0, math.inf, "far", [1]])
def test_networkx_lengths_are_checked(length: object) -> None:
    given = nx.Graph()
    given.add_edge("x", "y", length=length)
    with pytest.raises(InputError, match="length"):
        ExplicitGraph.from_networkx(given)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_only_simple_undirected_networkx_graphs(kind: type) -> None:
    with pytest.raises(InputError, match="simple and undirected"):
        ExplicitGraph.from_networkx(kind([(0, 1)]))
    with pytest.raises(InputError, match="at least one answer"):
        ExplicitGraph.from_networkx(nx.Graph())


# -- distances ----------------------------------------------------------------------------

SHAPES = {
    "long ring": nx.cycle_graph(300),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 11)),
    "regular": nx.random_regular_graph(3, 200, seed=1),
    "dense": nx.gnp_random_graph(130, 0.3, seed=1),
    "tree": nx.random_labeled_tree(150, seed=1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_all_three_ways_to_distances_agree(name: str) -> None:
    graph = ExplicitGraph.from_networkx(SHAPES[name])
    rows = dict(nx.all_pairs_shortest_path_length(SHAPES[name]))
    expected = np.array([[rows[a][b] for b in graph.labels] for a in graph.labels])
    assert np.array_equal(distances(graph.adjacency, lengths=False), expected)
    assert np.array_equal(graph.distances_from(7), expected[7])
    assert (
        largest_distance(graph.adjacency, lengths=False)
        == expected.max()
        == graph.diameter
    )


def test_beyond_the_kept_matrix() -> None:
    graph = Cycle(LIMITS.kept + 1).explicit()
    assert graph.diameter == (LIMITS.kept + 1) // 2
    assert np.array_equal(
        graph.distances_from(3), Cycle(LIMITS.kept + 1).distances_from(3)
    )
    assert graph.distances_from(3) is graph.distances_from(3)
    assert graph.distance(3, 10) == 7
    line = PathPower(20_000).explicit()
    assert line.diameter == 19_999


def test_lengths_beyond_the_kept_matrix() -> None:
    size = LIMITS.kept + 10
    line = PathPower(size)
    graph = ExplicitGraph(line.edge_array(), lengths=np.full(size - 1, 0.5))
    assert graph.diameter == (size - 1) / 2
    assert graph.distance(0, 4) == 2.0


def test_distances_do_not_keep_a_graph_alive() -> None:
    graph = grid(3, 3).explicit()
    graph.distances_from(0)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_graphs_can_be_copied_and_sent() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], labels="abc", name="line")
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert other.labels == graph.labels
        assert np.array_equal(other.distance_matrix(), graph.distance_matrix())


KINDS: dict[str, Callable[..., AnswerGraph]] = {
    "edges": lambda labels: ExplicitGraph([(0, 1), (1, 2)], labels=labels),
    "points": lambda labels: PointsGraph([(0, 0), (1, 0), (0, 1)], labels=labels),
}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@kinds
def test_labels_lead_to_nodes_and_back(make: Callable[..., AnswerGraph]) -> None:
    graph = make(["low", ("a", 2), None])
    assert graph.labels == ["low", ("a", 2), None]
    assert [graph.index(label) for label in graph.labels] == [0, 1, 2]
    assert make(None).labels == [0, 1, 2]


@kinds
@pytest.mark.parametrize("label", ["high", 0, ["low"]])
def test_what_is_no_answer_is_refused(
    make: Callable[..., AnswerGraph], label: object
) -> None:
    with pytest.raises(InputError, match="is not an answer of"):
        make(["low", ("a", 2), None]).index(label)


@kinds
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", "b", "a"], "different labels, got 'a' twice"),
        (["a", [], "b"], "hashable"),
    ],
)
def test_lists_that_name_no_three_answers_are_refused(
    make: Callable[..., AnswerGraph], labels: list[object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make(labels)
