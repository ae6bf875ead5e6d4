"""Graphs with a name."""

import networkx as nx
import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    chang,
    folded_cube,
    hypercube,
    petersen,
    truncated_tetrahedron,
)
from tightrope.graphs.lines import BalancedTree
from tightrope.graphs.products import grid


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (petersen(), nx.petersen_graph()),
        (truncated_tetrahedron(), nx.truncated_tetrahedron_graph()),
        (grid(3, 4), nx.grid_graph([3, 4])),
        (hypercube(4), nx.hypercube_graph(4)),
        (BalancedTree(3, 3), nx.balanced_tree(3, 3)),
    ],
)
def test_the_same_graphs_as_in_networkx(
    ours: AnswerGraph, theirs: "nx.Graph[object]"
) -> None:
    assert nx.is_isomorphic(ours.to_networkx(), theirs)


def test_chang_graphs_are_strongly_regular_and_different() -> None:
    """[B, Prop 13]: parameters (28, 12, 6, 4), those of the triangular graph T(8)."""
    triangular = nx.line_graph(nx.complete_graph(8))
    graphs = [chang(k).to_networkx() for k in (1, 2, 3)]
    for graph in graphs:
        assert nx.is_strongly_regular(graph)
        assert nx.intersection_array(graph) == nx.intersection_array(triangular)

    # Cliques of size 7 tell them from T(8); the number of triangles through nodes' balls does not.
    def cliques(graph: "nx.Graph[object]") -> list[int]:
        return sorted(len(found) for found in nx.find_cliques(graph))

    kinds = [cliques(graph) for graph in (*graphs, triangular)]
    assert len({tuple(kind) for kind in kinds}) == 4


@pytest.mark.parametrize("which", [0, 4, "1", None])
def test_there_are_three_chang_graphs(which: object) -> None:
    with pytest.raises(InputError, match="Chang graphs 1, 2 and 3"):
        chang(which)  # type: ignore[arg-type]


def test_folded_cube_is_the_cube_with_opposite_corners_joined() -> None:
    """[A, App B]."""
    cube = nx.hypercube_graph(3)
    cube.add_edges_from((x, tuple(1 - bit for bit in x)) for x in list(cube))
    ours = folded_cube(4).to_networkx()
    assert {frozenset(edge) for edge in ours.edges} == {
        frozenset(edge) for edge in cube.edges
    }


@pytest.mark.parametrize(
    ("dimension", "says"), [(2, "at least 3, got 2"), (10**9, "at most 17")]
)
def test_folded_cubes_have_limits(dimension: int, says: str) -> None:
    with pytest.raises(InputError, match=says):
        folded_cube(dimension)


def test_trees_by_rule() -> None:
    tree = BalancedTree(3, 30)
    assert tree.size == (3**31 - 1) // 2
    assert (tree.diameter, tree.max_degree, tree.min_degree) == (60, 4, 1)
    assert tree.distance(tree.size - 1, 1) == 31
    assert tree.is_tree
    assert tree.parent(12) == 3
    with pytest.raises(TooLarge):
        tree.distances_from(0)
    with pytest.raises(InputError, match="height"):
        BalancedTree(2, -1)
    with pytest.raises(InputError, match="branches"):
        BalancedTree(0, 2)


def test_a_grid_needs_a_side() -> None:
    with pytest.raises(InputError, match="at least one factor"):
        grid()
    with pytest.raises(InputError, match="at least 1"):
        hypercube(0)
