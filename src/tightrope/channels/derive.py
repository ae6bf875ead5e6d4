r"""Is one channel derivable from another? A remap, or a consumer who shows that it is not.

X is derivable from Y, :math:`X \preceq_G Y`, iff :math:`X = Y T` for a remap T [C, Def 2.3;
D, Def 3.1.2]. By linear programming duality the contrary has a witness too: a prior and a gain
function under which a consumer gains strictly more from X than from Y.

Channels with integer weights are decided exactly. A search in floats proposes; a remap is
completed to fractions by solving for what is missing, a witness is rounded and then measured, and
both are believed only after they have been checked in integers. Small programs that lie too close
to the border for floats are decided by the simplex method in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope import exact
from tightrope.channels.base import Channel
from tightrope.channels.compare import reduced
from tightrope.channels.derive_search import CORRECTION_ROOM, Found, search_correction, search_remap
from tightrope.channels.integer import DeterministicChannel, IntegerChannel
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.exact import primitive


@dataclass(frozen=True)
class Witness:
    r"""A reader to whom X is worth strictly more than Y, whatever is done with Y's outputs.

    The reader has the prior π, makes one of several guesses w and gains g(i, w) in [0, 1] when
    the truth is i. With two guesses and gains 0 and 1 it is a yes-or-no question about the
    answer.

    Attributes
    ----------
    prior
        π, fractions when exact.
    gain
        The rows g(i, ·), fractions when exact.
    first, second
        The best expected gain from X and from Y: ``first > second``.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel, derivable
    >>> found = derivable(IntegerChannel([[3, 1], [1, 3]]), IntegerChannel([[2, 1], [1, 2]]))
    >>> found.witness.prior, found.witness.first, found.witness.second
    ((Fraction(2, 3), Fraction(1, 3)), Fraction(3, 4), Fraction(2, 3))
    """

    prior: tuple[Any, ...]
    gain: tuple[tuple[Any, ...], ...]
    first: Fraction | float
    second: Fraction | float

    @property
    def margin(self) -> Fraction | float:
        """How much more X is worth."""
        return self.first - self.second

    def as_dict(self) -> dict[str, Any]:
        """Return the witness under its public names, ready for JSON."""
        return {
            "prior": list(self.prior),
            "gain": [list(row) for row in self.gain],
            "gain_first": self.first,
            "gain_second": self.second,
        }


@dataclass(frozen=True)
class Derivation:
    """Whether X is derivable from Y, with the remap or the witness.

    Attributes
    ----------
    derivable
        The answer; also the truth value.
    remap
        A remap T with X = Y·T, or ``None``.
    witness
        A reader who gains strictly more from X, or ``None``.
    exact
        Whether the answer was decided and checked in integers.
    distance
        The largest total variation between a row of X and of Y·T for the remap found; 0 when
        derivable exactly, and for an exact no the margin of the witness.
    tolerance
        The largest distance that counted as derivable; 0 when exact.
    route
        How the answer was found.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel, derivable
    >>> bool(derivable(IntegerChannel([[1, 1], [1, 1]]), IntegerChannel([[3, 1], [1, 3]])))
    True
    """

    derivable: bool
    remap: Channel | None
    witness: Witness | None
    exact: bool
    distance: float
    tolerance: float
    route: str

    def __bool__(self) -> bool:
        return self.derivable


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


Integers = NDArray[Any]

#: Binary digits kept of a remap in floats before it is completed exactly.
REMAP_BITS = 60
#: Binary digits of a remap whose small entries come from a second search.
REFINED_BITS = 220
#: Entries of a remap from this size on are large.
BIG_ENTRY = 2.0**-12
_ROUND_BITS = 40
#: Binary digits kept of gains in floats.
GAIN_BITS = 50
#: Largest number of entries of a tableau that is worked through in integers, when nothing else
#: decides.
TABLEAU_LIMIT = 30_000


@dataclass(frozen=True)
class Proposal:
    """A remap in binary digits, and which of its entries are in use.

    >>> Proposal(np.array([[True]]), np.array([[4]], dtype=object), 2).bits
    2
    """

    used: NDArray[np.bool_]
    digits: Integers
    bits: int


def unique_remap(x: Integers, y: Integers) -> tuple[Integers, int] | Integers | None:
    """Solve ``x = y @ T`` where at most one T exists.

    Returns integers and their denominator, or the gains that forbid a remap, or ``None`` when
    the columns of y are dependent.

    >>> y, x = np.array([[3, 1], [1, 3]]), np.array([[1, 1], [1, 1]])
    >>> remap, below = unique_remap(x, y)
    >>> (remap * 4 == below).tolist()
    [[True, True], [True, True]]
    """
    rows = exact.independent_rows(y)
    if len(rows) < y.shape[1]:
        return None
    solved = exact.solve(y, x)
    if solved is None:
        # Some column of x leaves the span of y: a vector is orthogonal to y but not to it.
        for v in exact.null_space(y.T):
            hits = (np.array(v, dtype=object) @ x).tolist()
            w = next((w for w, hit in enumerate(hits) if hit), None)
            if w is not None:
                return _one_column(np.array(v, dtype=object) * (1 if hits[w] > 0 else -1), w, x)
        raise AssertionError("columns in the span of independent ones have a solution")
    inside, below = solved
    if (inside >= 0).all():
        return inside, below
    # v·y is the o-th unit vector, so v·x_w is the most negative entry of the remap.
    o, w = divmod(int(inside.argmin()), x.shape[1])
    unit = np.eye(y.shape[1], dtype=int)[:, [o]]
    turned = exact.solve(y[rows].T, unit)
    assert turned is not None
    row = np.zeros(len(y), dtype=object)
    row[rows] = turned[0][:, 0]
    return _one_column(-row, w, x)


def _one_column(v: Integers, w: int, x: Integers) -> Integers:
    gains = np.zeros(x.shape, dtype=object)
    gains[:, w] = v
    return gains


def exceeds(gains: Integers, x: Integers, y: Integers, total_x: int, total_y: int) -> int:
    r"""Return :math:`\sum_w A_w x_w - \sum_o \max_w A_w y_o`, times both totals.

    A positive number proves that x cannot be derived from y.

    >>> eye = np.eye(2, dtype=object).astype(int)
    >>> exceeds(eye, eye, np.array([[3, 1], [1, 3]]), 1, 4)
    2
    """
    wide = gains.astype(object)
    won = sum((wide * x).ravel().tolist())
    most = sum((wide.T @ y.astype(object)).max(axis=0).tolist())
    return int(won * total_y - most * total_x)


def rounded_gains(gains: NDArray[np.float64]) -> Integers:
    """Return proposed gains as integers, scaled to use all digits kept.

    >>> rounded_gains(np.array([[0.5, -1.0]])).tolist() == [[2**49, -(2**50)]]
    True
    """
    top = float(np.abs(gains).max()) or 1.0
    scaled = np.round(gains / top * 2**GAIN_BITS)
    return np.array([[int(value) for value in row] for row in scaled], dtype=object)


def plain_no(x: Integers, y: Integers, total_x: int, total_y: int) -> Integers | None:
    """Return gains that forbid a remap where floats see it plainly, or ``None``.

    Where the columns of y are independent the only candidate has its most negative entry at
    (o, w); the row v with v·y = e_o is then a witness. It is checked in integers.

    >>> plain_no(np.array([[3, 1], [1, 3]]), np.array([[2, 1], [1, 2]]), 4, 3) is None
    False
    """
    if y.shape[1] > y.shape[0]:
        return None
    left = np.linalg.pinv(np.array(y / total_y, dtype=np.float64))
    entries = left @ np.array(x / total_x, dtype=np.float64)
    o, w = divmod(int(entries.argmin()), x.shape[1])
    if entries[o, w] >= 0:
        return None
    gains = _one_column(rounded_gains(-left[[o]].T)[:, 0], w, x)
    return gains if exceeds(gains, x, y, total_x, total_y) > 0 else None


def completed_remap(
    proposal: Proposal, x: Integers, y: Integers, total_x: int, total_y: int
) -> tuple[Integers, int] | None:
    """Complete a proposed remap to an exact one, or return ``None`` when that fails.

    Columns of the remap that use enough outputs of y are *free*: some outputs that all of them
    use form a basis and take up what rounding the others leaves. Columns that use independent
    outputs have a single solution. Other patterns are left to the simplex method.

    >>> eye, y = np.eye(2, dtype=object), np.array([[3, 1], [1, 3]])
    >>> proposal = Proposal(np.eye(2) > 0, eye.astype(int).astype(object), 0)
    >>> completed_remap(proposal, y, y, 4, 4)[0].tolist()
    [[4, 0], [0, 4]]
    """
    used = proposal.used
    floats = np.array(y / total_y, dtype=np.float64)
    scaled = floats / floats.max(axis=0)
    rank = int(np.linalg.matrix_rank(scaled))
    free = []
    for w in range(x.shape[1]):
        part = scaled[:, used[:, w]]
        if part.shape[1] > rank and np.linalg.matrix_rank(part) == rank:
            free.append(w)
    columns: dict[int, tuple[Integers, int]] = {}
    for w in sorted(set(range(x.shape[1])) - set(free)):
        places = np.flatnonzero(used[:, w])
        right = x[:, [w]].astype(object) * total_y
        solved = exact.solve(y[:, places], right)
        if solved is None:
            return None
        values = np.zeros(y.shape[1], dtype=object)
        values[places] = solved[0][:, 0]
        columns[w] = values, solved[1]
    shared = np.logical_and.reduce(used[:, free], axis=1)
    basis = _shared_basis(scaled, shared, rank) if free else []
    if basis is None:
        return None
    return _with_free(proposal, free, basis, columns, x, y, total_x, total_y)


def refined(
    found: Found, x: Integers, y: Integers, total_x: int, total_y: int
) -> tuple[Proposal, Integers] | None:
    """Improve a proposal whose small entries were lost in rounding.

    The large entries are rounded and the small ones set to 0; what is then left of x, computed
    exactly, is small, and a second search in its units finds the correction. Returns the better
    proposal and the gains of the second search.

    >>> from tightrope.channels.derive_search import search_remap
    >>> much, y = 10**12, np.array([[3, 1], [1, 3]])
    >>> x = y * much + np.array([[-2, 2], [1, -1]])
    >>> better, _ = refined(search_remap(x / (4 * much), y / 4), x, y, 4 * much, 4)
    >>> bool((better.digits > 0).all())
    True
    """
    big = found.remap >= BIG_ENTRY
    if not big.any(axis=1).all():
        return None
    one = 1 << _ROUND_BITS
    rounded = np.array(
        [[int(value * one) if value >= BIG_ENTRY else 0 for value in row]
         for row in found.remap.tolist()],
        dtype=object,
    )  # fmt: skip
    rows = np.arange(len(rounded))
    rounded[rows, found.remap.argmax(axis=1)] += one - rounded.sum(axis=1)
    left = x.astype(object) * (total_y * one) - y.astype(object) @ rounded * total_x
    size = max(abs(value) for value in left.ravel().tolist())
    if size == 0:
        return None
    unit = Fraction(size, total_x * total_y * one)
    if unit * int(CORRECTION_ROOM) > Fraction(BIG_ENTRY) / 2:
        return None
    rest = np.array(left / size, dtype=np.float64)
    more = search_correction(rest, np.array(y / total_y, dtype=np.float64), big)
    scale = Fraction(1 << REFINED_BITS)
    digits = rounded * (1 << (REFINED_BITS - _ROUND_BITS)) + np.array(
        [[round(Fraction(value) * unit * scale) for value in row] for row in more.remap.tolist()],
        dtype=object,
    )
    used = big | (more.remap > more.slack)
    return Proposal(used, digits, REFINED_BITS), rounded_gains(more.gains)


def _shared_basis(
    scaled: NDArray[np.float64], allowed: NDArray[np.bool_], rank: int
) -> list[int] | None:
    """Return that many independent columns among those allowed, the best conditioned first."""
    from scipy.linalg import qr

    places = np.flatnonzero(allowed)
    if len(places) < rank:
        return None
    _, right, order = qr(scaled[:, places], mode="economic", pivoting=True)
    strength = np.abs(np.diag(right))
    if strength[rank - 1] <= 1e-11 * strength[0]:
        return None
    return sorted(places[order[:rank]].tolist())


def _with_free(
    proposal: Proposal,
    free: list[int],
    basis: list[int],
    columns: dict[int, tuple[Integers, int]],
    x: Integers,
    y: Integers,
    total_x: int,
    total_y: int,
) -> tuple[Integers, int] | None:
    """Fill in the free columns around those already known; all entries over one denominator.

    Known columns hold total_x·T.
    """
    from math import lcm

    below = lcm(*(scale for _, scale in columns.values())) if columns else 1
    remap = np.zeros((y.shape[1], x.shape[1]), dtype=object)
    for w, (values, scale) in columns.items():
        remap[:, w] = values * (below // scale)
    if free:
        done = _corrected(proposal, free, basis, remap, below, x, y, total_x, total_y)
        if done is None:
            return None
        remap, below = done
    below *= total_x
    if (remap < 0).any() or (remap.sum(axis=1) != below).any():
        return None
    # x/total_x = (y/total_y) (remap/below)
    if (y.astype(object) @ remap * total_x != x.astype(object) * (total_y * below)).any():
        return None
    return remap, below


def _corrected(
    proposal: Proposal,
    free: list[int],
    basis: list[int],
    remap: Integers,
    below: int,
    x: Integers,
    y: Integers,
    total_x: int,
    total_y: int,
) -> tuple[Integers, int] | None:
    """Round the free columns outside the basis and solve for what is left inside it."""
    shift = 1 << proposal.bits
    unit = shift * below
    # Entries are held in units of 1/(total_x · below · shift).
    t = np.where(proposal.used, proposal.digits, 0)[:, free]
    guess = t * (below * total_x)
    guess[basis] = 0
    wide = y.astype(object)
    others = sorted(set(range(y.shape[1])) - set(basis))
    rest = total_x * unit - remap.sum(axis=1) * shift - guess.sum(axis=1)
    for o in others:
        guess[o, int(t[o].argmax())] += rest[o]
    right = x[:, free].astype(object) * (total_y * unit) - wide[:, others] @ guess[others]
    inside = exact.solve(wide[:, basis], right)
    if inside is None:
        return None
    guess = guess * inside[1]
    guess[basis] = inside[0]
    full = remap * (shift * inside[1])
    full[:, free] = guess
    return full, unit * inside[1]


def proposed(found: Found, x: Integers, y: Integers, total_x: int, total_y: int) -> Proposal:
    """Return a search's remap in digits, moved onto the equations where nothing forbids it.

    >>> from tightrope.channels.derive_search import search_remap
    >>> y = np.array([[3, 1], [1, 3]])
    >>> proposed(search_remap(y / 4, y / 4), y, y, 4, 4).used.tolist()
    [[True, False], [False, True]]
    """
    t, used = found.remap, found.remap > found.slack
    if used.all():
        floats = np.array(y / total_y, dtype=np.float64)
        rest = np.array(x / total_x, dtype=np.float64) - floats @ t
        step = np.linalg.pinv(floats, rcond=1e-12) @ rest
        short = 1 - (t + step).sum(axis=1)
        t = t + step + short[:, None] / x.shape[1]
    shift = 1 << REMAP_BITS
    digits = np.array([[int(value * shift) for value in row] for row in t.tolist()], dtype=object)
    return Proposal(used, digits, REMAP_BITS)


def tableau_decision(
    x: Integers, y: Integers, total_x: int, total_y: int, limit: int = TABLEAU_LIMIT
) -> tuple[Integers, int] | Integers | None:
    """Decide by the simplex method in integers: a remap or gains, or ``None`` when too large.

    >>> remap, below = tableau_decision(np.array([[1, 1]]), np.array([[1, 2]]), 2, 3)
    >>> remap.tolist(), below
    ([[4, 0], [1, 3]], 4)
    """
    (n, k), m = x.shape, y.shape[1]
    rows, columns = n * k + m, m * k
    if rows * (columns + rows) > limit:
        return None
    table = np.zeros((rows + 1, columns + rows + 1), dtype=object)
    for w in range(k):
        # Column o of block w is entry (o, w) of total_x·T.
        table[w * n : (w + 1) * n, w * m : (w + 1) * m] = y
        table[w * n : (w + 1) * n, -1] = x[:, w].astype(object) * total_y
        table[n * k + np.arange(m), w * m + np.arange(m)] = 1
    table[n * k : rows, -1] = total_x
    table[np.arange(rows), columns + np.arange(rows)] = 1
    table[-1, :columns] = -table[:-1, :columns].sum(axis=0)
    table[-1, -1] = -table[:-1, -1].sum()
    basis = [columns + r for r in range(rows)]
    scale = _simplex(table, basis, columns)
    if table[-1, -1] == 0:
        flat = [0] * columns
        for r, column in enumerate(basis):
            if column < columns:
                flat[column] = int(table[r, -1])
        remap = np.array(flat, dtype=object).reshape(k, m).T
        return remap, scale * total_x
    gains = scale - table[-1, columns : columns + n * k]
    return np.asarray(gains.reshape(k, n).T)


def _simplex(table: Integers, basis: list[int], columns: int) -> int:
    """Bring the last row to non-negative entries; the entries stay integers over one scale."""
    scale, stalled = 1, 0
    while True:
        costs = table[-1, :columns].tolist()
        negative = [j for j, cost in enumerate(costs) if cost < 0]
        if not negative:
            return scale
        # The rule of least index ends every cycle; the steepest column is faster before.
        enter = negative[0] if stalled > 8 else min(negative, key=costs.__getitem__)
        column, right = table[:-1, enter].tolist(), table[:-1, -1].tolist()
        leave = -1
        for r, entry in enumerate(column):
            if entry > 0:
                if leave >= 0:
                    ahead = right[r] * column[leave] - right[leave] * entry
                    if ahead > 0 or (ahead == 0 and basis[r] > basis[leave]):
                        continue
                leave = r
        stalled = stalled + 1 if right[leave] == 0 else 0
        pivot, kept = table[leave, enter], table[leave].copy()
        table[:] = (table * pivot - np.multiply.outer(table[:, enter].copy(), kept)) // scale
        table[leave] = kept
        scale = pivot
        basis[leave] = enter
