r"""A limit on vulnerability or loss: whether the weights keep it, and costs that count it in.

An attacker who does w gains :math:`a_w(i)` under answer i. Outputs x of a mechanism have the
vulnerability :math:`\sum_x \max_w a_w \cdot x`, which is no less than with actions drawn from
any distribution for each guess.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.certify.container import Array, Container, need
from tightrope.certify.neighbours import PAIR_LIMIT
from tightrope.certify.optimality import Reader
from tightrope.certify.weights import Weights

# -- a limit on vulnerability or loss -----------------------------------------------------


class Limit(Reader):
    """A reader whose costs count in what a limit is about.

    >>> issubclass(Limit, Reader)
    True
    """

    def __init__(self, file: Container, reader: Reader) -> None:
        self.told: dict[str, Any] = file.get("limit", dict)
        need(reader.support is None, "a limit is for a reader with a prior")
        self.reader, self.n, self.guesses = reader, reader.n, reader.guesses
        self.limited: str = file.get("limited", str, self.told)
        need(self.limited in ("loss", "vulnerability"), "a limit is on loss or vulnerability")
        self.most = file.number("most", self.told)
        # The attacker knows what the reader knows, and gains 1 by a right guess; or as listed.
        self.attack, self.parts = reader.prior, reader.prior_total
        if "attack" in file.places:
            actions = file.get("actions", int, self.told)
            self.parts = file.get("attack_denominator", int, self.told)
            sound = 0 < actions * self.n <= PAIR_LIMIT and 0 < self.parts < 1 << 512
            need(sound, "no such attacker")
            listed = file.whole("attack", actions * self.n, None).astype(object)
            self.attack = listed.reshape(actions, self.n)
        work = self.attack.size * max(self.guesses, len(reader.guess_of))
        need(work <= 4 * PAIR_LIMIT, "there are too many gains to add up")

    def vulnerability(self, weights: Weights) -> Fraction:
        """Return what the attacker gains from the outputs, exactly."""
        found = 0
        for _, block in weights.columns():
            each = block.astype(object)
            gains = self.attack[:, None] * each if self.attack.ndim == 1 else self.attack @ each
            found += sum(gains.max(axis=0).tolist())
        return Fraction(found, weights.total * self.parts)

    def kept(
        self, file: Container, weights: Weights, loss: Fraction, checked: list[str]
    ) -> tuple[str, str, Fraction]:
        """Check that the limit is kept; return it in words, and what is least under it."""
        found, stated = self.vulnerability(weights), file.number("vulnerability", self.told)
        off = float(found - stated)
        need(found == stated, f"limit: an attacker gains {off:+.3g} from what is stated")
        checked.append(f"the vulnerability is {float(found):.12g}")
        other, value, has = "expected loss", loss, found
        if self.limited == "loss":
            other, value, has = "vulnerability", found, loss
        over = float(has - self.most)
        need(has <= self.most, f"limit: the {self.limited} passes it by {over:.3g}")
        return f"{self.limited} at most {float(self.most):.12g}", other, value

    def weigh(self, file: Container) -> Fraction:
        """Read the weight of the limit and the choices; return the weight times the limit."""
        told: dict[str, Any] = file.get("certificate", dict)
        bits: int = file.get("bits", int, told)
        weight: int = file.get("weight", int, told)
        sound = 0 < bits <= 400 and 0 <= weight < 1 << 512
        need(sound, "certificate: the weight of a limit must be at least 0")
        one, actions = 1 << bits, len(self.attack)
        self.times, share = (one, weight) if self.limited == "vulnerability" else (weight, one)
        listed = file.whole("choices", self.guesses * actions, 0).astype(object)
        self.choices = listed.reshape(self.guesses, actions)
        for k in np.flatnonzero(self.choices.sum(axis=1) != share)[:1].tolist():
            need(False, f"certificate: the choices at guess {k} do not sum to their weight")
        self.prior, self.prior_total = np.ones(self.n, np.int64).astype(object), 1
        self.binary, self.power = False, 0
        self.unit = self.reader.prior_total * self.reader.unit * self.parts << bits
        return Fraction(weight, one) * self.most

    def losses(self, guess: int) -> Array:
        """Return what a guess costs under every answer, with the limit counted in."""
        own = self.reader.prior * self.reader.losses(guess) * (self.times * self.parts)
        chosen = self.choices[guess]
        taken = chosen * self.attack if self.attack.ndim == 1 else chosen @ self.attack
        return np.asarray(own + taken * (self.reader.prior_total * self.reader.unit))
