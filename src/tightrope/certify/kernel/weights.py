"""Integer weights: rows of sum 2^bits that are private on every edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tightrope.certify.kernel.consumer import StatedConsumer
from tightrope.certify.kernel.exponentials import check_ratios, short_number
from tightrope.certify.kernel.format import (
    CHUNK,
    MASK,
    OPTIONS,
    WEIGHTS,
    Array,
    Contents,
    File,
    Header,
    Part,
    Sizes,
    need,
    need_work,
    present,
    registered,
    whole,
)
from tightrope.certify.kernel.graphs import Graph, need_names, own_graph

Derive = Callable[[str, str], Graph]


class AnyWeights(Part):
    """What every kind of weights has: a ratio for each edge length, and a verdict."""

    kind: ClassVar[str]
    on_lattice: ClassVar[bool] = False
    #: Whether outputs together may exceed the ratio by a δ.
    takes_delta: ClassVar[bool] = False
    file: Contents
    bits: int

    @cached_property
    def alphas(self) -> list[int]:
        """α' of every edge length, after its ratio was checked."""
        return check_ratios(self.file.header)

    def own_gap(self) -> tuple[Fraction, str] | None:
        """Return what is proved of the quality without a consumer: a gap, and it in words."""
        return None

    @classmethod
    def edge_lengths(cls, header: Header) -> list[Fraction]:
        """Return the lengths that the ratios are for."""
        return [Fraction(1)] if header["graph"] is None else header["graph"]["lengths"]

    @classmethod
    def ratio_words(cls, header: Header) -> str:
        """Return in words that the ratios are allowed."""
        ratio = short_number(header["ratios"][0])
        more = len(header["ratios"]) - 1
        others = f", and so are {more} for other lengths" if more else ""
        return f"p/q = {ratio} is at most exp(ε) for edges of length 1{others}"


class Weights(AnyWeights):
    """Integer weights ``W[i,o]`` with rows of sum ``2^bits`` on a graph, listed or implicit."""

    # Yields blocks of columns, each with the number of its first output.
    columns: ClassVar[Any]

    def __init__(
        self, file: Contents, graph: Graph, answers: int | None = None
    ) -> None:
        self.file = file
        self.graph = graph
        # Those of the question, also outside a window.
        self.answers = answers or graph.nodes
        capped = graph.form == "capped"
        need(not capped, "a sum of people who come and go needs a window here")
        self.ratios = [(r.numerator, r.denominator) for r in file.header["ratios"]]
        self.given = file.header["weights"]
        self.bits = self.given["bits"]
        self.total = 1 << self.bits
        self.outputs: int = self.given.get("outputs", graph.nodes)
        named = file.header["outputs"]
        own = named is not None or self.outputs == graph.nodes
        need(own, "outputs without names are the answers")
        need_names(named, self.outputs, "outputs")

    @classmethod
    def read(cls, file: File, derive: Derive) -> Weights:
        """Read the weights of a file on the graph of its question, or on one of its own."""
        header = file.header
        if header["query"] is None:
            file.expect(header["graph"]["nodes"])
            return cls(file, own_graph(file))
        graph = derive(header["query"], header["neighbours"])
        answers = graph.nodes
        # Sections have as many entries as the restricted graph has answers.
        for option in present(header):
            graph = option.restrict(header, graph)
        file.expect(graph.nodes)
        return cls(file, graph, answers)

    def consumer(self) -> StatedConsumer:
        """Return the consumer whose loss these weights have."""
        return StatedConsumer(self)

    def common_loss(self, consumer: StatedConsumer) -> Fraction | None:
        """Return the expected loss where it is the same for all answers, if that is known."""
        return None

    def answer_losses(self, consumer: StatedConsumer) -> Array:
        """Return ``Σ_o W[i,o]·loss(i, guess of o)`` for all i, times the unit of the loss."""
        n = self.graph.nodes
        each = np.full(n, self.total if consumer.binary else 0, object)
        work = 1 if consumer.binary else n * self.outputs * consumer.effort
        need_work("adding up the losses", work, 300)
        for start, block in self.columns():
            guesses = consumer.guess_of[start : start + block.shape[1]]
            if consumer.binary:
                # Of each output the loss is 1 but where its guess is the answer.
                right = block[guesses, np.arange(len(guesses))]
                np.subtract.at(each, guesses, right.astype(object))
                continue
            for o, guess in enumerate(guesses.tolist()):
                each += consumer.losses(guess) * block[:, o].astype(object)
        return each

    def proved_for(self, whose: str) -> str:
        """Return what was checked, and for which question or graph."""
        header = self.file.header
        excess = "W[i,o]·q <= W[h,o]·p"
        if header["delta"] is not None:
            excess = OPTIONS["delta"].words(self)
        edges = f"on every edge of the {self.graph.nodes} answers of {whose}"
        held = f"{excess} for each of {self.outputs} outputs, {edges}"
        return f"{held}; rows sum to 2^{self.bits}"


