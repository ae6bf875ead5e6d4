"""Published tables: unbiased, in agreement, exact."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.errors import InputError
from tightrope.tables import Domain, Estimates, Job, JobPlan, Settings, estimate, plan

QUICK = Settings(random_starts=4, hops=4)
NESTED = Domain.of(
    {"sex": 2, "region": 2, "county": ("region", [0, 0, 0, 1]), "age": 3}
)
TABLES = [[], ["sex", "county"], ["region", "age"], ["sex", "age"], ["county"]]


def measured_without_noise(found, table):
    """Return the margins that a plan measures, of a table over all columns."""
    domain = found.job.domain
    full = domain.names(domain.finest)
    return [domain.project(table, full, m.margin) for m in found.measured]


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_without_noise_every_number_is_the_true_one(relation):
    found = plan(Job.of(NESTED, TABLES, relation), "1/3", settings=QUICK)
    table = np.random.default_rng(3).integers(0, 1000, (2, 4, 3))
    published = estimate(
        found, measured_without_noise(found, table), people=int(table.sum())
    )
    for names in TABLES:
        true = NESTED.project(table, ["sex", "county", "age"], names)
        for cell in np.ndindex(true.shape):
            assert published.exact(names, cell) == true[cell]


def test_agreement_is_exact_whatever_was_drawn(contradictions):
    shares = {("sex", "county"): 2, ("region", "age"): 1, ("sex", "age"): 3}
    found = JobPlan.of(Job.of(NESTED, TABLES), 1, shares)
    generator = np.random.default_rng(4)
    drawn = [
        generator.integers(-(10**17), 10**17, NESTED.shape(m.margin))
        for m in found.measured
    ]
    published = estimate(found, drawn)
    assert contradictions(published) == []
    counties = [published.exact(["county"], (place,)) for place in range(4)]
    assert sum(counties) == published.exact([], ())


def test_a_changed_number_is_a_contradiction(contradictions):
    found = plan(Job.of(NESTED, TABLES), 1, settings=QUICK)
    published = estimate(
        found, [np.ones(NESTED.shape(m.margin), int) for m in found.measured]
    )
    numerators = dict(published.numerators)
    changed = numerators["count", ("county",)].copy()
    changed[2] += 1
    numerators["count", ("county",)] = changed
    damaged = Estimates(found, numerators, published.denominators)
    pairs = contradictions(damaged)
    assert pairs
    assert all(("county",) in pair for pair in pairs)


def test_the_public_total_is_published_as_it_is():
    found = plan(Job.of(NESTED, TABLES, "change-one"), 1, settings=QUICK)
    drawn = [np.ones(NESTED.shape(m.margin), int) for m in found.measured]
    assert estimate(found, drawn, people=12_345).exact([], ()) == 12_345
    with pytest.raises(InputError, match="the number of people is needed"):
        estimate(found, drawn)


def test_numbers_are_fractions_with_a_known_denominator():
    shares = {("sex", "county"): 2, ("region", "age"): 1, ("sex", "age"): 3}
    found = JobPlan.of(Job.of(NESTED, TABLES), 1, shares)
    drawn = [np.arange(np.prod(NESTED.shape(m.margin))) for m in found.measured]
    shaped = [
        d.reshape(NESTED.shape(m.margin))
        for d, m in zip(drawn, found.measured, strict=True)
    ]
    published = estimate(found, shaped)
    assert isinstance(published.exact(["county"], (1,)), Fraction)
    assert published["county"][1] == float(published.exact(["county"], (1,)))


def test_tables_of_another_shape_or_kind_are_refused():
    found = plan(Job.of({"a": 2, "b": 3}, [["a", "b"]]), 1)
    with pytest.raises(InputError, match=r"whole numbers in the shape \(2, 3\)"):
        estimate(found, [np.zeros((3, 2), int)])
    with pytest.raises(InputError, match="whole numbers"):
        estimate(found, [np.zeros((2, 3))])
    with pytest.raises(InputError, match="measures 1 tables, got 2"):
        estimate(found, [np.zeros((2, 3), int)] * 2)


def test_a_table_that_is_not_published_is_refused():
    found = plan(Job.of({"a": 2, "b": 3}, [["a", "b"]]), 1)
    published = estimate(found, [np.zeros((2, 3), int)])
    with pytest.raises(InputError, match="by a is not published"):
        published["a"]
