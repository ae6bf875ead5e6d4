"""Points with a metric: the complete graph whose edges are as long as the points are apart."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, AnyArray, Floats, Labels
from tightrope.errors import InputError, TooLarge
from tightrope.graphs.base import check_labels, finite_array, frozen
from tightrope.graphs.explicit import LabelledGraph
from tightrope.graphs.lines import CompleteGraph

#: Mean radius of the Earth, in kilometres.
EARTH_RADIUS_KM = 6371.0088

#: The metrics by name, each with the name that SciPy has for it; ``haversine`` takes latitude and
#: longitude in degrees and gives kilometres, by the chord between places on the unit sphere.
METRICS: Mapping[str, str] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "haversine": "euclidean",
}


class PointsGraph(LabelledGraph, CompleteGraph):
    r"""Every two points adjacent, with their distance as the length of the edge.

    For a metric no way round is shorter than the direct edge, so the distance in the graph is
    the metric itself: one row takes O(n) work and no matrix is held.

    Parameters
    ----------
    points
        One row of coordinates for each point; all points in different places.
    metric
        ``euclidean``, ``manhattan``, ``chebyshev``, or ``haversine`` for (latitude, longitude)
        in degrees with distances in kilometres.
    labels
        The answers in the order of the points; the indices by default.
    name
        Text that describes the graph.

    Examples
    --------
    >>> graph = PointsGraph([(0, 0), (3, 4), (0, 8)], labels=["home", "work", "park"])
    >>> graph.distance(0, 1), graph.diameter, graph.label(2)
    (5.0, 8.0, 'park')
    >>> PointsGraph([(48.86, 2.35), (52.52, 13.40)], metric="haversine").distance(0, 1) // 1
    877.0
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        metric: str = "euclidean",
        labels: Labels = None,
        name: str = "points",
    ) -> None:
        if metric not in METRICS:
            raise InputError(
                f"the metric must be one of {', '.join(METRICS)}, got {metric!r}"
            )
        self.points: Floats = _checked_points(points, metric)
        self.metric = metric
        self._spots = _on_sphere(self.points) if metric == "haversine" else self.points
        self.size = len(self.points)
        self.name = name
        self._labels = check_labels(labels, self.size, "answers")
        self._check_apart()

    def _far_from(self, i: int, others: slice) -> Floats:
        """Return how far some points are from one of them."""
        from scipy.spatial.distance import cdist

        here = self._spots[i : i + 1]
        distances: Floats = cdist(self._spots[others], here, METRICS[self.metric])[:, 0]
        if self.metric == "haversine":
            # A chord c of the unit sphere spans the angle 2 asin(c/2).
            half_angles = np.arcsin(np.minimum(1, distances / 2))
            distances = 2 * EARTH_RADIUS_KM * half_angles
        return distances

    @functools.cached_property
    def has_lengths(self) -> bool:
        """Whether two of the points are not at distance 1."""
        return any((row != 1).any() for row in self._rows())

    def _rows(self) -> Iterator[Floats]:
        """Yield for each point how far those after it are."""
        for i in range(self.size):
            yield self._far_from(i, slice(i + 1, None))

    def distance(self, i: int, j: int) -> float:
        """Return how far apart two points are."""
        self._check_node(i)
        self._check_node(j)
        distances = self._far_from(i, slice(j, j + 1))
        return float(distances[0])

    def distances_from(self, i: int) -> AnyArray:
        """Return how far every point is from one of them (whole numbers without lengths)."""
        self._check_node(i)
        kind = float if self.has_lengths else int
        return self._far_from(i, slice(None)).astype(kind)

    def edge_lengths(self) -> Floats:
        """Return the length of every edge, in the order of :meth:`edge_array` (read-only)."""
        self._check_edges()
        return frozen(np.concatenate(list(self._rows())))

    @functools.cached_property
    def diameter(self) -> float:
        """The largest distance between two points."""
        if self.size > LIMITS.compared:
            raise TooLarge(
                f"the diameter of {self.name} compares all pairs of at most {LIMITS.compared} "
                f"points, got {self.size}"
            )
        rows = (self.distances_from(i) for i in range(self.size))
        return max(float(row.max()) for row in rows)

    def _check_apart(self, near: float = 1e-6) -> None:
        """Refuse two points in one place.

        Those within ``near`` in space are compared by their metric. On the Earth a millimetre,
        1e-6 km, is as near as degrees in floating point tell places apart.
        """
        if self.size < 2:
            return
        from scipy.spatial import KDTree

        least = 1e-6 if self.metric == "haversine" else 0
        # Only nearest neighbours can coincide: n log n instead of all pairs.
        gaps, nearest = KDTree(self._spots).query(self._spots, k=2)
        for i in np.flatnonzero(gaps[:, 1] <= near).tolist():
            j = next(k for k in nearest[i].tolist() if k != i)
            if self.distance(i, j) <= least:
                first, second = (reprlib.repr(self.label(k)) for k in sorted((i, j)))
                raise InputError(
                    f"points must be in different places, got {first} and {second} in the same one"
                )


def _on_sphere(degrees: Floats) -> Floats:
    """Turn latitude and longitude into a place on the unit sphere."""
    # Chords on the unit sphere allow a k-d tree, which degrees do not.
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    return np.stack(
        [flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1
    )


def _checked_points(points: ArrayLike, metric: str) -> Floats:
    must = "points must be rows of coordinates, as many numbers in each"
    values = finite_array(points, must, (None, None), "coordinates")
    # Squares of larger coordinates overflow.
    if np.abs(values).max() > 1e150:
        raise InputError("coordinates must be finite when squared, got one above 1e150")
    if metric == "haversine":
        if values.shape[1] != 2:
            raise InputError(
                f"haversine needs latitude and longitude, got {values.shape[1]} columns"
            )
        wrong = np.flatnonzero(
            (np.abs(values[:, 0]) > 90) | (np.abs(values[:, 1]) > 360)
        )
        if len(wrong):
            raise InputError(
                f"latitude must be within ±90 and longitude within ±360 degrees, "
                f"got {tuple(values[wrong[0]].tolist())} in point {wrong[0]}"
            )
    return frozen(values)
