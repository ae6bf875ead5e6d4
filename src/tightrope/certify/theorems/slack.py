r"""δ beside ε: what all outputs together may exceed the ratio by.

*Theorem.* Let ``Σ_o max(0, W[i,o]·q - W[h,o]·p) <= δ·q·2^bits`` for neighbours i, h in both
directions. Then the weights are (ε, δ)-private. If prices λ and multipliers m are dual feasible
(:mod:`tightrope.certify.kernel.duals`), no (ε, δ)-private mechanism has a loss below ``Σ λ_i -
α·δ·Σ_(i→h) max_k m_k(i→h)``.

*Proof.* A column has ``x_h >= α·(x_i - e)`` with some e >= 0, which sum to at most δ over the
columns of each arc. So the steps of the theorem about multipliers leave ``Σ_i (π_i·loss(i,k) -
λ_i)·x_i >= -α·Σ m_k(i→h)·e_k(i→h)``, summed over the columns at least ``-α·δ`` times the largest
multiplier of each arc. ∎
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import listed_arcs
from tightrope.certify.kernel.format import (
    OPTIONS,
    WEIGHTS,
    Header,
    Option,
    fraction,
    need,
    need_work,
    registered,
)
from tightrope.certify.kernel.weights import Weights


@registered(OPTIONS, "delta")
class Slack(Option):
    """δ, for answers in a row: with listed weights, or a count that may not be shown."""

    rule: ClassVar = staticmethod(fraction(0, 210))

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop unless δ goes with listed weights and with multipliers."""
        proof = header["certificate"] or {"kind": "multipliers"}
        kind = WEIGHTS[header["weights"]["kind"]]
        free = kind.takes_delta and header["limit"] is None
        plain = free and proof["kind"] == "multipliers"
        sound = header["delta"] is None or (plain and header["delta"] < 1)
        need(sound, "δ < 1 goes with weights that take it, and with multipliers")

    @classmethod
    def words(cls, weights: Weights) -> str:
        """Return in words what holds of each edge."""
        delta = weights.file.header["delta"]
        excess = "Σ max(0, W[i,o]·q - W[h,o]·p)"
        return f"{excess} <= δ·q·2^{weights.bits} with δ = {delta}"

    @classmethod
    def faults(cls, weights: Weights) -> Iterator[str]:
        """Yield an edge where the outputs exceed the ratio by more than δ together."""
        nodes = weights.graph.nodes
        delta = weights.file.header["delta"]
        need(weights.graph.is_path, "δ is for answers in a row")
        p, q = weights.ratios[0]
        many = nodes * weights.outputs
        wide = weights.bits + p.bit_length()
        # Two products, their difference and what of it is above 0, in both directions.
        held = min(many, 1 << 20) * wide // 2
        work = "adding up what exceeds the ratio"
        need_work(work, many, 1000 + wide * wide // 4000, held)
        for step in (1, -1):
            over = np.zeros(nodes - 1, object)
            for _, block in weights.columns():
                rows = block.astype(object)[::step]
                # Σ_o max(0, W[i,o]·q - W[h,o]·p) for each edge, in one direction.
                over += np.maximum(rows[:-1] * q - rows[1:] * p, 0).sum(axis=1)
            for k in np.flatnonzero(over > delta * q * weights.total)[:1].tolist():
                i = k if step == 1 else nodes - 1 - k
                excess = f"{float(Fraction(int(over[k]), q * weights.total)):.12g}"
                yield f"privacy: row {i} exceeds its neighbour {i + step} by {excess} beyond δ"

    @classmethod
    def deduction(cls, consumer: StatedConsumer) -> Fraction:
        """Return α·δ times the sum over arcs of the largest multiplier of a guess."""
        arcs = listed_arcs(consumer)
        many = len(arcs[0])
        need_work("the largest multiplier of each arc", many, 2000, 300 * many)
        each: dict[tuple[int, int, int], int] = {}
        most: dict[tuple[int, int], int] = {}
        for k, i, h, value in zip(*(part.tolist() for part in arcs), strict=True):
            # A file may list an arc of a guess more than once: multipliers add up.
            each[k, i, h] = each.get((k, i, h), 0) + value
            most[i, h] = max(most.get((i, h), 0), each[k, i, h])
        alpha = Fraction(consumer.alphas[0], 1 << 62)
        delta: Fraction = consumer.file.header["delta"]
        return alpha * delta * sum(most.values()) / (1 << consumer.bits)
