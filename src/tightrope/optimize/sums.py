"""Routes for answers on a line: staircases, and windows.

Each route takes a task and returns a plan, or the reason why it does not fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightrope.channels import ClampedChannel
from tightrope.consumers import Consumer
from tightrope.graphs import AnswerGraph, PathPower
from tightrope.optimize.closed_forms import geometric_route
from tightrope.optimize.result import Design
from tightrope.optimize.solvers import finished
from tightrope.optimize.staircases import solve_staircases
from tightrope.optimize.task import Plan, Task


def staircases_route(task: Task) -> Plan | str:
    """Column generation over staircases, on a power of a path.

    >>> task = Task.of(PathPower(51, 5), 1, prior="uniform", loss="absolute")
    >>> found = staircases_route(task).solve()
    >>> round(found.expected_loss, 6), found.certified
    (4.10191, True)
    """
    graph, consumer = task.graph, task.consumer
    width = graph.power
    if width is None or graph.has_lengths:
        return f"{graph.name} is not a power of a path"
    if consumer.risk_averse:
        return "staircases are for a consumer with a prior"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    entries, most = graph.size * width, task.settings.staircase_entries
    if entries > most:
        return f"answers times width are {entries}, more than {most}"
    reason = "on a power of a path columns are staircases: one program over their cores"

    def solve() -> Design:
        task.watch.say("searching for staircases")
        costs, prior = task.problem.costs, task.prior
        found = solve_staircases(costs, width, task.alpha, prior, gap=task.gap, watch=task.watch)
        return finished(
            task,
            "staircases",
            reason,
            found.columns,
            task.objective.first,
            found.prices,
            rounds=found.rounds,
            stopped=task.watch.over,
        )

    return Plan(reason, solve)


def _by_distance(task: Task) -> bool:
    loss = task.consumer.loss
    return loss.is_binary or loss.step_rule is not None or loss.name == "distance"


def window_route(task: Task) -> Plan | str:
    """Design on the window that holds the prior; answers outside count as the nearest inside.

    Clamping moves no two answers further apart, so it may stand before any mechanism. A private
    column restricted to the window is private there, and guesses outside it cost no less than the
    nearest inside: what bounds the loss on the window bounds it on all answers.

    >>> from tightrope.queries import query
    >>> task = Task.of(query("sum(500,3)").graph, 1, prior="binomial(.2)", loss="absolute")
    >>> plan = window_route(task)
    >>> plan.reason
    'the prior lies in 273 of 1501 answers: the others count as the nearest of them'
    """
    graph, consumer = task.graph, task.consumer
    if consumer.risk_averse or not graph.is_line or graph.has_lengths:
        return "a window is for answers on a line and a consumer with a prior"
    if consumer.loss.guess_count != graph.size or not _by_distance(task):
        return "the loss does not grow with the distance along the line"
    if graph.size <= task.settings.window_answers:
        return f"{graph.size} answers need no window"
    if consumer.prior.is_uniform:
        return "a uniform prior has no window"
    start, prior = prior_window(consumer)
    inner = windowed(task, start, prior)
    if 2 * len(prior) > graph.size:
        return f"the prior lies in {len(prior)} of {graph.size} answers, no small window"
    if inner is None:
        return "the window reaches answers between which edges are missing"
    plan = (geometric_route if inner.graph.power == 1 else staircases_route)(inner)
    if isinstance(plan, str):
        return f"in the window of {len(prior)} answers {plan}"
    reason = (
        f"the prior lies in {len(prior)} of {graph.size} answers: "
        "the others count as the nearest of them"
    )

    def solve() -> Design:
        found = plan.solve()
        outputs = found.channel
        channel = ClampedChannel(outputs, graph.size, start, graph.label)
        return replace(
            found,
            graph=graph,
            consumers=(consumer,),
            route="window",
            reason=reason,
            channel=channel,
            general=channel,
            guess=None,
            inner=found,
            start=start,
            faces=None,
        )

    return Plan(reason, solve)


def prior_window(consumer: Consumer, *, bits: int = 61) -> tuple[int, np.ndarray]:
    """Return the first answer, and the probabilities, where they do not round to 0.

    A mechanism file holds a prior in units of 2^-61; outside the window it is 0 there.
    """
    chances = consumer.prior.probabilities
    used = np.flatnonzero(np.rint(np.ldexp(chances, bits)))
    inside = chances[used[0] : used[-1] + 1]
    return int(used[0]), inside / inside.sum()


def windowed(task: Task, start: int, prior: np.ndarray) -> Task | None:
    """Return the task on a window, or nothing where it is no power of a path."""
    graph, size = task.graph, len(prior)
    whole = _whole_up_to(graph)
    if start + size > whole + 1:
        return None
    width = graph.width if isinstance(graph, PathPower) else graph.power
    assert width is not None
    inner = PathPower(
        size,
        max(1, min(width, size - 1)),
        name=f"{graph.name} from {start} to {start + size - 1}",
        label=lambda i: graph.label(i + start),
        index=lambda label: graph.index(label) - start,
    )
    consumer = Consumer.of(inner, prior=prior, loss=task.consumer.loss.name)
    return replace(task, graph=inner, consumer=consumer, faces=None)


def _whole_up_to(graph: AnswerGraph) -> int:
    """Return the last answer up to which all edges of the power of a path are there."""
    if graph.power is not None:
        return graph.size - 1
    return int(getattr(graph, "cap", -1))
