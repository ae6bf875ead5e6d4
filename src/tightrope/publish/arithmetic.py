r"""Arithmetic on published numbers: ratios, shares, differences, HAVING and ORDER BY.

Whatever is computed from published numbers is post-processing: it costs nothing and reveals
nothing more. A SELECT is taken apart into aggregates, which are published, and expressions over
them, which are evaluated twice: on the published numbers, and on a *box* that contains all true
numbers at once with the confidence (each in an interval whose share of the allowed failures is
1/k, for k numbers, by Bonferroni). So the interval of an expression contains its true value with
at least the confidence, whatever the expression is: no delta method.

Expressions are kept as quotients of linear forms,

.. math:: t = \frac{N(x)}{D(x)},\qquad \max_{x \in B} \frac{N(x)}{D(x)} \ge t
          \iff \max_{x \in B} N(x) - t D(x) \ge 0 \quad (D > 0 \text{ on } B),

where they are ones: a number that occurs twice (a share ``a / (a + b)``) is one number, and the
range over the box is exact. What is no such quotient is computed by interval arithmetic, whose
ranges may be wider than they must be, never narrower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from tightrope.publish.intervals import MISSING, Estimate, possible_ends, whole

#: What an expression is on published numbers: a number, a text, or nothing (NULL).
Result = Fraction | str | None
#: One published number of one line: the place of the line, and the title.
Variable = tuple[int, str]
#: The margin of a linear form of published numbers by the law of its error, where that is known.
MarginOf = Callable[[Mapping[Variable, Fraction]], Fraction | None]


class NoInterval(Exception):
    """No finite interval contains a value: a divisor may be 0, or a number has no interval."""


# -- ranges and quotients of linear forms ---------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """All numbers between two ends.

    >>> Range(1, 2) * Range(-3, 1), Range(2, 4) / Range(1, 2)
    (Range(low=-6, high=2), Range(low=Fraction(1, 1), high=Fraction(4, 1)))
    """

    low: Any
    high: Any

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def __sub__(self, other: Range) -> Range:
        return self + -other

    def __mul__(self, other: Range) -> Range:
        # A product is monotone in each factor, so its extremes are at the corners.
        others = (other.low, other.high)
        ends = [a * b for a in (self.low, self.high) for b in others]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range) -> Range:
        # Zero inside the divisor: the quotient is unbounded on any such range.
        if other.low <= 0 <= other.high:
            raise NoInterval("a divisor may be 0")
        low = Fraction(1) / other.high
        high = Fraction(1) / other.low
        return self * Range(low, high)

    def within(self, other: Range) -> Range:
        """Return the part of the range in another one; the nearest end where there is none."""
        # Both ends stay inside the other range, even where the two do not meet.
        low = min(max(self.low, other.low), other.high)
        return Range(low, max(min(self.high, other.high), low))

    def hull(self, other: Range) -> Range:
        """Return the least range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def mapped(self, rising: Callable[[Any], Any]) -> Range:
        """Return the range of a function that does not fall."""
        return Range(rising(self.low), rising(self.high))


@dataclass(frozen=True)
class Leaf:
    """What is known of a published number without the data.

    Attributes
    ----------
    title
        What it is called.
    is_whole
        Whether it is a whole number, for databases that divide those without a rest.
    is_count
        Whether it is a whole number of at least 0.
    rows
        Of a count: the conditions on the rows that it counts.
    """

    title: str
    is_whole: bool = False
    is_count: bool = False
    rows: frozenset[str] = frozenset()

    def is_part_of(self, other: Leaf) -> bool:
        """Whether a count is at most another one: its rows satisfy all conditions of that one.

        >>> women = Leaf("women", is_count=True, rows=frozenset({"sex = 'f'"}))
        >>> women.is_part_of(Leaf("all", is_count=True)), Leaf("all").is_part_of(women)
        (True, False)
        """
        # More conditions, fewer rows: {rows of self} ⊆ {rows of other}.
        return self.is_count and other.is_count and other.rows <= self.rows


@dataclass(frozen=True)
class Box:
    """A range for each published number, and what is known of the numbers."""

    ranges: Mapping[Variable, Range]
    leaves: Mapping[str, Leaf]

    def is_count(self, variable: Variable) -> bool:
        """Whether a number is a count."""
        return self.leaves[variable[1]].is_count


@dataclass(frozen=True)
class Linear:
    """A constant and multiples of published numbers."""

    constant: Fraction = Fraction(0)
    terms: Mapping[Variable, Fraction] = field(default_factory=dict)

    def plus(self, other: Linear, factor: Fraction = Fraction(1)) -> Linear:
        """Return the form plus a multiple of another one."""
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            known = terms.get(variable, Fraction(0))
            terms[variable] = known + factor * coefficient
        # Terms that cancel are dropped: a share then divides by what is left only.
        kept = {variable: c for variable, c in terms.items() if c}
        return Linear(self.constant + factor * other.constant, kept)

    def times(self, factor: Fraction) -> Linear:
        """Return a multiple of the form."""
        return Linear().plus(self, factor)

    def at(self, point: Mapping[Variable, Any]) -> Fraction:
        """Return the value at a point."""
        values = (c * point[variable] for variable, c in self.terms.items())
        return self.constant + sum(values, Fraction(0))

    def highest(self, box: Box) -> dict[Variable, Any]:
        """Return the vertex of the box where the form is largest."""
        return {
            # A linear form is monotone in each variable, so a vertex of the box maximises it.
            variable: box.ranges[variable].high if c > 0 else box.ranges[variable].low
            for variable, c in self.terms.items()
        }

    def range_on(self, box: Box) -> Range:
        """Return the exact range over a box."""
        falling = self.times(Fraction(-1))
        low = self.at(falling.highest(box))
        return Range(low, self.at(self.highest(box)))

    def is_count(self, box: Box) -> bool:
        """Whether the form is a sum of counts, so that it is 0 or at least 1."""
        plain = not self.constant and bool(self.terms)
        # Coefficients of 1 only: half a count may be 1/2, which is below 1.
        return plain and all(
            c == 1 and box.is_count(variable) for variable, c in self.terms.items()
        )


