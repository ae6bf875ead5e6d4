"""No row decides what becomes of the other rows, and none makes a question fail or speak."""

import itertools
import json
import sqlite3
from decimal import Decimal

import duckdb
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.conftest import FACTS, truth_of

from tightrope.errors import InputError
from tightrope.publish import Column, parse_facts
from tightrope.publish.facts import Table
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes.declared import mapped_text
from tightrope.publish.sources import (
    ParquetFile,
    _cell_name,
    dialect_of,
    family,
    open_source,
)
from tightrope.publish.sql_reader import read_shape
from tightrope.publish.sql_writer import question_text

PEOPLE = parse_facts(FACTS)
GROUPS = "select region, count(*) from people group by region"


def answered(place, sql, facts=PEOPLE):
    return truth_of(place, sql, facts)


# -- databases that take two texts for one --------------------------------------------------


def in_sqlite(request, folder, names):
    path = folder / "people.sqlite"
    db = sqlite3.connect(path)
    db.execute("create table people (region text collate nocase)")
    db.executemany("insert into people values (?)", names)
    db.commit()
    db.close()
    return f"sqlite:///{path}"


def in_duckdb(request, folder, names):
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("create table people (region varchar collate nocase)")
        db.executemany("insert into people values (?)", names)
    return f"duckdb:///{path}"


def in_postgresql(request, folder, names):
    address = request.getfixturevalue("server").new_database("collations")
    with psycopg.connect(address) as db:
        db.execute(
            "create collation blind (provider = icu, locale = 'und-u-ks-level1', "
            "deterministic = false)"
        )
        db.execute("create table people (region text collate blind)")
        db.cursor().executemany("insert into people values (%s)", names)
    return address


@pytest.mark.parametrize("kept", [in_sqlite, in_duckdb, in_postgresql])
@pytest.mark.parametrize("first", [True, False])
def test_one_row_does_not_rename_the_group_of_all(request, tmp_path, kept, first):
    others, one = [("north",)] * 20, [("NORTH",)]
    place = kept(request, tmp_path, one + others if first else others + one)
    north, *rest = answered(place, GROUPS)
    assert north == 20  # texts are compared byte by byte
    assert rest == [0, 0]
    most = GROUPS.replace(", count(*)", "", 1) + " order by count(*) desc limit 1"
    assert answered(place, most) == 0


def test_more_groups_than_can_be_compared_are_refused():
    many = ", ".join(f'"{number}"' for number in range(2001))
    facts = parse_facts(FACTS.replace('"north", "south", "west"] }', many + "] }", 1))
    with pytest.raises(InputError, match="at most 2000 groups, 'region' has 2001"):
        question_text(read_shape(GROUPS, facts))


def test_parts_that_some_database_takes_for_one_are_refused():
    for alike in ("NORTH", "north ", "nórth"):
        with pytest.raises(
            InputError, match=r"must be disjoint.*the same to some databases"
        ):
            parse_facts(FACTS.replace('"south", "west"]', f'"south", "{alike}"]', 2))


# -- numbers that do not fit each other -----------------------------------------------------

LONG = "0.1234567890123456789012345678901234567"


@pytest.mark.parametrize(
    ("kind", "age"),
    [
        *(("bigint", age) for age in (3, 12, 10**18)),
        ("tinyint", 127),
        ("integer", 2**31 - 1),
    ],
)
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (f"age > {LONG}", 2),
        (f"age between -{LONG} and {LONG}", 0),
        (f"age in ({LONG}, 1)", 1),
        (f"age < {2 * 10**18} and age > -{10**18}", 2),
        (f"height > {LONG}", 2),
        ("age > height", 1),
    ],
)
def test_no_number_is_too_large_for_a_constant(tmp_path, kind, age, condition, holds):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute(f"create table people (age {kind}, height decimal(38, 30))")
        db.execute("insert into people values (?, 1.5), (1, 2.5)", [age])
    facts = parse_facts(
        FACTS.replace("smoker =", 'height = { type = "number" }\nsmoker =')
    )
    sql = f"select count(*) from people where {condition}"
    assert answered(f"duckdb:///{path}", sql, facts) == holds


@pytest.mark.parametrize(
    "value", [float("inf"), Decimal("-Infinity"), float("nan"), None, b"3"]
)
def test_every_value_has_an_answer(value):
    assert mapped_text(value) != "3"


# -- texts ----------------------------------------------------------------------------------


