"""Whether channels are private, exactly, by rule and by search."""

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
    is_private,
    rational,
    smallest_epsilon,
)
from tightrope.channels.privacy import allowed_ratio, search, worst_places
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    Star,
    StrongProduct,
)
from tightrope.graphs.lines import CappedPathPower

# -- integers -----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1, 2**40, 2**70])
def test_integers_are_decided_at_the_bound(scale: int) -> None:
    at = IntegerChannel([[2 * scale, scale, 4 * scale], [scale, 2 * scale, 4 * scale]])
    check = is_private(at, PathPower(2), "ln(2)")
    assert check.private
    assert check.exact
    assert (check.ratio, check.allowed, check.margin) == (2, 2, 0)
    over = IntegerChannel(
        [[2 * scale + 1, scale, 4 * scale - 1], [scale, 2 * scale, 4 * scale]]
    )
    check = is_private(over, PathPower(2), "ln(2)")
    assert not check.private
    assert (check.edge, check.output) == ((0, 1), 0)
    assert check.ratio == Fraction(2 * scale + 1, scale)
    assert check.margin < 0


def test_the_ratio_of_epsilon_is_the_bound() -> None:
    ratio = Epsilon.of("0.5").ratio
    p, q = ratio.numerator, ratio.denominator
    at = IntegerChannel([[p, q], [q, p]])
    assert is_private(at, PathPower(2), 0.5).margin == 0
    over = IntegerChannel([[p * 10**20 + 1, q * 10**20], [q * 10**20, p * 10**20 + 1]])
    check = is_private(over, PathPower(2), 0.5)
    assert not check
    assert -1e-20 < check.margin < 0


def test_a_ratio_far_above_the_bound_has_a_margin() -> None:
    check = is_private(
        IntegerChannel([[10**20, 1], [1, 10**20]]), PathPower(2), "ln(2)"
    )
    assert not check.private
    assert check.margin == pytest.approx(math.log(2) - 20 * math.log(10))


def test_a_zero_beside_a_non_zero_is_an_infinite_ratio() -> None:
    for channel in (
        IntegerChannel([[1, 1, 0], [1, 1, 0], [0, 1, 1]]),
        Channel([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]),
        IntegerChannel([[2**70, 2**70, 0], [2**70, 2**70, 0], [0, 2**70, 2**70]]),
    ):
        check = is_private(channel, PathPower(3), 400)
        assert not check
        assert check.ratio == math.inf
        assert check.edge in ((1, 2), (2, 1))
        assert smallest_epsilon(channel, PathPower(3)).value == math.inf
        assert smallest_epsilon(channel, PathPower(3).explicit()).value == math.inf


def test_zeros_beside_zeros_break_nothing() -> None:
    for channel in (Channel([[1, 0], [1, 0]]), IntegerChannel([[1, 0], [1, 0]])):
        for graph in (PathPower(2), PathPower(2).explicit()):
            found = smallest_epsilon(channel, graph)
            assert (found.value, found.ratio) == (0, 1)


def test_close_ratios_are_told_apart_in_integers() -> None:
    big = 10**15
    rows = [
        [2 * big, big, 4 * big],
        [big, 2 * big, 4 * big],
        [2 * big + 1, big, 4 * big - 1],
    ]
    found = smallest_epsilon(IntegerChannel(rows), Clique(3))
    assert found.ratio == Fraction(2 * big + 1, big)
    assert found.edge == (2, 1)


def test_ratios_beyond_the_range_of_floats() -> None:
    huge = 10**400
    found = smallest_epsilon(IntegerChannel([[huge, 1], [1, huge]]), PathPower(2))
    assert found.ratio == huge
    assert found.value == pytest.approx(400 * math.log(10))


def test_edge_lengths_allow_more() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 2])
    at = rational([["4/7", "2/7", "1/7"], ["2/7", "4/7", "1/7"], ["1/7", "2/7", "4/7"]])
    check = is_private(at, graph, "ln(2)")
    assert check
    assert check.margin == 0
    assert not is_private(at, ExplicitGraph([(0, 1), (1, 2)]), "ln(2)")
    assert not is_private(
        at, ExplicitGraph([(0, 1), (1, 2)], lengths=[1, 1.9]), "ln(2)"
    )
    floats = is_private(Channel(at.matrix()), graph, "ln(2)")
    assert floats.private
    assert not floats.exact
    assert smallest_epsilon(Channel(at.matrix()), graph).value == pytest.approx(
        math.log(2)
    )


def test_allowed_ratios_are_never_above_the_bound() -> None:
    assert allowed_ratio(Epsilon.of("ln(2)"), 0.5) ** 2 < 2
    assert allowed_ratio(Epsilon.of(1), 1000.0) == Epsilon.of(500).ratio
    assert allowed_ratio(Epsilon.of("0.001"), 2000.0) == Epsilon.of(2).ratio
    assert allowed_ratio(Epsilon.of("1e-6"), 1e-7) == 1


