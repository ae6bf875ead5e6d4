r"""Maximise a concave function of the output distribution over all priors.

Both Shannon capacity and the estimate of a population from its releases ask for
:math:`\max_p F(p)` over distributions p, where F is concave and depends on p smoothly.
Whatever the method, a distribution carries its own proof: by concavity

.. math:: F(p^*) - F(p) \le \max_i \partial_i F(p) - \sum_i p_i\,\partial_i F(p),

so the gap on the right is certified however p was found. The method is a primal-dual
interior one: Newton steps on the optimality conditions, each one linear system of the size of
the prior. The classical multiplicative steps (Blahut-Arimoto, iterative Bayesian update)
start it and take over where a Newton step brings nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Newton steps after which the method stops and reports the gap it has.
NEWTON_LIMIT = 80
#: Share of the way to the boundary that a step may go.
_STAY_INSIDE = 0.995


@dataclass(frozen=True)
class Objective:
    r"""A concave function on the simplex by its value, gradient and Hessian.

    Examples
    --------
    >>> entropy = Objective(
    ...     value=lambda p: -float(p @ np.log(p)),
    ...     gradient=lambda p: -np.log(p) - 1,
    ...     curvature=lambda p: np.diag(1 / p),
    ...     step=lambda p: np.full(len(p), 1 / len(p)),
    ... )
    >>> maximise(entropy, 3, gap=1e-9).point.round(6).tolist()
    [0.333333, 0.333333, 0.333333]
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    #: Minus the Hessian, positive semidefinite.
    curvature: Callable[[Array], Array]
    #: One multiplicative step, which never lowers the value.
    step: Callable[[Array], Array]


@dataclass(frozen=True)
class Maximum:
    """A distribution, its value, and how far below the maximum it can be at most.

    >>> Maximum(np.array([1.0]), 0.5, 0.0, 3, True).gap
    0.0
    """

    point: Array
    value: float
    gap: float
    steps: int
    converged: bool


def maximise(
    objective: Objective, size: int, *, gap: float, warm_steps: int = 5, limit: int = 20_000
) -> Maximum:
    """Find a distribution whose certified gap is at most the one asked for.

    Parameters
    ----------
    objective
        What to maximise.
    size
        The number of probabilities.
    gap
        The gap to reach.
    warm_steps
        Multiplicative steps before the first Newton step.
    limit
        Multiplicative steps in all, after which the best point is returned with its gap.

    Examples
    --------
    >>> linear = Objective(
    ...     value=lambda p: float(p @ np.array([1.0, 2.0])),
    ...     gradient=lambda p: np.array([1.0, 2.0]),
    ...     curvature=lambda p: np.zeros((2, 2)),
    ...     step=lambda p: p,
    ... )
    >>> found = maximise(linear, 2, gap=1e-6)
    >>> round(found.value, 4), found.converged
    (2.0, True)
    """
    point = np.full(size, 1 / size)
    best = _look(objective, point, 0)
    for steps in range(1, warm_steps + 1):
        if best.gap <= gap:
            break
        point = objective.step(point)
        best = _better(best, _look(objective, point, steps))
    if best.gap > gap:
        best = _newton(objective, best, gap)
    steps, point = best.steps, best.point
    while best.gap > gap and steps < limit:
        point = objective.step(point)
        steps += 1
        best = _better(best, _look(objective, point, steps))
    point = best.point
    point.flags.writeable = False
    return Maximum(point, best.value, best.gap, best.steps, best.gap <= gap)


def _look(objective: Objective, point: Array, steps: int) -> Maximum:
    slope = objective.gradient(point)
    gap = max(0.0, float(slope.max() - point @ slope))
    return Maximum(point, objective.value(point), gap, steps, False)


def _better(old: Maximum, new: Maximum) -> Maximum:
    chosen = new if new.gap < old.gap else old
    return Maximum(chosen.point, chosen.value, chosen.gap, new.steps, False)


def _newton(objective: Objective, start: Maximum, gap: float) -> Maximum:
    r"""Follow the central path :math:`\partial_i F + s_i = \lambda`, :math:`p_i s_i = \mu`."""
    size = len(start.point)
    p = np.maximum(start.point, 1e-3 / size)
    p /= p.sum()
    slope = objective.gradient(p)
    level = float(slope.max()) + max(start.gap, gap)
    s = level - slope
    best = start
    for steps in range(start.steps + 1, start.steps + NEWTON_LIMIT + 1):
        target = 0.1 * float(p @ s) / size
        moved = _newton_step(objective, p, s, level, target)
        if moved is None:
            break
        p, s, level = moved
        seen = _look(objective, p / p.sum(), steps)
        best = _better(best, seen)
        if best.gap <= gap or float(p @ s) < 1e-3 * gap:
            break
    return best


def _newton_step(
    objective: Objective, p: Array, s: Array, level: float, target: float
) -> tuple[Array, Array, float] | None:
    slope = objective.gradient(p)
    off = level - slope - s
    system = objective.curvature(p)
    # Scaling by p keeps the system well conditioned while probabilities go to zero.
    system = system * p[:, None] * p[None, :]
    system[np.diag_indices_from(system)] += p * s
    right = np.stack([p * (-off) + target - p * s, p], axis=1)
    try:
        with np.errstate(all="ignore"):
            solved = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solved).all():
        return None
    free, pull = solved[:, 0], solved[:, 1]
    rise = float((p @ free + p.sum() - 1) / (p @ pull))
    relative = free - rise * pull
    dp = p * relative
    ds = target / p - s - s * relative
    length_p = min(1.0, _STAY_INSIDE / max(1e-300, float((-relative).max())))
    length_s = min(1.0, _STAY_INSIDE / max(1e-300, float((-ds / s).max())))
    length = min(length_p, length_s)
    new_p, new_s = p + length * dp, s + length * ds
    if not ((new_p > 0).all() and (new_s > 0).all()):
        return None
    return new_p, new_s, level + length * rise
