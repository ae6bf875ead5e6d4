r"""A limit on what an attacker gains, or on the loss.

An attacker who gains a_w(i) by doing w under answer i gains ``V = Σ_x max_w a_w·x`` over the
outputs x, which the file states. By default the attacker knows the prior and gains 1 by a right
guess.

*Theorem.* Let θ >= 0 and for each guess k let choices q_k(w) >= 0 have the sum θ. If prices λ
are dual feasible for the costs ``π_i·loss(i,k) + Σ_w q_k(w)·a_w(i)``, the loss of a private
mechanism with ``V <= v`` is at least ``Σ λ_i - θ·v``. Under a limit on the loss, V is least:
there the costs are ``θ·π_i·loss(i,k) + Σ_w q_k(w)·a_w(i)`` and the choices sum to 1.

*Proof.* Add up the outputs of a mechanism by guess into columns x_k, which makes V no larger. A
maximum is no less than a mean, so ``θ·V >= Σ_k Σ_w q_k(w)·a_w·x_k``, and the theorem about
multipliers gives ``loss + θ·V >= Σ λ_i``. ∎
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer, listed_words
from tightrope.certify.kernel.format import (
    OPTIONS,
    WIDE,
    Array,
    Header,
    Option,
    Sizes,
    fraction,
    kinds,
    need,
    need_work,
    record,
    registered,
    whole,
    word,
)
from tightrope.certify.kernel.verdict import agreed


@registered(OPTIONS, "limit")
class Limit(Option):
    """What is limited, by how much, and who the attacker is."""

    rule: ClassVar = staticmethod(
        record(
            limited=word("loss", "vulnerability"),
            most=fraction(),
            vulnerability=fraction(),
            attacker=kinds(
                guesser={},
                listed={
                    "actions": whole(1, 1 << 24),
                    "denominator": whole(1, 1 << 1024),
                },
            ),
        )
    )

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop unless the proof weighs the limit, and the consumer has a prior."""
        limited = header["limit"] is not None
        proof = header["certificate"]
        weighed = proof is None or (proof.get("weight") is not None) == limited
        what = "the weight of a limit belongs to a limit, with multipliers or a tree"
        need(weighed, what)
        averse = header["consumer"] is not None and header["consumer"]["support"]
        need(not limited or not averse, "a limit is for a prior")

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the gains of a listed attacker, and the choices of a proof."""
        attacker = header["limit"]["attacker"]
        actions = attacker.get("actions", nodes)
        proved = header["certificate"] is not None
        return {
            "attack": (actions * nodes * (attacker["kind"] == "listed"), -WIDE, WIDE),
            "choices": (guesses * actions * proved, 0, WIDE),
        }

    @classmethod
    def costs(cls, consumer: StatedConsumer) -> LimitedCosts:
        """Return the consumer with the limit counted into its costs."""
        return LimitedCosts(consumer)


class LimitedCosts(StatedConsumer):
    """A consumer whose costs count in what a limit on vulnerability or loss is about."""

    def __init__(self, consumer: StatedConsumer) -> None:
        vars(self).update(vars(consumer))  # but for the costs, all is the consumer's
        self.consumer = consumer
        self.limit = self.file.header["limit"]
        # Prior and attacker are merged into the costs (see losses), so the prior becomes 1.
        self.prior_total = 1
        self.binary = False
        self.power = 0
        self.attack = consumer.prior
        self.parts = consumer.prior_total
        attacker = self.limit["attacker"]
        rows = attacker.get("actions", 1)
        # Once for each output, and for each guess where its costs are used: on a tree twice.
        work = rows * self.n * (consumer.outputs + 2 * self.guesses)
        need_work("the gains of the attacker", work, 200, 120 * rows * self.n)
        if attacker["kind"] == "listed":
            self.parts = attacker["denominator"]
            listed = self.file.section("attack").astype(object)
            gains = bool(listed.any())
            need(gains, "limit: an attacker who can gain nothing limits nothing")
            self.attack = listed.reshape(-1, self.n)

    @cached_property
    def vulnerability(self) -> Fraction:
        """What the attacker gains from the outputs, exactly."""
        gained = 0
        for _, block in self.weights.columns():
            each = block.astype(object)
            guesser = self.attack.ndim == 1
            # The guesser's action w gains π_w at answer w only: a_w·x = π_w·x_w.
            gains = self.attack[:, None] * each if guesser else self.attack @ each
            # The attacker takes the best action for each output.
            gained += sum(gains.max(axis=0).tolist())
        return Fraction(gained, self.weights.total * self.parts)

    def attacker_words(self) -> str:
        """Return in words what the attacker gains."""
        if self.attack.ndim == 1:
            return "knows the prior, gains 1 by a right guess"
        return listed_words(self.attack.ravel(), self.parts)

    def check_limit(self, loss: Fraction) -> tuple[str, str, Fraction]:
        """Check the limit; return it in words, and what is least under it."""
        gained = self.vulnerability
        most = self.limit["most"]
        limited = self.limit["limited"]
        agreed("limit: an attacker gains", gained, self.limit["vulnerability"])
        values = {"loss": loss, "vulnerability": gained}
        over = values[limited] - most
        need(over <= 0, f"limit: the {limited} passes it by {float(over):.3g}")
        under = f"{limited} at most {float(most):.12g}"
        if limited == "loss":
            return under, "vulnerability", gained
        return under, "expected loss", loss

    def weigh(self) -> Fraction:
        """Read the weight of the limit and the choices; return the weight times the limit."""
        one = 1 << self.bits
        weight = int(self.file.header["certificate"]["weight"])
        on_loss = self.limit["limited"] == "loss"
        # Σ_w q_k(w) = θ under a limit on V, and 1 under a limit on the loss.
        share = one if on_loss else weight
        self.times = weight if on_loss else one
        choices = self.file.section("choices").astype(object)
        self.choices = choices.reshape(self.guesses, -1)
        for k in np.flatnonzero(self.choices.sum(axis=1) != share)[:1].tolist():
            wrong = f"the choices at guess {k} do not sum to their weight"
            need(False, f"certificate: {wrong}")
        self.prior = np.full(self.n, 1, object)
        # Common denominator of prior·loss, of the gains and of the multipliers.
        self.unit = self.consumer.scale * self.parts << self.bits
        return Fraction(weight, one) * Fraction(self.limit["most"])

    def losses(self, guess: int) -> Array:
        """Return what a guess costs under every answer, with the limit counted in."""
        # θ·π_i·loss(i,k) + Σ_w q_k(w)·a_w(i) (θ = 1 when V is limited), over one denominator.
        plain = self.consumer.prior * self.consumer.losses(guess)
        chosen = self.choices[guess]
        guesser = self.attack.ndim == 1
        gains: Any = chosen * self.attack if guesser else chosen @ self.attack
        own = plain * (self.times * self.parts)
        return np.asarray(own + gains * self.consumer.scale)
