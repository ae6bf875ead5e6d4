"""Several counts of rows by the same groups: margins of one table, crossed with their conditions.

``SELECT region, COUNT(*), COUNT(*) FILTER (WHERE smoker) … GROUP BY region`` is the table of region
× smoker: one row of it is one cell, where two counts by themselves would share ε. Sums over
lines of the answer (``SUM(COUNT(*)) OVER ()``) are margins of it as well. What is measured is
planned for all of them together, and the numbers add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.axes import Axis, first_that_holds
from tightrope.publish.facts import Table
from tightrope.publish.shapes.base import (
    OTHER,
    Drawn,
    JobReading,
    Lines,
    Parsed,
    PlannedTable,
    Reading,
    SelectParts,
    Shape,
    place_names,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.shapes.tables import (
    MOST_JOINT_AXES,
    MOST_NUMBERS,
    Tables,
    margin_of,
    margins_of,
    numbers_of,
    published_of,
)
from tightrope.publish.sql_pieces import shown_sql
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise


@dataclass(frozen=True)
class Crossed(Tables, kind="crossed"):
    """Counts of rows by group, each of the rows that a condition holds for.

    Attributes
    ----------
    groups_by
        How many of the axes are grouped by; the others divide the rows by the conditions.
    asks
        For each title the place of its table among the sets, and of its class; -1 for all rows.
    """

    groups_by: int = 0
    asks: tuple[tuple[int, int], ...] = ()

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept nothing: counts are gathered."""
        return None

    @classmethod
    def gather(cls, parts: SelectParts, table: Table) -> list[Parsed]:
        """Return what is asked, with several counts of rows by group as one table."""
        counts = [fields for fields in parts.asked if _is_row_count(fields)]
        is_found = any(axis.column is not None for axis in parts.axes)
        has_margin = any("kept" in fields for fields in counts)
        # Margins of one table exist only for declared classes.
        if not parts.axes or parts.sets or is_found:
            return parts.asked
        # One plain count is a histogram already.
        if len(counts) < 2 and not has_margin:
            return parts.asked
        rest = [fields for fields in parts.asked if not _is_row_count(fields)]
        tables = []
        for some in _packed(counts, parts.axes, table):
            tables.append(cls._of_counts(some, parts.axes, table))
        return [*tables, *rest]

    @classmethod
    def _of_counts(
        cls, counts: Sequence[Parsed], axes: Sequence[Axis], table: Table
    ) -> Parsed:
        """Return the fields of the table that several counts are margins of."""
        own = tuple(axes)
        titles = [axis.title for axis in own]
        crossing = _condition_axes(
            [fields.get("condition") for fields in counts], table
        )
        sets: list[tuple[int, ...]] = []
        weights: list[Fraction] = []
        asks = []
        for fields in counts:
            kept = [titles.index(key) for key in fields.get("kept", titles)]
            chosen = sorted(kept)
            condition = fields.get("condition")
            place = -1
            if condition is not None:
                number, place = crossing.place(condition)
                chosen.append(len(own) + number)
            if tuple(chosen) not in sets:
                sets.append(tuple(chosen))
                # Weighted so that the plan minimises the errors of the shares that are shown.
                # A share c/T has the error of T times the share itself, on average 1/cells.
                shared = math.prod(
                    len(axis.classes) for k, axis in enumerate(own) if k not in kept
                )
                weights.append(Fraction(1, shared**2))
            asks.append((sets.index(tuple(chosen)), place))
        return {
            "shape": cls,
            "axes": (*own, *crossing.axes),
            "titles": tuple(fields["titles"][0] for fields in counts),
            "sets": tuple(sets),
            "weights": tuple(weights),
            "groups_by": len(own),
            "asks": tuple(asks),
        }

    @classmethod
    def holds_number(cls, fields: Parsed) -> bool:
        """No: counts with conditions are gathered, and each of several tables is by itself."""
        return False

    # -- as a job ---------------------------------------------------------------------------

    def as_job(self) -> None:  # type: ignore[override]
        """Return nothing: its conditions are its own."""

    def as_number(self) -> None:
        """Return nothing: its counts are planned together already."""

    def as_asked(self) -> Crossed:
        """Return the shape: each line has all its numbers."""
        return self

    def shown_lines(
        self, drawn: Shape, lines: Mapping[tuple[Any, ...], Any]
    ) -> Mapping[tuple[Any, ...], Any]:
        """Return all lines: nothing else is drawn with them."""
        return lines

    def published_tables(self, confidence: Fraction) -> tuple[PlannedTable, ...]:
        """Return nothing: the answer is one table."""
        return ()

    @property
    def grouped_by(self) -> tuple[Axis, ...]:
        """The axes of the groups, without those of the conditions."""
        return self.axes[: self.groups_by]

    @property
    def declared_axes(self) -> tuple[Axis, ...]:
        """The axes of the groups: conditions hold for a row or not."""
        return self.grouped_by

    @property
    def answered(self) -> int:
        """How many lines the answer has."""
        return self.domain.cells(place_names(range(self.groups_by)))

    @property
    def job_reading(self) -> JobReading:
        """What the numbers are computed from, beside the draws."""
        return replace(super().job_reading, asks=self.asks)

    @property
    def reading(self) -> Reading:
        """How outputs become the numbers of each line."""
        classes = tuple(axis.classes for axis in self.grouped_by)
        return replace(super().reading, values=classes)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the numbers of each group."""
        reading = drawn.reading
        job = reading.job
        if job is None:
            raise InputError("the reading of a job says what was measured")
        published = published_of(job, drawn.answer, reading.people)
        depth = len(reading.values)
        domain = job.domain
        tables = []
        for place, chosen in enumerate(job.sets):
            cells = map(tuple, domain.combinations(place_names(chosen)).tolist())
            margins = margins_of(job, place, drawn.level)
            pairs = zip(numbers_of(published, chosen), margins, strict=True)
            tables.append(dict(zip(cells, pairs, strict=True)))
        lines: Lines = {}
        for cell in domain.combinations(place_names(range(depth))).tolist():
            values = zip(reading.values, cell, strict=True)
            name = tuple(own[k] for own, k in values)
            numbers = []
            for place, among in job.asks:
                # The line's own cell, projected on the axes that this table has.
                own_places = (k for k in job.sets[place] if k < depth)
                kept = tuple(cell[k] for k in own_places)
                own = kept if among < 0 else (*kept, among)
                number, margin = tables[place][own]
                numbers.append(cls.number_within(number, margin, reading))
            lines[name] = tuple(numbers)
        return lines

    def _cell_of(
        self, names: tuple[Any, ...], title: str
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the cell of a title on a line, as the algebra names it."""
        place, among = self.asks[self.titles.index(title)]
        classes = {}
        for k in self.sets[place]:
            own = k < self.groups_by
            classes[k] = self.axes[k].classes.index(names[k]) if own else among
        return self._numbered(classes)

    # -- error ------------------------------------------------------------------------------

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each title."""
        job = self.job_reading
        return tuple(margin_of(job, place, confidence) for place, _ in self.asks)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say what error the numbers of each title will have."""
        share = f"({float(confidence) * 100:.4g} %)"
        errors = self.errors(noises, confidence)
        return {
            title: f"± {bound_text(error)} {share}"
            for title, error in zip(self.titles, errors, strict=True)
        }

    @property
    def groups_text(self) -> str:
        """Say how many groups have a number."""
        return f" in {self.answered} groups"

    @property
    def sensitivity(self) -> Fraction:
        """How much all numbers together change with one person."""
        touched = self.relation.touched * self.rows_per_person
        # Each title is a number of its own to noise that is added separately.
        return Fraction(touched * len(self.titles))


