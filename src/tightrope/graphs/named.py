"""Graphs with a name: trees, folded cubes, and the small ones that tell symmetries apart."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError, whole_number
from tightrope.graphs.base import AnswerGraph, box_rule
from tightrope.graphs.complete import Clique
from tightrope.graphs.explicit import ExplicitGraph
from tightrope.graphs.lines import PathPower
from tightrope.graphs.products import CartesianProduct


class BalancedTree(AnswerGraph):
    """Every node above the last level has ``branches`` children; node 0 is the root.

    Children of node i are ``branches·i + 1 … branches·i + branches``.

    Examples
    --------
    >>> tree = BalancedTree(3, 4)
    >>> tree.size, tree.max_degree, tree.diameter, tree.distance(tree.size - 1, 1)
    (121, 4, 8, 5)
    """

    def __init__(self, branches: int, height: int, *, name: str | None = None) -> None:
        self.branches = whole_number(branches, "the number of branches")
        self.height = whole_number(height, "the height of the tree", 0)
        levels = itertools.accumulate(
            range(self.height), lambda width, _: width * self.branches, initial=1
        )
        #: The number of nodes at each depth.
        self.levels = tuple(levels)
        self.size = sum(self.levels)
        self.name = name or f"tree({branches},{height})"

    @property
    def rule(self) -> tuple[Any, ...]:
        """Branches and height; one branch is a path, one level a star."""
        if self.branches == 1 or self.size <= 2:
            return box_rule((self.size, 1))
        return ("star", self.branches) if self.height == 1 else ("tree", self.branches, self.height)

    def parent(self, i: int) -> int:
        """Return the node above a node other than the root."""
        return (int(i) - 1) // self.branches

    def _path_up(self, i: int) -> list[int]:
        """Return the nodes from a node to the root."""
        self._check_node(i)
        up = [int(i)]
        while up[-1]:
            up.append(self.parent(up[-1]))
        return up

    def distance(self, i: int, j: int) -> int:
        """Return the number of steps up to the common ancestor and down again."""
        one, other = self._path_up(i), self._path_up(j)
        while one and other and one[-1] == other[-1]:
            one.pop()
            other.pop()
        return len(one) + len(other)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_row("a row of distances")
        above = dict(enumerate(reversed(self._path_up(i))))
        row = np.empty(self.size, np.int64)
        row[0] = len(above) - 1
        start = 1
        for depth, width in enumerate(self.levels[1:], 1):
            upper = row[start - self.levels[depth - 1] : start]
            row[start : start + width] = np.repeat(upper + 1, self.branches)
            if depth in above:
                row[above[depth]] = len(above) - 1 - depth
            start += width
        return row

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the parent and the children."""
        self._check_node(i)
        self._check_address()
        first = self.branches * int(i) + 1
        children = np.arange(first, first + self.branches if first < self.size else first)
        return np.concatenate([[self.parent(i)], children]) if i else children

    def degree(self, i: int) -> int:
        """Return the number of children, and one for the parent."""
        self._check_node(i)
        return int(i > 0) + (self.branches if self.branches * int(i) + 1 < self.size else 0)

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        inner = self.size - self.levels[-1]
        degrees = np.where(np.arange(self.size) < inner, self.branches + 1, 1)
        degrees[0] -= 1
        return degrees

    @property
    def max_degree(self) -> int:
        """The degree below the root, or the root's own in a tree of height 1."""
        return self.branches + int(self.height > 1) if self.height else 0

    @property
    def min_degree(self) -> int:
        """The degree of a leaf."""
        return int(self.height > 0)

    @property
    def edge_count(self) -> int:
        """One less than the number of nodes."""
        return self.size - 1

    @property
    def diameter(self) -> int:
        """From leaf to leaf through the root."""
        return self.height * (2 if self.branches > 1 else 1)

    @property
    def constant_ball_sizes(self) -> tuple[int, ...] | None:
        """The ball sizes of a single node or edge; otherwise leaves see others than the root."""
        return self.ball_sizes(0) if self.size <= 2 else None


