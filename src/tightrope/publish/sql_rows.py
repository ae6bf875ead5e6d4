"""Which conditions choose the same rows, however they are written.

Several SELECTs about the same rows are planned as one job, so a WHERE is compared by what it
chooses: a set of conditions that all have to hold, where the conditions on a column of whole
numbers are one range. A row is chosen if its condition is true, so that a condition that is
unknown may be replaced by one that is false.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from typing import Any

from sqlglot import exp

from tightrope.publish.sql_pieces import bare

#: What is true where a comparison is false; where it is unknown, neither is true.
_OPPOSITES: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip
#: The comparison with its sides exchanged.
_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE,
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip

Ends = tuple[float, float]


def rows_chosen(condition: Any, whole_columns: Container[str]) -> frozenset[Any]:
    """Return what a condition demands; equal demands choose the same rows of every table.

    Parameters
    ----------
    condition
        A condition as it was rebuilt, or ``None``.
    whole_columns
        The columns whose values are whole numbers.

    Examples
    --------
    >>> import sqlglot
    >>> first = sqlglot.parse_one("a > 1 AND (b AND a <= 9)")
    >>> second = sqlglot.parse_one("b AND a BETWEEN 2 AND 9")
    >>> rows_chosen(first, {"a"}) == rows_chosen(second, {"a"})
    True
    >>> rows_chosen(first, ()) == rows_chosen(second, ())
    False
    """
    ranges: dict[str, Ends] = {}
    demands = set()
    present = set()
    for part in [] if condition is None else _parts(condition):
        if type(part) in _OPPOSITES or isinstance(part, exp.In):
            present.add(part.this)  # a comparison with a missing value is not true
        ends = _ends(part, whole_columns)
        if ends is None:
            demands.add(part)
            continue
        low, high = ranges.get(part.this.name, (-math.inf, math.inf))
        ranges[part.this.name] = (max(low, ends[0]), min(high, ends[1]))
    needless = {exp.Is(this=cell, expression=exp.null()).not_() for cell in present}
    return frozenset((demands - needless) | set(ranges.items()))


def _parts(condition: Any) -> Iterator[Any]:
    """Yield conditions that all have to hold, each in its plainest form."""
    condition = bare(condition)
    match condition:
        case exp.And():
            yield from _parts(condition.this)
            yield from _parts(condition.expression)
        case exp.Between(this=cell):
            yield exp.GTE(this=cell, expression=condition.args["low"])
            yield exp.LTE(this=cell, expression=condition.args["high"])
        case exp.In(this=cell, expressions=[value]):
            yield exp.EQ(this=cell, expression=value)
        case exp.Not():
            yield from _denied(bare(condition.this), condition)
        case _ if type(condition) in _MIRRORED and _is_mirrored(condition):
            kind = _MIRRORED[type(condition)]
            yield kind(this=condition.expression, expression=condition.this)
        case _:
            yield condition


def _denied(inner: Any, condition: Any) -> Iterator[Any]:
    """Yield what has to hold where a condition is false."""
    if isinstance(inner, exp.Or):
        yield from _parts(exp.Not(this=inner.this))
        yield from _parts(exp.Not(this=inner.expression))
    elif isinstance(inner, exp.Not):
        yield from _parts(inner.this)
    elif type(inner) in _OPPOSITES:
        kind = _OPPOSITES[type(inner)]
        yield from _parts(kind(this=inner.this, expression=inner.expression))
    else:
        yield condition


def _is_mirrored(comparison: Any) -> bool:
    """Whether a constant stands before its column."""
    is_column = isinstance(comparison.expression, exp.Column)
    return is_column and not isinstance(comparison.this, exp.Column)


def _ends(part: Any, whole_columns: Container[str]) -> Ends | None:
    """Return the least and the largest whole number that a condition on one column allows."""
    cell = part.this
    if not isinstance(cell, exp.Column) or cell.name not in whole_columns:
        return None
    if isinstance(part, exp.In):
        listed = {_whole(value) for value in part.expressions}
        numbers = {number for number in listed if number is not None}
        is_gapless = (
            len(numbers)
            == len(listed)
            == max(numbers, default=0) - min(numbers, default=0) + 1
        )
        return (min(numbers), max(numbers)) if is_gapless else None
    number = _whole(part.args.get("expression"))
    if number is None:
        return None
    match part:
        case exp.EQ():
            return number, number
        case exp.GTE():
            return number, math.inf
        case exp.GT():
            return number + 1, math.inf
        case exp.LTE():
            return -math.inf, number
        case exp.LT():
            return -math.inf, number - 1
    return None


def _whole(node: Any) -> int | None:
    """Return the whole number that a constant is, if it is one."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.is_int
    return int(node.this) if is_number else None
