"""Routes for answers on a line: staircases, and windows.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tightrope.channels import ClampedChannel, UnboundedNoise
from tightrope.consumers import Consumer, Prior
from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph, PathPower
from tightrope.optimize.certificate import StretchedCertificate
from tightrope.optimize.closed_forms import geometric_route
from tightrope.optimize.columns import private_columns
from tightrope.optimize.interior import interior_effort
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Problem
from tightrope.optimize.result import Design
from tightrope.optimize.solvers import finished, rays_route, too_many
from tightrope.optimize.staircases import (
    StaircaseResult,
    end_prices,
    proved_prices,
    solve_staircases,
)
from tightrope.optimize.task import Plan, Task
from tightrope.optimize.unbounded import best_noise


def staircases_route(task: Task) -> Plan | str:
    """Column generation over staircases, on a power of a path.

    Where edges are missing at its end, as when nobody can join a full table, staircases are private
    as well, and pricing says how far from the best they are.

    >>> task = Task.of(PathPower(51, 5), 1, prior="uniform", loss="absolute")
    >>> found = staircases_route(task).solve()
    >>> round(found.expected_loss, 6), found.certified
    (4.10191, True)
    """
    graph, consumer = task.graph, task.consumer
    width = _width(graph)
    long = graph.size * (width or 0) > task.settings.staircase_entries
    if width is None or graph.has_lengths or (long and graph.power is None):
        return f"{graph.name} is not a power of a path"
    if consumer.risk_averse:
        return "staircases are for a consumer with a prior"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    if refused := too_many(task):
        return refused
    reason = "on a power of a path columns are staircases: one program over their cores"

    def solve() -> Design:
        costs, gap = task.problem.costs, task.gap
        rough = _coarse(task, width) if long else None
        task.watch.say("searching for staircases")
        try:
            found = solve_staircases(
                costs, width, task.alpha, task.prior, gap=gap, watch=task.watch
            )
        except KeyboardInterrupt:
            if rough is None:
                raise
            found = rough
        prices, stopped = found.prices, task.watch.over
        # Prices far from the best take minimum cuts long, and prove little.
        quick = long or stopped
        if quick and found is not rough:
            task.watch.say("proving the prices by staircases")
            prices = proved_prices(costs, prices, width, task.alpha)
        if rough is not None and rough.prices.sum() > prices.sum():
            prices = rough.prices
        design = finished(
            task,
            private_columns(task.problem, found.columns),
            task.objective.first,
            prices,
            proved=quick,
            rounds=found.rounds,
            stopped=stopped,
        )
        # The next route starts from them; on long lines there is none, and edges are many.
        over = design.certified or long
        return design if over else replace(design, faces=found.faces(task.problem, width))

    return Plan(reason, solve)


def _coarse(task: Task, width: int, least: int = 4) -> StaircaseResult | None:
    r"""Solve for every s-th answer: prices for all of them, and a mechanism for the s-th.

    A private column is private on every s-th answer, for steps of v/s, and for a loss that is
    absolute or binary the best guess is one of them; for a squared one it loses at most
    :math:`s^2/4` to the best number. So the prices of all s rows together are proved. Answers
    that count as the first of their s are no further apart than before.
    """
    name, size, most = task.consumer.loss.name, task.graph.size, task.settings.staircase_entries
    fits = [
        s for s in range(2, width // least + 1) if not width % s and size * width <= most * s * s
    ]
    if not fits or name not in ("absolute", "squared", "binary"):
        return None
    stride, costs, prior = fits[0], task.problem.costs, task.prior
    prices, known = np.zeros(size), {}
    off = stride**2 / 4 * float(task.consumer.loss.column(0)[1]) if name == "squared" else 0.0
    for first in range(stride):
        task.watch.say(f"solving for every {stride}-th answer")
        row = np.arange(first, size, stride)
        # Under a uniform prior all rows of one length are alike.
        key = len(row) if task.consumer.prior.is_uniform else first
        if key not in known:
            problem = Problem(
                PathPower(len(row), width // stride), task.epsilon, costs[np.ix_(row, row)].copy()
            )
            found = solve_staircases(
                problem.costs, width // stride, task.alpha, prior[row], gap=task.gap
            )
            proved = price(problem, Pricer(problem), found.prices, problem.guesses)
            known[key] = replace(found, prices=proved.prices - off * prior[row])
        prices[row] = known[key].prices
    place = np.arange(size) // stride
    middle = next(iter(known.values()))  # of the answers from the first on
    columns = {
        min(k * stride + stride // 2, size - 1): x[np.minimum(place, len(x) - 1)]
        for k, x in middle.columns.items()
    }
    return StaircaseResult(columns, prices, middle.value, middle.rounds)


def _by_distance(task: Task) -> bool:
    loss = task.consumer.loss
    return loss.is_binary or loss.step_rule is not None or loss.name == "distance"


def window_route(task: Task, seconds: float = 30.0) -> Plan | str:
    """Design on the window that holds the prior; answers outside count as the nearest inside.

    Clamping moves no two answers further apart, so it may stand before any mechanism. A private
    column restricted to the window is private there, and guesses outside it cost no less than the
    nearest inside: what bounds the loss on the window bounds it on all answers. Where columns are
    no staircases the engine takes over, of many answers if it takes no more than about so many
    seconds.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("sum(500,3)").graph, 1, prior="binomial(.2)", loss="absolute")
    >>> plan = window_route(task)
    >>> plan.reason
    'the prior lies in 273 of 1501 answers: the others count as the nearest of them'
    """
    graph, consumer = task.graph, task.consumer
    if consumer.risk_averse or not graph.is_line or graph.has_lengths:
        return "a window is for answers on a line and a consumer with a prior"
    if graph.size <= task.settings.window_least:
        return f"{graph.size} answers need no window"
    if consumer.prior.is_uniform:
        return "a uniform prior has no window"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    try:
        start, prior = consumer.prior.window
    except TooLarge as refused:
        return str(refused)
    inner = windowed(task, start, prior)
    if len(prior) > graph.size // 2:
        return f"the prior lies in {len(prior)} of {graph.size} answers, no small window"
    if inner is None:
        return "the window reaches answers between which edges are missing"
    if len(prior) > task.settings.proof_line:
        return f"a proof for the {len(prior)} answers of the window would be too long"
    plan = (geometric_route if inner.graph.power == 1 else staircases_route)(inner)
    if isinstance(plan, str):
        return f"in the window of {len(prior)} answers {plan}"
    reason = (
        f"the prior lies in {len(prior)} of {graph.size} answers: "
        "the others count as the nearest of them"
    )

    def solve() -> Design:
        found = plan.solve()
        # Of many answers rounding is left alone: the engine is for columns that are no staircases.
        many = graph.size > task.settings.window_answers
        rough = found.gap > (max(task.gap, 1e-6) if many else task.gap) and not found.stopped
        if rough and not (many and interior_effort(inner.problem, inner.problem.guesses) > seconds):
            engine = rays_route(inner)
            assert isinstance(engine, Plan)
            other = engine.solve()
            # Where the prior is next to nothing, staircases make the better guesses.
            wide = many and len(prior) > task.settings.window_least
            best = found if wide else min(found, other, key=lambda one: one.expected_loss)
            found = best.proved_by(max(found, other, key=lambda one: one.bound))
        channel = ClampedChannel(found.channel, graph.size, start, graph.label)
        return replace(
            found,
            graph=graph,
            consumers=(consumer,),
            channel=channel,
            general=channel,
            guess=None,
            inner=found,
            start=start,
            faces=None,
        )

    return Plan(reason, solve)


def stretched_route(task: Task) -> Plan | str:
    """Noise on the line without ends, guesses near the ends, and prices for both ends.

    Under a uniform prior prices, columns and their proofs are two ends of fixed length and a
    middle that repeats. Noise with the best guesses near the ends is almost the best mechanism.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("sum(1000000,5)").graph, 1, prior="uniform", loss="absolute")
    >>> found = stretched_route(task).solve()
    >>> round(found.expected_loss, 6), found.gap < 1e-6
    (4.786277, True)
    """
    graph, consumer = task.graph, task.consumer
    lattice = graph.unbounded
    if lattice is None or lattice.form != "line":
        return f"{graph.name} is no part of a line that looks alike everywhere"
    if consumer.risk_averse:
        return "stretched ends are for a consumer with a prior"
    power = {"absolute": 1, "squared": 2, "binary": 0}.get(consumer.loss.name)
    if power is None:
        return f"the {consumer.loss.name} loss is not absolute, squared or binary"
    whole = graph.size - (lattice.width if lattice.ends else 0)
    reason = "under a uniform prior all is alike but at the ends: noise, and prices for both ends"
    heights = None
    if not consumer.prior.is_uniform:
        try:
            start, inside = consumer.prior.window
        except TooLarge as refused:
            return str(refused)
        if start + len(inside) > whole:
            return "the prior reaches answers between which edges are missing"
        if consumer.prior.named is None and len(inside) > task.settings.listed_prior:
            return f"a prior of {len(inside)} answers is too long for a file"
        heights = _highest(inside)
        reason = (
            "a prior is a mixture of uniform ones on intervals: noise, and prices for their ends"
        )
    noise = best_noise(graph, task.epsilon, consumer.loss.name)
    stride = _stride(lattice.width, float(task.epsilon), task.settings.stretched_width)
    step = float(task.epsilon)
    wide = lattice.width // stride * stride
    # Two ends, and whole staircases on both sides of a guess in the middle between them: an
    # interval without room for that proves nothing.
    if heights is None:
        wanted = np.ceil([14 / step + 4, 10 / step + 2, 24 / step + 1])
        wanted *= min(1.0, (whole - 5 * stride) / (2 * wanted.sum() * wide))
    else:
        # Measured on sum(100000,5): layers up to t/ε lose about 6·exp(-0.8t) of the bound.
        t = np.linspace(3, 24, 43)
        shares = np.array([0.75, 0.1, 1.0]) / step
        places = np.minimum(2 * wide * shares.sum() * t, len(heights) - 1).astype(int)
        lost = np.cumsum(heights)[places] - places * heights[places] + 6 * np.exp(-0.8 * t)
        lost += 1 - heights.sum()  # a prior that rises and falls often has little in intervals
        if lost.min() > 0.25:
            return "the prior is too narrow beside the noise, or rises and falls too often"
        wanted = np.ceil(shares * t[np.argmin(lost)])
    deep, spare, layers = (int(x) for x in wanted)
    if layers * step < 5:
        return f"the ends leave no middle of {graph.size} answers"
    depths = deep, spare, layers
    return Plan(reason, lambda: _stretched(task, noise, stride, power, depths, heights))


def _highest(inside: np.ndarray) -> np.ndarray:
    """Return a prior's values from the largest on, lowered until it rises once and falls once."""
    peak = int(inside.argmax())
    sides = np.minimum.accumulate(inside[peak::-1]), np.minimum.accumulate(inside[peak:])
    return np.sort(np.concatenate([sides[0], sides[1][1:]]))[::-1]


