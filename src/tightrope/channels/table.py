"""A channel as a small table of text, for people at a terminal."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.channels.base import Channel

#: A table is drawn up to this many rows and columns; above it a channel prints as one line.
TABLE_ROWS, TABLE_COLUMNS = 24, 12


def table(channel: Channel, *, digits: int = 4) -> str:
    """Return the matrix of a small channel with its labels, aligned; of a large one its size.

    Parameters
    ----------
    channel
        Any channel. One with integer weights is written in fractions.
    digits
        Digits after the point.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> print(table(Channel([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])))
             0       1
     no 0.7500  0.2500
    yes 0.2500  0.7500
    """
    rows, columns = channel.shape
    if rows > TABLE_ROWS or columns > TABLE_COLUMNS:
        return repr(channel)
    from tightrope.channels.integer import IntegerChannel

    exact = isinstance(channel, IntegerChannel)
    cells = [["", *map(str, channel.outputs)]]
    for i, label in enumerate(channel.inputs):
        if exact:
            values = [_fraction(channel.fraction(i, o)) for o in range(columns)]  # type: ignore[attr-defined]
        else:
            values = [f"{value:.{digits}f}" for value in channel.row(i)]
        cells.append([str(label), *values])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line in cells:
        label, *values = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        lines.append(f"{label} " + "  ".join(values))
    return "\n".join(lines)


def _fraction(value: Fraction) -> str:
    """Write a probability as a fraction, or as a number when the fraction would be long."""
    text = str(value)
    return text if len(text) <= 12 else f"{float(value):.6g}"
