"""Composition: numbers that others have found, and agreement with them."""

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction

import pytest

from tightrope import Epsilon
from tightrope.accounting import (
    PrivacyLoss,
    TradeOff,
    longest_series,
    optimal_composition,
    worst_curve,
)
from tightrope.accounting.losses import ONE
from tightrope.certify import certify
from tightrope.channels import GeometricChannel, rational
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import PathPower
from tightrope.queries import query


def is_below(curve, other):
    """Whether a curve is nowhere above another one."""
    return all(curve(alarm) <= miss for alarm, miss in other.corners)


def test_the_optimal_composition_of_a_hundred_releases():
    found = optimal_composition([("0.1", 100)]).epsilon("1e-6")
    assert f"{float(found):.9f}" == "4.774567588"


@pytest.mark.parametrize(
    ("level", "budget", "held"), [("0.01", 1, 562), ("0.1", 5, 108), ("0.1", 1, 10)]
)
def test_how_many_releases_a_budget_holds(level, budget, held):
    assert longest_series(level, budget, "1e-6") == held
    allowed = Fraction(1, 10**6)
    assert optimal_composition([(level, held)]).delta(budget) <= allowed
    assert optimal_composition([(level, held + 1)]).delta(budget) > allowed


def test_the_closed_form_of_kairouz_oh_and_viswanath():
    """δ at ε = (k - 2i)·ε₀ is a sum over binomials; here in rational arithmetic for e^ε₀ = 2."""
    k = 9
    found = optimal_composition([("ln(2)", k)])
    for i in range(k // 2 + 1):
        terms = [
            math.comb(k, j) * (2 ** (k - j) - 2 ** (k - 2 * i + j)) for j in range(i)
        ]
        exact = Fraction(sum(terms), 3**k)
        level = Epsilon(Fraction(k - 2 * i), Fraction(2))
        assert 0 <= found.delta(level) - exact < Fraction(1, 2**90)
        assert TradeOff.randomized_response("ln(2)").times(k).delta(level) == exact


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_dp_accounting_agrees_on_discrete_laplace_noise(sensitivity):
    from dp_accounting.pld import privacy_loss_distribution

    level, times = 0.1, 40
    theirs = privacy_loss_distribution.from_discrete_laplace_mechanism(
        level, sensitivity, value_discretization_interval=1e-3, use_connect_dots=True
    ).self_compose(times)
    # Two rows of the noise: outputs up to one answer, between both, and from the other on.
    ratio = Epsilon.of(level).ratio
    half = Fraction(1, 1) / (1 + 1 / ratio)
    inner = [
        (1 - 1 / ratio) / (1 + 1 / ratio) / ratio**d for d in range(1, sensitivity)
    ]
    below = half / ratio**sensitivity
    row = [half, *inner, below]
    unit = math.lcm(*(x.denominator for x in row))
    weights = tuple(int(x * unit) for x in row)
    ours = optimal_composition([(TradeOff(weights, weights[::-1]), times)])
    for epsilon in (1.0, 2.0, 5.0):
        assert float(ours.delta(epsilon)) == pytest.approx(
            theirs.get_delta_for_epsilon(epsilon), abs=1e-12
        )


def random_curve(chance: random.Random) -> TradeOff:
    outputs = chance.randint(2, 5)
    rows = [[chance.randint(0, 6) for _ in range(outputs)] for _ in range(2)]
    for row in rows:
        row[0] += 1
    return TradeOff(
        tuple(x * sum(rows[1]) for x in rows[0]),
        tuple(x * sum(rows[0]) for x in rows[1]),
    )


def test_composed_curves_equal_the_enumeration_of_the_product():
    """200 random pairs: every test of the product, by sorting all pairs of outputs."""
    chance = random.Random(22)
    for _ in range(200):
        one, two = random_curve(chance), random_curve(chance)
        composed = one.compose(two)
        masses = defaultdict(lambda: [Fraction(0), Fraction(0)])
        for a, b in itertools.product(range(len(one.null)), range(len(two.null))):
            p = Fraction(one.null[a] * two.null[b], one.total * two.total)
            q = Fraction(one.other[a] * two.other[b], one.total * two.total)
            masses[a, b] = [p, q]
        order = sorted(
            masses.values(), key=lambda m: m[0] / (m[0] + m[1]) if sum(m) else 0
        )
        alarm, miss = Fraction(0), Fraction(1)
        for p, q in order:
            alarm, miss = alarm + p, miss - q
            assert composed(alarm) == miss if alarm else composed(alarm) <= miss
        for ratio in (Fraction(1), Fraction(3, 2), Fraction(5)):
            ahead = sum(max(Fraction(0), q - ratio * p) for p, q in masses.values())
            back = sum(max(Fraction(0), p - ratio * q) for p, q in masses.values())
            assert composed.excess(ratio) == max(ahead, back)
        rounded = optimal_composition([(one, 1), (two, 1)])
        exact = one.symmetric().compose(two.symmetric())
        for level in ("ln(3/2)", "ln(5)"):
            difference = rounded.delta(level) - exact.delta(level)
            assert 0 <= difference < Fraction(1, 1000)


def test_epsilon_and_delta_are_inverse_and_outward():
    coin = TradeOff((5, 3, 2), (2, 3, 5))
    exact = coin.times(6)
    rounded = optimal_composition([(coin, 6)])
    for delta in ("1e-3", "1/7", "0.4"):
        level = rounded.epsilon(delta)
        assert rounded.delta(level) <= Fraction(delta)
        assert rounded.delta(level - Fraction(1, 10**6)) > Fraction(delta)
        ratio = exact.ratio(delta)
        assert exact.excess(ratio) == Fraction(delta)
        assert 0 <= level - Epsilon(Fraction(1), ratio).above < Fraction(1, 10**4)
    assert rounded.epsilon(0) == pytest.approx(6 * float(Epsilon.of("ln(5/2)")))


def test_curves_cost_at_most_their_levels():
    """A mechanism with outputs of every ratio between costs less than randomized response."""
    channel = certify(GeometricChannel(6, "0.3"), "count(5)", "0.3").channel()
    worst = worst_curve(channel, query("count(5)").graph)
    levels = optimal_composition([("0.3", 50)]).epsilon("1e-6")
    assert optimal_composition([(worst, 50)]).epsilon("1e-6") <= levels + Fraction(
        1, 10**9
    )
    flat = rational([["3/8", "3/8", "1/4"], ["1/4", "3/8", "3/8"]])
    milder = worst_curve(flat, PathPower(2))
    levels = optimal_composition([("ln(3/2)", 50)]).epsilon("1e-6")
    assert optimal_composition([(milder, 50)]).epsilon("1e-6") < levels * Fraction(
        9, 10
    )


def test_the_corner_of_the_geometric_mechanism():
    """Exactly (1/(1 + e^ε), 1/(1 + e^ε)) for e^ε = 2; in a file to the rounding of its integers."""
    ends = [Fraction(2, 3), *[Fraction(1, 3)] * 7, Fraction(2, 3)]
    exact = rational([[ends[o] / 2 ** abs(i - o) for o in range(9)] for i in range(9)])
    assert worst_curve(exact, PathPower(9)) == TradeOff.randomized_response("ln(2)")
    assert worst_curve(exact, PathPower(9)).corners[1] == (
        Fraction(1, 3),
        Fraction(1, 3),
    )
    made = certify(GeometricChannel(9, "ln(2)"), "count(8)", "ln(2)").channel()
    worst = worst_curve(made, query("count(8)").graph)
    assert [float(x) for x in worst.corners[1]] == pytest.approx(
        [1 / 3, 1 / 3], abs=1e-13
    )
    assert is_below(TradeOff.randomized_response("ln(2)"), worst)


def test_worst_over_edges_and_directions():
    """No edge is worst everywhere: the hull is below all of them, and no higher curve is."""
    channel = rational(
        [["1/2", "1/2", "0"], ["1/4", "3/4", "0"], ["1/4", "1/4", "1/2"]]
    )
    worst = worst_curve(channel, PathPower(3))
    edges = [TradeOff.of(channel, i, h) for i, h in ((0, 1), (1, 0), (1, 2), (2, 1))]
    assert all(is_below(worst, edge) for edge in edges)
    assert worst == worst.symmetric()
    for alarm, miss in worst.corners[1:]:
        assert miss == min(edge(alarm) for edge in edges)


def test_levels_without_a_common_measure():
    mixed = optimal_composition([("ln(2)", 3), ("0.1", 20)])
    assert mixed.delta(3) > 0
    high = optimal_composition([("0.7", 3), ("0.1", 20)]).epsilon("1e-6")
    low = optimal_composition([("0.69", 3), ("0.1", 20)]).epsilon("1e-6")
    assert low < mixed.epsilon("1e-6") < high


def test_an_infinite_loss_is_kept():
    curve = TradeOff((9, 1, 0), (9, 0, 1))
    assert curve.ratio(Fraction(1, 11)) is None
    assert curve.delta(3) == Fraction(1, 10)
    found = optimal_composition([(curve, 2)])
    assert found.epsilon("0.1") is None
    assert 0 <= found.delta(1) - Fraction(19, 100) < Fraction(1, 10**20)


def test_refusals():
    with pytest.raises(InputError, match="same sum"):
        TradeOff((1, 2), (1, 1))
    with pytest.raises(InputError, match="δ must be"):
        optimal_composition([("0.1", 3)]).epsilon(2)
    # Read exactly, the second one would be a number of a billion digits.
    for delta in ("x", "1e-999999999", None, float("nan")):
        with pytest.raises(InputError, match="δ: expected a"):
            optimal_composition([("0.1", 3)]).epsilon(delta)
    with pytest.raises(InputError, match="at least one release"):
        optimal_composition([])
    with pytest.raises(InputError, match="one grid"):
        PrivacyLoss.randomized_response("0.1").compose(
            PrivacyLoss.randomized_response("0.7")
        )
    with pytest.raises(TooLarge, match="PrivacyLoss"):
        TradeOff((3, 1), (1, 3)).compose(TradeOff((3, 2, 1), (1, 2, 3)), most=5)


def test_a_mechanism_without_privacy_leaves_nothing_to_the_others():
    open_book = TradeOff((1, 0), (0, 1))
    found = optimal_composition([(open_book, 2), ("0.1", 3)])
    assert found.delta(1) == 1
    assert found.epsilon("1e-6") is None


def test_a_loss_that_is_certain_counts_from_its_first_place():
    """All of the probability is at 2, above ε = 1: δ = 1 - e^(1-2)."""
    certain = PrivacyLoss(Fraction(1, 4), Fraction(2), (ONE,))
    assert float(certain.delta(1)) == pytest.approx(1 - math.exp(-1), abs=1e-15)
    assert certain.delta(2) == 0
