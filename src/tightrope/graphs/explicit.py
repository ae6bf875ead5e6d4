"""Answer graphs with a listed edge set, from any source, and the shortest paths in them."""

from __future__ import annotations

import functools
import itertools
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, GraphRule, Ints, Labels, Pair
from tightrope.errors import InputError, TooLarge, refusing
from tightrope.graphs.base import (
    AnswerGraph,
    check_labels,
    finite_array,
    frozen,
)

if TYPE_CHECKING:
    import networkx
    from scipy.sparse import csr_array


class LabelledGraph(AnswerGraph):
    """A graph that holds its answers in node order; without a list, the indices themselves.

    Examples
    --------
    >>> from tightrope.graphs import ExplicitGraph
    >>> pair = ExplicitGraph([(0, 1)], labels=["no", "yes"])
    >>> pair.index("yes"), pair.label(0)
    (1, 'no')
    """

    _labels: tuple[Hashable, ...] | None

    @property
    def label_rule(self) -> GraphRule | None:
        """The indices themselves, or a list."""
        return super().label_rule if self._labels is None else None

    def label(self, i: int) -> Hashable:
        """Return the answer of a node."""
        self._check_node(i)
        return int(i) if self._labels is None else self._labels[i]

    @functools.cached_property
    def _places(self) -> Mapping[Hashable, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Hashable) -> int:
        """Return the node of an answer."""
        try:
            return self._places[label]
        except (KeyError, TypeError):
            raise InputError(f"{label!r} is not an answer of {self.name}") from None


def node_order(labels: Sequence[Hashable]) -> list[int]:
    """Return the places of the labels in node order: whole numbers increase, others stay.

    Files and NetworkX list answers in any order. A prior given as a list must not depend on it
    where the answers have an order of their own.

    >>> node_order([10, -3, 2]), node_order(["b", "a"])
    ([1, 2, 0], [0, 1])
    """
    places = list(range(len(labels)))
    if all(type(label) is int for label in labels):
        places.sort(key=labels.__getitem__)  # type: ignore[arg-type]
    return places


def distances(
    adjacency: csr_array, lengths: bool, start: int | None = None, *, reach: int = 8
) -> AnyArray:
    """Return the distances from one node, or between every two: integers without lengths.

    Where the first node reaches all others within ``reach`` steps, balls grow around all nodes at
    once: up to 7 times as fast, for 1,000 to 2,000 nodes, as a search from each of them.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> distances(Cycle(5).explicit().adjacency, lengths=False, start=0)
    array([0, 1, 2, 2, 1])
    """
    from scipy.sparse.csgraph import dijkstra

    # Distances from one node bound the diameter within a factor of 2.
    if start is None and not lengths and distances(adjacency, False, 0).max() <= reach:
        joined = adjacency.astype(np.float32)
        size = adjacency.shape[0]
        steps = np.zeros((size, size), np.int64)
        seen = np.eye(size, dtype=bool)
        # d(i, j) counts the rounds in which j is not yet in the ball around i.
        while not seen.all():
            steps += ~seen
            # One product of the adjacency with all balls extends each of them by one step.
            seen |= joined @ seen.astype(np.float32) > 0
        return frozen(steps)
    # The adjacency is symmetric: as a directed graph it gives the same paths in half the time.
    paths = dijkstra(adjacency, directed=True, indices=start, unweighted=not lengths)
    return frozen(paths if lengths else paths.astype(np.int64))


def largest_distance(adjacency: csr_array, lengths: bool) -> float:
    """Return the diameter, by searches only from nodes that could still be an end of it.

    A search from x bounds the reach of every node y: ``ecc(y) ≤ ecc(x) + d(x, y)``. Two nodes
    within r of a centre are within 2r of each other, so the nodes farthest from it come first and
    those within half of what was found need no search (Crescenzi et al., *On computing the
    diameter of real-world undirected graphs*, 2013).

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> largest_distance(PathPower(100).explicit().adjacency, lengths=False)
    99
    """
    reach = np.full(adjacency.shape[0], np.inf)
    best = 0.0

    def search(node: int) -> AnyArray:
        nonlocal best, reach
        row = distances(adjacency, lengths, node)
        best = max(best, float(row.max()))
        reach = np.minimum(reach, row.max() + row)
        reach[node] = 0
        return row

    # The middle between two far ends is the centre; so may be the node with most neighbours.
    hub = search(int(np.diff(adjacency.indptr).argmax()))
    end = search(int(hub.argmax()))
    far_end = search(int(end.argmax()))
    middle = search(int(np.maximum(end, far_end).argmin()))
    centre = min(hub, middle, key=lambda row: float(row.max()))
    for node in np.argsort(-centre, kind="stable").tolist():
        # All nodes left are within best/2 of the centre, hence within best of each other.
        if 2 * centre[node] <= best:
            break
        # The bound on its eccentricity may already exclude a longer distance.
        if reach[node] > best:
            search(node)
    return best if lengths else int(best)


