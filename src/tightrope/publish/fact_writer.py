"""Writing ``tightrope.toml``, from answers to questions or from data that is public anyway."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.files import write_text
from tightrope.publish.fact_files import parse_facts
from tightrope.publish.facts import Column, Table

#: Most different values of a public column that are listed.
LISTED_VALUES = 50


def facts_text(table: Table) -> str:
    """Return the public facts of one table as TOML.

    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(facts_text(Table("people", 100, columns={"age": age})))
    # Public facts: what is known without looking at the data.
    [tables.people]
    population = 100
    neighbours = "change-one"
    <BLANKLINE>
    [tables.people.columns]
    age = { bounds = [0, 120] }
    <BLANKLINE>
    """
    name = _key(table.name)
    lines = ["# Public facts: what is known without looking at the data.", f"[tables.{name}]"]
    settings: dict[str, Any] = {
        "source": table.source,
        "relation": table.relation,
        "population": table.population,
        "neighbours": table.neighbours.value,
        "budget": None if table.budget is None else str(table.budget),
        "person": table.person,
        "contributions": None if table.person is None else table.contributions,
    }
    lines += [f"{key} = {_value(value)}" for key, value in settings.items() if value is not None]
    if table.columns:
        lines += ["", f"[tables.{name}.columns]"]
        lines += [f"{_key(c.name)} = {_column(c)}" for c in table.columns.values()]
    return "\n".join(lines) + "\n"


def write_facts(table: Table, path: str | Path, *, replace: bool = False) -> None:
    """Write the public facts of one table; a file that exists is kept unless told otherwise.

    >>> import tempfile
    >>> from tightrope.publish.fact_files import read_facts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_facts(Table("people", 100), f"{folder}/tightrope.toml")
    ...     read_facts(f"{folder}/tightrope.toml").table("people").population
    100
    """
    if Path(path).exists() and not replace:
        raise InputError(f"{path}: there is such a file already; say so if it may be replaced")
    text = facts_text(table)
    parse_facts(text, str(path))
    write_text(path, text)


def columns_of_public_data(data: Any, table: str) -> Mapping[str, Column]:
    """Look at data that is public: its columns, their bounds and their few values.

    Never call this on data about people who are to be protected: what it writes down is exact.

    >>> import pyarrow
    >>> roads = pyarrow.table({"lanes": [2, 3, 2], "kind": ["a", "b", "a"]})
    >>> found = columns_of_public_data(roads, "roads")
    >>> found["lanes"].bounds, found["kind"].values
    ((2, 3), ('a', 'b'))
    """
    from sqlglot import exp

    from tightrope.publish.sources import open_source

    found: dict[str, Column] = {}
    with open_source(data, Table(table)) as source:
        relation = exp.to_identifier(source.relation, quoted=True).sql(source.dialect)
        schema = source.backend.table(source.relation).schema()
        for name, kind in schema.items():
            column = exp.to_identifier(name, quoted=True).sql(source.dialect)
            if kind.is_boolean():
                found[name] = Column(name, "boolean", values=(False, True))
            elif kind.is_integer():
                low, high = source.run(f"SELECT MIN({column}), MAX({column}) FROM {relation}")[0]
                bounds = None if low is None else (int(low), int(high))
                found[name] = Column(name, "integer", bounds=bounds)
            elif kind.is_numeric():
                found[name] = Column(name, "number")
            elif kind.is_date():
                found[name] = Column(name, "date")
            elif kind.is_string():
                rows = source.run(
                    f"SELECT DISTINCT {column} FROM {relation} WHERE {column} IS NOT NULL "
                    f"LIMIT {LISTED_VALUES + 1}"
                )
                values = tuple(sorted(str(row[0]) for row in rows))
                few = 0 < len(values) <= LISTED_VALUES
                found[name] = Column(name, "text", values=values if few else None)
    return found


def _column(column: Column) -> str:
    parts: dict[str, Any] = {"bounds": column.bounds, "values": column.values}
    shown = {key: list(value) for key, value in parts.items() if value is not None}
    if not shown:
        return f"{{ type = {_value(column.type)} }}"
    inner = [f"{key} = {_value(value)}" for key, value in shown.items()]
    if column.other is not None:
        inner.append(f"other = {_value(column.other)}")
    return f"{{ {', '.join(inner)} }}"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    # For texts, whole numbers, truth values and lists of them TOML and JSON agree.
    return json.dumps(value)
