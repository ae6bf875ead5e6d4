r"""What every question shape is: SQL that it accepts, draws, the query, numbers, error, notes.

The mechanism knows the declared answers and no others. A table that holds more people than
declared, or values outside the declared ones, must still lead to a declared answer, because an
error that depends on the data says something about the people in it. So :meth:`Shape.answers` is
a total function, and (but for the two cases below) it moves no pair of neighbouring tables further
apart than one step in the answer graph: privacy then holds for every table, declared facts true
or false.

The exceptions are several counts and groups under ``add-remove`` when the table holds *more*
people than declared. There a step may become two, so such a table gets :math:`2\varepsilon`; for
three groups no rule could do better.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from tightrope.certify import is_by_score
from tightrope.certify.make import encode_label
from tightrope.errors import InputError
from tightrope.publish.axes import Axis, nested, nested_domain
from tightrope.publish.facts import Column, Partition, Table, Value
from tightrope.publish.intervals import Estimate, level_of, whole
from tightrope.publish.post_processing import AS_PUBLISHED, PostProcessing
from tightrope.publish.relations import ROW_NUMBER
from tightrope.publish.sql_pieces import ConditionReader, present, quoted
from tightrope.queries import Neighbours
from tightrope.tables import Domain, ErrorLaw
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.epsilon import Epsilon
    from tightrope.publish.noise import Noise
    from tightrope.publish.shapes.tables import JobNumbers, Tables

#: The confidence of intervals where none is given.
USUAL = Fraction(19, 20)
#: The name of the class that holds whoever is in no declared one.
OTHER = "(other)"
#: The fields of a shape as they are read from SQL, with the class under ``shape``.
Parsed = dict[str, Any]
#: The numbers of each line of an answer, by its names.
Lines = dict[tuple[Any, ...], tuple[Estimate, ...]]
#: Every shape by its kind; a class is registered where it is written.
SHAPES: dict[str, type[Shape]] = {}


@dataclass(frozen=True)
class Draw:
    """One query that a mechanism answers, for the whole table or for each of its groups.

    Attributes
    ----------
    query, neighbours
        The query and its neighbour relation.
    times
        The number of disjoint groups that each get an answer of their own; 0 where that is not
        known before the rows are read.
    width
        The number of steps that one person can make in these groups together.
    offset, most
        For sums: what is added to an answer to make it a number of the table's, and the largest
        answer.
    step
        For sums: the most that one step changes the answer.
    delta
        For a choice of what is shown: the δ of each step.
    words
        What is drawn, for people who asked in SQL and never saw the query.
    """

    query: str
    neighbours: Neighbours
    times: int = 1
    width: int = 1
    offset: int = 0
    most: int = 0
    step: int = 1
    delta: Fraction = Fraction(0)
    # No part of what is drawn: the same query has the same mechanism, whatever it is called.
    words: str = field(default="", compare=False, kw_only=True)

    @property
    def by_score(self) -> bool:
        """Whether the mechanism sees the counts of all values, not one answer."""
        return is_by_score(self.query)

    def in_steps(self) -> Draw:
        """Return a sum or a count as a count of steps of 1, each paid for.

        >>> near = Neighbours.CHANGE_ONE
        >>> draw = Draw("sum(10,5)", near, most=50, step=5, words="the sum of age").in_steps()
        >>> draw.query, draw.width, draw.words
        ('count(50)', 5, 'the sum of age (counted in steps)')
        """
        counted = " (counted in steps)" if self.step > 1 else ""
        # A person moves the answer by up to step, so it counts as that many steps of a count.
        return replace(
            self,
            query=f"count({self.most})",
            width=self.width * self.step,
            step=1,
            words=self.words + counted,
        )


@dataclass(frozen=True)
class JobReading:
    """How the tables of one job come from the measured ones.

    Attributes
    ----------
    sizes
        The number of classes of each column.
    sets, measured
        The published and the measured tables, by the places of their columns.
    shares
        The part of ε that each measured table has.
    level
        The privacy level, as a text.
    relation
        How one person changes the tables.
    asks
        Where a line has several numbers: the table and the class of each, for each of the rows.
    rows
        Where a line has several numbers and there are several grouping sets: these.
    within
        The nested columns, each with the place of its outer one and the parents of its classes.
    offset
        Of sums: what is added to each output.
    """

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    measured: tuple[tuple[int, ...], ...]
    shares: tuple[Fraction, ...]
    level: str
    relation: str
    asks: tuple[tuple[int, int], ...] = ()
    within: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    offset: int = 0
    rows: tuple[tuple[int, ...], ...] = ()

    @property
    def has_places(self) -> bool:
        """Whether the name of a line begins with the place of its table."""
        return len(self.rows if self.asks else self.sets) > 1

    @property
    def domain(self) -> Domain:
        """The columns, by their places."""
        return Domain.numbered(self.sizes, self.within)


@dataclass(frozen=True)
class PlannedTable:
    """A table that a job will publish, and how exact it will be.

    Attributes
    ----------
    columns
        What it is grouped by.
    number, title
        What is published, and what its numbers are called.
    margin
        The margin of error of each of its numbers.
    split
        The margin that they would have if ε were split evenly between all tables of the job.
    """

    columns: tuple[str, ...]
    number: str
    title: str
    margin: Fraction
    split: Fraction


@dataclass(frozen=True)
class Reading:
    """How outputs become the numbers of an answer.

    It is in the ledger and in receipts: whoever has one reads the answer without the facts.

    Attributes
    ----------
    kind
        Which shape was asked for.
    names
        The names of the lines; one without a name where nothing is grouped.
    values
        Of a most common value: what an output is the place of.
    step
        What sums, means and quantiles are counted in.
    places
        Of quantiles: which of the drawn values each title shows.
    offset, centre, people, bounds, is_fixed, shows
        Of sums and means, as in :class:`Draw` and :class:`~tightrope.publish.shapes.Mean`.
    job
        Of several tables: how they come from the measured ones.
    offsets, powers
        Of sums of products: what is added to each, and which they are.
    block
        Of running counts: how many cells have a count together.
    """

    kind: str
    names: tuple[tuple[Any, ...], ...] = ((),)
    values: tuple[Any, ...] = ()
    step: Fraction = Fraction(1)
    offset: int = 0
    centre: int = 0
    people: int = 0
    bounds: tuple[int, int] = (0, 0)
    is_fixed: bool = False
    shows: tuple[str, ...] = ("mean",)
    places: tuple[int, ...] = (0,)
    job: JobReading | None = None
    offsets: tuple[int, ...] = ()
    powers: tuple[tuple[int, int], ...] = ()
    block: int = 0


@dataclass(frozen=True)
class Drawn:
    """A released answer: how it is read, what it was drawn from, and the level of intervals.

    Without its mechanism (``None``) a number has no interval.
    """

    reading: Reading
    noises: Sequence[Noise | None]
    answer: Any
    level: Fraction

    @property
    def outputs(self) -> Sequence[Any]:
        """The outputs of all groups; that of one group, also a tuple, stands by itself."""
        answer = self.answer
        # One output of a joint draw is a tuple too; only nested tuples are several groups.
        is_nested = (
            isinstance(answer, tuple) and answer and isinstance(answer[0], tuple)
        )
        return answer[0] if is_nested else (answer,)

    def numbers(self, output: Any, draw: int = 0) -> tuple[Estimate, ...]:
        """Return each number of an output with its interval."""
        return number_estimates(self.noises[draw], output, self.level)

    def note(self) -> str:
        """Say how near an answer by scores is."""
        noise = self.noises[0]
        return "" if noise is None else noise.note(self.level)

    def by_name(self, numbers: Iterable[tuple[Estimate, ...]]) -> Lines:
        """Return numbers by the names of their lines; everybody else may have none."""
        return dict(zip(self.reading.names, numbers, strict=False))


@dataclass(frozen=True)
class SelectParts:
    """A SELECT as shapes see it: its groups, its other targets, and what each of them asks."""

    select: Any
    axes: tuple[Axis, ...]
    targets: list[Any]
    asked: list[Parsed] = field(default_factory=list)
    sets: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Shape:
    """A question about one table, as understood; nothing of the user's text is left in it.

    Attributes
    ----------
    table
        The table and its public facts.
    where
        The condition on rows, or ``None``.
    column
        The column that is summed, ranked or grouped by, or that a declared question is about.
    axes
        What the rows are grouped by.
    used
        The columns that the question reads.
    part
        The partition and the part that the question is confined to.
    keys, titles
        What the rows of the answer are named by, and what its numbers are called.
    after
        How the published numbers become the lines that are shown.
    people
        Whether distinct people are counted, each once in a group, not rows.
    rules
        What becomes of rows and values that the facts do not allow, where the SQL decides it.
    """

    table: Table
    where: exp.Expression | None = None
    column: Column | None = None
    axes: tuple[Axis, ...] = ()
    used: tuple[str, ...] = ()
    part: tuple[Partition, str] | None = None
    keys: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    after: PostProcessing = AS_PUBLISHED
    people: bool = False
    rules: tuple[str, ...] = ()

    #: The name of the shape, in readings and messages.
    kind: ClassVar[str] = ""
    #: Whether its draws may give the numbers of other shapes too.
    absorbs: ClassVar[bool] = False
    #: Whether the values of its column are added up or ranked, within their bounds.
    uses_values: ClassVar[bool] = False
    #: Whether the shape needs a δ: it shows what nobody declared.
    needs_delta: ClassVar[bool] = False
    #: Whether its numbers are sums over rows.
    adds_up: ClassVar[bool] = True
    #: Whether only rows with a value in the column take part.
    needs_value: ClassVar[bool] = False

    def __init_subclass__(cls, kind: str, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.kind = kind
        # Registration by definition: the reader asks every known shape in turn.
        SHAPES[kind] = cls

    # -- the SQL that it accepts ----------------------------------------------------------

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Return the fields of the shape if one target asks for it, else ``None``."""
        return None

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Return the fields of the shape if the whole SELECT asks for it, else ``None``."""
        return None

    @classmethod
    def gather(cls, parts: SelectParts, table: Table) -> list[Parsed]:
        """Return what the targets ask, with those in one that this shape answers together."""
        return parts.asked

    @classmethod
    def fits_groups(cls, declared: bool) -> bool:
        """Whether it may be asked by group; declared: as one answer for all groups."""
        return not declared

    @classmethod
    def keeps_its_graph(cls, fields: Parsed) -> bool:
        """Whether the user's own answer graph is for this shape, not for any value."""
        return True

    # -- groups ---------------------------------------------------------------------------

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person count."""
        return self.table.contributions

    @property
    def bounds_rows(self) -> bool:
        """Whether rows of a person beyond that number are left out."""
        return True

    @property
    def row_neighbours(self) -> Neighbours:
        """The relation of answers where each row is a step of its own.

        Rows of one person may be in several groups, so no step of a group holds all of them.
        """
        near = self.table.neighbours
        several = self.rows_per_person > 1 and near.allows_change
        # A person who changes may take all rows out of one group and put them into another.
        return Neighbours.EITHER if several else near

    @property
    def columns(self) -> list[Column]:
        """The declared columns that are read."""
        own = {} if self.column is None else {self.column.name: self.column}
        part = () if self.part is None else (self.part[0].column,)
        known = {**self.table.columns, **own}
        names = sorted({*self.used, *own, *part})
        return [known[name] for name in names]

    @property
    def grouped_by(self) -> tuple[Axis, ...]:
        """The axes of the groups."""
        return self.axes

    @property
    def declared_axes(self) -> tuple[Axis, ...]:
        """The axes whose classes the public facts describe."""
        return self.axes

    @cached_property
    def domain(self) -> Domain:
        """The columns that the axes are, by their places, with what is nested in what."""
        return nested_domain(self.axes)

    @cached_property
    def row_axes(self) -> tuple[Axis, ...]:
        """The axes as rows are read: the finest of nested groups says the others."""
        groups = nested(self.grouped_by)
        return (*groups, *self.axes[len(groups) :])

    @property
    def cell_count(self) -> int:
        """How many combinations of the classes that are grouped by are possible."""
        self._check_groups()
        return self.domain.cells(place_names(range(len(self.grouped_by))))

    def _check_groups(self) -> None:
        # Counted, not listed: there may be billions.
        if self.domain.cells(place_names(range(len(self.axes)))) > 1_000_000:
            raise InputError("a question has at most 1000000 groups: make larger ones")

    @property
    def cells(self) -> tuple[tuple[Value, ...], ...]:
        """Every possible combination of the classes that are grouped by."""
        self._check_groups()
        classes = [axis.classes for axis in self.grouped_by]
        return tuple(
            tuple(own[k] for own, k in zip(classes, place, strict=True))
            for place in self.cell_places()
        )

    @property
    def groups(self) -> tuple[Any, ...]:
        """The groups, and the class of everybody else where the answer needs one."""
        cells = self.cells
        one_axis = len(self.axes) == 1
        names: tuple[Any, ...] = self.axes[0].classes if one_axis else cells
        if not self.has_others:
            return names
        if OTHER in names:
            raise InputError(
                f"{self.axes[0].title!r} has the class {OTHER!r}, which is the name of the class "
                "of everybody else: rename it, or set other in the public facts if that is what "
                "it is"
            )
        return (*names, OTHER)

    @property
    def answered(self) -> int:
        """How many groups have a number of their own: everybody else has a count only."""
        return self.cell_count

    @property
    def covers_everybody(self) -> bool:
        """Whether every person is in one of the rows that are asked about.

        Of people who are in a table of their own, some may have no row in another one.
        """
        is_theirs = self.table.people is None and self.table.rows is None
        return is_theirs and self.where is None and self.part is None

    @property
    def has_others(self) -> bool:
        """Whether a class of everybody else is added: fixed numbers of people need one."""
        # A histogram with a fixed total needs a cell for everybody, whatever the conditions.
        covered = self.covers_everybody and all(
            axis.rest is not None for axis in self.row_axes
        )
        is_fixed = not self.row_neighbours.allows_absent
        return bool(self.axes) and is_fixed and not covered

    # -- queries --------------------------------------------------------------------------

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The queries that mechanisms must answer."""
        raise NotImplementedError

    @property
    def question(self) -> str:
        """The text of the query that this is, where it is one."""
        first, *more = self.draws
        if more:
            raise InputError(
                f"a {self.kind} is {' and '.join(draw.words for draw in self.draws)}, drawn "
                "together: ask for it with 'tightrope ask'"
            )
        return first.query

    @property
    def draw_shares(self) -> tuple[Fraction, ...]:
        """The part of ε that each draw gets."""
        draws = len(self.draws)
        return (Fraction(1, draws),) * draws

    @property
    def draw_widths(self) -> tuple[int, ...]:
        """How many steps one person can make in each draw."""
        return tuple(draw.width for draw in self.draws)

    def draw_deltas(self, levels: Sequence[Epsilon]) -> tuple[Fraction, ...]:
        """How many δ of one step all steps of one person cost together, in each draw.

        The levels are those of one step.
        """
        return tuple(map(Fraction, self.draw_widths))

    def count_draw(self) -> Draw:
        """Return the query of a count, of the whole table or by group."""
        people = self.table.needed_population()
        rows = self.rows_per_person
        if self.axes:
            text = f"histogram({people * rows},{len(self.groups)})"
            words = f"the {self.counted} by {axis_names(self.axes)}"
            return Draw(text, self.row_neighbours, width=rows, words=words)
        # Several rows for each person make a count a sum of values 0 to rows.
        text = f"count({people})" if rows == 1 else f"sum({people},{rows})"
        near = self.table.neighbours
        most = people * rows
        return Draw(text, near, most=most, step=rows, words=f"the {self.counted}")

    @property
    def counted(self) -> str:
        """What its counts are called."""
        return "count of people" if self.people else "count"

    @property
    def in_each_group(self) -> str:
        """Say behind what is drawn that every group has one; nothing of the whole table."""
        names = axis_names(self.grouped_by)
        return f" in each group of {names}" if names else ""

    @property
    def can_sharpen(self) -> bool:
        """Whether its numbers are drawn one by one, so that each can be sharpened later."""
        return False

    @property
    def draws_freely(self) -> bool:
        """Whether outputs are not held between the ends, so that the noise must have none."""
        return self.can_sharpen

    def drawn_as(self, draw: Draw) -> Draw:
        """Return a draw as it is made: where it can be sharpened, in steps of 1."""
        return draw.in_steps() if self.can_sharpen else draw

    def check_one_row(self) -> None:
        """Refuse several rows for each person where no query holds them."""
        if self.rows_per_person > 1:
            raise InputError(
                f"{self.kind} with {self.rows_per_person} rows for each person is no known query: "
                f"set tables.{self.table.name}.contributions to 1, or name the answer graph"
            )

    @property
    def bounds(self) -> tuple[int, int]:
        """The declared bounds of the column that is summed or ranked."""
        column = self.named_column
        if column.type not in ("integer", "number"):
            raise InputError(
                f"the {self.kind} of {column.name!r} is not known: it is of type "
                f"{column.type}, and only numbers are added up or ranked"
            )
        if column.value_range is None:
            raise InputError(
                f"the {self.kind} of {column.name!r} needs its bounds: add "
                f"tables.{self.table.name}.columns.{column.name}.bounds to the public facts, or "
                f"--column {column.name}:LOW..HIGH where there are none"
            )
        return column.value_range

    @property
    def value_of_missing(self) -> int | None:
        """What a missing value counts as; ``None`` where it is left out."""
        return None

    @property
    def step(self) -> Fraction:
        """What a sum, a mean or a quantile is counted in."""
        return Fraction(1) if self.column is None else self.column.step

    @property
    def named_column(self) -> Column:
        """The column that the question is about."""
        if self.column is None:
            raise InputError("a question without a column has no bounds")
        return self.column

    # -- how `ask` plans it ---------------------------------------------------------------

    def as_number(self) -> Tables | None:
        """Return the shape as one of several numbers of the same tables, if it is one."""
        return None

    def among(self, share: Fraction, numbers: int) -> Shape:
        """Return the shape with its share of ε, as part of so many numbers."""
        return self

    def as_asked(self) -> Shape:
        """Return the shape as ``ask`` draws it."""
        return self

    def as_job(self) -> Tables | None:
        """Return the shape as tables that may be planned with others, if it is a count."""
        return None

    def error_law(
        self, terms: Mapping[tuple[tuple[Any, ...], str], Fraction]
    ) -> ErrorLaw | None:
        """Return the exact law of the error of a linear form of numbers, if it is known.

        Terms are the coefficient of each number, which has the names of its line and a title.
        """
        return None

    def shown_lines(
        self, drawn: Shape, lines: Mapping[tuple[Any, ...], Any]
    ) -> Mapping[tuple[Any, ...], Any]:
        """Return the lines of what is drawn that this shape shows: all of its own."""
        return lines

    def job_numbers(self, answer: Any) -> JobNumbers | None:
        """Return the numbers of a job with the laws of their errors together, if it is one."""
        return None

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Shape:
        """Return the shape with what depends on its privacy level and its confidence."""
        return self

    def at_level(self, level: Epsilon) -> Shape:
        """Return a planned shape at another privacy level, drawn in the same way."""
        return self

    def ways(self) -> tuple[Shape, ...]:
        """Return the ways to draw the same numbers: the one with the least error is taken.

        Of several with the same error it is the first.
        """
        return (self,)

    def absorb(self, other: Shape) -> Shape | None:
        """Return this shape with the numbers of another one that its draws give too, if so."""
        return None

    def drawn_by(self, noise: Noise) -> Shape:
        """Return the shape as a given mechanism draws it: the way that it is for."""
        ways = self.ways()
        if len(ways) > 1:
            drawn = ((way, way.draws[0]) for way in ways)
            # The given mechanism decides: of several ways, the one whose query it answers.
            near = (w for w, d in drawn if noise.is_for(d.query, d.neighbours.value))
            return next(near, self)
        return self

    def with_delta(self, delta: Fraction) -> Shape:
        """Return the shape with its δ, where it needs one."""
        return self

    def keeping(self, error: Fraction) -> Shape:
        """Return the shape planned for an error that all of its numbers shall keep."""
        return self

    def for_largest(self) -> Shape | None:
        """Return the shape planned for its largest margin, if it has several tables."""
        return None

    def for_point(self) -> Shape | None:
        """Return the shape drawn without an interval, if that makes its value nearer."""
        return None

    # -- the compiled query ---------------------------------------------------------------

    def row_places(self) -> list[Any]:
        """Return which group a row is in, as SQL: its places on the axes."""
        return [axis.place() for axis in self.row_axes]

    def places(self) -> list[Any]:
        """Return what the database groups by; of people, the groups as they are numbered."""
        places = self.row_places()
        if self.people:
            return [quoted(group_column(k)) for k in range(len(places))]
        return places

    def row_values(self) -> list[Any]:
        """Return what of a row the answer depends on, as SQL: whole numbers, or text columns.

        Which rows of a person count is a random choice among rows that differ in this.
        """
        values = self.row_places()
        if self.uses_values and self.named_column.bounds is not None:
            values.append(clamped(self.named_column, self.bounds, exp.null()))
        return values

    def person_marks(self) -> list[Any]:
        """Return what the database computes of all rows of one person, as SQL, if anything."""
        return []

    def targets(self) -> list[Any]:
        """Return what the database computes for each group, as SQL."""
        return [exp.Count(this=exp.Star())]

    def person_conditions(self) -> list[Any]:
        """Return which rows of a person may count: those in a declared group, with a value."""
        outside = [axis for axis in self.row_axes if axis.rest is None]
        conditions: list[Any] = [axis.is_inside() for axis in outside]
        if self.needs_value:
            conditions.append(present(self.named_column.name))
        return conditions

    def people_count(self) -> Any:
        """Return how many people there are, as SQL: those whose first row is there.

        Of groups, people may have rows in several: there the rows count, not the people.
        """
        if self.table.person is None or self.rows_per_person == 1 or self.axes:
            return number_of(None)
        return FIRST_ROWS.copy()

    # -- answers and draws ----------------------------------------------------------------

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the true answers, as labels of the queries: for each draw one or one per group.

        What is drawn by score has the counts of all values for its answer.

        Parameters
        ----------
        rows
            What the compiled query returned: the place on each axis, and numbers.
        """
        raise NotImplementedError

    @cached_property
    def numbers_a_cell(self) -> int:
        """How many numbers the compiled query returns for each cell."""
        return len(self.targets())

    def answer(self, rows: Sequence[Sequence[Any]]) -> Hashable:
        """Return the true answer of a question that is one query."""
        ((answer, *_), *_) = self.answers(rows)
        return answer

    def cell_numbers(self, rows: Sequence[Sequence[Any]]) -> list[tuple[int, ...]]:
        """Return the numbers of every cell, zeros for one without rows."""
        deep = len(self.axes)
        there = {tuple(map(int, row[:deep])): row[deep:] for row in rows}
        places = self.domain.combinations(place_names(range(deep))).tolist()
        zeros = (0,) * self.numbers_a_cell
        # Groups without rows are answered too: leaving them out would reveal that they are empty.
        own = (there.get(tuple(place), zeros) for place in places)
        return [tuple(map(int, numbers)) for numbers in own]

    def cell_places(self) -> list[tuple[int, ...]]:
        """Return the place of each group on its axes."""
        names = place_names(range(len(self.grouped_by)))
        return list(map(tuple, self.domain.combinations(names).tolist()))

    def groups_answer(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return group sizes as an answer of ``histogram(n,c)``.

        Groups are filled in the declared order until the population is used up. With a fixed
        number of people, whoever is missing from the declared groups is put into the class of the
        others.
        """
        left = self.table.needed_population() * self.rows_per_person
        filled = []
        for size in sizes:
            # More people than declared must still give a declared answer: cut, never fail.
            filled.append(min(size, left))
            left -= filled[-1]
        if self.has_others:
            filled.append(left)
        elif not self.row_neighbours.allows_absent:
            # The cell of rows that no condition holds for.
            rest = [int(axis.rest or 0) for axis in self.row_axes]
            # Among all cells: conditions that are counted beside groups are axes too.
            places = self.domain.combinations(place_names(range(len(self.axes))))
            filled[places.tolist().index(rest)] += left
        return tuple(filled)

    def draw(self, noises: Sequence[Noise], rows: Sequence[Sequence[Any]]) -> Any:
        """Draw one output for each answer, as the ledger holds them.

        One answer of one draw is recorded as it is, answers of several groups or draws as a list
        for each draw.
        """
        drawn = []
        for noise, answers in zip(noises, self.answers(rows), strict=True):
            outputs = (
                noise.draw_cells(answers)
                if self.draws_freely
                else map(noise.draw, answers)
            )
            drawn.append([encode_label(self.output(output)) for output in outputs])
        # A single output stands by itself, so that receipts of simple questions stay readable.
        return drawn[0][0] if len(drawn) == len(drawn[0]) == 1 else drawn

    def output(self, drawn: Any) -> Any:
        """Return what is recorded of an output."""
        return drawn

    def groups_drawn(self, answer: Any) -> int:
        """How many groups a draw has shown, where that is not known before; else 1."""
        return 1

    # -- how draws become numbers ---------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """How outputs become the numbers of the answer."""
        names = self.cells
        if self.has_others:
            others = (self.groups[-1],) + ("",) * (len(self.axes) - 1)
            names = (*names, others)
        return Reading(self.kind, names, step=self.step)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the published numbers of each line of the answer, by its names."""
        raise NotImplementedError

    # -- error and notes ------------------------------------------------------------------

    @property
    def error_is_known(self) -> bool:
        """Whether the error of the numbers is known before the data is read."""
        return True

    @property
    def group_people(self) -> int:
        """The people in a group, if all groups are alike: what the error of a mean is for."""
        # Groups of equal size are the assumption behind stated errors of means.
        cells = max(self.cell_count, 1)
        return max(self.table.needed_population() // cells, 1)

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each number that is kept with the confidence; none if unknown."""
        if not self.error_is_known:
            return ()
        margins = noises[0].error(confidence)
        return tuple(x * self.step for x in margins)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say what error the numbers will have, by their titles."""
        if not self.error_is_known:
            return {", ".join(self.titles): self.nearness(noises, confidence)}
        share = f"({float(confidence) * 100:.4g} %)"
        errors = dict.fromkeys(self.errors(noises, confidence))
        said = " and ".join(f"± {bound_text(x)}" for x in errors)
        return {", ".join(self.titles): f"{said} {share}"}

    def nearness(self, noises: Sequence[Noise], confidence: Fraction) -> str:
        """Say how near an answer is whose error depends on the data."""
        return noises[0].note(confidence)

    @property
    def groups_text(self) -> str:
        """Say behind a title how many groups have a number."""
        return f" in {self.answered} groups" if self.grouped_by else ""

    @property
    def curves(self) -> tuple[str, ...]:
        """The titles whose numbers are drawn as a step curve."""
        return ()

    @property
    def plan_fields(self) -> dict[str, Any]:
        """What else the JSON of a plan says of the question."""
        return {}

    def published_tables(self, confidence: Fraction) -> tuple[PlannedTable, ...]:
        """Return the tables of a job with their margins of error; none of one question."""
        return ()

    @property
    def sensitivity(self) -> Fraction | None:
        """How much one person changes the numbers that the usual noise is added to, in all.

        In the L1 norm, and in the numbers' own unit; ``None`` where there is no such noise.
        """
        return None

    def usual_errors(self, spread: Fraction) -> tuple[Fraction, ...]:
        """Return for each title the error that usual noise of an error ``spread`` leads to."""
        return (spread,) * len(self.titles)

    def stand_in_reasons(self) -> list[str]:
        """Say why a proof about a draw is not one about the question that was asked."""
        return []

    def notes(self) -> list[str]:
        """Say which rows count, and what is added for whom."""
        return self._row_notes("rows")

    def _row_notes(self, what: str) -> list[str]:
        if self.table.person is None:
            return []
        return [
            f"Of each person, {what} that count: {self.rows_per_person} at most, chosen by a "
            "secret key of the ledger, whatever their values."
        ]


def axis_names(axes: Iterable[Axis]) -> str:
    """Return what is grouped by, in words."""
    return " × ".join(axis.title for axis in axes)


def place_names(places: Iterable[int]) -> tuple[str, ...]:
    """Return what the algebra of tables calls axes: by their places."""
    return tuple(map(str, places))


def group_column(place: int) -> str:
    """Return the name of the place on an axis, where people are numbered by group."""
    return f"tightrope_group_{place}"


def number_of(condition: Any) -> exp.Expression:
    """Return how many rows a condition holds for, as SQL."""
    if condition is None:
        return exp.Count(this=exp.Star())
    case = exp.case().when(condition.copy(), exp.convert(1))
    return exp.Count(this=case)


#: The number of people in numbered rows, as SQL: that of first rows.
FIRST_ROWS = number_of(quoted(ROW_NUMBER).eq(1))


def clamped(
    column: Column, bounds: tuple[int, int], missing: exp.Expr
) -> exp.Expression:
    """Return a column's value in steps, moved to the nearest bound, or what a missing one adds."""
    (low, high), cell = bounds, quoted(column.name)
    first = exp.convert(low)
    last = exp.convert(high)
    value = cell
    if column.type == "number":

        def double(number: Fraction) -> exp.Expression:
            return exp.cast(exp.convert(float(number)), "DOUBLE")

        # Between the bounds neither the product nor the cast can fail.
        first = double(low * column.step)
        last = double(high * column.step)
        steps = cell * double(1 / column.step)
        value = exp.cast(exp.Round(this=steps), "BIGINT")
    return (
        exp.case()
        .when(cell.is_(exp.null()), missing)
        .when(cell < first, exp.convert(low))
        .when(cell > last, exp.convert(high))
        .else_(value)
    )


