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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tightrope import exact
from tightrope.arrays import AnyArray, Floats, Ints
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen
from tightrope.phi.structure import distances_by_code

if TYPE_CHECKING:
    from flint import fmpz_poly

#: An end of an interval of α.
End = exact.Root | Fraction
Places = Ints


@dataclass(frozen=True, eq=False)
class Cells:
    r"""An equitable partition, and the sums of Φ over its cells.

    Parameters
    ----------
    label
        The cell of every answer.
    first
        An answer of every cell.
    lengths
        The different distances, increasing.
    codes
        Rule from some answers (rows) and others (columns) to the places of their distances in
        ``lengths``.

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
    #: Most cells that are eliminated, and most entries of Φ, a row for each cell, added up for it.
    eliminated_cells: ClassVar[int] = 2_500
    eliminated_entries: ClassVar[int] = 400_000_000

    label: Places
    first: Places
    lengths: Floats
    codes: Callable[[Places, Places], AnyArray]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.first)

    @property
    def are_few(self) -> bool:
        """Whether the sums of Φ are made and eliminated."""
        entries = self.size * len(self.label)
        return self.size <= self.eliminated_cells and entries <= self.eliminated_entries

    def holds(self, b: Floats) -> bool:
        """Whether a vector is the same on every cell."""
        return bool((b == b[self.first][self.label]).all())

    @functools.cached_property
    def _ordered(self) -> tuple[Places, Places]:
        """All answers, cell by cell, and where each cell starts."""
        order = np.argsort(self.label, kind="stable")
        return order, np.searchsorted(self.label[order], np.arange(self.size))

    @functools.cached_property
    def _all_codes(self) -> AnyArray | None:
        """All distances at once, where there are few enough: they are the same at every α."""
        fits = self.size * len(self.label) <= 20_000_000
        return self.codes(self.first, self._ordered[0]) if fits else None

    def quotient(self, alpha: float, block: int = 4_000_000) -> Floats:
        r"""Return :math:`Q_{AB} = \sum_{b \in B} \alpha^{d(a,b)}` for any :math:`a \in A`."""
        order, starts = self._ordered
        powers = alpha**self.lengths
        if self._layers is not None:
            # Q = Σ_k α^{d_k} counts[k]
            return np.tensordot(powers, self._layers, 1)
        out = np.empty((self.size, self.size))
        step = max(1, block // len(order))
        for at in range(0, self.size, step):
            some = slice(at, at + step)
            if self._all_codes is None:
                codes = self.codes(self.first[some], order)
            else:
                codes = self._all_codes[some]
            # The columns are in order of their cells: each cell is one run of them.
            out[some] = np.add.reduceat(powers.take(codes), starts, axis=1)
        return out

    @functools.cached_property
    def counts(self) -> Ints:
        """``counts[k, A, B]``: answers of cell B at the k-th distance from an answer of cell A."""
        return np.stack([self.seen(answer) for answer in self.first], axis=1)

    def seen(self, answer: int) -> Ints:
        """Return how many answers of each cell (columns) are at each distance (rows) from one."""
        size = self.size
        lengths = len(self.lengths)
        answers = np.arange(len(self.label))
        from_answer = self.codes(np.array([answer]), answers)
        far = from_answer[0].astype(np.int64)
        # One key for each pair of distance and cell: a histogram over both in one pass.
        keys = far * size + self.label
        counts = np.bincount(keys, minlength=lengths * size)
        return counts.reshape(lengths, size)

    @functools.cached_property
    def _layers(self) -> Floats | None:
        """The counts as floats, where they take less than the distances: a product is quicker."""
        entries = len(self.lengths) * self.size**2
        most = min(self.size * len(self.label), 20_000_000)
        fits = entries <= most
        return self.counts.astype(np.float64) if fits else None

    def solve(self, alpha: float, b: Floats) -> Floats:
        r"""Return x with :math:`\Phi x = b` for a vector that is the same on every cell.

        Where the sums are singular no entry is a number.
        """
        try:
            by_cell = np.linalg.solve(self.quotient(alpha), b[self.first])
        except np.linalg.LinAlgError:
            return np.full(len(self.label), np.nan)
        return np.asarray(by_cell[self.label])

    @property
    def fit_exactly(self) -> bool:
        """Whether the polynomials are small enough."""
        whole = bool((self.lengths == np.floor(self.lengths)).all())
        degree = self.size * int(self.lengths.max())
        return whole and self.size <= self.most_cells and degree <= self.most_degree

    def cramer(self, right: Sequence[int]) -> tuple[fmpz_poly, list[fmpz_poly]]:
        r"""Return D and all :math:`N_A` with :math:`Q\zeta = b` for :math:`\zeta_A = N_A / D`."""
        lengths = [int(x) for x in self.lengths]
        return exact.cramer(list(self.counts), lengths, right)


def single_cells(graph: AnswerGraph) -> Cells:
    """Return the partition in which every answer is its own cell.

    >>> from tightrope.graphs import PathPower
    >>> single_cells(PathPower(2)).quotient(0.5).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    lengths, code = distances_by_code(graph.distance_matrix())
    answers = np.arange(graph.size)
    return Cells(
        answers, answers, lengths, lambda some, others: code[np.ix_(some, others)]
    )


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
    count = 0
    random = np.random.default_rng(0)
    while label.max() >= count:
        count = int(label.max()) + 1
        # Sums of random words tell different views apart; equal ones are checked below. An answer
        # sees its own cell at distance 0, so a view tells it too.
        words = random.integers(1, 2**63, size=(len(lengths), count), dtype=np.uint64)
        views = words[code, label].sum(axis=1)
        label = np.unique(views, return_inverse=True)[1]
    first = np.unique(label, return_index=True)[1]
    # Cells are numbered by their first answer.
    label = np.argsort(np.argsort(first))[label]
    first = np.sort(first)
    cells = Cells(
        frozen(label), first, lengths, lambda some, others: code[np.ix_(some, others)]
    )
    # Equitable: all answers of a cell see as many of each cell at each distance.
    if not all(
        (cells.seen(i) == cells.counts[:, cell]).all() for i, cell in enumerate(label)
    ):
        raise AssertionError("two different views had the same sum of random words")
    return cells


