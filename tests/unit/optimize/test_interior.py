"""The interior-point method: where it starts from, what it hands on, and what it saves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer, Prior
from tightrope.graphs import AnswerGraph, Cycle, ExplicitGraph, PathPower
from tightrope.optimize import design, engine
from tightrope.optimize.engine import run_engine
from tightrope.optimize.interior import interior_points
from tightrope.optimize.master import solve_master
from tightrope.optimize.objective import ExpectedLoss, MinimaxLoss
from tightrope.optimize.pricing import Pricer, price
from tightrope.optimize.problem import Problem
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import Task
from tightrope.queries import query

GRAPHS = {
    "band": PathPower(24, 4),
    "plane": query("counts(3,2)").graph,
    "cycle": Cycle(9),
    "lengths": ExplicitGraph(
        [(0, 1), (1, 2), (0, 2), (2, 3)], lengths=[1.0, 2.0, 2.5, 0.5]
    ),
}


def _problem(graph: AnswerGraph, epsilon: str = "0.3") -> Problem:
    prior = np.random.default_rng(graph.size).dirichlet(np.ones(graph.size))
    return Problem.of(
        graph, Epsilon.of(epsilon), Consumer.of(graph, prior=prior, loss="distance")
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_it_comes_to_the_optimum_with_private_columns(name: str) -> None:
    problem = _problem(GRAPHS[name])
    best = run_engine(problem)
    found = next(
        one for one in interior_points(ExpectedLoss(problem)) if one.gap < 1e-7
    )
    columns = found.columns.T
    i, j = problem.edges.T
    fall = problem.alpha ** problem.lengths.astype(float)[:, None]
    assert (columns[j] >= fall * columns[i]).all()
    assert (columns[i] >= fall * columns[j]).all()
    np.testing.assert_allclose(columns.sum(axis=1), 1, atol=1e-9)
    assert (columns * problem.costs).sum() == pytest.approx(best.value, rel=1e-6)
    assert found.prices.sum() == pytest.approx(best.bound, rel=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_worst_loss_comes_with_its_prior(name: str) -> None:
    graph = GRAPHS[name]
    support = np.arange(2 * graph.size // 3)
    consumer = Consumer(support=support, loss=Consumer.of(graph, loss="distance").loss)
    aim = Task(graph, Epsilon.of("0.3"), consumer).objective
    assert isinstance(aim, MinimaxLoss)
    best = run_engine(aim)
    found = next(one for one in interior_points(aim) if one.gap < 1e-8)
    lost = (found.columns.T * aim.losses[:, aim.guesses]).sum(axis=1)
    assert lost[support].max() == pytest.approx(best.value, rel=1e-6)
    assert found.multipliers.sum() == pytest.approx(1)
    assert not np.delete(found.multipliers, support).any()
    problem = aim.weighed(found.multipliers)
    proved = price(problem, Pricer(problem), found.prices, problem.guesses)
    assert proved.bound == pytest.approx(best.value, rel=1e-6)


def test_wide_sums_are_designed_for_the_worst_of_many_answers() -> None:
    graph = query("sum(17,10)").graph
    consumer = Consumer.of(graph, support=range(20, 130), loss="absolute")
    steps: list[str] = []
    found = design(graph, "0.5", consumer, progress=lambda now: steps.append(now.step))
    assert found.certified
    assert any("interior-point" in step for step in steps)


def test_it_keeps_its_digits_where_normal_equations_lose_them() -> None:
    # Rigid staircases make the matrices of the guesses huge beside what matters in them.
    problem = _problem(PathPower(61, 6), "0.2")
    pricer = Pricer(problem)
    best = max(
        price(problem, pricer, found.prices, problem.guesses).bound / found.value
        for found in interior_points(ExpectedLoss(problem))
        if found.gap < 1e-8
    )
    assert best > 1 - 1e-10


def test_it_keeps_its_digits_where_the_optimum_is_degenerate() -> None:
    # The system for the prices tends to a singular one.
    prior = np.random.default_rng(3).dirichlet(np.ones(81))
    problem = Problem(
        PathPower(81, 4), Epsilon.of(1), prior[:, None] * (1 - np.eye(81))
    )
    assert min(found.gap for found in interior_points(ExpectedLoss(problem))) < 1e-12


def test_it_keeps_its_digits_where_slacks_change_far_less_than_columns() -> None:
    graph = query("sum(17,10)").graph
    weights = np.arange(1.0, graph.size + 1) ** -2
    consumer = Consumer.of(graph, prior=weights / weights.sum(), loss="absolute")
    found = interior_points(
        ExpectedLoss(Problem.of(graph, Epsilon.of("1.34"), consumer))
    )
    assert any(one.gap < 5e-10 for one in found)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_engine_ends_with_it(name: str) -> None:
    graph = GRAPHS[name]
    prior = np.random.default_rng(1).dirichlet(np.ones(graph.size))
    consumer = Consumer.of(graph, prior=prior, loss="binary")
    at_once = SolverSettings(interior_wait=0)
    inside = design(graph, "0.2", consumer, "rays", settings=at_once)
    outside = design(graph, "0.2", consumer, "rays")
    assert inside.certified
    assert inside.expected_loss == pytest.approx(outside.expected_loss, rel=1e-9)


def test_strong_privacy_is_solved_for_all_columns_at_once() -> None:
    graph = query("mean(30,4)").graph
    far = np.asarray(graph.distances_from(80), dtype=float)
    prior = np.exp(-((far / 6) ** 2) / 2)
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="distance")
    steps: list[str] = []
    found = design(
        graph, "0.128", consumer, "rays", progress=lambda now: steps.append(now.step)
    )
    assert found.certified
    # Faces that only grow by rays come to more than two thousand numbers here.
    assert any("interior-point" in step for step in steps)


def test_a_round_in_which_faces_grow_is_no_reason_to_give_up() -> None:
    graph = query("median(6,23)").graph
    prior = np.random.default_rng(2102419047).dirichlet(np.full(graph.size, 5.0))
    consumer = Consumer.of(graph, prior=prior, loss="absolute")
    assert design(
        graph, "0.5", consumer, settings=SolverSettings(interior_wait=0.5)
    ).certified


def test_a_refinement_that_ends_undecided_starts_again() -> None:
    graph = query("sum(71,4)").graph
    consumer = Consumer.of(
        graph, prior=Prior.geometric(graph.size, 0.02), loss="binary"
    )
    assert design(graph, "0.5", consumer).certified


def test_rounds_that_gain_nothing_are_no_reason_to_give_up() -> None:
    graph = query("median(2,56)").graph
    consumer = Consumer.of(
        graph, prior=Prior.geometric(graph.size, 0.02), loss="distance"
    )
    # Column generation ends with a gap of 5e-4 here.
    assert design(graph, "0.814", consumer).certified


def test_numbers_beyond_doubles_are_no_reason_to_fail() -> None:
    graph = query("sum(20,4)").graph
    prior = np.random.default_rng(0).dirichlet(np.ones(graph.size))
    consumer = Consumer.of(graph, prior=prior, loss="binary")
    at_once = SolverSettings(interior_wait=0)
    assert design(graph, 300, consumer, "rays", settings=at_once).certified


@pytest.mark.parametrize("epsilon", [18, 19, 20])
def test_a_correction_that_takes_nothing_away_ends_the_refinement(epsilon: int) -> None:
    graph = query("sum(2,1)", neighbours="either").graph
    found = design(graph, epsilon, Consumer.of(graph, prior="uniform", loss="absolute"))
    assert found.gap < 1e-6  # of a loss of 1e-8 and less


def test_digits_that_a_program_has_lost_are_solved_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rough(*given: Any, **options: Any) -> Any:
        solved = solve_master(*given, **options)
        columns = {k: np.where(x > 1e-3, x, 1e-3) for k, x in solved.columns.items()}
        return replace(solved, columns=columns)

    monkeypatch.setattr(engine, "solve_master", rough)
    problem = _problem(GRAPHS["band"])
    steps: list[str] = []
    found = run_engine(problem, progress=lambda now: steps.append(now.step))
    assert "interior-point" in steps[-1]
    assert found.value == pytest.approx(found.bound, rel=1e-9)


def test_a_value_that_falls_as_fast_as_the_gap_is_progress() -> None:
    # Nearly all people give one answer: values fall from 6 to 6e-4 before their gap gets smaller.
    graph = query("histogram(6,4)", neighbours="add-remove").graph
    prior = np.full(graph.size, 1e-4 / graph.size)
    prior[21] = 1
    consumer = Consumer.of(graph, prior=prior / prior.sum(), loss="absolute")
    problem = Problem.of(graph, Epsilon.of("0.116"), consumer)
    found = next(
        one for one in interior_points(ExpectedLoss(problem)) if one.gap < 1e-10
    )
    # What is proved has as many digits: pricing sends no more than is owed.
    proved = price(problem, Pricer(problem), found.prices, problem.guesses)
    assert proved.bound == pytest.approx(found.value, rel=1e-9)
