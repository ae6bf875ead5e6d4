r"""Certificates: prices that bound the loss of every ε-private mechanism.

A certificate holds a price :math:`\lambda_i` for each answer. If
:math:`(c_k - \lambda) \cdot r \ge 0` for every guess k and every private column r, then any
ε-private mechanism, with any number of outputs, loses at least :math:`\sum_i \lambda_i`: its
columns are private and sum to 1. For each guess the inequality is itself proved by edge
multipliers :math:`y \ge 0`, one for each direction of each edge, with

.. math:: c_k - \lambda \;\ge\; \sum_{i \to h} y_{ih} (e_h - \alpha e_i).

*Under a limit.* With attack weights :math:`a_w(i) = \rho_i\, g(w,i)` a channel with columns
:math:`x^k` has the vulnerability :math:`V = \sum_k \max_w a_w \cdot x^k`, and the two problems are

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

import functools
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tightrope.consumers import Consumer, MatrixLoss, Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen
from tightrope.graphs.lines import cosets_of, width_of_line
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Edge multipliers that prove the inequality of one guess.

    Parameters
    ----------
    forward, backward
        For each edge (i, j) of ``graph.edge_array()`` the multiplier of
        :math:`x_j - α x_i` and of :math:`x_i - α x_j`.
    shortfall
        How far the proof misses at its worst answer (0, or rounding errors).

    Examples
    --------
    >>> Multipliers(np.zeros(1), np.zeros(1), 0.0).shortfall
    0.0
    """

    forward: Floats
    backward: Floats
    shortfall: float


