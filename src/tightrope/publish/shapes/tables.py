"""Counts in several tables of one job: GROUPING SETS, CUBE, ROLLUP, or one table of many cells.

All tables are margins of one table over all columns that are grouped by. A row counts if it is in
a declared class of every one of these columns, so that the tables add up; what is measured with
which share of ε is planned for all of them together (:mod:`tightrope.tables`). Outputs are not
held between ends: the published numbers are unbiased, and agree exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tightrope.claims import cells_apart_sentence, floor_sentence
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.publish.axes import Axis, nested_domain
from tightrope.publish.facts import Table
from tightrope.publish.intervals import Estimate, possible_ends, whole
from tightrope.publish.shapes.base import (
    OTHER,
    USUAL,
    Draw,
    Drawn,
    JobReading,
    Lines,
    Parsed,
    PlannedTable,
    Reading,
    SelectParts,
    Shape,
    axis_names,
    place_names,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.sql_pieces import conjuncts
from tightrope.publish.sql_rows import rows_chosen
from tightrope.queries import Neighbours
from tightrope.tables import (
    ADD_REMOVE,
    CHANGE_ONE,
    COUNT,
    EITHER,
    Domain,
    ErrorLaw,
    Estimates,
    Job,
    JobPlan,
    PublishedTable,
    Relation,
    WholeTable,
    check_cells,
    error_law,
    estimate,
    independent_excess,
    job_floor,
    least_epsilon,
    plan,
    split_plans,
    whole_table,
)
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise

#: The column of the answer that says which grouping set a row belongs to.
PLACE = "table"
#: The most numbers that one job publishes: a table of a million cells with most of its margins.
MOST_NUMBERS = 1_200_000
#: The most columns of a job that is made from several SELECTs: planning takes seconds for 8.
MOST_JOINT_AXES = 8

T = TypeVar("T")


@dataclass(frozen=True)
class Tables(Shape, kind="tables"):
    """Counts in several tables that add up.

    Attributes
    ----------
    sets
        The grouping sets: for each published table the places of its axes.
    level
        The privacy level that the job was planned for, as a text; empty before.
    measured, shares
        The tables that are measured, by the places of their axes, and their shares of ε.
    weights, evenly
        What the mean square error of each table counts in the plan (1 by default), and whether
        they are one over the squares of wanted margins, which all tables shall keep.
    largest
        Whether the plan shall minimise the largest weighted error of a table, not the mean.
    is_part
        Whether only rows that a condition of its own holds for are counted.
    number_share, numbers
        Of several numbers by the same groups: the part of ε that it has, and how many there are.
    """

    sets: tuple[tuple[int, ...], ...] = ()
    level: str = ""
    measured: tuple[tuple[int, ...], ...] = ()
    shares: tuple[Fraction, ...] = ()
    weights: tuple[Fraction, ...] = ()
    evenly: bool = False
    largest: bool = False
    is_part: bool = False
    number_share: Fraction = Fraction(1)
    numbers: int = 1

    @property
    def can_sharpen(self) -> bool:
        """Whether the table is frozen: every cell has noise of its own then."""
        return self.table.frozen

    @property
    def draws_freely(self) -> bool:
        """Yes: tables are estimated from what is drawn, and that keeps them unbiased."""
        return True

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept COUNT(*) with GROUPING SETS, CUBE or ROLLUP."""
        counted = [fields for fields in parts.asked if fields["shape"] is Count]
        if len(parts.asked) != 1 or not counted or counted[0].get("people"):
            return None
        return cls._of_sets(parts, counted[0])

    @classmethod
    def of_each(cls, parts: SelectParts) -> list[Parsed]:
        """Return several numbers with grouping sets, each as tables of its own."""
        found = []
        for fields in parts.asked:
            if issubclass(
                fields["shape"], Tables
            ):  # counts that are planned as one table
                found.append(fields)
                continue
            # Which tables are of counts and which of sums is known by what they add up.
            kind = next((x for x in cls._kinds() if x.holds_number(fields)), None)
            if kind is None:
                (title,) = fields["titles"]
                raise InputError(
                    f"{title} is not known with GROUPING SETS, CUBE and ROLLUP: their numbers are "
                    "counts of rows, sums and means of a column, and arithmetic on these"
                )
            found.append({"shape": kind, **(kind._of_sets(parts, fields) or {})})
        return found

    @classmethod
    def _kinds(cls) -> list[type[Tables]]:
        return [cls, *cls.__subclasses__()]

    @classmethod
    def holds_number(cls, fields: Parsed) -> bool:
        """Whether an aggregate is what these tables hold: a count of rows."""
        return fields["shape"] is Count and not fields.get("people")

    @classmethod
    def _of_sets(cls, parts: SelectParts, fields: Parsed) -> Parsed | None:
        """Return the fields of the tables of one aggregate; nothing without grouping sets."""
        if not parts.sets:
            return None
        cls.check_sets(parts)
        condition = fields.get("condition")
        return {
            "sets": parts.sets,
            "axes": parts.axes,
            "titles": fields["titles"],
            "condition": condition,
            "is_part": is_selective(condition),
        }

    @classmethod
    def check_sets(cls, parts: SelectParts) -> None:
        """Refuse grouping sets whose lines could not be named."""
        if not parts.axes:
            raise InputError(
                "GROUPING SETS need a column: ask for the number of rows without GROUP BY"
            )
        if any(axis.title == PLACE for axis in parts.axes):
            raise InputError(
                f"the column {PLACE!r} of the answer says which grouping set a row belongs to: "
                "name yours apart with AS"
            )

    @classmethod
    def of_count(cls, shape: Count) -> Tables:
        """Return a count by group as a job of one table."""
        return cls(
            shape.table, shape.where, axes=shape.axes, used=shape.used, part=shape.part,
            keys=shape.keys, titles=shape.titles, after=shape.after, rules=shape.rules,
            sets=(tuple(range(len(shape.axes))),),
        )  # fmt: skip

    # -- several SELECTs --------------------------------------------------------------------

    def as_job(self) -> Tables:
        """Return the shape: it is a job."""
        return self

    def fits(self, job: Sequence[Tables]) -> bool:
        """Return whether the tables may be planned with those of a job.

        All must count the same rows. Rows in no declared class of a column become a class of
        their own, so that tables with and without that column count the same; but of a person
        with several rows, which ones count depends on the declared classes.
        """
        members = [*job, self]
        first = job[0]
        # Equality, not hash: axes hold SQL conditions.
        axes = _distinct(axis for member in members for axis in member.axes)
        open_axes = [
            [axis for axis in axes if axis.rest is None and axis in member.axes]
            for member in members
        ]
        return (
            # Other rows, other people: their tables are not margins of one table.
            (self.table, self.rows_chosen, self.part)
            == (first.table, first.rows_chosen, first.part)
            and not any(member.after.selects for member in members)
            and len(axes) <= MOST_JOINT_AXES
            and sum(member.answered for member in members) <= MOST_NUMBERS
            and not any(OTHER in axis.classes for axis in axes)
            and (self.table.person is None or all(x == open_axes[0] for x in open_axes))
        )

    @cached_property
    def rows_chosen(self) -> frozenset[Any]:
        """What WHERE demands of a row, however it is written."""
        columns = self.table.columns.items()
        whole = {name for name, column in columns if column.type == "integer"}
        return rows_chosen(self.where, whole)

    @classmethod
    def joined(cls, members: Sequence[Tables]) -> tuple[Tables, list[Tables]]:
        """Return the tables of several SELECTs as one job, and each SELECT on its axes."""
        known = _distinct(axis for member in members for axis in member.axes)
        lacking = _lacking(known, members)
        own = []
        for member in members:
            axes = tuple(
                # A class for the rest, so that all SELECTs count the same rows.
                axis.with_others(OTHER) if known.index(axis) in lacking else axis
                for axis in member.axes
            )
            own.append(replace(member, axes=axes))
        first = own[0]
        axes = tuple(_distinct(axis for member in own for axis in member.axes))
        sets = _distinct(
            # The order of columns in a grouping set does not matter for what is measured.
            tuple(sorted(axes.index(member.axes[k]) for k in chosen))
            for member in own
            for chosen in member.sets
        )
        titles = {title for member in own for title in member.titles}
        job = cls(
            first.table,
            first.where,
            axes=axes,
            used=tuple(_distinct(name for member in own for name in member.used)),
            part=first.part,
            keys=tuple(axis.title for axis in axes),
            titles=first.titles if len(titles) == 1 else ("count",),
            sets=tuple(sets),
        )
        return job.as_asked(), own

    def places_in(self, job: Tables) -> list[int]:
        """Return the place of each of the tables in a job."""
        at = [job.axes.index(axis) for axis in self.axes]
        known = [set(chosen) for chosen in job.sets]
        chosen_axes = ({at[k] for k in chosen} for chosen in self.sets)
        return [known.index(axes) for axes in chosen_axes]

    def shown_lines(
        self, drawn: Shape, lines: Mapping[tuple[Any, ...], Any]
    ) -> Mapping[tuple[Any, ...], Any]:
        """Return the lines of a job that are in these tables, named and in order as here."""
        assert isinstance(drawn, Tables)
        if (drawn.axes, drawn.sets) == (self.axes, self.sets):
            return lines
        at = [drawn.axes.index(axis) for axis in self.axes]
        shown = {}
        for place, (there, chosen) in enumerate(
            zip(self.places_in(drawn), self.sets, strict=True)
        ):
            # The cells of what was drawn, under the names of both.
            among = [at[k] for k in chosen]
            classes = [self.axes[k].classes for k in chosen]
            cells = _cells(drawn.domain, among, classes)
            own_names = _named(self.job_reading, place, chosen, cells)
            names = _named(drawn.job_reading, there, among, cells)
            for own, name in zip(own_names, names, strict=True):
                shown[own] = lines[name]
        return shown

    # -- the job ----------------------------------------------------------------------------

    @property
    def relation(self) -> Relation:
        """How one person, or one row of theirs, changes the tables."""
        near = self.row_neighbours
        # Coming or going touches one cell of each table, changing touches two.
        if not near.allows_change:
            return ADD_REMOVE
        everybody = self.covers_everybody and all(
            axis.rest is not None for axis in self.row_axes
        )
        # The joint noise of a table under change-one has no finer noise that it derives from by
        # cells. Without it, a table is drawn as if people could come and go.
        is_joint = everybody and not near.allows_absent and not self.table.frozen
        return CHANGE_ONE if is_joint else EITHER

    @property
    def is_public(self) -> bool:
        """Whether all of its numbers are public: the number of people under ``change-one``."""
        return self.relation.total_known and not any(self.sets)

    @property
    def steps_per_person(self) -> int:
        """How many steps of 1 one person makes in a cell: one for each row."""
        return self.rows_per_person

    @property
    def has_others(self) -> bool:
        """No: who is in no declared class of a column is in no table, so that all add up."""
        return False

    @property
    def job_reading(self) -> JobReading:
        """What the tables are computed from, beside the draws."""
        return JobReading(
            tuple(len(axis.classes) for axis in self.axes),
            self.sets,
            self.measured,
            self.shares,
            self.level,
            self.relation.name,
            within=tuple(
                (int(column.name), int(column.within), column.parents)
                for column in self.domain.columns
                if column.within is not None
            ),
        )

    @property
    def answered(self) -> int:
        """How many numbers are published."""
        return sum(self.domain.cells(place_names(chosen)) for chosen in self.sets)

    def as_asked(self) -> Tables:
        """Return the shape with the column that says which table a row belongs to."""
        self.check_numbers()
        if len(self.sets) <= 1:
            return self
        return replace(self, keys=(PLACE, *self.keys))

    def check_numbers(self) -> None:
        """Refuse more numbers than can be published, before anything is planned."""
        # A cell for each combination of classes; ROLLUP of many columns grows fast.
        if self.answered > MOST_NUMBERS:
            raise TooLarge(
                f"these tables have {self.answered} numbers, more than {MOST_NUMBERS}: leave out "
                "the largest ones, or group by wider classes"
            )

    def as_number(self) -> Tables | None:
        """Return the shape where a SELECT has several tables."""
        return self if len(self.sets) > 1 else None

    def among(self, share: Fraction, numbers: int) -> Tables:
        """Return the tables with their share of ε, as part of so many numbers."""
        return replace(self, number_share=share, numbers=numbers)

    @property
    def typical(self) -> dict[str, tuple[Fraction, Fraction]]:
        """For each title a typical number of a cell, and how much one row changes it."""
        (title,) = self.titles
        return {title: (self._typical_rows, Fraction(1))}

    @property
    def _typical_rows(self) -> Fraction:
        """How many rows of a cell count: half of them where a condition chooses."""
        return Fraction(self.group_people, 1 + self.is_part)

    def weighted(self, weights: Mapping[str, Fraction]) -> list[Fraction]:
        """Return what the square error of each table counts, by the weights of the titles."""
        (title,) = self.titles
        return [weights[title]] * len(self.sets)

    @classmethod
    def share(
        cls, shapes: Sequence[Tables], weights: Mapping[str, Fraction], level: Epsilon
    ) -> list[Tables]:
        """Return several numbers by the same groups, planned as one job.

        Parameters
        ----------
        shapes
            What the numbers are drawn as.
        weights
            For each title what its square error counts, in squares of what one row changes.
        level
            The privacy level of all of them.
        """
        numbers = sum(len(shape.titles) for shape in shapes)
        # Counts with conditions are in tables of more columns: those come first.
        largest = max(shapes, key=lambda shape: len(shape.axes))
        # Only counts of everybody have a public total.
        near = next((x.relation for x in shapes if x.relation.total_known), None)
        names = [
            COUNT if x.relation.total_known else f"number {place}"
            for place, x in enumerate(shapes)
        ]
        published = []
        widths = {}
        for name, shape in zip(names, shapes, strict=True):
            # One person changes the numbers of one shape by the same.
            _, row = shape.typical[shape.titles[0]]
            steps = row / shape.step
            widths[name] = shape.steps_per_person
            for chosen, weight in zip(shape.sets, shape.weighted(weights), strict=True):
                own = float(weight / steps**2)
                published.append(PublishedTable(place_names(chosen), own, name))
        job = Job.of(largest.domain, published, near or largest.relation, widths)
        best = plan(job, level, largest=any(shape.largest for shape in shapes))
        planned = []
        for name, shape in zip(names, shapes, strict=True):
            mine = [table for table in best.measured if table.measure == name]
            total = sum((table.share for table in mine), Fraction(0))
            planned.append(
                replace(
                    shape,
                    measured=tuple(_places(table.margin) for table in mine),
                    shares=tuple(table.share / total for table in mine),
                    number_share=total,
                    numbers=numbers,
                )
            )
        return planned

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Tables:
        """Return the shape with the tables that are measured at a privacy level."""
        if self.numbers > 1 and self.measured:
            return self.at_level(level)
        # One person makes several steps: each gets an equal part of ε.
        each = level.scaled(Fraction(1, self.steps_per_person))
        # The largest instead of the mean: minimise the worst weighted error of a table.
        best = (
            _even_plan(self.job_reading, self.weights)
            if self.evenly
            else plan(
                job_of(self.job_reading, self.weights), each, largest=self.largest
            )
        )
        return replace(
            self,
            level=str(each),
            measured=tuple(_places(table.margin) for table in best.measured),
            shares=tuple(table.share for table in best.measured),
        )

    def keeping(self, error: Fraction) -> Tables:
        """Return the shape planned for an error that all of its tables shall keep."""
        if len(self.sets) == 1:
            return self
        weight = (self.step / error) ** 2
        return replace(self, weights=(weight,) * len(self.sets), evenly=True)

    def for_largest(self) -> Tables | None:
        """Return the shape planned for its largest margin, if it has several tables."""
        return replace(self, largest=True) if len(self.sets) > 1 else None

    def at_level(self, level: Epsilon) -> Tables:
        """Return the same measured tables, with the same shares, at another level."""
        each = level.scaled(Fraction(1, self.steps_per_person))
        return replace(self, level=str(each))

    @property
    def question(self) -> str:
        """Refuse: several tables are no single query."""
        raise InputError(
            "tables of one job are drawn together: ask for them with 'tightrope ask'"
        )

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Return one histogram, or one count for each cell, for each measured table."""
        people = self.table.needed_population() * self.rows_per_person
        rows = self.rows_per_person
        near = self.row_neighbours
        draws = []
        for chosen in self.measured:
            sizes = (len(self.axes[k].classes) for k in chosen)
            cells = math.prod(sizes)
            # Joint noise: under change-one a person leaves one cell and enters another at once.
            if self.relation.is_joint(cells):
                text = f"histogram({people},{cells})"
                words = f"the {self.counted} {self._named_by(chosen)}"
                draws.append(Draw(text, Neighbours.CHANGE_ONE, width=rows, words=words))
            else:
                # Each cell has noise of its own; one person touches this many of them.
                width = self.relation.touched * rows
                words = f"the {self.counted} {self._where_of(chosen)}"
                draws.append(
                    Draw(
                        f"count({people})", near, cells, width, most=people, words=words
                    )
                )
        return tuple(draws)

    @property
    def draw_shares(self) -> tuple[Fraction, ...]:
        """The part of ε that each measured table gets."""
        return self.shares

    # -- answers and draws ------------------------------------------------------------------

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the cells of each measured table."""
        deep = len(self.axes)
        places = np.array([row[:deep] for row in rows], np.int64)
        numbers = places.reshape(len(rows), deep)
        # Python's integers: sums over more rows than declared may be beyond 64 bits.
        added = np.array([int(row[deep]) for row in rows], object)
        # A negative place is a row in no declared class.
        inside = (numbers >= 0).all(axis=1)
        numbers = numbers[inside]
        added = added[inside]
        answers: list[list[Hashable]] = []
        for chosen, draw in zip(self.measured, self.draws, strict=True):
            # A measured table has every combination of its classes: nothing in it is nested.
            axes = tuple(replace(self.row_axes[k], source=None) for k in chosen)
            place = np.zeros(len(numbers), np.int64)
            for k, axis in zip(chosen, axes, strict=True):
                # Mixed radix: the same order as itertools.product over the classes.
                place = place * len(axis.classes) + numbers[:, k]
            class_counts = (len(axis.classes) for axis in axes)
            totals = np.zeros(math.prod(class_counts), object)
            np.add.at(totals, place, added)
            sizes = totals.tolist()
            if draw.times == 1 and self.relation.is_joint(len(sizes)):
                answers.append([replace(self, axes=axes).groups_answer(sizes)])
            else:
                # Held to the declared population: a total function of any table.
                answers.append(
                    [min(max(size - draw.offset, 0), draw.most) for size in sizes]
                )
        return answers

    def draw(self, noises: Sequence[Noise], rows: Sequence[Sequence[Any]]) -> Any:
        """Draw the cells of each measured table, not held between the ends."""
        pairs = zip(noises, self.answers(rows), strict=True)
        return [noise.draw_cells(answers) for noise, answers in pairs]

    @property
    def reading(self) -> Reading:
        """How outputs become the numbers of all tables."""
        return Reading(
            self.kind,
            values=tuple(axis.classes for axis in self.axes),
            people=self.table.needed_population(),
            shows=self.titles,
            job=self.job_reading,
        )

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the numbers of every table, those of one after those of the other."""
        reading = drawn.reading
        job = reading.job
        if job is None:
            raise InputError("the reading of a job says what was measured")
        published = published_of(job, drawn.answer, reading.people)
        lines: Lines = {}
        for place, chosen in enumerate(job.sets):
            values = [reading.values[k] for k in chosen]
            cells = _cells(published.plan.job.domain, chosen, values)
            numbers = numbers_of(published, chosen)
            margins = margins_of(job, place, drawn.level)
            names = _named(job, place, chosen, cells)
            for name, number, margin in zip(names, numbers, margins, strict=True):
                lines[name] = (cls.number_within(number, margin, reading),)
        return lines

    @classmethod
    def number_within(cls, number: Any, margin: Any, reading: Reading) -> Estimate:
        """Return a published number with its interval."""
        # A count is not negative: cutting the interval at 0 loses no coverage.
        around = (number - margin, number + margin)
        return Estimate(number, *possible_ends(number, around, least=0))

    def check_whole(self) -> None:
        """Refuse tables whose columns together are too many for a whole table."""
        check_cells(job_of(self.job_reading).domain)

    def whole_lines(self, answer: Any) -> tuple[WholeTable, dict[tuple[Any, ...], int]]:
        """Return one table of whole people near the numbers, and its margins as lines."""
        job = self.job_reading
        published = published_of(job, answer, self.table.needed_population())
        table = whole_table(published)
        lines: dict[tuple[Any, ...], int] = {}
        for place, chosen in enumerate(job.sets):
            classes = [self.axes[k].classes for k in chosen]
            cells = _cells(table.domain, chosen, classes)
            names = _named(job, place, chosen, cells)
            people = _in_order(table[place_names(chosen)], table.domain, chosen)
            lines |= zip(names, people.ravel().tolist(), strict=True)
        return table, lines

    def job_numbers(self, answer: Any) -> JobNumbers:
        """Return the numbers with the laws of their errors together."""
        return JobNumbers(self, answer)

    def error_law(
        self, terms: Mapping[tuple[tuple[Any, ...], str], Fraction]
    ) -> ErrorLaw:
        """Return the exact law of a linear form's error.

        Outputs are not held between ends, so the errors are those of the noise alone.
        """
        combined: dict[Any, Fraction] = {}
        for (names, title), weight in terms.items():
            cell = self._cell_of(names, title)
            combined[cell] = combined.get(cell, Fraction(0)) + weight * self.step
        return error_law(_plan_of(self.job_reading), combined)

    def _cell_of(
        self, names: tuple[Any, ...], title: str
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the cell of a line as the algebra names it."""
        places = dict(zip(self.keys, names, strict=True))
        chosen = self.sets[places.get(PLACE, 0)]
        return self._numbered(
            {k: self.axes[k].classes.index(places[self.axes[k].title]) for k in chosen}
        )

    def _numbered(
        self, classes: Mapping[int, int]
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return a cell, from the classes of its axes, in the order of the domain."""
        names = place_names(tuple(classes))
        margin = self.domain.margin(names)
        own_classes = tuple(classes[int(name)] for name in margin)
        return tuple(margin), own_classes

    # -- error and notes --------------------------------------------------------------------

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of the numbers of each table."""
        job = self.job_reading
        return tuple(
            margin_of(job, k, confidence) * self.step for k in range(len(self.sets))
        )

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say what error the numbers of each table will have."""
        share = f"({float(confidence) * 100:.4g} %)"
        errors = self.errors(noises, confidence)
        return {
            f"{self.titles[0]} {self._named_by(chosen)}": f"± {bound_text(error)} {share}"
            for chosen, error in zip(self.sets, errors, strict=True)
        }

    @property
    def groups_text(self) -> str:
        """Say nothing more: each table is named by what it is grouped by."""
        return ""

    def _named_by(self, chosen: Sequence[int]) -> str:
        names = axis_names(self.axes[k] for k in chosen)
        return f"by {names}" if names else "in all"

    def _where_of(self, chosen: Sequence[int]) -> str:
        """Say of which cells a table has a number each."""
        names = axis_names(self.axes[k] for k in chosen)
        return f"in each cell of {names}" if names else "in all"

    @property
    def job_errors(self) -> tuple[float, float] | None:
        """The root mean square error over all tables, and its floor where one is proved.

        The floor is for people who have one row each.
        """
        if self.rows_per_person > 1:
            return None
        job = job_of(self.job_reading, self.weights)
        least = job_floor(job, self.level)
        if least is None:
            return None
        return replace(_plan_of(self.job_reading), job=job).error, least.error

    @property
    def plan_fields(self) -> dict[str, Any]:
        """Which tables are measured, with their ε, and how far the error is from its floor."""
        level = Epsilon.of(self.level)
        known = self.job_errors if len(self.sets) > 1 else None
        return {
            **(
                {}
                if known is None
                else {"root_mean_square": known[0], "floor": known[1]}
            ),
            "plan": [
                {
                    **({"number": self.numbers_name} if self.numbers > 1 else {}),
                    "table": [self.axes[k].title for k in chosen],
                    "share": float(share * self.number_share),
                    "epsilon": str(level.scaled(share * self.steps_per_person)),
                }
                for chosen, share in zip(self.measured, self.shares, strict=True)
            ],
        }

    def published_tables(self, confidence: Fraction) -> tuple[PlannedTable, ...]:
        """Return each table with its margin, and with the one that splitting ε would have."""
        job = self.job_reading
        if len(self.sets) == 1:
            return ()
        # Split evenly, ε would be shared by all tables of all numbers.
        even = Epsilon.of(self.level).scaled(1 / (self.number_share * self.numbers))
        split = replace(job, level=str(even))
        return tuple(
            PlannedTable(
                tuple(self.axes[k].title for k in chosen),
                self.titles[0],
                f"{self.titles[0]} {self._named_by(chosen)}",
                margin_of(job, place, confidence) * self.step,
                split_margin(split, place, confidence) * self.step,
            )
            for place, chosen in enumerate(self.sets)
        )

    @property
    def sensitivity(self) -> Fraction:
        """How many numbers of all tables together one person changes by 1."""
        # L1: the cells that one person changes, in every published table.
        touched = self.relation.touched * self.rows_per_person
        return Fraction(touched * len(self.sets))

    def stand_in_reasons(self) -> list[str]:
        """Say that a plan for several tables is not proved to be the best one."""
        several = len(self.sets)
        return (
            [f"{several} tables are estimated from what is drawn"]
            if several > 1
            else []
        )

    def notes(self) -> list[str]:
        """Say what is measured."""
        shares = [
            f"{self._named_by(chosen).removeprefix('by ')} with "
            f"{float(100 * share * self.number_share):.3g} % of ε"
            for chosen, share in zip(self.measured, self.shares, strict=True)
        ]
        notes = []
        if len(self.sets) > 1:
            notes.append(
                f"Measured{self._of_number}: {', '.join(shares)}. All tables come from one "
                "estimate and add up."
            )
            if self.job_errors is not None:
                distance = floor_sentence(*self.job_errors)
                notes += [distance] if distance else []
        return [*notes, *self._apart_notes(), *self._row_notes("rows")]

    @property
    def _of_number(self) -> str:
        """Say for which of several numbers something is measured."""
        return f" for {self.numbers_name}" if self.numbers > 1 else ""

    @property
    def numbers_name(self) -> str:
        """What the numbers are called together."""
        return ", ".join(self.titles)

    def _apart_notes(self) -> Iterator[str]:
        """Say what is lost in tables that are too large for noise of all cells together."""
        level = Epsilon.of(self.level)
        for chosen, share in zip(self.measured, self.shares, strict=True):
            cells = self.domain.cells(place_names(chosen))
            if self.relation.joint_cells < cells and self.relation is CHANGE_ONE:
                name = " × ".join(self.axes[k].title for k in chosen)
                excess = independent_excess(float(level.scaled(share)), cells)
                if excess < 1:
                    yield cells_apart_sentence(name, cells, excess)


@dataclass(frozen=True)
class JobNumbers:
    """The published numbers of a job, and the laws of their errors together.

    Attributes
    ----------
    shape
        The job as it was planned.
    outputs
        What was drawn.
    """

    shape: Tables
    outputs: Any

    def combination(
        self, cells: Sequence[tuple[Mapping[str, Any], Fraction]], level: Fraction
    ) -> Estimate:
        """Return a combination of cells with its interval, from the exact law of its error.

        Parameters
        ----------
        cells
            Cells, as classes by columns, each with its coefficient.
        level
            The probability that the interval contains the true value.
        """
        places = [(self._cell(classes), weight) for classes, weight in cells]
        value = sum(
            (weight * self._published.exact(*cell) for cell, weight in places),
            Fraction(0),
        )
        # The exact law of this combination: errors of cells of one job are dependent.
        margin = self._law(places).margin(level)
        low = whole(value - margin)
        high = whole(value + margin)
        return Estimate(whole(value), low, high)

    def share(
        self, part: Mapping[str, Any], of: Mapping[str, Any], level: Fraction
    ) -> Estimate:
        r"""Return the share of a cell in a larger one, with its interval.

        If the share is p, then :math:`a - p b` of the published numbers a and b is noise alone
        [Fieller, 1954], and p is possible as long as that is within the margin of its law. On an
        interval of shares that is δ wide the noise differs by at most δ times that of b: what
        may fail is divided between the two. So whole intervals of shares are ruled out, until
        nothing is left outside the ends.
        """
        inner = self._cell(part)
        outer = self._cell(of)
        if not of.items() <= part.items():
            raise InputError(
                "a share is of a cell in a larger one, which has some of its classes: got "
                f"{dict(part)} in {dict(of)}"
            )
        top = self._published.exact(*inner)
        bottom = self._published.exact(*outer)
        fails = 1 - level
        # A thousandth of what may fail covers the change of the noise within an interval of shares.
        outer_law = self._law([(outer, Fraction(1))])
        around = outer_law.margin(1 - fails * _FOR_WIDTHS)

        def margin(share: Fraction) -> Fraction:
            parts = [(inner, Fraction(1)), (outer, -share)]
            law = self._law(parts)
            return law.margin(1 - fails * (1 - _FOR_WIDTHS))

        def is_ruled_out(low: Fraction, high: Fraction) -> bool:
            # |noise(p)| ≤ margin(mid) + |p - mid|·|noise of b| on the whole interval.
            half = (high - low) / 2
            reach = margin((low + high) / 2) + half * around
            ends = (top - low * bottom, top - high * bottom)
            # a - p b is linear in p, so its extremes are at the ends of the interval.
            return min(ends) > reach or max(ends) < -reach

        # A published total of 0 or less contradicts no share.
        if bottom <= 0:
            return Estimate(Fraction(1, 2), 0, 1)
        value = min(max(top / bottom, Fraction(0)), Fraction(1))
        ends = []
        for far in (Fraction(0), Fraction(1)):
            # The end is near where the number equals its margin; two rounds find it.
            side = 1 if far else -1
            near = value
            for _ in range(2):
                near = _short(value + side * margin(near) / bottom)
            ends.append(_end(is_ruled_out, value, near, far))
        low, high = map(whole, ends)
        return Estimate(whole(value), low, high)

    @cached_property
    def _published(self) -> Estimates:
        people = self.shape.table.needed_population()
        return published_of(self.shape.job_reading, self.outputs, people)

    def _law(self, places: Sequence[tuple[Any, Fraction]]) -> ErrorLaw:
        combined: dict[Any, Fraction] = {}
        for cell, weight in places:
            combined[cell] = combined.get(cell, Fraction(0)) + weight
        return error_law(_plan_of(self.shape.job_reading), combined)

    def _cell(
        self, classes: Mapping[str, Any]
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return a cell of a published table as the algebra names it."""
        axes = self.shape.axes
        at = {axis.title: place for place, axis in enumerate(axes)}
        domain = self.shape.domain
        unknown = [name for name in classes if name not in at]
        known = (at[name] for name in classes if name in at)
        chosen = tuple(sorted(known))
        names = place_names(chosen)
        margins = {domain.margin(place_names(own)) for own in self.shape.sets}
        if unknown or domain.margin(names) not in margins:
            raise InputError(
                f"the table by {' × '.join(classes) or 'nothing'} is not published by this job"
            )
        numbers = {}
        for place in chosen:
            value = classes[axes[place].title]
            if value not in axes[place].classes:
                raise InputError(
                    f"{axes[place].title} has no class {str(value)[:40]!r} in this job"
                )
            numbers[str(place)] = axes[place].classes.index(value)
        if list(numbers.values()) not in domain.combinations(names).tolist():
            raise InputError(
                f"no row is in {', '.join(map(str, classes.values()))} at once: one of them lies "
                "within another"
            )
        return names, tuple(numbers[name] for name in domain.margin(names))


#: Of what may fail, the part that is for the width of the intervals of shares.
_FOR_WIDTHS = Fraction(1, 1000)


def _short(share: Fraction) -> Fraction:
    """Return a share with few digits, whose law has a coarse lattice, within 0 and 1."""
    rounded = Fraction(round(share * 4096), 4096)
    return min(max(rounded, Fraction(0)), Fraction(1))


def _end(
    is_ruled_out: Callable[[Fraction, Fraction], bool],
    value: Fraction,
    near: Fraction,
    far: Fraction,
) -> Fraction:
    """Return an end such that everything from there to the far one is ruled out.

    >>> third = Fraction(1, 3)
    >>> outside = lambda low, high: high < third or low > third
    >>> _end(outside, Fraction(1, 4), Fraction(1, 3), Fraction(1)) <= third * Fraction(102, 100)
    True
    """

    def all_ruled_out(start: Fraction, end: Fraction, depth: int) -> bool:
        if is_ruled_out(min(start, end), max(start, end)):
            return True
        # Cells near the start are the narrow ones.
        middle = start + (end - start) / 4
        return depth > 0 and all(
            all_ruled_out(*cell, depth - 1) for cell in ((start, middle), (middle, end))
        )

    width = abs(near - value) + Fraction(1, 4096)
    while True:
        if abs(far - value) <= width:
            return far
        # Rounded outwards: few digits make the lattices of the laws coarse.
        is_above = far > value
        steps = (value + width if is_above else value - width) * 4096
        outward = math.ceil(steps) if is_above else math.floor(steps)
        end = Fraction(outward, 4096)
        if all_ruled_out(end, far, 4):
            return end
        # Growing by 1 %: the result is at most that much wider than necessary.
        width *= Fraction(101, 100)


def is_selective(condition: Any) -> bool:
    """Whether a condition of FILTER chooses rows by more than having a value.

    >>> import sqlglot
    >>> [is_selective(sqlglot.parse_one(text)) for text in ("NOT x IS NULL", "x > 3")]
    [False, True]
    """
    return not all(
        isinstance(part, exp.Not) and isinstance(part.this, exp.Is)
        for part in conjuncts(condition)
    )


# -- from a reading to tables -----------------------------------------------------------------


def job_of(reading: JobReading, weights: Sequence[Fraction] = ()) -> Job:
    """Return the job of a reading; its columns are called by their places."""
    relations = {one.name: one for one in (ADD_REMOVE, CHANGE_ONE, EITHER)}
    counted = weights or [Fraction(1)] * len(reading.sets)
    tables = [
        PublishedTable(place_names(chosen), float(weight))
        for chosen, weight in zip(reading.sets, counted, strict=True)
    ]
    return Job.of(reading.domain, tables, relations[reading.relation])


@lru_cache(maxsize=32)
def _even_plan(reading: JobReading, weights: tuple[Fraction, ...]) -> JobPlan:
    """Return the plan at about the ε that wanted margins need.

    Its shares hardly depend on ε, and a search for the least ε asks for them a dozen times: for
    four columns that took 30 s. A margin of 95 % is about two root mean squares.
    """
    errors = [0.5 / math.sqrt(weight) for weight in weights]
    return least_epsilon(job_of(reading), errors)


@lru_cache(maxsize=32)
def _plan_of(reading: JobReading) -> JobPlan:
    shares = {
        place_names(chosen): share
        for chosen, share in zip(reading.measured, reading.shares, strict=True)
    }
    return JobPlan.of(job_of(reading), reading.level, shares)


@lru_cache(maxsize=256)
def margin_of(reading: JobReading, place: int, level: Fraction) -> Fraction:
    """Return the largest error of the numbers of one table."""
    return Fraction(max(margins_of(reading, place, level)))


@lru_cache(maxsize=32)
def margins_of(reading: JobReading, place: int, level: Fraction) -> Sequence[Any]:
    """Return the error of each number of a table, in the order of its grouping set."""
    return _margins(_plan_of(reading), reading.sets[place], level)


def _margins(made: JobPlan, chosen: Sequence[int], level: Fraction) -> Sequence[Any]:
    """Return the margin of each cell of a table, from as few laws as there are kinds of cells."""
    domain = made.job.domain
    names = domain.margin(place_names(chosen))
    kinds = domain.kinds(names)
    _, firsts, places = np.unique(kinds.ravel(), return_index=True, return_inverse=True)
    margins = []
    for first in firsts.tolist():
        cell = tuple(map(int, np.unravel_index(first, kinds.shape)))
        margins.append(whole(error_law(made, (names, cell)).margin(level)))
    table = np.array(margins, object)[places].reshape(kinds.shape)
    ordered: list[Any] = _in_order(table, domain, chosen).ravel().tolist()
    return ordered


@lru_cache(maxsize=256)
def split_margin(reading: JobReading, place: int, level: Fraction) -> Fraction:
    """Return the error that a table would have if ε were split evenly between all of them."""
    alone = split_plans(job_of(reading), reading.level)[place]
    if alone is None:
        return Fraction(0)
    return Fraction(max(_margins(alone, reading.sets[place], level)))


def published_of(reading: JobReading, answer: Any, people: int) -> Estimates:
    """Return the published tables from the outputs."""
    made = _plan_of(reading)
    # Under change-one the number of people is public and need not be estimated.
    known = people if made.job.relation.total_known else None
    drawn = [
        (np.array(outputs) + reading.offset).reshape(
            made.job.domain.shape(table.margin)
        )
        for outputs, table in zip(answer, made.measured, strict=True)
    ]
    return estimate(made, drawn, people=known)


def numbers_of(published: Estimates, chosen: Sequence[int]) -> list[Any]:
    """Return the numbers of a table in the order of its grouping set."""
    numerators, below = published.whole_parts(place_names(chosen))
    table = _in_order(numerators, published.plan.job.domain, chosen)
    if not (table % below).any():  # a table that was measured alone: no fractions
        return [int(number) for number in (table // below).ravel().tolist()]
    return [whole(Fraction(number, below)) for number in table.ravel().tolist()]


def _in_order(
    table: NDArray[Any], domain: Domain, chosen: Sequence[int]
) -> NDArray[Any]:
    """Return a table with its axes in the order of a grouping set, not of the domain."""
    names = place_names(chosen)
    margin = domain.margin(names)
    return table.transpose([margin.index(name) for name in domain.in_order(names)])


def _cells(
    domain: Domain, chosen: Sequence[int], values: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """Return the classes of all cells of a table: a list for each column that is grouped by."""
    places = domain.combinations(place_names(chosen)).T.tolist()
    return [
        [classes[k] for k in column]
        for classes, column in zip(values, places, strict=True)
    ]


def _named(
    reading: JobReading, place: int, chosen: Sequence[int], cells: Sequence[list[Any]]
) -> list[tuple[Any, ...]]:
    """Return the names of a table's rows: its place and a class, or nothing, for each column."""
    lines = len(cells[0]) if cells else 1
    known = dict(zip(chosen, cells, strict=True))
    nothing = [None] * lines
    columns = [known.get(k, nothing) for k in range(len(reading.sizes))]
    if len(reading.sets) > 1:
        columns.insert(0, [place] * lines)
    # Not by zip: a count of all rows has one line and no columns.
    return [tuple(column[line] for column in columns) for line in range(lines)]


def _lacking(axes: Sequence[Axis], members: Sequence[Tables]) -> set[int]:
    """Return the places of axes that some SELECT lacks, with what they are nested with.

    Where the finest of nested axes has a class for every row, so have the others.
    """
    lacking: set[int] = set()
    for chain in nested_domain(axes).axes:
        places = list(map(int, chain.names))
        in_all = all(axes[k] in member.axes for k in places for member in members)
        if not in_all and axes[places[-1]].rest is None:
            lacking |= set(places)
    return lacking


def _distinct(values: Iterable[T]) -> list[T]:
    """Return each value once; conditions have no hash of their own."""
    found: list[T] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _places(margin: Sequence[str]) -> tuple[int, ...]:
    return tuple(map(int, margin))
