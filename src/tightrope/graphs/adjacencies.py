r"""Artificial adjacencies: more edges for more symmetry [B, Rem 29].

A mechanism that is private on the graph with more edges is private on the original: every
constraint of the original is among its constraints, and distances only shrink. It may be less
useful, the less so the fewer edges were added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.errors import InputError
from tightrope.graphs.base import AnswerGraph
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.lines import PathPower
from tightrope.graphs.shapes import path_order


def add_adjacencies(
    graph: AnswerGraph,
    edges: ArrayLike | Iterable[tuple[int, int]],
    *,
    lengths: ArrayLike | None = None,
    name: str | None = None,
) -> ExplicitGraph:
    r"""Return the graph with more edges, :math:`\sim\; \subseteq\; \sim'` [B, Rem 29].

    If X is ε-private on the result, it is ε-private on the original graph: what was adjacent
    stays adjacent, so :math:`d' \le d` and
    :math:`X_{io} \le e^{\varepsilon d'(i,h)} X_{ho} \le e^{\varepsilon d(i,h)} X_{ho}`.

    Parameters
    ----------
    graph
        The original graph.
    edges
        Pairs of nodes that are not adjacent yet.
    lengths
        Lengths of the new edges, 1 by default.
    name
        Text that describes the result.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> ring = add_adjacencies(PathPower(6), [(0, 5)])
    >>> ring.is_cycle, ring.distance(0, 5)
    (True, 1)
    """
    listed = graph.explicit()
    more = list(edges) if not isinstance(edges, np.ndarray) else edges.tolist()  # type: ignore[arg-type]
    before = listed.edge_array().tolist()
    added = np.ones(len(more)) if lengths is None else np.asarray(lengths)
    if added.shape != (len(more),):
        raise InputError(f"one length for each of the {len(more)} new edges, got {added.shape}")
    return ExplicitGraph(
        [*before, *more],
        lengths=np.concatenate([listed.edge_lengths(), added]),
        labels=listed.labels,
        name=name or f"{graph.name} with {len(more)} more edge{'s' * (len(more) != 1)}",
    )


def close_ring(graph: AnswerGraph) -> ExplicitGraph:
    """Return a line closed to a ring by one edge between its ends [B, Rem 29, Table 2].

    The ring is distance-regular and vertex-transitive, the line is neither; a mechanism that
    is private on the ring is private on the line.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.graphs.symmetry import is_vertex_transitive
    >>> is_vertex_transitive(PathPower(6)), is_vertex_transitive(close_ring(PathPower(6)))
    (False, True)
    """
    graph._check_unit("rings")
    if not graph.is_path or graph.size < 3:
        raise InputError(
            f"a ring is closed from a line of at least 3 answers, but {graph.name} is none"
        )
    order: Any = (0, graph.size - 1) if isinstance(graph, PathPower) else path_order(graph)
    ends = (int(order[0]), int(order[-1]))
    return add_adjacencies(graph, [ends], name=f"{graph.name} closed to a ring")
