"""What is drawn, as plain data: graphs on paper, heat maps, the simplex, and strokes.

Every picture exists once as data here. Matplotlib (``plots``) and the browser figures of the studio
are its two renderers.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels import Channel
from tightrope.graphs import AnswerGraph
from tightrope.report.texts import label_text

#: The colour of what is ours, on pages and in pictures, and that of what is compared with it.
TEAL = "#0f9d8a"
GREY = "#8a94a0"
#: Colours that everybody can tell apart (after Okabe and Ito), with a contrast of 3:1 on white and
#: on a dark page. The dash, the marker and the hatch tell them apart without colour.
COLOURS = (TEAL, "#D55E00", "#0072B2", GREY, "#CC79A7", "#E69F00")
#: Corners of the simplex of three priors, and of four in a projection that hides none.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
TETRAHEDRON = np.array([[0.0, 0.0], [1.0, 0.05], [0.34, -0.34], [0.56, 0.86]])

#: First and last row, first and last output.
HeatWindow = tuple[int, int, int, int]


@dataclass(frozen=True)
class Stroke:
    """How one of several curves is drawn, distinguishable without colour too."""

    colour: str
    dash: Any
    marker: str
    hatch: str


def strokes(count: int) -> tuple[Stroke, ...]:
    """Return so many strokes; they repeat after six.

    >>> len({stroke.dash for stroke in strokes(4)})
    4
    """
    dashes = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)))
    hatches = ("", "///", "...", "xxx", "\\\\\\", "+++")
    kinds = list(map(Stroke, COLOURS, dashes, "os^DvP", hatches))
    # Colour, dash, marker and hatch repeat together, so that a curve stays recognisable.
    return tuple(kinds[k % len(kinds)] for k in range(count))


def short_label(label: object) -> str:
    """Return a label as text of at most 20 characters.

    >>> short_label((1, 2)), short_label((0, 1, 0)), short_label("the city with most votes")
    ('1,2', '010', 'the city with most …')
    """
    text = label_text(label)
    if (
        isinstance(label, tuple)
        and len(label) > 2
        and all(len(str(part)) == 1 for part in label)
    ):
        # 010 is as clear as 0,1,0 where each part has one character.
        text = text.replace(",", "")
    return text if len(text) <= 20 else f"{text[:19]}…"


# -- graphs -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GraphDrawing:
    """A graph on paper.

    Attributes
    ----------
    nodes, names, points
        The answers that are drawn, what is written at them, and where they stand.
    edges
        The edges between them, as pairs of places in ``nodes``.
    total
        The number of answers, drawn or not.
    """

    nodes: tuple[int, ...]
    names: tuple[str, ...]
    points: NDArray[np.float64]
    edges: tuple[tuple[int, int], ...]
    total: int

    @property
    def is_flat(self) -> bool:
        """Whether all answers stand on one line."""
        return bool(np.ptp(self.points[:, 1]) == 0)

    def lines(
        self, edges: Sequence[tuple[int, int]] | None = None, steps: int = 25
    ) -> NDArray[np.float64]:
        """Return points along edges: arcs between answers on a line, so that none hides another.

        >>> from tightrope.graphs import Cycle
        >>> graph_drawing(Cycle(4)).lines([(0, 1)]).shape
        (1, 2, 2)
        """
        ends = self.points[
            np.array(self.edges if edges is None else edges, int).reshape(-1, 2)
        ]
        if not self.is_flat:
            return np.asarray(ends)
        turn = np.linspace(0, math.pi, steps)
        middle = ends.mean(axis=1)
        half = np.diff(ends[:, :, 0], axis=1) / 2
        arcs = [
            middle[:, :1] - half * np.cos(turn),
            # Neighbours get height 0: only edges that pass over other answers are bent.
            (np.abs(half) - 0.5) * np.sin(turn),
        ]
        return np.stack(arcs, axis=2)


def graph_drawing(
    graph: AnswerGraph,
    *,
    centre: int = 0,
    limit: int = 120,
    places: ArrayLike | None = None,
    spread: bool = False,
) -> GraphDrawing:
    """Place the answers of a graph; of a large one those nearest to the centre.

    Parameters
    ----------
    graph
        What to draw.
    centre
        The node round which the drawn part of a large graph lies.
    limit
        Most answers that are drawn.
    places
        A point for each answer, when the graph should be laid out in a certain way.
    spread
        Whether answers in a row with edges across are put on an arc, so that no edge hides
        another.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> graph_drawing(PathPower(3)).points.tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    """
    # A large graph is shown by the neighbourhood of one answer.
    nodes, edges = nearest_part(graph, centre, limit)
    if places is None:
        points = layout(graph, nodes, edges, spread=spread)
    else:
        points = np.asarray(places, dtype=float)[nodes]
    names = tuple(short_label(graph.label(node)) for node in nodes)
    return GraphDrawing(tuple(nodes), names, points, tuple(edges), graph.size)


def nearest_part(
    graph: AnswerGraph, centre: int, limit: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the nodes nearest to the centre, at most ``limit``, and the edges among them.

    Edges join places in the list of nodes.

    >>> from tightrope.graphs import Cycle
    >>> nearest_part(Cycle(1000), 5, 3)
    ([4, 5, 6], [(0, 1), (1, 2)])
    """
    # A small graph is drawn whole, also where it is not connected.
    start = range(graph.size) if graph.size <= limit else [centre]
    found = dict.fromkeys(start)
    queue = deque([centre])
    while queue and len(found) < min(limit, graph.size):
        for j in graph.neighbours(queue.popleft()):
            if int(j) not in found and len(found) < limit:
                found[int(j)] = None
                queue.append(int(j))
    # In the order of the nodes, so that drawings of equal graphs look equal.
    nodes = sorted(found)
    place = {node: k for k, node in enumerate(nodes)}
    pairs = [(i, int(j)) for i in nodes for j in graph.neighbours(i) if i < j]
    edges = [(place[i], place[j]) for i, j in pairs if j in place]
    return nodes, edges


