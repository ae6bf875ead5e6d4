r"""The text form of a query.

::

    question   = family | ( "graph:" | "points:" ) path
    family     = name [ "(" [ integer { "," integer } ] ")" ]
    name       = letter { letter | digit | "_" }
    integer    = digit { digit }

Blanks may stand between the parts. Every error points at the first character that does not fit.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

from tightrope.errors import InputError, TextError
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.queries.families import FAMILIES, Family
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours

#: Largest whole number in a text.
LARGEST_NUMBER = 10**15
#: Longest text that is read.
LONGEST_TEXT = 10_000

_BLANK = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_INTEGER = re.compile(r"[0-9]+")


def query(question: Any, neighbours: str | Neighbours | None = None) -> Query:
    """Return the query that a text, a graph or a query stands for.

    Parameters
    ----------
    question
        A text such as ``sum(150,5)``, ``petersen``, ``graph:FILE`` or ``points:FILE``; an
        :class:`~tightrope.graphs.AnswerGraph`; a NetworkX graph; or a query, which is returned
        as it is.
    neighbours
        Which two databases differ by one person: ``change-one`` (the default), ``add-remove``
        or ``either``.

    Examples
    --------
    >>> query("sum(150,5)")
    Query('sum(150,5)', change-one, 751 answers)
    >>> query("histogram(10,3)", neighbours="add-remove").graph.diameter
    20
    >>> query("summ(3)")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown query 'summ' (did you mean 'sum'?) at character 1 of ...
    """
    if isinstance(question, Query):
        return _same(question, neighbours)
    near = Neighbours.of(Neighbours.CHANGE_ONE if neighbours is None else neighbours)
    if isinstance(question, str):
        return parse(question, near)
    if isinstance(question, AnswerGraph):
        return Query(question.name, question, near)
    if hasattr(question, "is_directed") and hasattr(question, "nodes"):
        graph = ExplicitGraph.from_networkx(question)
        return Query(graph.name, graph, near)
    raise InputError(
        "a query must be a text such as 'sum(150,5)', an answer graph, a NetworkX graph or a "
        f"query, got {type(question).__name__}"
    )


def _same(question: Query, neighbours: str | Neighbours | None) -> Query:
    if neighbours is not None and Neighbours.of(neighbours) is not question.neighbours:
        raise InputError(
            f"{question.text} was made for {question.neighbours.value}: make it again for "
            f"{Neighbours.of(neighbours).value}"
        )
    return question


def parse(text: str, neighbours: Neighbours = Neighbours.CHANGE_ONE) -> Query:
    """Return the query that a text stands for.

    >>> parse(" grid( 3, 4 ) ").text
    'grid(3,4)'
    """
    if len(text) > LONGEST_TEXT:
        raise InputError(f"a query text has at most {LONGEST_TEXT} characters, got {len(text)}")
    source, colon, path = text.partition(":")
    if colon and source.strip() in ("graph", "points"):
        return _from_file(text, source.strip(), path.strip(), neighbours)
    return _Parser(text).question(neighbours)


def _from_file(text: str, source: str, path: str, neighbours: Neighbours) -> Query:
    from tightrope.graphs.files import read_graph
    from tightrope.graphs.point_files import read_points

    if not path:
        raise TextError(f"expected the name of a file after '{source}:'", text, len(text))
    graph: AnswerGraph = read_graph(path) if source == "graph" else read_points(path)
    return Query(text.strip(), graph, neighbours)


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._skip()

    def question(self, neighbours: Neighbours) -> Query:
        """Read a whole family and build it."""
        family = self._family()
        numbers: list[tuple[int, int]] = []
        opened = self._take("(")
        if opened:
            numbers, end = self._numbers(family)
        else:
            end = self.place
        if self.place < len(self.text):
            raise self._error("expected the end" if opened else "expected '(' or the end")
        self._check_numbers(family, numbers, end)
        return family.build(neighbours, *(number for number, _ in numbers))

    def _family(self) -> Family:
        found = _NAME.match(self.text, self.place)
        if not found:
            raise self._error("expected the name of a query, such as sum(150,5),")
        name = found.group()
        if name not in FAMILIES:
            raise self._error(f"unknown query {name[:40]!r}{_suggestion(name)}")
        self.place = found.end()
        self._skip()
        return FAMILIES[name]

    def _numbers(self, family: Family) -> tuple[list[tuple[int, int]], int]:
        """Read numbers up to the closing bracket, each with its place, and the bracket's place."""
        numbers: list[tuple[int, int]] = []
        if self.text[self.place : self.place + 1] == ")" and family.fewest == 0:
            end = self.place
            self._take(")")
            return numbers, end
        while True:
            numbers.append(self._integer(family))
            end = self.place
            if self._take(")"):
                return numbers, end
            if not self._take(","):
                raise self._error("expected ',' or ')'")

    def _integer(self, family: Family) -> tuple[int, int]:
        start = self.place
        found = _INTEGER.match(self.text, start)
        if not found:
            raise self._error(f"expected a whole number ({family.expectation})")
        digits = found.group().lstrip("0") or "0"
        if len(digits) > len(str(LARGEST_NUMBER)) or int(digits) > LARGEST_NUMBER:
            raise self._error("expected a whole number of at most 10^15")
        self.place = found.end()
        self._skip()
        return int(digits), start

    def _check_numbers(self, family: Family, numbers: list[tuple[int, int]], end: int) -> None:
        most = len(family.parameters)
        if len(numbers) < family.fewest:
            raise TextError(f"expected {family.expectation}", self.text, end)
        if len(numbers) > most and not family.repeats:
            wanted = family.expectation if most else f"{family.name} without parameters"
            raise TextError(f"expected {wanted}", self.text, numbers[most][1])
        for k, (number, place) in enumerate(numbers):
            parameter = family.parameters[min(k, most - 1)]
            if number < parameter.least:
                raise TextError(
                    f"{parameter.name} ({parameter.meaning}) must be at least {parameter.least}",
                    self.text,
                    place,
                )

    def _take(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.place):
            return False
        self.place += len(sign)
        self._skip()
        return True

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.place)
        self.place = blank.end() if blank else self.place

    def _error(self, message: str) -> TextError:
        return TextError(message, self.text, self.place)


def _suggestion(name: str) -> str:
    close = difflib.get_close_matches(name.lower()[:40], [*FAMILIES, "graph", "points"], n=2)
    if not close:
        return f" (known: {', '.join(FAMILIES)}, graph:FILE, points:FILE)"
    shown = [f"'{found}:FILE'" if found in ("graph", "points") else f"'{found}'" for found in close]
    return f" (did you mean {' or '.join(shown)}?)"
