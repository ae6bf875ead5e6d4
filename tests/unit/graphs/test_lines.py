"""Lines, rings, stars, cliques and trees."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph, Clique, Cycle, PathPower, Star
from tightrope.graphs.lines import CappedPathPower, CompleteGraph
from tightrope.graphs.points import PointsGraph
from tightrope.graphs.products import CappedCounts


def test_a_sum_of_150_values_up_to_5() -> None:
    graph = PathPower(751, 5)
    assert (graph.size, graph.diameter, graph.edge_count) == (751, 150, 3740)
    assert all(graph.distance(0, j) == -(-j // 5) for j in range(751))
    assert graph.constant_ball_sizes is None


def test_a_million_answers_without_a_list() -> None:
    graph = PathPower(1_000_001, 5)
    assert (graph.diameter, graph.max_degree, graph.min_degree) == (200_000, 10, 5)
    assert graph.constant_ball_sizes is None
    assert len(graph.ball_sizes(0)) == 200_001
    assert graph.degrees[[0, 4, 5, 500_000, 1_000_000]].tolist() == [5, 9, 10, 10, 5]


def test_a_wide_band_is_a_clique() -> None:
    assert PathPower(4, 3).is_clique
    assert PathPower(1_000_000, 999_999).constant_ball_sizes == (1, 999_999)
    assert not PathPower(4, 2).is_clique


def test_shapes() -> None:
    assert PathPower(6).is_path
    assert not PathPower(6, 2).is_path
    assert Cycle(8).is_cycle
    assert not Cycle(8).is_tree
    assert Cycle(3).is_clique
    assert Star(3).is_tree
    assert not Star(3).is_path
    assert Star(2).is_path
    assert Clique(1).is_path


def test_labels_by_rule() -> None:
    graph = PathPower(5, 2, start=7, step=Fraction(1, 2))
    assert graph.labels == [7, 7.5, 8, 8.5, 9]
    assert graph.index(8.5) == 3
    for wrong in (6.5, 9.5, 7.25, "8", None):
        with pytest.raises(InputError, match="not an answer"):
            graph.index(wrong)


@pytest.mark.parametrize("make", [PathPower, Clique, Star])
@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None])
def test_sizes_must_be_whole_and_positive(
    make: type[AnswerGraph], size: object
) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        make(size)


def test_a_ring_needs_three_answers() -> None:
    with pytest.raises(InputError, match="at least 3, got 2"):
        Cycle(2)
    assert Cycle(3).size == 3


def test_numpy_sizes_are_whole_numbers() -> None:
    assert PathPower(np.int64(4)).size == 4


@pytest.mark.parametrize("graph", [PathPower(5), Cycle(5), Clique(5), Star(4)])
@pytest.mark.parametrize("node", [-1, 5])
def test_nodes_outside_are_refused(graph: AnswerGraph, node: int) -> None:
    for ask in (graph.label, graph.degree, graph.neighbours, graph.distances_from):
        with pytest.raises(InputError, match="node must be in 0 … 4"):
            ask(node)
    with pytest.raises(InputError, match="node must be in"):
        graph.distance(0, node)


@pytest.mark.parametrize(
    "graph", [PathPower(10**15), Cycle(10**15), Clique(10**15), Star(10**15)]
)
def test_huge_graphs_answer_single_nodes_and_refuse_rows(graph: AnswerGraph) -> None:
    assert graph.distance(0, 10) >= 1
    assert graph.degree(1) >= 1
    assert graph.edge_count >= graph.size - 1
    with pytest.raises(TooLarge, match="would hold"):
        graph.distances_from(0)
    with pytest.raises(TooLarge, match="would hold"):
        _ = graph.degrees


@pytest.mark.parametrize("graph", [PathPower(10**15), Cycle(10**15)])
def test_a_list_of_balls_that_does_not_fit_is_refused(graph: AnswerGraph) -> None:
    with pytest.raises(TooLarge, match="would hold"):
        graph.ball_sizes(0)
    assert Clique(10**15).ball_sizes(0) == (1, 10**15 - 1)


@pytest.mark.parametrize(
    ("size", "width"), [(1, 1), (2, 1), (6, 1), (7, 3), (5, 4), (4, 9)]
)
def test_edges_of_a_band_at_once_are_those_one_by_one(size: int, width: int) -> None:
    band = PathPower(size, width)
    assert list(map(tuple, band.edge_array().tolist())) == list(band.edges())
    assert band.edge_array().shape == (band.edge_count, 2)


FIVE = [Clique(5), PointsGraph(np.arange(5.0)[:, None] ** 2)]


@pytest.mark.parametrize("graph", FIVE, ids=lambda graph: graph.name)
def test_counts_by_rule_are_those_of_the_listed_edges(graph: AnswerGraph) -> None:
    assert isinstance(graph, CompleteGraph)
    listed = graph.explicit()
    assert not isinstance(listed, CompleteGraph)
    for node in range(5):
        assert graph.neighbours(node).tolist() == listed.neighbours(node).tolist()
        assert graph.degree(node) == listed.degree(node) == 4
    assert graph.degrees.tolist() == listed.degrees.tolist()
    assert (graph.min_degree, graph.max_degree) == (4, 4)
    assert graph.edge_count == listed.edge_count == 10
    assert graph.is_clique


@pytest.mark.parametrize("graph", FIVE, ids=lambda graph: graph.name)
def test_a_sixth_node_is_refused(graph: AnswerGraph) -> None:
    for ask in (graph.neighbours, graph.degree):
        with pytest.raises(InputError, match="node must be in 0 … 4"):
            ask(5)


def test_full_databases_are_not_adjacent() -> None:
    graph = CappedPathPower(3, 5)
    assert graph.neighbours(15).tolist() == [10]
    assert graph.distance(14, 15) == graph.distance(15, 11) == 2
    assert graph.distance(10, 15) == 1


def test_one_person_is_a_star() -> None:
    graph = CappedPathPower(1, 4)
    assert graph.is_tree
    assert graph.ball_sizes(0) == (1, 4)
    assert graph.ball_sizes(2) == (1, 1, 3)


def test_a_large_sum_by_rule() -> None:
    graph = CappedPathPower(200_000, 5)
    assert (graph.size, graph.diameter, graph.edge_count) == (
        1_000_001,
        200_000,
        4_999_980,
    )
    assert graph.constant_ball_sizes is None


def test_somebody_must_leave_a_full_count_first() -> None:
    graph = CappedCounts(3, 2)
    full, more = graph.index((3, 0)), graph.index((3, 1))
    assert graph.distance(full, more) == graph.distance(more, full) == 2
    assert graph.distance(graph.index((2, 0)), graph.index((2, 1))) == 1


def test_many_counts_by_rule() -> None:
    graph = CappedCounts(10, 200)
    assert graph.diameter == 20
    assert graph.edge_count == 10**200 * (2**200 - 1)
    assert graph.degree(0) == 2**200 - 1
    for ask in (graph.distances_from, graph.neighbours):
        with pytest.raises(TooLarge):
            ask(0)


@pytest.mark.parametrize("label", [(0,), (4, 0), (-1, 0), (0.5, 0), 3])
def test_labels_that_are_no_counts(label: object) -> None:
    with pytest.raises(InputError, match=r"is not an answer of counts\(3,2\)"):
        CappedCounts(3, 2).index(label)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [CappedPathPower, CappedCounts])
def test_sizes_must_be_positive(kind: type[CappedPathPower]) -> None:
    with pytest.raises(InputError, match="number of people"):
        kind(0, 2)
    with pytest.raises(InputError, match="at least 1"):
        kind(2, 0)


@pytest.mark.parametrize(("people", "width"), [(1, 1), (1, 4), (4, 3), (3, 1)])
def test_edges_at_once_are_those_one_by_one(people: int, width: int) -> None:
    graph = CappedPathPower(people, width)
    assert list(map(tuple, graph.edge_array().tolist())) == list(graph.edges())
    assert graph.edge_array().shape == (graph.edge_count, 2)
