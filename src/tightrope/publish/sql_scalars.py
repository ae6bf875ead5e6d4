"""Scalar subqueries over the table of the question, as aggregates of one SELECT.

``SELECT COUNT(*) * 100.0 / (SELECT COUNT(*) FROM people) FROM people WHERE smokes`` asks for two
numbers of one table. Written as aggregates with FILTER, both are published in one job, and what is
around them is arithmetic on published numbers.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.sql_pieces import all_of, shown_sql, unaliased

_PLAIN_PARTS = {"expressions", "from", "where"}


def without_scalars(select: Any) -> Any:
    """Return a SELECT without GROUP BY whose scalar subqueries over its table are aggregates.

    A condition of the SELECT moves into its own aggregates; that of a subquery into those of the
    subquery. Anything else stays as it is, and is read or refused later.

    >>> import sqlglot
    >>> sql = "select count(*) / (select count(*) from t) from t where a > 1"
    >>> without_scalars(sqlglot.parse_one(sql)).sql()
    'SELECT COUNT(*) FILTER(WHERE a > 1) / (COUNT(*)) FROM t'
    """
    scalars = [x for x in scalar_subqueries(select) if _is_same_table(x.this, select)]
    has_windows = select.find(exp.Window) is not None
    if not scalars or select.args.get("group") or has_windows:
        return select
    select = select.copy()
    where = select.args.get("where")
    inner = [x for x in scalar_subqueries(select) if _is_same_table(x.this, select)]
    inside = {id(piece) for subquery in inner for piece in subquery.walk()}
    if where is not None:
        for aggregate in list(_aggregates(select)):
            if id(aggregate) not in inside:
                _restrict(aggregate, where.this)
        select.set("where", None)
    for subquery in inner:
        subquery.replace(exp.paren(_as_aggregate(subquery)))
    return select


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
    clause = select.args.get("from_") or select.args.get("from")
    source = None if clause is None else clause.this
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
