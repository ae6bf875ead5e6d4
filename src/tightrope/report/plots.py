"""Pictures with Matplotlib: graphs, channels, curves over ε, regions of priors.

Every plot is a function ``plot_x(subject, ax=None, …)`` that draws on the given axes, or on new
ones, and returns them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.accounting import TradeOff
from tightrope.channels import Channel
from tightrope.channels.generality import column_graph
from tightrope.consumers import Prior
from tightrope.consumers.regular import LeakageCurves, region_corners
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.files import check_goals, write_whole
from tightrope.graphs import AnswerGraph
from tightrope.leakage import database_bound
from tightrope.mechanisms.tight import UtilityCurve
from tightrope.phi import Existence
from tightrope.report.drawings import (
    TETRAHEDRON,
    TRIANGLE,
    GraphDrawing,
    HeatMap,
    Stroke,
    graph_drawing,
    heat_map,
    short_label,
    strokes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


def new_axes(width: float = 6.4, height: float = 4.8) -> Axes:
    """Return fresh axes on a figure of their own, without touching any global state."""
    from matplotlib.figure import Figure

    # Figure instead of pyplot: no global state, and nothing is kept alive.
    axes: Axes = Figure(figsize=(width, height), layout="constrained").add_subplot()
    return axes


def save_plot(
    plot: Callable[..., Axes], subject: Any, path: Path | str, **options: Any
) -> Path:
    """Draw a subject with one of the plot functions into a PNG, SVG or PDF file.

    Parameters
    ----------
    plot
        A function ``plot(subject, ax=None, **options)`` that returns its axes.
    subject
        What to draw.
    path
        The file; its ending chooses the format. It is written whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import Cycle
    >>> save_plot(plot_graph, Cycle(5), f"{tempfile.mkdtemp()}/ring.svg").name
    'ring.svg'
    """
    target = Path(path)
    ending = check_picture(path)
    figure = plot(subject, **options).get_figure()
    how: dict[str, Any] = {"format": ending[1:], "dpi": 200}
    # SVG stores its date by default, which would change the file on each run.
    how |= {"metadata": {"Date": None}} if ending == ".svg" else {}
    # Written to a temporary name and renamed: no half picture is left behind.
    write_whole(target, lambda file: figure.savefig(file, **how))  # type: ignore[union-attr]
    return target


def check_picture(path: Path | str) -> str:
    """Refuse a file that no picture can be written into, and return its ending.

    >>> check_picture("ring.txt")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a picture must end in .png, .svg, .pdf, got 'ring.txt'
    """
    check_goals(path)
    ending = Path(path).suffix.lower()
    if ending not in (".png", ".svg", ".pdf"):
        raise InputError(
            f"a picture must end in .png, .svg, .pdf, got {Path(path).name!r}"
        )
    return ending


# -- graphs -------------------------------------------------------------------------------


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
        Most answers to draw: 120 by default, and 31 when they are in a row.
    places
        A point for each answer, when the graph should be laid out in a certain way.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> plot_graph(Cycle(6)).get_title()
    'cycle(6): 6 answers'
    """
    limit = limit or (31 if graph.is_line else 120)
    drawing = graph_drawing(graph, centre=centre, limit=limit, places=places)
    row = drawing.is_flat
    points = drawing.points
    count = len(drawing.nodes)
    # Edges beyond direct neighbours are drawn as arcs, which need height.
    bent = any(abs(points[a, 0] - points[b, 0]) > 1 for a, b in drawing.edges)
    size_of_row = (7.6, 2.6 if bent else 1.6)
    usual_size = size_of_row if row else (6.4, 4.8)
    axes = new_axes(*usual_size) if ax is None else ax
    _draw_lines(axes, drawing.lines(), color="0.55", linewidth=0.8)
    # Area of a dot in points²: smaller for more answers.
    size = float(np.clip(6000 / count, 25, 420))
    if row:
        # Leave room between the nodes of a row, so that the edges are visible.
        size = min(size, (0.7 * _row_width(axes) / count) ** 2)
    distances = [graph.distance(centre, i) for i in drawing.nodes]
    distance = np.array(distances, dtype=float)
    dots = _draw_nodes(axes, points, distance, size)
    if count <= 40:
        if row and size < 15**2:  # narrower than 15 points: too small for a label
            _write_below(axes, drawing, size)
        else:
            # White on dark colours, black on light ones.
            _write_inside(axes, drawing, distance < 0.5 * max(distance.max(), 1))
    bar = axes.figure.colorbar(dots, ax=axes, shrink=0.8)
    bar.set_label(f"distance from {short_label(graph.label(centre))}")
    if not graph.has_lengths:
        from matplotlib.ticker import MaxNLocator

        bar.locator = MaxNLocator(integer=True, nbins=4 if row else 8)
        bar.update_ticks()
    shown = f"{graph.size:,} answers"
    if count < graph.size:
        shown += f", the {count} nearest to {short_label(graph.label(centre))}"
    axes.set_title(f"{graph.name}: {shown}")
    axes.set_aspect("auto" if row else "equal")
    return _bare(axes, 0.08)


