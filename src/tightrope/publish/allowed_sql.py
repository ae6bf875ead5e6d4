"""The allow-list of SQL: every kind of piece, and every property a piece may have.

Readers take SQL apart by its pieces. A property that they do not know (a negation, a collation,
a sampling clause) would be dropped without a word and change the question, so any piece or
property that is not listed here is refused.
"""

from __future__ import annotations

from typing import Any

from tightrope.errors import InputError

_BOTH = frozenset({"this", "expression"})
_THIS = frozenset({"this"})

#: Kind of piece -> the properties that it may have.
ALLOWED: dict[str, frozenset[str]] = {
    "Select": frozenset({"expressions", "from_", "from", "where", "group", "order", "limit"}),
    "From": _THIS,
    "Subquery": frozenset({"this", "alias"}),
    "Table": frozenset({"this", "db", "alias"}),
    "TableAlias": _THIS,
    "Identifier": frozenset({"this", "quoted"}),
    "Column": frozenset({"this", "table"}),
    "Star": frozenset(),
    "Alias": frozenset({"this", "alias"}),
    "Where": _THIS,
    "Group": frozenset({"expressions"}),
    "Order": frozenset({"expressions"}),
    "Ordered": frozenset({"this", "desc", "nulls_first"}),
    "Limit": frozenset({"expression"}),
    "Count": frozenset({"this", "big_int"}),
    "CountIf": _THIS,
    "Distinct": frozenset({"expressions"}),
    "Filter": _BOTH,
    "Case": frozenset({"ifs", "default"}),
    "If": frozenset({"this", "true"}),
    "Coalesce": frozenset({"this", "expressions"}),
    "Cast": frozenset({"this", "to", "_type"}),
    "TryCast": frozenset({"this", "to", "_type", "safe", "requires_string"}),
    "DataType": frozenset({"this", "nested"}),
    "DateFromParts": frozenset({"year", "month", "day"}),
    "Literal": frozenset({"this", "is_string"}),
    "Boolean": _THIS,
    "Null": frozenset(),
    "Neg": _THIS,
    "Paren": _THIS,
    "Not": _THIS,
    "Between": frozenset({"this", "low", "high"}),
    "In": frozenset({"this", "expressions"}),
    "Is": frozenset({"this", "expression", "negate"}),
    **dict.fromkeys(("Sum", "Min", "Max", "Avg"), _THIS),
    **dict.fromkeys(("And", "Or", "Mod", "EQ", "NEQ", "GT", "GTE", "LT", "LTE"), _BOTH),
}


def check_pieces(tree: Any) -> None:
    """Refuse SQL with a piece, or a property of a piece, that is not on the list.

    >>> import sqlglot
    >>> check_pieces(sqlglot.parse_one("select count(*) from people where age > 3"))
    >>> check_pieces(sqlglot.parse_one("select count(*) from people where pg_sleep(9)"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: this SQL uses something that questions may not use: PG_SLEEP(9)
    """
    for node in tree.walk():
        known = ALLOWED.get(type(node).__name__)
        if known is None:
            shown = " ".join(node.sql().split())[:80]
            raise InputError(f"this SQL uses something that questions may not use: {shown}")
        extra = sorted(name for name, value in node.args.items() if value and name not in known)
        if extra:
            shown = " ".join(node.sql().split())[:80]
            raise InputError(
                f"this SQL uses something that questions may not use ({', '.join(extra)}): {shown}"
            )
