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

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph, CartesianProduct
from tightrope.phi.cells import CELL_LIMIT, cells_of
from tightrope.phi.exact import fits_exactly, pieces
from tightrope.phi.lines import BandStructure
from tightrope.phi.operator import Phi
from tightrope.phi.structure import structure_of

#: Accuracy of the ends of intervals found by bisection.
END_ACCURACY = 1e-10
#: Where sampling starts when nothing else is asked for.
SAMPLED_FROM = 0.01
#: Number of samples, for graphs with few and with many answers.
SAMPLES, FEW_SAMPLES, MANY_ANSWERS = 400, 48, 50_000
#: The step at which the published thresholds were looked for [A, §6].
PUBLISHED_STEP = 0.01

#: An interval of ε; ``None`` as its end means that it has none.
Interval = tuple[float, float | None]


@dataclass(frozen=True)
class Existence:
    r"""The set of ε for which the tight-constraints mechanism exists.

    Parameters
    ----------
    intervals
        Closed intervals of ε, increasing; an open start at 0 is written 0.
    accuracy
        How far an end may lie from the true one.
    exact
        Whether the intervals are proven to be all of them. Otherwise ``resolution`` says how
        far apart the samples were.
    resolution
        Largest gap between samples, in ε; 0 when ``exact``.
    searched
        The range of ε looked at.
    tolerance
        How negative an entry of :math:`y = z/n` was allowed to be; 0 for true existence.
    method
        How it was decided, in words.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> exists(Star(3)).intervals
    ((0.6931471805599453, None),)
    """

    intervals: tuple[Interval, ...]
    accuracy: float
    exact: bool
    resolution: float
    searched: Interval
    tolerance: float
    method: str

    @property
    def minimum(self) -> float:
        """The smallest ε (0 when every ε works)."""
        return self.intervals[0][0] if self.intervals else math.inf

    @property
    def is_up_set(self) -> bool:
        """Whether every ε above the minimum works too."""
        return len(self.intervals) == 1 and self.intervals[0][1] is None

    def contains(self, epsilon: float) -> bool:
        """Whether an ε lies in one of the intervals."""
        return any(a <= epsilon and (b is None or epsilon <= b) for a, b in self.intervals)

    def nearest(self, epsilon: float) -> float:
        """Return the nearest ε that works."""
        if self.contains(epsilon):
            return epsilon
        ends = [end for pair in self.intervals for end in pair if end is not None and end > 0]
        return min(ends, key=lambda end: abs(end - epsilon))


