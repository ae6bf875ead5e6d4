"""From a shape to SQL: the rules that privacy rests on, as part of the question.

- Columns are read through the source's cells, which no row can make fail.
- Only declared groups are asked for, and which of them a row is in depends on that row alone.
- Values are moved to the nearest declared bound before they are added up or ranked.
- Where one person may have several rows, ``ROW_NUMBER`` over that person's rows keeps as many as
  the ``contributions`` rule allows, and which ones depends on that person's rows alone. Rows that
  do not say whose they are are left out: together they would be one person more, whom everybody
  could change.
- A part of a partition is a condition on rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.publish.facts import Column
from tightrope.publish.shapes import Axis, Kind, Shape
from tightrope.publish.sources import Source
from tightrope.publish.sql_reader import one_of, present, quoted

_ROWS, _NUMBER, _PERSON = "tightrope_rows", "tightrope_row", "tightrope_person"


def compiled(shape: Shape, source: Source, found: Mapping[str, str]) -> str:
    """Return the SQL of a question for one source: its cells first, then the question on them."""
    # By number: to most databases names that differ in letter case are one.
    numbered = {column.name: f"tightrope_{k}" for k, column in enumerate(shape.columns)}
    cells = [
        f"{source.cell(column, found[column.name])} AS {source.name(numbered[column.name])}"
        for column in shape.columns
    ]
    for key, declared in person_columns(shape):
        whose = f"NULLIF({source.cell(key, found[key.name])}, {source.text('')})"
        is_one = f"{source.cell(declared, found[key.name])} IS NOT NULL"
        cells.append(f"CASE WHEN {is_one} THEN {whose} END AS {source.name(_PERSON)}")
    question = _select(shape, _ROWS).transform(_written, source, numbered)
    return (
        f"WITH {source.name(_ROWS)} AS (SELECT {', '.join(cells) or '1 AS one'} "
        f"FROM {source.rows()}) {question.sql(dialect=source.dialect)}"
    )


def person_columns(shape: Shape) -> list[tuple[Column, Column]]:
    """Return the column that says whose row it is: as text, and as it is declared.

    People are told apart by the text: as a whole number, ``1.5`` might become the person 2. What
    is not of the declared type is nobody.
    """
    person = shape.table.person
    if person is None:
        return []
    key = Column(person, "text")
    return [(key, shape.table.columns.get(person, key))]


def question_text(shape: Shape) -> str:
    """Return a question in the words of SQL, the same for every source.

    >>> from tightrope.publish.facts import Table
    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(question_text(Shape(Kind.SUM, Table("people", 9), column=age)))
    SELECT COALESCE(SUM(CASE WHEN "age" IS NULL THEN 0 WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN
    120 ELSE "age" END), 0) AS "a0", COALESCE(SUM(CASE WHEN NOT "age" IS NULL THEN 1 ELSE 0 END), 0)
    AS "a1", COUNT(*) AS "a2" FROM "people"
    """
    key = shape.table.person or _PERSON
    return str(_select(shape, shape.table.name, key).sql(dialect="duckdb"))


def _written(node: Any, source: Source, names: Mapping[str, str]) -> Any:
    """Write texts and dates as the source compares them, and columns by their names here."""
    if isinstance(node, exp.Column):
        return quoted(names.get(node.name, node.name))
    if isinstance(node, exp.Cast) and node.to.is_type("date"):
        return exp.Var(this=source.day(node.this.this))
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.Var(this=source.text(node.this))
    return node


def _select(shape: Shape, relation: str, key: str = _PERSON) -> Any:
    where = _all_rows(shape, key)
    rows = _numbered(shape, where, exp.table_(exp.to_identifier(relation, quoted=True)), key)
    places = [_place(axis) for axis in shape.axes]
    if shape.people:  # numbered by person and group, below
        places = [quoted(_group(k)) for k in range(len(places))]
    if shape.kind is Kind.QUANTILE and shape.column is not None:
        places.append(_clamped(shape.column, shape.bounds, exp.null()))
    if shape.kind is Kind.FOUND and shape.column is not None:
        places.append(quoted(shape.column.name))  # a cell: compared byte by byte
    targets = [*places, *_targets(shape)]
    named = [exp.alias_(t, f"a{k}", quoted=True) for k, t in enumerate(targets)]
    select = exp.select(*named).from_(rows)
    if places:
        select = select.group_by(*(place.copy() for place in places))
    if shape.table.person is not None:
        return select.where(quoted(_NUMBER) <= shape.rows_per_person)
    return select if where is None else select.where(where)


def _place(axis: Axis) -> exp.Expression:
    """Return the place of a row's class on an axis, or -1.

    The database groups by this number and not by the column, whose names it would show.
    """
    place = exp.case()
    for number, condition in enumerate(axis.conditions):
        place = place.when(condition.copy(), exp.convert(number), copy=False)
    return place.else_(exp.convert(-1 if axis.rest is None else axis.rest), copy=False)


def _targets(shape: Shape) -> list[Any]:
    if shape.kind is Kind.DECLARED:
        return [_declared_value(shape)]
    if shape.kind is Kind.COUNTS:
        return [_number_of(condition) for condition in shape.conditions]
    is_count = shape.kind is Kind.COUNT and shape.axes
    if is_count or shape.kind in (Kind.MOST, Kind.QUANTILE, Kind.FOUND):
        return [exp.Count(this=exp.Star())]
    people = _number_of(None if shape.table.person is None else quoted(_NUMBER).eq(1))
    if shape.column is not None and shape.kind in (Kind.SUM, Kind.MEAN):
        return [_total(shape), _number_of(present(shape.column.name)), people]
    return [exp.Count(this=exp.Star()), people]


def _declared_value(shape: Shape) -> Any:
    """Return the value of a declared question; sums are of doubles, dates come as texts.

    Whole numbers of any size may overflow when they are added up; doubles do not.
    """
    value, column = shape.expression, shape.column
    if value is None or column is None:
        return value
    if isinstance(value, exp.Sum) and column.type == "integer":
        return exp.Sum(this=exp.cast(value.this.copy(), "DOUBLE"))
    return exp.cast(value.copy(), "TEXT") if column.type == "date" else value


def _total(shape: Shape) -> exp.Expression:
    # Where exactly the declared people add to a sum, each must add a value within the bounds.
    missing = shape.missing if shape.is_fixed and not shape.is_divided else 0
    assert shape.column is not None
    clamped = _clamped(shape.column, shape.bounds, exp.convert(missing))
    return exp.Coalesce(this=exp.Sum(this=clamped), expressions=[exp.convert(0)])


def _clamped(column: Column, bounds: tuple[int, int], missing: exp.Expr) -> exp.Expression:
    """Return a column's value in steps, moved to the nearest bound, or what a missing one adds."""
    (low, high), cell = bounds, quoted(column.name)
    first, last, value = exp.convert(low), exp.convert(high), cell
    if column.type == "number":

        def double(number: Fraction) -> exp.Expression:
            return exp.cast(exp.convert(float(number)), "DOUBLE")

        # Between the bounds neither the product nor the cast can fail.
        first, last = double(low * column.step), double(high * column.step)
        steps = cell * double(1 / column.step)
        value = exp.cast(exp.Round(this=steps), "BIGINT")
    return (
        exp.case()
        .when(cell.is_(exp.null()), missing)
        .when(cell < first, exp.convert(low))
        .when(cell > last, exp.convert(high))
        .else_(value)
    )


