"""What a correct guess is worth at most: a bound on graphs of any size."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.consumers import Consumer
from tightrope.graphs import Cycle, PathPower
from tightrope.optimize import SolverSettings, design
from tightrope.optimize.covers import small_cover, with_cover
from tightrope.optimize.task import Task
from tightrope.phi import Phi

#: Small questions count as large, so that the engine knows their optimum.
ALL_LARGE = SolverSettings(window_answers=3)


@pytest.mark.parametrize("level", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("counts(3,2)", "change-one"),
        ("counts(3,2)", "add-remove"),
        ("histogram(5,3)", "either"),
        ("median(4,5)", "either"),
        ("mean(4,3)", "add-remove"),
    ],
)
def test_a_cover_reaches_every_answer_and_bounds_the_optimum(text, relation, level):
    graph = tr.query(text, neighbours=relation).graph
    prior = np.random.default_rng(5).dirichlet(np.ones(graph.size))
    task = Task.of(graph, level, prior=prior, loss="binary")
    cover = small_cover(task)
    assert (cover >= 0).all()
    assert (Phi(graph, level).matrix() @ cover >= prior).all()
    best = design(graph, level, task.consumer)
    assert 1 - cover.sum() <= best.expected_loss + 1e-9


@pytest.mark.parametrize("loss", ["binary", "distance", "absolute", "squared"])
def test_its_prices_are_dual_feasible_for_every_loss(loss):
    graph = PathPower(12, 5, step=3)
    task = Task.of(graph, 0.3, prior="uniform", loss=loss)
    task = Task(graph, task.epsilon, task.consumer, settings=ALL_LARGE)
    rough = design(graph, 0.3, task.consumer, route="dual")
    unproved = with_cover(task, tr.optimize.planner._without_search(task))
    assert unproved.bound <= rough.expected_loss + 1e-9
    assert unproved.certificate.checked_bound() >= unproved.bound - 1e-9


def test_on_a_ring_it_is_the_optimum():
    ring = Task.of(Cycle(7), 1, prior="uniform", loss="binary")
    best = design(Cycle(7), 1, ring.consumer)
    assert 1 - small_cover(ring).sum() == pytest.approx(best.expected_loss, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "relation", "loss", "gap"),
    [
        ("median(33,2240)", "either", "distance", 1e-3),
        ("median(20,20000)", "change-one", "distance", 1e-3),
        ("counts(32,3)", "change-one", "binary", 2e-2),
        ("histogram(200,3)", "change-one", "binary", 5e-3),
    ],
)
def test_large_questions_where_hardly_any_guess_is_correct(text, relation, loss, gap):
    asked = tr.query(text, neighbours=relation)
    consumer = Consumer.of(asked.graph, prior="uniform", loss=loss)
    assert tr.design(asked, 0.5, consumer).gap < gap


def test_a_file_of_noise_on_a_lattice_proves_its_bound_by_rule():
    asked = tr.query("counts(32,3)")
    consumer = Consumer.of(asked.graph, prior="uniform", loss="binary")
    found = tr.design(asked, 1, consumer)
    verdict = tr.verify(tr.prove(found, asked))
    assert verdict.private
    assert verdict.optimal_within >= found.expected_loss - found.bound
