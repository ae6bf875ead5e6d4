r"""Sums in several tables of one job: GROUPING SETS, CUBE and ROLLUP with SUM.

Sums over the cells of margins add up as counts do, so one plan serves both. One person who comes
or goes moves one cell of each table by at most :math:`s = \max(|low|, |high|)` in each row; who
changes moves two cells by as much, or one cell by at most 2s. A sum is therefore planned and drawn
as a count of steps of 1, s of them for a row, each with its part of ε.

Under ``change-one`` the total of a count is public, and the noise of its cells has the sum zero.
The total of a sum is confidential even if one person moves it by 1 at most: noise of sum zero would
publish it as it is. So sums never have joint noise, whatever their bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Table
from tightrope.publish.intervals import Estimate, possible_ends, whole
from tightrope.publish.shapes.base import (
    Draw,
    JobReading,
    Parsed,
    Reading,
    SelectParts,
    clamped,
    place_names,
)
from tightrope.publish.shapes.sum import LARGEST_STEP, Sum
from tightrope.publish.shapes.tables import Tables
from tightrope.queries import Neighbours
from tightrope.tables import ADD_REMOVE, EITHER, Relation


@dataclass(frozen=True)
class SumTables(Tables, kind="sum tables"):
    """Sums of a column in several tables that add up; a missing value adds nothing.

    Attributes
    ----------
    centre
        What is taken from each value before it is added up, in steps.
    """

    centre: int = 0

    uses_values = True

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept SUM of a column with GROUPING SETS, CUBE or ROLLUP."""
        summed = [fields for fields in parts.asked if fields["shape"] is Sum]
        if len(parts.asked) != 1 or not summed:
            return None
        return cls._of_sets(parts, summed[0])

    @classmethod
    def _of_sets(cls, parts: SelectParts, fields: Parsed) -> Parsed | None:
        """Return the fields of the tables of one sum; nothing without grouping sets."""
        tables = super()._of_sets(parts, fields)
        own = {"column": fields["column"], "centre": fields.get("centre", 0)}
        return None if tables is None else {**tables, **own}

    @classmethod
    def holds_number(cls, fields: Parsed) -> bool:
        """Whether an aggregate is what these tables hold: a sum of a column."""
        return fields["shape"] is Sum

    # -- the job ----------------------------------------------------------------------------

    def as_job(self) -> None:  # type: ignore[override]
        """Return nothing: counts are not planned with sums."""

    def job_numbers(self, answer: Any) -> None:  # type: ignore[override]
        """Return nothing: differences and shares are of counts."""

    @property
    def can_sharpen(self) -> bool:
        """No: each unit of a sum would need its chain."""
        return False

    @property
    def relation(self) -> Relation:
        """How one person changes the tables: never with a public total."""
        return EITHER if self.table.neighbours.allows_change else ADD_REMOVE

    @property
    def row_range(self) -> tuple[int, int]:
        """The least and the most that one row adds to a cell; nothing where it has no value."""
        low, high = self.centred_bounds
        if max(high, -low) > LARGEST_STEP:
            name = self.named_column.name
            raise InputError(
                f"sums of {name} in several tables are drawn in steps of 1, and one row makes up "
                f"to {max(high, -low)} of them, more than {LARGEST_STEP}: declare {name} as a "
                "number with a larger step, or closer bounds"
            )
        return min(low, 0), max(high, 0)

    @property
    def centred_bounds(self) -> tuple[int, int]:
        """The bounds of what is added up for a value."""
        low, high = self.bounds
        return low - self.centre, high - self.centre

    @property
    def typical(self) -> dict[str, tuple[Fraction, Fraction]]:
        """For the title a typical sum of a cell, and how much one row changes it."""
        low, high = self.centred_bounds
        # From the centre, values are half of its way to the bounds away.
        value = Fraction(high - low, 4) if self.centre else Fraction(high + low, 2)
        row = max(high, -low, 1)
        (title,) = self.titles
        return {title: (value * self._typical_rows * self.step, row * self.step)}

    @property
    def steps_per_person(self) -> int:
        """How many steps of 1 one person makes in a cell: the largest value of each row."""
        low, high = self.row_range
        return max(high, -low, 1) * self.rows_per_person

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Return a count of steps for each cell of each measured table."""
        low, high = self.row_range
        rows = self.table.needed_population() * self.rows_per_person
        near = Neighbours(self.relation.name)
        most = max((high - low) * rows, 1)
        text = f"count({most})"
        width = self.relation.touched * self.steps_per_person
        less = f" less {float(self.centre * self.step):g} each" if self.centre else ""
        summed = f"the sum of {self.named_column.name}{less}"
        draws = []
        for chosen in self.measured:
            cells = self.domain.cells(place_names(chosen))
            words = f"{summed} {self._where_of(chosen)} (counted in steps)"
            draws.append(
                Draw(
                    text, near, cells, width, offset=low * rows, most=most, words=words
                )
            )
        return tuple(draws)

    # -- numbers ----------------------------------------------------------------------------

    def targets(self) -> list[Any]:
        """Return the sum of each cell."""
        zero = exp.convert(0)
        value: exp.Expr = clamped(self.named_column, self.bounds, zero)
        if self.centre:
            centre = exp.convert(self.centre)
            # A missing value counts as the centre, so that nothing is left of it.
            missing = clamped(self.named_column, self.bounds, centre)
            value = exp.Sub(this=exp.paren(missing), expression=centre.copy())
        total = exp.Sum(this=value)
        return [exp.Coalesce(this=total, expressions=[zero.copy()])]

    @property
    def job_reading(self) -> JobReading:
        """What the tables are computed from, beside the draws."""
        low, _ = self.row_range
        rows = self.table.needed_population() * self.rows_per_person
        return replace(super().job_reading, offset=low * rows)

    @property
    def reading(self) -> Reading:
        """How outputs become the numbers of all tables."""
        return replace(super().reading, step=self.step, bounds=self.centred_bounds)

    @classmethod
    def number_within(cls, number: Any, margin: Any, reading: Reading) -> Estimate:
        """Return a sum with its interval, cut at 0 where all values are on one side of it."""
        least = 0 if reading.bounds[0] >= 0 else None
        most = 0 if reading.bounds[1] <= 0 else None
        around = (number - margin, number + margin)
        ends = possible_ends(number, around, least, most)
        value, low, high = (whole(x * reading.step) for x in (number, *ends))
        return Estimate(value, low, high)

    # -- error ------------------------------------------------------------------------------

    @property
    def job_errors(self) -> None:
        """Nothing: the floor is proved for counts."""

    @property
    def sensitivity(self) -> Fraction:
        """How much one person moves the sums of all tables together."""
        moved = self.relation.touched * self.steps_per_person * self.step
        return moved * len(self.sets)
