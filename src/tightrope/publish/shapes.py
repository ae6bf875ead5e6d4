r"""What a question asks, the queries that it is, and the answers that a database's numbers are.

============================================================  ==================
SQL                                                           query
============================================================  ==================
``SELECT COUNT(*) FROM t [WHERE …]``                          ``count(n)``
``SELECT COUNT(DISTINCT person) FROM t [WHERE …]``            ``count(n)``
``SELECT SUM(c) FROM t [WHERE …]``                            ``sum(n,v)``
``SELECT AVG(c) FROM t [WHERE …]``                            ``sum(n,v)``, and ``count(n)``
``SELECT g, COUNT(*) FROM t [WHERE …] GROUP BY g``            ``histogram(n,c)``
``SELECT g, SUM(c) FROM t [WHERE …] GROUP BY g``              ``sum(n,v)`` for each group
``SELECT COUNT(*) FILTER (WHERE …), … FROM t``                ``counts(n,k)``
``SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1``  ``choice(c)``
``SELECT COUNT(*) % m FROM t [WHERE …]``                      ``count_mod(n,m)``
``SELECT g, COUNT(*) … GROUP BY g``, values of g not declared  ``count(n)`` twice, with δ
============================================================  ==================

By a mechanism by scores, which sees the counts of all values and not one answer:

============================================================  ======================
``SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1``  ``commonest(c)``
``SELECT [h,] MODE(g) FROM t [WHERE …] [GROUP BY h]``         ``commonest(c)``, for each group
``SELECT MEDIAN(c) FROM t [WHERE …]``                         ``quantile(1/2,v)``
``SELECT PERCENTILE_DISC(.9) WITHIN GROUP (ORDER BY c) …``    ``quantile(9/10,v)``
``SELECT MIN(c)``, ``MAX(c)``                                 ``quantile(1/100,v)``, …
============================================================  ======================

Groups are the values of a column, bins written in SQL, or the parts of a partition; of several
columns, every combination. With a ``contributions`` rule of k > 1 rows for each person, a count
is ``sum(n,k)`` and a sum is ``sum(n,kv)``; by group each row is a step, ``histogram(nk,c)``, and
k of them are paid for.

The mechanism knows the declared answers and no others. A table that holds more people than
declared, or values outside the declared ones, must still lead to a declared answer, because an
error that depends on the data says something about the people in it. So :func:`answers_of` is a
total function, and (but for the two cases below) it moves no pair of neighbouring tables further
apart than one step in the answer graph: privacy then holds for every table, declared facts true
or false.

The exceptions are several counts and groups under ``add-remove`` when the table holds *more*
people than declared. There a step may become two, so such a table gets :math:`2\varepsilon`; for
three groups no rule could do better.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Partition, Table, Value
from tightrope.queries import Neighbours

if TYPE_CHECKING:
    from sqlglot import exp

#: The name of the class that holds whoever is in no declared one.
OTHER = "(other)"


class Kind(StrEnum):
    """What a question asks of the rows."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    COUNTS = "counts"
    MOST = "most"
    MODULO = "modulo"
    QUANTILE = "quantile"
    FOUND = "groups that nobody declared"
    DECLARED = "declared"


@dataclass(frozen=True)
class Axis:
    """One way to divide the rows into classes.

    Attributes
    ----------
    title
        What is divided: a column, a partition or the name of an expression.
    classes
        The names of the classes.
    conditions
        When a row is in each of them; the first that holds counts.
    rest
        The place of the class of all other rows, or ``None`` where they are in none.
    column
        The column whose values are the classes, where nobody declared them.
    """

    title: str
    classes: tuple[Value, ...]
    conditions: tuple[exp.Expression, ...]
    rest: int | None = None
    column: Column | None = None

    def __post_init__(self) -> None:
        if len(self.classes) > 2000:  # each is a comparison for every row
            raise InputError(
                f"a question has at most 2000 groups, {self.title!r} has {len(self.classes)}: "
                "make larger groups, such as CASE WHEN … THEN … END"
            )


