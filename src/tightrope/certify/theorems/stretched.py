r"""Prices for the ends of a long line, and the loss of noise on it for a prior.

*Theorem.* A line of N answers with a uniform prior looks the same everywhere but at its ends.
Let prices for the first answers, times N, be dual feasible as on a power of a path
(:mod:`tightrope.certify.theorems.stairs`), where the last one goes on and the last answers have
those of the first. Then no private mechanism loses less than their sum over N.

*Proof.* Guesses whose staircases reach no listed answer but the last are all translates of one
another, so those near one end and one more are all that there is to check. With a *stride* s the
prices are those of every s-th answer: a private column is private there, for steps of ⌊v/s⌋, and
the answers are s such rows, each with a uniform prior. For an absolute loss the best guess is
one of the row; for a squared one it loses at most 1/4 of a step squared to the best number. By
distance, where s divides v, a guess between two answers of a row is as far from those below it as
the upper one, and no nearer to the others. ∎

*Corollary.* A prior that rises once and falls once is a mixture of uniform ones on intervals,
and to know which one helps: the least loss is at least the mixture of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil
from operator import mul
from typing import Any, ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import read_prior
from tightrope.certify.kernel.duals import CertificateKind, Shortfalls
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Array,
    Header,
    Sizes,
    need,
    need_work,
    registered,
    whole,
)
from tightrope.certify.theorems.stairs import added_up, dual_shortfall, read_cores
from tightrope.certify.theorems.unbounded import LatticeConsumer
from tightrope.lattices import Lattice


class LineConsumer(LatticeConsumer):
    """Who has a prior on the answers of a line, and the loss of noise on it."""

    def fits(self) -> bool:
        """Whether there is a prior, in a window unless it is uniform."""
        windowed = self.file.header["window"] is not None
        return not self.averse and self.uniform != windowed

    @cached_property
    def row(self) -> Lattice:
        """The row of every ``stride``-th answer of a line, the shortest there is."""
        lattice = self.lattice
        stride = self.proof["stride"]
        need(
            stride <= lattice.width,
            "certificate: the stride is longer than the largest step",
        )
        divides = self.kind != "distance" or lattice.width % stride == 0
        need(divides, "certificate: the stride does not divide the largest step")
        # The shortest of the s rows has ⌊N/s⌋ answers.
        last = (lattice.inner + 1) // stride - 1
        step = lattice.step * stride
        width = lattice.width // stride
        return replace(lattice, width=width, people=last, step=step, ends=False)

    def expected(self) -> Fraction:
        """Bound the loss of noise on a line, with what is guessed near the ends.

        Who takes the output itself loses no more than in the worst case. Else noise up to the last
        layer but one is added up exactly, output by output where it reaches an end; of what is
        beyond, at most 2^-64 of a unit of loss, the largest loss is taken.
        """
        weights = self.noise
        lattice = self.lattice
        loss = self.kind
        if not self.given["remapped"]:
            return weights.worst(loss)
        need(self.uniform, "guesses near the ends are for a uniform prior")
        need(loss != "distance", "guesses near the ends are not for distances")
        n = lattice.nodes
        v = lattice.width
        last = weights.levels[-1]
        # Noise up to the last layer but one; beyond it every level is w_T.
        far = lattice.core + (weights.reach - 1) * v
        need_work("the noise of outputs near the ends", 4 * far, 20_000, 800 * far)
        half = [w - last for w in weights.levels[: weights.reach]]
        noise = [half[-(-max(z - lattice.core, 0) // v)] for z in range(far + 1)]
        excess = [*noise[:0:-1], noise[0] + weights.odd, *noise[1:]]
        away = range(-far, far + 1)
        powers = range(3 if loss == "squared" else 2)
        # Prefix sums of z^p·weight: any output's loss over an interval of answers costs O(1).
        sums = [
            [0, *accumulate(map(mul, excess, (z**p for z in away)))] for p in powers
        ]
        ends = self.file.section("guess_of").tolist()
        need(2 * len(ends) <= n, "the guesses of the two ends overlap")

        def lost(y: int) -> int:
            """Add up what output y costs over the answers within reach."""
            o = max(y, 0)
            guess = ends[o] if o < len(ends) else o
            # The answers' places in ``excess``; none where all are out of reach.
            a = max(0, far - y)
            b = max(a, min(2 * far + 1, far + n - y))
            s = guess - y
            all_of: list[int] = [side[b] - side[a] for side in sums]
            if loss == "binary":
                return all_of[0] - int(excess[s + far] if a <= s + far < b else 0)
            if loss == "squared":
                # Σ (z - s)²·w = Σ z²·w - 2s·Σ z·w + s²·Σ w.
                return all_of[2] - 2 * s * all_of[1] + s * s * all_of[0]
            cut = min(max(s + far, a), b)
            before: list[int] = [side[cut] - side[a] for side in sums]
            # Σ |z - s|·w = Σ (z - s)·w - 2·Σ_{z<s} (z - s)·w.
            return all_of[1] - s * all_of[0] - 2 * (before[1] - s * before[0])

        # Both ends cost the same, and between them all outputs do.
        # From here on outputs see no end, so they all have the same loss.
        edge = min(max(far, len(ends)), n // 2)
        total = 2 * sum(map(lost, range(-far, edge))) + (n - 2 * edge) * lost(edge)
        found = Fraction(total, weights.total * n)
        found += Fraction(
            weights.floor * lattice.largest(loss, weights.reach), weights.total
        )
        return found * lattice.units(loss)


@registered(CERTIFICATES, "stretched")
class Stretched(CertificateKind):
    """Prices and cores of the first answers of every ``stride``-th, and a number of layers."""

    on_lattice: ClassVar = True
    consumer: ClassVar[Any] = LineConsumer
    fields: ClassVar = {
        "bits": whole(1, 61),
        "ends": whole(1, 1 << 20),
        "layers": whole(1, 1 << 20),
        "stride": whole(1, 1 << 40),
    }

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return prices and cores of the first answers."""
        ends = header["certificate"]["ends"]
        return {
            "prices": (ends, -1 << 61, 1 << 61),
            "places": (2 * ends, 0, 2 * nodes),
        }

    @classmethod
    def price_bound(cls, consumer: LineConsumer, prices: Array) -> Fraction:
        """Return the bound that dual feasible prices for the ends prove."""
        lattice = consumer.lattice
        row = consumer.row
        given = consumer.proof
        one = 1 << consumer.bits
        stride = given["stride"]
        last = int(prices[-1])
        # Both ends differ from the middle price `last` by this sum, in each of the s rows.
        ends = Fraction(2 * stride * (sum(prices.tolist()) - len(prices) * last), one)
        between = int(stride > 1 and consumer.kind == "squared")
        middle = Fraction(last, one) - Fraction(between, 4)
        # Both ends of an interval must have room for what their guesses see.
        least = (2 * len(prices) + 2 * given["layers"] * row.width + 2) * stride
        # Shorter intervals have a negative bound, ends + length·middle: count them as 0.
        least = max(least, ceil(-ends / middle)) if middle > 0 else lattice.nodes + 1
        if consumer.uniform:
            high = int(lattice.inner + 1 >= least)
            total = lattice.nodes
            mass = high * (lattice.inner + 1)
        else:
            window = consumer.file.header["window"]
            inside = window["start"] + window["size"] <= lattice.inner + 1
            need(inside, "the prior reaches answers between which edges are missing")
            numbers = read_prior(consumer.file, lattice.nodes)
            # Lowered until it rises once and falls once, a prior is even on its largest values.
            peak = int(np.argmax(numbers))
            total = sum(numbers.tolist())
            before = np.minimum.accumulate(numbers[peak::-1]).tolist()
            behind = np.minimum.accumulate(numbers[peak:]).tolist()
            heights = sorted(before + behind[1:], reverse=True)
            # Level sets shorter than `least` prove nothing: cut the prior off at this height.
            high = heights[least - 1] if least <= len(heights) else 0
            mass = least * high + sum(heights[least:])
        return (middle * mass + ends * high) / total * row.units(consumer.kind)

    @classmethod
    def shortfalls(cls, consumer: LineConsumer, prices: Array) -> Shortfalls:
        """Yield for guesses near an end what their cores and the answers outside them lack.

        Answers beyond ``layers`` times v cover nothing.
        """
        given = consumer.proof
        row = consumer.row
        alpha = consumer.alphas[0]
        ends = len(prices)
        v = row.width
        reach = given["layers"] * v
        # The listed guesses, and further ones until a staircase sees the last price alone.
        count = ends + reach + 1
        sound = row.form == "line" and 0 < alpha < 1 << 62
        need(sound, "certificate: ends are those of a line")
        apart = row.inner >= count + reach + ends  # no guess sees the other end
        need(apart, "certificate: the ends are too close to each other")
        need_work("the guesses near an end", count * (2 * reach + 1), 250)
        away = np.arange(-reach, reach + 1)
        units = line_loss(consumer.kind, abs(away).astype(object), v)
        costs = units * (1 << consumer.bits)
        # At the reach a guess costs no less than any price, so nothing beyond can be short.
        enough = int(min(costs[0], costs[-1])) >= int(max(prices))
        need(enough, "certificate: there are too few layers")
        first, last = read_cores(consumer.file)
        # Further guesses are translates of the last one listed, and so are their cores.
        low = np.append(first, first[-1] + np.arange(1, reach + 2))
        high = np.append(last, last[-1] + np.arange(1, reach + 2))
        guess = np.arange(count)
        near = (low <= high) & (guess - low < reach - v) & (high - guess < reach - v)
        need(bool(near.all()), "certificate: a core is empty or too far from its guess")
        # No room is larger than this; sums of rooms are at most ``added`` times that.
        most = int(max(costs)) + int(max(abs(prices)))
        added = added_up(v, given["layers"], alpha, high - low)
        need(most * added < 1 << 61, "certificate: the prices are too wide")
        costs = costs.astype(np.int64)
        prices = prices.astype(np.int64)
        step = max(1, (1 << 19) // len(away))
        for at in range(0, count, step):
            k = np.arange(at, min(at + step, count))
            i = k[:, None] + away
            # Answers before the first do not exist: they have no room and no deficit.
            rooms = np.where(i >= 0, costs - prices[np.clip(i, 0, ends - 1)], 0)
            shift = reach - k
            lacks = dual_shortfall(rooms, low[k] + shift, high[k] + shift, v, alpha)
            for at_k in np.flatnonzero((lacks > 0).any(axis=1)).tolist():
                some = np.flatnonzero(lacks[at_k])
                answers = np.clip(i[at_k, some], 0, ends - 1)
                yield int(k[at_k]), answers, lacks[at_k, some]


def line_loss(loss: str, far: Array, width: int) -> Array:
    """Return a loss by name at a distance on a line whose neighbours differ by up to the width.

    >>> line_loss("squared", np.array([3]), 2).tolist(), line_loss("distance", np.array([3]), 2)
    ([9], array([2]))
    """
    if loss == "binary":
        return np.minimum(far, 1)
    if loss == "distance":
        return -(-far // width)
    return far**2 if loss == "squared" else far