def pieces(
    cells: Cells, right: Sequence[int], tolerance: float = 1e-11
) -> list[tuple[End, End]]:
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
    bottom = bottom // common
    tops = [top // common for top in tops]
    roots = exact.unit_roots([bottom, *tops])
    ends = [
        Fraction(0),
        *(end for root in roots for end in (root.low, root.high)),
        Fraction(1),
    ]
    # Between two roots no sign changes: one point decides.
    holds = []
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        middle = (a + b) / 2
        below = exact.sign_at(bottom, middle)
        signs = [exact.sign_at(top, middle) * below for top in tops]
        holds.append(all(sign >= 0 for sign in signs))

    def holds_at(root: exact.Root) -> bool:
        """Whether ζ ≥ 0 at a root; where D vanishes, by a residual up to a tolerance."""
        if root.is_root_of(bottom):
            from scipy.optimize import nnls

            scaled = np.asarray(right, float) / max(right)
            residual = nnls(cells.quotient(float(root)), scaled)[1]
            return bool(residual < tolerance)
        # The interval of a root holds no other, so signs at its end are signs at the root.
        below = exact.sign_at(bottom, root.low)
        return all(
            root.is_root_of(top) or exact.sign_at(top, root.low) * below > 0
            for top in tops
        )

    intervals: list[tuple[End, End]] = []
    start: End = Fraction(0)
    for root, before, after in zip(roots, holds, holds[1:], strict=False):
        if before and not after:
            intervals.append((start, root))
        elif after and not before:
            start = root
        elif not before and holds_at(root):
            intervals.append((root, root))
    if holds[-1]:
        intervals.append((start, Fraction(1)))
    return intervals


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
    # On a tree (Φ⁻¹1)_i = (1 - (deg_i - 1)·α)/(1 + α), whatever its size.
    alpha = 1 / epsilon.ratio
    if graph.is_tree:
        return [
            (1 - (int(degree) - 1) * alpha) / (1 + alpha) for degree in graph.degrees
        ]
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
    if (
        cells.size > Cells.rational_cells
        or alpha.denominator.bit_length() > Cells.rational_bits
    ):
        return None
    p = alpha.numerator
    q = alpha.denominator
    top = int(cells.lengths.max())
    # α^k q^top = p^k q^(top-k): integers
    exponents = [int(k) for k in cells.lengths]
    powers = [p**k * q ** (top - k) for k in exponents]
    matrix = np.tensordot(
        np.array(powers, dtype=object), cells.counts.astype(object), 1
    )
    numbers, below = exact.over_one(right)
    sides = numbers[:, None] * q**top
    solution = exact.solve(matrix, sides)
    if solution is None:
        return None
    tops, bottom = solution
    denominator = bottom * below
    values = [Fraction(int(value), denominator) for value in tops[:, 0]]
    return [values[cell] for cell in cells.label]
