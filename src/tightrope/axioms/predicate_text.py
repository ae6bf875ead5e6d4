"""Privacy predicates written as text, such as ``b <= 2*a and 1-a <= 2*(1-b)``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tightrope.axioms.predicates import Predicate
from tightrope.errors import TextError

#: Longest text that is read.
TEXT_LIMIT = 500

_TWO: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "exp": math.exp}


def read_predicate(text: str) -> Predicate:
    """Read a predicate of a and b: numbers, ``+ - * /``, comparisons, ``and or not``, functions.

    Decimals are exact fractions; the functions are ``abs min max exp``.

    Parameters
    ----------
    text
        The predicate.

    Examples
    --------
    >>> holds = read_predicate("abs(a - b) <= 0.25")
    >>> holds(Fraction(1, 2), Fraction(3, 4)), holds(Fraction(1, 2), Fraction(4, 5))
    (True, False)
    >>> read_predicate("a.real <= b")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: expected numbers, a, b, ... at character 1 of 'a.real <= b': ...
    """
    if len(text) > TEXT_LIMIT:
        raise TextError(f"expected at most {TEXT_LIMIT} characters", text, TEXT_LIMIT)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as problem:
        place = getattr(problem, "offset", 1) or 1
        raise TextError("expected a condition on a and b", text, max(0, place - 1)) from None
    _check(tree, text)

    def predicate(a: Fraction, b: Fraction) -> bool:
        try:
            return bool(_value(tree, text, {"a": a, "b": b}))
        except ZeroDivisionError:
            return False

    return predicate


def _check(node: ast.expr, text: str) -> None:
    """Refuse everything that is not on the list, before anything is computed."""
    if isinstance(node, ast.BoolOp):
        parts: list[ast.expr] = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in _TWO:
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
        parts = [node.left, *node.comparators]
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _CALLS
        and node.args
        and not node.keywords
    ):
        parts = node.args
    elif (isinstance(node, ast.Name) and node.id in ("a", "b")) or (
        isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ):
        parts = []
    else:
        raise TextError(
            "expected numbers, a, b, + - * /, comparisons, and, or, not, abs, min, max or exp",
            text,
            node.col_offset,
        )
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, text: str, names: dict[str, Fraction]) -> Any:
    if isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And)
        return (all if every else any)(_value(part, text, names) for part in node.values)
    if isinstance(node, ast.UnaryOp):
        inside = _value(node.operand, text, names)
        return not inside if isinstance(node.op, ast.Not) else -inside
    if isinstance(node, ast.BinOp):
        left, right = (_value(part, text, names) for part in (node.left, node.right))
        return _TWO[type(node.op)](left, right)
    if isinstance(node, ast.Compare):
        values = [_value(part, text, names) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, values, values[1:], strict=False)
        return all(_COMPARE[type(op)](left, right) for op, left, right in pairs)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _CALLS[node.func.id](*(_value(part, text, names) for part in node.args))
    if isinstance(node, ast.Name):
        return names[node.id]
    # A decimal stands for the number that it prints as.
    return Fraction(str(node.value)) if isinstance(node, ast.Constant) else None
