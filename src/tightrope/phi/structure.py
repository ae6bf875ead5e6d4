r"""What a shape of graph knows about its own :math:`\Phi`.

:math:`\Phi_{ih} = \alpha^{d(i,h)}` [A, Def 4] is never written down where the graph has a rule:
a :class:`Structure` multiplies by it, solves with it, and bounds its inverse, at any
:math:`\alpha \in (0,1)`. Vectors may be ``float64`` or ``longdouble``; products keep the type.

Here are cliques, cycles, trees, Cartesian products and the matrix itself; sums and other lattices
have a file of their own.
"""

from __future__ import annotations

import functools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.linalg.lapack import dgecon
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph

#: One number α, in double or extended precision.
Alpha = float | np.longdouble


class Structure(ABC):
    r"""Multiply by :math:`\Phi`, solve with it and bound :math:`\|\Phi^{-1}\|_2`.

    Attributes
    ----------
    size
        The number of answers.
    words
        How systems are solved, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Clique
    >>> from tightrope.phi.structure import structure_of
    >>> clique = structure_of(Clique(3))
    >>> clique.apply(0.5, np.array([1.0, 0.0, 0.0])).tolist()
    [1.0, 0.5, 0.5]
    """

    size: int
    words: str
    #: Whether :math:`\Phi z = 1` on a few thousand answers is solved on cells more quickly.
    cells_are_quicker = True
    #: Whether the smallest entry of z costs the same however many answers there are.
    least_is_cheap = False

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` for one vector, or for every column of an array."""

    @abstractmethod
    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return :math:`x` with :math:`\Phi x \approx b`, in double precision."""

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        r"""Return the smallest entry of z with :math:`\Phi z = 1`, or any below ``enough``."""
        return float(self.solve(alpha, np.ones(self.size)).min())

    def is_singular(self, alpha: float) -> bool:
        """Whether elimination meets a pivot that is zero to working accuracy."""
        return False

    @abstractmethod
    def inverse_norm(self, alpha: float) -> float | None:
        r"""Return a proven upper bound on :math:`\|\Phi^{-1}\|_2`, or ``None``."""


class CycleStructure(Structure):
    """Answers on a ring: Φ is circulant.

    Examples
    --------
    >>> import numpy as np
    >>> CycleStructure(4).solve(0.5, np.ones(4)).round(6).tolist()
    [0.444444, 0.444444, 0.444444, 0.444444]
    """

    words = "closed form (circulant)"

    def _eigenvalues(self, alpha: Alpha, kind: Any) -> NDArray[Any]:
        gap = np.arange(self.size)
        row = kind(alpha) ** np.minimum(gap, self.size - gap)
        return np.asarray(fft.rfft(row).real)

    def _filter(self, x: NDArray[Any], spectrum: NDArray[Any]) -> NDArray[Any]:
        wave = fft.rfft(x, axis=0) * spectrum.reshape(-1, *[1] * (x.ndim - 1))
        return np.asarray(fft.irfft(wave, self.size, axis=0))

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by Fourier transforms."""
        return self._filter(x, self._eigenvalues(alpha, x.dtype.type))

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide by the eigenvalues."""
        return self._filter(b, 1 / self._eigenvalues(alpha, np.float64))

    def inverse_norm(self, alpha: float, rounding: float = 1e-13) -> float:
        """Return the inverse of the smallest eigenvalue, less what rounding may have added."""
        # Twice the distance on a cycle is that of a subgraph of a cube: Φ is positive definite.
        values = self._eigenvalues(alpha, np.float64)
        smallest = float(values.min() - rounding * values.max())
        return 1 / smallest if smallest > 0 else math.inf


class CliqueStructure(Structure):
    r"""Every two answers adjacent: :math:`\Phi = (1-\alpha)I + \alpha 11^\top`.

    Examples
    --------
    >>> import numpy as np
    >>> CliqueStructure(4).solve(0.5, np.ones(4)).round(12).tolist()
    [0.4, 0.4, 0.4, 0.4]
    """

    words = "closed form"

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`(1-\alpha)x + \alpha\sum x`."""
        rate = x.dtype.type(alpha)
        return np.asarray((1 - rate) * x + rate * x.sum(axis=0))

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Subtract the common part and divide by 1-α."""
        common = alpha / (1 + (self.size - 1) * alpha) * b.sum(axis=0)
        return np.asarray((b - common) / (1 - alpha))

    def inverse_norm(self, alpha: float) -> float:
        r"""Return :math:`1/(1-\alpha)`, the inverse of the smallest eigenvalue."""
        return 1 / (1 - alpha)


def structure_of(graph: AnswerGraph) -> Structure:
    """Return the cheapest structure that describes the graph.

    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique, StrongProduct
    >>> structure_of(PathPower(751, 5)).words
    'banded elimination'
    >>> structure_of(StrongProduct([PathPower(31)] * 3)).words
    'conjugate gradients on FFT products'
    >>> structure_of(CartesianProduct([Clique(4)] * 5)).words
    'factor by factor (closed form)'
    """
    if graph.box is not None and graph.is_clique:
        return CliqueStructure(graph.size)
    if graph.is_ring:
        return CycleStructure(graph.size)
    if graph.product == "cartesian":
        # Equal factors share one structure, and so one factorisation.
        return KroneckerStructure(list(map(functools.cache(structure_of), graph.factors)))
    from tightrope.phi.lattice import LatticeStructure, PathPowerStructure, PlaneStructure

    line = PathPowerStructure.of(graph)
    if line is None and graph.is_tree:
        return TreeStructure(graph)
    return line or PlaneStructure.of(graph) or LatticeStructure.of(graph) or DenseStructure(graph)


class DenseStructure(Structure):
    """The matrix Φ from all distances.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import ExplicitGraph
    >>> square = DenseStructure(ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0)]))
    >>> square.apply(0.5, np.array([1.0, 0, 0, 0])).tolist()
    [1.0, 0.5, 0.25, 0.5]
    """

    words = "dense elimination"
    #: Largest number of answers for which Φ is written down.
    limit = 6000
    #: Largest number of answers for which the inverse is bounded by an approximate inverse.
    verified_limit = 3000

    def __init__(self, graph: AnswerGraph) -> None:
        self.size = graph.size
        if graph.size > self.limit:
            raise TooLarge(
                f"Φ of {graph.name} has no rule and {graph.size} answers; "
                f"at most {self.limit} are written down as a matrix"
            )
        self.lengths, self._code = distances_by_code(graph.distance_matrix())

    def matrix(self, alpha: Alpha, kind: Any = np.float64) -> NDArray[Any]:
        """Return Φ as an array of the given kind of float."""
        return np.asarray((kind(alpha) ** self.lengths)[self._code])

    def apply(self, alpha: Alpha, x: NDArray[Any], block: int = 2_000_000) -> NDArray[Any]:
        r"""Return :math:`\Phi x`, in blocks of rows with so many entries."""
        powers = x.dtype.type(alpha) ** self.lengths
        step = max(1, block // self.size)
        blocks = [powers[self._code[a : a + step]] @ x for a in range(0, self.size, step)]
        return np.concatenate(blocks)

    @functools.lru_cache(maxsize=1)  # noqa: B019 - one factorisation, kept while α is the same
    def _factors(self, alpha: float) -> Any:
        with warnings.catch_warnings():
            # A singular Φ is found and dealt with by whoever looks at the residual.
            warnings.simplefilter("ignore", LinAlgWarning)
            return lu_factor(self.matrix(alpha), overwrite_a=True, check_finite=False)

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solve by elimination with pivots."""
        with np.errstate(all="ignore"):
            solved = lu_solve(self._factors(alpha), b, check_finite=False)
        return np.asarray(solved)

    def is_singular(self, alpha: float, condition: float = 1e-14) -> bool:
        """Whether the estimated reciprocal condition number leaves no digit."""
        factors, _ = self._factors(alpha)
        largest = float(self.matrix(alpha).sum(axis=0).max())
        return bool(dgecon(factors, largest, norm="1")[0] < condition)

    def inverse_norm(self, alpha: float) -> float | None:
        r"""Return :math:`\|R\|_\infty / (1 - \|I - R\Phi\|_\infty)` for an approximate inverse R.

        The residual :math:`I - R\Phi` is bounded together with the rounding of its own
        computation, so the bound is proven when it exists.
        """
        if self.size > self.verified_limit:
            return None
        phi = self.matrix(alpha)
        try:
            inverse = np.linalg.inv(phi)
        except np.linalg.LinAlgError:
            return None
        size, unit = self.size, np.finfo(np.float64).eps
        bound = float(np.abs(inverse).sum(axis=1).max())
        if not np.isfinite(bound):
            return None
        # Each product rounds by at most n units of |R||Φ|; Φ itself by two more units an entry.
        rounding = (size + 4) * unit * bound * float(phi.sum(axis=1).max())
        miss = np.abs(inverse @ phi - np.eye(size)).sum(axis=1).max() + rounding
        return bound / (1 - miss) if miss < 1 else None


def distances_by_code(distances: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the different distances and, for every pair, the place of its distance in them."""
    if np.issubdtype(distances.dtype, np.integer):
        small = distances.astype(np.uint16)
        return np.arange(int(distances.max()) + 1, dtype=np.float64), small
    lengths, code = np.unique(distances, return_inverse=True)
    return lengths, code.reshape(distances.shape)


class KroneckerStructure(Structure):
    """The Kronecker product of the factors' Φ.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.phi.structure import CliqueStructure
    >>> square = KroneckerStructure([CliqueStructure(2), CliqueStructure(2)])
    >>> square.apply(0.5, np.array([1.0, 0, 0, 0])).tolist()
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, factors: Sequence[Structure]) -> None:
        self.factors = tuple(factors)
        self.size = math.prod(factor.size for factor in factors)
        self.words = f"factor by factor ({', '.join(sorted({f.words for f in factors}))})"

    def _along_each_axis(
        self, x: NDArray[Any], step: Callable[[Structure, NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        shape = tuple(factor.size for factor in self.factors)
        out = x.reshape(*shape, -1)
        for axis, factor in enumerate(self.factors):
            first = np.moveaxis(out, axis, 0)
            done = step(factor, np.ascontiguousarray(first).reshape(factor.size, -1))
            out = np.moveaxis(done.reshape(first.shape), 0, axis)
        return np.ascontiguousarray(out).reshape(x.shape)

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x`, one factor after the other."""
        return self._along_each_axis(x, lambda factor, part: factor.apply(alpha, part))

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Solve :math:`\Phi x = b`, one factor after the other."""
        return self._along_each_axis(b, lambda factor, part: factor.solve(alpha, part))

    def is_singular(self, alpha: float) -> bool:
        """Whether some factor is singular."""
        return any(factor.is_singular(alpha) for factor in set(self.factors))

    def inverse_norm(self, alpha: float) -> float | None:
        """Return the product of the factors' bounds."""
        found = [factor.inverse_norm(alpha) for factor in self.factors]
        if any(norm is None for norm in found):
            return None
        return math.prod(norm for norm in found if norm is not None)


