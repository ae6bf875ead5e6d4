"""Regular priors: decisions with proofs, bounds and levels."""

import math

import numpy as np
import pytest

import tightrope as tr
from tightrope.arrays import Limits
from tightrope.consumers import Prior, ProductPrior
from tightrope.consumers.regular import (
    any_prior_bound,
    bound_from,
    corner_prior,
    entry_bounds,
    leakage_curves,
    ratio_bound,
    region_corners,
    regular_levels,
    regularity,
    uniform_leakage_bits,
)
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    PathPower,
    Star,
    folded_cube,
)
from tightrope.phi import Phi

EXAMPLE = Prior([0.3, 0.27, 0.23, 0.2])


def databases(people: int) -> AnswerGraph:
    return tr.query(f"databases({people},4)").graph


def test_a_mixture_of_corners_has_its_weights_as_coordinates() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    graph = PathPower(5, 2)
    mixed = weights @ region_corners(graph, 1.1)
    found = regularity(mixed, graph, 1.1)
    assert found.regular
    assert found.certain
    assert found.separating is None
    assert np.allclose(found.coordinates, weights)
    assert found.coordinates.sum() == pytest.approx(1)
    assert found.utility_bound == pytest.approx(found.y.sum())
    assert found.leakage_bound_bits == pytest.approx(
        math.log2(found.y.sum() / mixed.max())
    )


def test_not_regular_comes_with_a_proof() -> None:
    prior = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    found = regularity(prior, PathPower(5, 2), 1)
    assert not found.regular
    assert found.certain
    assert found.margin < 0
    assert found.separating is not None
    assert Phi(PathPower(5, 2), 1).matvec(found.separating).min() >= 0
    assert prior @ found.separating < 0


def test_corners_lie_on_the_border() -> None:
    found = regularity(corner_prior(Clique(4), "ln(5)", 2), Clique(4), "ln(5)")
    assert found.regular
    assert found.coordinates.round(9).tolist() == [0, 0, 1, 0]
    # Just outside, decided in fractions; just inside too.
    assert not regularity(
        ["0.400001", "0.2", "0.2", "0.199999"], Clique(4), "ln(2)"
    ).regular
    assert regularity(["2/5", "1/5", "1/5", "1/5"], Clique(4), "ln(2)").certain


def test_a_singular_phi_with_many_y_or_none() -> None:
    graph = folded_cube(4)
    uniform = regularity(Prior.uniform(8), graph, "ln(3)")
    assert uniform.regular
    assert not uniform.unique
    skew = np.array([0.2, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1])
    found = regularity(skew, graph, "ln(3)")
    assert not found.regular
    assert found.separating is not None
    assert np.allclose(Phi(graph, "ln(3)").matvec(found.separating), 0, atol=1e-12)
    assert skew @ found.separating < 0


def test_products_are_the_listed_prior() -> None:
    graph = CartesianProduct([Clique(4)] * 3)
    for epsilon in (0.5, 0.9):
        factored = regularity(ProductPrior([EXAMPLE] * 3), graph, epsilon)
        listed = regularity(ProductPrior([EXAMPLE] * 3).probabilities, graph, epsilon)
        assert factored.regular == listed.regular == (epsilon > math.log(2))
        assert np.allclose(factored.y, listed.y)
        assert np.allclose(factored.coordinates, listed.coordinates)
        assert factored.margin == pytest.approx(listed.margin)
        assert factored.y_sum == pytest.approx(listed.y_sum)
        if not factored.regular:
            assert factored.separating is not None
            assert Phi(graph, epsilon).matvec(factored.separating).min() >= -1e-15
            assert ProductPrior([EXAMPLE] * 3).probabilities @ factored.separating < 0


def test_a_trillion_databases() -> None:
    found = regularity(ProductPrior([EXAMPLE] * 20), databases(20), 0.8)
    assert found.regular
    assert found.leakage_bound_bits == pytest.approx(
        20 * math.log2(1 / (0.3 * (1 + 3 * math.exp(-0.8))))
    )
    with pytest.raises(TooLarge):
        _ = found.coordinates
    uniform = regularity(Prior.uniform(4**20), databases(20), 0.8)
    assert uniform.leakage_bound_bits == pytest.approx(
        uniform_leakage_bits(databases(20), 0.8)
    )


