r"""Sums of products of one or two columns: what variances, covariances and slopes are made of.

With :math:`u = x - c` and :math:`v = y - d`, measured from the centres of the bounds, the sums
:math:`\sum u^i v^j` for :math:`i + j \le 2` and the number of rows are drawn together, each
with a share of ε. A product is measured from the centre of its own range, so that one person moves
its sum by half of that range; the count puts the centre back. What is computed from them is
arithmetic on published numbers (:class:`~tightrope.publish.arithmetic.Covariance`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Table
from tightrope.publish.intervals import Estimate
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Reading,
    SelectParts,
    clamped,
    number_of,
    scaled,
    sum_answer,
)
from tightrope.publish.shapes.sum import Sum
from tightrope.publish.sql_pieces import ConditionReader, all_of, present

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise

#: The exponents of both columns in a product; (0, 0) is the number of rows.
Power = tuple[int, int]
#: A sum of so many rows as there may be people (10^9) stays below 2^63.
MOST_PRODUCT = 10**9


@dataclass(frozen=True)
class Moments(Sum, kind="moments"):
    """Sums of products of columns, measured from the centres of their bounds.

    Attributes
    ----------
    other
        The second column, if there is one.
    powers
        What is summed, for each title.
    """

    other: Column | None = None
    powers: tuple[Power, ...] = ()

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept no target by itself: sums of products are parts of a variance."""
        return None

    @classmethod
    def gather(cls, parts: SelectParts, table: Table) -> list[Parsed]:
        """Return what is asked, with sums over the same rows and columns drawn together."""
        gathered: list[Parsed] = []
        for fields in parts.asked:
            if fields["shape"] is not cls:
                gathered.append(fields)
                continue
            # Same rows, same columns: one count serves all of them.
            same = ("shape", "column", "other", "condition")
            known = next(
                (one for one in gathered
                 if all(one.get(name) == fields.get(name) for name in same)), None)  # fmt: skip
            if known is None:
                gathered.append(dict(fields))
            else:
                known["powers"] += fields["powers"]
                known["titles"] += fields["titles"]
        return gathered

    # -- columns and their products ---------------------------------------------------------

    @property
    def factors(self) -> tuple[Column, ...]:
        """The columns."""
        first = self.named_column
        return (first,) if self.other is None else (first, self.other)

    @property
    def is_divided(self) -> bool:
        """Whether a count is drawn: who has all values is not known without the data."""
        complete = all(column.complete for column in self.factors)
        return not (self.is_fixed and complete)

    @property
    def covers_everybody(self) -> bool:
        """Whether everybody is in the count, which is of those with all values."""
        return super().covers_everybody and all(x.complete for x in self.factors)

    @property
    def counted(self) -> str:
        """What its counts are of: rows with all values."""
        return "count of rows with all values"

    @property
    def sums(self) -> tuple[Power, ...]:
        """The sums that are drawn, without the count."""
        return tuple(power for power in self.powers if power != (0, 0))

    def person_values(self, power: Power) -> tuple[int, int]:
        """Return the least and the most that one row adds to a sum."""
        low, high = product_range(self.factors, power)
        centre = product_centre(self.factors, power)
        if not self.is_divided:
            return low - centre, high - centre
        rows = 1 if self.axes else self.rows_per_person
        # Rows without a value add 0, so the range must contain 0.
        lowest = min(low - centre, 0)
        highest = max(high - centre, 0)
        return rows * lowest, rows * highest

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One sum for each product, for each group, and where it is not known the count."""
        sums = tuple(
            self.draw_between(*self.person_values(power), self._summed(power))
            for power in self.sums
        )
        if not self.is_divided:
            return sums
        return (*sums, self.count_draw())

    def _summed(self, power: Power) -> str:
        """Say which sum it is."""
        factors = [
            column.name
            for column, exponent in zip(self.factors, power, strict=False)
            for _ in range(exponent)
        ]
        return f"the centred sum of {' · '.join(factors)}"

    @property
    def can_sharpen(self) -> bool:
        """Never: the sums of products are staircases, and finer ones do not derive to them."""
        return False

    @property
    def draw_shares(self) -> tuple[Fraction, ...]:
        """Twice as much of ε for products as for plain sums and the count.

        Near the centre of the bounds, where means are, a variance hardly depends on the sums.
        """
        weights = [2 if sum(power) == 2 else 1 for power in self.sums]
        weights += [1] * self.is_divided
        return tuple(Fraction(weight, sum(weights)) for weight in weights)

    # -- the compiled query -----------------------------------------------------------------

    def _product(self, power: Power) -> Any:
        product: Any = None
        for column, exponent in zip(self.factors, power, strict=False):
            low, high = column_range(column)
            # A missing value counts as the allowed value nearest to 0.
            nearest = exp.convert(min(max(0, low), high))
            value = clamped(column, (low, high), nearest)
            # Centred before multiplying: |x - c| is at most half the width, so products stay small.
            middle = exp.convert((low + high) // 2)
            centred = exp.paren(value - middle)
            for _ in range(exponent):
                product = centred if product is None else product * centred.copy()
        return product

    def _has_values(self) -> Any:
        return all_of([present(column.name) for column in self.factors])

    def targets(self) -> list[Any]:
        """Return the sums, how many rows have all values, and how many people there are."""
        zero = exp.convert(0)
        totals = []
        for power in self.sums:
            value = self._product(power)
            if self.is_divided:
                value = exp.case().when(self._has_values(), value).else_(zero.copy())
            total = exp.Sum(this=value)
            totals.append(exp.Coalesce(this=total, expressions=[zero]))
        return [*totals, number_of(self._has_values()), self.people_count()]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the centred sums of each group, and the counts."""
        numbers = self.cell_numbers(rows)
        per_person = self.rows_per_person if self.axes else 1
        people = self.table.needed_population() * per_person
        answers: list[list[Hashable]] = []
        for place, (power, draw) in enumerate(zip(self.sums, self.draws, strict=False)):
            centre = product_centre(self.factors, power)
            mine: list[Hashable] = []
            for *totals, having, own in numbers:
                rows_added = having if self.is_divided else own
                among = having if per_person > 1 else own
                # The centre is subtracted once for each row that was added.
                total = totals[place] - centre * rows_added
                mine.append(sum_answer(draw, total, among, people))
            answers.append(mine)
        if not self.is_divided:
            return answers
        sizes = [having for *_, having, _ in numbers]
        if self.axes:
            return [*answers, [self.groups_answer(sizes)]]
        count = sum_answer(self.draws[-1], sizes[0], numbers[0][-1], people)
        return [*answers, [count]]

    # -- numbers ----------------------------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """How outputs become sums and counts."""
        # That of sums has one step and one offset for all.
        return replace(
            super(Sum, self).reading,
            step=Fraction(1),
            people=self.table.needed_population(),
            is_fixed=not self.is_divided,
            offsets=tuple(draw.offset for draw in self.draws),
            powers=self.powers,
        )

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the sums and the count of each group."""
        reading = drawn.reading
        sums = [power for power in reading.powers if power != (0, 0)]
        counts: Sequence[Estimate] = [Estimate(*(reading.people,) * 3)]
        answer = drawn.answer
        if not reading.is_fixed:
            # The count's draw comes after those of the sums.
            counts = drawn.numbers(answer[-1][0], len(sums))
        lines = []
        for place in range(len(answer[0])):
            known = {(0, 0): counts[place]}
            for draw, power in enumerate(sums):
                number = drawn.numbers(answer[draw][place], draw)[0]
                known[power] = scaled(number, reading.offsets[draw], 1)
            lines.append(tuple(known[power] for power in reading.powers))
        return drawn.by_name(lines)

    # -- error and notes --------------------------------------------------------------------

    def errors(
        self, noises: Sequence[Noise], confidence: Fraction
    ) -> tuple[Fraction, ...]:
        """Return the error of each sum and of the count."""
        known = {(0, 0): Fraction(0)}
        if self.is_divided:
            margins = noises[-1].error(confidence)
            known[0, 0] = Fraction(margins[0])
        for power, noise in zip(self.sums, noises, strict=False):
            known[power] = Fraction(noise.error(confidence)[0])
        return tuple(known[power] for power in self.powers)

    @property
    def sensitivity(self) -> None:  # type: ignore[override]
        """Nothing: there is no usual noise for these sums together."""

    def notes(self) -> list[str]:
        """Say which rows count."""
        return self._row_notes("rows")


def column_range(column: Column) -> tuple[int, int]:
    """Return the bounds of a column in steps; refuse one without."""
    if column.type not in ("integer", "number") or column.value_range is None:
        raise InputError(
            f"a variance or a covariance of {column.name!r} needs its bounds: declare them in the "
            f"public facts ({column.name} = {{ bounds = [LOW, HIGH] }})"
        )
    return column.value_range


def product_range(columns: Sequence[Column], power: Power) -> tuple[int, int]:
    """Return the least and the largest product of columns, each from its centre.

    >>> age = Column("age", "integer", bounds=(0, 10))
    >>> product_range([age], (1, 0)), product_range([age], (2, 0))
    ((-5, 5), (0, 25))
    """
    ends = []
    for column, exponent in zip(columns, power, strict=False):
        low, high = column_range(column)
        centre = (low + high) // 2
        ends += [(low - centre, high - centre)] * exponent
    # The largest product is that of the largest distances from the centres.
    far = math.prod(max(-low, high) for low, high in ends)
    if far > MOST_PRODUCT:
        names = " and ".join(dict.fromkeys(column.name for column in columns))
        raise InputError(
            f"products of {names} are as large as {far}, more than {MOST_PRODUCT}, in steps: "
            "declare closer bounds, or a number with a larger step"
        )
    if len(ends) == 1:
        return ends[0]
    is_square = max(power) == 2
    # A square is not negative, which halves the range and the noise.
    return (0, far) if is_square else (-far, far)


def product_centre(columns: Sequence[Column], power: Power) -> int:
    """Return what is taken from each product before it is added up."""
    return sum(product_range(columns, power)) // 2