def _number_of(condition: Any) -> exp.Expression:
    if condition is None:
        return exp.Count(this=exp.Star())
    one = exp.case().when(condition.copy(), exp.convert(1)).else_(exp.convert(0))
    return exp.Coalesce(this=exp.Sum(this=one), expressions=[exp.convert(0)])


def _all_rows(shape: Shape, key: str) -> Any:
    """Return the whole condition on rows: what is asked, the part, whose they are, the groups."""
    conditions: list[Any] = [] if shape.where is None else [shape.where.copy()]
    if shape.part is not None:
        partition, part = shape.part
        conditions.append(one_of(partition.column, partition.parts[part]))
    if shape.table.person is not None:
        conditions.append(present(key))
        # The row of a person that counts is one in a declared group, if there is one.
        for axis in shape.axes:
            if axis.rest is None:
                conditions.append(exp.or_(*(one.copy() for one in axis.conditions)))
        if shape.kind in (Kind.QUANTILE, Kind.FOUND) and shape.column is not None:
            conditions.append(present(shape.column.name))
    return exp.and_(*conditions) if conditions else None


def _group(place: int) -> str:
    return f"tightrope_group_{place}"


def _numbered(shape: Shape, where: Any, table: Any, key: str) -> Any:
    """Return the rows with numbers for each person's, where people may have several."""
    if shape.table.person is None:
        return table
    names = sorted(column.name for column in shape.columns)
    if shape.people and shape.axes:  # somebody counts once in each of several groups
        groups = [exp.alias_(_place(x), _group(k), quoted=True) for k, x in enumerate(shape.axes)]
        names = [_group(k) for k in range(len(groups))]
        table = exp.select(quoted(key), *groups).distinct().from_(table)
        table = (table if where is None else table.where(where)).subquery("tightrope_people")
        where = None
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[quoted(key)],
        # By every column that is read: rows that tie are alike.
        order=exp.Order(
            expressions=[quoted(name).asc(nulls_first=False) for name in names or [key]]
        ),
    )
    named = exp.alias_(number, _NUMBER, quoted=True)
    rows = exp.select(*(quoted(name) for name in names), named).from_(table)
    return (rows if where is None else rows.where(where)).subquery("tightrope_numbered")
