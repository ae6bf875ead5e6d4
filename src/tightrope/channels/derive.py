r"""Is one channel derivable from another? A remap, or a reader who shows that it is not.

X is derivable from Y, :math:`X \preceq_G Y`, iff :math:`X = Y T` for a remap T [C, Def 2.3;
D, Def 3.1.2]. By linear programming duality the contrary has a witness too: a prior and a gain
function under which a reader of X gains strictly more than any reader of Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import Channel
from tightrope.channels.compare import reduced
from tightrope.channels.derivation import Derivation, Witness
from tightrope.channels.derive_exact import (
    completed_remap,
    exceeds,
    plain_no,
    proposed,
    refined,
    rounded_gains,
    tableau_decision,
    unique_remap,
)
from tightrope.channels.derive_search import search_remap
from tightrope.channels.integer import DeterministicChannel, IntegerChannel
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.exact import primitive

#: How far the rows of X may lie from those of Y·T, in total variation, when floats are compared.
DERIVATION_TOLERANCE = 1e-8
#: Up to this many answers or outputs a witness is solved for exactly, which keeps it short.
FEW_ANSWERS = 12
#: Entries of a tableau that is worked through in integers before anything else is tried.
SMALL_TABLEAU = 2_500
#: Largest number of entries of a remap that is searched for.
REMAP_LIMIT = 1_000_000


def derivable(
    first: Channel, second: Channel, *, tolerance: float = DERIVATION_TOLERANCE
) -> Derivation:
    r"""Decide whether :math:`X = Y T` for some remap T [C, Def 2.3; D, Def 3.1.2].

    Channels with integer weights are decided exactly, however close to the border. Where the
    columns of Y are independent T is unique and solved for; otherwise a search in floats
    proposes and integers decide.

    Parameters
    ----------
    first, second
        The channels X and Y, with the same inputs.
    tolerance
        For floats: how far X may lie from Y·T in total variation.

    Examples
    --------
    >>> near, far = IntegerChannel([[2, 1], [1, 2]]), IntegerChannel([[3, 1], [1, 3]])
    >>> derivable(near, far).remap.matrix().round(4).tolist()
    [[0.8333, 0.1667], [0.1667, 0.8333]]
    >>> derivable(far, near).witness.margin
    Fraction(1, 12)
    """
    if first.shape[0] != second.shape[0]:
        raise InputError(
            f"both channels must have the same inputs, got {first.shape[0]} and {second.shape[0]}"
        )
    if first.shape[1] * second.shape[1] > REMAP_LIMIT:
        raise TooLarge(
            f"a remap from {second.shape[1]} to {first.shape[1]} outputs would hold more than "
            f"{REMAP_LIMIT} entries"
        )
    if isinstance(first, _Exact) and isinstance(second, _Exact):
        return _in_integers(first, second)
    return _in_floats(first, second, tolerance)


@dataclass(frozen=True)
class Equivalence:
    """Whether two channels are equivalent: each derivable from the other [C, Def 2.3].

    Attributes
    ----------
    forth, back
        The derivation of the first from the second, and of the second from the first.

    Examples
    --------
    >>> bool(equivalent(IntegerChannel([[1, 2], [2, 1]]), IntegerChannel([[2, 1], [1, 2]])))
    True
    """

    forth: Derivation
    back: Derivation

    def __bool__(self) -> bool:
        return self.forth.derivable and self.back.derivable


def equivalent(
    first: Channel, second: Channel, *, tolerance: float = DERIVATION_TOLERANCE
) -> Equivalence:
    """Decide whether each of two channels is derivable from the other [C, Def 2.3].

    Parameters
    ----------
    first, second
        The channels.
    tolerance
        As for :func:`derivable`.

    Examples
    --------
    >>> split = IntegerChannel([[1, 2, 1], [2, 4, 6]][:1] + [[1, 2, 1]])
    >>> bool(equivalent(split, IntegerChannel([[1], [1]])))
    True
    """
    return Equivalence(
        derivable(first, second, tolerance=tolerance),
        derivable(second, first, tolerance=tolerance),
    )


# -- integers -----------------------------------------------------------------------------

_Exact = IntegerChannel | DeterministicChannel


def _in_integers(first: IntegerChannel | DeterministicChannel, second: Any) -> Derivation:
    x_all, y_all = _integer(first), _integer(second)
    x_small, y_small = reduced(x_all), reduced(y_all)
    x, y = _integer(x_small.channel), _integer(y_small.channel)
    decided, route = _decide(x, y)
    if isinstance(decided, tuple):
        weights, total = decided
        wide = _expanded(weights, total, x_all, x_small.groups, y_small.groups, y_all.shape[1])
        remap = IntegerChannel(wide[0], wide[1], inputs=y_all.outputs, outputs=x_all.outputs)
        if not _is_product(x_all, y_all, remap):
            raise CheckFailed("the remap found does not pass its own check: please report this")
        return Derivation(True, remap, None, True, 0.0, 0.0, route)
    witness = _exact_witness(decided, x_all, y_all)
    if witness.margin <= 0:
        raise CheckFailed("the witness found does not pass its own check: please report this")
    return Derivation(False, None, witness, True, float(witness.margin), 0.0, route)


def _decide(
    x: IntegerChannel, y: IntegerChannel
) -> tuple[tuple[NDArray[Any], int] | NDArray[Any], str]:
    """Return a remap with its total, or the gains of a witness, and the route taken."""
    if x.shape[1] == 1:
        return (np.ones((y.shape[1], 1), dtype=object), 1), "a single output"
    parts = (x.weights, y.weights, x.total, y.total)
    if min(x.shape) > FEW_ANSWERS:
        gains = plain_no(*parts)
        if gains is not None:
            return gains, "independent columns: one remap at most"
    single = unique_remap(x.weights.astype(object) * y.total, y.weights.astype(object))
    if isinstance(single, tuple):
        # The weights of y times the remap are those of x times both totals.
        return (single[0], single[1] * x.total), "independent columns: one remap at most"
    if single is not None:
        return single, "independent columns: one remap at most"
    small = tableau_decision(*parts, SMALL_TABLEAU)
    if small is not None:
        return small, "simplex method in integers"
    found = search_remap(x.matrix(), y.matrix())
    route = "interior-point search, completed in integers"
    gains = rounded_gains(found.gains)
    if exceeds(gains, *parts) > 0:
        return gains, route
    remap = completed_remap(proposed(found, *parts), *parts)
    if remap is not None:
        return remap, route
    closer = refined(found, *parts)
    if closer is not None:
        remap = completed_remap(closer[0], *parts)
        if remap is not None:
            return remap, route
        if exceeds(closer[1], *parts) > 0:
            return closer[1], route
    large = tableau_decision(*parts)
    if large is not None:
        return large, "simplex method in integers"
    raise CheckFailed(
        f"these channels lie within {abs(found.value):.1g} of the border and are too large to be "
        "decided in integers: reduce the number of outputs"
    )


def _integer(channel: Channel) -> IntegerChannel:
    if isinstance(channel, IntegerChannel):
        return channel
    weights = channel.matrix().astype(np.int64)
    return IntegerChannel(weights, 1, inputs=channel.inputs, outputs=channel.outputs)


def _expanded(
    weights: NDArray[Any],
    total: int,
    x: IntegerChannel,
    x_groups: tuple[tuple[int, ...], ...],
    y_groups: tuple[tuple[int, ...], ...],
    outputs: int,
) -> tuple[NDArray[Any], int]:
    """Spread a remap between reduced channels over all outputs."""
    shares: list[list[Fraction]] = []
    for group in x_groups:
        i = next(i for i in range(x.shape[0]) if x.weights[i, group[0]])
        row = [int(x.weights[i, o]) for o in group]
        shares.append([Fraction(value, sum(row)) for value in row])
    below = math.lcm(*(share.denominator for group in shares for share in group))
    wide = np.zeros((outputs, x.shape[1]), dtype=object)
    # An output that never occurs may be mapped anywhere.
    wide[:, x_groups[0][0]] = total * below
    for g, members in enumerate(y_groups):
        line = np.zeros(x.shape[1], dtype=object)
        for w, group in enumerate(x_groups):
            for o, share in zip(group, shares[w], strict=True):
                line[o] = weights[g, w] * share.numerator * (below // share.denominator)
        wide[list(members)] = line
    shared = math.gcd(total * below, *wide.ravel().tolist())
    return wide // shared, total * below // shared


def _is_product(x: IntegerChannel, y: IntegerChannel, remap: IntegerChannel) -> bool:
    left = y.weights.astype(object) @ remap.weights.astype(object) * x.total
    return bool((left == x.weights.astype(object) * (y.total * remap.total)).all())


def _exact_witness(gains: NDArray[Any], x: IntegerChannel, y: IntegerChannel) -> Witness:
    flat = primitive(gains.ravel().tolist())
    sign = 1 if next(v for v in flat if v) * next(v for v in gains.ravel() if v) > 0 else -1
    table = [
        [sign * value for value in flat[i * gains.shape[1] : (i + 1) * gains.shape[1]]]
        for i in range(gains.shape[0])
    ]
    # What every guess gains alike changes nothing, and equal guesses count once.
    lifted = [[value - min(row) for value in row] for row in table]
    guesses = list(dict.fromkeys(zip(*lifted, strict=True)))
    tops = [max(guess[i] for guess in guesses) for i in range(len(lifted))]
    whole = sum(tops)
    prior = tuple(Fraction(top, whole) for top in tops)
    gain = tuple(
        tuple(Fraction(guess[i], tops[i]) if tops[i] else Fraction(0) for guess in guesses)
        for i in range(len(tops))
    )
    rows = np.array(guesses, dtype=object)
    first, second = (
        Fraction(sum((rows @ c.weights.astype(object)).max(axis=0).tolist()), whole * c.total)
        for c in (x, y)
    )
    return Witness(prior, gain, first, second)


# -- floats -------------------------------------------------------------------------------


def _in_floats(first: Channel, second: Channel, tolerance: float) -> Derivation:
    x_all, y_all = first.matrix(), second.matrix()
    x_live, y_live = x_all.max(axis=0) > 0, y_all.max(axis=0) > 0
    x, y = x_all[:, x_live], y_all[:, y_live]
    remap, gains = _solved_remap(x, y)
    route = "independent columns: one remap at most"
    near = remap is not None and _distance(x, y, remap) <= tolerance
    # No remap is nearer to X than the margin of a witness.
    far = gains is not None and _float_witness(gains, x, y).margin > tolerance
    if remap is None or not (near or far):
        found = search_remap(x, y)
        remap = found.remap / found.remap.sum(axis=1, keepdims=True)
        gains = found.gains
        route = "interior-point search in floats"
    distance = _distance(x, y, remap)
    if gains is None or distance <= tolerance:
        wide = np.zeros((y_all.shape[1], x_all.shape[1]))
        wide[:, np.flatnonzero(x_live)[0]] = 1.0
        wide[np.ix_(y_live, x_live)] = remap
        channel = Channel(wide, inputs=second.outputs, outputs=first.outputs)
        return Derivation(True, channel, None, False, distance, tolerance, route)
    witness = _float_witness(gains, x, y)
    return Derivation(False, None, witness, False, distance, tolerance, route)


def _solved_remap(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the only candidate when the columns of y are independent in floats.

    And the gains that forbid it, where it has negative entries: a guess for the worst of them.
    """
    if y.shape[1] > y.shape[0]:
        return None, None
    tops_x, tops_y = x.max(axis=0), y.max(axis=0)
    solved, _, rank, _ = np.linalg.lstsq(y / tops_y, x / tops_x, rcond=None)
    if rank < y.shape[1]:
        return None, None
    entries = solved * tops_x / tops_y[:, None]
    gains = None
    if entries.min() < 0:
        # v·y is the o-th unit vector, so v·x_w is the entry of the remap.
        inverse = np.linalg.pinv(y / tops_y) / tops_y[:, None]
        share = entries / np.abs(inverse).sum(axis=1, keepdims=True)
        o, w = np.unravel_index(share.argmin(), share.shape)
        gains = np.zeros_like(x)
        gains[:, w] = -inverse[o]
    remap = np.maximum(entries, 0.0)
    sums = remap.sum(axis=1, keepdims=True)
    return (np.asarray(remap / sums) if (sums > 0).all() else None), gains


def _distance(x: NDArray[np.float64], y: NDArray[np.float64], remap: NDArray[np.float64]) -> float:
    return float(np.abs(x - y @ remap).sum(axis=1).max()) / 2


def _float_witness(
    gains: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]
) -> Witness:
    lifted = gains - gains.min(axis=1, keepdims=True)
    lifted /= lifted.max(axis=1).sum()
    tops = lifted.max(axis=1)
    gain = np.divide(lifted, tops[:, None], out=np.zeros_like(lifted), where=tops[:, None] > 0)
    first, second = (float((lifted.T @ c).max(axis=0).sum()) for c in (x, y))
    return Witness(tuple(tops.tolist()), tuple(tuple(row) for row in gain.tolist()), first, second)
