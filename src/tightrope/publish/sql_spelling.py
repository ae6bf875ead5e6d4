"""One spelling for pieces of SQL that are written in several ways, before anything is read.

Each rewriting holds for every table: nothing here knows the facts.
"""

from __future__ import annotations

import calendar
import contextlib
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tightrope.publish.sql_pieces import (
    all_of,
    rewritten,
    source_of,
    unaliased,
    unnested,
    whole_literal,
)

#: How many months the units of INTERVAL have, or how many days.
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}


def spelled_alike(tree: Any) -> Any:
    """Return SQL in the one spelling that readers know.

    >>> import sqlglot
    >>> sql = "select sum(a > 1) from t where d < date '2024-01-31' + interval 1 month"
    >>> print(spelled_alike(sqlglot.parse_one(sql)).sql())
    SELECT SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END) FROM t WHERE d < CAST('2024-02-29' AS DATE)
    >>> sql = "select round(safe_divide(avg(if(a, 1, 0)), b))"
    >>> print(spelled_alike(sqlglot.parse_one(sql)).sql())
    SELECT ROUND(AVG(CASE WHEN a THEN 1 ELSE 0 END) / NULLIF(b, 0))
    """
    # What a piece is rewritten to is made of pieces in their one spelling.
    return rewritten(tree, _respelled)


def _respelled(node: Any) -> Any:
    """Return one piece of SQL in the spelling that readers know."""
    match node:
        case exp.Anonymous(this=name, expressions=arguments):
            rule = _FUNCTIONS.get((str(name).lower(), len(arguments)))
            return node if rule is None else rule(*arguments) or node
        case exp.Literal(is_string=False, this=number) if "e" in number.lower():
            return _written_out(node)
        case exp.If(this=test, arg_key=place) if place != "ifs":
            return _case(test, node.args["true"], node.args.get("false"))
        case exp.SafeDivide(this=above, expression=below):
            return _divided(above, below)
        case exp.ApproxQuantile(this=column, args={"quantile": rank}):
            return exp.Quantile(this=column, quantile=rank)
        case exp.ToChar(this=day, args={"format": exp.Literal() as pattern}):
            return _formatted(day, _signs_of(pattern.this)) or node
        case (
            exp.Date(this=exp.Literal() as day, args={"expressions": []})
            | exp.Date(this=exp.Column() as day, args={"expressions": []})
        ):
            return exp.cast(day, "DATE")
        case exp.Add(
            this=exp.Cast() as day, expression=exp.Interval() | exp.Literal() as step
        ):
            return _shifted(day, step, 1) or node
        case exp.Sub(
            this=exp.Cast() as day, expression=exp.Interval() | exp.Literal() as step
        ):
            return _shifted(day, step, -1) or node
        case exp.Sum(this=exp.Predicate() | exp.Connector() | exp.Not() as test):
            return exp.Sum(this=_case(test, exp.convert(1), exp.convert(0)))
        case exp.Sum(this=exp.Case() as case) | exp.Avg(this=exp.Case() as case):
            return _of_some_rows(node, case) or node
        case exp.EQ(this=subject, expression=exp.Any(this=listed)) if isinstance(
            listed.unnest(), exp.Array
        ):
            return exp.In(this=subject, expressions=listed.unnest().expressions)
        case exp.In(this=subject, expressions=[exp.Values() as listed]):
            rows = [row.expressions for row in listed.expressions]
            return _in_list(node, subject, rows)
        case exp.In(this=exp.Tuple() as subject, expressions=[*rows]) if rows:
            return _in_rows(subject.expressions, rows) or node
        case exp.In(this=subject, args={"query": exp.Subquery(this=inner)}):
            return _in_list(node, subject, _constant_rows(inner))
        case exp.Select():
            _name_groups(node)
            _group_distinct(node)
            _join_on(node)
            _move_conditions(node)
            _join_members(node)
            _limit(node)
    return node


def _case(test: Any, yes: Any, no: Any) -> Any:
    return exp.Case(ifs=[exp.If(this=test, true=yes)], default=no)


def _of_some_rows(node: Any, case: Any) -> Any:
    """Return SUM(CASE WHEN … THEN a ELSE 0 END) as the SUM of a over the rows that are meant.

    The mean of such a column is one over these rows only where the others have no value.
    """
    if len(case.args["ifs"]) != 1:
        return None
    (branch,) = case.args["ifs"]
    default = case.args.get("default")
    is_nothing = default is None or isinstance(default, exp.Null)
    is_zero = isinstance(default, exp.Literal) and default.this in ("0", "0.0")
    is_some = is_nothing or (is_zero and isinstance(node, exp.Sum))
    if not is_some or branch.args["true"].find(exp.Column) is None:
        return None
    test = branch.this
    if case.this is not None:
        test = exp.EQ(this=case.this.copy(), expression=test)
    return _with_filter(type(node))(branch.args["true"], test)


