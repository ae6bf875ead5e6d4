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
from typing import Any

import numpy as np

from tightrope.arrays import LIMITS, Floats
from tightrope.channels.privacy import exp_or_inf
from tightrope.channels.structured import log_alpha_sum
from tightrope.consumers.priors import Prior, kron, prior as read_prior
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError
from tightrope.exact import over_one
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen
from tightrope.phi import Existence, Phi, Solution
from tightrope.phi.cells import rational_solve, single_cells
from tightrope.phi.existence import (
    Samples,
    dominance_level,
    exact_levels,
    on_every_factor,
    sample_count,
    sampled,
)
from tightrope.phi.operator import nonnegative
from tightrope.phi.structure import structure_of

#: Relative error taken for an entry of y where none is proven.
UNPROVEN_ERROR = 1e-11


@dataclass(frozen=True)
class FactorRegularity:
    r"""Whether the prior of one factor is ε-regular.

    Attributes
    ----------
    y
        The solution of :math:`y\Phi = \pi` (a least-squares one when there is none).
    row_sums
        The row sums of Φ.
    regular, certain, error, unique
        As for :class:`Regularity`.
    likeliest
        The node with the largest probability.
    separating
        When not regular: w with :math:`\Phi w \ge 0` and :math:`\pi \cdot w < 0`, which no
        :math:`y \ge 0` allows. Otherwise empty.
    bound
        :math:`\sum y'` of some :math:`y' \ge 0` with :math:`y'\Phi \ge \pi`; for a regular prior y
        itself.
    """

    y: Floats
    row_sums: Floats
    regular: bool
    certain: bool
    error: float
    unique: bool
    likeliest: int
    separating: Floats
    bound: float


@dataclass(frozen=True)
class Regularity:
    r"""Whether a prior is ε-regular, with the proof either way.

    Parameters
    ----------
    factors
        One part for each factor of a product, or for the whole graph. Vectors over a product are
        the Kronecker products of theirs, listed when they fit.
    min_entropy
        That of the prior, in bits.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner = regularity([0.4, 0.2, 0.2, 0.2], Clique(4), "ln(2)")
    >>> corner.regular, corner.certain, corner.coordinates.tolist()
    (True, True, [1.0, 0.0, 0.0, 0.0])
    """

    factors: tuple[FactorRegularity, ...]
    min_entropy: float

    @property
    def regular(self) -> bool:
        r"""Whether there is :math:`y \ge 0` with :math:`y\Phi = \pi`."""
        return all(factor.regular for factor in self.factors)

    @property
    def certain(self) -> bool:
        r"""Whether the sign of every entry of y is proven.

        On the border of the region, where an entry is zero, this needs :math:`e^\varepsilon` and
        the prior as fractions.
        """
        # One proven irregular factor suffices: y of the product then has a negative entry.
        refuted = any(factor.certain and not factor.regular for factor in self.factors)
        return refuted or all(factor.certain for factor in self.factors)

    @property
    def margin(self) -> float:
        """The smallest entry of y."""
        return _smallest_product([factor.y for factor in self.factors])

    @property
    def error(self) -> float:
        """How far entries of y may lie from the true ones."""
        return sum(factor.error for factor in self.factors)

    @property
    def unique(self) -> bool:
        """Whether y is the only solution (Φ may be singular)."""
        return all(factor.unique for factor in self.factors)

    @functools.cached_property
    def y(self) -> Floats:
        r"""The solution of :math:`y\Phi = \pi`; refused when it would not fit."""
        return kron([factor.y for factor in self.factors])

    @functools.cached_property
    def coordinates(self) -> Floats:
        r"""The weights γ over the corner priors, :math:`\gamma_i = y_i \sum_k \Phi_{ik}`."""
        return kron([factor.y * factor.row_sums for factor in self.factors])

    @functools.cached_property
    def separating(self) -> Floats | None:
        r"""The proof w that the prior is not regular, or ``None``.

        One factor's proof is extended by unit vectors, whose products with Φ are non-negative.
        """
        if self.regular:
            return None
        irregular = (k for k, factor in enumerate(self.factors) if not factor.regular)
        first = next(irregular)
        parts = [
            np.eye(1, len(factor.y), factor.likeliest)[0] for factor in self.factors
        ]
        parts[first] = self.factors[first].separating
        return kron(parts)

    @property
    def y_sum(self) -> float:
        r""":math:`\sum y`."""
        return math.prod(math.fsum(factor.y) for factor in self.factors)

    @property
    def y_bits(self) -> float | None:
        r""":math:`\log_2(\sum y / \max\pi)`, or ``None`` where a factor's sum is not positive.

        In logarithms, since over many people both numbers underflow.
        """
        sums = [math.fsum(factor.y) for factor in self.factors]
        # A logarithm needs positive sums; an irregular prior may have others.
        if min(sums) <= 0:
            return None
        return math.fsum(map(math.log2, sums)) + self.min_entropy

    @property
    def utility_bound(self) -> float:
        r"""No ε-private mechanism is right more often.

        :math:`\sum y` for a regular prior [A, Thm 1], else :func:`any_prior_bound`.
        """
        return math.prod(factor.bound for factor in self.factors)

    @property
    def leakage_bound_bits(self) -> float:
        r"""No ε-private mechanism leaks more: :math:`\log_2(\sum y / \max\pi)` [A, Prop 6]."""
        bits = math.fsum(math.log2(factor.bound) for factor in self.factors)
        return max(0.0, bits + self.min_entropy)


