r"""Symmetry: the automorphisms of a graph, distance-regularity, and all facts in one value.

In a distance-regular graph [B, Def 2, Prop 3], two nodes at distance d always see the same: of the
neighbours of the second, :math:`b_d` lie at distance d+1 from the first, :math:`a_d` at distance d
and :math:`c_d` at distance d-1. In a vertex-transitive graph [B, Def 4] some automorphism moves any
node to any other. The two are independent [B, Fig 2, 6]: a Chang graph is distance-regular and not
vertex-transitive, the truncated tetrahedron is vertex-transitive and not distance-regular. Either
of them makes ball sizes constant [B, Prop 5], which is what the bounds need.

Automorphisms are found exactly: generators, order and orbits. First the easy symmetry is folded
away. Twins (nodes with the same arcs to all other nodes) can be permuted freely. They are replaced
by one of them with a new colour, repeatedly, until a core without twins remains. Cliques, stars and
complete multipartite graphs need no search.

On the core, nodes are given colours of their own one after the other until refinement separates
all of them; this *base* makes a chain of stabilisers. From the last base node back to the first, a
search with refinement decides for every candidate whether some automorphism moves the base node
there and keeps all earlier ones (McKay and Piperno, *Practical graph isomorphism II*, 2014). What
is found is checked arc by arc; what is not found is excluded by colours that differ. So the
generators generate the whole group.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightrope.arrays import LIMITS, AnyArray, Ints, IntTuple
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs.base import AnswerGraph, IntersectionNumbers, frozen
from tightrope.graphs.shapes import components, girth

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Moves = tuple[Ints, Ints]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class ColouredGraph:
    """Arcs with kinds, and nodes with colours.

    An arc of a pair is stored in both directions, and its kind in one direction determines its
    kind in the other. All pairs without an arc are of one kind.

    Parameters
    ----------
    arcs
        Entry (i, j) is the kind of the arc from i to j, a whole number from 1 on.
    colours
        The colour of each node.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> path = coloured_graph(PathPower(3), node_colours=[0.2, 0.6, 0.2])
    >>> path.arcs.indices.tolist(), path.colours.tolist()
    ([1, 0, 2, 1], [0, 1, 0])
    >>> path.keeps((np.array([0, 2]), np.array([2, 0])))
    True
    """

    arcs: csr_array
    colours: Ints

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.colours)

    def row_sums(self, values: Hashes) -> Hashes:
        """Add up a value of each arc over every row, modulo 2^64."""
        # Differences of running sums: wrap-around cancels.
        start = np.zeros(1, np.uint64)
        totals = np.concatenate([start, np.cumsum(values)])
        return np.asarray(np.diff(totals[self.arcs.indptr]))

    def keeps(self, moves: Moves) -> bool:
        """Whether moving nodes (from, to) and nothing else keeps every arc, kind and colour."""
        # A permutation, equal colours, equal arcs: in this order, the cheapest first.
        moved, image = moves
        if not np.array_equal(np.sort(moved), np.sort(image)):
            return False
        if not np.array_equal(self.colours[moved], self.colours[image]):
            return False
        before = np.arange(self.size)
        after = before.copy()
        after[moved] = image
        # Arcs are stored in both directions: those at moved nodes are all that can change.
        return np.array_equal(self._arcs_of(moved, after), self._arcs_of(image, before))

    def _arcs_of(self, nodes: Ints, where: Ints) -> Ints:
        """Return a number for each arc from some nodes, by its kind and where its ends move."""
        # All arcs of the rows, gathered without a loop: row starts plus 0, 1, 2, … in each row.
        starts = self.arcs.indptr[nodes]
        counts = self.arcs.indptr[nodes + 1] - starts
        before = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(before, counts)
        arcs = np.repeat(starts, counts) + within
        ends = (
            np.repeat(where[nodes], counts) * self.size + where[self.arcs.indices[arcs]]
        )
        # There are fewer kinds than pairs of nodes.
        pairs = ends * self.size**2
        return np.sort(pairs + self.arcs.data[arcs])


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
    >>> coloured_graph(Clique(3), pair_colours=1 - np.eye(3)).arcs.nnz
    0
    """
    from scipy.sparse import csr_array

    graph._check_searched("the automorphism group")
    adjacency = graph.explicit().adjacency
    size = graph.size
    colours = np.zeros(size, np.int64)
    if node_colours is not None:
        colours = _colour_numbers(node_colours, (size,), "node colours")
    # Kinds begin at 1, as 0 means no arc.
    kinds = np.unique(adjacency.data, return_inverse=True)[1] + 1
    arcs = csr_array((kinds, adjacency.indices, adjacency.indptr), shape=(size, size))
    if pair_colours is None:
        return ColouredGraph(arcs, colours)
    if size > LIMITS.pairs:
        raise TooLarge(
            f"colours of pairs are taken up to {LIMITS.pairs} answers, got {size}"
        )
    pairs = _colour_numbers(pair_colours, (size, size), "pair colours")
    # One number for the kind of edge and the colour of a pair together.
    count = kinds.max(initial=0) + 1
    return _from_matrix(pairs * count + arcs.toarray(), colours)


