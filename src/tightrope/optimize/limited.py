r"""Loss and vulnerability as one objective: the one is minimised, the other has a limit.

With attack weights :math:`a_w(i) = \rho_i\, g(w,i)` a channel with columns :math:`x^k` has the
vulnerability :math:`V = \sum_k \max_w a_w \cdot x^k`, and the two problems are

.. math:: \min \sum_k c_k \cdot x^k \;\text{with}\; V \le v, \qquad
   \min V \;\text{with}\; \sum_k c_k \cdot x^k \le L,

over private columns that sum to 1.

*The bound.* Take :math:`\theta \ge 0`, for each guess k a distribution :math:`q_k` over the
attacker's actions, and prices :math:`\lambda`. In the first problem let
:math:`\hat c_k = c_k + \theta \sum_w q_{kw} a_w`, in the second
:math:`\hat c_k = \theta c_k + \sum_w q_{kw} a_w`. If :math:`(\hat c_k - \lambda) \cdot r \ge 0` for
all k and all private columns r, then no mechanism under the limit is below
:math:`\sum_i \lambda_i - \theta v` (or :math:`- \theta L`).

*Proof.* A mean is no more than a maximum, so :math:`V \ge \sum_k \sum_w q_{kw} a_w \cdot x^k`.
Hence in the first problem :math:`\sum_k c_k \cdot x^k \ge \sum_k c_k \cdot x^k + \theta (V - v)
\ge \sum_k \hat c_k \cdot x^k - \theta v \ge \sum_k \lambda \cdot x^k - \theta v = \sum_i \lambda_i
- \theta v`, since the columns are private and sum to 1; in the second the same with the roles
exchanged. A mechanism with more outputs than guesses is covered: merging the outputs that lead
to one guess changes neither the loss nor privacy and makes V no larger. By duality the best
such bound is the optimum. Without a privacy level r is any column :math:`\ge 0`, and the best
prices are :math:`\lambda_i = \min_k \hat c_k(i)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tightrope.consumers import Consumer, MatrixLoss, Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.faces import Face
from tightrope.optimize.objective import TOTAL, Side
from tightrope.optimize.problem import Floats, Ints, Problem

Minimised = Literal["loss", "vulnerability"]
#: How far the choices of a guess may be from summing to 1.
CHOICE_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LimitCertificate:
    r"""Multipliers and prices that bound what every mechanism under a limit has.

    Parameters
    ----------
    graph, epsilon, consumer
        What was asked for; ``epsilon`` is ``None`` without a privacy level.
    attack
        :math:`a_w(i)`, one row for each action.
    limit, minimised
        The limit, and which of loss and vulnerability is minimised; the other is limited.
    weight
        :math:`\theta`.
    choices
        :math:`q_{kw}`, one row for each guess.
    prices
        :math:`\lambda`.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import Clique
    >>> consumer = Consumer.of(Clique(2), prior="uniform", loss="binary")
    >>> proof = LimitCertificate(
    ...     Clique(2), None, consumer, np.eye(2) / 2, 0.75, "loss", 1.0, np.eye(2), np.full(2, 0.5)
    ... )
    >>> proof.bound, proof.checked_bound()
    (0.25, 0.25)
    """

    graph: AnswerGraph
    epsilon: Epsilon | None
    consumer: Consumer
    attack: Floats
    limit: float
    minimised: Minimised
    weight: float
    choices: Floats
    prices: Floats

    def __post_init__(self) -> None:
        guesses = self.consumer.loss.guess_count
        choices = np.array(self.choices, dtype=np.float64)
        prices = np.array(self.prices, dtype=np.float64)
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(f"the weight of a limit must be at least 0, got {self.weight}")
        if choices.shape != (guesses, len(self.attack)) or not (
            (choices >= 0).all() and np.abs(choices.sum(axis=1) - 1).max() <= CHOICE_ROUNDING
        ):
            raise InputError(
                f"a certificate needs for each of the {guesses} guesses a distribution over the "
                f"{len(self.attack)} actions"
            )
        if prices.shape != (self.graph.size,) or not np.isfinite(prices).all():
            raise InputError(
                f"a certificate needs one finite price for each of the {self.graph.size} answers"
            )
        for name, array in (("choices", choices), ("prices", prices)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def bound(self) -> float:
        r""":math:`\sum_i \lambda_i - \theta v`, which holds if the prices are feasible."""
        return float(self.prices.sum()) - self.weight * self.limit

    def costs(self) -> Floats:
        r"""Return :math:`\hat c_k(i)`, one column for each guess."""
        own = self.consumer.prior.probabilities[:, None] * self.consumer.loss.matrix()
        taken = (self.choices @ self.attack).T
        if self.minimised == "loss":
            return np.asarray(own + self.weight * taken)
        return np.asarray(self.weight * own + taken)

    def plain(self) -> Certificate:
        r"""Return the prices as they are for a reader whose costs are :math:`\hat c_k`."""
        if self.epsilon is None:
            raise InputError("without a privacy level a limit has no plain certificate")
        size = self.graph.size
        reader = Consumer(prior=Prior.uniform(size), loss=MatrixLoss(size * self.costs()))
        return Certificate(self.graph, self.epsilon, reader, self.prices)

    def checked_bound(self) -> float:
        """Price every guess again and return the bound that the certificate proves."""
        if self.epsilon is None:
            proved = float(np.minimum(self.prices, self.costs().min(axis=1)).sum())
        else:
            proved = self.plain().checked_bound()
        return proved - self.weight * self.limit


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
    minimised: Minimised
    #: A guess must stay in the program, which alone knows what the attacker does there.
    may_park: bool = False

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

    def weighed(self, multipliers: Floats) -> Problem:
        """Return the problem with the costs of the certificate, less the constant."""
        weight, taken = float(multipliers[0]), self._choices(multipliers) @ self.attack
        own = self.problem.costs if self.minimised == "loss" else weight * self.problem.costs
        constant = weight * self.limit * self.prior
        return self.problem.weighed(own + taken.T - constant[:, None])

    def certificate(
        self, consumer: Consumer, multipliers: Floats, prices: Floats
    ) -> LimitCertificate:
        """Return multipliers and prices of an engine as a certificate."""
        weight, choices = float(multipliers[0]), self._choices(multipliers)
        if self.minimised == "loss":
            # Without weight on the limit any distribution will do.
            even = np.full_like(choices, 1 / choices.shape[1])
            choices = choices / weight if weight > 0 else even
        choices = choices / choices.sum(axis=1, keepdims=True)
        whole = prices + weight * self.limit * self.prior
        return LimitCertificate(
            self.problem.graph,
            self.problem.epsilon,
            consumer,
            self.attack,
            self.limit,
            self.minimised,
            weight,
            choices,
            whole,
        )

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
