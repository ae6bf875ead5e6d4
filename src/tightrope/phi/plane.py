r"""Φ of two counts at once: the plane with :math:`d = \max(|\Delta x|, |\Delta y|)`.

Along the diagonals :math:`U = (1,1)` and :math:`V = (1,-1)` the distance is a sum, and the symbol
of the lattice is a quotient of short stencils,

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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import bicgstab, splu

from tightrope.graphs import AnswerGraph
from tightrope.phi.lattice import Classes, LatticeStructure
from tightrope.phi.structure import Alpha, Structure

#: How far from its answer a combined row reaches, and all steps that are no longer.
REACH = 3
STEPS = np.array(list(itertools.product(range(-REACH, REACH + 1), repeat=2)))

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Pattern = tuple[Places, Places, Places]


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
            found = self._rows(self.classes.holds(b)).solve(alpha, b)
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
    """Combinations of rows of Φ that vanish but for a few entries, as sparse matrices.

    Parameters
    ----------
    shape
        The sides of the box, at least 8 each: rows near opposite edges must not meet.
    classes
        Answers that see the same; with them, one row and one entry for each class.

    Examples
    --------
    >>> combined, _ = ShortRows((8, 8)).at(0.5)
    >>> (combined @ np.ones(64)).reshape(8, 8)[3].tolist()
    [1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 1.0, 1.0]
    """

    #: The α from which on iterations take too many steps.
    steep = 0.85
    #: Most rows that are eliminated: where iterations would do, and at a steep α.
    eliminated, most_eliminated = 15_000, 150_000

    def __init__(self, shape: tuple[int, ...], classes: Classes | None = None) -> None:
        every = np.arange(math.prod(shape))
        self._label, self._first = (classes.label, classes.first) if classes else (every, every)
        place = np.unravel_index(self._first, shape)
        near = [
            (at >= 2) + (at >= n - 2).astype(np.int64) for at, n in zip(place, shape, strict=True)
        ]
        zone = 3 * near[0] + near[1]
        self._patterns = [self._pattern(shape, place, zone, table) for table in _weights(0.5)]

    def _pattern(
        self, shape: tuple[int, ...], place: tuple[Places, ...], zone: Places, table: Floats
    ) -> Pattern:
        """Return rows, columns and places in the table of the entries that lie in the box."""
        found = []
        for k in np.flatnonzero(table.any(axis=0)):
            row = np.flatnonzero((table[:, k] != 0)[zone])
            x, y = (at[row] + d for at, d in zip(place, STEPS[k], strict=True))
            inside = (x >= 0) & (x < shape[0]) & (y >= 0) & (y < shape[1])
            row, column = row[inside], (x * shape[1] + y)[inside]
            found.append((row, self._label[column], zone[row] * len(STEPS) + k))
        row, column, code = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return row, column, code

    def at(self, alpha: float) -> tuple[csr_array, csr_array]:
        """Return what is done to a right-hand side, and what is left of Φ."""
        count = len(self._first)
        combined, short = (
            csr_array((table.ravel()[code], (row, column)), (count, count))
            for (row, column, code), table in zip(self._patterns, _weights(alpha), strict=True)
        )
        return combined, short

    def solve(self, alpha: float, b: Floats, steps: int = 300) -> Floats | None:
        """Return x with Φx = b, or ``None`` when that takes too many steps."""
        steep = alpha > self.steep
        few = len(self._first) <= (self.most_eliminated if steep else self.eliminated)
        if steep and not few:
            return None
        combined, short = self.at(alpha)
        right = combined @ b[self._first]
        if not few:
            x, left = bicgstab(short, right, rtol=LatticeStructure.tolerance, maxiter=steps)
            return None if left else np.asarray(x[self._label])
        # Pivots down to this share of the largest entry beside them stay on the diagonal: that
        # keeps the order in which few entries fill in.
        pivot, symmetric = 1e-3, {"SymmetricMode": True}
        factors = splu(short.tocsc(), "MMD_AT_PLUS_A", diag_pivot_thresh=pivot, options=symmetric)
        return np.asarray(factors.solve(right)[self._label])


def _weights(alpha: float) -> tuple[Floats, Floats]:
    """Return for each of nine zones which rows are combined, and which entries that leaves.

    The zones are the corners, edges and middle of the box, row by row, and there is one column
    for each of the ``STEPS`` away from an answer. Everything is divided by (1-α)², but for a
    corner by 1-α: what is left is of order 1.
    """
    # Near α = 1 the rows nearly cancel.
    rate, side = np.longdouble(alpha), 2 * REACH + 1
    made = []
    for zones in itertools.product((-1, 0, 1), repeat=2):
        rows = np.zeros((side, side), np.longdouble)
        rows[REACH, REACH] = 1
        for step in itertools.product((-1, 1), repeat=2):
            # Near an edge only the factors that lead away from it.
            if zones[0] * step[0] <= 0 and zones[1] * step[1] <= 0:
                rows = rows - rate * np.roll(rows, step, (0, 1))
        made.append(rows.ravel() / (1 - rate) ** (2 if 0 in zones else 1))
    combined = np.stack(made)
    short = combined @ rate ** np.abs(STEPS[:, None] - STEPS).max(axis=2)
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