@dataclass(frozen=True)
class Quotient:
    """A quotient of two linear forms; the lower one is 1 for a linear form."""

    above: Linear
    below: Linear = Linear(Fraction(1))

    @property
    def is_linear(self) -> bool:
        """Whether nothing is divided by a published number."""
        return not self.below.terms

    def range_on(self, box: Box) -> Range:
        """Return the range over a box, and within what is known without the data."""
        divisor = self.below.range_on(box)
        # A linear form is divided by its constant divisor, whose range is a point.
        if self.is_linear:
            return self.above.range_on(box) / divisor
        if self.below.is_count(box) and divisor.low < 1:
            # Where the true count is 0 there is no quotient; else it is at least 1.
            divisor = Range(Fraction(1), max(Fraction(1), divisor.high))
            found = self.above.range_on(box) / divisor
        elif divisor.low <= 0 <= divisor.high:
            raise NoInterval("a divisor may be 0")
        else:
            found = self._extremes(box, divisor)
        known = self._known(box)
        return found if known is None else found.within(known)

    def _extremes(self, box: Box, divisor: Range) -> Range:
        """Return the least and the largest quotient over a box where the divisor is not 0."""
        # Dinkelbach needs D > 0: change both signs where D < 0.
        sign = Fraction(-1 if divisor.high < 0 else 1)
        above = self.above.times(sign)
        below = self.below.times(sign)
        # min N/D = -max(-N)/D.
        negative = above.times(Fraction(-1))
        lowest = -largest_quotient(negative, below, box)
        return Range(lowest, largest_quotient(above, below, box))

    def _known(self, box: Box) -> Range | None:
        r"""Return the range that a quotient of counts has, whatever they are, if it has one.

        With :math:`x \ge 0` the mediant :math:`\sum n_v x_v / \sum d_v x_v` is between the least
        and the largest :math:`n_v / d_v`. A count that is a part of another one, w = v + r, is
        put in its place.
        """
        variables = {*self.above.terms, *self.below.terms}
        # A constant breaks the mediant bound: (x + 1)/(x + y) may exceed 1.
        if self.above.constant or self.below.constant:
            return None
        if not all(map(box.is_count, variables)):
            return None
        below = dict(self.below.terms)
        missing = [variable for variable in self.above.terms if variable not in below]
        if len(missing) == 1:  # two parts of one count may overlap
            (part,) = missing
            leaf = box.leaves[part[1]]
            holding = [
                divisor
                for (place, title), divisor in self.below.terms.items()
                if place == part[0] and leaf.is_part_of(box.leaves[title])
            ]
            # w = v + r with r ≥ 0: v in the divisor weighs as much as the counts that contain it.
            below[part] = sum(holding, Fraction(0))
        # min d_v > 0, or the mediant is not between the ratios.
        if missing[1:] or min(below.values()) <= 0:
            return None
        ratios = [
            self.above.terms.get(v, Fraction(0)) / divisor
            for v, divisor in below.items()
        ]
        return Range(min(ratios), max(ratios))


def largest_quotient(above: Linear, below: Linear, box: Box) -> Fraction:
    r"""Return the maximum of N/D over a box where D > 0 [Dinkelbach, 1967].

    From a value t of the quotient, the vertex with the largest :math:`N - tD` has a larger
    quotient, unless that is 0: then t is the maximum. There are finitely many vertices.

    >>> box = Box({(0, "a"): Range(1, 3), (0, "b"): Range(2, 4)}, {})
    >>> a, b = (Linear(terms={(0, name): Fraction(1)}) for name in "ab")
    >>> largest_quotient(a, a.plus(b), box)
    Fraction(3, 5)
    """
    # Any corner is a start; this one tends to be near the maximum.
    lowest = below.times(Fraction(-1)).highest(box)
    corner = {**above.highest(box), **lowest}
    while True:
        quotient = above.at(corner) / below.at(corner)
        # F(t) = max N - tD is decreasing; the quotient is the maximum when F(t) = 0.
        form = above.plus(below, -quotient)
        better = {**corner, **form.highest(box)}
        if form.at(better) <= 0:
            return quotient
        corner = better


# -- the numbers that are published ---------------------------------------------------------------


