"""Laws of errors: against direct sums, against releases, and never too narrow."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.tables import (
    Domain,
    ErrorLaw,
    Job,
    JobPlan,
    Settings,
    TableNoise,
    error_law,
    estimate,
    plan,
)

QUICK = Settings(random_starts=4, hops=4)


@functools.cache
def listed_law(part, reach):
    """Return the law of a part's sum by listing every noise up to a reach."""
    coefficients = [a for a, n in part.terms for _ in range(n)]
    law = {}
    for noise in itertools.product(range(-reach, reach + 1), repeat=len(coefficients)):
        if not part.joint or sum(noise) == 0:
            value = sum(a * z for a, z in zip(coefficients, noise, strict=True))
            weight = math.exp(-part.rate * sum(map(abs, noise)))
            law[value] = law.get(value, 0.0) + weight
    total = sum(law.values())
    return {value: weight / total for value, weight in law.items()}


def smallest_margin(law, tail):
    """Return the smallest m with P(|X| > m) at most a tail."""
    beyond = 0.0
    values = sorted({abs(value) for value in law}, reverse=True)
    for value in values:
        beyond += law.get(value, 0) + (law.get(-value, 0) if value else 0)
        if beyond > tail:
            return value
    return Fraction(0)


PARTS = [
    TableNoise(2.0, ((Fraction(1), 1),)),
    TableNoise(2.5, ((Fraction(1), 2), (Fraction(-1, 3), 1))),
    TableNoise(3.0, ((Fraction(2, 5), 1), (Fraction(1, 7), 2))),
    TableNoise(1.5, ((Fraction(1), 1), (Fraction(0), 3)), joint=True),
    TableNoise(
        1.8,
        ((Fraction(1, 2), 1), (Fraction(1, 5), 1), (Fraction(-1, 3), 2)),
        joint=True,
    ),
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_margins_are_those_of_the_listed_law(part, confidence):
    law = listed_law(part, 8)
    assert ErrorLaw((part,)).margin(confidence) == smallest_margin(law, 1 - confidence)


@pytest.mark.parametrize("part", PARTS)
def test_variances_are_those_of_the_listed_law(part):
    law = listed_law(part, 8)
    second = sum(float(value) ** 2 * mass for value, mass in law.items())
    assert ErrorLaw((part,)).variance == pytest.approx(second, rel=1e-3)


@pytest.mark.parametrize("exponent", [3, 9, 15])
def test_small_tails_of_one_noise_are_exact(exponent):
    rate, tail = 0.3, 10.0**-exponent
    alpha = math.exp(-rate)
    # P(|z| > m) = 2 α^(m+1) / (1 + α)
    exact = math.ceil(math.log(tail * (1 + alpha) / 2) / -rate) - 1
    found = ErrorLaw((TableNoise(rate, ((Fraction(1), 1),)),)).margin(1 - tail)
    # The float 1 − 1e-15 is itself off by some per cent of the tail.
    assert found in (exact, exact + 1) if exponent == 15 else found == exact


def test_a_fine_lattice_costs_less_than_a_hundredth_of_the_margin():
    coarse = ErrorLaw((TableNoise(0.3, ((Fraction(1, 3), 40), (Fraction(2, 3), 3))),))
    # Almost the same numbers, on a lattice a million times finer.
    near = Fraction(1, 3) + Fraction(1, 3 * 10**6 + 1)
    fine = ErrorLaw((TableNoise(0.3, ((near, 40), (Fraction(2, 3), 3))),))
    assert (
        coarse.margin(0.95)
        <= fine.margin(0.95)
        <= coarse.margin(0.95) * Fraction(101, 100)
    )


JOBS = [
    Job.of({"a": 2, "b": 3, "c": 4}, ["a", "ab", "bc", "ac"], "add-remove"),
    Job.of({"a": 2, "b": 3, "c": 3}, ["", "c", "ab", "bc", "ac"], "change-one"),
    Job.of(
        {"r": 2, "k": ("r", (0, 0, 1)), "s": 2, "t": 9},
        [("k", "s"), ("r", "t"), ("s", "t")],
        "add-remove",
    ),
]


@pytest.mark.parametrize("job", JOBS)
def test_coverage_of_ten_thousand_releases(job, simulate):
    # Every table that no other one contains is measured, so that all numbers are averages.
    cover = job.domain.cover(table.margin for table in job.tables)
    found = JobPlan.of(job, 4, dict.fromkeys(cover, 1))
    people = 0 if job.relation.total_known else None
    released = estimate(found, simulate(found, 10_000, 5), people=people)
    generator = np.random.default_rng(6)
    for table in job.tables:
        shape = job.domain.shape(table.margin)
        errors = released.table(table.margin)
        cell = tuple(generator.integers(0, shape).tolist())
        other = tuple((k + 1) % size for k, size in zip(cell, shape, strict=True))
        single = error_law(found, (table.margin, cell))
        difference = error_law(
            found, {(table.margin, cell): 1, (table.margin, other): -1}
        )
        checked = [(errors[cell], single)]
        if shape:
            checked.append((errors[cell] - errors[other], difference))
        for numbers, law in checked:
            assert law.variance == pytest.approx(numbers.var(), rel=0.08, abs=1e-12)
            inside = np.mean(np.abs(numbers) <= float(law.margin(0.95)) + 1e-9)
            # At least 95 %, less four standard deviations of ten thousand draws.
            assert inside >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 10_000)


def test_all_numbers_at_once_are_covered(simulate):
    job = JOBS[0]
    cover = job.domain.cover(table.margin for table in job.tables)
    found = JobPlan.of(job, 1, dict.fromkeys(cover, 1))
    released = estimate(found, simulate(found, 10_000, 8))
    numbers = sum(job.domain.cells(table.margin) for table in job.tables)
    each = 1 - Fraction(1, 20 * numbers)
    inside = np.ones(10_000, bool)
    for table in job.tables:
        cell = (0,) * len(table.margin)
        margin = float(error_law(found, (table.margin, cell)).margin(each))
        errors = np.abs(released.table(table.margin)).reshape(-1, 10_000)
        inside &= (errors <= margin + 1e-9).all(axis=0)
    assert 0.95 <= inside.mean() < 0.99


def test_a_public_total_has_no_error():
    found = plan(JOBS[1], 1, settings=QUICK)
    assert error_law(found, ((), ())).margin(0.95) == 0


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan")])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(InputError, match="between 0 and 1"):
        ErrorLaw(PARTS[:1]).margin(confidence)


def test_a_cell_outside_its_table_is_refused():
    found = plan(Job.of(Domain.of({"a": 2}), ["a"]), 1)
    with pytest.raises(InputError, match="one class below"):
        error_law(found, (("a",), (2,)))
