"""Which symmetry a graph has, and why: distance-regular, vertex-transitive, both or neither.

The two properties are independent [B, Fig 2, 6]: a Chang graph is distance-regular and not
vertex-transitive, the truncated tetrahedron is vertex-transitive and not distance-regular. Either
of them makes ball sizes constant [B, Prop 5], which is what the bounds need.
"""

from __future__ import annotations

from dataclasses import dataclass

from tightrope.errors import TooLarge
from tightrope.graphs.automorphisms import acts_transitively
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.coloured import SEARCH_NODES
from tightrope.graphs.named import FoldedCube
from tightrope.graphs.products import CartesianProduct, ProductGraph, StrongProduct
from tightrope.graphs.regularity import (
    IntersectionNumbers,
    from_distances,
    intersection_numbers,
)


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

    @property
    def is_symmetric(self) -> bool:
        """Whether the graph has one of the two symmetries, so that ball sizes are constant."""
        return self.vertex_transitive or self.distance_regular is not None


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
    if graph.has_lengths or graph.min_degree != graph.max_degree:
        numbers = None
    elif transitive and not _has_rule(graph):
        # Every node sees the same, so one root speaks for all.
        numbers = from_distances(graph, roots=1)
    else:
        numbers = intersection_numbers(graph)
    if graph.has_lengths:
        reason += "; distance-regularity is about edges of length 1"
    elif graph.min_degree == graph.max_degree:
        how = "intersection numbers exist" if numbers else "intersection numbers differ"
        reason += f"; {how}"
    return Symmetry(numbers, transitive, reason)


def _has_rule(graph: AnswerGraph) -> bool:
    rules = (ProductGraph, FoldedCube)
    return isinstance(graph, rules) or graph.is_clique or graph.is_cycle


def _transitivity(graph: AnswerGraph) -> tuple[bool, str]:
    low, high = graph.min_degree, graph.max_degree
    if low != high:
        return False, f"degrees differ ({low} … {high}), so neither"
    if not graph.has_lengths:
        if graph.is_clique:
            return True, "a clique"
        if graph.is_cycle:
            return True, "a cycle"
    if isinstance(graph, FoldedCube):
        return True, "adding a corner's coordinates moves any corner to any other"
    if isinstance(graph, CartesianProduct | StrongProduct):
        kind = "Cartesian" if isinstance(graph, CartesianProduct) else "strong"
        factors = {id(f): f for f in graph.factors}.values()
        if all(is_vertex_transitive(factor) for factor in factors):
            return True, f"a {kind} product of vertex-transitive factors"
        if isinstance(graph, CartesianProduct):
            return False, "a Cartesian product with a factor that is not vertex-transitive"
    if graph.size > SEARCH_NODES:
        raise TooLarge(
            f"the symmetry of {graph.name} is not known by rule, and its {graph.size} answers "
            f"are more than the {SEARCH_NODES} that are searched"
        )
    if acts_transitively(graph):
        return True, "automorphisms move any node to any other"
    return False, "no automorphism moves some node to some other"
