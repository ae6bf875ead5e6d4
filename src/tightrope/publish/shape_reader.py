"""From SQL or an Ibis expression to a shape: one SELECT on one declared table, and no more."""

from __future__ import annotations

from typing import Any

from tightrope.errors import InputError
from tightrope.publish.aggregates import (
    KNOWN,
    _is_count_all,
    _is_number,
    _unaliased,
    _without_default,
    count_of,
    value_of,
)
from tightrope.publish.allowed_sql import check_pieces
from tightrope.publish.conditions import ConditionReader
from tightrope.publish.facts import Facts, Table
from tightrope.publish.shapes import Kind, Shape

#: Longest SQL text.
TEXT_LIMIT = 100_000

_SELECT_PARTS = ("expressions", "from_", "from", "where", "group", "order", "limit")


def read_shape(sql: Any, facts: Facts, dialect: str = "duckdb", *, declared: bool = False) -> Shape:
    """Understand a question, or refuse it before anything is read.

    Parameters
    ----------
    sql
        The text of one SELECT, or an Ibis expression.
    facts
        The public facts; the table and every column must be declared there.
    dialect
        The SQL dialect, by sqlglot's name.
    declared
        Whether the user names the answer graph, so that any one safe number or value will do.

    Examples
    --------
    >>> facts = Facts({"people": Table("people", 100)})
    >>> read_shape("select count(*) from people", facts).question
    'count(100)'
    >>> read_shape("drop table people", facts)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the question must be one SELECT, got DROP: nothing else is run
    """
    if not isinstance(sql, str):
        sql, dialect = _compiled(sql), "duckdb"
    select = _one_select(sql, dialect)
    shape = _Reader(facts).shape(select, declared)
    # Last, because the reader's own refusals say more.
    check_pieces(select)
    return shape


def _compiled(expression: Any) -> str:
    if not hasattr(expression, "op"):
        raise InputError(
            f"the question must be SQL or an Ibis expression, got {type(expression).__name__}"
        )
    import ibis

    return str(ibis.to_sql(expression, dialect="duckdb"))


def _one_select(sql: str, dialect: str) -> Any:
    import sqlglot
    from sqlglot import errors, exp

    if len(sql) > TEXT_LIMIT:
        raise InputError(f"SQL has at most {TEXT_LIMIT} characters, got {len(sql)}")
    try:
        parsed = [node for node in sqlglot.parse(sql, read=dialect) if node is not None]
    except (errors.SqlglotError, RecursionError) as wrong:
        line = " ".join(str(wrong).split())[:160]
        raise InputError(f"this is not SQL that can be read: {line}") from None
    if len(parsed) != 1:
        raise InputError(f"the question must be one SELECT, got {len(parsed)} statements")
    if not isinstance(parsed[0], exp.Select):
        raise InputError(
            f"the question must be one SELECT, got {parsed[0].key.upper()}: nothing else is run"
        )
    return parsed[0]


