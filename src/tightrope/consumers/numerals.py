"""Numbers and answers as people write them: ``.3``, ``1/3``, ``1e-4``; ``7``, ``(2, 0)``, ``Oslo``.

Numbers become fractions only where they are needed exactly (:func:`tightrope.texts.to_exact`).
"""

from __future__ import annotations

import contextlib
import math
import numbers
import re
from collections.abc import Hashable, Iterator
from fractions import Fraction

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.texts import LONGEST_TOKEN, NUMBER, read_exact, to_exact


def to_float(value: object) -> float:
    """Return a number as a float, or refuse with what was given instead of a number.

    >>> to_float("1/4"), to_float(Fraction(1, 2)), to_float(3)
    (0.25, 0.5, 3.0)
    """
    try:
        if isinstance(value, str):
            # float() reads long files ten times faster; the pattern keeps out "nan" and "1_0".
            plain = (
                len(value) <= LONGEST_TOKEN
                and "/" not in value
                and NUMBER.fullmatch(value)
            )
            return float(value) if plain else float(read_exact(value))
        if not isinstance(value, bool):
            return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as wrong:
        if isinstance(wrong, InputError):
            raise
    raise InputError(f"expected a number such as 0.3 or 1/3, got {str(value)[:40]!r}")


def comma_parts(text: str) -> list[tuple[int, str]]:
    """Split at commas outside brackets; return each part with the place where it starts.

    >>> comma_parts("a,(1,2)")
    [(0, 'a'), (2, '(1,2)')]
    """
    parts = []
    depth = 0
    start = 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append((start, text[start:place]))
            start = place + 1
    return [*parts, (start, text[start:])]


def find_answer(graph: AnswerGraph, label: object) -> int:
    """Return the node of an answer, given as a label or as the text of one.

    A text is tried as the label itself, then as a number, then as a tuple.

    Parameters
    ----------
    graph
        The answer graph.
    label
        ``7``, ``"7"``, ``(2, 0)``, ``"(2, 0)"``, ``"2,0"``, ``[2, 0]``, ``"Oslo"`` …

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> find_answer(StrongProduct([PathPower(3), PathPower(3)]), "(2, 0)")
    6
    """
    if isinstance(label, str) and re.fullmatch("[0-9]{1,18}", label):
        # The usual case, a number for a number, first: long files hold a million of them.
        with contextlib.suppress(InputError):
            if isinstance(graph.label(0), int):
                return graph.index(int(label))
    for candidate in _candidates(label):
        try:
            return graph.index(candidate)
        except InputError:
            continue
    raise InputError(
        f"{str(label)[:40]!r} is not an answer of {graph.name}; its answers look like "
        f"{graph.label(0)!r} … {graph.label(graph.size - 1)!r}"
    )


def _candidates(label: object) -> Iterator[Hashable]:
    if isinstance(label, list):
        label = tuple(label)
    if isinstance(label, numbers.Rational):
        yield from _numbers(to_exact(label))
    elif isinstance(label, float) and math.isfinite(label):
        yield from _numbers(Fraction(label))
    elif isinstance(label, Hashable):
        yield label
    if isinstance(label, str) and len(label) <= LONGEST_TOKEN:
        plain = label.strip()
        yield plain
        ends = plain[:1] + plain[-1:]
        if ends in ("()", "[]"):
            plain = plain[1:-1].strip().removesuffix(",")
        elif NUMBER.fullmatch(plain):
            yield from _numbers(read_exact(plain))
        pieces = plain.split(",")
        label = tuple(piece.strip().strip("'\"") for piece in pieces)
        yield label
    if isinstance(label, tuple):
        texts = [str(part) for part in label]
        if all(map(NUMBER.fullmatch, texts)):
            exact = [_numbers(read_exact(text)) for text in texts]
            yield tuple(first for first, _ in exact)
            yield tuple(second for _, second in exact)


def _numbers(number: Fraction) -> tuple[Hashable, Hashable]:
    """Return the two ways in which a graph may hold a number: exactly, or as a float."""
    return (number.numerator if number.denominator == 1 else number), float(number)
