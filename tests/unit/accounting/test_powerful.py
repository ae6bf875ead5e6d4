"""The most powerful private tests, and keep or drop for groups that nobody declared."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from tightrope.accounting import most_powerful_test, partition_selection
from tightrope.accounting.powerful import steepest_chances
from tightrope.errors import InputError


def by_linear_program(n, null, other, epsilon, size, delta=0.0):
    ratio, rows, right = np.exp(epsilon), [], []
    for i in range(n):
        for a, b in ((i, i + 1), (i + 1, i)):
            row = np.zeros(n + 1)
            row[a], row[b] = 1, -ratio
            # yes(a) - r·yes(b) <= δ, and no(a) - r·no(b) <= δ
            rows += [row, -row]
            right += [delta, ratio - 1 + delta]
    under, beside = (binom.pmf(np.arange(n + 1), n, share) for share in (null, other))
    found = linprog(-beside, rows, right, [under], [size], bounds=(0, 1))
    return -found.fun


def test_a_share_of_nine_tenths_against_nineteen_twentieths():
    found = most_powerful_test(30, 0.9, 0.95, 1, 0.05)
    assert f"{found.power:.12f}" == "0.135298673104"
    assert found.size == pytest.approx(0.05, abs=1e-16)
    assert abs(found.power - by_linear_program(30, 0.9, 0.95, 1, 0.05)) <= 2e-14


@pytest.mark.parametrize(("null", "other"), [(0.3, 0.6), (0.6, 0.3), (0.5, 0.51)])
@pytest.mark.parametrize("delta", [0, 1e-3])
def test_formula_and_linear_program(null, other, delta):
    found = most_powerful_test(12, null, other, "0.7", 0.1, delta=delta)
    assert found.power == pytest.approx(
        by_linear_program(12, null, other, 0.7, 0.1, delta), 1e-9
    )


def test_a_size_that_delta_alone_exceeds():
    """The chances stay at 0 until few enough are left."""
    found = most_powerful_test(30, 0.9, 0.95, 1, 1e-3, delta=0.1)
    assert found.chances[20] == 0
    assert found.power == pytest.approx(
        by_linear_program(30, 0.9, 0.95, 1, 1e-3, 0.1), 1e-9
    )


def test_equal_shares_are_refused():
    with pytest.raises(InputError, match="two different shares"):
        most_powerful_test(30, 0.9, 0.9, 1, 0.05)


def test_chances_of_groups():
    chosen = partition_selection(20, "ln(2)", "1e-3")
    assert [f"{float(chosen.chance(k)):.3f}" for k in (0, 1, 9, 10, 40)] == [
        "0.000", "0.001", "0.511", "0.756", "1.000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"),
    [(20, "ln(2)", "1e-3"), (60, "0.1", "1e-6"), (50, "1", "1e-9"), (4, "1", "0.4")],
)
def test_no_private_selection_keeps_more(n, epsilon, delta):
    """The dual bound meets the loss; and no chance can be raised alone."""
    from tightrope import Epsilon

    chosen = partition_selection(n, epsilon, delta)
    n = chosen.channel.shape[0] - 1
    weight = Fraction(1, n + 1)
    loss = sum((weight * (1 - chosen.chance(i)) for i in range(1, n + 1)), Fraction(0))
    alpha, spared = 1 / Epsilon.of(epsilon).ratio, Fraction(delta)
    arcs = {}
    for _, i, h, m in chosen.multipliers:
        arcs[i, h] = max(arcs.get((i, h), 0), m)
    bound = sum(chosen.prices) - alpha * spared * sum(arcs.values())
    assert abs(loss - bound) < Fraction(1, 10**9)
    keep = steepest_chances(n, epsilon, delta)
    assert all(a <= b for a, b in itertools.pairwise(keep))


def test_groups_need_a_delta():
    with pytest.raises(InputError, match="δ = 0"):
        partition_selection(10, 1, 0)
