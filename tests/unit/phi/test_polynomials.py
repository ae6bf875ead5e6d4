"""Exact roots of integer polynomials."""

import math
from fractions import Fraction

import pytest

from tightrope.phi.polynomials import divided, gcd, isolate, squarefree, trimmed, value


def times(*factors: tuple[int, ...]) -> tuple[int, ...]:
    out = [1]
    for factor in factors:
        product = [0] * (len(out) + len(factor) - 1)
        for i, a in enumerate(out):
            for j, b in enumerate(factor):
                product[i + j] += a * b
        out = product
    return tuple(out)


def test_all_roots_between_0_and_1() -> None:
    p = times((-1, 2), (-1, 3), (-2, 3), (-2, 0, 5), (1, 0, 1), (-3, 2), (0, 1), (-1, 1))
    found = [float(root.narrowed(Fraction(1, 10**12))) for root in isolate(p)]
    assert found == pytest.approx([1 / 3, 1 / 2, math.sqrt(2 / 5), 2 / 3], abs=1e-11)


def test_close_roots_are_told_apart() -> None:
    p = times((-1000, 2001), (-1001, 2003), (-500, 1001))
    assert len(isolate(squarefree(p))) == 3


def test_no_roots() -> None:
    assert isolate((1, 1, 1)) == []
    assert isolate((-7, 2)) == []


def test_gcd_division_and_squares() -> None:
    p, q = times((1, 2), (1, 3), (1, 3)), times((1, 3), (5, 1))
    assert gcd(p, q) == (1, 3)
    assert divided(p, (1, 3)) == times((1, 2), (1, 3))
    assert divided(p, (1, 4)) is None
    assert squarefree(p) == times((1, 2), (1, 3))
    assert gcd((1, 2), (1, 3)) == (1,)
    assert trimmed([0, 0]) == ()


def test_signs_at_fractions() -> None:
    assert [value((-1, 2), Fraction(k, 4)) for k in (1, 2, 3)] == [-1, 0, 1]
