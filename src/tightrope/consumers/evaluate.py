r"""What a channel is worth to a consumer.

A Bayesian consumer reads output o and makes the guess with the least expected loss. This *best
remap* is deterministic and needs no solver [A, §2.2; B, Prop 23, 24]. The best remap of a
risk-averse consumer is a linear program and lives with the solvers; here its result is judged.

The best remap of geometric noise on a line needs no matrix. For output o the guesses are weighed by
:math:`q_o(i) = \pi_i \alpha^{|i-o|}`. One-sided sums

.. math:: L_o = \sum_{i \le o} \pi_i \alpha^{o-i}, \qquad R_o = \sum_{i > o} \pi_i \alpha^{i-o}

and their moments come from a recursion each, and everything that is needed of :math:`q_o`
follows: the weight beyond :math:`k \ge o` is :math:`\alpha^{k-o} R_k`. So the best guess for
absolute loss, the weighted median, takes one binary search for all outputs together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, Floats, Ints
from tightrope.channels.base import Channel, DeterministicChannel
from tightrope.channels.compose import cascade
from tightrope.channels.structured import (
    GeometricChannel,
    KroneckerChannel,
    ScaledPhi,
    log_alpha_sum,
)
from tightrope.consumers.consumer import Consumer
from tightrope.consumers.losses import Loss
from tightrope.consumers.priors import Prior
from tightrope.errors import InputError, TooLarge, refusing
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen
from tightrope.phi import Phi
from tightrope.phi.operator import reach_in_box

#: Most outputs whose guesses are looked for at once: for a thousand answers they fit a cache.
OUTPUTS = 256


@dataclass(frozen=True)
class Remap:
    """A guess for every output, and what the consumer then loses.

    Attributes
    ----------
    guess
        The index of the guess for each output (read-only).
    expected_loss
        The consumer's expected loss with these guesses.
    channel
        The remap as a channel from outputs to guesses, with their labels.

    Examples
    --------
    >>> from tightrope.consumers import Consumer, Loss, Prior
    >>> wary = Consumer(prior=Prior([0.9, 0.1]), loss=Loss.binary(2))
    >>> found = best_remap(Channel([[0.75, 0.25], [0.25, 0.75]]), wary)
    >>> found.guess.tolist(), round(found.expected_loss, 3)
    ([0, 0], 0.1)
    >>> found.channel.matrix().tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    guess: Ints
    expected_loss: float
    channel: DeterministicChannel


class WorstLoss(NamedTuple):
    """The largest expected loss over the possible answers, and where it is.

    >>> WorstLoss(loss=0.5, node=3).node
    3
    """

    loss: float
    node: int


