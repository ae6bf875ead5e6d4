"""Which data a source is, whatever it is called: asked of paths and catalogues, never of rows."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.publish.accounts import SourceIdentity, folded_name
from tightrope.publish.sources import Source


def identity_of(data: Any, source: Source) -> SourceIdentity:
    """Return the identity of the table of an open source.

    Parameters
    ----------
    data
        What the source was opened from.
    source
        The open source.

    Examples
    --------
    >>> import pyarrow
    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.sources import open_source
    >>> people = pyarrow.table({"age": [31, 44]})
    >>> with open_source(people, Table("people", 2)) as source:
    ...     str(identity_of(people, source))
    'memory:people'
    """
    if source.dialect == "postgres":
        return _postgres(source)
    table = folded_name(source.relation)
    if source.dialect == "spark" and not _held_file(data):
        place = str(data).partition(":")[2].partition("/;")[0] if isinstance(data, str) else ""
        host = place.strip("/") if "remote" in str(data).partition(":")[0] else ""
        return SourceIdentity((f"spark:{host}#{table}",))
    held = _held_file(data)
    if held is not None:
        return SourceIdentity(_file_names(held))
    for schema, path in _database_files(source):
        known, _, name = table.rpartition(".")
        if path and known in ("", schema):
            return SourceIdentity(tuple(f"{one}#{schema}.{name}" for one in _file_names(path)))
    return SourceIdentity((f"memory:{table}",))


def _held_file(data: Any) -> str | None:
    """Return the file that is one table: CSV or Parquet, whoever reads it."""
    if not isinstance(data, str | Path):
        return None
    text = str(data)
    for start in ("polars:", "spark:"):
        if text.lower().startswith(start):
            text = text[len(start) :]
    endings = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
    return text if text.lower().endswith(endings) and "://" not in text else None


def _file_names(path: str) -> tuple[str, ...]:
    """Return the names of a file, or of all files that a pattern matches."""
    names: list[str] = []
    for found in sorted(glob.glob(path)) if not Path(path).exists() else [path]:
        resolved = Path(found).resolve()
        held = os.stat(resolved)
        names += [f"file:{resolved}", f"inode:{held.st_dev}:{held.st_ino}"]
    if not names:
        raise InputError(f"{path}: there is no such file")
    return tuple(names)


def _database_files(source: Source) -> list[tuple[str, str]]:
    """Return the schemas and files of a SQLite or DuckDB database."""
    rows = source.backend.con.execute("PRAGMA database_list").fetchall()
    # DuckDB calls a database after its file, and the schema in it main.
    named = [(str(name), str(file or "")) for _, name, file in rows]
    return named if source.dialect == "sqlite" else [("main", file) for _, file in named]


def _postgres(source: Source) -> SourceIdentity:
    connection = source.backend.con
    parts = source.relation.split(".")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    row = connection.execute(
        "SELECT (SELECT system_identifier FROM pg_control_system()), current_database(), d.oid, "
        "n.nspname, c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = "
        "c.relnamespace JOIN pg_database d ON d.datname = current_database() WHERE c.oid = "
        "to_regclass(%s)",
        [quoted],
    ).fetchone()
    if row is None:
        raise InputError(f"{source.name} has no table {source.relation!r} that can be read")
    system, database, database_number, schema, table, number = row
    return SourceIdentity(
        (
            f"postgresql:{system}/{database}/{schema}.{table}",
            f"postgresql:{system}/{database_number}/{number}",
        )
    )