def _divided(above: Any, below: Any) -> Any:
    """Return a quotient that is NULL where the divisor is 0."""
    zero = exp.Literal.number(0)
    divisor = exp.Nullif(this=below, expression=zero)
    return exp.Div(this=above, expression=divisor, typed=False, safe=False)


def _extracted(part: Any, day: Any) -> Any:
    """Return a part of a date, which some databases name by a text and some by a word."""
    is_named = isinstance(part, exp.Literal | exp.Column)
    return is_named and exp.Extract(this=exp.var(part.name.upper()), expression=day)


def _formatted(day: Any, pattern: str) -> Any:
    """Return a date as a text, or nothing where there is no pattern."""
    text = exp.Literal.string(pattern)
    return exp.TimeToStr(this=day, format=text) if pattern else None


#: The signs of TO_CHAR in those of STRFTIME.
_SIGNS = {"YYYY": "%Y", "YY": "%y", "MM": "%m", "DDD": "%j", "DD": "%d", "IYYY": "%G",
          "IW": "%V"}  # fmt: skip


def _signs_of(pattern: str) -> str:
    """Return a pattern of TO_CHAR as one of STRFTIME; nothing where a sign is not known.

    >>> _signs_of("YYYY-MM"), _signs_of("HH24:MI")
    ('%Y-%m', '')
    """
    pieces = re.findall("[A-Za-z]+|[^A-Za-z]+", pattern)
    words = re.compile("|".join(sorted(_SIGNS, key=len, reverse=True)))
    found = []
    for piece in pieces:
        signs = words.sub("", piece.upper())
        # Letters that are left over stand for something else.
        if piece[0].isalpha() and signs:
            return ""
        found.append(words.sub(lambda sign: _SIGNS[sign[0]], piece.upper()))
    return "".join(found)


def _with_filter(function: type[Any]) -> Callable[..., Any]:
    def rule(value: Any, test: Any) -> Any:
        return exp.Filter(this=function(this=value), expression=exp.Where(this=test))

    return rule


def _quantile(column: Any, rank: Any) -> Any:
    return exp.Quantile(this=column, quantile=rank)


def _coalesce(value: Any, default: Any) -> Any:
    return exp.Coalesce(this=value, expressions=[default])


#: Functions that the parser does not know, by their names and numbers of arguments.
_FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("date_part", 2): _extracted,
    ("datepart", 2): _extracted,
    ("julianday", 1): lambda day: isinstance(day, exp.Column) and day,
    ("iff", 3): _case,
    ("isnull", 2): _coalesce,
    ("nullifzero", 1): lambda x: exp.Nullif(this=x, expression=exp.Literal.number(0)),
    ("div0", 2): lambda x, y: _coalesce(_divided(x, y), exp.Literal.number(0)),
    ("approx_percentile", 2): _quantile,
    ("percentile_approx", 2): _quantile,
    ("percentile", 2): _quantile,
    ("every", 1): lambda test: exp.LogicalAnd(this=test),
    ("mean", 1): lambda x: exp.Avg(this=x),
    ("var", 1): lambda x: exp.Variance(this=x),
    ("varp", 1): lambda x: exp.VariancePop(this=x),
    ("stdevp", 1): lambda x: exp.StddevPop(this=x),
    ("sum_if", 2): _with_filter(exp.Sum),
    ("sumif", 2): _with_filter(exp.Sum),
    ("avg_if", 2): _with_filter(exp.Avg),
    ("avgif", 2): _with_filter(exp.Avg),
    ("to_date", 1): lambda x: isinstance(x, exp.Literal) and exp.cast(x, "DATE"),
    ("date_format", 2): lambda day, text: _formatted(day, text.name),
    ("format_date", 2): lambda text, day: _formatted(day, text.name),
}


def _written_out(number: Any) -> Any:
    """Return a number such as 1e6 without its exponent."""
    value = decimal.Decimal(number.this)
    # Beyond these no constant is read, and writing it out could take for ever.
    if abs(value.adjusted()) > 30:
        return number
    digits = format(value, "f")
    # Such a number is a double, so what it divides is divided with a rest.
    return exp.Literal.number(digits if "." in digits else f"{digits}.0")


