"""A query answers databases and knows their graph."""

import pickle
from fractions import Fraction

import pytest

from tightrope.errors import InputError
from tightrope.graphs.registry import Family
from tightrope.queries import FAMILIES, Neighbours, query


@pytest.mark.parametrize(
    ("text", "database", "answer"),
    [
        ("count(3)", [1, 0, 1], 2),
        ("sum(3,5)", (5, 0, 2), 7),
        ("mean(3,5)", [5, 0, 2], Fraction(7, 3)),
        ("median(4,5)", [5, 0, 2, 1], Fraction(3, 2)),
        ("median(3,5)", [5, 0, 2], 2),
        ("counts(2,3)", [(1, 0, 1), (1, 1, 0)], (2, 1, 1)),
        ("histogram(3,4)", [3, 0, 3], (1, 0, 0, 2)),
        ("count_mod(4,3)", [1, 1, 1, 1], 1),
        ("choice(3)", [2, 1, 2], 2),
        ("databases(2,3)", [2, 0], (2, 0)),
    ],
)
def test_answers_are_labels_of_the_graph(
    text: str, database: list[int], answer: object
) -> None:
    asked = query(text)
    assert asked.answer(database) == answer
    assert asked.graph.label(asked.graph.index(asked.answer(database))) == answer


def test_absent_people_are_left_out() -> None:
    asked = query("mean(3,5)", "add-remove")
    assert asked.answer([4, None, 1]) == asked.answer([4, 1]) == Fraction(5, 2)
    with pytest.raises(InputError, match="fewer than 1"):
        asked.answer([None, None, None])
    slots = query("databases(2,3)", "add-remove")
    assert slots.answer([None, 2]) == (None, 2)
    with pytest.raises(InputError, match="exactly 2 people, got 1"):
        slots.answer([2])


@pytest.mark.parametrize(
    ("database", "message"),
    [
        ([1, 1], "exactly 3 people, got 2"),
        ([1, 1, 1, 1], "exactly 3 people, got 4"),
        ([1, None, 1], "some of them absent"),
        ([1, 1, 6], "6 is not one person's value"),
        ([1, 1, -1], "-1 is not one person's value"),
        ([1, 1, 0.5], "0.5 is not one person's value"),
        ([1, 1, "1"], "'1' is not one person's value"),
        ([1, 1, float("nan")], "nan is not one person's value"),
    ],
)
def test_databases_that_do_not_fit(database: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        query("sum(3,5)").answer(database)  # type: ignore[arg-type]


def test_the_graph_of_the_databases_follows_the_relation() -> None:
    assert query("sum(3,4)").databases().size == 5**3
    assert query("sum(3,4)", "add-remove").databases().size == 6**3
    assert query("sum(3,4)", "add-remove").databases().diameter == 6
    assert query("sum(3,4)", "either").databases().diameter == 3
    assert query("counts(2,2)").databases().label(1) == ((0, 0), (0, 1))


def test_a_graph_alone_has_no_people() -> None:
    with pytest.raises(InputError, match="unknown"):
        query("petersen").databases()
    with pytest.raises(InputError, match="no function"):
        query("petersen").answer([1])


def test_printing() -> None:
    asked = query("sum(3,5)", "either")
    assert str(asked) == "sum(3,5)"
    assert repr(asked) == "Query('sum(3,5)', either, 16 answers)"
    with pytest.raises(AttributeError):
        asked.text = "other"  # type: ignore[misc]


@pytest.mark.parametrize("relation", ["change-one", "add-remove", "either"])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_a_query_can_be_sent_to_another_process(family: Family, relation: str) -> None:
    asked = query(family.example, relation)
    sent = pickle.loads(pickle.dumps(asked))
    assert repr(sent) == repr(asked)
    last = asked.graph.size - 1
    assert sent.graph.index(sent.graph.label(last)) == last
    assert sent.graph.distance(0, last) == asked.graph.distance(0, last)


def test_what_each_relation_allows() -> None:
    allowed = {
        near.value: (near.allows_change, near.allows_absent) for near in Neighbours
    }
    assert allowed == {
        "change-one": (True, False),
        "add-remove": (False, True),
        "either": (True, True),
    }


@pytest.mark.parametrize("name", ["CHANGE-ONE", "", None, 3])
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(InputError, match="neighbours must be"):
        Neighbours.of(name)  # type: ignore[arg-type]
