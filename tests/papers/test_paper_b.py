"""Paper B: what the claims do not say, in more digits and for more cases."""

import math

import numpy as np
import pytest

from tightrope import query
from tightrope.channels import Channel, GeometricChannel
from tightrope.channels.privacy import is_private, smallest_epsilon
from tightrope.consumers import Prior
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import (
    Clique,
    Cycle,
    Databases,
    PathPower,
    chang,
    hypercube,
    petersen,
    truncated_tetrahedron,
)
from tightrope.leakage import (
    database_bound,
    few_outputs_bound,
    min_capacity,
    min_entropy_leakage,
    posterior_min_entropy,
    posterior_vulnerability,
    utility_bound,
)
from tightrope.leakage.bounds import (
    equal_diagonal,
    graph_bound,
    leakage_without_privacy,
    most_leakage,
)
from tightrope.mechanisms import (
    exponential,
    geometric,
    highest_leakage,
    randomized_response,
    ring,
)

LN2 = "ln(2)"

# -- §2: definitions ----------------------------------------------------------------------


def test_section_2_1_leakage_is_the_difference_of_entropies() -> None:
    channel = Channel([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    prior = Prior([0.6, 0.4])
    leakage = min_entropy_leakage(channel, prior)
    assert leakage == pytest.approx(
        -math.log2(0.6) - posterior_min_entropy(channel, prior)
    )
    assert 0 <= leakage <= -math.log2(0.6)
    assert min_capacity(channel) == pytest.approx(math.log2(0.7 + 0.2 + 0.7))


def test_proposition_5_either_symmetry_makes_ball_sizes_constant() -> None:
    assert petersen().constant_ball_sizes == (1, 3, 6)
    assert chang().constant_ball_sizes == (1, 12, 15)
    assert truncated_tetrahedron().constant_ball_sizes == (1, 3, 4, 4)
    assert PathPower(6).constant_ball_sizes is None


# -- §4: the transformation and the bound -------------------------------------------------


def test_figure_5_and_theorem_12_on_a_noisy_channel() -> None:
    graph = Cycle(6)
    before = GeometricChannel(6, LN2)
    after = equal_diagonal(before, graph)
    assert np.ptp(after.matrix().diagonal()) < 1e-12
    assert after.matrix().max() == pytest.approx(after.entry(0, 0))
    assert posterior_min_entropy(after) == pytest.approx(posterior_min_entropy(before))
    # The line's mechanism is not ln 2-private on the ring, so the bound need not hold for it...
    assert not is_private(before, graph, LN2)
    assert posterior_vulnerability(before) > utility_bound(graph, LN2)
    # ...but it holds at the ε that it does have on the ring.
    level = smallest_epsilon(before, graph).value
    assert posterior_vulnerability(before) <= utility_bound(graph, level)


# -- §5: leakage --------------------------------------------------------------------------


@pytest.mark.parametrize(("u", "v"), [(1, 2), (10, 2), (10, 10), (100, 2), (100, 10)])
def test_theorem_15_is_its_formula(u: int, v: int) -> None:
    levels = (0.5, 1, 2, 5)
    direct = [u * math.log2(v * math.exp(e) / (v - 1 + math.exp(e))) for e in levels]
    assert [database_bound(u, v, e).bits for e in levels] == pytest.approx(direct)


@pytest.mark.parametrize(("u", "v"), [(1, 2), (2, 3), (3, 2), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.3, LN2, 2])
def test_proposition_16_the_bound_is_reached(
    u: int, v: int, epsilon: float | str
) -> None:
    worst = highest_leakage(u, v, epsilon)
    graph = Databases(u, range(v))
    assert min_entropy_leakage(worst) == pytest.approx(
        database_bound(u, v, epsilon).bits
    )
    assert is_private(worst, graph, epsilon)
    level = Epsilon.of(epsilon)
    scale = 2 ** database_bound(u, v, epsilon).bits / v**u
    for x, z in [(0, 0), (0, graph.size - 1), (1, graph.size // 2)]:
        assert worst.entry(x, z) == pytest.approx(
            scale * level.alpha ** graph.distance(x, z)
        )


def test_example_17_eye_colours() -> None:
    for epsilon in (0.5, 1.0, 2.0):
        grown = math.exp(epsilon)
        largest = highest_leakage(2, 3, epsilon).column_maxima().max()
        assert largest == pytest.approx(grown**2 / (2 + grown) ** 2)


def test_example_18_leakage_does_not_bound_epsilon() -> None:
    leaks = [
        leakage_without_privacy(a, 0.9).leakage_bits for a in (0.5, 0.3, 0.2, 1e-3)
    ]
    assert leaks[0] > 0
    assert leaks[-1] == pytest.approx(0, abs=1e-12)
    levels = [leakage_without_privacy(1e-3, b).epsilon for b in (0.1, 1e-3, 1e-9)]
    assert levels[0] < levels[1] < levels[2]
    assert levels[2] > 18
    for beta in (0.05, 0.2, 0.5, 0.95):
        shown = leakage_without_privacy(0.01, beta, inputs=4, outputs=5)
        found = smallest_epsilon(shown.channel, Clique(4)).value
        assert found == pytest.approx(shown.epsilon, abs=1e-9)


def test_proposition_20_holds_and_is_not_always_the_smaller_bound() -> None:
    graph = Databases(3, range(2))
    for epsilon in (0.3, 1.0, 2.5):
        for outputs in (2, 3, 4, 5):
            exact = most_leakage(graph, epsilon, outputs).bits
            assert exact <= few_outputs_bound(3, 2, epsilon, outputs).bits + 1e-7
    # With r = v it reads log v e^{εu} / (v - 1 + e^{εu}).
    u, v, epsilon = 10, 3, 0.2
    grown = math.exp(epsilon * u)
    bound = few_outputs_bound(u, v, epsilon, v)
    assert bound.theorem == "B, Prop 20"
    assert bound.bits == pytest.approx(math.log2(v * grown / (v - 1 + grown)))
    assert bound.bits < database_bound(u, v, epsilon).bits
    # At a small ε and r between powers of v it is the looser one: [B, Thm 15] wins.
    assert few_outputs_bound(3, 2, 0.3, 3).theorem == "B, Thm 15"


def test_two_outputs_are_worth_what_the_dobrushin_coefficient_allows() -> None:
    # Two outputs tell apart the two ends of a diameter: 2 - e^{-εd/2} for even d.
    assert 2 ** most_leakage(Databases(2, range(2)), 1, 2).bits == pytest.approx(
        2 - math.exp(-1)
    )


# -- §6: utility --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph",
    [petersen(), chang(), truncated_tetrahedron(), hypercube(3), Cycle(7), Clique(4)],
    ids=lambda graph: graph.name,
)
@pytest.mark.parametrize("epsilon", [0.2, LN2, 2.5])
def test_theorems_27_and_28_the_exponential_mechanism_meets_the_bound(
    graph: Clique, epsilon: float | str
) -> None:
    channel = exponential(graph, epsilon)
    assert posterior_vulnerability(channel) == pytest.approx(
        utility_bound(graph, epsilon)
    )
    assert min_entropy_leakage(channel) == pytest.approx(
        graph_bound(graph, epsilon).bits
    )
    assert is_private(channel, graph, epsilon)
    assert not is_private(channel, graph, float(Epsilon.of(epsilon)) - 1e-3)


def test_theorem_27_refuses_a_path() -> None:
    with pytest.raises(InputError, match=r"ball sizes.*path\(6\)"):
        utility_bound(PathPower(6), 1)


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("choice(6)", geometric),
        ("choice(6)", randomized_response),
        ("count(5)", geometric),
        ("count(5)", ring),
    ],
)
def test_the_mechanisms_of_tables_1_and_2_are_private(text, make) -> None:  # type: ignore[no-untyped-def]
    assert is_private(make(query(text).graph, LN2), query(text).graph, LN2)
