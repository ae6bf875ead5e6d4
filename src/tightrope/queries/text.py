r"""From a text, a graph or a NetworkX graph to a query.

A text is the name of a family with its parameters (:mod:`tightrope.texts`), or ``graph:FILE`` or
``points:FILE``.
"""

from __future__ import annotations

import re
from typing import Any

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, ExplicitGraph, read_graph, read_points
from tightrope.graphs.registry import Family
from tightrope.queries.families import FAMILIES, build
from tightrope.queries.query import Neighbours, Query
from tightrope.texts import Call, read_call


def query(question: Any, neighbours: str | Neighbours | None = None) -> Query:
    """Return the query of a text or a graph.

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
    >>> query("sum( 150, 05 )")
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
        call = _read(question)
        if call.rest is None:
            return _from_family(call, near)
        read = read_graph if call.name == "graph" else read_points
        return Query(str(call), read(call.rest), near)
    if isinstance(question, AnswerGraph):
        return Query(question.name, question, near)
    # By its interface: NetworkX need not be installed.
    if hasattr(question, "is_directed") and hasattr(question, "nodes"):
        graph = ExplicitGraph.from_networkx(question)
        return Query(graph.name, graph, near)
    raise InputError(
        "a query must be a text such as 'sum(150,5)', an answer graph, a NetworkX graph or a "
        f"query, got {type(question).__name__}"
    )


def usual_loss(question: Any) -> str:
    """Return the loss of a consumer who names none: the size of the error, where it has one.

    >>> usual_loss("sum(150,5)"), usual_loss("histogram(9,3)"), usual_loss("choice(6)")
    ('absolute', 'distance', 'binary')
    """
    if isinstance(question, Query):
        name = question.graph.question[0] if question.graph.question else ""
    else:
        name = str(question).partition("(")[0].strip()
    return FAMILIES[name].usual_loss if name in FAMILIES else "binary"


def by_score_instead(text: str) -> str | None:
    """Return the question by scores whose mechanisms have a far smaller error, if there is one.

    One person may change the most common value and the median to anything, so a mechanism that
    sees only the true answer knows little; one that sees the counts of all values knows by how
    much it is the answer.

    >>> by_score_instead("choice(5)"), by_score_instead("median(99,120)")
    ('commonest(5)', 'quantile(1/2,121)')
    >>> by_score_instead("count(5)")
    """
    parsed = re.fullmatch(r"(choice|median)\((?:\d+,)?(\d+)\)", text)
    if parsed is None:
        return None
    size = int(parsed[2])
    return (
        f"commonest({size})" if parsed[1] == "choice" else f"quantile(1/2,{size + 1})"
    )


def named(text: str, neighbours: str | Neighbours) -> Query:
    """Return the query of a family by its text, without ever opening a file.

    For texts that come from somebody else, such as the one in a mechanism file. What the text
    and the relation determine is all that is known about the question: its graph, edge lengths
    and labels. :meth:`AnswerGraph.agrees_with <tightrope.graphs.AnswerGraph.agrees_with>` compares
    a listed graph with them.

    >>> named("sum(10, 0000000005)", "add-remove").text
    'sum(10,5)'
    >>> named("points:/etc/group", "change-one")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: 'points:/etc/group' names a file: only the built-in ... here
    """
    call = _read(text)
    # Threat: a mechanism file from somebody else could name a file of this machine.
    if call.rest is not None:
        raise InputError(
            f"{text[:60]!r} names a file: only the built-in questions are known here"
        )
    return _from_family(call, Neighbours.of(neighbours))


def _same(question: Query, neighbours: str | Neighbours | None) -> Query:
    # A query carries its relation; another one would need another graph.
    if neighbours is not None and Neighbours.of(neighbours) is not question.neighbours:
        raise InputError(
            f"{question.text} was made for {question.neighbours.value}: make it again for "
            f"{Neighbours.of(neighbours).value}"
        )
    return question


def _read(text: str) -> Call:
    # A frequent slip: SQL has its own command.
    if re.match(r"\s*(select|with)\s", text, re.IGNORECASE):
        raise InputError(
            "this is SQL, and a question is written here as count(5000), sum(5000,120) or "
            "histogram(5000,8): for SQL use 'tightrope ask', which finds the question in it"
        )
    return read_call(
        text,
        "query",
        [
            *(family.signature for family in FAMILIES.values()),
            "graph:FILE",
            "points:FILE",
        ],
        argument=re.compile("[0-9]+"),
        wanted="a whole number of at most 10^15",
    )


def _from_family(call: Call, near: Neighbours) -> Query:
    family = FAMILIES[call.name]
    return build(family, near, _numbers(family, call))


def _numbers(family: Family, call: Call) -> list[int]:
    """Return the parameters of a family, each within its limits."""
    numbers = []
    most = len(family.parameters)
    if len(call.args) < family.fewest:
        raise call.error(f"expected {family.expectation}")
    if len(call.args) > most and not family.repeats:
        wanted = family.expectation if most else f"{family.name} without parameters"
        raise call.error(f"expected {wanted}", most)
    for k, digits in enumerate(call.args):
        # The last parameter of some families repeats.
        parameter = family.parameters[min(k, most - 1)]
        numbers.append(int(digits))
        if not parameter.least <= numbers[-1] <= 10**15:
            limit = (
                f"at least {parameter.least}"
                if numbers[-1] < 10**15
                else "at most 10^15"
            )
            raise call.error(
                f"{parameter.name} ({parameter.meaning}) must be {limit}", k
            )
    return numbers
