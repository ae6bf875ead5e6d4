r"""Exact draws with a fixed amount of work.

A row of integer weights with total :math:`2^b` is a table of running sums. A draw takes b bits
from the operating system's secure source and looks up in which interval they fall. There is no
floating point, no seed, no rejection and no early exit: the table is padded to :math:`2^k - 1`
entries, so that every search takes exactly k comparisons, whatever is drawn.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Hashable
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.certify import Mechanism
from tightrope.errors import InputError, TooLarge

#: Largest number of draws in one call.
DRAW_LIMIT = 50_000_000
#: Number of draws looked up together.
BLOCK_DRAWS = 1 << 18


class Sampler:
    """Draws outputs of a mechanism for one true answer.

    Parameters
    ----------
    mechanism
        The mechanism. Drawing does not check it: see :func:`~tightrope.certify.verify`.
    row
        The node of the true answer.

    Attributes
    ----------
    bits
        Random bits used by a draw, the same for every draw.
    steps
        Comparisons made by a draw, the same for every draw.

    Examples
    --------
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import rational
    >>> from tightrope.graphs import Band
    >>> coin = certify(rational([["3/4", "1/4"], ["1/4", "3/4"]]), Band(2), "ln(3)")
    >>> sampler = Sampler(coin, 0)
    >>> sampler.bits, sampler.steps, sampler.draw() in (0, 1)
    (2, 1, True)
    """

    def __init__(self, mechanism: Mechanism, row: int) -> None:
        self.mechanism, self.row = mechanism, int(row)
        weights = mechanism.row_weights(self.row)
        if int(weights.min()) < 0 or sum(weights.tolist()) != mechanism.total:
            raise InputError(f"row {row} does not sum to 2^{mechanism.bits}: verify the mechanism")
        self.bits = mechanism.bits
        self.outputs = len(weights)
        self.steps = (self.outputs - 1).bit_length()
        self._bytes = max(1, -(-self.bits // 8))
        self._drop = 8 * self._bytes - self.bits
        # The last sum is the total, which no draw reaches; padding with it changes nothing.
        sums = list(accumulate(weights.tolist()))[:-1]
        self._sums: list[int] = sums + [mechanism.total] * (2**self.steps - 1 - len(sums))
        self._limbs: tuple[NDArray[Any], ...] | None = None

    def draw_index(self) -> int:
        """Draw the number of one output."""
        drawn = int.from_bytes(os.urandom(self._bytes), "little") >> self._drop
        return bisect_right(self._sums, drawn)

    def draw(self) -> Hashable:
        """Draw one output and return its label."""
        return self.mechanism.output_label(self.draw_index())

    def draw_indices(self, count: int) -> NDArray[np.int64]:
        """Draw the numbers of many outputs at once.

        >>> from tightrope.certify import certify
        >>> from tightrope.channels import GeometricChannel
        >>> from tightrope.graphs import Band
        >>> made = certify(GeometricChannel(6, "ln(2)"), Band(6), "ln(2)")
        >>> len(Sampler(made, 3).draw_indices(1000))
        1000
        """
        return self._look_up(count, os.urandom)

    def draws(self, count: int) -> list[Hashable]:
        """Draw many outputs and return their labels."""
        labels: dict[int, Hashable] = {}
        found = self.draw_indices(count).tolist()
        for o in set(found):
            labels[o] = self.mechanism.output_label(o)
        return [labels[o] for o in found]

    def _look_up(self, count: int, source: Any) -> NDArray[np.int64]:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise InputError(f"the number of draws must be a whole number, got {count!r}")
        if count > DRAW_LIMIT:
            raise TooLarge(f"{count} draws at once are more than {DRAW_LIMIT}: draw in parts")
        out = np.empty(count, np.int64)
        for start in range(0, count, BLOCK_DRAWS):
            some = min(BLOCK_DRAWS, count - start)
            out[start : start + some] = self._search(self._random(some, source))
        return out

    def _random(self, count: int, source: Any) -> list[NDArray[np.uint64]]:
        """Return random numbers of ``bits`` bits as limbs of 64 bits, the highest first."""
        limbs = [np.zeros(count, np.uint64)]
        if self.bits % 64:
            words = np.frombuffer(source(8 * count), np.uint64)
            limbs = [words >> np.uint64(64 - self.bits % 64)]
        whole = range(self.bits // 64)
        return limbs + [np.frombuffer(source(8 * count), np.uint64) for _ in whole]

    def _search(self, drawn: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Find the interval of each number in ``steps`` rounds that all do the same work."""
        table = self._table(len(drawn))
        place = np.zeros(len(drawn[0]), np.int64)
        for step in range(self.steps - 1, -1, -1):
            probe = place + ((1 << step) - 1)
            # Whether the running sum at the probe is at most the number drawn, limb by limb.
            most = np.ones(len(place), bool)
            for sums, number in zip(reversed(table), reversed(drawn), strict=True):
                there = sums[probe]
                most = (there < number) | ((there == number) & most)
            place += most.astype(np.int64) << step
        return place

    def _table(self, limbs: int) -> tuple[NDArray[Any], ...]:
        if self._limbs is None:
            full = (1 << 64) - 1
            self._limbs = tuple(
                np.array([s >> (64 * k) & full for s in self._sums], np.uint64)
                for k in range(limbs - 1, -1, -1)
            )
        return self._limbs
