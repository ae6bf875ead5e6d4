"""The answer graph as the checker reads it, and exact sums over its boxes."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from tightrope.certify.container import Array, Container, need

# -- graphs -------------------------------------------------------------------------------

NODE_LIMIT = 1 << 23
PAIR_LIMIT = 1 << 24  # answers times outputs where a rule must be listed
MASK = (1 << 31) - 1
BLOCK = 1 << 21  # numbers looked at together
WORK_LIMIT = 1 << 31  # steps of one check


class Graph:
    """Who is whose neighbour: a box ``[[size, width], …]``, a list of edges, or a ring.

    In a box two answers are neighbours when every coordinate differs by at most its width: a
    sum is a box with one coordinate, a bundle of counts one with several. A *ring* ``[n]`` is a
    cycle; with more sizes it is a Hamming graph, where one coordinate changes to any value.

    >>> path = Graph(3, [[3, 1]], np.zeros((0, 2), int), np.zeros(0, int))
    >>> path.smallest_near(np.array([[5], [1], [7]])).ravel().tolist()
    [1, 1, 1]
    """

    def __init__(
        self, nodes: int, box: list[list[int]] | None, edges: Array, length: Array
    ) -> None:
        self.nodes, self.box, self.edges, self.length = nodes, box, edges, length
        self.keys = edges[:, 0] * nodes + edges[:, 1]
        self.symmetric: tuple[str, list[int]] | None = None

    def ratio_of(self, i: Array, h: Array) -> Array:
        """Return for each pair which of the file's ratios binds it, -1 for strangers."""
        if self.symmetric is not None:
            kind, sizes = self.symmetric
            if kind == "cycle":
                return np.where(np.isin(abs(i - h), (1, self.nodes - 1)), 0, -1)
            changed = np.zeros(len(i), np.int64)
            for size in reversed(sizes):
                changed += i % size != h % size
                i, h = i // size, h // size
            return np.where(changed == 1, 0, -1)
        if self.box is None:
            key = np.minimum(i, h) * self.nodes + np.maximum(i, h)
            at = np.minimum(np.searchsorted(self.keys, key), max(len(self.keys) - 1, 0))
            if not len(self.keys):
                return np.full(len(i), -1)
            return np.where(self.keys[at] == key, self.length[at], -1)
        near = i != h
        for size, width in reversed(self.box):
            near &= abs(i % size - h % size) <= width
            i, h = i // size, h // size
        return np.where(near, 0, -1)

    def spheres(self) -> list[int]:
        """Return how many nodes lie at distance 0, 1, 2, … from any node of a symmetric graph."""
        assert self.symmetric is not None
        kind, sizes = self.symmetric
        if kind == "cycle":
            half = [2] * ((self.nodes - 1) // 2)
            return [1, *half] if self.nodes % 2 else [1, *half, 1]
        found = [1]
        for size in sizes:  # one more coordinate: the same, or one of size - 1 others
            more = [0, *(count * (size - 1) for count in found)]
            found = [a + b for a, b in zip([*found, 0], more, strict=True)]
        return found

    def distances_from(self, i: int) -> Array:
        """Return the distances from one node of a symmetric graph."""
        assert self.symmetric is not None
        need(self.nodes <= NODE_LIMIT, "a row of this mechanism is too long to list")
        kind, sizes = self.symmetric
        node = np.arange(self.nodes)
        if kind == "cycle":
            return np.minimum(abs(node - i), self.nodes - abs(node - i))
        far = np.zeros(self.nodes, np.int64)
        for size in reversed(sizes):
            far += node % size != i % size
            node, i = node // size, i // size
        return far

    def smallest_near(self, block: Array) -> Array:
        """Return for each row of a block the smallest entries in a box around it."""
        assert self.box is not None
        shaped = block.reshape(*(size for size, _ in self.box), -1)
        for axis, (size, width) in enumerate(self.box):
            reach = min(width, size - 1)
            shape = [reach if k == axis else n for k, n in enumerate(shaped.shape)]
            wall = np.full(shape, shaped.max(), shaped.dtype)
            low, done, wanted = np.concatenate([wall, shaped, wall], axis), 1, 2 * reach + 1
            while done < wanted:  # windows of 1, 2, 4, … rows, then the rest
                step = min(done, wanted - done)
                cut = low.shape[axis] - step
                ahead = (slice(None),) * axis
                low = np.minimum(low[(*ahead, slice(cut))], low[(*ahead, slice(step, None))])
                done += step
            shaped = low
        found: Array = shaped.reshape(block.shape)
        return found

    def distances(self) -> Array:
        """Return all distances of a listed graph with edges of one length, by search."""
        small = self.nodes**2 <= PAIR_LIMIT and self.nodes * len(self.edges) <= 1 << 27
        need(small and not self.length.any(), "no distances for this graph")
        far = np.full((self.nodes, self.nodes), -1, np.int64)
        seen = np.eye(self.nodes, dtype=bool)
        step = 0
        while True:
            far[seen & (far < 0)] = step
            grown = seen.copy()
            for i, h in self.edges.tolist():
                grown[i] |= seen[h]
                grown[h] |= seen[i]
            if (grown == seen).all():
                return far
            seen, step = grown, step + 1


def read_graph(file: Container) -> Graph:
    """Read the graph of a file: a box, or edges in order that connect all answers.

    >>> read_graph.__name__
    'read_graph'
    """
    told = file.get("graph", dict)
    none = np.zeros((0, 2), np.int64)
    if "box" in told:
        box: list[list[int]] = file.get("box", list, told)
        need(0 < len(box) < 21, "a box has 1 to 20 sides")
        for side in box:
            pair = isinstance(side, list) and len(side) == 2 and all(type(x) is int for x in side)
            need(pair and 0 < side[0] <= NODE_LIMIT and side[1] > 0, "a side is a size and a width")
        nodes = prod(size for size, _ in box)
        need(nodes <= NODE_LIMIT, f"{nodes} answers are too many, at most {NODE_LIMIT} are checked")
        return Graph(nodes, box, none, none[:, 0])
    for kind in ("cycle", "hamming"):
        if kind in told:
            sizes: list[int] = file.get(kind, list, told)
            sound = 0 < len(sizes) < 65 and all(type(x) is int and 1 < x < 1 << 40 for x in sizes)
            need(sound, f"a {kind} graph needs its sizes")
            graph = Graph(prod(sizes), None, none, none[:, 0])
            cycle = kind == "cycle"
            need(not cycle or (len(sizes) == 1 and 2 < sizes[0] <= NODE_LIMIT), "no such cycle")
            graph.symmetric = (kind, sizes)
            return graph
    nodes, count = file.get("nodes", int, told), file.get("edges", int, told)
    need(0 < nodes <= 1 << 20 and 0 <= count <= 1 << 22, "the graph is too large")
    edges, length = none, np.zeros(count, np.int64)
    if count:
        edges = file.whole("edges", 2 * count, 0, nodes).reshape(-1, 2)
    if "edge_ratios" in file.places:
        length = file.whole("edge_ratios", count, 0, len(file.get("ratios", list)))
    graph = Graph(nodes, None, edges, length)
    need(bool((edges[:, 0] < edges[:, 1]).all()), "an edge must be i < h")
    need(bool((np.diff(graph.keys) > 0).all()), "edges must be in increasing order, each once")
    group, before = np.arange(nodes), np.zeros(0, np.int64)
    while not np.array_equal(group, before):  # groups that an edge joins take the smaller number
        before = group.copy()
        one, other = before[edges[:, 0]], before[edges[:, 1]]
        np.minimum.at(group, one, other)
        np.minimum.at(group, other, one)
        group = group[group[group]]
    need(not group.any(), "the graph is not connected")
    return graph


def box_sums(box: list[list[int]], steps: list[int], levels: list[int], z: Array) -> Array:
    r"""Return ``Σ_o levels[d(i,o)]·z[o]`` for all i, d = max ⌈\|i_k - o_k\| / steps_k⌉, exactly.

    Summed by parts: ``Σ_d (levels[d] - levels[d+1])·(sum of z in the box of radius d)``. The
    last level goes on for ever. Products are kept in four limbs of 31 bits; wider numbers, which
    only a line may have, are convolved.

    >>> box_sums([[3, 1]], [1], [4, 2, 1], np.array([1, 1, 1])).tolist()
    [7, 8, 7]
    """
    mass = sum(z.tolist())
    need(mass < 1 << 100, "the factors are too large")
    need(len(levels) * z.size <= WORK_LIMIT, "too many levels for so many answers")
    falls = [above - below for above, below in pairwise(levels)]
    need(all(0 <= fall < 1 << 124 for fall in falls), "levels must fall, each by less than 2^124")
    if mass >> 62 or max(falls, default=0) >> 62:
        need(len(box) == 1, "the factors are too large")
        reach = min(z.size, steps[0] * len(falls) + 1)
        half = [levels[-(-t // steps[0])] - levels[-1] for t in range(reach)]
        near = convolved(np.array([*half[:0:-1], *half], object), z.astype(object))
        return np.asarray(near + levels[-1] * mass)
    table = z.astype(np.int64).reshape([size for size, _ in box])
    for axis in range(table.ndim):
        sums = np.cumsum(table, axis)
        table = np.concatenate([np.zeros_like(np.take(sums, [0], axis)), sums], axis)
    rows = max(1, BLOCK // 64 * box[0][0] // z.size)  # blocks that stay close to the processor
    blocks = (np.arange(at, min(at + rows, box[0][0])) for at in range(0, box[0][0], rows))
    total = np.concatenate([_block_sums(box, steps, falls, table, first) for first in blocks])
    total += levels[-1] * mass
    return np.asarray(total, dtype=object)


def convolved(kernel: Array, values: Array) -> Array:
    """Return the middle of a convolution, from limbs so short that sums stay below 2^62.

    >>> convolved(np.array([1, 0, -1], object), np.array([1 << 70, 2, 3], object)).tolist()
    [2, -1180591620717411303421, -2]
    """
    limb, n = (58 - len(kernel).bit_length()) // 2, len(values)
    pieces = []
    for array in (values, kernel):
        sign, size = np.sign(array).astype(np.int64), np.asarray(abs(array), object)
        count = -(-int(size.max()).bit_length() // limb)
        need(count <= 16, "the weights are too wide to be added up")
        cuts = (size >> limb * a & (1 << limb) - 1 for a in range(count))
        pieces.append([cut.astype(np.int64) * sign for cut in cuts])
    one, other = pieces
    work = len(one) * len(other) * len(kernel) * n
    need(work <= WORK_LIMIT << 1, "too many levels for so many answers: a larger ε has fewer")
    total, start = np.zeros(n, np.int64).astype(object), len(kernel) // 2
    for place in range(len(one) + len(other) - 1 if work else 0):
        pairs = range(max(0, place - len(other) + 1), min(place + 1, len(one)))
        parts = (np.convolve(one[a], other[place - a])[start : start + n] for a in pairs)
        total += sum(parts, np.zeros(n, np.int64)).astype(object) * (1 << limb * place)
    return total


def _block_sums(
    box: list[list[int]], steps: list[int], falls: list[int], table: Array, first: Array
) -> Array:
    """Return the sums of the nodes whose first coordinates are given, without the last level."""
    limbs = [np.zeros(1, np.int64)] * 4
    sides = [first, *(np.arange(size) for size, _ in box[1:])]
    for d, fall in enumerate(falls):
        ball = table
        for axis, (i, (size, _), step) in enumerate(zip(sides, box, steps, strict=True)):
            high = np.minimum(i + d * step + 1, size)
            ball = ball.take(high, axis) - ball.take(np.maximum(i - d * step, 0), axis)
        b0, b1 = ball.ravel() & MASK, ball.ravel() >> 31
        f0, f1 = fall & MASK, fall >> 31
        low, high = b0 * f0, b1 * f1
        middle = b0 * f1 + b1 * f0
        added = (
            low & MASK,
            (low >> 31) + (middle & MASK),
            (middle >> 31) + (high & MASK),
            high >> 31,
        )
        limbs = [limb + more for limb, more in zip(limbs, added, strict=True)]
    nodes = len(first) * prod(size for size, _ in box[1:])
    total = np.broadcast_to(limbs[3], nodes).astype(object)
    for limb in reversed(limbs[:3]):
        total = total * (1 << 31) + limb
    return total
