"""Public facts without a file: what the mechanism itself already says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.fact_files import column_from
from tightrope.publish.facts import Column, Facts, Table
from tightrope.publish.sources import PARQUET_FILES, dialect_of
from tightrope.publish.text_files import TEXT_FILES
from tightrope.queries import Neighbours

if TYPE_CHECKING:
    from tightrope.certify import Mechanism

_POPULATED = re.compile(r"(?:count|sum|histogram|counts|count_mod)\((\d+)")


def facts_of_mechanism(
    mechanism: Mechanism, sql: Any, data: Any, columns: Mapping[str, Column]
) -> Facts:
    """Return facts about the one table that a question names.

    The population and the neighbour relation are those of the mechanism's query. A table has
    one name, as its budget goes by it: a file is called by its own.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
    >>> facts_of_mechanism(made, "select count(*) from visits", "visits.csv", {}).tables["visits"]
    Table(name='visits', population=5, ...)
    >>> facts_of_mechanism(made, "select count(*) from others", "visits.csv", {})
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: without public facts the table in visits.csv is called visits, ...
    """
    found = _POPULATED.match(mechanism.query)
    name, own = _table_name(sql, dialect_of(data)), _own_name(data)
    if own is not None and name.casefold() != own.casefold():
        raise InputError(
            f"without public facts the table in {data} is called {own}, so that it has one "
            f"budget; got {name}: write FROM {own}, or name the table in public facts"
        )
    table = Table(
        name=name,
        population=int(found[1]) if found else None,
        neighbours=Neighbours.of(mechanism.neighbours),
        columns=dict(columns),
    )
    return Facts({name: table})


def read_column(text: str) -> Column:
    """Read a column declared in one word, as the command line takes it.

    >>> read_column("age:0..120").bounds, read_column("region:north,south").values
    ((0, 120), ('north', 'south'))
    >>> read_column("born:date").type
    'date'
    """
    name, colon, rest = text.partition(":")
    if not colon or not name.strip() or not rest.strip():
        raise InputError(
            f"a column looks like age:0..120, region:north,south or born:date, got {text[:60]!r}"
        )
    name, rest = name.strip(), rest.strip()
    bounds = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", rest)
    if bounds:
        return column_from(name, {"bounds": [int(bounds[1]), int(bounds[2])]}, name)
    if rest in ("integer", "number", "text", "boolean", "date"):
        return column_from(name, {"type": rest}, name)
    values: list[Any] = [value.strip() for value in rest.split(",")]
    if all(re.fullmatch(r"-?\d+", value) for value in values):
        values = [int(value) for value in values]
    return column_from(name, {"values": values}, name)


def _own_name(data: Any) -> str | None:
    """Return the name of the only table that an address holds, or nothing where SQL chooses."""
    if not isinstance(data, str | Path):
        return None
    held = re.sub(r"^(polars|spark):", "", str(data), flags=re.IGNORECASE)
    for ending in sorted(TEXT_FILES + PARQUET_FILES, key=len, reverse=True):
        if held.lower().endswith(ending):
            return Path(held).name[: -len(ending)]
    return held.rpartition(".")[2] or None if held != str(data) else None


def _table_name(sql: Any, dialect: str) -> str:
    import sqlglot
    from sqlglot import errors, exp

    if not isinstance(sql, str):
        import ibis

        sql, dialect = str(ibis.to_sql(sql, dialect="duckdb")), "duckdb"
    try:
        tables = {
            table.name
            for tree in sqlglot.parse(sql, read=dialect)
            if tree is not None
            for table in tree.find_all(exp.Table)
        }
    except (errors.SqlglotError, RecursionError):
        tables = set()
    tables.discard("")
    if len(tables) != 1:
        raise InputError(
            f"the question must read one table, got {', '.join(sorted(tables)) or 'none'}"
        )
    return tables.pop()