# -- floats -------------------------------------------------------------------------------


def test_floats_have_a_named_tolerance_and_show_the_margin() -> None:
    x = math.exp(0.5)
    channel = Channel([[x / (1 + x), 1 / (1 + x)], [1 / (1 + x), x / (1 + x)]])
    check = is_private(channel, PathPower(2), 0.5)
    assert check.private
    assert not check.exact
    assert check.tolerance == 1e-9
    assert abs(check.margin) < 1e-15
    assert is_private(channel, PathPower(2), 0.5 - 1e-10)
    assert not is_private(channel, PathPower(2), 0.5 - 1e-8)
    assert not is_private(channel, PathPower(2), 0.5 - 1e-10, tolerance=0)
    assert is_private(channel, PathPower(2), 0.6).margin == pytest.approx(0.1)


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(12, 3),
        Cycle(12),
        Clique(12),
        Star(11),
        CappedPathPower(11, 1),
        StrongProduct([PathPower(4), PathPower(3)]),
    ],
    ids=lambda g: g.name,
)
def test_rule_and_listed_edges_agree(graph: AnswerGraph) -> None:
    weights = np.random.default_rng(2).integers(1, 50, (12, 6))
    weights[:, -1] = 400 - weights[:, :-1].sum(axis=1)
    integer = IntegerChannel(weights)
    for channel in (integer, Channel(integer.matrix())):
        by_rule, listed = (
            smallest_epsilon(channel, graph),
            smallest_epsilon(channel, graph.explicit()),
        )
        assert by_rule.value == pytest.approx(listed.value, rel=1e-14)
        i, h = by_rule.edge or (0, 0)
        assert graph.distance(i, h) == 1
        assert channel.entry(i, by_rule.output) / channel.entry(
            h, by_rule.output
        ) == pytest.approx(float(by_rule.ratio))


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(3).integers(1, 50, (9, 9))
    weights[:, -1] = 600 - weights[:, :-1].sum(axis=1)
    integer = IntegerChannel(weights)
    asked = [
        (c, g)
        for c in (integer, Channel(integer.matrix()))
        for g in (PathPower(9, 2), Cycle(9).explicit())
    ]
    before = [search(*pair) for pair in asked]
    monkeypatch.setattr(Channel, "_held", 0)
    for size in (1, 9, 20):
        assert [search(*pair, block=size) for pair in asked] == before


def test_one_answer_is_always_private() -> None:
    check = is_private(Channel([[0.3, 0.7]]), PathPower(1), 0.1)
    assert check
    assert check.edge is None
    assert "only one answer" in str(check)
    assert smallest_epsilon(IntegerChannel([[1, 2]]), PathPower(1)).value == 0


def test_rows_must_match_the_graph() -> None:
    with pytest.raises(InputError, match=r"each of the 3 answers of path\(3\), got 2"):
        is_private(Channel([[1, 0], [0, 1]]), PathPower(3), 1)
    with pytest.raises(InputError, match="ε must be positive"):
        is_private(Channel([[1, 0], [0, 1]]), PathPower(2), -1)


def test_a_check_says_where() -> None:
    text = str(is_private(IntegerChannel([[3, 1], [1, 3]]), PathPower(2), "ln(2)"))
    assert text == (
        "not private (exact): at worst output 1 is 3 times as likely for row 1 as for row 0, "
        "margin -0.405"
    )


# -- by rule ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(8),
        PathPower(8, 3),
        PathPower(8, 20),
        Clique(8),
        Cycle(8),
        Star(7),
        CappedPathPower(7, 1),
        PathPower(8, 2).explicit(),
    ],
    ids=lambda g: f"{type(g).__name__}-{g.name}",
)
def test_geometric_by_rule_equals_its_matrix(graph: AnswerGraph) -> None:
    channel = GeometricChannel(8, "0.3", width=2)
    by_rule = smallest_epsilon(channel, graph)
    searched = smallest_epsilon(Channel(channel.matrix()), graph)
    assert by_rule.value == pytest.approx(searched.value, rel=1e-12)
    i, h = by_rule.edge or (0, 0)
    assert channel.entry(i, by_rule.output) / channel.entry(
        h, by_rule.output
    ) == pytest.approx(by_rule.ratio)


