"""``tightrope curve``: the smallest (ε, δ) pairs of a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.mechanisms import EpsilonOption, MechanismText, QuestionOption, load
from tightrope.cli.output import AsJson, NeighbourText, facts_table, show

if TYPE_CHECKING:
    from rich.console import Console

#: Most corners of the curve that are listed.
_CORNERS = 60


def curve(
    mechanism: MechanismText,
    epsilon: EpsilonOption = None,
    question: QuestionOption = None,
    neighbours: NeighbourText = "change-one",
    delta: Annotated[
        float | None,
        typer.Option("--delta", metavar="D", help="Give the smallest ε for this δ."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show for which (ε, δ) a mechanism is private: the smallest δ at every corner of the curve.

    Examples:
      tightrope curve "geometric:count(5)" --epsilon "ln(2)"
      tightrope curve matrix.csv --query "choice(3)" --delta 0.01

    >>> curve("geometric:count(2)", epsilon="ln(2)", delta=0.1, as_json=True)
    {"query": "count(2)", "delta": 0.1, "epsilon": 0.5306..., "rows": [{"epsilon": 0.0, ...
    """
    from tightrope.axioms import PrivacyCurve

    loaded = load(mechanism, epsilon, question, neighbours)
    found = PrivacyCurve(loaded.channel, loaded.query.graph)
    rows = [{"epsilon": e, "delta": found.delta(e)} for e in found.corners[:_CORNERS]]
    wanted = 0.0 if delta is None else delta
    data = {
        "query": loaded.query.text,
        "delta": wanted,
        "epsilon": found.epsilon(wanted),
        "rows": rows,
    }

    def draw(console: Console) -> None:
        told = {f"ε for δ = {wanted:g}": f"{data['epsilon']:.9g}"}
        told |= {f"δ for ε = {row['epsilon']:.6g}": f"{row['delta']:.6g}" for row in rows}
        facts_table(console, loaded.name, told)

    show(as_json, data, draw)
