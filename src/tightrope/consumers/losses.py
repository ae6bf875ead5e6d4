r"""Losses: what it costs to guess k when the truth is i.

A :class:`Loss` gives :math:`\ell(i,k)` for every answer i and guess k [C, §2.3]. It may be any
finite number: a gain g is the loss :math:`-g`. Named losses are computed by rule and never hold
:math:`n^2` numbers.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels.base import BLOCK_ENTRIES, MATRIX_LIMIT
from tightrope.consumers.numerals import to_exact, to_float
from tightrope.errors import InputError, TooLarge


class Loss(ABC):
    r"""The loss :math:`\ell(i,k)` of guess k at truth i.

    :class:`MatrixLoss` holds a matrix; losses with a name come from
    :func:`~tightrope.consumers.loss`.

    Attributes
    ----------
    size
        The number of true answers.
    guess_count
        The number of guesses.
    name
        Text that describes the loss.

    Examples
    --------
    >>> shy = MatrixLoss([[0, 1, 0.4], [1, 0, 0.4]], guesses=["no", "yes", "pass"])
    >>> shy.column(2).tolist(), shy.guesses
    ([0.4, 0.4], ['no', 'yes', 'pass'])
    """

    size: int
    guess_count: int
    name: str

    @staticmethod
    def from_gain(gain: ArrayLike, **labels: Any) -> MatrixLoss:
        r"""Return the loss :math:`\ell = -g` of a gain matrix.

        >>> Loss.from_gain([[2, 0], [0, 1]]).row(0).tolist()
        [-2.0, 0.0]
        """
        loss = MatrixLoss(gain, **{"name": "gain", **labels})
        return MatrixLoss(0.0 - loss.matrix(), **{"name": "gain", **labels})

    @staticmethod
    def binary(size: int) -> Loss:
        """Return the loss of 1 for every wrong guess, over a number of answers.

        >>> Loss.binary(3).row(1).tolist()
        [1.0, 0.0, 1.0]
        """
        from tightrope.consumers.named_losses import BinaryLoss
        from tightrope.graphs import Clique

        return BinaryLoss(Clique(size))

    # -- what every kind must say ---------------------------------------------------------

    @abstractmethod
    def row(self, i: int) -> NDArray[np.float64]:
        """Return the losses of every guess when the truth is node i."""

    @abstractmethod
    def column(self, k: int) -> NDArray[np.float64]:
        """Return the losses of guess k under every truth."""

    @abstractmethod
    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction; a float stands for the decimal that prints as it."""

    # -- what a kind may say better by rule -----------------------------------------------

    @property
    def maximum(self) -> float:
        """The largest loss."""
        self._check_matrix("the largest loss")
        return max(float(self.row(i).max()) for i in range(self.size))

    @property
    def is_binary(self) -> bool:
        """Whether every right guess costs 0 and every wrong one 1, whatever the loss is called."""
        return False

    def guess_label(self, k: int) -> Hashable:
        """Return what guess k says."""
        self._check_guess(k)
        return int(k)

    @property
    def guesses(self) -> list[Hashable]:
        """All guesses in order."""
        return [self.guess_label(k) for k in range(self.guess_count)]

    def at(self, i: int, k: int) -> float:
        """Return the loss of guess k when the truth is node i."""
        self._check_guess(k)
        return float(self.row(i)[k])

    def columns(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the columns of several guesses side by side, one row for each truth."""
        return np.stack([self.column(int(k)) for k in guesses], axis=1)

    def matrix(self) -> NDArray[np.float64]:
        """Return all losses; refused with the size when they would not fit."""
        self._check_matrix("the matrix of this loss")
        return np.stack([self.row(i) for i in range(self.size)])

    def expected(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return :math:`\sum_i w_{io}\,\ell(i,k)` for every guess k and every column o.

        Parameters
        ----------
        weights
            One row for each truth, one column for each case.
        """
        out = np.empty((self.guess_count, weights.shape[1]))
        step = max(1, BLOCK_ENTRIES // self.size)
        for start in range(0, self.guess_count, step):
            some = np.arange(start, min(self.guess_count, start + step))
            out[some] = self.columns(some).T @ weights
        return out

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name}: {self.size} answers, {self.guess_count} guesses>"
        )

    # -- guards ---------------------------------------------------------------------------

    def _check_answer(self, i: int) -> None:
        if not 0 <= i < self.size:
            raise InputError(f"node must be in 0 … {self.size - 1}, got {i}")

    def _check_guess(self, k: int) -> None:
        if not 0 <= k < self.guess_count:
            raise InputError(f"guess must be in 0 … {self.guess_count - 1}, got {k}")

    def _check_matrix(self, what: str) -> None:
        if self.size * self.guess_count > MATRIX_LIMIT:
            raise TooLarge(
                f"{what} needs {self.size} × {self.guess_count} numbers, more than "
                f"{MATRIX_LIMIT}: use row(node) or column(guess)"
            )


