"""Plans: the figures of known jobs, and that the figure is the variance of releases."""

import itertools

import numpy as np
import pytest

from tightrope.errors import InputError, TooLarge
from tightrope.tables import (
    Job,
    JobPlan,
    PublishedTable,
    Settings,
    error_law,
    estimate,
    least_epsilon,
    plan,
    split_error,
)

QUICK = Settings(random_starts=4, hops=4)


def ways(classes, sizes, relation):
    """Return the job of all tables of so many columns."""
    names = "abcdefgh"[: len(classes)]
    tables = [c for size in sizes for c in itertools.combinations(names, size)]
    return Job.of(dict(zip(names, classes, strict=True)), tables, relation)


@pytest.mark.parametrize(
    ("classes", "sizes", "relation", "split", "best"),
    [
        ((2, 9), (1, 2), "add-remove", 4.223, 2.714),
        ((2, 9), (1, 2), "change-one", 6.696, 4.160),
        ((2, 9, 5), (1, 2), "add-remove", 8.475, 4.773),
        ((2, 9, 5), (1, 2), "change-one", 14.19, 8.24),
        ((4, 5, 6, 6), (1, 2), "add-remove", 14.136, 8.537),
        ((4, 5, 6, 6), (1, 2), "change-one", 25.12, 16.15),
        ((2, 2, 2, 2), (1, 2), "add-remove", 14.136, 3.211),
        ((2, 2, 2, 2), (1, 2), "change-one", 18.22, 4.92),
        ((2, 5, 6, 4, 3), (0, 1, 2), "add-remove", 22.6, 10.4),
    ],
)
def test_known_jobs(classes, sizes, relation, split, best):
    job = ways(classes, sizes, relation)
    assert split_error(job, 1) == pytest.approx(split, rel=2e-3)
    assert plan(job, 1).error < best * 1.002


def test_small_tables_are_measured_as_one():
    found = plan(ways((2, 2, 2, 2), (1, 2), "add-remove"), 1)
    assert [table.margin for table in found.measured] == [("a", "b", "c", "d")]


def test_a_larger_table_is_measured_where_that_helps():
    found = plan(ways((4, 5, 6, 6), (1, 2), "add-remove"), 1)
    shares = {"".join(table.margin): float(table.share) for table in found.measured}
    assert shares == pytest.approx(
        {"ab": 0.215, "ac": 0.204, "ad": 0.204, "bcd": 0.376}, abs=0.002
    )
    assert sum(table.share for table in found.measured) == 1


def random_job(seed):
    """Return a job over 3 to 8 columns, some of them nested, under either relation."""
    generator = np.random.default_rng(seed)
    count = 3 + seed % 6
    columns = {name: int(generator.integers(2, 4)) for name in "abcdefgh"[:count]}
    if seed % 4 == 3:  # regions of different sizes
        columns["a"] = 2
        columns["b"] = ("a", (0, 0, 0, 1))
    tables = {
        tuple(generator.choice(list(columns), int(generator.integers(1, 4)), False))
        for _ in range(5)
    }
    relation = "change-one" if seed % 2 else "add-remove"
    return Job.of(columns, sorted(tables), relation)


@pytest.mark.parametrize("seed", range(20))
def test_the_figure_is_the_variance_of_releases(seed, simulate, contradictions):
    job = random_job(seed)
    found = plan(job, 1, settings=QUICK)
    drawn = simulate(found, 2000, seed)
    people = 0 if job.relation.total_known else None
    released = estimate(found, drawn, people=people)
    assert contradictions(released) == []
    squares = np.array([np.mean(released.table(t.margin) ** 2) for t in job.tables])
    assert squares == pytest.approx(np.array(found.mean_squares), rel=0.12)
    assert np.sqrt(squares.mean()) == pytest.approx(found.error, rel=0.03)


def test_a_plan_that_misses_a_published_table_is_refused():
    job = ways((2, 3), (1,), "add-remove")
    found = plan(job, 1)
    first = next(table for table in found.measured if len(table.margin) == 2)
    assert JobPlan(job, found.epsilon, (first,)).error == pytest.approx(found.error)
    alone = plan(Job.of({"a": 2, "b": 3}, ["a"]), 1).measured
    with pytest.raises(InputError, match="no measured table contains"):
        JobPlan(job, found.epsilon, alone).averages  # noqa: B018


