r"""Mechanisms too large to list, as rules in integers.

*Levels*: :math:`W[i,o] = w_{d(i,o)} Z_o` with falling integer levels :math:`w_0 \ge w_1 \ge \dots`
and :math:`d(i,o) = \max_k \lceil |i_k - o_k| / s_k \rceil`. An edge changes d by at most r, and
:math:`w_{d+r} = \lceil w_d\, q/p \rceil`, so every column satisfies
:math:`w_d\, q \le w_{d+r}\, p` exactly. Where the powers of :math:`\alpha` would vanish, the
levels stay at a small constant instead. What a row lacks to :math:`2^{bits}` is a private column
of its own, added to one output. Scaled Φ has steps as wide as its edges (r = 1); the geometric
mechanism has steps of 1.

*Radial*: :math:`W[i,o] = w_{d(i,o)}` on a cycle or a Hamming graph, where all answers look alike.
Every row has :math:`n_d` outputs at distance d, so every row sums to :math:`\sum_d n_d w_d`. With
:math:`w_{d+1} = \lceil w_d\,q/p \rceil` from :math:`w_1` on and :math:`w_0` taking what is left to
:math:`2^{bits}`, privacy and sums hold exactly, however many answers there are: this is the
exponential mechanism [B, (17)] for :math:`4^{10}` databases in a few hundred bytes.

*Lattice*: noise without ends, by the level of its second layer alone; see the judge's
``LatticeWeights``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.judge import Graph, Refused, box_sums, falling_levels, question_lattice
from tightrope.certify.question import graph_sides
from tightrope.certify.rounding import MOVED_LIMIT
from tightrope.channels import Channel, GeometricChannel, ScaledPhi
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, TooLarge
from tightrope.queries import Query

#: Logarithm of the first level; the sum of all factors stays below twice that power.
LEVEL_BITS = 60


@dataclass(frozen=True)
class RuleWeights:
    """The weights of a rule.

    Attributes
    ----------
    fields
        What the header says of the weights.
    factors
        One for each output; ``None`` for a radial rule.
    moved
        The largest share of probability that is not where the floats had it.
    """

    fields: dict[str, Any]
    factors: NDArray[Any] | None
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


def rule_weights(
    channel: Channel, graph: Graph, epsilon: Epsilon, power: int = 0
) -> RuleWeights | None:
    """Return the rule of a channel on a graph, or ``None`` when it has none.

    Losses may grow with this power of the distance: rounding then counts that much more, and the
    numbers have as many more binary places.

    Examples
    --------
    >>> line = Graph("box", 5000, ((5000, 1),))
    >>> found = rule_weights(GeometricChannel(5000, "ln(2)"), line, Epsilon.of("ln(2)"))
    >>> found.fields["steps"], found.fields["bits"], found.moved < 1e-12
    ([1], 110, True)
    >>> ring = Graph("ring", 6, ((6, 1),))
    >>> from tightrope.graphs import Cycle
    >>> found = rule_weights(ScaledPhi(Cycle(6), "ln(2)", 8 / 21), ring, Epsilon.of("ln(2)"))
    >>> round(found.fields["levels"][0] / 2 ** found.fields["bits"], 9)
    0.380952381
    """
    if graph.nodes == 1 or getattr(channel, "epsilon", None) != epsilon:
        return None
    if graph.form == "box":
        return _levels(channel, graph, epsilon, power)
    if graph.looks_alike and isinstance(channel, ScaledPhi) and channel.shape[0] == graph.nodes:
        return None if channel.constant_scale is None else _radial(channel, graph, epsilon)
    return None


def _levels(channel: Channel, graph: Graph, epsilon: Epsilon, power: int) -> RuleWeights | None:
    sides = graph.sides
    if channel.shape[0] > 1 << 23:
        raise TooLarge(f"{channel.shape[0]} answers are more than a mechanism file can prove")
    if isinstance(channel, ScaledPhi):
        if graph_sides(channel.graph) != ("box", sides):
            return None
        steps = [width for _, width in sides]
        reach, alpha, mass = 1, epsilon.alpha, float(channel.scale.sum())
        spare, units, factors = 0, 0.0, _rounded(channel.scale)
        most = max(-(-(size - 1) // width) for size, width in sides)
    elif isinstance(channel, GeometricChannel) and sides == ((channel.size, channel.width),):
        steps, reach, alpha = [1], channel.width, channel.ratio
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
        return _fill(graph, steps, table, factors, mass, epsilon.ratio, units)
    except Refused:
        raise TooLarge(
            f"{len(table)} levels for {channel.shape[0]} answers are more than a judge will "
            "add up: take a larger ε"
        ) from None


def _rounded(scale: NDArray[np.float64]) -> Callable[[Fraction], NDArray[Any]]:
    return lambda unit: np.floor(scale * float(unit)).astype(np.int64)


def _on_path(size: int, ratio: Fraction) -> Callable[[Fraction], NDArray[Any]]:
    """Geometric noise on a path has two factors, p/(p+q) at the ends and (p-q)/(p+q) between."""
    outer, inner = ratio / (ratio + 1), (ratio - 1) / (ratio + 1)

    def factors(unit: Fraction) -> NDArray[Any]:
        # NumPy takes a number of 64 bits for an unsigned one, which no section holds.
        wide = outer * unit >= 1 << 62
        found = np.full(size, int(outer * unit), dtype=object if wide else np.int64)
        found[1:-1] = int(inner * unit)
        return found

    return factors


def _fill(
    graph: Graph,
    steps: list[int],
    table: tuple[int, ...],
    factors_of: Callable[[Fraction], NDArray[Any]],
    mass: float,
    ratio: Fraction,
    units: float,
) -> RuleWeights:
    """Choose the factors so that the rest, of some units at first, is positive and flat."""
    first = table[0].bit_length() - 1
    bits = first + 1 - int(np.ceil(np.log2(mass + 1)))
    total = 1 << (first + bits)
    reserve = units * 2.0**-bits
    for _ in range(3):
        factors = factors_of((1 - Fraction(reserve)) * 2**bits)
        rest = total - box_sums(graph.sides, steps, table, factors)
        low, high = int(rest.min()), int(rest.max())
        if low >= 0 and high * ratio.denominator <= low * ratio.numerator:
            moved = high / total + 2.0 ** (1 - bits)
            if moved > MOVED_LIMIT:
                break
            fields = {
                "kind": "levels",
                "bits": first + bits,
                "levels": list(table),
                "steps": steps,
                "rest": int(factors.argmax()),
            }
            return RuleWeights(fields, factors, moved)
        slack = float(1 - 1 / ratio)
        reserve += max(0.0, -low / total) + 3 * ((high - low) / total + 2.0**-bits) / slack
        if reserve > 4 * MOVED_LIMIT:
            break
    raise CheckFailed(
        f"the rows of this mechanism differ from 1 by {float(max(high, -low)) / total:.3g}: as "
        f"integers it would move more than {MOVED_LIMIT:g} of the probability"
    )


def _radial(channel: ScaledPhi, graph: Graph, epsilon: Epsilon) -> RuleWeights | None:
    """Return the rule of a scaled Φ with one scale where all answers look alike."""
    assert channel.constant_scale is not None
    p, q = epsilon.ratio.numerator, epsilon.ratio.denominator
    spheres, most = graph.spheres(), 1 << 17  # by then the levels have long become constant
    fall = float(Fraction(q, p))
    mass = sum(count * fall**d for d, count in enumerate(spheres[:most]))
    bits = 64 + int(mass).bit_length() + graph.nodes.bit_length()
    total = 1 << bits
    # A hair more than in floats for the level after the first, which takes what the others leave.
    start = Fraction(total) / Fraction(mass) * Fraction(q, p) * (1 + Fraction(1, 1 << 46))
    table = [0, *falling_levels(ceil(start), p, q)][: min(len(spheres), most)]
    last = len(table) - 1
    others = sum(n * table[min(d, last)] for d, n in enumerate(spheres) if d)
    table[0] = total - others
    wanted = channel.constant_scale
    moved = abs(table[0] / total - wanted) * len(spheres) if last else 0.0
    fields = {"kind": "radial", "bits": bits, "levels": table}
    return RuleWeights(fields, None, moved) if moved <= MOVED_LIMIT else None


def lattice_weights(asked: Query, ratio: Fraction, core: int) -> dict[str, Any]:
    """Return the weights of noise on the lattice of a question: the level of the second layer.

    Everything beyond the last layer together weighs less than 2^-64 of a unit of loss.
    """
    lattice = replace(question_lattice(asked.text, asked.neighbours.value), core=core)
    p, q = ratio.numerator, ratio.denominator
    mass = bits = 128
    for _ in range(4):  # more layers need a larger box, and a larger box more layers
        reach = int(bits / math.log2(ratio)) + 2
        wide = lattice.around(reach) * lattice.largest("squared", reach) * (p // (p - q) + 1)
        bits = 80 + wide.bit_length() + (mass >> bits).bit_length()
        powers = [1 << bits]
        while powers[-1]:
            powers.append(powers[-1] * q // p)
        mass = sum(n * w for n, w in zip(lattice.layers(len(powers)), powers, strict=True))
    # The first layer takes what the others leave, which is hardly less than its share.
    less = 1 + Fraction(1, (mass >> bits) + 1 << 50)
    start = Fraction(1 << 2 * bits, mass) * Fraction(q, p) * less
    return {"kind": "lattice", "bits": bits, "start": ceil(start), "core": core}
