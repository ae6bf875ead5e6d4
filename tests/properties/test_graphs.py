"""Theorems about answer graphs, over all small graphs that Hypothesis thinks of."""

import itertools
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from networkx.algorithms.isomorphism import GraphMatcher
from tests.properties.strategies import (
    connected_graphs,
    epsilons,
    priors,
    private_channels,
    relabelled,
    trees,
)

from tightrope import Epsilon
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
    close_ring,
    folded_cube,
)
from tightrope.graphs.files import read_graph, write_graph
from tightrope.graphs.shapes import (
    add_adjacencies,
    girth,
    path_order,
    shortest_cycle,
)
from tightrope.graphs.symmetry import (
    automorphism_group,
    from_distances,
    intersection_numbers,
    is_vertex_transitive,
    pair_orbits,
    symmetry,
)

any_graph = connected_graphs() | connected_graphs(lengths=True)


def automorphisms(
    graph: AnswerGraph, colours: Any = None, pairs: Any = None
) -> list[tuple[int, ...]]:
    """All automorphisms by trying every permutation."""
    size = graph.size
    joined = np.zeros((size, size))
    for (i, j), length in zip(graph.edge_array(), graph.edge_lengths(), strict=True):
        joined[i, j] = joined[j, i] = length
    found = []
    for images in itertools.permutations(range(size)):
        p = np.array(images)
        if (
            (joined[np.ix_(p, p)] == joined).all()
            and (
                colours is None or (np.asarray(colours)[p] == np.asarray(colours)).all()
            )
            and (pairs is None or (pairs[np.ix_(p, p)] == pairs).all())
        ):
            found.append(images)
    return found


def same_partition(one: Any, other: Any) -> bool:
    """Whether two labellings put the same things together."""
    joint = len(set(zip(np.ravel(one).tolist(), np.ravel(other).tolist(), strict=True)))
    return joint == len(np.unique(one)) == len(np.unique(other))


def orbits_of(size: int, permutations: list[tuple[int, ...]]) -> list[int]:
    return [min(p[i] for p in permutations) for i in range(size)]


# -- distances ----------------------------------------------------------------------------


@given(any_graph)
def test_distances_are_a_metric(graph: ExplicitGraph) -> None:
    d = graph.distance_matrix()
    assert (np.diagonal(d) == 0).all()
    assert (d[~np.eye(graph.size, dtype=bool)] > 0).all()
    assert np.array_equal(d, d.T)  # lengths are eighths: their sums are exact
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :]).all()
    assert graph.diameter == d.max()
    for i in range(graph.size):
        assert np.array_equal(graph.distances_from(i), d[i])


@given(any_graph)
def test_distances_equal_those_of_networkx(graph: ExplicitGraph) -> None:
    other = graph.to_networkx()
    rows = dict(nx.all_pairs_dijkstra_path_length(other, weight="length"))
    for i, j in itertools.product(range(graph.size), repeat=2):
        assert graph.distance(i, j) == rows[i][j]
    assert sorted(graph.degrees) == sorted(dict(other.degree).values())
    assert graph.is_tree == nx.is_tree(other)


@given(connected_graphs(min_size=2))
def test_a_missing_edge_is_noticed(graph: ExplicitGraph) -> None:
    fewer = graph.edge_array()[1:]
    try:
        smaller = ExplicitGraph(fewer, size=graph.size)
    except InputError:
        return  # it was a bridge
    assert not np.array_equal(smaller.distance_matrix(), graph.distance_matrix())


# -- automorphisms and orbits -------------------------------------------------------------


@settings(max_examples=60)
@given(
    connected_graphs(max_size=6) | connected_graphs(max_size=6, lengths=True), st.data()
)
def test_the_group_equals_brute_force(
    graph: ExplicitGraph, data: st.DataObject
) -> None:
    size = graph.size
    colours = data.draw(
        st.none() | st.lists(st.integers(0, 1), min_size=size, max_size=size)
    )
    flat = st.lists(st.integers(0, 1), min_size=size**2, max_size=size**2)
    symmetric = st.just(abs(np.subtract.outer(np.arange(size), np.arange(size))) > 1)
    pairs = data.draw(
        st.none() | symmetric | flat.map(lambda x: np.array(x).reshape(size, size))
    )
    expected = automorphisms(graph, colours, pairs)
    group = automorphism_group(graph, colours, pairs)
    assert group.order == len(expected)
    assert {tuple(g.tolist()) for g in group.generators} <= set(expected)
    assert same_partition(group.orbits, orbits_of(size, expected))
    on_pairs = [
        min(p[i] * size + p[o] for p in expected)
        for i in range(size)
        for o in range(size)
    ]
    assert same_partition(pair_orbits(group), on_pairs)


