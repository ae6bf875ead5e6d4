"""Automorphism groups of known graphs, and of large ones."""

import math
import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from tightrope.arrays import LIMITS
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    chang,
    hypercube,
    petersen,
    symmetry as module,
    truncated_tetrahedron,
)
from tightrope.graphs.products import grid
from tightrope.graphs.symmetry import (
    AutomorphismGroup,
    acts_transitively,
    automorphism_group,
    coloured_graph,
    pair_orbits,
)


def triangular(n: int) -> nx.Graph:
    return nx.line_graph(nx.complete_graph(n))


def paley(q: int) -> nx.Graph:
    squares = {x * x % q for x in range(1, q)}
    return nx.Graph(
        [(i, j) for i in range(q) for j in range(i) if (i - j) % q in squares]
    )


def shuffled(graph: nx.Graph, seed: int = 5) -> ExplicitGraph:
    nodes = list(graph.nodes)
    order = nodes.copy()
    random.Random(seed).shuffle(order)
    place = {node: i for i, node in enumerate(order)}
    edges = [(place[a], place[b]) for a, b in graph.edges]
    return ExplicitGraph(edges, size=len(nodes))


def tree_order_by_hand(graph: nx.Graph) -> int:
    """The number of automorphisms of a tree, by canonical forms from its centre."""

    def canonical(node: int, parent: int | None) -> tuple[tuple, int]:
        below = sorted(canonical(c, node) for c in graph[node] if c != parent)
        order = math.prod(o for _, o in below)
        forms = [form for form, _ in below]
        for form in set(forms):
            order *= math.factorial(forms.count(form))
        return (tuple(forms), order)

    centre = nx.center(graph)
    if len(centre) == 1:
        return canonical(centre[0], None)[1]
    (one, first), (two, second) = (
        canonical(centre[0], centre[1]),
        canonical(centre[1], centre[0]),
    )
    return first * second * (2 if one == two else 1)


