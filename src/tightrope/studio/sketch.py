"""A graph drawn by hand: nodes with places, edges, and what a click does to them."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import dataclass, field, replace

from tightrope.studio.refusal import Refused

#: The paper, and how near to a node a click must be.
WIDTH, HEIGHT, REACH = 440, 240, 16
#: Most nodes that are drawn by hand.
MOST_NODES = 60

_EDGE = re.compile(r"\s*(\d{1,4})\s*-\s*(\d{1,4})\s*")


@dataclass(frozen=True)
class Sketch:
    """A drawing: places of nodes by number, edges, and the node that waits for its partner.

    Examples
    --------
    >>> two = Sketch().click(50, 50).click(150, 50)
    >>> two.click(50, 50).click(150, 50).edge_text()
    '0-1'
    """

    places: dict[int, tuple[float, float]] = field(default_factory=dict)
    edges: tuple[tuple[int, int], ...] = ()
    waiting: int | None = None

    def click(self, x: float, y: float, remove: bool = False) -> Sketch:
        """Return the drawing after a click: a new node, a chosen one, or an edge."""
        hit = self._at(x, y)
        if remove:
            return self if hit is None else self._without(hit)
        if hit is None:
            if len(self.places) >= MOST_NODES:
                return self
            new = max(self.places, default=-1) + 1
            return replace(self, places={**self.places, new: (x, y)}, waiting=None)
        if self.waiting is None or self.waiting == hit:
            return replace(self, waiting=hit if self.waiting is None else None)
        edge = (min(hit, self.waiting), max(hit, self.waiting))
        kept = tuple(e for e in self.edges if e != edge)
        edges = kept if edge in self.edges else (*self.edges, edge)
        return replace(self, edges=edges, waiting=None)

    def _at(self, x: float, y: float) -> int | None:
        near = [(math.hypot(x - a, y - b), node) for node, (a, b) in self.places.items()]
        distance, node = min(near, default=(math.inf, -1))
        return node if distance <= REACH else None

    def _without(self, node: int) -> Sketch:
        places = {n: spot for n, spot in self.places.items() if n != node}
        return Sketch(places, tuple(e for e in self.edges if node not in e))

    def with_edges(self, text: str) -> Sketch:
        """Return the drawing whose edges are listed as text; new nodes stand on a circle."""
        edges: list[tuple[int, int]] = []
        for part in filter(str.strip, text.split(",")):
            found = _EDGE.fullmatch(part)
            if found is None or found[1] == found[2]:
                raise Refused("question", f"an edge is written 0-1, got {part.strip()[:30]!r}")
            a, b = sorted((int(found[1]), int(found[2])))
            if (a, b) not in edges:
                edges.append((a, b))
        nodes = sorted({node for edge in edges for node in edge})
        if len(nodes) > MOST_NODES:
            raise Refused("question", f"at most {MOST_NODES} answers are drawn, got {len(nodes)}")
        return Sketch(_places(nodes, self.places), tuple(edges))

    def edge_text(self) -> str:
        """Return the edges as text."""
        return ", ".join(f"{a}-{b}" for a, b in self.edges)

    def json(self) -> str:
        """Return the graph as the text of a JSON file."""
        data = {
            "name": "drawn",
            "nodes": sorted(self.places),
            "edges": [list(e) for e in self.edges],
        }
        return json.dumps(data)

    def svg(self) -> str:
        """Return the picture."""
        parts = []
        for a, b in self.edges:
            (x1, y1), (x2, y2) = self.places[a], self.places[b]
            parts.append(
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                'stroke="#8a94a0" stroke-width="2"/>'
            )
        for node, (x, y) in self.places.items():
            colour = "#D55E00" if node == self.waiting else "#0f9d8a"
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{colour}"/>'
                f'<text x="{x + 11:.1f}" y="{y - 8:.1f}">{html.escape(str(node))}</text>'
            )
        return "".join(parts)


def _places(
    nodes: list[int], known: dict[int, tuple[float, float]]
) -> dict[int, tuple[float, float]]:
    turn = 2 * math.pi / max(len(nodes), 1)
    made = {}
    for k, node in enumerate(nodes):
        spot = (WIDTH / 2 + 95 * math.sin(turn * k), HEIGHT / 2 - 90 * math.cos(turn * k))
        made[node] = known.get(node, spot)
    return made


def sketch_of(text: str, known: dict[int, tuple[float, float]] | None = None) -> Sketch:
    """Return the drawing of a graph's JSON text; empty when it was not drawn by hand.

    Nodes stay at the places that are known for them.

    >>> sketch_of(Sketch().with_edges("0-1, 1-2").json()).edge_text()
    '0-1, 1-2'
    >>> sketch_of('{"edges": [["a", "b"]]}').edges
    ()
    """
    try:
        data = json.loads(text)
        edges = tuple((a, b) for a, b in data["edges"])
        nodes = list(data.get("nodes", []))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return Sketch()
    numbers = [*nodes, *(node for edge in edges for node in edge)]
    if data.get("name") != "drawn" or not all(type(node) is int for node in numbers):
        return Sketch()
    if len(set(numbers)) > MOST_NODES or not set(numbers) <= set(nodes):
        return Sketch()
    return Sketch(_places(sorted(nodes), known or {}), edges)
