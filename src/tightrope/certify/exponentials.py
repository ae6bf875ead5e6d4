"""Bounds of exp(ε) in integers, so that no rounding decides whether p/q is small enough."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

# -- exp(ε), from below and above ---------------------------------------------------------


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(x) for 0 < x <= 700: halve x, sum the series in integers, square again.

    >>> low, high = exp_bounds(Fraction(1))
    >>> float(low), high - low < Fraction(1, 10**60)
    (2.718281828459045, True)
    """
    halvings = ceil(x).bit_length()
    y, one = x / 2**halvings, 1 << 320
    total = term = one
    terms = 0
    while term:  # a term is short by less than 2 units, and so is the rest of the series
        terms += 1
        term = term * y.numerator // (y.denominator * terms)
        total += term
    low, high = total, total + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low // one, -(-high * high // one)
    return Fraction(low, one), Fraction(high, one)


@lru_cache(maxsize=16)
def ln_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound ln(x) for x > 1: take out powers of 2, then 2·artanh((x-1)/(x+1)).

    >>> low, high = ln_bounds(Fraction(10))
    >>> float(low), high - low < Fraction(1, 10**60)
    (2.302585092994046, True)
    """
    twos = max(0, x.numerator.bit_length() - x.denominator.bit_length() - 1)
    x /= 2**twos
    one, low, terms = 1 << 400, 0, 0
    for times, y in ((2, (x - 1) / (x + 1)), (2 * twos, Fraction(1, 3))):
        power, odd = one * y.numerator // y.denominator, 1
        while power:
            low += times * (power // odd)
            power, odd, terms = power * y.numerator**2 // y.denominator**2, odd + 2, terms + times
    return Fraction(low, one), Fraction(low + 3 * terms + 3 + 3 * twos, one)


def level_bounds(multiple: Fraction, base: Fraction | None, p: int, q: int) -> tuple[bool, int]:
    """Whether p/q <= exp(ε), and an integer a with a/2^62 <= exp(-ε).

    >>> level_bounds(Fraction(1), Fraction(2), 2, 1) == (True, 2**61)
    True
    >>> level_bounds(Fraction(1), None, 2718281829, 10**9)[0]
    False
    """
    power, root = multiple.numerator, multiple.denominator
    below, above = (Fraction(1), Fraction(1)) if base is None else ln_bounds(base)
    if multiple * above > 600:  # e^600 from below, 0 from above: both are safe
        return Fraction(p, q) <= exp_bounds(Fraction(599))[0], 0
    if base is not None and root <= 64 and power <= 4096:
        exact = Fraction(p, q) ** root == base**power
        if exact:
            return True, (q << 62) // p
    low, high = exp_bounds(multiple * below)[0], exp_bounds(multiple * above)[1]
    return Fraction(p, q) <= low, (high.denominator << 62) // high.numerator
