"""Curves M(a) of privacy definitions, and of channels [D, Def 2.1.3]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tightrope.axioms import PrivacyBound
from tightrope.axioms.generic import likelihood_curve
from tightrope.channels import Channel
from tightrope.report.palette import BLACK, strokes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_bounds(
    bounds: Sequence[PrivacyBound],
    ax: Axes | None = None,
    *,
    channel: Channel | None = None,
    pair: tuple[int, int] = (0, 1),
) -> Axes:
    """Draw the upper and lower bound of privacy definitions, and what a channel does.

    With probability a of an event under one answer, a neighbour must give it a probability
    between m(a) and M(a).

    Parameters
    ----------
    bounds
        The definitions.
    ax
        Axes to draw on; new ones by default.
    channel
        A channel whose events are drawn too.
    pair
        The two neighbouring answers of the channel.

    Examples
    --------
    >>> from tightrope.axioms import ApproximateBound
    >>> plot_bounds([ApproximateBound("ln(3)")]).get_xlabel()
    'probability a of an event given the true answer'
    """
    from tightrope.report.files import new_axes

    axes = new_axes(5.6, 5.2) if ax is None else ax
    grid = np.linspace(0, 1, 401)
    for bound, stroke in zip(bounds, strokes(len(bounds)), strict=True):
        upper = [float(bound(float(a))) for a in grid]
        lower = [float(bound.lower(float(a))) for a in grid]
        axes.fill_between(grid, lower, upper, color=stroke.colour, alpha=0.10, linewidth=0)
        axes.plot(
            grid, upper, color=stroke.colour, linestyle=stroke.dash, label=bound.name,
            marker=stroke.marker, markevery=50, markersize=4,
        )  # fmt: skip
        axes.plot(grid, lower, color=stroke.colour, linestyle=stroke.dash)
    if channel is not None:
        _, first, second = likelihood_curve(channel, *pair)
        axes.plot(
            [0.0, *map(float, first)], [0.0, *map(float, second)], color=BLACK, linewidth=2,
            marker=".", label=f"channel, answers {pair[0]} and {pair[1]}",
        )  # fmt: skip
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    axes.set_xlabel("probability a of an event given the true answer")
    axes.set_ylabel("its probability given a neighbouring answer")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    return axes
