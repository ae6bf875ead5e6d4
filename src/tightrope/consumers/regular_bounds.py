r"""Bounds on utility and leakage from Φ, for regular priors and for all."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.prior_text import prior as read_prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.phi import Phi

#: Largest number of answers for which the least bound is found by a linear program.
PROGRAM_LIMIT = 400

Level = Epsilon | float | Fraction | str


def any_prior_bound(prior: Any, graph: AnswerGraph, epsilon: Level) -> float:
    r"""Return a bound on the utility of every ε-private mechanism for any prior.

    .. math:: \min \sum y : \quad y\Phi \ge \pi,\ y \ge 0

    Every mechanism's diagonal x has :math:`\Phi x \le 1`, so
    :math:`\pi \cdot x \le y\Phi x \le \sum y`; for a regular prior on a graph with the
    tight-constraints mechanism it is the bound of [A, Thm 1]. Above ``PROGRAM_LIMIT`` answers
    the best of some y by rule is taken: the positive part of the solution of
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
    solution = phi.solve(pi) if phi.size > PROGRAM_LIMIT else None
    return bound_from(phi, pi, None if solution is None else solution.values)


def bound_from(phi: Phi, prior: NDArray[np.float64], y: NDArray[np.float64] | None) -> float:
    r"""Return the bound for any prior, given a solution of :math:`y\Phi = \pi` if there is one.

    >>> from tightrope.graphs import Clique
    >>> round(bound_from(Phi(Clique(3), "ln(2)"), np.array([0.8, 0.1, 0.1]), None), 6)
    0.8
    """
    if phi.size <= PROGRAM_LIMIT:
        return _least_sum(phi.matrix(), prior)
    found = [1.0]
    if y is not None:
        # The positive part of y covers π: what is left out was subtracting.
        found.append(float(np.maximum(y, 0).sum()))
    z = phi.solve_ones()
    if z.consistent:
        found.append(float(prior.max() * np.maximum(z.values, 0).sum()))
    return min(found)


def _least_sum(matrix: NDArray[np.float64], prior: NDArray[np.float64]) -> float:
    """Solve the program and lift its solution until it covers the prior in floating point."""
    from scipy.optimize import linprog

    found = linprog(np.ones(len(prior)), A_ub=-matrix, b_ub=-prior, method="highs")
    y = np.maximum(found.x, 0)
    # Adding the shortfall itself covers it, because Φ is at least the identity.
    y += np.maximum(prior - y @ matrix, 0)
    return float(y.sum())


def ratio_bound(graph: AnswerGraph, epsilon: Level, i: int, j: int) -> float:
    r"""Return :math:`e^{\varepsilon d(i,j)}`: no regular prior has a larger :math:`\pi_i/\pi_j`.

    [A, Prop 2]. The converse is false: not every prior with these ratios is regular.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> round(ratio_bound(PathPower(5), "ln(2)", 0, 3), 12)
    8.0
    """
    return math.exp(float(Epsilon.of(epsilon)) * graph.distance(i, j))


def entry_bounds(graph: AnswerGraph, epsilon: Level, i: int) -> tuple[float, float]:
    r"""Return the least and largest :math:`\pi_i` of a regular prior [A, Prop 3].

    .. math:: 1/\sum_j e^{\varepsilon d(i,j)} \le \pi_i \le 1/\sum_j e^{-\varepsilon d(i,j)}

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> [round(x, 12) for x in entry_bounds(Clique(4), "ln(2)", 0)]
    [0.142857142857, 0.4]
    """
    level = float(Epsilon.of(epsilon))
    far = graph.distances_from(i).astype(np.float64)
    top = float(far.max()) * level
    # Scaled by the largest term, so that a wide graph at a large ε does not overflow.
    low = math.exp(-top) / float(np.exp(level * far - top).sum()) if top < 700 else 0.0
    return low, 1 / float(np.exp(-level * far).sum())


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
    regular = not graph.has_lengths and graph.min_degree == graph.max_degree
    sizes = graph.constant_ball_sizes if regular else None
    if sizes is not None:
        total = math.fsum(n / graph.size * level.alpha**d for d, n in enumerate(sizes))
        return -math.log2(total)
    z = Phi(graph, level).solve_ones()
    if not z.consistent or z.values.min() < 0:
        raise InputError(
            f"the uniform prior on {graph.name} is not regular at ε = {level}: "
            f"answer {graph.label(z.least[0])!r} gets {z.least[1]:.6g}; take a larger ε"
        )
    return math.log2(math.fsum(z.values))
