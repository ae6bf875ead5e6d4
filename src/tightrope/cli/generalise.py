"""``tightrope generalise``: split outputs until a mechanism is maximally general."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.mechanisms import EpsilonOption, MechanismText, QuestionOption, load
from tightrope.cli.output import AsJson, NeighbourText, paragraphs, show
from tightrope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def generalise(
    mechanism: MechanismText,
    epsilon: EpsilonOption = None,
    question: QuestionOption = None,
    neighbours: NeighbourText = "change-one",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the new mechanism as a CSV matrix."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a mechanism maximally general: tell more at the same level, by splitting outputs.

    The old mechanism is the new one with outputs joined, so nobody loses anything. A matrix of
    fractions is split exactly, the rounded weights of a mechanism file within a tolerance.

    Examples:
      tightrope generalise coarse.csv --query "choice(3)" --epsilon "ln(2)" --out fine.csv
      tightrope generalise "response:count(3)" --epsilon "ln(2)"

    >>> generalise("response:count(2)", epsilon="ln(2)", as_json=True)
    {"query": "count(2)", "epsilon": "ln(2)", "exact": false, "outputs": 3, ..., "steps": [...
    """
    from tightrope.channels import Channel
    from tightrope.channels.generality import make_maximally_general
    from tightrope.files import check_goals

    check_goals(out)
    loaded = load(mechanism, epsilon, question, neighbours)
    if loaded.epsilon is None:
        raise InputError("splitting needs the level that the mechanism keeps to: add --epsilon")
    channel = loaded.channel
    if loaded.rounded:
        # Weights split to the last unit would only tell how they were rounded.
        channel = Channel(channel.matrix(), inputs=channel.inputs, outputs=channel.outputs)
    made = make_maximally_general(channel, loaded.query.graph, loaded.epsilon)
    if out is not None:
        from tightrope.channels.files import write_channel

        write_channel(made.channel, out)
    steps = [str(step) for step in made.steps]
    data = {
        "query": loaded.query.text,
        "epsilon": str(loaded.epsilon),
        "exact": made.exact,
        "outputs": loaded.channel.shape[1],
        "new_outputs": made.channel.shape[1],
        "remap": made.remap.targets,
        "steps": steps,
    }

    def draw(console: Console) -> None:
        if not made.steps:
            paragraphs(console, [f"{loaded.name} is maximally general already."])
            return
        paragraphs(
            console,
            [
                f"{loaded.name}: {loaded.channel.shape[1]} outputs became "
                f"{made.channel.shape[1]} in {len(made.steps)} splits.",
                *steps[:20],
            ],
        )

    show(as_json, data, draw)
