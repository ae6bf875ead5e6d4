r"""The envelope of the prior on a tree, for binary loss.

*Theorem.* On a tree whose edges have length 1 let v be the least vector with ``v >= π`` and
``v_h >= α·v_i`` on edges. Then no private mechanism guesses right with a probability above ``Σ_j
v_j·(1 - (deg_j - 1)·α)/(1 + α)``.

*Proof.* With Φ[i,h] = α^d(i,h) and y = Φ⁻¹v, seen from any k, ``Σ_i y_i·x_i = v_k·x_k + Σ (v_c -
α·v_p)·(x_c - α·x_p)/(1 - α²)`` over children c and parents p. For a private column no term is
negative, so ``π_k·x_k <= Σ_i y_i·x_i``. The sum of y is ``Σ_j v_j·z_j`` with z = Φ⁻¹1, which is
``z_j = (1 - (deg_j - 1)·α)/(1 + α)``. ∎

From the leaves to the root and back, rounded up: ⌈α·v⌉ is at most v, so what the way up made
true the way back keeps true.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.duals import CertificateKind
from tightrope.certify.kernel.format import (
    CERTIFICATES,
    Header,
    Sizes,
    need,
    need_work,
    registered,
)
from tightrope.certify.kernel.graphs import RootedTree


@registered(CERTIFICATES, "envelope")
class Envelope(CertificateKind):
    """Nothing but the number of bits: the judge computes the envelope."""

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return no section."""
        return {}

    @classmethod
    def lower_bound(cls, consumer: StatedConsumer) -> Fraction:
        """Raise the prior to its envelope; return the bound."""
        graph = consumer.graph
        alpha = consumer.alphas[0]
        one = consumer.binary and len(graph.lengths) == 1
        need(one, "certificate: an envelope is for binary loss and edges of length 1")
        need_work("the envelope of the prior", graph.nodes, 5000, 600 * graph.nodes)
        tree = RootedTree(graph)
        total = consumer.prior_total
        # ⌈π_i·2^bits⌉: v must not be below the prior.
        v = [
            -((-weight << consumer.bits) // total) for weight in consumer.prior.tolist()
        ]
        links = [(c, tree.parent[c]) for c in tree.order[1:]]
        # Children before parents, then parents before children: two passes reach the fixed point.
        for i, h in [*reversed(links), *((p, c) for c, p in links)]:
            v[h] = max(v[h], -(-v[i] * alpha >> 62))
        degree = np.bincount(
            np.array(links, np.int64).ravel(), minlength=graph.nodes
        ).tolist()
        right = sum(
            # 2^62·(1 - (deg_j - 1)·α), times v_j.
            x * ((1 << 62) - (many - 1) * alpha)
            for x, many in zip(v, degree, strict=True)
        )
        # Divide by (1 + α)·2^bits; the loss is 1 less the probability of a right guess.
        return 1 - Fraction(right, (1 << 62) + alpha << consumer.bits)
