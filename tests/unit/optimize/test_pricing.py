"""Pricing: every structure finds what the linear program finds, and heights are heights."""

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.graphs import Band, Clique, Cycle, ExplicitGraph, Star
from tightrope.optimize.price_lp import LinearPricer
from tightrope.optimize.pricing import price, pricer_for
from tightrope.optimize.problem import Problem

TREE = ExplicitGraph([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)])
LONG = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[0.5, 2.0, 1.25])


@pytest.mark.parametrize(
    "graph", [Band(9), Band(9, 2), Band(10, 3), Clique(6), Star(5), TREE, LONG]
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


@pytest.mark.parametrize("graph", [Band(9, 2), Clique(6), Star(5), LONG, Cycle(6)])
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


def test_a_bound_never_passes_the_optimum() -> None:
    graph = Clique(3)
    problem = Problem(graph, Epsilon.of("ln(2)"), (np.ones((3, 3)) - np.eye(3)) / 3)
    for height in (0.1, 1 / 6, 0.2, 1.0):
        found = price(problem, pricer_for(problem), np.full(3, height), problem.guesses)
        assert found.bound <= 0.5 + 1e-12
    exact = price(problem, pricer_for(problem), np.full(3, 1 / 6), problem.guesses)
    assert exact.bound == pytest.approx(0.5, abs=1e-12)
