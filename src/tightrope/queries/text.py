r"""The text form of a query.

::

    question   = family | ( "graph:" | "points:" ) path
    family     = name [ "(" [ integer { "," integer } ] ")" ]
    name       = letter { letter | digit | "_" }
    integer    = digit { digit }

Blanks may stand between the parts. Every error points at the first character that does not fit.
"""

from __future__ import annotations

import re
from typing import Any

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, ExplicitGraph
from tightrope.queries.families import FAMILIES, Family
from tightrope.queries.query import Query
from tightrope.queries.relation import Neighbours
from tightrope.texts import Call, read_call

#: Largest whole number in a text.
LARGEST_NUMBER = 10**15


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
    tightrope.errors.TextError: unknown query 'summ' (did you mean 'sum(u,v)'?) at ...
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
    forms = [family.signature for family in FAMILIES.values()]
    whole = re.compile("[0-9]+")
    call = read_call(
        text,
        "query",
        [*forms, "graph:FILE", "points:FILE"],
        argument=whole,
        wanted="a whole number of at most 10^15",
    )
    if call.rest is not None:
        return _from_file(call, neighbours)
    family = FAMILIES[call.name]
    return family.build(neighbours, *_numbers(family, call))


def _from_file(call: Call, neighbours: Neighbours) -> Query:
    from tightrope.graphs.files import read_graph
    from tightrope.graphs.point_files import read_points

    path = call.rest or ""
    graph: AnswerGraph = read_graph(path) if call.name == "graph" else read_points(path)
    return Query(str(call), graph, neighbours)


def _numbers(family: Family, call: Call) -> list[int]:
    """Return the parameters of a family, each within its limits."""
    numbers, most = [], len(family.parameters)
    if len(call.args) < family.fewest:
        raise call.error(f"expected {family.expectation}")
    if len(call.args) > most and not family.repeats:
        wanted = family.expectation if most else f"{family.name} without parameters"
        raise call.error(f"expected {wanted}", most)
    for k, digits in enumerate(call.args):
        parameter = family.parameters[min(k, most - 1)]
        shown = f"{parameter.name} ({parameter.meaning})"
        numbers.append(int(digits))
        if numbers[-1] > LARGEST_NUMBER:
            raise call.error(f"{shown} must be at most 10^15", k)
        if numbers[-1] < parameter.least:
            raise call.error(f"{shown} must be at least {parameter.least}", k)
    return numbers
