r"""What a bound M says about an attacker's beliefs [D, Prop 2.1.4].

An output moves the log-odds of a neighbouring answer h against the true answer i by
:math:`Δ = \ln P(o \mid h)/P(o \mid i)`. Under generic privacy

.. math::
    P(Δ \ge t \mid i) \le \sup\{a : M(a) \ge e^t a\}, \qquad
    P(Δ \le -t \mid i) \le \sup\{a : m(a) \le e^{-t} a\}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tightrope.axioms.bounds import PrivacyBound
from tightrope.channels import Channel
from tightrope.errors import InputError

#: Width to which the two probabilities are bisected; they are rounded upwards.
ODDS_ACCURACY = 1e-12
#: 1 - M(1-a) is this far from m(a) in floats; the bound may only get larger by it.
_ROUNDING = 2**-52


@dataclass(frozen=True)
class LogOdds:
    """Probabilities that beliefs move by at least t, towards and away from the neighbour.

    Examples
    --------
    >>> LogOdds(0.1, 0.2).towards
    0.1
    """

    towards: float
    away: float


def log_odds_bound(bound: PrivacyBound, shift: float) -> LogOdds:
    """Bound the probability that the log-odds move by at least ``shift`` [D, Prop 2.1.4].

    Parameters
    ----------
    bound
        The bound M.
    shift
        t > 0.

    Examples
    --------
    >>> from tightrope.axioms import ApproximateBound
    >>> sharp = log_odds_bound(ApproximateBound("ln(2)"), 0.6931471805)
    >>> round(sharp.towards, 6), round(sharp.away, 6)
    (0.333333, 0.666667)
    >>> log_odds_bound(ApproximateBound("ln(2)"), 0.7)
    LogOdds(towards=0.0, away=0.0)
    """
    if not (math.isfinite(shift) and shift > 0):
        raise InputError(f"the shift must be positive and finite, got {shift}")
    growth = math.exp(shift)
    # M(a)/a falls and m(a)/a grows with a, so both conditions hold up to one place.
    return LogOdds(
        _last(lambda a: bound(a) >= growth * a),
        _last(lambda a: growth * bound.lower(a) <= a + _ROUNDING),
    )


def _last(test: Callable[[float], bool]) -> float:
    """Return where a condition that holds up to some place ends, rounded upwards."""
    if test(1.0):
        return 1.0
    if not test(ODDS_ACCURACY):
        return 0.0
    low, high = ODDS_ACCURACY, 1.0
    while high - low > ODDS_ACCURACY:
        middle = (low + high) / 2
        low, high = (middle, high) if test(middle) else (low, middle)
    return high


def log_odds(channel: Channel, truth: int, other: int, shift: float) -> LogOdds:
    r"""Return how likely a channel moves the log-odds by at least ``shift``, given the truth.

    Parameters
    ----------
    channel
        The channel.
    truth, other
        The true answer i and the neighbour h.
    shift
        t > 0.

    Examples
    --------
    >>> log_odds(Channel([[0.75, 0.25], [0.25, 0.75]]), 0, 1, 1.0)
    LogOdds(towards=0.25, away=0.75)
    """
    p, q = channel.row(truth), channel.row(other)
    live = p > 0
    with np.errstate(divide="ignore"):
        moves = np.log(q[live] / p[live])
    return LogOdds(float(p[live][moves >= shift].sum()), float(p[live][moves <= -shift].sum()))
