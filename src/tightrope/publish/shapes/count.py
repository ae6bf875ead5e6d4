"""Counts of rows or of distinct people, of the whole table or by group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Shape,
    number_of,
    sum_answer,
)
from tightrope.publish.sql_pieces import (
    ConditionReader,
    is_count_all,
    is_number,
    present,
)
from tightrope.tables import CHANGE_ONE

if TYPE_CHECKING:
    from tightrope.publish.shapes.tables import Tables


@dataclass(frozen=True)
class Count(Shape, kind="count"):
    """How many rows, or distinct people, there are.

    Examples
    --------
    >>> from tightrope.publish.facts import Table
    >>> crowd = Count(Table("people", 100))
    >>> crowd.answer([(42, 42)]), crowd.answer([(4200, 4200)])
    (42, 100)
    """

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept COUNT(*), COUNT(c), COUNT(DISTINCT person), and marks that are added up."""
        condition: Any = None
        match node:
            case exp.Count(this=exp.Distinct(expressions=[person])):
                return _of_people(person, reader)
            case exp.CountIf(this=test):
                condition = reader.read(test)
            case exp.Sum(this=exp.Cast(this=test, to=whole)) if whole.is_type(
                "int", "bigint"
            ):
                condition = reader.read(test)
            case exp.Count(this=exp.Column() as column, expressions=[]):
                condition = present(reader.column(column).name)
            case exp.Count(this=exp.Case() as case, expressions=[]) if marks(
                case, with_zero=False
            ):
                condition = reader.read(case.args["ifs"][0].this)
            case exp.Sum(this=exp.Case() as case) if marks(case, with_zero=True):
                condition = reader.read(case.args["ifs"][0].this)
            case other if not is_count_all(other):
                return None
        return {"condition": condition}

    @classmethod
    def fits_groups(cls, declared: bool) -> bool:
        """Accept groups also as one answer, with a graph of the user's own."""
        return True

    @property
    def bounds_rows(self) -> bool:
        """Whether rows are left out: of people in the whole table each counts once anyway."""
        return bool(self.axes) or not self.people

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person count; of people by group, in how many groups."""
        return 1 if self.people and not self.axes else self.table.contributions

    @property
    def answered(self) -> int:
        """How many groups have a count: all, with that of everybody else."""
        return len(self.groups if self.axes else self.cells)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One histogram for all groups, or one count."""
        return (self.drawn_as(self.count_draw()),)

    @property
    def can_sharpen(self) -> bool:
        """Whether it is one number of a frozen table; by group it is asked as a table."""
        return self.table.frozen and not self.axes

    def absorb(self, other: Shape) -> Shape | None:
        """Return this count of the whole table with another one, as one draw of both."""
        from tightrope.publish.shapes.counts import Counts

        return None if self.axes else Counts.of_count(self).absorb(other)

    def as_asked(self) -> Shape:
        """Return a table of many cells as a job of one table: noise for each cell by itself.

        The noise of all cells together has a file that grows with them, and is hardly better. Cells
        of a frozen table have noise of their own, so that they can be sharpened.
        """
        many = self.cell_count > CHANGE_ONE.joint_cells or self.table.frozen
        return (self.as_job() if self.axes and many else None) or self

    def ways(self) -> tuple[Shape, ...]:
        """Return the ways to count people by group: all counts together, or group by group."""
        from tightrope.publish.shapes.people import PeopleByGroup

        if not self.people or not self.axes:
            return (self,)
        together = PeopleByGroup(
            **{x.name: getattr(self, x.name) for x in fields(self)}
        )
        steps = self.rows_per_person * (1 + self.table.neighbours.allows_change)
        groups = self.cell_count
        if self.rows_per_person >= groups:
            return (together,)
        # The margin of counts grows like their number c, that of steps like 3 times theirs, k:
        # from c = 3.5·k on steps are better, and no mechanism is designed to see that.
        return (together, self) if groups <= 4 * steps else (self,)

    def as_job(self) -> Tables | None:
        """Return a count of rows as a job of one table."""
        from tightrope.publish.shapes.tables import Tables

        return None if self.people else Tables.of_count(self)

    def targets(self) -> list[Any]:
        """Return the rows of each group; of the whole table also the people."""
        rows = number_of(None)
        return [rows] if self.axes else [rows, self.people_count()]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the sizes of the groups, or the one count."""
        numbers = self.cell_numbers(rows)
        sizes = [size for size, *_ in numbers]
        if self.axes:
            return [[self.groups_answer(sizes)]]
        (draw,) = self.draws
        people = self.table.needed_population()
        answer = sum_answer(draw, sizes[0], numbers[0][-1], people)
        return [[answer]]

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return one count for each group."""
        return drawn.by_name((count,) for count in drawn.numbers(drawn.answer))

    @property
    def sensitivity(self) -> Fraction:
        """How many counts one person changes by 1.

        Who leaves some groups and enters others changes both; a distinct person counts once in
        each, so never more counts than there are groups.
        """
        rows = self.rows_per_person
        if not self.axes:
            return Fraction(rows)
        # Whoever changes leaves one group and enters another.
        changed = rows * (2 if self.table.neighbours.allows_change else 1)
        most = len(self.groups) if self.people else changed
        return Fraction(min(changed, most))

    def notes(self) -> list[str]:
        """Say how many rows, or groups, of one person count."""
        if self.people:
            return self._row_notes("groups") if self.axes else []
        return self._row_notes("rows")


def _of_people(person: Any, reader: ConditionReader) -> Parsed | None:
    """Return the fields of a count of people; nothing if other values are counted."""
    column = reader.column(person)
    return {"people": True} if column.name == reader.table.person else None


def marks(node: Any, *, with_zero: bool) -> bool:
    """Whether CASE marks rows that a condition holds for: THEN 1, and 0 or nothing otherwise."""
    default = node.args.get("default")
    ifs = node.args.get("ifs") or []
    if node.this is not None or len(ifs) != 1:
        return False
    mark = ifs[0].args.get("true")
    if not with_zero:
        return default is None and isinstance(mark, exp.Literal)
    return is_mark(default, 0) and is_mark(mark, 1)


def is_mark(node: Any, number: int) -> bool:
    """Whether a piece of SQL is 0 or 1, with a point or without."""
    return is_number(node) and Fraction(node.this) == number
