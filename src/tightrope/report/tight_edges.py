"""Column graphs: which constraints of an output hold with equality [D, Def 3.3.2]."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tightrope.channels import Channel
from tightrope.channels.generality import column_graph
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.report.graphs import short_label
from tightrope.report.layouts import layout
from tightrope.report.palette import AMOUNTS, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_column_graph(
    channel: Channel,
    ax: Axes | None = None,
    *,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
    output: int = 0,
) -> Axes:
    """Draw the column graph of one output: arrows run along tight edges, towards the larger.

    Dashed edges are constraints with slack. If the arrows join all answers for every output, the
    mechanism is maximally general.

    Parameters
    ----------
    channel
        One row for each node.
    ax
        Axes to draw on; new ones by default.
    graph
        The answer graph.
    epsilon
        The privacy level.
    output
        Which column.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> axes = plot_column_graph(GeometricChannel(4, "ln(2)"), graph=PathPower(4), epsilon="ln(2)")
    >>> axes.get_title()
    'output 0: connected'
    """
    from tightrope.report.files import new_axes

    axes = new_axes(4.8, 3.6) if ax is None else ax
    found = column_graph(channel, graph, epsilon, output)
    nodes = list(range(graph.size))
    points = layout(graph, nodes, [(int(i), int(j)) for i, j in graph.edge_array()], spread=True)
    tight = {(int(i), int(j)) for i, j in found.edges}
    for i, j in graph.edge_array().tolist():
        if (i, j) in tight or (j, i) in tight:
            start, end = (j, i) if (i, j) in tight else (i, j)
            axes.annotate(
                "", points[end], points[start], zorder=2,
                arrowprops={
                    "arrowstyle": "-|>", "color": VERMILION, "lw": 1.8, "shrinkA": 11,
                    "shrinkB": 11,
                },
            )  # fmt: skip
        else:
            axes.plot(*points[[i, j]].T, color="0.6", linestyle="--", linewidth=0.9, zorder=1)
    column = channel.column(output)
    axes.scatter(
        points[:, 0], points[:, 1], s=380, c=column, cmap=AMOUNTS, vmin=0,
        vmax=float(np.max(column)) or 1.0,
        edgecolors="black", linewidths=0.8, zorder=3,
    )  # fmt: skip
    for node, spot in enumerate(points):
        dark = column[node] < 0.5 * column.max()
        axes.annotate(
            short_label(graph.label(node)), spot, ha="center", va="center", fontsize=8, zorder=4,
            color="white" if dark else "black",
        )  # fmt: skip
    parts = int(found.parts.max()) + 1
    shown = "connected" if found.connected else f"falls into {parts} parts"
    axes.set_title(f"output {short_label(channel.output_label(output))}: {shown}", fontsize=10)
    axes.margins(0.18)
    axes.set_axis_off()
    return axes
