r"""A finer number after a coarse one that is published: both together keep the finer level.

*Theorem.* Let w₁ be the weights of noise on a line, and let w₂ be falling levels, private for p/q.
Let k >= 0 be a kernel that is 0 beyond K, S > 0, and

    R(d) = S·w₁(d) - Σ_j w₂(d-j)·k(j).

If R >= 0 and R(d), R(d+1) are within p/q for all d, then the pair (o₁, o₂) with the weights

    P[x,(o₁,o₂)] = w₂(x-o₂)·k(o₁-o₂) + [o₁ = o₂]·R(x-o₁)

is private for p/q, and its first output has exactly the law w₁.

*Proof.* A column is a multiple of w₂(x-o₂), and where o₁ = o₂ also R(x-o₁): both vary by at most
p/q between neighbours x, and so does a sum of them. Over all o₂ the weights add up to S·w₁(x-o₁).
∎

Whoever has published o₁ draws o₂ with the weights P[x,(o₁,·)]. Nothing else is believed: the
kernel follows from w₁ and w₂ by the rule in :class:`SharpenedWeights`, and whatever that rule gives
is checked as above.

*Chains.* Let o₃ follow o₂ in the same way, with w₂ in the place of w₁. The weights of (o₁, o₂, o₃)
are k₁(o₁-o₂)·P₂[x,(o₂,o₃)], and where o₁ = o₂ = o₃ also S₂·R₁(x-o₁): sums of columns that are
private for the last level. They add up to S₂·P₁[x,(o₁,o₂)]. And so on for any number of steps.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from tightrope.certify.kernel.format import (
    WEIGHTS,
    Contents,
    Header,
    fraction,
    need,
    need_work,
    record,
    registered,
    whole,
)
from tightrope.certify.theorems.unbounded import LatticeWeights, Layers

#: Binary places of the kernel.
KERNEL_BITS = 64


@registered(WEIGHTS, "sharpened")
class SharpenedWeights(LatticeWeights):
    r"""Noise on a line that follows coarser noise which is published already.

    The weights w₂ are layers as in a file of the kind ``lattice``; ``coarse`` names the layers w₁.
    The kernel: geometric noise with the factor b = q/p has an inverse of three diagonals, so
    ``((1+b²)·v(d) - b·(v(d-1) + v(d+1))) / ((1-b²)·w₂(0))`` would give v = w₂ * k exactly. Here v
    is what w₁ has above a level c, the square root of its total. What lies below c is left to R:
    there the rounding of the layers is no longer small beside them. k is that rounded down, at
    least 0.
    """

    kind = "sharpened"

    fields: ClassVar = {
        **LatticeWeights.fields,
        "coarse": record(
            ratio=fraction(0), bits=whole(1, 4001), start=whole(1, 1 << 4000)
        ),
    }

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop where the file states a loss: it is about both outputs."""
        need(header["consumer"] is None, "a pair of outputs has no consumer")

    def __init__(self, file: Contents) -> None:
        super().__init__(file)
        line = self.lattice.form == "line" and self.lattice.width == 1
        need(line, "a finer output is proved for noise on a line with steps of 1")
        given = file.header["weights"]["coarse"]
        need(given["ratio"] > 1, "weights.coarse.ratio must be larger than 1")
        more = self.bits - given["bits"]
        need(more >= 0, "the finer noise needs at least the bits of the coarse one")
        self.coarse = Layers(
            self.lattice, given["ratio"], given["bits"], given["start"]
        )
        self.coarse_bits: int = given["bits"]
        self.scale = 1 << KERNEL_BITS + more  # S
        self.kernel = self._kernel()
        self.rest = self._rest()

    def _kernel(self) -> list[int]:
        """Return k(0) … k(K)."""
        # c = 2^⌊bits/2⌋, the square root of the total of w₁.
        above = [w - (1 << self.coarse_bits // 2) for w in self.coarse.levels]
        v = [w for w in above if w > 0]
        need(len(v) > 1, "the coarse noise has too few bits")
        p = self.ratio.numerator
        q = self.ratio.denominator
        wide = p.bit_length()
        # Here squares of the ratio times a level; in `faults` it times what is left over.
        each = 2000 + wide * (self.bits + wide) // 300
        need_work("the kernel of a finer draw", len(v) + self.reach, each)
        unit = (p * p - q * q) * self.levels[0]
        # v(-1) = v(1) by symmetry, and v is 0 beyond its last level.
        around = zip([v[1], *v], v, [*v[1:], 0], strict=False)
        # (1 + b²)·v(d) - b·(v(d-1) + v(d+1)) with b = q/p, times p².
        spread = ((p * p + q * q) * x - p * q * (a + b) for a, x, b in around)
        return [max(0, self.scale * x // unit) for x in spread]

    def _rest(self) -> list[int]:
        """Return R(0), R(1), … up to where it stays as it is."""
        reach = len(self.kernel) - 1  # K
        steps = max(self.coarse.reach, self.reach + reach) + 1
        last = self.levels[-1]
        excess = [w - last for w in self.levels]
        # w₂ = excess + last: the constant part of the convolution is last·Σ k.
        flat = last * (2 * sum(self.kernel) - self.kernel[0])
        both = product(mirrored(self.kernel), mirrored(excess))
        middle = len(both) // 2
        coarse = self.coarse.levels + [self.coarse.levels[-1]] * steps
        spread = both[middle:] + [0] * steps
        return [self.scale * coarse[d] - spread[d] - flat for d in range(steps + 1)]

    @property
    def described(self) -> Fraction:  # type: ignore[override]
        """The share of the finer outputs that are the answer plus w₂: all but what R has."""
        # Σ_j k(j)·Σ w₂ over S·2^bits₁: the share of the first term of P.
        mass = self.total * (2 * sum(self.kernel) - self.kernel[0])
        return min(Fraction(1), Fraction(mass, self.scale << self.coarse_bits))

    @property
    def described_reach(self) -> int:  # type: ignore[override]
        """Up to this distance, every coarse output within K of the finer one is in its box."""
        return self.coarse.reach - len(self.kernel) + 1

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the privacy of the finer noise, and of what is left over."""
        yield from super().faults()
        p = self.ratio.numerator
        q = self.ratio.denominator
        for d, (near, far) in enumerate(pairwise(self.rest)):
            if min(near, far) < 0:
                yield f"total: {d} steps away the finer noise has more than the coarse one"
                return
            if near * q > far * p or far * q > near * p:
                yield f"privacy: {d} and {d + 1} steps away what is left over exceeds {p}/{q}"
                return

    def proved_for(self, whose: str) -> str:
        """Return what was checked, and for which question."""
        pair = "with the coarser output, whose law is exactly that of its own file"
        rest = f"R >= 0 and within p/q at {len(self.rest)} distances"
        return f"{super().proved_for(whose)}; {rest}: private together {pair}"


def mirrored(half: Sequence[int]) -> list[int]:
    """Return a symmetric sequence from its middle outwards.

    >>> mirrored([3, 2, 1])
    [1, 2, 3, 2, 1]
    """
    return [*half[:0:-1], *half]


def product(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the coefficients of the product of two polynomials, none of them negative.

    Every coefficient gets as many decimal digits as the largest sum needs (Kronecker's
    substitution). ``decimal`` multiplies numbers of millions of digits in almost linear time.

    >>> product([1, 2], [3, 4, 5])
    [3, 10, 13, 10]
    """
    many = min(len(left), len(right))
    width = len(str(max(left) * max(right) * many))
    count = len(left) + len(right) - 1
    need_work("a product of levels", count * width, 80, 10 * count * width)
    exact = decimal.Context(prec=count * width, Emax=decimal.MAX_EMAX)
    factors = (
        decimal.Decimal("".join(str(x).zfill(width) for x in some))
        for some in (left, right)
    )
    digits = str(exact.multiply(*factors)).zfill(count * width)
    return [int(digits[at : at + width]) for at in range(0, count * width, width)]
