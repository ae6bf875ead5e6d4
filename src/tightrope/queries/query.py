"""A question about a table of people, together with a neighbour relation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tightrope.errors import InputError, refusing
from tightrope.graphs import AnswerGraph, Databases
from tightrope.kinds import RELATIONS, listed


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
        names = listed(map(repr, RELATIONS))
        with refusing(f"neighbours must be {names}, got {given!r}", ValueError):
            return cls(given)

    @property
    def allows_change(self) -> bool:
        """Whether one person's value may change in one step."""
        return self is not Neighbours.ADD_REMOVE

    @property
    def allows_absent(self) -> bool:
        """Whether people may be absent, so that one may come or go in one step."""
        return self is not Neighbours.CHANGE_ONE


@dataclass(frozen=True)
class Query:
    r"""A query :math:`f : Val^u \to` answers, its neighbour relation and its answer graph.

    Attributes
    ----------
    text
        The text form in its one spelling, such as ``sum(150,5)``. With the relation it determines
        the graph, its edge lengths and its labels, unless the graph is one's own.
    graph
        The answer graph.
    neighbours
        Which two databases differ by one person.
    individuals
        The number u of people (at most, when people may be absent), where it is known.
    values
        One person's possible values, where they are known.
    function
        The answer to a database, given as the tuple of the values of the people in it.
    fewest
        The smallest number of people that has an answer (1 for a mean or median).
    sees_absent
        Whether the function gets ``None`` in the place of an absent person.

    Examples
    --------
    >>> from tightrope import query
    >>> ages = query("sum(3,5)")
    >>> ages
    Query('sum(3,5)', change-one, 16 answers)
    >>> ages.answer([5, 0, 2]), ages.databases().size
    (7, 216)
    """

    text: str
    graph: AnswerGraph
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    individuals: int | None = None
    values: Sequence[Hashable] | None = None
    function: Callable[[tuple[Any, ...]], Hashable] | None = field(
        default=None, compare=False
    )
    fewest: int = 0
    sees_absent: bool = False

    def answer(self, database: Sequence[Hashable]) -> Hashable:
        """Return the answer to one database: one value for each person.

        Where people may be absent, write ``None`` for them or leave them out.

        >>> from tightrope import query
        >>> query("mean(3,5)", neighbours="add-remove").answer([4, None, 1])
        Fraction(5, 2)
        """
        if self.function is None:
            raise InputError(
                f"{self.text} is given by its graph alone: it has no function to apply"
            )
        slots = tuple(database)
        self._check_slots(slots)
        present = tuple(value for value in slots if value is not None)
        if self.values is not None:
            for value in present:
                if not _is_among(value, self.values):
                    raise InputError(
                        f"{value!r} is not one person's value in {self.text}"
                    )
        if len(present) < self.fewest:
            raise InputError(
                f"{self.text} has no answer for fewer than {self.fewest} people"
            )
        return self.function(slots if self.sees_absent else present)

    def _check_slots(self, slots: tuple[Hashable, ...]) -> None:
        if self.individuals is None:
            return
        may_miss = self.neighbours.allows_absent
        fits = len(slots) == self.individuals or (
            # Leaving out is the same as None, unless the function sees who is absent.
            may_miss and not self.sees_absent and len(slots) < self.individuals
        )
        if not fits or (None in slots and not may_miss):
            most = "at most " if may_miss and not self.sees_absent else "exactly "
            raise InputError(
                f"a database of {self.text} under {self.neighbours.value} has {most}"
                f"{self.individuals} people, got {len(slots)}"
                f"{', some of them absent' if None in slots else ''}"
            )

    def databases(self) -> Databases:
        """Return the graph of the databases under the neighbour relation, never listed.

        Where people may be absent, the empty database is one of the nodes, even if it has no
        answer (``fewest``).

        >>> from tightrope import query
        >>> query("count(20)").databases().diameter
        20
        """
        if self.individuals is None or self.values is None:
            raise InputError(
                f"{self.text} is given by its graph alone: the people and their values are unknown"
            )
        return Databases(
            self.individuals,
            self.values,
            change=self.neighbours.allows_change,
            absent=self.neighbours.allows_absent,
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"Query({self.text!r}, {self.neighbours.value}, {self.graph.size} answers)"
        )


def _is_among(value: Any, values: Sequence[Hashable]) -> bool:
    """Return whether a value is one of several, without walking through a long range."""
    if isinstance(values, range):
        try:
            # int(value) == value admits 3.0 and refuses 2.5.
            return int(value) == value and int(value) in values
        except (TypeError, ValueError, OverflowError):
            return False
    return value in values
