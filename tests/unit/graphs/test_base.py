"""What every family answers, against its listed edges."""

import itertools

import numpy as np
import pytest

from tightrope.arrays import LIMITS
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    Databases,
    ExplicitGraph,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
    folded_cube,
    hypercube,
    petersen,
)
from tightrope.graphs.averages import AddRemoveMedians, EitherMedians
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.lines import BalancedTree, CappedPathPower
from tightrope.graphs.products import CappedCounts, grid
from tightrope.graphs.shapes import girth, shortest_cycle
from tightrope.graphs.symmetry import (
    acts_transitively,
    from_distances,
    intersection_numbers,
    is_vertex_transitive,
)
from tightrope.queries import FAMILIES, Neighbours, query

SMALL: list[AnswerGraph] = [
    *(PathPower(n, w) for n in (1, 2, 3, 4, 6) for w in (1, 2, 3, 9)),
    *(CappedPathPower(u, v) for u in (1, 2, 3) for v in (1, 2, 3)),
    *(CappedCounts(n, k) for n in (1, 2) for k in (1, 2)),
    *(Clique(n) for n in (1, 2, 3, 4, 6)),
    *(Cycle(n) for n in (3, 4, 6)),
    *(Star(k) for k in (1, 2, 3)),
    *(
        Histograms(n, c, absent=a)
        for n in (1, 2)
        for c in (1, 2, 3)
        for a in (False, True)
    ),
    *(AddRemoveHistograms(n, c) for n in (1, 2, 3) for c in (1, 2, 3)),
    *(kind(v) for v in (1, 2, 3) for kind in (AddRemoveMedians, EitherMedians)),
    *(BalancedTree(b, h) for b in (1, 2, 3) for h in (0, 1, 2)),
    *(folded_cube(d) for d in (3, 4)),
    *(hypercube(d) for d in (1, 2, 3)),
    Databases(2, range(2)),
    Databases(2, range(2), change=False, absent=True),
    Databases(2, range(1), absent=True),
    grid(2, 3),
    grid(1, 3),
    grid(1, 1),
    StrongProduct([PathPower(2), PathPower(3)]),
    StrongProduct([Clique(2), Clique(3)]),
    StrongProduct([PathPower(2), Cycle(4)]),
    StrongProduct([PathPower(3), CartesianProduct([PathPower(2), PathPower(3)])]),
    CartesianProduct([grid(2, 2), PathPower(2)]),
    CartesianProduct([PathPower(2), petersen()]),
]
#: What is asked for by text, small enough to compare everything.
ASKED: list[AnswerGraph] = [
    query(family.drawn or family.example, near).graph
    for family in FAMILIES.values()
    for near in Neighbours
    if near is Neighbours.CHANGE_ONE or not family.is_graph
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


@pytest.mark.parametrize("graph", [*SMALL, *ASKED], ids=lambda g: g.name)
def test_every_family_agrees_with_its_listed_edges(graph: AnswerGraph) -> None:
    """The suite that a new family has to pass; registering it is enough to be in it."""
    listed = graph.explicit()
    assert np.array_equal(graph.distance_matrix(), listed.distance_matrix())
    assert graph.degrees.tolist() == listed.degrees.tolist()
    assert graph.edge_count == listed.edge_count
    assert graph.diameter == listed.diameter
    assert graph.labels == listed.labels
    for shape in ("is_path", "is_cycle", "is_tree", "is_clique", "constant_ball_sizes"):
        assert getattr(graph, shape) == getattr(listed, shape), shape
    assert (graph.max_degree, graph.min_degree) == (
        listed.max_degree,
        listed.min_degree,
    )
    for i in range(graph.size):
        assert graph.index(graph.label(i)) == i
        assert graph.neighbours(i).tolist() == listed.neighbours(i).tolist()
        assert graph.degree(i) == listed.degree(i)
        assert graph.ball_sizes(i) == listed.ball_sizes(i)
        assert graph.distance(0, i) == listed.distance(0, i)
    assert is_vertex_transitive(graph) == acts_transitively(listed)
    assert intersection_numbers(graph) == from_distances(listed)
    assert girth(graph) == girth(listed)
    cycle = shortest_cycle(graph)
    assert cycle is None or graph.least_girth <= len(cycle)
    for wrong in (None, "x", -1, 0.5, (0, "x"), 10**9):
        if wrong not in graph.labels:
            with pytest.raises(InputError):
                graph.index(wrong)


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
            s
            for s in ("is_path", "is_cycle", "is_tree", "is_clique")
            if getattr(one, s)
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


def _listed(graph: AnswerGraph) -> set[tuple[int, int]]:
    return set(map(tuple, graph.explicit().edge_array().tolist()))


@pytest.mark.parametrize("size", sorted({graph.size for graph in SMALL}))
def test_equal_rules_mean_equal_edges(size: int) -> None:
    alike = [graph for graph in SMALL if graph.size == size]
    for one, other in itertools.product(alike, repeat=2):
        same = _listed(one) == _listed(other)
        assert one.same_as(other) is same
        assert one.same_as(other.explicit()) is same
        if one.rule is not None and one.rule == other.rule:
            assert same, (one, other)
        assert one.agrees_with(other) or (one.labels != other.labels or not same)


@pytest.mark.parametrize("graph", SMALL, ids=lambda g: g.name)
def test_label_rules_hold(graph: AnswerGraph) -> None:
    rule = graph.label_rule
    if rule is None or rule[0] == "histograms":
        return
    if rule[0] == "steps":
        assert graph.labels == [rule[1] + rule[2] * i for i in range(graph.size)]
    else:
        assert graph.labels == list(itertools.product(*map(range, rule[1])))
        assert graph.fills_grid


@pytest.mark.parametrize("graph", SMALL, ids=lambda g: g.name)
def test_structure_agrees_with_the_edges(graph: AnswerGraph) -> None:
    edges = _listed(graph)
    if graph.power is not None:
        assert edges == _listed(PathPower(graph.size, graph.power))
    if graph.box is not None:
        sides = [PathPower(size, width) for size, width in graph.box] or [PathPower(1)]
        assert edges == _listed(StrongProduct(sides))
    if graph.is_ring:
        assert edges == _listed(Cycle(graph.size))
    if graph.product:
        kind = {"strong": StrongProduct, "cartesian": CartesianProduct}[graph.product]
        assert edges == _listed(kind(graph.factors))
    if edges:
        i, j, length = graph.longest_edge()
        assert (i, j) in edges
        assert length == 1
        assert j - i == max(b - a for a, b in edges)


def test_large_graphs_are_compared_by_rule() -> None:
    assert PathPower(10**15, 7).agrees_with(PathPower(10**15, 7))
    assert not PathPower(10**15, 7).agrees_with(PathPower(10**15, 8))
    assert Histograms(10**6, 50).agrees_with(Histograms(10**6, 50))
    assert not Histograms(10**6, 50).agrees_with(Histograms(10**6, 49))
    with pytest.raises(TooLarge):
        Star(10**9).agrees_with(PathPower(10**9 + 1))


def test_graphs_differ_in_size_edges_lengths_or_labels() -> None:
    path = PathPower(3)
    assert path.agrees_with(ExplicitGraph([(0, 1), (1, 2)], labels=[0.0, 1, 2]))
    for other in (
        PathPower(4),
        Clique(3),
        ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2]),
        ExplicitGraph([(0, 1), (0, 2)]),
        ExplicitGraph([(0, 1), (1, 2)], labels=[2, 1, 0]),
        ExplicitGraph([(0, 1), (1, 2)], labels=[0, True, 2]),
    ):
        assert not path.agrees_with(other)


