"""FROM: which rows of which table a SELECT is about, whatever it is written through.

``WITH``, subqueries that choose or rename columns and rows, ``UNION ALL`` of disjoint parts of one
table, and joins with public lookup tables are read through: each column of the SELECT is replaced
by what it is made of, until the question is about the columns of one declared table. A column of
a lookup table is a function of the key that the rows are joined by, so it is evaluated on the
values of the key (:mod:`tightrope.publish.values`) and no join is ever run. Joins of a table of
events with that of their people, and numbers that are computed within each person, make a table
of rows that each depend on one person alone (:mod:`tightrope.publish.relations`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Facts, Table
from tightrope.publish.lookups import public_rows
from tightrope.publish.person_numbers import number_of_person
from tightrope.publish.relations import (
    PersonJoin,
    PersonNumbers,
    declared_tables,
    person_column,
)
from tightrope.publish.sql_pieces import (
    ConditionReader,
    all_of,
    bare,
    clauses_of,
    numbered,
    quoted,
    shown_sql,
    source_of,
    unaliased,
    unnested,
)
from tightrope.publish.values import (
    Known,
    constant_of,
    declared_values,
    label,
    worked_out,
)


@dataclass(frozen=True)
class Member:
    """One thing that FROM names.

    Attributes
    ----------
    aliases
        What the SELECT may call it.
    names
        What its columns are made of, by their names in lower case; ``None`` where they are those
        of the table itself.
    """

    aliases: frozenset[str]
    table: Table
    names: Mapping[str, Any] | None = None

    def find(self, node: Any) -> Any:
        """Return what a column of this member is made of, or nothing."""
        if self.names is not None:
            # Names of a subquery hide those of the table, as in SQL.
            return self.names.get(node.name.lower())
        is_quoted = bool(node.this.args.get("quoted"))
        found = self.table.find(node.name, quoted=is_quoted)
        if found is not None:
            return quoted(found.name)
        return exp.column(node.name) if node.name in self.table.partitions else None


@dataclass(frozen=True)
class FromRows:
    """The rows that a SELECT is about.

    Attributes
    ----------
    table
        The one table, with what a join says about its columns.
    members
        What FROM names.
    wheres
        Which rows, as conditions on the columns of the table.
    rules
        What becomes of rows without a partner.
    """

    table: Table
    members: tuple[Member, ...]
    wheres: tuple[Any, ...] = ()
    rules: tuple[str, ...] = ()

    def substituted(self, tree: Any, own: frozenset[str] = frozenset()) -> Any:
        """Return SQL whose columns are those of the table.

        Parameters
        ----------
        tree
            The SQL.
        own
            Names that the SELECT gives itself: they stay where FROM has no such column.
        """

        def replaced(node: Any) -> Any:
            if not isinstance(node, exp.Column) or not isinstance(
                node.this, exp.Identifier
            ):
                return node
            made_of = self._made_of(node, own)
            if made_of is None:
                return node
            # Keep the precedence: a substituted a + b in a product needs brackets.
            plain = isinstance(made_of, exp.Column | exp.Literal)
            return made_of.copy() if plain else exp.paren(made_of)

        return tree.transform(replaced)

    def own(self, node: Any) -> Any:
        """Return what a column is made of, if it is one of these rows."""
        qualifier = node.table.lower()
        asked = [m for m in self.members if not qualifier or qualifier in m.aliases]
        found = (m.find(node) for m in asked)
        return next((made_of for made_of in found if made_of is not None), None)

    def _made_of(self, node: Any, own: frozenset[str]) -> Any:
        qualifier = node.table.lower()
        asked = [m for m in self.members if not qualifier or qualifier in m.aliases]
        found = [made_of for m in asked if (made_of := m.find(node)) is not None]
        # The same column under two aliases is not ambiguous.
        if len({made_of.sql() for made_of in found}) > 1:
            raise InputError(
                f"{node.name!r} is a column of several tables: write which, such as "
                f"{sorted(self.members[0].aliases)[0]}.{node.name}"
            )
        # A name that the SELECT defines itself, such as an alias in ORDER BY, stays.
        if found or not asked or (not qualifier and node.name.lower() in own):
            return found[0] if found else None
        hiding = [m for m in asked if m.names is not None]
        if len(hiding) == len(asked):
            known = ", ".join(name for m in hiding for name in m.names or ())
            raise InputError(
                f"column {node.name!r} is not chosen by the subquery that the question reads "
                f"(it chooses {known})"
            )
        return exp.column(node.this.copy())  # the table says what is declared


def read_rows(select: Any, facts: Facts) -> tuple[Any, FromRows]:
    """Return a SELECT on the columns of one table, and the rows that it is about.

    >>> import sqlglot
    >>> from tightrope.publish.facts import Column
    >>> age = Column("age", "integer", bounds=(0, 99))
    >>> facts = Facts({"people": Table("people", 9, columns={"age": age})})
    >>> sql = "with a as (select age / 2 as h from people where age > 17) select avg(h) from a"
    >>> select, rows = read_rows(sqlglot.parse_one(sql), facts)
    >>> select.expressions[0].sql(), [where.sql() for where in rows.wheres]
    ('AVG(("age" / 2))', ['"age" > 17'])
    """
    select = _without_with(select)
    rows = _FromReader(facts).rows(select)
    own = frozenset(
        node.alias.lower() for node in select.expressions if isinstance(node, exp.Alias)
    )
    flat = select.copy()
    # What FROM said is in `rows` now; leaving it would have it read twice.
    for word in ("from_", "from", "joins", "where", "with_", "with"):
        flat.set(word, None)
    targets = [_target(node, rows) for node in flat.expressions]
    flat.set("expressions", [])
    flat = rows.substituted(flat, own)
    flat.set("expressions", targets)
    return flat, rows


def _target(node: Any, rows: FromRows) -> Any:
    """Return a target on the columns of the table, under the name that it had."""
    made_of = rows.substituted(node)
    is_renamed = isinstance(node, exp.Column) and made_of != exp.column(made_of.name)
    if is_renamed and made_of.alias_or_name.lower() != node.name.lower():
        return exp.alias_(unaliased(made_of), node.name)
    return made_of


def _without_with(select: Any, known: Mapping[str, Any] | None = None) -> Any:
    """Return SQL whose named subqueries stand where they are named."""
    known = dict(known or {})
    select = select.copy()
    clause = select.args.get("with_") or select.args.get("with")
    for named in [] if clause is None else clause.expressions:
        # Earlier names are known to later ones, and no name is known to itself.
        known[named.alias.lower()] = _without_with(named.this, known)
    for word in ("with_", "with"):
        select.set(word, None)

    def in_place(node: Any) -> Any:
        # A qualified name is a table of the database, never a WITH.
        is_named = isinstance(node, exp.Table) and not node.db
        if not is_named or node.name.lower() not in known:
            return node
        inner = known[node.name.lower()]
        return exp.Subquery(
            this=inner.copy(),
            alias=exp.TableAlias(this=exp.to_identifier(node.alias or node.name)),
        )

    # Subqueries first: they may have names of their own.
    for inner in list(select.find_all(exp.Select)):
        if inner is not select and inner.args.get("with_"):
            inner.replace(_without_with(inner, known))
    return select.transform(in_place)


def without_layer(select: Any) -> Any:
    """Return a SELECT about the groups of a subquery as one SELECT.

    The outer one computes no aggregate, so it is arithmetic on published numbers: its columns are
    those of the subquery, and its WHERE chooses groups.

    >>> import sqlglot
    >>> sql = "select a, n / 2 from (select a, count(*) as n from t group by a) g where n > 9"
    >>> print(without_layer(sqlglot.parse_one(sql)).sql())
    SELECT a AS a, (COUNT(*)) / 2 FROM t GROUP BY a HAVING (COUNT(*)) > 9
    """
    outer = _without_with(select)
    source = source_of(outer)
    inner = source.this if isinstance(source, exp.Subquery) else None
    group = inner.args.get("group") if isinstance(inner, exp.Select) else None
    sets = (exp.Rollup, exp.Cube, exp.GroupingSets)
    is_plain = group is not None and group.find(*sets) is None
    if (
        inner is None
        or not is_plain
        or clauses_of(inner)
        - {
            "expressions",
            "from",
            "where",
            "group",
            "having",
            "qualify",
        }
    ):
        return select
    above = {"expressions", "from", "where", "order", "limit"}
    windows = [x for piece in _pieces(outer) for x in piece.find_all(exp.Window)]
    aggregates = [
        node
        for piece in _pieces(outer)
        for node in piece.find_all(exp.AggFunc)
        if not isinstance(node.parent, exp.Window)
    ]
    # A window of the outer SELECT would see the lines that its WHERE leaves, or QUALIFY inside.
    is_chosen = outer.args.get("where") is not None or inner.args.get("qualify")
    if clauses_of(outer) - above or aggregates or (windows and is_chosen):
        return select
    return _merged(outer, inner, source.alias)


def _pieces(select: Any) -> list[Any]:
    """Return what a SELECT computes, without what it reads."""
    clauses = (select.args.get(word) for word in ("where", "order"))
    return [*select.expressions, *(clause for clause in clauses if clause is not None)]


def _merged(outer: Any, inner: Any, called: str) -> Any:
    """Return a SELECT about groups with what its columns are made of in their places."""
    made_of = {x.alias_or_name.lower(): unaliased(x) for x in inner.expressions}
    chosen = []
    for node in outer.expressions:
        everything = inner.expressions if node.is_star else []
        chosen += [exp.column(x.alias_or_name) for x in everything] or [node]

    def replaced(node: Any) -> Any:
        is_own = isinstance(node, exp.Column) and node.table.lower() in (
            "",
            called.lower(),
        )
        known = made_of.get(node.name.lower()) if is_own else None
        if known is None:
            return node
        return (
            known.copy() if isinstance(known, exp.Column) else exp.paren(known.copy())
        )

    flat = inner.copy()
    targets = []
    for node in chosen:
        name = node.alias_or_name
        target = unaliased(unaliased(node).copy().transform(replaced))
        is_alone = isinstance(unaliased(node), exp.Column)
        target = bare(target) if is_alone else target
        targets.append(exp.alias_(target, name) if name else target)
    flat.set("expressions", targets)
    keys = []
    for key in inner.args["group"].expressions:
        term = unaliased(numbered(key, inner.expressions))
        is_name = isinstance(term, exp.Column) and not term.table
        keys.append((made_of.get(term.name.lower(), term) if is_name else term).copy())
    flat.set("group", exp.Group(expressions=keys))
    for word in ("having", "qualify"):
        if flat.args.get(word) is not None:
            flat.args[word].set("this", _without_names(inner.args[word].this, made_of))
    where = outer.args.get("where")
    if where is not None:
        condition = where.this.copy().transform(replaced)
        # WHERE chooses among the lines that the windows inside are over.
        is_late = inner.find(exp.Window) is not None
        word, kind = ("qualify", exp.Qualify) if is_late else ("having", exp.Having)
        known = [] if flat.args.get(word) is None else [flat.args[word].this]
        flat.set(word, kind(this=all_of([*known, condition])))
    names = {node.alias_or_name.lower() for node in chosen}
    order = outer.args.get("order")
    if order is not None:
        # ORDER BY knows the names of the lines first.
        flat.set(
            "order",
            order.copy().transform(
                lambda node: node if node.name.lower() in names else replaced(node)
            ),
        )
    flat.set("limit", outer.args.get("limit"))
    return flat


def _without_names(condition: Any, made_of: Mapping[str, Any]) -> Any:
    """Return a condition on lines with what its names are made of in their places."""
    condition = exp.paren(condition.copy())
    for column in list(condition.find_all(exp.Column)):
        known = made_of.get(column.name.lower())
        # Inside an aggregate a name is a column of the rows.
        if known is not None and column.find_ancestor(exp.AggFunc) is None:
            column.replace(exp.paren(known.copy()))
    return condition


class _FromReader:
    """Reads what stands behind FROM."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def rows(self, select: Any) -> FromRows:
        """Return the rows of one SELECT, with its WHERE."""
        rows = self._member(source_of(select))
        for join in select.args.get("joins") or []:
            rows = self._joined(rows, join)
        where = select.args.get("where")
        if where is None:
            return rows
        return replace(rows, wheres=(*rows.wheres, rows.substituted(where.this)))

    def _member(self, source: Any) -> FromRows:
        if isinstance(source, exp.Subquery):
            return self._chosen(source)
        table = self._table(source)
        # A public table alone has no people to protect: its database can be asked for free.
        if table.public:
            raise InputError(
                f"table {table.name!r} is public: ask its database, or join it with the table of "
                "people on its key"
            )
        called = _called(source, table)
        return FromRows(table, (Member(called, table),))

    def _table(self, source: Any) -> Table:
        if not isinstance(source, exp.Table) or not isinstance(
            source.this, exp.Identifier
        ):
            raise InputError(
                f"the question must read one declared table, got FROM {shown_sql(source)}: "
                "functions and files are not read"
            )
        name = f"{source.db}.{source.name}" if source.db else source.name
        for table in self.facts.tables.values():
            if table.name == name or (table.relation or "").lower() == name.lower():
                return table
        is_default = source.db in ("main", "public", "default")  # as Ibis writes it
        if is_default and name.lower() not in map(str.lower, self.facts.tables):
            name = source.name
        return self.facts.table(name, quoted=bool(source.this.args.get("quoted")))

    # -- subqueries -----------------------------------------------------------------------

    def _chosen(self, source: exp.Subquery) -> FromRows:
        """Return the rows of a subquery that chooses or renames columns and rows."""
        inner = source.this
        if isinstance(inner, exp.Union):
            return self._parts(source)
        if isinstance(inner, exp.Select) and inner.args.get("group"):
            return self._person_rows(source)
        # LIMIT or DISTINCT inside make one row decide about another: sensitivity is unbounded.
        more = clauses_of(inner) & {"having", "order", "limit", "distinct"}
        if not isinstance(inner, exp.Select) or more:
            what = ", ".join(sorted(more)).upper() or inner.key.upper()
            raise InputError(
                "a subquery may choose or rename columns and rows of a table, or compute numbers "
                f"for each person; it has {what}: write that in the SELECT around it, where it is "
                "asked"
            )
        rows = self.rows(inner)
        names = _chosen_names(inner, rows)
        member = Member(frozenset({source.alias.lower()}), rows.table, names)
        return replace(rows, members=(member,))

    def _person_rows(self, source: exp.Subquery) -> FromRows:
        """Return one row for each person: a subquery that groups by the person."""
        inner = source.this
        rows = self.rows(inner)
        person = person_column(rows.table)
        keys = [
            unaliased(rows.substituted(key)) for key in inner.args["group"].expressions
        ]
        more = clauses_of(inner) & {"order", "limit", "distinct"}
        # Grouped by the person, each result row depends on one person only.
        if person is None or more or [key.name for key in keys] != [person]:
            raise InputError(
                "a subquery groups by the person alone, and its numbers are one for each person"
                f"{'' if person is None else f' ({person})'}; groups of people are asked for in "
                f"the outer SELECT; got {shown_sql(inner.args['group'])}. Over groups that are "
                "published there are windows, such as AVG(COUNT(*)) OVER ()"
            )
        having = inner.args.get("having")
        if having is None:
            return person_rows(source, rows, person)
        # Whoever is chosen by a number of theirs: the number is one more column, and WHERE chooses.
        source = source.copy()
        condition = _with_numbers(source.this, having.this)
        chosen = person_rows(source, rows, person)
        return replace(chosen, wheres=(chosen.substituted(condition),))

    def _parts(self, source: exp.Subquery) -> FromRows:
        """Return the rows of a UNION ALL of disjoint parts of one table."""
        selects = list(_branches(source.this))
        read = [
            self._chosen(exp.Subquery(this=one, alias=source.args["alias"]))
            for one in selects
        ]
        first = read[0]
        for rows in read[1:]:
            if rows.table != first.table or rows.members != first.members:
                raise InputError(
                    "UNION ALL is known of parts of one table that choose the same columns"
                )
        conditions = [all_of(rows.wheres) for rows in read]
        # Overlapping parts would count a person twice, and double the sensitivity.
        for one, other in itertools.combinations(conditions, 2):
            if not _exclude_each_other(one, other, first.table):
                raise InputError(
                    "UNION ALL counts a row twice that is in two parts: their WHERE must exclude "
                    "each other on a column with declared values; got "
                    f"{shown_sql(one)} and {shown_sql(other)}"
                )
        return replace(first, wheres=(exp.or_(*conditions),))

    # -- joins ----------------------------------------------------------------------------

    def _joined(self, rows: FromRows, join: exp.Join) -> FromRows:
        """Return rows beside what another table says about them."""
        other = join.this
        side = str(join.args.get("side") or "").upper()
        kind = str(join.args.get("kind") or "INNER").upper()
        is_public = isinstance(other, exp.Table) and self._table(other).public
        # A FULL join keeps rows without a person, which no contribution bound covers, and so does
        # a RIGHT join with a public table.
        sides = ("", "LEFT") if is_public else ("", "LEFT", "RIGHT")
        if side not in sides or kind not in ("INNER", "OUTER"):
            raise InputError(
                "tables are joined by JOIN or LEFT JOIN, those of people also by RIGHT JOIN, got "
                f"{shown_sql(join)}"
            )
        if is_public:
            return self._with_public(rows, join, self._table(other), side != "LEFT")
        if side == "RIGHT":  # the same rows as a LEFT JOIN, written the other way round
            return self._with_person(self._member(other), rows, join, True)
        return self._with_person(rows, self._member(other), join, side == "LEFT")

    def _with_public(
        self, rows: FromRows, join: exp.Join, table: Table, is_inner: bool
    ) -> FromRows:
        """Return rows beside what a public table says about them."""
        called = _called(join.this, table)
        key = self._key(rows, join, Member(called, table))
        column = rows.table.column(key.name, quoted=True)
        listed = public_rows(table, column.type)
        known = tuple(listed)
        if column.type not in ("text", "integer"):
            raise InputError(
                f"table {table.name!r} is joined by a column of texts or whole numbers, "
                f"{column.name!r} is of type {column.type}"
            )
        if column.values is None and column.bounds is None:
            # Every value that the public table has is public.
            # The public table is data that everybody knows, so its keys may be listed as values.
            keys = tuple(key for key in map(label, known) if key is not None)
            column = replace(column, values=keys)
        made = replace(rows.table, columns={**rows.table.columns, column.name: column})
        names = {
            # The join becomes a CASE over public constants: no second table is run with the people.
            name.lower(): _by_key(
                key, {value: row[name] for value, row in listed.items()}
            )
            for name in next(iter(listed.values()), {})
        }
        names[(table.key or "").lower()] = key
        has_partner = key.copy().isin(*(constant_of(value) for value in known))
        fate = "left out" if is_inner else "without its values"
        return FromRows(
            made,
            (*rows.members, Member(called, made, names)),
            (*rows.wheres, *([has_partner] if is_inner else [])),
            (*rows.rules, f"rows without a partner in {table.name} {fate}"),
        )

    def _with_person(
        self, rows: FromRows, other: FromRows, join: exp.Join, is_outer: bool
    ) -> FromRows:
        """Return rows of people, each beside the one row that another table has of the person."""
        # A join across accounts would let one person's row affect many of another's.
        if rows.table.account != other.table.account:
            raise InputError(
                f"tables {rows.table.name!r} and {other.table.name!r} are not declared to be about "
                "the same people: a private table is joined with that of its people "
                f"(tables.{rows.table.name}.people), any other if it is public"
            )
        if not _is_one_each(other.table):
            # Events × events of one person is quadratic in the rows: no bound on contributions.
            if is_outer or not _is_one_each(rows.table):
                raise InputError(
                    "one table of events is joined with one of their people, by the person alone: "
                    f"{other.table.name!r} has several rows for a person; compute one number for "
                    "each person in a subquery, GROUP BY the person"
                )
            rows, other = other, rows  # the events first, whoever is written first
        if {t.name for t in declared_tables(rows.table)} & {
            t.name for t in declared_tables(other.table)
        }:
            raise InputError(
                f"table {other.table.name!r} is joined with itself, which is not offered"
            )
        # Conditions on the optional side would turn the LEFT JOIN into an inner one.
        if is_outer and other.wheres:
            raise InputError(
                "LEFT JOIN takes a table or numbers of each person: choose the rows in the WHERE "
                "of the question"
            )
        self._check_person(rows, other, join)
        return joined_by_person(rows, other, is_outer)

    def _check_person(self, rows: FromRows, other: FromRows, join: exp.Join) -> None:
        """Refuse a join by anything but the person."""
        using = join.args.get("using")
        on = bare(join.args.get("on"))
        keys = [person_column(side.table) for side in (rows, other)]
        found: list[str] = []
        if using and len(using) == 1:
            name = exp.column(using[0].copy())
            made_of = [side.substituted(name) for side in (rows, other)]
            found = [node.name for node in made_of]
        elif isinstance(on, exp.EQ):
            both = FromRows(rows.table, (*rows.members, *other.members))
            sides = [bare(on.this), bare(on.expression)]
            for members in (rows.members, other.members):
                mine = [
                    made_of.name
                    for side in sides
                    if isinstance(side, exp.Column)
                    for made_of in [replace(both, members=members).own(side)]
                    if made_of is not None
                ]
                found += mine[:1]
        # Any other condition could match rows of different people with each other.
        if found != keys:
            raise InputError(
                "tables of people are joined by the person alone: ON "
                f"{rows.table.name}.{keys[0]} = {other.table.name}.{keys[1]}"
            )

    def _key(self, rows: FromRows, join: exp.Join, other: Member) -> Any:
        """Return the column of the rows that a public table is joined by."""
        table = other.table
        using = join.args.get("using")
        on = bare(join.args.get("on"))
        sides: list[Any] = []
        if using and len(using) == 1:
            sides = [
                exp.column(using[0].copy(), table=table.name),
                exp.column(using[0].copy()),
            ]
        elif isinstance(on, exp.EQ):
            sides = [bare(on.this), bare(on.expression)]
            sides = sides if all(isinstance(x, exp.Column) for x in sides) else []
        mine = [
            side
            for side in sides
            if not side.table and any(m.find(side) is not None for m in rows.members)
        ]
        is_key = [
            side.name.lower() == (table.key or "").lower()
            and side not in mine
            and (not side.table or side.table.lower() in other.aliases)
            for side in sides
        ]
        # Exactly one side is the key of the public table: keys are unique, so no row multiplies.
        if is_key not in ([True, False], [False, True]):
            raise InputError(
                f"table {table.name!r} is joined by its key alone: ON … = {table.name}.{table.key}"
            )
        made_of = unaliased(rows.substituted(sides[is_key.index(False)]))
        if not isinstance(made_of, exp.Column):
            raise InputError(
                f"table {table.name!r} is joined by a column, got {shown_sql(made_of)}"
            )
        return made_of


