"""Noise on a lattice with the best guess for each output, and interpolated prices."""

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from tightrope.channels import GuessedNoise, UnboundedNoise
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.optimize.posterior import posterior_route
from tightrope.optimize.result import Design
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.task import Task

QUESTIONS = [
    ("counts(9,2)", "change-one", "people(1/2,1/3)"),
    ("counts(8,2)", "add-remove", "people(1/10,1/20)"),
    ("histogram(13,3)", "change-one", "people(1/2,1/3,1/6)"),
    ("counts(3,3)", "either", "people(1/2,1/3,1/5)"),
]
LOSSES = ["binary", "absolute", "squared", "distance"]


def task_of(text: str, neighbours: str, prior: str, loss: str) -> Task:
    graph = tr.query(text, neighbours=neighbours).graph
    consumer = Consumer.of(graph, prior=prior, loss=loss)
    small = SolverSettings(window_answers=0)
    return Task(graph, tr.Epsilon.of(1.2), consumer, settings=small)


def solved(task: Task) -> Design:
    plan = posterior_route(task)
    assert not isinstance(plan, str), plan
    return plan.solve()


@pytest.mark.parametrize(("text", "neighbours", "prior"), QUESTIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_interpolated_prices_are_dual_feasible(text, neighbours, prior, loss):
    task = task_of(text, neighbours, prior, loss)
    found = solved(task)
    # Minimum cuts price every guess again, on the whole graph.
    assert found.certificate.checked_bound() >= found.bound - 1e-9
    best = tr.design(task.graph, 1.2, task.consumer, gap=1e-6)
    assert 0.8 * best.bound <= found.bound <= best.expected_loss * (1 + 1e-9)
    # Not below what is proved, and better than simple noise with the best guesses.
    assert found.expected_loss >= best.bound * (1 - 1e-9)
    assert found.expected_loss < min(best.baselines.values())


def test_a_narrow_prior_has_a_bound():
    # A ray costs less than the prices to begin with: the box must reach below it.
    task = task_of("counts(8,2)", "either", "people(19/20,19/20)", "distance")
    found = solved(task)
    assert 0.4 < found.bound <= found.expected_loss


def test_prices_above_those_are_not():
    task = task_of(*QUESTIONS[0], "distance")
    proof = solved(task).certificate
    more = replace(proof, prices=1.1 * proof.prices)
    assert more.checked_bound() < 1.1 * proof.bound - 1e-3


@pytest.mark.parametrize(("text", "neighbours", "prior"), QUESTIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_is_that_of_the_mechanism(text, neighbours, prior, loss):
    task = task_of(text, neighbours, prior, loss)
    found = solved(task)
    rows = np.array([found.channel.row(i) for i in range(task.graph.size)])
    assert np.allclose(rows.sum(axis=1), 1)
    lost = (rows * task.consumer.loss.matrix()).sum(axis=1)
    exact = float(task.prior @ lost)
    # Answers with 1e-7 of the probability are counted by their worst guess.
    assert exact - 1e-9 <= found.expected_loss <= exact + 1e-4
    start, end = task.graph.edge_array().T
    most = np.exp(1.2) * (1 + 1e-9)
    assert (rows[start] <= most * rows[end] + 1e-12).all()
    assert (rows[end] <= most * rows[start] + 1e-12).all()


def test_another_guess_loses_more():
    task = task_of("histogram(5,3)", "change-one", "people(1/2,1/3,1/6)", "squared")
    channel = solved(task).channel
    assert isinstance(channel, GuessedNoise)
    first = tuple(channel._points[0].tolist())
    losses = task.consumer.loss.matrix()

    def lost(guesses: np.ndarray) -> float:
        other = GuessedNoise(channel.noise, first, guesses, channel.elsewhere)
        rows = np.array([other.row(i) for i in range(task.graph.size)])
        return float(task.prior @ (rows * losses).sum(axis=1))

    least = lost(channel.guesses)
    for place in list(np.ndindex(channel.guesses.shape))[::7]:
        others = channel.guesses.copy()
        others[place] = (others[place] + 1) % task.graph.size
        assert lost(others) >= least - 1e-12


@pytest.mark.parametrize(
    ("text", "neighbours", "prior", "loss", "why"),
    [
        ("counts(40,2)", "change-one", "uniform", "absolute", "not uniform"),
        ("sum(500,4)", "change-one", "binomial(.3)", "absolute", "not a box"),
        ("counts(9,2)", "change-one", "people(1/2,1/3)", "absolute", "few enough"),
        ("counts(60,2)", "add-remove", "people(1/2,9/10)", "distance", "further apart"),
        ("histogram(60,3)", "either", "people(1/2,1/3,1/6)", "absolute", "absent"),
    ],
)
def test_what_it_is_not_for(text, neighbours, prior, loss, why):
    graph = tr.query(text, neighbours=neighbours).graph
    task = Task(graph, tr.Epsilon.of(1), Consumer.of(graph, prior=prior, loss=loss))
    assert why in str(posterior_route(task))


def test_too_many_likely_answers():
    graph = tr.query("counts(60,2)").graph
    consumer = Consumer.of(graph, prior="people(1/2,1/3)", loss="absolute")
    few = SolverSettings(likely_answers=10)
    task = Task(graph, tr.Epsilon.of(1), consumer, settings=few)
    assert "more than 10" in str(posterior_route(task))


def test_ten_thousand_answers():
    asked = tr.query("counts(100,2)")
    consumer = Consumer.of(asked.graph, prior="people(1/2,1/3)", loss="distance")
    best = tr.design(asked, 2, consumer)
    assert best.route == "posterior"
    assert best.gap < 0.01
    assert "for the prior asked about" in best.claim
    # A file has noise, and what is proved of it for the worst answer.
    verdict = tr.verify(tr.prove(best, asked))
    assert verdict.private
    assert verdict.consumer["support"] == "all"


def test_time_that_is_up_leaves_the_mechanism():
    asked = tr.query("counts(100,2)")
    consumer = Consumer.of(asked.graph, prior="people(1/2,1/3)", loss="absolute")
    best = tr.design(asked, 1, consumer, progress=lambda now: "pricing" in now.step)
    assert best.stopped
    assert 0 <= best.bound <= best.expected_loss < 2.8


def test_a_box_of_guesses_has_as_many_coordinates_as_points():
    noise = UnboundedNoise(tr.query("histogram(9,3)").graph, 1)
    with pytest.raises(InputError, match="2 free coordinates"):
        GuessedNoise(noise, (0, 0, 0), np.zeros((1, 1, 1), int), 0)
