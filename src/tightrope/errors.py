"""The few exceptions of the package, the check that is made everywhere, and places of errors.

Every message says what must hold, what was given, and what to do about it, in one line.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager


class TightropeError(Exception):
    """Any error that Tightrope raises on purpose."""


class InputError(TightropeError, ValueError):
    """What was given cannot be used: the message says what must hold and what was given.

    >>> from tightrope import Epsilon
    >>> Epsilon.of(-1)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: ε must be positive, got -1
    """


class TextError(InputError):
    """A text that does not parse; the message points at the offending character.

    Parameters
    ----------
    message
        What was expected.
    text
        The whole text.
    position
        Index of the first character that does not fit.

    Examples
    --------
    >>> raise TextError("expected a digit", "sum(a)", 4)
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected a digit at character 5 of 'sum(a)': sum(▸a)
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        near = (
            f"{text[max(0, position - 30) : position]}▸{text[position : position + 30]}"
        )
        # A message is one line, whatever the text holds.
        near = near.replace("\n", "⏎").replace("\r", "⏎")
        near = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in near)
        super().__init__(
            f"{message} at character {position + 1} of {text[:80]!r}: {near}"
        )


class TooLarge(InputError):
    """The request would need more memory or time than the stated limit.

    >>> from tightrope import query
    >>> query("databases(20,4)").graph.distances_from(0)
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: a row of distances of databases(20,4) would hold ...
    """


class CheckFailed(TightropeError):
    """A check that was asked for did not pass (the command line exits with 1)."""


def in_one_line(problem: Exception) -> str:
    """Say for a person what went wrong: what was refused and why, or that it is a defect.

    >>> in_one_line(InputError("ε must be positive, got -1")), in_one_line(MemoryError())
    ('ε must be positive, got -1', 'not enough memory for this request')
    """
    if isinstance(problem, TightropeError):
        message = str(problem)
    elif isinstance(problem, MemoryError):
        message = "not enough memory for this request"
    elif isinstance(problem, OSError) and problem.strerror:
        message = f"{problem.filename or 'output'}: {problem.strerror}"
    else:
        message = f"unexpected {type(problem).__name__}: {problem} (a defect)"
    return " ".join(message.split())


def whole_number(
    value: object, what: str, least: int = 1, most: int | None = None
) -> int:
    """Return a whole number that is large enough and not too large, or refuse.

    Parameters
    ----------
    value
        What was given: any integer, also NumPy's; ``True`` is not a number.
    what
        What it is called in the message.
    least, most
        The smallest and the largest number that will do.

    Examples
    --------
    >>> whole_number(3, "the number of people")
    3
    >>> whole_number(2.5, "the number of people")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the number of people must be a whole number of at least 1, got 2.5
    """
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise InputError(f"{what} must be a whole number {limits}, got {value!r:.60}")


@contextmanager
def blamed(where: object) -> Iterator[None]:
    """Put the place that a value was read from in front of what is wrong with it."""
    try:
        yield
    except InputError as wrong:
        kind = TooLarge if isinstance(wrong, TooLarge) else InputError
        raise kind(f"{where}: {wrong}") from None


@contextmanager
def refusing(message: str, *kinds: type[Exception]) -> Iterator[None]:
    """Refuse in these words what raises one of these errors; a refusal inside it stays as it is.

    >>> with refusing("a whole number is needed, got 'x'", ValueError):
    ...     int("x")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a whole number is needed, got 'x'
    """
    try:
        yield
    except kinds as problem:
        if isinstance(problem, TightropeError):
            raise
        raise InputError(message) from None