class FoldedCube(AnswerGraph):
    r"""The hypercube of dimension d-1 plus an edge between opposite corners.

    :math:`d(x, y) = \min(h, d-h)` with the Hamming distance h. Φ of ``FoldedCube(4)`` is
    singular at α = 1/3 [A, App B].

    Examples
    --------
    >>> cube = FoldedCube(4)
    >>> cube.size, cube.degree(0), cube.ball_sizes(0), cube.label(5)
    (8, 4, (1, 4, 3), (1, 0, 1))
    """

    def __init__(self, dimension: int, *, name: str | None = None) -> None:
        self.dimension = whole_number(dimension, "the dimension of a folded cube", 3)
        self.size = 2 ** (self.dimension - 1)
        self.name = name or f"folded_cube({dimension})"

    @property
    def fills_grid(self) -> bool:
        """Corners have all coordinates 0 and 1."""
        return True

    @property
    def rule(self) -> tuple[Any, ...]:
        """The dimension; three dimensions fold to a clique."""
        return ("folded cube", self.dimension) if self.dimension > 3 else box_rule((4, 3))

    @property
    def label_rule(self) -> tuple[Any, ...]:
        """A grid."""
        return "grid", (2,) * (self.dimension - 1)

    def label(self, i: int) -> tuple[int, ...]:
        """Return the coordinates of a corner."""
        self._check_node(i)
        return tuple(int(i) >> k & 1 for k in reversed(range(self.dimension - 1)))

    def index(self, label: Hashable) -> int:
        """Return the corner with the given coordinates."""
        if (
            isinstance(label, tuple)
            and len(label) == self.dimension - 1
            and all(bit in (0, 1) for bit in label)
        ):
            return sum(int(bit) << k for k, bit in enumerate(reversed(label)))
        raise InputError(
            f"an answer of {self.name} is a tuple of {self.dimension - 1} zeros and ones, "
            f"got {label!r}"
        )

    def distance(self, i: int, j: int) -> int:
        """Return min(h, d-h)."""
        self._check_node(i)
        self._check_node(j)
        steps = (int(i) ^ int(j)).bit_count()
        return min(steps, self.dimension - steps)

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_node(i)
        self._check_row("a row of distances")
        different = np.arange(self.size) ^ int(i)
        steps = sum((different >> k & 1 for k in range(1, self.dimension - 1)), different & 1)
        row: NDArray[np.int64] = np.minimum(steps, self.dimension - steps)
        return row

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the corners that differ in one coordinate, and the opposite corner."""
        self._check_node(i)
        self._check_address()
        flips = np.array([*(1 << k for k in range(self.dimension - 1)), self.size - 1])
        return np.sort(flips ^ int(i))

    def degree(self, i: int) -> int:
        """Return the dimension."""
        self._check_node(i)
        return self.dimension

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return np.full(self.size, self.dimension)

    @property
    def max_degree(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def min_degree(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def edge_count(self) -> int:
        """Half the dimension times the number of corners."""
        return self.size * self.dimension // 2

    @property
    def diameter(self) -> int:
        """Half the dimension."""
        return self.dimension // 2

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        self._check_node(i)
        d = self.dimension
        return tuple(comb(d, k) // (2 if 2 * k == d else 1) for k in range(d // 2 + 1))

    @property
    def constant_ball_sizes(self) -> tuple[int, ...]:
        """The ball sizes, the same everywhere."""
        return self.ball_sizes(0)


def grid(*sides: int) -> CartesianProduct:
    """Return the grid with the given numbers of answers along each side.

    >>> grid(3, 4).diameter, grid(2, 2, 2).size
    (5, 8)
    """
    lines = {side: PathPower(side) for side in set(sides)}
    name = f"grid({','.join(map(str, sides))})"
    return CartesianProduct([lines[side] for side in sides], name=name)


def hypercube(dimension: int) -> CartesianProduct:
    """Return the hypercube, whose answers are tuples of zeros and ones.

    >>> hypercube(3).ball_sizes(0)
    (1, 3, 3, 1)
    """
    sides = whole_number(dimension, "the dimension of a hypercube")
    return CartesianProduct([Clique(2)] * sides, name=f"hypercube({dimension})")


def petersen() -> ExplicitGraph:
    """Return the Petersen graph: pairs out of five, adjacent when disjoint.

    >>> petersen().size, petersen().diameter, petersen().label(0)
    (10, 2, (0, 1))
    """
    pairs = list(itertools.combinations(range(5), 2))
    return _graph(pairs, lambda a, b: not set(a) & set(b), "petersen")


def chang(which: int = 1) -> ExplicitGraph:
    """Return one of the three Chang graphs: distance-regular, not vertex-transitive [B, §2.3].

    The nodes are the pairs out of eight, adjacent when they share a member, after switching
    [Seidel] with respect to four disjoint pairs (1), an 8-cycle (2) or a 3-cycle and a
    5-cycle (3).

    >>> chang().size, chang().degree(0), chang().diameter
    (28, 12, 2)
    """
    cycles: dict[int, Sequence[Sequence[int]]] = {
        1: [(0, 1), (2, 3), (4, 5), (6, 7)],
        2: [range(8)],
        3: [(0, 1, 2), (3, 4, 5, 6, 7)],
    }
    if which not in cycles:
        raise InputError(f"there are Chang graphs 1, 2 and 3, got {which!r}")
    switched = {
        tuple(sorted((ring[k], ring[(k + 1) % len(ring)])))
        for ring in cycles[which]
        for k in range(len(ring))
    }
    pairs = list(itertools.combinations(range(8), 2))
    return _graph(
        pairs,
        lambda a, b: bool(set(a) & set(b)) != ((a in switched) != (b in switched)),
        "chang" if which == 1 else f"chang({which})",
    )


def truncated_tetrahedron() -> ExplicitGraph:
    """Return the truncated tetrahedron: vertex-transitive, not distance-regular [B, §2.3].

    Node (a, b) is the corner cut off at a on the edge towards b.

    >>> truncated_tetrahedron().size, truncated_tetrahedron().ball_sizes(0)
    (12, (1, 3, 4, 4))
    """
    corners = list(itertools.permutations(range(4), 2))
    return _graph(corners, lambda x, y: x[0] == y[0] or x == y[::-1], "truncated_tetrahedron")


def _graph(
    labels: Sequence[tuple[int, ...]],
    near: Callable[[tuple[int, ...], tuple[int, ...]], bool],
    name: str,
) -> ExplicitGraph:
    numbered = itertools.combinations(enumerate(labels), 2)
    edges = [(i, j) for (i, a), (j, b) in numbered if near(a, b)]
    return ExplicitGraph(edges, labels=labels, name=name)