# -- rows of people -----------------------------------------------------------------------------


def _is_one_each(table: Table) -> bool:
    """Whether a table has one row for each person."""
    if isinstance(table.rows, PersonJoin):
        return _is_one_each(table.rows.left)
    return isinstance(table.rows, PersonNumbers) or table.person is None


def joined_by_person(rows: FromRows, other: FromRows, is_outer: bool) -> FromRows:
    """Return rows beside the one row that another table has of their person.

    A condition on the rows of the other table holds before the join, as in its subquery.
    """
    left = rows.table
    right = other.table
    taken = {name.lower() for name in left.columns}
    origins = {name: (False, name) for name in left.columns}
    columns = dict(left.columns)
    renamed: dict[str, str] = {}
    for name, column in right.columns.items():
        # Columns of both tables live in one namespace; a clash is resolved by the table's name.
        own = f"{right.name}.{name}" if name.lower() in taken else name
        renamed[name] = own
        origins[own] = (True, name)
        # Whoever has no row there has no value, whatever the facts say of those who have.
        outer = column.within
        # The column of that name is another table's.
        is_cut_off = outer is not None and outer.name.lower() in taken
        columns[own] = replace(
            column,
            name=own,
            complete=column.complete and not is_outer,
            within=None if is_cut_off else outer,
        )
    made = replace(
        left,
        columns=columns,
        person=person_column(left),
        rows=PersonJoin(left, right, is_outer, origins),
    )

    def called(node: Any) -> Any:
        if isinstance(node, exp.Column) and node.name in renamed:
            return quoted(renamed[node.name])
        return node

    def beside(member: Member) -> Member:
        if member.names is None:
            names: Any = {name.lower(): quoted(own) for name, own in renamed.items()}
        else:
            names = {n: x.copy().transform(called) for n, x in member.names.items()}
        return replace(member, table=made, names=names)

    wheres = [where.copy().transform(called) for where in other.wheres]
    fate = "without its values" if is_outer else "left out"
    rules = [f"rows without a person in {right.name} {fate}"]
    if right.rows is None:
        rules.append(f"of several rows of one person in {right.name} the first")
    mine = tuple(replace(m, table=made) for m in rows.members)
    return FromRows(
        made,
        (*mine, *map(beside, other.members)),
        (*rows.wheres, *wheres),
        (*rows.rules, *other.rules, *rules),
    )


