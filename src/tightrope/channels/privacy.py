r"""Whether a channel is private, how private, and where it is least so.

A channel is :math:`\varepsilon`-private on a graph iff :math:`X[i,o] \le e^{\varepsilon\ell}
X[h,o]` on every edge i ~ h of length :math:`\ell` [A, Lemma 1]; unit lengths are the usual case.

Floats search for the worst ratio; where the channel has integer weights the places that come
close to it are compared again in integers, so that the answer is exact. Channels with a rule know
their worst place, whatever their size:

* *Geometric.* :math:`|\ln X[i,o] - \ln X[h,o]| = s\,\bigl||i-o|-|h-o|\bigr| \le s|i-h|` for the
  step level s, with equality at o = i. So the smallest ε is s times the longest reach of an
  edge along the line (divided by its length).
* *Scaled Φ on its own graph.* The ratio is :math:`e^{\varepsilon(d(h,o)-d(i,o))} \le
  e^{\varepsilon d(i,h)}`, with equality at o = i. Where :math:`z_i > 0`, the shortest edge at i
  is a shortest path, so the smallest ε is exactly the channel's own.
* *Product on a Cartesian product.* An edge moves one coordinate and the other factors cancel:
  the worst factor decides. On a *strong* product all coordinates may move at once: the
  ratios multiply.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

from tightrope.arrays import AnyArray, Floats, Ints, Pair, Real
from tightrope.channels.base import Channel, IntegerChannel
from tightrope.channels.structured import (
    GeometricChannel,
    KroneckerChannel,
    ScaledPhi,
    compare_levels,
)
from tightrope.epsilon import LARGEST, SMALLEST, Epsilon, Level, log_ratio
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.products import number_of

Values = AnyArray
Edges = Ints
#: A place in an array, and the ratio there.
Found = tuple[Pair, Real]


@dataclass(frozen=True)
class Worst:
    r"""The largest ratio of two probabilities over the edges of one length.

    Attributes
    ----------
    edge
        The two nodes, the one with the larger probability first; ``None`` without edges.
    output
        The output at which the ratio is found.
    ratio
        The ratio: exact as a ``Fraction``, ``inf`` for a zero beside a non-zero.
    length
        The length of the edge.
    value
        :math:`\ln(\text{ratio})/\text{length}`, the smallest :math:`\varepsilon` for it.
    rule
        (times, ε) when a rule gives the level as exactly times·ε.

    Examples
    --------
    >>> float(Worst((0, 1), 0, Fraction(2))) == math.log(2)
    True
    """

    edge: Pair | None
    output: int | None
    ratio: Real
    length: float = 1.0
    rule: tuple[Fraction, Epsilon] | None = None

    @property
    def value(self) -> float:
        """The smallest ε for this edge and output."""
        if self.rule is not None:
            times, epsilon = self.rule
            return float(times) * float(epsilon)
        return log_ratio(self.ratio) / self.length

    def __float__(self) -> float:
        return self.value


#: The worst place of a graph with a single node.
NOWHERE = Worst(None, None, Fraction(1))


def search(
    channel: Channel,
    graph: AnswerGraph,
    *,
    block: int = 500_000,
    limit: int = 5_000_000_000,
) -> list[Worst]:
    """Return the worst place for every length of edge by looking at all entries.

    Kinds that know their worst place need no search; see :func:`worst_places`.

    Parameters
    ----------
    channel, graph
        A channel with one row for each node.
    block
        Number of entries that are compared at once; small enough for a processor's cache.
    limit
        Largest number of entries that is looked through.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> search(IntegerChannel([[3, 1], [1, 3]]), PathPower(2))[0].ratio
    Fraction(3, 1)
    """
    rows, columns = channel.shape
    if rows * columns > limit:
        raise TooLarge(
            f"looking through {rows} × {columns} probabilities is more than {limit}: "
            f"use a kind of channel with a rule for {graph.name}"
        )
    largest = _float_best
    blocks = channel.column_blocks(block)
    if isinstance(channel, IntegerChannel):
        # All weights share one total, so ratios of integers are ratios of probabilities.
        weights = channel.weights
        step = max(1, block // rows)
        largest = _exact_best
        starts = range(0, columns, step)
        blocks = ((o, weights[:, o : o + step]) for o in starts)
    # ε ≥ ln(X[i,o]/X[h,o])/ℓ: for each length ℓ only the largest ratio counts.
    edges = list(_edge_groups(graph))
    worst = [Worst(None, None, Fraction(0), length) for length, _ in edges]
    for start, values in blocks:
        for k, (length, group) in enumerate(edges):
            for group_edges, large, small in _sides(graph, values, group, block):
                improvement = largest(large, small, worst[k].ratio)
                if improvement is not None:
                    (e, o), ratio = improvement
                    edge = _edge(graph, values, group_edges, e, o)
                    worst[k] = Worst(edge, start + o, ratio, length)
    return worst


def _sides(
    graph: AnswerGraph, values: Values, edges: Edges | None, block: int
) -> Iterator[tuple[Edges | None, Values, Values]]:
    """Yield some edges, and the larger and the smaller of the values that they join.

    On a box there is one row for each node: the largest value at a neighbour, and its own.
    """
    if edges is None:
        # A maximum over the neighbourhood costs O(log w) passes, and no list of edges.
        yield None, graph.nearby_maxima(values), values
        return
    step = max(1, block // int(values.shape[1]))
    for first in range(0, len(edges), step):
        chunk = edges[first : first + step]
        left = values[chunk[:, 0]]
        right = values[chunk[:, 1]]
        yield chunk, np.maximum(left, right), np.minimum(left, right)


def _edge(
    graph: AnswerGraph, values: Values, edges: Edges | None, row: int, o: int
) -> Pair:
    """Return the edge of a row of :func:`_sides`, the larger value first."""
    if edges is None:
        # On a box only the maximum was taken: find the neighbour that has it.
        near = graph.neighbours(row)
        return int(near[values[near, o].argmax()]), row
    i, h = map(int, edges[row])
    if values[i, o] < values[h, o]:
        return h, i
    return i, h


def _quotients(large: Values, small: Values) -> Floats:
    """Quotients of numbers ≥ 0, with 0/0 = 1 and x/0 = ∞."""
    if large.dtype == object:
        exact: Values = np.frompyfunc(_quotient, 2, 1)(large, small)
        return np.asarray(exact, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotients: Floats = np.divide(large, small)
    if not small.all():
        quotients[(small == 0) & (large == 0)] = 1
    return quotients


def _quotient(large: Any, small: Any) -> Any:
    if small == 0:
        return math.inf if large else 1.0
    try:
        return large / small
    except OverflowError:
        return math.inf


def _edge_groups(graph: AnswerGraph) -> Iterator[tuple[float, Edges | None]]:
    """Yield the edges of each length; ``None`` for all edges of a graph with a rule."""
    if graph.box is not None:
        yield 1.0, None
        return
    edges = graph.edge_array()
    lengths = graph.edge_lengths()
    # Edges of one length share the bound e^{εℓ}: one group each.
    order = np.argsort(lengths, kind="stable")
    values, starts = np.unique(lengths[order], return_index=True)
    parts = np.split(order, starts[1:])
    for value, part in zip(values, parts, strict=True):
        yield float(value), edges[part]


def _float_best(large: Values, small: Values, beat: Real) -> Found | None:
    """Return place and value of the largest quotient of floats when it is above ``beat``."""
    quotients = _quotients(large, small)
    e, o = divmod(int(quotients.argmax()), quotients.shape[1])
    ratio = float(quotients[e, o])
    return ((e, o), ratio) if ratio > beat else None


def _exact_best(
    large: Values,
    small: Values,
    beat: Real,
    *,
    quotient_error: float = 1e-14,
    log_error: float = 1e-11,
) -> Found | None:
    """Return place and value of the largest exact quotient when it is above ``beat``.

    Quotients and logarithms in floats are within their error bounds of the exact ones, so few
    places are left to be compared in integers.
    """
    if beat == math.inf:
        return None
    quotients = _quotients(large, small)
    largest = float(quotients.max())
    # No quotient of this block can beat the best so far, whatever the rounding.
    if beat and log_ratio(beat) > math.log(largest) + log_error:
        return None
    is_near = quotients >= largest * (1 - quotient_error)
    near_largest = np.nonzero(is_near)
    # Many places may share few fractions; the first place of each counts.
    numerators = large[near_largest].tolist()
    denominators = small[near_largest].tolist()
    pairs = list(zip(numerators, denominators, strict=True))
    first = {pair: k for k, pair in reversed(list(enumerate(pairs)))}
    found = ((_exact_quotient(*pair), -k) for pair, k in first.items())
    ratio, last = max(found)
    e, o = (int(axis[-last]) for axis in near_largest)
    return ((e, o), ratio) if ratio > beat else None


def _exact_quotient(large: int, small: int) -> Real:
    """Return the quotient of integers ≥ 0, with 0/0 = 1 and x/0 = ∞."""
    if small == 0:
        return math.inf if large else Fraction(1)
    return Fraction(large, small)


def check_sizes(channel: Channel, graph: AnswerGraph) -> None:
    """Refuse a channel that does not have one row for each node."""
    if channel.shape[0] != graph.size:
        raise InputError(
            f"the channel must have one row for each of the {graph.size} answers of {graph.name}, "
            f"got {channel.shape[0]}"
        )


def worst_places(channel: Channel, graph: AnswerGraph) -> list[Worst]:
    """Return the worst places of a channel, without a search where its kind knows them.

    One place for each length of edge or factor; the largest level is the smallest ε.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> sums = PathPower(1_000_001, 5)
    >>> worst_places(GeometricChannel(1_000_001, "1", width=5), sums)[0].edge
    (0, 5)
    """
    if graph.size == 1:
        return [NOWHERE]
    if isinstance(channel, GeometricChannel):
        return [_geometric(channel, graph)]
    if isinstance(channel, ScaledPhi) and is_own(channel, graph):
        return [_scaled_phi(channel)]
    if factors_match(channel, graph):
        return _in_products(channel, graph)
    return search(channel, graph)


def is_own(channel: ScaledPhi, graph: AnswerGraph) -> bool:
    """Whether a graph is the channel's own, as far as that is easily seen."""
    own = channel.graph
    return own.rule == graph.rule and own.same_as(graph)


