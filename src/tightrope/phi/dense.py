r"""Φ of a graph without a rule: the matrix itself, for a few thousand answers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.phi.structure import Alpha, Structure

#: Largest number of answers for which Φ is written down.
DENSE_LIMIT = 6000
#: Largest number of answers for which the inverse is bounded by an approximate inverse.
VERIFIED_LIMIT = 3000
#: Reciprocal condition number below which Φ counts as singular.
SINGULAR_CONDITION = 1e-14
#: Number of entries in one block of rows of a product.
BLOCK = 2_000_000


class DenseStructure(Structure):
    """The matrix Φ from all distances.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import ExplicitGraph
    >>> square = DenseStructure(ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0)]))
    >>> square.apply(0.5, np.array([1.0, 0, 0, 0])).tolist()
    [1.0, 0.5, 0.25, 0.5]
    """

    words = "dense elimination"

    def __init__(self, graph: AnswerGraph) -> None:
        self.size = graph.size
        if graph.size > DENSE_LIMIT:
            raise TooLarge(
                f"Φ of {graph.name} has no rule and {graph.size} answers; "
                f"at most {DENSE_LIMIT} are written down as a matrix"
            )
        distances = graph.distance_matrix()
        self.lengths, self._code = _distances_by_code(distances)

    def matrix(self, alpha: Alpha, kind: Any = np.float64) -> NDArray[Any]:
        """Return Φ as an array of the given kind of float."""
        return np.asarray((kind(alpha) ** self.lengths)[self._code])

    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x`, in blocks of rows."""
        powers = x.dtype.type(alpha) ** self.lengths
        step = max(1, BLOCK // self.size)
        blocks = [powers[self._code[a : a + step]] @ x for a in range(0, self.size, step)]
        return np.concatenate(blocks)

    @functools.lru_cache(maxsize=1)  # noqa: B019 - one factorisation, kept while α is the same
    def _factors(self, alpha: float) -> Any:
        import warnings

        from scipy.linalg import LinAlgWarning, lu_factor

        with warnings.catch_warnings():
            # A singular Φ is found and dealt with by whoever looks at the residual.
            warnings.simplefilter("ignore", LinAlgWarning)
            return lu_factor(self.matrix(alpha), overwrite_a=True, check_finite=False)

    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        """Solve by elimination with pivots."""
        from scipy.linalg import lu_solve

        with np.errstate(all="ignore"):
            solved = lu_solve(self._factors(alpha), np.asarray(b, np.float64), check_finite=False)
        return np.asarray(solved)

    def is_singular(self, alpha: float) -> bool:
        """Whether the estimated condition number leaves no digit."""
        from scipy.linalg.lapack import dgecon

        factors, _ = self._factors(alpha)
        largest = float(self.matrix(alpha).sum(axis=0).max())
        return bool(dgecon(factors, largest, norm="1")[0] < SINGULAR_CONDITION)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - structures are few and live long
    def inverse_norm(self, alpha: float) -> float | None:
        r"""Return :math:`\|R\|_\infty / (1 - \|I - R\Phi\|_\infty)` for an approximate inverse R.

        The residual :math:`I - R\Phi` is bounded together with the rounding of its own
        computation, so the bound is proven when it exists.
        """
        if self.size > VERIFIED_LIMIT:
            return None
        phi = self.matrix(alpha)
        try:
            inverse = np.linalg.inv(phi)
        except np.linalg.LinAlgError:
            return None
        size, unit = self.size, np.finfo(np.float64).eps
        bound = float(np.abs(inverse).sum(axis=1).max())
        if not np.isfinite(bound):
            return None
        # Each product rounds by at most n units of |R||Φ|; Φ itself by two more units an entry.
        rounding = (size + 4) * unit * bound * float(phi.sum(axis=1).max())
        miss = np.abs(inverse @ phi - np.eye(size)).sum(axis=1).max() + rounding
        return bound / (1 - miss) if miss < 1 else None


def _distances_by_code(distances: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the different distances and, for every pair, the place of its distance in them."""
    if np.issubdtype(distances.dtype, np.integer):
        small = distances.astype(np.uint16)
        return np.arange(int(distances.max()) + 1, dtype=np.float64), small
    lengths, code = np.unique(distances, return_inverse=True)
    return lengths, code.reshape(distances.shape)
