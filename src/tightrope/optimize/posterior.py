r"""Noise on a lattice with the best guess for each output, and interpolated prices.

The law of several counts, or of a histogram, over independent people is near its mean: most
answers have next to no probability. Here answers that have nearly all of it, the *likely* ones,
bound the loss: a private mechanism restricted to them is private there.

*Mechanism.* Noise :math:`\alpha^{d}` on the lattice, and for each output the guess with the least
expected loss given the output. A table has the guesses near the likely answers.

*Prices.* Far from the ends a guess looks like any other but for the prior. Prices are
:math:`\lambda_i = \pi_i\,m(i)`, with m interpolated between some knots: column generation in a box
(:mod:`tightrope.optimize.boxstep`) has one row for each knot. The multipliers of a guess stay in
the *ball* of points at most R away from it, the same for all guesses,

.. math:: \pi_i\,(\ell(i,k) - m(i)) \;\ge\; \sum_{i \to h} y_{ih} (e_h - \alpha e_i),

and m stays below what a guess costs outside its ball. Points of the lattice that are no likely
answers have weight 0; a private column has a private extension to them, the least one above it, as
distances between answers are those on the lattice. A guess that costs every likely answer more
than m proves itself. Some guesses are priced first, those on a coarser grid; then all are, which
makes the bound hold, starting from the rays of the nearest ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.channels import GuessedNoise, UnboundedNoise
from tightrope.channels.guessed import (
    distances,
    free_coordinates,
    point_chances,
    whole,
)
from tightrope.optimize.boxstep import Boxstep, Offers
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.cuts import FLOOR, cheapest_rays
from tightrope.optimize.loops import run
from tightrope.optimize.pricing import USUAL_PASSES, processors
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import OutOfSteps, Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.task import RoutePlan, Task

#: Probability of the answers whose prices are 0.
UNLIKELY = 1e-4
#: Probability of the answers whose losses are bounded by their worst guess.
NEGLIGIBLE = 1e-7
#: Share of the loss of α^d beyond the balls, which sets their radius.
TAIL = 0.003
#: Prices are at most so many times the mechanism's loss, for each unit of the prior: answers far
#: from the mean lose more than others, but have little weight.
HIGHEST = 2.2
#: How far beyond the likely answers outputs have guesses of their own, in units of 1/ε.
BEYOND = 9.0
#: Relative gap of the interpolated program for some of the guesses, and for all.
SAMPLED_GAP = 2e-3
WHOLE_GAP = 4e-4
#: Part of a row that may be bought or sold at the end, on average: noise is the mechanism.
SOLD = 0.01
#: Fewest guesses of a coarser grid.
SAMPLED = 150
#: Entries of one block of numbers.
BLOCK = 1 << 22


def posterior_route(task: Task) -> RoutePlan | str:
    """Guess from noise on a lattice, under a prior that lies in few of many answers.

    >>> from tightrope.queries import query
    >>> graph = query("counts(60,2)").graph
    >>> task = Task.of(graph, 2, prior="people(1/2,1/3)", loss="distance")
    >>> posterior_route(task).reason
    '793 of 3721 answers ... best guess for each output; a file has the noise alone'
    """
    graph = task.graph
    consumer = task.consumer
    lattice = graph.unbounded
    if lattice is None or lattice.form not in ("cube", "range", "roots"):
        return f"{graph.name} is not a box or a simplex of several numbers"
    if lattice.hidden:
        return "people who are absent are not seen"
    if consumer.risk_averse or consumer.prior.is_uniform:
        return "guesses are for a consumer with a prior that is not uniform"
    if consumer.loss.name not in ("binary", "absolute", "squared", "distance"):
        return f"the {consumer.loss.name} loss does not follow from the difference of two answers"
    few = task.settings.window_answers
    if graph.size <= few:
        return f"{graph.size} answers are few enough for the engine"
    if lattice.form == "range" and consumer.loss.name == "distance":
        counted = Cloud.of(
            task,
            UnboundedNoise(graph, task.epsilon),
            _likeliest(task.prior, NEGLIGIBLE),
        )
        if counted.points.max() == lattice.people:
            return "answers with all people are further apart than on the lattice"
    likely = _likeliest(task.prior, UNLIKELY)
    most = task.settings.likely_answers
    if len(likely) > most:
        return (
            f"{len(likely)} answers have nearly all the probability, more than {most}"
        )
    reason = (
        f"{len(likely)} of {graph.size} answers have nearly all the probability: "
        "noise, and the best guess for each output; a file has the noise alone"
    )
    return RoutePlan(reason, lambda: _solved(task, likely))


def _likeliest(prior: Floats, rest: float) -> Ints:
    """Return the likeliest answers, all but a rest of the probability."""
    order = np.argsort(-prior, kind="stable")
    count = int(np.searchsorted(np.cumsum(prior[order]), 1 - rest)) + 1
    return np.sort(order[:count])


def _solved(task: Task, likely: Ints) -> Design:
    noise = UnboundedNoise(task.graph, task.epsilon)
    task.watch.say("choosing the guess for each output")
    channel, loss = best_guesses(task, noise, likely)
    prices = np.zeros(task.graph.size)
    stopped = task.watch.over
    if not stopped:
        try:
            lattice_prices(task, noise, likely, loss, prices)
        except KeyboardInterrupt:
            stopped = True
    return task.answered(
        loss=loss,
        bound=min(float(prices.sum()), loss),
        channel=channel,
        certificate=Certificate(task.graph, task.epsilon, task.consumer, prices),
        stopped=stopped or task.watch.over,
    )


# -- the mechanism ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cloud:
    """Answers as points of a lattice, with their probabilities.

    Parameters
    ----------
    noise
        Noise on the lattice.
    loss
        The name of the loss.
    points
        The free coordinates of each answer.
    prior
        The probability of each.
    total
        What all coordinates of a point sum to, where the last one follows from the others.
    """

    noise: UnboundedNoise
    loss: str
    points: Ints
    prior: Floats
    total: int

    @classmethod
    def of(cls, task: Task, noise: UnboundedNoise, answers: Ints) -> Cloud:
        """Take some answers of a question."""
        lattice = noise.lattice
        label = task.graph.label
        places = [lattice.coordinates(label(i)) for i in answers.tolist()]
        points = np.array(places, np.int64)
        free = free_coordinates(noise)
        total = int(points[0].sum()) if free < lattice.parts else 0
        return cls(
            noise, task.consumer.loss.name, points[:, :free], task.prior[answers], total
        )

    @property
    def chances(self) -> Floats:
        """The probability of one point at each distance; 0 at the end."""
        return np.append(point_chances(self.noise), 0.0)

    def all_coordinates(self, points: Ints) -> Ints:
        """Return points with the coordinate that follows from the others, where there is one."""
        if self.noise.lattice.form != "roots":
            return points
        last = self.total - points.sum(axis=-1, keepdims=True)
        return np.concatenate([points, last], axis=-1)

    def losses(self, gaps: Ints) -> Floats:
        """Return the losses for differences of free coordinates."""
        if self.loss == "distance":
            return distances(self.noise, gaps).astype(float)
        each = np.moveaxis(whole(self.noise, gaps), -1, 0)
        if self.loss == "binary":
            is_other = functools.reduce(np.logical_or, each)
            return np.asarray(is_other, float)
        size = np.square if self.loss == "squared" else np.abs
        return np.asarray(functools.reduce(np.add, map(size, each)), float)

    def weights(self, outputs: Ints) -> Floats:
        """Return how likely each answer is together with each output (row)."""
        away = distances(self.noise, outputs[:, None] - self.points)
        chances = self.chances
        return np.asarray(
            self.prior * chances[np.minimum(away, len(chances) - 1)], float
        )


def best_guesses(
    task: Task, noise: UnboundedNoise, likely: Ints
) -> tuple[GuessedNoise, float]:
    """Return noise with the best guess for each output near the likely answers, and its loss.

    Outputs elsewhere have one guess together. Answers that are not negligible are counted one by
    one; the others lose what they lose by their worst guess.
    """
    chosen = Cloud.of(task, noise, likely)
    counted = _likeliest(task.prior, NEGLIGIBLE)
    cloud = Cloud.of(task, noise, counted)
    guess = _alone(chosen)
    box, first = _outputs(chosen, len(counted))
    shape = box.shape[:-1]
    guesses = np.zeros((*shape, box.shape[-1]), np.int64)
    seen = np.zeros(len(counted))
    lost = 0.0
    for line in np.ndindex(*shape[:-1]):
        for part in _parts(shape[-1], len(counted)):
            outputs = box[line][part]
            own = _guesses(chosen, outputs)
            guesses[line][part] = own
            together = cloud.weights(outputs)
            seen += together.sum(axis=0)
            losses = cloud.losses(own[:, None] - cloud.points)
            lost += float((together * losses).sum())
            if task.watch.heartbeat():
                raise Stopped
    unseen = np.maximum(cloud.prior - seen, 0.0)
    lost += float(unseen @ cloud.losses(guess - cloud.points))
    lost += _worst_of_rest(task, noise, counted, guesses, guess)
    numbers = _numbered(task, chosen, guesses.reshape(-1, box.shape[-1]))
    elsewhere = int(_numbered(task, chosen, guess[None])[0])
    channel = GuessedNoise(noise, first, numbers.reshape(shape), elsewhere)
    return channel, lost


def _outputs(cloud: Cloud, counted: int) -> tuple[Ints, tuple[int, ...]]:
    """Return the points of a box around the likely answers, and the first of them."""
    beyond = math.ceil(BEYOND / float(cloud.noise.epsilon))
    low = cloud.points.min(axis=0)
    high = cloud.points.max(axis=0)
    # Where there would be too many pairs of answer and output the box is smaller.
    while beyond and np.prod(high - low + 1.0 + 2 * beyond) * counted > 64 * BLOCK:
        beyond -= 1
    axes = [
        np.arange(a - beyond, b + beyond + 1) for a, b in zip(low, high, strict=True)
    ]
    box = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return box, tuple((low - beyond).tolist())


def _parts(count: int, width: int) -> Iterator[slice]:
    """Return parts of so many rows of a width that are no larger than a block."""
    step = max(1, BLOCK // (4 * width))
    return (slice(at, at + step) for at in range(0, count, step))


def _guesses(cloud: Cloud, outputs: Ints) -> Ints:
    """Return the best guess for each output, as free coordinates."""
    together = cloud.weights(outputs)
    if cloud.loss == "binary":
        return np.asarray(cloud.points[together.argmax(axis=1)])
    guess = _by_coordinate(cloud, together)
    if cloud.loss != "distance":
        return guess
    # The best of the medians of all these outputs and their neighbours.
    steps = np.concatenate([_steps(cloud.noise), np.zeros((1, guess.shape[1]), int)])
    near = (np.unique(guess, axis=0)[:, None] + steps).reshape(-1, guess.shape[1])
    near = np.unique(near, axis=0)
    lost = np.empty((len(outputs), len(near)))
    for part in _parts(len(near), len(cloud.points)):
        losses = cloud.losses(near[part][:, None] - cloud.points)
        lost[:, part] = together @ losses.T
    return np.asarray(near[lost.argmin(axis=1)])


def _by_coordinate(cloud: Cloud, together: Floats) -> Ints:
    """Return the best guess for each row of weights under a sum of losses of the coordinates."""
    points = cloud.all_coordinates(cloud.points)
    low = int(points.min())
    values = np.arange(low, int(points.max()) + 1)
    power = 2 if cloud.loss == "squared" else 1
    losses = np.abs(np.subtract.outer(values, values)).astype(float) ** power
    costs = []
    for line in points.T:
        is_there = (line[:, None] == values).astype(float)
        costs.append(together @ is_there @ losses)
    lost = np.stack(costs, axis=1)
    guess = lost.argmin(axis=2)
    if cloud.noise.lattice.form == "roots":
        _balance(lost, guess, cloud.total - low * points.shape[1])
    return np.asarray(guess[:, : cloud.points.shape[1]] + low)


def _balance(lost: Floats, guess: Ints, total: int) -> None:
    """Move coordinates one by one, at the least cost, until those of each guess have a sum.

    Losses are convex in each coordinate, so that no other guess with this sum costs less.
    """
    last = lost.shape[2] - 1
    rows = np.arange(len(guess))
    while len(rows):
        rows = rows[guess[rows].sum(axis=1) != total]
        way = np.sign(total - guess[rows].sum(axis=1))
        there = guess[rows] + way[:, None]
        here = np.take_along_axis(lost[rows], guess[rows][:, :, None], axis=2)
        inside = np.clip(there, 0, last)[:, :, None]
        after = np.take_along_axis(lost[rows], inside, axis=2)
        rise = np.where((there < 0) | (there > last), np.inf, (after - here)[:, :, 0])
        guess[rows, rise.argmin(axis=1)] += way


def _steps(noise: UnboundedNoise) -> Ints:
    """Return the differences between neighbours on the lattice."""
    free = free_coordinates(noise)
    near = np.stack(np.meshgrid(*[[-1, 0, 1]] * free, indexing="ij"), -1)
    near = near.reshape(-1, free)
    return np.asarray(near[distances(noise, near) == 1])


def _alone(cloud: Cloud) -> Ints:
    """Return a guess without an output."""
    if cloud.loss == "binary":
        return np.asarray(cloud.points[cloud.prior.argmax()])
    return np.asarray(_by_coordinate(cloud, cloud.prior[None])[0])


def _worst_of_rest(
    task: Task, noise: UnboundedNoise, counted: Ints, guesses: Ints, guess: Ints
) -> float:
    """Bound what answers lose that are not counted: a loss is convex, so at a corner."""
    rest = np.setdiff1d(np.flatnonzero(task.prior), counted)
    if not len(rest):
        return 0.0
    cloud = Cloud.of(task, noise, rest)
    known = np.concatenate([guesses.reshape(-1, len(guess)), guess[None]])
    ends = zip(known.min(axis=0), known.max(axis=0), strict=True)
    corners = np.stack(np.meshgrid(*ends, indexing="ij"), -1).reshape(-1, len(guess))
    worst = np.zeros(len(rest))
    for corner in corners:
        np.maximum(worst, cloud.losses(corner - cloud.points), out=worst)
    return float(cloud.prior @ worst)


def _numbered(task: Task, cloud: Cloud, guesses: Ints) -> Ints:
    """Return the numbers of guesses among the answers."""
    points, back = np.unique(guesses, axis=0, return_inverse=True)
    index = task.graph.index
    labels = map(tuple, cloud.all_coordinates(points).tolist())
    numbers = np.array([index(label) for label in labels], np.int64)
    return np.asarray(numbers[back.ravel()])


# -- the bound --------------------------------------------------------------------------------


def lattice_prices(
    task: Task, noise: UnboundedNoise, likely: Ints, loss: float, prices: Floats
) -> None:
    """Set the prices of likely answers as high as is proved, from few guesses to all."""
    cloud = Cloud.of(task, noise, likely)
    if noise.lattice.form == "range":
        # Two answers with all people in some number may be further apart than on the lattice.
        inside = (cloud.points < noise.lattice.people).all(axis=1)
        likely = likely[inside]
        cloud = Cloud.of(task, noise, likely)
    field = Field(task, cloud, loss)
    strides = [
        s for s in (4, 2) if len(field.guesses) >= SAMPLED * s ** cloud.points.shape[1]
    ]
    search = None
    for stride in [*strides, 1]:
        market = Interpolated(field, stride, search)
        wanted = WHOLE_GAP if stride == 1 else SAMPLED_GAP
        search = Boxstep(market, wanted, task.watch, task.settings)
        search.run()
        if search.stopped and stride > 1:
            raise Stopped
    assert search is not None
    prices[likely] = search.prices


class Field:
    """The likely answers on a grid, the ball around every guess, and the guesses.

    Parameters
    ----------
    task
        The question.
    cloud
        The likely answers.
    loss
        What a mechanism loses, which sets how high prices may be.
    """

    def __init__(self, task: Task, cloud: Cloud, loss: float) -> None:
        self.task = task
        self.cloud = cloud
        noise = cloud.noise
        free = cloud.points.shape[1]
        span = int(np.ptp(cloud.points, axis=0).max()) + 1
        self.radius = min(_radius(noise, cloud.loss), span)
        while True:
            self._set_ball(loss, free)
            work = len(self.guesses) * len(self.ball)
            if self.radius <= 2 or work <= task.settings.ball_pairs:
                break
            self.radius = self.radius * 9 // 10
        self.network = self._network()
        self.last: dict[int, Floats] = {}

    def _set_ball(self, loss: float, free: int) -> None:
        cloud = self.cloud
        noise = cloud.noise
        side = np.arange(-self.radius - 1, self.radius + 2)
        cube = np.stack(np.meshgrid(*[side] * free, indexing="ij"), -1)
        cube = cube.reshape(-1, free)
        away = distances(noise, cube)
        lost = cloud.losses(cube)
        # No price, for each unit of the prior, is above what a guess costs beyond its ball.
        beyond = float(lost[away == self.radius + 1].min())
        self.highest = min(beyond, HIGHEST * loss)
        if cloud.loss == "binary":
            self.highest = min(self.highest, 1.0)
        pad = self.radius + 1
        low = cloud.points.min(axis=0) - 2 * pad
        self.shape = tuple((np.ptp(cloud.points, axis=0) + 1 + 4 * pad).tolist())
        self.strides = np.array(
            [math.prod(self.shape[c + 1 :]) for c in range(free)], np.int64
        )
        self.places = (cloud.points - low) @ self.strides
        inside = np.flatnonzero(away <= self.radius)
        self.ball = cube[inside]
        self.offsets = self.ball @ self.strides
        self.heights = away[inside].astype(float)
        self.losses = lost[inside]
        self.anchor = int(np.flatnonzero(self.heights == 0)[0])
        # Guesses further from all likely answers cost them no less than any price.
        is_guess = np.zeros(math.prod(self.shape), bool)
        for offset in cube[lost < self.highest] @ self.strides:
            is_guess[self.places + offset] = True
        self.guesses = np.flatnonzero(is_guess)
        self.likely = np.full(len(is_guess), -1)
        self.likely[self.places] = np.arange(len(self.places))

    def _network(self) -> tuple[Any, ...]:
        """Return the arcs of the ball, for compiled loops."""
        digits = (4 * self.radius + 5) ** np.arange(self.ball.shape[1])
        keys = self.ball @ digits
        order = np.argsort(keys)
        starts = []
        ends = []
        for step in _steps(self.cloud.noise):
            wanted = keys + step @ digits
            found = np.searchsorted(keys[order], wanted).clip(max=len(keys) - 1)
            is_there = keys[order][found] == wanted
            starts.append(np.flatnonzero(is_there))
            ends.append(order[found[is_there]])
        start = np.concatenate(starts)
        end = np.concatenate(ends)
        sorting = np.lexsort((end, start))
        start, end = start[sorting], end[sorting]
        # Arcs are sorted by start and end: sorted by end and start they are their opposites.
        back = np.lexsort((start, end))
        first = np.searchsorted(start, np.arange(len(self.ball) + 1))
        lengths = np.ones(len(end))
        return first, end, back, lengths, np.full(len(end), self.task.alpha)

    def on_grid(self, stride: int) -> Ints:
        """Return the guesses whose coordinates are multiples of a stride."""
        coordinates = np.stack(np.unravel_index(self.guesses, self.shape), axis=-1)
        return np.asarray(self.guesses[(coordinates % stride == 0).all(axis=1)])

    def begin(self, guess: int) -> Floats:
        """Return heights from which to look for the cheapest ray of a guess.

        They are the last ones of the guess, or of one nearby.
        """
        for stride in (1, 2, 4):
            coordinates = np.array(np.unravel_index(guess, self.shape))
            near = int((coordinates // stride * stride) @ self.strides)
            if near in self.last:
                return self.last[near]
        return self.heights


def _radius(noise: UnboundedNoise, loss: str) -> int:
    """Return the distance beyond which noise on the lattice has little of its loss."""
    power = {"binary": 0, "squared": 2}.get(loss, 1)
    lost = noise.layers * np.arange(len(noise.layers), dtype=float) ** power
    beyond = lost[::-1].cumsum()[::-1]
    return max(2, int(np.argmax(beyond <= TAIL * beyond[0])))


class Interpolated:
    """Knots with one price each, interpolated in between, and guesses on a grid.

    A price counts for each unit of the prior; those that prove a bound are weighed by it.

    Parameters
    ----------
    field
        Answers and balls.
    stride
        How far apart guesses are. Only with 1 do prices prove a bound.
    before
        A search with fewer guesses, for prices and rays to begin with.
    """

    def __init__(self, field: Field, stride: int, before: Boxstep | None) -> None:
        self.field = field
        self.guesses = field.on_grid(stride)
        self.knots = _between_knots(field.cloud.points, field.task.settings.knots)
        prior = field.cloud.prior
        self.sizes = np.asarray(prior @ self.knots)
        self.highest = field.highest
        self.lowest = 0.0
        self.traded = SOLD
        self.proved = np.zeros(len(prior))
        self.before = before
        if before is not None:
            self.centre = before.centre
        else:
            self.centre = np.full(len(self.sizes), 0.5 * self.highest)

    def total(self, prices: Floats) -> float:
        """Return what prices prove."""
        return float(prices.sum())

    def first(self) -> Offers:
        """Return the rays of the search before; all that rows lack is bought."""
        if self.before is not None:
            return Offers(self.before.sums, self.before.costs)
        steep = self.field.task.alpha**self.field.heights
        return self._offers([(guess, steep) for guess in self.guesses.tolist()])

    def _offers(self, rays: list[tuple[int, Floats]]) -> Offers:
        """Return what rays add to the rows, each in units of the probability that it has."""
        from scipy.sparse import csr_array

        field = self.field
        prior = field.cloud.prior
        rows, columns, values = [], [], []
        costs = np.zeros(len(rays))
        for number, (guess, ray) in enumerate(rays):
            answers = field.likely[guess + field.offsets]
            inside = answers >= 0
            mass = prior[answers[inside]] * ray[inside]
            mass /= mass.sum()
            costs[number] = field.losses[inside] @ mass
            rows.append(np.full(len(mass), number))
            columns.append(answers[inside])
            values.append(mass)
        if not rays:
            return Offers(np.zeros((0, len(self.sizes))), costs)
        places = np.concatenate(rows), np.concatenate(columns)
        laws = csr_array((np.concatenate(values), places), (len(rays), len(prior)))
        return Offers((laws @ self.knots).toarray() / self.sizes, costs)

    def cheapest(self, prices: Floats) -> tuple[Floats, Offers]:
        """Price every guess by minimum cuts."""
        field = self.field
        prior = field.cloud.prior
        high = np.minimum(self.knots @ prices, self.highest)
        weights = np.zeros(len(field.likely))
        weights[field.places] = prior
        priced = np.zeros(len(field.likely))
        priced[field.places] = prior * high
        short = np.zeros(len(field.likely))
        cheap: list[tuple[int, Floats]] = []

        def search(guess: int) -> tuple[bool, Floats, Floats] | None:
            near = guess + field.offsets
            return self._search(guess, weights[near] * field.losses - priced[near])

        guesses = self.guesses.tolist()
        with ThreadPoolExecutor(processors()) as pool:
            for guess, found in zip(guesses, pool.map(search, guesses), strict=True):
                if field.task.watch.heartbeat():
                    pool.shutdown(cancel_futures=True)
                    raise OutOfSteps("time is up")
                if found is None:
                    continue
                is_negative, heights, lacks = found
                near = guess + field.offsets
                short[near] = np.maximum(short[near], lacks)
                field.last[guess] = heights
                if is_negative:
                    ray = field.task.alpha ** (heights - heights.min())
                    cheap.append((guess, ray))
        return prior * high - short[field.places], self._offers(cheap)

    def _search(
        self, guess: int, weights: Floats
    ) -> tuple[bool, Floats, Floats] | None:
        """Find the cheapest ray; whether it is negative, its heights, what its proof lacks."""
        if weights.min() >= 0:
            return None
        field = self.field
        floors = FLOOR * np.abs(weights[None]).mean(axis=1)
        peaks = np.array([field.anchor])
        begin = field.begin(guess)
        heights = (begin - begin[field.anchor])[None]
        value, noise = np.zeros((2, 1))
        lacks = np.zeros(len(weights))
        most = 100 * (2 + 2 * field.radius)
        visits = USUAL_PASSES * len(field.network[1])
        rows = weights[None], floors, peaks, heights, value, noise
        run(cheapest_rays, visits, field.network, field.task.alpha, *rows, lacks, most)
        return bool(value[0] < -noise[0]), heights[0], np.maximum(lacks, 0.0)


def _between_knots(points: Ints, most: int) -> Any:
    """Return how much each knot counts at each point: between knots prices are multilinear.

    >>> _between_knots(np.array([[0], [1], [4]]), 2).toarray().tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]
    """
    from scipy.sparse import csr_array

    count, free = points.shape
    a_side = max(2, int(most ** (1 / free)))
    column = np.zeros((1, count), np.int64)
    share = np.ones((1, count))
    for line in points.T:
        low = int(line.min())
        length = int(line.max()) - low
        knots = min(a_side, length + 1)
        place = (line - low) * (knots - 1) / max(length, 1)
        before = np.floor(place).astype(np.int64).clip(max=max(knots - 2, 0))
        behind = np.minimum(before + 1, knots - 1)
        part = place - before
        column = np.concatenate([column * knots + before, column * knots + behind])
        share = np.concatenate([share * (1 - part), share * part])
    used, column = np.unique(column, return_inverse=True)
    places = np.tile(np.arange(count), len(share)), column.ravel()
    shares = csr_array((share.ravel(), places), (count, len(used)))
    # A knot that counts for next to nothing would be a row of round-off.
    kept = np.asarray(shares.sum(axis=0)).ravel() > 0
    return shares[:, np.flatnonzero(kept)]
