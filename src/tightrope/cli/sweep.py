"""``tightrope sweep``: many designs in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tightrope.cli.output import AsJson, NeighbourText, QueryText, progress_bar, show

if TYPE_CHECKING:
    from rich.console import Console


def sweep(
    question: QueryText,
    epsilons: Annotated[
        str,
        typer.Option(
            metavar="LO:HI:STEP", help="The levels: a range with both ends, or a list 0.5,ln(2)."
        ),
    ],
    prior: Annotated[
        list[str] | None,
        typer.Option(metavar="P", help="A prior; may be given several times (default uniform)."),
    ] = None,
    loss: Annotated[
        list[str] | None,
        typer.Option(metavar="L", help="A loss; may be given several times (default binary)."),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(metavar="R", help="Force a route; may be given several times."),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Relative gap to the bound at which to stop.")
    ] = 1e-9,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Design for every combination of levels, priors, losses and routes.

    Examples:
      tightrope sweep "count(20)" --epsilons 0.2:2:0.2 --loss absolute
      tightrope sweep "cycle(8)" --epsilons "ln(2),1" --prior uniform --prior "0.3,0.1,0.1,0.1,0.1,0.1,0.1,0.1"

    >>> sweep("path(4)", "0.5:1:0.5", as_json=True)
    {"query": "path(4)", "rows": [{"epsilon": 0.5, "epsilon_text": "0.5", ...}]}
    """  # noqa: E501
    from tightrope.optimize.sweep import levels
    from tightrope.optimize.sweep import sweep as run
    from tightrope.queries import query

    asked = query(question, neighbours=neighbours)
    with progress_bar("designing", as_json) as done:
        rows = list(
            run(
                asked,
                levels(epsilons),
                priors=prior or ["uniform"],
                losses=loss or ["binary"],
                routes=route or [None],
                gap=gap,
                progress=done,
            )
        )
    show(as_json, {"query": asked.text, "rows": rows}, lambda console: _draw(console, rows))


def _draw(console: Console, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    baselines = sorted({name for row in rows for name in row.get("baselines", {})})
    # A column that says the same in every row is left out.
    kinds = [name for name in ("prior", "loss", "route") if len({row[name] for row in rows}) > 1]
    table = Table(box=None)
    for heading in ("ε", *kinds):
        table.add_column(heading)
    for heading in ("expected loss", "gap", *baselines, "s"):
        table.add_column(heading, justify="right")
    for row in rows:
        start = [row["epsilon_text"], *(row[name] or "" for name in kinds)]
        if "error" in row:
            table.add_row(*start, row["error"])
            continue
        numbers = [f"{row['expected_loss']:.6g}", f"{row['gap']:.1g}"]
        others = [f"{row['baselines'].get(name, float('nan')):.6g}" for name in baselines]
        table.add_row(*start, *numbers, *others, f"{row['seconds']:.2g}")
    console.print(table)
