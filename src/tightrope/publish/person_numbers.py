"""One number a person: aggregates within the rows of each person, and their bounds."""

from __future__ import annotations

import dataclasses
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column
from tightrope.publish.sql_pieces import (
    ConditionReader,
    is_count_all,
    present,
    quoted,
    shown_sql,
    unaliased,
    whole_literal,
)

_KNOWN = (
    "within a person, COUNT, SUM of whole numbers, MIN, MAX, BOOL_OR and BOOL_AND are known, "
    "also with FILTER, less a constant, and LEAST or GREATEST with a constant around them"
)


def number_of_person(
    node: Any, name: str, reader: ConditionReader
) -> tuple[Any, Column]:
    """Return an aggregate of one person's rows as SQL, and what is public about it.

    All rows of the person count, each value moved to its bounds. The bounds of the number follow
    from those of the column and from ``contributions``; LEAST and GREATEST narrow or widen them.
    What lies beyond them is moved to them when the number is added up, ranked or put into bins.

    Examples
    --------
    >>> import sqlglot
    >>> from tightrope.publish.facts import Table
    >>> cost = Column("cost", "integer", bounds=(0, 500))
    >>> visits = Table("visits", 9, columns={"cost": cost}, person="who", contributions=3)
    >>> reader = ConditionReader(visits, {"visits"})
    >>> number_of_person(sqlglot.parse_one("least(sum(cost), 800)"), "spent", reader)[1].bounds
    (0, 800)
    """
    # Each result depends on one person's rows, so any such function keeps the unit of privacy.
    node = unaliased(node)
    if isinstance(node, exp.Least | exp.Greatest):
        return _limited(node, name, reader)
    if isinstance(node, exp.Sub):
        return _lessened(node, name, reader)
    condition: Any = None
    if isinstance(node, exp.Filter):
        condition = reader.read(node.expression.this)
        node = node.this
    most = reader.table.contributions

    def among(value: Any) -> Any:
        """Return a value where the condition holds, and nothing elsewhere."""
        if condition is None:
            return value
        return exp.case().when(condition.copy(), value)

    match node:
        case count if is_count_all(count):
            rows = exp.Count(
                this=exp.Star() if condition is None else among(exp.convert(1))
            )
            # A person without rows has no group: without a condition the count is at least 1.
            return rows, Column(name, "integer", (int(condition is None), most))
        case exp.Count(this=exp.Distinct(expressions=[inner])):
            column = reader.column(inner)
            values = exp.Distinct(expressions=[among(quoted(column.name))])
            return exp.Count(this=values), Column(name, "integer", (0, most))
        case exp.Count(this=exp.Column() as inner, expressions=[]):
            column = reader.column(inner)
            value = exp.case().when(present(column.name), exp.convert(1))
            counted = Column(name, "integer", (0, most))
            return exp.Count(this=among(value)), counted
        case exp.Sum(this=exp.Column() as inner):
            return _sum(reader.column(inner), name, reader, among)
        case exp.Min(this=exp.Column() as inner) | exp.Max(this=exp.Column() as inner):
            column = reader.column(inner)
            if column.type not in reader.ordered:
                raise InputError(
                    f"the smallest and largest {column.name!r} depend on the order of texts, "
                    "which differs between databases"
                )
            end = type(node)(this=among(quoted(column.name)))
            return end, dataclasses.replace(
                column, name=name, other=None, complete=False, difference=None
            )
        case exp.LogicalOr(this=test) | exp.LogicalAnd(this=test):
            return _truth(node, reader.read(test), name, among)
    raise InputError(f"{_KNOWN}; got {shown_sql(node)}")


def _sum(
    column: Column, name: str, reader: ConditionReader, among: Any
) -> tuple[Any, Column]:
    from tightrope.publish.shapes.base import clamped

    if column.type != "integer" or column.bounds is None:
        raise InputError(
            f"the sum of {column.name!r} within a person needs whole numbers with bounds: add "
            f"tables.{reader.table.name}.columns.{column.name}.bounds to the public facts"
        )
    low, high = column.bounds
    most = reader.table.contributions
    # Clamped first: a single huge value must not overflow the sum.
    value = clamped(column, column.bounds, exp.null())
    # One to `most` rows, each within [low, high].
    lowest = min(low, low * most)
    highest = max(high, high * most)
    bounds = (lowest, highest)
    return exp.Sum(this=among(value)), Column(name, "integer", bounds)


def _truth(node: Any, test: Any, name: str, among: Any) -> tuple[Any, Column]:
    """Return whether a condition holds for one row of a person, or for all of them."""
    # MAX and MIN of marks exist in every database, BOOL_OR does not.
    case = exp.case().when(test, exp.convert(1))
    mark = case.else_(exp.convert(0))
    is_or = isinstance(node, exp.LogicalOr)
    rows = (exp.Max if is_or else exp.Min)(this=among(mark))
    is_all = exp.EQ(this=rows, expression=exp.convert(1))
    return is_all, Column(name, "boolean")


def _lessened(node: Any, name: str, reader: ConditionReader) -> tuple[Any, Column]:
    """Return a number less a constant, and its bounds less the same."""
    inner, column = number_of_person(node.this, name, reader)
    is_whole = isinstance(node.expression, exp.Literal) and column.type == "integer"
    if not is_whole or column.bounds is None:
        raise InputError(f"{_KNOWN}; got {shown_sql(node)}")
    less = whole_literal(node.expression)
    low, high = column.bounds
    bounds = (low - less, high - less)
    return inner - exp.convert(less), dataclasses.replace(column, bounds=bounds)


def _limited(node: Any, name: str, reader: ConditionReader) -> tuple[Any, Column]:
    """Return a number with the bound that LEAST or GREATEST names."""
    parts = [node.this, *node.expressions]
    limits = [whole_literal(part) for part in parts if isinstance(part, exp.Literal)]
    inner = [part for part in parts if not isinstance(part, exp.Literal)]
    if len(limits) != 1 or len(inner) != 1:
        raise InputError(f"{_KNOWN}; got {shown_sql(node)}")
    number, column = number_of_person(inner[0], name, reader)
    if column.bounds is None or column.type != "integer":
        raise InputError(f"{_KNOWN}; got {shown_sql(node)}")
    low, high = column.bounds
    limit = limits[0]
    is_least = isinstance(node, exp.Least)
    bounds = (min(low, limit), limit) if is_least else (limit, max(high, limit))
    return number, dataclasses.replace(column, bounds=bounds)
