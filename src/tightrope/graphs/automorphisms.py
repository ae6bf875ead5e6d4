"""The automorphisms of a graph, exactly: generators, order and orbits.

First the easy symmetry is folded away (twins, hanging trees). On the core, nodes are given
colours of their own one after the other until refinement tells all of them apart; this *base*
makes a chain of stabilisers. From the last base node back to the first, a search with
refinement decides for every candidate whether some automorphism moves the base node there and
keeps all earlier ones. What is found is checked arc by arc; what is not found is excluded by
colours that differ. So the generators generate the whole group.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.errors import CheckFailed, TooLarge
from tightrope.graphs.base import MATRIX_LIMIT, AnswerGraph, frozen
from tightrope.graphs.collapse import collapse
from tightrope.graphs.coloured import ColouredGraph, Moves, coloured_graph
from tightrope.graphs.refinement import Hashes, Refinement, individualised

#: Largest number of entries for which all generators are written out.
GENERATOR_ENTRIES = 50_000_000


@dataclass(frozen=True)
class AutomorphismGroup:
    """A group of permutations of the nodes, given by generators.

    Parameters
    ----------
    size
        The number of nodes.
    order
        The number of automorphisms, exactly.
    moves
        The generators, each as the nodes it moves and where it moves them.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> group = automorphism_group(Cycle(5))
    >>> group.order, group.orbits.tolist(), group.is_transitive
    (10, [0, 0, 0, 0, 0], True)
    """

    size: int
    order: int
    moves: tuple[Moves, ...]

    @functools.cached_property
    def generators(self) -> NDArray[np.int64]:
        """The generators as rows: row g moves node i to ``generators[g, i]``."""
        if len(self.moves) * self.size > GENERATOR_ENTRIES:
            raise TooLarge(
                f"{len(self.moves)} generators of {self.size} nodes would hold more than "
                f"{GENERATOR_ENTRIES} entries: use moves"
            )
        rows = np.tile(np.arange(self.size), (len(self.moves), 1))
        for row, (moved, image) in zip(rows, self.moves, strict=True):
            row[moved] = image
        return frozen(rows)

    @functools.cached_property
    def orbits(self) -> NDArray[np.int64]:
        """For each node, the number of its orbit; orbits are numbered by their first node."""
        sets = _Sets(self.size)
        for moved, image in self.moves:
            sets.join_all(moved, image)
        return frozen(_numbered([sets.find(i) for i in range(self.size)]))

    @property
    def orbit_count(self) -> int:
        """The number of orbits on nodes."""
        return int(self.orbits.max()) + 1

    @property
    def is_transitive(self) -> bool:
        """Whether every node can be moved to every other."""
        return self.orbit_count == 1


def automorphism_group(
    graph: AnswerGraph,
    node_colours: ArrayLike | Sequence[Any] | None = None,
    pair_colours: ArrayLike | None = None,
) -> AutomorphismGroup:
    r"""Return the group of all automorphisms that keep edges, lengths and colours.

    An automorphism is a bijection :math:`\sigma` of the nodes with
    :math:`i \sim h \iff \sigma(i) \sim \sigma(h)` [B, Def 4]. With a prior as ``node_colours``
    and a loss as ``pair_colours`` it also keeps :math:`\pi_i = \pi_{\sigma(i)}` and
    :math:`\ell(i,k) = \ell(\sigma(i),\sigma(k))`.

    Parameters
    ----------
    graph
        A graph of at most ``SEARCH_NODES`` nodes.
    node_colours
        One value for each node, compared exactly.
    pair_colours
        An n × n matrix, compared exactly; it need not be symmetric.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique
    >>> automorphism_group(CartesianProduct([Clique(2)] * 4)).order
    384
    >>> automorphism_group(PathPower(5), node_colours=[0.1, 0.2, 0.3, 0.2, 0.2]).order
    1
    """
    whole = coloured_graph(graph, node_colours, pair_colours)
    folded = collapse(whole)
    search = _Search(folded.core)
    order = folded.order * search.group_order()
    moves = [*folded.moves, *(_lifted(p, folded.blocks) for p in search.found)]
    for found in moves:
        if not whole.keeps(found):
            raise CheckFailed("a generator does not keep the graph: please report this defect")
        for part in found:
            frozen(part)
    return AutomorphismGroup(graph.size, order, tuple(moves))


def acts_transitively(graph: AnswerGraph) -> bool:
    """Whether some automorphism moves any node to any other, decided by search [B, Def 4].

    Stops at the first node that is out of reach, and never looks for the whole group.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Cycle
    >>> acts_transitively(Cycle(6).explicit()), acts_transitively(PathPower(6).explicit())
    (True, False)
    """
    if graph.min_degree != graph.max_degree:
        return False
    # In a regular graph nothing but twins is folded, and twins can always be swapped.
    return _Search(collapse(coloured_graph(graph)).core).is_transitive()


def pair_orbits(group: AutomorphismGroup) -> NDArray[np.int64]:
    r"""Return the orbits on ordered pairs: entry (i, o) is the number of the pair's orbit.

    The group moves the pair (i, o) to :math:`(\sigma(i), \sigma(o))`. For a prior and a loss
    that it keeps, some optimal mechanism is constant on these orbits.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> pair_orbits(automorphism_group(Cycle(4)))
    array([[0, 1, 2, 1],
           [1, 0, 1, 2],
           [2, 1, 0, 1],
           [1, 2, 1, 0]])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = group.size
    if size > MATRIX_LIMIT // 2:
        raise TooLarge(f"orbits of pairs are numbered up to {MATRIX_LIMIT // 2} nodes, got {size}")
    label = np.arange(size * size).reshape(size, size)
    for moved, image in group.moves:
        where = np.arange(size)
        where[moved] = image
        there = label[np.ix_(where, where)]
        differ = label != there
        count = int(label.max()) + 1
        joins = csr_array(
            (np.ones(int(differ.sum()), bool), (label[differ], there[differ])),
            shape=(count, count),
        )
        label = connected_components(joins, directed=False)[1][label]
    return frozen(_numbered(label.ravel().tolist()).reshape(size, size))


