"""From a shape to the SQL that is run: every rule that privacy rests on is part of it.

- Only declared groups are asked for, and which of them a row is in depends on that row alone.
- Values are moved to the nearest declared bound before they are added up.
- Where one person may have several rows, ``ROW_NUMBER`` over that person's rows keeps as many
  as the ``contributions`` rule allows. Which ones are kept depends on that person's rows alone.
- A part of a partition is a condition on rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.conditions import constant, quoted
from tightrope.publish.facts import Value
from tightrope.publish.shapes import Kind, Shape

if TYPE_CHECKING:
    from sqlglot import exp

#: Most groups of one question: each is a comparison for every row.
GROUP_LIMIT = 2000
#: The name of the column that numbers one person's rows.
NUMBER = "tightrope_row"


def shape_sql(shape: Shape, dialect: str, relation: str | None = None) -> str:
    """Return the SQL of a shape for one database.

    Parameters
    ----------
    shape
        The question.
    dialect
        The SQL dialect, by sqlglot's name.
    relation
        The name of the table there; the declared name by default.

    Examples
    --------
    >>> from tightrope.publish.facts import Column, Table
    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(shape_sql(Shape(Kind.SUM, Table("people", 9), column=age), "duckdb"))
    SELECT COALESCE(SUM(CASE WHEN "age" IS NULL THEN 0 WHEN "age" < 0 THEN 0 WHEN "age" > 120
    THEN 120 ELSE "age" END), 0) AS "a0", COUNT(*) AS "a1" FROM "people"
    """
    from sqlglot import exp

    where = _all_rows(shape)
    source = _source(shape, where, relation or shape.table.relation or shape.table.name)
    if shape.kind in (Kind.GROUPS, Kind.MOST) and shape.column is not None:
        key = _group(shape.column.name, shape._values(shape.column), shape.column.other)
        named = [exp.alias_(key, "a0", quoted=True), exp.alias_(exp.Count(this=exp.Star()), "a1")]
        select = exp.select(*named).from_(source).group_by(key.copy())
    else:
        named = [
            exp.alias_(target, f"a{place}", quoted=True)
            for place, target in enumerate(_targets(shape, dialect))
        ]
        select = exp.select(*named).from_(source)
    if shape.enforced:
        number = exp.LTE(this=quoted(NUMBER), expression=exp.Literal.number(shape.rows_per_person))
        select = select.where(number)
    elif where is not None:
        select = select.where(where)
    if dialect in _BARE:
        select = select.transform(_without_cast, _BARE[dialect])
    return select.sql(dialect=dialect)


#: Casts that a database is better off without. SQLite keeps dates as texts, and would cast them to
#: numbers. It compares numbers of all kinds as they are, and so does PostgreSQL, where a number
#: may be too large for DOUBLE.
_BARE = {"sqlite": ("date", "double"), "postgres": ("double",)}


def _without_cast(node: Any, kinds: tuple[str, ...]) -> Any:
    from sqlglot import exp

    return node.this if isinstance(node, exp.Cast) and node.to.is_type(*kinds) else node


def _group(column: str, values: Sequence[Value], other: Value | None) -> exp.Expression:
    """Return the place of a row's group among the values, or -1.

    The database groups by this number and not by the column: where a collation takes "North" for
    "north", the name that it shows for such a group would depend on everybody's row.
    """
    from sqlglot import exp

    if len(values) > GROUP_LIMIT:
        raise InputError(
            f"a question has at most {GROUP_LIMIT} groups, column {column!r} has {len(values)} "
            "values: make larger groups in a view"
        )
    place = exp.case()
    for number, value in enumerate(values):
        same = exp.EQ(this=quoted(column), expression=constant(value))
        place = place.when(same, constant(number), copy=False)
    return place.else_(constant(-1 if other is None else values.index(other)), copy=False)


def _targets(shape: Shape, dialect: str) -> list[Any]:
    from sqlglot import exp

    if shape.kind is Kind.DECLARED:
        return [shape.expression]
    if shape.kind is Kind.COUNTS:
        return [_number_of(condition) for condition in shape.conditions]
    people = _number_of(_is_first()) if shape.enforced else exp.Count(this=exp.Star())
    if shape.kind is Kind.SUM:
        return [_total(shape, dialect), people]
    return [exp.Count(this=exp.Star()), people]


def _total(shape: Shape, dialect: str) -> exp.Expression:
    from sqlglot import exp

    low, high = shape._bounds()
    column = quoted(shape.column.name if shape.column else "")
    # A column of SQLite may hold anything; there, this never fails and is always whole.
    value = exp.cast(column, "BIGINT") if dialect == "sqlite" else column
    clamped = (
        exp.case()
        .when(exp.Is(this=column.copy(), expression=exp.null()), constant(0))
        .when(exp.LT(this=value.copy(), expression=constant(low)), constant(low))
        .when(exp.GT(this=value.copy(), expression=constant(high)), constant(high))
        .else_(value)
    )
    return _or_zero(exp.Sum(this=clamped))


def _number_of(condition: Any) -> exp.Expression:
    from sqlglot import exp

    if condition is None:
        return exp.Count(this=exp.Star())
    one = exp.case().when(condition.copy(), constant(1)).else_(constant(0))
    return _or_zero(exp.Sum(this=one))


def _or_zero(node: exp.Expression) -> exp.Expression:
    from sqlglot import exp

    return exp.Coalesce(this=node, expressions=[constant(0)])


def _is_first() -> exp.Expression:
    from sqlglot import exp

    return exp.EQ(this=quoted(NUMBER), expression=constant(1))


def _all_rows(shape: Shape) -> Any:
    """Return the whole condition on rows: what is asked, the part, the declared groups."""
    from sqlglot import exp

    conditions = [] if shape.where is None else [shape.where.copy()]
    if shape.part is not None:
        partition, part = shape.part
        conditions.append(_one_of(partition.column, partition.parts[part]))
    if shape.people and shape.table.person is not None:
        present = exp.Is(this=quoted(shape.table.person), expression=exp.null())
        conditions.append(exp.Not(this=present))
    grouped = shape.column if shape.kind in (Kind.GROUPS, Kind.MOST) else None
    if shape.enforced and grouped is not None and grouped.other is None:
        # The row of a person that counts is one in a declared group, if there is one.
        conditions.append(_one_of(grouped.name, shape._values(grouped)))
    return exp.and_(*conditions) if conditions else None


def _one_of(column: str, values: Any) -> exp.Expression:
    from sqlglot import exp

    return exp.In(this=quoted(column), expressions=[constant(value) for value in values])


def _source(shape: Shape, where: Any, relation: str) -> Any:
    from sqlglot import exp

    *schema, name = relation.split(".")
    table = exp.table_(
        exp.to_identifier(name, quoted=True),
        db=exp.to_identifier(schema[-1], quoted=True) if schema else None,
        catalog=exp.to_identifier(schema[-2], quoted=True) if len(schema) > 1 else None,
    )
    if shape.table.person is None:
        return table
    columns = sorted({*shape.used, shape.table.person})
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[quoted(shape.table.person)],
        # By every column that is read: rows that tie are alike.
        order=exp.Order(
            expressions=[exp.Ordered(this=quoted(c), nulls_first=False) for c in columns]
        ),
    )
    numbered = exp.select(
        *(quoted(c) for c in columns), exp.alias_(number, NUMBER, quoted=True)
    ).from_(table)
    if where is not None:
        numbered = numbered.where(where)
    return numbered.subquery("tightrope_rows")
