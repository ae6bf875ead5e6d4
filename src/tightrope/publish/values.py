"""Functions of a column with declared values, evaluated on the values and never run on rows.

Arithmetic can overflow, a cast can fail, and databases disagree about time zones, collations and
the first day of a week. So no function that a user writes is sent to a database: it is applied
here to each declared value, exactly, and rows are only looked up among the values
(:func:`lookup`). Weeks begin on Monday; ``dow`` counts from Sunday = 0, ``isodow`` from Monday = 1.
"""

from __future__ import annotations

import calendar
import datetime
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.accounts import canonical_text
from tightrope.publish.facts import Column, Table, Value

#: What SQL computes with here; ``None`` is NULL.
Known = Fraction | str | bool | datetime.date | None

_KNOWN_FUNCTIONS = (
    "a function of a column is written with + - * / %, floor, ceil, round, trunc, abs, "
    "width_bucket, extract, date_trunc, strftime, dayname, monthname, last_day, upper, lower, "
    "substr, left, right, ||, LIKE, IN, BETWEEN and CASE, and has a value for each declared one"
)
#: The most values that a function is applied to, and the most comparisons of a lookup.
MOST_VALUES = 100_000
MOST_RUNS = 20_000
#: From so many branches on, a lookup is a search tree: a thousand comparisons a row take minutes.
_FLAT = 8
#: Up to so many values, a lookup may repeat: days of the week, the last digit of a number.
_LONGEST_PERIOD = 64


def declared_values(column: Column, table: Table, what: str) -> Sequence[Known]:
    """Return every declared value of a column, or say what the facts lack for it."""
    values: Sequence[Any] = column.values or ()
    if column.type == "boolean":
        values = (False, True)
    place = f"tables.{table.name}.columns.{column.name}"
    # Of other numbers only listed ones are looked up: 17.5 is none of a range.
    if column.bounds is not None and column.type != "number":
        low, high = column.bounds
        # The function is tabulated, so the number of values bounds memory and SQL length.
        if high - low >= MOST_VALUES:
            raise InputError(
                f"{what} needs at most {MOST_VALUES} possible values of {column.name!r}, it has "
                f"{high - low + 1}: use CASE WHEN … THEN … END"
            )
        values = range(low, high + 1)
    if not values:
        facts = {
            "date": f"{place}.bounds, such as [2010-01-01, 2023-12-31],",
            "number": f"{place}.values with whole numbers",
            "integer": f"{place}.values or {place}.bounds",
        }.get(column.type, f"{place}.values")
        raise InputError(
            f"{what} needs the possible values of {column.name!r} ({column.type}), because it is "
            f"evaluated on them and never run on rows: add {facts} to the public facts"
        )
    return [_known(value, column.type) for value in values]


def _known(value: Any, kind: str) -> Known:
    """Return a declared value as functions take it."""
    if kind == "date":
        return datetime.date.fromordinal(value)
    # Exact fractions: 0.1 + 0.2 = 0.3 holds here as in databases with decimals.
    return Fraction(value) if kind in ("integer", "number") else value


def label(value: Known) -> Value | None:
    """Return a result as the name of a class.

    >>> label(Fraction(3)), label(Fraction(1, 4)), label(datetime.date(2020, 2, 29)), label(None)
    (3, '0.25', '2020-02-29', None)
    """
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(float(value))
    return value.isoformat() if isinstance(value, datetime.date) else value


# -- the interpreter ----------------------------------------------------------------------------