def plot_column_graph(
    channel: Channel,
    ax: Axes | None = None,
    *,
    graph: AnswerGraph,
    epsilon: Level,
    output: int = 0,
) -> Axes:
    """Draw the column graph of one output: arrows run along tight edges, towards the larger.

    Dashed edges are constraints with slack. If the arrows join all answers for every output, the
    mechanism is maximally general [D, Def 3.3.2].

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
    axes = new_axes(4.8, 3.6) if ax is None else ax
    found = column_graph(channel, graph, epsilon, output)
    drawing = graph_drawing(graph, limit=graph.size, spread=True)
    tight = {(int(i), int(j)) for i, j in found.edges}
    # Tight edges are directed; either direction makes an edge tight.
    slack = [(i, j) for i, j in drawing.edges if not {(i, j), (j, i)} & tight]
    _draw_lines(axes, drawing.points[np.array(slack, int).reshape(-1, 2)], color="0.6",
                linestyle="--", linewidth=0.9)  # fmt: skip
    arrow = {"arrowstyle": "-|>", "color": strokes(2)[1].colour, "lw": 1.8, "shrinkA": 11,
             "shrinkB": 11}  # fmt: skip
    for end, start in tight:
        spots = drawing.points[end], drawing.points[start]
        axes.annotate("", *spots, zorder=2, arrowprops=arrow)
    column = channel.column(output)
    # All zero: any positive maximum will do.
    highest = float(np.max(column)) or 1.0
    _draw_nodes(axes, drawing.points, column, 380, highest=highest)
    _write_inside(axes, drawing, column < 0.5 * column.max())
    parts = int(found.parts.max()) + 1
    shown = "connected" if found.connected else f"falls into {parts} parts"
    axes.set_title(
        f"output {short_label(channel.output_label(output))}: {shown}", fontsize=10
    )
    return _bare(axes, 0.18)


def _bare(axes: Axes, margin: float) -> Axes:
    axes.margins(margin)
    axes.set_axis_off()
    return axes


def _draw_lines(axes: Axes, lines: NDArray[np.float64], **style: Any) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(lines), zorder=1, **style))


def _draw_nodes(
    axes: Axes,
    points: NDArray[np.float64],
    amounts: NDArray[np.float64],
    size: float,
    highest: float | None = None,
) -> Any:
    return axes.scatter(
        points[:, 0], points[:, 1], s=size, c=amounts, cmap="cividis", vmin=0, vmax=highest,
        edgecolors="black", linewidths=0.6, zorder=3,
    )  # fmt: skip


def _row_width(axes: Axes) -> float:
    """Return the width of a row of answers in points (1/72 inch): 84 % of that of the axes."""
    figure = axes.get_figure(root=True)
    whole = 6.4 if figure is None else figure.get_figwidth()
    return float(72 * 0.84 * whole * axes.get_position().width)


def _write_below(
    axes: Axes, drawing: GraphDrawing, size: float, letters: float = 8
) -> None:
    """Write below small nodes in a row as many labels as stand beside each other."""
    needed = 0.75 * letters * (max(map(len, drawing.names)) + 0.5)
    step = math.ceil(needed * len(drawing.names) / _row_width(axes))
    names = list(zip(drawing.names, drawing.points, strict=True))
    for text, spot in names[::step]:
        axes.annotate(
            text, spot, (0, -0.5 * math.sqrt(size) - 2), textcoords="offset points",
            ha="center", va="top", fontsize=letters,
        )  # fmt: skip


def _write_inside(axes: Axes, drawing: GraphDrawing, dark: NDArray[np.bool_]) -> None:
    size = 8 if max(map(len, drawing.names)) <= 3 else 6.5
    for text, spot, deep in zip(drawing.names, drawing.points, dark, strict=True):
        axes.annotate(
            text, spot, ha="center", va="center", fontsize=size, zorder=4,
            color="white" if deep else "black",
        )  # fmt: skip


# -- channels -----------------------------------------------------------------------------


def plot_channel(
    channel: Channel,
    ax: Axes | None = None,
    *,
    fractions: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw a channel as a heat map, with numbers in the cells when there are few.

    Parameters
    ----------
    channel
        What to draw; of a large one, the largest entry of each block.
    ax
        Axes to draw on; new ones by default.
    fractions
        Whether the numbers are written as fractions where these are short.
    title
        Text above; the size of the channel by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> plot_channel(GeometricChannel(4, "ln(2)")).get_xlabel()
    'reported output'
    """
    axes = new_axes(6.4, 5.2) if ax is None else ax
    heat = heat_map(channel)
    image = axes.imshow(
        heat.values, cmap="cividis", vmin=0, aspect="auto", interpolation="nearest"
    )
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.9)
    bar.set_label("probability")
    rows, columns = heat.values.shape
    if rows * columns <= 100 and rows <= 20 and columns <= 10:
        _write_numbers(axes, heat, fractions)
    _write_ticks(axes.yaxis, heat.rows, turned=False)
    _write_ticks(axes.xaxis, heat.outputs, turned=True)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("reported output")
    axes.set_ylabel("true answer")
    axes.set_title(heat.size_text() if title is None else title)
    return axes


