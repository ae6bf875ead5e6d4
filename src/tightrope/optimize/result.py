"""The result of a design: a mechanism, what it is worth, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tightrope.channels import Channel, GuessedNoise, UnboundedNoise
from tightrope.claims import claim_of_design
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph
from tightrope.optimize.certificate import (
    Certificate,
    LimitCertificate,
    StretchedCertificate,
    UnboundedCertificate,
)
from tightrope.optimize.faces import Face
from tightrope.optimize.problem import Floats, Ints
from tightrope.optimize.progress import relative_gap
from tightrope.texts import html_table

#: What a design makes as small as possible. The loss is the expected one of a consumer with a
#: prior, the worst one of a risk-averse consumer; the regret is the worst over the consumers.
Minimised = Literal["loss", "vulnerability", "regret"]


@dataclass(frozen=True, eq=False)
class Design:
    """The best mechanism found, and how good it is.

    Parameters
    ----------
    graph, epsilon, consumers
        What was asked for; ``epsilon`` is ``None`` where only leakage has a limit.
    route
        How it was found.
    reason
        Why this route, in one sentence.
    expected_loss
        The mechanism's expected loss: the worst over the support for a risk-averse consumer,
        the largest one for many consumers.
    channel
        The mechanism; each output is the guess that it serves. For many consumers each of them
        remaps it.
    general
        The mechanism before remapping, as general as the route allows.
    guess
        For each output of ``general`` the guess that it serves, where a route has found it.
    certificate
        What proves the bound, or ``None``.
    bound
        No private mechanism (under the same limit) is below this, of the quantity minimised.
    wanted_gap
        The relative gap that was asked for.
    minimised
        The quantity: ``"loss"``, ``"vulnerability"`` or ``"regret"``.
    scale
        The gap is a part of the value, or of this where it is larger.
    vulnerability, limit
        What an attacker gains from the mechanism, and the limit on it (or on the loss).
    losses, optima
        For many consumers: what each loses with this mechanism, and with its own optimal one
        (what is proved of it, where that is not certified).
    seconds
        How long it took.
    baselines
        What simple mechanisms have of the quantity minimised, each with its best remap.
    stopped
        Whether the search was stopped before it reached the gap.
    unbounded_bound
        For noise on a lattice: no private mechanism on the unbounded question has a worst loss
        below this.
    rounds, faces
        How an engine came to it: the next design of a sweep starts from its faces.
    inner, start
        The design on the window that holds the prior, and its first answer, where there is one.

    Examples
    --------
    >>> from tightrope.optimize import design
    >>> best = design("choice(3)", "ln(2)")
    >>> best.route, round(best.expected_loss, 9), best.certified
    ('regular', 0.5, True)
    """

    graph: AnswerGraph
    epsilon: Epsilon | None
    consumers: tuple[Consumer, ...]
    expected_loss: float
    channel: Channel
    general: Channel
    certificate: (
        Certificate
        | LimitCertificate
        | StretchedCertificate
        | UnboundedCertificate
        | None
    )
    bound: float
    wanted_gap: float
    route: str = ""
    reason: str = ""
    guess: Ints | None = None
    minimised: Minimised = "loss"
    scale: float = 0.0
    vulnerability: float | None = None
    limit: float | None = None
    losses: Floats = field(default_factory=lambda: np.zeros(0))
    optima: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    baselines: dict[str, float] = field(default_factory=dict)
    stopped: bool = False
    rounds: int = 0
    unbounded_bound: float | None = None
    faces: dict[int, Face] | None = field(default=None, repr=False)
    inner: Design | None = field(default=None, repr=False)
    start: int = 0

    @property
    def level(self) -> Epsilon:
        """The privacy level, where there is one."""
        if self.epsilon is None:
            raise InputError("this design has a limit on leakage and no privacy level")
        return self.epsilon

    @property
    def many(self) -> bool:
        """Whether the design is for many consumers, each of whom remaps the mechanism."""
        return self.minimised == "regret"

    @property
    def consumer(self) -> Consumer:
        """The consumer, where the design is for one."""
        if self.many:
            raise InputError("this design is for many consumers: ask for consumers")
        return self.consumers[0]

    @property
    def value(self) -> float:
        """The quantity that is minimised."""
        if self.minimised == "regret":
            return self.worst_regret
        if self.minimised == "vulnerability":
            assert self.vulnerability is not None
            return self.vulnerability
        return self.expected_loss

    @property
    def regrets(self) -> Floats:
        """What each consumer loses beyond its own optimum."""
        if not self.many:
            raise InputError("a design for one consumer has no regrets")
        return np.maximum(self.losses - self.optima, 0.0)

    @property
    def worst_regret(self) -> float:
        """The largest regret."""
        return float(self.regrets.max())

    @property
    def utility(self) -> float:
        """The probability of a right guess for binary loss, else minus the loss."""
        lost = self.expected_loss
        binary = not self.many and self.consumer.loss.is_binary
        return 1 - lost if binary else 0.0 - lost

    @property
    def gap(self) -> float:
        """(value - bound) / value: no private mechanism is better by more than this part."""
        if self.scale > abs(self.value):
            return max(self.value - self.bound, 0.0) / self.scale
        return relative_gap(self.value, self.bound)

    @property
    def certified(self) -> bool:
        """Whether the gap is proved to be as small as was asked for."""
        return self.gap <= self.wanted_gap

    @property
    def is_floating(self) -> bool:
        """Whether its bound stays in floats: a file has its noise, and proves the worst case."""
        by_rule = isinstance(self.channel, UnboundedNoise | GuessedNoise)
        return by_rule and isinstance(self.certificate, Certificate)

    @property
    def claim(self) -> str:
        """What is proved of its quality, as a sentence."""
        return str(claim_of_design(self))

    def proved_by(self, other: Design) -> Design:
        """Return this mechanism with the bound of another design: it holds for every mechanism."""
        bound = min(other.bound, self.expected_loss)
        return replace(self, certificate=other.certificate, bound=bound)

    @property
    def nodes(self) -> int:
        """The number of answers."""
        return self.graph.size

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        facts = {
            "route": self.route,
            "reason": self.reason,
            "minimised": self.minimised,
            "expected_loss": self.expected_loss,
            "utility": self.utility,
            "bound": self.bound,
            "gap": self.gap,
            "certified": self.certified,
            "claim": self.claim,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "nodes": self.nodes,
            "outputs": self.channel.shape[1],
            "seconds": self.seconds,
            "stopped": self.stopped,
            "baselines": dict(self.baselines),
        }
        if not self.many:
            facts["loss"] = self.consumer.loss.name
        if self.unbounded_bound is not None:
            facts["unbounded_bound"] = self.unbounded_bound
        if self.limit is not None:
            facts |= {"vulnerability": self.vulnerability, "limit": self.limit}
        if self.many:
            facts["worst_regret"] = self.worst_regret
            facts["consumers"] = [
                {
                    "name": consumer.name or str(place + 1),
                    "expected_loss": float(self.losses[place]),
                    "optimum": float(self.optima[place]),
                    "regret": float(self.regrets[place]),
                }
                for place, consumer in enumerate(self.consumers)
            ]
        return facts

    def __str__(self) -> str:
        whose = (
            f"{len(self.consumers)} consumers" if self.many else repr(self.consumers[0])
        )
        level = "" if self.epsilon is None else f" at ε = {self.epsilon}"
        lines = [
            f"{self.graph.name}{level}, for {whose}",
            f"route         {self.route}: {self.reason}",
            f"{self.minimised:<13} {self.value:.9g}",
            f"bound         {self.bound:.9g} (gap {self.gap:.2g}"
            f"{', certified' if self.certified else ''})",
        ]
        if self.minimised == "vulnerability":
            lines.append(f"loss          {self.expected_loss:.9g}")
        if not self.many and self.consumer.loss.is_binary:
            lines.append(f"right guess   {self.utility:.9g}")
        losses = self.baselines.items()
        lines += [f"{name:<13} {value:.9g}" for name, value in losses]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        question = {"question": self.graph.name, "ε": str(self.epsilon)}
        facts = question | self.as_dict()
        return html_table(facts.items())
