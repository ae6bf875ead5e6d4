"""Counts, sums and means of groups that nobody declared: large ones are shown, with a δ."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.certify.make import encode_label
from tightrope.epsilon import enclosed
from tightrope.errors import InputError
from tightrope.publish.axes import needs_values
from tightrope.publish.facts import Column, Table, Value
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
    clamped,
    number_of,
    scaled,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.shapes.mean import Mean, quotient, uncentred_sum
from tightrope.publish.shapes.sum import Sum
from tightrope.publish.sql_pieces import all_of, conjuncts, present, quoted
from tightrope.queries import Neighbours
from tightrope.texts import bound_text

if TYPE_CHECKING:
    from tightrope.epsilon import Epsilon
    from tightrope.publish.noise import Noise


@dataclass(frozen=True)
class FoundGroups(Shape, kind="groups that nobody declared"):
    r"""A count for each value of a column whose values are not declared.

    Attributes
    ----------
    delta
        The δ of all groups together.
    step_delta
        The δ of one step, once ε is known.

    Notes
    -----
    One person makes k steps: k rows, or k groups where people are counted; under ``change-one``
    and ``either`` k steps back and k steps forth. Each has ε/k, and in different groups also δ/k,
    since the draws of groups are independent. Rows may be in one group, though. Then its count
    moves k steps of :math:`(\varepsilon', \delta')` along its path, which together are

    .. math:: (k \varepsilon', \delta' \sum_{j<k} e^{j \varepsilon'}),

    and no other division of k rows among groups costs more.
    """

    delta: Fraction = Fraction(0)
    step_delta: Fraction = Fraction(0)

    needs_delta = True
    needs_value = True

    @classmethod
    def accept_select(cls, parts: SelectParts, table: Table) -> Parsed | None:
        """Accept a count, or sums and means of a column, by one without declared values."""
        unknown = [axis.column for axis in parts.axes if axis.column is not None]
        if not unknown:
            return None
        (grouping, *_) = unknown
        kinds = [fields["shape"] for fields in parts.asked]
        fields: Parsed | None = None
        if len(parts.axes) == 1 and kinds == [Count]:
            fields = {**parts.asked[0], "shape": cls, "column": grouping}
        elif len(parts.axes) == 1 and set(kinds) <= {Count, Sum, Mean}:
            fields = FoundMeans.fields_of(parts.asked, grouping)
        if fields is None:
            raise InputError(needs_values(grouping, table))
        return {**fields, "axes": ()}

    @property
    def grouping(self) -> Column:
        """The column whose values are the groups."""
        return self.named_column

    @property
    def most(self) -> int:
        """The largest possible count of a group."""
        rows = 1 if self.people else self.rows_per_person
        return self.table.needed_population() * rows

    @property
    def sides(self) -> int:
        """In how many ways one person changes groups: who changes leaves some and enters others."""
        return 1 + self.table.neighbours.allows_change

    @property
    def draws(self) -> tuple[Draw, ...]:
        """A count for each group, or nothing; in each of its groups a person comes or goes."""
        # Each step of a person: one row or group left, or one entered.
        width = self.sides * self.rows_per_person
        delta = self.step_delta or self.delta / width
        text = f"count({self.most})"
        near = Neighbours.ADD_REMOVE
        words = f"the {self.counted} in each group of {self.grouping.name}"
        return (Draw(text, near, times=0, width=width, delta=delta, words=words),)

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Shape:
        """Return the shape with the share of δ that a step has at this ε."""
        width = self.sides * self.rows_per_person
        share = self.draw_shares[0] / width
        steps, *_ = self.draw_deltas([level.scaled(share)])
        return replace(self, step_delta=self.delta / steps)

    def draw_deltas(self, levels: Sequence[Epsilon]) -> tuple[Fraction, ...]:
        """How many δ of one step all steps of one person cost together."""
        rows = self.rows_per_person
        if self.people or rows == 1:
            return (Fraction(self.sides * rows),)
        each, *_ = levels
        # An upper bound of e^ε', exactly enclosed: δ must never be too small.
        _, high = enclosed(each.multiple, each.base, power=True)
        # Rounded up: the δ of a step is a number of few digits in its file.
        # Geometric sum (r^k - 1)/(r - 1) with r = e^ε', the factor of δ' for k rows in one group.
        geometric = (high**rows - 1) / (high - 1)
        in_one_group = math.ceil(1000 * geometric)
        return (Fraction(self.sides * in_one_group, 1000),)

    @property
    def question(self) -> str:
        """Refuse: the groups are found by ``ask``."""
        _ = self.draws
        needed = needs_values(self.grouping, self.table)
        raise InputError(
            f"{needed}; or let 'tightrope ask … --delta D' find the groups"
        )

    def with_delta(self, delta: Fraction) -> Shape:
        """Return the shape with its δ."""
        return replace(self, delta=delta)

    def row_places(self) -> list[Any]:
        """Return the column itself: a cell, compared byte by byte."""
        return [quoted(self.grouping.name)]

    def draw(self, noises: Sequence[Noise], rows: Sequence[Sequence[Any]]) -> Any:
        """Draw a count for each group, of which 0 is not shown; none counts above the largest.

        They are in the order of their names: that of the database might tell of rows.
        """
        groups = found_groups(rows)
        sizes = [min(size, self.most) for size, *_ in groups.values()]
        drawn = zip(groups.items(), noises[0].draw_cells(sizes), strict=True)
        # An output of 0 means "not shown": the name itself is confidential below the threshold.
        return [
            [encode_label(name), output, *self.draw_more(noises[1:], *numbers)]
            for (name, numbers), output in drawn
            if output
        ]

    def draw_more(self, noises: Sequence[Noise], size: int, *numbers: int) -> list[Any]:
        """Draw what else is published of a group that is shown: nothing but its count."""
        return []

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Refuse: each group that is shown has an answer of its own."""
        raise InputError("groups that nobody declared have no list of answers")

    def groups_drawn(self, answer: Any) -> int:
        """How many groups were found and shown."""
        return max(len(answer), 1)

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return a count for each group that is shown."""
        return {(name,): drawn.numbers(output) for name, output in drawn.answer}

    @property
    def sensitivity(self) -> Fraction:
        """How many steps one person makes in all groups."""
        return Fraction(self.sides * self.rows_per_person)

    def notes(self) -> list[str]:
        """Say how many rows, or groups, of one person count."""
        return self._row_notes("groups" if self.people else "rows")


@dataclass(frozen=True)
class FoundMeans(FoundGroups, kind="sums of groups that nobody declared"):
    r"""Sums and means of a column for each value of another one whose values are not declared.

    Attributes
    ----------
    grouped
        The column whose values are the groups.
    shows
        What is shown under each title: counts, sums and means.

    Notes
    -----
    The count of a group is drawn as in :class:`FoundGroups`, with half of ε and all of δ. Where it
    is shown, the sum of the values less the middle of their bounds is drawn with the other half.
    Whether there is a second draw depends on the first output alone. So for each person
    :math:`(\varepsilon_1, \delta)` and :math:`(\varepsilon_2, 0)` add up, as of any two draws of
    which the second is chosen by the first. A row that comes or goes moves the centred sum by at
    most half the width of the bounds.

    The noise of the sum is independent of whether the group is shown. So where it is, the
    intervals of both hold with the probability that they state, given that it is; those of means
    and of sums that are not centred follow from both at once.
    """

    grouped: Column | None = None
    shows: tuple[str, ...] = (Mean.kind,)

    uses_values = True

    @classmethod
    def fields_of(cls, asked: Sequence[Parsed], grouping: Column) -> Parsed | None:
        """Return the fields for what is asked, if all of it is about the rows with one value."""
        sums = [fields for fields in asked if fields["shape"] is not Count]
        # Two counts have no column.
        column = sums[0]["column"] if sums else None
        if column is None or any(fields["column"] != column for fields in sums):
            return None
        chosen = conjuncts(sums[0].get("condition"))
        valued = chosen | {present(column.name)}
        for fields in asked:
            condition = conjuncts(fields.get("condition"))
            is_sum = fields["shape"] is not Count
            if fields.get("people") or condition not in (chosen, valued):
                return None
            # COUNT(*) counts the rows with a value only where everybody has one.
            if not is_sum and condition != valued and not column.complete:
                raise InputError(
                    f"beside sums of groups that nobody declared, rows with a value are counted: "
                    f"write COUNT({column.name}), or add complete = true to its facts if every "
                    "row has one"
                )
            if is_sum and condition != chosen:
                return None
        return {
            "shape": cls,
            "column": column,
            "grouped": grouping,
            "condition": all_of([sums[0].get("condition"), present(column.name)]),
            "titles": tuple(fields["titles"][0] for fields in asked),
            "shows": tuple(fields["shape"].kind for fields in asked),
        }

    @property
    def grouping(self) -> Column:
        """The column whose values are the groups."""
        assert self.grouped is not None
        return self.grouped

    @property
    def centre(self) -> int:
        """What is taken from each value before it is added up: the middle of the bounds."""
        return sum(self.bounds) // 2

    @property
    def draws(self) -> tuple[Draw, ...]:
        """A count for each group, or nothing, and where it is shown a sum."""
        (count,) = super().draws
        low, high = self.bounds
        step = max(high - self.centre, self.centre - low, 1)
        # A row moves the sum to either side, so it is put into the middle of its range.
        text = f"sum({2 * self.most},{step})"
        offset = -step * self.most
        near = Neighbours.EITHER
        most = 2 * step * self.most
        of_group = f"in each group of {self.grouping.name}"
        words = f"the sum of {self.named_column.name} {of_group}"
        return count, Draw(text, near, 0, count.width, offset, most, step, words=words)

    def draw_deltas(self, levels: Sequence[Epsilon]) -> tuple[Fraction, ...]:
        """How many δ of one step all steps of one person cost together: sums need none."""
        return (*super().draw_deltas(levels), Fraction(0))

    def person_conditions(self) -> list[Any]:
        """Return which rows of a person may count: those in a group, with a value."""
        return [*super().person_conditions(), present(self.grouping.name)]

    def targets(self) -> list[Any]:
        """Return how many values a group has, and their sum."""
        value = clamped(self.named_column, self.bounds, exp.convert(0))
        return [number_of(None), exp.Sum(this=value)]

    def draw_more(self, noises: Sequence[Noise], size: int, *numbers: int) -> list[Any]:
        """Draw the centred sum of a group that is shown."""
        (noise,) = noises
        (total,) = numbers
        _, draw = self.draws
        # Cut at the ends, which moves no two sums further apart.
        centred = total - self.centre * size - draw.offset
        answer = min(max(centred, 0), draw.most)
        return [encode_label(noise.draw(answer))]

    @property
    def reading(self) -> Reading:
        """How outputs become counts, sums and means."""
        return replace(
            super().reading,
            offset=self.draws[1].offset,
            centre=self.centre,
            bounds=self.bounds,
            shows=self.shows,
        )

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the numbers of each group that is shown."""
        reading = drawn.reading
        # Count and sum are in their intervals at once, by Bonferroni.
        both = replace(drawn, level=1 - (1 - drawn.level) / 2)

        def numbers(output: Any, total: Any) -> tuple[Estimate, ...]:
            (count,) = both.numbers(output)
            (centred,) = both.numbers(total, 1)
            parts = (reading, scaled(centred, reading.offset, 1), count)
            known = {
                Mean.kind: scaled(quotient(*parts), 0, reading.step),
                Sum.kind: scaled(uncentred_sum(*parts), 0, reading.step),
                Count.kind: drawn.numbers(output)[0],
            }
            return tuple(known[kind] for kind in reading.shows)

        if None in drawn.noises:
            raise InputError("a mean without its mechanisms has no interval")
        return {(name,): numbers(*outputs) for name, *outputs in drawn.answer}

    @property
    def error_is_known(self) -> bool:
        """The error of a mean depends on how many people a group has."""
        return False

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each number; that of a mean is for a group of all people."""
        each = 1 - (1 - confidence) / 2
        count = Fraction(noises[0].error(each)[0])
        total = Fraction(noises[1].error(each)[0])
        width = Fraction(self.bounds[1] - self.bounds[0])
        left = self.group_people - count
        far = Fraction(self.draws[1].step)
        mean = min((total + far * count) / left, width) if left > 0 else width
        known = {
            Mean.kind: mean * self.step,
            Sum.kind: (total + abs(self.centre) * count) * self.step,
            Count.kind: Fraction(noises[0].error(confidence)[0]),
        }
        return tuple(known[kind] for kind in self.shows)

    def error_texts(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> dict[str, str]:
        """Say the error of each number of a group that is always shown."""
        about = {Mean.kind: f" for a group of {self.group_people:,}"}
        share = f"({float(confidence) * 100:.4g} %)"
        errors = self.errors(noises, confidence)
        return {
            title: f"± {bound_text(error)}{about.get(kind, '')} {share}"
            for title, kind, error in zip(self.titles, self.shows, errors, strict=True)
        }


def found_groups(rows: Sequence[Sequence[Any]]) -> dict[Value, tuple[int, ...]]:
    r"""Return the groups that rows of a name and numbers are, in the order of their names.

    A missing name, and a text that is not UTF-8, not printable or longer than 200 characters, is
    no group: that depends on the name alone.

    >>> found_groups([(b"y", 3), (None, 9), ("x", 1), (b"\xff", 2), ("z\a", 5)])
    {'x': (1,), 'y': (3,)}
    """
    groups: dict[Value, tuple[int, ...]] = {}
    for cell, *numbers in rows:
        with contextlib.suppress(UnicodeDecodeError):
            is_raw = isinstance(cell, bytes | bytearray)
            name = bytes(cell).decode() if is_raw else cell
            is_number = isinstance(name, int)
            # Unprintable names could forge lines of the answer.
            if is_number or (name and name.isprintable() and len(name) <= 200):
                groups[name] = tuple(map(int, numbers))
    return dict(sorted(groups.items()))
