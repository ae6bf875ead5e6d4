r"""Mechanisms by name: ``geometric:count(5)``, ``exponential:cycle(8)``, ``tight:sum(150,5)``."""

from __future__ import annotations

from collections.abc import Callable

from tightrope.channels import Channel
from tightrope.epsilon import Level
from tightrope.graphs import AnswerGraph
from tightrope.mechanisms.closed_forms import exponential, geometric, randomized_response, ring
from tightrope.mechanisms.tight import tight_constraints
from tightrope.texts import Call, read_call

#: The mechanisms that can be named, each from a graph and a level to a channel.
KINDS: dict[str, Callable[[AnswerGraph, Level], Channel]] = {
    "exponential": exponential,
    "geometric": geometric,
    "response": randomized_response,
    "ring": ring,
    "tight": tight_constraints,
}


def mechanism(text: str) -> Call:
    """Read a text such as ``geometric:count(5)``: a mechanism, a colon, a query.

    Parameters
    ----------
    text
        The kind before the first colon is one of :data:`KINDS`; what follows is the text of a
        query.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> call = mechanism("geometric: count(5)")
    >>> str(call), KINDS[call.name](PathPower(6), "ln(2)").shape
    ('geometric:count(5)', (6, 6))
    >>> mechanism("laplace:count(5)")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown mechanism 'laplace' (known: exponential:QUERY, ...)
    at character 1 of 'laplace:count(5)': ▸laplace:count(5)
    """
    return read_call(text, "mechanism", [f"{kind}:QUERY" for kind in KINDS])