GRAPHS = [
    *[PathPower(n, w) for n in (1, 2, 7, 8) for w in (1, 2, 3, 5, 9)],
    CappedPathPower(4, 1),
    Clique(5),
    Cycle(3),
    StrongProduct([PathPower(4), PathPower(3, 2)]),
    StrongProduct([PathPower(3), Clique(1), Clique(4)]),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.name)
@pytest.mark.parametrize("kind", [float, np.int64, object])
def test_maxima_equal_those_over_listed_neighbours(
    graph: AnswerGraph, kind: type
) -> None:
    values = np.random.default_rng(5).integers(0, 50, (graph.size, 3)).astype(kind)
    before = values.copy()
    expected = [
        values[[i, *graph.neighbours(i)]].max(axis=0) for i in range(graph.size)
    ]
    assert graph.box is not None
    assert graph.nearby_maxima(values).tolist() == np.array(expected).tolist()
    assert (values == before).all()


def test_rules_do_not_outlive_what_they_describe() -> None:
    class Renamed(Clique):
        def label(self, i: int) -> int:
            return 10 - i

    class Broken(PathPower):
        def neighbours(self, i: int) -> np.ndarray:
            return np.array([j for j in super().neighbours(i) if {i, j} != {0, 2}])

    assert not Clique(3).agrees_with(Renamed(3))
    assert Renamed(3).rule == Clique(3).rule
    broken = Broken(4, 2)
    assert (broken.rule, broken.power, broken.box) == (None, None, None)
    assert broken.label_rule == ("steps", 0, 1)
