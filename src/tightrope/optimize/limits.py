r"""Design under a limit on leakage, with or without a privacy level.

The posterior vulnerability of a channel for an attacker with prior :math:`\rho` and gain g is

.. math:: V = \sum_o \max_w \sum_i \rho_i\, g(w, i)\, X_{io}.

Merging outputs that lead to the same guess never makes it larger, so one column for each guess
is enough here too, and both "least loss with :math:`V \le v`" and "least V with loss
:math:`\le L`" are linear programs. With a privacy level the engine solves them over rays;
without one they are solved as they stand. Either way the result carries a certificate
(:mod:`tightrope.optimize.certificate`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tightrope.channels import Channel
from tightrope.consumers import Consumer, Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.optimize.certificate import LimitCertificate
from tightrope.optimize.columns import private_columns
from tightrope.optimize.engine import run_engine
from tightrope.optimize.faces import Face
from tightrope.optimize.master import solve_whole
from tightrope.optimize.objective import TOTAL, Side
from tightrope.optimize.planner import checked_gap, compared, consumer_of, graph_of
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Callback, Stopped, Watch
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings


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
    time_limit: float | None = None,
    settings: SolverSettings | None = None,
) -> Design:
    """Return the mechanism with the least loss, or the least vulnerability, under limits.

    Parameters
    ----------
    query
        A query, its text form, or an answer graph.
    consumer
        A Bayesian consumer; a uniform prior and the usual loss by default.
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
    progress, time_limit, settings
        As for :func:`~tightrope.optimize.design`.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> found = design_limited(Clique(4), max_loss=0.4)
    >>> found.minimised, round(found.vulnerability, 6), found.certified
    ('vulnerability', 0.6, True)
    """
    watch, settings = Watch.of(progress, time_limit), settings or SolverSettings()
    graph = graph_of(query)
    if (max_vulnerability is None) == (max_loss is None):
        raise InputError("give one limit: max_vulnerability or max_loss")
    consumer = consumer_of(consumer, graph, query)
    if consumer.risk_averse:
        raise InputError("a design under a limit needs a consumer with a prior")
    level = None if epsilon is None else Epsilon.of(epsilon)
    attack = _attack(graph, consumer, attacker_prior, gain)
    search = _Search(
        graph, level, consumer, attack, max_vulnerability, max_loss, checked_gap(gap), watch,
        settings,
    )  # fmt: skip
    matrix, certificate, stopped = search.run()
    watch.say("checking the prices of every guess")
    minimised = certificate.minimised
    loss, leak = search.loss(matrix), search.vulnerability(matrix)
    value = loss if minimised == "loss" else leak
    flat = search.flat_loss if minimised == "loss" else search.flat_vulnerability
    used = np.flatnonzero(matrix.max(axis=0) > 0)
    labels = [consumer.loss.guess_label(int(k)) for k in used]
    channel = Channel(matrix[:, used], inputs=graph.labels, outputs=labels)
    return Design(
        graph=graph,
        epsilon=level,
        consumers=(consumer,),
        route="limited",
        reason=f"the least {minimised} under a limit is a linear program over private columns",
        channel=channel,
        general=channel,
        expected_loss=loss,
        vulnerability=leak,
        bound=min(certificate.checked_bound(), value),
        limit=certificate.limit,
        minimised=minimised,
        scale=settings.small_share * abs(flat),
        certificate=certificate,
        wanted_gap=gap,
        stopped=stopped,
        baselines=search.baselines(),
        seconds=watch.seconds,
    )


def trade_off(
    query: Any,
    consumer: Consumer | None = None,
    *,
    points: int | Sequence[float] = 9,
    epsilon: Epsilon | float | Fraction | str | None = None,
    attacker_prior: Prior | ArrayLike | None = None,
    gain: ArrayLike | None = None,
    **options: Any,
) -> list[Design]:
    """Return the least loss for limits on vulnerability from none learned to all learned.

    Parameters
    ----------
    query, consumer, epsilon, attacker_prior, gain
        As for :func:`design_limited`.
    points
        The limits, or how many of them between the two ends.
    options
        ``gap``, ``progress``, ``time_limit`` and ``settings`` of each design.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> curve = trade_off(Clique(2), points=3)
    >>> [(round(d.vulnerability, 6), round(d.expected_loss, 6)) for d in curve]
    [(0.5, 0.5), (0.75, 0.25), (1.0, 0.0)]
    """
    graph = graph_of(query)
    consumer = consumer_of(consumer, graph, query)
    if consumer.risk_averse:
        raise InputError("the trade-off needs a consumer with a prior")
    if isinstance(points, int):
        if points < 2:
            raise InputError(f"a curve needs at least 2 points, got {points}")
        attack = _attack(graph, consumer, attacker_prior, gain)
        low, high = float(attack.sum(axis=1).max()), float(attack.max(axis=0).sum())
        limits = np.linspace(low, high, points).tolist()
    else:
        limits = list(points)
    return [
        design_limited(
            graph,
            consumer,
            epsilon=epsilon,
            max_vulnerability=limit,
            attacker_prior=attacker_prior,
            gain=gain,
            **options,
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


@dataclass(frozen=True, eq=False)
class _Search:
    """One request for a mechanism under a limit: the attacker's weights and one of two limits."""

    graph: AnswerGraph
    level: Epsilon | None
    consumer: Consumer
    attack: Floats
    max_vulnerability: float | None
    max_loss: float | None
    gap: float
    watch: Watch
    settings: SolverSettings

    @property
    def minimised(self) -> Literal["loss", "vulnerability"]:
        """What is minimised; the other is limited."""
        return "loss" if self.max_loss is None else "vulnerability"

    @property
    def costs(self) -> Floats:
        """The costs of the guesses."""
        return self._problem.costs

    @property
    def flat_loss(self) -> float:
        """The loss of the best guess without an answer."""
        return float(self.costs.sum(axis=0).min())

    @property
    def flat_vulnerability(self) -> float:
        """What the attacker gains without an answer."""
        return float(self.attack.sum(axis=1).max())

    def loss(self, matrix: Floats) -> float:
        """Return the expected loss of a channel with one column for each guess."""
        return float((self.costs * matrix).sum())

    def vulnerability(self, matrix: Floats) -> float:
        """Return what the attacker gains from a channel."""
        return float((self.attack @ matrix).max(axis=0).sum())

    def run(self) -> tuple[Floats, LimitCertificate, bool]:
        """Return the columns, the certificate, and whether the search was stopped."""
        if self.max_loss is None:
            assert self.max_vulnerability is not None
            limit, least = self.max_vulnerability, self.flat_vulnerability
            whose = "an attacker has without any answer"
            start, spare = None, self._flat()
        else:
            limit = self.max_loss
            start, spare = self._least_loss()
            least = self.loss(spare)
            whose = "the best mechanism has" + (f" at ε = {self.level}" if self.level else "")
        rounding = 1e-12 * abs(least)
        if limit < least - rounding and self.max_loss is not None and self.watch.over:
            raise CheckFailed(
                f"time was up before a mechanism with a loss of at most {limit} was found: the "
                f"best so far loses {least:.9g}; allow more time or a larger loss"
            )
        if not np.isfinite(limit) or limit < least - rounding:
            kind = "vulnerability" if self.max_loss is None else "loss"
            raise InputError(
                f"the limit on {kind} must be finite and at least {_rounded_up(least):.9g}, which "
                f"{whose}, got {limit}"
            )
        try:
            return self._searched(limit, start, spare)
        except Stopped:
            return spare, self._first_proof(limit), True

    def _searched(
        self, limit: float, start: dict[int, Face] | None, spare: Floats
    ) -> tuple[Floats, LimitCertificate, bool]:
        """Solve small problems as one program, others, or where digits lack, over rays."""
        if self.level is None or self._entries <= self.settings.limited_first_entries:
            self.watch.say(f"solving the program under the limit with {self._entries} entries")
            matrix, certificate = self._program(limit)
            matrix = self._kept(matrix, spare, limit)
            if self.level is None or self._reached(matrix, certificate):
                return matrix, certificate, False
        objective = self._objective(limit)
        try:
            found = run_engine(
                objective, gap=self.gap, progress=self.watch, start=start, settings=self.settings
            )
        except CheckFailed as failed:
            raise CheckFailed(
                f"the search under the limit {limit} failed: raise it a little ({failed})"
            ) from failed
        matrix = self._matrix(found.columns)
        certificate = self._proof(limit, *objective.proof(found.multipliers, found.prices))
        return self._kept(matrix, spare, limit), certificate, found.stopped

    def _first_proof(self, limit: float) -> LimitCertificate:
        """Return a certificate that needs no search: prices at which every guess is free."""
        actions = len(self.attack)
        choices = np.full((self.costs.shape[1], actions), 1 / actions)
        proof = self._proof(limit, 0.0, choices, np.zeros(self.graph.size))
        return replace(proof, prices=proof.costs().min(axis=1))

    def _proof(
        self, limit: float, weight: float, choices: Floats, prices: Floats
    ) -> LimitCertificate:
        asked = (self.graph, self.level, self.consumer, self.attack, limit, self.minimised)
        return LimitCertificate(*asked, weight, choices, prices)

    def baselines(self) -> dict[str, float]:
        """Return what is minimised of simple noise that keeps the limit."""
        size = self.graph.size
        if self.level is None or size**2 > self.settings.baseline_entries:
            return {}

        def measure(noise: Channel) -> float | None:
            joint = self.costs.T @ noise.matrix()
            loss = float(joint.min(axis=0).sum())
            leak = self.vulnerability(noise.matrix())
            if self.max_loss is None:
                assert self.max_vulnerability is not None
                return loss if leak <= self.max_vulnerability else None
            return leak if loss <= self.max_loss else None

        return compared(self.graph, self.level, measure)

    @functools.cached_property
    def _problem(self) -> Problem:
        return Problem.of(self.graph, self.level, self.consumer)

    def _objective(self, limit: float) -> LimitedLoss:
        prior = self.consumer.prior.probabilities
        return LimitedLoss(self._problem, prior, self.attack, limit, self.minimised)

    def _reached(self, matrix: Floats, certificate: LimitCertificate) -> bool:
        """Whether columns and certificate agree within half the gap."""
        value = self.loss(matrix) if self.minimised == "loss" else self.vulnerability(matrix)
        return value - certificate.bound <= self.gap / 2 * abs(value)

    def _flat(self) -> Floats:
        matrix = np.zeros(self.costs.shape)
        matrix[:, int(self.costs.sum(axis=0).argmin())] = 1.0
        return matrix

    def _least_loss(self) -> tuple[dict[int, Face] | None, Floats]:
        """Return the mechanism with the least loss of all, and the faces that hold it."""
        if self.level is None:
            matrix = np.zeros(self.costs.shape)
            matrix[np.arange(len(matrix)), self.costs.argmin(axis=1)] = 1.0
            return None, matrix
        found = run_engine(self._problem, gap=min(self.gap, 1e-9), progress=self.watch)
        return found.faces, self._matrix(found.columns)

    def _matrix(self, columns: dict[int, Floats]) -> Floats:
        """Return private columns for all guesses, from numerical ones."""
        matrix = np.zeros(self.costs.shape)
        for k, column in private_columns(self._problem, columns).items():
            matrix[:, k] = column
        return matrix

    def _kept(self, matrix: Floats, spare: Floats, limit: float) -> Floats:
        """Mix in a mechanism well under the limit until the limit is kept.

        Solvers keep a limit up to their tolerance only; both quantities are convex.
        """
        measure, other = self.vulnerability, self.loss
        if self.max_loss is not None:
            measure, other = other, measure
        has, least = measure(matrix), measure(spare)
        if has <= least:
            return matrix
        margin = self.settings.limit_margin * abs(limit) / (has - least)
        needed = (has - limit) / (has - least)
        value, dear = other(matrix), other(spare) - other(matrix)
        share = needed + (min(margin, self.gap / 8 * abs(value) / dear) if dear > 0 else margin)
        if not 0 < share <= 1 or needed > self.settings.most_mixed:
            return matrix
        return (1 - share) * matrix + share * spare

    @property
    def _entries(self) -> int:
        """The number of entries of the plain program."""
        n, guesses = self.costs.shape
        edges = 0 if self.level is None else self.graph.edge_count
        actions = len(self.attack)
        return int(guesses * (np.count_nonzero(self.attack) + actions + 4 * edges + n))

    def _program(self, limit: float) -> tuple[Floats, LimitCertificate]:
        """Solve the whole problem as one program."""
        most = self.settings.program_entries
        if self._entries > most:
            raise TooLarge(
                f"the program under a leakage limit would have {self._entries} entries, more than "
                f"{most}: use fewer answers or actions"
            )
        objective = self._objective(limit)
        found = solve_whole(objective, self.watch)
        proof = self._proof(limit, *objective.proof(found.multipliers, found.prices))
        if self.level is None:
            # Without a privacy level the best prices are the least costs.
            prices = proof.costs().min(axis=1)
        else:
            weighed = self._problem.weighed(proof.costs())
            prices = price(weighed, Pricer(weighed), proof.prices, weighed.guesses).prices
        return self._matrix(found.columns), replace(proof, prices=prices)


