r"""One mechanism for many consumers: the least worst regret [C, §1.1].

The *regret* of a consumer is what it loses with a mechanism, remapped as it likes, beyond what
it would lose with its own optimal one. Over private columns r with weights w this is a linear
program; the program and its dual are

.. math:: \min t:\; \sum_r w_r v_a(r) \le \mathrm{opt}_a + t,\; \sum_r w_r r = 1
   \qquad
   \max \sum_i \lambda_i - \sum_a \mu_a \mathrm{opt}_a:\;
   \lambda \cdot r \le \sum_a \mu_a v_a(r),\; \sum_a \mu_a = 1,

where :math:`v_a(r) = \min_k c^a_k \cdot r` is what a column costs consumer a with its best guess.

*Column generation.* The duals of the master program over the rays so far are a point
:math:`(\lambda, \mu)`; where pricing finds no cheap column, or the prices are lowered until it
does not, it proves a bound.

*Pricing by branch and bound.* The cheapest column minimises
:math:`\sum_a \mu_a \min_k (c^a_k \cdot r) - \lambda \cdot r`, a minimum over tuples of guesses, of
which there are as many as the product of the numbers of guesses. Most of them need not be looked
at: consumer a's own certificate :math:`\lambda^a` has
:math:`c^a_k \cdot r \ge \lambda^a \cdot r` for every guess k and every private r. With it in the
place of the guesses that are still open, a part of a tuple has a value that no tuple with that
part goes below, and where this value is not negative the whole branch is done. The branches that
are still open bound what was not looked at, so stopping at any time leaves a bound that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.consumers import Consumer, expected_loss
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.columns import private_columns
from tightrope.optimize.minimax import least_worst
from tightrope.optimize.objective import shares
from tightrope.optimize.planner import (
    checked_gap,
    compared,
    consumer_of,
    design,
    graph_of,
)
from tightrope.optimize.pricing import Pricer
from tightrope.optimize.problem import Floats, Heights, Ints, Problem
from tightrope.optimize.progress import Watch, digits_done
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.progress import Progress, ProgressCallback

#: Most parts of tuples that one search prices.
MOST_BRANCHES = 300_000


def design_many(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumers: Sequence[Consumer],
    gap: float = 1e-9,
    progress: ProgressCallback | None = None,
    *,
    time_limit: float | None = None,
    settings: SolverSettings | None = None,
) -> Design:
    """Return the mechanism whose worst regret over the consumers is least.

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    epsilon
        The privacy level.
    consumers
        Consumers with priors over its answers.
    gap
        How far the worst regret may lie above the bound, relative to the largest optimum.
    progress
        Called between the steps of the search with the worst regret and the bound so far;
        ``True`` stops with the best mechanism found, and so does an interruption.
    time_limit, settings
        As for :func:`~tightrope.optimize.design`.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> two = [Consumer.of(PathPower(3), prior="uniform", loss=l) for l in ("binary", "absolute")]
    >>> design_many(PathPower(3), "ln(2)", two).worst_regret
    0.0
    """
    watch = Watch.of(progress, time_limit)
    settings = settings or SolverSettings()
    graph = graph_of(query)
    level = Epsilon.of(epsilon)
    if not consumers:
        raise InputError("at least one consumer is needed, got none")
    if any(consumer_of(one, graph).risk_averse for one in consumers):
        raise InputError("one mechanism for many needs consumers with priors")
    request = _RegretRequest(
        graph, level, tuple(consumers), checked_gap(gap), watch, settings
    )
    best = request.run()
    baselines = request.baselines(best.optima)
    return replace(best, baselines=baselines, seconds=watch.seconds)


@dataclass(frozen=True, eq=False)
class _RegretRequest:
    """One request for a mechanism for many consumers."""

    graph: AnswerGraph
    epsilon: Epsilon
    consumers: tuple[Consumer, ...]
    gap: float
    watch: Watch
    settings: SolverSettings

    def run(self) -> Design:
        """Look whether one consumer's mechanism is best for all; else search."""
        own = [self._own(place) for place in range(len(self.consumers))]
        proved = all(design.certified for design in own)
        # Measured from what is proved, a regret is never larger than it seems.
        optima = np.array([d.expected_loss if d.certified else d.bound for d in own])
        judged = [self._judged(design.general, optima) for design in own]
        best = min(judged, key=lambda design: design.worst_regret)
        if best.gap <= self.gap:
            reason = "this mechanism is optimal for every consumer"
            return replace(best, reason=reason)
        if self.watch.over:
            reason = "stopped early: the mechanism of one consumer has the least regret so far"
            return replace(best, reason=reason, stopped=True)
        problem = Problem(self.graph, self.epsilon, np.zeros((self.graph.size, 1)))
        slack = self.gap * best.scale
        rays = _first_rays(problem, own)
        search = RegretSearch(
            problem, _costs(own), optima, rays, slack, self.watch, self.settings
        )
        search.run()
        reason = "columns priced over the tuples of guesses that matter"
        if not search.finished:
            reason = "columns priced over tuples of guesses; some branches stayed open at the end"
        # A regret is proved only where the optima are.
        bound = search.bound if proved else 0.0
        mixed = self._judged(_mixed(problem, search), optima, bound)
        if best.worst_regret < mixed.worst_regret:  # a search that was stopped early
            mixed = replace(best, bound=min(mixed.bound, best.worst_regret))
        return replace(mixed, reason=reason, stopped=search.stopped)

    def _own(self, place: int) -> Design:
        """Return the design of one consumer."""
        which = f"consumer {place + 1} of {len(self.consumers)}"

        def report(now: Progress) -> bool:
            return self.watch(replace(now, step=f"{which}: {now.step}"))

        return design(
            self.graph,
            self.epsilon,
            self.consumers[place],
            gap=min(self.gap, 1e-9),
            progress=report,
            time_limit=self.watch.left,
            # Simple noise is compared with once, for all of them.
            settings=replace(self.settings, baseline_entries=0),
        )

    def _judged(
        self,
        channel: Channel,
        optima: Floats,
        bound: float = 0.0,
        *,
        rounding: float = 1e-12,
    ) -> Design:
        """Let every consumer remap the channel as it likes."""
        losses = self._losses(channel)
        scale = max(float(np.abs(optima).max()), 1e-300)
        # A loss that equals the optimum but for rounding has no regret.
        is_optimal = losses - optima < rounding * scale
        losses = np.where(is_optimal, optima, losses)
        worst = float((losses - optima).max())
        return Design(
            graph=self.graph,
            epsilon=self.epsilon,
            consumers=self.consumers,
            route="regret",
            channel=channel,
            general=channel,
            expected_loss=float(losses.max()),
            losses=losses,
            optima=optima,
            minimised="regret",
            bound=max(0.0, min(bound, worst)),
            scale=scale,
            certificate=None,
            wanted_gap=self.gap,
        )

    def baselines(self, optima: Floats) -> dict[str, float]:
        """Return the worst regret with simple noise."""
        if self.graph.size**2 > self.settings.baseline_entries:
            return {}
        return compared(
            self.graph,
            self.epsilon,
            lambda noise: max(float((self._losses(noise) - optima).max()), 0.0),
        )

    def _losses(self, channel: Channel) -> Floats:
        """Return what each consumer loses with its own best remap of a channel."""
        return np.array([expected_loss(channel, reader) for reader in self.consumers])


