"""Events beside their people, and one number a person, on every source, hostile rows and all.

A person is all of their rows in both tables. Whoever comes, goes or changes must move each answer
at most one step, and no row may make a query fail.
"""

import itertools
import random
import sqlite3

import duckdb
import pytest
from tests.data import conftest as kept
from tests.data.test_hostile_neighbours import (
    FIRST,
    HOSTILE,
    Counts,
    by_counts,
    graph_of,
)

from tightrope.asking import ask
from tightrope.errors import InputError
from tightrope.publish import parse_facts, sql_writer
from tightrope.publish.ledger import Ledger
from tightrope.publish.relations import declared_tables
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import dialect_of, open_sources
from tightrope.publish.sql_reader import read_shapes

FACTS = """
[tables.people]
population = 60
neighbours = "{near}"
budget = "1"
key = "id"

[tables.people.columns]
id = {{ type = "integer" }}
age = {{ bounds = [0, 90] }}
region = {{ values = ["north", "south", "x"] }}
smoker = {{ type = "boolean" }}

[tables.visits]
people = "people"
person = "id"
contributions = 2

[tables.visits.columns]
id = {{ type = "integer" }}
age = {{ bounds = [0, 90] }}
height = {{ bounds = [-0.5, 2.5], step = 0.1 }}
region = {{ values = ["north", "south", "x"] }}
smoker = {{ type = "boolean" }}
born = {{ bounds = [1980-01-01, 2009-12-31] }}
"""
EACH = (
    "(select id, count(*) as n, sum(age) as total, max(height) as top, min(born) as first, "
    "bool_or(smoker) as ever, count(distinct region) as places from visits "
    "where age > 3 or age is null group by id)"
)
QUESTIONS = [
    "select count(*) from visits join people using (id) where people.age > 30",
    "select p.region, sum(v.age) from visits v join people p on v.id = p.id group by p.region",
    "select v.region, count(distinct v.id) from visits v left join people p on v.id = p.id "
    "where not p.smoker or p.smoker is null group by v.region",
    "select p.region, count(distinct v.id) from visits v join people p on v.id = p.id "
    "group by p.region",
    "select p.region, p.smoker, count(*) from visits v join people p on v.id = p.id "
    "where p.age > 20 and v.region in ('north', 'x') group by p.region, p.smoker",
    f"select avg(total) from {EACH} e where n > 1 or ever",
    "select p.region, count(*) from people p where age > 30 or not exists (select * from visits v "
    "where v.id = p.id and v.age > 3) group by p.region",
    "select avg(n) from (select id, count(*) as n from visits group by id having max(age) > 9) e",
    f"select places, count(*) from {EACH} e group by places",
    f"select p.region, median(n) from {EACH} e join people p on e.id = p.id group by p.region",
    f"select floor(year(e.first) / 10) as decade, sum(p.age) from people p left join {EACH} e "
    "on p.id = e.id where top > 1 or top is null group by decade",
]


def data_of(kind, folder, people, visits, server=None):
    """Return both tables in one kind of source."""
    if kind in (kept.DuckDB, kept.SQLite):
        table = kind(folder, visits)
        path = str(table.place).split("///")[1]
        module = duckdb if kind is kept.DuckDB else sqlite3
        db = module.connect(path)
        db.execute("alter table people rename to visits")
        db.commit()
        db.close()
        table.rows = people
        table.write()
        return table.place
    if kind == "spark":
        for name, rows in (("visits", visits), ("people", people)):
            place = kept.Parquet(_made(folder / name), rows).place
            server.read.parquet(str(place)).createOrReplaceTempView(name)
        return server
    if kind is kept.PostgreSQL:
        table = kind(server, visits)
        table.db.execute("alter table people rename to visits")
        table.db.execute("create table people (like visits including defaults)")
        for row in people:
            table.put(row)
        table.db.close()
        return table.place
    places = {}
    for name, rows in (("visits", visits), ("people", people)):
        places[name] = kind(_made(folder / name), rows).place
    return places


def _made(folder):
    folder.mkdir()
    return folder


