"""Distance-regular and vertex-transitive, decided exactly and told apart."""

import networkx as nx
import pytest

from tightrope.arrays import LIMITS
from tightrope.errors import TooLarge
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
    folded_cube,
    hypercube,
    petersen,
    truncated_tetrahedron,
)
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.products import grid
from tightrope.graphs.symmetry import (
    IntersectionNumbers,
    from_distances,
    intersection_numbers,
    is_vertex_transitive,
    symmetry,
)


def shrikhande() -> ExplicitGraph:
    steps = [(1, 0), (0, 1), (1, 1)]
    pairs = [
        (4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4)
        for a in range(4)
        for b in range(4)
        for x, y in steps
    ]
    return ExplicitGraph(sorted({(min(p), max(p)) for p in pairs}), name="shrikhande")


# -- told apart [B, Fig 2] ----------------------------------------------------------------


@pytest.mark.parametrize("which", [1, 2, 3])
def test_chang_graphs_are_distance_regular_and_not_vertex_transitive(
    which: int,
) -> None:
    found = symmetry(chang(which))
    assert found.distance_regular == IntersectionNumbers((12, 5, 0), (0, 1, 4))
    assert not found.vertex_transitive
    assert found.vertex_transitive or found.distance_regular
    assert "no automorphism" in found.reason


def test_the_triangular_graph_has_the_same_numbers_and_is_vertex_transitive() -> None:
    graph = ExplicitGraph.from_networkx(
        nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_graph(8)))
    )
    found = symmetry(graph)
    assert found.distance_regular == symmetry(chang()).distance_regular
    assert found.vertex_transitive


def test_the_truncated_tetrahedron_is_vertex_transitive_and_not_distance_regular() -> (
    None
):
    found = symmetry(truncated_tetrahedron())
    assert found.distance_regular is None
    assert found.vertex_transitive
    assert found.vertex_transitive or found.distance_regular
    assert truncated_tetrahedron().constant_ball_sizes is not None


def test_a_regular_graph_may_have_neither() -> None:
    found = symmetry(ExplicitGraph.from_networkx(nx.frucht_graph()))
    assert found.distance_regular is None
    assert not found.vertex_transitive
    assert not found.vertex_transitive
    assert found.distance_regular is None


# -- by rule ------------------------------------------------------------------------------


@pytest.mark.parametrize(("people", "values"), [(1, 5), (2, 3), (3, 2), (4, 2), (3, 4)])
def test_hamming_graphs(people: int, values: int) -> None:
    """[B, Prop 13]: b_d = (u-d)(v-1), c_d = d; [B, Prop 14]: vertex-transitive."""
    graph = CartesianProduct([Clique(values)] * people)
    numbers = intersection_numbers(graph)
    assert numbers is not None
    assert numbers.b == tuple((people - d) * (values - 1) for d in range(people + 1))
    assert numbers.c == tuple(range(people + 1))
    assert numbers == from_distances(graph.explicit())
    assert is_vertex_transitive(graph)
    assert is_vertex_transitive(graph.explicit())


def test_databases_of_twenty_people_by_rule() -> None:
    found = symmetry(Databases(20, range(4)))
    assert found.vertex_transitive
    assert found.distance_regular is not None
    assert found.distance_regular.b[:2] == (60, 57)
    slots = symmetry(Databases(20, range(4), change=False, absent=True))
    assert not slots.vertex_transitive
    assert slots.distance_regular is None
    assert slots.reason == "degrees differ (20 … 80), so neither"


@pytest.mark.parametrize("size", range(3, 12))
def test_cycles(size: int) -> None:
    numbers = intersection_numbers(Cycle(size))
    assert numbers == from_distances(Cycle(size).explicit())
    assert is_vertex_transitive(Cycle(size))


@pytest.mark.parametrize("size", range(1, 6))
def test_cliques(size: int) -> None:
    numbers = intersection_numbers(Clique(size))
    assert numbers == from_distances(Clique(size).explicit())
    assert is_vertex_transitive(Clique(size))


@pytest.mark.parametrize("dimension", range(3, 9))
def test_folded_cubes(dimension: int) -> None:
    graph = folded_cube(dimension)
    half, odd = divmod(dimension, 2)
    down = range(dimension, dimension - half, -1)
    numbers = intersection_numbers(graph)
    assert numbers == IntersectionNumbers(
        (*down, 0), (*range(half), half if odd else dimension)
    )
    assert is_vertex_transitive(graph)


@pytest.mark.parametrize(
    ("graph", "regular", "transitive"),
    [
        (PathPower(2), True, True),
        (PathPower(3), False, False),
        (PathPower(5, 4), True, True),
        (PathPower(5, 3), False, False),
        (Star(1), True, True),
        (Star(2), False, False),
        (grid(4, 4), False, False),
        (hypercube(5), True, True),
        (petersen(), True, True),
        (shrikhande(), True, True),
        (Histograms(4, 3), False, False),
        (AddRemoveHistograms(3, 2), False, False),
        (CartesianProduct([Cycle(5), Cycle(5)]), False, True),
        (CartesianProduct([Cycle(4), Cycle(4)]), True, True),
        (CartesianProduct([Clique(3), Clique(4)]), False, True),
        (CartesianProduct([Clique(4), Clique(1)]), True, True),
        (CartesianProduct([shrikhande(), Clique(4)]), True, True),
        (CartesianProduct([petersen(), Clique(2)]), False, True),
        (CartesianProduct([chang(), Clique(2)]), False, False),
        (StrongProduct([Clique(3), Clique(4)]), True, True),
        (StrongProduct([Cycle(5), Clique(2)]), False, True),
        (StrongProduct([Cycle(5), Clique(1)]), True, True),
        (StrongProduct([PathPower(31), PathPower(31)]), False, False),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_rules_and_search_agree(
    graph: AnswerGraph, regular: bool, transitive: bool
) -> None:
    for one in (graph, graph.explicit()):
        found = symmetry(one)
        assert (found.distance_regular is not None) == regular
        assert found.vertex_transitive == transitive
        assert found.distance_regular == intersection_numbers(one)
    if regular:
        assert intersection_numbers(graph) == intersection_numbers(graph.explicit())


def test_a_strong_product_is_searched_when_its_factors_do_not_decide() -> None:
    graph = StrongProduct([ExplicitGraph.from_networkx(nx.frucht_graph()), Clique(2)])
    assert not is_vertex_transitive(graph)
    assert intersection_numbers(graph) is None


# -- lengths ------------------------------------------------------------------------------


def test_lengths_count_for_transitivity_and_end_regularity() -> None:
    ring = Cycle(4).edge_array()
    for lengths, transitive in [
        ([2, 2, 2, 2], True),
        ([1, 2, 2, 1], True),
        ([1, 1, 1, 2], False),
    ]:
        found = symmetry(ExplicitGraph(ring, lengths=lengths))
        assert found.vertex_transitive == transitive
        assert found.distance_regular is None
        assert "edges of length 1" in found.reason


# -- limits -------------------------------------------------------------------------------


def test_too_large_without_a_rule() -> None:
    size = LIMITS.searched + 10
    steps = [(i, (i + k) % size) for i in range(size) for k in (1, 2)]
    graph = ExplicitGraph(steps, name="squared ring")
    with pytest.raises(TooLarge, match="squared ring has no closed form"):
        symmetry(graph)
    with pytest.raises(TooLarge, match="distance-regularity of clique"):
        from_distances(Clique(10**6))


def test_different_degrees_decide_at_any_size() -> None:
    assert (
        symmetry(PathPower(1_000_001, 5)).reason
        == "degrees differ (5 … 10), so neither"
    )
