"""Certificates: what they prove, and that a changed one proves less."""

import numpy as np
import pytest

from tightrope import Epsilon
from tightrope.consumers import Consumer
from tightrope.consumers.evaluate import line_remap
from tightrope.errors import InputError
from tightrope.graphs import Cycle, PathPower, Star
from tightrope.optimize import Certificate, design


@pytest.mark.parametrize("graph", [PathPower(7, 2), Star(4), Cycle(6)])
def test_raising_one_price_loses_more_than_it_gains(graph) -> None:
    prior = np.arange(1, graph.size + 1) / sum(range(graph.size + 2))
    consumer = Consumer.of(graph, prior=(prior / prior.sum()).tolist(), loss="binary")
    found = design(graph, "ln(2)", consumer)
    proof = found.certificate
    assert proof is not None
    assert proof.checked_bound() == pytest.approx(found.expected_loss, abs=1e-9)
    for i in range(graph.size):
        raised = proof.prices.copy()
        raised[i] += 0.01
        other = Certificate(graph, proof.epsilon, proof.consumer, raised)
        assert other.bound > found.expected_loss
        assert other.checked_bound() <= found.expected_loss + 1e-12


def test_multipliers_of_wrong_prices_fall_short() -> None:
    graph = PathPower(5)
    consumer = Consumer.of(graph, prior="uniform", loss="binary")
    good = design(graph, "ln(2)", consumer).certificate
    assert good is not None
    assert max(good.multipliers(k).shortfall for k in range(5)) < 1e-12
    bad = Certificate(graph, good.epsilon, good.consumer, good.prices + 0.05)
    assert max(bad.multipliers(k).shortfall for k in range(5)) > 1e-3


def test_prices_must_be_finite_and_fit() -> None:
    graph = PathPower(3)
    consumer = Consumer.of(graph, prior="uniform", loss="binary")
    for prices in ([0.1, 0.2], [0.1, 0.2, float("nan")]):
        with pytest.raises(InputError, match="one finite price"):
            Certificate(graph, Epsilon.of(1), consumer, np.array(prices))


@pytest.mark.parametrize("loss", ["absolute", "squared", "binary", "distance"])
def test_remaps_on_a_line_are_the_best_ones(loss: str) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 30):
        weights = rng.dirichlet(np.ones(n)) if n > 1 else np.ones(1)
        weights[rng.random(n) < 0.3] = 0
        weights = weights / weights.sum() if weights.sum() else np.full(n, 1 / n)
        consumer = Consumer.of(PathPower(n), prior=weights.tolist(), loss=loss)
        found = line_remap(consumer, 0.7)
        if found is None:
            assert n == 1
            continue
        rays = 0.7 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        costs = consumer.loss.matrix().T @ (weights[:, None] * rays)
        assert found.values == pytest.approx(costs.min(axis=0), abs=1e-12)
        assert costs[found.guess, np.arange(n)] == pytest.approx(
            costs.min(axis=0), abs=1e-12
        )
