import itertools

import pytest

from tightrope.channels.privacy import is_private
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import Clique, Cycle, Databases
from tightrope.leakage import most_leakage
from tightrope.leakage.bounds import _choices, graph_bound


@pytest.mark.parametrize("graph", [Clique(4), Cycle(5)], ids=str)
def test_with_all_outputs_the_bound_is_reached(graph: Clique) -> None:
    found = most_leakage(graph, 1, graph.size)
    assert found.bits == pytest.approx(graph_bound(graph, 1).bits)
    assert most_leakage(graph, 1, 100).bits == pytest.approx(found.bits)


def test_more_outputs_leak_more() -> None:
    bits = [most_leakage(Cycle(5), 1, r).bits for r in (1, 2, 3, 4, 5)]
    assert bits[0] == pytest.approx(0, abs=1e-9)
    assert all(a < b for a, b in itertools.pairwise(bits))


def test_the_channel_shows_it() -> None:
    graph = Databases(2, range(2))
    found = most_leakage(graph, 1, 3)
    assert is_private(found.channel, graph, 1, tolerance=1e-6)
    assert 2**found.bits == pytest.approx(found.channel.column_maxima_sum(), abs=1e-6)


def test_one_choice_of_each_kind() -> None:
    # Two corners of a cube: by their distance; three: by their pairwise distances.
    assert len(_choices(Databases(3, range(2)), 2, 200)) == 3
    assert len(_choices(Databases(3, range(2)), 3, 200)) == 3
    assert len(_choices(Clique(9), 4, 200)) == 1


def test_large_ones_are_refused() -> None:
    with pytest.raises(TooLarge, match="choices of 8 rows"):
        most_leakage(Cycle(40), 1, 8)
    with pytest.raises(TooLarge, match="unknowns"):
        most_leakage(Cycle(20_001), 1, 2)
    with pytest.raises(InputError, match="at least 1"):
        most_leakage(Cycle(5), 1, 0)
