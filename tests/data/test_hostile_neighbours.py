"""The same hostile tables in every source: neighbours fare alike and move at most one step.

A chain of tables begins with hundreds of hostile rows and grows by one at a time (somebody comes),
or has one row replaced at a time (somebody changes). Every table of the chain must get an answer,
as its neighbour does, and the two answers must be at most one step apart in the answer graph.
"""

import csv
import datetime
import itertools
import random
import sqlite3
from decimal import Decimal

import duckdb
import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tightrope.publish import parse_facts
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Kind
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query

COLUMNS = ("id", "age", "height", "region", "smoker", "born")
DAY = datetime.date(1990, 5, 17)
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
    return [(nobody[k % 7] if k % 3 == 0 else 1000 + k, *row[1:]) for k, row in enumerate(rows)]


FACTS = """
[tables.people]
population = 2000
neighbours = "{near}"
budget = "1"
{person}

[tables.people.columns]
id = {{ type = "integer" }}
age = {{ bounds = [0, 90] }}
height = {{ type = "number" }}
region = {{ values = ["north", "south", "west", "a\\nb", "", "x"] }}
smoker = {{ type = "boolean" }}
born = {{ type = "date" }}
"""
QUESTIONS = [
    "select count(*) from people where age > 30",
    "select sum(age) from people where height < 3.5 or height is null",
    "select region, count(*) from people group by region",
    "select count(*) filter (where height > 1), count(*) filter (where region <> 'south'), "
    "count(*) filter (where born >= '1980-06-01') from people",
    "select count(*) from people where smoker and born < '2000-01-01' and age > height",
    "select count(distinct id) from people where region in ('north', 'a\nb', '') or not smoker",
    "select smoker, floor(age / 30) * 30 as bin, count(*) from people group by smoker, bin",
    "select avg(age) from people where smoker or region <> 'south'",
    "select region, sum(age) from people group by region",
    "select case when height > 1 then 'a' else 'b' end as h, avg(age) from people group by h",
]


# -- how each source keeps rows -----------------------------------------------------------------


def as_type(value, kind):
    """Return what a column of a strict type can hold of a value: itself, or nothing."""
    if kind in ("hugeint", "bigint"):
        most = 2**127 if kind == "hugeint" else 2**63
        fits = isinstance(value, int) and not isinstance(value, bool) and -most <= value < most
        return value if fits else None
    if kind == "double":
        return float(value) if isinstance(value, float) else None
    if kind == "numeric":
        return value if isinstance(value, Decimal | float) else None
    if kind in ("text", "utf8"):
        if isinstance(value, bytes):
            return value if kind == "text" else None
        return value if isinstance(value, str) and (kind == "utf8" or "\0" not in value) else None
    wanted = bool if kind == "boolean" else datetime.date
    return value if type(value) is wanted else None


def strictly(rows, kinds):
    return [tuple(as_type(v, kind) for v, kind in zip(row, kinds, strict=True)) for row in rows]


def arrow(rows, text="text"):
    kinds = ("bigint", "bigint", "double", text, "boolean", "date")
    types = (pa.int64(), pa.int64(), pa.float64(), pa.binary(), pa.bool_(), pa.date32())
    held = list(zip(*strictly(rows, kinds), strict=True))
    raw = [v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in held[3]]
    arrays = [pa.array(raw if k == 3 else held[k], types[k]) for k in range(6)]
    # Text by its type, bytes by its content: nobody looked whether it is UTF-8.
    arrays[3] = pa.Array.from_buffers(pa.string(), len(raw), arrays[3].buffers())
    return pa.table(arrays, names=COLUMNS)


class Kept:
    """A table in one kind of source that a row can be put into and taken from."""

    def __init__(self, folder, rows):
        self.folder, self.rows = folder, list(rows)
        self.write()

    def write(self):
        raise NotImplementedError

    def put(self, row):
        self.rows.append(row)
        self.write()

    def change(self, row):
        self.rows = [*self.rows[1:], row]
        self.write()


class Csv(Kept):
    def write(self):
        self.place = self.folder / "people.csv"
        with self.place.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            out = csv.writer(file)
            out.writerow(COLUMNS)
            for row in self.rows:
                shown = [
                    v.decode(errors="surrogateescape") if isinstance(v, bytes) else v for v in row
                ]
                out.writerow([None if v is None else str(v).replace("\0", "") for v in shown])


