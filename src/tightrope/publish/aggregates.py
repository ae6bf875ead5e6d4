"""Which aggregates are counts, and of what."""

from __future__ import annotations

from typing import Any

from tightrope.errors import InputError
from tightrope.publish.conditions import ConditionReader, quoted

#: The shapes, for messages.
KNOWN = (
    "COUNT(*), COUNT(DISTINCT person), SUM(column), column with COUNT(*) and GROUP BY, several "
    "COUNT(*) FILTER (WHERE …), the group with the largest count, or COUNT(*) % m"
)


def count_of(node: Any, reader: ConditionReader) -> tuple[Any, bool] | None:
    """Return the condition of a count and whether people are counted; ``None``: no count.

    >>> import sqlglot
    >>> from tightrope.publish.facts import Column, Table
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> count_of(sqlglot.parse_one("count(*) filter (where age > 3)"), reader)[0].sql()
    '"age" > 3'
    """
    from sqlglot import exp

    node = _without_default(node)
    condition: Any = None
    if isinstance(node, exp.Filter):
        condition = reader.read(node.expression.this)
        node = node.this
        return (condition, False) if _is_count_all(node) else None
    if _is_count_all(node):
        return None, False
    if isinstance(node, exp.CountIf):
        return reader.read(node.this), False
    if isinstance(node, exp.Count):
        inner = node.this
        if node.expressions:
            return None
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            column = reader.column(inner.expressions[0])
            if column.name != reader.table.person:
                raise InputError(
                    "COUNT(DISTINCT …) counts people: it takes the column that "
                    f"tables.{reader.table.name}.person names"
                )
            return None, True
        if isinstance(inner, exp.Column):
            column = reader.column(inner)
            return reader.read(exp.Is(this=inner.copy(), expression=exp.null()).not_()), False
        if isinstance(inner, exp.Case) and inner.args.get("default") is None:
            return _case(inner, reader, None)
    if isinstance(node, exp.Sum):
        inner = node.this
        if isinstance(inner, exp.Case) and _is_number(inner.args.get("default"), "0"):
            return _case(inner, reader, "1")
        if isinstance(inner, exp.Cast | exp.TryCast) and inner.to.is_type("int", "bigint"):
            return reader.read(inner.this), False
    return None


def _case(node: Any, reader: ConditionReader, one: str | None) -> tuple[Any, bool] | None:
    from sqlglot import exp

    ifs = node.args.get("ifs") or []
    if node.this is not None or len(ifs) != 1:
        return None
    result = ifs[0].args.get("true")
    fits = isinstance(result, exp.Literal) if one is None else _is_number(result, one)
    return (reader.read(ifs[0].this), False) if fits else None


def value_of(node: Any, reader: ConditionReader) -> Any:
    """Build a declared question's one value anew: an aggregate of one column.

    >>> import sqlglot
    >>> from tightrope.publish.facts import Column, Table
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> value_of(sqlglot.parse_one("max(AGE)"), reader).sql()
    'MAX("age")'
    """
    from sqlglot import exp

    node = _without_default(node)
    if _is_count_all(node):
        return exp.Count(this=exp.Star())
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
        column = reader.column(node.this.expressions[0])
        return exp.Count(this=exp.Distinct(expressions=[quoted(column.name)]))
    if isinstance(node, exp.Min | exp.Max | exp.Sum | exp.Avg) and not node.expressions:
        column = reader.column(node.this)
        if isinstance(node, exp.Min | exp.Max) or column.type in ("integer", "number"):
            return type(node)(this=quoted(column.name))
    raise InputError(
        "a question with an answer graph of its own computes COUNT, MIN, MAX, SUM or AVG of one "
        f"column, or has a known shape ({KNOWN})"
    )


def _unaliased(node: Any) -> Any:
    from sqlglot import exp

    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


def _without_default(node: Any) -> Any:
    from sqlglot import exp

    node = _unaliased(node)
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
        return node.this if _is_number(node.expressions[0], "0") else node
    return node


def _is_count_all(node: Any) -> bool:
    from sqlglot import exp

    node = _unaliased(node)
    if not isinstance(node, exp.Count) or node.expressions:
        return False
    inner = node.this
    return isinstance(inner, exp.Star) or (isinstance(inner, exp.Literal) and not inner.is_string)


def _is_number(node: Any, text: str) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Literal) and not node.is_string and node.this == text
