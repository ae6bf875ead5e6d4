"""Theorems of Φ, regular priors and tight constraints on random graphs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from tests.properties.strategies import connected_graphs, epsilons, trees

from tightrope import Epsilon
from tightrope.consumers.regular import (
    any_prior_bound,
    corner_prior,
    entry_bounds,
    ratio_bound,
    regularity,
)
from tightrope.graphs import ExplicitGraph
from tightrope.mechanisms.tight import (
    NoTightConstraints,
    candidate_prices,
    tight_constraints,
)
from tightrope.phi import Phi, exists
from tightrope.phi.existence import dominance_level

FEW = settings(max_examples=40)


def weights(size: int, least: int = 0) -> st.SearchStrategy[np.ndarray]:  # type: ignore[type-arg]
    numbers = st.lists(st.integers(least, 20), min_size=size, max_size=size)
    return numbers.filter(any).map(lambda w: np.array(w) / sum(w))


@FEW
@given(trees(min_size=2), epsilons())
def test_z_on_trees(tree: ExplicitGraph, epsilon: Epsilon) -> None:
    alpha = epsilon.alpha
    expected = (1 - (tree.degrees - 1) * alpha) / (1 + alpha)
    assert np.allclose(Phi(tree, epsilon).solve_ones().values, expected, atol=1e-12)


@FEW
@given(connected_graphs(min_size=2), epsilons(0.2, 3), st.data())
def test_mixtures_of_corners_are_regular(
    graph: ExplicitGraph, epsilon: Epsilon, data: st.DataObject
) -> None:
    """[A, Prop 2, 3, 4, Thm 1]."""
    gamma = data.draw(weights(graph.size, 1))
    corners = np.stack([corner_prior(graph, epsilon, i) for i in range(graph.size)])
    prior = gamma @ corners
    found = regularity(prior, graph, epsilon)
    assume(np.linalg.cond(Phi(graph, epsilon).matrix()) < 1e6)
    assert found.regular
    assert np.allclose(found.coordinates, gamma, atol=1e-8)
    assert any_prior_bound(prior, graph, epsilon) <= found.utility_bound + 1e-9
    for i in range(graph.size):
        low, high = entry_bounds(graph, epsilon, i)
        assert low - 1e-12 <= prior[i] <= high + 1e-12
        assert prior[0] <= prior[i] * ratio_bound(graph, epsilon, 0, i) * (1 + 1e-9)


@FEW
@given(connected_graphs(min_size=2), epsilons(0.2, 3), st.data())
def test_either_y_or_a_proof(
    graph: ExplicitGraph, epsilon: Epsilon, data: st.DataObject
) -> None:
    prior = data.draw(weights(graph.size))
    phi = Phi(graph, epsilon)
    assume(np.linalg.cond(phi.matrix()) < 1e6)
    found = regularity(prior, graph, epsilon)
    if found.regular:
        assert found.y.min() >= -found.error
        assert np.allclose(phi.matvec(found.y), prior, atol=1e-9)
        assert found.separating is None
    else:
        assert found.separating is not None
        assert phi.matvec(found.separating).min() >= 0
        assert prior @ found.separating < 0


@FEW
@given(connected_graphs(min_size=2, max_size=6), epsilons(0.1, 3))
def test_existence_agrees_with_the_mechanism(
    graph: ExplicitGraph, epsilon: Epsilon
) -> None:
    """[A, Lemma 3, Prop 7]."""
    levels = exists(graph)
    assert levels.exact
    ends = [end for pair in levels.intervals for end in pair if end]
    assume(all(abs(end - float(epsilon)) > 1e-6 for end in ends))
    if levels.contains(float(epsilon)):
        matrix = tight_constraints(graph, epsilon).matrix()
        assert np.allclose(matrix.sum(axis=1), 1)
        for i, j in graph.edges():
            assert (epsilon.alpha * matrix[i] <= matrix[j] * (1 + 1e-9)).all()
    else:
        with pytest.raises(NoTightConstraints) as no:
            tight_constraints(graph, epsilon)
        assert levels.contains(no.value.nearest)


@FEW
@given(connected_graphs(min_size=2, lengths=True))
def test_it_exists_where_rows_sum_to_two_at_most(graph: ExplicitGraph) -> None:
    level = dominance_level(graph)
    assert Phi(graph, level + 1e-6).solve_ones().values.min() >= 0


@FEW
@given(trees(min_size=2, max_size=7), epsilons(0.3, 3), st.data())
def test_on_trees_it_is_optimal_for_every_prior(
    tree: ExplicitGraph, epsilon: Epsilon, data: st.DataObject
) -> None:
    assume(epsilon.alpha * (tree.max_degree - 1) < 1 - 1e-6)
    prior = data.draw(weights(tree.size))
    phi = Phi(tree, epsilon)
    values, certificate = candidate_prices(phi, np.array(prior))
    assert tight_constraints(tree, epsilon).z @ values == pytest.approx(
        certificate.sum()
    )
    # Every column of Φ is a privacy column, and so is every minimum of two of them.
    for i in range(tree.size):
        for j in range(tree.size):
            column = np.minimum(phi.row(i), phi.row(j))
            assert (certificate @ column >= prior * column - 1e-12).all()
