r"""The weights of a mechanism file: their rows and their privacy.

``W[i,o]·q <= W[h,o]·p`` on every edge, with p/q at most exp(ε) [A, Lemma 1].
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tightrope.certify.container import Array, Container, need
from tightrope.certify.neighbours import BLOCK, MASK, PAIR_LIMIT, Graph, box_sums

# -- weights: rows and privacy ------------------------------------------------------------


def exceeds(a: Array, b: Array, p: int, q: int) -> Array:
    """Return where ``a·q > b·p``, for non-negative integers below 2^62, without rounding.

    >>> exceeds(np.array([6, 7]), np.array([3, 3]), 2, 1).tolist()
    [False, True]
    """
    if object in (a.dtype, b.dtype) or max(p, q) > MASK:
        return np.asarray(a.astype(object) * q > b.astype(object) * p, dtype=bool)
    a0, b0 = (a & MASK) * q, (b & MASK) * p
    a1, b1 = (a >> 31) * q + (a0 >> 31), (b >> 31) * p + (b0 >> 31)
    found: Array = (a1 > b1) | ((a1 == b1) & ((a0 & MASK) > (b0 & MASK)))
    return found


class Weights:
    """Integer weights ``W[i,o]`` with rows of sum ``2^bits``, listed or by rule.

    >>> Weights.__name__
    'Weights'
    """

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
