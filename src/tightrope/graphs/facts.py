"""Everything worth knowing about an answer graph, in one value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tightrope.errors import TooLarge
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.shapes import girth
from tightrope.graphs.symmetry import symmetry


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
    numbers = None
    try:
        found = symmetry(graph)
        regular: bool | None = found.distance_regular is not None
        transitive: bool | None = found.vertex_transitive
        reason = found.reason
        if found.distance_regular is not None:
            numbers = {"b": found.distance_regular.b, "c": found.distance_regular.c}
    except TooLarge as unknown:
        regular = transitive = None
        reason = str(unknown)
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
        distance_regular=regular,
        vertex_transitive=transitive,
        ball_sizes=graph.constant_ball_sizes,
        intersection_numbers=numbers,
        symmetry_reason=reason,
    )


def _yes_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "too large to decide"}[value]


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} … {high:,}"


def _shorten(numbers: tuple[int, ...]) -> str:
    shown = [f"{n:,}" for n in numbers[:12]]
    return "  ".join(shown) + (" …" if len(numbers) > 12 else "")
