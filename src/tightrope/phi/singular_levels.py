"""The levels ε for which Φ is singular [A, App B]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.phi.cells import single_cells
from tightrope.phi.dense import DenseStructure
from tightrope.phi.exact import fits_exactly, singular_alphas

#: Largest number of answers for which eigenvalues are sampled.
EIGENVALUE_LIMIT = 600
#: Number of samples of the eigenvalues, and the range of ε.
SAMPLES, LOW, HIGH = 200, 0.02, 8.0


@dataclass(frozen=True)
class SingularLevels:
    r"""The ε for which Φ has no inverse.

    Parameters
    ----------
    epsilons
        The levels, increasing.
    exact
        Whether these are proven to be all. Otherwise changes of the number of negative
        eigenvalues were looked for between ``LOW`` and ``HIGH``.
    method
        How it was decided, in words.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> singular_epsilons(PathPower(5)).epsilons
    ()
    """

    epsilons: tuple[float, ...]
    exact: bool
    method: str

    @property
    def alphas(self) -> tuple[float, ...]:
        r"""The same levels as :math:`\alpha = e^{-\varepsilon}`."""
        return tuple(math.exp(-epsilon) for epsilon in self.epsilons)


def singular_epsilons(graph: AnswerGraph) -> SingularLevels:
    r"""Return every ε for which Φ is singular.

    Examples
    --------
    >>> from tightrope.graphs import FoldedCube
    >>> [round(alpha, 12) for alpha in singular_epsilons(FoldedCube(4)).alphas]   # 1/3
    [0.333333333333]
    """
    if graph.product == "cartesian":
        parts = [singular_epsilons(factor) for factor in set(graph.factors)]
        joined = sorted({epsilon for part in parts for epsilon in part.epsilons})
        return SingularLevels(
            tuple(joined), all(part.exact for part in parts), "a factor of the product is singular"
        )
    unit = not graph.has_lengths
    if unit and (graph.is_clique or graph.is_cycle or graph.is_tree):
        return SingularLevels((), True, "Φ is positive definite on trees, cycles and cliques")
    if graph.size > EIGENVALUE_LIMIT:
        raise TooLarge(
            f"the eigenvalues of Φ are sampled up to {EIGENVALUE_LIMIT} answers, "
            f"{graph.name} has {graph.size}"
        )
    dense = DenseStructure(graph)
    if unit and graph.size <= 64:
        single = single_cells(graph)
        if fits_exactly(single):
            levels = sorted(-math.log(float(root)) for root in singular_alphas(single))
            return SingularLevels(tuple(levels), True, "roots of the determinant, exactly")
    return _by_inertia(dense)


def _by_inertia(dense: DenseStructure) -> SingularLevels:
    def negative(epsilon: float) -> int:
        return int((np.linalg.eigvalsh(dense.matrix(math.exp(-epsilon))) < 0).sum())

    points = np.geomspace(LOW, HIGH, SAMPLES)
    counts = [negative(float(point)) for point in points]
    found = []
    for k in range(SAMPLES - 1):
        a, b = float(points[k]), float(points[k + 1])
        if counts[k] != counts[k + 1]:
            while b - a > 1e-10:
                middle = (a + b) / 2
                a, b = (middle, b) if negative(middle) == counts[k] else (a, middle)
            found.append(b)
    words = f"changes of the number of negative eigenvalues over {SAMPLES} samples of ε"
    return SingularLevels(tuple(found), False, words)