def test_the_border_is_decided_in_fractions() -> None:
    people = databases(5)
    found = regularity("product(.3,.27,.23,.2)", people, "ln(2)")
    assert found.regular
    assert found.certain
    assert found.margin == 0
    assert not regularity("product(.3,.27,.23,.2)", people, "ln(1.9999)").regular


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.6, -0.1], r"-0\.1 at position 2"),
        ([0.5, math.nan, 0.5], "nan at position 1"),
        ([0.5, 0.5], "3"),
        ([0.5, 0.25, 0.249], r"sum 0\.999"),
    ],
)
def test_bad_priors_are_refused_with_position_and_value(
    prior: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        regularity(prior, PathPower(3), 1)


# -- bounds ---------------------------------------------------------------------------------


def test_the_bound_for_any_prior() -> None:
    graph = Cycle(6)
    point = Prior.point(6, 2)
    assert any_prior_bound(point, graph, 1) == pytest.approx(1)
    mixed = 0.5 * corner_prior(graph, 1, 0).probabilities + 0.5 / 6
    found = regularity(mixed, graph, 1)
    assert found.regular
    assert any_prior_bound(mixed, graph, 1) == pytest.approx(found.utility_bound)
    skew = regularity([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], graph, 0.5)
    assert not skew.regular
    assert 0.5 <= skew.utility_bound < 1


def test_the_bound_by_rule_is_above_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = PathPower(40, 3)
    prior = np.random.default_rng(0).dirichlet(np.ones(40))
    phi = Phi(graph, 1)
    least = bound_from(phi, prior, None)
    monkeypatch.setattr("tightrope.consumers.regular.LIMITS", Limits(programs=10))
    by_rule = bound_from(phi, prior, phi.solve(prior).values)
    assert prior.max() <= least <= by_rule <= 1


def test_no_corollary_without_a_regular_uniform_prior() -> None:
    with pytest.raises(InputError, match=r"not regular at ε = 0\.5"):
        uniform_leakage_bits(Star(4), 0.5)
    assert uniform_leakage_bits(Star(4), 1.2) == pytest.approx(
        math.log2(Phi(Star(4), 1.2).solve_ones().values.sum())
    )


def test_entries_and_ratios_of_corners_reach_their_bounds() -> None:
    graph = PathPower(7, 2)
    for i in range(7):
        corner = corner_prior(graph, 0.8, i)
        low, high = entry_bounds(graph, 0.8, i)
        assert corner[i] == pytest.approx(high)
        assert low < corner[i]
        assert corner[i] / corner[0] <= ratio_bound(graph, 0.8, i, 0) * (1 + 1e-12)


def test_the_ratio_of_answers_far_apart_is_not_bounded_in_floats():
    assert ratio_bound(PathPower(2000), 1, 0, 1999) == np.inf


# -- levels ---------------------------------------------------------------------------------


def test_levels_exactly_and_by_samples() -> None:
    prior = np.array([0.15, 0.2, 0.3, 0.2, 0.15])
    exact = regular_levels(prior, PathPower(5, 2))
    assert exact.exact
    end = exact.minimum
    assert regularity(prior, PathPower(5, 2), end + 1e-6).regular
    assert not regularity(prior, PathPower(5, 2), end - 1e-6).regular
    longer = regular_levels(np.full(61, 1 / 61), PathPower(61, 3))
    assert not longer.exact
    from tightrope.phi import exists

    assert longer.minimum == pytest.approx(exists(PathPower(61, 3)).minimum, abs=1e-8)


def test_a_prior_with_a_zero_is_never_regular() -> None:
    assert regular_levels([0.5, 0.5, 0.0], Clique(3)).intervals == ()
    with pytest.raises(InputError, match="0 at position 2"):
        regular_levels([0.5, 0.5, 0.0], Clique(3), tolerance=1e-4)


def test_curves_stop_where_the_prior_is_not_regular() -> None:
    curves = leakage_curves(ProductPrior([EXAMPLE] * 2), databases(2), [0.6, 0.7])
    assert curves.this_prior[0] is None
    assert curves.this_prior[1] is not None
    assert curves.this_prior[1] < curves.every_prior[1]


@pytest.mark.parametrize("epsilon", [0.5, 0.7])
def test_leakage_about_more_people_than_floats_have_room_for(epsilon: float) -> None:
    few, many = (
        regularity("product(.3,.27,.23,.2)", CartesianProduct([Clique(4)] * u), epsilon)
        for u in (5, 1000)
    )
    assert many.leakage_bound_bits == pytest.approx(200 * few.leakage_bound_bits)
    assert many.y_bits == pytest.approx(200 * few.y_bits)


@pytest.mark.parametrize("n", [3, 20])
def test_a_prior_with_a_zero_is_regular_for_no_level(n: int) -> None:
    assert regular_levels([0, *[1 / (n - 1)] * (n - 1)], PathPower(n)).intervals == ()
