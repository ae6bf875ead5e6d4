"""The engine on graphs where it once went round in circles, and warm starts of its programs."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.graphs import AnswerGraph, ExplicitGraph, PathPower
from tightrope.optimize import design
from tightrope.optimize.engine import MOST_ROUNDS, first_faces
from tightrope.optimize.faces import Face
from tightrope.optimize.master import solve_master
from tightrope.optimize.problem import Problem


def _tree(size: int) -> ExplicitGraph:
    rng = np.random.default_rng(size)
    return ExplicitGraph([(int(rng.integers(i)), i) for i in range(1, size)])


def test_a_random_tree_takes_few_rounds() -> None:
    prior = np.random.default_rng(0).dirichlet(np.ones(100))
    graph = _tree(100)
    found = design(graph, "ln(2)", Consumer.of(graph, prior=prior, loss="binary"), "rays")
    assert found.certified
    assert found.rounds < MOST_ROUNDS / 10


@pytest.mark.parametrize("graph", [_tree(25), PathPower(20, 3)], ids=["tree", "band"])
def test_a_carried_basis_is_the_same_solution_in_larger_faces(graph: AnswerGraph) -> None:
    n = graph.size
    costs = np.random.default_rng(1).dirichlet(np.ones(n))[:, None] * (1 - np.eye(n))
    problem = Problem(graph, Epsilon.of("ln(2)"), costs)
    small = first_faces(problem, problem.guesses)
    before = solve_master(problem, small)
    large = {k: face.opened(2.0) for k, face in small.items()}
    again = solve_master(problem, dict(small), before)
    cold, warm = solve_master(problem, large), solve_master(problem, large, before)
    assert again.iterations == 0
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    assert warm.value < before.value
    assert warm.iterations < cold.iterations


def test_a_tiny_variable_of_a_towering_ray_is_not_lost() -> None:
    problem = Problem(PathPower(19), Epsilon.of("ln(2)"), np.ones((19, 19)))
    towering = Face.of_ray(problem, -np.arange(19))
    column = towering.joined_with(-np.maximum(np.arange(19), 1)).column(np.array([0.0, 1e-10]))
    assert column[-1] == pytest.approx(1e-10 * 2.0**18)
    drowned = Face.of_ray(problem, np.arange(19)).column(np.array([1e-10]))
    assert not drowned.any()