def test_a_text_that_is_no_utf8_ends_nothing(tmp_path):
    path = tmp_path / "people.sqlite"
    db = sqlite3.connect(path)
    db.execute("create table people (region text)")
    db.execute("insert into people values ('north'), (cast(x'ff41' as text))")
    db.commit()
    db.close()
    facts = parse_facts(FACTS.replace('"west"] }', '"west"], other = "west" }', 1))
    assert answered(f"sqlite:///{path}", GROUPS, facts) == (1, 0, 1)


# -- Parquet files, which DuckDB reads, or Arrow where a text makes DuckDB stop ---------------

NUMBERS = [0, -1, 255, 2**31 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1]
FLOATS = [
    0.0,
    -0.0,
    0.1,
    5e-324,
    1e100,
    1e101,
    float("nan"),
    float("inf"),
    float("-inf"),
]
TEXTS = [
    b"",
    b"north",
    b"nor\0th",
    b"\\xFF",
    b"\\",
    "n\u00f6rth".encode(),
    b"x" * 70_000,
]


def kept_by_arrow():
    """A column of each type that both read alike, and of some that they do not."""
    for sign, width in itertools.product(("int", "uint"), (8, 16, 32, 64)):
        low = 0 if sign == "uint" else -(2 ** (width - 1))
        fits = [
            n for n in [*NUMBERS, low, low + 2**width - 1] if low <= n < low + 2**width
        ]
        yield pa.array([*fits, None], f"{sign}{width}")
    yield from (pa.array([*FLOATS, None], kind) for kind in ("float", "double"))
    yield from (pa.array([*TEXTS, None], kind) for kind in ("binary", "large_binary"))
    texts = pa.array([*(text.decode() for text in TEXTS), None])
    yield from (texts, texts.cast(pa.large_string()), texts.dictionary_encode())
    yield pa.array([True, False, None])
    yield pa.array(
        [0, -719_162, 2_932_896, 2**31 - 1, -(2**31), None], pa.int32()
    ).cast("date32")
    times = pa.array([0, 1, -1, 2**40, None], pa.int64())
    yield from (times.cast(pa.timestamp(unit)) for unit in ("ms", "us", "ns"))
    yield pa.array([1, None], pa.duration("s"))
    yield pa.array([Decimal("0.1"), None])
    yield pa.array([[1], None])


@pytest.mark.parametrize(
    "array", list(kept_by_arrow()), ids=lambda array: str(array.type)
)
def test_duckdb_and_arrow_read_a_file_alike(tmp_path, array):
    path, read = tmp_path / "people.parquet", 0
    pq.write_table(pa.table({"x": array}), path)
    for kind in ("integer", "number", "text", "boolean", "date"):
        with open_source(path, Table("people", 9)) as source:
            column, found = Column("x", kind), []
            source.prepare([column])
            # As texts: not a number differs from itself, and dates may be beyond Python's.
            name = source.name(_cell_name(column))
            sql = f"SELECT typeof({name}), {name}::VARCHAR FROM {source.rows()}"
            for ready in (source._view, source._stream):
                if ready() is not False:
                    rows = source.connection.execute(sql).fetchall()
                    found.append([(family(type_), value) for type_, value in rows])
        read += len(found) == 2
        assert found[0] == found[-1]
    assert bool(read) != str(array.type).startswith(("duration", "list"))


def test_names_that_duckdb_takes_for_one_are_kept_apart(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"Age": [1], "age": [2], "age_1": [50]}), path)
    facts = parse_facts(
        FACTS.replace("smoker =", "age_1 = { bounds = [0, 90] }\nsmoker =")
    )
    for name, holds in (("age", 0), ("age_1", 1)):
        assert (
            answered(path, f"select count(*) from people where {name} > 30", facts)
            == holds
        )


def test_a_count_from_a_file_is_one_scan_with_its_conditions(parquet, monkeypatch):
    """What a release adds to DuckDB's own time does not grow with the rows."""
    monkeypatch.setattr(ParquetFile, "_stream", None)
    sql = (
        "select count(*) from people where age > 40 and region = 'north' and not smoker"
    )
    shape = read_shape(sql, PEOPLE)
    with open_source(parquet, shape.table) as source:
        sealed = SealedQuery(source, shape)
        sealed.node()
        ((_, plan),) = source.fetch(f"EXPLAIN (FORMAT json) {sealed._sql}")
    (node,), steps = json.loads(plan), []
    while node:
        steps.append(node)
        (node,) = node["children"] or [None]
    names = [step["name"].strip() for step in steps if step["name"] != "PROJECTION"]
    assert names == ["UNGROUPED_AGGREGATE", "READ_PARQUET"]
    conditions = steps[-1]["extra_info"]["Filters"]
    assert len(conditions) == 3
    assert "age>40" in conditions


