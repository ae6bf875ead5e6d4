"""How many different values a column has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.publish.shapes.base import Draw, Drawn, Lines, Parsed, Shape, sum_answer
from tightrope.publish.sql_pieces import ConditionReader, quoted


@dataclass(frozen=True)
class DistinctValues(Shape, kind="distinct values"):
    """``COUNT(DISTINCT c)``: one row adds at most one value, so it is a count.

    Whoever changes their row takes at most one value away and brings at most one: the number moves
    by one at most. No value has to be declared.
    """

    adds_up = False

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept COUNT(DISTINCT c) of a column that does not say whose row it is."""
        match node:
            case exp.Count(this=exp.Distinct(expressions=[exp.Column() as named])):
                column = reader.column(named)
                return (
                    None if column.name == reader.table.person else {"column": column}
                )
        return None

    @classmethod
    def fits_groups(cls, declared: bool) -> bool:
        """Refuse groups: the same value may be in all of them."""
        return False

    @property
    def counted(self) -> str:
        """What it counts."""
        return f"count of different values of {self.named_column.name}"

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One count of values, at most one for each row."""
        return (self.count_draw(),)

    def targets(self) -> list[Any]:
        """Return the number of values, and of people."""
        # Adding or removing a row changes the number of distinct values by at most 1.
        values = exp.Distinct(expressions=[quoted(self.named_column.name)])
        return [exp.Count(this=values), self.people_count()]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the one number."""
        ((values, own),) = self.cell_numbers(rows)
        (draw,) = self.draws
        people = self.table.needed_population()
        return [[sum_answer(draw, values, own, people)]]

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the one number."""
        return drawn.by_name([drawn.numbers(drawn.answer)])

    @property
    def sensitivity(self) -> Fraction:
        """How many values the rows of one person add."""
        return Fraction(self.rows_per_person)
