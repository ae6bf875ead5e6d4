"""The remainder of a count."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.intervals import Estimate
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Shape,
    number_of,
)
from tightrope.publish.sql_pieces import (
    ConditionReader,
    is_count_all,
    shown_sql,
    whole_literal,
)

if TYPE_CHECKING:
    from tightrope.publish.noise import Noise


@dataclass(frozen=True)
class Modulo(Shape, kind="modulo"):
    """``COUNT(*) % m``."""

    modulus: int = 2

    @classmethod
    def accept(cls, node: Any, reader: ConditionReader) -> Parsed | None:
        """Accept the remainder of COUNT(*) by a whole number."""
        if not isinstance(node, exp.Mod) or not is_count_all(node.this):
            return None
        modulus = whole_literal(node.expression)
        if not 2 <= modulus <= 10**9:
            raise InputError(
                "a modulus is a whole number of at least 2, got "
                f"{shown_sql(node.expression)}"
            )
        return {"modulus": modulus}

    @classmethod
    def fits_groups(cls, declared: bool) -> bool:
        """Refuse groups: remainders are of the whole table."""
        return False

    @property
    def draws(self) -> tuple[Draw, ...]:
        """One remainder."""
        self.check_one_row()
        people = self.table.needed_population()
        text = f"count_mod({people},{self.modulus})"
        words = f"the count modulo {self.modulus}"
        return (Draw(text, self.table.neighbours, words=words),)

    def targets(self) -> list[Any]:
        """Return the rows and the people."""
        return [number_of(None), self.people_count()]

    def answers(self, rows: Sequence[Sequence[Any]]) -> list[list[Hashable]]:
        """Return the remainder of the count, which is at most the population."""
        size = self.cell_numbers(rows)[0][0]
        # Held to the population first, so that neighbouring tables stay neighbours.
        return [[min(size, self.table.needed_population()) % self.modulus]]

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the remainder, which has no interval."""
        return drawn.by_name([(Estimate(drawn.answer),)])

    @property
    def error_is_known(self) -> bool:
        """A remainder has no error in numbers."""
        return False

    def nearness(self, noises: Sequence[Noise], confidence: Fraction) -> str:
        """Say that it is a remainder."""
        return "a remainder"
