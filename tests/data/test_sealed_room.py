"""Attacks on what lies between the charge and the answer, each by the release path itself.

Before the charge only the catalogue and the declared facts are used; after it every outcome is an
answer or one and the same sentence, and no message holds a value.
"""

import ast
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.conftest import truth_of

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.graphs import Clique
from tightrope.publish import (
    DeclaredQuestion,
    Ledger,
    SourceFailed,
    parse_facts,
    release,
    sealed,
)
from tightrope.queries import query

SECRET = "4711"


def noise(people, neighbours="add-remove"):
    made = GeometricChannel(people + 1, "ln(2)")
    text = f"count({people})"
    return certify(made, text, "ln(2)", neighbours=neighbours)


def facts(columns, neighbours="add-remove", population=50, more=""):
    return parse_facts(
        f'[tables.people]\npopulation = {population}\nneighbours = "{neighbours}"\n'
        f'budget = "100"\n{more}\n[tables.people.columns]\n{columns}\n'
    )


def asked(tmp_path, data, sql, known, mechanism=None, **more):
    """Return the outcome of one release, and the ledger."""
    number = len(list(tmp_path.glob("ledger*.db")))
    book = Ledger.create(tmp_path / f"ledger{number}.db")
    try:
        done = release(
            mechanism or noise(50), data=data, sql=sql, ledger=book, facts=known, **more
        )
    except (InputError, SourceFailed) as refused:
        outcome: Any = refused
    else:
        return done, book
    assert SECRET not in str(outcome)
    return type(outcome).__name__, book


def spent(book):
    return book.account("table people").spent


# -- no row is run before the charge ----------------------------------------------------------


def a_lazy_frame(ran):
    def fail(value):
        ran.append(value)
        raise ValueError(f"cell {SECRET}")

    frame = pl.DataFrame({"age": [4711, 3]}).lazy()
    return frame.with_columns(pl.col("age").map_elements(fail, return_dtype=pl.Int64))


def an_ibis_expression(ran):
    people = ibis.memtable(pa.table({"name": ["3", SECRET + "x"]}))
    return people.mutate(age=people.name.cast("int64"))


@pytest.mark.parametrize("made", [a_lazy_frame, an_ibis_expression])
def test_a_plan_runs_after_the_charge_and_quotes_nothing(tmp_path, made, monkeypatch):
    ran = []
    plan = made(ran)
    charged = []
    monkeypatch.setattr(
        Ledger, "charge", _noting(Ledger.charge, lambda: charged.append(len(ran)))
    )
    known = facts("age = { bounds = [0, 90] }")
    outcome, book = asked(
        tmp_path, plan, "select count(*) from people where age > 2", known
    )
    assert charged == [0]  # charged once, before any row was seen
    assert outcome == "SourceFailed"
    assert spent(book) > 0


def _noting(step, note):
    def noted(*args, **options):
        note()
        return step(*args, **options)

    return noted


# -- types are never taken from values --------------------------------------------------------

AGES = {
    "whole": [31, 44],
    "missing": [31, None],
    "text": [31, SECRET],
    "huge": [31, 10**30],
}


@pytest.mark.parametrize("name", AGES)
def test_pandas_values_decide_nothing_about_the_columns(tmp_path, name):
    known = facts("age = { bounds = [0, 90] }")
    sql = "select count(*) from people where age > 40"
    done, book = asked(tmp_path, pd.DataFrame({"age": AGES[name]}), sql, known)
    assert done.answer in range(51)
    assert spent(book) == done.charged


@pytest.mark.parametrize("first", ["31", "'x'", "NULL", "x'00'", "3.5"])
def test_the_first_row_of_a_view_decides_nothing(tmp_path, first):
    path = tmp_path / "people.sqlite"
    db = sqlite3.connect(path)
    db.execute("create table raw (a)")
    db.execute(f"insert into raw values ({first}), (41)")
    db.execute("create view people as select a as age from raw")
    db.commit()
    db.close()
    known = facts("age = { bounds = [0, 90] }")
    sql = "select count(*) from people where age > 40"
    done, _ = asked(tmp_path, f"sqlite:///{path}", sql, known)
    assert done.answer in range(51)


