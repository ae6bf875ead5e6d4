r"""Channels: row-stochastic matrices from true answers to reported outputs.

Rows are true answers, columns are reported outputs. A channel answers :meth:`Channel.row`,
:meth:`Channel.column` and, when it fits, :meth:`Channel.matrix`. Kinds with a rule compute a
row when asked and never hold :math:`n^2` numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.errors import InputError, TooLarge

#: How far the sum of a row of floats may lie from 1.
ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Limits:
    """What channels hold at most.

    Attributes
    ----------
    matrix
        Entries of a matrix that is made from a rule.
    row
        Entries of one row, column or list of labels.
    block
        Entries of one block of :meth:`Channel.row_blocks`.
    """

    matrix: int = 150_000_000
    row: int = 20_000_000
    block: int = 4_000_000


LIMITS = Limits()


class Channel:
    """A row-stochastic matrix, and the base of the kinds that compute it by rule.

    Parameters
    ----------
    matrix
        Non-negative numbers, every row with sum 1 within ``ROW_SUM_TOLERANCE``. Nothing is
        repaired.
    inputs, outputs
        Labels of rows and columns; the indices by default.

    Attributes
    ----------
    shape
        Number of inputs and number of outputs.

    Examples
    --------
    >>> response = Channel([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> response.shape, response.row(1).tolist()
    ((2, 2), [0.25, 0.75])
    >>> Channel([[0.5, 0.5], [0.2, 0.7]])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: every row must sum to 1, but row 1 sums to 0.9
    """

    shape: tuple[int, int]
    #: Labels of rows and columns, or what gives the label of an index; else the indices.
    _inputs: tuple[Hashable, ...] | Callable[[int], Hashable] | None = None
    _outputs: tuple[Hashable, ...] | Callable[[int], Hashable] | None = None

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        inputs: Sequence[Hashable] | None = None,
        outputs: Sequence[Hashable] | None = None,
    ) -> None:
        self._matrix = check_stochastic(matrix)
        self.shape = (self._matrix.shape[0], self._matrix.shape[1])
        self._set_labels(inputs, outputs)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return the distribution of the output when the true answer is node i."""
        self._check_input(i)
        return np.asarray(self._matrix[i])

    def column(self, o: int) -> NDArray[np.float64]:
        """Return the probabilities of output o under every true answer."""
        self._check_output(o)
        return np.asarray(self._matrix[:, o])

    def matrix(self) -> NDArray[np.float64]:
        """Return the whole matrix (read-only where it is held)."""
        return self._matrix

    def row_blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the matrix as consecutive blocks of rows, each with its first row's index."""
        yield 0, self._matrix

    def entry(self, i: int, o: int) -> float:
        """Return the probability of output o when the true answer is node i."""
        self._check_output(o)
        return float(self.row(i)[o])

    def diagonal(self) -> NDArray[np.float64]:
        """Return the probabilities of reporting the true answer, for a square channel."""
        self._check_square()
        count = self.shape[0]
        self._check_row("the diagonal", count)
        return np.fromiter((self.entry(i, i) for i in range(count)), np.float64, count)

    def column_maxima(self) -> NDArray[np.float64]:
        """Return the largest probability of each output over the true answers."""
        self._check_row("the column maxima", self.shape[1])
        best = np.zeros(self.shape[1])
        for _, block in self.row_blocks():
            np.maximum(best, block.max(axis=0), out=best)
        return best

    def column_maxima_sum(self) -> float:
        r"""Return :math:`\sum_o \max_i X[i,o]`, whose logarithm is the min-capacity [B, §2.1]."""
        return float(self.column_maxima().sum())

    def input_label(self, i: int) -> Hashable:
        """Return the answer that row i stands for."""
        self._check_input(i)
        return _label(self._inputs, int(i))

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        self._check_output(o)
        return _label(self._outputs, int(o))

    @property
    def inputs(self) -> list[Hashable]:
        """The answers in row order."""
        self._check_row("the list of inputs", self.shape[0])
        return [self.input_label(i) for i in range(self.shape[0])]

    @property
    def outputs(self) -> list[Hashable]:
        """The outputs in column order."""
        self._check_row("the list of outputs", self.shape[1])
        return [self.output_label(o) for o in range(self.shape[1])]

    def table(self, *, digits: int = 4, rows: int = 24, columns: int = 12) -> str:
        """Return the matrix with its labels as aligned text; of a large channel only its size.

        Parameters
        ----------
        digits
            Digits after the point. Integer weights are written as fractions.
        rows, columns
            The largest matrix that is written out.

        Examples
        --------
        >>> print(Channel([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"]).table())
                 0       1
         no 0.7500  0.2500
        yes 0.2500  0.7500
        """
        if self.shape[0] > rows or self.shape[1] > columns:
            return repr(self)
        cells = [["", *map(str, self.outputs)]]
        for i, label in enumerate(self.inputs):
            cells.append([str(label), *self._row_texts(i, digits)])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for line in cells:
            label, *values = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            lines.append(f"{label} " + "  ".join(values))
        return "\n".join(lines)

    def _row_texts(self, i: int, digits: int) -> list[str]:
        return [f"{value:.{digits}f}" for value in self.row(i)]

    def _set_labels(
        self, inputs: Sequence[Hashable] | None, outputs: Sequence[Hashable] | None
    ) -> None:
        self._inputs = check_labels(inputs, self.shape[0], "inputs")
        self._outputs = check_labels(outputs, self.shape[1], "outputs")

    def _check_input(self, i: int) -> None:
        if not 0 <= i < self.shape[0]:
            raise InputError(f"row must be in 0 … {self.shape[0] - 1}, got {i}")

    def _check_output(self, o: int) -> None:
        if not 0 <= o < self.shape[1]:
            raise InputError(f"column must be in 0 … {self.shape[1] - 1}, got {o}")

    def _check_square(self) -> None:
        if self.shape[0] != self.shape[1]:
            raise InputError(
                f"a diagonal needs as many outputs as inputs, got {self.shape[0]} inputs and "
                f"{self.shape[1]} outputs"
            )

    def _check_row(self, what: str, entries: int) -> None:
        if entries > LIMITS.row:
            raise TooLarge(
                f"{what} of this channel would hold {entries} numbers, more than {LIMITS.row}: "
                f"use entry(i, o)"
            )

    def _check_entries(self, rows: int, columns: int) -> None:
        if rows * columns > LIMITS.matrix:
            raise TooLarge(
                f"the matrix of this channel would hold {rows} × {columns} numbers, more than "
                f"{LIMITS.matrix}: use row(i), column(o) or row_blocks()"
            )

    def _repr_html_(self, most: int = 10) -> str:
        """Return the first rows and columns as a table, darker where probabilities are larger."""
        inputs, outputs = self.shape
        columns = range(min(outputs, most))
        names = "".join(f"<th>{escape(str(self.output_label(o)))}</th>" for o in columns)
        more, rest = ("<th>…</th>", "<td>…</td>") if outputs > most else ("", "")
        body = ""
        for i in range(min(inputs, most)):
            row = self.row(i)
            cells = "".join(_html_cell(float(row[o])) for o in columns)
            body += f"<tr><th>{escape(str(self.input_label(i)))}</th>{cells}{rest}</tr>"
        if inputs > most:
            body += "<tr><th>…</th></tr>"
        caption = f"{inputs:,} inputs (rows), {outputs:,} outputs"
        return f"<table><caption>{caption}</caption><tr><th></th>{names}{more}</tr>{body}</table>"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} inputs, {self.shape[1]} outputs>"

    def __str__(self) -> str:
        return self.table()


class RuleChannel(Channel, ABC):
    """A channel that computes its rows and columns when asked, and holds no matrix.

    A kind sets ``shape`` and gives :meth:`row` and :meth:`column`; the rest follows from them,
    and may be given by rule too where that is faster.
    """

    @abstractmethod
    def row(self, i: int) -> NDArray[np.float64]:
        """Return the distribution of the output when the true answer is node i."""

    @abstractmethod
    def column(self, o: int) -> NDArray[np.float64]:
        """Return the probabilities of output o under every true answer."""

    def matrix(self) -> NDArray[np.float64]:
        """Return the whole matrix; refused with the size when it would not fit."""
        self._check_entries(*self.shape)
        out = np.empty(self.shape)
        for start, block in self.row_blocks():
            out[start : start + len(block)] = block
        return out

    def row_blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yield the matrix as consecutive blocks of rows, each with its first row's index."""
        rows, columns = self.shape
        step = max(1, LIMITS.block // max(columns, 1))
        for start in range(0, rows, step):
            yield start, np.stack([self.row(i) for i in range(start, min(rows, start + step))])


def _label(labels: tuple[Hashable, ...] | Callable[[int], Hashable] | None, index: int) -> Hashable:
    if labels is None:
        return index
    return labels(index) if callable(labels) else labels[index]


def _html_cell(value: float) -> str:
    ink = "#fff" if value > 0.6 else "#000"
    shade = f"background:rgba(0,114,178,{min(max(value, 0.0), 1.0):.2f});color:{ink}"
    return f'<td style="{shade}">{value:.4f}</td>'


def check_stochastic(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only copy of a row-stochastic matrix, or refuse with the place and value.

    >>> check_stochastic([[1, 0], [0.5, 0.5]]).shape
    (2, 2)
    """
    try:
        values = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("a channel must be a rectangular matrix of numbers") from None
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"a channel must be a non-empty matrix, got shape {values.shape}")
    bad = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        i, o = map(int, bad[0])
        raise InputError(
            f"probabilities must be finite and non-negative, got {values[i, o]} at row {i}, "
            f"column {o}"
        )
    sums = values.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise InputError(f"every row must sum to 1, but row {worst} sums to {sums[worst]:.12g}")
    values.flags.writeable = False
    return values


def check_labels(
    labels: Sequence[Hashable] | None, count: int, what: str
) -> tuple[Hashable, ...] | None:
    """Return labels as a tuple, or refuse when they are too few, too many or not different.

    >>> check_labels("ab", 2, "outputs")
    ('a', 'b')
    """
    if labels is None:
        return None
    if len(labels) != count or len(set(labels)) != count:
        raise InputError(
            f"{what} must be {count} different labels, got {len(labels)}: {list(labels)[:5]!r}"
        )
    return tuple(labels)


def check_same_inputs(first: Channel, second: Channel) -> None:
    """Refuse two channels with different numbers of rows."""
    if first.shape[0] != second.shape[0]:
        raise InputError(
            f"both channels must have the same inputs, got {first.shape[0]} and {second.shape[0]}"
        )