@settings(max_examples=40)
@given(connected_graphs(min_size=7, max_size=7))
def test_orbits_of_seven_nodes(graph: ExplicitGraph) -> None:
    expected = automorphisms(graph)
    group = automorphism_group(graph)
    assert group.order == len(expected)
    assert same_partition(group.orbits, orbits_of(7, expected))
    assert (
        is_vertex_transitive(graph)
        == group.is_transitive
        == (len(set(group.orbits)) == 1)
    )


@settings(max_examples=60)
@given(connected_graphs(min_size=6, max_size=9) | trees(max_size=9), st.data())
def test_the_order_equals_the_count_of_isomorphisms(
    graph: ExplicitGraph, data: st.DataObject
) -> None:
    order = automorphism_group(graph).order
    if order <= 800:
        other = graph.to_networkx()
        assert order == sum(1 for _ in GraphMatcher(other, other).isomorphisms_iter())
    shuffled, _ = data.draw(relabelled(graph))
    assert automorphism_group(shuffled).order == order


@settings(max_examples=40)
@given(connected_graphs(max_size=6))
def test_generators_generate_everything(graph: ExplicitGraph) -> None:
    group = automorphism_group(graph)
    generators = [tuple(g.tolist()) for g in group.generators]
    seen = {tuple(range(graph.size))}
    waiting = list(seen)
    while waiting:
        p = waiting.pop()
        for g in generators:
            q = tuple(g[x] for x in p)
            if q not in seen:
                seen.add(q)
                waiting.append(q)
    assert len(seen) == group.order


@given(any_graph, st.data())
def test_symmetry_does_not_depend_on_numbers(
    graph: ExplicitGraph, data: st.DataObject
) -> None:
    shuffled, places = data.draw(relabelled(graph))
    assert symmetry(graph) == symmetry(shuffled)
    assert girth(graph) == girth(shuffled)
    one, other = automorphism_group(graph), automorphism_group(shuffled)
    assert one.order == other.order
    assert same_partition(one.orbits, other.orbits[places])


@given(connected_graphs(min_size=2), st.data())
def test_a_prior_that_tells_a_node_apart_fixes_it(
    graph: ExplicitGraph, data: st.DataObject
) -> None:
    node = data.draw(st.integers(0, graph.size - 1))
    group = automorphism_group(graph, node_colours=np.arange(graph.size) == node)
    assert Counter(group.orbits.tolist())[int(group.orbits[node])] == 1
    assert automorphism_group(graph).order % group.order == 0


# -- distance-regularity ------------------------------------------------------------------


def by_definition(graph: AnswerGraph) -> bool:
    """[B, Prop 3]: how many nodes lie j from w and k from w' depends on d(w, w') alone."""
    d = graph.distance_matrix()
    reach = range(int(d.max()) + 1)
    for j, k in itertools.product(reach, reach):
        counts = (d == j).astype(int) @ (d == k).astype(int)
        if any(len(np.unique(counts[d == far])) > 1 for far in reach):
            return False
    return True


