"""Limits on leakage and loss."""

from dataclasses import replace

import numpy as np
import pytest

from tightrope.channels import is_private
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import Clique, Cycle, PathPower
from tightrope.optimize import SolverSettings, design, design_limited, trade_off
from tightrope.optimize.limits import LimitedLoss
from tightrope.optimize.master import solve_whole
from tightrope.optimize.problem import Problem


def test_binary_loss_and_bayes_vulnerability_are_two_sides() -> None:
    found = design_limited(Clique(4), max_vulnerability=0.55)
    assert found.expected_loss == pytest.approx(0.45, abs=1e-9)
    assert found.vulnerability == pytest.approx(0.55, abs=1e-9)
    assert found.bound == pytest.approx(0.45, abs=1e-8)


@pytest.mark.parametrize("minimised", ["max_vulnerability", "max_loss"])
def test_faces_and_the_program_over_whole_columns_agree(minimised) -> None:
    graph = PathPower(12, 3)
    consumer = Consumer.of(graph, prior="binomial(.4)", loss="absolute")
    limit = {minimised: 0.24 if minimised == "max_vulnerability" else 1.3}
    found = design_limited(graph, consumer, epsilon=1, **limit)
    aim = LimitedLoss(
        Problem.of(graph, found.epsilon, consumer),
        consumer.prior.probabilities,
        found.certificate.attack,
        found.limit,
        found.minimised,
    )
    assert found.certified
    assert found.bound == pytest.approx(solve_whole(aim).value, rel=1e-9)


@pytest.mark.parametrize("level", [None, "ln(2)"])
@pytest.mark.parametrize("limit", ["max_vulnerability", "max_loss"])
def test_what_is_claimed_is_proved_and_tampering_proves_less(level, limit) -> None:
    graph = PathPower(6, 2)
    consumer = Consumer.of(graph, prior="0.1,0.3,0.1,0.2,0.1,0.2", loss="absolute")
    value = 0.34 if limit == "max_vulnerability" else 0.8 if level is None else 1.25
    found = design_limited(graph, consumer, epsilon=level, **{limit: value})
    proof = found.certificate
    assert found.certified
    assert proof.weight > 0.1
    assert proof.checked_bound() >= found.bound
    dear = replace(proof, prices=proof.prices + 0.01)
    assert dear.bound > found.bound + 0.05
    assert dear.checked_bound() <= found.bound + 1e-12
    for wrong in (
        replace(proof, prices=proof.prices + np.array([0.01, -0.01, 0, 0, 0, 0])),
        replace(proof, weight=proof.weight * 1.05),
        replace(proof, weight=proof.weight * 0.95),
        replace(proof, choices=np.roll(proof.choices, 1, axis=1)),
    ):
        assert wrong.checked_bound() < found.bound - 1e-5
    with pytest.raises(InputError, match="at least 0"):
        replace(proof, weight=-1.0)
    with pytest.raises(InputError, match="distribution"):
        replace(proof, choices=proof.choices * 1.01)
    with pytest.raises(InputError, match="finite price"):
        replace(proof, prices=proof.prices[1:])


def test_a_search_under_a_limit_can_be_stopped() -> None:
    graph = PathPower(16, 3)
    consumer = Consumer.of(graph, prior="binomial(.4)", loss="absolute")
    seen = []
    found = design_limited(
        graph,
        consumer,
        epsilon=1,
        max_vulnerability=0.22,
        progress=lambda told: seen.append(told) or True,
    )
    assert len(seen) == 1
    assert found.stopped
    assert found.vulnerability <= 0.22 + 1e-12
    assert is_private(found.channel, graph, 1)


def test_without_time_a_limit_on_the_loss_is_kept_by_a_blind_guess_or_refused() -> None:
    graph = PathPower(241, 4)
    consumer = Consumer.of(graph, loss="absolute")
    found = design_limited(graph, consumer, epsilon=1, max_loss=61, time_limit=0.0)
    assert found.expected_loss <= 61
    with pytest.raises(
        CheckFailed, match="time was up before a mechanism with a loss of at most"
    ):
        design_limited(graph, consumer, epsilon=1, max_loss=2.1, time_limit=0.0)


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


def test_least_vulnerability_under_a_loss_inverts_least_loss_under_a_vulnerability() -> (
    None
):
    graph = PathPower(5, 2)
    consumer = Consumer.of(graph, prior="0.1,0.3,0.2,0.3,0.1", loss="absolute")
    one = design_limited(graph, consumer, max_vulnerability=0.6)
    other = design_limited(graph, consumer, max_loss=one.expected_loss)
    assert other.minimised == "vulnerability"
    assert other.vulnerability == pytest.approx(0.6, abs=1e-7)


def test_the_curve_falls_and_is_convex() -> None:
    graph = PathPower(4)
    curve = trade_off(
        graph, Consumer.of(graph, prior="uniform", loss="absolute"), points=6
    )
    losses = [d.expected_loss for d in curve]
    assert losses == sorted(losses, reverse=True)
    assert np.diff(losses, 2).min() >= -1e-8
    assert losses[-1] == pytest.approx(0, abs=1e-9)


def test_an_attacker_of_ones_own() -> None:
    gain = np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]])
    found = design_limited(PathPower(4), max_vulnerability=0.5, gain=gain)
    halves = np.asarray(found.channel.matrix())
    assert halves[:2].sum(axis=0) == pytest.approx(halves[2:].sum(axis=0), abs=1e-8)


def test_requests_without_sense_are_refused() -> None:
    with pytest.raises(InputError, match="one limit"):
        design_limited(PathPower(3))
    with pytest.raises(InputError, match=r"at least 0\.333"):
        design_limited(PathPower(3), max_vulnerability=0.2)
    with pytest.raises(InputError, match=r"at least 0\.633.* at ε = 0\.1, got"):
        design_limited(PathPower(3), epsilon=0.1, max_loss=0.01)
    with pytest.raises(InputError, match="gap"):
        design_limited(PathPower(3), max_loss=0.1, gap=0)
    with pytest.raises(InputError, match="one finite column"):
        design_limited(PathPower(3), max_vulnerability=0.9, gain=[[1, 0]])
    few = SolverSettings(program_entries=20)
    with pytest.raises(TooLarge, match="27 entries, more than 20"):
        design_limited(PathPower(3), max_vulnerability=0.9, settings=few)
    with pytest.raises(InputError, match="at least 2 points"):
        trade_off(PathPower(3), points=1)
