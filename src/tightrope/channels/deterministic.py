"""A function as a channel: queries and deterministic remaps, without a matrix."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.channels.base import LabelledChannel
from tightrope.errors import InputError


class DeterministicChannel(LabelledChannel):
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
        outputs: int | Sequence[Hashable] | None = None,
        *,
        inputs: Sequence[Hashable] | None = None,
    ) -> None:
        given = np.asarray(targets)
        if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
            raise InputError(
                f"targets must be a non-empty list of whole numbers, got {str(targets)[:60]}"
            )
        labels: Sequence[Hashable] | None = None
        if outputs is None:
            count = int(given.max()) + 1
        elif isinstance(outputs, int | np.integer):
            count = int(outputs)
        else:
            labels, count = outputs, len(outputs)
        bad = np.flatnonzero((given < 0) | (given >= count))
        if len(bad):
            raise InputError(
                f"targets must be in 0 … {count - 1}, got {given[bad[0]]} for input {bad[0]}"
            )
        self.targets: NDArray[np.int64] = given.astype(np.int64)
        self.targets.flags.writeable = False
        self.shape = (len(self.targets), count)
        self._set_labels(inputs, labels)

    def row(self, i: int) -> NDArray[np.float64]:
        """Return row i: a single one."""
        self._check_input(i)
        self._check_row("a row", self.shape[1])
        values = np.zeros(self.shape[1])
        values[self.targets[i]] = 1
        return values

    def column(self, o: int) -> NDArray[np.float64]:
        """Return column o: ones where the target is o."""
        self._check_output(o)
        values: NDArray[np.float64] = (self.targets == o).astype(np.float64)
        return values

    def entry(self, i: int, o: int) -> float:
        """Return 1 where o is the target of i, else 0."""
        self._check_input(i)
        self._check_output(o)
        return float(self.targets[i] == o)

    def column_maxima(self) -> NDArray[np.float64]:
        """Return 1 for outputs that occur, else 0."""
        self._check_row("the column maxima", self.shape[1])
        return (np.bincount(self.targets, minlength=self.shape[1]) > 0).astype(np.float64)

    def column_maxima_sum(self) -> float:
        """Return the number of outputs that occur."""
        return float(len(np.unique(self.targets)))
