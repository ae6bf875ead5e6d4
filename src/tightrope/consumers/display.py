"""How a prior shows itself in a notebook: a bar for each answer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tightrope.consumers.priors import Prior

#: Most answers that are shown.
SHOWN = 20


def prior_html(prior: Prior) -> str:
    """Return the first probabilities as bars, safe to put into a page.

    >>> from tightrope.consumers import Prior
    >>> prior_html(Prior([0.25, 0.75])).count("<tr>")
    2
    """
    size = prior.size
    rows = "".join(_row(i, float(prior[i]), prior.maximum) for i in range(min(size, SHOWN)))
    more = f"<tr><th>…</th><td>{size - SHOWN:,} more</td></tr>" if size > SHOWN else ""
    caption = escape(f"prior over {size:,} answers")
    return f"<table><caption>{caption}</caption>{rows}{more}</table>"


def _row(i: int, value: float, largest: float) -> str:
    bar = f"display:inline-block;height:.8em;width:{8 * value / largest:.2f}em;background:#0072B2"
    return f'<tr><th>{i}</th><td>{value:.4f}</td><td><span style="{bar}"></span></td></tr>'
