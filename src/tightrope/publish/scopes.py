"""Scopes: which table an interval is about.

Facts may be false, and a table may hold what nobody declared. Whatever lies outside the facts is
moved, counted apart or left out by a fixed rule, before noise is added. An interval is about the
number that this rule gives, so each answer names its rules: "income clipped to 0..200000" is not
the sum of all incomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tightrope.publish.accounts import shown
from tightrope.publish.facts import Column
from tightrope.publish.shapes import OTHER, Shape
from tightrope.queries import Neighbours


@dataclass(frozen=True)
class Scope:
    """Which table the numbers of an answer are about.

    Attributes
    ----------
    table
        The name of the table.
    rules
        What becomes of rows and values that the facts do not allow, one clause each.

    Examples
    --------
    >>> print(Scope("people", ("at most 500 people", "income clipped to 0..200000")))
    table people: at most 500 people; income clipped to 0..200000
    """

    table: str
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return f"table {self.table}: {'; '.join(self.rules)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as JSON."""
        return {"table": self.table, "rules": list(self.rules)}


def scope_of(shape: Shape) -> Scope:
    """Return which table the answer to a question is about.

    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.shapes import Sum
    >>> income = Column("income", "integer", bounds=(0, 200_000))
    >>> people = Table("people", 400, Neighbours.ADD_REMOVE, {"income": income})
    >>> print(scope_of(Sum(people, column=income)))
    table people: at most 400 people, numbers cut to what so many can have: intervals are about what
    remains; income clipped to 0..200000, missing values left out
    """
    rules = [*_people(shape), *_values(shape), *_groups(shape), *shape.rules]
    return Scope(shape.table.name, tuple(dict.fromkeys(rules)))


def _people(shape: Shape) -> Iterator[str]:
    table = shape.table
    if table.population is not None:
        people = f"{table.population:,} people"
        # Whether there are more is confidential where people come and go: nothing can refuse it.
        limited = (
            f"at most {people}, numbers cut to what so many can have: "
            "intervals are about what remains"
        )
        is_exact = table.neighbours is Neighbours.CHANGE_ONE
        yield f"exactly {people}" if is_exact else limited
    if table.person is not None and not shape.bounds_rows:
        where = " in each group" if shape.axes else ""
        yield f"each {table.person} counted once{where}, rows without one left out"
    elif table.person is not None:
        rows = shape.rows_per_person
        what = "group" if shape.people else "row"
        many = what if rows == 1 else f"{what}s"
        yield (
            f"at most {rows} {many} for each {table.person}, chosen at random, rows without one "
            "left out: intervals are about what remains"
        )


def _values(shape: Shape) -> Iterator[str]:
    column = shape.column
    if column is None or column.value_range is None or not shape.uses_values:
        return
    value = shape.value_of_missing
    missing = (
        "left out" if value is None else f"counted as {shown(value * column.step)}"
    )
    yield f"{column.name} clipped to {_range(column)}, missing values {missing}"


def _range(column: Column) -> str:
    rounded = "" if column.step == 1 else f" in steps of {shown(column.step)}"
    ends = column.ends or tuple(map(str, column.value_range or ()))
    return f"{'..'.join(ends)}{rounded}"


def _groups(shape: Shape) -> Iterator[str]:
    for axis, own in zip(shape.row_axes, shape.declared_axes, strict=False):
        if axis.source is not None and axis.source != own.source:
            yield f"{axis.title} taken from {axis.source.name}, whatever {axis.title} a row has"
        elif axis.rest is not None:
            yield f"other values of {axis.title} counted as {axis.classes[axis.rest]}"
        elif axis.column is None:
            fate = f"counted as {OTHER}" if shape.has_others else "left out"
            yield f"other values of {axis.title} {fate}"