def person_rows(source: exp.Subquery, rows: FromRows, person: str) -> FromRows:
    """Return one row for each person, with numbers that are computed within their rows."""
    table = rows.table
    reader = ConditionReader(table, set())
    wheres = [reader.named(condition) for condition in rows.wheres]
    where = all_of([reader.read(condition) for condition in wheres])
    key = reader.column(quoted(person))
    # After grouping, nobody is known to have a row: completeness does not carry over.
    columns = {person: replace(key, complete=False)}
    numbers = {person: exp.Min(this=quoted(person))}
    names: dict[str, Any] = {}
    rules = dict.fromkeys(rows.rules)
    for node in source.this.expressions:
        name = node.alias_or_name
        if not name:
            raise InputError(
                f"name the column {shown_sql(node)} of the subquery with AS"
            )
        made_of = reader.named(unaliased(rows.substituted(node)))
        if isinstance(made_of, exp.Column) and made_of.name == person:
            names[name.lower()] = quoted(person)
            continue
        number, column = number_of_person(made_of, name, reader)
        own = name if name.lower() != person.lower() else f"{name} of {table.name}"
        columns[own] = replace(column, name=own)
        numbers[own] = number
        names[name.lower()] = quoted(own)
    rules |= reader.rules
    made = PersonNumbers(table, where, numbers, tuple(reader.used))
    # One row for each person: so many count.
    # One row per person now, and partitions of the events no longer apply.
    single = replace(
        table, columns=columns, contributions=1, partitions={}, rows=made, person=person
    )
    member = Member(frozenset({source.alias.lower()}), single, names)
    return FromRows(single, (member,), (), tuple(rules))


