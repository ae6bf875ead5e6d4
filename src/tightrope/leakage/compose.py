r"""Several mechanisms on one answer: what they leak together, and the ε they add up to.

Independent outputs on the same true answer multiply their likelihoods. Neither the outputs of
a pair nor those of n repetitions are listed: a pair is summed up output by output, and
repetitions are told apart by *how often* each output came, not by the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.channels.base import check_same_inputs
from tightrope.channels.compare import reduced
from tightrope.channels.compose import cascade
from tightrope.channels.privacy import smallest_epsilon
from tightrope.consumers.evaluate import parts
from tightrope.errors import TooLarge, whole_number
from tightrope.graphs import AnswerGraph, Histograms
from tightrope.leakage.measures import (
    PriorLike,
    as_prior,
    min_entropy_leakage,
    mutual_information,
    posterior_vulnerability,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Composition:
    """What a composition leaks.

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


def parallel_composition(
    first: Channel, second: Channel, prior: PriorLike = None, *, graph: AnswerGraph | None = None
) -> Composition:
    r"""Measure two mechanisms with independent noise on the same true answer.

    The outputs are pairs, :math:`X_{i,(o,p)} = X^1_{io} X^2_{ip}`. Seeing o first turns the
    prior into a posterior; the second channel is measured with that.

    Parameters
    ----------
    first, second
        Channels with the same inputs.
    prior
        Prior over the inputs; uniform by default.
    graph
        The answer graph, when the smallest ε is wanted. It can be less than the sum of the
        two, if they are worst in different places.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import PathPower
    >>> one, two = Channel([[0.5, 0.5], [0.25, 0.75]]), Channel([[0.5, 0.5], [0.75, 0.25]])
    >>> found = parallel_composition(one, two, graph=PathPower(2))
    >>> round(found.vulnerability, 6), round(math.exp(found.epsilon), 6)
    (0.65625, 4.0)
    """
    check_same_inputs(first, second)
    known = as_prior(prior, first.shape[0])
    outer, inner = (first, second) if first.shape[1] <= second.shape[1] else (second, first)
    matrix = inner.matrix()
    total, information = 0.0, 0.0
    for o in range(outer.shape[1]):
        joint = matrix * (known.probabilities * outer.column(o))[:, None]
        total += float(joint.max(axis=0).sum())
        information -= _scattered(joint)
    epsilon = None
    if graph is not None:
        # An edge counts both ways round; each mechanism may be worst in its own direction.
        levels = _edge_levels(first, graph) + _edge_levels(second, graph)
        epsilon = float((levels / graph.edge_lengths()).max()) if levels.size else 0.0
    return _composition(total, known.maximum, known.entropy + information, epsilon)


def cascade_composition(
    first: Channel, second: Channel, prior: PriorLike = None, *, graph: AnswerGraph | None = None
) -> Composition:
    r"""Measure one mechanism after another: the second sees only the output of the first.

    It leaks no more than either of the two, and is at least as private as the first.

    Parameters
    ----------
    first, second
        Channels; the outputs of the first are the inputs of the second.
    prior
        Prior over the inputs of the first; uniform by default.
    graph
        The answer graph of the first, when the smallest ε is wanted.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import PathPower
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> found = cascade_composition(response, response, graph=PathPower(2))
    >>> found.vulnerability, round(math.exp(found.epsilon), 6)
    (0.625, 1.666667)
    """
    both = cascade(first, second)
    known = as_prior(prior, first.shape[0])
    return Composition(
        posterior_vulnerability(both, known),
        min_entropy_leakage(both, known),
        mutual_information(both, known),
        None if graph is None else smallest_epsilon(both, graph).value,
    )


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
    epsilon = None if graph is None else times * smallest_epsilon(channel, graph).value
    split = parts(channel, known)
    if split is not None:
        found = [(p.times, repeated_composition(p.channel, times, p.prior)) for p in split]
        return Composition(
            math.prod(each.vulnerability**k for k, each in found),
            sum(k * each.leakage_bits for k, each in found),
            sum(k * each.shannon_bits for k, each in found),
            epsilon,
        )
    from scipy.special import gammaln

    matrix = reduced(channel).channel.matrix()
    cases = math.comb(times + matrix.shape[1] - 1, matrix.shape[1] - 1)
    if cases > most_cases:
        raise TooLarge(
            f"{times} repetitions of {matrix.shape[1]} different outputs make {cases} cases, more "
            f"than {most_cases}: repeat less often"
        )
    with np.errstate(divide="ignore"):
        # A finite stand-in for log 0: zero times it is zero, one time it is never reached.
        logs = np.maximum(np.log(matrix), -1e200).T
        start = np.log(known.probabilities)
    total, scattered = 0.0, 0.0
    for types in _types(times, matrix.shape[1]):
        ways = gammaln(times + 1) - gammaln(types + 1).sum(axis=1)
        joint = np.exp(types @ logs + start + ways[:, None])
        total += float(joint.max(axis=1).sum())
        scattered += _scattered(joint.T)
    return _composition(total, known.maximum, known.entropy - scattered, epsilon)


def _composition(total: float, before: float, shannon: float, epsilon: float | None) -> Composition:
    leakage = max(0.0, math.log2(total / before))
    return Composition(total, leakage, max(0.0, shannon), epsilon)


def _scattered(joint: Array) -> float:
    """Return Σ_o p(o) H(A|o) in bits from joint probabilities, secrets × outputs."""
    mass = np.broadcast_to(joint.sum(axis=0), joint.shape)
    seen = joint > 0
    return -float((joint[seen] * np.log2(joint[seen] / mass[seen])).sum())


def _types(times: int, kinds: int, at_once: int = 50_000) -> list[NDArray[np.int64]]:
    """Return all ways to write a number as an ordered sum of ``kinds`` non-negative ones."""
    whole = Histograms(times, kinds).vectors
    return [whole[low : low + at_once] for low in range(0, len(whole), at_once)]


def _edge_levels(channel: Channel, graph: AnswerGraph) -> Array:
    """Return for every edge, in both directions, the largest log-ratio over outputs."""
    edges = graph.edge_array()
    matrix = channel.matrix()
    levels = np.zeros((2, len(edges)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(matrix)
        for k, (i, h) in enumerate(edges):
            # 0 beside 0 says nothing; 0 beside a positive number tells the two apart.
            apart = logs[i] - logs[h]
            levels[0, k] = np.nanmax(apart)
            levels[1, k] = np.nanmax(-apart)
    return levels
