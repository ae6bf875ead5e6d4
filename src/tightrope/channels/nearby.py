r"""The largest value in the neighbourhood of every node, by rule.

Where all edges have length 1, the worst ratio of a column x over the edges of a graph is
:math:`\max_i \max_{h \sim i} x_h / x_i`. The inner maximum needs no list of edges: a sliding
window on a band, one number on a clique, one factor after another on a product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs import (
    AnswerGraph,
    CartesianProduct,
    Clique,
    Cycle,
    PathPower,
    ProductGraph,
    Star,
    StrongProduct,
)
from tightrope.graphs.capped import CappedPathPower


def has_rule(graph: AnswerGraph) -> bool:
    """Whether :func:`nearby_maxima` knows a rule for a graph.

    >>> has_rule(PathPower(9, 2)), has_rule(PathPower(9, 2).explicit())
    (True, False)
    """
    if type(graph) in (CartesianProduct, StrongProduct):
        return all(has_rule(factor) for factor in graph.factors)  # type: ignore[attr-defined]
    return type(graph) in (PathPower, CappedPathPower, Clique, Cycle, Star)


def nearby_maxima(graph: AnswerGraph, values: NDArray[Any]) -> NDArray[Any]:
    """Return for every node the largest value at the node itself or at a neighbour.

    Parameters
    ----------
    graph
        A graph for which :func:`has_rule` holds.
    values
        One row for each node, of numbers that can be compared (floats or integers); further
        axes are taken one by one.

    Examples
    --------
    >>> nearby_maxima(PathPower(5, 2), np.array([1, 0, 0, 0, 5])).tolist()
    [1, 1, 5, 5, 5]
    """
    if isinstance(graph, ProductGraph):
        return _product(graph, values)
    if isinstance(graph, CappedPathPower):
        return _capped(graph, values)
    if isinstance(graph, PathPower):
        return _window(values, min(graph.width, graph.size - 1))
    if isinstance(graph, Clique):
        return np.broadcast_to(values.max(axis=0), values.shape)
    if isinstance(graph, Cycle):
        beside = np.maximum(np.roll(values, 1, axis=0), np.roll(values, -1, axis=0))
        return np.asarray(np.maximum(beside, values))
    if isinstance(graph, Star):
        out = np.maximum(values, values[0])
        out[0] = values.max(axis=0)
        return np.asarray(out)
    raise NotImplementedError(type(graph).__name__)


def _window(values: NDArray[Any], width: int) -> NDArray[Any]:
    """Largest value within ``width`` places, by doubling: log(width) passes."""
    if width == 0:
        return values
    ahead, reach = values, 1
    while reach < width + 1:
        step = min(reach, width + 1 - reach)
        longer = np.empty(ahead.shape, ahead.dtype)
        np.maximum(ahead[:-step], ahead[step:], out=longer[:-step])
        longer[-step:] = ahead[-step:]
        ahead, reach = longer, reach + step
    out = np.empty(ahead.shape, ahead.dtype)
    np.maximum(ahead[width:], ahead[:-width], out=out[width:])
    np.maximum(ahead[:width], ahead[0], out=out[:width])
    return out


def _capped(graph: CappedPathPower, values: NDArray[Any]) -> NDArray[Any]:
    out = _window(values, min(graph.width, graph.size - 1))
    # An answer above the cap sees only answers up to the cap, and itself.
    below = np.maximum.accumulate(values[graph.cap :: -1], axis=0)
    for i in range(graph.cap + 1, graph.size):
        out[i] = np.maximum(values[i], below[graph.cap - max(0, i - graph.width)])
    return out


def _product(graph: ProductGraph, values: NDArray[Any]) -> NDArray[Any]:
    sizes = [factor.size for factor in graph.factors]
    grid = values.reshape(*sizes, *values.shape[1:])
    out = grid
    for axis, factor in enumerate(graph.factors):
        # Strong: every coordinate may move at once, so the maxima nest. Cartesian: only one.
        source = out if isinstance(graph, StrongProduct) else grid
        moved = np.moveaxis(nearby_maxima(factor, np.moveaxis(source, axis, 0)), 0, axis)
        out = moved if isinstance(graph, StrongProduct) else np.maximum(out, moved)
    return out.reshape(values.shape)
