"""Medians when the number of people is not fixed."""

from fractions import Fraction

import pytest

from tightrope.errors import InputError
from tightrope.graphs import AddRemoveMedians, EitherMedians
from tightrope.graphs.averages import MedianGraph


def test_labels_are_half_integers() -> None:
    graph = EitherMedians(3)
    assert graph.label(5) == Fraction(5, 2)
    assert graph.index(Fraction(3, 2)) == graph.index(1.5) == 3
    assert graph.index(2) == 4


@pytest.mark.parametrize("label", [Fraction(1, 3), -1, 4, "1", None, float("nan"), float("inf")])
def test_labels_that_are_no_medians(label: object) -> None:
    with pytest.raises(InputError, match="not an answer"):
        EitherMedians(3).index(label)  # type: ignore[arg-type]


@pytest.mark.parametrize(("largest", "diameter"), [(1, 2), (2, 2), (3, 3), (4, 4), (1000, 4)])
def test_diameter_under_add_remove(largest: int, diameter: int) -> None:
    graph = AddRemoveMedians(largest)
    assert graph.diameter == diameter
    assert max(graph.distances_from(i).max() for i in (0, 1, graph.size - 1)) <= diameter


def test_whole_medians_are_adjacent_under_either() -> None:
    graph = EitherMedians(10)
    assert graph.distance(0, 20) == 1
    assert graph.distance(1, 19) == 2


@pytest.mark.parametrize("kind", [AddRemoveMedians, EitherMedians])
def test_the_largest_value_is_positive(kind: type[MedianGraph]) -> None:
    with pytest.raises(InputError, match="largest value"):
        kind(0)
    assert kind(10**12).distance(0, 2 * 10**12) <= 2
