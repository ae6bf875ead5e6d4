"""The small pieces from which texts are read; errors point at the character."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tightrope.consumers.numerals import LONGEST_TOKEN, NUMBER
from tightrope.errors import InputError, TextError, TooLarge

Made = TypeVar("Made")

_SPACE = re.compile(r"\s*")


def skip_space(text: str, position: int) -> int:
    """Return the place of the first character at or after a place that is not a space.

    >>> skip_space("a  b", 1)
    3
    """
    space = _SPACE.match(text, position)
    return position if space is None else space.end()


def expect_end(text: str, position: int) -> None:
    """Refuse anything but spaces from a place on.

    >>> expect_end("uniform()", 7)
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected the end at character 8 of 'uniform()': uniform▸()
    """
    position = skip_space(text, position)
    if position < len(text):
        raise TextError("expected the end", text, position)


def read_numbers(text: str, position: int, closing: str) -> tuple[list[str], int]:
    """Read numbers up to the closing sign (or the end); return them and the place after it.

    >>> read_numbers("(.3, 1/2)", 1, ")")
    (['.3', '1/2'], 9)
    """
    found: list[str] = []
    while True:
        number = NUMBER.match(text, position)
        if number is None or len(number[0]) > LONGEST_TOKEN:
            raise TextError("expected a number such as .3 or 1/3", text, position)
        if re.search(r"/\s*[0.]*(?:[eE]|$)", number[0]):
            raise TextError("expected a number that does not divide by zero", text, position)
        found.append(number[0])
        position = skip_space(text, number.end())
        sign = text[position : position + 1]
        if sign == closing:
            return found, position + len(closing)
        if sign != ",":
            wanted = f"',' or {closing!r}" if closing else "',' or the end"
            raise TextError(f"expected {wanted}", text, position)
        position = skip_space(text, position + 1)


def file_path(name: str, text: str, position: int, folder: Path) -> Path:
    """Return the place of the file that a text names, relative to a folder.

    >>> file_path("a.csv", "file:a.csv", 5, Path("data")).as_posix()
    'data/a.csv'
    """
    if not name.strip():
        raise TextError("expected the name of a file", text, position)
    return folder / name.strip()


def named(where: str | Path, make: Callable[[], Made]) -> Made:
    """Return what is made, or refuse with the place it was read from in front.

    >>> named("a.csv", lambda: 3)
    3
    """
    try:
        return make()
    except InputError as wrong:
        kind = TooLarge if isinstance(wrong, TooLarge) else InputError
        raise kind(f"{where}: {wrong}") from None
