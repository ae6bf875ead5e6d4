"""Quantiles of a column: medians, percentiles, and the 1 % and 99 % that stand for MIN and MAX."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.certify import Bracket, by_score
from tightrope.certify.theorems.tuples import MOST_RANKS
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.intervals import Estimate
from tightrope.publish.shapes.base import (
    USUAL,
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    Shape,
    clamped,
    scaled,
)
from tightrope.publish.shapes.mode import counts_by_value, score_draw
from tightrope.publish.sql_pieces import (
    EXTREME,
    ConditionReader,
    is_number,
    shown_sql,
)

_RANKS = {exp.Median: Fraction(1, 2), exp.Min: EXTREME, exp.Max: 1 - EXTREME}
#: Several quantiles of more rows than this are drawn one by one: sums over all rows take half a
#: gigabyte, and ranks are known to few of so many people anyway.
_MOST_ROWS = 1 << 18


@dataclass(frozen=True)
class Quantile(Shape, kind="quantile"):
    """The values that shares of the rows lie below.

    Attributes
    ----------
    ranks
        Which quantile each title shows.
    room
        Where one quantile is drawn with its interval: how far from it the ends are aimed at, and
        within how much of that they are as good as any other, in parts of a person.
    extremes
        Which of them stand for MIN and MAX.
    """

    ranks: tuple[Fraction, ...] = (Fraction(1, 2),)
    room: tuple[int, int] | None = None
    extremes: tuple[Fraction, ...] = ()

    needs_value = True
    uses_values = True

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept MEDIAN, QUANTILE, PERCENTILE_DISC and _CONT, MIN and MAX of a column."""
        column = node.this
        rank = None
        extremes: tuple[Fraction, ...] = ()
        if type(node) in _RANKS and not node.args.get("expressions"):
            rank = _RANKS[type(node)]
            extremes = () if isinstance(node, exp.Median) else (rank,)
        elif isinstance(node, exp.WithinGroup) and isinstance(
            node.expression, exp.Order
        ):
            asked = node.this
            order, *more = node.expression.expressions
            is_known = isinstance(asked, exp.PercentileDisc | exp.PercentileCont)
            if is_known and not more and not order.args.get("desc"):
                column = order.this
                rank = _rank(asked.this)
        elif isinstance(node, exp.Quantile):
            rank = _rank(node.args.get("quantile"))
        elif isinstance(node, exp.PercentileDisc | exp.PercentileCont):
            rank = _rank(node.args.get("expression"))
        if rank is None:
            return None
        known = {"ranks": (rank,), "extremes": extremes}
        return {"column": reader.column(column), **known}

    @classmethod
    def keeps_its_graph(cls, fields: Parsed) -> bool:
        """Take a quantile with an answer graph of the user's own for any value."""
        return False

    @property
    def drawn_ranks(self) -> tuple[Fraction, ...]:
        """The quantiles that are drawn, in order: one that is shown twice is drawn once."""
        return tuple(sorted(set(self.ranks)))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One draw for each group: of a value, of one with its interval, or of several."""
        low, high = self.bounds
        values = high - low + 1
        groups = self.cell_count
        if values > 1 << 20 or values * groups > 1 << 25:  # all of them are counted
            raise InputError(
                f"a quantile has at most {1 << 20} possible values, and {1 << 25} in all "
                f"groups; {self.named_column.name!r} has {values} in {groups}: declare it with a "
                "larger step"
            )
        written = (f"{x.numerator}/{x.denominator}" for x in self.drawn_ranks)
        ranks = ",".join(written)
        text = f"quantile({ranks},{values}"
        if len(self.drawn_ranks) > 1:
            text = f"quantiles({ranks},{values},{self._most_rows}"
        elif self.room is not None:
            offset, slack = self.room
            text = f"bracket({ranks},{values},{offset},{slack}"
        several = "quantiles" if len(self.drawn_ranks) > 1 else "quantile"
        words = f"the {several} of {self.named_column.name}{self.in_each_group}"
        return (score_draw(self, text, words),)

    @property
    def _most_rows(self) -> int:
        return self.table.needed_population() * self.rows_per_person

    def as_asked(self) -> Shape:
        """Draw a quantile with its interval."""
        return replace(self, room=(1, 1))

    def for_point(self) -> Shape | None:
        """Draw a quantile by itself: several of them have no intervals anyway."""
        return replace(self, room=None) if len(self.drawn_ranks) == 1 else None

    def absorb(self, other: Shape) -> Shape | None:
        """Return the shape with a quantile of the same rows, which is drawn together with it."""
        same = ("table", "axes", "part", "people", "where", "column")
        alike = all(getattr(self, name) == getattr(other, name) for name in same)
        if not isinstance(other, Quantile) or not alike:
            return None
        joint = replace(
            self,
            titles=self.titles + other.titles,
            ranks=self.ranks + other.ranks,
            extremes=self.extremes + other.extremes,
        )
        return joint if joint._is_one_draw else None

    @property
    def _is_one_draw(self) -> bool:
        """Whether there are few enough rows, ranks and parts of a person for one draw."""
        ranks = self.drawn_ranks
        # Ranks in units of 1/lcm of a person, which bounds the table of the joint draw.
        parts = math.lcm(*(rank.denominator for rank in ranks))
        is_limited = self.table.population is not None
        is_small = is_limited and self._most_rows <= _MOST_ROWS
        is_coarse = len(ranks) <= MOST_RANKS and parts <= 10_000
        return len(ranks) == 1 or (is_small and is_coarse)

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Shape:
        r"""Return the shape with the room that its interval needs.

        With the confidence no gap of the three is larger than g, in parts 1/D of a person. If the
        lower end l is not the least value, then :math:`D \#(<l) - (tn - A) - S \le g`. For
        :math:`A > g + S + D` this is :math:`\#(<l) < qn - 1`: whatever a database takes for the
        quantile of n values is at least l. The upper end is alike. The more room S the ends have,
        the less they disturb the quantile between them; with half of g the interval is half as
        wide again as without.
        """
        if self.room is None or len(self.drawn_ranks) > 1:
            return self
        (draw,) = self.draws
        each = level.scaled(Fraction(1, draw.width))
        made = by_score(draw.query, each, draw.neighbours)
        assert isinstance(made, Bracket)
        gap = made.promised_steps(confidence)
        if gap is None:
            raise InputError(
                f"{draw.words} has no interval at this confidence: give a larger ε"
            )
        slack = gap // 2 + 1
        # A > g + S + D, as derived above.
        room = gap + slack + made.question.denominator + 1
        return replace(self, room=(room, slack))

    def places(self) -> list[Any]:
        """Return the places on the axes, and the value within the bounds."""
        value = clamped(self.named_column, self.bounds, exp.null())
        return [*super().places(), value]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the counts of all values."""
        return [counts_by_value(self, rows, *self.bounds)]

    def output(self, drawn: Any) -> Any:
        """Return the value whose place was drawn, or all of them."""
        low = self.bounds[0]
        # Outputs are places in the range of values; the ledger holds the values.
        if isinstance(drawn, tuple):
            return tuple(low + place for place in drawn)
        return low + drawn

    @property
    def reading(self) -> Reading:
        """How values become the numbers of each title."""
        drawn = self.drawn_ranks
        places = tuple(drawn.index(rank) for rank in self.ranks)
        return replace(super().reading, places=places)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return for each group the values, with their interval or how near they are."""
        reading = drawn.reading
        noise = drawn.noises[0]
        note = drawn.note()
        several = max(reading.places) > 0

        def numbers(output: Any) -> list[Estimate]:
            if several:
                return [Estimate(output[place], note=note) for place in reading.places]
            if isinstance(output, tuple):
                low, value, high = output
                # The three are drawn independently given a level, so they may come in any order.
                ends = (min(low, value), max(high, value))
                return [Estimate(value, *ends if noise else ())] * len(reading.places)
            return [Estimate(output, note=note)] * len(reading.places)

        return drawn.by_name(
            tuple(scaled(number, 0, reading.step) for number in numbers(output))
            for output in drawn.outputs
        )

    @property
    def error_is_known(self) -> bool:
        """How far values lie apart depends on the data."""
        return False

    def notes(self) -> list[str]:
        """Say what stands for MIN and MAX."""
        shares = [f"{float(100 * rank):g} %" for rank in sorted(set(self.extremes))]
        if not shares:
            return super().notes()
        return [
            *super().notes(),
            f"MIN and MAX are one person's value, which nothing private tells: published is the "
            f"{' and the '.join(shares)} quantile.",
        ]


def _rank(node: Any) -> Fraction:
    level = Fraction(0)
    if is_number(node):
        # Few digits keep the score, a whole number of parts of a person, small.
        level = Fraction(node.this).limit_denominator(10_000)
    if not 0 < level < 1:
        raise InputError(
            f"a quantile has one rank above 0 and below 1, got {shown_sql(node)}: ask for several "
            "as columns beside each other, which are drawn together"
        )
    return level
