"""What families say about themselves by rule, against their listed edges."""

import itertools

import pytest

from tightrope.errors import TooLarge
from tightrope.graphs import (
    AddRemoveHistograms,
    AddRemoveMedians,
    AnswerGraph,
    CappedCounts,
    CappedPathPower,
    CartesianProduct,
    Clique,
    Cycle,
    Databases,
    EitherMedians,
    ExplicitGraph,
    FoldedCube,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
    hypercube,
    petersen,
)
from tightrope.graphs.lines import BalancedTree
from tightrope.graphs.products import grid

SMALL: list[AnswerGraph] = [
    *(PathPower(n, w) for n in (1, 2, 3, 4, 6) for w in (1, 2, 3, 9)),
    *(CappedPathPower(u, v) for u in (1, 2, 3) for v in (1, 2, 3)),
    *(CappedCounts(n, k) for n in (1, 2) for k in (1, 2)),
    *(Clique(n) for n in (1, 2, 3, 4, 6)),
    *(Cycle(n) for n in (3, 4, 6)),
    *(Star(k) for k in (1, 2, 3)),
    *(Histograms(n, c, absent=a) for n in (1, 2) for c in (1, 2, 3) for a in (False, True)),
    *(AddRemoveHistograms(n, c) for n in (1, 2, 3) for c in (1, 2, 3)),
    *(kind(v) for v in (1, 2, 3) for kind in (AddRemoveMedians, EitherMedians)),
    *(BalancedTree(b, h) for b in (1, 2, 3) for h in (0, 1, 2)),
    *(FoldedCube(d) for d in (3, 4)),
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
        assert one.difference(other) is None or (one.labels != other.labels or not same)


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
    assert PathPower(10**15, 7).difference(PathPower(10**15, 7)) is None
    assert PathPower(10**15, 7).difference(PathPower(10**15, 8)) is not None
    assert Histograms(10**6, 50).difference(Histograms(10**6, 50)) is None
    assert Histograms(10**6, 50).difference(Histograms(10**6, 49)) is not None
    with pytest.raises(TooLarge):
        Star(10**9).difference(PathPower(10**9 + 1))


def test_differences_in_words() -> None:
    path = PathPower(3)
    assert "answers" in str(path.difference(PathPower(4)))
    assert "2 edges, clique(3) has 3" in str(path.difference(Clique(3)))
    assert "lengths" in str(path.difference(ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2])))
    assert "different edges" in str(path.difference(ExplicitGraph([(0, 1), (0, 2)])))
    swapped = ExplicitGraph([(0, 1), (1, 2)], labels=[2, 1, 0])
    assert path.difference(swapped) == "answer 0 of path(3) is 0, not 2"
    assert path.difference(ExplicitGraph([(0, 1), (1, 2)], labels=[0, True, 2])) is not None
