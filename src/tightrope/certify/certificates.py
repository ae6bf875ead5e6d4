r"""Proofs of optimality: from a solver's floats to exact integers.

A solver proposes prices :math:`\lambda` and multipliers, or a vector y; they miss the exact
conditions by rounding. Here they become dyadic numbers that satisfy the conditions exactly: a
price is lowered by what the judge finds owed for it, or y raised, by the largest violation. That
costs about as much of the bound as the floats were wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.encode import Sections, narrow
from tightrope.certify.judge import (
    Consumer,
    Debts,
    Graph,
    Lattice,
    LimitedCosts,
    Side,
    debts,
    distances,
    envelope_bound,
    every_answer,
    line_numbers,
    phi_bound,
    phi_room,
    price_bound,
)
from tightrope.errors import CheckFailed, InputError

#: Binary places of prices, multipliers and the like.
PRICE_BITS = 60


@dataclass(frozen=True)
class Proof:
    r"""Why no private mechanism loses less, as a solver found it: in floats.

    Attributes
    ----------
    kind
        Which of the certificates of a mechanism file it becomes:

        * ``multipliers``: for every guess k :math:`\pi_i \ell(i,k) - \lambda_i \ge
          \sum_h m_k(h{\to}i) - \alpha \sum_h m_k(i{\to}h)`; the bound is :math:`\sum_i \lambda_i`.
        * ``tree``: what each guess leaves is sent to its root, so nothing more is listed.
        * ``line``: on a path, with a power of the distance as loss, for all guesses at once.
        * ``stairs``: on a power of a path answers on both sides of a core pay for those nearer.
        * ``phi``: a vector :math:`y \ge 0` with :math:`y\Phi \ge \pi`: binary utility is at most
          its sum [A, Thm 1; P2 for any prior].
        * ``envelope``: on a tree, the least v with :math:`v \ge \pi` and :math:`v_h \ge \alpha v_i`
          on edges bounds binary utility by the sum of :math:`\Phi^{-1}v`; the judge computes it.
        * ``stretched``: prices for the ends of a line with a uniform prior, times the number of
          answers, in units of a step; in between the last one goes on.
        * ``unbounded``: the bounds by rule of noise on a lattice.
    prices
        :math:`\lambda`, or y: one number for each answer.
    arcs
        The multipliers that are not 0: guesses, starts and ends of their arcs, and values.
    places
        For each guess its root, or first and last answer of the core of its cheapest staircase.
    layers, stride
        How many layers of a staircase are counted on each side; the prices of stretched ends are
        those of every so many-th answer.
    slope
        β of the prior β^d around the middle, for which an unbounded question's own bound is proved.
    mix
        For a risk-averse consumer, the prior over the support that the proof belongs to.

    Examples
    --------
    >>> Proof("tree", [0.1, 0.1], places=[0, 1]).mix is None
    True
    """

    kind: str
    prices: ArrayLike = ()
    arcs: Sequence[ArrayLike] = ((), (), (), ())
    places: ArrayLike = ()
    layers: int = 0
    stride: int = 1
    slope: float = 0.0
    mix: ArrayLike | None = None


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
    proof: Proof | None = None
    attack: ArrayLike | None = None


def proposed(given: Proof, graph: Graph) -> tuple[dict[str, Any], Sections]:
    """Return header fields and sections of a proof as it is proposed, in dyadic numbers."""
    fields: dict[str, Any] = {"kind": given.kind, "bits": PRICE_BITS}
    if given.kind == "envelope":
        return fields, {}
    prices = dyadic(given.prices, "prices")
    if len(prices) != graph.nodes:
        raise InputError(f"there must be {graph.nodes} prices, got {len(prices)}")
    places = np.asarray(given.places, np.int64).ravel()
    if given.kind == "phi":
        y = np.maximum(prices, 0)
        # Where all answers look alike y is constant, but for the rounding of floats.
        constant = bool(y.max() - y.min() <= y.max() >> 30) and graph.looks_alike
        return fields | {"constant": constant}, {"phi": y[[y.argmax()]] if constant else y}
    if given.kind == "tree":
        return fields | {"weight": None}, {"prices": prices, "roots": places}
    if given.kind == "stairs":
        return fields, {"prices": prices, "cores": places}
    if given.kind == "line":
        return fields, {"prices": prices}
    value = dyadic(given.arcs[3], "multipliers")
    guess, start, end = (np.asarray(part, np.int64).ravel() for part in given.arcs[:3])
    if not len(value) == len(guess) == len(start) == len(end):
        raise InputError("multipliers need a guess, a start, an end and a value each")
    keep = np.flatnonzero(value > 0)
    keep = keep[np.lexsort((end[keep], start[keep], guess[keep]))]
    for a in keep[graph.ratio_of(start[keep], end[keep]) < 0][:1].tolist():
        raise InputError(f"multipliers join neighbours, got {start[a]} and {end[a]}")
    # Each condition has one price in it: from far above, every price falls to the least of its
    # conditions, whether the solver had it too high or too low.
    sections = {"prices": prices + (1 << 400)}
    if len(keep):
        named = zip(("guess", "from", "to", "value"), (guess, start, end, value), strict=True)
        sections |= {f"arc_{name}": narrow(part[keep]) for name, part in named}
    return fields | {"arcs": len(keep), "weight": None}, sections


def settled(consumer: Consumer, sections: Sections) -> Fraction:
    """Make the proposed numbers exact, where they stand; return the bound that they prove."""
    kind = consumer.file.header["certificate"]["kind"]
    if kind == "envelope":
        return envelope_bound(consumer)
    if kind == "phi":
        y = sections["phi"] = narrow(_raised(consumer, sections["phi"]))
        return phi_bound(consumer, y)
    prices = sections["prices"]
    if kind == "line":
        sections["cut_steps"] = _cut_steps(consumer, prices)
    # There one pass is enough, and the judge has the last word.
    rounds = 1 if kind in ("line", "multipliers") else 64
    prices = paid(prices, lambda some: debts(consumer, some), rounds)
    sections["prices"] = narrow(prices)
    return price_bound(consumer, prices)


def paid(prices: NDArray[Any], owed: Callable[[NDArray[Any]], Debts], rounds: int) -> NDArray[Any]:
    """Lower prices by what is owed for them, until nothing is."""
    for _ in range(rounds):
        short = prices * 0
        for _, places, debt in owed(prices):
            np.maximum.at(short, places, debt)
        if not short.any():
            break
        prices = prices - short
    return prices


def _cut_steps(consumer: Consumer, prices: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each edge of a path the last guess with its root before it, as differences."""
    costs, owed = line_numbers(consumer, prices)
    right, n = Side(costs, owed, consumer.file.alphas[0], consumer.power), consumer.n
    cuts = [-1]
    for j in range(1, n):
        cut = cuts[-1]
        while cut < n - 1 and not right.rise(j, cut + 1):
            if right.least(j, cut + 1) < right.owed[j]:
                break
            cut += 1
        cuts.append(cut)
    return np.array([b - a for a, b in pairwise(cuts)], np.int64)


