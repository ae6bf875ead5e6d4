"""Answers on a line: when the order of the nodes means something."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, path_order


def on_a_line(graph: AnswerGraph) -> bool:
    """Whether the nodes are numbered along a line, so that "the k-th answer" means something.

    True for counts, sums, means and paths (:class:`~tightrope.graphs.PathPower`), and for listed
    graphs whose labels are rising numbers and whose neighbourhoods are intervals. Cliques,
    cycles, stars and products have no such order, even where their labels are numbers.

    >>> from tightrope.graphs import Clique, PathPower
    >>> on_a_line(PathPower(16, 5)), on_a_line(Clique(3))
    (True, False)
    """
    return graph.is_line


def line_order(graph: AnswerGraph) -> NDArray[np.int64]:
    """Return the nodes in their order along the line: a path may be numbered in any way.

    >>> from tightrope.graphs import ExplicitGraph
    >>> line_order(ExplicitGraph([(0, 2), (2, 1)])).tolist()
    [0, 2, 1]
    """
    if on_a_line(graph):
        return np.arange(graph.size)
    if not graph.is_path:
        raise InputError(
            f"this needs answers on a line, such as a count, a sum or a path, got {graph.name}"
        )
    return path_order(graph)
