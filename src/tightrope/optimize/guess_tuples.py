r"""The cheapest ray for several consumers at once: branch and bound over their guesses.

At a column r every consumer makes its own best guess, so a column is worth

.. math:: \sum_a \mu_a \min_k (c^a_k \cdot r) - \lambda \cdot r,

a minimum over tuples of guesses, of which there are as many as the product of the numbers of
guesses. Most of them need not be looked at: consumer a's own certificate
:math:`\lambda^a` has :math:`c^a_k \cdot r \ge \lambda^a \cdot r` for every guess k and every
private r. With it in the place of the guesses that are still open, a part of a tuple has a
value that no tuple with that part goes below, and where this value is not negative the whole
branch is done. The branches that are still open bound what was not looked at, so stopping at
any time leaves a bound that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.optimize.pricing import PRICE_MARGIN, Pricer
from tightrope.optimize.problem import Floats, Heights, Ints

#: Branches that are taken up together.
WIDTH = 64
#: A branch whose floors are below the real costs by less than this part of its value has a ray
#: that is cheap in truth; it is not looked into before that ray is in use.
NEWS_SHARE = 0.1
#: Decimal places of heights that tell two rays apart, where edges have lengths.
HEIGHT_PLACES = 9
#: Most parts of tuples that one search prices.
MOST_PARTS = 300_000
#: Once it has found a ray, it prices at most so many times the number of all single guesses.
FEW_TIMES = 30
#: Rays that are enough for one round of the search for a mechanism.
ENOUGH_RAYS = 40


@dataclass(frozen=True, eq=False)
class Crowd:
    r"""Several consumers as arrays.

    Parameters
    ----------
    costs
        :math:`c^a_k(i)`, for each consumer one row for each answer and one column for each guess.
    floors
        :math:`\lambda^a`, prices that prove the optimum of each consumer.
    alpha
        :math:`\alpha = e^{-\varepsilon}`.

    Examples
    --------
    >>> Crowd((np.eye(2),), np.zeros((1, 2)), 0.5).worth(np.array([[0, 1]])).tolist()
    [[0.5]]
    """

    costs: tuple[Floats, ...]
    floors: Floats
    alpha: float

    def worth(self, heights: Heights) -> Floats:
        """Return what each ray (a row) costs each consumer (a column) with its best guess."""
        rays = self.alpha ** heights.astype(float)
        return np.stack([(rays @ costs).min(axis=1) for costs in self.costs], axis=1)


@dataclass(frozen=True, eq=False)
class Explored:
    """What a search through the tuples found.

    Parameters
    ----------
    bound
        The sum of the prices, lowered until no ray has a negative value.
    lowered
        These prices.
    heights
        Rays with negative values, the cheapest first.
    parts
        How many parts of tuples were priced.
    finished
        Whether no branch was left open.

    Examples
    --------
    >>> Explored(0.0, np.zeros(2), np.zeros((0, 2)), 1, True).finished
    True
    """

    bound: float
    lowered: Floats
    heights: Heights
    parts: int
    finished: bool


def explore(
    crowd: Crowd,
    pricer: Pricer,
    share: Floats,
    prices: Floats,
    noise: float,
    known: Set[tuple[float, ...]] = frozenset(),
    stop: Callable[[], bool] | None = None,
) -> Explored:
    r"""Look for rays whose value is negative, or prove that there are none.

    Parameters
    ----------
    crowd
        The consumers.
    pricer
        Finds the cheapest ray for one vector of weights.
    share
        :math:`\mu`, the multipliers of the consumers.
    prices
        :math:`\lambda`, the prices of the answers.
    noise
        A branch whose value is not below minus this is done; what it lacks lowers the bound.
    known
        The names of rays that are no news.
    stop
        Asked between batches whether to stop.

    Examples
    --------
    >>> from tightrope.optimize.price_clique import CliquePricer
    >>> two = Crowd((np.array([[0, 0.5], [0.5, 0]]),) * 2, np.full((2, 2), 1 / 6), 0.5)
    >>> done = explore(two, CliquePricer(2, 0.5), np.full(2, 0.5), np.full(2, 1 / 6), 1e-12)
    >>> done.finished, round(done.bound, 9), len(done.heights)
    (True, 0.333333333, 0)
    >>> news = explore(two, CliquePricer(2, 0.5), np.full(2, 0.5), np.full(2, 0.2), 1e-12)
    >>> sorted(news.heights.tolist())
    [[0, 1], [1, 0]]
    """
    search = _Branches(crowd, pricer, share, prices, noise, known)
    singles = sum(costs.shape[1] for costs in crowd.costs)
    while len(search.open) and len(search.found) < ENOUGH_RAYS:
        # Rays at hand are worth more now than better ones later.
        most = min(FEW_TIMES * singles, MOST_PARTS) if search.found else MOST_PARTS
        if search.priced >= most or (stop is not None and stop()):
            break
        search.step()
    return search.result()


def named(heights: Heights) -> tuple[float, ...]:
    """Return what two descriptions of one ray have in common.

    >>> named(np.array([0, 1])) == named(np.array([1.0, 2.0]))
    True
    """
    low = np.asarray(heights - heights.min(), float)
    return tuple(np.round(low, HEIGHT_PLACES).tolist())


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of tuples with what pricing says about them, one entry (or row) for each."""

    taken: Ints
    weights: Floats
    values: Floats
    heights: Heights
    anchors: Ints
    #: What a pricer that is not exact needs everywhere, in the place of its value.
    uniform: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> _Parts:
        return _Parts(
            self.taken[which],
            self.weights[which],
            self.values[which],
            self.heights[which],
            self.anchors[which],
            self.uniform[which],
        )

    def and_more(self, more: _Parts) -> _Parts:
        """Return these parts and others."""
        both = zip(vars(self).values(), vars(more).values(), strict=True)
        return _Parts(*(np.concatenate(pair) for pair in both))


