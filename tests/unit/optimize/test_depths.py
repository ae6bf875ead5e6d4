"""Prices by the distance from the ends, on boxes and simplices."""

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tightrope.consumers import Consumer
from tightrope.graphs import PathPower, StrongProduct
from tightrope.optimize.boxstep import Boxstep
from tightrope.optimize.depths import Balls, _classes, depths_route
from tightrope.optimize.problem import Floats
from tightrope.optimize.progress import Watch
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import Task

QUESTIONS = [
    ("counts(8,2)", "change-one"),
    ("counts(7,2)", "add-remove"),
    ("histogram(10,3)", "change-one"),
    ("histogram(5,2)", "add-remove"),
    ("histogram(5,2)", "either"),
    ("counts(3,3)", "change-one"),
]


def task_of(text: str, neighbours: str, loss: str, level: float) -> Task:
    graph = tr.query(text, neighbours=neighbours).graph
    consumer = Consumer.of(graph, prior="uniform", loss=loss)
    small = SolverSettings(window_answers=0)
    return Task(graph, tr.Epsilon.of(level), consumer, settings=small)


def prices_of(
    task: Task, depth: int, radius: int, known: Floats | None = None
) -> Floats:
    market = Balls(task, depth, radius, known)
    search = Boxstep(market, 1e-6)
    search.run()
    return search.prices[market.classes] / task.graph.size


@pytest.mark.parametrize(("text", "neighbours"), QUESTIONS)
@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
def test_prices_by_depth_are_dual_feasible(text, neighbours, loss):
    task = task_of(text, neighbours, loss, 1.5)
    prices = prices_of(task, 2, 3)
    proof = tr.optimize.Certificate(task.graph, task.epsilon, task.consumer, prices)
    # Minimum cuts price every guess again, on the whole graph.
    assert proof.checked_bound() >= proof.bound - 1e-9
    best = tr.design(task.graph, 1.5, task.consumer, gap=1e-6)
    assert 0.6 * best.bound <= proof.bound <= best.expected_loss * (1 + 1e-9)


def test_prices_above_those_are_not():
    task = task_of("counts(8,2)", "change-one", "distance", 1.5)
    prices = prices_of(task, 4, 8)
    proof = tr.optimize.Certificate(
        task.graph, task.epsilon, task.consumer, 1.01 * prices
    )
    assert proof.checked_bound() < proof.bound


def test_larger_balls_begin_with_what_smaller_ones_have_proved():
    task = task_of("counts(8,2)", "change-one", "distance", 1.5)
    size = task.graph.size
    small = prices_of(task, 2, 2)
    assert np.allclose(Balls(task, 4, 8, size * small).proved.max(), size * small.max())
    large = prices_of(task, 4, 8, size * small)
    assert small.sum() < large.sum()


def test_balls_that_reach_all_answers_prove_the_best_bound():
    task = task_of("counts(8,2)", "change-one", "absolute", 1)
    best = tr.design(task.graph, 1, task.consumer)
    assert prices_of(task, 4, 8).sum() == pytest.approx(best.bound, rel=1e-5)


def test_time_that_is_up_leaves_noise_and_what_was_proved():
    task = task_of("counts(70,2)", "change-one", "absolute", 1)
    watch = Watch.of(None, 0.01)
    plan = depths_route(replace(task, watch=watch))
    found = plan.solve()
    assert found.stopped
    assert 0 <= found.bound <= found.expected_loss
    rested = depths_route(task).solve()
    assert found.expected_loss == rested.expected_loss
    assert rested.gap < 0.03


def test_many_answers_keep_noise_without_ends():
    graph = tr.query("counts(150,2)").graph
    consumer = Consumer.of(graph, prior="uniform", loss="distance")
    found = tr.design(graph, 2, consumer)
    assert found.route == "depths"
    assert found.gap < 0.02
    # A file proves what follows by rule.
    assert tr.verify(tr.prove(found)).private


@pytest.mark.parametrize(
    ("graph", "prior", "loss", "why"),
    [
        (StrongProduct([PathPower(40)] * 2), "uniform", np.eye(1600), "may differ"),
        (StrongProduct([PathPower(40), PathPower(41)]), "uniform", "binary", "neither"),
        (PathPower(1200, 2), "geometric(.1)", "binary", "uniform prior"),
        (StrongProduct([PathPower(9)] * 2), "uniform", "binary", "81 answers are few"),
        (
            StrongProduct([PathPower(35)] * 2),
            "uniform",
            "binary",
            "171 orbits of answers",
        ),
    ],
)
def test_a_refusal_names_the_condition(graph, prior, loss, why):
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    assert why in depths_route(Task(graph, tr.Epsilon.of(0.5), consumer))


@pytest.mark.parametrize(("text", "neighbours"), QUESTIONS)
def test_answers_of_equal_depths_are_alike(text, neighbours):
    graph = tr.query(text, neighbours=neighbours).graph
    classes, first, sizes = _classes(graph.depths, int(graph.depths.max()))
    assert np.array_equal(np.bincount(classes), sizes)
    for node in range(graph.size):
        other = int(first[classes[node]])
        assert graph.degree(node) == graph.degree(other)
        ours = np.sort(graph.distances_from(node))
        assert np.array_equal(ours, np.sort(graph.distances_from(other)))
