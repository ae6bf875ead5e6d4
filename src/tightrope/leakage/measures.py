r"""How uncertain a secret is, and what a channel tells about it [B, §2.1].

A secret has a prior :math:`\pi`. Its *vulnerability* is the chance of guessing it in one try,
its min-entropy the same in bits, its Shannon entropy the bits needed to write it down, its
guessing entropy the expected number of guesses until the right one. Every measure of leakage
compares this uncertainty before (:class:`~tightrope.consumers.Prior` tells it) and after an output
is seen. The matrix is read once, in blocks
of rows. In all functions ``prior=None`` means the uniform prior.

Structured channels are measured without a matrix: where coordinates are independent
(:func:`tightrope.consumers.evaluate.parts`), leakages and informations *add up*.

*Several mechanisms on one answer.* Independent outputs on the same true answer multiply their
likelihoods. The outputs of n repetitions are not listed: they are distinguished by *how often* each
output came, not by the order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, Floats, Ints, Nodes
from tightrope.channels import (
    Channel,
    GeometricChannel,
    KroneckerChannel,
    ScaledPhi,
    UnboundedNoise,
)
from tightrope.channels.compose import reduced
from tightrope.channels.generality import TIGHT_TOLERANCE, dobrushin, maximally_general
from tightrope.channels.privacy import check_sizes, smallest_epsilon
from tightrope.channels.structured import log_alpha_sum
from tightrope.consumers import Prior
from tightrope.consumers.evaluate import parts, right_guess, small_blocks
from tightrope.epsilon import SMALLEST, Epsilon, Level
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs import AnswerGraph, Histograms
from tightrope.graphs.base import finite_array, frozen
from tightrope.queries import Query

#: What every measure takes as a prior; ``None`` is the uniform one.
PriorLike = Prior | ArrayLike | None
#: A property of the secret: a function of its label, or the list of its values.
PropertyLike = Callable[[Any], Hashable] | Sequence[Hashable]


def as_prior(prior: PriorLike, count: int | None = None) -> Prior:
    r"""Return what was given as a prior, or refuse it.

    Parameters
    ----------
    prior
        A :class:`~tightrope.consumers.Prior`, a list of probabilities, or ``None`` for the
        uniform prior (then ``count`` must be given).
    count
        How many secrets there must be.

    Examples
    --------
    >>> as_prior(None, 4).probabilities.tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> as_prior([0.5, 0.5], 3)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the prior must have 3 probabilities, got 2
    """
    if prior is None:
        if count is None:
            raise InputError("a uniform prior needs the number of secrets")
        return Prior.uniform(count)
    known = prior if isinstance(prior, Prior) else Prior(prior)
    if count is not None and known.size != count:
        raise InputError(f"the prior must have {count} probabilities, got {known.size}")
    return known


def gain_matrix(gain: ArrayLike, secrets: int) -> Floats:
    r"""Return a gain matrix as an array: one row for each secret, one column for each guess.

    >>> gain_matrix([[1, 0], [0, 1]], 2).shape
    (2, 2)
    """
    must = (
        f"a gain must be a matrix of numbers with {secrets} rows, one for each secret"
    )
    return finite_array(gain, must, (secrets, None), "gains")


def g_vulnerability(prior: PriorLike, gain: ArrayLike) -> float:
    r"""Return :math:`V_g(\pi) = \max_k \sum_i \pi_i\,g(i,k)`: the best expected gain.

    Parameters
    ----------
    prior
        The prior over secrets.
    gain
        :math:`g(i,k)`, what guess k earns when the secret is i (rows are secrets).

    Examples
    --------
    >>> g_vulnerability([0.5, 0.25, 0.25], [[1, 0], [0, 1], [0, 1]])
    0.5
    """
    pi = as_prior(prior).probabilities
    return float((pi @ gain_matrix(gain, len(pi))).max())


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
    return right_guess(channel, as_prior(prior, channel.shape[0]))


def posterior_min_entropy(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`H_\infty(A|B) = -\log_2 V(\pi, X)` in bits [B, §2.1].

    >>> from tightrope.channels import Channel
    >>> posterior_min_entropy(Channel([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    known = as_prior(prior, channel.shape[0])
    # H(A|B) = H(π) - leakage, without underflow for many independent people.
    return max(0.0, known.min_entropy - min_entropy_leakage(channel, known))


def min_entropy_leakage(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return :math:`\log_2 V(\pi, X) / V(\pi)`: how much easier one guess becomes, in bits.

    For the uniform prior it is the min-capacity; for every prior it is at most that
    [B, §2.1]. Utility under binary loss is :math:`V(\pi)\,2^{\text{leakage}}` [A, Prop 5].

    >>> from tightrope.channels import Channel
    >>> round(min_entropy_leakage(Channel([[0.75, 0.25], [0.25, 0.75]])), 6)
    0.584963
    """
    known = as_prior(prior, channel.shape[0])
    split = parts(channel, known)
    if split is not None:
        # Leakage adds up over independent coordinates.
        leaked = (p.times * min_entropy_leakage(p.channel, p.prior) for p in split)
        return sum(leaked)
    if known.is_uniform:
        return min_capacity(channel)
    # Observing never hurts (Jensen): below 0 there is only round-off.
    vulnerability = posterior_vulnerability(channel, known)
    return max(0.0, math.log2(vulnerability / known.maximum))


