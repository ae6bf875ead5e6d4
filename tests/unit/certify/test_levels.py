"""Rules in integers."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tightrope.certify.kernel.format import Refused
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.theorems import levels
from tightrope.certify.theorems.levels import falling_levels
from tightrope.certify.weights import rule_weights
from tightrope.channels import Channel, GeometricChannel, ScaledPhi
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, TooLarge
from tightrope.graphs import Clique, PathPower


def line(size, width):
    return Graph("box", size, ((size, width),))


@pytest.mark.parametrize(
    ("text", "reach"), [("ln(2)", 1), ("0.01", 1), ("1", 5), ("5", 3)]
)
def test_levels_fall_no_faster_than_allowed(text, reach):
    level = Epsilon.of(text)
    ratio = level.ratio
    first = [round(level.alpha ** (d / reach) * 2**60) for d in range(reach)]
    table = falling_levels(first, ratio)
    last = len(table) - 1
    assert all(a >= b > 0 for a, b in pairwise(table))
    for d, here in enumerate(table):
        assert here * ratio.denominator <= table[min(d + reach, last)] * ratio.numerator
    # Far out they stay at a small constant, about 1/(1-α).
    assert table[-1] <= 1 / (1 - level.alpha) + 1
    assert table[-1] < table[-2]


def test_no_more_levels_than_distances():
    assert len(falling_levels([1 << 60], Fraction(2), 3)) == 4


def test_levels_that_would_fill_the_memory_are_refused_before_they_are_listed():
    """Forty million small numbers: seconds of work, and gigabytes."""
    with pytest.raises(Refused, match="too large: the levels of a rule"):
        falling_levels([1 << 60], 1 + Fraction(1, 640_000))


def test_channels_without_a_rule():
    one = Epsilon.of("1")
    assert rule_weights(GeometricChannel(9, "1", 2), line(9, 3), one) is None
    assert rule_weights(GeometricChannel(9, "2", 3), line(9, 3), one) is None
    assert rule_weights(Channel([[1.0]]), line(1, 1), one) is None
    assert (
        rule_weights(ScaledPhi(Clique(3), "1", 0.5761168847658291), line(3, 1), one)
        is None
    )


def test_rows_that_do_not_sum_to_one_closely_enough_are_refused():
    size, level = 2000, Epsilon.of("1")
    channel = GeometricChannel(size, level)
    tops = channel.column_maxima()
    near = ScaledPhi(PathPower(size), level, tops * (1 + 5e-10))
    assert rule_weights(near, line(size, 1), level) is not None
    tops[size // 2] *= 1 + 3e-9
    with pytest.raises(CheckFailed, match="differ from 1"):
        rule_weights(ScaledPhi(PathPower(size), level, tops), line(size, 1), level)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_losses_that_grow_with_the_distance_have_finer_rules(power):
    """What rounding moves may travel across the whole line, and counts that much more."""
    level = Epsilon.of("ln(3)")
    found = rule_weights(GeometricChannel(3000, level), line(3000, 1), level, power)
    assert found.fields["levels"][0] == 1 << (60 + 12 * power)
    assert found.moved < 1e-13 / 3000**power


def test_more_levels_than_a_checker_adds_up_are_refused_before_it_tries():
    level = Epsilon.of("0.001")
    with pytest.raises(TooLarge, match=r"levels for 100000 answers .* take a larger"):
        rule_weights(GeometricChannel(100_000, level), line(100_000, 1), level, 1)


def test_factors_of_sixty_four_bits_are_written_as_they_are():
    # At ε = 1/4 and 6,367 answers the outer factor lies between 2^63 and 2^64.
    from tightrope import design, prove, verify

    found = verify(prove(design("count(6366)", "0.25")))
    assert found.private
    assert found.optimal_within < Fraction(1, 10**9)


def test_the_work_of_a_convolution_grows_with_the_longer_side(monkeypatch):
    charged = []
    monkeypatch.setattr(
        levels, "need_work", lambda what, steps, *_: charged.append(steps)
    )
    kernel = np.arange(1, 101).astype(object)
    for length in (100, 1000):
        levels.convolved(kernel, np.full(length, 9, object))
    assert charged[1] == pytest.approx(10 * charged[0], rel=0.01)
