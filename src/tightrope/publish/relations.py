"""Rows that are made of the rows of people: one number a person, and attributes beside events.

Whatever is made here of one person's rows depends on that person's rows alone: events are joined
with the one row of their person, and numbers are computed within a person. So whoever comes, goes
or changes changes the rows of one person, and the rules of
:mod:`tightrope.publish.sql_writer` bound how many of them count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.publish.sql_pieces import all_of, present, quoted

if TYPE_CHECKING:
    from tightrope.publish.facts import Column, Table

#: The column of every relation that says whose row it is.
PERSON = "tightrope_person"
#: The column of the compiled query that numbers the rows of a person.
ROW_NUMBER = "tightrope_row"

#: Makes the rows of a declared table: its columns by name, and whose row each is.
MakeBase = Callable[["Table", Sequence[str]], Any]


@dataclass(frozen=True)
class PersonNumbers:
    """One row for each person: numbers that are computed within the person's rows.

    Attributes
    ----------
    table
        Whose rows they are computed from.
    where
        Which of the rows.
    numbers
        Each number by its name, as an aggregate of the table's columns.
    used
        The columns of the table that are read.
    """

    table: Table
    where: Any
    numbers: Mapping[str, Any]
    used: tuple[str, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that the rows come from."""
        return (self.table,)

    def stored(self, names: Sequence[str]) -> list[tuple[Table, Sequence[str]]]:
        """Return the columns that are read of each declared table."""
        return stored_columns(self.table, self.used)

    def select(self, names: Sequence[str], base: MakeBase) -> Any:
        """Return the relation as SQL."""
        rows = relation(self.table, self.used, base)
        columns = [exp.alias_(self.numbers[n].copy(), n, quoted=True) for n in names]
        # Rows of nobody would form one more person.
        kept = self.where and self.where.copy()
        where = all_of([present(PERSON), kept])
        made = exp.select(*columns, quoted(PERSON)).from_(rows).where(where)
        return made.group_by(quoted(PERSON))


@dataclass(frozen=True)
class PersonJoin:
    """Rows of people, each beside the one row that a second table has of the person.

    Attributes
    ----------
    left, right
        The rows, and the table with one row for each person.
    outer
        Whether rows of people stay who have none in the second table.
    origins
        For each column whether it is of the second table, and what it is called there.
    computed
        Whole numbers that are computed of columns of the second table, by their names.
    """

    left: Table
    right: Table
    outer: bool
    origins: Mapping[str, tuple[bool, str]]
    computed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that the rows come from."""
        return (self.left, self.right)

    def _side(self, names: Sequence[str], is_right: bool) -> list[str]:
        own = (self.origins[name] for name in names if name not in self.computed)
        return [origin for side, origin in own if side is is_right]

    def computing(self, numbers: Mapping[str, Any]) -> PersonJoin:
        """Return the rows with whole numbers that are computed of the second table's columns.

        They are computed once for each person, before the join.
        """
        return dataclasses.replace(self, computed={**self.computed, **numbers})

    def _computed(self, names: Sequence[str]) -> dict[str, Any]:
        """Return those numbers as SQL of the second table's own columns."""

        def own(node: Any) -> Any:
            is_column = isinstance(node, exp.Column)
            return quoted(self.origins[node.name][1]) if is_column else node

        wanted = (name for name in names if name in self.computed)
        return {name: self.computed[name].transform(own) for name in wanted}

    def stored(self, names: Sequence[str]) -> list[tuple[Table, Sequence[str]]]:
        """Return the columns that are read of each declared table."""
        sides = ((self.left, False), (self.right, True))
        return [
            entry
            for table, is_right in sides
            for entry in stored_columns(table, self._side(names, is_right))
        ]

    def beside(
        self,
        totals: MakeBase,
        names: Sequence[str],
        sums: Sequence[str],
        base: MakeBase,
    ) -> Any:
        """Return sums over the rows of each person beside the person's row, as SQL behind FROM.

        Parameters
        ----------
        totals
            Makes the sums, from the rows.
        names, sums
            The columns of the second table, and what the sums are called.
        base
            Makes the rows of a declared table.
        """
        added = {name: (False, name) for name in sums}
        origins = dict(self.origins) | added
        summed = dataclasses.replace(self.left, rows=None)
        joined = dataclasses.replace(self, left=summed, origins=origins)

        def made(table: Table, own: Sequence[str]) -> Any:
            return totals(self.left, own) if table is summed else base(table, own)

        return joined.select([*names, *sums], made).subquery("tightrope_made")

    def select(self, names: Sequence[str], base: MakeBase) -> Any:
        """Return the relation as SQL."""
        left, right = "tightrope_left", "tightrope_right"
        rows = relation(self.left, self._side(names, False), base)
        # One row each: a second partner would multiply the rows of its person.
        computed = self._computed(names)
        partners = _one_row_each(self.right, self._side(names, True), computed, base)
        origins = {**self.origins, **{name: (True, name) for name in computed}}
        columns = [
            exp.alias_(
                exp.column(
                    exp.to_identifier(origin, quoted=True),
                    table=exp.to_identifier(right if is_right else left, quoted=True),
                ),
                name,
                quoted=True,
            )
            for name, (is_right, origin) in ((n, origins[n]) for n in names)
        ]
        keys = [
            exp.column(
                exp.to_identifier(PERSON, quoted=True),
                table=exp.to_identifier(side, quoted=True),
            )
            for side in (left, right)
        ]
        whose = exp.alias_(keys[0].copy(), PERSON, quoted=True)
        return (
            exp.select(*columns, whose)
            .from_(_called(rows, left))
            .join(
                _called(partners, right),
                on=exp.EQ(this=keys[0], expression=keys[1]),
                join_type="left" if self.outer else "inner",
            )
        )


