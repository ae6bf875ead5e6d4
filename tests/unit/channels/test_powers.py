"""Powers of α."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels.structured import alpha_powers, compare_levels, log_alpha_sum
from tightrope.epsilon import Epsilon


def test_powers_of_a_logarithm_are_exact() -> None:
    assert alpha_powers(Epsilon.of("ln(2)"), np.arange(1000)).tolist() == [
        0.5**k for k in range(1000)
    ]
    assert alpha_powers(Epsilon.of("3*ln(2)"), [2], parts=6).tolist() == [0.5]


def test_powers_are_within_a_few_units_of_the_true_ones() -> None:
    found = alpha_powers(Epsilon.of("1/3"), [300], parts=7)[0]
    assert found == pytest.approx(math.exp(-100 / 7), rel=1e-14)


def test_sums_over_balls_of_any_size() -> None:
    sizes = tuple(math.comb(2000, d) * 3**d for d in range(2001))
    assert log_alpha_sum(Epsilon.of("ln(2)"), sizes) == pytest.approx(2000 * math.log(2.5))


def test_levels_of_one_kind_are_compared_exactly() -> None:
    tenth, third = Epsilon.of("0.1"), Epsilon.of("0.3")
    assert compare_levels(tenth, third, times=Fraction(3)) == 0
    assert compare_levels(third, tenth) < 0 < compare_levels(tenth, third)
    assert compare_levels(Epsilon.of("ln(3)"), Epsilon.of("2*ln(3)"), times=Fraction(2)) == 0
    assert compare_levels(Epsilon.of("ln(2)"), Epsilon.of("0.7")) == pytest.approx(
        0.7 - math.log(2)
    )
