r"""The loss of the weights and the lower bound for every other mechanism.

The bound holds for every mechanism that is private for the real ε, with any number of outputs:
α is replaced by a dyadic number that is not above :math:`e^{-\varepsilon}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.certify.container import Array, Container, need
from tightrope.certify.elimination import Tree, line_rooms
from tightrope.certify.neighbours import PAIR_LIMIT, Graph, box_sums, convolved
from tightrope.certify.weights import Weights

# -- loss and optimality ------------------------------------------------------------------

LINE_LIMIT = 1 << 17  # answers on a line whose prices are proved by sums from both ends


class Reader:
    """The consumer: a prior (or a set of possible answers) and a loss.

    >>> Reader.__name__
    'Reader'
    """

    def __init__(self, file: Container, graph: Graph, outputs: int) -> None:
        told: dict[str, Any] = file.get("consumer", dict)
        self.n, self.prior_total = graph.nodes, file.get("prior_total", int, told)
        self.prior = file.whole("prior", self.n, 0, 1 << 62).astype(object)
        need(sum(self.prior.tolist()) == self.prior_total > 0, "the prior does not sum to 1")
        self.support: Array | None = None
        if "support" in file.places:
            count = file.places["support"][0]["count"]
            self.support = file.whole("support", count, 0, self.n)
            outside = np.ones(self.n, bool)
            outside[self.support] = False
            need(not self.prior[outside].any(), "the prior has weight on impossible answers")
        self.guesses: int = file.get("guesses", int, told)
        need(self.guesses > 0, "a reader needs at least one guess")
        self.power: int = told.get("loss_power", 0)
        self.binary = "loss" not in file.places and not self.power
        self.unit = 1
        if self.binary:
            need(self.guesses == self.n, "binary loss has one guess for each answer")
        elif self.power:
            need(type(self.power) is int and self.power in (1, 2), "no such power of a loss")
            self.unit = file.get("loss_denominator", int, told)
            self.factor: int = file.get("loss_factor", int, told)
            sound = 0 < self.unit < 1 << 512 and 0 < self.factor < 1 << 512
            need(sound and self.guesses == self.n, "a loss by rule needs its factor")
            need("loss" not in file.places, "a loss is a rule or a list")
        else:
            self.unit = file.get("loss_denominator", int, told)
            need(self.unit > 0 and self.n * self.guesses <= PAIR_LIMIT, "the loss is too large")
            listed = file.whole("loss", self.n * self.guesses, None).astype(object)
            self.loss: Array = listed.reshape(self.guesses, self.n)
        self.guess_of: Array = np.arange(outputs)
        if "guess_of" in file.places:
            self.guess_of = file.whole("guess_of", outputs, 0, self.guesses)
        need(int(self.guess_of.max()) < self.guesses, "an output has no guess")

    def losses(self, guess: int) -> Array:
        """Return the losses of one guess under every answer, times the unit."""
        if self.power:
            gaps = abs(np.arange(self.n) - guess) ** self.power
            return np.asarray(gaps.astype(object) * self.factor)
        if not self.binary:
            return np.asarray(self.loss[guess])
        column = np.ones(self.n, np.int64).astype(object)
        column[guess] = 0
        return column

    def expected(self, weights: Weights) -> Fraction:
        """Return the expected loss (the worst one over a set of possible answers), exactly."""
        each = np.zeros(self.n, np.int64).astype(object)
        shift = self.guess_of - np.arange(weights.outputs)
        if weights.kind == "radial" and self.binary and not shift.any():
            each += weights.total - weights.levels[0]
        elif self.binary and (weights.by_line() or (weights.kind == "levels" and not shift.any())):
            depth = np.minimum(-(-abs(shift) // weights.steps[0]), len(weights.levels) - 1)
            right = np.array(weights.levels, object)[depth] * weights.factors
            np.add.at(each, self.guess_of, right)
            last = int(self.guess_of[weights.rest_at])
            each[last] += weights.rest_of(last)
            each = weights.total - each
        elif self.power and weights.by_line():
            sums = far_sums(weights.levels, weights.steps[0], weights.factors, shift, self.power)
            at_rest = self.losses(int(self.guess_of[weights.rest_at]))
            each = sums * self.factor + at_rest * weights.rest
        else:
            need(self.binary or self.n * weights.outputs <= 1 << 27, "too many losses to add up")
            for start, block in weights.columns():
                for o in range(block.shape[1]):
                    guess = int(self.guess_of[start + o])
                    if self.binary:
                        each[guess] += int(block[guess, o])
                    else:
                        each += self.losses(guess) * block[:, o].astype(object)
            if self.binary:
                each = weights.total - each
        if self.support is not None:
            return Fraction(max(each[self.support].tolist()), weights.total * self.unit)
        found = sum((each * self.prior).tolist())
        return Fraction(found, weights.total * self.unit * self.prior_total)


def far_sums(levels: list[int], step: int, z: Array, shift: Array, power: int) -> Array:
    r"""Return ``Σ_o levels[⌈\|i-o\|/step⌉]·z[o]·\|i-o-shift[o]\|^power`` for all i, exactly.

    The last level goes on for ever and is added up by moments. The others are convolutions in
    t = i - o: with m for the shift ``(t-m)² = t² - 2tm + m²``, and ``\|t-m\|`` is
    ``\|m\| - t·sgn(m)`` where m is out of reach, else ``\|t\| - m·sgn(t) + \|m\|·[t=0]`` and
    between 0 and m 2(\|m\|-\|t\|) more.

    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.zeros(4, int), 1).tolist()
    [7, 6, 6, 7]
    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.array([1, 1, 0, -2]), 1).tolist()
    [11, 6, 3, 13]
    """
    n, last, z = len(z), levels[-1], z.astype(object)
    reach = min(n, step * (len(levels) - 1) + 1)
    node, many = np.arange(n).astype(object), np.zeros(n, np.int64).astype(object)
    np.add.at(many, np.arange(n) + shift, z)
    sums = [np.cumsum(many * node**p) for p in range(power + 1)]
    if power == 1:
        far = node * (2 * sums[0] - sums[0][-1]) - (2 * sums[1] - sums[1][-1])
    else:
        far = node * node * sums[0][-1] - 2 * node * sums[1][-1] + sums[2][-1]
    half = np.array([levels[-(-t // step)] - last for t in range(reach)], object)
    kernel, t = np.concatenate([half[:0:-1], half]), np.arange(1 - reach, reach)
    if power == 2:
        parts = [(kernel * t * t, z), (kernel * t, z * shift * -2), (kernel, z * shift * shift)]
        return np.asarray(far * last + sum(convolved(*part) for part in parts))
    out, inside = z * (abs(shift) >= reach), shift * (abs(shift) < reach)
    need(int(abs(inside).sum()) <= 1 << 25, "too many guesses away from their outputs")
    parts = [(kernel * abs(t), z - out), (kernel * np.sign(t), -z * inside)]
    parts += [(kernel, out * abs(shift)), (kernel * t, -out * np.sign(shift))]
    total = np.asarray(far * last + half[0] * z * abs(inside))
    total += sum(convolved(*part) for part in parts)
    for side in (1, -1):
        some = np.flatnonzero(side * inside > 1)
        for d in range(1, int(abs(inside).max(initial=0))):
            some = some[side * inside[some] > d]
            total[some + side * d] += z[some] * (side * inside[some] - d) * (2 * half[d])
    return total


def lower_bound(file: Container, graph: Graph, reader: Reader, alphas: list[int]) -> Fraction:
    """Return the bound that the certificate proves, or stop where it proves nothing.

    >>> lower_bound.__name__
    'lower_bound'
    """
    told = file.get("certificate", dict)
    bits: int = file.get("bits", int, told)
    need(0 < bits <= 400, "the certificate needs 1 to 400 bits")
    kind = file.get("kind", str, told)
    need(kind in ("cover", "roof", "multipliers", "tree", "line"), "unknown kind of certificate")
    if kind == "cover":
        return _cover(file, graph, reader, alphas[0], bits)
    if kind == "roof":
        roof = file.whole("roof", graph.nodes).astype(object)
        return under_roof(graph, reader, alphas[0], bits, roof)
    need(kind == "line" or graph.nodes * reader.guesses <= 1 << 26, "too many conditions to check")
    prices = file.whole("prices", graph.nodes, None).astype(object)
    if kind != "multipliers":
        check = _on_line if kind == "line" else _on_tree
        check(file, graph, reader, prices, alphas, bits)
        return Fraction(sum(prices.tolist()), 1 << bits)
    count = file.places["arc_guess"][0]["count"] if "arc_guess" in file.places else 0
    empty = np.zeros(0, np.int64)
    guess = file.whole("arc_guess", count, 0, reader.guesses) if count else empty
    need(bool((np.diff(guess) >= 0).all()), "multipliers must be sorted by guess")
    start = file.whole("arc_from", count, 0, graph.nodes) if count else empty
    end = file.whole("arc_to", count, 0, graph.nodes) if count else empty
    value = file.whole("arc_value", count, 0).astype(object) if count else empty
    which = graph.ratio_of(start, end)
    need(bool((which >= 0).all()), "certificate: a multiplier joins answers that are no neighbours")
    unit = reader.prior_total * reader.unit << (62 + bits)
    for k, room in enumerate(
        arcs_owed(reader, prices, (guess, start, end, value, which), alphas, bits)
    ):
        for i in np.flatnonzero(room < 0)[:1].tolist():
            short = float(Fraction(-room[i], unit))
            need(False, f"certificate: guess {k} is not priced at answer {i}, short by {short:.3g}")
    return Fraction(sum(prices.tolist()), 1 << bits)


def _on_tree(
    file: Container, graph: Graph, reader: Reader, prices: Array, alphas: list[int], bits: int
) -> None:
    need(graph.nodes * reader.guesses <= PAIR_LIMIT, "too many conditions to check")
    roots = file.whole("roots", reader.guesses, 0, graph.nodes)
    for k, left in enumerate(tree_rooms(graph, reader, prices, roots.tolist(), alphas, bits)):
        need(left >= 0, f"certificate: guess {k} is not priced at its root {roots[k]}")


def tree_rooms(
    graph: Graph, reader: Reader, prices: Array, roots: list[int], alphas: list[int], bits: int
) -> Iterator[int]:
    """Yield for each guess what is left at its root, in units of a price, scaled.

    >>> tree_rooms.__name__
    'tree_rooms'
    """
    tree = Tree(graph)
    owed = prices * (reader.prior_total * reader.unit)
    for k, root in enumerate(roots):
        cost = reader.prior * reader.losses(k) * (1 << bits)
        yield tree.left_at(root, (cost - owed).tolist(), alphas)


def _on_line(
    file: Container, graph: Graph, reader: Reader, prices: Array, alphas: list[int], bits: int
) -> None:
    n = graph.nodes
    need(1 < n <= LINE_LIMIT, "too many conditions to check")
    costs, owed = line_numbers(graph, reader, prices, bits)
    narrow = max(reader.factor, reader.unit) < 1 << 128 and max(abs(prices)) < 1 << 192
    need(narrow and bits <= 128, "the numbers of the certificate are too wide for a line")
    steps = file.whole("cut_steps", n - 1, 0, n + 1)
    cuts = (np.cumsum(steps) - 1).tolist()
    need(cuts[-1] < n, "certificate: a cut lies behind the last guess")
    rooms = line_rooms(costs, owed, alphas[0], reader.power, cuts)
    places = ("ahead of edge", "behind edge", "at the root of guess")
    for what, side in zip(places, rooms, strict=True):
        for j, room in enumerate(side):
            need(room >= 0, f"certificate: the prices ask too much {what} {j}")


def line_numbers(
    graph: Graph, reader: Reader, prices: Array, bits: int
) -> tuple[list[int], list[int]]:
    """Return costs per distance and prices over one denominator.

    >>> line_numbers.__name__
    'line_numbers'
    """
    path = graph.box is not None and len(graph.box) == 1 and graph.box[0][1] == 1
    need(path and reader.power > 0, "certificate: a line needs a path and a loss by distance")
    costs = reader.prior * (reader.factor << bits)
    return costs.tolist(), (prices * (reader.prior_total * reader.unit)).tolist()


def arcs_owed(
    reader: Reader, prices: Array, arcs: tuple[Array, ...], alphas: list[int], bits: int
) -> Iterator[Array]:
    """Yield for each guess ``π_i·loss(i,k) - λ_i - Σ_h m(h→i) + α·Σ_h m(i→h)``, scaled.

    >>> arcs_owed.__name__
    'arcs_owed'
    """
    guess, start, end, value, which = arcs
    alpha = np.array(alphas, object)
    cuts = np.searchsorted(guess, np.arange(reader.guesses + 1))
    for k in range(reader.guesses):
        mine = slice(cuts[k], cuts[k + 1])
        owed = prices * (1 << 62)
        np.add.at(owed, end[mine], value[mine] * (1 << 62))
        np.subtract.at(owed, start[mine], value[mine] * alpha[which[mine]])
        cost = reader.prior * reader.losses(k)
        yield cost * (1 << (62 + bits)) - owed * (reader.prior_total * reader.unit)


def cover_room(
    graph: Graph, reader: Reader, alpha: int, bits: int, cover: Array
) -> tuple[Array, Array]:
    """Return ``Σ_i y_i·α^d(i,k) - π_k`` for all k, and ``π_k``, both scaled.

    >>> cover_room.__name__
    'cover_room'
    """
    powers = [1 << 62]
    if graph.symmetric is not None:
        need(bool((cover == cover[0]).all()), "certificate: here a cover must be constant")
        spheres = graph.spheres()
        while powers[-1] and len(powers) < len(spheres):
            powers.append(powers[-1] * alpha >> 62)
        reached = sum(n_d * power for n_d, power in zip(spheres, powers, strict=False))
        covered = np.full(graph.nodes, int(cover[0]) * reached, object)
    elif graph.box is not None:
        while powers[-1] and len(powers) <= max(size for size, _ in graph.box):
            powers.append(powers[-1] * alpha >> 62)
        powers = [powers[0] - 1, *powers[1:], 0]  # differences stay below 2^62
        widths = [width for _, width in graph.box]
        covered = box_sums(graph.box, widths, powers, cover.astype(np.int64))
    else:
        far = graph.distances()
        for _ in range(int(far.max())):
            powers.append(powers[-1] * alpha >> 62)
        covered = np.array(powers, object)[far] @ cover.astype(object)
    needed = reader.prior * (1 << (62 + bits))
    return covered * reader.prior_total - needed, needed


def _cover(file: Container, graph: Graph, reader: Reader, alpha: int, bits: int) -> Fraction:
    need(reader.binary, "certificate: a cover is for binary loss")
    cover = file.whole("cover", graph.nodes, 0, 1 << 62)
    room, _ = cover_room(graph, reader, alpha, bits, cover)
    for k in np.flatnonzero(room < 0)[:1].tolist():
        short = float(Fraction(-room[k], reader.prior_total << (62 + bits)))
        need(False, f"certificate: answer {k} is not covered, short by {short:.3g}")
    return 1 - Fraction(sum(cover.tolist()), 1 << bits)


def under_roof(graph: Graph, reader: Reader, alpha: int, bits: int, roof: Array) -> Fraction:
    """Return the bound of a roof: v >= π, and ``v_h >= α·v_i`` on every edge of a tree.

    >>> under_roof.__name__
    'under_roof'
    """
    need(reader.binary, "certificate: a roof is for binary loss")
    tree = Tree(graph)
    need(not any(tree.ratio), "certificate: under a roof all edges are of length 1")
    low = np.flatnonzero(reader.prior * (1 << bits) > roof * reader.prior_total).tolist()
    need(not low, f"certificate: the roof is below the prior at answer {low[:1]}")
    child = np.array(tree.order[1:], np.int64)
    parent = np.array(tree.parent, np.int64)[child]
    for one, other in ((child, parent), (parent, child)):
        steep = one[roof[one] * alpha > roof[other] * (1 << 62)].tolist()
        need(not steep, f"certificate: the roof is too steep at answer {steep[:1]}")
    degree = np.bincount(np.concatenate([child, parent]), minlength=graph.nodes)
    right = sum((roof * ((1 << 62) - (degree - 1).astype(object) * alpha)).tolist())
    return 1 - Fraction(right, (1 << 62) + alpha << bits)
