"""Products, databases and grids."""

import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    Cycle,
    Databases,
    ExplicitGraph,
    PathPower,
    StrongProduct,
)
from tightrope.graphs.products import number_of


def test_databases_of_five_people_with_four_values() -> None:
    graph = CartesianProduct([Clique(4)] * 5)
    assert graph.constant_ball_sizes == (1, 15, 90, 270, 405, 243)
    assert (graph.size, graph.diameter, graph.max_degree) == (1024, 5, 15)


def test_four_to_the_twenty_by_rule() -> None:
    graph = CartesianProduct([Clique(4)] * 20)
    sizes = graph.constant_ball_sizes
    assert sizes is not None
    assert sum(sizes) == graph.size == 4**20
    assert sizes[:3] == (1, 60, 1710)
    assert graph.degree(4**20 - 1) == 60
    assert len(graph.neighbours(123_456_789)) == 60
    with pytest.raises(TooLarge):
        graph.distances_from(0)


def test_two_counts_of_thirty() -> None:
    graph = StrongProduct([PathPower(31)] * 2)
    assert (graph.size, graph.diameter, graph.edge_count) == (961, 30, 3660)
    assert graph.distance(graph.index((0, 5)), graph.index((9, 3))) == 9
    assert graph.constant_ball_sizes is None


def test_factors_of_different_kinds() -> None:
    graph = CartesianProduct([Cycle(5), PathPower(3), Cycle(5)])
    assert graph.diameter == 6
    assert graph.name == "cycle(5)□path(3)□cycle(5)"
    assert graph.constant_ball_sizes is None
    assert StrongProduct([Cycle(5), Clique(2)]).constant_ball_sizes == (1, 5, 4)


def test_numbering_runs_fastest_in_the_last_factor() -> None:
    graph = CartesianProduct([PathPower(2), PathPower(3)])
    assert graph.labels == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert graph.digits(4) == (1, 1)
    assert number_of((1, 1), graph.sides) == 4


@pytest.mark.parametrize("label", [(0,), (0, 1, 2), 3, (0, 9), "ab"])
def test_labels_that_are_no_answers(label: object) -> None:
    with pytest.raises(InputError):
        CartesianProduct([PathPower(2), PathPower(3)]).index(label)  # type: ignore[arg-type]


def test_products_refuse_nothing_and_lengths() -> None:
    with pytest.raises(InputError, match="at least one factor"):
        CartesianProduct([])
    with pytest.raises(InputError, match="length 1"):
        StrongProduct([ExplicitGraph([(0, 1)], lengths=[2.0])])


@pytest.mark.parametrize("kind", [CartesianProduct, StrongProduct])
def test_nodes_that_no_array_can_number(kind: type[CartesianProduct]) -> None:
    graph = kind([PathPower(3)] * 60)
    assert graph.distance(0, graph.size - 1) == graph.diameter
    with pytest.raises(TooLarge, match="cannot be numbered"):
        graph.neighbours(0)


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
