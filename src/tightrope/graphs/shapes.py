"""Shapes of graphs: shortest cycles, connected parts, orders along paths, edges for symmetry.

Shapes are about the edges alone, whatever their lengths.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, Ints, IntTuple, Pair
from tightrope.errors import InputError
from tightrope.graphs.base import AnswerGraph, frozen
from tightrope.graphs.explicit import ExplicitGraph


def girth(graph: AnswerGraph) -> int | None:
    """Return the number of edges of a shortest cycle, or ``None`` for a tree.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Cycle, petersen
    >>> girth(petersen()), girth(Cycle(1_000_000)), girth(PathPower(9)), girth(PathPower(9, 2))
    (5, 1000000, None, 3)
    """
    if not graph.is_tree and graph.is_cycle:
        return graph.size
    cycle = shortest_cycle(graph)
    return None if cycle is None else len(cycle)


def shortest_cycle(graph: AnswerGraph) -> IntTuple | None:
    """Return the nodes of a shortest cycle in order, or ``None`` for a tree.

    Examples
    --------
    >>> from tightrope.graphs import CartesianProduct, Clique, Cycle, Star
    >>> shortest_cycle(Cycle(4)), shortest_cycle(Star(5))
    ((0, 1, 2, 3), None)
    >>> len(shortest_cycle(CartesianProduct([Clique(2)] * 40)))
    4
    """
    if graph.is_tree:
        return None
    if graph.is_cycle:
        graph._check_row("the list of nodes")
        order = range(graph.size) if graph.is_ring else _walk(graph, 0).tolist()
        return tuple(order)
    if graph.is_clique:
        return 0, 1, 2
    least = graph.least_girth
    best: IntTuple | None = None
    near = functools.cache(lambda node: graph.neighbours(node).tolist())
    # Most graphs with short cycles have one around their first nodes: no search of all nodes.
    for node in range(min(3, graph.size)):
        if graph.degree(node) <= LIMITS.searched:
            most = 5 if best is None else len(best)
            best = _cycle_near(near, node, most) or best
        if best is not None and len(best) == least:
            return best
    graph._check_searched("the shortest cycle")
    for node in range(graph.size):
        # Only a cycle shorter than the best one is of interest.
        best = (
            _cycle_near(near, node, graph.size + 1 if best is None else len(best))
            or best
        )
        if best is not None and len(best) == least:
            break
    return best


def _cycle_near(
    near: Callable[[int], list[int]], root: int, below: int
) -> IntTuple | None:
    """Return a shortest cycle through the root if it is shorter than ``below``.

    A shorter cycle that does not go through the root may be returned instead.
    """
    # Breadth first from the root: an edge within a layer of depth d closes 2d + 1 edges, one to
    # a node reached twice in the next layer 2d + 2.
    parent = {root: root}
    depth = {root: 0}
    layer = [root]
    while layer and 2 * depth[layer[0]] + 1 < below:
        following: list[int] = []
        best: Pair | None = None
        for node in layer:
            for other in near(node):
                # The edge back to the parent closes no cycle.
                if other == parent[node]:
                    continue
                if other not in parent:
                    parent[other] = node
                    depth[other] = depth[node] + 1
                    following.append(other)
                elif depth[other] == depth[node]:
                    return _closed(parent, depth, node, other)
                elif depth[other] > depth[node] and best is None:
                    best = node, other
        # No odd cycle closed in this layer, so the even one is the shortest.
        if best is not None:
            closed = _closed(parent, depth, *best)
            return closed if len(closed) < below else None
        layer = following
    return None


def _closed(
    parent: dict[int, int], depth: dict[int, int], node: int, other: int
) -> IntTuple:
    """Return the cycle that an edge closes in a search tree."""
    # Climb from both ends until the paths meet.
    left = [node]
    right = [other]
    while left[-1] != right[-1]:
        # The deeper end climbs, so that both meet at the lowest common ancestor.
        if depth[left[-1]] >= depth[right[-1]]:
            left.append(parent[left[-1]])
        else:
            right.append(parent[right[-1]])
    return (*left, *reversed(right[:-1]))


def components(ends: ArrayLike, size: int) -> Ints:
    """Return for each of some nodes the number of its part, where the ends of edges are joined.

    Parts are numbered in the order of their first nodes.

    >>> components((np.array([0, 3]), np.array([2, 1])), 5)
    array([0, 1, 0, 1, 2])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    begin, end = np.asarray(ends)
    marks = np.ones(len(begin), bool)
    joins = csr_array((marks, (begin, end)), shape=(size, size))
    return np.asarray(connected_components(joins, directed=False)[1], np.int64)


def path_order(graph: AnswerGraph) -> Ints:
    """Return the nodes of a path graph in order from one end, the one with the smaller number.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> path_order(ExplicitGraph([(2, 0), (0, 1)])).tolist()
    [1, 0, 2]
    """
    if not graph.is_path:
        raise InputError(
            f"the order along a path needs a path, but {graph.name} is not one"
        )
    # Nodes are numbered along the path already.
    if graph.power == 1:
        return frozen(np.arange(graph.size))
    ends = np.flatnonzero(graph.degrees <= 1)
    return _walk(graph, int(ends[0]))


def _walk(graph: AnswerGraph, start: int) -> Ints:
    """Return the nodes of a path from one end, or of a cycle, in the order of their edges."""
    from scipy.sparse.csgraph import depth_first_order

    adjacency = graph.explicit().adjacency
    return frozen(
        depth_first_order(adjacency, start, return_predecessors=False).astype(np.int64)
    )


def add_adjacencies(
    graph: AnswerGraph, edges: Iterable[Pair], *, name: str | None = None
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
        Pairs of nodes that are not adjacent yet; the new edges have length 1.
    name
        Text that describes the result.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> ring = add_adjacencies(PathPower(6), [(0, 5)])
    >>> ring.is_cycle, ring.distance(0, 5)
    (True, 1)
    """
    more = list(edges)
    return ExplicitGraph(
        [*graph.edge_array().tolist(), *more],
        lengths=[*graph.edge_lengths().tolist(), *[1.0] * len(more)],
        labels=graph.labels,
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
            f"a ring is closed from a line of at least 3 answers, but {graph.name} is not one"
        )
    order = path_order(graph)
    ends = (int(order[0]), int(order[-1]))
    return add_adjacencies(graph, [ends], name=f"{graph.name} closed to a ring")
