"""What many consumers lose with one mechanism, and what they would lose with their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tightrope.optimize import ManyDesign
from tightrope.report.palette import strokes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The longest name that stands level below its bars.
NAME_ACROSS = 12


def plot_regret(many: ManyDesign, ax: Axes | None = None) -> Axes:
    """Draw the loss of each consumer under the shared mechanism beside its own optimum.

    Parameters
    ----------
    many
        One mechanism for many consumers.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> from tightrope.consumers import Consumer
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.optimize import design_many
    >>> two = [Consumer.of(PathPower(3), prior="uniform", loss=l) for l in ("binary", "absolute")]
    >>> plot_regret(design_many(PathPower(3), "ln(2)", two)).get_ylabel()
    'expected loss'
    """
    from tightrope.report.files import new_axes

    axes = new_axes(max(4.8, 1.2 * len(many.consumers) + 2), 4.2) if ax is None else ax
    names = [who.name or f"consumer {k + 1}" for k, who in enumerate(many.consumers)]
    places = np.arange(len(names))
    own, shared = strokes(2)
    axes.bar(
        places - 0.2, many.optima, 0.4, color=own.colour, edgecolor="white", label="own mechanism"
    )
    axes.bar(
        places + 0.2, many.losses, 0.4, color=shared.colour, edgecolor="white",
        hatch=shared.hatch, label="shared mechanism",
    )  # fmt: skip
    for place, lost, regret in zip(places, many.losses, many.regrets, strict=True):
        axes.annotate(
            f"+{max(regret, 0.0):.2g}", (float(place) + 0.2, lost), ha="center", va="bottom",
            fontsize=8,
        )  # fmt: skip
    axes.set_xticks(places, names)
    if max(map(len, names)) > NAME_ACROSS or len(names) > 6:
        axes.tick_params("x", rotation=30)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axes.set_ylabel("expected loss")
    axes.set_title(f"{many.graph.name}, ε = {many.epsilon}: worst regret {many.worst_regret:.3g}")
    axes.margins(y=0.15)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes
