r"""Proofs of optimality: from a solver's floats to exact integers.

A solver proposes prices :math:`\lambda` and multipliers, or a cover y; they miss the exact
conditions by rounding. Here they become dyadic numbers that satisfy the conditions exactly: a
price is lowered, or a cover raised, by the largest violation. That costs about as much of the
bound as the floats were wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.certify.elimination import Side, Tree, line_rooms
from tightrope.certify.neighbours import Graph
from tightrope.certify.optimality import (
    Reader,
    arcs_owed,
    cover_room,
    line_numbers,
    tree_rooms,
    under_roof,
)
from tightrope.errors import CheckFailed, InputError

#: Binary places of prices, multipliers and covers.
BITS = 60


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
class Cover:
    r"""A vector :math:`y \ge 0` with :math:`y\Phi \ge \pi`: binary utility is at most its sum.

    Attributes
    ----------
    cover
        One number for each answer [A, Thm 1; P2 for any prior].
    mix
        For a risk-averse consumer, the prior over the support that is covered.

    Examples
    --------
    >>> Cover([0.5, 0.5]).mix is None
    True
    """

    cover: ArrayLike
    mix: ArrayLike | None = None


@dataclass(frozen=True)
class Roof:
    r"""The least v on a tree with :math:`v \ge \pi` and :math:`v_h \ge \alpha v_i` on edges.

    It bounds binary utility by the sum of :math:`\Phi^{-1}v`, and needs no solver.

    Attributes
    ----------
    mix
        For a risk-averse consumer, the prior over the support that is under the roof.

    Examples
    --------
    >>> Roof().mix is None
    True
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


Certificate = Prices | Cover | Roof | TreePrices | LinePrices


def certificate_sections(
    certificate: Certificate, graph: Graph, reader: Reader, alphas: list[int]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Fraction]:
    """Return header fields, sections and the bound of a certificate made exact.

    >>> certificate_sections.__name__
    'certificate_sections'
    """
    if isinstance(certificate, Cover):
        return _cover(certificate, graph, reader, alphas)
    if isinstance(certificate, Roof):
        return _roof(graph, reader, alphas[0])
    prices = dyadic(certificate.prices, "prices")
    if len(prices) != graph.nodes:
        raise InputError(f"there must be {graph.nodes} prices, got {len(prices)}")
    if isinstance(certificate, TreePrices):
        return _on_tree(prices, np.asarray(certificate.roots, np.int64), graph, reader, alphas)
    if isinstance(certificate, LinePrices):
        return _on_line(prices, graph, reader, alphas[0])
    value = dyadic(certificate.value, "multipliers")
    guess, start, end = (
        np.asarray(part, np.int64).ravel()
        for part in (certificate.guess, certificate.start, certificate.end)
    )
    if not len(value) == len(guess) == len(start) == len(end):
        raise InputError("multipliers need a guess, a start, an end and a value each")
    keep = value > 0
    value, guess, start, end = value[keep], guess[keep], start[keep], end[keep]
    order = np.lexsort((end, start, guess))
    value, guess, start, end = value[order], guess[order], start[order], end[order]
    which = graph.ratio_of(start, end)
    if (which < 0).any():
        a = int(np.flatnonzero(which < 0)[0])
        raise InputError(f"multipliers join neighbours, got {start[a]} and {end[a]}")
    unit = reader.prior_total * reader.unit << (62 + BITS)
    arcs = (guess, start, end, value, which)
    tightest: Any = None
    for room in arcs_owed(reader, prices, arcs, alphas, BITS):
        tightest = room if tightest is None else np.minimum(tightest, room)
    # Each condition has one price in it: down where it fails, up where there is room for it.
    prices = prices + (tightest * (1 << BITS)) // unit
    sections = {"prices": narrow(prices)}
    if len(value):
        sections |= {"arc_guess": guess, "arc_from": start, "arc_to": end}
        sections["arc_value"] = narrow(value)
    return (
        {"kind": "multipliers", "bits": BITS},
        sections,
        Fraction(sum(prices.tolist()), 1 << BITS),
    )