def _raised(consumer: Consumer, y: NDArray[Any]) -> NDArray[Any]:
    """Raise y by one factor until it reaches the prior: the condition is homogeneous."""
    for _ in range(4):
        room, needed = phi_room(consumer, y)
        if not (room < 0).any():
            return y
        short = max(
            Fraction(int(needed[k]), int(room[k] + needed[k]))
            for k in np.flatnonzero(room < 0).tolist()
            if room[k] + needed[k] > 0
        )
        if short > Fraction(11, 10):
            break
        y = np.array([-(-c * short.numerator // short.denominator) for c in y], object)
    raise CheckFailed("y does not reach the prior, and not only by rounding")


def stretched(given: Proof, lattice: Lattice, loss: str) -> tuple[dict[str, Any], Sections]:
    """Return header fields and sections of prices for the ends as they are proposed."""
    row, floats = every_answer(lattice, given.stride), np.asarray(given.prices, np.float64)
    reach = np.array([given.layers * row.width], object)
    most = max(int(distances(loss, reach)[0]), int(floats.max()) + 1)
    bits = min(60, 61 - (most * (4 * row.width + 4)).bit_length())
    prices = np.floor(np.ldexp(floats, bits)).astype(np.int64)
    fields = {"kind": "stretched", "bits": bits, "ends": len(prices)}
    sections = {"prices": prices, "cores": np.asarray(given.places, np.int64).ravel()}
    return fields | {"layers": given.layers, "stride": given.stride}, sections


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


def limit_fields(given: Limited) -> tuple[dict[str, Any], int | None, Sections]:
    """Return a limit as a header has it, the weight of its proof, and the sections of both."""
    sections: Sections = {}
    attacker: dict[str, Any] = {"kind": "guesser"}
    if given.attack is not None:
        bits = 80  # binary places of what a listed attacker gains
        attack = np.ldexp(np.asarray(given.attack, np.float64), bits)
        attacker = {"kind": "listed", "actions": len(attack), "denominator": 1 << bits}
        sections["attack"] = np.array([round(x) for x in attack.ravel().tolist()], object)
    fields = {"limited": given.limited, "most": "0", "vulnerability": "0", "attacker": attacker}
    if given.proof is None:
        return fields, None, sections
    weight = int(dyadic(given.weight, "the weight of a limit")[0])
    share = weight if given.limited == "vulnerability" else 1 << PRICE_BITS
    choices = dyadic(given.choices, "choices").reshape(len(np.asarray(given.choices)), -1)
    choices = choices * share // choices.sum(axis=1, keepdims=True)
    choices[np.arange(len(choices)), choices.argmax(axis=1)] += share - choices.sum(axis=1)
    sections["choices"] = narrow(choices.ravel())
    return fields, weight, sections


def stated_limit(given: Limited, consumer: Consumer, loss: Fraction) -> LimitedCosts:
    """Return the costs with the limit counted in, and what the weights have of it stated."""
    costs = LimitedCosts(consumer)
    has = costs.vulnerability if given.limited == "vulnerability" else loss
    costs.limit |= {"vulnerability": costs.vulnerability, "most": max(given.most, has)}
    return costs
