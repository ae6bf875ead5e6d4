"""Errors that know the field of the page that caused them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tightrope.errors import TightropeError


class Refused(TightropeError):
    """What a field holds cannot be used.

    Parameters
    ----------
    field
        The name of the field, such as ``"question"``.
    message
        Why, in one line.

    Examples
    --------
    >>> Refused("epsilon", "ε must be positive, got -1").field
    'epsilon'
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return self.message


@contextmanager
def blame(field: str) -> Iterator[None]:
    """Say of every refusal inside which field it belongs to.

    >>> from tightrope import Epsilon
    >>> with blame("epsilon"):
    ...     Epsilon.of(-1)
    Traceback (most recent call last):
    ...
    tightrope.studio.refusal.Refused: ε must be positive, got -1
    """
    try:
        yield
    except Refused:
        raise
    except TightropeError as refused:
        raise Refused(field, str(refused)) from None
