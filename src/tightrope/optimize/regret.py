r"""One mechanism for many consumers: the least worst regret [C, §1.1].

The *regret* of a consumer is what it loses with a mechanism, remapped as it likes, beyond what
it would lose with its own optimal one. Over private columns r with weights w this is

.. math:: \min t \quad\text{with}\quad \sum_r w_r \min_k (c^a_k \cdot r) \le \mathrm{opt}_a + t
   \;\;\text{for every consumer } a, \qquad \sum_r w_r r = 1.

A column is as good as the guesses that the consumers make at it. So pricing goes through the
tuples of guesses of the consumers whose rows matter, one cheapest ray for each tuple.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.channels import Channel, DenseChannel
from tightrope.consumers import Bayesian, Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.planner import design, graph_of
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Heights, Problem

#: Most tuples of guesses that pricing goes through; beyond it rays are looked for greedily.
MOST_TUPLES = 20_000
#: Most rounds of pricing.
MOST_ROUNDS = 200
#: Rays that one round adds at most.
RAYS_A_ROUND = 60
#: Consumers whose multiplier is below this do not take part in the tuples of a round.
IDLE_MULTIPLIER = 1e-9


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

    Examples
    --------
    >>> from tightrope.graphs import Band
    >>> two = [Consumer.of(Band(3), prior="uniform", loss=l) for l in ("binary", "absolute")]
    >>> design_many(Band(3), "ln(2)", two).worst_regret
    0.0
    """

    graph: AnswerGraph
    epsilon: Epsilon
    consumers: tuple[Bayesian, ...]
    channel: Channel
    losses: Floats
    optima: Floats
    regrets: Floats
    worst_regret: float
    bound: float
    certified: bool
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        names = [c.name or str(number + 1) for number, c in enumerate(self.consumers)]
        rows = zip(names, self.losses, self.optima, self.regrets, strict=True)
        return {
            "worst_regret": self.worst_regret,
            "bound": self.bound,
            "certified": self.certified,
            "reason": self.reason,
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
    scale = max(float(np.abs(optima).max()), 1e-300)
    # A mechanism that is best for everybody already needs no search.
    for found in own:
        done = _judged(graph, level, readers, found.general, optima, 0.0, gap * scale)
        if done.worst_regret <= gap * scale:
            return done
    costs = [c.prior.probabilities[:, None] * c.loss.matrix() for c in readers]
    columns = [np.asarray(d.general.matrix()).T for d in own]
    search = _Search(graph, level, costs, optima, np.concatenate(columns))
    channel, bound = search.run(gap * scale)
    return _judged(graph, level, readers, channel, optima, bound, gap * scale)


def _readers(consumers: Sequence[Consumer], graph: AnswerGraph) -> tuple[Bayesian, ...]:
    if not consumers:
        raise InputError("at least one consumer is needed, got none")
    for c in consumers:
        if not isinstance(c, Bayesian):
            raise InputError("one mechanism for many needs consumers with priors")
        if c.loss.size != graph.size:
            raise InputError(
                f"every consumer must be over the {graph.size} answers of {graph.name}, "
                f"got {c.loss.size}"
            )
    return tuple(c for c in consumers if isinstance(c, Bayesian))


def _judged(
    graph: AnswerGraph,
    level: Epsilon,
    readers: tuple[Bayesian, ...],
    channel: Channel,
    optima: Floats,
    bound: float,
    slack: float,
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
    reason = (
        "this mechanism is optimal for every consumer"
        if everybody
        else "columns priced over the tuples of guesses that matter"
    )
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
        reason,
    )


class _Search:
    """Column generation for the least worst regret."""

    def __init__(
        self,
        graph: AnswerGraph,
        level: Epsilon,
        costs: list[Floats],
        optima: Floats,
        columns: Floats,
    ) -> None:
        self.graph, self.level, self.costs, self.optima = graph, level, costs, optima
        alpha = level.alpha
        steep = np.array(
            [alpha ** np.asarray(graph.distances_from(i), float) for i in range(graph.size)]
        )
        columns = columns / columns.max(axis=1, keepdims=True)
        self.columns = np.concatenate([columns, steep, np.ones((1, graph.size))])
        empty = Problem(graph, level, np.zeros((graph.size, 1)))
        self.pricer = pricer_for(empty)

    def run(self, slack: float) -> tuple[Channel, float]:
        """Return the mechanism and the bound on the worst regret."""
        best = 0.0
        weights = np.zeros(0)
        for _ in range(MOST_ROUNDS):
            worst, weights, share, prices = self._master()
            bound, rays = self._priced(share, prices)
            best = max(best, bound)
            if worst - best <= slack / 4 or not len(rays):
                break
            self.columns = np.concatenate([self.columns, rays])
        used = weights > 1e-12
        matrix = (self.columns[used] * weights[used][:, None]).T
        # The columns are private; dividing by sums that differ from 1 by rounding keeps that
        # to rounding, and the judge of a released mechanism decides in integers.
        matrix = matrix / matrix.sum(axis=1, keepdims=True)
        return DenseChannel(matrix, inputs=self.graph.labels), best

    def _master(self) -> tuple[float, Floats, Floats, Floats]:
        from scipy.optimize import linprog

        worth = np.stack([(c.T @ self.columns.T).min(axis=0) for c in self.costs])
        count = len(self.columns)
        scale = 1 / max(float(np.abs(self.optima).max()), 1e-12)
        found = linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=np.hstack([worth * scale, -np.ones((len(worth), 1))]),
            b_ub=self.optima * scale,
            A_eq=np.hstack([self.columns.T, np.zeros((self.graph.size, 1))]),
            b_eq=np.ones(self.graph.size),
            bounds=[(0, None)] * count + [(None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            raise CheckFailed(f"the regret program was not solved: {found.message.strip()}")
        share = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        share /= max(float(share.sum()), 1e-300)
        prices = np.asarray(found.eqlin.marginals) / scale
        return float(found.fun) / scale, found.x[:-1], share, prices

    def _priced(self, share: Floats, prices: Floats) -> tuple[float, Floats]:
        """Return the bound that these multipliers prove, and rays that improve the mechanism."""
        active = np.flatnonzero(share > IDLE_MULTIPLIER)
        share = np.where(share > IDLE_MULTIPLIER, share, 0.0)
        share = share / share.sum()
        counts = [self.costs[a].shape[1] for a in active]
        if math.prod(counts) > MOST_TUPLES:
            return self._greedy(active, share, prices)
        tuples = list(itertools.product(*(range(count) for count in counts)))
        combined = np.zeros((self.graph.size, len(tuples)))
        for place, a in enumerate(active):
            combined += share[a] * self.costs[a][:, [t[place] for t in tuples]]
        problem = Problem(self.graph, self.level, combined)
        found = price(problem, self.pricer, prices, problem.guesses)
        bound = found.bound - float(share @ self.optima)
        order = np.argsort(found.values)[:RAYS_A_ROUND]
        order = order[found.values[order] < -1e-13]
        return bound, self._rays(found.heights[order])

    def _greedy(self, active: Any, share: Floats, prices: Floats) -> tuple[float, Floats]:
        """Too many tuples: let guesses follow the column and the column the guesses."""
        rays = []
        for first in self.columns:
            column, last = first, None
            for _ in range(10):
                guesses = tuple(int((self.costs[a].T @ column).argmin()) for a in active)
                if guesses == last:
                    break
                last = guesses
                combined = sum(
                    share[a] * self.costs[a][:, k] for a, k in zip(active, guesses, strict=True)
                )
                problem = Problem(self.graph, self.level, np.asarray(combined)[:, None])
                found = price(problem, self.pricer, prices, problem.guesses)
                column = self._rays(found.heights)[0]
                if found.values[0] < -1e-13:
                    rays.append(column)
        unique = np.unique(np.array(rays), axis=0) if rays else np.zeros((0, self.graph.size))
        return 0.0, unique[:RAYS_A_ROUND]

    def _rays(self, heights: Heights) -> Floats:
        low = heights - heights.min(axis=1, keepdims=True) if len(heights) else heights
        return np.asarray(self.level.alpha ** low.astype(float)).reshape(-1, self.graph.size)
