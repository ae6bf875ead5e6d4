"""Scalar subqueries over the table of the question, as aggregates of one SELECT.

``SELECT COUNT(*) * 100.0 / (SELECT COUNT(*) FROM people) FROM people WHERE smokes`` asks for two
numbers of one table. Written as aggregates with FILTER, both are published in one job, and what is
around them is arithmetic on published numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.axes import Axis
from tightrope.publish.sql_pieces import (
    OF_ALL_ROWS,
    all_of,
    shown_sql,
    source_of,
    unaliased,
)

_PLAIN_PARTS = {"expressions", "from", "where"}


def without_scalars(select: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a SELECT whose scalar subqueries over its table are aggregates of it.

    A condition of the SELECT moves into its own aggregates; that of a subquery into those of the
    subquery. Beside GROUP BY, a count or a sum of the whole table is one over all groups, which
    holds where every row is in a group: the second value names the subqueries read that way.
    Anything else stays as it is, and is read or refused later.

    >>> import sqlglot
    >>> sql = "select count(*) / (select count(*) from t) from t where a > 1"
    >>> without_scalars(sqlglot.parse_one(sql))[0].sql()
    'SELECT COUNT(*) FILTER(WHERE a > 1) / (COUNT(*)) FROM t'
    >>> sql = "select b, count(*) / (select count(*) from t) from t group by b"
    >>> flat, totals = without_scalars(sqlglot.parse_one(sql))
    >>> print(flat.sql(), totals)
    SELECT b, COUNT(*) / (SUM(COUNT(*)) OVER ()) FROM t GROUP BY b ('(SELECT COUNT(*) FROM t)',)
    """
    is_grouped = select.args.get("group") is not None
    if select.find(exp.Window) is not None:
        return select, ()
    flat = _with_table(select)
    scalars = [x for x in scalar_subqueries(flat) if _is_same_table(x.this, flat)]
    if is_grouped:
        scalars = [x for x in scalars if _adds_up(x.this)]
        if not _has_plain_groups(flat) or len(scalars) < len(scalar_subqueries(flat)):
            return select, ()
    if not scalars:
        return select, ()
    where = flat.args.get("where")
    inside = {id(piece) for subquery in scalars for piece in subquery.walk()}
    if where is not None:
        for aggregate in list(_aggregates(flat)):
            if id(aggregate) not in inside:
                _restrict(aggregate, where.this)
        flat.set("where", None)
    totals = tuple(shown_sql(subquery) for subquery in scalars) if is_grouped else ()
    for subquery in scalars:
        value = _as_aggregate(subquery)
        value = _over_groups(value) if is_grouped else value
        subquery.replace(exp.paren(value))
    return flat, totals


def _with_table(select: Any) -> Any:
    """Return a SELECT of subqueries alone, without FROM, as one of the table of the first."""
    flat = select.copy()
    tables = [_table(subquery.this) for subquery in scalar_subqueries(flat)]
    plain = any(flat.args.get(word) for word in ("from", "from_", "group", "where"))
    if tables and tables[0] is not None and not plain:
        name = tables[0].copy()
        name.set("alias", None)
        flat.set("from_", exp.From(this=name))
    return flat


def check_totals(totals: Sequence[str], axes: Sequence[Axis]) -> None:
    """Refuse numbers of a whole table as sums over groups, if a row may be in no group."""
    partial = next((axis.title for axis in axes if axis.rest is None), None)
    if totals and partial is not None:
        raise InputError(
            f"{totals[0]} is about all rows, and rows may be in no group of {partial!r}: add "
            "complete = true to the facts of the column if every row has a declared value, or "
            "write SUM(COUNT(*)) OVER (), the rows of all groups"
        )


def _has_plain_groups(select: Any) -> bool:
    """Whether GROUP BY makes one table, so that its lines add up to all rows."""
    return select.args["group"].find(exp.Rollup, exp.Cube, exp.GroupingSets) is None


def _adds_up(select: Any) -> bool:
    """Whether the aggregates of a subquery are the sums of those of groups."""
    return all(
        isinstance(aggregate, exp.Sum | exp.Count | exp.CountIf)
        and aggregate.find(exp.Distinct) is None
        for aggregate in _aggregates(select)
    )


def _over_groups(value: Any) -> Any:
    """Return aggregates of the whole table as sums of those of its groups."""
    aggregates = [
        node.parent if isinstance(node.parent, exp.Filter) else node
        for node in value.find_all(exp.AggFunc)
    ]
    for aggregate in aggregates:
        total = exp.Window(this=exp.Sum(this=aggregate.copy()), over="OVER")
        total.meta[OF_ALL_ROWS] = True
        if aggregate is value:
            return total
        aggregate.replace(total)
    return value


def scalar_subqueries(select: Any) -> list[Any]:
    """Return the subqueries in the SELECT list, in HAVING and in ORDER BY."""
    pieces = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return [
        subquery
        for piece in pieces
        if piece is not None
        for subquery in piece.find_all(exp.Subquery)
        if isinstance(subquery.this, exp.Select)
    ]


def _is_same_table(inner: Any, outer: Any) -> bool:
    """Whether a subquery is one value of the table that the question is about."""
    parts = {key.rstrip("_") for key, value in inner.args.items() if value}
    tables = [_table(select) for select in (inner, outer)]
    is_single = len(inner.expressions) == 1 and not outer.args.get("joins")
    if None in tables or not is_single or not parts <= _PLAIN_PARTS:
        return False
    names = [(table.name.lower(), table.db.lower()) for table in tables]
    return names[0] == names[1]


def _table(select: Any) -> Any:
    source = source_of(select)
    return source if isinstance(source, exp.Table) else None


def _as_aggregate(subquery: Any) -> Any:
    """Return the value of a subquery as an aggregate of the rows around it."""
    inner = subquery.this
    table = _table(inner)
    own = {(table.alias or table.name).lower()}
    for column in inner.find_all(exp.Column):
        if column.table and column.table.lower() not in own:
            raise InputError(
                f"{shown_sql(subquery)} reads {shown_sql(column)} of the question around it, so it "
                "would be computed for each row: ask for aggregates with GROUP BY instead"
            )
        column.set("table", None)
    value = unaliased(inner.expressions[0])
    if not any(True for _ in _aggregates(inner)):
        raise InputError(
            f"{shown_sql(subquery)} would be the value of one row: a subquery in arithmetic is an "
            "aggregate, such as (SELECT COUNT(*) FROM people)"
        )
    where = inner.args.get("where")
    if where is not None:
        for aggregate in list(_aggregates(inner)):
            _restrict(aggregate, where.this)
        value = unaliased(inner.expressions[0])
    return value.copy()


def _aggregates(select: Any) -> Any:
    """Yield the aggregates of a SELECT, with what belongs to them."""
    for piece in (
        *select.expressions,
        select.args.get("having"),
        select.args.get("order"),
    ):
        for function in [] if piece is None else piece.find_all(exp.AggFunc):
            is_within = isinstance(function.parent, exp.WithinGroup)
            yield function.parent if is_within else function


def _restrict(aggregate: Any, condition: Any) -> None:
    """Compute an aggregate of the rows that satisfy a condition, too."""
    parent = aggregate.parent
    if isinstance(parent, exp.Filter):
        both = all_of([parent.expression.this.copy(), condition.copy()])
        parent.expression.set("this", both)
        return
    restricted = exp.Filter(
        this=aggregate.copy(), expression=exp.Where(this=condition.copy())
    )
    aggregate.replace(restricted)
