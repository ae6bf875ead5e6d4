"""How a channel shows itself in a notebook: a table, darker where probabilities are larger."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.channels.base import Channel

#: Most rows and columns that are shown.
SHOWN = 10


def channel_html(channel: Channel) -> str:
    """Return the first rows and columns as a shaded table, safe to put into a page.

    >>> from tightrope.channels import GeometricChannel
    >>> channel_html(GeometricChannel(3, "ln(2)")).count("<tr>")
    4
    """
    inputs, outputs = channel.shape
    columns = range(min(outputs, SHOWN))
    names = "".join(f"<th>{escape(str(channel.output_label(o)))}</th>" for o in columns)
    more = "<th>…</th>" if outputs > SHOWN else ""
    body = ""
    for i in range(min(inputs, SHOWN)):
        row = channel.row(i)
        cells = "".join(_cell(float(row[o])) for o in columns)
        rest = "<td>…</td>" if outputs > SHOWN else ""
        body += f"<tr><th>{escape(str(channel.input_label(i)))}</th>{cells}{rest}</tr>"
    if inputs > SHOWN:
        body += "<tr><th>…</th></tr>"
    caption = f"{inputs:,} inputs (rows), {outputs:,} outputs"
    return f"<table><caption>{caption}</caption><tr><th></th>{names}{more}</tr>{body}</table>"


def _cell(value: float) -> str:
    ink = "#fff" if value > 0.6 else "#000"
    shade = f"background:rgba(0,114,178,{min(max(value, 0.0), 1.0):.2f});color:{ink}"
    return f'<td style="{shade}">{value:.4f}</td>'
