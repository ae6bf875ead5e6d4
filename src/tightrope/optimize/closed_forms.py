"""Routes that need no solver: a mechanism in closed form and prices that prove it optimal."""

from __future__ import annotations

import numpy as np

from tightrope.channels import Channel, DeterministicChannel, remap
from tightrope.consumers import best_remap, is_monotone
from tightrope.consumers.line import line_remap
from tightrope.errors import TightropeError
from tightrope.graphs import AnswerGraph, PathPower, path_order
from tightrope.mechanisms import exponential, geometric
from tightrope.mechanisms.tight_optimality import reach
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.minimax import solve_universal
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.remaps import REMAP_ENTRIES
from tightrope.optimize.result import Design
from tightrope.optimize.task import Task
from tightrope.phi import Phi

#: Entries of y above this count as non-negative (they are sums of n rounding errors).
REGULAR_TOLERANCE = 1e-12


def accepts_geometric(task: Task) -> tuple[bool, str]:
    """Whether the graph is a path and the loss monotone.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(4), 1, prior="uniform", loss="absolute")
    >>> accepts_geometric(task)[0]
    True
    """
    graph, loss = task.graph, task.consumer.loss
    if graph.has_lengths or not graph.is_path:
        return False, f"{graph.name} is not a path"
    if loss.guess_count != graph.size:
        return False, "the guesses are not the answers"
    if not is_monotone(loss, graph).result:
        return False, f"the {loss.name} loss is not monotone along the path"
    if refused := _too_many_to_remap(task):
        return False, refused
    return True, "on a path geometric noise with the best remap is optimal for monotone losses"


def _along(graph: AnswerGraph) -> Ints:
    """Return the nodes of a path from one end to the other; a band needs no walk."""
    return np.arange(graph.size) if graph.power == 1 else path_order(graph)


def solve_geometric(task: Task, reason: str) -> Design:
    """Geometric noise with the best remap, and the prices that its outputs ask for.

    For a risk-averse consumer the remap is random [C, Thm 2.8].

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5), 1, prior="binomial(.3)", loss="squared")
    >>> solve_geometric(task, "path").gap < 1e-12
    True
    """
    graph, alpha = task.graph, task.alpha
    order = _along(graph)
    in_order = bool((np.diff(order) == 1).all())
    noise: Channel
    if in_order:
        noise = geometric(PathPower(graph.size, label=graph.label, index=graph.index), task.epsilon)
    else:
        line = geometric(PathPower(graph.size), task.epsilon).matrix()
        place = np.argsort(order)
        noise = Channel(line[np.ix_(place, place)], inputs=graph.labels, outputs=graph.labels)
    if task.consumer.risk_averse:
        return solve_universal(task, "geometric", reason, noise)
    found = line_remap(task.bayesian, alpha) if in_order else None
    if found is not None:
        guess, values = found.guess, found.values
    else:
        guess = np.asarray(best_remap(noise, task.bayesian).guess)
        values = _ray_values(task, guess)
    along = values[order]
    lam = np.empty(graph.size)
    lam[order] = line_prices(along, alpha)
    weight = np.full(graph.size, (1 - alpha) / (1 + alpha))
    weight[[order[0], order[-1]]] = 1 / (1 + alpha)
    loss = float(weight @ values) if graph.size > 1 else float(values.sum())
    return _finished(task, "geometric", reason, noise, guess, lam, loss)


def line_prices(values: Floats, alpha: float) -> Floats:
    r"""Return :math:`\Phi^{-1} v` on a path, where :math:`\Phi^{-1}` has three diagonals.

    >>> line_prices(np.array([1.0, 0.5]), 0.5).tolist()
    [1.0, 0.0]
    """
    if len(values) == 1:
        return values.copy()
    found = (1 + alpha**2) * values
    found[0], found[-1] = values[0], values[-1]
    found[1:] -= alpha * values[:-1]
    found[:-1] -= alpha * values[1:]
    return np.asarray(found / (1 - alpha**2))


def _ray_values(task: Task, guess: Ints) -> Floats:
    """Return what each output's ray costs with the guess chosen for it."""
    prior = task.bayesian.prior.probabilities
    values = np.empty(task.graph.size)
    for o, k in enumerate(guess.tolist()):
        ray = task.alpha ** np.asarray(task.graph.distances_from(o), float)
        values[o] = float((prior * ray) @ task.consumer.loss.column(k))
    return values


