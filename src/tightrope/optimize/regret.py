r"""One mechanism for many consumers: the least worst regret [C, §1.1].

The *regret* of a consumer is what it loses with a mechanism, remapped as it likes, beyond what
it would lose with its own optimal one. Over private columns r with weights w this is

.. math:: \min t \quad\text{with}\quad \sum_r w_r \min_k (c^a_k \cdot r) \le \mathrm{opt}_a + t
   \;\;\text{for every consumer } a, \qquad \sum_r w_r r = 1.

A column is as good as the guesses that the consumers make at it. So pricing goes through the
tuples of guesses of the consumers whose rows matter, by branch and bound, and proves at the
same time that no mechanism does better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.guess_tuples import Crowd
from tightrope.optimize.mixture import peeled, weighed
from tightrope.optimize.planner import design, graph_of
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Heights, Problem
from tightrope.optimize.progress import Callback
from tightrope.optimize.regret_search import Found, search
from tightrope.optimize.result import Design

#: Columns whose largest entry is below this are not worth their rays.
SMALLEST_COLUMN = 1e-11
#: How a mechanism was found.
EVERYBODY = "this mechanism is optimal for every consumer"
TUPLES = "columns priced over the tuples of guesses that matter"
OPEN = "columns priced over tuples of guesses; some branches of the last search stayed open"


@dataclass(frozen=True, eq=False)
class ManyDesign:
    """One mechanism for many consumers.

    Parameters
    ----------
    graph, epsilon, consumers
        What was asked for.
    channel
        The mechanism, before anybody remaps it.
    losses, optima, regrets
        For each consumer its loss with this mechanism, with its own optimal one, and the
        difference.
    worst_regret
        The largest regret.
    bound
        No ε-private mechanism has a smaller worst regret than this.
    certified
        Whether worst regret and bound agree within the gap asked for.
    reason
        How the mechanism was found, in words.
    stopped
        Whether the search was stopped before the bound was reached.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> two = [Consumer.of(PathPower(3), prior="uniform", loss=l) for l in ("binary", "absolute")]
    >>> design_many(PathPower(3), "ln(2)", two).worst_regret
    0.0
    """

    graph: AnswerGraph
    epsilon: Epsilon
    consumers: tuple[Consumer, ...]
    channel: Channel
    losses: Floats
    optima: Floats
    regrets: Floats
    worst_regret: float
    bound: float
    certified: bool
    reason: str
    stopped: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        names = [c.name or str(number + 1) for number, c in enumerate(self.consumers)]
        rows = zip(names, self.losses, self.optima, self.regrets, strict=True)
        return {
            "worst_regret": self.worst_regret,
            "bound": self.bound,
            "certified": self.certified,
            "reason": self.reason,
            "stopped": self.stopped,
            "epsilon": float(self.epsilon),
            "nodes": self.graph.size,
            "consumers": [
                {"name": n, "expected_loss": float(x), "optimum": float(o), "regret": float(r)}
                for n, x, o, r in rows
            ],
        }


def design_many(
    query: Any,
    epsilon: Epsilon | float | Fraction | str,
    consumers: Sequence[Consumer],
    gap: float = 1e-9,
    progress: Callback | None = None,
) -> ManyDesign:
    """Return the mechanism whose worst regret over the consumers is least.

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    epsilon
        The privacy level.
    consumers
        Bayesian consumers over its answers.
    gap
        How far the worst regret may lie above the bound, relative to the largest optimum.
    progress
        Called between the steps of the search with the worst regret and the bound so far;
        ``True`` stops with the best mechanism found, and so does an interruption.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> sure = Consumer(prior=[0.5, 0.25, 0.25], loss=np.ones((3, 3)) - np.eye(3))
    >>> other = Consumer(prior=[0.25, 0.25, 0.5], loss=np.ones((3, 3)) - np.eye(3))
    >>> found = design_many(Clique(3), "ln(3)", [sure, other])
    >>> found.certified, found.worst_regret >= 0
    (True, True)
    """
    graph, level = graph_of(query), Epsilon.of(epsilon)
    readers = _readers(consumers, graph)
    own = [design(graph, level, c) for c in readers]
    optima = np.array([d.expected_loss for d in own])
    slack = gap * max(float(np.abs(optima).max()), 1e-300)
    # A mechanism that is best for everybody already needs no search.
    for one in own:
        done = _judged(graph, level, readers, one.general, optima, 0.0, slack, EVERYBODY)
        if done.worst_regret <= slack:
            return replace(done, certified=_proved(own))
    problem = Problem(graph, level, np.zeros((graph.size, 1)))
    found = search(problem, _crowd(own), optima, _first_rays(problem, own), slack, progress)
    reason = OPEN if not found.finished else TUPLES
    channel = _mixed(problem, found)
    done = _judged(graph, level, readers, channel, optima, found.bound, slack, reason)
    return replace(done, certified=done.certified and _proved(own), stopped=found.stopped)


def _proved(own: Sequence[Design]) -> bool:
    """Whether the optima that regret is measured from are proved themselves."""
    return all(one.certified for one in own)


def _crowd(own: Sequence[Design]) -> Crowd:
    """Return the consumers' costs, without guesses that others replace, and their proofs."""
    costs, floors = [], []
    for one in own:
        assert not one.consumer.risk_averse
        assert one.certificate is not None
        problem = Problem.of(one.graph, one.epsilon, one.consumer)
        checked = price(problem, pricer_for(problem), one.certificate.prices, problem.guesses)
        costs.append(np.unique(problem.costs[:, problem.useful], axis=1))
        floors.append(checked.lowered)
    return Crowd(tuple(costs), np.array(floors), own[0].epsilon.alpha)


