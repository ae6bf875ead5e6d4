r"""Audit a sampler from outside: its frequencies, and whether its time tells anything.

Each row is drawn N times and compared with its exact probabilities by Pearson's :math:`\chi^2`
(rare outputs pooled). Single draws are timed and their times ranked against the outputs, and
against how rare the outputs are (Spearman's :math:`\rho`): a sampler that stops early or touches
rarely used memory tells how large its noise was. The false-alarm rate is for the whole audit: it
is divided by the number of tests.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import Mechanism
from tightrope.errors import InputError
from tightrope.publish.sampler import Sampler


@dataclass(frozen=True)
class RowAudit:
    """What was found for one row.

    Attributes
    ----------
    row
        The node of the true answer.
    draws
        How often it was drawn.
    chi_square, freedom
        The statistic and its degrees of freedom.
    p_value
        The chance of a statistic at least as large.
    passed
        Whether it is above the share of the false-alarm rate.

    Examples
    --------
    >>> RowAudit(0, 100, 1.0, 1, 0.317, True).passed
    True
    """

    row: int
    draws: int
    chi_square: float
    freedom: int
    p_value: float
    passed: bool


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    passed
        Whether there was no alarm.
    false_alarm
        The chance that a sound sampler raises one.
    rows
        The rows that were drawn.
    correlation
        Spearman's ρ of time against output.
    rarity_correlation
        Spearman's ρ of time against how rare the output is.
    correlation_limit
        The largest |ρ| without an alarm.
    timed
        How many draws were timed.
    nanoseconds
        The median time of a draw.

    Examples
    --------
    >>> Audit(True, 1e-6, (), 0.001, 0.002, 0.03, 100_000, 900.0).passed
    True
    """

    passed: bool
    false_alarm: float
    rows: tuple[RowAudit, ...]
    correlation: float
    rarity_correlation: float
    correlation_limit: float
    timed: int
    nanoseconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope audit --json`` prints."""
        return {**vars(self), "rows": [vars(row) for row in self.rows]}


def audit(
    mechanism: Mechanism,
    *,
    draws: int = 100_000,
    rows: Sequence[int] | None = None,
    timed: int = 100_000,
    false_alarm: float = 1e-6,
    correlation_limit: float = 0.03,
) -> Audit:
    """Draw from a mechanism and test what comes out.

    Parameters
    ----------
    mechanism
        The mechanism.
    draws
        Draws for each row.
    rows
        The rows to draw; at most 20 of them, spread evenly, by default.
    timed
        How many single draws are timed.
    false_alarm
        Chance that a sound sampler raises an alarm.
    correlation_limit
        Largest correlation of time with the output that raises no alarm.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> found = audit(made, draws=2000, timed=2000, rows=[0, 3])
    >>> [row.passed for row in found.rows]
    [True, True]
    """
    from scipy.special import ndtri

    if not 0 < false_alarm < 1:
        raise InputError(
            f"a false-alarm rate must be between 0 and 1, got {false_alarm}"
        )
    for number, what in ((draws, "draws"), (timed, "timed draws")):
        if number < 100:
            raise InputError(f"an audit needs at least 100 {what}, got {number}")
    count = mechanism.shape[0]
    if rows is None:
        places = np.linspace(0, count - 1, min(count, 20))
        rows = np.unique(places.astype(int)).tolist()
    # Bonferroni: one test for each row, and two correlations.
    share = false_alarm / (len(rows) + 2)
    found = []
    for row in rows:
        sampler = Sampler(mechanism, row)
        seen = np.bincount(sampler.draw_indices(draws), minlength=sampler.outputs)
        found.append(
            check_row(row, seen, mechanism.row_weights(row), mechanism.total, share)
        )
    middle = rows[len(rows) // 2]
    outputs, times = time_draws(Sampler(mechanism, middle), timed)
    weights = mechanism.row_weights(middle)
    # Ranks from the most to the least likely output: a cache would favour the former.
    rarity = np.argsort(np.argsort(-weights, kind="stable"))
    rhos = [spearman(outputs, times), spearman(rarity[outputs], times)]
    # Under independence ρ√n is about normal, so few draws need a wider limit.
    normal_limit = -float(ndtri(share / 2)) / math.sqrt(timed)
    limit = max(correlation_limit, normal_limit)
    passed = max(map(abs, rhos)) <= limit and all(row.passed for row in found)
    median = float(np.median(times))
    return Audit(
        passed, false_alarm, tuple(found), rhos[0], rhos[1], limit, timed, median
    )


def check_row(
    row: int,
    seen: NDArray[np.int64],
    weights: NDArray[Any],
    total: int,
    share: float,
    least: float = 20.0,
) -> RowAudit:
    """Compare counts with exact weights; outputs expected less than ``least`` times are pooled.

    >>> check_row(0, np.array([490, 510]), np.array([1, 1]), 2, 1e-6).passed
    True
    >>> check_row(0, np.array([300, 700]), np.array([1, 1]), 2, 1e-6).passed
    False
    """
    from scipy.special import chdtrc

    draws = int(seen.sum())
    expected = (weights.astype(object) * draws / total).astype(float)
    # An output of weight 0 must never come: no statistics are needed.
    if seen[weights == 0].any():
        return RowAudit(row, draws, math.inf, 0, 0.0, False)
    rare = expected < least
    cells = expected[~rare]
    counts = seen[~rare]
    if rare.any():
        cells = np.append(cells, expected[rare].sum())
        counts = np.append(counts, seen[rare].sum())
    if len(cells) > 1 and cells[-1] < least:
        # A pool that is still too small joins the smallest of the others.
        at = int(cells[:-1].argmin())
        cells[at] = cells[at] + cells[-1]
        counts[at] = counts[at] + counts[-1]
        cells = cells[:-1]
        counts = counts[:-1]
    if len(cells) < 2:
        return RowAudit(row, draws, 0.0, 0, 1.0, True)
    # χ² = Σ (observed - expected)² / expected.
    squares = (counts - cells) ** 2
    statistic = float((squares / cells).sum())
    freedom = len(cells) - 1
    p_value = float(chdtrc(freedom, statistic))
    passed = p_value >= share
    return RowAudit(row, draws, statistic, freedom, p_value, passed)


def time_draws(
    sampler: Sampler, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Time single draws; return the outputs and the nanoseconds.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)")
    >>> [len(part) for part in time_draws(Sampler(made, 3), 200)]
    [200, 200]
    """
    outputs = np.empty(count, np.int64)
    times = np.empty(count, np.int64)
    clock = time.perf_counter_ns
    draw = sampler.draw_index
    for k in range(count):
        start = clock()
        drawn = draw()
        # Nothing else between the two readings of the clock.
        times[k] = clock() - start
        outputs[k] = drawn
    return outputs, times


def spearman(x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    """Return the correlation of ranks, equal values sharing their rank; 0 for a constant.

    >>> spearman(np.array([1, 2, 3]), np.array([10, 20, 40]))
    1.0
    """
    from scipy.stats import spearmanr

    if not np.ptp(x) or not np.ptp(y):
        return 0.0
    return float(spearmanr(x, y).statistic)
