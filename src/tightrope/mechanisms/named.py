r"""Mechanisms by name: ``geometric:count(5)``, ``exponential:cycle(8)``, ``tight:sum(150,5)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tightrope.channels import Channel
from tightrope.epsilon import Epsilon, Level
from tightrope.graphs import AnswerGraph
from tightrope.mechanisms.closed_forms import exponential, geometric, randomized_response, ring
from tightrope.mechanisms.tight import tight_constraints
from tightrope.texts import read_call

Builder = Callable[[AnswerGraph, Epsilon], Channel]


@dataclass(frozen=True)
class NamedMechanism:
    """A closed-form mechanism and the text of the question it is for.

    Attributes
    ----------
    kind
        Which mechanism, one of :data:`KINDS`.
    question
        The text of the query, such as ``count(5)``.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> named = mechanism("geometric:count(5)")
    >>> named.kind, named.question, named.build(PathPower(6), "ln(2)").shape
    ('geometric', 'count(5)', (6, 6))
    """

    kind: str
    question: str

    def build(self, graph: AnswerGraph, epsilon: Level) -> Channel:
        """Return the channel on the question's answer graph at a privacy level."""
        return KINDS[self.kind](graph, Epsilon.of(epsilon))

    def __str__(self) -> str:
        return f"{self.kind}:{self.question}"


#: The mechanisms that can be named, each from a graph and a level to a channel.
KINDS: dict[str, Builder] = {
    "exponential": exponential,
    "geometric": geometric,
    "response": randomized_response,
    "ring": ring,
    "tight": tight_constraints,
}


def mechanism(text: str) -> NamedMechanism:
    """Read a text such as ``geometric:count(5)``: a mechanism, a colon, a query.

    Parameters
    ----------
    text
        The kind before the first colon is one of ``exponential``, ``geometric``, ``response``,
        ``ring``, ``tight``; what follows is the text of a query.

    Examples
    --------
    >>> str(mechanism("response: choice(6)"))
    'response:choice(6)'
    >>> mechanism("laplace:count(5)")
    Traceback (most recent call last):
    ...
    tightrope.errors.TextError: unknown mechanism 'laplace' (known: exponential:QUERY, ...)
    at character 1 of 'laplace:count(5)': ▸laplace:count(5)
    """
    call = read_call(text, "mechanism", [f"{kind}:QUERY" for kind in KINDS])
    assert call.rest is not None
    return NamedMechanism(call.name, call.rest)
