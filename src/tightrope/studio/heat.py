"""The numbers behind a heat map: exact where they are few, the largest of a block where many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tightrope.studio.work import name_of

if TYPE_CHECKING:
    pass

#: Most rows and columns that are shown one by one, and most blocks either way otherwise.
EXACT, BLOCKS = 64, 160

#: First and last row, first and last output.
Window = tuple[int, int, int, int]


@dataclass(frozen=True)
class Heat:
    """A picture of a mechanism, or of a window of it.

    Attributes
    ----------
    values
        One row of numbers for each row of the picture.
    rows, outputs
        What the rows and columns of the picture stand for.
    exact
        The fraction behind each number; empty in a reduced picture, whose numbers are the
        largest of their blocks.
    window
        The rows and outputs that are shown.
    shape
        Those of the whole mechanism.

    Examples
    --------
    >>> from tightrope.studio.making import make
    >>> from tightrope.studio.state import State
    >>> heat_of(make(State(question="choice(2)", epsilon="ln(3)")).mechanism).rows
    ('0', '1')
    """

    values: tuple[tuple[float, ...], ...]
    rows: tuple[str, ...]
    outputs: tuple[str, ...]
    exact: tuple[tuple[str, ...], ...]
    window: Window
    shape: tuple[int, int]

    @property
    def reduced(self) -> bool:
        """Whether a number stands for a block."""
        return not self.exact


def heat_of(mechanism: bytes, window: Window | None = None) -> Heat:
    """Return the picture of a mechanism file, or of a window of it.

    Parameters
    ----------
    mechanism
        The file.
    window
        First and last row, first and last output; everything by default.

    Examples
    --------
    >>> from tightrope.studio.making import make
    >>> from tightrope.studio.state import State
    >>> large = make(State(question="count(299)")).mechanism
    >>> heat_of(large).reduced, len(heat_of(large).rows), heat_of(large).rows[0]
    (True, 150, '0 … 1')
    >>> heat_of(large, (10, 12, 10, 12)).rows
    ('10', '11', '12')
    """
    from tightrope.certify import Mechanism

    opened = Mechanism(mechanism)
    shape = opened.shape
    top, bottom, left, right = window or (0, shape[0] - 1, 0, shape[1] - 1)
    top, bottom = _inside(top, bottom, shape[0])
    left, right = _inside(left, right, shape[1])
    rows, columns = _blocks(top, bottom), _blocks(left, right)
    exact = max(bottom - top, right - left) < EXACT
    values, fractions = [], []
    for first, last in rows:
        weights = [opened.row_weights(i)[left : right + 1] for i in range(first, last + 1)]
        if exact:
            fractions.append(tuple(f"{w}/2^{opened.bits}" for w in weights[0].tolist()))
        values.append(_largest(weights, columns, left, opened.total))
    return Heat(
        tuple(values),
        tuple(_span(opened.input_label, *block) for block in rows),
        tuple(_span(opened.output_label, *block) for block in columns),
        tuple(fractions),
        (top, bottom, left, right),
        shape,
    )


def _inside(first: int, last: int, size: int) -> tuple[int, int]:
    low = min(max(first, 0), size - 1)
    return low, min(max(last, low), size - 1)


def _blocks(first: int, last: int) -> list[tuple[int, int]]:
    """Cut a range into at most ``BLOCKS`` blocks; into single places when they are few."""
    count = last - first + 1
    step = 1 if count <= EXACT else -(-count // BLOCKS)
    return [(a, min(a + step - 1, last)) for a in range(first, last + 1, step)]


def _largest(
    weights: list[NDArray[Any]], columns: list[tuple[int, int]], left: int, total: int
) -> tuple[float, ...]:
    highest = np.stack(weights).max(axis=0)
    starts = [a - left for a, _ in columns]
    blocks = np.maximum.reduceat(highest, starts).astype(np.float64) / float(total)
    return tuple(float(f"{value:.6g}") for value in blocks)


def _span(label: Any, first: int, last: int) -> str:
    if first == last:
        return name_of(label(first))
    return f"{name_of(label(first))} … {name_of(label(last))}"
