"""Taking the easy symmetry out of a graph: hanging trees and twins.

Twins (nodes that look the same from everywhere else) can be permuted at will, and a tree that
hangs from a node has the automorphisms of a rooted tree. Both are replaced by a colour, again
and again, until a core is left that has neither. Cliques, stars, trees, complete multipartite
graphs and everything built from them by these steps are solved here without any search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tightrope.graphs.coloured import ColouredGraph, Moves
from tightrope.graphs.refinement import scramble


@dataclass(frozen=True)
class Collapsed:
    """A core and what was folded into it.

    Parameters
    ----------
    core
        The graph that is left.
    blocks
        For each core node, the original nodes it stands for. Blocks of the same colour are
        isomorphic, position by position.
    moves
        Generators of the automorphisms that fix every block.
    order
        How many of those there are.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.graphs.coloured import coloured_graph
    >>> folded = collapse(coloured_graph(Star(4)))
    >>> folded.core.size, folded.order, folded.blocks
    (1, 24, [[0, 1, 2, 3, 4]])
    """

    core: ColouredGraph
    blocks: list[list[int]]
    moves: list[Moves]
    order: int


def collapse(graph: ColouredGraph) -> Collapsed:
    """Fold hanging trees and twins until none is left.

    Examples
    --------
    >>> from tightrope.graphs import Clique, Cycle
    >>> from tightrope.graphs.coloured import coloured_graph
    >>> collapse(coloured_graph(Clique(5))).order, collapse(coloured_graph(Cycle(5))).order
    (120, 1)
    """
    fold = _Fold(graph)
    while fold.trees() or fold.twins(adjacent=False) or fold.twins(adjacent=True):
        pass
    return Collapsed(fold.graph, fold.blocks, fold.moves, fold.order)


class _Fold:
    """The state of folding: the graph so far, with everything already folded into its nodes."""

    def __init__(self, graph: ColouredGraph) -> None:
        self.graph = graph
        self.blocks = [[i] for i in range(graph.size)]
        self.moves: list[Moves] = []
        self.order = 1
        self._numbers: dict[Hashable, int] = {}
        self._first_free = int(graph.colours.max(initial=0)) + 1

    def _colour(self, look: Hashable) -> int:
        """Return one colour for each look, different from all colours in use."""
        return self._first_free + self._numbers.setdefault(look, len(self._numbers))

    def _permutable(self, blocks: Sequence[list[int]]) -> None:
        """Note that these isomorphic blocks can be permuted in every way."""
        self.order *= math.factorial(len(blocks))
        cycles = [blocks[:2]] if len(blocks) == 2 else [blocks[:2], blocks]
        for cycle in cycles:
            shifted = [*cycle[1:], cycle[0]]
            self.moves.append((_flat(cycle), _flat(shifted)))

    def _keep(self, nodes: NDArray[np.int64], colours: NDArray[np.int64]) -> None:
        self.graph = self.graph.restricted(nodes, colours[nodes])
        self.blocks = [self.blocks[i] for i in nodes]

    # -- trees ----------------------------------------------------------------------------

    def trees(self) -> bool:
        """Fold every leaf into its neighbour, layer by layer; say whether there was one."""
        graph = self.graph
        degree = np.diff(graph.starts)
        alive = np.ones(graph.size, bool)
        colours = graph.colours.copy()
        hanging: dict[int, list[tuple[int, int, int]]] = {}
        layer = [int(x) for x in np.flatnonzero(degree == 1)]
        while layer:
            found = []
            for leaf in layer:
                ends, kinds = graph.row(leaf)
                stem = int(ends[alive[ends]][0])
                if degree[stem] > 1:
                    kind = int(kinds[alive[ends]][0])
                    found.append((leaf, stem, kind))
            for leaf, stem, kind in found:
                colours[leaf] = self._grown(leaf, colours, hanging)
                hanging.setdefault(stem, []).append((int(colours[leaf]), kind, leaf))
                alive[leaf] = False
            for _, stem, _ in found:
                degree[stem] -= 1
            layer = sorted({stem for _, stem, _ in found if degree[stem] == 1})
        if alive.all():
            return False
        nodes = np.flatnonzero(alive)
        for node in nodes:
            colours[node] = self._grown(int(node), colours, hanging)
        self._keep(nodes, colours)
        return True

    def _grown(
        self,
        node: int,
        colours: NDArray[np.int64],
        hanging: dict[int, list[tuple[int, int, int]]],
    ) -> int:
        """Fold what hangs from a node into its block; return its new colour."""
        if node not in hanging:
            return int(colours[node])
        below = sorted(hanging[node])
        for _, alike in itertools.groupby(below, key=lambda item: item[:2]):
            blocks = [self.blocks[leaf] for *_, leaf in alike]
            if len(blocks) > 1:
                self._permutable(blocks)
        for *_, leaf in below:
            self.blocks[node] = self.blocks[node] + self.blocks[leaf]
        return self._colour(("tree", int(colours[node]), tuple(item[:2] for item in below)))

    # -- twins ----------------------------------------------------------------------------

    def twins(self, adjacent: bool) -> bool:
        """Fold twins of one sort into one node each; say whether there were any."""
        classes = list(self._adjacent_twins() if adjacent else self._distant_twins())
        if not classes:
            return False
        colours, alive = self.graph.colours.copy(), np.ones(self.graph.size, bool)
        for kind, members in classes:
            blocks = [self.blocks[i] for i in members]
            self._permutable(blocks)
            first = members[0]
            self.blocks[first] = list(itertools.chain.from_iterable(blocks))
            look = ("twins", kind, int(colours[first]), len(members))
            colours[first] = self._colour(look)
            alive[members[1:]] = False
        self._keep(np.flatnonzero(alive), colours)
        return True

    def _sums(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Hash every row as a sum over its arcs; return the parts as well."""
        graph = self.graph
        parts = scramble(scramble(graph.ends.astype(np.uint64)) ^ graph.kinds.astype(np.uint64))
        sums = np.zeros(graph.size, np.uint64)
        full = np.flatnonzero(np.diff(graph.starts))
        if len(full):
            sums[full] = np.add.reduceat(parts, graph.starts[full])
        return sums, parts

    def _distant_twins(self) -> Iterator[tuple[int, list[int]]]:
        """Yield classes of nodes with the same arcs, and none between them."""
        sums, _ = self._sums()
        keys = np.stack([sums, self.graph.colours.astype(np.uint64)], axis=1)
        _, group = np.unique(keys, axis=0, return_inverse=True)
        for members in _classes(group.ravel()):
            first = self.graph.row(members[0])
            alike = [i for i in members if _same(first, self.graph.row(i))]
            if len(alike) > 1:
                yield -1, alike

    def _adjacent_twins(self) -> Iterator[tuple[int, list[int]]]:
        """Yield classes of nodes with the same arcs but for those between them."""
        graph = self.graph
        sums, parts = self._sums()
        begin, end = graph.sources(), graph.ends
        back = np.lexsort((begin, end))  # place of the reverse of each arc
        alike = (
            (sums[begin] - parts == sums[end] - parts[back])
            & (graph.kinds == graph.kinds[back])
            & (graph.colours[begin] == graph.colours[end])
        )
        pairs = csr_array(
            (np.ones(int(alike.sum())), (begin[alike], end[alike])), shape=(graph.size,) * 2
        )
        for members in _classes(connected_components(pairs, directed=False)[1]):
            first = members[0]
            sure = [first, *(i for i in members[1:] if self._are_adjacent_twins(first, i))]
            if len(sure) > 1:
                ends, kinds = graph.row(first)
                yield int(kinds[ends == sure[1]][0]), sure

    def _are_adjacent_twins(self, i: int, j: int) -> bool:
        (ends, kinds), (others, other_kinds) = self.graph.row(i), self.graph.row(j)
        mine, theirs = ends != j, others != i
        if mine.all() or theirs.all() or kinds[~mine][0] != other_kinds[~theirs][0]:
            return False
        return _same((ends[mine], kinds[mine]), (others[theirs], other_kinds[theirs]))


def _classes(group: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield the members of every group with more than one."""
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    for members in np.split(order, cuts):
        if len(members) > 1:
            yield [int(i) for i in members]


def _same(
    one: tuple[NDArray[np.int64], NDArray[np.int64]],
    other: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> bool:
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def _flat(blocks: Sequence[list[int]]) -> NDArray[np.int64]:
    return np.fromiter(itertools.chain.from_iterable(blocks), np.int64)
