"""All rays of small graphs, and programs over them."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from tightrope.axioms.universality import all_rays, together
from tightrope.channels import GeometricChannel
from tightrope.consumers import Consumer, expected_loss
from tightrope.errors import TooLarge
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.mechanisms import tight_constraints


def plain_optimum(graph, alpha, consumer):
    """The program over whole mechanisms [C, (2)-(6)], outputs as guesses."""
    n = graph.size
    cost = (consumer.prior.probabilities[:, None] * consumer.loss.matrix()).ravel()
    above = []
    for i, h in graph.edges():
        for a, b in ((i, h), (h, i)):
            for o in range(n):
                row = np.zeros(n * n)
                row[a * n + o], row[b * n + o] = alpha, -1
                above.append(row)
    equal = np.kron(np.eye(n), np.ones((1, n)))
    solved = linprog(
        cost, A_ub=np.array(above), b_ub=np.zeros(len(above)), A_eq=equal, b_eq=np.ones(n),
        method="highs",
    )  # fmt: skip
    return solved.fun


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (PathPower(2), 2),
        (PathPower(5), 16),
        (Star(3), 8),
        (Clique(3), 6),
        (Clique(4), 14),
        (Cycle(4), 6),
    ],
)
def test_counts(graph, count):
    rays = all_rays(graph, 0.5)
    assert rays.shape == (count, graph.size)
    assert len({tuple(r) for r in rays.tolist()}) == count
    edges = graph.edge_array()
    ratios = rays[:, edges[:, 0]] / rays[:, edges[:, 1]]
    assert ((ratios >= 0.5) & (ratios <= 2)).all()


@pytest.mark.parametrize("loss", ["binary", "distance"])
@pytest.mark.parametrize(
    "graph", [PathPower(4), Star(3), Clique(4), Cycle(5), PathPower(5, 2)]
)
def test_rays_give_the_optimum(graph, loss):
    rng = np.random.default_rng(0)
    for alpha in (0.3, 0.7):
        consumer = Consumer.of(
            graph, prior=rng.dirichlet(np.ones(graph.size)), loss=loss
        )
        own = together(all_rays(graph, alpha), [consumer]).own[0]
        assert own == pytest.approx(plain_optimum(graph, alpha, consumer), abs=1e-8)


def test_all_are_served_on_a_path():
    graph, rng = PathPower(4), np.random.default_rng(1)
    people = [
        Consumer.of(graph, prior=rng.dirichlet(np.ones(4)), loss=kind)
        for kind in ("binary", "absolute", "squared")
    ] + [
        Consumer.of(graph, support=[0, 2], loss="absolute"),
        Consumer.of(graph, support=[1, 2]),
    ]
    found = together(all_rays(graph, 0.5), people)
    assert found.regret == pytest.approx(0, abs=1e-9)
    geometric = GeometricChannel(4, "ln(2)")
    for own, consumer in zip(found.own[:3], people, strict=False):
        assert expected_loss(geometric, consumer) == pytest.approx(own, abs=1e-9)


def test_not_all_are_served_on_a_triangle():
    people = [Consumer.of(Clique(3)), Consumer.of(Clique(3), prior="0.5,0.5,0")]
    found = together(all_rays(Clique(3), 0.5), people)
    assert found.own == pytest.approx((0.5, 1 / 3))
    assert found.regret > 0.02
    assert found.active == (0, 1)


def test_minimax_duality_on_a_tree():
    """What is optimal for every prior is optimal for every set of answers."""
    graph, alpha = Star(3), 0.4
    mechanism = tight_constraints(graph, -math.log(alpha)).matrix()
    rays = all_rays(graph, alpha)
    for support in ([0, 1], [1, 2], [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]):
        consumer = Consumer.of(graph, support=support)
        best = together(rays, [consumer]).own[0]
        # The best remap of the one mechanism: the same program with its columns as the rays.
        n = graph.size
        cost = np.zeros(n * n + 1)
        cost[-1] = 1
        above = np.zeros((len(support), n * n + 1))
        for row, i in enumerate(support):
            wrong = np.ones(n)
            wrong[i] = 0
            above[row, :-1] = np.kron(mechanism[i], wrong)
            above[row, -1] = -1
        equal = np.hstack([np.kron(np.eye(n), np.ones((1, n))), np.zeros((n, 1))])
        solved = linprog(
            cost, A_ub=above, b_ub=np.zeros(len(support)), A_eq=equal, b_eq=np.ones(n),
            method="highs",
        )  # fmt: skip
        assert solved.fun == pytest.approx(best, abs=1e-8)


def test_refusals():
    with pytest.raises(TooLarge, match="rays of 10"):
        all_rays(PathPower(10), 0.5)
    with pytest.raises(ValueError, match="length 1"):
        all_rays(ExplicitGraph([(0, 1)], lengths=[2.0]), 0.5)
