"""What is identified is what is read, and all spellings of a value are read alike."""

import datetime
import gzip
import os
import sqlite3
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.conftest import truth_of

from tightrope.errors import InputError
from tightrope.publish import Column, Ledger, parse_facts, release
from tightrope.publish.accounts import canonical_text
from tightrope.publish.facts import Table
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import OpenedFile, open_source
from tightrope.publish.sql_reader import read_shape

COUNT = "select count(*) from people"
FACTS = parse_facts(
    "[tables.people]\npopulation = 150\nneighbours = 'add-remove'\nbudget = '9'\n"
)


# -- a path that leads elsewhere by the time it is read -------------------------------------------


def kept_as_csv(path, rows):
    path.write_text("age\n" + "31\n" * rows)


def kept_as_gzip(path, rows):
    path.write_bytes(gzip.compress(b"age\n" + b"31\n" * rows))


def kept_as_parquet(path, rows):
    pq.write_table(pa.table({"age": [31] * rows}), path)


def kept_by(connect):
    def keep(path, rows):
        db = connect(str(path))
        db.execute("create table people (age integer)")
        db.execute(f"insert into people values {', '.join(['(31)'] * rows)}")
        db.commit()
        db.close()

    return keep


KEPT = {
    ".csv": kept_as_csv,
    ".csv.gz": kept_as_gzip,
    ".parquet": kept_as_parquet,
    ".duckdb": kept_by(duckdb.connect),
    ".sqlite": kept_by(sqlite3.connect),
}


@pytest.fixture(params=KEPT)
def exchange(request, tmp_path):
    """A link to a table of 3 rows, and what makes it lead to one of 7."""
    ending = request.param
    for name, rows in (("few", 3), ("many", 7)):
        KEPT[ending](tmp_path / f"{name}{ending}", rows)
    link = tmp_path / f"people{ending}"
    link.symlink_to(tmp_path / f"few{ending}")

    def turn():
        link.unlink()
        link.symlink_to(tmp_path / f"many{ending}")

    return link, turn


def test_a_link_that_is_exchanged_changes_nothing(
    exchange, counting, tmp_path, monkeypatch
):
    link, turn = exchange
    read = []
    charge = Ledger.charge

    def exchanged(self, ticket):
        turn()
        return charge(self, ticket)

    def noted(self, mechanisms):
        read.append(self.node())
        return read[-1]

    monkeypatch.setattr(Ledger, "charge", exchanged)
    monkeypatch.setattr("tightrope.publish.sealed.SealedQuery.draw", noted)
    ledger = Ledger.create(tmp_path / "ledger.db")
    release(counting, data=str(link), sql=COUNT, facts=FACTS, ledger=ledger)
    assert read == [3]
    (few,) = ledger.account("table people").bound.source[:1]
    assert "/few." in few


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_database_whose_folder_is_exchanged_is_refused(kind, tmp_path, monkeypatch):
    """After the engine has opened its file, and before that is identified."""
    for name, rows in (("few", 3), ("many", 7)):
        (tmp_path / name).mkdir()
        KEPT[f".{kind}"](tmp_path / name / f"people.{kind}", rows)
    library = {"duckdb": duckdb, "sqlite": sqlite3}[kind]
    connect = library.connect

    def late(path, **options):
        found = connect(path, **options)
        (tmp_path / "few").rename(tmp_path / "away")
        (tmp_path / "few").symlink_to(tmp_path / "many")
        return found

    address = f"{kind}:///{tmp_path}/few/people.{kind}"
    with open_source(address, Table("people", 9)) as source:
        assert "/few/" in source.identity()[0]
    monkeypatch.setattr(library, "connect", late)
    with (
        pytest.raises(InputError, match="exchanged while it was opened"),
        open_source(address, Table("people", 9)),
    ):
        pass


def test_a_file_that_is_exchanged_while_it_is_opened_is_refused(tmp_path, monkeypatch):
    for name in ("few", "many"):
        kept_as_csv(tmp_path / f"{name}.csv", 3)
    opened = os.open

    def other(path, flags):
        return opened(str(path).replace("few", "many"), flags)

    monkeypatch.setattr(os, "open", other)
    with pytest.raises(InputError, match="exchanged while it was opened"):
        OpenedFile(str(tmp_path / "few.csv"))
    assert not OpenedFile.held


