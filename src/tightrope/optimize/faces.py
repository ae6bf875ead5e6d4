r"""Faces of the privacy cone, as blocks of a linear program.

A face is given by the edges that are tight in all of its columns. Nodes joined by tight edges
keep fixed ratios, so a column of the face has one free number for each connected component.
The smallest face that contains some rays holds all their mixtures and many more columns at
the price of a few variables: the engine works with one face for each guess and enlarges it by
the rays that pricing finds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightrope.graphs.shapes import components
from tightrope.optimize.problem import Floats, Heights, Ints, Problem
from tightrope.optimize.progress import Stopped, Watch

#: Differences of heights that are this close to an edge length count as tight.
TIGHT_TOLERANCE = 1e-9

Tight = NDArray[np.int8]


def tight_edges(problem: Problem, heights: Heights) -> Tight:
    """Return for each edge (i, j) the sign of the height difference where it is tight, else 0.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(4), Epsilon.of(1), np.ones((4, 4)))
    >>> tight_edges(problem, np.array([0, 1, 1, 0])).tolist()
    [1, 0, -1]
    """
    begin = problem.edges[:, 0]
    end = problem.edges[:, 1]
    step = heights[end] - heights[begin]
    slack = problem.lengths - np.abs(step)
    is_tight = slack <= TIGHT_TOLERANCE
    return np.where(is_tight, np.sign(step), 0).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Face:
    """A face of the privacy cone.

    Parameters
    ----------
    problem
        The problem whose cone it is.
    heights
        The heights of one column in the face; variables are measured relative to it.
    tight
        The tight edges (see :func:`tight_edges`).

    Examples
    --------
    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(4), Epsilon.of(1), np.ones((4, 4)))
    >>> ray = Face.of_ray(problem, np.array([0, 1, 2, 3]))
    >>> ray.dimension, ray.joined_with(np.array([2, 1, 0, 1])).dimension
    (1, 3)
    """

    problem: Problem
    heights: Heights
    tight: Tight

    @classmethod
    def of_ray(cls, problem: Problem, heights: Heights) -> Face:
        """Return the smallest face that contains a ray."""
        return cls(problem, heights, tight_edges(problem, heights))

    @classmethod
    def whole(cls, problem: Problem) -> Face:
        """Return the whole cone: a free number for each answer, a row for each directed edge."""
        level = np.zeros(problem.size, problem.lengths.dtype)
        return cls(problem, level, np.zeros(len(problem.edges), np.int8))

    def joined_with(self, heights: Heights) -> Face:
        """Return the smallest face that contains this one and a ray."""
        other = tight_edges(self.problem, heights)
        # The larger of the two columns at every node is in the face too; relative to it no
        # variable is ever large.
        lower = np.minimum(self.heights, heights)
        # An edge is tight in the join where it is tight in both, in the same direction.
        tight = np.where(self.tight == other, other, 0).astype(np.int8)
        return Face(self.problem, lower, tight)

    @functools.cached_property
    def _components(self) -> tuple[int, Ints]:
        return _label_components(self.problem, [self])[0]

    @property
    def dimension(self) -> int:
        """The number of free numbers of a column in the face."""
        return self._components[0]

    @property
    def component(self) -> Ints:
        """For each node the component that it belongs to."""
        return self._components[1]

    @functools.cached_property
    def _falls(self) -> Heights:
        """How far each node lies above the lowest height of its component."""
        lowest = np.full(self.dimension, self.heights.max())
        np.minimum.at(lowest, self.component, self.heights)
        return np.asarray(self.heights - lowest[self.component])

    @functools.cached_property
    def shape(self) -> Floats:
        """The column that the variables are relative to: node i is ``shape[i] · u[component]``.

        It is 1 where a component is largest, so that a variable is as large as what it stands
        for: what is below the solver's tolerance matters as little as it seems.
        """
        return self.problem.power(self._falls)

    @functools.cached_property
    def rows(self) -> tuple[Ints, Ints, Floats, Floats, Ints]:
        r"""The privacy rows :math:`f_a u_a \le f_b u_b`: a, b, :math:`f_a`, :math:`f_b`, an edge.

        The larger factor is 1. Of several edges between two components only the sharpest is
        kept, in the order of a and b. Edge number m + e is edge e in the other direction.
        """
        i, j, length = self.problem.ways
        a = self.component[i]
        b = self.component[j]
        between = np.flatnonzero(a != b)
        i = i[between]
        j = j[between]
        a = a[between]
        b = b[between]
        # α^length x_i ≤ x_j with x = α^falls·u is α^exponent u_a ≤ u_b.
        exponent = length[between] + self._falls[i] - self._falls[j]
        # The smallest exponent of each pair of components is the sharpest row.
        key = a * self.dimension + b
        order = np.lexsort((exponent, key))
        first = np.ones(len(order), bool)
        ordered = key[order]
        first[1:] = ordered[1:] != ordered[:-1]
        keep = order[first]
        power = self.problem.power
        steps = exponent[keep]
        less = power(np.maximum(steps, 0))
        more = power(np.maximum(-steps, 0))
        return a[keep], b[keep], less, more, between[keep]

    def column(self, values: Floats) -> Floats:
        """Return the column of the channel that the variables stand for."""
        return np.asarray(self.shape * values[self.component], dtype=np.float64)


def joined(problem: Problem, face: Face | None, heights: Heights) -> Face:
    """Return the smallest face that contains a ray, and another face where there is one.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(4), Epsilon.of(1), np.ones((4, 4)))
    >>> ray = joined(problem, None, np.array([0, 1, 2, 3]))
    >>> joined(problem, ray, np.array([2, 1, 0, 1])).dimension
    3
    """
    return Face.of_ray(problem, heights) if face is None else face.joined_with(heights)


def label_all(
    faces: Iterable[Face], watch: Watch | None = None, *, together: int = 1 << 22
) -> None:
    """Find the components of many faces of one problem at once, which is much faster.

    So many edges of all faces are looked at between two looks at the clock.

    >>> from tightrope import Epsilon
    >>> from tightrope.graphs import PathPower
    >>> problem = Problem(PathPower(4), Epsilon.of(1), np.ones((4, 4)))
    >>> faces = [Face.of_ray(problem, np.array(h)) for h in ([0, 1, 2, 3], [0, 0, 1, 1])]
    >>> label_all(faces)
    >>> [face.dimension for face in faces]
    [1, 3]
    """
    new = [face for face in faces if "_components" not in face.__dict__]
    if not new:
        return
    edges = max(1, len(new[0].problem.edges))
    step = max(1, together // edges)
    for at in range(0, len(new), step):
        if watch is not None and watch.heartbeat():
            raise Stopped
        some = new[at : at + step]
        labelled = _label_components(some[0].problem, some)
        for face, parts in zip(some, labelled, strict=True):
            face.__dict__["_components"] = parts


def _label_components(problem: Problem, faces: list[Face]) -> list[tuple[int, Ints]]:
    """One graph with a copy of the nodes for each face."""
    n = problem.size
    which, edge = np.nonzero(np.stack([face.tight for face in faces]))
    i = problem.edges[edge, 0] + n * which
    j = problem.edges[edge, 1] + n * which
    # Parts are numbered in the order of their first node, so copies do not mix.
    numbers = components((i, j), n * len(faces))
    parts = numbers.reshape(len(faces), n)
    first = parts.min(axis=1)
    return [
        (int(part.max() - low) + 1, part - low)
        for part, low in zip(parts, first, strict=True)
    ]
