"""Several counts of the whole table, drawn together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.publish.facts import Table
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    SelectParts,
    Shape,
    group_column,
    number_of,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.sql_pieces import quoted


@dataclass(frozen=True)
class Counts(Shape, kind="counts"):
    """How many rows, or people, each of several conditions holds for; ``None`` for all.

    One row is in any of the counts, and so is one person, whatever the number of their rows.
    """

    conditions: tuple[exp.Expression | None, ...] = ()

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept several counts without groups, all of rows or all of people.

        Of a frozen table each is a draw of its own, so that it can be sharpened.
        """
        if table.frozen:
            return None
        are_counts = all(fields["shape"] is Count for fields in parts.asked)
        people = {bool(fields.get("people")) for fields in parts.asked}
        if parts.axes or len(parts.asked) < 2 or not are_counts or len(people) > 1:
            return None
        return {
            "people": people.pop(),
            "conditions": tuple(fields.get("condition") for fields in parts.asked),
            "titles": tuple(fields["titles"][0] for fields in parts.asked),
        }

    @classmethod
    def of_count(cls, count: Shape) -> Counts:
        """Return the one count of the whole table that another one may join."""
        shared = {x.name: getattr(count, x.name) for x in fields(count)}
        return cls(**{**shared, "where": None}, conditions=(count.where,))

    def absorb(self, other: Shape) -> Shape | None:
        """Return the counts with one more of the whole table.

        What may be sharpened later stays a draw of its own.
        """
        same = ("table", "axes", "part", "people")
        alike = all(getattr(self, name) == getattr(other, name) for name in same)
        if other.kind != Count.kind or not alike or self.table.frozen:
            return None
        return replace(
            self,
            titles=self.titles + other.titles,
            conditions=(*self.conditions, other.where),
        )

    @property
    def bounds_rows(self) -> bool:
        """Whether rows are left out: people count by all of theirs."""
        return not self.people

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person count; people count once."""
        return 1 if self.people else self.table.contributions

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One draw of all counts together; each row of a person is a step."""
        rows = self.rows_per_person
        people = self.table.needed_population()
        # Conditions may overlap: one row can be in all counts, so it is no histogram.
        text = f"counts({people * rows},{len(self.conditions)})"
        words = f"the {len(self.conditions)} counts together"
        return (Draw(text, self.row_neighbours, width=rows, words=words),)

    def row_values(self) -> list[Any]:
        """Return which conditions hold for a row."""
        return [mark_of(condition) for condition in self.conditions if condition]

    def person_marks(self) -> list[Any]:
        """Return which conditions hold for some row of a person."""
        if not self.people:
            return []
        # MAX over the rows of a person: 1 if some row satisfies the condition.
        return [exp.Max(this=mark_of(condition)) for condition in self.conditions]

    def targets(self) -> list[Any]:
        """Return one count for each condition."""
        if self.people:
            marks = (quoted(group_column(k)) for k in range(len(self.conditions)))
            held = [mark.eq(1) for mark in marks]
            return [number_of(mark) for mark in held]
        return [number_of(condition) for condition in self.conditions]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the counts, none above the population."""
        people = self.table.needed_population() * self.rows_per_person
        sizes = (int(number) for number in rows[0])
        return [[tuple(min(size, people) for size in sizes)]]

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return one line with all counts."""
        return drawn.by_name([drawn.numbers(drawn.answer)])

    def notes(self) -> list[str]:
        """Say how many rows of one person count."""
        return super().notes() if self.bounds_rows else []

    @property
    def sensitivity(self) -> Fraction:
        """One person may change every count by as many as there are rows."""
        return Fraction(len(self.conditions) * self.rows_per_person)


def mark_of(condition: exp.Expression | None) -> Any:
    """Return 1 where a condition holds, or where there is none; else 0."""
    if condition is None:
        return exp.convert(1)
    case = exp.case().when(condition.copy(), exp.convert(1))
    return case.else_(exp.convert(0))
