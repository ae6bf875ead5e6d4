"""The ratio p/q never exceeds e^ε: decided by an independent computation with 160 digits."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tightrope import Epsilon, InputError
from tightrope.channels import GeometricChannel
from tightrope.epsilon import (
    EXACT_BITS,
    LARGEST,
    RATIO_ACCURACY,
    SMALLEST,
    simplest_between,
)

DIGITS = decimal.Context(prec=320)


def true_ratio(epsilon: Epsilon) -> Decimal:
    """e^ε by the decimal module, which shares nothing with the package's own series."""
    exponent = DIGITS.divide(epsilon.multiple.numerator, epsilon.multiple.denominator)
    if epsilon.base is not None:
        base = DIGITS.divide(epsilon.base.numerator, epsilon.base.denominator)
        exponent = DIGITS.multiply(exponent, DIGITS.ln(base))
    return DIGITS.exp(exponent)


def shortfall(epsilon: Epsilon) -> Decimal:
    """(e^ε - p/q) / e^ε, which must lie in [0, 1e-15]."""
    ratio = DIGITS.divide(epsilon.ratio.numerator, epsilon.ratio.denominator)
    truth = true_ratio(epsilon)
    return DIGITS.divide(DIGITS.subtract(truth, ratio), truth)


RANDOM = np.random.default_rng(20)
LEVELS = [
    *(
        0.1,
        0.5,
        0.693147,
        1.0,
        1.35,
        2,
        5,
        10,
        100,
        499.5,
        LARGEST,
        SMALLEST,
        1e-9,
        1e-5,
    ),
    *("ln(2)/2", "ln(3)/2", "2*ln(3)/5", "0.123456789*ln(3)", "ln(10)/7", "1/3*ln(2)"),
    *(
        "1e9*ln(1.0000001)",
        "12345*ln(1.0001)",
        "0.999999*ln(3/2)",
        "0.5*ln(1.000000001)",
    ),
    *(Fraction(22, 7), Decimal("0.7"), np.float64(0.3), np.int64(3)),
    *(float(x) for x in 10 ** RANDOM.uniform(-11, 2.6, 150)),
]


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_ratio_is_just_below_the_exponential(level: float) -> None:
    epsilon = Epsilon.of(level)
    assert not epsilon.exact
    assert (
        0
        < shortfall(epsilon)
        <= Decimal(RATIO_ACCURACY.numerator) / RATIO_ACCURACY.denominator
    )


def test_a_ratio_above_would_be_noticed() -> None:
    half = Epsilon.of(0.5)
    above = half.ratio * (1 + 2 * RATIO_ACCURACY)
    assert DIGITS.divide(above.numerator, above.denominator) > true_ratio(half)


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("ln(2)", 2),
        ("ln(3/2)", Fraction(3, 2)),
        ("ln(1.5)", Fraction(3, 2)),
        ("3*ln(2)", 8),
        ("ln(4)/2", 2),
        ("ln(27/8)/3", Fraction(3, 2)),
        ("2/3*ln(8)", 4),
        ("1.5*ln(4)", 8),
    ],
)
def test_logarithms_of_rationals_are_exact(text: str, ratio: Fraction) -> None:
    epsilon = Epsilon.of(text)
    assert epsilon.ratio == ratio
    assert epsilon.exact
    assert float(epsilon) == pytest.approx(math.log(ratio), rel=1e-14)
    assert epsilon.alpha == pytest.approx(float(1 / Fraction(ratio)), rel=1e-14)


