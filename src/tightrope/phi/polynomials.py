"""Integer polynomials and their roots between 0 and 1, exactly.

A polynomial is a tuple of integers, the constant first. Roots are isolated by Descartes' rule of
signs on halved intervals; everything is decided in integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

#: Coefficients, the constant first; no trailing zeros, so zero is the empty tuple.
Polynomial = tuple[int, ...]

_PRIME = (1 << 61) - 1


def trimmed(p: Sequence[int]) -> Polynomial:
    """Return a polynomial without leading zeros and without a common factor.

    >>> trimmed([2, 4, 0])
    (1, 2)
    """
    end = len(p)
    while end and p[end - 1] == 0:
        end -= 1
    common = math.gcd(*p[:end]) if end else 1
    return tuple(c // common for c in p[:end])


def value(p: Polynomial, x: Fraction) -> int:
    """Return the sign of a polynomial at a fraction: -1, 0 or 1.

    >>> value((-1, 0, 2), Fraction(1, 2)), value((1, -2), Fraction(1, 2))
    (-1, 0)
    """
    total, scale = 0, 1
    for c in reversed(p):
        total = total * x.numerator + c * scale
        scale *= x.denominator
    return (total > 0) - (total < 0)


def divided(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """Return p/q up to a constant factor when q divides p, otherwise ``None``.

    >>> divided((-1, 0, 1), (1, -1))
    (-1, -1)
    """
    rest = [Fraction(c) for c in p]
    out = [Fraction(0)] * max(0, len(p) - len(q) + 1)
    for k in range(len(p) - len(q), -1, -1):
        out[k] = rest[k + len(q) - 1] / q[-1]
        if out[k]:
            for j, c in enumerate(q):
                rest[k + j] -= out[k] * c
    if any(rest):
        return None
    below = math.lcm(*(c.denominator for c in out)) if out else 1
    return trimmed([int(c * below) for c in out])


def gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return the greatest common divisor of two polynomials.

    >>> gcd((-1, 0, 1), (1, -2, 1))
    (-1, 1)
    """
    if p and q and _coprime(p, q):
        return (1,)
    while q:
        rest = list(p)
        while len(rest) >= len(q):
            lead, shift = rest[-1], len(rest) - len(q)
            rest = [c * q[-1] for c in rest]
            for j, c in enumerate(q):
                rest[shift + j] -= lead * c
            rest.pop()
            while rest and rest[-1] == 0:
                rest.pop()
        p, q = q, trimmed(rest)
    return tuple(-c for c in p) if p and p[-1] < 0 else p


def _coprime(p: Polynomial, q: Polynomial) -> bool:
    """Whether a prime shows that two polynomials have no common divisor."""
    if p[-1] % _PRIME == 0 or q[-1] % _PRIME == 0:
        return False
    a, b = [c % _PRIME for c in p], [c % _PRIME for c in q]
    while b:
        inverse = pow(b[-1], -1, _PRIME)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % _PRIME, len(a) - len(b)
            if factor:
                for j, c in enumerate(b):
                    a[shift + j] = (a[shift + j] - factor * c) % _PRIME
            a.pop()
        while a and a[-1] == 0:
            a.pop()
        a, b = b, a
    return len(a) == 1


def squarefree(p: Polynomial) -> Polynomial:
    """Return the polynomial with the same roots, each once.

    >>> squarefree((1, -2, 1))
    (-1, 1)
    """
    slope = trimmed([k * c for k, c in enumerate(p)][1:])
    common = gcd(p, slope) if slope else (1,)
    return p if len(common) == 1 else divided(p, common) or p


@dataclass(frozen=True)
class Root:
    """The only root of a polynomial in an interval with rational ends.

    >>> root = isolate((-1, 0, 2))[0].narrowed(Fraction(1, 10**6))
    >>> round(float(root), 5)
    0.70711
    """

    polynomial: Polynomial
    low: Fraction
    high: Fraction

    def narrowed(self, width: Fraction) -> Root:
        """Return the same root in an interval of at most this width."""
        low, high = self.low, self.high
        below = value(self.polynomial, low) if low != high else 0
        while high - low > width:
            middle = (low + high) / 2
            sign = value(self.polynomial, middle)
            if sign == 0:
                low = high = middle
            elif sign == below:
                low = middle
            else:
                high = middle
        return Root(self.polynomial, low, high)

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)


def isolate(p: Polynomial) -> list[Root]:
    """Return every root of a squarefree polynomial strictly between 0 and 1, in order.

    >>> [(str(r.low), str(r.high)) for r in isolate((1, -5, 6))]
    [('0', '3/8'), ('1/2', '1/2')]
    """
    found: list[Root] = []
    degree = len(p) - 1
    todo = [(list(p), Fraction(0), Fraction(1))]
    while todo:
        q, low, high = todo.pop()
        if not any(q):
            continue
        changes = _sign_changes(_shifted(q[::-1]))
        if changes == 0:
            continue
        if changes == 1:
            found.append(_inside(p, low, high))
            continue
        middle = (low + high) / 2
        left = [c << (degree - k) for k, c in enumerate(q)]
        right = _shifted(left)
        if right[0] == 0:
            found.append(Root(p, middle, middle))
        todo += [(left, low, middle), (right, middle, high)]
    return sorted(found, key=lambda root: root.low)


def _inside(p: Polynomial, low: Fraction, high: Fraction) -> Root:
    """Return the single root between two points, moving ends that are roots themselves away."""
    step = (high - low) / 4
    while value(p, low) == 0 or value(p, high) == 0:
        inner_low = low + step if value(p, low) == 0 else low
        inner_high = high - step if value(p, high) == 0 else high
        signs = value(p, inner_low), value(p, inner_high)
        if 0 in signs:
            at = inner_low if signs[0] == 0 else inner_high
            return Root(p, at, at)
        if signs[0] != signs[1]:
            return Root(p, inner_low, inner_high)
        step /= 2
    return Root(p, low, high)


def _shifted(p: Sequence[int]) -> list[int]:
    """Return the coefficients of p(x+1)."""
    high_first = list(p)[::-1]
    out = []
    for _ in range(len(p)):
        high_first = list(itertools.accumulate(high_first))
        out.append(high_first.pop())
    return out


def _sign_changes(p: Sequence[int]) -> int:
    signs = [c > 0 for c in p if c]
    return sum(a != b for a, b in itertools.pairwise(signs))