# -- all spellings of a value ---------------------------------------------------------------------

ONES = [1, 1.0, "1", "1.0", "+1", " 1 ", "1e0", True, "true", "True", Decimal("1.00")]
DAY = datetime.date(1990, 5, 17)
MIDNIGHT = datetime.datetime(1990, 5, 17)
#: What each value is as each declared type; what is not named is missing.
READ = [
    *(({"integer": 1, "number": 1.0, "boolean": True, "text": b"1"}, value) for value in ONES),
    ({"integer": 0, "number": 0.0, "boolean": False, "text": b"0"}, 0),
    ({"integer": 0, "number": 0.0, "boolean": False, "text": b"0"}, "0.00"),
    ({"integer": 40, "number": 40.0, "text": b"40"}, 40.0),
    ({"integer": 40, "number": 40.0, "text": b"40"}, "40.0"),
    ({"number": 17.5, "text": b"17.5"}, 17.5),
    ({"number": 17.5, "text": b"17.5"}, "17.5"),
    ({"number": 1.1, "text": b"1.1"}, "1.10"),
    ({"integer": 2, "number": 2.0, "text": b"2"}, 2),
    ({"boolean": True, "text": b"yes"}, "yes"),
    ({"boolean": False, "text": b"F"}, "F"),
    ({"integer": 2**60 + 1, "number": 2.0**60, "text": b"%d" % (2**60 + 1)}, 2**60 + 1),
    ({"integer": 2**60 + 1, "number": 2.0**60, "text": b"%d" % (2**60 + 1)},
     str(2**60 + 1)),
    ({"date": "1990-05-17", "text": b"1990-05-17"}, DAY),
    ({"date": "1990-05-17", "text": b"1990-05-17"}, MIDNIGHT),
    ({"date": "1990-05-17", "text": b"1990-05-17"}, "1990-05-17 00:00:00.000"),
    ({"date": "1990-05-17", "text": b"1990-05-17 10:30:00"}, "1990-05-17 10:30:00"),
    ({"date": "1990-05-17", "text": b"1990-05-17 10:30:00.5"}, "1990-05-17 10:30:00.500"),
    ({"date": "1990-05-16", "text": b"1990-05-17 00:30:00+02:00"}, "1990-05-17 00:30:00+02:00"),
    ({"text": b"1990-02-30"}, "1990-02-30"),
    ({"text": b"19900517", "integer": 19900517, "number": 19900517.0}, "19900517"),
    ({"text": b"1_000"}, "1_000"), ({"text": b"0x1F"}, "0x1F"), ({"text": b"1-2"}, "1-2"),
    ({"text": "\u0663".encode()}, "\u0663"), ({"text": b"inf"}, "inf"),
    ({"text": b"1E+1000000"}, Decimal("1E+1000000")),
    ({}, None), ({}, float("nan")),
]  # fmt: skip
TYPES = ("integer", "number", "boolean", "date", "text")


def readings(place):
    """Return the rows of a column as each of the declared types."""
    found = {}
    with open_source(place, Table("people", 9)) as source:
        types = source.columns()
        for kind in TYPES:
            column = Column("x", kind)
            source.prepare([column])
            cell = source.cell(column, types["x"])
            rows = source.fetch(f"SELECT {cell} FROM {source.rows()}")
            found[kind] = [row[0] for row in rows]
    return found


def check(values, place, expected=READ):
    wanted = {id(value): known for known, value in expected}
    found = readings(place)
    for row, value in enumerate(values):
        for kind in set(TYPES) - ({"text"} if value in ("+1", " 1 ", "1e0") else set()):
            got = found[kind][row]
            got = str(got) if isinstance(got, datetime.date) else got
            assert got == wanted[id(value)].get(kind), (value, kind, type(place))


VALUES = [value for _, value in READ]


def in_sqlite(values, path):
    db = sqlite3.connect(path)
    db.execute("create table people (x)")
    kept = [str(v) if isinstance(v, Decimal | datetime.date) else v for v in values]
    db.executemany("insert into people values (?)", [(v,) for v in kept])
    db.commit()
    db.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize("kind", ["object", "csv", "polars csv", "sqlite"])