def min_capacity(channel: Channel) -> float:
    r"""Return the largest leakage of any prior, :math:`\log_2 \sum_o \max_i X_{io}` bits.

    It is reached at the uniform prior [B, §2.1], and no gain function with non-negative gains
    leaks more.

    >>> from tightrope.channels import Channel
    >>> min_capacity(Channel([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    1.0
    """
    split = parts(channel, as_prior(None, channel.shape[0]))
    if split is not None:
        return sum(p.times * min_capacity(p.channel) for p in split)
    # Σ_o max_i X_io ≥ 1, since each row sums to 1; less is round-off.
    return max(0.0, math.log2(channel.column_maxima_sum()))


def posterior_g_vulnerability(
    channel: Channel, gain: ArrayLike, prior: PriorLike = None
) -> float:
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
    # Rows of the weighted gains times columns of X give Σ_i π_i g(i,k) X_io.
    weighted = gain_matrix(gain, len(pi)).T * pi
    total = np.zeros((len(weighted), channel.shape[1]))
    for start, block in channel.row_blocks():
        stop = start + len(block)
        total += weighted[:, start:stop] @ block
    return float(total.max(axis=0).sum())


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
    # log of a ratio of negative gains means nothing.
    if gains.min() < 0 or before <= 0:
        raise InputError(
            f"a ratio of gains needs non-negative gains and a positive one before the output, "
            f"got a smallest gain of {gains.min():g} and {before:g} before the output"
        )
    return max(
        0.0, math.log2(posterior_g_vulnerability(channel, gains, prior) / before)
    )


def mutual_information(channel: Channel, prior: PriorLike = None) -> float:
    r"""Return Shannon's :math:`I(\pi; X) = \sum_{io} \pi_i X_{io} \log_2 X_{io}/q_o` in bits.

    :math:`q = \pi X` is the distribution of the output.

    >>> from tightrope.channels import Channel
    >>> round(mutual_information(Channel([[0.75, 0.25], [0.25, 0.75]])), 6)
    0.188722
    """
    known = as_prior(prior, channel.shape[0])
    split = parts(channel, known)
    if split is not None:
        shared = (p.times * mutual_information(p.channel, p.prior) for p in split)
        return sum(shared)
    if known.is_uniform:
        closed_form = symmetric_information(channel)
        if closed_form is not None:
            return closed_form
    from scipy.special import entr

    # entr(x) = -x ln x with entr(0) = 0.
    # I(π; X) = H(q) − Σ_i π_i H(X_i), by blocks of rows.
    pi = known.probabilities
    output = np.zeros(channel.shape[1])
    row_entropy = 0.0
    for start, block in small_blocks(channel):
        share = pi[start : start + len(block)]
        output += share @ block
        entropies = entr(block).sum(axis=1)
        row_entropy += float(share @ entropies)
    output_entropy = float(entr(output).sum())
    return max(0.0, output_entropy - row_entropy) / math.log(2)


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
    # The k-th likeliest secret of an output takes k guesses.
    # The matrix is needed at once: guesses are ranked within each output.
    joint = channel.matrix() * pi[:, None]
    joint.sort(axis=0)
    # Sorted in rising order, the last row is the first guess.
    places = np.arange(len(pi), 0, -1)
    return float((places @ joint).sum())


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
    # z = 1/Σ_d n_d α^d
    log_z = -log_alpha_sum(channel.epsilon, sizes)
    # H(row) = -Σ n_d p_d ln p_d with p_d = z α^d, and Σ n_d p_d = 1.
    mean_distance = math.fsum(
        d * math.exp(math.log(n) + log_z - level * d) for d, n in enumerate(sizes) if n
    )
    nats = math.log(channel.graph.size) + log_z - level * mean_distance
    return max(0.0, nats / math.log(2))


