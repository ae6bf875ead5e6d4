r"""Prices proved without listed multipliers: on trees they follow from the prices.

What is left of :math:`\pi_i\,\ell(i,k) - \lambda_i` at the leaves is sent towards one answer, the
*root* of the guess k. A surplus s at a node is worth :math:`\alpha s` at the next one, because
:math:`x_c \ge \alpha x_p`; a debt s costs :math:`s/\alpha` there, because
:math:`x_c \le x_p/\alpha`. All rounding is downwards. If nothing is owed at the root, the
inequality of the guess holds for every private column x.
"""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.certify.container import need
from tightrope.certify.neighbours import Graph

# -- prices on trees and lines ------------------------------------------------------------


class Tree:
    """A tree seen from node 0: parents, and for each node the ratio of the edge above it.

    >>> import numpy as np
    >>> path = Tree(Graph(3, [[3, 1]], np.zeros((0, 2), int), np.zeros(0, int)))
    >>> path.left_at(1, [4, -3, 4], [1 << 61]), path.left_at(1, [4, -5, 4], [1 << 61])
    (1, -1)
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.nodes
        self.parent, self.ratio, self.order = [-1] * n, [0] * n, [0]
        if graph.box is not None:
            need(len(graph.box) == 1 and graph.box[0][1] == 1, "certificate: no tree, no path")
            self.parent, self.order = list(range(-1, n - 1)), list(range(n))
            return
        need(graph.symmetric is None and len(graph.edges) == n - 1, "certificate: no tree")
        near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for (i, h), which in zip(graph.edges.tolist(), graph.length.tolist(), strict=True):
            near[i].append((h, which))
            near[h].append((i, which))
        for i in self.order:  # grows while it is read; the graph is known to be connected
            for h, which in near[i]:
                if h != self.parent[i]:
                    self.parent[h], self.ratio[h] = i, which
                    self.order.append(h)

    def left_at(self, root: int, weights: list[int], alphas: Sequence[int]) -> int:
        """Send what is left at every node towards the root; return what arrives there."""
        left, parent, ratio = weights, self.parent, self.ratio
        # Later surpluses are no more than this: who owes more will always owe.
        most = sum(x for x in left if x > 0)
        way = [root]
        while parent[way[-1]] >= 0:
            way.append(parent[way[-1]])
        turned = set(way)
        steps = [(c, parent[c], ratio[c]) for c in reversed(self.order) if c not in turned]
        steps += [(p, c, ratio[c]) for c, p in zip(way[-2::-1], way[:0:-1], strict=True)]
        for c, p, which in steps:
            x = left[c]
            if x >= 0:
                left[p] += x * alphas[which] >> 62
            elif -x > most or not alphas[which]:
                return -1 - most
            else:
                left[p] += (x << 62) // alphas[which]
        return left[root]


class Side:
    r"""Sums over the answers from j on of a line, the one at distance t times α^t.

    ``costs`` are c_i and guess k costs ``c_i·|i - k|^power``. All sums are times 2^62 and rounded
    down; each step loses less than 1, so over m answers Σ α^t lacks at most m and Σ t·α^t m².

    >>> side = Side([1, 1, 1], [0, 0, 0], 1 << 61, 1)
    >>> [side.least(0, k) / 2**62 for k in (0, 1, 2)], side.least(2, 0) / 2**62
    ([1.0, 1.25, 2.5], 2.0)
    """

    def __init__(self, costs: list[int], prices: list[int], alpha: int, power: int) -> None:
        n, self.power = len(costs), power
        self.owed = [0] * (n + 1)
        self.low: list[list[int]] = [[0] * (n + 1) for _ in range(power + 1)]
        zeroth, first, last = self.low[0], self.low[1], self.low[-1]
        for j in range(n - 1, -1, -1):
            self.owed[j] = (prices[j] << 62) - (-alpha * self.owed[j + 1] >> 62)
            a, b = zeroth[j + 1], first[j + 1]  # Σ t^p becomes Σ (t+1)^p
            zeroth[j] = (a * alpha >> 62) + (costs[j] << 62)
            first[j] = (a + b) * alpha >> 62
            if power == 2:
                last[j] = (a + 2 * b + last[j + 1]) * alpha >> 62
        self.powers = [1 << 62]
        while self.powers[-1] and len(self.powers) <= n:
            self.powers.append(self.powers[-1] * alpha >> 62)

    def high(self, p: int, j: int) -> int:
        """Bound the sum from j on from above, for p = 0 or 1."""
        many = len(self.owed) - 1 - j
        return self.low[p][j] + (many * many if p else many)

    def beyond(self, p: int, j: int, k: int) -> int:
        """Bound ``α^(k-j)·(sum from k on)`` from below."""
        steps = k - j
        return self.powers[steps] * self.low[p][k] >> 62 if steps < len(self.powers) else 0

    def least(self, j: int, k: int) -> int:
        """Bound the cost of guess k over the answers from j on, from below."""
        gap = abs(k - j)
        if self.power == 2:
            first = self.low[1][j] if k <= j else -self.high(1, j)
            return self.low[2][j] + 2 * gap * first + gap * gap * self.low[0][j]
        if k <= j:
            return self.low[1][j] + gap * self.low[0][j]
        return gap * self.low[0][j] - self.high(1, j) + 2 * self.beyond(1, j, k)

    def rise(self, j: int, k: int) -> int:
        """Bound from above, or by 0, what guess k costs more than guess k - 1 from j on."""
        if k <= j:
            return 0
        if self.power == 2:
            return max(0, (2 * (k - j) - 1) * self.high(0, j) - 2 * self.low[1][j])
        return max(0, self.high(0, j) - 2 * self.beyond(0, j, k))

    def room(self, j: int, k: int) -> int:
        """Bound from below what is left from j on for guess k and for every guess before it.

        The cost is convex in the guess: it rises by no more before k than it does there.
        """
        return self.least(j, k) - k * self.rise(j, k) - self.owed[j]


def line_rooms(
    costs: list[int], prices: list[int], alpha: int, power: int, cuts: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return what is left of every guess, times 2^62: at each edge from both sides, and its root.

    Guesses up to ``cuts[j]`` have their root at j or before, the others behind.

    >>> [side[0] >> 62 for side in line_rooms([3, 3], [1, 1], 1 << 61, 1, [0])]
    [2, 2, 0]
    """
    n = len(costs)
    right = Side(costs, prices, alpha, power)
    left = Side(costs[::-1], prices[::-1], alpha, power)
    ahead = [right.room(j + 1, k) if k >= 0 else 0 for j, k in enumerate(cuts)]
    behind = [left.room(n - 1 - j, n - 2 - k) if k < n - 1 else 0 for j, k in enumerate(cuts)]
    at_root, root = [], 0
    for k in range(n):
        while root < n - 1 and cuts[root] < k:
            root += 1
        found = (costs[root] * abs(root - k) ** power - prices[root]) << 62
        if root < n - 1:
            found += (right.least(root + 1, k) - right.owed[root + 1]) * alpha >> 62
        if root:
            j = n - root
            found += (left.least(j, n - 1 - k) - left.owed[j]) * alpha >> 62
        at_root.append(found)
    return ahead, behind, at_root
