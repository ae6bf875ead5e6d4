"""Routes that search: the dual program, the engine on orbits and rays, the plain program.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
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
from tightrope.optimize.task import Plan, Task


def dual_route(task: Task) -> Plan | str:
    """Few answers: prices and their proof by one linear program.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(7, 2), 1, prior="uniform", loss="absolute")
    >>> dual_route(task).solve().certified
    True
    >>> dual_route(Task.of(PathPower(99, 2), 1, prior="uniform", loss="absolute"))
    'the dual program would have 19500 multipliers, more than 10000'
    """
    if task.consumer.risk_averse:
        return "the dual program is for a consumer with a prior"
    if refused := _too_many(task):
        return refused
    problem, most = task.on_orbits, task.settings.dual_variables
    count = dual_variables(problem)
    if count > most:
        return f"the dual program would have {count} multipliers, more than {most}"
    reason = "few answers: prices and their proof by one linear program"

    def solve() -> Design:
        task.watch.say(f"solving the dual program with {count} multipliers")
        found = solve_dual_program(problem, task.watch)
        group = task.symmetries
        columns = found.columns if group is None else expanded(found.columns, group)
        mixed = mixture(task.problem, private_above(task.problem, columns))
        proof = _best_proof(task, mixed, task.objective.first, found.prices, found.bound)
        return finished(task, "dual", reason, mixed, *proof)

    return Plan(reason, solve)


def orbits_route(task: Task) -> Plan | str:
    """Column generation on orbits of guesses, where symmetries keep prior and loss.

    >>> from tightrope.graphs import PathPower
    >>> orbits_route(Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute"))
    'no symmetry of the graph keeps prior and loss'
    """
    if refused := _too_many(task):
        return refused
    group = task.symmetries
    if group is None:
        return "no symmetry of the graph keeps prior and loss"
    reason = f"{group.order} symmetries keep prior and loss: one guess for each orbit"

    def solve() -> Design:
        found = _searched(task, replace(task.objective, problem=task.on_orbits))
        return _from_engine(task, "orbits", reason, found, expanded(found.columns, group))

    return Plan(reason, solve)


def rays_route(task: Task) -> Plan | str:
    """Column generation: a face of rays for each guess, enlarged by pricing.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> rays_route(task).solve().certified
    True
    """
    if refused := _too_many(task):
        return refused
    reason = "no closed form fits: faces of rays for each guess, enlarged by pricing"

    def solve() -> Design:
        found = _searched(task, task.objective)
        return _from_engine(task, "rays", reason, found, found.columns)

    return Plan(reason, solve)


def plain_route(task: Task) -> Plan | str:
    """Solve the whole problem as one linear program: the reference, and for few guesses.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> plain_route(task).solve().certified
    True
    """
    try:
        entries = plain_entries(task.problem)
    except TooLarge as refused:
        return str(refused)
    if entries > PLAIN_ENTRIES:
        return f"the plain program would have {entries} entries, more than {PLAIN_ENTRIES}"
    reason = "the whole problem as one linear program"

    def solve() -> Design:
        task.watch.say(f"solving the plain program with {entries} entries")
        problem, consumer = task.problem, task.consumer
        if consumer.risk_averse:
            losses = consumer.loss.matrix()
            matrix, multipliers, prices = solve_worst_program(
                problem, losses, consumer.support, task.watch
            )
        else:
            found = solve_plain_program(problem, task.watch)
            matrix, multipliers, prices = found.matrix, task.objective.first, found.prices
        mixed = mixture(problem, private_above(problem, dict(enumerate(matrix.T))))
        proof = _best_proof(task, mixed, multipliers, prices, -np.inf)
        return finished(task, "plain", reason, mixed, *proof)

    return Plan(reason, solve)


def _too_many(task: Task) -> str:
    n, most = task.graph.size, task.settings.engine_answers
    return f"{n} answers are more than {most}" if n > most else ""


def _searched(task: Task, objective: Objective) -> EngineResult:
    """Run the engine: the one place that does."""
    start = _started(task, objective.problem)
    return run_approach(objective, gap=task.gap, progress=task.watch, start=start)


def _started(task: Task, problem: Problem) -> dict[int, Face] | None:
    """Return the faces of an earlier design; they are the same sets of rays at every ε."""
    if task.faces is None or not set(task.faces) <= set(problem.guesses.tolist()):
        return None
    return {k: Face(problem, face.heights, face.tight) for k, face in task.faces.items()}


def _from_engine(
    task: Task, route: str, reason: str, found: EngineResult, columns: dict[int, Floats]
) -> Design:
    """Take the columns apart into rays, and keep how the engine came to them."""
    task.watch.say("taking the columns apart into rays")
    mixed = mixture(task.problem, columns)
    enough = found.bound + task.gap / 10 * abs(found.bound)
    if task.consumer.risk_averse and _loss(task, mixed) > enough:
        mixed = reweighed(
            task.problem, task.consumer, mixed, lambda mixed: _loss(task, mixed), enough
        )
    proof = _best_proof(task, mixed, found.multipliers, found.prices, found.bound)
    faces = found.master.faces
    return finished(task, route, reason, mixed, *proof, found.stopped, found.rounds, faces)


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
    """Polish the prices where the solver's tolerance keeps the gap open.

    The bound is that of a Bayesian consumer, for the risk-averse one with the worst prior. One
    guess for each orbit is priced: prices that are equal on orbits treat the others alike.
    """
    averse = task.consumer.risk_averse
    consumer = task.with_prior(multipliers) if averse else task.consumer
    loss = _loss(task, mixed)

    def closed() -> bool:
        return relative_gap(loss, bound) <= task.gap / 2

    if closed() or (np.isfinite(bound) and relative_gap(loss, bound) > task.settings.wide_gap):
        return consumer, prices, bound
    problem = replace(task.objective, problem=task.on_orbits).weighed(multipliers)
    pricer, costs = pricer_for(problem), problem.costs.max(axis=1)
    even = np.bincount(problem.classes, polished(problem, mixed, prices)) / problem.class_sizes
    for tried in (prices, even[problem.classes]):
        nobody = np.zeros(len(tried), bool)
        few = [
            size < part * np.abs(size).mean()
            for size, part in itertools.product((tried, costs), task.settings.given_away)
        ]
        for idle in (nobody, *few):
            if task.watch.say("polishing the prices"):
                return consumer, prices, bound
            checked = price(problem, pricer, tried, problem.guesses, idle)
            if checked.bound > bound:
                prices, bound = checked.lowered, checked.bound
            if closed():
                return consumer, prices, bound
    return consumer, prices, bound


def finished(
    task: Task,
    route: str,
    reason: str,
    mixed: Mixture,
    consumer: Consumer,
    prices: Floats,
    bound: float,
    stopped: bool = False,
    rounds: int = 0,
    faces: dict[int, Face] | None = None,
    *,
    rounding: float = 1e-9,
) -> Design:
    """Make the channels from a mixture of rays and put the design together.

    The prices bound the loss of ``consumer``: the task's, or the one with the worst prior. A
    bound may lie above the loss by no more than ``rounding``; else one of them is wrong.
    """
    general, guesses, labels = _general(task, mixed)
    used, column = np.unique(guesses, return_inverse=True)
    merged = np.zeros((task.graph.size, len(used)))
    np.add.at(merged.T, column, general.T)
    answers = task.graph.labels
    loss = _loss(task, mixed)
    if bound > loss + rounding * abs(loss):
        raise ArithmeticError(
            f"route {route!r} found a bound {bound!r} above the loss {loss!r} of a mechanism"
        )
    return task.answered(
        route,
        reason,
        loss=loss,
        bound=min(bound, loss),
        channel=Channel(merged, inputs=answers, outputs=task.guess_labels(used)),
        general=Channel(general, inputs=answers, outputs=labels),
        certificate=Certificate(task.graph, task.epsilon, consumer, prices),
        stopped=stopped,
        rounds=rounds,
        faces=faces,
    )


def _general(task: Task, mixed: Mixture) -> tuple[Floats, np.ndarray, list[Hashable]]:
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
    return np.array(columns).T, np.array(guesses), labels