@dataclass(frozen=True)
class PublishedLines:
    """The published numbers of all lines of an answer.

    Attributes
    ----------
    names
        What each line is grouped by, by the titles of the keys.
    numbers
        The published number and its interval, for each line and title.
    leaves
        What is known of the numbers, by their titles.
    left
        The places of the lines that HAVING leaves, which windows are over; ``None`` is all.
    """

    names: tuple[Mapping[str, Any], ...]
    numbers: Mapping[Variable, Estimate]
    leaves: Mapping[str, Leaf]
    left: tuple[int, ...] | None = None

    @cached_property
    def box(self) -> Box:
        """The interval of each number that has one."""
        ranges = {
            # All intervals hold at once by Bonferroni, which is what makes this a box.
            variable: Range(Fraction(number.low), Fraction(number.high))
            for variable, number in self.numbers.items()
            if number.low is not None and number.high is not None
        }
        return Box(ranges, self.leaves)

    def line(self, place: int) -> OutputLine:
        """Return one line."""
        return OutputLine(self, place)


@dataclass(frozen=True)
class OutputLine:
    """One line of an answer among all of them."""

    published: PublishedLines
    place: int

    @property
    def names(self) -> Mapping[str, Any]:
        """What the line is grouped by."""
        return self.published.names[self.place]

    @property
    def box(self) -> Box:
        """The intervals of all lines."""
        return self.published.box

    def alike(self, keys: Sequence[str], *, of_all: bool = False) -> list[OutputLine]:
        """Return the lines with the same names under some keys: those left, or of all lines."""
        left = None if of_all else self.published.left
        places = range(len(self.published.names)) if left is None else left
        lines = map(self.published.line, places)
        return [
            line
            for line in lines
            if all(line.names[key] == self.names[key] for key in keys)
        ]


# -- expressions ----------------------------------------------------------------------------------


class Expression:
    """What is computed from the published numbers of a line."""

    @property
    def is_whole(self) -> bool:
        """Whether the value is a whole number whatever the data is."""
        return False

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that this one is made of."""
        return ()

    def value(self, line: OutputLine) -> Result:
        """Return the value on the published numbers; ``None`` is NULL."""
        raise NotImplementedError

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return the expression as a quotient of linear forms, where it is one."""
        return None

    def range_on(self, line: OutputLine) -> Range:
        """Return a range of all values over the box."""
        quotient = self.quotient(line)
        if quotient is None:
            # No linear form and no rule of its own: nothing bounds the value.
            raise NoInterval("a number that it is made of has no interval")
        return quotient.range_on(line.box)

    def law_range(self, line: OutputLine, margin_of: MarginOf) -> Range | None:
        """Return the range by the exact law of the error, of a linear form of several numbers.

        A single number has that already, and of a quotient of noisy forms no law is known.
        """
        quotient = self.quotient(line)
        if quotient is None or not quotient.is_linear:
            return None
        form = quotient.above.times(1 / quotient.below.constant)
        known = line.published.numbers
        margin = margin_of(form.terms) if len(form.terms) > 1 else None
        if margin is None:
            return None
        middle = form.at({variable: known[variable].value for variable in form.terms})
        counts = all(c > 0 and line.box.is_count(v) for v, c in form.terms.items())
        # A sum of counts is not negative: cutting the interval there loses no coverage.
        least = form.constant if counts else None
        around = (middle - margin, middle + margin)
        return Range(*possible_ends(middle, around, least))

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether there may be no true value."""
        return any(part.may_be_null(line) for part in self.parts)

    def variables(self, line: OutputLine) -> set[Variable]:
        """Return the published numbers that the value depends on."""
        found: set[Variable] = set()
        return found.union(*(part.variables(line) for part in self.parts))

    def leaves(self) -> set[Leaf]:
        """Return the published numbers, whatever the line."""
        found: set[Leaf] = set()
        return found.union(*(part.leaves() for part in self.parts))


@dataclass(frozen=True)
class PublishedNumber(Expression):
    """A published number."""

    leaf: Leaf

    @property
    def is_whole(self) -> bool:
        """Whether the number is whole."""
        return self.leaf.is_whole

    def value(self, line: OutputLine) -> Result:
        """Return the published number, or the value that is most common."""
        # A line without this number, such as that of everybody else, is NULL in SQL.
        number = line.published.numbers.get((line.place, self.leaf.title), MISSING)
        if number == MISSING:
            return None
        is_text = isinstance(number.value, str)
        return number.value if is_text else Fraction(number.value)

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return the number as a linear form, if it has an interval."""
        variable = (line.place, self.leaf.title)
        if variable not in line.box.ranges:
            return None
        return Quotient(Linear(terms={variable: Fraction(1)}))

    def variables(self, line: OutputLine) -> set[Variable]:
        """Return the number itself."""
        return {(line.place, self.leaf.title)}

    def leaves(self) -> set[Leaf]:
        """Return the number itself."""
        return {self.leaf}


