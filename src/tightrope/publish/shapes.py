r"""What a question asks, the query that it is, and the answer that a database's numbers are.

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

The mechanism knows the declared answers and no others. A table that holds more people than
declared, or values outside the declared ones, must still lead to a declared answer, because an
error that depends on the data says something about the people in it. So :func:`answer_of` is a
total function, and (but for the two cases below) it moves no pair of neighbouring tables further
apart than one step in the answer graph: privacy then holds for every table, declared facts true
or false.

The exceptions are several counts and groups under ``add-remove`` when the table holds *more*
people than declared. There a step may become two, so such a table gets :math:`2\varepsilon`; for
three groups no rule could do better.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Partition, Table, Value

if TYPE_CHECKING:
    from sqlglot import exp

#: The name of the class that holds whoever is in no declared one.
OTHER = "(other)"


class Kind(StrEnum):
    """What a question asks of the rows."""

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
        The column that is summed or grouped by, or that a declared question is about.
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
    def columns(self) -> list[Column]:
        """The declared columns that are read."""
        table, names = self.table, {*self.used}
        names |= {column.name for column in (self.column,) if column is not None}
        names |= {self.part[0].column} if self.part is not None else set()
        own = {} if self.column is None else {self.column.name: self.column}
        known = {**table.columns, **own}
        return [known[name] for name in sorted(names)]

    @property
    def groups(self) -> tuple[Value, ...]:
        """The declared groups, and the class of everybody else where the answer needs one."""
        if self.kind is not Kind.GROUPS or not self.has_others:
            return self.values
        if OTHER in self.values:
            place = f"tables.{self.table.name}.columns.{self._named().name}"
            raise InputError(
                f"{place}.values has {OTHER!r}, the name of the class of everybody else: set "
                f"{place}.other to it if that is what it is"
            )
        return (*self.values, OTHER)

    @property
    def has_others(self) -> bool:
        """Whether a class of everybody else is added: fixed numbers of people need one."""
        return not self.table.neighbours.allows_absent and self._named().other is None

    @property
    def largest_share(self) -> int:
        """The most that one person can add to a count or a sum."""
        if self.kind is Kind.SUM:
            return self.rows_per_person * self.bounds[1]
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

    @property
    def values(self) -> tuple[Value, ...]:
        """The declared values of the column that is grouped by."""
        column = self._named()
        if column.values is None:
            raise InputError(
                f"grouping by {column.name!r} needs its possible values: add "
                f"tables.{self.table.name}.columns.{column.name}.values to the public facts"
            )
        return column.values

    @property
    def bounds(self) -> tuple[int, int]:
        """The declared bounds of the column that is summed."""
        column = self._named()
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

    def _named(self) -> Column:
        if self.column is None:
            raise InputError("a question without a column has neither groups nor bounds")
        return self.column


def answer_of(shape: Shape, rows: Sequence[Sequence[Any]]) -> Hashable:
    """Return the true answer as the query's label.

    Parameters
    ----------
    shape
        The question.
    rows
        What its SQL returned.

    Examples
    --------
    >>> crowd = Shape(Kind.COUNT, Table("people", 100))
    >>> answer_of(crowd, [(42, 42)]), answer_of(crowd, [(4200, 4200)])
    (42, 100)
    """
    if shape.kind in (Kind.GROUPS, Kind.MOST):
        sizes = [0] * len(shape.values)
        for place, number in rows:
            if 0 <= int(place) < len(sizes):
                sizes[int(place)] = int(number)
        if shape.kind is Kind.MOST:
            return sizes.index(max(sizes))
        return _groups_answer(shape, sizes)
    people = shape.table.needed_population()
    if shape.kind is Kind.COUNTS:
        return tuple(min(int(number), people) for number in rows[0])
    if shape.kind is Kind.MODULO:
        return min(int(rows[0][0]), people) % int(shape.modulus or 1)
    total, present = int(rows[0][0]), int(rows[0][1])
    return sum_answer(
        total, present, people, shape.largest_share, shape.table.neighbours.allows_change
    )


def sum_answer(total: int, present: int, people: int, share: int, change: bool) -> int:
    r"""Return a sum as an answer of ``sum(people,share)``.

    Under ``add-remove`` the answers above :math:`(u-1)v` need all u people, and no two of them
    are neighbours. A table of more than u people is therefore held to :math:`(u-1)v`.

    >>> sum_answer(48, 10, 10, 5, change=False), sum_answer(48, 11, 10, 5, change=False)
    (48, 45)
    """
    total = max(total, 0)
    if not change and present > people:
        return min(total, (people - 1) * share)
    return min(total, people * share)


def _groups_answer(shape: Shape, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return group sizes as an answer of ``histogram(n,c)``.

    Groups are filled in the declared order until the population is used up. With a fixed number
    of people, whoever is missing from the declared groups is put into the class of the others.
    """
    left = shape.table.needed_population()
    filled = []
    for size in sizes:
        filled.append(min(size, left))
        left -= filled[-1]
    if shape.has_others:
        filled.append(left)
    elif not shape.table.neighbours.allows_absent:
        other = shape._named().other
        filled[shape.values.index(other)] += left
    return tuple(filled)


def mapped_text(value: Any) -> str:
    """Return the text by which a declared question's result is looked up.

    >>> mapped_text(3.0), mapped_text(Decimal("0.5")), mapped_text(float("nan"))
    ('3', '0.5', 'nan')
    """
    if isinstance(value, float | Decimal) and Decimal(value).is_finite() and value == int(value):
        value = int(value)
    return str(value)


def plain_label(label: Hashable) -> Any:
    """Return an answer as JSON can say it.

    >>> plain_label((3, Fraction(1, 2), "north"))
    [3, {'fraction': '1/2'}, 'north']
    """
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    if isinstance(label, bool | str) or label is None:
        return label
    if isinstance(label, int | np.integer):
        return int(label)
    if isinstance(label, Fraction):
        return {"fraction": str(label)}
    if isinstance(label, float):
        return {"decimal": repr(label)}
    raise InputError(f"an answer is a number, a text or a tuple of them, got {label!r:.60}")


def read_label(value: Any) -> Hashable:
    """Return the answer that JSON says.

    >>> read_label([3, {"fraction": "1/2"}, "north"])
    (3, Fraction(1, 2), 'north')
    """
    if isinstance(value, list):
        return tuple(read_label(part) for part in value)
    if isinstance(value, dict):
        try:
            if set(value) == {"fraction"}:
                return Fraction(value["fraction"])
            if set(value) == {"decimal"}:
                return float(value["decimal"])
        except (ValueError, TypeError, ArithmeticError):
            pass
        raise InputError(
            f"an answer is a number, a text or a list of them, got the object {value!r:.60}"
        )
    return value  # type: ignore[no-any-return]
