"""Histograms under the three relations."""

from math import comb

import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import Histograms
from tightrope.graphs.histograms import AddRemoveHistograms, HistogramGraph
from tightrope.graphs.shapes import girth


def test_distances_follow_the_counts() -> None:
    fixed = Histograms(10, 3)
    assert fixed.distance(fixed.index((9, 1, 0)), fixed.index((4, 3, 3))) == 5
    free = AddRemoveHistograms(10, 3)
    assert free.distance(free.index((9, 1, 0)), free.index((4, 3, 2))) == 9
    either = Histograms(10, 3, absent=True)
    assert either.distance(either.index((9, 1, 0)), either.index((4, 3, 2))) == 5
    assert either.distance(either.index((0, 0, 0)), either.index((4, 3, 2))) == 9


def test_numbering_is_lexicographic() -> None:
    assert Histograms(2, 3).labels == sorted(Histograms(2, 3).labels)  # type: ignore[type-var]
    assert AddRemoveHistograms(2, 2).labels == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (2, 0),
    ]


@pytest.mark.parametrize(
    "graph",
    [
        Histograms(10**6, 8),
        AddRemoveHistograms(10**6, 8),
        Histograms(10**6, 8, absent=True),
    ],
)
def test_huge_histograms_by_rule(graph: HistogramGraph) -> None:
    for node in (0, 1, graph.size // 3, graph.size - 1):
        assert graph.index(graph.label(node)) == node
    assert graph.size > 10**38
    assert graph.degree(graph.size // 3) >= 8
    assert graph.distance(0, graph.size - 1) <= graph.diameter
    assert graph.constant_ball_sizes is None
    near = graph.neighbours(graph.size // 3)
    assert len(near) == graph.degree(graph.size // 3)
    assert all(graph.distance(graph.size // 3, int(node)) == 1 for node in near[:5])
    assert girth(graph) == graph.least_girth
    with pytest.raises(TooLarge, match="a row of distances"):
        graph.distances_from(0)


def test_ball_sizes_cover_the_graph() -> None:
    graph = Histograms(20, 4)
    assert sum(graph.ball_sizes(graph.index((2, 3, 5, 10)))) == comb(23, 3)
    free = AddRemoveHistograms(60, 4)
    assert sum(free.ball_sizes(free.index((20, 3, 0, 17)))) == comb(64, 4)


def test_one_person_is_a_clique_and_one_class_a_point() -> None:
    assert Histograms(1, 5).constant_ball_sizes == (1, 4)
    assert Histograms(1, 10**6).constant_ball_sizes == (1, 10**6 - 1)
    assert Histograms(7, 1).size == 1
    assert AddRemoveHistograms(7, 1).is_path


@pytest.mark.parametrize(
    "label", [(1, 2), (5, 5, 1), (-1, 6, 5), (2.5, 2.5, 5), 10, None]
)
def test_labels_that_are_no_histograms(label: object) -> None:
    with pytest.raises(InputError, match="is not an answer of histogram"):
        Histograms(10, 3).index(label)  # type: ignore[arg-type]


def test_sums_may_be_smaller_when_people_are_absent() -> None:
    assert AddRemoveHistograms(10, 3).label(
        AddRemoveHistograms(10, 3).index((1, 0, 2))
    ) == (
        1,
        0,
        2,
    )
    with pytest.raises(InputError, match="is not an answer of histogram"):
        AddRemoveHistograms(10, 3).index((5, 5, 1))


@pytest.mark.parametrize(("people", "classes"), [(0, 3), (3, 0), (-1, 2), (2.0, 2)])
def test_sizes_must_be_whole_and_positive(people: object, classes: object) -> None:
    with pytest.raises(InputError, match="whole number of at least 1"):
        Histograms(people, classes)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="whole number of at least 1"):
        AddRemoveHistograms(people, classes)  # type: ignore[arg-type]
