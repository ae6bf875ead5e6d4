"""Seeded draws are repeatable, right, and no release."""

import numpy as np
import pytest

from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.publish import simulate


@pytest.fixture(scope="module")
def made():
    return certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")


def test_the_same_seed_gives_the_same_draws(made):
    first, again, other = (simulate(made, 3, 500, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.indices, again.indices)
    assert not np.array_equal(first.indices, other.indices)
    assert sum(first.counts.values()) == 500
    assert first.outputs[:3] == first.indices[:3].tolist()


def test_frequencies(made):
    found = simulate(made, 3, 200_000, seed=5)
    shares = np.bincount(found.indices, minlength=6) / 200_000
    assert np.abs(shares - GeometricChannel(6, "ln(2)").row(3)).max() < 0.005


def test_no_receipt(made):
    with pytest.raises(InputError, match="no release"):
        simulate(made, 3, 5, seed=1).receipt()


def test_a_simulation_cannot_be_changed(made):
    found = simulate(made, 3, 5, seed=1)
    with pytest.raises(ValueError, match="read-only"):
        found.indices[0] = 5


@pytest.mark.parametrize("seed", [-1, 1.5, None, "x", True])
def test_seeds_are_whole_numbers(made, seed):
    with pytest.raises(InputError, match="seed"):
        simulate(made, 3, 5, seed=seed)
