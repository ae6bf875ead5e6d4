r"""What a channel tells about the secret that goes in.

Every measure compares the uncertainty before and after an output is seen [B, §2.1]. The
matrix is read once, in blocks of rows, and channels that follow a rule are measured without
a matrix (:mod:`tightrope.leakage.by_rule`). In all functions ``prior=None`` means the uniform
prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels import Channel
from tightrope.errors import InputError
from tightrope.leakage import by_rule
from tightrope.leakage.entropy import PriorLike, as_prior, bits_of, gain_matrix

Array = NDArray[np.float64]

#: Entries that are worked on at once: small enough to stay in the cache.
CACHED_ENTRIES = 1 << 15


def posterior_vulnerability(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`V(\pi, X) = \sum_o \max_i \pi_i X_{io}`: a right guess after the output.

    It is also the utility of a consumer with binary loss who remaps well [B, Prop 24].

    Parameters
    ----------
    channel
        Any channel.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> posterior_vulnerability(response), posterior_vulnerability(response, [0.9, 0.1])
    (0.75, 0.9)
    """
    known = as_prior(prior, channel.shape[0])
    split = by_rule.parts(channel, known)
    if split is not None:
        return math.prod(posterior_vulnerability(p.channel, p.prior) ** p.times for p in split)
    if known.is_uniform:
        return channel.column_maxima_sum() / channel.shape[0]
    found = by_rule.weighted_maxima_sum(channel, known)
    return _weighted_maxima_sum(channel, known.probabilities) if found is None else found


