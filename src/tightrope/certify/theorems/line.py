r"""Prices on a path, for all guesses at once.

*Theorem.* On a path let ``w_i = π_i·f·|i - k|^p - λ_i`` for guess k, let S_j(k) be the sum of
``α^(i-j)·w_i`` over i >= j, and P_j(k) its mirror image over i <= j. If some root a has ``S_j(k)
>= 0`` behind it, ``P_j(k) >= 0`` before it, and ``w_a + α·P_(a-1)(k) + α·S_(a+1)(k) >= 0``, the
condition of guess k holds; if each guess has a root, no private mechanism loses less than Σ λ_i.

*Proof.* From both ends every answer sends its surplus to the next one towards the root, where it
is worth α times as much, because a private column has ``x_c >= α·x_p``. Nothing is short at the
root. ∎

The sums are convex in k. At the edge between j - 1 and j it is enough to look at the last guess
whose root is before the edge, and to subtract, for the guesses before it, by how much S_j still
rises there. So there are two conditions for each edge and one for each guess. ``places`` lists
by how much the last guess with its root before an edge grows from edge to edge.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import BITS, CertificateKind, Shortfalls
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Array,
    Header,
    Sizes,
    need,
    need_work,
    registered,
)


@registered(CERTIFICATES, "line")
class LineKind(CertificateKind):
    """Prices and the cuts between the roots of the guesses."""

    fields: ClassVar = BITS

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return prices and cuts."""
        places = {"places": (nodes - 1, 0, nodes + 1)}
        return super().sections(header, nodes, guesses) | places

    @classmethod
    def shortfalls(cls, consumer: StatedConsumer, prices: Array) -> Shortfalls:
        """Yield where a sum towards a root is negative."""
        costs, owed = line_numbers(consumer, prices)
        narrow = max(consumer.factor, consumer.unit) < 1 << 128
        narrow = narrow and max(abs(prices)) < 1 << 192 and consumer.bits <= 128
        need(narrow, "the certificate is too wide for a line")
        # Stored as differences: roots move monotonically with the guess.
        cuts = (np.cumsum(consumer.file.section("places")) - 1).tolist()
        inside = cuts[-1] < consumer.n
        need(inside, "certificate: a cut lies behind the last guess")
        rooms = line_rooms(costs, owed, consumer.alphas[0], consumer.power, cuts)
        # The root of k is the first node j with cuts[j] >= k.
        roots = np.searchsorted(cuts, np.arange(consumer.n)).tolist()
        # The last guess with its root before an edge, the first behind it, and all at their roots.
        guesses = (cuts, [cut + 1 for cut in cuts], range(consumer.n))
        answers = (range(1, consumer.n), range(consumer.n), roots)
        for ks, at, side in zip(guesses, answers, rooms, strict=True):
            for k, i, room in zip(ks, at, side, strict=False):
                if room < 0:
                    short = -(room // (consumer.scale << 62))
                    yield k, np.array([i]), np.array([short], object)


def line_numbers(
    consumer: StatedConsumer, prices: Array
) -> tuple[list[int], list[int]]:
    """Return costs per distance and prices over one denominator."""
    path = consumer.graph.is_path and consumer.n > 1 and consumer.power > 0
    need(path, "certificate: a line needs a path and a loss by distance")
    need_work("the conditions on a line", consumer.n, 60_000, 3000 * consumer.n)
    costs = consumer.prior * (consumer.factor << consumer.bits)
    return costs.tolist(), (prices * consumer.scale).tolist()


class Side:
    r"""Sums over the answers from j on of a line, the one at distance t times α^t.

    ``costs`` are c_i and guess k costs ``c_i·|i - k|^power``. All sums are times 2^62 and rounded
    down; each step loses less than 1, so over m answers Σ α^t lacks at most m and Σ t·α^t m².

    >>> side = Side([1, 1, 1], [0, 0, 0], 1 << 61, 1)
    >>> [side.least(0, k) / 2**62 for k in (0, 1, 2)], side.least(2, 0) / 2**62
    ([1.0, 1.25, 2.5], 2.0)
    """

    def __init__(
        self, costs: list[int], prices: list[int], alpha: int, power: int
    ) -> None:
        n = len(costs)
        self.power = power
        self.owed = [0] * (n + 1)
        self.low: list[list[int]] = [[0] * (n + 1) for _ in range(power + 1)]
        zeroth = self.low[0]
        first = self.low[1]
        last = self.low[-1]
        for j in range(n - 1, -1, -1):
            # Σ α^t·λ, rounded up: what is owed must not be understated.
            self.owed[j] = (prices[j] << 62) - (-alpha * self.owed[j + 1] >> 62)
            # Σ t^p becomes Σ (t+1)^p
            a = zeroth[j + 1]
            b = first[j + 1]
            zeroth[j] = (a * alpha >> 62) + (costs[j] << 62)
            first[j] = (a + b) * alpha >> 62
            if power == 2:
                last[j] = (a + 2 * b + last[j + 1]) * alpha >> 62
        # α^t rounded down, up to the first 0.
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
        return (
            self.powers[steps] * self.low[p][k] >> 62 if steps < len(self.powers) else 0
        )

    def least(self, j: int, k: int) -> int:
        """Bound the cost of guess k over the answers from j on, from below."""
        gap = abs(k - j)
        if self.power == 2:
            first = self.low[1][j] if k <= j else -self.high(1, j)
            # Σ (t ± g)²·α^t = Σ t²·α^t ± 2g·Σ t·α^t + g²·Σ α^t, with - for a guess behind j.
            return self.low[2][j] + 2 * gap * first + gap * gap * self.low[0][j]
        if k <= j:
            return self.low[1][j] + gap * self.low[0][j]
        # |t - g| = g - t + 2·max(0, t - g): the last part is the sum from the guess on.
        return gap * self.low[0][j] - self.high(1, j) + 2 * self.beyond(1, j, k)

    def rise(self, j: int, k: int) -> int:
        """Bound from above, or by 0, what guess k costs more than guess k - 1 from j on."""
        if k <= j:
            return 0
        if self.power == 2:
            # Σ [(t - g)² - (t - g + 1)²]·α^t = (2g - 1)·Σ α^t - 2·Σ t·α^t.
            return max(0, (2 * (k - j) - 1) * self.high(0, j) - 2 * self.low[1][j])
        # |t - g| - |t - g + 1| is +1 for t < g and -1 from g on.
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
    # The mirror image: P_j of the path is S of the reversed one.
    left = Side(costs[::-1], prices[::-1], alpha, power)
    ahead = [right.room(j + 1, k) if k >= 0 else 0 for j, k in enumerate(cuts)]
    behind = [
        left.room(n - 1 - j, n - 2 - k) if k < n - 1 else 0 for j, k in enumerate(cuts)
    ]
    at_root = []
    root = 0
    for k in range(n):
        while root < n - 1 and cuts[root] < k:
            root += 1
        # w_a + α·P_(a-1) + α·S_(a+1), the third condition of the theorem.
        found = (costs[root] * abs(root - k) ** power - prices[root]) << 62
        if root < n - 1:
            found += (right.least(root + 1, k) - right.owed[root + 1]) * alpha >> 62
        if root:
            j = n - root
            found += (left.least(j, n - 1 - k) - left.owed[j]) * alpha >> 62
        at_root.append(found)
    return ahead, behind, at_root
