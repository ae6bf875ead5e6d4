"""The interior-point method: where it starts from, what it hands on, and what it saves."""

from __future__ import annotations

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer, Prior
from tightrope.graphs import AnswerGraph, Cycle, ExplicitGraph, PathPower
from tightrope.optimize import design
from tightrope.optimize.engine import run_engine
from tightrope.optimize.faces import tight_edges
from tightrope.optimize.interior import faces_of, interior_points
from tightrope.optimize.problem import Problem
from tightrope.optimize.settings import SolverSettings
from tightrope.queries import query

GRAPHS = {
    "band": PathPower(24, 4),
    "plane": query("counts(3,2)").graph,
    "cycle": Cycle(9),
    "lengths": ExplicitGraph([(0, 1), (1, 2), (0, 2), (2, 3)], lengths=[1.0, 2.0, 2.5, 0.5]),
}


def _problem(graph: AnswerGraph, epsilon: str = "0.3") -> Problem:
    prior = np.random.default_rng(graph.size).dirichlet(np.ones(graph.size))
    return Problem.of(graph, Epsilon.of(epsilon), Consumer.of(graph, prior=prior, loss="distance"))


@pytest.mark.parametrize("name", GRAPHS)
def test_it_comes_to_the_optimum_with_private_columns(name: str) -> None:
    problem = _problem(GRAPHS[name])
    best = run_engine(problem)
    found = next(interior_points(problem, problem.guesses, 1e-7))
    columns = found.columns.T
    i, j = problem.edges.T
    fall = problem.alpha ** problem.lengths.astype(float)[:, None]
    assert (columns[j] >= fall * columns[i]).all()
    assert (columns[i] >= fall * columns[j]).all()
    np.testing.assert_allclose(columns.sum(axis=1), 1, atol=1e-9)
    assert (columns * problem.costs).sum() == pytest.approx(best.value, rel=1e-6)
    assert found.prices.sum() == pytest.approx(best.bound, rel=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_its_faces_hold_their_own_columns(name: str) -> None:
    problem = _problem(GRAPHS[name])
    found = next(interior_points(problem, problem.guesses, 1e-6))
    faces = faces_of(problem, found, sharp=0.1, small=1e-5, share=0.01)
    assert sum(face.dimension for face in faces.values()) < 5 * problem.size
    for face in faces.values():
        for part in range(face.dimension):
            # One component may be far below the others: what is left must be private by itself.
            nodes = face.component == part
            inside = nodes[problem.edges].all(axis=1)
            step = np.abs(np.diff(face.heights[problem.edges], axis=1)[:, 0])
            assert (step[inside] <= problem.lengths[inside] + 1e-9).all()
        same = face.component[problem.edges[:, 0]] == face.component[problem.edges[:, 1]]
        assert (tight_edges(problem, face.heights)[same] == face.tight[same]).all()


@pytest.mark.parametrize("name", GRAPHS)
def test_the_engine_goes_on_from_it(name: str) -> None:
    graph = GRAPHS[name]
    prior = np.random.default_rng(1).dirichlet(np.ones(graph.size))
    consumer = Consumer.of(graph, prior=prior, loss="binary")
    at_once = SolverSettings(interior_wait=0)
    inside = design(graph, "0.2", consumer, "rays", settings=at_once)
    outside = design(graph, "0.2", consumer, "rays")
    assert inside.certified
    assert inside.expected_loss == pytest.approx(outside.expected_loss, rel=1e-9)


def test_strong_privacy_keeps_the_master_programs_small() -> None:
    graph = query("mean(30,4)").graph
    far = np.asarray(graph.distances_from(80), dtype=float)
    prior = np.exp(-((far / 6) ** 2) / 2)
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="distance")
    sizes: list[int] = []
    found = design(graph, "0.128", consumer, progress=lambda now: sizes.append(now.variables))
    assert found.certified
    # Faces that only grow by rays come to more than two thousand numbers here.
    assert max(sizes) < 12 * graph.size


def test_a_round_in_which_faces_grow_is_no_reason_to_give_up() -> None:
    graph = query("median(6,23)").graph
    prior = np.random.default_rng(2102419047).dirichlet(np.full(graph.size, 5.0))
    consumer = Consumer.of(graph, prior=prior, loss="absolute")
    assert design(graph, "0.5", consumer, settings=SolverSettings(interior_wait=0.5)).certified


def test_a_refinement_that_ends_undecided_starts_again() -> None:
    graph = query("sum(71,4)").graph
    consumer = Consumer.of(graph, prior=Prior.geometric(graph.size, 0.02), loss="binary")
    assert design(graph, "0.5", consumer).certified
