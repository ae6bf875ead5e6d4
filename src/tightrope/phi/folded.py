r"""Bundles of counts, folded along their symmetry.

Every coordinate may be read from either end, and equal coordinates may change places: up to
:math:`2^k k!` answers see the same. Averaging over them commutes with Φ, so :math:`\Phi x = b` with
b alike on all of them has one equation for each class, and elimination solves it where Φ is
indefinite and iterations would wander.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Most classes that are eliminated.
CLASS_LIMIT = 2_500
#: Most entries of Φ, one row for each class, that are added up.
FOLDED_ENTRIES = 400_000_000
#: Most distances that are kept between two α.
KEPT_DISTANCES = 20_000_000
#: Entries that are held at once.
_BLOCK = 4_000_000

Rule = Callable[[Sequence[NDArray[Any]]], NDArray[Any]]


class Folded:
    """The classes of a box of integer points and the sums of Φ over them.

    Parameters
    ----------
    shape
        The sides of the box.
    alike
        For every axis a number; axes with the same one and the same side may change places.
    rule
        Distance from the differences along each axis.

    Examples
    --------
    >>> folded = Folded((3, 3), (1, 1), lambda apart: np.maximum(*map(np.abs, apart)))
    >>> folded.label.reshape(3, 3).tolist()
    [[0, 1, 0], [1, 2, 1], [0, 1, 0]]
    """

    def __init__(self, shape: Sequence[int], alike: Sequence[int], rule: Rule) -> None:
        self._rule = rule
        points = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), tuple(shape)))
        sides = np.array(shape)[:, None]
        near = np.minimum(points, sides - 1 - points)
        for kind in set(zip(shape, alike, strict=True)):
            axes = [k for k, mine in enumerate(zip(shape, alike, strict=True)) if mine == kind]
            near[axes] = np.sort(near[axes], axis=0)
        keys = np.ravel_multi_index(tuple(near), tuple(shape))
        _, first, self.label = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(self.label, kind="stable")
        self._points = points[:, order].astype(np.int32)
        self._starts = np.searchsorted(self.label[order], np.arange(len(first)))
        self._chosen = points[:, first].astype(np.int32)
        self.size = len(first)

    @staticmethod
    def classes(shape: Sequence[int], alike: Sequence[int]) -> int:
        """Return how many classes there are, without making them.

        >>> Folded.classes((31, 31, 31), (1, 1, 1))
        816
        """
        from math import comb, prod

        kinds = list(zip(shape, alike, strict=True))
        return prod(
            comb((kind[0] + 1) // 2 + kinds.count(kind) - 1, kinds.count(kind))
            for kind in set(kinds)
        )

    def holds(self, b: NDArray[np.float64]) -> bool:
        """Whether a vector is the same on every class."""
        return bool((b == b[self._first][self.label]).all())

    @functools.cached_property
    def _first(self) -> NDArray[np.int64]:
        return np.unique(self.label, return_index=True)[1]

    def quotient(self, alpha: float) -> NDArray[np.float64]:
        r"""Return :math:`Q_{AB} = \sum_{b \in B} \alpha^{d(a,b)}` for any :math:`a \in A`."""
        out = np.empty((self.size, self.size))
        step = max(1, _BLOCK // self._points.shape[1])
        for at in range(0, self.size, step):
            far = self._distances(at, at + step) if self._kept is None else self._kept[at:][:step]
            powers = alpha ** np.arange(int(far.max()) + 1)
            out[at : at + step] = np.add.reduceat(powers[far], self._starts, axis=1)
        return out

    def _distances(self, start: int, stop: int) -> NDArray[Any]:
        """Return the distances from some classes to all points, class by class."""
        here = self._chosen[:, start:stop, None]
        return self._rule(list(self._points[:, None, :] - here)).astype(np.uint16)

    @functools.cached_property
    def _kept(self) -> NDArray[Any] | None:
        """All distances at once, where they fit: they are the same at every α."""
        fits = self.size * self._points.shape[1] <= KEPT_DISTANCES
        return self._distances(0, self.size) if fits else None

    def solve(self, alpha: float, b: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return x with Φx = b for a vector that is the same on every class.

        ``None`` when the sums are singular.
        """
        try:
            found = np.linalg.solve(self.quotient(alpha), b[self._first])
        except np.linalg.LinAlgError:
            return None
        return np.asarray(found[self.label])