def _not_binary(task: Task) -> str:
    return "" if task.is_binary else f"the {task.consumer.loss.name} loss is not binary"


def _no_prior(task: Task) -> str:
    return "" if not task.consumer.risk_averse else "a risk-averse reader has no prior"


def _too_many_to_remap(task: Task) -> str:
    n = task.graph.size
    if not task.consumer.risk_averse or n**2 <= REMAP_ENTRIES:
        return ""
    return f"the best random remap of {n} outputs is too large a program"


def _not_tight(task: Task) -> str:
    return "the tight-constraints mechanism does not exist here" if task.tight is None else ""


def accepts_tree(task: Task) -> tuple[bool, str]:
    r"""Whether the graph is a tree with :math:`\alpha \le 1/(\Delta-1)` and the loss binary.

    >>> from tightrope.graphs import Star
    >>> task = Task.of(Star(4), 1, prior="uniform", loss="binary")
    >>> accepts_tree(task)
    (False, 'α = 0.367879 is above 1/(Δ-1) = 0.333333')
    """
    graph = task.graph
    if graph.has_lengths or not graph.is_tree:
        return False, f"{graph.name} is not a tree"
    if refused := _not_binary(task):
        return False, refused
    degree = graph.max_degree
    if degree > 1 and task.alpha > 1 / (degree - 1):
        return False, f"α = {task.alpha:.6g} is above 1/(Δ-1) = {1 / (degree - 1):.6g}"
    if refused := _not_tight(task) or _too_many_to_remap(task):
        return False, refused
    return True, "on a tree with α ≤ 1/(Δ-1) tight constraints are optimal for every prior"


def solve_tree(task: Task, reason: str) -> Design:
    """Tight constraints with the closed-form prices of a tree; remapped for the risk-averse.

    >>> from tightrope.graphs import Star
    >>> task = Task.of(Star(3), 1, prior="0.1,0.2,0.3,0.4", loss="binary")
    >>> solve_tree(task, "tree").certified
    True
    """
    if task.consumer.risk_averse:
        assert task.tight is not None
        return solve_universal(task, "tree", reason, task.tight)
    return _tight(task, "tree", reason)


def accepts_regular(task: Task) -> tuple[bool, str]:
    """Whether the prior is regular, the loss binary, and tight constraints exist.

    >>> from tightrope.graphs import Clique
    >>> task = Task.of(Clique(3), 1, prior="0.9,0.05,0.05", loss="binary")
    >>> accepts_regular(task)[0]
    False
    """
    if refused := _no_prior(task) or _not_binary(task) or _not_tight(task):
        return False, refused
    if _regular_coordinates(task) is None:
        return False, "the prior is not regular at this ε"
    return True, "the prior is regular and binary loss asks for the likeliest answer"


def solve_regular(task: Task, reason: str) -> Design:
    r"""Tight constraints with the prices :math:`\pi - y`, where :math:`\pi = y\Phi` [A, Thm 1].

    >>> from tightrope.graphs import Clique
    >>> task = Task.of(Clique(3), "ln(2)", prior="uniform", loss="binary")
    >>> solve_regular(task, "regular").expected_loss
    0.5
    """
    y = _regular_coordinates(task)
    assert y is not None
    assert task.tight is not None
    prior = task.bayesian.prior.probabilities
    lam = prior - y
    guess = np.arange(task.graph.size)
    loss = 1 - float(task.tight.z @ prior)
    return _finished(task, "regular", reason, task.tight, guess, lam, loss)


def _regular_coordinates(task: Task) -> Floats | None:
    try:
        solution = Phi(task.graph, task.epsilon).solve(task.bayesian.prior.probabilities)
    except TightropeError:
        return None
    y = np.asarray(solution.values, dtype=np.float64)
    off = float(np.abs(solution.residual).max()) if np.size(solution.residual) else 0.0
    if not np.isfinite(y).all() or y.min() < -REGULAR_TOLERANCE or off > 1e-9:
        return None
    return np.maximum(y, 0.0)


def accepts_symmetric(task: Task) -> tuple[bool, str]:
    """Whether every answer sees the same balls, the prior is uniform and the loss binary.

    >>> from tightrope.graphs import Cycle
    >>> task = Task.of(Cycle(5), 1, prior="uniform", loss="binary")
    >>> accepts_symmetric(task)[0]
    True
    """
    if refused := _not_binary(task):
        return False, refused
    if not task.is_even:
        prior = not task.consumer.risk_averse
        return False, "the prior is not uniform" if prior else "not all answers are possible"
    if task.graph.has_lengths or task.graph.constant_ball_sizes is None:
        return False, "answers of the graph see balls of different sizes"
    return True, "every answer sees the same balls, and prior and loss treat all alike"