class Parquet(Kept):
    def write(self):
        self.place = self.folder / "people.parquet"
        pq.write_table(arrow(self.rows), self.place)


class PolarsFile(Parquet):
    def write(self):
        super().write()
        self.place = f"polars:{self.place}"


class Arrow(Kept):
    def write(self):
        self.place = arrow(self.rows)


class Pandas(Kept):
    def write(self):
        self.place = pd.DataFrame(self.rows, columns=COLUMNS, dtype=object)


class GuessingPandas(Kept):
    """Types by pandas itself, as it reads whole numbers with one missing as floats."""

    def write(self):
        self.place = pd.DataFrame(self.rows, columns=COLUMNS)


class Polars(Kept):
    def write(self):
        kinds = ("bigint", "bigint", "double", "utf8", "boolean", "date")
        types = (pl.Int64, pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Date)
        schema = dict(zip(COLUMNS, types, strict=True))
        self.place = pl.DataFrame(strictly(self.rows, kinds), schema=schema, orient="row")


class Lazy(Polars):
    def write(self):
        super().write()
        self.place = self.place.lazy()


class Ibis(Kept):
    def write(self):
        rows = arrow(self.rows)
        held = rows.set_column(3, "region", rows["region"].cast(pa.binary()))
        self.place = ibis.memtable(held).mutate(one=1)


class DuckDB(Kept):
    kinds = ("hugeint", "hugeint", "double", "utf8", "boolean", "date")

    def write(self):
        path = self.folder / "people.duckdb"
        with duckdb.connect(str(path)) as db:
            db.execute(
                "create table people (id hugeint, age hugeint, height double, region varchar, "
                "smoker boolean, born date)"
            )
            self._insert(db, self.rows)
        self.place = f"duckdb:///{path}"

    def _insert(self, db, rows):
        held = strictly(rows, self.kinds)
        db.executemany("insert into people values (?, ?, ?, ?, ?, ?)", held)

    def put(self, row, more="select 1"):
        with duckdb.connect(str(self.folder / "people.duckdb")) as db:
            db.execute(more)
            self._insert(db, [row])

    def change(self, row):
        self.put(row, "delete from people where rowid = (select min(rowid) from people)")


class SQLite(Kept):
    def write(self):
        self.place = f"sqlite:///{self.folder / 'people.sqlite'}"
        self._run("create table people (id, age, height, region, smoker, born)", self.rows)

    def _run(self, first, rows):
        with sqlite3.connect(self.folder / "people.sqlite") as db:
            db.execute(first)
            for row in rows:
                big = (Decimal, datetime.date)
                held = [
                    str(v) if isinstance(v, big) or (type(v) is int and abs(v) >= 2**63) else v
                    for v in row
                ]
                # Bytes that call themselves a text.
                wrap = ["cast(? as text)" if isinstance(v, bytes) else "?" for v in held]
                db.execute(f"insert into people values ({', '.join(wrap)})", held)
        db.close()

    def put(self, row):
        self._run("select 1", [row])

    def change(self, row):
        self._run("delete from people where rowid = (select min(rowid) from people)", [row])


class PostgreSQL(Kept):
    kinds = ("bigint", "bigint", "numeric", "text", "boolean", "date")
    numbers = itertools.count()

    def __init__(self, server, rows):
        self.place = server.new_database(f"hostile{next(self.numbers)}")
        self.db = psycopg.connect(self.place, autocommit=True)
        self.db.execute(
            "create table people (n serial, id bigint, age bigint, height numeric, region text, "
            "smoker boolean, born date)"
        )
        for row in rows:
            self.put(row)

    def put(self, row):
        (held,) = strictly([row], self.kinds)
        held = [None if isinstance(v, bytes) or v == "\ud800" else v for v in held]
        if row[5] == "infinity":
            held[5] = "infinity"
        if isinstance(row[2], str) and "1e" in row[2]:
            held[2] = Decimal(row[2])
        self.db.execute(
            "insert into people (id, age, height, region, smoker, born) "
            "values (%s, %s, %s, %s, %s, %s)", held,
        )  # fmt: skip

    def change(self, row):
        self.db.execute("delete from people where n = (select min(n) from people)")
        self.put(row)


FILES = [
    Csv,
    Parquet,
    PolarsFile,
    Arrow,
    Pandas,
    GuessingPandas,
    Polars,
    Lazy,
    Ibis,
    DuckDB,
    SQLite,
]


