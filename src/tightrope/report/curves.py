"""Curves over ε: utility and leakage, with the levels at which a mechanism exists shaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tightrope.consumers.regular import LeakageCurves
from tightrope.leakage import database_bound
from tightrope.mechanisms.tight import UtilityCurve
from tightrope.phi import Existence
from tightrope.report.palette import SHADE, SHADE_HATCH, strokes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_utility(
    curve: UtilityCurve, ax: Axes | None = None, *, existence: Existence | None = None
) -> Axes:
    """Draw the utility of the tight-constraints and the geometric mechanism [A, Fig 6].

    Parameters
    ----------
    curve
        The values.
    ax
        Axes to draw on; new ones by default.
    existence
        Where the tight-constraints mechanism exists: these levels are shaded.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.mechanisms.tight import utility_curve
    >>> plot_utility(utility_curve(PathPower(7, 2), [1.0, 1.5])).get_ylabel()
    'probability of a right guess (uniform prior)'
    """
    from tightrope.report.files import new_axes

    axes = new_axes() if ax is None else ax
    first, second = strokes(2)
    for values, stroke, name in (
        (curve.tight, first, "tight constraints"),
        (curve.geometric, second, "geometric noise"),
    ):
        axes.plot(
            curve.epsilons, values, linestyle=stroke.dash, color=stroke.colour, label=name,
            marker=stroke.marker, markevery=max(1, len(values) // 8), markersize=5,
        )  # fmt: skip
    if existence is not None:
        shade_existence(existence, axes)
    axes.set_xlabel("privacy level ε")
    axes.set_ylabel("probability of a right guess (uniform prior)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="best")
    return axes


def plot_leakage(
    curves: LeakageCurves, ax: Axes | None = None, *, existence: Existence | None = None
) -> Axes:
    """Draw the bounds on leakage for one prior and for all [A, Fig 4].

    Parameters
    ----------
    curves
        The values; where the prior is not regular its curve has a gap.
    ax
        Axes to draw on; new ones by default.
    existence
        Where the prior is regular: these levels are shaded.

    Examples
    --------
    >>> from tightrope.consumers.regular import leakage_curves
    >>> from tightrope.graphs import Clique
    >>> plot_leakage(leakage_curves([0.4, 0.3, 0.3], Clique(3), [0.2, 1.0])).get_ylabel()
    'leakage bound (bits)'
    """
    from tightrope.report.files import new_axes

    axes = new_axes() if ax is None else ax
    this = [math.nan if value is None else value for value in curves.this_prior]
    first, second = strokes(2)
    for values, stroke, name in (
        (curves.every_prior, second, "every prior"),
        (this, first, "this prior"),
    ):
        axes.plot(
            curves.epsilons, values, linestyle=stroke.dash, color=stroke.colour, label=name,
            marker=stroke.marker, markevery=max(1, len(curves.epsilons) // 8), markersize=5,
        )  # fmt: skip
    if existence is not None:
        shade_existence(existence, axes, name="prior is regular")
    axes.set_xlabel("privacy level ε")
    axes.set_ylabel("leakage bound (bits)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="best")
    return axes


def shade_existence(existence: Existence, ax: Axes, *, name: str = "mechanism exists") -> Axes:
    """Shade the levels at which something exists, within the limits of the axes.

    Parameters
    ----------
    existence
        The levels.
    ax
        Axes with curves over ε.
    name
        What the legend says.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.phi import exists
    >>> from tightrope.report.files import new_axes
    >>> axes = new_axes()
    >>> shade_existence(exists(PathPower(7, 2)), axes) is axes
    True
    """
    left, right = ax.get_xlim()
    label: str | None = name
    for low, high in existence.intervals:
        start, end = max(low, left), right if high is None else min(high, right)
        if start >= end:
            continue
        ax.axvspan(
            start, end, facecolor=SHADE, edgecolor="white", hatch=SHADE_HATCH, zorder=0,
            label=label, linewidth=0,
        )  # fmt: skip
        label = None
        for edge in (low, high):
            if edge is not None and left < edge < right:
                ax.axvline(edge, color="0.3", linewidth=0.8, linestyle=":")
    ax.set_xlim(left, right)
    return ax


def plot_database_bound(
    sizes: Sequence[tuple[int, int]], ax: Axes | None = None, *, highest: float = 8.0
) -> Axes:
    """Draw the bound on the leakage about a database against ε [B, Fig 8].

    Parameters
    ----------
    sizes
        Pairs (people, values of one person), one curve each.
    ax
        Axes to draw on; new ones by default.
    highest
        The largest ε.

    Examples
    --------
    >>> plot_database_bound([(1, 2), (10, 2)]).get_ylabel()
    'leakage bound (bits)'
    """
    from tightrope.report.files import new_axes

    axes = new_axes() if ax is None else ax
    levels = np.linspace(0, highest, 81)[1:]
    for (people, values), stroke in zip(sizes, strokes(len(sizes)), strict=True):
        bits = [database_bound(people, values, float(e)).bits for e in levels]
        who = "1 person" if people == 1 else f"{people} people"
        axes.plot(
            levels, bits, linestyle=stroke.dash, color=stroke.colour, marker=stroke.marker,
            markevery=10, markersize=5, label=f"{who}, {values} values",
        )  # fmt: skip
    axes.set_xlabel("privacy level ε")
    axes.set_ylabel("leakage bound (bits)")
    axes.set_xlim(0, highest)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return axes
