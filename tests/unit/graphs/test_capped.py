"""Sums and counts when one person comes or goes."""

import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CappedCounts, CappedPathPower


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
    assert (graph.size, graph.diameter, graph.edge_count) == (1_000_001, 200_000, 4_999_980)
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
    with pytest.raises(InputError, match="whole numbers 0 … 3"):
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
