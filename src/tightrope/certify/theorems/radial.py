r"""Radial weights: ``W[i,o] = w[d(i,o)]`` on rings and Hamming graphs.

*Theorem.* Let the levels w never rise, ``w[d]·q <= w[d+1]·p``, and ``Σ_d n_d·w[d] = 2^bits``
with n_d answers at distance d from any. Then rows sum to 2^bits and the weights are private.

*Proof.* An edge changes d by at most 1. All answers have as many answers at each distance, so
all rows have the same sum. ∎
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.format import WEIGHTS, Array, Contents, need, registered
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.theorems.levels import LEVELS, WeightsByDistance


@registered(WEIGHTS, "radial")
class RadialWeights(WeightsByDistance):
    """Levels by distance alone, where an automorphism takes any answer to any other."""

    kind = "radial"
    fields: ClassVar = LEVELS

    def __init__(
        self, file: Contents, graph: Graph, answers: int | None = None
    ) -> None:
        super().__init__(file, graph, answers)
        # Only there all answers have the same spheres, and all rows the same sum.
        need(is_transitive(graph), "radial weights need a ring or a Hamming graph")

    def column(self, o: int) -> Array:
        """Return one column."""
        return self.levels_from(o)

    def row(self, i: int) -> Array:
        """Return one row: distances are symmetric."""
        return self.levels_from(i)

    def faults(self) -> Iterator[str]:
        """Yield levels that fall too much, and another sum of every row."""
        yield from self.steep_levels(1)
        last = len(self.levels) - 1
        spheres = enumerate(sphere_sizes(self.graph))
        total = sum(count * self.levels[min(d, last)] for d, count in spheres)
        if total != self.total:
            yield f"total: every row sums to {total}, which is {total - self.total:+d} off"

    def common_loss(self, consumer: StatedConsumer) -> Fraction | None:
        """Return the binary loss, the same for all answers: 1 less the first level."""
        if consumer.remapped or not consumer.binary:
            return None
        return 1 - Fraction(self.levels[0], self.total)


def is_transitive(graph: Graph) -> bool:
    """Whether an automorphism takes any answer to any other: rings and Hamming graphs."""
    cliques = all(width >= size - 1 for size, width in graph.sides)
    return graph.form == "ring" or (graph.form == "product" and cliques)


def sphere_sizes(graph: Graph) -> list[int]:
    """Return how many answers lie at distance 0, 1, 2, … from any.

    >>> sphere_sizes(Graph("product", 8, ((2, 1),) * 3))
    [1, 3, 3, 1]
    """
    if graph.form == "ring":
        return [int(x) for x in np.bincount(graph.distances_from(0))]
    sizes = [1]
    # One more coordinate: the same, or one of size - 1 others.
    for size, _ in graph.sides:
        more = [0, *(count * (size - 1) for count in sizes)]
        sizes = [a + b for a, b in zip([*sizes, 0], more, strict=True)]
    return sizes
