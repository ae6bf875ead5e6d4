"""Fields of text files: rows, numbers and labels, with errors that name the place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from tightrope.errors import InputError
from tightrope.files import read_text

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")


def csv_rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the rows of a CSV file that are not empty, each with its line number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "edges.csv")
    ...     _ = place.write_text('from,to\n\n"a, b",c\n')
    ...     list(csv_rows(place))
    [(1, ['from', 'to']), (3, ['a, b', 'c'])]
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for row in reader:
            for field in row:
                if field != field.strip():
                    raise InputError(
                        f"{path}:{reader.line_num}: fields must not begin or end with a space, "
                        f"got {shortened(field)}"
                    )
            if any(row):
                yield reader.line_num, row
    except csv.Error as wrong:
        raise InputError(f"{path}:{reader.line_num}: this is not CSV: {wrong}") from None


def number(field: str, place: str, what: str) -> float:
    """Read a finite number from a field, or say where it is not one.

    Examples
    --------
    >>> number("nan", "edges.csv:3", "a length")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: edges.csv:3: a length must be a finite number, got 'nan'
    """
    try:
        value = float(field) if "_" not in field else float("nan")
    except ValueError:
        value = float("nan")
    if not -float("inf") < value < float("inf"):
        raise InputError(f"{place}: {what} must be a finite number, got {shortened(field)}")
    return value


def typed_labels(texts: Sequence[str]) -> list[Hashable]:
    """Return labels from a format without types: integers where all of them are.

    Examples
    --------
    >>> typed_labels(["0", "10", "-3"]), typed_labels(["0", "10", "07"])
    ([0, 10, -3], ['0', '10', '07'])
    """
    if texts and all(_WHOLE.fullmatch(text) and text != "-0" for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def label_texts(labels: Sequence[Hashable], path: str | Path) -> list[str]:
    """Return labels as texts that :func:`typed_labels` turns back into the same labels.

    Examples
    --------
    >>> label_texts([("a", 1)], "graph.csv")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: graph.csv: answer ('a', 1) is neither text nor ...
    """
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, int | str):
            raise InputError(
                f"{path}: answer {shortened(label)} is neither text nor a whole number; "
                "a .json file keeps it"
            )
        if isinstance(label, str) and (not label or label != label.strip() or "\0" in label):
            raise InputError(
                f"{path}: answer {shortened(label)} is empty, begins or ends with a space or holds "
                "a NUL; a .json file keeps it"
            )
    texts = [str(label) for label in labels]
    back = typed_labels(texts)
    changed = [a for a, b in zip(labels, back, strict=True) if a != b]
    if changed:
        raise InputError(
            f"{path}: answer {shortened(changed[0])} would be read back as another type; "
            "a .json file keeps it"
        )
    return texts


def shortened(value: object) -> str:
    """Return how a value prints, on one line and cut when long.

    Examples
    --------
    >>> shortened("x" * 100)[-3:]
    'xx…'
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
