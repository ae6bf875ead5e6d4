r"""What can be said about a structured channel without its matrix.

Two facts cover the structured kinds:

- **Independent parts.** A Kronecker product, and a scaled Φ on a Cartesian product of graphs
  with equal ball sizes, handle every coordinate on its own. With a prior that is a product
  too, leakages and informations *add up*. :func:`parts` finds the parts.
- **Reach.** In a scaled Φ and a geometric channel
  :math:`X_{io} = \alpha^{d(i,o)} z_o`, so :math:`V(\pi, X) = \sum_o z_o v_o` with
  :math:`v_o = \max_i \pi_i \alpha^{d(i,o)}`, which :meth:`tightrope.phi.Phi.reach` finds without a
  matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel, GeometricChannel, KroneckerChannel, ScaledPhi
from tightrope.channels.structured import log_alpha_sum
from tightrope.consumers import Prior
from tightrope.phi import Phi
from tightrope.phi.lines import reach_along

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
        reached = reach_along(prior.probabilities, 1, channel.step)
        return float(channel.column_maxima() @ reached)
    if isinstance(channel, ScaledPhi):
        phi = Phi(channel.graph, channel.epsilon)
        return float(channel.scale @ phi.reach(prior.probabilities))
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
