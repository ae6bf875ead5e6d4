import math

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel
from tightrope.channels.generality import column_graph, maximally_general
from tightrope.errors import InputError
from tightrope.graphs import CartesianProduct, Clique, Cycle, PathPower


def test_tight_edges_point_from_the_larger_to_the_smaller() -> None:
    found = column_graph(GeometricChannel(5, 1), PathPower(5), 1, 3)
    assert found.edges.tolist() == [[1, 0], [2, 1], [3, 2], [3, 4]]
    assert found.connected
    assert found.nearest == math.inf
    assert found.loosest < 1e-12


def test_a_loose_edge_splits_the_column() -> None:
    channel = Channel([[0.5, 0.5], [0.25, 0.75], [0.2, 0.8]])
    found = column_graph(channel, PathPower(3), "ln(2)", 0)
    assert found.parts.tolist() == [0, 0, 1]
    assert found.nearest == pytest.approx(math.log(2) - math.log(1.25))
    verdict = maximally_general(channel, PathPower(3), "ln(2)")
    assert (verdict.maximal, verdict.output) == (False, 0)


def test_outputs_that_never_come_are_passed_over() -> None:
    matrix = np.hstack([GeometricChannel(4, 1).matrix(), np.zeros((4, 1))])
    assert maximally_general(Channel(matrix), PathPower(4), 1)


def test_products_are_decided_by_their_coordinates() -> None:
    sharp, dull = GeometricChannel(3, 1), Channel(np.full((3, 2), 0.5))
    graph = CartesianProduct([PathPower(3), PathPower(3)])
    assert maximally_general(KroneckerChannel([sharp, sharp]), graph, 1)
    mixed = KroneckerChannel([sharp, dull])
    assert not maximally_general(mixed, graph, 1)
    assert not maximally_general(Channel(mixed.matrix()), graph, 1)
    product = KroneckerChannel([sharp, sharp])
    assert maximally_general(Channel(product.matrix()), graph, 1)


def test_noise_that_underflows_is_as_general_as_any() -> None:
    assert GeometricChannel(1000, 1).row(0).min() == 0
    assert maximally_general(GeometricChannel(1000, 1), PathPower(1000), 1)
    assert not maximally_general(GeometricChannel(6, 1, width=2), PathPower(6, 2), 1)


def test_another_graph_or_level_is_looked_through() -> None:
    assert not maximally_general(GeometricChannel(6, 1), Cycle(6), 5)
    assert not maximally_general(GeometricChannel(6, 1), PathPower(6), 1.001)


def test_a_single_answer_leaves_nothing_to_tell() -> None:
    assert maximally_general(Channel([[0.5, 0.5]]), Clique(1), 1)


def test_sizes_must_agree() -> None:
    with pytest.raises(InputError, match=r"a channel on path\(4\) must have 4 rows, got 5"):
        column_graph(GeometricChannel(5, 1), PathPower(4), 1, 0)