def layout(
    graph: AnswerGraph,
    nodes: list[int],
    edges: list[tuple[int, int]],
    *,
    spread: bool = False,
) -> NDArray[np.float64]:
    """Place nodes where the graph's structure suggests, else by stress [Kamada and Kawai 1989]."""
    # Cliques look better on a circle than as arcs over a line.
    if graph.is_line and not graph.is_clique:
        if spread and graph.max_degree > 2:
            directions = np.linspace(-0.8 * math.pi, 0.8 * math.pi, len(nodes))
            return _round(directions)
        return np.array([(i, 0.0) for i in nodes])
    # Directions of the coordinates with two values: an oblique projection of the cube.
    steps = np.array([(1.0, 0.0), (0.0, 1.0), (0.44, 0.3), (1.75, -0.55), (0.2, -0.14)])
    if (
        graph.product
        and len(graph.factors) in (2, 3)
        and all(f.is_line for f in graph.factors)
    ):
        # Pairs or triples of numbers.
        # Products of lines are grids: their coordinates are the natural places.
        sides = [factor.size for factor in graph.factors]
        digits = np.array(np.unravel_index(nodes, sides), dtype=float).T
        return np.asarray(digits @ steps[: len(graph.factors)])
    if graph.is_cycle or graph.is_clique:
        return around(len(nodes))
    coordinates = _coordinates(graph, nodes)
    if coordinates is not None:
        return _unfold(coordinates, steps)
    import networkx

    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(range(len(nodes)))
    drawn.add_edges_from(edges)
    spot = networkx.kamada_kawai_layout(drawn)
    return np.array([spot[k] for k in range(len(nodes))])


def _round(turn: NDArray[Any]) -> NDArray[np.float64]:
    return np.column_stack([np.sin(turn), np.cos(turn)])


def around(count: int) -> NDArray[np.float64]:
    """Return so many points on a circle, clockwise from the top.

    >>> around(4).round().tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, -0.0]]
    """
    angle = 2 * math.pi / count
    return _round(angle * np.arange(count))


def _coordinates(graph: AnswerGraph, nodes: list[int]) -> NDArray[np.int64] | None:
    """Return the coordinates of the nodes of small products of cliques."""
    if not graph.fills_grid or graph.size > 100:
        return None
    labels: list[Any] = [graph.label(node) for node in nodes]
    if not all(isinstance(label, tuple) and len(label) > 1 for label in labels):
        return None
    columns = zip(*labels, strict=True)
    values = [sorted(set(column), key=str) for column in columns]
    return np.array(
        [[v.index(x) for v, x in zip(values, label, strict=True)] for label in labels]
    )


