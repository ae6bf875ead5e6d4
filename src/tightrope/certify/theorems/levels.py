r"""Weights by levels: ``W[i,o] = w[d(i,o)]·Z[o]``, and what a row lacks to 2^bits at one output.

*Theorem.* Let the levels w never rise, let one edge change d by at most r, and let ``w[d]·q <=
w[d+r]·p`` for all d. Let the largest rest of a row times q be at most the smallest times p. Then
the weights are private.

*Proof.* ``w[d(i,o)]·q <= w[d(i,o)+r]·p <= w[d(h,o)]·p`` for neighbours i and h, so each column
is private before the rest is added. The rest is a private column too, since it does not vary by
more than p/q between any two rows. A sum of private columns is private. ∎

Here ``d(i,o) = max_k ⌈|i_k - o_k| / step_k⌉`` on a box, and r is the largest
``⌈width_k/step_k⌉``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb, prod
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.format import (
    MASK,
    WEIGHTS,
    Array,
    Contents,
    Header,
    Rule,
    Sizes,
    listing,
    need,
    need_work,
    registered,
    whole,
)
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.kernel.weights import Weights

#: Levels by distance, as headers have them.
LEVELS: dict[str, Rule] = {
    "bits": whole(0, 481),
    "levels": listing(whole(1, 1 << 480), 1, 1 << 17),
}


class WeightsByDistance(Weights):
    """Weights that follow from the distance of answer and output."""

    steps: list[int] | None = None

    def __init__(
        self, file: Contents, graph: Graph, answers: int | None = None
    ) -> None:
        super().__init__(file, graph, answers)
        self.levels: list[int] = self.given["levels"]
        falling = all(a >= b for a, b in pairwise(self.levels))
        need(falling, "the levels must not rise")

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield the columns, each with the number of its output."""
        n = self.graph.nodes
        need_work("listing the columns of a rule", n * n, 100)
        yield from ((o, self.column(o)[:, None]) for o in range(n))

    def column(self, o: int) -> Array:
        """Return one column, without computing any other."""
        raise NotImplementedError

    def depths(self, i: int) -> Array:
        """Return for every node which level it has seen from node i."""
        far = self.graph.distances_from(i, self.steps)
        # Beyond the table the last level continues.
        return np.minimum(far, len(self.levels) - 1)

    def levels_from(self, i: int) -> Array:
        """Return the level of every node seen from node i."""
        return np.asarray(np.array(self.levels, object)[self.depths(i)])

    def steep_levels(self, reach: int) -> Iterator[str]:
        """Yield the first level that falls by more than p/q within a reach."""
        p, q = self.ratios[0]
        last = len(self.levels) - 1
        for d, level in enumerate(self.levels):
            after = self.levels[min(d + reach, last)]
            if level * q > after * p:
                short = f"{level * q - after * p}/{p} too little for the ratio {p}/{q}"
                yield f"privacy: level {d} weighs {level}, {reach} steps further {after} is {short}"
                break