@dataclass(frozen=True)
class Draw:
    """One query that a mechanism answers, for the whole table or for each of its groups.

    Attributes
    ----------
    query, neighbours
        The query and its neighbour relation.
    times
        The number of disjoint groups that each get an answer of their own.
    width
        The number of steps that one person can make in these groups together.
    offset, most
        For sums: what is added to an answer to make it a number of the table's, and the largest
        answer.
    by_score
        Whether the mechanism sees the counts of all values, not one answer.
    """

    query: str
    neighbours: Neighbours
    times: int = 1
    width: int = 1
    offset: int = 0
    most: int = 0
    by_score: bool = False


@dataclass(frozen=True)
class Reading:
    """How outputs become the numbers of an answer.

    It stands in the ledger and in receipts: whoever has one reads the answer without the facts.

    Attributes
    ----------
    kind
        What was asked, a :class:`Kind`.
    names
        The names of the lines; one without a name where nothing is grouped.
    values
        Of a commonest value: what an output is the place of.
    step
        What sums, means and quantiles are counted in.
    offset, centre, people, bounds, is_fixed, shows
        Of sums and means, as in :class:`Draw` and :class:`Shape`.
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
    shows: tuple[str, ...] = (Kind.MEAN.value,)


@dataclass(frozen=True)
class Shape:
    """A question about one table, as understood; nothing of the user's text is left in it.

    Attributes
    ----------
    kind
        What is asked.
    table
        The table and its public facts.
    where
        The condition on rows, or ``None``.
    column
        The column that is summed or ranked, or that a declared question is about.
    axes
        What the rows are grouped by.
    conditions
        One condition for each of several counts (``None`` for all rows).
    modulus
        The modulus.
    rank
        Which quantile.
    by_score
        Whether the commonest group is found by its score; else by the true answer alone.
    people
        Whether distinct people are counted, not rows.
    used
        The columns that the question reads.
    expression
        What a declared question computes.
    part
        The partition and the part that the question is confined to.
    keys, titles
        What the rows of the answer are named by, and what its numbers are called.
    shows
        For a mean whose draws also give a sum or a count: what is shown under each title.
    delta
        For groups that nobody declared: the δ of all of them together.
    order, limit
        By which titles the lines of the answer are sorted when it is shown (and whether falling),
        and how many are shown: what is done to published numbers costs nothing.
    ends
        For a quantile of which both ends of an interval are drawn: the rows that are added at
        the lowest value for the lower one, and at the highest for the upper one.

    Examples
    --------
    >>> Shape(Kind.COUNT, Table("people", 100)).question
    'count(100)'
    >>> Shape(Kind.COUNT, Table("visits", 100, person="id", contributions=3)).question
    'sum(100,3)'
    >>> age = Column("age", "integer", bounds=(20, 80))
    >>> Shape(Kind.SUM, Table("people", 100), column=age).question
    'sum(100,60)'
    """

    kind: Kind
    table: Table
    where: exp.Expression | None = None
    column: Column | None = None
    axes: tuple[Axis, ...] = ()
    conditions: tuple[exp.Expression | None, ...] = ()
    modulus: int | None = None
    rank: Fraction = Fraction(1, 2)
    by_score: bool = False
    people: bool = False
    used: tuple[str, ...] = ()
    expression: exp.Expression | None = None
    part: tuple[Partition, str] | None = None
    keys: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    shows: tuple[Kind, ...] = (Kind.MEAN,)
    delta: Fraction = Fraction(0)
    ends: tuple[int, int] | None = None
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None

    @property
    def rows_per_person(self) -> int:
        """How many rows of one person count; of people by group, in how many groups."""
        return 1 if self.people and not self.axes else self.table.contributions

    @property
    def _by_row(self) -> tuple[int, Neighbours]:
        """How many rows one person has where each is a step of its own, and their relation.

        Rows of one person may be in several groups, so no step of a group holds all of them.
        """
        rows, near = self.rows_per_person, self.table.neighbours
        return rows, Neighbours.EITHER if rows > 1 and near.allows_change else near

    @property
    def columns(self) -> list[Column]:
        """The declared columns that are read."""
        own = {} if self.column is None else {self.column.name: self.column}
        part = () if self.part is None else (self.part[0].column,)
        known = {**self.table.columns, **own}
        return [known[name] for name in sorted({*self.used, *own, *part})]

    @property
    def grouped_by(self) -> tuple[Axis, ...]:
        """The axes of the groups; the last one of a commonest value is that of the values."""
        return self.axes[:-1] if self.kind is Kind.MOST else self.axes

    # -- groups ---------------------------------------------------------------------------

    @property
    def cells(self) -> tuple[tuple[Value, ...], ...]:
        """Every combination of the classes that are grouped by."""
        if math.prod(len(axis.classes) for axis in self.axes) > 1_000_000:
            raise InputError("a question has at most 1000000 groups: make larger ones")
        return tuple(itertools.product(*(axis.classes for axis in self.grouped_by)))

    @property
    def groups(self) -> tuple[Any, ...]:
        """The groups, and the class of everybody else where the answer needs one.

        Of a commonest value, the values.
        """
        if self.kind is Kind.MOST:
            return self.axes[-1].classes
        names: tuple[Any, ...] = self.cells if len(self.axes) != 1 else self.axes[0].classes
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
        is_count = self.axes and Kind.COUNT in (self.kind, *self.shows)
        return len(self.groups if is_count else self.cells)

    @property
    def has_others(self) -> bool:
        """Whether a class of everybody else is added: fixed numbers of people need one."""
        are_all = self.where is None and self.part is None
        if self.kind is Kind.MEAN and self.column is not None:  # its count is of those with a value
            are_all = are_all and self.column.complete
        covered = are_all and all(axis.rest is not None for axis in self.axes)
        return bool(self.axes) and not self._by_row[1].allows_absent and not covered

    # -- sums -----------------------------------------------------------------------------

    @property
    def is_fixed(self) -> bool:
        """Whether exactly the declared people add to a sum, each a value within the bounds."""
        chosen = self.where is not None or self.part is not None or self.axes
        return self.table.neighbours is Neighbours.CHANGE_ONE and not (chosen or self.table.person)

    @property
    def is_divided(self) -> bool:
        """Whether a mean needs a count: who has a value is not known without the data."""
        return self.kind is Kind.MEAN and not (self.is_fixed and self._named().complete)

    @property
    def centre(self) -> int:
        """What a mean takes from each value, so that one person moves its sum less.

        Where the sum over exactly the declared people is shown too, that is what a missing value
        adds: then the sum needs no count.
        """
        if self.is_divided and self.is_fixed and Kind.SUM in self.shows:
            return self.missing
        return sum(self.bounds) // 2 if self.is_divided else 0

    @property
    def missing(self) -> int:
        """What a missing value adds to a sum over exactly the declared people."""
        low, high = self.bounds
        return min(max(0, low), high)

    @property
    def shares(self) -> tuple[int, int]:
        """The least and the most that one person can add to a sum."""
        low, high = (bound - self.centre for bound in self.bounds)
        if self.is_fixed and not self.is_divided:
            return low, high
        rows = 1 if self.axes else self.rows_per_person
        return rows * min(low, 0), rows * max(high, 0)

    def _count(self) -> Draw:
        people, rows = self.table.needed_population(), self.rows_per_person
        if self.axes:
            text = f"histogram({people * rows},{len(self.groups)})"
            return Draw(text, self._by_row[1], width=rows)
        text = f"count({people})" if rows == 1 else f"sum({people},{rows})"
        return Draw(text, self.table.neighbours, most=people * rows)

    def _sum(self) -> Draw:
        people, near = self.table.needed_population(), self.table.neighbours
        low, high = self.shares
        times, width = (len(self.cells), self.rows_per_person) if self.axes else (1, 1)
        people *= width
        in_groups = bool(self.axes) and near.allows_change
        if in_groups:
            # One person may leave one group and enter another, a step in each; or change within
            # one, which is as much as to leave and to come: two steps there.
            near, width = Neighbours.EITHER, 2 * width
        if (near.allows_change and not in_groups) or not low:
            slots, offset, step = people, low * people, max(high - low, 1)
        else:  # somebody comes or goes, with a value on either side of 0
            step = max(high, -low)
            slots, offset, near = 2 * people, -step * people, Neighbours.EITHER
        return Draw(f"sum({slots},{step})", near, times, width, offset, slots * step)

    def _by_score(self) -> Draw:
        near, rows = self.table.neighbours, self.rows_per_person
        each = "" if rows == 1 or self.grouped_by else f",{rows}"
        if self.kind is Kind.MOST:
            text = f"commonest({len(self.groups)}{each})"
        else:
            (low, high), rank = self.bounds, self.rank
            values, groups = high - low + 1, len(self.cells)
            if values > 1 << 20 or values * groups > 1 << 25:  # all of them are counted
                raise InputError(
                    f"a quantile has at most {1 << 20} possible values, and {1 << 25} in all "
                    f"groups; {self._named().name!r} has {values} in {groups}: declare it with a "
                    "larger step"
                )
            text = f"quantile({rank.numerator}/{rank.denominator},{values}{each})"
        if not self.grouped_by:
            return Draw(text, near, by_score=True)
        # As in a sum: one person may leave one group and enter another.
        both = near.allows_change
        near = Neighbours.EITHER if both else near
        return Draw(text, near, len(self.cells), (1 + both) * rows, by_score=True)

    # -- queries --------------------------------------------------------------------------

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The queries that mechanisms must answer."""
        if self.kind is Kind.DECLARED:
            raise InputError("the answer graph of this SQL must be named: it is no known shape")
        near = self.table.neighbours
        if self.kind is Kind.MOST and not (self.by_score or self.grouped_by):
            return (Draw(f"choice({len(self.groups)})", near),)
        if self.kind in (Kind.MOST, Kind.QUANTILE):
            return (self._by_score(),) * (1 if self.ends is None else 2)
        people, (rows, each) = self.table.needed_population(), self._by_row
        if rows > 1 and self.kind in (Kind.MODULO, Kind.FOUND):
            raise InputError(
                f"{self.kind.value} with {rows} rows for each person is no known query: set "
                f"tables.{self.table.name}.contributions to 1, or name the answer graph"
            )
        if self.kind is Kind.COUNT:
            return (self._count(),)
        if self.kind is Kind.FOUND:
            # Keep or drop, then a count; in each of its groups a person comes or goes.
            come = Draw(f"count({people})", Neighbours.ADD_REMOVE, width=1 + near.allows_change)
            return come, come
        if self.kind is Kind.COUNTS:
            return (Draw(f"counts({people * rows},{len(self.conditions)})", each, width=rows),)
        if self.kind is Kind.MODULO:
            return (Draw(f"count_mod({people},{self.modulus})", near),)
        return (self._sum(), self._count()) if self.is_divided else (self._sum(),)

    @property
    def question(self) -> str:
        """The text of the query that this is, where it is one."""
        first, *more = self.draws
        if self.kind is Kind.FOUND:
            raise InputError(
                needs_values(self._named(), self.table) + "; or let 'tightrope ask … --delta D' "
                "find the groups"
            )
        if more:
            raise InputError(
                f"a {self.kind.value} is {' and '.join(d.query for d in self.draws)}, drawn "
                "together: ask for it with 'tightrope ask'"
            )
        return first.query

    @property
    def bounds(self) -> tuple[int, int]:
        """The declared bounds of the column that is summed or ranked."""
        column = self._named()
        if column.type not in ("integer", "number"):
            raise InputError(
                f"the {self.kind.value} of {column.name!r} is not known: it is of type "
                f"{column.type}, and only numbers are added up or ranked"
            )
        if column.bounds is None:
            raise InputError(
                f"the {self.kind.value} of {column.name!r} needs its bounds: add "
                f"tables.{self.table.name}.columns.{column.name}.bounds to the public facts, or "
                f"--column {column.name}:LOW..HIGH where there are none"
            )
        return column.bounds

    @property
    def step(self) -> Fraction:
        """What a sum, a mean or a quantile is counted in."""
        return Fraction(1) if self.column is None else self.column.step

    @property
    def reading(self) -> Reading:
        """How outputs become the numbers of the answer."""
        if self.kind is Kind.MOST:
            return Reading(self.kind.value, self.cells, self.groups)
        others = (self.groups[-1],) + ("",) * (len(self.axes) - 1) if self.has_others else None
        names = self.cells if others is None else (*self.cells, others)
        if self.kind not in (Kind.SUM, Kind.MEAN):
            return Reading(self.kind.value, names, step=self.step)
        return Reading(
            self.kind.value, names, (), self.step, self.draws[0].offset, self.centre,
            self.table.needed_population(), self.bounds, self.is_fixed,
            tuple(kind.value for kind in self.shows),
        )  # fmt: skip

    def _named(self) -> Column:
        if self.column is None:
            raise InputError("a question without a column has no bounds")
        return self.column