@dataclass(frozen=True)
class Hyper:
    r"""A distribution over posteriors: how likely each belief is to come about.

    Attributes
    ----------
    outer
        Probability of each posterior, in falling order.
    posteriors
        One row for each posterior: the belief over the secrets.
    outputs
        For each posterior the outputs that lead to it.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> found = hyper(Channel([[0.5, 0.25, 0.25, 0], [0, 0.5, 0.5, 0]]), [0.5, 0.5])
    >>> found.outer.tolist(), found.posteriors.round(4).tolist(), found.outputs
    ([0.75, 0.25], [[0.3333, 0.6667], [1.0, 0.0]], ((1, 2), (0,)))
    """

    outer: Floats
    posteriors: Floats
    outputs: tuple[Nodes, ...]


def posterior(channel: Channel, output: int, prior: PriorLike = None) -> Floats:
    r"""Return the belief after one output, :math:`π_i X_{io} / \sum_h π_h X_{ho}`.

    >>> from tightrope.channels import Channel
    >>> posterior(Channel([[0.75, 0.25], [0.25, 0.75]]), 1, [0.5, 0.5]).tolist()
    [0.25, 0.75]
    """
    # Bayes: π_i X_io / Σ_h π_h X_ho
    known = as_prior(prior, channel.shape[0])
    joint = known.probabilities * channel.column(output)
    total = float(joint.sum())
    if total <= 0:
        raise InputError(
            f"output {output} has probability 0 under this prior: no posterior"
        )
    return np.asarray(joint / total)


def hyper(channel: Channel, prior: PriorLike = None) -> Hyper:
    """Return the hyper-distribution of a prior through a channel.

    Outputs that lead to the same posterior (proportional columns) are one, and outputs that
    cannot occur are left out: the channel in reduced form. Leakage depends on nothing else.

    Parameters
    ----------
    channel
        Any channel whose matrix fits.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> hyper(GeometricChannel(5, 1)).outer.round(4).tolist()
    [0.2297, 0.2297, 0.1854, 0.1775, 0.1775]
    """
    known = as_prior(prior, channel.shape[0])
    pi = known.probabilities
    possible = known.support
    # Proportional columns give the same posterior; impossible answers do not count for that.
    groups = reduced(Channel(channel.matrix()[possible])).groups
    joint = np.zeros((len(groups), len(pi)))
    joint[:, possible] = [
        channel.matrix()[possible][:, list(g)].sum(axis=1) for g in groups
    ]
    # π_i X_io summed over the outputs of a group.
    joint *= pi
    outer = joint.sum(axis=1)
    # Likeliest first; ties, up to round-off, by their first output.
    order = np.argsort(-outer.round(12), kind="stable")
    outer = outer[order]
    posteriors = joint[order] / outer[:, None]
    outputs = tuple(groups[k] for k in order)
    return Hyper(frozen(outer), frozen(posteriors), outputs)


@dataclass(frozen=True)
class PredicateLeakage:
    """How well a property of the secret is guessed, before and after the output.

    Attributes
    ----------
    classes
        The values that the predicate takes.
    before, after
        The chance of a right guess of the predicate's value.
    leakage_bits
        The logarithm of their ratio.

    Examples
    --------
    >>> PredicateLeakage((False, True), 0.5, 0.75, 0.584963).after
    0.75
    """

    classes: tuple[Hashable, ...]
    before: float
    after: float
    leakage_bits: float


@dataclass(frozen=True)
class PredicateCapacity:
    """The largest leakage about a predicate over all priors, and the secrets that show it.

    Attributes
    ----------
    bits
        What the secrets below reach.
    upper_bits
        What no prior exceeds; equal to ``bits`` when ``exact``.
    exact
        Whether all choices were compared.
    secrets
        One secret for each class: the worst prior is uniform on these.

    Examples
    --------
    >>> PredicateCapacity(0.5, 0.5, True, (0, 3)).secrets
    (0, 3)
    """

    bits: float
    upper_bits: float
    exact: bool
    secrets: Nodes


