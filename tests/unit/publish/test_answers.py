"""Every rule of answers keeps neighbouring tables within one step, whatever the table holds."""

import pytest
import sqlglot
from hypothesis import given, settings, strategies as st

from tightrope.publish.facts import Column, Table
from tightrope.publish.shapes import Kind, Shape, answer_of, answers_of
from tightrope.publish.sql_reader import column_axis
from tightrope.queries import Neighbours, query

VALUES = ("a", "b", "c")
PEOPLE = Table("people")
REGION = column_axis("region", Column("region", "text", values=VALUES), PEOPLE)
WITH_OTHER = column_axis("region", Column("region", "text", values=VALUES, other="b"), PEOPLE)
COMPLETE = column_axis("region", Column("region", "text", values=VALUES, complete=True), PEOPLE)
SCORE = Column("score", "integer", bounds=(0, 3))
SIGNED = Column("score", "integer", bounds=(-1, 4), complete=True)
HIGH = Column("score", "integer", bounds=(2, 5))
POPULATION = 4

# One row of a table: a group that may be undeclared, a score out of bounds, two properties.
rows = st.tuples(
    st.sampled_from(["a", "b", "c", "z", None]),
    st.integers(-2, 6) | st.none(),
    st.booleans(),
    st.booleans(),
)
tables = st.lists(rows, max_size=7)


def numbers(shape, table):
    """What the database would return for a table, computed in Python."""
    if shape.where is not None:
        table = [row for row in table if row[2]]
    if shape.kind is Kind.COUNTS:
        return [(sum(p for *_, p, _ in table), sum(q for *_, q in table))]
    found = {}
    for group, score, *_ in table:
        place = ()
        for axis in shape.axes:
            rest = -1 if axis.rest is None else axis.rest
            place += (VALUES.index(group) if group in VALUES else rest,)
        low, high = shape.column.bounds if shape.column else (0, 0)
        is_there = score is not None
        missing = min(max(0, low), high) if shape.is_fixed and not shape.is_divided else 0
        value = min(max(score, low), high) if is_there else missing
        found.setdefault(place, []).append((value if shape.column else 1, is_there))
    if not shape.axes:
        found.setdefault((), [])
    return [
        (*place, sum(v for v, _ in mine), *([sum(t for _, t in mine)] if shape.column else []),
         len(mine))
        for place, mine in found.items()
    ]  # fmt: skip


def shapes(near):
    people = Table("people", POPULATION, near)
    marked = sqlglot.parse_one("p")
    return [
        Shape(Kind.COUNT, people, where=marked),
        Shape(Kind.SUM, people, column=SCORE),
        Shape(Kind.MODULO, people, where=marked, modulus=3),
        Shape(Kind.MODULO, people, where=marked, modulus=9),
        Shape(Kind.MOST, people, axes=(REGION,)),
        Shape(Kind.COUNTS, people, conditions=(None, None)),
        Shape(Kind.COUNT, people, axes=(REGION,)),
        Shape(Kind.COUNT, people, axes=(WITH_OTHER,)),
        Shape(Kind.COUNT, people, axes=(COMPLETE, REGION)),
        Shape(Kind.COUNT, people, axes=(COMPLETE, WITH_OTHER)),
        Shape(Kind.COUNT, people, axes=(COMPLETE,), where=marked),
        Shape(Kind.SUM, people, column=SIGNED),
        Shape(Kind.SUM, people, column=SIGNED, where=marked),
        Shape(Kind.SUM, people, column=HIGH),
        Shape(Kind.SUM, people, column=HIGH, where=marked),
        Shape(Kind.MEAN, people, column=SIGNED),
        Shape(Kind.MEAN, people, column=HIGH),
        Shape(Kind.MEAN, people, column=HIGH, where=marked),
        Shape(Kind.SUM, people, column=SCORE, axes=(REGION,)),
        Shape(Kind.SUM, people, column=SIGNED, axes=(COMPLETE,)),
        Shape(Kind.MEAN, people, column=HIGH, axes=(COMPLETE, REGION)),
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
    crowded = max(len(table), len(other)) > POPULATION
    for shape in shapes(near):
        both = (answers_of(shape, numbers(shape, t)) for t in (table, other))
        for draw, here, there in zip(shape.draws, *both, strict=True):
            graph = query(draw.query, neighbours=draw.neighbours).graph
            assert len(here) == len(there) == draw.times
            steps_of = [
                graph.distance(graph.index(a), graph.index(b))
                for a, b in zip(here, there, strict=True)
            ]
            excused = near is Neighbours.ADD_REMOVE and draw.query.startswith(("counts", "hist"))
            assert sum(steps_of) <= (2 if crowded and excused else draw.width), (draw, table, other)


def test_a_plain_cut_would_break_the_bound():
    """The negative twin: cutting a sum at u·v alone moves neighbours two steps apart."""
    graph = query("sum(4,3)", neighbours="add-remove").graph
    before = [3, 3, 3, 2]
    after = [3, 3, 3, 2, 1]
    assert graph.distance(min(sum(before), 12), min(sum(after), 12)) == 2
    people = Table("people", 4, Neighbours.ADD_REMOVE)
    shape = Shape(Kind.SUM, people, column=SCORE)
    kept = [answer_of(shape, [(sum(t), len(t), len(t))]) for t in (before, after)]
    assert graph.distance(*kept) == 1


@pytest.mark.parametrize("near", Neighbours)
def test_true_facts_give_true_answers(near):
    table = [("a", 1, True, False), ("c", 3, True, True), ("a", 0, False, True), ("b", 2, True, 1)]
    answers = [answer_of(shape, numbers(shape, table)) for shape in shapes(near)]
    groups = (2, 1, 1) if near.allows_absent else (2, 1, 1, 0)
    assert answers[:8] == [3, 6, 0, 3, 0, (3, 3), groups, (2, 1, 1)]
    assert answers[10] == ((1, 1, 1) if near.allows_absent else (1, 1, 1, 1))
    sums = {11: 6, 12: 6, 13: 9, 14: 7}
    for place, total in sums.items():
        shape = shapes(near)[place]
        assert answers[place] + shape.draws[0].offset == total


@pytest.mark.parametrize("near", Neighbours)
def test_a_mean_is_its_sum_over_its_count(near):
    table = [("a", 3, True, False), ("c", 5, True, True), ("a", None, False, True)]
    people = Table("people", POPULATION, near)
    shape = Shape(Kind.MEAN, people, column=HIGH)
    (total,), (count,) = answers_of(shape, numbers(shape, table))
    assert (total + shape.draws[0].offset) / count + shape.centre == 4


def test_one_person_moves_a_sum_by_the_width_of_its_bounds():
    people = Table("people", 100)
    age = Column("age", "integer", bounds=(20, 80))
    assert Shape(Kind.SUM, people, column=age).question == "sum(100,60)"
    some = Shape(Kind.SUM, people, column=age, where=sqlglot.parse_one("p"))
    assert some.question == "sum(100,80)"  # whoever is not chosen adds nothing
