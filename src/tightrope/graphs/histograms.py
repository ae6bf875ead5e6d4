r"""Histograms: how many people fall into each class, with distances in closed form.

A histogram of n people in m classes is a vector of non-negative integers with sum n. When the
number of people is not fixed, the absent ones are one more class that labels do not show.
Nodes are numbered in lexicographic order; with r people left for the classes that follow,
:math:`\binom{r+m-1}{m-1}` counts the ways to fill them, so ranking needs no table.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import partial
from math import comb
from typing import Any

import numpy as np

from tightrope.arrays import LIMITS, AnyArray, GraphRule, Ints, IntTuple
from tightrope.errors import whole_number
from tightrope.graphs.base import AnswerGraph, BoxEmbedding, box_rule, check_written
from tightrope.graphs.unbounded import NoiseLattice


class HistogramGraph(AnswerGraph):
    """What the graphs of histograms share: numbering, labels and the table of vectors."""

    def __init__(
        self, people: int, classes: int, absent: bool, name: str | None
    ) -> None:
        self.people = whole_number(people, "the number of people")
        self.classes = whole_number(classes, "the number of classes")
        self.name = name or f"histogram({people},{classes})"
        self._bins = bins = self.classes + int(bool(absent))
        small, large = sorted((self.people, bins))
        # C(n + k, k) ≤ (e (n + k) / k)^k bounds the digits of the number of histograms.
        base = (large + small) / small * math.e
        digits = small * math.log10(base)
        check_written(digits, 1, self.name)
        free = bins - 1
        self.size = comb(self.people + free, free)

    # -- numbering ------------------------------------------------------------------------

    def vector(self, i: int) -> IntTuple:
        """Return the counts of a node, the absent people (if any) as the last one."""
        self._check_node(i)
        # Lexicographic order: the first count is the largest one that leaves at most ``rest``
        # histograms before it, and so on for the next class.
        rest = int(i)
        left = self.people
        counts = []
        for behind in range(self._bins - 1, 0, -1):
            ways = comb(left + behind, behind)
            smaller = partial(_smaller_first, ways, left, behind)
            # The number of smaller histograms rises with the count, so bisection finds it.
            choices = range(left + 1)
            count = bisect_right(choices, rest, key=smaller) - 1
            rest -= smaller(count)
            left -= count
            counts.append(count)
        return (*counts, left)

    def node(self, vector: Sequence[int]) -> int:
        """Return the node with these counts, the absent people (if any) as the last one."""
        number = 0
        left = self.people
        bins_behind = range(self._bins - 1, 0, -1)
        for behind, count in zip(bins_behind, vector, strict=False):
            # The rank: histograms that agree so far and have less here come first.
            number += _smaller_first(
                comb(left + behind, behind), left, behind, int(count)
            )
            left -= int(count)
        return number

    @property
    def label_rule(self) -> GraphRule:
        """The number of people and of classes, and whether people may be absent."""
        return "histograms", self.people, self.classes, self._bins

    def label(self, i: int) -> IntTuple:
        """Return the tuple of counts, one for each class."""
        return self.vector(i)[: self.classes]

    def _place(self, label: Any) -> int:
        return self.node(label)

    @functools.cached_property
    def vectors(self) -> Ints:
        """All vectors in node order."""
        self._check_length(self.size * self._bins, "the table of histograms")
        # Every prefix is repeated for each count that the people left allow next.
        left = np.array([self.people])
        columns = list[Ints]()
        for _ in range(self._bins - 1):
            ways = left + 1
            first = np.repeat(np.cumsum(ways) - ways, ways)
            count = np.arange(ways.sum()) - first
            columns = [np.repeat(column, ways) for column in columns]
            columns.append(count)
            left = np.repeat(left, ways) - count
        return np.stack([*columns, left], axis=1)

    @property
    def depths(self) -> Ints:
        """The people of each class, and those of the hidden class where there is one."""
        shown = self.vectors[:, : self.classes, None]
        hidden = np.broadcast_to(
            self.vectors[:, None, self.classes :],
            (*shown.shape[:2], self._bins - self.classes),
        )
        return np.concatenate([shown, hidden], axis=2)

    # -- distances ------------------------------------------------------------------------

    @abstractmethod
    def _apart(self, gaps: Ints) -> Any:
        """Return the distance for differences of vectors."""

    def _rows(self, i: Any) -> Ints:
        """Return the vector of a node, or all vectors for the array of all nodes."""
        return np.array(self.vector(i)) if isinstance(i, int) else self.vectors

    def _far(self, i: int, j: Any) -> Any:
        return self._apart(self._rows(j) - self._rows(i))

    # -- moves: one person goes from one class to another --------------------------------------

    @property
    @abstractmethod
    def _choices(self) -> Ints:
        """For each class, to how many others one of its people can move in one step."""

    @abstractmethod
    def _takers(self, give: int) -> Iterable[int]:
        """Return the classes to which people of a class can move."""

    def neighbours(self, i: int) -> Ints:
        """Return the histograms after one person moves."""
        here = self.vector(i)
        near = []
        for give in (k for k, count in enumerate(here) if count):
            for take in self._takers(give):
                moved = list(here)
                moved[give] -= 1
                moved[take] += 1
                near.append(self.node(moved))
        # Node numbers may exceed 64 bits: such arrays hold Python integers.
        kind = np.int64 if self.size <= LIMITS.address else object
        return np.array(sorted(near), kind)

    def _degree(self, i: Any) -> Any:
        return (self._rows(i) > 0) @ self._choices

    @property
    def degree_range(self) -> tuple[int, int]:
        """The degrees with everybody in one class, and with as many filled as people allow."""
        # A filled class can give a person to each class it may move to.
        choices = np.sort(self._choices)
        least = int(choices[0])
        most = int(choices[-self.people :].sum())
        return least, most

    @property
    def edge_count(self) -> int:
        """Half the moves: in so many histograms there is somebody in a class."""
        # One person in the class, the other n - 1 anywhere: C(n - 1 + m - 1, m - 1).
        filled = comb(self.people + self._bins - 2, self._bins - 1)
        degrees = filled * int(self._choices.sum())
        return degrees // 2


class Histograms(HistogramGraph):
    r"""Histograms where one person changes class: :math:`d(x,y) = \frac12 \|x-y\|_1`.

    With ``absent`` the number of people is at most n and a person may also come or go; then
    :math:`d(x,y) = \max(\sum(x-y)^+, \sum(y-x)^+)`. This is the same graph with the absent
    people as one more class.

    Parameters
    ----------
    people
        The number n of people (at most, with ``absent``).
    classes
        The number of classes.
    absent
        Whether people may be absent.
    name
        Text that describes the graph.

    Examples
    --------
    >>> graph = Histograms(10, 3)
    >>> graph.size, graph.edge_count, graph.distance(graph.index((9, 1, 0)), graph.index((4, 3, 3)))
    (66, 165, 5)
    >>> Histograms(2, 2, absent=True).labels
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    """

    def __init__(
        self,
        people: int,
        classes: int,
        *,
        absent: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(people, classes, absent, name)

    @property
    def rule(self) -> GraphRule:
        """The number of people and of classes; two classes are a path, one person a clique."""
        if self._bins <= 2 or self.people == 1:
            side = 1 if self._bins <= 2 else self.size
            return box_rule((self.size, side))
        return "histograms", self.people, self._bins

    @property
    def unbounded(self) -> NoiseLattice | None:
        """All whole numbers in the classes with one sum."""
        if self._bins == 1:
            return None
        return NoiseLattice(
            "roots", self._bins, self.people, hidden=self._bins > self.classes
        )

    def _apart(self, gaps: Ints) -> Any:
        # ½ ‖x − y‖₁: each move lowers one class and raises another.
        return np.abs(gaps).sum(axis=-1) // 2

    def lattice(self) -> BoxEmbedding | None:
        """Drop the last class, which the others determine."""
        box = (self.people + 1) ** (self._bins - 1)
        free = self._bins - 1
        if not 1 <= free <= 4 or box > 50 * self.size:
            return None
        shape = (self.people + 1,) * free
        return (
            shape,
            _moved_people,
            np.ravel_multi_index(tuple(self.vectors[:, :-1].T), shape),
        )

    @property
    def _choices(self) -> Ints:
        return np.full(self._bins, self._bins - 1)

    def _takers(self, give: int) -> Iterable[int]:
        return (take for take in range(self._bins) if take != give)

    @property
    def diameter(self) -> int:
        """Everybody moves."""
        return self.people if self._bins > 1 else 0


class AddRemoveHistograms(HistogramGraph):
    r"""Histograms of at most n people where one person comes or goes: :math:`d = \|x-y\|_1`.

    Examples
    --------
    >>> graph = AddRemoveHistograms(10, 3)
    >>> graph.size, graph.edge_count, graph.diameter
    (286, 660, 20)
    """

    #: Every edge changes the number of people by one, so all cycles are even.
    least_girth = 4

    def __init__(self, people: int, classes: int, *, name: str | None = None) -> None:
        super().__init__(people, classes, True, name)

    @property
    def rule(self) -> GraphRule:
        """The number of people and of classes; one class is a path, one person a star."""
        if self.classes == 1:
            return box_rule((self.size, 1))
        return (
            ("star", self.classes)
            if self.people == 1
            else ("sets", self.people, self.classes)
        )

    @property
    def unbounded(self) -> NoiseLattice:
        """All whole numbers in the classes."""
        return NoiseLattice("cross", self.classes, self.people)

    def _apart(self, gaps: Ints) -> Any:
        # ‖x − y‖₁ without the absent people.
        present = gaps[..., :-1]
        return np.abs(present).sum(axis=-1)

    @property
    def _choices(self) -> Ints:
        ones = [1] * self.classes
        return np.array([*ones, self.classes])

    def _takers(self, give: int) -> Iterable[int]:
        return range(self.classes) if give == self.classes else [self.classes]

    @property
    def diameter(self) -> int:
        """Everybody leaves and everybody comes; one class is a path."""
        return self.people * min(2, self.classes)


def _moved_people(gaps: Sequence[AnyArray]) -> Ints:
    """Return the distance of histograms from the differences in all classes but the last."""
    # max(Σ(x − y)⁺, Σ(y − x)⁺): the last class takes up the difference.
    rises = [np.maximum(gap, 0) for gap in gaps]
    falls = [np.maximum(-gap, 0) for gap in gaps]
    more = functools.reduce(np.add, rises)
    less = functools.reduce(np.add, falls)
    return np.asarray(np.maximum(more, less))


def _smaller_first(ways: int, left: int, behind: int, count: int) -> int:
    """Return how many of the ways to place the people left begin with less than a count."""
    # All ways, less those with at least ``count`` people in the first class.
    return ways - comb(left - count + behind, behind)