def _unfold(
    digits: NDArray[np.int64], steps: NDArray[np.float64], shrink: float = 0.42
) -> NDArray[np.float64]:
    """Place coordinates: two values a step apart, more of them on ever smaller polygons."""
    points = np.zeros((len(digits), 2))
    for k in range(digits.shape[1]):
        count = int(digits[:, k].max()) + 1
        if count == 2:
            points += digits[:, [k]] * steps[k % len(steps)]
        else:
            # Smaller polygons for later coordinates, each turned a little, so that no edges
            # coincide.
            angles = 2 * math.pi * digits[:, k] / count + 0.25 * k
            points += shrink**k * _round(angles)
    return points


# -- heat maps ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A channel as a picture, or a window of it.

    Attributes
    ----------
    values
        One row of numbers for each row of the picture: entries, or the largest of each block.
    rows, outputs
        What the rows and columns of the picture stand for.
    window
        The rows and outputs that are shown.
    shape
        Those of the whole channel.
    """

    values: NDArray[np.float64]
    rows: tuple[str, ...]
    outputs: tuple[str, ...]
    window: HeatWindow
    shape: tuple[int, int]

    @property
    def is_reduced(self) -> bool:
        """Whether a number stands for a block."""
        top, bottom, left, right = self.window
        whole = (bottom - top + 1, right - left + 1)
        return self.values.shape != whole

    def size_text(self) -> str:
        """Say how large the channel is, and how much of it is drawn."""
        whole = f"{self.shape[0]:,} answers, {self.shape[1]:,} outputs"
        rows, columns = self.values.shape
        return (
            f"{whole}; drawn as {rows} × {columns} blocks" if self.is_reduced else whole
        )


def heat_map(
    channel: Channel,
    window: HeatWindow | None = None,
    *,
    single: int = 64,
    blocks: int = 160,
    sampled: int = 4,
) -> HeatMap:
    """Return the picture of a channel: its entries, or of many the largest of each block.

    Parameters
    ----------
    channel
        What to draw.
    window
        First and last row, first and last output; everything by default.
    single, blocks
        Up to so many rows and columns are drawn one by one; of more, at most so many blocks.
    sampled
        Most rows of a block that are looked at: a channel of 10⁵ answers is never read whole.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> heat_map(GeometricChannel(300, 1)).rows[:2]
    ('0 … 1', '2 … 3')
    >>> heat_map(GeometricChannel(300, 1), (10, 12, 10, 12)).rows
    ('10', '11', '12')
    """
    shape = channel.shape
    top, bottom, left, right = window or (0, shape[0] - 1, 0, shape[1] - 1)
    # A window that was dragged beyond the picture is cut at its borders.
    top, bottom = _inside(top, bottom, shape[0])
    left, right = _inside(left, right, shape[1])
    rows, columns = (
        _blocks(*ends, single, blocks) for ends in ((top, bottom), (left, right))
    )
    starts = [first - left for first, _ in columns]
    values = []
    for first, last in rows:
        # A few rows of each block: structured channels have no matrix to read.
        looked = np.unique(
            np.linspace(first, last, min(sampled, last - first + 1)).astype(int)
        )
        highest = np.max(
            [channel.row(int(i))[left : right + 1] for i in looked], axis=0
        )
        # The largest entry of each block of columns: a diagonal stays visible.
        values.append(np.maximum.reduceat(highest, starts))
    return HeatMap(
        np.array(values),
        tuple(_span(channel.input_label, *block) for block in rows),
        tuple(_span(channel.output_label, *block) for block in columns),
        (top, bottom, left, right),
        (shape[0], shape[1]),
    )


def _inside(first: int, last: int, size: int) -> tuple[int, int]:
    low = min(max(first, 0), size - 1)
    return low, min(max(last, low), size - 1)


def _blocks(first: int, last: int, single: int, most: int) -> list[tuple[int, int]]:
    """Cut a range into blocks; into single places when they are few."""
    count = last - first + 1
    # Ceiling, so that there are at most `most` blocks.
    step = 1 if count <= single else -(-count // most)
    return [(a, min(a + step - 1, last)) for a in range(first, last + 1, step)]


def _span(label: Callable[[int], object], first: int, last: int) -> str:
    ends = [
        short_label(label(i)) for i in ((first,) if first == last else (first, last))
    ]
    return " … ".join(ends)
