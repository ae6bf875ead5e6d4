"""The same hostile tables in every source: neighbours fare alike and move at most one step.

A chain of tables begins with hundreds of hostile rows and grows by one at a time (somebody comes),
or has one row replaced at a time (somebody changes). Every table of the chain must get an answer,
as its neighbour does, and the two answers must be at most one step apart in the answer graph.
"""

import datetime
import functools
import itertools
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from tests.data.conftest import COLUMNS, DAY, FILES, Arrow, Csv, PostgreSQL

from tightrope.asking.cache import proved
from tightrope.epsilon import Epsilon
from tightrope.proofs import prove_shown_count
from tightrope.publish import parse_facts
from tightrope.publish.noise import noise_of
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Declared, Mode
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query

PLAIN = (None, 31, 1.5, "north", True, DAY)

#: What one cell may hold, whatever its column is declared as. A source keeps what it can.
HOSTILE = [
    None, "", " ", "0", "-1", "31", "31.5", "1e3", "1e400", "-1e400", "1e-400", "nan", "NaN", "inf",
    "Infinity", "null", "NULL", "true", "False", "t", "yes", "now", "12:30", "0x1F", "\u0663",
    "\u00bd", "1_000", "north", "NORTH", "north ", " north", "n\u00f6rth", "no\u200brth",
    "\uff4eorth", "north\0", "nor\0th", "'", '"', '"north', 'nor"th', "''", "\\", "\\'", "%", "%s",
    "{0}", ";", "--", "a,b", "a\tb", "a\nb", "a\r\nb", "\r", "\ufeffnorth", "\u202enorth",
    "\U0001f600", "\U0010ffff", "\u017f", "\u00df", "\u0130", "x" * 70_000, "1990-05-17",
    "1990-05-17 10:00:00", "1990-13-45", "0000-00-00", "9999-12-31", "99999-01-01", "-0044-03-15",
    "infinity", "1990-W20-4", "19900517", "epoch", b"\xff\xfe", b"north\xff", b"\x80", b"\xc3",
    b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x00\xff", 0, 1, -1, 2, 90, 91, 2**31 - 1, 2**31,
    -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30, -(10**30), 10**37, 10**400,
    0.0, -0.0, 0.5, 1.5, -1.5, 5e-324, 1e-300, 1e100, 1e101, -1e154, 1e155, 1.7976931348623157e308,
    -1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), Decimal("1e-30"),
    Decimal("0.1234567890123456789"), Decimal(10) ** 37, Decimal("NaN"), Decimal("1e400"),
    Decimal("-1e400"), Decimal("1e-400"), Decimal("Infinity"), True, False, DAY,
    datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31),
]  # fmt: skip


def by_counts(shape):
    """A value is found by the counts of all values."""
    return replace(shape, by_score=True) if isinstance(shape, Mode) else shape


def hostile_rows():
    """Rows with one hostile cell each, then rows that are hostile throughout, in any order."""
    rows = [
        (*PLAIN[:place], value, *PLAIN[place + 1 :])
        for place in range(1, len(COLUMNS))
        for value in HOSTILE
    ]
    chance = random.Random(18)
    rows += [tuple(chance.choice(HOSTILE) for _ in COLUMNS) for _ in range(100)]
    chance.shuffle(rows)
    # Somebody new each time, or nobody: a second row of one person is no neighbour's step.
    nobody = [None, "", float("nan"), "x", b"\xff", "1.5", 2.5]
    return [
        (nobody[k % 7] if k % 3 == 0 else 1000 + k, *row[1:])
        for k, row in enumerate(rows)
    ]


