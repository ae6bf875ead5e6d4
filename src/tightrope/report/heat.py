"""Heat maps of channels: rows are true answers, columns are reported outputs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tightrope.channels import Channel
from tightrope.report.graphs import short_label
from tightrope.report.palette import AMOUNTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most rows and columns that are drawn; of a larger channel evenly spread ones.
DRAWN = 300
#: Most rows and columns with a number in each cell, and with a label at each.
NUMBERED, LABELLED = 10, 25
#: Most characters that stand beside each other below the map; more of them are turned.
WRITTEN_ACROSS = 85
#: Largest denominator of a fraction that is written into a cell.
DENOMINATOR = 100


def plot_channel(
    channel: Channel, ax: Axes | None = None, *, fractions: bool = False, title: str | None = None
) -> Axes:
    """Draw a channel as a heat map, with numbers in the cells when there are few.

    Parameters
    ----------
    channel
        What to draw; of more than ``DRAWN`` rows or columns, evenly spread ones.
    ax
        Axes to draw on; new ones by default.
    fractions
        Whether the numbers are written as fractions where these are short.
    title
        Text above; the size of the channel by default.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> plot_channel(GeometricChannel(4, "ln(2)")).get_xlabel()
    'reported output'
    """
    from tightrope.report.files import new_axes

    axes = new_axes(6.4, 5.2) if ax is None else ax
    rows, columns = (_spread(size) for size in channel.shape)
    values = np.array([channel.row(int(i))[columns] for i in rows])
    image = axes.imshow(values, cmap=AMOUNTS, vmin=0, aspect="auto", interpolation="nearest")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.9)
    bar.set_label("probability")
    few = values.size <= NUMBERED**2 and len(values) <= 2 * NUMBERED and values.shape[1] <= NUMBERED
    if few:
        _write_numbers(axes, values, fractions)
    _write_ticks(axes, channel, rows, columns)
    axes.set_xlabel("reported output")
    axes.set_ylabel("true answer")
    whole = f"{channel.shape[0]:,} × {channel.shape[1]:,}"
    if len(rows) < channel.shape[0] or len(columns) < channel.shape[1]:
        whole += f", {len(rows)} × {len(columns)} of them drawn"
    axes.set_title(f"channel: {whole}" if title is None else title)
    return axes


def _spread(size: int) -> NDArray[np.int64]:
    if size <= DRAWN:
        return np.arange(size)
    return np.unique(np.linspace(0, size - 1, DRAWN).round().astype(np.int64))


def _write_numbers(axes: Axes, values: NDArray[np.float64], fractions: bool) -> None:
    dark = values < 0.5 * values.max()
    size = 10 if max(values.shape) <= 6 else 7
    for (i, o), value in np.ndenumerate(values):
        axes.text(
            o, i, _number(float(value), fractions), ha="center", va="center", fontsize=size,
            color="white" if dark[i, o] else "black",
        )  # fmt: skip


def _number(value: float, fractions: bool) -> str:
    near = Fraction(value).limit_denominator(DENOMINATOR)
    if fractions and abs(float(near) - value) < 1e-12:
        return str(near)
    return "0" if value == 0 else f"{value:.3f}".replace("0.", ".", 1)


def _write_ticks(
    axes: Axes, channel: Channel, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> None:
    from matplotlib.axis import Axis

    def write(axis: Axis, places: NDArray[np.int64], labels: list[str], turned: bool) -> None:
        step = max(1, -(-len(places) // LABELLED))
        chosen = range(0, len(places), step)
        axis.set_ticks(list(chosen), [labels[k] for k in chosen])
        if turned and len(chosen) * max(len(labels[k]) + 1 for k in chosen) > WRITTEN_ACROSS:
            axis.set_tick_params(rotation=90)

    write(axes.yaxis, rows, [short_label(channel.input_label(int(i))) for i in rows], False)
    write(axes.xaxis, columns, [short_label(channel.output_label(int(o))) for o in columns], True)
    axes.tick_params(labelsize=8)