def predicate_leakage(
    channel: Channel,
    predicate: PropertyLike,
    prior: PriorLike = None,
) -> PredicateLeakage:
    r"""Return how much the output helps to guess a predicate of the secret.

    :math:`V = \sum_o \max_c \sum_{i : P(i) = c} π_i X_{io}`, the g-vulnerability for the gain 1
    when the class is right.

    Parameters
    ----------
    channel
        Any channel.
    predicate
        A function of the input's label, or the list of its values for all inputs.
    prior
        Prior over the inputs; uniform by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> found = predicate_leakage(GeometricChannel(6, "ln(2)"), lambda count: count >= 3)
    >>> found.before, round(found.after, 6)
    (0.5, 0.805556)
    """
    pi = as_prior(prior, channel.shape[0]).probabilities
    classes, member = _classes(channel, predicate)
    # A guess at the class gains 1 when it is correct.
    # g(i, c) = 1 if secret i is in class c.
    gain = np.eye(len(classes))[member]
    before = float((pi @ gain).max())
    after = posterior_g_vulnerability(channel, gain, pi)
    bits = max(0.0, math.log2(after / before))
    return PredicateLeakage(classes, before, after, bits)


def predicate_capacity(
    channel: Channel,
    predicate: PropertyLike,
    *,
    choices: int = 200_000,
) -> PredicateCapacity:
    r"""Return the largest leakage about a predicate over all priors of the secret.

    The rows of the channel from the predicate's value to the output are mixtures of rows of
    one class, and leakage is convex in each: the worst prior puts each class on one secret,
    and all classes are equally likely. So the capacity is
    :math:`\log_2 \max \sum_o \max_c X_{i_c o}` over choices of one secret :math:`i_c` for each
    class; for two classes that is :math:`\log_2(1 + \max TV(X_i, X_h))`.

    All choices are compared when there are few; otherwise choices are improved one class at a
    time, and the result lies between two bounds.

    Parameters
    ----------
    channel
        Any channel whose matrix fits.
    predicate
        A function of the input's label, or the list of its values for all inputs.
    choices
        Most choices of one secret for each class that are compared.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> found = predicate_capacity(GeometricChannel(6, "ln(2)"), lambda count: count >= 3)
    >>> round(found.bits, 6), found.secrets
    (0.874469, (0, 5))
    """
    classes, member = _classes(channel, predicate)
    rows = [np.flatnonzero(member == c) for c in range(len(classes))]
    matrix = channel.matrix()
    if len(classes) == 1:
        return PredicateCapacity(0.0, 0.0, True, (0,))
    # For two classes every pair of secrets is tried: the maximum is over pairs.
    exact = len(classes) == 2 or math.prod(map(len, rows)) <= choices
    if exact:
        *others, last = rows
        candidates = (
            _best_of(matrix, choice, last) for choice in itertools.product(*others)
        )
        best, chosen = max(candidates, key=lambda candidate: candidate[0])
    else:
        best, chosen = _climb(matrix, rows)
    # No more than the number of classes, nor than the capacity of the whole channel.
    capacity = float(matrix.max(axis=0).sum())
    bound = best if exact else min(len(classes), capacity)
    return PredicateCapacity(math.log2(best), math.log2(bound), exact, chosen)


def _classes(
    channel: Channel, predicate: PropertyLike
) -> tuple[tuple[Hashable, ...], Ints]:
    count = channel.shape[0]
    if callable(predicate):
        values = [predicate(label) for label in channel.inputs]
    else:
        values = list(predicate)
        if len(values) != count:
            raise InputError(
                f"the predicate must have a value for each of the {count} inputs, got {len(values)}"
            )
    places: dict[Hashable, int] = {}
    member = np.array(
        [places.setdefault(value, len(places)) for value in values], np.int64
    )
    return tuple(places), member


def _best_of(matrix: Floats, chosen: Sequence[Any], group: Ints) -> tuple[float, Nodes]:
    """Return the largest Σ_o max_c X with one more secret from a group, and the secrets."""
    # Σ_o max(X_io, max over the secrets chosen so far), for all candidates at once.
    maxima = matrix[list(chosen)].max(axis=0)
    totals = np.maximum(matrix[group], maxima).sum(axis=1)
    place = int(totals.argmax())
    added = int(group[place])
    return float(totals[place]), (*map(int, chosen), added)


