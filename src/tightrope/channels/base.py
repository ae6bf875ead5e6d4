r"""Channels: row-stochastic matrices from true answers to reported outputs.

Rows are true answers, columns are reported outputs. A channel answers :meth:`Channel.row`,
:meth:`Channel.column` and, when it fits, :meth:`Channel.matrix`. Kinds with a rule compute a
row when asked and never hold :math:`n^2` numbers.
"""

from __future__ import annotations

import contextlib
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, Ints, Labels, Pair
from tightrope.errors import InputError, TooLarge, refusing, whole_number
from tightrope.exact import over_one
from tightrope.graphs.base import check_each, check_labels, finite_array, frozen
from tightrope.texts import to_exact

#: How far the sum of a row of floats may lie from 1.
ROW_SUM_TOLERANCE = 1e-9


class Channel:
    """A row-stochastic matrix, and the base of the kinds that compute their entries.

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

    shape: Pair
    #: Up to how many entries the matrix is made where columns are asked for one after the other.
    _held = LIMITS.entries
    #: The rules from an index to the label of a row and of a column.
    _inputs: Callable[[int], Hashable]
    _outputs: Callable[[int], Hashable]

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        inputs: Labels = None,
        outputs: Labels = None,
    ) -> None:
        self.weights = check_stochastic(matrix)
        self.shape = (self.weights.shape[0], self.weights.shape[1])
        self._set_labels(inputs, outputs)

    def row(self, i: int) -> Floats:
        """Return the distribution of the output when the true answer is node i."""
        self._check_input(i)
        self._check_row("a row", self.shape[1])
        return self._row(int(i))

    def column(self, o: int) -> Floats:
        """Return the probabilities of output o under every true answer."""
        self._check_output(o)
        self._check_row("a column", self.shape[0])
        return self._column(int(o))

    def entry(self, i: int, o: int) -> float:
        """Return the probability of output o when the true answer is node i."""
        self._check_input(i)
        self._check_output(o)
        return self._entry(int(i), int(o))

    def _row(self, i: int) -> Floats:
        return self._floats(self.weights[i])

    def _column(self, o: int) -> Floats:
        return self._floats(self.weights[:, o])

    def _entry(self, i: int, o: int) -> float:
        return float(self.row(i)[o])

    def _rows(self, start: int, stop: int) -> Floats:
        return self._floats(self.weights[start:stop])

    def _floats(self, weights: AnyArray) -> Floats:
        return np.asarray(weights)

    def matrix(self) -> Floats:
        """Return the whole matrix (read-only where it is held)."""
        return self._floats(self.weights)

    def row_blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield the matrix as consecutive blocks of rows, each with its first row's index."""
        rows, columns = self.shape
        step = max(1, LIMITS.block // max(columns, 1))
        for start in range(0, rows, step):
            stop = min(rows, start + step)
            yield start, self._rows(start, stop)

    def exact_rows(self) -> Iterator[list[Any]]:
        """Yield the rows without rounding: in fractions where the channel has them, or floats."""
        for i in range(self.shape[0]):
            yield self.row(i).tolist()

    def column_blocks(self, entries: int) -> Iterator[tuple[int, Floats]]:
        """Yield all rows of so many columns that a block has about so many entries.

        With each block comes the index of its first column.
        """
        rows, columns = self.shape
        step = max(1, entries // rows)
        # Columns of a kind that computes rows are slow one by one: hold the matrix if it fits.
        matrix = self.matrix() if rows * columns <= self._held else None
        for start in range(0, columns, step):
            stop = min(columns, start + step)
            if matrix is not None:
                yield start, matrix[:, start:stop]
            else:
                block = [self.column(o) for o in range(start, stop)]
                yield start, np.stack(block, axis=1)

    def column_maxima(self) -> Floats:
        """Return the largest probability of each output over the true answers."""
        return self._floats(self.weights.max(axis=0))

    def column_maxima_sum(self) -> float:
        r"""Return :math:`\sum_o \max_i X[i,o]`, whose logarithm is the min-capacity [B, §2.1]."""
        return float(self.column_maxima().sum())

    def input_label(self, i: int) -> Hashable:
        """Return the answer of row i."""
        self._check_input(i)
        return self._inputs(int(i))

    def output_label(self, o: int) -> Hashable:
        """Return what is reported for column o."""
        self._check_output(o)
        return self._outputs(int(o))

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
        texts = zip(*cells, strict=True)
        widths = [max(map(len, column)) for column in texts]
        lines = []
        for line in cells:
            label, *values = (
                cell.rjust(width) for cell, width in zip(line, widths, strict=True)
            )
            lines.append(f"{label} " + "  ".join(values))
        return "\n".join(lines)

    def _row_texts(self, i: int, digits: int) -> list[str]:
        return [f"{value:.{digits}f}" for value in self.row(i)]

    def _set_labels(self, inputs: Labels, outputs: Labels) -> None:
        self._inputs = label_rule(inputs, self.shape[0], "inputs")
        self._outputs = label_rule(outputs, self.shape[1], "outputs")

    def _check_input(self, i: int) -> None:
        if not 0 <= i < self.shape[0]:
            raise InputError(f"row must be in 0 … {self.shape[0] - 1}, got {i}")

    def _check_output(self, o: int) -> None:
        if not 0 <= o < self.shape[1]:
            raise InputError(f"column must be in 0 … {self.shape[1] - 1}, got {o}")

    def _check_row(self, what: str, entries: int) -> None:
        if entries > LIMITS.row:
            raise TooLarge(
                f"{what} of this channel would hold {entries} numbers, more than {LIMITS.row}: "
                f"use entry(i, o)"
            )

    def _check_entries(self, rows: int, columns: int) -> None:
        if rows * columns > LIMITS.entries:
            raise TooLarge(
                f"the matrix of this channel would hold {rows} × {columns} numbers, more than "
                f"{LIMITS.entries}: use row(i), column(o) or row_blocks()"
            )

    def _repr_html_(self, most: int = 10) -> str:
        """Return the first rows and columns as a table, darker where probabilities are larger."""
        inputs, outputs = self.shape
        columns = range(min(outputs, most))
        names = "".join(
            f"<th>{escape(str(self.output_label(o)))}</th>" for o in columns
        )
        more, rest = ("<th>…</th>", "<td>…</td>") if outputs > most else ("", "")
        body = ""
        for i in range(min(inputs, most)):
            row = self.row(i)
            cells = "".join(_html_cell(float(row[o])) for o in columns)
            label = escape(str(self.input_label(i)))
            body += f"<tr><th>{label}</th>{cells}{rest}</tr>"
        if inputs > most:
            body += "<tr><th>…</th></tr>"
        caption = f"{inputs:,} inputs (rows), {outputs:,} outputs"
        return f"<table><caption>{caption}</caption><tr><th></th>{names}{more}</tr>{body}</table>"

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.shape[0]} inputs, {self.shape[1]} outputs>"
        )

    def __str__(self) -> str:
        return self.table()


