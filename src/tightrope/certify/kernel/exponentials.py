"""exp(ε) and ln from below and above, in integers."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

from tightrope.certify.kernel.format import WEIGHTS, Header, need, need_work


@lru_cache(maxsize=16)
def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(x) for 0 < x <= 700: halve x, sum the series in integers, square again.

    >>> low, high = exp_bounds(Fraction(1))
    >>> float(low), high - low < Fraction(1, 10**60)
    (2.718281828459045, True)
    """
    # exp(x) = exp(x/2^h)^(2^h): with x/2^h < 1 the series converges fast.
    halvings = ceil(x).bit_length()
    y = x / 2**halvings
    one = 1 << 320
    total = term = one
    terms = 0
    # A term is short by less than 2 units, and so is the rest of the series.
    while term:
        terms += 1
        # term = y^k/k!, each rounded down from the one before.
        term = term * y.numerator // (y.denominator * terms)
        total += term
    low = total
    # Each of the k terms lacks less than 2 units, and the tail less than 2.
    high = total + 2 * terms + 2
    for _ in range(halvings):
        # Squaring keeps the bounds when each is rounded outwards.
        low = low * low // one
        high = -(-high * high // one)
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
    one = 1 << 400
    low = 0
    terms = 0
    # ln x = 2·artanh((x-1)/(x+1)) + twos·ln 2, and ln 2 = 2·artanh(1/3).
    for times, y in ((2, (x - 1) / (x + 1)), (2 * twos, Fraction(1, 3))):
        power = one * y.numerator // y.denominator
        odd = 1
        while power:
            # artanh y = Σ y^(2k+1)/(2k+1), rounded down.
            low += times * (power // odd)
            power = power * y.numerator**2 // y.denominator**2
            odd += 2
            terms += times
    # A term lacks less than 3 units each time it is counted, and so do both tails.
    return Fraction(low, one), Fraction(low + 3 * terms + 3 + 3 * twos, one)


def _log_bounds(base: Fraction | None) -> tuple[Fraction, Fraction]:
    """Bound what a level counts: ln of its base, or 1."""
    return (Fraction(1), Fraction(1)) if base is None else ln_bounds(base)


def level_bounds(
    multiple: Fraction, base: Fraction | None, ratio: Fraction
) -> tuple[bool, int]:
    """Whether p/q <= exp(ε), and α' = ⌊2^62·exp(-ε)⌋.

    >>> level_bounds(Fraction(1), Fraction(2), Fraction(2)) == (True, 2**61)
    True
    >>> level_bounds(Fraction(1), Fraction(2), Fraction(1)) == (True, 2**61)
    True
    >>> level_bounds(Fraction(1), None, Fraction(2718281829, 10**9))[0]
    False
    """
    power = multiple.numerator
    root = multiple.denominator
    below, above = _log_bounds(base)
    if multiple * above > 600:  # e^599 from below, 0 from above: both are safe
        return ratio <= exp_bounds(Fraction(599))[0], 0
    # α' uses the upper bound of exp(ε), so that it is at most exp(-ε).
    high = exp_bounds(multiple * above)[1]
    alpha = (high.denominator << 62) // high.numerator
    # Powers of longer numbers would cost too much: bounds decide there.
    most = 1 << 14
    longest = ratio.numerator.bit_length() * root
    if base is None or max(longest, base.numerator.bit_length() * power) > most:
        return ratio <= exp_bounds(multiple * below)[0], alpha
    # An interval around exp(ε) could not decide what is equal, e.g. 2 at ε = ln 2.
    exact = base**power
    if 62 * root <= most and (alpha + 1) ** root * exact <= 1 << 62 * root:
        alpha += 1
    return ratio**root <= exact, alpha


def check_ratios(header: Header) -> list[int]:
    """Check 1 <= p/q <= exp(ε·length) for every length; return α' for each."""
    multiple = header["epsilon"]["multiple"]
    base = header["epsilon"]["base"]
    lengths = WEIGHTS[header["weights"]["kind"]].edge_lengths(header)
    low, high = _log_bounds(base)
    sound = multiple * low >= Fraction(1, 10**12) and multiple * high <= 500
    need(sound, "ε must be between 1e-12 and 500")
    need_work("exp(ε·length) of every length", len(lengths), 150_000)
    alphas = []
    for length, ratio in zip(lengths, header["ratios"], strict=True):
        sound, alpha = level_bounds(multiple * length, base, ratio)
        allowed = f"1 … exp(ε·{short_number(length)})"
        need(ratio >= 1 and sound, f"ratio: {short_number(ratio)} is not in {allowed}")
        alphas.append(alpha)
    return alphas


def short_number(number: Fraction) -> str:
    """Return a fraction in words, rounded where it is long."""
    exact = str(number)
    return exact if len(exact) < 40 else f"{float(number):.9g}…"
