r"""A proof that a prior is not regular.

If :math:`\Phi w \ge 0` and :math:`\pi \cdot w < 0`, then no :math:`y \ge 0` has
:math:`y\Phi = \pi`: otherwise :math:`\pi \cdot w = y \cdot \Phi w \ge 0`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightrope.phi import Phi, Solution
from tightrope.phi.operator import nonnegative


def separating_vector(
    phi: Phi, prior: NDArray[np.float64], solution: Solution
) -> NDArray[np.float64]:
    r"""Return w with :math:`\Phi w \ge 0` and :math:`\pi \cdot w < 0`.

    With an inverse, :math:`w = \Phi^{-1}(e_i + \delta 1)` where :math:`y_i < 0`: the little δ
    keeps rounding from making :math:`\Phi w` negative. Without one, a direction of the kernel
    or the residual of non-negative least squares.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> phi, point = Phi(Clique(3), 1), np.array([0.8, 0.2, 0.0])
    >>> w = separating_vector(phi, point, phi.solve(point))
    >>> bool(phi.matvec(w).min() >= 0), bool(point @ w < 0)
    (True, True)
    """
    if not solution.consistent:
        along = solution.kernel.T @ prior
        k = int(np.abs(along).argmax())
        return np.asarray(-np.sign(along[k]) * solution.kernel[:, k])
    if not solution.unique:
        return -nonnegative(phi.matrix(), prior)[1]
    worst, value = solution.least
    total = abs(float(solution.values.sum()))
    target = np.full(phi.size, min(1e-3, -value / (4 * total + 1e-300)))
    target[worst] += 1
    return phi.solve(target).values
