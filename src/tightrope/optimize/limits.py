r"""Design under a limit on leakage, with or without a privacy level.

The posterior vulnerability of a channel for an attacker with prior :math:`\rho` and gain g is

.. math:: V = \sum_o \max_w \sum_i \rho_i\, g(w, i)\, X_{io}.

Merging outputs that lead to the same guess never makes it larger, so one column for each guess
is enough here too, and both "least loss with :math:`V \le v`" and "least V with loss
:math:`\le L`" are linear programs. With a privacy level the engine solves them over rays;
without one they are solved as they stand. Either way the result carries a certificate
(:mod:`tightrope.optimize.limited`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.channels import Channel
from tightrope.consumers import Consumer, Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.limit_search import Search
from tightrope.optimize.limited import LimitCertificate, Minimised
from tightrope.optimize.planner import graph_of
from tightrope.optimize.problem import Floats
from tightrope.optimize.progress import Callback

#: A value below this part of what is had without an answer is measured by that part.
SMALL_SHARE = 1e-3


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
        What no mechanism under the same limits is below, of the quantity minimised.
    limit
        The limit on the other quantity, kept to rounding.
    minimised
        ``"loss"`` or ``"vulnerability"``.
    certificate
        What proves the bound.
    wanted_gap
        The gap that was asked for.
    flat
        What is had without an answer, of the quantity minimised.
    stopped
        Whether the search was stopped before it reached the gap.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> found = design_limited(Clique(3), max_vulnerability=0.5)
    >>> round(found.expected_loss, 6), round(found.vulnerability, 6)
    (0.5, 0.5)
    """

    graph: AnswerGraph
    epsilon: Epsilon | None
    consumer: Consumer
    channel: Channel
    expected_loss: float
    vulnerability: float
    bound: float
    limit: float
    minimised: Minimised
    certificate: LimitCertificate
    wanted_gap: float
    flat: float
    stopped: bool = False

    @property
    def gap(self) -> float:
        """(value - bound) / value of what is minimised; a tiny value counts as 1e-3 of flat."""
        value = self.expected_loss if self.minimised == "loss" else self.vulnerability
        size = max(abs(value), SMALL_SHARE * abs(self.flat), 1e-300)
        return max(value - self.bound, 0.0) / size

    @property
    def certified(self) -> bool:
        """Whether the gap is proved to be as small as was asked for."""
        return self.gap <= self.wanted_gap

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        return {
            "expected_loss": self.expected_loss,
            "vulnerability": self.vulnerability,
            "bound": self.bound,
            "gap": self.gap,
            "certified": self.certified,
            "limit": self.limit,
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
    gap: float = 1e-9,
    progress: Callback | None = None,
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
    gap
        Relative gap between value and bound at which to stop.
    progress
        Called after each round of the engine; ``True`` stops with the best found so far.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> found = design_limited(Clique(4), max_loss=0.4)
    >>> found.minimised, round(found.vulnerability, 6), found.certified
    ('vulnerability', 0.6, True)
    """
    graph = graph_of(query)
    if (max_vulnerability is None) == (max_loss is None):
        raise InputError("give one limit: max_vulnerability or max_loss")
    if not 0 < gap < 1:
        raise InputError(f"the gap must be between 0 and 1, got {gap}")
    who = Consumer.of(graph, prior="uniform", loss="binary") if consumer is None else consumer
    if who.risk_averse or who.loss.size != graph.size:
        raise InputError(f"a consumer with a prior over the {graph.size} answers is needed")
    level = None if epsilon is None else Epsilon.of(epsilon)
    attack = _attack(graph, who, attacker_prior, gain)
    search = Search(graph, level, who, attack, max_vulnerability, max_loss, gap, progress)
    matrix, certificate, stopped = search.run()
    minimised = certificate.minimised
    loss, leak = search.loss(matrix), search.vulnerability(matrix)
    value = loss if minimised == "loss" else leak
    used = np.flatnonzero(matrix.max(axis=0) > 0)
    labels = [who.loss.guess_label(int(k)) for k in used]
    return LimitedDesign(
        graph=graph,
        epsilon=level,
        consumer=who,
        channel=Channel(matrix[:, used], inputs=graph.labels, outputs=labels),
        expected_loss=loss,
        vulnerability=leak,
        bound=min(certificate.checked_bound(), value),
        limit=certificate.limit,
        minimised=minimised,
        certificate=certificate,
        wanted_gap=gap,
        flat=search.flat_loss if minimised == "loss" else search.flat_vulnerability,
        stopped=stopped,
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
    if who.risk_averse:
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


def _attack(
    graph: AnswerGraph, consumer: Consumer, prior: Prior | ArrayLike | None, gain: ArrayLike | None
) -> Floats:
    r""":math:`\rho_i\, g(w, i)`, one row for each action."""
    if prior is None:
        rho = consumer.prior.probabilities
    else:
        rho = (prior if isinstance(prior, Prior) else Prior(prior)).probabilities
    if rho.shape != (graph.size,):
        raise InputError(f"the attacker's prior must be over the {graph.size} answers")
    table = np.eye(graph.size) if gain is None else np.array(gain, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != graph.size or not np.isfinite(table).all():
        raise InputError(
            f"a gain needs one finite column for each of the {graph.size} answers, "
            f"got shape {table.shape}"
        )
    return np.asarray(table * rho)