@dataclass(frozen=True)
class Constant(Expression):
    """A number, a text or NULL that the SQL names."""

    constant: Result
    has_point: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it is a number that is written without a point."""
        return not self.has_point

    def value(self, line: OutputLine) -> Result:
        """Return the constant."""
        return self.constant

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether it is NULL."""
        return self.constant is None

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return a number as a linear form."""
        if not isinstance(self.constant, Fraction):
            return None
        return Quotient(Linear(self.constant))


@dataclass(frozen=True)
class Key(Expression):
    """What a line is grouped by."""

    title: str

    def value(self, line: OutputLine) -> Result:
        """Return the name of the line's group."""
        name = line.names[self.title]
        # bool is an int in Python; as a name it is a word.
        is_number = isinstance(name, int) and not isinstance(name, bool)
        return Fraction(name) if is_number else None if name is None else str(name)

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return a number as a linear form: it is public."""
        value = self.value(line)
        return Quotient(Linear(value)) if isinstance(value, Fraction) else None


@dataclass(frozen=True)
class Operation(Expression):
    """A sum, a difference, a product or a quotient."""

    sign: str
    left: Expression
    right: Expression

    @property
    def is_whole(self) -> bool:
        """Whether both sides are whole and nothing is divided."""
        return self.sign != "/" and self.left.is_whole and self.right.is_whole

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both sides."""
        return self.left, self.right

    def value(self, line: OutputLine) -> Result:
        """Return the value; a quotient by 0 is NULL."""
        left = self.left.value(line)
        right = self.right.value(line)
        # NULL and texts make any arithmetic NULL, as in SQL.
        if not isinstance(left, Fraction) or not isinstance(right, Fraction):
            return None
        match self.sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
        return left / right if right else None

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return the operation on quotients of linear forms, where the result is one."""
        left = self.left.quotient(line)
        right = self.right.quotient(line)
        if left is None or right is None:
            return None
        if self.sign in "+-":
            sign = 1 if self.sign == "+" else -1
            return _added(left, right, Fraction(sign))
        if self.sign == "/":
            if right.above == Linear():
                raise NoInterval("it is divided by 0")
            # (a/b) / (c/d) = (a·d) / (b·c), where all but one form are constants
            right = Quotient(right.below, right.above)
        return _multiplied(left, right)

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether a divisor may be 0."""
        if super().may_be_null(line):
            return True
        if self.sign != "/":
            return False
        divisor = self.right.range_on(line)
        return bool(divisor.low <= 0 <= divisor.high)

    def range_on(self, line: OutputLine) -> Range:
        """Return the range: exact for a quotient of linear forms, else from those of its sides."""
        quotient = self.quotient(line)
        if quotient is not None:
            return quotient.range_on(line.box)
        left = self.left.range_on(line)
        right = self.right.range_on(line)
        match self.sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                # Interval arithmetic treats both factors as independent, so it may be wider than
                # needed.
                product = left * right
                # A square is not negative.
                is_square = self.left == self.right
                return (
                    Range(max(product.low, 0), product.high) if is_square else product
                )
        return left / right


def _added(left: Quotient, right: Quotient, sign: Fraction) -> Quotient | None:
    """Return a sum of quotients over one divisor: N/D + M/D, or N/D + a linear constant."""
    # Over one divisor the numerators add: a/n - b/n is exact although n is uncertain.
    if left.below == right.below:
        return Quotient(left.above.plus(right.above, sign), left.below)
    if not right.above.terms and right.is_linear:
        # N/D + c = (N + cD)/D keeps a single occurrence of every number.
        constant = sign * right.above.constant / right.below.constant
        return Quotient(left.above.plus(left.below, constant), left.below)
    if not left.above.terms and left.is_linear:
        constant = left.above.constant / left.below.constant
        return Quotient(
            right.above.times(sign).plus(right.below, constant), right.below
        )
    # Two linear forms: bring each to the divisor 1.
    if left.is_linear and right.is_linear:
        above = left.above.times(1 / left.below.constant)
        return Quotient(above.plus(right.above, sign / right.below.constant))
    return None


def _multiplied(left: Quotient, right: Quotient) -> Quotient | None:
    """Return a product of quotients, where it is one of linear forms."""
    above = _product(left.above, right.above)
    below = _product(left.below, right.below)
    if above is None or below is None:
        return None
    return Quotient(above, below)


def _product(left: Linear, right: Linear) -> Linear | None:
    if not left.terms:
        return right.times(left.constant)
    return left.times(right.constant) if not right.terms else None


@dataclass(frozen=True)
class Rising(Expression):
    """A function of one number that does not fall: round, floor, ceil, trunc, sqrt."""

    name: str
    part: Expression
    digits: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the result has no digits behind the point."""
        return self.name != "sqrt" and self.digits <= 0

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The number."""
        return (self.part,)

    def value(self, line: OutputLine) -> Result:
        """Return the function of the number."""
        number = self.part.value(line)
        if not isinstance(number, Fraction):
            return None
        if self.name == "sqrt":
            # The published value is rounded down; its interval is rounded outwards.
            return _root(number, up=False) if number >= 0 else None
        return self._stepped(number)

    def range_on(self, line: OutputLine) -> Range:
        """Return the range from that of the number."""
        return self._of(self.part.range_on(line))

    def law_range(self, line: OutputLine, margin_of: MarginOf) -> Range | None:
        """Return the range from that of the number."""
        inner = self.part.law_range(line, margin_of)
        return None if inner is None else self._of(inner)

    def _of(self, inner: Range) -> Range:
        if self.name != "sqrt":
            # A function that does not fall maps ends to ends.
            return inner.mapped(self._stepped)
        if inner.high < 0:
            raise NoInterval("it is the root of a negative number")
        low = _root(max(inner.low, 0), up=False)
        high = _root(inner.high, up=True)
        return Range(low, high)

    def _stepped(self, number: Any) -> Fraction:
        unit = Fraction(10) ** -self.digits
        steps = Fraction(number) / unit
        match self.name:
            case "floor":
                return math.floor(steps) * unit
            case "ceil":
                return math.ceil(steps) * unit
            case "trunc":
                return math.trunc(steps) * unit
        # SQL rounds halves away from 0.
        away = math.floor(abs(steps) + Fraction(1, 2)) * unit
        return away if steps >= 0 else -away


