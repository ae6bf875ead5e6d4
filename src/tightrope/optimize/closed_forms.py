"""Routes that need no solver: a mechanism in closed form and prices that prove it optimal.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightrope.channels import Channel, DeterministicChannel, GeometricChannel, remap
from tightrope.consumers import best_remap, is_monotone
from tightrope.consumers.evaluate import line_remap
from tightrope.errors import TightropeError
from tightrope.graphs import path_order
from tightrope.mechanisms import exponential
from tightrope.mechanisms.tight import TightConstraints, candidate_prices
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.minimax import minimax_remap
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import relative_gap
from tightrope.optimize.result import Design
from tightrope.optimize.task import RoutePlan, Task


def geometric_route(task: Task) -> RoutePlan | str:
    """Geometric noise with the best remap, on a path with a monotone loss [C, Thm 2.8].

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5), 1, prior="binomial(.3)", loss="squared")
    >>> geometric_route(task).solve().gap < 1e-12
    True
    """
    graph = task.graph
    loss = task.consumer.loss
    if graph.has_lengths or not graph.is_path:
        return f"{graph.name} is not a path"
    if loss.guess_count != graph.size:
        return "the guesses are not the answers"
    if not is_monotone(loss, graph).result:
        return f"the {loss.name} loss is not monotone along the path"
    if refused := _too_many_to_remap(task):
        return refused
    reason = (
        "on a path geometric noise with the best remap is optimal for monotone losses"
    )
    return RoutePlan(reason, lambda: _geometric(task, theorem=reason))


def _geometric(task: Task, theorem: str) -> Design:
    """Return geometric noise and the prices that its outputs ask for."""
    graph = task.graph
    alpha = task.alpha
    order = path_order(graph)
    in_order = bool((np.diff(order) == 1).all())
    noise: Channel = GeometricChannel(graph.size, task.epsilon, label=graph.label)
    if not in_order:
        # Noise is defined along the path: translate answers to their positions on it.
        place = np.argsort(order)
        moved = noise.matrix()[np.ix_(place, place)]
        noise = Channel(moved, inputs=graph.labels, outputs=graph.labels)
    if task.consumer.risk_averse:
        return _universal(task, noise)
    best = line_remap(task.consumer, alpha) if in_order else None
    if best is not None:
        guess = best.guess
        values = best.values
    else:
        # v_o = min_k Σ_i π_i α^|i-o| ℓ(i, k)
        guess = np.asarray(best_remap(noise, task.consumer).guess)
        lost = map(task.consumer.loss.column, guess.tolist())
        values = np.array(
            [(task.prior * task.phi.row(o)) @ x for o, x in enumerate(lost)]
        )
    lam = np.empty(graph.size)
    lam[order] = line_prices(values[order], alpha)
    # X = Φ·diag(z) with the column maxima z, so the loss is Σ_o z_o·v_o.
    loss = float(noise.column_maxima() @ values)
    prices = task.proved(lam, by_theorem=True)
    return _finished(task, noise, guess, loss, prices, theorem)


def line_prices(values: Floats, alpha: float) -> Floats:
    r"""Return :math:`\Phi^{-1} v` on a path, where :math:`\Phi^{-1}` has three diagonals.

    >>> line_prices(np.array([1.0, 0.5]), 0.5).tolist()
    [1.0, 0.0]
    """
    if len(values) == 1:
        return values.copy()
    # ((1+α²) v_i - α v_{i-1} - α v_{i+1}) / (1-α²), with 1 for 1+α² at the ends
    prices = (1 + alpha**2) * values
    prices[0] = values[0]
    prices[-1] = values[-1]
    prices[1:] -= alpha * values[:-1]
    prices[:-1] -= alpha * values[1:]
    return prices / (1 - alpha**2)


def tree_route(task: Task) -> RoutePlan | str:
    r"""Tight constraints on a tree with :math:`\alpha \le 1/(\Delta-1)` and binary loss.

    There :math:`\Phi` is the covariance of a Markov field on the tree, so the prices
    :math:`\pi - \Phi^{-1}v` with :math:`v_j = \max_i \pi_i \alpha^{d(i,j)}` are feasible for
    every prior; a risk-averse consumer remaps at random.

    >>> from tightrope.graphs import Star
    >>> tree_route(Task.of(Star(4), 1, prior="uniform", loss="binary"))
    'α = 0.367879 is above 1/(Δ-1) = 0.333333'
    """
    graph = task.graph
    if graph.has_lengths or not graph.is_tree:
        return f"{graph.name} is not a tree"
    if not task.is_binary:
        return _not_binary(task)
    degree = graph.max_degree
    # Φ⁻¹1 has the entries (1 - (deg_j - 1)·α)/(1 + α): none is negative below this α.
    limit = 1 / (degree - 1) if degree > 1 else 1.0
    if task.alpha > limit:
        return f"α = {task.alpha:.6g} is above 1/(Δ-1) = {limit:.6g}"
    noise = task.tight
    if noise is None:
        return _NOT_TIGHT
    if refused := _too_many_to_remap(task):
        return refused
    reason = "on a tree with α ≤ 1/(Δ-1) tight constraints are optimal for every prior"

    def solve() -> Design:
        if task.consumer.risk_averse:
            return _universal(task, noise)
        values, y = candidate_prices(task.phi, task.prior)
        prices = task.proved(task.prior - y, by_theorem=True)
        guess = _likeliest(task, noise)
        loss = 1 - float(noise.z @ values)
        return _finished(task, noise, guess, loss, prices, reason)

    return RoutePlan(reason, solve)


def regular_route(task: Task) -> RoutePlan | str:
    r"""Tight constraints with the prices :math:`\pi - y`, where :math:`\pi = y\Phi` [A, Thm 1].

    >>> from tightrope.graphs import Clique
    >>> regular_route(Task.of(Clique(3), 1, prior="0.9,0.05,0.05", loss="binary"))
    'the prior is not regular at this ε'
    """
    noise = _tight_for_prior(task)
    if isinstance(noise, str):
        return noise
    y = _regular_coordinates(task)
    if y is None:
        return "the prior is not regular at this ε"
    reason = "the prior is regular and binary loss asks for the likeliest answer"

    def solve() -> Design:
        prices = task.proved(task.prior - y, by_theorem=True)
        # Σ_o z_o max_i π_i α^{d(i,o)}, and a regular prior is largest at o itself
        guess = np.arange(task.graph.size)
        loss = 1 - float(noise.z @ task.prior)
        return _finished(task, noise, guess, loss, prices, reason, cover=y)

    return RoutePlan(reason, solve)


def _regular_coordinates(
    task: Task, *, negative: float = 1e-12, residual: float = 1e-9
) -> Floats | None:
    """Return y ≥ 0 with π = yΦ, or nothing; entries of y are sums of n rounding errors."""
    try:
        solution = task.phi.solve(task.prior)
    except TightropeError:
        return None
    # Neither holds where an entry is no number.
    if not (solution.values.min() >= -negative and solution.residual <= residual):
        return None
    return np.maximum(solution.values, 0.0)


def symmetric_route(task: Task) -> RoutePlan | str:
    r"""Return the exponential mechanism :math:`\alpha^{d}` with one normaliser [B, Thm 11, 12].

    Every answer is reported correctly with the same probability. So the worst loss is the mean loss
    too, and the uniform prior is the worst one for a risk-averse consumer.

    >>> from tightrope.graphs import Cycle
    >>> task = Task.of(Cycle(4), "ln(2)", prior="uniform", loss="binary")
    >>> symmetric_route(task).solve().utility
    0.444444...
    """
    if not task.is_binary:
        return _not_binary(task)
    consumer = task.consumer
    if consumer.risk_averse and not consumer.all_answers:
        return "not all answers are possible"
    if not (consumer.risk_averse or consumer.prior.is_uniform):
        return "the prior is not uniform"
    balls = task.graph.constant_ball_sizes
    if balls is None:
        return "answers of the graph see balls of different sizes"
    reason = "every answer sees the same balls, and prior and loss treat all alike"

    def solve() -> Design:
        n = task.graph.size
        # The normaliser Σ_d n_d·α^d is the same for every answer.
        weights = (count * task.alpha**d for d, count in enumerate(balls))
        share = 1 / sum(weights)
        price = (1 - share) / n
        prices = task.proved(np.full(n, price), by_theorem=True)
        noise = exponential(task.graph, task.epsilon)
        y = np.full(n, share / n)
        return _finished(task, noise, np.arange(n), 1 - share, prices, reason, cover=y)

    return RoutePlan(reason, solve)


def candidate_route(task: Task) -> RoutePlan | str:
    r"""Tight constraints outside the regular region, where :math:`\pi - \Phi^{-1}v` proves them.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(6, 2), 1, prior="0.3,0.2,0.2,0.1,0.1,0.1", loss="binary")
    >>> candidate_route(task).solve().certified
    True
    """
    noise = _tight_for_prior(task)
    if isinstance(noise, str):
        return noise
    try:
        values, y = candidate_prices(task.phi, task.prior)
        lam = task.prior - y
        # Where they fail the guess at the lowest entry of Φ⁻¹v shows it mostly; all guesses would
        # take 7 s to do so for sum(195,2).
        for guesses in (np.array([y.argmin()]), task.problem.guesses):
            prices = task.proved(lam, guesses)
            if relative_gap(float(lam.sum()), float(prices.sum())) > task.gap:
                return "the candidate prices Φ⁻¹v are no certificate for this prior"
    except TightropeError as unsolved:
        return str(unsolved)
    reason = "the candidate prices Φ⁻¹v prove tight constraints optimal for this prior"

    def solve() -> Design:
        loss = 1 - float(noise.z @ values)
        return _finished(task, noise, _likeliest(task, noise), loss, prices)

    return RoutePlan(reason, solve)


_NOT_TIGHT = "the tight-constraints mechanism does not exist here"


def _not_binary(task: Task) -> str:
    return f"the {task.consumer.loss.name} loss is not binary"


def _too_many_to_remap(task: Task) -> str:
    n = task.graph.size
    if not task.consumer.risk_averse or n**2 <= task.settings.remap_entries:
        return ""
    return f"the best random remap of {n} outputs is too large a program"


def _tight_for_prior(task: Task) -> TightConstraints | str:
    """Return tight constraints for a consumer with a prior and binary loss, or why not."""
    if task.consumer.risk_averse:
        return "a risk-averse consumer has no prior"
    if not task.is_binary:
        return _not_binary(task)
    return _NOT_TIGHT if task.tight is None else task.tight


def _likeliest(task: Task, noise: TightConstraints) -> Ints:
    """Return the best guess for each output."""
    if task.consumer.prior.is_uniform:  # then a column is highest at its own answer
        return np.where(noise.z > 0, np.arange(task.graph.size), 0)
    return best_remap(noise, task.consumer).guess


def _universal(task: Task, noise: Channel) -> Design:
    r"""Remap noise that is optimal for every prior, at random, to the least worst loss.

    Let U be private and optimal, with the best remap, for every consumer with a prior and this
    loss. Then U with the best *random* remap is optimal for every risk-averse consumer
    [C, Thm 2.8]: the loss is linear in the mechanism and in the prior and both range over
    polytopes, so by the minimax theorem the least worst loss of all private mechanisms is
    :math:`\max_\pi \mathrm{opt}(\pi)` over the priors on S, and that of all remaps of U is
    :math:`\max_\pi \min_T \mathrm{loss}_\pi(U T)`, the same function of :math:`\pi`. Neither the
    remap nor the worst prior has to be believed: the prices that belong to U,
    :math:`\lambda = \Phi^{-1} v` with
    :math:`v_o = \min_k \sum_i \pi_i \alpha^{d(i,o)} \ell(i,k)`, are priced for that prior.
    """
    best = minimax_remap(noise, task.consumer, task.settings)
    chances = best.matrix.matrix()
    used = np.flatnonzero(chances.max(axis=0) > 0)
    labels = task.guess_labels(used)
    channel = remap(
        noise, Channel(chances[:, used], inputs=noise.outputs, outputs=labels)
    )
    worst = replace(task, consumer=task.with_prior(best.prior))
    # λ = Φ⁻¹v, with v the price limits under the worst prior.
    solved = task.phi.solve(worst.problem.price_limits)
    prices = worst.proved(solved.values)
    return task.answered(
        loss=best.worst_loss,
        bound=min(float(prices.sum()), best.worst_loss),
        channel=channel,
        general=noise,
        certificate=Certificate(task.graph, task.epsilon, worst.consumer, prices),
    )


def _finished(
    task: Task,
    noise: Channel,
    guess: Ints,
    loss: float,
    prices: Floats,
    theorem: str = "",
    cover: Floats | None = None,
    *,
    rounding: float = 1e-12,
) -> Design:
    """Remap the outputs to the guesses that occur, and put all together."""
    bound = float(prices.sum())
    return task.answered(
        loss=loss,
        # A bound above the loss by more than round-off is an error, and must stay visible.
        bound=min(bound, loss) if bound - loss <= rounding * abs(loss) else bound,
        channel=guessed(task, noise, guess),
        general=noise,
        guess=guess,
        certificate=Certificate(
            task.graph, task.epsilon, task.bayesian, prices, theorem, cover
        ),
    )


def guessed(task: Task, noise: Channel, guess: Ints) -> Channel:
    """Return noise whose outputs are replaced by their guesses.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(3), 1, prior="0.1,0.8,0.1", loss="binary")
    >>> guessed(task, exponential(PathPower(3), 1), np.array([1, 1, 2])).outputs
    [1, 2]
    """
    if (guess == np.arange(noise.shape[1])).all():
        return noise
    used, target = np.unique(guess, return_inverse=True)
    return remap(
        noise, DeterministicChannel(target.astype(np.int64), task.guess_labels(used))
    )
