r"""Means and medians when the number of people is not fixed.

The nodes of a median graph are doubled medians :math:`M = 0 \ldots 2v`; an odd number of people
gives an even M, an even number any M (the average of the middle two). Take one person out of an
even number: the middle b remains, so M = b + x for some x, and the changed median is b + x'. Hence
with an even number of people :math:`M \sim M'` iff :math:`|M-M'| \le v`; with an odd number every
two whole medians are adjacent; and one person more or less joins 2b and b + x.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs.base import LIMITS, AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph


def mean_graph(
    people: int, largest: int, *, change: bool, name: str | None = None
) -> ExplicitGraph:
    r"""Return the graph on the means s/k of :math:`1 \le k \le u` values from 0 … v.

    The states are the pairs (s, k), not the :math:`(v+1)^u` databases: one person more leads
    from (s, k) to (s+x, k+1), and with ``change`` one person's change to (s+x, k).

    Examples
    --------
    >>> graph = mean_graph(2, 2, change=False)
    >>> [str(label) for label in graph.labels], graph.edge_count
    (['0', '1/2', '1', '3/2', '2'], 6)
    """
    states = largest * people * (people + 1) // 2 + people
    moves = states * (largest + 1) * (2 if change else 1)
    if moves > LIMITS.edges:
        raise TooLarge(
            f"mean({people},{largest}) would look at {moves} moves between sums, more than "
            f"{LIMITS.edges}: use neighbours='change-one', where the graph is known by rule"
        )
    # One person more: s < s+x with one more in k. A change needs room for the other k-1 people.
    tops, bottoms = [], []
    step = np.arange(largest + 1)
    for k in range(1, people + 1):
        sums = np.arange(k * largest + 1)
        start, move = (side.ravel() for side in np.meshgrid(sums, step, indexing="ij"))
        if k < people:
            tops.append(np.stack([start, start + move]))
            bottoms.append(np.stack([np.full_like(start, k), np.full_like(start, k + 1)]))
        if change:
            inside = (move > 0) & (start + move <= k * largest)
            tops.append(np.stack([start, start + move])[:, inside])
            bottoms.append(np.full((2, int(inside.sum())), k))
    top = np.concatenate([np.arange(largest + 1), *(pair.ravel() for pair in tops)])
    bottom = np.concatenate([np.ones(largest + 1, np.int64), *(pair.ravel() for pair in bottoms)])
    shared = np.gcd(top, bottom)
    keys = (top // shared) * (people + 1) + bottom // shared
    found, nodes = np.unique(keys, return_inverse=True)
    values = [Fraction(int(key) // (people + 1), int(key) % (people + 1)) for key in found]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), np.int64)
    place[order] = np.arange(len(values))
    rest, ends = place[nodes.ravel()][largest + 1 :], []
    for pair in tops:
        ends.append(rest[: pair.size].reshape(2, -1))
        rest = rest[pair.size :]
    edges = np.sort(np.concatenate([np.empty((2, 0), np.int64), *ends], axis=1), axis=0)
    edges = np.unique(edges[:, edges[0] < edges[1]], axis=1)
    return ExplicitGraph(
        edges.T, labels=[values[i] for i in order], name=name or f"mean({people},{largest})"
    )


class MedianGraph(AnswerGraph):
    """What both graphs of medians share: the half-integers 0 … v as labels.

    >>> from tightrope.graphs import EitherMedians
    >>> isinstance(EitherMedians(3), MedianGraph), EitherMedians(3).label(5)
    (True, Fraction(5, 2))
    """

    def __init__(self, largest: int, *, name: str | None = None) -> None:
        self.largest = whole_number(largest, "the largest value")
        self.size = 2 * self.largest + 1
        self.name = name or f"median({self.largest})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """The relation and the largest value."""
        return type(self).__name__, self.largest

    @property
    def label_rule(self) -> tuple[Any, ...]:
        """Half-integers."""
        return "steps", 0, Fraction(1, 2)

    def label(self, i: int) -> Fraction:
        """Return the median that a node stands for."""
        self._check_node(i)
        return Fraction(int(i), 2)

    def index(self, label: Hashable) -> int:
        """Return the node that stands for a median."""
        if isinstance(label, int | Fraction | np.integer | float):
            double = 2 * label
            if 0 <= double < self.size and double == int(double):
                return int(double)
        raise InputError(f"{label!r} is not an answer of {self.name}")

    @abstractmethod
    def _far(self, i: Any, j: Any) -> NDArray[np.int64]:
        """Return distances between nodes, as arrays."""

    def distance(self, i: int, j: int) -> int:
        """Return the distance of two medians by cases."""
        self._check_node(i)
        self._check_node(j)
        return int(self._far(np.array(int(i)), np.array(int(j))))

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        return self._far(np.array(int(i)), np.arange(self.size))

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the medians at distance 1."""
        return np.flatnonzero(self.distances_from(i) == 1)

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        self._check_node(i)
        return int(self._degree(np.array(int(i))))

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return self._degree(np.arange(self.size))

    @abstractmethod
    def _degree(self, i: Any) -> NDArray[np.int64]:
        """Return degrees of nodes, as arrays."""

    @functools.cached_property
    def diameter(self) -> int:
        """The largest distance; the first and the last odd node are as far apart as any."""
        ends = [0, 1, self.size - 2, self.size - 1]
        return max(self.distance(i, j) for i in ends for j in ends)


