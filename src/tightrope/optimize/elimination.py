r"""Where elimination on a graph leaves entries: its order, and the blocks that share rows.

A symmetric matrix with the pattern of a graph has a factor L with further entries, the *fill*:
eliminating a node joins all of its neighbours that come later [D. Rose, 1970]. How many they are
depends on the order. Rows of L' are taken some at a time, as a block, with all nodes behind the
block that any of them reaches: then nearly all work is products of dense matrices.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.optimize.problem import Ints, Problem

#: Rows of a block. With more of them small graphs have too many zeros in their blocks.
BLOCK = 8


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of the nodes, and the fill that it leads to.

    Parameters
    ----------
    order
        The nodes as they are eliminated.
    behind
        For each block the nodes behind it that its rows reach, by their places in the order.
    mirrored
        For each block the nodes behind it that it or an earlier block reaches.
    ends
        For each row where its entries in its block end, and how many of the nodes behind it they
        go on to.
    """

    order: Ints
    behind: list[Ints]
    mirrored: list[Ints]
    ends: Ints

    @classmethod
    def of(cls, problem: Problem, order: Ints) -> Elimination:
        """Find the fill of an order."""
        place = np.argsort(order)
        reach: list[set[int]] = [set() for _ in order]
        for i, j in np.sort(place[problem.edges], axis=1).tolist():
            reach[i].add(j)
        # Eliminating a node joins its later neighbours; it is enough to tell the first of them.
        for later in reach:
            if later:
                heir = min(later)
                reach[heir] |= later - {heir}
        behind = list[Ints]()
        mirrored = list[Ints]()
        ends = list[tuple[int, int]]()
        known = set[int]()
        for begin in range(0, len(order), BLOCK):
            stop = begin + BLOCK
            own = set().union(*reach[begin:stop])
            known |= own
            for into, places in ((behind, own), (mirrored, known)):
                later_places = sorted(j for j in places if j >= stop)
                into.append(np.array(later_places, np.int64))
            for i, later in enumerate(reach[begin:stop], begin):
                # Loops over a row stop behind its last entry, in the block and behind it.
                near = max((j for j in later if j < stop), default=i) + 1
                last = max(later, default=0)
                far = np.searchsorted(behind[-1], [last], "right")
                ends.append((near, int(far[0])))
        return cls(order, behind, mirrored, np.array(ends))

    @property
    def work(self) -> int:
        """The number of entries behind all blocks."""
        return BLOCK * sum(map(len, self.behind))

    @functools.cached_property
    def fill(self) -> Any:
        """The blocks for compiled loops: their size, ends, where lists begin, and the lists."""
        lists = []
        for listed in (self.behind, self.mirrored):
            starts = np.cumsum([0, *map(len, listed)])
            lists += [starts, np.concatenate(listed)]
        return BLOCK, np.ascontiguousarray(self.ends.T), *lists


def elimination(problem: Problem) -> Elimination:
    """Return the better of two orders: as nodes are listed, and by breadth-first search.

    The latter is that of [E. Cuthill and J. McKee, 1969].

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> order = elimination(Problem(Cycle(40), Epsilon.of(1), np.ones((40, 1))))
    >>> [len(nodes) for nodes in order.behind]
    [2, 2, 2, 2, 0]
    """
    known = problem.__dict__.get("_elimination")
    if known is None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        n = problem.size
        i, j, _ = problem.ways
        joined = csr_array((np.ones(len(i)), (i, j)), (n, n))
        near = reverse_cuthill_mckee(joined, True)
        orders = np.arange(n), near.astype(np.int64)
        fills = [Elimination.of(problem, order) for order in orders]
        known = min(fills, key=lambda fill: fill.work)
        # Kept with the problem, whose graph never changes.
        problem.__dict__["_elimination"] = known
    return known