def asked(near, dialect):
    facts = parse_facts(FACTS.format(near=near))
    return [
        by_counts(shape)
        for sql in QUESTIONS
        for shape in read_shapes(sql, facts, dialect)
    ]


def nodes_of(data, shapes):
    found = []
    for shape in shapes:
        with open_sources(data, declared_tables(shape.table)) as sources:
            found.append(SealedQuery(sources, shape).nodes())
    return found


def moves(shape, near, before, after):
    """Return how many steps each draw makes, and how many are paid for."""
    for draw, here, there in zip(shape.draws, before, after, strict=True):
        graph = Counts(near) if draw.by_score else graph_of(draw)
        steps = (int(graph.distance(i, j)) for i, j in zip(here, there, strict=True))
        yield sum(steps), draw.width


def rows_of(chance, person, most=4):
    """Rows of one person, tidy and hostile ones."""

    def cell(place):
        tidy = chance.choice(FIRST)[place]
        return chance.choice(HOSTILE) if chance.random() < 0.4 else tidy

    return [
        (person, *(cell(place) for place in range(1, 6)))
        for _ in range(chance.randrange(most))
    ]


def somebody(chance, person, most=4):
    """All rows of one person: in the table of people, of whom one counts, and of visits."""
    return [rows_of(chance, person, 3), rows_of(chance, person, most)]


def walk(kind, folder, near, steps, server=None, most=4):
    """Add, or replace, one person after the other, with all their rows in both tables."""
    chance = random.Random(38)
    nobody = [None, "", float("nan"), "x", 2.5]
    crowd = [somebody(chance, k, most) for k in [*range(20), *nobody]]
    shapes = before = None
    moved = set()
    for step in range(steps + 1):
        place = chance.randrange(len(crowd))
        if step and near != "add-remove":
            crowd[place] = somebody(chance, place if place < 20 else None, most)
        elif step % 2:
            crowd.pop(place)
        elif step:
            crowd.append(somebody(chance, 100 + step, most))
        own = _made(folder / f"step{step}")
        people, visits = (list(itertools.chain(*(c[k] for c in crowd))) for k in (0, 1))
        data = data_of(kind, own, people, visits, server)
        if shapes is None:
            place = next(iter(data.values())) if isinstance(data, dict) else data
            shapes = asked(near, dialect_of(place))
        after = nodes_of(data, shapes)
        if before is not None:
            for k, shape in enumerate(shapes):
                for made, paid in moves(shape, near, before[k], after[k]):
                    assert made <= paid, (k, shape.titles)
                    moved |= {k} if made else set()
        before = after
    return moved


KINDS = [
    kept.Csv,
    kept.Parquet,
    kept.Arrow,
    kept.Pandas,
    kept.Polars,
    kept.DuckDB,
    kept.SQLite,
]


@pytest.mark.parametrize("kind", KINDS)
def test_one_person_is_one_step(kind, tmp_path):
    moved = walk(kind, tmp_path, "either", 5)
    assert len(moved) >= 4  # the chain is not a standstill


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
def test_every_relation(near, tmp_path):
    walk(kept.Arrow, tmp_path, near, 12)


def test_postgresql(server, tmp_path):
    assert walk(kept.PostgreSQL, tmp_path, "either", 4, server)


def test_rows_that_are_not_counted_out_are_found(tmp_path, monkeypatch):
    whole = sql_writer.compiled

    def all_rows(shape, opened, secret):
        return whole(shape, opened, secret).replace(
            "LEAST(COUNT(*), 2)", "LEAST(COUNT(*), 99)"
        )

    monkeypatch.setattr(sql_writer, "compiled", all_rows)
    with pytest.raises(AssertionError):
        walk(kept.Arrow, tmp_path, "either", 12, most=12)


# -- one account --------------------------------------------------------------------------------

PEOPLE = [
    (k, 20 + k, 1.5, ["north", "south"][k % 2], True, kept.DAY) for k in range(60)
]
VISITS = [(k % 50, k % 90, 1.5, "x", k % 3 == 0, kept.DAY) for k in range(200)]


