"""Shortest cycles and orders, on families of any size."""

import networkx as nx
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
    chang,
    close_ring,
    folded_cube,
    hypercube,
    petersen,
    truncated_tetrahedron,
)
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.lines import BalancedTree
from tightrope.graphs.products import grid
from tightrope.graphs.shapes import (
    add_adjacencies,
    girth,
    path_order,
    shortest_cycle,
)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (PathPower(10**6), None),
        (Star(10**5), None),
        (BalancedTree(2, 5), None),
        (Clique(2), None),
        (Clique(10**6), 3),
        (Cycle(10**6), 10**6),
        (PathPower(10**6 + 1, 5), 3),
        (Databases(20, range(4)), 3),
        (Databases(20, range(2)), 4),
        (Databases(20, range(4), change=False, absent=True), 4),
        (hypercube(50), 4),
        (folded_cube(9), 4),
        (folded_cube(3), 3),
        (grid(1000, 1000), 4),
        (StrongProduct([PathPower(10**4), PathPower(10**4)]), 3),
        (Histograms(50, 4), 3),
        (AddRemoveHistograms(50, 4), 4),
        (CartesianProduct([Cycle(7), Clique(1)]), 7),
        (CartesianProduct([Cycle(7), PathPower(2)]), 4),
        (petersen(), 5),
        (chang(), 3),
        (truncated_tetrahedron(), 3),
        (ExplicitGraph.from_networkx(nx.heawood_graph()), 6),
        (ExplicitGraph.from_networkx(nx.tutte_graph()), 4),
        (ExplicitGraph.from_networkx(nx.hoffman_singleton_graph()), 5),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_girth(graph: AnswerGraph, expected: int | None) -> None:
    assert girth(graph) == expected
    if expected is None or expected < 1000:
        cycle = shortest_cycle(graph)
        assert (cycle and len(cycle)) == expected


def test_lengths_do_not_matter_for_shapes() -> None:
    ring = ExplicitGraph(Cycle(5).edge_array(), lengths=[1, 2, 3, 4, 5])
    assert girth(ring) == 5
    assert shortest_cycle(ring) == (0, 1, 2, 3, 4)


def test_a_large_graph_without_a_rule_is_refused() -> None:
    spokes = nx.cycle_graph(LIMITS.searched + 1)
    spokes.add_edge(0, 100)
    with pytest.raises(TooLarge, match="has no closed form"):
        girth(ExplicitGraph.from_networkx(spokes))


def test_the_order_along_a_path_needs_a_path() -> None:
    with pytest.raises(InputError, match="needs a path"):
        path_order(Star(3))


def test_orders_of_small_graphs() -> None:
    assert path_order(Clique(1)).tolist() == [0]
    assert path_order(ExplicitGraph([(0, 3), (3, 1), (1, 2)])).tolist() == [0, 3, 1, 2]


# -- artificial adjacencies [B, Rem 29] ---------------------------------------------------


def test_a_line_is_closed_to_a_ring() -> None:
    ring = close_ring(PathPower(6, name="count(5)"))
    assert ring.is_cycle
    assert ring.name == "count(5) closed to a ring"
    assert [ring.distance(0, j) for j in range(6)] == [0, 1, 2, 3, 2, 1]
    bent = close_ring(ExplicitGraph([(0, 3), (3, 1), (1, 2)], labels="abcd"))
    assert bent.is_cycle
    assert bent.labels == list("abcd")


@pytest.mark.parametrize(
    "graph", [PathPower(2), Cycle(5), Star(3), PathPower(5, 2)], ids=lambda g: g.name
)
def test_only_lines_are_closed(graph: AnswerGraph) -> None:
    with pytest.raises(InputError, match="line of at least 3"):
        close_ring(graph)


def test_lines_with_lengths_are_not_closed() -> None:
    with pytest.raises(InputError, match="edges of length 1"):
        close_ring(ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2]))


def test_more_edges() -> None:
    denser = add_adjacencies(
        Cycle(8), [(i, i + 4) for i in range(4)], name="Möbius ladder"
    )
    assert (denser.edge_count, denser.diameter, denser.name) == (12, 2, "Möbius ladder")
    assert add_adjacencies(PathPower(4), []).is_path
    for wrong, says in [
        ([(0, 1)], "given once"),
        ([(2, 2)], "itself"),
        ([(0, 9)], "got node 9"),
    ]:
        with pytest.raises(InputError, match=says):
            add_adjacencies(PathPower(4), wrong)
