"""Answers on a line: when the order of the nodes means something."""

from __future__ import annotations

import numbers
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, ExplicitGraph, PathPower, path_order


def on_a_line(graph: AnswerGraph) -> bool:
    """Whether the nodes are numbered along a line, so that "the k-th answer" means something.

    True for counts, sums, means and paths (:class:`~tightrope.graphs.PathPower`), and for listed
    graphs whose labels are rising numbers and whose neighbourhoods are intervals. Cliques,
    cycles, stars and products have no such order, even where their labels are numbers.

    >>> from tightrope.graphs import Clique
    >>> on_a_line(PathPower(16, 5)), on_a_line(Clique(3))
    (True, False)
    """
    if isinstance(graph, PathPower):
        return True
    if not isinstance(graph, ExplicitGraph):
        return False
    labels = graph.labels
    if not all(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in labels):
        return False
    if not all(a < b for a, b in pairwise(labels)):  # type: ignore[operator]
        return False
    # Node and neighbours are consecutive exactly when they span as many places as they are.
    ends = graph.edge_array()
    low, high = np.arange(graph.size), np.arange(graph.size)
    np.minimum.at(low, ends[:, 1], ends[:, 0])
    np.maximum.at(high, ends[:, 0], ends[:, 1])
    return bool((high - low == graph.degrees).all())


def line_order(graph: AnswerGraph) -> NDArray[np.int64]:
    """Return the nodes in their order along the line: a path may be numbered in any way.

    >>> from tightrope.graphs import ExplicitGraph
    >>> line_order(ExplicitGraph([(0, 2), (2, 1)])).tolist()
    [0, 2, 1]
    """
    if on_a_line(graph):
        return np.arange(graph.size)
    if not isinstance(graph, ExplicitGraph) or not graph.is_path:
        raise InputError(
            f"this needs answers on a line, such as a count, a sum or a path, got {graph.name}"
        )
    return path_order(graph)
