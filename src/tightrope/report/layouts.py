"""Where the nodes of a graph are drawn."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import AnswerGraph, ProductGraph

#: Steps on paper for coordinates with two values: a cube and its kin as one knows them.
TWO_VALUES = ((1.0, 0.0), (0.0, 1.0), (0.44, 0.3), (1.75, -0.55), (0.2, -0.14))
#: Size of each further coordinate with more values, as a part of the first.
SHRINK = 0.42


def layout(
    graph: AnswerGraph, nodes: list[int], edges: list[tuple[int, int]], *, spread: bool = False
) -> NDArray[np.float64]:
    """Place nodes where the graph's structure suggests, else by stress.

    Parameters
    ----------
    graph
        The graph.
    nodes
        The nodes that are drawn.
    edges
        The edges between them, as pairs of places in ``nodes``.
    spread
        Whether answers in a row with edges across are put on an arc, so that no edge hides
        another.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> layout(PathPower(3), [0, 1, 2], [(0, 1), (1, 2)]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    """
    if graph.is_line and not graph.is_clique:
        if spread and graph.max_degree > 2:
            turn = np.linspace(-0.8 * math.pi, 0.8 * math.pi, len(nodes))
            return np.column_stack([np.sin(turn), np.cos(turn)])
        return np.array([(i, 0.0) for i in nodes])
    if _is_counts(graph):
        steps = np.array(TWO_VALUES)[: len(graph.factors)]
        return np.asarray(np.array([graph.digits(i) for i in nodes], dtype=float) @ steps)
    if graph.is_cycle or graph.is_clique:
        step = 2 * math.pi / len(nodes)
        return np.array([(math.sin(step * k), math.cos(step * k)) for k in range(len(nodes))])
    digits = _digits(graph, nodes)
    if digits is not None:
        return _folded_out(digits)
    import networkx

    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(range(len(nodes)))
    drawn.add_edges_from(edges)
    spot = networkx.kamada_kawai_layout(drawn)
    return np.array([spot[k] for k in range(len(nodes))])


def _is_counts(graph: AnswerGraph) -> TypeGuard[ProductGraph]:
    """Whether the answers are pairs or triples of numbers."""
    return (
        bool(graph.product)
        and len(graph.factors) in (2, 3)
        and all(factor.is_line for factor in graph.factors)
    )


def _digits(graph: AnswerGraph, nodes: list[int]) -> NDArray[np.int64] | None:
    """Return the coordinates of the nodes of small products of cliques."""
    if not graph.fills_grid or graph.size > 100:
        return None
    labels: list[Any] = [graph.label(node) for node in nodes]
    if not all(isinstance(label, tuple) and len(label) > 1 for label in labels):
        return None
    values = [sorted(set(column), key=str) for column in zip(*labels, strict=True)]
    return np.array([[v.index(x) for v, x in zip(values, label, strict=True)] for label in labels])


def _folded_out(digits: NDArray[np.int64]) -> NDArray[np.float64]:
    """Place coordinates: two values a step apart, more of them on ever smaller polygons."""
    points = np.zeros((len(digits), 2))
    for k in range(digits.shape[1]):
        count = int(digits[:, k].max()) + 1
        if count == 2:
            step = np.array(TWO_VALUES[k % len(TWO_VALUES)])
            points += digits[:, [k]] * step
        else:
            turn = 2 * math.pi * digits[:, k] / count + 0.25 * k
            points += SHRINK**k * np.column_stack([np.sin(turn), np.cos(turn)])
    return points


def nearest_part(
    graph: AnswerGraph, centre: int, limit: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the nodes nearest to the centre, at most ``limit``, and the edges among them.

    Edges join places in the list of nodes.

    >>> from tightrope.graphs import Cycle
    >>> nearest_part(Cycle(1000), 5, 3)
    ([4, 5, 6], [(0, 1), (1, 2)])
    """
    found = dict.fromkeys(range(graph.size) if graph.size <= limit else [centre])
    queue = deque([centre])
    while queue and len(found) < min(limit, graph.size):
        for j in graph.neighbours(queue.popleft()):
            if int(j) not in found and len(found) < limit:
                found[int(j)] = None
                queue.append(int(j))
    nodes = sorted(found)
    place = {node: k for k, node in enumerate(nodes)}
    edges = [
        (place[i], place[int(j)])
        for i in nodes
        for j in graph.neighbours(i)
        if int(j) in place and i < j
    ]
    return nodes, edges
