"""Pictures that a hand changes: a graph drawn by clicks, and a prior dragged in its triangle."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tightrope.report.drawings import TRIANGLE
from tightrope.studio.asking import Refused

#: Width and height of the papers, in pixels.
SKETCH_SIZE, SIMPLEX_SIZE = (440, 240), (420, 370)
#: Most nodes that are drawn by hand.
MOST_NODES = 60


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

    def _at(self, x: float, y: float, reach: float = 16) -> int | None:
        near = [(math.hypot(x - a, y - b), node) for node, (a, b) in self.places.items()]
        distance, node = min(near, default=(math.inf, -1))
        return node if distance <= reach else None

    def _without(self, node: int) -> Sketch:
        places = {n: spot for n, spot in self.places.items() if n != node}
        return Sketch(places, tuple(e for e in self.edges if node not in e))

    def with_edges(self, text: str) -> Sketch:
        """Return the drawing whose edges are listed as text; new nodes stand on a circle."""
        edges: list[tuple[int, int]] = []
        for part in filter(str.strip, text.split(",")):
            found = re.fullmatch(r"\s*(\d{1,4})\s*-\s*(\d{1,4})\s*", part)
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
    (width, height), turn = SKETCH_SIZE, 2 * math.pi / max(len(nodes), 1)
    made = {}
    for k, node in enumerate(nodes):
        spot = (width / 2 + 95 * math.sin(turn * k), height / 2 - 90 * math.cos(turn * k))
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


# -- the triangle of priors ---------------------------------------------------------------

#: The corners of the triangle on its paper, one for each answer.
CORNERS = np.array([30.0, 340.0]) + TRIANGLE * [360.0, -360.0]


def place_of(shares: Sequence[float]) -> tuple[float, float]:
    """Return the point of a prior.

    >>> place_of([1, 0, 0])
    (30.0, 340.0)
    """
    x, y = np.asarray(shares) @ CORNERS
    return float(x), float(y)


def prior_at(x: float, y: float, parts: int = 100) -> str:
    """Return the prior at a point as text, on a grid of hundredths; at the border when outside.

    >>> prior_at(*place_of([1, 0, 0])), prior_at(210, 236), prior_at(0, 1000)
    ('1,0,0', '33/100,33/100,17/50', '1,0,0')
    """
    shares = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), [x, y, 1.0])
    one = min(max(round(parts * shares[0]), 0), parts)
    two = min(max(round(parts * shares[1]), 0), parts - one)
    return weights_text([one, two, parts - one - two])


def weights_text(weights: Sequence[int]) -> str:
    """Return whole weights as probabilities; empty when there is no weight at all.

    >>> weights_text([1, 3]), weights_text([0, 0])
    ('1/4,3/4', '')
    """
    total = sum(weights)
    return ",".join(str(Fraction(weight, total)) for weight in weights) if total else ""


def simplex_svg(
    shares: Sequence[float], corners: Sequence[Sequence[float]], names: Sequence[str]
) -> str:
    """Return the picture: the simplex, the regular region, and the prior as a point.

    Parameters
    ----------
    shares
        The prior.
    corners
        The corner priors, between which the regular priors lie.
    names
        The answers.
    """
    outer = " ".join(f"{x:.1f},{y:.1f}" for x, y in CORNERS)
    inner = " ".join("{:.1f},{:.1f}".format(*place_of(corner)) for corner in corners)
    x, y = place_of(shares)
    texts = "".join(
        f'<text x="{a:.0f}" y="{b + below}" text-anchor="{anchor}">{html.escape(name[:18])}</text>'
        for (a, b), below, anchor, name in zip(
            CORNERS, (22, 22, -10), ("start", "end", "middle"), names, strict=True
        )
    )
    return (
        f'<polygon points="{outer}" fill="rgba(138,148,160,.12)" stroke="#8a94a0"/>'
        f'<polygon points="{inner}" fill="rgba(15,157,138,.35)" stroke="#0f9d8a"/>'
        f'{texts}<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="#D55E00" stroke="white" '
        'stroke-width="2"/>'
    )
