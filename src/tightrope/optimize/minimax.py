r"""Risk-averse consumers: the least worst loss over a support [C, (7)].

.. math:: \min t \quad\text{with}\quad \sum_k \ell(i,k)\,x^k_i \le t \;\; (i \in S),\quad
   \sum_k x^k = 1,\quad x^k \text{ private}.

The multipliers of the first rows are a prior on S, the worst one: for the Bayesian consumer
with that prior no mechanism loses less. So the certificate is that of a Bayesian consumer.

*Universal noise.* Let U be private and optimal, with the best remap, for every Bayesian consumer
with this loss: geometric noise on a path and a monotone loss, tight constraints on a tree with
:math:`\alpha \le 1/(\Delta-1)` and binary loss. Then U with the best *random* remap is optimal
for every risk-averse consumer [C, Thm 2.8]. The loss is linear in the mechanism and in the prior
and both range over polytopes, so by the minimax theorem the least worst loss of all private
mechanisms is :math:`\max_\pi \mathrm{opt}(\pi)` over the priors on S, and that of all remaps of U
is :math:`\max_\pi \min_T \mathrm{loss}_\pi(U T)`. By universality the two functions of
:math:`\pi` are the same. Neither the remap nor the worst prior has to be believed: the prices
that belong to U, :math:`\lambda = \Phi^{-1} v` with
:math:`v_o = \min_k \sum_i \pi_i \alpha^{d(i,o)} \ell(i,k)`, are priced for the worst prior like
any others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightrope.channels import Channel, remap
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, TooLarge
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.mixture import Mixture, weighed
from tightrope.optimize.objective import TOTAL
from tightrope.optimize.plain import PLAIN_ENTRIES, privacy_rows
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Heights, Ints, Problem
from tightrope.optimize.remaps import minimax_remap
from tightrope.optimize.result import Design
from tightrope.optimize.simplex import minimise
from tightrope.optimize.task import Task
from tightrope.phi import Phi

#: Rounds of pricing when the rays of a mixture are weighed afresh.
FINISHING_ROUNDS = 8


def solve_universal(task: Task, route: str, reason: str, noise: Channel) -> Design:
    """Remap noise that is optimal for every prior, at random, to the least worst loss.

    >>> from tightrope import Epsilon
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.mechanisms import geometric
    >>> consumer = Consumer.of(PathPower(5), support=[0, 1, 4], loss="absolute")
    >>> task = Task(PathPower(5), Epsilon.of(1), consumer)
    >>> solve_universal(task, "geometric", "a path", geometric(PathPower(5), 1)).certified
    True
    """
    consumer = task.consumer
    assert consumer.risk_averse
    found = minimax_remap(noise, consumer)
    chances = found.matrix.matrix()
    used = np.flatnonzero(chances.max(axis=0) > 0)
    labels = task.guess_labels(used)
    channel = remap(noise, Channel(chances[:, used], inputs=noise.outputs, outputs=labels))
    worst = replace(task, consumer=task.with_prior(found.prior))
    rates = task.alpha ** np.asarray(task.graph.distance_matrix(), float)
    values = (rates @ worst.problem.costs).min(axis=1)
    solved = Phi(task.graph, task.epsilon).solve(values)
    prices, bound = worst.proved(np.asarray(solved.values, np.float64), "")
    return task.answered(
        route,
        reason,
        loss=found.worst_loss,
        bound=min(bound, found.worst_loss),
        channel=channel,
        general=noise,
        certificate=Certificate(task.graph, task.epsilon, worst.bayesian, prices),
    )


def solve_worst_program(
    problem: Problem, losses: Floats, support: Ints
) -> tuple[Floats, Floats, Floats]:
    """Solve the whole problem as one linear program: columns, worst prior and prices.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import Clique
    >>> losses = np.ones((3, 3)) - np.eye(3)
    >>> problem = Problem(Clique(3), Epsilon.of("ln(2)"), losses / 3)
    >>> columns, _, prices = solve_worst_program(problem, losses, np.arange(3))
    >>> columns.diagonal().round(9).tolist(), round(float(prices.sum()), 9)
    ([0.5, 0.5, 0.5], 0.5)
    """
    from scipy.sparse import csc_array, eye_array, hstack, kron, vstack

    n, guesses = losses.shape
    one = privacy_rows(problem)
    count = one.shape[0]
    if guesses * (2 * count + n) > PLAIN_ENTRIES:
        raise TooLarge(
            f"the program of a risk-averse consumer would have {guesses * (2 * count + n)} "
            f"entries, more than {PLAIN_ENTRIES}: use the route 'rays'"
        )
    unit = max(float(np.abs(losses).mean()), 1e-300)
    which = np.arange(len(support))
    blocks = [
        csc_array((-losses[support, k] / unit, (which, support)), (len(support), n))
        for k in range(guesses)
    ]
    sums = hstack([*[eye_array(n)] * guesses, csc_array((n, 1))])
    worst = hstack([*blocks, csc_array(np.ones((len(support), 1)))])
    private = hstack([kron(eye_array(guesses), one), csc_array((count * guesses, 1))])
    total, free = np.full(n, TOTAL), len(support) + count * guesses
    found = minimise(
        np.append(np.zeros(n * guesses), unit),
        vstack([sums, worst, private], format="csc"),
        np.append(total, np.zeros(free)),
        np.append(total, np.full(free, np.inf)),
        free=1,
        watched=True,
    )
    share = np.maximum(found.duals[n : n + len(support)], 0.0)
    prior = np.zeros(n)
    prior[support] = share / share.sum() if share.sum() > 0 else 1 / len(support)
    return found.values[:-1].reshape(guesses, n).T / TOTAL, prior, found.duals[:n]


def reweighed(
    problem: Problem,
    consumer: Consumer,
    mixed: Mixture,
    lost: Callable[[Mixture], float],
    enough: float = -np.inf,
) -> Mixture:
    """Weigh the rays of a mixture afresh, to the least worst loss that they allow.

    Numerical columns that are taken apart into exact rays lose a little where entries are far
    apart in size. The steepest ray of each guess in use joins, so that the sums can be kept, and
    rays that pricing still finds, until no more than ``enough`` is lost. The mixture that ``lost``
    finds best is returned.

    >>> from tightrope import Epsilon
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import Clique
    >>> from tightrope.optimize.mixture import mixture
    >>> consumer = Consumer.of(Clique(2), support="all", loss="binary")
    >>> problem = Problem(Clique(2), Epsilon.of("ln(2)"), consumer.loss.matrix())
    >>> poor = mixture(problem, {0: np.array([0.6, 0.4]), 1: np.array([0.4, 0.6])})
    >>> lost = lambda one: one.loss(problem)
    >>> reweighed(problem, consumer, poor, lost).weights.round(9).tolist()
    [0.666666667, 0.666666667]
    """
    losses = consumer.loss.matrix()
    used = np.unique(mixed.guesses)
    steep = problem.distances[problem.anchors[used]].astype(mixed.heights.dtype)
    heights = np.concatenate([mixed.heights, steep])
    guesses = np.concatenate([mixed.guesses, used])
    pricer, best, basis = pricer_for(problem), mixed, None
    for _ in range(FINISHING_ROUNDS):
        try:
            weights, prior, prices, basis = _over_rays(problem, consumer, heights, guesses, basis)
        except CheckFailed:
            break
        best = min(best, weighed(problem, heights, guesses, weights), key=lost)
        if lost(best) <= enough:
            break
        # Rays that got lost when the columns were taken apart are found again by pricing.
        aim = problem.weighed(prior[:, None] * losses)
        found = price(aim, pricer, prices, problem.guesses)
        new = found.values < -1e-14 * float(np.abs(aim.costs).sum(axis=0).max())
        if not new.any():
            break
        heights = np.concatenate([heights, found.heights[new].astype(heights.dtype)])
        guesses = np.concatenate([guesses, problem.guesses[new]])
    return best


def _over_rays(
    problem: Problem,
    consumer: Consumer,
    heights: Heights,
    guesses: Ints,
    basis: tuple[Ints, Ints] | None,
) -> tuple[Floats, Floats, Floats, tuple[Ints, Ints]]:
    """Return the best weights of rays, the worst prior, the prices, and the basis.

    The basis of a program over the first of the rays is where the next one starts.
    """
    from scipy.sparse import csc_array

    support = consumer.support
    rays = problem.alpha ** (heights - heights.min(axis=1, keepdims=True)).astype(float)
    size = problem.alpha ** heights.min(axis=1).astype(float)
    lost = (rays * consumer.loss.matrix()[:, guesses].T)[:, support]
    unit = max(float(lost.mean()), 1e-300)
    n, rows = problem.size, len(support)
    matrix = np.zeros((n + rows, len(rays) + 1))
    matrix[:n, :-1], matrix[n:, :-1], matrix[n:, -1] = rays.T, -lost.T / unit, 1.0
    total = np.full(n, TOTAL)
    if basis is not None:
        joined = np.zeros(len(rays) + 1 - len(basis[0]), np.int64)
        basis = np.concatenate([basis[0][:-1], joined, basis[0][-1:]]), basis[1]
    found = minimise(
        np.append(np.zeros(len(rays)), unit),
        csc_array(matrix),
        np.append(total, np.zeros(rows)),
        np.append(total, np.full(rows, np.inf)),
        free=1,
        basis=basis,
    )
    share = np.maximum(found.duals[n:], 0.0)
    prior = np.zeros(n)
    prior[support] = share / share.sum() if share.sum() > 0 else 1 / rows
    weights = np.maximum(found.values[:-1], 0.0) / (TOTAL * size)
    return weights, prior, found.duals[:n], (found.basic_columns, found.basic_rows)