def sum_answer(draw: Draw, total: int, present: int, people: int) -> int:
    r"""Return a count or a sum as an answer of its query.

    Under ``add-remove`` the answers above :math:`(u-1)v` need all u people, and no two of them
    are neighbours. A table of more than u people is therefore held to :math:`(u-1)v`.

    >>> tens = Draw("sum(10,5)", Neighbours.ADD_REMOVE, most=50)
    >>> sum_answer(tens, 48, 10, 10), sum_answer(tens, 48, 11, 10)
    (48, 45)
    """
    step = draw.most // people
    crowded = draw.neighbours is Neighbours.ADD_REMOVE and present > people and step > 1
    most = draw.most - step if crowded else draw.most
    # Clamping moves no two neighbouring sums further apart, so privacy is unaffected.
    return min(max(total - draw.offset, 0), most)


def estimates(
    reading: Reading, noises: Sequence[Noise | None], answer: Any, confidence: Any
) -> Lines:
    """Return the numbers of one released question, by the names of the groups.

    Parameters
    ----------
    reading, noises
        How outputs become numbers, and what they were drawn from; without it, one has no interval.
    answer
        What was released.
    confidence
        The level of the intervals.
    """
    drawn = Drawn(reading, noises, answer, level_of(confidence))
    return SHAPES[reading.kind].lines(drawn)


@lru_cache(maxsize=4096)
def number_estimates(
    noise: Noise | None, answer: Any, level: Fraction
) -> tuple[Estimate, ...]:
    """Return each number of an output with its interval."""
    if noise is None:
        values = answer if isinstance(answer, tuple) else (answer,)
        return tuple(map(Estimate, values))
    return noise.estimates(answer, level)


def scaled(estimate: Estimate, offset: int, scale: Fraction | int) -> Estimate:
    """Return an estimate after a number is added to it and it is multiplied."""
    if estimate.low is None or estimate.high is None:
        if not isinstance(estimate.value, int):
            return estimate
        shifted = (estimate.value + offset) * scale
        return Estimate(whole(shifted), note=estimate.note)
    ends = (estimate.value, estimate.low, estimate.high)
    value, low, high = (whole((x + offset) * scale) for x in ends)
    return Estimate(value, low, high)
