r"""The population's distribution from many released answers.

Each person's answer went through a channel; what is seen is how often each output came. The
distribution of true answers under which these outputs are likeliest is found by the iterative
Bayesian update :math:`p_i \leftarrow \sum_o f_o\,p_i X_{io} / \sum_h p_h X_{ho}`, finished by
Newton steps where it becomes slow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.leakage.capacity import ConcaveFunction, maximise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PopulationEstimate:
    """The likeliest distribution of the true answers, and how sure it is.

    Attributes
    ----------
    distribution
        The estimate.
    low, high
        Ends of an interval for each probability, from resampling.
    confidence
        The share of resamples between the two.
    gap
        How far the mean log-likelihood can be from its maximum: certified, not guessed.
    steps
        Steps taken.
    converged
        Whether the gap asked for was reached.
    identifiable
        Whether the channel's rows are linearly independent. If not, several distributions
        explain the outputs equally well and this is one of them.
    releases
        How many outputs were seen.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> found = estimate_population(Channel([[0.75, 0.25], [0.25, 0.75]]), [400, 600])
    >>> found.distribution.round(6).tolist(), found.converged
    ([0.3, 0.7], True)
    """

    distribution: Array
    low: Array
    high: Array
    confidence: float
    gap: float
    steps: int
    converged: bool
    identifiable: bool
    releases: int


def estimate_population(
    channel: Channel,
    counts: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
    gap: float = 1e-10,
) -> PopulationEstimate:
    r"""Estimate the distribution of true answers from how often each output was released.

    Maximises :math:`\sum_o f_o \ln \sum_i p_i X_{io}`, which is concave; the certified gap is
    :math:`\max_i \sum_o f_o X_{io}/q_o - 1`. Intervals come from the bootstrap: the outputs are
    drawn again with the frequencies that were seen, and the estimate is made again.

    Parameters
    ----------
    channel
        The mechanism that every answer went through.
    counts
        How often each output came.
    confidence
        Share of resampled estimates inside the interval.
    resamples
        How many times the outputs are drawn again; 0 gives no intervals (0 to 1).
    seed
        Start of the pseudo-random numbers for resampling. This is statistics on what was
        released already; it has nothing to do with a release.
    gap
        The gap in mean log-likelihood to reach.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> found = estimate_population(GeometricChannel(3, "ln(2)"), [500, 200, 300], resamples=50)
    >>> found.distribution.round(6).tolist(), bool((found.low <= found.distribution).all())
    ([0.6, 0.2, 0.2], True)
    """
    seen = _check_counts(channel, counts)
    if not 0 < confidence < 1 or not gap > 0 or resamples < 0:
        raise InputError(
            f"confidence must lie between 0 and 1, the gap must be positive and resamples must not "
            f"be negative, got {confidence}, {gap} and {resamples}"
        )
    matrix = channel.matrix()
    total = float(seen.sum())
    best = maximise(_likelihood(matrix, seen / total), len(matrix), gap=gap, warm_steps=50)
    low, high = np.zeros(len(matrix)), np.ones(len(matrix))
    if resamples:
        drawn = np.random.default_rng(seed).multinomial(int(total), seen / total, size=resamples)
        again = np.array([_again(matrix, row / total, gap) for row in drawn])
        tail = (1 - confidence) / 2
        low, high = np.quantile(again, [tail, 1 - tail], axis=0)
    return PopulationEstimate(
        best.point,
        low,
        high,
        confidence,
        best.gap,
        best.steps,
        best.converged,
        bool(np.linalg.matrix_rank(matrix) == len(matrix)),
        int(total),
    )


def _again(matrix: Array, shares: Array, gap: float) -> Array:
    found = maximise(_likelihood(matrix, shares), len(matrix), gap=max(gap, 1e-7), limit=500)
    return found.point


def _likelihood(matrix: Array, shares: Array) -> ConcaveFunction:
    """Mean log-likelihood as a function of the distribution of true answers."""
    used = shares > 0
    matrix, shares = matrix[:, used], shares[used]

    def value(p: Array) -> float:
        return float(shares @ np.log(p @ matrix))

    def gradient(p: Array) -> Array:
        return np.asarray(matrix @ (shares / (p @ matrix)))

    def curvature(p: Array) -> Array:
        half = matrix * (np.sqrt(shares) / (p @ matrix))
        return np.asarray(half @ half.T)

    def step(p: Array) -> Array:
        grown = p * gradient(p)
        return np.asarray(grown / grown.sum())

    return ConcaveFunction(value, gradient, curvature, step)


def _check_counts(channel: Channel, counts: ArrayLike) -> NDArray[np.int64]:
    try:
        given = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("counts must be one whole number for each output") from None
    if given.shape != (channel.shape[1],):
        raise InputError(
            f"counts must be one number for each of the {channel.shape[1]} outputs, got shape "
            f"{given.shape}"
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and (given == np.floor(given)).all()):
        raise InputError("counts must be whole numbers that are not negative")
    if not given.any():
        raise InputError("at least one output must have been released")
    never = channel.column_maxima() == 0
    if given[never].any():
        raise InputError(
            f"output {int(np.flatnonzero(never & (given > 0))[0])} was counted, but the channel "
            "never reports it"
        )
    return given.astype(np.int64)