def test_an_exact_ratio_too_long_to_hold_is_replaced_by_one_below() -> None:
    short, long = Epsilon.of("40*ln(1.001)"), Epsilon.of("100000*ln(1.001)")
    assert short.exact
    assert short.ratio == Fraction(1001, 1000) ** 40
    assert not long.exact
    assert long.ratio.numerator.bit_length() < EXACT_BITS
    assert 0 < shortfall(long) <= Decimal("1e-15")


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    st.none()
    | st.fractions(min_value=Fraction(11, 10), max_value=50, max_denominator=100),
)
def test_any_level_keeps_its_promise_and_reads_back(
    multiple: Fraction, base: Fraction | None
) -> None:
    epsilon = Epsilon(multiple, base)
    assert abs(shortfall(epsilon)) <= Decimal("1e-300") if epsilon.exact else True
    assert Decimal("-1e-300") <= shortfall(epsilon) <= Decimal("1e-15")
    assert Epsilon.of(str(epsilon)) == epsilon
    assert float(epsilon) == pytest.approx(float(true_ratio(epsilon).ln()), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (-1, "ε must be positive, got -1"),
        (0, "ε must be positive, got 0"),
        ("0", "ε must be positive"),
        (math.nan, "ε must be finite, got nan"),
        (math.inf, "ε must be finite, got inf"),
        (Decimal("NaN"), "ε must be finite"),
        (Decimal("1e-999999999"), "ε must be positive, got 0"),
        (Decimal("1e999999999"), "ε must be finite"),
        (True, "ε must be a number"),
        (None, "ε must be a number"),
        ([0.5], "ε must be a number"),
        (1 + 1j, "ε must be a number"),
        (1e-13, "between 1e-12 and 500"),
        (501, "between 1e-12 and 500"),
        (Fraction(10**400, 3), "between 1e-12 and 500"),
        (10**5000, "between 1e-12 and 500"),
        ("1e999", "between 1e-12 and 500"),
        ("ln(1)", "ln(b) needs b > 1"),
        ("ln(1/2)", "ln(b) needs b > 1"),
        ("ln(2/0)", "divides by zero"),
        ("1/0", "divides by zero"),
        ("1/0*ln(2)", "divides by zero"),
        ("", "must look like"),
        ("٣", "must look like"),
        ("ln(２)", "must look like"),
        ("-0.5", "must look like"),
        ("ln(2", "must look like"),
        ("nan", "must look like"),
        ("__import__('os')", "must look like"),
        ("1" * 500, "must look like"),
    ],
    ids=range(30),
)
def test_refusals_say_what_must_hold(value: object, says: str) -> None:
    with pytest.raises(InputError) as caught:
        Epsilon.of(value)  # type: ignore[arg-type]
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    "text",
    [
        "ln(1.001)",
        "1000000*ln(1.000000001)",
        "ln(2.00000001)",
        "ln(1e400)/2",
        "ln(1e330)/100",
    ],
)
def test_floats_of_a_level_are_the_nearest_ones(text: str) -> None:
    """Bases near 1 have close logarithms, and huge ones are beyond the range of floats."""
    level = Epsilon.of(text)
    truth = true_ratio(level)
    assert float(level) == pytest.approx(float(DIGITS.ln(truth)), rel=4e-16)
    assert level.alpha == pytest.approx(float(1 / truth), rel=1e-15)
    rows = GeometricChannel(5, level).matrix()
    assert rows[1, 0] / rows[0, 0] == pytest.approx(float(1 / truth), rel=1e-13)


def test_only_fractions_build_a_level_directly() -> None:
    with pytest.raises(InputError, match=r"use Epsilon\.of"):
        Epsilon(0.5)  # type: ignore[arg-type]


def test_levels_are_values() -> None:
    assert Epsilon.of(0.1) == Epsilon.of("1/10") == Epsilon.of(Decimal("0.1"))
    assert Epsilon.of(Epsilon.of(2)) == Epsilon.of(2)
    assert len({Epsilon.of("ln(2)"), Epsilon.of(" ln( 2 ) ")}) == 1
    with pytest.raises(AttributeError):
        Epsilon.of(1).multiple = Fraction(2)  # type: ignore[misc]


def test_scaled_by_a_length() -> None:
    assert Epsilon.of("ln(2)").scaled(3).ratio == 8
    assert Epsilon.of(0.001).scaled(2500).multiple == Fraction(5, 2)
    assert Epsilon.of(0.1).scaled(0.1).multiple == Fraction(1, 100)
    for length in (0, -1, math.nan, "2", None):
        with pytest.raises(InputError, match="a length must be"):
            Epsilon.of(1).scaled(length)  # type: ignore[arg-type]


@given(
    st.fractions(min_value=0, max_value=10).filter(bool),
    st.fractions(min_value=0, max_value=1, max_denominator=1000).filter(bool),
)
def test_simplest_between_has_the_least_denominator(
    low: Fraction, width: Fraction
) -> None:
    found = simplest_between(low, low + width)
    assert low <= found <= low + width
    for denominator in range(1, min(found.denominator, 200)):
        assert math.ceil(low * denominator) > (low + width) * denominator