def _from_matrix(pairs: Ints, colours: Ints) -> ColouredGraph:
    """Store the arcs of all pairs but those of the most common kind."""
    from scipy.sparse import csr_array

    size = len(colours)
    pairs = np.unique(pairs, return_inverse=True)[1].reshape(size, size)
    count = pairs.max() + 1
    own = colours * count + np.diagonal(pairs)
    # The kinds of both directions together.
    both = pairs * count + pairs.T
    apart = ~np.eye(size, dtype=bool)
    # Only a symmetric kind can be left out without losing a direction.
    is_symmetric = apart & (pairs == pairs.T)
    symmetric, counts = np.unique(both[is_symmetric], return_counts=True)
    left_out = symmetric[counts.argmax()] if len(symmetric) else -1
    begin, end = np.nonzero(apart & (both != left_out))
    _, numbers = np.unique(both[begin, end], return_inverse=True)
    kinds = numbers + 1
    arcs = csr_array((kinds, (begin, end)), shape=(size, size))
    return ColouredGraph(arcs, np.unique(own, return_inverse=True)[1])


def _colour_numbers(
    values: ArrayLike | Sequence[Any], shape: IntTuple, what: str
) -> Ints:
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
    # Objects need not be comparable: number them in the order in which they come.
    if given.dtype.kind == "O":
        number_of: dict[Any, int] = {}
        numbers = [
            number_of.setdefault(value, len(number_of)) for value in given.ravel()
        ]
        return np.array(numbers, np.int64).reshape(shape)
    _, classes = np.unique(given, return_inverse=True)
    return classes.reshape(shape).astype(np.int64)


def scramble(values: Hashes) -> Hashes:
    """Return hashes of 64-bit numbers: a bijection without visible pattern.

    Examples
    --------
    >>> len(np.unique(scramble(np.arange(1000, dtype=np.uint64))))
    1000
    """
    # The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


