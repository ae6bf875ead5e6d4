"""Seeded draws are repeatable, and right."""

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
    assert first == again
    assert first != other
    assert len(first) == 500


def test_frequencies(made):
    shares = np.bincount(simulate(made, 3, 200_000, seed=5), minlength=6) / 200_000
    assert np.abs(shares - GeometricChannel(6, "ln(2)").row(3)).max() < 0.005


@pytest.mark.parametrize("seed", [-1, 1.5, None, "x", True])
def test_seeds_are_whole_numbers(made, seed):
    with pytest.raises(InputError, match="seed"):
        simulate(made, 3, 5, seed=seed)
