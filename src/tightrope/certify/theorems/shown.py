r"""A count that is shown if it is large enough: noise V of one law, and a threshold.

A file holds the levels ``w[0] … w[L-1]``, the weights of ``V = -zero … top``, with ``top = L - 1 -
zero``. A count i leads to the output i + V if that is above top, at most the largest count, and
else to the output 0, which stands for *not shown*. Nobody is never shown: 0 + V is at most top.

*Theorem.* Let ``Σ_v max(0, w[v]·q - w[v+1]·p) <= δ·q·2^bits`` and the same with v and v + 1
exchanged, where w is 0 outside its levels. Then the mechanism is (ε, δ)-private for counts of any
size. No (ε, δ)-private mechanism that never shows nobody shows a count i with a probability above
``F(0) = 0, F(i+1) = min(e^ε·F(i) + δ, 1 - e^-ε·(1 - F(i) - δ), 1)``.

*Proof.* For counts i and i + 1, what i + V = o and i + 1 + V = o weigh are neighbouring levels,
whatever i is: the two sums are what all outputs exceed the ratio by, in both directions. Outputs
are a function of i + V, so they exceed it by no more. With s(i) the probability that a count is
shown, privacy of the event *shown* is ``s(i+1) <= e^ε·s(i) + δ``, that of *not shown* is ``1 - s(i)
<= e^ε·(1 - s(i+1)) + δ``; s(0) = 0, and F rises with its argument. ∎

[Desfontaines, Voss, Gipson and Mandayam, 2022] give F and noise that reaches it for some δ. The
increments of F itself are such a law, for all δ: then every count is shown as often as any
private mechanism can show it, and its number comes with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.format import (
    WEIGHTS,
    Array,
    Contents,
    Header,
    listing,
    need,
    need_work,
    registered,
    whole,
)
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.kernel.weights import Weights


@registered(WEIGHTS, "shown")
class ShownWeights(Weights):
    """The levels of the noise, and which of them is no noise."""

    kind = "shown"
    takes_delta = True
    fields: ClassVar = {
        "bits": whole(0, 481),
        "levels": listing(whole(1, 1 << 480), 1, 1 << 17),
        "zero": whole(0, 1 << 17),
    }

    def __init__(
        self, file: Contents, graph: Graph, answers: int | None = None
    ) -> None:
        super().__init__(file, graph, answers)
        self.levels: list[int] = self.given["levels"]
        self.zero: int = self.given["zero"]
        need(graph.is_path, "a count that may not be shown has answers in a row")
        need(self.zero < len(self.levels), "the level of no noise does not exist")

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop unless there are a question and a δ, and neither lists nor a consumer."""
        absent = ("consumer", "outputs", "graph", "window")
        bare = all(header[name] is None for name in absent) and not header["sections"]
        sound = bare and header["delta"] is not None
        need(sound, "a count that may not be shown has a question and a δ, and no list")

    @property
    def top(self) -> int:
        """The largest noise: what is not above it is not shown."""
        return len(self.levels) - 1 - self.zero

    def shown_weights(self) -> list[int]:
        """Return the weight with which the counts 0, 1, … are shown, up to the first certain one.

        A count i is shown if V is above top - i: the i uppermost levels.
        """
        return [0, *accumulate(reversed(self.levels))]

    def row(self, i: int) -> Array:
        """Return one row: what is shown above its threshold, the rest not shown."""
        last = self.outputs - 1
        row = np.zeros(self.outputs, object)
        for place, level in enumerate(self.levels):
            output = i + place - self.zero
            row[min(output, last) if output > self.top else 0] += level
        return row

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield the columns, each with the number of its output."""
        yield from ((o, self.column(o)[:, None]) for o in range(self.outputs))

    def column(self, o: int) -> Array:
        """Return one column: of each count the levels that lead to the output."""
        below = np.array([0, *accumulate(self.levels)], object)
        many = len(self.levels)
        counts = np.arange(self.graph.nodes)

        def levels_before(number: int) -> Array:
            """Return of each count how many levels lead to less than a number."""
            return np.clip(number + self.zero - counts, 0, many)

        # Prefix sums of levels: a column is a difference of two of them, O(1) per count.
        shown = below[levels_before(max(o, self.top + 1))]
        if o == 0:  # all that is not above the threshold
            return np.asarray(below[levels_before(self.top + 1)])
        if o == self.outputs - 1:  # and all that is above the largest count
            return np.asarray(below[many] - shown)
        return np.asarray(below[levels_before(max(o, self.top) + 1)] - shown)

    def faults(self) -> Iterator[str]:
        """Yield a direction in which the levels exceed the ratio by more than δ together."""
        p, q = self.ratios[0]
        delta: Fraction = self.file.header["delta"]
        need_work("adding up what exceeds the ratio", len(self.levels), 2000)
        if sum(self.levels) != self.total:
            off = f"{sum(self.levels) - self.total:+d} off 2^{self.bits}"
            yield f"total: the levels sum to {sum(self.levels)}, {off}"
        # Zeros at both ends: outputs that only one of two neighbours can have count in full.
        upwards = [0, *self.levels, 0]
        for direction, levels in (("rises", upwards), ("falls", upwards[::-1])):
            # Σ max(0, w[v+1]·q - w[v]·p)
            over = sum(max(0, b * q - a * p) for a, b in pairwise(levels))
            if over > delta * q * self.total:
                excess = f"{float(Fraction(over, q * self.total)):.12g}"
                yield f"privacy: as the count {direction}, the levels exceed by {excess} beyond δ"

    def own_gap(self) -> tuple[Fraction, str]:
        """Return by how much at most a count is shown less often than F, and that in words."""
        delta: Fraction = self.file.header["delta"]
        unit = 1 << self.bits + 64
        # δ rounded up, so that F is an upper bound.
        spared = -(-delta.numerator * unit // delta.denominator)
        # α' is e^-ε from below, so F comes out from above; each step is rounded up.
        alpha = max(self.alphas[0], 1)
        most = 0
        gap = 0
        for weight in self.shown_weights():
            gap = max(gap, most - (weight << 64))
            by_shown = -(-(most << 62) // alpha) + spared
            # 1 - e^-ε·(1 - F - δ), from above as well.
            by_not_shown = unit - ((unit - most - spared) * alpha >> 62)
            most = min(by_shown, by_not_shown, unit)
        share = Fraction(gap, unit)
        words = "no private mechanism that never shows nobody shows a count of any size"
        return share, f"{words} more often by {float(share):.3g}"
