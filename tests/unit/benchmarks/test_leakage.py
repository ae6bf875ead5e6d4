"""The rows of leakage: ours and NumPy's call measure the same."""

from __future__ import annotations

import pytest
from benchmarks import leakage


@pytest.mark.parametrize(
    "measure", ["min-entropy", "posterior", "g-vulnerability", "mutual-information"]
)
def test_both_ways_agree(measure: str) -> None:
    ours, theirs = (
        way(measure, 20).call() for way in (leakage.tightrope, leakage.numpy)
    )
    assert ours == pytest.approx(float(theirs))