def _climb(matrix: Floats, rows: list[Ints]) -> tuple[float, Nodes]:
    """Exchange one secret at a time for the best of its class until nothing improves."""
    chosen = [int(group[0]) for group in rows]
    best = float(matrix[chosen].max(axis=0).sum())
    improving = True
    while improving:
        improving = False
        for c, group in enumerate(rows):
            others = chosen[:c] + chosen[c + 1 :]
            total, improved = _best_of(matrix, others, group)
            # Strictly better beyond round-off, or two equal choices would alternate for ever.
            if total > best * (1 + 1e-12):
                best = total
                chosen[c] = improved[-1]
                improving = True
    return best, tuple(chosen)


@dataclass(frozen=True)
class Composition:
    """What a mechanism leaks that is applied several times.

    Attributes
    ----------
    vulnerability
        The chance of a right guess after all outputs.
    leakage_bits
        The min-entropy leakage.
    shannon_bits
        Shannon's mutual information.
    epsilon
        The smallest ε of the composition, exactly; ``None`` when no graph was given.

    Examples
    --------
    >>> Composition(0.75, 0.585, 0.189, None).vulnerability
    0.75
    """

    vulnerability: float
    leakage_bits: float
    shannon_bits: float
    epsilon: float | None


def repeated_composition(
    channel: Channel,
    times: int,
    prior: PriorLike = None,
    *,
    graph: AnswerGraph | None = None,
    most_cases: int = 5_000_000,
) -> Composition:
    r"""Measure the same mechanism applied n times with fresh noise to one true answer.

    Only how often each output came matters: with m different likelihoods there are
    :math:`\binom{n+m-1}{m-1}` cases instead of :math:`m^n`. The smallest ε is exactly n times
    that of one application, because the worst output may come every time.

    Parameters
    ----------
    channel
        The mechanism.
    times
        How often, n.
    prior
        Prior over the inputs; uniform by default.
    graph
        The answer graph, when the smallest ε is wanted.
    most_cases
        Most ways to spread the repetitions over the outputs.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> [round(repeated_composition(response, n).vulnerability, 6) for n in (1, 3, 201)]
    [0.75, 0.84375, 1.0]
    """
    times = whole_number(times, "the number of repetitions")
    known = as_prior(prior, channel.shape[0])
    # The worst output may come every time: ln (p/q)^n = n ln (p/q).
    epsilon = None if graph is None else times * smallest_epsilon(channel, graph).value
    split = parts(channel, known)
    if split is not None:
        compositions = [
            (p.times, repeated_composition(p.channel, times, p.prior)) for p in split
        ]
        return Composition(
            math.prod(part.vulnerability**k for k, part in compositions),
            sum(k * part.leakage_bits for k, part in compositions),
            sum(k * part.shannon_bits for k, part in compositions),
            epsilon,
        )
    from scipy.special import gammaln, rel_entr

    # Proportional outputs are merged: they tell the same, and cases shrink.
    matrix = reduced(channel).channel.matrix()
    outputs = matrix.shape[1]
    cases = math.comb(times + outputs - 1, outputs - 1)
    if cases > most_cases:
        raise TooLarge(
            f"{times} repetitions of {matrix.shape[1]} different outputs make {cases} cases, more "
            f"than {most_cases}: repeat less often"
        )
    with np.errstate(divide="ignore"):
        # A finite stand-in for ln 0: 0 · (−1e200) is 0, and its exponential is 0.
        logs = np.maximum(np.log(matrix), -1e200).T
        start = np.log(known.probabilities)
    total = 0.0
    posterior_entropy = 0.0
    # With counts c of the outputs: n!/Π c_o! · π_i Π_o X_io^{c_o}, in logarithms. All ways to
    # spread the repetitions over the outputs, 50,000 at once.
    all_counts = Histograms(times, matrix.shape[1]).vectors
    at_once = 50_000
    for low in range(0, cases, at_once):
        counts = all_counts[low : low + at_once]
        log_factorials = gammaln(counts + 1).sum(axis=1)
        log_ways = gammaln(times + 1) - log_factorials
        log_joint = counts @ logs + start + log_ways[:, None]
        joint = np.exp(log_joint)
        total += float(joint.max(axis=1).sum())
        # H(secret | counts) = −Σ joint · ln(joint / marginal).
        marginal = joint.sum(axis=1, keepdims=True)
        entropy = float(rel_entr(joint, marginal).sum())
        posterior_entropy -= entropy / math.log(2)
    leakage = max(0.0, math.log2(total / known.maximum))
    information = max(0.0, known.entropy - posterior_entropy)
    return Composition(total, leakage, information, epsilon)


