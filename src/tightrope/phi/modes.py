r""":math:`\Phi z = 1` on a band of any length, by its modes.

Away from the ends the combined rows of :mod:`tightrope.phi.lines` are one rule,

.. math:: z_i + \alpha \sum_{|k| < w} z_{i+k} = 1 - \alpha,

so z is a constant plus :math:`w-1` pairs of modes :math:`r^i + r^{n-1-i}`, where
:math:`1 + \alpha \sum_{|k|<w} r^k = 0`. With :math:`x = (r + 1/r)/2` that is a sum of Chebyshev
polynomials of degree :math:`w-1`. The w rows at one end give the weights of the modes and the
entry :math:`z_0`, which the rule does not reach: w equations, however many answers there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Widest band whose modes are looked for.
WIDEST = 64
#: Largest residual of the rows at an end, beside the largest entry near it.
MODE_TOLERANCE = 1e-9
#: How many entries are written out first; then twice as many each time.
FIRST_ENTRIES = 512
#: Modes count as died away when all together weigh less than this.
FADED = 1e-18


@dataclass(frozen=True)
class Modes:
    """The solution of Φz = 1 on a band, without its entries.

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

    def least(self, enough: float = -np.inf) -> float:
        """Return the smallest entry, or the first found below ``enough``.

        The solution is the same from both ends, so half of it is looked at, and no more once
        the modes have died away.
        """
        half = (self.size + 1) // 2
        least, start, count = self.first, 1, FIRST_ENTRIES
        while start < half and least >= enough:
            stop = min(half, start + count)
            least = min(least, float(self.entries(np.arange(start, stop)).min()))
            if self._faded(stop):
                return min(least, self.middle)
            start, count = stop, 2 * count
        return least

    def _faded(self, place: int) -> bool:
        return bool(2 * (np.abs(self.weights) * np.exp(self.logs.real * place)).sum() < FADED)


def modes_of(size: int, width: int, alpha: float) -> Modes | None:
    """Return the solution of Φz = 1 on a band, or ``None`` where modes nearly coincide.

    >>> modes_of(9, 5, 0.5) is None           # too short: the ends touch
    True
    """
    if not 1 <= width <= WIDEST or size < 4 * width:
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
    """Return the combined rows at the first w answers, over the first 2w-1 answers."""
    row, column = np.arange(width)[:, None], np.arange(2 * width - 1)[None, :]
    weights = np.where(column < row, alpha * (1 + alpha), alpha)
    weights = np.where(column == row, 1 + alpha, weights)
    return np.where(column - row < width, weights, 0.0)


def _fits(made: Modes, rows: NDArray[np.float64], width: int, alpha: float) -> bool:
    """Whether the entries near an end solve the rows there and the rule beyond them."""
    near = made.entries(np.arange(3 * width))
    ends = rows @ near[: rows.shape[1]] - 1
    windows = np.lib.stride_tricks.sliding_window_view(near[1:], 2 * width - 1)
    beyond = alpha * windows.sum(axis=1) + windows[:, width - 1] - (1 - alpha)
    scale = max(1.0, float(np.abs(near).max()))
    worst = max(float(np.abs(ends).max()), float(np.abs(beyond).max()))
    return bool(np.isfinite(near).all() and worst <= MODE_TOLERANCE * scale)