class TreeStructure(Structure):
    r"""A tree; every product and solution is linear in its size.

    With :math:`a_e = \alpha^{\ell_e}` for an edge of length :math:`\ell_e`, and for any root,

    .. math::
        v^\top\Phi^{-1}r = v_\text{root} r_\text{root}
            + \sum_{e = p \to c} \frac{(v_c - a_e v_p)(r_c - a_e r_p)}{1 - a_e^2}:

    Φ is the covariance of a Markov field on the tree, and each edge adds what is new at c.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Star
    >>> TreeStructure(Star(3)).solve(0.25, np.ones(4)).round(12).tolist()
    [0.4, 0.8, 0.8, 0.8]
    """

    words = "closed form (tree)"

    def __init__(self, graph: AnswerGraph) -> None:
        self.size = graph.size
        ends, lengths = graph.edge_array(), graph.edge_lengths()
        shape = (graph.size, graph.size)
        edges = csr_array((lengths, (ends[:, 0], ends[:, 1])), shape=shape)
        depth, self._parent = dijkstra(
            edges, directed=False, indices=0, return_predecessors=True, unweighted=True
        )
        order = np.argsort(depth, kind="stable")
        self._children = order[1:]
        self._levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[1:]
        #: The length of the edge from every node to its parent; the root has none.
        self._above = np.zeros(graph.size)
        upwards = self._parent[ends[:, 0]] == ends[:, 1]
        self._above[np.where(upwards, ends[:, 0], ends[:, 1])] = lengths

    def _rates(self, alpha: Alpha, kind: Any = np.float64) -> NDArray[Any]:
        """Return for every node the α of the edge to its parent."""
        return np.asarray(kind(alpha) ** self._above.astype(kind))

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by one sweep to the root and one away from it."""
        rates = self._rates(alpha, x.dtype.type).reshape(-1, *[1] * (x.ndim - 1))
        below = x.copy()
        for level in reversed(self._levels):
            np.add.at(below, self._parent[level], rates[level] * below[level])
        out = below
        for level in self._levels:
            rate = rates[level]
            out[level] = rate * out[self._parent[level]] + (1 - rate**2) * out[level]
        return out

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply by the inverse, edge by edge."""
        child, parent = self._children, self._parent[self._children]
        rates = self._rates(alpha)[child].reshape(-1, *[1] * (b.ndim - 1))
        flow = (b[child] - rates * b[parent]) / (1 - rates**2)
        out = np.zeros_like(b)
        out[0] = b[0]
        out[child] = flow
        np.subtract.at(out, parent, rates * flow)
        return out

    def inverse_norm(self, alpha: float) -> float:
        """Return the largest sum of absolute values in a row of the sparse inverse."""
        child, parent = self._children, self._parent[self._children]
        rates = self._rates(alpha)[child]
        sums = np.ones(self.size)
        for ends in (child, parent):
            np.add.at(sums, ends, rates / (1 - rates))
        return float(sums.max())
