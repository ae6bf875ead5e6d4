r"""Pricing on a tree: one message along each edge, in both directions.

Let :math:`F` be the cheapest cost of everything behind an edge for a column that is 1 at the
far end. Costs scale with the column, so the near end sees :math:`\alpha F` when the column
falls along the edge and :math:`F/\alpha` when it rises: whichever is less.
"""

from __future__ import annotations

import numpy as np

from tightrope.graphs import AnswerGraph
from tightrope.optimize.problem import Floats, Heights, Ints


class TreePricer:
    """Cheapest rays on a tree, with or without edge lengths.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> pricer = TreePricer(Star(2), 0.5)
    >>> values, heights, _ = pricer.cheapest(np.array([[1.0], [1.0], [-1.0]]), np.array([1]))
    >>> values.tolist(), heights.tolist()
    ([-1.0], [[-1, 0, -2]])
    """

    def __init__(self, graph: AnswerGraph, alpha: float) -> None:
        self.size = graph.size
        self._parent, self._length, self._order = rooted(graph)
        self._fall = alpha ** np.asarray(self._length, float)

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Heights, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        up = weights.copy()
        for c in self._order[:0:-1]:
            up[self._parent[c]] += self._passed(up[c], c)
        # `total[i]` is the cost of everything for a column that is 1 at i.
        total = up.copy()
        for c in self._order[1:]:
            p = self._parent[c]
            total[c] += self._passed(total[p] - self._passed(up[c], c), c)
        each = np.arange(weights.shape[1])
        heights = self._heights(up, total, anchors)
        return total[anchors, each], heights, np.zeros(len(each))

    def _passed(self, cost: Floats, c: int) -> Floats:
        fall = self._fall[c]
        return np.asarray(np.minimum(fall * cost, cost / fall))

    def _heights(self, up: Floats, total: Floats, anchors: Ints) -> Heights:
        """Return the heights, first with the root at 0, then moved so that the anchor is at 0."""
        count = up.shape[1]
        # Towards the anchor the roles of parent and child change.
        towards = np.zeros((self.size, count), bool)
        towards[anchors, np.arange(count)] = True
        for c in self._order[:0:-1]:
            towards[self._parent[c]] |= towards[c]
        heights = np.zeros((self.size, count), self._length.dtype)
        for c in self._order[1:]:
            p = self._parent[c]
            down = np.where(up[c] < 0, -1, 1)
            behind = total[p] - self._passed(up[c], c)
            upward = np.where(behind < 0, 1, -1)
            heights[c] = heights[p] + self._length[c] * np.where(towards[c], upward, down)
        return (heights - heights[anchors, np.arange(count)]).T.copy()


def rooted(graph: AnswerGraph) -> tuple[Ints, Heights, Ints]:
    """Return parents, lengths of the edges to them, and the nodes in order from the root 0.

    >>> from tightrope.graphs import PathPower
    >>> [part.tolist() for part in rooted(PathPower(3))]
    [[-1, 0, 1], [0, 1, 1], [0, 1, 2]]
    """
    parent = np.full(graph.size, -1, np.int64)
    weighted = graph.has_lengths
    length = np.zeros(graph.size, np.float64 if weighted else np.int64)
    known = {}
    if weighted:
        pairs = map(tuple, graph.edge_array().tolist())
        known = dict(zip(pairs, graph.edge_lengths().tolist(), strict=True))
    order = [0]
    for i in order:
        for j in graph.neighbours(i).tolist():
            if j != parent[i]:
                parent[j] = i
                length[j] = known[min(i, j), max(i, j)] if weighted else 1
                order.append(j)
    return parent, length, np.array(order)