class ExplicitGraph(LabelledGraph):
    """A graph given by its edges, optionally with a length for each.

    Parameters
    ----------
    edges
        Pairs of node indices, each unordered pair at most once.
    lengths
        Positive length of each edge; without it every edge has length 1.
    labels
        The answers in node order; without it the indices themselves.
    size
        The number of nodes, when neither ``labels`` nor the edges show it.
    name
        Text that describes the graph.

    Examples
    --------
    >>> square = ExplicitGraph([(0, 1), (1, 2), (2, 3), (3, 0)], labels="abcd", name="square")
    >>> square.distance(0, 2), square.is_cycle, square.label(3)
    (2, True, 'd')
    """

    def __init__(
        self,
        edges: ArrayLike | Iterable[Pair],
        *,
        lengths: ArrayLike | None = None,
        labels: Labels = None,
        size: int | None = None,
        name: str = "graph",
    ) -> None:
        from scipy.sparse import csr_array

        self.name = name
        ends = _edge_ends(edges)
        weights = np.ones(len(ends))
        count = len(ends)
        if lengths is not None:
            must = f"edge lengths must be numbers, one length for each of the {count} edges"
            weights = finite_array(lengths, must, (count,), "edge lengths", "positive")
        self.size = _node_count(ends, labels, size)
        self._labels = check_labels(labels, self.size, "answers")
        self._check_edge_list(ends)
        ends = np.sort(ends, axis=1)
        # Lexicographic order: equal graphs have equal lists of edges.
        order = np.lexsort(ends.T[::-1])
        self._edges = frozen(ends[order])
        self._lengths = frozen(weights[order])
        # Both directions of every edge: a row of the matrix is a neighbourhood.
        backwards = self._edges[:, ::-1]
        both = np.concatenate([self._edges, backwards])
        self.adjacency: csr_array = csr_array(
            (np.tile(self._lengths, 2), (both[:, 0], both[:, 1])),
            shape=(self.size, self.size),
        )
        self.adjacency.sort_indices()
        # Graphs are shared and cached, so their arrays must not change.
        for part in (
            self.adjacency.data,
            self.adjacency.indices,
            self.adjacency.indptr,
        ):
            frozen(part)
        self._check_connected()
        self._last_row: tuple[int, AnyArray] | None = None

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph[Any], *, name: str | None = None
    ) -> ExplicitGraph:
        """Return the answer graph of a NetworkX graph, with the edge attribute ``length`` if any.

        Whole-number nodes are sorted, others keep their order.

        >>> import networkx as nx
        >>> ExplicitGraph.from_networkx(nx.petersen_graph()).diameter
        2
        """
        if graph.is_directed() or graph.is_multigraph():
            kind = "directed" if graph.is_directed() else "multigraph"
            raise InputError(
                f"an answer graph must be simple and undirected, got a {kind} one"
            )
        nodes = list(graph.nodes)
        labels = [nodes[k] for k in node_order(nodes)]
        place = {label: i for i, label in enumerate(labels)}
        edges = [(place[a], place[b]) for a, b in graph.edges]
        lengths_of = graph.edges(data="length", default=1)
        lengths = [length for _, _, length in lengths_of]
        text = name or str(graph.name or "graph")
        return cls(edges, lengths=lengths, labels=labels, name=text)

    # -- AnswerGraph ----------------------------------------------------------------------

    @functools.cached_property
    def has_lengths(self) -> bool:
        """Whether some edge has a length other than 1."""
        return bool((self._lengths != 1).any())

    @functools.cached_property
    def is_line(self) -> bool:
        """Whether labels are rising numbers and neighbourhoods are intervals."""
        labels = self.labels
        if not all(
            isinstance(x, numbers.Real) and not isinstance(x, bool) for x in labels
        ):
            return False
        if not all(a < b for a, b in itertools.pairwise(labels)):  # type: ignore[operator]
            return False
        # Node and neighbours are consecutive exactly when they span as many places as they are.
        low = np.arange(self.size)
        high = np.arange(self.size)
        begin = self._edges[:, 0]
        end = self._edges[:, 1]
        np.minimum.at(low, end, begin)
        np.maximum.at(high, begin, end)
        return bool((high - low == self.degrees).all())

    def distance(self, i: int, j: int) -> float:
        """Return the shortest-path distance between two nodes."""
        self._check_node(j)
        value = self.distances_from(i)[j]
        return float(value) if self.has_lengths else int(value)

    def distances_from(self, i: int) -> AnyArray:
        """Return the distances from one node to every node (read-only)."""
        self._check_node(i)
        if self.size <= LIMITS.kept:
            return np.asarray(self._distances[i])
        # `_distances` would take n² entries here.
        # Rows of a large graph are not kept, but callers often ask for the same one again.
        if self._last_row is None or self._last_row[0] != i:
            row = distances(self.adjacency, self.has_lengths, int(i))
            self._last_row = int(i), row
        return self._last_row[1]

    @functools.cached_property
    def _distances(self) -> AnyArray:
        return distances(self.adjacency, self.has_lengths)

    def distance_matrix(self) -> AnyArray:
        """Return all distances as an n × n array (read-only)."""
        self._check_matrix("the distance matrix")
        return self._distances

    def neighbours(self, i: int) -> Ints:
        """Return the nodes adjacent to a node, in increasing order."""
        self._check_node(i)
        ends = self.adjacency.indices[
            self.adjacency.indptr[i] : self.adjacency.indptr[i + 1]
        ]
        return np.asarray(ends, np.int64)

    def _degree(self, i: Any) -> Any:
        starts = self.adjacency.indptr
        return starts[i + 1] - starts[i]

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return len(self._edges)

    @functools.cached_property
    def diameter(self) -> float:
        """The largest distance between two nodes."""
        if self.size <= LIMITS.kept:
            largest = self._distances.max()
            return float(largest) if self.has_lengths else int(largest)
        if self.is_cycle and not self.has_lengths:
            return self.size // 2
        return largest_distance(self.adjacency, self.has_lengths)

    def edge_array(self) -> Ints:
        """Return all edges as an array of shape (edges, 2), read-only."""
        return self._edges

    def edge_lengths(self) -> Floats:
        """Return the length of every edge, in the order of :meth:`edge_array`."""
        return self._lengths

    def explicit(self) -> ExplicitGraph:
        """Return the graph itself."""
        return self

    # -- validation -----------------------------------------------------------------------

    def _check_edge_list(self, ends: Ints) -> None:
        is_outside = (ends < 0) | (ends >= self.size)
        outside = ends[is_outside]
        if len(outside):
            raise InputError(
                f"edges must join nodes 0 … {self.size - 1}, got node {outside[0]}"
            )
        is_loop = ends[:, 0] == ends[:, 1]
        loops = ends[is_loop, 0]
        if len(loops):
            raise InputError(
                f"an edge must join two different answers, got one from {self.label(loops[0])!r} "
                "to itself"
            )
        # An unordered pair i < j has the number i·n + j.
        numbers = np.sort(ends, axis=1) @ [self.size, 1]
        keys, counts = np.unique(numbers, return_counts=True)
        if (counts > 1).any():
            twice = int(keys[counts > 1][0])
            i, j = divmod(twice, self.size)
            raise InputError(
                f"each edge must be given once, got {self.label(i)!r} – {self.label(j)!r} again"
            )

    def _check_connected(self) -> None:
        from scipy.sparse.csgraph import connected_components

        parts, part = connected_components(self.adjacency, directed=False)
        if parts > 1:
            separate = np.flatnonzero(part != part[0])
            other = int(separate[0])
            raise InputError(
                f"an answer graph must be connected, got {parts} parts: no way from "
                f"{self.label(0)!r} to {self.label(other)!r}"
            )


