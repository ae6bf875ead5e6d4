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

from tightrope.arrays import LIMITS, AnyArray, Floats, GraphRule, Ints
from tightrope.errors import TooLarge, whole_number
from tightrope.graphs.base import AnswerGraph
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

    def __init__(
        self, people: int, largest: int, *, change: bool, name: str | None = None
    ) -> None:
        self.people = whole_number(people, "the number of people", 1 if change else 2)
        self.largest = whole_number(largest, "the largest value")
        self.change = bool(change)
        self.name = name or f"mean({people},{largest})"
        if self.people > LIMITS.parts:
            raise TooLarge(
                f"{self.name} has fractions of up to {LIMITS.parts} people, got {people}: use "
                "neighbours='change-one', where the graph is a power of a path"
            )
        # Euler's sieve: φ(n) = n Π (1 − 1/p) over the primes p that divide n.
        totients = np.arange(self.people + 1)
        for k in range(2, self.people + 1):
            # k is prime if no smaller prime has reduced its totient.
            if totients[k] == k:
                totients[k::k] -= totients[k::k] // k
        #: How many answers lie between two whole numbers, the first of them included.
        self.between = int(totients[1:].sum())
        self.size = self.largest * self.between + 1

    @functools.cached_property
    def _farey(self) -> tuple[Ints, Ints]:
        """Numerators and denominators of the fractions in [0, 1) in rising order."""
        self._check_length(self.between, "the fractions between two whole numbers")
        tops = [
            np.flatnonzero(np.gcd(np.arange(k), k) == 1)
            for k in range(1, self.people + 1)
        ]
        counts = [len(top) for top in tops]
        below = np.repeat(np.arange(1, self.people + 1), counts)
        top = np.concatenate(tops)
        # Fractions are at least 1/u² apart, far more than the round-off of a quotient.
        order = np.argsort(top / below, kind="stable")
        return top[order], below[order]

    def _nodes(self, top: Ints, below: Ints) -> Ints:
        """Return the nodes of the fractions top/below."""
        integer_part, numerator = np.divmod(top, below)
        # A quarter of the least distance below the fraction: the search ends at it.
        slightly_below = (numerator - 0.25 / self.people) / below
        places = np.searchsorted(self._values, slightly_below)
        return np.asarray(integer_part * self.between + places)

    @functools.cached_property
    def _values(self) -> Floats:
        return np.divide(*self._farey)

    @property
    def rule(self) -> GraphRule:
        """The number of people, the largest value and the relation."""
        return "means", self.people, self.largest, self.change

    @property
    def label_rule(self) -> GraphRule:
        """The number of people and the largest value."""
        return "means", self.people, self.largest

    def label(self, i: int) -> Fraction:
        """Return the mean of a node."""
        self._check_node(i)
        integer_part, place = divmod(int(i), self.between)
        return integer_part + Fraction(
            int(self._farey[0][place]), int(self._farey[1][place])
        )

    def _place(self, label: Any) -> int:
        # Adding 0 refuses texts, which Fraction would read.
        number = label if isinstance(label, float) else label + Fraction(0)
        mean = Fraction(number)
        numerator = np.array(mean.numerator)
        denominator = np.array(mean.denominator)
        return int(self._nodes(numerator, denominator))

    def neighbours(self, i: int) -> Ints:
        """Return the means after one person comes, goes or changes."""
        mean = self.label(i)
        # A mean s/k in lowest terms comes from k, 2k, 3k, … people.
        sizes = np.arange(mean.denominator, self.people + 1, mean.denominator)
        sums = mean.numerator * (sizes // mean.denominator)
        steps = np.arange(-self.largest, self.largest + 1)
        near = []
        for change in (-1, 0, 1) if self.change else (-1, 1):
            new_sums = np.add.outer(sums, steps)
            new_sizes = (sizes + change)[:, None]
            # Who comes adds a value, who goes takes one away.
            possible = steps * change >= 0
            has_size = (new_sizes >= 1) & (new_sizes <= self.people)
            has_sum = (new_sums >= 0) & (new_sums <= new_sizes * self.largest)
            fits = possible & has_size & has_sum
            sizes_of = np.broadcast_to(new_sizes, new_sums.shape)
            near.append(self._nodes(new_sums[fits], sizes_of[fits]))
        return np.setdiff1d(np.concatenate(near), [i])

    @property
    def listing_steps(self) -> int:
        """How many moves between sums the edges are taken from."""
        sums = self.largest * self.people * (self.people + 1) // 2
        states = sums + self.people
        return states * (self.largest + 1) * (1 + self.change)

    @functools.cached_property
    def _listed(self) -> ExplicitGraph:
        """The edges: from every sum s of k people to those of k+1 and, with change, of k."""
        moves = self.listing_steps
        if moves > LIMITS.edges:
            raise TooLarge(
                f"all edges of {self.name} would come from {moves} moves between sums, more than "
                f"{LIMITS.edges}: ask for single nodes, or use neighbours='change-one'"
            )
        keys = []
        values = np.arange(self.largest + 1)
        for k in range(1, self.people + 1):
            sums = np.arange(k * self.largest + 1)
            start = sums[:, None]
            new_sums = np.add.outer(sums, values)
            from_sums = self._nodes(start, np.array(k))
            here = np.broadcast_to(from_sums, new_sums.shape)
            # The sum grows by a value: of k + 1 people if somebody comes, of k if somebody changes.
            smallest = k if self.change else k + 1
            largest = min(k + 1, self.people)
            for size in range(smallest, largest + 1):
                fits = new_sums <= size * self.largest
                from_node = here[fits]
                to_node = self._nodes(new_sums[fits], np.array(size))
                # One key i·n + j with i < j for each unordered pair.
                pair = np.minimum(from_node, to_node) * self.size + np.maximum(
                    from_node, to_node
                )
                keys.append(np.unique(pair[from_node != to_node]))
        no_keys = np.zeros(0, np.int64)
        edges = np.unique(np.concatenate([no_keys, *keys]))
        return ExplicitGraph(
            np.stack(np.divmod(edges, self.size), axis=1), size=self.size
        )

    def distance(self, i: int, j: int) -> float:
        """Return the distance of two means in the listed graph."""
        return self._listed.distance(i, j)

    def distances_from(self, i: int) -> AnyArray:
        """Return the distances from one mean to all."""
        return self._listed.distances_from(i)

    @property
    def degrees(self) -> Ints:
        """The degree of every node."""
        return self._listed.degrees

    def edge_array(self) -> Ints:
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
    def rule(self) -> GraphRule:
        """The relation and the largest value."""
        return type(self).__name__, self.largest

    def neighbours(self, i: int) -> Ints:
        """Return the medians at distance 1."""
        return np.flatnonzero(self.distances_from(i) == 1)

    @functools.cached_property
    def degree_range(self) -> tuple[int, int]:
        """The smallest and the largest degree.

        For each remainder of i modulo 4 the rule is linear between 0, 2v/3, v, 4v/3 and 2v, so
        that the extremes are near these.
        """
        v = self.largest
        bends = np.array([0, 2 * v // 3, v, 4 * v // 3, self.size])
        near = np.arange(-5, 6)
        places = np.add.outer(bends, near).clip(0, self.size - 1)
        degrees = self._degree(places)
        return int(degrees.min()), int(degrees.max())

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
        low = np.minimum(i, j)
        high = np.maximum(i, j)
        # 2b is adjacent to b … b + v.
        adjacent = self._reaches(low, high) | self._reaches(high, low)
        # Half of the even node by which the way between two nodes leaves either of them.
        reach_low = np.minimum(low, top)
        reach_high = np.maximum(high - top, 0)
        start = np.where(low % 2 == 0, low // 2, reach_low)
        stop = np.where(high % 2 == 0, high // 2, reach_high)
        joined = (stop <= 2 * start) | (2 * stop <= start + top)
        odd = low % 2 + high % 2
        # Two even nodes share the neighbour between their halves; an odd one needs a step to an
        # even one first, unless both are adjacent to the same.
        share_neighbour = (odd == 2) & (high - low <= top)
        cases = [i == j, adjacent, odd == 0, share_neighbour]
        return np.select(cases, [0, 1, 2, 2], 1 + odd + ~joined)

    def _reaches(self, node: Any, other: Any) -> Any:
        half = node // 2
        is_even = node % 2 == 0
        return is_even & (half <= other) & (other <= half + self.largest)

    def _degree(self, i: Any) -> Any:
        top = self.largest
        half = i // 2
        lowest = np.maximum(0, i - top)
        highest = np.minimum(top, i)
        # An even node 2b reaches b … b + v, and the 2b' that reach it; nodes in both count once.
        both = (
            np.minimum(highest, (half + top) // 2)
            - np.maximum(lowest, -(-half // 2))
            + 1
        )
        count = highest - lowest + 1
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
        both_even = (i % 2 == 0) & (j % 2 == 0)
        near = both_even | (abs(i - j) <= self.largest)
        return np.where(i == j, 0, np.where(near, 1, 2))

    def _degree(self, i: Any) -> Any:
        least = np.maximum(0, i - self.largest)
        most = np.minimum(self.size - 1, i + self.largest)
        # Odd nodes within v; an even node is adjacent to all v other even ones as well.
        odd = (most + 1) // 2 - least // 2
        return np.where(i % 2 == 0, self.largest + odd, most - least)
