r"""Running counts along an ordered column: a distribution function with a simultaneous band.

Each cell is a count with noise of its own. The error of a running count is a sum of these noises,
so along the lines it is a random walk :math:`S_1, \dots, S_c` with independent symmetric steps, and
by Lévy's inequality

.. math:: P(\max_i |S_i| > t) \le 2 P(|S_c| > t).

With the exact law of :math:`S_c` this is a band for all lines at once that costs hardly more than
the last line alone.

Of many cells, blocks are counted too, with a share of ε of their own. A running count is then that
of the nearest end of a block, and at most half a block of cells added or taken away: a walk that
begins with the noise of at most all J blocks, S, and goes on with that of h cells, W. There are 2J
such walks. Symmetric unimodal noise is the more peaked the fewer terms it has, so

.. math:: P(\text{some error} > t) \le 4 J \, P(|S + W| > t).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from tightrope.publish.facts import Table
from tightrope.publish.intervals import Estimate
from tightrope.publish.shapes.base import (
    USUAL,
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    SelectParts,
    Shape,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.sql_pieces import title_of
from tightrope.queries import Neighbours
from tightrope.tables.laws import ErrorLaw, TableNoise
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.epsilon import Epsilon
    from tightrope.publish.noise import Noise

#: What is shown beside running counts: the count of all lines.
TOTAL = "total"
#: Shares of ε are this fine: levels with few digits are found in the cache again.
_SHARES = 16


@dataclass(frozen=True)
class RunningCount(Shape, kind="running count"):
    """How many rows have at most each value of a column, for all values at once.

    Attributes
    ----------
    shows
        What is shown under each title: running counts, the counts themselves, and their total.
    block
        How many cells have a count together; 0 where only cells are counted.
    block_share
        The part of ε that counts of blocks have.

    Examples
    --------
    >>> from tightrope.publish.axes import Axis
    >>> from tightrope.publish.facts import Table
    >>> ages = Axis("age", (18, 19, 20, 21), ())
    >>> RunningCount(Table("people", 9), axes=(ages,), block=2).answers([(0, 3), (3, 2)])
    [[3, 0, 0, 2], [3, 2]]
    """

    shows: tuple[str, ...] = ("running count",)
    block: int = 0
    block_share: Fraction = Fraction(1, 2)

    @property
    def draws_freely(self) -> bool:
        """Whether noise has no ends: the law of sums of noise knows none."""
        return True

    @classmethod
    def gather(cls, parts: SelectParts, table: Table) -> list[Parsed]:
        """Return what is asked, with the counts of the same lines and their total in one."""
        asked: list[Parsed] = []
        running = [fields for fields in parts.asked if fields["shape"] is cls]
        for fields in parts.asked:
            joins = fields["shape"] is Count and fields.get("kept") in (None, ())
            same = [x for x in running if x.get("condition") == fields.get("condition")]
            if not (fields in running or (joins and not fields.get("people") and same)):
                asked.append(fields)
        for fields in running:
            own = fields.get("condition")
            counts = [
                x
                for x in parts.asked
                if x not in asked and x["shape"] is Count and x.get("condition") == own
            ]
            # Columns stay in the order in which they were asked for.
            order = [title_of(target) for target in parts.select.expressions]
            columns = sorted(
                [fields, *counts],
                key=lambda x: (
                    order.index(x["titles"][0])
                    if x["titles"][0] in order
                    else len(order)
                ),
            )
            shown = [
                cls.kind if x is fields else TOTAL if "kept" in x else Count.kind
                for x in columns
            ]
            asked.append(
                {
                    "shape": cls,
                    "condition": own,
                    "axes": fields["axes"],
                    "titles": tuple(x["titles"][0] for x in columns),
                    "shows": tuple(shown),
                }
            )
        return asked

    # -- draws ----------------------------------------------------------------------------

    @property
    def has_others(self) -> bool:
        """No class of everybody else: each cell has noise of its own."""
        return False

    @property
    def draws(self) -> tuple[Draw, ...]:
        """A count for each cell, and one for each block where there are some."""
        rows = self.rows_per_person
        most = self.table.needed_population() * rows
        # Whoever changes leaves one cell and enters another.
        width = rows * (1 + self.table.neighbours.allows_change)
        cells = self.cell_count
        near = Neighbours.ADD_REMOVE
        words = f"the {self.counted}{self.in_each_group}"
        draw = Draw(f"count({most})", near, cells, width, words=words)
        if not self.block:
            return (draw,)
        of_block = f"the {self.counted} in each block of {self.block} of these groups"
        return (draw, replace(draw, times=-(-cells // self.block), words=of_block))

    @property
    def draw_shares(self) -> tuple[Fraction, ...]:
        """The parts of ε of cells and of blocks."""
        share = self.block_share if self.block else Fraction(0)
        return (1 - share, share)[: len(self.draws)]

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Shape:
        """Return the shape with the blocks that have the narrowest band, or with none.

        Blocks are compared by the variance of their errors; the best of them and none at all by
        their bands.
        """
        rate = float(level) / self.draws[0].width
        cells = self.cell_count
        sizes = itertools.takewhile(
            lambda size: 2 * size <= cells, (2**k for k in range(2, 30))
        )
        ways = [
            self,
            *(
                replace(self, block=size, block_share=_share(cells, size))
                for size in sizes
            ),
        ]

        def rates(way: RunningCount) -> tuple[float, ...]:
            return tuple(rate * float(share) for share in way.draw_shares)

        def roughly(way: RunningCount) -> float:
            law, walks = _walks(rates(way), cells, way.block)
            tail = float(1 - confidence) / (2 * walks)
            deviations = -NormalDist().inv_cdf(tail / 2)
            return math.sqrt(law.variance) * deviations

        best = min(ways, key=roughly)
        return min(
            (self, best), key=lambda way: band(rates(way), cells, way.block, confidence)
        )

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the counts of cells and of blocks, none above the largest."""
        most = self.table.needed_population() * self.rows_per_person
        sizes = [min(size, most) for size, *_ in self.cell_numbers(rows)]
        answers: list[list[Hashable]] = [[*sizes]]
        if self.block:
            # One row moves one cell and its block by one step each, also after the cut.
            starts = range(0, len(sizes), self.block)
            blocks = (sum(sizes[k : k + self.block]) for k in starts)
            answers.append([min(size, most) for size in blocks])
        return answers

    # -- numbers --------------------------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """How counts become running counts."""
        most = self.table.needed_population() * self.rows_per_person
        return replace(super().reading, shows=self.shows, people=most, block=self.block)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the running count of each line, within the band of all of them."""
        reading = drawn.reading
        cells = drawn.outputs
        blocks = drawn.answer[1] if reading.block else ()
        noises = [noise for noise in drawn.noises if noise is not None]
        rising = in_order(running_sums(cells, blocks, reading.block))
        most = reading.people
        width: int | None = None
        if len(noises) == len(drawn.noises):
            rates = tuple(float(noise.epsilon) for noise in noises)
            width = band(rates, len(cells), reading.block, drawn.level)

        def within(number: int) -> Estimate:
            value = min(max(number, 0), most)
            if width is None:
                return Estimate(value)
            low = max(value - width, 0)
            high = min(value + width, most)
            return Estimate(value, low, high)

        last = within(rising[-1])
        lines = []
        for cell, number in zip(cells, rising, strict=True):
            (count,) = drawn.numbers(cell)
            known = {cls.kind: within(number), Count.kind: count, TOTAL: last}
            lines.append(tuple(known[kind] for kind in reading.shows))
        return drawn.by_name(lines)

    @property
    def curves(self) -> tuple[str, ...]:
        """The running counts, which are drawn as a step curve."""
        pairs = zip(self.titles, self.shows, strict=True)
        return tuple(title for title, kind in pairs if kind == self.kind)

    def stand_in_reasons(self) -> list[str]:
        """Say that running counts are no draws themselves."""
        return ["running counts are sums of such counts"]

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each number: of running counts that of all lines at once."""
        rates = tuple(float(noise.epsilon) for noise in noises)
        at_once = Fraction(band(rates, self.cell_count, self.block, confidence))
        own = Fraction(noises[0].error(confidence)[0])
        return tuple(own if kind == Count.kind else at_once for kind in self.shows)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say the error of each number, and which of them hold at once."""
        share = f"({float(confidence) * 100:.4g} %)"
        at_once = {self.kind: " in all lines at once"}
        errors = self.errors(noises, confidence)
        return {
            title: f"± {bound_text(error)}{at_once.get(kind, '')} {share}"
            for title, kind, error in zip(self.titles, self.shows, errors, strict=True)
        }


def _share(cells: int, block: int) -> Fraction:
    """Return the part of ε for counts of blocks with the least variance of running counts.

    J blocks and h cells have J/p² + h/(1 − p)², which is least where the cubes of p and 1 − p are
    in proportion to J and h.
    """
    blocks = (cells / block) ** (1 / 3)
    inside = (block / 2) ** (1 / 3)
    parts = round(_SHARES * blocks / (blocks + inside))
    return Fraction(min(max(parts, 1), _SHARES - 1), _SHARES)


def _walks(rates: tuple[float, ...], cells: int, block: int) -> tuple[ErrorLaw, int]:
    """Return the law at the end of the longest walk, and how many walks there are."""
    one = Fraction(1)
    if not block:
        return ErrorLaw((TableNoise(rates[0], ((one, cells),)),)), 1
    blocks = -(-cells // block)
    inside = TableNoise(rates[0], ((one, block // 2),))
    outside = TableNoise(rates[1], ((one, blocks),))
    return ErrorLaw((outside, inside)), 2 * blocks


@lru_cache(maxsize=256)
def band(rates: tuple[float, ...], cells: int, block: int, confidence: Fraction) -> int:
    """Return what all running counts keep at once with a probability.

    Parameters
    ----------
    rates
        The level of the noise of cells and, where there are some, of blocks.
    cells, block
        How many cells there are, and how many of them make a block.
    confidence
        The probability.

    Examples
    --------
    >>> band((1.0,), 1, 0, Fraction(19, 20)), band((1.0,), 100, 0, Fraction(19, 20))
    (4, 30)
    """
    law, walks = _walks(rates, cells, block)
    # Each walk is outside with at most twice the probability of its end.
    fails = (1 - confidence) / (2 * walks)
    return math.floor(law.margin(1 - fails))


def running_sums(cells: Sequence[int], blocks: Sequence[int], block: int) -> list[int]:
    """Return running counts from those of cells and blocks, by the nearest end of a block.

    >>> running_sums([1, 2, 3], (), 0), running_sums([1, 2, 3, 4, 5], [11, 4], 4)
    ([1, 3, 6], [1, 3, 7, 11, 15])
    """
    if not block:
        return list(itertools.accumulate(cells))
    ends = [0, *itertools.accumulate(blocks)]
    sums = []
    for number, start in enumerate(range(0, len(cells), block)):
        own = cells[start : start + block]
        half = len(own) // 2
        for place in range(1, len(own) + 1):
            if place <= half:
                sums.append(ends[number] + sum(own[:place]))
            else:
                behind = sum(own[place:])
                sums.append(ends[number + 1] - behind)
    return sums


def in_order(numbers: Sequence[int]) -> list[int]:
    """Return numbers that rise, no further from any rising numbers than the given ones are.

    >>> in_order([3, 1, 6, 4, 9])
    [2, 2, 5, 5, 9]
    """
    # Both the largest so far and the least from here on are as near: so is what lies between.
    above = itertools.accumulate(numbers, max)
    from_end = [*itertools.accumulate(reversed(numbers), min)]
    below = from_end[::-1]
    pairs = zip(above, below, strict=True)
    return [(high + low) // 2 for high, low in pairs]
