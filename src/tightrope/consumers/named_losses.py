"""The losses that have a name: binary, distance, absolute and squared, all by rule."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Hashable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.losses import Loss
from tightrope.consumers.numerals import to_exact
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph


class _GraphLoss(Loss):
    """A loss whose guesses are the answers of a graph."""

    def __init__(self, graph: AnswerGraph, name: str) -> None:
        self.graph, self.name = graph, name
        self.size = self.guess_count = graph.size

    def guess_label(self, k: int) -> Hashable:
        """Return the answer that is guessed."""
        self._check_guess(k)
        return self.graph.label(k)

    def column(self, k: int) -> NDArray[np.float64]:
        """Return the losses of guess k, which are those of truth k: these losses are symmetric."""
        self._check_guess(k)
        return self.row(k)


class BinaryLoss(_GraphLoss):
    r"""Any wrong guess costs 1: :math:`\ell(i,k) = [i \ne k]` [C, §2.3].

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> BinaryLoss(PathPower(4)).row(2).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, graph: AnswerGraph) -> None:
        super().__init__(graph, "binary")

    def row(self, i: int) -> NDArray[np.float64]:
        """Return 0 for the truth and 1 elsewhere."""
        self._check_answer(i)
        self.graph._check_row("a row of losses")
        out = np.ones(self.size)
        out[i] = 0
        return out

    def at(self, i: int, k: int) -> float:
        """Return 0 or 1."""
        return float(self.exact(i, k))

    def exact(self, i: int, k: int) -> Fraction:
        """Return 0 or 1."""
        self._check_answer(i)
        self._check_guess(k)
        return Fraction(int(i != k))

    @property
    def maximum(self) -> float:
        """1, or 0 for a single answer."""
        return float(self.size > 1)

    @property
    def is_binary(self) -> bool:
        """Yes."""
        return True

    def columns(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the columns of several guesses side by side."""
        out: NDArray[np.float64] = np.not_equal.outer(np.arange(self.size), guesses).astype(
            np.float64
        )
        return out

    def expected(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the total weight less the weight of the guess."""
        out: NDArray[np.float64] = weights.sum(axis=0) - weights
        return out


class DistanceLoss(_GraphLoss):
    r"""A guess costs its distance in the answer graph: :math:`\ell(i,k) = d(i,k)`.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> DistanceLoss(PathPower(6, 2)).row(0).tolist()
    [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]
    """

    def __init__(self, graph: AnswerGraph) -> None:
        super().__init__(graph, "distance")

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the distances from the truth."""
        return self.graph.distances_from(i).astype(np.float64)

    def at(self, i: int, k: int) -> float:
        """Return the distance between truth and guess."""
        return float(self.graph.distance(i, k))

    def exact(self, i: int, k: int) -> Fraction:
        """Return the distance as a fraction."""
        return to_exact(self.graph.distance(i, k))

    @property
    def maximum(self) -> float:
        """The diameter of the graph."""
        return float(self.graph.diameter)

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether the graph is a clique with edges of length 1."""
        return not self.graph.has_lengths and self.graph.is_clique

    def expected(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return :math:`\sum_i w_{io}\,d(i,k)`; on a band from sums of the weights."""
        width = self.graph.power
        if width is None:
            return super().expected(weights)
        return _one_sided(weights, width) + _one_sided(weights[::-1], width)[::-1]


class CoordinateLoss(_GraphLoss):
    r"""A guess costs :math:`\sum_c |x_{ic} - x_{kc}|^p` for the numbers that the labels are.

    ``absolute`` has p = 1 and ``squared`` p = 2 [C, §2.3]. A label is a number (one
    coordinate) or a tuple of numbers, whose coordinates are added up.

    Parameters
    ----------
    graph
        The answer graph; its labels must be numbers or tuples of numbers, all of one length.
    power
        1 or 2.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> CoordinateLoss(PathPower(4), 2).row(1).tolist()
    [1.0, 0.0, 1.0, 4.0]
    >>> counts = StrongProduct([PathPower(3), PathPower(3)])
    >>> CoordinateLoss(counts, 1).at(counts.index((0, 0)), counts.index((2, 1)))
    3.0
    """

    def __init__(self, graph: AnswerGraph, power: int) -> None:
        if power not in (1, 2):
            raise InputError(f"the power must be 1 (absolute) or 2 (squared), got {power!r}")
        super().__init__(graph, "absolute" if power == 1 else "squared")
        self.power = power
        # Wrong labels are refused here, and not after a long computation.
        self._numbers(0)
        self._numbers(graph.size - 1)

    def _numbers(self, i: int) -> tuple[object, ...]:
        label = self.graph.label(i)
        parts = label if isinstance(label, tuple) else (label,)
        if not all(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in parts):
            raise InputError(
                f"{self.name} loss needs answers that are numbers or tuples of numbers, got "
                f"{label!r} in {self.graph.name}: use binary, distance or a matrix"
            )
        return parts

    @functools.cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """The labels as numbers: one row for each answer (read-only)."""
        self.graph._check_row("the coordinates")
        rows = [self._numbers(i) for i in range(self.size)]
        if len(set(map(len, rows))) > 1:
            raise InputError(f"answers of {self.graph.name} must be tuples of one length")
        out = np.array(rows, dtype=np.float64)
        if not np.isfinite(out).all():
            bad = int(np.flatnonzero(~np.isfinite(out).all(axis=1))[0])
            raise InputError(f"answers must be finite numbers, got {self.graph.label(bad)!r}")
        out.flags.writeable = False
        return out

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the losses of every guess when the truth is node i."""
        self._check_answer(i)
        gaps = np.abs(self.coordinates - self.coordinates[i])
        return np.asarray((gaps**self.power).sum(axis=1))

    def at(self, i: int, k: int) -> float:
        """Return the loss of guess k when the truth is node i."""
        return float(self.exact(i, k))

    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction."""
        pairs = zip(self._numbers(i), self._numbers(k), strict=True)
        return sum((abs(to_exact(a) - to_exact(b)) ** self.power for a, b in pairs), Fraction(0))

    def columns(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the columns of several guesses side by side."""
        out = np.zeros((self.size, len(guesses)))
        for line in self.coordinates.T:
            out += np.abs(np.subtract.outer(line, line[guesses])) ** self.power
        return out

    @functools.cached_property
    def maximum(self) -> float:
        """The largest loss."""
        if self.graph.product:
            # The labels are a full grid, so the farthest answers are opposite corners.
            return sum(CoordinateLoss(f, self.power).maximum for f in self.graph.factors)
        if self.coordinates.shape[1] == 1:
            return float(np.ptp(self.coordinates) ** self.power)
        return float(super().maximum)

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether there are at most two answers, one apart."""
        return self.size == 1 or (self.size == 2 and self.exact(0, 1) == 1)

    def expected(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return :math:`\sum_i w_{io}\,\ell(i,k)` from sums and partial sums of the weights."""
        if self.power == 2:
            return self._expected_squared(weights)
        if self.coordinates.shape[1] == 1:
            return self._expected_absolute(weights)
        return super().expected(weights)

    def _expected_squared(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        # Around the middle the squares stay small, and so does what cancels.
        x = self.coordinates - (self.coordinates.max(axis=0) + self.coordinates.min(axis=0)) / 2
        squares = (x**2).sum(axis=1)
        total = weights.sum(axis=0)
        return np.asarray(np.outer(squares, total) - 2 * x @ (x.T @ weights) + squares @ weights)

    def _expected_absolute(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        order = np.argsort(self.coordinates[:, 0], kind="stable")
        x = self.coordinates[order]
        steps = np.diff(x, axis=0)
        below = np.cumsum(weights[order], axis=0)
        above = below[-1] - below
        # The cost from either side grows by (weight passed) × (step): only positive terms.
        out = np.zeros_like(below)
        out[1:] = np.cumsum(below[:-1] * steps, axis=0)
        out[:-1] += np.cumsum((above[:-1] * steps)[::-1], axis=0)[::-1]
        back = np.empty_like(out)
        back[order] = out
        return back


def _one_sided(weights: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    r"""Return :math:`L_k = \sum_{i<k} w_i \lceil (k-i)/w \rceil = L_{k-w} + \sum_{i<k} w_i`."""
    rows, columns = weights.shape
    width = min(width, rows)
    lines = -(-rows // width)
    passed = np.zeros((lines * width, columns))
    np.cumsum(weights[:-1], axis=0, out=passed[1:rows])
    out: NDArray[np.float64] = passed.reshape(lines, width, columns).cumsum(axis=0)
    return out.reshape(-1, columns)[:rows]
