import itertools

import numpy as np
import pytest

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.graphs import Cycle, PathPower, chang, truncated_tetrahedron
from tightrope.leakage import posterior_vulnerability
from tightrope.leakage.bounds import (
    average_over_automorphisms,
    average_over_distances,
    equal_diagonal,
    maxima_on_diagonal,
)


def test_columns_are_collected_by_the_row_of_their_maximum() -> None:
    wide = Channel([[0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.1, 0.4], [0.1, 0.1, 0.5, 0.3]])
    assert maxima_on_diagonal(wide).matrix().round(9).tolist() == [
        [0.8, 0.1, 0.1],
        [0.5, 0.4, 0.1],
        [0.4, 0.1, 0.5],
    ]


def test_fewer_outputs_than_inputs_leave_empty_columns() -> None:
    narrow = maxima_on_diagonal(Channel([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]))
    assert narrow.matrix()[:, 0].tolist() == [0, 0, 0]
    assert posterior_vulnerability(narrow) == pytest.approx((0.9 + 0.8) / 3)


def test_the_average_over_pair_orbits_is_the_average_over_the_group() -> None:
    graph = Cycle(5)
    rng = np.random.default_rng(2)
    square = maxima_on_diagonal(Channel(rng.dirichlet(np.ones(9), size=5)))
    matrix = square.matrix()
    group = [
        p
        for p in itertools.permutations(range(5))
        if all(
            graph.distance(p[i], p[j]) == graph.distance(i, j)
            for i in range(5)
            for j in range(5)
        )
    ]
    assert len(group) == 10
    mean = sum(matrix[np.ix_(p, p)] for p in group) / len(group)
    assert average_over_automorphisms(square, graph).matrix() == pytest.approx(mean)


def test_each_graph_gets_the_lemma_that_fits() -> None:
    rng = np.random.default_rng(4)
    for graph in (chang(), truncated_tetrahedron()):
        channel = Channel(rng.dirichlet(np.ones(graph.size), size=graph.size))
        after = equal_diagonal(channel, graph)
        assert np.ptp(after.matrix().diagonal()) < 1e-12
        assert posterior_vulnerability(after) == pytest.approx(
            posterior_vulnerability(channel)
        )


def test_conditions_are_checked() -> None:
    identity = Channel(np.eye(12))
    with pytest.raises(InputError, match="distance-regular"):
        average_over_distances(identity, truncated_tetrahedron())
    with pytest.raises(InputError, match="vertex-transitive"):
        average_over_automorphisms(Channel(np.eye(28)), chang())
    with pytest.raises(InputError, match="vertex-transitive"):
        equal_diagonal(Channel(np.eye(4)), PathPower(4))
    with pytest.raises(InputError, match="4 × 4"):
        average_over_distances(identity, Cycle(4))
    with pytest.raises(InputError, match="on the diagonal"):
        average_over_distances(Channel(np.eye(4)[[1, 0, 2, 3]]), Cycle(4))
