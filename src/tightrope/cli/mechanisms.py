"""How the commands that take a mechanism find it: by name, or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.channels import Channel
    from tightrope.epsilon import Epsilon
    from tightrope.queries import Query

MechanismText = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A mechanism file, a CSV matrix (with --query), or a named mechanism "
        "such as 'geometric:count(5)' (with --epsilon).",
    ),
]
EpsilonOption = Annotated[
    str | None,
    typer.Option("--epsilon", metavar="E", help="The privacy level: 0.5, 1/2 or 'ln(2)'."),
]
QuestionOption = Annotated[
    str | None,
    typer.Option("--query", metavar="QUERY", help="The question that a CSV matrix answers."),
]


@dataclass(frozen=True)
class Loaded:
    """A mechanism with its question.

    >>> load("geometric:count(5)", "ln(2)").query.text
    'count(5)'
    """

    name: str
    channel: Channel
    query: Query
    epsilon: Epsilon | None
    #: Whether the channel's numbers are integers that somebody rounded to.
    rounded: bool = False


def load(
    text: str,
    epsilon: str | None = None,
    question: str | None = None,
    neighbours: str = "change-one",
) -> Loaded:
    """Find a mechanism by its name, or read it from a file.

    >>> load("geometric:count(5)")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a named mechanism needs its level: add --epsilon
    >>> load("mine.json")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: mine.json: No such file or directory
    """
    from tightrope.epsilon import Epsilon
    from tightrope.queries import query

    level = None if epsilon is None else Epsilon.of(epsilon)
    if text.lower().endswith(".csv"):
        from tightrope.channels import read_channel

        if question is None:
            raise InputError("a matrix does not say what it answers: add --query")
        channel = read_channel(Path(text))
        return Loaded(Path(text).name, channel, query(question, neighbours=neighbours), level)
    if ":" not in text or Path(text).is_file():
        from tightrope.certify import read

        made = read(Path(text))
        asked = query(made.query, neighbours=made.neighbours)
        if asked.graph.size != made.shape[0]:
            raise InputError(f"{text}: {made.query} does not have {made.shape[0]} answers")
        return Loaded(Path(text).name, made.channel(), asked, made.epsilon, True)
    from tightrope.mechanisms import mechanism

    named = mechanism(text)
    if level is None:
        raise InputError("a named mechanism needs its level: add --epsilon")
    asked = query(named.question, neighbours=neighbours)
    return Loaded(str(named), named.build(asked.graph, level), asked, level)
