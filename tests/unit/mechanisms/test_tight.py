"""The tight-constraints mechanism, its refusals, and when it is optimal."""

import math

import numpy as np
import pytest

from tightrope.channels import Channel
from tightrope.consumers import Consumer, utility
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
    folded_cube,
)
from tightrope.mechanisms.tight import (
    NoTightConstraints,
    candidate_prices,
    tight_constraints,
    utility_curve,
)
from tightrope.phi import Phi


def test_it_is_a_channel_with_tight_columns() -> None:
    made = tight_constraints(PathPower(12, 3), 1)
    assert isinstance(made, Channel)
    matrix = made.matrix()
    assert np.allclose(matrix.sum(axis=1), 1)
    assert np.allclose(matrix, np.exp(-PathPower(12, 3).distance_matrix()) * made.z)
    assert made.unique
    assert made.certain
    assert made.solution.residual < 1e-12


def test_counting_gives_the_geometric_mechanism() -> None:
    from tightrope.mechanisms import geometric

    graph = PathPower(9)
    assert np.allclose(
        tight_constraints(graph, 0.7).matrix(), geometric(graph, 0.7).matrix()
    )


def test_a_refusal_names_the_answer_its_weight_and_the_nearest_level() -> None:
    with pytest.raises(
        NoTightConstraints, match=r"answer 5 .*z = -0\.0.*works is 0\.968133"
    ) as no:
        tight_constraints(PathPower(751, 5), 0.8)
    assert no.value.nearest == pytest.approx(0.968133, abs=1e-6)
    assert tight_constraints(PathPower(751, 5), 0.96814).certain


def test_the_nearest_level_may_lie_below() -> None:
    graph = ExplicitGraph(
        [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]
    )
    with pytest.raises(NoTightConstraints) as no:
        tight_constraints(graph, 0.4)
    assert no.value.nearest == pytest.approx(math.log(2) / 2)
    assert tight_constraints(graph, 0.34).z.min() >= 0


def test_a_weight_of_exactly_zero_is_accepted_in_fractions_only() -> None:
    made = tight_constraints(Star(3), "ln(2)")
    assert made.certain
    assert made.z.tolist() == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3])
    assert made.z[0] == 0
    with pytest.raises(NoTightConstraints):
        tight_constraints(Star(3), "ln(1.999999)")


def test_a_singular_phi_has_many() -> None:
    made = tight_constraints(folded_cube(4), "ln(3)")
    assert not made.unique
    assert made.solution.kernel.shape == (8, 1)
    assert "one of many" in repr(made)
    assert tight_constraints(folded_cube(4), 1).unique


def test_huge_symmetric_graphs_by_one_number() -> None:
    made = tight_constraints(CartesianProduct([Clique(4)] * 30), "ln(2)")
    assert made.constant_scale == pytest.approx(0.4**30)


def test_a_million_answers() -> None:
    made = tight_constraints(PathPower(1_000_000, 5), 1.3)
    assert made.row(500_000).sum() == pytest.approx(1)


# -- optimal for one prior? -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "epsilon"),
    [
        (PathPower(6, 2), 1.0),
        (ExplicitGraph([(0, 1), (1, 2), (2, 0), (2, 3)]), 1.2),
        (StrongProduct([PathPower(3), PathPower(2)]), 1.5),
        (Cycle(5), 0.7),
        (Star(3), 0.9),
    ],
    ids=str,
)
def test_the_prices_of_a_candidate_bound_no_less_than_it_gains(
    graph, epsilon: float
) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(7)
    made = tight_constraints(graph, epsilon)
    shortfalls = []
    for spread in (0.3, 1.0, 5.0, 20.0):
        prior = random.dirichlet(np.full(graph.size, spread))
        values, prices = candidate_prices(Phi(graph, epsilon), prior)
        gained = float(made.z @ values)
        assert gained == pytest.approx(prices.sum())
        assert gained == pytest.approx(utility(made, Consumer.of(graph, prior=prior)))
        shortfalls.append(best_utility(graph, epsilon, prior) - gained)
    assert min(shortfalls) == pytest.approx(0, abs=1e-7)
    if graph.is_tree:
        assert max(shortfalls) == pytest.approx(0, abs=1e-7)


def best_utility(graph, epsilon: float, prior) -> float:  # type: ignore[no-untyped-def]
    """The largest probability of a right guess over all private mechanisms, by one program."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, kron

    n, edges = graph.size, graph.edge_array()
    both = np.concatenate([edges, edges[:, ::-1]])
    lines = np.arange(len(both))
    values = np.concatenate(
        [np.full(len(both), math.exp(-epsilon)), -np.ones(len(both))]
    )
    ends = np.concatenate([both[:, 0], both[:, 1]])
    rows = coo_array((values, (np.tile(lines, 2), ends)), shape=(len(both), n))
    found = linprog(
        -np.diag(prior).ravel(),
        A_ub=kron(rows, eye_array(n)).tocsr(),
        b_ub=np.zeros(len(both) * n),
        A_eq=kron(eye_array(n), np.ones((1, n))).tocsr(),
        b_eq=np.ones(n),
        method="highs",
    )
    return float(-found.fun)


def test_the_curve_leaves_out_levels_without_a_mechanism() -> None:
    curve = utility_curve(PathPower(101, 5), [0.5, 0.9, 1.0, 1.2])
    assert curve.epsilons == (1.0, 1.2)
    assert all(t > g for t, g in zip(curve.tight, curve.geometric, strict=True))
