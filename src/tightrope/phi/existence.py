r"""For which ε the tight-constraints mechanism exists [A, Lemma 3, 4].

It exists iff :math:`\Phi z = 1` has a solution :math:`z \ge 0`. The set of such ε is closed and
contains all large ε, but it need not be one interval. What is used, in this order:

* Trees: all ε with :math:`e^\varepsilon \ge \Delta - 1`. Constant ball sizes: every ε.
* Cartesian products: the ε that work for every factor.
* Small graphs: exact polynomials on cells (:mod:`tightrope.phi.exact`); nothing is missed.
* Otherwise the smallest entry of z is sampled over a range and every change of sign narrowed
  down. Two changes closer together than the samples can be missed; the result says how close.

Above :math:`\bar\varepsilon`, where every row of Φ sums to at most 2, it always exists: with
:math:`E = \Phi - I`, :math:`z = (I - E)\sum_k E^{2k} 1 = \sum_k E^{2k} (1 - E1) \ge 0`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.phi.cells import CELL_LIMIT, cells_of
from tightrope.phi.exact import CELLS_LIMIT, fits_exactly, pieces
from tightrope.phi.lattice import LatticeStructure
from tightrope.phi.lines import BandStructure
from tightrope.phi.modes import modes_of
from tightrope.phi.operator import Phi
from tightrope.phi.plane import PlaneStructure
from tightrope.phi.sampling import (
    Existence,
    Interval,
    check_range,
    on_every_factor,
    sampled,
    stepped,
)
from tightrope.phi.structure import structure_of

#: Where sampling starts when nothing else is asked for.
SAMPLED_FROM = 0.01
#: Number of samples, for graphs with few and with many answers.
SAMPLES, FEW_SAMPLES, MANY_ANSWERS = 200, 48, 50_000
#: Evaluations beside the samples that one change of sign and one turning point take, about.
LIKELY_REFINEMENTS = 25
#: Powers of e beyond this are zero in double precision.
UNDERFLOW = 745


def exists(
    graph: AnswerGraph,
    *,
    low: float | None = None,
    high: float | None = None,
    tolerance: float = 0.0,
    step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Existence:
    r"""Return the set of ε for which the tight-constraints mechanism exists.

    Parameters
    ----------
    graph
        The answer graph.
    low, high
        The range of ε to sample on graphs that are not decided exactly; by default from
        ``SAMPLED_FROM`` to the ε above which it always exists.
    tolerance
        Allow entries of :math:`y = z/n`, which solves :math:`y\Phi = u` for the uniform prior
        u, down to minus this. The published thresholds come from :math:`10^{-4}` [A, §6]: below
        the true one, "probabilities" are negative.
    step
        Look only at multiples of this step (then the ends of intervals are such multiples).
        With a tolerance and no step, the published 0.01 is taken.
    progress
        Told the share that is done, by estimate, while samples are taken.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> found = exists(PathPower(751, 5))
    >>> round(found.minimum, 6), found.is_up_set
    (0.968133, True)
    >>> exists(PathPower(751, 5), tolerance=1e-4).minimum
    0.8
    >>> exists(StrongProduct([PathPower(3), PathPower(3)])).exact       # α = √5 - 2
    True
    """
    check_range(low, high, tolerance, step)
    if tolerance or step is not None:
        least, sure = smallest_entry(graph), always_above(graph)
        return stepped(
            lambda epsilon: least(epsilon) / graph.size, low, high, sure, tolerance, step
        )
    decided = _by_rule(graph) or _by_polynomials(graph)
    if decided is not None:
        return decided
    if progress is None:
        return _by_samples(graph, low, high)
    return _samples(graph, low, high, progress)


def always_above(graph: AnswerGraph) -> float:
    r"""Return an ε from which on every row of Φ sums to at most 2, so that z ≥ 0.

    >>> from tightrope.graphs import PathPower
    >>> round(always_above(PathPower(751, 5)), 6), round(math.log(11), 6)
    (2.397895, 2.397895)
    """
    graph._check_row("a vector over the answers")
    low, high = 0.0, 1.0
    largest = _largest_row_sum(graph)

    def fits(epsilon: float) -> bool:
        return largest(math.exp(-epsilon)) <= 2

    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _largest_row_sum(graph: AnswerGraph) -> Callable[[float], float]:
    """Return the rule from α to the largest sum of a row of Φ."""
    bands = graph.factors if graph.product == "strong" else (graph,)
    if all(band.power is not None for band in bands):
        # In the middle every ball is largest: of a strong product it is a product of balls.
        sides = tuple(band.size for band in bands)
        middle = int(np.ravel_multi_index(tuple(side // 2 for side in sides), sides))
        spheres = np.array(graph.ball_sizes(middle), np.float64)

        def by_spheres(alpha: float) -> float:
            powers = alpha ** np.arange(min(len(spheres), int(-UNDERFLOW / math.log(alpha)) + 2))
            return float(spheres[: len(powers)] @ powers)

        return by_spheres
    structure = structure_of(graph)
    return lambda alpha: float(structure.apply(alpha, np.ones(graph.size)).max())


def nearest_level(graph: AnswerGraph, epsilon: float) -> float:
    """Return an ε that works near one that does not; above it when there are many answers.

    >>> from tightrope.graphs import PathPower
    >>> round(nearest_level(PathPower(751, 5), 0.9), 6)
    0.968133
    """
    if graph.size < MANY_ANSWERS:
        return exists(graph).nearest(epsilon)
    least = smallest_entry(graph, enough=0.0)
    low, high = epsilon, max(epsilon, always_above(graph))
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if least(middle) >= 0 else (middle, high)
    return high


def _by_rule(graph: AnswerGraph) -> Existence | None:
    every: Interval = (0.0, None)
    if graph.product == "cartesian":
        return on_every_factor([exists(factor) for factor in set(graph.factors)])
    if not graph.has_lengths and graph.is_tree:
        degree = graph.max_degree
        start = math.log(degree - 1) if degree > 2 else 0.0
        words = f"a tree with largest degree {degree}: e^ε ≥ {degree - 1}"
        return Existence(((start, None),), 1e-15, True, 0.0, every, 0.0, words)
    regular = not graph.has_lengths and graph.min_degree == graph.max_degree
    if regular and graph.constant_ball_sizes is not None:
        words = "the same ball sizes everywhere: z is constant"
        return Existence((every,), 0.0, True, 0.0, every, 0.0, words)
    return None


def _by_polynomials(graph: AnswerGraph) -> Existence | None:
    if graph.has_lengths or graph.size > CELL_LIMIT:
        return None
    # On a line only the two ends may be exchanged: half as many cells as answers.
    if graph.is_line and not graph.is_clique and graph.size > 2 * CELLS_LIMIT:
        return None
    cells = cells_of(graph)
    if not fits_exactly(cells):
        return None
    found: list[Interval] = []
    for piece in reversed(pieces(cells)):
        top, bottom = float(piece.high), float(piece.low)
        found.append(
            (-math.log(top) + 0.0 if top < 1 else 0.0, -math.log(bottom) if bottom else None)
        )
    words = f"exact polynomials in α on {cells.size} cells of {graph.size} answers"
    if any(start == end for start, end in found):
        words += "; single ε where Φ is singular by a numerical residual"
    return Existence(tuple(found), 1e-15, True, 0.0, (0.0, None), 0.0, words)


def smallest_entry(graph: AnswerGraph, enough: float = -math.inf) -> Callable[[float], float]:
    """Return the rule from ε to the smallest entry of z, in double precision.

    Parameters
    ----------
    graph
        The answer graph.
    enough
        Any entry below this may be returned instead of the smallest: who asks only for its
        sign need not have all entries written out.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> smallest_entry(PathPower(751, 5))(0.9) < 0 < smallest_entry(PathPower(751, 5))(1)
    True
    """
    graph._check_row("a vector over the answers")
    structure = structure_of(graph)
    if graph.size <= CELL_LIMIT and not isinstance(structure, BandStructure | PlaneStructure):
        cells = cells_of(graph)
        return lambda epsilon: float(cells.solve(math.exp(-epsilon)).min())

    ones = np.ones(graph.size)

    def least(epsilon: float) -> float:
        alpha = math.exp(-epsilon)
        # On a plane short rows are quicker.
        if isinstance(structure, LatticeStructure) and not isinstance(structure, PlaneStructure):
            classes = structure._by_classes(alpha, ones)
            if classes is not None:
                return float(classes.min())
        if isinstance(structure, BandStructure):
            found = modes_of(structure.size, structure.width, alpha)
            if found is not None:
                return found.least(enough)
        return float(structure.solve(alpha, ones).min())

    return least


def _samples(
    graph: AnswerGraph,
    low: float | None,
    high: float | None,
    progress: Callable[[float], None] | None = None,
) -> Existence:
    start = SAMPLED_FROM if low is None else low
    # Of a band a sample costs the same however many answers there are.
    many = graph.size >= MANY_ANSWERS and not isinstance(structure_of(graph), BandStructure)
    count = FEW_SAMPLES if many else SAMPLES
    least, taken = smallest_entry(graph, enough=0.0), itertools.count(1)

    def told(epsilon: float) -> float:
        if progress is not None:
            progress(min(1.0, next(taken) / (count + LIKELY_REFINEMENTS)))
        return least(epsilon)

    return sampled(told, start, high, always_above(graph), count)


_by_samples = functools.lru_cache(maxsize=32)(_samples)


def certified_at(graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> bool | None:
    """Return whether z is positive, with proof: yes, no, or ``None`` when undecided.

    >>> from tightrope.graphs import PathPower
    >>> certified_at(PathPower(751, 5), 0.96814), certified_at(PathPower(751, 5), 0.96813)
    (True, False)
    """
    return Phi(graph, epsilon).solve_ones().positive
