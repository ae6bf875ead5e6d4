r"""Metric privacy on points: spanners that cut constraints, and noise in the plane to compare.

For points with a metric d, ε-privacy asks for :math:`X_{io} \le e^{\varepsilon d(i,h)} X_{ho}`
for all pairs: quadratically many constraints for each output. A *spanner* is a sparse graph
whose distances exceed d by a factor of at most s, its stretch. Privacy at ε/s on the spanner
implies privacy at ε for the metric, at the price of a little utility.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightrope.channels import Channel
from tightrope.consumers import Consumer
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError, TooLarge
from tightrope.graphs import ExplicitGraph
from tightrope.graphs.points import PointsGraph
from tightrope.optimize.planner import design
from tightrope.optimize.problem import Floats
from tightrope.optimize.result import Design


@dataclass(frozen=True, eq=False)
class Spanner:
    """A sparse graph on the same points.

    Parameters
    ----------
    graph
        The graph, with the metric's lengths on its edges.
    stretch
        The largest factor by which its distances exceed the metric, as it turned out.

    Examples
    --------
    >>> from tightrope.graphs.points import PointsGraph
    >>> sparse = spanner(PointsGraph([[0, 0], [1, 0], [2, 0.0]]), 1.0)
    >>> sparse.graph.edge_count, sparse.stretch
    (2, 1.0)
    """

    graph: ExplicitGraph
    stretch: float


def spanner(points: PointsGraph, stretch: float, most: int = 1500) -> Spanner:
    """Return the greedy spanner: an edge is kept when the way round is longer than allowed.

    Parameters
    ----------
    points
        Points with a metric.
    stretch
        The largest factor allowed, at least 1.
    most
        Most points for which a spanner is built: it looks at all pairs of them.

    Examples
    --------
    >>> from tightrope.graphs.points import PointsGraph
    >>> square = PointsGraph([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    >>> spanner(square, 1.5).graph.edge_count
    4
    """
    if not np.isfinite(stretch) or stretch < 1:
        raise InputError(f"the stretch must be a number of at least 1, got {stretch}")
    n = points.size
    if n > most:
        raise TooLarge(f"a spanner of {n} points is not built: at most {most}")
    metric = np.stack([points.distances_from(i) for i in range(n)])
    left, right = np.triu_indices(n, 1)
    # Althöfer et al. (1993): pairs by length; an edge joins only where the graph so far is longer.
    order = np.argsort(metric[left, right], kind="stable")
    way = np.full((n, n), np.inf)
    np.fill_diagonal(way, 0.0)
    edges = []
    lengths = []
    pairs = zip(left[order].tolist(), right[order].tolist(), strict=True)
    for i, j in pairs:
        length = float(metric[i, j])
        # Round-off must not add an edge where the way round is as short as allowed.
        if way[i, j] > stretch * length * (1 + 1e-12):
            edges.append((i, j))
            lengths.append(length)
            # All distances after one more edge: ways through it, in either direction.
            forward = way[:, i, None] + length + way[None, j]
            backward = way[:, j, None] + length + way[None, i]
            np.minimum(way, np.minimum(forward, backward), out=way)
    apart = metric > 0
    stretches = way[apart] / metric[apart]
    graph = ExplicitGraph(
        edges,
        lengths=lengths,
        labels=points.labels,
        size=None,
        name=f"spanner of {points.name}",
    )
    return Spanner(graph, float(stretches.max(initial=1.0)))


def design_on_spanner(
    points: PointsGraph,
    epsilon: Epsilon | float | Fraction | str,
    consumer: Consumer | None = None,
    stretch: float = 1.1,
    **options: Any,
) -> tuple[Design, Spanner]:
    """Return the best mechanism on a spanner at ε divided by its stretch: ε-private.

    Its loss is above the optimum of the metric, and its bound is one for the spanner only.

    Examples
    --------
    >>> from tightrope.graphs.points import PointsGraph
    >>> places = PointsGraph([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    >>> best, sparse = design_on_spanner(places, 1, stretch=1.5)
    >>> float(best.epsilon) < 1, sparse.graph.edge_count
    (True, 4)
    """
    level = Epsilon.of(epsilon)
    sparse = spanner(points, stretch)
    # Rounded up, so that the level on the spanner is never above ε divided by the stretch.
    nearest = Fraction(sparse.stretch).limit_denominator(10**6)
    factor = nearest + Fraction(1, 10**6)
    share = 1 / factor if sparse.stretch > 1 + 1e-12 else Fraction(1)
    return design(sparse.graph, level.scaled(share), consumer, **options), sparse


def planar_laplace(
    points: PointsGraph, epsilon: Epsilon | float | Fraction | str, grid: int = 240
) -> Channel:
    r"""Return planar Laplace noise, each noisy place reported as the nearest point.

    The density at distance t is :math:`\varepsilon^2 e^{-\varepsilon t}/2\pi`. The plane is
    replaced by a fine grid that reaches far beyond the points, the same one for every point,
    and every row is divided by its sum: so rows sum to 1 exactly, and the ε of the channel is
    a little above the one asked for (ask ``smallest_epsilon``). A baseline, not for release.

    Examples
    --------
    >>> from tightrope.graphs.points import PointsGraph
    >>> noise = planar_laplace(PointsGraph([[0, 0], [1, 0], [0, 1.0]]), 1)
    >>> noise.row(0).round(1).tolist()
    [0.4, 0.3, 0.3]
    """
    if grid < 10 or grid > 2000:
        raise InputError(
            f"the grid must have 10 to 2000 points along each axis, got {grid}"
        )
    return _in_the_plane(
        points, epsilon, lambda low, high: np.linspace(low, high, grid).T
    )


def planar_geometric(
    points: PointsGraph, epsilon: Epsilon | float | Fraction | str, step: float
) -> Channel:
    r"""Return planar geometric noise: weights :math:`e^{-\varepsilon d}` on a grid of a given step.

    Every noisy place of the grid is reported as the nearest point.

    Examples
    --------
    >>> from tightrope.graphs.points import PointsGraph
    >>> noise = planar_geometric(PointsGraph([[0, 0], [1, 0], [0, 1.0]]), 1, step=1.0)
    >>> bool(noise.row(0)[0] > noise.row(1)[0])
    True
    """
    if not np.isfinite(step) or step <= 0:
        raise InputError(f"the step of the grid must be positive, got {step}")

    def lines(low: Floats, high: Floats) -> list[Floats]:
        lengths = (high - low) / step
        counts = np.ceil(lengths).astype(int) + 1
        if counts.prod() > 4_000_000:
            raise TooLarge(f"a grid of step {step} would hold {counts.prod()} places")
        first = points.points[0]
        # Aligned with the first point, so that the grid contains it.
        steps_below = np.ceil((first - low) / step)
        origin = first - steps_below * step
        return [
            o + step * np.arange(c + 1) for o, c in zip(origin, counts, strict=True)
        ]

    return _in_the_plane(points, epsilon, lines)


def _in_the_plane(
    points: PointsGraph,
    epsilon: Epsilon | float | Fraction | str,
    lines: Callable[[Floats, Floats], Iterable[Floats]],
) -> Channel:
    """Return noise on the grid whose lines along each axis are given between two corners."""
    if points.metric != "euclidean":
        raise InputError(
            f"noise in the plane needs the euclidean metric, got {points.metric}"
        )
    places = points.points
    if places.shape[1] != 2:
        raise InputError(
            f"noise in the plane needs two coordinates, got {places.shape[1]}"
        )
    rate = float(Epsilon.of(epsilon))
    # Beyond this distance lies e^{-25}(1 + 25), less than 4e-10, of planar Laplace noise.
    reach = 25.0 / rate
    low = places.min(axis=0) - reach
    high = places.max(axis=0) + reach
    grid = lines(low, high)
    across, up = np.meshgrid(*grid, indexing="ij")
    plane = np.stack([across.ravel(), up.ravel()], axis=1)
    distances = [np.hypot(*(plane - place).T) for place in places]
    away = np.array(distances)
    # The nearest point is a function of the noisy place alone: post-processing.
    nearest = away.argmin(axis=0)
    rows = []
    for distances in away:
        weights = np.exp(-rate * distances)
        rows.append(np.bincount(nearest, weights, len(places)))
    matrix = np.array(rows)
    return Channel(
        matrix / matrix.sum(axis=1, keepdims=True),
        inputs=points.labels,
        outputs=points.labels,
    )