@dataclass(frozen=True)
class IndividualLeakage:
    """How much one person's value leaks, with the others' values that make it worst.

    Attributes
    ----------
    bits
        The largest min-entropy leakage about one person over everybody else's values and
        over all priors for this person (the uniform one reaches it).
    answers
        The answers that this person can bring about there, as nodes.
    exact
        Whether these answers are known to be reachable. For a query given by its graph alone,
        and where there are too many databases, any set of pairwise adjacent answers is taken
        as reachable: an upper bound.

    Examples
    --------
    >>> IndividualLeakage(0.5, (0, 1), True).bits
    0.5
    """

    bits: float
    answers: Nodes
    exact: bool


def individual_leakage(channel: Channel, query: Query) -> IndividualLeakage:
    r"""Return :math:`\max_{x^-} I_\infty(X_i; Z | X^- = x^-)`, one person's leakage [B, §5.3].

    With the others fixed, one person's v values lead to at most v answers, and the channel
    from the person to the output has just those rows: its min-capacity is the leakage for the
    worst prior. When a person's value may change in one step, an ε-private channel keeps it
    below :func:`~tightrope.leakage.individual_bound` [B, Prop 21]. Where people may be absent,
    "absent" is one of the values.

    Sums and counts only need the windows of consecutive answers, databases through a Kronecker
    product only their factors; other functions are evaluated on every database while there are
    at most ``LIMITS.databases``.

    Parameters
    ----------
    channel
        From the query's answers to outputs.
    query
        The query.

    Examples
    --------
    >>> from tightrope import query
    >>> from tightrope.mechanisms import geometric
    >>> ages = query("sum(150,5)")
    >>> round(individual_leakage(geometric(ages.graph, 1), ages).bits, 6)
    0.583365
    >>> from tightrope.leakage import individual_bound
    >>> round(individual_bound(6, 1).bits, 6)
    1.079378
    """
    check_sizes(channel, query.graph)
    if query.function is tuple and isinstance(channel, KroneckerChannel):
        people = [factor.size for factor in query.graph.factors]
        if people == [factor.shape[0] for factor in channel.factors]:
            return _of_databases(channel)
    # With the others fixed, a sum moves over v + 1 consecutive answers.
    width = _window(query)
    if width is not None:
        starts = range(channel.shape[0] - width)
        if isinstance(channel, GeometricChannel):
            # Geometric noise is translation-invariant: Σ_o max X is the same for all windows.
            starts = starts[:1]
        intervals = (range(i, i + width + 1) for i in starts)
        return leakage_of_sets(channel, intervals)
    exact = _work(query) <= LIMITS.databases
    return leakage_of_sets(
        channel, reachable(query) if exact else _cliques(query), exact=exact
    )


def leakage_of_sets(
    channel: Channel, sets: Iterable[Sequence[int]], *, exact: bool = True
) -> IndividualLeakage:
    """Return the largest min-capacity of the channel restricted to one of the sets of rows.

    >>> from tightrope.channels import Channel
    >>> leakage_of_sets(Channel([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), [(0, 2), (0, 1)]).answers
    (0, 1)
    """
    best = 0.0
    answers: Nodes = (0,)
    row = functools.lru_cache(1024)(channel.row)
    for rows in sets:
        # Min-capacity of the channel restricted to these rows: log Σ_o max X.
        maxima = np.max([row(i) for i in rows], axis=0)
        total = float(maxima.sum())
        if total > best:
            best = total
            answers = tuple(int(i) for i in rows)
    bits = max(0.0, math.log2(best)) if best else 0.0
    return IndividualLeakage(bits, answers, exact)


