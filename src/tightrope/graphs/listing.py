"""Nodes and edges as they are read from a file, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from tightrope.errors import InputError, TooLarge
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.fields import shortened

#: Largest number of nodes and of edges that are read from a file.
EDGES_READ = 1_000_000


class Listing:
    """Collects labelled edges; refuses loops, repetitions and bad lengths with their place.

    Parameters
    ----------
    path
        The file, named in every message.
    name
        The name of the graph; the file's by default.
    closed
        Whether all nodes are named before the first edge.

    Examples
    --------
    >>> listing = Listing("edges.csv")
    >>> listing.edge("a", "b", 1.0, "edges.csv:1")
    >>> listing.edge("b", "a", 1.0, "edges.csv:2")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: edges.csv:2: the edge 'b' – 'a' is given again (see edges.csv:1)
    """

    def __init__(self, path: str | Path, *, name: str | None = None, closed: bool = False) -> None:
        self._path = path
        self._name = Path(path).stem if name is None else name
        self._closed = closed
        self._places: dict[Hashable, int] = {}
        self._edges: dict[tuple[int, int], str] = {}
        self._lengths: list[float] = []

    def node(self, label: Hashable, *, once: bool = False) -> int:
        """Return the number of a label, a new one if it is new; with ``once`` it must be."""
        if once and label in self._places:
            raise InputError(f"{self._path}: the node {shortened(label)} is given twice")
        if len(self._places) > EDGES_READ:
            raise TooLarge(f"{self._path}: a file may list at most {EDGES_READ} answers")
        return self._places.setdefault(label, len(self._places))

    def edge(self, one: Hashable, other: Hashable, length: float, place: str) -> None:
        """Add an edge, or say at which place it does not fit."""
        if len(self._edges) >= EDGES_READ:
            raise TooLarge(f"{place}: a file may list at most {EDGES_READ} edges")
        for label in (one, other):
            if self._closed and label not in self._places:
                raise InputError(f"{place}: {shortened(label)} is not among the nodes")
        i, j = self.node(one), self.node(other)
        if i == j:
            raise InputError(
                f"{place}: an edge must join two different answers, got {shortened(one)} twice"
            )
        pair = (min(i, j), max(i, j))
        if pair in self._edges:
            edge = f"{shortened(one)} – {shortened(other)}"
            raise InputError(f"{place}: the edge {edge} is given again (see {self._edges[pair]})")
        if not 0 < length < float("inf"):
            raise InputError(f"{place}: a length must be positive and finite, got {length!r}")
        self._edges[pair] = place
        self._lengths.append(length)

    def graph(
        self, retype: Callable[[Sequence[str]], Sequence[Hashable]] | None = None
    ) -> ExplicitGraph:
        """Return the graph; ``retype`` turns texts into labels once all are known."""
        if not self._places:
            raise InputError(f"{self._path}: the file lists no answers")
        labels: Sequence[Hashable] = list(self._places)
        if retype is not None:
            labels = retype([str(label) for label in labels])
        try:
            return ExplicitGraph(
                list(self._edges), lengths=self._lengths, labels=labels, name=self._name
            )
        except InputError as refused:
            raise type(refused)(f"{self._path}: {refused}") from None
