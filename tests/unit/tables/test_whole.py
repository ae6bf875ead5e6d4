"""Whole tables: non-negative, one table for all margins, and near the estimates."""

import numpy as np
import pytest

from tightrope.errors import TooLarge
from tightrope.tables import Domain, Estimates, Job, JobPlan, estimate, whole_table


def released(job, plan, table, seed, simulate):
    """Return the estimates of one simulated release."""
    domain = job.domain
    full = domain.names(domain.finest)
    noise = [drawn[..., 0] for drawn in simulate(plan, 1, seed)]
    drawn = [
        domain.project(table, full, m.margin) + z
        for m, z in zip(plan.measured, noise, strict=True)
    ]
    return estimate(plan, drawn, people=int(table.sum()))


TABLES = ["", "ab", "bc", "ac"]
COVER = {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1}


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_every_margin_is_a_margin_of_one_table_of_people(relation, simulate):
    job = Job.of({"a": 4, "b": 5, "c": 6}, TABLES, relation)
    table = np.random.default_rng(2).poisson(2.0, (4, 5, 6))
    plan = JobPlan.of(job, 1, COVER)
    published = released(job, plan, table, 3, simulate)
    whole = whole_table(published)
    assert whole.counts.min() >= 0
    assert whole[()] == round(published.exact((), ()))
    rows = whole.rows()
    assert len(rows) == whole.counts.sum()
    for names, axes in [("ab", (0, 1)), ("bc", (1, 2)), ("c", (2,))]:
        counted = np.zeros(job.domain.shape(names), int)
        np.add.at(counted, tuple(rows[:, axes].T), 1)
        assert (counted == whole[tuple(names)]).all()


def test_margins_stay_within_their_noise_of_the_estimates(simulate):
    job = Job.of({"a": 10, "b": 10, "c": 10, "d": 10}, ["ab", "bc", "cd"])
    plan = JobPlan.of(job, 1, {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1})
    table = np.random.default_rng(2).poisson(3.0, (10,) * 4)
    published = released(job, plan, table, 5, simulate)
    whole = whole_table(published)
    for names, square in zip(["ab", "bc", "cd"], plan.mean_squares, strict=True):
        moved = np.sqrt(np.mean((whole[tuple(names)] - published[tuple(names)]) ** 2))
        assert moved < 0.25 * np.sqrt(square)


def test_estimates_that_are_whole_already_are_kept():
    job = Job.of({"a": 2, "b": 3}, ["ab"])
    plan = JobPlan.of(job, 1, {("a", "b"): 1})
    table = np.array([[5, 0, 2], [7, 1, 0]])
    assert (whole_table(estimate(plan, [table])).counts == table).all()


def test_empty_cells_are_raised_and_the_others_pay(simulate):
    job = Job.of({"a": 4, "b": 25}, ["", "ab"])
    plan = JobPlan.of(job, 1, {("a", "b"): 1})
    table = np.zeros((4, 25), int)
    table[:, :5] = 200
    errors = []
    for seed in range(40):
        whole = whole_table(released(job, plan, table, seed, simulate))
        errors.append(whole["a", "b"] - table)
    bias = np.mean(errors, axis=0)
    # An estimate has no bias; 80 empty cells gain about 0.3 each, and 20 full ones lose 1.3.
    assert 0.1 < bias[:, 5:].mean() < 0.6
    assert -2.5 < bias[:, :5].mean() < -0.5
    assert abs(bias.sum()) < 4


def test_a_full_table_that_is_too_large_is_refused_with_its_size():
    domain = Domain.of({f"c{n}": 10 for n in range(8)})
    job = Job.of(domain, [["c0"], ["c1"]])
    plan = JobPlan.of(job, 1, {("c0",): 1, ("c1",): 1})
    published = estimate(plan, [np.ones(10, int), np.ones(10, int)])
    assert isinstance(published, Estimates)
    with pytest.raises(TooLarge, match="100000000 cells"):
        whole_table(published)
