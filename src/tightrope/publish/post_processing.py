"""What is done to published numbers before they are shown: columns, HAVING, QUALIFY, ORDER BY.

It costs nothing: privacy is kept by whatever is computed from published numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tightrope.publish.arithmetic import (
    Expression,
    Leaf,
    OutputCondition,
    OutputLine,
    PublishedLines,
    PublishedNumber,
    Variable,
    estimate_of,
)
from tightrope.publish.intervals import MISSING, Estimate

#: The published numbers of all lines, by the names of the lines and in the order of the titles.
Numbers = Mapping[tuple[Any, ...], Sequence[Estimate]]
#: The margin of a linear form of published numbers, each of a line and a title, where one is known.
LineMargins = Callable[
    [Mapping[tuple[tuple[Any, ...], str], Fraction]], Fraction | None
]
#: Lines as they are shown: names, and a number under each title.
OutputRows = tuple[tuple[tuple[Any, ...], tuple[Estimate, ...]], ...]


@dataclass(frozen=True)
class OutputColumn:
    """A column of the answer: what it is called, and how it comes from published numbers.

    One that is not shown is what lines are sorted by.
    """

    title: str
    expression: Expression
    is_shown: bool = True

    @property
    def is_published(self) -> bool:
        """Whether it is a published number as it is."""
        return isinstance(self.expression, PublishedNumber)


@dataclass(frozen=True)
class PostProcessing:
    """How published numbers become the lines of an answer.

    Attributes
    ----------
    columns
        The columns of the answer; none where every published number is one.
    having
        Which lines are left, by their published numbers; windows are over these.
    qualify
        Which of them are shown, by windows.
    order
        By which titles lines are sorted, and whether falling.
    limit
        How many lines are shown.

    Examples
    --------
    >>> after = PostProcessing(order=(("n", True),), limit=2)
    >>> numbers = {("a",): (Estimate(3),), ("b",): (MISSING,), ("c",): (Estimate(7),)}
    >>> [names for names, _ in after.rows(("key",), ("n",), lambda many: numbers)]
    [('c',), ('a',)]
    """

    columns: tuple[OutputColumn, ...] = ()
    having: OutputCondition | None = None
    qualify: OutputCondition | None = None
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None

    @property
    def selects(self) -> bool:
        """Whether lines are chosen by their numbers: then all intervals must hold at once."""
        chosen = (self.having, self.qualify, self.limit)
        return any(choice is not None for choice in chosen)

    @property
    def computed(self) -> tuple[OutputColumn, ...]:
        """The columns that are computed from published numbers."""
        return tuple(x for x in self.columns if x.is_shown and not x.is_published)

    def titles(self, published: Sequence[str]) -> tuple[str, ...]:
        """Return what the columns of the answer are called."""
        shown = tuple(column.title for column in self.columns if column.is_shown)
        return shown if self.columns else tuple(published)

    def beside(
        self, published: Sequence[str], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return what belongs to published numbers for each column; ``None`` for others."""
        if not self.columns:
            return tuple(values)
        known = dict(zip(published, values, strict=True))
        return tuple(
            known[column.expression.leaf.title]
            if isinstance(column.expression, PublishedNumber)
            else None
            for column in self.columns
            if column.is_shown
        )

    def weights(
        self, keys: Sequence[str], typical: Mapping[str, tuple[Fraction, Fraction]]
    ) -> dict[str, Fraction]:
        """Return what the square error of each published number counts, in squares of its step.

        Each column that is shown counts the same: its square error is divided by the one that a
        step in each of its numbers makes. A mean of a sum S and a count N has the errors of S and
        of N times the mean, so that an error of N counts less where the mean is small.

        Parameters
        ----------
        keys
            What lines are named by.
        typical
            A typical value of each number, and its step: how much one person changes it.
        """
        leaves = {title: Leaf(title) for title in typical}

        def line(moved: str = "", steps: int = 1) -> OutputLine:
            numbers = {
                (0, title): Estimate(value + steps * step * (title == moved))
                for title, (value, step) in typical.items()
            }
            names = dict.fromkeys(keys)
            return PublishedLines((names,), numbers, leaves).line(0)

        def square(expression: Expression, title: str) -> Fraction:
            """Return how far a step up moves what is shown, or one down from its bound."""
            middle = expression.value(line())
            for steps in (1, -1):
                moved = expression.value(line(title, steps))
                both = isinstance(middle, Fraction) and isinstance(moved, Fraction)
                if both and moved != middle:
                    return (moved - middle) ** 2  # type: ignore[operator]
            return Fraction(0)

        weights = dict.fromkeys(typical, Fraction(0))
        shown = [column.expression for column in self.columns if column.is_shown]
        for expression in shown or map(PublishedNumber, leaves.values()):
            used = [leaf.title for leaf in expression.leaves()]
            squares = [square(expression, title) for title in used]
            # What does not move a typical line may move another one: it counts a little.
            least = sum(squares, Fraction(0)) / 100 or Fraction(1)
            counted = [max(own, least) for own in squares]
            for title, own in zip(used, counted, strict=True):
                weights[title] += own / sum(counted, Fraction(0))
        return weights

    def rows(
        self,
        keys: Sequence[str],
        titles: Sequence[str],
        numbers_at: Callable[[int], Numbers],
        *,
        at_once: bool = False,
        margin_of: LineMargins | None = None,
    ) -> OutputRows:
        """Return the lines of the answer.

        Parameters
        ----------
        keys, titles
            What lines are named by, and what the published numbers are called.
        numbers_at
            The published numbers, with intervals that k of them keep together.
        at_once
            Whether the intervals of all numbers hold at once, so that k is 1.
        margin_of
            The margin of a linear form of numbers, each of a line and a title, by the exact law
            of its error.
        """
        leaves = {title: Leaf(title) for title in titles}
        shown = self.columns or tuple(
            OutputColumn(title, PublishedNumber(leaf)) for title, leaf in leaves.items()
        )
        for column in shown:
            leaves |= {leaf.title: leaf for leaf in column.expression.leaves()}
        everything = _published(keys, titles, numbers_at(1), leaves)
        left = tuple(_holding(self.having, everything, range(len(everything.names))))
        known = {1: replace(everything, left=left)}

        def published(many: int) -> PublishedLines:
            if many not in known:
                lines = _published(keys, titles, numbers_at(many), leaves)
                known[many] = replace(lines, left=left)
            return known[many]

        lines = []
        all_names = list(numbers_at(1))

        def law(terms: Mapping[Variable, Fraction]) -> Fraction | None:
            named = {
                (all_names[place], title): c for (place, title), c in terms.items()
            }
            return None if margin_of is None else margin_of(named)

        for place in _holding(self.qualify, published(1), left):
            names = all_names[place]
            line = published(1).line(place)
            numbers = []
            for column in shown:
                many = 1 if at_once else len(column.expression.variables(line))
                own = published(max(many, 1)).line(place)
                numbers.append(estimate_of(column.expression, own, law))
            lines.append((names, tuple(numbers)))
        places = [place for place, column in enumerate(shown) if column.is_shown]
        ordered = self._sorted(lines, keys, [column.title for column in shown])
        return tuple(
            (names, tuple(numbers[place] for place in places))
            for names, numbers in ordered[: self.limit]
        )

    def _sorted(
        self, lines: list[Any], keys: Sequence[str], titles: Sequence[str]
    ) -> list[Any]:
        """Sort lines, names in the order in which they were declared."""
        found = list(lines)
        for title, falling in reversed(self.order):
            if title in keys:
                at = keys.index(title)
                names = list(dict.fromkeys(row[0][at] for row in lines))
                found.sort(key=lambda row: names.index(row[0][at]), reverse=falling)
            else:
                at = titles.index(title)
                # Values of bins may be texts and numbers; what is missing comes last either way.
                found.sort(key=lambda row: _in_order(row[1][at].value), reverse=falling)
                found.sort(key=lambda row: row[1][at] == MISSING)
        return found


#: Every published number as it is, in the declared order.
AS_PUBLISHED = PostProcessing()


def _holding(
    condition: OutputCondition | None, lines: PublishedLines, places: Sequence[int]
) -> list[int]:
    """Return the places of the lines that a condition holds for."""
    return [
        place
        for place in places
        if condition is None or condition.holds(lines.line(place))
    ]


def _in_order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _published(
    keys: Sequence[str],
    titles: Sequence[str],
    numbers: Numbers,
    leaves: Mapping[str, Leaf],
) -> PublishedLines:
    names = tuple(dict(zip(keys, line, strict=True)) for line in numbers)
    by_title = {
        (place, title): number
        for place, line in enumerate(numbers.values())
        for title, number in zip(titles, line, strict=True)
    }
    return PublishedLines(names, by_title, leaves)
