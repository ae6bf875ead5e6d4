"""Answer graphs with a listed edge set, from any source."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, shortest_path

from tightrope.errors import InputError
from tightrope.graphs.base import AnswerGraph

if TYPE_CHECKING:
    import networkx


class ExplicitGraph(AnswerGraph):
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
        edges: ArrayLike | Iterable[tuple[int, int]],
        *,
        lengths: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
        size: int | None = None,
        name: str = "graph",
    ) -> None:
        self.name = name
        ends = _edge_ends(edges)
        weights = np.ones(len(ends)) if lengths is None else _edge_lengths(lengths, len(ends))
        self.size = _node_count(ends, labels, size)
        self._labels = _check_labels(labels)
        self._check_edge_list(ends)
        order = np.lexsort(np.sort(ends, axis=1).T[::-1])
        self._edges = np.sort(ends, axis=1)[order]
        self._lengths = weights[order]
        self._edges.flags.writeable = self._lengths.flags.writeable = False
        self._has_lengths = bool((self._lengths != 1).any())
        both = np.concatenate([self._edges, self._edges[:, ::-1]])
        self.adjacency: csr_array = csr_array(
            (np.tile(self._lengths, 2), (both[:, 0], both[:, 1])), shape=(self.size, self.size)
        )
        self.adjacency.sort_indices()
        self._check_connected()

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], *, name: str | None = None) -> ExplicitGraph:
        """Take over a NetworkX graph; the edge attribute ``length`` is used when present.

        >>> import networkx as nx
        >>> ExplicitGraph.from_networkx(nx.petersen_graph()).diameter
        2
        """
        if graph.is_directed() or graph.is_multigraph():
            raise InputError("an answer graph must be a simple undirected graph")
        labels = list(graph.nodes)
        place = {label: i for i, label in enumerate(labels)}
        edges = [(place[a], place[b]) for a, b in graph.edges]
        given = [data.get("length") for _, _, data in graph.edges(data=True)]
        lengths = None
        if any(value is not None for value in given):
            lengths = np.array([1.0 if value is None else float(value) for value in given])
        text = name or str(graph.name or "graph")
        return cls(edges, lengths=lengths, labels=labels, name=text)

    # -- AnswerGraph ----------------------------------------------------------------------

    @property
    def has_lengths(self) -> bool:
        """Whether some edge has a length other than 1."""
        return self._has_lengths

    def label(self, i: int) -> Hashable:
        """Return the answer that a node stands for."""
        self._check_node(i)
        return int(i) if self._labels is None else self._labels[i]

    @functools.cached_property
    def _places(self) -> Mapping[Hashable, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Hashable) -> int:
        """Return the node that stands for an answer."""
        try:
            return self._places[label]
        except (KeyError, TypeError):
            raise InputError(f"{label!r} is not an answer of {self.name}") from None

    def distance(self, i: int, j: int) -> float:
        """Return the shortest-path distance between two nodes."""
        self._check_node(j)
        value = self.distances_from(i)[j]
        return float(value) if self.has_lengths else int(value)

    @functools.lru_cache(maxsize=64)  # noqa: B019 - graphs are few and live long
    def distances_from(self, i: int) -> NDArray[Any]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        row = dijkstra(
            self.adjacency, directed=False, indices=i, unweighted=not self.has_lengths
        )
        return _frozen(row if self.has_lengths else row.astype(np.int64))

    @functools.cached_property
    def _distances(self) -> NDArray[Any]:
        matrix = shortest_path(
            self.adjacency, method="D", directed=False, unweighted=not self.has_lengths
        )
        return _frozen(matrix if self.has_lengths else matrix.astype(np.int64))

    def distance_matrix(self) -> NDArray[Any]:
        """Return all distances as an n × n array (read-only)."""
        self._check_matrix("the distance matrix")
        return self._distances

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the nodes adjacent to a node, in increasing order."""
        self._check_node(i)
        ends = self.adjacency.indices[self.adjacency.indptr[i] : self.adjacency.indptr[i + 1]]
        return ends.astype(np.int64)

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        return _frozen(np.diff(self.adjacency.indptr).astype(np.int64))

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        self._check_node(i)
        return int(self.degrees[i])

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return len(self._edges)

    @functools.cached_property
    def diameter(self) -> float:
        """The largest distance between two nodes."""
        largest = max(self.distances_from.__wrapped__(self, i).max() for i in range(self.size))
        return float(largest) if self.has_lengths else int(largest)

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield every edge once, as a pair ``i < j``."""
        return ((int(i), int(j)) for i, j in self._edges)

    def edge_array(self) -> NDArray[np.int64]:
        """Return all edges as an array of shape (edges, 2), read-only."""
        return self._edges

    def edge_lengths(self) -> NDArray[np.float64]:
        """Return the length of every edge, in the order of :meth:`edge_array`."""
        return self._lengths

    def explicit(self) -> ExplicitGraph:
        """Return the graph itself."""
        return self

    def to_networkx(self) -> networkx.Graph[Any]:
        """Return a NetworkX graph whose nodes are the labels (edge attribute ``length``)."""
        import networkx

        graph: networkx.Graph[Any] = networkx.Graph(name=self.name)
        graph.add_nodes_from(self.labels)
        for (i, j), length in zip(self._edges, self._lengths, strict=True):
            graph.add_edge(self.label(i), self.label(j), length=float(length))
        return graph

    # -- validation -----------------------------------------------------------------------

    def _check_edge_list(self, ends: NDArray[np.int64]) -> None:
        loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
        if len(loops):
            raise InputError(f"an edge must join two different answers, got a loop at {ends[loops[0], 0]}")
        if ends.size and (ends.min() < 0 or ends.max() >= self.size):
            raise InputError(f"edges must join nodes 0 … {self.size - 1}, got node {ends.max()}")
        keys = np.sort(ends, axis=1) @ np.array([self.size, 1])
        values, counts = np.unique(keys, return_counts=True)
        if (counts > 1).any():
            pair = divmod(int(values[counts > 1][0]), self.size)
            raise InputError(f"each edge must be given once, got {pair} again")

    def _check_connected(self) -> None:
        parts, part = connected_components(self.adjacency, directed=False)
        if parts > 1:
            other = int(np.flatnonzero(part != part[0])[0])
            raise InputError(
                f"an answer graph must be connected, got {parts} parts: no way from "
                f"{self.label(0)!r} to {self.label(other)!r}"
            )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _edge_ends(edges: ArrayLike | Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    listed = edges if isinstance(edges, np.ndarray) else list(edges)  # type: ignore[arg-type]
    try:
        ends = np.array(listed, dtype=np.float64 if len(listed) else np.int64).reshape(-1, 2)
    except (TypeError, ValueError):
        raise InputError("edges must be pairs of node indices") from None
    if not np.array_equal(ends, np.floor(ends)):
        raise InputError("edges must be pairs of whole node indices")
    return ends.astype(np.int64)


def _edge_lengths(lengths: ArrayLike, edges: int) -> NDArray[np.float64]:
    values = np.array(lengths, dtype=float)
    if values.shape != (edges,):
        raise InputError(f"one length for each of the {edges} edges, got shape {values.shape}")
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        raise InputError(
            f"edge lengths must be positive and finite, got {values[bad[0]]} at edge {bad[0]}"
        )
    return values


def _node_count(
    ends: NDArray[np.int64], labels: Sequence[Hashable] | None, size: int | None
) -> int:
    count = size if labels is None else len(labels)
    if count is None:
        count = int(ends.max()) + 1 if ends.size else 1
    if labels is not None and size not in (None, count):
        raise InputError(f"size must equal the number of labels {count}, got {size}")
    if count < 1 or not math.isfinite(count):
        raise InputError(f"an answer graph needs at least one answer, got {count}")
    return count


def _check_labels(labels: Sequence[Hashable] | None) -> tuple[Hashable, ...] | None:
    if labels is None:
        return None
    seen: set[Hashable] = set()
    for label in labels:
        if label in seen:
            raise InputError(f"labels must be different, got {label!r} twice")
        seen.add(label)
    return tuple(labels)
