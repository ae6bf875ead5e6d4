r"""From a matrix of floats to integer weights that are exactly private.

Solvers propose; integers are believed. With :math:`T = 2^{62}`:

1. :math:`W = \lfloor T' X \rfloor + c` for a :math:`T'` slightly below T. The constant c, a few
   thousand units, gives every constraint a slack of :math:`(1-q/p)\,c`, more than the rounding of
   floats can use up.
2. Where a constraint still fails (a solver's zeros beside non-zeros), the smallest column above
   that satisfies it: :math:`w_h \leftarrow \max(w_h, \lceil w_i\, q/p \rceil)` until nothing
   changes.
3. What a row then lacks to T goes to one output. T' is chosen so small that this rest hardly
   varies between rows, so it is a private column itself, and a sum of private columns is private.

How much probability moved is measured; more than ``MOVED_LIMIT`` is a refusal that names the
pair of rows that makes it necessary.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify.judge import MASK, Graph, breach_ends, compared, exceeds
from tightrope.channels import Channel, IntegerChannel
from tightrope.errors import CheckFailed, TooLarge

#: Largest share of probability that rounding may move in a row.
MOVED_LIMIT = 1e-9
#: Largest number of weights that are listed.
LISTED_WEIGHTS = 16_000_000
#: Logarithm of the total of a row.
ROW_BITS = 62
#: Numbers looked at together.
BLOCK = 1 << 21


@dataclass(frozen=True)
class Rounded:
    """Integer weights and what they cost.

    Attributes
    ----------
    weights
        One row for each answer; every row sums to ``2**bits``.
    bits
        Logarithm of the total.
    kept
        The columns of the channel that are outputs; those that never occur are left out.
    moved
        The largest share of probability that moved in a row.

    Examples
    --------
    >>> Rounded(np.array([[1, 3]]), 2, np.array([0, 1]), 0.0).bits
    2
    """

    weights: NDArray[Any]
    bits: int
    kept: NDArray[np.int64]
    moved: float


def round_channel(channel: Channel, graph: Graph, ratios: list[Fraction]) -> Rounded:
    """Return integer weights with ``W[i,o]·q <= W[h,o]·p`` on every edge.

    Parameters
    ----------
    channel
        The proposal. Integer weights with a power of two as total are taken as they are.
    graph
        Who is whose neighbour, and which ratio binds them.
    ratios
        The largest ratios allowed.

    Examples
    --------
    >>> half = Channel([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    >>> pair = Graph("list", 2, (), np.array([[0, 1]]), np.zeros(1, int))
    >>> found = round_channel(half, pair, [Fraction(2)])
    >>> found.weights.sum(axis=1).tolist() == [2**62] * 2, found.moved < 1e-14
    (True, True)
    >>> round_channel(Channel([[1.0, 0.0], [0.5, 0.5]]), pair, [Fraction(2)])
    Traceback (most recent call last):
    ...
    tightrope.errors.CheckFailed: not private: output 1 has probability 0.5 in row 1 and 0 in the
    neighbouring row 0, a ratio of inf where 2 is allowed
    """
    if channel.shape[0] * channel.shape[1] > LISTED_WEIGHTS:
        raise TooLarge(
            f"{channel.shape[0]} × {channel.shape[1]} weights are more than {LISTED_WEIGHTS}: "
            "only mechanisms with a rule can be this large"
        )
    if isinstance(channel, IntegerChannel):
        breach = _worst(channel.weights, graph, ratios, channel.total)
        if breach:
            raise CheckFailed(breach)
        if channel.total & (channel.total - 1) == 0:
            kept = np.flatnonzero((channel.weights > 0).any(axis=0))
            bits = channel.total.bit_length() - 1
            return Rounded(channel.weights[:, kept], bits, kept, 0.0)
    wanted = channel.matrix()
    kept = np.flatnonzero(wanted.max(axis=0) > 0)
    wanted = wanted[:, kept]
    total = 1 << ROW_BITS
    # The slack of a tight constraint is 1-q/p of the constant; the cap keeps it harmless. The
    # rounding of a product of floats can cost 2^11 units.
    least = min(float(1 - 1 / ratio) for ratio in ratios)
    constant = int(min(2**11 / max(least, 1e-9), 1e-11 * total / len(kept))) + 1
    reserve = 0
    weights = _floor(wanted, total, constant)
    for attempt in range(8):
        _close(weights, graph, ratios)
        sums = weights.sum(axis=1, dtype=object)
        spread = int(sums.max() - sums.min())
        if reserve and _flat_enough(total - sums, graph, ratios):
            break
        # ρ may vary by (p-q)/q of itself; twice that and more, because the next rounding differs.
        noise = 16 * 4**attempt * len(kept)
        reserve += int(2 * (spread + noise) / max(least, 1e-12)) + max(0, int(sums.max()) - total)
        if reserve > 4 * MOVED_LIMIT * total:
            break
        weights = _floor(wanted, total - max(reserve, 1), constant)
    rest = total - weights.sum(axis=1, dtype=object)
    at = int(wanted.sum(axis=0).argmax())
    weights[:, at] += np.where(rest > 0, rest, 0).astype(np.int64)
    moved = float(np.maximum(weights / total - wanted, 0).sum(axis=1).max())
    fits = moved <= MOVED_LIMIT and (weights.sum(axis=1, dtype=object) == total).all()
    if not fits or _worst(weights, graph, ratios, total):
        raise CheckFailed(
            _worst(wanted, graph, ratios, 1)
            or f"rounding to integers would move {moved:.3g} of the probability, more than "
            f"{MOVED_LIMIT:g}"
        )
    return Rounded(weights, ROW_BITS, kept, moved)


def _floor(wanted: NDArray[np.float64], total: int, constant: int) -> NDArray[np.int64]:
    return np.floor(wanted * float(total)).astype(np.int64) + constant


def _flat_enough(rest: NDArray[Any], graph: Graph, ratios: list[Fraction]) -> bool:
    return bool(rest.min() >= 0) and _worst(rest[:, None], graph, ratios, 1) is None


def _times(w: NDArray[np.int64], p: Any, q: Any) -> NDArray[np.int64]:
    """⌈w·q/p⌉ for w below 2^62, in two limbs when p and q fit into 31 bits."""
    if max(np.max(p), np.max(q)) > MASK:
        return np.asarray(-(-w.astype(object) * q // p), dtype=np.int64)
    low = (w & MASK) * q
    high = (w >> 31) * q + (low >> 31)
    low = (high % p << 31) + (low & MASK)
    return np.asarray((high // p << 31) - (-low // p))


def _close(weights: NDArray[np.int64], graph: Graph, ratios: list[Fraction]) -> None:
    """Raise entries until every constraint holds: the smallest private columns above."""
    p = np.array([ratio.numerator for ratio in ratios], object)
    q = np.array([ratio.denominator for ratio in ratios], object)
    if max(p.max(), q.max()) <= MASK:
        p, q = p.astype(np.int64), q.astype(np.int64)
    # Arcs in the order of their ends, with the cuts between different ends.
    both = np.concatenate([graph.edges, graph.edges[:, ::-1]])
    order = np.argsort(both[:, 1], kind="stable")
    start, which = both[order, 0], np.tile(graph.length, 2)[order, None]
    nodes, cuts = np.unique(both[order, 1], return_index=True)
    columns = np.arange(weights.shape[1])
    step = max(1, BLOCK // max(len(weights), len(both)))
    while len(columns):
        changed = []
        for part in (columns[at : at + step] for at in range(0, len(columns), step)):
            before = weights[:, part]
            some = before.copy()
            if graph.form != "list":
                some = np.maximum(some, _times(-graph.smallest_near(-before), p[0], q[0]))
            elif len(nodes):
                least = _times(before[start], p[which], q[which])
                some[nodes] = np.maximum(some[nodes], np.maximum.reduceat(least, cuts, axis=0))
            weights[:, part] = some
            changed.append(part[(some != before).any(axis=0)])
        columns = np.concatenate(changed)


def _worst(weights: NDArray[Any], graph: Graph, ratios: list[Fraction], total: int) -> str | None:
    """Describe the breach with the largest excess, or return nothing."""
    worst, said = 0.0, None
    for first, ends, a, b, which in compared(graph, weights):
        ratio = ratios[which]
        over = np.asarray(a, np.float64) - np.asarray(b, np.float64) * float(ratio)
        if a.dtype == np.float64:
            over[over <= 1e-15] = 0  # the rounding of floats
        else:
            bad = exceeds(a, b, ratio.numerator, ratio.denominator)
            over = np.where(bad, np.maximum(over, 1e-9), 0.0)
        k, o = map(int, np.unravel_index(int(over.argmax()), over.shape))
        if over[k, o] > worst:
            worst = float(over[k, o])
            i, h = breach_ends(graph, ends, k, a[:, o])
            one, other = (float(Fraction(weights[row, first + o]) / total) for row in (i, h))
            times = f"{one / other:.9g}" if other else "inf"
            said = (
                f"not private: output {first + o} has probability {one:.9g} in row {i} and "
                f"{other:.9g} in the neighbouring row {h}, a ratio of {times} where "
                f"{float(ratio):.9g} is allowed"
            )
    return said