def _with_numbers(select: Any, having: Any) -> Any:
    """Return HAVING on columns of a SELECT, which has its aggregates as columns now."""
    named = {x.alias.lower(): x for x in select.expressions if isinstance(x, exp.Alias)}
    condition = exp.paren(having.copy())
    for aggregate in list(condition.find_all(exp.AggFunc)):
        name = f"number {len(select.expressions) + 1}"
        known = exp.to_identifier(name, quoted=True)
        select.append("expressions", exp.alias_(aggregate.copy(), known))
        aggregate.replace(quoted(name))
    # Aliases stay: they are columns of the subquery.
    for column in list(condition.find_all(exp.Column)):
        if column.table and column.name.lower() not in named:
            column.set("table", None)
    return condition


def _called(source: Any, table: Table) -> frozenset[str]:
    """Return what a SELECT may call a table."""
    names = {source.alias} if source.alias else {source.name, table.name}
    return frozenset(map(str.lower, names))


def _by_key(key: Any, values: Mapping[Any, Any]) -> Any:
    """Return a column of a lookup table as a function of the key."""
    case = exp.Case(this=key.copy())
    # A missing public value needs no branch: CASE yields NULL without one.
    for known, value in values.items():
        if value is not None:
            case = case.when(constant_of(known), constant_of(value), copy=False)
    return case if case.args.get("ifs") else exp.null()


