"""Comparing e^ε with a rational number."""

import math
from fractions import Fraction

import pytest

from tightrope.axioms.universality import margin_above
from tightrope.epsilon import Epsilon


@pytest.mark.parametrize(
    ("text", "wall", "sign"),
    [
        ("ln(2)", 2, 0),
        ("ln(3)", 2, 1),
        ("ln(1.999999999999999999)", 2, -1),
        ("ln(2.000000000000000001)", 2, 1),
        ("0.5*ln(4)", 2, 0),
        ("0.5*ln(5)", 2, 1),
        # 0.6931471805599453 and ...4531 lie on either side of ln 2 = 0.69314718055994530941...
        ("0.6931471805599453", 2, -1),
        ("0.69314718055994530942", 2, 1),
        ("1000001/1000000*ln(2)", 2, 1),
    ],
)
def test_sides(text, wall, sign):
    margin = margin_above(Epsilon.of(text), wall)
    assert (margin > 0) - (margin < 0) == sign


def test_margin():
    assert margin_above(Epsilon.of(1), 2) == pytest.approx(1 - math.log(2), abs=1e-15)
    assert margin_above(Epsilon.of(1), Fraction(1)) == 1
