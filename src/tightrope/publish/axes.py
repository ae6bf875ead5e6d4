"""Groups: how a term of GROUP BY divides the rows into declared classes.

Groups may be nested: a county lies within a region where the facts say so, and a month within a
year, as both are functions of one date. Then the finer group of a row says the coarser one, so that
no row is in a pair of groups that cannot be, and the numbers of the finer groups add up to those
of the coarser ones. What a row itself says of its coarser group is not read: whatever the rows
are, each is in exactly one pair, which depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Table, Value
from tightrope.publish.sql_pieces import (
    ConditionReader,
    bare,
    one_of,
    shown_sql,
    title_of,
    unaliased,
)
from tightrope.publish.values import Known, declared_values, label, lookup
from tightrope.tables import Domain


@dataclass(frozen=True)
class Axis:
    """One way to divide the rows into classes.

    Attributes
    ----------
    title
        What is divided: a column, a partition or the name of an expression.
    classes
        The names of the classes.
    finder
        The place of the class that a row is in, or NULL, as SQL that no row can make fail.
    rest
        The place of the class of all other rows, or ``None`` where they are in none.
    column
        The column whose values are the classes, where nobody declared them.
    source, names
        The declared column that the classes are a function of, and the class of each of its
        declared values, in their order.
    """

    title: str
    classes: tuple[Value, ...]
    finder: exp.Expression
    rest: int | None = None
    column: Column | None = None
    source: Column | None = None
    names: tuple[Value | None, ...] = ()

    def __post_init__(self) -> None:
        if len(self.classes) > 2000:  # of each combination there is a number to publish
            raise InputError(
                f"a question has at most 2000 groups, {self.title!r} has {len(self.classes)}: "
                "make larger groups, such as CASE WHEN … THEN … END"
            )

    def with_others(self, name: str) -> Axis:
        """Return the axis with one more class, of the rows that are in none."""
        if self.rest is not None:
            return self
        return replace(self, classes=(*self.classes, name), rest=len(self.classes))

    def place(self) -> exp.Expression:
        """Return the place of a row's class, or -1, as SQL.

        The database groups by this number and not by the column, whose names it would show.
        """
        rest = exp.convert(-1 if self.rest is None else self.rest)
        return exp.Coalesce(this=self.finder.copy(), expressions=[rest])

    def is_inside(self) -> exp.Expression:
        """Return the condition that a row is in a class of its own."""
        return exp.Not(this=self.finder.copy().is_(exp.null()))


def nested_domain(axes: Sequence[Axis]) -> Domain:
    """Return the columns that axes are, by their places, nested where one says another.

    Each axis has at most one that lies within it: the one with the most classes. Any other one is
    crossed with it.

    >>> region = Column("region", "text", values=("north", "south"))
    >>> county = Column("county", "text", None, ("A", "B", "C"), within=region, parents=(0, 0, 1))
    >>> axes = [column_axis(x.name, x, Table("people")) for x in (county, region)]
    >>> nested_domain(axes).combinations(["1", "0"]).tolist()
    [[0, 0], [0, 1], [1, 2]]
    """
    sizes = [len(x.classes) for x in axes]
    return Domain.numbered(sizes, list(_nestings(axes)))


def _nestings(axes: Sequence[Axis]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield each axis that lies within another one, and the parents of its classes."""

    def fineness(place: int) -> tuple[int, str]:
        return len(axes[place].classes), axes[place].title

    # The finest first, and within the finest that is coarser: a town is within its county.
    finest_first = sorted(range(len(axes)), key=fineness, reverse=True)
    free = list(finest_first)
    for number, inner in enumerate(finest_first):
        for outer in finest_first[number + 1 :]:
            parents = _parents(axes[inner], axes[outer]) if outer in free else None
            if parents is not None:
                free.remove(outer)
                yield inner, outer, parents
                break


