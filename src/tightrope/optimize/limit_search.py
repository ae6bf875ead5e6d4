"""The search for the best mechanism under a limit on loss or vulnerability."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.optimize.approach import run_approach
from tightrope.optimize.engine import run_engine
from tightrope.optimize.faces import Face
from tightrope.optimize.limited import LimitCertificate, LimitedLoss, Minimised
from tightrope.optimize.mixture import Mixture, mixture, private_above
from tightrope.optimize.objective import TOTAL
from tightrope.optimize.plain import privacy_rows
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Floats, Problem
from tightrope.optimize.progress import Callback
from tightrope.optimize.simplex import minimise

#: Most entries of the program without a privacy level.
LIMITED_ENTRIES = 6_000_000
#: With one the plain program is tried first up to this many entries: the master program of the
#: engine has a row for each guess and action here, which takes its advantage away.
FIRST_ENTRIES = 400_000
#: The design stays this part of a limit below it where that costs little, so that it keeps the
#: limit when it is rounded to integers.
HAIR = 1e-12
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
    consumer: Consumer
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
                f"the limit on {kind} must be finite and at least {_rounded_up(least):.9g}, which "
                f"{whose}, got {limit}"
            )
        if self.level is None or self._entries <= FIRST_ENTRIES:
            matrix, certificate = self._program(limit)
            matrix = self._kept(matrix, spare, limit)
            if self.level is None or self._reached(matrix, certificate):
                return matrix, certificate, False
        problem = self._problem
        objective = self._objective(limit)
        try:
            found = run_approach(objective, gap=self.gap, progress=self.progress, start=start)
        except CheckFailed as failed:
            raise CheckFailed(
                f"the search under the limit {limit} failed: raise it a little ({failed})"
            ) from failed
        matrix = self._matrix(mixture(problem, found.columns, sharp=True))
        certificate = objective.certificate(self.consumer, found.multipliers, found.prices)
        return self._kept(matrix, spare, limit), certificate, found.stopped

    @functools.cached_property
    def _problem(self) -> Problem:
        assert self.level is not None
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
        problem = self._problem
        found = run_engine(problem, gap=min(self.gap, 1e-9))
        return found.master.faces, self._matrix(mixture(problem, found.columns, sharp=True))

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
        measure, other = self.vulnerability, self.loss
        if self.max_loss is not None:
            measure, other = other, measure
        has, least = measure(matrix), measure(spare)
        if has <= least:
            return matrix
        needed, hair = (has - limit) / (has - least), HAIR * abs(limit) / (has - least)
        value, dear = other(matrix), other(spare) - other(matrix)
        share = needed + (min(hair, self.gap / 8 * abs(value) / dear) if dear > 0 else hair)
        if not 0 < share <= 1 or needed > MOST_MIXED:
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
        """Solve the whole problem as one program.

        Variables are the columns, then for each guess the most that the attacker gains there.
        """
        from scipy.sparse import csc_array, eye_array, hstack, kron, vstack

        if self._entries > LIMITED_ENTRIES:
            raise TooLarge(
                f"the program under a leakage limit would have {self._entries} entries, more than "
                f"{LIMITED_ENTRIES}: use fewer answers or actions"
            )
        costs, attack = self.costs, self.attack
        n, guesses = costs.shape
        actions = len(attack)
        gain_unit = max(float(np.abs(attack).max(axis=0).mean()), 1e-300)
        loss_unit = max(float(np.abs(costs).mean()), 1e-300)
        one = csc_array(attack / gain_unit)
        each = eye_array(guesses)
        sums = hstack([*[eye_array(n)] * guesses, csc_array((n, guesses))])
        gains = hstack([-kron(each, one), kron(each, np.ones((actions, 1)))])
        loss = np.append(costs.T.ravel() / loss_unit, np.zeros(guesses))
        leak = np.append(np.zeros(n * guesses), np.ones(guesses))
        kept, unit = (leak, gain_unit) if self.minimised == "loss" else (loss, loss_unit)
        cost = loss * loss_unit if self.minimised == "loss" else leak * gain_unit
        blocks = [sums, gains, csc_array(-kept[None])]
        if self.level is not None:
            private = kron(each, privacy_rows(self._problem))
            blocks.append(hstack([private, csc_array((private.shape[0], guesses))]))
        matrix = vstack(blocks, format="csc")
        total, ends = np.full(n, TOTAL), n + actions * guesses
        lower = np.zeros(matrix.shape[0])
        lower[:n], lower[ends] = total, -limit / unit * TOTAL
        upper = np.full(matrix.shape[0], np.inf)
        upper[:n] = total
        found = minimise(cost, matrix, lower, upper, free=guesses, watched=True)
        weight = max(0.0, float(found.duals[ends]) / unit)
        choices = np.maximum(found.duals[n:ends], 0.0).reshape(guesses, actions)
        shares = choices.sum(axis=1, keepdims=True)
        even = np.full_like(choices, 1 / actions)
        choices = np.divide(choices, shares, out=even, where=shares > 0)
        proof = LimitCertificate(
            self.graph,
            self.level,
            self.consumer,
            attack,
            limit,
            self.minimised,
            weight,
            choices,
            found.duals[:n],
        )
        columns = np.maximum(found.values[: n * guesses].reshape(guesses, n).T, 0.0) / TOTAL
        if self.level is None:
            # Without a privacy level the best prices are the least costs.
            proof = replace(proof, prices=proof.costs().min(axis=1))
            return np.asarray(columns / columns.sum(axis=1, keepdims=True)), proof
        problem = self._problem
        weighed = problem.weighed(proof.costs())
        checked = price(weighed, pricer_for(problem), proof.prices, problem.guesses)
        above = private_above(problem, dict(enumerate(columns.T)))
        mixed = mixture(problem, above, sharp=True)
        return self._matrix(mixed), replace(proof, prices=checked.lowered)


def _rounded_up(value: float) -> float:
    """Return a value that is not below when it is printed with nine digits."""
    return float(f"{value * (1 + 1e-9):.9g}") if value > 0 else value
