"""The figures and tables of the four papers, drawn from computed values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.consumers.regular import leakage_curves, regular_levels
from tightrope.errors import InputError
from tightrope.graphs import (
    AnswerGraph,
    Clique,
    Cycle,
    Databases,
    ExplicitGraph,
    PathPower,
    chang,
    folded_cube,
    hypercube,
    petersen,
    shortest_cycle,
    truncated_tetrahedron,
)
from tightrope.mechanisms import exponential, geometric, highest_leakage, randomized_response, ring
from tightrope.mechanisms.tight import utility_curve
from tightrope.phi import exists
from tightrope.queries import query
from tightrope.report.plots import (
    new_axes,
    plot_channel,
    plot_column_graph,
    plot_database_bound,
    plot_graph,
    plot_leakage,
    plot_region,
    plot_utility,
    save_plot,
    shade_existence,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panel = Callable[["Axes"], "Axes"]


def draw_figures(
    folder: Path | str,
    papers: Iterable[str] = "ABCD",
    progress: Callable[[float], None] | None = None,
    *,
    ending: str = "png",
) -> list[Path]:
    """Draw the figures of the papers into a folder, which is made if need be.

    Parameters
    ----------
    folder
        Where to write; files of the same name are replaced.
    papers
        Letters of the papers.
    progress
        Called with the share that is done.
    ending
        ``png``, ``svg`` or ``pdf``.

    Examples
    --------
    >>> import tempfile
    >>> [path.name for path in draw_figures(tempfile.mkdtemp(), "D", ending="svg")]
    ['D-row-graphs.svg']
    """
    target = Path(folder)
    wanted = {letter.upper() for letter in papers}
    chosen = {name: make for name, make in FIGURES.items() if name[0] in wanted}
    if not chosen:
        raise InputError(f"papers must be some of A, B, C and D, got {''.join(sorted(wanted))!r}")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InputError(f"the folder {str(target)!r} cannot be made: {refused}") from None
    written = []
    for number, (name, make) in enumerate(chosen.items(), start=1):
        panels, width = make()
        path = target / f"{name}.{ending}"
        written.append(save_plot(_grid, panels, path, columns=width))
        if progress is not None:
            progress(number / len(chosen))
    return written


def _grid(panels: Sequence[Panel], ax: Axes | None = None, *, columns: int) -> Axes:
    """Draw panels beside and below each other on one figure."""
    rows = math.ceil(len(panels) / columns)
    first = new_axes(5.2 * columns, 4.2 * rows)
    figure = first.figure
    first.remove()
    for number, panel in enumerate(panels, start=1):
        panel(figure.add_subplot(rows, columns, number))
    return figure.axes[0]


def _graph(graph: AnswerGraph, title: str, **options: Any) -> Panel:
    def draw(ax: Axes) -> Axes:
        plot_graph(graph, ax, **options).set_title(title)
        return ax

    return draw


def _matrix(channel: Channel, title: str, fractions: bool = False) -> Panel:
    return lambda ax: plot_channel(channel, ax, title=title, fractions=fractions)


Figure = tuple[list[Panel], int]


def _a1() -> Figure:
    return [
        _graph(query("count(5)").graph, "(a) count, n = 5"),
        _graph(query("count_mod(6,6)").graph, "(b) count modulo n+1, n = 5"),
        _graph(query("grid(4,4)").graph, "(c) two counts as drawn in the figure"),
        _graph(query("counts(3,2)").graph, "(d) two counts as computed with, n = 3"),
    ], 2


def _a2() -> Figure:
    return [
        lambda ax: plot_region(PathPower(3), ax, epsilons=("ln(5)", "ln(2)")),
        lambda ax: plot_region(Cycle(3), ax, epsilons=("ln(5)", "ln(2)")),
    ], 2


def _a3() -> Figure:
    graph = query("counts(1,2)").graph
    return [lambda ax: plot_region(graph, ax, epsilons=("ln(20)", "ln(5)", "ln(2)"))], 1


def _published(ax: Axes, level: float, height: float) -> Axes:
    """Mark the level that the paper prints."""
    ax.axvline(level, color="0.5", linewidth=1)
    ax.annotate(f"{level}, as published ", (level, height), rotation=90, ha="right", fontsize=8)
    ax.legend(loc="lower right")
    return ax


def _a4() -> Figure:
    people, prior = query("databases(5,4)").graph, "product(.3,.27,.23,.2)"
    curves = leakage_curves(prior, people, np.arange(0.4, 1.0001, 0.02).tolist())
    levels = regular_levels(prior, people)

    def draw(ax: Axes) -> Axes:
        plot_leakage(curves, ax, existence=levels)
        ax.set_title("5 people with 4 values; the prior is regular from ln 2 on")
        return _published(ax, 0.48, 0.4)

    return [draw], 1


def _a5() -> Figure:
    return [
        _graph(query("sum(4,3)").graph, "(a) sum of values 0 to 3"),
        _graph(query("counts(4,2)").graph, "(b) two counts", centre=12),
    ], 2


def _a6() -> Figure:
    def panel(text: str, published: float, title: str) -> Panel:
        graph = query(text).graph
        curve = utility_curve(graph, np.arange(0.8, 1.3001, 0.02).round(3).tolist())
        levels = exists(graph)

        def draw(ax: Axes) -> Axes:
            plot_utility(curve, ax)
            ax.set_xlim(0.78, 1.31)
            shade_existence(levels, ax)
            ax.set_title(f"{title}: exists from {levels.minimum:.6f} on")
            return _published(ax, published, 0.02)

        return draw

    return [
        panel("sum(150,5)", 0.8, "(a) sum(150,5)"),
        panel("counts(30,2)", 0.9, "(b) counts(30,2)"),
    ], 2


def _a7() -> Figure:
    return [_graph(folded_cube(4), "cube with antipodal edges: Φ is singular at α = 1/3")], 1


def _b1() -> Figure:
    rim = [(i, (i + 1) % 14) for i in range(14)]
    cage = ExplicitGraph(rim + [(i, (i + 5) % 14) for i in range(0, 14, 2)], name="cage")
    named = (
        (Clique(4), "(a) tetrahedron"),
        (hypercube(3), "(b) cube"),
        (petersen(), "(c) Petersen graph"),
        (Cycle(8), "(d) a cycle"),
        (cage, "(e) a cage: the Heawood graph"),
        (Clique(6), "(f) a clique"),
    )
    places = {"petersen": _pentagons(petersen()), "cage": _round(14)}
    return [_graph(graph, title, places=places.get(graph.name)) for graph, title in named], 3


def _round(count: int, radius: float = 1.0) -> NDArray[np.float64]:
    turn = 2 * math.pi * np.arange(count) / count
    return radius * np.column_stack([np.sin(turn), np.cos(turn)])


def _pentagons(graph: AnswerGraph) -> NDArray[np.float64]:
    """Place the Petersen graph as it is known: a shortest cycle outside, the star inside."""
    outside = shortest_cycle(graph) or ()
    points = np.zeros((graph.size, 2))
    points[list(outside)] = _round(5)
    for k, node in enumerate(outside):
        inner = next(int(j) for j in graph.neighbours(node) if int(j) not in outside)
        points[inner] = _round(5, 0.5)[k]
    return points


def _b2() -> Figure:
    return [
        _graph(chang(), "(a) a Chang graph: distance-regular only"),
        _graph(truncated_tetrahedron(), "(b) truncated tetrahedron: vertex-transitive only"),
    ], 2


def _b7() -> Figure:
    return [
        _graph(Databases(4, "ab"), "(a) 4 people, 2 values"),
        _graph(Databases(3, "abc"), "(b) 3 people, 3 values"),
    ], 2


def _b8() -> Figure:
    return [lambda ax: plot_database_bound([(100, 10), (100, 2), (10, 10), (10, 2), (1, 2)], ax)], 1


def _b9() -> Figure:
    people = Databases(2, "abc")
    worst = highest_leakage(2, 3, "ln(2)").matrix()
    names = ["".join(map(str, people.label(i))) for i in range(people.size)]
    shown = Channel(worst, inputs=names, outputs=names)
    return [
        _graph(people, "(a) all databases of two people"),
        _matrix(shown, "(b) highest leakage, ε = ln 2", fractions=True),
    ], 2


def _table_1() -> Figure:
    cities = query("choice(6)").graph

    def named(channel: Channel) -> Channel:
        return Channel(channel.matrix(), inputs="ABCDEF", outputs="ABCDEF")

    return [
        _matrix(named(geometric(cities, "ln(2)")), "(a) adapted geometric"),
        _matrix(named(randomized_response(cities, "ln(2)")), "(b) optimal", fractions=True),
    ], 2


def _table_2() -> Figure:
    votes = query("count(5)").graph
    return [
        _matrix(geometric(votes, "ln(2)"), "(a) truncated geometric", fractions=True),
        _matrix(ring(votes, "ln(2)"), "(b) ring", fractions=True),
    ], 2


def _c_matrices() -> Figure:
    second = Channel([[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [1 / 2, 1 / 2, 0]])
    alpha = Fraction(1, 3)
    centre, leaf = (1 - 2 * alpha) / (1 + alpha), 1 / (1 + alpha)
    star = query("star(3)").graph
    weights = np.array([float(centre), *[float(leaf)] * 3])
    universal = Channel(float(alpha) ** star.distance_matrix() * weights)
    return [
        _matrix(randomized_response(Clique(3), "ln(2)"), "X of Obs 3.1, α = 1/2", fractions=True),
        _matrix(second, "a Y of Obs 3.1, α = 1/2", fractions=True),
        _matrix(exponential(Cycle(6), "ln(2)"), "X of (14), six answers, α = 1/2", fractions=True),
        _matrix(universal, "U of Thm 4.3, star(3), α = 1/3", fractions=True),
    ], 2


def _d_row_graphs() -> Figure:
    line, wide = query("path(5)").graph, query("sum(3,2)").graph

    def panel(channel: Channel, graph: AnswerGraph, output: int, title: str) -> Panel:
        def draw(ax: Axes) -> Axes:
            plot_column_graph(channel, ax, graph=graph, epsilon="ln(2)", output=output)
            ax.set_title(f"{title}\n{ax.get_title()}", fontsize=10)
            return ax

        return draw

    return [
        panel(geometric(line, "ln(2)"), line, 2, "geometric noise on a count"),
        panel(exponential(line, "ln(2)"), line, 2, "exponential noise on a count"),
        panel(geometric(wide, "ln(2)"), wide, 3, "geometric noise on sum(3,2)"),
        panel(exponential(petersen(), "ln(2)"), petersen(), 0, "exponential noise, Petersen graph"),
    ], 2


#: Name of the file -> function that returns its panels and how many stand in a row.
FIGURES: dict[str, Callable[[], Figure]] = {
    "A-figure-1": _a1,
    "A-figure-2": _a2,
    "A-figure-3": _a3,
    "A-figure-4": _a4,
    "A-figure-5": _a5,
    "A-figure-6": _a6,
    "A-figure-7": _a7,
    "B-figure-1": _b1,
    "B-figure-2": _b2,
    "B-figure-7": _b7,
    "B-figure-8": _b8,
    "B-figure-9": _b9,
    "B-table-1": _table_1,
    "B-table-2": _table_2,
    "C-matrices": _c_matrices,
    "D-row-graphs": _d_row_graphs,
}
