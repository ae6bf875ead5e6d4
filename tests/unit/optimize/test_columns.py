"""Numerical columns become a mechanism that is private, whatever their error."""

import numpy as np
import pytest

import tightrope as tr
from tightrope import Epsilon
from tightrope.channels import Channel, is_private
from tightrope.consumers import Consumer
from tightrope.graphs import Cycle, PathPower
from tightrope.optimize import design
from tightrope.optimize.columns import private_columns
from tightrope.optimize.cuts import raise_to_private
from tightrope.optimize.pricing import Pricer
from tightrope.optimize.problem import Problem
from tightrope.optimize.progress import Watch


def as_channel(columns: dict[int, np.ndarray]) -> Channel:
    return Channel(np.array(list(columns.values())).T)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6, 0.3])
def test_noise_costs_no_more_than_its_size(noise) -> None:
    graph, level = Cycle(30), Epsilon.of("ln(2)")
    costs = (np.ones((30, 30)) - np.eye(30)) / 30
    problem = Problem(graph, level, costs)
    exact = problem.rates / problem.rates.sum(axis=1, keepdims=True)
    rough = exact * (1 + noise * np.random.default_rng(1).uniform(-1, 1, exact.shape))
    made = private_columns(problem, dict(enumerate(rough.T)))
    assert is_private(as_channel(made), graph, level)
    matrix = np.array([made[k] for k in range(30)]).T
    assert matrix.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (matrix * costs).sum() - (exact * costs).sum() <= 10 * noise + 1e-14


def test_a_column_that_is_not_private_is_raised_to_the_least_one_that_is() -> None:
    problem = Problem(PathPower(4), Epsilon.of("ln(2)"), np.zeros((4, 1)))
    rough = np.array([[1.0, 0.1, 0.9, 0.0]])
    Pricer(problem).raise_to_private(rough)
    assert rough.tolist() == [[1.0, 0.5, 0.9, 0.45]]


def test_negative_entries_and_empty_columns_are_nothing() -> None:
    problem = Problem(PathPower(2), Epsilon.of("ln(2)"), np.eye(2))
    made = private_columns(
        problem, {0: np.array([1.0, 1.0]), 1: np.array([-1e-9, 0.0])}
    )
    assert list(made) == [0]


@pytest.mark.parametrize(
    ("question", "level", "prior", "loss", "relation"),
    [
        ("sum(40,3)", "ln(2)", "binomial(.4)", "absolute", "change-one"),
        ("sum(90,4)", "0.5", "binomial(.3)", "binary", "change-one"),
        ("sum(10,2)", "5", "binomial(.05)", "squared", "change-one"),
        ("sum(25,5)", "2", "binomial(.5)", "absolute", "add-remove"),
    ],
)
def test_priors_of_any_range_are_certified(
    question, level, prior, loss, relation
) -> None:
    """Each of these once lost its last digits when columns were made exact."""
    asked = tr.query(question, relation)
    consumer = Consumer.of(asked.graph, prior=prior, loss=loss)
    found = design(asked, level, consumer, route="rays")
    assert found.certified
    assert is_private(found.channel, asked.graph, Epsilon.of(level))


def test_without_time_columns_are_private_but_not_balanced() -> None:
    size = 40
    costs = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / size
    problem = Problem(PathPower(size, 3), Epsilon.of(1), costs)
    exact = problem.rates / problem.rates.sum(axis=1, keepdims=True)
    # Scaled columns: balancing scales them back.
    rough = exact * np.random.default_rng(2).uniform(0.99, 1.01, (1, size))

    def loss(watch: Watch | None) -> float:
        made = private_columns(problem, dict(enumerate(rough.T)), watch)
        assert is_private(as_channel(made), problem.graph, problem.epsilon)
        matrix = as_channel(made).matrix()
        assert matrix.sum(axis=1) == pytest.approx(1, abs=1e-12)
        return float(sum(problem.costs[:, k] @ x for k, x in made.items()))

    assert loss(Watch(time_limit=60)) == loss(None)
    assert loss(Watch(time_limit=0)) > loss(None) * (1 + 1e-6)


def test_a_long_repair_reports_that_it_goes_on() -> None:
    problem = Problem(Cycle(30), Epsilon.of(1), np.ones((30, 30)))
    reports: list[object] = []
    watch = Watch(reports.append)
    # As if nothing had been reported for some time.
    watch._began -= 10.0
    private_columns(problem, dict(enumerate(np.eye(30))), watch)
    assert reports


@pytest.mark.parametrize(("size", "width"), [(40, 7), (60, 59), (81, 9)])
def test_running_maxima_raise_columns_as_the_loop_over_arcs_does(size, width) -> None:
    graph = PathPower(size, width)
    problem = Problem(graph, Epsilon.of("0.7"), np.zeros((size, 1)))
    rough = np.random.default_rng(3).uniform(size=(20, size)) ** 9
    by_arcs = rough.copy()
    pricer = Pricer(problem)
    orders = np.argsort(-by_arcs, axis=1, kind="stable")
    raise_to_private(pricer._network, by_arcs, orders)
    assert (by_arcs > rough).any()
    pricer.raise_to_private(rough)
    assert np.array_equal(rough, by_arcs)
