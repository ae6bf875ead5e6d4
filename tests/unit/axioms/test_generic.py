"""Generic privacy by likelihood ratios, against all sets of outputs."""

import math
from fractions import Fraction
from itertools import chain, combinations, pairwise

import numpy as np
import pytest

from tightrope.accounting import worst_curve
from tightrope.axioms import PrivacyBound, is_generic_private
from tightrope.axioms.generic import likelihood_curve
from tightrope.channels import Channel, GeometricChannel, IntegerChannel, is_private
from tightrope.errors import InputError
from tightrope.graphs import Clique, ExplicitGraph, PathPower


def all_sets(count):
    return chain.from_iterable(combinations(range(count), k) for k in range(count + 1))


def least_margin(channel, graph, bound):
    """The definition itself: every set of outputs, every ordered pair of neighbours."""
    margins = []
    for i, h in graph.edges():
        for a, b in ((i, h), (h, i)):
            for chosen in all_sets(channel.shape[1]):
                p = sum((channel.fraction(a, o) for o in chosen), Fraction(0))
                q = sum((channel.fraction(b, o) for o in chosen), Fraction(0))
                margins.append(bound.exact(p) - q)
    return min(margins)


def random_channel(seed, rows=3, columns=6):
    rng = np.random.default_rng(seed)
    return IntegerChannel(
        [rng.multinomial(50, rng.dirichlet(np.ones(columns))) for _ in range(rows)]
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "bound",
    [
        PrivacyBound.approximate("ln(2)"),
        PrivacyBound.approximate("ln(2)", "1/10"),
        PrivacyBound.table([(0, "1/5"), ("1/2", "9/10"), (1, 1)]),
    ],
)
def test_ratios_decide_about_all_sets(seed, bound):
    channel, graph = random_channel(seed), PathPower(3)
    found = is_generic_private(channel, graph, bound)
    assert found.exact
    assert found.margin == least_margin(channel, graph, bound)
    assert found.private == (found.margin >= 0)
    i, h = found.pair
    assert found.probability == sum(channel.fraction(i, o) for o in found.outputs)
    assert found.neighbour_probability == sum(
        channel.fraction(h, o) for o in found.outputs
    )


def test_pure_privacy_agrees_with_the_direct_check():
    for top in (2, 3):
        channel = IntegerChannel([[top, 1, 1], [1, top, 1], [1, 1, top]])
        direct = is_private(channel, Clique(3), "ln(2)")
        assert bool(is_generic_private(channel, Clique(3), "ln(2)")) == bool(direct)


def test_floats_need_a_tolerance():
    geometric = GeometricChannel(6, 1)
    found = is_generic_private(geometric, PathPower(6), 1)
    assert found
    assert not found.exact
    assert abs(found.margin) < 1e-12
    assert not is_generic_private(geometric, PathPower(6), 0.999)
    assert is_generic_private(
        geometric, PathPower(6), PrivacyBound(lambda a: min(1, a + 0.5))
    )


def test_each_pair_may_have_its_own_bound():
    channel = IntegerChannel([[2, 1], [1, 2], [1, 2]])
    strict, lax = PrivacyBound.approximate("ln(1.5)"), PrivacyBound.approximate("ln(2)")

    def rule(i, h):
        return lax if {i, h} == {0, 1} else strict

    assert is_generic_private(channel, PathPower(3), rule)
    found = is_generic_private(channel, PathPower(3), lambda i, h: strict)
    assert not found
    assert set(found.pair) == {0, 1}


def test_metric_privacy_is_generic_privacy_with_a_bound_for_each_edge():
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1.0, 2.0])
    channel = IntegerChannel([[8, 1], [4, 5], [1, 8]])

    def rule(i, h):
        return PrivacyBound.approximate(f"{graph.distance(i, h)}*ln(3)")

    assert bool(is_generic_private(channel, graph, rule)) == bool(
        is_private(channel, graph, "ln(3)")
    )


def test_the_curve_is_the_smallest_delta():
    channel, graph = random_channel(1), Clique(3)
    curve = worst_curve(channel, graph)
    matrix = channel.matrix()
    for level in (0.0, 0.2, 0.7, 1.5):
        wanted = max(
            np.maximum(matrix[h] - math.exp(level) * matrix[i], 0).sum()
            for i in range(3)
            for h in range(3)
        )
        assert float(curve.delta(level)) == pytest.approx(wanted, abs=1e-12)
    for delta in (0.3, 0.5):
        level = curve.epsilon(delta)
        if math.isfinite(level) and level > 0:
            assert float(curve.delta(level)) == pytest.approx(delta, abs=1e-9)
            assert curve.delta(level * 0.99) > delta
            assert is_generic_private(
                channel, graph, PrivacyBound.approximate(level + 1e-9, delta)
            )
    assert curve.levels[0] == 0
    for low, high in pairwise(
        curve.levels
    ):  # linear in e^ε between the places where it bends
        middle = math.log((math.exp(low) + math.exp(high)) / 2)
        mean = float(curve.delta(low) + curve.delta(high)) / 2
        assert float(curve.delta(middle)) == pytest.approx(mean, abs=1e-12)


def test_the_curve_of_a_pure_mechanism_ends_at_its_level():
    curve = worst_curve(GeometricChannel(5, "ln(2)"), PathPower(5))
    assert curve.epsilon(0) == pytest.approx(math.log(2))
    assert float(curve.delta("ln(2)")) == pytest.approx(0, abs=1e-15)
    assert curve.delta(0) > 0.1
    assert (
        worst_curve(Channel([[1.0, 0.0], [0.0, 1.0]]), PathPower(2)).epsilon(0.5)
        == math.inf
    )


def test_zero_probabilities_come_first():
    order, below, above = likelihood_curve(IntegerChannel([[0, 3, 0], [2, 1, 0]]), 0, 1)
    assert (order, below, above) == ([0, 1], [0, 1], [Fraction(2, 3), 1])


def test_refusals():
    with pytest.raises(InputError, match="one row for each"):
        is_generic_private(IntegerChannel([[1], [1]]), PathPower(3), 1)
    curve = worst_curve(IntegerChannel([[1], [1]]), PathPower(2))
    with pytest.raises(InputError, match="ε"):
        curve.delta(-1.0)
    with pytest.raises(InputError, match="δ"):
        curve.epsilon(2)
    assert is_generic_private(IntegerChannel([[1]]), ExplicitGraph([], size=1), 1)


def test_a_level_is_for_edges_of_length_1():
    graph = ExplicitGraph([(0, 1)], lengths=[2.0])
    response = IntegerChannel([[4, 1], [1, 4]])
    assert is_private(response, graph, "ln(2)")
    assert is_generic_private(response, graph, "ln(2)").margin == 0
    assert not is_generic_private(response, graph, "ln(1.99)")