def _in_rows(subjects: list[Any], rows: list[Any]) -> Any:
    """Return membership of several columns in rows of constants as comparisons of each."""
    tests = []
    for row in rows:
        values = row.expressions if isinstance(row, exp.Tuple) else []
        if len(values) != len(subjects):
            return None
        pairs = zip(subjects, values, strict=True)
        tests.append(exp.and_(*(exp.EQ(this=x.copy(), expression=y) for x, y in pairs)))
    return exp.paren(exp.or_(*tests))


def _limit(select: Any) -> None:
    """Write FETCH FIRST n ROWS ONLY as LIMIT n."""
    fetch = select.args.get("limit")
    if isinstance(fetch, exp.Fetch):
        options = fetch.args.get("limit_options")
        given = () if options is None else _given(options)
        if not {"percent", "with_ties"} & set(given):
            select.set("limit", exp.Limit(expression=fetch.args["count"]))


def _name_groups(select: Any) -> None:
    """Write GROUP BY ALL as what it means: by everything in SELECT that is no aggregate."""
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        targets = map(unaliased, select.expressions)
        keys = [x.copy() for x in targets if x.find(exp.AggFunc) is None]
        select.set("group", exp.Group(expressions=keys))


def _group_distinct(select: Any) -> None:
    """Write SELECT DISTINCT of a subquery as GROUP BY: both leave one row for each value."""
    distinct = select.args.get("distinct")
    is_plain = distinct is not None and not distinct.args.get("on")
    has_more = select.args.get("group") or any(
        x.find(exp.AggFunc, exp.Window) for x in select.expressions
    )
    if is_plain and isinstance(select.parent, exp.Subquery) and not has_more:
        keys = [unaliased(x).copy() for x in select.expressions]
        select.set("distinct", None)
        select.set("group", exp.Group(expressions=keys))


def _join_members(select: Any) -> None:
    """Write membership in a subquery, and EXISTS, as a join with the groups of the subquery.

    There is one group for each value, so the join repeats no row; who has a partner is a member.
    """
    where = select.args.get("where")
    tests = [] if where is None else list(where.find_all(exp.In, exp.Exists))
    tests = [test for test in tests if test.find_ancestor(exp.Select) is select]
    outer = {source.alias_or_name.lower() for source in _sources(select)}
    for test in tests:
        member = _member(test, outer)
        if member is None:
            continue
        number = len(select.args.get("joins") or []) + 1
        subject, groups, key = member
        called = f"members {number}"
        key_name = f"key {number}"
        rows_name = f"rows {number}"
        rows = exp.Count(this=exp.Star(), big_int=True)
        groups.set(
            "expressions",
            [_called(key, key_name), _called(rows, rows_name)],
        )
        if not groups.args.get("group"):
            groups.set("group", exp.Group(expressions=[key.copy()]))
        # A condition that must hold leaves the others out; elsewhere they are kept and tested.
        must = any(part is test for part in unnested(where.this))
        here = exp.to_identifier(called, quoted=True)
        join = exp.Join(
            this=exp.Subquery(this=groups, alias=exp.TableAlias(this=here)),
            on=exp.EQ(this=subject, expression=_quoted(key_name, called)),
            side=None if must else "LEFT",
        )
        select.append("joins", join)
        is_there = _quoted(rows_name, called).is_(exp.null()).not_()
        test.replace(exp.true() if must else exp.paren(is_there))
    parts = [] if where is None else unnested(where.this)
    left = [part for part in parts if part != exp.true()]
    if len(left) < len(parts):
        rest = all_of([part.copy() for part in left])
        select.set("where", rest and exp.Where(this=rest))


def _member(test: Any, outer: set[str]) -> tuple[Any, Any, Any] | None:
    """Return what is compared with the rows of a subquery, these rows, and their column."""
    query = test.args.get("query") if isinstance(test, exp.In) else test
    inner = query.this if isinstance(query, exp.Subquery | exp.Exists) else None
    known = {"expressions", "from", "from_", "where", "group", "having", "joins"}
    if not isinstance(inner, exp.Select) or not set(_given(inner)) <= known:
        return None
    if isinstance(test, exp.In):
        is_one = len(inner.expressions) == 1 and isinstance(test.this, exp.Column)
        key = unaliased(inner.expressions[0])
        is_column = is_one and isinstance(key, exp.Column)
        return (test.this.copy(), inner.copy(), key.copy()) if is_column else None
    where = inner.args.get("where")
    own = {source.alias_or_name.lower() for source in _sources(inner)}
    parts = [] if where is None else unnested(where.this)
    for part in parts:
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        for mine, other in (sides, sides[::-1]) if sides else ():
            if _is_of(mine, own) and _is_of(other, outer - own):
                groups = inner.copy()
                rest = all_of([x.copy() for x in parts if x is not part])
                groups.set("where", rest and exp.Where(this=rest))
                return other.copy(), groups, mine.copy()
    return None


