r"""Integer weights that are exactly private: a matrix of floats rounded, or a rule.

*Listed.* Solvers propose; integers are believed. With :math:`T = 2^{62}`:

1. :math:`W = \lfloor T' X \rfloor + c` for a :math:`T'` slightly below T. The constant c, a few
   thousand units, gives every constraint a slack of :math:`(1-q/p)\,c`, more than the rounding of
   floats can use up.
2. Where a constraint still fails (a solver's zeros beside non-zeros), the smallest column above
   that satisfies it: :math:`w_h \leftarrow \max(w_h, \lceil w_i\, q/p \rceil)` until nothing
   changes.
3. What a row then lacks to T goes to one output. T' is chosen so small that this rest hardly
   varies between rows, so it is a private column itself, and a sum of private columns is private.

How much probability moved is measured; more than ``MOVED_LIMIT`` is a refusal.

Mechanisms too large to list have a rule.

*Levels*: :math:`W[i,o] = w_{d(i,o)} Z_o` with falling integer levels :math:`w_0 \ge w_1 \ge \dots`
and :math:`d(i,o) = \max_k \lceil |i_k - o_k| / s_k \rceil`. An edge changes d by at most r, and
:math:`w_{d+r} = \lceil w_d\, q/p \rceil`, so every column satisfies
:math:`w_d\, q \le w_{d+r}\, p` exactly. Where the powers of :math:`\alpha` would vanish, the
levels stay at a small constant instead. What a row lacks to :math:`2^{bits}` is a private column
of its own, added to one output. Scaled Φ has steps as wide as its edges (r = 1); the geometric
mechanism has steps of 1.

*Radial*: :math:`W[i,o] = w_{d(i,o)}` on a cycle or a Hamming graph, where all answers are
equivalent by symmetry.
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

from tightrope.certify import judge
from tightrope.certify.mechanism import graph_sides
from tightrope.certify.theorems.unbounded import Layers
from tightrope.channels import Channel, GeometricChannel, IntegerChannel, ScaledPhi
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.lattices import Lattice
from tightrope.queries import Query

#: Largest share of probability that rounding may move in a row.
MOVED_LIMIT = 1e-9
#: Largest number of weights that are listed.
LISTED_WEIGHTS = 16_000_000


@dataclass(frozen=True)
class WholeWeights:
    """Integer weights as a file has them, and what they cost.

    Attributes
    ----------
    fields
        What the header says of the weights.
    sections
        The lists that belong to it: ``weights``, column by column, or ``factors`` of a rule.
    moved
        The largest share of probability that moved in a row.
    kept
        The columns of the channel that are outputs, ``None`` for all; those that never occur are
        left out.
    """

    fields: dict[str, Any]
    sections: dict[str, NDArray[Any]]
    moved: float
    kept: NDArray[np.int64] | None = None


def _listed(
    weights: NDArray[Any], bits: int, kept: NDArray[np.int64], moved: float
) -> WholeWeights:
    fields = {"kind": "dense", "bits": bits, "outputs": len(kept)}
    return WholeWeights(fields, {"weights": weights.T}, moved, kept)


def round_channel(
    channel: Channel, graph: judge.Graph, ratios: list[Fraction], *, bits: int = 62
) -> WholeWeights:
    """Return integer weights with ``W[i,o]·q <= W[h,o]·p`` on every edge.

    Parameters
    ----------
    channel
        The proposal. Integer weights with a power of two as total are taken as they are.
    graph
        Who is whose neighbour, and which ratio binds them.
    ratios
        The largest ratios allowed.
    bits
        Logarithm of the total of a row.

    Examples
    --------
    >>> half = Channel([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    >>> pair = judge.Graph("list", 2, (), np.array([[0, 1]]), np.zeros(1, int))
    >>> found = round_channel(half, pair, [Fraction(2)])
    >>> found.sections["weights"].sum(axis=0).tolist() == [2**62] * 2, found.moved < 1e-14
    (True, True)
    >>> round_channel(Channel([[1.0, 0.0], [0.5, 0.5]]), pair, [Fraction(2)])
    Traceback (most recent call last):
    ...
    tightrope.errors.CheckFailed: rounding to integers would move 0.25 of the probability, more
    than 1e-09
    """
    if channel.shape[0] * channel.shape[1] > LISTED_WEIGHTS:
        raise TooLarge(
            f"{channel.shape[0]} × {channel.shape[1]} weights are more than {LISTED_WEIGHTS}: "
            "only mechanisms with a rule can be this large"
        )
    if isinstance(channel, IntegerChannel):
        if not _private(channel.weights, graph, ratios):
            raise CheckFailed("the integers are not private as they stand")
        if channel.total.bit_count() == 1:
            return exact_weights(channel)
    wanted = channel.matrix()
    kept = np.flatnonzero(wanted.max(axis=0) > 0)
    wanted = wanted[:, kept]
    total = 1 << bits
    # The slack of a tight constraint is 1-q/p of the constant; the cap keeps it harmless. The
    # rounding of a product of floats can cost 2^11 units.
    least = min(float(1 - 1 / ratio) for ratio in ratios)
    constant = int(min(2**11 / max(least, 1e-9), 1e-11 * total / len(kept))) + 1
    reserve = 0
    noise = 16 * len(kept)
    most = 4 * MOVED_LIMIT * total
    while reserve <= most:
        weights = np.floor(wanted * float(total - reserve)).astype(np.int64) + constant
        _privacy_closure(weights, graph, ratios)
        sums = weights.sum(axis=1, dtype=object)
        spread = int(sums.max() - sums.min())
        rest = total - sums
        if reserve and rest.min() >= 0 and _private(rest[:, None], graph, ratios):
            break
        # ρ may vary by (p-q)/q of itself; twice that and more, because the next rounding differs.
        reserve += int(2 * (spread + noise) / max(least, 1e-12)) + max(
            0, int(sums.max()) - total
        )
        noise *= 4
    at = int(wanted.sum(axis=0).argmax())
    weights[:, at] += np.maximum(rest, 0).astype(np.int64)
    moved = float(np.maximum(weights / total - wanted, 0).sum(axis=1).max())
    # Where rows need a larger rest than is allowed, the last try may have moved less than that.
    share = reserve / total if reserve > most and moved <= MOVED_LIMIT else moved
    if share > MOVED_LIMIT:
        limit = f"more than {MOVED_LIMIT:g}"
        raise CheckFailed(
            f"rounding to integers would move {share:.3g} of the probability, {limit}"
        )
    return _listed(weights, bits, kept, moved)


def exact_weights(channel: Channel) -> WholeWeights:
    """Return the weights of a channel that has integers with rows of sum 2^b."""
    if not isinstance(channel, IntegerChannel) or channel.total.bit_count() != 1:
        raise InputError(
            "with δ the weights are taken as they are: integers with rows of sum 2^b"
        )
    kept = np.flatnonzero((channel.weights > 0).any(axis=0))
    return _listed(channel.weights[:, kept], channel.total.bit_length() - 1, kept, 0.0)


def _times(w: NDArray[np.int64], p: Any, q: Any) -> NDArray[np.int64]:
    """⌈w·q/p⌉ for w below 2^62, in two limbs when p and q fit into 31 bits."""
    if max(np.max(p), np.max(q)) > judge.MASK:
        return np.asarray(-(-w.astype(object) * q // p), dtype=np.int64)
    # Two limbs of 31 bits, w = high·2^31 + low: every product stays below 2^62.
    low = (w & judge.MASK) * q
    high = (w >> 31) * q + (low >> 31)
    # Long division by p in base 2^31; only the last quotient is rounded up, as -(-x // p).
    low = (high % p << 31) + (low & judge.MASK)
    return np.asarray((high // p << 31) - (-low // p))


def _privacy_closure(
    weights: NDArray[np.int64],
    graph: judge.Graph,
    ratios: list[Fraction],
    block: int = 1 << 21,
) -> None:
    """Raise entries until every constraint holds: the smallest private columns above.

    ``block`` numbers are looked at together.
    """
    p = np.array([ratio.numerator for ratio in ratios], object)
    q = np.array([ratio.denominator for ratio in ratios], object)
    if max(p.max(), q.max()) <= judge.MASK:
        p = p.astype(np.int64)
        q = q.astype(np.int64)
    # Arcs in the order of their ends, with the cuts between different ends.
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    order = np.argsort(both[:, 1], kind="stable")
    start = both[order, 0]
    which = np.tile(graph.length, 2)[order, None]
    nodes, cuts = np.unique(both[order, 1], return_index=True)
    columns = np.arange(weights.shape[1])
    step = max(1, block // max(len(weights), len(both)))
    # Only a changed column can change again. It ends: as ⌈w·q/p⌉ ≤ w, cycles raise nothing.
    while len(columns):
        changed = []
        for part in (columns[at : at + step] for at in range(0, len(columns), step)):
            before = weights[:, part]
            some = before.copy()
            if graph.form != "list":
                # The largest weight among neighbours, as the negated minimum of negated weights.
                some = np.maximum(
                    some, _times(-graph.smallest_near(-before), p[0], q[0])
                )
            elif len(nodes):
                least = _times(before[start], p[which], q[which])
                some[nodes] = np.maximum(
                    some[nodes], np.maximum.reduceat(least, cuts, axis=0)
                )
            weights[:, part] = some
            changed.append(part[(some != before).any(axis=0)])
        columns = np.concatenate(changed)


def _private(weights: NDArray[Any], graph: judge.Graph, ratios: list[Fraction]) -> bool:
    sides = (
        (a, b, ratios[which]) for _, _, a, b, which in judge.compared(graph, weights)
    )
    return not any(
        judge.exceeds(a, b, r.numerator, r.denominator).any() for a, b, r in sides
    )


#: Logarithm of the first level; the sum of all factors stays below twice that power.
LEVEL_BITS = 60


def rule_weights(
    channel: Channel, graph: judge.Graph, epsilon: Epsilon, power: int = 0
) -> WholeWeights | None:
    """Return the rule of a channel on a graph, or ``None`` when it has none.

    Losses may grow with this power of the distance: rounding then counts that much more, and the
    numbers have as many more binary places.

    Examples
    --------
    >>> line = judge.Graph("box", 5000, ((5000, 1),))
    >>> found = rule_weights(GeometricChannel(5000, "ln(2)"), line, Epsilon.of("ln(2)"))
    >>> found.fields["steps"], found.fields["bits"], found.moved < 1e-12
    ([1], 110, True)
    >>> ring = judge.Graph("ring", 6, ((6, 1),))
    >>> from tightrope.graphs import Cycle
    >>> found = rule_weights(ScaledPhi(Cycle(6), "ln(2)", 8 / 21), ring, Epsilon.of("ln(2)"))
    >>> round(found.fields["levels"][0] / 2 ** found.fields["bits"], 9)
    0.380952381
    """
    if graph.nodes == 1 or getattr(channel, "epsilon", None) != epsilon:
        return None
    if graph.form == "box":
        return _levels(channel, graph, epsilon, power)
    if (
        judge.is_transitive(graph)
        and isinstance(channel, ScaledPhi)
        and channel.shape[0] == graph.nodes
    ):
        scale = channel.constant_scale
        return None if scale is None else _radial(scale, graph, epsilon)
    return None


def _levels(
    channel: Channel, graph: judge.Graph, epsilon: Epsilon, power: int
) -> WholeWeights | None:
    sides = graph.sides
    if channel.shape[0] > 1 << 23:
        raise TooLarge(
            f"{channel.shape[0]} answers are more than a mechanism file can prove"
        )
    spare = 0
    units = 0.0
    if isinstance(channel, ScaledPhi) and graph_sides(channel.graph) == ("box", sides):
        # Scaled Φ has one level for each edge, of ratio q/p.
        steps = [width for _, width in sides]
        reach = 1
        alpha = epsilon.alpha
        most = max(-(-(size - 1) // width) for size, width in sides)
        scale = channel.scale
    elif isinstance(channel, GeometricChannel) and sides == (
        (channel.size, channel.width),
    ):
        # Geometric noise falls by α^(1/w) per answer: `reach` levels within one edge.
        steps = [1]
        reach = channel.width
        alpha = channel.ratio
        most = channel.size - 1
        scale = channel.column_maxima()
    else:
        return None
    mass = float(scale.sum())
    factors = _rounded(scale)
    if isinstance(channel, GeometricChannel) and channel.width == 1:
        # A loss may grow like a power of the distance: as many more bits keep it exact enough.
        spare = power * most.bit_length()
        factors = _on_path(channel.size, epsilon.ratio)
        # Rounding down leaves less than one unit for each output in reach.
        units = 3 / (scale.min() * (1 - alpha))
    first = [
        round(Fraction(alpha**d) * 2 ** (LEVEL_BITS + spare)) for d in range(reach)
    ]
    # After the first `reach` levels, each is q/p of the one `reach` before, rounded up.
    table = judge.falling_levels(first, epsilon.ratio, most)
    try:
        return _fill(graph, steps, table, factors, mass, epsilon.ratio, units)
    except judge.Refused:
        raise TooLarge(
            f"{len(table)} levels for {channel.shape[0]} answers are more than a judge will "
            "add up: take a larger ε"
        ) from None


def _rounded(scale: NDArray[np.float64]) -> Callable[[Fraction], NDArray[Any]]:
    return lambda unit: np.floor(scale * float(unit)).astype(np.int64)


def _on_path(size: int, ratio: Fraction) -> Callable[[Fraction], NDArray[Any]]:
    """Geometric noise on a path has two factors, p/(p+q) at the ends and (p-q)/(p+q) between."""
    outer = ratio / (ratio + 1)
    inner = (ratio - 1) / (ratio + 1)

    def factors(unit: Fraction) -> NDArray[Any]:
        # NumPy takes a number of 64 bits for an unsigned one, which no section holds.
        wide = outer * unit >= 1 << 62
        found = np.full(size, int(outer * unit), dtype=object if wide else np.int64)
        found[1:-1] = int(inner * unit)
        return found

    return factors


def _fill(
    graph: judge.Graph,
    steps: list[int],
    table: list[int],
    factors_of: Callable[[Fraction], NDArray[Any]],
    mass: float,
    ratio: Fraction,
    units: float,
) -> WholeWeights:
    """Choose the factors so that the rest, of some units at first, is positive and flat."""
    first = table[0].bit_length() - 1
    # mass · 2^bits ≤ 2^(first+1), so that sums of factors stay in range.
    bits = first + 1 - int(np.ceil(np.log2(mass + 1)))
    total = 1 << (first + bits)
    reserve = units * 2.0**-bits
    for _ in range(3):
        factors = factors_of((1 - Fraction(reserve)) * 2**bits)
        rest = total - judge.box_sums(graph.sides, steps, table, factors)
        low = int(rest.min())
        high = int(rest.max())
        # The rest is private if max·q ≤ min·p: this bounds any two rows, so also neighbours.
        if low >= 0 and high * ratio.denominator <= low * ratio.numerator:
            moved = high / total + 2.0 ** (1 - bits)
            if moved > MOVED_LIMIT:
                break
            fields = {
                "kind": "levels",
                "bits": first + bits,
                "levels": table,
                "steps": steps,
            }
            fields["rest"] = int(factors.argmax())
            return WholeWeights(fields, {"factors": factors}, moved)
        slack = float(1 - 1 / ratio)
        # A private rest may vary by (1 - q/p) of itself, so it must exceed spread / (1 - q/p).
        reserve += (
            max(0.0, -low / total) + 3 * ((high - low) / total + 2.0**-bits) / slack
        )
        if reserve > 4 * MOVED_LIMIT:
            break
    raise CheckFailed(
        f"the rows of this mechanism differ from 1 by {float(max(high, -low)) / total:.3g}: as "
        f"integers it would move more than {MOVED_LIMIT:g} of the probability"
    )


def _radial(scale: float, graph: judge.Graph, epsilon: Epsilon) -> WholeWeights | None:
    """Return the rule of a scaled Φ with one scale where all answers are equivalent by symmetry."""
    p = epsilon.ratio.numerator
    q = epsilon.ratio.denominator
    # by then the levels have long become constant
    spheres = judge.sphere_sizes(graph)
    most = 1 << 17
    fall = float(Fraction(q, p))
    # The sum of a row of Φ: Σ_d n_d·α^d with n_d answers at distance d.
    mass = sum(count * fall**d for d, count in enumerate(spheres[:most]))
    bits = 64 + int(mass).bit_length() + graph.nodes.bit_length()
    total = 1 << bits
    # A hair more than in floats for the level after the first, which takes what the others leave.
    start = (
        Fraction(total) / Fraction(mass) * Fraction(q, p) * (1 + Fraction(1, 1 << 46))
    )
    table = [0, *judge.falling_levels([ceil(start)], epsilon.ratio)][
        : min(len(spheres), most)
    ]
    last = len(table) - 1
    others = sum(n * table[min(d, last)] for d, n in enumerate(spheres) if d)
    # Every row has n_d answers at distance d, so one number makes all rows sum to 2^bits.
    table[0] = total - others
    moved = abs(table[0] / total - scale) * len(spheres) if last else 0.0
    fields = {"kind": "radial", "bits": bits, "levels": table}
    return WholeWeights(fields, {}, moved) if moved <= MOVED_LIMIT else None


def lattice_weights(
    asked: Query, ratio: Fraction, core: int, least_bits: int = 0
) -> dict[str, Any]:
    """Return the weights of noise on the lattice of a question: the level of the second layer.

    Everything beyond the last layer together weighs less than 2^-64 of a unit of loss. There are at
    least so many bits as are asked for.
    """
    lattice = replace(
        judge.question_lattice(asked.text, asked.neighbours.value), core=core
    )
    p = ratio.numerator
    q = ratio.denominator
    mass = bits = 128
    for _ in range(4):  # more layers need a larger box, and a larger box more layers
        # Layers beyond this reach have (q/p)^d < 2^-bits.
        reach = int(bits / math.log2(ratio)) + 2
        wide = (
            lattice.around(reach)
            * lattice.largest("squared", reach)
            * (p // (p - q) + 1)
        )
        needed = 80 + wide.bit_length() + (mass >> bits).bit_length()
        bits = max(needed, least_bits)
        powers = [1 << bits]
        # Rounded down to 0: any further layer weighs less than one unit.
        while powers[-1]:
            powers.append(powers[-1] * q // p)
        mass = sum(
            n * w for n, w in zip(lattice.layers(len(powers)), powers, strict=True)
        )
    # The first layer takes what the others leave, which is hardly less than its share.
    less = 1 + Fraction(1, (mass >> bits) + 1 << 50)
    start = Fraction(1 << 2 * bits, mass) * Fraction(q, p) * less
    return {"kind": "lattice", "bits": bits, "start": ceil(start), "core": core}


#: How many bits the layers of finer noise have more than those of the coarse noise before it: what
#: is flat far away must not outweigh what the coarse noise has there.
FINER_BITS = 32


def sharpened_weights(
    asked: Query, ratio: Fraction, coarse: judge.LatticeWeights
) -> dict[str, Any]:
    """Return the weights of finer noise on a line that follows coarse noise already published."""
    layers = lattice_weights(asked, ratio, 0, coarse.bits + FINER_BITS)
    layers["start"] = _even_start(
        coarse.lattice, ratio, layers["bits"], layers["start"]
    )
    named = {
        "ratio": str(coarse.ratio),
        "bits": coarse.bits,
        "start": coarse.levels[1],
    }
    return layers | {"kind": "sharpened", "coarse": named}


def _even_start(lattice: Lattice, ratio: Fraction, bits: int, start: int) -> int:
    """Return the level of the second layer that is q/p of what is left for the first, rounded up.

    Whoever derives coarse noise from it relies on its being geometric, also in the middle.
    """
    q = ratio.denominator
    p = ratio.numerator
    # One unit more takes 2p/(p-q) units from the first layer: all others grow in proportion.
    slope = Fraction(2 * p, p - q) + Fraction(p, q)

    def excess(of: int) -> Fraction:
        """Return what the first layer has more than p/q of the second."""
        return Layers(lattice, ratio, bits, of).levels[0] - of * Fraction(p, q)

    # Layers are rounded up one by one, so Newton's method ends a few units off.
    for _ in range(3):
        start += int(excess(start) / slope)
    while excess(start) > 0:
        start += 1
    return start
