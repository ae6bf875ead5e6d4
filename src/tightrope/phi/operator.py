r"""Φ as an operator: rows, products, sums, and solutions that say how far they can be trusted.

A solution found in double precision is improved with residuals in extended precision (iterative
refinement) until the sign of every entry is certain or nothing more is gained. What is *proven*
and what is only *measured*:

* ``residual`` is measured, in extended precision.
* ``error`` bounds every entry's distance from the true value. It is proven from a bound on
  :math:`\|\Phi^{-1}\|_2` (closed form, symbol of the lattice, diagonal dominance, or an
  approximate inverse) times the residual and the rounding made in computing it. It is ``None``
  where no such bound is known; the signs are then as good as the residual, and nothing more.

Where Φ is singular [A, §4.1, App B] there is a solution iff b is orthogonal to the kernel, and
then all solutions are one of them plus the kernel. A non-negative one, if any, is found by
non-negative least squares; if there is none, the residual r of that problem proves it, because
:math:`\Phi r \le 0` and :math:`b \cdot r > 0`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tightrope.arrays import AnyArray, Floats
from tightrope.epsilon import Epsilon, Level, enclosed
from tightrope.errors import CheckFailed
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import finite_array, frozen
from tightrope.phi.structure import DenseStructure, Structure, structure_of

#: Residual, relative to the right-hand side, up to which a system counts as solvable.
CONSISTENT_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Solution:
    r"""A solution of :math:`\Phi x = b`.

    Parameters
    ----------
    values
        The solution (a least-squares one when there is none).
    residual
        :math:`\max_i |b_i - (\Phi x)_i|`.
    error
        Proven bound on :math:`\max_i |x_i - x^*_i|` over the true solution, or ``None``.
    method
        How it was found, in words.
    kernel
        Basis of :math:`\{k : \Phi k = 0\}`, one column each: all solutions are ``values`` plus
        combinations of these.
    consistent
        Whether there is a solution.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.phi import Phi
    >>> star = Phi(Star(3), "ln(4)").solve_ones()
    >>> star.values.round(12).tolist(), star.unique, star.positive, star.method
    ([0.4, 0.8, 0.8, 0.8], True, True, 'closed form (tree)')
    """

    values: Floats
    residual: float
    error: float | None
    method: str
    kernel: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    consistent: bool = True

    @property
    def unique(self) -> bool:
        """Whether no other solution exists."""
        return self.consistent and self.kernel.shape[1] == 0

    @property
    def least(self) -> tuple[int, float]:
        """The place and value of the smallest entry (the first of those equal up to rounding)."""
        smallest = float(self.values.min())
        rounding = 1e-12
        largest = float(np.abs(self.values).max())
        near = smallest + rounding * largest
        return int(np.argmax(self.values <= near)), smallest

    @property
    def positive(self) -> bool | None:
        """Whether every entry is positive: yes, no, or ``None`` when that is not proven."""
        if self.error is None:
            return None
        smallest = self.least[1]
        if abs(smallest) <= self.error:
            return None
        return smallest > 0


def nonnegative(matrix: Floats, b: Floats) -> tuple[Floats, Floats]:
    r"""Return :math:`x \ge 0` nearest to solving :math:`\Phi x = b`, and the residual.

    When the residual r is not zero it separates: :math:`\Phi r \le 0 < b \cdot r`.

    >>> import numpy as np
    >>> x, r = nonnegative(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.25]))
    >>> x.round(12).tolist(), bool(r @ [1, 0.25] > 0)
    ([0.9, 0.0], True)
    """
    from scipy.optimize import nnls

    most_rounds = 30 * len(b) + 100
    x, _ = nnls(matrix, b, maxiter=most_rounds)
    residual = b - matrix @ x
    return np.asarray(x), np.asarray(residual)


class Phi:
    r"""The privacy-constraints matrix :math:`\Phi_{ih} = \alpha^{d(i,h)}` [A, Def 4].

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level.

    Attributes
    ----------
    alpha
        :math:`\alpha = e^{-\varepsilon}` in double precision.
    size
        The number of answers.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> phi = Phi(PathPower(1_000_001, 5), 1)
    >>> solution = phi.solve_ones()
    >>> round(float(solution.values.mean()), 6), solution.positive
    (0.146634, True)
    """

    def __init__(self, graph: AnswerGraph, epsilon: Level) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self.alpha = self.epsilon.alpha
        self.size = graph.size

    @functools.cached_property
    def structure(self) -> Structure:
        """What is known about Φ by the shape of the graph."""
        self.graph._check_row("a vector over the answers")
        return structure_of(self.graph)

    @functools.cached_property
    def precise_alpha(self) -> np.longdouble:
        r""":math:`\alpha` in extended precision."""
        low, _ = enclosed(self.epsilon.multiple, self.epsilon.base, power=True)
        # The quotient of two rounded integers.
        numerator = np.longdouble(str(low.numerator))
        denominator = np.longdouble(str(low.denominator))
        return denominator / numerator

    def row(self, i: int) -> Floats:
        r"""Return row i, :math:`\alpha^{d(i,\cdot)}`."""
        distances = self.graph.distances_from(i)
        return self.alpha ** distances.astype(np.float64)

    @functools.cached_property
    def row_sums(self) -> Floats:
        r""":math:`\Phi 1`: the sum of every row."""
        return frozen(self.structure.apply(self.alpha, np.ones(self.size)))

    @functools.cached_property
    def inverse_norm(self) -> float | None:
        r"""A proven bound on :math:`\|\Phi^{-1}\|_2`, or ``None`` when none is known.

        It comes from the structure of the graph or, where every row of Φ sums to less than 2,
        from diagonal dominance.
        """
        rounding = 1e-12
        # The largest sum of a row beside its diagonal, which is 1.
        largest = float(self.row_sums.max())
        beside = largest * (1 + rounding) - 1
        dominant = 1 / (1 - beside) if beside < 1 else None
        known = self.structure.inverse_norm(self.alpha)
        return min(
            (norm for norm in (dominant, known) if norm is not None), default=None
        )

    def matvec(self, x: ArrayLike) -> AnyArray:
        r"""Return :math:`\Phi x`, which is also :math:`x\Phi`: Φ is symmetric."""
        vector = self.check_vector(x, "the vector")
        return self.structure.apply(self.alpha, vector)

    def reach(self, weights: ArrayLike) -> Floats:
        r"""Return :math:`v_j = \max_i w_i \alpha^{d(i,j)}` for weights :math:`w \ge 0`, no matrix.

        It is :math:`\Phi w` with a maximum in place of the sum: a few maxima over windows in a
        box, elsewhere one shortest-path search from all answers at once, because
        :math:`-\ln v_j = \min_i (-\ln w_i + \varepsilon d(i,j))`.

        Examples
        --------
        >>> from tightrope.graphs import PathPower
        >>> Phi(PathPower(4), "ln(2)").reach([0.8, 0.1, 0.1, 0.0]).round(12).tolist()
        [0.8, 0.4, 0.2, 0.1]
        """
        vector = self.check_vector(weights, "the vector")
        if self.graph.box:
            return reach_in_box(vector, self.graph.box, self.alpha)
        return _reach_by_search(self.graph, float(self.epsilon), vector)

    def matrix(self) -> Floats:
        """Return Φ as an array; refused when it would not fit."""
        return self.alpha ** self.graph.distance_matrix().astype(np.float64)

    def solve(self, rhs: ArrayLike) -> Solution:
        r"""Solve :math:`\Phi x = b`; with :math:`b = \pi` it is :math:`y\Phi = \pi` [A, Def 5].

        Examples
        --------
        >>> from tightrope.graphs import Clique
        >>> Phi(Clique(4), "ln(2)").solve([0.4, 0.2, 0.2, 0.2]).values.round(12).tolist()
        [0.4, 0.0, 0.0, 0.0]
        """
        return self._solve(self.check_vector(rhs, "the right-hand side"))

    def solve_ones(self) -> Solution:
        r"""Solve :math:`\Phi z = 1`: the tight-constraints mechanism's diagonal [A, Lemma 3]."""
        return self._solve(np.ones(self.size))

    def _solve(
        self,
        b: Floats,
        refinements: int = 4,
        tolerance: float = 1e-9,
        largest: float = 1e12,
    ) -> Solution:
        """Solve and improve the solution until its signs are certain.

        It counts as solved with proven signs, or with a residual within ``tolerance`` and no entry
        above the ``largest``, both relative to b: a nearly singular Φ answers with huge entries
        that cancel.
        """
        structure = self.structure
        target = b.astype(np.longdouble)
        if structure.is_singular(self.alpha):
            return self._all_solutions(b)
        best = np.zeros_like(target)
        rest = target
        error = None
        proven = False
        with np.errstate(all="ignore"):
            for _ in range(refinements):
                # x + Φ^{-1} (b - Φx): solved in doubles, the residual in extended precision
                correction = structure.solve(self.alpha, rest.astype(np.float64))
                x = best + correction
                left = target - structure.apply(self.precise_alpha, x)
                if not np.abs(left).max() < np.abs(rest).max():
                    break
                best = x
                rest = left
                error = self._error(x, left)
                # Every entry is farther from 0 than from the truth.
                proven = error is not None and bool(error < np.abs(x).min())
                is_small = np.abs(left).max() <= self._enough(x, b)
                if proven or (error is None and is_small):
                    break
        residual = float(np.abs(rest).max())
        scale = max(1.0, float(np.abs(b).max()))
        bounded = np.abs(best).max() < largest * scale
        small = residual <= tolerance * scale and bounded
        if not (small or proven) and self.size <= DenseStructure.limit:
            return self._all_solutions(b)
        if b.any() and not best.any():
            raise CheckFailed(
                f"{self!r} is nearly singular and was not solved: take another ε"
            )
        # Entries of the returned doubles are rounded once more, which is part of the error.
        values = frozen(best.astype(np.float64))
        none = np.zeros((self.size, 0))
        return Solution(values, residual, error, structure.words, none)

    def _weight(self, x: AnyArray) -> AnyArray:
        """Return Φ|x|, relative to which products with Φ and solutions round."""
        sizes = np.abs(x).astype(np.float64)
        return self.structure.apply(self.alpha, sizes)

    def _enough(
        self, x: AnyArray, b: AnyArray, share: float = 1e-12, units: int = 16
    ) -> float:
        """Return the residual that is small enough where no bound on the inverse is known.

        It is a share of the right-hand side, or some units of rounding of a solution in doubles.
        A smaller one would prove nothing.
        """
        unit = float(np.finfo(np.float64).eps)
        largest = max(1.0, float(np.abs(b).max()))
        weight = float(self._weight(x).max())
        rounding = units * unit * weight
        return max(share * largest, rounding)

    def _error(self, x: AnyArray, rest: AnyArray, units: int = 64) -> float | None:
        """Bound the distance of x from the true solution by the residual, or return ``None``.

        A product with Φ, the power α^d and α itself may round by so many units, and two more for
        every step of a recurrence.
        """
        norm = self.inverse_norm
        if norm is None:
            return None
        unit = float(np.finfo(np.longdouble).eps)
        steps = units + 2 * float(self.graph.diameter)
        weight = float(np.linalg.norm(self._weight(x)))
        rounding = unit * steps * weight
        residual = float(np.linalg.norm(rest.astype(np.float64)))
        unit_of_doubles = float(np.finfo(np.float64).eps)
        doubles = float(np.abs(x).max()) * unit_of_doubles
        # |x - x*|_∞ ≤ |Φ^{-1}|_2 (|b - Φx|_2 + its rounding), and x is rounded to doubles
        return norm * (residual + rounding) + doubles

    def _all_solutions(self, b: Floats, tolerance: float = 1e-11) -> Solution:
        """Return a solution, non-negative where there is one, and the kernel of Φ.

        Eigenvalues up to the tolerance, relative to the largest one, count as zero.
        """
        matrix = self.matrix()
        values, vectors = np.linalg.eigh(matrix)
        largest = np.abs(values).max()
        zero = np.abs(values) <= tolerance * largest
        kernel = vectors[:, zero]
        others = vectors[:, ~zero]
        # The solution of least norm, Σ (v·b / λ) v over the eigenvalues λ ≠ 0.
        coordinates = (others.T @ b) / values[~zero]
        chosen = others @ coordinates
        allowed = CONSISTENT_TOLERANCE * float(np.abs(b).max())
        error = np.abs(b - matrix @ chosen).max()
        consistent = bool(error <= allowed)
        if consistent and kernel.shape[1] and chosen.min() < 0:
            positive, left = nonnegative(matrix, b)
            if np.abs(left).max() <= allowed:
                chosen = positive
        rest = np.abs(b - matrix @ chosen)
        residual = float(rest.max())
        words = f"eigenvectors; Φ is singular, {kernel.shape[1]} free directions"
        return Solution(
            frozen(chosen), residual, None, words, frozen(kernel), consistent
        )

    def check_vector(self, x: ArrayLike, what: str) -> Floats:
        """Return a vector over the answers, or refuse it with the place and value."""
        must = (
            f"{what} must list one number for each of the {self.size} answers "
            f"of {self.graph.name}"
        )
        return finite_array(x, must, (self.size,), what)

    def __repr__(self) -> str:
        return f"<Phi of {self.graph.name} at ε = {self.epsilon}: {self.size} answers>"


