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
from tightrope.optimize.problem import Problem


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
    from tightrope.optimize.pricing import Pricer

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
