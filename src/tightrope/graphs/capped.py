r"""Sums and bundles of counts when one person comes or goes.

With at most u people, an edge joins a database with one person more to one with one person
less. The smaller of the two must therefore be reachable with u-1 people, which takes away the
edges between answers that only a full database gives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, whole_number
from tightrope.graphs.base import AnswerGraph, box_rule, frozen
from tightrope.graphs.lines import PathPower


class CappedPathPower(PathPower):
    r"""Sums of at most ``people`` values from 0 … ``width``, where one person comes or goes.

    Like the band of ``people · width + 1`` answers, except that the ``width`` largest answers
    are not adjacent to each other: only a full database gives them, and nobody can join it.
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
        super().__init__(self.people * width + 1, width, name=name or f"sum({people},{width})")
        #: The largest answer that leaves room for one more person.
        self.cap = (self.people - 1) * width

    @property
    def power(self) -> int | None:
        """One value more than none is a path; otherwise edges are missing at the top."""
        return 1 if self.width == 1 else None

    @property
    def rule(self) -> tuple[Any, ...]:
        """The number of people and the largest value; one person makes a star."""
        if self.width == 1:
            return super().rule
        return ("star", self.width) if self.people == 1 else ("capped", self.people, self.width)

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return window maxima; above ``cap`` only answers up to it, and oneself, are seen."""
        out = super().nearby_maxima(values)
        below = np.maximum.accumulate(values[self.cap :: -1], axis=0)
        for i in range(self.cap + 1, self.size):
            out[i] = np.maximum(values[i], below[self.cap - max(0, i - self.width)])
        return out

    def distance(self, i: int, j: int) -> int:
        """Return ⌈|i-j| / width⌉, or 2 between answers of full databases."""
        far = super().distance(i, j)
        return 2 if i != j and min(i, j) > self.cap else far

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        row = super().distances_from(i)
        if i > self.cap:
            row[self.cap + 1 :] = 2
            row[i] = 0
        return row

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the nodes adjacent to a node."""
        near = super().neighbours(i)
        return near[near <= self.cap] if i > self.cap else near

    def edge_array(self) -> NDArray[np.int64]:
        """Return all edges as an array of shape (edges, 2), each pair increasing (read-only)."""
        edges = super().edge_array()
        return frozen(edges[edges[:, 0] <= self.cap])

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        self._check_node(i)
        below = min(i, self.width) - max(0, i - 1 - self.cap)
        return below + (min(self.size - 1 - i, self.width) if i <= self.cap else 0)

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        degrees = super().degrees.copy()
        top = np.arange(self.cap + 1, self.size)
        degrees[top] = np.minimum(top, self.width) - (top - 1 - self.cap)
        degrees.flags.writeable = False
        return degrees

    @property
    def max_degree(self) -> int:
        """The largest degree: nothing is lost at and below ``cap``."""
        return self.degree(min(self.cap, (self.size - 1) // 2))

    @property
    def min_degree(self) -> int:
        """1, the degree of the largest sum."""
        return 1

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return super().edge_count - self.width * (self.width - 1) // 2

    @property
    def diameter(self) -> int:
        """The number of people, or 2 for one person with several values."""
        return max(self.people, min(2, self.width))

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        sizes = list(super().ball_sizes(i))
        if i <= self.cap:
            return tuple(sizes)
        full = self.width - 1  # the other answers of full databases, all within one step of a band
        if not full:
            return tuple(sizes)
        sizes += [0] * (3 - len(sizes))
        sizes[1] -= full
        sizes[2] += full
        return tuple(sizes)

    @property
    def constant_ball_sizes(self) -> tuple[int, ...] | None:
        """The ball sizes of a single edge; otherwise the ends see others than the middle."""
        return (1, 1) if self.size == 2 else None


class CappedCounts(AnswerGraph):
    r"""Bundles of ``k`` counts of at most ``people`` people, where one person comes or goes.

    A person who comes raises any of the counts by one, so :math:`c \sim c'` when
    :math:`c'-c \in \{0,1\}^k \setminus 0` and no count in the smaller c is ``people``. With
    :math:`P = \max(c'-c)^+` and :math:`N = \max(c-c')^+` the distance is P + N, and one more when
    only one of them is positive and the smaller bundle already has a full count: then somebody
    must leave first.

    Examples
    --------
    >>> graph = CappedCounts(3, 2)
    >>> graph.size, graph.edge_count, graph.diameter
    (16, 27, 6)
    >>> graph.distance(graph.index((3, 0)), graph.index((3, 1)))
    2
    """

    def __init__(self, people: int, counts: int, *, name: str | None = None) -> None:
        self.people = whole_number(people, "the number of people")
        self.counts = whole_number(counts, "the number of counts")
        self.size = (self.people + 1) ** self.counts
        self.name = name or f"counts({people},{counts})"

    @property
    def fills_grid(self) -> bool:
        """Every tuple of counts is an answer."""
        return True

    @property
    def rule(self) -> tuple[Any, ...]:
        """The number of people and of counts; one count is a path."""
        if self.counts == 1:
            return box_rule((self.size, 1))
        return "capped counts", self.people, self.counts

    @property
    def label_rule(self) -> tuple[Any, ...]:
        """A grid."""
        return "grid", (self.people + 1,) * self.counts

    def label(self, i: int) -> tuple[int, ...]:
        """Return the tuple of counts that a node stands for."""
        self._check_node(i)
        rest, found = int(i), []
        for _ in range(self.counts):
            rest, digit = divmod(rest, self.people + 1)
            found.append(digit)
        return tuple(reversed(found))

    def index(self, label: Hashable) -> int:
        """Return the node that stands for a tuple of counts."""
        if (
            isinstance(label, tuple)
            and len(label) == self.counts
            and all(isinstance(c, int | np.integer) and 0 <= c <= self.people for c in label)
        ):
            base = self.people + 1
            return sum(int(c) * base**k for k, c in enumerate(reversed(label)))
        raise InputError(
            f"an answer of {self.name} is a tuple of {self.counts} whole numbers "
            f"0 … {self.people}, got {label!r}"
        )

    def distance(self, i: int, j: int) -> int:
        """Return the number of people who must come or go."""
        here, there = self.label(i), self.label(j)
        up = max(0, *(b - a for a, b in zip(here, there, strict=True)))
        down = max(0, *(a - b for a, b in zip(here, there, strict=True)))
        full = (down == 0 < up and max(here) == self.people) or (
            up == 0 < down and max(there) == self.people
        )
        return up + down + int(full)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        here = np.array(self.label(i))
        table = self._table
        gaps = table - here
        up, down = gaps.max(axis=1).clip(0), -gaps.min(axis=1).clip(max=0)
        full_there = table.max(axis=1) == self.people
        full_here = here.max() == self.people
        extra = ((down == 0) & (up > 0) & full_here) | ((up == 0) & (down > 0) & full_there)
        row: NDArray[np.int64] = up + down + extra
        return row

    @functools.cached_property
    def _table(self) -> NDArray[np.int64]:
        self._check_length(self.size * self.counts, "a row of distances")
        shape = (self.people + 1,) * self.counts
        return np.stack(np.unravel_index(np.arange(self.size), shape), axis=1)

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the bundles with one person more or one person less."""
        here = self.label(i)
        self._check_address()
        below, above = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for count in here:
            step = {0: [0], self.people: [-1]}.get(count, [-1, 0])
            below = (below[:, None] * (self.people + 1) + (count + np.array(step))).ravel()
            above = (above[:, None] * (self.people + 1) + (count + np.arange(2))).ravel()
        near = below if max(here) == self.people else np.concatenate([below, above])
        near = np.unique(near)
        beside: NDArray[np.int64] = near[near != i]
        return beside

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        here = self.label(i)
        below = math.prod(1 if count in (0, self.people) else 2 for count in here)
        full = max(here) == self.people
        return below if full else below - 1 + 2**self.counts - 1

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        table = self._table
        below = np.where((table == 0) | (table == self.people), 1, 2).prod(axis=1)
        full = table.max(axis=1) == self.people
        degrees: NDArray[np.int64] = np.where(full, below, below + 2**self.counts - 2)
        return degrees

    @property
    def max_degree(self) -> int:
        """The largest degree."""
        ways = (1 << self.counts) - 1
        return 2 * ways if self.people > 1 else ways

    @property
    def min_degree(self) -> int:
        """1, the degree of the full bundle."""
        return 1

    @property
    def edge_count(self) -> int:
        """The number of smaller bundles times the ways to come."""
        smaller: int = self.people**self.counts
        ways: int = 2**self.counts - 1
        return smaller * ways

    @property
    def diameter(self) -> int:
        """Everybody leaves and everybody comes; one count is a path."""
        return self.people * min(2, self.counts)