class RuleChannel(Channel, ABC):
    """A channel that computes its rows and columns when asked, and holds no matrix.

    A kind sets ``shape`` and gives ``_row`` and ``_column`` for indices in their range; the rest
    follows from them, and is overridden where a formula is faster (``_entry``, for instance).
    """

    _held = 16_000_000

    @abstractmethod
    def _row(self, i: int) -> Floats: ...

    @abstractmethod
    def _column(self, o: int) -> Floats: ...

    def matrix(self) -> Floats:
        """Return the whole matrix; refused with the size when it would not fit."""
        self._check_entries(*self.shape)
        return np.concatenate([block for _, block in self.row_blocks()])

    def _rows(self, start: int, stop: int) -> Floats:
        rows = [self.row(i) for i in range(start, stop)]
        return np.stack(rows)

    def column_maxima(self) -> Floats:
        """Return the largest probability of each output over the true answers."""
        self._check_row("the column maxima", self.shape[1])
        # max_i X[i,o] by blocks of rows, so that no matrix is held.
        best = np.zeros(self.shape[1])
        for _, block in self.row_blocks():
            np.maximum(best, block.max(axis=0), out=best)
        return best


def label_rule(labels: Labels, count: int, what: str) -> Callable[[int], Hashable]:
    """Return the rule from an index to its label, by default the index itself.

    >>> label_rule("ab", 2, "outputs")(1), label_rule(None, 2, "outputs")(1)
    ('b', 1)
    """
    checked = check_labels(labels, count, what)
    return int if checked is None else checked.__getitem__