def relation(table: Table, names: Sequence[str], base: MakeBase) -> Any:
    """Return the rows of a table as SQL behind FROM: its columns by name, and whose row it is."""
    if table.rows is None:
        return base(table, names)
    return table.rows.select(list(dict.fromkeys(names)), base).subquery(
        "tightrope_made"
    )


def stored_columns(
    table: Table, names: Sequence[str]
) -> list[tuple[Table, Sequence[str]]]:
    """Return the columns that are read of each declared table behind one."""
    return [(table, names)] if table.rows is None else table.rows.stored(names)


def declared_tables(table: Table) -> list[Table]:
    """Return the declared tables behind one."""
    if table.rows is None:
        return [table]
    return [one for inner in table.rows.tables for one in declared_tables(inner)]


def made_names(table: Table) -> list[str]:
    """Return the names of the columns of a table, and of all that it is made of."""
    own = list(table.columns)
    if table.rows is None:
        return own
    inner_names = [name for inner in table.rows.tables for name in made_names(inner)]
    return own + inner_names


def is_one_each(table: Table) -> bool:
    """Whether nobody has two rows, whatever the stored tables hold."""
    if isinstance(table.rows, PersonJoin):
        return is_one_each(table.rows.left)
    return isinstance(table.rows, PersonNumbers)


def person_names(table: Table) -> set[str]:
    """Return the columns of a table that are alike in all rows of a person."""
    if not isinstance(table.rows, PersonJoin):
        return set()
    right = {name for name, (is_right, _) in table.rows.origins.items() if is_right}
    return right | set(table.rows.computed)


def _called(rows: Any, name: str) -> Any:
    """Return a relation under another name."""
    alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    rows = rows.copy()
    rows.set("alias", alias)
    return rows


def _one_row_each(
    table: Table, names: Sequence[str], computed: Mapping[str, Any], base: MakeBase
) -> Any:
    """Return a relation with one row for each person: of several rows the least values.

    Parameters
    ----------
    table, names
        The table, and its columns that are returned.
    computed
        Whole numbers that are computed of its columns, by their names.
    base
        Makes the rows of a declared table.
    """
    used = [
        column.name
        for number in computed.values()
        for column in number.find_all(exp.Column)
    ]
    rows = relation(table, list(dict.fromkeys([*names, *used])), base)
    cells = {name: quoted(name) for name in names} | dict(computed)
    person = quoted(PERSON)
    if isinstance(table.rows, PersonNumbers):
        own = exp.select(*_aliased(cells), person).from_(rows)
        return own.subquery("tightrope_first")
    least = {
        name: _least(cell, is_truth=_is_truth(table, name))
        for name, cell in cells.items()
    }
    people = exp.select(*_aliased(least), person).from_(rows).group_by(person.copy())
    return people.subquery("tightrope_first")


def _aliased(cells: Mapping[str, Any]) -> list[Any]:
    return [exp.alias_(cell, name, quoted=True) for name, cell in cells.items()]


def _is_truth(table: Table, name: str) -> bool:
    return name in table.columns and table.columns[name].type == "boolean"


def _least(cell: Any, is_truth: bool) -> Any:
    """Return the least value of a person's rows; not every database has one of truth values."""
    if not is_truth:
        return exp.Min(this=cell)
    marks = exp.case().when(cell.copy(), exp.convert(1))
    marks = marks.when(exp.not_(cell.copy()), exp.convert(0))
    return exp.EQ(this=exp.Min(this=marks), expression=exp.convert(1))


def row_number(partition: Sequence[Any], order: Sequence[Any], name: str) -> Any:
    """Return the number of a row in its partition; by every column, so that ties are alike."""
    by = [column.copy().asc(nulls_first=False) for column in order]
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column.copy() for column in partition],
        order=exp.Order(expressions=by),
    )
    return exp.alias_(number, name, quoted=True)


def person_column(table: Table) -> str | None:
    """Return the column that says whose row it is, or that tells the rows of people apart."""
    return table.person or table.key


def person_cells(table: Table) -> tuple[Column, Column]:
    """Return the column that says whose row it is: as text, and as it is declared.

    People are distinguished by the text: as a whole number, ``1.5`` might become the person 2. What
    is not of the declared type is nobody.
    """
    from tightrope.publish.facts import Column

    name = person_column(table)
    assert name is not None
    key = Column(name, "text")
    return key, table.columns.get(name, key)
