"""The graph of every built-in query equals the one derived from its function [A, Def 3]."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.queries import Neighbours, derive, query
from tightrope.queries.families import most_frequent

derive_from_sum = partial(derive, kind="sum")
derive_from_multiset = partial(derive, kind="multiset")


def agreed_value(database: Sequence[Hashable], people: int) -> Hashable:
    """The value that all people have, 0 when they differ or somebody is absent [C, fn. 7]."""
    agreed = len(database) == people and len(set(database)) == 1
    return database[0] if agreed else 0


RELATIONS = [near.value for near in Neighbours]

#: Family -> small parameters. All of them are tried under all three relations.
SMALL: dict[str, list[tuple[int, ...]]] = {
    "count": [(1,), (2,), (5,)],
    "sum": [(1, 1), (1, 3), (2, 2), (3, 2), (2, 4), (4, 3)],
    "mean": [(2, 1), (2, 3), (3, 2), (4, 2)],
    "median": [(2, 1), (2, 4), (3, 1), (3, 3), (4, 1), (4, 2), (4, 3), (5, 2), (2, 7)],
    "counts": [(1, 1), (1, 2), (2, 2), (3, 2), (1, 3), (2, 3)],
    "histogram": [(1, 1), (1, 3), (3, 1), (3, 2), (2, 3), (3, 3), (2, 4)],
    "count_mod": [
        (1, 1),
        (4, 2),
        (3, 3),
        (2, 3),
        (1, 3),
        (4, 3),
        (5, 4),
        (3, 4),
        (2, 4),
        (2, 5),
    ],
    "databases": [(1, 1), (1, 3), (3, 1), (2, 2), (3, 2), (2, 3)],
}
CASES = [(name, sizes) for name, tried in SMALL.items() for sizes in tried]


def text_of(name: str, sizes: Sequence[int]) -> str:
    return f"{name}({','.join(map(str, sizes))})"


def same_graph(left: AnswerGraph, right: AnswerGraph) -> None:
    """Same answers, same edges, same distances, whatever the numbering."""
    assert set(left.labels) == set(right.labels)
    assert named_edges(left) == named_edges(right)
    there = [right.index(label) for label in left.labels]
    expected = right.distance_matrix()[there][:, there]
    assert (left.distance_matrix() == expected).all()


def named_edges(graph: AnswerGraph) -> set[frozenset[Hashable]]:
    return {frozenset((graph.label(i), graph.label(j))) for i, j in graph.edges()}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_family_equals_its_derivation(
    name: str, sizes: tuple[int, ...], relation: str
) -> None:
    built = query(text_of(name, sizes), relation)
    assert built.function is not None
    assert built.individuals is not None
    assert built.values is not None
    derived = derive(
        built.function,
        built.individuals,
        built.values,
        neighbours=relation,
        fewest=built.fewest,
        sees_absent=built.sees_absent,
    )
    same_graph(built.graph, derived.graph)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_choice_is_what_most_people_chose(
    people: int, size: int, relation: str
) -> None:
    same_graph(
        query(f"choice({size})", relation).graph,
        derive(most_frequent, people, range(size), neighbours=relation).graph,
    )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_star_is_what_everybody_agrees_on(
    people: int, size: int, relation: str
) -> None:
    """[C, fn. 7]."""
    agreed = partial(agreed_value, people=people)
    derived = derive(
        agreed, people, range(1, size + 1), neighbours=relation, name="agreed"
    )
    same_graph(query(f"star({size})", relation).graph, derived.graph)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("name", "sizes"), [c for c in CASES if c[0] in ("mean", "median")]
)
def test_multisets_give_the_same_as_databases(
    name: str, sizes: tuple[int, ...], relation: str
) -> None:
    built = query(text_of(name, sizes), relation)
    derived = derive_from_multiset(
        built.function, *sizes_of(built), neighbours=relation, fewest=1
    )
    same_graph(built.graph, derived.graph)


SUMS: list[tuple[str, Callable[[Any], Any] | None, Callable[[Any], Hashable], int]] = [
    ("sum(4,3)", None, lambda s: s, 0),
    ("sum(9,2)", None, lambda s: s, 0),
    ("count(12)", None, lambda s: s, 0),
    ("count_mod(9,4)", None, lambda s: s % 4, 0),
    ("counts(5,2)", None, lambda s: s, 0),
    ("histogram(5,3)", lambda c: tuple(int(c == k) for k in range(3)), lambda s: s, 0),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("text", "contribution", "function", "fewest"), SUMS)
def test_sums_give_the_same_as_the_families(
    text: str,
    contribution: Callable[[Any], Any] | None,
    function: Callable[[Any], Hashable],
    fewest: int,
    relation: str,
) -> None:
    built = query(text, relation)
    derived = derive_from_sum(
        function,
        *sizes_of(built),
        contribution=contribution,
        neighbours=relation,
        fewest=fewest,
        name=text,
    )
    same_graph(built.graph, derived.graph)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_mean_is_a_function_of_a_sum_of_pairs(relation: str) -> None:
    from fractions import Fraction

    built = query("mean(5,3)", relation)
    derived = derive_from_sum(
        lambda pair: Fraction(*pair),
        *sizes_of(built),
        contribution=lambda value: (value, 1),
        neighbours=relation,
        fewest=1,
        name="mean",
    )
    same_graph(built.graph, derived.graph)
    assert derived.answer([3, 1, 1, 0, 2]) == built.answer([3, 1, 1, 0, 2])


def sizes_of(built: Any) -> tuple[int, Sequence[Hashable]]:
    return built.individuals, built.values


@settings(max_examples=40)
@given(
    people=st.integers(1, 4),
    table=st.lists(st.integers(0, 3), min_size=13, max_size=13),
    values=st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
    relation=st.sampled_from(RELATIONS),
)
def test_three_ways_of_deriving_agree(
    people: int, table: list[int], values: list[int], relation: str
) -> None:
    """Any function of the sum: exhaustive, by multiset and by sum give one graph or one refusal."""

    def outcome(make: Callable[[], Any]) -> Any:
        try:
            graph = make().graph
        except InputError as refused:
            return "must be connected" in str(refused)
        return set(graph.labels), named_edges(graph)

    ways = [
        outcome(
            lambda: derive(lambda d: table[sum(d)], people, values, neighbours=relation)
        ),
        outcome(
            lambda: derive_from_multiset(
                lambda d: table[sum(d)], people, values, neighbours=relation
            )
        ),
        outcome(
            lambda: derive_from_sum(
                lambda s: table[s], people, values, neighbours=relation
            )
        ),
    ]
    assert ways[0] == ways[1] == ways[2]
    assert ways[0] is not False


@pytest.mark.parametrize(
    ("name", "wrong"), [("sum(2,3)", "sum(3,2)"), ("count(3)", "cycle(4)")]
)
def test_different_graphs_are_told_apart(name: str, wrong: str) -> None:
    with pytest.raises(AssertionError):
        same_graph(query(name).graph, query(wrong).graph)


def test_a_sum_under_add_remove_is_not_a_plain_band() -> None:
    """Only a full database gives 5 or 6 out of sum(3,2), and nobody can join it."""
    graph = query("sum(3,2)", "add-remove").graph
    assert graph.distance(5, 6) == 2
    assert query("sum(3,2)").graph.distance(5, 6) == 1
