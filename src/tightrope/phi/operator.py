r"""Φ as an operator: rows, products, sums and solutions, by the structure of the graph."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import MATRIX_LIMIT
from tightrope.phi.solution import Solution, solve
from tightrope.phi.structure import Structure, structure_of


class Phi:
    r"""The privacy-constraints matrix :math:`\Phi_{ih} = \alpha^{d(i,h)}` [A, Def 4].

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level; :math:`\alpha = e^{-\varepsilon}`.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> phi = Phi(PathPower(1_000_001, 5), 1)
    >>> solution = phi.solve_ones()
    >>> round(float(solution.values.mean()), 6), solution.positive
    (0.146634, True)
    """

    def __init__(self, graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self.size = graph.size

    @functools.cached_property
    def structure(self) -> Structure:
        """What is known about Φ by the shape of the graph."""
        self.graph._check_row("a vector over the answers")
        return structure_of(self.graph)

    @property
    def alpha(self) -> float:
        r""":math:`\alpha = e^{-\varepsilon}` in double precision."""
        return self.epsilon.alpha

    @property
    def precise_alpha(self) -> np.longdouble:
        r""":math:`\alpha` in extended precision."""
        exponent = _extended(self.epsilon.multiple)
        if self.epsilon.base is None:
            return np.longdouble(np.exp(-exponent))
        base = _extended(self.epsilon.base)
        return np.longdouble(base**-exponent)

    def row(self, i: int) -> NDArray[np.float64]:
        r"""Return row i, :math:`\alpha^{d(i,\cdot)}`."""
        return np.asarray(self.alpha ** self.graph.distances_from(i).astype(np.float64))

    def row_sum(self, i: int) -> float:
        r"""Return :math:`\sum_h \alpha^{d(i,h)}` for one answer."""
        if self.graph.has_lengths:
            return float(self.row(i).sum())
        return math.fsum(n * self.alpha**d for d, n in enumerate(self.graph.ball_sizes(i)))

    @functools.cached_property
    def row_sums(self) -> NDArray[np.float64]:
        r""":math:`\Phi 1`: the sum of every row."""
        sums = self.structure.apply(self.alpha, np.ones(self.size))
        sums.flags.writeable = False
        return sums

    @functools.cached_property
    def inverse_norm(self) -> float | None:
        r"""A proven bound on :math:`\|\Phi^{-1}\|_2`, or ``None`` when none is known.

        It comes from the structure of the graph or, where every row of Φ sums to less than 2,
        from diagonal dominance.
        """
        beside = float(self.row_sums.max()) * (1 + 1e-12) - 1
        dominant = 1 / (1 - beside) if beside < 1 else None
        known = self.structure.inverse_norm(self.alpha)
        found = [norm for norm in (dominant, known) if norm is not None]
        return min(found) if found else None

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        r"""Return :math:`\Phi x`, which is also :math:`x\Phi`: Φ is symmetric."""
        vector = self.check_vector(x, "the vector")
        return self.structure.apply(self.alpha, vector)

    def matrix(self) -> NDArray[np.float64]:
        """Return Φ as an array; refused when it would not fit."""
        if self.size > MATRIX_LIMIT:
            raise TooLarge(
                f"Φ of {self.graph.name} would hold {self.size}² numbers; "
                f"at most {MATRIX_LIMIT} answers fit: use row(i) or matvec(x)"
            )
        return np.asarray(self.alpha ** self.graph.distance_matrix().astype(np.float64))

    def solve(self, rhs: ArrayLike) -> Solution:
        r"""Solve :math:`\Phi x = b`; with :math:`b = \pi` it is :math:`y\Phi = \pi` [A, Def 5].

        Examples
        --------
        >>> from tightrope.graphs import Clique
        >>> Phi(Clique(4), "ln(2)").solve([0.4, 0.2, 0.2, 0.2]).values.round(12).tolist()
        [0.4, 0.0, 0.0, 0.0]
        """
        return solve(self, self.check_vector(rhs, "the right-hand side"))

    def solve_ones(self) -> Solution:
        r"""Solve :math:`\Phi z = 1`: the tight-constraints mechanism's diagonal [A, Lemma 3]."""
        return solve(self, np.ones(self.size))

    def check_vector(self, x: ArrayLike, what: str) -> NDArray[np.float64]:
        """Return a vector over the answers, or refuse it with the place and value."""
        try:
            vector = np.array(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{what} must be a list of numbers") from None
        if vector.shape != (self.size,):
            raise InputError(
                f"{what} needs one number for each of the {self.size} answers of "
                f"{self.graph.name}, got shape {vector.shape}"
            )
        bad = np.flatnonzero(~np.isfinite(vector))
        if len(bad):
            raise InputError(f"{what} must be finite, got {vector[bad[0]]} at position {bad[0]}")
        return vector

    def __repr__(self) -> str:
        return f"<Phi of {self.graph.name} at ε = {self.epsilon}: {self.size} answers>"


def _extended(number: Fraction) -> np.longdouble:
    """Return a fraction in extended precision, by the quotient of two rounded integers."""
    return np.longdouble(str(number.numerator)) / np.longdouble(str(number.denominator))
