r"""The optimal-mechanism problem as arrays.

A Bayesian consumer with prior :math:`\pi` and loss :math:`\ell` wants the ε-private channel
that minimises the expected loss. Outputs that lead to the same guess can be merged, so one
column :math:`x^k` for each guess k is enough, and the problem is

.. math:: \min \sum_k c_k \cdot x^k \quad\text{with}\quad \sum_k x^k = 1,\;
   x^k \in \{x : \alpha^{|e|} x_i \le x_h \text{ on every edge } e\},

where :math:`c_k(i) = \pi_i\,\ell(i, k)` [C, (2)-(6)].
"""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Floats as Floats, Ints as Ints  # noqa: PLC0414
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import finite_array, frozen

#: Largest number of entries of the cost matrix (answers times guesses).
COST_LIMIT = 40_000_000

#: Heights: whole numbers, or floats where edges have lengths.
Heights = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Costs, graph and privacy level of one optimal-mechanism problem.

    Parameters
    ----------
    graph
        The answer graph.
    epsilon
        The privacy level; without one every column is allowed.
    costs
        :math:`c_k(i)`, one row for each answer and one column for each guess.
    classes
        For each answer the class it belongs to; answers of one class are exchanged by
        symmetries, and so are the guesses. Every answer is its own class by default.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(3), Epsilon.of("ln(2)"), np.ones((3, 3)) - np.eye(3))
    >>> problem.alpha, problem.anchors.tolist()
    (0.5, [0, 1, 2])
    """

    graph: AnswerGraph
    epsilon: Epsilon | None
    costs: Floats
    classes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        must = f"costs need one row for each of the {self.graph.size} answers"
        costs = frozen(
            finite_array(self.costs, must, (self.graph.size, None), "losses")
        )
        object.__setattr__(self, "costs", costs)
        if not len(self.classes):
            object.__setattr__(self, "classes", np.arange(self.graph.size))

    @classmethod
    def of(
        cls, graph: AnswerGraph, epsilon: Epsilon | None, consumer: Consumer
    ) -> Problem:
        """Take the costs from a Bayesian consumer.

        >>> from tightrope.graphs import PathPower
        >>> from tightrope.consumers import Consumer
        >>> consumer = Consumer.of(graph := PathPower(3), prior="uniform", loss="binary")
        >>> Problem.of(graph, Epsilon.of(1), consumer).costs.sum().round(12)
        np.float64(2.0)
        """
        entries = graph.size * consumer.loss.guess_count
        if entries > COST_LIMIT:
            raise TooLarge(
                f"the losses of {graph.name} would hold {entries} numbers, more than "
                f"{COST_LIMIT}: use a smaller graph or a closed-form mechanism"
            )
        return cls(
            graph,
            epsilon,
            consumer.prior.probabilities[:, None] * consumer.loss.matrix(),
        )

    def weighed(self, costs: Floats) -> Problem:
        """Return the problem with other costs, but the anchors and regions of these.

        >>> from tightrope.graphs import PathPower
        >>> problem = Problem(PathPower(2), Epsilon.of(1), np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> problem.weighed(np.zeros((2, 2))).anchors.tolist()
        [0, 1]
        """
        # Computed before the copy, so that the costs they come from are these.
        for shared in ("anchors", "regions", "ways", "distances", "class_sizes"):
            getattr(self, shared)
        other = copy.copy(self)
        object.__setattr__(other, "costs", costs)
        # These depend on the costs, and are computed anew.
        for own in ("useful", "_is_binary", "_steepest"):
            other.__dict__.pop(own, None)
        return other

    @functools.cached_property
    def copies(self) -> dict[int, int]:
        """The guesses that stand for their classes, and for how many each of them does."""
        if len(self.class_sizes) == self.size:
            return dict.fromkeys(range(self.costs.shape[1]), 1)
        first = np.unique(self.classes, return_index=True)[1]
        return dict(zip(first.tolist(), self.class_sizes.tolist(), strict=True))

    @functools.cached_property
    def guesses(self) -> Ints:
        """The columns of ``costs`` that stand for their class of guesses."""
        return np.fromiter(self.copies, np.int64)

    @property
    def size(self) -> int:
        """The number of answers."""
        return self.graph.size

    @functools.cached_property
    def alpha(self) -> float:
        r""":math:`\alpha = e^{-\varepsilon}`, 0 without a privacy level."""
        return 0.0 if self.epsilon is None else self.epsilon.alpha

    @functools.cached_property
    def edges(self) -> Ints:
        """The edges, as pairs of nodes; none that bind without a privacy level."""
        return self.graph.edge_array()[: 0 if self.epsilon is None else None]

    @functools.cached_property
    def lengths(self) -> Heights:
        """The edge lengths; whole numbers (ones) when the graph has none."""
        if self.graph.has_lengths:
            return self.graph.edge_lengths()[: len(self.edges)]
        return np.ones(len(self.edges), np.int64)

    @functools.cached_property
    def ways(self) -> tuple[Ints, Ints, Heights]:
        """Both ways along every edge: beginnings, ends, lengths; m + e is edge e backward."""
        backward = self.edges[:, ::-1]
        start, end = np.concatenate([self.edges, backward]).T
        return start, end, np.tile(self.lengths, 2)

    @functools.cached_property
    def distances(self) -> Heights:
        """All distances, n × n."""
        matrix = self.graph.distance_matrix()
        return matrix if self.graph.has_lengths else matrix.astype(np.int32)

    @functools.cached_property
    def rates(self) -> Floats:
        r""":math:`\alpha^{d(i,j)}` for all pairs."""
        return self.alpha ** self.distances.astype(float)

    def power(self, heights: Heights) -> Floats:
        r"""Return :math:`\alpha^h`, where it can from a table."""
        if self.graph.has_lengths:
            return self.alpha**heights
        return self._table[heights]

    @functools.cached_property
    def _table(self) -> Floats:
        # A ray falls by no more than the diameter; a row may ask for one step more.
        return self.alpha ** np.arange(self.distances.max() + 2.0)

    @functools.cached_property
    def _steepest(self) -> tuple[Floats, Ints]:
        # (Φ c_k)_i: the cost of the column α^d(i,·) for guess k
        lost = self.rates @ self.costs
        best = lost.argmin(axis=1)
        least = np.take_along_axis(lost, best[:, None], axis=1)
        return least[:, 0], best

    @property
    def price_limits(self) -> Floats:
        r""":math:`\min_k (\Phi c_k)_i`, which prices that prove a bound are not above.

        Unless some of them are negative.
        """
        return self._steepest[0]

    @property
    def steepest_guesses(self) -> Ints:
        """For each answer the guess whose column that falls as fast as it can from it is best."""
        return self._steepest[1]

    @functools.cached_property
    def anchors(self) -> Ints:
        """For each guess the answer it suits best: where its column is meant to peak."""
        # Subtracting the row minimum makes losses of different answers comparable.
        regret = self.costs - self.costs.min(axis=1, keepdims=True)
        # Where every answer is its own best guess, guess k peaks at answer k.
        is_square = regret.shape[0] == regret.shape[1]
        own = is_square and bool((np.diag(regret) == 0).all())
        if own:
            return np.arange(self.size)
        scale = regret.max(axis=1, keepdims=True)
        ones = np.ones_like(regret)
        relative = np.divide(regret, scale, out=ones, where=scale > 0)
        return np.asarray(relative.argmin(axis=0), dtype=np.int64)

    @functools.cached_property
    def regions(self) -> list[Ints]:
        """For each guess the answers that it suits best, at least its anchor."""
        best = self.costs.argmin(axis=1)
        if (self.anchors == np.arange(self.costs.shape[1])).all():
            return [np.array([k]) for k in range(self.costs.shape[1])]
        return [
            np.union1d(np.flatnonzero(best == k), self.anchors[k : k + 1])
            for k in range(self.costs.shape[1])
        ]

    @functools.cached_property
    def class_sizes(self) -> Ints:
        """The number of answers in each class."""
        return np.bincount(self.classes).astype(np.int64)

    def class_means(self, values: Floats) -> Floats:
        """Return for each answer the mean over its class: answers of a class have one price."""
        means = np.bincount(self.classes, values) / self.class_sizes
        return means[self.classes]

    @functools.cached_property
    def useful(self) -> Ints:
        r"""The representative guesses that no other guess replaces at no cost.

        For binary costs guess k is never better than j when
        :math:`\pi_k \le \alpha^{d(k,j)} \pi_j`: every private column has
        :math:`\pi_k x_k \le \pi_j x_j`.
        """
        if not self._is_binary:
            return self.guesses
        rounding = 1e-12
        # Binary costs: π_i is in n - 1 entries of row i.
        others_count = max(self.costs.shape[1] - 1, 1)
        gain = self.costs.sum(axis=1) / others_count
        others = gain * self.rates[self.guesses]
        others[np.arange(len(others)), self.guesses] = 0.0
        # Ties within round-off keep both: a guess that is dropped cannot come back.
        least = others.max(axis=1) * (1 - rounding)
        kept = self.guesses[gain[self.guesses] > least]
        return kept if len(kept) else self.guesses

    @functools.cached_property
    def _is_binary(self) -> bool:
        n, guesses = self.costs.shape
        if n != guesses or n < 2:
            return False
        is_off = ~np.eye(n, dtype=bool)
        off = self.costs[is_off].reshape(n, n - 1)
        no_loss = bool((np.diag(self.costs) == 0).all())
        return no_loss and bool((off == off[:, :1]).all())