def _geometric(channel: GeometricChannel, graph: AnswerGraph) -> Worst:
    # X[i,o]/X[h,o] is at most e^{step·|h−i|}, reached at o ≤ i: the longest step per length wins.
    i, h, length = graph.longest_edge()
    # An exact multiple of ε, so that no rounding decides.
    steps = Fraction(h - i, channel.width)
    times = steps / Fraction(repr(length))
    ratio = exp_or_inf(channel.step * (h - i))
    return Worst((i, h), i, ratio, length, (times, channel.epsilon))


def _scaled_phi(channel: ScaledPhi) -> Worst:
    # Column o of a scaled Φ is c_o α^{d(i,o)}: at i = o every edge to a neighbour is tight.
    graph = channel.graph
    # An answer that is never reported has no column.
    i = 0 if channel.constant_scale is not None else int((channel.scale > 0).argmax())
    near = graph.neighbours(i)
    lengths = [graph.distance(i, int(h)) for h in near] if graph.has_lengths else [1.0]
    k = int(np.argmin(lengths))
    ratio = exp_or_inf(float(channel.epsilon) * lengths[k])
    rule = (Fraction(1), channel.epsilon)
    edge = (i, int(near[k]))
    return Worst(edge, i, ratio, float(lengths[k]), rule)


