"""Read a channel from a file: a CSV matrix of decimals or fractions."""

from __future__ import annotations

import contextlib
import csv
import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np

from tightrope.channels.base import Channel, rational
from tightrope.errors import InputError, blamed
from tightrope.files import FilePath, read_rows, write_text
from tightrope.graphs.files import typed_labels


def read_channel(path: FilePath) -> Channel:
    r"""Read a channel from a CSV file: one line for each true answer, one number for each output.

    When every probability is a fraction such as ``1/3`` (or 0 or 1) the channel is exact and its
    rows must sum to 1 exactly; otherwise the numbers are floats. A first line that does not hold
    numbers names the outputs, a first column that does not hold numbers names the answers. Where
    the first cell is empty both hold names, also such as look like numbers.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "response.csv")
    ...     _ = file.write_text(",no,yes\nno,2/3,1/3\nyes,1/3,2/3\n")
    ...     channel = read_channel(file)
    >>> channel.outputs, channel.weights.tolist()
    (['no', 'yes'], [[2, 1], [1, 2]])
    """
    rows = [cells for _, cells in read_rows(path, even=False)]
    name = Path(path).name
    outputs = inputs = None
    # A label may look like a number (an answer 0, 1, 2 …): a corner that is empty says so.
    corner = rows[0][0] == ""
    if corner or all(_number(cell) is None for cell in rows[0][1:] or rows[0]):
        outputs = rows[0]
        rows = rows[1:]
    if not rows:
        raise InputError(f"{name}: there are no rows of numbers")
    if corner or all(_number(row[0]) is None for row in rows):
        inputs = [row[0] for row in rows]
        rows = [row[1:] for row in rows]
    # The corner above the names of the answers is no output.
    columns = len(rows[0])
    if outputs is not None and inputs is not None and len(outputs) == columns + 1:
        outputs = outputs[1:]
    if outputs is not None and len(outputs) != columns:
        raise InputError(
            f"{name}: {columns} numbers in a row, but {len(outputs)} outputs named"
        )
    floats = [[_number(cell) for cell in row] for row in rows]
    for line, row in enumerate(rows, 1):
        if len(row) != columns or not columns:
            raise InputError(
                f"{name}: every row must hold {columns} numbers, but row {line} holds {len(row)}"
            )
        values = floats[line - 1]
        broken = [v is None or not math.isfinite(v) for v in values]
        if any(broken):
            place = broken.index(True)
            raise InputError(
                f"{name}: {row[place][:40]!r} in row {line}, column {place + 1} is not a number"
            )
    # Fractions throughout mean exact numbers; a decimal such as 0.333 was rounded by somebody.
    cells = (cell for row in rows for cell in row)
    exact = all("/" in cell or cell in ("0", "1") for cell in cells)
    named = {"inputs": inputs, "outputs": outputs}
    labels = {
        side: typed_labels(cells) for side, cells in named.items() if cells is not None
    }
    with blamed(name):
        return (
            rational(rows, **labels) if exact else Channel(np.array(floats), **labels)
        )


def _number(cell: str, digits: int = 400) -> float | None:
    """Return the number in a cell, nan where it is meant for one but is none, ``None`` for a word.

    >>> _number("1/2"), _number("1/2/3"), _number("half")
    (0.5, nan, None)
    """
    try:
        value, *below = map(float, cell.split("/"))
    except ValueError:
        return None
    with contextlib.suppress(ArithmeticError, ValueError):
        if len(cell) <= digits and "_" not in cell:
            return float(Fraction(cell)) if below else value
    return math.nan


def write_channel(channel: Channel, path: FilePath) -> Path:
    """Write a channel as a CSV matrix that :func:`read_channel` reads, with its labels.

    Integer weights are written as fractions, so that nothing is lost.

    Parameters
    ----------
    channel
        A channel whose matrix fits.
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_channel(rational([["2/3", "1/3"]]), Path(folder, "one.csv"))
    ...     read_channel(written).weights.tolist()
    [[2, 1]]
    """
    write_text(path, channel_text(channel))
    return Path(path)


def channel_text(channel: Channel) -> str:
    """Return the CSV matrix of a channel, as :func:`write_channel` writes it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["", *map(str, channel.outputs)])
    for label, row in zip(channel.inputs, channel.exact_rows(), strict=True):
        writer.writerow([str(label), *map(str, row)])
    return buffer.getvalue()
