"""Supports of risk-averse consumers from texts and lists of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tightrope.consumers.grammar import skip_space
from tightrope.consumers.numerals import find_answer
from tightrope.errors import InputError, TextError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import ROW_LIMIT


def support(value: Any, graph: AnswerGraph) -> list[int]:
    """Return the nodes of the possible answers of a risk-averse consumer.

    Parameters
    ----------
    value
        ``"all"``, answers and ranges of answers such as ``"0,3,5..8"`` (ends included, in node
        order), or an iterable of answers. A tuple answer is written ``(2,0)``.
    graph
        The answer graph.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> support("0,3..5", PathPower(8)), support([7], PathPower(8))
    ([0, 3, 4, 5], [7])
    """
    if isinstance(value, str):
        if value.strip() == "all":
            if graph.size > ROW_LIMIT:
                raise TooLarge(f"a support lists at most {ROW_LIMIT} answers, got {graph.size}")
            return list(range(graph.size))
        return [node for start, part in _parts(value) for node in _span(start, part, value, graph)]
    if not isinstance(value, Iterable):
        raise InputError(f"a support must be a text or a list of answers, got {value!r}")
    return [find_answer(graph, label) for label in value]


def _parts(text: str) -> list[tuple[int, str]]:
    """Split at commas outside brackets; each part with the place where it starts."""
    found, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            found.append((start, text[start:place]))
            start = place + 1
    return [*found, (start, text[start:])]


def _span(start: int, part: str, text: str, graph: AnswerGraph) -> range:
    """Return the nodes of one answer or of one range of answers."""
    if not part.strip():
        raise TextError("expected an answer", text, start)
    first, dots, last = part.partition("..")
    try:
        low = find_answer(graph, first.strip())
        high = find_answer(graph, last.strip()) if dots else low
    except InputError as wrong:
        raise TextError(f"{wrong},", text, skip_space(text, start)) from None
    if high < low:
        raise TextError("expected a range that rises", text, skip_space(text, start))
    return range(low, high + 1)
