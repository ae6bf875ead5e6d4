r"""What a shape of graph knows about its own :math:`\Phi`.

:math:`\Phi_{ih} = \alpha^{d(i,h)}` [A, Def 4] is never written down where the graph has a rule:
a :class:`Structure` multiplies by it, solves with it, and bounds its inverse, at any
:math:`\alpha \in (0,1)`. Vectors may be ``float64`` or ``longdouble``; products keep the type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import AnswerGraph

#: One number α, in double or extended precision.
Alpha = float | np.longdouble


class Structure(ABC):
    r"""Multiply by :math:`\Phi`, solve with it and bound :math:`\|\Phi^{-1}\|_2`.

    Attributes
    ----------
    size
        The number of answers.
    words
        How systems are solved, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Clique
    >>> from tightrope.phi.structure import structure_of
    >>> clique = structure_of(Clique(3))
    >>> clique.apply(0.5, np.array([1.0, 0.0, 0.0])).tolist()
    [1.0, 0.5, 0.5]
    """

    size: int
    words: str

    @abstractmethod
    def apply(self, alpha: Alpha, x: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`\Phi x` for one vector, or for every column of an array."""

    @abstractmethod
    def solve(self, alpha: float, b: NDArray[Any]) -> NDArray[np.float64]:
        r"""Return :math:`x` with :math:`\Phi x \approx b`, in double precision."""

    def is_singular(self, alpha: float) -> bool:
        """Whether elimination meets a pivot that is zero to working accuracy."""
        return False

    @abstractmethod
    def inverse_norm(self, alpha: float) -> float | None:
        r"""Return a proven upper bound on :math:`\|\Phi^{-1}\|_2`, or ``None``."""


def structure_of(graph: AnswerGraph) -> Structure:
    """Return the cheapest structure that describes the graph.

    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique, StrongProduct
    >>> structure_of(PathPower(751, 5)).words
    'banded elimination'
    >>> structure_of(StrongProduct([PathPower(31)] * 3)).words
    'conjugate gradients on FFT products'
    >>> structure_of(CartesianProduct([Clique(4)] * 5)).words
    'factor by factor (closed form)'
    """
    from tightrope.phi.dense import DenseStructure
    from tightrope.phi.kronecker import KroneckerStructure
    from tightrope.phi.lattice import lattice_of
    from tightrope.phi.lines import BandStructure, CliqueStructure, CycleStructure
    from tightrope.phi.plane import plane_of
    from tightrope.phi.trees import TreeStructure

    if graph.box is not None and graph.is_clique:
        return CliqueStructure(graph.size)
    if graph.is_ring:
        return CycleStructure(graph.size)
    if graph.power is not None and BandStructure.fits(graph.size, graph.power):
        return BandStructure(graph.size, graph.power)
    if graph.product == "cartesian":
        return KroneckerStructure([structure_of(factor) for factor in graph.factors])
    lattice = plane_of(graph) or lattice_of(graph)
    if lattice is not None:
        return lattice
    if not graph.has_lengths and graph.is_tree:
        return TreeStructure(graph)
    return DenseStructure(graph)
