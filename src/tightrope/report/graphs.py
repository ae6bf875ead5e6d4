"""Drawings of answer graphs, coloured by distance from one answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.graphs import AnswerGraph
from tightrope.report.layouts import layout, nearest_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most answers that are drawn, in a row or otherwise; of a larger graph, those nearest to the
#: centre.
DRAWN_IN_A_ROW, DRAWN = 31, 120
#: The font size of labels, and the width of a node in a row that holds one, in points.
LABEL_SIZE, ROOM_FOR_A_LABEL = 8, 15
#: The part of the width of the axes across which answers in a row are spread.
ROW_PART = 0.84


def plot_graph(
    graph: AnswerGraph,
    ax: Axes | None = None,
    *,
    centre: int = 0,
    limit: int | None = None,
    places: ArrayLike | None = None,
) -> Axes:
    """Draw an answer graph; colour is the distance from the centre.

    Of a graph with more than ``limit`` answers only those nearest to the centre are drawn, and
    the title says so.

    Parameters
    ----------
    graph
        What to draw.
    ax
        Axes to draw on; new ones by default.
    centre
        The node that distances are counted from.
    limit
        Most answers to draw; fewer by default when they stand in a row.
    places
        A point for each answer, when the graph should be laid out in a certain way.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> plot_graph(Cycle(6)).get_title()
    'cycle(6): 6 answers'
    """
    from tightrope.report.files import new_axes

    if limit is None:
        limit = DRAWN_IN_A_ROW if graph.is_line else DRAWN
    nodes, edges = nearest_part(graph, centre, limit)
    if places is None:
        points = layout(graph, nodes, edges)
    else:
        points = np.asarray(places, dtype=float)[nodes]
    row = _on_a_line(points)
    if ax is None:
        bent = any(abs(points[a, 0] - points[b, 0]) > 1 for a, b in edges)
        axes = new_axes(*((7.6, 2.6 if bent else 1.6) if row else (6.4, 4.8)))
    else:
        axes = ax
    distance = np.array([graph.distance(centre, i) for i in nodes], dtype=float)
    _draw_edges(axes, points, edges, bent=row)
    size = float(np.clip(6000 / len(nodes), 25, 420))
    if row:
        # The width of the picture is shared out, so that edges are seen between the nodes.
        size = min(size, (0.7 * _row_width(axes) / len(nodes)) ** 2)
    dots = axes.scatter(
        points[:, 0], points[:, 1], s=size, c=distance, cmap="cividis", vmin=0,
        edgecolors="black", linewidths=0.6, zorder=2,
    )  # fmt: skip
    if len(nodes) <= 40:
        texts = [short_label(graph.label(node)) for node in nodes]
        if row and size < ROOM_FOR_A_LABEL**2:
            _write_below(axes, texts, points, size)
        else:
            _write_inside(axes, texts, points, distance)
    bar = axes.figure.colorbar(dots, ax=axes, shrink=0.8)
    bar.set_label(f"distance from {short_label(graph.label(centre))}")
    if not graph.has_lengths:
        from matplotlib.ticker import MaxNLocator

        bar.locator = MaxNLocator(integer=True, nbins=4 if row else 8)
        bar.update_ticks()
    shown = f"{graph.size:,} answers"
    if len(nodes) < graph.size:
        shown += f", the {len(nodes)} nearest to {short_label(graph.label(centre))}"
    axes.set_title(f"{graph.name}: {shown}")
    axes.set_aspect("auto" if row else "equal")
    axes.margins(0.08)
    axes.set_axis_off()
    return axes


def _row_width(axes: Axes) -> float:
    """Return the width of a row of answers in points (1/72 inch)."""
    figure = axes.get_figure(root=True)
    whole = 6.4 if figure is None else figure.get_figwidth()
    return float(72 * ROW_PART * whole * axes.get_position().width)


def _on_a_line(points: NDArray[np.float64]) -> bool:
    return bool(np.ptp(points[:, 1]) == 0)


def _draw_edges(
    axes: Axes, points: NDArray[np.float64], edges: list[tuple[int, int]], bent: bool
) -> None:
    """Draw straight edges, or arcs between answers on a line so that none hides another."""
    from matplotlib.collections import LineCollection

    ends = points[np.array(edges, dtype=int).reshape(-1, 2)]
    if bent:
        turn = np.linspace(0, math.pi, 25)
        middle, half = ends.mean(axis=1), np.diff(ends[:, :, 0], axis=1) / 2
        lines = np.stack(
            [middle[:, :1] - half * np.cos(turn), (np.abs(half) - 0.5) * np.sin(turn)], axis=2
        )
    else:
        lines = ends
    axes.add_collection(LineCollection(list(lines), colors="0.55", linewidths=0.8, zorder=1))


def _write_below(axes: Axes, texts: list[str], points: NDArray[np.float64], size: float) -> None:
    """Write below small nodes in a row as many labels as stand beside each other."""
    needed = 0.75 * LABEL_SIZE * (max(map(len, texts)) + 0.5)
    step = math.ceil(needed * len(texts) / _row_width(axes))
    for text, spot in list(zip(texts, points, strict=True))[::step]:
        axes.annotate(
            text, spot, (0, -0.5 * math.sqrt(size) - 2), textcoords="offset points",
            ha="center", va="top", fontsize=LABEL_SIZE,
        )  # fmt: skip


def _write_inside(
    axes: Axes, texts: list[str], points: NDArray[np.float64], distance: NDArray[np.float64]
) -> None:
    size = LABEL_SIZE if max(map(len, texts)) <= 3 else 6.5
    for text, spot, far in zip(texts, points, distance / max(distance.max(), 1), strict=True):
        axes.annotate(
            text, spot, ha="center", va="center", fontsize=size, zorder=3,
            color="white" if far < 0.5 else "black",
        )  # fmt: skip


def short_label(label: object) -> str:
    """Return a label as text of at most 20 characters.

    >>> short_label((1, 2)), short_label((0, 1, 0)), short_label("the city with most votes")
    ('1,2', '010', 'the city with most …')
    """
    if isinstance(label, tuple):
        parts = [str(part) for part in label]
        brief = len(parts) > 2 and all(len(part) == 1 for part in parts)
        text = ("" if brief else ",").join(parts)
    else:
        text = str(label)
    return text if len(text) <= 20 else f"{text[:19]}…"
