"""Proofs that no mechanism is universally optimal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightrope.channels import Channel, IntegerChannel
from tightrope.channels.derive import Derivation
from tightrope.consumers import Consumer, Loss, Prior
from tightrope.graphs import AnswerGraph

#: Rows of a matrix, and answers of a labelling, that are still written into a report.
REPORT_ROWS = 200


@dataclass(frozen=True)
class Refutation:
    """Consumers whose optimal mechanisms no single mechanism derives.

    Attributes
    ----------
    graph
        The answer graph.
    supports
        The nodes that each consumer believes possible: all equally likely for a Bayesian
        consumer, the worst of them for a risk-averse one.
    kind
        ``"bayesian"`` or ``"risk-averse"``.
    loss
        The loss of all consumers.
    optimal_losses
        What each consumer loses under a mechanism of its own.
    mechanisms
        An optimal mechanism for each consumer, one row for each of ``rows``; what it does
        there is forced. Empty when a linear program in floats found the losses.
    rows
        The rows that the mechanisms are given on: all nodes, or those that matter.
    labellings
        For each consumer a label for every node by which the mechanism extends to the whole
        graph: a node gets the row of the supported node with its label [C, Claim 4.5].
    derivation
        The derivation that fails: of what the last consumer needs from what the first forces.
    together, apart
        The most that the consumers' probabilities of a right guess (or their gains) can add up
        to under one mechanism, and what they add up to under their own: ``together < apart``.
    exact
        Whether all numbers are fractions and were checked as such.
    priors
        The prior of each Bayesian consumer where it is not uniform on its support.

    Examples
    --------
    >>> from tightrope.axioms import universality
    >>> universality("cycle(5)", "ln(2)").witness.supports
    ((0, 1, 2, 3, 4), (0, 1, 2))
    """

    graph: AnswerGraph
    supports: tuple[tuple[int, ...], ...]
    kind: str
    loss: Loss
    optimal_losses: tuple[Fraction | float, ...]
    mechanisms: tuple[IntegerChannel, ...] = ()
    rows: tuple[int, ...] = ()
    labellings: tuple[tuple[int, ...], ...] = ()
    derivation: Derivation | None = None
    together: Fraction | float | None = None
    apart: Fraction | float | None = None
    exact: bool = True
    priors: tuple[tuple[Fraction, ...], ...] = ()

    def consumers(self) -> tuple[Consumer, ...]:
        """Return the consumers."""
        made = []
        for c, support in enumerate(self.supports):
            if self.kind == "risk-averse":
                made.append(Consumer(support=support, loss=self.loss))
                continue
            share = Fraction(1, len(support))
            inside = set(support)
            weights = [share if i in inside else Fraction(0) for i in range(self.graph.size)]
            if self.priors:
                weights = list(self.priors[c])
            made.append(Consumer(prior=Prior(weights), loss=self.loss))
        return tuple(made)

    def as_dict(self) -> dict[str, Any]:
        """Return the proof under its public names, ready for JSON."""
        told: dict[str, Any] = {
            "consumers": [
                {
                    "kind": self.kind,
                    "loss": self.loss.name,
                    "support": [self._name(i) for i in support],
                    "optimal_loss": lost,
                }
                for support, lost in zip(self.supports, self.optimal_losses, strict=True)
            ],
            "exact": self.exact,
        }
        if self.priors:
            for entry, prior in zip(told["consumers"], self.priors, strict=True):
                entry["prior"] = list(prior)
        if self.mechanisms and len(self.rows) <= REPORT_ROWS:
            told["rows"] = [self._name(i) for i in self.rows]
            told["mechanisms"] = [_fractions(channel) for channel in self.mechanisms]
        if self.labellings and self.graph.size <= REPORT_ROWS:
            told["labellings"] = [list(labels) for labels in self.labellings]
        if self.derivation is not None and self.derivation.witness is not None:
            told["failing_derivation"] = self.derivation.witness.as_dict()
        if self.together is not None:
            told["together"], told["apart"] = self.together, self.apart
        return told

    def _name(self, node: int) -> Hashable:
        return self.graph.label(node)


@dataclass(frozen=True)
class Universal:
    """A mechanism from which every consumer gets an optimal one by a remap.

    Attributes
    ----------
    name
        Which mechanism.
    channel
        The mechanism itself.

    Examples
    --------
    >>> from tightrope.axioms import universality
    >>> universality("count(5)", 1).witness.name
    'geometric'
    """

    name: str
    channel: Channel

    def as_dict(self) -> dict[str, Any]:
        """Return the mechanism under its public names, ready for JSON; its matrix if small."""
        told: dict[str, Any] = {"mechanism": self.name}
        if max(self.channel.shape) <= 20:
            told["matrix"] = self.channel.matrix()
        return told


def _fractions(channel: IntegerChannel) -> list[list[Fraction]]:
    rows, columns = channel.shape
    return [[channel.fraction(i, o) for o in range(columns)] for i in range(rows)]
