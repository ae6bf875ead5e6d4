"""Noise on a lattice whose outputs are replaced by the best guesses, by rule and table."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.channels.base import RuleChannel
from tightrope.channels.structured import UnboundedNoise
from tightrope.errors import InputError, TooLarge


class GuessedNoise(RuleChannel):
    """Noise on a lattice, then a guess for each point.

    Guesses for the points of a box are listed; all others have one guess. Choosing a guess does not
    look at the answer, so the channel is as private as the noise.

    Parameters
    ----------
    noise
        The noise, not held between ends.
    first
        The first point of the box, without the last coordinate of a histogram, which follows.
    guesses
        The answer that is guessed at each point of the box, by its number.
    elsewhere
        The guess for all points outside the box.

    Examples
    --------
    >>> from tightrope.graphs import PathPower, StrongProduct
    >>> noise = UnboundedNoise(StrongProduct([PathPower(3)] * 2), "ln(2)")
    >>> always = GuessedNoise(noise, (0, 0), np.full((3, 3), 4), 4)
    >>> always.row(8).round(12).tolist()
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self, noise: UnboundedNoise, first: Sequence[int], guesses: Ints, elsewhere: int
    ) -> None:
        free = free_coordinates(noise)
        if not guesses.ndim == len(first) == free:
            raise InputError(
                f"points of {noise.graph.name} have {free} free coordinates, got a box of "
                f"{guesses.ndim} from a point of {len(first)}"
            )
        self.noise = noise
        self.guesses = np.asarray(guesses, np.int64)
        self.elsewhere = elsewhere
        self.shape = noise.shape
        self._inputs = self._outputs = noise.graph.label
        axes = (
            np.arange(low, low + side)
            for low, side in zip(first, guesses.shape, strict=True)
        )
        box = np.meshgrid(*axes, indexing="ij")
        self._points = np.stack(box, axis=-1).reshape(-1, free)

    def _chances(self, points: Ints, answers: Ints) -> Floats:
        """Return the probability of each point, one row for each answer."""
        noise = self.noise
        chances = point_chances(noise)
        away = distances(noise, points - answers[:, None])
        return np.append(chances, 0.0)[np.minimum(away, len(chances))]

    def _place(self, i: int) -> Ints:
        point = self.noise.lattice.coordinates(self.noise.graph.label(i))
        return np.array(point[: self.guesses.ndim], np.int64)

    def _row(self, i: int) -> Floats:
        chances = self._chances(self._points, self._place(i)[None])[0]
        row: Floats = np.zeros(self.shape[1])
        np.add.at(row, self.guesses.ravel(), chances)
        row[self.elsewhere] += max(1.0 - chances.sum(), 0.0)
        return row

    def _column(self, o: int) -> Floats:
        if self.shape[0] * self.guesses.size > 1 << 28:
            raise TooLarge(
                f"a column of {self!r} is a sum over too many points: ask for rows"
            )
        return np.array([self._row(i)[o] for i in range(self.shape[0])])

    def __repr__(self) -> str:
        box = " × ".join(map(str, self.guesses.shape))
        return f"<GuessedNoise on {self.noise.graph.name}, guesses for {box} points>"


def free_coordinates(noise: UnboundedNoise) -> int:
    """Return how many coordinates of a point are free: the last one of roots follows."""
    lattice = noise.lattice
    return lattice.parts - (lattice.form == "roots")


def point_chances(noise: UnboundedNoise) -> Floats:
    """Return the probability of one point at each distance, up to where it is negligible."""
    layers = noise.layers
    sizes = np.array(noise.lattice.layers(len(layers)), float)
    return np.asarray(layers / sizes)


def whole(noise: UnboundedNoise, gaps: Ints) -> Ints:
    """Return differences of points with the coordinate that follows from the others.

    >>> from tightrope.graphs import Histograms
    >>> whole(UnboundedNoise(Histograms(9, 3), 1), np.array([2, -1])).tolist()
    [2, -1, -1]
    """
    if noise.lattice.form != "roots":
        return gaps
    return np.concatenate([gaps, -gaps.sum(axis=-1, keepdims=True)], axis=-1)


def distances(noise: UnboundedNoise, gaps: Ints) -> Ints:
    """Return the distances on the lattice for differences of free coordinates.

    >>> from tightrope.graphs import Histograms
    >>> int(distances(UnboundedNoise(Histograms(9, 3), 1), np.array([2, -1])))
    2
    """
    form = noise.lattice.form
    # One coordinate after the other: reductions over short axes take several times as long.
    each = np.moveaxis(whole(noise, gaps), -1, 0)
    if form == "cube":
        far = functools.reduce(np.maximum, map(np.abs, each))
    elif form == "range":
        up = np.maximum(functools.reduce(np.maximum, each), 0)
        far = up - np.minimum(functools.reduce(np.minimum, each), 0)
    else:
        far = functools.reduce(np.add, map(np.abs, each))
        if form == "roots":
            far //= 2
    return np.asarray(far, np.int64)
