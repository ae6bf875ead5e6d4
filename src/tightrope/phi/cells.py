r"""Cells: answers that see the same, so that :math:`\Phi z = 1` shrinks to one equation each.

A partition is *equitable* when every answer of cell A sees the same number of answers of cell B
at each distance. Averaging over cells then commutes with Φ, so from any non-negative solution
of :math:`\Phi z = 1` the averages are a non-negative solution too: the tight-constraints
mechanism exists iff it exists with z constant on the cells. Orbits of automorphisms are
equitable; the partition here is the coarsest one and may be coarser.

On few cells everything is decided exactly. By Cramer's rule :math:`\zeta_A = N_A(\alpha) /
D(\alpha)` with integer polynomials. Their roots in (0, 1) cut the range of α into pieces on which
every sign is constant, so one rational point decides each piece, and none can be missed. Every
non-negative solution has :math:`z_i \le (\Phi z)_i = 1`, so the set of α is closed and stays away
from poles: only at a root of D itself must a system be looked at numerically.

For an ε with rational :math:`e^\varepsilon` the system is solved in fractions. Where an entry of z
is exactly zero no floating-point bound can tell its sign: on a star of three leaves at ε = ln 2
the middle is never reported.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tightrope import exact
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen
from tightrope.phi.structure import distances_by_code

if TYPE_CHECKING:
    from flint import fmpz_poly

#: An end of an interval of α.
End = exact.Root | Fraction


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

    #: Largest number of answers whose cells are computed.
    most_answers: ClassVar[int] = 2000
    #: Largest number of cells, and degree of the polynomials, for exact answers at all ε.
    most_cells: ClassVar[int] = 24
    most_degree: ClassVar[int] = 600
    #: Largest number of cells, and bits of α, for exact answers at one ε.
    rational_cells: ClassVar[int] = 40
    rational_bits: ClassVar[int] = 64

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
        try:
            return np.asarray(np.linalg.solve(self.quotient(alpha), np.ones(self.size)))
        except np.linalg.LinAlgError:
            return np.full(self.size, -np.inf)

    @property
    def fit_exactly(self) -> bool:
        """Whether the polynomials are small enough."""
        whole = bool((self.lengths == np.floor(self.lengths)).all())
        degree = self.size * int(self.lengths.max())
        return whole and self.size <= self.most_cells and degree <= self.most_degree

    def cramer(self, right: Sequence[int]) -> tuple[fmpz_poly, list[fmpz_poly]]:
        r"""Return D and all :math:`N_A` with :math:`Q\zeta = b` for :math:`\zeta_A = N_A / D`."""
        return exact.cramer(list(self.counts), [int(x) for x in self.lengths], right)


def single_cells(graph: AnswerGraph) -> Cells:
    """Return the partition in which every answer is its own cell.

    >>> from tightrope.graphs import PathPower
    >>> single_cells(PathPower(2)).quotient(0.5).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    lengths, code = distances_by_code(graph.distance_matrix())
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
    lengths, code = distances_by_code(graph.distance_matrix())
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
    return Cells(frozen(label), counts, lengths)


def pieces(cells: Cells, right: Sequence[int]) -> list[tuple[End, End]]:
    r"""Return the closed intervals of :math:`\alpha \in (0,1)` with :math:`Q\zeta = b`, ζ ≥ 0.

    Their ends are roots, 0 or 1. A non-negative right-hand side keeps the set closed.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> [float(high) for _, high in pieces(cells_of(Star(4)), [1, 1])]
    [0.3333333333333333]
    """
    bottom, tops = cells.cramer(right)
    # All polynomials share powers of 1-α at least.
    common = functools.reduce(lambda common, top: common.gcd(top), tops, bottom)
    bottom, tops = bottom // common, [top // common for top in tops]
    roots = exact.unit_roots([bottom, *tops])
    ends = [Fraction(0), *(end for root in roots for end in (root.low, root.high)), Fraction(1)]
    holds = []
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        below = exact.sign_at(bottom, middle := (a + b) / 2)
        holds.append(all(exact.sign_at(top, middle) * below >= 0 for top in tops))
    found: list[tuple[End, End]] = []
    start: End = Fraction(0)
    for root, before, after in zip(roots, holds, holds[1:], strict=False):
        if before and not after:
            found.append((start, root))
        elif after and not before:
            start = root
        elif not before and _exists_on(root, bottom, tops, cells, right):
            found.append((root, root))
    if holds[-1]:
        found.append((start, Fraction(1)))
    return found


