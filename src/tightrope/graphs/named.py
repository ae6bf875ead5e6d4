"""Small graphs with a name, which tell symmetries apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tightrope.arrays import IntTuple
from tightrope.errors import InputError, TooLarge, whole_number
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.registry import Parameter, family


@family("petersen", meaning="the Petersen graph", example="petersen")
def petersen() -> ExplicitGraph:
    """Return the Petersen graph: pairs out of five, adjacent when disjoint.

    >>> petersen().size, petersen().diameter, petersen().label(0)
    (10, 2, (0, 1))
    """
    pairs = list(itertools.combinations(range(5), 2))
    return _graph(pairs, lambda a, b: not set(a) & set(b), "petersen")


@family(
    "chang",
    Parameter("k", "which of the three, 1 by default", 1, 1),
    meaning="a Chang graph: distance-regular, not vertex-transitive",
    example="chang",
)
def chang(which: int = 1) -> ExplicitGraph:
    """Return one of the three Chang graphs: distance-regular, not vertex-transitive [B, §2.3].

    The nodes are the pairs out of eight, adjacent when they share a member, after switching
    [Seidel] with respect to four disjoint pairs (1), an 8-cycle (2) or a 3-cycle and a
    5-cycle (3).

    >>> chang().size, chang().degree(0), chang().diameter
    (28, 12, 2)
    """
    cycles: dict[int, Sequence[Sequence[int]]] = {
        1: [(0, 1), (2, 3), (4, 5), (6, 7)],
        2: [range(8)],
        3: [(0, 1, 2), (3, 4, 5, 6, 7)],
    }
    if which not in cycles:
        raise InputError(f"there are Chang graphs 1, 2 and 3, got {which!r}")
    # The edges of the cycles, which are pairs out of eight, that is nodes.
    switched = {
        tuple(sorted((ring[k], ring[(k + 1) % len(ring)])))
        for ring in cycles[which]
        for k in range(len(ring))
    }
    pairs = list(itertools.combinations(range(8), 2))
    # Switching exchanges edges and non-edges between the chosen nodes and the others.
    return _graph(
        pairs,
        lambda a, b: bool(set(a) & set(b)) != ((a in switched) != (b in switched)),
        "chang" if which == 1 else f"chang({which})",
    )


@family(
    "truncated_tetrahedron",
    meaning="vertex-transitive, not distance-regular",
    example="truncated_tetrahedron",
)
def truncated_tetrahedron() -> ExplicitGraph:
    """Return the truncated tetrahedron: vertex-transitive, not distance-regular [B, §2.3].

    Node (a, b) is the corner cut off at a on the edge towards b.

    >>> truncated_tetrahedron().size, truncated_tetrahedron().ball_sizes(0)
    (12, (1, 3, 4, 4))
    """
    corners = list(itertools.permutations(range(4), 2))
    return _graph(
        corners, lambda x, y: x[0] == y[0] or x == y[::-1], "truncated_tetrahedron"
    )


@family(
    "folded_cube",
    Parameter("d", "dimension", 3),
    meaning="a hypercube of dimension d-1 with its opposite corners joined",
    example="folded_cube(4)",
)
def folded_cube(dimension: int) -> ExplicitGraph:
    r"""Return the hypercube of dimension d-1 plus an edge between opposite corners.

    :math:`d(x, y) = \min(h, d-h)` with the Hamming distance h. Φ of ``folded_cube(4)`` is
    singular at α = 1/3 [A, App B].

    >>> cube = folded_cube(4)
    >>> cube.size, cube.degree(0), cube.ball_sizes(0), cube.label(5)
    (8, 4, (1, 4, 3), (1, 0, 1))
    """
    bits = whole_number(dimension, "the dimension of a folded cube", 3) - 1
    name = f"folded_cube({dimension})"
    if bits > 16:
        raise TooLarge(f"the edges of {name} are listed: its dimension is at most 17")
    # Flip one bit, or all of them: the opposite corner.
    single = [1 << k for k in range(bits)]
    flips = [*single, 2**bits - 1]
    moves = ((i, i ^ flip) for i in range(2**bits) for flip in flips)
    edges = [(i, j) for i, j in moves if i < j]
    return ExplicitGraph(
        edges, labels=[*itertools.product((0, 1), repeat=bits)], name=name
    )


def _graph(
    labels: Sequence[IntTuple],
    near: Callable[[IntTuple, IntTuple], bool],
    name: str,
) -> ExplicitGraph:
    numbered = itertools.combinations(enumerate(labels), 2)
    edges = [(i, j) for (i, a), (j, b) in numbered if near(a, b)]
    return ExplicitGraph(edges, labels=labels, name=name)