def _costs(own: Sequence[Design]) -> ConsumerCosts:
    """Return the consumers' costs, without guesses that others replace, and their proofs."""
    costs = []
    floors = []
    for optimum in own:
        assert isinstance(optimum.certificate, Certificate)
        problem = Problem.of(optimum.graph, optimum.epsilon, optimum.consumer)
        # Guesses with equal costs would only multiply the branches.
        costs.append(np.unique(problem.costs[:, problem.useful], axis=1))
        floors.append(optimum.certificate.prices)
    return ConsumerCosts(tuple(costs), np.array(floors), problem.alpha)


def _first_rays(
    problem: Problem, own: Sequence[Design], *, smallest: float = 1e-11
) -> Heights:
    """Return rays near the columns of everybody's own mechanism, the steepest and the flat one.

    A column whose largest entry is below ``smallest`` is not worth its ray.
    """
    unit = float(problem.lengths.min(initial=1))
    rays = [*problem.distances, np.zeros(problem.size, problem.distances.dtype)]
    for optimum in own:
        matrix = np.asarray(optimum.channel.matrix())
        for column in matrix.T[matrix.max(axis=0) > smallest]:
            # Heights h = log_α(x / max x), in units of the shortest edge.
            unit_log = np.log(problem.alpha) * unit
            steps = np.log(column / column.max()) / unit_log
            near = (unit * np.round(steps)).astype(problem.distances.dtype)
            # h_i = min_j (h_j + d(i, j)) is the highest private ray that is nowhere higher.
            reached = near[:, None] + problem.distances
            rays.append(reached.min(axis=0))
    return np.unique(np.array(rays), axis=0)