def reach_in_box(
    weights: Floats, box: tuple[tuple[int, int], ...], alpha: float
) -> Floats:
    r"""Return :math:`\max_i w_i \alpha^{d(i,j)}` where sides of a box have sizes and widths.

    Once all answers nearer than t steps are reached, those nearer than 2t are: by t steps at once,
    :math:`\alpha^t` times the largest value within t widths, and what was known before.

    >>> reach_in_box(np.array([0.8, 0.1, 0.1, 0.0]), ((4, 1),), 0.5).tolist()
    [0.8, 0.4, 0.2, 0.1]
    """
    from scipy.ndimage import maximum_filter

    sizes, widths = np.array(box).T
    reached = weights.reshape(sizes)
    steps = 1
    spans = -((1 - sizes) // widths)
    diameter = int(spans.max())
    while steps <= diameter and (rate := alpha**steps) > 0:
        clipped = np.minimum(2 * widths * steps, 2 * sizes - 2)
        windows = clipped + 1
        wide = maximum_filter(reached, tuple(windows.tolist()), mode="constant")
        # v^{2t} = max(v^t, α^t · max of v^t within t widths)
        reached = np.maximum(reached, rate * wide)
        steps = 2 * steps
    return reached.ravel()


def _reach_by_search(graph: AnswerGraph, level: float, weights: Floats) -> Floats:
    """Add a source joined to every node by its own -ln w and search from there."""
    edges = graph.edge_array()
    n = graph.size
    seen = np.flatnonzero(weights > 0)
    # The search takes an entry of 0 for no edge, and no negative one: shift all first steps.
    shift = 1.0 + np.log(weights[seen].max()) if len(seen) else 0.0
    first = shift - np.log(weights[seen])
    sources = np.full(len(seen), n)
    tails = np.concatenate([edges[:, 0], edges[:, 1], sources])
    heads = np.concatenate([edges[:, 1], edges[:, 0], seen])
    # Lengths ε·|e| turn products of powers of α into sums.
    along_edges = np.tile(level * graph.edge_lengths(), 2)
    lengths = np.concatenate([along_edges, first])
    network = scipy.sparse.coo_array(
        (lengths, (tails, heads)), shape=(n + 1, n + 1)
    ).tocsr()
    found = scipy.sparse.csgraph.dijkstra(network, directed=True, indices=n)[:n]
    return np.asarray(np.exp(shift - found))