def needs_values(column: Column, table: Table) -> str:
    """Say what grouping by a column lacks."""
    place = f"tables.{table.name}.columns.{column.name}"
    return (
        f"grouping by {column.name!r} needs its possible values: add {place}.values (or "
        f"{place}.bounds, if they are whole numbers) to the public facts, or --column "
        f"{column.name}:A,B,… where there are none"
    )


def found_groups(rows: Sequence[Sequence[Any]]) -> dict[Value, int]:
    r"""Return the groups that rows of a name and a number are, in the order of their names.

    A missing name, and a text that is not UTF-8, not printable or longer than 200 characters, is
    no group: that depends on the name alone.

    >>> found_groups([(b"y", 3), (None, 9), ("x", 1), (b"\xff", 2), ("z\a", 5)])
    {'x': 1, 'y': 3}
    """
    groups: dict[Value, int] = {}
    for name, number in rows:
        with contextlib.suppress(UnicodeDecodeError):
            told = bytes(name).decode() if isinstance(name, bytes | bytearray) else name
            if isinstance(told, int) or (told and told.isprintable() and len(told) <= 200):
                groups[told] = int(number)
    return dict(sorted(groups.items()))


def answer_of(shape: Shape, rows: Sequence[Sequence[Any]]) -> Hashable:
    """Return the true answer of a question that is one query, as the query's label.

    >>> crowd = Shape(Kind.COUNT, Table("people", 100))
    >>> answer_of(crowd, [(42, 42)]), answer_of(crowd, [(4200, 4200)])
    (42, 100)
    """
    ((answer, *_), *_) = answers_of(shape, rows)
    return answer


