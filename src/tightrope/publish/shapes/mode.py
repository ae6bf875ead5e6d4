"""The most common value, of the whole table or of each group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.axes import Axis, needs_values, read_axis
from tightrope.publish.facts import Table
from tightrope.publish.intervals import Estimate
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    SelectParts,
    Shape,
)
from tightrope.publish.sql_pieces import (
    ConditionReader,
    is_count_all,
    is_literal,
    numbered,
    title_of,
)
from tightrope.queries import Neighbours

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise


@dataclass(frozen=True)
class Mode(Shape, kind="most"):
    """The value that most rows have; the last axis is that of the values.

    Attributes
    ----------
    by_score
        Whether it is found by the counts of all values; else by the true answer alone.
    """

    by_score: bool = False

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept MODE(g), also WITHIN GROUP."""
        match node:
            case (
                exp.Mode(this=exp.Expression() as value)
                | exp.WithinGroup(
                    this=exp.Mode(),
                    expression=exp.Order(expressions=[exp.Ordered(this=value)]),
                )
            ):
                axis = read_axis(value, reader)
                if axis.column is not None:
                    raise InputError(needs_values(axis.column, reader.table))
                return {"axes": (axis,)}
        return None

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept the one group with the largest count: ORDER BY COUNT(*) DESC LIMIT 1."""
        limit = parts.select.args.get("limit")
        order = parts.select.args.get("order")
        is_one = limit is not None and is_literal(limit.expression, "1")
        if parts.targets or len(parts.axes) != 1 or order is None or not is_one:
            return None
        (axis,) = parts.axes
        first, *ties = order.expressions
        by_name = [
            title_of(numbered(term.this, parts.select.expressions)) == axis.title
            for term in ties
        ]
        is_falling = is_count_all(first.this) and bool(first.args.get("desc"))
        if not is_falling or not all(by_name):
            return None
        return {"axes": (axis,), "titles": (axis.title,), "keys": ()}

    @property
    def grouped_by(self) -> tuple[Axis, ...]:
        """The axes of the groups: all but that of the values."""
        return self.axes[:-1]

    @property
    def groups(self) -> tuple[Any, ...]:
        """The values."""
        return self.axes[-1].classes

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One value by scores, for each group; without scores, by the true answer."""
        values = len(self.groups)
        if not self.by_score and not self.grouped_by:
            near = self.table.neighbours
            return (Draw(f"choice({values})", near, words=self._words),)
        return (score_draw(self, f"commonest({values}", self._words),)

    @property
    def _words(self) -> str:
        return f"the most common {self.axes[-1].title}{self.in_each_group}"

    def as_asked(self) -> Shape:
        """Draw by scores: the error is far smaller."""
        return replace(self, by_score=True)

    def drawn_by(self, noise: Noise) -> Shape:
        """Draw as the mechanism does."""
        return replace(self, by_score=noise.sees_counts)

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the counts of all values of each group, or the place of the largest."""
        if self.draws[0].by_score:
            return [counts_by_value(self, rows, 0, len(self.groups) - 1)]
        sizes = [size for size, *_ in self.cell_numbers(rows)]
        # Ties go to the first declared value, whatever order the database has.
        return [[sizes.index(max(sizes))]]

    @property
    def reading(self) -> Reading:
        """How places become values."""
        return Reading(self.kind, self.cells, self.groups)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return one value for each group, and how near to the largest its count is."""
        values = drawn.reading.values
        note = drawn.note()
        shown = (values[x] if values else x for x in drawn.outputs)
        return drawn.by_name((Estimate(value, note=note),) for value in shown)

    @property
    def error_is_known(self) -> bool:
        """How far a value is from the most common one depends on the data."""
        return False


def score_draw(shape: Shape, text: str, words: str) -> Draw:
    """Return a draw by scores for the whole table or each group; the text lacks its end."""
    near = shape.table.neighbours
    rows = shape.rows_per_person
    if not shape.grouped_by:
        whole = f"{text})" if rows == 1 else f"{text},{rows})"
        return Draw(whole, near, words=words)
    # Who changes leaves one group and enters another, or the same one: two steps of
    # add-remove, whose scores move less than by a change.
    steps = 2 if near.allows_change else 1
    near = Neighbours.ADD_REMOVE
    return Draw(f"{text})", near, shape.cell_count, steps * rows, words=words)


def counts_by_value(
    shape: Shape, rows: Sequence[Sequence[Any]], low: int, high: int
) -> list[Hashable]:
    """Return for each group how many rows have each value within the bounds."""
    counts = {place: [0] * (high - low + 1) for place in shape.cell_places()}
    for *place, value, number in rows:
        own = counts.get(tuple(map(int, place)))
        # A total function: whatever is not declared counts nowhere.
        if own is not None and value is not None and low <= int(value) <= high:
            own[int(value) - low] += int(number)
    return [tuple(own) for own in counts.values()]
