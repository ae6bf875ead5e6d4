r"""Φ on integer points whose distance depends on their difference only: sums, bundles of counts.

:math:`\Phi x` is a convolution with :math:`\alpha^{d(\Delta)}`, done by Fourier transforms in a
box of twice the side. Systems are solved by conjugate gradients with a circulant
preconditioner; where Φ may be indefinite, by elimination on cells of answers that see the same,
or by MINRES.

Every coordinate may be read from either end, and equal coordinates may change places: up to
:math:`2^k k!` answers see the same. Averaging over them commutes with Φ, so :math:`\Phi x = b`
with b alike on all of them has one equation for each cell.

The Fourier series :math:`f(\theta) = \sum_\Delta \alpha^{d(\Delta)} e^{i\Delta\theta}` of the
whole lattice (its *symbol*) bounds every finite part: the Rayleigh quotients of Φ are averages
of f, so :math:`\min f > 0` gives :math:`\|\Phi^{-1}\|_2 \le 1/\min f`.

In the plane of two counts :math:`d = \max(|\Delta x|, |\Delta y|)` is a sum along the diagonals
:math:`U = (1,1)` and :math:`V = (1,-1)`, and the symbol is a quotient of short stencils,

.. math:: f = \Bigl(1 + \frac{2\alpha(\cos\theta_x + \cos\theta_y)}{(1+\alpha)^2}\Bigr)
    \frac{(1-\alpha^2)^2}{|1-\alpha U|^2\,|1-\alpha V|^2}.

So Φx is one recurrence each way along either kind of diagonal and one five-point stencil: work in
proportion to the answers, and no sum of numbers of different sign. And the combination
:math:`(1-\alpha U)(1-\alpha U^{-1})(1-\alpha V)(1-\alpha V^{-1})` of rows of Φ is a five-point
stencil; near an edge the two factors that stay inside, in a corner the one, leave short rows too.

For a path power of width :math:`w` the combination
:math:`(1+\alpha^2)\Phi_i - \alpha\Phi_{i-w} - \alpha\Phi_{i+w}` of rows vanishes outside
:math:`|i-j| < w`, and one-sided differences do the same at the ends. So :math:`\Phi x = b` is a
banded system, solved in :math:`O(n w^2)`.

Away from the ends the combined rows of :math:`\Phi z = 1` are one rule,

.. math:: z_i + \alpha \sum_{|k| < w} z_{i+k} = 1 - \alpha,

so z is a constant plus :math:`w-1` pairs of modes :math:`r^i + r^{n-1-i}`, where
:math:`1 + \alpha \sum_{|k|<w} r^k = 0`. With :math:`x = (r + 1/r)/2` that is a sum of Chebyshev
polynomials of degree :math:`w-1`. The w rows at one end give the weights of the modes and the
entry :math:`z_0`, which the rule does not reach: w equations, however many answers there are.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from tightrope.arrays import AnyArray, Floats, Ints
from tightrope.errors import CheckFailed
from tightrope.graphs import AnswerGraph
from tightrope.phi.cells import Cells, Places
from tightrope.phi.structure import Alpha, DenseStructure, Structure

#: From the array of differences along each axis (broadcast) to distances.
DistanceRule = Callable[[Sequence[AnyArray]], AnyArray]
#: How far a combined row may reach from its answer, and all such steps along two axes.
MARGIN = 3
STEPS = np.array(list(itertools.product(range(-MARGIN, MARGIN + 1), repeat=2)))


class LatticeStructure(Structure):
    """Points of a box (all, or some of them) with translation-invariant distances.

    Parameters
    ----------
    graph
        The graph, for the matrix of a small one that iterations may not solve.
    shape
        The sides of the box.
    rule
        Distance from the differences along each axis.
    points
        Flat positions of the nodes in the box, in node order; by default all of them.
    widths
        How far a step reaches along each axis, for a box that is symmetric in each.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> counts = LatticeStructure.of(StrongProduct([PathPower(3), PathPower(3)]))
    >>> counts.apply(0.5, np.eye(9)[0]).round(6).tolist()
    [1.0, 0.5, 0.25, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """

    words = "conjugate gradients on FFT products"
    #: Relative residual at which iterations stop, and the most steps they may take.
    tolerance = 1e-13
    steps = 1000
    #: Largest residual, beside the right-hand side, of what elimination finds.
    residual = 1e-9
    #: Bound of the symbol below which elimination on cells is tried before iterations.
    small_floor = 1e-2
    #: Smallest eigenvalue of the circulant preconditioner, beside the largest: it need not be
    #: positive definite where Φ is.
    least_share = 1e-8
    #: Number of threads of a Fourier transform.
    workers = 2

    def __init__(
        self,
        graph: AnswerGraph,
        shape: Sequence[int],
        rule: DistanceRule,
        points: Ints | slice = slice(None),
        widths: Sequence[int] = (),
    ) -> None:
        super().__init__(graph.size)
        self.shape = tuple(shape)
        self.points = points
        self._rule = rule
        self._graph = graph
        self._widths = tuple(widths)
        # At least twice the side along each axis, so that no difference wraps around.
        self._box = tuple(
            scipy.fft.next_fast_len(2 * side - 1, real=True) for side in shape
        )

    @classmethod
    def of(cls, graph: AnswerGraph) -> Self | None:
        """Return the lattice of a bundle of sums or counts, or ``None`` for another graph.

        >>> from tightrope.graphs import PathPower, Cycle
        >>> LatticeStructure.of(PathPower(10, 8)).shape, LatticeStructure.of(Cycle(5))
        ((10,), None)
        """
        if not graph.box:
            lattice = graph.lattice()
            return None if lattice is None else cls(graph, *lattice)
        sizes, widths = zip(*graph.box, strict=True)
        return cls(graph, sizes, functools.partial(_chebyshev, widths), widths=widths)

    def _floor(self, alpha: float) -> float | None:
        """Return a lower bound of the symbol at α, or ``None`` when there is none."""
        return symbol_floor(alpha, self._widths) if self._widths else None

    @functools.cached_property
    def _small(self) -> DenseStructure | None:
        """The matrix of a small lattice."""
        few = self.size <= DenseStructure.verified_limit
        return DenseStructure(self._graph) if few else None

    @functools.lru_cache(maxsize=3)  # noqa: B019 - a few large arrays, kept while α is the same
    def _kernel(
        self, alpha: Alpha, box: tuple[int, ...], kind: np.dtype[Any]
    ) -> AnyArray:
        """Return the Fourier transform of the powers of α wrapped into a box."""
        # Differences along a side: first those ahead, then those behind.
        steps = [np.r_[: side // 2 + 1, side // 2 + 1 - side : 0] for side in box]
        distance = self._rule(np.ix_(*steps))
        lengths = np.arange(int(distance.max()) + 1)
        powers = kind.type(alpha) ** lengths
        transform = scipy.fft.rfftn(powers[distance], workers=self.workers)
        # Distances are even in the differences, so the transform is real.
        return np.asarray(transform.real)

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` by Fourier transforms."""
        if x.ndim > 1:
            columns = [self.apply(alpha, column) for column in x.T]
            return np.stack(columns, axis=1)
        kernel = self._kernel(alpha, self._box, x.dtype)
        return self._filter(x, kernel, self._box)

    def _filter(
        self, x: AnyArray, spectrum: AnyArray, box: tuple[int, ...]
    ) -> AnyArray:
        grid = np.zeros(self.shape, x.dtype)
        grid.ravel()[self.points] = x
        wave = scipy.fft.rfftn(grid, box, workers=self.workers)
        wave *= spectrum
        full = scipy.fft.irfftn(wave, box, workers=self.workers, overwrite_x=True)
        corner = tuple(slice(side) for side in self.shape)
        part = full[corner].ravel()
        return np.ascontiguousarray(part[self.points])

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Solve iteratively to a relative residual of ``tolerance``."""
        if b.ndim > 1:
            columns = [self.solve(alpha, column) for column in b.T]
            return np.stack(columns, axis=1)
        floor = self._floor(alpha)
        if floor is None and self._small is not None:
            return self._small.solve(alpha, b)
        # Conjugate gradients take about √(max f / min f) steps: many where the floor is low.
        if floor is None or floor < self.small_floor:
            folded = self._by_cells(alpha, b)
            if folded is not None:
                return folded
        square = (self.size, self.size)
        phi = scipy.sparse.linalg.LinearOperator(
            square, matvec=lambda x: self.apply(alpha, x), dtype=np.float64
        )
        if floor is not None:
            # The circulant matrix of the box wrapped to a torus: its spectrum is one transform.
            circulant = self._kernel(alpha, self.shape, b.dtype)
            smallest = circulant.max() * self.least_share
            inverse = 1 / np.maximum(circulant, smallest)
            preconditioner = scipy.sparse.linalg.LinearOperator(
                square,
                matvec=lambda x: self._filter(x, inverse, self.shape),
                dtype=np.float64,
            )
            x, failed = scipy.sparse.linalg.cg(
                phi, b, rtol=self.tolerance, maxiter=self.steps, M=preconditioner
            )
        else:
            x, failed = scipy.sparse.linalg.minres(
                phi, b, rtol=self.tolerance, maxiter=self.steps
            )
        if failed and self._small is not None:
            return self._small.solve(alpha, b)
        if failed:
            raise CheckFailed(
                f"Φx = b on {self.size} answers did not converge in {self.steps} steps at "
                f"α = {alpha:.6g}: take a larger ε"
            )
        return np.asarray(x)

    def _by_cells(self, alpha: float, b: Floats) -> Floats | None:
        """Solve on cells of answers that see the same, where b is alike on them and they fit."""
        if not (self._widths and self._is_alike(b) and self.cells.are_few):
            return None
        x = self.cells.solve(alpha, b)
        return x if self._fits(alpha, x, b) else None

    def _is_alike(self, b: Floats) -> bool:
        """Whether b is the same on every cell; then it is the same read backwards."""
        return np.array_equal(b, b[::-1]) and self.cells.holds(b)

    def _fits(self, alpha: float, x: AnyArray, b: AnyArray) -> bool:
        residual = self.apply(alpha, x) - b
        allowed = self.residual * np.abs(b).max()
        return bool(np.abs(residual).max() <= allowed)

    @functools.cached_property
    def cells(self) -> Cells:
        """Answers that see the same, in a box that is the same from either end along every axis.

        >>> from tightrope.graphs import PathPower, StrongProduct
        >>> nine = LatticeStructure.of(StrongProduct([PathPower(3), PathPower(3)]))
        >>> nine.cells.label.reshape(3, 3).tolist()
        [[0, 1, 0], [1, 2, 1], [0, 1, 0]]
        """
        shape = self.shape
        places = np.indices(self.shape, np.int32)
        points = places.reshape(len(self.shape), -1)
        # The distance of every coordinate from the nearer end.
        last = np.array(shape)[:, None] - 1
        near = np.minimum(points, last - points)
        # Axes with the same side and width may change places.
        kinds = list(zip(shape, self._widths, strict=True))
        for kind in set(kinds):
            axes = [k for k, mine in enumerate(kinds) if mine == kind]
            near[axes] = np.sort(near[axes], axis=0)
        keys = np.ravel_multi_index(tuple(near), shape)
        _, first, label = np.unique(keys, return_index=True, return_inverse=True)

        def codes(some: Places, others: Places) -> AnyArray:
            apart = points[:, None, others] - points[:, some, None]
            return self._rule(list(apart)).astype(np.uint16)

        corners = [np.array(side - 1) for side in shape]
        farthest = int(self._rule(corners))
        return Cells(label, first, np.arange(farthest + 1.0), codes)

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        """Return the smallest entry of z with Φz = 1, on cells where they fit."""
        folded = (
            self._by_cells(alpha, np.ones(self.size))
            if self.cells_are_quicker
            else None
        )
        if folded is None:
            return super().least(alpha, enough)
        return float(folded.min())

    def is_singular(self, alpha: float) -> bool:
        """Whether the matrix of a small lattice is singular."""
        if self._floor(alpha) is not None or self._small is None:
            return False
        return self._small.is_singular(alpha)

    def inverse_norm(self, alpha: float) -> float | None:
        """Return the bound from the symbol where it is positive, or from a small matrix."""
        floor = self._floor(alpha)
        if floor is not None:
            return 1 / floor
        return None if self._small is None else self._small.inverse_norm(alpha)


class PlaneStructure(LatticeStructure):
    """Two paths at once, by recurrences along diagonals and rows made short.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> plane = PlaneStructure.of(StrongProduct([PathPower(9), PathPower(8)]))
    >>> plane.apply(0.5, np.eye(72)[0]).reshape(9, 8)[1, :3].round(6).tolist()
    [0.5, 0.5, 0.25]
    """

    words = "rows made short along the diagonals"
    #: Largest residual, beside the right-hand side, of what elimination finds at a large α.
    residual = 1e-7
    #: Short rows are quicker than sums over cells.
    cells_are_quicker = False

    @classmethod
    def of(cls, graph: AnswerGraph, shortest: int = 8, longest: int = 4) -> Self | None:
        """Return the plane of two counts, or ``None`` for another graph.

        Sides are at least ``shortest`` and the longer one at most ``longest`` times the other: in
        a narrow strip most diagonals lie outside.

        >>> from tightrope.graphs import PathPower, StrongProduct
        >>> PlaneStructure.of(StrongProduct([PathPower(9), PathPower(9, 2)])) is None
        True
        """
        box = graph.box or ()
        if len(box) != 2 or any(size < shortest or width != 1 for size, width in box):
            return None
        short, long = sorted(size for size, _ in box)
        if long > longest * short:
            return None
        return super().of(graph)

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` by recurrences along the diagonals."""
        if x.ndim > 1:
            columns = [self.apply(alpha, column) for column in x.T]
            return np.stack(columns, axis=1)
        place, shape = self._diagonals
        rate = x.dtype.type(alpha)
        wave = np.zeros(shape, x.dtype)
        inside = place[1:-1, 1:-1].ravel()
        wave.ravel()[inside] = x
        # (1-α²) / |1-αU|², then the same for V: one recurrence each way along either diagonal.
        for _ in range(2):
            wave = _both_ways(rate, np.ascontiguousarray(wave.transpose(2, 1, 0)))
        seen = wave.ravel()[place]
        # 1 + 2α (cos θx + cos θy) / (1+α)²: a five-point stencil
        middle = seen[1:-1, 1:-1]
        along_rows = seen[:-2, 1:-1] + seen[2:, 1:-1]
        beside = along_rows + seen[1:-1, :-2] + seen[1:-1, 2:]
        weight = rate / (1 + rate) ** 2
        return np.asarray((middle + weight * beside).ravel())

    @functools.cached_property
    def _diagonals(self) -> tuple[NDArray[np.int32], tuple[int, int, int]]:
        """Where every answer, and a margin of one, lies in two grids of diagonals."""
        rows, columns = (side + 2 for side in self.shape)
        x = np.arange(rows)[:, None]
        y = np.arange(columns)[None, :]
        up = x + y
        down = x - y + columns - 1
        side = (rows + columns) // 2 + 1
        # A step along a diagonal changes one of the two by 2: even and odd ones never meet.
        row = up // 2 * 2 + up % 2
        place = row * side + down // 2
        return place.astype(np.int32), (side, 2, side)

    def solve(self, alpha: float, b: Floats) -> Floats:
        """Solve the short rows where they are few or few steps do, else by conjugate gradients."""
        if b.ndim == 1:
            x = self._rows(self._is_alike(b)).solve(alpha, b)
            # At a steep α rows nearly cancel: what elimination finds is checked.
            if x is not None and (alpha <= ShortRows.steep or self._fits(alpha, x, b)):
                return x
        return super().solve(alpha, b)

    @functools.lru_cache(maxsize=2)  # noqa: B019 - the same at every α
    def _rows(self, alike: bool) -> ShortRows:
        return ShortRows(self.shape, self.cells if alike else None)


class ShortRows:
    """Combinations of rows of Φ that vanish but for a few entries, as a sparse matrix.

    Parameters
    ----------
    shape
        The sides of the box, at least 8 each: rows near opposite edges must not meet.
    cells
        Answers that see the same; with them, one row and one entry for each cell.

    Examples
    --------
    >>> ShortRows((8, 8)).combined(0.5, np.ones(64)).reshape(8, 8)[3].tolist()
    [1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 1.0, 1.0]
    """

    #: The α from which on iterations take too many steps.
    steep = 0.85
    #: Most rows that are eliminated: where iterations would do, and at a steep α.
    eliminated = 15_000
    most_eliminated = 150_000

    def __init__(self, shape: tuple[int, ...], cells: Cells | None = None) -> None:
        answers = np.arange(math.prod(shape))
        self._label, first = (cells.label, cells.first) if cells else (answers, answers)
        self._shape = shape
        place = np.unravel_index(first, shape)
        # 0, 1 or 2 along each axis: near the first edge, in the middle, near the last.
        near = [
            (at >= 2) + (at >= n - 2).astype(np.int64)
            for at, n in zip(place, shape, strict=True)
        ]
        self._zone = 3 * near[0] + near[1]
        # Places and steps in a box with a margin that no step leaves.
        wide = shape[1] + 2 * MARGIN
        row = place[0] + MARGIN
        self._place = row * wide + place[1] + MARGIN
        self._steps = STEPS @ (wide, 1)
        grid = self._label.reshape(shape)
        labels = np.pad(grid, MARGIN, constant_values=-1).ravel()
        # Rows, columns and places in the table of the entries that lie in the box.
        entries = []
        # Which entries are 0 does not depend on α.
        for zone, used in enumerate(_weights(0.5)[1] != 0):
            row = np.flatnonzero(self._zone == zone)[:, None]
            k = np.flatnonzero(used)
            column = labels[self._place[row] + self._steps[k]]
            entry = zone * len(STEPS) + k
            inside = column >= 0
            all_three = np.broadcast_arrays(row, column, entry)
            entries.append([part[inside] for part in all_three])
        columns = zip(*entries, strict=True)
        self._entries = [np.concatenate(parts) for parts in columns]

    def combined(self, alpha: float, b: Floats) -> Floats:
        """Return what is done to a right-hand side."""
        table = _weights(alpha)[0]
        wide = np.pad(b.reshape(self._shape), MARGIN).ravel()
        out = np.zeros(len(self._zone))
        for k in np.flatnonzero(table.any(axis=0)):
            targets = self._place + self._steps[k]
            out += table[self._zone, k] * wide[targets]
        return out

    def at(self, alpha: float) -> scipy.sparse.csr_array:
        """Return what is left of Φ."""
        row, column, code = self._entries
        count = len(self._zone)
        return scipy.sparse.csr_array(
            (_weights(alpha)[1].ravel()[code], (row, column)), (count, count)
        )

    def solve(self, alpha: float, b: Floats, steps: int = 300) -> Floats | None:
        """Return x with Φx = b, or ``None`` when that takes too many steps."""
        steep = alpha > self.steep
        most = self.most_eliminated if steep else self.eliminated
        few = len(self._zone) <= most
        if steep and not few:
            return None
        short = self.at(alpha)
        right = self.combined(alpha, b)
        if not few:
            x, failed = scipy.sparse.linalg.bicgstab(
                short, right, rtol=LatticeStructure.tolerance, maxiter=steps
            )
            return None if failed else np.asarray(x[self._label])
        # Pivots down to this share of the largest entry beside them stay on the diagonal: that
        # keeps the order in which few entries fill in.
        pivot = 1e-3
        symmetric = {"SymmetricMode": True}
        factors = scipy.sparse.linalg.splu(
            short.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=pivot, options=symmetric
        )
        return np.asarray(factors.solve(right)[self._label])


@functools.lru_cache(maxsize=4)
def _weights(alpha: float) -> tuple[Floats, Floats]:
    """Return for each of nine zones which rows are combined, and which entries that leaves.

    The zones are the corners, edges and middle of the box, row by row, and there is one column
    for each of the ``STEPS`` away from an answer. Everything is divided by (1-α)², but for a
    corner by 1-α: what is left is of order 1.
    """
    # Near α = 1 the rows nearly cancel.
    rate = np.longdouble(alpha)
    combined_rows = []
    for zones in itertools.product((-1, 0, 1), repeat=2):
        rows = (STEPS == 0).all(axis=1).astype(np.longdouble)
        for step in itertools.product((-1, 1), repeat=2):
            # A factor 1 - αU^{±1} or 1 - αV^{±1}; near an edge only those that lead away from it.
            if zones[0] * step[0] <= 0 and zones[1] * step[1] <= 0:
                shift = (2 * MARGIN + 1) * step[0] + step[1]
                rows = rows - rate * np.roll(rows, shift)
        power = 2 if 0 in zones else 1
        combined_rows.append(rows / (1 - rate) ** power)
    combined = np.stack(combined_rows)
    far = np.abs(STEPS[:, None] - STEPS).max(axis=2)
    powers = rate ** np.arange(2 * MARGIN + 1)
    short = combined @ powers[far]
    # Entries that vanish are round-off of the sum of absolute values.
    sizes = np.abs(combined).sum(axis=1, keepdims=True)
    zero = 8 * np.finfo(np.longdouble).eps * sizes
    short[np.abs(short) <= zero] = 0
    return combined.astype(np.float64), short.astype(np.float64)


def _both_ways(rate: Any, wave: AnyArray) -> AnyArray:
    """Return the sums over all entries along the first axis, times the rate for every step."""
    out = wave.copy()
    for order in (range(1, len(wave)), range(len(wave) - 2, -1, -1)):
        carried = np.zeros_like(wave[0])
        for t in order:
            carried += wave[t - order.step]
            carried *= rate
            out[t] += carried
    return out


def _chebyshev(widths: Sequence[int], apart: Sequence[Ints]) -> Ints:
    far: list[AnyArray] = [
        -(-np.abs(a).astype(np.int32) // w) for a, w in zip(apart, widths, strict=True)
    ]
    return functools.reduce(np.maximum, far)


@functools.lru_cache(maxsize=256)
def symbol_floor(
    alpha: float,
    widths: tuple[int, ...],
    most: int = 1 << 22,
    cut: float = 1e-13,
    rounding: float = 1e-12,
) -> float | None:
    r"""Return a positive lower bound of the symbol of :math:`\max_k \lceil|\Delta_k|/w_k\rceil`.

    In the plane with widths 1 the distance is a sum of two along the diagonals, and
    :math:`f \ge ((1-\sqrt\alpha)/(1+\sqrt\alpha))^2`. Otherwise f is sampled on a grid and
    corrected for the gaps by its largest second derivative and for the part of the series cut
    off, which is at most ``cut``, and for the ``rounding`` of the transform, a part of the sum of
    the series. ``None`` when that is not positive, or would need more than ``most`` points.

    Examples
    --------
    >>> round(symbol_floor(0.25, (1, 1)), 12)
    0.111111111111
    >>> symbol_floor(0.9, (5,)) is None     # sums at a small ε: Φ may be indefinite
    True
    """
    if all(width == 1 for width in widths) and len(widths) <= 2:
        root = alpha ** (1 / len(widths))
        share = (1 - root) / (1 + root)
        return float(share ** len(widths))
    # The first power cut off is at most ``cut`` alone.
    axes = len(widths)
    reach = 1 + int(math.log(cut) / math.log(alpha))
    while True:
        sides = [2 * reach * width + 1 for width in widths]
        if math.prod(sides) > most:
            return None
        if _outside(alpha, widths, reach) <= cut:
            break
        reach *= 2
    steps = [np.arange(side) - side // 2 for side in sides]
    apart = np.meshgrid(*steps, indexing="ij", sparse=True)
    values = alpha ** _chebyshev(widths, apart).astype(np.float64)
    # |∂²f| ≤ Σ α^d Δ² along each axis: between two points of the grid f falls by at most gap.
    bends = [float((values * a**2).sum()) for a in apart]
    bend = sum(bends)
    # A finer grid proves more; with many axes as many points as may be held together.
    shared = 1 << int(math.log2(most) / axes)
    points = {1: 1 << 16, 2: 1 << 10}.get(axes, shared)
    wrapped = np.zeros((points,) * axes)
    places = np.broadcast_arrays(*[a % points for a in apart])
    np.add.at(wrapped, tuple(places), values)
    least = float(np.fft.rfftn(wrapped).real.min())
    # With steps of h = 2π/points, no angle is further than h/2 from the grid along an axis.
    step = 2 * math.pi / points
    gap = bend * axes * step**2 / 8
    floor = (
        least - gap - _outside(alpha, widths, reach) - rounding * float(values.sum())
    )
    return floor if floor > 0 else None


def _outside(
    alpha: float, widths: Sequence[int], reach: int, more: float = 1.01
) -> float:
    """Bound the sum of the powers of α over differences farther than ``reach``.

    Shells beyond those added up are less than ``more`` adds: their powers are below e^-60 of the
    first one's.
    """
    faded = int(60 / -math.log(alpha))
    far = reach + np.arange(2 + faded)
    # A ball of the maximum norm has Π_k (2·r·w_k + 1) points.
    sides = 2.0 * np.multiply.outer(far, widths) + 1
    balls = np.prod(sides, axis=1)
    spheres = np.diff(balls)
    return float(spheres @ alpha ** far[1:]) * more


# -- sums: powers of a path ---------------------------------------------------------------


class PathPowerStructure(LatticeStructure):
    r"""Answers on a line with :math:`d = \lceil |i-j|/w \rceil`, at least :math:`2w` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import PathPower
    >>> path = PathPowerStructure.of(PathPower(4))
    >>> path.solve(0.5, np.ones(4)).round(4).tolist()
    [0.6667, 0.3333, 0.3333, 0.6667]
    """

    words = "banded elimination"
    cells_are_quicker = False
    least_is_cheap = True

    @classmethod
    def of(cls, graph: AnswerGraph, most_work: int = 2 * 10**9) -> Self | None:
        """Return the line of a sum, or ``None`` where another structure is needed or cheaper.

        Every row needs a partner one width away, and elimination takes n·w² steps.
        """
        size = graph.size
        width = graph.power
        if width is None or size < 2 * width or size * width**2 > most_work:
            return None
        return super().of(graph)

    @property
    def width(self) -> int:
        """The largest difference between neighbours."""
        return self._widths[0]

    def apply(self, alpha: Alpha, x: AnyArray) -> AnyArray:
        r"""Return :math:`\Phi x` by one recurrence from the left and one from the right."""
        left = _one_sided(alpha, x, self.width)
        backwards = _one_sided(alpha, x[::-1], self.width)
        right = backwards[::-1]
        return x + left + right

    def solve(self, alpha: float, b: Floats) -> Floats:
        r"""Solve the banded system of row combinations."""
        reach = self.width - 1
        combined = _combine_rows(alpha, b, self.width)
        bands = _bands(alpha, self.size, self.width)
        solved = scipy.linalg.solve_banded(
            (reach, reach), bands, combined, overwrite_ab=True
        )
        return np.asarray(solved, np.float64)

    def least(self, alpha: float, enough: float = -np.inf) -> float:
        """Return the smallest entry of z with Φz = 1, by its modes where they are apart."""
        modes = modes_of(self.size, self.width, alpha)
        if modes is None:
            return super().least(alpha, enough)
        return modes.least(enough)


def _one_sided(alpha: Alpha, x: AnyArray, width: int) -> AnyArray:
    r"""Return :math:`\sum_{j<i} \alpha^{\lceil (i-j)/w \rceil} x_j` for every i.

    In blocks of w rows it is a first-order recurrence on sums over the last w entries; those
    sums are put together from two blocks, so that nothing cancels.
    """
    # y_i = α (Σ_{i-w ≤ j < i} x_j + y_{i-w})
    blocks = -(-len(x) // width)
    padded = np.zeros((blocks * width, *x.shape[1:]), x.dtype)
    padded[: len(x)] = x
    block = padded.reshape(blocks, width, -1)
    before = np.cumsum(block, axis=1) - block if width > 1 else np.zeros_like(block)
    reversed_sums = np.cumsum(block[:, ::-1], axis=1)
    after = reversed_sums[:, ::-1]
    before[1:] += after[:-1]
    rate = x.dtype.type(alpha)
    out = recurrence(rate, rate * before)
    return np.asarray(out).reshape(padded.shape)[: len(x)]


def recurrence(rate: Any, steps: AnyArray, few: int = 1 << 16) -> AnyArray:
    """Return y with y_t = rate·y_{t-1} + steps_t, down the first axis.

    Few numbers take less time here than the import of a signal library: sums over the last 1, 2,
    4, … steps, until the power of the rate vanishes. A power has the error of so many products.

    >>> recurrence(0.5, np.array([1.0, 0.0, 1.0])).tolist()
    [1.0, 0.5, 1.25]
    """
    if steps.size > few:
        one = steps.dtype.type(1)
        poles = np.array([one, -rate], steps.dtype)
        return np.asarray(scipy.signal.lfilter(poles[:1], poles, steps, axis=0))
    sums = steps.copy()
    reach = 1
    while reach < len(sums) and rate:
        sums[reach:] += rate * sums[:-reach]
        rate = rate * rate
        reach *= 2
    return sums


def _combine_rows(alpha: float, b: Floats, width: int) -> Floats:
    """Apply the row combinations to the right-hand side, divided by 1-α."""
    # (1+α²) b_i - α b_{i-w} - α b_{i+w}, one-sided at the ends
    out = b.copy()
    out[width:-width] *= 1 + alpha**2
    out[:-width] -= alpha * b[width:]
    out[width:] -= alpha * b[:-width]
    return out / (1 - alpha)


def _bands(alpha: float, size: int, width: int) -> Floats:
    """Return the diagonals of the combined rows, in LAPACK's layout, divided by 1-α."""
    reach = width - 1
    # A combined row has 1 + α on its diagonal and α up to w - 1 beside it.
    bands = np.full((2 * reach + 1, size), alpha)
    bands[reach] = 1 + alpha
    rows = _end_rows(alpha, width)
    i, j = np.nonzero(rows)
    # The last rows are the first ones, mirrored.
    for side in (bands, bands[::-1, ::-1]):
        side[reach + i - j, j] = rows[i, j]
    return bands


@dataclass(frozen=True)
class Modes:
    """The solution of Φz = 1 on a path power, without its entries.

    Parameters
    ----------
    size
        The number of answers.
    first
        The entry at either end.
    middle
        The constant.
    logs, weights
        Logarithms of the modes, none of them growing, and their weights.

    Examples
    --------
    >>> modes = modes_of(1_000_001, 5, 0.36787944117144233)
    >>> round(modes.least(), 9), modes.entries(np.array([0, 500_000])).round(6).tolist()
    (0.011351149, [0.464873, 0.146633])
    """

    size: int
    first: float
    middle: float
    logs: NDArray[np.complex128]
    weights: NDArray[np.complex128]

    def entries(self, places: Ints) -> Floats:
        """Return some entries."""
        far = self.size - 1 - places
        out = np.full(len(places), self.middle)
        for log, weight in zip(self.logs, self.weights, strict=True):
            both_ends = np.exp(log * places) + np.exp(log * far)
            out += (weight * both_ends).real
        out[(places == 0) | (far == 0)] = self.first
        return out

    def least(self, enough: float = -np.inf, count: int = 512) -> float:
        """Return the smallest entry, or the first found below ``enough``.

        The solution is the same from both ends, so half of it is looked at, and no more once
        the modes have died away: first so many entries, then twice as many each time.
        """
        half = (self.size + 1) // 2
        least = self.first
        start = 1
        while start < half and least >= enough:
            stop = min(half, start + count)
            entries = self.entries(np.arange(start, stop))
            least = min(least, float(entries.min()))
            if self._faded(stop):
                return min(least, self.middle)
            start = stop
            count = 2 * count
        return least

    def _faded(self, place: int, weight: float = 1e-18) -> bool:
        """Whether from this entry on all modes together weigh less than a rounding."""
        return bool(
            2 * (np.abs(self.weights) * np.exp(self.logs.real * place)).sum() < weight
        )


def modes_of(size: int, width: int, alpha: float, widest: int = 64) -> Modes | None:
    """Return the solution of Φz = 1 on a path power, or ``None`` where modes nearly coincide.

    >>> modes_of(9, 5, 0.5) is None           # too short: the ends touch
    True
    """
    if not 1 <= width <= widest or size < 4 * width:
        return None
    # Σ_{|k|<w} r^k in x = (r + 1/r)/2 is 1 + 2 Σ T_k(x); each root x has two r, with product 1.
    series = [1 + alpha, *[2 * alpha] * (width - 1)]
    turns = np.polynomial.chebyshev.chebroots(series)
    roots = turns.astype(np.complex128)
    # √(x² - 1) as two roots, with the branch cut on [-1, 1].
    split = np.sqrt(roots - 1) * np.sqrt(roots + 1)
    one = roots - split
    other = roots + split
    # Of each pair r, 1/r the mode that does not grow.
    decays = np.abs(one) <= np.abs(other)
    logs = np.log(np.where(decays, one, other))
    # Rounding must not let a mode of modulus 1 grow over a million answers.
    logs = np.minimum(logs.real, 0) + 1j * logs.imag
    # The constant c of the rule: c + α (2w-1) c = 1 - α
    middle = (1 - alpha) / (1 + alpha * (2 * width - 1))
    near = np.arange(1, 2 * width - 1)
    far = size - 1 - near
    # Every mode is there twice, falling from either end.
    falling = np.exp(np.outer(near, logs))
    rising = np.exp(np.outer(far, logs))
    shapes = falling + rising
    rows = _end_rows(alpha, width)
    # The entry at the end is no part of the rule: it has an unknown of its own.
    first_column = rows[:, :1]
    others = rows[:, 1:]
    matrix = np.hstack([others @ shapes, first_column])
    right = 1 - middle * others.sum(axis=1)
    try:
        *weights, first = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return None
    modes = Modes(size, float(first.real), middle, logs, np.array(weights))
    if not _fits(modes, rows, width, alpha):
        return None
    return modes


def _end_rows(alpha: float, width: int) -> Floats:
    """Return the combined rows at the first w answers, over the first 2w-1 answers.

    They are one-sided and see the entries beyond them with weight α(1+α).
    """
    row = np.arange(width)[:, None]
    column = np.arange(2 * width - 1)[None, :]
    weights = np.where(column < row, alpha * (1 + alpha), alpha)
    weights = np.where(column == row, 1 + alpha, weights)
    return np.where(column - row < width, weights, 0.0)


def _fits(
    modes: Modes,
    rows: Floats,
    width: int,
    alpha: float,
    tolerance: float = 1e-9,
) -> bool:
    """Whether the entries near an end solve the rows there and the rule beyond them."""
    near = modes.entries(np.arange(3 * width))
    ends = rows @ near[: rows.shape[1]] - 1
    windows = np.lib.stride_tricks.sliding_window_view(near[1:], 2 * width - 1)
    middles = windows[:, width - 1]
    beyond = alpha * windows.sum(axis=1) + middles - (1 - alpha)
    scale = max(1.0, float(np.abs(near).max()))
    end_error = float(np.abs(ends).max())
    rule_error = float(np.abs(beyond).max())
    worst = max(end_error, rule_error)
    return bool(np.isfinite(near).all() and worst <= tolerance * scale)
