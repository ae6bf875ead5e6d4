"""Channels made of other channels, computed row by row and never held as a matrix."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import Channel, LabelledChannel
from tightrope.channels.deterministic import DeterministicChannel


class SelectedRows(LabelledChannel):
    """Some rows of a channel, in any order and as often as wanted.

    Made by :func:`~tightrope.channels.restrict` and :func:`~tightrope.channels.of_databases`.

    Parameters
    ----------
    channel
        Where the rows come from.
    rows
        Which rows.
    inputs
        Labels of the selected rows; their places by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> SelectedRows(GeometricChannel(9, "ln(2)"), np.array([4, 4])).shape
    (2, 9)
    """

    def __init__(
        self,
        channel: Channel,
        rows: NDArray[np.int64],
        *,
        inputs: Sequence[Hashable] | None = None,
    ) -> None:
        self.channel, self.rows = channel, rows
        self.shape = (len(rows), channel.shape[1])
        self._set_labels(inputs, None)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the row that stands at place i."""
        self._check_input(i)
        return self.channel.row(int(self.rows[i]))

    def column(self, o: int) -> NDArray[np.float64]:
        """Return the selected entries of a column."""
        return self.channel.column(o).take(self.rows)

    def entry(self, i: int, o: int) -> float:
        """Return one probability."""
        self._check_input(i)
        return self.channel.entry(int(self.rows[i]), o)

    def column_maxima(self) -> NDArray[np.float64]:
        """Return the column maxima over the different rows that occur."""
        different = np.unique(self.rows)
        if len(different) == self.channel.shape[0]:
            return self.channel.column_maxima()
        rows = (self.channel.row(int(i)) for i in different)
        return np.asarray(functools.reduce(np.maximum, rows))

    def column_maxima_sum(self) -> float:
        """Return the sum of the column maxima."""
        if len(np.unique(self.rows)) == self.channel.shape[0]:
            return self.channel.column_maxima_sum()
        return float(self.column_maxima().sum())

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.channel.output_label(o)


class CascadeChannel(Channel):
    r"""One channel after another, :math:`(XR)[i,k] = \sum_o X[i,o] R[o,k]`, a row at a time.

    Made by :func:`~tightrope.channels.cascade` when the product is too large for a matrix.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> halves = DeterministicChannel(np.arange(10) // 5)
    >>> CascadeChannel(GeometricChannel(10, "ln(2)"), halves).row(4).round(4).tolist()
    [0.6667, 0.3333]
    """

    def __init__(self, first: Channel, second: Channel) -> None:
        self.first, self.second = first, second
        self.shape = (first.shape[0], second.shape[1])

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i of the first channel sent through the second."""
        return self._send(self.first.row(i)[None, :]).ravel()

    def column(self, o: int) -> NDArray[np.float64]:
        """Return the probabilities of output o under every true answer."""
        if isinstance(self.second, DeterministicChannel):
            self._check_output(o)
            total = np.zeros(self.shape[0])
            for middle in np.flatnonzero(self.second.targets == o):
                total += self.first.column(int(middle))
            return total
        onward = self.second.column(o)
        return np.concatenate([block @ onward for _, block in self.first.row_blocks()])

    def row_blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the matrix as consecutive blocks of rows."""
        for start, block in self.first.row_blocks():
            yield start, self._send(block)

    def _send(self, block: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.second, DeterministicChannel):
            out = np.zeros((self.shape[1], len(block)))
            np.add.at(out, self.second.targets, block.T)
            return out.T
        out = np.zeros((len(block), self.shape[1]))
        for start, part in self.second.row_blocks():
            out += block[:, start : start + len(part)] @ part
        return out

    def input_label(self, i: int) -> Hashable:
        """Return the first channel's input."""
        return self.first.input_label(i)

    def output_label(self, o: int) -> Hashable:
        """Return the second channel's output."""
        return self.second.output_label(o)


class ParallelChannel(Channel):
    r"""Two channels on the same answer, both outputs seen.

    .. math:: P[i,(o,p)] = X[i,o]\,Y[i,p], \text{ the second output fastest.}

    Made by :func:`~tightrope.channels.parallel`.

    Examples
    --------
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> ParallelChannel(response, response).row(0).tolist()
    [0.5625, 0.1875, 0.1875, 0.0625]
    """

    def __init__(self, first: Channel, second: Channel) -> None:
        self.first, self.second = first, second
        self.shape = (first.shape[0], first.shape[1] * second.shape[1])

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the outer product of the two rows."""
        self._check_row("a row", self.shape[1])
        return np.multiply.outer(self.first.row(i), self.second.row(i)).ravel()

    def column(self, o: int) -> NDArray[np.float64]:
        """Return the entrywise product of two columns."""
        self._check_output(o)
        left, right = divmod(int(o), self.second.shape[1])
        return self.first.column(left) * self.second.column(right)

    def entry(self, i: int, o: int) -> float:
        """Return one probability."""
        self._check_output(o)
        left, right = divmod(int(o), self.second.shape[1])
        return self.first.entry(i, left) * self.second.entry(i, right)

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self.first.input_label(i)

    def output_label(self, o: int) -> Hashable:
        """Return both outputs as a pair."""
        self._check_output(o)
        left, right = divmod(int(o), self.second.shape[1])
        return self.first.output_label(left), self.second.output_label(right)


class MixtureChannel(Channel):
    r"""A random choice of channel made without looking, :math:`\sum_k p_k X_k`.

    Made by :func:`~tightrope.channels.mixture` when the sum is too large for a matrix.

    Examples
    --------
    >>> coin = Channel([[0.5, 0.5], [0.5, 0.5]])
    >>> MixtureChannel([coin, Channel([[1, 0], [0, 1]])], [0.5, 0.5]).row(0).tolist()
    [0.75, 0.25]
    """

    def __init__(self, channels: Sequence[Channel], weights: Sequence[float]) -> None:
        self.channels, self.weights = tuple(channels), tuple(float(w) for w in weights)
        self.shape = channels[0].shape

    def _add(self, parts: Sequence[Any]) -> Any:
        return sum(w * part for w, part in zip(self.weights, parts, strict=True))

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the weighted sum of the rows."""
        return np.asarray(self._add([channel.row(i) for channel in self.channels]))

    def column(self, o: int) -> NDArray[np.float64]:
        """Return the weighted sum of the columns."""
        return np.asarray(self._add([channel.column(o) for channel in self.channels]))

    def entry(self, i: int, o: int) -> float:
        """Return one probability."""
        return float(self._add([channel.entry(i, o) for channel in self.channels]))

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        return self.channels[0].input_label(i)

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        return self.channels[0].output_label(o)
