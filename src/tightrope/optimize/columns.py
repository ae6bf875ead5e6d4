r"""From numerical columns to a mechanism that is private whatever their error.

A column that violates privacy a little is replaced by its *smallest private majorant*
:math:`x'_i = \max_j \alpha^{d(i,j)} x_j`. The rows then sum to :math:`1 + \delta_i`; a further
column :math:`\Delta - \delta_i` makes them equal and is private itself when
:math:`(1-\alpha)\,\Delta \ge \max\delta - \alpha \min\delta`. Everything is divided by
:math:`1 + \Delta`, so the loss grows by the order of the error and no more.
"""

from __future__ import annotations

import numpy as np

from tightrope.optimize.pricing import Pricer
from tightrope.optimize.problem import Floats, Problem

#: Rows whose sums are this close to 1 are left as they are: doubles do not show more.
SUM_TOLERANCE = 1e-13


def private_columns(
    problem: Problem, columns: dict[int, Floats], *, raised: bool = False
) -> dict[int, Floats]:
    """Return private columns near the given ones, one for each guess, that sum to 1.

    Columns that are ``raised`` already, such as sums of rays, are majorants of themselves.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of("ln(2)"), np.eye(3)[:, :2])
    >>> rough = {0: np.array([0.8, 0.5, -1e-9]), 1: np.array([0.2, 0.5, 1.0])}
    >>> made = private_columns(problem, rough)
    >>> made[0].round(3).tolist(), made[1].round(3).tolist()
    ([0.833, 0.667, 0.333], [0.167, 0.333, 0.667])
    """
    guesses = list(columns)
    # One row for each guess; only what is positive can be a probability.
    found = np.maximum(np.array([columns[k] for k in guesses]), 0.0)
    kept = found.max(axis=1) > 0
    guesses = [k for k, keep in zip(guesses, kept.tolist(), strict=True) if keep]
    found = np.ascontiguousarray(found[kept])
    if not raised:
        Pricer(problem).raise_to_private(found)
    excess = found.sum(axis=0) - 1
    if np.abs(excess).max() > SUM_TOLERANCE:
        least = float(problem.alpha ** float(problem.lengths.min(initial=1)))
        spread = max(float(excess.max() - least * excess.min()), 0.0) / (1 - least)
        extra = max(spread, float(excess.max())) + SUM_TOLERANCE
        # The further column serves the guess that is best without an answer.
        flat = int(np.argmin(problem.costs.sum(axis=0)))
        if flat not in guesses:
            guesses.append(flat)
            found = np.vstack([found, np.zeros(problem.size)])
        found[guesses.index(flat)] += extra - excess
        found /= 1 + extra
    return dict(zip(guesses, found, strict=True))
