"""The attacker's log-odds [D, Prop 2.1.4]."""

import math

import numpy as np
import pytest

from tightrope.axioms import (
    PrivacyBound,
    is_generic_private,
    log_odds,
    log_odds_bound,
)
from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.graphs import PathPower


def test_a_pure_bound_is_sharp_at_its_level_and_empty_above():
    bound = PrivacyBound.approximate("ln(3)")
    at, above = (
        log_odds_bound(bound, math.log(3) - 1e-12),
        log_odds_bound(bound, math.log(3.001)),
    )
    assert at.towards == pytest.approx(0.25, abs=1e-9)
    assert at.away == pytest.approx(0.75, abs=1e-9)
    assert (above.towards, above.away) == (0, 0)


def test_delta_leaves_a_tail():
    bound = log_odds_bound(PrivacyBound.approximate(1, "0.01"), 2)
    assert 0 < bound.towards <= 0.01 / (math.e**2 - math.e) + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_holds_for_channels(seed):
    rng = np.random.default_rng(seed)
    channel = Channel(rng.dirichlet(np.ones(5), 2))
    for bound in (
        PrivacyBound.approximate(0.5, "0.2"),
        PrivacyBound.table([(0, "0.3"), ("0.4", "0.9"), (1, 1)]),
        PrivacyBound(lambda a: a**0.4),
    ):
        if not is_generic_private(channel, PathPower(2), bound):
            continue
        for shift in (0.1, 0.5, 1.0, 2.0):
            most, real = log_odds_bound(bound, shift), log_odds(channel, 0, 1, shift)
            assert real.towards <= most.towards + 1e-9
            assert real.away <= most.away + 1e-9


def test_no_bound_says_nothing():
    lax = log_odds_bound(PrivacyBound.table([(0, 1), (1, 1)]), 1.0)
    assert lax.towards == pytest.approx(math.exp(-1), abs=1e-9)
    assert lax.away == 1


def test_refusals():
    with pytest.raises(InputError, match="positive"):
        log_odds_bound(PrivacyBound.approximate(1), 0)
