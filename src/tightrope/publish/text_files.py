"""Text files as tables: nothing about them is guessed from their rows.

The first line names the columns and is public. Types are the declared ones. No row can make
reading fail: a field that is missing or does not fit its type is NULL, a line that cannot be
read is skipped.
"""

from __future__ import annotations

import csv
import glob
import gzip

from tightrope.errors import InputError
from tightrope.publish.facts import Table

#: How the names of text files end.
TEXT_FILES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
#: Longest first line, and longest line that is read.
HEADER_LIMIT, LINE_LIMIT = 1_000_000, 10_000_000

_TYPES = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}


def text_file_query(path: str, table: Table) -> str:
    """Return the SELECT by which DuckDB reads a text file with the declared types.

    >>> import tempfile
    >>> from tightrope.publish.facts import Column
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("name,age" + chr(10)), file.flush()
    ...     print(text_file_query(file.name, people))
    SELECT TRY_CAST("age" AS BIGINT) AS "age" FROM read_csv(...
    """
    tabs = ".tsv" in path.lower()
    header = _header(path, "\t" if tabs else ",")
    declared = [column for column in table.columns.values() if column.name in header]
    if table.columns and not declared:
        # What is there instead is not shown: it may be somebody's row.
        names = ", ".join(table.columns)
        raise InputError(f"{path}: the first line names none of the declared columns ({names})")
    selected = ", ".join(
        f"TRY_CAST({_name(column.name)} AS {_TYPES[column.type]}) AS {_name(column.name)}"
        for column in declared
    )
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    delimiter = "chr(9)" if tabs else "','"
    return (
        f"SELECT {selected or '*'} FROM read_csv({_text(path)}, auto_detect = false, "
        f"columns = {{{columns}}}, header = true, delim = {delimiter}, quote = '\"', "
        "escape = '\"', null_padding = true, ignore_errors = true, strict_mode = false, "
        f"parallel = false, max_line_size = {LINE_LIMIT})"
    )


def _header(path: str, delimiter: str) -> list[str]:
    first = sorted(glob.glob(path))[:1] or [path]
    opener = gzip.open if path.lower().endswith(".gz") else open
    try:
        # As bytes: a reader of text would decode rows ahead of the first line's end.
        with opener(first[0], "rb") as file:
            line = file.readline(HEADER_LIMIT).decode("utf-8-sig")
        names = next(csv.reader([line], delimiter=delimiter), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: the first line cannot be read") from None
    if not names or len(set(names)) < len(names) or not all(n and n.isprintable() for n in names):
        raise InputError(f"{path}: the first line must name the columns, each once")
    return names


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
