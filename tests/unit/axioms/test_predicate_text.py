"""Predicates as text."""

from fractions import Fraction

import pytest

from tightrope.axioms.predicates import read_predicate
from tightrope.errors import InputError, TextError


@pytest.mark.parametrize(
    ("text", "a", "b", "wanted"),
    [
        ("b <= 2*a", "1/4", "1/2", True),
        ("b < 2*a", "1/4", "1/2", False),
        ("0.1 + 0.2 == 0.3", 0, 0, True),
        ("not (a > b) and a != b", 0, 1, True),
        ("min(a, b, 1) >= -max(a, b)", 0, 1, True),
        ("a < b < 1", "1/4", "1/2", True),
        ("b <= exp(0.5)*a or a == 0", 0, 1, True),
        ("b/a <= 2", 0, 1, False),
    ],
)
def test_values(text, a, b, wanted):
    assert read_predicate(text)(Fraction(a), Fraction(b)) is wanted


def test_the_place_of_an_error_is_shown():
    with pytest.raises(TextError, match="character 6"):
        read_predicate("b <= c*a")


def test_numbers_that_are_too_large():
    with pytest.raises(TextError, match="expected numbers"):
        read_predicate("b <= 1e999*a")
    with pytest.raises(InputError, match="must not exceed floats"):
        read_predicate("b <= exp(1000)*a")(Fraction(1), Fraction(1))