def test_weights_move_the_plan():
    columns = {"a": 5, "b": 40, "c": 40}
    even = plan(Job.of(columns, ["ab", "ac"]), 1, settings=QUICK)
    tilted = plan(
        Job.of(columns, [PublishedTable(("a", "b"), 9.0), PublishedTable(("a", "c"))]),
        1,
        settings=QUICK,
    )
    assert tilted.mean_squares[0] < even.mean_squares[0]
    assert tilted.mean_squares[1] > even.mean_squares[1]


def test_the_largest_error_is_smaller_when_it_is_minimised():
    job = ways((2, 9, 5), (1, 2), "add-remove")
    mean = plan(job, 1, settings=QUICK)
    largest = plan(job, 1, largest=True, settings=QUICK)
    assert largest.largest < mean.largest
    assert largest.error > mean.error


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_wanted_errors_are_kept_with_no_larger_epsilon_than_needed(relation):
    job = ways((2, 3, 4), (1, 2), relation)
    wanted = [6, 6, 6, 3, 3, 3]
    found = least_epsilon(job, wanted, settings=QUICK)
    assert all(m <= w * w for m, w in zip(found.mean_squares, wanted, strict=True))
    less = float(found.epsilon) * 0.99
    worse = plan(job, less, largest=True, settings=QUICK)
    assert any(m > w * w for m, w in zip(worse.mean_squares, wanted, strict=True))


def test_wanted_errors_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="each of the 2 tables needs a positive error"):
        least_epsilon(ways((2, 3), (1,), "add-remove"), [3, -1])


def test_sums_share_epsilon_with_counts(simulate):
    job = Job.of(
        {"sex": 2, "age": 3},
        [
            PublishedTable(("sex",)),
            PublishedTable(("sex", "age")),
            PublishedTable(("sex",), 0.01, "income"),
        ],
        widths={"income": 50},
    )
    found = plan(job, 1, settings=QUICK)
    assert {table.measure for table in found.measured} == {"count", "income"}
    assert sum(table.share for table in found.measured) == 1
    released = estimate(found, simulate(found, 4000, 1))
    for table, figure in zip(job.tables, found.mean_squares, strict=True):
        seen = np.mean(released.table(table.margin, table.measure) ** 2)
        assert seen == pytest.approx(figure, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"a": 2}, []), "at least one table"),
        (({"a": 2}, [PublishedTable(("a",), 1.0, "income")]), "width is not declared"),
        (({"a": 2}, [PublishedTable(("a",), -1.0)]), "must be positive"),
        (({"a": 2}, ["a"], "neither"), "planned for the relations"),
    ],
)
def test_jobs_that_cannot_be_planned_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Job.of(*arguments)


def test_a_job_of_public_numbers_has_nothing_to_plan():
    job = Job.of({"a": 2}, [[]], "change-one")
    assert split_error(job, 1) == 0
    with pytest.raises(InputError, match="nothing to plan"):
        plan(job, 1)


def test_a_total_alone_is_planned(simulate, contradictions):
    job = Job.of({}, [[]], "either")
    found = plan(job, 1)
    assert [(table.margin, table.share) for table in found.measured] == [((), 1)]
    released = estimate(found, simulate(found, 2000, 1))
    assert contradictions(released) == []
    law = error_law(found, ((), ()))
    assert law.variance == pytest.approx(found.mean_squares[0])
    assert np.mean(released.table(()) ** 2) == pytest.approx(law.variance, rel=0.15)


def test_a_column_of_one_class_is_planned(simulate, contradictions):
    job = Job.of({"a": 1, "b": 3}, ["a", "ab"], "change-one")
    found = plan(job, 1, settings=QUICK)
    drawn = [noise[..., 0] for noise in simulate(found, 1, 1)]
    released = estimate(found, drawn, people=7)
    assert contradictions(released) == []
    assert released["a"].tolist() == [7]


def test_too_many_columns_are_refused_with_their_number():
    with pytest.raises(TooLarge, match="17 columns have 131072 margins"):
        Job.of({f"c{n}": 2 for n in range(17)}, [["c0"]])


def test_tables_that_are_hardly_measured_do_not_overflow_the_largest_error():
    # Shares near 0 have errors of 1e30, and their 24th power is no float.
    job = Job.of({"a": 2, "b": 3, "c": 4}, ["a", "b", "c"])
    with np.errstate(over="raise"):
        best = plan(job, "1/1000000", largest=True)
    assert best.largest > 1e6
