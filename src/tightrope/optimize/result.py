"""The result of a design: a mechanism, what it is worth, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph
from tightrope.optimize.certificate import Certificate
from tightrope.optimize.faces import Face
from tightrope.optimize.progress import relative_gap


@dataclass(frozen=True, eq=False)
class Design:
    """The best mechanism found for a consumer, and how good it is.

    Parameters
    ----------
    graph, epsilon, consumer
        What was asked for.
    route
        How it was found.
    reason
        Why this route, in one sentence.
    expected_loss
        The mechanism's expected loss (its worst loss, for a risk-averse consumer).
    channel
        The mechanism; each output is the guess that it serves.
    general
        The mechanism before remapping, as general as the route allows.
    certificate
        Prices that bound the loss of every ε-private mechanism, or ``None``.
    bound
        The bound that they prove.
    wanted_gap
        The relative gap that was asked for.
    seconds
        How long it took.
    baselines
        The loss of simple mechanisms with their best remaps, for comparison.
    stopped
        Whether the search was stopped before it reached the gap.

    Examples
    --------
    >>> from tightrope.optimize import design
    >>> found = design("choice(3)", "ln(2)")
    >>> found.route, round(found.expected_loss, 9), found.certified
    ('regular', 0.5, True)
    """

    graph: AnswerGraph
    epsilon: Epsilon
    consumer: Consumer
    route: str
    reason: str
    expected_loss: float
    channel: Channel
    general: Channel
    certificate: Certificate | None
    bound: float
    wanted_gap: float
    seconds: float
    baselines: dict[str, float] = field(default_factory=dict)
    stopped: bool = False
    rounds: int = 0
    faces: dict[int, Face] | None = field(default=None, repr=False)

    @property
    def utility(self) -> float:
        """The probability of a right guess for binary loss, else minus the loss."""
        lost = self.expected_loss
        return 1 - lost if self.consumer.loss.is_binary else 0.0 - lost

    @property
    def gap(self) -> float:
        """(loss - bound) / loss: no ε-private mechanism is better by more than this part."""
        return relative_gap(self.expected_loss, self.bound)

    @property
    def certified(self) -> bool:
        """Whether the gap is proved to be as small as was asked for."""
        return self.certificate is not None and self.gap <= self.wanted_gap

    @property
    def nodes(self) -> int:
        """The number of answers."""
        return self.graph.size

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON can hold."""
        return {
            "route": self.route,
            "reason": self.reason,
            "expected_loss": self.expected_loss,
            "utility": self.utility,
            "bound": self.bound,
            "gap": self.gap,
            "certified": self.certified,
            "epsilon": float(self.epsilon),
            "nodes": self.nodes,
            "outputs": self.channel.shape[1],
            "seconds": self.seconds,
            "stopped": self.stopped,
            "baselines": dict(self.baselines),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.graph.name} at ε = {self.epsilon}, for {self.consumer!r}",
            f"route         {self.route}: {self.reason}",
            f"loss          {self.expected_loss:.9g}",
            f"bound         {self.bound:.9g} (gap {self.gap:.2g}"
            f"{', certified' if self.certified else ''})",
        ]
        if self.consumer.loss.is_binary:
            lines.append(f"right guess   {self.utility:.9g}")
        lines += [f"{name:<13} {value:.9g}" for name, value in self.baselines.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = {"question": self.graph.name, "ε": str(self.epsilon)} | self.as_dict()
        rows = "".join(
            f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>"
            for key, value in facts.items()
        )
        return f"<table>{rows}</table>"
