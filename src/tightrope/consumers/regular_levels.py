r"""For which ε a prior is regular, and the curves and regions of [A, Fig 2-4]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.prior_text import prior as read_prior
from tightrope.consumers.priors import Prior
from tightrope.consumers.regular import _factorised, corner_prior, regularity
from tightrope.consumers.regular_bounds import Level, uniform_leakage_bits
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.phi import Existence
from tightrope.phi.cells import fits_exactly, pieces, single_cells
from tightrope.phi.existence import (
    FEW_SAMPLES,
    MANY_ANSWERS,
    SAMPLED_FROM,
    SAMPLES,
    check_range,
    on_every_factor,
    sampled,
    stepped,
)
from tightrope.phi.structure import structure_of

#: Largest number of answers for which levels are found by exact polynomials.
EXACT_ANSWERS = 16


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
    check_range(low, high, tolerance, step)
    given = read_prior(prior, graph)
    parts = _factorised(given, graph)
    if tolerance or step is not None:
        leasts = [_least(p, g) for p, g in parts]
        sure = max(_sure(p, g) for p, g in parts)
        return stepped(
            lambda epsilon: _smallest_product([least(epsilon) for least in leasts]),
            low,
            high,
            sure,
            tolerance,
            step,
        )
    distinct = {(id(p), id(g)): (p, g) for p, g in parts}
    found = [_levels(p, g, low, high) for p, g in distinct.values()]
    return found[0] if len(found) == 1 else on_every_factor(found)


def _levels(prior: Prior, graph: AnswerGraph, low: float | None, high: float | None) -> Existence:
    if graph.size <= EXACT_ANSWERS and not graph.has_lengths:
        cells = single_cells(graph)
        if fits_exactly(cells):
            exact = prior.exact
            below = math.lcm(*(p.denominator for p in exact))
            found = [
                (
                    -math.log(float(piece.high)) if float(piece.high) < 1 else 0.0,
                    -math.log(float(piece.low)) if float(piece.low) else None,
                )
                for piece in reversed(pieces(cells, [int(p * below) for p in exact]))
            ]
            words = f"exact polynomials in α on {graph.size} answers"
            return Existence(tuple(found), 1e-15, True, 0.0, (0.0, None), 0.0, words)
    least = _least(prior, graph)
    count = SAMPLES if graph.size < MANY_ANSWERS else FEW_SAMPLES
    start = SAMPLED_FROM if low is None else low
    return sampled(lambda epsilon: least(epsilon)[0], start, high, _sure(prior, graph), count)


def _least(prior: Prior, graph: AnswerGraph) -> Any:
    """Return the rule from ε to the smallest and largest entry of y."""
    structure, pi = structure_of(graph), np.array(prior.probabilities)

    def ends(epsilon: float) -> tuple[float, float]:
        y = structure.solve(math.exp(-epsilon), pi)
        return float(y.min()), float(y.max())

    return ends


def _smallest_product(ends: Sequence[tuple[float, float]]) -> float:
    low, high = 1.0, 1.0
    for pair in ends:
        products = [a * b for a in (low, high) for b in pair]
        low, high = min(products), max(products)
    return low


def _sure(prior: Prior, graph: AnswerGraph) -> float:
    r"""Return an ε from which on :math:`\Phi\pi \le 2\pi`, so that the prior is regular."""
    pi = np.array(prior.probabilities)
    if pi.min() <= 0:
        where = int(pi.argmin())
        raise InputError(
            f"a regular prior has no zero, got 0 at position {where}: it is regular for no ε"
        )
    structure = structure_of(graph)
    high = 1.0
    while (structure.apply(math.exp(-high), pi) > 2 * pi).any():
        high *= 1.25
    return high


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


def leakage_curves(prior: Any, graph: AnswerGraph, epsilons: Sequence[float]) -> LeakageCurves:
    """Return the two curves of Figure 4.

    >>> from tightrope.graphs import Clique
    >>> leakage_curves([0.5, 0.5], Clique(2), [1.0]).this_prior[0] is not None
    True
    """
    given = read_prior(prior, graph)
    these: list[float | None] = []
    for epsilon in epsilons:
        found = regularity(given, graph, epsilon)
        these.append(found.leakage_bound_bits if found.regular else None)
    every = tuple(uniform_leakage_bits(graph, epsilon) for epsilon in epsilons)
    return LeakageCurves(tuple(epsilons), tuple(these), every)


def region_corners(graph: AnswerGraph, epsilon: Level) -> NDArray[np.float64]:
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