@registered(WEIGHTS, "levels")
class LevelWeights(WeightsByDistance):
    """Levels by distance times a factor for each output, on a box."""

    kind = "levels"
    steps: list[int]
    fields: ClassVar = LEVELS | {
        "steps": listing(whole(1, 1 << 40), 1, 64),
        "rest": whole(0, 1 << 40),
    }

    def __init__(
        self, file: Contents, graph: Graph, answers: int | None = None
    ) -> None:
        super().__init__(file, graph, answers)
        box = graph.form == "box" and graph.nodes <= 1 << 23
        need(box, "levels need a box of at most 2^23 answers")
        self.steps = self.given["steps"]
        self.rest_at: int = self.given["rest"]
        fits = len(self.steps) == len(graph.sides)
        need(fits, "there must be one step for each side")
        need(self.rest_at < self.outputs, "the output of the rest does not exist")

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the factors of the outputs."""
        return {"factors": (nodes, 0, 1 << 100)}

    @cached_property
    def factors(self) -> Array:
        """The factor of each output."""
        return self.file.section("factors")

    @cached_property
    def rest(self) -> Array:
        """What each row lacks to the total."""
        held = box_sums(self.graph.sides, self.steps, self.levels, self.factors)
        return np.asarray(self.total - held)

    def column(self, o: int) -> Array:
        """Return one column, without computing any other."""
        column = self.levels_from(o) * int(self.factors[o])
        return np.asarray(column + self.rest if o == self.rest_at else column)

    def row(self, i: int) -> Array:
        """Return one row, without computing any other: distances are symmetric."""
        row: Array = self.levels_from(i) * self.factors.astype(object)
        row[self.rest_at] += self.total - sum(row.tolist())
        return row

    def faults(self) -> Iterator[str]:
        """Yield levels that fall too much, and rests that vary too much."""
        p, q = self.ratios[0]
        sides = zip(self.graph.sides, self.steps, strict=True)
        # r = max_k ⌈width_k / step_k⌉: how far one edge can change d.
        reach = max(-(-min(width, size - 1) // step) for (size, width), step in sides)
        yield from self.steep_levels(reach)
        low = int(self.rest.argmin())
        high = int(self.rest.argmax())
        if self.rest[low] < 0:
            yield f"total: row {low} weighs {-self.rest[low]} more than 2^{self.bits}"
        elif self.rest[high] * q > self.rest[low] * p:
            rests = f"{self.rest[high]} in row {high} and {self.rest[low]} in row {low}"
            yield f"privacy: missing to 2^{self.bits} is {rests}, more than the ratio {p}/{q}"

    def answer_losses(self, consumer: StatedConsumer) -> Array:
        """Return the losses of all answers, on a line as a few convolutions."""
        line = len(self.steps) == 1
        shift = consumer.guess_of - np.arange(self.outputs)
        rest_guess = int(consumer.guess_of[self.rest_at])
        if consumer.binary and (line or not consumer.remapped):
            each = np.full(consumer.n, self.total, object)
            # The guess is right at answer guess_of[o], |shift| away from the output.
            depth = np.minimum(-(-abs(shift) // self.steps[0]), len(self.levels) - 1)
            right = np.array(self.levels, object)[depth] * self.factors
            np.subtract.at(each, consumer.guess_of, right)
            each[rest_guess] -= self.rest[rest_guess]
            return each
        if consumer.power and line:
            step = self.steps[0]
            sums = far_sums(self.levels, step, self.factors, shift, consumer.power)
            at_rest = consumer.losses(rest_guess)
            return np.asarray(sums * consumer.factor + at_rest * self.rest)
        return super().answer_losses(consumer)


def box_sums(
    sides: Sequence[tuple[int, int]],
    steps: Sequence[int],
    levels: Sequence[int],
    z: Array,
) -> Array:
    r"""Return ``Σ_o levels[d(i,o)]·z[o]`` for all i, d = max ⌈\|i_k - o_k\| / steps_k⌉, exactly.

    Summed by parts: ``Σ_d (levels[d] - levels[d+1])·(sum of z in the box of radius d)``. The
    last level goes on for ever. Products are kept in four limbs of 31 bits; wider numbers, which
    only a line may have, are convolved.

    >>> box_sums([(3, 1)], [1], [4, 2, 1], np.array([1, 1, 1])).tolist()
    [7, 8, 7]
    """
    mass = sum(z.tolist())
    falls = [above - below for above, below in pairwise(levels)]
    sound = mass < 1 << 100 and all(0 <= fall < 1 << 124 for fall in falls)
    need(
        sound,
        "levels must fall, each by less than 2^124, and factors sum to less than 2^100",
    )
    if mass >> 62 or max(falls, default=0) >> 62:
        need(len(sides) == 1, "the factors are too large")
        return far_sums(levels, steps[0], z, np.zeros(z.size, np.int64), 0)
    sizes = [size for size, _ in sides]
    held = 24 * prod(size + 1 for size in sizes) + 120 * z.size
    # Numbers after each axis: a table of 2 × … × 2 answers has far more entries than answers.
    cut = [
        prod(sizes[:k]) * prod(n + 1 for n in sizes[k:])
        for k in range(1, len(sizes) + 1)
    ]
    each = 3 * sum(cut) + 5 * z.size + 4000 * (1 + len(sizes))
    need_work("the sums of all rows", len(levels) * each, 1, held)
    table = z.astype(np.int64).reshape(sizes)
    # Summed-area table: the sum over any box is a difference of 2^k entries.
    for axis in range(table.ndim):
        sums = np.cumsum(table, axis)
        table = np.concatenate([np.zeros_like(np.take(sums, [0], axis)), sums], axis)

    def block(first: Array) -> Array:
        """Return the sums of nodes with the given first coordinates, but for the last level."""
        limbs = [np.zeros(1, np.int64)] * 4
        axes = [first, *(np.arange(size) for size, _ in sides[1:])]
        for d, fall in enumerate(falls):
            ball = table
            for axis, (i, (size, _), step) in enumerate(
                zip(axes, sides, steps, strict=True)
            ):
                # The box of radius d around i, clipped to the graph.
                high = np.minimum(i + d * step + 1, size)
                ball = ball.take(high, axis) - ball.take(
                    np.maximum(i - d * step, 0), axis
                )
            # ball·fall in limbs of 31 bits, with the carries of the middle ones
            ball_high, ball_low = ball.ravel() >> 31, ball.ravel() & MASK
            fall_high, fall_low = fall >> 31, fall & MASK
            low = ball_low * fall_low
            middle = ball_low * fall_high + ball_high * fall_low
            top = ball_high * fall_high
            carried = (low >> 31) + (middle & MASK), (middle >> 31) + (top & MASK)
            added = (low & MASK, *carried, top >> 31)
            limbs = [limb + more for limb, more in zip(limbs, added, strict=True)]
        nodes = len(first) * prod(sizes[1:])
        # Σ limb_j·2^(31j), by Horner's rule in Python integers.
        total = np.broadcast_to(limbs[3], nodes).astype(object)
        for limb in reversed(limbs[:3]):
            total = total * (1 << 31) + limb
        return total

    rows = max(
        1, (1 << 15) * sides[0][0] // z.size
    )  # blocks that stay close to the processor
    firsts = (
        np.arange(at, min(at + rows, sides[0][0])) for at in range(0, sides[0][0], rows)
    )
    return np.asarray(
        # The last level applies everywhere: it adds levels[-1]·Σ z.
        np.concatenate([block(first) for first in firsts]) + levels[-1] * mass
    )


def convolved(kernel: Array, values: Array) -> Array:
    """Return the middle of a convolution, as the product of two long integers.

    Every number gets as many bytes as the largest sum needs (Kronecker's substitution).

    >>> convolved(np.array([1, 0, -1], object), np.array([1 << 70, 2, 3], object)).tolist()
    [2, -1180591620717411303421, -2]
    """
    sizes = [len(kernel), len(values)]
    bits = sum(int(abs(array).max()).bit_length() for array in (kernel, values))
    # A sum of min(sizes) products, and one bit for the sign.
    width, count = (bits + min(sizes).bit_length()) // 8 + 1, sum(sizes) - 1
    # Karatsuba's method, on digits of 30 bits; the other sums of a file take about as long each.
    steps = max(sizes) / min(sizes) * (min(sizes) * width / 3.75) ** 1.585
    work = "a convolution of levels (a larger ε has fewer)"
    need_work(work, int(steps), 25, 40 * width * count)

    def packed(array: Array) -> int:
        # Digits must not be negative: pack both signs separately and subtract.
        signs = np.maximum(array, 0).tolist(), np.maximum(-array, 0).tolist()
        more, less = (
            b"".join([x.to_bytes(width, "little") for x in some]) for some in signs
        )
        return int.from_bytes(more, "little") - int.from_bytes(less, "little")

    half = 1 << 8 * width - 1  # added to every sum, which makes it positive
    shift = int.from_bytes(half.to_bytes(width, "little") * count, "little")
    found = (packed(kernel) * packed(values) + shift).to_bytes(width * count, "little")
    first = len(kernel) // 2 * width
    places = range(first, first + len(values) * width, width)
    sums = (int.from_bytes(found[at : at + width], "little") - half for at in places)
    return np.array([*sums], object)


def far_sums(
    levels: Sequence[int], step: int, z: Array, shift: Array, power: int
) -> Array:
    r"""Return ``Σ_o levels[⌈\|i-o\|/step⌉]·z[o]·\|i-o-shift[o]\|^power`` for all i, exactly.

    The last level goes on for ever and is added up by moments. The others are convolutions in
    t = i - o: with m for the shift ``(t-m)² = t² - 2tm + m²``, ``(t-m)⁰ = 1``, and ``\|t-m\|`` is
    ``\|m\| - t·sgn(m)`` where m is out of reach, else ``\|t\| - m·sgn(t) + \|m\|·[t=0]`` and
    between 0 and m 2(\|m\|-\|t\|) more.

    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.zeros(4, int), 1).tolist()
    [7, 6, 6, 7]
    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.array([1, 1, 0, -2]), 1).tolist()
    [11, 6, 3, 13]
    """
    n = len(z)
    last = levels[-1]
    need_work("the sums of all rows", n, 0, 700 * n)
    z = z.astype(object)
    reach = min(n, step * (len(levels) - 1) + 1)
    node = np.arange(n).astype(object)
    many = np.full(n, 0, object)
    # Σ z by guess: the last level is flat, so only the guess and not the output matters.
    np.add.at(many, np.arange(n) + shift, z)
    sums = [np.cumsum(many * node**p) for p in range(power + 1)]
    # levels - last is 0 beyond the reach, so the kernel is finite.
    half = np.array([levels[-(-t // step)] - last for t in range(reach)], object)
    kernel = np.concatenate([half[:0:-1], half])
    t = np.arange(1 - reach, reach)
    if power != 1:
        # (t - m)^p = Σ_q C(p,q)·t^(p-q)·(-m)^q separates answers from outputs.
        signed = [(power - q, q, (-1) ** q * comb(power, q)) for q in range(power + 1)]
        far = sum(node**p * sums[q][-1] * times for p, q, times in signed)
        parts = [(kernel * t**p, z * shift**q * times) for p, q, times in signed]
        return np.asarray(far * last + sum(convolved(*part) for part in parts))
    # Σ_g many_g·|i - g| from prefix sums, in O(n) for all i.
    far = node * (2 * sums[0] - sums[0][-1]) - (2 * sums[1] - sums[1][-1])
    out = z * (abs(shift) >= reach)
    inside = shift * (abs(shift) < reach)
    need_work("guesses away from their outputs", int(abs(inside).sum()), 500)
    # |t - m| = |t| - m·sgn(t) + |m|·[t=0] for |m| in reach, but between 0 and m.
    parts = [(kernel * abs(t), z - out), (kernel * np.sign(t), -z * inside)]
    parts += [(kernel, out * abs(shift)), (kernel * t, -out * np.sign(shift))]
    total = np.asarray(far * last + half[0] * z * abs(inside))
    total += sum(convolved(*part) for part in parts)
    for side in (1, -1):
        some = np.flatnonzero(side * inside > 1)
        for d in range(1, int(abs(inside).max(initial=0))):
            some = some[side * inside[some] > d]
            total[some + side * d] += (
                z[some] * (side * inside[some] - d) * (2 * half[d])
            )
    return total


# -- weights: rows and privacy ------------------------------------------------------------


def falling_levels(
    first: Sequence[int], ratio: Fraction, most: int = 1 << 62
) -> list[int]:
    """Go on from r levels with always ⌈w·q/p⌉, r levels later, up to the first one that stays.

    >>> falling_levels([8], Fraction(2)), falling_levels([8, 6], Fraction(2), 3)
    ([8, 4, 2, 1], [8, 6, 4, 3])
    """
    p, q, step = ratio.numerator, ratio.denominator, len(first)
    # About bits·ln 2/ln(p/q) levels; ln(p/q) ≈ p/q - 1 for the small ε where it matters.
    bits = first[0].bit_length()
    many = min(most, int(step * bits / max(p / q - 1, 1e-9)) + 1)
    # A level is multiplied and divided by numbers of any length.
    each = 500 + bits * (p.bit_length() + 150) // 600
    need_work("the levels of a rule", many, each, many * (bits // 8 + 40))
    levels = [*first]
    while len(levels) <= most:
        levels.append(-(-levels[-step] * q // p))
        if levels[-1] == levels[-1 - step]:
            break
    # Equal levels at the end are one level that continues.
    return levels[: levels.index(levels[-1]) + 1]
