r"""Shannon capacity and the population: maximise a concave function over all priors.

Both Shannon capacity and the estimate of a population from its releases ask for
:math:`\max_p F(p)` over distributions p, where F is concave and depends on p smoothly.
Whatever the method, a distribution carries its own proof: by concavity

.. math:: F(p^*) - F(p) \le \max_i \partial_i F(p) - \sum_i p_i\,\partial_i F(p),

so the gap on the right is certified however p was found. The method is a primal-dual
interior one: Newton steps on the optimality conditions, each one linear system of the size of
the prior. The classical multiplicative steps (Blahut-Arimoto, iterative Bayesian update)
start it and take over where a Newton step brings nothing.

In the estimate of a population each person's answer went through a channel; what is seen is how
often each output came. The distribution of true answers under which these outputs are likeliest is
found by the iterative Bayesian update :math:`p_i \leftarrow \sum_o f_o\,p_i X_{io} / \sum_h p_h
X_{ho}`, finished by Newton steps where it becomes slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import Floats, Ints
from tightrope.channels import Channel
from tightrope.consumers import Prior
from tightrope.consumers.evaluate import ChannelPart, parts
from tightrope.errors import InputError
from tightrope.graphs.base import finite_array, frozen
from tightrope.leakage.measures import symmetric_information


@dataclass(frozen=True)
class ConcaveFunction:
    r"""A concave function on the simplex by its value, gradient and Hessian :math:`-RR^\top`.

    Examples
    --------
    >>> entropy = ConcaveFunction(
    ...     value=lambda p: -float(p @ np.log(p)),
    ...     gradient=lambda p: -np.log(p) - 1,
    ...     root=lambda p: np.diag(p**-0.5),
    ...     growth=lambda p: 1 / p,
    ... )
    >>> maximise(entropy, 3, gap=1e-9).point.round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """

    value: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]
    #: R, with as many rows as there are probabilities.
    root: Callable[[Floats], Floats]
    #: The factors of a multiplicative step: normalised, it never lowers the value.
    growth: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Maximum:
    """A distribution, its value, and how far below the maximum it can be at most.

    >>> Maximum(np.array([1.0]), 0.5, 0.0, 3, True).gap
    0.0
    """

    point: Floats
    value: float
    gap: float
    steps: int
    converged: bool


def maximise(
    function: ConcaveFunction,
    size: int,
    *,
    gap: float,
    warm_steps: int = 5,
    newton_steps: int = 80,
    limit: int = 20_000,
) -> Maximum:
    """Find a distribution whose certified gap is at most the one asked for.

    Parameters
    ----------
    function
        What to maximise.
    size
        The number of probabilities.
    gap
        The gap to reach.
    warm_steps
        Multiplicative steps before the first Newton step.
    newton_steps
        Most Newton steps.
    limit
        Multiplicative steps in all, after which the best point is returned with its gap.

    Examples
    --------
    >>> linear = ConcaveFunction(
    ...     value=lambda p: float(p @ np.array([1.0, 2.0])),
    ...     gradient=lambda p: np.array([1.0, 2.0]),
    ...     root=lambda p: np.zeros((2, 1)),
    ...     growth=lambda p: np.ones(2),
    ... )
    >>> found = maximise(linear, 2, gap=1e-6)
    >>> round(found.value, 4), found.converged
    (2.0, True)
    """
    start = _look(function, np.full(size, 1 / size), 0)
    best = _climb(function, start, gap, warm_steps)
    if best.gap > gap:
        best = _newton(function, best, gap, newton_steps)
    # Multiplicative steps again: they never lower the value, where Newton may have stalled.
    best = _climb(function, best, gap, limit)
    converged = best.gap <= gap
    return replace(best, point=frozen(best.point), converged=converged)


def _climb(function: ConcaveFunction, best: Maximum, gap: float, limit: int) -> Maximum:
    """Take multiplicative steps until the gap is closed, up to a number of steps in all."""
    point = best.point
    for steps in range(best.steps + 1, limit + 1):
        if best.gap <= gap:
            break
        # p_i ← p_i·growth_i keeps p > 0 and its support.
        point = point * function.growth(point)
        point /= point.sum()
        best = _better(best, _look(function, point, steps))
    return best


def _look(function: ConcaveFunction, point: Floats, steps: int) -> Maximum:
    # By concavity max F ≤ F(p) + max_i ∂_i F − p·∇F.
    gradient = function.gradient(point)
    mean = point @ gradient
    gap = max(0.0, float(gradient.max() - mean))
    return Maximum(point, function.value(point), gap, steps, False)


def _better(old: Maximum, new: Maximum) -> Maximum:
    # By the certified gap, not by the value: the gap is what is promised.
    better = new if new.gap < old.gap else old
    return replace(better, steps=new.steps)


def _newton(
    function: ConcaveFunction, start: Maximum, gap: float, most: int
) -> Maximum:
    r"""Follow the central path :math:`\partial_i F + s_i = \lambda`, :math:`p_i s_i = \mu`."""
    size = len(start.point)
    # Away from the boundary, where the barrier would be infinite.
    p = np.maximum(start.point, 1e-3 / size)
    p /= p.sum()
    gradient = function.gradient(p)
    level = float(gradient.max()) + max(start.gap, gap)
    # s_i = λ - ∂_i F > 0 for a level above the largest derivative.
    s = level - gradient
    best = start
    for steps in range(start.steps + 1, start.steps + most + 1):
        # μ shrinks by 10 in each step, towards complementary slackness p_i s_i = 0.
        target = 0.1 * float(p @ s) / size
        step = _newton_step(function, p, s, level, target)
        if step is None:
            break
        p, s, level = step
        candidate = _look(function, p / p.sum(), steps)
        best = _better(best, candidate)
        # Σ p_i s_i bounds the gap of the central path: nothing more to gain.
        if best.gap <= gap or float(p @ s) < 1e-3 * gap:
            break
    return best


def _newton_step(
    function: ConcaveFunction, p: Floats, s: Floats, level: float, target: float
) -> tuple[Floats, Floats, float] | None:
    gradient = function.gradient(p)
    residual = level - gradient - s
    # Newton's equations (R Rᵀ + diag(s/p)) dp = …, multiplied by p on both sides: the system
    # stays well conditioned while probabilities go to zero.
    # p R: the scaled system has entries p_i p_h (RRᵀ)_ih.
    root = p[:, None] * function.root(p)
    system = root @ root.T
    system[np.diag_indices_from(system)] += p * s
    centred = p * (-residual) + target - p * s
    right = np.stack([centred, p], axis=1)
    try:
        with np.errstate(all="ignore"):
            solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solution).all():
        return None
    unshifted = solution[:, 0]
    per_level = solution[:, 1]
    # The sum of the probabilities must be 1 after the step.
    # Σ (p + dp) = 1 determines the step of λ.
    missing = p @ unshifted + p.sum() - 1
    level_step = float(missing / (p @ per_level))
    relative = unshifted - level_step * per_level
    dp = p * relative
    ds = target / p - s - s * relative
    # Fraction of the step to the boundary, as usual in interior-point methods.
    inside = 0.995
    steepest_p = float((-relative).max())
    steepest_s = float((-ds / s).max())
    length_p = min(1.0, inside / max(1e-300, steepest_p))
    length_s = min(1.0, inside / max(1e-300, steepest_s))
    length = min(length_p, length_s)
    # One step length for both keeps the residual of the conditions shrinking together.
    new_p = p + length * dp
    new_s = s + length * ds
    if not ((new_p > 0).all() and (new_s > 0).all()):
        return None
    return new_p, new_s, level + length * level_step


@dataclass(frozen=True)
class Capacity:
    r"""Shannon capacity between two certified bounds.

    Attributes
    ----------
    bits
        The information :math:`I(p; X)` that the prior below carries: a lower bound.
    upper_bits
        :math:`\max_i D(X_i \| pX)`, which no prior exceeds.
    prior
        The prior that reaches ``bits``; ``None`` when the capacity has a closed form (then the
        uniform prior reaches it, or the product of the coordinates' own priors).
    steps
        Steps taken; 0 when the capacity has a closed form.
    converged
        Whether the gap asked for was reached.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> found = shannon_capacity(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(found.bits, 6), found.gap < 1e-9
    (0.188722, True)
    """

    bits: float
    upper_bits: float
    prior: Floats | None
    steps: int
    converged: bool

    @property
    def gap(self) -> float:
        """How far the true capacity can lie above ``bits``."""
        return self.upper_bits - self.bits


def shannon_capacity(channel: Channel, *, gap: float = 1e-9) -> Capacity:
    r"""Return :math:`\max_p I(p; X)` in bits with lower and upper bounds.

    Any prior p bounds the capacity from both sides,
    :math:`I(p; X) \le C \le \max_i D(X_i \| pX)` (Blahut, Arimoto), so the result is certified
    whatever the method. The Blahut-Arimoto step
    :math:`p_i \leftarrow p_i\,2^{D(X_i \| pX)}` (normalised) converges slowly where two inputs
    are nearly equally good; after a few of them Newton steps finish the work.

    Parameters
    ----------
    channel
        Any channel whose matrix fits, or one whose capacity follows a rule.
    gap
        Largest difference wanted between the two bounds, in bits.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> erasure = Channel([[0.7, 0.0, 0.3], [0.0, 0.7, 0.3]])
    >>> round(shannon_capacity(erasure).bits, 9)
    0.7
    """
    if not gap > 0:
        raise InputError(f"the gap must be positive, got {gap}")
    split = parts(channel, Prior.uniform(channel.shape[0]))
    if split is not None:
        return _sum_of_parts(split, gap)
    closed_form = symmetric_information(channel)
    if closed_form is not None:
        return Capacity(closed_form, closed_form, None, 0, True)
    matrix = channel.matrix()
    # Outputs that never occur would put 0 into logarithms.
    matrix = matrix[:, matrix.any(axis=0)]
    nats = gap * math.log(2)
    best = maximise(_information(matrix), len(matrix), gap=nats)
    low = max(0.0, best.value / math.log(2))
    return Capacity(
        low, low + best.gap / math.log(2), best.point, best.steps, best.converged
    )


def _sum_of_parts(split: list[ChannelPart], gap: float) -> Capacity:
    """Independent coordinates: capacities, and the gaps between their bounds, add up."""
    total = sum(part.times for part in split)
    # Each part gets its share of the gap, so that the sum keeps to it.
    capacities = [
        (part.times, shannon_capacity(part.channel, gap=gap / total)) for part in split
    ]
    return Capacity(
        sum(times * part.bits for times, part in capacities),
        sum(times * part.upper_bits for times, part in capacities),
        None,
        sum(part.steps for _, part in capacities),
        all(part.converged for _, part in capacities),
    )


def _information(matrix: Floats) -> ConcaveFunction:
    """Mutual information in nats as a function of the prior."""
    possible = matrix > 0
    logs = np.log(matrix, out=np.zeros_like(matrix), where=possible)
    # Σ_o X_io ln X_io, which does not depend on p.
    own = np.einsum("ij,ij->i", matrix, logs)

    def divergences(p: Floats) -> Floats:
        # D(X_i ‖ pX): the gradient of I up to a constant.
        log_outputs = np.log(p @ matrix)
        return np.asarray(own - matrix @ log_outputs)

    return ConcaveFunction(
        value=lambda p: float(p @ divergences(p)),
        gradient=divergences,
        # Hessian -Σ_o X_io X_ho / q_o = -RRᵀ with R = X/√q.
        root=lambda p: matrix / np.sqrt(p @ matrix),
        growth=lambda p: np.exp(divergences(p)),
    )


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

    distribution: Floats
    low: Floats
    high: Floats
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
    best = maximise(
        _likelihood(matrix, seen / total), len(matrix), gap=gap, warm_steps=50
    )
    low = np.zeros(len(matrix))
    high = np.ones(len(matrix))
    if resamples:
        drawn = np.random.default_rng(seed).multinomial(
            int(total), seen / total, size=resamples
        )
        again = [
            maximise(
                _likelihood(matrix, row / total),
                len(matrix),
                # A resample needs no more accuracy than its own sampling error.
                gap=max(gap, 1e-7),
                limit=500,
            )
            for row in drawn
        ]
        tail = (1 - confidence) / 2
        low, high = np.quantile(
            [estimate.point for estimate in again], [tail, 1 - tail], axis=0
        )
    return PopulationEstimate(
        best.point,
        low,
        high,
        confidence,
        best.gap,
        best.steps,
        best.converged,
        # Dependent rows: several distributions give the same outputs.
        bool(np.linalg.matrix_rank(matrix) == len(matrix)),
        int(total),
    )


def _likelihood(matrix: Floats, shares: Floats) -> ConcaveFunction:
    """Mean log-likelihood as a function of the distribution of true answers."""
    # Outputs that were not seen have weight 0 in the likelihood.
    used = shares > 0
    matrix = matrix[:, used]
    shares = shares[used]

    def gradient(p: Floats) -> Floats:
        return np.asarray(matrix @ (shares / (p @ matrix)))

    return ConcaveFunction(
        value=lambda p: float(shares @ np.log(p @ matrix)),
        gradient=gradient,
        # Hessian -Σ_o f_o X_io X_ho / q_o².
        root=lambda p: matrix * (np.sqrt(shares) / (p @ matrix)),
        growth=gradient,
    )


def _check_counts(channel: Channel, counts: ArrayLike) -> Ints:
    outputs = channel.shape[1]
    must = f"counts must be one whole number for each of the {outputs} outputs"
    given = finite_array(counts, must, (outputs,), "counts", "non-negative")
    if (given != np.floor(given)).any():
        fractions = given[given != np.floor(given)]
        raise InputError(f"{must}, got {fractions[0]}")
    if not given.any():
        raise InputError("at least one output must have been released")
    never = channel.column_maxima() == 0
    # An impossible output has likelihood 0 under every distribution.
    if given[never].any():
        raise InputError(
            f"output {int(np.flatnonzero(never & (given > 0))[0])} was counted, but the channel "
            "never reports it"
        )
    return given.astype(np.int64)