@dataclass(frozen=True)
class Held(Expression):
    """A number that is known to lie between two ends, and is held there.

    Noise may put what is computed outside: a share below 0, a variance below 0.
    """

    part: Expression
    ends: Range

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The number."""
        return (self.part,)

    def value(self, line: OutputLine) -> Result:
        """Return the nearest number between the ends."""
        number = self.part.value(line)
        if not isinstance(number, Fraction):
            return None
        from_low = max(number, Fraction(self.ends.low))
        return min(from_low, Fraction(self.ends.high))

    def range_on(self, line: OutputLine) -> Range:
        """Return the part of the range between the ends; all of it where there is no range."""
        try:
            return self._inside(self.part.range_on(line), line)
        except NoInterval:
            return self.ends

    def law_range(self, line: OutputLine, margin_of: MarginOf) -> Range | None:
        """Return the part of the range between the ends."""
        inner = self.part.law_range(line, margin_of)
        return None if inner is None else self._inside(inner, line)

    def _inside(self, found: Range, line: OutputLine) -> Range:
        """Return the part of a range between the ends, where the truth is."""
        number = self.part.value(line)
        around = (found.low, found.high)
        if isinstance(number, Fraction) and found.low <= number <= found.high:
            return Range(*possible_ends(number, around, self.ends.low, self.ends.high))
        return found.within(self.ends)


@dataclass(frozen=True)
class Covariance(Expression):
    r"""The covariance of two columns, from sums of them and of their products; or a variance.

    For any s and t, with means :math:`m_x, m_y`,

    .. math:: \operatorname{cov} = \frac1n \sum (x - s)(y - t) - (m_x - s)(m_y - t).

    At the published means the first term is a quotient of linear forms, whose range is exact, and
    the second is a product of two small errors: so the errors of the means hardly count, where
    :math:`S_{xy}/n - S_x S_y/n^2` would count them fully.
    """

    count: Expression
    first: Expression
    second: Expression
    products: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The number of rows and the sums."""
        return self.count, self.first, self.second, self.products

    def value(self, line: OutputLine) -> Result:
        """Return the covariance of the published sums."""
        count, first, second, products = (part.value(line) for part in self.parts)
        numbers = (count, first, second, products)
        if not all(isinstance(number, Fraction) for number in numbers) or not count:
            return None
        n, x, y, xy = (Fraction(number) for number in numbers if number is not None)
        # cov = Σxy/n - (Σx/n)(Σy/n).
        product_of_means = x / n * y / n
        return xy / n - product_of_means

    def range_on(self, line: OutputLine) -> Range:
        """Return the range by the formula at the published means."""
        # s and t may be any numbers: the identity holds, and these make the correction small.
        count = Fraction(self.count.value(line) or 1)
        first = Fraction(self.first.value(line) or 0)
        second = Fraction(self.second.value(line) or 0)
        s = Constant(first / count)
        t = Constant(second / count)

        def times(left: Expression, right: Expression) -> Expression:
            return Operation("*", left, right)

        def minus(left: Expression, right: Expression) -> Expression:
            return Operation("-", left, right)

        # Σ(x − s)(y − t) = Σxy − t Σx − s Σy + s t n
        around = minus(
            minus(self.products, times(t, self.first)), times(s, self.second)
        )
        total = Operation("+", around, times(times(s, t), self.count))
        main = Operation("/", total, self.count).range_on(line)
        first_error = minus(Operation("/", self.first, self.count), s)
        second_error = minus(Operation("/", self.second, self.count), t)
        # Of a variance the correction is a square.
        return main - times(first_error, second_error).range_on(line)


def _root(number: Any, up: bool, digits: int = 12) -> Fraction:
    """Return a square root to many digits, rounded down or up.

    >>> _root(Fraction(2), up=False) ** 2 <= 2 <= _root(Fraction(2), up=True) ** 2
    True
    """
    scale = 10**digits
    exact = Fraction(number) * scale**2
    # isqrt of the floor is the floor of the root, so the result is below or exact.
    root = math.isqrt(math.floor(exact))
    is_exact = root**2 == exact
    return Fraction(root + (up and not is_exact), scale)