# -- the chain ----------------------------------------------------------------------------------


class Asked:
    """All questions about a table, and how far their answers are apart."""

    def __init__(self, near, dialect):
        self.shapes = []
        for person in ("", 'person = "id"\ncontributions = 1'):
            facts = parse_facts(FACTS.format(near=near, person=person))
            words = [sql for sql in QUESTIONS if person or "distinct" not in sql]
            self.shapes.append([read_shape(sql, facts, dialect) for sql in words])
        self.words = [sql for sql in QUESTIONS if "distinct" not in sql] + QUESTIONS
        self.draws = [
            [(draw, query(draw.query, neighbours=draw.neighbours).graph) for draw in shape.draws]
            for shape in itertools.chain(*self.shapes)
        ]

    def answers(self, place):
        found = []
        for shapes in self.shapes:
            with open_source(place, shapes[0].table) as source:
                found += [SealedQuery(source, shape).nodes() for shape in shapes]
        return found

    def steps(self, before, after):
        """Return the largest step of each question; no more groups move than a draw's width."""
        found = []
        for draws, one, other, sql in zip(self.draws, before, after, self.words, strict=True):
            largest = 0
            for (draw, graph), here, there in zip(draws, one, other, strict=True):
                moves = [int(graph.distance(i, j)) for i, j in zip(here, there, strict=True)]
                assert sum(map(bool, moves)) <= draw.width, sql
                largest = max(largest, *moves)
            found.append((largest, sql))
        return found


FIRST = [
    (k, 7 * k % 90, k / 7, ["north", "south", "west", "east"][k % 4], k % 2 == 0, DAY)
    for k in range(12)
]


def walk(kept, rows, near, move):
    asked = Asked(near, dialect_of(kept.place))
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


@pytest.mark.parametrize("kind", FILES)
def test_somebody_comes(kind, tmp_path):
    rows, steps = hostile_rows(), 20
    walk(kind(tmp_path, FIRST + rows[steps:]), rows[:steps], "add-remove", kind.put)


@pytest.mark.parametrize("kind", FILES)
def test_somebody_changes(kind, tmp_path):
    rows, steps = hostile_rows(), 10
    walk(kind(tmp_path, FIRST + rows[steps:]), rows[:steps], "change-one", kind.change)


def test_postgresql(server):
    rows = FIRST + hostile_rows()
    for near, steps, move in (
        ("add-remove", 60, PostgreSQL.put),
        ("change-one", 20, PostgreSQL.change),
    ):
        kept = PostgreSQL(server, rows[steps:])
        with kept.db:
            walk(kept, rows[:steps], near, move)


# -- questions with an answer graph of one's own -------------------------------------------------


def values(place):
    """Compute what declared questions may compute; each result is looked up, none may fail."""
    for person in ("", 'person = "id"\ncontributions = 2'):
        facts = parse_facts(FACTS.format(near="change-one", person=person))
        columns = {"min": ["age", "height", "born"], "sum": ["height"], "avg": ["age", "height"]}
        for word, names in {**columns, "max": columns["min"]}.items():
            for name in names:
                sql = f"select {word}({name}) from people where smoker or region <> 'x'"
                shape = read_shape(sql, facts, dialect_of(place), declared=True)
                assert shape.kind is Kind.DECLARED
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

    monkeypatch.setattr(TextFile, "cell", lambda self, column, found: f'"{column.name}"::bigint')
    with pytest.raises(SourceFailed):
        walk(Csv(tmp_path, FIRST), hostile_rows()[:20], "add-remove", Csv.put)


def test_rows_of_nobody_that_are_somebody_are_found(tmp_path, monkeypatch):
    from tightrope.publish import sealed

    with_key = sealed.compiled

    def one_person_more(shape, source, found):
        return with_key(shape, source, found).replace('NOT "tightrope_person" IS NULL', "TRUE")

    monkeypatch.setattr(sealed, "compiled", one_person_more)
    nobody = [(None, *PLAIN[1:]), (None, 7, *PLAIN[2:]), (None, *PLAIN[1:3], "west", *PLAIN[4:])]
    rows = [row for row in hostile_rows() if row[0] is None]
    with pytest.raises(AssertionError):
        walk(Arrow(tmp_path, FIRST + nobody), rows[:20] + nobody, "add-remove", Arrow.put)
