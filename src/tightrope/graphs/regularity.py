r"""Distance-regular graphs and their intersection numbers [B, Def 2, Prop 3].

In a distance-regular graph, two nodes at distance d always see the same: of the neighbours of
the second, :math:`b_d` lie at distance d+1 from the first, :math:`a_d` at distance d and
:math:`c_d` at distance d-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.errors import TooLarge
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.named import FoldedCube
from tightrope.graphs.products import CartesianProduct, StrongProduct

#: Largest product nodes × edges for which all distances are compared.
COMPARE_WORK = 4_000_000_000


@dataclass(frozen=True)
class IntersectionNumbers:
    r"""The numbers :math:`b_d, c_d` for every distance :math:`d = 0 … D`.

    Parameters
    ----------
    b
        Neighbours one step further away; :math:`b_0` is the degree, :math:`b_D = 0`.
    c
        Neighbours one step nearer; :math:`c_0 = 0`.

    Examples
    --------
    >>> numbers = IntersectionNumbers(b=(3, 2, 0), c=(0, 1, 1))       # the Petersen graph
    >>> numbers.degree, numbers.a, numbers.ball_sizes
    (3, (0, 0, 2), (1, 3, 6))
    """

    b: tuple[int, ...]
    c: tuple[int, ...]

    @property
    def degree(self) -> int:
        """The degree of every node."""
        return self.b[0]

    @property
    def a(self) -> tuple[int, ...]:
        """Neighbours at the same distance: the rest of the degree."""
        return tuple(self.degree - b - c for b, c in zip(self.b, self.c, strict=True))

    @property
    def diameter(self) -> int:
        """The largest distance D."""
        return len(self.b) - 1

    @property
    def ball_sizes(self) -> tuple[int, ...]:
        r"""How many nodes lie at distance d: :math:`n_{d+1} = n_d b_d / c_{d+1}` [B, Prop 5]."""
        sizes = [1]
        for b, c in zip(self.b, self.c[1:], strict=False):
            sizes.append(sizes[-1] * b // c)
        return tuple(sizes)


def intersection_numbers(graph: AnswerGraph) -> IntersectionNumbers | None:
    r"""Return the intersection numbers, or ``None`` when the graph is not distance-regular.

    Decided exactly: by rule for cliques, cycles, folded cubes and products (Hamming graphs:
    :math:`b_d = (u-d)(v-1)`, :math:`c_d = d` [B, Prop 13]), by different degrees, otherwise
    from all distances. Edges with lengths are not counted steps: the answer is then ``None``.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique
    >>> intersection_numbers(CartesianProduct([Clique(4)] * 20)).b[:3]
    (60, 57, 54)
    >>> intersection_numbers(PathPower(10)) is None
    True
    """
    if graph.has_lengths or graph.min_degree != graph.max_degree:
        return None
    if graph.size == 1:
        return IntersectionNumbers((0,), (0,))
    if graph.is_clique:
        return IntersectionNumbers((graph.size - 1, 0), (0, 1))
    if graph.is_cycle:
        half, odd = divmod(graph.size, 2)
        ones = (1,) * (half - 1)
        return IntersectionNumbers((2, *ones, 0), (0, *ones, 1 if odd else 2))
    if isinstance(graph, FoldedCube):
        half, odd = divmod(graph.dimension, 2)
        far = half if odd else graph.dimension
        return IntersectionNumbers(
            (*range(graph.dimension, graph.dimension - half, -1), 0), (*range(half), far)
        )
    if isinstance(graph, CartesianProduct):
        return _of_cartesian_product(graph)
    if isinstance(graph, StrongProduct):
        return _of_strong_product(graph)
    return from_distances(graph)


def _of_cartesian_product(graph: CartesianProduct) -> IntersectionNumbers | None:
    r"""Decide from the factors.

    Nodes that differ by i in one factor and j in another see :math:`c = c_i + c'_j` and
    :math:`b = b_i + b'_j` besides constants, which depend on i + j alone only if both are
    linear with common slopes. One layer of a distance-regular product is distance-regular.
    """
    factors = [f for f in graph.factors if f.size > 1]
    if len(factors) == 1:
        return intersection_numbers(factors[0])
    found = {id(f): intersection_numbers(f) for f in {id(f): f for f in factors}.values()}
    slopes = set()
    for numbers in found.values():
        if numbers is None or numbers.c != tuple(range(numbers.diameter + 1)):
            return None
        slope = numbers.b[0] // numbers.diameter
        if numbers.b != tuple(slope * d for d in range(numbers.diameter, -1, -1)):
            return None
        slopes.add(slope)
    if len(slopes) > 1:
        return None
    across = graph.diameter
    slope = slopes.pop()
    return IntersectionNumbers(
        tuple(slope * d for d in range(across, -1, -1)), tuple(range(across + 1))
    )


def _of_strong_product(graph: StrongProduct) -> IntersectionNumbers | None:
    """Decide from the factors.

    Neighbours that differ in one factor share ``(a₁+2)(k'+1)`` nodes of their closed balls,
    neighbours that differ in both ``(a₁+2)(a'₁+2)``: equal only when all factors are cliques.
    """
    factors = [f for f in graph.factors if f.size > 1]
    return intersection_numbers(factors[0]) if len(factors) == 1 else None


def from_distances(graph: AnswerGraph, *, roots: int | None = None) -> IntersectionNumbers | None:
    """Return the intersection numbers by counting, one root at a time.

    Parameters
    ----------
    graph
        A graph without lengths.
    roots
        How many roots to compare: all of them unless the graph is known to look the same from
        every node.

    Examples
    --------
    >>> from tightrope.graphs import petersen, truncated_tetrahedron
    >>> from_distances(petersen())
    IntersectionNumbers(b=(3, 2, 0), c=(0, 1, 1))
    >>> from_distances(truncated_tetrahedron()) is None
    True
    """
    if roots is None:
        roots = graph.size
    if roots * max(graph.size, graph.edge_count) > COMPARE_WORK:
        raise TooLarge(
            f"distance-regularity of {graph.name} would need {roots} searches over "
            f"{graph.edge_count} edges, and no rule decides it"
        )
    edges = graph.edge_array()
    begin, end = np.concatenate([edges, edges[:, ::-1]]).T
    found = None
    for root in range(roots):
        distance = graph.distances_from(root)
        step = distance[end] - distance[begin]
        rows = []
        for change in (1, -1):
            counts = np.bincount(begin[step == change], minlength=graph.size)
            first = np.zeros(int(distance.max()) + 1, np.int64)
            first[distance] = counts
            if not np.array_equal(first[distance], counts):
                return None
            rows.append(tuple(first.tolist()))
        numbers = IntersectionNumbers(*rows)
        if found not in (None, numbers):
            return None
        found = numbers
    return found
