"""One table in every database: the same rows in DuckDB, SQLite, PostgreSQL and Spark."""

import csv
import datetime
import hashlib
import itertools
import os
import socket
import sqlite3
import warnings
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import duckdb
import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom
from tests.servers import Server

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Shape
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query


def least_held(releases):
    """Return how many of so many intervals of 95 % hold the truth, but once in 10^9 series.

    There are up to a thousand numbers in a run of all suites: one false alarm in a million runs.
    """
    return int(binom.ppf(1e-9, releases, 0.95))


#: id, age, region, smoker, born. Some ids and ages are missing, some ages absurd.
ROWS = [
    (
        None if i > 115 else i // 2,
        None
        if i % 17 == 0
        else (500 if i % 19 == 0 else (-3 if i % 23 == 0 else i * 7 % 90)),
        ["north", "south", "west", None, "atlantis"][i * i % 5],
        i % 3 == 0,
        datetime.date(1950, 1, 1) + datetime.timedelta(days=211 * i),
    )
    for i in range(120)
]

FACTS = """
[tables.people]
population = 150
neighbours = "add-remove"
budget = "400"

[tables.people.columns]
age = { bounds = [0, 90] }
region = { values = ["north", "south", "west"] }
smoker = { type = "boolean" }
born = { bounds = [1950-01-01, 2030-12-31] }

[tables.people.partitions.region]
column = "region"
parts = { north = ["north"], rest = ["south", "west"] }
"""

#: The same rows, when one person may have several of them: one that counts, or two.
PAIRS = """
[tables.pairs]
relation = "people"
population = 80
neighbours = "change-one"
person = "id"
contributions = 1
budget = "400"

[tables.pairs.columns]
age = { bounds = [0, 90] }
region = { values = ["north", "south", "west"] }
smoker = { type = "boolean" }
"""

VISITS = """
[tables.visits]
relation = "people"
population = 80
neighbours = "add-remove"
person = "id"
contributions = 2
budget = "400"

[tables.visits.columns]
age = { bounds = [0, 90] }
"""


def rows_that_count(rows, keep, value, secret=""):
    """Return the rows of each person that count, by the same hash in plain Python.

    The value of a row is what the answer depends on: its place among the groups, or its name.
    """
    copies = Counter()
    hashed = []
    for row in rows:
        about = (row[0], value(row))
        copies[about] += 1
        text = f"{secret}/{row[0]}/{value(row)}/{copies[about]}"
        hashed.append((row[0], hashlib.md5(text.encode()).hexdigest(), row))
    kept = {}
    for person, _, row in sorted(hashed, key=lambda one: one[:2]):
        kept.setdefault(person, []).append(row)
    return [row for mine in kept.values() for row in mine[:keep]]


_COLUMNS = "id integer, age integer, region text, smoker boolean, born date"


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    running.remove()


