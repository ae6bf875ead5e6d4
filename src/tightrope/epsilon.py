r"""The privacy level :math:`\varepsilon` and an exact rational ratio below :math:`e^\varepsilon`.

Privacy in the reals asks for ratios of probabilities up to :math:`e^\varepsilon`, which is
irrational for every rational :math:`\varepsilon > 0`. Integers decide here, so an
:class:`Epsilon` carries a fraction :math:`p/q \le e^\varepsilon`, never above it and within
``RATIO_ACCURACY`` of it. Written as ``ln(2)`` the ratio is exactly 2.
"""

from __future__ import annotations

import functools
import math
import numbers
import re
from dataclasses import dataclass
from fractions import Fraction

from tightrope.errors import InputError

#: Relative distance allowed between ``ratio`` and :math:`e^\varepsilon` (from below).
RATIO_ACCURACY = Fraction(1, 10**15)

#: Range of ε accepted: below it the ratio is 1 to working accuracy, above it nothing is private.
SMALLEST, LARGEST = 1e-12, 500

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+(?:[eE][+-]?\d{1,3})?"
_TEXT = re.compile(
    rf"\s*(?:(?P<times>{_NUMBER})\s*\*\s*)?"
    rf"(?:ln\(\s*(?P<base>{_NUMBER})(?:\s*/\s*(?P<below>{_NUMBER}))?\s*\)"
    rf"|(?P<value>{_NUMBER}))(?:\s*/\s*(?P<over>{_NUMBER}))?\s*"
)


@dataclass(frozen=True)
class Epsilon:
    r"""A privacy level, :math:`\varepsilon = m` or :math:`\varepsilon = m\,\ln b`.

    Build one with :meth:`of`.

    Parameters
    ----------
    multiple
        The rational number :math:`m > 0`.
    base
        The rational number :math:`b > 1`, or ``None`` when :math:`\varepsilon = m`.

    Examples
    --------
    >>> Epsilon.of("ln(2)").ratio
    Fraction(2, 1)
    >>> half = Epsilon.of(0.5)
    >>> half.ratio <= math.e**0.5, str(half)
    (True, '0.5')
    """

    multiple: Fraction
    base: Fraction | None = None

    def __post_init__(self) -> None:
        if self.multiple <= 0:
            raise InputError(f"ε must be positive, got {_plain(self.multiple)}")
        if self.base is not None and self.base <= 1:
            raise InputError(f"ln(b) needs b > 1 for a positive ε, got ln({_plain(self.base)})")
        if self.multiple > 10**9 or not SMALLEST <= float(self) <= LARGEST:
            raise InputError(f"ε must be between {SMALLEST:g} and {LARGEST}, got {self}")

    @classmethod
    def of(cls, value: Epsilon | float | Fraction | str) -> Epsilon:
        """Read a privacy level from a number or a text.

        A float stands for the decimal that prints as it: ``0.1`` is exactly 1/10.

        Parameters
        ----------
        value
            ``0.5``, ``Fraction(1, 2)``, ``"0.5"``, ``"1/2"``, ``"ln(2)"``, ``"ln(3/2)"``,
            ``"2*ln(3)"`` or ``"ln(2)/2"``.

        Examples
        --------
        >>> [str(Epsilon.of(x)) for x in (0.5, "1/3", "ln(2)", "ln(3)/2")]
        ['0.5', '1/3', 'ln(2)', '1/2*ln(3)']
        """
        if isinstance(value, Epsilon):
            return value
        if isinstance(value, str):
            return cls._parse(value)
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise InputError(f"ε must be a number or a text such as 'ln(2)', got {value!r}")
        if not math.isfinite(value):
            raise InputError(f"ε must be finite, got {value}")
        if isinstance(value, numbers.Rational):
            return cls(Fraction(value.numerator, value.denominator))
        return cls(Fraction(repr(float(value))))

    @classmethod
    def _parse(cls, text: str) -> Epsilon:
        match = _TEXT.fullmatch(text)
        if match is None or len(text) > 200:
            raise InputError(f"ε must look like 0.5, 1/2, ln(2) or 2*ln(3), got {text[:80]!r}")
        part = {k: Fraction(v) for k, v in match.groupdict().items() if v is not None}
        if part.get("over") == 0 or part.get("below") == 0:
            raise InputError(f"ε divides by zero in {text!r}")
        multiple = part.get("times", Fraction(1)) / part.get("over", Fraction(1))
        if "value" in part:
            return cls(multiple * part["value"])
        return cls(multiple, part["base"] / part.get("below", Fraction(1)))

    def __float__(self) -> float:
        if self.base is None:
            return float(self.multiple)
        logarithm = math.log(self.base.numerator) - math.log(self.base.denominator)
        return float(self.multiple) * logarithm

    @property
    def alpha(self) -> float:
        r""":math:`\alpha = e^{-\varepsilon}` in floating point."""
        if self.base is None:
            return math.exp(-float(self))
        return float(1 / self.base) ** float(self.multiple)

    @property
    def exact(self) -> bool:
        r"""Whether ``ratio`` equals :math:`e^\varepsilon` (only for ``ln`` of a rational)."""
        return self.base is not None and self.multiple.denominator == 1

    @property
    def ratio(self) -> Fraction:
        r"""The simplest :math:`p/q` with :math:`(1-10^{-15})e^\varepsilon \le p/q \le e^\varepsilon`.

        It is exact for the logarithm of a rational number.
        """
        return _ratio_below(self.multiple, self.base)

    def scaled(self, length: float | Fraction) -> Epsilon:
        """Return the level that an edge of the given length allows: ε times the length.

        >>> Epsilon.of("ln(2)").scaled(3).ratio
        Fraction(8, 1)
        """
        return Epsilon(self.multiple * Epsilon.of(length).multiple, self.base)

    def __str__(self) -> str:
        if self.base is None:
            return _plain(self.multiple)
        log = f"ln({_plain(self.base)})"
        return log if self.multiple == 1 else f"{_plain(self.multiple)}*{log}"


