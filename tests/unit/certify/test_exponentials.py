"""Bounds of exp and ln against many digits."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from tightrope.certify.kernel.exponentials import exp_bounds, level_bounds, ln_bounds
from tightrope.epsilon import Epsilon


def digits(function, x, places=120):
    with localcontext() as context:
        context.prec = places
        value = Decimal(x.numerator) / Decimal(x.denominator)
        return Fraction(getattr(value, function)())


@pytest.mark.parametrize("x", ["1/1000000000000", "1/7", "1", "5/2", "17", "599"])
def test_exp_lies_between_its_bounds(x):
    x = Fraction(x)
    low, high = exp_bounds(x)
    near = digits("exp", x)
    assert low < high
    assert low <= near * (1 + Fraction(1, 10**100))
    assert near * (1 - Fraction(1, 10**100)) <= high
    assert (high - low) / low < Fraction(1, 10**80)


@pytest.mark.parametrize(
    "x", ["1000001/1000000", "3/2", "2", "10", "1000000007/3", "1" + "0" * 300]
)
def test_ln_lies_between_its_bounds(x):
    x = Fraction(x)
    low, high = ln_bounds(x)
    near = digits("ln", x)
    slack = Fraction(1, 10**90)
    assert low <= near + slack
    assert near - slack <= high
    assert high - low < Fraction(1, 10**80)


@pytest.mark.parametrize(
    "text",
    [
        "0.1",
        "1",
        "7.25",
        "ln(2)",
        "ln(3)/2",
        "ln(9)/2",
        "0.1234567*ln(2)",
        "300",
        "1e-9",
    ],
)
def test_the_ratio_of_epsilon_is_accepted_and_a_larger_one_is_not(text):
    level = Epsilon.of(text)
    ratio = level.ratio
    sound, alpha = level_bounds(level.multiple, level.base, ratio)
    assert sound
    assert abs(alpha / 2**62 - level.alpha) <= 1e-15
    above = ratio * (1 + Fraction(3, 10**15))
    assert not level_bounds(level.multiple, level.base, above)[0]


def test_alpha_is_never_above_the_true_one():
    for text in ("0.1", "1", "ln(2)/3", "ln(5)"):
        level = Epsilon.of(text)
        alpha = level_bounds(level.multiple, level.base, Fraction(1))[1]
        low, _ = exp_bounds(
            level.multiple * (1 if level.base is None else ln_bounds(level.base)[0])
        )
        assert Fraction(alpha, 2**62) <= 1 / low


def test_beyond_the_range_both_bounds_are_safe():
    sound, alpha = level_bounds(Fraction(10**6), None, Fraction(2**800))
    assert sound
    assert alpha == 0
    assert not level_bounds(Fraction(10**6), None, Fraction(2**900))[0]


@pytest.mark.parametrize(("multiple", "base"), [(1, 2), (3, 2), (Fraction(1, 2), 4)])
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(2)])
def test_alpha_is_the_largest_whatever_the_ratio(multiple, base, ratio):
    """What neighbours may differ by does not depend on what the weights differ by."""
    alpha = level_bounds(Fraction(multiple), Fraction(base), ratio)[1]
    root = Fraction(multiple).denominator
    powered = Fraction(base) ** Fraction(multiple).numerator
    assert alpha**root * powered <= 2 ** (62 * root) < (alpha + 1) ** root * powered
