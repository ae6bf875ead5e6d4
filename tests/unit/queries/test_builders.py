"""Answer graphs of the built-in queries."""

from fractions import Fraction

import pytest

from tightrope.errors import InputError
from tightrope.graphs import Clique, Cycle, PathPower
from tightrope.queries import Neighbours, query

RELATIONS = [near.value for near in Neighbours]


@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_are_paths(relation: str) -> None:
    assert query("count(5)", relation).graph.is_path


def test_sizes_and_diameters() -> None:
    assert (query("sum(150,5)").graph.size, query("sum(150,5)").graph.diameter) == (751, 150)
    pair = query("counts(30,2)").graph
    assert (pair.size, pair.diameter, pair.edge_count) == (961, 30, 3660)
    assert query("databases(5,4)").graph.constant_ball_sizes == (1, 15, 90, 270, 405, 243)
    assert query("sum(200000,5)").graph.size == 1_000_001
    assert query("databases(20,4)").graph.size == 4**20


@pytest.mark.parametrize(
    ("n", "m", "kind", "size"),
    [
        (9, 4, Cycle, 4),
        (4, 4, Cycle, 4),
        (3, 4, PathPower, 4),
        (2, 4, PathPower, 3),
        (5, 2, PathPower, 2),
    ],
)
def test_remainders(n: int, m: int, kind: type, size: int) -> None:
    """[C, fn. 5]."""
    graph = query(f"count_mod({n},{m})").graph
    assert isinstance(graph, kind)
    assert graph.size == size


def test_three_remainders_are_a_triangle() -> None:
    assert query("count_mod(3,3)").graph.is_clique
    assert query("count_mod(2,3)").graph.is_path
    assert query("count_mod(7,1)").graph.size == 1


def test_means_and_medians_are_fractions() -> None:
    assert query("mean(4,5)").graph.label(3) == Fraction(3, 4)
    assert query("mean(4,5)").graph.index(Fraction(3, 4)) == 3
    assert query("median(4,5)").graph.labels[:3] == [0, Fraction(1, 2), 1]
    assert isinstance(query("median(3,5)").graph, Clique)
    with pytest.raises(InputError, match="not an answer"):
        query("mean(4,5)").graph.index(Fraction(1, 3))
    with pytest.raises(InputError, match="not an answer"):
        query("mean(4,5)").graph.index("x")


@pytest.mark.parametrize("text", ["mean(1,3)", "median(1,3)"])
def test_one_person_who_may_only_leave_has_no_graph(text: str) -> None:
    with pytest.raises(InputError, match="the empty database has no answer"):
        query(text, "add-remove")
    assert query(text, "either").graph.is_clique
    assert query(text).graph.is_clique


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("text", ["petersen", "chang(2)", "truncated_tetrahedron", "grid(2,3)"])
def test_graphs_do_not_depend_on_the_relation(text: str, relation: str) -> None:
    same = query(text, relation)
    assert same.graph.edge_array().tolist() == query(text).graph.edge_array().tolist()
    assert same.individuals is None