def worked_out(node: Any, value_of: Callable[[Any], Known]) -> Known:
    """Return the value of a function, exactly.

    Parameters
    ----------
    node
        The function, as SQL.
    value_of
        The value of each column in it.

    Examples
    --------
    >>> import sqlglot
    >>> def at(sql, value):
    ...     return worked_out(sqlglot.parse_one(sql, read="duckdb"), lambda column: value)
    >>> [int(at("width_bucket(age, 0, 100, 5)", Fraction(x))) for x in (-1, 20, 100)]
    [0, 2, 6]
    >>> at("date_trunc('quarter', d)", datetime.date(2020, 5, 17)).isoformat()
    '2020-04-01'
    >>> at("upper(left(a, 2)) || '-' || length(a)", "north"), at("a ilike 'N%h'", "north")
    ('NO-5', True)
    """
    node = _bare(node)
    if isinstance(node, exp.Column):
        return value_of(node)
    constant = _constant(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Null):
        return None
    # Rules need no checks of their own: what does not fit raises one of these.
    unfit = (ArithmeticError, TypeError, ValueError, AttributeError)
    try:
        return _of_rule(node, value_of)
    except InputError:
        raise  # of a piece inside this one, which it names
    except unfit:
        # Written only now: for each of thousands of values the text would cost more than the rule.
        raise InputError(f"{_KNOWN_FUNCTIONS}; got {_shown(node)}") from None


def _of_rule(node: Any, value_of: Callable[[Any], Known]) -> Known:
    """Apply the rule of one piece of SQL to its arguments; NULL in, NULL out but for a few."""

    def of(part: Any) -> Known:
        return worked_out(part, value_of)

    match node:
        case exp.Case():
            return of(_chosen(node, of))
        case exp.If(this=test):
            # Unknown is not true: IF takes the other branch for NULL.
            return of(node.args["true" if of(test) is True else "false"])
        case exp.Coalesce(this=first, expressions=more):
            return next((x for x in map(of, (first, *more)) if x is not None), None)
        case exp.Concat(expressions=parts):
            # As in every database but Spark: NULL counts as an empty text.
            return "".join(_text(x) for x in map(of, parts) if x is not None)
        case exp.Is(this=first, expression=what):
            same = of(first) is of(what)
            return same is not bool(node.args.get("negate"))
        case exp.Not(this=first):
            truth = of(first)
            return None if truth is None else not _truth(truth)
        case exp.And(this=first, expression=second):
            return _all(of(first), of(second))
        case exp.Or(this=first, expression=second):
            # De Morgan: OR from AND and NOT in three-valued logic.
            some = _all(_opposite(of(first)), _opposite(of(second)))
            return _opposite(some)
        # x IN (a, NULL) is NULL unless x = a.
        case exp.In(this=first, expressions=members):
            return _any_equal(of(first), list(map(of, members)))
        case exp.Nullif(this=first, expression=second):
            value = of(first)
            return None if _any_equal(value, [of(second)]) else value
        case exp.Escape(this=exp.Like() as like, expression=mark):
            if of(like.this) is None:
                return None
            fits = _like(of(like.this), of(like.expression), of(mark))
            return fits is not bool(like.args.get("negate"))
        case exp.Cast(this=first, to=kind) | exp.TryCast(this=first, to=kind):
            return _cast(of(first), kind)
        case exp.Extract(this=part, expression=day):
            return _part_of_date(part.name, of(day))
    rule, words = RULES.get(type(node), (_unknown, ()))
    arguments = [of(node.args[word]) for word in words if node.args.get(word)]
    # NULL in any argument makes the result NULL, as for strict SQL functions.
    if any(argument is None for argument in arguments):
        return None
    unit = node.args.get("unit")
    result = rule(*arguments, *([] if unit is None else [unit.name]))
    if isinstance(node, exp.Div) and node.args.get("typed"):
        # Databases that divide whole numbers without a rest cut towards zero.
        is_whole = all(
            isinstance(x, Fraction) and x.denominator == 1 for x in arguments
        )
        result = math.trunc(result) if is_whole else result
    if node.args.get("negate"):
        result = not result
    if isinstance(result, int) and not isinstance(result, bool):
        result = Fraction(result)
    if isinstance(result, Fraction) and abs(result) >= 10**30:
        raise ArithmeticError  # no name that can be written, and no float
    found: Known = result
    return found


def _unknown(*_: Any) -> Known:
    raise TypeError


