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
from tightrope.optimize.progress import Watch

#: Seconds after which nothing is proved: the bound is for searches whose time is up.
SECONDS = 1.0


def layered_prices(
    problem: Problem,
    profile: Floats,
    watch: Watch | None = None,
    *,
    most: float = 3e8,
    margin: float = 1e-12,
) -> Floats:
    """Return the largest multiple of a profile that is proved layer by layer, at least 0.

    Nothing is proved where the work would be too long: guesses times arcs, where a layer counts as
    a thousand, are more than ``most``; nor where it is.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> far = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) / 9
    >>> prices = layered_prices(Problem(PathPower(9), Epsilon.of("ln(2)"), far), np.ones(9))
    >>> round(float(prices.sum()), 4)
    0.9749
    """
    guesses = problem.guesses
    start, end, length = problem.ways
    shortest = float(problem.lengths.min(initial=1))
    layers = float(problem.distances[0].max()) / shortest
    if len(guesses) * (len(start) + 1000 * layers) > most or not profile.max() > 0:
        return np.zeros(problem.size)
    profile = problem.class_means(profile)
    # A flat column is private, so the best blind guess bounds s from above.
    blind = problem.costs[:, guesses].sum(axis=0).min()
    level = float(blind / profile.sum())
    watch = Watch() if watch is None else watch
    began = watch.seconds
    for k in guesses.tolist():
        watch.heartbeat()
        if watch.seconds - began > SECONDS:
            return np.zeros(problem.size)
        anchor = int(problem.anchors[k])
        cost = problem.costs[:, k]
        away = np.asarray(problem.distances[anchor], float)
        # Arcs from i to j that lie on a shortest path to the anchor, layer by layer.
        nearer = np.flatnonzero(
            np.abs(away[end] + length - away[start]) <= TIGHT_TOLERANCE
        )
        nearer = nearer[np.argsort(away[start[nearer]], kind="stable")]
        i = start[nearer]
        j = end[nearer]
        fall = problem.alpha ** length[nearer]
        # What an answer has is shared evenly by its neighbours nearer to the anchor.
        even = 1 / np.bincount(i, minlength=problem.size)[i]
        cuts = np.flatnonzero(np.diff(away[i])) + 1
        parts = np.split(np.arange(len(i)), cuts)
        while True:
            # A surplus is worth α per step towards the anchor, a deficit is divided by α.
            left = cost - level * profile
            rate = np.empty(len(i))
            for part in reversed(parts):
                surplus = left[i[part]]
                factor = np.where(surplus > 0, fall[part], 1 / fall[part])
                rate[part] = factor * even[part]
                np.add.at(left, j[part], rate[part] * surplus)
            if left[anchor] >= 0:
                break
            # At these rates the anchor gets (c - t·profile)·column: 0 at t = c·x / profile·x.
            column = np.zeros(problem.size)
            column[anchor] = 1.0
            for part in parts:
                carried = rate[part] * column[j[part]]
                np.add.at(column, i[part], carried)
            lower = float(cost @ column / (profile @ column))
            # Dinkelbach's values fall: no decrease beyond round-off means that s is found.
            if not lower < level * (1 - margin):
                level *= 1 - margin
                break
            level = lower
    return max(level * (1 - margin), 0.0) * profile
