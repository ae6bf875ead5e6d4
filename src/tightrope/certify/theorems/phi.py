r"""A cover y of the prior by Φ[i,k] = α^d(i,k), for binary loss.

*Theorem.* Let y >= 0 have ``Σ_i y_i·α^d(i,k) >= π_k`` for all k. Then no private mechanism
guesses right with a probability above Σ y. The prices are -y, and the bound is 1 more than their
sum.

*Proof.* A private column has ``x_i >= α^d(i,k)·x_k``, so ``π_k·x_k <= Σ_i y_i·x_i``; added up
over the columns, each with its guess k, the right side is Σ y. ∎
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import Any, ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import BITS, CertificateKind, Shortfalls
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Array,
    Header,
    Sizes,
    flag,
    need,
    need_work,
    registered,
)
from tightrope.certify.kernel.graphs import Graph
from tightrope.certify.theorems.levels import box_sums, convolved
from tightrope.certify.theorems.radial import is_transitive, sphere_sizes


@registered(CERTIFICATES, "phi")
class PhiKind(CertificateKind):
    """-y for each answer, or one number where y is constant."""

    fields: ClassVar = BITS | {"constant": flag}

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the section of -y."""
        count = 1 if header["certificate"]["constant"] else nodes
        return {"prices": (count, -1 << 62, 1)}

    @classmethod
    def shortfalls(cls, consumer: StatedConsumer, prices: Array) -> Shortfalls:
        """Yield where y = -prices does not reach the prior; more at an answer itself cures it."""
        room = phi_room(consumer, (-prices).astype(np.int64))
        k = np.flatnonzero(room < 0)
        if len(k):
            # y_k covers k with weight 1 (at least 1 - 2^-62): raise it by the shortfall itself.
            short = -(room[k] // (((1 << 62) - 1) * consumer.prior_total))
            yield int(k[0]), k if len(prices) > 1 else k * 0, short

    @classmethod
    def price_bound(cls, consumer: StatedConsumer, prices: Array) -> Fraction:
        """Return 1 - Σ y, where one number is that of every answer."""
        times = consumer.n if len(prices) == 1 else 1
        return 1 + times * Fraction(sum(prices.tolist()), 1 << consumer.bits)


def phi_room(consumer: StatedConsumer, y: Array) -> Array:
    """Return ``Σ_i y_i·α^d(i,k) - π_k`` for all k, in units of 2^-62-bits of the prior's.

    Powers of α are rounded down to multiples of 2^-62, one after another, and a product is summed
    up coordinate by coordinate, rounded down each time. One number y stands for a constant; where
    all answers are equivalent by symmetry and the prior is uniform, one k stands for all.
    """
    graph = consumer.graph
    alpha = consumer.alphas[0]
    n = consumer.n
    one = consumer.binary and len(graph.lengths) == 1
    need(one, "certificate: phi is for binary loss and edges of length 1")
    alike = len(y) == 1 and is_transitive(graph)
    # α^d rounded down one after another: y is never credited with too much.
    powers = [1 << 62]
    if len(y) == 1 and not alike:
        y = np.full(n, int(y[0]))
    # No distance is longer than this: the last power goes on, if it is 0.
    longest = (
        max(len(graph.sides), *(size for size, _ in graph.sides)) if graph.sides else n
    )
    while powers[-1] and len(powers) <= longest:
        powers.append(powers[-1] * alpha >> 62)
    reached: Any
    if alike:
        # Every answer has the same spheres: Σ_i y·α^d(i,k) = y·Σ_d n_d·α^d.
        reached = int(y[0]) * sum(map(mul, sphere_sizes(graph), powers))
    elif graph.form == "box":
        powers = [powers[0] - 1, *powers[1:], 0]  # differences stay below 2^62
        reached = box_sums(graph.sides, [width for _, width in graph.sides], powers, y)
    elif graph.form == "product":
        reached = _product_sums(graph, alpha, y)
    elif graph.form == "ring":
        # α^d for d = 0 … n/2, with zeros where the powers have vanished.
        half = [*powers, *[0] * n][: n // 2 + 1]
        kernel = np.array([*half[:0:-1], *half], object)
        kernel[0] *= n % 2  # the opposite answer of an even ring is reached once
        # Unroll the ring: a cyclic convolution is a linear one on a periodic extension.
        around = np.concatenate([y[-(n // 2) :], y, y[: n // 2]]).astype(object)
        reached = convolved(kernel, around)[n // 2 : n // 2 + n]
    else:
        far = np.minimum(graph.all_distances, len(powers) - 1)
        need_work("the sums of phi", n * n, 150, 24 * n * n)
        reached = np.array(powers, object)[far] @ y.astype(object)
    prior = np.ones(1, object) if alike and consumer.uniform else consumer.prior
    return np.asarray(
        reached * consumer.prior_total - prior * (1 << (62 + consumer.bits))
    )


def _product_sums(graph: Graph, alpha: int, y: Array) -> Array:
    """Return ``2^62·Σ_i y_i·α^d(i,k)`` rounded down, where d is a sum over coordinates."""
    need_work("the sums of phi", graph.nodes * len(graph.sides), 800, 400 * graph.nodes)
    # α^d is a product over coordinates, so Φ is applied axis by axis (Kronecker product).
    found = y.astype(object).reshape([size for size, _ in graph.sides]) * (1 << 62)
    for axis, (size, width) in enumerate(graph.sides):
        lines = np.moveaxis(found, axis, 0)
        if width >= size - 1:
            # A clique: all other values are at distance 1.
            lines = lines + ((lines.sum(axis=0) - lines) * alpha >> 62)
        else:
            need(width == 1, "certificate: phi is for paths and cliques in a product")
            before = lines * 0
            behind = lines * 0
            for j in range(1, size):
                # A path: Σ_{i<j} α^(j-i)·y_i is a recurrence from both ends.
                before[j] = (before[j - 1] + lines[j - 1]) * alpha >> 62
                behind[-1 - j] = (behind[-j] + lines[-j]) * alpha >> 62
            lines = lines + before + behind
        found = np.moveaxis(lines, 0, axis)
    return found.ravel()