def _first_rays(problem: Problem, own: Sequence[Design]) -> Heights:
    """Return the rays of everybody's own mechanism, those around one answer and the flat one."""
    rays = [*problem.distances, np.zeros(problem.size, problem.distances.dtype)]
    for one in own:
        matrix = np.asarray(one.general.matrix())
        for column in matrix.T[matrix.max(axis=0) > SMALLEST_COLUMN]:
            rays += [ray for ray, _ in peeled(problem, column)]
    return np.array(rays)


def _mixed(problem: Problem, found: Found) -> Channel:
    """Return the mechanism: rays, which are private, with weights that make rows sum to 1."""
    guess = np.zeros(len(found.weights), np.int64)
    mixed = weighed(problem, found.heights, guess, found.weights)
    columns = (problem.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None]
    if mixed.rest.max() > 0:
        columns = np.concatenate([columns, mixed.rest[None, :]])
    return Channel(columns.T, inputs=problem.graph.labels)


def _readers(consumers: Sequence[Consumer], graph: AnswerGraph) -> tuple[Consumer, ...]:
    if not consumers:
        raise InputError("at least one consumer is needed, got none")
    for c in consumers:
        if c.risk_averse:
            raise InputError("one mechanism for many needs consumers with priors")
        if c.loss.size != graph.size:
            raise InputError(
                f"every consumer must be over the {graph.size} answers of {graph.name}, "
                f"got {c.loss.size}"
            )
    return tuple(c for c in consumers if not c.risk_averse)


def _judged(
    graph: AnswerGraph,
    level: Epsilon,
    readers: tuple[Consumer, ...],
    channel: Channel,
    optima: Floats,
    bound: float,
    slack: float,
    reason: str,
) -> ManyDesign:
    """Let every consumer remap the channel as it likes."""
    matrix = np.asarray(channel.matrix())
    losses = np.array(
        [
            (c.loss.matrix().T @ (c.prior.probabilities[:, None] * matrix)).min(axis=0).sum()
            for c in readers
        ]
    )
    regrets = np.maximum(losses - optima, 0.0)
    worst = float(regrets.max())
    everybody = worst <= slack
    if everybody:
        worst, regrets = 0.0 if worst < 1e-12 else worst, np.where(regrets < 1e-12, 0.0, regrets)
    bound = max(0.0, min(bound, worst))
    return ManyDesign(
        graph,
        level,
        readers,
        channel,
        losses,
        optima,
        regrets,
        worst,
        bound,
        worst - bound <= slack,
        EVERYBODY if everybody else reason,
    )