def _chosen(node: Any, of: Callable[[Any], Known]) -> Any:
    """Return the branch of a CASE that is taken."""
    subject = None if node.this is None else of(node.this)
    if node.this is not None and len(node.args["ifs"]) > _FLAT:
        return _chosen_by_value(node, subject)
    for branch in node.args["ifs"]:
        test = of(branch.this)
        holds = (
            test if node.this is None else _compared(operator.eq)(subject, test)
            if subject is not None and test is not None else None
        )  # fmt: skip
        if holds is True:
            return branch.args["true"]
    return node.args.get("default") or exp.null()


def _chosen_by_value(node: Any, subject: Known) -> Any:
    """Return the branch of a long CASE of constants, as a lookup table makes it."""
    # Found once for all values: the branches would be compared with each of them.
    branches = node.meta.get("branches")
    if branches is None:
        branches = {}
        for branch in node.args["ifs"]:
            value = worked_out(branch.this, _unknown)
            # The first branch wins, as in CASE.
            branches.setdefault(value, branch.args["true"])
        node.meta["branches"] = branches
    default = node.args.get("default") or exp.null()
    return default if subject is None else branches.get(subject, default)


def _numbers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule for numbers alone: True + 1 is nothing that databases agree on."""

    def checked(*values: Known) -> Any:
        if not all(isinstance(value, Fraction) for value in values):
            raise TypeError
        return rule(*values)

    return checked


def _minus(left: Known, right: Known) -> Known:
    if isinstance(left, datetime.date) and isinstance(right, datetime.date):
        return Fraction((left - right).days)
    if isinstance(left, datetime.date) and isinstance(right, Fraction):
        return left - datetime.timedelta(days=_whole(right))
    return Fraction(_numbers(operator.sub)(left, right))


def _plus(left: Known, right: Known) -> Known:
    if isinstance(left, datetime.date) and isinstance(right, Fraction):
        return left + datetime.timedelta(days=_whole(right))
    return Fraction(_numbers(operator.add)(left, right))


def _whole(number: Known) -> int:
    if not isinstance(number, Fraction) or number.denominator != 1:
        raise TypeError
    return int(number)


def _whole_part(left: Fraction, right: Fraction) -> int:
    return math.trunc(left / right)


def _rounded(number: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    """Round half away from zero, as databases round exact numbers."""
    unit = (
        Fraction(1, 10 ** _whole(digits))
        if digits >= 0
        else Fraction(10 ** -_whole(digits))
    )
    # Half away from zero: ⌊|x|/u + 1/2⌋ u, with the sign put back.
    size = math.floor(abs(number) / unit + Fraction(1, 2)) * unit
    return size if number >= 0 else -size


def _bucket(number: Fraction, low: Fraction, high: Fraction, count: Fraction) -> int:
    if not low < high or count < 1:
        raise ArithmeticError
    # WIDTH_BUCKET: 1 + ⌊(x - low)·n/(high - low)⌋, with 0 and n + 1 outside.
    place = math.floor((number - low) * count / (high - low)) + 1
    return min(max(place, 0), int(count) + 1)


def _text(value: Known) -> str:
    if isinstance(value, bool) or value is None:
        raise TypeError
    return str(label(value))


def _substring(text: str, start: Fraction, length: Fraction | None = None) -> str:
    first = _whole(start) - 1
    if first < 0:
        raise ValueError  # to some databases it counts from the end
    last = len(text) if length is None else first + _whole(length)
    return text[first:last]


def _left(text: str, length: Fraction) -> str:
    return text[: _natural(length)]


def _right(text: str, length: Fraction) -> str:
    return text[len(text) - min(_natural(length), len(text)) :]


def _natural(number: Fraction) -> int:
    if number < 0:
        raise ValueError  # databases disagree
    return _whole(number)


def _like(text: Any, pattern: Any, mark: Any = None) -> bool:
    """Whether a text is like a pattern: % is any text, _ any character."""
    pieces = []
    signs = iter(pattern)
    for sign in signs:
        if sign == mark:
            pieces.append(re.escape(next(signs)))
        else:
            # Escape everything else: a dot in a pattern is a dot.
            pieces.append({"%": ".*", "_": "."}.get(sign, re.escape(sign)))
    return re.fullmatch("".join(pieces), text, re.DOTALL) is not None


def _ilike(text: str, pattern: str) -> bool:
    return _like(text.lower(), pattern.lower())


def _compared(rule: Callable[[Any, Any], Any]) -> Callable[[Known, Known], bool]:
    """Return a comparison of two values of one type; a text is read as a date beside one."""

    def checked(left: Known, right: Known) -> bool:
        left, right = _alike(left, right)
        # The order of texts differs between databases.
        is_ordered = rule not in (operator.eq, operator.ne)
        if type(left) is not type(right) or (
            is_ordered and isinstance(left, str | bool)
        ):
            raise TypeError
        return bool(rule(left, right))

    return checked


def _alike(left: Known, right: Known) -> tuple[Known, Known]:
    if isinstance(left, datetime.date) and isinstance(right, str):
        return left, datetime.date.fromisoformat(right)
    if isinstance(right, datetime.date) and isinstance(left, str):
        return datetime.date.fromisoformat(left), right
    return left, right


def _between(value: Known, low: Known, high: Known) -> bool:
    at_least = _compared(operator.ge)(value, low)
    return at_least and _compared(operator.le)(value, high)


def _any_equal(value: Known, members: Sequence[Known]) -> bool | None:
    if value is None:
        return None
    same = [m is not None and _compared(operator.eq)(value, m) for m in members]
    # SQL: no match and a NULL among the members is unknown.
    return True if any(same) else None if None in members else False


def _truth(value: Known) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _opposite(value: Known) -> bool | None:
    return None if value is None else not _truth(value)


def _all(left: Known, right: Known) -> bool | None:
    """Return AND in three-valued logic."""
    # False decides an AND even beside NULL.
    if left is False or right is False:
        return False
    return None if left is None or right is None else _truth(left) and _truth(right)


def _cast(value: Known, kind: Any) -> Known:
    """Return a cast that changes no value."""
    if value is None:
        return None
    if kind.is_type("date"):
        return (
            _alike(datetime.date.min, value)[1]
            if isinstance(value, str)
            else _date(value)
        )
    if kind.is_type("int", "bigint", "smallint", "double", "decimal", "float"):
        number = Fraction(value) if isinstance(value, str | bool) else value
        if not isinstance(number, Fraction):
            raise TypeError
        is_whole = kind.is_type("int", "bigint", "smallint")
        # A cast that would round is refused: databases round differently.
        return Fraction(_whole(number)) if is_whole else number
    if kind.is_type("text", "varchar"):
        return _text(value)
    raise TypeError


def _date(value: Known) -> datetime.date:
    if not isinstance(value, datetime.date):
        raise TypeError
    return value


#: The numbers of a date that EXTRACT knows.
_PARTS: dict[str, Callable[[datetime.date], int]] = {
    "year": lambda day: day.year,
    "isoyear": lambda day: day.isocalendar().year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "week": lambda day: day.isocalendar().week,
    "day": lambda day: day.day,
    # Sunday is 0 here and 7 in ISO.
    "dow": lambda day: day.isoweekday() % 7,
    "dayofweek": lambda day: day.isoweekday() % 7,
    "isodow": lambda day: day.isoweekday(),
    "doy": lambda day: day.timetuple().tm_yday,
    "decade": lambda day: day.year // 10,
}

#: The first day of the period that DATE_TRUNC names.
_STARTS: dict[str, Callable[[datetime.date], datetime.date]] = {
    "year": lambda day: day.replace(month=1, day=1),
    "quarter": lambda day: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
    "month": lambda day: day.replace(day=1),
    "week": lambda day: day - datetime.timedelta(days=day.weekday()),
    "day": lambda day: day,
}


def _part_of_date(part: str, value: Known) -> Fraction | None:
    if value is None:
        return None
    return Fraction(_lookup_word(_PARTS, part)(_date(value)))


def _part_rule(part: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    return lambda value: _part_of_date(part, value), ("this",)


def _start_of_period(value: Known, unit: str) -> datetime.date:
    start: datetime.date = _lookup_word(_STARTS, unit)(_date(value))
    return start


def _lookup_word(known: Mapping[str, Any], word: str) -> Any:
    if word.lower() not in known:
        raise InputError(
            f"{word!r} is no part of a date that is known here: {', '.join(known)}"
        )
    return known[word.lower()]


def _days_between(later: Known, earlier: Known, unit: str = "day") -> int:
    if unit.lower() != "day":
        raise InputError(f"dates are subtracted in days, got {unit!r}: divide the days")
    return (_date(later) - _date(earlier)).days


def _strftime(value: Known, pattern: str) -> str:
    # Numbers only: names of months and days depend on the language of the database.
    pattern = pattern.replace("strict", "")
    if set(re.findall("%(.)", pattern)) - set("YmdjuwGVy%"):
        raise ValueError
    # Years before 1000 have four digits everywhere but here.
    return _date(value).strftime(pattern.replace("%Y", f"{_date(value).year:04d}"))


#: Names are English here, whatever the language of the database.
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _last_day(value: Known) -> datetime.date:
    """Return the last day of the month of a day."""
    day = _date(value)
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


_PAIR = ("this", "expression")
_ONE = ("this",)
#: The rule of each piece of SQL, and the arguments that it takes.
RULES: dict[Any, tuple[Callable[..., Any], tuple[str, ...]]] = {
    exp.Add: (_plus, _PAIR),
    exp.Sub: (_minus, _PAIR),
    exp.Mul: (_numbers(operator.mul), _PAIR),
    exp.Div: (_numbers(operator.truediv), _PAIR),
    exp.IntDiv: (_numbers(_whole_part), _PAIR),
    # The remainder has the sign of the dividend, as in SQL; Python's has that of the divisor.
    exp.Mod: (_numbers(lambda x, y: x - y * _whole_part(x, y)), _PAIR),
    exp.Neg: (_numbers(operator.neg), _ONE),
    exp.Abs: (_numbers(abs), _ONE),
    exp.Floor: (_numbers(math.floor), _ONE),
    exp.Ceil: (_numbers(math.ceil), _ONE),
    exp.Trunc: (_numbers(math.trunc), _ONE),
    exp.Round: (_numbers(_rounded), ("this", "decimals")),
    exp.WidthBucket: (
        _numbers(_bucket),
        ("this", "min_value", "max_value", "num_buckets"),
    ),
    exp.EQ: (_compared(operator.eq), _PAIR),
    exp.NEQ: (_compared(operator.ne), _PAIR),
    exp.GT: (_compared(operator.gt), _PAIR),
    exp.GTE: (_compared(operator.ge), _PAIR),
    exp.LT: (_compared(operator.lt), _PAIR),
    exp.LTE: (_compared(operator.le), _PAIR),
    exp.Between: (_between, ("this", "low", "high")),
    exp.Like: (_like, _PAIR),
    exp.ILike: (_ilike, _PAIR),
    exp.StartsWith: (lambda text, start: text.startswith(start), _PAIR),
    exp.Upper: (lambda text: text.upper(), _ONE),
    exp.Lower: (lambda text: text.lower(), _ONE),
    exp.Trim: (lambda text: text.strip(" "), _ONE),
    exp.Length: (len, _ONE),
    exp.Replace: (
        lambda text, old, new: text.replace(old, new),
        (*_PAIR, "replacement"),
    ),
    exp.Substring: (_substring, ("this", "start", "length")),
    exp.Left: (_left, _PAIR),
    exp.Right: (_right, _PAIR),
    exp.DPipe: (lambda left, right: _text(left) + _text(right), _PAIR),
    exp.Year: _part_rule("year"),
    exp.Quarter: _part_rule("quarter"),
    exp.Month: _part_rule("month"),
    exp.Day: _part_rule("day"),
    exp.DayOfMonth: _part_rule("day"),
    exp.Week: _part_rule("week"),
    exp.WeekOfYear: _part_rule("week"),
    exp.DayOfWeekIso: _part_rule("isodow"),
    exp.DayOfYear: _part_rule("doy"),
    exp.Monthname: (lambda value: _MONTHS[_date(value).month - 1], _ONE),
    exp.Dayname: (lambda value: _DAYS[_date(value).weekday()], _ONE),
    exp.LastDay: (_last_day, _ONE),
    exp.TimestampTrunc: (_start_of_period, _ONE),
    exp.DateTrunc: (_start_of_period, _ONE),
    exp.DateDiff: (_days_between, _PAIR),
    exp.TimeToStr: (_strftime, ("this", "format")),
    # What sqlglot puts around a date for some dialects.
    exp.TsOrDsToDate: (_date, _ONE),
    exp.TsOrDsToTimestamp: (_date, _ONE),
    exp.TimeStrToTime: (_date, _ONE),
}


def _constant(node: Any) -> Known:
    """Return the constant that a piece of SQL is, if it is one."""
    if isinstance(node, exp.Literal):
        if node.is_string:
            return str(node.this)
        is_plain = len(node.this) <= 40 and re.fullmatch(
            r"\d+\.?\d*|\.\d+", node.this, re.ASCII
        )
        return Fraction(node.this) if is_plain else None
    return bool(node.this) if isinstance(node, exp.Boolean) else None


def _bare(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _shown(node: Any) -> str:
    from tightrope.publish.sql_pieces import shown_sql

    return shown_sql(node)


# -- the lookup that rows run -------------------------------------------------------------------


def lookup(
    column: Column,
    places: Iterable[tuple[Known, int | None]],
    missing: int | None = None,
) -> exp.Expression:
    """Return the number that each declared value of a column stands for, or NULL, as SQL.

    A missing value stands for a number of its own, as in ``coalesce(age, 0)``.

    Comparisons alone, so that no row can make it fail. Within bounds, values beyond an end are
    moved to it, as in a sum; of listed values, what is not listed has no number.

    >>> age = Column("age", "integer", bounds=(0, 3))
    >>> halves = [(Fraction(x), x // 2) for x in range(4)]
    >>> lookup(age, halves).sql()
    'CASE WHEN "age" IS NULL THEN NULL WHEN "age" <= 1 THEN 0 ELSE 1 END'
    """
    runs: list[
        tuple[Known, int | None]
    ] = []  # the last value of each run, and its number
    is_range = column.bounds is not None
    # Within bounds order is that of numbers; listed texts are sorted as bytes for the tree.
    listed = list(places) if is_range else sorted(places, key=lambda p: _order(p[0]))
    period = _period([place for _, place in listed]) if is_range else None
    # Periodic functions, as weekdays, become a remainder instead of thousands of runs.
    if period is not None:
        return _repeated(column, listed, period, missing)
    shift = None if is_range else _shift(column, listed)
    if shift is not None and missing is None:
        return _shifted(column, listed, shift)
    for value, place in listed:
        # Neighbouring values with one number share a comparison.
        if is_range and runs and runs[-1][1] == place:
            runs[-1] = (value, place)
        else:
            runs.append((value, place))
    if len(runs) > MOST_RUNS:
        raise InputError(
            f"this function of {column.name!r} changes {len(runs)} times within its declared "
            f"values, at most {MOST_RUNS} are looked up: declare narrower bounds"
        )
    cell = exp.column(exp.to_identifier(column.name, quoted=True))
    # NULL first: every comparison with it would be unknown and fall to ELSE.
    case = exp.case().when(cell.is_(exp.null()), _number(missing))
    inner = _tree(cell, runs, is_range)
    if isinstance(inner, exp.Case):
        for branch in inner.args["ifs"]:
            case = case.when(branch.this, branch.args["true"], copy=False)
        inner = inner.args.get("default")
    return case.else_(inner, copy=False) if inner is not None else case


def _shift(column: Column, listed: Sequence[tuple[Known, int | None]]) -> int | None:
    """Return how much listed whole numbers without gaps are greater than their numbers.

    >>> ward = Column("ward", "integer", values=(4, 5, 6))
    >>> lookup(ward, [(Fraction(4), 0), (Fraction(5), 1), (Fraction(6), 2)]).sql()
    'CASE WHEN "ward" >= 4 AND "ward" <= 6 THEN "ward" - 4 END'
    """
    if column.type != "integer" or len(listed) < 3:
        return None
    first, first_place = listed[0]
    if not isinstance(first, Fraction) or first_place is None:
        return None
    run = [(first + k, first_place + k) for k in range(len(listed))]
    return int(first) - first_place if list(listed) == run else None


def _shifted(
    column: Column, listed: Sequence[tuple[Known, int | None]], shift: int
) -> exp.Expression:
    """Return a lookup by a difference, which takes less time than many comparisons."""
    cell = exp.column(exp.to_identifier(column.name, quoted=True))
    first, last = (constant_of(listed[place][0]) for place in (0, -1))
    is_listed = exp.and_(cell.copy() >= first, cell.copy() <= last)
    return exp.case().when(is_listed, cell - exp.convert(shift) if shift else cell)


def _period(places: Sequence[int | None]) -> int | None:
    """Return after how many values the numbers repeat, if they do so often.

    >>> _period([k % 7 for k in range(100)]), _period([k // 7 for k in range(100)])
    (7, None)
    """
    # At least two full periods, or any sequence would count as periodic.
    longest = min(_LONGEST_PERIOD, len(places) // 2)
    for period in range(2, longest + 1):
        if places[period:] == places[:-period]:
            return period
    return None


def _repeated(
    column: Column,
    listed: Sequence[tuple[Known, int | None]],
    period: int,
    missing: int | None,
) -> exp.Expression:
    """Return a lookup by the remainder of a number, or of a number of days, within the bounds.

    Of numbers within declared bounds neither the difference nor its remainder can fail.
    """
    cell = exp.column(exp.to_identifier(column.name, quoted=True))
    first = constant_of(listed[0][0])
    since = (
        exp.DateDiff(this=cell.copy(), expression=first.copy(), unit=exp.var("DAY"))
        if column.type == "date"
        else exp.paren(cell - first)
    )
    remainder = exp.Mod(this=since, expression=exp.convert(period))
    within = exp.Case(this=remainder)
    for number, (_, place) in enumerate(listed[:period]):
        within = within.when(exp.convert(number), _number(place), copy=False)
    return (
        exp.case()
        .when(cell.is_(exp.null()), _number(missing))
        # Beyond an end the value counts as that end, as in a clamped sum.
        .when(cell <= first, _number(listed[0][1]))
        .when(cell >= constant_of(listed[-1][0]), _number(listed[-1][1]))
        .else_(within)
    )


def _order(value: Known) -> Any:
    # Every source compares texts byte by byte.
    return canonical_text(value).encode() if isinstance(value, str) else value


def _tree(cell: Any, runs: Sequence[tuple[Known, int | None]], is_range: bool) -> Any:
    """Return a search tree over runs: a flat CASE for few of them, else two halves."""
    if len(runs) > _FLAT:
        half = len(runs) // 2
        # Binary search: log2(runs) comparisons a row.
        test = cell <= constant_of(runs[half - 1][0])
        low = _tree(cell, runs[:half], is_range)
        return exp.case().when(test, low).else_(_tree(cell, runs[half:], is_range))
    case = exp.case()
    # Within a range the last run needs no test: it takes whatever is larger.
    for value, place in runs[:-1] if is_range else runs:
        same = cell <= constant_of(value) if is_range else cell.eq(constant_of(value))
        case = case.when(same, _number(place))
    if not is_range:
        return case
    return case.else_(_number(runs[-1][1])) if len(runs) > 1 else _number(runs[-1][1])


def _number(place: int | None) -> exp.Expr:
    return exp.null() if place is None else exp.convert(place)


def constant_of(value: Known) -> Any:
    """Return a declared value as SQL."""
    if isinstance(value, datetime.date):
        return exp.cast(exp.convert(value.isoformat()), "DATE")
    return exp.convert(int(value) if isinstance(value, Fraction) else value)
