"""Means when the number of people is not fixed: the fractions s/k."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tightrope.errors import TooLarge
from tightrope.graphs.explicit import ExplicitGraph

#: Largest number of moves between (sum, people) pairs that are looked at.
MOVE_LIMIT = 20_000_000


def mean_graph(
    people: int, largest: int, *, change: bool, name: str | None = None
) -> ExplicitGraph:
    r"""Return the graph on the means s/k of :math:`1 \le k \le u` values from 0 … v.

    The states are the pairs (s, k), not the :math:`(v+1)^u` databases: one person more leads
    from (s, k) to (s+x, k+1), and with ``change`` one person's change to (s+x, k).

    Examples
    --------
    >>> graph = mean_graph(2, 2, change=False)
    >>> [str(label) for label in graph.labels], graph.edge_count
    (['0', '1/2', '1', '3/2', '2'], 6)
    """
    states = largest * people * (people + 1) // 2 + people
    moves = states * (largest + 1) * (2 if change else 1)
    if moves > MOVE_LIMIT:
        raise TooLarge(
            f"mean({people},{largest}) would look at {moves} moves between sums, more than "
            f"{MOVE_LIMIT}: use neighbours='change-one', where the graph is known by rule"
        )
    # One person more: s < s+x with one more in k. A change needs room for the other k-1 people.
    tops, bottoms = [], []
    step = np.arange(largest + 1)
    for k in range(1, people + 1):
        sums = np.arange(k * largest + 1)
        start, move = (side.ravel() for side in np.meshgrid(sums, step, indexing="ij"))
        if k < people:
            tops.append(np.stack([start, start + move]))
            bottoms.append(np.stack([np.full_like(start, k), np.full_like(start, k + 1)]))
        if change:
            inside = (move > 0) & (start + move <= k * largest)
            tops.append(np.stack([start, start + move])[:, inside])
            bottoms.append(np.full((2, int(inside.sum())), k))
    top = np.concatenate([np.arange(largest + 1), *(pair.ravel() for pair in tops)])
    bottom = np.concatenate([np.ones(largest + 1, np.int64), *(pair.ravel() for pair in bottoms)])
    shared = np.gcd(top, bottom)
    keys = (top // shared) * (people + 1) + bottom // shared
    found, nodes = np.unique(keys, return_inverse=True)
    values = [Fraction(int(key) // (people + 1), int(key) % (people + 1)) for key in found]
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), np.int64)
    place[order] = np.arange(len(values))
    rest, ends = place[nodes.ravel()][largest + 1 :], []
    for pair in tops:
        ends.append(rest[: pair.size].reshape(2, -1))
        rest = rest[pair.size :]
    edges = np.sort(np.concatenate([np.empty((2, 0), np.int64), *ends], axis=1), axis=0)
    edges = np.unique(edges[:, edges[0] < edges[1]], axis=1)
    return ExplicitGraph(
        edges.T, labels=[values[i] for i in order], name=name or f"mean({people},{largest})"
    )
