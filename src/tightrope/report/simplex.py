"""Priors as points: the simplex of all priors and the region of the regular ones [A, Fig 2, 3]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers import Prior
from tightrope.consumers.regular import region_corners
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.report.graphs import short_label
from tightrope.report.palette import BLACK, strokes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Corners of the simplex of three priors, and of four in a projection that hides none.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
TETRAHEDRON = np.array([[0.0, 0.0], [1.0, 0.05], [0.34, -0.34], [0.56, 0.86]])


def plot_region(
    graph: AnswerGraph,
    ax: Axes | None = None,
    *,
    epsilons: Sequence[Any] = ("ln(2)", "ln(5)"),
    prior: Prior | Sequence[float] | None = None,
) -> Axes:
    """Draw the regular priors of a query with three or four answers in the simplex of all.

    Parameters
    ----------
    graph
        A graph of three or four answers.
    ax
        Axes to draw on; new ones by default.
    epsilons
        The privacy levels, one region each.
    prior
        A prior to mark.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> plot_region(PathPower(3), prior=[0.2, 0.3, 0.5]).get_title()
    'regular priors of path(3)'
    """
    from tightrope.report.files import new_axes

    if graph.size not in (3, 4):
        raise InputError(
            f"the simplex can be drawn for 3 or 4 answers, but {graph.name} has {graph.size}"
        )
    axes = new_axes(5.6, 5.0) if ax is None else ax
    corners = TRIANGLE if graph.size == 3 else TETRAHEDRON
    _frame(axes, graph, corners)
    for epsilon, stroke in zip(epsilons, strokes(len(epsilons)), strict=True):
        level = Epsilon.of(epsilon)
        points = region_corners(graph, level) @ corners
        # Regions grow with ε: the smaller ones lie on top.
        above = 2 + 1 / (1 + float(level))
        label = f"ε = {level}"
        if graph.size == 3:
            axes.fill(
                *points.T, facecolor=f"{stroke.colour}33", edgecolor=stroke.colour, label=label,
                hatch=stroke.hatch, linestyle=stroke.dash, linewidth=1.6,
                zorder=above,
            )  # fmt: skip
        else:
            _wire(axes, points, stroke.colour, stroke.dash, label)
        axes.plot(*points.T, stroke.marker, color=stroke.colour, markersize=5, zorder=above)
    if prior is not None:
        spot = np.asarray(prior.probabilities if isinstance(prior, Prior) else prior) @ corners
        axes.plot(
            *spot, "*", color=BLACK, markersize=14, zorder=5, label="this prior", linestyle="none"
        )
    axes.set_title(f"regular priors of {graph.name}")
    beside = (0.0, 1.0) if graph.size == 3 else (0.72, 1.0)
    axes.legend(loc="upper left", bbox_to_anchor=beside, frameon=False)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_axis_off()
    return axes


def _frame(axes: Axes, graph: AnswerGraph, corners: NDArray[np.float64]) -> None:
    """Draw all priors, and at each corner the answer that is certain there."""
    _wire(axes, corners, "0.45", "-", None)
    middle = corners.mean(axis=0)
    for i, spot in enumerate(corners):
        away = (spot - middle) / np.linalg.norm(spot - middle)
        side = "right" if away[0] < -0.5 else "left" if away[0] > 0.5 else "center"
        axes.annotate(
            f"surely {short_label(graph.label(i))}", spot + 0.05 * away, ha=side, va="center",
            fontsize=9,
        )  # fmt: skip


def _wire(
    axes: Axes, points: NDArray[np.float64], colour: str, dash: Any, label: str | None
) -> None:
    """Draw every edge between the points; that of the first two carries the label."""
    pairs = [(i, j) for i in range(len(points)) for j in range(i)]
    for number, (i, j) in enumerate(pairs):
        axes.plot(
            *points[[i, j]].T, color=colour, linestyle=dash, linewidth=1.4,
            label=label if number == 0 else None,
        )  # fmt: skip
