"""``tightrope universal``: whether one mechanism serves every consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.output import AsJson, EpsilonText, NeighbourText, QueryText, paragraphs, show
from tightrope.kinds import LOSSES, forms, listed

if TYPE_CHECKING:
    from rich.console import Console


def universal(
    question: QueryText,
    epsilon: EpsilonText,
    loss: Annotated[
        str,
        typer.Option(
            "--loss",
            metavar="L",
            help=f"The loss of all consumers: {listed(forms(LOSSES))}; or 'monotone' for all "
            "monotone losses.",
        ),
    ] = "binary",
    risk_averse: Annotated[
        bool,
        typer.Option("--risk-averse", help="Consumers fear the worst case instead of averaging."),
    ] = False,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Decide whether one mechanism serves every consumer at once, with proof.

    "yes" comes with the mechanism, "no" with consumers whose optimal mechanisms no single
    mechanism yields.

    Examples:
      tightrope universal "count(20)" --epsilon 0.5
      tightrope universal "sum(3,2)" --epsilon 1 --risk-averse
      tightrope universal "star(3)" --epsilon "ln(3/2)"

    >>> universal("cycle(4)", "ln(2)", as_json=True)
    {"query": "cycle(4)", ..., "verdict": "no", "reason": "the answers contain a shortest cycle...
    """
    from tightrope.axioms import universality
    from tightrope.queries import query

    asked = query(question, neighbours=neighbours)
    kind = "risk-averse" if risk_averse else "bayesian"
    found = universality(asked, epsilon, loss, kind=kind)
    data = {
        "query": asked.text,
        "neighbours": asked.neighbours.value,
        "epsilon": epsilon,
        "loss": loss,
        "kind": kind,
        **found.as_dict(),
    }

    def draw(console: Console) -> None:
        console.print(f"{asked.text}, ε = {epsilon}, {kind} consumers, {loss} loss", markup=False)
        paragraphs(console, [str(found) + ".", f"Shown by: {found.theorem}."])
        told = found.witness.as_dict() if found.witness is not None else {}
        for number, consumer in enumerate(told.get("consumers", []), 1):
            possible = ", ".join(map(str, consumer["support"][:12]))
            lost = float(consumer["optimal_loss"])
            paragraphs(
                console,
                [f"  consumer {number}: possible answers {possible}; loses {lost:.6g} at best"],
            )

    show(as_json, data, draw)
