"""``tightrope graph``: the answer graph of a question and its facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tightrope.cli.output import AsJson, NeighbourText, QueryText, facts_table, show


def graph(
    question: QueryText,
    neighbours: NeighbourText = "change-one",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the graph into a PNG, SVG or PDF file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the answer graph of a question: size, distances, shape and symmetry.

    Examples:
      tightrope graph "sum(150,5)"
      tightrope graph "histogram(10,3)" --neighbours add-remove
      tightrope graph petersen --plot petersen.svg

    >>> graph("cycle(5)", as_json=True)
    {"query": "cycle(5)", "neighbours": "change-one", "nodes": 5, "edges": 5, ...}
    """
    from tightrope.graphs.facts import graph_facts
    from tightrope.queries import query

    asked = query(question, neighbours=neighbours)
    facts = graph_facts(asked.graph)
    if plot is not None:
        from tightrope.report.plots import plot_graph, save_plot

        save_plot(plot_graph, asked.graph, plot)
    data = {"query": asked.text, "neighbours": asked.neighbours.value, **facts.as_dict()}
    show(
        as_json,
        data,
        lambda console: facts_table(
            console, f"{asked.text}  ({asked.neighbours.value})", facts.sentences()
        ),
    )