@pytest.fixture
def town(tmp_path):
    facts = parse_facts(FACTS.format(near="change-one").replace('"1"', '"6"'))
    data = data_of(kept.Csv, tmp_path, PEOPLE, VISITS)
    return {
        "facts": facts,
        "data": data,
        "ledger": tmp_path / "ledger.db",
        "epsilon": 1,
    }


def test_all_tables_of_the_people_have_one_budget(town):
    answers = [
        ask(sql, **town)
        for sql in (
            "select count(*) as n from people where age < 50",
            "select count(distinct id) as n from visits",
            "select p.region, count(*) as n from visits v join people p on v.id = p.id "
            "group by p.region",
            "select count(*) as n from (select id, count(*) as k from visits group by id) e "
            "where k > 3",
        )
    ]
    assert [answer.remaining for answer in answers] == [5, 4, 3, 2]
    assert abs(answers[0].value - 30) < 20
    assert abs(answers[3].value - 50) < 20
    ledger = Ledger(town["ledger"])
    assert list(ledger.accounts()) == ["table people"]
    bound = ledger.account("table people").bound
    assert {name.rpartition("/")[2] for name in bound.source if "file:" in name} == {
        "people.csv"  # both tables, each in a folder of its own
    }
    assert len(bound.source) == 4


def test_events_do_not_leave_their_people(town):
    """Facts that no longer say whose rows they are would open a second budget."""
    ask("select count(*) as n from visits", **town)
    alone = FACTS.format(near="change-one").replace(
        'people = "people"', 'population = 50\nbudget = "9"'
    )
    for facts in (alone, alone.replace("tables.visits", "tables.others")):
        known = parse_facts(facts)
        data = {**town["data"], "others": town["data"]["visits"]}
        name = "others" if "others" in facts else "visits"
        with pytest.raises(InputError, match="has an account already: table people"):
            ask(
                f"select count(*) as n from {name}",
                **{**town, "facts": known, "data": data},
            )


def test_the_people_are_counted_where_their_number_is_public(town, tmp_path):
    fewer = _made(tmp_path / "fewer")
    data = data_of(kept.Csv, fewer, PEOPLE[1:], VISITS)
    with pytest.raises(InputError, match="table people holds 59 people"):
        ask("select count(*) as n from visits", **{**town, "data": data})


def test_tables_at_two_places_are_refused(town, tmp_path):
    path = data_of(kept.SQLite, _made(tmp_path / "base"), PEOPLE, VISITS)
    data = {**town["data"], "visits": path}
    with pytest.raises(InputError, match="must be at one place"):
        ask("select count(*) as n from visits", **{**town, "data": data})
    with pytest.raises(InputError, match="data has no table 'people'"):
        ask("select count(*) as n from visits", **{**town, "data": {"visits": path}})


REFUSED = {
    "select count(*) from visits a join visits b on a.id = b.id": "several rows for a person",
    "select count(*) from visits v join people p on v.age = p.age": "by the person alone",
    "select count(*) from people left join visits using (id)": "several rows for a person",
    "select count(*) from people a join people b on a.id = b.id": "joined with itself",
    "select age from visits join people using (id)": "a column of several tables",
    "select avg(n) from (select region, count(*) n from visits group by region) t": "by the person",
    "select avg(n) from (select id, avg(age) n from visits group by id) t": "within a person",
    "select avg(n) from (select id, sum(height) n from visits group by id) t": "whole numbers",
    "select count(*) from (select id, max(region) m from visits group by id) t": "order of texts",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_other_joins_are_refused(sql):
    with pytest.raises(InputError, match=REFUSED[sql]):
        read_shapes(sql, parse_facts(FACTS.format(near="either")))


BROKEN = {
    'people = "folk"': "must name the declared table of people",
    'people = "people"\nbudget = "3"': "is that of its people",
    'people = "people"\npopulation = 3': "is that of its people",
}


@pytest.mark.parametrize("line", BROKEN)
def test_facts_about_people_are_checked(line):
    text = FACTS.format(near="either").replace('people = "people"', line)
    with pytest.raises(InputError, match=BROKEN[line]):
        parse_facts(text)
    with pytest.raises(
        InputError, match=r"people\.key the column that tells people apart"
    ):
        parse_facts(FACTS.format(near="either").replace('key = "id"', ""))
