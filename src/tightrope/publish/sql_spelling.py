"""One spelling for pieces of SQL that are written in several ways, before anything is read.

Each rewriting holds for every table: nothing here knows the facts.
"""

from __future__ import annotations

import calendar
import contextlib
import datetime
from typing import Any

from sqlglot import exp

from tightrope.publish.sql_pieces import all_of, unaliased, unnested, whole_literal

#: How many months the units of INTERVAL have, or how many days.
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}


def spelled_alike(node: Any) -> Any:
    """Return a piece of SQL in the one spelling that readers know.

    >>> import sqlglot
    >>> sql = "select sum(a > 1) from t where d < date '2024-01-31' + interval 1 month"
    >>> print(sqlglot.parse_one(sql).transform(spelled_alike).sql())
    SELECT SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END) FROM t WHERE d < CAST('2024-02-29' AS DATE)
    """
    match node:
        case exp.Anonymous(this=name, expressions=[exp.Literal() as part, day]) if str(
            name
        ).lower() in ("date_part", "datepart"):
            return exp.Extract(this=exp.var(part.this.upper()), expression=day)
        case exp.Anonymous(this=name, expressions=[exp.Column() as day]) if (
            str(name).lower() == "julianday"
        ):
            return day
        case exp.Add(this=exp.Cast() as day, expression=exp.Interval() as step):
            return _shifted(day, step, 1) or node
        case exp.Sub(this=exp.Cast() as day, expression=exp.Interval() as step):
            return _shifted(day, step, -1) or node
        case exp.Sum(this=exp.Predicate() | exp.Connector() | exp.Not() as test):
            mark = exp.case().when(test, exp.convert(1)).else_(exp.convert(0))
            return exp.Sum(this=mark)
        case exp.In(this=subject, expressions=[exp.Values() as listed]):
            rows = [row.expressions for row in listed.expressions]
            return _in_list(node, subject, rows)
        case exp.In(this=subject, args={"query": exp.Subquery(this=inner)}):
            return _in_list(node, subject, _constant_rows(inner))
        case exp.Select():
            _name_groups(node)
            _join_on(node)
    return node


def _name_groups(select: Any) -> None:
    """Write GROUP BY ALL as what it means: by everything in SELECT that is no aggregate."""
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        targets = map(unaliased, select.expressions)
        keys = [x.copy() for x in targets if x.find(exp.AggFunc) is None]
        select.set("group", exp.Group(expressions=keys))


def _join_on(select: Any) -> None:
    """Move from WHERE to ON which columns of two tables, named with a comma, are equal."""
    where = select.args.get("where")
    parts = [] if where is None else unnested(where.this)
    for join in select.args.get("joins") or []:
        name = join.this.alias_or_name.lower()
        equal = next((part for part in parts if _is_between(part, name)), None)
        if set(_given(join)) == {"this"} and equal is not None:
            parts = [part for part in parts if part is not equal]
            join.set("on", equal.copy())
            rest = all_of([part.copy() for part in parts])
            select.set("where", rest and exp.Where(this=rest))


def _is_between(part: Any, name: str) -> bool:
    """Whether a condition is that a column of one table equals one of another table."""
    sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
    tables = [side.table.lower() for side in sides if isinstance(side, exp.Column)]
    return (
        len(tables) == 2
        and name in tables
        and "" not in tables
        and len(set(tables)) == 2
    )


def _shifted(day: Any, step: Any, sign: int) -> Any:
    """Return a constant day so many days, months or years later, or nothing."""
    unit = str(step.args.get("unit") or "").upper().removesuffix("S")
    count = step.this
    if not day.to.is_type("date") or not isinstance(count, exp.Literal):
        return None
    number = whole_literal(exp.Literal.number(count.this))
    # No date is made of a text that is none, or beyond the years that there are.
    with contextlib.suppress(ValueError, OverflowError):
        start = datetime.date.fromisoformat(day.this.this)
        if number and unit in _DAYS:
            start += datetime.timedelta(days=sign * number * _DAYS[unit])
        elif number and unit in _MONTHS:
            start = _months_later(start, sign * number * _MONTHS[unit])
        else:
            return None
        return exp.cast(exp.Literal.string(start.isoformat()), "DATE")
    return None


def _months_later(day: datetime.date, months: int) -> datetime.date:
    """Return the same day of another month, or the last one that it has."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, min(day.day, last))


def _constant_rows(query: Any) -> list[Any]:
    """Return the rows of SELECTs of constants, without FROM, or a row of nothing."""
    if isinstance(query, exp.Union):
        return [*_constant_rows(query.this), *_constant_rows(query.expression)]
    is_plain = isinstance(query, exp.Select) and set(_given(query)) == {"expressions"}
    return [list(map(unaliased, query.expressions))] if is_plain else [[]]


def _given(node: Any) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _in_list(node: Any, subject: Any, rows: list[Any]) -> Any:
    """Return membership in rows of one constant as membership in a list."""
    constants = [row[0] for row in rows if len(row) == 1]
    is_list = len(constants) == len(rows) and all(
        isinstance(constant, exp.Literal) for constant in constants
    )
    return exp.In(this=subject, expressions=constants) if is_list else node
