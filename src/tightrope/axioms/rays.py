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


def all_rays(graph: AnswerGraph, alpha: float, *, most_nodes: int = 9) -> Floats:
    """Return every ray of a small graph as a row, its largest entry 1.

    Parameters
    ----------
    graph
        A small graph with edges of length 1.
    alpha
        α in (0, 1).
    most_nodes
        Largest number of nodes: the rays of more are too many.

    Examples
    --------
    >>> from tightrope.graphs import Clique, Star
    >>> all_rays(Star(3), 0.5).shape, all_rays(Clique(3), 0.5).shape
    ((8, 4), (6, 3))
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph._check_unit("rays")
    if graph.size > most_nodes:
        raise TooLarge(f"the rays of {graph.size} answers are too many: at most {most_nodes} fit")
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
    rays: Floats, consumers: list[Consumer], own: tuple[float, ...] | None, positive: float = 1e-9
) -> tuple[float, tuple[int, ...]]:
    """Solve for the least t with loss_c ≤ own_c + t; without own losses, for the least loss.

    The variables are the weights of the rays, for each risk-averse consumer the shares of these
    weights among the guesses, and t. A multiplier above ``positive`` counts as positive.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, kron

    count, n = rays.shape
    averse = [c for c, consumer in enumerate(consumers) if consumer.risk_averse]
    last = 1 + len(averse)

    def line(blocks: dict[int, Any]) -> list[Any]:
        return [blocks.get(place) for place in range(last + 1)]

    below, limits, owners = [], [], []
    equal, right = [line({0: csr_array(rays.T), last: csr_array((n, 1))})], [np.ones(n)]
    for c, consumer in enumerate(consumers):
        losses = consumer.loss.matrix()
        if consumer.risk_averse:
            rows = np.stack([np.kron(rays[:, i], losses[i]) for i in consumer.support])
            place = 1 + averse.index(c)
            blocks = {0: csr_array((len(rows), count)), place: csr_array(rows)}
            shares = kron(eye_array(count), np.ones((1, losses.shape[1])))
            equal.append(line({0: eye_array(count), place: -shares}))
            right.append(np.zeros(count))
        else:
            rows = (rays @ (consumer.prior.probabilities[:, None] * losses)).min(axis=1)[None]
            blocks = {0: csr_array(rows)}
        below.append(line({**blocks, last: csr_array(-np.ones((len(rows), 1)))}))
        limits += [0.0 if own is None else own[c]] * len(rows)
        owners += [c] * len(rows)
    above = block_array(below, format="csr")
    costs = np.zeros(above.shape[1])
    costs[-1] = 1.0
    solved = linprog(
        costs,
        A_ub=above,
        b_ub=np.array(limits),
        A_eq=block_array(equal, format="csr"),
        b_eq=np.concatenate(right),
        bounds=[(0, None)] * (len(costs) - 1) + [(None, None)],
        method="highs",
    )
    if solved.status != 0:
        raise CheckFailed(f"the linear program over rays was not solved: {solved.message}")
    active = np.array(owners)[np.abs(solved.ineqlin.marginals) > positive]
    return float(solved.fun), tuple(np.unique(active).tolist())
