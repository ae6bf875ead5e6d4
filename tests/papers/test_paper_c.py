"""Paper C: universally optimal mechanisms, for more levels, sizes and routes than the claims."""

import math
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from tightrope.axioms import cycle_labelling, universality
from tightrope.axioms.universality import (
    all_rays,
    neighbours_differ_by_one,
    refute_by_star,
    star_optimum,
    together,
)
from tightrope.channels import (
    GeometricChannel,
    derivable,
    is_private,
    make_maximally_general,
    maximally_general,
    of_databases,
    rational,
)
from tightrope.consumers import Consumer, expected_loss
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.graphs.shapes import shortest_cycle
from tightrope.mechanisms import randomized_response
from tightrope.optimize import design
from tightrope.phi import Phi
from tightrope.queries import query

RATIOS = (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(10))
ALPHAS = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]


def level(alpha):
    return f"ln({1 / alpha})"


def response(size, alpha):
    whole = 1 + (size - 1) * alpha
    return rational(
        [[(1 if i == o else alpha) / whole for o in range(size)] for i in range(size)]
    )


# -- section 2 ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4, 7])
def test_thm_2_6_examples(size):
    """Randomised response is maximally general on the clique, geometric noise on the path."""
    assert maximally_general(response(size, Fraction(1, 2)), Clique(size), "ln(2)")
    assert maximally_general(randomized_response(size, 1), Clique(size), 1)
    assert maximally_general(GeometricChannel(size, 1), PathPower(size), 1)
    coarse = rational([["3/5", "2/5"]] + [["2/5", "3/5"]] * (size - 1))
    assert not maximally_general(coarse, Clique(size), "ln(2)")
    made = make_maximally_general(coarse, Clique(size), "ln(2)")
    assert maximally_general(made.channel, Clique(size), "ln(2)")
    assert derivable(coarse, made.channel)
    assert not derivable(made.channel, coarse)


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared"])
def test_thm_2_7_geometric_noise_serves_every_bayesian_consumer(loss):
    rng = np.random.default_rng(0)
    for n, alpha in ((3, 0.2), (5, 0.5), (6, 0.8)):
        graph, rays = PathPower(n), all_rays(PathPower(n), alpha)
        geometric = GeometricChannel(n, -math.log(alpha))
        for _ in range(5):
            consumer = Consumer.of(
                graph, prior=rng.dirichlet(np.full(n, 0.5)), loss=loss
            )
            best = together(rays, [consumer]).own[0]
            assert expected_loss(geometric, consumer) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("loss", ["binary", "absolute"])
def test_thm_2_8_and_every_risk_averse_one(loss):
    """All risk-averse consumers at once have no regret under one mechanism on a path."""
    graph = PathPower(4)
    people = [
        Consumer.of(graph, support=list(s), loss=loss)
        for k in (2, 3, 4)
        for s in combinations(range(4), k)
    ]
    assert together(all_rays(graph, 0.6), people).regret == pytest.approx(0, abs=1e-8)


# -- section 3 ----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
def test_observations_3_1_and_3_2(alpha):
    """On a triangle both kinds of consumer lose 2α/(1+2α), and α/(1+α) on two answers."""
    rays = all_rays(Clique(3), float(alpha))
    three, two = float(2 * alpha / (1 + 2 * alpha)), float(alpha / (1 + alpha))
    people = [
        Consumer.of(Clique(3)),
        Consumer.of(Clique(3), prior="0.5,0.5,0"),
        Consumer.of(Clique(3), support=[0, 1, 2]),
        Consumer.of(Clique(3), support=[0, 1]),
    ]
    assert together(rays, people).own == pytest.approx(
        (three, two, three, two), abs=1e-9
    )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("share", [0, Fraction(1, 3), 1])
