"""The answers of a question and who is whose neighbour."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from tightrope.certify.kernel.format import Array, Contents, need, need_work


@dataclass(eq=False)
class Graph:
    """Who is whose neighbour, and what each answer is called.

    ``sides`` lists ``(size, width)``: answers are tuples of coordinates, numbered with the last one
    fastest. In a *box* two answers are neighbours when every coordinate differs by at most its
    width: a sum is a box with one side, a bundle of counts one with several. In a *product* one
    coordinate differs, by at most its width: grids, and Hamming graphs, whose widths are their
    sizes less 1. A *ring* has one side, which closes. A *capped* line lacks the edges among its
    last ``width`` answers, and a mechanism is for a window of the others. A *list* has edges i < h
    in increasing order and for each the place of its length in ``lengths``.

    >>> Graph("box", 3, ((3, 1),)).smallest_near(np.array([[5], [1], [7]])).ravel().tolist()
    [1, 1, 1]
    """

    form: str
    nodes: int
    sides: tuple[tuple[int, int], ...] = ()
    edges: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    length: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    lengths: Sequence[Fraction] = (Fraction(1),)
    label: Callable[[int], Hashable] = int
    line: tuple[Fraction, Fraction] | None = None  # label i is start + i·step

    def __post_init__(self) -> None:
        if self.form == "list":
            rising = (self.edges[:, 0] < self.edges[:, 1]).all()
            need(rising, "an edge must be i < h")
            # One key i·n + h per edge: neighbours are found by binary search in O(log m).
            self.keys = self.edges[:, 0] * self.nodes + self.edges[:, 1]
            ordered = (np.diff(self.keys) > 0).all()
            need(ordered, "edges must be in increasing order")
            need(self.is_connected(), "the graph is not connected")

    @property
    def is_path(self) -> bool:
        """Whether the answers are in a row and neighbours differ by 1."""
        return self.form == "box" and len(self.sides) == 1 and self.sides[0][1] == 1

    def is_connected(self) -> bool:
        """Whether the listed edges connect all answers."""
        group = np.arange(self.nodes)
        before = np.zeros(0, np.int64)
        # Groups that an edge joins take the smaller number, until none changes.
        while not np.array_equal(group, before):
            before = group.copy()
            start, end = before[self.edges].T
            np.minimum.at(group, start, end)
            np.minimum.at(group, end, start)
            # Pointer jumping: long paths need far fewer rounds than one step at a time.
            group = group[group[group]]
        return not group.any()

    def ratio_of(self, i: Array, h: Array) -> Array:
        """Return for each pair which of the lengths joins it, -1 where they are no neighbours."""
        if self.form == "list":
            key = np.minimum(i, h) * self.nodes + np.maximum(i, h)
            if not len(self.keys):
                return np.full(len(i), -1)
            at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
            return np.where(self.keys[at] == key, self.length[at], -1)
        if self.form == "ring":
            return np.where(np.isin(abs(i - h), (1, self.nodes - 1)), 0, -1)
        changed = np.zeros(len(i), np.int64)
        near = np.ones(len(i), bool)
        # Digits of the mixed radix number i are its coordinates, the last one fastest.
        for size, width in reversed(self.sides):
            gap = abs(i % size - h % size)
            changed += gap > 0
            near &= gap <= width
            i = i // size
            h = h // size
        moved = changed > 0 if self.form == "box" else changed == 1
        return np.where(near & moved, 0, -1)

    def distances_from(self, i: int, steps: Sequence[int] | None = None) -> Array:
        """Return the distances from node i to all o, in listed graphs over :attr:`unit`.

        These are ``max ⌈|i_k - o_k| / step_k⌉`` (a sum in products), with the widths as steps.
        """
        if self.form == "list":
            return np.asarray(self.all_distances[i])
        need_work("one row of distances", 0, 0, 16 * self.nodes)
        if self.form == "ring":
            away = abs(np.arange(self.nodes) - i)
            return np.minimum(away, self.nodes - away)
        joined = np.maximum if self.form == "box" else np.add
        widths = [width for _, width in self.sides] if steps is None else steps
        coordinates = np.unravel_index(i, [size for size, _ in self.sides])
        far = np.zeros(1, np.int64)
        for (size, _), own, step in zip(self.sides, coordinates, widths, strict=True):
            # ⌈|i_k - o_k| / step⌉ steps are needed along one coordinate.
            gap = -(-abs(np.arange(size) - own) // step)
            far = joined(far[:, None], gap[None, :]).ravel()
        return far

    @cached_property
    def unit(self) -> int:
        """The common denominator of all edge lengths."""
        unit = common_unit(self.lengths, 60)
        need(unit > 0, "the lengths have too many digits to add up distances")
        return unit

    @cached_property
    def all_distances(self) -> Array:
        """All distances of a listed graph over :attr:`unit`: down the tree, or by relaxation."""
        n = self.nodes
        steps = np.array([int(length * self.unit) for length in self.lengths], object)
        short = sum(steps.tolist()) * n < 1 << 60
        need(short, "the lengths have too many digits to add up distances")
        if len(self.edges) == n - 1:
            need_work("all distances of a tree", n * n, 4, 16 * n * n)
            tree = RootedTree(self)
            far = np.zeros((n, n), np.int64)
            for at, c in enumerate(tree.order[1:], 1):
                seen = tree.order[:at]
                # A new node reaches all earlier ones through its parent, which is among them.
                row = far[tree.parent[c], seen] + int(steps[tree.ratio[c]])
                far[c, seen] = row
                far[seen, c] = row
            return far
        # Arcs sorted by their end, so that one reduceat takes the minimum over all neighbours.
        arcs = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(arcs[:, 1], kind="stable")
        start, end = arcs[order].T
        cuts = np.flatnonzero(np.diff(end, prepend=-1))
        cost = steps.astype(np.int64)[np.tile(self.length, 2)[order], None]

        def relaxed(sources: Array) -> Array:
            """Return the distances from some answers: Bellman and Ford, until none falls."""
            far = np.full((n, len(sources)), 1 << 60)
            far[sources, np.arange(len(sources))] = 0
            for rounds in range(n + 1):
                if rounds.bit_count() < 2:  # 1, 2, 4, …: all of it, charged ahead
                    need_work("all distances", rounds * n * len(arcs), 4, 16 * n * n)
                before = far
                low = np.minimum.reduceat(far[start] + cost, cuts, axis=0)
                far = np.minimum(far, low)
                if np.array_equal(far, before):
                    break
            return far

        block = max(1, (1 << 21) // len(arcs))
        starts = (np.arange(at, min(n, at + block)) for at in range(0, n, block))
        return np.concatenate([relaxed(some) for some in starts], axis=1)

    def smallest_near(self, block: Array) -> Array:
        """Return for each row of a block the smallest entries among its neighbours and itself."""
        shaped = block.reshape(*(size for size, _ in self.sides), -1)
        least = shaped
        for axis, (size, width) in enumerate(self.sides):
            reach = min(width, size - 1)
            if self.form == "ring":
                before = np.take(shaped, [-1], 0)
                behind = np.take(shaped, [0], 0)
            else:
                shape = [reach if k == axis else n for k, n in enumerate(shaped.shape)]
                before = behind = np.full(shape, shaped.max(), shaped.dtype)
            low = np.concatenate([before, shaped, behind], axis)
            done = 1
            wanted = 2 * reach + 1
            # A minimum over 2^j rows is one of two windows of 2^(j-1): O(log width) passes.
            while done < wanted:  # windows of 1, 2, 4, … rows, then the rest
                step = min(done, wanted - done)
                ahead = (slice(None),) * axis
                first = low[(*ahead, slice(-step))]
                low = np.minimum(first, low[(*ahead, slice(step, None))])
                done += step
            # In a box the coordinates change together, so the minima of the axes are nested.
            if self.form == "box":
                shaped = low
            least = np.minimum(least, low)
        return least.reshape(block.shape)

    @cached_property
    def coordinates(self) -> tuple[Array, int]:
        """The labels as numbers over one denominator, one row for each answer."""
        first = self.label(0)
        many = self.nodes * (len(first) if isinstance(first, tuple) else 1)
        need_work("the labels as numbers", many, 3000, 150 * many)
        rows: list[tuple[Fraction, ...]] = []
        for i in range(self.nodes):
            name = self.label(i)
            parts = name if isinstance(name, tuple) else (name,)
            sound = all(type(x) in (int, float, Fraction) for x in parts)
            wanted = "answers that are numbers or tuples of them"
            need(sound, f"absolute and squared loss need {wanted}")
            # A float stands for the decimal that prints as it.
            exact = (Fraction(repr(x) if isinstance(x, float) else x) for x in parts)
            rows.append(tuple(exact))
        alike = len({len(row) for row in rows}) == 1
        need(alike, "answers must be tuples of one length")
        unit = common_unit((x for row in rows for x in row), 512)
        need(unit > 0, "the labels have no common denominator of less than 512 bits")
        return np.array([[int(x * unit) for x in row] for row in rows], object), unit


class RootedTree:
    """A tree seen from node 0: parents, and for each node the length of the edge above it.

    >>> RootedTree(Graph("box", 3, ((3, 1),))).parent
    [-1, 0, 1]
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.nodes
        self.parent = list(range(-1, n - 1))
        self.ratio = [0] * n
        self.order = list(range(n))
        if graph.is_path:
            return
        is_tree = graph.form == "list" and len(graph.edges) == n - 1
        need(is_tree, "certificate: this is no tree")
        near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        edges = zip(graph.edges.tolist(), graph.length.tolist(), strict=True)
        for (i, h), which in edges:
            near[i].append((h, which))
            near[h].append((i, which))
        self.parent = [-1] * n
        self.order = [0]
        # Breadth-first: parents precede their children in this order.
        for i in self.order:  # grows while it is read; the graph is connected
            for h, which in near[i]:
                if h != self.parent[i]:
                    self.parent[h] = i
                    self.ratio[h] = which
                    self.order.append(h)