class Collapsed:
    """A core without twins, and the nodes that were folded into it.

    Attributes
    ----------
    core
        The graph that remains.
    blocks
        For each core node, the original nodes it represents. Blocks of the same colour are
        isomorphic, position by position.
    moves
        Generators of the automorphisms that fix every block.
    order
        How many of those there are.

    Examples
    --------
    >>> from tightrope.graphs import Clique, Cycle, Star
    >>> folded = Collapsed(coloured_graph(Star(4)))
    >>> folded.core.size, folded.order, folded.blocks
    (2, 24, [[0], [1, 2, 3, 4]])
    >>> Collapsed(coloured_graph(Clique(5))).order, Collapsed(coloured_graph(Cycle(5))).order
    (120, 1)
    """

    def __init__(self, graph: ColouredGraph) -> None:
        self.core = graph
        self.blocks = [[i] for i in range(graph.size)]
        self.moves: list[Moves] = []
        self.order = 1
        self._numbers: dict[Hashable, int] = {}
        self._first_free = int(graph.colours.max(initial=0)) + 1
        # Folding may make new twins: repeat until none is left.
        while self._fold(self._distant_twins()) or self._fold(self._adjacent_twins()):
            pass

    def _fold(self, group: AnyArray) -> bool:
        """Fold nodes with equal hashes, likely twins, into one; return whether any were."""
        colours = self.core.colours.copy()
        alive = np.ones(self.core.size, bool)
        order = np.argsort(group, kind="stable")
        cuts = np.flatnonzero(np.diff(group[order])) + 1
        for members in np.split(order, cuts):
            twins = self._twins(members) if len(members) > 1 else members
            if len(twins) < 2:
                continue
            blocks = [self.blocks[i] for i in twins]
            # All k! permutations of the blocks are automorphisms; a swap and a cycle generate them.
            self.order *= math.factorial(len(blocks))
            # Two blocks need the swap alone.
            for cycle in [blocks[:2], blocks][: len(blocks) - 1]:
                next_blocks = [*cycle[1:], cycle[0]]
                self.moves.append((_flat(cycle), _flat(next_blocks)))
            first = int(twins[0])
            self.blocks[first] = list(itertools.chain.from_iterable(blocks))
            row = slice(*self.core.arcs.indptr[first : first + 2])
            to_twin = self.core.arcs.indices[row] == twins[1]
            between = self.core.arcs.data[row][to_twin]
            # Twins are of one kind by the arcs between them, their colour and their number.
            kind = tuple(between), int(colours[first]), len(twins)
            # Twins of one kind get one colour, different from all colours in use.
            colours[first] = self._first_free + self._numbers.setdefault(
                kind, len(self._numbers)
            )
            alive[twins[1:]] = False
        nodes = np.flatnonzero(alive)
        if len(nodes) < self.core.size:
            arcs = self.core.arcs[nodes][:, nodes]
            self.core = ColouredGraph(arcs, colours[nodes])
            self.blocks = [self.blocks[i] for i in nodes]
        return not alive.all()

    def _twins(self, members: Ints) -> Ints:
        """Return those that can be swapped with the first one: all, unless hashes collide."""
        # A swap and a cycle generate all permutations: two checks confirm the whole group.
        if self.core.keeps((members[:2], members[1::-1])) and self.core.keeps(
            (members, np.roll(members, 1))
        ):
            return members
        first = members[:1]
        others = members[1:, None]
        confirmed = [
            i
            for i in others
            if self.core.keeps((np.append(first, i), np.append(i, first)))
        ]
        return np.concatenate([first, *confirmed])

    def _sums(self) -> tuple[Hashes, Hashes]:
        """Hash every row as a sum over its arcs; return the hashes of the arcs as well."""
        graph = self.core
        ends, kinds = (
            values.astype(np.uint64) for values in (graph.arcs.indices, graph.arcs.data)
        )
        # A row is hashed as a sum, which does not depend on the order of its arcs.
        arc_hashes = scramble(scramble(ends) ^ kinds)
        return graph.row_sums(arc_hashes), arc_hashes

    def _distant_twins(self) -> Hashes:
        """Return a number for each node: equal for the same arcs and colour."""
        colours = self.core.colours.astype(np.uint64)
        return self._sums()[0] + scramble(colours)

    def _adjacent_twins(self) -> Ints:
        """Return a number for each node: equal for the same arcs but for those between them."""
        graph = self.core
        sums, arc_hashes = self._sums()
        begin, end = graph.arcs.nonzero()
        # The place of the reverse of each arc: without the arc between them, twins have equal sums.
        back = np.lexsort((begin, end))
        is_twin = (
            (sums[begin] - arc_hashes == sums[end] - arc_hashes[back])
            & (graph.arcs.data == graph.arcs.data[back])
            & (graph.colours[begin] == graph.colours[end])
        )
        return components((begin[is_twin], end[is_twin]), graph.size)


def _flat(blocks: Sequence[list[int]]) -> Ints:
    return np.fromiter(itertools.chain.from_iterable(blocks), np.int64)


