r"""Compare :math:`e^ε` with a rational number, exactly."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

from tightrope.epsilon import Epsilon

#: Decimal digits with which logarithms are compared when powers would be too long.
LOG_DIGITS = 120
#: Longest power, in bits, that is compared in integers.
_POWER_BITS = 100_000


class Side(NamedTuple):
    r"""On which side of a threshold :math:`e^ε` lies, and how far in ε.

    Attributes
    ----------
    sign
        1 above, 0 at, -1 below the threshold.
    margin
        ε less the logarithm of the threshold.

    Examples
    --------
    >>> Side(1, 0.5).sign
    1
    """

    sign: int
    margin: float


def side_of(epsilon: Epsilon, threshold: Fraction | int) -> Side:
    r"""Decide whether :math:`e^ε` is above, at or below a rational threshold ≥ 1.

    For a rational ε > 0, :math:`e^ε` is never rational, so it cannot be at the threshold; for
    :math:`ε = m \ln b` powers of integers decide.

    Examples
    --------
    >>> side_of(Epsilon.of("ln(2)"), 2), side_of(Epsilon.of("2*ln(3)"), 9).sign
    (Side(sign=0, margin=0.0), 0)
    >>> side_of(Epsilon.of("0.6931471805599453"), 2).sign
    -1
    """
    wall = Fraction(threshold)
    power, root = epsilon.multiple.numerator, epsilon.multiple.denominator
    if epsilon.base is not None:
        bits = max(epsilon.base.numerator.bit_length() * power, wall.numerator.bit_length() * root)
        if bits <= _POWER_BITS:
            left, right = epsilon.base**power, wall**root
            sign = (left > right) - (left < right)
            return Side(sign, _margin(epsilon, wall) if sign else 0.0)
    margin = _exact_margin(epsilon, wall)
    return Side((margin > 0) - (margin < 0), float(margin))


def _margin(epsilon: Epsilon, wall: Fraction) -> float:
    return float(_exact_margin(epsilon, wall))


def _exact_margin(epsilon: Epsilon, wall: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = LOG_DIGITS
        level = Decimal(epsilon.multiple.numerator) / Decimal(epsilon.multiple.denominator)
        if epsilon.base is not None:
            level *= _log(epsilon.base)
        return level - _log(wall)


def _log(number: Fraction) -> Decimal:
    return Decimal(number.numerator).ln() - Decimal(number.denominator).ln()
