"""``tightrope certify``: turn a mechanism into a file that carries its proof of privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.mechanisms import MechanismText, QuestionOption, load
from tightrope.cli.output import AsJson, EpsilonOption, NeighbourText, facts_table, show
from tightrope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def certify(
    mechanism: MechanismText,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")],
    epsilon: EpsilonOption = None,
    question: QuestionOption = None,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Round a mechanism to integers, prove its privacy and write the mechanism file.

    A matrix that is not private is refused with the pair of rows that shows it.

    Examples:
      tightrope certify "geometric:count(5)" --epsilon "ln(2)" --out count.tightrope
      tightrope certify matrix.csv --query "choice(6)" --epsilon 0.5 --out mine.tightrope

    >>> certify("matrix.csv", Path("x.tightrope"), epsilon="ln(2)")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a matrix does not say what it answers: add --query
    """
    from tightrope.certify import certify as prove, write
    from tightrope.files import check_goals

    check_goals(out)
    loaded = load(mechanism, epsilon, question, neighbours)
    if loaded.epsilon is None:
        raise InputError("a matrix does not say how private it is meant to be: add --epsilon")
    made = prove(loaded.channel, loaded.query, loaded.epsilon)
    write(made, out)
    data = {
        "file": str(out),
        "query": made.query,
        "neighbours": made.neighbours,
        "epsilon": str(made.epsilon),
        "ratio": made.ratio,
        "answers": made.shape[0],
        "outputs": made.shape[1],
        "kind": made.kind,
        "moved": made.moved,
        "bytes": len(made.to_bytes()),
        "digest": made.digest,
    }

    def draw(console: Console) -> None:
        facts_table(console, f"{loaded.name}, proved", {k: str(v) for k, v in data.items()})

    show(as_json, data, draw)
