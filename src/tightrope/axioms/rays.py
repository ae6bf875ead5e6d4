r"""All rays of a small graph, and what one mechanism can give several consumers at once.

Every column of an ε-private mechanism is a sum of rays :math:`α^{h}` with integer heights h that
differ by at most 1 on edges and whose tight edges connect all nodes. A mechanism is a choice of
weights :math:`w_r \ge 0` with :math:`\sum_r w_r r = 1`, and a consumer who sees ray r gains
:math:`w_r \max_k \sum_i π_i g(i,k) r_i` from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, TooLarge
from tightrope.graphs import AnswerGraph

Floats = NDArray[np.float64]

#: Largest number of nodes whose rays are listed.
RAY_NODES = 9


def all_rays(graph: AnswerGraph, alpha: float) -> Floats:
    """Return every ray of a small graph as a row, its largest entry 1.

    Parameters
    ----------
    graph
        A graph with edges of length 1 and at most ``RAY_NODES`` nodes.
    alpha
        α in (0, 1).

    Examples
    --------
    >>> from tightrope.graphs import Clique, Star
    >>> all_rays(Star(3), 0.5).shape, all_rays(Clique(3), 0.5).shape
    ((8, 4), (6, 3))
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph._check_unit("rays")
    if graph.size > RAY_NODES:
        raise TooLarge(f"the rays of {graph.size} answers are too many: at most {RAY_NODES} fit")
    n, edges = graph.size, graph.edge_array()

    def network(some: NDArray[np.int64]) -> Any:
        return csr_array((np.ones(len(some)), (some[:, 0], some[:, 1])), shape=(n, n))

    order, parent = breadth_first_order(network(edges), 0, directed=False)
    heights = np.zeros((1, n), dtype=np.int64)
    for place, node in enumerate(order[1:], start=1):
        change = np.tile([-1, 0, 1], len(heights))
        heights = np.repeat(heights, 3, axis=0)
        heights[:, node] = heights[:, parent[node]] + change
        for other in np.intersect1d(graph.neighbours(int(node)), order[:place]):
            heights = heights[np.abs(heights[:, node] - heights[:, other]) <= 1]
    apart = heights[:, edges[:, 0]] != heights[:, edges[:, 1]]
    whole = [connected_components(network(edges[tight]), directed=False)[0] == 1 for tight in apart]
    heights = heights[whole]
    return np.asarray(alpha ** (heights - heights.min(axis=1, keepdims=True)).astype(float))


@dataclass(frozen=True)
class Together:
    """What consumers lose under one mechanism chosen for all of them, and under their own.

    Attributes
    ----------
    own
        The least loss of each consumer under a mechanism of its own.
    regret
        The least possible largest regret under one mechanism.
    active
        The consumers that stand in the way of a smaller one.

    Examples
    --------
    >>> Together((0.5, 0.25), 0.0, ()).regret
    0.0
    """

    own: tuple[float, ...]
    regret: float
    active: tuple[int, ...]


def together(rays: Floats, consumers: list[Consumer]) -> Together:
    """Return the least largest regret of several consumers under one mechanism.

    Parameters
    ----------
    rays
        The rays of the graph.
    consumers
        Bayesian or risk-averse consumers.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> people = [Consumer.of(Clique(3)), Consumer.of(Clique(3), prior="0.5,0.5,0")]
    >>> round(together(all_rays(Clique(3), 0.5), people).regret, 6)
    0.02381
    """
    own = tuple(_least(rays, [consumer], None)[0] for consumer in consumers)
    regret, active = _least(rays, consumers, own)
    return Together(own, max(0.0, regret), active)


def _least(
    rays: Floats, consumers: list[Consumer], own: tuple[float, ...] | None
) -> tuple[float, tuple[int, ...]]:
    """Solve for the least t with loss_c ≤ own_c + t; without own losses, for the least loss."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    count, n = rays.shape
    above: list[Any] = []
    limits: list[float] = []
    equal: list[Any] = [csr_array(rays.T)]
    width = count
    for c, consumer in enumerate(consumers):
        base = 0.0 if own is None else own[c]
        if not consumer.risk_averse:
            priced = consumer.prior.probabilities[:, None] * consumer.loss.matrix()
            cheapest = (rays @ priced).min(axis=1)
            above.append((cheapest[None, :], None, width))
            limits.append(base)
        else:
            losses = consumer.loss.matrix()
            guesses = losses.shape[1]
            # The weight of a ray is shared among the guesses made on it.
            rows = np.stack([np.kron(rays[:, i], losses[i]) for i in consumer.support])
            above.append((None, rows, width))
            limits += [base] * len(rows)
            share = np.kron(np.eye(count), np.ones((1, guesses)))
            equal.append((np.eye(count), share, width))
            width += count * guesses
    blocks = []
    for mine, more, start in above:
        rows = mine if mine is not None else more
        line = np.zeros((len(rows), width + 1))
        if mine is not None:
            line[:, :count] = mine
        else:
            line[:, start : start + more.shape[1]] = more
        line[:, -1] = -1.0
        blocks.append(csr_array(line))
    fixed = [hstack([equal[0], csr_array((n, width + 1 - count))])]
    right = [np.ones(n)]
    for weights, share, start in equal[1:]:
        line = np.zeros((count, width + 1))
        line[:, :count] = weights
        line[:, start : start + share.shape[1]] = -share
        fixed.append(csr_array(line))
        right.append(np.zeros(count))
    costs = np.zeros(width + 1)
    costs[-1] = 1.0
    solved = linprog(
        costs,
        A_ub=vstack(blocks),
        b_ub=np.array(limits),
        A_eq=vstack(fixed),
        b_eq=np.concatenate(right),
        bounds=[(0, None)] * width + [(None, None)],
        method="highs",
    )
    if solved.status != 0:
        raise CheckFailed(f"the linear program over rays was not solved: {solved.message}")
    owners = np.repeat(np.arange(len(consumers)), [block.shape[0] for block in blocks])
    active = np.unique(owners[np.abs(solved.ineqlin.marginals) > 1e-9])
    return float(solved.fun), tuple(active.tolist())
