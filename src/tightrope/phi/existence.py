r"""For which ε the tight-constraints mechanism exists [A, Lemma 3, 4], and Φ has an inverse.

It exists iff :math:`\Phi z = 1` has a solution :math:`z \ge 0`. The set of such ε is closed and
contains all large ε, but it need not be one interval. What is used, in this order:

* Trees: all ε with :math:`e^\varepsilon \ge \Delta - 1`. Constant ball sizes: every ε.
* Cartesian products: the ε that work for every factor.
* Small graphs: exact polynomials on cells (:mod:`tightrope.phi.cells`); nothing is missed.
* Otherwise the smallest entry of z is sampled over a range and every change of sign narrowed
  down. Two changes closer together than the samples can be missed; the result says how close.

Above :math:`\bar\varepsilon`, where every row of Φ sums to at most 2, it always exists: with
:math:`E = \Phi - I`, :math:`z = (I - E)\sum_k E^{2k} 1 = \sum_k E^{2k} (1 - E1) \ge 0`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tightrope import exact
from tightrope.arrays import Floats
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.phi.cells import Cells, cells_of, pieces, single_cells
from tightrope.phi.structure import DenseStructure, structure_of
from tightrope.progress import Progress, ProgressCallback

#: An interval of ε; ``None`` as its end means that it has none.
Interval = tuple[float, float | None]


@dataclass(frozen=True)
class Existence:
    r"""A set of ε: where the mechanism exists, or where a prior is regular.

    Parameters
    ----------
    intervals
        Closed intervals of ε, increasing; an open start at 0 is written 0.
    method
        How it was decided, in words.
    accuracy
        How far an end may lie from the true one.
    exact
        Whether the intervals are proven to be all of them, single points where Φ is singular
        excepted. Otherwise ``resolution`` says how far apart the samples were.
    resolution
        Largest gap between samples, in ε; 0 when ``exact``.
    searched
        The range of ε looked at.
    tolerance
        How negative an entry of y was allowed to be; 0 for the true set.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> from tightrope.phi import exists
    >>> exists(Star(3)).intervals
    ((0.6931471805599453, None),)
    """

    intervals: tuple[Interval, ...]
    method: str
    accuracy: float = 1e-15
    exact: bool = True
    resolution: float = 0.0
    searched: Interval = (0.0, None)
    tolerance: float = 0.0

    @property
    def minimum(self) -> float:
        """The smallest ε (0 when every ε works)."""
        return self.intervals[0][0] if self.intervals else math.inf

    @property
    def is_up_set(self) -> bool:
        """Whether every ε above the minimum works too."""
        if len(self.intervals) != 1:
            return False
        _, end = self.intervals[0]
        return end is None

    def contains(self, epsilon: float) -> bool:
        """Whether an ε lies in one of the intervals."""
        return any(
            a <= epsilon and (b is None or epsilon <= b) for a, b in self.intervals
        )

    def nearest(self, epsilon: float) -> float:
        """Return the nearest ε that works (infinite where none was found)."""
        if self.contains(epsilon):
            return epsilon
        ends = [
            end
            for pair in self.intervals
            for end in pair
            if end is not None and end > 0
        ]
        return min(ends, key=lambda end: abs(end - epsilon), default=math.inf)


def exists(
    graph: AnswerGraph,
    *,
    low: float | None = None,
    high: float | None = None,
    tolerance: float = 0.0,
    step: float | None = None,
    progress: ProgressCallback | None = None,
) -> Existence:
    r"""Return the set of ε for which the tight-constraints mechanism exists.

    Parameters
    ----------
    graph
        The answer graph.
    low, high
        The range of ε to sample on graphs that are not decided exactly; by default from
        0.01 to the ε above which it always exists.
    tolerance
        Allow entries of :math:`y = z/n`, which solves :math:`y\Phi = u` for the uniform prior
        u, down to minus this. The published thresholds come from :math:`10^{-4}` [A, §6]: below
        the true one, "probabilities" are negative.
    step
        Look only at multiples of this step (then the ends of intervals are such multiples).
        With a tolerance and no step, the published 0.01 is taken.
    progress
        Called with the samples taken and, by estimate, their number.

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
    samples = Samples(low, high, tolerance, step)
    decided = (
        None if tolerance or step else _by_theorem(graph) or _by_polynomials(graph)
    )
    return decided or _by_samples(graph, samples, progress)


