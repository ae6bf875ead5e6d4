"""Tables and JSON from files, with errors that name the file and the line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from tightrope.errors import InputError, TooLarge

#: Largest file that is read.
FILE_LIMIT = 256 * 2**20


def read_text(path: str | Path) -> str:
    """Return the text of a file, or refuse in one line.

    >>> read_text("no-such-file.csv")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: cannot read no-such-file.csv: No such file or directory
    """
    place = Path(path)
    try:
        size = place.stat().st_size
        if size > FILE_LIMIT:
            raise TooLarge(f"{path} has {size} bytes; at most {FILE_LIMIT} are read")
        if not place.is_file():
            raise InputError(f"cannot read {path}: not a file")
        return place.read_text(encoding="utf-8-sig")
    except OSError as wrong:
        raise InputError(f"cannot read {path}: {wrong.strerror or wrong}") from None
    except UnicodeDecodeError as wrong:
        raise InputError(f"{path} must be UTF-8 text, but byte {wrong.start} is not") from None
    except ValueError as wrong:
        if isinstance(wrong, InputError):
            raise
        raise InputError(f"cannot read {str(path)[:80]!r}: {wrong}") from None


def read_json(path: str | Path) -> Any:
    """Return what a JSON file holds; numbers stay texts, so that they can be read exactly.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write("[0.1, 1e-3]"), file.flush()
    ...     read_json(file.name)
    ['0.1', '1e-3']
    """

    def refuse(word: str) -> Any:
        raise InputError(f"{path} must hold finite numbers, got {word}")

    try:
        return json.loads(read_text(path), parse_float=str, parse_int=str, parse_constant=refuse)
    except json.JSONDecodeError as wrong:
        raise InputError(
            f"{path} is not JSON: {wrong.msg} at line {wrong.lineno}, column {wrong.colno}"
        ) from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply") from None


def read_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows of a CSV file with their line numbers, fields stripped.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("0.5, 1" + chr(10) * 2 + "2,3"), file.flush()
    ...     read_rows(file.name)
    [(1, ['0.5', '1']), (3, ['2', '3'])]
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), skipinitialspace=True)
    rows = []
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                rows.append((reader.line_num, fields))
    except csv.Error as wrong:
        raise InputError(f"{path} is not CSV: {wrong} at line {reader.line_num}") from None
    if not rows:
        raise InputError(f"{path} must hold at least one row, got none")
    return rows


def is_json(path: str | Path) -> bool:
    """Whether a file is read as JSON, by its name; every other file is read as CSV.

    >>> is_json("prior.JSON"), is_json("prior.csv")
    (True, False)
    """
    return Path(path).suffix.lower() == ".json"
