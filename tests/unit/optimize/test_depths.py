"""Prices by the distance from the ends, on boxes and simplices."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.graphs import PathPower, StrongProduct
from tightrope.optimize.depths import _classes, _InteriorPoint, depths_route
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


@pytest.mark.parametrize(("text", "neighbours"), QUESTIONS)
@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
def test_prices_by_depth_are_dual_feasible(text, neighbours, loss):
    task = task_of(text, neighbours, loss, 1.5)
    method = _InteriorPoint(task, task.graph.depths, 2, 2 + 3, 3)
    proof = tr.optimize.Certificate(
        task.graph, task.epsilon, task.consumer, method.solve()
    )
    # Minimum cuts price every guess again, on the whole graph.
    assert proof.checked_bound() >= proof.bound - 1e-9
    best = tr.design(task.graph, 1.5, task.consumer, gap=1e-6)
    assert 0.6 * best.bound <= proof.bound <= best.expected_loss * (1 + 1e-9)


def test_prices_above_those_are_not():
    task = task_of("counts(8,2)", "change-one", "distance", 1.5)
    prices = _InteriorPoint(task, task.graph.depths, 4, 4, 8).solve()
    proof = tr.optimize.Certificate(
        task.graph, task.epsilon, task.consumer, 1.01 * prices
    )
    assert proof.checked_bound() < proof.bound


@pytest.mark.parametrize(
    ("text", "neighbours", "loss"),
    [
        ("counts(12,2)", "change-one", "absolute"),
        ("counts(9,2)", "add-remove", "distance"),
        ("histogram(16,3)", "change-one", "squared"),
    ],
)
def test_columns_of_the_same_program_are_a_mechanism(text, neighbours, loss):
    task = task_of(text, neighbours, loss, 2)
    plan = depths_route(task)
    found = plan.solve()
    assert found.gap < 0.02
    assert is_private(found.channel, task.graph, task.epsilon)
    assert np.allclose(found.channel.matrix().sum(axis=1), 1, rtol=0, atol=1e-9)


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
        (StrongProduct([PathPower(30)] * 3), "uniform", "squared", "too many answers"),
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