def _html_cell(value: float) -> str:
    ink = "#fff" if value > 0.6 else "#000"
    opacity = min(max(value, 0.0), 1.0)
    shade = f"background:rgba(0,114,178,{opacity:.2f});color:{ink}"
    return f'<td style="{shade}">{value:.4f}</td>'


def check_stochastic(matrix: ArrayLike) -> Floats:
    """Return a read-only copy of a row-stochastic matrix, or refuse with the place and value.

    >>> check_stochastic([[1, 0], [0.5, 0.5]]).shape
    (2, 2)
    """
    must = "a channel must be a non-empty, rectangular matrix of numbers"
    values = finite_array(matrix, must, (None, None), "probabilities", "non-negative")
    # Nothing is renormalised: a row that is off by more is somebody's mistake.
    sums = values.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise InputError(
            f"every row must sum to 1, but row {worst} sums to {sums[worst]:.12g}"
        )
    return frozen(values)


def check_same_inputs(first: Channel, second: Channel) -> None:
    """Refuse two channels with different numbers of rows."""
    if first.shape[0] != second.shape[0]:
        raise InputError(
            f"both channels must have the same inputs, got {first.shape[0]} and {second.shape[0]}"
        )


#: Integers below this size are added and multiplied by 2 in machine integers.
MACHINE = 2**62


class IntegerChannel(Channel):
    r"""The channel :math:`X[i,o] = W[i,o]/T` with integers W and one total T for all rows.

    Nothing is rounded: privacy against a ratio p/q is :math:`q\,W[i,o] \le p\,W[h,o]` in
    integers. Rows and the matrix are floats, each the nearest to its fraction.

    Parameters
    ----------
    weights
        Non-negative integers of any size; every row with the same positive sum.
    total
        The sum of every row; taken from the weights when left out.
    inputs, outputs
        Labels of rows and columns; the indices by default.

    Attributes
    ----------
    weights
        The integers, read-only: an ``int64`` array when the total fits, else an array of
        Python integers.
    total
        The sum of every row.

    Examples
    --------
    >>> response = IntegerChannel([[3, 1], [1, 3]])
    >>> response.total, response.fraction(0, 0), response.row(1).tolist()
    (4, Fraction(3, 4), [0.25, 0.75])
    >>> IntegerChannel([[3, 1], [1, 2]])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: every row of weights must sum to 4, but row 1 sums to 3
    """

    def __init__(
        self,
        weights: ArrayLike | Sequence[Sequence[int]],
        total: int | None = None,
        *,
        inputs: Labels = None,
        outputs: Labels = None,
    ) -> None:
        self.weights = _check_weights(weights)
        self.shape = (self.weights.shape[0], self.weights.shape[1])
        self.total = _check_total(self.weights, total)
        self._set_labels(inputs, outputs)

    def fraction(self, i: int, o: int) -> Fraction:
        """Return the exact probability of output o when the true answer is node i."""
        self._check_input(i)
        self._check_output(o)
        return Fraction(int(self.weights[i, o]), self.total)

    def exact_rows(self) -> Iterator[list[Fraction]]:
        """Yield the rows in fractions."""
        for i in range(self.shape[0]):
            yield [self.fraction(i, o) for o in range(self.shape[1])]

    def _entry(self, i: int, o: int) -> float:
        return float(self.fraction(i, o))

    def column_maxima_sum(self) -> float:
        """Return the float nearest to the sum of the column maxima."""
        maxima = self.weights.max(axis=0)
        return sum(map(int, maxima)) / self.total

    def _row_texts(self, i: int, digits: int) -> list[str]:
        """Write row i as fractions, or as numbers where a fraction would be long."""
        texts = [str(self.fraction(i, o)) for o in range(self.shape[1])]
        values = zip(texts, self.row(i), strict=True)
        return [text if len(text) <= 12 else f"{value:.6g}" for text, value in values]

    def _floats(self, weights: AnyArray) -> Floats:
        # Integers up to 2^53 are floats without rounding, so that one division rounds once.
        if self.total <= 2**53:
            return np.asarray(weights / self.total, dtype=np.float64)
        # Python divides two integers of any size with a single rounding; NumPy rounds thrice.
        return (weights.astype(object) / self.total).astype(np.float64)

    def __repr__(self) -> str:
        total = str(self.total)
        if len(total) > 20:
            total = f"{self.total.bit_length()} bits"
        return f"<IntegerChannel {self.shape[0]} inputs, {self.shape[1]} outputs, total {total}>"


