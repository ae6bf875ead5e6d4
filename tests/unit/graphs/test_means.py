"""Means when the number of people is not fixed."""

from fractions import Fraction

import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import mean_graph


def test_two_people_with_values_up_to_two() -> None:
    graph = mean_graph(2, 2, change=False)
    half = graph.index(Fraction(1, 2))
    assert [graph.label(int(i)) for i in graph.neighbours(half)] == [0, 1]
    changed = mean_graph(2, 2, change=True)
    assert changed.distance(changed.index(0), changed.index(2)) == 1
    assert graph.distance(graph.index(0), graph.index(2)) == 2


def test_one_person_who_may_only_leave_is_disconnected() -> None:
    with pytest.raises(InputError, match="connected"):
        mean_graph(1, 2, change=False)
    assert mean_graph(1, 2, change=True).is_clique


def test_too_many_sums_are_refused_at_once() -> None:
    with pytest.raises(TooLarge, match="change-one"):
        mean_graph(10**12, 5, change=True)
