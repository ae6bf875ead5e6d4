"""The figures and tables of the four papers, drawn from computed values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope import graphs
from tightrope.channels import Channel
from tightrope.consumers.regular import leakage_curves, regular_levels
from tightrope.errors import InputError
from tightrope.mechanisms import (
    exponential,
    geometric,
    highest_leakage,
    randomized_response,
    ring,
)
from tightrope.mechanisms.tight import tight_constraints, utility_curve
from tightrope.phi import exists
from tightrope.progress import Progress, ProgressCallback
from tightrope.queries import query
from tightrope.report import plots
from tightrope.report.drawings import around

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FigurePanel = Callable[["Axes"], "Axes"]


def draw_figures(
    folder: Path | str,
    papers: Iterable[str] = "ABCD",
    progress: ProgressCallback | None = None,
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
        Called with the number of figures that are drawn.
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
        raise InputError(
            f"papers must be some of A, B, C and D, got {''.join(sorted(wanted))!r}"
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InputError(
            f"the folder {str(target)!r} cannot be made: {refused}"
        ) from None
    written = []
    for number, (name, make) in enumerate(chosen.items(), start=1):
        # Each figure is written as soon as it is drawn: an interruption loses one.
        file = target / f"{name}.{ending}"
        written.append(plots.save_plot(_grid, make(), file))
        if progress is not None:
            progress(Progress("drawing", number, len(chosen)))
    return written


def _grid(panels: Sequence[FigurePanel], ax: Axes | None = None) -> Axes:
    """Draw panels beside and below each other on one figure."""
    columns = {1: 1, 6: 3}.get(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * columns, 4.2 * rows), layout="constrained")
    for number, panel in enumerate(panels, start=1):
        panel(figure.add_subplot(rows, columns, number))
    return figure.axes[0]


def _graph(graph: graphs.AnswerGraph | str, title: str, **options: Any) -> FigurePanel:
    def draw(ax: Axes) -> Axes:
        shown = query(graph).graph if isinstance(graph, str) else graph
        plots.plot_graph(shown, ax, **options).set_title(title)
        return ax

    return draw


def _matrix(channel: Channel, title: str, *, fractions: bool = True) -> FigurePanel:
    return lambda ax: plots.plot_channel(channel, ax, title=title, fractions=fractions)


def _region(graph: graphs.AnswerGraph, *epsilons: str) -> FigurePanel:
    return lambda ax: plots.plot_region(graph, ax, epsilons=epsilons)


def _published(ax: Axes, level: float, height: float) -> Axes:
    """Mark the level that the paper prints."""
    ax.axvline(level, color="0.5", linewidth=1)
    ax.annotate(
        f"{level}, as published ", (level, height), rotation=90, ha="right", fontsize=8
    )
    ax.legend(loc="lower right")
    return ax


def _leakage(ax: Axes) -> Axes:
    people = query("databases(5,4)").graph
    prior = "product(.3,.27,.23,.2)"
    curves = leakage_curves(prior, people, np.arange(0.4, 1.0001, 0.02).tolist())
    plots.plot_leakage(curves, ax)
    plots.shade_existence(regular_levels(prior, people), ax, name="prior is regular")
    ax.set_title("5 people with 4 values; the prior is regular from ln 2 on")
    return _published(ax, 0.48, 0.4)


def _utility(text: str, published: float, title: str) -> FigurePanel:
    def draw(ax: Axes) -> Axes:
        graph = query(text).graph
        levels = exists(graph)
        plots.plot_utility(
            utility_curve(graph, np.arange(0.8, 1.3001, 0.02).round(3).tolist()), ax
        )
        ax.set_xlim(0.78, 1.31)
        plots.shade_existence(levels, ax)
        ax.set_title(f"{title}: exists from {levels.minimum:.6f} on")
        return _published(ax, published, 0.02)

    return draw


def _symmetric() -> list[FigurePanel]:
    """Draw graphs as they are known: the Petersen graph with its star in a pentagon."""
    rim = [(i, (i + 1) % 14) for i in range(14)]
    # The Heawood graph as LCF [5, -5]^7: a rim of 14 and a chord from every second node.
    cage = graphs.ExplicitGraph(
        rim + [(i, (i + 5) % 14) for i in range(0, 14, 2)], name="cage"
    )
    star = graphs.petersen()
    outside = graphs.shortest_cycle(graphs.petersen()) or ()
    points = np.zeros((star.size, 2))
    # The outer pentagon, and each inner node on the same ray.
    for node, spot in zip(outside, around(5), strict=True):
        neighbours = map(int, star.neighbours(node))
        inner = next(j for j in neighbours if j not in outside)
        points[node] = spot
        points[inner] = spot / 2
    return [
        _graph(graphs.Clique(4), "(a) tetrahedron"),
        _graph(graphs.hypercube(3), "(b) cube"),
        _graph(star, "(c) Petersen graph", places=points),
        _graph(graphs.Cycle(8), "(d) a cycle"),
        _graph(cage, "(e) a cage: the Heawood graph", places=around(14)),
        _graph(graphs.Clique(6), "(f) a clique"),
    ]


def _worst() -> list[FigurePanel]:
    people = graphs.Databases(2, "abc")
    names = ["".join(map(str, people.label(i))) for i in range(people.size)]
    shown = Channel(
        highest_leakage(2, 3, "ln(2)").matrix(), inputs=names, outputs=names
    )
    return [
        _graph(people, "(a) all databases of two people"),
        _matrix(shown, "(b) highest leakage, ε = ln 2"),
    ]


def _cities() -> list[FigurePanel]:
    def named(channel: Channel) -> Channel:
        return Channel(channel.matrix(), inputs="ABCDEF", outputs="ABCDEF")

    cities = query("choice(6)").graph
    return [
        _matrix(
            named(geometric(cities, "ln(2)")), "(a) adapted geometric", fractions=False
        ),
        _matrix(named(randomized_response(cities, "ln(2)")), "(b) optimal"),
    ]


def _votes() -> list[FigurePanel]:
    votes = query("count(5)").graph
    return [
        _matrix(geometric(votes, "ln(2)"), "(a) truncated geometric"),
        _matrix(ring(votes, "ln(2)"), "(b) ring"),
    ]


def _generality() -> list[FigurePanel]:
    second = Channel([[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [1 / 2, 1 / 2, 0]])
    universal = tight_constraints(query("star(3)").graph, "ln(3)")
    return [
        _matrix(
            randomized_response(graphs.Clique(3), "ln(2)"), "X of Obs 3.1, α = 1/2"
        ),
        _matrix(second, "a Y of Obs 3.1, α = 1/2"),
        _matrix(
            exponential(graphs.Cycle(6), "ln(2)"), "X of (14), six answers, α = 1/2"
        ),
        _matrix(universal, "U of Thm 4.3, star(3), α = 1/3"),
    ]


def _row_graphs() -> list[FigurePanel]:
    line, wide, star = (
        query(text).graph for text in ("path(5)", "sum(3,2)", "petersen")
    )

    def panel(
        channel: Channel, graph: graphs.AnswerGraph, output: int, title: str
    ) -> FigurePanel:
        def draw(ax: Axes) -> Axes:
            plots.plot_column_graph(
                channel, ax, graph=graph, epsilon="ln(2)", output=output
            )
            ax.set_title(f"{title}\n{ax.get_title()}", fontsize=10)
            return ax

        return draw

    return [
        panel(geometric(line, "ln(2)"), line, 2, "geometric noise on a count"),
        panel(exponential(line, "ln(2)"), line, 2, "exponential noise on a count"),
        panel(geometric(wide, "ln(2)"), wide, 3, "geometric noise on sum(3,2)"),
        panel(exponential(star, "ln(2)"), star, 0, "exponential noise, Petersen graph"),
    ]


#: Name of the file -> function that returns its panels.
FIGURES: dict[str, Callable[[], list[FigurePanel]]] = {
    "A-figure-1": lambda: [
        _graph("count(5)", "(a) count, n = 5"),
        _graph("count_mod(6,6)", "(b) count modulo n+1, n = 5"),
        _graph("grid(4,4)", "(c) two counts as drawn in the figure"),
        _graph("counts(3,2)", "(d) two counts as computed with, n = 3"),
    ],
    "A-figure-2": lambda: [
        _region(graph, "ln(5)", "ln(2)")
        for graph in (graphs.PathPower(3), graphs.Cycle(3))
    ],
    "A-figure-3": lambda: [
        _region(query("counts(1,2)").graph, "ln(20)", "ln(5)", "ln(2)")
    ],
    "A-figure-4": lambda: [_leakage],
    "A-figure-5": lambda: [
        _graph("sum(4,3)", "(a) sum of values 0 to 3"),
        _graph("counts(4,2)", "(b) two counts", centre=12),
    ],
    "A-figure-6": lambda: [
        _utility("sum(150,5)", 0.8, "(a) sum(150,5)"),
        _utility("counts(30,2)", 0.9, "(b) counts(30,2)"),
    ],
    "A-figure-7": lambda: [
        _graph(
            graphs.folded_cube(4), "cube with antipodal edges: Φ is singular at α = 1/3"
        )
    ],
    "B-figure-1": _symmetric,
    "B-figure-2": lambda: [
        _graph(graphs.chang(), "(a) a Chang graph: distance-regular only"),
        _graph(
            graphs.truncated_tetrahedron(),
            "(b) truncated tetrahedron: vertex-transitive only",
        ),
    ],
    "B-figure-7": lambda: [
        _graph(graphs.Databases(4, "ab"), "(a) 4 people, 2 values"),
        _graph(graphs.Databases(3, "abc"), "(b) 3 people, 3 values"),
    ],
    "B-figure-8": lambda: [
        lambda ax: plots.plot_database_bound(
            [(100, 10), (100, 2), (10, 10), (10, 2), (1, 2)], ax
        )
    ],
    "B-figure-9": _worst,
    "B-table-1": _cities,
    "B-table-2": _votes,
    "C-matrices": _generality,
    "D-row-graphs": _row_graphs,
}
