r"""Means and medians when the number of people is not fixed.

The nodes of a median graph are doubled medians :math:`M = 0 \ldots 2v`; an odd number of people
gives an even M, an even number any M (the average of the middle two). Take one person out of an
even number: the middle b remains, so M = b + x for some x, and the changed median is b + x'. Hence
with an even number of people :math:`M \sim M'` iff :math:`|M-M'| \le v`; with an odd number every
two whole medians are adjacent; and one person more or less joins 2b and b + x.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TooLarge, whole_number
from tightrope.graphs.base import LIMITS, AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph


class Means(AnswerGraph):
    r"""Means of 1 … u values from 0 … v, where people come, go and perhaps change.

    Answers are the fractions in [0, v] with denominators up to u, in rising order: between two
    whole numbers they follow the Farey sequence of order u, so there are
    :math:`v \sum_{k \le u} \varphi(k) + 1`. Neighbours come from the sums: a mean s/k of k
    people becomes (s+x)/(k+1) or (s-x)/(k-1), and with ``change`` (s±x)/k. Edges are listed only
    when something asks for all of them, or for a distance.

    Examples
    --------
    >>> graph = Means(2, 2, change=False)
    >>> [str(label) for label in graph.labels], graph.edge_count
    (['0', '1/2', '1', '3/2', '2'], 6)
    >>> big = Means(2000, 10, change=True)
    >>> big.size, str(big.label(big.neighbours(0)[0]))
    (12165881, '1/2000')
    """

    def __init__(self, people: int, largest: int, *, change: bool, name: str | None = None) -> None:
        self.people = whole_number(people, "the number of people", 1 if change else 2)
        self.largest = whole_number(largest, "the largest value")
        self.change = bool(change)
        self.name = name or f"mean({people},{largest})"
        if self.people > LIMITS.parts:
            raise TooLarge(
                f"{self.name} has fractions of up to {LIMITS.parts} people, got {people}: use "
                "neighbours='change-one', where the graph is a power of a path"
            )
        totients = np.arange(self.people + 1)
        for k in range(2, self.people + 1):
            if totients[k] == k:
                totients[k::k] -= totients[k::k] // k
        #: How many answers lie between two whole numbers, the first of them included.
        self.between = int(totients[1:].sum())
        self.size = self.largest * self.between + 1

    @functools.cached_property
    def _farey(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numerators and denominators of the fractions in [0, 1) in rising order."""
        self._check_length(self.between, "the fractions between two whole numbers")
        tops = [np.flatnonzero(np.gcd(np.arange(k), k) == 1) for k in range(1, self.people + 1)]
        below = np.repeat(np.arange(1, self.people + 1), [len(top) for top in tops])
        top = np.concatenate(tops)
        # Fractions are at least 1/u² apart: far more than the rounding of a quotient.
        order = np.argsort(top / below, kind="stable")
        return top[order], below[order]

    def _nodes(self, top: NDArray[np.int64], below: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes of the fractions top/below."""
        whole, rest = np.divmod(top, below)
        nearest = np.searchsorted(self._values, (rest - 0.25 / self.people) / below)
        return np.asarray(whole * self.between + nearest)

    @functools.cached_property
    def _values(self) -> NDArray[np.float64]:
        return np.divide(*self._farey)

    @property
    def rule(self) -> tuple[Any, ...]:
        """The number of people, the largest value and the relation."""
        return "means", self.people, self.largest, self.change

    @property
    def label_rule(self) -> tuple[Any, ...]:
        """The number of people and the largest value."""
        return "means", self.people, self.largest

    def label(self, i: int) -> Fraction:
        """Return the mean that a node stands for."""
        self._check_node(i)
        whole, place = divmod(int(i), self.between)
        return whole + Fraction(int(self._farey[0][place]), int(self._farey[1][place]))

    def _place(self, label: Any) -> int:
        # Whatever is added to a fraction is a number, and no text that Fraction would read.
        mean = Fraction(label if isinstance(label, float) else label + Fraction(0))
        return int(self._nodes(np.array(mean.numerator), np.array(mean.denominator)))

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the means after one person comes, goes or changes."""
        mean = self.label(i)
        sizes = np.arange(mean.denominator, self.people + 1, mean.denominator)
        sums = mean.numerator * (sizes // mean.denominator)
        steps = np.arange(-self.largest, self.largest + 1)
        found = []
        for more in (-1, 0, 1) if self.change else (-1, 1):
            then, after = np.add.outer(sums, steps), (sizes + more)[:, None]
            wanted = steps * more >= 0  # who comes adds a value, who goes takes one away
            fits = wanted & (after >= 1) & (after <= self.people)
            fits &= (then >= 0) & (then <= after * self.largest)
            found.append(self._nodes(then[fits], np.broadcast_to(after, then.shape)[fits]))
        return np.setdiff1d(np.concatenate(found), [i])

    @functools.cached_property
    def _listed(self) -> ExplicitGraph:
        """The edges: from every sum s of k people to those of k+1 and, with change, of k."""
        states = self.largest * self.people * (self.people + 1) // 2 + self.people
        moves = states * (self.largest + 1) * (1 + self.change)
        if moves > LIMITS.edges:
            raise TooLarge(
                f"all edges of {self.name} would come from {moves} moves between sums, more than "
                f"{LIMITS.edges}: ask for single nodes, or use neighbours='change-one'"
            )
        keys, step = [], np.arange(self.largest + 1)
        for k in range(1, self.people + 1):
            sums = np.arange(k * self.largest + 1)
            start, then = sums[:, None], np.add.outer(sums, step)
            here = np.broadcast_to(self._nodes(start, np.array(k)), then.shape)
            for size in range(k if self.change else k + 1, min(k + 1, self.people) + 1):
                fits = then <= size * self.largest
                one, other = here[fits], self._nodes(then[fits], np.array(size))
                pair = np.minimum(one, other) * self.size + np.maximum(one, other)
                keys.append(np.unique(pair[one != other]))
        edges = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
        return ExplicitGraph(np.stack(np.divmod(edges, self.size), axis=1), size=self.size)

    def distance(self, i: int, j: int) -> float:
        """Return the distance of two means in the listed graph."""
        return self._listed.distance(i, j)

    def distances_from(self, i: int) -> NDArray[Any]:
        """Return the distances from one mean to all."""
        return self._listed.distances_from(i)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        return self._listed.degrees

    def edge_array(self) -> NDArray[np.int64]:
        """Return all edges."""
        return self._listed.edge_array()

    @property
    def diameter(self) -> float:
        """The largest distance in the listed graph."""
        return self._listed.diameter


class MedianGraph(AnswerGraph):
    """What both graphs of medians share: the half-integers 0 … v as labels."""

    step = Fraction(1, 2)

    def __init__(self, largest: int, *, name: str | None = None) -> None:
        self.largest = whole_number(largest, "the largest value")
        self.size = 2 * self.largest + 1
        self.name = name or f"median({self.largest})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """The relation and the largest value."""
        return type(self).__name__, self.largest

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the medians at distance 1."""
        return np.flatnonzero(self.distances_from(i) == 1)

    @functools.cached_property
    def degree_range(self) -> tuple[int, int]:
        """The smallest and the largest degree.

        For each remainder of i modulo 4 the rule is linear between 0, 2v/3, v, 4v/3 and 2v, so
        that the extremes are near these.
        """
        bends = np.array([0, 2 * self.largest // 3, self.largest, 4 * self.largest // 3, self.size])
        places = np.add.outer(bends, np.arange(-5, 6)).clip(0, self.size - 1)
        found = self._degree(places)
        return int(found.min()), int(found.max())

    @functools.cached_property
    def diameter(self) -> int:
        """The largest distance; the first and the last odd node are as far apart as any."""
        ends = [0, 1, self.size - 2, self.size - 1]
        return max(int(self.distance(i, j)) for i in ends for j in ends)


class AddRemoveMedians(MedianGraph):
    """Medians of 1 … u people, u ≥ 2, where one person comes or goes.

    2b is adjacent to b + x for all values b and x.

    Examples
    --------
    >>> graph = AddRemoveMedians(5)
    >>> graph.neighbours(2), graph.diameter
    (array([0, 1, 3, 4, 5, 6]), 4)
    """

    def _far(self, i: Any, j: Any) -> Any:
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
        return np.where(i == j, 0, np.where(near, 1, far))

    def _degree(self, i: Any) -> Any:
        top, half = self.largest, i // 2
        least, most = np.maximum(0, i - top), np.minimum(top, i)
        both = np.minimum(most, (half + top) // 2) - np.maximum(least, -(-half // 2)) + 1
        count = most - least + 1
        return np.where(i % 2 == 0, top + count - both, count)


class EitherMedians(MedianGraph):
    """Medians of 1 … u people, u ≥ 2, where one person comes, goes or changes.

    Two medians are adjacent when both are whole or they differ by at most v/2.

    Examples
    --------
    >>> graph = EitherMedians(5)
    >>> graph.degree(0), graph.degree(5), graph.diameter
    (8, 10, 2)
    """

    def _far(self, i: Any, j: Any) -> Any:
        near = ((i % 2 == 0) & (j % 2 == 0)) | (abs(i - j) <= self.largest)
        return np.where(i == j, 0, np.where(near, 1, 2))

    def _degree(self, i: Any) -> Any:
        least = np.maximum(0, i - self.largest)
        most = np.minimum(self.size - 1, i + self.largest)
        odd = (most + 1) // 2 - least // 2
        return np.where(i % 2 == 0, self.largest + odd, most - least)
