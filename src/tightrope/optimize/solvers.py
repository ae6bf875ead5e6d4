"""Routes that search: the dual program, the engine on orbits and rays, the plain program."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.errors import TooLarge
from tightrope.optimize.approach import run_approach
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.dual import dual_variables, solve_dual_program
from tightrope.optimize.engine import EngineResult
from tightrope.optimize.faces import Face
from tightrope.optimize.minimax import reweighed, solve_worst_program
from tightrope.optimize.mixture import Mixture, mixture, polished, private_above
from tightrope.optimize.objective import Objective
from tightrope.optimize.orbits import expanded
from tightrope.optimize.plain import PLAIN_ENTRIES, plain_entries, solve_plain_program
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.progress import relative_gap
from tightrope.optimize.result import Design
from tightrope.optimize.task import Task

#: Most multipliers of the dual program; beyond, the engine is quicker.
DUAL_VARIABLES = 10_000
#: Largest number of answers for which the engine is started.
ENGINE_ANSWERS = 4000
#: Gaps below this are not worth a polish, and no polish closes gaps above the other: a search
#: that was stopped early should not price a dozen times more.
POLISHED_GAP = 1e-11
WIDE_GAP = 1e-3
#: Answers whose price, or largest cost, is below this part of the mean one are tried at no price
#: when the last digits are proved.
GIVEN_AWAY = (1e-12, 1e-11, 1e-10, 1e-9)
#: How far a proved bound may lie above the loss by rounding; beyond it one of them is wrong.
BOUND_ROUNDING = 1e-9


def accepts_dual(task: Task) -> tuple[bool, str]:
    """Whether the answers are few enough for the dual program.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> accepts_dual(task)
    (True, 'few answers: prices and their proof by one linear program')
    >>> accepts_dual(Task.of(PathPower(99, 2), 1, prior="uniform", loss="absolute"))
    (False, 'the dual program would have 19500 multipliers, more than 10000')
    """
    if task.consumer.risk_averse:
        return False, "the dual program is for a consumer with a prior"
    if task.graph.size > ENGINE_ANSWERS:
        return False, f"{task.graph.size} answers are more than {ENGINE_ANSWERS}"
    count = dual_variables(task.on_orbits)
    if count > DUAL_VARIABLES:
        return False, f"the dual program would have {count} multipliers, more than {DUAL_VARIABLES}"
    return True, "few answers: prices and their proof by one linear program"


def solve_dual(task: Task, reason: str) -> Design:
    """Solve the dual program, and take exact rays from its multipliers.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(7, 2), 1, prior="uniform", loss="absolute")
    >>> solve_dual(task, "dual").certified
    True
    """
    problem, group = task.problem, task.symmetries
    found = solve_dual_program(task.on_orbits)
    columns = found.columns if group is None else expanded(found.columns, group)
    mixed = mixture(problem, private_above(problem, columns))
    proof = _best_proof(task, mixed, task.objective.first, found.prices, found.bound)
    return finished(task, "dual", reason, mixed, *proof)


def accepts_orbits(task: Task) -> tuple[bool, str]:
    """Whether some symmetry of the graph keeps prior and loss.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> accepts_orbits(task)
    (False, 'no symmetry of the graph keeps prior and loss')
    """
    group = task.symmetries
    if group is None:
        return False, "no symmetry of the graph keeps prior and loss"
    return True, f"{group.order} symmetries keep prior and loss: one guess for each orbit"


def solve_orbits(task: Task, reason: str) -> Design:
    """Run the engine on orbits and spread its columns over them.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(7, 2), 1, prior="uniform", loss="absolute")
    >>> solve_orbits(task, "orbits").certified
    True
    """
    group = task.symmetries
    assert group is not None
    objective = replace(task.objective, problem=task.on_orbits)
    found = _searched(task, objective)
    return _from_engine(task, "orbits", reason, found, expanded(found.columns, group))


def accepts_rays(task: Task) -> tuple[bool, str]:
    """Whether the graph is small enough for the engine.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="uniform", loss="absolute")
    >>> accepts_rays(task)[0]
    True
    """
    if task.graph.size > ENGINE_ANSWERS:
        return False, f"{task.graph.size} answers are more than {ENGINE_ANSWERS}"
    return True, "no closed form fits: faces of rays for each guess, enlarged by pricing"


def solve_rays(task: Task, reason: str) -> Design:
    """Run the engine.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> solve_rays(task, "rays").certified
    True
    """
    found = _searched(task, task.objective)
    return _from_engine(task, "rays", reason, found, found.columns)


def _searched(task: Task, objective: Objective) -> EngineResult:
    start = _started(task, objective.problem)
    return run_approach(objective, gap=task.gap, progress=task.progress, start=start)


def _from_engine(
    task: Task, route: str, reason: str, found: EngineResult, columns: dict[int, Floats]
) -> Design:
    """Take the columns apart into rays, and keep how the engine came to them."""
    mixed = mixture(task.problem, columns)
    enough = found.bound + task.gap / 10 * abs(found.bound)
    if task.consumer.risk_averse and _loss(task, mixed) > enough:
        mixed = reweighed(task.problem, task.consumer, mixed, _lost_by(task), enough)
    proof = _best_proof(task, mixed, found.multipliers, found.prices, found.bound)
    faces = found.master.faces
    return finished(task, route, reason, mixed, *proof, found.stopped, found.rounds, faces)


def _lost_by(task: Task) -> Callable[[Mixture], float]:
    return lambda mixed: _loss(task, mixed)


def _loss(task: Task, mixed: Mixture) -> float:
    """Return the expected loss of a mixture, or its worst one for a risk-averse consumer."""
    if not task.consumer.risk_averse:
        return mixed.loss(task.problem)
    losses = task.consumer.loss.matrix()
    rays = (task.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None]
    lost = np.einsum("ri,ir->i", rays, losses[:, mixed.guesses])
    lost += mixed.rest * losses[:, mixed.rest_guess]
    return float(lost[task.consumer.support].max())


def _best_proof(
    task: Task, mixed: Mixture, multipliers: Floats, prices: Floats, bound: float
) -> tuple[Consumer, Floats, float]:
    """Polish the prices where the solver's tolerance shows; keep whichever proves more.

    The bound is that of a Bayesian consumer, for the risk-averse one with the worst prior.
    """
    averse = task.consumer.risk_averse
    reader = task.with_prior(multipliers) if averse else task.bayesian
    problem = task.objective.weighed(multipliers)
    loss = _loss(task, mixed)
    gap = relative_gap(loss, bound)
    if gap <= POLISHED_GAP or WIDE_GAP < gap < np.inf:
        return reader, prices, bound
    pricer, costs = pricer_for(problem), problem.costs.max(axis=1)
    for tried in (prices, polished(problem, mixed, prices)):
        nobody = np.zeros(len(tried), bool)
        few = [
            size < part * np.abs(size).mean()
            for size, part in itertools.product((tried, costs), GIVEN_AWAY)
        ]
        for idle in (nobody, *few):
            checked = price(problem, pricer, tried, problem.guesses, idle)
            if checked.bound > bound:
                prices, bound = checked.lowered, checked.bound
            if relative_gap(loss, bound) <= POLISHED_GAP:
                return reader, prices, bound
    return reader, prices, bound


def accepts_plain(task: Task) -> tuple[bool, str]:
    """Whether the plain program fits.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="uniform", loss="absolute")
    >>> accepts_plain(task)[0]
    True
    """
    try:
        entries = plain_entries(task.problem)
    except TooLarge as refused:
        return False, str(refused)
    if entries > PLAIN_ENTRIES:
        return False, f"the plain program would have {entries} entries, more than {PLAIN_ENTRIES}"
    return True, "the whole problem as one linear program"


def solve_plain(task: Task, reason: str) -> Design:
    """Solve the plain program, and take exact rays and checked prices from its solution.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> solve_plain(task, "plain").certified
    True
    """
    problem, consumer = task.problem, task.consumer
    if consumer.risk_averse:
        losses = consumer.loss.matrix()
        matrix, multipliers, prices = solve_worst_program(problem, losses, consumer.support)
    else:
        found = solve_plain_program(problem)
        matrix, multipliers, prices = found.matrix, task.objective.first, found.prices
    mixed = mixture(problem, private_above(problem, dict(enumerate(matrix.T))))
    proof = _best_proof(task, mixed, multipliers, prices, -np.inf)
    return finished(task, "plain", reason, mixed, *proof)


def _started(task: Task, problem: Problem) -> dict[int, Face] | None:
    """Return the faces of an earlier design; they are the same sets of rays at every ε."""
    if task.faces is None or not set(task.faces) <= set(problem.guesses.tolist()):
        return None
    return {k: Face(problem, face.heights, face.tight) for k, face in task.faces.items()}


def finished(
    task: Task,
    route: str,
    reason: str,
    mixed: Mixture,
    reader: Consumer,
    prices: Floats,
    bound: float,
    stopped: bool = False,
    rounds: int = 0,
    faces: dict[int, Face] | None = None,
) -> Design:
    """Make the channels from a mixture of rays and put the design together.

    The prices bound the loss of ``reader``: the consumer, or the one with the worst prior.

    >>> from tightrope.graphs import Clique
    >>> task = Task.of(Clique(2), "ln(2)", prior="uniform", loss="binary")
    >>> mixed = mixture(task.problem, {0: np.array([2, 1]) / 3, 1: np.array([1, 2]) / 3})
    >>> prices = np.full(2, 1 / 6)
    >>> finished(task, "rays", "so", mixed, task.bayesian, prices, 1 / 3).channel.outputs
    [0, 1]
    """
    problem = task.problem
    general, labels = _general(task, mixed)
    used, column = np.unique(labels[0], return_inverse=True)
    merged = np.zeros((problem.size, len(used)))
    np.add.at(merged.T, column, general.T)
    answers = task.graph.labels
    named = task.guess_labels(used)
    loss = _loss(task, mixed)
    if bound > loss + BOUND_ROUNDING * abs(loss):
        raise ArithmeticError(
            f"route {route!r} found a bound {bound!r} above the loss {loss!r} of a mechanism"
        )
    return task.answered(
        route,
        reason,
        loss=loss,
        bound=min(bound, loss),
        channel=Channel(merged, inputs=answers, outputs=named),
        general=Channel(general, inputs=answers, outputs=labels[1]),
        certificate=Certificate(task.graph, task.epsilon, reader, prices),
        stopped=stopped,
        rounds=rounds,
        faces=faces,
    )


def _general(task: Task, mixed: Mixture) -> tuple[Floats, tuple[np.ndarray, list[Hashable]]]:
    """Return the columns before remapping: each ray by itself, labelled by guess and number."""
    columns = list((task.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None])
    guesses = mixed.guesses.tolist()
    if mixed.rest.max() > 0:
        columns.append(mixed.rest)
        guesses.append(mixed.rest_guess)
    seen: dict[int, int] = {}
    labels: list[Hashable] = []
    for k in guesses:
        seen[k] = seen.get(k, 0) + 1
        labels.append((task.consumer.loss.guess_label(int(k)), seen[k]))
    return np.array(columns).T, (np.array(guesses), labels)
