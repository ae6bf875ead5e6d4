"""The planner: the cheapest route that is proved optimal, and the reason for it.

Like a query optimiser it recognises structure first and falls back to general engines. Every
route ends with the same certificate: prices that bound the loss of every private mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tightrope.arrays import LIMITS, Floats, Ints
from tightrope.channels import Channel
from tightrope.consumers import Consumer, best_remap, expected_loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TightropeError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.lines import width_of_line
from tightrope.mechanisms import exponential, geometric, independent
from tightrope.optimize import (
    boxstep,
    closed_forms,
    cosets,
    depths,
    posterior,
    solvers,
    sums,
    unbounded,
)
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.covers import with_cover
from tightrope.optimize.layers import layered_prices
from tightrope.optimize.minimax import minimax_remap
from tightrope.optimize.progress import Stopped, Watch
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import RoutePlan, Task
from tightrope.progress import ProgressCallback

Measured = TypeVar("Measured")
#: The routes in the order in which they are tried, each by its name. A route returns a plan, or
#: the reason why it does not fit.
ROUTES: Mapping[str, Callable[[Task], RoutePlan | str]] = {
    "geometric": closed_forms.geometric_route,
    "tree": closed_forms.tree_route,
    "regular": closed_forms.regular_route,
    "symmetric": closed_forms.symmetric_route,
    "candidate": closed_forms.candidate_route,
    "window": sums.window_route,
    "dual": solvers.dual_route,
    "cosets": cosets.cosets_route,
    "staircases": sums.staircases_route,
    "stretched": sums.stretched_route,
    "depths": depths.depths_route,
    "posterior": posterior.posterior_route,
    "boxstep": boxstep.boxstep_route,
    "orbits": solvers.orbits_route,
    "rays": solvers.rays_route,
    "unbounded": unbounded.unbounded_route,
    "plain": solvers.plain_route,
}
#: The routes that list no answers one by one: the only ones for the largest questions.
UNLISTED = ("window", "stretched", "unbounded")
#: The routes after which no other is tried: none would be better in less time.
LAST = ("window", "stretched", "orbits", "rays", "unbounded")
#: The routes that take time; the others are tried even when time is up.
SEARCHES = (
    "window",
    "dual",
    "cosets",
    "staircases",
    "stretched",
    "depths",
    "posterior",
    "boxstep",
    "orbits",
    "rays",
    "plain",
)


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
    progress: ProgressCallback | None = None,
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
    >>> best = design("path(6)", "ln(2)")
    >>> best.route, round(best.expected_loss, 6), best.certified
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
    best = _routed(task, route)
    if route is None and graph.size <= LIMITS.row:
        best = with_cover(task, best)
    # Time that was up when the proof had closed cost nothing.
    stopped = (best.stopped or watch.over) and not best.certified
    watch.say("comparing with simple noise")
    baselines = best.baselines or _baselines(task, best)
    return replace(best, baselines=baselines, seconds=watch.seconds, stopped=stopped)


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
    is_long = graph.size > LIMITS.row
    explained = []
    for name in ROUTES:
        plan = too_long if is_long and name not in UNLISTED else _planned(task, name)
        fits = isinstance(plan, RoutePlan)
        explained.append(
            (name, fits, plan.reason if isinstance(plan, RoutePlan) else plan)
        )
    return explained


def _planned(task: Task, name: str) -> RoutePlan | str:
    """Return the plan of a route, or why it has none: too large, or a solve that failed."""
    try:
        return ROUTES[name](task)
    except (CheckFailed, TooLarge) as failed:
        return str(failed)


def _routed(task: Task, name: str | None) -> Design:
    """Return the design of the first route that is certified, or of the engine.

    A closed form whose prices do not hold up, or a dual program whose digits do not suffice, is
    followed by the engine, whose answer stands: a linear program over all columns would take far
    longer for digits that the engine has already. A route that refuses the size or whose solve
    fails is followed by the next one: only bad input ends a design.
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
    task.watch.say("looking for a closed form")
    # Noise without ends is for the worst answer: its bound is none for another consumer. On long
    # lines minimum cuts would take hours.
    width = width_of_line(task.graph) or 0
    long = task.graph.size * width > task.settings.staircase_entries
    last = ("orbits", "rays", "unbounded", "plain") if long else ("unbounded", "plain")
    for name in _names(task):
        if name in last and best is not None:
            break
        if name in SEARCHES and task.watch.say(f"looking at the route {name}"):
            return _incumbent(task, best)
        plan = _planned(task, name)
        if isinstance(plan, str):
            continue
        try:
            solved = _solved(task, name, plan)
        except (CheckFailed, TooLarge):
            continue
        best = solved if best is None else _best_of(best, solved)
        if best.certified or solved.stopped or name in LAST:
            break
        # The next route starts from the faces and prices of this one.
        task = task.starting_from(solved)
    if best is None and task.graph.size > LIMITS.row:
        raise InputError(
            f"no route fits {task.graph.name}, whose {task.graph.size} answers cannot be listed: "
            "it needs a loss that has a name and a uniform prior or --risk-averse all; else ask "
            "about fewer answers"
        )
    if best is None:
        return _without_search(task)
    # Noise without ends is for the worst answer. Where a prior is narrow, or a median moves by half
    # of its range, one guess for everybody may lose less.
    by_rule = not isinstance(best.certificate, Certificate)
    if by_rule and not best.certified and task.graph.size <= LIMITS.row:
        return _best_of(best, _without_search(task))
    return best