class _Reader:
    """Takes one SELECT apart."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.aliases: set[str] = set()
        self.wheres: list[Any] = []

    def shape(self, select: Any, declared: bool) -> Shape:
        select = _without_winner_layers(select)
        table = self._table(select)
        reader = ConditionReader(table, self.aliases)
        where = _all_of([reader.read(condition) for condition in self.wheres])
        targets = [_unaliased(node) for node in select.expressions]
        found = self._grouped(select, targets, reader)
        if found is None and not _parts(select) & {"group", "order", "limit"}:
            found = self._plain(targets, reader)
            if found is None and declared and len(targets) == 1:
                found = {"kind": Kind.DECLARED, "expression": value_of(targets[0], reader)}
        if found is None:
            raise InputError(f"this SELECT has no known shape; known are: {KNOWN}")
        if found["kind"] is Kind.COUNT:
            where = _all_of([where, found.pop("condition", None)])
        return Shape(table=table, where=where, used=tuple(reader.used), **found)

    # -- where it reads -------------------------------------------------------------------

    def _table(self, select: Any) -> Table:
        from sqlglot import exp

        _check_parts(select)
        source = _from(select)
        where = select.args.get("where")
        if where is not None:
            self.wheres.append(where.this)
        if isinstance(source, exp.Subquery):
            self._remember(source)
            inner = source.this
            if not isinstance(inner, exp.Select) or _parts(inner) & {"group", "order", "limit"}:
                raise InputError("a subquery may only choose rows of the one table")
            for node in inner.expressions:
                if not isinstance(node, exp.Star | exp.Column):
                    raise InputError("a subquery may only choose rows of the one table")
            return self._table(inner)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise InputError(
                f"the question must read one declared table, got FROM {_shown(source)}: functions "
                "and files are not read"
            )
        extra = [k for k, v in source.args.items() if v and k not in ("this", "db", "alias")]
        if extra:
            raise InputError(f"FROM names a table, nothing more; got {_shown(source)}")
        name = f"{source.db}.{source.name}" if source.db else source.name
        table = self._declared(name, source)
        self._remember(source)
        self.aliases |= {source.name, table.name}
        return table

    def _declared(self, name: str, source: Any) -> Table:
        for table in self.facts.tables.values():
            if table.name == name:
                return table
            if table.relation is not None and table.relation.lower() == name.lower():
                return table
        is_quoted = bool(source.this.args.get("quoted"))
        if source.db and name.lower() not in map(str.lower, self.facts.tables):
            # What Ibis writes for a table of the default schema.
            if source.db not in ("main", "public", "default"):
                return self.facts.table(name, quoted=is_quoted)
            name = source.name
        return self.facts.table(name, quoted=is_quoted)

    def _remember(self, source: Any) -> None:
        alias = source.args.get("alias")
        if alias is None:
            return
        if alias.args.get("columns"):
            raise InputError("columns are not renamed in FROM")
        self.aliases.add(alias.name)

    # -- what it asks ---------------------------------------------------------------------

    def _grouped(self, select: Any, targets: list[Any], reader: ConditionReader) -> Any:
        from sqlglot import exp

        group = select.args.get("group")
        if group is None:
            return None
        if [k for k, v in group.args.items() if v and k != "expressions"]:
            raise InputError("GROUP BY takes one declared column")
        keys = group.expressions
        columns = [node for node in targets if isinstance(node, exp.Column)]
        if len(keys) != 1 or len(columns) != 1:
            raise InputError("GROUP BY takes one declared column, which SELECT names too")
        key = keys[0]
        if isinstance(key, exp.Literal) and not key.is_string:
            position = int(key.this) if key.this.isdigit() else 0
            key = targets[position - 1] if 1 <= position <= len(targets) else key
        column = reader.column(columns[0])
        if not isinstance(key, exp.Column) or reader.column(key) != column:
            raise InputError("GROUP BY takes one declared column, which SELECT names too")
        others = [node for node in targets if node is not columns[0]]
        if len(targets) == 2 and not select.args.get("limit"):
            return {"kind": Kind.GROUPS, "column": column} if _is_count_all(others[0]) else None
        if len(targets) == 1 and self._asks_for_most(select, column, reader):
            return {"kind": Kind.MOST, "column": column}
        return None

    def _asks_for_most(self, select: Any, column: Any, reader: ConditionReader) -> bool:
        from sqlglot import exp

        limit, order = select.args.get("limit"), select.args.get("order")
        if order is None or not isinstance(limit, exp.Limit) or not _is_one(limit.expression):
            return False
        first, *rest = order.expressions
        ties = [reader.column(term.this) == column for term in rest]
        return _is_count_all(first.this) and bool(first.args.get("desc")) and all(ties)

    def _plain(self, targets: list[Any], reader: ConditionReader) -> Any:
        from sqlglot import exp

        if len(targets) > 1:
            counts = [count_of(node, reader) for node in targets]
            if any(count is None or count[1] for count in counts):
                return None
            return {
                "kind": Kind.COUNTS,
                "conditions": tuple(count[0] for count in counts if count is not None),
            }
        target = targets[0]
        if isinstance(target, exp.Mod):
            count, modulus = count_of(target.this, reader), target.expression
            if count is None or count[0] is not None or count[1]:
                return None
            if not isinstance(modulus, exp.Literal) or not modulus.this.isdigit():
                return None
            if not 2 <= int(modulus.this) <= 10**9:
                raise InputError(f"a modulus is a whole number of at least 2, got {modulus.this}")
            return {"kind": Kind.MODULO, "modulus": int(modulus.this)}
        count = count_of(target, reader)
        if count is not None:
            condition, people = count
            return {"kind": Kind.COUNT, "people": people, "condition": condition}
        total = _without_default(target)
        if isinstance(total, exp.Sum) and isinstance(total.this, exp.Column):
            return {"kind": Kind.SUM, "column": reader.column(total.this)}
        return None


def _without_winner_layers(select: Any) -> Any:
    """Undo the two subqueries that Ibis puts around the group with the largest count."""
    from sqlglot import exp

    middle = _from(select)
    if not isinstance(middle, exp.Subquery) or len(select.expressions) != 1:
        return select
    if _parts(select) - {"expressions", "from_", "from"}:
        return select
    middle = middle.this
    if not isinstance(middle, exp.Select) or "limit" not in _parts(middle):
        return select
    plain = {"expressions", "from_", "from", "order", "limit"}
    if [type(node) for node in middle.expressions] != [exp.Star] or "order" not in _parts(middle):
        return select
    if _parts(middle) - plain:
        return select
    inner = _from(middle)
    if not isinstance(inner, exp.Subquery) or not isinstance(inner.this, exp.Select):
        return select
    groups, (first, *rest) = inner.this, middle.args["order"].expressions
    names = {node.alias_or_name: _unaliased(node) for node in groups.expressions}
    key, count = names.get(select.expressions[0].name), names.get(first.this.name)
    if key is None or count is None or rest or "group" not in _parts(groups):
        return select
    if _parts(groups) & {"order", "limit"}:
        return select
    flat = groups.copy()
    # GROUP BY 1 must go on naming the key, wherever it stood.
    flat.set("expressions", [key.copy()])
    flat.set("group", exp.Group(expressions=[key.copy()]))
    ordered = exp.Ordered(this=count.copy(), desc=bool(first.args.get("desc")))
    flat.set("order", exp.Order(expressions=[ordered]))
    flat.set("limit", middle.args["limit"].copy())
    return flat


def _all_of(conditions: list[Any]) -> Any:
    from sqlglot import exp

    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def _parts(select: Any) -> set[str]:
    return {key for key, value in select.args.items() if value}


def _check_parts(select: Any) -> None:
    extra = sorted(_parts(select) - set(_SELECT_PARTS))
    if extra:
        words = ", ".join(word.rstrip("_").upper() for word in extra)
        raise InputError(f"the question must be a plain SELECT on one table, got {words}")
    if not select.expressions:
        raise InputError("the question must be a plain SELECT on one table")


def _from(select: Any) -> Any:
    clause = select.args.get("from_") or select.args.get("from")
    return None if clause is None else clause.this


def _is_one(node: Any) -> bool:
    return _is_number(node, "1")


def _shown(node: Any) -> str:
    return "nothing" if node is None else node.sql()[:80]
