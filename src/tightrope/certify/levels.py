r"""Mechanisms too large to list, as a rule in integers.

:math:`W[i,o] = w_{d(i,o)} Z_o` with falling integer levels :math:`w_0 \ge w_1 \ge \dots` and
:math:`d(i,o) = \max_k \lceil |i_k - o_k| / s_k \rceil`. An edge changes d by at most r, and
:math:`w_{d+r} = \lceil w_d\, q/p \rceil`, so every column satisfies
:math:`w_d\, q \le w_{d+r}\, p` exactly. Where the powers of :math:`\alpha` would vanish, the
levels stay at a small constant instead. What a row lacks to :math:`2^{bits}` is a private column
of its own, added to one output.

Scaled Φ has steps as wide as its edges (r = 1); the geometric mechanism has steps of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.container import Damaged
from tightrope.certify.neighbours import NODE_LIMIT, box_sums
from tightrope.certify.rounding import MOVED_LIMIT
from tightrope.channels import Channel, GeometricChannel, ScaledPhi
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, TooLarge

#: Logarithm of the first level.
LEVEL_BITS = 60
#: The sum of all factors stays below two to this.
FACTOR_BITS = 61


@dataclass(frozen=True)
class Levels:
    """The integers of a rule.

    Attributes
    ----------
    steps
        How far one level reaches along each coordinate.
    levels
        The weights by distance; the last one goes on for ever.
    factors
        One for each output.
    rest
        The output that takes what a row lacks.
    bits
        Logarithm of the total.
    moved
        The largest share of probability that is not where the floats had it.

    Examples
    --------
    >>> Levels((1,), (2, 1), np.array([1, 1]), 0, 2, 0.0).levels
    (2, 1)
    """

    steps: tuple[int, ...]
    levels: tuple[int, ...]
    factors: NDArray[Any]
    rest: int
    bits: int
    moved: float


def level_table(
    ratio: Fraction, reach: int, alpha: float, most: int, bits: int = LEVEL_BITS
) -> tuple[int, ...]:
    r"""Return falling integers with :math:`w_d\,q \le w_{d+r}\,p`, from :math:`2^{bits}` down.

    Parameters
    ----------
    ratio
        The largest ratio p/q over one edge.
    reach
        The number r of levels that one edge can cross.
    alpha
        The wanted factor from one level to the next.
    most
        No distance is larger than this.
    bits
        Logarithm of the first level.

    Examples
    --------
    >>> level_table(Fraction(2), 1, 0.5, 100)[:2], level_table(Fraction(2), 1, 0.5, 100)[-2:]
    ((1152921504606846976, 576460752303423488), (2, 1))
    """
    p, q = ratio.numerator, ratio.denominator
    table = [round(Fraction(alpha**d) * 2**bits) for d in range(reach)]
    while len(table) <= most:
        table.append(-(-table[-reach] * q // p))
        if table[-1] == table[-1 - reach]:
            break
    # The last level goes on for ever, so it needs to stand there once only.
    return tuple(table[: table.index(table[-1]) + 1])


def levels_of(
    channel: Channel, box: list[list[int]], epsilon: Epsilon, power: int = 0
) -> Levels | None:
    """Return the rule of a channel on a box, or ``None`` when it has no such rule.

    Losses may grow with this power of the distance: rounding then counts that much more, and the
    numbers have as many more binary places.

    Examples
    --------
    >>> found = levels_of(GeometricChannel(5000, "ln(2)"), [[5000, 1]], Epsilon.of("ln(2)"))
    >>> found.steps, found.bits, found.moved < 1e-12
    ((1,), 110, True)
    """
    if channel.shape[0] > NODE_LIMIT:
        raise TooLarge(f"{channel.shape[0]} answers are more than a mechanism file can prove")
    if channel.shape[0] == 1 or getattr(channel, "epsilon", None) != epsilon:
        return None
    if isinstance(channel, ScaledPhi):
        own, spare, units = _box(channel), 0, 0.0
        if own != box:
            return None
        steps = tuple(width for _, width in box)
        reach, alpha, mass = 1, epsilon.alpha, float(channel.scale.sum())
        factors = _rounded(channel.scale)
        most = max(-(-(size - 1) // width) for size, width in box)
    elif isinstance(channel, GeometricChannel) and len(box) == 1 and box[0][1] == channel.width:
        steps, reach, alpha = (1,), channel.width, channel.ratio
        mass, most = channel.column_maxima_sum(), channel.size - 1
        spare, units, factors = 0, 0.0, _rounded(channel.column_maxima())
        if channel.width == 1:
            spare, factors = power * most.bit_length(), _on_path(channel.size, epsilon.ratio)
            # Rounding down leaves less than one unit for each output in reach.
            units = 3 / (channel.column_maxima().min() * (1 - alpha))
    else:
        return None
    table = level_table(epsilon.ratio, reach, alpha, most, LEVEL_BITS + spare)
    try:
        return _fill(box, steps, table, factors, mass, epsilon.ratio, units)
    except Damaged:
        raise TooLarge(
            f"{len(table)} levels for {channel.shape[0]} answers are more than a checker will "
            "add up: take a larger ε"
        ) from None


def _rounded(scale: NDArray[np.float64]) -> Callable[[Fraction], NDArray[Any]]:
    return lambda unit: np.floor(scale * float(unit)).astype(np.int64)


def _on_path(size: int, ratio: Fraction) -> Callable[[Fraction], NDArray[Any]]:
    """Geometric noise on a path has two factors, p/(p+q) at the ends and (p-q)/(p+q) between."""
    outer, inner = ratio / (ratio + 1), (ratio - 1) / (ratio + 1)

    def factors(unit: Fraction) -> NDArray[Any]:
        found = np.full(size, int(outer * unit))
        found[1:-1] = int(inner * unit)
        return found

    return factors


def _box(channel: ScaledPhi) -> list[list[int]] | None:
    from tightrope.certify.encode import box_of

    return box_of(channel.graph)


def _fill(
    box: list[list[int]],
    steps: tuple[int, ...],
    table: tuple[int, ...],
    factors_of: Callable[[Fraction], NDArray[Any]],
    mass: float,
    ratio: Fraction,
    units: float,
) -> Levels | None:
    """Choose the factors so that the rest, of some units at first, is positive and flat."""
    first = table[0].bit_length() - 1
    bits = FACTOR_BITS + first - LEVEL_BITS - int(np.ceil(np.log2(mass + 1)))
    total = 1 << (first + bits)
    reserve = units * 2.0**-bits
    for _ in range(3):
        factors = factors_of((1 - Fraction(reserve)) * 2**bits)
        rest = total - box_sums(box, list(steps), list(table), factors)
        low, high = int(rest.min()), int(rest.max())
        if low >= 0 and high * ratio.denominator <= low * ratio.numerator:
            moved = high / total + 2.0 ** (1 - bits)
            at = int(factors.argmax())
            found = Levels(steps, table, factors, at, first + bits, moved)
            if moved > MOVED_LIMIT:
                break
            return found
        slack = float(1 - 1 / ratio)
        reserve += max(0.0, -low / total) + 3 * ((high - low) / total + 2.0**-bits) / slack
        if reserve > 4 * MOVED_LIMIT:
            break
    raise CheckFailed(
        f"the rows of this mechanism differ from 1 by {float(max(high, -low)) / total:.3g}: as "
        f"integers it would move more than {MOVED_LIMIT:g} of the probability"
    )
