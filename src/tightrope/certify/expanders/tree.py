r"""Prices on a tree, expanded into multipliers: eliminate leaf to root.

Nothing here is trusted: the kernel checks the multipliers that come out.

What is left of ``π_i·loss(i,k) - λ_i`` at the leaves is sent towards one answer, the *root* of
the guess k. A surplus s at a node c is worth α·s at the next node p, because x_c >= α·x_p: the
multiplier p → c is s. A deficit s at c costs s/α at p, because x_p >= α·x_c: the multiplier c →
p is s/α. If nothing is short at the root, the condition of the guess holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import (
    BITS,
    WEIGHT,
    Arcs,
    CertificateKind,
    MultiplierKind,
    Shortfalls,
)
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Array,
    Header,
    Sizes,
    need_work,
    registered,
)
from tightrope.certify.kernel.graphs import RootedTree


@registered(CERTIFICATES, "tree")
class TreePrices(MultiplierKind):
    """Prices, and the root of each guess."""

    fields: ClassVar = BITS | WEIGHT

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return prices and roots."""
        prices = CertificateKind.sections(header, nodes, guesses)
        return prices | {"places": (guesses, 0, nodes)}

    @classmethod
    def arcs_of(cls, consumer: StatedConsumer, prices: Array) -> Iterator[Arcs]:
        """Yield the multipliers of each guess, in units of 2^-bits over the scale."""
        for _, arcs, _ in eliminations(consumer, prices):
            start, end, value = zip(*arcs, strict=True) if arcs else ((), (), ())
            ends = np.array([start, end], np.int64)
            yield ends[0], ends[1], np.array(value, object)

    @classmethod
    def repairs(cls, consumer: StatedConsumer, prices: Array) -> Shortfalls:
        """Yield the answer that a deficit at a root comes from, and by how much it is short."""
        for k, _, (place, left) in eliminations(consumer, prices):
            if left < 0:
                short = np.array([-(left // consumer.scale)], object)
                yield k, np.array([place]), short


#: Start, end and value of a multiplier.
Arc = tuple[int, int, int]


def eliminations(
    consumer: StatedConsumer, prices: Array
) -> Iterator[tuple[int, list[Arc], tuple[int, int]]]:
    """Yield for each guess its multipliers, and a place with what is left there."""
    work = consumer.n * consumer.guesses * consumer.effort
    need_work("the conditions on a tree", work, 900)
    tree = TreeElimination(consumer.graph)
    # Conditions are compared in units of 2^-bits/scale, so that everything is an integer.
    owed = prices * consumer.scale
    share = consumer.prior * (1 << consumer.bits)
    for k, root in enumerate(consumer.file.section("places").tolist()):
        room = (share * consumer.losses(k) - owed).tolist()
        arcs, rest = tree.eliminate_to(root, room, consumer.alphas)
        yield k, arcs, rest


class TreeElimination(RootedTree):
    """A tree on which rooms are sent towards a root.

    >>> from tightrope.certify.kernel.graphs import Graph
    >>> path = TreeElimination(Graph("box", 3, ((3, 1),)))
    >>> path.eliminate_to(1, [4, -3, 4], [1 << 61])
    ([(1, 2, 4), (1, 0, 4)], (1, 1))
    """

    def eliminate_to(
        self, root: int, rooms: list[int], alphas: Sequence[int]
    ) -> tuple[list[Arc], tuple[int, int]]:
        """Return the multipliers, and the root with what is left there.

        A deficit is divided by α per edge. One that grows beyond all surpluses ends the
        elimination: it is returned with the node that it comes from.
        """
        left = rooms.copy()
        arcs: list[Arc] = []
        debtor = list(range(len(left)))
        # Later surpluses are no more than this: a larger deficit is never covered.
        most = sum(x for x in left if x > 0)
        for c, p, which in self._steps_to(root):
            x = left[c]
            alpha = alphas[which]
            if x >= 0:
                # Rounded down: a surplus must never be overstated. α is in units of 2^-62.
                left[p] += x * alpha >> 62
                arcs.append((p, c, x))
            elif -x > most or not alpha:
                return arcs, (debtor[c], rooms[debtor[c]])
            else:
                # Rounded up to ⌈|x|/α⌉: a deficit must never be understated.
                more = -((x << 62) // alpha)
                left[p] -= more
                debtor[p] = debtor[c]
                arcs.append((c, p, more))
        return arcs, (root, left[root])

    def _steps_to(self, root: int) -> Iterator[tuple[int, int, int]]:
        """Yield each node but the root, the next one towards the root, and their length."""
        way = [root]
        while self.parent[way[-1]] >= 0:
            way.append(self.parent[way[-1]])
        turned = set(way)
        # Leaves first: reversed breadth-first order visits every child before its parent.
        for c in reversed(self.order):
            if c not in turned:
                yield c, self.parent[c], self.ratio[c]
        # Edges between node 0 and the new root are traversed against their orientation.
        for c, p in zip(way[-2::-1], way[:0:-1], strict=True):
            yield p, c, self.ratio[c]
