"""Any safe value, with an answer graph that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column
from tightrope.publish.shapes.base import (
    Draw,
    Drawn,
    Lines,
    Parsed,
    Shape,
)
from tightrope.publish.sql_pieces import (
    ConditionReader,
    is_count_all,
    quoted,
    without_default,
)


@dataclass(frozen=True)
class Declared(Shape, kind="declared"):
    """One value of SQL without a known shape; the user says what its results mean.

    Attributes
    ----------
    expression
        What is computed.
    """

    expression: exp.Expression | None = None

    adds_up = False

    @classmethod
    def of_target(cls, node: Any, reader: ConditionReader, known: str) -> Parsed:
        """Return the fields of the shape for one value that no row can make fail."""
        expression, column = value_of(node, reader, known)
        return {"shape": cls, "expression": expression, "column": column}

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Refuse: only the user knows the answer graph."""
        raise InputError(
            "the answer graph of this SQL must be named: it is no known shape"
        )

    @property
    def draw_widths(self) -> tuple[int, ...]:
        """One person makes one step in the user's graph."""
        return (1,)

    def targets(self) -> list[Any]:
        """Return the value; sums are of doubles, dates come as texts.

        Whole numbers of any size may overflow when they are added up; doubles do not.
        """
        value: Any = self.expression
        if value is None or self.column is None:
            return [value]
        if isinstance(value, exp.Sum) and self.column.type == "integer":
            return [exp.Sum(this=exp.cast(value.this.copy(), "DOUBLE"))]
        return [exp.cast(value.copy(), "TEXT") if self.column.type == "date" else value]

    def answer(self, rows: Sequence[Sequence[Any]]) -> Any:
        """Return the value as the database has it."""
        return rows[0][0]

    @classmethod
    def lines(cls, drawn: Drawn) -> Lines:
        """Return the answer."""
        return drawn.by_name([drawn.numbers(drawn.answer)])


def mapped_text(value: Any) -> str:
    """Return the text by which a declared question's result is looked up.

    >>> mapped_text(3.0), mapped_text(Decimal("0.5")), mapped_text(float("nan"))
    ('3', '0.5', 'nan')
    """
    is_real = isinstance(value, float | Decimal) and Decimal(value).is_finite()
    # Written out, 1E+1000000 has a million digits.
    is_short = is_real and -(10**40) < value < 10**40
    if not is_short or value != int(value):
        return str(value)
    return str(int(value))


def value_of(
    node: Any, reader: ConditionReader, known: str = ""
) -> tuple[Any, Column | None]:
    """Build a declared question's one value anew: an aggregate of one column, and the column.

    >>> import sqlglot
    >>> from tightrope.publish.facts import Table
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> value_of(sqlglot.parse_one("max(AGE)"), reader)[0].sql()
    'MAX("age")'
    """
    match without_default(node):
        case count if is_count_all(count):
            return exp.Count(this=exp.Star()), None
        case exp.Count(this=exp.Distinct(expressions=[inner])):
            person = quoted(reader.column(inner).name)
            return exp.Count(this=exp.Distinct(expressions=[person])), None
        case (exp.Min() | exp.Max() | exp.Sum() | exp.Avg()) as value if (
            not value.expressions
        ):
            column = reader.column(value.this)
            # The order of texts differs between databases.
            is_end = isinstance(value, exp.Min | exp.Max)
            if column.type in (reader.ordered if is_end else ("integer", "number")):
                return type(value)(this=quoted(column.name)), column
    raise InputError(
        "a question with an answer graph of its own computes COUNT, or MIN, MAX, SUM or AVG of "
        f"one column of numbers (MIN, MAX also of dates), or has a known shape ({known})"
    )