def _names(task: Task) -> list[str]:
    """Return the routes in the order in which they are tried for a question of this size."""
    size = task.graph.size
    settings = task.settings
    consumer = task.consumer
    if size > LIMITS.row:
        return [*UNLISTED]
    if size > settings.listed_answers:
        # Geometric noise is exact on a path; noise without ends is for the worst answer only.
        quick = ("window", "stretched", "geometric", "depths", "posterior", "unbounded")
        return [*quick, *ROUTES]
    worst = (
        consumer.risk_averse
        and consumer.all_answers
        and task.graph.unbounded is not None
    )
    if worst and size > settings.window_answers:
        return [name for name in ROUTES if name not in SEARCHES]
    # Intervals have a gap: the engine is quick enough here to close it.
    search = size <= settings.window_answers
    return [name for name in ROUTES if not (search and name == "stretched")]


def _solved(task: Task, name: str, plan: RoutePlan) -> Design:
    """Follow a plan; where time is up before its proof has closed, return the incumbent."""
    try:
        solved = plan.solve()
    except Stopped:
        return _incumbent(task)
    solved = replace(solved, route=name, reason=plan.reason, scale=task.scale)
    return _incumbent(task, solved) if solved.stopped else solved


def _incumbent(task: Task, best: Design | None = None) -> Design:
    """Return the best without a search: simple noise, or a theorem that has the smaller gap."""
    simple = replace(_without_search(task), stopped=True)
    best = simple if best is None else _best_of(best, simple)
    large = task.graph.size > task.settings.window_answers
    for name in ("stretched", "unbounded") if large else ():
        plan = _planned(task, name)
        if isinstance(plan, RoutePlan):
            other = replace(plan.solve(), route=name, reason=plan.reason, stopped=True)
            best = _best_of(best, other)
    return best


def _best_of(*designs: Design, close: float = 1.01) -> Design:
    """Return the best mechanism with the best bound: a bound holds for every mechanism.

    A certificate without a list of prices stays with its noise: of mechanisms with close losses
    the one with the smallest gap is taken.
    """
    best = min(designs, key=lambda design: design.expected_loss)
    of_all: dict[str, Any] = {
        "stopped": any(design.stopped for design in designs),
        "baselines": {k: v for design in designs for k, v in design.baselines.items()},
    }
    if not all(isinstance(design.certificate, Certificate) for design in designs):
        least = close * best.expected_loss
        near = [design for design in designs if design.expected_loss <= least]
        return replace(min(near, key=lambda design: design.gap), **of_all)
    proof = max(designs, key=lambda design: design.bound)
    return replace(best.proved_by(proof), **of_all)


class _Simple(NamedTuple):
    """Noise, the guess for each of its outputs, and the consumer's loss."""

    noise: Channel
    guess: Ints
    loss: float


def _without_search(task: Task) -> Design:
    r"""Return simple noise, or the same guess for everybody, whichever loses less.

    The prices :math:`\lambda_i = \pi_i \min_k \ell(i,k)` are feasible, as every cost is above
    them; those proved layer by layer are mostly far better, where all distances can be listed.
    """
    judged = {"": _one_guess(task)} | _simple_noise(task)
    best = min(judged.values(), key=lambda simple: simple.loss)
    prices = [task.prior * task.least_losses]
    if _is_listed(task):
        lost = _lost(task, best.noise, best.guess)
        prices += [
            layered_prices(task.on_orbits, task.prior * part, task.watch)
            for part in (lost, np.ones(task.graph.size))
        ]
    most = max(prices, key=np.sum)
    averse = task.consumer.risk_averse
    return task.answered(
        route="noise",
        reason="simple noise with the best remap, or one guess for everybody",
        loss=best.loss,
        bound=min(float(most.sum()), best.loss),
        channel=closed_forms.guessed(task, best.noise, best.guess),
        general=best.noise,
        guess=best.guess,
        certificate=Certificate(task.graph, task.epsilon, task.bayesian, most),
        # A random remap may do better for the worst answer.
        baselines={}
        if averse
        else {name: simple.loss for name, simple in judged.items() if name},
    )


