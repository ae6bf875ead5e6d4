"""The checker's own graphs against the graphs room."""

import itertools

import numpy as np
import pytest

from tightrope.certify.kernel.format import Refused
from tightrope.certify.kernel.graphs import Graph, simplest
from tightrope.certify.mechanism import graph_sides, judged_graph
from tightrope.certify.theorems.levels import box_sums
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    StrongProduct,
    petersen,
)
from tightrope.graphs.lines import CappedPathPower
from tightrope.queries import query

BOXES = [
    PathPower(1),
    PathPower(2),
    PathPower(7),
    PathPower(9, 3),
    Clique(5),
    StrongProduct([PathPower(4), PathPower(3, 2)]),
]


FORMS = [
    *BOXES,
    Cycle(5),
    Cycle(6),
    petersen(),
    CartesianProduct([PathPower(3), Clique(4)]),
    CartesianProduct([PathPower(4), PathPower(3), PathPower(2)]),
    query("tree(2,3)").graph,
    StrongProduct([PathPower(4), Cycle(4)]),
]


@pytest.mark.parametrize("graph", FORMS, ids=lambda g: g.name)
def test_neighbours_agree(graph):
    mine = judged_graph(graph)
    pairs = np.array(list(itertools.product(range(graph.size), repeat=2)))
    found = mine.ratio_of(pairs[:, 0], pairs[:, 1]) >= 0
    assert found.tolist() == [graph.distance(i, j) == 1 for i, j in pairs.tolist()]


def test_which_graphs_have_a_rule():
    assert graph_sides(Cycle(5)) == ("ring", ((5, 1),))
    assert graph_sides(CappedPathPower(4, 2)) is None  # a subgraph of a path's power
    assert graph_sides(StrongProduct([PathPower(4), Cycle(4)])) is None
    assert graph_sides(PathPower(3, 17)) == ("box", ((3, 2),))
    assert graph_sides(CartesianProduct([Clique(4)] * 2)) == (
        "product",
        ((4, 3), (4, 3)),
    )


@pytest.mark.parametrize("graph", FORMS[1:], ids=lambda g: g.name)
def test_smallest_near_is_the_smallest_of_the_neighbours_and_oneself(graph):
    mine = judged_graph(graph)
    if mine.form == "list":
        return
    block = np.random.default_rng(1).integers(0, 100, (graph.size, 3))
    found = mine.smallest_near(block)
    for i in range(graph.size):
        near = [i, *graph.neighbours(i)]
        assert found[i].tolist() == block[near].min(axis=0).tolist()


@pytest.mark.parametrize("graph", FORMS, ids=lambda g: g.name)
def test_distances_agree(graph):
    mine = judged_graph(graph)
    found = np.stack([mine.distances_from(i) for i in range(graph.size)])
    assert np.array_equal(found, graph.distance_matrix())


def test_distances_with_lengths_are_exact():
    for edges in ([(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2)]):
        graph = ExplicitGraph(edges, lengths=[0.1, 0.2, 0.5][: len(edges)])
        mine = judged_graph(graph)
        assert mine.all_distances.tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
        assert mine.unit == 10


@pytest.mark.parametrize("graph", BOXES, ids=lambda g: g.name)
@pytest.mark.parametrize("bits", [5, 40, 90])
@pytest.mark.parametrize("height", [61, 120])
def test_box_sums_are_exact(graph, bits, height):
    rng = np.random.default_rng(bits)
    box = judged_graph(graph).sides
    z = rng.integers(0, 1 << min(bits, 60), graph.size)
    z = z.astype(object) * (1 << 30) + z // 7 if bits > 60 else z
    levels = sorted(rng.integers(1, 1 << 61, 4).tolist(), reverse=True)
    levels = [(level << height - 61) + (level >> 3) for level in levels]
    if len(box) > 1 and max(bits, height) > 61:
        with pytest.raises(Refused, match="too large"):
            box_sums(box, [width for _, width in box], levels, z)
        return
    found = box_sums(box, [width for _, width in box], levels, z)
    for i in range(graph.size):
        far = np.minimum(graph.distances_from(i), 3).tolist()
        assert found[i] == sum(levels[d] * int(x) for d, x in zip(far, z, strict=True))


def test_box_sums_with_steps_other_than_widths():
    far = abs(np.arange(8)[:, None] - np.arange(8))
    found = box_sums([(8, 3)], [2], [10, 5, 2], np.arange(8))
    levels = np.array([10, 5, 2])[np.minimum(-(-far // 2), 2)]
    assert found.tolist() == (levels @ np.arange(8)).tolist()


def test_factors_that_could_overflow_are_refused():
    with pytest.raises(Refused, match="less than 2"):
        box_sums([(4, 1)], [1], [2, 1], np.full(4, 1 << 98))
    with pytest.raises(Refused, match="less than 2\\^124"):
        box_sums([(4, 1)], [1], [1 << 125, 1], np.ones(4, np.int64))
    with pytest.raises(Refused, match="levels must fall"):
        box_sums([(4, 1)], [1], [1, 2], np.ones(4, np.int64))


def test_lengths_choose_their_ratio():
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2])
    mine = judged_graph(graph)
    assert mine.ratio_of(np.array([0, 2, 0]), np.array([1, 1, 2])).tolist() == [
        0,
        1,
        -1,
    ]


def test_wide_integers_stay_exact():
    big = np.array([[2**70], [2**63], [2**90 + 1]], object)
    found = judged_graph(PathPower(3)).smallest_near(big)
    assert found.ravel().tolist() == [2**63] * 3
    assert all(type(x) is int for x in found.ravel().tolist())
    assert all(type(x) is int for x in found.ravel())


def test_a_listed_graph_is_a_box_exactly_where_it_is_a_power_of_a_path():
    pairs = list(itertools.combinations(range(5), 2))
    powers = {
        tuple(pair for pair in pairs if pair[1] - pair[0] <= width): width
        for width in range(1, 5)
    }
    boxes = 0
    for kept in itertools.product((False, True), repeat=len(pairs)):
        edges = tuple(itertools.compress(pairs, kept))
        listed = np.array(edges, np.int64).reshape(-1, 2)
        try:
            graph = simplest(Graph("list", 5, (), listed, listed[:, 0] * 0))
        except Refused:
            continue  # not connected
        width = powers.get(edges)
        assert graph.form == ("list" if width is None else "box"), edges
        assert graph.sides == (() if width is None else ((5, width),)), edges
        boxes += width is not None
    assert boxes == len(powers) == 4