@registered(WEIGHTS, "dense")
class DenseWeights(Weights):
    """A matrix of weights, column by column."""

    kind = "dense"
    takes_delta = True
    fields: ClassVar = {"bits": whole(0, 481), "outputs": whole(1, 1 << 31)}

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the section of the matrix."""
        given = header["weights"]
        return {"weights": (nodes * given["outputs"], 0, (1 << given["bits"]) + 1)}

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield blocks of columns, each with the number of its first output."""
        start = 0
        for block in self.file.columns(self.graph.nodes):
            yield start, block
            start += block.shape[1]

    def faults(self) -> Iterator[str]:
        """Yield the first row with another sum, and the first breach of privacy."""
        graph = self.graph
        # Products below 2^93 are compared in two limbs of int64; wider ones as Python integers.
        largest = max(max(r) for r in self.ratios)
        narrow = self.bits <= 62 and largest <= MASK
        each = 2 * len(graph.edges) if graph.form == "list" else 2 * graph.nodes
        for size, width in graph.sides:
            # A minimum over a window of width w takes about log2(w) passes.
            each += graph.nodes * (2 + min(width, size).bit_length()) // 2
        steps = (each + graph.nodes) * self.outputs
        wide = self.bits + largest.bit_length()  # bits of a product
        each = 14 if narrow else 250 + wide**2 / 3e4
        need_work("comparing neighbours", steps, each)
        blocks = -(-self.outputs * graph.nodes // CHUNK)
        need_work("comparing edges of many lengths", len(self.ratios) * blocks, 50_000)
        relaxed = self.file.header["delta"] is not None
        low: Array | int = 0
        high: Array | int = 0
        breach = None
        for start, block in self.columns():
            # Sums of limbs of 31 bits, over at most 2^20 columns, do not wrap around.
            low += (block & MASK).sum(axis=1).astype(object)
            high += (block >> 31).sum(axis=1).astype(object)
            breach = breach or (None if relaxed else self._breach(start, block))
        yield from OPTIONS["delta"].faults(self) if relaxed else filter(None, [breach])
        # Recombine the limbs in Python integers.
        sums = np.asarray(high * (1 << 31) + low)
        for i in np.flatnonzero(sums != self.total)[:1].tolist():
            yield f"total: row {i} sums to {sums[i]}, which is {sums[i] - self.total:+d} off"

    def _breach(self, start: int, block: Array) -> str | None:
        """Return the first breach of privacy in a block of columns."""
        for first, ends, a, b, which in compared(self.graph, block):
            p, q = self.ratios[which]
            for k, o in np.argwhere(exceeds(a, b, p, q))[:1].tolist():
                # On a box the row was compared with a minimum: find the neighbour that attains it.
                i, h = (k, self._smallest(k, a[:, o])) if ends is None else ends[k]
                more = int(block[i, first + o])
                less = int(block[h, first + o])
                rows = f"{more} in row {i} and {less} in the neighbouring row {h}"
                over = f"{more}·{q} exceeds {less}·{p} by {more * q - less * p}"
                return f"privacy: output {start + first + o} weighs {rows}: {over}"
        return None

    def _smallest(self, i: int, column: Array) -> int:
        """Return the neighbour of i with the smallest weight in a column."""
        nodes = np.arange(self.graph.nodes)
        near = np.flatnonzero(self.graph.ratio_of(nodes * 0 + i, nodes) >= 0)
        return int(near[column[near].argmin()])


def exceeds(a: Array, b: Array, p: int, q: int) -> Array:
    """Return where ``a·q > b·p``, for non-negative integers below 2^62, without rounding.

    >>> exceeds(np.array([6, 7]), np.array([3, 3]), 2, 1).tolist()
    [False, True]
    """
    if object in (a.dtype, b.dtype) or max(p, q) > MASK:
        return np.asarray(a.astype(object) * q > b.astype(object) * p, dtype=bool)
    # Products in two limbs of 31 bits: high·2^31 + low.
    a_low = (a & MASK) * q
    b_low = (b & MASK) * p
    a_high = (a >> 31) * q + (a_low >> 31)
    b_high = (b >> 31) * p + (b_low >> 31)
    # Equal upper limbs leave the decision to the lower ones.
    lower = (a_low & MASK) > (b_low & MASK)
    return np.asarray((a_high > b_high) | ((a_high == b_high) & lower))


def compared(
    graph: Graph, block: Array
) -> Iterator[tuple[int, Array | None, Array, Array, int]]:
    """Yield what must not exceed what, a million numbers at a time.

    Each piece has the number of its first column, the arcs that its rows are (``None`` where every
    row is compared with the smallest one near it), both sides, and which ratio binds them.
    """
    together = CHUNK
    if graph.form != "list":
        step = max(1, together // len(block))
        for first in range(0, block.shape[1], step):
            some = block[:, first : first + step]
            yield first, None, some, graph.smallest_near(some), 0
        return
    step = max(1, together // block.shape[1])
    # Group edges by length: all edges of one length share one ratio.
    order = np.argsort(graph.length, kind="stable")
    cuts = np.searchsorted(graph.length[order], np.arange(1, len(graph.lengths)))
    for which, mine in enumerate(np.split(graph.edges[order], cuts)):
        for at in range(0, len(mine), step):
            some = mine[at : at + step]
            for ends in (some, some[:, ::-1]):
                yield 0, ends, block[ends[:, 0]], block[ends[:, 1]], which