class DeterministicChannel(RuleChannel):
    """The channel that reports ``targets[i]`` when the true answer is i.

    Parameters
    ----------
    targets
        The output of every input, as indices.
    outputs
        The number of outputs, or their labels; by default just enough for the targets.
    inputs
        Labels of the inputs; the indices by default.

    Examples
    --------
    >>> parity = DeterministicChannel([0, 1, 0, 1], ["even", "odd"])
    >>> parity.row(2).tolist(), parity.column(1).tolist()
    ([1.0, 0.0], [0.0, 1.0, 0.0, 1.0])
    """

    def __init__(
        self,
        targets: ArrayLike,
        outputs: int | Labels = None,
        *,
        inputs: Labels = None,
    ) -> None:
        labels: Labels = None
        count: int | None = None
        if isinstance(outputs, int | np.integer):
            count = int(outputs)
        elif outputs is not None:
            labels = outputs
            count = len(outputs)
        self.targets = check_indices(targets, count, "targets")
        columns = count or int(self.targets.max()) + 1
        self.shape = (len(self.targets), columns)
        self._set_labels(inputs, labels)

    def _row(self, i: int) -> Floats:
        values = np.zeros(self.shape[1])
        values[self.targets[i]] = 1
        return values

    def _column(self, o: int) -> Floats:
        return np.asarray(self.targets == o, np.float64)

    def _entry(self, i: int, o: int) -> float:
        return float(self.targets[i] == o)

    def column_maxima(self) -> Floats:
        """Return 1 for outputs that occur, else 0."""
        self._check_row("the column maxima", self.shape[1])
        # Some row reports an output that occurs with certainty.
        times = np.bincount(self.targets, minlength=self.shape[1])
        occurs = times > 0
        return occurs.astype(np.float64)


def check_indices(values: ArrayLike, count: int | None, what: str) -> Ints:
    """Return a read-only list of indices below a count, or refuse with the place and value.

    >>> check_indices([0, 2, 2], 3, "rows").tolist()
    [0, 2, 2]
    """
    given = np.asarray(values)
    if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            f"{what} must be a non-empty list of whole numbers, got {str(values)[:60]}"
        )
    last = int(given.max()) if count is None else count - 1
    inside = (given >= 0) & (given <= last)
    check_each(inside, given, f"{what} must be in 0 … {last}", "at place {}")
    return frozen(given.astype(np.int64))


def as_integers(channel: Channel) -> IntegerChannel | None:
    """Return a channel with its weights as integers where it has such, as a function does.

    >>> as_integers(DeterministicChannel([0, 1, 1])).weights.tolist()
    [[1, 0], [0, 1], [0, 1]]
    """
    if isinstance(channel, DeterministicChannel):
        weights = channel.matrix().astype(np.int64)
        return IntegerChannel(
            weights, 1, inputs=channel.inputs, outputs=channel.outputs
        )
    return channel if isinstance(channel, IntegerChannel) else None


