r"""Which privacy constraints hold with equality, and what that says about generality.

The *column graph* of an output has an edge of the answer graph wherever the two probabilities
differ by the whole factor :math:`e^{ε}` that the edge allows [D, Def 3.3.2, there called row
graph]. An ε-private mechanism is maximally general, i.e. not obtained from a strictly more
informative one by post-processing, iff every column graph is connected [D, Thm 3.3.3;
C, Thm 2.6].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from tightrope.channels.base import Channel
from tightrope.channels.integer import IntegerChannel
from tightrope.channels.privacy import allowed_ratio
from tightrope.channels.structured import GeometricChannel, KroneckerChannel, ScaledPhi
from tightrope.channels.worst import log_ratio
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph

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
    loosest, nearest
        The largest distance from equality that still counted as tight, and the smallest that
        did not (``inf`` when all edges are tight).
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

    edges: NDArray[np.int64]
    parts: NDArray[np.int64]
    loosest: float
    nearest: float
    exact: bool = False

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
        answer hangs on the tolerance.

    Examples
    --------
    >>> from tightrope.channels import Channel
    >>> from tightrope.graphs import PathPower
    >>> bool(maximally_general(Channel([[0.6, 0.4], [0.4, 0.6]]), PathPower(2), "ln(2)"))
    False
    """

    maximal: bool
    output: int | None
    parts: NDArray[np.int64] | None
    nearest: float

    def __bool__(self) -> bool:
        return self.maximal


def column_graph(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
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
    _check_sizes(channel, graph)
    if isinstance(channel, IntegerChannel) and tolerance is None:
        return _exact_column_graph(channel, graph, Epsilon.of(epsilon), output)
    reach = TIGHT_TOLERANCE if tolerance is None else tolerance
    values = np.asarray(channel.column(output), dtype=np.float64)
    edges = graph.edge_array()
    allowed = float(Epsilon.of(epsilon)) * graph.edge_lengths()
    first, second = values[edges[:, 0]], values[edges[:, 1]]
    both = (first > 0) & (second > 0)
    logs = np.zeros(len(edges))
    logs[both] = np.log(first[both] / second[both])
    slack = np.where(both, np.abs(np.abs(logs) - allowed), np.inf)
    tight = slack <= reach
    ends = np.where((logs < 0)[:, None], edges[:, ::-1], edges)[tight]
    loose = slack[~tight]
    return ColumnGraph(
        ends,
        _parts(ends, graph.size),
        float(slack[tight].max()) if tight.any() else 0.0,
        float(loose.min()) if len(loose) else math.inf,
    )


def _exact_column_graph(
    channel: IntegerChannel, graph: AnswerGraph, level: Epsilon, output: int
) -> ColumnGraph:
    channel._check_output(output)
    values = channel.weights[:, output].tolist()
    bounds = {float(length): allowed_ratio(level, float(length)) for length in graph.edge_lengths()}
    tight: list[tuple[int, int]] = []
    nearest = math.inf
    for (i, h), length in zip(graph.edge_array().tolist(), graph.edge_lengths(), strict=True):
        bound = bounds[float(length)]
        p, q = bound.numerator, bound.denominator
        high, low = (i, h) if values[i] >= values[h] else (h, i)
        if values[high] * q == values[low] * p:
            tight.append((high, low))
        elif values[low]:
            gap = log_ratio(Fraction(values[high] * q, values[low] * p))
            nearest = min(nearest, abs(gap))
    ends = np.array(tight, dtype=np.int64).reshape(-1, 2)
    return ColumnGraph(ends, _parts(ends, graph.size), 0.0, nearest, True)


def maximally_general(
    channel: Channel,
    graph: AnswerGraph,
    epsilon: Epsilon | float | Fraction | str,
    *,
    tolerance: float | None = None,
) -> Generality:
    r"""Decide whether every column graph is connected [D, Thm 3.3.3; C, Thm 2.6].

    Outputs that never occur are passed over. A scaled Φ is decided by rule: the edges of
    shortest paths to the output are tight. So is geometric noise on a path, where every edge is,
    and a Kronecker product on a Cartesian product, where an edge is tight iff it is tight for
    its own coordinate.

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
    _check_sizes(channel, graph)
    level = Epsilon.of(epsilon)
    if graph.size == 1:
        return Generality(True, None, None, math.inf)
    if isinstance(channel, ScaledPhi) and channel.graph is graph and channel.epsilon == level:
        return Generality(True, None, None, math.inf)
    if _is_noise_on_a_path(channel, graph) and channel.epsilon == level:
        return Generality(True, None, None, math.inf)
    if isinstance(channel, KroneckerChannel) and graph.product == "cartesian":
        coordinates = list(zip(channel.factors, graph.factors, strict=False))
        if len(channel.factors) == len(graph.factors) and all(
            c.shape[0] == g.size for c, g in coordinates
        ):
            return _of_coordinates(coordinates, level, tolerance)
    nearest = math.inf
    for o in range(channel.shape[1]):
        if not channel.column(o).any():
            continue
        found = column_graph(channel, graph, level, o, tolerance=tolerance)
        nearest = min(nearest, found.nearest)
        if not found.connected:
            return Generality(False, o, found.parts, nearest)
    return Generality(True, None, None, nearest)


def _is_noise_on_a_path(channel: Channel, graph: AnswerGraph) -> TypeGuard[GeometricChannel]:
    """Whether every edge is tight by rule: far from an output, floats are too small to tell."""
    return graph.power == 1 and isinstance(channel, GeometricChannel) and channel.width == 1


def _of_coordinates(
    coordinates: list[tuple[Channel, AnswerGraph]], level: Epsilon, tolerance: float | None
) -> Generality:
    different = {(id(c), id(g)): (c, g) for c, g in coordinates}
    answers = [maximally_general(c, g, level, tolerance=tolerance) for c, g in different.values()]
    nearest = min(answer.nearest for answer in answers)
    # The parts of a coordinate say nothing short about the product's nodes.
    return Generality(all(answers), None, None, nearest)


def _parts(edges: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _check_sizes(channel: Channel, graph: AnswerGraph) -> None:
    if channel.shape[0] != graph.size:
        raise InputError(
            f"the channel must have one row for each of the {graph.size} answers of {graph.name}, "
            f"got {channel.shape[0]}"
        )