def factors_match(channel: Channel, graph: AnswerGraph) -> TypeGuard[KroneckerChannel]:
    """Whether a channel is a product and the graph one of as many answers in each factor."""
    if not (isinstance(channel, KroneckerChannel) and graph.product):
        return False
    return [factor.size for factor in graph.factors] == [
        part.shape[0] for part in channel.factors
    ]


def _in_products(channel: KroneckerChannel, graph: AnswerGraph) -> list[Worst]:
    """Return the worst places of a product, those of one pair of factors found once."""
    places = list(map(functools.cache(worst_places), channel.factors, graph.factors))
    # In a strong product all coordinates may move at once, and their ratios multiply.
    if graph.product == "strong":
        return [
            _moved(channel, [max(own, key=lambda worst: worst.value) for own in places])
        ]
    # In a Cartesian product an edge moves one coordinate, so its ratio is that of a factor.
    # Equal factors have the same places: the first of them represents all.
    backwards = reversed(list(enumerate(places)))
    first_of = {id(own): k for k, own in backwards}
    worst_moves: list[Worst] = []
    for k in sorted(first_of.values()):
        for worst in places[k]:
            if worst.edge is not None:
                moves = [NOWHERE] * len(places)
                moves[k] = worst
                moved = _moved(channel, moves)
                worst_moves.append(replace(worst, edge=moved.edge, output=moved.output))
    return worst_moves or [NOWHERE]