def reachable(query: Query) -> Iterator[Nodes]:
    """Yield, for every way to fix everybody else, the answers that one person can bring about.

    >>> from tightrope import query
    >>> sorted(reachable(query("count_mod(4,3)")))
    [(0, 1), (0, 2), (1, 2)]
    """
    if query.individuals is None or _work(query) > LIMITS.databases:
        raise TooLarge(
            f"the answers one person can bring about in {query.text} are found by evaluating at "
            f"most {LIMITS.databases} databases of a function: use fewer people, or leakage_of_sets"
        )
    people = query.individuals
    values = _person_values(query)
    seen: set[Nodes] = set()
    # Everybody else fixed in every way; the person takes each place in turn.
    for rest in itertools.product(values, repeat=people - 1):
        for place in range(people):
            databases = [(*rest[:place], value, *rest[place:]) for value in values]
            nodes = {
                query.graph.index(query.answer(database))
                for database in databases
                # Databases with too few people present have no answer.
                if people - database.count(None) >= query.fewest
            }
            answers = tuple(sorted(nodes))
            if answers and answers not in seen:
                seen.add(answers)
                yield answers


def _cliques(query: Query) -> Iterator[Nodes]:
    """Yield maximal sets of pairwise adjacent answers: no person brings about more than one."""
    # Two values of one person differ by a removal and an addition: that is two steps.
    if not query.neighbours.allows_change:
        raise TooLarge(
            f"under a relation in which people only come and go, the answers one person can bring "
            f"about in {query.text} need not be adjacent, and there are too many databases to go "
            "through: use fewer people, or leakage_of_sets"
        )
    if query.graph.is_clique:
        yield tuple(range(query.graph.size))
        return
    import networkx

    for clique in networkx.find_cliques(networkx.Graph(list(query.graph.edges()))):
        yield tuple(sorted(clique))


def _person_values(query: Query) -> list[Hashable]:
    """Return one person's values, with ``None`` for absence where that is possible."""
    absent = [None] if query.neighbours.allows_absent else []
    return [*(query.values or ()), *absent]


def _work(query: Query) -> float:
    """Return how many answers must be computed for all databases."""
    if query.function is None or query.individuals is None or query.values is None:
        return math.inf
    # In logarithms: v^u overflows for a few hundred people.
    log_work = query.individuals * math.log(len(_person_values(query)))
    if log_work >= 100:
        return math.inf
    return query.individuals * math.exp(log_work)


def _window(query: Query) -> int | None:
    """Return how far one person moves a sum of values 0 … v; ``None`` for other functions."""
    values = query.values
    if query.function is not sum or not isinstance(values, range):
        return None
    if (values.start, values.step) != (0, 1):
        return None
    return len(values) - 1


def _of_databases(channel: KroneckerChannel) -> IndividualLeakage:
    """Return the leakage of one factor: the others' outputs are independent of this person."""
    distinct = {factor: k for k, factor in enumerate(channel.factors)}
    # The person with the leakiest factor; all others keep their first value.
    leaks = ((min_capacity(factor), k) for factor, k in distinct.items())
    bits, place = max(leaks)
    # Node numbers: the last person runs fastest, so a value of this one is worth `step`.
    behind = channel.factors[place + 1 :]
    step = math.prod(factor.shape[0] for factor in behind)
    values = range(channel.factors[place].shape[0])
    answers = tuple(value * step for value in values)
    return IndividualLeakage(bits, answers, True)


# -- all of it in one result --------------------------------------------------------------