def test_claim_3_3(alpha, share):
    """X is maximally general and derives no instance of Y."""
    x = response(3, alpha)
    q = alpha + share * (1 - alpha)
    y = rational(
        [[1 / (1 + alpha), alpha / (1 + alpha)], [alpha / (1 + alpha), 1 / (1 + alpha)],
         [q / (1 + alpha), (1 + alpha - q) / (1 + alpha)]]
    )  # fmt: skip
    assert is_private(y, Clique(3), level(alpha))
    assert maximally_general(x, Clique(3), level(alpha))
    found = derivable(y, x)
    assert not found
    assert found.witness.margin > 0
    # The first two rows alone, whatever q is, are enough.
    assert not derivable(of_databases(y, [0, 1]), of_databases(x, [0, 1]))
    # But half as sharp a mechanism is derivable.
    assert derivable(rational([["1/2", "1/2"]] * 3), x)


@pytest.mark.parametrize("m", [3, 4, 6])
def test_equation_11_for_more_values(m):
    """Response on m answers, a further row added, is not derivable from response on m+1."""
    alpha = Fraction(1, 3)
    x, y = response(m + 1, alpha), response(m, alpha)
    assert not derivable(y, of_databases(x, range(m)))


@pytest.mark.parametrize(
    ("question", "theorem"),
    [("sum(1,2)", "3.4"), ("sum(5,3)", "3.4"), ("histogram(1,3)", "3.5"),
     ("histogram(4,3)", "3.5"), ("counts(1,2)", "3.6"), ("counts(4,3)", "3.6")],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["bayesian", "risk-averse"])
def test_thm_3_4_to_3_6(question, theorem, kind):
    found = universality(question, 1, kind=kind)
    assert (found.verdict, found.theorem) == ("no", f"C, Thm {theorem}")
    assert not found.witness.derivation


@pytest.mark.parametrize("question", ["sum(5,1)", "histogram(5,2)", "counts(5,1)"])
def test_their_degenerate_cases_are_counts(question):
    assert universality(question, 1).verdict == "yes"


# -- section 4 ----------------------------------------------------------------------------


@pytest.mark.parametrize("m", range(4, 9))
@pytest.mark.parametrize("alpha", ALPHAS)
def test_claim_4_4(m, alpha):
    found = universality(Cycle(m), level(alpha))
    proof = found.witness
    assert found.verdict == "no"
    first, second = proof.mechanisms
    assert maximally_general(first, Cycle(m), level(alpha))
    assert is_private(second, Cycle(m), level(alpha))
    whole = sum(alpha ** min(k, m - k) for k in range(m))
    assert proof.optimal_losses[0] == 1 - 1 / whole
    assert proof.optimal_losses[1] == 1 - (3 - alpha) / (3 * (1 + alpha))
    if m <= 6:
        own = together(all_rays(Cycle(m), float(alpha)), list(proof.consumers()))
        assert own.own == pytest.approx(
            [float(x) for x in proof.optimal_losses], abs=1e-8
        )
        assert own.regret > 1e-6


def graph_of_girth(m, seed):
    """A cycle of m nodes with trees and further cycles, none of them shorter."""
    rng = np.random.default_rng(seed)
    graph = nx.cycle_graph(m)
    for node in range(m, m + 14):
        graph.add_edge(node, int(rng.integers(0, node)))
    for _ in range(60):
        a, b = rng.integers(0, len(graph), 2)
        if a != b and nx.shortest_path_length(graph, int(a), int(b)) >= m - 1:
            graph.add_edge(int(a), int(b))
    order = rng.permutation(len(graph))
    return ExplicitGraph([(int(order[a]), int(order[b])) for a, b in graph.edges])


@pytest.mark.parametrize("m", range(3, 8))
@pytest.mark.parametrize("seed", range(4))
def test_thm_4_2_and_claim_4_5(m, seed):
    graph = graph_of_girth(m, seed)
    cycle = shortest_cycle(graph)
    assert len(cycle) == m
    labels = cycle_labelling(graph, cycle)
    assert neighbours_differ_by_one(graph, labels, m)
    found = universality(graph, "ln(3/2)")
    assert found.verdict == "no"
    for mechanism in found.witness.mechanisms:
        assert is_private(mechanism, graph, "ln(3/2)").exact
    for consumer, lost, mechanism in zip(
        found.witness.consumers(),
        found.witness.optimal_losses,
        found.witness.mechanisms,
        strict=True,
    ):
        assert expected_loss(mechanism, consumer) == pytest.approx(
            float(lost), abs=1e-12
        )


