"""Trees: weights, certificates and refutations."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tightrope.axioms.universality import (
    all_rays,
    refute_by_star,
    star_optimum,
    together,
)
from tightrope.consumers import Consumer, utility
from tightrope.errors import InputError
from tightrope.graphs import ExplicitGraph, PathPower, Star
from tightrope.mechanisms import tight_constraints
from tightrope.mechanisms.tight import candidate_prices
from tightrope.phi import Phi


@pytest.mark.parametrize(
    "graph",
    [
        PathPower(6),
        Star(4),
        ExplicitGraph([(0, 1), (1, 2), (1, 3), (3, 4)], lengths=[1, 2, 0.5, 3.0]),
    ],
)
def test_weights_solve_the_system(graph):
    z = Phi(graph, 0.8).solve_ones().values
    phi = np.exp(-0.8 * graph.distance_matrix())
    assert phi @ z == pytest.approx(np.ones(graph.size), abs=1e-12)


def test_certificates_with_lengths():
    graph = ExplicitGraph([(0, 1), (1, 2), (1, 3)], lengths=[1.0, 2.0, 0.5])
    prior = [0.1, 0.2, 0.3, 0.4]
    mechanism = tight_constraints(graph, 2)
    _, certificate = candidate_prices(Phi(graph, 2), np.array(prior))
    phi = np.exp(-2 * graph.distance_matrix())
    v = (np.array(prior)[:, None] * phi).max(axis=0)
    assert certificate == pytest.approx(np.linalg.solve(phi, v), abs=1e-12)
    consumer = Consumer.of(graph, prior=prior)
    assert utility(mechanism, consumer) == pytest.approx(certificate.sum(), abs=1e-12)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_star_optimum_is_the_program_over_rays(k):
    alpha = Fraction(3, 4)
    graph = Star(k)
    people = []
    for i in range(1, k + 1):
        for j in range(i + 1, k + 1):
            prior = np.zeros(k + 1)
            prior[[0, i, j]] = 1 / 3
            people.append(Consumer.of(graph, prior=prior))
    rays = all_rays(graph, float(alpha))
    gains = sum((c.prior.probabilities * rays).max(axis=1) for c in people)
    from scipy.optimize import linprog

    solved = linprog(-gains, A_eq=rays.T, b_eq=np.ones(k + 1), method="highs")
    assert float(star_optimum(alpha, k)) == pytest.approx(-solved.fun, abs=1e-9)
    own = together(rays, people).own
    apart = len(people) * (3 - alpha) / (3 * (1 + alpha))
    assert len(people) - sum(own) == pytest.approx(float(apart), abs=1e-9)
    assert star_optimum(alpha, k) < apart


@pytest.mark.parametrize("k", range(3, 8))
def test_the_star_refutes_above_the_threshold_only(k):
    graph = Star(k)
    proof = refute_by_star(graph, f"ln({k - 1.01:.2f})")
    assert proof.together < proof.apart
    assert len(proof.supports) == math.comb(k, 2)
    with pytest.raises(InputError, match="refutes nothing"):
        refute_by_star(graph, f"ln({k - 1})")


@pytest.mark.parametrize(
    "graph",
    [
        Star(4),
        ExplicitGraph([(0, 1), (1, 2), (1, 3), (3, 4)], lengths=[1, 2, 0.5, 3.0]),
        ExplicitGraph([(0, 1), (1, 2), (2, 0), (2, 3)], lengths=[1, 2, 0.5, 3.0]),
    ],
    ids=["star", "tree with lengths", "triangle with lengths"],
)
def test_products_solutions_and_reach_agree_with_the_matrix(graph):
    phi, matrix = Phi(graph, 0.7), np.exp(-0.7 * graph.distance_matrix())
    x = np.linspace(0.1, 1, graph.size)
    assert phi.matvec(x) == pytest.approx(matrix @ x, rel=1e-13)
    assert phi.solve(x).values == pytest.approx(np.linalg.solve(matrix, x), abs=1e-12)
    assert phi.reach(x) == pytest.approx((matrix * x).max(axis=1), rel=1e-13)
    bound = phi.inverse_norm
    assert bound is None or bound >= np.linalg.norm(np.linalg.inv(matrix), 2)