@dataclass(frozen=True)
class AutomorphismGroup:
    """A group of permutations of the nodes, given by generators.

    Parameters
    ----------
    size
        The number of nodes.
    order
        The number of automorphisms, exactly.
    moves
        The generators, each as the nodes it moves and where it moves them.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> group = automorphism_group(Cycle(5))
    >>> group.order, group.orbits.tolist(), group.is_transitive
    (10, [0, 0, 0, 0, 0], True)
    """

    size: int
    order: int
    moves: tuple[Moves, ...]

    @property
    def generators(self) -> Iterator[Ints]:
        """The generators as permutations, one after the other: node i moves to entry i."""
        for moved, image in self.moves:
            where = np.arange(self.size)
            where[moved] = image
            yield where

    @functools.cached_property
    def orbits(self) -> Ints:
        """For each node, the number of its orbit; orbits are numbered by their first node."""
        identity = np.zeros((2, 0), np.int64)
        return frozen(
            components(np.concatenate([identity, *self.moves], axis=1), self.size)
        )

    @property
    def orbit_count(self) -> int:
        """The number of orbits on nodes."""
        return int(self.orbits.max()) + 1

    @property
    def is_transitive(self) -> bool:
        """Whether every node can be moved to every other."""
        return self.orbit_count == 1


def automorphism_group(
    graph: AnswerGraph,
    node_colours: ArrayLike | Sequence[Any] | None = None,
    pair_colours: ArrayLike | None = None,
) -> AutomorphismGroup:
    r"""Return the group of all automorphisms that keep edges, lengths and colours.

    An automorphism is a bijection :math:`\sigma` of the nodes with
    :math:`i \sim h \iff \sigma(i) \sim \sigma(h)` [B, Def 4]. With a prior as ``node_colours``
    and a loss as ``pair_colours`` it also keeps :math:`\pi_i = \pi_{\sigma(i)}` and
    :math:`\ell(i,k) = \ell(\sigma(i),\sigma(k))`.

    Parameters
    ----------
    graph
        A graph of at most ``LIMITS.searched`` nodes.
    node_colours
        One value for each node, compared exactly.
    pair_colours
        An n × n matrix, compared exactly; it need not be symmetric.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, CartesianProduct, Clique
    >>> automorphism_group(CartesianProduct([Clique(2)] * 4)).order
    384
    >>> automorphism_group(PathPower(5), node_colours=[0.1, 0.2, 0.3, 0.2, 0.2]).order
    1
    """
    coloured = coloured_graph(graph, node_colours, pair_colours)
    folded = Collapsed(coloured)
    search = _AutomorphismSearch(folded.core)
    # Automorphisms that keep every block, times those that permute the blocks.
    order = folded.order * search.group_order()
    lifted = (_lifted(p, folded.blocks) for p in search.found)
    moves = [*folded.moves, *lifted]
    # Each generator is verified arc by arc on the whole graph: the search is not trusted.
    for generator in moves:
        if not coloured.keeps(generator):
            raise CheckFailed(
                "a generator does not keep the graph: please report this defect"
            )
        for nodes in generator:
            frozen(nodes)
    return AutomorphismGroup(graph.size, order, tuple(moves))


def acts_transitively(graph: AnswerGraph) -> bool:
    """Whether some automorphism moves any node to any other, decided by search [B, Def 4].

    Stops at the first node that is out of reach, and never looks for the whole group.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, Cycle
    >>> acts_transitively(Cycle(6).explicit()), acts_transitively(PathPower(6).explicit())
    (True, False)
    """
    # No automorphism moves a node to one of another degree.
    if graph.min_degree != graph.max_degree:
        return False
    # In a regular graph only twins are folded, and twins can always be swapped.
    return _AutomorphismSearch(Collapsed(coloured_graph(graph)).core).is_transitive()


