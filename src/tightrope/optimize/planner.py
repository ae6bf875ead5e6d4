"""The planner: the cheapest route that is proved optimal, and the reason for it.

Like a query optimiser it recognises structure first and falls back to general engines. Every
route ends with the same certificate: prices that bound the loss of every private mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer, best_remap, expected_loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TightropeError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import LIMITS
from tightrope.mechanisms import exponential, geometric, independent
from tightrope.optimize import closed_forms, solvers, sums, unbounded
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.layers import layered_prices
from tightrope.optimize.minimax import minimax_remap
from tightrope.optimize.progress import Callback, Stopped, Watch
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import Plan, Task

Measured = TypeVar("Measured")
#: The routes in the order in which they are tried, each by its name. A route returns a plan, or
#: the reason why it does not fit.
ROUTES: Mapping[str, Callable[[Task], Plan | str]] = {
    "geometric": closed_forms.geometric_route,
    "tree": closed_forms.tree_route,
    "regular": closed_forms.regular_route,
    "symmetric": closed_forms.symmetric_route,
    "candidate": closed_forms.candidate_route,
    "window": sums.window_route,
    "dual": solvers.dual_route,
    "staircases": sums.staircases_route,
    "stretched": sums.stretched_route,
    "orbits": solvers.orbits_route,
    "rays": solvers.rays_route,
    "unbounded": unbounded.unbounded_route,
    "plain": solvers.plain_route,
}
#: The routes that list no answers one by one: the only ones for the largest questions.
BY_RULE = ("window", "stretched", "unbounded")
#: The routes after which no other is tried: none would be better in less time.
LAST = ("window", "stretched", "orbits", "rays", "unbounded")
#: The routes that take time; the others are tried even when time is up.
SEARCHES = ("window", "dual", "staircases", "stretched", "orbits", "rays", "plain")


def _along_line(graph: AnswerGraph, epsilon: Epsilon) -> Channel:
    """Return geometric noise, except for tuples: nobody numbers them and adds noise to that."""
    if isinstance(graph.label(0), tuple):
        raise InputError(f"the answers of {graph.name} are tuples")
    return geometric(graph, epsilon)


#: The mechanisms that a design is compared with: what would be used instead.
NOISE: Mapping[str, Callable[[AnswerGraph, Epsilon], Channel]] = {
    "geometric": _along_line,
    "independent": independent,
    "exponential": exponential,
}


def design(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumer: Consumer | None = None,
    route: str | None = None,
    gap: float = 1e-9,
    progress: Callback | None = None,
    *,
    time_limit: float | None = None,
    settings: SolverSettings | None = None,
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
        Who uses the answer. By default one with a uniform prior and the usual loss: absolute for
        one number, distance for several, binary for other answers.
    route
        The name of one route, to force it; a refusal says which condition fails.
    gap
        Relative gap between loss and bound at which to stop.
    progress
        Called between the steps of a search; ``True`` stops with the best found so far.
    time_limit
        Seconds after which to stop with the best found so far, and the gap that is proved.
    settings
        The tuned numbers of the search.
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
    watch = Watch.of(progress, time_limit)
    graph = graph_of(query)
    task = Task(
        graph,
        Epsilon.of(epsilon),
        consumer_of(consumer, graph, query),
        checked_gap(gap),
        watch,
        settings or SolverSettings(),
        None if warm is None or warm.graph.size != graph.size else warm.faces,
    )
    if graph.size > LIMITS.row and graph.unbounded is None:
        raise TooLarge(
            f"a design lists a price for each answer, at most {LIMITS.row}, and {graph.name} "
            f"has {graph.size}: analyse or certify a named mechanism, which needs no list"
        )
    if route == "unbounded":
        task = unbounded.worst_case(task)
    found = _routed(task, route)
    # Time that was up when the proof had closed cost nothing.
    stopped = (found.stopped or watch.over) and not found.certified
    watch.say("comparing with simple noise")
    baselines = found.baselines or _baselines(task, found)
    return replace(found, baselines=baselines, seconds=watch.seconds, stopped=stopped)


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
    graph = graph_of(query)
    task = Task(graph, Epsilon.of(epsilon), consumer_of(consumer, graph, query))
    too_long = f"{graph.size} answers are more than {LIMITS.row}"
    told = []
    for name, route in ROUTES.items():
        plan = too_long if graph.size > LIMITS.row and name not in BY_RULE else route(task)
        told.append((name, False, plan) if isinstance(plan, str) else (name, True, plan.reason))
    return told


def _routed(task: Task, name: str | None) -> Design:
    """Return the design of the first route that is certified, or of the engine.

    A closed form whose prices do not hold up, or a dual program whose digits do not suffice, is
    followed by the engine, whose answer stands: a linear program over all columns would take far
    longer for digits that the engine has already.
    """
    if name is not None:
        route = ROUTES.get(name)
        if route is None:
            raise InputError(f"route must be one of {', '.join(ROUTES)}, got {name!r}")
        plan = route(task)
        if isinstance(plan, str):
            raise InputError(f"route {name!r} does not fit: {plan}")
        return _solved(task, name, plan)
    best: Design | None = None
    trouble: CheckFailed | None = None
    task.watch.say("looking for a closed form")
    # Noise without ends is for the worst answer: its bound is none for another consumer. On long
    # lines minimum cuts would take hours.
    long = task.graph.size * (task.graph.power or 0) > task.settings.staircase_entries
    last = ("orbits", "rays", "unbounded", "plain") if long else ("unbounded", "plain")
    for name in _names(task):
        route = ROUTES[name]
        if name in last and best is not None:
            break
        if name in SEARCHES and task.watch.say(f"looking at the route {name}"):
            return _at_hand(task, best)
        plan = route(task)
        if isinstance(plan, str):
            continue
        try:
            found = _solved(task, name, plan)
        except CheckFailed as failed:
            trouble = failed
            continue
        best = found if best is None else _best_of(best, found)
        if best.certified or found.stopped or name in LAST:
            return best
        task = task.starting_from(found)
    if best is not None:
        return best
    raise trouble or InputError(
        f"no route fits {task.graph.name} with its {task.graph.size} answers: it is too large for "
        "a search. count, sum, mean, counts and histogram are designed at any size, with a loss "
        "that has a name and a uniform prior or --risk-averse all; else ask about fewer answers"
    )


def _names(task: Task) -> list[str]:
    """Return the routes in the order in which they are tried for a question of this size."""
    size, settings, consumer = task.graph.size, task.settings, task.consumer
    if size > LIMITS.row:
        return [*BY_RULE]
    if size > settings.listed_answers:
        # Geometric noise is exact on a path; noise without ends is for the worst answer only.
        return ["window", "stretched", "geometric", "unbounded", *ROUTES]
    worst = consumer.risk_averse and consumer.all_answers and task.graph.unbounded is not None
    if worst and size > settings.window_answers:
        return [name for name in ROUTES if name not in SEARCHES]
    # Intervals have a gap: the engine is quick enough here to close it.
    search = size <= settings.window_answers
    return [name for name in ROUTES if not (search and name == "stretched")]


def _solved(task: Task, name: str, plan: Plan) -> Design:
    """Follow a plan; where time is up before its proof has closed, take what is at hand."""
    try:
        found = plan.solve()
    except Stopped:
        return _at_hand(task)
    found = replace(found, route=name, reason=plan.reason, scale=task.scale)
    return _at_hand(task, found) if found.stopped else found


def _at_hand(task: Task, found: Design | None = None) -> Design:
    """Return the best without a search: simple noise, or a rule that has the smaller gap."""
    simple = _without_search(task)
    found = simple if found is None else _best_of(found, simple)
    large = task.graph.size > task.settings.window_answers
    for name in ("stretched", "unbounded") if large else ():
        plan = ROUTES[name](task)
        if isinstance(plan, Plan):
            told = replace(plan.solve(), route=name, reason=plan.reason, stopped=True)
            found = _best_of(found, told)
    return found


def _best_of(one: Design, other: Design, *, close: float = 1.01) -> Design:
    """Return the better mechanism with the better bound: a bound holds for every mechanism.

    A certificate by rule stays with its noise: of two mechanisms with close losses the one with
    the smaller gap is taken.
    """
    best = min(one, other, key=lambda found: found.expected_loss)
    told: dict[str, Any] = {
        "stopped": one.stopped or other.stopped,
        "baselines": one.baselines | other.baselines,
    }
    if not all(isinstance(found.certificate, Certificate) for found in (one, other)):
        near = [x for x in (one, other) if x.expected_loss <= close * best.expected_loss]
        return replace(min(near, key=lambda found: found.gap), **told)
    proof = max(one, other, key=lambda found: found.bound)
    return replace(best.proved_by(proof), **told)


def _without_search(task: Task) -> Design:
    r"""Return what is at hand when time is up: simple noise, or the same guess for everybody.

    The prices :math:`\lambda_i = \min_k c_k(i)` are feasible, as every cost is above them; those
    proved layer by layer are mostly far better.
    """
    consumer, problem, averse = task.bayesian, task.problem, task.consumer.risk_averse
    choices = {"": Channel(np.ones((task.graph.size, 1)), inputs=task.graph.labels)}
    if task.graph.size**2 <= task.settings.baseline_entries:
        choices |= compared(task.graph, task.epsilon, lambda noise: noise)
    found = {}
    for name, noise in choices.items():
        guess = np.asarray(best_remap(noise, consumer).guess)
        channel = closed_forms.guessed(task, noise, guess)
        lost = (noise.matrix() * consumer.loss.matrix()[:, guess]).sum(axis=1)
        loss = float(lost[task.consumer.support].max() if averse else lost @ task.prior)
        found[name] = loss, channel, noise, lost
    loss, channel, general, lost = min(found.values(), key=lambda one: one[0])
    layered = (layered_prices(task.on_orbits, task.prior * part) for part in (lost, lost * 0 + 1))
    prices = max(problem.costs.min(axis=1), *layered, key=np.sum)
    return task.answered(
        route="noise",
        reason="stopped early: simple noise with the best remap is the best at hand",
        loss=loss,
        bound=min(float(prices.sum()), loss),
        channel=channel,
        general=general,
        certificate=Certificate(task.graph, task.epsilon, consumer, prices),
        stopped=True,
        # A random remap may do better for the worst answer.
        baselines={} if averse else {name: one[0] for name, one in found.items() if name},
    )


def consumer_of(consumer: Consumer | None, graph: AnswerGraph, query: Any = None) -> Consumer:
    """Return the consumer, by default with a uniform prior and the usual loss; or refuse it."""
    if consumer is None:
        from tightrope.queries import usual_loss

        return Consumer.of(graph, prior="uniform", loss=usual_loss(query))
    if not isinstance(consumer, Consumer):
        raise InputError(f"a consumer is needed: Consumer(prior=…, loss=…), got {consumer!r}")
    if consumer.loss.size != graph.size:
        raise InputError(
            f"the consumer must be over the {graph.size} answers of {graph.name}, "
            f"got {consumer.loss.size} rows of losses"
        )
    return consumer


def checked_gap(gap: float) -> float:
    """Return a relative gap, or refuse it."""
    if not 0 < gap < 1:
        raise InputError(f"the gap must be between 0 and 1, got {gap}")
    return gap


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


def compared(
    graph: AnswerGraph, epsilon: Epsilon, measure: Callable[[Channel], Measured | None]
) -> dict[str, Measured]:
    """Return what simple noise is worth by a measure; noise that it refuses is left out."""
    values = {}
    for name, make in NOISE.items():
        with suppress(TightropeError):
            values[name] = measure(make(graph, epsilon))
    return {name: value for name, value in values.items() if value is not None}


def _baselines(task: Task, found: Design) -> dict[str, float]:
    """Return the loss of geometric and exponential noise with their best remaps."""
    averse, settings = task.consumer.risk_averse, task.settings
    most = settings.remapped_entries if averse else settings.baseline_entries
    if task.graph.size**2 > most or (averse and task.watch.over):
        if found.route in ("unbounded", "stretched"):
            return unbounded.usual_noise(task.graph, task.epsilon, task.consumer.loss.name)
        return {found.route: found.expected_loss} if found.route == "geometric" else {}

    def measure(noise: Channel) -> float:
        if averse:
            return minimax_remap(noise, task.consumer, settings).worst_loss
        return float(expected_loss(noise, task.consumer))

    return compared(task.graph, task.epsilon, measure)