def _checked_prices(prices: Floats, graph: AnswerGraph) -> Floats:
    """Return a copy of prices that nobody can change, one finite number for each answer."""
    found = np.array(prices, dtype=np.float64)
    if found.shape != (graph.size,) or not np.isfinite(found).all():
        raise InputError(
            f"a certificate needs one finite price for each of the {graph.size} answers"
        )
    return frozen(found)


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""Prices for the answers that bound the loss of every ε-private mechanism.

    Parameters
    ----------
    graph, epsilon
        What privacy is measured by.
    consumer
        The Bayesian consumer whose loss is bounded. For a risk-averse consumer it is the one
        with the worst prior on the support, whose loss is never above the worst loss.
    prices
        :math:`\lambda`.
    theorem
        Why the prices are feasible, when that is known without a computation.
    stride
        On a line, where it is more than 1: the prices are dual feasible on every so many-th answer
        for itself (:class:`tightrope.graphs.lines.Coset`).
    cover
        For binary loss :math:`y = \pi - \lambda \ge 0` with :math:`y\Phi \ge \pi` up to
        rounding, where a route has found it: the proof in a file needs nothing else.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import Clique
    >>> consumer = Consumer.of(graph := Clique(3), prior="uniform", loss="binary")
    >>> proof = Certificate(graph, Epsilon.of("ln(2)"), consumer, np.full(3, 1 / 6))
    >>> proof.bound, proof.checked_bound() > 0.499999
    (0.5, True)
    """

    graph: AnswerGraph
    epsilon: Epsilon
    consumer: Consumer
    prices: Floats
    theorem: str = ""
    cover: Floats | None = None
    stride: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "prices", _checked_prices(self.prices, self.graph))

    @property
    def bound(self) -> float:
        r""":math:`\sum_i \lambda_i`."""
        return float(self.prices.sum())

    @property
    def saved_between(self) -> float:
        r"""What a guess between answers of a coset may save: :math:`s^2/4` of a squared loss."""
        rule = self.consumer.loss.step_rule
        squared = rule is not None and rule[0] == 2
        return float(self.stride**2 // 4 * rule[1]) if rule and squared else 0.0

    @functools.cached_property
    def cosets(self) -> list[tuple[Ints, Certificate]]:
        """For each coset its answers, and the certificate of their prices on it alone."""
        width = width_of_line(self.graph)
        if width is None or self.stride == 1:
            return [(np.arange(self.graph.size), self)]
        parts = []
        prior = self.consumer.prior.probabilities
        # Put back what the bound is reduced by: then each coset is dual feasible by itself.
        prices = self.prices + self.saved_between * prior
        for coset in cosets_of(self.graph.size, width, self.stride):
            mine = coset.answers
            losses = self.consumer.loss.columns(mine)[mine]
            own = prior[mine]
            # The costs of a coset are those of a consumer with an even prior on it.
            even = Consumer(
                prior=Prior.uniform(len(mine)),
                loss=MatrixLoss(len(mine) * own[:, None] * losses),
            )
            part = Certificate(coset.graph, self.epsilon, even, prices[mine])
            parts.append((mine, part))
        return parts

    def checked_bound(self) -> float:
        """Price every guess again and return the bound that the prices prove."""
        if self.stride > 1:
            proved = sum(part.checked_bound() for _, part in self.cosets)
            return proved - self.saved_between
        problem = Problem.of(self.graph, self.epsilon, self.consumer)
        return price(problem, Pricer(problem), self.prices, problem.guesses).bound

    def weights(self, guess: int) -> Floats:
        """Return :math:`c_k - λ` for a guess."""
        column = self.consumer.loss.column(guess)
        return self.consumer.prior.probabilities * column - self.prices

    def multipliers(self, guess: int) -> Multipliers:
        """Return the edge multipliers of one guess: the flow that pricing ends with.

        >>> from tightrope.consumers import Consumer
        >>> from tightrope.graphs import PathPower
        >>> consumer = Consumer.of(graph := PathPower(2), prior="uniform", loss="binary")
        >>> proof = Certificate(graph, Epsilon.of("ln(2)"), consumer, np.full(2, 1 / 6))
        >>> proof.multipliers(0).forward.round(6).tolist()
        [0.333333]
        """
        weights = self.weights(guess)
        costs = weights + self.prices
        anchor = guess if guess < self.graph.size else int(costs.argmin())
        forward, backward = self._pricer.multipliers(weights, anchor)
        problem = self._pricer.problem
        start, end = problem.edges.T
        fall = problem.alpha ** problem.lengths.astype(float)
        # Σ y_ih (e_h - α e_i), over both directions of every edge.
        covered = np.bincount(end, forward - fall * backward, problem.size)
        covered += np.bincount(start, backward - fall * forward, problem.size)
        shortfall = max(0.0, float((covered - weights).max()))
        return Multipliers(forward, backward, shortfall)

    @functools.cached_property
    def _pricer(self) -> Pricer:
        no_costs = np.zeros((self.graph.size, 1))
        return Pricer(Problem(self.graph, self.epsilon, no_costs))


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
    minimised: Literal["loss", "vulnerability"]
    weight: float
    choices: Floats
    prices: Floats
    theorem: ClassVar[str] = ""

    def __post_init__(self) -> None:
        # Choices are divided by their sums, so they are off by rounding alone.
        choice_rounding = 1e-9
        guesses = self.consumer.loss.guess_count
        choices = np.array(self.choices, dtype=np.float64)
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise InputError(
                f"the weight of a limit must be at least 0, got {self.weight}"
            )
        if choices.shape != (guesses, len(self.attack)) or not (
            (choices >= 0).all()
            and np.allclose(choices.sum(axis=1), 1, rtol=0, atol=choice_rounding)
        ):
            raise InputError(
                f"a certificate needs for each of the {guesses} guesses a distribution over the "
                f"{len(self.attack)} actions"
            )
        object.__setattr__(self, "choices", frozen(choices))
        object.__setattr__(self, "prices", _checked_prices(self.prices, self.graph))

    @property
    def bound(self) -> float:
        r""":math:`\sum_i \lambda_i - \theta v`, which holds if the prices are feasible."""
        return float(self.prices.sum()) - self.weight * self.limit

    def costs(self) -> Floats:
        r"""Return :math:`\hat c_k(i)`, one column for each guess."""
        weights = self.consumer.prior.probabilities[:, None]
        own = weights * self.consumer.loss.matrix()
        taken = (self.choices @ self.attack).T
        if self.minimised == "loss":
            return own + self.weight * taken
        return self.weight * own + taken

    def plain(self) -> Certificate:
        r"""Return the prices as they are for a consumer whose costs are :math:`\hat c_k`."""
        if self.epsilon is None:
            raise InputError("without a privacy level a limit has no plain certificate")
        size = self.graph.size
        # Under a uniform prior the loss n·ĉ has the costs π_i·ℓ(i,k) = ĉ_k(i).
        loss = MatrixLoss(size * self.costs())
        even = Consumer(prior=Prior.uniform(size), loss=loss)
        return Certificate(self.graph, self.epsilon, even, self.prices)

    def checked_bound(self) -> float:
        """Price every guess again and return the bound that the certificate proves."""
        if self.epsilon is None:
            # Without privacy the condition is λ_i ≤ min_k ĉ_k(i) for each answer alone.
            least = self.costs().min(axis=1)
            proved = float(np.minimum(self.prices, least).sum())
        else:
            proved = self.plain().checked_bound()
        return proved - self.weight * self.limit


@dataclass(frozen=True, eq=False)
class UnboundedCertificate:
    r"""What is proved about noise on a lattice, in closed form.

    Parameters
    ----------
    slope
        :math:`\beta` of the prior :math:`\beta^{d}` around the middle, for which the bound of the
        question itself is proved; none if it is proved by lines
        (:class:`tightrope.lattices.LineFlow`).

    Examples
    --------
    >>> UnboundedCertificate(0.99).slope
    0.99
    """

    slope: float | None


@dataclass(frozen=True, eq=False)
class StretchedCertificate:
    r"""Prices for the ends of a line with a uniform prior; in between the last one goes on.

    Parameters
    ----------
    prices
        :math:`N\lambda_i` of the first answers in units of a step (or its square); those of the
        last answers are the same, in reverse.
    cores
        For each guess at an end first and last answer of the core of its cheapest staircase.
    layers
        How many layers of a staircase are counted on each side.
    stride
        The prices are those of every so many-th answer.

    Examples
    --------
    >>> StretchedCertificate(np.ones(1), np.zeros((1, 2), int), 5).stride
    1
    """

    prices: Floats
    cores: Ints
    layers: int
    stride: int = 1
