"""Refusals of SQL: each names the piece, why it is not read, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.sql_pieces import shown_sql

#: Why a function of rows is not published, and what to write instead.
_NOT_PUBLISHED: dict[type[Any], str] = {
    exp.ArrayAgg: "lists the values of single rows",
    exp.GroupConcat: "lists the values of single rows",
    exp.AnyValue: "is the value of one row",
    exp.First: "is the value of one row",
    exp.Last: "is the value of one row",
}


class RowValue(InputError):
    """A column outside aggregates would be the value of one row."""


def row_window(node: Any) -> InputError:
    """Say that a window is over rows, or of a kind that is not known over groups."""
    return InputError(
        f"{shown_sql(node)}: windows are over groups that are published, not over rows: SUM, AVG, "
        "MIN or MAX of an aggregate OVER (), or OVER (PARTITION BY columns of GROUP BY), such as "
        "SUM(COUNT(*)) OVER (), RANK() OVER (ORDER BY COUNT(*)), and SUM(COUNT(*)) or "
        "LAG(COUNT(*)) OVER (ORDER BY c) where c is the one column of GROUP BY, whose values are "
        "declared in rising order"
    )


def unknown_piece(node: Any) -> InputError:
    """Say why a piece of the SELECT list is not computed, and what to write instead."""
    if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    text = shown_sql(node)
    reason = next(
        (why for kind, why in _NOT_PUBLISHED.items() if isinstance(node, kind)), None
    )
    if reason is not None:
        return InputError(
            f"{text} {reason}, which cannot be private: ask for counts by group, MODE, MEDIAN or "
            "AVG instead"
        )
    if isinstance(node, exp.Star):
        return InputError(
            "SELECT * shows single rows, which cannot be private: ask for COUNT(*), or for "
            "aggregates with GROUP BY"
        )
    if isinstance(node, exp.Rand):
        return InputError(
            f"{text}: noise is drawn once for each number, from a secure source: leave it out"
        )
    if isinstance(node, exp.Subquery | exp.Select):
        return InputError(
            f"{text} is a question of its own: ask both, in one file with --file, and combine the "
            "published numbers"
        )
    if isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Filter):
        return _unknown_aggregate(node, text)
    return InputError(
        f"{text} is not known around published numbers: known are + - * /, ROUND, FLOOR, CEIL, "
        "ABS, SQRT, POWER, COALESCE, NULLIF, GREATEST, LEAST, CASE, casts to numbers, and over "
        "groups SUM, AVG, MIN and MAX of aggregates, and RANK"
    )


def _unknown_aggregate(node: Any, text: str) -> InputError:
    """Say why an aggregate is not offered."""
    names = list(dict.fromkeys(column.name for column in node.find_all(exp.Column)))
    if isinstance(node, exp.ApproxDistinct) or node.find(exp.Distinct) is not None:
        return InputError(
            f"{text} is about values, each once, and is not offered: ask without DISTINCT, or for "
            f"COUNT(*) with GROUP BY {', '.join(names)}"
        )
    if isinstance(node, exp.ApproxQuantiles):
        return InputError(
            f"{text} is a list of values: ask for QUANTILE({', '.join(names)}, 0.25) and others as "
            "columns beside each other, which are drawn together"
        )
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        return InputError(
            f"{text} of all rows would change with one row: ask for COUNT(*) FILTER (WHERE …), or "
            "for it in a subquery, GROUP BY the person"
        )
    if isinstance(node, exp.Sum | exp.Avg) and isinstance(node.this, exp.Case):
        return InputError(
            f"{text} computes on rows, and a row might make that fail: ask for each branch as "
            "SUM(column) FILTER (WHERE …), and compute on the published numbers, with COUNT(*) for "
            "a mean of all rows"
        )
    if isinstance(node, exp.Sum | exp.Avg) and len(names) == 1:
        return InputError(
            f"{text} computes on rows, and a row might make that fail: known are multiples of a "
            "column plus a constant; declare other values as a column, or ask for counts by group"
        )
    if isinstance(node, exp.Sum | exp.Avg) and len(names) > 1:
        apart = " and ".join(f"{node.key.upper()}({name})" for name in names)
        return InputError(
            f"{text} computes on rows, and a row might make that fail: ask for {apart}, and "
            "compute on the published numbers; of products there are COVAR_POP and CORR"
        )
    return InputError(
        f"the aggregate {text} is not offered: known are COUNT, SUM, AVG, MEDIAN, MIN, MAX, "
        "PERCENTILE_DISC, MODE, VAR_POP, STDDEV, COVAR_POP, CORR and REGR_SLOPE of columns, and "
        "arithmetic on them"
    )


#: What is not read, by its kind or by the property of a piece: why, and what to write instead.
REFUSED: dict[str, str] = {
    "distinct": "shows which values there are, and a value that one person alone has shows that "
    "person: ask for COUNT(*) with GROUP BY",
    "qualify": "chooses lines by windows: choose groups by their published numbers with HAVING, "
    "which costs nothing",
    "offset": "leaves out the first lines: all lines cost as much as some, so take them from the "
    "answer, or show the first ones with LIMIT",
    "sample": "asks some of the rows: every answer is about all of them, and noise protects people",
    "locks": "changes how a database works: leave it out",
    "recursive": "computes a table from itself: WITH may choose or rename columns and rows",
    "into": "writes a table: answers are returned",
    "windows": "names windows: write OVER (PARTITION BY …) where it is used",
    "collate": "compares texts as one database does: texts are compared letter by letter",
}


def unread(node: Any, extra: Sequence[str]) -> InputError:
    """Say why a piece of SQL, or properties of it, are not read."""
    for word in (*extra, type(node).__name__.lower()):
        if word in REFUSED:
            piece = node.args.get(word)
            text = shown_sql(piece) if isinstance(piece, exp.Expression) else ""
            return InputError(f"{text or word.upper()} {REFUSED[word]}")
    more = f" ({', '.join(extra)})" if extra else ""
    return InputError(
        f"{shown_sql(node)}{more} is not read in questions: leave it out, or write it with "
        "columns, constants, comparisons and the aggregates that are known"
    )
