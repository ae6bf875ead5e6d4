"""Noise on a lattice: layers of one law for all answers, however many there are."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.accounting import TradeOff
from tightrope.channels import UnboundedNoise
from tightrope.publish.intervals import (
    Number,
    galloping_search,
    number_parts,
    possible_ends,
    whole,
)
from tightrope.publish.noise.laws import NoiseLaw, PairLaw, law_edges
from tightrope.publish.noise.rows import SEEN, RowNoise, not_released
from tightrope.publish.sampler import CellSampler, LatticeSampler

if TYPE_CHECKING:
    from tightrope.certify import Mechanism
    from tightrope.graphs.unbounded import NoiseLattice


class LatticeNoise(RowNoise):
    """The answer plus noise that depends on nothing, each number held between its ends."""

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether the file holds layers."""
        return bool(file.kind == "lattice")

    def draw(self, answer: Any) -> Hashable:
        """Draw one output for a true answer."""
        return LatticeSampler(self.file, answer).draw()

    def draw_cells(self, answers: Sequence[Any]) -> list[int]:
        """Draw the cells of a table, not held between the ends: all together, or one by one."""
        if isinstance(answers[0], tuple):
            # A joint table is one point of the lattice, whose cells are not independent.
            (point,) = LatticeSampler(self.file, answers[0]).draw_points(1).tolist()
            return [int(number) for number in point]
        drawn = CellSampler(self.file).draw_cells(np.array(answers, np.int64))
        return [int(number) for number in drawn.tolist()]

    def draw_node(self, node: int) -> Hashable:
        """Draw one output for the true answer of a node."""
        return self.draw(self.file.input_label(node))

    def guess(self, answer: Hashable) -> Hashable:
        """Return what an answer is taken for; one number is held between its ends first."""
        lattice = _lattice_of(self.file)
        if lattice.parts == lattice.step == 1 and isinstance(answer, int):
            answer = lattice.clamped([answer])
        return super().guess(answer)

    def curve(self, most: int = 1_000_000) -> TradeOff | None:
        """Return nothing: noise without ends counts by its level."""
        return None

    @functools.cached_property
    def law(self) -> NoiseLaw | None:
        """The law of one coordinate; of lattices with fractional steps none."""
        lattice = _lattice_of(self.file)
        if lattice.step != 1:
            return None
        rare = Fraction(1, 10**6)
        edges = law_edges(_noise_width(self.file, 1 - rare))
        # Layers are summed until a millionth of this rare mass is left outside.
        inside = _layers_inside(self.file, rare * self.file.total)
        counts = (inside(r) for r in edges)
        shares = np.array([count / self.file.total for count in counts])
        return NoiseLaw(np.array(edges), shares, (0, lattice.people))

    @functools.cached_property
    def pair_law(self) -> PairLaw | None:
        """The law of both coordinates of a square lattice; of others none."""
        lattice = _lattice_of(self.file)
        noise = self.file.noise
        assert noise is not None
        if (lattice.form, lattice.parts) != ("cube", 2):
            return None
        # As in _layers_inside: the flat part is left out, and what is rarer than any interval.
        last = noise.levels[-1]
        levels = noise.levels[: noise.reach]
        weights = [level - last for level in levels]
        masses = np.array([weight / self.file.total for weight in weights])
        # The middle point has extra weight, which belongs to the innermost layer.
        masses[0] += noise.odd / self.file.total
        sizes = np.array(noise.sizes[: noise.reach], float)
        points = (masses * sizes)[::-1]
        beyond = np.cumsum(points)[::-1]
        return PairLaw(masses[beyond > 1e-9], (0, lattice.people))

    def differences(self, most: int = 81) -> tuple[tuple[float, float], ...]:
        """Return the law of one number's noise."""
        channel = self.file.channel()
        assert isinstance(channel, UnboundedNoise)
        step = float(channel.lattice.step)
        far = most // 2
        places = range(-far, far + 1)
        shares = [(by * step, channel.coordinate(by)) for by in places]
        return tuple((by, share) for by, share in shares if share > SEEN)

    def check_output(self, answer: Hashable) -> None:
        """Refuse what is not on the lattice, or not between the ends.

        One number may also be recorded as it was drawn, up to the last layer beyond the ends.
        """
        lattice = _lattice_of(self.file)
        noise = self.file.noise
        assert noise is not None
        # Cells of a table are recorded before clamping, so they may lie beyond the ends.
        beyond = noise.reach * lattice.width if lattice.parts == 1 else 0
        with contextlib.suppress(ValueError, TypeError):
            steps = [x / Fraction(lattice.step) for x in number_parts(answer)]
            is_whole = all(x.denominator == 1 for x in steps)
            is_inside = all(-beyond <= x <= lattice.people + beyond for x in steps)
            if is_whole and is_inside and len(steps) == lattice.parts - lattice.hidden:
                return
        raise not_released(answer)

    def _bounds(self, answer: Hashable, level: Fraction) -> Any:
        return _lattice_bounds(self.file, answer, level), ()

    def _errors(self, level: Fraction) -> tuple[Number, ...]:
        lattice = _lattice_of(self.file)
        width = _noise_width(self.file, level) * Fraction(lattice.step)
        return (whole(width),) * (lattice.parts - lattice.hidden)

    def exact_chance(self) -> Fraction:
        """Return the probability of no noise."""
        noise = self.file.noise
        assert noise is not None
        middle = Fraction(noise.levels[0] + noise.odd, self.file.total)
        return middle * noise.described


