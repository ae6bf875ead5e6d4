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
from tightrope.certify.neighbours import PAIR_LIMIT, WORK_LIMIT, Graph, box_sums
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
        moved = np.flatnonzero(self.guess_of != np.arange(weights.outputs)).tolist()
        same = not moved
        if weights.kind == "radial" and self.binary and same:
            each += weights.total - weights.levels[0]
        elif weights.kind == "levels" and self.binary and same:
            each += weights.total - weights.levels[0] * weights.factors.astype(object)
            each[weights.rest_at] -= weights.rest_of(weights.rest_at)
        elif self.power and weights.by_line() and len(moved) * self.n <= 1 << 25:
            each = far_sums(weights.levels, weights.steps[0], weights.factors, self.power)
            each = each * self.factor + self.losses(weights.rest_at) * weights.rest
            for o in moved:  # outputs that make the reader guess something else
                change = self.losses(int(self.guess_of[o])) - self.losses(o)
                each += change * weights.column_by_rule(o)
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


def far_sums(levels: list[int], step: int, z: Array, power: int) -> Array:
    r"""Return ``Σ_o levels[⌈\|i-o\|/step⌉]·z[o]·\|i-o\|^power`` for all i, exactly.

    The last level goes on for ever and is added up by moments; the others are a convolution of
    integers below 2^19, whose sums stay below 2^62.

    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), 1).tolist()
    [7, 6, 6, 7]
    """
    n, last = len(z), levels[-1]
    reach = min(n, step * (len(levels) - 1) + 1)
    need(2 * reach * n <= WORK_LIMIT >> 3, "too many levels to add up losses")
    half = [(levels[-(-t // step)] - last) * t**power for t in range(reach)]
    kernel = np.array([*half[:0:-1], *half], object)
    node, many = np.arange(n).astype(object), z.astype(object)
    sums = [np.cumsum(many * node**p) for p in range(power + 1)]
    if power == 1:
        far = node * (2 * sums[0] - sums[0][-1]) - (2 * sums[1] - sums[1][-1])
    else:
        far = node * node * sums[0][-1] - 2 * node * sums[1][-1] + sums[2][-1]
    total = far * last
    small = (1 << 19) - 1
    for a in range(0, 63, 19):
        part = ((z >> a) & small).astype(np.int64)
        for b in range(0, max(half).bit_length(), 19):
            near = np.convolve(part, ((kernel >> b) & small).astype(np.int64))
            total += near[reach - 1 : reach - 1 + n].astype(object) * (1 << (a + b))
    return np.asarray(total)


def lower_bound(file: Container, graph: Graph, reader: Reader, alphas: list[int]) -> Fraction:
    """Return the bound that the certificate proves, or stop where it proves nothing.

    >>> lower_bound.__name__
    'lower_bound'
    """
    told = file.get("certificate", dict)
    bits: int = file.get("bits", int, told)
    need(0 < bits <= 400, "the certificate needs 1 to 400 bits")
    kind = file.get("kind", str, told)
    need(kind in ("cover", "multipliers", "tree", "line"), "unknown kind of certificate")
    if kind == "cover":
        return _cover(file, graph, reader, alphas[0], bits)
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
