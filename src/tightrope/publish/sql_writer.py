"""From a shape to SQL: the rules that privacy rests on, as part of the question.

- Columns are read through the source's cells, which no row can make fail.
- Only declared groups are asked for, and which of them a row is in depends on that row alone.
- Values are moved to the nearest declared bound before they are added up or ranked.
- Where one person may have several rows, as many of them count as the ``contributions`` rule
  allows, and which ones depends on that person's rows alone
  (:mod:`tightrope.publish.contributions`). Rows that do not say whose they are are left out:
  together they would be one person more, whom everybody could change.
- A part of a partition is a condition on rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.publish.accounts import canonical_text
from tightrope.publish.contributions import KEYED_HASH, Again, Choice, of_crowded
from tightrope.publish.facts import Column, Table
from tightrope.publish.relations import (
    PERSON,
    MakeBase,
    PersonJoin,
    is_one_each,
    made_names,
    person_cells,
    person_column,
    person_names,
    relation,
    stored_columns,
)
from tightrope.publish.shapes.base import FIRST_ROWS, group_column
from tightrope.publish.sources import Source
from tightrope.publish.sql_pieces import all_of, one_of, present, quoted, unnested

if TYPE_CHECKING:
    from tightrope.publish.shapes import Shape

_ROWS = "tightrope_rows"


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
    tables = read_columns(shape)
    owned = [table for table, _ in tables if whose(shape, table)]
    has_whole_keys = all(_has_whole_key(table, opened[table.name]) for table in owned)
    for table, wanted in tables:
        place = opened[table.name]
        source = place.source
        cells = [
            f"{_cell(column, source, place.types)} AS {source.name(number(column.name))}"
            for column in wanted
        ]
        if whose(shape, table):
            person = _person_cell(table, place, has_whole_keys)
            cells.append(f"{person} AS {source.name(PERSON)}")
        # Read where they are used: kept apart they would lose what the catalogue knows of them.
        kept = "NOT MATERIALIZED " * source.keeps_rows
        with_clauses.append(
            f"{source.name(place.relation)} AS {kept}(SELECT {', '.join(cells) or '1 AS one'} "
            f"FROM {source.rows()})"
        )
    source = opened[tables[0][0].name].source

    def base(table: Table, _: Sequence[str]) -> Any:
        return exp.table_(exp.to_identifier(opened[table.name].relation, quoted=True))

    question = _select(
        shape,
        base,
        is_quick=source.keeps_rows,
        is_dense=has_whole_keys
        and all(_is_dense(table, opened[table.name]) for table in owned),
        has_whole_keys=has_whole_keys,
    )
    # Constants and names are written by the source: nothing of the user's text is left.
    question = question.transform(_written, source, names, secret)
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
    counted = "*"
    if table.person is not None:
        person = _person_cell(table, place, _has_whole_key(table, place))
        counted = f"DISTINCT {person}"
    return f"SELECT COUNT({counted}) FROM {place.source.rows()}"


def whose(shape: Shape, table: Table) -> str | None:
    """Return the column of a declared table that says whose row it is, where a question needs it.

    A table of people is joined by its key; asked alone, each of its rows is one person.
    """
    return table.person if shape.table.rows is None else person_column(table)


def _has_whole_key(table: Table, place: Opened) -> bool:
    """Whether the database itself keeps the people apart by whole numbers of at most 64 bits."""
    key, declared = person_cells(table)
    is_declared = declared.type in ("integer", key.type)
    return is_declared and place.types[key.name] in place.source.whole_types


def _is_dense(table: Table, place: Opened) -> bool:
    """Whether a database that reads rows twice alike counts them by the places of declared keys."""
    _, declared = person_cells(table)
    if declared.type != "integer" or declared.bounds is None:
        return False
    low, high = declared.bounds
    source = place.source
    return high - low < source.counts_by_place and not source.is_computed


def _person_cell(table: Table, place: Opened, is_whole: bool) -> str:
    """Return whose row it is."""
    source = place.source
    key, declared = person_cells(table)
    if is_whole:  # different numbers are different texts, and quicker to compare
        return source.name(key.name)
    # An empty text says nothing about whose row it is.
    whose = f"NULLIF({source.cell(key, place.types[key.name])}, {source.text('')})"
    is_one = f"{source.cell(declared, place.types[key.name])} IS NOT NULL"
    return f"CASE WHEN {is_one} THEN {whose} END"


def question_text(shape: Shape) -> str:
    """Return a question in the words of SQL, the same for every source.

    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.shapes import Sum
    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(question_text(Sum(Table("people", 9), column=age)))
    SELECT COALESCE(SUM(CASE WHEN "age" IS NULL THEN 0 WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN
    120 ELSE "age" END), 0) AS "a0", COUNT(CASE WHEN NOT "age" IS NULL THEN 1 END) AS "a1",
    COUNT(*) AS "a2" FROM "people"
    """

    def base(table: Table, names: Sequence[str]) -> Any:
        rows = exp.table_(exp.to_identifier(table.name, quoted=True))
        if table is shape.table:
            return rows
        whose = exp.alias_(quoted(person_column(table) or ""), PERSON, quoted=True)
        return exp.select(*map(quoted, names), whose).from_(rows).subquery(table.name)

    table = shape.table
    key = table.person if table.rows is None else None
    return str(_select(shape, base, key or PERSON).sql(dialect="duckdb"))


def _written(
    node: Any, source: Source, names: Mapping[str, str], secret: str = ""
) -> Any:
    """Write texts and dates as the source compares them, and columns by their names here."""
    if isinstance(node, exp.Anonymous) and node.name == KEYED_HASH:
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


def _select(
    shape: Shape,
    base: MakeBase,
    key: str = PERSON,
    *,
    is_quick: bool = False,
    is_dense: bool = False,
    has_whole_keys: bool = False,
) -> Any:
    """Return a question as SQL.

    Parameters
    ----------
    shape
        The question.
    base
        Makes the rows of a declared table.
    key
        The column that says whose row it is.
    is_quick
        Whether only rows of people with too many of them are numbered.
    is_dense
        Whether rows are soon counted by person, and alike when they are read twice.
    has_whole_keys
        Whether people are distinguished by whole numbers, not by texts.
    """
    pieces = _pieces_of(shape, key)
    table = pieces.table
    where = pieces.where
    if table.person is None or (is_one_each(table) and not shape.people):
        return pieces.grouped(relation(table, pieces.read, base), where)
    if pieces.marks:  # all rows of a person become one
        marks = _named(pieces.marks)
        people = _where(exp.select(*marks), relation(table, pieces.read, base), where)
        people = people.group_by(quoted(key))
        return pieces.grouped(people.subquery("tightrope_people"))
    # What the table of people says of a person tells none of the person's rows apart.
    theirs = person_names(table)
    of_events = [x for x in pieces.values if not _names_in(x) & theirs]
    values = pieces.values if shape.people else of_events
    named = _named(values)
    groups = [value.alias for value in named]
    person = exp.cast(quoted(key), "TEXT") if has_whole_keys else quoted(key)
    parts = [
        quoted(group) if _is_text(shape, value) else exp.cast(quoted(group), "TEXT")
        for group, value in zip(groups, values, strict=True)
    ]
    choice = Choice(
        key,
        shape.rows_per_person,
        tuple(groups if shape.people else pieces.read),
        (person, *parts) if parts else (),
        is_distinct=shape.people,
        is_quick=is_quick,
    )
    # People are counted by their first rows, which sums within each person do without.
    has_sums = not is_dense or not parts or FIRST_ROWS in pieces.targets
    if is_quick and has_sums and _is_of_events(shape, pieces):
        return _summed(pieces, choice, named, base)
    own = [] if shape.people else map(quoted, pieces.read)
    cells = [quoted(key), *own, *named]
    rows = pieces.rows(cells, base)
    # Somebody counts once in each of several groups.
    rows = rows.distinct() if shape.people else rows
    if not shape.bounds_rows:
        return pieces.grouped(rows.subquery("tightrope_people"))
    again = None
    if is_dense and not shape.people:

        def crowded(table: Table, names: Sequence[str]) -> Any:
            # Of each table, before it is joined: where nobody is crowded, none is read.
            return of_crowded(base(table, names), key)

        again = Again(pieces.events(key, base), pieces.rows(cells, crowded))
    return pieces.grouped(choice.bounded(rows, pieces.targets, again))


@dataclass(frozen=True)
class _Pieces:
    """The pieces of a question as SQL.

    Attributes
    ----------
    table
        Whose rows are read.
    read
        Its columns that the pieces name.
    places, targets
        What is grouped by, and what is computed for each group.
    where
        The whole condition on rows, if there is one.
    values
        What of a row the answer depends on; of people who are counted, the groups.
    marks
        What is computed of all rows of one person, if anything.
    """

    table: Table
    read: list[str]
    places: list[Any]
    targets: list[Any]
    where: Any
    values: list[Any]
    marks: list[Any]

    def grouped(self, rows: Any, where: Any = None) -> Any:
        """Return what is computed of rows, for each group."""
        return _by_place(self.places, self.targets, rows, where)

    def rows(self, cells: Sequence[Any], base: MakeBase) -> Any:
        """Return the rows of the question, as a SELECT."""
        rows = relation(self.table, self.read, base)
        return _where(exp.select(*cells), rows, self.where)

    def events(self, key: str, base: MakeBase) -> Any:
        """Return rows before a join, as a SELECT: nobody has more rows in the question."""
        theirs = person_names(self.table)
        parts = unnested(self.where)
        own = [part for part in parts if not _names_in(part) & theirs]
        read = [name for name in self.read if name not in theirs]
        rows = relation(_left(self.table), read, base)
        return _where(exp.select(quoted(key)), rows, exp.and_(*own))


def _pieces_of(shape: Shape, key: str) -> _Pieces:
    """Return the pieces of a question; groups of people are computed in the table of people."""
    table = shape.table
    theirs = person_names(table)
    computed: dict[str, Any] = {}
    names: dict[str, str] = {}

    def once(node: Any) -> Any:
        """Return a number that depends on the person alone as a column of the person."""
        if not _is_choice(node) or not _names_in(node) or not _names_in(node) <= theirs:
            return node
        name = names.setdefault(node.sql(), f"tightrope_place_{len(names)}")
        computed[name] = node.copy()
        return quoted(name)

    def each(nodes: Sequence[Any]) -> list[Any]:
        # Whoever has no row in the table of people has NULL there, whatever is computed of NULL.
        is_inner = isinstance(table.rows, PersonJoin) and not table.rows.outer
        return [node.transform(once) for node in nodes] if is_inner else list(nodes)

    where = _all_rows(shape, key)
    pieces = _Pieces(
        table,
        [],
        each(shape.places()),
        each(shape.targets()),
        None if where is None else each([where])[0],
        each(shape.row_places() if shape.people else shape.row_values()),
        each(shape.person_marks()),
    )
    if not computed:
        return replace(pieces, read=[column.name for column in shape.columns])
    assert isinstance(table.rows, PersonJoin)
    nodes = [*pieces.places, *pieces.targets, *pieces.values, *pieces.marks]
    nodes += [] if pieces.where is None else [pieces.where]
    named = set().union(*map(_names_in, nodes))
    own = [column.name for column in shape.columns if column.name in named]
    joined = replace(table, rows=table.rows.computing(computed))
    return replace(pieces, table=joined, read=[*own, *computed])


def _is_choice(node: Any) -> bool:
    """Whether a piece of SQL chooses among whole numbers by conditions."""
    if not isinstance(node, exp.Case) or node.this is not None:
        return False
    results = [branch.args["true"] for branch in node.args["ifs"]]
    results += [node.args["default"]] if node.args.get("default") else []
    return all(
        isinstance(result, exp.Null)
        or (isinstance(result, exp.Literal) and result.is_int)
        for result in results
    )


def _left(table: Table) -> Table:
    """Return the rows that a table is made of before the people are joined."""
    return table.rows.left if isinstance(table.rows, PersonJoin) else table


def _by_place(
    places: Sequence[Any], targets: Sequence[Any], rows: Any, where: Any
) -> Any:
    numbers = enumerate([*places, *targets])
    named = [exp.alias_(node, f"a{number}", quoted=True) for number, node in numbers]
    select = _where(exp.select(*named), rows, where)
    if places:
        select = select.group_by(*(place.copy() for place in places))
    return select


def _is_of_events(shape: Shape, pieces: _Pieces) -> bool:
    """Whether a question adds up events, in groups and for conditions of people or of events."""
    theirs = person_names(pieces.table)
    split = [*pieces.places, *unnested(pieces.where)]
    is_split = all(
        not _names_in(piece) & theirs or _names_in(piece) <= theirs for piece in split
    )
    is_by_people = all(_names_in(place) <= theirs for place in pieces.places)
    is_added = shape.adds_up and not shape.people
    is_theirs = any(_names_in(target) & theirs for target in pieces.targets)
    return is_added and is_split and is_by_people and not is_theirs


def _summed(
    pieces: _Pieces, choice: Choice, values: Sequence[Any], base: MakeBase
) -> Any:
    """Return a question as sums of the sums of each person.

    Everybody has one row before events are joined with their people: there are fewer rows to join.
    """
    table = pieces.table
    theirs = person_names(table)
    parts = unnested(pieces.where)
    of_people = [part for part in parts if _names_in(part) & theirs]
    of_events = [part for part in parts if part not in of_people]
    read = [name for name in pieces.read if name not in theirs]
    sums = [one.transform(_once) for one in pieces.targets]
    names = [f"tightrope_total_{place}" for place in range(len(sums))]
    choice = replace(choice, kept=tuple(read))

    def totals(events: Table, _: Sequence[str] = ()) -> Any:
        cells = exp.select(quoted(choice.key), *map(quoted, read), *values)
        rows = _where(cells, relation(events, read, base), exp.and_(*of_events))
        return choice.totals(rows, sums, names)

    added = [
        exp.Coalesce(this=exp.Sum(this=quoted(name)), expressions=[exp.convert(0)])
        for name in names
    ]
    if not isinstance(table.rows, PersonJoin):
        return _by_place([], added, totals(table), None)
    of_person = [name for name in pieces.read if name in theirs]
    rows = table.rows.beside(totals, of_person, names, base)
    return _by_place(pieces.places, added, rows, all_of(of_people))


def _once(node: Any) -> Any:
    """Return the number of people in the rows of one of them, which is 1."""
    return exp.convert(1) if node == FIRST_ROWS else node


def _names_in(node: Any) -> set[str]:
    """Return the columns that a piece of SQL reads."""
    return {column.name for column in node.find_all(exp.Column)}


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


def _named(values: list[Any]) -> list[Any]:
    """Return pieces of SQL with the names that they have one level further out."""
    return [exp.alias_(x, group_column(k), quoted=True) for k, x in enumerate(values)]


def _where(select: Any, table: Any, where: Any) -> Any:
    rows = select.from_(table)
    return rows if where is None else rows.where(where)


def _is_text(shape: Shape, value: Any) -> bool:
    """Whether what tells rows apart is the text of a column, and no whole number."""
    texts = {column.name for column in shape.columns if column.type == "text"}
    return isinstance(value, exp.Column) and value.name in texts