def regularity(prior: Any, graph: AnswerGraph, epsilon: Level) -> Regularity:
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
    >>> found.regular, found.margin < 0, round(found.y_bits, 4)
    (False, True, 1.2074)
    """
    given = read_prior(prior, graph)
    level = Epsilon.of(epsilon)
    single = functools.cache(_single)
    factors = _factorised(given, graph)
    of_factors = tuple(single(p, g, level) for p, g in factors)
    return Regularity(of_factors, given.min_entropy)


def _single(prior: Prior, graph: AnswerGraph, epsilon: Epsilon) -> FactorRegularity:
    phi = Phi(graph, epsilon)
    pi = np.asarray(prior.probabilities)
    # y Φ = π; Φ is symmetric.
    solution = phi.solve(pi)
    y, regular, certain, error = _decided(phi, prior, solution)
    return FactorRegularity(
        frozen(y),
        phi.row_sums,
        regular,
        certain,
        error,
        solution.unique,
        int(pi.argmax()),
        np.zeros(0) if regular else separating_vector(phi, pi, solution),
        # Regular: y itself is feasible, so Σy is the bound.
        math.fsum(y)
        if regular
        else bound_from(phi, pi, y if solution.consistent else None),
    )


def _decided(
    phi: Phi, prior: Prior, solution: Solution
) -> tuple[Floats, bool, bool, float]:
    """Return y, whether it counts as non-negative, whether that is proven, and its error."""
    y = np.array(solution.values)
    if not solution.consistent:
        return y, False, True, 0.0
    proven = solution.error is not None
    error = UNPROVEN_ERROR * float(np.abs(y).max())
    if solution.error is not None and phi.inverse_norm is not None:
        # ‖Δy‖ ≤ ‖Φ⁻¹‖ ‖Δπ‖: the probabilities themselves were rounded to doubles once.
        norm = float(np.linalg.norm(prior.probabilities))
        rounded = np.finfo(np.float64).eps * norm
        error = solution.error + phi.inverse_norm * rounded
    # Further from 0 than its error: the sign is decided.
    if abs(y.min()) > error:
        return y, bool(y.min() > 0), proven, error
    # On the border of the region only fractions decide.
    if solution.unique and phi.size <= 40 and phi.epsilon.exact:
        exact = rational_solve(phi.graph, phi.epsilon, prior.exact)
        if exact is not None:
            values = [float(v) for v in exact]
            return np.array(values), min(exact) >= 0, True, 0.0
    # On the border and unproven: counted as regular, but not as certain.
    return y, bool(y.min() >= -error), False, error


def _factorised(prior: Prior, graph: AnswerGraph) -> list[tuple[Prior, AnswerGraph]]:
    """Split independent draws over a product into one prior for each factor."""
    # Φ of a Cartesian product is the Kronecker product of the factors' Φ, and so is y.
    if graph.product == "cartesian":
        parts = prior.factors([factor.size for factor in graph.factors])
        if parts is not None:
            return list(zip(parts, graph.factors, strict=True))
    return [(prior, graph)]


def corner_prior(graph: AnswerGraph, epsilon: Level, i: int) -> Prior:
    r"""Return the corner prior :math:`c^i_j = \Phi_{ij} / \sum_k \Phi_{ik}` [A, Def 6].

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> corner_prior(Clique(4), "ln(2)", 0).probabilities.tolist()
    [0.4, 0.2, 0.2, 0.2]
    >>> corner_prior(Clique(4), "ln(5)", 0).probabilities.round(12).tolist()
    [0.625, 0.125, 0.125, 0.125]
    """
    # Φ_ij / Σ_k Φ_ik
    row = Phi(graph, epsilon).row(i)
    return Prior(row / row.sum())


def separating_vector(phi: Phi, prior: Floats, solution: Solution) -> Floats:
    r"""Return w with :math:`\Phi w \ge 0` and :math:`\pi \cdot w < 0`: the prior is not regular.

    No :math:`y \ge 0` then has :math:`y\Phi = \pi`, or :math:`\pi \cdot w = y \cdot \Phi w \ge 0`.

    With an inverse, :math:`w = \Phi^{-1}(e_i + \delta 1)` where :math:`y_i < 0`: the small δ
    prevents round-off from making :math:`\Phi w` negative. Without one, a direction of the kernel
    or the residual of non-negative least squares.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> phi, point = Phi(Clique(3), 1), np.array([0.8, 0.2, 0.0])
    >>> w = separating_vector(phi, point, phi.solve(point))
    >>> bool(phi.matvec(w).min() >= 0), bool(point @ w < 0)
    (True, True)
    """
    # π is not in the row space of Φ: a kernel vector w has Φw = 0 and π·w ≠ 0.
    if not solution.consistent:
        along = solution.kernel.T @ prior
        # The direction with the largest |π·w| separates most clearly.
        k = int(np.abs(along).argmax())
        direction = -np.sign(along[k])
        return np.asarray(direction * solution.kernel[:, k])
    if not solution.unique:
        # The residual of non-negative least squares satisfies the KKT conditions Φw ≥ 0, π·w < 0.
        return -nonnegative(phi.matrix(), prior)[1]
    # π·w = y_i + δ Σy: negative for δ < −y_i / Σ|y|.
    worst, value = solution.least
    total = abs(float(solution.values.sum()))
    change = min(1e-3, -value / (4 * total + 1e-300))
    target = np.full(phi.size, change)
    target[worst] += 1
    return phi.solve(target).values


def any_prior_bound(prior: Any, graph: AnswerGraph, epsilon: Level) -> float:
    r"""Return a bound on the utility of every ε-private mechanism for any prior.

    .. math:: \min \sum y : \quad y\Phi \ge \pi,\ y \ge 0

    Every mechanism's diagonal x has :math:`\Phi x \le 1`, so
    :math:`\pi \cdot x \le y\Phi x \le \sum y`; for a regular prior on a graph with the
    tight-constraints mechanism it is the bound of [A, Thm 1]. Above ``LIMITS.programs`` answers
    the best of three feasible y is taken: the positive part of the solution of
    :math:`y\Phi = \pi`, a multiple of z, and π itself.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> round(any_prior_bound([0.8, 0.1, 0.1], Clique(3), "ln(2)"), 6)
    0.8
    >>> round(any_prior_bound([1/3] * 3, Clique(3), "ln(2)"), 6)      # 1/(1 + 2α)
    0.5
    """
    phi = Phi(graph, epsilon)
    pi = np.asarray(read_prior(prior, graph).probabilities)
    solution = phi.solve(pi) if phi.size > LIMITS.programs else None
    return bound_from(phi, pi, None if solution is None else solution.values)


def bound_from(phi: Phi, prior: Floats, y: Floats | None) -> float:
    r"""Return the bound for any prior, given a solution of :math:`y\Phi = \pi` if there is one.

    >>> from tightrope.graphs import Clique
    >>> round(bound_from(Phi(Clique(3), "ln(2)"), np.array([0.8, 0.1, 0.1]), None), 6)
    0.8
    """
    if phi.size <= LIMITS.programs:
        return _least_sum(phi.matrix(), prior)
    # Utility never exceeds 1: y = π is feasible because Φ ≥ I.
    bounds = [1.0]
    if y is not None:
        # y⁺Φ ≥ yΦ = π, because Φ ≥ 0: the positive part of y is feasible.
        bounds.append(float(np.maximum(y, 0).sum()))
    # (max π) z⁺ Φ ≥ max π is feasible too.
    z = phi.solve_ones()
    if z.consistent:
        positive = np.maximum(z.values, 0).sum()
        bounds.append(float(prior.max() * positive))
    return min(bounds)


def _least_sum(matrix: Floats, prior: Floats) -> float:
    """Minimise Σy subject to yΦ ≥ π, y ≥ 0, and make the solution feasible in floats."""
    from scipy.optimize import linprog

    costs = np.ones(len(prior))
    program = linprog(costs, A_ub=-matrix, b_ub=-prior, method="highs")
    y = np.maximum(program.x, 0)
    # Adding the shortfall to y raises yΦ by at least as much, because Φ ≥ I.
    y += np.maximum(prior - y @ matrix, 0)
    return float(y.sum())


def ratio_bound(graph: AnswerGraph, epsilon: Level, i: int, j: int) -> float:
    r"""Return :math:`e^{\varepsilon d(i,j)}`: no regular prior has a larger :math:`\pi_i/\pi_j`.

    [A, Prop 2]. The converse is false: not every prior with these ratios is regular. Beyond the
    range of floats it is infinite.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> round(ratio_bound(PathPower(5), "ln(2)", 0, 3), 12)
    8.0
    """
    exponent = float(Epsilon.of(epsilon)) * graph.distance(i, j)
    return exp_or_inf(exponent)


def entry_bounds(graph: AnswerGraph, epsilon: Level, i: int) -> tuple[float, float]:
    r"""Return the least and largest :math:`\pi_i` of a regular prior [A, Prop 3].

    .. math:: 1/\sum_j e^{\varepsilon d(i,j)} \le \pi_i \le 1/\sum_j e^{-\varepsilon d(i,j)}

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> [round(x, 12) for x in entry_bounds(Clique(4), "ln(2)", 0)]
    [0.142857142857, 0.4]
    """
    from scipy.special import logsumexp

    exponents = float(Epsilon.of(epsilon)) * graph.distances_from(i)
    # In logarithms, so that a wide graph at a large ε does not overflow.
    weakest = math.exp(-logsumexp(exponents))
    strongest = math.exp(-logsumexp(-exponents))
    return weakest, strongest


def uniform_leakage_bits(graph: AnswerGraph, epsilon: Level) -> float:
    r"""Return :math:`\log_2 \sum z`, which bounds the leakage for every prior [A, Cor 1].

    It needs a regular uniform prior, that is, :math:`z \ge 0`. On databases it is
    :math:`u \log_2\frac{v e^\varepsilon}{v-1+e^\varepsilon}` [A, Thm 2].

    Examples
    --------
    >>> from tightrope.graphs import CartesianProduct, Clique
    >>> round(uniform_leakage_bits(CartesianProduct([Clique(4)] * 5), 0.5), 4)
    2.5226
    """
    level = Epsilon.of(epsilon)
    sizes = graph.constant_ball_sizes
    if sizes is not None:
        # Same ball sizes everywhere: Σz = n / Σ_d n_d α^d.
        bits = log_alpha_sum(level, sizes) / math.log(2)
        return math.log2(graph.size) - bits
    z = Phi(graph, level).solve_ones()
    if not z.consistent or z.values.min() < 0:
        raise InputError(
            f"the uniform prior on {graph.name} is not regular at ε = {level}: "
            f"answer {graph.label(z.least[0])!r} gets {z.least[1]:.6g}; take a larger ε"
        )
    return math.log2(math.fsum(z.values))


def regular_levels(
    prior: Any,
    graph: AnswerGraph,
    *,
    low: float | None = None,
    high: float | None = None,
    tolerance: float = 0.0,
    step: float | None = None,
) -> Existence:
    r"""Return the set of ε for which a prior is regular, as intervals.

    Parameters
    ----------
    prior
        A prior over the answers, or what :func:`~tightrope.consumers.prior` reads.
    graph
        The answer graph.
    low, high, tolerance, step
        As for :func:`~tightrope.phi.exists`; the tolerance is on the entries of y.

    Examples
    --------
    The prior of [A, Ex 3] is regular from ln 2 on; 0.48 was published, found with a tolerance:

    >>> from tightrope.graphs import CartesianProduct, Clique
    >>> people = CartesianProduct([Clique(4)] * 5)
    >>> found = regular_levels("product(.3,.27,.23,.2)", people)
    >>> found.minimum == math.log(2), found.exact
    (True, True)
    >>> regular_levels("product(.3,.27,.23,.2)", people, tolerance=1e-4, high=1).minimum
    0.48
    """
    samples = Samples(low, high, tolerance, step)
    parts = _factorised(read_prior(prior, graph), graph)
    if tolerance or step:
        return _sampled(parts, samples)
    distinct = dict.fromkeys(parts)
    levels = [_levels(p, g, samples) for p, g in distinct]
    return levels[0] if len(levels) == 1 else on_every_factor(levels)


def _levels(prior: Prior, graph: AnswerGraph, samples: Samples) -> Existence:
    # Φ > 0: any y ≥ 0 other than 0 gives positive probabilities only.
    if prior.minimum <= 0:
        return Existence((), "a regular prior has no zero")
    # Beyond 16 answers exact polynomials take longer than sampling and refining.
    if graph.size <= 16 and not graph.has_lengths:
        cells = single_cells(graph)
        if cells.fit_exactly:
            numbers = over_one(prior.exact)[0].tolist()
            return exact_levels(cells, f"on {graph.size} answers", numbers)
    return _sampled([(prior, graph)], samples)


def _sampled(parts: list[tuple[Prior, AnswerGraph]], samples: Samples) -> Existence:
    """Sample the smallest entry of y over a product of factors."""
    factors = ((structure_of(g), p.probabilities) for p, g in parts)
    systems = [(structure, np.array(chances)) for structure, chances in factors]
    for _, pi in systems:
        if pi.min() <= 0:
            raise InputError(
                f"a regular prior has no zero, got 0 at position {pi.argmin()}: it is regular for "
                "no ε"
            )

    def least(epsilon: float) -> float:
        # Entries of y over a product are products of the factors' entries.
        alpha = math.exp(-epsilon)
        return _smallest_product([s.solve(alpha, pi) for s, pi in systems])

    certain_from = max(dominance_level(g, p.probabilities) for p, g in parts)
    count = sample_count(max(g.size for _, g in parts))
    return sampled(least, certain_from, samples, count)


def _smallest_product(factors: Sequence[Floats]) -> float:
    """Return the smallest entry of a Kronecker product of vectors."""
    # Extremes of a product are products of extremes.
    low = 1.0
    high = 1.0
    for y in factors:
        products = [
            a * b for a in (low, high) for b in (float(y.min()), float(y.max()))
        ]
        low = min(products)
        high = max(products)
    return low


@dataclass(frozen=True)
class LeakageCurves:
    """Leakage bounds over ε, for one prior and for all [A, Fig 4].

    Parameters
    ----------
    epsilons
        The levels.
    this_prior
        The bound for the prior in bits, ``None`` where it is not regular.
    every_prior
        The bound for all priors in bits.

    Examples
    --------
    >>> from tightrope.graphs import CartesianProduct, Clique
    >>> curves = leakage_curves(
    ...     "product(.3,.27,.23,.2)", CartesianProduct([Clique(4)] * 5), [0.5, 0.75, 1]
    ... )
    >>> [b and round(b, 3) for b in curves.this_prior], [round(b, 3) for b in curves.every_prior]
    ([None, 2.318, 3.32], [2.523, 3.634, 4.636])
    """

    epsilons: tuple[float, ...]
    this_prior: tuple[float | None, ...]
    every_prior: tuple[float, ...]


def leakage_curves(
    prior: Any, graph: AnswerGraph, epsilons: Sequence[float]
) -> LeakageCurves:
    """Return the two curves of Figure 4.

    >>> from tightrope.graphs import Clique
    >>> leakage_curves([0.5, 0.5], Clique(2), [1.0]).this_prior[0] is not None
    True
    """
    given = read_prior(prior, graph)
    for_prior: list[float | None] = []
    for epsilon in epsilons:
        result = regularity(given, graph, epsilon)
        for_prior.append(result.leakage_bound_bits if result.regular else None)
    for_all = tuple(uniform_leakage_bits(graph, epsilon) for epsilon in epsilons)
    return LeakageCurves(tuple(epsilons), tuple(for_prior), for_all)


def region_corners(graph: AnswerGraph, epsilon: Level) -> Floats:
    """Return the corner priors, one a row: the region of regular priors [A, Fig 2, 3].

    With three answers these are points of a triangle; with four, their first three entries are
    the projection that Figure 3 draws.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> region_corners(PathPower(3), "ln(2)").round(4).tolist()
    [[0.5714, 0.2857, 0.1429], [0.25, 0.5, 0.25], [0.1429, 0.2857, 0.5714]]
    """
    rows = [corner_prior(graph, epsilon, i).probabilities for i in range(graph.size)]
    return np.stack(rows)
