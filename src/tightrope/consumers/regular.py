r"""ε-regular priors: those with :math:`\pi = y\Phi`, :math:`y \ge 0` [A, Def 5].

For them no ε-private mechanism has a utility above :math:`\sum y` under binary loss
[A, Thm 1], nor a min-entropy leakage above :math:`\log_2(\sum y / \max\pi)` [A, Prop 6]. They
are the convex combinations :math:`\pi = \sum_i \gamma_i c^i` of the corner priors, with
:math:`\gamma_i = y_i \sum_k \Phi_{ik}` [A, Prop 4].

Priors of independent draws over a Cartesian product have :math:`y = y_1 \otimes y_2 \otimes …`:
they are regular iff every factor is, and nothing is listed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.prior_text import prior as read_prior
from tightrope.consumers.priors import Prior, UniformPrior
from tightrope.consumers.product_prior import ProductPrior
from tightrope.consumers.regular_proof import separating_vector
from tightrope.epsilon import Epsilon
from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import ROW_LIMIT
from tightrope.phi import Phi, Solution
from tightrope.phi.cells import rational_solve

#: Relative error taken for an entry of y where none is proven.
UNPROVEN_ERROR = 1e-11


@dataclass(frozen=True)
class Regularity:
    r"""Whether a prior is ε-regular, with the proof either way.

    Vectors over a product are kept as one array for each factor; their Kronecker product is
    ``y``, ``coordinates`` or ``separating``, listed when it fits.

    Parameters
    ----------
    regular
        Whether there is :math:`y \ge 0` with :math:`y\Phi = \pi`.
    certain
        Whether the sign of every entry of y is proven. On the border of the region, where an
        entry is zero, this needs :math:`e^\varepsilon` and the prior as fractions.
    margin
        The smallest entry of y.
    error
        How far entries of y may lie from the true ones.
    unique
        Whether y is the only solution (Φ may be singular).
    y_factors
        y, as its factors (a least-squares solution when there is none).
    row_sum_factors
        The row sums of Φ, as their factors.
    separating_factors
        When not regular: w, as its factors, with :math:`\Phi w \ge 0` and
        :math:`\pi \cdot w < 0`, which no :math:`y \ge 0` allows. Otherwise empty.
    maximum
        The largest probability.
    any_prior_bound
        :math:`\sum y'` of some :math:`y' \ge 0` with :math:`y'\Phi \ge \pi`: a bound on the
        utility that holds for every prior.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner = regularity([0.4, 0.2, 0.2, 0.2], Clique(4), "ln(2)")
    >>> corner.regular, corner.certain, corner.coordinates.tolist()
    (True, True, [1.0, 0.0, 0.0, 0.0])
    """

    regular: bool
    certain: bool
    margin: float
    error: float
    unique: bool
    y_factors: tuple[NDArray[np.float64], ...]
    row_sum_factors: tuple[NDArray[np.float64], ...]
    separating_factors: tuple[NDArray[np.float64], ...]
    maximum: float
    any_prior_bound: float

    @functools.cached_property
    def y(self) -> NDArray[np.float64]:
        r"""The solution of :math:`y\Phi = \pi`; refused when it would not fit."""
        return kron(self.y_factors)

    @functools.cached_property
    def coordinates(self) -> NDArray[np.float64]:
        r"""The weights γ over the corner priors, :math:`\gamma_i = y_i \sum_k \Phi_{ik}`."""
        pairs = zip(self.y_factors, self.row_sum_factors, strict=True)
        return kron([y * sums for y, sums in pairs])

    @functools.cached_property
    def separating(self) -> NDArray[np.float64] | None:
        """The proof w that the prior is not regular, or ``None``."""
        return kron(self.separating_factors) if self.separating_factors else None

    @property
    def y_sum(self) -> float:
        r""":math:`\sum y`."""
        return math.prod(math.fsum(y) for y in self.y_factors)

    @property
    def utility_bound(self) -> float:
        r"""No ε-private mechanism is right more often: :math:`\sum y` [A, Thm 1].

        For a prior that is not regular it is ``any_prior_bound``.
        """
        return self.y_sum if self.regular else self.any_prior_bound

    @property
    def leakage_bound_bits(self) -> float:
        r"""No ε-private mechanism leaks more: :math:`\log_2(\sum y / \max\pi)` [A, Prop 6]."""
        return max(0.0, math.log2(self.utility_bound / self.maximum))


def regularity(
    prior: Prior | Sequence[float] | str | Any,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
) -> Regularity:
    r"""Decide whether a prior is ε-regular and return the bounds that follow.

    Parameters
    ----------
    prior
        A prior over the answers, or what :func:`~tightrope.consumers.prior` reads.
    graph
        The answer graph.
    epsilon
        The privacy level.

    Examples
    --------
    Independent choices among four values, five people [A, Ex 3]:

    >>> from tightrope.graphs import CartesianProduct, Clique
    >>> people = CartesianProduct([Clique(4)] * 5)
    >>> found = regularity("product(.3,.27,.23,.2)", people, 0.7)
    >>> found.regular, round(found.leakage_bound_bits, 4)
    (True, 2.1048)
    >>> found = regularity("product(.3,.27,.23,.2)", people, 0.5)
    >>> found.regular, found.margin < 0, round(math.log2(found.y_sum / found.maximum), 4)
    (False, True, 1.2074)
    """
    given = read_prior(prior, graph)
    level = Epsilon.of(epsilon)
    parts = _factorised(given, graph)
    distinct = {(id(p), id(g)): (p, g) for p, g in parts}
    found = {key: _single(p, g, level) for key, (p, g) in distinct.items()}
    pieces = [found[id(p), id(g)] for p, g in parts]
    if len(pieces) == 1:
        return pieces[0]
    regular = all(piece.regular for piece in pieces)
    low, high = 1.0, 1.0
    for piece in pieces:
        ends = (float(piece.y_factors[0].min()), float(piece.y_factors[0].max()))
        products = [a * b for a in (low, high) for b in ends]
        low, high = min(products), max(products)
    return Regularity(
        regular,
        all(p.certain for p in pieces) or any(p.certain and not p.regular for p in pieces),
        low,
        sum(piece.error for piece in pieces),
        all(piece.unique for piece in pieces),
        tuple(piece.y_factors[0] for piece in pieces),
        tuple(piece.row_sum_factors[0] for piece in pieces),
        () if regular else _separating(pieces, [p for p, _ in parts]),
        given.maximum,
        math.prod(piece.any_prior_bound for piece in pieces),
    )


def _separating(
    pieces: Sequence[Regularity], priors: Sequence[Prior]
) -> tuple[NDArray[np.float64], ...]:
    """Extend one factor's proof by unit vectors, whose products with Φ are non-negative."""
    first = next(k for k, piece in enumerate(pieces) if not piece.regular)
    out = []
    for k, (piece, prior) in enumerate(zip(pieces, priors, strict=True)):
        unit = np.zeros(prior.size)
        unit[int(prior.probabilities.argmax())] = 1
        out.append(piece.separating_factors[0] if k == first else unit)
    return tuple(out)


