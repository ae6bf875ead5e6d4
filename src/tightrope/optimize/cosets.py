r"""Cosets: every s-th answer of a line proves a bound, and carries a mechanism, for all of them.

Neighbours on the line differ by at most v. The answers whose remainder modulo v is j modulo s are
the j-th *coset*: between an answer and the one v further there are always :math:`q_j` of them, so
that distances within a coset are those of a line on which neighbours differ by at most
:math:`q_j`. Two facts follow.

*Bound.* A private column is private on each coset, so prices that are dual feasible on each coset
with its own guesses are dual feasible, provided that no guess outside a coset is better there than
all guesses in it. An absolute loss is linear between two answers of a coset, so that a mean of
their losses is no larger; a squared one is below that mean by at most :math:`s^2/4`. A guess
between two answers of a coset is as far from those below it as the upper one, and no nearer to the
others: by distance it is no better than that one.

*Mechanism.* To count each answer as the answer of one coset at or below it (or s/2 above) moves no
two answers further apart, so it may precede any mechanism for the coset.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tightrope.channels import Channel, GeometricChannel
from tightrope.consumers import Consumer, Prior, best_remap
from tightrope.consumers.evaluate import line_remap
from tightrope.errors import CheckFailed, TooLarge
from tightrope.graphs import PathPower
from tightrope.graphs.lines import Coset, cosets_of, width_of_line
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.closed_forms import guessed, line_prices
from tightrope.optimize.columns import private_columns
from tightrope.optimize.engine import run_engine
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.staircases import proved_prices, solve_staircases
from tightrope.optimize.task import RoutePlan, Task

#: Part of the loss that the first round may neglect, about: half of what is asked of the middle.
FIRST_ERROR = 4e-3
#: Most answers of a coset in the first round.
MOST_ANSWERS = 600
#: How much longer a round takes with half the stride, measured.
GROWTH = 4.0
#: Most seconds for a further round, as expected: staircases and the engine come after it.
PATIENCE = 30.0
#: Gap to which cosets are solved, and the largest that is left to the engine.
COSET_GAP = 1e-6
COSET_CLOSE = 1e-4
#: Answers towards the ends that count less, beside the one that counts most, have the price 0:
#: where the prior of sum(975,88) is 1e-10 of its largest value the simplex method gives up.
NEGLIGIBLE = 1e-7
#: Most entries of a mechanism that is listed.
MECHANISM_ENTRIES = 20_000_000


def cosets_route(task: Task) -> RoutePlan | str:
    """Design on every s-th answer of a wide line, with s halved as long as time allows.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("median(4,3000)").graph, 1, prior="uniform", loss="absolute")
    >>> cosets_route(task).reason
    'neighbours differ by up to 3000: every 131-th answer, then more'
    """
    graph = task.graph
    consumer = task.consumer
    width = width_of_line(graph)
    if width is None or graph.has_lengths:
        return f"{graph.name} is not a power of a path"
    if consumer.risk_averse:
        return "cosets are for a consumer with a prior"
    loss = consumer.loss
    if loss.is_binary or not (loss.step_rule or loss.follows_graph):
        return "cosets are for an absolute, a squared or a distance loss on even steps"
    if graph.size * width <= task.settings.staircase_entries:
        return (
            f"{graph.size} answers with neighbours up to {width} apart need no cosets"
        )
    # The coarser of two limits: steps per edge and answers of a coset. With one step the cosets
    # are paths, of which there may be any number of answers.
    steps = _first_steps(task, width)
    wanted = -(-width // steps)
    needed = max(wanted, -(-graph.size // MOST_ANSWERS))
    stride = min(width, needed)
    # Far coarser cosets than wanted prove little: sum(100000,5) had a gap of 12 %, and stretched
    # ends have 1 %.
    is_large = graph.size**2 > stride * MECHANISM_ENTRIES
    too_coarse = stride > 2 * wanted or is_large
    if stride < 2 or too_coarse:
        return f"neighbours up to {width} apart are too near for cosets of {graph.size} answers"
    reason = f"neighbours differ by up to {width}: every {stride}-th answer, then more"
    return RoutePlan(reason, lambda: _from_coarse_to_fine(task, width, stride))


def _first_steps(task: Task, width: int) -> int:
    """Return so many steps of a coset between neighbours that little of the loss is neglected.

    Noise of scale v/ε, or an eighth of all answers where that is less, has with q steps a loss
    that is lower by about (r/q)²/8 of itself, with r = v over that scale; a squared one by twice
    as much. Distances are rounded up, which adds 1/2 of a step, and 1/2q less of them.
    """
    fineness = max(float(task.epsilon), 8 * width / task.graph.size)
    rule = task.consumer.loss.step_rule
    if rule is None:
        return math.ceil(fineness / (2 * FIRST_ERROR))
    bends = rule[0] * fineness
    return math.ceil(bends / math.sqrt(8 * FIRST_ERROR))


def _from_coarse_to_fine(task: Task, width: int, stride: int) -> Design:
    """Return the best mechanism and the best bound of all rounds; a round halves the stride."""
    size = task.graph.size
    watch = task.watch
    began = watch.seconds
    best = _with_stride(task, width, stride)
    while stride > 1 and not best.certified:
        # Half the stride takes so much longer, and lists a mechanism twice as large.
        seconds = GROWTH * (watch.seconds - began)
        stride = -(-stride // 2)
        large = size * size > stride * MECHANISM_ENTRIES
        if large or seconds > min(0.4 * watch.left, PATIENCE):
            break
        began = watch.seconds
        try:
            finer = _with_stride(task, width, stride)
        except KeyboardInterrupt:
            return replace(best, stopped=True)
        except (CheckFailed, TooLarge):
            break  # a solve that fails takes nothing away from the rounds before it
        least = min(best, finer, key=lambda design: design.expected_loss)
        best = least.proved_by(max(best, finer, key=lambda design: design.bound))
    return best


def _with_stride(task: Task, width: int, stride: int) -> Design:
    """Return a mechanism for one coset, extended to all answers, and the prices of all cosets."""
    parts = cosets_of(task.graph.size, width, stride)
    noise = _mechanism(task, parts[len(parts) // 2], stride)
    remap = best_remap(noise, task.consumer)
    prices = _prices(task, parts, stride)
    loss = float(remap.expected_loss)
    return task.answered(
        loss=loss,
        bound=min(float(prices.sum()), loss),
        channel=guessed(task, noise, np.asarray(remap.guess)),
        certificate=Certificate(
            task.graph, task.epsilon, task.consumer, prices, stride=stride
        ),
    )


def _mechanism(task: Task, coset: Coset, stride: int) -> Channel:
    """Return the best mechanism where each answer counts as the nearest of a coset."""
    size = task.graph.size
    count = len(coset.answers)
    task.watch.say(f"solving for every {stride}-th answer")
    # At or below an answer that is s/2 higher: x ↦ place(x) grows by q when x grows by v.
    highest = np.arange(size) + stride // 2
    last = np.searchsorted(coset.answers, highest, side="right")
    place = np.clip(last - 1, 0, count - 1)
    if coset.steps == 1:
        # On a path geometric noise is the best for every prior.
        noise = GeometricChannel(count, task.epsilon).matrix()
        return Channel(noise[place], inputs=task.graph.labels)
    costs = np.zeros((count, count))
    # Answers that count as the same answer of the coset add up their costs.
    np.add.at(costs, place, _costs(task, np.arange(size), coset.answers))
    prior = np.bincount(place, task.prior, count).astype(float)
    columns, _ = _solved(task, Problem(coset.graph, task.epsilon, costs), prior)
    listed = np.array([columns[k] for k in sorted(columns)])
    return Channel(listed[:, place].T, inputs=task.graph.labels)


def _prices(task: Task, parts: list[Coset], stride: int) -> Floats:
    """Return prices that are dual feasible on each coset."""
    prior = task.prior
    prices = np.zeros(task.graph.size)
    power, step = task.consumer.loss.step_rule or (1, 1)
    # A guess between two answers of a coset: (k - k')·(k'' - k) <= s²/4.
    between = float(stride**2 // 4 * step) if power == 2 else 0.0
    known: dict[bytes | int, Floats] = {}
    for number, coset in enumerate(parts):
        if task.watch.say(
            f"proving a bound on coset {number + 1} of {len(parts)} of every {stride}-th answer"
        ):
            raise Stopped
        # Under a uniform prior cosets are alike that have the same distances between answers.
        uniform = task.consumer.prior.is_uniform
        key = np.diff(coset.answers).tobytes() if uniform else number
        if key not in known:
            own = prior[coset.answers]
            known[key] = _coset_prices(task, coset, stride) - between * own
        prices[coset.answers] = known[key]
    return prices


def _coset_prices(task: Task, coset: Coset, stride: int) -> Floats:
    """Return prices that are dual feasible on a coset with its own guesses."""
    own = task.prior[coset.answers]
    mass = float(own.sum())
    if coset.steps == 1 and mass > 0:
        path = PathPower(len(own), step=task.graph.step * stride)
        consumer = Consumer.of(
            path, prior=Prior(own / mass), loss=task.consumer.loss.name
        )
        remap = line_remap(consumer, task.alpha)
        assert remap is not None
        return mass * line_prices(remap.values, task.alpha)
    costs = _costs(task, coset.answers, coset.answers)
    return _solved(task, Problem(coset.graph, task.epsilon, costs), own)[1]


def _costs(task: Task, answers: Ints, guesses: Ints) -> Floats:
    r"""Return :math:`\pi_i\,\ell(i,k)` for some answers and guesses."""
    away = np.abs(np.subtract.outer(answers, guesses))
    rule = task.consumer.loss.step_rule
    if rule is None:
        width = width_of_line(task.graph)
        assert width is not None
        losses = -(-away // width).astype(float)
    else:
        powers = away.astype(float) ** rule[0]
        losses = powers * float(rule[1])
    return np.asarray(task.prior[answers][:, None] * losses)


def _solved(
    task: Task, problem: Problem, prior: Floats
) -> tuple[dict[int, Floats], Floats]:
    """Return columns and proved prices: of staircases where they are best, else of the engine."""
    graph = problem.graph
    if graph.size == 1:
        return {0: np.ones(1)}, problem.costs.min(axis=1)
    width = graph.power
    assert width is not None
    stairs = solve_staircases(
        problem.costs,
        width,
        task.alpha,
        prior,
        gap=COSET_GAP,
        watch=task.watch,
        negligible=NEGLIGIBLE,
    )
    columns = private_columns(problem, stairs.columns, task.watch)
    losses = (float(problem.costs[:, k] @ x) for k, x in columns.items())
    loss = sum(losses)
    # Staircases that are proved to be close need no engine; they are proved by sums alone, or by
    # minimum cuts where columns of another shape are cheaper.
    prices = proved_prices(
        problem.costs, stairs.prices, width, task.alpha, watch=task.watch
    )
    if prices.sum() < (1 - COSET_CLOSE) * loss:
        pricer = Pricer(problem, task.watch)
        prices = price(problem, pricer, stairs.prices, problem.guesses).prices
    if prices.sum() >= (1 - COSET_CLOSE) * loss:
        return columns, prices
    reached = run_engine(
        problem,
        gap=COSET_GAP,
        progress=task.watch,
        start=stairs.faces(problem, width),
        settings=task.settings,
    )
    if reached.stopped:
        raise Stopped
    return reached.columns, reached.prices
