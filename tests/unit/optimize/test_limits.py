"""Limits on leakage and loss."""

import numpy as np
import pytest

from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import Band, Clique, Cycle
from tightrope.optimize import design, design_limited, trade_off


def test_binary_loss_and_bayes_vulnerability_are_two_sides() -> None:
    found = design_limited(Clique(4), max_vulnerability=0.55)
    assert found.expected_loss == pytest.approx(0.45, abs=1e-9)
    assert found.vulnerability == pytest.approx(0.55, abs=1e-9)
    assert found.bound == pytest.approx(0.45, abs=1e-8)


def test_both_limits_at_once() -> None:
    graph = Cycle(6)
    consumer = Consumer.of(graph, prior="uniform", loss="distance")
    free = design(graph, "ln(2)", consumer)
    loose = design_limited(graph, consumer, epsilon="ln(2)", max_vulnerability=1.0)
    assert loose.expected_loss == pytest.approx(free.expected_loss, abs=1e-7)
    strict = design_limited(graph, consumer, epsilon="ln(2)", max_vulnerability=0.25)
    assert strict.expected_loss > free.expected_loss + 1e-3
    assert strict.vulnerability <= 0.25 + 1e-8
    assert is_private(strict.channel, graph, "ln(2)")


def test_least_vulnerability_under_a_loss_inverts_least_loss_under_a_vulnerability() -> None:
    graph = Band(5, 2)
    consumer = Consumer.of(graph, prior="0.1,0.3,0.2,0.3,0.1", loss="absolute")
    one = design_limited(graph, consumer, max_vulnerability=0.6)
    other = design_limited(graph, consumer, max_loss=one.expected_loss)
    assert other.minimised == "vulnerability"
    assert other.vulnerability == pytest.approx(0.6, abs=1e-7)


def test_the_curve_falls_and_is_convex() -> None:
    graph = Band(4)
    curve = trade_off(graph, Consumer.of(graph, prior="uniform", loss="absolute"), points=6)
    losses = [d.expected_loss for d in curve]
    assert losses == sorted(losses, reverse=True)
    assert np.diff(losses, 2).min() >= -1e-8
    assert losses[-1] == pytest.approx(0, abs=1e-9)


def test_an_attacker_of_ones_own() -> None:
    gain = np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]])
    found = design_limited(Band(4), max_vulnerability=0.5, gain=gain)
    halves = np.asarray(found.channel.matrix())
    assert halves[:2].sum(axis=0) == pytest.approx(halves[2:].sum(axis=0), abs=1e-8)


def test_requests_without_sense_are_refused() -> None:
    with pytest.raises(InputError, match="one limit"):
        design_limited(Band(3))
    with pytest.raises(InputError, match=r"at least 0\.333"):
        design_limited(Band(3), max_vulnerability=0.2)
    with pytest.raises(InputError, match="no mechanism keeps the limit"):
        design_limited(Band(3), epsilon=0.1, max_loss=0.01)
    with pytest.raises(InputError, match="one finite column"):
        design_limited(Band(3), max_vulnerability=0.9, gain=[[1, 0]])
    with pytest.raises(InputError, match="at least 2 points"):
        trade_off(Band(3), points=1)
