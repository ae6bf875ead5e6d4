r"""Noise on a lattice without ends, each number of it held between the ends of the answers.

The output is the answer plus a point z of the lattice with a probability that depends on the
layer of z alone, :math:`p(z) \propto \alpha^{t(z)}`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import RuleChannel
from tightrope.epsilon import Epsilon, Level
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph


class UnboundedNoise(RuleChannel):
    r"""The answer plus noise :math:`p(z) \propto \alpha^{t(z)}` on the graph's lattice.

    Parameters
    ----------
    graph
        An answer graph with a lattice (:attr:`~tightrope.graphs.AnswerGraph.unbounded`).
    epsilon
        The privacy level.
    core
        On a line: layer 0 is -core … core, so that noise is a staircase.

    Examples
    --------
    >>> from tightrope.graphs import Histograms
    >>> noise = UnboundedNoise(Histograms(6000, 8), 1)
    >>> round(noise.expected("distance"), 6), round(noise.within(10), 4)
    (6.650257, 0.9988)
    """

    def __init__(self, graph: AnswerGraph, epsilon: Level, core: int = 0) -> None:
        lattice = graph.unbounded
        if lattice is None:
            raise InputError(f"{graph.name} is no part of a lattice that looks alike everywhere")
        if core and not (lattice.form == "line" and 0 <= core < lattice.width):
            raise InputError(f"a core must be below the width of a line, got {core}")
        self.graph, self.lattice, self.core = graph, lattice, core
        self.epsilon = Epsilon.of(epsilon)
        self.shape = (graph.size, graph.size)
        self._inputs = self._outputs = graph.label

    @cached_property
    def layers(self) -> NDArray[np.float64]:
        """The probabilities of the layers, up to where they are negligible."""
        step, count, lattice = float(self.epsilon), 32, self.lattice
        while True:
            if count * lattice.parts > 50_000_000:
                raise TooLarge(f"noise on {self.graph.name} at ε = {self.epsilon} has more layers")
            sizes = lattice.layers(count, self.core)
            logs = np.array([math.log(n) - step * t for t, n in enumerate(sizes)])
            if logs[-1] < logs.max() - 60:
                break
            count *= 2
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum())

    def expected(self, loss: str) -> float:
        """Return the mean of a loss with a name: the worst over the answers is no larger."""
        count, lattice = len(self.layers), self.lattice
        sizes = lattice.layers(count, self.core)
        sums = lattice.loss_sums(loss, count, self.core)
        means = np.array([x / n for x, n in zip(sums, sizes, strict=True)])
        scale = float(lattice.step) ** {"absolute": 1, "squared": 2}.get(loss, 0)
        return float(self.layers @ means) * scale

    def coordinate(self, a: int) -> float:
        """Return the probability that one coordinate of the noise is a."""
        a = abs(a)
        return self.within(0) if not a else (self.within(a) - self.within(a - 1)) / 2

    def within(self, a: int) -> float:
        """Return the probability that one coordinate of the noise is at most a from 0.

        >>> from tightrope.graphs import Histograms, PathPower
        >>> [round(UnboundedNoise(Histograms(99, 2), 1).within(a), 4) for a in (0, 1)]
        [0.4621, 0.8021]
        >>> round(UnboundedNoise(PathPower(10**9, 10**6), 1).within(3 * 10**6), 4)
        0.9502
        """
        if self.lattice.form == "line":
            if a < self.core:
                return float(self.layers[0]) * (2 * a + 1) / (2 * self.core + 1)
            whole, begun = divmod(a - self.core, self.lattice.width)
            more = self.layers[whole + 1] if whole + 1 < len(self.layers) else 0.0
            part = float(more) * begun / self.lattice.width
            return float(self.layers[: whole + 1].sum()) + part
        if self.lattice.form == "cube":
            sizes = self.lattice.layers(len(self.layers))
            shares = (self.lattice.within(t, a) / n for t, n in enumerate(sizes))
            return float(self.layers @ np.fromiter(shares, np.float64, len(sizes)))
        return float(self._coordinate[: a + 1].sum())

    @cached_property
    def _coordinate(self) -> NDArray[np.float64]:
        r"""The probabilities that one coordinate is 0, ±1, ±2, ….

        Where distances are sums of |z|, coordinates are independent and two-sided geometric,
        conditioned on their sum being 0 if people only change; else the points of each layer
        with a coordinate are counted.
        """
        lattice, count = self.lattice, len(self.layers)
        a = np.arange(count)
        if lattice.form in ("cross", "roots"):
            fall = float(self.epsilon) / (1 if lattice.form == "cross" else 2)
            one = np.exp(-fall * a)
            law = np.where(a > 0, 2, 1) * one
            if lattice.form == "roots":
                law = law * _sum_of_many(one / (2 * one.sum() - 1), lattice.parts - 1)[:count]
            return np.asarray(law / law.sum())
        sizes = lattice.layers(count, self.core)
        law = np.zeros(count)
        for t, n in enumerate(sizes):
            shares = [lattice.beside(t, x) / n for x in range(t + 1)]
            law[: t + 1] += self.layers[t] * np.array(shares) * np.where(a[: t + 1] > 0, 2, 1)
        return law

    def row(self, i: int) -> NDArray[np.float64]:
        """Refuse: a row has no rule, because numbers are held between the ends."""
        self._refuse()

    def column(self, o: int) -> NDArray[np.float64]:
        """Refuse: see :meth:`row`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TooLarge(
            "noise without ends is known by its layers and not by rows: ask for expected(loss) or "
            "within(a)"
        )

    def output_label(self, o: int) -> Hashable:
        """Return the answer that is reported."""
        self._check_output(o)
        return self.graph.label(o)


def _sum_of_many(one: NDArray[np.float64], many: int) -> NDArray[np.float64]:
    """Return the law of a sum of independent symmetric numbers, at 0, 1, 2, …."""
    size = 1 << (2 * len(one) - 1).bit_length() + 3
    circle = np.zeros(size)
    circle[: len(one)] = one
    circle[-len(one) + 1 :] = one[:0:-1]
    found = np.fft.irfft(np.fft.rfft(circle) ** many, size)
    return np.maximum(found[: size // 2], 0.0)
