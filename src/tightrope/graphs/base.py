"""The answer graph: which answers neighbouring databases can give, and their distances.

An :class:`AnswerGraph` has one node for each possible answer of a query and an edge between
two different answers that neighbouring databases can give [A, Def 3; B, Def 25; C, Def 4.1].
Its shortest-path distance ``d`` is what privacy is measured by: a mechanism is ε-private iff
its probabilities change by a factor of at most ``exp(ε d(i, h))`` between answers i and h
[A, Prop 1].

Kernels use node *indices* ``0 … size-1``; *labels* are what people see.
"""

from __future__ import annotations

import contextlib
import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import (
    LIMITS,
    AnyArray,
    Floats,
    GraphRule,
    Ints,
    IntTuple,
    Labels,
    Pair,
)
from tightrope.errors import InputError, TightropeError, TooLarge
from tightrope.texts import html_table

if TYPE_CHECKING:
    import networkx

    from tightrope.graphs.explicit import ExplicitGraph
    from tightrope.graphs.unbounded import NoiseLattice


# Shape, rule from differences of coordinates to distances, and places of the nodes.
BoxEmbedding = tuple[
    IntTuple,
    Callable[[Sequence[AnyArray]], Ints],
    Ints,
]


def frozen(array: AnyArray) -> AnyArray:
    """Return the same array, from now on read-only.

    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array


def check_each(
    good: NDArray[np.bool_], values: AnyArray, must: str, place: str
) -> None:
    """Refuse the first of some values that is not good, with the value and its place.

    >>> check_each(np.array([True, False]), np.array([2, -1]), "lengths must be positive", "at {}")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: lengths must be positive, got -1 at 1
    """
    if not good.all():
        at = tuple(np.argwhere(~good)[0].tolist())
        where = place.format(*at)
        raise InputError(f"{must}, got {values[at]} {where}".rstrip())


def finite_array(
    given: Any, must: str, shape: tuple[int | None, ...], entries: str, sign: str = ""
) -> Floats:
    """Return a copy of some numbers, all of them finite, or refuse with the place and the value.

    Parameters
    ----------
    given
        Numbers in nested sequences, or an array.
    must
        What must hold, for messages about the shape.
    shape
        The size along each axis; ``None`` for any but 0.
    entries
        What the numbers are, for messages about one of them.
    sign
        ``"positive"``, ``"non-negative"``, or nothing for any sign.

    Examples
    --------
    >>> finite_array([0.5, -1], "give two weights", (2,), "weights", "non-negative")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: weights must be finite and non-negative, got -1.0 at position 1 ...
    """
    # A copy, so that callers cannot change it later.
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(must) from None
    sizes = zip(values.shape, shape, strict=False)
    fits = all(n > 0 if wanted is None else n == wanted for n, wanted in sizes)
    if values.ndim != len(shape) or not fits:
        raise InputError(f"{must}, got shape {values.shape}")
    is_good = np.isfinite(values)
    kind = f"finite and {sign}" if sign else "finite"
    if sign:
        is_good &= values > 0 if sign == "positive" else values >= 0
    place = ["", "at position {} (counting from 0)", "at row {}, column {}"][
        values.ndim
    ]
    check_each(is_good, values, f"{entries} must be {kind}", place)
    return values


def check_labels(labels: Labels, count: int, what: str) -> tuple[Hashable, ...] | None:
    """Return labels as a tuple, or refuse when they are too few, too many or not different.

    >>> check_labels("aba", 3, "answers")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: answers must be 3 different labels, got 'a' twice
    """
    if labels is None:
        return None
    try:
        # Counting finds repetitions, and refuses what cannot be hashed.
        most = Counter(labels).most_common(1)
    except TypeError:
        raise InputError(f"{what} must be hashable, got {list(labels)[:5]!r}") from None
    repeated = (f"{label!r} twice" for label, times in most if times > 1)
    twice = next(repeated, "")
    if twice or len(labels) != count:
        raise InputError(
            f"{what} must be {count} different labels, got {twice or len(labels)}"
        )
    return tuple(labels)


@dataclass(frozen=True)
class IntersectionNumbers:
    r"""The numbers :math:`b_d, c_d` for every distance :math:`d = 0 … D`.

    Parameters
    ----------
    b
        Neighbours one step further away; :math:`b_0` is the degree, :math:`b_D = 0`.
    c
        Neighbours one step nearer; :math:`c_0 = 0`.

    Examples
    --------
    >>> IntersectionNumbers(b=(3, 2, 0), c=(0, 1, 1)).diameter       # the Petersen graph
    2
    """

    b: IntTuple
    c: IntTuple

    @property
    def diameter(self) -> int:
        """The largest distance D."""
        return len(self.b) - 1


class AnswerGraph(ABC):
    """A finite connected graph of answers with its shortest-path distance.

    Families compute their distances, balls and symmetry and never list their edges;
    :class:`~tightrope.graphs.ExplicitGraph` holds an edge list. Nodes are numbered
    ``0 … size-1``.

    Attributes
    ----------
    name
        Text that describes the graph, such as ``sum(150,5)``.
    size
        The number of nodes.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> graph = PathPower(16, 5)                   # answers 0…15, neighbours differ by at most 5
    >>> graph.distance(0, 11), graph.diameter, graph.degree(0)
    (3, 3, 5)
    """

    name: str
    size: int

    def __init_subclass__(cls, **given: Any) -> None:
        """Reset inherited shortcuts on override.

        A subclass that overrides the labels or the neighbours of a family, but not the rules about
        them, would otherwise equal the family when graphs are compared.
        """
        super().__init_subclass__(**given)
        for method, rules in (
            ("label", ["label_rule", "unbounded"]),
            ("neighbours", ["rule", "power", "unbounded"]),
        ):
            # The nearest definition among the base classes is the one that is overridden.
            before = next(vars(c)[method] for c in cls.__mro__[1:] if method in vars(c))
            if method in vars(cls) and not getattr(
                before, "__isabstractmethod__", False
            ):
                for rule in set(rules) - set(vars(cls)):
                    setattr(cls, rule, None)

    @staticmethod
    def of(edges: Any, **given: Any) -> ExplicitGraph:
        """Return the graph with these edges; the keywords are those of ``ExplicitGraph``.

        >>> AnswerGraph.of([(0, 1), (1, 2), (2, 0)], labels="abc").is_clique
        True
        """
        from tightrope.graphs.explicit import ExplicitGraph

        return ExplicitGraph(edges, **given)

    # -- distances and neighbours of every kind of graph ----------------------------------

    def distance(self, i: int, j: int) -> float:
        """Return the shortest-path distance between two nodes (an integer without lengths)."""
        self._check_node(i)
        self._check_node(j)
        return int(self._far(int(i), int(j)))

    def distances_from(self, i: int) -> AnyArray:
        """Return the distances from one node to every node, as an array."""
        self._check_node(i)
        self._check_row("a row of distances")
        return np.asarray(self._far(int(i), np.arange(self.size)))

    def _far(self, i: int, j: Any) -> Any:
        """Return distances in closed form, from a node to a node or to an array of nodes.

        A family has this formula, or its own ``distance`` and ``distances_from``.
        """
        raise NotImplementedError(type(self).__name__)

    def _degree(self, i: Any) -> Any:
        """Return degrees in closed form, of a node or of an array of nodes, or ``None``."""
        return None

    @abstractmethod
    def neighbours(self, i: int) -> Ints:
        """Return the nodes adjacent to a node, in increasing order."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two nodes."""

    # -- structure: what other rooms ask for instead of the class --------------------------

    #: How nodes are made of the nodes of ``factors``: ``"cartesian"`` (one coordinate moves at a
    #: time), ``"strong"`` (all may move at once), or ``""`` for no product.
    product: str = ""
    #: Whether node i is adjacent to the nodes i±1 modulo n and to no other: a cycle in its order.
    is_ring: bool = False
    #: Whether labels are tuples that run through a whole grid, the last coordinate fastest.
    fills_grid: bool = False
    #: No cycle is shorter than this: a search may stop at it.
    least_girth: int = 3
    #: The answer of node i is start + i · step, unless labels have another rule.
    start: int | Fraction = 0
    step: int | Fraction = 1
    #: Family and parameters of the built-in question whose answers these are. The prior
    #: ``people(…)`` and the usual loss depend on it, never on the name, which is a display text.
    question: tuple[str, IntTuple] | None = None

    @property
    def factors(self) -> tuple[AnswerGraph, ...]:
        """The factors of a product, in the order of their coordinates; otherwise the graph."""
        return (self,)

    @property
    def power(self) -> int | None:
        """The w for which nodes are adjacent iff their numbers differ by at most w, if known."""
        return None

    @property
    def is_line(self) -> bool:
        """Whether nodes are numbered along a line, so that "the k-th answer" means something."""
        return False

    @property
    def rule(self) -> GraphRule | None:
        """What determines the numbered edges, or ``None`` where only a list does.

        Graphs of equal rules have the same edges. Graphs of different rules may have, too.
        """
        return None

    @property
    def label_rule(self) -> GraphRule | None:
        """What determines the labels: ``("steps", start, step)``, ``("grid", sizes)`` or ``None``.

        A grid has the tuples of whole numbers from 0 up to the sizes, the last fastest.
        """
        return "steps", self.start, self.step

    @property
    def box(self) -> tuple[Pair, ...] | None:
        """Size and width of each side, where nodes within all widths are adjacent."""
        rule = self.rule
        if rule is None or rule[0] != "box":
            return None
        return rule[1:]

    def lattice(self) -> BoxEmbedding | None:
        """Return the nodes as points of a box in which distance depends on differences alone.

        For graphs that fill their box there is :attr:`box`. The lattice is the shape of the box,
        the rule from differences of coordinates to distances, and the place of each node in
        row-major order; ``None`` where there is none, or where nodes are few in their box.
        """
        return None

    @property
    def unbounded(self) -> NoiseLattice | None:
        """The translation-invariant lattice that the answers are a part of, if any."""
        return None

    @property
    def depths(self) -> Ints | None:
        """How far each answer is from the ends, where only they break the symmetry.

        For every answer and coordinate the distances from the ends that matter to it. Answers whose
        coordinates have the same depths, in any order, are alike.
        """
        return None

    def longest_edge(self) -> tuple[int, int, float]:
        """Return the edge ``i < j`` and its length for which (j - i) / length is largest."""
        # Geometric noise with one step of ε·length/(j − i) is private on all edges iff on this one.
        edges = self.edge_array()
        lengths = self.edge_lengths()
        slopes = (edges[:, 1] - edges[:, 0]) / lengths
        e = int(slopes.argmax())
        begin, end = edges[e].tolist()
        return begin, end, float(lengths[e])

    def nearby_maxima(self, values: AnyArray) -> AnyArray:
        r"""Return for every node of a box the largest value at the node itself or at a neighbour.

        Where all edges have length 1, the worst ratio of a column x over the edges is
        :math:`\max_i \max_{h \sim i} x_h / x_i`; this is the inner maximum.

        Parameters
        ----------
        values
            One row for each node, of numbers that can be compared: floats or integers of any
            size.
        """
        # A ball in the maximum norm is a product of intervals: take maxima axis by axis.
        box = self.box or ()
        sides = (size for size, _ in box)
        maxima = values.reshape(*sides, *values.shape[1:])
        for axis, (size, wide) in enumerate(box):
            width = min(wide, size - 1)
            ahead = np.moveaxis(maxima, axis, 0)
            reach = 1
            # Maxima over windows [i, i + reach), doubled until reach = w + 1; then two of them
            # cover [i − w, i + w].
            while reach < width + 1:
                step = min(reach, width + 1 - reach)
                ahead = np.concatenate(
                    [np.maximum(ahead[:-step], ahead[step:]), ahead[-step:]]
                )
                reach += step
            if width:
                ends = np.maximum(ahead[:width], ahead[0])
                ahead = np.concatenate(
                    [ends, np.maximum(ahead[width:], ahead[:-width])]
                )
            maxima = np.moveaxis(ahead, 0, axis)
        return maxima.reshape(values.shape)

    def transitive_rule(self) -> tuple[bool, str] | None:
        """Return whether automorphisms move any node to any other, and why, if the family knows."""
        return None

    def intersection_rule(self) -> IntersectionNumbers | Literal[False] | None:
        """Return the intersection numbers, ``False`` where there are none.

        ``None`` where the family does not know.
        """
        return None

    def same_as(self, other: AnswerGraph) -> bool:
        """Whether two graphs have the same numbered nodes, edges and lengths, exactly.

        By their rules at any size; otherwise by comparing lists, which is refused where they would
        be too long.

        >>> from tightrope.graphs import Clique, PathPower
        >>> PathPower(10**12, 5).same_as(PathPower(10**12, 5)), Clique(3).same_as(PathPower(3, 2))
        (True, True)
        """
        if self is other:
            return True
        if self.size != other.size or self.has_lengths != other.has_lengths:
            return False
        # Equal rules mean equal edges; different rules may, too (a clique of 2 is a path).
        if self.rule is not None and self.rule == other.rule:
            return True
        return (
            self.edge_count == other.edge_count
            and np.array_equal(self.edge_array(), other.edge_array())
            and np.array_equal(self.edge_lengths(), other.edge_lengths())
        )

    def agrees_with(self, other: AnswerGraph) -> bool:
        """Whether another graph has the same nodes, edges, lengths and labels, exactly.

        The two then mean the same by privacy, answer by answer.

        >>> from tightrope.graphs import Clique, PathPower
        >>> PathPower(4).agrees_with(PathPower(4).explicit()), PathPower(4).agrees_with(Clique(4))
        (True, False)
        """
        if not self.same_as(other):
            return False
        if self.label_rule is not None and self.label_rule == other.label_rule:
            return True
        # The same number may be written as 2 or as 2.0, but True is no number.
        return all(
            mine == theirs and isinstance(mine, bool) == isinstance(theirs, bool)
            for mine, theirs in zip(self.labels, other.labels, strict=True)
        )

    # -- overridden where a formula is faster ---------------------------------------------

    @property
    def has_lengths(self) -> bool:
        """Whether edges carry lengths other than 1 (metric privacy)."""
        return False

    def label(self, i: int) -> Hashable:
        """Return the answer of a node."""
        self._check_node(i)
        return self.start + int(i) * self.step

    def index(self, label: Hashable) -> int:
        """Return the node of an answer."""
        # What is no label of this family may fail in any of these ways.
        with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
            node = self._place(label)
            # 2.0 and Fraction(2) are the same answer as 2.
            if 0 <= node < self.size and self.label(node) == label:
                return node
        raise InputError(f"{label!r} is not an answer of {self.name}")

    def _place(self, label: Any) -> int:
        """Return where an answer must be if it is one; for others anything may be raised."""
        return int((label - self.start) // self.step)

    @property
    def labels(self) -> list[Hashable]:
        """All answers in node order."""
        self._check_row("the list of answers")
        return [self.label(i) for i in range(self.size)]

    def degree(self, i: int) -> int:
        """Return the number of neighbours of a node."""
        self._check_node(i)
        known = self._degree(int(i))
        if known is None:
            return len(self.neighbours(i))
        return int(known)

    @functools.cached_property
    def degrees(self) -> Ints:
        """The degree of every node."""
        self._check_row("the list of degrees")
        degrees = self._degree(np.arange(self.size))
        if degrees is None:
            degrees = [self.degree(i) for i in range(self.size)]
        return frozen(np.array(degrees, np.int64))

    @property
    def degree_range(self) -> Pair:
        """The smallest and the largest degree."""
        return int(self.degrees.min()), int(self.degrees.max())

    @property
    def max_degree(self) -> int:
        """The largest degree Δ."""
        return self.degree_range[1]

    @property
    def min_degree(self) -> int:
        """The smallest degree."""
        return self.degree_range[0]

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return int(self.degrees.sum()) // 2

    def ball_sizes(self, i: int) -> IntTuple:
        """Return how many nodes lie at distance exactly 0, 1, 2, … from a node.

        The number at distance d is the paper's :math:`n_d` [B, §2.3].
        """
        self._check_unit("ball sizes")
        return tuple(np.bincount(self.distances_from(i)).tolist())

    @functools.cached_property
    def constant_ball_sizes(self) -> IntTuple | None:
        """``n_d`` when every node sees the same ball sizes [B, Prop 5], otherwise ``None``."""
        if self.has_lengths or self.min_degree != self.max_degree:
            return None
        # No distance is above 1, so there is nothing to compare.
        if self.is_clique:
            return (1, self.size - 1) if self.size > 1 else (1,)
        # Every node is compared: constant degrees alone do not make balls constant.
        self._check_row("ball sizes")
        first = self.ball_sizes(0)
        same = all(self.ball_sizes(i) == first for i in range(1, self.size))
        return first if same else None

    # -- shapes: about the edges alone, whatever their lengths ----------------------------

    @property
    def is_path(self) -> bool:
        """Whether the edges form a simple path (a single node counts)."""
        return self.is_tree and self.max_degree <= 2

    @property
    def is_cycle(self) -> bool:
        """Whether the edges form a simple cycle."""
        return self.size >= 3 and self.min_degree == self.max_degree == 2

    @property
    def is_tree(self) -> bool:
        """Whether the edges form no cycle (every answer graph is connected)."""
        return self.edge_count == self.size - 1

    @property
    def is_clique(self) -> bool:
        """Whether every two nodes are adjacent."""
        return self.min_degree == self.size - 1

    # -- whole-graph views, refused when they would not fit -------------------------------

    def edges(self) -> Iterator[Pair]:
        """Yield every edge once, as a pair ``i < j``."""
        # Listed from the smaller end, each edge comes once.
        for i in range(self.size):
            for j in self.neighbours(i):
                if j > i:
                    yield i, int(j)

    def edge_array(self) -> Ints:
        """Return all edges as an array of shape (edges, 2), each pair increasing (read-only)."""
        self._check_edges()
        # Each edge once: only neighbours with a larger number.
        later = [
            near[near > i] for i in range(self.size) for near in (self.neighbours(i),)
        ]
        counts = [len(near) for near in later]
        first = np.repeat(np.arange(self.size), counts)
        edges = np.stack([first, np.concatenate(later)], axis=1)
        return frozen(edges.astype(np.int64))

    @property
    def listing_steps(self) -> int:
        """How many arcs are looked at when all edges are listed, known before they are."""
        return 2 * self.edge_count

    def edge_lengths(self) -> Floats:
        """Return the length of every edge, in the order of :meth:`edge_array` (read-only)."""
        self._check_edges()
        return frozen(np.ones(self.edge_count))

    def distance_matrix(self) -> AnyArray:
        """Return all distances as an n × n array (read-only)."""
        self._check_matrix("the distance matrix")
        rows = [self.distances_from(i) for i in range(self.size)]
        return frozen(np.stack(rows))

    def explicit(self) -> ExplicitGraph:
        """Return the same graph with its edges listed."""
        from tightrope.graphs.explicit import ExplicitGraph

        lengths = self.edge_lengths() if self.has_lengths else None
        return ExplicitGraph(
            self.edge_array(), lengths=lengths, labels=self.labels, name=self.name
        )

    def to_networkx(self) -> networkx.Graph[Any]:
        """Return a NetworkX graph whose nodes are the labels (edge attribute ``length``)."""
        import networkx

        graph: networkx.Graph[Any] = networkx.Graph(name=self.name)
        graph.add_nodes_from(self.labels)
        for (i, j), length in zip(
            self.edge_array(), self.edge_lengths().tolist(), strict=True
        ):
            graph.add_edge(self.label(i), self.label(j), length=length)
        return graph

    # -- guards ---------------------------------------------------------------------------

    def _check_node(self, i: int) -> None:
        if not isinstance(i, int | np.integer) or not 0 <= i < self.size:
            raise InputError(
                f"node must be in 0 … {self.size - 1} of {self.name}, got {i!r}"
            )

    def _check_unit(self, what: str) -> None:
        if self.has_lengths:
            raise InputError(
                f"{what} need edges of length 1, but {self.name} has edge lengths"
            )

    def _check_row(self, what: str) -> None:
        self._check_length(self.size, what)

    def _check_length(self, length: int, what: str) -> None:
        if length > LIMITS.row:
            raise TooLarge(
                f"{what} of {self.name} would hold {length} entries, "
                f"more than {LIMITS.row}; ask for single nodes instead"
            )

    def _check_address(self) -> None:
        if self.size > LIMITS.address:
            raise TooLarge(
                f"{self.name} has {self.size} nodes, more than {LIMITS.address}: its neighbours "
                "cannot be numbered in an array; ask for distance, degree or ball_sizes"
            )

    def _check_matrix(self, what: str) -> None:
        if self.size > LIMITS.matrix:
            raise TooLarge(
                f"{what} of {self.name} would hold {self.size}² numbers; "
                f"at most {LIMITS.matrix} nodes fit: use distances_from(node) instead"
            )

    def _check_searched(self, what: str) -> None:
        if self.size > LIMITS.searched:
            raise TooLarge(
                f"{what} of {self.name} has no closed form and is searched for only in graphs of "
                f"up to {LIMITS.searched} answers, got {self.size}"
            )

    def _check_edges(self) -> None:
        if self.size > LIMITS.row or self.edge_count > LIMITS.edges:
            raise TooLarge(
                f"the edge list of {self.name} would be longer than {LIMITS.edges}"
            )

    def __len__(self) -> int:
        return self.size

    def _repr_html_(self) -> str:
        """Return a small table of facts for notebooks, safe to put into a page."""
        facts: list[tuple[str, object]] = [("answers", f"{self.size:,}")]
        if self.size <= LIMITS.kept:
            try:
                facts.append(("edges", f"{self.edge_count:,}"))
                facts.append(("diameter", f"{self.diameter:g}"))
                facts.append(("largest degree", self.max_degree))
            except TightropeError as refused:
                facts.append(("more", refused))
        return html_table(facts, caption=self.name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.size} answers>"


class RegularGraph(AnswerGraph):
    """A graph in which every node sees the same: one degree, and the same balls."""

    @property
    @abstractmethod
    def common_degree(self) -> int:
        """The degree of every node."""

    def _degree(self, i: Any) -> Any:
        return self.common_degree + 0 * i

    @property
    def degree_range(self) -> Pair:
        """The degree of every node, twice."""
        return self.common_degree, self.common_degree

    @property
    def edge_count(self) -> int:
        """Half of all degrees."""
        return self.size * self.common_degree // 2

    @property
    def constant_ball_sizes(self) -> IntTuple | None:
        """The ball sizes, the same everywhere unless edges have lengths."""
        return None if self.has_lengths else self.ball_sizes(0)


def box_rule(*sides: Pair) -> GraphRule:
    """Return the rule of a strong product of powers of paths, in one form for equal graphs.

    Sides of one node say nothing, and cliques beside each other are one larger clique.

    >>> box_rule((3, 2), (1, 1), (2, 9), (5, 1))
    ('box', (6, 5), (5, 1))
    """
    merged: list[Pair] = []
    for size, width in sides:
        if size == 1:
            continue
        # A width of n − 1 already joins all n nodes.
        side = (size, min(width, size - 1))
        # A strong product of cliques of m and n nodes is a clique of m·n.
        if merged and side[1] == size - 1 and merged[-1][1] == merged[-1][0] - 1:
            together = size * merged.pop()[0]
            side = (together, together - 1)
        merged.append(side)
    return ("box", *merged)


def check_written(digits: float, parts: int, text: str) -> None:
    """Refuse numbers of answers that cannot even be written down.

    >>> check_written(2000, 1, "hypercube(6644)")
    Traceback (most recent call last):
    ...
    tightrope.errors.TooLarge: hypercube(6644) would have more than 10^1000 answers or ...
    """
    if digits > LIMITS.digits or parts > LIMITS.parts:
        raise TooLarge(
            f"{text} would have more than 10^{LIMITS.digits} answers or {LIMITS.parts} parts: "
            "use smaller parameters"
        )
