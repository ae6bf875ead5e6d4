"""Answer graphs by rule: bands (paths, sums), cycles and stars."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, whole_number
from tightrope.graphs.base import AnswerGraph, box_rule, frozen


class PathPower(AnswerGraph):
    r"""Answers on a line, adjacent when they differ by at most ``width``.

    :math:`d(i, j) = \lceil |i-j| / w \rceil`. Width 1 is a path, width :math:`\ge n-1` a clique;
    ``sum(u,v)`` is a band of ``uv+1`` answers and width ``v`` [A, §6].

    Parameters
    ----------
    size
        The number of answers.
    width
        The largest difference between adjacent answers.
    name
        Text that describes the graph.
    step
        What answers differ by: node i stands for i · step.
    label
        Rule from a node to the answer it stands for, where that is not i · step.
    index
        The inverse rule; it may raise anything for what is not an answer.

    Examples
    --------
    >>> PathPower(751, 5).ball_sizes(0)[:3], PathPower(751, 5).diameter
    ((1, 5, 5), 150)
    """

    def __init__(
        self,
        size: int,
        width: int = 1,
        *,
        name: str | None = None,
        step: int | Fraction = 1,
        label: Callable[[int], Hashable] | None = None,
        index: Callable[[Hashable], int] | None = None,
    ) -> None:
        self.size = whole_number(size, "the number of answers")
        self.width = whole_number(width, "the largest difference between neighbours")
        self.name = name or (f"path({size})" if width == 1 else f"path_power({size},{width})")
        self.step = step
        self._label, self._index = label, index

    @property
    def power(self) -> int | None:
        """The largest difference between adjacent nodes."""
        return min(self.width, max(1, self.size - 1))

    @property
    def is_line(self) -> bool:
        """Nodes are numbered along the line."""
        return True

    @property
    def rule(self) -> tuple[Any, ...]:
        """One side of a box."""
        return box_rule((self.size, self.width))

    @property
    def label_rule(self) -> tuple[Any, ...] | None:
        """Steps from 0, unless there is another rule."""
        return ("steps", 0, self.step) if self._label is None else None

    def longest_edge(self) -> tuple[int, int, float]:
        """Return an edge that is as long as they get."""
        return 0, min(self.width, self.size - 1), 1.0

    @property
    def knows_maxima(self) -> bool:
        """A window slides along the line."""
        return True

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the largest value within ``width`` places, by doubling: log(width) passes."""
        width = min(self.width, self.size - 1)
        if width == 0:
            return values
        ahead, reach = values, 1
        while reach < width + 1:
            step = min(reach, width + 1 - reach)
            longer = np.empty(ahead.shape, ahead.dtype)
            np.maximum(ahead[:-step], ahead[step:], out=longer[:-step])
            longer[-step:] = ahead[-step:]
            ahead, reach = longer, reach + step
        out = np.empty(ahead.shape, ahead.dtype)
        np.maximum(ahead[width:], ahead[:-width], out=out[width:])
        np.maximum(ahead[:width], ahead[0], out=out[:width])
        return out

    def label(self, i: int) -> Hashable:
        """Return the answer that a node stands for."""
        self._check_node(i)
        return int(i) * self.step if self._label is None else self._label(int(i))

    def index(self, label: Hashable) -> int:
        """Return the node that stands for an answer."""
        number: Any = label
        try:
            node = int(number // self.step) if self._index is None else self._index(label)
            if 0 <= node < self.size and self.label(node) == label:
                return node
        except (ArithmeticError, TypeError, ValueError):
            pass
        raise InputError(f"{label!r} is not an answer of {self.name}")

    def distance(self, i: int, j: int) -> int:
        """Return ⌈|i-j| / width⌉."""
        self._check_node(i)
        self._check_node(j)
        return -(-abs(int(i) - int(j)) // self.width)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        return -(-np.abs(np.arange(self.size) - i) // self.width)

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the nodes at most ``width`` away."""
        self._check_node(i)
        self._check_length(self.degree(i), "a row of neighbours")
        near = np.arange(max(0, i - self.width), min(self.size, i + self.width + 1))
        beside: NDArray[np.int64] = near[near != i]
        return beside

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        self._check_node(i)
        return min(i, self.width) + min(self.size - 1 - i, self.width)

    def edge_array(self) -> NDArray[np.int64]:
        """Return all edges as an array of shape (edges, 2), each pair increasing (read-only)."""
        self._check_edges()
        later = np.minimum(np.arange(self.size)[::-1], self.width)
        first = np.repeat(np.arange(self.size), later)
        place = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        return frozen(np.stack([first, first + 1 + place], axis=1))

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        below = np.minimum(np.arange(self.size), self.width)
        return below + below[::-1]

    @property
    def max_degree(self) -> int:
        """The largest degree, found in the middle."""
        return self.degree((self.size - 1) // 2)

    @property
    def min_degree(self) -> int:
        """The smallest degree, found at the ends."""
        return self.degree(0)

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        reach = min(self.width, self.size - 1)
        return reach * self.size - reach * (reach + 1) // 2

    @property
    def diameter(self) -> int:
        """The distance between the two ends."""
        return self.distance(0, self.size - 1)

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        self._check_node(i)
        self._check_length(self.diameter + 1, "the list of ball sizes")
        left, right = int(i), self.size - 1 - int(i)
        farthest = -(-max(left, right) // self.width)
        reach = np.arange(farthest + 1) * min(self.width, self.size)
        within = np.minimum(left, reach) + np.minimum(right, reach)
        return (1, *np.diff(within).tolist())

    @property
    def constant_ball_sizes(self) -> tuple[int, ...] | None:
        """The ball sizes of a clique; otherwise the ends see fewer neighbours than the middle."""
        return self.ball_sizes(0) if self.min_degree == self.max_degree else None


class Cycle(AnswerGraph):
    """Answers on a ring, each adjacent to the next.

    Examples
    --------
    >>> Cycle(8).distance(0, 5), Cycle(8).ball_sizes(0)
    (3, (1, 2, 2, 2, 1))
    """

    is_ring = True
    knows_maxima = True

    def __init__(self, size: int, *, name: str | None = None) -> None:
        self.size = whole_number(size, "the number of answers on a cycle", 3)
        self.name = name or f"cycle({size})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """The ring; three answers are a clique."""
        return ("ring", self.size) if self.size > 3 else box_rule((3, 2))

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge that closes the ring."""
        return 0, self.size - 1, 1.0

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the largest of three values."""
        beside = np.maximum(np.roll(values, 1, axis=0), np.roll(values, -1, axis=0))
        return np.asarray(np.maximum(beside, values))

    def distance(self, i: int, j: int) -> int:
        """Return the shorter way round."""
        self._check_node(i)
        self._check_node(j)
        gap = abs(int(i) - int(j))
        return min(gap, self.size - gap)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        gap = np.abs(np.arange(self.size) - i)
        row: NDArray[np.int64] = np.minimum(gap, self.size - gap)
        return row

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the two nodes beside a node."""
        self._check_node(i)
        return np.array(sorted({(i - 1) % self.size, (i + 1) % self.size}))

    def degree(self, i: int) -> int:
        """Return 2."""
        self._check_node(i)
        return 2

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return np.full(self.size, 2)

    @property
    def max_degree(self) -> int:
        """The degree of every node, 2."""
        return 2

    @property
    def min_degree(self) -> int:
        """The degree of every node, 2."""
        return 2

    @property
    def edge_count(self) -> int:
        """The number of edges, which is the number of nodes."""
        return self.size

    @property
    def diameter(self) -> int:
        """Half the way round."""
        return self.size // 2

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        self._check_node(i)
        self._check_length(self.diameter + 1, "the list of ball sizes")
        half, even = self.size // 2, self.size % 2 == 0
        return (1, *[2] * (half - 1), 1) if even else (1, *[2] * half)

    @property
    def constant_ball_sizes(self) -> tuple[int, ...]:
        """The ball sizes, the same everywhere."""
        return self.ball_sizes(0)


class Star(AnswerGraph):
    """One answer in the middle (node 0) adjacent to ``leaves`` others [C, fn. 7].

    Examples
    --------
    >>> Star(3).distance(1, 2), Star(3).degree(0)
    (2, 3)
    """

    knows_maxima = True

    def __init__(self, leaves: int, *, name: str | None = None) -> None:
        self.size = whole_number(leaves, "the number of leaves") + 1
        self.name = name or f"star({leaves})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """The star; one leaf makes a path."""
        return ("star", self.size - 1) if self.size > 2 else box_rule((2, 1))

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge to the last leaf."""
        return 0, self.size - 1, 1.0

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the larger of a leaf's value and the middle's; the middle sees all."""
        out = np.maximum(values, values[0])
        out[0] = values.max(axis=0)
        return np.asarray(out)

    def distance(self, i: int, j: int) -> int:
        """Return 0, 1 from the middle, or 2 between leaves."""
        self._check_node(i)
        self._check_node(j)
        return int(i != j) * (1 + int(i != 0 and j != 0))

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        row = np.full(self.size, 1 if i == 0 else 2)
        row[0] = 1
        row[i] = 0
        return row

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the leaves for the middle, the middle for a leaf."""
        self._check_node(i)
        if i != 0:
            return np.zeros(1, np.int64)
        self._check_row("a row of neighbours")
        return np.arange(1, self.size)

    def degree(self, i: int) -> int:
        """Return the number of leaves for the middle, 1 for a leaf."""
        self._check_node(i)
        return self.size - 1 if i == 0 else 1

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        degrees = np.ones(self.size, np.int64)
        degrees[0] = self.size - 1
        return degrees

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2 from a node."""
        self._check_node(i)
        return (1, self.size - 1) if i == 0 or self.size == 2 else (1, 1, self.size - 2)

    @property
    def max_degree(self) -> int:
        """The number of leaves."""
        return self.size - 1

    @property
    def min_degree(self) -> int:
        """1, the degree of a leaf."""
        return 1

    @property
    def edge_count(self) -> int:
        """The number of leaves."""
        return self.size - 1

    @property
    def diameter(self) -> int:
        """2, or 1 for a single leaf."""
        return min(2, self.size - 1)
