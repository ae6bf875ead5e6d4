"""Means and medians when the number of people is not fixed."""

from fractions import Fraction
from math import gcd

import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs.averages import (
    AddRemoveMedians,
    EitherMedians,
    Means,
    MedianGraph,
)
from tightrope.graphs.symmetry import symmetry


def test_two_people_with_values_up_to_two() -> None:
    graph = Means(2, 2, change=False)
    half = graph.index(Fraction(1, 2))
    assert [graph.label(int(i)) for i in graph.neighbours(half)] == [0, 1]
    changed = Means(2, 2, change=True)
    assert changed.distance(changed.index(0), changed.index(2)) == 1
    assert graph.distance(graph.index(0), graph.index(2)) == 2


def test_one_person_who_may_only_leave_has_no_graph() -> None:
    with pytest.raises(
        InputError, match="number of people must be a whole number of at least 2"
    ):
        Means(1, 2, change=False)
    assert Means(1, 2, change=True).is_clique


@pytest.mark.parametrize("change", [False, True])
@pytest.mark.parametrize(("people", "largest"), [(2, 1), (3, 4), (7, 2), (12, 3)])
def test_rules_agree_with_the_list(people: int, largest: int, change: bool) -> None:
    graph = Means(people, largest, change=change)
    means = {
        Fraction(s, k) for k in range(1, people + 1) for s in range(k * largest + 1)
    }
    assert graph.labels == sorted(means)
    assert [graph.index(label) for label in graph.labels] == list(range(graph.size))
    for i in range(graph.size):
        assert graph.neighbours(i).tolist() == graph.explicit().neighbours(i).tolist()
    assert graph.diameter == graph.distance_matrix().max()


def test_large_graphs_answer_for_single_nodes() -> None:
    graph = Means(2000, 10, change=True)
    assert (
        graph.size
        == 10 * sum(1 for k in range(1, 2001) for a in range(k) if gcd(a, k) == 1) + 1
    )
    third = graph.index(Fraction(1, 3))
    assert graph.label(third) == Fraction(1, 3)
    assert graph.index(Fraction(1001, 3001 - 1002)) in graph.neighbours(
        graph.index(Fraction(1, 2))
    )
    for wrong in (Fraction(1, 2001), -1, 11, float("nan"), "x"):
        with pytest.raises(InputError, match="not an answer"):
            graph.index(wrong)
    with pytest.raises(TooLarge, match="moves between sums"):
        graph.distance(0, 1)


def test_too_many_people_are_refused_at_once() -> None:
    with pytest.raises(TooLarge, match="change-one"):
        Means(10**12, 5, change=True)


def test_labels_are_half_integers() -> None:
    graph = EitherMedians(3)
    assert graph.label(5) == Fraction(5, 2)
    assert graph.index(Fraction(3, 2)) == graph.index(1.5) == 3
    assert graph.index(2) == 4


@pytest.mark.parametrize(
    "label", [Fraction(1, 3), -1, 4, "1", None, float("nan"), float("inf")]
)
def test_labels_that_are_no_medians(label: object) -> None:
    with pytest.raises(InputError, match="not an answer"):
        EitherMedians(3).index(label)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("largest", "diameter"), [(1, 2), (2, 2), (3, 3), (4, 4), (1000, 4)]
)
def test_diameter_under_add_remove(largest: int, diameter: int) -> None:
    graph = AddRemoveMedians(largest)
    assert graph.diameter == diameter
    assert (
        max(graph.distances_from(i).max() for i in (0, 1, graph.size - 1)) <= diameter
    )


def test_whole_medians_are_adjacent_under_either() -> None:
    graph = EitherMedians(10)
    assert graph.distance(0, 20) == 1
    assert graph.distance(1, 19) == 2


@pytest.mark.parametrize("kind", [AddRemoveMedians, EitherMedians])
def test_the_largest_value_is_positive(kind: type[MedianGraph]) -> None:
    with pytest.raises(InputError, match="largest value"):
        kind(0)
    assert kind(10**12).distance(0, 2 * 10**12) <= 2


@pytest.mark.parametrize("kind", [AddRemoveMedians, EitherMedians])
def test_extreme_degrees_of_medians(kind: type[MedianGraph]) -> None:
    for largest in [*range(1, 60), 997, 1000]:
        graph = kind(largest)
        assert (graph.min_degree, graph.max_degree) == (
            graph.degrees.min(),
            graph.degrees.max(),
        )
    assert symmetry(kind(10**15)).reason.startswith("degrees differ")
