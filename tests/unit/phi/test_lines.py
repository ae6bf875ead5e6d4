"""Φz = 1 on a power of a path by modes, against elimination."""

from dataclasses import replace

import numpy as np
import pytest

from tightrope.graphs import PathPower
from tightrope.phi import exists
from tightrope.phi.existence import smallest_entry
from tightrope.phi.lattice import PathPowerStructure, _end_rows, _fits, modes_of


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 21])
@pytest.mark.parametrize("sides", [4, 5, 60])
@pytest.mark.parametrize("epsilon", [0.02, 0.3, 0.7, 0.968, 1.0, 3.0])
def test_every_entry_is_that_of_elimination(
    width: int, sides: int, epsilon: float
) -> None:
    size, alpha = sides * width + 1, np.exp(-epsilon)
    found = modes_of(size, width, alpha)
    wanted = PathPowerStructure.of(PathPower(size, width)).solve(alpha, np.ones(size))
    assert found is not None
    assert found.entries(np.arange(size)) == pytest.approx(
        wanted, abs=1e-8 * np.abs(wanted).max()
    )
    assert found.least() == pytest.approx(wanted.min(), abs=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("epsilon", [0.3, 0.96, 0.98])
def test_beyond_the_first_block(epsilon: float) -> None:
    size = 5123
    found = modes_of(size, 5, np.exp(-epsilon))
    wanted = (
        PathPowerStructure.of(PathPower(size, 5))
        .solve(np.exp(-epsilon), np.ones(size))
        .min()
    )
    assert found.least() == pytest.approx(wanted, rel=1e-6)
    # An early answer has the sign of the true one and is never below it.
    assert found.least(0.0) >= found.least() - 1e-12
    assert (found.least(0.0) < 0) == (wanted < 0)


def test_weights_that_miss_are_noticed() -> None:
    alpha, rows = 0.3, _end_rows(0.3, 5)
    found = modes_of(100, 5, alpha)
    assert _fits(found, rows, 5, alpha)
    assert not _fits(replace(found, weights=found.weights * 1.001), rows, 5, alpha)
    assert not _fits(replace(found, first=found.first + 1e-6), rows, 5, alpha)
    assert not _fits(replace(found, middle=found.middle + 1e-6), rows, 5, alpha)


@pytest.mark.parametrize(("size", "width"), [(19, 5), (10**6, 65)])
def test_short_and_wide_bands_are_left_to_elimination(size: int, width: int) -> None:
    assert modes_of(size, width, 0.5) is None


def test_a_short_band_has_its_smallest_entry_by_elimination() -> None:
    wanted = (
        PathPowerStructure.of(PathPower(19, 5)).solve(np.exp(-0.8), np.ones(19)).min()
    )
    assert smallest_entry(PathPower(19, 5))(0.8) == pytest.approx(wanted)


def test_a_million_answers_have_the_threshold_of_a_thousand() -> None:
    few, many = exists(PathPower(1001, 5)), exists(PathPower(1_000_001, 5))
    assert many.minimum == pytest.approx(few.minimum, abs=2e-10)
    assert many.resolution == pytest.approx(few.resolution)
    assert many.is_up_set