def test_a_backslash_ends_no_text(server):
    address = server.new_database("backslash")
    with psycopg.connect(address) as db:
        db.execute("create table people (region text)")
        db.execute("insert into people values ('north'), (%s)", ["\\"])
        db.execute('alter database "backslash" set standard_conforming_strings = off')
    facts = parse_facts(FACTS.replace('"north", "south"', r'"north", "\\", "south"', 1))
    assert (
        answered(address, r"select count(*) from people where region = '\'", facts) == 1
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"31,Ann\n44,Bob\n",
        b"31,Ann\r44,Bob\r",
        "31,Ann\n".encode("utf-16"),
        b"31,\x00Ann\n",
    ],
)
def test_a_first_line_that_is_a_row_is_not_shown(tmp_path, raw):
    path = tmp_path / "people.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="the first line") as refused:
        answered(str(path), "select count(*) from people where age > 3")
    told = str(refused.value).replace(str(tmp_path), "")
    assert "Ann" not in told
    assert "31" not in told


@pytest.mark.parametrize(
    ("name", "raw", "cure"),
    [
        ("people.csv", b"id;age\n1;31\n", "semicolons separate the columns"),
        ("people.csv", b"id\tage\n1\t31\n", "tabs separate the columns"),
        ("people.tsv", b"id,age\n1,31\n", "commas separate the columns"),
        ("people.csv", "id,Größe\n1,31\n".encode("latin-1"), "save the table as UTF-8"),
        ("people.csv", "id,age\n1,31\n".encode("utf-16"), "save the table as UTF-8"),
    ],
)
def test_a_first_line_of_another_kind_of_file_is_named(tmp_path, name, raw, cure):
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(InputError, match=cure):
        answered(str(path), "select count(*) from people where age > 3")


def test_a_column_may_have_a_semicolon_in_its_name(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a;b\n3\n5\n")
    facts = parse_facts("""
    [tables.people]
    population = 50
    neighbours = "add-remove"
    columns = { "a;b" = { type = "integer" } }
    """)
    asked = 'select count(*) from people where "a;b" > 4'
    assert answered(str(path), asked, facts) == 1


@pytest.mark.parametrize("name", ["sparkling.csv", "postgres.csv"])
def test_a_file_is_known_by_its_end_and_not_by_its_beginning(
    tmp_path, name, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("age\n31\n44\n")
    assert dialect_of(name) == "duckdb"
    assert answered(name, "select count(*) from people where age > 40") == 1


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hush@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?password=hush&user=me",
    ],
)
def test_no_password_is_shown(address):
    with pytest.raises(InputError, match="cannot be opened") as refused:
        answered(address, "select count(*) from people")
    assert "hush" not in str(refused.value)


# -- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["[ab]", "a*b", "what?", "it's", "x.tsv"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_path_is_no_pattern(tmp_path, folder, ending):
    """The rows of another file would be read for the account of this one."""
    for place, rows in (("a", 5), ("aab", 6), ("whats", 7), (folder, 1)):
        (tmp_path / place).mkdir()
        path = tmp_path / place / f"people.{ending}"
        if ending == "csv":
            path.write_text("region,age\n" + "north,44\n" * rows)
        else:
            pq.write_table(
                pa.table({"region": ["north"] * rows, "age": [44] * rows}), path
            )
    assert answered(str(path), "select count(*) from people where age > 40") == 1


def test_columns_that_differ_in_letter_case_are_two(tmp_path):
    facts = parse_facts(
        "[tables.people]\npopulation = 9\n[tables.people.columns]\n"
        "age = { bounds = [0, 90] }\nAge = { bounds = [0, 90] }\n"
    )
    sql = 'select count(*) from people where "age" = 1 and "Age" = 2'
    rows = {"age": [1, 1, 2], "Age": [2, 1, 2]}
    assert answered(pa.table(rows), sql, facts) == 1
    assert answered(pd.DataFrame(rows), sql, facts) == 1
    pq.write_table(pa.table(rows), tmp_path / "people.parquet")
    assert answered(str(tmp_path / "people.parquet"), sql, facts) == 1
    (tmp_path / "people.csv").write_text("age,Age\n1,2\n")
    with pytest.raises(InputError, match="each once"):
        answered(str(tmp_path / "people.csv"), sql, facts)


def test_a_name_of_the_query_itself_is_no_column():
    with pytest.raises(InputError, match="that the query itself may use"):
        parse_facts(FACTS.replace("smoker =", "tightrope_row ="))
