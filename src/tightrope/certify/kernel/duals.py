r"""The one checker of dual multipliers.

*Theorem.* For every guess k let multipliers m >= 0 on arcs between neighbours be such that for
all i

    ``π_i·loss(i,k) - λ_i >= Σ_h m(h→i) - α·Σ_h m(i→h)``.

Then no private mechanism, with whatever outputs, has a loss below ``Σ λ_i``.

*Proof.* A private column x has ``x_h >= α·x_i`` on every arc i → h, so ``Σ_i (π_i·loss(i,k) -
λ_i)·x_i >= Σ m(i→h)·(x_h - α·x_i) >= 0``. Add this up over the columns of a mechanism, each with
its guess: they sum to 1 in every row. ∎

A risk-averse consumer loses at least as much as under any prior over the possible answers, so
there the file names such a prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    WIDE,
    Array,
    Header,
    Part,
    Rule,
    Sizes,
    maybe,
    need,
    need_work,
    present,
    registered,
    whole,
)

#: For a guess the answers whose prices are too high, and by how many units of a price.
Shortfalls = Iterator[tuple[int, Array, Array]]
#: Start, end and value of the multipliers of a guess.
Arcs = tuple[Array, Array, Array]
BITS: dict[str, Rule] = {"bits": whole(1, 401)}
WEIGHT: dict[str, Rule] = {"weight": maybe(whole(0, 1 << 512))}


class CertificateKind(Part):
    """A kind of certificate: prices λ that prove a lower bound."""

    fields: ClassVar = BITS
    needs_prior: ClassVar[bool] = True
    # Yields the dual infeasibility of every guess: nothing, if the prices prove a bound.
    shortfalls: ClassVar[Any]
    on_lattice: ClassVar[bool] = False

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the section of prices, one for each answer."""
        return {"prices": (nodes, -WIDE, WIDE)}

    @classmethod
    def lower_bound(cls, consumer: Any) -> Fraction:
        """Return the bound that the certificate proves, or stop where it proves nothing."""
        prices = consumer.file.section("prices").astype(object)
        for k, answers, _ in cls.shortfalls(consumer, prices):
            # One violated condition is enough to refuse; feasible prices yield none.
            for i in answers[:1].tolist():
                need(False, f"certificate: guess {k} is not priced at answer {i}")
        return cls.price_bound(consumer, prices)

    @classmethod
    def price_bound(cls, consumer: Any, prices: Array) -> Fraction:
        """Return the bound that dual feasible prices prove: their sum, less what options cost."""
        bound = Fraction(sum(prices.tolist()), 1 << consumer.bits)
        for part in present(consumer.file.header):
            bound -= part.deduction(consumer)
        return bound


@registered(CERTIFICATES, "multipliers")
class MultiplierKind(CertificateKind):
    """Multipliers that a file lists, sorted by guess; expanders make them from less."""

    fields: ClassVar = BITS | WEIGHT | {"arcs": whole(0, 1 << 40)}

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the sections of prices and multipliers."""
        arcs = header["certificate"]["arcs"]
        return super().sections(header, nodes, guesses) | {
            "arc_guess": (arcs, 0, guesses),
            "arc_from": (arcs, 0, nodes),
            "arc_to": (arcs, 0, nodes),
            "arc_value": (arcs, 0, WIDE),
        }

    @classmethod
    def arcs_of(cls, consumer: StatedConsumer, prices: Array) -> Iterator[Arcs]:
        """Yield the multipliers of each guess, in units of 2^-bits over the scale."""
        guess, start, end, value = listed_arcs(consumer)
        # Sorted guesses allow one binary search per guess instead of a pass over all arcs.
        need((np.diff(guess) >= 0).all(), "multipliers must be sorted by guess")
        cuts = np.searchsorted(guess, np.arange(consumer.guesses + 1)).tolist()
        for first, last in pairwise(cuts):
            mine = slice(first, last)
            yield start[mine], end[mine], value[mine] * consumer.scale

    @classmethod
    def shortfalls(cls, consumer: StatedConsumer, prices: Array) -> Shortfalls:
        """Yield where the condition of the theorem fails, for each guess.

        Costs and prices are in units u = 2^-bits/scale, α in units of 2^-62.
        """
        work = consumer.n * consumer.guesses * consumer.effort
        need_work("the conditions of all guesses", work, 300)
        # α is rounded down, which makes α·Σ m(i→h) smaller and the condition stricter.
        alphas = np.array(consumer.alphas, object)
        owed = prices * consumer.scale
        share = consumer.prior * (1 << consumer.bits)
        for k, (start, end, value) in enumerate(cls.arcs_of(consumer, prices)):
            which = consumer.graph.ratio_of(start, end)
            near = (which >= 0).all()
            need(near, "certificate: a multiplier joins answers that are no neighbours")
            need((value >= 0).all(), "certificate: a multiplier is negative")
            # π_i·loss(i,k) - λ_i - Σ_h m(h→i) + α·Σ_h m(i→h), times 2^62/u
            room = (share * consumer.losses(k) - owed) * (1 << 62)
            np.subtract.at(room, end, value * (1 << 62))
            np.add.at(room, start, value * alphas[which])
            i = np.flatnonzero(room < 0)
            # ⌈-room/(scale·2^62)⌉: decreasing λ_i by so many units makes its condition hold.
            yield k, i, -(room[i] // (consumer.scale << 62))


def listed_arcs(consumer: StatedConsumer) -> tuple[Array, Array, Array, Array]:
    """Return guess, start, end and value of every listed multiplier."""
    count = consumer.file.header["certificate"]["arcs"]
    need_work("the multipliers", count, 900, 150 * count)
    if not count:
        none = np.zeros(0, np.int64)
        return none, none, none, none.astype(object)
    names = ("arc_guess", "arc_from", "arc_to", "arc_value")
    guess, start, end, value = map(consumer.file.section, names)
    return guess, start, end, value.astype(object)