def _single(prior: Prior, graph: AnswerGraph, epsilon: Epsilon) -> Regularity:
    from tightrope.consumers.regular_bounds import bound_from

    phi = Phi(graph, epsilon)
    pi = np.asarray(prior.probabilities)
    solution = phi.solve(pi)
    y, regular, certain, error = _decided(phi, prior, solution)
    separating = () if regular else (separating_vector(phi, pi, solution),)
    bound = float(y.sum()) if regular else bound_from(phi, pi, y if solution.consistent else None)
    y.flags.writeable = False
    return Regularity(
        regular,
        certain,
        float(y.min()),
        error,
        solution.unique,
        (y,),
        (phi.row_sums,),
        separating,
        prior.maximum,
        bound,
    )


def _decided(
    phi: Phi, prior: Prior, solution: Solution
) -> tuple[NDArray[np.float64], bool, bool, float]:
    """Return y, whether it counts as non-negative, whether that is proven, and its error."""
    y = np.array(solution.values)
    if not solution.consistent:
        return y, False, True, 0.0
    proven = solution.error is not None
    error = UNPROVEN_ERROR * float(np.abs(y).max())
    if solution.error is not None and phi.inverse_norm is not None:
        # The probabilities themselves were rounded to doubles once.
        rounded = np.finfo(np.float64).eps * float(np.linalg.norm(prior.probabilities))
        error = solution.error + phi.inverse_norm * rounded
    if abs(y.min()) > error:
        return y, bool(y.min() > 0), proven, error
    if solution.unique and phi.size <= 40 and phi.epsilon.exact:
        exact = rational_solve(phi.graph, phi.epsilon, prior.exact)
        if exact is not None:
            return np.array([float(v) for v in exact]), min(exact) >= 0, True, 0.0
    return y, bool(y.min() >= -error), False, error


def _factorised(prior: Prior, graph: AnswerGraph) -> list[tuple[Prior, AnswerGraph]]:
    """Split independent draws over a product into one prior for each factor."""
    if graph.product == "cartesian":
        if isinstance(prior, ProductPrior) and prior.power == len(graph.factors):
            return [(prior.factor, factor) for factor in graph.factors]
        if isinstance(prior, UniformPrior):
            made = {f.size: UniformPrior(f.size) for f in graph.factors}
            return [(made[f.size], f) for f in graph.factors]
    return [(prior, graph)]


def corner_prior(graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str, i: int) -> Prior:
    r"""Return the corner prior :math:`c^i_j = \Phi_{ij} / \sum_k \Phi_{ik}` [A, Def 6].

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner_prior(Clique(4), "ln(2)", 0).probabilities.tolist()
    [0.4, 0.2, 0.2, 0.2]
    >>> corner_prior(Clique(4), "ln(5)", 0).probabilities.round(12).tolist()
    [0.625, 0.125, 0.125, 0.125]
    """
    row = Phi(graph, epsilon).row(i)
    return Prior(row / row.sum())


def kron(factors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the Kronecker product of vectors, refused when it would not fit.

    >>> kron([np.array([1.0, 2.0]), np.array([1.0, 10.0])]).tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    size = math.prod(len(factor) for factor in factors)
    if size > ROW_LIMIT:
        raise TooLarge(f"this vector would hold {size} numbers, more than {ROW_LIMIT}")
    out = functools.reduce(lambda left, right: np.multiply.outer(left, right).ravel(), factors)
    out = out.copy() if len(factors) == 1 else out
    out.flags.writeable = False
    return out
