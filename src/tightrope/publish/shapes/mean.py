"""Means of a column, and the sums and counts that the same draws give."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.intervals import (
    MISSING,
    Estimate,
    Number,
    number_parts,
    possible_ends,
    whole,
)
from tightrope.publish.noise.laws import NoiseLaw, PairLaw
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    Shape,
    scaled,
    sum_answer,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.shapes.sum import Sum
from tightrope.publish.sql_pieces import conjuncts, present
from tightrope.queries import Neighbours
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise


@dataclass(frozen=True)
class Mean(Sum, kind="mean"):
    """The mean of a column: a sum, and a count where who has a value is not public.

    Attributes
    ----------
    shows
        What is shown under each title: means, and the sums and counts that are drawn anyway.

    Examples
    --------
    >>> from tightrope.publish.facts import Column, Table
    >>> from tightrope.queries import Neighbours
    >>> score = Column("score", "integer", bounds=(0, 5))
    >>> mean = Mean(Table("people", 10, Neighbours.EITHER), column=score)
    >>> mean.answers([(31, 9, 9)])
    [[33], [9]]
    """

    shows: tuple[str, ...] = ("mean",)

    absorbs = True
    aggregate = exp.Avg

    @classmethod
    def keeps_its_graph(cls, fields: Parsed) -> bool:
        """Take a mean with an answer graph of the user's own for any value."""
        return False

    @property
    def is_divided(self) -> bool:
        """Whether a mean needs a count: who has a value is not known without the data."""
        # With everybody present and a value for each, the count is public: only the sum is drawn.
        return not (self.is_fixed and self.named_column.complete)

    @property
    def centre(self) -> int:
        """What a mean takes from each value, so that one person moves its sum less.

        Where the sum over exactly the declared people is shown too, that is what a missing value
        adds: then the sum needs no count.
        """
        if not self.is_divided:
            return 0
        shows_whole_sum = self.is_fixed and Sum.kind in self.shows
        # The middle of the bounds halves the most that one person adds to the sum.
        return self.missing if shows_whole_sum else sum(self.bounds) // 2

    @property
    def answered(self) -> int:
        """How many groups have a number: where counts are shown, everybody else has one."""
        has_counts = self.axes and Count.kind in self.shows
        return len(self.groups if has_counts else self.cells)

    @property
    def covers_everybody(self) -> bool:
        """Whether everybody is in the count, which is of those with a value."""
        return super().covers_everybody and self.named_column.complete

    @property
    def counted(self) -> str:
        """What its counts are of: rows with a value."""
        return f"count of values of {self.named_column.name}"

    @property
    def is_pair(self) -> bool:
        """Whether sum and count are one draw: people only come and go.

        No finer noise is proved for a pair, so what may be sharpened is drawn as two numbers.
        """
        comes_and_goes = self.table.neighbours is Neighbours.ADD_REMOVE
        return self.is_divided and comes_and_goes and not self.can_sharpen

    @property
    def draws(self) -> tuple[Draw, ...]:
        """A sum, and where it is divided a count; a pair of both where people come and go."""
        if self.is_pair:
            return (self.pair_draw(),)
        draws = [self.sum_draw()]
        if self.is_divided:
            by_cell = self.counts_by_cell
            draws.append(self.cell_count_draw() if by_cell else self.count_draw())
        return tuple(map(self.drawn_as, draws))

    @property
    def counts_by_cell(self) -> bool:
        """Whether each group has a count with noise of its own, so that it can be sharpened."""
        return bool(self.axes) and self.can_sharpen

    @property
    def has_others(self) -> bool:
        """Whether everybody else has a count: only where the counts of groups are one draw."""
        return super().has_others and not self.counts_by_cell

    def cell_count_draw(self) -> Draw:
        """Return the query of a count for each group, with noise of its own.

        The counts of all groups together are one draw, for which no finer noise is proved.
        """
        near = self.row_neighbours
        rows = self.rows_per_person
        most = self.table.needed_population() * rows
        # Whoever changes leaves one group and enters another: a step in each, for every row.
        width = rows * (2 if near.allows_change else 1)
        words = f"the {self.counted}{self.in_each_group}"
        return Draw(
            f"count({most})", near, self.cell_count, width, most=most, words=words
        )

    def pair_draw(self) -> Draw:
        r"""Return the query of the sum and the count together, for each group.

        Who comes with a value x moves them by (x, 1). Less the middle of the bounds, and in units
        of half their width, the sum moves by at most 1 as well, to either side: the square of
        ``counts(m,2)`` is the convex hull of these steps [Kulesza, Suresh and Wang, 2024]. A
        rounded sum moves no further, because 1 is a whole number. Both are put far from the
        ends, so that noise is hardly ever held there.
        """
        rows = self.rows_per_person
        most = self.table.needed_population() * rows
        times = self.cell_count if self.axes else 1
        text = f"counts({2 * most},2)"
        # Both coordinates move by at most 1 in a step: change-one on a square covers add-remove.
        name = self.named_column.name
        both = f"the sum and the count of values of {name}{self.in_each_group}"
        near = Neighbours.CHANGE_ONE
        return Draw(
            text, near, times, rows, offset=-most, words=f"{both} (counted in steps)"
        )

    @property
    def draw_shares(self) -> tuple[Fraction, ...]:
        """Two thirds of ε for the sum, one for the count.

        A mean's error is the sum's plus the count's times its distance from the centre of the
        bounds, which is about a quarter of their width: that is near the best. Where the sum is
        shown too, and is not that of all, its error has the count's times the centre.
        """
        sum_by_count = Sum.kind in self.shows and not self.is_fixed
        if len(self.draws) == 1 or sum_by_count:
            return super().draw_shares
        return Fraction(2, 3), Fraction(1, 3)

    def absorb(self, other: Shape) -> Shape | None:
        """Return the mean with a sum, a count or a mean of the same rows that it gives too."""
        same = ("table", "axes", "part", "people")
        if any(getattr(self, name) != getattr(other, name) for name in same):
            return None
        if not self._tells(other):
            return None
        titles = self.titles + other.titles
        return replace(self, titles=titles, shows=(*self.shows, other.kind))

    def _tells(self, other: Shape) -> bool:
        if other.kind in (Sum.kind, Mean.kind):
            return self.column == other.column and self.where == other.where
        if other.kind != Count.kind or not self.is_divided:
            return False
        column = self.named_column
        # COUNT(column) counts rows with a value, which is what the mean is divided by.
        own = conjuncts(self.where)
        among_them = own | {present(column.name)} == conjuncts(other.where)
        return among_them or (column.complete and own == conjuncts(other.where))

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the sums, and the counts that they are divided by."""
        numbers = self.cell_numbers(rows)
        if self.is_pair:
            return [[self._pair(total, present) for total, present, _ in numbers]]
        sums = self.sum_answers(numbers)
        if not self.is_divided:
            return [sums]
        _, present, own = zip(*numbers, strict=True)
        if self.counts_by_cell:
            # Held to the declared population, so that every table has an answer; that moves no
            # count by more than before.
            most = self.cell_count_draw().most
            return [sums, [min(size, most) for size in present]]
        if self.axes:
            return [sums, [self.groups_answer(present)]]
        people = self.table.needed_population()
        count = sum_answer(self.draws[1], present[0], own[0], people)
        return [sums, [count]]

    def _pair(self, total: int, present: int) -> tuple[int, int]:
        """Return a sum and a count as an answer of their query, however many rows there are."""
        most = -self.draws[0].offset
        middle, half = middle_and_half(self.bounds)
        # Rounded to the nearest unit: ⌊x + 1/2⌋, within 1/2 of the sum.
        halves = (total - middle * present) / half
        units = math.floor(halves + Fraction(1, 2))
        # The count is put in the middle of its range, away from both ends.
        around_zero = min(max(units, -most), most)
        return around_zero + most, min(present, most) + most // 2

    @property
    def reading(self) -> Reading:
        """How outputs become means, sums and counts."""
        return replace(super().reading, shows=self.shows)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the numbers that are shown of each group."""
        reading = drawn.reading
        if len(drawn.noises) == 2:
            return drawn.by_name(_quotients(drawn))
        if isinstance(drawn.outputs[0], tuple):
            pairs = (PairNumbers.of(drawn, pair) for pair in drawn.outputs)
            return drawn.by_name(pair.numbers() for pair in pairs)
        step = reading.step
        shares = {cls.kind: step / reading.people}
        scales = [shares.get(kind, step) for kind in reading.shows]
        sums = (drawn.numbers(output)[0] for output in drawn.outputs)
        return drawn.by_name(
            tuple(scaled(total, reading.offset, scale) for scale in scales)
            for total in sums
        )

    @property
    def error_is_known(self) -> bool:
        """Whether the error needs no count of the data."""
        return not self.is_divided

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each number; that of a mean is for a group of equal size."""
        total = noises[0].error(confidence)[0]
        people = self.group_people
        if not self.is_divided:
            return self.usual_errors(total * self.step)
        if self.is_pair:
            return self._pair_errors(noises[0], confidence)
        # Both the sum and the count keep their errors with the confidence, by Bonferroni.
        each = 1 - (1 - confidence) / 2
        both = noises[0].error(each)[0]
        count = noises[1].error(each)[0]
        # The count that is left in the worst case; the mean's error is top/left.
        (low, high), left = self.bounds, people - count
        # A mean is at most as far from the centre of the bounds as they are.
        far = max(high - self.centre, self.centre - low)
        joint = JointNoise.of(noises, confidence)
        top: Number = both + far * count
        whole_sum: Number = both + abs(self.centre) * count
        if joint is not None:
            top = replace(joint, level=each).width(far)
            whole_sum = joint.width(self.centre)
        if self.is_fixed:
            whole_sum = total
        widest = Fraction(high - low)
        # A mean cannot be off by more than the width of the bounds.
        mean = min(Fraction(top) / left, widest) if left > 0 else widest
        known = {self.kind: mean * self.step, Sum.kind: whole_sum * self.step}
        counted = Fraction(noises[1].error(confidence)[0])
        return tuple(Fraction(known.get(kind, counted)) for kind in self.shows)

    def _pair_errors(self, noise: Noise, confidence: Fraction) -> tuple[Fraction, ...]:
        """Return the error of each number that a pair of sum and count gives."""
        law = noise.pair_law
        assert law is not None
        middle, half = middle_and_half(self.bounds)
        # Both the quotient's top and the count keep their errors with the confidence.
        each = 1 - (1 - confidence) / 2
        left = self.group_people - noise.error(each)[1]
        mean = 2 * half
        if left > 0:
            # A mean is at most half the width of the bounds from their middle.
            # |S - tN| ≤ width at |t| = 1, which bounds all t within the bounds.
            law_width = law.widest(Fraction(1), each, ROUNDING)
            mean = min(law_width * half / left, mean)
        # Uncentred sum = half·S + middle·N, so its noise is half·(S + (middle/half)·N).
        total = law.width(middle / half, confidence, ROUNDING) * half
        known = {self.kind: mean * self.step, Sum.kind: total * self.step}
        counted = Fraction(noise.error(confidence)[1])
        return tuple(known.get(kind, counted) for kind in self.shows)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say the error of each number; of a mean also for how many people."""
        about = f" for {self.group_people:,} people" if self.is_divided else ""
        share = f"({float(confidence) * 100:.4g} %)"
        errors = self.errors(noises, confidence)
        return {
            title: f"± {bound_text(error)}{about if kind == self.kind else ''} {share}"
            for title, kind, error in zip(self.titles, self.shows, errors, strict=True)
        }

    def usual_errors(self, spread: Fraction) -> tuple[Fraction, ...]:
        """Return the errors from that of a sum."""
        return tuple(
            spread if kind == Sum.kind else spread / self.group_people
            for kind in self.shows
        )

    @property
    def plan_fields(self) -> dict[str, Any]:
        """The people that the error of a mean is for."""
        return {"people": self.group_people}

    def missing_notes(self) -> list[str]:
        """Say what is added for whoever has no value, where a sum is shown."""
        return super().missing_notes() if Sum.kind in self.shows else []


