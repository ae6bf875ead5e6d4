"""Permute-and-flip: the law of the first accepted one in a random order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def first_accepted(shares: Sequence[Fraction]) -> list[Fraction]:
    r"""Return the exact probability that each is the first accepted one in a random order.

    :math:`f_r \int_0^1 \prod_{s \ne r} (1 - v f_s)\,dv`, a polynomial in v. Somebody is always
    accepted, with share 1 [McKenna and Sheldon, 2020].

    >>> first_accepted([Fraction(1), Fraction(1, 2)])
    [Fraction(3, 4), Fraction(1, 4)]
    """
    from flint import fmpq, fmpq_poly

    exact = [fmpq(share.numerator, share.denominator) for share in shares]
    lines = [fmpq_poly([1, -share]) for share in exact]
    law = []
    for r, mine in enumerate(exact):
        # v is the uniform place of r: s comes before it and is accepted with v·f_s.
        others = math.prod(lines[:r] + lines[r + 1 :], start=fmpq_poly([1]))
        chance = mine * others.integral()(1)
        law.append(Fraction(int(chance.p), int(chance.q)))
    return law