def _sources(select: Any) -> list[Any]:
    """Return what a SELECT reads."""
    first = source_of(select)
    joined = [join.this for join in select.args.get("joins") or []]
    return ([] if first is None else [first]) + joined


def _is_of(node: Any, tables: set[str]) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() in tables


def _called(node: Any, name: str) -> Any:
    return exp.alias_(node.copy(), exp.to_identifier(name, quoted=True))


def _quoted(name: str, table: str) -> Any:
    quoted = [exp.to_identifier(word, quoted=True) for word in (name, table)]
    return exp.column(quoted[0], table=quoted[1])


def _join_on(select: Any) -> None:
    """Move from WHERE to ON which columns of two tables, named with a comma, are equal."""
    where = select.args.get("where")
    parts = [] if where is None else unnested(where.this)
    for join in select.args.get("joins") or []:
        name = join.this.alias_or_name.lower()
        equal = next((part for part in parts if _is_between(part, name)), None)
        if set(_given(join)) == {"this"} and equal is not None:
            parts = [part for part in parts if part is not equal]
            join.set("on", equal.copy())
            rest = all_of([part.copy() for part in parts])
            select.set("where", rest and exp.Where(this=rest))


def _move_conditions(select: Any) -> None:
    """Move from ON to WHERE what an inner join asks beside which columns are equal."""
    where = select.args.get("where")
    parts = [] if where is None else unnested(where.this)
    for join in select.args.get("joins") or []:
        is_inner = not join.args.get("side") and join.args.get("kind") in (
            None,
            "",
            "INNER",
        )
        asked = unnested(join.args["on"]) if is_inner and join.args.get("on") else []
        name = join.this.alias_or_name.lower()
        equal = next((part for part in asked if _is_between(part, name)), None)
        if equal is not None and len(asked) > 1:
            parts += [part for part in asked if part is not equal]
            join.set("on", equal.copy())
            both = all_of([part.copy() for part in parts])
            select.set("where", exp.Where(this=both))


def _is_between(part: Any, name: str) -> bool:
    """Whether a condition is that a column of one table equals one of another table."""
    sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
    tables = [side.table.lower() for side in sides if isinstance(side, exp.Column)]
    return (
        len(tables) == 2
        and name in tables
        and "" not in tables
        and len(set(tables)) == 2
    )


def _shifted(day: Any, step: Any, sign: int) -> Any:
    """Return a constant day so many days, months or years later, or nothing."""
    # A number alone is one of days.
    unit = str(step.args.get("unit") or "DAY").upper().removesuffix("S")
    count = step.this if isinstance(step, exp.Interval) else step
    if not day.to.is_type("date") or not isinstance(count, exp.Literal):
        return None
    number = whole_literal(exp.Literal.number(count.this))
    # No date is made of a text that is none, or beyond the years that there are.
    with contextlib.suppress(ValueError, OverflowError):
        start = datetime.date.fromisoformat(day.this.this)
        if number and unit in _DAYS:
            start += datetime.timedelta(days=sign * number * _DAYS[unit])
        elif number and unit in _MONTHS:
            start = _months_later(start, sign * number * _MONTHS[unit])
        else:
            return None
        return exp.cast(exp.Literal.string(start.isoformat()), "DATE")
    return None


def _months_later(day: datetime.date, months: int) -> datetime.date:
    """Return the same day of another month, or the last one that it has."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, min(day.day, last))


def _constant_rows(query: Any) -> list[Any]:
    """Return the rows of SELECTs of constants, without FROM, or a row of nothing."""
    if isinstance(query, exp.Union):
        return [*_constant_rows(query.this), *_constant_rows(query.expression)]
    is_plain = isinstance(query, exp.Select) and set(_given(query)) == {"expressions"}
    return [list(map(unaliased, query.expressions))] if is_plain else [[]]


def _given(node: Any) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _in_list(node: Any, subject: Any, rows: list[Any]) -> Any:
    """Return membership in rows of one constant as membership in a list."""
    constants = [row[0] for row in rows if len(row) == 1]
    is_list = len(constants) == len(rows) and all(
        isinstance(constant, exp.Literal) for constant in constants
    )
    return exp.In(this=subject, expressions=constants) if is_list else node
