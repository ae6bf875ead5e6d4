"""Theorems about channels and their privacy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from tightrope.channels import (
    Channel,
    GeometricChannel,
    IntegerChannel,
    KroneckerChannel,
    ScaledPhi,
    cascade,
    equal,
    hidden_choice,
    is_private,
    remap,
    smallest_epsilon,
)
from tightrope.channels.compose import parallel, reduced
from tightrope.channels.privacy import allowed_ratio
from tightrope.epsilon import Epsilon
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

ROUNDING = 1e-9
LEVELS = st.sampled_from(["ln(2)", "ln(3/2)", "0.5", "1", "1/7", "2*ln(3)"])


@st.composite
def trees_with_chords(draw: st.DrawFn, size: int) -> ExplicitGraph:
    edges = {(draw(st.integers(0, k - 1)), k) for k in range(1, size)}
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    edges |= {
        (min(p), max(p)) for p in draw(st.lists(pairs, max_size=4)) if p[0] != p[1]
    }
    lengths = None
    if draw(st.booleans()):
        lengths = [draw(st.sampled_from([0.5, 1.0, 1.5, 3.0])) for _ in edges]
    return ExplicitGraph(sorted(edges), lengths=lengths, size=size)


@st.composite
def graphs(draw: st.DrawFn, least: int = 2, most: int = 6) -> AnswerGraph:
    size = draw(st.integers(least, most))
    families = [
        st.builds(PathPower, st.just(size), st.integers(1, size)),
        st.just(Clique(size)),
        st.just(Star(size - 1)),
        trees_with_chords(size),
    ]
    if size >= 3:
        families.append(st.just(Cycle(size)))
    return draw(st.one_of(families))


@st.composite
def integer_channels(
    draw: st.DrawFn, rows: int, columns: int | None = None, least: int = 0
) -> IntegerChannel:
    """Rows of small weights brought to one total by the last column, times a large factor."""
    count = draw(st.integers(1, 4)) if columns is None else columns
    row = st.lists(st.integers(least, 12), min_size=count - 1, max_size=count - 1)
    found = [draw(row) for _ in range(rows)]
    total = 12 * count + least + 1
    factor = draw(st.sampled_from([1, 7, 2**45, 3**60]))
    return IntegerChannel([[w * factor for w in [*r, total - sum(r)]] for r in found])


@st.composite
def channels_on_graphs(
    draw: st.DrawFn, least: int = 0
) -> tuple[IntegerChannel, AnswerGraph]:
    graph = draw(graphs())
    return draw(integer_channels(graph.size, least=least)), graph


def level(channel: Channel, graph: AnswerGraph) -> float:
    return smallest_epsilon(channel, graph).value


# -- exact decisions ----------------------------------------------------------------------


@given(channels_on_graphs(), LEVELS)
def test_the_integer_check_agrees_with_fractions(
    pair: tuple[IntegerChannel, AnswerGraph], epsilon: str
) -> None:
    channel, graph = pair
    bounds = [
        allowed_ratio(Epsilon.of(epsilon), float(x)) for x in graph.edge_lengths()
    ]
    expected = all(
        channel.fraction(a, o) <= bound * channel.fraction(b, o)
        for (i, h), bound in zip(graph.edge_array().tolist(), bounds, strict=True)
        for a, b in ((i, h), (h, i))
        for o in range(channel.shape[1])
    )
    check = is_private(channel, graph, epsilon)
    assert check.private == expected
    assert check.exact
    assert (check.margin >= 0) == expected
    i, h = check.edge or (0, 0)
    assert h in graph.neighbours(i)
    above, below = (
        channel.fraction(i, check.output or 0),
        channel.fraction(h, check.output or 0),
    )
    assert check.ratio == (above / below if below else math.inf if above else 1)


@given(channels_on_graphs(least=1))
def test_the_smallest_level_agrees_with_floats_and_is_attained(
    pair: tuple[IntegerChannel, AnswerGraph],
) -> None:
    channel, graph = pair
    exact = smallest_epsilon(channel, graph)
    dense = Channel(channel.matrix())
    assert level(dense, graph) == pytest.approx(exact.value, rel=1e-12, abs=1e-12)
    assume(exact.value > 1e-6)
    assert is_private(dense, graph, exact.value)
    assert not is_private(dense, graph, exact.value * (1 - 1e-6) - 1e-8)


@given(graphs(), st.integers(2, 5), st.integers(1, 10**30))
def test_one_unit_more_breaks_privacy_at_the_bound(
    graph: AnswerGraph, ratio: int, unit: int
) -> None:
    assume(not graph.has_lengths)
    n = graph.size
    weights = [[unit * (ratio if i == o else 1) for o in range(n)] for i in range(n)]
    assert is_private(IntegerChannel(weights), graph, f"ln({ratio})").margin == 0
    slack = unit * ratio
    padded = [[*row, 10 * slack] for row in weights]
    assert is_private(IntegerChannel(padded), graph, f"ln({ratio})")
    padded[0][0] += 1
    padded[0][n] -= 1
    broken = is_private(IntegerChannel(padded), graph, f"ln({ratio})")
    assert not broken
    assert (broken.edge or (0, 0))[0] == 0
    assert broken.output == 0
    assert broken.ratio == Fraction(slack + 1, unit)


# -- axioms -------------------------------------------------------------------------------


@given(st.data())
def test_post_processing_never_raises_the_level(data: st.DataObject) -> None:
    """[D, Ax 2.1.1]."""
    channel, graph = data.draw(channels_on_graphs())
    second = data.draw(integer_channels(channel.shape[1]))
    assert level(cascade(channel, second), graph) <= level(channel, graph) + ROUNDING
    targets = data.draw(
        st.lists(
            st.integers(0, 2), min_size=channel.shape[1], max_size=channel.shape[1]
        )
    )
    assert level(remap(channel, targets), graph) <= level(channel, graph) + ROUNDING


@given(st.data(), st.fractions(0, 1, max_denominator=50))
def test_a_choice_is_at_most_its_worst_part(
    data: st.DataObject, chance: Fraction
) -> None:
    """[D, Ax 2.1.2]."""
    first, graph = data.draw(channels_on_graphs())
    second = data.draw(integer_channels(graph.size, first.shape[1]))
    weights = [chance, 1 - chance]
    used = [c for c, p in zip((first, second), weights, strict=True) if p]
    worst = max(level(c, graph) for c in used)
    assert level(hidden_choice([first, second], weights), graph) <= worst + ROUNDING


@given(st.data())
def test_both_at_once_cost_at_most_the_sum_and_at_least_each(
    data: st.DataObject,
) -> None:
    first, graph = data.draw(channels_on_graphs(least=1))
    second = data.draw(integer_channels(graph.size, least=1))
    both = level(parallel(first, second), graph)
    assert both <= level(first, graph) + level(second, graph) + ROUNDING
    assert both >= max(level(first, graph), level(second, graph)) - ROUNDING


@given(st.data())
def test_cascades_are_associative(data: st.DataObject) -> None:
    first = data.draw(integer_channels(data.draw(st.integers(1, 4))))
    second = data.draw(integer_channels(first.shape[1]))
    third = data.draw(integer_channels(second.shape[1]))
    left, right = (
        cascade(cascade(first, second), third),
        cascade(first, cascade(second, third)),
    )
    found = equal(left, right)
    assert found
    assert found.exact
    floats = [Channel(c.matrix()) for c in (first, second, third)]
    assert equal(
        cascade(cascade(floats[0], floats[1]), floats[2]), left, tolerance=1e-12
    )


@given(channels_on_graphs())
def test_reducing_changes_neither_the_level_nor_the_maxima(
    pair: tuple[IntegerChannel, AnswerGraph],
) -> None:
    channel, graph = pair
    made = reduced(channel)
    assert level(made.channel, graph) == level(channel, graph)
    assert made.channel.column_maxima_sum() == channel.column_maxima_sum()
    assert reduced(made.channel).groups == tuple(
        (k,) for k in range(made.channel.shape[1])
    )
    floats = reduced(Channel(channel.matrix()))
    assert set(floats.groups) == set(made.groups)


# -- structured kinds ---------------------------------------------------------------------


def assert_like_its_matrix(channel: Channel, graph: AnswerGraph) -> None:
    """Rows, columns, entries, closed forms and privacy by rule are those of the matrix."""
    dense = Channel(channel.matrix())
    rows, columns = channel.shape
    for o in range(columns):
        np.testing.assert_allclose(channel.column(o), dense.column(o), rtol=1e-13)
        assert channel.entry(rows - 1, o) == pytest.approx(
            dense.entry(rows - 1, o), rel=1e-13
        )
    np.testing.assert_allclose(
        channel.column_maxima(), dense.column_maxima(), rtol=1e-13
    )
    assert channel.column_maxima_sum() == pytest.approx(
        dense.column_maxima_sum(), rel=1e-12
    )
    assert level(channel, graph) == pytest.approx(
        level(dense, graph), rel=1e-9, abs=1e-9
    )


@given(graphs(), LEVELS, st.integers(1, 4))
def test_geometric_is_like_its_matrix(
    graph: AnswerGraph, epsilon: str, width: int
) -> None:
    assert_like_its_matrix(GeometricChannel(graph.size, epsilon, width), graph)


@given(graphs(), LEVELS)
def test_scaled_phi_is_like_its_matrix(graph: AnswerGraph, epsilon: str) -> None:
    phi = Epsilon.of(epsilon).alpha ** graph.distance_matrix().astype(float)
    assume(abs(np.linalg.det(phi)) > 1e-6)
    z = np.linalg.solve(phi, np.ones(graph.size))
    assume((z >= 0).all())
    channel = ScaledPhi(graph, epsilon, z)
    assert_like_its_matrix(channel, graph)
    check = is_private(channel, graph, epsilon)
    assert (check.exact, check.margin) == (True, 0)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(graphs(2, 3), LEVELS), min_size=1, max_size=3),
    st.sampled_from([CartesianProduct, StrongProduct]),
)
def test_products_are_like_their_matrix(
    parts: list[tuple[AnswerGraph, str]],
    product: type[CartesianProduct | StrongProduct],
) -> None:
    assume(not any(graph.has_lengths for graph, _ in parts))
    channel = KroneckerChannel([GeometricChannel(g.size, e) for g, e in parts])
    assert_like_its_matrix(channel, product([g for g, _ in parts]))
