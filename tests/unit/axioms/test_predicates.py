"""Predicates against the axioms [D, Thm 2.2.5]."""

from fractions import Fraction

import pytest

from tightrope.axioms import PrivacyBound, check_axioms
from tightrope.channels import cascade, equal, hidden_choice
from tightrope.errors import InputError

QUARTER = Fraction(1, 4)


def pure(a, b):
    return b <= 2 * a and 1 - a <= 2 * (1 - b)


def both(predicate, a, b):
    return predicate(a, b) and predicate(1 - a, 1 - b)


def point(channel):
    return channel.fraction(0, 0), channel.fraction(1, 0)


@pytest.mark.parametrize(
    "predicate",
    [
        pure,
        lambda a, b: (
            b <= 2 * a + Fraction(1, 10) and 1 - a <= 2 * (1 - b) + Fraction(1, 10)
        ),
        lambda a, b: abs(a - b) <= QUARTER,
        lambda a, b: True,
        lambda a, b: a == b,
        lambda a, b: (
            float(b) <= 1.6487212707001282 * float(a)
            and float(a) <= 1.6487212707001282 * float(b)
        ),
    ],
)
def test_definitions_that_satisfy_the_axioms(predicate):
    report = check_axioms(predicate, steps=24)
    assert report, [c.name for c in report.conditions if not c.holds]
    assert report.breach is None


@pytest.mark.parametrize(
    ("predicate", "broken"),
    [
        # Nothing in the middle may be reported by chance.
        (lambda a, b: a == b and a in (0, 1), "q(a, a) holds"),
        # A gap between what is equal and what is far.
        (lambda a, b: a == b or abs(a - b) == QUARTER, "interval"),
        # Allowed for unlikely outputs only.
        (
            lambda a, b: a == b or (max(a, b) <= QUARTER) or (min(a, b) >= 3 * QUARTER),
            "grows",
        ),
        # Either of two definitions.
        (
            lambda a, b: abs(a - b) <= QUARTER or (b <= 4 * a and 1 - a <= 4 * (1 - b)),
            "concave",
        ),
    ],
)
def test_violations_come_with_mechanisms(predicate, broken):
    report = check_axioms(predicate, steps=16)
    assert not report
    names = [c.name for c in report.conditions if not c.holds]
    assert any(broken in name for name in names), names
    for condition in report.conditions:
        breach = condition.breach
        if condition.holds:
            assert breach is None
            continue
        assert breach is not None
        for allowed in breach.allowed:
            assert both(predicate, *point(allowed))
        assert not both(predicate, *point(breach.forbidden))
        if breach.axiom == "post-processing":
            made = cascade(breach.allowed[0], breach.remap)
        else:
            made = hidden_choice(
                list(breach.allowed), [breach.weight, 1 - breach.weight]
            )
        assert equal(made, breach.forbidden)


def test_the_nearest_definition_is_concave_and_above():
    report = check_axioms(
        lambda a, b: abs(a - b) <= QUARTER or (b <= 4 * a and 1 - a <= 4 * (1 - b)),
        steps=32,
    )
    for a, top in report.upper:
        assert report.nearest.exact(a) >= top
    assert report.nearest.points[-1] == (1, 1)
    # It touches what it must contain: nothing smaller would do.
    assert all(dict(report.upper)[a] == b for a, b in report.nearest.points)


def test_the_functions_of_pure_privacy_are_found():
    report = check_axioms(pure, steps=60)
    bound = PrivacyBound.approximate("ln(2)")
    for a, top in report.upper:
        assert bound.exact(a) - Fraction(1, 60) < top <= bound.exact(a)
    for a, low in report.lower:
        assert low >= 1 - bound.exact(1 - a)
        assert low <= a


def test_one_sided_predicates_are_read_both_ways():
    report = check_axioms(lambda a, b: b <= 2 * a, steps=24)
    assert not report.symmetric
    assert report
    assert check_axioms(lambda a, b: abs(a - b) <= QUARTER, steps=8).symmetric


@pytest.mark.parametrize("steps", [1, 5000, True, 2.5])
def test_refusals(steps):
    with pytest.raises(InputError, match="steps"):
        check_axioms(pure, steps=steps)
