"""Reading ``tightrope.toml``: every error names the key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.files import read_text
from tightrope.publish.accounts import budget_of, collation_key
from tightrope.publish.facts import (
    LARGEST_BOUND,
    LARGEST_POPULATION,
    TYPES,
    VALUE_LIMIT,
    Column,
    Facts,
    Partition,
    Table,
    Value,
)
from tightrope.queries import Neighbours

#: The usual name of the file.
FACTS_FILE = "tightrope.toml"


def read_facts(path: str | Path) -> Facts:
    """Read a file of public facts; a source that is a file is looked for beside it.

    >>> read_facts("no-such-file.toml")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.toml: there is no such file
    """
    facts = parse_facts(read_text(path), str(path))
    folder = Path(path).parent
    tables = {
        name: replace(table, source=_beside(folder, table.source))
        for name, table in facts.tables.items()
    }
    return replace(facts, tables=tables)


def _beside(folder: Path, source: str | None) -> str | None:
    is_file = source is not None and ":" not in source
    return str(folder / source) if is_file and source is not None else source


def parse_facts(text: str, name: str = FACTS_FILE) -> Facts:
    """Read public facts from a text.

    >>> facts = parse_facts('[tables.people]' + chr(10) + 'population = 100')
    >>> facts.table("people").population
    100
    >>> parse_facts('[tables.people]' + chr(10) + 'population = -1')
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: tightrope.toml: tables.people.population must be a whole number
    from 1 to 1000000000000000, got -1
    """
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as wrong:
        raise InputError(f"{name}: this is not TOML: {wrong}") from None
    except RecursionError:
        raise InputError(f"{name}: the TOML is nested too deeply") from None
    try:
        return facts_from(data)
    except InputError as wrong:
        raise InputError(f"{name}: {wrong}") from None


def facts_from(data: Mapping[str, Any]) -> Facts:
    """Read public facts from nested mappings, as TOML gives them.

    >>> facts_from({"tables": {"people": {"populaton": 5}}})
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: tables.people.populaton is not a key here (known: source, ...
    """
    _known(data, "", ("tables", "users"))
    tables = _section(data, "tables", "")
    if not tables:
        raise InputError("tables must name at least one table: add [tables.NAME]")
    users = _section(data, "users", "")
    budgets = {}
    for user, entry in users.items():
        place = f"users.{user}"
        _known(_mapping(entry, place), place, ("budget",))
        budgets[user] = _budget(_needed(entry, "budget", place), f"{place}.budget")
    found = {name: _table(name, entry) for name, entry in tables.items()}
    _check_relations(found)
    return Facts(found, budgets)


def _check_relations(tables: Mapping[str, Table]) -> None:
    """Refuse two names for one table: each would have a budget of its own."""
    owners: dict[tuple[str | None, str], str] = {}
    for table in tables.values():
        place = (table.source, (table.relation or table.name).lower())
        if place in owners:
            raise InputError(
                f"tables.{owners[place]} and tables.{table.name} are the same table: people have "
                "one budget, whatever their table is called"
            )
        owners[place] = table.name


_TABLE_KEYS = (
    "source",
    "relation",
    "population",
    "neighbours",
    "budget",
    "person",
    "contributions",
    "columns",
    "partitions",
)


def _table(name: str, entry: Any) -> Table:
    place = f"tables.{name}"
    data = _mapping(entry, place)
    _known(data, place, _TABLE_KEYS)
    columns = {
        column: column_from(column, value, f"{place}.columns.{column}")
        for column, value in _section(data, "columns", place).items()
    }
    near = data.get("neighbours", "change-one")
    try:
        neighbours = Neighbours.of(near)
    except InputError as wrong:
        raise InputError(f"{place}.neighbours: {wrong}") from None
    population = data.get("population")
    if population is not None:
        population = _whole(population, f"{place}.population", 1, LARGEST_POPULATION)
    person = _text(data, "person", place)
    contributions = _whole(data.get("contributions", 1), f"{place}.contributions", 1, 10**6)
    if contributions > 1 and person is None:
        raise InputError(
            f"{place}.contributions says that one person may have {contributions} rows: "
            f"{place}.person must name the column that tells people apart"
        )
    if person is not None and person not in columns:
        columns[person] = Column(person, "text")
    partitions = {
        part: _partition(part, value, f"{place}.partitions.{part}", columns)
        for part, value in _section(data, "partitions", place).items()
    }
    budget = data.get("budget")
    return Table(
        name=name,
        population=population,
        neighbours=neighbours,
        columns=columns,
        person=person,
        contributions=contributions,
        partitions=partitions,
        budget=None if budget is None else _budget(budget, f"{place}.budget"),
        source=_text(data, "source", place),
        relation=_text(data, "relation", place),
    )


def column_from(name: str, entry: Any, place: str) -> Column:
    """Read the declaration of one column.

    >>> column_from("age", {"bounds": [0, 120]}, "age").type
    'integer'
    """
    data = _mapping(entry, place)
    _known(data, place, ("type", "bounds", "values", "other"))
    bounds = data.get("bounds")
    if bounds is not None:
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise InputError(f"{place}.bounds must be [smallest, largest], got {bounds!r}")
        low, high = (
            _whole(bound, f"{place}.bounds", -LARGEST_BOUND, LARGEST_BOUND) for bound in bounds
        )
        if low > high:
            raise InputError(f"{place}.bounds must be [smallest, largest], got {bounds!r}")
        bounds = (low, high)
    values = data.get("values")
    if values is not None:
        values = _values(values, f"{place}.values")
    other = data.get("other")
    if other is not None and (values is None or other not in values):
        raise InputError(f"{place}.other must be one of {place}.values, got {other!r}")
    kind = data.get("type", _guess(bounds, values))
    if kind not in TYPES:
        raise InputError(f"{place}.type must be one of {', '.join(TYPES)}, got {kind!r}")
    if bounds is not None and kind != "integer":
        raise InputError(f"{place}.bounds are for whole numbers: type must be 'integer'")
    if values is not None and kind != _guess(None, values):
        raise InputError(f"{place}.values are of type {_guess(None, values)}, not {kind}")
    return Column(name, kind, bounds, values, other)


def _guess(bounds: Any, values: tuple[Value, ...] | None) -> str | None:
    if bounds is not None:
        return "integer"
    if values is None:
        return None
    first = values[0]
    return "boolean" if isinstance(first, bool) else "text" if isinstance(first, str) else "integer"


def _values(values: Any, place: str) -> tuple[Value, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= VALUE_LIMIT:
        raise InputError(f"{place} must be a list of 1 to {VALUE_LIMIT} values")
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        raise InputError(f"{place} must be all texts, all whole numbers or all true/false")
    if len(set(values)) < len(values):
        raise InputError(f"{place} names a value twice")
    return tuple(values)


def _partition(name: str, entry: Any, place: str, columns: Mapping[str, Column]) -> Partition:
    data = _mapping(entry, place)
    _known(data, place, ("column", "parts", "fixed"))
    column = _text(data, "column", place) or name
    if column not in columns:
        raise InputError(f"{place}.column must be a declared column, got {column!r}")
    parts = {
        part: _values(values, f"{place}.parts.{part}")
        for part, values in _section(data, "parts", place).items()
    }
    if not parts:
        raise InputError(f"{place}.parts must name at least one part")
    owners: dict[Value, tuple[str, Value]] = {}
    for part, values in parts.items():
        for value in values:
            if columns[column].type != _guess(None, (value,)):
                raise InputError(
                    f"{place}.parts.{part}: {value!r} is not of the type of column {column!r}"
                )
            owner, alike = owners.setdefault(
                collation_key(value) if isinstance(value, str) else value, (part, value)
            )
            if owner != part:
                also = "" if alike == value else f", and {alike!r} is the same to some databases"
                raise InputError(
                    f"{place}.parts must be disjoint: {value!r} is in {owner!r} and {part!r}{also}"
                )
    fixed = data.get("fixed", False)
    if not isinstance(fixed, bool):
        raise InputError(f"{place}.fixed must be true or false, got {fixed!r}")
    return Partition(name, column, parts, fixed)


def _budget(value: Any, place: str) -> Any:
    try:
        return budget_of(value)
    except InputError as wrong:
        raise InputError(f"{place}: {wrong}") from None


def _known(data: Mapping[str, Any], place: str, keys: tuple[str, ...]) -> None:
    for key in data:
        if key not in keys:
            full = f"{place}.{key}" if place else key
            raise InputError(f"{full} is not a key here (known: {', '.join(keys)})")


def _needed(data: Mapping[str, Any], key: str, place: str) -> Any:
    if key not in data:
        raise InputError(f"{place}.{key} is missing")
    return data[key]


def _mapping(data: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(f"{place} must be a table of keys, got {data!r:.60}")
    return data


def _section(data: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    return _mapping(data.get(key, {}), f"{place}.{key}" if place else key)


def _text(data: Mapping[str, Any], key: str, place: str) -> str | None:
    value = data.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InputError(f"{place}.{key} must be a text, got {value!r:.60}")
    return value


def _whole(value: Any, place: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(
            f"{place} must be a whole number from {least} to {most}, got {value!r:.40}"
        )
    return value