def test_geometric_at_its_own_level_is_decided_without_rounding() -> None:
    size = 1_000_001
    channel = GeometricChannel(size, "0.3", width=5)
    check = is_private(channel, PathPower(size, 5), "0.3")
    assert check.private
    assert (check.exact, check.margin) == (True, 0)
    assert not is_private(channel, PathPower(size, 6), "0.3")
    assert not is_private(channel, PathPower(size, 5), "0.29999999999999")
    assert (
        is_private(GeometricChannel(6, "ln(2)", width=5), Clique(6), "ln(2)").margin
        == 0
    )


def test_geometric_with_lengths() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2), (0, 2)], lengths=[1, 0.5, 2])
    channel = GeometricChannel(3, "1")
    assert smallest_epsilon(channel, graph).value == 2
    assert smallest_epsilon(Channel(channel.matrix()), graph).value == pytest.approx(2)


def test_scaled_phi_on_its_own_graph_has_its_own_level() -> None:
    people = CartesianProduct([Clique(4)] * 20)
    channel = ScaledPhi(people, "ln(2)", 0.4**20)
    check = is_private(channel, CartesianProduct([Clique(4)] * 20), "ln(2)")
    assert (check.private, check.exact, check.margin) == (True, True, 0)
    assert not is_private(channel, people, "ln(1.999999)")
    assert people.distance(*(check.edge or (0, 0))) == 1


def test_scaled_phi_with_lengths_and_zeros() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2), (2, 0)], lengths=[1, 1, 1.5])
    phi = 0.25 ** graph.distance_matrix()
    z = np.linalg.solve(phi, np.ones(3))
    channel = ScaledPhi(graph, "ln(4)", z)
    assert smallest_epsilon(channel, graph).value == pytest.approx(math.log(4))
    assert smallest_epsilon(Channel(channel.matrix()), graph).value == pytest.approx(
        math.log(4)
    )
    # On a star at α = 1/2 the middle is never reported.
    star = ScaledPhi(Star(3), "ln(2)", [0, 2 / 3, 2 / 3, 2 / 3])
    assert worst_places(star, Star(3))[0].output == 1


def test_scaled_phi_on_another_graph_is_looked_through() -> None:
    channel = ScaledPhi(Clique(4), "ln(2)", 0.4)
    assert smallest_epsilon(channel, Cycle(4)).value == pytest.approx(math.log(2))
    path = ScaledPhi(PathPower(4), "ln(2)", [2 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert smallest_epsilon(path, Cycle(4)).value == pytest.approx(3 * math.log(2))


@pytest.mark.parametrize("product", [CartesianProduct, StrongProduct])
def test_products_by_rule_equal_their_matrix(product: type) -> None:
    factors = [
        Channel([[0.5, 0.5], [0.25, 0.75]]),
        GeometricChannel(3, 0.4),
        IntegerChannel([[1]]),
    ]
    channel = KroneckerChannel(factors)
    graph = product([PathPower(2), PathPower(3), PathPower(1)])
    by_rule = smallest_epsilon(channel, graph)
    searched = smallest_epsilon(Channel(channel.matrix()), graph)
    assert by_rule.value == pytest.approx(searched.value, rel=1e-12)
    i, h = by_rule.edge or (0, 0)
    assert graph.distance(i, h) == 1
    assert channel.entry(i, by_rule.output) / channel.entry(
        h, by_rule.output
    ) == pytest.approx(by_rule.ratio)


def test_products_stay_exact() -> None:
    response = IntegerChannel([[2, 1], [1, 2]])
    crowd = KroneckerChannel([response] * 50)
    check = is_private(crowd, CartesianProduct([PathPower(2)] * 50), "ln(2)")
    assert (check.exact, check.margin, check.ratio) == (True, 0, 2)
    together = is_private(crowd, StrongProduct([PathPower(2)] * 50), "50*ln(2)")
    assert (together.exact, together.margin, together.ratio) == (True, 0, 2**50)
    geometric = KroneckerChannel(
        [GeometricChannel(31, "0.1"), GeometricChannel(31, "0.2")]
    )
    check = is_private(geometric, StrongProduct([PathPower(31)] * 2), "0.3")
    assert (check.exact, check.margin, check.private) == (True, 0, True)
    assert not is_private(
        geometric, StrongProduct([PathPower(31)] * 2), "0.2999999999999"
    )


def test_a_product_of_single_answers() -> None:
    one = Channel([[0.5, 0.5]])
    assert (
        worst_places(
            KroneckerChannel([one, one]), CartesianProduct([PathPower(1)] * 2)
        )[0].edge
        is None
    )


def test_what_is_too_large_to_look_through_is_refused() -> None:
    size = 100_000
    z = np.full(size, 1 / 3)
    z[[0, -1]] = 2 / 3
    with pytest.raises(TooLarge, match="looking through 100000 × 100000"):
        smallest_epsilon(ScaledPhi(PathPower(size), "ln(2)", z), PathPower(size, 2))
