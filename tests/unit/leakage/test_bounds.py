import math

import pytest

from tightrope.consumers import Prior, ProductPrior
from tightrope.errors import InputError
from tightrope.graphs import Clique, Databases, PathPower, Star
from tightrope.leakage import (
    database_bound,
    few_outputs_bound,
    individual_bound,
    min_entropy_leakage,
    plain_individual_bound,
    posterior_vulnerability,
    regular_prior_bound,
    utility_bound,
)
from tightrope.leakage.bounds import floor_log, graph_bound
from tightrope.mechanisms import geometric, highest_leakage


def test_bounds_name_their_theorem_and_conditions() -> None:
    for bound in (
        database_bound(3, 2, 1),
        individual_bound(2, 1),
        few_outputs_bound(5, 2, 1, 2),
    ):
        assert bound.theorem
        assert f"[{bound.theorem}]" in str(bound)
        assert float(bound) == bound.bits


def test_extreme_levels_neither_overflow_nor_lose_digits() -> None:
    assert database_bound(10, 3, 400).bits == pytest.approx(10 * math.log2(3))
    small = 1e-10
    assert individual_bound(2, small).bits == pytest.approx(
        small / 2 / math.log(2), rel=1e-6
    )
    assert individual_bound(10**6, 1).bits < plain_individual_bound(1).bits
    assert few_outputs_bound(400, 5, 400, 25).bits == pytest.approx(math.log2(25))


def test_the_individual_bound_is_the_database_bound_of_one() -> None:
    assert individual_bound(7, 0.4).bits == database_bound(1, 7, 0.4).bits
    assert graph_bound(Clique(7), 0.4).bits == pytest.approx(
        individual_bound(7, 0.4).bits
    )
    assert graph_bound(Databases(300, range(5)), 1).bits == pytest.approx(
        database_bound(300, 5, 1).bits
    )


def test_few_outputs_takes_the_smallest() -> None:
    assert few_outputs_bound(50, 2, 3, 1).bits == 0
    assert few_outputs_bound(2, 2, 1, 1000).bits == database_bound(2, 2, 1).bits
    assert few_outputs_bound(20, 10, 5, 2).theorem == "the number of outputs"


@pytest.mark.parametrize(
    ("number", "base", "power"), [(1, 2, 0), (2, 2, 1), (9, 3, 2), (80, 3, 3)]
)
def test_floor_log(number: int, base: int, power: int) -> None:
    assert floor_log(number, base) == power


def test_a_regular_prior_has_a_smaller_bound_that_holds() -> None:
    graph = Databases(3, range(3))
    prior = ProductPrior([Prior([0.4, 0.35, 0.25])] * 3)
    bound = regular_prior_bound(graph, prior, 1)
    assert bound.bits < database_bound(3, 3, 1).bits
    reached = min_entropy_leakage(highest_leakage(3, 3, 1), prior)
    assert reached == pytest.approx(bound.bits)
    listed = regular_prior_bound(graph, Prior(prior.probabilities), 1)
    assert listed.bits == pytest.approx(bound.bits)


def test_the_uniform_prior_on_a_path_is_regular() -> None:
    bound = regular_prior_bound(PathPower(6), None, "ln(2)")
    assert 2**bound.bits / 6 == pytest.approx(4 / 9)
    assert posterior_vulnerability(geometric(PathPower(6), "ln(2)")) == pytest.approx(
        4 / 9
    )


def test_what_the_theorems_do_not_cover_is_refused() -> None:
    with pytest.raises(InputError, match="ε-regular"):
        regular_prior_bound(Star(3), None, 0.5)
    with pytest.raises(InputError, match="ball sizes"):
        utility_bound(Star(3), 1)
    with pytest.raises(InputError, match="ball sizes"):
        graph_bound(PathPower(4), 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: database_bound(0, 2, 1),
        lambda: database_bound(2, 1, 1),
        lambda: database_bound(True, 2, 1),
        lambda: individual_bound(2, -1),
        lambda: few_outputs_bound(2, 2, 1, 0),
        lambda: database_bound(2.5, 2, 1),
    ],
)
def test_sizes_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        call()


def test_a_bound_about_more_databases_than_floats_have_room_for() -> None:
    assert float(graph_bound(Databases(600, range(4)), 0.1)) == pytest.approx(
        float(database_bound(600, 4, 0.1))
    )
    assert few_outputs_bound(10**15, 2, 1, 8).bits <= 3
