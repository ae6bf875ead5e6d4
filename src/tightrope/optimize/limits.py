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
from tightrope.optimize.objective import TOTAL, Objective, SideRows, shares, side_rows
from tightrope.optimize.planner import checked_gap, compared, consumer_of, graph_of
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Stopped, Watch
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import SMALL_SHARE
from tightrope.progress import ProgressCallback


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
    progress: ProgressCallback | None = None,
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
    >>> best = design_limited(Clique(4), max_loss=0.4)
    >>> best.minimised, round(best.vulnerability, 6), best.certified
    ('vulnerability', 0.6, True)
    """
    watch = Watch.of(progress, time_limit)
    settings = settings or SolverSettings()
    graph = graph_of(query)
    if (max_vulnerability is None) == (max_loss is None):
        raise InputError("give one limit: max_vulnerability or max_loss")
    consumer = consumer_of(consumer, graph, query)
    if consumer.risk_averse:
        raise InputError("a design under a limit needs a consumer with a prior")
    level = None if epsilon is None else Epsilon.of(epsilon)
    aim = LimitedLoss(
        Problem.of(graph, level, consumer),
        consumer.prior.probabilities,
        _attack(graph, consumer, attacker_prior, gain),
        float(max_vulnerability if max_loss is None else max_loss),  # type: ignore[arg-type]
        "loss" if max_loss is None else "vulnerability",
    )
    request = _LimitedRequest(aim, consumer, checked_gap(gap), watch, settings)
    matrix, certificate, stopped = request.run()
    watch.say("checking the prices of every guess")
    # Guesses that are never made are left out.
    used = np.flatnonzero(matrix.max(axis=0) > 0)
    labels = [consumer.loss.guess_label(int(k)) for k in used]
    channel = Channel(matrix[:, used], inputs=graph.labels, outputs=labels)
    return Design(
        graph=graph,
        epsilon=level,
        consumers=(consumer,),
        route="limited",
        reason=f"the least {aim.minimised} under a limit is a linear program over private columns",
        channel=channel,
        general=channel,
        expected_loss=aim.loss(matrix),
        vulnerability=aim.vulnerability(matrix),
        bound=min(certificate.checked_bound(), aim.value(matrix)),
        limit=aim.limit,
        minimised=aim.minimised,
        scale=SMALL_SHARE * abs(aim.value(aim.flat)),
        certificate=certificate,
        wanted_gap=gap,
        stopped=stopped,
        baselines=request.baselines(),
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
        # Without an answer the attacker has max_w Σ_i a_w(i), with the true one Σ_i max_w a_w(i).
        attack = _attack(graph, consumer, attacker_prior, gain)
        low = float(attack.sum(axis=1).max())
        high = float(attack.max(axis=0).sum())
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
    graph: AnswerGraph,
    consumer: Consumer,
    prior: Prior | ArrayLike | None,
    gain: ArrayLike | None,
) -> Floats:
    r""":math:`\rho_i\, g(w, i)`, one row for each action."""
    if prior is None:
        rho = consumer.prior.probabilities
    else:
        rho = (prior if isinstance(prior, Prior) else Prior(prior)).probabilities
    if rho.shape != (graph.size,):
        raise InputError(f"the attacker's prior must be over the {graph.size} answers")
    # By default an action is a guess, which gains 1 where it is right.
    table = np.eye(graph.size) if gain is None else np.array(gain, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != graph.size or not np.isfinite(table).all():
        raise InputError(
            f"a gain needs one finite column for each of the {graph.size} answers, "
            f"got shape {table.shape}"
        )
    return table * rho


@dataclass(frozen=True, eq=False)
class _LimitedRequest:
    """One request for a mechanism under a limit."""

    aim: LimitedLoss
    consumer: Consumer
    gap: float
    watch: Watch
    settings: SolverSettings

    def run(self, rounding: float = 1e-12) -> tuple[Floats, LimitCertificate, bool]:
        """Return the columns, the certificate, and whether the search was stopped."""
        aim = self.aim
        level = self.aim.problem.epsilon
        kind = "vulnerability"
        start = None
        # A mechanism that is as far under the limit as any.
        spare = aim.flat
        whose = "an attacker has without any answer"
        # Whether a limit on the loss can be kept is known from the least loss of all.
        if aim.minimised == "vulnerability":
            kind = "loss"
            start, spare = self._least_loss()
            whose = "the best mechanism has" + (f" at ε = {level}" if level else "")
        least = aim.limited(spare)
        below = aim.limit < least - rounding * abs(least)
        if below and kind == "loss" and self.watch.over:
            raise CheckFailed(
                f"time was up before a mechanism with a loss of at most {aim.limit} was found: the "
                f"best so far loses {least:.9g}; allow more time or a larger loss"
            )
        if below or not np.isfinite(aim.limit):
            raise InputError(
                f"the limit on {kind} must be finite and at least {_rounded_up(least):.9g}, which "
                f"{whose}, got {aim.limit}"
            )
        try:
            if level is None:
                return self._without_level(spare)
            best = run_engine(
                aim,
                gap=self.gap,
                progress=self.watch,
                start=start,
                settings=self.settings,
            )
        except CheckFailed as failed:
            raise CheckFailed(
                f"the search under the limit {aim.limit} failed: raise it a little ({failed})"
            ) from failed
        except Stopped:
            return spare, self._proof(aim.first), True
        matrix = self._within_limit(aim.matrix(best.columns), spare)
        return matrix, self._proof(best.multipliers, best.prices), best.stopped

    def _without_level(self, spare: Floats) -> tuple[Floats, LimitCertificate, bool]:
        """Solve one program over all columns: the best prices are the least costs."""
        aim = self.aim
        n, guesses = aim.problem.costs.shape
        nonzero = np.count_nonzero(aim.attack)
        entries = guesses * (nonzero + len(aim.attack) + n)
        if entries > self.settings.program_entries:
            raise TooLarge(
                f"the program under a leakage limit would have {entries} entries, more than "
                f"{self.settings.program_entries}: use fewer answers or actions"
            )
        self.watch.say(f"solving the program under the limit with {entries} entries")
        solution = solve_whole(aim, self.watch)
        columns = private_columns(aim.problem, solution.columns, self.watch)
        matrix = self._within_limit(aim.matrix(columns), spare)
        return matrix, self._proof(solution.multipliers), False

    def _proof(
        self, multipliers: Floats, prices: Floats | None = None
    ) -> LimitCertificate:
        """Return the certificate of an engine's multipliers and prices; else of the least costs."""
        aim = self.aim
        problem = self.aim.problem
        weight = float(multipliers[0])
        choices = shares(aim.choices(multipliers))
        asked = (problem.graph, problem.epsilon, self.consumer, aim.attack, aim.limit)
        proof = LimitCertificate(
            *asked, aim.minimised, weight, choices, np.zeros(problem.size)
        )
        if prices is None:
            return replace(proof, prices=proof.costs().min(axis=1))
        # The engine's costs are less the constant θ v, spread over the answers by the prior.
        attacked = weight * aim.limit * aim.prior
        return replace(proof, prices=prices + attacked)

    def baselines(self) -> dict[str, float]:
        """Return what is minimised of simple noise that keeps the limit."""
        aim = self.aim
        problem = self.aim.problem
        if problem.epsilon is None or problem.size**2 > self.settings.baseline_entries:
            return {}

        def measure(noise: Channel) -> float | None:
            leak = aim.vulnerability(noise.matrix())
            # Outputs of simple noise are read as the best guess each.
            by_output = problem.costs.T @ noise.matrix()
            loss = float(by_output.min(axis=0).sum())
            value, limited = (loss, leak) if aim.minimised == "loss" else (leak, loss)
            return value if limited <= aim.limit else None

        return compared(problem.graph, problem.epsilon, measure)

    def _least_loss(self) -> tuple[dict[int, Face] | None, Floats]:
        """Return the mechanism with the least loss of all, and the faces that hold it."""
        problem = self.aim.problem
        if problem.epsilon is None:
            return None, self.aim.always(problem.costs.argmin(axis=1))
        try:
            best = run_engine(problem, gap=min(self.gap, 1e-9), progress=self.watch)
        except Stopped:
            return None, self.aim.flat
        return best.faces, self.aim.matrix(best.columns)

    def _within_limit(
        self,
        matrix: Floats,
        spare: Floats,
        *,
        spared: float = 1e-12,
        most: float = 1e-6,
    ) -> Floats:
        """Mix in a mechanism well under the limit until the limit is kept.

        Solvers keep a limit up to their tolerance only; both quantities are convex. Where that
        costs little the mixture stays the part ``spared`` of the limit below it, so that it keeps
        the limit when it is rounded to integers. Mixing away more than ``most`` would cost more
        than it mends: the limit is nearly infeasible.
        """
        aim = self.aim
        value, limited = aim.measured(matrix)
        spare_value, least = aim.measured(spare)
        if limited <= least:
            return matrix
        # (1 - s)·limited + s·least = limit at s = needed
        needed = (limited - aim.limit) / (limited - least)
        margin = spared * abs(aim.limit) / (limited - least)
        dearer = spare_value - value
        if dearer > 0:
            # The margin may cost an eighth of the gap at most.
            allowed = self.gap / 8 * abs(value)
            margin = min(margin, allowed / dearer)
        share = needed + margin
        if not 0 < share <= 1 or needed > most:
            return matrix
        return (1 - share) * matrix + share * spare


