r"""The exponential mechanism with quality :math:`-d`, the distance from the true answer."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel, RuleChannel, ScaledPhi
from tightrope.channels.structured import alpha_powers, log_alpha_sum
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph


class ExponentialChannel(RuleChannel):
    r"""The channel :math:`X_{io} = \alpha^{d(i,o)/2} / \sum_j \alpha^{d(i,j)/2}`, by rule.

    The numerators of neighbouring rows differ by a factor of at most :math:`e^{ε/2}`, and so
    do the sums below: together ε-private on every graph. Rows are made from distances; only
    the n sums are kept.

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> ExponentialChannel(PathPower(3), "ln(4)").row(0).round(4).tolist()
    [0.5714, 0.2857, 0.1429]
    """

    def __init__(self, graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> None:
        self.graph = graph
        self.epsilon = Epsilon.of(epsilon)
        self.shape = (graph.size, graph.size)

    def _powers(self, i: int) -> NDArray[np.float64]:
        return alpha_powers(self.epsilon, self.graph.distances_from(i), parts=2)

    @functools.cached_property
    def _sums(self) -> NDArray[np.float64]:
        self._check_row("the row sums", self.graph.size)
        return np.array([self._row_sum(i) for i in range(self.graph.size)])

    def _row_sum(self, i: int) -> float:
        if self.graph.has_lengths:
            return math.fsum(self._powers(i))
        sizes = self.graph.ball_sizes(i)
        return math.fsum(alpha_powers(self.epsilon, np.arange(len(sizes)), parts=2) * sizes)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i from one row of distances."""
        self._check_input(i)
        return np.asarray(self._powers(i) / self._row_sum(i))

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o from one row of distances and all row sums."""
        self._check_output(o)
        return np.asarray(self._powers(o) / self._sums)

    def entry(self, i: int, o: int) -> float:
        """Return one probability from one distance."""
        self._check_input(i)
        self._check_output(o)
        power = alpha_powers(self.epsilon, self.graph.distance(i, o), parts=2)
        return float(power) / self._row_sum(i)

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self.graph.label(i)

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.graph.label(o)

    def __repr__(self) -> str:
        return f"<ExponentialChannel {self.graph.name}, ε = {self.epsilon}>"


def exponential(graph: AnswerGraph, epsilon: Epsilon | float | Fraction | str) -> Channel:
    r"""Return the exponential mechanism: near answers likelier than far ones, ε-private.

    Where every answer sees the same ball sizes :math:`n_d` all rows have one sum, the noise
    can use the whole ε, and the channel is :math:`X_{io} = γ α^{d(i,o)}` with
    :math:`γ = 1/\sum_d n_d α^d` [B, (17)]; for the uniform prior and binary loss no ε-private
    channel is better [B, Thm 28]. On other graphs the sums differ and half of ε pays for
    them (:class:`ExponentialChannel`).

    Parameters
    ----------
    graph
        The answer graph; edge lengths are respected.
    epsilon
        The privacy level.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> (exponential(Cycle(6), "ln(2)").row(0) * 21).round(9).tolist()
    [8.0, 4.0, 2.0, 1.0, 2.0, 4.0]
    """
    level = Epsilon.of(epsilon)
    sizes = graph.constant_ball_sizes
    if sizes is None:
        return ExponentialChannel(graph, level)
    return ScaledPhi(graph, level, math.exp(-log_alpha_sum(level, sizes)))
