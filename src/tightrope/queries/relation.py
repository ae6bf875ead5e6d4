"""The neighbour relation: which two databases differ by one person."""

from __future__ import annotations

from enum import StrEnum

from tightrope.errors import InputError


class Neighbours(StrEnum):
    """Which two databases of u people differ by one person.

    ``change-one``: exactly u people, one of them has another value (the papers' Hamming
    relation). ``add-remove``: at most u people, one of them comes or goes. ``either``: at most u
    people, both moves.

    Examples
    --------
    >>> Neighbours.of("add-remove").allows_absent, Neighbours.of("add-remove").allows_change
    (True, False)
    >>> Neighbours.of("swap")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: neighbours must be ..., got 'swap'
    """

    CHANGE_ONE = "change-one"
    ADD_REMOVE = "add-remove"
    EITHER = "either"

    @classmethod
    def of(cls, given: str | Neighbours) -> Neighbours:
        """Return the relation with a name."""
        try:
            return cls(given)
        except ValueError:
            raise InputError(
                f"neighbours must be 'change-one', 'add-remove' or 'either', got {given!r}"
            ) from None

    @property
    def allows_change(self) -> bool:
        """Whether one person's value may change in one step."""
        return self is not Neighbours.ADD_REMOVE

    @property
    def allows_absent(self) -> bool:
        """Whether people may be absent, so that one may come or go in one step."""
        return self is not Neighbours.CHANGE_ONE
