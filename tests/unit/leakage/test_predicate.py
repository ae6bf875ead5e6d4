import math

import numpy as np
import pytest

from tightrope.channels import Channel, GeometricChannel
from tightrope.channels.generality import dobrushin
from tightrope.errors import InputError
from tightrope.leakage import min_capacity, min_entropy_leakage
from tightrope.leakage.measures import predicate_capacity, predicate_leakage
from tightrope.mechanisms import randomized_response


def test_the_identity_predicate_is_the_secret_itself() -> None:
    channel, prior = GeometricChannel(5, 1), [0.1, 0.2, 0.4, 0.2, 0.1]
    found = predicate_leakage(channel, lambda answer: answer, prior)
    assert found.leakage_bits == pytest.approx(min_entropy_leakage(channel, prior))
    assert predicate_capacity(channel, range(5)).bits == pytest.approx(
        min_capacity(channel)
    )


def test_a_constant_predicate_leaks_nothing() -> None:
    channel = GeometricChannel(5, 1)
    assert predicate_leakage(channel, lambda answer: "same").leakage_bits < 1e-12
    assert predicate_capacity(channel, ["same"] * 5).bits == 0


def test_two_classes_are_told_apart_by_total_variation() -> None:
    channel = GeometricChannel(6, "ln(2)")
    found = predicate_capacity(channel, lambda count: count >= 3)
    assert found.bits == pytest.approx(math.log2(2 + dobrushin(channel)))
    assert found.exact


def test_no_prior_leaks_more_than_the_capacity() -> None:
    rng = np.random.default_rng(8)
    channel = Channel(rng.dirichlet(np.ones(5), size=7))
    classes = [0, 1, 2, 0, 1, 2, 0]
    capacity = predicate_capacity(channel, classes)
    for _ in range(200):
        prior = rng.dirichlet(np.full(7, 0.3))
        assert (
            predicate_leakage(channel, classes, prior).leakage_bits
            <= capacity.bits + 1e-9
        )
    worst = np.zeros(7)
    worst[list(capacity.secrets)] = 1 / 3
    assert predicate_leakage(channel, classes, worst).leakage_bits == pytest.approx(
        capacity.bits
    )


def test_too_many_choices_give_two_bounds() -> None:
    channel = GeometricChannel(9, 1)
    classes = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    exact = predicate_capacity(channel, classes)
    climbed = predicate_capacity(channel, classes, choices=1)
    assert not climbed.exact
    assert climbed.bits <= exact.bits + 1e-12 <= climbed.upper_bits + 2e-12


def test_the_predicate_must_fit() -> None:
    with pytest.raises(InputError, match="each of the 3 inputs"):
        predicate_leakage(randomized_response(3, 1), [True, False])