def _exists_on(
    root: exact.Root,
    bottom: fmpz_poly,
    tops: list[fmpz_poly],
    cells: Cells,
    right: Sequence[int],
    tolerance: float = 1e-11,
) -> bool:
    """Whether the mechanism exists at a root although on neither side of it.

    Where D vanishes, by the residual of non-negative least squares, up to a tolerance.
    """
    if root.is_root_of(bottom):
        from scipy.optimize import nnls

        scaled = np.asarray(right, float) / max(right)
        return bool(nnls(cells.quotient(float(root)), scaled)[1] < tolerance)
    # The interval of a root holds no other, so signs at its end are signs at the root.
    below = exact.sign_at(bottom, root.low)
    return all(root.is_root_of(top) or exact.sign_at(top, root.low) * below > 0 for top in tops)


def rational_ones(graph: AnswerGraph, epsilon: Epsilon) -> list[Fraction] | None:
    r"""Return z with :math:`\Phi z = 1` as fractions, or ``None`` when it is out of reach.

    It is out of reach when :math:`e^\varepsilon` is not rational, the graph has too many cells,
    or the system on cells is singular.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> [str(z) for z in rational_ones(Star(3), Epsilon.of("ln(2)"))]
    ['0', '2/3', '2/3', '2/3']
    """
    if not epsilon.exact or graph.has_lengths:
        return None
    alpha = 1 / epsilon.ratio
    if graph.is_tree:
        return [(1 - (int(degree) - 1) * alpha) / (1 + alpha) for degree in graph.degrees]
    if graph.size > Cells.most_answers:
        return None
    cells = cells_of(graph)
    return _in_fractions(cells, alpha, [Fraction(1)] * cells.size)


def rational_solve(
    graph: AnswerGraph, epsilon: Epsilon, rhs: Sequence[Fraction]
) -> list[Fraction] | None:
    r"""Return x with :math:`\Phi x = b` as fractions, or ``None`` when it is out of reach.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner = [Fraction(k, 5) for k in (2, 1, 1, 1)]
    >>> [str(y) for y in rational_solve(Clique(4), Epsilon.of("ln(2)"), corner)]
    ['2/5', '0', '0', '0']
    """
    if not epsilon.exact or graph.has_lengths or graph.size > Cells.rational_cells:
        return None
    return _in_fractions(single_cells(graph), 1 / epsilon.ratio, rhs)


def _in_fractions(
    cells: Cells, alpha: Fraction, right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Solve on cells at a rational α, where cells and digits are few enough."""
    if cells.size > Cells.rational_cells or alpha.denominator.bit_length() > Cells.rational_bits:
        return None
    p, q, top = alpha.numerator, alpha.denominator, int(cells.lengths.max())
    powers = [p ** int(k) * q ** (top - int(k)) for k in cells.lengths]
    matrix = np.tensordot(np.array(powers, dtype=object), cells.counts.astype(object), 1)
    below = math.lcm(*(b.denominator for b in right))
    numbers: NDArray[Any] = np.array([[int(b * below)] for b in right], dtype=object)
    found = exact.solve(matrix, numbers * q**top)
    if found is None:
        return None
    values = [Fraction(int(value), found[1] * below) for value in found[0][:, 0]]
    return [values[cell] for cell in cells.label]
