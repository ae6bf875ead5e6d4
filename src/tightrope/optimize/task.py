"""What the planner's routes work on: the request, and facts that several routes ask for."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer, MatrixLoss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import AnswerGraph
from tightrope.graphs.symmetry import AutomorphismGroup
from tightrope.mechanisms.tight import TightConstraints, tight_constraints
from tightrope.optimize.certificate import (
    Certificate,
    StretchedCertificate,
    UnboundedCertificate,
)
from tightrope.optimize.faces import Face
from tightrope.optimize.objective import ExpectedLoss, MinimaxLoss, Objective, even_on
from tightrope.optimize.orbits import reduced, symmetries
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Floats, Ints, Problem
from tightrope.optimize.progress import Watch
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.phi import Phi

#: A value below this part of what is had without an answer, or of the largest loss where losses
#: have both signs, is measured by that part.
SMALL_SHARE = 1e-3


@dataclass(frozen=True)
class RoutePlan:
    """A route that fits a task.

    Parameters
    ----------
    reason
        Why it fits, in one sentence.
    solve
        What is left to do. It holds what deciding has computed, so nothing is solved twice.
    """

    reason: str
    solve: Callable[[], Design]


@dataclass(frozen=True, eq=False)
class Task:
    """One request for an optimal mechanism.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> task = Task.of(PathPower(4), 1, prior="uniform", loss="binary")
    >>> task.is_binary, task.tight is not None
    (True, True)
    """

    graph: AnswerGraph
    epsilon: Epsilon
    consumer: Consumer
    gap: float = 1e-9
    watch: Watch = field(default_factory=Watch)
    settings: SolverSettings = field(default_factory=SolverSettings)
    faces: dict[int, Face] | None = field(default=None, repr=False)
    #: Prices that an earlier route has proved.
    prices: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        graph: AnswerGraph,
        epsilon: Epsilon | float | Fraction | str,
        *,
        prior: Any,
        loss: Any,
    ) -> Task:
        """Return the task of a consumer, with prior and loss as ``Consumer.of`` reads them."""
        return cls(
            graph, Epsilon.of(epsilon), Consumer.of(graph, prior=prior, loss=loss)
        )

    def starting_from(self, design: Design) -> Task:
        """Return the task for the next route: faces and prices of a design not certified."""
        # A copy keeps the cached properties, which ``replace`` would compute again.
        warm = copy.copy(self)
        if design.faces:
            object.__setattr__(warm, "faces", design.faces)
        if isinstance(design.certificate, Certificate):
            object.__setattr__(warm, "prices", design.certificate.prices)
        return warm

    @property
    def prior(self) -> Floats:
        """The consumer's prior; the uniform one on the support where it has none."""
        if self.consumer.risk_averse:
            return even_on(self.consumer.support, self.graph.size)
        return self.consumer.prior.probabilities

    @property
    def bayesian(self) -> Consumer:
        """The consumer; for a risk-averse one, one with a uniform prior on the support."""
        if self.consumer.risk_averse:
            return self.with_prior(self.prior)
        return self.consumer

    def with_prior(self, prior: Floats) -> Consumer:
        """Return the consumer with this prior and the same loss."""
        return Consumer(prior=prior, loss=self.consumer.loss)

    @functools.cached_property
    def scale(self) -> float:
        """What a gap is measured by where losses of both signs cancel: a part of their size."""
        loss = self.consumer.loss
        if not isinstance(loss, MatrixLoss):
            return 0.0
        losses = loss.matrix()
        if not losses.min() < 0 < losses.max():
            return 0.0
        return SMALL_SHARE * float(np.abs(losses).max())

    @functools.cached_property
    def alpha(self) -> float:
        """The ratio α."""
        return self.epsilon.alpha

    @functools.cached_property
    def least_losses(self) -> Floats:
        r""":math:`\min_k \ell(i,k)`, below which nobody is; an implicit loss is 0 at the answer."""
        loss = self.consumer.loss
        if isinstance(loss, MatrixLoss):
            return np.asarray(loss.matrix().min(axis=1))
        return np.zeros(self.graph.size)

    @property
    def is_binary(self) -> bool:
        """Whether the loss is binary, on the answers themselves."""
        loss = self.consumer.loss
        return loss.is_binary and loss.guess_count == self.graph.size

    @functools.cached_property
    def phi(self) -> Phi:
        """Φ of the graph: several routes solve with it."""
        return Phi(self.graph, self.epsilon)

    @functools.cached_property
    def tight(self) -> TightConstraints | None:
        """The tight-constraints mechanism, or ``None`` where it is not found."""
        try:
            return tight_constraints(self.graph, self.epsilon, self.phi)
        except (InputError, CheckFailed):
            # It does not exist, or Φz = 1 did not converge, as on median(96,15598).
            return None

    @functools.cached_property
    def objective(self) -> Objective:
        """What is minimised: the expected loss, or the worst one."""
        problem = Problem.of(self.graph, self.epsilon, self.bayesian)
        loss = self.consumer.loss
        if self.consumer.risk_averse:
            return MinimaxLoss(problem, loss.matrix(), self.consumer.support)
        return ExpectedLoss(problem)

    @property
    def problem(self) -> Problem:
        """The problem as arrays."""
        return self.objective.problem

    @functools.cached_property
    def symmetries(self) -> AutomorphismGroup | None:
        """The symmetries of the graph that keep prior (or support) and loss, if any."""
        return symmetries(self.graph, self.prior, self.consumer.loss)

    @functools.cached_property
    def on_orbits(self) -> Problem:
        """The problem with one guess for each orbit, where there are symmetries."""
        if self.symmetries is None:
            return self.problem
        return reduced(self.problem, self.symmetries)

    def proved(
        self, prices: Floats, guesses: Ints | None = None, *, by_theorem: bool = False
    ) -> Floats:
        """Return prices that prove their sum: priced again, or by theorem on large graphs.

        Every closed form is checked by pricing as long as that is cheap; for all guesses, or some.
        """
        if by_theorem and self.graph.size > self.settings.checked_answers:
            return prices
        problem = self.problem
        guesses = problem.guesses if guesses is None else guesses
        return price(problem, Pricer(problem), prices, guesses).prices

    def guess_labels(self, guesses: np.ndarray) -> list[Hashable]:
        """Return the labels of guesses."""
        return [self.consumer.loss.guess_label(int(k)) for k in guesses]

    def answered(
        self,
        *,
        loss: float,
        bound: float,
        channel: Channel,
        certificate: Certificate | StretchedCertificate | UnboundedCertificate,
        general: Channel | None = None,
        rounding: float = 1e-15,
        **search: Any,
    ) -> Design:
        """Return the design, without the plan that led to it: the planner adds that.

        ``search`` says how an engine came to it (see :class:`Design`).
        A loss within ``rounding`` of 0 is 0: it is a sum of probabilities that are not below it.
        """
        if abs(loss) <= rounding:
            loss = 0.0
            bound = bound if abs(bound) > rounding else 0.0
        return Design(
            graph=self.graph,
            epsilon=self.epsilon,
            consumers=(self.consumer,),
            expected_loss=loss,
            channel=channel,
            general=channel if general is None else general,
            certificate=certificate,
            bound=bound,
            wanted_gap=self.gap,
            **search,
        )
