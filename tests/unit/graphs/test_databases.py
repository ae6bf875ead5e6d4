"""Databases as a graph."""

import pytest

from tightrope.errors import InputError
from tightrope.graphs import Databases


def test_labels_show_values_and_absence() -> None:
    graph = Databases(2, "ab", absent=True)
    assert graph.labels[:4] == [(None, None), (None, "a"), (None, "b"), ("a", None)]
    assert graph.index(("b", "a")) == 7


def test_the_three_distances() -> None:
    def far(change: bool, absent: bool) -> float:
        graph = Databases(3, range(4), change=change, absent=absent)
        return graph.distance(graph.index((0, 1, 2)), graph.index((0, 3, 2)))

    assert far(change=True, absent=False) == 1
    assert far(change=False, absent=True) == 2
    assert far(change=True, absent=True) == 1


@pytest.mark.parametrize("label", [(0,), (0, 9), (0, None), (0, "x"), 7, (0, [])])
def test_labels_that_are_no_databases(label: object) -> None:
    for values in (range(4), [0, 1, 2, 3]):
        with pytest.raises(InputError):
            Databases(2, values).index(label)  # type: ignore[arg-type]


def test_neighbours_must_differ() -> None:
    with pytest.raises(InputError, match="must differ"):
        Databases(2, range(3), change=False)
    with pytest.raises(InputError, match="number of values"):
        Databases(2, [])
    with pytest.raises(InputError, match="number of people"):
        Databases(0, range(2))