def _moved(channel: KroneckerChannel, moves: list[Worst]) -> Worst:
    """Return the place where some coordinates move at once: their ratios multiply."""
    ends = [move.edge or (0, 0) for move in moves]
    i, h = (number_of([end[side] for end in ends], channel.sides[0]) for side in (0, 1))
    outputs = [
        # A coordinate that stays has an output that occurs.
        int(part.row(0).argmax()) if move.output is None else move.output
        for part, move in zip(channel.factors, moves, strict=True)
    ]
    # Exact as a product of fractions; else by the sum of logarithms, which does not overflow.
    if all(isinstance(move.ratio, Fraction) for move in moves):
        ratios = (move.ratio for move in moves)
        ratio: Real = math.prod(ratios, start=Fraction(1))
    else:
        ratio = exp_or_inf(math.fsum(move.value for move in moves))
    return Worst(
        (i, h), number_of(outputs, channel.sides[1]), ratio, 1.0, _sum_rule(moves)
    )


def _sum_rule(chosen: list[Worst]) -> tuple[Fraction, Epsilon] | None:
    """Add levels that are all exact multiples of the same kind of ε."""
    rules = [worst.rule for worst in chosen if worst.edge is not None]
    known = [rule for rule in rules if rule is not None]
    bases = {epsilon.base for _, epsilon in known}
    if len(known) < len(rules) or len(bases) != 1:
        return None
    # Levels of one base are multiples of one unit, which add up as fractions.
    unit = known[0][1]
    times = (
        sum((t * epsilon.multiple for t, epsilon in known), Fraction(0)) / unit.multiple
    )
    return times, unit


@dataclass(frozen=True)
class PrivacyCheck:
    r"""Whether a channel is private, and where it comes closest to not being.

    Attributes
    ----------
    private
        The answer; also the truth value of the check.
    edge
        The worst edge (i, h), the node with the larger probability first; ``None`` when the
        graph has a single node.
    output
        The output at which it is worst.
    ratio
        :math:`X[i,o]/X[h,o]` there; ``inf`` for a zero beside a non-zero.
    allowed
        What the edge allows: the exact p/q for integers, :math:`e^{\varepsilon\ell}` for floats.
    margin
        ε less what the worst place needs; negative where the channel breaks the bound.
    exact
        Whether the answer was decided in integers or by a rule, without rounding.
    tolerance
        How far below 0 the margin may be; 0 when exact.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> bool(is_private(Channel([[1.0, 0.0], [0.5, 0.5]]), PathPower(2), 1))
    False
    """

    private: bool
    edge: Pair | None
    output: int | None
    ratio: Real
    allowed: Real
    margin: float
    exact: bool
    tolerance: float

    def __bool__(self) -> bool:
        return self.private

    def __str__(self) -> str:
        word = "private" if self.private else "not private"
        how = "exact" if self.exact else f"within {self.tolerance:g}"
        if self.edge is None:
            return f"{word} ({how}): there is only one answer"
        return (
            f"{word} ({how}): at worst output {self.output} is {float(self.ratio):.9g} times as "
            f"likely for row {self.edge[0]} as for row {self.edge[1]}, margin {self.margin:.3g}"
        )


