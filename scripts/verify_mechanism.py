#!/usr/bin/env python3
r"""Check a mechanism file in integers: privacy, rows, loss, optimality.

* *Ratio.* For every edge length l the file names p/q, and p/q is at most exp(ε·l).
* *Rows.* Every row of weights is non-negative and sums to 2^bits.
* *Privacy.* ``W[i,o]·q <= W[h,o]·p`` for neighbours i ~ h and every output o.
* *Loss.* The expected loss that the file states is the loss of these weights.
* *Optimality.* No private mechanism, with whatever outputs, has a loss below the bound: for
  every guess k the file gives multipliers m >= 0 on arcs such that, for all i,
  ``π_i·loss(i,k) - λ_i >= Σ_h m(h→i) - α·Σ_h m(i→h)``. A private column x has
  ``x_h >= α·x_i``, so ``Σ_i (π_i·loss(i,k) - λ_i)·x_i >= Σ m(i→h)·(x_h - α·x_i) >= 0``;
  summed over the columns of a mechanism its loss is at least ``Σ λ_i``. On a *tree* the
  multipliers need not be listed: from the leaves on, every answer hands what it has left to the
  next one towards a root; on a *line* this is summed up for all guesses at once. For binary loss a
  *cover* y >= 0 with ``Σ_i y_i·α^d(i,k) >= π_k`` does the same: ``π_k·x_k <= Σ_i y_i·x_i``.
  On a tree so does a *roof* v >= π with ``v_h >= α·v_i`` on edges: with Φ[i,h] = α^d(i,h) and
  y = Φ⁻¹v, seen from any k, ``Σ_i y_i·x_i = v_k·x_k + Σ (v_c - α·v_p)·(x_c - α·x_p)/(1 - α²)``
  over children c and parents p, and the sum of y is ``Σ_j v_j·(1 - (deg_j - 1)·α)/(1 + α)``.
  A reader who fears the worst loses at least as much as under any prior over the answers
  that are possible, so there the file names such a prior.
* *Limit.* An attacker who gains a_w(i) by doing w under answer i gains ``V = Σ_x max_w a_w·x``
  over the outputs x, which the file states. Under a limit on V the proof names θ >= 0 and for
  each guess k choices q_k(w) >= 0 of sum θ, and adds ``Σ_w q_k(w)·a_w(i)`` to the costs
  ``π_i·loss(i,k)``: summed over the columns that is at most θ·V, so the loss of a mechanism with
  ``V <= v`` is at least ``Σ λ_i - θ·v``. Under a limit on the loss, V is least: there the costs
  are counted θ times and the choices sum to 1.

Weights are a matrix (``dense``) or a rule (``levels``): ``W[i,o] = w[d(i,o)]·Z[o]``, and what
is missing to 2^bits goes to one output. The rule is private when w falls by no more than p/q
over the distance that one edge can make, and the missing part does not vary by more than p/q
between any two rows: a sum of private columns is private. On cycles and Hamming graphs, where
all answers look alike, ``W[i,o] = w[d(i,o)]`` alone is a rule (``radial``).

Run it: ``python verify_mechanism.py FILE``.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, prod
from typing import Any, BinaryIO

import numpy as np

# -- the file -----------------------------------------------------------------------------

MAGIC, VERSION = b"\x89tightrope", 1
HEADER_LIMIT = 1 << 24  # bytes of the header
CHUNK_LIMIT = 1 << 23  # integers in one compressed chunk
SECTION_LIMIT = 1 << 25  # integers in a section that is read as a whole
Array = np.ndarray[Any, np.dtype[Any]]


class Damaged(ValueError):
    """What makes a file unfit to be checked any further."""


def need(holds: bool, message: str) -> None:
    """Stop with a message unless a condition holds."""
    if not holds:
        raise Damaged(message)


class Container:
    """The file: magic, version, header, compressed sections of integers, SHA-256 digest."""

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        self.stream: BinaryIO
        if isinstance(source, bytes):
            self.stream = io.BytesIO(source)
        else:
            if os.path.exists(source) and not os.path.isfile(source):  # a pipe would be waited for
                raise OSError(22, "this is not a regular file", os.fspath(source))
            self.stream = open(source, "rb")  # noqa: SIM115 - open as long as this lives
        self.size = self.stream.seek(0, os.SEEK_END)
        need(self.size >= 48, f"not a mechanism file: it is only {self.size} bytes long")
        start = self.read(0, 16)
        need(start[:10] == MAGIC, "not a mechanism file: it does not start with its mark")
        need(int.from_bytes(start[10:12], "little") == VERSION, "unknown version of the format")
        length = int.from_bytes(start[12:16], "little")
        need(
            length <= min(HEADER_LIMIT, self.size - 48), "the header is longer than the file allows"
        )
        text = self.read(16, length)
        try:
            self.header: dict[str, Any] = json.loads(text)
            written = json.dumps(self.header, sort_keys=True, separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            raise Damaged("the header is not JSON of a reasonable depth and size") from None
        need(
            isinstance(self.header, dict) and written == text, "the header is not in canonical form"
        )
        self.places: dict[str, tuple[dict[str, Any], int]] = {}
        place = 16 + length
        for part in self.get("sections", list):
            sound = isinstance(part, dict) and isinstance(part.get("bytes"), list)
            need(sound and isinstance(part.get("name"), str), "a section is not described")
            numbers = [part.get(key) for key in ("width", "count", "chunk")] + part["bytes"]
            need(all(type(x) is int and 0 < x < 1 << 40 for x in numbers), "a section has no size")
            need(part["width"] % 8 == 0 and part["width"] <= 64, "integers have 8 to 64 bytes")
            need(part["chunk"] * part["width"] <= CHUNK_LIMIT * 8, "a chunk is too large")
            chunks = -(-part["count"] // part["chunk"])
            need(chunks == len(part["bytes"]), "a section has the wrong number of chunks")
            need(part["name"] not in self.places, f"the section {part['name']!r} comes twice")
            self.places[part["name"]] = (part, place)
            place += sum(part["bytes"])
        lacks = place + 32 - self.size
        need(lacks <= 0, f"the file is truncated: {lacks} bytes are missing")
        need(lacks == 0, f"the file has {-lacks} bytes too many")

    def __del__(self) -> None:
        stream = getattr(self, "stream", None)
        if stream is not None:
            stream.close()

    def read(self, place: int, length: int) -> bytes:
        """Read bytes from a place."""
        self.stream.seek(place)
        return self.stream.read(length)

    def get(self, name: str, kind: type, inside: dict[str, Any] | None = None) -> Any:
        """Return a field of the header, of the kind it must have."""
        value = (self.header if inside is None else inside).get(name)
        need(type(value) is kind, f"the header has no proper {name!r}")
        return value

    def number(self, name: str, inside: dict[str, Any] | None = None) -> Fraction:
        """Return an exact number that the header holds as text."""
        return number(self.get(name, str, inside), name)

    def digest(self) -> tuple[str, str]:
        """Return the digest of the bytes and the digest that the file states."""
        found = hashlib.sha256()
        for place in range(0, self.size - 32, 1 << 20):
            found.update(self.read(place, min(1 << 20, self.size - 32 - place)))
        return found.hexdigest(), self.read(self.size - 32, 32).hex()

    def chunks(self, name: str) -> Iterator[Array]:
        """Yield a section piece by piece: int64, or Python integers when they are wider."""
        need(name in self.places, f"the section {name!r} is missing")
        part, place = self.places[name]
        width, left = part["width"], part["count"]
        for packed in part["bytes"]:
            size = min(left, part["chunk"]) * width
            # zlib cannot shrink by more than 1032 : 1, so nothing is unpacked for a false claim.
            need(size <= 1100 * packed + 1100, f"the section {name!r} cannot hold what it claims")
            worker = zlib.decompressobj()
            try:
                raw = worker.decompress(self.read(place, packed), size + 1)
            except zlib.error:
                raise Damaged(f"the section {name!r} is damaged") from None
            whole = len(raw) == size and worker.eof and not worker.unused_data
            need(whole, f"the section {name!r} does not hold what it claims")
            place, left = place + packed, left - size // width
            if width == 8:
                yield np.frombuffer(raw, "<i8").astype(np.int64)
            else:
                cut = (raw[at : at + width] for at in range(0, size, width))
                yield np.array([int.from_bytes(c, "little", signed=True) for c in cut], object)

    def whole(self, name: str, count: int, low: int | None = 0, high: int | None = None) -> Array:
        """Return a section of a known length with all its numbers in a range."""
        need(name in self.places, f"the section {name!r} is missing")
        stated = self.places[name][0]["count"]
        need(
            stated == count <= SECTION_LIMIT,
            f"the section {name!r} has {stated} numbers, not {count}",
        )
        found = np.concatenate(list(self.chunks(name)))
        out = (low is not None and found.min() < low) or (high is not None and found.max() >= high)
        need(not out, f"the section {name!r} has numbers out of range")
        return found


def number(text: object, name: str) -> Fraction:
    """Read an integer or a fraction written as ``p/q``."""
    found = (
        re.fullmatch(r"(-?\d{1,2000})(?:/([1-9]\d{0,1999}))?", text)
        if isinstance(text, str)
        else None
    )
    if found is None:
        raise Damaged(f"{name!r} must be an exact number such as 3/4")
    return Fraction(int(found[1]), int(found[2] or 1))


# -- exp(ε), from below and above ---------------------------------------------------------


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(x) for 0 < x <= 700: halve x, sum the series in integers, square again."""
    halvings = ceil(x).bit_length()
    y, one = x / 2**halvings, 1 << 320
    total = term = one
    terms = 0
    while term:  # a term is short by less than 2 units, and so is the rest of the series
        terms += 1
        term = term * y.numerator // (y.denominator * terms)
        total += term
    low, high = total, total + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low // one, -(-high * high // one)
    return Fraction(low, one), Fraction(high, one)