class MatrixLoss(Loss):
    """A loss that holds its matrix: one row for each answer, one column for each guess.

    Parameters
    ----------
    matrix
        Finite numbers of any sign.
    guesses
        What the guesses say; their indices by default. A rule from an index is accepted too.
    name
        Text that describes the loss.

    Examples
    --------
    >>> MatrixLoss([[0, 1], [float("nan"), 0]])
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: losses must be finite, got nan at row 1, column 0
    """

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        guesses: Sequence[Hashable] | Callable[[int], Hashable] | None = None,
        name: str = "matrix",
    ) -> None:
        self._matrix = _check_losses(matrix)
        self.size, self.guess_count = self._matrix.shape
        self.name = name
        if guesses is not None and not callable(guesses):
            if len(guesses) != self.guess_count or len(set(guesses)) != self.guess_count:
                raise InputError(
                    f"guesses must be {self.guess_count} different labels, got {len(guesses)}: "
                    f"{list(guesses)[:5]!r}"
                )
            guesses = tuple(guesses).__getitem__
        self._label = guesses

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i (read-only)."""
        self._check_answer(i)
        values: NDArray[np.float64] = self._matrix[i]
        return values

    def column(self, k: int) -> NDArray[np.float64]:
        """Return column k (read-only)."""
        self._check_guess(k)
        values: NDArray[np.float64] = self._matrix[:, k]
        return values

    def columns(self, guesses: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the columns of several guesses side by side."""
        chosen: NDArray[np.float64] = self._matrix[:, guesses]
        return chosen

    def matrix(self) -> NDArray[np.float64]:
        """Return the matrix (read-only)."""
        return self._matrix

    def exact(self, i: int, k: int) -> Fraction:
        """Return one loss as a fraction: the decimal that prints as the float."""
        return to_exact(self.at(i, k))

    @functools.cached_property
    def maximum(self) -> float:
        """The largest loss."""
        return float(self._matrix.max())

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether the matrix is 0 on the diagonal and 1 elsewhere."""
        if self.size != self.guess_count or self._matrix.diagonal().any():
            return False
        return int(np.count_nonzero(self._matrix == 1)) == self.size * (self.size - 1)

    def guess_label(self, k: int) -> Hashable:
        """Return what guess k says."""
        self._check_guess(k)
        return int(k) if self._label is None else self._label(int(k))


def _check_losses(matrix: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = _from_texts(matrix)
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"a loss must be a non-empty matrix, got shape {values.shape}")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        i, k = map(int, bad[0])
        raise InputError(f"losses must be finite, got {values[i, k]} at row {i}, column {k}")
    values.flags.writeable = False
    return values


def _from_texts(matrix: Any) -> NDArray[np.float64]:
    """Return a matrix some of whose entries are texts such as ``"1/3"``."""
    message = "a loss must be a rectangular matrix of numbers"
    if isinstance(matrix, str | Mapping):
        raise InputError(f"{message}, got {str(matrix)[:40]!r}")
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise InputError(message) from None
    if len({len(row) for row in rows}) > 1:
        raise InputError(f"{message}, got rows of {len(rows[0])} and of other lengths")
    out = np.empty((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for k, value in enumerate(row):
            try:
                out[i, k] = to_float(value)
            except InputError as wrong:
                raise InputError(f"{wrong} at row {i}, column {k}") from None
    return out
