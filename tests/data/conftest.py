"""One table in every database: the same rows in DuckDB, SQLite, PostgreSQL and Spark."""

import datetime
import os
import socket
import sqlite3
import warnings
from dataclasses import replace

import duckdb
import psycopg
import pytest
from tests.servers import Server

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Shape
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query

#: id, age, region, smoker, born. Some ids and ages are missing, some ages absurd.
ROWS = [
    (
        None if i > 115 else i // 2,
        None if i % 17 == 0 else (500 if i % 19 == 0 else (-3 if i % 23 == 0 else i * 7 % 90)),
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
born = { type = "date" }

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
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
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


SOURCES = ["duckdb", "parquet", "csv", "polars", "sqlite", "postgresql"]


@pytest.fixture(scope="session", params=SOURCES)
def source(request, parquet, tmp_path_factory):
    """The address of the table in each kind of source."""
    kind = request.param
    if kind == "duckdb":
        return f"duckdb:///{parquet.with_suffix('.duckdb')}"
    if kind in ("parquet", "csv"):
        return str(parquet.with_suffix(f".{kind}"))
    if kind == "polars":
        return f"polars:{parquet}"
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