@lru_cache(maxsize=16)
def ln_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound ln(x) for x > 1: take out powers of 2, then 2·artanh((x-1)/(x+1))."""
    twos = max(0, x.numerator.bit_length() - x.denominator.bit_length() - 1)
    x /= 2**twos
    one, low, terms = 1 << 400, 0, 0
    for times, y in ((2, (x - 1) / (x + 1)), (2 * twos, Fraction(1, 3))):
        power, odd = one * y.numerator // y.denominator, 1
        while power:
            low += times * (power // odd)
            power, odd, terms = power * y.numerator**2 // y.denominator**2, odd + 2, terms + times
    return Fraction(low, one), Fraction(low + 3 * terms + 3 + 3 * twos, one)


def level_bounds(multiple: Fraction, base: Fraction | None, p: int, q: int) -> tuple[bool, int]:
    """Whether p/q <= exp(ε), and an integer a with a/2^62 <= exp(-ε)."""
    power, root = multiple.numerator, multiple.denominator
    below, above = (Fraction(1), Fraction(1)) if base is None else ln_bounds(base)
    if multiple * above > 600:  # e^600 from below, 0 from above: both are safe
        return Fraction(p, q) <= exp_bounds(Fraction(599))[0], 0
    if base is not None and root <= 64 and power <= 4096:
        exact = Fraction(p, q) ** root == base**power
        if exact:
            return True, (q << 62) // p
    low, high = exp_bounds(multiple * below)[0], exp_bounds(multiple * above)[1]
    return Fraction(p, q) <= low, (high.denominator << 62) // high.numerator


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
    """Read the graph of a file: a box, or edges in order that connect all answers."""
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
    """Return the middle of a convolution, from limbs so short that sums stay below 2^62."""
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


# -- weights: rows and privacy ------------------------------------------------------------


def exceeds(a: Array, b: Array, p: int, q: int) -> Array:
    """Return where ``a·q > b·p``, for non-negative integers below 2^62, without rounding."""
    if object in (a.dtype, b.dtype) or max(p, q) > MASK:
        return np.asarray(a.astype(object) * q > b.astype(object) * p, dtype=bool)
    a0, b0 = (a & MASK) * q, (b & MASK) * p
    a1, b1 = (a >> 31) * q + (a0 >> 31), (b >> 31) * p + (b0 >> 31)
    found: Array = (a1 > b1) | ((a1 == b1) & ((a0 & MASK) > (b0 & MASK)))
    return found


class Weights:
    """Integer weights ``W[i,o]`` with rows of sum ``2^bits``, listed or by rule."""

    def __init__(self, file: Container, graph: Graph, ratios: list[tuple[int, int]]) -> None:
        self.file, self.graph, self.ratios = file, graph, ratios
        told = file.get("weights", dict)
        self.kind: str = file.get("kind", str, told)
        self.bits: int = file.get("bits", int, told)
        self.outputs: int = file.get("outputs", int, told)
        need(self.kind in ("dense", "levels", "radial"), "unknown kind of weights")
        need(0 <= self.bits <= 480 and self.outputs > 0, "the total of a row must be 2^0 … 2^480")
        self.total = 1 << self.bits
        if self.kind == "dense":
            need(graph.symmetric is None, "listed weights need a box or a list of edges")
            need("weights" in file.places, "the section 'weights' is missing")
            part = file.places["weights"][0]
            fits = part["count"] == graph.nodes * self.outputs and part["chunk"] % graph.nodes == 0
            need(fits, "the section 'weights' does not have one number for each row and output")
            need(part["width"] > 8 or self.bits <= 62, "these weights need wider integers")
            plain = max(max(pair) for pair in ratios) <= MASK
            need(part["count"] <= 1 << (31 if plain else 23), "there are too many weights")
            return
        need(self.outputs == graph.nodes, "a rule has one output for each answer")
        self.levels: list[int] = file.get("levels", list, told)
        sound = 0 < len(self.levels) <= 1 << 17 and all(type(w) is int for w in self.levels)
        need(sound and all(w > 0 for w in self.levels), "levels must be positive")
        need(all(a >= b for a, b in pairwise(self.levels)), "the levels must not rise")
        if self.kind == "radial":
            need(graph.symmetric is not None, "radial weights need a cycle or a Hamming graph")
            return
        need(graph.box is not None, "levels need a box")
        assert graph.box is not None
        self.steps: list[int] = file.get("steps", list, told)
        sound = len(self.steps) == len(graph.box) and all(type(s) is int for s in self.steps)
        need(sound and all(0 < s < 1 << 40 for s in self.steps), "the steps must be positive")
        self.rest_at: int = file.get("rest", int, told)
        need(0 <= self.rest_at < self.outputs, "the output of the rest does not exist")
        self.factors = file.whole("factors", self.outputs, 0, 1 << 100)

    @functools.cached_property
    def rest(self) -> Array:
        """What each row of a rule lacks to the total."""
        assert self.graph.box is not None
        sums = box_sums(self.graph.box, self.steps, self.levels, self.factors)
        lacks: Array = self.total - sums
        return lacks

    def by_line(self) -> bool:
        """Whether the weights are a rule for answers on one line."""
        return self.kind == "levels" and len(self.steps) == 1

    def rest_of(self, i: int) -> int:
        """Return what one row of a rule lacks to the total."""
        row = np.array(self.levels, object)[self.depths(i)] * self.factors.astype(object)
        return int(self.total - sum(row.tolist()))

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield blocks of columns, each with the number of its first output."""
        n = self.graph.nodes
        if self.kind == "dense":
            start = 0
            for chunk in self.file.chunks("weights"):
                block = chunk.reshape(-1, n).T
                yield start, block
                start += block.shape[1]
            return
        need(n * n <= PAIR_LIMIT, "the rule has too many answers to list its columns")
        for o in range(n):
            yield o, self.column_by_rule(o)[:, None]

    def column_by_rule(self, o: int) -> Array:
        """Return one column of a rule."""
        levels = np.array(self.levels, object)
        if self.kind == "radial":
            return np.asarray(levels[self.depths(o)])
        column: Array = levels[self.depths(o)] * int(self.factors[o])
        return column + self.rest if o == self.rest_at else column

    def row(self, i: int) -> Array:
        """Return one row, without computing any other by a rule."""
        if self.kind == "dense":
            return np.concatenate([block[i] for _, block in self.columns()])
        if self.kind == "radial":
            return self.column_by_rule(i)  # distances are symmetric
        row: Array = np.array(self.levels, object)[self.depths(i)] * self.factors.astype(object)
        row[self.rest_at] += self.total - sum(row.tolist())
        return row

    def depths(self, i: int) -> Array:
        """Return for every node which level it has seen from node i."""
        if self.graph.box is None:
            return np.minimum(self.graph.distances_from(i), len(self.levels) - 1)
        far = np.zeros(1, np.int64)
        rest, mine = i, []
        for size, _ in reversed(self.graph.box):
            rest, digit = divmod(rest, size)
            mine.append(digit)
        sides = zip(self.graph.box, reversed(mine), self.steps, strict=True)
        for (size, _), digit, step in sides:
            gap = -(-abs(np.arange(size) - digit) // step)
            far = np.maximum(far[:, None], gap[None, :]).ravel()
        return np.minimum(far, len(self.levels) - 1)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with rows and privacy."""
        yield from self._dense_faults() if self.kind == "dense" else self._rule_faults()

    def _rule_faults(self) -> Iterator[str]:
        p, q = self.ratios[0]
        reach = 1
        if self.graph.box is not None:
            sides = zip(self.graph.box, self.steps, strict=True)
            reach = max(-(-min(width, size - 1) // step) for (size, width), step in sides)
        for d, level in enumerate(self.levels):
            after = self.levels[min(d + reach, len(self.levels) - 1)]
            if level * q > after * p:
                yield (
                    f"privacy: level {d} weighs {level} and {reach} steps further {after}, which "
                    f"is {level * q - after * p}/{p} too little for the ratio {p}/{q}"
                )
                break
        if self.kind == "radial":
            # Every row has as many outputs at each distance, so every row has the same sum.
            last = len(self.levels) - 1
            spheres = enumerate(self.graph.spheres())
            found = sum(count * self.levels[min(d, last)] for d, count in spheres)
            if found != self.total:
                yield f"total: every row sums to {found}, which is {found - self.total:+d} off"
            return
        low, high = int(self.rest.argmin()), int(self.rest.argmax())
        if self.rest[low] < 0:
            yield f"total: row {low} weighs {-self.rest[low]} more than 2^{self.bits}"
        elif self.rest[high] * q > self.rest[low] * p:
            yield (
                f"privacy: what is missing to 2^{self.bits} is {self.rest[high]} in row {high} and "
                f"{self.rest[low]} in row {low}, more than the ratio {p}/{q}"
            )

    def _dense_faults(self) -> Iterator[str]:
        sums: list[Array | int] = [0, 0]
        told = False
        for start, block in self.columns():
            if block.min() < 0 or block.max() > self.total:
                i, o = np.argwhere((block < 0) | (block > self.total))[0].tolist()
                yield f"weights: row {i}, output {start + o} has the weight {block[i, o]}"
                return
            sums[0] += (block & MASK).sum(axis=1).astype(object)
            sums[1] += (block >> 31).sum(axis=1).astype(object)
            fault = None if told else self._breach(start, block)
            if fault:
                told = True
                yield fault
        found = np.asarray(sums[1] * (1 << 31) + sums[0])
        for i in np.flatnonzero(found != self.total)[:1].tolist():
            yield f"total: row {i} sums to {found[i]}, which is {found[i] - self.total:+d} off"

    def _breach(self, start: int, block: Array) -> str | None:
        """Return the first breach of privacy in a block of columns."""
        if self.graph.box is not None:
            p, q = self.ratios[0]
            for part in range(0, block.shape[1], max(1, BLOCK // len(block))):
                some = block[:, part : part + max(1, BLOCK // len(block))]
                bad = np.argwhere(exceeds(some, self.graph.smallest_near(some), p, q))
                if len(bad):
                    i, o = bad[0].tolist()
                    node = np.arange(len(block))
                    near = np.flatnonzero(self.graph.ratio_of(np.full(len(node), i), node) >= 0)
                    h = int(near[some[near, o].argmin()])
                    return _breach_text(i, h, start + part + o, some[i, o], some[h, o], p, q)
            return None
        step = max(1, BLOCK // block.shape[1])
        for at in range(0, len(self.graph.edges), step):
            for both in (self.graph.edges[at : at + step], self.graph.edges[at : at + step, ::-1]):
                for which in np.unique(self.graph.length[at : at + step]).tolist():
                    p, q = self.ratios[which]
                    mine = both[self.graph.length[at : at + step] == which]
                    bad = np.argwhere(exceeds(block[mine[:, 0]], block[mine[:, 1]], p, q))
                    if len(bad):
                        i, h = mine[bad[0, 0]].tolist()
                        o = int(bad[0, 1])
                        return _breach_text(i, h, start + o, block[i, o], block[h, o], p, q)
        return None


def _breach_text(i: int, h: int, o: int, a: int, b: int, p: int, q: int) -> str:
    return (
        f"privacy: output {o} weighs {a} in row {i} and {b} in the neighbouring row {h}: "
        f"{a}·{q} exceeds {b}·{p} by {int(a) * q - int(b) * p}"
    )


# -- prices on trees and lines ------------------------------------------------------------


class Tree:
    """A tree seen from node 0: parents, and for each node the ratio of the edge above it."""

    def __init__(self, graph: Graph) -> None:
        n = graph.nodes
        self.parent, self.ratio, self.order = [-1] * n, [0] * n, [0]
        if graph.box is not None:
            need(len(graph.box) == 1 and graph.box[0][1] == 1, "certificate: no tree, no path")
            self.parent, self.order = list(range(-1, n - 1)), list(range(n))
            return
        need(graph.symmetric is None and len(graph.edges) == n - 1, "certificate: no tree")
        near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for (i, h), which in zip(graph.edges.tolist(), graph.length.tolist(), strict=True):
            near[i].append((h, which))
            near[h].append((i, which))
        for i in self.order:  # grows while it is read; the graph is known to be connected
            for h, which in near[i]:
                if h != self.parent[i]:
                    self.parent[h], self.ratio[h] = i, which
                    self.order.append(h)

    def left_at(self, root: int, weights: list[int], alphas: Sequence[int]) -> int:
        """Send what is left at every node towards the root; return what arrives there."""
        left, parent, ratio = weights, self.parent, self.ratio
        # Later surpluses are no more than this: who owes more will always owe.
        most = sum(x for x in left if x > 0)
        way = [root]
        while parent[way[-1]] >= 0:
            way.append(parent[way[-1]])
        turned = set(way)
        steps = [(c, parent[c], ratio[c]) for c in reversed(self.order) if c not in turned]
        steps += [(p, c, ratio[c]) for c, p in zip(way[-2::-1], way[:0:-1], strict=True)]
        for c, p, which in steps:
            x = left[c]
            if x >= 0:
                left[p] += x * alphas[which] >> 62
            elif -x > most or not alphas[which]:
                return -1 - most
            else:
                left[p] += (x << 62) // alphas[which]
        return left[root]


class Side:
    r"""Sums over the answers from j on of a line, the one at distance t times α^t.

    ``costs`` are c_i and guess k costs ``c_i·|i - k|^power``. All sums are times 2^62 and rounded
    down; each step loses less than 1, so over m answers Σ α^t lacks at most m and Σ t·α^t m².
    """

    def __init__(self, costs: list[int], prices: list[int], alpha: int, power: int) -> None:
        n, self.power = len(costs), power
        self.owed = [0] * (n + 1)
        self.low: list[list[int]] = [[0] * (n + 1) for _ in range(power + 1)]
        zeroth, first, last = self.low[0], self.low[1], self.low[-1]
        for j in range(n - 1, -1, -1):
            self.owed[j] = (prices[j] << 62) - (-alpha * self.owed[j + 1] >> 62)
            a, b = zeroth[j + 1], first[j + 1]  # Σ t^p becomes Σ (t+1)^p
            zeroth[j] = (a * alpha >> 62) + (costs[j] << 62)
            first[j] = (a + b) * alpha >> 62
            if power == 2:
                last[j] = (a + 2 * b + last[j + 1]) * alpha >> 62
        self.powers = [1 << 62]
        while self.powers[-1] and len(self.powers) <= n:
            self.powers.append(self.powers[-1] * alpha >> 62)

    def high(self, p: int, j: int) -> int:
        """Bound the sum from j on from above, for p = 0 or 1."""
        many = len(self.owed) - 1 - j
        return self.low[p][j] + (many * many if p else many)

    def beyond(self, p: int, j: int, k: int) -> int:
        """Bound ``α^(k-j)·(sum from k on)`` from below."""
        steps = k - j
        return self.powers[steps] * self.low[p][k] >> 62 if steps < len(self.powers) else 0

    def least(self, j: int, k: int) -> int:
        """Bound the cost of guess k over the answers from j on, from below."""
        gap = abs(k - j)
        if self.power == 2:
            first = self.low[1][j] if k <= j else -self.high(1, j)
            return self.low[2][j] + 2 * gap * first + gap * gap * self.low[0][j]
        if k <= j:
            return self.low[1][j] + gap * self.low[0][j]
        return gap * self.low[0][j] - self.high(1, j) + 2 * self.beyond(1, j, k)

    def rise(self, j: int, k: int) -> int:
        """Bound from above, or by 0, what guess k costs more than guess k - 1 from j on."""
        if k <= j:
            return 0
        if self.power == 2:
            return max(0, (2 * (k - j) - 1) * self.high(0, j) - 2 * self.low[1][j])
        return max(0, self.high(0, j) - 2 * self.beyond(0, j, k))

    def room(self, j: int, k: int) -> int:
        """Bound from below what is left from j on for guess k and for every guess before it.

        The cost is convex in the guess: it rises by no more before k than it does there.
        """
        return self.least(j, k) - k * self.rise(j, k) - self.owed[j]


def line_rooms(
    costs: list[int], prices: list[int], alpha: int, power: int, cuts: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return what is left of every guess, times 2^62: at each edge from both sides, and its root.

    Guesses up to ``cuts[j]`` have their root at j or before, the others behind.
    """
    n = len(costs)
    right = Side(costs, prices, alpha, power)
    left = Side(costs[::-1], prices[::-1], alpha, power)
    ahead = [right.room(j + 1, k) if k >= 0 else 0 for j, k in enumerate(cuts)]
    behind = [left.room(n - 1 - j, n - 2 - k) if k < n - 1 else 0 for j, k in enumerate(cuts)]
    at_root, root = [], 0
    for k in range(n):
        while root < n - 1 and cuts[root] < k:
            root += 1
        found = (costs[root] * abs(root - k) ** power - prices[root]) << 62
        if root < n - 1:
            found += (right.least(root + 1, k) - right.owed[root + 1]) * alpha >> 62
        if root:
            j = n - root
            found += (left.least(j, n - 1 - k) - left.owed[j]) * alpha >> 62
        at_root.append(found)
    return ahead, behind, at_root


# -- loss and optimality ------------------------------------------------------------------

LINE_LIMIT = 1 << 17  # answers on a line whose prices are proved by sums from both ends


class Reader:
    """The consumer: a prior (or a set of possible answers) and a loss."""

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
    """Return the bound that the certificate proves, or stop where it proves nothing."""
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
    """Yield for each guess what is left at its root, in units of a price, scaled."""
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
    """Return costs per distance and prices over one denominator."""
    path = graph.box is not None and len(graph.box) == 1 and graph.box[0][1] == 1
    need(path and reader.power > 0, "certificate: a line needs a path and a loss by distance")
    costs = reader.prior * (reader.factor << bits)
    return costs.tolist(), (prices * (reader.prior_total * reader.unit)).tolist()


def arcs_owed(
    reader: Reader, prices: Array, arcs: tuple[Array, ...], alphas: list[int], bits: int
) -> Iterator[Array]:
    """Yield for each guess ``π_i·loss(i,k) - λ_i - Σ_h m(h→i) + α·Σ_h m(i→h)``, scaled."""
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
    """Return ``Σ_i y_i·α^d(i,k) - π_k`` for all k, and ``π_k``, both scaled."""
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
    """Return the bound of a roof: v >= π, and ``v_h >= α·v_i`` on every edge of a tree."""
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


# -- a limit on vulnerability or loss -----------------------------------------------------


class Limit(Reader):
    """A reader whose costs count in what a limit is about."""

    def __init__(self, file: Container, reader: Reader) -> None:
        self.told: dict[str, Any] = file.get("limit", dict)
        need(reader.support is None, "a limit is for a reader with a prior")
        self.reader, self.n, self.guesses = reader, reader.n, reader.guesses
        self.limited: str = file.get("limited", str, self.told)
        need(self.limited in ("loss", "vulnerability"), "a limit is on loss or vulnerability")
        self.most = file.number("most", self.told)
        # The attacker knows what the reader knows, and gains 1 by a right guess; or as listed.
        self.attack, self.parts = reader.prior, reader.prior_total
        if "attack" in file.places:
            actions = file.get("actions", int, self.told)
            self.parts = file.get("attack_denominator", int, self.told)
            sound = 0 < actions * self.n <= PAIR_LIMIT and 0 < self.parts < 1 << 512
            need(sound, "no such attacker")
            listed = file.whole("attack", actions * self.n, None).astype(object)
            self.attack = listed.reshape(actions, self.n)
        work = self.attack.size * max(self.guesses, len(reader.guess_of))
        need(work <= 4 * PAIR_LIMIT, "there are too many gains to add up")

    def vulnerability(self, weights: Weights) -> Fraction:
        """Return what the attacker gains from the outputs, exactly."""
        found = 0
        for _, block in weights.columns():
            each = block.astype(object)
            gains = self.attack[:, None] * each if self.attack.ndim == 1 else self.attack @ each
            found += sum(gains.max(axis=0).tolist())
        return Fraction(found, weights.total * self.parts)

    def kept(
        self, file: Container, weights: Weights, loss: Fraction, checked: list[str]
    ) -> tuple[str, str, Fraction]:
        """Check that the limit is kept; return it in words, and what is least under it."""
        found, stated = self.vulnerability(weights), file.number("vulnerability", self.told)
        off = float(found - stated)
        need(found == stated, f"limit: an attacker gains {off:+.3g} from what is stated")
        checked.append(f"the vulnerability is {float(found):.12g}")
        other, value, has = "expected loss", loss, found
        if self.limited == "loss":
            other, value, has = "vulnerability", found, loss
        over = float(has - self.most)
        need(has <= self.most, f"limit: the {self.limited} passes it by {over:.3g}")
        return f"{self.limited} at most {float(self.most):.12g}", other, value

    def weigh(self, file: Container) -> Fraction:
        """Read the weight of the limit and the choices; return the weight times the limit."""
        told: dict[str, Any] = file.get("certificate", dict)
        bits: int = file.get("bits", int, told)
        weight: int = file.get("weight", int, told)
        sound = 0 < bits <= 400 and 0 <= weight < 1 << 512
        need(sound, "certificate: the weight of a limit must be at least 0")
        one, actions = 1 << bits, len(self.attack)
        self.times, share = (one, weight) if self.limited == "vulnerability" else (weight, one)
        listed = file.whole("choices", self.guesses * actions, 0).astype(object)
        self.choices = listed.reshape(self.guesses, actions)
        for k in np.flatnonzero(self.choices.sum(axis=1) != share)[:1].tolist():
            need(False, f"certificate: the choices at guess {k} do not sum to their weight")
        self.prior, self.prior_total = np.ones(self.n, np.int64).astype(object), 1
        self.binary, self.power = False, 0
        self.unit = self.reader.prior_total * self.reader.unit * self.parts << bits
        return Fraction(weight, one) * self.most

    def losses(self, guess: int) -> Array:
        """Return what a guess costs under every answer, with the limit counted in."""
        own = self.reader.prior * self.reader.losses(guess) * (self.times * self.parts)
        chosen = self.choices[guess]
        taken = chosen * self.attack if self.attack.ndim == 1 else chosen @ self.attack
        return np.asarray(own + taken * (self.reader.prior_total * self.reader.unit))


# -- the checks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What was found: ``reasons`` is empty when every check passed."""

    private: bool
    optimal_within: Fraction | None
    ratio: str | None
    reasons: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    digest: str | None = None
    under: str | None = None


def check(source: str | os.PathLike[str] | bytes) -> Report:
    """Check a file, or its bytes; whatever is wrong becomes a reason."""
    reasons: list[str] = []
    checked: list[str] = []
    ratio, gap, under, digest = None, None, None, None
    private = False
    try:
        file = Container(source)
    except Damaged as damage:
        return Report(False, None, None, [str(damage)])
    with file.stream:
        try:
            digest, stated = file.digest()
            if digest != stated:
                reasons.append(
                    f"digest: the bytes have {digest[:16]}…, the file states {stated[:16]}…"
                )
            ratios, alphas = check_ratios(file)
            ratio = "/".join(map(str, ratios[0]))
            others = f", and so are {len(ratios) - 1} for other lengths" if len(ratios) > 1 else ""
            checked.append(f"p/q = {ratio} is at most exp(ε) for edges of length 1{others}")
            graph = read_graph(file)
            check_query(file, graph)
            weights = Weights(file, graph, ratios)
            check_labels(file, graph.nodes, weights.outputs)
            reasons += weights.faults()
            private = not reasons
            if private:
                checked.append(
                    f"W[i,o]·q <= W[h,o]·p on every edge of {graph.nodes} answers for each of "
                    f"{weights.outputs} outputs; rows sum to 2^{weights.bits}"
                )
            if file.header.get("consumer") is not None:
                gap, under = check_loss(file, graph, weights, alphas, checked)
        except Damaged as damage:
            reasons.append(str(damage))
        except OverflowError:
            reasons.append("a number of the file is too large to mean anything")
    if reasons:
        gap = under = None
    return Report(private, gap, ratio, reasons, checked, digest, under)


def check_ratios(file: Container) -> tuple[list[tuple[int, int]], list[int]]:
    """Check p/q <= exp(ε·length) for every length; bound exp(-ε·length) from below."""
    level = file.get("epsilon", dict)
    multiple = file.number("multiple", level)
    base = None if level.get("base") is None else file.number("base", level)
    need(multiple > 0 and (base is None or base > 1), "ε must be positive")
    level_one = Fraction(1) if base is None else ln_bounds(base)[1]
    need(multiple * level_one <= 600, "ε is too large to mean anything")
    told = file.get("ratios", list)
    need(0 < len(told) <= 1 << 17, "there must be at least one ratio")
    ratios, alphas = [], []
    for at, entry in enumerate(told):
        need(isinstance(entry, list) and len(entry) == 3, "a ratio is a length, p and q")
        length = number(entry[0], "length")
        p, q = number(entry[1], "p"), number(entry[2], "q")
        need(length > 0 and p >= q >= 1, "a ratio is p/q >= 1 for a length")
        need(p.denominator == q.denominator == 1, "p and q must be whole numbers")
        pair = p / q
        need(at > 0 or length == 1, "the first ratio must be that of edges of length 1")
        sound, alpha = level_bounds(multiple * length, base, pair.numerator, pair.denominator)
        need(sound, f"ratio: {pair} is larger than exp(ε) for edges of length {length}")
        ratios.append((pair.numerator, pair.denominator))
        alphas.append(alpha)
    return ratios, alphas


def check_query(file: Container, graph: Graph) -> None:
    """Compare a box with what the text of the query means, where that is plain."""
    relation = file.get("neighbours", str)
    need(relation in ("change-one", "add-remove", "either"), "unknown neighbour relation")
    text = re.fullmatch(r"([a-z]+)\((\d{1,9})(?:,(\d{1,9}))?\)", file.get("query", str))
    if text is None or (graph.box is None and graph.symmetric is None):
        return
    a, b = int(text[2]), int(text[3] or 0)
    if graph.box is None:
        known = {"cycle": ("cycle", [a]), "databases": ("hamming", [b] * min(a, 65))}
        told = known.get(text[1], graph.symmetric)
        need(
            graph.symmetric == told or relation != "change-one",
            f"query: not the graph of {text[0]}",
        )
        return
    meant = {
        "count": [[a + 1, 1]],
        "path": [[a, 1]],
        "clique": [[a, a]],
        "choice": [[a, a]],
        "sum": [[a * b + 1, b]],
        "counts": [[a + 1, 1]] * min(b, 21),
    }.get(text[1])
    if meant is None or (relation == "add-remove" and text[1] != "count"):
        return
    wide = [[size, min(width, max(size - 1, 1))] for size, width in graph.box]
    same = wide == [[size, min(width, max(size - 1, 1))] for size, width in meant]
    need(same, f"query: {text[0]} has the box {meant}, the file has {graph.box}")


def check_labels(file: Container, nodes: int, outputs: int) -> None:
    """Check that there is one label for each answer and output, all different."""
    for name, count in (("inputs", nodes), ("outputs", outputs)):
        told: dict[str, Any] = file.get(name, dict)
        if "list" in told:
            names = [json.dumps(label) for label in file.get("list", list, told)]
            need(len(names) == count, f"labels: {len(names)} {name} are named, not {count}")
            need(len(set(names)) == count, f"labels: two {name} have the same name")
        elif "sizes" in told:
            sizes = file.get("sizes", list, told)
            need(all(type(s) is int and s > 0 for s in sizes), f"labels: {name} have no sizes")
            product = 1
            for size in sizes[:64]:
                product = min(product * size, 1 << 62)
            need(product == count and len(sizes) <= 64, f"labels: {name} are not {count}")
        else:
            file.number("start", told)
            need(file.number("step", told) != 0, f"labels: two {name} have the same name")


def check_loss(
    file: Container, graph: Graph, weights: Weights, alphas: Sequence[int], checked: list[str]
) -> tuple[Fraction | None, str | None]:
    """Check the stated loss, limit and bound; return what it is above the bound, and the limit."""
    reader = Reader(file, graph, weights.outputs)
    value, stated = reader.expected(weights), file.number("expected_loss")
    off = float(value - stated)
    need(value == stated, f"loss: the weights have {float(value):.12g}, {off:+.3g} from the stated")
    what = "expected loss" if reader.support is None else "worst loss"
    checked.append(f"the {what} is {float(value):.12g}")
    limit, under, counted = None, None, Fraction(0)
    if file.header.get("limit") is not None:
        limit = Limit(file, reader)
        under, what, value = limit.kept(file, weights, value, checked)
    if file.header.get("certificate") is None:
        return None, under
    if limit is not None:
        reader, counted = limit, limit.weigh(file)
    bound = lower_bound(file, graph, reader, list(alphas)) - counted
    stated = file.number("bound")
    off = float(bound - stated)
    need(bound == stated, f"bound: {float(bound):.12g} is proved, {off:+.3g} from the stated")
    others = "no private mechanism" if under is None else f"no private mechanism with {under}"
    checked.append(f"the {what} of {others} is below {float(bound):.12g}")
    return value - bound, under


def main(arguments: Sequence[str]) -> int:
    """Check the file that is named and print what was found; 0 when everything holds."""
    if len(arguments) != 1:
        sys.stdout.write("give the name of one mechanism file\n")
        return 2
    report = check(arguments[0])
    within = report.optimal_within
    lines = [f"holds: {line}" for line in report.checked]
    lines += [f"FAILS: {line}" for line in report.reasons]
    lines.append(f"private: {'yes' if report.private else 'no'}")
    lines.append(f"optimal within: {'not known' if within is None else f'{float(within):.3g}'}")
    lines += [f"among mechanisms with {report.under}"] if report.under else []
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.reasons else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
