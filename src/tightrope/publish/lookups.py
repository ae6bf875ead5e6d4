"""Public lookup tables: region codes, classifications; read once, and no secret."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tightrope.errors import InputError, refusing
from tightrope.publish.facts import Column, Table
from tightrope.publish.values import Known

#: The most rows of a lookup table.
MOST_ROWS = 10_000


def public_rows(table: Table, kind: str) -> dict[Known, Mapping[str, Known]]:
    """Return the rows of a public table by their keys.

    Columns have their declared type; all others are texts. Rows without a key are left out.

    Parameters
    ----------
    table
        The table, which must be declared as public.
    kind
        The type of the column that it is joined by: its key is read as that.
    """
    from tightrope.publish.sources import open_source

    assert table.public
    assert table.key is not None
    place = table.source
    with (
        refusing(f"table {table.name!r} cannot be read", Exception),
        open_source(place, table) as source,
    ):
        types = source.columns()
        if table.key not in types:
            raise InputError(
                f"table {table.name!r} has no column {table.key!r}, which is declared as its key"
            )
        columns = [
            Column(name, kind)
            if name == table.key
            else table.columns.get(name, Column(name, "text"))
            for name in types
        ]
        source.prepare(columns)
        listed = (source.cell(column, types[column.name]) for column in columns)
        cells = ", ".join(listed)
        fetched = source.fetch(
            f"SELECT {cells} FROM {source.rows()} LIMIT {MOST_ROWS + 1}"
        )
    if len(fetched) > MOST_ROWS:
        raise InputError(
            f"a public table has at most {MOST_ROWS} rows, {table.name!r} has more"
        )
    place_of_key = list(types).index(table.key)
    rows: dict[Known, Mapping[str, Known]] = {}
    for cells_of_row in fetched:
        values = [
            _value(cell, column.type)
            for cell, column in zip(cells_of_row, columns, strict=True)
        ]
        key = values[place_of_key]
        if key is None:
            continue
        if key in rows:
            raise InputError(
                f"table {table.name!r} has the key {key!r} twice: rows are joined with one at most"
            )
        rows[key] = dict(zip(types, values, strict=True))
    if not rows:
        raise InputError(f"table {table.name!r} has no row with a key")
    return rows


def _value(cell: Any, kind: str) -> Known:
    """Return a cell as functions take it."""
    if cell is None:
        return None
    if kind == "text":
        return cell if isinstance(cell, str) else bytes(cell).decode(errors="replace")
    if kind == "date":
        return (
            cell
            if isinstance(cell, datetime.date)
            else datetime.date.fromisoformat(cell)
        )
    return bool(cell) if kind == "boolean" else Fraction(cell)
