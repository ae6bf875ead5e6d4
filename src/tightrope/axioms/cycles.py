r"""No mechanism is universally optimal on a graph with a cycle [C, Thm 4.2].

On a shortest cycle :math:`C_m` two consumers with binary loss force incompatible mechanisms. The
first, uniform on the cycle, needs :math:`X_{io} = δα^{d(i,o)}`, which is maximally general there.
The second, uniform on three neighbours (two when m = 3), needs every column tight along them.
Whatever derives X is derived from X on the cycle, so it is enough that the second mechanism,
whose rows there are forced, is not derivable from X restricted to the same rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tightrope.axioms.refutation import Refutation
from tightrope.channels import IntegerChannel, is_private, rational
from tightrope.channels.derive import derivable
from tightrope.consumers import Loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph

#: Largest number of entries of a mechanism that is written out for the whole graph.
EXTENSION_LIMIT = 20_000
#: Largest number of nodes for which the labellings are made.
LABELLING_LIMIT = 200_000
#: Largest work of a proof: the length of the cycle squared times the bits of e^ε (half a minute).
PROOF_LIMIT = 200_000_000


def cycle_labelling(graph: AnswerGraph, cycle: tuple[int, ...]) -> tuple[int, ...]:
    """Label all nodes so that neighbours differ by at most 1 modulo the length [C, Claim 4.5].

    Parameters
    ----------
    graph
        The answer graph.
    cycle
        The nodes of a shortest cycle in order; node k of it gets label k.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> kite = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5)])
    >>> cycle_labelling(kite, (0, 1, 2, 3))
    (0, 1, 2, 3, 1, 2)
    """
    length = len(cycle)
    labels = np.full(graph.size, -1)
    labels[list(cycle)] = range(length)
    layer = [cycle[0]]
    left = graph.size - length
    for label in range(1, length):
        if not left:
            break
        following = {int(u) for node in layer for u in graph.neighbours(node) if labels[u] < 0}
        labels[list(following)] = label
        left -= len(following)
        layer = [cycle[label], *sorted(following)]
    labels[labels < 0] = length - 1
    return tuple(labels.tolist())


def neighbours_differ_by_one(
    graph: AnswerGraph, labels: tuple[int, ...], modulus: int | None = None
) -> bool:
    """Whether labels of neighbours differ by at most 1, modulo a number if one is given.

    >>> from tightrope.graphs import Cycle
    >>> neighbours_differ_by_one(Cycle(4), (0, 1, 2, 3), 4)
    True
    """
    edges, values = graph.edge_array(), np.asarray(labels)
    apart = np.abs(values[edges[:, 0]] - values[edges[:, 1]])
    if modulus is not None:
        apart = np.minimum(apart, modulus - apart)
    return bool((apart <= 1).all())


def refute_by_cycle(
    graph: AnswerGraph,
    cycle: tuple[int, ...],
    epsilon: Epsilon | float | Fraction | str,
    *,
    kind: str = "bayesian",
    loss: Loss | None = None,
) -> Refutation:
    r"""Prove that no mechanism is universally optimal on a graph with this shortest cycle.

    Everything is computed in fractions for the rational ratio of ε and checked: the labels, the
    privacy of both extended mechanisms, and the derivation that fails.

    Parameters
    ----------
    graph
        The answer graph, with edges of one length.
    cycle
        The nodes of a shortest cycle in order.
    epsilon
        The privacy level of one edge.
    kind
        ``"bayesian"`` [C, Thm 4.2]; ``"risk-averse"`` needs an odd cycle [C, Thm 3.4-3.6 for
        triangles]: there two neighbours are enough for the second consumer.
    loss
        A loss that is binary on the cycle; binary by default.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> proof = refute_by_cycle(Cycle(4), (0, 1, 2, 3), "ln(2)")
    >>> proof.optimal_losses, proof.derivation.derivable
    ((Fraction(5, 9), Fraction(4, 9)), False)
    """
    level, m = Epsilon.of(epsilon), len(cycle)
    if kind == "risk-averse" and m % 2 == 0:
        raise InputError(f"an even cycle refutes nothing for risk-averse consumers, got {m} nodes")
    alpha = 1 / level.ratio
    bits = alpha.numerator.bit_length() + alpha.denominator.bit_length()
    if m * m * bits > PROOF_LIMIT:
        raise TooLarge(
            f"a proof in fractions on a shortest cycle of {m} nodes would take too long at ε = "
            f"{level}: ask for a shorter cycle, or a level such as ln(2)"
        )
    ring = [min(k, m - k) for k in range(m)]
    whole = sum((alpha**d for d in ring), Fraction(0))
    around = [alpha**d / whole for d in ring]
    few = 2 if m == 3 or kind == "risk-averse" else 3
    # The other rows are needed only where the mechanism is extended to the whole graph.
    rows_made = m if graph.size * m <= EXTENSION_LIMIT else few
    first = [[around[(o - i) % m] for o in range(m)] for i in range(rows_made)]
    second = _line_rows(alpha, few)
    failed = derivable(rational(second), rational(first[:few]))
    if failed:
        raise CheckFailed("the derivation that must fail succeeded: please report this")
    # Two neighbours lose the same, so their worst loss is their average loss too.
    right = sum((second[i][i] for i in range(few)), Fraction(0))
    losses = (1 - 1 / whole, 1 - right / few)
    rows, mechanisms, labellings = _extended(graph, cycle, level, first, second)
    return Refutation(
        graph,
        (cycle, cycle[:few]),
        kind,
        Loss.binary(graph.size) if loss is None else loss,
        losses,
        mechanisms,
        rows,
        labellings,
        failed,
    )


def _line_rows(alpha: Fraction, nodes: int) -> list[list[Fraction]]:
    """Return the truncated geometric mechanism on two or three answers, outputs as guesses."""
    outer, inner = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
    tops = [outer, outer] if nodes == 2 else [outer, inner, outer]
    return [[tops[o] * alpha ** abs(i - o) for o in range(nodes)] for i in range(nodes)]


def _extended(
    graph: AnswerGraph,
    cycle: tuple[int, ...],
    level: Epsilon,
    first: list[list[Fraction]],
    second: list[list[Fraction]],
) -> tuple[tuple[int, ...], tuple[IntegerChannel, ...], tuple[tuple[int, ...], ...]]:
    """Extend both mechanisms to the whole graph by labels and check them there."""
    m = len(cycle)
    if graph.size > LABELLING_LIMIT:
        return (), (), ()
    round_labels = cycle_labelling(graph, cycle)
    short = np.full(graph.size, 1)
    short[cycle[0]] = 0
    if len(second) == 3:
        short[cycle[2]] = 2
    line_labels = tuple(short.tolist())
    if not neighbours_differ_by_one(graph, round_labels, m) or not neighbours_differ_by_one(
        graph, line_labels
    ):
        raise CheckFailed(f"the nodes {cycle} are not a shortest cycle of {graph.name}")
    labellings = (round_labels, line_labels)
    if graph.size * m > EXTENSION_LIMIT:
        return (), (), labellings
    mechanisms = []
    for rows, labels in ((first, round_labels), (second, line_labels)):
        outputs = [graph.label(node) for node in cycle[: len(rows)]]
        made = rational([rows[k] for k in labels], inputs=graph.labels, outputs=outputs)
        # One level for an edge, whatever its length: the caller has scaled it.
        if not _private_by_labels(made, graph, level):
            raise CheckFailed("an extended mechanism is not private: please report this")
        mechanisms.append(made)
    return tuple(range(graph.size)), tuple(mechanisms), labellings


def _private_by_labels(channel: IntegerChannel, graph: AnswerGraph, level: Epsilon) -> bool:
    if not graph.has_lengths:
        return bool(is_private(channel, graph, level))
    from tightrope.graphs import ExplicitGraph

    return bool(is_private(channel, ExplicitGraph(graph.edge_array(), size=graph.size), level))
