r"""Cosets: prices on a power of a path, proved on every s-th answer for itself.

Neighbours on a line differ by at most v. Its j-th *coset* holds the answers whose remainder modulo
v is j modulo s.

*Theorem.* Let the loss be absolute, squared or the distance, and let the condition on multipliers
(:mod:`tightrope.certify.kernel.duals`) hold for every guess k at the answers of its own coset, with
arcs inside the coset. Then no private mechanism loses less than Σ λ_i, or, for a squared loss,
than Σ λ_i less ⌊s²/4⌋ times the square of the step between answers.

*Proof.* For a guess k of a coset C and a private column x, ``Σ_C (π_i·loss(i,k) - λ_i)·x_i >= 0``
as before: only arcs inside C were used. Now let k be a guess outside C. Beyond the first and the
last answer of C the nearer one costs no more. Else k lies between neighbouring answers a < b of C,
and at every answer of C an absolute loss is the mean of those of a and b with weights (b-k)/(b-a)
and (k-a)/(b-a), a squared one that mean less (k-a)·(b-k), which is at most ⌊s²/4⌋, as b - a <= s.
For distances k is as far from the answers of C up to a as b is, and no nearer to the others: from
wherever one counts, up to v further there are equally many answers of C. So ``Σ_C (π_i·loss(i,k) -
λ_i)·x_i`` is at least 0, or minus ⌊s²/4⌋ times ``Σ_C π_i·x_i``. Add up over all cosets and
columns. ∎
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import BITS, MultiplierKind, Shortfalls
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Array,
    need,
    need_work,
    registered,
    whole,
)


@registered(CERTIFICATES, "cosets")
class Cosets(MultiplierKind):
    """Prices, the stride s, and for each guess multipliers inside its coset."""

    fields: ClassVar = BITS | {"arcs": whole(0, 1 << 40), "stride": whole(1, 1 << 40)}

    @classmethod
    def price_bound(cls, consumer: StatedConsumer, prices: Array) -> Fraction:
        """Return the sum of the prices, less what guesses between two answers may save."""
        bound = super().price_bound(consumer, prices)
        if consumer.kind == "squared":
            stride = consumer.file.header["certificate"]["stride"]
            # ⌊s²/4⌋ times the squared step: what a guess between two answers of a coset may save.
            bound -= Fraction(stride**2 // 4 * consumer.factor, consumer.unit)
        return bound

    @classmethod
    def shortfalls(cls, consumer: StatedConsumer, prices: Array) -> Shortfalls:
        """Yield where the condition fails, for each guess, at the answers of its coset.

        Costs and prices are in units u = 2^-bits/scale, α in units of 2^-62.
        """
        graph = consumer.graph
        line = graph.form == "box" and len(graph.sides) == 1
        by_distance = consumer.kind == "distance"
        by_number = consumer.kind in ("absolute", "squared") and consumer.power > 0
        sound = line and (by_distance or by_number)
        need(sound, "certificate: cosets are for numbers in even steps")
        # Distances are counted in steps of v, differences in steps of 1.
        step = graph.sides[0][1] if by_distance else 1
        power = 1 if by_distance else consumer.power
        stride = consumer.file.header["certificate"]["stride"]
        # Coset of an answer: its remainder modulo v, modulo s.
        place = np.arange(consumer.n) % graph.sides[0][1] % stride
        cosets = [np.flatnonzero(place == j) for j in range(int(place.max()) + 1)]
        work = sum(len(coset) ** 2 for coset in cosets)
        need_work("the conditions of all cosets", work, 600)
        owed = prices * consumer.scale
        share = consumer.prior * (1 << consumer.bits)
        alpha = consumer.alphas[0]
        for k, (start, end, value) in enumerate(cls.arcs_of(consumer, prices)):
            near = bool((graph.ratio_of(start, end) >= 0).all())
            need(near, "certificate: a multiplier joins answers that are no neighbours")
            inside = bool(((place[start] == place[k]) & (place[end] == place[k])).all())
            need(inside, "certificate: a multiplier leaves the coset of its guess")
            coset = cosets[place[k]]
            far = -(-abs(coset - k) // step)
            away = (far**power).astype(object)
            # π_i·loss(i,k) - λ_i - Σ_h m(h→i) + α·Σ_h m(i→h), times 2^62/u
            room = share[coset] * away * consumer.factor - owed[coset]
            room *= 1 << 62
            # Arcs are inside the coset, which is sorted: a binary search gives the position.
            np.subtract.at(room, np.searchsorted(coset, end), value * (1 << 62))
            np.add.at(room, np.searchsorted(coset, start), value * alpha)
            short = np.flatnonzero(room < 0)
            yield k, coset[short], -(room[short] // (consumer.scale << 62))
