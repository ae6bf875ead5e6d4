r"""All solutions of :math:`\Phi x = b` when Φ is singular [A, §4.1, App B].

Φ is symmetric: there is a solution iff b is orthogonal to the kernel, and then all solutions
are one of them plus the kernel. A non-negative one, if any, is found by non-negative least
squares; if there is none, the residual r of that problem proves it, because
:math:`\Phi r \le 0` and :math:`b \cdot r > 0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tightrope.phi.solution import Solution

if TYPE_CHECKING:
    from tightrope.phi.operator import Phi

#: Eigenvalues below this times the largest one count as zero.
KERNEL_TOLERANCE = 1e-11
#: Residual, relative to the right-hand side, up to which a system counts as solvable.
CONSISTENT_TOLERANCE = 1e-8


def describe_solutions(phi: Phi, b: NDArray[np.float64]) -> Solution:
    r"""Return a solution (non-negative where there is one) and the kernel of Φ.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import FoldedCube
    >>> from tightrope.phi import Phi
    >>> folded = describe_solutions(Phi(FoldedCube(4), "ln(3)"), np.ones(8))
    >>> folded.unique, folded.kernel.shape, folded.values.round(12).tolist()[:2]
    (False, (8, 1), [0.375, 0.375])
    """
    matrix = phi.matrix()
    values, vectors = np.linalg.eigh(matrix)
    zero = np.abs(values) <= KERNEL_TOLERANCE * np.abs(values).max()
    kernel = vectors[:, zero]
    rest = vectors[:, ~zero]
    least_norm = rest @ ((rest.T @ b) / values[~zero])
    scale = max(float(np.abs(b).max()), 1e-300)
    consistent = bool(np.abs(b - matrix @ least_norm).max() <= CONSISTENT_TOLERANCE * scale)
    chosen = least_norm
    if consistent and kernel.shape[1] and least_norm.min() < 0:
        found, _ = nonnegative(matrix, b)
        if np.abs(b - matrix @ found).max() <= CONSISTENT_TOLERANCE * scale:
            chosen = found
    residual = float(np.abs(b - matrix @ chosen).max())
    chosen.flags.writeable = kernel.flags.writeable = False
    words = f"eigenvectors; Φ is singular, {kernel.shape[1]} free directions"
    return Solution(chosen, residual, None, words, kernel, consistent)


def nonnegative(
    matrix: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return :math:`x \ge 0` nearest to solving :math:`\Phi x = b`, and the residual.

    When the residual r is not zero it separates: :math:`\Phi r \le 0 < b \cdot r`.

    >>> import numpy as np
    >>> x, r = nonnegative(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.25]))
    >>> x.round(12).tolist(), bool(r @ [1, 0.25] > 0)
    ([0.9, 0.0], True)
    """
    from scipy.optimize import nnls

    x, _ = nnls(matrix, b, maxiter=30 * len(b) + 100)
    return np.asarray(x), np.asarray(b - matrix @ x)