class AddRemoveMedians(MedianGraph):
    """Medians of 1 … u people, u ≥ 2, where one person comes or goes.

    2b is adjacent to b + x for all values b and x.

    Examples
    --------
    >>> graph = AddRemoveMedians(5)
    >>> graph.neighbours(2), graph.diameter
    (array([0, 1, 3, 4, 5, 6]), 4)
    """

    def _far(self, i: Any, j: Any) -> NDArray[np.int64]:
        top = self.largest
        low, high = np.minimum(i, j), np.maximum(i, j)
        near = ((low % 2 == 0) & (low // 2 <= high) & (high <= low // 2 + top)) | (
            (high % 2 == 0) & (high // 2 <= low) & (low <= high // 2 + top)
        )
        # The even node each end is best left by on the way to the other, halved.
        start = np.where(low % 2 == 0, low // 2, np.minimum(low, top))
        stop = np.where(high % 2 == 0, high // 2, np.maximum(high - top, 0))
        joined = (stop <= 2 * start) | (2 * stop <= start + top)
        odd = low % 2 + high % 2
        two_odd = np.where(high - low <= top, 2, np.where(joined, 3, 4))
        far = np.where(odd == 0, 2, np.where(odd == 1, np.where(joined, 2, 3), two_odd))
        row: NDArray[np.int64] = np.where(i == j, 0, np.where(near, 1, far))
        return row

    def _degree(self, i: Any) -> NDArray[np.int64]:
        top, half = self.largest, i // 2
        least, most = np.maximum(0, i - top), np.minimum(top, i)
        both = np.minimum(most, (half + top) // 2) - np.maximum(least, -(-half // 2)) + 1
        count = most - least + 1
        degrees: NDArray[np.int64] = np.where(i % 2 == 0, top + count - both, count)
        return degrees


class EitherMedians(MedianGraph):
    """Medians of 1 … u people, u ≥ 2, where one person comes, goes or changes.

    Two medians are adjacent when both are whole or they differ by at most v/2.

    Examples
    --------
    >>> graph = EitherMedians(5)
    >>> graph.degree(0), graph.degree(5), graph.diameter
    (8, 10, 2)
    """

    def _far(self, i: Any, j: Any) -> NDArray[np.int64]:
        near = ((i % 2 == 0) & (j % 2 == 0)) | (abs(i - j) <= self.largest)
        row: NDArray[np.int64] = np.where(i == j, 0, np.where(near, 1, 2))
        return row

    def _degree(self, i: Any) -> NDArray[np.int64]:
        least = np.maximum(0, i - self.largest)
        most = np.minimum(self.size - 1, i + self.largest)
        odd = (most + 1) // 2 - least // 2
        degrees: NDArray[np.int64] = np.where(i % 2 == 0, self.largest + odd, most - least)
        return degrees