def _is_listed(task: Task) -> bool:
    """Whether noise and losses for all pairs of answers are listed."""
    return task.graph.size**2 <= task.settings.baseline_entries


def _lost(task: Task, noise: Channel, guess: Ints) -> Floats:
    r"""Return :math:`\ell_i = \sum_o N(i, o)\,\ell(i, \text{guess}(o))`."""
    losses = task.consumer.loss.columns(guess)
    return np.asarray((noise.matrix() * losses).sum(axis=1))


def _simple_noise(task: Task) -> dict[str, _Simple]:
    """Return simple noise with the best remap, by its name; of many answers in closed form."""
    loss = task.consumer.loss
    if _is_listed(task):
        noises = compared(task.graph, task.epsilon, lambda noise: noise)
    elif task.consumer.risk_averse or not (loss.step_rule or loss.is_binary):
        return {}
    else:
        noises = {}
        # Neighbours that lie anywhere, or too many edges to look for the longest.
        with suppress(InputError):
            noises["geometric"] = _along_line(task.graph, task.epsilon)
    judged = {}
    for name, noise in noises.items():
        best = best_remap(noise, task.bayesian)
        value = best.expected_loss
        if task.consumer.risk_averse:
            lost = _lost(task, noise, best.guess)
            value = float(lost[task.consumer.support].max())
        judged[name] = _Simple(noise, np.asarray(best.guess), value)
    return judged


def _one_guess(task: Task, *, most: int = 32) -> _Simple:
    """Return the best of a few guesses for everybody, which is private at any size.

    Of many answers these are the likeliest one, quantiles of the prior, such as its median, and
    some along all answers: a column of losses may take a tenth of a second, as that of the
    distances between means does.
    """
    loss = task.consumer.loss
    # One output for all answers is private at every ε.
    everybody = Channel(np.ones((task.graph.size, 1)), inputs=task.graph.labels)
    if loss.guess_count * loss.size <= task.settings.baseline_entries:
        guesses = best_remap(everybody, task.bayesian).guess
    else:
        shares = np.arange(1, most) / most
        quantiles = np.searchsorted(np.cumsum(task.prior), shares)
        even = (shares * loss.guess_count).astype(np.int64)
        guesses = np.concatenate([quantiles, even, [task.prior.argmax()]])
        guesses = guesses.clip(0, loss.guess_count - 1)
    judged = {}
    for k in np.unique(guesses).tolist():
        column = loss.column(k)
        averse = task.consumer.risk_averse
        judged[k] = (
            column[task.consumer.support].max() if averse else column @ task.prior
        )
    best = min(judged, key=lambda k: judged[k])
    return _Simple(everybody, np.array([best]), float(judged[best]))


def consumer_of(
    consumer: Consumer | None, graph: AnswerGraph, query: Any = None
) -> Consumer:
    """Return the consumer, by default with a uniform prior and the usual loss; or refuse it."""
    if consumer is None:
        from tightrope.queries import usual_loss

        return Consumer.of(graph, prior="uniform", loss=usual_loss(query))
    if not isinstance(consumer, Consumer):
        raise InputError(
            f"a consumer is needed: Consumer(prior=…, loss=…), got {consumer!r}"
        )
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
    graph = getattr(query, "graph", None)
    if isinstance(graph, AnswerGraph):
        return graph
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


def _baselines(task: Task, best: Design) -> dict[str, float]:
    """Return the loss of geometric and exponential noise with their best remaps."""
    averse = task.consumer.risk_averse
    settings = task.settings
    most = settings.remapped_entries if averse else settings.baseline_entries
    if task.graph.size**2 > most or (averse and task.watch.over):
        if best.route in ("unbounded", "stretched"):
            return unbounded.usual_noise(
                task.graph, task.epsilon, task.consumer.loss.name
            )
        return {best.route: best.expected_loss} if best.route == "geometric" else {}

    def measure(noise: Channel) -> float:
        task.watch.heartbeat()
        if averse:
            return minimax_remap(noise, task.consumer, settings).worst_loss
        return float(expected_loss(noise, task.consumer))

    return compared(task.graph, task.epsilon, measure)
