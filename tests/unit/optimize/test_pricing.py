"""Pricing: every structure finds what the linear program finds, and heights are heights."""

import itertools

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.optimize import design, price_cycle as module
from tightrope.optimize.price_cycle import CyclePricer
from tightrope.optimize.price_lp import LinearPricer
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Problem

TREE = ExplicitGraph([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)])
RING = ExplicitGraph([(0, 3), (3, 1), (1, 5), (5, 2), (2, 4), (4, 0)])
LONG_RING = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0)], lengths=[0.5, 2.0, 1.25, 1.0])
LONG = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[0.5, 2.0, 1.25])


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(9),
        PathPower(9, 2),
        PathPower(10, 3),
        Clique(6),
        Star(5),
        TREE,
        LONG,
        Cycle(7),
        Cycle(10),
        RING,
    ],
)
def test_structured_pricers_agree_with_the_linear_program(graph) -> None:
    rng = np.random.default_rng(graph.size)
    n = graph.size
    costs = rng.random((n, n)) * (1 - np.eye(n))
    problem = Problem(graph, Epsilon.of("ln(2)"), costs)
    for scale in (0.1, 0.5, 2.0):
        prices = scale * rng.random(n) / n
        structured = price(problem, pricer_for(problem), prices, problem.guesses)
        general = price(problem, LinearPricer(problem), prices, problem.guesses)
        # They normalise differently, so they agree on the sign and on whose value is least.
        assert ((structured.values < -1e-9) == (general.values < -1e-9)).all()
        assert (structured.values <= general.values + 1e-9).all()
        assert structured.bound <= prices.sum() + 1e-12


@pytest.mark.parametrize(
    "graph", [PathPower(9, 2), Clique(6), Star(5), LONG, Cycle(6), RING, LONG_RING]
)
def test_rays_respect_every_edge_and_have_the_value_they_claim(graph) -> None:
    rng = np.random.default_rng(1)
    n = graph.size
    problem = Problem(graph, Epsilon.of("1/2"), rng.random((n, n)) * (1 - np.eye(n)))
    prices = rng.random(n)
    found = price(problem, pricer_for(problem), prices, problem.guesses)
    steps = found.heights[:, problem.edges[:, 1]] - found.heights[:, problem.edges[:, 0]]
    assert (np.abs(steps) <= problem.lengths + 1e-12).all()
    rays = problem.alpha ** found.heights.astype(float)
    values = np.einsum("ki,ik->k", rays, problem.costs - prices[:, None])
    assert values == pytest.approx(found.values, rel=1e-9, abs=1e-12)
    assert (found.heights[np.arange(n), problem.anchors] == 0).all()


def all_walks(n: int) -> np.ndarray:
    """All heights on a ring that start at 0 and change by at most 1, also at the last step."""
    steps = np.array([s for s in itertools.product((-1, 0, 1), repeat=n) if sum(s) == 0])
    return np.cumsum(np.insert(steps, 0, 0, axis=1), axis=1)[:, :n]


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_rays_on_a_cycle_are_the_cheapest_of_all_heights(n, alpha) -> None:
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    weights, anchors = rng.normal(size=(n, 8)), rng.integers(0, n, 8)
    values, heights, uniform = CyclePricer(order, alpha).cheapest(weights, anchors)
    walks = all_walks(n)
    for q, anchor in enumerate(anchors.tolist()):
        nodes = np.roll(order, -int(np.flatnonzero(order == anchor)[0]))
        least = (alpha ** walks.astype(float) @ weights[nodes, q]).min()
        assert values[q] == pytest.approx(least, rel=1e-12)
        assert alpha ** heights[q].astype(float) @ weights[:, q] == pytest.approx(least, rel=1e-12)
        assert heights[q, nodes].tolist() in walks.tolist()
    assert (uniform == 0).all()


def test_guesses_on_a_cycle_are_taken_in_turns(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    weights, anchors = rng.normal(size=(9, 5)), np.arange(5)
    together = CyclePricer(np.arange(9), 0.5).cheapest(weights, anchors)
    monkeypatch.setattr(module, "PLACES", 200)
    in_turns = CyclePricer(np.arange(9), 0.5).cheapest(weights, anchors)
    assert together[0].tolist() == in_turns[0].tolist()
    assert together[1].tolist() == in_turns[1].tolist()


@pytest.mark.parametrize(
    ("graph", "level"), [(LONG_RING, "1"), (Cycle(100), "20")], ids=["lengths", "overflow"]
)
def test_cycles_that_floats_or_heights_do_not_fit_take_the_linear_program(graph, level) -> None:
    problem = Problem(graph, Epsilon.of(level), np.ones((graph.size, graph.size)))
    assert isinstance(pricer_for(problem), LinearPricer)


@pytest.mark.parametrize(
    ("n", "loss", "level"),
    [
        (5, "binary", "ln(2)"),
        (12, "absolute", "1/5"),
        (23, "binary", "2"),
        (36, "distance", "1/2"),
        (44, "binary", "ln(2)"),
        (60, "distance", "ln(3)"),
    ],
)
def test_designs_on_cycles_are_certified(n, loss, level) -> None:
    graph = Cycle(n)
    prior = np.random.default_rng(n).dirichlet(np.ones(n)).tolist()
    found = design(graph, level, Consumer.of(graph, prior=prior, loss=loss))
    assert found.certified
    assert found.gap <= 1e-9


def test_a_bound_never_passes_the_optimum() -> None:
    graph = Clique(3)
    problem = Problem(graph, Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    for height in (0.1, 1 / 6, 0.2, 1.0):
        found = price(problem, pricer_for(problem), np.full(3, height), problem.guesses)
        assert found.bound <= 0.5 + 1e-12
    exact = price(problem, pricer_for(problem), np.full(3, 1 / 6), problem.guesses)
    assert exact.bound == pytest.approx(0.5, abs=1e-12)


def test_opening_faces_ends_when_it_changes_nothing() -> None:
    rng = np.random.default_rng(36)
    n = int(rng.integers(20, 51))
    prior = 10 ** rng.uniform(-15, 0, n)
    reader = Consumer.of(Cycle(n), prior=(prior / prior.sum()).tolist(), loss="binary")
    found = design(Cycle(n), 5, reader, route="rays")
    assert found.rounds < 100
    assert found.gap < 1e-4
