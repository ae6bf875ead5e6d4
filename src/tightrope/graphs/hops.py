"""Shortest paths in a listed graph: one row, all rows, and the largest distance."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from tightrope.graphs.base import frozen

#: All nodes are flooded at once where a node reaches every other within this number of steps.
FLOOD_REACH = 40


def distance_row(adjacency: csr_array, start: int, lengths: bool) -> NDArray[Any]:
    """Return the distances from one node: integers unless edges carry lengths.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> distance_row(Cycle(5).explicit().adjacency, 0, lengths=False)
    array([0, 1, 2, 2, 1])
    """
    # The adjacency is symmetric: as a directed graph it gives the same paths in half the time.
    row = dijkstra(adjacency, directed=True, indices=start, unweighted=not lengths)
    return frozen(row if lengths else row.astype(np.int64))


def all_distances(adjacency: csr_array, lengths: bool) -> NDArray[Any]:
    """Return the distances between every two nodes.

    Without lengths all nodes are flooded at once: the balls of radius d+1 are unions of balls
    of radius d, held as bits, eight nodes in a byte.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> all_distances(Cycle(4).explicit().adjacency, lengths=False)[1]
    array([1, 0, 1, 2])
    """
    reach = 0 if lengths else int(distance_row(adjacency, 0, False).max())
    if lengths or reach > FLOOD_REACH:
        matrix = dijkstra(adjacency, directed=True, unweighted=not lengths)
        return frozen(matrix if lengths else matrix.astype(np.int64))
    return frozen(_flood(adjacency))


def _flood(adjacency: csr_array) -> NDArray[np.int64]:
    size = adjacency.shape[0]
    ball = np.zeros((size, -(-size // 64) * 8), np.uint8)
    ball[:, : -(-size // 8)] = np.packbits(np.eye(size, dtype=bool), axis=1)
    distances = np.zeros((size, size), np.int64)
    steps = 0
    while True:
        grown = ball.copy()
        words, wide = ball.view(np.uint64), grown.view(np.uint64)
        for block in _row_blocks(adjacency, ball.shape[1]):
            ends = adjacency.indices[adjacency.indptr[block.start] : adjacency.indptr[block.stop]]
            starts = adjacency.indptr[block.start : block.stop] - adjacency.indptr[block.start]
            # A node of a connected graph has a neighbour, unless it is the only one.
            if len(ends):
                wide[block] |= np.bitwise_or.reduceat(words[ends], starts, axis=0)
        fresh: NDArray[np.uint8] = np.bitwise_xor(grown, ball)
        rows, columns = np.nonzero(fresh)
        if not len(rows):
            return distances
        steps += 1
        place, bit = np.nonzero(np.unpackbits(fresh[rows, columns][:, None], axis=1))
        distances[rows[place], 8 * columns[place] + bit] = steps
        ball = grown


def _row_blocks(adjacency: csr_array, width: int) -> list[slice]:
    """Cut the rows so that the gathered balls of one block stay near 64 MB."""
    most = max(1, (1 << 26) // max(1, width))
    cuts, size = [0], adjacency.shape[0]
    while cuts[-1] < size:
        reach = int(np.searchsorted(adjacency.indptr, adjacency.indptr[cuts[-1]] + most, "right"))
        cuts.append(min(size, max(cuts[-1] + 1, reach - 1)))
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def largest_distance(adjacency: csr_array, lengths: bool) -> float:
    """Return the diameter, by searches only from nodes that could still be an end of it.

    A search from x bounds the reach of every node y: ``ecc(y) ≤ ecc(x) + d(x, y)``.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> largest_distance(PathPower(100).explicit().adjacency, lengths=False)
    99
    """
    size = adjacency.shape[0]
    reach = np.full(size, np.inf)
    best, node = 0.0, 0
    while True:
        row = distance_row(adjacency, node, lengths)
        best = max(best, float(row.max()))
        reach = np.minimum(reach, row.max() + row)
        reach[node] = 0
        open_ = np.flatnonzero(reach > best)
        if not len(open_):
            return best if lengths else int(best)
        # The far end of the last search first: on trees the second search already decides.
        far = int(open_[row[open_].argmax()])
        widest = int(open_[reach[open_].argmax()])
        node = far if row[far] == row.max() else widest
