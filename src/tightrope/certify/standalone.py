"""The judge alone: the graphs of the common questions from their text, and the command.

In the package the room of questions derives the graphs. The judge as one file has these; a new
family of graphs is taught to it here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import comb, prod

import numpy as np

from tightrope.certify.kernel.format import File, need, need_work
from tightrope.certify.kernel.graphs import Graph, simplest
from tightrope.certify.kernel.verdict import Verification, judged
from tightrope.certify.kernel.weights import Derive
from tightrope.certify.theorems.unbounded import named_lattice, parse_call
from tightrope.lattices import Lattice


def question_graph(question: str, relation: str) -> Graph:
    """Derive answers, labels and neighbours of a common question from its text.

    The judge in the package knows every question; this rule, read alone, knows these. A person
    has one value; under change-one it changes, under either one may also come or go.

    >>> question_graph("sum(150,5)", "change-one").sides
    ((751, 5),)
    """
    name, sizes = parse_call(question)
    change = relation != "add-remove"
    absent = relation != "change-one"
    large = f"question: {question} is too large"
    need(not sizes or max(sizes) < 1 << 23, large)
    form = "box"
    sides = [(0, 0)]
    edges = None
    # Sums, counts and histograms are parts of a lattice; other questions have rules below.
    match named_lattice(name, sizes, relation) or (name, sizes):
        case Lattice("line" | "cube") as lattice if not lattice.ends:
            sides = [(lattice.people + 1, lattice.width)] * min(lattice.parts, 65)
        case Lattice("line") as lattice if lattice.people >= 1 << 12:
            form = "capped"
            sides = [(lattice.people + 1, lattice.width)]
        case Lattice("line", _, last, width) as lattice:
            # Nobody can join where all people are counted: the last answers lack edges.
            starts = range(lattice.inner + 1)
            edges = [
                (i, h) for i in starts for h in range(i + 1, min(last, i + width) + 1)
            ]
        case Lattice("roots" | "cross") as lattice:
            return histogram_graph(lattice)
        case "clique" | "choice", [n]:
            sides = [(n, n - 1)]
        case "cycle", [n] if n > 2:
            form, sides = ("ring", [(n, 1)]) if n != 3 else ("box", [(3, 2)])
        case "count_mod", [n, m] if n >= m > 3:
            form = "ring"
            sides = [(m, 1)]
        case "count_mod", [n, m]:
            # Fewer people than m never wrap (a path); modulo 3 the ring is a triangle.
            sides = [(min(n + 1, m), 1 + (n >= m == 3))]
        case "grid", [_, *_]:
            form = "product"
            sides = [(n, 1) for n in sizes]
        case "hypercube", [d]:
            form = "product"
            sides = [(2, 1)] * min(d, 65)
        case "databases", [u, v] if change:
            form = "product"
            # One clique for each person, over the values; absent people have one more value.
            sides = [(v + absent, v - 1 + absent)] * min(u, 65)
        case "star", [k]:
            need(k < 1 << 20, large)
            edges = [(0, i) for i in range(1, k + 1)]
        case "tree", [b, height]:
            need(height < 20 or b == 1, large)
            nodes = sum(b**row for row in range(height + 1))
            need(nodes <= 1 << 20, large)
            # Heap order: the parent of node i is (i-1)//b.
            edges = [((i - 1) // b, i) for i in range(1, nodes)]
        case _:
            unknown = f"question: {question} under {relation} is not known here"
            need(False, f"{unknown}, but to tightrope verify")
    if edges is not None:
        listed = np.array(edges, np.int64).reshape(-1, 2)
        nodes = 1 + int(listed.max(initial=0))
        return simplest(Graph("list", nodes, (), listed, listed[:, 0] * 0))
    need(len(sides) <= 64, large)
    # A width above size-1 adds no edge.
    wide = [(size, max(1, min(width, size - 1))) for size, width in sides]
    if form == "product":  # sides of one answer say nothing
        wide = [side for side in wide if side[0] > 1] or [(1, 1)]
        form = "product" if len(wide) > 1 else "box"
    graph = Graph(form, prod(size for size, _ in wide), tuple(wide))
    if name in ("counts", "grid", "hypercube", "databases"):
        shift = int(absent) if name == "databases" else 0

        def tuple_label(i: int) -> tuple[int | None, ...]:
            return tuple(d - shift if d >= shift else None for d in digits(i, sides))

        graph.label = tuple_label
        return graph
    step = Fraction(1, sizes[0]) if name == "mean" else Fraction(1)
    graph.line = Fraction(0), step
    if name == "mean":
        graph.label = lambda i: i * step
    return graph


def digits(i: int, sides: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the coordinates of node i, the last one fastest.

    >>> digits(7, ((3, 1), (5, 1)))
    (1, 2)
    """
    coordinates = []
    for size, _ in reversed(sides):
        i, digit = divmod(i, size)
        coordinates.append(digit)
    return tuple(reversed(coordinates))


def histogram_graph(lattice: Lattice) -> Graph:
    """Derive ``histogram(n,c)``: counts in lexicographic order; a neighbour moves one person.

    Absent people are one more class, which labels do not show; under add-remove every move is
    into it or out of it.

    >>> histogram_graph(Lattice("roots", 3, 1)).edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    people = lattice.people
    change = lattice.form == "roots"
    bins = lattice.parts + (not change)
    classes = lattice.parts - lattice.hidden
    # Bound people·bins first: a binomial of huge arguments is itself too expensive.
    many = people * bins < 1 << 20
    small = many and comb(people + bins - 1, bins - 1) <= 1 << 16
    need(small, "question: this histogram is too large")
    need_work("listing a histogram", comb(people + bins - 1, bins - 1) * bins**3, 50)

    # Bars between the people: the places of the bars and the counts have the same order.
    places = combinations(range(people + bins - 1), bins - 1)
    bars = ((-1, *some, people + bins - 1) for some in places)
    vectors = [tuple(b - a - 1 for a, b in pairwise(ends)) for ends in bars]
    place = {vector: i for i, vector in enumerate(vectors)}
    pairs = permutations(range(bins), 2)
    moves = [move for move in pairs if change or bins - 1 in move]
    edges = []
    for i, vector in enumerate(vectors):
        for give, take in moves:
            moved = list(vector)
            moved[give] -= 1
            moved[take] += 1
            # A move out of an empty bin is not in the table: it maps i to i, which adds no edge.
            h = place.get(tuple(moved), i)
            if i < h:
                edges.append((i, h))
    ends = np.array(sorted(edges), np.int64).reshape(-1, 2)
    name = [vector[:classes] for vector in vectors].__getitem__
    return simplest(Graph("list", len(vectors), (), ends, ends[:, 0] * 0, label=name))


def check(
    source: str | os.PathLike[str] | bytes | File, derive: Derive = question_graph
) -> Verification:
    """Check a file, or its bytes; whatever is wrong becomes a reason.

    >>> check(b"nothing").reasons
    ('not a mechanism file: it is only 7 bytes long',)
    """
    return judged(source, derive)


def main(arguments: Sequence[str]) -> int:
    """Check the file that is named and print what was found; 0 when everything holds.

    >>> main([])
    give the name of one mechanism file
    2
    """
    if len(arguments) != 1:
        sys.stdout.write("give the name of one mechanism file\n")
        return 2
    report = check(arguments[0])
    sys.stdout.write(f"{report}\n")
    return 1 if report.reasons else 0
