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
from decimal import Decimal
from fractions import Fraction

from tightrope.errors import InputError
from tightrope.texts import DECIMAL, to_exact

#: Relative distance allowed between ``ratio`` and :math:`e^\varepsilon` (from below).
RATIO_ACCURACY = Fraction(1, 10**15)

#: Largest number of bits of an exact ratio; a longer one is replaced by a shorter one below it.
EXACT_BITS = 4096

#: Range of ε accepted: below it the ratio is 1 to working accuracy, above it nothing is private.
SMALLEST = 1e-12
LARGEST = 500

_TEXT = re.compile(
    rf"\s*(?:(?P<times>{DECIMAL})\s*(?:/\s*(?P<under>{DECIMAL})\s*)?\*\s*)?"
    rf"(?:ln\(\s*(?P<base>{DECIMAL})(?:\s*/\s*(?P<below>{DECIMAL}))?\s*\)"
    rf"|(?P<value>{DECIMAL}))(?:\s*/\s*(?P<over>{DECIMAL}))?\s*"
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
        if not isinstance(self.multiple, Fraction) or not isinstance(
            self.base, Fraction | None
        ):
            raise InputError(
                "Epsilon(…) takes fractions; use Epsilon.of(value) for numbers and texts"
            )
        if self.multiple <= 0:
            raise InputError(f"ε must be positive, got {_plain(self.multiple)}")
        if self.base is not None and self.base <= 1:
            raise InputError(
                f"ln(b) needs b > 1 for a positive ε, got ln({_plain(self.base)})"
            )
        if self.multiple > 10**9 or not SMALLEST <= float(self) <= LARGEST:
            raise InputError(
                f"ε must be between {SMALLEST:g} and {LARGEST}, got {self}"
            )

    @classmethod
    def of(cls, value: Epsilon | float | Fraction | Decimal | str) -> Epsilon:
        """Read a privacy level from a number or a text.

        A float is the decimal that prints as it: ``0.1`` is exactly 1/10.

        Parameters
        ----------
        value
            ``0.5``, ``Fraction(1, 2)``, ``"0.5"``, ``"1/2"``, ``"ln(2)"``, ``"ln(3/2)"``,
            ``"2*ln(3)"`` or ``"ln(2)/2"``.

        Examples
        --------
        >>> [str(Epsilon.of(x)) for x in (0.5, "1/3", "ln(2)", "ln(3)/2")]
        ['0.5', '1/3', 'ln(2)', '0.5*ln(3)']
        """
        if isinstance(value, Epsilon):
            return value
        if isinstance(value, str):
            return cls._parse(value)
        return cls(_as_written(value, "ε"))

    @classmethod
    def _parse(cls, text: str) -> Epsilon:
        match = _TEXT.fullmatch(text)
        if match is None or len(text) > 200:
            raise InputError(
                f"ε must look like 0.5, 1/2, ln(2) or 2*ln(3), got {text[:80]!r}"
            )
        # times/under * value/over, or times/under * ln(base/below)/over; parts left out are 1.
        part = {k: Fraction(v or 1) for k, v in match.groupdict().items()}
        if 0 in (part["over"], part["under"], part["below"]):
            raise InputError(f"ε divides by zero in {text!r}")
        multiple = part["times"] / part["over"] / part["under"]
        if match["value"]:
            return cls(multiple * part["value"])
        return cls(multiple, part["base"] / part["below"])

    def __float__(self) -> float:
        return float(self.multiple) * self.unit

    @functools.cached_property
    def unit(self) -> float:
        """What the multiple counts: the logarithm of the base, or 1."""
        return 1.0 if self.base is None else log_ratio(self.base)

    @functools.cached_property
    def binary_rate(self) -> float | None:
        """One over the base, where that is a float; powers of it lose no digits."""
        if self.base is None:
            return None
        rate = float(1 / self.base)
        return rate if rate == 1 / self.base else None

    @property
    def alpha(self) -> float:
        r""":math:`\alpha = e^{-\varepsilon}` in floating point."""
        if self.exact:
            return float(1 / self.ratio)
        return math.exp(-float(self))

    @property
    def exact(self) -> bool:
        r"""Whether ``ratio`` equals :math:`e^\varepsilon` (the logarithm of a rational number).

        >>> Epsilon.of("ln(9)/2").exact, Epsilon.of("ln(2)/2").exact
        (True, False)
        """
        return _exact_power(self.multiple, self.base) is not None

    @property
    def ratio(self) -> Fraction:
        r"""The simplest :math:`p/q \le e^\varepsilon` within ``RATIO_ACCURACY`` of it.

        It is exact for the logarithm of a rational number with up to ``EXACT_BITS`` bits.
        """
        return _ratio_below(self.multiple, self.base)

    @property
    def ratio_above(self) -> Fraction:
        r"""The simplest :math:`p/q \ge e^\varepsilon` within ``RATIO_ACCURACY`` of it, or equal.

        >>> Epsilon.of("ln(2)").ratio_above, Epsilon.of(1).ratio_above > Epsilon.of(1).ratio
        (Fraction(2, 1), True)
        """
        if self.exact:
            return self.ratio
        low, high = enclosed(self.multiple, self.base, power=True)
        return simplest_between(high, low * (1 + RATIO_ACCURACY))

    @property
    def above(self) -> Fraction:
        r"""A fraction at or above :math:`\varepsilon`, exact for a rational one, else within 1e-15.

        It is proportional to the multiple, and powers of one number share their root: what is
        paid for ``ln(4)`` is twice what is paid for ``ln(2)``.

        >>> Epsilon.of(0.1).above, Epsilon.of("ln(4)").above == 2 * Epsilon.of("ln(2)").above
        (Fraction(1, 10), True)
        """
        if self.base is None:
            return self.multiple
        root, degree = _root_and_degree(self.base)
        grid = 10**30
        high = enclosed(Fraction(1), root, power=False)[1] * grid
        return (
            self.multiple
            * degree
            * Fraction(-(-high.numerator // high.denominator), grid)
        )

    def scaled(self, length: float | Fraction) -> Epsilon:
        """Return the level that an edge of the given length allows: ε times the length.

        >>> Epsilon.of("ln(2)").scaled(3).ratio
        Fraction(8, 1)
        """
        factor = _as_written(length, "a length")
        if factor <= 0:
            raise InputError(f"a length must be positive, got {_plain(factor)}")
        return Epsilon(self.multiple * factor, self.base)

    def __str__(self) -> str:
        if self.base is None:
            return _plain(self.multiple)
        log = f"ln({_plain(self.base)})"
        if self.multiple == 1:
            return log
        return f"{_plain(self.multiple)}*{log}"


def log_ratio(ratio: Fraction | float) -> float:
    """Return the logarithm of a ratio of any size.

    >>> log_ratio(Fraction(10**400)), log_ratio(Fraction(1, 10**20)), log_ratio(math.inf)
    (921.03..., -46.05..., inf)
    """
    if not isinstance(ratio, Fraction):
        return math.log(ratio)
    # The float nearest to the ratio would lose the digits that matter.
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    # Beyond the range of floats a power of 2 goes first.
    bits = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    shift = 1000 * int(bits / 1000)
    scaled = ratio / Fraction(2) ** shift
    return math.log(scaled) + shift * math.log(2)


def _as_written(value: object, what: str) -> Fraction:
    """Read a number; a float is the decimal that prints as it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise InputError(
            f"{what} must be a number or a text such as 'ln(2)', got {value!r}"
        )
    # A rational number is finite, and may be too large to ask as a float.
    if not isinstance(value, numbers.Rational) and not math.isfinite(value):
        raise InputError(f"{what} must be finite, got {value}")
    # Written out, 1e-999999999 would have a billion digits; as a float it is 0.
    if isinstance(value, Decimal) and value.adjusted() > -100:
        return Fraction(value)
    return to_exact(value)


def _plain(number: Fraction) -> str:
    """Write a fraction as a short decimal where that is exact, else as ``p/q``."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > 200:
        return "a fraction with very many digits"
    if number.denominator == 1:
        return str(number)
    decimal = repr(float(number))
    return decimal if Fraction(decimal) == number else str(number)


@functools.lru_cache(maxsize=1024)
def _ratio_below(multiple: Fraction, base: Fraction | None) -> Fraction:
    exact = _exact_power(multiple, base)
    if exact is not None:
        return exact
    low, high = enclosed(multiple, base, power=True)
    return simplest_between(high * (1 - RATIO_ACCURACY), low)


def _exact_power(multiple: Fraction, base: Fraction | None) -> Fraction | None:
    """Return ``base**multiple`` when it is rational and has no more than ``EXACT_BITS`` bits."""
    root = None if base is None else _exact_root(base, multiple.denominator)
    if root is None or root.numerator.bit_length() * multiple.numerator > EXACT_BITS:
        return None
    return root**multiple.numerator


def _root_and_degree(base: Fraction) -> tuple[Fraction, int]:
    """Return the r and the largest k with ``base = r**k``."""
    for degree in range(base.numerator.bit_length(), 1, -1):
        root = _exact_root(base, degree)
        if root is not None:
            return root, degree
    return base, 1


def _exact_root(base: Fraction, degree: int) -> Fraction | None:
    """Return the r with ``base = r**degree``, if it is rational."""
    # A degree above the number of bits has no exact root but 1.
    if degree == 1 or degree > base.numerator.bit_length():
        return base if degree == 1 else None
    from flint import fmpz  # takes 60 ms to import

    parts = (base.numerator, base.denominator)
    roots = (int(fmpz(n).root(degree)) for n in parts)
    root = Fraction(*roots)
    return root if root**degree == base else None


@functools.lru_cache(maxsize=1024)
def enclosed(
    multiple: Fraction, base: Fraction | None, *, power: bool, bits: int = 320
) -> tuple[Fraction, Fraction]:
    r"""Return fractions around :math:`\varepsilon`, or around :math:`e^\varepsilon`.

    Ball arithmetic [Johansson, *Arb*, 2017] keeps the value between them, whatever rounds.
    """
    from flint import arb, ctx, fmpq

    with ctx.workprec(bits):
        ball = arb(fmpq(multiple.numerator, multiple.denominator))
        if base is not None:
            ball *= arb(fmpq(base.numerator, base.denominator)).log()
        if power:
            ball = ball.exp()
        ends = [end.man_exp() for end in (ball.lower(), ball.upper())]
    low, high = (
        Fraction(int(digits)) * Fraction(2) ** int(shift) for digits, shift in ends
    )
    return low, high


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of least denominator in a closed interval of positive numbers.

    >>> simplest_between(Fraction(314, 100), Fraction(315, 100))
    Fraction(22, 7)
    """
    # Continued fractions: an integer if there is one, else the same integer part for both ends.
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = whole - 1
    inner = simplest_between(1 / (high - floor), 1 / (low - floor))
    return floor + 1 / inner


#: What a function takes for a privacy level: all that :meth:`Epsilon.of` reads.
Level = Epsilon | float | Fraction | str
