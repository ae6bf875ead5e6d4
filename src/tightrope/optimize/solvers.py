"""Routes that search: the dual program, the engine on orbits and rays, the plain program.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.errors import TooLarge
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.columns import private_columns
from tightrope.optimize.dual import dual_variables, solve_dual_program
from tightrope.optimize.engine import run_engine
from tightrope.optimize.faces import Face
from tightrope.optimize.master import solve_whole
from tightrope.optimize.objective import Objective
from tightrope.optimize.orbits import expanded
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.progress import Stopped
from tightrope.optimize.result import Design
from tightrope.optimize.task import RoutePlan, Task


def dual_route(task: Task) -> RoutePlan | str:
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
    if refused := too_many(task):
        return refused
    # A guess is one of few orbits at best: what is too long for one need not be looked at.
    most = task.settings.dual_variables
    count = 2 * task.graph.edge_count
    if count <= most:
        problem = task.on_orbits
        count = dual_variables(problem)
    if count > most:
        return f"the dual program would have {count} multipliers, more than {most}"
    reason = "few answers: prices and their proof by one linear program"

    def solve() -> Design:
        task.watch.say(f"solving the dual program with {count} multipliers")
        columns, prices = solve_dual_program(problem, task.watch)
        # Solver output is repaired to exact feasibility.
        private = private_columns(problem, columns, task.watch)
        if task.symmetries is not None:
            private = expanded(private, task.symmetries)
        return finished(task, private, task.objective.first, prices)

    return RoutePlan(reason, solve)


def orbits_route(task: Task) -> RoutePlan | str:
    """Column generation on orbits of guesses, where symmetries keep prior and loss.

    >>> from tightrope.graphs import PathPower
    >>> orbits_route(Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute"))
    'no symmetry of the graph keeps prior and loss'
    """
    if refused := too_many(task):
        return refused
    group = task.symmetries
    if group is None:
        return "no symmetry of the graph keeps prior and loss"
    reason = f"{group.order} symmetries keep prior and loss: one guess for each orbit"

    def solve() -> Design:
        objective = replace(task.objective, problem=task.on_orbits)
        return _searched(task, objective, lambda columns: expanded(columns, group))

    return RoutePlan(reason, solve)


def rays_route(task: Task) -> RoutePlan | str:
    """Column generation: a face of rays for each guess, enlarged by pricing.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> rays_route(task).solve().certified
    True
    """
    if refused := too_many(task):
        return refused
    reason = "no closed form fits: faces of rays for each guess, enlarged by pricing"
    return RoutePlan(reason, lambda: _searched(task, task.objective))


def plain_route(task: Task) -> RoutePlan | str:
    """Solve the whole problem as one linear program: the reference, and for few guesses.

    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(5, 2), 1, prior="0.1,0.2,0.3,0.3,0.1", loss="absolute")
    >>> plain_route(task).solve().certified
    True
    """
    try:
        problem = task.problem
    except TooLarge as refused:
        return str(refused)
    most = task.settings.program_entries
    # For each guess two privacy rows of two entries per edge, and one entry per sum.
    of_guess = 4 * len(problem.edges) + problem.size
    entries = len(problem.guesses) * of_guess
    if entries > most:
        return f"the plain program would have {entries} entries, more than {most}"
    reason = "the whole problem as one linear program"

    def solve() -> Design:
        task.watch.say(f"solving the plain program with {entries} entries")
        solved = solve_whole(task.objective, task.watch)
        private = private_columns(problem, solved.columns, task.watch)
        return finished(task, private, solved.multipliers, solved.prices)

    return RoutePlan(reason, solve)


def too_many(task: Task) -> str:
    """Return why a question is too large for routes that list all distances, or nothing."""
    n = task.graph.size
    most = task.settings.engine_answers
    return f"{n} answers are more than {most}" if n > most else ""


def _searched(
    task: Task,
    objective: Objective,
    expand: Callable[[dict[int, Floats]], dict[int, Floats]] = lambda columns: columns,
) -> Design:
    """Make a design of what the engine finds, and keep how it came to it."""
    reached = run_engine(
        objective,
        gap=task.gap,
        progress=task.watch,
        start=_started(task, objective.problem),
        settings=task.settings,
    )
    return finished(
        task,
        expand(reached.columns),
        reached.multipliers,
        reached.prices,
        proved=True,
        stopped=reached.stopped,
        rounds=reached.rounds,
        faces=reached.faces,
    )


def _started(task: Task, problem: Problem) -> dict[int, Face] | None:
    """Return the faces of an earlier design; they are the same sets of rays at every ε."""
    if task.faces is None or not set(task.faces) <= set(problem.guesses.tolist()):
        return None
    return {
        k: Face(problem, face.heights, face.tight) for k, face in task.faces.items()
    }


def finished(
    task: Task,
    columns: dict[int, Floats],
    multipliers: Floats,
    prices: Floats,
    *,
    proved: bool = False,
    rounding: float = 1e-9,
    **search: Any,
) -> Design:
    """Put the design of private columns together; price the prices unless they are ``proved``.

    The bound is that of a Bayesian consumer, for the risk-averse one with the worst prior
    (``multipliers``). It may lie above the loss by no more than ``rounding``; else one of them is
    wrong. ``search`` says how an engine came to it.
    """
    guesses = np.array(sorted(columns))
    matrix = np.array([columns[k] for k in guesses.tolist()]).T
    averse = task.consumer.risk_averse
    consumer = task.with_prior(multipliers) if averse else task.consumer
    if not proved:
        # One guess for each orbit: prices that are equal on orbits treat the others alike.
        problem = replace(task.objective, problem=task.on_orbits).weighed(multipliers)
        pricer = Pricer(problem, task.watch)
        try:
            prices = price(problem, pricer, prices, problem.guesses).prices
        except Stopped:
            # The mechanism stays, and what needs no proof.
            prices = np.zeros(task.graph.size)
            search["stopped"] = True
    # λ_i = π_i min_k ℓ(i,k) is feasible: no bound is below the trivial one.
    trivial = consumer.prior.probabilities * task.least_losses
    prices = max(prices, trivial, key=np.sum)
    loss = task.objective.worth(columns)
    bound = float(prices.sum())
    if bound > loss + rounding * abs(loss):
        raise ArithmeticError(
            f"a search found a bound {bound!r} above the loss {loss!r}"
        )
    channel = Channel(
        matrix, inputs=task.graph.labels, outputs=task.guess_labels(guesses)
    )
    return task.answered(
        loss=loss,
        bound=min(bound, loss),
        channel=channel,
        certificate=Certificate(task.graph, task.epsilon, consumer, prices),
        **search,
    )