def _mixed(problem: Problem, found: RegretSearch) -> Channel:
    """Return the mechanism: rays, which are private, with weights that make rows sum to 1."""
    heights = found.heights.astype(float)
    rays = (problem.alpha**heights) * found.weights[:, None]
    no_costs = np.zeros((problem.size, len(rays)))
    own = Problem(problem.graph, problem.epsilon, no_costs)
    columns = private_columns(own, dict(enumerate(rays)))
    return Channel(np.array(list(columns.values())).T, inputs=problem.graph.labels)


class RegretSearch:
    """Column generation: a master program over rays, and what is proved of all others.

    Parameters
    ----------
    problem
        Graph and privacy level.
    consumers
        The consumers.
    optima
        What each consumer loses with its own optimal mechanism.
    heights
        Rays to start with; they must allow for a mechanism. In the end those in use.
    slack
        How far the worst regret may lie above the bound.
    watch, settings
        Called between the steps of the search; the limits of branch and bound.

    Attributes
    ----------
    weights
        The weights of the rays in the best mixture.
    bound
        No private mechanism has a smaller worst regret.
    stopped
        Whether the search was stopped from outside.
    finished
        Whether no search through the tuples was cut short in the end.

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), np.zeros((2, 1)))
    >>> binary = np.array([[0, 0.5], [0.5, 0]])
    >>> consumers = ConsumerCosts((binary, binary), np.full((2, 2), 1 / 6), 0.5)
    >>> rays = np.array([[0, 1], [1, 0]])
    >>> found = RegretSearch(problem, consumers, np.full(2, 1 / 3), rays, 1e-9)
    >>> found.run()
    >>> found.finished, found.bound < 1e-9
    (True, True)
    """

    def __init__(
        self,
        problem: Problem,
        consumers: ConsumerCosts,
        optima: Floats,
        heights: Heights,
        slack: float,
        watch: Watch | None = None,
        settings: SolverSettings | None = None,
    ) -> None:
        self.problem = problem
        self.consumers = consumers
        self.optima = optima
        self.slack, self.watch = slack, watch or Watch()
        self.settings = settings or SolverSettings()
        self.pricer = Pricer(problem)
        # Scaled to a maximum of 1, equal rays coincide.
        from_least = heights - heights.min(axis=1, keepdims=True)
        self.heights = np.unique(from_least, axis=0)
        self.weights = np.zeros(0)
        self.rounds = 0
        self.stopped = False
        self.finished = False
        self.scale = max(float(np.abs(optima).max()), 1e-300)
        self.bound = 0.0
        self.worst = np.inf
        self.basis: tuple[Ints, Ints] | None = None

    def run(self) -> None:
        """Add rays until the worst regret is proved, or nothing more can be done."""
        while self.rounds < self.settings.most_rounds:
            self.rounds += 1
            try:
                rays = self._explored(*self._master())
                near = self.worst - self.bound <= self.slack / 4
                if self.stopped or self._report() or near or not len(rays):
                    break
            except KeyboardInterrupt:
                if self.basis is None:
                    raise
                self.stopped = True
                break
            self.heights = np.concatenate([self.heights, rays])
        # Rays without weight were only tried.
        used = np.flatnonzero(self.weights > 0)
        self.heights = self.heights[used]
        self.weights = self.weights[used]

    def _report(self) -> bool:
        """Report how far the search is; return whether to stop."""
        gap = (self.worst - self.bound) / self.scale
        now = Progress(
            "looking for the least worst regret",
            *digits_done(gap, self.slack / self.scale),
            self.rounds,
            len(self.heights),
            self.worst,
            self.bound,
            gap,
        )
        self.stopped = self.watch(now)
        return self.stopped

    def _explored(self, share: Floats, prices: Floats) -> Heights:
        """Look for cheap rays at a point of the dual, and note what it proves."""
        # Closed branches lack at most this at each answer: a sixteenth of the slack in all.
        noise = self.slack / (16 * self.problem.size)
        known = {named(ray) for ray in self.heights}
        tuples = Branches(self.consumers, self.pricer, share, prices, noise, known)
        rays = tuples.explore(MOST_BRANCHES, self._report)
        self.finished = not len(tuples.open)
        # The dual value Σ λ_i - Σ_a μ_a·opt_a, at prices that are proved.
        value = float(tuples.proved().sum() - share @ self.optima)
        self.bound = max(self.bound, value)
        return rays

    def _master(self) -> tuple[Floats, Floats]:
        """Solve the program over the rays: the worst regret and their weights; return its duals.

        It starts from the basis of the last one: new rays have no weight there.
        """
        rays = self.problem.alpha ** self.heights.astype(float)
        answers = self.problem.size
        worth = self.consumers.worth(self.heights).T / self.scale
        solved = least_worst(
            rays.T, worth, self.optima / self.scale, basis=self.basis, watch=self.watch
        )
        self.basis = solved.basic_columns, solved.basic_rows
        self.worst = float(solved.value) * self.scale
        self.weights = np.maximum(solved.values[:-1], 0.0)
        prices = solved.duals[:answers] * self.scale
        return shares(solved.duals[answers:]), prices


