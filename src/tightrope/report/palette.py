"""Colours, dashes, markers and hatches that can be told apart without colour.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart, ordered from
dark to light, so that prints in black and white keep the order too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BLACK, BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = (
    "#000000", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7",
)  # fmt: skip

#: The map for amounts: even steps of brightness, also in print.
AMOUNTS = "cividis"
#: Colour and hatch of intervals where something exists.
SHADE, SHADE_HATCH = "#D9EAF4", "///"


@dataclass(frozen=True)
class Stroke:
    """How one of several curves is drawn.

    Examples
    --------
    >>> strokes(2)[1].marker
    's'
    """

    colour: str
    dash: Any
    marker: str
    hatch: str


_STROKES = (
    Stroke(BLUE, "-", "o", ""),
    Stroke(VERMILION, "--", "s", "///"),
    Stroke(GREEN, "-.", "^", "..."),
    Stroke(BLACK, ":", "D", "xxx"),
    Stroke(PURPLE, (0, (6, 1, 1, 1, 1, 1)), "v", "\\\\\\"),
    Stroke(ORANGE, (0, (1, 1)), "P", "+++"),
)


def strokes(count: int) -> tuple[Stroke, ...]:
    """Return so many strokes; they repeat after six.

    >>> len({stroke.dash for stroke in strokes(4)})
    4
    """
    return tuple(_STROKES[k % len(_STROKES)] for k in range(count))
