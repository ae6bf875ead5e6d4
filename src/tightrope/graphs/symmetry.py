r"""Facts about a graph: its symmetry with the reason, and everything else in one value.

In a distance-regular graph [B, Def 2, Prop 3], two nodes at distance d always see the same: of the
neighbours of the second, :math:`b_d` lie at distance d+1 from the first, :math:`a_d` at distance d
and :math:`c_d` at distance d-1. In a vertex-transitive graph [B, Def 4] some automorphism moves any
node to any other. The two are independent [B, Fig 2, 6]: a Chang graph is distance-regular and not
vertex-transitive, the truncated tetrahedron is vertex-transitive and not distance-regular. Either
of them makes ball sizes constant [B, Prop 5], which is what the bounds need.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tightrope.errors import TooLarge
from tightrope.graphs.automorphisms import acts_transitively
from tightrope.graphs.base import AnswerGraph, IntersectionNumbers
from tightrope.graphs.shapes import girth


def intersection_numbers(
    graph: AnswerGraph, *, transitive: bool = False
) -> IntersectionNumbers | None:
    r"""Return the intersection numbers, or ``None`` when the graph is not distance-regular.

    Decided exactly: by rule for cliques, cycles and products (Hamming graphs:
    :math:`b_d = (u-d)(v-1)`, :math:`c_d = d` [B, Prop 13]), by different degrees, otherwise
    from all distances, or from those of one node where the graph is known to be vertex-transitive.
    Edges with lengths are not counted steps: the answer is then ``None``.

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
    by_rule = graph.intersection_rule()
    if by_rule is None:
        # Where every node sees the same, one root speaks for all.
        return from_distances(graph, roots=1 if transitive else None)
    return by_rule or None


