"""``tightrope exists``: for which ε the tight-constraints mechanism exists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.output import AsJson, NeighbourText, QueryText, facts_table, progress_bar, show

if TYPE_CHECKING:
    from rich.console import Console


def exists(
    question: QueryText,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="T",
            help="Allow entries of y down to -T, as the published thresholds do with 1e-4.",
        ),
    ] = 0.0,
    step: Annotated[
        float | None,
        typer.Option(metavar="S", help="Look only at multiples of S (0.01 with a tolerance)."),
    ] = None,
    low: Annotated[float | None, typer.Option(metavar="E", help="Where to start looking.")] = None,
    high: Annotated[float | None, typer.Option(metavar="E", help="Where to stop looking.")] = None,
    neighbours: NeighbourText = "change-one",
    as_json: AsJson = False,
) -> None:
    """Show for which ε the tight-constraints mechanism exists, as a union of intervals.

    Examples:
      tightrope exists "sum(150,5)"
      tightrope exists "counts(30,2)" --tolerance 1e-4
      tightrope exists "tree(3,2)"

    >>> exists("star(3)", as_json=True)
    {"query": "star(3)", "intervals": [[0.6931471805599453, null]], ...}
    """
    from tightrope.phi import exists as existence
    from tightrope.queries import query

    asked = query(question, neighbours=neighbours)
    with progress_bar("looking", as_json) as done:
        found = existence(
            asked.graph, low=low, high=high, tolerance=tolerance, step=step, progress=done
        )
    minimum = found.minimum if math.isfinite(found.minimum) else None
    data = {"query": asked.text, **vars(found), "minimum": minimum, "up_set": found.is_up_set}

    def draw(console: Console) -> None:
        spans = [f"{a:.10g} … {'∞' if b is None else f'{b:.10g}'}" for a, b in found.intervals]
        sure = "nothing is missed" if found.exact else f"samples {found.resolution:.2g} apart"
        rows = {
            "exists for ε in": ",  ".join(spans) or "nowhere in the range",
            "smallest ε": "none" if minimum is None else f"{minimum:.10g}",
            "accuracy": f"{found.accuracy:.2g} ({sure})",
            "decided by": found.method,
        }
        if found.tolerance:
            rows["mind"] = (
                f"entries of y down to -{found.tolerance:g} were allowed: not a mechanism"
            )
        facts_table(console, f"tight-constraints mechanism of {asked.text}", rows)

    show(as_json, data, draw)