def pair_orbits(group: AutomorphismGroup, columns: Ints | None = None) -> Ints:
    r"""Return the orbits on ordered pairs: entry (i, o) is the number of the pair's orbit.

    The group moves the pair (i, o) to :math:`(\sigma(i), \sigma(o))`. For a prior and a loss
    that it keeps, some optimal mechanism is constant on these orbits. With ``columns``, which
    must be whole orbits in rising order, only the pairs with one of these as the second node count.

    Examples
    --------
    >>> from tightrope.graphs import Cycle
    >>> pair_orbits(automorphism_group(Cycle(4)))
    array([[0, 1, 2, 1],
           [1, 0, 1, 2],
           [2, 1, 0, 1],
           [1, 2, 1, 0]])
    """
    size = group.size
    if size > LIMITS.matrix // 2:
        raise TooLarge(
            f"orbits of pairs are numbered up to {LIMITS.matrix // 2} nodes, got {size}"
        )
    chosen = np.arange(size) if columns is None else columns
    pairs = np.arange(size * len(chosen))
    label = pairs.reshape(size, len(chosen))
    # Pairs that a generator maps to each other are in one orbit: union over all generators.
    for where in group.generators:
        places = np.searchsorted(chosen, where[chosen])
        there = label[np.ix_(where, places)]
        label = _joined(label, there)
    return frozen(label)


def _joined(label: Ints, there: Ints) -> Ints:
    """Return labels that are equal where either array has equal labels (union of partitions)."""
    differ = label != there
    joins = (label[differ], there[differ])
    return components(joins, int(label.max()) + 1)[label]


def _lifted(permutation: Ints, blocks: list[list[int]]) -> Moves:
    """Turn a permutation of core nodes into moves of the nodes they represent."""
    changed = np.flatnonzero(permutation != np.arange(len(permutation)))
    images = permutation[changed]
    originals = [blocks[i] for i in changed]
    moved = [blocks[i] for i in images]
    return _flat(originals), _flat(moved)


@dataclass(frozen=True)
class _Level:
    """One base node: the colouring before it, its cell, and what refinement did after it."""

    colours: Hashes
    cell: np.uint64
    node: int
    trace: list[np.uint64]
    after: Hashes
    order_after: Ints


