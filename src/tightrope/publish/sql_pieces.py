"""Pieces of SQL: columns, constants and conditions, each taken apart and built anew.

Conditions are chosen so that no row can make them fail: comparisons, membership, NULL tests and
logic. Arithmetic can overflow and casts can fail on one person's value, and a failure that
depends on the data is itself an answer: a function of a column is evaluated on its declared
values (:mod:`tightrope.publish.values`). Texts are compared for equality only, because their
order differs between databases.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import ErrorLevel, exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Table, Value, did_you_mean
from tightrope.publish.values import Known, declared_values, lookup, worked_out

#: MIN and MAX are one person's value each: this quantile, and that from above, stand for them.
EXTREME = Fraction(1, 100)
#: What to write instead of a condition on rows of another table.
_AS_NUMBERS = (
    "whether somebody has rows there is a number of the person, LEFT JOIN (SELECT person, "
    "COUNT(*) AS n FROM … GROUP BY person) e ON …, WHERE e.n > 0"
)


class ConditionReader:
    """Takes conditions on one table apart and builds them anew.

    Parameters
    ----------
    table
        The table with its declared columns.
    aliases
        The names by which the SQL may call the table.

    Examples
    --------
    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> reader.read(sqlglot.parse_one("AGE >= 18 and people.age < 65")).sql()
    '"age" >= 18 AND "age" < 65'
    >>> reader.read(sqlglot.parse_one("age / 2 > 1"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: age / 2 > 1 needs the possible values of 'age' (integer), because
    it is evaluated on them and never run on rows: add ...
    """

    ordered = ("integer", "number", "date")

    def __init__(self, table: Table, aliases: set[str]) -> None:
        self.table = table
        self.aliases = {alias.lower() for alias in aliases}
        self.used: dict[str, Column] = {}
        self.rules: dict[str, None] = {}

    def read(self, node: exp.Expression, depth: int = 200) -> exp.Expression:
        """Return the condition built anew."""
        # Recursion on untrusted SQL is bounded.
        if depth < 0:
            raise InputError("a condition is nested at most 200 deep")
        if isinstance(node, exp.Paren | exp.Not | exp.And | exp.Or):
            parts = {word: node.args.get(word) for word in ("this", "expression")}
            read = {
                word: self.read(part, depth - 1) for word, part in parts.items() if part
            }
            return type(node)(**read)
        # A subquery in IN would run rows outside of what is accounted for.
        if isinstance(node, exp.In) and not 1 <= len(node.expressions) <= 10_000:
            raise InputError(
                f"IN takes a list of 1 to 10000 constants, no subquery: {_AS_NUMBERS}"
            )
        if isinstance(node, exp.Exists):
            raise InputError(
                f"EXISTS asks a second table about each row: {_AS_NUMBERS}"
            )
        subquery = node.find(exp.Subquery)
        if subquery is not None and _is_about_row(subquery):
            raise InputError(
                f"{shown_sql(subquery)} asks a second table about each row: {_AS_NUMBERS}"
            )
        if subquery is not None:
            raise InputError(
                f"{shown_sql(subquery)} would compare rows with a number that is not published: "
                "ask for it first, and write the published number here as a constant"
            )
        # Functions are tabulated over declared values: running them on rows could fail on one.
        if _is_computed(node):
            return self._looked_up(node)
        if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            return self._comparison(node)
        if isinstance(node, exp.Between):
            column = self.column(node.this)
            low, high = (
                self._constant(node.args[end], column, True) for end in ("low", "high")
            )
            return quoted(column.name).between(low, high)
        if isinstance(node, exp.In):
            column = self.column(node.this)
            entries = (
                self._constant(entry, column, False) for entry in node.expressions
            )
            return quoted(column.name).isin(*entries)
        if isinstance(node, exp.Is):
            return self._test(node)
        if isinstance(node, exp.Column):
            column = self.column(node)
            if column.type == "boolean":
                return quoted(column.name).eq(True)
            raise InputError(
                f"column {column.name!r} ({column.type}) is no condition by itself: compare it "
                "with a value"
            )
        raise _refusal(node)

    # -- functions of one column ----------------------------------------------------------

    def one_column(self, node: Any) -> Column:
        """Return the only column that a function is about, or refuse it."""
        columns = {piece.sql(): piece for piece in node.find_all(exp.Column)}
        # A table over the values of two columns would have the product of their sizes.
        if len(columns) != 1:
            names = ", ".join(columns) or "none"
            raise InputError(
                "a function is evaluated on the declared values of one column (or on the days "
                f"between two dates); {shown_sql(node)} has {names}: group by each, or join "
                "conditions on each by AND and OR"
            )
        return self.column(next(iter(columns.values())))

    def at(self, node: Any, value: Known) -> Known:
        """Return the value of a function of one column at one of its values."""
        return worked_out(node, lambda column: value)

    def clip(self, column: Column) -> None:
        """Note that values beyond the ends of a range are moved to them, as in a sum."""
        if column.ends is not None:
            self.rules[f"{column.name} clipped to {'..'.join(column.ends)}"] = None

    def _looked_up(self, node: Any) -> exp.Expression:
        """Return the condition that a row has a value for which a worked-out one is true."""
        column = self.one_column(node)
        values = declared_values(column, self.table, shown_sql(node))
        # Worked out before any row is read, so a failure depends on public facts only.
        # NULL last: what a row without a value has, such as true for coalesce(age, 0) < 10.
        truths = [self.at(node, value) for value in [*values, None]]
        if not all(truth is None or isinstance(truth, bool) for truth in truths):
            raise InputError(
                f"{shown_sql(node)} is no condition: compare it with a value"
            )
        # Most likely a misspelt value: refuse before it costs budget.
        if True not in truths:
            raise InputError(
                f"no declared value of {column.name!r} satisfies {shown_sql(node)}: nobody would "
                "be counted, and it would be paid for in full"
            )
        self.clip(column)
        if column.ends is None and column.type != "boolean":
            self.rules[f"other values of {column.name} left out"] = None
        # NULL stays NULL, so that NOT and AND around it follow three-valued logic.
        *numbers, missing = (
            None if truth is None else int(truth is True) for truth in truths
        )
        found = lookup(column, zip(values, numbers, strict=True), missing)
        return exp.EQ(this=found, expression=exp.convert(1))

    # -- pieces ---------------------------------------------------------------------------

    def _comparison(self, node: Any) -> exp.Expression:
        ordered = not isinstance(node, exp.EQ | exp.NEQ)
        sides = [bare(node.this), bare(node.expression)]
        columns = [self.column(side) for side in sides if isinstance(side, exp.Column)]
        if not columns:
            raise _refusal(node)
        first = columns[0]
        second = columns[-1]
        if len(columns) < 2:
            built = [
                quoted(first.name)
                if isinstance(side, exp.Column)
                else self._constant(side, first, ordered)
                for side in sides
            ]
        # Texts may be compared for equality only: their order depends on the collation.
        elif not _comparable(first, second) or (
            ordered and first.type not in self.ordered
        ):
            raise InputError(
                f"columns {first.name!r} ({first.type}) and {second.name!r} ({second.type}) "
                "cannot be compared like this"
            )
        else:
            built = [quoted(first.name), quoted(second.name)]
            if "number" in (first.type, second.type):
                # Integer against double: an exact decimal type could overflow on a row.
                built = [exp.cast(one, "DOUBLE") for one in built]
        kind: type[exp.Expression] = type(node)
        return kind(this=built[0], expression=built[1])

    def _test(self, node: exp.Is) -> exp.Expression:
        column = self.column(node.this)
        what = node.expression
        if node.args.get("negate"):
            return exp.Not(this=self._test(exp.Is(this=node.this, expression=what)))
        if isinstance(what, exp.Null):
            return quoted(column.name).is_(exp.null())
        if isinstance(what, exp.Boolean) and column.type == "boolean":
            # IS TRUE is total: NULL counts as not true.
            same = quoted(column.name).eq(bool(what.this))
            # Two-valued: (x IS NOT NULL) AND x = value is never NULL.
            return exp.paren(exp.And(this=present(column.name), expression=same))
        raise _refusal(node)

    def named(self, tree: Any) -> Any:
        """Return SQL with its columns named as they are declared: equal pieces are then equal."""

        def declared(node: Any) -> Any:
            if isinstance(node, exp.Sub | exp.DateDiff):
                return self._difference(node)
            is_ours = isinstance(node, exp.Column) and isinstance(
                node.this, exp.Identifier
            )
            if not is_ours or (node.table and node.table.lower() not in self.aliases):
                return node
            found = self.table.find(
                node.name, quoted=bool(node.this.args.get("quoted"))
            )
            return node if found is None else exp.column(found.name)

        # What a difference subtracts is named as it is declared before it is read.
        return rewritten(tree.copy(), declared)

    def _difference(self, node: Any) -> Any:
        """Return the column of the days between two dates, if that is what a piece subtracts.

        Dates are turned into numbers of days by an expression that no row can make fail, and
        two such numbers are subtracted: nothing overflows.
        """
        sides = [_without_cast(side) for side in (node.this, node.expression)]
        if not all(isinstance(side, exp.Column) for side in sides):
            return node
        later, earlier = (self.table.find(side.name) for side in sides)
        is_days = node.args.get("unit") is None or node.args["unit"].name == "DAY"
        if later is None or earlier is None or not is_days:
            return node
        if {later.type, earlier.type} != {"date"} or later is earlier:
            return node
        if self.table.rows is not None:
            raise InputError(
                f"{shown_sql(node)}: the days between two dates are known for columns of one "
                "declared table, not of joined ones or of numbers of each person: declare the "
                "days as a column of their own"
            )
        bounds = None
        if later.bounds is not None and earlier.bounds is not None:
            (low, high), (first, last) = later.bounds, earlier.bounds
            # Extremes of a difference: least minus last, largest minus first.
            bounds = (low - last, high - first)
        name = f"{later.name} - {earlier.name}"
        days = Column(name, "integer", bounds, difference=(later, earlier))
        # The derived column behaves like a declared one, with its own bounds.
        self.table = replace(self.table, columns={**self.table.columns, name: days})
        return exp.column(exp.to_identifier(name, quoted=True))

    def column(self, node: Any) -> Column:
        """Return the declared column that a piece of SQL names."""
        node = bare(node)
        if not isinstance(node, exp.Column) or not isinstance(
            node.this, exp.Identifier
        ):
            raise _refusal(node)
        if node.table and node.table.lower() not in self.aliases:
            raise InputError(
                f"{node.table!r} is not the table of this question ({self.table.name!r})"
            )
        column = self.table.column(node.name, quoted=bool(node.this.args.get("quoted")))
        self.used[column.name] = column
        return column

    def _constant(self, node: Any, column: Column, ordered: bool) -> exp.Expr:
        if ordered and column.type not in self.ordered:
            raise InputError(
                f"column {column.name!r} ({column.type}) can be compared for equality only"
            )
        node = bare(node)
        sign = 1
        if isinstance(node, exp.Neg) and column.type in ("integer", "number"):
            node = node.this
            sign = -1
        match column.type:
            case "integer" if (
                # 18 digits fit a 64-bit integer in every database.
                is_number(node) and node.this.isdigit() and len(node.this) <= 18
            ):
                self._check_known(column, sign * int(node.this), ordered)
                return exp.convert(sign * int(node.this))
            case "integer" | "number" if is_number(node):
                # As a decimal of many digits it would have the column cast to its kind, which
                # fails on a row whose number is too large for it. Doubles take every number.
                return exp.cast(exp.convert(sign * float(node.this)), "DOUBLE")
            case "boolean" if isinstance(node, exp.Boolean):
                return exp.convert(bool(node.this))
            case "text" if _is_text(node):
                self._check_known(column, node.this, ordered)
                return exp.convert(node.this)
            case "date" if (day := _date(node)) is not None:
                return exp.cast(exp.convert(day.isoformat()), "DATE")
        raise InputError(
            f"column {column.name!r} holds values of type {column.type}; it cannot be compared "
            f"with {shown_sql(node)}"
        )

    def _check_known(self, column: Column, value: Value, ordered: bool) -> None:
        """Refuse to compare with a value that nobody has: a slip would be paid for in full."""
        if column.values is not None and not ordered and value not in column.values:
            more = (
                "" if len(column.values) <= 20 else f", … ({len(column.values)} in all)"
            )
            raise InputError(
                f"{value!r} is no value of column {column.name!r} in the public facts (they know "
                f"{', '.join(map(repr, column.values[:20]))}{more})"
                f"{did_you_mean(str(value), map(str, column.values))}"
            )


#: Marks a window that is about all rows of the table, whatever lines HAVING leaves.
OF_ALL_ROWS = "of all rows"
#: Conditions that no source is asked to test on a row.
_COMPUTED = (exp.Like, exp.ILike, exp.Escape, exp.StartsWith, exp.Case, exp.Coalesce)


def _is_about_row(subquery: Any) -> bool:
    """Whether a subquery compares its rows with columns of the question around it."""
    return any(
        isinstance(equal.this, exp.Column)
        and isinstance(equal.expression, exp.Column)
        and equal.this.table != equal.expression.table
        for equal in subquery.find_all(exp.EQ)
    )


def _is_computed(node: Any) -> bool:
    """Whether a condition computes with a column, and does not only compare it."""
    if isinstance(node, _COMPUTED):
        return True
    sides = [bare(side) for side in node.iter_expressions()]
    return not isinstance(node, exp.Column) and any(
        not isinstance(side, exp.Column) and side.find(exp.Column) for side in sides
    )


def quoted(name: str) -> exp.Expression:
    """Return a column by its exact name.

    >>> quoted("age").sql()
    '"age"'
    """
    return exp.column(exp.to_identifier(name, quoted=True))


def present(name: str) -> exp.Expression:
    """Return the condition that a column has a value."""
    return quoted(name).is_(exp.null()).not_()


def all_of(conditions: Sequence[Any]) -> Any:
    """Return the condition that all of several hold; ``None`` is none."""
    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def unnested(condition: Any) -> list[Any]:
    """Return the parts of a conjunction."""
    condition = bare(condition)
    if isinstance(condition, exp.And):
        return [*unnested(condition.this), *unnested(condition.expression)]
    return [condition]


def conjuncts(condition: Any) -> frozenset[Any]:
    """Return the conditions that all have to hold for one that is made of them.

    >>> import sqlglot
    >>> first, second = map(sqlglot.parse_one, ("a and (b and c)", "(c and a) and b"))
    >>> conjuncts(first) == conjuncts(second), conjuncts(first) == conjuncts(first.this)
    (True, False)
    """
    return frozenset() if condition is None else frozenset(unnested(condition))


def one_of(column: str, values: Sequence[Value] | range) -> exp.Expression:
    """Return the condition that a column has one of several values.

    >>> one_of("age", range(18, 40)).sql(), one_of("age", (1, 2)).sql()
    ('"age" BETWEEN 18 AND 39', '"age" IN (1, 2)')
    """
    cell = quoted(column)
    return (
        cell.between(values[0], values[-1])
        if isinstance(values, range)
        else cell.isin(*values)
    )


def bare(node: Any) -> Any:
    """Return a piece of SQL without its parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _without_cast(node: Any) -> Any:
    """Return a date without what dialects put around it."""
    while isinstance(node, exp.Paren | exp.Cast | exp.TsOrDsToDate):
        node = node.this
    return node


def unaliased(node: Any) -> Any:
    """Return a piece of SQL without its alias and parentheses."""
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


def without_default(node: Any) -> Any:
    """Return what COALESCE(…, 0) is about, or the piece itself."""
    node = unaliased(node)
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
        return node.this if is_literal(node.expressions[0], "0") else node
    return node


def is_count_all(node: Any) -> bool:
    """Whether a piece of SQL is COUNT(*)."""
    match unaliased(node):
        case exp.Count(this=exp.Star() | exp.Literal(is_string=False), expressions=[]):
            return True
    return False


def is_literal(node: Any, text: str) -> bool:
    """Whether a piece of SQL is a number, written like this."""
    return isinstance(node, exp.Literal) and not node.is_string and node.this == text


def rewritten(tree: Any, rule: Callable[[Any], Any]) -> Any:
    """Return SQL, changed in place, with the rule applied to every piece, children first."""
    for node in list(tree.walk(bfs=False))[::-1]:
        again = rule(node)
        if again is not node:
            tree = again if node is tree else tree
            node.replace(again)
    return tree


def clauses_of(select: Any) -> set[str]:
    """Return the names of the clauses that a SELECT has.

    >>> import sqlglot
    >>> sorted(clauses_of(sqlglot.parse_one("SELECT a FROM t ORDER BY a")))
    ['expressions', 'from', 'order']
    """
    return {key.rstrip("_") for key, value in select.args.items() if value}


def source_of(select: Any) -> Any:
    """Return what stands behind FROM, or ``None``; joined tables are apart."""
    clause = select.args.get("from_") or select.args.get("from")
    return None if clause is None else clause.this


def _comparable(first: Column, second: Column) -> bool:
    numbers = ("integer", "number")
    return first.type == second.type or (
        first.type in numbers and second.type in numbers
    )


def is_number(node: Any) -> bool:
    """Whether a piece of SQL is a plain positive number of at most 40 signs."""
    is_short = (
        isinstance(node, exp.Literal) and not node.is_string and len(node.this) <= 40
    )
    return (
        is_short and re.fullmatch(r"\d+\.?\d*|\.\d+", node.this, re.ASCII) is not None
    )


def _is_text(node: Any) -> bool:
    return (
        # NUL cannot be sent to every database; it would fail after the charge.
        isinstance(node, exp.Literal) and bool(node.is_string) and "\0" not in node.this
    )


def whole_literal(node: Any) -> int:
    """Return the whole number that a piece of SQL is, or 0."""
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else 0


def numbered(node: Any, targets: Sequence[Any]) -> Any:
    """Return the target that a number stands for, or the piece of SQL itself."""
    node = bare(node)
    place = whole_literal(node)
    return targets[place - 1] if 1 <= place <= len(targets) else node


def _date(node: Any) -> datetime.date | None:
    # What is no date is a refusal by the caller, not an error of the parser.
    with contextlib.suppress(ValueError, TypeError, AttributeError, OverflowError):
        if isinstance(node, exp.Cast | exp.TryCast) and node.to.is_type("date"):
            node = node.this
        if isinstance(node, exp.DateFromParts | exp.Date):
            parts = [node.args.get(key) for key in ("year", "month", "day")]
            return datetime.date(*(int(part.this) for part in parts))  # type: ignore[union-attr]
        if _is_text(node):
            return datetime.date.fromisoformat(node.this)
    return None


def title_of(node: Any) -> str:
    """Return what a target is called: its alias, or what it computes.

    >>> import sqlglot
    >>> title_of(sqlglot.parse_one("MAX(age)"))
    'max(age) (99 % quantile)'
    """
    if isinstance(node, exp.Alias | exp.Column):
        return str(node.alias_or_name)[:60]
    if isinstance(node, exp.Min | exp.Max):
        share = EXTREME if isinstance(node, exp.Min) else 1 - EXTREME
        computed = shown_sql(node).lower()[:40]
        return f"{computed} ({float(share * 100):g} % quantile)"
    # Lower case outside of quotes only: texts and quoted names keep theirs.
    pieces = re.split(
        r"('[^']*'|\"[^\"]*\")", shown_sql(node, 1000).replace(" NULLS LAST", "")
    )
    return "".join(x if x[:1] in ("'", '"') else x.lower() for x in pieces)[:60]


def shown_sql(node: Any, most: int = 80) -> str:
    """Return a piece of SQL for a person, on one line."""
    if node is None:
        return "nothing"
    text = node.sql(comments=False, unsupported_level=ErrorLevel.IGNORE)
    return " ".join(text.split())[:most] or str(node.key)


def _refusal(node: Any) -> InputError:
    plain = exp.Column | exp.Literal | exp.Identifier
    parts = [
        part
        for part in (node.this, node.expression)
        if isinstance(part, exp.Expression)
    ]
    odd = next((part for part in parts if not isinstance(part, plain)), node)
    return InputError(
        "a condition may compare a column with constants or another column, test for NULL, and "
        f"use IN, BETWEEN, AND, OR, NOT; got {shown_sql(odd)}"
    )
