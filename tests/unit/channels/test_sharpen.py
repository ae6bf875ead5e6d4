"""The pair of a coarse and a fine output: its law, its price, and where there is none."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import (
    Channel,
    DeterministicChannel,
    GeometricChannel,
    IntegerChannel,
    KroneckerChannel,
    equal,
)
from tightrope.channels.sharpen import (
    ExactProduct,
    GeometricRemap,
    RationalGeometric,
    distance_noise,
    sharpen,
)
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import (
    CartesianProduct,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    StrongProduct,
)

#: Two answers of one kind, three of the other, all neighbours across: the smallest graph without
#: a triangle on which close levels do not derive.
BIPARTITE = ExplicitGraph([(i, j) for i in (0, 1) for j in (2, 3, 4)])


def fractions(channel) -> np.ndarray:
    """The whole channel as an array of fractions."""
    return np.array(list(channel.exact_rows()), dtype=object)


def largest_ratio(matrix: np.ndarray, graph) -> Fraction:
    """The largest ratio over neighbours by looking at every edge and every column."""
    pairs = [pair for i, h in graph.edges() for pair in ((i, h), (h, i))]
    columns = range(matrix.shape[1])
    return max(
        matrix[i, o] / matrix[h, o] for i, h in pairs for o in columns if matrix[h, o]
    )


SMALL = [
    (PathPower(5), "geometric", Fraction(2), Fraction(3)),
    (PathPower(2), "geometric", Fraction(5, 4), Fraction(9)),
    (PathPower(6), "distance", Fraction(3, 2), Fraction(2)),
    (Cycle(5), "distance", Fraction(2), Fraction(4)),
    (Clique(4), "distance", Fraction(2), Fraction(5, 2)),
    (BIPARTITE, "distance", Fraction(5, 2), Fraction(6)),
]


def noise(graph, kind: str, ratio: Fraction):
    if kind == "geometric":
        return RationalGeometric(graph.size, 1 / ratio)
    return distance_noise(graph, ratio)


@pytest.mark.parametrize(("graph", "kind", "low", "high"), SMALL)
def test_the_law_of_the_pair_and_its_price(graph, kind, low, high) -> None:
    coarse = noise(graph, kind, low)
    fine = noise(graph, kind, high)
    found = sharpen(coarse, fine, graph)
    first, second, remap = map(fractions, (coarse, fine, found.remap))
    pair = fractions(found.pair()).reshape(graph.size, first.shape[1], second.shape[1])
    places = itertools.product(*map(range, pair.shape))
    assert all(pair[x, a, b] == second[x, b] * remap[b, a] for x, a, b in places)
    assert (pair.sum(axis=2) == first).all()
    assert (pair.sum(axis=1) == second).all()
    assert found.ratio == high == largest_ratio(pair.reshape(graph.size, -1), graph)
    for x, a in np.ndindex(*first.shape):
        assert found.law(x, a) == [weight / first[x, a] for weight in pair[x, a]]


def test_a_chain_of_four_levels_costs_the_last() -> None:
    graph = PathPower(3)
    levels = [noise(graph, "geometric", Fraction(r)) for r in ("3/2", "2", "3", "4")]
    published = levels[0]
    for finer in levels[1:]:
        published = sharpen(published, finer, graph).pair()
    matrix = fractions(published)
    assert matrix.shape == (3, 81)
    assert largest_ratio(matrix, graph) == 4
    # Every level has its own law in the chain: outputs are (((o1, o2), o3), o4).
    tensor = matrix.reshape(3, 3, 3, 3, 3)
    for k, level in enumerate(levels, 1):
        others = tuple(axis for axis in range(1, 5) if axis != k)
        assert (tensor.sum(axis=others) == fractions(level)).all()


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize(("low", "high"), [("2", "3"), ("11/10", "8"), ("3", "3")])
def test_the_rule_of_geometric_noise(size: int, low: str, high: str) -> None:
    coarse = RationalGeometric(size, 1 / Fraction(low))
    fine = RationalGeometric(size, 1 / Fraction(high))
    remap = fractions(GeometricRemap(coarse, fine))
    assert (remap >= 0).all()
    assert (fractions(fine) @ remap == fractions(coarse)).all()
    swapped = coarse.alpha == fine.alpha
    if not swapped:
        with pytest.raises(InputError, match="not larger"):
            GeometricRemap(fine, coarse)


def test_the_rule_is_the_float_channel() -> None:
    rule = RationalGeometric(5, Fraction(1, 2))
    assert equal(rule, GeometricChannel(5, "ln(2)"), tolerance=1e-15)
    assert rule.column(1).tolist() == pytest.approx(rule.matrix()[:, 1].tolist())


def test_noise_by_rule_at_any_size() -> None:
    graph = PathPower(100_001)
    found = sharpen(GeometricChannel(100_001, 0.5), GeometricChannel(100_001, 1), graph)
    assert found.ratio == Epsilon.of(1).ratio
    assert found.remap.fraction(7, 9) > 0
    with pytest.raises(TooLarge, match="pairs"):
        found.pair()
    with pytest.raises(TooLarge, match="fractions"):
        found.remap.integers()


def test_wide_steps_cost_the_level_of_the_edge() -> None:
    graph = PathPower(9, 2)
    found = sharpen(
        GeometricChannel(9, "ln(4)", width=2),
        GeometricChannel(9, "ln(9)", width=2),
        graph,
    )
    assert found.ratio == 9
    assert found.ratio == largest_ratio(fractions(found.pair()), graph)


def test_products_derive_factor_by_factor() -> None:
    graph = CartesianProduct([PathPower(2), PathPower(3)])

    def both(*levels: str) -> KroneckerChannel:
        sides = zip((2, 3), levels, strict=True)
        return KroneckerChannel([GeometricChannel(n, f"ln({r})") for n, r in sides])

    found = sharpen(both("2", "2"), both("3", "4"), graph)
    assert isinstance(found.remap, ExactProduct)
    assert found.ratio == 4 == largest_ratio(fractions(found.pair()), graph)
    product = fractions(found.fine) @ fractions(found.remap)
    assert (product == fractions(found.coarse)).all()
    refused = sharpen(both("2", "5"), both("3", "4"), graph)
    assert not refused
    assert refused.witness.margin > 0
    at_once = StrongProduct([PathPower(2), PathPower(3)])
    together = sharpen(both("2", "2"), both("3", "4"), at_once)
    assert together.ratio == 12 == largest_ratio(fractions(together.pair()), at_once)


def test_a_pair_that_does_not_derive_has_a_witness() -> None:
    coarse = distance_noise(BIPARTITE, Fraction(7, 2))
    fine = distance_noise(BIPARTITE, Fraction(4))
    found = sharpen(coarse, fine, BIPARTITE)
    assert not found
    assert found.witness.first > found.witness.second
    assert found.nearest is None  # the next test
    for ask in (found.pair, lambda: found.law(0, 0)):
        with pytest.raises(InputError, match="does not derive"):
            ask()


@pytest.mark.parametrize(("graph", "nearest"), [(Cycle(6), 95), (BIPARTITE, None)])
def test_the_nearest_level_on_a_small_graph(graph, nearest) -> None:
    """It is the largest one that derives, up to the coarse level, of all that are tried."""
    fine = distance_noise(graph, Fraction(4))
    found = sharpen(distance_noise(graph, Fraction(7, 2)), fine, graph)
    derivable = []
    for hundredths in range(1, int(100 * math.log(3.5)) + 1):
        ratio = Epsilon.of(Fraction(hundredths, 100)).ratio
        at_level = distance_noise(graph, ratio)
        if at_level is not None and sharpen(at_level, fine, graph):
            derivable.append(hundredths)
    assert max(derivable, default=None) == nearest
    level = None if nearest is None else Epsilon.of(Fraction(nearest, 100))
    assert found.nearest == level
    told = found.as_dict()["nearest_level"]
    assert told == (None if level is None else str(level))
    assert sharpen(fine, fine, graph).nearest is None


def test_every_forced_pair_costs_more() -> None:
    """Fine columns are extreme, so no coupling of the two is private at the fine level."""
    coarse = fractions(distance_noise(BIPARTITE, Fraction(7, 2)))
    fine = fractions(distance_noise(BIPARTITE, Fraction(4)))
    remap = np.linalg.solve(fine.astype(float), coarse.astype(float))
    clipped = np.vectorize(Fraction)(np.maximum(remap, 0))
    clipped /= clipped.sum(axis=1, keepdims=True)
    conditional = fine[:, None, :] * clipped.T[None]
    conditional = (
        coarse[:, :, None] * conditional / conditional.sum(axis=2, keepdims=True)
    )
    independent = coarse[:, :, None] * fine[:, None, :]
    for forced in (conditional, independent):
        assert (forced.sum(axis=2) == coarse).all()
        assert largest_ratio(forced.reshape(5, -1), BIPARTITE) > 4


def test_the_nearest_level_on_a_line() -> None:
    line = PathPower(4)
    fine = RationalGeometric(4, Fraction(1, 2))
    by_rule = sharpen(RationalGeometric(4, Fraction(1, 3)), fine, line)
    listed = sharpen(
        RationalGeometric(4, Fraction(1, 3)).integers(), fine.integers(), line
    )
    # ln 2 = 0.693…
    assert str(by_rule.nearest) == str(listed.nearest) == "0.69"
    at_level = RationalGeometric(4, 1 / by_rule.nearest.ratio)
    assert sharpen(at_level, fine, line)
    assert not sharpen(RationalGeometric(4, 1 / Epsilon.of("0.7").ratio), fine, line)
    swapped = sharpen(GeometricChannel(4, 1), GeometricChannel(4, 0.5), line)
    assert str(swapped.nearest) == "0.5"
    exact_answer = DeterministicChannel(range(4))
    assert str(sharpen(exact_answer, fine, line).nearest) == "0.69"
    nothing = IntegerChannel([[1, 1]] * 4)
    assert sharpen(fine.integers(), nothing, line).nearest is None


def test_the_errors_of_three_levels_together_and_paid_separately() -> None:
    """E|Z| = 2a/(1−a²) for two-sided geometric noise, which a long line shows in its middle."""

    def mean_error(level: str) -> Fraction:
        ratio = Epsilon.of(level).ratio
        return 2 * ratio / (ratio * ratio - 1)

    together = [mean_error(level) for level in ("0.25", "0.5", "1")]
    separately = [mean_error(level) for level in ("1/7", "2/7", "4/7")]
    assert [f"{float(error):.2f}" for error in together] == ["3.96", "1.92", "0.85"]
    assert [f"{float(error):.2f}" for error in separately] == ["6.98", "3.45", "1.66"]
    line = PathPower(61)
    found = sharpen(GeometricChannel(61, 0.5), GeometricChannel(61, 1), line)
    # The error of the fine output, drawn after the coarse one.
    middle = 30
    chained = sum(
        found.coarse.fraction(middle, a) * abs(b - middle) * share
        for a in range(61)
        for b, share in enumerate(found.law(middle, a))
    )
    direct = sum(abs(b - middle) * found.fine.fraction(middle, b) for b in range(61))
    assert chained == direct
    assert math.isclose(direct, together[2], rel_tol=1e-11)


def test_what_is_refused() -> None:
    line = PathPower(2)
    listed = IntegerChannel([[2, 1], [1, 2]])
    with pytest.raises(InputError, match="floats"):
        sharpen(Channel([[0.5, 0.5], [0.5, 0.5]]), listed, line)
    with pytest.raises(InputError, match="same inputs"):
        sharpen(IntegerChannel([[1]]), listed, line)
    with pytest.raises(InputError, match="not private"):
        sharpen(listed, DeterministicChannel([0, 1]), line)
    with pytest.raises(InputError, match="two answers"):
        RationalGeometric(1, Fraction(1, 2))
    never = IntegerChannel([[2, 1, 0], [1, 2, 0]])
    with pytest.raises(InputError, match="cannot occur"):
        sharpen(never, listed, line).law(0, 2)
    assert (
        distance_noise(ExplicitGraph([(0, k) for k in range(1, 7)]), Fraction(2))
        is None
    )


def test_a_decision_is_ready_for_json() -> None:
    line = PathPower(2)
    found = sharpen(
        IntegerChannel([[3, 1], [1, 3]]), IntegerChannel([[2, 1], [1, 2]]), line
    )
    data = found.as_dict()
    assert data["derivable"] is False
    assert data["ratio"] == 2
    assert data["nearest_level"] == "0.69"
    assert data["witness"]["gain_first"] > data["witness"]["gain_second"]
