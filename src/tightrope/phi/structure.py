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
import scipy

from tightrope.arrays import AnyArray, Floats
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
    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` for one vector, or for every column of an array."""

    @abstractmethod
    def solve(self, alpha: float, b: Floats) -> Floats:
        r"""Return :math:`x` with :math:`\Phi x \approx b`, in double precision."""

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        r"""Return the smallest entry of z with :math:`\Phi z = 1`, or any below ``enough``."""
        ones = np.ones(self.size)
        return float(self.solve(alpha, ones).min())

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

    def _eigenvalues(self, alpha: Alpha, kind: Any) -> AnyArray:
        # The eigenvalues of a circulant matrix are the transform of its first row.
        gap = np.arange(self.size)
        distance = np.minimum(gap, self.size - gap)
        row = kind(alpha) ** distance
        return np.asarray(scipy.fft.rfft(row).real)

    def _filter(self, x: AnyArray, spectrum: AnyArray) -> AnyArray:
        ones = [1] * (x.ndim - 1)
        along = spectrum.reshape(-1, *ones)
        wave = scipy.fft.rfft(x, axis=0) * along
        return np.asarray(scipy.fft.irfft(wave, self.size, axis=0))

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` by Fourier transforms."""
        return self._filter(x, self._eigenvalues(alpha, x.dtype.type))

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Divide by the eigenvalues."""
        return self._filter(b, 1 / self._eigenvalues(alpha, np.float64))

    def inverse_norm(self, alpha: float, rounding: float = 1e-13) -> float:
        """Return the inverse of the smallest eigenvalue, less what rounding may have added."""
        # Twice the distance on a cycle is that of a subgraph of a cube: Φ is positive definite.
        values = self._eigenvalues(alpha, np.float64)
        rounded = rounding * values.max()
        smallest = float(values.min() - rounded)
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

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`(1-\alpha)x + \alpha\sum x`."""
        rate = x.dtype.type(alpha)
        total = x.sum(axis=0)
        return np.asarray((1 - rate) * x + rate * total)

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Subtract the common part and divide by 1-α."""
        # By Sherman and Morrison, Φ⁻¹b = (b - α/(1 + (n-1)α) Σb) / (1-α).
        shared = alpha / (1 + (self.size - 1) * alpha)
        common = shared * b.sum(axis=0)
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
        return KroneckerStructure(
            list(map(functools.cache(structure_of), graph.factors))
        )
    from tightrope.phi.lattice import (
        LatticeStructure,
        PathPowerStructure,
        PlaneStructure,
    )

    line = PathPowerStructure.of(graph)
    if line is None and graph.is_tree:
        return TreeStructure(graph)
    return (
        line
        or PlaneStructure.of(graph)
        or LatticeStructure.of(graph)
        or DenseStructure(graph)
    )


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

    def matrix(self, alpha: Alpha, kind: Any = np.float64) -> AnyArray:
        """Return Φ as an array of the given kind of float."""
        powers = kind(alpha) ** self.lengths
        return np.asarray(powers[self._code])

    def apply(self, alpha: Alpha, x: AnyArray, block: int = 2_000_000) -> AnyArray:
        r"""Return :math:`\Phi x`, in blocks of rows with so many entries."""
        powers = x.dtype.type(alpha) ** self.lengths
        step = max(1, block // self.size)
        blocks = []
        for start in range(0, self.size, step):
            codes = self._code[start : start + step]
            blocks.append(powers[codes] @ x)
        return np.concatenate(blocks)

    @functools.lru_cache(maxsize=1)  # noqa: B019 - one factorisation, kept while α is the same
    def _factors(self, alpha: float) -> Any:
        with warnings.catch_warnings():
            # A singular Φ is found and dealt with by whoever looks at the residual.
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            return scipy.linalg.lu_factor(
                self.matrix(alpha), overwrite_a=True, check_finite=False
            )

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Solve by elimination with pivots."""
        with np.errstate(all="ignore"):
            solved = scipy.linalg.lu_solve(self._factors(alpha), b, check_finite=False)
        return np.asarray(solved)

    def is_singular(self, alpha: float, condition: float = 1e-14) -> bool:
        """Whether the estimated reciprocal condition number leaves no digit."""
        factors, _ = self._factors(alpha)
        # Entries are positive: the largest sum of a column is the 1-norm.
        column_sums = self.matrix(alpha).sum(axis=0)
        largest = float(column_sums.max())
        reciprocal, _ = scipy.linalg.lapack.dgecon(factors, largest, norm="1")
        return bool(reciprocal < condition)

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
        size = self.size
        unit = np.finfo(np.float64).eps
        row_sums = np.abs(inverse).sum(axis=1)
        bound = float(row_sums.max())
        if not np.isfinite(bound):
            return None
        # Each product rounds by at most n units of |R||Φ|; Φ itself by two more units an entry.
        largest = float(phi.sum(axis=1).max())
        rounding = (size + 4) * unit * bound * largest
        error = np.abs(inverse @ phi - np.eye(size))
        residual = error.sum(axis=1).max() + rounding
        # Φ⁻¹ = (I - (I - RΦ))⁻¹ R: a Neumann series where the residual is below 1.
        return bound / (1 - residual) if residual < 1 else None


def distances_by_code(
    distances: AnyArray,
) -> tuple[Floats, AnyArray]:
    """Return the different distances and, for every pair, the place of its distance in them."""
    if np.issubdtype(distances.dtype, np.integer):
        small = distances.astype(np.uint16)
        count = int(distances.max()) + 1
        return np.arange(count, dtype=np.float64), small
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
        ways = sorted({factor.words for factor in factors})
        self.words = f"factor by factor ({', '.join(ways)})"

    def _along_each_axis(
        self, x: AnyArray, step: Callable[[Structure, AnyArray], AnyArray]
    ) -> AnyArray:
        shape = tuple(factor.size for factor in self.factors)
        out = x.reshape(*shape, -1)
        for axis, factor in enumerate(self.factors):
            # (Φ₁ ⊗ Φ₂)x: a factor acts on its own axis, whatever the places on the others.
            first = np.moveaxis(out, axis, 0)
            columns = np.ascontiguousarray(first).reshape(factor.size, -1)
            stepped = step(factor, columns).reshape(first.shape)
            out = np.moveaxis(stepped, 0, axis)
        return np.ascontiguousarray(out).reshape(x.shape)

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x`, one factor after the other."""
        return self._along_each_axis(x, lambda factor, part: factor.apply(alpha, part))

    def solve(self, alpha: float, b: Floats) -> Floats:
        r"""Solve :math:`\Phi x = b`, one factor after the other."""
        return self._along_each_axis(b, lambda factor, part: factor.solve(alpha, part))

    def is_singular(self, alpha: float) -> bool:
        """Whether some factor is singular."""
        return any(factor.is_singular(alpha) for factor in set(self.factors))

    def inverse_norm(self, alpha: float) -> float | None:
        """Return the product of the factors' bounds."""
        # ‖A ⊗ B‖₂ = ‖A‖₂ ‖B‖₂
        norms = []
        for factor in self.factors:
            norm = factor.inverse_norm(alpha)
            if norm is None:
                return None
            norms.append(norm)
        return math.prod(norms)


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
        ends = graph.edge_array()
        lengths = graph.edge_lengths()
        shape = (graph.size, graph.size)
        places = (ends[:, 0], ends[:, 1])
        edges = scipy.sparse.csr_array((lengths, places), shape=shape)
        depth, self._parent = scipy.sparse.csgraph.dijkstra(
            edges, directed=False, indices=0, return_predecessors=True, unweighted=True
        )
        order = np.argsort(depth, kind="stable")
        self._children = order[1:]
        deeper = np.flatnonzero(np.diff(depth[order])) + 1
        self._levels = np.split(order, deeper)[1:]
        #: The length of the edge from every node to its parent; the root has none.
        self._above = np.zeros(graph.size)
        upwards = self._parent[ends[:, 0]] == ends[:, 1]
        children = np.where(upwards, ends[:, 0], ends[:, 1])
        self._above[children] = lengths

    def _rates(self, alpha: Alpha, kind: Any = np.float64) -> AnyArray:
        """Return for every node the α of the edge to its parent."""
        lengths = self._above.astype(kind)
        return np.asarray(kind(alpha) ** lengths)

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` by one sweep to the root and one away from it."""
        ones = [1] * (x.ndim - 1)
        rates = self._rates(alpha, x.dtype.type).reshape(-1, *ones)
        # Leaf to root: below_i = Σ α^d(i,h) x_h over the subtree of i.
        below = x.copy()
        for level in reversed(self._levels):
            moved = rates[level] * below[level]
            np.add.at(below, self._parent[level], moved)
        out = below
        for level in self._levels:
            # out_c = a·(out_p - a·below_c) + below_c: what p has, less what came to it from c
            rate = rates[level]
            above = out[self._parent[level]]
            out[level] = rate * above + (1 - rate**2) * out[level]
        return out

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Multiply by the inverse, edge by edge."""
        child = self._children
        parent = self._parent[self._children]
        ones = [1] * (b.ndim - 1)
        rates = self._rates(alpha)[child].reshape(-1, *ones)
        # What is new at the child, b_c - a·b_p, over its variance 1 - a².
        new = b[child] - rates * b[parent]
        flow = new / (1 - rates**2)
        out = np.zeros_like(b)
        out[0] = b[0]
        out[child] = flow
        # Each edge adds the transposed combination: 1 at the child, -a at the parent.
        np.subtract.at(out, parent, rates * flow)
        return out

    def inverse_norm(self, alpha: float) -> float:
        """Return the largest sum of absolute values in a row of the sparse inverse."""
        child = self._children
        parent = self._parent[self._children]
        rates = self._rates(alpha)[child]
        sums = np.ones(self.size)
        for ends in (child, parent):
            # 1/(1 - a²) - 1 on the diagonal and a/(1 - a²) beside it are a/(1 - a) together.
            np.add.at(sums, ends, rates / (1 - rates))
        return float(sums.max())