def _plain(number: Fraction) -> str:
    """Write a fraction as a short decimal where that is exact, else as ``p/q``."""
    if number.denominator == 1:
        return str(number) if number < 10**20 else f"{len(str(number))} digits"
    decimal = repr(float(number))
    return decimal if Fraction(decimal) == number else f"{number.numerator}/{number.denominator}"


@functools.lru_cache(maxsize=1024)
def _ratio_below(multiple: Fraction, base: Fraction | None) -> Fraction:
    if base is None:
        low, high = _exp_bounds(multiple)
    elif multiple.denominator == 1:
        return base**multiple.numerator
    else:
        low, high = _root_bounds(base**multiple.numerator, multiple.denominator)
    return simplest_between(high * (1 - RATIO_ACCURACY), low)


def _exp_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions around e^x, by halving the exponent, the Taylor series, and squaring again."""
    halvings = max(0, math.ceil(exponent).bit_length())
    x = exponent / 2**halvings
    scale = 1 << (160 + 2 * halvings)
    # Every term is rounded down and counted, so the sum is short by less than one unit a term.
    total = term = scale
    terms = 0
    while term:
        terms += 1
        term = term * x.numerator // (x.denominator * terms)
        total += term
    low, high = total, total + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low // scale, -(-high * high // scale)
    return Fraction(low, scale), Fraction(high, scale)


def _root_bounds(number: Fraction, degree: int) -> tuple[Fraction, Fraction]:
    """Fractions around the degree-th root of a number above 1."""
    scale = 1 << 80
    target = (number.numerator * scale**degree) // number.denominator
    root = _integer_root(target, degree)
    return Fraction(root, scale), Fraction(root + 1, scale)


def _integer_root(number: int, degree: int) -> int:
    """Return the largest integer whose degree-th power is at most the number."""
    guess = 1 << -(-number.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of least denominator in a closed interval of positive numbers.

    >>> simplest_between(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = whole - 1
    return floor + 1 / simplest_between(1 / (high - floor), 1 / (low - floor))
