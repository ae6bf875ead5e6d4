r"""Products of answer graphs by rule.

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
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import InputError
from tightrope.graphs.base import AnswerGraph, box_rule


class ProductGraph(AnswerGraph):
    """What the two kinds of product share: numbering, labels and combined rows.

    >>> from tightrope.graphs import PathPower, CartesianProduct
    >>> isinstance(CartesianProduct([PathPower(2), PathPower(3)]), ProductGraph)
    True
    """

    def __init__(self, factors: Sequence[AnswerGraph], *, name: str | None = None) -> None:
        if not factors:
            raise InputError("a product needs at least one factor")
        if any(factor.has_lengths for factor in factors):
            raise InputError("a product needs factors with edges of length 1")
        self._factors = tuple(factors)
        self.size = math.prod(factor.size for factor in factors)
        self.name = name or self._sign.join(factor.name for factor in factors)

    @property
    @abstractmethod
    def _sign(self) -> str:
        """The symbol between the factors' names."""

    @property
    def factors(self) -> tuple[AnswerGraph, ...]:
        """The factors, in the order of the coordinates."""
        return self._factors

    @property
    def fills_grid(self) -> bool:
        """Labels are tuples of the factors' labels, all of them."""
        return True

    @functools.cached_property
    def rule(self) -> tuple[Any, ...] | None:
        """The factors' rules; factors of one node say nothing."""
        rules = [factor.rule for factor in self.factors if factor.size > 1]
        found = [rule for rule in rules if rule is not None]
        if len(found) < len(rules):
            return None
        if len(found) < 2:
            return found[0] if found else box_rule()
        return self._joined(found)

    def _joined(self, rules: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        inner = [rule[1:] if rule[0] == self.product else (rule,) for rule in rules]
        return self.product, *itertools.chain.from_iterable(inner)

    @functools.cached_property
    def label_rule(self) -> tuple[Any, ...] | None:
        """A grid, where every factor numbers its labels from 0."""
        if any(factor.label_rule != ("steps", 0, 1) for factor in self.factors):
            return None
        return "grid", tuple(factor.size for factor in self.factors)

    @property
    def knows_maxima(self) -> bool:
        """One factor after the other, where all of them have a rule."""
        return all(factor.knows_maxima for factor, _ in self._same_factors)

    def nearby_maxima(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return maxima along every factor.

        In a strong product every coordinate may move at once, so the maxima nest; in a
        Cartesian product only one does.
        """
        grid = values.reshape(*(factor.size for factor in self.factors), *values.shape[1:])
        out = grid
        for axis, factor in enumerate(self.factors):
            source = out if self.product == "strong" else grid
            moved = np.moveaxis(factor.nearby_maxima(np.moveaxis(source, axis, 0)), 0, axis)
            out = moved if self.product == "strong" else np.maximum(out, moved)
        return out.reshape(values.shape)

    def digits(self, i: int) -> tuple[int, ...]:
        """Return the node of each factor that a node of the product consists of."""
        self._check_node(i)
        rest, found = int(i), []
        for factor in reversed(self.factors):
            rest, digit = divmod(rest, factor.size)
            found.append(digit)
        return tuple(reversed(found))

    def node(self, digits: Sequence[int]) -> int:
        """Return the node of the product from one node for each factor."""
        number = 0
        for factor, digit in zip(self.factors, digits, strict=True):
            factor._check_node(digit)
            number = number * factor.size + int(digit)
        return number

    def label(self, i: int) -> Hashable:
        """Return the tuple of the factors' answers."""
        return tuple(f.label(d) for f, d in zip(self.factors, self.digits(i), strict=True))

    def index(self, label: Hashable) -> int:
        """Return the node that stands for a tuple of answers."""
        if not isinstance(label, tuple) or len(label) != len(self.factors):
            raise InputError(
                f"an answer of {self.name} is a tuple of {len(self.factors)}, got {label!r}"
            )
        return self.node([f.index(part) for f, part in zip(self.factors, label, strict=True)])

    def _grid(self, rows: Sequence[NDArray[np.int64]], combine: np.ufunc) -> NDArray[np.int64]:
        """Combine one row for each factor into a row of the product."""
        return functools.reduce(lambda left, right: combine.outer(left, right).ravel(), rows)

    @functools.cached_property
    def _same_factors(self) -> list[tuple[AnswerGraph, int]]:
        """Each different factor object with the number of times it occurs."""
        counts = Counter(map(id, self.factors))
        return [(f, counts[id(f)]) for f in {id(f): f for f in self.factors}.values()]


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
    product = "cartesian"

    def distance(self, i: int, j: int) -> int:
        """Return the sum of the factors' distances."""
        pairs = zip(self.factors, self.digits(i), self.digits(j), strict=True)
        return int(sum(f.distance(a, b) for f, a, b in pairs))

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_row("a row of distances")
        rows = [f.distances_from(d) for f, d in zip(self.factors, self.digits(i), strict=True)]
        return self._grid(rows, np.add)

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the nodes that differ in one coordinate by one step."""
        self._check_address()
        near, step = [], 1
        for factor, digit in zip(reversed(self.factors), reversed(self.digits(i)), strict=True):
            near.append(i + (factor.neighbours(digit) - digit) * step)
            step *= factor.size
        return np.sort(np.concatenate(near))

    def degree(self, i: int) -> int:
        """Return the sum of the factors' degrees."""
        return sum(f.degree(d) for f, d in zip(self.factors, self.digits(i), strict=True))

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return self._grid([f.degrees for f in self.factors], np.add)

    @property
    def max_degree(self) -> int:
        """The largest degree."""
        return sum(times * f.max_degree for f, times in self._same_factors)

    @property
    def min_degree(self) -> int:
        """The smallest degree."""
        return sum(times * f.min_degree for f, times in self._same_factors)

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return sum(times * f.edge_count * (self.size // f.size) for f, times in self._same_factors)

    @property
    def diameter(self) -> int:
        """The sum of the factors' diameters."""
        return sum(times * int(f.diameter) for f, times in self._same_factors)

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        places = Counter(zip(map(id, self.factors), self.digits(i), strict=True))
        factors = {id(f): f for f, _ in self._same_factors}
        powers = [_power(factors[f].ball_sizes(d), times) for (f, d), times in places.items()]
        return functools.reduce(_convolve, powers)

    @functools.cached_property
    def constant_ball_sizes(self) -> tuple[int, ...] | None:
        """``n_d`` when every node of every factor sees the same ball sizes."""
        if any(f.constant_ball_sizes is None for f, _ in self._same_factors):
            return None
        return self.ball_sizes(0)


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
    product = "strong"

    @property
    def box(self) -> tuple[tuple[int, int], ...] | None:
        """The factors' sides, one after the other."""
        sides = [factor.box for factor in self.factors]
        if any(side is None for side in sides):
            return None
        return tuple(one for side in sides for one in side or ((1, 1),))

    def _joined(self, rules: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        if all(rule[0] == "box" for rule in rules):
            return box_rule(*(side for rule in rules for side in rule[1:]))
        return super()._joined(rules)

    def distance(self, i: int, j: int) -> int:
        """Return the largest of the factors' distances."""
        pairs = zip(self.factors, self.digits(i), self.digits(j), strict=True)
        return int(max(f.distance(a, b) for f, a, b in pairs))

    def distances_from(self, i: int) -> NDArray[np.int64]:
        """Return the distances from one node to every node."""
        self._check_row("a row of distances")
        rows = [f.distances_from(d) for f, d in zip(self.factors, self.digits(i), strict=True)]
        return self._grid(rows, np.maximum)

    def neighbours(self, i: int) -> NDArray[np.int64]:
        """Return the nodes whose coordinates all differ by at most one step."""
        self._check_address()
        self._check_length(self.degree(i), "a row of neighbours")
        near = np.zeros(1, np.int64)
        for factor, digit in zip(self.factors, self.digits(i), strict=True):
            ball = np.sort(np.append(factor.neighbours(digit), digit))
            near = (near[:, None] * factor.size + ball).ravel()
        beside: NDArray[np.int64] = near[near != i]
        return beside

    def degree(self, i: int) -> int:
        """Return the number of neighbours."""
        pairs = zip(self.factors, self.digits(i), strict=True)
        return math.prod(f.degree(d) + 1 for f, d in pairs) - 1

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """The degree of every node."""
        self._check_row("the list of degrees")
        return self._grid([f.degrees + 1 for f in self.factors], np.multiply) - 1

    @property
    def max_degree(self) -> int:
        """The largest degree."""
        return math.prod(f.max_degree + 1 for f in self.factors) - 1

    @property
    def min_degree(self) -> int:
        """The smallest degree."""
        return math.prod(f.min_degree + 1 for f in self.factors) - 1

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return (math.prod(2 * f.edge_count + f.size for f in self.factors) - self.size) // 2

    @property
    def diameter(self) -> int:
        """The largest of the factors' diameters."""
        return max(int(f.diameter) for f in self.factors)

    def ball_sizes(self, i: int) -> tuple[int, ...]:
        """Return how many nodes lie at distance 0, 1, 2, … from a node."""
        sizes = [f.ball_sizes(d) for f, d in zip(self.factors, self.digits(i), strict=True)]
        reach = max(map(len, sizes))
        totals = [list(itertools.accumulate(s)) for s in sizes]
        within = [math.prod(t[min(d, len(t) - 1)] for t in totals) for d in range(reach)]
        return tuple(b - a for a, b in zip([0, *within], within, strict=False))

    @functools.cached_property
    def constant_ball_sizes(self) -> tuple[int, ...] | None:
        """``n_d`` when every node of every factor sees the same ball sizes."""
        if any(f.constant_ball_sizes is None for f, _ in self._same_factors):
            return None
        return self.ball_sizes(0)


def _convolve(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Multiply two polynomials with integer coefficients of any size."""
    out = [0] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            out[i + j] += a * b
    return tuple(out)


def _power(base: Sequence[int], times: int) -> tuple[int, ...]:
    """Raise a polynomial to a power; two terms by the binomial theorem."""
    if len(base) == 2:
        return tuple(
            math.comb(times, d) * base[0] ** (times - d) * base[1] ** d for d in range(times + 1)
        )
    half = _power(base, times // 2) if times > 1 else (1,)
    square = _convolve(half, half)
    return _convolve(square, base) if times % 2 else square