def exists(
    graph: AnswerGraph,
    *,
    low: float | None = None,
    high: float | None = None,
    tolerance: float = 0.0,
    step: float | None = None,
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

    Examples
    --------
    >>> from tightrope.graphs import Band, StrongProduct
    >>> found = exists(Band(751, 5))
    >>> round(found.minimum, 6), found.is_up_set
    (0.968133, True)
    >>> exists(Band(751, 5), tolerance=1e-4).minimum
    0.8
    >>> exists(StrongProduct([Band(3), Band(3)])).exact       # α = √5 - 2
    True
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise InputError(f"the tolerance must be at least 0, got {tolerance}")
    for name, bound in (("low", low), ("high", high), ("step", step)):
        if bound is not None and not (math.isfinite(bound) and bound > 0):
            raise InputError(f"{name} must be a positive number, got {bound}")
    if low is not None and high is not None and low >= high:
        raise InputError(f"low must be below high, got {low} and {high}")
    if tolerance or step is not None:
        return _on_steps(graph, low, high, tolerance, step or PUBLISHED_STEP)
    return _by_rule(graph) or _by_polynomials(graph) or _by_samples(graph, low, high)


def always_above(graph: AnswerGraph) -> float:
    r"""Return an ε from which on every row of Φ sums to at most 2, so that z ≥ 0.

    >>> from tightrope.graphs import Band
    >>> round(always_above(Band(751, 5)), 6), round(math.log(11), 6)
    (2.397895, 2.397895)
    """
    low, high = 0.0, 1.0
    structure = structure_of(graph)

    def fits(epsilon: float) -> bool:
        return float(structure.apply(math.exp(-epsilon), np.ones(graph.size)).max()) <= 2

    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def nearest_level(graph: AnswerGraph, epsilon: float) -> float:
    """Return an ε that works near one that does not; above it when there are many answers.

    >>> from tightrope.graphs import Band
    >>> round(nearest_level(Band(751, 5), 0.9), 6)
    0.968133
    """
    if graph.size < MANY_ANSWERS:
        return exists(graph).nearest(epsilon)
    least, low, high = smallest_entry(graph), epsilon, max(epsilon, always_above(graph))
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if least(middle) >= 0 else (middle, high)
    return high


def _by_rule(graph: AnswerGraph) -> Existence | None:
    every: Interval = (0.0, None)
    if isinstance(graph, CartesianProduct):
        parts = [exists(factor) for factor in set(graph.factors)]
        return Existence(
            _intersection([part.intervals for part in parts]),
            max(part.accuracy for part in parts),
            all(part.exact for part in parts),
            max(part.resolution for part in parts),
            (max(part.searched[0] for part in parts), None),
            0.0,
            "every factor of the product: " + "; ".join(sorted({part.method for part in parts})),
        )
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
    return Existence(tuple(found), 1e-15, True, 0.0, (0.0, None), 0.0, words)


def _intersection(sets: list[tuple[Interval, ...]]) -> tuple[Interval, ...]:
    out: list[tuple[float, float]] = [(0.0, math.inf)]
    for intervals in sets:
        pairs = [(a, math.inf if b is None else b) for a, b in intervals]
        out = [(max(a, c), min(b, d)) for a, b in out for c, d in pairs if max(a, c) <= min(b, d)]
    return tuple((a, None if b == math.inf else b) for a, b in sorted(out))


def smallest_entry(graph: AnswerGraph) -> Callable[[float], float]:
    """Return the rule from ε to the smallest entry of z, in double precision.

    >>> from tightrope.graphs import Band
    >>> smallest_entry(Band(751, 5))(0.9) < 0 < smallest_entry(Band(751, 5))(1)
    True
    """
    structure = structure_of(graph)
    if graph.size <= CELL_LIMIT and not isinstance(structure, BandStructure):
        cells = cells_of(graph)
        return lambda epsilon: float(cells.solve(math.exp(-epsilon)).min())
    ones = np.ones(graph.size)
    return lambda epsilon: float(structure.solve(math.exp(-epsilon), ones).min())


def _by_samples(graph: AnswerGraph, low: float | None, high: float | None) -> Existence:
    least = smallest_entry(graph)
    start = SAMPLED_FROM if low is None else low
    sure = always_above(graph)
    stop = sure if high is None else min(high, sure)
    count = SAMPLES if graph.size < MANY_ANSWERS else FEW_SAMPLES
    points = np.geomspace(start, max(stop, start * 1.01), count).tolist()
    values = [least(point) for point in points]
    points, values = _with_turning_points(least, points, values)
    ends: list[float] = [start] if values[0] >= 0 else []
    for k in range(len(points) - 1):
        if (values[k] >= 0) != (values[k + 1] >= 0):
            ends.append(_change(least, points[k], points[k + 1]))
    # Above the last sample it exists by the bound on the rows.
    limit = None if high is None or high >= sure else high
    pairs = tuple(zip(ends[::2], [*ends[1::2], limit], strict=False))
    gap = max(float(b - a) for a, b in itertools.pairwise(points))
    words = f"{len(points)} samples of the smallest entry of z, changes of sign bisected"
    return Existence(pairs, END_ACCURACY, False, gap, (start, limit), 0.0, words)


def _with_turning_points(
    least: Callable[[float], float], points: list[float], values: list[float]
) -> tuple[list[float], list[float]]:
    """Add the turning points between samples where the curve bends towards zero."""
    from scipy.optimize import minimize_scalar

    extra: list[tuple[float, float]] = []
    for k in range(1, len(points) - 1):
        a, b, c = values[k - 1], values[k], values[k + 1]
        sign = 1 if b >= 0 else -1
        turns = sign * b < sign * a and sign * b < sign * c and a * sign > 0 and c * sign > 0
        if turns and abs(b) < 4 * abs(a - 2 * b + c):
            found = minimize_scalar(
                lambda e, s=sign: s * least(e),
                bounds=(points[k - 1], points[k + 1]),
                method="bounded",
                options={"maxiter": 30},
            )
            extra.append((float(found.x), sign * float(found.fun)))
    merged = sorted({**dict(zip(points, values, strict=True)), **dict(extra)}.items())
    return [p for p, _ in merged], [v for _, v in merged]


def _change(least: Callable[[float], float], a: float, b: float) -> float:
    """Return where existence changes between two samples, on the side where it holds."""
    left = least(a) >= 0
    while b - a > END_ACCURACY:
        middle = (a + b) / 2
        if (least(middle) >= 0) == left:
            a = middle
        else:
            b = middle
    return a if left else b


def _on_steps(
    graph: AnswerGraph, low: float | None, high: float | None, tolerance: float, step: float
) -> Existence:
    least = smallest_entry(graph)
    start = step if low is None else low
    stop = always_above(graph) if high is None else high
    first, last = math.ceil(start / step - 1e-9), math.ceil(stop / step - 1e-9)
    points = [round(k * step, 12) for k in range(max(first, 1), max(last, first) + 1)]
    holds = [least(point) / graph.size >= -tolerance for point in points]
    found: list[Interval] = []
    for k, point in enumerate(points):
        if holds[k] and (k == 0 or not holds[k - 1]):
            found.append((point, None))
        elif not holds[k] and k and holds[k - 1]:
            found[-1] = (found[-1][0], points[k - 1])
    if high is not None and found and found[-1][1] is None and not high >= always_above(graph):
        found[-1] = (found[-1][0], points[-1])
    words = f"multiples of {step:g} with every entry of z/n at least {-tolerance:g}"
    return Existence(tuple(found), step, False, step, (points[0], high), tolerance, words)


def certified_at(graph: AnswerGraph, epsilon: Epsilon | float | str) -> bool | None:
    """Return whether z is positive, with proof: yes, no, or ``None`` when undecided.

    >>> from tightrope.graphs import Band
    >>> certified_at(Band(751, 5), 0.96814), certified_at(Band(751, 5), 0.96813)
    (True, False)
    """
    return Phi(graph, epsilon).solve_ones().positive
