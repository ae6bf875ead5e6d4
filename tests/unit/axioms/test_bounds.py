"""Bounds M of generic privacy."""

import math
from fractions import Fraction

import pytest

from tightrope.axioms import PrivacyBound
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError


@pytest.mark.parametrize("delta", [0, "0.05"])
def test_approximate_bound_follows_its_formula(delta):
    bound = PrivacyBound.approximate("ln(2)", delta)
    d = float(Fraction(delta))
    for k in range(21):
        a = k / 20
        wanted = min(1, 2 * a + d, 1 - (1 - a - d) / 2)
        assert bound(a) == pytest.approx(wanted, abs=1e-15)
        assert float(bound.exact(Fraction(k, 20))) == pytest.approx(wanted, abs=1e-15)
        assert bound.lower(a) == pytest.approx(1 - bound(1 - a), abs=1e-15)


def test_the_rational_bound_is_never_above_the_real_one():
    bound = PrivacyBound.approximate("1/2")
    assert bound.exact(Fraction(1, 4)) <= Fraction(math.exp(0.5)) / 4 * (
        1 + Fraction(1, 10**15)
    )
    assert bound.exact(Fraction(1, 4)) == Epsilon.of("1/2").ratio / 4


def test_tables_interpolate():
    table = PrivacyBound.table([(0, "1/10"), ("1/5", "7/10"), (1, 1)])
    assert table.exact(Fraction(1, 10)) == Fraction(2, 5)
    assert table(0.1) == pytest.approx(0.4)
    assert table.lower(0.8) == pytest.approx(0.3)
    assert PrivacyBound.table([(0, 1), (1, 1)]).exact(Fraction(1, 3)) == 1


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([(0, 0)], "from a = 0 to a = 1"),
        ([(0, 0), (1, ".9")], r"M\(1\) = 1"),
        ([(0, 0), (".5", 2), (1, 1)], r"\[0, 1\]"),
        ([(0, 0), (".5", ".5"), (".5", ".6"), (1, 1)], "increasing"),
        ([(0, 0), (".9", ".5"), (1, 1)], "concave"),
        ([(0, "x"), (1, 1)], "number"),
    ],
)
def test_tables_are_checked(points, says):
    with pytest.raises(InputError, match=says):
        PrivacyBound.table(points)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda a: a**2, "concave"),
        (lambda a: 0.5, r"M\(1\) = 1"),
        (lambda a: 1 if a == 1 else 1.5, r"\[0, 1\]"),
    ],
)
def test_functions_are_checked(function, says):
    with pytest.raises(InputError, match=says):
        PrivacyBound(function)


def test_delta_is_checked():
    for delta in (-0.1, 1.5):
        with pytest.raises(InputError, match="δ must be in"):
            PrivacyBound.approximate(1, delta)
    assert repr(PrivacyBound.approximate(1, "1e-6")) == "<PrivacyBound ε = 1, 1e-06>"
