"""Distinct people by declared group, each counted once in every group that they are in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightrope.publish.shapes.base import Draw, axis_names
from tightrope.publish.shapes.count import Count


@dataclass(frozen=True)
class PeopleByGroup(Count, kind="people by group"):
    """How many distinct people there are in each group, drawn as counts of one table.

    One person changes any of the c counts by 1, and none by more: that is ``counts(n,c)``, whose
    noise holds for people in any number of groups. So none of their groups is left out. Where a
    person counts in few of many groups, a step for each of them (:class:`Count`) has less noise.

    Examples
    --------
    >>> from tightrope.publish.axes import Axis
    >>> from tightrope.publish.facts import Table
    >>> visits = Table("visits", 100, person="id", contributions=8)
    >>> by_sex = PeopleByGroup(visits, axes=(Axis("sex", ("f", "m"), ()),), people=True)
    >>> by_sex.question, by_sex.answer([(0, 40), (1, 900)])
    ('counts(100,2)', (40, 100))
    """

    @property
    def rows_per_person(self) -> int:
        """In how many groups one person counts: in all."""
        return self.cell_count

    @property
    def bounds_rows(self) -> bool:
        """No group of a person is left out."""
        return False

    @property
    def has_others(self) -> bool:
        """No class of everybody else: who is in no group changes no count."""
        return False

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One draw of all counts together."""
        people = self.table.needed_population()
        text = f"counts({people},{self.cell_count})"
        words = f"the count of people by {axis_names(self.axes)}"
        return (Draw(text, self.table.neighbours, words=words),)

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the counts, none above the population."""
        most = self.table.needed_population()
        sizes = (size for size, *_ in self.cell_numbers(rows))
        return [[tuple(min(size, most) for size in sizes)]]

    @property
    def sensitivity(self) -> Fraction:
        """How many counts one person changes by 1, if as many groups count as are declared."""
        sides = 1 + self.table.neighbours.allows_change
        return Fraction(min(sides * self.table.contributions, self.cell_count))

    def notes(self) -> list[str]:
        """Say nothing: no row is left out."""
        return []