def common_unit(numbers: Iterable[Fraction], bits: int) -> int:
    """Return the common denominator of some numbers, or 0 where it has more than so many bits.

    >>> common_unit([Fraction(1, 4), Fraction(1, 6)], 4), common_unit([Fraction(1, 8)], 3)
    (12, 0)
    """
    unit = 1
    for number in numbers:
        unit = lcm(unit, number.denominator)
        # Stop early: a least common multiple of many numbers may have millions of digits.
        if unit >> bits:
            return 0
    return unit


def need_names(labels: list[Hashable] | None, count: int, what: str) -> None:
    """Stop unless labels, where there are any, name so many different things."""
    if labels is None:
        return
    named = len(labels)
    need(named == count, f"labels: {named} {what} are named, not {count}")
    # Numbers can be chosen such that a set of them takes quadratic time.
    most = np.unique(np.array([*map(hash, labels)]), return_counts=True)[1].max()
    need(most < 1000, f"labels: {most} {what} have one hash")
    need(len(set(labels)) == count, f"labels: two {what} have the same name")


def own_graph(file: Contents) -> Graph:
    """Read the graph that a file holds: edges in order that connect all answers."""
    given = file.header["graph"]
    nodes = given["nodes"]
    count = given["edges"]
    labels = given["labels"]
    edges = (
        file.section("edges").reshape(-1, 2) if count else np.zeros((0, 2), np.int64)
    )
    length = np.zeros(count, np.int64)
    if len(given["lengths"]) > 1 and count:
        length = file.section("edge_lengths")
        # Every listed length must occur, so that a graph has one form only.
        used = np.bincount(length, minlength=len(given["lengths"]))[1:]
        need((used > 0).all(), "no edge has one of the lengths")
    need_names(labels, nodes, "answers")
    name = int if labels is None else labels.__getitem__
    return simplest(Graph("list", nodes, (), edges, length, given["lengths"], name))


