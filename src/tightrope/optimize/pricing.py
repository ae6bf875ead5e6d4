r"""Pricing: the cheapest ray for each guess, and the bound that prices prove.

Given a price :math:`\lambda_i` for each answer, a guess k and its weights
:math:`w = c_k - \lambda`, pricing finds a ray r that minimises :math:`w \cdot r`. The prices bound
the loss of every private mechanism by :math:`\sum_i \lambda_i` exactly when no ray has a negative
value for any guess: the pricing problem of column generation [Dantzig and Wolfe, 1960]. One
method serves every graph: minimum cuts over heights (:mod:`tightrope.optimize.cuts`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.optimize.cuts import (
    FLOOR,
    cheapest_ray,
    cheapest_rays,
    join_tight,
    raise_to_private,
)
from tightrope.optimize.loops import affordable, run
from tightrope.optimize.problem import Floats, Heights, Ints, Problem
from tightrope.optimize.progress import OutOfSteps, Stopped, Watch

#: Guesses that are priced between two looks at the clock, at most.
GUESSES_AT_ONCE = 32
#: About so many seconds pass between two looks at the clock. Prices far from the best take some
#: tens of times as many passes as usual, which is still below a second.
LOOK_SECONDS = 0.02
#: Seconds that visiting all arcs takes for each of them, measured.
ARC_SECONDS = 4e-9
#: About how often the search for a ray visits all arcs where prices are nearly optimal.
USUAL_PASSES = 10


@dataclass(frozen=True, eq=False)
class CheapestRays:
    """The cheapest ray of each of several guesses.

    Parameters
    ----------
    values
        The value of each ray, scaled to 1 where it is highest.
    heights
        The heights of the rays, one row for each guess.
    places
        Where each ray is highest.
    noise
        How much of each value may be round-off.
    short
        For each answer what the proof of some guess lacks there: at prices that are lower by
        this no ray has a negative value.
    """

    values: Floats
    heights: Heights
    places: Ints
    noise: Floats
    short: Floats

    @property
    def negative(self) -> NDArray[np.bool_]:
        """The guesses whose ray has a negative value beyond round-off."""
        return self.values < -self.noise


def arcs(problem: Problem, place: Ints) -> tuple[Ints, Any]:
    """Return both ways along all edges, by the place of their first node, for compiled loops.

    The first number of each says where it is in the list of edges, forward and then backward.
    The second has where the arcs of each node begin, their ends, the opposite arcs, the lengths,
    and what is left of a column after its steepest fall along the arc.
    """
    start, end, length = problem.ways
    start = place[start]
    end = place[end]
    count = len(problem.edges)
    order = np.argsort(start, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(2 * count)
    length = length[order].astype(float)
    return order, (
        np.searchsorted(start[order], np.arange(problem.size + 1)),
        np.ascontiguousarray(end[order]),
        # Arc m + e is arc e backward: the opposite of an arc is m places away, modulo 2m.
        rank[(order + count) % (2 * count)] if count else rank,
        length,
        problem.alpha**length,
    )


class Pricer:
    """Finds cheapest rays on the graph of a problem, starting from the last ones found.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Cycle
    >>> pricer = Pricer(Problem(Cycle(4), Epsilon.of("ln(2)"), np.ones((4, 4))))
    >>> found = pricer.cheapest(np.array([[-2.0], [1], [1], [1]]), np.array([0]))
    >>> found.values.round(9).tolist(), found.heights.tolist()
    ([-0.75], [[0, 1, 2, 1]])
    """

    def __init__(self, problem: Problem, watch: Watch | None = None) -> None:
        self.problem = problem
        self._watch = watch
        self._order, self._network = arcs(problem, np.arange(problem.size))
        self._known: dict[int, Floats] = {}
        #: About how many seconds of a processor it has taken so far, and may; counted in steps.
        self.seconds = 0.0
        self.most_seconds = np.inf

    def cheapest(
        self, weights: Floats, anchors: Ints, names: Sequence[int] = ()
    ) -> CheapestRays:
        """Return the cheapest ray of each guess (column of weights).

        The search begins at the ray that was last found for a guess of the same name, or at the
        one that falls as fast as it can from the anchor.
        """
        heights = self.problem.distances[anchors].astype(np.float64)
        places = anchors.astype(np.int64)
        for q, name in enumerate(names):
            if (known := self._known.get(name)) is not None:
                heights[q] = known
                # Heights are relative to the anchor, where the ray is 1.
                heights[q] -= known[places[q]]
        values, noise, short = self._searched(
            np.ascontiguousarray(weights.T), places, heights
        )
        self._known |= zip(names, heights.copy(), strict=False)
        # Without edge lengths heights are integers, which compare exactly.
        whole = heights if self.problem.graph.has_lengths else heights.astype(np.int64)
        return CheapestRays(values, whole, places, noise, short)

    def _searched(
        self, weights: Floats, places: Ints, heights: Floats
    ) -> tuple[Floats, Floats, Floats]:
        count, n = weights.shape
        values = np.empty(count)
        noise = np.empty(count)
        short = np.zeros(n)
        floors = FLOOR * np.abs(weights).mean(axis=1)
        usual = USUAL_PASSES * len(self._order)

        def search(turn: slice) -> Floats:
            lacks = np.zeros(n)
            rows = (
                part[turn] for part in (weights, floors, places, heights, values, noise)
            )
            network = self._network, self.problem.alpha
            passes = run(cheapest_rays, usual, *network, *rows, lacks, self._most_moves)
            self.seconds += ARC_SECONDS * passes * len(self._order)
            return lacks

        # In the interpreter one at a time: how long it takes is known only afterwards.
        interpreted = 0
        while interpreted < count and affordable(usual):
            lacks = search(slice(interpreted, interpreted + 1))
            np.maximum(short, lacks, out=short)
            interpreted += 1
        # Blocks of guesses keep all threads busy and the clock in view.
        together = min(GUESSES_AT_ONCE, _rows_at_once(usual))
        starts = range(interpreted, count, together)
        turns = [slice(q, q + together) for q in starts]
        if len(turns) <= 1:
            for turn in turns:
                np.maximum(short, search(turn), out=short)
            return values, noise, short
        # The compiled loop runs without the interpreter's lock: one thread for each processor.
        with ThreadPoolExecutor(processors()) as pool:
            for lacks in pool.map(search, turns):
                np.maximum(short, lacks, out=short)
                if self.seconds > self.most_seconds:
                    pool.shutdown(cancel_futures=True)
                    raise OutOfSteps(
                        "pricing takes longer than all columns at once would"
                    )
                if self._watch is not None and self._watch.heartbeat():
                    pool.shutdown(cancel_futures=True)
                    raise Stopped
        return values, noise, short

    @functools.cached_property
    def _most_moves(self) -> int:
        """No ray needs more moves: every one changes the height of some node for good or bad."""
        steps = int(
            np.ceil(
                self.problem.distances.max(initial=0)
                / self.problem.lengths.min(initial=1)
            )
        )
        return 100 * (2 + steps)

    def raise_to_private(self, columns: Floats) -> None:
        """Raise each of several columns (rows of the array) to its smallest private majorant.

        This is finished even when time is up: without it there is no mechanism.
        """
        width = self.problem.graph.power
        for block in self._blocks(columns):
            self._report()
            # Running maxima are repeated at most once for each step along the line, and an entry
            # has 2v neighbours: they are never the longer way where v is at least the steps.
            if width is not None and len(columns.T) <= width * width:
                _raise_on_line(block, width, self.problem.alpha)
                continue
            # Largest first, as in Dijkstra's algorithm: most entries are settled once.
            orders = np.argsort(-block, axis=1, kind="stable")
            visits = 2 * len(self._order) * len(block)
            run(raise_to_private, visits, self._network, block, orders)

    def parts(self, columns: Floats) -> Ints:
        """Return a number for each part of the columns (rows) that its tight edges join."""
        parts = np.empty(columns.shape, np.int64)
        for block, first in zip(
            self._blocks(columns), self._blocks(parts), strict=True
        ):
            if self._report():
                raise Stopped
            sizes, rays = np.zeros((2, *block.shape))
            tight = np.empty((len(block), len(self._order)), np.bool_)
            run(join_tight, tight.size, self._network, block, sizes, rays, first, tight)
        # Parts of different columns get different numbers.
        offsets = np.arange(len(columns))[:, None]
        parts += columns.shape[1] * offsets
        return np.unique(parts, return_inverse=True)[1].reshape(columns.shape)

    def _blocks(self, columns: NDArray[Any]) -> list[NDArray[Any]]:
        """Return views of some columns each, between which to look at the clock."""
        together = _rows_at_once(len(self._order))
        starts = range(0, len(columns), together)
        return [columns[q : q + together] for q in starts]

    def _report(self) -> bool:
        """Report that work goes on; whether time is up."""
        return self._watch is not None and self._watch.heartbeat()

    def multipliers(self, weights: Floats, anchor: int) -> tuple[Floats, Floats]:
        r"""Return the multipliers of each edge, in both directions, that prove the weights.

        For an edge (i, j) they are those of :math:`x_j - \alpha x_i` and of
        :math:`x_i - \alpha x_j`.
        """
        end = self._network[1]
        fall = self._network[4]
        heights = self.problem.distances[anchor].astype(np.float64)
        flow = np.zeros(len(end))
        demand = np.empty(len(weights))
        noise = np.empty(len(weights))
        floor = FLOOR * float(np.abs(weights).mean())
        run(
            cheapest_ray, USUAL_PASSES * len(end),
            self._network, self.problem.alpha, weights, floor, anchor, heights, flow, demand, noise,
            self._most_moves,
        )  # fmt: skip
        # y_ij x_j = flow, which is relative to x_i: y_ij = flow / α^|ij|
        multipliers = np.empty(len(end))
        multipliers[self._order] = flow / fall
        forward, backward = np.split(multipliers, 2)
        return forward, backward


def _rows_at_once(visits: int) -> int:
    """Return for how many rows so many arcs each are visited between two looks at the clock.

    >>> _rows_at_once(3_000), _rows_at_once(10**9)
    (1666, 1)
    """
    return max(1, int(LOOK_SECONDS / (ARC_SECONDS * max(1, visits))))


def _raise_on_line(columns: Floats, width: int, alpha: float) -> None:
    """Raise columns on a power of a path: x_i ≥ α·x_j for the largest x_j at most v away.

    >>> column = np.array([[1.0, 0.1, 0.9, 0.0]])
    >>> _raise_on_line(column, 1, 0.5)
    >>> column.tolist()
    [[1.0, 0.5, 0.9, 0.45]]
    """
    from scipy.ndimage import maximum_filter1d

    below = np.arange(len(columns))
    while len(below):
        near = maximum_filter1d(columns[below], 2 * width + 1, axis=1, mode="nearest")
        near *= alpha
        raised = (near > columns[below]).any(axis=1)
        below = below[raised]
        columns[below] = np.maximum(columns[below], near[raised])


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # pragma: no cover - not on every system
        return os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class Priced:
    """The outcome of pricing.

    Parameters
    ----------
    rays
        The cheapest ray of each guess asked for.
    prices
        The prices, lowered until no ray has a negative value: they prove the bound.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> round(price(problem, Pricer(problem), np.array([0.1, 0.1]), problem.guesses).bound, 12)
    0.2
    """

    rays: CheapestRays
    prices: Floats

    @property
    def bound(self) -> float:
        """A lower bound on the expected loss of every ε-private mechanism."""
        return float(self.prices.sum())


def highest(problem: Problem, prices: Floats) -> Floats:
    """Return what the rays that fall as fast as they can leave of prices (see :func:`price`)."""
    return problem.price_limits + problem.rates @ np.maximum(-prices, 0.0)


def price(problem: Problem, pricer: Pricer, prices: Floats, guesses: Ints) -> Priced:
    r"""Price the guesses and turn what is found into a bound that holds.

    Prices that prove a bound satisfy, by the rays that fall as fast as they can from i,

    .. math:: \lambda_i \le \min_k (\Phi c_k)_i + \sum_j \alpha^{d(i,j)} \max(-\lambda_j, 0).

    What a solver's round-off has left above this is cut off first: where the prior is tiny it
    is all there is, and steep rays would enlarge it.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> found = price(problem, Pricer(problem), np.array([0.5, 0.5]), problem.guesses)
    >>> found.rays.values.round(3).tolist(), found.bound < 1 / 3
    ([-0.125, -0.125], True)
    """
    safe = np.minimum(prices, highest(problem, prices))
    weights = problem.costs[:, guesses] - safe[:, None]
    rays = pricer.cheapest(weights, problem.anchors[guesses], guesses.tolist())
    # Answers of a class are lowered as one.
    short = np.zeros(len(problem.class_sizes))
    np.maximum.at(short, problem.classes, np.maximum(rays.short, 0.0))
    return Priced(rays, safe - short[problem.classes])
