r"""Mechanisms on graphs where all answers look alike, as one list of integers.

:math:`W[i,o] = w_{d(i,o)}` on a cycle or a Hamming graph. Every row has :math:`n_d` outputs at
distance d, so every row sums to :math:`\sum_d n_d w_d`. With :math:`w_{d+1} = \lceil w_d\,q/p
\rceil` from :math:`w_1` on and :math:`w_0` taking what is left to :math:`2^{bits}`, privacy and
sums hold exactly, however many answers there are: this is the exponential mechanism
[B, (17)] for :math:`4^{10}` databases in a few hundred bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tightrope.certify.neighbours import Graph
from tightrope.certify.rounding import MOVED_LIMIT
from tightrope.channels import Channel, ScaledPhi
from tightrope.epsilon import Epsilon
from tightrope.graphs import AnswerGraph

#: Binary places kept below the smallest probability that matters.
GUARD_BITS = 64
#: Longest list of levels; beyond it they have long become constant.
LEVEL_LIMIT = 1 << 17


@dataclass(frozen=True)
class Radial:
    """The integers of a radial rule.

    Attributes
    ----------
    levels
        The weights by distance; the last one goes on for ever.
    bits
        Logarithm of the total.
    moved
        The largest share of probability that is not where the floats had it.

    Examples
    --------
    >>> Radial((2, 1, 1), 2, 0.0).bits
    2
    """

    levels: tuple[int, ...]
    bits: int
    moved: float


def symmetric_of(graph: AnswerGraph) -> tuple[str, list[int]] | None:
    """Return the kind and sizes of a cycle or a Hamming graph, else ``None``.

    >>> from tightrope.graphs import CartesianProduct, Clique, Cycle
    >>> symmetric_of(Cycle(7)), symmetric_of(CartesianProduct([Clique(4)] * 2))
    (('cycle', [7]), ('hamming', [4, 4]))
    """
    if graph.is_ring:
        return "cycle", [graph.size]
    if graph.product == "cartesian" and all(f.is_clique for f in graph.factors):
        sizes = [factor.size for factor in graph.factors]
        return ("hamming", sizes) if min(sizes) > 1 else None
    return None


def radial_of(channel: Channel, graph: Graph, epsilon: Epsilon) -> Radial | None:
    """Return the rule of a scaled Φ with one scale on a symmetric graph, else ``None``.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.graphs import Cycle
    >>> ring = Graph(6, None, np.zeros((0, 2), int), np.zeros(0, int))
    >>> ring.symmetric = ("cycle", [6])
    >>> found = radial_of(ScaledPhi(Cycle(6), "ln(2)", 8 / 21), ring, Epsilon.of("ln(2)"))
    >>> round(found.levels[0] / 2**found.bits, 9)
    0.380952381
    """
    if not isinstance(channel, ScaledPhi) or channel.epsilon != epsilon:
        return None
    if channel.constant_scale is None or channel.shape[0] != graph.nodes:
        return None
    p, q = epsilon.ratio.numerator, epsilon.ratio.denominator
    spheres = graph.spheres()
    fall = float(Fraction(q, p))
    mass = sum(count * fall**d for d, count in enumerate(spheres[:LEVEL_LIMIT]))
    bits = GUARD_BITS + int(mass).bit_length() + graph.nodes.bit_length()
    total = 1 << bits
    # A hair more than in floats for the level after the first, which takes what the others leave.
    start = Fraction(total) / Fraction(mass) * Fraction(q, p) * (1 + Fraction(1, 1 << 46))
    table = [0, -(-start.numerator // start.denominator)]
    while len(table) < min(len(spheres), LEVEL_LIMIT):
        table.append(-(-table[-1] * q // p))
        if table[-1] == table[-2]:
            break
    last = len(table) - 1
    others = sum(n * table[min(d, last)] for d, n in enumerate(spheres) if d)
    table[0] = total - others
    wanted = channel.constant_scale
    moved = abs(table[0] / total - wanted) * len(spheres) if last else 0.0
    return Radial(tuple(table), bits, moved) if moved <= MOVED_LIMIT else None
