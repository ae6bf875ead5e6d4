"""Shapes of graphs: shortest cycles, and the order of nodes along paths, cycles and trees.

Shapes are about the edges alone, whatever their lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, TooLarge
from tightrope.graphs.base import AnswerGraph, frozen
from tightrope.graphs.histograms import AddRemoveHistograms
from tightrope.graphs.named import FoldedCube
from tightrope.graphs.products import CartesianProduct

#: Largest number of nodes in which a shortest cycle is searched from everywhere.
CYCLE_NODES = 20_000
#: Nodes around which a short cycle is looked for before everything is searched.
_FIRST_LOOKS = 3
#: Largest degree at which a node's surroundings are looked at without a full search.
_LOOK_DEGREE = 200_000


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


def shortest_cycle(graph: AnswerGraph) -> tuple[int, ...] | None:
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
        return tuple(cycle_order(graph).tolist())
    if graph.is_clique:
        return 0, 1, 2
    least = _least_girth(graph)
    best: tuple[int, ...] | None = None
    near = _lists(graph)
    for node in range(min(_FIRST_LOOKS, graph.size)):
        if graph.degree(node) <= _LOOK_DEGREE:
            best = _cycle_near(near, node, 5 if best is None else len(best)) or best
        if best is not None and len(best) == least:
            return best
    if graph.size > CYCLE_NODES:
        raise TooLarge(
            f"the shortest cycle of {graph.name} is not known by rule, and its {graph.size} "
            f"answers are more than the {CYCLE_NODES} that are searched"
        )
    for node in range(graph.size):
        best = _cycle_near(near, node, graph.size + 1 if best is None else len(best)) or best
        if best is not None and len(best) == least:
            break
    return best


def _least_girth(graph: AnswerGraph) -> int:
    """Return a lower bound by rule: a cycle of this length ends the search.

    In a Cartesian product a triangle lies in one factor. When people only come and go, every
    edge changes their number by one, so all cycles are even.
    """
    if isinstance(graph, AddRemoveHistograms) or (
        isinstance(graph, FoldedCube) and graph.dimension > 3
    ):
        return 4
    if isinstance(graph, CartesianProduct):
        factors = {id(f): f for f in graph.factors if not f.is_tree}.values()
        if all(girth(factor) != 3 for factor in factors):
            return 4
    return 3


def _lists(graph: AnswerGraph) -> Callable[[int], list[int]]:
    known: dict[int, list[int]] = {}

    def near(node: int) -> list[int]:
        if node not in known:
            known[node] = graph.neighbours(node).tolist()
        return known[node]

    return near


def _cycle_near(near: Callable[[int], list[int]], root: int, below: int) -> tuple[int, ...] | None:
    """Return a shortest cycle through the root if it is shorter than ``below``.

    A shorter cycle that does not go through the root may be returned instead.
    """
    parent, depth = {root: root}, {root: 0}
    layer = [root]
    while layer and 2 * depth[layer[0]] + 1 < below:
        following: list[int] = []
        best: tuple[int, int] | None = None
        for node in layer:
            for other in near(node):
                if other == parent[node]:
                    continue
                if other not in parent:
                    parent[other], depth[other] = node, depth[node] + 1
                    following.append(other)
                elif depth[other] == depth[node]:
                    return _closed(parent, depth, node, other)
                elif depth[other] > depth[node] and best is None:
                    best = node, other
        if best is not None:
            closed = _closed(parent, depth, *best)
            return closed if len(closed) < below else None
        layer = following
    return None


def _closed(
    parent: dict[int, int], depth: dict[int, int], node: int, other: int
) -> tuple[int, ...]:
    """Return the cycle that an edge closes in a search tree."""
    left, right = [node], [other]
    while left[-1] != right[-1]:
        if depth[left[-1]] >= depth[right[-1]]:
            left.append(parent[left[-1]])
        else:
            right.append(parent[right[-1]])
    return (*left, *reversed(right[:-1]))


def path_order(graph: AnswerGraph) -> NDArray[np.int64]:
    """Return the nodes of a path graph in order from one end, the one with the smaller number.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> path_order(ExplicitGraph([(2, 0), (0, 1)])).tolist()
    [1, 0, 2]
    """
    if not graph.is_path:
        raise InputError(f"the order along a path needs a path, but {graph.name} is none")
    ends = np.flatnonzero(graph.degrees <= 1)
    return frozen(np.array(_walk(graph, int(ends[0])), np.int64))


def cycle_order(graph: AnswerGraph) -> NDArray[np.int64]:
    """Return the nodes of a cycle graph in order from node 0 towards its smaller neighbour.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> cycle_order(ExplicitGraph([(0, 2), (2, 1), (1, 3), (3, 0)])).tolist()
    [0, 2, 1, 3]
    """
    if not graph.is_cycle:
        raise InputError(f"the order round a cycle needs a cycle, but {graph.name} is none")
    return frozen(np.array(_walk(graph, 0), np.int64))


def _walk(graph: AnswerGraph, start: int) -> list[int]:
    """Walk on without turning back until the walk ends or closes."""
    walk, before = [start], -1
    while True:
        onward = [int(n) for n in graph.neighbours(walk[-1]) if n != before]
        if not onward or onward[0] == start:
            return walk
        before = walk[-1]
        walk.append(onward[0])


@dataclass(frozen=True)
class TreeOrder:
    """A rooted tree, ready for dynamic programming.

    Parameters
    ----------
    root
        The root.
    order
        All nodes, each after its parent; backwards, each after its children.
    parent
        The parent of each node, -1 for the root.

    Examples
    --------
    >>> from tightrope.graphs import Star
    >>> tree_order(Star(3), 1).parent.tolist()
    [1, -1, 0, 0]
    """

    root: int
    order: NDArray[np.int64]
    parent: NDArray[np.int64]


def tree_order(graph: AnswerGraph, root: int = 0) -> TreeOrder:
    """Return an order of the nodes of a tree from the root outwards, and each node's parent.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> tree_order(PathPower(4), 2).order.tolist()
    [2, 1, 3, 0]
    """
    graph._check_node(root)
    if not graph.is_tree:
        raise InputError(f"an order from a root needs a tree, but {graph.name} has a cycle")
    graph._check_row("the order")
    parent = np.full(graph.size, -1)
    order = [int(root)]
    for node in order:
        for child in graph.neighbours(node).tolist():
            if child != parent[node]:
                parent[child] = node
                order.append(child)
    return TreeOrder(int(root), frozen(np.array(order, np.int64)), frozen(parent))
