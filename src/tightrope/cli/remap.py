"""``tightrope remap``: the best guess for every output of a mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.mechanisms import EpsilonOption, MechanismText, QuestionOption, load
from tightrope.cli.output import AsJson, LossText, NeighbourText, PriorText, facts_table, show

if TYPE_CHECKING:
    from rich.console import Console

#: Most outputs that are listed for a person.
LISTED = 24


def remap(
    mechanism: MechanismText,
    prior: PriorText = "uniform",
    loss: LossText = "binary",
    epsilon: EpsilonOption = None,
    question: QuestionOption = None,
    neighbours: NeighbourText = "change-one",
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A receipt: also show the guess from its answer."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a reader with a prior and a loss should guess from every output.

    Examples:
      tightrope remap "geometric:count(5)" --epsilon "ln(2)" --prior "binomial(.3)"
      tightrope remap noise.csv --query "count(5)" --loss absolute

    >>> remap("geometric:count(2)", "0.1,0.8,0.1", "absolute", "ln(2)", as_json=True)
    {"mechanism": "geometric:count(2)", "query": "count(2)", "remap": [1, 1, 1], ...}
    """
    from tightrope.consumers import Consumer, best_remap

    loaded = load(mechanism, epsilon, question, neighbours)
    consumer = Consumer.of(loaded.query.graph, prior=prior, loss=loss)
    found = best_remap(loaded.channel, consumer)
    guesses = [consumer.loss.guess_label(int(k)) for k in found.guess]
    data: dict[str, Any] = {
        "mechanism": loaded.name,
        "query": loaded.query.text,
        "remap": guesses,
        "outputs": loaded.channel.outputs,
        "expected_loss": found.expected_loss,
    }
    if receipt is not None:
        from tightrope.publish.remaps import apply_remap

        best = dict(zip(loaded.channel.outputs, guesses, strict=True))
        data["guess"] = apply_remap(receipt, best)

    def draw(console: Console) -> None:
        rows = {
            f"output {label}": f"guess {guess}"
            for label, guess in zip(loaded.channel.outputs[:LISTED], guesses, strict=False)
        }
        if len(guesses) > LISTED:
            rows["…"] = f"{len(guesses) - LISTED} more (see --json)"
        if "guess" in data:
            rows["guess from the receipt"] = str(data["guess"])
        rows["expected loss"] = f"{found.expected_loss:.9g}"
        facts_table(console, f"{loaded.name}, prior {prior}, loss {loss}", rows)

    show(as_json, data, draw)
