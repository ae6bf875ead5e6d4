"""The shapes of SQL that Tightrope understands, and the query each of them is.

============================================================  ==================
SQL                                                           query
============================================================  ==================
``SELECT COUNT(*) FROM t [WHERE …]``                          ``count(n)``
``SELECT COUNT(DISTINCT person) FROM t [WHERE …]``            ``count(n)``
``SELECT SUM(c) FROM t [WHERE …]``                            ``sum(n,v)``
``SELECT g, COUNT(*) FROM t [WHERE …] GROUP BY g``            ``histogram(n,c)``
``SELECT COUNT(*) FILTER (WHERE …), … FROM t``                ``counts(n,k)``
``SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1``  ``choice(c)``
``SELECT COUNT(*) % m FROM t [WHERE …]``                      ``count_mod(n,m)``
============================================================  ==================

With a ``contributions`` rule of k > 1 rows for each person, a count is ``sum(n,k)`` and a sum is
``sum(n,kv)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Partition, Table, Value

if TYPE_CHECKING:
    from sqlglot import exp

#: The name of the class that holds whoever is in no declared one.
OTHER = "(other)"


class Kind(StrEnum):
    """What a question asks of the rows.

    >>> Kind("count")
    <Kind.COUNT: 'count'>
    """

    COUNT = "count"
    SUM = "sum"
    GROUPS = "groups"
    COUNTS = "counts"
    MOST = "most"
    MODULO = "modulo"
    DECLARED = "declared"


@dataclass(frozen=True)
class Shape:
    """A question about one table, as understood; nothing of the user's text is left in it.

    Attributes
    ----------
    kind
        What is asked.
    table
        The table and its public facts.
    where
        The condition on rows, or ``None``.
    column
        The column that is summed or grouped by.
    conditions
        One condition for each of several counts (``None`` for all rows).
    modulus
        The modulus.
    people
        Whether distinct people are counted, not rows.
    used
        The columns that the question reads.
    expression
        What a declared question computes.
    part
        The partition and the part that the question is confined to.

    Examples
    --------
    >>> Shape(Kind.COUNT, Table("people", 100)).question
    'count(100)'
    >>> Shape(Kind.COUNT, Table("visits", 100, person="id", contributions=3)).question
    'sum(100,3)'
    """

    kind: Kind
    table: Table
    where: exp.Expression | None = None
    column: Column | None = None
    conditions: tuple[exp.Expression | None, ...] = ()
    modulus: int | None = None
    people: bool = False
    used: tuple[str, ...] = ()
    expression: exp.Expression | None = None
    part: tuple[Partition, str] | None = None

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person count."""
        return 1 if self.people else self.table.contributions

    @property
    def enforced(self) -> bool:
        """Whether the query itself keeps to that number of rows."""
        return self.table.person is not None

    @property
    def groups(self) -> tuple[Value, ...]:
        """The declared groups, and the class of everybody else where the answer needs one."""
        column = self._grouped()
        if self.kind is Kind.GROUPS and self._needs_other(column):
            return (*self._values(column), OTHER)
        return self._values(column)

    @property
    def largest_share(self) -> int:
        """The most that one person can add to a count or a sum."""
        if self.kind is Kind.SUM:
            return self.rows_per_person * self._bounds()[1]
        return self.rows_per_person

    @property
    def question(self) -> str:
        """The text of the query that this is."""
        if self.kind is Kind.DECLARED:
            raise InputError("the answer graph of this SQL must be named: it is no known shape")
        if self.kind is Kind.MOST:
            return f"choice({len(self.groups)})"
        people = self.table.needed_population()
        if self.kind is Kind.SUM or (self.kind is Kind.COUNT and self.rows_per_person > 1):
            return f"sum({people},{self.largest_share})"
        if self.rows_per_person > 1:
            raise InputError(
                f"{self.kind.value} with {self.rows_per_person} rows for each person is no known "
                f"query: set tables.{self.table.name}.contributions to 1, or name the answer graph"
            )
        if self.kind is Kind.COUNT:
            return f"count({people})"
        if self.kind is Kind.GROUPS:
            return f"histogram({people},{len(self.groups)})"
        if self.kind is Kind.COUNTS:
            return f"counts({people},{len(self.conditions)})"
        return f"count_mod({people},{self.modulus})"

    def _grouped(self) -> Column:
        if self.column is None:
            raise InputError("a question without groups has no group names")
        return self.column

    def _values(self, column: Column) -> tuple[Value, ...]:
        if column.values is None:
            raise InputError(
                f"grouping by {column.name!r} needs its possible values: add "
                f"tables.{self.table.name}.columns.{column.name}.values to the public facts"
            )
        return column.values

    def _bounds(self) -> tuple[int, int]:
        column = self._grouped()
        place = f"tables.{self.table.name}.columns.{column.name}.bounds"
        if column.bounds is None:
            raise InputError(
                f"the sum of {column.name!r} needs its bounds: add {place} to the public facts"
            )
        low, high = column.bounds
        if low < 0 or high < 1:
            raise InputError(
                f"{place} must be from at least 0 to at least 1 for a sum, got [{low}, {high}]: "
                "shift the column in a view"
            )
        return column.bounds

    def _needs_other(self, column: Column) -> bool:
        # With a fixed number of people the classes must hold everybody.
        return not self.table.neighbours.allows_absent and column.other is None
