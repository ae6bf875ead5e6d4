"""How an answer graph shows itself in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tightrope.errors import TightropeError

if TYPE_CHECKING:
    from tightrope.graphs.base import AnswerGraph

#: Answers up to which facts that take the whole graph are shown.
COUNTED = 2000


def graph_html(graph: AnswerGraph) -> str:
    """Return a small table of facts, safe to put into a page.

    >>> from tightrope.graphs import Cycle
    >>> "<td>5</td>" in graph_html(Cycle(5))
    True
    """
    facts: list[tuple[str, object]] = [("answers", f"{graph.size:,}")]
    if graph.size <= COUNTED:
        try:
            facts.append(("edges", f"{graph.edge_count:,}"))
            facts.append(("diameter", f"{graph.diameter:g}"))
            facts.append(("largest degree", graph.max_degree))
        except TightropeError as refused:
            facts.append(("more", refused))
    rows = "".join(f"<tr><th>{name}</th><td>{escape(str(fact))}</td></tr>" for name, fact in facts)
    return f"<table><caption>{escape(graph.name)}</caption>{rows}</table>"
