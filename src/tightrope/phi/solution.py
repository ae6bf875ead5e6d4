r"""Solutions of :math:`\Phi x = b` that say how far they can be trusted.

A solution found in double precision is improved with residuals in extended precision until the
sign of every entry is certain or nothing more is gained. What is *proven* and what is only
*measured*:

* ``residual`` is measured, in extended precision.
* ``error`` bounds every entry's distance from the true value. It is proven from a bound on
  :math:`\|\Phi^{-1}\|_2` (closed form, symbol of the lattice, diagonal dominance, or an
  approximate inverse) times the residual and the rounding made in computing it. It is ``None``
  where no such bound is known; the signs are then as good as the residual, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tightrope.phi.operator import Phi

#: Most rounds of improvement with residuals in extended precision.
REFINEMENTS = 4
#: Residual, relative to the right-hand side, above which Φ counts as singular in practice.
RESIDUAL_TOLERANCE = 1e-9
#: Residual, relative to the right-hand side, at which improving stops where nothing is proven.
ENOUGH = 1e-12
#: Units of rounding allowed for one entry of a product with Φ.
PRODUCT_UNITS = 64


@dataclass(frozen=True)
class Solution:
    r"""A solution of :math:`\Phi x = b`.

    Parameters
    ----------
    values
        The solution (a least-squares one when there is none).
    residual
        :math:`\max_i |b_i - (\Phi x)_i|`.
    error
        Proven bound on :math:`\max_i |x_i - x^*_i|` over the true solution, or ``None``.
    method
        How it was found, in words.
    kernel
        Basis of :math:`\{k : \Phi k = 0\}`, one column each: all solutions are ``values`` plus
        combinations of these.
    consistent
        Whether there is a solution.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.phi import Phi
    >>> star = Phi(Star(3), "ln(4)").solve_ones()
    >>> star.values.tolist(), star.unique, star.positive, star.method
    ([0.4, 0.8, 0.8, 0.8], True, True, 'closed form (tree)')
    """

    values: NDArray[np.float64]
    residual: float
    error: float | None
    method: str
    kernel: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    consistent: bool = True

    @property
    def unique(self) -> bool:
        """Whether no other solution exists."""
        return self.consistent and self.kernel.shape[1] == 0

    @property
    def least(self) -> tuple[int, float]:
        """The place and value of the smallest entry (the first of those equal up to rounding)."""
        smallest = float(self.values.min())
        near = smallest + 1e-12 * float(np.abs(self.values).max())
        return int(np.argmax(self.values <= near)), smallest

    @property
    def margin(self) -> float:
        """How far the entry nearest to zero lies beyond the error (negative: undecided)."""
        return float(np.abs(self.values).min()) - (np.inf if self.error is None else self.error)

    @property
    def signs_certain(self) -> bool:
        """Whether the sign of every entry is proven."""
        return self.margin > 0

    @property
    def positive(self) -> bool | None:
        """Whether every entry is positive: yes, no, or ``None`` when that is not proven."""
        if self.error is None:
            return None
        smallest = self.least[1]
        return None if abs(smallest) <= self.error else smallest > 0


def solve(phi: Phi, b: NDArray[np.float64]) -> Solution:
    r"""Solve :math:`\Phi x = b` and improve the solution until its signs are certain.

    >>> import numpy as np
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.phi import Phi
    >>> found = solve(Phi(PathPower(751, 5), 1), np.ones(751))
    >>> found.error < 1e-12, found.signs_certain
    (True, True)
    """
    from tightrope.phi.dense import DENSE_LIMIT

    structure, precise = phi.structure, phi.precise_alpha
    raw = None if structure.is_singular(phi.alpha) else structure.solve(phi.alpha, b)
    if raw is None or (phi.size <= DENSE_LIMIT and not _solved(structure, phi.alpha, raw, b)):
        from tightrope.phi.singular import describe_solutions

        return describe_solutions(phi, b)
    x, target = raw.astype(np.longdouble), b.astype(np.longdouble)
    best = x
    smallest = np.inf
    rest = target
    for _ in range(REFINEMENTS):
        left = target - structure.apply(precise, x)
        size = float(np.abs(left).max())
        if not size < smallest:
            break
        best, smallest, rest = x, size, left
        error = _error(phi, best, rest)
        # Entries of the returned doubles are rounded once more, which is part of the error.
        if error is not None and error < np.abs(best).min():
            break
        if size == 0 or (error is None and size <= _enough(structure, phi.alpha, best, b)):
            break
        x = x + structure.solve(phi.alpha, left.astype(np.float64))
    values = best.astype(np.float64)
    values.flags.writeable = False
    return Solution(
        values, smallest, _error(phi, best, rest), structure.words, np.zeros((phi.size, 0))
    )


def _enough(structure: Any, alpha: float, x: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the residual that is small enough where no bound on the inverse is known.

    A smaller one would prove nothing, and a solution in doubles rounds relative to Φ|x|.
    """
    weight = float(structure.apply(alpha, np.abs(x).astype(np.float64)).max())
    return max(ENOUGH * max(1.0, float(np.abs(b).max())), 16 * np.finfo(np.float64).eps * weight)


def _solved(structure: Any, alpha: float, x: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether elimination found a solution: finite, with a residual that is small."""
    if not np.isfinite(x).all():
        return False
    with np.errstate(all="ignore"):
        left = np.abs(b - structure.apply(alpha, x)).max()
    scale = max(1.0, float(np.abs(b).max()))
    # A nearly singular Φ answers with huge entries that cancel.
    return bool(left <= RESIDUAL_TOLERANCE * scale and np.abs(x).max() < 1e12 * scale)


def _error(phi: Phi, x: NDArray[Any], rest: NDArray[Any]) -> float | None:
    """Bound the distance of x from the true solution by the residual, or return ``None``."""
    norm = phi.inverse_norm
    if norm is None:
        return None
    unit = float(np.finfo(np.longdouble).eps)
    # The product with Φ, the power α^d and α itself round relative to Φ|x|; a recurrence rounds
    # twice at every step.
    weight = phi.structure.apply(phi.alpha, np.abs(x).astype(np.float64))
    rounding = (
        unit * (PRODUCT_UNITS + 2 * float(phi.graph.diameter)) * float(np.linalg.norm(weight))
    )
    doubles = float(np.abs(x).max()) * float(np.finfo(np.float64).eps)
    return norm * (float(np.linalg.norm(rest.astype(np.float64))) + rounding) + doubles