def dominance_level(graph: AnswerGraph, prior: Floats | None = None) -> float:
    r"""Return the ε from which on Φ is diagonally dominant: rows sum to at most 2, so z ≥ 0.

    With a positive prior, the ε from which on :math:`\Phi\pi \le 2\pi`: then it is regular, by
    the same series.

    >>> from tightrope.graphs import PathPower
    >>> round(dominance_level(PathPower(751, 5)), 6), round(math.log(11), 6)
    (2.397895, 2.397895)
    """
    graph._check_row("a vector over the answers")
    largest = _largest_row_sum(graph, prior)
    high = 1.0

    def fits(epsilon: float) -> bool:
        return largest(math.exp(-epsilon)) <= 2

    while not fits(high):
        high *= 2
    return _border(fits, 0.0, high, accuracy=1e-9)


def _border(
    holds: Callable[[float], bool], without: float, within: float, accuracy: float
) -> float:
    """Return by bisection a point next to the border of a condition, where it holds."""
    while abs(within - without) > accuracy:
        middle = (without + within) / 2
        if holds(middle):
            within = middle
        else:
            without = middle
    return within


def _largest_row_sum(
    graph: AnswerGraph, prior: Floats | None
) -> Callable[[float], float]:
    """Return the rule from α to the largest entry of Φπ, beside that of π (by default all 1)."""
    if graph.box and prior is None:
        # In the middle every ball is largest.
        sides = tuple(size for size, _ in graph.box)
        center = tuple(side // 2 for side in sides)
        middle = int(np.ravel_multi_index(center, sides))
        # From ε = 1/2 on what lies beyond these is less than a rounding; below it these alone sum
        # to more than 2, and that is all that is asked.
        spheres = np.array(graph.ball_sizes(middle)[:300], np.float64)
        radii = np.arange(len(spheres))
        return lambda alpha: float(spheres @ alpha**radii)
    structure = structure_of(graph)
    weights = np.ones(graph.size) if prior is None else prior
    return lambda alpha: float((structure.apply(alpha, weights) / weights).max())


def nearest_level(graph: AnswerGraph, epsilon: float, many: int = 50_000) -> float:
    """Return an ε that works near one that does not; above it when there are many answers.

    >>> from tightrope.graphs import PathPower
    >>> round(nearest_level(PathPower(751, 5), 0.9), 6)
    0.968133
    """
    if graph.size < many:
        return exists(graph).nearest(epsilon)
    least = smallest_entry(graph, enough=0.0)

    # From the dominance level on z ≥ 0 is certain: bisection has an end where it holds.
    def holds(level: float) -> bool:
        return least(level) >= 0

    high = max(epsilon, dominance_level(graph))
    return _border(holds, epsilon, high, accuracy=1e-5)


def smallest_entry(
    graph: AnswerGraph, enough: float = -math.inf
) -> Callable[[float], float]:
    """Return the rule from ε to the smallest entry of z, no number where Φ is singular.

    Parameters
    ----------
    graph
        The answer graph.
    enough
        Any entry below this may be returned instead of the smallest: for its sign alone not
        all entries need be written out.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> smallest_entry(PathPower(751, 5))(0.9) < 0 < smallest_entry(PathPower(751, 5))(1)
    True
    """
    graph._check_row("a vector over the answers")
    structure = structure_of(graph)
    if graph.size <= Cells.most_answers and structure.cells_are_quicker:
        cells = cells_of(graph)
        ones = np.ones(graph.size)
        return lambda epsilon: float(cells.solve(math.exp(-epsilon), ones).min())
    return lambda epsilon: structure.least(math.exp(-epsilon), enough)


def _by_theorem(graph: AnswerGraph) -> Existence | None:
    """Decide by what the graph is: a product, a tree, or the same everywhere."""
    # Φ of a product is the Kronecker product of those of its factors, and so is z.
    if graph.product == "cartesian":
        return on_every_factor([exists(factor) for factor in set(graph.factors)])
    # On a tree z_i = (1 + α - α·degree(i)) / (1 + α): the largest degree decides.
    if not graph.has_lengths and graph.is_tree:
        degree = graph.max_degree
        start = math.log(degree - 1) if degree > 2 else 0.0
        words = f"a tree with largest degree {degree}: e^ε ≥ {degree - 1}"
        return Existence(((start, None),), words)
    if graph.constant_ball_sizes is not None:
        words = "the same ball sizes everywhere: z is constant"
        return Existence(((0.0, None),), words, accuracy=0.0)
    return None


def _by_polynomials(graph: AnswerGraph) -> Existence | None:
    """Decide by the signs of exact polynomials in α, where there are few cells."""
    if graph.has_lengths or graph.size > Cells.most_answers:
        return None
    # On a line only the two ends may be exchanged: half as many cells as answers.
    if graph.is_line and not graph.is_clique and graph.size > 2 * Cells.most_cells:
        return None
    cells = cells_of(graph)
    if not cells.fit_exactly:
        return None
    return exact_levels(cells, f"on {cells.size} cells of {graph.size} answers")


def exact_levels(
    cells: Cells, where: str, rhs: Sequence[int] | None = None
) -> Existence:
    r"""Return the ε for which :math:`Q\zeta = b` has a solution ζ ≥ 0, by exact polynomials.

    >>> from tightrope.graphs import Star
    >>> exact_levels(cells_of(Star(3)), "on a star").minimum == math.log(2)
    True
    """
    intervals: list[Interval] = []
    # Pieces of (0, 1) in α, from its end: ε = -ln α grows the other way.
    right = rhs or [1] * cells.size
    for low, high in reversed(pieces(cells, right)):
        start = -math.log(high) if float(high) < 1 else 0.0
        end = -math.log(low) if float(low) else None
        intervals.append((start, end))
    words = f"exact polynomials in α {where}"
    if any(start == end for start, end in intervals):
        words += "; single ε where Φ is singular by a numerical residual"
    return Existence(tuple(intervals), words)


def on_every_factor(parts: Sequence[Existence]) -> Existence:
    """Return where all of some sets hold, as a product needs of its factors.

    >>> from tightrope.graphs import Star
    >>> on_every_factor([exists(Star(3)), exists(Star(5))]).minimum == math.log(4)
    True
    """
    return Existence(
        intersection([part.intervals for part in parts]),
        "every factor of the product: "
        + "; ".join(sorted({part.method for part in parts})),
        max(part.accuracy for part in parts),
        all(part.exact for part in parts),
        max(part.resolution for part in parts),
        (max(part.searched[0] for part in parts), None),
    )


def intersection(sets: list[tuple[Interval, ...]]) -> tuple[Interval, ...]:
    """Return the ε that lie in all of some sets of intervals.

    >>> intersection([((0.0, 2.0), (3.0, None)), ((1.0, None),)])
    ((1.0, 2.0), (3.0, None))
    """
    out: list[tuple[float, float]] = [(0.0, math.inf)]
    for intervals in sets:
        pairs = [(a, math.inf if b is None else b) for a, b in intervals]
        out = [
            (max(a, c), min(b, d))
            for a, b in out
            for c, d in pairs
            if max(a, c) <= min(b, d)
        ]
    return tuple((a, None if b == math.inf else b) for a, b in sorted(out))


# -- samples ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """The ε at which a condition is tried, where nothing decides it exactly.

    Parameters
    ----------
    low, high
        The range; without ends it goes from 0.01, or the first step, to where the condition is
        known to hold.
    tolerance
        How far below 0 the function may be.
    step
        With it, or with a tolerance, only multiples of this step are looked at, 0.01 by default
        as in [A, §6], and nothing is bisected.

    Examples
    --------
    >>> Samples(2, 1)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: low must be below high, got 2 and 1
    """

    low: float | None = None
    high: float | None = None
    tolerance: float = 0.0
    step: float | None = None

    def __post_init__(self) -> None:
        low = self.low
        high = self.high
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"the tolerance must be at least 0, got {self.tolerance}")
        for name, bound in (("low", low), ("high", high), ("step", self.step)):
            if bound is not None and not (math.isfinite(bound) and bound > 0):
                raise InputError(f"{name} must be a positive number, got {bound}")
        if low is not None and high is not None and low >= high:
            raise InputError(f"low must be below high, got {low} and {high}")


def sample_count(
    size: int, *, count: int = 200, few: int = 48, many: int = 50_000
) -> int:
    """Return how many samples of ε are taken: few where each costs a solution on many answers.

    >>> sample_count(1000), sample_count(10**6)
    (200, 48)
    """
    return count if size < many else few


@functools.lru_cache(maxsize=32)
def _by_samples(
    graph: AnswerGraph,
    samples: Samples,
    progress: ProgressCallback | None = None,
) -> Existence:
    """Sample the smallest entry of y = z/n; a change of sign takes some more samples."""
    from threadpoolctl import threadpool_limits

    count = sample_count(1 if structure_of(graph).least_is_cheap else graph.size)
    least = smallest_entry(graph, enough=-samples.tolerance * graph.size)
    taken = itertools.count(1)

    def sample(epsilon: float) -> float:
        if progress is not None:
            # About 30 more samples narrow a change of sign down.
            progress(Progress("sampling levels", next(taken), count + 30))
        return least(epsilon) / graph.size

    # Many small systems: on a busy machine threads cost them more than they save.
    with threadpool_limits(1, "blas"):
        return sampled(sample, dominance_level(graph), samples, count)


def sampled(
    least: Callable[[float], float], sure: float, samples: Samples, count: int = 200
) -> Existence:
    """Return where a function of ε is at least 0, from samples and bisection.

    Parameters
    ----------
    least
        The function, known to be at least 0 from ``sure`` on.
    sure
        See above.
    samples
        Where to look, and how closely.
    count
        The number of samples where there is no step.

    Examples
    --------
    >>> found = sampled(lambda e: (e - 1) * (e - 2) * (e - 3), 4, Samples(0.5), 50)
    >>> [(round(a, 6), b and round(b, 6)) for a, b in found.intervals]
    [(1.0, 2.0), (3.0, None)]
    >>> sampled(lambda e: e - 1, 3, Samples(tolerance=0.105)).intervals
    ((0.9, None),)
    """
    low = samples.low
    stop = samples.high or sure
    tolerance = samples.tolerance
    if tolerance or samples.step:
        gap = accuracy = samples.step or 0.01
        points = _multiples(gap, low or gap, stop)
        words = f"multiples of {gap:g} with every entry of y at least {-tolerance:g}"
        # Without bisection a border is the nearest point where the condition holds.
        narrow = math.inf
    else:
        start = low or 0.01
        accuracy = 1e-10
        last = max(min(stop, sure), start * 1.01)
        points = np.geomspace(start, last, count).tolist()
        gap = max(b - a for a, b in itertools.pairwise(points))
        words = f"{len(points)} samples of the smallest entry, changes of sign narrowed down"
        narrow = accuracy
    limit = None if points[-1] >= sure else points[-1]

    def holds(epsilon: float) -> bool:
        return least(epsilon) >= -tolerance

    known = [holds(point) for point in points]
    # Ends in order: where the condition begins to hold, ceases to, begins again, …
    ends = [points[0]] if known[0] else []
    for (a, before), (b, after) in itertools.pairwise(zip(points, known, strict=True)):
        if before != after:
            bracket = (a, b) if after else (b, a)
            ends.append(_border(holds, *bracket, narrow))
    stops = [*ends[1::2], limit]
    intervals = tuple(zip(ends[::2], stops, strict=False))
    searched = points[0], limit
    return Existence(intervals, words, accuracy, False, gap, searched, tolerance)


def _multiples(
    step: float, start: float, stop: float, most: int = 100_000
) -> list[float]:
    """Return the multiples of a step from start to stop, or the next one; too many are refused."""
    if (stop - start) / step > most:
        raise TooLarge(
            f"steps of {step:g} from {start:g} to {stop:g} are more than {most} samples: "
            "take a larger step or a shorter range"
        )
    # 0.3 / 0.1 is a little less than 3.
    rounding = 1e-9
    first = math.ceil(start / step - rounding)
    last = math.ceil(stop / step - rounding)
    start = max(first, 1)
    end = max(last, first)
    return [round(k * step, 12) for k in range(start, end + 1)]


# -- where Φ has no inverse ---------------------------------------------------------------


@dataclass(frozen=True)
class SingularLevels:
    r"""The ε for which Φ has no inverse.

    Parameters
    ----------
    epsilons
        The levels, increasing.
    exact
        Whether these are proven to be all. Otherwise changes of the number of negative
        eigenvalues were looked for at samples of ε.
    method
        How it was decided, in words.
    """

    epsilons: tuple[float, ...]
    exact: bool
    method: str

    @property
    def alphas(self) -> tuple[float, ...]:
        r"""The same levels as :math:`\alpha = e^{-\varepsilon}`."""
        return tuple(math.exp(-epsilon) for epsilon in self.epsilons)


def singular_epsilons(graph: AnswerGraph, most_answers: int = 600) -> SingularLevels:
    r"""Return every ε for which Φ is singular [A, App B].

    Up to so many answers the eigenvalues of Φ are sampled where no rule and no polynomial
    decides.

    Examples
    --------
    >>> from tightrope.graphs import folded_cube, PathPower
    >>> [round(alpha, 12) for alpha in singular_epsilons(folded_cube(4)).alphas]   # 1/3
    [0.333333333333]
    >>> singular_epsilons(PathPower(5)).epsilons
    ()
    """
    if graph.product == "cartesian":
        parts = [singular_epsilons(factor) for factor in set(graph.factors)]
        joined = sorted({epsilon for part in parts for epsilon in part.epsilons})
        return SingularLevels(
            tuple(joined),
            all(part.exact for part in parts),
            "a factor of the product is singular",
        )
    unit = not graph.has_lengths
    if unit and (graph.is_clique or graph.is_cycle or graph.is_tree):
        return SingularLevels(
            (), True, "Φ is positive definite on trees, cycles and cliques"
        )
    if graph.size > most_answers:
        raise TooLarge(
            f"the eigenvalues of Φ are sampled up to {most_answers} answers, "
            f"{graph.name} has {graph.size}"
        )
    if unit and (single := single_cells(graph)).fit_exactly:
        # D of Cramer's rule is the determinant of Φ.
        determinant, _ = single.cramer([1] * single.size)
        roots = exact.unit_roots([determinant])
        levels = sorted(-math.log(root) for root in roots)
        return SingularLevels(tuple(levels), True, "roots of the determinant, exactly")
    return _by_inertia(DenseStructure(graph))


def _by_inertia(dense: DenseStructure, count: int = 200) -> SingularLevels:
    """Find where eigenvalues change their sign between samples of ε, by bisection."""

    def negative(epsilon: float) -> int:
        eigenvalues = np.linalg.eigvalsh(dense.matrix(math.exp(-epsilon)))
        return int((eigenvalues < 0).sum())

    def change(a: float, b: float, before: int) -> float:
        def differs(level: float) -> bool:
            return negative(level) != before

        return _border(differs, a, b, accuracy=1e-10)

    points = np.geomspace(0.02, 8.0, count).tolist()
    samples = itertools.pairwise((point, negative(point)) for point in points)
    # An eigenvalue that touches 0 between two samples without crossing it is not seen.
    levels = [
        change(a, b, before) for (a, before), (b, after) in samples if before != after
    ]
    words = f"changes of the number of negative eigenvalues over {count} samples of ε"
    return SingularLevels(tuple(levels), False, words)
