r"""Φ of powers of paths: counts and sums.

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

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from tightrope.graphs import AnswerGraph
from tightrope.phi.lattice import LatticeStructure
from tightrope.phi.structure import Alpha, Structure


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
        size, width = graph.size, graph.power
        if width is None or size < 2 * width or size * width**2 > most_work:
            return None
        return super().of(graph)

    @property
    def width(self) -> int:
        """The largest difference between neighbours."""
        return self._widths[0]

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by one recurrence from the left and one from the right."""
        left = _one_sided(alpha, x, self.width)
        right = _one_sided(alpha, x[::-1], self.width)[::-1]
        return np.asarray(x + left + right)

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        r"""Solve the banded system of row combinations."""
        reach = self.width - 1
        combined = _combine_rows(alpha, np.asarray(b, np.float64), self.width)
        bands = _bands(alpha, self.size, self.width)
        solved = solve_banded((reach, reach), bands, combined, overwrite_ab=True)
        return np.asarray(solved, np.float64)

    def least(self, alpha: float, enough: float = -np.inf) -> float:
        """Return the smallest entry of z with Φz = 1, by its modes where they are apart."""
        modes = modes_of(self.size, self.width, alpha)
        return Structure.least(self, alpha, enough) if modes is None else modes.least(enough)


def _one_sided(alpha: Alpha, x: NDArray[Any], width: int) -> NDArray[Any]:
    r"""Return :math:`\sum_{j<i} \alpha^{\lceil (i-j)/w \rceil} x_j` for every i.

    In blocks of w rows it is a first-order recurrence on sums over the last w entries; those
    sums are put together from two blocks, so that nothing cancels.
    """
    blocks = -(-len(x) // width)
    padded = np.zeros((blocks * width, *x.shape[1:]), x.dtype)
    padded[: len(x)] = x
    block = padded.reshape(blocks, width, -1)
    before = np.cumsum(block, axis=1) - block if width > 1 else np.zeros_like(block)
    after = np.cumsum(block[:, ::-1], axis=1)[:, ::-1]
    before[1:] += after[:-1]
    out = _recurrence(x.dtype.type(alpha), before)
    return np.asarray(out).reshape(padded.shape)[: len(x)]


def _recurrence(rate: Any, steps: NDArray[Any], few: int = 2000) -> NDArray[Any]:
    """Return y with y_t = rate·(y_{t-1} + steps_t), down the first axis.

    A few steps take less time here than the import of a signal library.
    """
    if len(steps) > few:
        from scipy.signal import lfilter

        one = steps.dtype.type(1)
        return np.asarray(lfilter(np.array([rate]), np.array([one, -rate]), steps, axis=0))
    out = rate * steps
    for t in range(1, len(out)):
        out[t] += rate * out[t - 1]
    return np.asarray(out)


def _combine_rows(alpha: float, b: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Apply the row combinations to the right-hand side, divided by 1-α."""
    out = b.copy()
    out[width:-width] *= 1 + alpha**2
    out[:-width] -= alpha * b[width:]
    out[width:] -= alpha * b[:-width]
    return np.asarray(out / (1 - alpha))


def _bands(alpha: float, size: int, width: int) -> NDArray[np.float64]:
    """Return the diagonals of the combined rows, in LAPACK's layout, divided by 1-α."""
    reach = width - 1
    bands = np.full((2 * reach + 1, size), alpha)
    bands[reach] = 1 + alpha
    rows = _end_rows(alpha, width)
    i, j = np.nonzero(rows)
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
    >>> found = modes_of(1_000_001, 5, 0.36787944117144233)
    >>> round(found.least(), 9), found.entries(np.array([0, 500_000])).round(6).tolist()
    (0.011351149, [0.464873, 0.146633])
    """

    size: int
    first: float
    middle: float
    logs: NDArray[np.complex128]
    weights: NDArray[np.complex128]

    def entries(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some entries."""
        far = self.size - 1 - places
        out = np.full(len(places), self.middle)
        for log, weight in zip(self.logs, self.weights, strict=True):
            out += (weight * (np.exp(log * places) + np.exp(log * far))).real
        out[(places == 0) | (far == 0)] = self.first
        return out

    def least(self, enough: float = -np.inf, count: int = 512) -> float:
        """Return the smallest entry, or the first found below ``enough``.

        The solution is the same from both ends, so half of it is looked at, and no more once
        the modes have died away: first so many entries, then twice as many each time.
        """
        half = (self.size + 1) // 2
        least, start = self.first, 1
        while start < half and least >= enough:
            stop = min(half, start + count)
            least = min(least, float(self.entries(np.arange(start, stop)).min()))
            if self._faded(stop):
                return min(least, self.middle)
            start, count = stop, 2 * count
        return least

    def _faded(self, place: int, weight: float = 1e-18) -> bool:
        """Whether from this entry on all modes together weigh less than a rounding."""
        return bool(2 * (np.abs(self.weights) * np.exp(self.logs.real * place)).sum() < weight)


def modes_of(size: int, width: int, alpha: float, widest: int = 64) -> Modes | None:
    """Return the solution of Φz = 1 on a path power, or ``None`` where modes nearly coincide.

    >>> modes_of(9, 5, 0.5) is None           # too short: the ends touch
    True
    """
    if not 1 <= width <= widest or size < 4 * width:
        return None
    turns = np.polynomial.chebyshev.chebroots([1 + alpha, *[2 * alpha] * (width - 1)])
    roots = turns.astype(np.complex128)
    split = np.sqrt(roots - 1) * np.sqrt(roots + 1)
    both = np.stack([roots - split, roots + split])
    logs = np.log(np.where(np.abs(both[0]) <= np.abs(both[1]), both[0], both[1]))
    # Rounding must not let a mode of modulus 1 grow over a million answers.
    logs = np.minimum(logs.real, 0) + 1j * logs.imag
    middle = (1 - alpha) / (1 + alpha * (2 * width - 1))
    near = np.arange(1, 2 * width - 1)
    shapes = np.exp(np.outer(near, logs)) + np.exp(np.outer(size - 1 - near, logs))
    rows = _end_rows(alpha, width)
    matrix = np.hstack([rows[:, 1:] @ shapes, rows[:, :1]])
    try:
        found = np.linalg.solve(matrix, 1 - middle * rows[:, 1:].sum(axis=1))
    except np.linalg.LinAlgError:
        return None
    made = Modes(size, float(found[-1].real), middle, logs, found[:-1])
    return made if _fits(made, rows, width, alpha) else None


def _end_rows(alpha: float, width: int) -> NDArray[np.float64]:
    """Return the combined rows at the first w answers, over the first 2w-1 answers.

    They are one-sided and see the entries beyond them with weight α(1+α).
    """
    row, column = np.arange(width)[:, None], np.arange(2 * width - 1)[None, :]
    weights = np.where(column < row, alpha * (1 + alpha), alpha)
    weights = np.where(column == row, 1 + alpha, weights)
    return np.where(column - row < width, weights, 0.0)


def _fits(
    made: Modes, rows: NDArray[np.float64], width: int, alpha: float, tolerance: float = 1e-9
) -> bool:
    """Whether the entries near an end solve the rows there and the rule beyond them."""
    near = made.entries(np.arange(3 * width))
    ends = rows @ near[: rows.shape[1]] - 1
    windows = np.lib.stride_tricks.sliding_window_view(near[1:], 2 * width - 1)
    beyond = alpha * windows.sum(axis=1) + windows[:, width - 1] - (1 - alpha)
    scale = max(1.0, float(np.abs(near).max()))
    worst = max(float(np.abs(ends).max()), float(np.abs(beyond).max()))
    return bool(np.isfinite(near).all() and worst <= tolerance * scale)