def _rounded_up(value: float) -> float:
    """Return a value that is not below when it is printed with nine digits."""
    if value <= 0:
        return value
    above = value * (1 + 1e-9)
    return float(f"{above:.9g}")


@dataclass(frozen=True, eq=False)
class LimitedLoss(Objective):
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

    prior: Floats
    attack: Floats
    limit: float
    minimised: Literal["loss", "vulnerability"]

    def loss(self, matrix: Floats) -> float:
        """Return the expected loss of a channel with one column for each guess."""
        return float((self.problem.costs * matrix).sum())

    def vulnerability(self, matrix: Floats) -> float:
        """Return what the attacker gains from a channel."""
        return float((self.attack @ matrix).max(axis=0).sum())

    def measured(self, matrix: Floats) -> tuple[float, float]:
        """Return what is minimised, and what has a limit."""
        loss = self.loss(matrix)
        leak = self.vulnerability(matrix)
        return (loss, leak) if self.minimised == "loss" else (leak, loss)

    def value(self, matrix: Floats) -> float:
        """Return what is minimised."""
        return self.measured(matrix)[0]

    def limited(self, matrix: Floats) -> float:
        """Return what has a limit."""
        return self.measured(matrix)[1]

    @property
    def flat(self) -> Floats:
        """The channel of the best guess without an answer."""
        return self.always(self.problem.costs.sum(axis=0).argmin())

    def always(self, guess: Ints | np.int64) -> Floats:
        """Return the channel that says this guess for sure, one for each answer or for all."""
        matrix = np.zeros(self.problem.costs.shape)
        matrix[np.arange(len(matrix)), guess] = 1.0
        return matrix

    @property
    def guesses(self) -> Ints:
        """All guesses: the program alone knows what the attacker does at one."""
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
        # ĉ_k = c_k + θ Σ_w q_kw a_w - θ v π, or with θ at the costs instead
        weight = float(multipliers[0])
        attacked = self.choices(multipliers) @ self.attack
        own = (1.0 if self.minimised == "loss" else weight) * self.problem.costs
        constant = weight * self.limit * self.prior
        return self.problem.weighed(own + attacked.T - constant[:, None])

    def worth(self, columns: dict[int, Floats]) -> float:
        """Return what is minimised, whether the limit is kept or not."""
        return self.value(self.matrix(columns))

    def matrix(self, columns: dict[int, Floats]) -> Floats:
        """Return the channel with these columns, one for each guess."""
        matrix = np.zeros(self.problem.costs.shape)
        given = np.stack([*columns.values()], axis=1)
        matrix[:, [*columns]] = given
        return matrix

    def side(self, faces: dict[int, Face], start: Ints) -> SideRows:
        """Return the row of the limit, then the rows of the attacker at each guess."""
        costs = self.problem.costs
        attack = self.attack
        least_loss = self.minimised == "loss"
        largest = np.abs(attack).max(axis=0)
        gain_unit = max(float(largest.mean()), 1e-300)
        loss_unit = max(float(np.abs(costs).mean()), 1e-300)
        # Rows scaled to entries near 1 suit the tolerances of the solver.
        unit = gain_unit if least_loss else loss_unit
        parts = []
        which = []
        count = 1
        for q, (k, face) in enumerate(faces.items()):
            actions = _actions_that_matter(attack, face)
            action, i = np.nonzero(attack[actions])
            # u_k - a_w · x^k ≥ 0, a row for each action
            rows = count + np.arange(len(actions))
            gained = np.full(len(actions), start[-1] + q)
            gained_here = attack[actions][action, i]
            gain = gained_here * face.shape[i] / gain_unit
            parts.append((rows[action], start[q] + face.component[i], -gain))
            parts.append((rows, gained, np.ones(len(actions))))
            # The limit is on what the attacker gains at the guesses, or on what the columns cost.
            limited = gained[:1] if least_loss else start[q] + face.component
            share = np.ones(1) if least_loss else costs[:, k] * face.shape / unit
            first_row = np.zeros(len(limited), np.int64)
            parts.append((first_row, limited, -share))
            which.append(k * len(attack) + actions)
            count += len(actions)
        matrix = side_rows(parts, (count, int(start[-1]) + len(faces)))

        def read(duals: Floats) -> tuple[Floats, Floats]:
            weight = max(0.0, float(duals[0]) / unit)
            choices = np.zeros((costs.shape[1], len(attack)))
            choices.flat[np.concatenate(which)] = duals[1:]
            # Solvers keep but nearly the sum that the choices at a guess must have.
            choices = (weight if least_loss else 1.0) * shares(choices)
            return np.append(weight, choices.ravel()), -weight * self.limit * self.prior

        extra = np.full(len(faces), 0.0 if least_loss else gain_unit)
        unbounded = np.zeros(count - 1)
        lower = np.append(-self.limit / unit, unbounded)
        minimised = costs if least_loss else np.zeros_like(costs)
        return SideRows(minimised, extra, matrix, lower, read, TOTAL)

    def choices(self, multipliers: Floats) -> Floats:
        """Return what multipliers say about the attacker's actions, one row for each guess."""
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
    actions = np.arange(len(attack))
    worth = attack[actions, answer] * face.shape[answer]
    component = np.where(places == 1, face.component[answer], -1)
    # Of each component the action with the largest gain comes first.
    order = np.lexsort((-worth, component))
    _, first = np.unique(component[order], return_index=True)
    return np.sort(order[first])