@pytest.fixture(scope="session")
def spark(parquet, tmp_path_factory):
    """A local session that has the table, and is a Spark Connect server too."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            # A hundred rows are not worth compiling for.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.adaptive.enabled", "false")
            .config(
                "spark.driver.extraJavaOptions",
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            )
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
            .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
            .config("spark.connect.grpc.binding.address", "127.0.0.1")
            .config("spark.connect.grpc.binding.port", str(free_port()))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        session.read.parquet(str(parquet)).createOrReplaceTempView("people")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def parquet(tmp_path_factory):
    """The rows as a Parquet file and a CSV file, written by DuckDB."""
    folder = tmp_path_factory.mktemp("files")
    with duckdb.connect(str(folder / "people.duckdb")) as db:
        db.execute(f"create table people ({_COLUMNS.replace('text', 'varchar')})")
        db.executemany("insert into people values (?, ?, ?, ?, ?)", ROWS)
        db.execute(f"copy people to '{folder}/people.parquet'")
        db.execute(f"copy people to '{folder}/people.csv'")
    return folder / "people.parquet"


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory):
    """The rows in a SQLite file, which has neither truth values nor dates of its own."""
    path = tmp_path_factory.mktemp("sqlite") / "people.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"create table people ({_COLUMNS})")
    db.executemany(
        "insert into people values (?, ?, ?, ?, ?)",
        [(*row[:3], int(row[3]), row[4].isoformat()) for row in ROWS],
    )
    db.commit()
    db.close()
    return f"sqlite:///{path}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


SOURCES = ["duckdb", "parquet", "csv", "sqlite", "postgresql"]


@pytest.fixture(scope="session", params=SOURCES)
def source(request, parquet, tmp_path_factory):
    """The address of the table in each kind of source."""
    kind = request.param
    if kind == "duckdb":
        return f"duckdb:///{parquet.with_suffix('.duckdb')}"
    if kind in ("parquet", "csv"):
        return str(parquet.with_suffix(f".{kind}"))
    if kind == "sqlite":
        return request.getfixturevalue("sqlite")
    address = request.getfixturevalue("server").new_database("people")
    with psycopg.connect(address) as db:
        db.execute(f"create table people ({_COLUMNS})")
        db.cursor().executemany("insert into people values (%s, %s, %s, %s, %s)", ROWS)
    return address


@pytest.fixture(scope="session")
def counting():
    """A mechanism for counts of the people in the table."""
    noise = GeometricChannel(151, "ln(2)")
    return certify(noise, "count(150)", "ln(2)", neighbours="add-remove")


def truth_of(place, sql, facts, part=None):
    """The true answer of SQL on a source, by the steps of a release but its noise."""
    shape = sql if isinstance(sql, Shape) else read_shape(sql, facts, dialect_of(place))
    if part is not None:
        shape = replace(shape, part=(shape.table.partition("region", part), part))
    graph = query(shape.question, neighbours=shape.table.neighbours).graph
    with open_source(place, shape.table) as opened:
        return graph.label(SealedQuery(opened, shape).node())


# -- how each source keeps rows, hostile ones too ------------------------------------------------

COLUMNS = ("id", "age", "height", "region", "smoker", "born")
DAY = datetime.date(1990, 5, 17)


def as_type(value, kind):
    """Return what a column of a strict type can hold of a value: itself, or nothing."""
    if kind in ("hugeint", "bigint"):
        most = 2**127 if kind == "hugeint" else 2**63
        fits = (
            isinstance(value, int)
            and not isinstance(value, bool)
            and -most <= value < most
        )
        return value if fits else None
    if kind == "double":
        return float(value) if isinstance(value, float) else None
    if kind == "numeric":
        return value if isinstance(value, Decimal | float) else None
    if kind in ("text", "utf8"):
        if isinstance(value, bytes):
            return value if kind == "text" else None
        return (
            value
            if isinstance(value, str) and (kind == "utf8" or "\0" not in value)
            else None
        )
    wanted = bool if kind == "boolean" else datetime.date
    return value if type(value) is wanted else None


def strictly(rows, kinds):
    return [
        tuple(as_type(v, kind) for v, kind in zip(row, kinds, strict=True))
        for row in rows
    ]


def arrow(rows, text="text"):
    kinds = ("bigint", "bigint", "double", text, "boolean", "date")
    types = (pa.int64(), pa.int64(), pa.float64(), pa.binary(), pa.bool_(), pa.date32())
    held = list(zip(*strictly(rows, kinds), strict=True))
    raw = [
        v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in held[3]
    ]
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
        with self.place.open(
            "w", newline="", encoding="utf-8", errors="surrogateescape"
        ) as file:
            out = csv.writer(file)
            out.writerow(COLUMNS)
            for row in self.rows:
                shown = [
                    v.decode(errors="surrogateescape") if isinstance(v, bytes) else v
                    for v in row
                ]
                out.writerow(
                    [None if v is None else str(v).replace("\0", "") for v in shown]
                )


class Parquet(Kept):
    def write(self):
        self.place = self.folder / "people.parquet"
        pq.write_table(arrow(self.rows), self.place)


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
        self.place = pl.DataFrame(
            strictly(self.rows, kinds), schema=schema, orient="row"
        )


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
        self.put(
            row, "delete from people where rowid = (select min(rowid) from people)"
        )


class SQLite(Kept):
    def write(self):
        self.place = f"sqlite:///{self.folder / 'people.sqlite'}"
        self._run(
            "create table people (id, age, height, region, smoker, born)", self.rows
        )

    def _run(self, first, rows):
        with sqlite3.connect(self.folder / "people.sqlite") as db:
            db.execute(first)
            for row in rows:
                big = (Decimal, datetime.date)
                held = [
                    str(v)
                    if isinstance(v, big) or (type(v) is int and abs(v) >= 2**63)
                    else v
                    for v in row
                ]
                # Bytes that call themselves a text.
                wrap = [
                    "cast(? as text)" if isinstance(v, bytes) else "?" for v in held
                ]
                db.execute(f"insert into people values ({', '.join(wrap)})", held)
        db.close()

    def put(self, row):
        self._run("select 1", [row])

    def change(self, row):
        self._run(
            "delete from people where rowid = (select min(rowid) from people)", [row]
        )


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
    Arrow,
    Pandas,
    GuessingPandas,
    Polars,
    Lazy,
    Ibis,
    DuckDB,
    SQLite,
]
