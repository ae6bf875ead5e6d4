r"""A bound without a search: what each guess can pay for layer by layer.

Let prices be s times a profile m. For a guess k the answers at one distance of it are a layer, and
everything is sent towards k: an answer with :math:`V > 0` is worth :math:`\alpha V` to the next
layer, because :math:`x_j \ge \alpha x_i` on an edge, and a debt costs :math:`V / \alpha`, because
:math:`x_i \le x_j / \alpha`. What an answer has is shared evenly by its neighbours in the next
layer. If nothing is owed at k itself, the prices are proved for k. The largest such s is found by
Dinkelbach's method: the slopes in use are a column, and its costs over its profile the next s.
"""

from __future__ import annotations

import numpy as np

from tightrope.optimize.faces import TIGHT_TOLERANCE
from tightrope.optimize.problem import Floats, Problem


def layered_prices(
    problem: Problem, profile: Floats, *, most: float = 3e8, margin: float = 1e-12
) -> Floats:
    """Return the largest multiple of a profile that is proved layer by layer, at least 0.

    Nothing is proved where the work would be too long: guesses times arcs, where a layer counts as
    a thousand, are more than ``most``.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> far = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> found = layered_prices(Problem(PathPower(9), Epsilon.of("ln(2)"), far), np.ones(9))
    >>> round(float(found.sum()), 4)
    0.9749
    """
    guesses, (start, end, length) = problem.guesses, problem.ways
    layers = float(problem.distances[0].max()) / float(problem.lengths.min(initial=1))
    if len(guesses) * (len(start) + 1000 * layers) > most or not profile.max() > 0:
        return np.zeros(problem.size)
    profile = problem.class_means(profile)
    level = float(problem.costs[:, guesses].sum(axis=0).min() / profile.sum())
    for k in guesses.tolist():
        anchor, cost = int(problem.anchors[k]), problem.costs[:, k]
        away = np.asarray(problem.distances[anchor], float)
        nearer = np.flatnonzero(np.abs(away[end] + length - away[start]) <= TIGHT_TOLERANCE)
        nearer = nearer[np.argsort(away[start[nearer]], kind="stable")]
        i, j, fall = start[nearer], end[nearer], problem.alpha ** length[nearer]
        even = 1 / np.bincount(i, minlength=problem.size)[i]
        parts = np.split(np.arange(len(i)), np.flatnonzero(np.diff(away[i])) + 1)
        while True:
            left, rate = cost - level * profile, np.empty(len(i))
            for part in reversed(parts):
                has = left[i[part]]
                rate[part] = np.where(has > 0, fall[part], 1 / fall[part]) * even[part]
                np.add.at(left, j[part], rate[part] * has)
            if left[anchor] >= 0:
                break
            column = np.zeros(problem.size)
            column[anchor] = 1.0
            for part in parts:
                np.add.at(column, i[part], rate[part] * column[j[part]])
            lower = float(cost @ column / (profile @ column))
            if not lower < level * (1 - margin):
                level *= 1 - margin
                break
            level = lower
    return np.asarray(max(level * (1 - margin), 0.0) * profile)