def _on_tree(
    prices: NDArray[Any],
    roots: NDArray[np.int64],
    graph: Graph,
    reader: Reader,
    alphas: list[int],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Fraction]:
    """Lower the price at each root by what is owed there."""
    unit = reader.prior_total * reader.unit
    short = np.zeros(graph.nodes, np.int64).astype(object)
    rooms = tree_rooms(graph, reader, prices, roots.tolist(), alphas, BITS)
    for root, left in zip(roots.tolist(), rooms, strict=True):
        short[root] = max(short[root], -(left // unit))
    prices = prices - short
    bound = Fraction(sum(prices.tolist()), 1 << BITS)
    return {"kind": "tree", "bits": BITS}, {"prices": narrow(prices), "roots": roots}, bound


def _on_line(
    prices: NDArray[Any], graph: Graph, reader: Reader, alpha: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Fraction]:
    """Find for each edge the last guess with its root before it; lower prices where they fail."""
    n, power = reader.n, reader.power
    costs, owed = line_numbers(graph, reader, prices, BITS)
    right = Side(costs, owed, alpha, power)
    cuts, cut = [], -1
    for j in range(1, n):
        while cut < n - 1 and not right.rise(j, cut + 1):
            if right.least(j, cut + 1) < right.owed[j]:
                break
            cut += 1
        cuts.append(cut)
    ahead, behind, at_root = line_rooms(costs, owed, alpha, power, cuts)
    unit = reader.prior_total * reader.unit << 62
    short = [0] * n
    for j in range(n - 1):
        short[j + 1] = max(short[j + 1], -(ahead[j] // unit))
        short[j] = max(short[j], -(behind[j] // unit))
    for k, root in enumerate(np.searchsorted(cuts, np.arange(n)).tolist()):
        short[root] = max(short[root], -(at_root[k] // unit))
    prices = prices - np.array(short, object)
    bound = Fraction(sum(prices.tolist()), 1 << BITS)
    steps = np.diff(np.array([-1, *cuts], np.int64))
    sections = {"prices": narrow(prices), "cut_steps": steps}
    return {"kind": "line", "bits": BITS}, sections, bound


def _roof(
    graph: Graph, reader: Reader, alpha: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Fraction]:
    """Raise the prior to its roof: from the leaves to the root and back."""
    tree, total = Tree(graph), reader.prior_total
    roof = [-((-weight << BITS) // total) for weight in reader.prior.tolist()]
    links = [(c, tree.parent[c]) for c in tree.order[1:]]
    for i, h in [*reversed(links), *((p, c) for c, p in links)]:
        roof[h] = max(roof[h], -(-roof[i] * alpha >> 62))
    found = np.array(roof, object)
    bound = under_roof(graph, reader, alpha, BITS, found)
    return {"kind": "roof", "bits": BITS}, {"roof": found}, bound


def _cover(
    certificate: Cover, graph: Graph, reader: Reader, alphas: list[int]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Fraction]:
    cover = np.maximum(dyadic(certificate.cover, "the cover"), 0)
    if len(cover) != graph.nodes:
        raise InputError(f"there must be {graph.nodes} numbers in the cover, got {len(cover)}")
    for _ in range(4):
        room, needed = cover_room(graph, reader, alphas[0], BITS, cover)
        if not (room < 0).any():
            bound = 1 - Fraction(sum(cover.tolist()), 1 << BITS)
            return {"kind": "cover", "bits": BITS}, {"cover": narrow(cover)}, bound
        # Everything by the same factor: the condition is homogeneous.
        short = max(
            Fraction(int(needed[k]), int(room[k] + needed[k]))
            for k in np.flatnonzero(room < 0).tolist()
            if room[k] + needed[k] > 0
        )
        if short > Fraction(11, 10):
            break
        cover = np.array([-(-c * short.numerator // short.denominator) for c in cover], object)
    raise CheckFailed("the cover does not cover the prior, and not only by rounding")


def dyadic(values: ArrayLike, what: str) -> NDArray[Any]:
    """Round floats down to whole multiples of 2^-BITS.

    >>> dyadic([0.5], "prices").tolist() == [1 << 59]
    True
    """
    floats = np.asarray(values, np.float64).ravel()
    if not np.isfinite(floats).all():
        raise InputError(f"{what} must be finite")
    scaled = np.ldexp(floats, BITS)
    if not len(scaled) or abs(scaled).max() < 2**62:
        return np.floor(scaled).astype(np.int64).astype(object)
    return np.array([int(x) for x in np.floor(scaled)], object)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers of any size in 64 bits where all of them fit.

    >>> narrow(np.array([1, 2], object)).dtype, narrow(np.array([1 << 70], object)).dtype
    (dtype('int64'), dtype('O'))
    """
    small = not len(values) or max(abs(int(values.max())), abs(int(values.min()))) < 1 << 62
    return values.astype(np.int64) if small else values