def _lifted(permutation: NDArray[np.int64], blocks: list[list[int]]) -> Moves:
    """Turn a permutation of core nodes into moves of the nodes they stand for."""
    changed = np.flatnonzero(permutation != np.arange(len(permutation)))
    moved = [x for i in changed for x in blocks[i]]
    image = [x for i in changed for x in blocks[permutation[i]]]
    return np.array(moved, np.int64), np.array(image, np.int64)


def _numbered(labels: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers for labels, in the order in which they first occur."""
    number: dict[int, int] = {}
    return np.array([number.setdefault(label, len(number)) for label in labels], np.int64)


class _Sets:
    """Disjoint sets of nodes that only ever grow together."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, i: int) -> int:
        parent = self._parent
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    def join_all(self, ones: NDArray[np.int64], others: NDArray[np.int64]) -> None:
        for i, j in zip(ones.tolist(), others.tolist(), strict=True):
            a, b = self.find(i), self.find(j)
            if a != b:
                self._parent[max(a, b)] = min(a, b)


@dataclass(frozen=True)
class _Level:
    """One base node: the colouring before it, its cell, and what refinement did after it."""

    colours: Hashes
    cell: np.uint64
    node: int
    trace: list[np.uint64]
    after: Hashes
    order_after: NDArray[np.int64]


class _Search:
    """Individualisation and refinement on the core of a graph."""

    def __init__(self, graph: ColouredGraph) -> None:
        self._graph = graph
        self._refinement = Refinement(graph)
        self._sets = _Sets(graph.size)
        self.found: list[NDArray[np.int64]] = []

    @functools.cached_property
    def _start(self) -> Hashes:
        return self._refinement.refine(self._refinement.start)[0]

    @functools.cached_property
    def _base(self) -> list[_Level]:
        colours = self._start
        before = np.full(self._graph.size, self._graph.size)
        levels: list[_Level] = []
        while True:
            values, cell, counts = np.unique(colours, return_inverse=True, return_counts=True)
            if len(values) == self._graph.size:
                return levels
            if len(levels) > self._graph.size:
                raise TooLarge("the search for automorphisms was given up: colours collide")
            sizes = counts[cell]
            # Cells that the last step has split come first: what hangs together stays together
            # in the base, so that an automorphism of one part is seen before the others are cut.
            fresh = (sizes > 1) & (sizes < before)
            choice = np.flatnonzero(fresh if fresh.any() else sizes > 1)
            node = int(choice[np.lexsort((cell[choice], sizes[choice]))[0]])
            after, trace = self._refinement.refine(individualised(colours, node))
            levels.append(_Level(colours, colours[node], node, trace, after, _order(after)))
            colours, before = after, sizes

    def group_order(self) -> int:
        """Find generators from the last base node back; return the order of the group."""
        order = 1
        for depth in range(len(self._base) - 1, -1, -1):
            order *= self._orbit_size(depth)
        return order

    def is_transitive(self) -> bool:
        """Whether the first base node can be moved to every other node."""
        size = self._graph.size
        if len(np.unique(self._start)) > 1:
            return False
        return size == 1 or self._orbit_size(0, needed=size) == size

    def _orbit_size(self, depth: int, needed: int = 0) -> int:
        """Return the size of the orbit of a base node while all earlier ones stay."""
        level, sets = self._base[depth], self._sets
        cell = np.flatnonzero(level.colours == level.cell).tolist()
        out_of_reach: list[int] = []
        for node in cell:
            reached = sets.find(node)
            if reached == sets.find(level.node):
                continue
            if reached in {sets.find(i) for i in out_of_reach}:
                continue
            permutation = self._automorphism(depth, node)
            if permutation is not None:
                self.found.append(permutation)
                sets.join_all(np.arange(self._graph.size), permutation)
            elif needed:
                return 0
            else:
                out_of_reach.append(node)
        home = sets.find(level.node)
        return sum(sets.find(node) == home for node in cell)

    def _automorphism(self, depth: int, node: int) -> NDArray[np.int64] | None:
        """Search for an automorphism that keeps the earlier base nodes and moves this one."""
        tries: list[tuple[Hashes, Iterator[int]]] = [
            (self._base[depth].colours, iter([node])),
        ]
        while tries:
            colours, candidates = tries[-1]
            level = self._base[depth + len(tries) - 1]
            candidate = next(candidates, None)
            if candidate is None:
                tries.pop()
                continue
            other = self._refinement.follow(individualised(colours, candidate), level.trace)
            if other is None:
                continue
            order = _order(other)
            if not np.array_equal(other[order], level.after[level.order_after]):
                continue
            # Cell to cell in node order: right wherever cells are single or the same set.
            permutation = np.empty(self._graph.size, np.int64)
            permutation[level.order_after] = order
            moved = np.flatnonzero(permutation != np.arange(self._graph.size))
            if self._graph.keeps((moved, permutation[moved])):
                return permutation
            deeper = depth + len(tries)
            if deeper < len(self._base):
                below = self._base[deeper]
                cell = np.flatnonzero(other == below.cell)
                likely = permutation[below.node]
                tries.append((other, iter([int(likely), *map(int, cell[cell != likely])])))
        return None


def _order(colours: Hashes) -> NDArray[np.int64]:
    return np.argsort(colours, kind="stable")
