r"""Cells: answers that see the same, so that :math:`\Phi z = 1` shrinks to one equation each.

A partition is *equitable* when every answer of cell A sees the same number of answers of cell B
at each distance. Averaging over cells then commutes with Φ, so from any non-negative solution
of :math:`\Phi z = 1` the averages are a non-negative solution too: the tight-constraints
mechanism exists iff it exists with z constant on the cells. Orbits of automorphisms are
equitable; the partition here is the coarsest one and may be coarser.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import AnswerGraph
from tightrope.phi.dense import _distances_by_code

#: Up to this many cells are eliminated here: on a busy machine the threads of a linear-algebra
#: library cost such small systems hundreds of times what they save.
PLAIN_ELIMINATION = 200
#: Largest number of answers whose cells are computed.
CELL_LIMIT = 2000


@dataclass(frozen=True)
class Cells:
    r"""An equitable partition and its counts.

    Parameters
    ----------
    label
        The cell of every answer.
    counts
        ``counts[k, A, B]``: answers of cell B at the k-th distance from an answer of cell A.
    lengths
        The different distances, increasing.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> cells = cells_of(Star(3))
    >>> cells.label.tolist(), cells.quotient(0.5).tolist()
    ([0, 1, 1, 1], [[1.0, 1.5], [0.5, 1.5]])
    """

    label: NDArray[np.int64]
    counts: NDArray[np.int64]
    lengths: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.counts.shape[1])

    def quotient(self, alpha: float) -> NDArray[np.float64]:
        r"""Return :math:`Q_{AB} = \sum_{b \in B} \alpha^{d(a,b)}` for any :math:`a \in A`."""
        powers = alpha**self.lengths
        flat: NDArray[np.float64] = np.einsum("k,kx->x", powers, self._flat)
        return flat.reshape(self.size, self.size)

    @functools.cached_property
    def _flat(self) -> NDArray[np.float64]:
        return self.counts.reshape(len(self.lengths), -1).astype(np.float64)

    def solve(self, alpha: float) -> NDArray[np.float64]:
        r"""Return the solution of :math:`Q\zeta = 1`, one entry for each cell."""
        rows = np.hstack([self.quotient(alpha), np.ones((self.size, 1))])
        if self.size > PLAIN_ELIMINATION:
            try:
                return np.asarray(np.linalg.solve(rows[:, :-1], rows[:, -1]))
            except np.linalg.LinAlgError:
                return np.full(self.size, -np.inf)
        return _eliminated(rows)


def _eliminated(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve a square system given with its right-hand side as the last column, with pivots."""
    size = len(rows)
    for k in range(size):
        pivot = k + int(np.abs(rows[k:, k]).argmax())
        if rows[pivot, k] == 0:
            return np.full(size, -np.inf)
        rows[[k, pivot]] = rows[[pivot, k]]
        factors = rows[k + 1 :, k] / rows[k, k]
        rows[k + 1 :, k:] -= factors[:, None] * rows[k, k:]
    out = np.empty(size)
    for k in range(size - 1, -1, -1):
        out[k] = (rows[k, -1] - (rows[k, k + 1 : -1] * out[k + 1 :]).sum()) / rows[k, k]
    return out


def single_cells(graph: AnswerGraph) -> Cells:
    """Return the partition in which every answer is its own cell.

    >>> from tightrope.graphs import PathPower
    >>> single_cells(PathPower(2)).quotient(0.5).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    lengths, code = _distances_by_code(graph.distance_matrix())
    layers = np.stack([(code == k).astype(np.int64) for k in range(len(lengths))])
    return Cells(np.arange(graph.size), layers, lengths)


@functools.lru_cache(maxsize=64)
def cells_of(graph: AnswerGraph) -> Cells:
    """Return the coarsest equitable partition of a graph's distances.

    >>> from tightrope.graphs import PathPower, StrongProduct, petersen
    >>> cells_of(petersen()).size, cells_of(PathPower(10)).size
    (1, 5)
    >>> cells_of(StrongProduct([PathPower(31), PathPower(31)])).size
    136
    """
    graph._check_matrix("the cells")
    lengths, code = _distances_by_code(graph.distance_matrix())
    label = np.zeros(graph.size, np.int64)
    count = 1
    random = np.random.default_rng(0)
    while True:
        # Sums of random words tell different views apart; equal ones are checked below.
        words = random.integers(1, 2**63, size=(len(lengths), count), dtype=np.uint64)
        view = np.zeros(graph.size, np.uint64)
        for j in range(graph.size):
            view += words[code[:, j], label[j]]
        _, label = np.unique(np.stack([label.astype(np.uint64), view]), axis=1, return_inverse=True)
        label = np.asarray(label).reshape(-1).astype(np.int64)
        if int(label.max()) + 1 == count:
            break
        count = int(label.max()) + 1
    first = np.unique(label, return_index=True)[1]
    # Cells are numbered by their first answer.
    order = np.argsort(np.argsort(first))
    label, first = order[label], np.sort(first)
    width = count * len(lengths)
    seen = np.stack(
        [np.bincount(code[i].astype(np.int64) * count + label, minlength=width) for i in first]
    )
    for i in range(graph.size):
        here = np.bincount(code[i].astype(np.int64) * count + label, minlength=width)
        if not np.array_equal(here, seen[label[i]]):
            raise AssertionError("two different views had the same sum of random words")
    counts = np.moveaxis(seen.reshape(count, len(lengths), count), 1, 0)
    label.flags.writeable = False
    return Cells(label, counts, lengths)