@dataclass(frozen=True)
class Analysis:
    """The utility of a mechanism for its consumers, and what it leaks.

    Attributes
    ----------
    utility
        The chance that a consumer who remaps well names the true answer [B, Prop 24].
    min_entropy_leakage_bits, min_capacity_bits
        How much easier one guess of the true answer becomes, for this prior and for the worst.
    shannon_leakage_bits
        Shannon's mutual information between the true answer and the output.
    maximally_general
        Whether no strictly more informative mechanism has the same privacy [D, Thm 3.3.3];
        ``None`` when the channel is not private at any level.
    dobrushin
        The Dobrushin utility [D, Ex 3.2.3]; ``None`` when there are too many pairs of rows.
    epsilon
        The smallest ε for which the channel is private; ``inf`` when there is none.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.mechanisms import geometric
    >>> found = analyse(geometric(PathPower(6), "ln(2)"), PathPower(6))
    >>> round(found.utility, 6), round(found.min_capacity_bits, 6), found.maximally_general
    (0.444444, 1.415037, True)
    """

    utility: float
    min_entropy_leakage_bits: float
    min_capacity_bits: float
    shannon_leakage_bits: float
    maximally_general: bool | None
    dobrushin: float | None
    epsilon: float

    def as_dict(self) -> dict[str, Any]:
        """Return the result under its public names, ready for JSON (no ε is ``null``)."""
        data = dict(vars(self))
        data["epsilon"] = self.epsilon if math.isfinite(self.epsilon) else None
        return data

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words."""
        level = f"{self.epsilon:.6g}" if math.isfinite(self.epsilon) else None
        general = {
            True: "It is maximally general: no mechanism with the same ε tells every consumer as "
            "much and some consumer more.",
            False: "It is not maximally general: with the same ε another mechanism tells everybody "
            "at least as much and somebody more. Whoever this one was designed for gains nothing "
            "by it, if the design is certified; for consumers whom you do not know, 'tightrope "
            "generalise' makes it.",
            None: "Generality is not defined for a mechanism without privacy.",
        }
        lines = [
            f"A consumer who makes the best guess from the output (the best remap) is correct "
            f"{100 * self.utility:.4g} % of the time.",
            f"The output makes a correct guess {_times(self.min_entropy_leakage_bits)} times as "
            f"likely, and about {_times(self.min_capacity_bits)} times with the prior for which "
            "it helps most.",
            f"The output carries {self.shannon_leakage_bits:.3g} bits about the true answer.",
            "Some output rules an answer out that its neighbour allows: no ε holds."
            if level is None
            else f"The smallest ε that holds is {level}.",
        ]
        if self.dobrushin is not None:
            lines.append(
                f"Even the two true answers that are easiest to distinguish give the same output "
                f"in {-100 * self.dobrushin:.4g} % of cases (minus the Dobrushin utility)."
            )
        return (*lines, general[self.maximally_general])


def _times(bits: float) -> str:
    """Write 2^bits as a factor that people read, and a huge one as a power.

    >>> _times(1.0), _times(2.54), _times(3489)
    ('2', '5.82', '2^3489')
    """
    longest = math.log2(999)
    return f"{2**bits:.3g}" if bits <= longest else f"2^{bits:.4g}"


def analyse(
    channel: Channel,
    graph: AnswerGraph,
    prior: PriorLike = None,
    *,
    epsilon: Level | None = None,
) -> Analysis:
    r"""Measure a mechanism: utility, leakage, generality and its smallest ε.

    Parameters
    ----------
    channel
        The mechanism, one row for each answer.
    graph
        The answer graph.
    prior
        What a consumer knows about the answer; uniform by default.
    epsilon
        The level that tight constraints are judged at; the smallest ε that holds by default,
        since at any larger level no constraint is tight everywhere.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> from tightrope.mechanisms import randomized_response
    >>> found = analyse(randomized_response(6, "ln(2)"), Clique(6), [.1, .2, .2, .2, .2, .1])
    >>> round(found.utility, 6), round(found.epsilon, 6)
    (0.285714, 0.693147)
    """
    known = as_prior(prior, channel.shape[0])
    check_sizes(channel, graph)
    if isinstance(channel, UnboundedNoise):
        raise TooLarge(
            "noise without ends has no rows to measure: 'tightrope verify' says what is proved of "
            "it, 'tightrope interval' what error it has"
        )
    level = smallest_epsilon(channel, graph).value
    try:
        coefficient = dobrushin(channel)
    except TooLarge:
        coefficient = None
    return Analysis(
        utility=posterior_vulnerability(channel, known),
        min_entropy_leakage_bits=min_entropy_leakage(channel, known),
        min_capacity_bits=min_capacity(channel),
        shannon_leakage_bits=mutual_information(channel, known),
        maximally_general=_general(channel, graph, level, epsilon),
        dobrushin=coefficient,
        epsilon=level,
    )


def _general(
    channel: Channel, graph: AnswerGraph, level: float, wanted: Level | None
) -> bool | None:
    if not math.isfinite(level):
        return None
    own = getattr(channel, "epsilon", None)
    if wanted is not None:
        level_of_constraints = Epsilon.of(wanted)
    # The channel's own ε is exact, the measured one is rounded.
    elif isinstance(own, Epsilon) and abs(float(own) - level) <= TIGHT_TOLERANCE:
        level_of_constraints = own
    elif level < SMALLEST:
        # The output says nothing; only with a single answer nothing more can be said.
        return graph.size == 1
    else:
        level_of_constraints = Epsilon.of(level)
    # Rounded weights miss equality by about 1e-16: a constraint within the tolerance is tight.
    return maximally_general(
        channel, graph, level_of_constraints, tolerance=TIGHT_TOLERANCE
    ).maximal
