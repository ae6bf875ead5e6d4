"""Conditions in SQL: read by an allow-list, then built anew.

What a user wrote is never sent to a database. A condition is taken apart; each piece must be of
a kind named here, each column declared, each constant of the column's type; and a new condition
is built from what was understood. The kinds are chosen so that no row can make them fail:
comparisons, membership, NULL tests and logic. Arithmetic can overflow and casts can fail on one
person's value, and a failure that depends on the data is itself an answer. Texts are compared
for equality only, because their order differs between databases.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Table, Value

if TYPE_CHECKING:
    from sqlglot import exp

#: Deepest nesting, and largest number of constants in a list.
DEPTH_LIMIT, LIST_LIMIT = 200, 10_000

_ORDERED = ("integer", "number", "date")


class ConditionReader:
    """Takes conditions on one table apart and builds them anew.

    Parameters
    ----------
    table
        The table with its declared columns.
    aliases
        The names by which the SQL may call the table.

    Examples
    --------
    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> reader.read(sqlglot.parse_one("AGE >= 18 and people.age < 65")).sql()
    '"age" >= 18 AND "age" < 65'
    >>> reader.read(sqlglot.parse_one("age / 0 > 1"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a condition may compare a column with constants or another
    column, test for NULL, and use IN, BETWEEN, AND, OR, NOT; got age / 0
    """

    def __init__(self, table: Table, aliases: set[str]) -> None:
        self.table = table
        self.aliases = {alias.lower() for alias in aliases}
        self.used: dict[str, Column] = {}

    def read(self, node: exp.Expression, depth: int = 0) -> exp.Expression:
        """Return the condition built anew."""
        from sqlglot import exp

        if depth > DEPTH_LIMIT:
            raise InputError(f"a condition is nested at most {DEPTH_LIMIT} deep")
        if isinstance(node, exp.Paren):
            return exp.Paren(this=self.read(node.this, depth + 1))
        if isinstance(node, exp.Not):
            return exp.Not(this=self.read(node.this, depth + 1))
        if isinstance(node, exp.And | exp.Or):
            both = [self.read(part, depth + 1) for part in (node.this, node.expression)]
            kind = exp.And if isinstance(node, exp.And) else exp.Or
            return kind(this=both[0], expression=both[1])
        if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            return self._comparison(node)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            column = self._column(node.this)
            low, high = (
                self._constant(node.args[end], column, ordered=True) for end in ("low", "high")
            )
            return exp.Between(this=quoted(column.name), low=low, high=high)
        if isinstance(node, exp.In):
            return self._membership(node)
        if isinstance(node, exp.Is):
            return self._test(node)
        if isinstance(node, exp.Column):
            column = self._column(node)
            if column.type == "boolean":
                return exp.EQ(this=quoted(column.name), expression=exp.true())
        raise _refusal(node)

    def column(self, node: exp.Expression) -> Column:
        """Return the declared column that a piece of SQL names."""
        return self._column(node)

    # -- pieces ---------------------------------------------------------------------------

    def _comparison(self, node: Any) -> exp.Expression:
        from sqlglot import exp

        kind: type[exp.Expression] = type(node)
        ordered = not isinstance(node, exp.EQ | exp.NEQ)
        left, right = _bare(node.this), _bare(node.expression)
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            first, second = self._column(left), self._column(right)
            if not _comparable(first, second) or (ordered and first.type not in _ORDERED):
                raise InputError(
                    f"columns {first.name!r} ({first.type}) and {second.name!r} ({second.type}) "
                    "cannot be compared like this"
                )
            both = [quoted(first.name), quoted(second.name)]
            if "number" in (first.type, second.type):
                both = [exp.cast(one, "DOUBLE") for one in both]
            return kind(this=both[0], expression=both[1])
        if isinstance(left, exp.Column):
            column = self._column(left)
            constant = self._constant(right, column, ordered)
            return kind(this=quoted(column.name), expression=constant)
        if isinstance(right, exp.Column):
            column = self._column(right)
            constant = self._constant(left, column, ordered)
            return kind(this=constant, expression=quoted(column.name))
        raise _refusal(node)

    def _membership(self, node: exp.In) -> exp.Expression:
        from sqlglot import exp

        entries = node.args.get("expressions") or []
        extra = [key for key, value in node.args.items() if value and key not in _IN_PARTS]
        if extra or not 1 <= len(entries) <= LIST_LIMIT:
            raise InputError(f"IN takes a list of 1 to {LIST_LIMIT} constants, no subquery")
        column = self._column(node.this)
        return exp.In(
            this=quoted(column.name),
            expressions=[self._constant(entry, column, ordered=False) for entry in entries],
        )

    def _test(self, node: exp.Is) -> exp.Expression:
        from sqlglot import exp

        column, what = self._column(node.this), node.expression
        if node.args.get("negate"):
            return exp.Not(this=self._test(exp.Is(this=node.this, expression=what)))
        if isinstance(what, exp.Null):
            return exp.Is(this=quoted(column.name), expression=exp.null())
        if isinstance(what, exp.Boolean) and column.type == "boolean":
            # IS TRUE is total: NULL counts as not true.
            same = exp.EQ(this=quoted(column.name), expression=exp.Boolean(this=what.this))
            present = exp.Is(this=quoted(column.name), expression=exp.null()).not_()
            return exp.paren(exp.And(this=present, expression=same))
        raise _refusal(node)

    def _column(self, node: Any) -> Column:
        from sqlglot import exp

        node = _bare(node)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise _refusal(node)
        if node.args.get("db") or node.args.get("catalog") or node.args.get("join_mark"):
            raise _refusal(node)
        if node.table and node.table.lower() not in self.aliases:
            raise InputError(
                f"{node.table!r} is not the table of this question ({self.table.name!r})"
            )
        column = self.table.column(node.name, quoted=bool(node.this.args.get("quoted")))
        self.used[column.name] = column
        return column

    def _constant(self, node: Any, column: Column, ordered: bool) -> exp.Expression:
        from sqlglot import exp

        if ordered and column.type not in _ORDERED:
            raise InputError(
                f"column {column.name!r} ({column.type}) can be compared for equality only"
            )
        node = _bare(node)
        sign = 1
        if isinstance(node, exp.Neg):
            node, sign = node.this, -1
        if column.type in ("integer", "number") and isinstance(node, exp.Literal):
            if not node.is_string and _is_number(node.this):
                literal: Any = exp.Literal.number(node.this)
                literal = literal if sign > 0 else exp.Neg(this=literal)
                # As a decimal of many digits it would have the column cast to its kind, which
                # fails on a row whose number is too large for it. Doubles take every number.
                is_whole = column.type == "integer" and "." not in node.this
                return literal if is_whole else exp.cast(literal, "DOUBLE")
        elif sign > 0 and column.type == "boolean" and isinstance(node, exp.Boolean):
            return exp.Boolean(this=bool(node.this))
        elif sign > 0 and column.type == "text" and _is_text(node):
            return exp.Literal.string(node.this)
        elif sign > 0 and column.type == "date":
            day = _date(node)
            if day is not None:
                return exp.cast(exp.Literal.string(day.isoformat()), "DATE")
        raise InputError(
            f"column {column.name!r} holds values of type {column.type}; it cannot be compared "
            f"with {node.sql()[:60]}"
        )


def quoted(name: str) -> exp.Expression:
    """Return a column by its exact name.

    >>> quoted("age").sql()
    '"age"'
    """
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True))


def constant(value: Value) -> exp.Expression:
    """Return a declared value as SQL.

    >>> constant("O'Hara").sql(), constant(3).sql(), constant(True).sql()
    ("'O''Hara'", '3', 'TRUE')
    """
    from sqlglot import exp

    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int):
        literal = exp.Literal.number(abs(value))
        return literal if value >= 0 else exp.Neg(this=literal)
    return exp.Literal.string(value)


_IN_PARTS = ("this", "expressions")


def _bare(node: Any) -> Any:
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _comparable(first: Column, second: Column) -> bool:
    numbers = ("integer", "number")
    return first.type == second.type or (first.type in numbers and second.type in numbers)


def _is_number(text: str) -> bool:
    return (
        len(text) <= 40
        and text.replace(".", "", 1).isascii()
        and text.replace(".", "", 1).isdigit()
    )


def _is_text(node: Any) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Literal) and bool(node.is_string) and "\0" not in node.this


def _date(node: Any) -> datetime.date | None:
    from sqlglot import exp

    try:
        if isinstance(node, exp.Cast | exp.TryCast) and node.to.is_type("date"):
            node = node.this
        if isinstance(node, exp.DateFromParts | exp.Date):
            parts = [node.args.get(key) for key in ("year", "month", "day")]
            return datetime.date(*(int(part.this) for part in parts))  # type: ignore[union-attr]
        if _is_text(node):
            return datetime.date.fromisoformat(node.this)
    except (ValueError, TypeError, AttributeError):
        return None
    return None


def _refusal(node: Any) -> InputError:
    shown = node.sql()[:80] if hasattr(node, "sql") else str(node)[:80]
    if hasattr(node, "this") and hasattr(node, "expression"):
        for part in (node.this, node.expression):
            if type(part).__name__ not in ("Column", "Literal", "Identifier", "str", "NoneType"):
                shown = part.sql()[:80] if hasattr(part, "sql") else shown
                break
    return InputError(
        "a condition may compare a column with constants or another column, test for NULL, and "
        f"use IN, BETWEEN, AND, OR, NOT; got {shown}"
    )