@given(connected_graphs())
def test_distance_regularity_is_as_defined(graph: ExplicitGraph) -> None:
    numbers = intersection_numbers(graph)
    assert (numbers is not None) == by_definition(graph)
    if numbers is not None:
        sizes = [1]  # [B, Prop 5]: n_{d+1} = n_d b_d / c_{d+1}
        for b, c in zip(numbers.b, numbers.c[1:], strict=False):
            sizes.append(sizes[-1] * b // c)
        assert tuple(sizes) == graph.ball_sizes(0) == graph.constant_ball_sizes


factors = st.sampled_from(
    [
        Clique(1),
        Clique(2),
        Clique(3),
        Clique(4),
        Cycle(4),
        Cycle(5),
        PathPower(3),
        Star(2),
        folded_cube(4),
    ]
)


@settings(max_examples=40)
@given(st.lists(factors, min_size=1, max_size=3), st.booleans())
def test_rules_for_products_agree_with_search(
    parts: list[AnswerGraph], strong: bool
) -> None:
    graph = (StrongProduct if strong else CartesianProduct)(parts)
    if graph.size > 130:
        return
    listed = graph.explicit()
    assert intersection_numbers(graph) == from_distances(listed)
    assert is_vertex_transitive(graph) == automorphism_group(listed).is_transitive
    cycle = shortest_cycle(graph)
    assert girth(graph) == (None if cycle is None else len(cycle))
    expected = nx.girth(listed.to_networkx())
    assert girth(graph) == (None if expected == math.inf else expected)


@given(connected_graphs())
def test_either_symmetry_makes_balls_constant(graph: ExplicitGraph) -> None:
    found = symmetry(graph)
    if found.vertex_transitive or found.distance_regular:
        assert graph.constant_ball_sizes is not None  # [B, Prop 5]


# -- shapes -------------------------------------------------------------------------------


@given(connected_graphs(max_size=9))
def test_a_shortest_cycle_is_a_cycle_and_shortest(graph: ExplicitGraph) -> None:
    cycle = shortest_cycle(graph)
    expected = nx.girth(graph.to_networkx())
    if cycle is None:
        assert expected == math.inf
        assert graph.is_tree
    else:
        assert len(cycle) == len(set(cycle)) == expected
        for i, j in itertools.pairwise([*cycle, cycle[0]]):
            assert graph.distance(i, j) == 1


@given(st.integers(1, 9), st.booleans(), st.data())
def test_orders_along_paths_and_cycles(
    size: int, ring: bool, data: st.DataObject
) -> None:
    graph, places = data.draw(relabelled(Cycle(size + 2) if ring else PathPower(size)))
    order = np.array(shortest_cycle(graph)) if ring else path_order(graph)
    assert sorted(order.tolist()) == list(range(graph.size))
    for i, j in itertools.pairwise(order.tolist()):
        assert graph.distance(i, j) == 1
    back = np.argsort(places)[order]  # the numbers before the shuffle
    if not ring:
        assert back.tolist() in (list(range(size)), list(range(size))[::-1])


# -- artificial adjacencies ---------------------------------------------------------------


def worst_ratio(channel: Any, graph: AnswerGraph) -> float:
    i, h = graph.edge_array().T
    if not len(i):
        return 0.0
    return float(np.abs(np.log(channel[i]) - np.log(channel[h])).max())


@settings(max_examples=50)
@given(connected_graphs(min_size=3), epsilons(), st.data())
def test_private_with_more_edges_is_private_without_them(
    graph: ExplicitGraph, epsilon: Epsilon, data: st.DataObject
) -> None:
    size = graph.size
    free = [p for p in itertools.combinations(range(size), 2) if graph.distance(*p) > 1]
    if not free:
        return
    more = data.draw(st.lists(st.sampled_from(free), min_size=1, unique=True))
    denser = add_adjacencies(graph, more)
    assert (denser.distance_matrix() <= graph.distance_matrix()).all()
    channel = data.draw(private_channels(denser, epsilon))
    assert worst_ratio(channel, denser) <= float(epsilon) * (1 + 1e-12)
    assert worst_ratio(channel, graph) <= float(epsilon) * (1 + 1e-12)


def test_private_on_the_line_need_not_be_private_on_the_ring() -> None:
    line = PathPower(6)
    steep = np.exp(-0.5 * np.abs(np.subtract.outer(np.arange(6), np.arange(6))))
    ends = np.abs(np.log(steep[0]) - np.log(steep[5])).max()
    assert worst_ratio(steep, line) <= 0.5 + 1e-12
    assert ends > 0.5
    assert worst_ratio(steep, close_ring(line)) == pytest.approx(ends)


# -- files --------------------------------------------------------------------------------

texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6
)


@given(any_graph, st.data(), st.sampled_from(["csv", "graphml", "json"]))
def test_writing_and_reading_is_the_identity(
    graph: ExplicitGraph, data: st.DataObject, ending: str
) -> None:
    whole = st.lists(
        st.integers(-99, 10**12), min_size=graph.size, max_size=graph.size, unique=True
    ).map(sorted)
    words = st.lists(
        texts.map("x{}".format), min_size=graph.size, max_size=graph.size, unique=True
    )
    kinds = [whole, words]
    if ending == "json":
        pairs = st.tuples(
            st.integers(), st.none() | st.text(max_size=2) | st.floats(-1e9, 1e9)
        )
        kinds.append(
            st.lists(pairs, min_size=graph.size, max_size=graph.size, unique=True)
        )
    labels = data.draw(st.one_of(kinds))
    lengths = graph.edge_lengths() if graph.has_lengths else None
    graph = ExplicitGraph(graph.edge_array(), lengths=lengths, labels=labels, name="g")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, f"g.{ending}")
        write_graph(graph, place)
        back = read_graph(place)
    assert back.labels == graph.labels
    assert np.array_equal(back.edge_array(), graph.edge_array())
    assert np.array_equal(back.edge_lengths(), graph.edge_lengths())
    assert back.name == "g"


# -- the strategies themselves ------------------------------------------------------------


@given(st.integers(1, 6).flatmap(priors))
def test_priors_are_distributions(prior: Any) -> None:
    assert (prior >= 0).all()
    assert prior.sum() == pytest.approx(1, abs=1e-12)