def _write_numbers(axes: Axes, heat: HeatMap, fractions: bool) -> None:
    dark = heat.values < 0.5 * heat.values.max()
    size = 10 if max(heat.values.shape) <= 6 else 7
    for (i, o), value in np.ndenumerate(heat.values):
        axes.text(
            o, i, _number(float(value), fractions), ha="center", va="center", fontsize=size,
            color="white" if dark[i, o] else "black",
        )  # fmt: skip


def _number(value: float, fractions: bool) -> str:
    # A fraction is shown only if it is the number to the last digits.
    near = Fraction(value).limit_denominator(100)
    if fractions and abs(float(near) - value) < 1e-12:
        return str(near)
    return "0" if value == 0 else f"{value:.3f}".replace("0.", ".", 1)


def _write_ticks(
    axis: Axis, names: Sequence[str], *, turned: bool, most: int = 25, across: int = 85
) -> None:
    """Label at most so many rows or columns; more letters than fit across are turned."""
    step = max(1, -(-len(names) // most))
    chosen = range(0, len(names), step)
    texts = [names[k].split(" … ")[0] for k in chosen]
    axis.set_ticks(list(chosen), texts)
    if turned and len(texts) * max(len(text) + 1 for text in texts) > across:
        axis.set_tick_params(rotation=90)


# -- curves -------------------------------------------------------------------------------


def plot_utility(curve: UtilityCurve, ax: Axes | None = None) -> Axes:
    """Draw the utility of the tight-constraints and the geometric mechanism [A, Fig 6].

    Parameters
    ----------
    curve
        The values.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from tightrope.mechanisms.tight import utility_curve
    >>> from tightrope.graphs import PathPower
    >>> plot_utility(utility_curve(PathPower(7, 2), [1.0, 1.5])).get_ylabel()
    'probability of a right guess (uniform prior)'
    """
    curves = {"tight constraints": curve.tight, "geometric noise": curve.geometric}
    words = "probability of a right guess (uniform prior)"
    return _plot_levels(curve.epsilons, curves, strokes(2), words, ax)


def plot_leakage(curves: LeakageCurves, ax: Axes | None = None) -> Axes:
    """Draw the bounds on leakage for one prior and for all [A, Fig 4].

    Parameters
    ----------
    curves
        The values; where the prior is not regular its curve has a gap.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from tightrope.consumers.regular import leakage_curves
    >>> from tightrope.graphs import Clique
    >>> plot_leakage(leakage_curves([0.4, 0.3, 0.3], Clique(3), [0.2, 1.0])).get_ylabel()
    'leakage bound (bits)'
    """
    # A gap in the curve where the bound does not hold.
    this = [math.nan if value is None else value for value in curves.this_prior]
    drawn = {"every prior": curves.every_prior, "this prior": this}
    return _plot_levels(
        curves.epsilons, drawn, strokes(2)[::-1], "leakage bound (bits)", ax
    )


def plot_tradeoff(curves: Mapping[str, TradeOff], ax: Axes | None = None) -> Axes:
    """Draw trade-off curves: what a test for one person must miss, for each rate of false alarms.

    Parameters
    ----------
    curves
        The curves by their names.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from tightrope.accounting import TradeOff
    >>> once = TradeOff.randomized_response("ln(3)")
    >>> axes = plot_tradeoff({"once": once, "twice": once.times(2)})
    >>> [len(line.get_xdata()) for line in axes.lines]
    [2, 3, 4]
    """
    axes = new_axes(4.8, 4.8) if ax is None else ax
    axes.plot([0, 1], [1, 0], color="0.7", linewidth=0.8, label="no information")
    styles = zip(strokes(len(curves)), curves.items(), strict=True)
    for stroke, (name, curve) in styles:
        xs, ys = zip(*curve.corners, strict=True)
        axes.plot(
            list(map(float, xs)), list(map(float, ys)), linestyle=stroke.dash, color=stroke.colour,
            marker=stroke.marker, markersize=4, label=name,
        )  # fmt: skip
    axes.set(xlabel="false alarms α", ylabel="misses f(α)", xlim=(0, 1), ylim=(0, 1))
    axes.set_aspect("equal")
    axes.legend(loc="upper right")
    return axes


def plot_database_bound(
    sizes: Sequence[tuple[int, int]], ax: Axes | None = None, *, highest: float = 8.0
) -> Axes:
    """Draw the bound on the leakage about a database against ε [B, Fig 8].

    Parameters
    ----------
    sizes
        Pairs (people, values of one person), one curve each.
    ax
        Axes to draw on; new ones by default.
    highest
        The largest ε.

    Examples
    --------
    >>> plot_database_bound([(1, 2), (10, 2)]).get_ylabel()
    'leakage bound (bits)'
    """
    # ε = 0 is left out: the formulas need ε > 0.
    levels = np.linspace(0, highest, 81)[1:].tolist()
    curves = {
        f"{'1 person' if people == 1 else f'{people} people'}, {values} values": [
            database_bound(people, values, level).bits for level in levels
        ]
        for people, values in sizes
    }
    axes = _plot_levels(
        levels, curves, strokes(len(curves)), "leakage bound (bits)", ax
    )
    axes.set_xlim(0, highest)
    return axes


def _plot_levels(
    levels: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    drawn: Iterable[Stroke],
    words: str,
    ax: Axes | None,
) -> Axes:
    """Draw named curves over ε, with marks at a few places of each."""
    axes = new_axes() if ax is None else ax
    for (name, values), stroke in zip(curves.items(), drawn, strict=True):
        axes.plot(
            levels, values, linestyle=stroke.dash, color=stroke.colour, label=name,
            marker=stroke.marker, markevery=max(1, len(levels) // 8), markersize=5,
        )  # fmt: skip
    axes.set(xlabel="privacy level ε", ylabel=words)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="best")
    return axes


def shade_existence(
    existence: Existence, ax: Axes, *, name: str = "mechanism exists"
) -> Axes:
    """Shade the levels at which something exists, within the limits of the axes.

    Parameters
    ----------
    existence
        The levels.
    ax
        Axes with curves over ε.
    name
        What the legend says.
    """
    left, right = ax.get_xlim()
    label: str | None = name
    for low, high in existence.intervals:
        start = max(low, left)
        # Infinity ends at the border of the axes.
        end = right if high is None else min(high, right)
        if start >= end:
            continue
        ax.axvspan(
            start, end, facecolor="#D9EAF4", edgecolor="white", hatch="///", zorder=0,
            label=label, linewidth=0,
        )  # fmt: skip
        # One entry in the legend for all intervals.
        label = None
        for edge in (low, high):
            if edge is not None and left < edge < right:
                ax.axvline(edge, color="0.3", linewidth=0.8, linestyle=":")
    ax.set_xlim(left, right)
    ax.legend(loc="best")
    return ax


# -- regions of priors --------------------------------------------------------------------


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
        The privacy levels, one region each [A, Fig 2, 3].
    prior
        A prior to mark.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> plot_region(PathPower(3), prior=[0.2, 0.3, 0.5]).get_title()
    'regular priors of path(3)'
    """
    if graph.size not in (3, 4):
        raise InputError(
            f"the simplex can be drawn for 3 or 4 answers, but {graph.name} has {graph.size}"
        )
    axes = new_axes(5.6, 5.0) if ax is None else ax
    corners = TRIANGLE if graph.size == 3 else TETRAHEDRON
    _frame(axes, graph, corners)
    for epsilon, stroke in zip(epsilons, strokes(len(epsilons)), strict=True):
        level = Epsilon.of(epsilon)
        # Barycentric coordinates: the rows are priors, the corners unit vectors.
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
        axes.plot(
            *points.T, stroke.marker, color=stroke.colour, markersize=5, zorder=above
        )
    if prior is not None:
        spot = (
            np.asarray(prior.probabilities if isinstance(prior, Prior) else prior)
            @ corners
        )
        axes.plot(
            *spot, "*", color="black", markersize=14, zorder=5, label="this prior",
            linestyle="none",
        )  # fmt: skip
    axes.set_title(f"regular priors of {graph.name}")
    beside = (0.0, 1.0) if graph.size == 3 else (0.72, 1.0)
    axes.legend(loc="upper left", bbox_to_anchor=beside, frameon=False)
    axes.set_aspect("equal")
    return _bare(axes, 0.12)


def _frame(axes: Axes, graph: AnswerGraph, corners: NDArray[np.float64]) -> None:
    """Draw all priors, and at each corner the answer that is certain there."""
    _wire(axes, corners, "0.45", "-", None)
    middle = corners.mean(axis=0)
    for i, spot in enumerate(corners):
        outwards = spot - middle
        away = outwards / np.linalg.norm(outwards)
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