def from_distances(
    graph: AnswerGraph, *, roots: int | None = None, work: int = 4_000_000_000
) -> IntersectionNumbers | None:
    """Return the intersection numbers by counting, one root at a time.

    Parameters
    ----------
    graph
        A graph without lengths.
    roots
        How many roots to compare: all of them unless the graph is known to look the same from
        every node.
    work
        Largest product of roots and edges that is looked at.

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
    if roots * max(graph.size, graph.edge_count) > work:
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


@dataclass(frozen=True)
class Symmetry:
    """What is known about the symmetry of a graph.

    Parameters
    ----------
    distance_regular
        The intersection numbers, or ``None`` when the graph is not distance-regular.
    vertex_transitive
        Whether some automorphism moves any node to any other.
    reason
        How this was decided.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> symmetry(Cycle(6)).vertex_transitive
    True
    """

    distance_regular: IntersectionNumbers | None
    vertex_transitive: bool
    reason: str


def is_vertex_transitive(graph: AnswerGraph) -> bool:
    """Whether some automorphism moves any node to any other [B, Def 4]; lengths are kept.

    Decided exactly: by rule for families and products [B, Prop 14], by different degrees,
    otherwise by a search for automorphisms.

    Examples
    --------
    >>> from tightrope.graphs import CartesianProduct, Clique, chang, truncated_tetrahedron
    >>> is_vertex_transitive(CartesianProduct([Clique(4)] * 20))
    True
    >>> is_vertex_transitive(chang()), is_vertex_transitive(truncated_tetrahedron())
    (False, True)
    """
    return _transitivity(graph)[0]


def symmetry(graph: AnswerGraph) -> Symmetry:
    """Decide both symmetries of a graph and say how.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, chang, truncated_tetrahedron
    >>> found = symmetry(chang())
    >>> found.distance_regular, found.vertex_transitive
    (IntersectionNumbers(b=(12, 5, 0), c=(0, 1, 4)), False)
    >>> found = symmetry(truncated_tetrahedron())
    >>> found.distance_regular, found.vertex_transitive
    (None, True)
    >>> symmetry(PathPower(751, 5)).reason
    'degrees differ (5 … 10), so neither'
    """
    transitive, reason = _transitivity(graph)
    numbers = intersection_numbers(graph, transitive=transitive)
    if graph.has_lengths:
        reason += "; distance-regularity is about edges of length 1"
    elif graph.min_degree == graph.max_degree:
        how = "intersection numbers exist" if numbers else "intersection numbers differ"
        reason += f"; {how}"
    return Symmetry(numbers, transitive, reason)


def _transitivity(graph: AnswerGraph) -> tuple[bool, str]:
    low, high = graph.min_degree, graph.max_degree
    if low != high:
        return False, f"degrees differ ({low} … {high}), so neither"
    if not graph.has_lengths:
        if graph.is_clique:
            return True, "a clique"
        if graph.is_cycle:
            return True, "a cycle"
    by_rule = graph.transitive_rule()
    if by_rule is not None:
        return by_rule
    graph._check_searched("the symmetry")
    if acts_transitively(graph):
        return True, "automorphisms move any node to any other"
    return False, "no automorphism moves some node to some other"


@dataclass(frozen=True)
class GraphFacts:
    """Size, distances, shape and symmetry of an answer graph.

    ``ball_sizes`` is ``None`` where nodes differ in them; ``distance_regular``,
    ``vertex_transitive`` and ``girth`` are ``None`` where the graph is too large to decide.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> graph_facts(Cycle(5)).ball_sizes
    (1, 2, 2)
    """

    nodes: int
    edges: int
    diameter: float
    max_degree: int
    min_degree: int
    girth: int | None
    is_path: bool
    is_cycle: bool
    is_tree: bool
    is_clique: bool
    has_lengths: bool
    distance_regular: bool | None
    vertex_transitive: bool | None
    ball_sizes: tuple[int, ...] | None
    intersection_numbers: dict[str, tuple[int, ...]] | None
    symmetry_reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the facts by name."""
        return asdict(self)

    def sentences(self) -> dict[str, str]:
        """Return the facts for a person to read."""
        shapes = [
            name for name in ("path", "cycle", "tree", "clique") if getattr(self, f"is_{name}")
        ]
        rows = {
            "answers": f"{self.nodes:,}",
            "edges": f"{self.edges:,}" + (" (with lengths)" if self.has_lengths else ""),
            "diameter": f"{self.diameter:,}",
            "degrees": _span(self.min_degree, self.max_degree),
            "shape": ", ".join(shapes) or "none of path, cycle, tree, clique",
            "distance-regular": _yes_no(self.distance_regular),
            "vertex-transitive": _yes_no(self.vertex_transitive),
            "symmetry": self.symmetry_reason,
        }
        if self.girth is not None:
            rows["shortest cycle"] = f"{self.girth}"
        if self.ball_sizes is not None:
            rows["answers at distance 0, 1, …"] = _shorten(self.ball_sizes)
        if self.intersection_numbers is not None:
            rows["intersection numbers"] = "; ".join(
                f"{name} = {_shorten(values)}" for name, values in self.intersection_numbers.items()
            )
        return rows


def graph_facts(graph: AnswerGraph) -> GraphFacts:
    """Collect the facts of a graph, by rule where the family has one.

    >>> from tightrope.graphs import PathPower
    >>> facts = graph_facts(PathPower(751, 5))
    >>> facts.diameter, facts.girth, facts.vertex_transitive
    (150, 3, False)
    """
    found: Symmetry | None = None
    try:
        found = symmetry(graph)
        reason = found.reason
    except TooLarge as unknown:
        reason = str(unknown)
    numbers = found.distance_regular if found else None
    try:
        cycle = girth(graph)
    except TooLarge:
        cycle = None
    return GraphFacts(
        nodes=graph.size,
        edges=graph.edge_count,
        diameter=graph.diameter,
        max_degree=graph.max_degree,
        min_degree=graph.min_degree,
        girth=cycle,
        is_path=graph.is_path,
        is_cycle=graph.is_cycle,
        is_tree=graph.is_tree,
        is_clique=graph.is_clique,
        has_lengths=graph.has_lengths,
        distance_regular=numbers is not None if found else None,
        vertex_transitive=found.vertex_transitive if found else None,
        ball_sizes=graph.constant_ball_sizes,
        intersection_numbers={"b": numbers.b, "c": numbers.c} if numbers else None,
        symmetry_reason=reason,
    )


def _yes_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "too large to decide"}[value]


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} … {high:,}"


def _shorten(numbers: tuple[int, ...]) -> str:
    shown = [f"{n:,}" for n in numbers[:12]]
    return "  ".join(shown) + (" …" if len(numbers) > 12 else "")