@dataclass(frozen=True, eq=False)
class ConsumerCosts:
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
    >>> ConsumerCosts((np.eye(2),), np.zeros((1, 2)), 0.5).worth(np.array([[0, 1]])).tolist()
    [[0.5]]
    """

    costs: tuple[Floats, ...]
    floors: Floats
    alpha: float

    def worth(self, heights: Heights) -> Floats:
        """Return what each ray (a row) costs each consumer (a column) with its best guess."""
        rays = self.alpha ** heights.astype(float)
        least = [(rays @ costs).min(axis=1) for costs in self.costs]
        return np.stack(least, axis=1)


def named(heights: Heights, places: int = 9) -> tuple[float, ...]:
    """Return what two descriptions of one ray have in common, to so many decimal places.

    >>> named(np.array([0, 1])) == named(np.array([1.0, 2.0]))
    True
    """
    low = np.asarray(heights - heights.min(), float)
    return tuple(np.round(low, places).tolist())


@dataclass(frozen=True, eq=False)
class _PartialTuples:
    """Parts of tuples with what pricing says about them, one entry (or row) for each.

    ``fixed`` says which of the consumers have a guess.
    """

    fixed: NDArray[np.bool_]
    weights: Floats
    values: Floats
    heights: Heights
    places: Ints

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> _PartialTuples:
        return _PartialTuples(*(part[which] for part in vars(self).values()))

    def joined_with(self, more: _PartialTuples) -> _PartialTuples:
        """Return these parts and others."""
        both = zip(vars(self).values(), vars(more).values(), strict=True)
        return _PartialTuples(*(np.concatenate(pair) for pair in both))


class Branches:
    r"""The open branches of one search for rays whose value is negative.

    Parameters
    ----------
    consumers
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

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> pricer = Pricer(Problem(Clique(2), Epsilon.of("ln(2)"), np.zeros((2, 1))))
    >>> two = ConsumerCosts((np.array([[0, 0.5], [0.5, 0]]),) * 2, np.full((2, 2), 1 / 6), 0.5)
    >>> done = Branches(two, pricer, np.full(2, 0.5), np.full(2, 1 / 6), 1e-12)
    >>> len(done.explore(100)), len(done.open), round(float(done.proved().sum()), 9)
    (0, 0, 0.333333333)
    >>> news = Branches(two, pricer, np.full(2, 0.5), np.full(2, 0.2), 1e-12)
    >>> sorted(news.explore(100).tolist())
    [[0, 1], [1, 0]]
    """

    def __init__(
        self,
        consumers: ConsumerCosts,
        pricer: Pricer,
        share: Floats,
        prices: Floats,
        noise: float,
        known: Set[tuple[float, ...]] = frozenset(),
    ) -> None:
        self.consumers = consumers
        self.pricer = pricer
        self.noise = noise
        self.share = share
        self.known = known
        self.prices = prices
        self.priced = 0
        self.short = np.zeros(len(prices))
        self.rounding = np.zeros(len(prices))
        self.news: dict[tuple[float, ...], tuple[float, Heights]] = {}
        costs = consumers.costs
        floors = consumers.floors
        active = np.flatnonzero(share > 0)
        #: For each consumer that counts how each of its guesses changes the weights, in rows.
        self.changes = [share[a] * (costs[a].T - floors[a]) for a in active]
        # With all guesses open the weights are Σ_a μ_a·λ^a - λ.
        start = share[active] @ floors[active] - prices
        no_choices = np.zeros((1, len(active)), bool)
        self.open = self._after(no_choices, start[None, :])

    def explore(self, most: int, stop: Callable[[], bool] = lambda: False) -> Heights:
        """Return rays with negative values, the cheapest first, or close all branches.

        At most about so many parts of tuples are priced; ``stop`` is asked between batches.
        """
        known = 0
        while len(self.open):
            if len(self.news) > known:
                # Rays that are known now are worth more than better ones much later.
                most = min(2 * self.priced, most)
                known = len(self.news)
            if self.priced >= most or stop():
                break
            self._step()
        order = sorted(self.news.values(), key=lambda pair: pair[0])
        rays = np.array([ray for _, ray in order])
        return rays.reshape(-1, len(self.prices))

    def proved(self) -> Floats:
        """Return the prices, lowered until no ray of closed or open branches is negative."""
        self._close(self.open)
        return self.prices - self.short - self.rounding

    def _step(self, width: int = 64) -> None:
        """Take so many branches with the lowest values and fix one more guess in each of them."""
        # Best first: the lowest open value is what limits the bound.
        order = np.argsort(self.open.values, kind="stable")
        first = self.open[order[:width]]
        self.open = self.open[order[width:]]
        rays = self.consumers.alpha ** first.heights.astype(float)
        # How far the floor of a consumer with an open guess is below its real costs.
        gaps = np.stack(
            [(rays @ change.T).min(axis=1) for change in self.changes], axis=1
        )
        # A guess that is fixed has its real costs: never branch on it again.
        gaps[first.fixed] = -1.0
        # Where no floor is below the real costs, the ray that was found is the news.
        known = gaps.max(axis=1) <= 0
        self._close(first[known])
        # Branch on the consumer whose floor is furthest below its costs.
        place = np.where(known, -1, gaps.argmax(axis=1))
        for a in np.unique(place[~known]).tolist():
            parts = first[place == a]
            change = self.changes[a]
            fixed = np.repeat(parts.fixed, len(change), axis=0)
            fixed[:, a] = True
            changed = parts.weights[:, None] + change
            weights = changed.reshape(len(fixed), -1)
            self.open = self.open.joined_with(self._after(fixed, weights))

    def _after(self, fixed: NDArray[np.bool_], weights: Floats) -> _PartialTuples:
        """Price parts of tuples, close those that are done and return the others."""
        self.priced += len(fixed)
        rays = self.pricer.cheapest(weights.T, weights.argmin(axis=1))
        # At the peak the value itself is what is lacking (see _close); elsewhere round-off is.
        elsewhere = np.setdiff1d(np.arange(weights.shape[1]), rays.places)
        self.rounding[elsewhere] = np.maximum(self.rounding, rays.short)[elsewhere]
        parts = _PartialTuples(fixed, weights, rays.values, rays.heights, rays.places)
        done = rays.values >= -np.maximum(self.noise, rays.noise)
        self._close(parts[done])
        self._note(rays.heights[~done])
        return parts[~done]

    def _note(self, heights: Heights) -> None:
        """Keep the rays that are cheap for the whole consumers."""
        if not len(heights):
            return
        low = heights - heights.min(axis=1, keepdims=True)
        rays = self.consumers.alpha ** low.astype(float)
        # Σ_a μ_a min_k c^a_k · r - λ · r
        real = self.consumers.worth(low) @ self.share - rays @ self.prices
        for q in np.flatnonzero(real < -self.noise).tolist():
            if (name := named(low[q])) not in self.known:
                self.news[name] = (float(real[q]), low[q])

    def _close(self, parts: _PartialTuples) -> None:
        """Lower prices by what is lacking: then no ray of these parts is negative."""
        lack = np.maximum(-parts.values, 0.0)
        np.maximum.at(self.short, parts.places, lack)
