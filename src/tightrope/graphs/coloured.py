"""A graph with colours on nodes and on ordered pairs: what an automorphism has to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.errors import InputError, TooLarge
from tightrope.graphs.base import AnswerGraph, frozen

#: Largest number of nodes whose automorphisms are searched for.
SEARCH_NODES = 20_000
#: Largest number of nodes for which colours of pairs (an n × n matrix) are taken.
PAIR_NODES = 4_000

Moves = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class ColouredGraph:
    """Arcs in rows, each with a kind; nodes with colours.

    An arc of a pair is stored in both directions, and its kind in one direction determines its
    kind in the other. All pairs without an arc look the same.

    Parameters
    ----------
    starts
        Row i of ``ends`` and ``kinds`` is ``starts[i] : starts[i+1]``.
    ends
        The node at the end of each arc, increasing in each row.
    kinds
        The kind of each arc.
    colours
        The colour of each node.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> path = coloured_graph(PathPower(3), node_colours=[0.2, 0.6, 0.2])
    >>> path.ends.tolist(), path.colours.tolist()
    ([1, 0, 2, 1], [0, 1, 0])
    >>> path.keeps((np.array([0, 2]), np.array([2, 0])))
    True
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.int64]
    colours: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.colours)

    def row(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ends and the kinds of the arcs from a node."""
        part = slice(self.starts[i], self.starts[i + 1])
        return self.ends[part], self.kinds[part]

    def sources(self) -> NDArray[np.int64]:
        """Return the node at the beginning of each arc."""
        return np.repeat(np.arange(self.size), np.diff(self.starts))

    def restricted(self, nodes: NDArray[np.int64], colours: NDArray[np.int64]) -> ColouredGraph:
        """Return the graph on some nodes, renumbered in the order given, with new colours."""
        place = np.full(self.size, -1)
        place[nodes] = np.arange(len(nodes))
        begin, end = place[self.sources()], place[self.ends]
        keep = (begin >= 0) & (end >= 0)
        return _in_rows(begin[keep], end[keep], self.kinds[keep], colours)

    def keeps(self, moves: Moves) -> bool:
        """Whether moving nodes (from, to) and nothing else keeps every arc, kind and colour."""
        moved, image = moves
        where = np.arange(self.size)
        where[moved] = image
        if not np.array_equal(np.sort(moved), np.sort(image)):
            return False
        if not np.array_equal(self.colours[moved], self.colours[image]):
            return False
        # Arcs are stored in both directions: those at moved nodes are all that can change.
        begin, arcs = self._arcs_of(moved)
        there, stored = self._arcs_of(image)
        if len(arcs) != len(stored):
            return False
        keys = where[begin] * self.size + where[self.ends[arcs]]
        expected = there * self.size + self.ends[stored]
        order, reference = np.argsort(keys), np.argsort(expected)
        return bool(
            np.array_equal(keys[order], expected[reference])
            and np.array_equal(self.kinds[arcs[order]], self.kinds[stored[reference]])
        )

    def _arcs_of(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the beginning and the number of every arc from some nodes."""
        counts = self.starts[nodes + 1] - self.starts[nodes]
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        within = np.arange(counts.sum()) - skipped
        return np.repeat(nodes, counts), np.repeat(self.starts[nodes], counts) + within


def coloured_graph(
    graph: AnswerGraph,
    node_colours: ArrayLike | Sequence[Any] | None = None,
    pair_colours: ArrayLike | None = None,
) -> ColouredGraph:
    """Return a graph with the colours that its automorphisms must keep.

    Colours are compared exactly: two probabilities that differ in the last bit are different.

    Parameters
    ----------
    graph
        Any graph; its edges, with their lengths, are listed.
    node_colours
        One value for each node, such as a prior.
    pair_colours
        An n × n matrix, such as a loss; it need not be symmetric.

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> coloured_graph(Clique(3), pair_colours=1 - np.eye(3)).kinds.tolist()
    []
    """
    if graph.size > SEARCH_NODES:
        raise TooLarge(
            f"automorphisms are searched for up to {SEARCH_NODES} answers, "
            f"but {graph.name} has {graph.size}"
        )
    listed = graph.explicit()
    size = graph.size
    colours = np.zeros(size, np.int64)
    if node_colours is not None:
        colours = _colour_numbers(node_colours, (size,), "node colours")
    begin = listed.edge_array()
    kinds = np.unique(listed.edge_lengths(), return_inverse=True)[1].astype(np.int64)
    arcs = np.concatenate([begin, begin[:, ::-1]]), np.tile(kinds, 2)
    if pair_colours is None:
        return _in_rows(arcs[0][:, 0], arcs[0][:, 1], arcs[1], colours)
    if size > PAIR_NODES:
        raise TooLarge(f"colours of pairs are taken up to {PAIR_NODES} answers, got {size}")
    pairs = _colour_numbers(pair_colours, (size, size), "pair colours")
    joined = np.zeros((size, size), np.int64)
    joined[arcs[0][:, 0], arcs[0][:, 1]] = arcs[1] + 1
    return _from_matrix(pairs * (joined.max() + 1) + joined, colours)


def _from_matrix(pairs: NDArray[np.int64], colours: NDArray[np.int64]) -> ColouredGraph:
    """Store the arcs of all pairs but those of the most common look."""
    size = len(colours)
    pairs = np.unique(pairs, return_inverse=True)[1].reshape(size, size)
    own = colours * (pairs.max() + 1) + np.diagonal(pairs)
    both = pairs * (pairs.max() + 1) + pairs.T
    apart = ~np.eye(size, dtype=bool)
    # Only a look that is the same from both sides can be left out without losing a direction.
    even = both[apart & (pairs == pairs.T)]
    looks, counts = np.unique(even, return_counts=True)
    left_out = looks[counts.argmax()] if len(looks) else -1
    begin, end = np.nonzero(apart & (both != left_out))
    kinds = np.unique(both[begin, end], return_inverse=True)[1].astype(np.int64)
    return _in_rows(begin, end, kinds, np.unique(own, return_inverse=True)[1].astype(np.int64))


def _in_rows(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    kinds: NDArray[np.int64],
    colours: NDArray[np.int64],
) -> ColouredGraph:
    order = np.lexsort((end, begin))
    starts = np.zeros(len(colours) + 1, np.int64)
    np.cumsum(np.bincount(begin, minlength=len(colours)), out=starts[1:])
    parts = (starts, end[order].astype(np.int64), kinds[order], colours.astype(np.int64))
    return ColouredGraph(*map(frozen, parts))


def _colour_numbers(
    values: ArrayLike | Sequence[Any], shape: tuple[int, ...], what: str
) -> NDArray[np.int64]:
    """Return a number for each different value; NaN is refused, since it equals nothing."""
    try:
        given = np.asarray(values)
        wrong = given.dtype.kind == "f" and bool(np.isnan(given).any())
    except (TypeError, ValueError):
        raise InputError(f"{what} must be an array of shape {shape}") from None
    if given.shape != shape:
        raise InputError(f"{what} must have shape {shape}, got {given.shape}")
    if wrong:
        raise InputError(f"{what} must not be NaN")
    if given.dtype.kind == "O":
        number: dict[Any, int] = {}
        found = [number.setdefault(value, len(number)) for value in given.ravel()]
        return np.array(found, np.int64).reshape(shape)
    return np.unique(given, return_inverse=True)[1].reshape(shape).astype(np.int64)