#: A sum is rounded to whole units: it is at most this far from its answer.
ROUNDING = Fraction(1, 2)


def middle_and_half(bounds: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """Return the middle of the bounds and half their width, which is above 0.

    >>> middle_and_half((0, 5))
    (Fraction(5, 2), Fraction(5, 2))
    """
    low, high = bounds
    middle = Fraction(low + high, 2)
    half = Fraction(max(high - low, 1), 2)
    return middle, half


@dataclass(frozen=True)
class PairNumbers:
    r"""What a sum and a count that were drawn together give.

    The sum is in units of half the width of the bounds, less their middle for each in the count.

    Attributes
    ----------
    reading
        How outputs become numbers.
    total, count
        The drawn sum and count.
    law
        The law of their noise, where neither was held at an end; else there are no intervals but
        what is possible.
    level
        The level of the intervals.
    """

    reading: Reading
    total: Fraction
    count: int
    law: PairLaw | None
    level: Fraction

    @classmethod
    def of(cls, drawn: Drawn, pair: tuple[int, int]) -> PairNumbers:
        """Return what one output of a release gives."""
        noise = drawn.noises[0]
        if noise is None:
            raise InputError("a mean without its mechanism has no interval")
        law = noise.pair_law
        # An output at an end was cut there: its noise law is unknown on one side.
        if law is None or not law.is_inside(pair):
            law = None
        most = -drawn.reading.offset
        total = Fraction(pair[0] - most)
        count = pair[1] - most // 2
        return cls(drawn.reading, total, count, law, drawn.level)

    def numbers(self) -> tuple[Estimate, ...]:
        """Return the numbers that are shown."""
        known = {
            Mean.kind: self.mean,
            Sum.kind: self.uncentred,
            Count.kind: self.number,
        }
        return tuple(known[kind]() for kind in self.reading.shows)

    def _width(self, factor: Fraction) -> Fraction:
        """Return what a rounded sum and any factor up to this one keep with the level."""
        assert self.law is not None
        return self.law.widest(factor, self.level, ROUNDING)

    def mean(self) -> Estimate:
        r"""Return the mean: those that sum and count do not contradict [Fieller, 1954].

        If the mean is :math:`c + t`, then :math:`S - tN` is noise alone, but for what was rounded,
        and its width grows with \|t\|. So the width at the largest t that is left bounds all of
        them; each round leaves fewer.
        """
        low = Fraction(-1)
        high = Fraction(1)
        # Within ±1: the mean lies within the bounds, whatever the noise did.
        mean = self.total / max(self.count, 1)
        best = min(max(mean, low), high)
        if self.law is not None and self.count > 0:
            for _ in range(3):
                width = self._width(_rounded_up(max(abs(low), abs(high))))
                # Shrink only: every t outside was contradicted by the wider width already.
                far = width / self.count
                low, high = possible_ends(mean, (mean - far, mean + far), low, high)
        middle, half = middle_and_half(self.reading.bounds)
        ends = (middle + half * x for x in (best, low, high))
        return _estimate(ends, self.reading.step)

    def uncentred(self) -> Estimate:
        """Return the sum itself: the middle of the bounds added for each in the count."""
        middle, half = middle_and_half(self.reading.bounds)
        value = half * self.total + middle * self.count
        # A sum of at most `most` values within the bounds: what is possible without noise.
        most = -self.reading.offset
        low = Fraction(most * min(self.reading.bounds[0], 0))
        high = Fraction(most * max(self.reading.bounds[1], 0))
        if self.law is not None:
            shift = middle / half
            width = half * self.law.width(shift, self.level, ROUNDING)
            ends = possible_ends(value, (value - width, value + width), low, high)
        else:
            ends = (low, high)
        held = min(max(value, low), high)
        return _estimate((held, *ends), self.reading.step)

    def number(self) -> Estimate:
        """Return the count, by the law of one number of the pair."""
        most = -self.reading.offset
        value = min(max(self.count, 0), most)
        if self.law is None:
            return Estimate(value, 0, most)
        count_width = self.law.width(Fraction(0), self.level, Fraction(0))
        width = math.floor(count_width)
        around = (self.count - width, self.count + width)
        return Estimate(value, *possible_ends(self.count, around, 0, most))


def _estimate(numbers: Iterable[Fraction], step: Fraction) -> Estimate:
    value, low, high = (whole(number * step) for number in numbers)
    return Estimate(value, low, high)


def _quotients(drawn: Drawn) -> Iterator[tuple[Estimate, ...]]:
    """Yield for each group the numbers that a sum and a count are drawn for."""
    if None in drawn.noises:
        raise InputError("a mean without its mechanisms has no interval")
    reading = drawn.reading
    answer = drawn.answer
    # Both the sum and the count are in their intervals with the level, by Bonferroni.
    both = replace(drawn, level=1 - (1 - drawn.level) / 2)
    estimates = (both.numbers(output)[0] for output in answer[0])
    sums = [scaled(estimate, reading.offset, 1) for estimate in estimates]
    # The counts of all groups are one output, or each is an output of its own.
    counts = [count for output in answer[1] for count in both.numbers(output, 1)]
    alone = [count for output in answer[1] for count in drawn.numbers(output, 1)]
    # Over all declared people the centre is added back for each of them.
    whole_offset = reading.offset + reading.centre * reading.people

    joint = JointNoise.of(drawn.noises, drawn.level)
    outputs = [part for output in answer[1] for part in number_parts(output)]

    def mean(place: int) -> Estimate:
        if joint is None:
            return quotient(reading, sums[place], counts[place])
        return joint.quotient(reading, answer[0][place], outputs[place])

    def uncentred(place: int) -> Estimate:
        if joint is None:
            return uncentred_sum(reading, sums[place], counts[place])
        return joint.uncentred(reading, answer[0][place], outputs[place])

    def number(kind: str, place: int) -> Estimate:
        if kind == Count.kind:
            return alone[place]
        # Everybody else has a count but no sum.
        if place >= len(sums):
            return MISSING
        if kind == Mean.kind:
            return scaled(mean(place), 0, reading.step)
        if reading.is_fixed:
            own = drawn.numbers(answer[0][place])[0]
            return scaled(own, whole_offset, reading.step)
        return scaled(uncentred(place), 0, reading.step)

    lines = len(counts) if Count.kind in reading.shows else len(sums)
    for place in range(lines):
        yield tuple(number(kind, place) for kind in reading.shows)


@dataclass(frozen=True)
class JointNoise:
    """The noise of a centred sum and of its count together, where each has one law."""

    total: NoiseLaw
    count: NoiseLaw
    level: Fraction

    @classmethod
    def of(cls, noises: Sequence[Noise | None], level: Fraction) -> JointNoise | None:
        """Return it for the noise of a sum and of a count, where both have a law."""
        laws = [None if noise is None else noise.law for noise in noises]
        if len(laws) != 2 or laws[0] is None or laws[1] is None:
            return None
        return cls(laws[0], laws[1], level)

    def width(self, factor: Fraction | int) -> int:
        """Return what the sum and a factor times the count keep together with the level."""
        return self.total.joint_width(self.count, Fraction(factor), self.level)

    def uncentred(self, reading: Reading, total: int, count: Fraction) -> Estimate:
        """Return the sum itself: the centred one and the centre for each in the count.

        The noise before it was held at the ends is within the width. So where an output is at
        an end, the side on which it was cut off is open: it goes as far as sums go.
        """
        centre = reading.centre
        value = total + reading.offset + centre * count
        width = self.width(centre)
        low, high = reading.bounds
        most = self.count.ends[1]
        # With a negative centre, a count that is too small makes the sum too large.
        ends = self.count.ends if centre >= 0 else self.count.ends[::-1]
        is_cut = [
            # An output equal to an end may stand for anything beyond it.
            total == self.total.ends[side] or (centre != 0 and count == ends[side])
            for side in (0, 1)
        ]
        least = most * min(low, 0) if is_cut[0] else value - width
        largest = most * max(high, 0) if is_cut[1] else value + width
        return Estimate(whole(value), whole(least), whole(largest))

    def quotient(self, reading: Reading, total: int, count: Fraction) -> Estimate:
        r"""Return a mean: those that the sum and the count do not contradict [Fieller, 1954].

        If the mean is :math:`c + t`, then :math:`S - tN` is noise alone, and its width grows with
        \|t\|. So the width at the largest t that is left bounds all of them; each round leaves
        fewer. Between whole numbers a window may hold one of them less: one step is added.
        """
        low = Fraction(reading.bounds[0] - reading.centre)
        high = Fraction(reading.bounds[1] - reading.centre)
        sum_of = Fraction(total + reading.offset)
        mean = sum_of / max(count, Fraction(1))
        middle = min(max(mean, low), high)
        is_cut = not (self.total.is_inside(total) and self.count.is_inside(int(count)))
        if not is_cut:
            for _ in range(3):
                # One more for windows between whole numbers.
                farthest = _rounded_up(max(abs(low), abs(high)))
                far = (self.width(farthest) + 1) / count
                low, high = possible_ends(mean, (mean - far, mean + far), low, high)
        ends = (middle, low, high)
        value, least, largest = (whole(reading.centre + x) for x in ends)
        return Estimate(value, least, largest)


def _rounded_up(number: Fraction) -> Fraction:
    """Return a number with few digits that is not smaller: widths of those are kept."""
    return Fraction(math.ceil(number * 64), 64)


def quotient(reading: Reading, total: Estimate, count: Estimate) -> Estimate:
    """Return a mean and its interval from those of a sum and a count; both within the bounds."""
    low, high = reading.bounds

    def mean(top: Any, bottom: Any) -> Fraction:
        centred: Fraction = Fraction(top) / bottom
        return centred + reading.centre

    found = mean(total.value, max(count.value, 1))
    value = whole(min(max(found, Fraction(low)), Fraction(high)))
    if not count.low:
        # It may be nobody at all: every mean within the bounds is possible.
        return Estimate(value, low, high)
    # The quotient is monotone in each argument: its extremes are at the four corners.
    ends = [
        mean(top, end)
        for top in (total.low, total.high)
        for end in (count.low, count.high)
    ]
    least, most = possible_ends(found, (min(ends), max(ends)), low, high)
    return Estimate(value, whole(least), whole(most))


def uncentred_sum(reading: Reading, total: Estimate, count: Estimate) -> Estimate:
    """Return a sum and its interval from those of the centred sum and of the count."""
    # With a negative centre a larger count makes the sum smaller.
    ends = (count.low, count.high) if reading.centre >= 0 else (count.high, count.low)
    pairs: Any = zip(
        (total.value, total.low, total.high), (count.value, *ends), strict=True
    )
    value, low, high = (whole(x + reading.centre * n) for x, n in pairs)
    return Estimate(value, low, high)
