"""Which data a source is: one account for one table, by whatever way somebody reaches it."""

import sqlite3

import duckdb
import ibis
import psycopg
import pytest

from tightrope.errors import InputError
from tightrope.publish import Ledger, release
from tightrope.publish.facts import Table, parse_facts
from tightrope.publish.sources import open_source


def identity(data, name="people", relation=None):
    with open_source(data, Table(name, 5, relation=relation)) as source:
        return source.identity()


@pytest.fixture
def address(server):
    place = server.new_database("identities")
    with psycopg.connect(place, autocommit=True) as owner:
        owner.execute("create table people (id integer)")
        owner.execute("create schema hr")
        owner.execute("create table hr.people (id integer)")
        owner.execute("create view crowd as select * from people")
        owner.execute("drop role if exists reader")
        owner.execute("create role reader login")
        owner.execute("grant select on people to reader")
    yield place
    with psycopg.connect(place, autocommit=True) as owner:
        owner.execute("drop owned by reader")
        owner.execute("drop role reader")


def test_a_table_on_a_server_by_all_its_names(address, server):
    people = identity(address)
    assert identity(address, "folk", "people").is_same(people)
    assert identity(address, "folk", "public.people").is_same(people)
    assert identity(address.replace("user=postgres", "user=reader")).is_same(people)
    assert not identity(address, "people", "hr.people").is_same(people)
    assert not identity(address, "crowd").is_same(people)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("alter table people rename to folk")
    assert identity(address, "folk").is_same(people)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("alter table folk rename to people")
        owner.execute("drop view crowd")
        owner.execute("drop table people")
        owner.execute("create table people (id integer)")
    assert identity(address).is_same(people)


def test_a_second_name_on_a_server_has_no_second_budget(address, counting, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    facts = parse_facts(
        "[tables.people]\npopulation = 150\nneighbours = 'add-remove'\nbudget = '1'\n"
        "[tables.folk]\npopulation = 150\nneighbours = 'add-remove'\nbudget = '1'\n"
        "relation = 'public.people'\n"
    )
    asked = {"data": address, "ledger": ledger, "facts": facts}
    release(counting, sql="select count(*) from people", **asked)
    with pytest.raises(InputError, match="has an account already: table people"):
        release(counting, sql="select count(*) from folk", **asked)
    assert list(ledger.accounts()) == ["table people"]


def test_a_database_file_through_a_connection(tmp_path):
    path = tmp_path / "all.duckdb"
    with duckdb.connect(str(path)) as raw:
        raw.execute("create table people (id integer)")
    by_address = identity(path)
    backend = ibis.duckdb.connect(path, read_only=True)
    try:
        assert identity(backend).is_same(by_address)
        assert identity(backend, "folk", "main.people").is_same(by_address)
    finally:
        backend.disconnect()


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_an_attached_file_is_itself(tmp_path, kind):
    """The file of the connection stood for every table that it reaches: a second budget."""
    library = {"duckdb": duckdb, "sqlite": sqlite3}[kind]
    for name in ("One", "Two"):
        raw = library.connect(str(tmp_path / f"{name}.{kind}"))
        raw.execute("create table people (id integer)")
        raw.commit()
        raw.close()
    one, two = (
        identity(f"{kind}:///{tmp_path}/{name}.{kind}") for name in ("One", "Two")
    )
    assert not one.is_same(two)
    backend = getattr(ibis, kind).connect(tmp_path / f"One.{kind}")
    try:
        backend.raw_sql(f"attach '{tmp_path}/Two.{kind}' as two")
        relation = "two.main.people" if kind == "duckdb" else "two.people"
        reached = identity(backend, "people", relation)
        assert reached.is_same(two)
        assert not reached.is_same(one)
        assert identity(backend).is_same(one)
        backend.raw_sql("create temp table folk (id integer)")
        assert str(
            identity(backend, "folk", None if kind == "duckdb" else "temp.folk")
        ) == ("memory:temp.main.folk" if kind == "duckdb" else "memory:temp.folk")
    finally:
        backend.disconnect()
