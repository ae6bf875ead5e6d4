"""Small graphs with a name, which tell symmetries apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tightrope.errors import InputError
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
    switched = {
        tuple(sorted((ring[k], ring[(k + 1) % len(ring)])))
        for ring in cycles[which]
        for k in range(len(ring))
    }
    pairs = list(itertools.combinations(range(8), 2))
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
    return _graph(corners, lambda x, y: x[0] == y[0] or x == y[::-1], "truncated_tetrahedron")


def _graph(
    labels: Sequence[tuple[int, ...]],
    near: Callable[[tuple[int, ...], tuple[int, ...]], bool],
    name: str,
) -> ExplicitGraph:
    numbered = itertools.combinations(enumerate(labels), 2)
    edges = [(i, j) for (i, a), (j, b) in numbered if near(a, b)]
    return ExplicitGraph(edges, labels=labels, name=name)
