r"""Design under a limit on leakage, with or without a privacy level.

The posterior vulnerability of a channel for an attacker with prior :math:`\rho` and gain g is

.. math:: V = \sum_o \max_w \sum_i \rho_i\, g(w, i)\, X_{io}.

Merging outputs that lead to the same guess never makes it larger, so one column for each guess
is enough here too, and both "least loss with :math:`V \le v`" and "least V with loss
:math:`\le L`" are linear programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.channels import Channel, DenseChannel
from tightrope.consumers import Bayesian, Consumer, DensePrior, Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.optimize.mixture import mixture
from tightrope.optimize.planner import graph_of
from tightrope.optimize.problem import Floats, Problem

#: Most entries of the constraint matrix.
LIMITED_ENTRIES = 6_000_000


@dataclass(frozen=True, eq=False)
class LimitedDesign:
    """A mechanism under a limit on leakage or loss.

    Parameters
    ----------
    graph, epsilon, consumer
        What was asked for; ``epsilon`` is ``None`` without a privacy level.
    channel
        The mechanism; each output is the guess that it serves.
    expected_loss, vulnerability
        What the mechanism loses, and what the attacker gains from it.
    bound
        What no mechanism under the same limits is below, of the quantity minimised, to the
        accuracy of the solver.
    minimised
        ``"loss"`` or ``"vulnerability"``.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> found = design_limited(Clique(3), max_vulnerability=0.5)
    >>> round(found.expected_loss, 6), round(found.vulnerability, 6)
    (0.5, 0.5)
    """

    graph: AnswerGraph
    epsilon: Epsilon | None
    consumer: Bayesian
    channel: Channel
    expected_loss: float
    vulnerability: float
    bound: float
    minimised: str

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        return {
            "expected_loss": self.expected_loss,
            "vulnerability": self.vulnerability,
            "bound": self.bound,
            "minimised": self.minimised,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "nodes": self.graph.size,
        }


def design_limited(
    query: Any,
    consumer: Consumer | None = None,
    *,
    epsilon: Epsilon | float | Fraction | str | None = None,
    max_vulnerability: float | None = None,
    max_loss: float | None = None,
    attacker_prior: Prior | ArrayLike | None = None,
    gain: ArrayLike | None = None,
) -> LimitedDesign:
    """Return the mechanism with the least loss, or the least vulnerability, under limits.

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    consumer
        A Bayesian consumer; a uniform prior and binary loss by default.
    epsilon
        A privacy level to keep as well.
    max_vulnerability
        Minimise the loss with a vulnerability of at most this.
    max_loss
        Minimise the vulnerability with a loss of at most this.
    attacker_prior, gain
        The attacker: the consumer's prior and the gain of a right guess by default. The gain
        has one row for each action and one column for each answer.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> found = design_limited(Clique(4), max_loss=0.4)
    >>> found.minimised, round(found.vulnerability, 6)
    ('vulnerability', 0.6)
    """
    graph = graph_of(query)
    if (max_vulnerability is None) == (max_loss is None):
        raise InputError("give one limit: max_vulnerability or max_loss")
    who = Consumer.of(graph, prior="uniform", loss="binary") if consumer is None else consumer
    if not isinstance(who, Bayesian) or who.loss.size != graph.size:
        raise InputError(f"a consumer with a prior over the {graph.size} answers is needed")
    level = None if epsilon is None else Epsilon.of(epsilon)
    attack = _attack(graph, who, attacker_prior, gain)
    costs = who.prior.probabilities[:, None] * who.loss.matrix()
    _check_limit(max_vulnerability, float(attack.sum(axis=1).max()), "vulnerability", "an attacker")
    _check_limit(max_loss, 0.0, "loss", "a mechanism")
    matrix, bound = _program(graph, level, costs, attack, max_vulnerability, max_loss)
    matrix = _private(graph, level, costs, matrix)
    used = np.flatnonzero(matrix.max(axis=0) > 0)
    labels = [who.loss.guess_label(int(k)) for k in used]
    return LimitedDesign(
        graph=graph,
        epsilon=level,
        consumer=who,
        channel=DenseChannel(matrix[:, used], inputs=graph.labels, outputs=labels),
        expected_loss=float((costs * matrix).sum()),
        vulnerability=float((attack @ matrix).max(axis=0).sum()),
        bound=bound,
        minimised="loss" if max_loss is None else "vulnerability",
    )


def trade_off(
    query: Any,
    consumer: Consumer | None = None,
    *,
    points: int | Sequence[float] = 9,
    epsilon: Epsilon | float | Fraction | str | None = None,
    attacker_prior: Prior | ArrayLike | None = None,
    gain: ArrayLike | None = None,
) -> list[LimitedDesign]:
    """Return the least loss for limits on vulnerability from none learned to all learned.

    Parameters
    ----------
    query, consumer, epsilon, attacker_prior, gain
        As for :func:`design_limited`.
    points
        The limits, or how many of them between the two ends.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> curve = trade_off(Clique(2), points=3)
    >>> [(round(d.vulnerability, 6), round(d.expected_loss, 6)) for d in curve]
    [(0.5, 0.5), (0.75, 0.25), (1.0, 0.0)]
    """
    graph = graph_of(query)
    who = Consumer.of(graph, prior="uniform", loss="binary") if consumer is None else consumer
    if not isinstance(who, Bayesian):
        raise InputError("the trade-off needs a consumer with a prior")
    if isinstance(points, int):
        if points < 2:
            raise InputError(f"a curve needs at least 2 points, got {points}")
        attack = _attack(graph, who, attacker_prior, gain)
        low, high = float(attack.sum(axis=1).max()), float(attack.max(axis=0).sum())
        limits = np.linspace(low, high, points).tolist()
    else:
        limits = list(points)
    return [
        design_limited(
            graph,
            who,
            epsilon=epsilon,
            max_vulnerability=limit,
            attacker_prior=attacker_prior,
            gain=gain,
        )
        for limit in limits
    ]


def _check_limit(limit: float | None, least: float, what: str, whose: str) -> None:
    if limit is not None and (not np.isfinite(limit) or limit < least * (1 - 1e-12)):
        raise InputError(
            f"the limit on {what} must be at least {least:.9g}, which {whose} has without any "
            f"answer, got {limit}"
        )


def _attack(
    graph: AnswerGraph, consumer: Bayesian, prior: Prior | ArrayLike | None, gain: ArrayLike | None
) -> Floats:
    r""":math:`\rho_i\, g(w, i)`, one row for each action."""
    if prior is None:
        rho = consumer.prior.probabilities
    else:
        rho = (prior if isinstance(prior, Prior) else DensePrior(prior)).probabilities
    if rho.shape != (graph.size,):
        raise InputError(f"the attacker's prior must be over the {graph.size} answers")
    table = np.eye(graph.size) if gain is None else np.array(gain, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != graph.size or not np.isfinite(table).all():
        raise InputError(
            f"a gain needs one finite column for each of the {graph.size} answers, "
            f"got shape {table.shape}"
        )
    return np.asarray(table * rho)


def _program(
    graph: AnswerGraph,
    level: Epsilon | None,
    costs: Floats,
    attack: Floats,
    max_vulnerability: float | None,
    max_loss: float | None,
) -> tuple[Floats, float]:
    """Variables: the columns, then for each guess the most that the attacker gains there."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csc_array, eye_array, hstack, kron, vstack

    n, guesses = costs.shape
    actions = len(attack)
    edges = graph.edge_array() if level is not None else np.zeros((0, 2), np.int64)
    entries = guesses * (np.count_nonzero(attack) + actions + 4 * len(edges) + n)
    if entries > LIMITED_ENTRIES:
        raise TooLarge(
            f"the program under a leakage limit would have {entries} entries, more than "
            f"{LIMITED_ENTRIES}: use fewer answers or actions"
        )
    gains = [
        kron(eye_array(guesses), csc_array(attack)),
        kron(-eye_array(guesses), np.ones((actions, 1))),
    ]
    blocks: list[Any] = [hstack(gains)]
    bounds = [np.zeros(actions * guesses)]
    if level is not None:
        i = np.concatenate([edges[:, 0], edges[:, 1]])
        j = np.concatenate([edges[:, 1], edges[:, 0]])
        factor = level.alpha ** np.tile(graph.edge_lengths(), 2)
        row = np.tile(np.arange(len(i)), 2)
        values = np.concatenate([factor, -np.ones(len(i))])
        one = coo_array((values, (row, np.concatenate([i, j]))), (len(i), n))
        private = kron(eye_array(guesses), one)
        blocks.append(hstack([private, csc_array((private.shape[0], guesses))]))
        bounds.append(np.zeros(private.shape[0]))
    loss = np.append(costs.T.ravel(), np.zeros(guesses))
    leak = np.append(np.zeros(n * guesses), np.ones(guesses))
    limit, limited, cost = (
        (max_vulnerability, leak, loss) if max_loss is None else (max_loss, loss, leak)
    )
    assert limit is not None
    blocks.append(csc_array(limited[None]))
    bounds.append(np.array([limit]))
    found = linprog(
        cost,
        A_ub=vstack(blocks, format="csc"),
        b_ub=np.concatenate(bounds),
        A_eq=hstack([*[eye_array(n)] * guesses, csc_array((n, guesses))], format="csc"),
        b_eq=np.ones(n),
        bounds=[(0, None)] * (n * guesses) + [(None, None)] * guesses,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        kind = "vulnerability" if max_loss is None else "loss"
        raise InputError(
            f"no mechanism keeps the limit {limit} on {kind}"
            f"{'' if level is None else f' at ε = {level}'}: raise the limit"
        )
    upper = np.concatenate(bounds)
    dual = float(np.asarray(found.eqlin.marginals).sum() + found.ineqlin.marginals @ upper)
    return found.x[: n * guesses].reshape(guesses, n).T, dual


def _private(graph: AnswerGraph, level: Epsilon | None, costs: Floats, matrix: Floats) -> Floats:
    """Exact rays in place of numerical columns where there is a privacy level."""
    matrix = np.maximum(matrix, 0.0)
    if level is None:
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
    problem = Problem(graph, level, costs)
    columns = {
        k: (problem.rates * matrix[:, k]).max(axis=1)
        for k in range(matrix.shape[1])
        if matrix[:, k].max() > 1e-11
    }
    mixed = mixture(problem, columns)
    out = np.zeros_like(matrix)
    rays = (level.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None]
    np.add.at(out.T, mixed.guesses, rays)
    out[:, mixed.rest_guess] += mixed.rest
    return out
