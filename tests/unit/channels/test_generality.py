"""Column graphs, and mechanisms made maximally general."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import (
    Channel,
    GeometricChannel,
    IntegerChannel,
    KroneckerChannel,
    ScaledPhi,
    cascade,
    column_graph,
    derivable,
    equal,
    is_private,
    make_maximally_general,
    maximally_general,
    rational,
)
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import CartesianProduct, Clique, Cycle, ExplicitGraph, PathPower
from tightrope.phi import Phi


def test_tight_edges_point_from_the_larger_to_the_smaller() -> None:
    found = column_graph(GeometricChannel(5, 1), PathPower(5), 1, 3)
    assert found.edges.tolist() == [[1, 0], [2, 1], [3, 2], [3, 4]]
    assert found.connected
    assert found.nearest == math.inf


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
    with pytest.raises(InputError, match=r"each of the 4 answers of path\(4\), got 5"):
        column_graph(GeometricChannel(5, 1), PathPower(4), 1, 0)


def test_integer_columns_are_tight_exactly_or_not_at_all():
    exact = IntegerChannel([[2, 1], [1, 2]])
    found = column_graph(exact, PathPower(2), "ln(2)", 0)
    assert found.exact
    assert found.edges.tolist() == [[0, 1]]
    near = IntegerChannel([[2 * 10**15, 10**15], [10**15 + 1, 2 * 10**15 - 1]])
    assert not column_graph(near, PathPower(2), "ln(2)", 0).connected
    assert 0 < column_graph(near, PathPower(2), "ln(2)", 0).nearest < 1e-14
    assert column_graph(near, PathPower(2), "ln(2)", 0, tolerance=1e-9).connected
    assert maximally_general(exact, PathPower(2), "ln(2)")
    assert not maximally_general(near, PathPower(2), "ln(2)")


def test_lengths_of_edges_count_in_column_graphs():
    pair = ExplicitGraph([(0, 1)], lengths=[2.0])
    assert maximally_general(IntegerChannel([[4, 1], [1, 4]]), pair, "ln(2)")
    assert not maximally_general(IntegerChannel([[2, 1], [1, 2]]), pair, "ln(2)")


def test_a_silent_mechanism_becomes_randomised_response():
    made = make_maximally_general(IntegerChannel([[1], [1]]), PathPower(2), "ln(3)")
    assert sorted(made.channel.weights.tolist()) == [[1, 3], [3, 1]]
    (step,) = made.steps
    assert (step.up, step.down, step.shares) == (3, 3, (Fraction(1, 4), Fraction(1, 4)))
    assert "rows {0}" in str(step)


@pytest.mark.parametrize("graph", [PathPower(4), Cycle(5), Clique(4), PathPower(5, 2)])
def test_a_coarse_mechanism_becomes_maximally_general(graph):
    coarse = rational(
        [["1/2", "1/2"] if i % 2 else ["2/5", "3/5"] for i in range(graph.size)]
    )
    assert not maximally_general(coarse, graph, "ln(2)")
    made = make_maximally_general(coarse, graph, "ln(2)")
    assert made.exact
    assert maximally_general(made.channel, graph, "ln(2)")
    assert is_private(made.channel, graph, "ln(2)").exact
    assert equal(cascade(made.channel, made.remap), coarse).difference == 0
    assert derivable(coarse, made.channel)
    assert not derivable(made.channel, coarse)


def test_every_step_adds_up():
    made = make_maximally_general(
        rational([["1/3", "2/3"], ["1/2", "1/2"]] * 2), PathPower(4), "ln(2)"
    )
    for step in made.steps:
        assert tuple(map(sum, zip(*step.columns, strict=True))) == step.column
        assert step.up > 1
        assert step.down > 1
        assert 0 < len(step.part) < 4


def test_ratios_over_all_pairs_would_break_privacy():
    """[D, App B] takes the largest ratio over all pairs between the parts: too little growth
    is left to reach tightness, or too much where the largest ratio is far below 1."""
    graph = PathPower(3)
    column = [Fraction(1), Fraction(2), Fraction(3)]
    # Parts {0, 1} and {2}: the edge 1-2 has ratio 3/2, the pair 0-2 has ratio 3.
    over_all = Fraction(2) / max(column[2] / column[0], column[2] / column[1])
    adjacent = Fraction(2) / (column[2] / column[1])
    assert over_all < 1 < adjacent
    whole = rational([["1/6", "5/6"], ["2/6", "4/6"], ["3/6", "3/6"]])
    made = make_maximally_general(whole, graph, "ln(2)")
    assert maximally_general(made.channel, graph, "ln(2)")


def test_floats_and_lengths():
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[0.5, 2.0])
    made = make_maximally_general(Channel([[0.5, 0.5]] * 3), graph, 1)
    assert not made.exact
    assert maximally_general(made.channel, graph, 1, tolerance=1e-6)
    assert np.allclose(cascade(made.channel, made.remap).matrix(), 0.5)


def test_what_is_maximal_stays():
    geometric = GeometricChannel(5, "ln(2)")
    made = make_maximally_general(geometric, PathPower(5), "ln(2)")
    assert made.steps == ()
    assert np.allclose(made.channel.matrix(), geometric.matrix())
    zero = make_maximally_general(
        IntegerChannel([[2, 0, 1], [1, 0, 2]]), PathPower(2), "ln(2)"
    )
    assert zero.channel.shape == (2, 3)


def test_refusals():
    with pytest.raises(InputError, match="private"):
        make_maximally_general(IntegerChannel([[3, 1], [1, 3]]), PathPower(2), "ln(2)")


def test_too_many_splits_are_refused():
    with pytest.raises(TooLarge, match="more than 3 splits"):
        make_maximally_general(
            IntegerChannel([[1]] * 6), PathPower(6), "ln(2)", most_splits=3
        )


def test_levels_whose_ratios_multiply_beyond_floats():
    made = make_maximally_general(Channel([[0.5, 0.5]] * 2), PathPower(2), 400)
    assert len(made.steps) == 2
    assert np.allclose(cascade(made.channel, made.remap).matrix(), 0.5)
    # The ends of a longer path differ by exp(800), which no two floats do.
    with pytest.raises(TooLarge, match="give integer weights"):
        make_maximally_general(Channel([[0.5, 0.5]] * 3), PathPower(3), 400)
    assert make_maximally_general(IntegerChannel([[1, 1]] * 3), PathPower(3), 400).exact
    long = ExplicitGraph([(0, 1)], lengths=[2.0])
    assert not maximally_general(Channel([[0.5, 0.5]] * 2), long, 400)


def test_noise_that_is_maximal_by_rule_is_returned_itself():
    """Its probabilities are too small for floats, so that its columns fall apart."""
    noise = GeometricChannel(4, 400)
    made = make_maximally_general(noise, PathPower(4), 400)
    assert made.channel is noise
    assert made.remap.targets.tolist() == [0, 1, 2, 3]


def test_a_rule_knows_an_equal_graph() -> None:
    """The ends of the path differ by exp(899): no two floats do."""
    z = Phi(PathPower(900), 1).solve_ones().values
    assert maximally_general(ScaledPhi(PathPower(900), 1, z), PathPower(900), 1)
