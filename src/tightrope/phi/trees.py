r"""Φ of trees: the covariance of a Markov field, so its inverse is sparse.

.. math:: (1-\alpha^2)\,\Phi^{-1} = I + \alpha^2(\mathrm{Deg} - I) - \alpha A

where :math:`A` is the adjacency matrix and :math:`\mathrm{Deg}` the degrees. In particular
:math:`z_j = (1-(\deg_j-1)\alpha)/(1+\alpha)` solves :math:`\Phi z = 1`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import AnswerGraph
from tightrope.phi.structure import Alpha, Structure


class TreeStructure(Structure):
    """A tree with edges of length 1; every product and solution is linear in its size.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Star
    >>> TreeStructure(Star(3)).solve(0.25, np.ones(4)).tolist()
    [0.4, 0.8, 0.8, 0.8]
    """

    words = "closed form (tree)"

    def __init__(self, graph: AnswerGraph) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        self.size = graph.size
        ends = graph.edge_array()
        both = np.concatenate([ends, ends[:, ::-1]])
        shape = (graph.size, graph.size)
        self._adjacency = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)
        self._degrees = np.bincount(both[:, 0], minlength=graph.size)
        order, parent = breadth_first_order(self._adjacency, 0, directed=False)
        depth = np.zeros(graph.size, np.int64)
        for node in order[1:]:
            depth[node] = depth[parent[node]] + 1
        starts = np.searchsorted(depth[order], np.arange(1, depth.max() + 2))
        self._levels = [order[a:b] for a, b in itertools.pairwise(starts)]
        self._parent = parent

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by one sweep to the root and one away from it."""
        rate = x.dtype.type(alpha)
        below = x.copy()
        for level in reversed(self._levels):
            np.add.at(below, self._parent[level], rate * below[level])
        out = below
        for level in self._levels:
            out[level] = rate * out[self._parent[level]] + (1 - rate**2) * out[level]
        return out

    def reach(self, alpha: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return :math:`\max_i x_i \alpha^{d(i,j)}` for every j, by the same two sweeps."""
        out = x.copy()
        for level in reversed(self._levels):
            np.maximum.at(out, self._parent[level], alpha * out[level])
        for level in self._levels:
            out[level] = np.maximum(out[level], alpha * out[self._parent[level]])
        return out

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Multiply by the sparse inverse."""
        b = np.asarray(b, np.float64)
        weight = 1 + alpha**2 * (self._degrees - 1)
        return np.asarray(
            (weight.reshape(-1, *[1] * (b.ndim - 1)) * b - alpha * (self._adjacency @ b))
            / (1 - alpha**2)
        )

    def inverse_norm(self, alpha: float) -> float:
        """Return the largest sum of absolute values in a row of the sparse inverse."""
        top = int(self._degrees.max())
        return (1 + alpha**2 * (top - 1) + alpha * top) / (1 - alpha**2)
