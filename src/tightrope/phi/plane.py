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
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import AnswerGraph
from tightrope.phi.lattice import LatticeStructure
from tightrope.phi.structure import Alpha, Structure

#: How far from its answer a combined row reaches.
REACH = 3

Floats = NDArray[np.float64]
Step = tuple[int, int]
#: For which answers, which steps away, with which weight.
Part = tuple[tuple[slice, slice], tuple[Step, ...], float]


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
            grid = b.reshape(self.shape)
            alike = np.array_equal(grid, grid[::-1]) and np.array_equal(grid, grid[:, ::-1])
            found = ShortRows(self.shape, alpha, mirrored=alike).solve(grid)
            if found is not None and (
                alpha <= ShortRows.steep or self._fits(alpha, found.ravel(), b)
            ):
                return found.ravel()
        return super().solve(alpha, b)

    def least(self, alpha: float, enough: float = -math.inf) -> float:
        """Return the smallest entry of z with Φz = 1: short rows are quicker than classes."""
        return Structure.least(self, alpha, enough)


class ShortRows:
    """Combinations of rows of Φ that vanish but for a few entries.

    Parameters
    ----------
    shape
        The sides of the box, at least 8 each: rows near opposite edges must not meet.
    alpha
        The α of Φ.
    mirrored
        Whether vectors are the same seen from all four corners: then a quarter of them is
        enough.

    Examples
    --------
    >>> rows = ShortRows((8, 8), 0.5, mirrored=True)
    >>> rows.combined(np.ones((8, 8)))[3].tolist()
    [1.0, 1.0, 0.25, 0.25]
    """

    #: The α from which on iterations take too many steps.
    steep = 0.85
    #: Most rows that are eliminated: where iterations would do, and at a steep α.
    eliminated, most_eliminated = 15_000, 150_000

    def __init__(self, shape: tuple[int, ...], alpha: float, mirrored: bool = False) -> None:
        self.shape, self.mirrored, self._alpha = shape, mirrored, alpha
        self.kept = tuple((side + 1) // 2 for side in shape) if mirrored else shape
        self._rights: list[Part] = []
        self._lefts: list[Part] = []
        margin = REACH if mirrored else 0
        sides = tuple(side + margin for side in self.kept)
        edges = (-1, 0) if mirrored else (-1, 0, 1)
        # Near α = 1 the rows nearly cancel.
        rate = np.longdouble(alpha)
        for zones in ((a, b) for a in edges for b in edges):
            rows = _combination(rate, zones)
            spans = [
                _span(zone, side, mirrored) for zone, side in zip(zones, self.kept, strict=True)
            ]
            self._rights += _parts(rows, spans, sides)
            self._lefts += _parts(_combined_row(rate, rows), spans, sides)

    def solve(self, b: Floats, steps: int = 300) -> Floats | None:
        """Return x with Φx = b, or ``None`` when that takes too many steps."""
        from scipy.sparse.linalg import LinearOperator, bicgstab

        size = self.kept[0] * self.kept[1]
        exchanged = self.kept[0] == self.kept[1] and np.array_equal(b, b.T)
        steep = self._alpha > self.steep
        if size // (2 if exchanged else 1) <= (self.most_eliminated if steep else self.eliminated):
            return self._eliminated(b, exchanged)
        if steep:
            return None
        tolerance = LatticeStructure.tolerance
        short = LinearOperator(
            (size, size), lambda x: self.product(x.reshape(self.kept)).ravel(), dtype=np.float64
        )
        right = self.combined(b).ravel()
        x, left = bicgstab(short, right, rtol=tolerance, maxiter=steps)
        if left:
            return None
        return self._whole(x.reshape(self.kept))

    def _eliminated(self, b: Floats, exchanged: bool, pivot: float = 1e-3) -> Floats:
        """Return x by elimination; where the coordinates may change places, from half of it.

        A pivot on the diagonal is taken down to this share of the largest entry beside it: that
        keeps the order in which few entries fill in.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        own = np.arange(self.kept[0] * self.kept[1]).reshape(self.kept)
        _, first, number = np.unique(
            np.minimum(own, own.T) if exchanged else own, return_index=True, return_inverse=True
        )
        number = number.reshape(self.kept)
        chosen, grid = own == first[number], self._margined(number)
        row, column, entry = [], [], []
        for (rows, columns), steps, weight in self._lefts:
            kept = chosen[rows, columns]
            for dx, dy in steps:
                far = grid[rows.start + dx : rows.stop + dx, columns.start + dy : columns.stop + dy]
                row.append(number[rows, columns][kept])
                column.append(far[kept])
                entry.append(np.full(len(row[-1]), weight))
        place = np.concatenate(row), np.concatenate(column)
        matrix = coo_array((np.concatenate(entry), place), (len(first), len(first))).tocsc()
        symmetric = {"SymmetricMode": True}
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=pivot, options=symmetric)
        found = factors.solve(self.combined(b).ravel()[first])
        return self._whole(found[number])

    def _whole(self, part: Floats) -> Floats:
        return self._beyond(part, tuple(self.shape)) if self.mirrored else part

    def _margined(self, part: NDArray[Any]) -> NDArray[Any]:
        """Continue a vector as far as rows reach beyond what is kept of it."""
        return self._beyond(part, tuple(n + REACH for n in self.kept)) if self.mirrored else part

    def combined(self, b: Floats) -> Floats:
        """Return the combinations of the entries of a whole right-hand side."""
        return self._sum(self._rights, b[tuple(slice(side) for side in self.kept)])

    def product(self, x: Floats) -> Floats:
        """Return the product of the short rows with a vector, or with a quarter of it."""
        return self._sum(self._lefts, x)

    def _beyond(self, part: NDArray[Any], sides: tuple[int, ...]) -> NDArray[Any]:
        """Continue a quarter of a vector up to longer sides: what lies beyond is mirrored."""
        for axis, side in enumerate(sides):
            far = np.arange(self.kept[axis], side)
            more = np.take(part, self.shape[axis] - 1 - far, axis)
            part = np.concatenate([part, more], axis)
        return part

    def _sum(self, parts: list[Part], x: Floats) -> Floats:
        grid = self._margined(x)
        out = np.zeros(self.kept)
        for (rows, columns), steps, weight in parts:
            far = [
                grid[rows.start + dx : rows.stop + dx, columns.start + dy : columns.stop + dy]
                for dx, dy in steps
            ]
            # Entries of the same weight are added up first: memory is what this waits for.
            total = far[0] + far[1] if len(far) > 1 else far[0].copy()
            for more in far[2:]:
                total += more
            total *= weight
            out[rows, columns] += total
        return out


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


def _combination(alpha: Any, zones: Step) -> dict[Step, Any]:
    """Return which rows are added with which weights, by the edges that are near.

    Everything is divided by (1-α)², but for a corner by 1-α: what is left is of order 1.
    """
    if 0 not in zones:
        return _scaled({(0, 0): 1.0, (-zones[0], -zones[1]): -alpha}, 1 / (1 - alpha))
    if zones == (0, 0):
        both = [
            {(0, 0): 1 + alpha**2, step: -alpha, (-step[0], -step[1]): -alpha}
            for step in ((1, 1), (1, -1))
        ]
    else:
        inward = -(zones[0] + zones[1])
        steps = [(inward, 1), (inward, -1)] if zones[0] else [(1, inward), (-1, inward)]
        both = [{(0, 0): 1.0, step: -alpha} for step in steps]
    made: dict[Step, Any] = {}
    for (a, one), (b, other) in itertools.product(both[0].items(), both[1].items()):
        at = (a[0] + b[0], a[1] + b[1])
        made[at] = made.get(at, 0.0) + one * other
    return _scaled(made, 1 / (1 - alpha) ** 2)


def _scaled(parts: Mapping[Step, Any], factor: Any) -> dict[Step, Any]:
    return {step: weight * factor for step, weight in parts.items()}


def _combined_row(alpha: Any, parts: Mapping[Step, Any]) -> dict[Step, Any]:
    """Return the entries near its own answer that a combination of rows leaves."""
    near = np.array(list(itertools.product(range(-REACH, REACH + 1), repeat=2)))
    weights = np.array(list(parts.values()))
    far = np.abs(near[:, None] - np.array(list(parts))).max(axis=2)
    entries = alpha**far @ weights
    zero = 8 * np.finfo(weights.dtype).eps * np.abs(weights).sum()
    return {
        (x, y): entry
        for (x, y), entry in zip(near.tolist(), entries, strict=True)
        if abs(entry) > zero
    }


def _parts(weights: Mapping[Step, Any], spans: list[slice], shape: tuple[int, ...]) -> list[Part]:
    """Put the steps of a zone together that have the same weight and leave from the same answers.

    A step counts only for the answers from which it stays inside the box.
    """
    found: dict[tuple[int, int, int, int, float], list[Step]] = {}
    for step, weight in weights.items():
        low = [max(span.start, -d) for span, d in zip(spans, step, strict=True)]
        high = [min(s.stop, n - d) for s, d, n in zip(spans, step, shape, strict=True)]
        if low[0] < high[0] and low[1] < high[1]:
            found.setdefault((low[0], high[0], low[1], high[1], float(weight)), []).append(step)
    return [
        ((slice(a, b), slice(c, d)), tuple(steps), weight)
        for (a, b, c, d, weight), steps in found.items()
    ]


def _span(zone: int, side: int, mirrored: bool) -> slice:
    """Return the answers near the low edge, far from both, or near the high edge."""
    if mirrored and zone == 0:
        return slice(2, side)
    return {-1: slice(0, 2), 0: slice(2, side - 2), 1: slice(side - 2, side)}[zone]
