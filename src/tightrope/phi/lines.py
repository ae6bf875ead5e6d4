r"""Φ of bands (paths and sums), cycles and cliques.

For a band of width :math:`w` the combination
:math:`(1+\alpha^2)\Phi_i - \alpha\Phi_{i-w} - \alpha\Phi_{i+w}` of rows vanishes outside
:math:`|i-j| < w`, and one-sided differences do the same at the ends. So :math:`\Phi x = b` is a
banded system, solved in :math:`O(n w^2)`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import PathPower
from tightrope.phi.dense import VERIFIED_LIMIT, DenseStructure
from tightrope.phi.structure import Alpha, Structure

#: Largest n·w² for which banded elimination is taken instead of Fourier transforms.
BANDED_WORK = 2 * 10**9
#: So few steps of a recurrence take less time than the import of a signal library.
FEW_BLOCKS = 2000


class BandStructure(Structure):
    r"""Answers on a line with :math:`d = \lceil |i-j|/w \rceil`, at least :math:`2w` of them.

    Examples
    --------
    >>> import numpy as np
    >>> path = BandStructure(4, 1)
    >>> path.solve(0.5, np.ones(4)).round(4).tolist()
    [0.6667, 0.3333, 0.3333, 0.6667]
    """

    words = "banded elimination"

    def __init__(self, size: int, width: int) -> None:
        self.size, self.width = size, width

    @staticmethod
    def fits(size: int, width: int) -> bool:
        """Whether every row has a partner one width away and elimination is cheap enough."""
        return size >= 2 * width and size * width**2 <= BANDED_WORK

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by one recurrence from the left and one from the right."""
        left = _one_sided(alpha, x, self.width)
        right = _one_sided(alpha, x[::-1], self.width)[::-1]
        return np.asarray(x + left + right)

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        r"""Solve the banded system of row combinations."""
        from scipy.linalg import solve_banded

        reach = self.width - 1
        combined = _combine_rows(alpha, np.asarray(b, np.float64), self.width)
        bands = _bands(alpha, self.size, self.width)
        solved = solve_banded((reach, reach), bands, combined, overwrite_ab=True)
        return np.asarray(solved, np.float64)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - structures are few and live long
    def inverse_norm(self, alpha: float) -> float | None:
        """Return the bound from the symbol of the infinite band, or from a small matrix."""
        from tightrope.phi.lattice import symbol_floor

        floor = symbol_floor(alpha, (self.width,))
        if floor is not None:
            return 1 / floor
        if self.size <= VERIFIED_LIMIT:
            return DenseStructure(PathPower(self.size, self.width)).inverse_norm(alpha)
        return None


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


def _recurrence(rate: Any, steps: NDArray[Any]) -> NDArray[Any]:
    """Return y with y_t = rate·(y_{t-1} + steps_t), down the first axis."""
    if len(steps) > FEW_BLOCKS:
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
    for i in range(reach + 1):
        # One-sided rows at the ends see the entries beyond them with weight α(1+α).
        columns = np.arange(i)
        bands[reach + i - columns, columns] = alpha * (1 + alpha)
        columns = size - 1 - columns
        bands[reach + (size - 1 - i) - columns, columns] = alpha * (1 + alpha)
    return bands


class CycleStructure(Structure):
    """Answers on a ring: Φ is circulant.

    Examples
    --------
    >>> import numpy as np
    >>> CycleStructure(4).solve(0.5, np.ones(4)).round(6).tolist()
    [0.444444, 0.444444, 0.444444, 0.444444]
    """

    words = "closed form (circulant)"

    def __init__(self, size: int) -> None:
        self.size = size

    def _eigenvalues(self, alpha: Alpha, kind: Any) -> NDArray[Any]:
        from scipy import fft

        gap = np.arange(self.size)
        row = kind(alpha) ** np.minimum(gap, self.size - gap)
        return np.asarray(fft.rfft(row).real)

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` by Fourier transforms."""
        from scipy import fft

        spectrum = self._eigenvalues(alpha, x.dtype.type).reshape(-1, *[1] * (x.ndim - 1))
        return np.asarray(fft.irfft(fft.rfft(x, axis=0) * spectrum, self.size, axis=0))

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Divide by the eigenvalues."""
        from scipy import fft

        b = np.asarray(b, np.float64)
        spectrum = self._eigenvalues(alpha, np.float64).reshape(-1, *[1] * (b.ndim - 1))
        return np.asarray(fft.irfft(fft.rfft(b, axis=0) / spectrum, self.size, axis=0))

    def inverse_norm(self, alpha: float) -> float:
        """Return the inverse of the smallest eigenvalue, less what rounding may have added."""
        # Twice the distance on a cycle is that of a subgraph of a cube: Φ is positive definite.
        smallest = float(self._eigenvalues(alpha, np.float64).min())
        return 1 / (smallest - 1e-13) if smallest > 1e-12 else float("inf")


class CliqueStructure(Structure):
    r"""Every two answers adjacent: :math:`\Phi = (1-\alpha)I + \alpha 11^\top`.

    Examples
    --------
    >>> import numpy as np
    >>> CliqueStructure(4).solve(0.5, np.ones(4)).round(12).tolist()
    [0.4, 0.4, 0.4, 0.4]
    """

    words = "closed form"

    def __init__(self, size: int) -> None:
        self.size = size

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`(1-\alpha)x + \alpha\sum x`."""
        rate = x.dtype.type(alpha)
        return np.asarray((1 - rate) * x + rate * x.sum(axis=0))

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Subtract the common part and divide by 1-α."""
        b = np.asarray(b, np.float64)
        common = alpha / (1 + (self.size - 1) * alpha) * b.sum(axis=0)
        return np.asarray((b - common) / (1 - alpha))

    def inverse_norm(self, alpha: float) -> float:
        r"""Return :math:`1/(1-\alpha)`, the inverse of the smallest eigenvalue."""
        return 1 / (1 - alpha)