def test_a_mixture_of_spellings_is_read_alike_everywhere(kind, tmp_path):
    frame = pd.DataFrame({"x": pd.Series(VALUES, dtype=object)})
    path = tmp_path / "people.csv"
    if kind == "object":
        check(VALUES, frame)
    elif kind == "csv":
        frame.to_csv(path, index=False, na_rep="NA" if len(frame.columns) < 1 else "")
        check(VALUES, str(path))
    elif kind == "polars csv":
        texts = [None if v is None or v != v else str(v) for v in VALUES]
        pl.DataFrame({"x": texts}).write_csv(path)
        check(VALUES, str(path))
    else:
        check(VALUES, in_sqlite(VALUES, tmp_path / "people.sqlite"))


#: The columns of one type that a writer may choose for the same people.
COLUMNS = {
    "int": ([1, 0, 40], pa.int64()), "float": ([1, 0, 40], pa.float64()),
    "float32": ([1, 0, 40], pa.float32()), "float16": ([1, 0, 40], pa.float16()),
    "text": (["1", "0", "40"], pa.string()), "float text": (["1.0", "0.0", "40.0"], pa.string()),
    "bytes": ([b"1.0", b"0.0", b"40.0"], pa.binary()), "tiny": ([1, 0, 40], pa.uint8()),
    "decimal": ([Decimal("1.00"), Decimal("0.00"), Decimal("40.00")], pa.decimal128(9, 2)),
    "decimal256": ([Decimal("1.00"), Decimal(0), Decimal("40.00")], pa.decimal256(50, 2)),
    "large text": (["1.0", "0", "40"], pa.large_string()), "view": (["1", "0", "40.0"],
                                                                      pa.string_view()),
    "words": (["1", "0", "40.0"], pa.dictionary(pa.int8(), pa.string())),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("kept", ["arrow", "parquet", "pandas", "polars"])
def test_no_type_of_a_column_changes_a_reading(name, kept, tmp_path):
    values, kind = COLUMNS[name]
    table = pa.table({"x": pa.array(values, kind)})
    place = table
    if kept == "parquet":
        place = str(tmp_path / "people.parquet")
        if name == "view":
            pytest.importorskip("pyarrow.parquet")
        pq.write_table(table, place)
    elif kept == "pandas":
        place = table.to_pandas()
    elif kept == "polars" and name not in ("float16", "decimal256"):
        place = pl.from_arrow(table)
    found = readings(place)
    assert found["integer"] == [1, 0, 40]
    assert found["number"] == [1.0, 0.0, 40.0]
    assert found["boolean"] == [True, False, None]
    assert found["text"] == [b"1", b"0", b"40"]
    assert found["date"] == [None] * 3


@pytest.mark.parametrize("value", [text for text in VALUES if isinstance(text, str)])
def test_a_constant_is_written_as_the_cells_write_it(value, tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({"x": [value]}).to_csv(path, index=False)
    assert readings(str(path))["text"] == [canonical_text(value).encode()]


#: Texts that end in zeros, or nearly look as if they said nothing.
PADDED = [
    "1.0", "2.50", "10", "100", "1.10", "-3.00", "+4.0", "0.0", "007.0", "1.", "a.0", ".50",
    "1..0", "1.0.0", "5-.0", "x0", "1e10", "1990-05-17 00:00:00", "1990-05-17 00:00:00.000",
    "1990-05-17 00:00:000", "1990-05-17T12:30:00.500", "1990-05-17 12:30:00.000",
]  # fmt: skip


def test_every_source_writes_texts_as_constants_are_written(server, tmp_path):
    wanted = [canonical_text(text).encode() for text in PADDED]
    path = tmp_path / "people.csv"
    pd.DataFrame({"x": PADDED}).to_csv(path, index=False)
    address = server.new_database("padded")
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("drop table if exists people; create table people (x text)")
        for text in PADDED:
            db.execute("insert into people values (%s)", [text])
    with open_source(address, Table("people", 99)) as source:
        cell = source.cell(Column("x", "text"), source.columns()["x"])
        rows = source.fetch(f"SELECT {cell} FROM {source.rows()}")
    assert [row[0].encode() for row in rows] == wanted
    for place in (str(path), in_sqlite(PADDED, tmp_path / "people.sqlite")):
        assert readings(place)["text"] == wanted


def test_texts_that_are_one_are_declared_once():
    text = (
        "[tables.people]\n[tables.people.columns]\nx = { values = ['1', '2', '1.0'] }"
    )
    with pytest.raises(InputError, match=r"names '1' twice \('1.0' is the same text\)"):
        parse_facts(text)


# -- what functions make of a missing value -------------------------------------------------------

PARTLY = pa.table(
    {
        "age": [None, 3, 17, None, 9],
        "town": ["north", None, None, "south", "north"],
        "well": [True, None, False, None, True],
        "born": [
            None,
            datetime.date(2020, 2, 1),
            None,
            datetime.date(2021, 5, 5),
            None,
        ],
    }
)
PARTLY_FACTS = parse_facts(
    "[tables.people]\npopulation = 9\nneighbours = 'add-remove'\n[tables.people.columns]\n"
    "age = { bounds = [0, 20] }\ntown = { values = ['north', 'south'] }\n"
    "well = { type = 'boolean' }\nborn = { bounds = [2020-01-01, 2022-12-31] }\n"
)


@pytest.mark.parametrize(
    "condition",
    [
        "coalesce(age, 0) < 5", "not (coalesce(age, 0) < 5)", "coalesce(age % 4, 1) = 1",
        "nullif(town, 'north') is null", "town in ('north') is not true", "(age < 5) is null",
        "coalesce(town, 'none') = 'none'", "coalesce(well, true)", "town || 'x' is null",
        "case when age < 5 then 'a' else 'b' end = 'b'", "not (town || 'x' = 'northx')",
        "coalesce(year(born), 2020) = 2020", "concat(town, 'x') = 'x'", "age % 4 = 1",
    ],
)  # fmt: skip
def test_a_missing_value_is_what_sql_makes_of_it(condition, tmp_path):
    sql = f"select count(*) from people where {condition}"
    with duckdb.connect() as db:
        db.register("people", PARTLY)
        ((expected,),) = db.execute(sql).fetchall()
    with sqlite3.connect(tmp_path / "people.sqlite") as db:
        PARTLY.to_pandas().to_sql("people", db, index=False)
    db.close()
    for place in (PARTLY, tmp_path / "people.sqlite"):
        assert truth_of(place, sql, PARTLY_FACTS) == expected


@pytest.mark.parametrize(
    "group", ["coalesce(town, 'none')", "coalesce(age // 10, -1)", "town"]
)
def test_missing_values_have_the_group_that_sql_gives_them(group):
    select = f"select {group} as place, count(*) from people group by 1"
    with duckdb.connect() as db:
        db.register("people", PARTLY)
        expected = dict(db.execute(select).fetchall())
    shape = read_shape(select, PARTLY_FACTS)
    (axis,) = shape.axes
    with open_source(PARTLY, shape.table) as source:
        ((counts,),) = shape.answers(SealedQuery(source, shape)._rows())
    found = dict(zip(axis.classes, counts, strict=True))
    # A plain column has no class for missing values; other groups may be empty.
    assert found == {name: expected.get(name, 0) for name in axis.classes}
    assert sum(found.values()) == (3 if group == "town" else 5)


# -- whose row it is ------------------------------------------------------------------------------

PERSON = parse_facts(
    "[tables.people]\npopulation = 150\nneighbours = 'add-remove'\nperson = 'id'\n"
)
LARGE = [2**60 + k for k in range(90)]


def test_people_with_large_numbers_are_told_apart(tmp_path):
    exact = pa.table({"id": pa.array([*LARGE, None], pa.int64())})
    pq.write_table(exact, tmp_path / "people.parquet")
    exact.to_pandas(types_mapper=pd.ArrowDtype).to_csv(
        tmp_path / "people.csv", index=False
    )
    nullable = pd.DataFrame({"id": pd.array([*LARGE, None], "Int64")})
    polars = pl.from_arrow(exact)
    for place in (
        exact,
        nullable,
        polars,
        tmp_path / "people.parquet",
        tmp_path / "people.csv",
    ):
        assert truth_of(place, "select count(distinct id) from people", PERSON) == 90


def floats(tmp_path):
    """Tables whose writer chose floating-point numbers, because somebody has no number."""
    frame = pd.DataFrame({"id": [*LARGE, None]})
    frame.to_parquet(tmp_path / "people.parquet")
    with sqlite3.connect(tmp_path / "people.sqlite") as db:
        frame.to_sql("people", db, index=False)
    db.close()
    with duckdb.connect(str(tmp_path / "people.duckdb")) as base:
        base.register("frame", frame)
        base.execute("create table people as from frame")
    yield from (frame, pl.from_pandas(frame), pa.table(frame))
    for ending in ("parquet", "sqlite", "duckdb"):
        yield tmp_path / f"people.{ending}"


def test_numbers_of_people_never_pass_through_floats(tmp_path):
    for place in floats(tmp_path):
        with pytest.raises(InputError, match="cannot tell large numbers apart"):
            truth_of(place, "select count(distinct id) from people", PERSON)


# -- a carriage return ----------------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_carriage_return_is_a_character(ends, packed, tmp_path):
    mark = "\uf8ff"
    names = ["a\rb", "\r" * 300, f"{mark}1", f"{mark}0\r", "c", 'q"\r\nx', "\r"]
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    frame = pd.DataFrame({"x": names, "age": range(7)})
    frame.to_csv(path, index=False, lineterminator=ends)
    found = readings(str(path))["text"]
    assert [text.decode() for text in found] == names
    facts = parse_facts(
        "[tables.people]\npopulation = 150\n[tables.people.columns]\n"
        "x = { type = 'text' }\nage = { bounds = [0, 9] }"
    )
    assert truth_of(path, "select count(*) from people where age < 9", facts) == 7


# -- what a database keeps about itself -----------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["duckdb_tables", "information_schema.tables", "system.information_schema.tables",
     "pg_catalog.pg_class", "system.main.duckdb_columns", "sqlite_master", "range"],
)  # fmt: skip
def test_duckdb_has_no_statistics_of_people(name, tmp_path):
    KEPT[".duckdb"](tmp_path / "people.duckdb", 3)
    refused(tmp_path / "people.duckdb", name)