def is_private(
    channel: Channel, graph: AnswerGraph, epsilon: Level, *, tolerance: float = 1e-9
) -> PrivacyCheck:
    r"""Check :math:`X[i,o] \le e^{\varepsilon\ell} X[h,o]` on every edge [A, Lemma 1].

    Integer weights are decided exactly against the rational ratio of ε, which is never above
    :math:`e^\varepsilon`. Channels with a rule (geometric; scaled Φ on its own graph; products
    on products) are decided by the rule, whatever their size: that speaks of the channel as
    defined, not of its entries after rounding to floats. All others are searched.

    Parameters
    ----------
    channel
        One row for each node.
    graph
        The answer graph, with or without edge lengths.
    epsilon
        The privacy level.
    tolerance
        How far the smallest ε of a channel of floats may lie above the level asked for.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel, rational
    >>> from tightrope.graphs import PathPower
    >>> check = is_private(rational([["2/3", "1/3"], ["1/3", "2/3"]]), PathPower(2), "ln(2)")
    >>> check.private, check.ratio, check.allowed, check.margin, check.exact
    (True, Fraction(2, 1), Fraction(2, 1), 0.0, True)
    >>> million = PathPower(1_000_001, 5)
    >>> bool(is_private(GeometricChannel(1_000_001, "0.2", width=5), million, "0.2"))
    True
    """
    level = Epsilon.of(epsilon)
    check_sizes(channel, graph)
    checks = [_judge(worst, level, tolerance) for worst in worst_places(channel, graph)]
    # Exact violations first: a margin in floats may round to 0.
    return min(checks, key=lambda check: (check.private, check.margin))


def smallest_epsilon(channel: Channel, graph: AnswerGraph) -> Worst:
    r"""Return the least :math:`\varepsilon` with :math:`X[i,o] \le e^{\varepsilon\ell} X[h,o]`.

    That is :math:`\max \ln(X[i,o]/X[h,o])/\ell` over edges and outputs, decided as
    in :func:`is_private`.

    Examples
    --------
    >>> from tightrope.channels import IntegerChannel
    >>> from tightrope.graphs import Clique
    >>> found = smallest_epsilon(IntegerChannel([[3, 1, 1], [1, 3, 1], [1, 1, 3]]), Clique(3))
    >>> found.ratio, found.edge, round(found.value, 6)
    (Fraction(3, 1), (1, 0), 1.098612)
    """
    check_sizes(channel, graph)
    return max(worst_places(channel, graph), key=lambda place: place.value)


def allowed_ratio(epsilon: Epsilon, length: float) -> Fraction:
    r"""Return a rational p/q at most :math:`e^{\varepsilon\ell}`, tight where ε can be written.

    Beyond the range of :class:`~tightrope.Epsilon` the bound is the nearest one within it that
    is lower, which can only make a check stricter.

    Examples
    --------
    >>> allowed_ratio(Epsilon.of("ln(2)"), 3.0), allowed_ratio(Epsilon.of(1), 1e-14)
    (Fraction(8, 1), Fraction(1, 1))
    """
    if length == 1:
        return epsilon.ratio
    # Rounded down on either side, so that the check can only become stricter.
    reach = float(epsilon) * length
    if reach < 2 * SMALLEST:
        return Fraction(1)
    if reach > LARGEST:
        return Epsilon(Fraction(LARGEST)).ratio
    return epsilon.scaled(length).ratio


def _judge(worst: Worst, epsilon: Epsilon, tolerance: float) -> PrivacyCheck:
    place = (worst.edge, worst.output, worst.ratio)
    if worst.rule is None and isinstance(worst.ratio, Fraction):
        bound = allowed_ratio(epsilon, worst.length)
        margin = log_ratio(bound / worst.ratio) / worst.length
        return PrivacyCheck(worst.ratio <= bound, *place, bound, margin, True, 0.0)
    # A rule says that the channel needs exactly times·level: compared as fractions.
    if worst.rule is not None:
        times, level = worst.rule
        # Levels of one base are compared as fractions, others within the tolerance.
        exact = level.base == epsilon.base
        margin = compare_levels(level, epsilon, times=times)
    else:
        # A zero beside a non-zero violates every ε, whatever the rounding.
        exact = worst.ratio == math.inf
        margin = float(epsilon) - worst.value
    slack = 0.0 if exact else tolerance
    allowed = exp_or_inf(float(epsilon) * worst.length)
    private = margin >= -slack
    return PrivacyCheck(private, *place, allowed, margin, exact, slack)


def exp_or_inf(level: float) -> float:
    """Return the exponential of a number, infinite beyond the range of floats."""
    return math.exp(level) if level < 709 else math.inf
