r"""Risk-averse consumers: the least worst loss over a support [C, (7)].

.. math:: \min t \quad\text{with}\quad \sum_k \ell(i,k)\,x^k_i \le t \;\; (i \in S),\quad
   \sum_k x^k = 1,\quad x^k \text{ private}.

The multipliers of the first rows are a prior on S, the worst one: for the Bayesian consumer
with that prior no mechanism loses less. So the certificate is that of a Bayesian consumer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.channels import Channel, DenseChannel
from tightrope.consumers import Bayesian, RiskAverse
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.mixture import mixture
from tightrope.optimize.plain import PLAIN_ENTRIES
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.result import Design
from tightrope.optimize.task import Task


def design_minimax(task: Task) -> Design:
    """Return the mechanism with the least worst loss for a risk-averse consumer.

    >>> from tightrope import Epsilon
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import Clique
    >>> consumer = Consumer.of(Clique(3), support="all", loss="binary")
    >>> found = design_minimax(Task(Clique(3), Epsilon.of("ln(2)"), consumer))
    >>> round(found.expected_loss, 9), found.certified
    (0.5, True)
    """
    consumer = task.consumer
    if not isinstance(consumer, RiskAverse):
        raise InputError("the route 'minimax' needs a risk-averse consumer")
    losses = consumer.loss.matrix()
    neutral = Problem(task.graph, task.epsilon, losses / len(losses))
    matrix, worst = _program(neutral, losses, consumer.support)
    prior = np.zeros(task.graph.size)
    prior[consumer.support] = worst
    # Prices for the worst prior, and exact rays for the columns.
    bayesian = Bayesian(prior, consumer.loss)
    problem = Problem(task.graph, task.epsilon, prior[:, None] * losses)
    prices, bound = _prices(problem)
    columns = {k: matrix[:, k] for k in range(matrix.shape[1]) if matrix[:, k].max() > 1e-11}
    rates = task.alpha ** np.asarray(problem.distances, float)
    columns = {k: (rates * np.maximum(x, 0)).max(axis=1) for k, x in columns.items()}
    mixed = mixture(neutral, columns)
    rays = (task.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None]
    full = np.zeros(losses.shape)
    np.add.at(full.T, mixed.guesses, rays)
    full[:, mixed.rest_guess] += mixed.rest
    value = float((full * losses).sum(axis=1)[consumer.support].max())
    used = np.flatnonzero(full.max(axis=0) > 0)
    answers = task.graph.labels
    channel = DenseChannel(full[:, used], inputs=answers, outputs=task.guess_labels(used))
    return task.answered(
        "minimax",
        "the least worst loss is a linear program; its multipliers are the worst prior",
        loss=value,
        bound=min(bound, value),
        channel=channel,
        general=channel,
        certificate=Certificate(task.graph, task.epsilon, bayesian, prices),
    )


def _prices(problem: Problem) -> tuple[Floats, float]:
    """Return the best prices for the worst prior."""
    from tightrope.optimize.engine import run_engine

    found = run_engine(problem, gap=1e-12)
    checked = price(problem, pricer_for(problem), found.prices, problem.guesses)
    return checked.lowered, checked.bound


def _program(problem: Problem, losses: Floats, support: np.ndarray) -> tuple[Floats, Floats]:
    """Solve the program; return the columns and the worst prior on the support."""
    from scipy.sparse import coo_array, csc_array, eye_array, hstack, kron, vstack

    n, guesses = losses.shape
    edges = problem.edges
    i = np.concatenate([edges[:, 0], edges[:, 1]])
    j = np.concatenate([edges[:, 1], edges[:, 0]])
    count = len(i)
    if guesses * (2 * count + n) > PLAIN_ENTRIES:
        raise TooLarge(
            f"the program of a risk-averse consumer would have {guesses * (2 * count + n)} "
            f"entries, more than {PLAIN_ENTRIES}: use fewer answers"
        )
    factor = problem.alpha ** np.tile(problem.lengths, 2).astype(float)
    row = np.tile(np.arange(count), 2)
    entries = np.concatenate([factor, -np.ones(count)])
    one = coo_array((entries, (row, np.concatenate([i, j]))), (count, n))
    scale = 1 / max(float(np.abs(losses).mean()), 1e-300)
    which = np.arange(len(support))
    blocks = [
        csc_array((losses[support, k] * scale, (which, support)), (len(support), n))
        for k in range(guesses)
    ]
    worst = hstack([*blocks, csc_array(-np.ones((len(support), 1)))])
    private = hstack([kron(eye_array(guesses), one), csc_array((count * guesses, 1))])
    sums = hstack([*[eye_array(n)] * guesses, csc_array((n, 1))], format="csc")
    cost = np.zeros(n * guesses + 1)
    cost[-1] = 1.0
    solution = _linear(cost, vstack([worst, private], format="csc"), sums, np.ones(n))
    prior = np.maximum(-np.asarray(solution.ineqlin.marginals)[: len(support)], 0.0)
    total = float(prior.sum())
    if total <= 0:
        prior, total = np.ones(len(support)), float(len(support))
    return solution.x[:-1].reshape(guesses, n).T, prior / total


def _linear(cost: Floats, upper: Any, sums: Any, ones: Floats) -> Any:
    from scipy.optimize import linprog

    found = linprog(
        cost,
        A_ub=upper,
        b_ub=np.zeros(upper.shape[0]),
        A_eq=sums,
        b_eq=ones,
        bounds=[(0, None)] * (len(cost) - 1) + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise CheckFailed(f"the linear program was not solved: {found.message.strip()}")
    return found


@dataclass(frozen=True, eq=False)
class MinimaxRemap:
    """The best remap of a channel for a risk-averse consumer.

    Parameters
    ----------
    matrix
        From outputs to guesses, row-stochastic.
    worst_loss
        The largest expected loss over the support.
    bound
        What no remap of this channel is below.

    Examples
    --------
    >>> MinimaxRemap(Channel([[1.0]]), 0.0, 0.0).worst_loss
    0.0
    """

    matrix: Channel
    worst_loss: float
    bound: float


def minimax_remap(channel: Channel, consumer: RiskAverse) -> MinimaxRemap:
    """Return the remap with the least worst loss: a linear program [C, §2.4].

    >>> from tightrope.consumers import Consumer, Loss
    >>> noisy = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> round(minimax_remap(noisy, Consumer(support=[0, 1], loss=Loss.binary(2))).worst_loss, 9)
    0.25
    """
    from scipy.sparse import csc_array, eye_array, hstack, kron

    if not isinstance(consumer, RiskAverse):
        raise InputError("this remap is for a risk-averse consumer; use best_remap with a prior")
    losses = consumer.loss.matrix()
    noise = channel.matrix()
    if noise.shape[0] != losses.shape[0]:
        raise InputError(
            f"channel and consumer must be over the same answers, got {noise.shape[0]} inputs "
            f"and {losses.shape[0]} answers"
        )
    outputs, guesses = noise.shape[1], losses.shape[1]
    support = consumer.support
    # Variable (o, k) is the chance of guessing k at output o.
    worst = (noise[support][:, :, None] * losses[support][:, None, :]).reshape(len(support), -1)
    upper = csc_array(np.hstack([worst, -np.ones((len(support), 1))]))
    sums = hstack([kron(eye_array(outputs), np.ones((1, guesses))), csc_array((outputs, 1))])
    cost = np.zeros(outputs * guesses + 1)
    cost[-1] = 1.0
    found = _linear(cost, upper, sums.tocsc(), np.ones(outputs))
    chances = np.maximum(found.x[:-1].reshape(outputs, guesses), 0.0)
    chances /= chances.sum(axis=1, keepdims=True)
    value = float(((noise @ chances) * losses).sum(axis=1)[support].max())
    prior = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    prior /= max(float(prior.sum()), 1e-300)
    bound = float(np.min(worst.reshape(len(support), outputs, guesses).T @ prior, axis=0).sum())
    labels = [consumer.loss.guess_label(k) for k in range(guesses)]
    remapped = DenseChannel(chances, inputs=channel.outputs, outputs=labels)
    return MinimaxRemap(remapped, value, min(bound, value))
