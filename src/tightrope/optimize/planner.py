"""The planner: the cheapest route that is proved optimal, and the reason for it.

Like a query optimiser it recognises structure first and falls back to general engines. Every
route ends with the same certificate: prices that bound the loss of every private mechanism.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tightrope.channels import Channel
from tightrope.consumers import Consumer, best_remap, expected_loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TightropeError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import ROW_LIMIT
from tightrope.mechanisms import exponential, geometric
from tightrope.optimize import closed_forms, solvers
from tightrope.optimize.plain import plain_entries
from tightrope.optimize.progress import Callback
from tightrope.optimize.remaps import minimax_remap
from tightrope.optimize.result import Design
from tightrope.optimize.task import Task

#: Most entries of the plain program when another engine has an answer, if with a larger gap.
SECOND_TRY = 300_000
#: The mechanisms that a design is compared with.
NOISE: dict[str, Callable[[AnswerGraph, Epsilon], Channel]] = {
    "geometric": geometric,
    "exponential": exponential,
}
#: Largest number of entries of a baseline mechanism that is evaluated for comparison.
BASELINE_ENTRIES = 4_000_000
#: The same for a risk-averse consumer, whose best remap is a linear program.
REMAPPED_ENTRIES = 10_000


@dataclass(frozen=True)
class Route:
    """One way to an optimal mechanism.

    Parameters
    ----------
    name
        What ``route=`` calls it.
    accepts
        Returns the reason why the route fits, after ``True``, or why not, after ``False``.
    solve
        Solves the task, given the reason.

    Examples
    --------
    >>> [route.name for route in ROUTES]
    ['geometric', 'tree', 'regular', 'symmetric', 'candidate', 'dual', 'orbits', 'rays', 'plain']
    """

    name: str
    accepts: Callable[[Task], tuple[bool, str]]
    solve: Callable[[Task, str], Design]


ROUTES: tuple[Route, ...] = (
    Route("geometric", closed_forms.accepts_geometric, closed_forms.solve_geometric),
    Route("tree", closed_forms.accepts_tree, closed_forms.solve_tree),
    Route("regular", closed_forms.accepts_regular, closed_forms.solve_regular),
    Route("symmetric", closed_forms.accepts_symmetric, closed_forms.solve_symmetric),
    Route("candidate", closed_forms.accepts_candidate, closed_forms.solve_candidate),
    Route("dual", solvers.accepts_dual, solvers.solve_dual),
    Route("orbits", solvers.accepts_orbits, solvers.solve_orbits),
    Route("rays", solvers.accepts_rays, solvers.solve_rays),
    Route("plain", solvers.accepts_plain, solvers.solve_plain),
)


def design(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumer: Consumer | None = None,
    route: str | None = None,
    gap: float = 1e-9,
    progress: Callback | None = None,
    *,
    warm: Design | None = None,
) -> Design:
    r"""Return the ε-private mechanism with the least loss for a consumer [C, (2)-(7)].

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    epsilon
        The privacy level.
    consumer
        Who reads the answer; a uniform prior and binary loss by default.
    route
        The name of one route, to force it; a refusal says which condition fails.
    gap
        Relative gap between loss and bound at which to stop.
    progress
        Called after each round of an engine; ``True`` stops with the best found so far.
    warm
        An earlier design, for a neighbouring ε on the same graph and loss, to start from.

    Examples
    --------
    >>> found = design("path(6)", "ln(2)")
    >>> found.route, round(found.expected_loss, 6), found.certified
    ('geometric', 0.555556, True)
    >>> design("cycle(5)", "ln(2)", route="tree")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: route 'tree' does not fit: cycle(5) is not a tree
    """
    clock = time.perf_counter()
    task = _task(query, epsilon, consumer, gap, progress, warm)
    if task.graph.size > ROW_LIMIT:
        raise TooLarge(
            f"a design lists a price for each answer, at most {ROW_LIMIT}, and {task.graph.name} "
            f"has {task.graph.size}: analyse or certify a named mechanism, which needs no list"
        )
    found = _routed(task, route)
    baselines = _baselines(task, found)
    if found.stopped:
        found = _no_worse_than_noise(task, found, baselines)
    return replace(found, baselines=baselines, seconds=time.perf_counter() - clock)


def explain_routes(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumer: Consumer | None = None,
) -> list[tuple[str, bool, str]]:
    """Return for every route its name, whether it fits, and the reason.

    >>> for name, fits, why in explain_routes("choice(3)", 1)[1:4]:
    ...     print(name, fits, why)
    tree False choice(3) is not a tree
    regular True the prior is regular and binary loss asks for the likeliest answer
    symmetric True every answer sees the same balls, and prior and loss treat all alike
    """
    task = _task(query, epsilon, consumer, 1e-9, None, None)
    return [(route.name, *route.accepts(task)) for route in ROUTES]


def _routed(task: Task, name: str | None) -> Design:
    if name is not None:
        names = [route.name for route in ROUTES]
        if name not in names:
            raise InputError(f"route must be one of {', '.join(names)}, got {name!r}")
        route = ROUTES[names.index(name)]
        fits, why = route.accepts(task)
        if not fits:
            raise InputError(f"route {name!r} does not fit: {why}")
        return route.solve(task, why)
    last: Design | None = None
    trouble: CheckFailed | None = None
    for route in ROUTES:
        fits, why = route.accepts(task)
        if not fits:
            continue
        if route.name == "plain" and last is not None and plain_entries(task.problem) > SECOND_TRY:
            break
        try:
            found = route.solve(task, why)
        except CheckFailed as failed:
            if route is ROUTES[-1] and last is None:
                raise
            trouble = failed
            continue
        if found.certified or found.stopped:
            return found
        # A closed form whose certificate does not hold up is not believed; go on.
        last = found if last is None else _best_of(last, found)
        if last.certified:
            return last
    if last is None and trouble is not None:
        raise trouble
    if last is None:
        raise InputError(f"no route fits {task.graph.name}: it is too large for every engine")
    return last


def _best_of(one: Design, other: Design) -> Design:
    """Return the better mechanism with the better bound: a bound holds for every mechanism."""
    best = min(one, other, key=lambda found: found.expected_loss)
    proof = max(one, other, key=lambda found: found.bound)
    return replace(best, certificate=proof.certificate, bound=min(proof.bound, best.expected_loss))


def _task(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumer: Consumer | None,
    gap: float,
    progress: Callback | None,
    warm: Design | None,
) -> Task:
    graph = graph_of(query)
    level = Epsilon.of(epsilon)
    if not 0 < gap < 1:
        raise InputError(f"the gap must be between 0 and 1, got {gap}")
    who = Consumer.of(graph, prior="uniform", loss="binary") if consumer is None else consumer
    if not isinstance(who, Consumer):
        raise InputError(f"a consumer is needed: Consumer(prior=…, loss=…), got {who!r}")
    if who.loss.size != graph.size:
        raise InputError(
            f"the consumer must be over the {graph.size} answers of {graph.name}, "
            f"got {who.loss.size} rows of losses"
        )
    faces = None if warm is None or warm.graph.size != graph.size else warm.faces
    return Task(graph, level, who, gap, progress, faces)


def graph_of(query: Any) -> AnswerGraph:
    """Return the answer graph of a query, its text, or a graph itself.

    >>> graph_of("sum(3,5)").size
    16
    """
    if isinstance(query, AnswerGraph):
        return query
    if isinstance(query, str):
        from tightrope.queries import query as read

        return read(query).graph
    found = getattr(query, "graph", None)
    if isinstance(found, AnswerGraph):
        return found
    raise InputError(f"a query, its text or an answer graph is needed, got {query!r}")


def _baselines(task: Task, found: Design) -> dict[str, float]:
    """Return the loss of geometric and exponential noise with their best remaps."""
    values: dict[str, float] = {}
    averse = task.consumer.risk_averse
    if task.graph.size**2 > (REMAPPED_ENTRIES if averse else BASELINE_ENTRIES):
        return {found.route: found.expected_loss} if found.route == "geometric" else {}
    for name, make in NOISE.items():
        try:
            noise = make(task.graph, task.epsilon)
            if task.consumer.risk_averse:
                values[name] = minimax_remap(noise, task.consumer).worst_loss
            else:
                values[name] = float(expected_loss(noise, task.bayesian))
        except TightropeError:
            continue
    return values


def _no_worse_than_noise(task: Task, found: Design, baselines: dict[str, float]) -> Design:
    """Return what a search had when it was stopped, or plain noise where that is better."""
    losses = {} if task.consumer.risk_averse else baselines
    name = min(losses, key=lambda name: losses[name], default=None)
    if name is None or losses[name] >= found.expected_loss:
        return found
    noise = NOISE[name](task.graph, task.epsilon)
    best = best_remap(noise, task.bayesian)
    return replace(
        found,
        reason=f"stopped early, when {name} noise with the best remap was still better",
        expected_loss=best.expected_loss,
        channel=closed_forms.guessed(task, noise, best.guess),
        general=noise,
    )