# -- no row makes the compiled query fail -----------------------------------------------------


def undecodable():
    ends = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 5, 7)))
    return pa.Array.from_buffers(
        pa.string(), 2, [None, ends, pa.py_buffer(b"north\xff\xfe")]
    )


@pytest.mark.parametrize("kind", ["parquet", "arrow", "pandas", "polars"])
def test_undecodable_text_ends_nothing(tmp_path, kind):
    rows = pa.table({"region": undecodable()})
    path = tmp_path / "people.parquet"
    pq.write_table(rows, path)
    data = {
        "parquet": str(path),
        "arrow": rows,
        "pandas": pd.DataFrame({"region": ["north", b"\xff\xfe"]}),
        "polars": pl.DataFrame({"region": [b"north", b"\xff\xfe"]}),
    }[kind]
    known = facts('region = { values = ["north", "south"] }')
    sql = "select count(*) from people where region = 'north'"
    done, _ = asked(tmp_path, data, sql, known)
    assert done.answer in range(51)


@pytest.mark.parametrize("value", ["1e400", "-1e400", "1e-400", "'NaN'", "'Infinity'"])
def test_no_numeric_is_too_large_for_a_double(tmp_path, server, value):
    address = server.new_database("numerics")
    with psycopg.connect(address) as db:
        db.execute("create table people (height numeric, weight double precision)")
        db.execute(f"insert into people values ({value}::numeric, 3.5), (1, 2)")
    known = facts('height = { type = "number" }\nweight = { type = "number" }')
    for sql in (
        "select count(*) from people where height > weight",
        "select count(*) from people where height > 1.5",
    ):
        done, _ = asked(tmp_path, address, sql, known)
        assert done.answer in range(51)


@pytest.mark.parametrize("word", ["avg", "sum", "max"])
def test_declared_questions_take_every_number(tmp_path, word):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("create table people (height decimal(38, 0))")
        db.execute(
            "insert into people select repeat('9', 38)::decimal(38, 0) from range(3)"
        )
    made = certify(
        GeometricChannel(3, "ln(2)"), "path(3)", "ln(2)",
        neighbours="change-one")  # fmt: skip
    declared = DeclaredQuestion("path(3)", {"0": 0, "1": 1}, 2)
    known = facts('height = { type = "number" }', "change-one", population=3)
    sql = f"select {word}(height) from people"
    done, _ = asked(tmp_path, f"duckdb:///{path}", sql, known, made, declared=declared)
    assert done.answer in range(3)


def test_answers_of_ones_own_are_not_called_like_the_groups(tmp_path):
    """The answer was looked up among the names of the groups, which it is no place of."""
    made = certify(
        GeometricChannel(3, "ln(2)"), "path(3)", "ln(2)", neighbours="change-one"
    )
    declared = DeclaredQuestion("path(3)", {"0": 0, "1": 1}, 2)
    rows = pa.table({"region": ["north", "south", "south"]})
    sql = "select region from people group by region order by count(*) desc limit 1"
    columns = 'region = { values = ["north", "south"], complete = true }'
    known = facts(columns, "change-one", population=3)
    done, _ = asked(tmp_path, rows, sql, known, made, declared=declared)
    assert done.groups == ()
    assert "reading" not in done.receipt


# -- people without a name --------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, "x", ""])
def test_rows_of_nobody_are_left_out(tmp_path, missing):
    """Added, they replaced a row of the one person that they all were."""
    known = facts(
        'id = { type = "integer" }\nregion = { values = ["north", "south", "west"] }',
        "add-remove",
        more='person = "id"',
    )
    rows = [("1", "north"), (missing, "west")]
    path = tmp_path / "people.csv"
    sql = "select region, count(*) from people group by region"
    found = []
    for some in (rows, [*rows, (missing, "north")]):
        text = "\n".join(f"{i or ''},{region}" for i, region in some)
        path.write_text(f"id,region\n{text}\n")
        found.append(truth_of(str(path), sql, known))
    assert found[0] == found[1] == (1, 0, 0)