def _edge_ends(edges: ArrayLike | Iterable[Pair]) -> Ints:
    with refusing(
        "edges must be pairs of node indices, such as (0, 1)", TypeError, ValueError
    ):
        listed = edges if isinstance(edges, np.ndarray) else list(edges)  # type: ignore[arg-type]
        ends = np.array(listed, dtype=np.float64)
    if ends.size == 0:
        return np.zeros((0, 2), np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise InputError(f"edges must be pairs of node indices, got shape {ends.shape}")
    # Floats up to 2^53 are exact; the comparison also refuses NaN.
    is_exact = np.abs(ends) <= 2.0**53
    bad = ends[~is_exact | (ends != np.floor(ends))]
    if len(bad):
        raise InputError(f"edges must be pairs of whole node indices, got {bad[0]}")
    return ends.astype(np.int64)


def _node_count(ends: Ints, labels: Labels, size: int | None) -> int:
    if size is not None and (
        isinstance(size, bool) or not isinstance(size, int | np.integer)
    ):
        raise InputError(f"size must be a whole number, got {size!r}")
    if labels is not None and size not in (None, len(labels)):
        raise InputError(
            f"size must equal the number of labels {len(labels)}, got {size}"
        )
    if labels is not None:
        count = len(labels)
    else:
        # Without labels or a size the largest index decides.
        count = max(1, int(ends.max(initial=0)) + 1) if size is None else int(size)
    if count < 1:
        raise InputError(f"an answer graph needs at least one answer, got {count}")
    if count > LIMITS.row:
        raise TooLarge(
            f"a listed graph may have at most {LIMITS.row} answers, got {count}"
        )
    return count
