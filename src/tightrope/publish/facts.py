"""Public facts: what is known about a table without looking at it.

They live in a small TOML file, ``tightrope.toml``::

    [tables.people]
    source = "people.parquet"
    population = 5000
    neighbours = "add-remove"
    budget = "2"
    person = "id"
    contributions = 1

    [tables.people.columns]
    age = { bounds = [0, 120] }
    region = { values = ["north", "south"] }
    born = { type = "date" }

    [tables.people.partitions.region]
    column = "region"
    parts = { north = ["north"], south = ["south"] }

    [users.alice]
    budget = "1/2"

Nothing here is ever read from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from tightrope.errors import InputError
from tightrope.publish.entries import digest
from tightrope.queries import Neighbours

#: What a column may hold.
TYPES = ("integer", "number", "text", "boolean", "date")
#: Largest absolute value of a bound, and largest population.
LARGEST_BOUND, LARGEST_POPULATION = 10**9, 10**15
#: Largest number of values of a column that is grouped by.
VALUE_LIMIT = 10_000

Value = str | int | bool
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Column:
    """A column: what it may hold, as far as that is public.

    Attributes
    ----------
    name
        The name in the table.
    type
        ``integer``, ``number``, ``text``, ``boolean`` or ``date``.
    bounds
        The smallest and largest value, for columns that are summed.
    values
        The possible values, for columns that are grouped by.
    other
        The one of the values that also stands for whatever is not declared.

    Examples
    --------
    >>> Column("age", "integer", bounds=(0, 120)).bounds
    (0, 120)
    """

    name: str
    type: str
    bounds: tuple[int, int] | None = None
    values: tuple[Value, ...] | None = None
    other: Value | None = None


@dataclass(frozen=True)
class Partition:
    """Disjoint parts of a table, by the values of a column.

    Attributes
    ----------
    name
        The name of the partition.
    column
        The column that says in which part a row is.
    parts
        The values that make up each part.
    fixed
        Whether it is public, and beyond anybody's change, in which part each person is.

    Examples
    --------
    >>> Partition("region", "region", {"north": ("N",)}, False).width(Neighbours.CHANGE_ONE)
    2
    """

    name: str
    column: str
    parts: Mapping[str, tuple[Value, ...]]
    fixed: bool = False

    @property
    def account(self) -> str:
        """The name in a ledger: parts that are drawn anew are another partition there.

        >>> Partition("region", "region", {"north": ("N",)}).account
        'region e0ebda1b...'
        """
        parts = {part: list(values) for part, values in self.parts.items()}
        return f"{self.name} {digest([self.column, parts, self.fixed])}"

    def width(self, neighbours: Neighbours) -> int:
        """Return how many parts one person's step can touch.

        Somebody who comes or goes touches one part. Somebody whose value changes may leave one
        part and enter another.
        """
        return 1 if self.fixed or not neighbours.allows_change else 2


@dataclass(frozen=True)
class Table:
    """A table of people and what is public about it.

    Attributes
    ----------
    name
        The name that SQL uses.
    population
        The number of people: exactly under ``change-one``, at most otherwise.
    neighbours
        Which two tables differ by one person.
    columns
        The columns that questions may use.
    person
        The column that says whose row it is, when one person may have several rows.
    contributions
        The largest number of rows of one person that count.
    partitions
        Declared disjoint parts.
    budget
        The budget of the table, where the facts name one.
    source
        Where the table is, where the facts name it.
    relation
        The name of the table at its source, if it is another one.

    Examples
    --------
    >>> Table("people", 100).column("age")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: column 'age' is not declared: add tables.people.columns.age ...
    """

    name: str
    population: int | None = None
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    columns: Mapping[str, Column] = field(default_factory=lambda: _EMPTY)
    person: str | None = None
    contributions: int = 1
    partitions: Mapping[str, Partition] = field(default_factory=lambda: _EMPTY)
    budget: Fraction | None = None
    source: str | None = None
    relation: str | None = None

    def column(self, name: str, *, quoted: bool = False) -> Column:
        """Return a declared column; letter case matters only in quoted names."""
        if name in self.columns:
            return self.columns[name]
        close = [c for c in self.columns.values() if c.name.lower() == name.lower()]
        if len(close) == 1 and not quoted:
            return close[0]
        raise InputError(
            f"column {name!r} is not declared: add tables.{self.name}.columns.{name} to the "
            f"public facts (declared: {', '.join(self.columns) or 'none'})"
        )

    def needed_population(self) -> int:
        """Return the population, or ask for it."""
        if self.population is None:
            raise InputError(
                f"this question needs the number of people: add tables.{self.name}.population to "
                "the public facts"
            )
        return self.population

    def partition(self, name: str, part: str) -> Partition:
        """Return a declared partition that has a part."""
        found = self.partitions.get(name)
        if found is None:
            raise InputError(
                f"partition {name!r} is not declared: add tables.{self.name}.partitions.{name} "
                f"(declared: {', '.join(self.partitions) or 'none'})"
            )
        if part not in found.parts:
            raise InputError(
                f"partition {name!r} has the parts {', '.join(found.parts)}, got {part!r}"
            )
        if self.person is not None and not found.fixed:
            raise InputError(
                f"partition {name!r}: where one person may have several rows, parts are disjoint "
                "people only if the part of each person is public: set fixed = true if it is"
            )
        return found


@dataclass(frozen=True)
class Facts:
    """All public facts: tables, and users with budgets.

    >>> Facts({"people": Table("people", 100)}).table("People").population
    100
    """

    tables: Mapping[str, Table]
    users: Mapping[str, Fraction] = field(default_factory=lambda: _EMPTY)

    def table(self, name: str, *, quoted: bool = False) -> Table:
        """Return a declared table; letter case matters only in quoted names."""
        if name in self.tables:
            return self.tables[name]
        close = [t for t in self.tables.values() if t.name.lower() == name.lower()]
        if len(close) == 1 and not quoted:
            return close[0]
        raise InputError(
            f"table {name!r} is not declared: add [tables.{name}] to the public facts "
            f"(declared: {', '.join(self.tables) or 'none'})"
        )

    def user_budget(self, name: str) -> Fraction:
        """Return the budget of a user."""
        if name not in self.users:
            raise InputError(
                f"user {name!r} has no budget: add [users.{name}] with a budget to the public "
                f"facts (declared: {', '.join(self.users) or 'none'})"
            )
        return self.users[name]
