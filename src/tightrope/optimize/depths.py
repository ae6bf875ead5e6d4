r"""Depths: answers that are alike but for their distance from the ends have one price.

Boxes and simplices of answers look alike everywhere but near their ends. Under a uniform prior
answers whose *depths* (:attr:`tightrope.graphs.AnswerGraph.depths`) are equal up to b share one
price here, and the multipliers of a guess stay in the *ball* of the answers at most R away from it.
Guesses whose depths are equal up to b + R have the same balls, prices and costs, so one of them
proves its inequality for all:

.. math:: c_k - \lambda \;\ge\; \sum_{i \to h} y_{ih} (e_h - \alpha e_i)
   \quad\text{on the ball},\qquad \lambda_i \le c_k(i) \quad\text{elsewhere}.

Both are a restriction of the dual program: its prices bound the loss of every private mechanism,
at a cost that does not grow with the number of answers. Column generation in a box
(:mod:`tightrope.optimize.boxstep`) finds them, with the cheapest ray of each ball.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.channels import UnboundedNoise
from tightrope.optimize.boxstep import TRADED, Boxstep, Offers
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.cuts import FLOOR, cheapest_rays
from tightrope.optimize.loops import run
from tightrope.optimize.pricing import USUAL_PASSES, processors
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import OutOfSteps, Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.solvers import too_many
from tightrope.optimize.task import RoutePlan, Task
from tightrope.optimize.unbounded import held_loss

#: Share of the loss of α^d beyond the balls, which sets their radius.
TAIL = 0.003
#: Relative gap of the restricted program at which to stop, and the least gain of larger balls
#: after which still larger ones are tried.
BALL_GAP = 1e-3


@dataclass(eq=False)
class Ball:
    r"""The answers around a guess.

    Parameters
    ----------
    copies
        For how many guesses it stands.
    anchor
        The place of the guess among the answers.
    member
        The class of each answer.
    costs
        The loss of the guess at each answer.
    network
        The arcs inside, for compiled loops (see :func:`tightrope.optimize.pricing.arcs`).
    heights
        The last ray, where the next search begins.
    """

    copies: int
    anchor: int
    member: Ints
    costs: Floats
    network: tuple[Any, ...]
    heights: Floats


def depths_route(task: Task) -> RoutePlan | str:
    """Price boxes and simplices by the distance from their ends.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("counts(50,2)").graph, 2, prior="uniform", loss="distance")
    >>> depths_route(task).reason
    'the answers look alike but near the ends: columns up to 6 away'
    """
    graph = task.graph
    consumer = task.consumer
    if consumer.risk_averse or not consumer.prior.is_uniform:
        return "prices by depth are for a uniform prior"
    if consumer.loss.name not in ("binary", "absolute", "squared", "distance"):
        return f"the {consumer.loss.name} loss may differ between alike answers"
    few = task.settings.window_answers
    if graph.size <= few:
        return f"{graph.size} answers are few enough for the engine"
    depths = graph.depths
    if depths is None:
        return f"{graph.name} is neither a box nor a simplex"
    group = None if too_many(task) else task.symmetries
    # With one column for each orbit the engine takes 4 s for 390,000 pairs of answer and orbit,
    # and over 30 s for 910,000.
    if group is not None and graph.size * group.orbit_count <= few**2 // 2:
        return f"{group.orbit_count} orbits of answers are few enough for the engine"
    noise = UnboundedNoise(graph, task.epsilon)
    levels = _levels(noise, depths, task)
    if not levels:
        return "balls of radius 2 have too many arcs"
    farthest = levels[-1][1]
    reason = f"the answers look alike but near the ends: columns up to {farthest} away"
    return RoutePlan(reason, lambda: _solved(task, noise, levels))


def _radius(noise: UnboundedNoise, loss: str) -> int:
    """Return the distance beyond which noise on the lattice has little of its loss."""
    power = {"binary": 0, "squared": 2}.get(loss, 1)
    layers = np.arange(len(noise.layers), dtype=float)
    lost = noise.layers * layers**power
    beyond = lost[::-1].cumsum()[::-1]
    return max(2, int(np.argmax(beyond <= TAIL * beyond[0])))


def _levels(noise: UnboundedNoise, depths: Ints, task: Task) -> list[tuple[int, int]]:
    """Return depths of prices and radii of balls, from small to large, that can be held.

    Each radius is about a third larger than the last. Depths go up to half of it, or a quarter
    where there would be too many balls: the ends matter less far than noise reaches.
    """
    most = task.settings.ball_arcs
    radius = _radius(noise, task.consumer.loss.name)
    levels = []
    while radius > 1:
        for depth in range(radius // 2 + 1, radius // 4, -1):
            if _arcs(noise, depths, depth, radius) <= most:
                levels.append((depth, radius))
                break
        radius = radius * 3 // 4
    return levels[::-1]


def _arcs(noise: UnboundedNoise, depths: Ints, depth: int, radius: int) -> float:
    """Return about how many arcs all balls have, and none cut off by an end."""
    _, coordinates, ends = depths.shape
    lattice = noise.lattice
    # The last number of a root lattice follows from the others.
    follows = lattice.form == "roots" and ends == 1
    free = coordinates - follows
    guesses = math.comb(ends * (depth + radius) + free, free)
    ball = min(lattice.ball(radius), len(depths))
    return float(min(guesses, len(depths)) * ball * lattice.layer(1))


def _classes(depths: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Return for each answer its class by depths up to a limit; first answers and sizes."""
    limited = np.minimum(depths, most)
    # One number for the depths of a coordinate; coordinates may be exchanged.
    digits = (most + 1) ** np.arange(limited.shape[2])
    keys = np.sort(limited @ digits, axis=1)
    _, first, classes, sizes = np.unique(
        keys, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return classes.ravel(), first, sizes


def _solved(task: Task, noise: UnboundedNoise, levels: list[tuple[int, int]]) -> Design:
    """Return noise on the lattice with the best prices of balls, from small to large ones."""
    watch = task.watch
    end = watch.seconds + min(task.settings.ball_seconds, 0.5 * watch.left)
    prices = np.zeros(task.graph.size)
    bound = 0.0
    with suppress(Stopped):
        for depth, radius in levels:
            market = Balls(task, depth, radius, prices)
            search = Boxstep(market, BALL_GAP, watch, task.settings)
            search.run(end - watch.seconds)
            prices = search.prices[market.classes]
            gained = search.bound - bound
            bound = search.bound
            if search.stopped or watch.seconds > end or gained < BALL_GAP * bound:
                break
    return _held_between_ends(task, noise, prices / task.graph.size)


def _held_between_ends(task: Task, noise: UnboundedNoise, prices: Floats) -> Design:
    """Return noise on the lattice, held between the ends, with the bound of these prices."""
    loss = held_loss(noise, task.consumer)
    return task.answered(
        loss=loss,
        bound=min(float(prices.sum()), loss),
        channel=noise,
        certificate=Certificate(task.graph, task.epsilon, task.consumer, prices),
        stopped=task.watch.over,
    )


class Balls:
    """Depths as classes of answers, and one guess for all with equal balls.

    Prices are those of one answer each, and losses are not weighed by the prior.

    Parameters
    ----------
    task
        The question, with a uniform prior.
    price_depth
        Depth from which prices are equal.
    radius
        How far the multipliers of a guess reach.
    known
        Prices that smaller balls and fewer depths have proved: they hold here as well.
    """

    lowest = math.inf
    traded = TRADED

    def __init__(
        self, task: Task, price_depth: int, radius: int, known: Floats | None = None
    ) -> None:
        self.task = task
        self.radius = radius
        depths = task.graph.depths
        assert depths is not None
        self.classes, first, sizes = _classes(depths, price_depth)
        self.sizes = sizes.astype(float)
        _, guesses, copies = _classes(depths, price_depth + radius)
        #: No price is above what a guess costs outside its ball.
        self.highest = math.inf
        self._near: dict[int, Ints] = {}
        #: Lengths of arcs and what is left of a column along them, for all balls: views of these.
        self._ones = np.ones(0)
        self._alphas = np.ones(0)
        self.balls = []
        for guess, count in zip(guesses.tolist(), copies.tolist(), strict=True):
            if task.watch.heartbeat():
                raise Stopped
            self.balls.append(self._ball(guess, count))
        self.proved = np.zeros(len(sizes)) if known is None else known[first]
        self.centre = self.proved
        if not self.proved.any():
            self.centre = self._usual()

    def total(self, prices: Floats) -> float:
        """Return what prices of one answer of each class prove."""
        return float(self.sizes @ prices)

    def _usual(self) -> Floats:
        """Return prices to begin with: what rays α^d lose for each unit of their sum."""
        totals = np.zeros(len(self.sizes))
        counts = np.zeros(len(self.sizes))
        for ball in self.balls:
            ray = self.task.alpha**ball.heights
            here = ball.member[ball.anchor]
            totals[here] += ball.costs @ ray / ray.sum()
            counts[here] += 1
        return np.minimum(totals / counts, self.highest)

    def _ball(self, guess: int, copies: int) -> Ball:
        graph = self.task.graph
        away = graph.distances_from(guess)
        lost = self.task.consumer.loss.column(guess)
        is_near = away <= self.radius
        beyond = lost[~is_near].min(initial=math.inf)
        self.highest = min(self.highest, float(beyond))
        nodes = np.flatnonzero(is_near)
        lists = [self._neighbours(node) for node in nodes.tolist()]
        start = np.repeat(np.arange(len(nodes)), [len(near) for near in lists])
        end = np.concatenate(lists)
        inside = is_near[end]
        start = start[inside]
        end = np.searchsorted(nodes, end[inside])
        # Arcs are sorted by start and end: sorted by end and start they are their opposites.
        back = np.lexsort((start, end))
        first = np.searchsorted(start, np.arange(len(nodes) + 1))
        count = len(start)
        if count > len(self._ones):
            self._ones = np.ones(count)
            self._alphas = np.full(count, self.task.alpha)
        network = first, end, back, self._ones[:count], self._alphas[:count]
        return Ball(
            copies,
            int(np.searchsorted(nodes, guess)),
            self.classes[nodes],
            lost[nodes].astype(float),
            network,
            away[nodes].astype(float),
        )

    def _neighbours(self, node: int) -> Ints:
        """Return the neighbours of a node, in order; asked once."""
        if node not in self._near:
            self._near[node] = np.sort(self.task.graph.neighbours(node))
        return self._near[node]

    def first(self) -> Offers:
        """Return the rays α^d of all balls; what they leave of rows is bought."""
        rays = [self.task.alpha**ball.heights for ball in self.balls]
        return self._offers(self.balls, rays)

    def _offers(self, balls: list[Ball], rays: list[Floats]) -> Offers:
        sums = np.zeros((len(balls), len(self.sizes)))
        costs = np.zeros(len(balls))
        for place, (ball, ray) in enumerate(zip(balls, rays, strict=True)):
            by_class = np.bincount(ball.member, ray, len(self.sizes))
            sums[place] = ball.copies * by_class / self.sizes
            costs[place] = ball.copies * float(ball.costs @ ray)
        return Offers(sums, costs)

    def cheapest(self, prices: Floats) -> tuple[Floats, Offers]:
        """Price the guess of every ball by minimum cuts."""
        short = np.zeros(len(prices))
        cheap: list[Ball] = []
        rays: list[Floats] = []
        with ThreadPoolExecutor(processors()) as pool:
            searches = pool.map(lambda ball: self._search(ball, prices), self.balls)
            for ball, (is_negative, lacks) in zip(self.balls, searches, strict=True):
                np.maximum.at(short, ball.member, lacks)
                if is_negative:
                    cheap.append(ball)
                    rays.append(self.task.alpha**ball.heights)
                if self.task.watch.heartbeat():
                    pool.shutdown(cancel_futures=True)
                    raise OutOfSteps("time is up")
        return np.minimum(prices - short, self.highest), self._offers(cheap, rays)

    def _search(self, ball: Ball, prices: Floats) -> tuple[bool, Floats]:
        """Find the cheapest ray of a ball; whether it is negative, and what its proof lacks."""
        weights = (ball.costs - prices[ball.member])[None]
        floors = FLOOR * np.abs(weights).mean(axis=1)
        peaks = np.array([ball.anchor])
        heights = (ball.heights - ball.heights[ball.anchor])[None]
        value, noise = np.zeros((2, 1))
        lacks = np.zeros(len(ball.costs))
        most = 100 * (2 + 2 * self.radius)
        visits = USUAL_PASSES * len(ball.network[1])
        rows = weights, floors, peaks, heights, value, noise
        run(cheapest_rays, visits, ball.network, self.task.alpha, *rows, lacks, most)
        ball.heights = heights[0]
        return bool(value[0] < -noise[0]), np.maximum(lacks, 0.0)