def _rounded_up(value: float) -> float:
    """Return a value that is not below when it is printed with nine digits."""
    return float(f"{value * (1 + 1e-9):.9g}") if value > 0 else value


@dataclass(frozen=True, eq=False)
class LimitedLoss:
    r"""Loss under a limit on vulnerability, or the reverse, as an objective for the engine.

    A free variable :math:`u_k` for each guess is what the attacker gains at its column, at least
    :math:`a_w \cdot x^k` for every action, and one more row holds the limit. The multipliers are
    :math:`\theta` and, for each guess and action, :math:`\theta q_{kw}` (or :math:`q_{kw}` when
    vulnerability is minimised).

    Parameters
    ----------
    problem
        The problem of the consumer.
    prior
        The consumer's prior; the constant :math:`\theta v` is spread over the answers by it.
    attack, limit, minimised
        As in :class:`LimitCertificate`.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> problem = Problem(Clique(2), Epsilon.of(1), np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> aim = LimitedLoss(problem, np.full(2, 0.5), np.eye(2) / 2, 0.6, "loss")
    >>> aim.weighed(np.array([1, 1, 0, 0, 1.0])).costs.tolist()
    [[0.2, 0.2], [0.2, 0.2]]
    """

    problem: Problem
    prior: Floats
    attack: Floats
    limit: float
    minimised: Literal["loss", "vulnerability"]
    #: A guess must stay in the program, which alone knows what the attacker does there.

    @property
    def guesses(self) -> Ints:
        """All guesses."""
        return self.problem.guesses

    @property
    def first(self) -> Floats:
        """No weight on the limit; the attacker does the best without an answer."""
        choices = np.zeros((self.problem.costs.shape[1], len(self.attack)))
        if self.minimised == "vulnerability":
            choices[:, int(self.attack.sum(axis=1).argmax())] = 1.0
        return np.append(0.0, choices.ravel())

    @property
    def loss_rows(self) -> None:
        """Nothing: the attacker's multipliers are no prior."""
        return

    def weighed(self, multipliers: Floats) -> Problem:
        """Return the problem with the costs of the certificate, less the constant."""
        weight, taken = float(multipliers[0]), self._choices(multipliers) @ self.attack
        own = self.problem.costs if self.minimised == "loss" else weight * self.problem.costs
        constant = weight * self.limit * self.prior
        return self.problem.weighed(own + taken.T - constant[:, None])

    def proof(self, multipliers: Floats, prices: Floats) -> tuple[float, Floats, Floats]:
        """Return weight, choices and prices of a certificate from those of an engine."""
        weight, choices = float(multipliers[0]), self._choices(multipliers)
        if self.minimised == "loss":
            # Without weight on the limit any distribution will do.
            even = np.full_like(choices, 1 / choices.shape[1])
            choices = choices / weight if weight > 0 else even
        choices = choices / choices.sum(axis=1, keepdims=True)
        return weight, choices, prices + weight * self.limit * self.prior

    def side(self, faces: dict[int, Face], start: Ints) -> Side:
        """Return the rows of the attacker at each guess, then the row of the limit."""
        from scipy.sparse import coo_array

        costs, attack = self.problem.costs, self.attack
        gain_unit = max(float(np.abs(attack).max(axis=0).mean()), 1e-300)
        loss_unit = max(float(np.abs(costs).mean()), 1e-300)
        own = float(start[-1]) + np.arange(len(faces))
        at, column, value = [], [], []
        guess, action = [], []
        count = 0
        for q, (k, face) in enumerate(faces.items()):
            kept = _actions_that_matter(attack, face)
            row, i = np.nonzero(attack[kept])
            at += [count + row, count + np.arange(len(kept))]
            column += [start[q] + face.component[i], np.full(len(kept), own[q])]
            value += [-attack[kept][row, i] * face.shape[i] / gain_unit, np.ones(len(kept))]
            guess.append(np.full(len(kept), k))
            action.append(kept)
            count += len(kept)
        if self.minimised == "loss":
            at.append(np.full(len(faces), count))
            column.append(own)
            value.append(-np.ones(len(faces)))
            bound = -self.limit / gain_unit
            limit_unit, extra = gain_unit, np.zeros(len(faces))
            column_costs = costs
        else:
            for q, (k, face) in enumerate(faces.items()):
                at.append(np.full(len(costs), count))
                column.append(start[q] + face.component)
                value.append(-costs[:, k] * face.shape / loss_unit)
            bound = -self.limit / loss_unit
            limit_unit, extra = loss_unit, np.full(len(faces), gain_unit)
            column_costs = np.zeros_like(costs)
        shape = (count + 1, int(start[-1]) + len(faces))
        place = (np.concatenate(at), np.concatenate(column).astype(np.int64))
        rows = coo_array((np.concatenate(value), place), shape).tocsr()
        which = np.concatenate(guess), np.concatenate(action)

        def read(duals: Floats) -> tuple[Floats, Floats]:
            weight = max(0.0, float(duals[-1]) / limit_unit)
            choices = np.zeros((costs.shape[1], len(attack)))
            choices[which] = np.maximum(duals[:-1], 0.0) / gain_unit
            multipliers = np.append(weight, self._normal(weight, choices).ravel())
            return multipliers, -weight * self.limit * self.prior

        return Side(column_costs, extra, rows, np.append(np.zeros(count), bound), read, TOTAL)

    def _normal(self, weight: float, choices: Floats) -> Floats:
        """Return choices with the sum that they must have, which solvers keep but nearly."""
        total = weight if self.minimised == "loss" else 1.0
        sums = choices.sum(axis=1, keepdims=True)
        even = np.full_like(choices, 1 / choices.shape[1])
        return np.asarray(total * np.divide(choices, sums, out=even, where=sums > 0))

    def _choices(self, multipliers: Floats) -> Floats:
        return multipliers[1:].reshape(-1, len(self.attack))


def _actions_that_matter(attack: Floats, face: Face) -> Ints:
    """Return the actions that can be best at a column of the face.

    An action that gains at one answer only is no better than another one at an answer in the
    same component whose gain there is larger.
    """
    places = np.count_nonzero(attack, axis=1)
    if places.max() > 1:
        return np.arange(len(attack))
    answer = np.abs(attack).argmax(axis=1)
    worth = attack[np.arange(len(attack)), answer] * face.shape[answer]
    component = np.where(places == 1, face.component[answer], -1)
    order = np.lexsort((-worth, component))
    first = np.ones(len(order), bool)
    first[1:] = component[order][1:] != component[order][:-1]
    return np.sort(order[first])