def _is_row_count(fields: Parsed) -> bool:
    return fields["shape"] is Count and not fields.get("people")


@dataclass(frozen=True)
class _ConditionAxes:
    """Axes that divide rows by conditions, and the place of each condition."""

    axes: tuple[Axis, ...]
    places: tuple[tuple[Any, int, int], ...]

    def place(self, condition: Any) -> tuple[int, int]:
        """Return the axis of a condition, and its class there."""
        matches = ((a, k) for known, a, k in self.places if known == condition)
        return next(matches)


def _condition_axes(conditions: Sequence[Any], table: Table) -> _ConditionAxes:
    """Return axes for conditions: those that compare one column with values share one.

    Such conditions exclude each other. Rows that none holds for are one more class, unless the
    facts say that every row has one of the values.
    """
    families: dict[str, list[Any]] = {}
    for condition in conditions:
        if condition is None:
            continue
        # Conditions on one column exclude each other, so they share an axis: fewer cells.
        family = families.setdefault(_family(condition), [])
        if condition not in family:
            family.append(condition)
    axes = []
    places = []
    for number, (title, family) in enumerate(families.items()):
        names = [f"class {k}" for k in range(len(family))]
        # No class for the rest where the facts rule it out: one cell less to measure.
        if _covers(family, table):
            rest = len(family) - 1
        else:
            rest = len(family)
            names.append(OTHER)
        axes.append(Axis(title, tuple(names), first_that_holds(family), rest))
        places += [(condition, number, k) for k, condition in enumerate(family)]
    return _ConditionAxes(tuple(axes), tuple(places))


def _family(condition: Any) -> str:
    """Return the column that a condition compares with one value, or the condition itself."""
    match condition:
        case exp.EQ(
            this=exp.Column() as column,
            expression=exp.Literal() | exp.Boolean(),
        ):
            return str(column.name)
    return shown_sql(condition, 200)


def _covers(family: Sequence[Any], table: Table) -> bool:
    """Whether every row has one of the values that conditions name."""
    column = table.columns.get(family[0].this.name) if len(family) > 1 else None
    if column is None or not column.complete:
        return False
    # Distinct values, as many as declared: all of them.
    return len(family) == len(column.values or ())


def _packed(
    counts: Sequence[Parsed], axes: Sequence[Axis], table: Table
) -> list[list[Parsed]]:
    """Return counts in as few tables as hold them: by columns, and by cells."""
    packed: list[list[Parsed]] = []
    for fields in counts:
        for some in packed:
            conditions = [one.get("condition") for one in (*some, fields)]
            joint = (*axes, *_condition_axes(conditions, table).axes)
            cells = math.prod(len(axis.classes) for axis in joint)
            # First fit: a new table only where the joint one would be too large.
            if len(joint) <= MOST_JOINT_AXES and cells <= MOST_NUMBERS:
                some.append(fields)
                break
        else:
            packed.append([fields])
    return packed
