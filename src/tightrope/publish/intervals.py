"""Numbers with their intervals: what a set of possible truths is, and how it is printed."""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from tightrope.certify.make import encode_label
from tightrope.errors import InputError
from tightrope.texts import to_exact

Number = int | Fraction


@dataclass(frozen=True)
class ConfidenceSet:
    """Which true answers an output is compatible with.

    Attributes
    ----------
    answer
        The output.
    confidence
        Whatever the true answer is, the set holds it with at least this probability. With a
        prior: the posterior probability of the set is at least this.
    bounds
        The smallest and the largest number of the set, for each number of the answer; empty where
        answers are not numbers.
    members
        The answers in the set, where they are not numbers.
    exact
        The probability with which an output is the true answer, at least. With a prior: the
        posterior probability that this one is.
    credible
        Whether a prior was used.
    simultaneous
        Whether all numbers are in their intervals at once with this confidence, not each.
    """

    answer: Hashable
    confidence: Fraction
    bounds: tuple[tuple[Number, Number], ...]
    members: tuple[Hashable, ...]
    exact: Fraction
    credible: bool = False
    simultaneous: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the set as JSON can say it; ``low`` and ``high`` are lists for tuples."""
        lows, highs = ([encode_label(x[side]) for x in self.bounds] for side in (0, 1))
        one = not isinstance(self.answer, tuple)
        members = [encode_label(x) for x in self.members]
        ends: dict[str, Any] = {"members": members}
        if self.bounds:
            ends = {"low": lows[0] if one else lows, "high": highs[0] if one else highs}
        return {
            "confidence": float(self.confidence),
            "kind": "credible" if self.credible else "confidence",
            **ends,
            "simultaneous": self.simultaneous,
            "exact": float(self.exact),
            "text": str(self),
        }

    def texts(self) -> list[str]:
        """Return each number with its margin, without the confidence.

        >>> ConfidenceSet((3, 9), Fraction(1, 2), ((1, 5), (8, 14)), (), Fraction(0)).texts()
        ['3 ± 2', '9 (8 to 14)']
        """
        numbers = self.answer if isinstance(self.answer, tuple) else (self.answer,)
        return [
            margin_text(x, *ends) for x, ends in zip(numbers, self.bounds, strict=True)
        ]

    def __str__(self) -> str:
        share = f"{float(self.confidence * 100):.10g} %"
        if not self.bounds:
            members = ", ".join(map(str, self.members))
            return f"one of {members} ({share})"
        first = self.texts()[0] if len(self.bounds) == 1 else ""
        if first.endswith(")"):
            return f"{first[:-1]}, {share})"
        return (
            f"{', '.join(self.texts())} ({share}{', all at once' * self.simultaneous})"
        )


def margin_text(answer: Hashable, low: Number, high: Number) -> str:
    """Return a number with its margin: ± where it is about as far to both ends, else the ends.

    Whole numbers stand as they are. Others are rounded to two digits of the margin, which then
    still covers the ends.

    >>> margin_text(432, 402, 461), margin_text(3, 0, 31)
    ('432 ± 30', '3 (0 to 31)')
    >>> margin_text(Fraction(43218, 1000), Fraction(42871, 1000), Fraction(43565, 1000))
    '43.22 ± 0.35'
    """
    (value,) = number_parts(answer)
    low = Fraction(low)
    high = Fraction(high)
    # The margin covers the farther end.
    far = max(high - value, value - low)
    # Even: the centre is within a twentieth of the margin from the value.
    even = low <= value <= high and 10 * abs(high + low - 2 * value) <= far
    if all(x.denominator == 1 for x in (value, low, high)):
        ends = f"± {int(far):,}" if even else f"({int(low):,} to {int(high):,})"
        return f"{int(value):,} {ends}"
    # Two significant digits of the margin: 10^-places is its second digit.
    places = 1 - math.floor(math.log10(far)) if far else 6
    unit = Fraction(10) ** -places
    rounded = round(value / unit) * unit
    # Outward rounding: the printed interval contains the exact one.
    below = math.floor(low / unit) * unit
    above = math.ceil(high / unit) * unit
    outer = (rounded, below, above)
    shown = [_decimal(x, places) for x in outer]
    if not even:
        return f"{shown[0]} ({shown[1]} to {shown[2]})"
    # Measured from the rounded value, so that value ± margin still covers both ends.
    farthest = max(high - rounded, rounded - low)
    margin = math.ceil(farthest / unit) * unit
    return f"{shown[0]} ± {_decimal(margin, places)}"


def _decimal(number: Fraction, places: int) -> str:
    return (
        f"{Decimal(number.numerator) / Decimal(number.denominator):,.{max(places, 0)}f}"
    )


@dataclass(frozen=True)
class Estimate:
    """A published number and the interval that contains the true one, or how near to it that is.

    >>> str(Estimate(432, 402, 462))
    '432 ± 30'
    """

    value: Any
    low: Number | None = None
    high: Number | None = None
    note: str = ""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            is_exact = isinstance(self.value, Fraction)
            shown = f"{float(self.value):.6g}" if is_exact else str(self.value)
            return f"{shown}, {self.note}" if self.note else shown
        return margin_text(self.value, self.low, self.high)


#: In the place of a number that a group does not have: everybody else has a count only.
MISSING = Estimate("–")


def possible_ends(
    value: Number,
    ends: tuple[Number, Number],
    least: Number | None = None,
    most: Number | None = None,
) -> tuple[Any, Any]:
    """Return the ends of an interval around a published number, cut to what is possible.

    A number beyond what is possible counts as the nearest possible one [1]_: cut where it lies, its
    interval would be a single point, or nothing, and look certain. The interval moves with the
    number, and loses nothing that is possible.

    >>> possible_ends(2, (-1, 5), least=0), possible_ends(-7, (-10, -4), least=0)
    ((0, 5), (0, 3))

    References
    ----------
    .. [1] M. Mandelkern, J. Schultz, "The statistical analysis of Gaussian and Poisson signals near
       physical boundaries", J. Math. Phys. 41 (2000).
    """
    held = value if least is None else max(value, least)
    if most is not None:
        held = min(held, most)
    low, high = (end + held - value for end in ends)
    # The held number is possible and within both ends, so cutting leaves low <= high.
    low = low if least is None else max(low, least)
    return low, high if most is None else min(high, most)


def level_of(confidence: Fraction | float | str) -> Fraction:
    """Read a confidence level.

    >>> level_of(0.95), level_of("90%")
    (Fraction(19, 20), Fraction(9, 10))
    """
    text = str(confidence).strip()
    with contextlib.suppress(InputError):
        divisor = 100 if text.endswith("%") else 1
        level = to_exact(text.removesuffix("%")) / divisor
        if 0 < level < 1:
            return level
    raise InputError(
        f"a confidence is above 0 and below 1, such as 0.95 or 95%, got {text[:40]!r}"
    )


def galloping_search(suffices: Callable[[int], bool], most: int, start: int = 1) -> int:
    """Return the least number that suffices, or the largest: looked for around a first guess.

    >>> galloping_search(lambda n: n >= 37, 100), galloping_search(lambda n: n >= 37, 100, start=60)
    (37, 37)
    """
    known = cache(suffices)
    # The first guess is often right: gallop up or down from it before bisecting.
    low = high = min(start, most)
    step = 1
    while high < most and not known(high):
        # Doubling steps: O(log of the distance to the guess) evaluations.
        low, high, step = high, high + step, 2 * step
    while low == high > 0:
        low = max(low - step, 0)
        step = 2 * step
        if known(low):
            high = low
    # Invariant: low does not suffice, or is 0; high suffices, or is the largest.
    candidates = range(low, min(high, most))
    return low + bisect.bisect_left(candidates, True, key=known)


def number_parts(label: Hashable) -> tuple[Fraction, ...]:
    """Return the numbers that a label is."""
    parts = label if isinstance(label, tuple) else (label,)
    # repr gives the decimal that was meant: 0.1 is 1/10, not its binary neighbour.
    written = (repr(x) if isinstance(x, float) else x for x in parts)
    return tuple(map(Fraction, written))


def whole(number: Fraction | int) -> Number:
    """Return a number as an integer where it is one."""
    return int(number) if Fraction(number).denominator == 1 else Fraction(number)


def read_label(value: Any) -> Hashable:
    """Return the answer that JSON says, as :func:`~tightrope.certify.make.encode_label` wrote it.

    >>> read_label([3, {"fraction": "1/2"}, "north"])
    (3, Fraction(1, 2), 'north')
    """
    if isinstance(value, list):
        return tuple(read_label(part) for part in value)
    if isinstance(value, dict):
        try:
            if set(value) == {"fraction"}:
                return Fraction(value["fraction"])
            if set(value) == {"float"}:
                return float.fromhex(value["float"])
        except (ValueError, TypeError, ArithmeticError):
            pass
        raise InputError(
            f"an answer is a number, a text or a list of them, got the object {value!r:.60}"
        )
    return value  # type: ignore[no-any-return]