def solve_symmetric(task: Task, reason: str) -> Design:
    r"""Return the exponential mechanism :math:`\alpha^{d}` with one normaliser [B, Thm 11, 12].

    Every answer is told right with the same probability. So the worst loss is the mean loss
    too, and the uniform prior is the worst one for a risk-averse consumer.

    >>> from tightrope.graphs import Cycle
    >>> task = Task.of(Cycle(4), "ln(2)", prior="uniform", loss="binary")
    >>> solve_symmetric(task, "ring").utility
    0.444444...
    """
    balls = task.graph.constant_ball_sizes
    assert balls is not None
    n = task.graph.size
    share = 1 / sum(count * task.alpha**d for d, count in enumerate(balls))
    lam = np.full(n, (1 - share) / n)
    noise = exponential(task.graph, task.epsilon)
    return _finished(task, "symmetric", reason, noise, np.arange(n), lam, 1 - share)


def accepts_candidate(task: Task) -> tuple[bool, str]:
    """Whether tight constraints exist and the loss is binary; the prices decide the rest.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(6, 2), 1, prior="0.3,0.2,0.2,0.1,0.1,0.1", loss="binary")
    >>> accepts_candidate(task)[0]
    True
    """
    if refused := _no_prior(task) or _not_binary(task) or _not_tight(task):
        return False, refused
    try:
        lam = task.bayesian.prior.probabilities - _candidate(task)
    except TightropeError as unsolved:
        return False, str(unsolved)
    _, bound = task.proved(lam, "")
    if bound < float(lam.sum()) - task.gap * max(abs(float(lam.sum())), 1e-300):
        return False, "the candidate prices Φ⁻¹v are no certificate for this prior"
    return True, "the candidate prices Φ⁻¹v prove tight constraints optimal for this prior"


def solve_candidate(task: Task, reason: str) -> Design:
    r"""Tight constraints outside the regular region, with the prices :math:`\pi - \Phi^{-1}v`.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(6, 2), 1, prior="0.3,0.2,0.2,0.1,0.1,0.1", loss="binary")
    >>> solve_candidate(task, "candidate").certified
    True
    """
    return _tight(task, "candidate", reason)


def _candidate(task: Task) -> Floats:
    phi = Phi(task.graph, task.epsilon)
    return np.asarray(phi.solve(reach(phi, task.bayesian.prior.probabilities)).values)


def _tight(task: Task, route: str, reason: str) -> Design:
    assert task.tight is not None
    prior = task.bayesian.prior.probabilities
    if task.bayesian.prior.is_uniform:  # then a column is highest at its own answer
        guess = np.where(task.tight.z > 0, np.arange(len(prior)), 0)
    else:
        guess = np.asarray(best_remap(task.tight, task.bayesian).guess)
    phi = Phi(task.graph, task.epsilon)
    v = reach(phi, prior)
    loss = 1 - float(task.tight.z @ v)
    lam = prior - np.asarray(phi.solve(v).values)
    return _finished(task, route, reason, task.tight, guess, lam, loss)


def _finished(
    task: Task, route: str, reason: str, noise: Channel, guess: Ints, lam: Floats, loss: float
) -> Design:
    """Check the prices, remap the outputs to the guesses that occur, and put all together."""
    theorem = "" if route == "candidate" else reason
    lam, bound = task.proved(lam, theorem)
    proof = Certificate(task.graph, task.epsilon, task.reader, lam, theorem)
    return task.answered(
        route,
        reason,
        loss=loss,
        bound=min(bound, loss) if bound - loss <= 1e-12 * abs(loss) else bound,
        channel=guessed(task, noise, guess),
        general=noise,
        certificate=proof,
    )


def guessed(task: Task, noise: Channel, guess: Ints) -> Channel:
    """Return noise whose outputs are the guesses that they stand for.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(3), 1, prior="0.1,0.8,0.1", loss="binary")
    >>> guessed(task, exponential(PathPower(3), 1), np.array([1, 1, 2])).outputs
    [1, 2]
    """
    if (guess == np.arange(noise.shape[1])).all():
        return noise
    used, target = np.unique(guess, return_inverse=True)
    return remap(noise, DeterministicChannel(target.astype(np.int64), task.guess_labels(used)))
