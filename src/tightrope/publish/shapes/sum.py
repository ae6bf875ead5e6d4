"""Sums of a column, of the whole table or by group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sqlglot import exp

from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    Shape,
    clamped,
    number_of,
    scaled,
    sum_answer,
)
from tightrope.publish.sql_pieces import ConditionReader, bare, present
from tightrope.queries import Neighbours

#: The largest step of a sum that is drawn in steps of 1, to be sharpened or to add up with others:
#: each unit has its share of ε, and below 0.0002 a share has more layers of noise than the judge
#: takes on.
LARGEST_STEP = 1000


@dataclass(frozen=True)
class Sum(Shape, kind="sum"):
    """The sum of a column, each value moved to the nearest declared bound."""

    uses_values = True
    #: The SQL that asks for it.
    aggregate: ClassVar[type[exp.Expression]] = exp.Sum

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept the aggregate of a column."""
        if isinstance(node, cls.aggregate) and isinstance(bare(node.this), exp.Column):
            return {"column": reader.column(node.this)}
        return None

    @classmethod
    def keeps_its_graph(cls, fields: Parsed) -> bool:
        """Keep a sum of bounded integers; one of any size has a graph of the user's own."""
        column = fields["column"]
        is_known = bool(column.bounds) and column.type == "integer"
        return is_known and "condition" not in fields

    @property
    def is_fixed(self) -> bool:
        """Whether exactly the declared people add to a sum, each a value within the bounds."""
        chosen = self.where is not None or self.part is not None or self.axes
        is_fixed = self.table.neighbours is Neighbours.CHANGE_ONE
        return is_fixed and not (chosen or self.table.person)

    @property
    def is_divided(self) -> bool:
        """Whether a count is drawn too, that the sum is divided by."""
        return False

    @property
    def centre(self) -> int:
        """What is taken from each value before it is added up."""
        return 0

    @property
    def missing(self) -> int:
        """What a missing value adds to a sum over exactly the declared people."""
        low, high = self.bounds
        return min(max(0, low), high)

    @property
    def value_of_missing(self) -> int | None:
        """What a missing value counts as.

        Where exactly the declared people add to a sum, each must add a value within the bounds.
        """
        return self.missing if self.is_fixed and not self.is_divided else None

    @property
    def person_range(self) -> tuple[int, int]:
        """The least and the most that one person can add to a sum."""
        low, high = (bound - self.centre for bound in self.bounds)
        if self.is_fixed and not self.is_divided:
            return low, high
        rows = 1 if self.axes else self.rows_per_person
        # Whoever is absent adds 0, so the range contains it.
        lowest = rows * min(low, 0)
        highest = rows * max(high, 0)
        return lowest, highest

    def sum_draw(self) -> Draw:
        """Return the query of the sum, for each group."""
        summed = f"the sum of {self.named_column.name}"
        return self.draw_between(*self.person_range, summed)

    def draw_between(self, low: int, high: int, summed: str) -> Draw:
        """Return the query of a sum to which one person adds a number between two ends."""
        people = self.table.needed_population()
        near = self.table.neighbours
        times = 1
        width = 1
        if self.axes:
            times = self.cell_count
            width = self.rows_per_person
            people *= width
        in_groups = bool(self.axes) and near.allows_change
        if in_groups:
            # One person may leave one group and enter another, a step in each; or change within
            # one, which is as much as to leave and to come: two steps there.
            near = Neighbours.EITHER
            width = 2 * width
        if (near.allows_change and not in_groups) or not low:
            slots = people
            offset = low * people
            step = max(high - low, 1)
        else:  # somebody comes or goes, with a value on either side of 0
            step = max(high, -low)
            # Values on both sides of 0: shifted by step·people, so that no sum is negative.
            slots = 2 * people
            offset = -step * people
            near = Neighbours.EITHER
        text = f"sum({slots},{step})"
        words = f"{summed}{self.in_each_group}"
        return Draw(text, near, times, width, offset, slots * step, step, words=words)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One sum, or one for each group."""
        return (self.drawn_as(self.sum_draw()),)

    @property
    def can_sharpen(self) -> bool:
        """Whether the table is frozen and one person moves a sum by few enough steps of 1.

        Each group has a sum of its own.
        """
        return self.table.frozen and self.sum_draw().step <= LARGEST_STEP

    def targets(self) -> list[Any]:
        """Return the sum, how many values it has, and how many people there are."""
        column = self.named_column
        missing = exp.convert(self.value_of_missing or 0)
        value = clamped(column, self.bounds, missing)
        total = exp.Coalesce(this=exp.Sum(this=value), expressions=[exp.convert(0)])
        return [total, number_of(present(column.name)), self.people_count()]

    def sum_answers(self, numbers: Sequence[tuple[int, ...]]) -> list[Hashable]:
        """Return the centred sum of each group as an answer of its query."""
        draw = self.sum_draw()
        rows = self.rows_per_person if self.axes else 1
        people = self.table.needed_population() * rows
        return [
            sum_answer(
                draw,
                total - self.centre * present,
                present if rows > 1 else own,
                people,
            )
            for total, present, own in numbers
        ]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the sum of each group."""
        return [self.sum_answers(self.cell_numbers(rows))]

    @property
    def reading(self) -> Reading:
        """How outputs become sums."""
        return replace(
            super().reading,
            offset=self.draws[0].offset,
            centre=self.centre,
            people=self.table.needed_population(),
            bounds=self.bounds,
            is_fixed=self.is_fixed,
        )

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the sum of each group; everybody else has none."""
        reading = drawn.reading
        sums = (drawn.numbers(output)[0] for output in drawn.outputs)
        return drawn.by_name(
            (scaled(total, reading.offset, reading.step),) for total in sums
        )

    @property
    def sensitivity(self) -> Fraction:
        """How much one person moves the sums of all groups together."""
        draw = self.sum_draw()
        return draw.step * draw.width * self.step

    def notes(self) -> list[str]:
        """Say which rows count, and what is added for whoever has no value."""
        return [*super().notes(), *self.missing_notes()]

    def missing_notes(self) -> list[str]:
        """Say what is added to a sum over the declared people for whoever has no value."""
        column = self.named_column
        if not self.is_fixed or column.complete:
            return []
        added = float(self.missing * self.step)
        return [f"Whoever has no {column.name} adds {added:g} to the sum."]