@dataclass(frozen=True)
class Chosen(Expression):
    """The largest, the least, the first that is not NULL, or the absolute value."""

    name: str
    chosen_from: tuple[Expression, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all of them are whole."""
        return all(part.is_whole for part in self.chosen_from)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What is chosen from."""
        return self.chosen_from

    def value(self, line: OutputLine) -> Result:
        """Return the one that is chosen; NULL is left out."""
        values = [part.value(line) for part in self.parts]
        given = [value for value in values if value is not None]
        if self.name == "coalesce" or not given:
            # GREATEST and LEAST skip NULL, as in PostgreSQL, DuckDB and Spark.
            return given[0] if given else None
        numbers = [value for value in given if isinstance(value, Fraction)]
        return max(numbers) if self.name == "greatest" else min(numbers)

    def range_on(self, line: OutputLine) -> Range:
        """Return the range from those of the parts."""
        if self.name == "coalesce":
            return self._first_range(line)
        ranges = [part.range_on(line) for part in self.parts]
        best = max if self.name == "greatest" else min
        # max of ranges: [max of lows, max of highs], as max does not fall in any argument.
        low = best(x.low for x in ranges)
        high = best(x.high for x in ranges)
        return Range(low, high)

    def _first_range(self, line: OutputLine) -> Range:
        """Return a range of the parts up to the first that cannot be NULL."""
        found: Range | None = None
        for part in self.parts:
            if part == Constant(None):
                continue
            mine = part.range_on(line)
            # The true value may be any part up to here: take the hull.
            found = mine if found is None else found.hull(mine)
            if not part.may_be_null(line):
                break
        if found is None:
            raise NoInterval("it is NULL")
        return found

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether all parts may be NULL."""
        return all(part.may_be_null(line) for part in self.parts)

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return that of the first, where the others are not needed."""
        first = self.parts[0]
        is_first = self.name == "coalesce" and not first.may_be_null(line)
        return first.quotient(line) if is_first else None


@dataclass(frozen=True)
class NullIf(Expression):
    """A number, or NULL where it is another one."""

    part: Expression
    excluded: Expression

    @property
    def is_whole(self) -> bool:
        """Whether the number is whole."""
        return self.part.is_whole

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both."""
        return self.part, self.excluded

    def value(self, line: OutputLine) -> Result:
        """Return the number, or NULL."""
        value = self.part.value(line)
        return None if value == self.excluded.value(line) else value

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return that of the number: the interval is for where it is not NULL."""
        return self.part.quotient(line)

    def range_on(self, line: OutputLine) -> Range:
        """Return that of the number."""
        return self.part.range_on(line)

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether the number may be the excluded one."""
        # Equality is possible as soon as the two ranges meet.
        both = OutputComparison("=", self.part, self.excluded).possible(line)
        return True in both or self.part.may_be_null(line)


@dataclass(frozen=True)
class Case(Expression):
    """The first of several expressions whose condition holds for the published numbers."""

    branches: tuple[tuple[OutputCondition, Expression], ...]
    default: Expression = Constant(None)

    @property
    def is_whole(self) -> bool:
        """Whether all results are whole."""
        return all(result.is_whole for result in self.results)

    @property
    def results(self) -> tuple[Expression, ...]:
        """What it may be."""
        return (*(result for _, result in self.branches), self.default)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Results, and what the conditions compare."""
        compared = (part for test, _ in self.branches for part in test.parts)
        return (*self.results, *compared)

    def value(self, line: OutputLine) -> Result:
        """Return the first result whose condition holds."""
        for condition, result in self.branches:
            if condition.holds(line):
                return result.value(line)
        return self.default.value(line)

    def possible(self, line: OutputLine) -> list[Expression]:
        """Return the results that some numbers of the box lead to."""
        found = []
        for condition, result in self.branches:
            truths = condition.possible(line)
            if True in truths:
                found.append(result)
            # A condition that surely holds ends the search: later branches are unreachable.
            if truths == {True}:
                return found
        return [*found, self.default]

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether a result that is possible may be NULL."""
        return any(result.may_be_null(line) for result in self.possible(line))

    def range_on(self, line: OutputLine) -> Range:
        """Return a range of all results that are possible and not NULL."""
        numbers = [x for x in self.possible(line) if x != Constant(None)]
        if not numbers:
            raise NoInterval("it is NULL")
        first, *more = (result.range_on(line) for result in numbers)
        for other in more:
            first = first.hull(other)
        return first


@dataclass(frozen=True)
class Grouping(Expression):
    """Which columns of GROUP BY a line of several tables is a total over, as bits.

    >>> lines = PublishedLines(({"a": "x", "b": None},), {}, {})
    >>> Grouping(("a", "b")).value(lines.line(0))
    Fraction(1, 1)
    """

    keys: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Yes: it is a number of bits."""
        return True

    def value(self, line: OutputLine) -> Result:
        """Return the bits, that of the first column in front."""
        is_null = (line.names[key] is None for key in self.keys)
        bits = ["01"[null] for null in is_null]
        return Fraction(int("".join(bits), 2))

    def quotient(self, line: OutputLine) -> Quotient:
        """Return a constant: which table a line is in is public."""
        value = self.value(line)
        assert isinstance(value, Fraction)
        return Quotient(Linear(value))


@dataclass(frozen=True)
class WindowAggregate(Expression):
    """A sum, mean, least, largest or number of an expression over lines of the answer.

    It is over the lines that HAVING leaves, or over those of all groups (``of_all``).
    """

    name: str
    part: Expression
    keys: tuple[str, ...]
    of_all: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether whole numbers are added up or compared."""
        return self.name == "count" or (self.name != "avg" and self.part.is_whole)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What is taken together."""
        return (self.part,)

    def variables(self, line: OutputLine) -> set[Variable]:
        """Return the numbers of all lines that are taken together."""
        found: set[Variable] = set()
        parts = (self.part.variables(x) for x in self._lines(line))
        return found.union(*parts)

    def _lines(self, line: OutputLine) -> list[OutputLine]:
        lines = line.alike(self.keys, of_all=self.of_all)
        # NULL lines take no part, as in SQL aggregates.
        return [mate for mate in lines if self.part.value(mate) is not None]

    def value(self, line: OutputLine) -> Result:
        """Return the value on the published numbers of all lines."""
        values = (self.part.value(mate) for mate in self._lines(line))
        numbers = [value for value in values if isinstance(value, Fraction)]
        if self.name == "count":
            return Fraction(len(numbers))
        if not numbers:
            return None
        match self.name:
            case "min":
                return min(numbers)
            case "max":
                return max(numbers)
        total = sum(numbers, Fraction(0))
        return total / len(numbers) if self.name == "avg" else total

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return a sum or a mean of linear forms."""
        mates = self._lines(line)
        if self.name == "count":
            return Quotient(Linear(Fraction(len(mates))))
        if self.name not in ("sum", "avg"):
            return None
        total = Linear()
        for mate in mates:
            quotient = self.part.quotient(mate)
            if quotient is None or not quotient.is_linear:
                return None
            # A mean over lines stays one linear form: numbers that occur twice cancel exactly.
            total = total.plus(quotient.above, 1 / quotient.below.constant)
        many = len(mates) if self.name == "avg" else 1
        return Quotient(total, Linear(Fraction(max(many, 1))))

    def range_on(self, line: OutputLine) -> Range:
        """Return the range, from those of all lines where they are no linear forms."""
        quotient = self.quotient(line)
        if quotient is not None:
            return quotient.range_on(line.box)
        ranges = [self.part.range_on(mate) for mate in self._lines(line)]
        together: dict[str, Callable[[Iterable[Any]], Any]] = {"min": min, "max": max}
        joined = together.get(self.name, sum)
        many = len(ranges) if self.name == "avg" else 1
        low = joined(x.low for x in ranges)
        high = joined(x.high for x in ranges)
        return Range(low, high) / Range(many, many)


@dataclass(frozen=True)
class Rank(Expression):
    """The place of a line among those that it is compared with, by an expression.

    Attributes
    ----------
    part
        What lines are compared by.
    keys
        Compared are the lines with the same names under these.
    is_falling
        Whether the largest comes first.
    ties
        What lines with one value have: ``rank``, the same place, and the next ones are left out;
        ``dense_rank``, the same place; ``row_number``, one place each, in the declared order.
    """

    part: Expression
    keys: tuple[str, ...]
    is_falling: bool
    ties: str = "rank"

    @property
    def is_whole(self) -> bool:
        """Yes: it is a place."""
        return True

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What lines are compared by."""
        return (self.part,)

    def variables(self, line: OutputLine) -> set[Variable]:
        """Return the numbers of all lines that are compared."""
        found: set[Variable] = set()
        parts = (self.part.variables(x) for x in line.alike(self.keys))
        return found.union(*parts)

    def _risen(self, range_: Range) -> Range:
        """Return a range, reflected in an ascending order: what comes first is always larger."""
        return range_ if self.is_falling else -range_

    def value(self, line: OutputLine) -> Result:
        """Return one more than the lines whose published number comes first."""
        own = self.part.value(line)
        if not isinstance(own, Fraction):
            return None
        mates = line.alike(self.keys)
        values = {mate.place: self.part.value(mate) for mate in mates}
        first = [
            (value, place)
            for place, value in values.items()
            if isinstance(value, Fraction)
            and (value > own if self.is_falling else value < own)
        ]
        before = len(
            {value for value, _ in first} if self.ties == "dense_rank" else first
        )
        if self.ties == "row_number":
            before += sum(
                v == own and place < line.place for place, v in values.items()
            )
        return Fraction(1 + before)

    def range_on(self, line: OutputLine) -> Range:
        """Return the places that the line may have."""
        own = self._risen(self.part.range_on(line))
        others = [
            self._risen(self.part.range_on(mate))
            for mate in line.alike(self.keys)
            if mate.place != line.place and self.part.value(mate) is not None
        ]
        surely = [x for x in others if x.low > own.high]
        # Lines with the same number come before or after it, as the database likes.
        may_tie = self.ties == "row_number"
        maybe = [
            x for x in others if x.high > own.low or (may_tie and x.high == own.low)
        ]
        # Rank = 1 + lines before: certain ones give the low end, possible ones the high end.
        least = _fewest_values(surely) if self.ties == "dense_rank" else len(surely)
        return Range(1 + least, 1 + len(maybe))


def _fewest_values(ranges: Sequence[Range]) -> int:
    """Return how few different numbers may be in all of several ranges.

    >>> _fewest_values([Range(1, 4), Range(3, 6), Range(5, 9)])
    2
    """
    fewest = 0
    reached: Any = None
    # The first end is in as many ranges as any number; then those without it remain.
    for one in sorted(ranges, key=lambda one: one.high):
        if reached is None or one.low > reached:
            fewest += 1
            reached = one.high
    return fewest


@dataclass(frozen=True)
class Neighbour(Expression):
    """An expression on the line so many before this one (LAG), or after it (LEAD).

    Lines are in their declared order; there is nothing before the first one.
    """

    part: Expression
    keys: tuple[str, ...]
    distance: int

    @property
    def is_whole(self) -> bool:
        """Whether the expression is whole."""
        return self.part.is_whole

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expression."""
        return (self.part,)

    def _line(self, line: OutputLine) -> OutputLine | None:
        mates = line.alike(self.keys)
        places = [mate.place for mate in mates]
        at = places.index(line.place) + self.distance
        return mates[at] if 0 <= at < len(mates) else None

    def value(self, line: OutputLine) -> Result:
        """Return the value there; nothing where there is no such line."""
        there = self._line(line)
        return None if there is None else self.part.value(there)

    def quotient(self, line: OutputLine) -> Quotient | None:
        """Return that of the expression there."""
        there = self._line(line)
        return None if there is None else self.part.quotient(there)

    def range_on(self, line: OutputLine) -> Range:
        """Return the range there."""
        there = self._line(line)
        if there is None:
            raise NoInterval(
                "there is no line before the first one or after the last one"
            )
        return self.part.range_on(there)

    def may_be_null(self, line: OutputLine) -> bool:
        """Whether there is no such line, or no number on it."""
        there = self._line(line)
        return there is None or self.part.may_be_null(there)

    def variables(self, line: OutputLine) -> set[Variable]:
        """Return the numbers of the line there."""
        there = self._line(line)
        return set() if there is None else self.part.variables(there)


# -- conditions -----------------------------------------------------------------------------------


class OutputCondition:
    """A condition on the published numbers of a line."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that are compared."""
        return ()

    def holds(self, line: OutputLine) -> bool | None:
        """Whether it holds for the published numbers; ``None`` is neither, as in SQL."""
        raise NotImplementedError

    def possible(self, line: OutputLine) -> set[bool]:
        """Return what it may be for the true numbers."""
        raise NotImplementedError


@dataclass(frozen=True)
class OutputComparison(OutputCondition):
    """One expression compared with another one."""

    sign: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both sides."""
        return self.left, self.right

    def holds(self, line: OutputLine) -> bool | None:
        """Compare the published numbers."""
        left: Any = self.left.value(line)
        right: Any = self.right.value(line)
        # A comparison with NULL, or across types, is unknown.
        if left is None or right is None or type(left) is not type(right):
            return None
        return _COMPARED[self.sign](left, right)

    def possible(self, line: OutputLine) -> set[bool]:
        """Compare the ranges."""
        if not any(part.variables(line) for part in self.parts):
            # Constants and names are public: no range is involved.
            return {bool(self.holds(line))}
        try:
            left = self.left.range_on(line)
            right = self.right.range_on(line)
        except NoInterval:
            return {True, False}
        # Any pair of numbers lies between these pairs of ends.
        ends = [(left.low, right.high), (left.high, right.low)]
        found = {_COMPARED[self.sign](*pair) for pair in ends}
        may_meet = left.low <= right.high and right.low <= left.high
        is_point = left.low == left.high == right.low == right.high
        # Ranges that meet allow both truths, unless both are the same single point.
        return {True, False} if may_meet and not is_point else found


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


@dataclass(frozen=True)
class IsNull(OutputCondition):
    """Whether an expression is NULL on the published numbers."""

    part: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expression."""
        return (self.part,)

    def holds(self, line: OutputLine) -> bool:
        """Whether it is NULL."""
        return self.part.value(line) is None

    def possible(self, line: OutputLine) -> set[bool]:
        """Return both: whether the true number exists is not known."""
        return {True, False}


@dataclass(frozen=True)
class Logic(OutputCondition):
    """All or one of several conditions, or the contrary of one."""

    word: str
    conditions: tuple[OutputCondition, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        """What all conditions compare."""
        return tuple(part for one in self.conditions for part in one.parts)

    def holds(self, line: OutputLine) -> bool | None:
        """Combine the truths as SQL does, with three values."""
        truths = [condition.holds(line) for condition in self.conditions]
        if self.word == "not":
            return None if truths[0] is None else not truths[0]
        # OR is decided by one True, AND by one False.
        decisive = self.word == "or"
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive

    def possible(self, line: OutputLine) -> set[bool]:
        """Combine what is possible."""
        truths = [condition.possible(line) for condition in self.conditions]
        if self.word == "not":
            return {not truth for truth in truths[0]}
        decisive = self.word == "or"
        if {decisive} in truths:
            return {decisive}
        found = set()
        if any(decisive in one for one in truths):
            found.add(decisive)
        # The contrary needs every condition to be able to have it.
        if all((not decisive) in one for one in truths):
            found.add(not decisive)
        return found


# -- the result -----------------------------------------------------------------------------------


def estimate_of(
    expression: Expression, line: OutputLine, margin_of: MarginOf | None = None
) -> Estimate:
    """Return the value of an expression on published numbers, and its interval.

    With margins of linear forms the interval is by the exact law, where that is known.

    What is NULL on the published numbers is missing. Where a divisor may be 0, or a number has
    no interval, a note says so in the place of the interval.
    """
    if isinstance(expression, PublishedNumber):
        number = line.published.numbers.get((line.place, expression.leaf.title))
        return MISSING if number is None else number
    value = expression.value(line)
    if value is None:
        return MISSING
    if isinstance(value, str):
        return Estimate(value, note=_other_texts(expression, value, line))
    if not expression.variables(line):  # a constant has no error
        return Estimate(whole(value))
    by_law = None if margin_of is None else expression.law_range(line, margin_of)
    try:
        # Which of the two it is does not depend on the numbers, or intervals would miss more often.
        ends = expression.range_on(line) if by_law is None else by_law
    except NoInterval as reason:
        return Estimate(whole(value), note=f"no interval: {reason}")
    return Estimate(whole(value), whole(ends.low), whole(ends.high))


def _other_texts(expression: Expression, value: str, line: OutputLine) -> str:
    """Say which other texts the true numbers may lead to."""
    if not isinstance(expression, Case):
        return ""
    possible = [result.value(line) for result in expression.possible(line)]
    distinct = dict.fromkeys(possible)
    others = [str(x) for x in distinct if x not in (None, value)]
    return f"or {' or '.join(others)}" if others else ""