def test_claim_4_5_needs_a_shortest_cycle():
    chord = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
    labels = cycle_labelling(chord, (0, 1, 2, 3, 4, 5))
    assert not neighbours_differ_by_one(chord, labels, 6)


@pytest.mark.parametrize("k", range(3, 7))
def test_thm_4_3_on_both_sides(k):
    at = Fraction(1, k - 1)
    assert universality(Star(k), level(at)).verdict == "yes"
    assert universality(Star(k), level(at * Fraction(9, 10))).verdict == "yes"
    above = universality(Star(k), level(at * Fraction(101, 100)))
    assert above.verdict == "no"
    assert above.witness.together < above.witness.apart
    # The coefficient of the centre, (1-(k-1)α)/(1+α), changes sign there.
    for share, sign in ((Fraction(9, 10), 1), (Fraction(11, 10), -1)):
        alpha = float(at * share)
        centre = Phi(Star(k), -math.log(alpha)).solve_ones().values[0]
        assert centre == pytest.approx((1 - (k - 1) * alpha) / (1 + alpha))
        assert math.copysign(1, centre) == sign


def test_thm_4_3_three_consumers_above_one_half():
    proof = refute_by_star(Star(6), "ln(3/2)")
    assert len(proof.supports) == 3
    alpha = Fraction(2, 3)
    assert proof.apart == 3 * (3 - alpha) / (3 * (1 + alpha))
    assert proof.together == star_optimum(alpha, 3)
    own = together(
        all_rays(Star(3), 2 / 3), list(refute_by_star(Star(3), "ln(3/2)").consumers())
    )
    assert own.regret > 1e-3
    assert [1 - x for x in own.own] == pytest.approx(
        [float(proof.apart) / 3] * 3, abs=1e-9
    )


def test_footnotes_5_and_7():
    assert query("count_mod(9,5)").graph.is_cycle
    assert universality("count_mod(9,5)", 1).verdict == "no"
    assert query("star(3)").graph.is_tree
    assert universality("star(3)", "ln(2)").verdict == "yes"


# -- the optimal mechanisms of its observations --------------------------------------------


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("route", ["regular", "symmetric", "orbits", "rays", "plain"])
def test_observation_3_1_bayesian_on_the_triangle(ratio: Fraction, route: str) -> None:
    alpha = float(1 / ratio)
    found = design(Clique(3), f"ln({ratio})", route=route)
    assert found.expected_loss == pytest.approx(2 * alpha / (1 + 2 * alpha), abs=1e-12)
    assert found.certified


@pytest.mark.parametrize("ratio", RATIOS)
def test_observation_3_2_risk_averse_on_the_triangle(ratio: Fraction) -> None:
    alpha = float(1 / ratio)
    consumer = Consumer.of(Clique(3), support="all", loss="binary")
    found = design(Clique(3), f"ln({ratio})", consumer)
    assert found.route == "symmetric"
    assert found.expected_loss == pytest.approx(2 * alpha / (1 + 2 * alpha), abs=1e-9)
    assert found.certified


def test_observation_3_1_fails_for_another_prior() -> None:
    consumer = Consumer.of(Clique(3), prior="0.8,0.1,0.1", loss="binary")
    assert design(Clique(3), "ln(2)", consumer).expected_loss < 0.5 - 1e-3


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
def test_geometric_is_optimal_for_every_consumer_of_a_count(loss: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        consumer = Consumer.of(
            PathPower(8), prior=rng.dirichlet(np.ones(8)).tolist(), loss=loss
        )
        found = design(PathPower(8), "ln(2)", consumer)
        engine = design(PathPower(8), "ln(2)", consumer, route="rays")
        assert found.route == "geometric"
        assert engine.expected_loss == pytest.approx(found.expected_loss, abs=1e-10)
        assert is_private(engine.channel, PathPower(8), "ln(2)")


def test_a_loss_that_is_not_monotone_leaves_the_route() -> None:
    loss = np.array([[0, 2, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 2, 0.0]])
    consumer = Consumer(prior=[0.25] * 4, loss=loss)
    assert design(PathPower(4), "ln(2)", consumer).route != "geometric"