FACTS = """
[tables.people]
population = 2000
neighbours = "{near}"
budget = "1"
{person}

[tables.people.columns]
id = {{ type = "integer" }}
age = {{ bounds = [0, 90] }}
height = {{ bounds = [-0.5, 2.5], step = 0.1 }}
region = {{ values = ["north", "south", "west", "a\\nb", "", "x"] }}
smoker = {{ type = "boolean" }}
born = {{ bounds = [1980-01-01, 2009-12-31] }}
"""
QUESTIONS = [
    "select count(*) from people where age > 30",
    "select sum(age) from people where height < 3.5 or height is null",
    "select region, count(*) from people group by region",
    "select count(*) filter (where height > 1), count(*) filter (where region <> 'south'), "
    "count(*) filter (where born >= '1980-06-01') from people",
    "select count(*) from people where smoker and born < '2000-01-01' and age > height",
    "select count(distinct id) from people where region in ('north', 'a\nb', '') or not smoker",
    "select median(age) from people where height < 3.5 or height is null",
    "select region from people group by region order by count(*) desc limit 1",
    "select smoker, floor(age / 30) * 30 as bin, count(*) from people group by smoker, bin",
    "select avg(age) from people where smoker or region <> 'south'",
    "select region, sum(age) from people group by region",
    "select case when height > 1 then 'a' else 'b' end as h, avg(age) from people group by h",
    "select sum(height) from people where smoker",
    "select smoker, median(height) from people group by smoker",
    "select smoker, count(distinct id) from people group by smoker",
    "select count(distinct id) filter (where smoker), count(distinct id) from people",
    "select smoker, mode(region) from people group by smoker",
    "select age % 5 as bin, sum(count(*)) over (order by bin) as n from people group by bin",
    "select count(distinct region) from people where id in (90, 1001)",
    "select floor(extract(year from born) / 10) as decade, count(*) from people group by decade",
    "select extract(dow from born) as day, sum(age) from people where region like '_o%' "
    "or upper(region) = 'X' group by day",
]


# -- the chain ----------------------------------------------------------------------------------


def graph_of(draw):
    return query(draw.query, neighbours=draw.neighbours).graph


class Counts:
    """The counts behind a question by scores: one person moves one of them, or one to another."""

    def __init__(self, near):
        self.near = near

    def distance(self, before, after):
        moves = [b - a for a, b in zip(before, after, strict=True)]
        up, down = sum(m for m in moves if m > 0), -sum(m for m in moves if m < 0)
        return up + down if self.near == "add-remove" else max(up, down)