def rational(
    matrix: Sequence[Sequence[Fraction | int | str]],
    *,
    inputs: Labels = None,
    outputs: Labels = None,
) -> IntegerChannel:
    """Return the integer channel of a matrix of exact fractions.

    Parameters
    ----------
    matrix
        Fractions, integers, or texts such as ``"1/3"`` and ``"0.25"``; every row must sum to 1
        exactly. Floats are refused: they are not the numbers they print as.
    inputs, outputs
        Labels of rows and columns; the indices by default.

    Examples
    --------
    >>> rational([["2/3", "1/3"], ["1/4", "3/4"]]).weights.tolist()
    [[8, 4], [3, 9]]
    """
    rows = [list(row) for row in matrix]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise InputError(
            "a channel must be a non-empty rectangular matrix of fractions"
        )
    exact = [
        [_exact(value, i, o) for o, value in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    for i, row in enumerate(exact):
        if sum(row) != 1:
            raise InputError(f"every row must sum to 1, but row {i} sums to {sum(row)}")
    # One denominator for all rows keeps privacy a comparison of integers.
    weights, total = over_one(exact)
    return IntegerChannel(weights.tolist(), total, inputs=inputs, outputs=outputs)


def _exact(value: Fraction | int | str, i: int, o: int) -> Fraction:
    if isinstance(value, str | numbers.Rational) and not isinstance(value, bool):
        with contextlib.suppress(InputError):
            return to_exact(value)
    raise InputError(
        f"probabilities must be fractions, integers or texts such as '1/3', got {value!r} at "
        f"row {i}, column {o}"
    )


def _check_weights(weights: ArrayLike | Sequence[Sequence[int]]) -> AnyArray:
    with refusing(
        "weights must be a rectangular matrix of integers", ValueError, OverflowError
    ):
        given = np.array(weights)
        # Integers beyond 64 bits stay Python integers: nothing is rounded.
        if not np.issubdtype(given.dtype, np.integer):
            given = np.array(weights, dtype=object)
    if given.ndim != 2 or 0 in given.shape:
        raise InputError(f"weights must be a non-empty matrix, got shape {given.shape}")
    if given.dtype == object:
        for (i, o), value in np.ndenumerate(given):
            # Python counts bool among the integers, but it is no weight.
            if isinstance(value, bool | np.bool_) or not isinstance(
                value, numbers.Integral
            ):
                raise InputError(
                    f"weights must be integers, got {value!r} at row {i}, column {o}"
                )
            given[i, o] = int(value)
    check_each(
        given >= 0, given, "weights must be non-negative", "at row {}, column {}"
    )
    # A cheap bound on the row sums first; the sums themselves only where it does not decide.
    fits = int(given.max()) * given.shape[1] < MACHINE
    fits = fits or all(sum(map(int, row)) < MACHINE for row in given)
    return frozen(given.astype(np.int64 if fits else object))


def _check_total(weights: AnyArray, total: int | None) -> int:
    sums = weights.sum(axis=1)
    wanted = int(sums[0]) if total is None else whole_number(total, "the total")
    for i in np.flatnonzero(sums != wanted)[:1]:
        raise InputError(
            f"every row of weights must sum to {wanted}, but row {i} sums to {sums[i]}"
        )
    if wanted == 0:
        raise InputError(
            "every row of weights must have a positive sum, but row 0 sums to 0"
        )
    return wanted


@dataclass(frozen=True)
class Comparison:
    """Whether two channels are equal, and where they differ most.

    Attributes
    ----------
    equal
        The answer; also the truth value of the comparison.
    difference
        The largest difference of two probabilities; ``inf`` when the shapes differ.
    place
        Row and column where it is found; ``None`` when the shapes differ.
    tolerance
        What was allowed.
    exact
        Whether the difference was computed in integers.

    Examples
    --------
    >>> equal(Channel([[0.5, 0.5]]), Channel([[0.25, 0.75]])).difference
    0.25
    """

    equal: bool
    difference: float
    place: Pair | None
    tolerance: float
    exact: bool

    def __bool__(self) -> bool:
        return self.equal


def equal(
    first: Channel, second: Channel, *, tolerance: float | None = None
) -> Comparison:
    """Compare the matrices of two channels; labels do not matter.

    Parameters
    ----------
    first, second
        The channels. Two with integer weights are compared exactly.
    tolerance
        The largest difference that counts as equal; by default 0 between integer channels and
        1e-12 otherwise.

    Examples
    --------
    >>> bool(equal(IntegerChannel([[1, 2], [2, 1]]), IntegerChannel([[2, 4], [4, 2]])))
    True
    """
    exact = isinstance(first, IntegerChannel) and isinstance(second, IntegerChannel)
    rounding = 0.0 if exact else 1e-12
    allowed = rounding if tolerance is None else float(tolerance)
    if first.shape != second.shape:
        return Comparison(False, math.inf, None, allowed, exact)
    worst = -1.0
    place = (0, 0)
    pairs = zip(first.exact_rows(), second.exact_rows(), strict=True)
    for i, rows in enumerate(pairs):
        # In fractions where both channels have them, so that the difference is exact.
        gaps = np.abs(np.subtract(*map(np.array, rows)))
        o = int(gaps.argmax())
        if gaps[o] > worst:
            worst = gaps[o]
            place = (i, o)
    equal = bool(worst <= allowed)
    return Comparison(equal, float(worst), place, allowed, exact)
