"""Answer graphs in which every two answers are adjacent."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import whole_number
from tightrope.graphs.base import AnswerGraph, box_rule


class CompleteGraph(AnswerGraph):
    """Every two answers adjacent, whatever the lengths of the edges.

    Examples
    --------
    >>> from tightrope.graphs import PointsGraph
    >>> isinstance(Clique(3), CompleteGraph), PointsGraph([(0, 0), (3, 4)]).edge_count
    (True, 1)
    """

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return all other nodes."""
        self._check_node(i)
        self._check_row("a row of neighbours")
        return np.delete(np.arange(self.size), i)

    def degree(self, i: int) -> int:
        """Return the number of other nodes."""
        self._check_node(i)
        return self.size - 1

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return np.full(self.size, self.size - 1)

    @property
    def max_degree(self) -> int:
        """The number of other nodes."""
        return self.size - 1

    @property
    def min_degree(self) -> int:
        """The number of other nodes."""
        return self.size - 1

    @property
    def edge_count(self) -> int:
        """The number of pairs."""
        return self.size * (self.size - 1) // 2


class Clique(CompleteGraph):
    """Every two answers adjacent, as for ``choice(c)`` [B, Ex 30].

    Examples
    --------
    >>> Clique(6).ball_sizes(2), Clique(6).edge_count
    ((1, 5), 15)
    """

    knows_maxima = True

    def __init__(self, size: int, *, name: str | None = None) -> None:
        self.size = whole_number(size, "the number of answers")
        self.name = name or f"clique({size})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """One side of a box, all of it within reach."""
        return box_rule((self.size, self.size))

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge between the first and the last node."""
        return 0, self.size - 1, 1.0

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the largest value of all."""
        return np.broadcast_to(values.max(axis=0), values.shape)

    def distance(self, i: int, j: int) -> int:
        """Return 0 or 1."""
        self._check_node(i)
        self._check_node(j)
        return int(i != j)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        row = np.ones(self.size, np.int64)
        row[i] = 0
        return row

    @property
    def diameter(self) -> int:
        """1, or 0 for a single answer."""
        return int(self.size > 1)

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0 and 1 from a node."""
        self._check_node(i)
        return (1, self.size - 1) if self.size > 1 else (1,)

    @property
    def constant_ball_sizes(self) -> tuple[int, ...]:
        """The ball sizes, the same everywhere."""
        return self.ball_sizes(0)
