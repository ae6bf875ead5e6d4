"""Theorems about leakage over random channels, priors and graphs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel
from tightrope.channels.compose import cascade, parallel
from tightrope.channels.generality import dobrushin, maximally_general
from tightrope.channels.privacy import is_private, smallest_epsilon
from tightrope.consumers import Prior, ProductPrior
from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    Databases,
    PathPower,
    Star,
    petersen,
    truncated_tetrahedron,
)
from tightrope.graphs.products import number_of
from tightrope.leakage import (
    database_bound,
    individual_bound,
    min_capacity,
    min_entropy_leakage,
    mutual_information,
    posterior_vulnerability,
    shannon_capacity,
    utility_bound,
)
from tightrope.leakage.bounds import (
    average_over_automorphisms,
    average_over_distances,
    equal_diagonal,
    graph_bound,
    maxima_on_diagonal,
    most_leakage,
)
from tightrope.leakage.measures import (
    g_leakage,
    hyper,
    leakage_of_sets,
    posterior_g_vulnerability,
    posterior_guessing_entropy,
    repeated_composition,
)
from tightrope.mechanisms import exponential, geometric, randomized_response
from tightrope.phi import Phi

CLOSE = 1e-9
positive = st.floats(0.01, 1)


@st.composite
def matrices(
    draw: st.DrawFn, rows: int | None = None, zeros: bool = True
) -> np.ndarray:
    """Row-stochastic matrices, some with zeros."""
    n = rows or draw(st.integers(1, 6))
    m = draw(st.integers(1, 7))
    cells = st.one_of(st.just(0.0), positive) if zeros else positive
    values = draw(arrays(float, (n, m), elements=cells))
    values[:, 0] += 0.01
    return values / values.sum(axis=1, keepdims=True)


@st.composite
def priors(draw: st.DrawFn, size: int) -> Prior:
    values = draw(arrays(float, size, elements=st.one_of(st.just(0.0), positive)))
    values[draw(st.integers(0, size - 1))] += 0.1
    return Prior(values / values.sum())


@st.composite
def channel_and_prior(draw: st.DrawFn) -> tuple[Channel, Prior]:
    matrix = draw(matrices())
    return Channel(matrix), draw(priors(len(matrix)))


SYMMETRIC: list[AnswerGraph] = [
    Clique(3),
    Cycle(5),
    Cycle(6),
    petersen(),
    truncated_tetrahedron(),
    Databases(2, range(3)),
]
GRAPHS = [*SYMMETRIC, PathPower(5), PathPower(6, 2), Star(4)]


@st.composite
def private_channels(
    draw: st.DrawFn, graphs: list[AnswerGraph]
) -> tuple[Channel, AnswerGraph, float]:
    """A random ε-private channel: a private one, remapped at random, mixed with noise."""
    graph = draw(st.sampled_from(graphs))
    epsilon = draw(st.floats(0.1, 2.5))
    base = draw(st.sampled_from([exponential, randomized_response]))(
        graph, epsilon
    ).matrix()
    remap = draw(matrices(graph.size))
    # A share near the smallest float would round one of two neighbours to 0.
    keep = draw(st.integers(0, 64)) / 64
    both = np.hstack([keep * base, (1 - keep) * (base @ remap)])
    return Channel(both), graph, epsilon


# -- order and bounds ---------------------------------------------------------------------


@given(channel_and_prior())
def test_leakage_lies_between_zero_and_capacity(case: tuple[Channel, Prior]) -> None:
    channel, prior = case
    leakage = min_entropy_leakage(channel, prior)
    assert 0 <= leakage <= min_capacity(channel) + CLOSE
    assert leakage <= -math.log2(prior.maximum) + CLOSE
    capacity = shannon_capacity(channel)
    assert mutual_information(channel, prior) <= capacity.upper_bits + CLOSE
    # Shannon capacity never exceeds min-capacity.
    assert capacity.bits <= min_capacity(channel) + CLOSE
    assert capacity.converged
    assert capacity.gap <= 1e-9


@given(channel_and_prior(), st.data())
def test_data_processing(case: tuple[Channel, Prior], data: st.DataObject) -> None:
    channel, prior = case
    after = cascade(channel, Channel(data.draw(matrices(channel.shape[1]))))
    gain = data.draw(arrays(float, (channel.shape[0], 3), elements=st.floats(0, 1)))
    assert min_capacity(after) <= min_capacity(channel) + CLOSE
    assert (
        min_entropy_leakage(after, prior) <= min_entropy_leakage(channel, prior) + CLOSE
    )
    assert (
        mutual_information(after, prior) <= mutual_information(channel, prior) + CLOSE
    )
    assert posterior_g_vulnerability(after, gain, prior) <= (
        posterior_g_vulnerability(channel, gain, prior) + CLOSE
    )
    assert posterior_guessing_entropy(after, prior) >= (
        posterior_guessing_entropy(channel, prior) - CLOSE
    )
    assert dobrushin(after) <= dobrushin(channel) + CLOSE


@given(channel_and_prior(), st.data())
def test_no_gain_leaks_more_than_the_min_capacity(
    case: tuple[Channel, Prior], data: st.DataObject
) -> None:
    channel, prior = case
    gain = data.draw(arrays(float, (channel.shape[0], 3), elements=st.floats(0.1, 1)))
    assert g_leakage(channel, gain, prior) <= min_capacity(channel) + CLOSE
    identity = np.eye(channel.shape[0])
    assert posterior_g_vulnerability(channel, identity, prior) == pytest.approx(
        posterior_vulnerability(channel, prior)
    )


@given(channel_and_prior())
def test_utility_is_prior_vulnerability_times_two_to_the_leakage(
    case: tuple[Channel, Prior],
) -> None:
    """[A, Prop 5]."""
    channel, prior = case
    grown = prior.maximum * 2 ** min_entropy_leakage(channel, prior)
    assert posterior_vulnerability(channel, prior) == pytest.approx(grown)


@settings(max_examples=60)
@given(private_channels(SYMMETRIC))
def test_theorems_12_and_27(case: tuple[Channel, AnswerGraph, float]) -> None:
    channel, graph, epsilon = case
    assert is_private(channel, graph, epsilon)
    assert min_capacity(channel) <= graph_bound(graph, epsilon).bits + CLOSE
    assert posterior_vulnerability(channel) <= utility_bound(graph, epsilon) + CLOSE


@settings(max_examples=40)
@given(private_channels([Databases(2, range(3)), Databases(3, range(2))]))
def test_theorem_15_and_proposition_21(
    case: tuple[Channel, AnswerGraph, float],
) -> None:
    channel, graph, epsilon = case
    assert isinstance(graph, Databases)
    u, v = len(graph.factors), graph.factors[0].size
    assert min_capacity(channel) <= database_bound(u, v, epsilon).bits + CLOSE
    lines = [
        [
            number_of([*rest[:place], value, *rest[place:]], graph.sides)
            for value in range(v)
        ]
        for place in range(u)
        for rest in np.ndindex(*[v] * (u - 1))
    ]
    assert (
        leakage_of_sets(channel, lines).bits
        <= individual_bound(v, epsilon).bits + CLOSE
    )


# -- the transformations ------------------------------------------------------------------


@settings(max_examples=60)
@given(private_channels(GRAPHS))
def test_lemma_7(case: tuple[Channel, AnswerGraph, float]) -> None:
    channel, graph, epsilon = case
    moved = maxima_on_diagonal(channel)
    matrix = moved.matrix()
    assert matrix.shape == (graph.size, graph.size)
    assert np.allclose(matrix.diagonal(), matrix.max(axis=0), atol=1e-12)
    assert posterior_vulnerability(moved) == pytest.approx(
        posterior_vulnerability(channel)
    )
    assert is_private(moved, graph, epsilon)


@settings(max_examples=60)
@given(private_channels(SYMMETRIC))
def test_lemmas_8_and_9(case: tuple[Channel, AnswerGraph, float]) -> None:
    channel, graph, epsilon = case
    square = maxima_on_diagonal(channel)
    if graph.name != truncated_tetrahedron().name:
        _check_equalised(average_over_distances(square, graph), square, graph, epsilon)
    _check_equalised(average_over_automorphisms(square, graph), square, graph, epsilon)
    _check_equalised(equal_diagonal(channel, graph), square, graph, epsilon)


def _check_equalised(
    after: Channel, before: Channel, graph: AnswerGraph, epsilon: float
) -> None:
    matrix = after.matrix()
    assert np.ptp(matrix.diagonal()) < 1e-12
    assert matrix.max() <= matrix[0, 0] + 1e-12
    assert posterior_vulnerability(after) == pytest.approx(
        posterior_vulnerability(before)
    )
    assert is_private(after, graph, epsilon)


# -- by rule and by matrix ----------------------------------------------------------------


@given(st.integers(1, 12), st.integers(1, 13), st.floats(0.05, 3), st.data())
def test_the_reach_by_rule(
    size: int, width: int, epsilon: float, data: st.DataObject
) -> None:
    graph, prior = PathPower(size, width), data.draw(priors(size))
    expected = (
        prior.probabilities[:, None] * np.exp(-epsilon * graph.distance_matrix())
    ).max(0)
    assert Phi(graph, epsilon).reach(prior.probabilities) == pytest.approx(expected)
    assert Phi(graph.explicit(), epsilon).reach(prior.probabilities) == pytest.approx(
        expected
    )


@given(st.integers(1, 8), st.integers(1, 4), st.floats(0.1, 3), st.data())
def test_structured_channels_measure_like_their_matrices(
    size: int, width: int, epsilon: float, data: st.DataObject
) -> None:
    line = GeometricChannel(size, epsilon, width)
    clique = exponential(Clique(size), epsilon)
    for channel, prior in [
        (line, data.draw(priors(size))),
        (clique, data.draw(priors(size))),
    ]:
        dense = Channel(channel.matrix())
        for measure in (
            posterior_vulnerability,
            min_entropy_leakage,
            mutual_information,
        ):
            assert measure(channel, prior) == pytest.approx(
                measure(dense, prior), abs=1e-9
            )
            assert measure(channel) == pytest.approx(measure(dense), abs=1e-9)
        assert min_capacity(channel) == pytest.approx(min_capacity(dense), abs=1e-12)
        assert dobrushin(channel) == pytest.approx(dobrushin(dense))


@given(st.floats(0.1, 2), st.data())
def test_products_measure_like_their_matrices(
    epsilon: float, data: st.DataObject
) -> None:
    factor = exponential(Cycle(3), epsilon)
    single = data.draw(priors(3))
    graph = CartesianProduct([Cycle(3)] * 2)
    prior = ProductPrior([single] * 2)
    product = KroneckerChannel([factor, factor])
    for channel in (product, exponential(graph, epsilon)):
        dense = Channel(channel.matrix())
        flat = Prior(prior.probabilities)
        for measure in (
            posterior_vulnerability,
            min_entropy_leakage,
            mutual_information,
        ):
            assert measure(channel, prior) == pytest.approx(
                measure(dense, flat), abs=1e-9
            )
        assert shannon_capacity(channel).bits == pytest.approx(
            shannon_capacity(dense).bits, abs=1e-8
        )
        assert maximally_general(channel, graph, epsilon).maximal


# -- composition --------------------------------------------------------------------------


@settings(max_examples=50)
@given(channel_and_prior(), st.data())
def test_two_mechanisms_tell_what_their_pairs_of_outputs_tell(
    case: tuple[Channel, Prior], data: st.DataObject
) -> None:
    first, prior = case
    second = Channel(data.draw(matrices(first.shape[0])))
    graph = Clique(first.shape[0])
    both = parallel(first, second)
    seen = prior.probabilities[:, None] * first.matrix()
    joint = seen[:, :, None] * second.matrix()[:, None, :]
    assert posterior_vulnerability(both, prior) == pytest.approx(
        joint.max(axis=0).sum()
    )
    # What the second adds is what it tells those who have seen the first.
    more = sum(
        column.sum() * mutual_information(second, column / column.sum())
        for column in seen.T
        if column.any()
    )
    told = mutual_information(first, prior) + more
    assert mutual_information(both, prior) == pytest.approx(told, abs=1e-9)
    alone = [smallest_epsilon(channel, graph).value for channel in (first, second)]
    assert max(alone) - 1e-9 <= smallest_epsilon(both, graph).value <= sum(alone) + 1e-9


@settings(max_examples=50)
@given(channel_and_prior(), st.integers(1, 3))
def test_repetition_equals_the_power_of_the_channel(
    case: tuple[Channel, Prior], times: int
) -> None:
    channel, prior = case
    graph = Clique(channel.shape[0])
    power = channel
    for _ in range(times - 1):
        power = parallel(power, channel)
    found = repeated_composition(channel, times, prior, graph=graph)
    assert found.vulnerability == pytest.approx(posterior_vulnerability(power, prior))
    assert found.shannon_bits == pytest.approx(
        mutual_information(power, prior), abs=1e-9
    )
    assert found.epsilon == pytest.approx(smallest_epsilon(power, graph).value)


@given(channel_and_prior())
def test_the_posteriors_average_to_the_prior(case: tuple[Channel, Prior]) -> None:
    channel, prior = case
    found = hyper(channel, prior)
    assert found.outer.sum() == pytest.approx(1)
    assert found.outer @ found.posteriors == pytest.approx(prior.probabilities)
    guessed = found.outer @ found.posteriors.max(axis=1)
    assert guessed == pytest.approx(posterior_vulnerability(channel, prior))


# -- few outputs --------------------------------------------------------------------------


@settings(max_examples=15)
@given(private_channels([Clique(3), Cycle(5), PathPower(4)]), st.integers(1, 3))
def test_no_private_channel_with_few_outputs_leaks_more_than_the_program_says(
    case: tuple[Channel, AnswerGraph, float], outputs: int
) -> None:
    channel, graph, epsilon = case
    groups = np.arange(channel.shape[1]) % outputs
    remap = np.eye(outputs)[groups]
    narrow = Channel(channel.matrix() @ remap)
    assert min_capacity(narrow) <= most_leakage(graph, epsilon, outputs).bits + 1e-7


# -- negative twins -----------------------------------------------------------------------


def test_a_channel_that_is_not_private_breaks_the_bound() -> None:
    assert min_capacity(Channel(np.eye(5))) > graph_bound(Cycle(5), 1).bits


def test_averaging_over_distances_without_symmetry_would_break_privacy() -> None:
    graph = PathPower(6)
    matrix = maxima_on_diagonal(geometric(graph, "ln(2)")).matrix()
    distances = graph.distance_matrix()
    means = np.array([matrix[distances == d].mean() for d in range(6)])
    averaged = means[distances]
    assert np.abs(averaged.sum(axis=1) - 1).max() > 0.01


def test_undoing_a_remap_is_not_data_processing() -> None:
    blurred = Channel([[0.6, 0.4], [0.4, 0.6]])
    assert min_capacity(Channel(np.eye(2))) > min_capacity(blurred)
