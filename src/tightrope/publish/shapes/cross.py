"""Several counts of rows by the same groups: margins of one table, crossed with their conditions.

``SELECT region, COUNT(*), COUNT(*) FILTER (WHERE smoker) … GROUP BY region`` is the table of region
× smoker: one row of it is one cell, where two counts by themselves would share ε. Sums over
lines of the answer (``SUM(COUNT(*)) OVER ()``) are margins of it as well. What is measured is
planned for all of them together, and the numbers add up. With GROUPING SETS each line has its
numbers from its own cell of the tables by its columns and the conditions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.epsilon import Epsilon
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
    PLACE,
    Tables,
    is_selective,
    margin_of,
    margins_of,
    numbers_of,
    published_of,
    split_margin,
)
from tightrope.publish.sql_pieces import shown_sql
from tightrope.tables import EITHER
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
        With grouping sets so for the lines of each of them.
    rows
        The grouping sets, if there are any.
    parts
        The titles of counts of only those rows that a condition holds for.
    """

    groups_by: int = 0
    asks: tuple[tuple[int, int], ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    parts: frozenset[str] = frozenset()

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
        if not parts.axes or is_found:
            return parts.asked
        # One plain count is a histogram already.
        if len(counts) < 2 and not has_margin:
            return parts.asked
        rest = [fields for fields in parts.asked if not _is_row_count(fields)]
        tables = []
        packed = _packed(counts, parts, table)
        if parts.sets:
            # What does not fit beside the others is by itself.
            cls.check_sets(parts)
            some, *more = packed
            rest = [*itertools.chain(*more), *rest]
            packed = [some] if len(some) > 1 else []
            rest = rest if packed else [*some, *rest]
        for some in packed:
            tables.append(cls._of_counts(some, parts, table))
        return [*tables, *rest]

    @classmethod
    def _of_counts(
        cls, counts: Sequence[Parsed], parts: SelectParts, table: Table
    ) -> Parsed:
        """Return the fields of the table that several counts are margins of."""
        own = parts.axes
        titles = [axis.title for axis in own]
        crossing = _condition_axes(
            [fields.get("condition") for fields in counts], table
        )
        sets: list[tuple[int, ...]] = []
        weights: list[Fraction] = []
        asks = []
        of_lines = parts.sets or (tuple(range(len(own))),)
        for line, fields in itertools.product(of_lines, counts):
            # A sum over lines keeps some columns only.
            kept = [titles.index(key) for key in fields.get("kept", ())]
            chosen = sorted(kept if "kept" in fields else line)
            condition = fields.get("condition")
            place = -1
            if condition is not None:
                number, place = crossing.place(condition)
                chosen.append(len(own) + number)
            if tuple(chosen) not in sets:
                sets.append(tuple(chosen))
                # Weighted so that the plan minimises the errors of the shares that are shown.
                # A share c/T has the error of T times the share itself, on average 1/cells.
                shared = math.prod(len(own[k].classes) for k in line if k not in chosen)
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
            "rows": parts.sets,
            "parts": frozenset(
                fields["titles"][0]
                for fields in counts
                if is_selective(fields.get("condition"))
            ),
        }

    @classmethod
    def holds_number(cls, fields: Parsed) -> bool:
        """No: counts with conditions are gathered, and each of several tables is by itself."""
        return False

    # -- as a job ---------------------------------------------------------------------------

    def as_job(self) -> None:  # type: ignore[override]
        """Return nothing: its conditions are its own."""

    def as_number(self) -> Crossed | None:
        """Return the shape where it has several tables; else its plan is made already."""
        return self if len(self.rows) > 1 else None

    def as_asked(self) -> Crossed:
        """Return the shape: each line has all its numbers."""
        self.check_numbers()
        return replace(self, keys=(PLACE, *self.keys)) if len(self.rows) > 1 else self

    @property
    def typical(self) -> dict[str, tuple[Fraction, Fraction]]:
        """For each title a typical number of a cell, and how much one row changes it."""
        return {
            title: (Fraction(self.group_people, 1 + (title in self.parts)), Fraction(1))
            for title in self.titles
        }

    def weighted(self, weights: Mapping[str, Fraction]) -> list[Fraction]:
        """Return what the square error of each table counts, by the weights of the titles."""
        found = [Fraction(0)] * len(self.sets)
        for title, (place, _) in zip(
            itertools.cycle(self.titles), self.asks, strict=False
        ):
            found[place] += weights[title]
        return found

    @property
    def of_lines(self) -> tuple[tuple[int, ...], ...]:
        """The grouping sets; the groups where there is one."""
        return self.rows or (tuple(range(self.groups_by)),)

    #: Nothing else is drawn with its lines.
    shown_lines = Shape.shown_lines

    def published_tables(self, confidence: Fraction) -> tuple[PlannedTable, ...]:
        """Return each number of each table with its margin, and that of splitting ε."""
        if len(self.rows) <= 1:
            return ()
        job = self.job_reading
        # Split evenly, ε would be shared by the tables of all numbers.
        even = Epsilon.of(self.level).scaled(1 / (self.number_share * self.numbers))
        alone = replace(
            job,
            sizes=job.sizes[: self.groups_by],
            sets=self.rows,
            level=str(even),
            asks=(),
            rows=(),
        )
        # How many people a condition holds for is not public.
        relation = EITHER if self.relation.total_known else self.relation
        of_part = replace(alone, relation=relation.name)
        numbers = itertools.product(enumerate(self.rows), self.titles)
        return tuple(
            PlannedTable(
                tuple(self.axes[k].title for k in chosen),
                title,
                f"{title} {self._named_by(chosen)}",
                margin_of(job, place, confidence),
                split_margin(alone if among < 0 else of_part, line, confidence),
            )
            for ((line, chosen), title), (place, among) in zip(
                numbers, self.asks, strict=True
            )
        )

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
        return sum(self.domain.cells(place_names(chosen)) for chosen in self.of_lines)

    @property
    def job_reading(self) -> JobReading:
        """What the numbers are computed from, beside the draws."""
        return replace(super().job_reading, asks=self.asks, rows=self.rows)

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
        tables: list[dict[tuple[int, ...], Any]] = []
        for place, chosen in enumerate(job.sets):
            cells = map(tuple, domain.combinations(place_names(chosen)).tolist())
            margins = margins_of(job, place, drawn.level)
            pairs = zip(numbers_of(published, chosen), margins, strict=True)
            tables.append(dict(zip(cells, pairs, strict=True)))
        lines: Lines = {}
        of_lines = job.rows or (tuple(range(depth)),)
        titles = len(job.asks) // len(of_lines)
        for line, chosen in enumerate(of_lines):
            asks = job.asks[line * titles : (line + 1) * titles]
            for cell in domain.combinations(place_names(chosen)).tolist():
                classes = dict(zip(chosen, cell, strict=True))
                name = [
                    reading.values[k][classes[k]] if k in classes else None
                    for k in range(depth)
                ]
                numbers = []
                for place, among in asks:
                    # The line's own cell, projected on the axes that this table has.
                    own_places = (k for k in job.sets[place] if k < depth)
                    kept = tuple(classes[k] for k in own_places)
                    own = kept if among < 0 else (*kept, among)
                    number, margin = tables[place][own]
                    numbers.append(cls.number_within(number, margin, reading))
                lines[tuple([line, *name] if job.has_places else name)] = tuple(numbers)
        return lines

    def _cell_of(
        self, names: tuple[Any, ...], title: str
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the cell of a title on a line, as the algebra names it."""
        line = 0
        if len(self.rows) > 1:
            line, *names = names  # type: ignore[assignment]
        place, among = self.asks[line * len(self.titles) + self.titles.index(title)]
        classes = {}
        for k in self.sets[place]:
            own = k < self.groups_by
            classes[k] = self.axes[k].classes.index(names[k]) if own else among
        return self._numbered(classes)

    # -- error ------------------------------------------------------------------------------

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each title, on the lines of each grouping set."""
        job = self.job_reading
        return tuple(margin_of(job, place, confidence) for place, _ in self.asks)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say what error the numbers of each title will have."""
        share = f"({float(confidence) * 100:.4g} %)"
        errors = self.errors(noises, confidence)
        several = len(self.rows) > 1
        names = [
            f"{title} {self._named_by(chosen)}" if several else title
            for chosen, title in itertools.product(self.of_lines, self.titles)
        ]
        return {
            name: f"± {bound_text(error)} {share}"
            for name, error in zip(names, errors, strict=True)
        }

    @property
    def groups_text(self) -> str:
        """Say how many groups have a number; tables are named by what they are grouped by."""
        return f" in {self.answered} groups" if len(self.rows) <= 1 else ""

    @property
    def job_errors(self) -> tuple[float, float] | None:
        """Nothing for several tables: their numbers do not count the same in the plan."""
        return None if len(self.rows) > 1 else super().job_errors

    @property
    def sensitivity(self) -> Fraction:
        """How much all numbers together change with one person."""
        touched = self.relation.touched * self.rows_per_person
        # Each title is a number of its own to noise that is added separately.
        return Fraction(touched * len(self.asks))


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
    counts: Sequence[Parsed], parts: SelectParts, table: Table
) -> list[list[Parsed]]:
    """Return counts in as few tables as hold them: by columns, and by cells."""
    packed: list[list[Parsed]] = []
    for fields in counts:
        for some in packed:
            conditions = [one.get("condition") for one in (*some, fields)]
            crossing = _condition_axes(conditions, table).axes
            joint = (*parts.axes, *crossing)
            # Of several tables, each is crossed with one axis of conditions at a time.
            cells = sum(
                math.prod(len(parts.axes[k].classes) for k in chosen)
                for chosen in parts.sets or (range(len(parts.axes)),)
            )
            widths = [len(axis.classes) for axis in crossing]
            cells *= sum((1, *widths)) if parts.sets else math.prod(widths)
            # First fit: a new table only where the joint one would be too large.
            if len(joint) <= MOST_JOINT_AXES and cells <= MOST_NUMBERS:
                some.append(fields)
                break
        else:
            packed.append([fields])
    return packed
