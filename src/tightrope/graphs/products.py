r"""Products of answer graphs, never listed, and graphs on the tuples of a grid.

In the Cartesian product :math:`d = \sum_k d_k` (databases: one factor for each person), in the
strong product :math:`d = \max_k d_k` (bundles of counts: one person changes them all at once).
Nodes are numbered in row-major order: the last factor runs fastest.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tightrope.arrays import AnyArray, GraphRule, Ints, IntTuple, Pair
from tightrope.errors import InputError, whole_number
from tightrope.graphs.base import (
    AnswerGraph,
    IntersectionNumbers,
    box_rule,
    check_written,
)
from tightrope.graphs.lines import Clique, PathPower, Star
from tightrope.graphs.registry import Parameter, family
from tightrope.graphs.unbounded import NoiseLattice


def digits_of(number: int, sides: Sequence[int]) -> IntTuple:
    """Return the coordinates of a place in a grid, the last one fastest.

    >>> digits_of(7, (2, 3, 4)), number_of((0, 1, 3), (2, 3, 4))
    ((0, 1, 3), 7)
    """
    rest = int(number)
    digits = []
    for side in reversed(sides):
        rest, digit = divmod(rest, side)
        digits.append(digit)
    # Digits come from the last coordinate on.
    return tuple(reversed(digits))


def number_of(digits: Iterable[int], sides: Sequence[int]) -> int:
    """Return the place in a grid from its coordinates: the reverse of :func:`digits_of`."""
    number = 0
    for side, digit in zip(sides, digits, strict=True):
        number = number * side + int(digit)
    return number


class GridGraph(AnswerGraph):
    """A graph on the tuples of a grid, numbered in row-major order: the last side runs fastest."""

    fills_grid = True
    #: How many answers there are along each side.
    sides: IntTuple

    def digits(self, i: int) -> IntTuple:
        """Return the coordinates of a node."""
        self._check_node(i)
        return digits_of(i, self.sides)

    @property
    def label_rule(self) -> GraphRule | None:
        """A grid."""
        return "grid", self.sides

    def label(self, i: int) -> Hashable:
        """Return the tuple of coordinates."""
        return self.digits(i)

    def _place(self, label: Any) -> int:
        return number_of(
            [self._digit(k, part) for k, part in enumerate(label)], self.sides
        )

    def _digit(self, k: int, part: Any) -> int:
        """Return a coordinate of a node from that of a label, or raise anything."""
        return int(part)


class ProductGraph(GridGraph):
    """What the two kinds of product share: numbering, labels and combined rows."""

    #: The symbol between the factors' names, and how distances in the factors make one.
    _sign: str
    _combine: np.ufunc

    def __init__(
        self, factors: Sequence[AnswerGraph], *, name: str | None = None
    ) -> None:
        if not factors:
            raise InputError("a product needs at least one factor")
        if any(factor.has_lengths for factor in factors):
            raise InputError("a product needs factors with edges of length 1")
        self._factors = tuple(factors)
        self.sides = tuple(factor.size for factor in factors)
        self.size = math.prod(self.sides)
        self.name = name or self._sign.join(factor.name for factor in factors)

    @property
    def factors(self) -> tuple[AnswerGraph, ...]:
        """The factors, in the order of the coordinates."""
        return self._factors

    @functools.cached_property
    def rule(self) -> GraphRule | None:
        """The factors' rules; factors of one node say nothing."""
        rules = [factor.rule for factor in self.factors if factor.size > 1]
        known = [rule for rule in rules if rule is not None]
        if len(known) < len(rules):
            return None
        if len(known) < 2:
            return known[0] if known else box_rule()
        return self._joined(known)

    def _joined(self, rules: list[GraphRule]) -> GraphRule:
        # Products of products are flattened: equal graphs get equal rules.
        inner = [rule[1:] if rule[0] == self.product else (rule,) for rule in rules]
        return self.product, *itertools.chain.from_iterable(inner)

    @functools.cached_property
    def label_rule(self) -> GraphRule | None:
        """A grid, where every factor numbers its labels from 0."""
        if any(factor.label_rule != ("steps", 0, 1) for factor in self.factors):
            return None
        return "grid", self.sides

    def label(self, i: int) -> Hashable:
        """Return the tuple of the factors' answers."""
        return tuple(factor.label(digit) for factor, digit in self._places(i))

    def _digit(self, k: int, part: Any) -> int:
        return self.factors[k].index(part)

    def distance(self, i: int, j: int) -> int:
        """Return the sum of the factors' distances, or the largest of them."""
        distances = [
            factor.distance(digit, other)
            for (factor, digit), other in zip(
                self._places(i), self.digits(j), strict=True
            )
        ]
        return int(self._combine.reduce(distances, dtype=object))

    @functools.cached_property
    def diameter(self) -> int:
        """The sum of the factors' diameters, or the largest of them."""
        diameters = self._each(lambda factor: int(factor.diameter))
        return int(self._combine.reduce(diameters, dtype=object))

    def distances_from(self, i: int) -> Ints:
        """Return the distances from one node to every node."""
        self._check_row("a row of distances")
        rows = [f.distances_from(d) for f, d in self._places(i)]
        return self._grid(rows, self._combine.outer)

    def _places(self, i: int) -> Iterator[tuple[AnswerGraph, int]]:
        """Return every factor with the coordinate of a node in it."""
        return zip(self.factors, self.digits(i), strict=True)

    def _grid(
        self, rows: Sequence[AnyArray], outer: Callable[[Any, Any], Any]
    ) -> AnyArray:
        """Combine one row for each factor into a row of the product."""
        return functools.reduce(lambda left, right: outer(left, right).ravel(), rows)

    @functools.cached_property
    def _different(self) -> list[AnswerGraph]:
        """The factors, each object once."""
        return list(dict.fromkeys(self.factors))

    def _each(self, fact: Callable[[AnswerGraph], Any]) -> list[Any]:
        """Return a fact about every factor, worked out once for each object."""
        return list(map(functools.cache(fact), self.factors))

    @staticmethod
    @abstractmethod
    def _joint_degree(one: Any, other: Any) -> Any:
        """Return the degree of a node of a product of two from the degrees in the factors."""

    def degree(self, i: int) -> int:
        """Return the number of neighbours."""
        degrees = [f.degree(d) for f, d in self._places(i)]
        return functools.reduce(self._joint_degree, degrees)

    @functools.cached_property
    def degrees(self) -> Ints:
        """The degree of every node."""
        self._check_row("the list of degrees")
        rows = [factor.degrees for factor in self.factors]
        return self._grid(
            rows, lambda one, other: self._joint_degree(one[:, None], other)
        )

    @functools.cached_property
    def degree_range(self) -> Pair:
        """The smallest and the largest degree: those of the factors together."""
        ranges = zip(*self._each(lambda factor: factor.degree_range), strict=True)
        low, high = (functools.reduce(self._joint_degree, ends) for ends in ranges)
        return low, high

    @functools.cached_property
    def edge_count(self) -> int:
        """The number of edges.

        The joint degree is linear in the degree of each factor, and the degrees of a random node
        in the factors are independent: their means give the mean of the product.
        """
        # 2 |E| / n is the mean degree.
        # One computation for each different factor, whatever the number of factors.
        means = self._each(lambda factor: Fraction(2 * factor.edge_count, factor.size))
        mean = functools.reduce(self._joint_degree, means)
        return int(self.size * mean / 2)

    def transitive_rule(self) -> tuple[bool, str] | None:
        """Return that all factors are vertex-transitive, if they are [B, Prop 14]."""
        from tightrope.graphs.symmetry import is_vertex_transitive

        if all(map(is_vertex_transitive, self._different)):
            kind = "Cartesian" if self.product == "cartesian" else "strong"
            return True, f"a {kind} product of vertex-transitive factors"
        return None

    @functools.cached_property
    def constant_ball_sizes(self) -> IntTuple | None:
        """``n_d`` when every node of every factor sees the same ball sizes."""
        if any(factor.constant_ball_sizes is None for factor in self._different):
            return None
        return self.ball_sizes(0)