class _AutomorphismSearch:
    """Individualisation and refinement on the core of a graph; counts the work."""

    def __init__(self, graph: ColouredGraph) -> None:
        self._graph = graph
        self._kinds = scramble(scramble(graph.arcs.data.astype(np.uint64)))
        self._adjacency = graph.arcs.astype(np.float64)
        self._orbits = np.arange(graph.size)
        self._work = 0
        self.found: list[Ints] = []

    def _round(self, colours: Hashes) -> Hashes:
        self._work += len(self._kinds) + len(colours)
        if self._work > LIMITS.steps:
            raise TooLarge(
                f"the search for automorphisms was given up after {LIMITS.steps} steps: "
                "this graph is one of the hard ones"
            )
        # A node's new colour hashes its own and the multiset of (arc kind, neighbour's colour).
        seen = scramble(colours[self._graph.arcs.indices] ^ self._kinds)
        return scramble(scramble(colours) + self._graph.row_sums(seen))

    def _seen_from(self, colours: Hashes, nodes: ArrayLike) -> Hashes:
        """Return the colouring in which nodes also know how far they are from some nodes.

        Refinement yields the same partition, but needs as many rounds as the diameter.
        """
        from scipy.sparse.csgraph import dijkstra

        distances = dijkstra(
            self._adjacency, indices=nodes, unweighted=True, min_only=True
        )
        return scramble(
            scramble(colours)
            ^ np.nan_to_num(distances, posinf=len(distances)).astype(np.uint64)
        )

    def _refine(self, colours: Hashes) -> tuple[Hashes, list[np.uint64]]:
        """Return the stable colouring and, for each round, a hash of all colours together."""
        trace: list[np.uint64] = []
        count = len(np.unique(colours))
        before = 0
        # Refinement only splits cells: a round without a new one is the last.
        while count > before and count < len(colours):
            colours = self._round(colours)
            # A sum over all nodes is equal for isomorphic colourings.
            trace.append(colours.sum())
            before, count = count, len(np.unique(colours))
        return colours, trace

    def _follow(self, colours: Hashes, trace: list[np.uint64]) -> Hashes | None:
        """Refine round by round; ``None`` as soon as a round differs from the trace."""
        for expected in trace:
            colours = self._round(colours)
            if colours.sum() != expected:
                return None
        return colours

    @functools.cached_property
    def _start(self) -> Hashes:
        colours = self._round(scramble(self._graph.colours.astype(np.uint64)))
        _, place, counts = np.unique(colours, return_inverse=True, return_counts=True)
        # Distances from the rarest colour separate many nodes in one round.
        rarest = np.flatnonzero(place == counts.argmin())
        return self._refine(self._seen_from(colours, rarest))[0]

    @functools.cached_property
    def _base(self) -> list[_Level]:
        colours = self._start
        before = np.full(self._graph.size, self._graph.size)
        levels: list[_Level] = []
        while True:
            values, cell, counts = np.unique(
                colours, return_inverse=True, return_counts=True
            )
            if len(values) == self._graph.size:
                return levels
            if len(levels) > self._graph.size:
                raise TooLarge(
                    "the search for automorphisms was given up: colours collide"
                )
            sizes = counts[cell]
            # Cells that the last step split come first: connected parts then stay together in
            # the base, and an automorphism of one part is found before the others are split.
            fresh = (sizes > 1) & (sizes < before)
            choice = np.flatnonzero(fresh if fresh.any() else sizes > 1)
            # The smallest cell leaves the fewest candidates for an image.
            by_size = np.lexsort((cell[choice], sizes[choice]))
            node = int(choice[by_size[0]])
            after, trace = self._refine(self._seen_from(colours, node))
            order = np.argsort(after, kind="stable")
            levels.append(_Level(colours, colours[node], node, trace, after, order))
            colours = after
            before = sizes

    def group_order(self) -> int:
        """Find generators from the last base node back; return the order of the group."""
        # Orbit–stabiliser: |G| is the product of the orbit sizes along the base.
        depths = reversed(range(len(self._base)))
        return math.prod(map(self._orbit_size, depths))

    def is_transitive(self) -> bool:
        """Whether the first base node can be moved to every other node."""
        size = self._graph.size
        # Nodes with different stable colours are in different orbits.
        if len(np.unique(self._start)) > 1:
            return False
        return size == 1 or self._orbit_size(0, needed=size) == size

    def _orbit_size(self, depth: int, needed: int = 0) -> int:
        """Return the size of the orbit of a base node while all earlier ones stay."""
        level = self._base[depth]
        cell = np.flatnonzero(level.colours == level.cell)
        decided = [level.node]
        for node in cell.tolist():
            # The orbit of a decided node is decided: its automorphisms carry the answer over.
            if self._orbits[node] in self._orbits[decided]:
                continue
            permutation = self._automorphism(depth, node)
            if permutation is not None:
                # A new generator joins orbits, which spares later searches.
                self.found.append(permutation)
                self._orbits = _joined(self._orbits, self._orbits[permutation])
            elif needed:
                return 0
            else:
                decided.append(node)
        same_orbit = self._orbits[cell] == self._orbits[level.node]
        return int(same_orbit.sum())

    def _automorphism(self, depth: int, node: int) -> Ints | None:
        """Search for an automorphism that keeps the earlier base nodes and moves this one."""
        # Depth-first over images of the base nodes, with an explicit stack.
        tries: list[tuple[Hashes, Iterator[int]]] = [
            (self._base[depth].colours, iter([node]))
        ]
        while tries:
            colours, candidates = tries[-1]
            level = self._base[depth + len(tries) - 1]
            candidate = next(candidates, None)
            if candidate is None:
                tries.pop()
                continue
            refined = self._follow(self._seen_from(colours, candidate), level.trace)
            if refined is None:
                continue
            order = np.argsort(refined, kind="stable")
            # Colours that occur another number of times exclude this choice.
            if not np.array_equal(refined[order], level.after[level.order_after]):
                continue
            # Map cells in node order: correct wherever cells are singletons or the same set.
            permutation = np.empty(self._graph.size, np.int64)
            permutation[level.order_after] = order
            moved = np.flatnonzero(permutation != np.arange(self._graph.size))
            if self._graph.keeps((moved, permutation[moved])):
                return permutation
            next_depth = depth + len(tries)
            if next_depth < len(self._base):
                next_level = self._base[next_depth]
                cell = np.flatnonzero(refined == next_level.cell)
                # The image under the tentative map is the best guess: try it first.
                likely = permutation[next_level.node]
                tries.append(
                    (refined, iter([int(likely), *map(int, cell[cell != likely])]))
                )
        return None