def _chosen_names(select: Any, rows: FromRows) -> dict[str, Any]:
    """Return what the columns of a subquery are made of, by their names."""
    names: dict[str, Any] = {}
    for node in select.expressions:
        if isinstance(node, exp.Star):
            if len(rows.members) > 1:
                raise InputError(
                    "a subquery that joins tables names its columns: * is of several tables"
                )
            (member,) = rows.members
            if member.names is not None:
                names |= member.names
            else:
                names |= {name.lower(): quoted(name) for name in member.table.columns}
                names |= {
                    name.lower(): exp.column(name) for name in member.table.partitions
                }
            continue
        if not node.alias_or_name:
            raise InputError(
                f"name the column {shown_sql(node)} of the subquery with AS"
            )
        names[node.alias_or_name.lower()] = unaliased(rows.substituted(node))
    return names


def _branches(union: Any) -> Iterator[Any]:
    """Yield the SELECTs of a UNION ALL."""
    if isinstance(union, exp.Union):
        # UNION removes duplicates across people: one person's row hides another's.
        if union.args.get("distinct"):
            raise InputError(
                "UNION leaves out rows that are alike, so one row decides about another: write "
                "UNION ALL"
            )
        yield from _branches(union.this)
        yield from _branches(union.expression)
    else:
        yield union.this if isinstance(union, exp.Subquery) else union


def _exclude_each_other(one: Any, other: Any, table: Table) -> bool:
    """Whether no row within the public facts satisfies two conditions.

    Decided on the declared values of one column: of each condition those parts count that are
    about this column alone.
    """
    if one is None or other is None:
        return False
    for column in table.columns.values():
        mine = [_parts_about(column.name, condition) for condition in (one, other)]
        if not all(mine):
            continue
        parts = list(itertools.chain(*mine))
        with contextlib.suppress(
            InputError
        ):  # nothing declared, no known function: no proof
            # NULL is possible whatever is declared, so it is tested as well.
            values = [*declared_values(column, table, "UNION ALL"), None]
            # Exhaustive check over declared values is a proof of disjointness, not a heuristic.
            if not any(_all_hold(parts, value) for value in values):
                return True
    return False


def _all_hold(parts: Sequence[Any], value: Known) -> bool:
    """Whether conditions on one column all hold for a value."""
    return all(worked_out(part, lambda node: value) is True for part in parts)


def _parts_about(name: str, condition: Any) -> list[Any]:
    """Return the parts of a conjunction that are about one column alone."""
    return [
        part
        for part in unnested(condition)
        if {column.name for column in part.find_all(exp.Column)} == {name}
    ]
