r"""Proofs of optimality: from a solver's floats to exact integers.

A solver proposes prices :math:`\lambda` and multipliers, or a vector y; they miss the exact
conditions by rounding. Here they become dyadic numbers that satisfy the conditions exactly: a
price is lowered, or y raised, by the largest violation. That costs about as much of the
bound as the floats were wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.encode import Sections, narrow
from tightrope.certify.judge import (
    Consumer,
    Contents,
    Graph,
    Lattice,
    LimitedCosts,
    Side,
    Weights,
    arcs_owed,
    distances,
    envelope_bound,
    every_answer,
    line_numbers,
    line_rooms,
    phi_bound,
    phi_room,
    slack_cost,
    stairs_owed,
    stretched_debts,
    tree_rooms,
)
from tightrope.errors import CheckFailed, InputError

#: Binary places of prices, multipliers and the like.
PRICE_BITS = 60


@dataclass(frozen=True)
class Prices:
    r"""Prices and multipliers that bound the loss of every private mechanism from below.

    For every guess k: :math:`\pi_i \ell(i,k) - \lambda_i \ge \sum_h m_k(h{\to}i) - \alpha
    \sum_h m_k(i{\to}h)`; the bound is :math:`\sum_i \lambda_i`.

    Attributes
    ----------
    prices
        One number for each answer.
    guess, start, end, value
        The multipliers that are not 0: for guess k on the arc from i to h.
    mix
        For a risk-averse consumer, the prior over the support that the prices belong to.

    Examples
    --------
    >>> Prices([0.1, 0.1]).value
    ()
    """

    prices: ArrayLike
    guess: ArrayLike = ()
    start: ArrayLike = ()
    end: ArrayLike = ()
    value: ArrayLike = ()
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class PhiBound:
    r"""A vector :math:`y \ge 0` with :math:`y\Phi \ge \pi`: binary utility is at most its sum.

    Attributes
    ----------
    y
        One number for each answer [A, Thm 1; P2 for any prior].
    mix
        For a risk-averse consumer, the prior over the support that y reaches.
    """

    y: ArrayLike
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class Envelope:
    r"""The least v on a tree with :math:`v \ge \pi` and :math:`v_h \ge \alpha v_i` on edges.

    It bounds binary utility by the sum of :math:`\Phi^{-1}v`, and needs no solver: the judge
    computes it from the prior.

    Attributes
    ----------
    mix
        For a risk-averse consumer, the prior over the support that is under the envelope.
    """

    mix: ArrayLike | None = None


@dataclass(frozen=True)
class TreePrices:
    """Prices on a tree: what each guess leaves is sent to its root, so nothing more is listed.

    Attributes
    ----------
    prices
        One number for each answer.
    roots
        For each guess the answer that everything is sent to, best one that the guess suits.
    mix
        For a risk-averse consumer, the prior over the support that the prices belong to.

    Examples
    --------
    >>> TreePrices([0.1, 0.1], [0, 1]).roots
    [0, 1]
    """

    prices: ArrayLike
    roots: ArrayLike
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class LinePrices:
    """Prices on a path whose loss is a power of the distance: proved for all guesses at once.

    Attributes
    ----------
    prices
        One number for each answer.
    mix
        For a risk-averse consumer, the prior over the support that the prices belong to.

    Examples
    --------
    >>> LinePrices([0.1, 0.1]).mix is None
    True
    """

    prices: ArrayLike
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class Unbounded:
    """The bounds by rule of noise on a lattice: nothing is listed.

    Attributes
    ----------
    slope
        β of the prior β^d around the middle, for which the question's own bound is proved.

    Examples
    --------
    >>> Unbounded(0.99).slope
    0.99
    """

    slope: float


@dataclass(frozen=True)
class StairPrices:
    """Prices on a power of a path: answers on both sides of a core pay for those nearer to it.

    Attributes
    ----------
    prices
        One number for each answer.
    cores
        For each guess first and last answer of the core of its cheapest staircase.
    mix
        For a risk-averse consumer, the prior over the support that the prices belong to.

    Examples
    --------
    >>> StairPrices([0.1, 0.1], [[0, 0], [1, 1]]).mix is None
    True
    """

    prices: ArrayLike
    cores: ArrayLike
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class Stretched:
    """Prices for the ends of a line with a uniform prior; in between the last one goes on.

    Attributes
    ----------
    prices
        Those of the first answers, times the number of answers, in units of a step.
    cores
        For each guess at an end first and last answer of the core of its cheapest staircase.
    layers
        How many layers of a staircase are counted on each side.
    stride
        The prices are those of every so many-th answer.

    Examples
    --------
    >>> Stretched([1.0], [[0, 0]], 3, 1).stride
    1
    """

    prices: ArrayLike
    cores: ArrayLike
    layers: int
    stride: int


def exact_stretched(
    given: Stretched, lattice: Lattice, loss: str, alpha: int
) -> tuple[dict[str, Any], Sections]:
    """Return header fields and sections of prices for the ends, lowered where they are owed."""
    row, floats = every_answer(lattice, given.stride), np.asarray(given.prices, np.float64)
    cores, reach = np.asarray(given.cores, np.int64), given.layers * row.width
    most = max(int(distances(loss, np.array([reach], object))[0]), int(floats.max()) + 1)
    bits = min(60, 61 - (most * (4 * row.width + 4)).bit_length())
    prices = np.floor(np.ldexp(floats, bits)).astype(np.int64)
    for _ in range(16):
        lower = np.zeros(len(prices), np.int64)
        for k, short, owed in stretched_debts(row, loss, alpha, bits, given.layers, prices, cores):
            i = np.clip(k[:, None] + np.arange(-reach, reach + 1), 0, len(prices) - 1)
            np.maximum.at(lower, i[owed > 0], owed[owed > 0])
            for at in np.flatnonzero(short).tolist():
                beyond = max(0, int(k[at]) - len(cores) + 1)
                low, high = cores[min(int(k[at]), len(cores) - 1)] + beyond
                inside = np.clip(np.arange(low, high + 1), 0, len(prices) - 1)
                lower[inside] = np.maximum(lower[inside], -(-int(short[at]) // (high - low + 1)))
        if not lower.any():
            told = {"bits": bits, "ends": len(prices), "layers": given.layers}
            sections = {"prices": prices, "cores": cores.ravel()}
            return {"kind": "stretched", "stride": given.stride} | told, sections
        prices = prices - lower
    raise CheckFailed("the prices of the ends are not paid for, and not only by rounding")


Certificate = Prices | PhiBound | Envelope | TreePrices | LinePrices | StairPrices
Exact = tuple[dict[str, Any], Sections, Fraction]  # fields of the header, sections, the bound


@dataclass(frozen=True)
class Limited:
    r"""A limit on vulnerability or loss, and the proof that nothing under it is better.

    Attributes
    ----------
    limited
        What is limited; the other is least.
    most
        The limit. Where the integer weights pass it, by a rounding error, what they have is
        stated in its place.
    weight
        :math:`\theta`, what the limit counts.
    choices
        For each guess a distribution over the attacker's actions.
    proof
        Prices for the costs with the limit counted in, or ``None``.
    attack
        :math:`a_w(i)`, one row for each action; by default the attacker knows the consumer's prior
        and gains 1 by a right guess.

    Examples
    --------
    >>> Limited("vulnerability", Fraction(1, 2), 0.0, [[1, 0], [0, 1]]).proof is None
    True
    """

    limited: Literal["loss", "vulnerability"]
    most: Fraction
    weight: float
    choices: ArrayLike
    proof: Certificate | None = None
    attack: ArrayLike | None = None


def exact_certificate(certificate: Certificate, consumer: Consumer) -> Exact:
    """Return header fields, sections and the bound of a certificate made exact."""
    if isinstance(certificate, Envelope):
        return {"kind": "envelope", "bits": PRICE_BITS}, {}, envelope_bound(consumer)
    if isinstance(certificate, PhiBound):
        return _phi(certificate, consumer)
    prices = dyadic(certificate.prices, "prices")
    if len(prices) != consumer.n:
        raise InputError(f"there must be {consumer.n} prices, got {len(prices)}")
    if isinstance(certificate, TreePrices):
        fields, sections = _on_tree(prices, np.asarray(certificate.roots, np.int64), consumer)
    elif isinstance(certificate, StairPrices):
        fields, sections = _by_stairs(prices, np.asarray(certificate.cores, np.int64), consumer)
    elif isinstance(certificate, LinePrices):
        fields, sections = _on_line(prices, consumer)
    else:
        fields, sections = _with_multipliers(prices, certificate, consumer)
    bound = Fraction(sum(sections["prices"].tolist()), 1 << PRICE_BITS)
    if fields.get("arcs"):
        arcs = tuple(sections[name] for name in ("arc_guess", "arc_from", "arc_to", "arc_value"))
        bound -= slack_cost(consumer, arcs)
    return fields | {"bits": PRICE_BITS}, sections, bound


def _with_multipliers(
    prices: NDArray[Any], certificate: Prices, consumer: Consumer
) -> tuple[dict[str, Any], Sections]:
    """Lower each price where its condition fails, and raise it where there is room for it."""
    value = dyadic(certificate.value, "multipliers")
    guess, start, end = (
        np.asarray(part, np.int64).ravel()
        for part in (certificate.guess, certificate.start, certificate.end)
    )
    if not len(value) == len(guess) == len(start) == len(end):
        raise InputError("multipliers need a guess, a start, an end and a value each")
    keep = np.flatnonzero(value > 0)
    keep = keep[np.lexsort((end[keep], start[keep], guess[keep]))]
    value, guess, start, end = value[keep], guess[keep], start[keep], end[keep]
    for a in np.flatnonzero(consumer.graph.ratio_of(start, end) < 0)[:1].tolist():
        raise InputError(f"multipliers join neighbours, got {start[a]} and {end[a]}")
    unit = consumer.prior_total * consumer.unit << (62 + PRICE_BITS)
    tightest: Any = None
    for room in arcs_owed(consumer, prices, (guess, start, end, value)):
        tightest = room if tightest is None else np.minimum(tightest, room)
    # Each condition has one price in it: down where it fails, up where there is room for it.
    sections = {"prices": narrow(prices + (tightest * (1 << PRICE_BITS)) // unit)}
    if len(value):
        sections |= {"arc_guess": guess, "arc_from": start, "arc_to": end}
        sections["arc_value"] = narrow(value)
    return {"kind": "multipliers", "arcs": len(value), "weight": None}, sections


def _on_tree(
    prices: NDArray[Any], roots: NDArray[np.int64], consumer: Consumer
) -> tuple[dict[str, Any], Sections]:
    """Lower the price at each root by what is owed there."""
    unit = consumer.prior_total * consumer.unit
    for _ in range(64):  # a debt beyond all surpluses is not followed to its end at first
        short = np.zeros(consumer.n, np.int64).astype(object)
        rooms = tree_rooms(consumer, prices, roots.tolist())
        for root, left in zip(roots.tolist(), rooms, strict=True):
            short[root] = max(short[root], -(left // unit))
        prices = prices - short
        if not short.any():
            break
    return {"kind": "tree", "weight": None}, {"prices": narrow(prices), "roots": roots}


def _by_stairs(
    prices: NDArray[Any], cores: NDArray[np.int64], consumer: Consumer
) -> tuple[dict[str, Any], Sections]:
    """Lower the prices that are not paid by what is owed for them."""
    unit = consumer.prior_total * consumer.unit
    for _ in range(8):
        short = np.zeros(consumer.n, np.int64).astype(object)
        for _, owed in stairs_owed(consumer, prices, cores.tolist()):
            for i, debt in owed.items():
                short[i] = max(short[i], -(-debt // unit))
        if not short.any():
            return {"kind": "stairs"}, {"prices": narrow(prices), "cores": cores.ravel()}
        prices = prices - short
    raise CheckFailed("the prices are not paid for, and not only by rounding")


def _on_line(prices: NDArray[Any], consumer: Consumer) -> tuple[dict[str, Any], Sections]:
    """Find for each edge the last guess with its root before it; lower prices where they fail."""
    n, power, alpha = consumer.n, consumer.power, consumer.file.alphas[0]
    costs, owed = line_numbers(consumer, prices)
    right = Side(costs, owed, alpha, power)
    cuts, cut = [], -1
    for j in range(1, n):
        while cut < n - 1 and not right.rise(j, cut + 1):
            if right.least(j, cut + 1) < right.owed[j]:
                break
            cut += 1
        cuts.append(cut)
    ahead, behind, at_root = line_rooms(costs, owed, alpha, power, cuts)
    unit = consumer.prior_total * consumer.unit << 62
    short = [0] * n
    for j in range(n - 1):
        short[j + 1] = max(short[j + 1], -(ahead[j] // unit))
        short[j] = max(short[j], -(behind[j] // unit))
    for k, root in enumerate(np.searchsorted(cuts, np.arange(n)).tolist()):
        short[root] = max(short[root], -(at_root[k] // unit))
    steps = np.diff(np.array([-1, *cuts], np.int64))
    prices = prices - np.array(short, object)
    return {"kind": "line"}, {"prices": narrow(prices), "cut_steps": steps}


def _phi(certificate: PhiBound, consumer: Consumer) -> Exact:
    """Raise y by one factor until it reaches the prior: the condition is homogeneous."""
    y = np.maximum(dyadic(certificate.y, "y"), 0)
    if len(y) != consumer.n:
        raise InputError(f"there must be {consumer.n} numbers in y, got {len(y)}")
    # Where all answers look alike y is constant, but for the rounding of floats.
    constant = bool(y.max() - y.min() <= y.max() >> 30) and consumer.graph.looks_alike
    if constant:
        y = np.array([y.max()], object)
    for _ in range(4):
        room, needed = phi_room(consumer, y)
        if not (room < 0).any():
            fields = {"kind": "phi", "bits": PRICE_BITS, "constant": constant}
            return fields, {"phi": narrow(y)}, phi_bound(consumer, y)
        short = max(
            Fraction(int(needed[k]), int(room[k] + needed[k]))
            for k in np.flatnonzero(room < 0).tolist()
            if room[k] + needed[k] > 0
        )
        if short > Fraction(11, 10):
            break
        y = np.array([-(-c * short.numerator // short.denominator) for c in y], object)
    raise CheckFailed("y does not reach the prior, and not only by rounding")


def dyadic(values: ArrayLike, what: str) -> NDArray[Any]:
    """Round floats or fractions down to whole multiples of 2^-PRICE_BITS.

    >>> dyadic([0.5], "prices").tolist() == [1 << 59]
    True
    """
    exact = np.asarray(values)
    if exact.dtype == object:
        return np.array([x * (1 << PRICE_BITS) // 1 for x in exact.ravel()], object)
    floats = np.asarray(values, np.float64).ravel()
    if not np.isfinite(floats).all():
        raise InputError(f"{what} must be finite")
    scaled = np.ldexp(floats, PRICE_BITS)
    if not len(scaled) or abs(scaled).max() < 2**62:
        return np.floor(scaled).astype(np.int64).astype(object)
    return np.array([int(x) for x in np.floor(scaled)], object)


def exact_limited(given: Limited, told: dict[str, Any], sections: Sections, graph: Graph) -> None:
    """Complete a header and sections with a limit, what the weights have of it, and its proof."""
    attacker: dict[str, Any] = {"kind": "guesser"}
    if given.attack is not None:
        bits = 80  # binary places of what a listed attacker gains
        attack = np.ldexp(np.asarray(given.attack, np.float64), bits)
        attacker = {"kind": "listed", "actions": len(attack), "denominator": 1 << bits}
        sections["attack"] = np.array([round(x) for x in attack.ravel().tolist()], object)
    limit = {"limited": given.limited, "most": "0", "vulnerability": "0", "attacker": attacker}
    told["limit"] = limit
    if given.proof is not None:
        weight = int(dyadic(given.weight, "the weight of a limit")[0])
        share = weight if given.limited == "vulnerability" else 1 << PRICE_BITS
        choices = dyadic(given.choices, "choices").reshape(len(np.asarray(given.choices)), -1)
        choices = choices * share // choices.sum(axis=1, keepdims=True)
        most = choices.argmax(axis=1)
        choices[np.arange(len(choices)), most] += share - choices.sum(axis=1)
        sections["choices"] = narrow(choices.ravel())
        told["certificate"] = {"kind": "tree", "bits": PRICE_BITS, "weight": weight}
        told["bound"] = "0"
    costs = LimitedCosts(Consumer(Weights(Contents(told, sections), graph)))
    found = costs.vulnerability
    has = found if given.limited == "vulnerability" else Fraction(told["expected_loss"])
    limit |= {"vulnerability": str(found), "most": str(max(given.most, has))}
    if given.proof is not None:
        costs.limit["most"] = max(given.most, has)
        counted = costs.weigh()
        fields, more, bound = exact_certificate(given.proof, costs)
        told["certificate"], told["bound"] = fields | {"weight": weight}, str(bound - counted)
        sections |= more