# -- facts --------------------------------------------------------------------------------


def intersection_numbers(
    graph: AnswerGraph, *, transitive: bool = False
) -> IntersectionNumbers | None:
    r"""Return the intersection numbers, or ``None`` when the graph is not distance-regular.

    Decided exactly: in closed form for cliques, cycles and products (Hamming graphs:
    :math:`b_d = (u-d)(v-1)`, :math:`c_d = d` [B, Prop 13]), by different degrees, otherwise
    from all distances, or from those of one node where the graph is known to be vertex-transitive.
    With edge lengths the answer is ``None``.

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
        # The antipode of an even cycle is reached from both sides: c_D = 2.
        half, odd = divmod(graph.size, 2)
        ones = (1,) * (half - 1)
        return IntersectionNumbers((2, *ones, 0), (0, *ones, 1 if odd else 2))
    by_rule = graph.intersection_rule()
    if by_rule is None:
        # In a vertex-transitive graph one root represents all.
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
        How many roots to compare: all of them unless the graph is known to be vertex-transitive.
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
    backwards = edges[:, ::-1]
    begin, end = np.concatenate([edges, backwards]).T
    common = None
    for root in range(roots):
        distance = graph.distances_from(root)
        # b_d counts the neighbours one step further, c_d those one step nearer.
        step = distance[end] - distance[begin]
        rows = []
        for change in (1, -1):
            counts = np.bincount(begin[step == change], minlength=graph.size)
            farthest = int(distance.max())
            at_distance = np.zeros(farthest + 1, np.int64)
            # One count represents each distance; all others there must equal it.
            at_distance[distance] = counts
            if not np.array_equal(at_distance[distance], counts):
                return None
            rows.append(tuple(at_distance.tolist()))
        numbers = IntersectionNumbers(*rows)
        # Every root must have the same numbers.
        if common not in (None, numbers):
            return None
        common = numbers
    return common


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

    Decided exactly: from the rules of families and products [B, Prop 14], by different degrees,
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
    low = graph.min_degree
    high = graph.max_degree
    if low != high:
        return False, f"degrees differ ({low} … {high}), so neither"
    if not graph.has_lengths:
        if graph.is_clique:
            return True, "a clique"
        if graph.is_cycle:
            return True, "a cycle"
    # A rule decides at any size, without a search.
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
    ball_sizes: IntTuple | None
    intersection_numbers: dict[str, IntTuple] | None
    symmetry_reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the facts by name."""
        return asdict(self)

    def sentences(self) -> dict[str, str]:
        """Return the facts for a person to read."""
        shapes = [
            name
            for name in ("path", "cycle", "tree", "clique")
            if getattr(self, f"is_{name}")
        ]
        rows = {
            "answers": f"{self.nodes:,}",
            "edges": f"{self.edges:,}"
            + (" (with lengths)" if self.has_lengths else ""),
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
                f"{name} = {_shorten(values)}"
                for name, values in self.intersection_numbers.items()
            )
        return rows


def graph_facts(graph: AnswerGraph) -> GraphFacts:
    """Collect the facts of a graph, without a search where the family knows them.

    >>> from tightrope.graphs import PathPower
    >>> facts = graph_facts(PathPower(751, 5))
    >>> facts.diameter, facts.girth, facts.vertex_transitive
    (150, 3, False)
    """
    known: Symmetry | None = None
    try:
        known = symmetry(graph)
        reason = known.reason
    except TooLarge as unknown:
        reason = str(unknown)
    numbers = known.distance_regular if known else None
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
        distance_regular=numbers is not None if known else None,
        vertex_transitive=known.vertex_transitive if known else None,
        ball_sizes=graph.constant_ball_sizes,
        intersection_numbers={"b": numbers.b, "c": numbers.c} if numbers else None,
        symmetry_reason=reason,
    )


def _yes_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "too large to decide"}[value]


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} … {high:,}"


def _shorten(numbers: IntTuple) -> str:
    shown = [f"{n:,}" for n in numbers[:12]]
    return "  ".join(shown) + (" …" if len(numbers) > 12 else "")