KNOWN = {
    "petersen": (nx.petersen_graph(), 120, 1),
    "truncated tetrahedron": (nx.truncated_tetrahedron_graph(), 24, 1),
    "hypercube of 4": (nx.hypercube_graph(4), 384, 1),
    "hypercube of 9": (nx.hypercube_graph(9), 2**9 * math.factorial(9), 1),
    "triangular of 8": (triangular(8), math.factorial(8), 1),
    "triangular of 20": (triangular(20), math.factorial(20), 1),
    "ring of 2000": (nx.cycle_graph(2000), 4000, 1),
    "grid of 40 by 40": (nx.grid_2d_graph(40, 40), 8, 210),
    "grid of 20 by 30": (nx.grid_2d_graph(20, 30), 4, 150),
    "torus": (nx.grid_2d_graph(20, 20, periodic=True), 400 * 8, 1),
    "complete bipartite": (
        nx.complete_bipartite_graph(30, 40),
        math.factorial(30) * math.factorial(40),
        2,
    ),
    "balanced bipartite": (
        nx.complete_bipartite_graph(25, 25),
        2 * math.factorial(25) ** 2,
        1,
    ),
    "multipartite": (
        nx.complete_multipartite_graph(3, 3, 4),
        math.factorial(3) ** 2 * math.factorial(4) * 2,
        2,
    ),
    "clique": (nx.complete_graph(200), math.factorial(200), 1),
    "star": (nx.star_graph(500), math.factorial(500), 2),
    "path of 3001": (nx.path_graph(3001), 2, 1501),
    "binary tree": (nx.balanced_tree(2, 6), 2**63, 7),
    "paley of 101": (paley(101), 101 * 50, 1),
    "dodecahedron": (nx.dodecahedral_graph(), 120, 1),
    "frucht": (nx.frucht_graph(), 1, 12),
    "rook's moves": (
        nx.line_graph(nx.complete_bipartite_graph(8, 8)),
        2 * math.factorial(8) ** 2,
        1,
    ),
    "lollipop": (nx.lollipop_graph(6, 5), math.factorial(5), 7),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_groups(name: str) -> None:
    given, order, orbits = KNOWN[name]
    graph = shuffled(given)
    group = automorphism_group(graph)
    assert group.order == order
    assert group.orbit_count == orbits
    assert acts_transitively(graph) == group.is_transitive == (orbits == 1)
    whole = coloured_graph(graph)
    assert all(whole.keeps(moves) for moves in group.moves)


def test_the_three_chang_graphs_and_the_triangular_graph_differ_in_their_groups() -> (
    None
):
    orders = sorted(automorphism_group(chang(which)).order for which in (1, 2, 3))
    assert orders == [96, 360, 384]
    assert automorphism_group(shuffled(triangular(8))).order == 40320


def test_a_random_regular_graph_has_no_symmetry() -> None:
    graph = shuffled(nx.random_regular_graph(3, 2000, seed=1))
    group = automorphism_group(graph)
    assert (group.order, group.orbit_count, group.moves) == (1, 2000, ())
    assert not acts_transitively(graph)


@pytest.mark.parametrize("seed", range(5))
def test_random_trees(seed: int) -> None:
    tree = nx.random_labeled_tree(60, seed=seed)
    assert automorphism_group(shuffled(tree, seed)).order == tree_order_by_hand(tree)
    large = automorphism_group(shuffled(nx.random_labeled_tree(2000, seed=seed)))
    assert large.order > 1


def test_many_small_parts_on_a_ring() -> None:
    parts = 40
    graph = nx.disjoint_union_all([nx.petersen_graph()] * parts)
    graph.add_edges_from((10 * i, 10 * ((i + 1) % parts)) for i in range(parts))
    # In each part the 12 automorphisms that keep the joint; round the ring, 2 · 40.
    assert automorphism_group(shuffled(graph)).order == 12**parts * 2 * parts


# -- colours ------------------------------------------------------------------------------


def test_a_prior_breaks_symmetry() -> None:
    uniform = [0.25] * 4
    assert automorphism_group(Cycle(4), uniform).order == 8
    assert automorphism_group(Cycle(4), [0.4, 0.2, 0.2, 0.2]).order == 2
    assert automorphism_group(Cycle(4), [0.1, 0.2, 0.3, 0.4]).order == 1
    assert automorphism_group(Cycle(4), ["a", "b", "a", "b"]).order == 4
    assert (
        automorphism_group(Cycle(4), np.array(["a", None, "a", None], object)).order
        == 4
    )


def test_probabilities_are_compared_exactly() -> None:
    assert automorphism_group(PathPower(3), [0.3, 0.4, 0.3]).order == 2
    assert automorphism_group(PathPower(3), [0.1 + 0.2, 0.4, 0.3]).order == 1


def test_losses_break_symmetry() -> None:
    size = 6
    i, k = np.indices((size, size))
    assert automorphism_group(Clique(size), pair_colours=i != k).order == 720
    assert automorphism_group(Clique(size), pair_colours=abs(i - k)).order == 2
    assert automorphism_group(Clique(size), pair_colours=i - k).order == 1
    assert automorphism_group(Cycle(size), pair_colours=(i - k) % size).order == size
    half = np.where(i == k, i == 0, 2)  # the loss of a right guess may differ
    assert automorphism_group(Clique(size), pair_colours=half).order == 120


def test_colours_may_part_the_nodes() -> None:
    rings = nx.disjoint_union_all(
        [nx.cycle_graph(5), nx.cycle_graph(5), nx.path_graph(3)]
    )
    group = automorphism_group(Clique(13), pair_colours=nx.to_numpy_array(rings))
    assert (group.order, group.orbit_count) == (2 * 10 * 10 * 2, 3)


def test_binary_loss_on_a_large_clique_stays_easy() -> None:
    group = automorphism_group(Clique(300), [1 / 300] * 300, 1 - np.eye(300))
    assert group.order == math.factorial(300)
    assert len(np.unique(pair_orbits(group))) == 2


def test_lengths_break_symmetry() -> None:
    ring = Cycle(4).edge_array()
    assert automorphism_group(ExplicitGraph(ring, lengths=[2, 2, 2, 2])).order == 8
    assert automorphism_group(ExplicitGraph(ring, lengths=[1, 2, 2, 1])).order == 4
    assert automorphism_group(ExplicitGraph(ring, lengths=[1, 1, 1, 2])).order == 2
    star = Star(3).edge_array()
    assert automorphism_group(ExplicitGraph(star, lengths=[1, 1, 2])).order == 2
    clique = Clique(3).edge_array()
    assert automorphism_group(ExplicitGraph(clique, lengths=[1, 1, 2])).order == 2


@pytest.mark.parametrize(
    ("colours", "pairs", "says"),
    [
        ([1, 2], None, r"node colours must have shape \(3,\), got \(2,\)"),
        ([1, 2, math.nan], None, "node colours must not be NaN"),
        (None, [1, 2, 3], r"pair colours must have shape \(3, 3\)"),
        (None, np.full((3, 3), math.nan), "pair colours must not be NaN"),
        (None, [[1], [2, 3]], r"pair colours must be an array of shape \(3, 3\)"),
    ],
)
def test_colours_are_checked(colours: object, pairs: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        automorphism_group(PathPower(3), colours, pairs)  # type: ignore[arg-type]


# -- orbits of pairs ----------------------------------------------------------------------


def test_orbits_of_pairs_of_distance_transitive_graphs_are_distances() -> None:
    for graph in (petersen(), hypercube(3), Cycle(7)):
        orbits, distances = (
            pair_orbits(automorphism_group(graph)),
            graph.distance_matrix(),
        )
        both = set(
            zip(orbits.ravel().tolist(), distances.ravel().tolist(), strict=True)
        )
        assert len(both) == len(np.unique(orbits)) == graph.diameter + 1


def test_orbits_of_pairs_without_symmetry_are_single() -> None:
    group = automorphism_group(PathPower(4), [1, 2, 3, 4])
    assert pair_orbits(group).tolist() == np.arange(16).reshape(4, 4).tolist()


def test_truncated_tetrahedron_has_more_orbits_than_distances() -> None:
    graph = truncated_tetrahedron()
    assert pair_orbits(automorphism_group(graph)).max() > graph.diameter


# -- checks and limits --------------------------------------------------------------------


def test_wrong_moves_do_not_pass() -> None:
    path = coloured_graph(PathPower(3))
    flip = (np.array([0, 2]), np.array([2, 0]))
    assert path.keeps(flip)
    assert not path.keeps((np.array([0, 1]), np.array([1, 0])))
    assert not path.keeps((np.array([0, 1]), np.array([2, 0])))
    assert not coloured_graph(PathPower(3), [1, 2, 3]).keeps(flip)
    lengths = ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2])
    assert not coloured_graph(lengths).keeps(flip)