class CartesianProduct(ProductGraph):
    r"""Change one coordinate by one step: :math:`d(x, y) = \sum_k d_k(x_k, y_k)`.

    The Hamming graph of databases is a Cartesian product of cliques [B, Prop 14].

    Examples
    --------
    >>> from tightrope.graphs import Clique
    >>> hamming = CartesianProduct([Clique(4)] * 5)
    >>> hamming.ball_sizes(0), hamming.diameter
    ((1, 15, 90, 270, 405, 243), 5)
    """

    _sign = "□"
    _combine = np.add
    product = "cartesian"

    def neighbours(self, i: int) -> Ints:
        """Return the nodes that differ in one coordinate by one step."""
        self._check_address()
        near = []
        step = 1
        for factor, digit in reversed(list(self._places(i))):
            # One step of a coordinate moves the node number by the sizes behind it.
            changes = factor.neighbours(digit) - digit
            near.append(i + changes * step)
            step *= factor.size
        return np.sort(np.concatenate(near))

    @staticmethod
    def _joint_degree(one: Any, other: Any) -> Any:
        return one + other

    def ball_sizes(self, i: int) -> IntTuple:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        from flint import fmpz_poly

        # Distances add up, so Σ_d n_d x^d of a product is the product of those of the factors.
        places = Counter(self._places(i))
        powers = (fmpz_poly(list(f.ball_sizes(d))) ** n for (f, d), n in places.items())
        product = math.prod(powers, start=fmpz_poly([1]))
        return tuple(map(int, product.coeffs()))

    @functools.cached_property
    def least_girth(self) -> int:  # type: ignore[override]
        """A triangle lies in one factor."""
        from tightrope.graphs.shapes import girth

        return 3 if any(girth(factor) == 3 for factor in self._different) else 4

    def transitive_rule(self) -> tuple[bool, str]:
        """Return whether all factors are vertex-transitive [B, Prop 14]."""
        no = False, "a Cartesian product with a factor that is not vertex-transitive"
        return super().transitive_rule() or no

    def intersection_rule(self) -> IntersectionNumbers | Literal[False]:
        r"""Decide from the factors (Hamming graphs: [B, Prop 13]).

        Nodes that differ by i in one factor and j in another see :math:`c = c_i + c'_j` and
        :math:`b = b_i + b'_j` besides constants, which depend on i + j alone only if both are
        linear with common slopes. One layer of a distance-regular product is distance-regular.
        """
        from tightrope.graphs.symmetry import intersection_numbers

        pairs = zip(self.factors, self._each(intersection_numbers), strict=True)
        of_factors = [numbers for factor, numbers in pairs if factor.size > 1]
        if len(of_factors) == 1:
            return of_factors[0] or False
        # b_d and c_d must be linear in d with one slope: b_0/D is it.
        slopes = {numbers.b[0] // numbers.diameter for numbers in of_factors if numbers}
        if None in of_factors or len(slopes) > 1:
            return False
        slope = slopes.pop()
        if any(n != _hamming_numbers(n.diameter, slope) for n in of_factors):
            return False
        return _hamming_numbers(self.diameter, slope)


def _hamming_numbers(diameter: int, slope: int) -> IntersectionNumbers:
    r"""Return :math:`b_d = (D-d) \cdot` slope and :math:`c_d = d` [B, Prop 13]."""
    falling = tuple(slope * d for d in range(diameter, -1, -1))
    rising = tuple(range(diameter + 1))
    return IntersectionNumbers(falling, rising)


class StrongProduct(ProductGraph):
    r"""Change any coordinates by one step at once: :math:`d(x, y) = \max_k d_k(x_k, y_k)`.

    A bundle of counts is a strong product of paths [A, §6].

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> counts = StrongProduct([PathPower(31), PathPower(31)])
    >>> counts.size, counts.edge_count, counts.distance(counts.index((0, 5)), counts.index((9, 3)))
    (961, 3660, 9)
    """

    _sign = "⊠"
    _combine = np.maximum
    product = "strong"

    @property
    def box(self) -> tuple[Pair, ...] | None:
        """The factors' sides, one after the other."""
        boxes = [factor.box for factor in self.factors]
        if any(factor_sides is None for factor_sides in boxes):
            return None
        return tuple(
            side for factor_sides in boxes for side in factor_sides or ((1, 1),)
        )

    @property
    def unbounded(self) -> NoiseLattice | None:
        """A cube, for paths of one length with whole numbers as labels."""
        lines = {factor.unbounded for factor in self.factors}
        line = lines.pop()
        if (
            lines
            or line is None
            or line.form != "line"
            or (line.width, line.step) != (1, 1)
        ):
            return None
        return NoiseLattice("cube", len(self.factors), line.people)

    @property
    def depths(self) -> Ints | None:
        """The distance of each coordinate from the nearer end, in a cube of paths.

        >>> from tightrope.graphs import PathPower
        >>> StrongProduct([PathPower(3)] * 2).depths[:2, :, 0].tolist()
        [[0, 0], [0, 1]]
        """
        side = self.sides[0]
        if self.box is None or set(self.box) != {(side, 1)}:
            return None
        indices = np.unravel_index(np.arange(self.size), self.sides)
        places = np.stack(indices, axis=1)
        from_ends = np.minimum(places, side - 1 - places)
        return from_ends[:, :, None]

    def _joined(self, rules: list[GraphRule]) -> GraphRule:
        if all(rule[0] == "box" for rule in rules):
            sides = (side for rule in rules for side in rule[1:])
            return box_rule(*sides)
        return super()._joined(rules)

    def neighbours(self, i: int) -> Ints:
        """Return the nodes whose coordinates all differ by at most one step."""
        self._check_address()
        self._check_length(self.degree(i), "a row of neighbours")
        # The product of the closed balls of radius 1, without the node itself.
        near = np.zeros(1, np.int64)
        for factor, digit in self._places(i):
            # The closed ball includes the coordinate itself: it may stay.
            ball = np.sort(np.append(factor.neighbours(digit), digit))
            starts = near[:, None] * factor.size
            near = (starts + ball).ravel()
        return np.setdiff1d(near, [i])

    @staticmethod
    def _joint_degree(one: Any, other: Any) -> Any:
        # (a + 1)(b + 1) - 1: closed balls multiply.
        return one + other + one * other

    def ball_sizes(self, i: int) -> IntTuple:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        sizes = [f.ball_sizes(d) for f, d in self._places(i)]
        # A ball of radius d is the product of the factors' balls of radius d.
        balls = [list(itertools.accumulate(shells)) for shells in sizes]
        within = [
            math.prod(ball[min(d, len(ball) - 1)] for ball in balls)
            for d in range(max(map(len, balls)))
        ]
        # Shells are differences of balls; Python integers, as they may exceed 64 bits.
        reached = np.array([0, *within], object)
        return tuple(np.diff(reached).tolist())

    def intersection_rule(self) -> IntersectionNumbers | Literal[False]:
        """Decide from the factors.

        Neighbours that differ in one factor share ``(a₁+2)(k'+1)`` nodes of their closed balls,
        neighbours that differ in both ``(a₁+2)(a'₁+2)``: equal only when all factors are cliques.
        """
        from tightrope.graphs.symmetry import intersection_numbers

        factors = [factor for factor in self.factors if factor.size > 1]
        if len(factors) > 1:
            return False
        return intersection_numbers(factors[0]) or False


@family(
    "grid",
    Parameter("a", "number of answers along one side"),
    meaning="a grid with any number of sides",
    example="grid(3,4)",
    repeats=True,
)
def grid(*sides: int) -> CartesianProduct:
    """Return the grid with the given numbers of answers along each side.

    >>> grid(3, 4).diameter, grid(2, 2, 2).size
    (5, 8)
    """
    lines = {side: PathPower(side) for side in set(sides)}
    name = f"grid({','.join(map(str, sides))})"
    check_written(sum(map(math.log10, sides)), len(sides), name)
    return CartesianProduct([lines[side] for side in sides], name=name)


@family(
    "hypercube",
    Parameter("d", "dimension"),
    meaning="tuples of bits",
    example="hypercube(3)",
)
def hypercube(dimension: int) -> CartesianProduct:
    """Return the hypercube, whose answers are tuples of zeros and ones.

    >>> hypercube(3).ball_sizes(0)
    (1, 3, 3, 1)
    """
    sides = whole_number(dimension, "the dimension of a hypercube")
    digits = sides * math.log10(2)
    check_written(digits, sides, f"hypercube({dimension})")
    return CartesianProduct([Clique(2)] * sides, name=f"hypercube({dimension})")


class Databases(CartesianProduct):
    r"""All databases of u people, adjacent when one person differs.

    A Cartesian product with one factor for each person: a clique of the values when a person's
    value may change (the Hamming graph, [B, Prop 14]), a star around "absent" when a person may
    come or go, a clique of the values and "absent" when all of this may happen.

    Parameters
    ----------
    people
        The number of slots u.
    values
        One person's possible values.
    change
        Whether a person's value may change in one step.
    absent
        Whether people may be absent; their label is ``None``.
    name
        Text that describes the graph.

    Examples
    --------
    >>> hamming = Databases(5, range(4))
    >>> hamming.size, hamming.ball_sizes(0)
    (1024, (1, 15, 90, 270, 405, 243))
    >>> slots = Databases(2, "ab", change=False, absent=True)
    >>> slots.label(0), slots.label(5), slots.distance(slots.index(("a", None)), 7)
    ((None, None), ('a', 'b'), 3)
    """

    def __init__(
        self,
        people: int,
        values: Sequence[Hashable],
        *,
        change: bool = True,
        absent: bool = False,
        name: str | None = None,
    ) -> None:
        count = whole_number(len(values), "the number of values")
        people = whole_number(people, "the number of people")
        if not (change or absent):
            raise InputError(
                "neighbouring databases must differ: people change, or come and go"
            )
        self.values = values if isinstance(values, range) else tuple(values)
        self.absent = bool(absent)
        text = name or f"databases({people},{count})"
        digits = people * math.log10(count + 1)
        check_written(digits, people, text)
        # A star joins each value to `absent` only: people come and go, and never change.
        slot = Clique(count + int(self.absent)) if change else Star(count)
        super().__init__([slot] * people, name=text)

    @property
    def label_rule(self) -> GraphRule | None:
        """A grid where values are 0, 1, 2, … and nobody is absent."""
        plain = not self.absent and self.values == range(len(self.values))
        if not plain:
            return None
        return ("grid", (len(self.values),) * len(self.factors))

    def label(self, i: int) -> tuple[Hashable, ...]:
        """Return the values of all people, ``None`` for the absent ones."""
        if not self.absent:
            return tuple(self.values[digit] for digit in self.digits(i))
        return tuple(self.values[d - 1] if d else None for d in self.digits(i))

    def _digit(self, k: int, part: Any) -> int:
        if self.absent and part is None:
            return 0
        return self.values.index(part) + int(self.absent)


class CappedCounts(GridGraph):
    r"""Bundles of ``k`` counts of at most ``people`` people, where one person comes or goes.

    A person who comes raises any of the counts by one, so :math:`c \sim c'` when
    :math:`c'-c \in \{0,1\}^k \setminus 0` and no count in the smaller c is ``people``. With
    :math:`P = \max(c'-c)^+` and :math:`N = \max(c-c')^+` the distance is P + N, and one more when
    only one of them is positive and the smaller bundle already has a full count: then somebody
    must leave first.

    Examples
    --------
    >>> graph = CappedCounts(3, 2)
    >>> graph.size, graph.edge_count, graph.diameter
    (16, 27, 6)
    >>> graph.distance(graph.index((3, 0)), graph.index((3, 1)))
    2
    """

    def __init__(self, people: int, counts: int, *, name: str | None = None) -> None:
        self.people = whole_number(people, "the number of people")
        self.counts = whole_number(counts, "the number of counts")
        self.name = name or f"counts({people},{counts})"
        digits = self.counts * math.log10(self.people + 1)
        check_written(digits, self.counts, self.name)
        self.sides = (self.people + 1,) * self.counts
        self.size = math.prod(self.sides)

    @property
    def rule(self) -> GraphRule:
        """The number of people and of counts; one count is a path."""
        if self.counts == 1:
            return box_rule((self.size, 1))
        return "capped counts", self.people, self.counts

    @property
    def unbounded(self) -> NoiseLattice:
        """The lattice of all bundles, where somebody raises or lowers any of the counts."""
        return NoiseLattice("range", self.counts, self.people, ends=True)

    @property
    def depths(self) -> Ints:
        """The distances of each count from 0 and from all people: these ends differ."""
        from_all = self.people - self._table
        return np.stack([self._table, from_all], axis=2)

    def distance(self, i: int, j: int) -> int:
        """Return the number of people who must come or go."""
        here = np.array(self.digits(i))
        there = np.array(self.digits(j))
        return int(self._apart(here, there))

    def distances_from(self, i: int) -> Ints:
        """Return the distances from one node to every node."""
        here = np.array(self.digits(i))
        return np.asarray(self._apart(here, self._table))

    def _apart(self, here: AnyArray, there: AnyArray) -> Any:
        """Return the distances from a bundle to one or to a table of them."""
        # P + N, and one more when only one is positive and the smaller bundle has a full count.
        gaps = there - here
        up = np.maximum(gaps.max(axis=-1), 0)
        down = np.maximum(-gaps.min(axis=-1), 0)
        full_here, full_there = (x.max(axis=-1) == self.people for x in (here, there))
        from_full = (down == 0) & full_here
        to_full = (down > 0) & full_there
        detour = np.where(up > 0, from_full, to_full)
        return up + down + detour

    @functools.cached_property
    def _table(self) -> Ints:
        self._check_length(self.size * self.counts, "a row of distances")
        indices = np.unravel_index(np.arange(self.size), self.sides)
        return np.stack(indices, axis=1)

    def neighbours(self, i: int) -> Ints:
        """Return the bundles with one person more or one person less."""
        here = self.digits(i)
        self._check_address()
        # Who leaves lowers any counts, but all full ones; who comes raises any, if none is full.
        least = [max(count - 1, 0) for count in here]
        most = [count - (count == self.people) for count in here]
        near = [self._between(least, most)]
        if max(here) < self.people:
            above = [count + 1 for count in here]
            near.append(self._between(here, above))
        return np.setdiff1d(np.concatenate(near), [i])

    def _between(self, low: Sequence[int], high: Sequence[int]) -> Ints:
        """Return the nodes of all bundles with every count between two bounds."""
        ranges = map(np.arange, low, (count + 1 for count in high))
        indices = np.ravel_multi_index(np.ix_(*ranges), self.sides)
        return np.ravel(indices)

    def _degree(self, i: Any) -> Any:
        # Two choices for each count strictly inside; a single degree may exceed 64 bits.
        here = np.array(self.digits(i), object) if isinstance(i, int) else self._table
        inside = (here > 0) & (here < self.people)
        below = (inside.astype(here.dtype) + 1).prod(axis=-1)
        most = here.max(axis=-1)
        full = np.asarray(most == self.people)
        # Without a full count there are 2^k - 1 ways to come, and `below` has the node itself.
        has_no_full = 1 - full.astype(here.dtype)
        return below + (2**self.counts - 2) * has_no_full

    @property
    def degree_range(self) -> Pair:
        """1, the degree of the full bundle, and the largest degree."""
        ways = (1 << self.counts) - 1
        return 1, 2 * ways if self.people > 1 else ways

    @property
    def edge_count(self) -> int:
        """The number of smaller bundles times the ways to come."""
        # Each edge has a smaller end without a full count, and 2^k − 1 ways to come.
        ways = (1 << self.counts) - 1
        return int(self.people**self.counts) * ways

    @property
    def diameter(self) -> int:
        """Everybody leaves and everybody comes; one count is a path."""
        return self.people * min(2, self.counts)
