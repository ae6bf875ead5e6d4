"""Text files in and out: bounded memory, and errors that name the file and the line."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import reprlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tightrope.errors import InputError, TooLarge

#: Where a file is.
FilePath = str | Path
#: Largest file that is read, in bytes.
FILE_LIMIT = 256 * 2**20
#: How the name of a file ends while it is written.
UNFINISHED = ".unfinished"


def read_text(path: FilePath) -> str:
    """Return the text of a regular UTF-8 file of at most ``FILE_LIMIT`` bytes.

    >>> read_text("no-such-file.csv")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.csv: there is no such file
    """
    place = Path(path)
    try:
        if place.is_dir():
            raise InputError(f"{path}: this is a folder, not a file")
        if place.exists() and not place.is_file():
            raise InputError(f"{path}: this is not a regular file")
        with place.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as refused:
        if isinstance(refused, InputError):
            raise
        raise InputError(
            f"{str(path)[:80]!r} cannot be read: {_reason(refused)}"
        ) from None
    if len(data) > FILE_LIMIT:
        raise TooLarge(f"{path}: a file may hold at most {FILE_LIMIT} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise InputError(f"{path}:{line}: this is not UTF-8 text") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{path}:{line}: text files do not hold NUL characters")
    return text


def write_text(path: FilePath, text: str) -> None:
    """Write a UTF-8 file, or say in one line why not.

    >>> write_text("no such folder/graph.csv", "")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: 'no such folder/graph.csv' cannot be written: No such file ...
    """
    try:
        Path(path).write_text(text, encoding="utf-8", newline="")
    except (OSError, ValueError) as refused:
        raise InputError(
            f"{str(path)[:80]!r} cannot be written: {_reason(refused)}"
        ) from None


def write_whole(
    path: Path, write: Callable[[Any], object], by_way_of: Path | None = None
) -> None:
    """Put a file in its place at once: whole and on the disk, or not at all.

    Parameters
    ----------
    path
        Where it belongs.
    write
        Writes it into a file that is opened for bytes.
    by_way_of
        The folder where it is written, on the same disk; that of the path by default.
    """
    own = f"{os.getpid()}-{threading.get_ident()}"  # two may write the same file
    fresh = (by_way_of or path.parent) / f"{path.name}.{own}{UNFINISHED}"
    try:
        with fresh.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as refused:
        raise InputError(f"{path} cannot be written: {_reason(refused)}") from None
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # where a folder cannot be opened, as on Windows
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_goals(*paths: FilePath | None) -> None:
    """Refuse files that could not be written, before the work for them is done.

    >>> check_goals(None, "no such folder/graph.csv")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the folder 'no such folder' does not exist
    """
    places = [Path(path) for path in paths if path is not None]
    for place in places:
        if place.is_dir():
            raise InputError(f"{place}: this is a folder, not a file")
        if not place.parent.is_dir():
            raise InputError(f"the folder {str(place.parent)!r} does not exist")
        if not os.access(place.parent, os.W_OK):
            raise InputError(f"the folder {str(place.parent)!r} cannot be written to")
    if len({place.resolve() for place in places}) < len(places):
        raise InputError(f"{places[0]}: two results cannot be written into one file")


def read_json(path: FilePath, *, typed: bool = False) -> Any:
    """Return what a JSON file holds; numbers stay texts, so that they can be read exactly.

    With ``typed`` they are numbers.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write("[0.1, 1e-3]"), file.flush()
    ...     read_json(file.name)
    ['0.1', '1e-3']
    """
    return parse_json(read_text(path), path, typed=typed)


def parse_json(text: str, path: FilePath, *, typed: bool = True) -> Any:
    """Return what the text of a JSON file holds, if it has one meaning.

    >>> parse_json('{"a": 1, "a": 2}', "graph.json")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: graph.json: a key of an object occurs twice
    """

    def refuse(word: str) -> Any:
        raise InputError(f"{path}: numbers must be finite, got {word}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            raise InputError(f"{path}: a key of an object occurs twice")
        return entries

    number = None if typed else str
    try:
        return json.loads(
            text,
            parse_float=number,
            parse_int=number,
            parse_constant=refuse,
            object_pairs_hook=once,
        )
    except json.JSONDecodeError as wrong:
        raise InputError(
            f"{path}:{wrong.lineno}: this is not JSON: {wrong.msg} at column {wrong.colno}"
        ) from None
    except RecursionError:
        raise InputError(f"{path}: this JSON is nested too deeply") from None
    except ValueError as wrong:
        # An integer of thousands of digits.
        raise (
            wrong if isinstance(wrong, InputError) else InputError(f"{path}: {wrong}")
        ) from None


def read_rows(
    path: FilePath, *, strict: bool = False, even: bool = True
) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file that are not empty, with line numbers.

    Blanks around fields are taken off, and a file without rows is refused; with ``strict``, where
    fields are labels, blanks are refused instead, and no rows are an empty list. Unless ``even`` is
    false, every row must have as many fields as the first.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("0.5, 1" + chr(10) * 2 + "2,3"), file.flush()
    ...     read_rows(file.name)
    [(1, ['0.5', '1']), (3, ['2', '3'])]
    """
    text = io.StringIO(read_text(path), newline="")
    reader = csv.reader(text, skipinitialspace=not strict, strict=True)
    rows = list[tuple[int, list[str]]]()
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if strict and fields != row:
                bad = next(
                    old for old, new in zip(row, fields, strict=True) if old != new
                )
                raise InputError(
                    f"{path}:{reader.line_num}: fields must not begin or end with a space, "
                    f"got {reprlib.repr(bad)}"
                )
            if even and rows and any(fields) and len(fields) != len(rows[0][1]):
                raise InputError(
                    f"{path}:{reader.line_num}: expected {len(rows[0][1])} fields as above, got "
                    f"{len(fields)}; put a value with commas in double quotes"
                )
            if any(fields):
                rows.append((reader.line_num, fields))
    except csv.Error as wrong:
        raise InputError(
            f"{path}:{reader.line_num}: this is not CSV: {wrong}"
        ) from None
    if not (rows or strict):
        raise InputError(f"{path}: at least one row is needed, got none")
    return rows


def is_json(path: FilePath) -> bool:
    """Whether a file is read as JSON, by its name; every other file is read as CSV.

    >>> is_json("prior.JSON"), is_json("prior.csv")
    (True, False)
    """
    return Path(path).suffix.lower() == ".json"


def _reason(refused: Exception) -> str:
    return str(getattr(refused, "strerror", None) or refused)
