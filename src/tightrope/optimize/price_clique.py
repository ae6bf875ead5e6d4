"""Pricing on a clique by rule: a ray has two levels."""

from __future__ import annotations

import numpy as np

from tightrope.optimize.problem import Floats, Ints


class CliquePricer:
    """Cheapest rays on a clique.

    Around an anchor of height 0 the others are all at 0 or 1, or all at 0 or -1; each is where
    its weight wants it.

    Examples
    --------
    >>> pricer = CliquePricer(3, 0.5)
    >>> values, heights, _ = pricer.cheapest(np.array([[1.0], [2.0], [-1.0]]), np.array([0]))
    >>> values.tolist(), heights.tolist()
    ([1.0], [[0, 1, 0]])
    """

    def __init__(self, size: int, alpha: float) -> None:
        self.size = size
        self.alpha = alpha

    def cheapest(self, weights: Floats, anchors: Ints) -> tuple[Floats, Ints, Floats]:
        """Return value and heights of the cheapest ray of each guess (column of weights)."""
        each = np.arange(weights.shape[1])
        low = (weights > 0).astype(np.int64)
        high = -(weights < 0).astype(np.int64)
        low[anchors, each] = high[anchors, each] = 0
        costs = [(weights * self.alpha ** h.astype(float)).sum(axis=0) for h in (low, high)]
        heights = np.where(costs[0] <= costs[1], low, high)
        return np.minimum(*costs), heights.T.copy(), np.zeros(len(each))
