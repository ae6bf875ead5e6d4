r"""Cosets: every s-th answer of a line proves a bound, and carries a mechanism, for all of them.

Neighbours on the line differ by at most v. The answers whose remainder modulo v is j modulo s are
the j-th *coset*: between an answer and the one v further there are always :math:`q_j` of them, so
that distances within a coset are those of a line on which neighbours differ by at most
:math:`q_j`. Two facts follow.

*Bound.* A private column is private on each coset, so prices that are dual feasible on each coset
with its own guesses are dual feasible, provided that no guess outside a coset is better there than
all guesses in it. An absolute loss is linear between two answers of a coset, so that a mean of
their losses is no larger; a squared one is below that mean by at most :math:`s^2/4`.

*Mechanism.* To count each answer as the answer of one coset at or below it (or s/2 above) moves no
two answers further apart, so it may precede any mechanism for the coset.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import best_remap
from tightrope.graphs.lines import Coset, cosets_of, width_of_line
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.closed_forms import guessed
from tightrope.optimize.columns import private_columns
from tightrope.optimize.engine import run_engine
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.staircases import solve_staircases
from tightrope.optimize.task import RoutePlan, Task

#: Steps of a coset between an answer and its furthest neighbour in the first round, for an
#: absolute and a squared loss: between two guesses the latter saves up to s²/4.
FIRST_STEPS = {1: 8, 2: 16}
#: Most answers of a coset in the first round, and fewest steps for which it is worth it.
MOST_ANSWERS = 600
FEWEST_STEPS = 3
#: How much longer a round takes with half the stride, measured.
GROWTH = 8.0
#: Most seconds for a further round, as expected: staircases and the engine come after it.
PATIENCE = 30.0
#: Gap to which cosets are solved: what they neglect is mostly far more.
COSET_GAP = 1e-6
#: Most entries of a mechanism that is listed.
MECHANISM_ENTRIES = 20_000_000


def cosets_route(task: Task) -> RoutePlan | str:
    """Design on every s-th answer of a wide line, with s halved as long as time allows.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("median(4,3000)").graph, 1, prior="uniform", loss="absolute")
    >>> cosets_route(task).reason
    'neighbours differ by up to 3000: every 375-th answer, then more'
    """
    graph = task.graph
    consumer = task.consumer
    width = width_of_line(graph)
    if width is None or graph.has_lengths:
        return f"{graph.name} is not a power of a path"
    if consumer.risk_averse:
        return "cosets are for a consumer with a prior"
    if consumer.loss.step_rule is None:
        return "cosets are for an absolute or a squared loss on even steps"
    if graph.size * width <= task.settings.staircase_entries:
        return (
            f"{graph.size} answers with neighbours up to {width} apart need no cosets"
        )
    # The coarsest of three limits: steps per edge, answers of a coset, entries of a mechanism.
    stride = max(
        -(-width // FIRST_STEPS[consumer.loss.step_rule[0]]),
        -(-graph.size // MOST_ANSWERS),
        -(-(graph.size**2) // MECHANISM_ENTRIES),
    )
    if stride < 2 or width < FEWEST_STEPS * stride:
        return f"neighbours up to {width} apart are too near for cosets of {graph.size} answers"
    reason = f"neighbours differ by up to {width}: every {stride}-th answer, then more"
    return RoutePlan(reason, lambda: _from_coarse_to_fine(task, width, stride))


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
    task.watch.say(f"solving for every {stride}-th answer")
    # At or below an answer that is s/2 higher: x ↦ place(x) grows by q when x grows by v.
    last = np.searchsorted(coset.answers, np.arange(size) + stride // 2, side="right")
    place = np.clip(last - 1, 0, len(coset.answers) - 1)
    costs = np.zeros((len(coset.answers),) * 2)
    # Answers that count as the same answer of the coset add up their costs.
    np.add.at(costs, place, _costs(task, np.arange(size), coset.answers))
    prior = np.bincount(place, task.prior, len(coset.answers)).astype(float)
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
            costs = _costs(task, coset.answers, coset.answers)
            problem = Problem(coset.graph, task.epsilon, costs)
            known[key] = _solved(task, problem, own)[1] - between * own
        prices[coset.answers] = known[key]
    return prices


def _costs(task: Task, answers: Ints, guesses: Ints) -> Floats:
    r"""Return :math:`\pi_i\,\ell(i,k)` for some answers and guesses."""
    power, step = task.consumer.loss.step_rule or (1, 1)
    away = np.abs(np.subtract.outer(answers, guesses)).astype(float)
    return np.asarray(task.prior[answers][:, None] * away**power * float(step))


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
        problem.costs, width, task.alpha, prior, gap=COSET_GAP, watch=task.watch
    )
    columns = private_columns(problem, stairs.columns)
    loss = sum(float(problem.costs[:, k] @ x) for k, x in columns.items())
    priced = price(problem, Pricer(problem, task.watch), stairs.prices, problem.guesses)
    # Staircases that are proved within the gap need no engine.
    if priced.bound >= (1 - COSET_GAP) * loss:
        return columns, priced.prices
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
