"""Paper A: what the claims do not say, in more digits and for more cases."""

import math

import numpy as np
import pytest

import tightrope as tr
from tightrope.consumers.regular import (
    any_prior_bound,
    leakage_curves,
    region_corners,
    regular_levels,
    regularity,
    uniform_leakage_bits,
)
from tightrope.graphs import Cycle, PathPower, StrongProduct, folded_cube
from tightrope.mechanisms.tight import (
    NoTightConstraints,
    tight_constraints,
    utility_curve,
)
from tightrope.papers.paper_a import GAP_EDGES
from tightrope.phi import Phi, exists, singular_epsilons

SUM = tr.query("sum(150,5)").graph
COUNTS = tr.query("counts(30,2)").graph
PEOPLE = tr.query("databases(5,4)").graph
EXAMPLE_3 = "product(.3,.27,.23,.2)"


def test_definition_4_phi() -> None:
    assert Phi(SUM, 1).row(0)[[0, 1, 5, 6]] == pytest.approx(np.exp([0.0, -1, -1, -2]))


@pytest.mark.parametrize("graph", [PathPower(3), Cycle(3)], ids=str)
def test_figure_2_the_region_grows_with_epsilon(graph) -> None:  # type: ignore[no-untyped-def]
    def area(epsilon: str) -> float:
        a, b, c = region_corners(graph, epsilon)
        return float(np.linalg.norm(np.cross(b - a, c - a)) / 2)

    whole = math.sqrt(3) / 2
    assert area("ln(2)") < area("ln(5)") < whole


def test_theorem_1_is_met_by_the_tight_constraints_mechanism() -> None:
    prior = np.linspace(1, 1.2, 31)
    prior /= prior.sum()
    graph = PathPower(31, 2)
    found = regularity(prior, graph, 1)
    assert found.regular
    made = tight_constraints(graph, 1)
    assert found.utility_bound == pytest.approx(float(prior @ made.z))
    assert any_prior_bound(prior, graph, 1) == pytest.approx(found.utility_bound)


def test_theorem_2_solution_of_the_uniform_prior() -> None:
    e = math.exp(0.5)
    y = regularity(tr.Prior.uniform(4**5), PEOPLE, 0.5).y
    assert y == pytest.approx(np.full(4**5, (e / (4 * (3 + e))) ** 5))


def test_example_3_values() -> None:
    found = regularity(EXAMPLE_3, PEOPLE, 0.5)
    assert found.y_bits == pytest.approx(1.2074, abs=5e-5)
    assert uniform_leakage_bits(PEOPLE, 0.5) == pytest.approx(2.5226, abs=5e-5)
    # At that ε the prior is not regular, so the published 1.2 bits are no bound.
    assert not found.regular
    assert found.certain
    assert found.leakage_bound_bits > 1.2074


def test_example_3_level_is_exact() -> None:
    found = regular_levels(EXAMPLE_3, PEOPLE)
    assert found.exact
    assert found.intervals == ((math.log(2), None),)


def test_figure_4_has_no_bound_where_the_prior_is_not_regular() -> None:
    assert leakage_curves(EXAMPLE_3, PEOPLE, [0.48, 0.7]).this_prior[0] is None


@pytest.mark.parametrize(
    ("graph", "true", "published"),
    [(SUM, 0.968133, 0.8), (COUNTS, 1.136080, 0.9)],
    ids=str,
)
def test_section_6_published_and_true_minimum(
    graph, true: float, published: float
) -> None:  # type: ignore[no-untyped-def]
    found = exists(graph)
    assert found.minimum == pytest.approx(true, abs=1e-6)
    assert found.is_up_set
    with pytest.raises(NoTightConstraints, match=f"{true:.6f}"):
        tight_constraints(graph, published)


@pytest.mark.parametrize(
    ("graph", "epsilon", "utility"),
    [
        (SUM, 1, 0.148323),
        (SUM, 1.3, 0.212412),
        (COUNTS, 1.2, 0.189963),
        (COUNTS, 1.3, 0.217167),
    ],
    ids=str,
)
def test_section_6_utilities(graph, epsilon: float, utility: float) -> None:  # type: ignore[no-untyped-def]
    made = tight_constraints(graph, epsilon)
    assert made.unique
    assert made.uniform_utility == pytest.approx(utility, abs=5e-7)


def test_figure_6_the_mechanism_beats_the_geometric_one_where_it_exists() -> None:
    for graph, levels in ((SUM, [0.8, 0.9, 1.0, 1.3]), (COUNTS, [0.9, 1.1, 1.2, 1.3])):
        curve = utility_curve(graph, levels)
        assert curve.epsilons == tuple(levels[2:])
        assert all(
            t > 1.4 * g for t, g in zip(curve.tight, curve.geometric, strict=True)
        )


def test_section_6_existence_is_not_always_an_up_set() -> None:
    """The paper says that it exists for every ε above the minimum: false in general."""
    graph = tr.AnswerGraph.of(GAP_EDGES)
    found = exists(graph)
    assert found.exact
    assert not found.is_up_set
    assert tight_constraints(graph, 0.3).certain
    with pytest.raises(NoTightConstraints):
        tight_constraints(graph, 0.5)
    assert tight_constraints(graph, 0.7).certain


def test_counts_2_2_threshold() -> None:
    graph = StrongProduct([PathPower(3), PathPower(3)])
    assert math.exp(-exists(graph).minimum) == pytest.approx(
        math.sqrt(5) - 2, abs=1e-14
    )


def test_appendix_b_invertible_at_a_larger_level() -> None:
    assert singular_epsilons(folded_cube(4)).exact
    assert np.linalg.matrix_rank(Phi(folded_cube(4), "ln(7)").matrix()) == 8