def _parents(inner: Axis, outer: Axis) -> tuple[int, ...] | None:
    """Return for each class of an axis the one of another axis that it lies in, if it does so."""
    column = inner.source
    places: Sequence[int] = range(len(inner.names))
    # From county to region, as far as the facts go.
    named = None if outer.source is None else outer.source.name
    while column is not None and column.name != named:
        if column.within is not None:
            places = [column.parents[place] for place in places]
        column = column.within
    if column is None:
        return None
    pairs = {
        (name, outer.names[place])
        for name, place in zip(inner.names, places, strict=True)
        if name is not None
    }
    above: dict[Value | None, Value | None] = dict(pairs)
    # Each class of the inner axis must lie in one class of the outer one, and leave none empty.
    if len(above) < len(pairs) or None in above.values():
        return None
    rest = None if outer.rest is None else outer.classes[outer.rest]
    parents = [above.get(name, rest) for name in inner.classes]
    if set(parents) != set(outer.classes):
        return None
    return tuple(outer.classes.index(name) for name in parents if name is not None)


def nested(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the axes as rows are read: one that others lie within by what the finest says.

    >>> region = Column("region", "text", values=("north", "south"))
    >>> county = Column("county", "text", None, ("A", "B", "C"), within=region, parents=(0, 0, 1))
    >>> axes = [column_axis(x.name, x, Table("people")) for x in (region, county)]
    >>> nested(axes)[0].finder.sql()
    'CASE WHEN "county" IS NULL THEN NULL WHEN ...
    """
    read = list(axes)
    for chain in nested_domain(axes).axes:
        *coarser, last = map(int, chain.names)
        finest = axes[last]
        for level, place in enumerate(coarser, 1):
            owners = chain.ancestors(chain.depth, level).tolist()
            read[place] = _said_by(finest, axes[place], owners)
    return tuple(read)


def _said_by(finest: Axis, outer: Axis, owners: Sequence[int]) -> Axis:
    """Return an axis whose class is the owner of a row's class on the finest one."""
    column = finest.source
    assert column is not None  # only functions of a column are nested
    places = {name: owners[place] for place, name in enumerate(finest.classes)}
    values = declared_values(column, Table(""), "")
    numbers = [None if name is None else places[name] for name in finest.names]
    pairs = zip(values, numbers, strict=True)
    return replace(
        outer,
        finder=lookup(column, pairs),
        rest=None if finest.rest is None else owners[finest.rest],
        source=column,
    )


def first_that_holds(conditions: Sequence[exp.Expression]) -> exp.Expression:
    """Return the place of the first condition that holds for a row, or NULL, as SQL.

    >>> import sqlglot
    >>> first_that_holds([sqlglot.parse_one("a > 1"), sqlglot.parse_one("b")]).sql()
    'CASE WHEN a > 1 THEN 0 WHEN b THEN 1 END'
    """
    place = exp.case()
    for number, condition in enumerate(conditions):
        place = place.when(condition.copy(), exp.convert(number), copy=False)
    return place if conditions else exp.null()


def needs_values(column: Column, table: Table) -> str:
    """Say what grouping by a column lacks."""
    place = f"tables.{table.name}.columns.{column.name}"
    return (
        f"grouping by {column.name!r} needs its possible values: add {place}.values (or "
        f"{place}.bounds, if they are whole numbers) to the public facts, or --column "
        f"{column.name}:A,B,… where there are none"
    )


def read_axis(node: Any, reader: ConditionReader) -> Axis:
    """Understand one term of GROUP BY: a column, a partition, CASE, or a function of one column.

    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer", bounds=(18, 42))})
    >>> bins = read_axis(sqlglot.parse_one("floor(age/10)*10"), ConditionReader(people, set()))
    >>> bins.classes, bins.finder.sql()
    ((10, 20, 30, 40), 'CASE WHEN "age" IS NULL THEN NULL WHEN "age" <= 19 THEN 0 WHEN "age" <= ...
    """
    title = title_of(node)
    node = unaliased(node)
    if isinstance(node, exp.If):
        node = exp.Case(ifs=[node], default=node.args.get("false"))
    if isinstance(node, exp.Case) and _names_bins(node, reader.table):
        return _case_axis(title, node, reader)
    if isinstance(node, exp.Column):
        table = reader.table
        if table.find(node.name) is None and node.name in table.partitions:
            partition = table.partitions[node.name]
            column = reader.column(exp.column(partition.column, quoted=True))
            conditions = tuple(
                one_of(column.name, part) for part in partition.parts.values()
            )
            return Axis(title, tuple(partition.parts), first_that_holds(conditions))
        column = reader.column(node)
        reader.clip(column)
        return column_axis(title, column, table)
    column = reader.one_column(node)
    reader.clip(column)
    return _tabulated(title, column, reader.table, lambda value: reader.at(node, value))


def column_axis(title: str, column: Column, table: Table) -> Axis:
    """Return the groups by the values of a column.

    >>> column_axis("sex", Column("sex", "text", values=("f", "m")), Table("people")).classes
    ('f', 'm')
    """
    is_open = column.values is None and column.bounds is None
    if is_open and column.type in ("text", "integer"):
        return Axis(title, (), exp.null(), column=column)
    return _tabulated(title, column, table, lambda value: value)


def _names_bins(node: exp.Case, table: Table) -> bool:
    """Whether each branch of a CASE is a constant: then its conditions may be about any columns.

    A CASE of values that are declared, without ELSE, is a function of them: it is looked up.
    """
    subject = bare(node.this)
    column = table.find(subject.name) if isinstance(subject, exp.Column) else None
    if column is not None and column.values is not None and "default" not in node.args:
        return False
    results = [branch.args.get("true") for branch in node.args["ifs"]]
    default = node.args.get("default") or exp.null()
    nodes = (bare(x) for x in (*results, default))
    return all(isinstance(x, exp.Literal | exp.Null) for x in nodes)


def _case_axis(title: str, node: Any, reader: ConditionReader) -> Axis:
    def name(result: Any) -> Value:
        literal = bare(result)
        if not isinstance(literal, exp.Literal):
            raise InputError(
                f"a bin is named by a constant: THEN 'young'; got {shown_sql(result)}"
            )
        return (
            str(literal.this)
            if literal.is_string or not literal.is_int
            else int(literal.this)
        )

    conditions: dict[Value, Any] = {}
    for branch in node.args.get("ifs") or []:
        test = (
            branch.this
            if node.this is None
            else exp.EQ(this=node.this, expression=branch.this)
        )
        label = name(branch.args.get("true"))
        if label in conditions:
            raise InputError(
                f"the bin {label!r} has two WHEN: write them as one, with OR"
            )
        conditions[label] = reader.read(test)
    default = node.args.get("default")
    rest = None
    if default is not None and not isinstance(default, exp.Null):
        conditions.setdefault(name(default), exp.false())
        rest = list(conditions).index(name(default))
    finder = first_that_holds(list(conditions.values()))
    return Axis(title, tuple(conditions), finder, rest)


def _tabulated(
    title: str, column: Column, table: Table, function: Callable[[Known], Known]
) -> Axis:
    """Return the groups that a function of a declared column makes.

    The function is applied here, to every declared value: no arithmetic is run on rows.
    """
    if column.type == "number" and column.values is None:
        raise InputError(
            f"column {column.name!r} (number) is grouped by in bins: CASE WHEN {column.name} < … "
            "THEN '…' ELSE '…' END"
        )
    values = declared_values(column, table, f"grouping by {title!r}")
    names = [label(function(value)) for value in values]
    # What the function is of a missing value, such as 'unknown' for coalesce(town, 'unknown').
    missing = label(function(None))
    listed = (name for name in [*names, missing] if name is not None)
    known = dict.fromkeys(listed)
    # Of a range the classes are in their own order: a week that begins on a Friday is none.
    is_plain = len({type(name) for name in known}) == 1
    in_order = column.bounds is not None and is_plain
    classes: list[Any] = sorted(known) if in_order else list(known)
    places = {name: place for place, name in enumerate(classes)}
    pairs = zip(values, map(places.get, names), strict=True)
    finder = lookup(column, pairs, places.get(missing))
    rest = None
    if column.other is not None:
        other = names[(column.values or ()).index(column.other)]
        rest = None if other is None else places[other]
    elif column.complete and None not in names:
        rest = 0
    # Nested columns say of declared values where they lie, and nothing of missing ones.
    source = column if missing is None else None
    return Axis(title, tuple(classes), finder, rest, source=source, names=tuple(names))
