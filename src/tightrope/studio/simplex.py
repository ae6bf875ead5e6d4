"""The triangle of priors over three answers: where a point lies, and the picture of it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from fractions import Fraction

#: The paper and the corners of the triangle on it, one for each answer.
WIDTH, HEIGHT = 420, 370
CORNERS = ((210.0, 30.0), (30.0, 330.0), (390.0, 330.0))
#: A dragged point is put on a grid of this many parts.
PARTS = 100


def place_of(shares: Sequence[float]) -> tuple[float, float]:
    """Return the point of a prior.

    >>> place_of([1, 0, 0])
    (210.0, 30.0)
    """
    x = sum(share * corner[0] for share, corner in zip(shares, CORNERS, strict=True))
    y = sum(share * corner[1] for share, corner in zip(shares, CORNERS, strict=True))
    return x, y


def prior_at(x: float, y: float) -> str:
    """Return the prior at a point as text, on a grid of hundredths; at the border when outside.

    >>> prior_at(210, 30), prior_at(210, 230), prior_at(0, 1000)
    ('1,0,0', '33/100,33/100,17/50', '0,1,0')
    """
    (ax, ay), (bx, by), (cx, cy) = CORNERS
    whole = (by - cy) * (ax - cx) + (cx - bx) * (ay - cy)
    first = ((by - cy) * (x - cx) + (cx - bx) * (y - cy)) / whole
    second = ((cy - ay) * (x - cx) + (ax - cx) * (y - cy)) / whole
    one = min(max(round(PARTS * first), 0), PARTS)
    two = min(max(round(PARTS * second), 0), PARTS - one)
    return weights_text([one, two, PARTS - one - two])


def weights_text(weights: Sequence[int]) -> str:
    """Return whole weights as probabilities; empty when there is no weight at all.

    >>> weights_text([1, 3]), weights_text([0, 0])
    ('1/4,3/4', '')
    """
    total = sum(weights)
    return ",".join(str(Fraction(weight, total)) for weight in weights) if total else ""


def simplex_svg(
    shares: Sequence[float], corners: Sequence[Sequence[float]], names: Sequence[str]
) -> str:
    """Return the picture: the simplex, the regular region, and the prior as a point.

    Parameters
    ----------
    shares
        The prior.
    corners
        The corner priors, between which the regular priors lie.
    names
        The answers.

    Examples
    --------
    >>> "<circle" in simplex_svg([1, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "abc")
    True
    """
    outer = " ".join(f"{x:.1f},{y:.1f}" for x, y in CORNERS)
    inner = " ".join("{:.1f},{:.1f}".format(*place_of(corner)) for corner in corners)
    x, y = place_of(shares)
    spots = ((210, 20, "middle"), (22, 352, "start"), (398, 352, "end"))
    texts = "".join(
        f'<text x="{a}" y="{b}" text-anchor="{anchor}">{html.escape(name[:18])}</text>'
        for (a, b, anchor), name in zip(spots, names, strict=True)
    )
    return (
        f'<polygon points="{outer}" fill="rgba(138,148,160,.12)" stroke="#8a94a0"/>'
        f'<polygon points="{inner}" fill="rgba(15,157,138,.35)" stroke="#0f9d8a"/>'
        f'{texts}<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="#D55E00" stroke="white" '
        'stroke-width="2"/>'
    )
