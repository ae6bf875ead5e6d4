r"""What can be said about a structured channel without its matrix.

Two facts cover the structured kinds:

- **Independent parts.** A Kronecker product, and a scaled Φ on a Cartesian product of graphs
  with equal ball sizes, handle every coordinate on its own. With a prior that is a product
  too, leakages and informations *add up*. :func:`parts` finds the parts.
- **Strongest pull.** In a scaled Φ and a geometric channel
  :math:`X_{io} = \alpha^{d(i,o)} z_o`, so :math:`V(\pi, X) = \sum_o z_o v_o` with
  :math:`v_o = \max_i \pi_i \alpha^{d(i,o)}`: one pass along a line, one shortest-path search
  elsewhere. :func:`strongest_pull` finds v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel, ScaledPhi
from tightrope.channels.structured import log_alpha_sum
from tightrope.consumers import Prior
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph, PathPower

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """One independent coordinate of a channel, its prior, and how often it occurs.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> Part(Channel([[1.0]]), Prior.uniform(1), 20).times
    20
    """

    channel: Channel
    prior: Prior
    times: int


def parts(channel: Channel, prior: Prior) -> list[Part] | None:
    """Split a channel into independent coordinates, or return ``None`` when it has one only.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> answer = Channel([[0.8, 0.2], [0.2, 0.8]])
    >>> crowd = KroneckerChannel([answer] * 60)
    >>> [(p.channel.shape, p.times) for p in parts(crowd, Prior.uniform(2**60))]
    [((2, 2), 60)]
    >>> parts(answer, Prior.uniform(2)) is None
    True
    """
    factors = _factors(channel)
    if factors is None or len(factors) == 1:
        return None
    known = Prior.uniform(prior.size) if prior.is_uniform else prior
    priors = known.factors([factor.shape[0] for factor in factors])
    if priors is None:
        return None
    found: dict[tuple[int, int], Part] = {}
    for factor, own in zip(factors, priors, strict=True):
        key = id(factor), id(own)
        times = found[key].times if key in found else 0
        found[key] = Part(factor, own, times + 1)
    return list(found.values())


def _factors(channel: Channel) -> list[Channel] | None:
    if isinstance(channel, KroneckerChannel):
        return list(channel.factors)
    if not isinstance(channel, ScaledPhi) or channel.constant_scale is None:
        return None
    graph = channel.graph
    if graph.product != "cartesian":
        return None
    made: dict[int, Channel] = {}
    for factor in graph.factors:
        sizes = factor.constant_ball_sizes
        if sizes is None:
            return None
        if id(factor) not in made:
            scale = math.exp(-log_alpha_sum(channel.epsilon, sizes))
            made[id(factor)] = ScaledPhi(factor, channel.epsilon, scale)
    return [made[id(factor)] for factor in graph.factors]


def weighted_maxima_sum(channel: Channel, prior: Prior) -> float | None:
    r"""Return :math:`\sum_o \max_i \pi_i X_{io}` by rule, or ``None`` when there is none.

    >>> path = GeometricChannel(3, "ln(2)")
    >>> round(weighted_maxima_sum(path, Prior([0.5, 0.25, 0.25])), 6)
    0.583333
    """
    if isinstance(channel, GeometricChannel):
        line = PathPower(channel.size)
        pull = _pull_on_band(prior.probabilities, line.width, channel.step)
        return float(channel.column_maxima() @ pull)
    if isinstance(channel, ScaledPhi) and not channel.graph.has_lengths:
        return float(channel.scale @ strongest_pull(channel.graph, channel.epsilon, prior))
    return None


def symmetric_information(channel: Channel) -> float | None:
    r"""Return the information in bits that a fully symmetric channel carries, else ``None``.

    Where every answer sees the same ball sizes and :math:`X_{io} = z\,\alpha^{d(i,o)}`, all
    rows and all columns hold the same numbers: the uniform prior gives a uniform output,
    the information is :math:`\log_2 n - H(\text{row})`, and that is the capacity.

    >>> from tightrope.graphs import Clique
    >>> round(symmetric_information(ScaledPhi(Clique(2), "ln(3)", 0.75)), 6)
    0.188722
    """
    if not isinstance(channel, ScaledPhi) or channel.constant_scale is None:
        return None
    sizes = channel.graph.constant_ball_sizes
    if sizes is None:
        return None
    level = float(channel.epsilon)
    log_z = -log_alpha_sum(channel.epsilon, sizes)
    # H(row) = -Σ n_d p_d ln p_d with p_d = z α^d, and Σ n_d p_d = 1.
    mean_distance = math.fsum(
        d * math.exp(math.log(n) + log_z - level * d) for d, n in enumerate(sizes) if n
    )
    nats = math.log(channel.graph.size) + log_z - level * mean_distance
    return max(0.0, nats / math.log(2))


def strongest_pull(graph: AnswerGraph, epsilon: Epsilon, prior: Prior) -> Array:
    r"""Return :math:`v_o = \max_i \pi_i \alpha^{d(i,o)}` for every node o, without a matrix.

    Along a band it takes two passes; on other graphs one shortest-path search from all nodes
    at once, because :math:`-\ln v_o = \min_i (-\ln \pi_i + ε d(i,o))`.

    Parameters
    ----------
    graph
        The answer graph, with edges of length 1.
    epsilon
        The privacy level.
    prior
        A prior over its nodes.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> known = Prior([0.1, 0.6, 0.15, 0.15])
    >>> strongest_pull(Star(3), Epsilon.of("ln(2)"), known).round(6).tolist()
    [0.3, 0.6, 0.15, 0.15]
    """
    pi = prior.probabilities
    if prior.is_uniform:
        return np.array(pi)
    if graph.power is not None:
        return _pull_on_band(pi, graph.power, float(epsilon))
    return _pull_by_search(graph, float(epsilon), pi)


def _pull_on_band(pi: Array, width: int, level: float) -> Array:
    r"""With :math:`d = \lceil|i-j|/w\rceil`, one pass to the right and one to the left."""
    with np.errstate(divide="ignore"):
        logs = np.log(pi)
    right = _pull_from_left(logs, width, level)
    left = _pull_from_left(logs[::-1], width, level)[::-1]
    return np.asarray(np.exp(np.maximum(right, left)))


def _pull_from_left(logs: Array, width: int, level: float) -> Array:
    """Return the strongest pull from nodes at or left of each node, in logarithms.

    A node within one width pulls from distance 1; one further away pulls the node a width
    nearer first, so the pull falls by one level for every width: a running maximum in each
    residue class.
    """
    from scipy.ndimage import maximum_filter1d

    near = logs
    if width > 1:
        # Window of the width-1 nodes to the left and the node itself.
        window = maximum_filter1d(
            logs, width, mode="constant", cval=-np.inf, origin=(width - 1) // 2
        )
        near = np.maximum(logs, window - level)
    count = -(-len(near) // width)
    padded = np.full(count * width, -np.inf)
    padded[: len(near)] = near
    slope = level * np.arange(count)[:, None]
    table = padded.reshape(count, width) + slope
    return np.asarray((np.maximum.accumulate(table, axis=0) - slope).ravel()[: len(logs)])


def _pull_by_search(graph: AnswerGraph, level: float, pi: Array) -> Array:
    """Add a source joined to every node by its own -ln π and search from there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    edges, n = graph.edge_array(), graph.size
    seen = np.flatnonzero(pi > 0)
    # The search treats an entry of 0 as no edge, so all first steps carry one more unit.
    first = 1.0 - np.log(pi[seen])
    tails = np.concatenate([edges[:, 0], edges[:, 1], np.full(len(seen), n)])
    heads = np.concatenate([edges[:, 1], edges[:, 0], seen])
    lengths = np.concatenate([np.full(2 * len(edges), level), first])
    network = coo_array((lengths, (tails, heads)), shape=(n + 1, n + 1)).tocsr()
    found = dijkstra(network, directed=True, indices=n)[:n]
    return np.asarray(np.exp(1.0 - found))
