"""The few exceptions of the package.

Every message says what must hold, what was given, and what to do about it, in one line.
"""

from __future__ import annotations


class TightropeError(Exception):
    """Any error that Tightrope raises on purpose.

    >>> issubclass(InputError, TightropeError)
    True
    """


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
        near = f"{text[max(0, position - 30) : position]}▸{text[position : position + 30]}"
        near = near.replace("\n", "⏎").replace("\r", "⏎")  # a message is one line
        # A message is one line, whatever the text holds.
        near = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in near)
        super().__init__(f"{message} at character {position + 1} of {text[:80]!r}: {near}")


class TooLarge(InputError):
    """The request would need more memory or time than the stated limit.

    >>> from tightrope import query
    >>> query("databases(20,4)").graph.distances_from(0)
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: a row of distances of databases(20,4) would hold ...
    """


class CheckFailed(TightropeError):
    """A check that was asked for did not pass (the command line exits with 1).

    >>> issubclass(CheckFailed, InputError)
    False
    """
