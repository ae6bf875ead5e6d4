"""The search for the best mechanism under a limit on loss or vulnerability."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tightrope.consumers import Bayesian
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.optimize.approach import run_approach
from tightrope.optimize.engine import Callback, run_engine
from tightrope.optimize.faces import Face
from tightrope.optimize.limited import LimitCertificate, LimitedLoss, Minimised
from tightrope.optimize.mixture import Mixture, mixture
from tightrope.optimize.objective import TOTAL
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.simplex import minimise

#: Most entries of the program without a privacy level.
LIMITED_ENTRIES = 6_000_000
#: A limit is kept up to this part of it; what is beyond is mixed away.
LIMIT_ROUNDING = 1e-14
#: Mixing away more than this would cost more than it mends: the limit is at its very least.
MOST_MIXED = 1e-6


@dataclass(frozen=True, eq=False)
class Search:
    """One request for a mechanism under a limit.

    Parameters
    ----------
    graph, level, consumer, attack
        The answers, the privacy level if there is one, the reader, and the attacker's weights.
    max_vulnerability, max_loss
        The limit: one of the two.
    gap, progress
        When to stop, and whom to tell.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import Clique
    >>> consumer = Consumer.of(Clique(2), prior="uniform", loss="binary")
    >>> search = Search(Clique(2), None, consumer, np.eye(2) / 2, 0.75, None, 1e-9, None)
    >>> matrix, proof, _ = search.run()
    >>> round(search.loss(matrix), 9), round(proof.checked_bound(), 9)
    (0.25, 0.25)
    """

    graph: AnswerGraph
    level: Epsilon | None
    consumer: Bayesian
    attack: Floats
    max_vulnerability: float | None
    max_loss: float | None
    gap: float
    progress: Callback | None

    @property
    def minimised(self) -> Minimised:
        """What is minimised; the other is limited."""
        return "loss" if self.max_loss is None else "vulnerability"

    @property
    def costs(self) -> Floats:
        """The costs of the guesses."""
        return np.asarray(self.consumer.prior.probabilities[:, None] * self.consumer.loss.matrix())

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
        if not np.isfinite(limit) or limit < least - 1e-12 * abs(least):
            kind = "vulnerability" if self.max_loss is None else "loss"
            raise InputError(
                f"the limit on {kind} must be at least {_rounded_up(least):.9g}, which {whose}, "
                f"got {limit}"
            )
        if self.level is None:
            matrix, certificate = self._program(limit)
            return self._kept(matrix, spare, limit), certificate, False
        problem = Problem.of(self.graph, self.level, self.consumer)
        prior = self.consumer.prior.probabilities
        objective = LimitedLoss(problem, prior, self.attack, limit, self.minimised)
        try:
            found = run_approach(objective, gap=self.gap, progress=self.progress, start=start)
        except CheckFailed as failed:
            raise CheckFailed(
                f"the search under the limit {limit} failed: raise it a little ({failed})"
            ) from failed
        matrix = self._matrix(mixture(problem, found.columns))
        certificate = objective.certificate(self.consumer, found.multipliers, found.prices)
        return self._kept(matrix, spare, limit), certificate, found.stopped

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
        problem = Problem.of(self.graph, self.level, self.consumer)
        found = run_engine(problem, gap=min(self.gap, 1e-9))
        return found.master.faces, self._matrix(mixture(problem, found.columns))

    def _matrix(self, mixed: Mixture) -> Floats:
        """Return the columns of the guesses from a mixture of rays."""
        assert self.level is not None
        matrix = np.zeros(self.costs.shape)
        rays = (self.level.alpha ** mixed.heights.astype(float)) * mixed.weights[:, None]
        np.add.at(matrix.T, mixed.guesses, rays)
        matrix[:, mixed.rest_guess] += mixed.rest
        return matrix

    def _kept(self, matrix: Floats, spare: Floats, limit: float) -> Floats:
        """Mix in a mechanism well under the limit until the limit is kept.

        Solvers keep a limit up to their tolerance only; both quantities are convex.
        """
        measure = self.vulnerability if self.max_loss is None else self.loss
        over, room = measure(matrix) - limit, limit - measure(spare)
        if over <= LIMIT_ROUNDING * abs(limit):
            return matrix
        share = over / (over + room) if room > 0 else 1.0
        return (1 - share) * matrix + share * spare if share <= MOST_MIXED else matrix

    def _program(self, limit: float) -> tuple[Floats, LimitCertificate]:
        """Solve the program without privacy rows.

        Variables are the columns, then for each guess the most that the attacker gains there.
        """
        from scipy.sparse import csc_array, eye_array, hstack, kron, vstack

        costs, attack = self.costs, self.attack
        n, guesses = costs.shape
        actions = len(attack)
        entries = guesses * (int(np.count_nonzero(attack)) + actions + n)
        if entries > LIMITED_ENTRIES:
            raise TooLarge(
                f"the program under a leakage limit would have {entries} entries, more than "
                f"{LIMITED_ENTRIES}: use fewer answers or actions"
            )
        gain_unit = max(float(np.abs(attack).max(axis=0).mean()), 1e-300)
        loss_unit = max(float(np.abs(costs).mean()), 1e-300)
        one = csc_array(attack / gain_unit)
        gains = hstack(
            [-kron(eye_array(guesses), one), kron(eye_array(guesses), np.ones((actions, 1)))]
        )
        sums = hstack([*[eye_array(n)] * guesses, csc_array((n, guesses))])
        loss = np.append(costs.T.ravel() / loss_unit, np.zeros(guesses))
        leak = np.append(np.zeros(n * guesses), np.ones(guesses))
        kept, cost, unit = (
            (leak, loss, gain_unit) if self.minimised == "loss" else (loss, leak, loss_unit)
        )
        total = np.full(n, TOTAL)
        found = minimise(
            cost * (loss_unit if self.minimised == "loss" else gain_unit),
            vstack([sums, gains, csc_array(-kept[None])], format="csc"),
            np.concatenate([total, np.zeros(actions * guesses), [-limit / unit * TOTAL]]),
            np.concatenate([total, np.full(actions * guesses + 1, np.inf)]),
            free=guesses,
        )
        weight = max(0.0, float(found.duals[-1]) / unit)
        choices = np.maximum(found.duals[n:-1], 0.0).reshape(guesses, actions)
        sums_of = choices.sum(axis=1, keepdims=True)
        even = np.full_like(choices, 1 / actions)
        choices = np.divide(choices, sums_of, out=even, where=sums_of > 0)
        proof = LimitCertificate(
            self.graph,
            None,
            self.consumer,
            attack,
            limit,
            self.minimised,
            weight,
            choices,
            np.zeros(n),
        )
        # Without a privacy level the best prices are the least costs.
        proof = replace(proof, prices=proof.costs().min(axis=1))
        matrix = np.maximum(found.values[: n * guesses].reshape(guesses, n).T, 0.0)
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True)), proof


def _rounded_up(value: float) -> float:
    """Return a value that is not below when it is printed with nine digits."""
    return float(f"{value * (1 + 1e-9):.9g}") if value > 0 else value