def simplest(graph: Graph) -> Graph:
    """Return a listed power of a path as a box, and other listed graphs unchanged.

    >>> simplest(Graph("list", 3, (), np.array([[0, 1], [1, 2]]), np.zeros(2, int))).form
    'box'
    """
    n = graph.nodes
    width = int(np.diff(graph.edges).max(initial=1))
    # Edges i < h are distinct, and these are at most ``width`` apart: where they are as many as
    # there are such pairs, they are all of them. Answer h has min(width, h) of them before it.
    pairs = np.minimum(width, np.arange(n)).sum()
    if len(graph.lengths) == 1 and len(graph.edges) == pairs:
        graph = replace(graph, form="box", sides=((n, width),))
    graph.line = even_line(graph)
    return graph


def even_line(graph: Graph) -> tuple[Fraction, Fraction] | None:
    """Return start and step when the labels are numbers in even steps, else ``None``.

    >>> even_line(Graph("box", 3, ((3, 1),), label=lambda i: Fraction(i, 2)))
    (Fraction(0, 1), Fraction(1, 2))
    """
    if graph.nodes > 1 << 20:
        return None
    labels: list[Any] = [graph.label(i) for i in range(graph.nodes)]
    if any(type(x) not in (int, Fraction) for x in labels):
        return None
    steps = {b - a for a, b in pairwise(labels)} or {1}
    if len(steps) > 1 or 0 in steps:
        return None
    return Fraction(labels[0]), Fraction(*steps)
