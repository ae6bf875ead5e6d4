r"""Counts that are shown if they are large enough: draws, intervals, claims.

An interval is about the counts that are shown. For a count x let :math:`d_x` be the least distance
with

.. math:: P(|V| \le d_x \mid x + V \text{ is shown}) \ge 1-a.

The interval of a published y holds every x with :math:`|y - x| \le d_x`. So whatever the count
is, where it is shown its interval contains it with probability at least :math:`1-a`. A small
count is rarely shown, and then its noise is large: numbers just above the threshold have
intervals that reach far down.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from tightrope.accounting import TradeOff
from tightrope.claims import NEGLIGIBLE, selection_sentence
from tightrope.publish.intervals import Number
from tightrope.publish.noise.rows import SEEN, RowNoise, not_released
from tightrope.publish.sampler import ShownSampler

if TYPE_CHECKING:
    from tightrope.certify import Mechanism


class ShownNoise(RowNoise):
    """The count plus noise where that is above the threshold; else 0, which is not shown."""

    @classmethod
    def fits(cls, file: Any) -> bool:
        """Whether the file holds a law and a threshold."""
        return bool(file.kind == "shown")

    def draw(self, answer: Any) -> Hashable:
        """Draw one output for a true count."""
        return self.draw_cells([answer])[0]

    def draw_node(self, node: int) -> Hashable:
        """Draw one output for the true count of a node, which is that count."""
        return self.draw(node)

    def draw_cells(self, answers: Sequence[Any]) -> list[int]:
        """Draw many counts at once, each with the same work."""
        counts = np.array(answers, np.int64)
        drawn = ShownSampler(self.file).draw_counts(counts)
        return [int(number) for number in drawn.tolist()]

    def claim(self) -> str:
        """Say which counts are shown, and that none is shown more often by any mechanism."""
        return selection_sentence(
            self.even_size,
            self.certain_size,
            self.epsilon,
            self.delta,
            optimal=self.is_optimal,
        )

    @property
    def is_optimal(self) -> bool:
        """Whether every count is shown as often as any private mechanism could show it."""
        gap = self.verdict.optimal_within
        return gap is not None and gap <= NEGLIGIBLE

    @property
    def even_size(self) -> int:
        """The least count that is shown at least as likely as not."""
        return bisect_left(self._shown, self.file.total >> 1)

    @property
    def certain_size(self) -> int:
        """The least count that is always shown."""
        return len(self._shown) - 1

    @functools.cached_property
    def _shown(self) -> list[int]:
        """The weight with which the counts 0, 1, … are shown."""
        weights: list[int] = self.file.weights.shown_weights()
        return weights

    def curve(self, most: int = 1_000_000) -> TradeOff | None:
        """Return nothing: it counts by its level."""
        return None

    def differences(self, most: int = 81) -> tuple[tuple[float, float], ...]:
        """Return the law of the noise of a count that is shown for certain."""
        rule = self.file.weights
        first = max(rule.zero - most // 2, 0)
        last = rule.zero + most // 2
        levels = rule.levels[first : last + 1]
        near = enumerate(levels, first - rule.zero)
        shares = ((float(by), level / self.file.total) for by, level in near)
        return tuple((by, share) for by, share in shares if share > SEEN)

    def check_output(self, answer: Hashable) -> None:
        """Refuse what is neither 0 nor above the threshold."""
        is_count = isinstance(answer, int) and 0 <= answer <= self.last_answer
        above = min(self.file.weights.top, self.last_answer - 1)
        if not is_count or 0 < answer <= above:  # type: ignore[operator]
            raise not_released(answer)

    def _errors(self, level: Fraction) -> tuple[Number, ...]:
        """Return the distance that counts keep which are always shown."""
        return (_distances(self.file, level)[-1],)

    def _bounds(self, answer: Hashable, level: Fraction) -> Any:
        """Return the least and the largest count whose distance reaches the output."""
        assert isinstance(answer, int)
        if answer == 0:
            return ((0, min(self.certain_size - 1, self.last_answer)),), ()
        *small, far = _distances(self.file, level)
        counts = [x for x, d in enumerate(small, 1) if abs(answer - x) <= d]
        if answer + far >= self.certain_size:
            nearest = max(answer - far, self.certain_size)
            counts += [nearest, answer + far]
        return ((min(counts), min(max(counts), self.last_answer)),), ()

    def exact_chance(self) -> Fraction:
        """Return 0: a small count is hardly ever shown."""
        return Fraction(0)


@functools.lru_cache(maxsize=64)
def _distances(mechanism: Mechanism, level: Fraction) -> list[int]:
    """Return d_x of the counts 1, 2, … up to the first that is always shown."""
    rule = mechanism.weights
    # held[j] is the weight of the levels before the j-th.
    held = [0, *accumulate(rule.levels)]
    many = len(rule.levels)

    def distance(x: int) -> int:
        first = many - x  # the levels from here on show x
        wanted = level * (mechanism.total - held[first])

        def suffices(d: int) -> bool:
            low = max(rule.zero - d, first)
            high = min(rule.zero + d + 1, many)
            return high > low and bool(held[high] - held[low] >= wanted)

        return bisect_left(range(many), True, key=suffices)

    return [distance(x) for x in range(1, many + 1)]
