"""Every rule of answers keeps neighbouring tables within one step, whatever the table holds."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
import sqlglot
from hypothesis import given, settings, strategies as st

from tightrope.epsilon import Epsilon
from tightrope.publish.axes import column_axis
from tightrope.publish.facts import Column, Table
from tightrope.publish.shapes import Count, Counts, Mean, Mode, Modulo, Sum
from tightrope.publish.shapes.mean import middle_and_half
from tightrope.publish.sql_pieces import present
from tightrope.queries import Neighbours, query

VALUES = ("a", "b", "c")
PEOPLE = Table("people")
REGION = column_axis("region", Column("region", "text", values=VALUES), PEOPLE)
WITH_OTHER = column_axis(
    "region", Column("region", "text", values=VALUES, other="b"), PEOPLE
)
COMPLETE = column_axis(
    "region", Column("region", "text", values=VALUES, complete=True), PEOPLE
)
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


def test_a_mean_takes_in_only_what_it_draws():
    """The count of rows with a value is drawn with it; of a fixed table no count is drawn."""
    moving = Table("people", POPULATION, Neighbours.ADD_REMOVE)
    mean = Mean(moving, column=SCORE)
    assert mean.absorb(Count(moving, where=present("score"))) is not None
    assert mean.absorb(Sum(moving, column=SCORE)) is not None
    assert mean.absorb(Count(moving)) is None
    assert mean.absorb(Modulo(moving, where=present("score"), modulus=3)) is None
    fixed = Mean(PEOPLE, column=SIGNED)
    assert not fixed.is_divided
    assert fixed.absorb(Sum(PEOPLE, column=SIGNED)) is not None
    assert fixed.absorb(Count(PEOPLE)) is None


class Noise:
    """Noise of which only the error is known, at every confidence."""

    law = None

    def __init__(self, error):
        self.own = error

    def error(self, confidence):
        return (self.own,)


def test_the_error_of_a_mean_is_that_of_its_sum_and_its_count():
    people = Table("people", 1000)
    shown = (Mean.kind, Sum.kind, Count.kind)
    mean = Mean(
        people, column=HIGH, where=sqlglot.parse_one("p"), titles=shown, shows=shown
    )
    (low, high), centre = mean.bounds, mean.centre
    farthest = max(high - centre, centre - low)
    found = mean.errors((Noise(70), Noise(20)), Fraction(19, 20))
    assert found == (
        Fraction(70 + farthest * 20, 1000 - 20),
        70 + centre * 20,
        20,
    )
    # A mean cannot be off by more than the width of the bounds.
    assert mean.errors((Noise(9000), Noise(20)), Fraction(19, 20))[0] == high - low
    assert mean.errors((Noise(0), Noise(1000)), Fraction(19, 20))[0] == high - low


def numbers(shape, table):
    """What the database would return for a table, computed in Python."""
    if shape.where is not None:
        table = [row for row in table if row[2]]
    if isinstance(shape, Counts):
        return [(sum(p for *_, p, _ in table), sum(q for *_, q in table))]
    found = {}
    for group, score, *_ in table:
        place = ()
        for axis in shape.axes:
            rest = -1 if axis.rest is None else axis.rest
            place += (VALUES.index(group) if group in VALUES else rest,)
        low, high = shape.column.bounds if shape.column else (0, 0)
        is_there = score is not None
        adds_all = isinstance(shape, Sum) and shape.is_fixed and not shape.is_divided
        missing = min(max(0, low), high) if adds_all else 0
        value = min(max(score, low), high) if is_there else missing
        found.setdefault(place, []).append((value if shape.column else 1, is_there))
    if not shape.axes:
        found.setdefault((), [])
    return [
        (*place, sum(v for v, _ in mine), *([sum(t for _, t in mine)] if shape.column else []),
         len(mine))
        for place, mine in found.items()
    ]  # fmt: skip


# Made once: the examples are about tables, not about reading questions.
@cache
def graph_of(text, near):
    return query(text, neighbours=near).graph


@cache
def shapes(near):
    people = Table("people", POPULATION, near)
    frozen = replace(people, frozen=True)
    marked = sqlglot.parse_one("p")
    return [
        Count(people, where=marked),
        Sum(people, column=SCORE),
        Modulo(people, where=marked, modulus=3),
        Modulo(people, where=marked, modulus=9),
        Mode(people, axes=(REGION,)),
        Counts(people, conditions=(None, None)),
        Count(people, axes=(REGION,)),
        Count(people, axes=(WITH_OTHER,)),
        Count(people, axes=(COMPLETE, REGION)),
        Count(people, axes=(COMPLETE, WITH_OTHER)),
        Count(people, axes=(COMPLETE,), where=marked),
        Sum(people, column=SIGNED),
        Sum(people, column=SIGNED, where=marked),
        Sum(people, column=HIGH),
        Sum(people, column=HIGH, where=marked),
        Mean(people, column=SIGNED),
        Mean(people, column=HIGH),
        Mean(people, column=HIGH, where=marked),
        Sum(people, column=SCORE, axes=(REGION,)),
        Sum(people, column=SIGNED, axes=(COMPLETE,)),
        Mean(people, column=HIGH, axes=(COMPLETE, REGION)),
        # Of a frozen table every number is counted in steps of 1.
        Count(frozen, where=marked),
        Sum(frozen, column=SIGNED, where=marked),
        Sum(frozen, column=SIGNED, axes=(COMPLETE,)),
        Mean(frozen, column=HIGH, where=marked),
        Mean(frozen, column=HIGH, axes=(REGION,)),
        Mean(frozen, column=SIGNED, axes=(COMPLETE, WITH_OTHER)),
        Count(frozen, axes=(REGION,)).as_asked().planned(Epsilon.of(1)),
        Count(frozen, axes=(COMPLETE,)).as_asked().planned(Epsilon.of(1)),
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
        both = (shape.answers(numbers(shape, t)) for t in (table, other))
        for draw, here, there in zip(shape.draws, *both, strict=True):
            graph = graph_of(draw.query, draw.neighbours)
            assert len(here) == len(there) == draw.times
            steps_of = [
                graph.distance(graph.index(a), graph.index(b))
                for a, b in zip(here, there, strict=True)
            ]
            excused = near is Neighbours.ADD_REMOVE and draw.query.startswith(
                ("counts", "hist")
            )
            assert sum(steps_of) <= (2 if crowded and excused else draw.width), (
                draw,
                table,
                other,
            )


def test_a_plain_cut_would_break_the_bound():
    """The negative twin: cutting a sum at u·v alone moves neighbours two steps apart."""
    graph = query("sum(4,3)", neighbours="add-remove").graph
    before = [3, 3, 3, 2]
    after = [3, 3, 3, 2, 1]
    assert graph.distance(min(sum(before), 12), min(sum(after), 12)) == 2
    people = Table("people", 4, Neighbours.ADD_REMOVE)
    shape = Sum(people, column=SCORE)
    kept = [shape.answer([(sum(t), len(t), len(t))]) for t in (before, after)]
    assert graph.distance(*kept) == 1


@pytest.mark.parametrize("near", Neighbours)
def test_true_facts_give_true_answers(near):
    table = [
        ("a", 1, True, False),
        ("c", 3, True, True),
        ("a", 0, False, True),
        ("b", 2, True, 1),
    ]
    answers = [shape.answer(numbers(shape, table)) for shape in shapes(near)]
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
    shape = Mean(people, column=HIGH)
    answers = shape.answers(numbers(shape, table))
    if shape.is_pair:
        ((pair,),) = answers
        middle, half = middle_and_half(shape.bounds)
        total = pair[0] + shape.draws[0].offset
        count = pair[1] + shape.draws[0].offset // 2 + shape.table.population % 2
        assert count == 2
        assert abs(middle * count + half * total - 8) <= half / 2
    else:
        (total,), (count,) = answers
        assert (total + shape.draws[0].offset) / count + shape.centre == 4


def test_one_person_moves_a_sum_by_the_width_of_its_bounds():
    people = Table("people", 100)
    age = Column("age", "integer", bounds=(20, 80))
    assert Sum(people, column=age).question == "sum(100,60)"
    some = Sum(people, column=age, where=sqlglot.parse_one("p"))
    assert some.question == "sum(100,80)"  # whoever is not chosen adds nothing
