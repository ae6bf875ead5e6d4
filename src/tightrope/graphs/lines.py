r"""Answers on lines, rings, stars, cliques and trees, with distances in closed form.

When one person comes or goes (:class:`CappedPathPower`), an edge joins a database to one with a
person less. The smaller answer must therefore be reachable with one person less than there may be,
which takes away the edges between answers that only a full database gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.arrays import GraphRule, Ints, IntTuple, Pair
from tightrope.errors import whole_number
from tightrope.graphs.base import (
    AnswerGraph,
    RegularGraph,
    box_rule,
    check_written,
    frozen,
)
from tightrope.graphs.registry import Parameter, family
from tightrope.graphs.unbounded import NoiseLattice

_NODES = Parameter("n", "number of answers")


@dataclass(frozen=True, eq=False)
class Coset:
    """Some answers of a line, in order, and how many of them lie within a largest step.

    >>> [coset.answers.tolist() for coset in cosets_of(7, 3, 2)]
    [[0, 2, 3, 5, 6], [1, 4]]
    """

    answers: Ints
    steps: int

    @property
    def graph(self) -> PathPower:
        """The distances between the answers."""
        last = len(self.answers) - 1
        width = max(1, min(self.steps, last))
        return PathPower(last + 1, width)


def width_of_line(graph: AnswerGraph) -> int | None:
    """Return how far apart neighbours are on a line; in a clique all of it, as odd medians are.

    >>> width_of_line(PathPower(9, 3)), width_of_line(Clique(5)), width_of_line(Star(3))
    (3, 4, None)
    """
    if graph.power is None and graph.is_clique:
        return max(1, graph.size - 1)
    return graph.power


def cosets_of(size: int, width: int, stride: int) -> list[Coset]:
    """Return the cosets of a line: answers whose remainder modulo the width is j modulo s.

    Between an answer and the one a largest step further there are always as many of a coset, so
    its distances are those of a power of a path.

    >>> coset = cosets_of(20, 5, 2)[0]
    >>> coset.steps, coset.graph.distance(0, 4), PathPower(20, 5).distance(0, 7)
    (3, 2, 2)
    """
    answers = np.arange(size)
    place = answers % width % stride
    return [
        Coset(answers[place == j], len(range(j, width, stride)))
        for j in range(int(place.max()) + 1)
    ]


@family("path", _NODES, meaning="answers in a row", example="path(6)", drawn="path(5)")
class PathPower(AnswerGraph):
    r"""Answers on a line, adjacent when they differ by at most ``width``.

    :math:`d(i, j) = \lceil |i-j| / w \rceil`. Width 1 is a path, width :math:`\ge n-1` a clique;
    ``sum(u,v)`` is one of ``uv+1`` answers and width ``v`` [A, §6].

    Parameters
    ----------
    size
        The number of answers.
    width
        The largest difference between adjacent answers.
    name
        Text that describes the graph.
    start, step
        The answer of node i is start + i · step.

    Examples
    --------
    >>> PathPower(751, 5).ball_sizes(0)[:3], PathPower(751, 5).diameter
    ((1, 5, 5), 150)
    """

    is_line = True

    def __init__(
        self,
        size: int,
        width: int = 1,
        *,
        name: str | None = None,
        start: int | Fraction = 0,
        step: int | Fraction = 1,
    ) -> None:
        self.size = whole_number(size, "the number of answers")
        self.width = whole_number(width, "the largest difference between neighbours")
        plain = f"path({size})" if width == 1 else f"path_power({size},{width})"
        self.name = name or plain
        self.start = start
        self.step = step

    @property
    def power(self) -> int | None:
        """The largest difference between adjacent nodes."""
        return min(self.width, max(1, self.size - 1))

    @property
    def rule(self) -> GraphRule:
        """One side of a box."""
        return box_rule((self.size, self.width))

    @property
    def unbounded(self) -> NoiseLattice | None:
        """The line without ends, for answers from 0 on."""
        if self.start:
            return None
        return NoiseLattice("line", 1, self.size - 1, self.width, step=self.step)

    def longest_edge(self) -> tuple[int, int, float]:
        """Return an edge that is as long as they get."""
        return 0, min(self.width, self.size - 1), 1.0

    def _far(self, i: int, j: Any) -> Any:
        # ⌈|i − j| / w⌉
        return -(-abs(i - j) // self.width)

    def neighbours(self, i: int) -> Ints:
        """Return the nodes at most ``width`` away."""
        self._check_node(i)
        self._check_length(self.degree(i), "a row of neighbours")
        first = max(0, i - self.width)
        return np.delete(
            np.arange(first, min(self.size, i + self.width + 1)), i - first
        )

    def _degree(self, i: Any) -> Any:
        before = np.minimum(i, self.width)
        after = np.minimum(self.size - 1 - i, self.width)
        return before + after

    def edge_array(self) -> Ints:
        """Return all edges as an array of shape (edges, 2), each pair increasing (read-only)."""
        self._check_edges()
        # Node i has min(w, n − 1 − i) later neighbours, numbered i + 1, i + 2, …
        behind = np.arange(self.size)[::-1]
        later = np.minimum(behind, self.width)
        first = np.repeat(np.arange(self.size), later)
        starts = np.cumsum(later) - later
        place = np.arange(len(first)) - np.repeat(starts, later)
        second = first + 1 + place
        return frozen(np.stack([first, second], axis=1))

    @property
    def degree_range(self) -> Pair:
        """The degrees at the ends and in the middle."""
        middle = (self.size - 1) // 2
        return self.degree(0), self.degree(middle)

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        # Σ_{k ≤ w} (n − k): one term for each difference.
        reach = min(self.width, self.size - 1)
        beyond_ends = reach * (reach + 1) // 2
        return reach * self.size - beyond_ends

    @property
    def diameter(self) -> int:
        """The distance between the two ends."""
        return int(self.distance(0, self.size - 1))

    def ball_sizes(self, i: int) -> IntTuple:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        self._check_node(i)
        self._check_length(self.diameter + 1, "the list of ball sizes")
        left = int(i)
        right = self.size - 1 - int(i)
        farthest = -(-max(left, right) // self.width)
        # Within distance d lie the nodes at most d·w to the left and to the right.
        step = min(self.width, self.size)
        reach = np.arange(farthest + 1) * step
        within = np.minimum(left, reach) + np.minimum(right, reach)
        return (1, *np.diff(within).tolist())


class CappedPathPower(PathPower):
    r"""Sums of at most ``people`` values from 0 … ``width``, where one person comes or goes.

    Like the power of a path with ``people · width + 1`` answers, except that the ``width``
    largest answers are not adjacent to each other: only a full database gives them, and nobody
    can join it.
    :math:`d(i, j) = \lceil |i-j| / w \rceil`, and 2 between two of those.

    Examples
    --------
    >>> graph = CappedPathPower(3, 5)
    >>> graph.size, graph.distance(14, 15), graph.distance(10, 15), graph.neighbours(15)
    (16, 2, 1, array([10]))
    """

    def __init__(self, people: int, width: int, *, name: str | None = None) -> None:
        self.people = whole_number(people, "the number of people")
        width = whole_number(width, "the largest value")
        super().__init__(
            self.people * width + 1, width, name=name or f"sum({people},{width})"
        )
        #: The largest answer that leaves room for one more person.
        self.cap = (self.people - 1) * width

    @property
    def power(self) -> int | None:
        """One value more than none is a path; otherwise edges are missing at the top."""
        return 1 if self.width == 1 else None

    @property
    def rule(self) -> GraphRule:
        """The number of people and the largest value; one person makes a star."""
        if self.width == 1:
            return super().rule
        return (
            ("star", self.width)
            if self.people == 1
            else ("capped", self.people, self.width)
        )

    @property
    def unbounded(self) -> NoiseLattice:
        """The line without ends."""
        return NoiseLattice("line", 1, self.size - 1, self.width, ends=True)

    def _far(self, i: int, j: Any) -> Any:
        # Between two sums above the cap somebody must leave first.
        above_cap = np.minimum(i, j) > self.cap
        full = (i != j) & above_cap
        return np.where(full, 2, super()._far(i, j))

    def neighbours(self, i: int) -> Ints:
        """Return the nodes adjacent to a node."""
        near = super().neighbours(i)
        if i <= self.cap:
            return near
        return near[near <= self.cap]

    def edge_array(self) -> Ints:
        """Return all edges as an array of shape (edges, 2), each pair increasing (read-only)."""
        edges = super().edge_array()
        return frozen(edges[edges[:, 0] <= self.cap])

    def _degree(self, i: Any) -> Any:
        # Of the w nodes below, those above the cap are not adjacent to another one above it.
        missing = np.maximum(0, i - 1 - self.cap)
        below = np.minimum(i, self.width) - missing
        above = np.minimum(self.size - 1 - i, self.width)
        return below + np.where(i <= self.cap, above, 0)

    @property
    def degree_range(self) -> Pair:
        """The degree of the largest sum, and the largest: nothing is lost at and below ``cap``."""
        middle = (self.size - 1) // 2
        return 1, self.degree(min(self.cap, middle))

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        # The w largest answers are not adjacent to each other: w(w - 1)/2 pairs.
        lost = self.width * (self.width - 1) // 2
        return super().edge_count - lost

    @property
    def diameter(self) -> int:
        """The number of people, or 2 for one person with several values."""
        return max(self.people, min(2, self.width))

    #: The rule of the line does not hold above ``cap``.
    ball_sizes = AnswerGraph.ball_sizes


@family(
    "cycle",
    Parameter("n", "number of answers", 3),
    meaning="answers in a ring",
    example="cycle(8)",
)
class Cycle(RegularGraph):
    """Answers on a ring, each adjacent to the next.

    Examples
    --------
    >>> Cycle(8).distance(0, 5), Cycle(8).ball_sizes(0)
    (3, (1, 2, 2, 2, 1))
    """

    common_degree = 2
    is_ring = True

    def __init__(self, size: int, *, name: str | None = None) -> None:
        self.size = whole_number(size, "the number of answers on a cycle", 3)
        self.name = name or f"cycle({size})"

    @property
    def rule(self) -> GraphRule:
        """The ring; three answers are a clique."""
        return ("ring", self.size) if self.size > 3 else box_rule((3, 2))

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge that closes the ring."""
        return 0, self.size - 1, 1.0

    def _far(self, i: int, j: Any) -> Any:
        gap = abs(i - j)
        # The shorter way round.
        return np.minimum(gap, self.size - gap)

    def neighbours(self, i: int) -> Ints:
        """Return the two nodes beside a node."""
        self._check_node(i)
        before = (i - 1) % self.size
        after = (i + 1) % self.size
        return np.array(sorted({before, after}))

    @property
    def diameter(self) -> int:
        """Half the way round."""
        return self.size // 2


