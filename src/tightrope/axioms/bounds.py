r"""Bounds M of generic differential privacy [D, Def 2.1.3].

A definition says how likely a set of outputs may be under a neighbouring answer when it has
probability a under the true one: at most M(a), with M concave on [0, 1], continuous on (0, 1] and
:math:`M(1) = 1`. Then :math:`m(a) = 1 - M(1-a)` bounds it from below.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

#: Points at which a bound given as a function is tested.
BOUND_SAMPLES = 257
#: How far a bound given as a function may miss concavity at those points.
CONCAVE_TOLERANCE = 1e-9


class PrivacyBound(ABC):
    """A concave bound M with M(1) = 1.

    Attributes
    ----------
    name
        Text that describes the bound.

    Examples
    --------
    >>> TableBound([(0, 0), (".5", ".75"), (1, 1)])(0.25)
    0.375
    """

    name: str

    @abstractmethod
    def __call__(self, a: float) -> float:
        """Return M(a)."""

    def exact(self, a: Fraction) -> Fraction | None:
        """Return M(a) in fractions, never above the real M(a), or ``None`` when not known."""
        return None

    def lower(self, a: float) -> float:
        """Return m(a) = 1 - M(1-a) [D, Thm 2.2.5 (iii)]."""
        return 1 - self(1 - a)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class ApproximateBound(PrivacyBound):
    r"""(ε, δ)-privacy: :math:`M(a) = \min\{1,\; e^ε a + δ,\; 1 - e^{-ε}(1 - a - δ)\}`.

    With δ = 0 it is ε-privacy, :math:`M(a) = \min\{e^ε a,\; 1 - e^{-ε}(1-a)\}` [D, §2.1].

    Parameters
    ----------
    epsilon
        The privacy level.
    delta
        δ in [0, 1]: a fraction, a text such as ``"1e-6"``, or a float read as it prints.

    Examples
    --------
    >>> ApproximateBound("ln(2)").exact(Fraction(1, 4)), ApproximateBound("ln(2)", 0.1)(0.0)
    (Fraction(1, 2), 0.1)
    """

    def __init__(
        self,
        epsilon: Epsilon | float | Fraction | str,
        delta: float | Fraction | str = 0,
    ) -> None:
        self.epsilon = Epsilon.of(epsilon)
        self.delta = _fraction(delta, "δ")
        if not 0 <= self.delta <= 1:
            raise InputError(f"δ must be in [0, 1], got {delta}")
        self._growth = 1 / self.epsilon.alpha
        tail = f", {float(self.delta):g}" if self.delta else ""
        self.name = f"ε = {self.epsilon}{tail}"

    def __call__(self, a: float) -> float:
        """Return M(a)."""
        delta = float(self.delta)
        return min(1.0, self._growth * a + delta, 1 - (1 - a - delta) / self._growth)

    def lower(self, a: float) -> float:
        """Return m(a), without cancellation near 0."""
        delta = float(self.delta)
        return max(0.0, (a - delta) / self._growth, 1 - delta - self._growth * (1 - a))

    def exact(self, a: Fraction) -> Fraction:
        """Return M(a) with the rational ratio of ε, which is never above e^ε."""
        ratio = self.epsilon.ratio
        return min(Fraction(1), ratio * a + self.delta, 1 - (1 - a - self.delta) / ratio)


class TableBound(PrivacyBound):
    """A bound that is linear between given points, in fractions.

    Parameters
    ----------
    points
        Pairs (a, M(a)) with a increasing from 0 to 1 and M(1) = 1, concave.

    Examples
    --------
    >>> TableBound([(0, "1/10"), (1, 1)]).exact(Fraction(1, 2))
    Fraction(11, 20)
    >>> TableBound([(0, 0), (".5", ".25"), (1, 1)])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a bound must be concave, but its slope grows at a = 1/2
    """

    def __init__(self, points: Iterable[tuple[Any, Any]]) -> None:
        self.points = tuple((_fraction(a, "a"), _fraction(b, "M(a)")) for a, b in points)
        places = [a for a, _ in self.points]
        if len(places) < 2 or places[0] != 0 or places[-1] != 1 or self.points[-1][1] != 1:
            raise InputError("a table must go from a = 0 to a = 1 with M(1) = 1")
        if any(a >= b for a, b in pairwise(places)):
            raise InputError("a table must list its places in increasing order")
        if any(not 0 <= b <= 1 for _, b in self.points):
            raise InputError("M(a) must be in [0, 1]")
        self._slopes = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(self.points)]
        for place, (before, after) in zip(places[1:], pairwise(self._slopes), strict=False):
            if after > before:
                raise InputError(f"a bound must be concave, but its slope grows at a = {place}")
        self._floats = np.array([[float(a), float(b)] for a, b in self.points])
        self.name = f"table of {len(places)} points"

    def __call__(self, a: float) -> float:
        """Return M(a)."""
        return float(np.interp(a, self._floats[:, 0], self._floats[:, 1]))

    def exact(self, a: Fraction) -> Fraction:
        """Return M(a)."""
        # A concave function is the least of the lines through its pieces.
        return min(
            b + slope * (a - place)
            for (place, b), slope in zip(self.points, self._slopes, strict=False)
        )


class FunctionBound(PrivacyBound):
    """A bound given as a Python function, tested at ``BOUND_SAMPLES`` points.

    Parameters
    ----------
    function
        From a in [0, 1] to M(a).
    name
        What it is called.

    Examples
    --------
    >>> FunctionBound(lambda a: a**0.5, "root")(0.25)
    0.5
    >>> FunctionBound(lambda a: a * a)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a bound must be concave, but M(0.00390625) = 1.52588e-05 lies ...
    """

    def __init__(self, function: Callable[[float], float], name: str = "function") -> None:
        self._function = function
        self.name = name
        grid = [k / (BOUND_SAMPLES - 1) for k in range(BOUND_SAMPLES)]
        values = [self(a) for a in grid]
        if abs(values[-1] - 1) > CONCAVE_TOLERANCE:
            raise InputError(f"a bound must have M(1) = 1, got {values[-1]:g}")
        for a, (low, here, high) in zip(
            grid[1:], zip(values, values[1:], values[2:], strict=False), strict=False
        ):
            if not math.isfinite(here) or not -CONCAVE_TOLERANCE <= here <= 1 + CONCAVE_TOLERANCE:
                raise InputError(f"M(a) must be in [0, 1], got M({a:g}) = {here:g}")
            if here < (low + high) / 2 - CONCAVE_TOLERANCE:
                raise InputError(
                    f"a bound must be concave, but M({a:g}) = {here:g} lies below the middle of "
                    "its neighbours"
                )

    def __call__(self, a: float) -> float:
        """Return M(a)."""
        return float(self._function(a))


def _fraction(value: Any, what: str) -> Fraction:
    try:
        return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"{what} must be a number, got {value!r}") from None
