r"""Φ on integer points whose distance depends on their difference only: bundles of counts.

:math:`\Phi x` is a convolution with :math:`\alpha^{d(\Delta)}`, done by Fourier transforms in a
box of twice the side. Systems are solved by conjugate gradients with a circulant
preconditioner; where Φ may be indefinite, by elimination on classes of answers that see the same,
or by MINRES.

Every coordinate may be read from either end, and equal coordinates may change places: up to
:math:`2^k k!` answers see the same. Averaging over them commutes with Φ, so :math:`\Phi x = b`
with b alike on all of them has one equation for each class.

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
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, minres, splu

from tightrope.errors import CheckFailed
from tightrope.graphs import AnswerGraph
from tightrope.phi.structure import Alpha, DenseStructure, Structure

#: From the array of differences along each axis (broadcast) to distances.
Rule = Callable[[Sequence[NDArray[Any]]], NDArray[Any]]
#: How far a combined row may reach from its answer, and all such steps along two axes.
MARGIN = 3
STEPS = np.array(list(itertools.product(range(-MARGIN, MARGIN + 1), repeat=2)))

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Pattern = tuple[Places, Places, Places]


class Classes:
    """The classes of answers of a box that see the same, and the sums of Φ over them.

    Parameters
    ----------
    shape
        The sides of the box.
    alike
        For every axis a number; axes with the same one and the same side may change places.
    rule
        Distance from the differences along each axis.

    Attributes
    ----------
    label
        The class of every point.
    first
        The first point of every class.

    Examples
    --------
    >>> Classes((3, 3), (1, 1), lambda apart: np.maximum(*apart)).label.reshape(3, 3).tolist()
    [[0, 1, 0], [1, 2, 1], [0, 1, 0]]
    """

    #: Most classes that are eliminated.
    most_classes = 2_500
    #: Most entries of Φ, one row for each class, that are added up.
    most_entries = 400_000_000

    def __init__(self, shape: Sequence[int], alike: Sequence[int], rule: Rule) -> None:
        self._shape, self._rule = shape, rule
        points = np.indices(shape).reshape(len(shape), -1)
        near = np.minimum(points, np.array(shape)[:, None] - 1 - points)
        kinds = list(zip(shape, alike, strict=True))
        for kind in set(kinds):
            axes = [k for k, mine in enumerate(kinds) if mine == kind]
            near[axes] = np.sort(near[axes], axis=0)
        keys = np.ravel_multi_index(tuple(near), tuple(shape))
        _, self.first, self.label = np.unique(keys, return_index=True, return_inverse=True)
        self.size = len(self.first)

    @property
    def are_few(self) -> bool:
        """Whether the sums of Φ are made and eliminated."""
        entries = self.size * len(self.label)
        return self.size <= self.most_classes and entries <= self.most_entries

    def holds(self, b: NDArray[np.float64]) -> bool:
        """Whether a vector is the same on every class."""
        return bool((b == b[self.first][self.label]).all())

    def quotient(self, alpha: float, block: int = 4_000_000) -> NDArray[np.float64]:
        r"""Return :math:`Q_{AB} = \sum_{b \in B} \alpha^{d(a,b)}` for any :math:`a \in A`."""
        out, step = np.empty((self.size, self.size)), max(1, block // len(self.label))
        for at in range(0, self.size, step):
            far = self._distances(at, at + step) if self._kept is None else self._kept[at:][:step]
            powers = alpha ** np.arange(int(far.max()) + 1)
            out[at : at + step] = np.add.reduceat(powers[far], self._ordered[1], axis=1)
        return out

    def _distances(self, start: int, stop: int) -> NDArray[Any]:
        """Return the distances from some classes to all points, class by class."""
        points, starts = self._ordered
        here = points[:, starts[start:stop], None]
        return self._rule(list(points[:, None, :] - here)).astype(np.uint16)

    @functools.cached_property
    def _ordered(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """All points, class by class, and where each class starts."""
        order = np.argsort(self.label, kind="stable")
        points = np.indices(self._shape, np.int32).reshape(len(self._shape), -1)[:, order]
        return points, np.searchsorted(self.label[order], np.arange(self.size))

    @functools.cached_property
    def _kept(self) -> NDArray[Any] | None:
        """All distances at once, where they take 40 MB at most: they are the same at every α."""
        fits = self.size * len(self.label) <= 20_000_000
        return self._distances(0, self.size) if fits else None

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return x with Φx = b for a vector that is the same on every class.

        ``None`` when the sums are singular.
        """
        try:
            found = np.linalg.solve(self.quotient(alpha), b[self.first])
        except np.linalg.LinAlgError:
            return None
        return np.asarray(found[self.label])


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
        Flat positions of the nodes in the box, in node order; all of them when ``None``.
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
    tolerance, steps = 1e-13, 1000
    #: Largest residual, beside the right-hand side, of what elimination finds.
    residual = 1e-9
    #: Bound of the symbol below which elimination on classes is tried before iterations.
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
        rule: Rule,
        *,
        points: NDArray[np.int64] | None = None,
        widths: Sequence[int] = (),
    ) -> None:
        self.shape = tuple(shape)
        self.points = points
        self.size = math.prod(shape) if points is None else len(points)
        self._rule, self._graph, self._widths = rule, graph, tuple(widths)
        self._box = tuple(fft.next_fast_len(2 * side - 1, real=True) for side in shape)

    @classmethod
    def of(cls, graph: AnswerGraph) -> Self | None:
        """Return the lattice of a bundle of sums or counts, or ``None`` for another graph.

        >>> from tightrope.graphs import PathPower, Cycle
        >>> LatticeStructure.of(PathPower(10, 8)).shape, LatticeStructure.of(Cycle(5))
        ((10,), None)
        """
        if not graph.box:
            lattice = graph.lattice()
            if lattice is None:
                return None
            shape, rule, points = lattice
            return cls(graph, shape, rule, points=points)
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

    def _kernel(self, alpha: Alpha, box: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return the Fourier transform of the powers of α wrapped into a box."""
        apart = []
        for axis, side in enumerate(box):
            steps = np.arange(side)
            steps = np.where(steps > side // 2, steps - side, steps)
            apart.append(steps.reshape([-1 if a == axis else 1 for a in range(len(box))]))
        distance = self._rule(apart)
        powers = kind(alpha) ** np.arange(int(distance.max()) + 1)
        transform = fft.rfftn(powers[distance], workers=self.workers)
        return np.asarray(transform.real)

    @functools.lru_cache(maxsize=2)  # noqa: B019 - a few large arrays, kept while α is the same
    def _spectrum(self, alpha: Alpha, extended: bool) -> NDArray[Any]:
        return self._kernel(alpha, self._box, np.longdouble if extended else np.float64)

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by Fourier transforms."""
        if x.ndim > 1:
            return np.stack([self.apply(alpha, column) for column in x.T], axis=1)
        extended = x.dtype == np.longdouble
        return self._filter(x, self._spectrum(alpha, extended), self._box)

    def _filter(
        self, x: NDArray[Any], spectrum: NDArray[Any], box: tuple[int, ...]
    ) -> NDArray[Any]:
        if self.points is None:
            grid = x.reshape(self.shape)
        else:
            grid = np.zeros(self.shape, x.dtype)
            grid.ravel()[self.points] = x
        wave = fft.rfftn(grid, box, workers=self.workers)
        wave *= spectrum
        full = fft.irfftn(wave, box, workers=self.workers, overwrite_x=True)
        part = full[tuple(slice(side) for side in self.shape)].ravel()
        return np.ascontiguousarray(part if self.points is None else part[self.points])

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Solve iteratively to a relative residual of ``tolerance``."""
        b = np.asarray(b, np.float64)
        if b.ndim > 1:
            return np.stack([self.solve(alpha, column) for column in b.T], axis=1)
        if not b.any():
            return np.zeros_like(b)
        floor = self._floor(alpha)
        if floor is None and self._small is not None:
            return self._small.solve(alpha, b)
        if floor is None or floor < self.small_floor:
            folded = self._by_classes(alpha, b)
            if folded is not None:
                return folded
        square = (self.size, self.size)
        phi = LinearOperator(square, matvec=lambda x: self.apply(alpha, x), dtype=np.float64)
        if floor is not None:
            rough = self._kernel(alpha, self.shape, np.float64)
            inverse = 1 / np.maximum(rough, rough.max() * self.least_share)
            near = LinearOperator(
                square, matvec=lambda x: self._filter(x, inverse, self.shape), dtype=np.float64
            )
            x, left = cg(phi, b, rtol=self.tolerance, maxiter=self.steps, M=near)
        else:
            x, left = minres(phi, b, rtol=self.tolerance, maxiter=self.steps)
        if left and self._small is not None:
            return self._small.solve(alpha, b)
        if left:
            raise CheckFailed(
                f"Φx = b on {self.size} answers did not converge in {self.steps} steps at "
                f"α = {alpha:.6g}: take a larger ε"
            )
        return np.asarray(x)

    def _by_classes(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Solve on classes of answers that see the same, where b is alike on them and they fit."""
        if not (self._widths and self._is_alike(b) and self.classes.are_few):
            return None
        found = self.classes.solve(alpha, b)
        return found if found is not None and self._fits(alpha, found, b) else None

    def _is_alike(self, b: NDArray[np.float64]) -> bool:
        """Whether b is the same on every class; then it is the same read backwards."""
        return np.array_equal(b, b[::-1]) and self.classes.holds(b)

    def _fits(self, alpha: float, found: NDArray[Any], b: NDArray[Any]) -> bool:
        left = self.apply(alpha, found) - b
        return bool(np.abs(left).max() <= self.residual * np.abs(b).max())

    @functools.cached_property
    def classes(self) -> Classes:
        """Answers that see the same, in a box that is symmetric along each axis."""
        return Classes(self.shape, self._widths, self._rule)

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        """Return the smallest entry of z with Φz = 1, on classes where they fit."""
        classes = self._by_classes(alpha, np.ones(self.size))
        return super().least(alpha, enough) if classes is None else float(classes.min())

    def is_singular(self, alpha: float) -> bool:
        """Whether the matrix of a small lattice is singular."""
        if self._floor(alpha) is not None or self._small is None:
            return False
        return self._small.is_singular(alpha)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - structures are few and live long
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
        return super().of(graph) if long <= longest * short else None

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by recurrences along the diagonals."""
        if x.ndim > 1:
            return np.stack([self.apply(alpha, column) for column in x.T], axis=1)
        place, shape = self._diagonals
        rate = x.dtype.type(alpha)
        wave = np.zeros(shape, x.dtype)
        wave.ravel()[place[1:-1, 1:-1].ravel()] = x
        for _ in range(2):
            wave = _both_ways(rate, np.ascontiguousarray(wave.transpose(2, 1, 0)))
        seen = wave.ravel()[place]
        beside = seen[:-2, 1:-1] + seen[2:, 1:-1] + seen[1:-1, :-2] + seen[1:-1, 2:]
        return np.asarray((seen[1:-1, 1:-1] + rate / (1 + rate) ** 2 * beside).ravel())

    @functools.cached_property
    def _diagonals(self) -> tuple[NDArray[np.int32], tuple[int, int, int]]:
        """Where every answer, and a margin of one, lies in two grids of diagonals."""
        rows, columns = (side + 2 for side in self.shape)
        x, y = np.arange(rows)[:, None], np.arange(columns)[None, :]
        up, down = x + y, x - y + columns - 1
        side = (rows + columns) // 2 + 1
        # A step along a diagonal changes one of the two by 2: even and odd ones never meet.
        place = (up // 2 * 2 + up % 2) * side + down // 2
        return place.astype(np.int32), (side, 2, side)

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Solve the short rows where they are few or few steps do, else by conjugate gradients."""
        b = np.asarray(b, np.float64)
        if b.ndim == 1 and b.any():
            found = self._rows(self._is_alike(b)).solve(alpha, b)
            if found is not None and (alpha <= ShortRows.steep or self._fits(alpha, found, b)):
                return found
        return super().solve(alpha, b)

    @functools.lru_cache(maxsize=2)  # noqa: B019 - the same at every α
    def _rows(self, alike: bool) -> ShortRows:
        return ShortRows(self.shape, self.classes if alike else None)

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        """Return the smallest entry of z with Φz = 1: short rows are quicker than their sums."""
        return Structure.least(self, alpha, enough)


class ShortRows:
    """Combinations of rows of Φ that vanish but for a few entries, as a sparse matrix.

    Parameters
    ----------
    shape
        The sides of the box, at least 8 each: rows near opposite edges must not meet.
    classes
        Answers that see the same; with them, one row and one entry for each class.

    Examples
    --------
    >>> ShortRows((8, 8)).combined(0.5, np.ones(64)).reshape(8, 8)[3].tolist()
    [1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 1.0, 1.0]
    """

    #: The α from which on iterations take too many steps.
    steep = 0.85
    #: Most rows that are eliminated: where iterations would do, and at a steep α.
    eliminated, most_eliminated = 15_000, 150_000

    def __init__(self, shape: tuple[int, ...], classes: Classes | None = None) -> None:
        every = np.arange(math.prod(shape))
        self._label, first = (classes.label, classes.first) if classes else (every, every)
        self._shape, place = shape, np.unravel_index(first, shape)
        near = [
            (at >= 2) + (at >= n - 2).astype(np.int64) for at, n in zip(place, shape, strict=True)
        ]
        self._zone = 3 * near[0] + near[1]
        # Places and steps in a box with a margin that no step leaves.
        wide = shape[1] + 2 * MARGIN
        self._place = (place[0] + MARGIN) * wide + place[1] + MARGIN
        self._steps = STEPS @ (wide, 1)
        labels = np.pad(self._label.reshape(shape), MARGIN, constant_values=-1).ravel()
        self._entries = self._pattern(labels)

    def _pattern(self, labels: Places) -> Pattern:
        """Return rows, columns and places in the table of the entries that lie in the box."""
        found = []
        for zone, used in enumerate(_weights(0.5)[1] != 0):
            row, k = np.flatnonzero(self._zone == zone)[:, None], np.flatnonzero(used)
            column = labels[self._place[row] + self._steps[k]]
            all_three = np.broadcast_arrays(row, column, zone * len(STEPS) + k)
            found.append([part[column >= 0] for part in all_three])
        row, column, code = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return row, column, code

    def combined(self, alpha: float, b: Floats) -> Floats:
        """Return what is done to a right-hand side."""
        table, wide = _weights(alpha)[0], np.pad(b.reshape(self._shape), MARGIN).ravel()
        out = np.zeros(len(self._zone))
        for k in np.flatnonzero(table.any(axis=0)):
            out += table[self._zone, k] * wide[self._place + self._steps[k]]
        return out

    def at(self, alpha: float) -> csr_array:
        """Return what is left of Φ."""
        (row, column, code), count = self._entries, len(self._zone)
        return csr_array((_weights(alpha)[1].ravel()[code], (row, column)), (count, count))

    def solve(self, alpha: float, b: Floats, steps: int = 300) -> Floats | None:
        """Return x with Φx = b, or ``None`` when that takes too many steps."""
        steep = alpha > self.steep
        few = len(self._zone) <= (self.most_eliminated if steep else self.eliminated)
        if steep and not few:
            return None
        short, right = self.at(alpha), self.combined(alpha, b)
        if not few:
            x, left = bicgstab(short, right, rtol=LatticeStructure.tolerance, maxiter=steps)
            return None if left else np.asarray(x[self._label])
        # Pivots down to this share of the largest entry beside them stay on the diagonal: that
        # keeps the order in which few entries fill in.
        pivot, symmetric = 1e-3, {"SymmetricMode": True}
        factors = splu(short.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=pivot, options=symmetric)
        return np.asarray(factors.solve(right)[self._label])


@functools.lru_cache(maxsize=4)
def _weights(alpha: float) -> tuple[Floats, Floats]:
    """Return for each of nine zones which rows are combined, and which entries that leaves.

    The zones are the corners, edges and middle of the box, row by row, and there is one column
    for each of the ``STEPS`` away from an answer. Everything is divided by (1-α)², but for a
    corner by 1-α: what is left is of order 1.
    """
    # Near α = 1 the rows nearly cancel.
    rate, made = np.longdouble(alpha), []
    for zones in itertools.product((-1, 0, 1), repeat=2):
        rows = (STEPS == 0).all(axis=1).astype(np.longdouble)
        for step in itertools.product((-1, 1), repeat=2):
            # Near an edge only the factors that lead away from it.
            if zones[0] * step[0] <= 0 and zones[1] * step[1] <= 0:
                rows = rows - rate * np.roll(rows, (2 * MARGIN + 1) * step[0] + step[1])
        made.append(rows / (1 - rate) ** (2 if 0 in zones else 1))
    combined = np.stack(made)
    far = np.abs(STEPS[:, None] - STEPS).max(axis=2)
    short = combined @ (rate ** np.arange(2 * MARGIN + 1))[far]
    zero = 8 * np.finfo(np.longdouble).eps * np.abs(combined).sum(axis=1, keepdims=True)
    short[np.abs(short) <= zero] = 0
    return combined.astype(np.float64), short.astype(np.float64)


def _both_ways(rate: Any, wave: NDArray[Any]) -> NDArray[Any]:
    """Return the sums over all entries along the first axis, times the rate for every step."""
    out = wave.copy()
    for order in (range(1, len(wave)), range(len(wave) - 2, -1, -1)):
        carried = np.zeros_like(wave[0])
        for t in order:
            carried += wave[t - order.step]
            carried *= rate
            out[t] += carried
    return out


def _chebyshev(widths: Sequence[int], apart: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    far: list[NDArray[Any]] = [
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
    off, which is at most ``cut``, and for the rounding of the transform, relative to the sum of
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
        return float(((1 - root) / (1 + root)) ** len(widths))
    # The first power cut off is at most ``cut`` alone.
    axes, reach = len(widths), 1 + int(math.log(cut) / math.log(alpha))
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
    bend = sum(float((values * a**2).sum()) for a in apart)
    points = {1: 1 << 16, 2: 1 << 10}.get(axes, 1 << int(math.log2(most) / axes))
    wrapped = np.zeros((points,) * axes)
    np.add.at(wrapped, tuple(np.broadcast_arrays(*[a % points for a in apart])), values)
    least = float(np.fft.rfftn(wrapped).real.min())
    gap = bend * axes * (2 * math.pi / points) ** 2 / 8
    floor = least - gap - _outside(alpha, widths, reach) - rounding * float(values.sum())
    return floor if floor > 0 else None


def _outside(alpha: float, widths: Sequence[int], reach: int, more: float = 1.01) -> float:
    """Bound the sum of the powers of α over differences farther than ``reach``.

    Shells beyond those added up are less than ``more`` adds: their powers are below e^-60 of the
    first one's.
    """
    far = reach + np.arange(2 + int(60 / -math.log(alpha)))
    balls = np.prod(2.0 * np.multiply.outer(far, widths) + 1, axis=1)
    return float(np.diff(balls) @ alpha ** far[1:]) * more
