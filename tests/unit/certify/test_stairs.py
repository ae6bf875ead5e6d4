"""Which answers a staircase leaves short, and by how much."""

import numpy as np
import pytest

from tightrope.certify.theorems.stairs import dual_shortfall

HALF = 1 << 61  # α = 1/2


@pytest.mark.parametrize(
    ("rooms", "core", "short"),
    [
        # 8 is worth 4 at the answer before the core's last, which nothing reaches.
        ([8, -2, -4, -1, 4], (1, 2), [0, 0, 4, 0, 0]),
        # From behind, 4 is worth 2 next to it and covers 1; the last of the core has nobody else.
        ([0, 0, 8, -2, -4, -1, 4], (3, 4), [0, 0, 0, 0, 4, 0, 0]),
        # Nothing lies further out than the first answer, and nothing covers it.
        ([-3, 0, 8], (2, 2), [3, 0, 0]),
        ([8, 0, -3], (0, 0), [0, 0, 3]),
        # 8, then 4, then 2 of it arrive.
        ([8, 0, -2, 0], (2, 3), [0, 0, 0, 0]),
        ([8, 0, -3, 0], (2, 3), [0, 0, 1, 0]),
    ],
)
def test_the_answers_that_are_short_are_named(rooms, core, short):
    low = np.array([core[0]])
    high = np.array([core[1]])
    found = dual_shortfall(np.array([rooms]), low, high, 1, HALF)
    assert found.tolist() == [short]
