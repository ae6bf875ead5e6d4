"""The floor of a job: attained by one table, below every plan, checked in fractions."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tightrope.errors import CheckFailed
from tightrope.tables import Job, PublishedTable, Settings, job_floor, plan

QUICK = Settings(random_starts=2, hops=2)


def ways(classes, sizes, relation):
    names = "abcd"[: len(classes)]
    tables = [c for size in sizes for c in itertools.combinations(names, size)]
    return Job.of(dict(zip(names, classes, strict=True)), tables, relation)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("offset", [0.0, 0.2, 0.5])
def test_one_number_with_steps_of_one_varies_as_geometric_noise_at_least(
    epsilon, offset
):
    """The lemma, by a linear program over all noise on the numbers offset + k."""
    alpha = math.exp(-epsilon)
    places = np.arange(-60, 61) + offset
    here = np.eye(len(places))
    # α p_k ≤ p_{k ± 1}; what is beyond the window may be nothing, which only helps the noise.
    above = alpha * here[:-1] - here[1:]
    below = alpha * here[1:] - here[:-1]
    best = linprog(
        places**2,
        A_ub=np.vstack([above, below]),
        b_ub=np.zeros(2 * len(above)),
        A_eq=np.ones((1, len(places))),
        b_eq=[1],
    )
    assert best.fun >= 2 * alpha / (1 - alpha) ** 2 * (1 - 1e-4)


@pytest.mark.parametrize("classes", [(2,), (7,), (3, 4)])
def test_one_table_attains_it_under_add_remove(classes):
    job = ways(classes, (len(classes),), "add-remove")
    floor = job_floor(job, "ln(2)")
    # α = 1/2: 2α/(1 − α)² = 4, and the roots are exact but for their grain.
    assert float(floor.mean_square) == pytest.approx(4, rel=1e-12)
    assert floor.mean_square <= 4
    assert plan(job, "ln(2)", settings=QUICK).error == pytest.approx(floor.error)


def test_two_cells_attain_it_under_change_one():
    job = ways((2,), (1,), "change-one")
    assert job_floor(job, 1).error == pytest.approx(plan(job, 1).error)


@pytest.mark.parametrize(
    ("classes", "sizes", "factor"),
    [
        ((2, 9), (1, 2), 1.42),
        ((2, 9, 5), (1, 2), 1.90),
        ((2, 2, 2, 2), (1, 2), 1.41),
    ],
)
def test_known_jobs_are_within_a_factor_of_two(classes, sizes, factor):
    job = ways(classes, sizes, "add-remove")
    found = plan(job, 1)
    assert 1 <= found.error / job_floor(job, 1).error <= factor


@pytest.mark.parametrize("relation", ["add-remove", "change-one", "either"])
@pytest.mark.parametrize("seed", range(4))
def test_no_plan_is_below_it(relation, seed):
    generator = np.random.default_rng(seed)
    classes = {name: int(generator.integers(1, 6)) for name in "abc"}
    tables = [
        PublishedTable(names, float(generator.uniform(0.1, 5)))
        for names in [("a",), ("b", "c"), ("a", "c")]
    ]
    job = Job.of(classes, tables, relation)
    epsilon = float(generator.uniform(0.1, 3))
    assert job_floor(job, epsilon).error <= plan(job, epsilon, settings=QUICK).error


def test_a_root_that_is_too_large_is_refused():
    floor = job_floor(ways((2, 3), (1, 2), "add-remove"), 1)
    for levels, root in floor.roots.items():
        for wrong in (root + Fraction(1, 10**15), -root):
            damaged = replace(floor, roots={**floor.roots, levels: wrong})
            with pytest.raises(CheckFailed, match="the floor needs"):
                damaged.mean_square  # noqa: B018


def test_rows_are_those_of_the_matrix_itself():
    """The step of a row, from the matrix B of all cells."""
    job = ways((2, 3), (0, 1, 2), "either")
    floor = job_floor(job, 1)
    matrix = 0
    for levels, root in floor.roots.items():
        factors = []
        for level, classes in zip(levels, (2, 3), strict=True):
            mean = np.full((classes, classes), 1 / classes)
            factors.append(np.eye(classes) - mean if level else mean)
        matrix = matrix + float(root) * np.kron(*factors)
    spread = (matrix.max(axis=1) - matrix.min(axis=1)).max()
    step = max(spread, np.abs(matrix).max())
    assert float(floor.mean_square) == pytest.approx(
        6 * step**2 / (2 * math.sinh(0.5) ** 2)
    )


def test_nested_columns_and_sums_have_none():
    nested = Job.of({"a": 2, "b": ("a", [0, 0, 1])}, [["a"], ["b"]])
    assert job_floor(nested, 1) is None
    sums = Job.of(
        {"a": 2}, [PublishedTable(("a",), 1.0, "income")], widths={"income": 100}
    )
    assert job_floor(sums, 1) is None
