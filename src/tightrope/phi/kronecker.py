r"""Φ of a Cartesian product: :math:`\Phi = \Phi_1 \otimes \dots \otimes \Phi_k`.

Distances add, so powers of α multiply: databases are products of cliques, and every product
and solution is found one coordinate at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.phi.structure import Alpha, Structure


class KroneckerStructure(Structure):
    """The Kronecker product of the factors' Φ.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.phi.lines import CliqueStructure
    >>> square = KroneckerStructure([CliqueStructure(2), CliqueStructure(2)])
    >>> square.apply(0.5, np.array([1.0, 0, 0, 0])).tolist()
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, factors: Sequence[Structure]) -> None:
        self.factors = tuple(factors)
        self.size = math.prod(factor.size for factor in factors)
        self.words = f"factor by factor ({', '.join(sorted({f.words for f in factors}))})"

    def _along_each_axis(
        self, x: NDArray[Any], step: Callable[[Structure, NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        shape = tuple(factor.size for factor in self.factors)
        out = x.reshape(*shape, -1)
        for axis, factor in enumerate(self.factors):
            first = np.moveaxis(out, axis, 0)
            done = step(factor, np.ascontiguousarray(first).reshape(factor.size, -1))
            out = np.moveaxis(done.reshape(first.shape), 0, axis)
        return np.ascontiguousarray(out).reshape(x.shape)

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x`, one factor after the other."""
        return self._along_each_axis(x, lambda factor, part: factor.apply(alpha, part))

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        r"""Solve :math:`\Phi x = b`, one factor after the other."""
        b = np.asarray(b, np.float64)
        return self._along_each_axis(b, lambda factor, part: factor.solve(alpha, part))

    def is_singular(self, alpha: float) -> bool:
        """Whether some factor is singular."""
        return any(factor.is_singular(alpha) for factor in set(self.factors))

    def inverse_norm(self, alpha: float) -> float | None:
        """Return the product of the factors' bounds."""
        found = [factor.inverse_norm(alpha) for factor in self.factors]
        if any(norm is None for norm in found):
            return None
        return math.prod(norm for norm in found if norm is not None)
