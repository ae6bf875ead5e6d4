r"""Covers: what a correct guess is worth at most, for any prior, on graphs of any size.

A private column has :math:`x_i \ge \alpha^{d(i,k)} x_k`, so the guesses k of a mechanism satisfy
:math:`\sum_k \alpha^{d(i,k)} x^k_k \le 1` for every i. With :math:`y \ge 0` and
:math:`\Phi y \ge \pi` the probability of a correct guess is

.. math:: \sum_k \pi_k x^k_k \le \sum_i y_i \sum_k \alpha^{d(i,k)} x^k_k \le \sum_i y_i

[A, Thm 1, for regular priors]. A wrong guess costs at least m, so no private mechanism loses less
than :math:`m (1 - \sum_i y_i)`, and :math:`m (\pi - y)` are dual feasible prices. Where answers
have many neighbours hardly any guess is correct, and the bound is close for binary and distance
losses; an absolute loss is far above m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightrope.errors import TooLarge
from tightrope.graphs.averages import MedianGraph
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.problem import Floats
from tightrope.optimize.result import Design
from tightrope.optimize.task import Task

#: Most products with Φ, and most seconds for them; the sum hardly falls after some dozens.
STEPS = 40
SECONDS = 5.0
#: Gaps that a cover is not looked for: it neglects that the columns of a mechanism sum to 1.
CLOSE = 1e-4
#: Round-off of a product with Φ, in units of the result.
ROUNDING = 1e-12


def with_cover(task: Task, design: Design) -> Design:
    """Return a design of many answers with the bound of a cover where that is the better one."""
    least = _least_wrong(task)
    is_large = task.graph.size > task.settings.window_answers
    if not is_large or least is None or design.gap <= CLOSE:
        return design
    task.watch.say("bounding the probability of a correct guess")
    cover = small_cover(task)
    prices = least * (task.prior - cover)
    bound = min(float(prices.sum()), design.expected_loss)
    if bound <= design.bound:
        return design
    proof = Certificate(
        task.graph,
        task.epsilon,
        task.bayesian,
        prices,
        cover=cover if task.is_binary else None,
    )
    return replace(design, certificate=proof, bound=bound)


def _least_wrong(task: Task) -> float | None:
    """Return what a wrong guess costs at least, of implicit losses."""
    loss = task.consumer.loss
    if loss.guess_count != task.graph.size or task.graph.has_lengths:
        return None
    if loss.is_binary or loss.follows_graph:
        return 1.0
    return None if loss.step_rule is None else float(loss.step_rule[1])


def small_cover(task: Task) -> Floats:
    r"""Return :math:`y \ge 0` with :math:`\Phi y \ge \pi` and a small sum.

    Entries are multiplied by :math:`\pi / \Phi y`, and by its root in every other step, which
    damps oscillations. Any y becomes a cover when it is divided by the least of
    :math:`\Phi y / \pi`; the best one is kept.

    >>> from tightrope.graphs import Clique
    >>> task = Task.of(Clique(3), "ln(2)", prior="uniform", loss="binary")
    >>> round(float(small_cover(task).sum()), 9)
    0.5
    """
    prior = task.prior
    best = prior
    began = task.watch.seconds
    reached_from = _reach(task)
    # A little everywhere, so that answers without prior may cover others.
    y = prior + 1e-6 * prior.max()
    for step in range(STEPS):
        ratio = prior / np.maximum(reached_from(y), 1e-300)
        # Scaled by the worst ratio, Φy ≥ π holds at every answer.
        scaled = y * float(ratio.max()) * (1 + ROUNDING)
        best = min(best, scaled, key=np.sum)
        factor = ratio if step % 2 == 0 else np.sqrt(ratio)
        y = y * factor
        if task.watch.heartbeat() or task.watch.seconds - began > SECONDS:
            break
    return best


def _reach(task: Task) -> Callable[[Floats], Floats]:
    r"""Return :math:`y \mapsto \Phi y`, or less where Φ has no rule.

    Then an answer is reached at least from itself and its neighbours, by
    :math:`I + \alpha A`, or, where these are too many to list, as much from every answer as from
    the furthest one, by :math:`\alpha^D`.
    """
    graph = task.graph
    try:
        task.phi.matvec(task.prior)
    except TooLarge:
        pass
    else:
        return lambda y: np.asarray(task.phi.matvec(y))
    if isinstance(graph, MedianGraph):
        # No entry of Φ is below α^D, D being the diameter.
        furthest = task.alpha ** float(graph.diameter)
        return lambda y: y + furthest * (y.sum() - y)
    start, end = graph.edge_array().T
    return lambda y: (
        y
        + task.alpha * np.bincount(start, y[end], graph.size)
        + task.alpha * np.bincount(end, y[start], graph.size)
    )
