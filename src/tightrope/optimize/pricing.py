r"""Pricing: the cheapest ray for each guess.

Given a price :math:`\lambda_i` for each answer, a guess k and its weights
:math:`w = c_k - \lambda`, pricing finds a ray r that minimises :math:`w \cdot r` with
:math:`r = 1` at the anchor of the guess. The prices bound the loss of every private mechanism
by :math:`\sum_i \lambda_i` exactly when no ray has a negative value.

The structure of the graph decides how: dynamic programming on bands, trees and cycles, a
rule on cliques, minimum cuts elsewhere, and linear programs where edges have lengths or answers
are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import PathPower, cycle_order
from tightrope.optimize.price_band import BandPricer
from tightrope.optimize.price_clique import CliquePricer
from tightrope.optimize.price_cut import CutPricer
from tightrope.optimize.price_cycle import LARGEST_EXPONENT, CyclePricer
from tightrope.optimize.price_lp import LinearPricer
from tightrope.optimize.price_tree import TreePricer
from tightrope.optimize.problem import Floats, Heights, Ints, Problem

#: Widest band whose profiles are enumerated (2^width of them).
WIDEST_BAND = 8
#: Prices are lowered by this part of the mean price before pricing, so that rounding errors
#: far from the anchor are not mistaken for a gain and magnified along the ray.
PRICE_MARGIN = 1e-15
#: Below this many answers linear programs took less time than minimum cuts, and are as exact
#: while no entry of a ray is below e to minus this.
FEW_ANSWERS = 50
GENTLE_FALL = 5.0
#: Prices above 0 but below this part of the mean price are not asked for.
NEGLIGIBLE = 1e-11


@dataclass(frozen=True, eq=False)
class Prices:
    """The outcome of pricing.

    Parameters
    ----------
    values
        For each guess asked for, the least value of a ray with 1 at the anchor.
    heights
        The heights of these rays, one row for each guess.
    bound
        A lower bound on the expected loss of every ε-private mechanism.
    lowered
        The prices, lowered until no ray has a negative value: they prove the bound.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> price(problem, pricer_for(problem), np.array([0.1, 0.1]), problem.guesses).bound
    0.199999...
    """

    values: Floats
    heights: Heights
    bound: float
    lowered: Floats


class Pricer(Protocol):
    """Something that finds the cheapest ray for each of several guesses.

    >>> Pricer.__name__
    'Pricer'
    """

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Heights, Floats]:
        """Return values, heights, and for each guess a multiple of 1 that makes it feasible.

        The last array is zero where the value itself is exact.
        """
        ...


def pricer_for(problem: Problem) -> Pricer:
    """Choose the pricer by the structure of the graph.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique, Cycle, ExplicitGraph, Star
    >>> costs = np.ones((4, 4)) - np.eye(4)
    >>> kite = ExplicitGraph([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> [type(pricer_for(Problem(g, Epsilon.of(1), costs))).__name__
    ...  for g in (PathPower(4, 2), Star(3), Clique(4), Cycle(4), kite)]
    ['BandPricer', 'TreePricer', 'CliquePricer', 'CyclePricer', 'LinearPricer']
    >>> type(pricer_for(Problem(kite, Epsilon.of(3), costs))).__name__
    'CutPricer'
    """
    graph = problem.graph
    if graph.size == 1 or graph.is_tree:
        return TreePricer(graph, problem.alpha)
    if isinstance(graph, PathPower) and graph.width <= WIDEST_BAND and graph.size > graph.width + 1:
        return BandPricer(graph.size, graph.width, problem.alpha)
    if graph.is_clique and not graph.has_lengths:
        return CliquePricer(graph.size, problem.alpha)
    steepest = float(problem.epsilon) * (graph.size // 2)
    if graph.is_cycle and not graph.has_lengths and steepest <= LARGEST_EXPONENT:
        return CyclePricer(cycle_order(graph), problem.alpha)
    fall = float(problem.epsilon) * float(problem.distances.max())
    if not CutPricer.fits(problem) or (graph.size < FEW_ANSWERS and fall <= GENTLE_FALL):
        return LinearPricer(problem)
    return CutPricer(problem)


def price(
    problem: Problem,
    pricer: Pricer,
    prices: Floats,
    guesses: Ints,
    given_away: NDArray[np.bool_] | None = None,
) -> Prices:
    """Price the guesses and turn what is found into a bound that holds.

    Nothing is asked for the answers ``given_away``, those with a negligible price by default:
    such a price is little but noise, and rays magnify it.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> found = price(problem, pricer_for(problem), np.array([0.5, 0.5]), problem.guesses)
    >>> found.values.round(3).tolist(), found.bound < 1 / 3
    ([-0.5, -0.5], True)
    """
    typical = max(float(np.abs(prices).mean()), 1e-300)
    safe = prices - PRICE_MARGIN * typical
    idle = safe < NEGLIGIBLE * typical if given_away is None else given_away
    safe[idle] = np.minimum(safe[idle], 0.0)
    anchors = problem.anchors[guesses]
    weights = problem.costs[:, guesses] - safe[:, None]
    values, heights, uniform = pricer.cheapest(weights, anchors)
    lacking, places = -values, anchors.copy()
    # A ray that is higher elsewhere than at its anchor is a large multiple of what it is there,
    # and so are its rounding errors: such guesses are judged where their ray is highest.
    elsewhere = (values < 0) & (uniform == 0) & (heights.min(axis=1) < 0)
    if elsewhere.any():
        peaks = heights[elsewhere].argmin(axis=1)
        judged, _, spread = pricer.cheapest(weights[:, elsewhere], peaks)
        less = (-judged < lacking[elsewhere]) & (spread == 0)
        chosen = np.flatnonzero(elsewhere)[less]
        lacking[chosen], places[chosen] = -judged[less], peaks[less]
    # Lowering λ where guess k is judged by what it lacks there, or λ everywhere by a multiple of
    # 1, makes every ray of guess k non-negative. A class of answers is lowered as one.
    short = np.zeros(int(problem.classes.max()) + 1)
    exact = uniform == 0
    np.maximum.at(short, problem.classes[places[exact]], lacking[exact])
    lowered = safe - short[problem.classes] - max(float(uniform.max(initial=0.0)), 0.0)
    return Prices(values, heights, float(lowered.sum()), lowered)
