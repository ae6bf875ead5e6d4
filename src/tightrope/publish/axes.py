"""Groups: how a term of GROUP BY divides the rows into declared classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """

    title: str
    classes: tuple[Value, ...]
    finder: exp.Expression
    rest: int | None = None
    column: Column | None = None

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
    return all(isinstance(bare(x), exp.Literal | exp.Null) for x in (*results, default))


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
    known = dict.fromkeys(name for name in names if name is not None)
    # Of a range the classes are in their own order: a week that begins on a Friday is none.
    is_plain = len({type(name) for name in known}) == 1
    in_order = column.bounds is not None and is_plain
    classes: list[Any] = sorted(known) if in_order else list(known)
    places = {name: place for place, name in enumerate(classes)}
    finder = lookup(column, zip(values, map(places.get, names), strict=True))
    rest = None
    if column.other is not None:
        other = names[(column.values or ()).index(column.other)]
        rest = None if other is None else places[other]
    elif column.complete and None not in names:
        rest = 0
    return Axis(title, tuple(classes), finder, rest)