class _Branches:
    """The open branches of one search."""

    def __init__(
        self,
        crowd: Crowd,
        pricer: Pricer,
        share: Floats,
        prices: Floats,
        noise: float,
        known: Set[tuple[float, ...]],
    ) -> None:
        self.crowd, self.pricer, self.noise, self.share = crowd, pricer, noise, share
        self.known = known
        self.active = np.flatnonzero(share > 0)
        self.prices = prices - PRICE_MARGIN * max(float(np.abs(prices).mean()), 1e-300)
        self.short, self.everywhere = np.zeros(len(prices)), 0.0
        self.found: dict[tuple[float, ...], tuple[float, Heights]] = {}
        self.priced = 0
        self.guesses: list[Ints] = [np.arange(crowd.costs[a].shape[1]) for a in self.active]
        start = share[self.active] @ crowd.floors[self.active] - self.prices
        self.open = self._after(np.full((1, len(self.active)), -1), start[None, :])
        for place in range(len(self.active)):
            if len(self.open):
                self._screen(place, start)

    def _screen(self, place: int, start: Floats) -> None:
        """Leave out the guesses that no negative value needs, whatever the others guess."""
        change = self._change(place)
        taken = np.full((len(change), len(self.active)), -1)
        taken[:, place] = np.arange(len(change))
        left = self._after(taken, start + change)
        self.guesses[place] = left.taken[:, place]
        if not len(left):
            # Every tuple has some guess of this consumer: nothing is left to look at.
            self.open = self.open[:0]

    def _change(self, place: int) -> Floats:
        """Return for each guess of a consumer how it changes the weights, one row for each."""
        a = int(self.active[place])
        costs = self.crowd.costs[a][:, self.guesses[place]]
        return np.asarray(self.share[a] * (costs.T - self.crowd.floors[a]))

    def step(self) -> None:
        """Take the branches with the lowest values and fix one more guess in each of them."""
        order = np.argsort(self.open.values, kind="stable")
        first, self.open = self.open[order[:WIDTH]], self.open[order[WIDTH:]]
        gaps = self._gaps(first)
        # Where the floors are hardly below the real costs, the ray that was found is the news.
        known = np.maximum(gaps, 0).sum(axis=1) <= NEWS_SHARE * -first.values
        self._close(first[known])
        if known.all():
            return
        children, weights = [], []
        for b in np.flatnonzero(~known).tolist():
            place = int(gaps[b].argmax())
            taken = np.repeat(first.taken[b : b + 1], len(self.guesses[place]), axis=0)
            taken[:, place] = self.guesses[place]
            children.append(taken)
            weights.append(first.weights[b] + self._change(place))
        left = self._after(np.concatenate(children), np.concatenate(weights))
        self.open = self.open.and_more(left)

    def _gaps(self, parts: _Parts) -> Floats:
        """Return for each ray and consumer with an open guess how far its floor is below."""
        rays = self.crowd.alpha ** parts.heights.astype(float)
        gaps = np.full(parts.taken.shape, -1.0)
        for place in range(len(self.active)):
            extra = (rays @ self._change(place).T).min(axis=1)
            gaps[:, place] = np.where(parts.taken[:, place] < 0, extra, -1.0)
        return gaps

    def _after(self, taken: Ints, weights: Floats) -> _Parts:
        """Price parts of tuples, close those that are done and return the others."""
        self.priced += len(taken)
        anchors = weights.argmin(axis=1)
        values, heights, uniform = self.pricer.cheapest(np.ascontiguousarray(weights.T), anchors)
        values = np.where(uniform > 0, -uniform * weights.shape[1], values)
        parts = _Parts(taken, weights, values, heights, anchors, uniform)
        done = values >= -self.noise
        self._close(parts[done])
        self._note(heights[~done])
        return parts[~done]

    def _note(self, heights: Heights) -> None:
        """Keep the rays that are cheap for the whole crowd."""
        if not len(heights):
            return
        low = heights - heights.min(axis=1, keepdims=True)
        rays = self.crowd.alpha ** low.astype(float)
        real = self.crowd.worth(low) @ self.share - rays @ self.prices
        for q in np.flatnonzero(real < -self.noise).tolist():
            name = named(low[q])
            if name not in self.known:
                self.found[name] = (float(real[q]), low[q])

    def _close(self, parts: _Parts) -> None:
        """Lower prices by what is lacking: then no ray of these parts is negative."""
        exact = parts.uniform == 0
        lacking = np.maximum(-parts.values[exact], 0.0)
        np.maximum.at(self.short, parts.anchors[exact], lacking)
        self.everywhere = max(self.everywhere, float(parts.uniform.max(initial=0.0)))

    def result(self) -> Explored:
        """Return rays, and the bound that closed and open branches leave."""
        finished = not len(self.open)
        self._close(self.open)
        lowered = self.prices - self.short - self.everywhere
        order = sorted(self.found.values(), key=lambda pair: pair[0])
        size = len(self.prices)
        rays = np.array([ray for _, ray in order]) if order else np.zeros((0, size))
        return Explored(float(lowered.sum()), lowered, rays, self.priced, finished)