@pytest.mark.parametrize(
    "name",
    ["sqlite_stat1", "sqlite_sequence", "sqlite_master", "SQLITE_SCHEMA", "dbstat", "words",
     "words_content", "pragma_table_list", "json_each", "temp.sqlite_master"],
)  # fmt: skip
def test_sqlite_has_no_statistics_of_people(name, tmp_path):
    db = sqlite3.connect(tmp_path / "people.sqlite")
    db.execute("create table people (id integer primary key autoincrement, age)")
    db.executemany("insert into people (age) values (?)", [(k,) for k in range(137)])
    db.execute("create index ages on people (age)")
    db.execute("create virtual table words using fts5 (word)")
    db.execute("analyze")
    db.commit()
    db.close()
    refused(tmp_path / "people.sqlite", name)
    assert truth_of(tmp_path / "people.sqlite", COUNT, FACTS) == 137


@pytest.mark.parametrize(
    "name",
    ["pg_class", "pg_stat_user_tables", "pg_stats", "pg_catalog.pg_class",
     "information_schema.tables", "counter", "ages", "pg_stat_statements"],
)  # fmt: skip
def test_postgresql_has_no_statistics_of_people(name, server):
    address = server.new_database("statistics")
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("drop table if exists people; drop sequence if exists counter")
        db.execute("create table people (age integer)")
        db.execute("create index ages on people (age)")
        db.execute("create sequence counter")
        if (
            name == "pg_stat_statements"
        ):  # a view of the extension, in a schema of users
            db.execute("create extension if not exists pg_stat_statements")
    refused(address, name)


def refused(place, name):
    with (
        pytest.raises(InputError, match=r"has no table .* of people that can be read"),
        open_source(place, Table("people", 9, relation=name)) as source,
    ):
        source.columns()
