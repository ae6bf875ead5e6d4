r"""Measures of utility that never grow by post-processing [D, §3.2, 3.3]: determinant, Dobrushin.

The Dobrushin utility itself, :math:`μ(X) = -\min_{i,h} \sum_o \min(X_{io}, X_{ho})`, is
:func:`tightrope.channels.generality.dobrushin`. Here is the most that ε-privacy allows, on any
graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightrope.arrays import Pair
from tightrope.channels import Channel, IntegerChannel, rational
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge
from tightrope.exact import determinant
from tightrope.graphs import AnswerGraph


def determinant_utility(channel: Channel) -> Fraction | float:
    r"""Return :math:`|\det X|` of a square channel [D, Ex 3.2.2].

    It cannot grow by a square remap, since :math:`|\det T| \le 1` for stochastic T. Integer
    weights give the exact fraction.

    Parameters
    ----------
    channel
        A channel with as many outputs as inputs.

    Examples
    --------
    >>> determinant_utility(IntegerChannel([[3, 1], [1, 3]]))
    Fraction(1, 2)
    """
    rows, columns = channel.shape
    if rows != columns:
        raise InputError(
            f"a determinant needs a square channel, got {rows} × {columns}"
        )
    # |det(W/T)| = |det W| / T^n
    if isinstance(channel, IntegerChannel):
        size = abs(determinant(channel.weights))
        return Fraction(size, channel.total**rows)
    _, logarithm = np.linalg.slogdet(channel.matrix())
    return float(np.exp(logarithm))


@dataclass(frozen=True)
class DobrushinOptimum:
    """The largest Dobrushin utility of a private mechanism, and a mechanism that has it.

    Attributes
    ----------
    value
        The utility.
    pair
        Two answers as far apart as possible: the rows that differ most.
    channel
        A mechanism with two outputs that reaches it, with integer weights.
    exact
        The utility as a fraction, for the rational ratio of ε that the mechanism uses.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> dobrushin_optimum(PathPower(5), "ln(2)").exact
    Fraction(-1, 4)
    """

    value: float
    pair: Pair
    channel: IntegerChannel
    exact: Fraction


def dobrushin_optimum(graph: AnswerGraph, epsilon: Level) -> DobrushinOptimum:
    r"""Return the largest Dobrushin utility that ε-privacy allows [D, Lemma 3.3.5, 3.3.8].

    On a graph of diameter d

    .. math::
        μ^* = \begin{cases}
            -e^{-εd/2} & d \text{ even} \\
            -2 e^{-ε(d-1)/2}/(1+e^ε) & d \text{ odd.}
        \end{cases}

    Lemma 3.3.5 counts the *nodes* n = d+1 of a path, Lemma 3.3.8 the *length* d in the same
    formulas; the case distinction above is by length. The mechanism reports 0 or 1 and depends
    on the distance from one end of a longest shortest path only.

    Parameters
    ----------
    graph
        Any answer graph with edges of length 1.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import Clique, petersen
    >>> dobrushin_optimum(Clique(4), "ln(3)").exact, dobrushin_optimum(petersen(), "ln(3)").exact
    (Fraction(-1, 2), Fraction(-1, 3))
    """
    graph._check_unit("the Dobrushin optimum")
    level = Epsilon.of(epsilon)
    start, end = _far_pair(graph)
    length = int(graph.distance(start, end))
    ratio = level.ratio
    below = _climb(length, ratio)
    chances = [below[int(d)] for d in graph.distances_from(start)]
    rows = [(1 - chance, chance) for chance in chances]
    labels = graph.labels if graph.size <= 10_000 else None
    channel = rational(rows, inputs=labels)
    # −e^{−εd/2} for an even length d, −2 e^{−ε(d−1)/2}/(1 + e^ε) for an odd one.
    half, odd = divmod(length, 2)
    value = -math.exp(-float(level) * half)
    if odd:
        value *= 2 / (1 + math.exp(float(level)))
    # The rows of the two ends overlap in the smaller probability of either output.
    return DobrushinOptimum(value, (start, end), channel, -2 * below[0])


def _climb(length: int, ratio: Fraction) -> list[Fraction]:
    """Return the probability of output 1 at each distance: as small, then as large as allowed."""
    half, odd = divmod(length, 2)
    # Up to the middle by e^ε per step, then 1 − p falls by e^ε per step; an odd length has an
    # edge in the middle, from 1/(1+e^ε) to e^ε/(1+e^ε).
    top = 1 / (1 + ratio) if odd else Fraction(1, 2)
    rising = [top / ratio ** (half - j) for j in range(half + 1)]
    falling = (1 - p for p in reversed(rising[: half + odd]))
    return [*rising, *falling]


def _far_pair(graph: AnswerGraph, starts: int = 20_000) -> Pair:
    """Return two answers as far apart as possible, looking from some of them."""
    for start in range(min(graph.size, starts)):
        distances = graph.distances_from(start)
        end = int(distances.argmax())
        if distances[end] == graph.diameter:
            return start, end
    raise TooLarge(
        f"no pair of answers of {graph.name} as far apart as possible was found among the first "
        f"{starts}"
    )
