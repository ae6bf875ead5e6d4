r"""Depths: answers that are alike but for their distance from the ends have one price.

Boxes and simplices of answers look alike everywhere but near their ends. Under a uniform prior
answers whose *depths* (:attr:`tightrope.graphs.AnswerGraph.depths`) are equal up to b share one
price here, and the multipliers of a guess stay in the *ball* of the answers at most R away from it.
Guesses whose depths are equal up to b + R have the same balls, prices and costs, so one of them
proves its inequality for all:

.. math:: c_k - \lambda \;\ge\; \sum_{i \to h} y_{ih} (e_h - \alpha e_i)
   \quad\text{on the ball},\qquad \lambda_i \le c_k(i) \quad\text{elsewhere}.

Both are a restriction of the dual program: its prices bound the loss of every private mechanism,
at a cost that does not grow with the number of answers. The program is solved by a primal-dual
interior-point method; a ball in node order has a narrow band. Where b reaches all depths, classes
are orbits, and the columns of the relaxed primal program, raised to private ones and balanced, are
a mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tightrope.channels import UnboundedNoise
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.columns import private_columns
from tightrope.optimize.orbits import expanded
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.solvers import finished, too_many
from tightrope.optimize.task import RoutePlan, Task
from tightrope.optimize.unbounded import unbounded_route, worst_case

#: Share of the loss of α^d beyond the balls, which sets their radius.
TAIL = 0.003
#: Depth from which prices are equal where they are not taken for each orbit.
PRICE_DEPTH = 6
#: Most multiplications of one step: balls times their answers times the square of their band.
STEP_WORK = 6e8
#: The same for prices by orbit, each of which is solved for on every ball that it is in.
ORBIT_WORK = 1.5e9
#: Smallest part of the radius that the tail asks for with which a bound is worth its time.
LEAST_RADIUS = 0.5
#: Most steps, and most seconds: staircases, cuts and covers come after it.
STEPS = 120
PATIENCE = 30.0
#: Relative gap of the restricted program at which to stop.
DEPTH_GAP = 2e-4
#: Part of the way to the border of the cone that a step takes.
TO_BORDER = 0.95


@dataclass(eq=False)
class Ball:
    r"""The answers around a guess, and what the method holds for it.

    Parameters
    ----------
    guess, copies
        The guess, and for how many it stands.
    nodes
        The answers, in node order.
    start, end
        The arcs inside, by the places of their answers.
    costs
        The loss of the guess at each answer.
    classes, member
        The classes of the answers, and for each answer which of these it is in.
    x, slack, y
        The column, :math:`x_h - \alpha x_i` on each arc, and the multipliers.
    """

    guess: int
    copies: int
    nodes: Ints
    start: Ints
    end: Ints
    costs: Floats
    classes: Ints
    member: Ints
    x: Floats
    slack: Floats
    y: Floats

    @property
    def band(self) -> int:
        """How far apart neighbours are in node order."""
        return int(np.abs(self.start - self.end).max(initial=0))

    def gather(self, flow: Floats, alpha: float) -> Floats:
        r"""Return :math:`\sum_{i \to h} y_{ih} (e_h - \alpha e_i)` at each answer."""
        size = len(self.nodes)
        into = np.bincount(self.end, flow, size)
        out = np.bincount(self.start, flow, size)
        return np.asarray(into - alpha * out)

    def along(self, column: Floats, alpha: float) -> Floats:
        r"""Return :math:`x_h - \alpha x_i` on each arc."""
        carried = alpha * column[self.start]
        return np.asarray(column[self.end] - carried)

    def class_sums(self, column: Floats) -> Floats:
        """Return the sums of a column over the classes of its answers."""
        sums = np.bincount(self.member, column, len(self.classes))
        return np.asarray(sums, np.float64)


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
    needed = _radius(noise, task.consumer.loss.name)
    radius = needed
    while _shared_work(noise, depths, radius) > STEP_WORK:
        radius -= 1
    if radius < max(2.0, LEAST_RADIUS * needed):
        return f"columns reach {needed} steps: too many answers for a ball"
    reason = f"the answers look alike but near the ends: columns up to {radius} away"
    return RoutePlan(reason, lambda: _solved(task, noise, depths, radius))


def _radius(noise: UnboundedNoise, loss: str) -> int:
    """Return the distance beyond which noise on the lattice has little of its loss."""
    power = {"binary": 0, "squared": 2}.get(loss, 1)
    layers = np.arange(len(noise.layers), dtype=float)
    lost = noise.layers * layers**power
    beyond = lost[::-1].cumsum()[::-1]
    return max(2, int(np.argmax(beyond <= TAIL * beyond[0])))


def _shared_work(noise: UnboundedNoise, depths: Ints, radius: int) -> float:
    """Return about how many multiplications a step takes with prices by depth."""
    _, coordinates, ends = depths.shape
    # The last number of a root lattice follows from the others.
    follows = noise.lattice.form == "roots" and ends == 1
    free = coordinates - follows
    guesses = math.comb(ends * (PRICE_DEPTH + radius) + free, free)
    return _work(noise, radius, guesses, math.comb(PRICE_DEPTH + free, free))


def _work(noise: UnboundedNoise, radius: int, guesses: int, classes: int) -> float:
    """Return about how many multiplications a step takes: factors, and a solve for each class."""
    ball = sum(noise.lattice.layers(radius + 1))
    # Neighbours are a slice of the ball apart.
    band = ball / (2 * radius + 1) + 2
    return float(guesses * ball * band * (band + classes))


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


def _solved(task: Task, noise: UnboundedNoise, depths: Ints, radius: int) -> Design:
    """Return prices by depth, with columns for each orbit where these are few."""
    deepest = int(depths.max())
    shared = _InteriorPoint(task, depths, PRICE_DEPTH, PRICE_DEPTH + radius, radius)
    prices = shared.solve()
    group = task.symmetries
    guesses = len(_classes(depths, deepest)[1])
    work = _work(noise, radius, guesses, guesses)
    if group is None or group.orbit_count != guesses or work > ORBIT_WORK:
        return _held_between_ends(task, prices)
    # Prices for each orbit come with columns whose rows sum to 1, but for what is outside balls.
    by_orbit = _InteriorPoint(task, depths, deepest, deepest, radius)
    prices = max(prices, by_orbit.solve(), key=np.sum)
    columns = private_columns(task.on_orbits, by_orbit.columns(), task.watch)
    return finished(
        task,
        expanded(columns, group),
        task.objective.first,
        prices,
        proved=True,
        stopped=task.watch.over,
    )


def _held_between_ends(task: Task, prices: Floats) -> Design:
    """Return the noise of the unbounded question with the bound of these prices."""
    plan = unbounded_route(worst_case(task))
    assert isinstance(plan, RoutePlan)
    design = plan.solve()
    bound = min(float(prices.sum()), design.expected_loss)
    if bound <= design.bound:
        return design
    proof = Certificate(task.graph, task.epsilon, task.consumer, prices)
    return replace(design, certificate=proof, bound=bound, stopped=task.watch.over)


class _InteriorPoint:
    r"""The restricted program, with losses as costs: prices are those of one answer each.

    With :math:`s = Ax` for the slacks of a ball, H = A' diag(y/s) A and P for the sums over
    classes, a Newton step solves :math:`(\sum_k P H_k^{-1} P') \Delta\lambda = r` and then for
    each ball :math:`H \Delta x = P' \Delta\lambda + f`.
    """

    def __init__(
        self, task: Task, depths: Ints, price_depth: int, guess_depth: int, radius: int
    ) -> None:
        self.task = task
        self.alpha = task.alpha
        self.classes, _, sizes = _classes(depths, price_depth)
        self.sizes = sizes.astype(float)
        self.prices = np.zeros(len(sizes))
        #: No price is above what a guess costs outside its ball.
        self.most = math.inf
        self.balls: list[Ball] = []
        _, guesses, copies = _classes(depths, guess_depth)
        self._near: dict[int, Ints] = {}
        for guess, count in zip(guesses.tolist(), copies.tolist(), strict=True):
            if task.watch.heartbeat():
                raise Stopped
            self.balls.append(self._ball(guess, count, radius))
        self._start()

    def _ball(self, guess: int, copies: int, radius: int) -> Ball:
        graph = self.task.graph
        away = graph.distances_from(guess)
        lost = self.task.consumer.loss.column(guess)
        is_near = away <= radius
        beyond = lost[~is_near].min(initial=math.inf)
        self.most = min(self.most, float(beyond))
        nodes = np.flatnonzero(is_near)
        start = []
        end = []
        for place, node in enumerate(nodes.tolist()):
            if node not in self._near:
                self._near[node] = graph.neighbours(node)
            near = self._near[node]
            near = np.searchsorted(nodes, near[is_near[near]])
            start.append(np.full(len(near), place))
            end.append(near)
        classes, member = np.unique(self.classes[nodes], return_inverse=True)
        # Strictly private: half as steep as columns may be.
        column = self.alpha ** (0.5 * away[nodes])
        none = np.zeros(0)
        return Ball(
            guess, copies, nodes, np.concatenate(start), np.concatenate(end), lost[nodes],
            classes, member.ravel(), column, none, none,
        )  # fmt: skip

    def _start(self) -> None:
        """Scale the columns so that classes have about the right sums; y·s is the same on all."""
        scale = float((self.sizes / self._sums()).mean())
        for ball in self.balls:
            ball.x *= scale
        centre = 0.1 * scale * self.loss
        for ball in self.balls:
            ball.slack = ball.along(ball.x, self.alpha)
            ball.y = centre / ball.slack

    def _sums(self) -> Floats:
        sums = np.zeros(len(self.sizes))
        for ball in self.balls:
            sums[ball.classes] += ball.copies * ball.class_sums(ball.x)
        return sums

    @property
    def loss(self) -> float:
        """The mean loss of the columns."""
        losses = (ball.copies * float(ball.costs @ ball.x) for ball in self.balls)
        total = sum(losses)
        return total / self.task.graph.size

    def columns(self) -> dict[int, Floats]:
        """Return the columns over all answers; they vanish outside their balls."""
        full = {}
        for ball in self.balls:
            full[ball.guess] = np.zeros(self.task.graph.size)
            full[ball.guess][ball.nodes] = ball.x
        return full

    def solve(self) -> Floats:
        """Return the best prices that are proved, for every answer."""
        watch = self.task.watch
        began = watch.seconds
        best = np.zeros(len(self.sizes))
        centring = 0.3
        for number in range(STEPS):
            if watch.say(f"pricing by depth, step {number + 1}"):
                break
            try:
                length = self._step(centring)
            except np.linalg.LinAlgError:
                # The residual is dominated by round-off.
                break
            best = max(best, self._proved(), key=self.sizes.dot)
            bound = float(self.sizes @ best) / self.task.graph.size
            ratios = self._sums() / self.sizes
            off = float(np.abs(ratios - 1).max())
            is_close = self.loss - bound <= DEPTH_GAP * bound and off <= DEPTH_GAP
            patience = min(PATIENCE, 0.5 * watch.left)
            if is_close or watch.seconds - began > patience:
                break
            # After a short step the next one returns to the central path first.
            centring = min(0.8, max(0.05, (1 - length) ** 2))
        return best[self.classes] / self.task.graph.size

    def _proved(self) -> Floats:
        """Return the prices, lowered by what the multipliers of some guess lack."""
        short = np.zeros(len(self.prices))
        for ball in self.balls:
            left = ball.costs - ball.gather(ball.y, self.alpha)
            left -= self.prices[ball.classes][ball.member]
            np.maximum.at(short, ball.classes[ball.member], -left)
        return np.minimum(self.prices - short, self.most)

    def _step(self, centring: float) -> float:
        """Take a Newton step; return the part of it that stays inside the cones."""
        from scipy.linalg import cho_solve_banded, cholesky_banded

        arcs = sum(ball.copies * len(ball.y) for ball in self.balls)
        products = (ball.copies * float(ball.slack @ ball.y) for ball in self.balls)
        product = sum(products)
        target = centring * product / arcs
        matrix = np.zeros((len(self.sizes),) * 2)
        lack = self.sizes - self._sums()
        moves = []
        for ball in self.balls:
            factor = cholesky_banded(self._normal(ball), lower=True, check_finite=False)
            # f = A'(target/s - y) - (c - λ - A'y): what the move of the column has to make up for.
            missing = ball.gather(target / ball.slack, self.alpha) - ball.costs
            missing += self.prices[ball.classes][ball.member]
            class_count = len(ball.classes)
            shares = np.zeros((len(ball.nodes), class_count + 1))
            shares[np.arange(len(ball.nodes)), ball.member] = 1.0
            shares[:, -1] = missing
            moved = cho_solve_banded((factor, True), shares, check_finite=False)
            moved_sums = ball.class_sums(moved[:, -1])
            lack[ball.classes] -= ball.copies * moved_sums
            summed = shares[:, :-1].T @ moved[:, :-1]
            matrix[np.ix_(ball.classes, ball.classes)] += ball.copies * summed
            moves.append(moved)
        change = np.asarray(np.linalg.solve(matrix, lack), np.float64)
        return self._move(change, moves, target)

    def _normal(self, ball: Ball) -> Floats:
        """Return H = A' diag(y/s) A in banded form, below the diagonal."""
        weight = ball.y / ball.slack
        size = len(ball.nodes)
        high = np.maximum(ball.start, ball.end)
        low = np.minimum(ball.start, ball.end)
        below = high - low
        # Both directions of an edge add to the same entry.
        place = np.concatenate(
            [ball.end, ball.start, below * size + np.minimum(ball.start, ball.end)]
        )
        parts = [weight, self.alpha**2 * weight, -self.alpha * weight]
        value = np.concatenate(parts)
        entries = np.bincount(place, value, (ball.band + 1) * size)
        return np.asarray(entries.reshape(ball.band + 1, size), np.float64)

    def _move(self, change: Floats, moves: list[Floats], target: float) -> float:
        """Move prices, columns and multipliers; columns and multipliers by a length each."""
        steps = []
        primal = 1.0
        dual = 1.0
        for ball, moved in zip(self.balls, moves, strict=True):
            by_class = moved[:, :-1] @ change[ball.classes]
            column = moved[:, -1] + by_class
            slack = ball.along(column, self.alpha)
            wanted = (target - ball.y * slack) / ball.slack
            y = wanted - ball.y
            primal = min(primal, _length(ball.slack, slack))
            dual = min(dual, _length(ball.y, y))
            steps.append((column, slack, y))
        self.prices = self.prices + dual * change
        for ball, (column, slack, y) in zip(self.balls, steps, strict=True):
            ball.x += primal * column
            ball.slack += primal * slack
            ball.y += dual * y
        return min(primal, dual)


def _length(values: Floats, step: Floats) -> float:
    """Return how much of a step keeps values positive, at most 1."""
    falls = step < 0
    steps_to_border = -values[falls] / step[falls]
    limit = steps_to_border.min(initial=math.inf)
    return min(1.0, TO_BORDER * float(limit))
