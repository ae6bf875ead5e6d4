"""Answers as JSON and back: whole numbers, texts, fractions, tuples."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.errors import InputError


def plain_label(label: Hashable) -> Any:
    """Return an answer as JSON can say it.

    >>> plain_label((3, Fraction(1, 2), "north"))
    [3, {'fraction': '1/2'}, 'north']
    """
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    if isinstance(label, bool | str) or label is None:
        return label
    if isinstance(label, int | np.integer):
        return int(label)
    if isinstance(label, Fraction):
        return {"fraction": str(label)}
    if isinstance(label, float):
        return {"decimal": repr(label)}
    raise InputError(f"an answer is a number, a text or a tuple of them, got {label!r:.60}")


def read_label(value: Any) -> Hashable:
    """Return the answer that JSON says.

    >>> read_label([3, {"fraction": "1/2"}, "north"])
    (3, Fraction(1, 2), 'north')
    """
    if isinstance(value, list):
        return tuple(read_label(part) for part in value)
    if isinstance(value, dict):
        try:
            if set(value) == {"fraction"}:
                return Fraction(value["fraction"])
            if set(value) == {"decimal"}:
                return float(value["decimal"])
        except (ValueError, TypeError, ArithmeticError):
            pass
        raise InputError(
            f"an answer is a number, a text or a list of them, got the object {value!r:.60}"
        )
    return value  # type: ignore[no-any-return]
