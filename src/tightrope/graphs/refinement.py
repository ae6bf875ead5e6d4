r"""Colour refinement with 64-bit hashes.

A node's new colour is a hash of its colour and of the multiset of the (kind, colour) of its
arcs. Colours that differ prove that no automorphism maps one node to the other; colours that
agree, even by an accident of the hash, prove nothing and only leave more to search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TooLarge
from tightrope.graphs.coloured import ColouredGraph

#: Largest number of arcs looked at in one search (a few minutes) before it is given up.
SEARCH_WORK = 5_000_000_000

Hashes = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def scramble(values: Hashes) -> Hashes:
    """Return hashes of 64-bit numbers: a bijection without visible pattern.

    Examples
    --------
    >>> len(np.unique(scramble(np.arange(1000, dtype=np.uint64))))
    1000
    """
    x = values + _ODD
    x ^= x >> np.uint64(30)
    x *= _FIRST
    x ^= x >> np.uint64(27)
    x *= _SECOND
    x ^= x >> np.uint64(31)
    return x


class Refinement:
    """Refines colourings of one graph and counts the work.

    Parameters
    ----------
    graph
        The coloured graph.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.graphs.coloured import coloured_graph
    >>> refinement = Refinement(coloured_graph(PathPower(5)))
    >>> colours, trace = refinement.refine(refinement.start)
    >>> len(np.unique(colours)), bool(colours[0] == colours[4])
    (3, True)
    """

    def __init__(self, graph: ColouredGraph) -> None:
        self._ends = graph.ends
        self._kinds = scramble(scramble(graph.kinds.astype(np.uint64)))
        self._full = np.flatnonzero(np.diff(graph.starts))
        self._starts = graph.starts[self._full]
        self.start = scramble(graph.colours.astype(np.uint64))
        self.work = 0

    def _round(self, colours: Hashes) -> Hashes:
        self.work += len(self._ends) + len(colours)
        if self.work > SEARCH_WORK:
            raise TooLarge(
                f"the search for automorphisms was given up after {SEARCH_WORK} steps: "
                "this graph is one of the hard ones"
            )
        sums = np.zeros(len(colours), np.uint64)
        if len(self._full):
            seen = scramble(colours[self._ends] ^ self._kinds)
            sums[self._full] = np.add.reduceat(seen, self._starts)
        return scramble(colours * _FIRST + sums)

    def refine(self, colours: Hashes) -> tuple[Hashes, list[np.uint64]]:
        """Return the stable colouring and, for each round, a hash of all colours together."""
        trace: list[np.uint64] = []
        count, before = len(np.unique(colours)), 0
        while count > before and count < len(colours):
            colours = self._round(colours)
            trace.append(colours.sum())
            before, count = count, len(np.unique(colours))
        return colours, trace

    def follow(self, colours: Hashes, trace: list[np.uint64]) -> Hashes | None:
        """Refine round by round; ``None`` as soon as a round differs from the trace."""
        for expected in trace:
            colours = self._round(colours)
            if colours.sum() != expected:
                return None
        return colours


def individualised(colours: Hashes, node: int) -> Hashes:
    """Return the colouring in which one node has a colour of its own.

    Examples
    --------
    >>> len(np.unique(individualised(np.zeros(4, np.uint64), 2)))
    2
    """
    out = colours.copy()
    out[node] = scramble(out[node : node + 1] ^ _SECOND)[0]
    return out
