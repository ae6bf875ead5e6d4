r"""Noise on a lattice without ends, brought back to the answers.

The output is the answer plus a point z of the lattice with a probability that depends on the
layer of z alone, :math:`p(z) \propto \alpha^{t(z)}`, moved to an answer where it is none.
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
    >>> round(noise.expected("distance"), 6), round(noise.beyond(10), 4)
    (6.650257, 0.0012)
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
        lattice = self.lattice
        sizes = lattice.layers(len(self.layers), self.core)
        shares = (lattice.beside(t, a, self.core) / n for t, n in enumerate(sizes))
        return float(self.layers @ np.fromiter(shares, np.float64, len(sizes)))

    def beyond(self, a: int) -> float:
        """Return the probability that one coordinate of the noise is further than a from 0."""
        near = self.coordinate(0) + 2 * math.fsum(self.coordinate(x) for x in range(1, a + 1))
        return max(0.0, 1 - near)

    def row(self, i: int) -> NDArray[np.float64]:
        """Refuse: a row has no rule, because points are moved back to the answers."""
        self._refuse()

    def column(self, o: int) -> NDArray[np.float64]:
        """Refuse: see :meth:`row`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TooLarge(
            "noise without ends is known by its layers and not by rows: ask for expected(loss), "
            "coordinate(a) or beyond(a)"
        )

    def output_label(self, o: int) -> Hashable:
        """Return the answer that is reported."""
        self._check_output(o)
        return self.graph.label(o)