class Asked:
    """All questions about a table, and how far their answers are apart.

    Each is asked of rows and of people, or in turn of one of the two.
    """

    def __init__(self, near, dialect, turn=None):
        self.shapes = []
        self.words = []
        for of_people, person in enumerate(("", 'person = "id"\ncontributions = 1')):
            facts = parse_facts(FACTS.format(near=near, person=person))
            words = [
                sql
                for place, sql in enumerate(QUESTIONS)
                if (
                    person
                    if "distinct" in sql
                    else turn in (None, (place + of_people) % 2)
                )
            ]
            shapes = [read_shape(sql, facts, dialect) for sql in words]
            self.shapes.append([by_counts(shape) for shape in shapes])
            self.words += words
        self.draws = [
            [
                (draw, Counts(near) if draw.by_score else graph_of(draw))
                for draw in shape.draws
            ]
            for shape in itertools.chain(*self.shapes)
        ]

    @classmethod
    @functools.cache
    def of(cls, near, dialect, turn):
        """Read the questions once for all sources of a dialect."""
        return cls(near, dialect, turn)

    def answers(self, place):
        found = []
        for shapes in self.shapes:
            with open_source(place, shapes[0].table) as source:
                found += [SealedQuery(source, shape).nodes() for shape in shapes]
        return found

    def steps(self, before, after):
        """Return the largest step of each question, a draw's width counted as one."""
        found = []
        for draws, one, other, sql in zip(
            self.draws, before, after, self.words, strict=True
        ):
            largest = 0
            for (draw, graph), here, there in zip(draws, one, other, strict=True):
                moves = [
                    int(graph.distance(i, j)) for i, j in zip(here, there, strict=True)
                ]
                largest = max(largest, -(-sum(moves) // draw.width))
            found.append((largest, sql))
        return found


FIRST = [
    (k, 7 * k % 90, k / 7, ["north", "south", "west", "east"][k % 4], k % 2 == 0, DAY)
    for k in range(12)
]


def walk(kept, rows, near, move, turn=None):
    asked = Asked.of(near, dialect_of(kept.place), turn)
    before = asked.answers(kept.place)
    moved = set()
    for row in rows:
        move(kept, row)
        after = asked.answers(kept.place)
        for steps, sql in asked.steps(before, after):
            assert steps <= 1, (row, sql)
            moved |= {sql} if steps else set()
        before = after
    assert moved == set(QUESTIONS)  # the chain is not a standstill


# In each source half of the questions are asked of rows when somebody comes and of people when
# somebody changes, the other half the other way round; sources take turns with the halves.
@pytest.mark.parametrize("kind", FILES)
def test_somebody_comes(kind, tmp_path):
    rows, steps = hostile_rows(), 15
    kept = kind(tmp_path, FIRST + rows[steps:])
    walk(kept, rows[:steps], "add-remove", kind.put, FILES.index(kind) % 2)


@pytest.mark.parametrize("kind", FILES)
def test_somebody_changes(kind, tmp_path):
    rows, steps = hostile_rows(), 10
    kept = kind(tmp_path, FIRST + rows[steps:])
    walk(kept, rows[:steps], "change-one", kind.change, (FILES.index(kind) + 1) % 2)


def turning():
    """Rows that make a tidy table hostile: the first of a kind may change how it is read.

    Databases and files keep the smallest and the largest value of a column, and use them.
    """
    nan = float("nan")
    yield from (("a", 31, nan, "north", True, DAY), (90, 60, nan, "x", False, DAY))
    yield from ((91, 61, 1.2, "west", True, DAY), (92, -1, 1e101, "south", False, DAY))
    yield from (
        (93, 91, float("inf"), "", True, DAY),
        (94, 2**62, -1e101, "a\nb", True, DAY),
    )
    yield from (
        (None, 40, 1.5, b"north\xff", True, DAY),
        (95, None, None, None, None, None),
    )


@pytest.mark.parametrize("kind", FILES)
def test_a_tidy_table_turns_hostile(kind, tmp_path):
    walk(kind(tmp_path, FIRST), turning(), "add-remove", kind.put)


def test_postgresql(server):
    rows = FIRST + hostile_rows()
    for near, steps, move in (
        ("add-remove", 60, PostgreSQL.put),
        ("change-one", 20, PostgreSQL.change),
    ):
        kept = PostgreSQL(server, rows[steps:])
        with kept.db:
            walk(kept, rows[:steps], near, move)


# -- groups that nobody declared ------------------------------------------------------------------

FOUND = [
    "select region, count(*) from people group by region",
    "select region, count(distinct id) from people group by region",
    "select age, count(*) from people where smoker group by age",
    "select region, avg(height) from people group by region",
]


def sizes(place, near):
    """Return sizes and sums of the groups that are found: noise so exact that it shows all."""
    exact = noise_of(prove_shown_count(2000, "40", "0.9999999999"))
    columns = (
        "age = { bounds = [0, 90] }",
        'region = { values = ["north", "south", "west", "a\\nb", "", "x"] }',
    )
    written = FACTS.format(near=near, person='person = "id"\ncontributions = 1')
    for column in columns:
        name = column.partition(" ")[0]
        kind = "integer" if name == "age" else "text"
        written = written.replace(column, f'{name} = {{ type = "{kind}" }}')
    for sql in FOUND:
        shape = read_shape(sql, parse_facts(written), dialect_of(place))
        shape = shape.with_delta(Fraction(1, 2))
        sums = [
            proved(query(draw.query, neighbours=draw.neighbours), Epsilon.of(40))
            for draw in shape.draws[1:]
        ]
        with open_source(place, shape.table) as source:
            shown = SealedQuery(source, shape).draw([exact, *sums])
        # In steps from 0, which is where a group is that is not there.
        yield {
            (name, place): Fraction(number + draw.offset, draw.step)
            for name, *numbers in shown
            for place, (number, draw) in enumerate(
                zip(numbers, shape.draws, strict=True)
            )
        }


def walk_found(kept, rows, near, move):
    before = [*sizes(kept.place, near)]
    moved = set()
    for row in rows:
        move(kept, row)
        after = [*sizes(kept.place, near)]
        for sql, one, other in zip(FOUND, before, after, strict=True):
            steps = Counter()
            for name, place in one.keys() | other.keys():
                far = one.get((name, place), 0) - other.get((name, place), 0)
                steps[place] += abs(far)
            assert all(x <= 1 + (near != "add-remove") for x in steps.values()), row
            moved |= {sql} if any(steps.values()) else set()
        before = after
    return moved


@pytest.mark.parametrize("kind", FILES)
def test_found_groups(kind, tmp_path):
    rows = hostile_rows()
    kept = kind(tmp_path, FIRST + rows[3:])
    moved = walk_found(kept, rows[:2], "add-remove", kind.put)
    moved |= walk_found(kept, rows[2:3], "change-one", kind.change)
    assert moved


def test_found_groups_in_postgresql(server):
    rows = FIRST + hostile_rows()
    kept = PostgreSQL(server, rows[20:])
    with kept.db:
        moved = walk_found(kept, rows[:20], "add-remove", PostgreSQL.put)
    assert moved == set(FOUND)


# -- people with several rows -------------------------------------------------------------------

SEVERAL = [
    "select count(*) from people where age > 30",
    "select region, count(*) from people group by region",
    "select region, smoker, count(distinct id) from people group by region, smoker",
    "select count(*) filter (where smoker), count(*) filter (where age > 30) from people",
    "select count(distinct id) filter (where smoker), count(distinct id) filter (where age > 30) "
    "from people",
    "select region, sum(age) from people group by region",
    "select region, avg(age) from people group by region",
    "select region, median(age) from people group by region",
    "select region, mode(smoker) from people group by region",
]


def rows_of(chance, person):
    """Up to four rows of one person, of whom two count."""
    return [
        (person, chance.randrange(91), 1.5, chance.choice(["north", "south", "x"]),
         chance.random() < 0.5, DAY)
        for _ in range(chance.randrange(5))
    ]  # fmt: skip


@pytest.mark.parametrize("near", ["add-remove", "change-one", "either"])
def test_all_rows_of_a_person_move_as_many_steps_as_are_paid_for(near, tmp_path):
    facts = parse_facts(
        FACTS.format(near=near, person='person = "id"\ncontributions = 2')
    )
    facts = replace(
        facts, tables={"people": replace(facts.table("people"), population=8)}
    )
    chance, furthest = random.Random(20), dict.fromkeys(SEVERAL, 0)
    for _ in range(25):
        crowd = [rows_of(chance, k) for k in range(8)]
        other = [[] if near == "add-remove" else rows_of(chance, 0), *crowd[1:]]
        tables = [
            Arrow(tmp_path, list(itertools.chain(*rows))).place
            for rows in (crowd, other)
        ]
        for sql in SEVERAL:
            for shape in by_counts(read_shape(sql, facts)).ways():
                nodes = []
                for table in tables:
                    with open_source(table, shape.table) as source:
                        nodes.append(SealedQuery(source, shape).nodes())
                for draw, here, there in zip(shape.draws, *nodes, strict=True):
                    graph = Counts(near) if draw.by_score else graph_of(draw)
                    moves = sum(
                        int(graph.distance(i, j))
                        for i, j in zip(here, there, strict=True)
                    )
                    assert moves <= draw.width, (sql, draw)
                    furthest[sql] = max(furthest[sql], moves / draw.width)
    assert all(
        share >= 1 / 2 for share in furthest.values()
    )  # what is paid for is used


# -- questions with an answer graph of one's own -------------------------------------------------


def values(place):
    """Compute what declared questions may compute; each result is looked up, none may fail."""
    for person in ("", 'person = "id"\ncontributions = 2'):
        facts = parse_facts(FACTS.format(near="change-one", person=person))
        columns = {
            "min": ["age", "height", "born"],
            "sum": ["height"],
            "avg": ["age", "height"],
        }
        for word, names in {**columns, "max": columns["min"]}.items():
            for name in names:
                sql = f"select {word}({name}) from people where smoker or region <> 'x'"
                shape = read_shape(sql, facts, dialect_of(place), declared=True)
                assert isinstance(shape, Declared)
                with open_source(place, shape.table) as source:
                    assert SealedQuery(source, shape, ({}, 1)).node() == 1


@pytest.mark.parametrize("kind", FILES)
def test_declared_values(kind, tmp_path):
    values(kind(tmp_path, FIRST + hostile_rows()).place)


def test_declared_values_in_postgresql(server):
    kept = PostgreSQL(server, FIRST + hostile_rows())
    with kept.db:
        values(kept.place)


# -- the suite finds what was planted -------------------------------------------------------------


def test_a_cell_that_can_fail_is_found(tmp_path, monkeypatch):
    from tightrope.publish.sealed import SourceFailed
    from tightrope.publish.sources import TextFile

    monkeypatch.setattr(
        TextFile, "cell", lambda self, column, found: f'"{column.name}"::bigint'
    )
    with pytest.raises(SourceFailed):
        walk(Csv(tmp_path, FIRST), hostile_rows()[:20], "add-remove", Csv.put)


def moved_by_nobody(folder):
    """Return by how many steps a row without a person moves what is asked of people."""
    kept = Arrow(folder, FIRST)
    asked = Asked.of("add-remove", "duckdb", None)
    before = asked.answers(kept.place)
    kept.put((None, *PLAIN[1:]))
    steps = asked.steps(before, asked.answers(kept.place))
    of_people = steps[-len(QUESTIONS) :]
    return max(largest for largest, _ in of_people)


def test_rows_of_nobody_move_no_answer_about_people(tmp_path, monkeypatch):
    from tightrope.publish import sql_writer

    with_key = sql_writer.compiled

    def one_person_more(*given):
        return with_key(*given).replace('NOT "tightrope_person" IS NULL', "TRUE")

    assert moved_by_nobody(tmp_path) == 0
    monkeypatch.setattr(sql_writer, "compiled", one_person_more)
    assert moved_by_nobody(tmp_path) > 0