# -- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "polars", "arrow"])
def test_sums_do_not_wrap(tmp_path, kind):
    ages = pa.table({"age": pa.array([10**9] * 7, pa.int32())})
    path = tmp_path / "people.parquet"
    pq.write_table(ages, path)
    data = {"parquet": str(path), "polars": pl.from_arrow(ages), "arrow": ages}[kind]
    known = facts("age = { bounds = [0, 1000000000] }", "change-one", population=5)
    assert truth_of(data, "select sum(age) from people", known) == 5 * 10**9


# -- names that collide with the class of the others ------------------------------------------


def test_a_value_named_like_the_others_is_refused_before_the_charge(tmp_path):
    known = facts(
        'region = { values = ["north", "(other)"] }', "change-one", population=3
    )
    graph = query("histogram(3,3)").graph
    made = certify(_uniform(graph), "histogram(3,3)", "ln(2)", neighbours="change-one")
    rows = pa.table({"region": ["north", "(other)", "(other)"]})
    sql = "select region, count(*) from people group by region"
    outcome, book = asked(tmp_path, rows, sql, known, made)
    assert outcome == "InputError"
    assert book.account("table people") is None or spent(book) == 0
    named = facts(
        'region = { values = ["north", "(other)"], other = "(other)" }',
        "change-one",
        population=3,
    )
    two = query("histogram(3,2)").graph
    made = certify(_uniform(two), "histogram(3,2)", "ln(2)", neighbours="change-one")
    done, _ = asked(tmp_path, rows, sql, named, made)
    assert done.groups == ("north", "(other)")


def _uniform(graph):
    from tightrope.channels import rational

    size = graph.size
    return rational([[f"1/{size}"] * size] * size)


def test_a_clique_answers_for_each_of_its_groups(tmp_path):
    known = facts(
        'region = { values = ["north", "south"] }', "change-one", population=1
    )
    made = certify(_uniform(Clique(2)), "choice(2)", "ln(2)")
    sql = "select region from people group by region order by count(*) desc limit 1"
    done, _ = asked(tmp_path, pa.table({"region": ["x"]}), sql, known, made)
    assert done.answer in (0, 1)


# -- one sentence -----------------------------------------------------------------------------


def test_every_failure_after_the_charge_says_the_same(tmp_path):
    said = set()
    known = facts("age = { bounds = [0, 90] }")
    for made in (a_lazy_frame, an_ibis_expression):
        book = Ledger.create(tmp_path / f"{made.__name__}.db")
        with pytest.raises(SourceFailed) as failed:
            release(
                noise(50),
                data=made([]),
                sql="select count(*) from people where age > 2",
                ledger=book,
                facts=known,
                key="k",
            )
        said.add(str(failed.value))
        assert failed.value.__cause__ is None
        assert failed.value.__suppress_context__
    assert len(said) == 1


def test_rows_are_run_in_one_place():
    """Only the sealed room, and the reading of data that is public anyway, run a source."""
    room = Path(sealed.__file__).parent
    calls = [
        (path.name, node.func.attr)
        for path in room.parent.rglob("*.py")
        if path.name != "sources.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("fetch", "prepare") and room in path.parents
    ]
    assert sorted(set(calls)) == [
        ("facts.py", "fetch"),
        ("facts.py", "prepare"),
        ("lookups.py", "fetch"),
        ("lookups.py", "prepare"),
        ("sealed.py", "fetch"),
        ("sealed.py", "prepare"),
    ]


# -- secrets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hush@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=hush&user=me",
        "postgresql://me:hush%zz@127.0.0.1:1/db",
        "postgresql://me:hush@[::1/db",
        "postgresql://me:hush@127.0.0.1:port/db",
        "postgresql://me:hu@sh:hush@127.0.0.1:1/db?nonsense=hush",
        "postgres://me:hush@127.0.0.1:1/db",
        "postgresql+psycopg://me:hush@127.0.0.1:port/db",
    ],
)
def test_no_secret_of_an_address_is_shown(tmp_path, address):
    for place, ledger in ((address, tmp_path / "ledger.db"), ("people.csv", address)):
        with pytest.raises(Exception) as refused:  # noqa: PT011  whatever it is
            release(
                noise(50),
                data=place,
                sql="select count(*) from people",
                ledger=ledger,
                facts=facts(""),
            )
        assert "hush" not in str(refused.value)