def test_limits_are_named() -> None:
    with pytest.raises(TooLarge, match=f"up to {LIMITS.searched} answers"):
        automorphism_group(PathPower(LIMITS.searched + 1))
    with pytest.raises(TooLarge, match="orbits of pairs"):
        pair_orbits(AutomorphismGroup(10**5, 1, ()))


def test_a_hard_search_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tightrope.graphs.symmetry.LIMITS", replace(LIMITS, steps=1000))
    with pytest.raises(TooLarge, match="given up after 1000 steps"):
        automorphism_group(chang())
    assert automorphism_group(Clique(50)).order == math.factorial(
        50
    )  # no search needed


def test_a_colliding_hash_costs_time_but_no_truth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With few different colours many collide; the answers must not change."""
    scramble = module.scramble
    monkeypatch.setattr(module, "scramble", lambda x: scramble(x) % np.uint64(97))
    for graph, order in [
        (petersen(), 120),
        (Clique(5), 120),
        (grid(3, 3), 8),
        (Star(4), 24),
    ]:
        assert automorphism_group(graph).order == order
    assert not acts_transitively(shuffled(nx.frucht_graph()))


def test_the_module_checks_what_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (np.array([0, 1]), np.array([1, 0]))
    monkeypatch.setattr(module, "_lifted", lambda *_: wrong)
    with pytest.raises(module.CheckFailed, match="does not keep the graph"):
        automorphism_group(grid(3, 3))
