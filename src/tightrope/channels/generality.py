r"""Which privacy constraints hold with equality, and how to make a mechanism maximally general.

The *column graph* of an output has an edge of the answer graph wherever the two probabilities
differ by the whole factor :math:`e^{ε}` that the edge allows [D, Def 3.3.2, there called row
graph]. An ε-private mechanism is maximally general, i.e. not obtained from a strictly more
informative one by post-processing, iff every column graph is connected [D, Thm 3.3.3;
C, Thm 2.6].

When the column graph of an output falls into parts :math:`C_1` and :math:`C_2`, the output can be
reported more precisely at no cost in privacy [D, App B]. With u the least factor by which a
neighbour in :math:`C_1` could still outgrow one in :math:`C_2`, and v the reverse,

.. math::
    a = \frac{v-1}{uv-1},\quad b = \frac{u-1}{uv-1},\quad
    o_1: (a u\,x_{C_1},\; a\,x_{C_2}),\quad o_2: (b\,x_{C_1},\; b v\,x_{C_2}),

add up to the old output. Both new outputs have one more tight edge. The factors u and v range
over *adjacent* pairs only: over all pairs, as [D, App B] writes, the ratio on an edge can pass
:math:`e^ε`.

Post-processing never raises the negative of Dobrushin's coefficient of ergodicity, a utility that
respects generality.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import LIMITS, AnyArray, Ints
from tightrope.channels.base import (
    Channel,
    DeterministicChannel,
    IntegerChannel,
    equal,
    rational,
)
from tightrope.channels.compose import cascade
from tightrope.channels.privacy import (
    allowed_ratio,
    check_sizes,
    exp_or_inf,
    factors_match,
    is_own,
    is_private,
)
from tightrope.channels.structured import GeometricChannel, ScaledPhi
from tightrope.epsilon import Epsilon, Level, log_ratio
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import AnswerGraph
from tightrope.graphs.shapes import components

#: How far the logarithm of a ratio may lie from ε times the edge's length and count as tight.
TIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ColumnGraph:
    """The tight edges of one output and the parts they join.

    Attributes
    ----------
    edges
        The tight edges, the node with the larger probability first.
    parts
        For each node the number of its part, from 0.
    nearest
        The smallest distance from equality, in the logarithm, that did not count as tight
        (``inf`` when all edges are tight).
    exact
        Whether equality was decided in integers, against the rational ratio of ε.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> found = column_graph(GeometricChannel(4, "ln(2)"), PathPower(4), "ln(2)", 1)
    >>> found.connected, found.edges.tolist()
    (True, [[1, 0], [1, 2], [2, 3]])
    """

    edges: Ints
    parts: Ints
    nearest: float
    exact: bool

    @property
    def connected(self) -> bool:
        """Whether the tight edges reach every node."""
        return not self.parts.any()


@dataclass(frozen=True)
class Generality:
    """Whether a mechanism is maximally general, with an output that shows the contrary.

    Attributes
    ----------
    maximal
        The answer; also the truth value.
    output
        An output whose column graph falls apart, or ``None``.
    parts
        For each node the part it lies in, for that output.
    nearest
        How far the nearest loose edge is from being tight: close to ``TIGHT_TOLERANCE`` the
        answer depends on the tolerance.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import PathPower
    >>> bool(maximally_general(Channel([[0.6, 0.4], [0.4, 0.6]]), PathPower(2), "ln(2)"))
    False
    """

    maximal: bool
    output: int | None
    parts: Ints | None
    nearest: float

    def __bool__(self) -> bool:
        return self.maximal


def column_graph(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Level,
    output: int,
    *,
    tolerance: float | None = None,
) -> ColumnGraph:
    """Return the tight edges of one output [D, Def 3.3.2].

    Parameters
    ----------
    channel
        One row for each node.
    graph
        The answer graph.
    epsilon
        The privacy level the constraints are for.
    output
        Which column.
    tolerance
        How far from equality, in the logarithm, still counts as tight. Without it integer
        weights are decided exactly, :math:`W_i q = W_h p` with the ratio p/q of ε, and floats
        within ``TIGHT_TOLERANCE``.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import Clique
    >>> third = Channel([[1/2, 1/4, 1/4], [1/4, 1/2, 1/4], [1/4, 1/4, 1/2]])
    >>> column_graph(third, Clique(3), "ln(2)", 0).edges.tolist()
    [[0, 1], [0, 2]]
    """
    check_sizes(channel, graph)
    constraints = _Constraints(channel, graph, Epsilon.of(epsilon), tolerance)
    return constraints.column_graph(constraints.column(output))


class _Constraints:
    """The constraints on the columns of a channel, in fractions where they decide exactly."""

    def __init__(
        self,
        channel: Channel,
        graph: AnswerGraph,
        level: Epsilon,
        tolerance: float | None = None,
    ) -> None:
        self.channel = channel
        self.size = graph.size
        self.edges = graph.edge_array()
        self.exact = isinstance(channel, IntegerChannel) and tolerance is None
        self.tolerance = TIGHT_TOLERANCE if tolerance is None else tolerance
        # Edges of one length share one bound.
        lengths, kinds = np.unique(graph.edge_lengths(), return_inverse=True)
        bounds = [
            allowed_ratio(level, length)
            if self.exact
            else exp_or_inf(float(level) * length)
            for length in lengths.tolist()
        ]
        self.bounds = np.array(bounds, object if self.exact else np.float64)[
            kinds, None
        ]

    def column(self, o: int) -> AnyArray:
        """Return the probabilities of an output."""
        if isinstance(self.channel, IntegerChannel) and self.exact:
            return np.array(
                [self.channel.fraction(i, o) for i in range(self.size)], object
            )
        return self.channel.column(o)

    def room(self, column: AnyArray) -> AnyArray:
        """Return for each edge (i, h) by which factor x_i, and x_h, may still grow alone."""
        ends = column[self.edges]
        live = (ends > 0).all(axis=1, keepdims=True)
        # An edge with a zero is never tight; both of its ends are replaced by 1.
        ends = np.where(live, ends, 1)
        # Edge (i, h) allows x_i ≤ e^{εℓ} x_h: x_i may still grow by e^{εℓ} x_h / x_i.
        with np.errstate(over="ignore"):
            steps = self.bounds * ends[:, ::-1] / ends
            return np.where(live, steps, math.inf)

    def column_graph(self, column: AnyArray) -> ColumnGraph:
        """Return the tight edges of a column, and the parts that they join."""
        slack_factors = self.room(column).min(axis=1)
        distances = np.abs(
            [log_ratio(factor) for factor in slack_factors]
            if self.exact
            else np.log(slack_factors)
        )
        # Exactly tight iff the factor is 1; in floats iff |ln factor| is within the tolerance.
        tight = slack_factors == 1 if self.exact else distances <= self.tolerance
        edges = self.edges[tight]
        # The node with the larger probability comes first.
        ends = column[self.edges[tight]]
        rises = ends[:, 0] < ends[:, 1]
        edges = np.where(rises[:, None], edges[:, ::-1], edges)
        nearest = float(distances[~tight].min(initial=math.inf))
        return ColumnGraph(edges, components(edges.T, self.size), nearest, self.exact)


def maximally_general(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Level,
    *,
    tolerance: float | None = None,
) -> Generality:
    r"""Decide whether every column graph is connected [D, Thm 3.3.3; C, Thm 2.6].

    Outputs that never occur are skipped. A scaled Φ is decided without looking at its entries:
    the edges of shortest paths to the output are tight. So is geometric noise on a path, where
    every edge is tight, and a Kronecker product on a Cartesian product, where an edge is tight
    iff it is tight for its own coordinate.

    Parameters
    ----------
    channel
        An ε-private channel, one row for each node.
    graph
        The answer graph.
    epsilon
        The privacy level.
    tolerance
        How far from equality, in the logarithm, still counts as tight; as for
        :func:`column_graph`.

    Examples
    --------
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> bool(maximally_general(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)"))
    True
    >>> wide = maximally_general(GeometricChannel(6, "ln(2)", width=2), PathPower(6, 2), "ln(2)")
    >>> wide.maximal, wide.output, wide.parts.tolist()
    (False, 0, [0, 1, 0, 1, 0, 1])
    """
    check_sizes(channel, graph)
    level = Epsilon.of(epsilon)
    if graph.size == 1 or _is_tight_by_rule(channel, graph, level):
        return Generality(True, None, None, math.inf)
    if graph.product == "cartesian" and factors_match(channel, graph):
        # Equal pairs of factors are decided once.
        coordinates = dict.fromkeys(zip(channel.factors, graph.factors, strict=True))
        answers = [
            maximally_general(c, g, level, tolerance=tolerance) for c, g in coordinates
        ]
        # A disconnected coordinate does not give a short list of the product's nodes.
        return Generality(
            all(answers), None, None, min(answer.nearest for answer in answers)
        )
    nearest = math.inf
    constraints = _Constraints(channel, graph, level, tolerance)
    for o in range(channel.shape[1]):
        column = constraints.column(o)
        # An output that never occurs has no ratios.
        if not column.any():
            continue
        tight = constraints.column_graph(column)
        nearest = min(nearest, tight.nearest)
        if not tight.connected:
            return Generality(False, o, tight.parts, nearest)
    return Generality(True, None, None, nearest)


def _is_tight_by_rule(channel: Channel, graph: AnswerGraph, level: Epsilon) -> bool:
    """Whether every edge is tight by definition: far from an output floats underflow."""
    if isinstance(channel, ScaledPhi):
        return channel.epsilon == level and is_own(channel, graph)
    if isinstance(channel, GeometricChannel):
        return graph.power == 1 and channel.width == 1 and channel.epsilon == level
    return False


Probability = Any  # a Fraction, or a float for channels of floats


@dataclass(frozen=True)
class Split:
    """One output replaced by two.

    Attributes
    ----------
    output
        The index of the original output that the split belongs to.
    column
        The probabilities before the split.
    part
        The nodes of :math:`C_1`; all others are :math:`C_2`.
    up, down
        The factors u and v.
    shares
        The factors a and b.
    columns
        The two new columns.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> made = make_maximally_general(IntegerChannel([[1, 1], [1, 1]]), PathPower(2), "ln(2)")
    >>> made.steps[0].part, made.steps[0].up, made.steps[0].shares
    ((0,), Fraction(2, 1), (Fraction(1, 3), Fraction(1, 3)))
    """

    output: int
    column: tuple[Probability, ...]
    part: tuple[int, ...]
    up: Probability
    down: Probability
    shares: tuple[Probability, Probability]
    columns: tuple[tuple[Probability, ...], tuple[Probability, ...]]

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.part))
        factors = {
            "u": self.up,
            "v": self.down,
            "a": self.shares[0],
            "b": self.shares[1],
        }
        shown = (
            f"{name} = {f'{value:.6g}' if isinstance(value, float) else value}"
            for name, value in factors.items()
        )
        return f"output {self.output}: rows {{{inside}}} against the others, {', '.join(shown)}"


@dataclass(frozen=True)
class Generalised:
    """A maximally general mechanism from which the given one is derived.

    Attributes
    ----------
    channel
        The new mechanism. Its outputs are pairs (old output, number) where any was split.
    remap
        The function that gives the old outputs back.
    steps
        Every split, in order.
    exact
        Whether all of it was computed and checked without rounding.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> made = make_maximally_general(IntegerChannel([[1, 1], [1, 1]]), PathPower(2), "ln(2)")
    >>> made.channel.shape, len(made.steps)
    ((2, 4), 2)
    """

    channel: Channel
    remap: DeterministicChannel
    steps: tuple[Split, ...]
    exact: bool


def make_maximally_general(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Level,
    *,
    most_splits: int = 20_000,
    tolerance: float = 1e-9,
) -> Generalised:
    r"""Split outputs until every column graph is connected [D, Thm 3.3.3, App B].

    The result is ε-private and maximally general, and the given channel is derived from it by
    joining outputs; all three are checked. What is maximally general already is returned itself.
    Integer weights are split in fractions, against the rational ratio of ε.

    Parameters
    ----------
    channel
        An ε-private channel.
    graph
        The answer graph, with or without edge lengths.
    epsilon
        The privacy level.
    most_splits
        More splits than this are refused.
    tolerance
        How far the new outputs, added up, may lie from the old ones when they are floats.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> coarse = IntegerChannel([[4, 3], [3, 4]])
    >>> made = make_maximally_general(coarse, PathPower(2), "ln(2)")
    >>> cascade(made.channel, made.remap).fraction(0, 0)
    Fraction(4, 7)
    """
    level = Epsilon.of(epsilon)
    check = is_private(channel, graph, level)
    if not check:
        raise InputError(
            f"only a private mechanism can be made maximally general: {check}"
        )
    if maximally_general(channel, graph, level):
        outputs = np.arange(channel.shape[1])
        identity = DeterministicChannel(
            outputs, channel.outputs, inputs=channel.outputs
        )
        return Generalised(channel, identity, (), isinstance(channel, IntegerChannel))
    constraints = _Constraints(channel, graph, level)
    steps = list[Split]()
    exact = constraints.exact
    columns_of = [
        _connected(constraints, o, steps, most_splits) for o in range(channel.shape[1])
    ]
    sources = [o for o, columns in enumerate(columns_of) for _ in columns]
    labels = [
        (channel.output_label(o), k)
        for o, columns in enumerate(columns_of)
        for k in range(len(columns))
    ]
    # Output o becomes (o, 0), (o, 1), …; the remap joins them again.
    rows = np.stack(list(itertools.chain(*columns_of)), axis=1)
    split_channel: Channel = (rational if exact else Channel)(
        rows.tolist(), inputs=channel.inputs, outputs=labels
    )
    remap = DeterministicChannel(sources, channel.outputs, inputs=split_channel.outputs)
    # Checked from scratch: joined again, the new outputs must be the old channel.
    if not equal(
        cascade(split_channel, remap), channel, tolerance=0.0 if exact else tolerance
    ):
        raise CheckFailed(
            "the outputs split do not add up to the old ones: please report this"
        )
    # Every split rounds the ratios that it makes tight: after many, 1e-9 is too strict.
    wider = None if exact else 1e3 * TIGHT_TOLERANCE
    general = maximally_general(split_channel, graph, level, tolerance=wider)
    if not is_private(split_channel, graph, level) or not general:
        raise CheckFailed(
            "the mechanism made is not maximally general: please report this"
        )
    return Generalised(split_channel, remap, tuple(steps), exact)


def _connected(
    constraints: _Constraints, output: int, steps: list[Split], most: int
) -> list[AnyArray]:
    """Return connected columns that add up to an output, proportional ones joined."""
    waiting = [constraints.column(output)]
    connected: dict[tuple[Probability, ...], AnyArray] = {}
    # An output that never occurs stays one column of zeros.
    if not waiting[0].any():
        return waiting
    while waiting:
        column = waiting.pop()
        parts = constraints.column_graph(column).parts
        if not parts.any():
            # Proportional columns say the same: they are joined again, by ratio to the maximum.
            profile = column / column.max()
            key = tuple(
                (profile if constraints.exact else np.log(profile).round(6)).tolist()
            )
            connected[key] = connected[key] + column if key in connected else column
            continue
        if len(steps) == most:
            raise TooLarge(
                f"this mechanism needs more than {most} splits: design one in rays "
                "instead, which is maximally general from the start"
            )
        steps.append(
            # The smallest part against all others.
            _split(constraints, output, column, parts == np.bincount(parts).argmin())
        )
        waiting += [np.array(new, column.dtype) for new in steps[-1].columns]
    return list(connected.values())


def _split(
    constraints: _Constraints,
    output: int,
    column: AnyArray,
    inside: NDArray[np.bool_],
) -> Split:
    # u and v are minima over the edges that cross from C₁ to C₂.
    sides = inside[constraints.edges]
    crossing = sides[:, 0] != sides[:, 1]
    room = constraints.room(column)[crossing]
    sides = sides[crossing]
    up = room[sides].min()
    down = room[~sides].min()
    # a·u = (1 − 1/v)/(1 − 1/(uv)) and b·v = (1 − 1/u)/(1 − 1/(uv)): written by inverses, since
    # the product uv overflows for long edges.
    denominator = 1 - 1 / up / down
    larger = (1 - 1 / down) / denominator
    smaller = (1 - 1 / up) / denominator
    a = larger / up
    b = smaller / down
    # o₁ = (a u x on C₁, a x on C₂) and o₂ = (b x on C₁, b v x on C₂).
    first = column * np.where(inside, larger, a)
    second = column * np.where(inside, b, smaller)
    if not (first[column > 0].all() and second[column > 0].all()):
        raise TooLarge(
            "probabilities of the new outputs would be too small for floats: give integer weights"
        )
    part = np.flatnonzero(inside)
    columns = (tuple(first.tolist()), tuple(second.tolist()))
    return Split(
        output, tuple(column.tolist()), tuple(part.tolist()), up, down, (a, b), columns
    )


def dobrushin(channel: Channel, *, limit: int = 4_000_000_000) -> float:
    r"""Return :math:`μ = -\min_{i,h} \sum_o \min(X_{io}, X_{ho})`, a utility between -1 and 0.

    It is the negative of Dobrushin's coefficient of ergodicity: -1 when all rows are equal, 0
    when some two inputs are distinguished with certainty. Post-processing never raises it
    [D, Ex 3.2.3, App A]. Equivalently :math:`μ = \max_{i,h} TV(X_i, X_h) - 1`.

    Parameters
    ----------
    channel
        Any channel; all pairs of rows are compared unless a rule names the worst pair.
    limit
        Largest number of comparisons (pairs of rows times outputs) that is made.

    Examples
    --------
    >>> from tightrope.channels import Channel, GeometricChannel
    >>> dobrushin(Channel([[0.75, 0.25], [0.25, 0.75]]))
    -0.5
    >>> round(dobrushin(GeometricChannel(5, "ln(2)")), 12)    # diameter 4: -exp(-2ε)
    -0.25
    """
    rows, columns = channel.shape
    if isinstance(channel, GeometricChannel):
        # Rows are ordered by likelihood ratio, so the first and last row differ most.
        overlap = np.minimum(channel.row(0), channel.row(rows - 1))
        return -float(overlap.sum())
    if rows * rows * columns > 2 * limit:
        raise TooLarge(
            f"the Dobrushin coefficient compares all pairs of {rows} rows with {columns} outputs, "
            f"more than {limit} comparisons"
        )
    from scipy.spatial.distance import cdist

    # TV(X_i, X_h) = ½ ‖X_i − X_h‖₁ = 1 − Σ_o min(X_io, X_ho), in blocks of rows.
    matrix = channel.matrix()
    step = max(1, LIMITS.block // rows)
    starts = range(0, rows, step)
    blocks = (matrix[low : low + step] for low in starts)
    return (
        max(float(cdist(block, matrix, "cityblock").max()) for block in blocks) / 2 - 1
    )
