"""Counts of groups that nobody declared: large ones are shown, with a δ."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.certify.make import encode_label
from tightrope.epsilon import enclosed
from tightrope.errors import InputError
from tightrope.publish.axes import needs_values
from tightrope.publish.facts import Table, Value
from tightrope.publish.shapes.base import (
    USUAL,
    Draw,
    Drawn,
    Lines,
    Parsed,
    SelectParts,
    Shape,
)
from tightrope.publish.shapes.count import Count
from tightrope.publish.sql_pieces import quoted
from tightrope.queries import Neighbours

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
        """Accept one count of rows or people by one column without declared values."""
        unknown = [axis.column for axis in parts.axes if axis.column is not None]
        if not unknown:
            return None
        is_one = len(parts.axes) == len(parts.asked) == 1
        # Only single counts have the proof for a threshold on what is shown.
        if not is_one or parts.asked[0]["shape"] is not Count:
            raise InputError(needs_values(unknown[0], table))
        (fields,) = parts.asked
        return {**fields, "shape": cls, "axes": (), "column": unknown[0]}

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
        return (Draw(text, Neighbours.ADD_REMOVE, times=0, width=width, delta=delta),)

    def planned(self, level: Epsilon, confidence: Fraction = USUAL) -> Shape:
        """Return the shape with the share of δ that a step has at this ε."""
        each = level.scaled(Fraction(1, self.sides * self.rows_per_person))
        (steps,) = self.draw_deltas([each])
        return replace(self, step_delta=self.delta / steps)

    def draw_deltas(self, levels: Sequence[Epsilon]) -> tuple[Fraction, ...]:
        """How many δ of one step all steps of one person cost together."""
        rows = self.rows_per_person
        if self.people or rows == 1:
            return (Fraction(self.sides * rows),)
        (each,) = levels
        # An upper bound of e^ε', exactly enclosed: δ must never be too small.
        _, high = enclosed(each.multiple, each.base, power=True)
        # Rounded up: the δ of a step is a number of few digits in its file.
        # Geometric sum (r^k - 1)/(r - 1) with r = e^ε', the factor of δ' for k rows in one group.
        in_one_group = math.ceil(1000 * (high**rows - 1) / (high - 1))
        return (Fraction(self.sides * in_one_group, 1000),)

    @property
    def question(self) -> str:
        """Refuse: the groups are found by ``ask``."""
        _ = self.draws
        needed = needs_values(self.named_column, self.table)
        raise InputError(
            f"{needed}; or let 'tightrope ask … --delta D' find the groups"
        )

    def with_delta(self, delta: Fraction) -> Shape:
        """Return the shape with its δ."""
        return replace(self, delta=delta)

    def row_places(self) -> list[Any]:
        """Return the column itself: a cell, compared byte by byte."""
        return [quoted(self.named_column.name)]

    def draw(self, noises: Sequence[Noise], rows: Sequence[Sequence[Any]]) -> Any:
        """Draw a count for each group, of which 0 is not shown; none counts above the largest.

        They are in the order of their names: that of the database might tell of rows.
        """
        (noise,) = noises
        groups = found_groups(rows)
        outputs = noise.draw_cells([min(size, self.most) for size in groups.values()])
        drawn = zip(groups, outputs, strict=True)
        # An output of 0 means "not shown": the name itself is confidential below the threshold.
        return [[encode_label(name), output] for name, output in drawn if output]

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


def found_groups(rows: Sequence[Sequence[Any]]) -> dict[Value, int]:
    r"""Return the groups that rows of a name and a number are, in the order of their names.

    A missing name, and a text that is not UTF-8, not printable or longer than 200 characters, is
    no group: that depends on the name alone.

    >>> found_groups([(b"y", 3), (None, 9), ("x", 1), (b"\xff", 2), ("z\a", 5)])
    {'x': 1, 'y': 3}
    """
    groups: dict[Value, int] = {}
    for cell, number in rows:
        with contextlib.suppress(UnicodeDecodeError):
            is_raw = isinstance(cell, bytes | bytearray)
            name = bytes(cell).decode() if is_raw else cell
            is_number = isinstance(name, int)
            # Unprintable names could forge lines of the answer.
            if is_number or (name and name.isprintable() and len(name) <= 200):
                groups[name] = int(number)
    return dict(sorted(groups.items()))