def _lattice_of(mechanism: Mechanism) -> NoiseLattice:
    """Return the lattice without ends that the answers are a part of."""
    lattice = mechanism.question.graph.unbounded
    assert lattice is not None
    return lattice


def _layers_inside(mechanism: Mechanism, outside: Fraction) -> Callable[[int], int]:
    """Return a function from a distance to the weight of one coordinate that is no further away.

    Points are counted layer by layer, in integers. The flat part of the law is spread over so
    many points that it is left out; so are layers beyond a millionth of what may lie outside.
    """
    noise = mechanism.noise
    assert noise is not None
    lattice = replace(_lattice_of(mechanism), core=noise.lattice.core)
    last = noise.levels[-1]
    layers = 0
    held = noise.odd
    # Stop when what is left cannot matter for the level that is asked for.
    while (mechanism.total - held) * 10**6 > outside and layers < noise.reach:
        weight = noise.levels[layers] - last
        held += noise.sizes[layers] * weight
        layers += 1
    weights = [level - last for level in noise.levels[:layers]]
    masses = (w * n for w, n in zip(weights, noise.sizes, strict=False))
    sums = [0, *accumulate(masses)]
    # On a line all layers but the outermost are within a distance or beyond it.
    beyond = 1 if lattice.parts == 1 else layers

    def inside(r: int) -> int:
        near = int(min(r, noise.described_reach))
        # Layers below `first` lie within the distance entirely: their sum is tabulated.
        layers_before = (near - lattice.core) // lattice.width + 1
        first = min(max(layers_before, 0), layers)
        last = min(first + beyond, layers)
        held = sums[first]
        for t in range(first, last):
            held += weights[t] * lattice.within(t, near)
        return int((noise.odd + held) * noise.described)

    return inside


@lru_cache(maxsize=64)
def _noise_width(mechanism: Mechanism, level: Fraction) -> int:
    """Return how far one coordinate of noise on a lattice lies from 0 with a probability."""
    lattice = _lattice_of(mechanism)
    outside = (1 - level) * mechanism.total
    inside = _layers_inside(mechanism, outside)
    # Answers are no further apart than this, whatever the noise.
    return galloping_search(
        lambda r: mechanism.total - inside(r) <= outside, lattice.people
    )


def _lattice_bounds(
    mechanism: Mechanism, answer: Hashable, level: Fraction
) -> tuple[tuple[Number, Number], ...]:
    """Invert noise on a lattice, number by number, whatever the others are.

    A number that is held within its ends is moved no further than the true one lies.
    """
    lattice = _lattice_of(mechanism)
    step = Fraction(lattice.step)
    width = _noise_width(mechanism, level) * step
    most = lattice.people * step
    # One number may be recorded beyond the ends, as it was drawn.
    around = (
        possible_ends(x, (x - width, x + width), 0, most) for x in number_parts(answer)
    )
    return tuple((whole(low), whole(high)) for low, high in around)
