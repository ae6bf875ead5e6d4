"""Every rule of answers keeps neighbouring tables within one step, whatever the table holds."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from tightrope.publish.facts import Column, Table
from tightrope.publish.shapes import Kind, Shape, answer_of
from tightrope.queries import Neighbours, query

REGION = Column("region", "text", values=("a", "b", "c"))
WITH_OTHER = Column("region", "text", values=("a", "b", "c"), other="b")
SCORE = Column("score", "integer", bounds=(0, 3))
POPULATION = 4

# One row of a table: a group that may be undeclared, a score out of bounds, two properties.
rows = st.tuples(
    st.sampled_from(["a", "b", "c", "z", None]),
    st.integers(-2, 6),
    st.booleans(),
    st.booleans(),
)
tables = st.lists(rows, max_size=7)


def numbers(shape, table):
    """What the database would return for a table, computed in Python."""
    declared = REGION.values
    if shape.kind in (Kind.GROUPS, Kind.MOST):
        other = -1 if shape.column.other is None else declared.index(shape.column.other)
        places = [declared.index(g) if g in declared else other for g, *_ in table]
        return list(Counter(places).items())
    if shape.kind is Kind.SUM:
        return [(sum(min(max(score, 0), 3) for _, score, *_ in table), len(table))]
    if shape.kind is Kind.COUNTS:
        return [(sum(p for *_, p, _ in table), sum(q for *_, q in table))]
    return [(len([p for *_, p, _ in table if p]),) * 2]


def shapes(near):
    people = Table("people", POPULATION, near)
    return [
        Shape(Kind.COUNT, people),
        Shape(Kind.SUM, people, column=SCORE),
        Shape(Kind.MODULO, people, modulus=3),
        Shape(Kind.MODULO, people, modulus=9),
        Shape(Kind.MOST, people, column=REGION),
        Shape(Kind.COUNTS, people, conditions=(None, None)),
        Shape(Kind.GROUPS, people, column=REGION),
        Shape(Kind.GROUPS, people, column=WITH_OTHER),
    ]


def steps(near, table, draw):
    """Return a neighbouring table."""
    kinds = []
    if table and near.allows_change:
        kinds.append("change")
    if near.allows_absent:
        kinds.append("add")
        if table:
            kinds.append("remove")
    if not kinds:
        return table
    kind = draw(st.sampled_from(kinds))
    place = draw(st.integers(0, max(len(table) - 1, 0)))
    if kind == "add":
        return [*table, draw(rows)]
    rest = table[:place] + table[place + 1 :]
    return rest if kind == "remove" else [*rest, draw(rows)]


@pytest.mark.parametrize("near", Neighbours)
@settings(max_examples=150)
@given(data=st.data())
def test_neighbouring_tables_are_at_most_one_step_apart(near, data):
    table = data.draw(tables)
    other = steps(near, table, data.draw)
    for shape in shapes(near):
        graph = query(shape.question, neighbours=near).graph
        here, there = (graph.index(answer_of(shape, numbers(shape, t))) for t in (table, other))
        distance = graph.distance(here, there)
        crowded = max(len(table), len(other)) > POPULATION
        excused = near is Neighbours.ADD_REMOVE and shape.kind in (Kind.COUNTS, Kind.GROUPS)
        assert distance <= (2 if crowded and excused else 1), (shape.question, table, other)


def test_a_plain_cut_would_break_the_bound():
    """The negative twin: cutting a sum at u·v alone moves neighbours two steps apart."""
    graph = query("sum(4,3)", neighbours="add-remove").graph
    before = [3, 3, 3, 2]
    after = [3, 3, 3, 2, 1]
    assert graph.distance(min(sum(before), 12), min(sum(after), 12)) == 2
    people = Table("people", 4, Neighbours.ADD_REMOVE)
    shape = Shape(Kind.SUM, people, column=SCORE)
    kept = [answer_of(shape, [(sum(t), len(t))]) for t in (before, after)]
    assert graph.distance(*kept) == 1


@pytest.mark.parametrize("near", Neighbours)
def test_true_facts_give_true_answers(near):
    table = [("a", 1, True, False), ("c", 3, True, True), ("a", 0, False, True), ("b", 2, True, 1)]
    answers = [answer_of(shape, numbers(shape, table)) for shape in shapes(near)]
    groups = (2, 1, 1) if near.allows_absent else (2, 1, 1, 0)
    assert answers == [3, 6, 0, 3, 0, (3, 3), groups, (2, 1, 1)]