class CompleteGraph(RegularGraph):
    """Every two answers adjacent, whatever the lengths of the edges."""

    def neighbours(self, i: int) -> Ints:
        """Return all other nodes."""
        self._check_node(i)
        self._check_row("a row of neighbours")
        return np.delete(np.arange(self.size), i)

    @property
    def common_degree(self) -> int:
        """The number of other nodes."""
        return self.size - 1


@family(
    "clique",
    _NODES,
    meaning="every two answers adjacent",
    example="clique(4)",
    drawn="clique(6)",
)
class Clique(CompleteGraph):
    """Every two answers adjacent, as for ``choice(c)`` [B, Ex 30].

    Examples
    --------
    >>> Clique(6).ball_sizes(2), Clique(6).edge_count
    ((1, 5), 15)
    """

    def __init__(self, size: int, *, name: str | None = None) -> None:
        self.size = whole_number(size, "the number of answers")
        self.name = name or f"clique({size})"

    @property
    def rule(self) -> GraphRule:
        """One side of a box, all of it within reach."""
        return box_rule((self.size, self.size))

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge between the first and the last node."""
        return 0, self.size - 1, 1.0

    def _far(self, i: int, j: Any) -> Any:
        return 1 * (i != j)

    @property
    def diameter(self) -> int:
        """1, or 0 for a single answer."""
        return int(self.size > 1)

    def ball_sizes(self, i: int) -> IntTuple:
        """Return how many nodes lie at distance 0 and 1 from a node."""
        self._check_node(i)
        return (1, self.size - 1) if self.size > 1 else (1,)


@family(
    "tree",
    Parameter("b", "children of each node"),
    Parameter("h", "height", 0),
    meaning="a balanced tree",
    example="tree(2,3)",
)
class BalancedTree(AnswerGraph):
    """Every node above the last level has ``branches`` children; node 0 is the root.

    Children of node i are ``branches·i + 1 … branches·i + branches``.

    Examples
    --------
    >>> tree = BalancedTree(3, 4)
    >>> tree.size, tree.max_degree, tree.diameter, tree.distance(tree.size - 1, 1)
    (121, 4, 8, 5)
    """

    def __init__(self, branches: int, height: int, *, name: str | None = None) -> None:
        self.branches = whole_number(branches, "the number of branches")
        self.height = whole_number(height, "the height of the tree", 0)
        self.name = name or f"tree({branches},{height})"
        check_written(height * math.log10(branches), height, self.name)
        #: The number of nodes at each depth.
        depths = range(self.height + 1)
        self.levels = tuple(self.branches**depth for depth in depths)
        self.size = sum(self.levels)

    @property
    def rule(self) -> GraphRule:
        """Branches and height; one branch is a path, one level a star."""
        if self.branches == 1 or self.size <= 2:
            return box_rule((self.size, 1))
        return (
            ("star", self.branches)
            if self.height == 1
            else ("tree", self.branches, self.height)
        )

    def parent(self, i: int) -> int:
        """Return the node above a node other than the root."""
        return (int(i) - 1) // self.branches

    def _path_up(self, i: int) -> list[int]:
        """Return the nodes from a node to the root."""
        self._check_node(i)
        up = [int(i)]
        while up[-1]:
            up.append(self.parent(up[-1]))
        return up

    def distance(self, i: int, j: int) -> int:
        """Return the number of steps up to the common ancestor and down again."""
        from_i = self._path_up(i)
        from_j = self._path_up(j)
        # Drop the common ancestors from the root on; the rest leads to the deepest of them.
        while from_i and from_j and from_i[-1] == from_j[-1]:
            from_i.pop()
            from_j.pop()
        return len(from_i) + len(from_j)

    def distances_from(self, i: int) -> Ints:
        """Return the distances from one node to every node."""
        self._check_row("a row of distances")
        # Distances grow by 1 from parent to child, except along the path up from i itself.
        above = dict(enumerate(reversed(self._path_up(i))))
        row = np.empty(self.size, np.int64)
        row[0] = len(above) - 1
        start = 1
        for depth, width in enumerate(self.levels[1:], 1):
            begin = start - self.levels[depth - 1]
            upper = row[begin:start]
            row[start : start + width] = np.repeat(upper + 1, self.branches)
            if depth in above:
                row[above[depth]] = len(above) - 1 - depth
            start += width
        return row

    def neighbours(self, i: int) -> Ints:
        """Return the parent and the children."""
        self._check_node(i)
        self._check_address()
        self._check_length(self.degree(i), "a row of neighbours")
        first = self.branches * int(i) + 1
        last = first + self.branches if first < self.size else first
        children = np.arange(first, last)
        return np.concatenate([[self.parent(i)], children]) if i else children

    def _degree(self, i: Any) -> Any:
        # All nodes but those of the last level have children.
        has_children = i < self.size - self.levels[-1]
        return 1 * (i > 0) + np.where(has_children, self.branches, 0)

    @property
    def degree_range(self) -> Pair:
        """The degrees of a leaf and below the root, or the root's own in a tree of height 1."""
        if not self.height:
            return 0, 0
        return 1, self.branches + int(self.height > 1)

    @property
    def edge_count(self) -> int:
        """One less than the number of nodes."""
        return self.size - 1

    @property
    def diameter(self) -> int:
        """From leaf to leaf through the root."""
        return self.height * (2 if self.branches > 1 else 1)


class Star(BalancedTree):
    """One answer in the middle (node 0) adjacent to ``leaves`` others [C, fn. 7].

    Examples
    --------
    >>> Star(3).distance(1, 2), Star(3).degree(0)
    (2, 3)
    """

    def __init__(self, leaves: int, *, name: str | None = None) -> None:
        leaves = whole_number(leaves, "the number of leaves")
        super().__init__(leaves, 1, name=name or f"star({leaves})")

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge to the last leaf."""
        return 0, self.size - 1, 1.0
