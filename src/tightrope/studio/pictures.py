"""Pictures for the browser, as plain Plotly figures.

Text colours come from the page's style sheet, so that one figure serves light and dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.report.drawings import COLOURS, GraphDrawing, HeatMap
from tightrope.studio.work import Compared

TEAL, GREY = "#0f9d8a", "#8a94a0"
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


def _axis(**more: Any) -> dict[str, Any]:
    return {"zeroline": False, "gridcolor": "rgba(138,148,160,.25)", **more}


def _hidden() -> dict[str, Any]:
    return {"visible": False, "fixedrange": True}


def safe(text: str) -> str:
    """Return a text in which Plotly finds no mark-up.

    >>> safe("<b>a</b>")
    '&lt;b&gt;a&lt;/b&gt;'
    """
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
        heavy = [(place[i], place[j]) for i, j in tight if i in place and j in place]
        data.append(_lines(drawing, heavy, TEAL, 3.0, 1.0))
    size = max(9.0, min(26.0, 420 / max(len(place), 1)))
    for number, nodes in enumerate(groups):
        ring = {"size": size + 8 + 7 * number, "color": "rgba(0,0,0,0)"}
        ring["line"] = {"color": COLOURS[number % len(COLOURS)], "width": 3}
        inside = [place[node] for node in nodes if node in place]
        data.append(
            _dots(drawing, inside, ring) | {"name": f"consumer {number + 1}", "hoverinfo": "name"}
        )
    if len(place) <= 40:
        # Behind the dots, and as large as the outermost ring, so that no ring covers a name.
        room = size + (7 * len(groups) + 4 if groups else 0)
        marked = {node for nodes in groups for node in nodes}
        step = math.ceil(len(place) / most_names)
        chosen = [k for k, n in enumerate(drawing.nodes) if k % step == 0 or n in marked]
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
    colours = [COLOURS[parts[n] % len(COLOURS)] if parts else TEAL for n in drawing.nodes]
    look = {"size": size, "color": colours, "line": {"color": "white", "width": 1}}
    hover = {"hovertext": [safe(name) for name in drawing.names], "hoverinfo": "text"}
    data.append(_dots(drawing, range(len(place)), look) | hover)
    margin = 0.18 + 0.06 * len(groups)
    wide = _hidden() | {"range": _margin(drawing.points[:, 0], margin)}
    if drawing.is_flat:
        highest = float(drawing.lines()[:, :, 1].max(initial=0.0))
        high = _hidden() | {"range": [-0.65, max(1.2 * highest, 0.8)]}
    else:
        high = _hidden() | {"range": _margin(drawing.points[:, 1], margin), "scaleanchor": "x"}
    return _figure(data, xaxis=wide, yaxis=high, margin={"l": 4, "r": 4, "t": 4, "b": 4})


def graph_layout() -> dict[str, Any]:
    """Return the paper of a graph without a graph on it."""
    layout: dict[str, Any] = _figure([], xaxis=_hidden(), yaxis=_hidden())["layout"]
    return layout


def _dots(drawing: GraphDrawing, chosen: Sequence[int], marker: dict[str, Any]) -> dict[str, Any]:
    xs, ys = drawing.points[list(chosen)].T.tolist() if len(chosen) else ([], [])
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker}


def _sides(drawing: GraphDrawing) -> list[str]:
    """Return where the names stand: outside a circle of answers, else below or above."""
    points = drawing.points.tolist()
    if drawing.is_flat or any(abs(math.hypot(x, y) - 1) > 0.01 for x, y in points):
        return ["bottom center" if drawing.is_flat else "top center"] * len(points)
    return [
        f"{'top' if y > 0.38 else 'bottom' if y < -0.38 else 'middle'} "
        f"{'right' if x > 0.38 else 'left' if x < -0.38 else 'center'}"
        for x, y in points
    ]


def _margin(values: NDArray[np.float64], part: float) -> list[float]:
    low, high = float(values.min()), float(values.max())
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
    xs: list[float | None] = []
    ys: list[float | None] = []
    for line in drawing.lines(edges, steps=17).tolist():
        xs += [*(x for x, _ in line), None]
        ys += [*(y for _, y in line), None]
    look = {"color": colour, "width": width}
    return {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": look,
            "opacity": opacity, "hoverinfo": "skip"}  # fmt: skip


def level_picture(intervals: Sequence[Sequence[float | None]], level: float | None) -> Figure:
    """Draw the ε axis: shaded where the tight-constraints mechanism exists, a mark at ε.

    >>> len(level_picture([[0.7, None]], 1.0)["layout"]["shapes"])
    2
    """
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
    axis = _axis(range=[0, end], title={"text": "ε"}, fixedrange=True)
    return _figure(
        [{"type": "scatter", "x": [0], "y": [0], "mode": "none", "hoverinfo": "skip"}],
        shapes=shapes, annotations=note, xaxis=axis, yaxis=_hidden(),
        margin={"l": 12, "r": 12, "t": 22, "b": 40},
    )  # fmt: skip


def bars_picture(bars: Sequence[Compared], is_binary: bool) -> Figure:
    """Draw the comparison: the chance of a right answer, or the loss, for each mechanism.

    >>> drawn = bars_picture([Compared("bound", 0.5), Compared("tight", None, "none")], True)
    >>> drawn["data"][0]["x"]
    [0.5]
    """
    drawn = [bar for bar in bars if bar.loss is not None]
    values = [1 - bar.loss if is_binary else bar.loss for bar in drawn if bar.loss is not None]
    known = {"bound": GREY, "optimum": TEAL}
    colours = [known.get(bar.name, COLOURS[0]) for bar in drawn]
    trace = {
        "type": "bar", "orientation": "h", "x": values, "y": [bar.name for bar in drawn],
        "text": [f"{value:.6g}" for value in values], "textposition": "outside",
        "cliponaxis": False, "marker": {"color": colours},
        "hovertemplate": "%{y}: %{x:.12g}<extra></extra>",
    }  # fmt: skip
    words = "chance of a right answer" if is_binary else "expected loss"
    return _figure(
        [trace],
        xaxis=_axis(title={"text": words}, range=[0, 1.18 * max(values) or 1], fixedrange=True),
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "ticksuffix": " "},
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
    values = [[float(f"{value:.6g}") for value in row] for row in heat.values.tolist()]
    shown: Any = values
    if logarithmic:
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
                for output, value, fraction in zip(heat.outputs, row, fractions, strict=True)
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
        yaxis=_ticks(heat.rows, "true answer") | {"autorange": "reversed", "automargin": True},
        margin={"l": 56, "r": 8, "t": 8, "b": 44},
    )


def _ticks(names: Sequence[str], title: str, most: int = 12) -> dict[str, Any]:
    step = max(1, math.ceil(len(names) / most))
    places = list(range(0, len(names), step))
    texts = [safe(names[k].split(" … ")[0])[:12] for k in places]
    return {"tickvals": places, "ticktext": texts, "title": {"text": title}, "showgrid": False}


def prior_picture(shares: Sequence[float], names: Sequence[str]) -> Figure:
    """Draw a prior as bars.

    >>> prior_picture([0.5, 0.5], ["no", "yes"])["data"][0]["y"]
    [0.5, 0.5]
    """
    trace = {"type": "bar", "x": list(range(len(shares))), "y": list(shares),
             "marker": {"color": TEAL}, "hovertext": [safe(name) for name in names],
             "hovertemplate": "%{hovertext}: %{y:.6g}<extra></extra>"}  # fmt: skip
    return _figure(
        [trace],
        xaxis=_ticks(names, "answer", 8) | {"fixedrange": True, "tickangle": 0},
        yaxis=_axis(rangemode="tozero", fixedrange=True, automargin=True),
        bargap=0.15,
    )


def error_picture(points: Sequence[tuple[float, float, float]], chosen: float) -> Figure:
    """Draw the error against ε: ours, that of the usual noise, and the chosen level.

    >>> drawn = error_picture([(0.5, 6.0, 6.0), (1.0, 3.0, 4.0)], 1.0)
    >>> [trace["name"] for trace in drawn["data"]]
    ['usual noise', 'this noise', 'chosen']
    """
    levels = [level for level, _, _ in points]
    ours, usual = [error for _, error, _ in points], [error for _, _, error in points]
    hover = "%{y:.4g} at ε = %{x:.4g}<extra>%{fullData.name}</extra>"
    lines = [
        {"type": "scatter", "mode": "lines+markers", "x": levels, "y": errors, "name": name,
         "line": {"color": colour, "dash": dash}, "hovertemplate": hover}
        for name, errors, colour, dash in (
            ("usual noise", usual, GREY, "dot"), ("this noise", ours, TEAL, "solid"))
    ]  # fmt: skip
    here = [(level, error) for level, error, _ in points if level == chosen]
    lines.append({"type": "scatter", "mode": "markers", "x": [x for x, _ in here],
                  "y": [y for _, y in here], "name": "chosen", "hovertemplate": hover,
                  "marker": {"color": COLOURS[1], "size": 11}})  # fmt: skip
    round_ones = [digit * 10.0**power for power in range(-4, 10) for digit in (1, 2, 5)]
    ticks = {"type": "log", "fixedrange": True, "tickvals": round_ones,
             "ticktext": [f"{one:.9g}" for one in round_ones]}  # fmt: skip
    return _figure(
        lines, showlegend=True, legend={"orientation": "h", "y": 1.18, "x": 0},
        xaxis=_axis(title={"text": "ε (paid)"}, **ticks),
        yaxis=_axis(title={"text": "error (95 %)"}, automargin=True, **ticks),
    )  # fmt: skip


def noise_picture(noise: Sequence[tuple[float, float]]) -> Figure:
    """Draw how far a published number is from the truth, and how often.

    >>> noise_picture([(-1.0, 0.25), (0.0, 0.5), (1.0, 0.25)])["data"][0]["y"]
    [0.25, 0.5, 0.25]
    """
    trace = {"type": "bar", "x": [by for by, _ in noise], "y": [share for _, share in noise],
             "marker": {"color": TEAL},
             "hovertemplate": "off by %{x:g}: %{y:.3%}<extra></extra>"}  # fmt: skip
    return _figure(
        [trace],
        xaxis=_axis(title={"text": "published number less the true one"}, fixedrange=True),
        yaxis=_axis(title={"text": "probability"}, fixedrange=True, automargin=True),
        bargap=0.1,
    )