def best_remap(channel: Channel, consumer: Consumer) -> Remap:
    r"""Return the best guess for every output: :math:`\min_k \sum_i \pi_i\,\ell(i,k)\,X_{io}`.

    Deterministic remaps suffice for a Bayesian consumer [A, §2.2; B, Prop 23, 24]. Ties, as
    floating point sees them, go to the smallest guess. Geometric noise and a loss by distance
    take O(n log n) steps; any other channel is read in blocks of outputs, so that memory stays
    bounded.

    Parameters
    ----------
    channel
        Any channel whose inputs are the consumer's answers.
    consumer
        A Bayesian consumer.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> path = Channel([[0.6, 0.2, 0.2], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> sure_of_the_middle = Consumer.of(PathPower(3), prior="0.1,0.8,0.1", loss="absolute")
    >>> best_remap(path, sure_of_the_middle).guess.tolist()
    [1, 1, 1]
    """
    prior = consumer.prior
    loss = consumer.loss
    check_inputs(channel, loss.size)
    if isinstance(channel, GeometricChannel):
        closed_form = line_remap(consumer, channel.ratio)
        if closed_form is not None:
            # X_io = z_o α^{|i-o|}, so the loss is Σ_o z_o v_o, and z_o is the column maximum.
            expected = channel.column_maxima() @ closed_form.values
            return _result(closed_form.guess, float(expected), loss)
    _check_channel(channel, loss.size)
    guess = np.zeros(channel.shape[1], np.int64)
    total = 0.0
    # As many outputs at once as have room for the losses of all guesses.
    outputs = min(OUTPUTS, LIMITS.block // max(loss.size, loss.guess_count))
    for start, block in channel.column_blocks(outputs * loss.size):
        # w_io = π_i X_io: dividing by Σ_i w_io would not change the best guess.
        weights = block * prior.probabilities[:, None]
        best = loss.expected(weights).argmin(axis=0)
        guess[start : start + len(best)] = best
        # Σ_i π_i X_io ℓ(i,k) by partial sums may cancel; the value is summed term by term.
        total += float((loss.columns(best) * weights).sum())
    return _result(guess, total, loss)


def expected_loss(
    channel: Channel,
    consumer: Consumer,
    remap: Remap | Channel | ArrayLike | None = None,
) -> float:
    r"""Return :math:`\sum_i \pi_i \sum_o X_{io} \sum_k R_{ok}\,\ell(i,k)`, with the best remap R.

    Parameters
    ----------
    channel
        Any channel whose inputs are the consumer's answers.
    consumer
        A Bayesian consumer.
    remap
        Another remap instead of the best: a :class:`Remap`, a channel from outputs to guesses,
        its matrix, or the guess for each output. ``range(n)`` takes every output as it is.

    Examples
    --------
    >>> from tightrope.consumers import Consumer, Loss, Prior
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> wary = Consumer(prior=Prior([0.9, 0.1]), loss=Loss.binary(2))
    >>> round(expected_loss(response, wary), 3), expected_loss(response, wary, range(2))
    (0.1, 0.25)
    """
    prior = consumer.prior
    loss = consumer.loss
    if remap is None:
        check_inputs(channel, loss.size)
        # Binary loss needs column maxima only, which structured channels know.
        if loss.is_binary:
            return 1 - right_guess(channel, prior)
        return best_remap(channel, consumer).expected_loss
    _check_channel(channel, loss.size)
    guesses = _guessed(channel, remap, loss)
    # Rows of impossible answers cost nothing and are not read.
    return math.fsum(
        prior[i] * float(guesses.row(i) @ loss.row(i)) for i in prior.support.tolist()
    )


def utility(
    channel: Channel,
    consumer: Consumer,
    remap: Remap | Channel | ArrayLike | None = None,
) -> float:
    r"""Return the expected gain: 1 − expected loss for binary loss, else − expected loss.

    For binary loss this is the probability of a right guess,
    :math:`\mathcal U = \sum_o \max_i \pi_i X_{io}` [A, §2.2; B, Prop 24]. For every other loss
    the gain is :math:`g = -\ell`, so that :meth:`Loss.from_gain <Loss.from_gain>` gets back the
    expected gain it was made for.

    Parameters
    ----------
    channel, consumer, remap
        As for :func:`expected_loss`.

    Examples
    --------
    >>> from tightrope.consumers import Consumer, Loss, Prior
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> utility(response, Consumer(prior=Prior.uniform(2), loss=Loss.binary(2)))
    0.75
    """
    expected = expected_loss(channel, consumer, remap)
    # 0.0 - x instead of -x: no negative zero.
    return 1 - expected if consumer.loss.is_binary else 0.0 - expected


def worst_loss(
    channel: Channel,
    consumer: Consumer,
    remap: Remap | Channel | ArrayLike | None = None,
) -> WorstLoss:
    r"""Return :math:`\max_{i \in S} \sum_k X_{ik}\,\ell(i,k)` and the answer where it is [C, (7)].

    Parameters
    ----------
    channel
        A channel whose outputs are the guesses, or any channel together with a remap.
    consumer
        A risk-averse consumer.
    remap
        What to do with the outputs first; without it they are taken as the guesses they are.

    Examples
    --------
    >>> from tightrope.consumers import Consumer, Loss
    >>> two = Channel([[0.75, 0.25], [0.5, 0.5]])
    >>> worst_loss(two, Consumer(support=[0, 1], loss=Loss.binary(2)))
    WorstLoss(loss=0.5, node=1)
    """
    if not consumer.risk_averse:
        raise InputError(
            "the worst loss needs a risk-averse consumer: use expected_loss"
        )
    loss = consumer.loss
    check_inputs(channel, loss.size)
    guesses = channel if remap is None else _guessed(channel, remap, loss)
    if guesses.shape[1] != loss.guess_count:
        raise InputError(
            f"outputs must be the {loss.guess_count} guesses of the loss, got {guesses.shape[1]} "
            "outputs: give a remap"
        )
    losses = (
        WorstLoss(float(guesses.row(i) @ loss.row(i)), i)
        for i in consumer.support.tolist()
    )
    return max(losses, key=lambda worst: worst.loss)


def check_inputs(channel: Channel, size: int) -> None:
    """Refuse a channel whose inputs are not a consumer's answers, by their numbers."""
    if channel.shape[0] != size:
        raise InputError(
            f"channel and consumer must be over the same answers, got {channel.shape[0]} inputs "
            f"and {size} answers"
        )


def _check_channel(channel: Channel, size: int) -> None:
    check_inputs(channel, size)
    rows, columns = channel.shape
    if rows * columns > LIMITS.evaluated:
        raise TooLarge(
            f"this would read {rows} × {columns} entries of the channel, more than "
            f"{LIMITS.evaluated}: only geometric noise, and binary loss with a "
            "uniform prior or a product prior on a product channel, have a closed form"
        )


def right_guess(channel: Channel, prior: Prior) -> float:
    r"""Return :math:`\sum_o \max_i \pi_i X_{io}`: how often the best guess is right [B, Prop 24].

    Most structured channels need no matrix. Independent coordinates multiply. Every channel knows
    its column maxima, which is all that a uniform prior needs. In a scaled Φ and a geometric
    channel :math:`X_{io} = z_o \alpha^{d(i,o)}`, so it is :math:`\sum_o z_o v_o` with
    :math:`v_o = \max_i \pi_i \alpha^{d(i,o)}` (:meth:`tightrope.phi.Phi.reach`).

    >>> round(right_guess(GeometricChannel(3, "ln(2)"), Prior([0.5, 0.25, 0.25])), 6)
    0.583333
    """
    # V(π ⊗ ρ, X ⊗ Y) = V(π, X) V(ρ, Y).
    split = parts(channel, prior)
    if split is not None:
        return math.prod(
            right_guess(part.channel, part.prior) ** part.times for part in split
        )
    # Σ_o max_i X_io / n
    if prior.is_uniform:
        return channel.column_maxima_sum() / prior.size
    pi = prior.probabilities
    if isinstance(channel, GeometricChannel):
        reach = reach_in_box(pi, ((len(pi), 1),), channel.ratio)
        return float(channel.column_maxima() @ reach)
    if isinstance(channel, ScaledPhi):
        reached = Phi(channel.graph, channel.epsilon).reach(pi)
        return float(channel.scale @ reached)
    _check_channel(channel, prior.size)
    maxima = np.zeros(channel.shape[1])
    for start, block in small_blocks(channel):
        weights = pi[start : start + len(block), None]
        joint = block * weights
        np.maximum(maxima, joint.max(axis=0), out=maxima)
    return float(maxima.sum())


@dataclass(frozen=True)
class ChannelPart:
    """One independent coordinate of a channel, its prior, and how often it occurs.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> ChannelPart(Channel([[1.0]]), Prior.uniform(1), 20).times
    20
    """

    channel: Channel
    prior: Prior
    times: int


def parts(channel: Channel, prior: Prior) -> list[ChannelPart] | None:
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
    # A uniform prior given as a list still splits into uniform factors.
    known = Prior.uniform(prior.size) if prior.is_uniform else prior
    priors = known.factors([factor.shape[0] for factor in factors])
    if priors is None:
        return None
    # Equal factors with the same prior are evaluated once.
    pairs = Counter(zip(factors, priors, strict=True))
    counts = pairs.items()
    return [ChannelPart(factor, own, times) for (factor, own), times in counts]


def _factors(channel: Channel) -> list[Channel] | None:
    if isinstance(channel, KroneckerChannel):
        return list(channel.factors)
    # Only a constant scale splits: z of the product must be the product of the z.
    if not isinstance(channel, ScaledPhi) or channel.constant_scale is None:
        return None
    graph = channel.graph
    if graph.product != "cartesian":
        return None
    # On a Cartesian product α^{Σ d_k} = Π α^{d_k}: one scaled Φ for each factor.
    channel_of: dict[AnswerGraph, Channel] = {}
    for factor in dict.fromkeys(graph.factors):
        # Different ball sizes in a factor would need different scales along it.
        sizes = factor.constant_ball_sizes
        if sizes is None:
            return None
        scale = math.exp(-log_alpha_sum(channel.epsilon, sizes))
        channel_of[factor] = ScaledPhi(factor, channel.epsilon, scale)
    return [channel_of[factor] for factor in graph.factors]


def small_blocks(
    channel: Channel, entries: int = 1 << 15
) -> Iterator[tuple[int, Floats]]:
    """Yield blocks of rows small enough to be worked on without leaving the cache."""
    step = max(1, entries // max(1, channel.shape[1]))
    for start, block in channel.row_blocks():
        for low in range(0, len(block), step):
            yield start + low, block[low : low + step]


def _guessed(
    channel: Channel, remap: Remap | Channel | ArrayLike, loss: Loss
) -> Channel:
    """Return the channel from answers to guesses."""
    if isinstance(remap, Remap):
        guesses: Channel = remap.channel
    elif isinstance(remap, Channel):
        guesses = remap
    else:
        with refusing("a remap must be a list of guesses or a matrix", ValueError):
            given = np.asarray(remap)
        guesses = (
            Channel(given)
            if given.ndim == 2
            else DeterministicChannel(given, loss.guess_count)
        )
    outputs = channel.shape[1]
    if guesses.shape != (outputs, loss.guess_count):
        raise InputError(
            f"a remap must lead from {outputs} outputs to {loss.guess_count} guesses, "
            f"got {guesses.shape[0]} and {guesses.shape[1]}"
        )
    return cascade(channel, guesses)


def _result(guess: Ints, total: float, loss: Loss) -> Remap:
    return Remap(frozen(guess), total, DeterministicChannel(guess, loss.guess_count))


# -- geometric noise on a line ------------------------------------------------------------


class LineRemap(NamedTuple):
    r"""The best guess for each output of geometric noise, and what it costs.

    Parameters
    ----------
    guess
        The guess for each output.
    values
        :math:`v_o = \min_k \sum_i \pi_i \alpha^{|i-o|} \ell(i,k)`.
    """

    guess: Ints
    values: Floats


def line_remap(consumer: Consumer, alpha: float) -> LineRemap | None:
    """Return the best remap on a line in order, or ``None`` without a closed form for the loss.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> consumer = Consumer.of(PathPower(3), prior="0.1,0.8,0.1", loss="absolute")
    >>> line_remap(consumer, 0.5).guess.tolist()
    [1, 1, 1]
    """
    prior = consumer.prior.probabilities
    loss = consumer.loss
    if loss.is_binary and loss.guess_count == loss.size:
        return _largest(prior, alpha)
    if loss.step_rule is None:
        return None
    power, step = loss.step_rule
    return (_mean if power == 2 else _median)(prior, alpha, float(step))


def _sides(prior: Floats, alpha: float) -> tuple[list[Floats], list[Floats]]:
    r"""Return sums over j of :math:`\pi_{i \mp j} \alpha^j j^p` for p = 0, 1, 2, on both sides.

    Left sums include the place itself, j = 0; right sums do not.
    """
    from tightrope.phi.lattice import recurrence

    def shifted(values: Floats) -> Floats:
        start = np.zeros((1, 2))
        return np.concatenate([start, alpha * values[:-1]])

    # S_o = π_o + α S_{o-1}, both directions at once.
    both = np.stack([prior, prior[::-1]], axis=1)
    zeroth = recurrence(alpha, both)
    # Σ j α^j and Σ j² α^j are sums of the sums before them: no powers of n appear.
    first = recurrence(alpha, shifted(zeroth))
    second = recurrence(alpha, shifted(zeroth + 2 * first))
    moments = (zeroth, first, second)
    left = [moment[:, 0] for moment in moments]
    right = [moment[::-1, 1] for moment in moments]
    # The place itself was counted on both sides.
    right[0] = right[0] - prior
    return left, right


def _median(prior: Floats, alpha: float, step: float) -> LineRemap:
    (left, left1, _), (right, right1, _) = _sides(prior, alpha)
    n = len(prior)
    here = np.arange(n)
    total = left + right
    # The median of the weights π_i α^{|i−o|}, by bisection for all outputs o at once.
    low = np.zeros(n, np.int64)
    high = np.full(n, n - 1)
    # Invariant: the median lies in [low, high]; all outputs bisect in step.
    while (low < high).any():
        middle = (low + high) // 2
        reach = alpha ** np.abs(middle - here).astype(float)
        # Weight up to the middle: α^{o-k} L_k below o, and all but α^{k-o} R_k from o on.
        is_enough = np.where(
            middle >= here,
            reach * right[middle] <= total / 2,
            reach * left[middle] >= total / 2,
        )
        high = np.where(is_enough, middle, high)
        low = np.where(is_enough, low, middle + 1)
    guess = low
    gap = np.abs(guess - here).astype(float)
    reach = alpha**gap
    # Σ_i π_i α^{|i−o|} |i − g| for the guess g = o ± gap, from the sums on both sides of o.
    drift = right1 - left1
    above = gap * total - drift + 2 * reach * right1[guess]
    below = gap * total + drift + 2 * reach * left1[guess]
    # Round-off may make a loss of 0 negative.
    return LineRemap(
        guess, step * np.maximum(np.where(guess >= here, above, below), 0.0)
    )


def _mean(prior: Floats, alpha: float, step: float) -> LineRemap:
    (left, left1, left2), (right, right1, right2) = _sides(prior, alpha)
    here = np.arange(len(prior))
    total = left + right
    drift = right1 - left1
    # Σ w (x − g)² is least at the mean, and equals spread − 2·shift·drift + shift²·total.
    spread = left2 + right2
    zeros = np.zeros_like(total)
    offset = np.divide(drift, total, out=zeros, where=total > 0)
    # ⌈x - 1/2⌉ rounds halves down: of two equal guesses the smaller one.
    nearest = np.ceil(here + offset - 0.5)
    guess = np.clip(nearest, 0, len(prior) - 1).astype(np.int64)
    shift = (guess - here).astype(float)
    values = spread - 2 * shift * drift + shift**2 * total
    return LineRemap(guess, step * np.maximum(values, 0.0))


def _largest(prior: Floats, alpha: float) -> LineRemap:
    n = len(prior)
    guess = np.zeros(n, np.int64)
    best = np.zeros(n)
    weights = prior.tolist()
    # max_i π_i α^{|i−o|} by one sweep from either side. Of equal weights the smallest guess wins:
    # the first from the left, the last from the right, and the left one of the two.
    value = 0.0
    place = 0
    for i in range(n):
        value *= alpha
        if weights[i] > value:
            value = weights[i]
            place = i
        best[i] = value
        guess[i] = place
    value = 0.0
    for i in range(n - 1, -1, -1):
        value *= alpha
        if weights[i] >= value:
            value = weights[i]
            place = i
        if value > best[i]:
            best[i] = value
            guess[i] = place
    # Σ_i q_o(i) minus the weight of the guess is the expected loss under binary loss.
    left, right = (side[0] for side in _sides(prior, alpha))
    total = np.add(left, right)
    return LineRemap(guess, total - best)
