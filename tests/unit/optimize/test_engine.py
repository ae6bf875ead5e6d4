"""The engine on graphs where it once went round in circles, and warm starts of its programs."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed
from tightrope.graphs import AnswerGraph, ExplicitGraph, PathPower
from tightrope.optimize import design
from tightrope.optimize.columns import private_columns
from tightrope.optimize.engine import first_faces
from tightrope.optimize.faces import Face
from tightrope.optimize.master import solve_master
from tightrope.optimize.objective import ExpectedLoss
from tightrope.optimize.problem import Problem
from tightrope.optimize.settings import SolverSettings


def _tree(size: int) -> ExplicitGraph:
    rng = np.random.default_rng(size)
    return ExplicitGraph([(int(rng.integers(i)), i) for i in range(1, size)])


def test_a_random_tree_takes_few_rounds() -> None:
    prior = np.random.default_rng(0).dirichlet(np.ones(100))
    graph = _tree(100)
    found = design(
        graph, "ln(2)", Consumer.of(graph, prior=prior, loss="binary"), "rays"
    )
    assert found.certified
    assert found.rounds < SolverSettings().most_rounds / 10


def test_faces_to_start_from_always_hold_a_mechanism() -> None:
    problem = Problem(PathPower(4), Epsilon.of(1), np.ones((4, 4)) - np.eye(4))
    start = {2: Face.of_ray(problem, problem.distances[2])}
    with pytest.raises(CheckFailed):
        solve_master(problem, start)
    assert solve_master(problem, first_faces(problem, problem.guesses, start)).value > 0


@pytest.mark.parametrize("graph", [_tree(25), PathPower(20, 3)], ids=["tree", "band"])
def test_a_carried_basis_is_the_same_solution_in_larger_faces(
    graph: AnswerGraph,
) -> None:
    n = graph.size
    costs = np.random.default_rng(1).dirichlet(np.ones(n))[:, None] * (1 - np.eye(n))
    problem = Problem(graph, Epsilon.of("ln(2)"), costs)
    small = first_faces(problem, problem.guesses)
    before = solve_master(problem, small)
    large = {k: face.joined_with(np.zeros(n, int)) for k, face in small.items()}
    again = solve_master(problem, dict(small), before)
    cold, warm = solve_master(problem, large), solve_master(problem, large, before)
    assert again.seconds == 0
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    assert warm.value < before.value
    assert warm.seconds < cold.seconds


def test_a_variable_is_as_large_as_what_it_stands_for() -> None:
    problem = Problem(PathPower(19), Epsilon.of("ln(2)"), np.ones((19, 19)))
    towering = Face.of_ray(problem, -np.arange(19))
    joined = towering.joined_with(-np.maximum(np.arange(19), 1))
    assert joined.column(np.array([0.0, 0.25]))[-1] == 0.25
    assert max(float(joined.shape.max()), *map(float, joined.rows[2])) <= 1
    assert towering.column(np.array([1.0]))[0] == 2.0**-18


def test_columns_of_a_master_program_are_balanced_at_next_to_no_cost() -> None:
    graph = PathPower(40, 3)
    prior = 10 ** np.random.default_rng(2).uniform(-15, 0, 40)
    distance = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    problem = Problem(graph, Epsilon.of(1), (prior / prior.sum())[:, None] * distance)
    faces = {
        k: face.joined_with(np.zeros(40, int))
        for k, face in first_faces(problem, problem.guesses).items()
    }
    solved = solve_master(problem, faces)
    made = private_columns(problem, solved.columns)
    found = np.array(list(made.values()))
    assert (found[:, None, :] * problem.rates <= found[:, :, None] * (1 + 1e-15)).all()
    np.testing.assert_allclose(found.sum(axis=0), 1, atol=1e-13)
    assert ExpectedLoss(problem).worth(made) == pytest.approx(solved.value, rel=1e-10)