def answers_of(shape: Shape, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
    """Return the true answers, as labels of the queries: for each draw one or one per group.

    What is drawn by score has the counts of all values for its answer.

    Parameters
    ----------
    shape
        The question.
    rows
        What its SQL returned: the place on each axis, and numbers.

    Examples
    --------
    >>> score = Column("score", "integer", bounds=(0, 5))
    >>> mean = Shape(Kind.MEAN, Table("people", 10, Neighbours.EITHER), column=score)
    >>> answers_of(mean, [(31, 9, 9)])
    [[33], [9]]
    """
    if shape.kind is Kind.COUNTS:
        people = shape.table.needed_population() * shape.rows_per_person
        return [[tuple(min(int(number), people) for number in rows[0])]]
    if shape.draws[0].by_score:
        return _counts_by_value(shape, rows)
    deep = len(shape.axes)
    found = {tuple(map(int, row[:deep])): row[deep:] for row in rows}
    places = itertools.product(*(range(len(axis.classes)) for axis in shape.axes))
    numbers = [tuple(map(int, found.get(place, (0, 0, 0)))) for place in places]
    sizes = [size for size, *_ in numbers]
    if shape.kind is Kind.MOST:
        return [[sizes.index(max(sizes))]]
    if shape.kind is Kind.COUNT and shape.axes:
        return [[_groups_answer(shape, sizes)]]
    people = shape.table.needed_population()
    if shape.kind is Kind.MODULO:
        return [[min(sizes[0], people) % int(shape.modulus or 1)]]
    draw, *more = shape.draws
    if shape.kind is Kind.COUNT:
        return [[sum_answer(draw, sizes[0], numbers[0][-1], people)]]
    rows_each = shape.rows_per_person if shape.axes else 1
    sums: list[Hashable] = [
        sum_answer(
            draw, total - shape.centre * present, present if rows_each > 1 else own,
            people * rows_each,
        )
        for total, present, own in numbers
    ]  # fmt: skip
    if not more:
        return [sums]
    _, present, own = zip(*numbers, strict=True)
    if shape.axes:
        return [sums, [_groups_answer(shape, present)]]
    return [sums, [sum_answer(more[0], present[0], own[0], people)]]


def _counts_by_value(shape: Shape, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
    """Return for each draw and group how many rows have each value within the bounds."""
    low, high = (0, len(shape.groups) - 1) if shape.kind is Kind.MOST else shape.bounds
    places = itertools.product(*(range(len(axis.classes)) for axis in shape.grouped_by))
    counts = {place: [0] * (high - low + 1) for place in places}
    for *place, value, number in rows:
        mine = counts.get(tuple(map(int, place)))
        if mine is not None and value is not None and low <= int(value) <= high:
            mine[int(value) - low] += int(number)
    if shape.ends is None:
        return [[tuple(mine) for mine in counts.values()]]
    below, above = shape.ends
    return [
        [(mine[0] + below, *mine[1:]) for mine in counts.values()],
        [(*mine[:-1], mine[-1] + above) for mine in counts.values()],
    ]


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
    return min(max(total - draw.offset, 0), most)


def _groups_answer(shape: Shape, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return group sizes as an answer of ``histogram(n,c)``.

    Groups are filled in the declared order until the population is used up. With a fixed number
    of people, whoever is missing from the declared groups is put into the class of the others.
    """
    left = shape.table.needed_population() * shape.rows_per_person
    filled = []
    for size in sizes:
        filled.append(min(size, left))
        left -= filled[-1]
    if shape.has_others:
        filled.append(left)
    elif not shape._by_row[1].allows_absent:
        place = 0
        for axis in shape.axes:  # the cell of rows that no condition holds for
            place = place * len(axis.classes) + int(axis.rest or 0)
        filled[place] += left
    return tuple(filled)


def mapped_text(value: Any) -> str:
    """Return the text by which a declared question's result is looked up.

    >>> mapped_text(3.0), mapped_text(Decimal("0.5")), mapped_text(float("nan"))
    ('3', '0.5', 'nan')
    """
    if isinstance(value, float | Decimal) and Decimal(value).is_finite() and value == int(value):
        value = int(value)
    return str(value)


def read_label(value: Any) -> Hashable:
    """Return the answer that JSON says, as :func:`~tightrope.certify.make.encode_label` wrote it.

    >>> read_label([3, {"fraction": "1/2"}, "north"])
    (3, Fraction(1, 2), 'north')
    """
    if isinstance(value, list):
        return tuple(read_label(part) for part in value)
    if isinstance(value, dict):
        try:
            if set(value) == {"fraction"}:
                return Fraction(value["fraction"])
            if set(value) == {"float"}:
                return float.fromhex(value["float"])
        except (ValueError, TypeError, ArithmeticError):
            pass
        raise InputError(
            f"an answer is a number, a text or a list of them, got the object {value!r:.60}"
        )
    return value  # type: ignore[no-any-return]
