"""From a shape to SQL: the rules that privacy rests on, as part of the question.

- Columns are read through the source's cells, which no row can make fail.
- Only declared groups are asked for, and which of them a row is in depends on that row alone.
- Values are moved to the nearest declared bound before they are added up or ranked.
- Where one person may have several rows, ``ROW_NUMBER`` over that person's rows keeps as many as
  the ``contributions`` rule allows, and which ones depends on that person's rows alone: those whose
  keyed hash comes first, so that every row is kept as likely as any other one of that person, and
  no value or group is favoured. Rows that do not say whose they are are left out: together they
  would be one person more, whom everybody could change.
- A part of a partition is a condition on rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.publish.accounts import canonical_text
from tightrope.publish.facts import Column, Table
from tightrope.publish.relations import (
    PERSON,
    ROW_NUMBER,
    made_names,
    person_cells,
    person_column,
    relation,
    row_number,
    stored_columns,
)
from tightrope.publish.shapes.base import group_column
from tightrope.publish.sources import Source
from tightrope.publish.sql_pieces import one_of, present, quoted

if TYPE_CHECKING:
    from tightrope.publish.shapes import Shape

_ROWS = "tightrope_rows"
#: The number of a row among those of its person that are alike.
_COPY = "tightrope_copy"
#: In the words of SQL: the hash that a source has for a secret, texts and whole numbers.
_HASH = "KEYED_HASH"


@dataclass(frozen=True)
class Opened:
    """A declared table that is open: where, the types there, and what its rows are called."""

    source: Source
    types: Mapping[str, str]
    relation: str = _ROWS


def compiled(shape: Shape, opened: Mapping[str, Opened], secret: str = "") -> str:
    """Return the SQL of a question for one source: its cells first, then the question on them.

    Parameters
    ----------
    shape
        The question.
    opened
        The declared tables that it reads, by their names.
    secret
        What the choice among the rows of a person depends on.
    """
    names: dict[str, str] = {}

    def number(text: str) -> str:
        # By number: to most databases names that differ in letter case are one.
        return names.setdefault(text, f"tightrope_{len(names)}")

    for name in [column.name for column in shape.columns] + made_names(shape.table):
        number(name)
    with_clauses = []
    for table, wanted in read_columns(shape):
        place = opened[table.name]
        source = place.source
        cells = [
            f"{_cell(column, source, place.types)} AS {source.name(number(column.name))}"
            for column in wanted
        ]
        for person in _person_cells(table, place, whose(shape, table)):
            cells.append(f"{person} AS {source.name(PERSON)}")
        with_clauses.append(
            f"{source.name(place.relation)} AS (SELECT {', '.join(cells) or '1 AS one'} "
            f"FROM {source.rows()})"
        )
    source = opened[read_columns(shape)[0][0].name].source

    def base(table: Table, _: Sequence[str]) -> Any:
        return exp.table_(exp.to_identifier(opened[table.name].relation, quoted=True))

    rows = relation(shape.table, [column.name for column in shape.columns], base)
    # Constants and names are written by the source: nothing of the user's text is left.
    question = _select(shape, rows).transform(_written, source, names, secret)
    return f"WITH {', '.join(with_clauses)} {question.sql(dialect=source.dialect)}"


def read_columns(shape: Shape) -> list[tuple[Table, list[Column]]]:
    """Return the declared tables that a question reads, and which columns of each."""
    if shape.table.rows is None:
        return [(shape.table, shape.columns)]
    names = [column.name for column in shape.columns]
    found: dict[str, tuple[Table, dict[str, Column]]] = {}
    for table, own in stored_columns(shape.table, names):
        _, columns = found.setdefault(table.name, (table, {}))
        columns |= {name: table.columns[name] for name in own}
    return [(table, list(columns.values())) for table, columns in found.values()]


def _cell(column: Column, source: Source, found: Mapping[str, str]) -> str:
    """Return the value of a column as SQL; of a difference, that of two numbers of days."""
    parts = [source.cell(part, found[part.name]) for part in column.stored]
    return " - ".join(map(source.days, parts)) if column.difference else parts[0]


def counted_people(table: Table, place: Opened) -> str:
    """Return the SQL of the number of people in a table: no row can make it fail."""
    (person,) = _person_cells(table, place, table.person) or ["*"]
    one = "*" if person == "*" else f"DISTINCT {person}"
    return f"SELECT COUNT({one}) FROM {place.source.rows()}"


def whose(shape: Shape, table: Table) -> str | None:
    """Return the column of a declared table that says whose row it is, where a question needs it.

    A table of people is joined by its key; asked alone, each of its rows is one person.
    """
    return table.person if shape.table.rows is None else person_column(table)


def _person_cells(table: Table, place: Opened, name: str | None) -> list[str]:
    """Return whose row it is, where the table has a column that says so."""
    if name is None:
        return []
    source = place.source
    key, declared = person_cells(table)
    # An empty text says nothing about whose row it is.
    whose = f"NULLIF({source.cell(key, place.types[key.name])}, {source.text('')})"
    is_one = f"{source.cell(declared, place.types[key.name])} IS NOT NULL"
    return [f"CASE WHEN {is_one} THEN {whose} END"]


def question_text(shape: Shape) -> str:
    """Return a question in the words of SQL, the same for every source.

    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.shapes import Sum
    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(question_text(Sum(Table("people", 9), column=age)))
    SELECT COALESCE(SUM(CASE WHEN "age" IS NULL THEN 0 WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN
    120 ELSE "age" END), 0) AS "a0", COALESCE(SUM(CASE WHEN NOT "age" IS NULL THEN 1 ELSE 0 END), 0)
    AS "a1", COUNT(*) AS "a2" FROM "people"
    """

    def base(table: Table, names: Sequence[str]) -> Any:
        rows = exp.table_(exp.to_identifier(table.name, quoted=True))
        if table is shape.table:
            return rows
        whose = exp.alias_(quoted(person_column(table) or ""), PERSON, quoted=True)
        return exp.select(*map(quoted, names), whose).from_(rows).subquery(table.name)

    table = shape.table
    key = table.person if table.rows is None else None
    rows = relation(table, [column.name for column in shape.columns], base)
    return str(_select(shape, rows, key or PERSON).sql(dialect="duckdb"))


def _written(
    node: Any, source: Source, names: Mapping[str, str], secret: str = ""
) -> Any:
    """Write texts and dates as the source compares them, and columns by their names here."""
    if isinstance(node, exp.Anonymous) and node.name == _HASH:
        parts = [
            (source.name(part.name), isinstance(part, exp.Column))
            for part in node.expressions
        ]
        # Which rows count must not depend on their order, nor be predictable.
        return exp.Var(this=source.keyed_hash(secret, parts))

    def known(name: str) -> str:
        return names.get(name, name)

    if isinstance(node, exp.Column):
        place = node.args.get("table")
        return exp.column(exp.to_identifier(known(node.name), quoted=True), table=place)
    if isinstance(node, exp.Alias):
        node.set("alias", exp.to_identifier(known(node.alias), quoted=True))
        return node
    if isinstance(node, exp.DateDiff):
        cell = source.name(known(node.this.name))
        return exp.Var(this=source.days(cell, node.expression.this.this))
    if isinstance(node, exp.Cast) and node.to.is_type("date"):
        return exp.Var(this=source.day(node.this.this))
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.Var(this=source.text(canonical_text(node.this)))
    return node


def _select(shape: Shape, relation: Any, key: str = PERSON) -> Any:
    where = _all_rows(shape, key)
    rows = _numbered(shape, where, relation, key)
    places = shape.places()
    targets = [*places, *shape.targets()]
    named = [exp.alias_(t, f"a{k}", quoted=True) for k, t in enumerate(targets)]
    select = exp.select(*named).from_(rows)
    if places:
        select = select.group_by(*(place.copy() for place in places))
    if shape.table.person is not None:
        # The contribution bound: privacy per person rests on this condition.
        return select.where(quoted(ROW_NUMBER) <= shape.rows_per_person)
    return select if where is None else select.where(where)


def _all_rows(shape: Shape, key: str) -> Any:
    """Return the whole condition on rows: what is asked, the part, whose they are, the groups."""
    conditions: list[Any] = [] if shape.where is None else [shape.where.copy()]
    if shape.part is not None:
        partition, part = shape.part
        conditions.append(one_of(partition.column, partition.parts[part]))
    if shape.table.person is not None:
        conditions.append(present(key))
        # The row of a person that counts is one in a declared group, if there is one.
        conditions += shape.person_conditions()
    return exp.and_(*conditions) if conditions else None


def _numbered(shape: Shape, where: Any, table: Any, key: str) -> Any:
    """Return the rows with numbers for each person's, where people may have several."""
    if shape.table.person is None:
        return table
    whole = _named(shape.person_marks())
    if whole:  # all rows of a person become one
        one = exp.alias_(exp.convert(1), ROW_NUMBER, quoted=True)
        people = _where(exp.select(*whole, one), table, where)
        return people.group_by(quoted(key)).subquery("tightrope_numbered")
    read = [quoted(name) for name in sorted(column.name for column in shape.columns)]
    values = shape.row_places() if shape.people else shape.row_values()
    named = _named(values)
    groups = [quoted(one.alias) for one in named]
    if not values:  # the rows of a person are all alike
        rows = _where(exp.select(quoted(key), *read), table, where)
        return _chosen(rows, key, read, read or [quoted(key)])
    parts = [
        quoted(key),
        *(
            group if _is_text(shape, value) else exp.cast(group, "TEXT")
            for group, value in zip(groups, values, strict=True)
        ),
    ]
    if shape.people:  # somebody counts once in each of several groups
        rows = _where(exp.select(quoted(key), *named).distinct(), table, where)
        read = groups
    else:
        # Of rows that are alike each is as likely to count as any other: they are numbered.
        cells = _where(exp.select(quoted(key), *read, *named), table, where)
        copy = row_number([quoted(key), *groups], read, _COPY)
        rows = exp.select(exp.Star(), copy).from_(cells.subquery("tightrope_cells"))
        parts.append(exp.cast(quoted(_COPY), "TEXT"))
    order = [exp.Anonymous(this=_HASH, expressions=parts), *read]
    return _chosen(rows, key, read, order)


def _named(values: list[Any]) -> list[Any]:
    """Return pieces of SQL with the names that they have one level further out."""
    return [exp.alias_(x, group_column(k), quoted=True) for k, x in enumerate(values)]


def _chosen(rows: Any, key: str, read: list[Any], order: list[Any]) -> Any:
    """Return rows with their number among those of their person, in an order."""
    number = row_number([quoted(key)], order, ROW_NUMBER)
    numbered = exp.select(*(column.copy() for column in read), number)
    return numbered.from_(rows.subquery("tightrope_own")).subquery("tightrope_numbered")


def _where(select: Any, table: Any, where: Any) -> Any:
    rows = select.from_(table)
    return rows if where is None else rows.where(where)


def _is_text(shape: Shape, value: Any) -> bool:
    """Whether what tells rows apart is the text of a column, and no whole number."""
    texts = {column.name for column in shape.columns if column.type == "text"}
    return isinstance(value, exp.Column) and value.name in texts
