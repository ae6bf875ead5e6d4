"""Pictures for the browser: plain Plotly figures, and two SVG ones that a hand changes.

Text colours come from the page's style sheet, so that one figure serves light and dark.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.report.drawings import (
    COLOURS,
    GREY,
    TEAL,
    TRIANGLE,
    GraphDrawing,
    HeatMap,
    around,
)
from tightrope.studio.asking import FieldError
from tightrope.studio.work import Compared
from tightrope.texts import bound_text

#: The end of the ε axis.
LAST_LEVEL = 5.0

#: A Plotly figure: data, layout and configuration.
Figure = dict[str, Any]


def _figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    plain = {
        "margin": {"l": 40, "r": 12, "t": 12, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "autosize": True,
        "font": {"size": 12, "family": 'system-ui, "DejaVu Sans", sans-serif'},
    }
    settings = {"displayModeBar": False, "responsive": True}
    return {"data": data, "layout": {**plain, **layout}, "config": settings}


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    look = {"zeroline": False, "gridcolor": "rgba(138,148,160,.25)", "fixedrange": True}
    return {**look, "title": {"text": title}, **more}


def _hidden() -> dict[str, Any]:
    return {"visible": False, "fixedrange": True}


def _bars(
    xs: Iterable[Any], ys: Iterable[Any], colour: Any = TEAL, **more: Any
) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": list(xs),
        "y": list(ys),
        "marker": {"color": colour},
        **more,
    }


def safe(text: str) -> str:
    """Return a text in which Plotly finds no mark-up.

    >>> safe("<b>a</b>")
    '&lt;b&gt;a&lt;/b&gt;'
    """
    # Plotly interprets some HTML in labels: names from a file could carry links.
    return html.escape(text, quote=False)


def graph_picture(
    drawing: GraphDrawing,
    *,
    groups: Sequence[Sequence[int]] = (),
    tight: Sequence[tuple[int, int]] | None = None,
    parts: Sequence[int] | None = None,
    most_names: int = 40,
) -> Figure:
    """Draw an answer graph.

    Parameters
    ----------
    drawing
        Names, places and edges.
    groups
        Sets of nodes to mark with rings, one colour for each.
    tight
        Edges to draw heavily, by nodes; the others become faint.
    parts
        A number for each node that chooses its colour.
    most_names
        So many names are written at most, beside those of marked answers.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> from tightrope.report.drawings import graph_drawing
    >>> [trace["mode"] for trace in graph_picture(graph_drawing(Cycle(4)))["data"]]
    ['lines', 'markers+text', 'markers']
    """
    place = {node: k for k, node in enumerate(drawing.nodes)}
    faint = 0.25 if tight is not None else 0.8
    data = [_lines(drawing, drawing.edges, GREY, 1.4, faint)]
    if tight is not None:
        # A reduced drawing may lack ends of an edge.
        heavy = [(place[i], place[j]) for i, j in tight if i in place and j in place]
        data.append(_lines(drawing, heavy, TEAL, 3.0, 1.0))
    # Smaller dots for more nodes, within readable limits.
    usual = 420 / max(len(place), 1)
    size = max(9.0, min(26.0, usual))
    for number, nodes in enumerate(groups):
        # Concentric rings: a node may belong to several consumers.
        ring = {"size": size + 8 + 7 * number, "color": "rgba(0,0,0,0)"}
        ring["line"] = {"color": COLOURS[number % len(COLOURS)], "width": 3}
        inside = [place[node] for node in nodes if node in place]
        data.append(
            _dots(drawing, inside, ring)
            | {"name": f"consumer {number + 1}", "hoverinfo": "name"}
        )
    if len(place) <= 40:
        # Behind the dots, and as large as the outermost ring, so that no ring covers a name.
        room = size + (7 * len(groups) + 4 if groups else 0)
        marked = {node for nodes in groups for node in nodes}
        # Every k-th name, and those of marked answers, or names overlap.
        step = math.ceil(len(place) / most_names)
        chosen = [
            k for k, n in enumerate(drawing.nodes) if k % step == 0 or n in marked
        ]
        sides = _sides(drawing)
        short = [name if len(name) <= 8 else f"{name[:7]}…" for name in drawing.names]
        data.append(
            _dots(drawing, chosen, {"size": room, "color": "rgba(0,0,0,0)"})
            | {
                "mode": "markers+text",
                "text": [safe(short[k]) for k in chosen],
                "textposition": [sides[k] for k in chosen],
                "hoverinfo": "skip",
            }
        )
    colours = [
        COLOURS[parts[n] % len(COLOURS)] if parts else TEAL for n in drawing.nodes
    ]
    look = {"size": size, "color": colours, "line": {"color": "white", "width": 1}}
    hover = {"hovertext": [safe(name) for name in drawing.names], "hoverinfo": "text"}
    data.append(_dots(drawing, range(len(place)), look) | hover)
    margin = 0.18 + 0.06 * len(groups)
    wide = _hidden() | {"range": _margin(drawing.points[:, 0], margin)}
    if drawing.is_flat:
        highest = float(drawing.lines()[:, :, 1].max(initial=0.0))
        # A path is drawn flat, with arcs for its longer edges: the height is that of the arcs.
        high = _hidden() | {"range": [-0.65, max(1.2 * highest, 0.8)]}
    else:
        high = _hidden() | {
            "range": _margin(drawing.points[:, 1], margin),
            # Equal scales: a circle of answers must look round.
            "scaleanchor": "x",
        }
    return _figure(
        data, xaxis=wide, yaxis=high, margin={"l": 4, "r": 4, "t": 4, "b": 4}
    )


def blank_graph() -> Figure:
    """Return the paper of a graph without a graph on it."""
    return _figure([], xaxis=_hidden(), yaxis=_hidden())


def _dots(
    drawing: GraphDrawing, chosen: Sequence[int], marker: dict[str, Any]
) -> dict[str, Any]:
    xs, ys = drawing.points[list(chosen)].T.tolist() if len(chosen) else ([], [])
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker}


def _sides(drawing: GraphDrawing) -> list[str]:
    """Return where the names stand: outside a circle of answers, else below or above."""
    points = drawing.points.tolist()
    # All points on the unit circle: names are placed outside of it.
    if drawing.is_flat or any(abs(math.hypot(x, y) - 1) > 0.01 for x, y in points):
        return ["bottom center" if drawing.is_flat else "top center"] * len(points)
    return [
        f"{'top' if y > 0.38 else 'bottom' if y < -0.38 else 'middle'} "
        f"{'right' if x > 0.38 else 'left' if x < -0.38 else 'center'}"
        for x, y in points
    ]


def _margin(values: NDArray[np.float64], part: float) -> list[float]:
    low = float(values.min())
    high = float(values.max())
    extra = part * (high - low) or 1.0
    return [low - extra, high + extra]


def _lines(
    drawing: GraphDrawing,
    edges: Sequence[tuple[int, int]],
    colour: str,
    width: float,
    opacity: float,
) -> dict[str, Any]:
    """One trace of all edges, with a gap after each."""
    lines = drawing.lines(edges, steps=17)
    # None breaks the line between two edges, so that one trace draws all of them.
    xs, ys = (
        [at for line in lines[:, :, k].tolist() for at in (*line, None)] for k in (0, 1)
    )
    look = {"color": colour, "width": width}
    return {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": look,
            "opacity": opacity, "hoverinfo": "skip"}  # fmt: skip


def level_picture(
    intervals: Sequence[Sequence[float | None]], level: float | None
) -> Figure:
    """Draw the ε axis: shaded where the tight-constraints mechanism exists, a mark at ε.

    >>> len(level_picture([[0.7, None]], 1.0)["layout"]["shapes"])
    2
    """
    # The axis grows with ε, or the mark would be outside.
    end = max(LAST_LEVEL, 1.1 * (level or 0))
    shapes: list[dict[str, Any]] = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": low,
         "x1": end if high is None else high, "y0": 0, "y1": 1, "fillcolor": TEAL,
         "opacity": 0.3, "line": {"width": 0}}
        for low, high in intervals
    ]  # fmt: skip
    if level is not None:
        mark = {"color": COLOURS[1], "width": 3}
        shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": level, "x1": level,
                       "y0": 0, "y1": 1, "line": mark})  # fmt: skip
    ends = [edge for pair in intervals for edge in pair if edge]
    note = [
        {"x": edge, "y": 1.0, "yref": "paper", "text": f"{edge:.4g}", "showarrow": False,
         "yanchor": "bottom"}
        for edge in ends
    ]  # fmt: skip
    return _figure(
        [{"type": "scatter", "x": [0], "y": [0], "mode": "none", "hoverinfo": "skip"}],
        shapes=shapes, annotations=note, xaxis=_axis("ε", range=[0, end]), yaxis=_hidden(),
        margin={"l": 12, "r": 12, "t": 22, "b": 40},
    )  # fmt: skip


def bars_picture(bars: Sequence[Compared], is_binary: bool) -> Figure:
    """Draw the comparison: the chance of a right answer, or the loss, for each mechanism.

    >>> drawn = bars_picture([Compared("bound", 0.5), Compared("tight", None, "none")], True)
    >>> drawn["data"][0]["x"]
    [0.5]
    """
    drawn = [bar for bar in bars if bar.loss is not None]
    # A chance is 1 - loss under binary loss.
    values = [
        1 - bar.loss if is_binary else bar.loss for bar in drawn if bar.loss is not None
    ]
    known = {"bound": GREY, "optimum": TEAL}
    colours = [known.get(bar.name, COLOURS[2]) for bar in drawn]
    trace = _bars(
        values, [bar.name for bar in drawn], colours, orientation="h", textposition="outside",
        text=[f"{value:.6g}" for value in values], cliponaxis=False,
        hovertemplate="%{y}: %{x:.12g}<extra></extra>",
    )  # fmt: skip
    words = "chance of a right answer" if is_binary else "expected loss"
    return _figure(
        [trace],
        # Room on the right for the number behind each bar.
        xaxis=_axis(words, range=[0, 1.18 * max(values) or 1]),
        yaxis={
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "ticksuffix": " ",
        },
        bargap=0.35,
    )


def heat_picture(
    heat: HeatMap, exact: Sequence[Sequence[str]] = (), *, logarithmic: bool = False
) -> Figure:
    """Draw a mechanism: rows are true answers, columns reported outputs.

    Parameters
    ----------
    heat
        The numbers.
    exact
        The fraction behind each number; nothing for a reduced picture.
    logarithmic
        Whether colours stand for powers of ten.
    """
    # Six digits: the full floats would triple what is sent to the browser.
    rows = heat.values.tolist()
    values = [[float(f"{value:.6g}") for value in row] for row in rows]
    shown: Any = values
    if logarithmic:
        # log10(0) has no colour.
        shown = [[math.log10(v) if v > 0 else None for v in row] for row in values]
    trace: dict[str, Any] = {
        "type": "heatmap", "z": shown, "colorscale": "Cividis", "xgap": 0, "ygap": 0,
        "x": list(range(len(heat.outputs))), "y": list(range(len(heat.rows))),
        "colorbar": {"thickness": 12, "title": {"text": "log₁₀ p" if logarithmic else "p"}},
    }  # fmt: skip
    if exact:
        trace["hoverinfo"] = "text"
        trace["hovertext"] = [
            [
                f"true {safe(answer)} → reported {safe(output)}<br>{value:.6g} = {fraction}"
                for output, value, fraction in zip(
                    heat.outputs, row, fractions, strict=True
                )
            ]
            for answer, row, fractions in zip(heat.rows, values, exact, strict=True)
        ]
        if max(heat.values.shape) <= 10:
            written = [[f"{value:.3g}" for value in row] for row in values]
            trace |= {"text": written, "texttemplate": "%{text}"}
    else:
        trace["hovertemplate"] = "block %{y}, %{x}: largest %{z:.6g}<extra></extra>"
    return _figure(
        [trace],
        xaxis=_ticks(heat.outputs, "reported") | {"tickangle": 0},
        yaxis=_ticks(heat.rows, "true answer")
        | {"autorange": "reversed", "automargin": True},
        margin={"l": 56, "r": 8, "t": 8, "b": 44},
    )


def _ticks(names: Sequence[str], title: str, most: int = 12) -> dict[str, Any]:
    step = max(1, math.ceil(len(names) / most))
    places = list(range(0, len(names), step))
    shortened = (names[k].split(" … ")[0][:12] for k in places)
    texts = [safe(text) for text in shortened]
    return {
        "tickvals": places,
        "ticktext": texts,
        "title": {"text": title},
        "showgrid": False,
    }


def prior_picture(shares: Sequence[float], names: Sequence[str]) -> Figure:
    """Draw a prior as bars.

    >>> prior_picture([0.5, 0.5], ["no", "yes"])["data"][0]["y"]
    [0.5, 0.5]
    """
    hover = "%{hovertext}: %{y:.6g}<extra></extra>"
    return _figure(
        [
            _bars(
                range(len(shares)),
                shares,
                hovertext=list(map(safe, names)),
                hovertemplate=hover,
            )
        ],
        xaxis=_ticks(names, "answer", 8) | {"fixedrange": True, "tickangle": 0},
        yaxis=_axis(rangemode="tozero", automargin=True),
        bargap=0.15,
    )


def error_picture(
    points: Sequence[tuple[float, float, float]], chosen: float
) -> Figure:
    """Draw the error against ε: ours, that of the usual noise, and the chosen level.

    >>> drawn = error_picture([(0.5, 6.0, 6.0), (1.0, 3.0, 4.0)], 1.0)
    >>> [trace["name"] for trace in drawn["data"]]
    ['usual noise', 'this noise', 'chosen']
    """
    columns = zip(*points, strict=True)
    levels, ours, usual = (list(column) for column in columns)
    # Of type r: four digits, and never an exponent.
    hover = "%{y:,.4~r} at ε = %{x:.4~r}<extra>%{fullData.name}</extra>"
    lines = [
        {"type": "scatter", "mode": "lines+markers", "x": levels, "y": errors, "name": name,
         "line": {"color": colour, "dash": dash}, "hovertemplate": hover}
        for name, errors, colour, dash in (
            ("usual noise", usual, GREY, "dot"), ("this noise", ours, TEAL, "solid"))
    ]  # fmt: skip
    # The chosen level may have no error that is known in advance.
    here = [error for level, error, _ in points if level == chosen]
    lines.append({"type": "scatter", "mode": "markers", "x": [chosen] * len(here), "y": here,
                  "name": "chosen", "hovertemplate": hover,
                  "marker": {"color": COLOURS[1], "size": 11}})  # fmt: skip
    # 1, 2, 5 per decade: Plotly's own log ticks drop the leading digit.
    round_ones = [digit * 10.0**power for power in range(-4, 10) for digit in (1, 2, 5)]
    words = [f"{one:.9g}" for one in round_ones]
    ticks: dict[str, Any] = {"type": "log", "tickvals": round_ones, "ticktext": words}
    return _figure(
        # Hung by its lower edge: in a narrow window it has two lines, and grows upwards.
        lines, showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        xaxis=_axis("ε (paid)", **ticks),
        yaxis=_axis("error (95 %)", automargin=True, **ticks),
    )  # fmt: skip


def error_words(points: Sequence[tuple[float, float, float]]) -> str:
    """Return what the picture of errors shows, for whoever does not see it.

    >>> error_words([(0.5, 6, 6), (1, 3, 4)])
    'The error at each ε: ± 6 at 0.5 (usual noise ± 6), ± 3 at 1 (usual noise ± 4)'
    """
    each = (
        f"± {bound_text(own)} at {level:.4g} (usual noise ± {bound_text(usual)})"
        for level, own, usual in points
    )
    return f"The error at each ε: {', '.join(each)}"


def noise_picture(noise: Sequence[tuple[float, float]]) -> Figure:
    """Draw how far a published number is from the truth, and how often.

    >>> noise_picture([(-1.0, 0.25), (0.0, 0.5), (1.0, 0.25)])["data"][0]["y"]
    [0.25, 0.5, 0.25]
    """
    trace = _bars(
        (by for by, _ in noise), (share for _, share in noise),
        hovertemplate="off by %{x:g}: %{y:.3%}<extra></extra>",
    )  # fmt: skip
    return _figure(
        [trace],
        xaxis=_axis("published number less the true one"),
        yaxis=_axis("probability", automargin=True),
        bargap=0.1,
    )


# -- a graph drawn by clicks --------------------------------------------------------------

#: Width and height of the papers, in pixels.
SKETCH_SIZE = (440, 240)
SIMPLEX_SIZE = (420, 370)
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
            # One more than the largest: two nodes never have one number.
            new = max(self.places, default=-1) + 1
            return replace(self, places={**self.places, new: (x, y)}, waiting=None)
        # A second click on the same node takes the choice back.
        if self.waiting is None or self.waiting == hit:
            return replace(self, waiting=hit if self.waiting is None else None)
        edge = (min(hit, self.waiting), max(hit, self.waiting))
        kept = tuple(e for e in self.edges if e != edge)
        # Clicking an existing edge removes it.
        edges = kept if edge in self.edges else (*self.edges, edge)
        return replace(self, edges=edges, waiting=None)

    def _at(self, x: float, y: float, reach: float = 16) -> int | None:
        near = [
            (math.hypot(x - a, y - b), node) for node, (a, b) in self.places.items()
        ]
        distance, node = min(near, default=(math.inf, -1))
        # Within a finger's width counts as a hit.
        return node if distance <= reach else None

    def _without(self, node: int) -> Sketch:
        places = {n: spot for n, spot in self.places.items() if n != node}
        edges = tuple(e for e in self.edges if node not in e)
        return Sketch(places, edges)

    def with_edges(self, text: str) -> Sketch:
        """Return the drawing whose edges are listed as text; new nodes stand on a circle."""
        edges: dict[tuple[int, int], None] = {}
        for part in filter(str.strip, text.split(",")):
            found = re.fullmatch(r"\s*(\d{1,4})\s*-\s*(\d{1,4})\s*", part)
            if found is None or found[1] == found[2]:
                raise FieldError(
                    "question", f"an edge is written 0-1, got {part.strip()[:30]!r}"
                )
            a, b = sorted((int(found[1]), int(found[2])))
            edges[a, b] = None
        nodes = sorted({node for edge in edges for node in edge})
        if len(nodes) > MOST_NODES:
            raise FieldError(
                "question", f"at most {MOST_NODES} answers are drawn, got {len(nodes)}"
            )
        return Sketch(_places(nodes, self.places), tuple(edges))

    def edge_text(self) -> str:
        """Return the edges as text."""
        return ", ".join(f"{a}-{b}" for a, b in self.edges)

    def json(self) -> str:
        """Return the graph as the text of a JSON file."""
        edges = [list(edge) for edge in self.edges]
        return json.dumps(
            {"name": "drawn", "nodes": sorted(self.places), "edges": edges}
        )

    def svg(self) -> str:
        """Return the picture."""
        parts = []
        for a, b in self.edges:
            (x1, y1), (x2, y2) = self.places[a], self.places[b]
            parts.append(
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                f'stroke="{GREY}" stroke-width="2"/>'
            )
        for node, (x, y) in self.places.items():
            colour = COLOURS[1] if node == self.waiting else TEAL
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{colour}"/>'
                f'<text x="{x + 11:.1f}" y="{y - 8:.1f}">{html.escape(str(node))}</text>'
            )
        return "".join(parts)


def _places(
    nodes: list[int], known: dict[int, tuple[float, float]]
) -> dict[int, tuple[float, float]]:
    """Return where nodes stand: where they are known to, else on a circle."""
    width, height = SKETCH_SIZE
    # The y axis of an image points down.
    scale = [95, -90]
    middle = [width / 2, height / 2]
    circle = around(max(len(nodes), 1)) * scale + middle
    return {
        node: known.get(node, (x, y))
        for node, (x, y) in zip(nodes, circle.tolist(), strict=False)
    }


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
    # Every end of an edge must be a node; otherwise the text was not made here.
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
    # Barycentric coordinates: the prior weighs the corners.
    x, y = np.asarray(shares) @ CORNERS
    return float(x), float(y)


def prior_at(x: float, y: float, parts: int = 100) -> str:
    """Return the prior at a point as text, on a grid of hundredths; at the border when outside.

    >>> prior_at(*place_of([1, 0, 0])), prior_at(210, 236), prior_at(0, 1000)
    ('1,0,0', '33/100,33/100,17/50', '1,0,0')
    """
    # The inverse: three equations for x, y and the sum 1.
    equations = np.vstack([CORNERS.T, np.ones(3)])
    shares = np.linalg.solve(equations, [x, y, 1.0])
    one = min(max(round(parts * shares[0]), 0), parts)
    # Clamped one after the other, so that the three add up to 1 and none is negative.
    two = min(max(round(parts * shares[1]), 0), parts - one)
    return weights_text([one, two, parts - one - two])


def weights_text(weights: Sequence[int]) -> str:
    """Return whole weights as probabilities; empty when there is no weight at all.

    >>> weights_text([1, 3]), weights_text([0, 0])
    ('1/4,3/4', '')
    """
    total = sum(weights)
    if not total:
        return ""
    return ",".join(str(Fraction(weight, total)) for weight in weights)


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
        f'<polygon points="{outer}" fill="rgba(138,148,160,.12)" stroke="{GREY}"/>'
        f'<polygon points="{inner}" fill="rgba(15,157,138,.35)" stroke="{TEAL}"/>'
        f'{texts}<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{COLOURS[1]}" stroke="white" '
        'stroke-width="2"/>'
    )