def _stride(width: int, epsilon: float, most: int, lost: float = 1e-4) -> int:
    """Return how far apart answers may be whose prices are proved: little is lost by it.

    Of ``v`` that is its rest by division, and about 1/12 of a squared step beside the noise.

    >>> _stride(5, 1.0, 80), _stride(120, 1.0, 80), _stride(3, 0.05, 80)
    (1, 4, 1)
    """
    widest = max(1, int(most * min(1.0, epsilon)))
    worth = {
        s: (width % s) / width + (s / width * min(1.0, epsilon)) ** 2 / 12
        for s in range(-(-width // widest), min(width, 4 * most) + 1)
    } or {-(-width // widest): 0.0}
    cheap = [s for s, value in worth.items() if value <= lost]
    return max(cheap) if cheap else min(worth, key=lambda s: worth[s])


def _stretched(
    task: Task,
    noise: UnboundedNoise,
    stride: int,
    power: int,
    depths: tuple[int, int, int],
    heights: np.ndarray | None,
) -> Design:
    graph, name, lattice = task.graph, task.consumer.loss.name, noise.lattice
    size, width = graph.size, lattice.width // stride

    def loss(far: np.ndarray) -> np.ndarray:
        return np.asarray(far, float) ** power if power else np.minimum(far, 1.0)

    task.watch.say("solving a short line for its ends")
    coarse = best_noise(PathPower(width * 4, width), task.epsilon, name)
    middle = coarse.expected(name)
    prices, cores = end_prices(loss, width, task.alpha, coarse.core, middle, depths)
    layers, even = depths[2], float(prices[-1]) - (0.25 if stride > 1 and power == 2 else 0.0)
    # What both ends add to the sum of all prices, all being the last one else.
    lost = 2 * stride * float((prices - prices[-1]).sum())
    least = (2 * len(prices) + 2 * layers * width + 2) * stride
    if heights is None:
        mass, high = (size - (lattice.width if lattice.ends else 0)) / size, 1 / size
    else:
        least = min(max(least, math.ceil(-lost / even)), len(heights))
        high = float(heights[least - 1])
        mass = least * high + float(heights[least:].sum())
    bound = even * mass + lost * high
    unit = float(lattice.step) ** power
    guess, value = None, noise.expected(name)
    if heights is None and lattice.width <= task.settings.stretched_width * 4:
        listed = min(size // 2, 8 * lattice.width, len(prices))
        guess, value = _end_guesses(noise, loss, power, listed)
        value *= unit
    return task.answered(
        loss=value,
        bound=min(max(bound, 0.0) * (stride**power) * unit, value),
        channel=noise,
        certificate=StretchedCertificate(prices, cores, layers, stride),
        guess=guess,
        # For a prior of one's own the noise is the same as for the worst answer.
        unbounded_bound=None if heights is None else value,
    )


def _end_guesses(
    noise: UnboundedNoise, loss: Any, power: int, ends: int, together: int = 1 << 21
) -> tuple[np.ndarray, float]:
    """Return the best guesses for the first outputs, and the loss with them at both ends."""
    lattice, core, size = noise.lattice, noise.core, noise.shape[0]
    far = core + (len(noise.layers) - 1) * lattice.width
    away = np.arange(-far - ends, far + ends + 1)
    each = noise.layers / np.array(lattice.layers(len(noise.layers), core), float)
    layer = -(-np.maximum(np.abs(away) - core, 0) // lattice.width)
    chance = np.where(np.abs(away) <= far, each[np.minimum(layer, len(each) - 1)], 0.0)
    reach = min(size, ends + far)
    answers = np.arange(reach)
    guess, lost = np.zeros(ends, np.int64), 0.0
    step = max(1, together // reach)
    # What falls below 0 is moved to output 0: all chances of noise from -x on downwards.
    below = np.cumsum(chance)[far + ends - answers]
    for o in np.split(np.arange(ends), range(step, ends, step)):
        seen = chance[answers - o[:, None] + far + ends]
        if o[0] == 0:
            seen[0] = below
        sums = np.cumsum(seen, axis=1)
        if power == 1:
            guess[o] = (sums >= sums[:, -1:] / 2).argmax(axis=1)
        elif power == 2:
            guess[o] = np.rint(seen @ answers / sums[:, -1])
        else:
            guess[o] = seen.argmax(axis=1)
        lost += float((seen * loss(np.abs(answers - guess[o][:, None]))).sum())
    rest = size - 2 * ends
    every = float(chance @ loss(np.abs(away)))
    # Outputs further in are guessed as they are, but lose what they cannot reach beyond the end.
    outer = np.cumsum((chance * loss(np.abs(away)))[: far + ends + 1])
    missing = sum(float(outer[far + ends - o - 1]) for o in range(ends, min(far, size - ends)))
    return guess, (2 * lost + rest * every - 2 * missing) / size


def windowed(task: Task, start: int, prior: np.ndarray) -> Task | None:
    """Return the task on a window, or nothing where it is no power of a path."""
    graph, size = task.graph, len(prior)
    whole = _whole_up_to(graph)
    if start + size > whole + 1:
        return None
    width = _width(graph)
    assert width is not None
    inner = PathPower(
        size,
        max(1, min(width, size - 1)),
        name=f"{graph.name} from {start} to {start + size - 1}",
        start=graph.start + start * graph.step,
        step=graph.step,
    )
    known = Prior(prior)
    known.named = task.consumer.prior.named
    consumer = Consumer.of(inner, prior=known, loss=task.consumer.loss.name)
    return replace(task, graph=inner, consumer=consumer, faces=None)


def _width(graph: AnswerGraph) -> int | None:
    """Return how far apart neighbours are on a line, whose end may lack edges."""
    return graph.width if isinstance(graph, PathPower) else graph.power


def _whole_up_to(graph: AnswerGraph) -> int:
    """Return the last answer up to which all edges of the power of a path are there."""
    if graph.power is not None:
        return graph.size - 1
    return int(getattr(graph, "cap", -1)) if graph.size > 1 << 12 else -1