def posterior_min_entropy(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`H_\infty(A|B) = -\log_2 V(\pi, X)` in bits [B, §2.1].

    >>> from tightrope.channels import Channel
    >>> posterior_min_entropy(Channel([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    known = as_prior(prior, channel.shape[0])
    split = by_rule.parts(channel, known)
    if split is not None:
        return sum(p.times * posterior_min_entropy(p.channel, p.prior) for p in split)
    return -math.log2(posterior_vulnerability(channel, known)) + 0.0


def min_entropy_leakage(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`\log_2 V(\pi, X) / V(\pi)`: how much easier one guess becomes, in bits.

    For the uniform prior it is the min-capacity; for every prior it is at most that
    [B, §2.1]. Utility under binary loss is :math:`V(\pi)\,2^{\text{leakage}}` [A, Prop 5].

    >>> from tightrope.channels import Channel
    >>> round(min_entropy_leakage(Channel([[0.75, 0.25], [0.25, 0.75]])), 6)
    0.584963
    """
    known = as_prior(prior, channel.shape[0])
    split = by_rule.parts(channel, known)
    if split is not None:
        return sum(p.times * min_entropy_leakage(p.channel, p.prior) for p in split)
    if known.is_uniform:
        return min_capacity(channel)
    # Observing never hurts; below 0 there is only rounding.
    return max(0.0, math.log2(posterior_vulnerability(channel, known) / known.maximum))


def min_capacity(channel: Channel) -> float:
    r"""Return the largest leakage of any prior, :math:`\log_2 \sum_o \max_i X_{io}` bits.

    It is reached at the uniform prior [B, §2.1], and no gain function with non-negative gains
    leaks more.

    >>> from tightrope.channels import Channel
    >>> min_capacity(Channel([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    1.0
    """
    split = by_rule.parts(channel, as_prior(None, channel.shape[0]))
    if split is not None:
        return sum(p.times * min_capacity(p.channel) for p in split)
    return max(0.0, math.log2(channel.column_maxima_sum()))


def posterior_g_vulnerability(channel: Channel, gain: ArrayLike, prior: PriorLike = None) -> float:
    r"""Return :math:`V_g(\pi, X) = \sum_o \max_k \sum_i \pi_i\,g(i,k)\,X_{io}`.

    Parameters
    ----------
    channel
        Any channel.
    gain
        :math:`g(i,k)`, what guess k earns when the secret is i: rows are secrets.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> posterior_g_vulnerability(response, [[1, 0, 0.7], [0, 1, 0.7]])
    0.75
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    weighted = gain_matrix(gain, len(pi)).T * pi
    total: Array | None = None
    for start, block in channel.row_blocks():
        part = weighted[:, start : start + len(block)] @ block
        total = part if total is None else np.add(total, part, out=total)
    return 0.0 if total is None else float(total.max(axis=0).sum())


def g_leakage(channel: Channel, gain: ArrayLike, prior: PriorLike = None) -> float:
    r"""Return :math:`\log_2 V_g(\pi, X) / V_g(\pi)` in bits, for gains that are non-negative.

    >>> from tightrope.channels import Channel
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> round(g_leakage(response, [[1, 0], [0, 1]]), 6)
    0.584963
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    gains = gain_matrix(gain, len(pi))
    before = float((pi @ gains).max())
    if gains.min() < 0 or before <= 0:
        raise InputError(
            f"a ratio of gains needs non-negative gains and a positive one before the output, "
            f"got a smallest gain of {gains.min():g} and {before:g} before the output"
        )
    return max(0.0, math.log2(posterior_g_vulnerability(channel, gains, prior) / before))


def mutual_information(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return Shannon's :math:`I(\pi; X) = \sum_{io} \pi_i X_{io} \log_2 X_{io}/q_o` in bits.

    :math:`q = \pi X` is the distribution of the output.

    >>> from tightrope.channels import Channel
    >>> round(mutual_information(Channel([[0.75, 0.25], [0.25, 0.75]])), 6)
    0.188722
    """
    known = as_prior(prior, channel.shape[0])
    split = by_rule.parts(channel, known)
    if split is not None:
        return sum(p.times * mutual_information(p.channel, p.prior) for p in split)
    if known.is_uniform:
        found = by_rule.symmetric_information(channel)
        if found is not None:
            return found
    pi = known.probabilities
    output, rows = np.zeros(channel.shape[1]), 0.0
    for start, block in _small_blocks(channel):
        share = pi[start : start + len(block)]
        output += share @ block
        rows += float(share @ _row_entropies(block))
    return max(0.0, bits_of(output) - rows)


def posterior_shannon_entropy(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`H(A|B) = H(\pi) - I(\pi; X)` in bits.

    >>> from tightrope.channels import Channel
    >>> posterior_shannon_entropy(Channel([[1.0], [1.0]]))
    1.0
    """
    known = as_prior(prior, channel.shape[0])
    return max(0.0, known.entropy - mutual_information(channel, known))


def posterior_guessing_entropy(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return the expected number of guesses after the output is seen.

    >>> from tightrope.channels import Channel
    >>> posterior_guessing_entropy(Channel([[0.75, 0.25], [0.25, 0.75]]))
    1.25
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    joint = channel.matrix() * pi[:, None]
    joint.sort(axis=0)
    return float((np.arange(len(pi), 0, -1) @ joint).sum())


def _row_entropies(block: Array) -> Array:
    logs = np.log2(block, out=np.zeros_like(block), where=block > 0)
    return np.asarray(-np.einsum("ij,ij->i", block, logs))


def _small_blocks(channel: Channel) -> Iterator[tuple[int, Array]]:
    """Yield blocks of rows small enough to be worked on without leaving the cache."""
    step = max(1, CACHED_ENTRIES // max(1, channel.shape[1]))
    for start, block in channel.row_blocks():
        for low in range(0, len(block), step):
            yield start + low, block[low : low + step]


def _weighted_maxima_sum(channel: Channel, pi: Array) -> float:
    best = np.zeros(channel.shape[1])
    for start, block in _small_blocks(channel):
        part = block * pi[start : start + len(block), None]
        np.maximum(best, part.max(axis=0), out=best)
    return float(best.sum())
