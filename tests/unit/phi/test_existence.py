"""Where the tight-constraints mechanism exists."""

import math

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    Histograms,
    PathPower,
    Star,
    StrongProduct,
    chang,
)
from tightrope.graphs.lines import BalancedTree
from tightrope.phi import Phi, exists
from tightrope.phi.cells import cells_of
from tightrope.phi.existence import Samples, _by_samples, dominance_level, nearest_level

#: The smallest graph on which it exists on two intervals (networkx atlas 189).
GAP = ExplicitGraph(
    [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)],
    name="two intervals",
)


def least(graph: AnswerGraph, epsilon: float) -> float:
    matrix = np.exp(-epsilon * graph.distance_matrix())
    return float(np.linalg.solve(matrix, np.ones(graph.size)).min())


def test_it_need_not_be_an_up_set() -> None:
    found = exists(GAP)
    assert found.exact
    assert found.intervals == (
        (0.0, pytest.approx(math.log(2) / 2)),
        (pytest.approx(math.log(2)), None),
    )
    assert not found.is_up_set
    assert least(GAP, 0.3) > 0
    assert least(GAP, 0.5) < 0
    assert least(GAP, 0.7) > 0
    assert found.nearest(0.4) == pytest.approx(math.log(2) / 2)
    assert found.nearest(0.6) == pytest.approx(math.log(2))
    assert found.contains(0.2)
    assert not found.contains(0.5)


def test_no_smaller_graph_has_two_intervals() -> None:
    import networkx
    from networkx.generators.atlas import graph_atlas_g

    gaps = []
    for number, graph in enumerate(graph_atlas_g()[:209]):
        if 2 <= len(graph) <= 6 and networkx.is_connected(graph):
            found = exists(ExplicitGraph.from_networkx(graph))
            assert found.exact
            if sum(b is None or b > a for a, b in found.intervals) > 1:
                gaps.append(number)
    assert gaps == [189]


def test_samples_find_the_gap_too() -> None:
    found = _by_samples(GAP, Samples())
    assert not found.exact
    assert found.resolution > 0
    (a, b), (c, d) = found.intervals
    assert a == found.searched[0]
    assert (b, c) == pytest.approx((math.log(2) / 2, math.log(2)), abs=1e-8)
    assert d is None


@pytest.mark.parametrize("leaves", [3, 4, 7])
def test_trees(leaves: int) -> None:
    assert exists(Star(leaves)).minimum == math.log(leaves - 1)
    tree = BalancedTree(leaves - 1, 3)
    assert exists(tree).minimum == math.log(tree.max_degree - 1)


@pytest.mark.parametrize(
    "graph", [PathPower(50), Cycle(9), Clique(5), chang(), PathPower(2)], ids=str
)
def test_everywhere(graph: AnswerGraph) -> None:
    assert exists(graph).intervals == ((0.0, None),)


def test_two_by_two_counts() -> None:
    found = exists(StrongProduct([PathPower(3), PathPower(3)]))
    assert found.exact
    assert found.minimum == pytest.approx(-math.log(math.sqrt(5) - 2), abs=1e-14)


@pytest.mark.parametrize(
    "graph", [PathPower(9, 2), PathPower(13, 4), Histograms(4, 3), Star(3)], ids=str
)
def test_exact_ends_are_changes_of_sign(graph: AnswerGraph) -> None:
    found = exists(graph)
    assert found.exact
    for end in [e for pair in found.intervals for e in pair if e]:
        assert least(graph, end - 1e-6) * least(graph, end + 1e-6) < 0


def test_products_need_every_factor() -> None:
    found = exists(CartesianProduct([Star(4), GAP]))
    assert found.intervals == ((math.log(3), None),)
    found = exists(CartesianProduct([PathPower(5), GAP]))
    assert len(found.intervals) == 2
    with pytest.raises(AssertionError):
        assert least(CartesianProduct([PathPower(5), GAP]), 0.5) >= 0


def test_a_range_that_ends_below_the_sure_level() -> None:
    found = exists(PathPower(151, 5), low=0.5, high=1.2)
    assert found.searched == (0.5, 1.2)
    assert found.intervals == ((pytest.approx(0.968, abs=1e-2), 1.2),)
    assert exists(PathPower(151, 5), low=0.5, high=0.6).intervals == ()
    assert exists(PathPower(151, 5), low=0.5, high=0.6).minimum == math.inf
    assert exists(PathPower(151, 5), low=0.5, high=0.6).nearest(1) == math.inf


def test_tolerance_is_on_the_uniform_prior_and_stepped() -> None:
    found = exists(PathPower(751, 5), tolerance=1e-4)
    assert found.minimum == 0.8
    assert (
        least(PathPower(751, 5), 0.8) / 751
        >= -1e-4
        > least(PathPower(751, 5), 0.79) / 751
    )
    assert least(PathPower(751, 5), 0.8) < 0
    assert exists(PathPower(751, 5), step=0.05).minimum == 1.0
    with pytest.raises(InputError, match="larger step"):
        exists(PathPower(13, 3), tolerance=1e-4, step=1e-12)


def test_dominance_level_is_safe() -> None:
    for graph in (PathPower(40, 3), StrongProduct([PathPower(6), PathPower(6)]), GAP):
        level = dominance_level(graph)
        assert Phi(graph, level).row_sums.max() == pytest.approx(2, abs=1e-6)
        assert least(graph, level) >= 0
        assert Phi(graph, level + 0.01).solve_ones().positive is True


def test_the_nearest_level_above_for_many_answers() -> None:
    assert nearest_level(PathPower(60_000, 5), 0.9) == pytest.approx(0.968133, abs=2e-5)


def test_cells_keep_distances() -> None:
    cells = cells_of(StrongProduct([PathPower(4), PathPower(4)]))
    assert cells.size == 3
    assert cells.counts.sum(axis=(0, 2)).tolist() == [16, 16, 16]
    with pytest.raises(AssertionError):
        assert cells_of(PathPower(6)).size == 6


@pytest.mark.parametrize(
    "wrong",
    [{"tolerance": -1.0}, {"low": 0.0}, {"step": math.nan}, {"low": 2.0, "high": 1.0}],
)
def test_bad_ranges_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        exists(PathPower(9, 2), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("graph", [PathPower(48, 2), PathPower(40, 3)])
def test_polynomials_of_high_degree_agree_with_samples(graph: PathPower) -> None:
    found = exists(graph)
    assert found.exact
    assert found.minimum == pytest.approx(
        _by_samples(graph, Samples()).minimum, abs=1e-9
    )
