"""[C]: the optimal mechanisms of its observations and claims."""

from fractions import Fraction

import numpy as np
import pytest

from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.graphs import Clique, PathPower
from tightrope.optimize import design

RATIOS = (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(4), Fraction(10))


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("route", ["regular", "symmetric", "orbits", "rays", "plain"])
def test_observation_3_1_bayesian_on_the_triangle(ratio: Fraction, route: str) -> None:
    alpha = float(1 / ratio)
    found = design(Clique(3), f"ln({ratio})", route=route)
    assert found.expected_loss == pytest.approx(2 * alpha / (1 + 2 * alpha), abs=1e-12)
    assert found.certified


@pytest.mark.parametrize("ratio", RATIOS)
def test_observation_3_2_risk_averse_on_the_triangle(ratio: Fraction) -> None:
    alpha = float(1 / ratio)
    consumer = Consumer.of(Clique(3), support="all", loss="binary")
    found = design(Clique(3), f"ln({ratio})", consumer)
    assert found.route == "symmetric"
    assert found.expected_loss == pytest.approx(2 * alpha / (1 + 2 * alpha), abs=1e-9)
    assert found.certified


def test_observation_3_1_fails_for_another_prior() -> None:
    consumer = Consumer.of(Clique(3), prior="0.8,0.1,0.1", loss="binary")
    assert design(Clique(3), "ln(2)", consumer).expected_loss < 0.5 - 1e-3


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary"])
def test_geometric_is_optimal_for_every_consumer_of_a_count(loss: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        consumer = Consumer.of(PathPower(8), prior=rng.dirichlet(np.ones(8)).tolist(), loss=loss)
        found = design(PathPower(8), "ln(2)", consumer)
        engine = design(PathPower(8), "ln(2)", consumer, route="rays")
        assert found.route == "geometric"
        assert engine.expected_loss == pytest.approx(found.expected_loss, abs=1e-10)
        assert is_private(engine.channel, PathPower(8), "ln(2)")


def test_a_loss_that_is_not_monotone_leaves_the_route() -> None:
    loss = np.array([[0, 2, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 2, 0.0]])
    consumer = Consumer(prior=[0.25] * 4, loss=loss)
    assert design(PathPower(4), "ln(2)", consumer).route != "geometric"
