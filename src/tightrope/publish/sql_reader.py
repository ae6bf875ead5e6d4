"""From SQL or an Ibis expression to a shape: one SELECT on one declared table, and no more.

What a user wrote is never sent to a database. SQL is taken apart; each piece and each property of
a piece must be on the allow-list, each column declared, each constant of the column's type; and
a new question is built from what was understood. Conditions are chosen so that no row can make
them fail: comparisons, membership, NULL tests and logic. Arithmetic can overflow and casts can
fail on one person's value, and a failure that depends on the data is itself an answer. Texts are
compared for equality only, because their order differs between databases.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import Dialect, ErrorLevel, errors, exp

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Facts, Table, Value, check_text, did_you_mean
from tightrope.publish.shapes import Axis, Kind, Shape, needs_values

#: The shapes, for messages.
KNOWN = (
    "COUNT(*), COUNT(DISTINCT person), SUM, AVG, MEDIAN, MIN, MAX, PERCENTILE_DISC or MODE of a "
    "column, each whole or with columns or bins and GROUP BY; several COUNT(*) FILTER (WHERE …), "
    "the group with the largest count, or COUNT(*) % m"
)


def read_shape(sql: Any, facts: Facts, dialect: str = "duckdb", *, declared: bool = False) -> Shape:
    """Understand SQL that asks one question; see :func:`read_shapes`.

    >>> facts = Facts({"people": Table("people", 100)})
    >>> read_shape("select count(*) from people", facts).question
    'count(100)'
    """
    first, *more = read_shapes(sql, facts, dialect, declared=declared)
    if first.order or first.limit is not None:
        raise InputError(
            "a release has all groups, in the declared order: leave ORDER BY and LIMIT out, or ask "
            "with 'tightrope ask', which sorts what is published"
        )
    if more:
        raise InputError(
            f"this SQL asks {len(more) + 1} questions ({', '.join(first.titles)}, "
            f"{', '.join(title for shape in more for title in shape.titles)}), and a release "
            "answers one: ask for them together with 'tightrope ask'"
        )
    return first


def read_shapes(
    sql: Any, facts: Facts, dialect: str = "duckdb", *, declared: bool = False
) -> list[Shape]:
    """Understand one SELECT, or refuse it before anything is read.

    Parameters
    ----------
    sql
        The text of one SELECT, or an Ibis expression.
    facts
        The public facts; the table and every column must be declared there.
    dialect
        The SQL dialect, by sqlglot's name.
    declared
        Whether the user names the answer graph, so that any one safe number or value will do.

    Examples
    --------
    >>> facts = Facts({"people": Table("people", 100)})
    >>> read_shapes("drop table people", facts)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: the question must be one SELECT, got DROP: nothing else is run
    """
    select = one_select(sql, dialect)
    with _readable():
        shapes = _Reader(facts).shapes(select, declared)
        # Last, because the reader's own refusals say more.
        check_pieces(select)
    return shapes


def one_select(sql: Any, dialect: str, longest: int = 100_000) -> Any:
    """Return the tree of one SELECT, from its text or from an Ibis expression."""
    if not isinstance(sql, str):
        if not hasattr(sql, "op"):
            raise InputError(
                f"the question must be SQL or an Ibis expression, got {type(sql).__name__}"
            )
        import ibis

        sql, dialect = str(ibis.to_sql(sql, dialect="duckdb")), "duckdb"
    if len(sql) > longest:
        raise InputError(f"SQL has at most {longest} characters, got {len(sql)}")
    check_text(sql, "SQL")
    with _readable(sql):
        found = sqlglot.parse(sql, read=dialect)
    parsed = [node for node in found if not isinstance(node, exp.Semicolon | None)]
    if len(parsed) != 1:
        raise InputError(f"the question must be one SELECT, got {len(parsed)} statements")
    if not isinstance(parsed[0], exp.Select):
        raise InputError(
            f"the question must be one SELECT, got {parsed[0].key.upper()}: nothing else is run"
        )
    return parsed[0]


def statements(sql: str, dialect: str = "duckdb") -> list[tuple[str, str]]:
    """Return the statements of SQL, each behind the comments before it.

    >>> statements("/* a; b */ select ';' from t; -- end")
    [('/* a; b */ ', "select ';' from t")]
    """
    with _readable(sql):
        pieces = Dialect.get_or_raise(dialect).tokenize(sql)
    ends = [piece.start for piece in pieces if piece.token_type.name == "SEMICOLON"]
    found = []
    for before, end in itertools.pairwise([-1, *ends, len(sql)]):
        first = next((piece.start for piece in pieces if before < piece.start < end), None)
        if first is not None:
            found.append((sql[before + 1 : first], sql[first:end].strip()))
    return found


@contextlib.contextmanager
def _readable(sql: str = "") -> Iterator[None]:
    """Refuse SQL that cannot be taken apart in one line."""
    try:
        yield
    except (errors.SqlglotError, RecursionError) as wrong:
        raise InputError(f"this is not SQL that can be read: {_trouble(wrong, sql)}") from None


def _trouble(wrong: Exception, sql: str) -> str:
    """Say where SQL cannot be read: sqlglot's own message is for terminals with colours."""
    told: dict[str, Any] = next(iter(getattr(wrong, "errors", [])), {})
    if "line" not in told:
        return "it is nested too deeply" if isinstance(wrong, RecursionError) else "unknown signs"
    lines = sql.splitlines()[told["line"] - 1 : told["line"]]
    before = (lines[0] if lines else "")[: max(told["col"] - len(told["highlight"] or ""), 0)]
    near = f"{before[-30:]}{told['highlight']}".strip()
    what = str(told["description"]).partition(" for <class")[0].rstrip(".")
    return f"{what}, at line {told['line']}, column {told['col']}, after {near!r}"


class _Reader:
    """Takes one SELECT apart."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.aliases: set[str] = set()
        self.wheres: list[Any] = []

    def shapes(self, select: Any, declared: bool) -> list[Shape]:
        """Return what it asks."""
        select = _without_winner_layers(select)
        table = self._table(select)
        reader = ConditionReader(table, self.aliases)
        select = reader.named(select)
        where = all_of([reader.read(condition) for condition in self.wheres])
        targets = list(select.expressions)
        axes, rest = self._axes(select, targets, reader)
        unknown = [axis.column for axis in axes if axis.column is not None]
        asks_for_most = axes and not rest and self._asks_for_most(select, axes)
        shown = {} if asks_for_most else self._arrangement(select, targets, axes)
        if unknown:
            found: list[dict[str, Any]] = self._asked(rest, reader, declared, True) if rest else []
            plain = len(axes) == len(found) == 1 and found[0]["kind"] is Kind.COUNT
            if not plain or found[0].get("people"):
                raise InputError(needs_values(unknown[0], table))
            found[0] |= {"kind": Kind.FOUND, "column": unknown[0]}
        elif asks_for_most:
            found = [{"kind": Kind.MOST, "axes": axes[:1], "titles": (axes[0].title,)}]
        else:
            found = self._asked(rest, reader, declared, bool(axes))
            for one in found:
                one["axes"] = (*axes, *one.get("axes", ()))
        keys = () if asks_for_most else tuple(axis.title for axis in axes)
        names = [*keys, *(title for one in found for title in one.get("titles", ()))]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"two columns of the answer are called {twice!r}: name them apart with AS"
            )
        return [
            Shape(
                table=table,
                keys=keys,
                where=all_of([where, one.pop("condition", None)]),
                used=tuple(reader.used),
                **shown,
                **one,
            )
            for one in found
        ]

    # -- where it reads -------------------------------------------------------------------

    def _table(self, select: Any) -> Table:
        source = _from(select)
        where = select.args.get("where")
        if where is not None:
            self.wheres.append(where.this)
        if isinstance(source, exp.Subquery):
            self.aliases.add(source.alias)
            inner = source.this
            is_plain = isinstance(inner, exp.Select) and not (
                _parts(inner) & {"group", "order", "limit"}
                or [x for x in inner.expressions if not isinstance(x, exp.Star | exp.Column)]
            )
            if not is_plain:
                raise InputError("a subquery may only choose rows of the one table")
            return self._table(inner)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise InputError(
                f"the question must read one declared table, got FROM {_shown(source)}: functions "
                "and files are not read"
            )
        name = f"{source.db}.{source.name}" if source.db else source.name
        table = self._declared(name, source)
        self.aliases |= {source.name, table.name, source.alias}
        return table

    def _declared(self, name: str, source: Any) -> Table:
        for table in self.facts.tables.values():
            if table.name == name or (table.relation or "").lower() == name.lower():
                return table
        is_default = source.db in ("main", "public", "default")  # as Ibis writes it
        if is_default and name.lower() not in map(str.lower, self.facts.tables):
            name = source.name
        return self.facts.table(name, quoted=bool(source.this.args.get("quoted")))

    # -- what it asks ---------------------------------------------------------------------

    def _axes(
        self, select: Any, targets: list[Any], reader: ConditionReader
    ) -> tuple[tuple[Axis, ...], list[Any]]:
        """Return what is grouped by, and the targets that are not."""
        group = select.args.get("group")
        if group is None:
            return (), targets
        aliases = {node.alias.lower(): node for node in targets if isinstance(node, exp.Alias)}
        named: list[Any] = []
        for key in group.expressions:
            node = _numbered(key, targets)
            if isinstance(node, exp.Column) and reader.table.find(node.name) is None:
                node = aliases.get(node.name.lower(), node)
            named.append(next((t for t in targets if _unaliased(t) == _unaliased(node)), None))
        if None in named or len({id(node) for node in named}) < len(named):
            raise InputError("GROUP BY takes columns or bins, which SELECT names too, each once")
        rest = [node for node in targets if not any(node is one for one in named)]
        return tuple(read_axis(node, reader) for node in named), rest

    def _arrangement(self, select: Any, targets: list[Any], axes: Sequence[Axis]) -> dict[str, Any]:
        """Return how the lines of the answer are sorted, and how many of them are shown."""
        order, limit = select.args.get("order"), select.args.get("limit")
        found = []
        for term in [] if order is None else order.expressions:
            node = _numbered(term.this, targets)
            title = _title(node).lower()
            is_named = (t for t in targets if _title(t).lower() == title or _unaliased(t) == node)
            target = next(is_named, None)
            if target is None:
                raise InputError(f"ORDER BY takes what SELECT names, got {_shown(node)}")
            found.append((_title(target), bool(term.args.get("desc"))))
        if limit is not None and not _whole(limit.expression):
            raise InputError(f"LIMIT takes a whole number above 0, got {_shown(limit)}")
        if found == [(axis.title, False) for axis in axes][: len(found)]:
            found = []  # the declared order, which the answer has
        return {"order": tuple(found), "limit": limit and _whole(limit.expression)}

    def _asks_for_most(self, select: Any, axes: Sequence[Axis]) -> bool:
        limit, order = select.args.get("limit"), select.args.get("order")
        is_one = len(axes) == 1 and limit is not None and _is_literal(limit.expression, "1")
        if order is None or not is_one:
            return False
        first, *rest = order.expressions
        ties = [_title(_numbered(term.this, select.expressions)) == axes[0].title for term in rest]
        return _is_count_all(first.this) and bool(first.args.get("desc")) and all(ties)

    def _asked(
        self, targets: list[Any], reader: ConditionReader, declared: bool, grouped: bool
    ) -> list[dict[str, Any]]:
        """Return what each target asks; several counts of the whole table are asked together."""
        found = [_aggregate(node, reader) for node in targets]
        if grouped:  # one answer for all groups, or one for each of them
            fits = {Kind.COUNT} if declared else set(Kind) - {Kind.MODULO}
            found = [one if one and one["kind"] in fits else None for one in found]
        elif declared and len(targets) == 1:
            first = found[0]
            if first is not None and first["kind"] in (Kind.SUM, Kind.MEAN, Kind.QUANTILE):
                # A sum of any size has an answer graph of the user's own.
                column = first["column"]
                is_known = first["kind"] is Kind.SUM and column.bounds and column.type == "integer"
                found = [first if is_known and "condition" not in first else None]
            if found[0] is None:
                value, column = value_of(_unaliased(targets[0]), reader)
                return [{"kind": Kind.DECLARED, "expression": value, "column": column}]
        if not found or None in found:
            raise InputError(f"this SELECT has no known shape; known are: {KNOWN}")
        asked = [one for one in found if one is not None]
        for one, node in zip(asked, targets, strict=True):
            one["titles"] = (_title(node),)
        are_counts = all(one["kind"] is Kind.COUNT and not one.get("people") for one in asked)
        if len(asked) > 1 and are_counts and not grouped:
            conditions = tuple(one.get("condition") for one in asked)
            titles = tuple(one["titles"][0] for one in asked)
            return [{"kind": Kind.COUNTS, "conditions": conditions, "titles": titles}]
        return asked


def _aggregate(node: Any, reader: ConditionReader) -> dict[str, Any] | None:
    """Return what one target computes, or nothing if that is not known.

    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> found = _aggregate(sqlglot.parse_one("sum(case when age > 3 then 1 else 0 end)"), reader)
    >>> found["condition"].sql()
    '"age" > 3'
    """
    test: Any = None
    match _without_default(node):
        case exp.Filter(this=inner, expression=exp.Where(this=condition)):
            found = _aggregate(inner, reader)
            if found is None:
                return None
            test = all_of([found.get("condition"), reader.read(condition)])
            return {**found, "condition": test}
        case exp.Mod(this=inner, expression=modulus) if _is_count_all(inner):
            if not 2 <= _whole(modulus) <= 10**9:
                raise InputError(
                    f"a modulus is a whole number of at least 2, got {_shown(modulus)}"
                )
            return {"kind": Kind.MODULO, "modulus": _whole(modulus)}
        case exp.Count(this=exp.Distinct(expressions=[person])):
            column, table = reader.column(person), reader.table
            if column.name != table.person:
                raise InputError(
                    "COUNT(DISTINCT …) counts people: it takes the column that "
                    f"tables.{table.name}.person names; if that is {column.name!r}, add "
                    f'person = "{column.name}" there'
                )
            return {"kind": Kind.COUNT, "people": True}
        case (exp.Sum() | exp.Avg()) as added if isinstance(_bare(added.this), exp.Column):
            kind = Kind.SUM if isinstance(added, exp.Sum) else Kind.MEAN
            return {"kind": kind, "column": reader.column(added.this)}
        case (
            exp.Mode(this=exp.Expression() as value)
            | exp.WithinGroup(
                this=exp.Mode(), expression=exp.Order(expressions=[exp.Ordered(this=value)])
            )
        ):
            axis = read_axis(value, reader)
            if axis.column is not None:
                raise InputError(needs_values(axis.column, reader.table))
            return {"kind": Kind.MOST, "axes": (axis,)}
        case exp.CountIf(this=condition):
            test = reader.read(condition)
        case exp.Sum(this=exp.Cast(this=condition, to=whole)) if whole.is_type("int", "bigint"):
            test = reader.read(condition)
        case exp.Count(this=exp.Column() as named, expressions=[]):
            test = present(reader.column(named).name)
        case exp.Count(this=exp.Case() as marks, expressions=[]) if _marks(marks, None):
            test = reader.read(marks.args["ifs"][0].this)
        case exp.Sum(this=exp.Case() as marks) if _marks(marks, "0"):
            test = reader.read(marks.args["ifs"][0].this)
        case other if not _is_count_all(other):
            return _quantile(other, reader)
    return {"kind": Kind.COUNT, "condition": test}


def _marks(node: Any, otherwise: str | None) -> bool:
    """Whether CASE marks rows that a condition holds for: THEN 1, and 0 or nothing otherwise."""
    default, ifs = node.args.get("default"), node.args.get("ifs") or []
    if node.this is not None or len(ifs) != 1:
        return False
    one = ifs[0].args.get("true")
    if otherwise is None:
        return default is None and isinstance(one, exp.Literal)
    return _is_literal(default, otherwise) and _is_literal(one, "1")


def _quantile(node: Any, reader: ConditionReader, extreme: str = "1/100") -> dict[str, Any] | None:
    """Return the shape of a median, a quantile, MIN or MAX; ``None`` for anything else.

    MIN and MAX are one person's value each: the 1 % and the 99 % quantile stand for them.
    """
    column, rank = node.this, None
    if isinstance(node, exp.Median | exp.Min | exp.Max) and not node.args.get("expressions"):
        least = Fraction(extreme)
        rank = {exp.Median: Fraction(1, 2), exp.Min: least, exp.Max: 1 - least}[type(node)]
    elif isinstance(node, exp.WithinGroup) and isinstance(node.expression, exp.Order):
        asked, (order, *more) = node.this, node.expression.expressions
        if isinstance(asked, exp.PercentileDisc | exp.PercentileCont) and not more:
            column, rank = order.this, None if order.args.get("desc") else _rank(asked.this)
    elif isinstance(node, exp.Quantile):
        rank = _rank(node.args.get("quantile"))
    elif isinstance(node, exp.PercentileDisc | exp.PercentileCont):
        rank = _rank(node.args.get("expression"))
    if rank is None:
        return None
    return {"kind": Kind.QUANTILE, "column": reader.column(column), "rank": rank}


def _rank(node: Any) -> Fraction:
    told = Fraction(node.this).limit_denominator(10_000) if _is_number(node) else Fraction(0)
    if not 0 < told < 1:
        raise InputError(f"the rank of a quantile is above 0 and below 1, got {_shown(node)}")
    return told


def _title(node: Any) -> str:
    """Return what a target is called: its alias, or what it computes."""
    if isinstance(node, exp.Alias | exp.Column):
        return str(node.alias_or_name)[:60]
    pieces = re.split(r"('[^']*'|\"[^\"]*\")", _shown(node, 1000).replace(" NULLS LAST", ""))
    return "".join(x if x[:1] in ("'", '"') else x.lower() for x in pieces)[:60]


def _numbered(node: Any, targets: Sequence[Any]) -> Any:
    """Return the target that a number stands for, or the piece of SQL itself."""
    node = _bare(node)
    place = _whole(node)
    return targets[place - 1] if 1 <= place <= len(targets) else node


def _whole(node: Any) -> int:
    """Return the whole number that a piece of SQL is, or 0."""
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else 0


# -- groups ---------------------------------------------------------------------------------


def read_axis(node: Any, reader: ConditionReader) -> Axis:
    """Understand one term of GROUP BY: a column, a partition, CASE, or arithmetic on one column.

    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer", bounds=(18, 42))})
    >>> bins = read_axis(sqlglot.parse_one("floor(age/10)*10"), ConditionReader(people, set()))
    >>> bins.classes, bins.conditions[1].sql()
    ((10, 20, 30, 40), '"age" BETWEEN 20 AND 29')
    """
    title, node = _title(node), _unaliased(node)
    if isinstance(node, exp.If):
        node = exp.Case(ifs=[node], default=node.args.get("false"))
    if isinstance(node, exp.Case):
        return _case_axis(title, node, reader)
    if isinstance(node, exp.Column):
        table = reader.table
        if table.find(node.name) is None and node.name in table.partitions:
            partition = table.partitions[node.name]
            column = reader.column(exp.column(partition.column, quoted=True))
            conditions = tuple(one_of(column.name, part) for part in partition.parts.values())
            return Axis(title, tuple(partition.parts), conditions)
        return column_axis(title, reader.column(node), table)
    names = {piece.sql() for piece in node.find_all(exp.Column)}
    if len(names) != 1:
        raise InputError(
            f"GROUP BY takes columns, CASE, or arithmetic on one column, got {_shown(node)}"
        )
    column = reader.column(next(node.find_all(exp.Column)))
    return _tabulated(title, column, reader.table, lambda value: evaluated(node, value))


def column_axis(title: str, column: Column, table: Table) -> Axis:
    """Return the groups by the values of a column.

    >>> column_axis("sex", Column("sex", "text", values=("f", "m")), Table("people")).classes
    ('f', 'm')
    """
    values = (False, True) if column.type == "boolean" else column.values
    if values is None and column.bounds is None and column.type in ("text", "integer"):
        return Axis(title, (), (), column=column)
    if values is None:
        return _tabulated(title, column, table, lambda value: value)
    rest = 0 if column.complete else None
    same = [quoted(column.name).eq(value) for value in values]
    return Axis(
        title, values, tuple(same), rest if column.other is None else values.index(column.other)
    )


def _case_axis(title: str, node: Any, reader: ConditionReader) -> Axis:
    def name(result: Any) -> Value:
        if not isinstance(_bare(result), exp.Literal):
            raise InputError(f"a bin is named by a constant: THEN 'young'; got {_shown(result)}")
        literal = _bare(result)
        return str(literal.this) if literal.is_string or not literal.is_int else int(literal.this)

    conditions: dict[Value, Any] = {}
    for branch in node.args.get("ifs") or []:
        test = branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this)
        label = name(branch.args.get("true"))
        if label in conditions:
            raise InputError(f"the bin {label!r} has two WHEN: write them as one, with OR")
        conditions[label] = reader.read(test)
    default, rest = node.args.get("default"), None
    if default is not None and not isinstance(default, exp.Null):
        conditions.setdefault(name(default), exp.false())
        rest = list(conditions).index(name(default))
    return Axis(title, tuple(conditions), tuple(conditions.values()), rest)


def _tabulated(
    title: str, column: Column, table: Table, name: Callable[[int], Value], most: int = 100_000
) -> Axis:
    """Return the groups that a function of a declared column makes, as ranges of its values.

    The function is applied here, to every declared value: no arithmetic is run on rows.
    """
    if column.type != "integer":
        raise InputError(
            f"column {column.name!r} ({column.type}) is grouped by in bins: CASE WHEN "
            f"{column.name} {'<' if column.type in ConditionReader.ordered else '='} … THEN '…' "
            "ELSE '…' END"
        )
    if column.bounds is None and column.values is None:
        raise InputError(needs_values(column, table))
    low, high = column.bounds or (0, 0)
    values = range(low, high + 1) if column.bounds is not None else column.values or ()
    if len(values) > most:
        raise InputError(
            f"grouping by {column.name!r} needs at most {most} possible values, it has "
            f"{len(values)}: use CASE WHEN … THEN … END"
        )
    runs: dict[Value, list[list[int]]] = {}
    for value in map(int, values):
        mine = runs.setdefault(name(value), [])
        if mine and mine[-1][1] == value - 1:
            mine[-1][1] = value
        else:
            mine.append([value, value])
    cell = quoted(column.name)

    def within(first: int, last: int) -> Any:
        # Values outside the bounds are moved to them, as in a sum.
        if column.bounds == (first, last):
            return present(column.name)
        if column.bounds is not None and first == low:
            return cell <= last
        if column.bounds is not None and last == high:
            return cell >= first
        return one_of(column.name, range(first, last + 1))

    conditions: list[Any] = [exp.or_(*(within(*run) for run in mine)) for mine in runs.values()]
    return Axis(title, tuple(runs), tuple(conditions), 0 if column.complete else None)


def evaluated(node: Any, value: int) -> Any:
    """Return the value of arithmetic on one column, exactly.

    >>> import sqlglot
    >>> [evaluated(sqlglot.parse_one("width_bucket(age, 0, 100, 5)"), x) for x in (-1, 20, 100)]
    [0, 2, 6]
    """

    def whole_part(left: Fraction, right: Fraction) -> int:
        return math.trunc(left / right)

    def bucket(number: Fraction, low: Fraction, high: Fraction, count: Fraction) -> int:
        if not low < high or count < 1:
            raise ArithmeticError
        place = math.floor((number - low) * count / (high - low)) + 1
        return min(max(place, 0), int(count) + 1)

    rules: dict[Any, Callable[..., Any]] = {
        **{exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul},
        **{exp.Neg: operator.neg, exp.Floor: math.floor, exp.Ceil: math.ceil},
        **{exp.Div: operator.truediv, exp.IntDiv: whole_part, exp.WidthBucket: bucket},
        exp.Mod: lambda left, right: left - right * whole_part(left, right),
    }

    def of(part: Any) -> Fraction:
        part = _bare(part)
        if isinstance(part, exp.Column):
            return Fraction(value)
        if _is_number(part):
            return Fraction(part.this)
        words = ("this", "expression", "min_value", "max_value", "num_buckets")
        with contextlib.suppress(ArithmeticError, TypeError):  # 1 / 0, or too few arguments
            if type(part) in rules:
                numbers = [of(part.args[word]) for word in words if part.args.get(word)]
                # Databases that divide whole numbers without a rest cut towards zero.
                cuts = part.args.get("typed") and all(x.denominator == 1 for x in numbers)
                found = Fraction((whole_part if cuts else rules[type(part)])(*numbers))
                if abs(found) < 10**30:  # a name that can be written, and a float
                    return found
            is_whole = isinstance(part, exp.Cast | exp.TryCast) and part.to.is_type("int", "bigint")
            if is_whole and of(part.this).denominator == 1:
                return of(part.this)
        raise InputError(
            "bins are written with + - * / %, floor, width_bucket and CASE on one column of "
            f"whole numbers, and are defined for each of its values; got {_shown(part)}"
        )

    name = of(node)
    return int(name) if name.denominator == 1 else str(float(name))


def one_of(column: str, values: Sequence[Value] | range) -> exp.Expression:
    """Return the condition that a column has one of several values.

    >>> one_of("age", range(18, 40)).sql(), one_of("age", (1, 2)).sql()
    ('"age" BETWEEN 18 AND 39', '"age" IN (1, 2)')
    """
    cell = quoted(column)
    return cell.between(values[0], values[-1]) if isinstance(values, range) else cell.isin(*values)


def _without_winner_layers(select: Any) -> Any:
    """Undo the two subqueries that Ibis puts around the group with the largest count."""
    layers = [select]
    while isinstance(_from(layers[-1]), exp.Subquery):
        layers.append(_from(layers[-1]).this)
    plain = {"expressions", "from"}
    if len(layers) < 3 or [_parts(x) for x in layers[:2]] != [plain, {*plain, "order", "limit"}]:
        return select
    _, middle, groups, *_ = layers
    if _parts(groups) & {"group", "order", "limit"} != {"group"}:
        return select
    names = {node.alias_or_name: _unaliased(node) for node in groups.expressions}
    wanted, (first, *rest) = select.expressions, middle.args["order"].expressions
    key, count = names.get(wanted[0].name), names.get(first.this.name)
    is_whole = len(wanted) == 1 and [type(node) for node in middle.expressions] == [exp.Star]
    if not is_whole or key is None or count is None or rest:
        return select
    flat = groups.copy()
    # GROUP BY 1 must go on naming the key, wherever it stood.
    flat.set("expressions", [key.copy()])
    flat.set("group", exp.Group(expressions=[key.copy()]))
    ordered = exp.Ordered(this=count.copy(), desc=bool(first.args.get("desc")))
    flat.set("order", exp.Order(expressions=[ordered]))
    flat.set("limit", middle.args["limit"].copy())
    return flat


def all_of(conditions: Sequence[Any]) -> Any:
    """Return the condition that all of several hold; ``None`` is none."""
    given = [condition for condition in conditions if condition is not None]
    return exp.and_(*given) if given else None


def _parts(select: Any) -> set[str]:
    return {key.rstrip("_") for key, value in select.args.items() if value}


def _from(select: Any) -> Any:
    clause = select.args.get("from_") or select.args.get("from")
    return None if clause is None else clause.this


def _shown(node: Any, most: int = 80) -> str:
    """Return a piece of SQL for a person, on one line."""
    if node is None:
        return "nothing"
    text = node.sql(comments=False, unsupported_level=ErrorLevel.IGNORE)
    return " ".join(text.split())[:most] or str(node.key)


def value_of(node: Any, reader: ConditionReader) -> tuple[Any, Column | None]:
    """Build a declared question's one value anew: an aggregate of one column, and the column.

    >>> import sqlglot
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> value_of(sqlglot.parse_one("max(AGE)"), reader)[0].sql()
    'MAX("age")'
    """
    match _without_default(node):
        case count if _is_count_all(count):
            return exp.Count(this=exp.Star()), None
        case exp.Count(this=exp.Distinct(expressions=[inner])):
            named = quoted(reader.column(inner).name)
            return exp.Count(this=exp.Distinct(expressions=[named])), None
        case (exp.Min() | exp.Max() | exp.Sum() | exp.Avg()) as value if not value.expressions:
            column = reader.column(value.this)
            # The order of texts differs between databases.
            is_end = isinstance(value, exp.Min | exp.Max)
            if column.type in (reader.ordered if is_end else ("integer", "number")):
                return type(value)(this=quoted(column.name)), column
    raise InputError(
        "a question with an answer graph of its own computes COUNT, or MIN, MAX, SUM or AVG of "
        f"one column of numbers (MIN, MAX also of dates), or has a known shape ({KNOWN})"
    )


def _unaliased(node: Any) -> Any:
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


def _without_default(node: Any) -> Any:
    node = _unaliased(node)
    if isinstance(node, exp.Coalesce) and len(node.expressions) == 1:
        return node.this if _is_literal(node.expressions[0], "0") else node
    return node


def _is_count_all(node: Any) -> bool:
    match _unaliased(node):
        case exp.Count(this=exp.Star() | exp.Literal(is_string=False), expressions=[]):
            return True
    return False


def _is_literal(node: Any, text: str) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this == text


# -- conditions ---------------------------------------------------------------------------------


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
    >>> reader.read(sqlglot.parse_one("age / 0 > 1"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a condition may compare a column with constants or another
    column, test for NULL, and use IN, BETWEEN, AND, OR, NOT; got age / 0
    """

    ordered = ("integer", "number", "date")

    def __init__(self, table: Table, aliases: set[str]) -> None:
        self.table = table
        self.aliases = {alias.lower() for alias in aliases}
        self.used: dict[str, Column] = {}

    def read(self, node: exp.Expression, depth: int = 200) -> exp.Expression:
        """Return the condition built anew."""
        if depth < 0:
            raise InputError("a condition is nested at most 200 deep")
        if isinstance(node, exp.Paren | exp.Not | exp.And | exp.Or):
            parts = {word: node.args.get(word) for word in ("this", "expression")}
            read = {word: self.read(part, depth - 1) for word, part in parts.items() if part}
            return type(node)(**read)
        if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            return self._comparison(node)
        if isinstance(node, exp.Between):
            column = self.column(node.this)
            low, high = (self._constant(node.args[end], column, True) for end in ("low", "high"))
            return quoted(column.name).between(low, high)
        if isinstance(node, exp.In):
            if not 1 <= len(node.expressions) <= 10_000:
                raise InputError("IN takes a list of 1 to 10000 constants, no subquery")
            column = self.column(node.this)
            entries = (self._constant(entry, column, False) for entry in node.expressions)
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

    # -- pieces ---------------------------------------------------------------------------

    def _comparison(self, node: Any) -> exp.Expression:
        ordered = not isinstance(node, exp.EQ | exp.NEQ)
        sides = [_bare(node.this), _bare(node.expression)]
        columns = [self.column(side) for side in sides if isinstance(side, exp.Column)]
        if not columns:
            raise _refusal(node)
        first, second = columns[0], columns[-1]
        if len(columns) < 2:
            built = [
                quoted(first.name)
                if isinstance(side, exp.Column)
                else self._constant(side, first, ordered)
                for side in sides
            ]
        elif not _comparable(first, second) or (ordered and first.type not in self.ordered):
            raise InputError(
                f"columns {first.name!r} ({first.type}) and {second.name!r} ({second.type}) "
                "cannot be compared like this"
            )
        else:
            built = [quoted(first.name), quoted(second.name)]
            if "number" in (first.type, second.type):
                built = [exp.cast(one, "DOUBLE") for one in built]
        kind: type[exp.Expression] = type(node)
        return kind(this=built[0], expression=built[1])

    def _test(self, node: exp.Is) -> exp.Expression:
        column, what = self.column(node.this), node.expression
        if node.args.get("negate"):
            return exp.Not(this=self._test(exp.Is(this=node.this, expression=what)))
        if isinstance(what, exp.Null):
            return quoted(column.name).is_(exp.null())
        if isinstance(what, exp.Boolean) and column.type == "boolean":
            # IS TRUE is total: NULL counts as not true.
            same = quoted(column.name).eq(bool(what.this))
            return exp.paren(exp.And(this=present(column.name), expression=same))
        raise _refusal(node)

    def named(self, tree: Any) -> Any:
        """Return SQL with its columns named as they are declared: equal pieces are then equal."""

        def declared(node: Any) -> Any:
            is_ours = isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)
            if not is_ours or (node.table and node.table.lower() not in self.aliases):
                return node
            found = self.table.find(node.name, quoted=bool(node.this.args.get("quoted")))
            return node if found is None else exp.column(found.name)

        return tree.transform(declared)

    def column(self, node: Any) -> Column:
        """Return the declared column that a piece of SQL names."""
        node = _bare(node)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
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
        node, sign = _bare(node), 1
        if isinstance(node, exp.Neg) and column.type in ("integer", "number"):
            node, sign = node.this, -1
        match column.type:
            case "integer" if _is_number(node) and node.this.isdigit() and len(node.this) <= 18:
                self._check_known(column, sign * int(node.this), ordered)
                return exp.convert(sign * int(node.this))
            case "integer" | "number" if _is_number(node):
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
            f"with {_shown(node)}"
        )

    def _check_known(self, column: Column, value: Value, ordered: bool) -> None:
        """Refuse to compare with a value that nobody has: a slip would be paid for in full."""
        if column.values is not None and not ordered and value not in column.values:
            more = "" if len(column.values) <= 20 else f", … ({len(column.values)} in all)"
            raise InputError(
                f"{value!r} is no value of column {column.name!r} in the public facts (they know "
                f"{', '.join(map(repr, column.values[:20]))}{more})"
                f"{did_you_mean(str(value), map(str, column.values))}"
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


def _bare(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _comparable(first: Column, second: Column) -> bool:
    numbers = ("integer", "number")
    return first.type == second.type or (first.type in numbers and second.type in numbers)


def _is_number(node: Any) -> bool:
    is_short = isinstance(node, exp.Literal) and not node.is_string and len(node.this) <= 40
    return is_short and re.fullmatch(r"\d+\.?\d*|\.\d+", node.this, re.ASCII) is not None


def _is_text(node: Any) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string) and "\0" not in node.this


def _date(node: Any) -> datetime.date | None:
    with contextlib.suppress(ValueError, TypeError, AttributeError, OverflowError):
        if isinstance(node, exp.Cast | exp.TryCast) and node.to.is_type("date"):
            node = node.this
        if isinstance(node, exp.DateFromParts | exp.Date):
            parts = [node.args.get(key) for key in ("year", "month", "day")]
            return datetime.date(*(int(part.this) for part in parts))  # type: ignore[union-attr]
        if _is_text(node):
            return datetime.date.fromisoformat(node.this)
    return None


def _refusal(node: Any) -> InputError:
    plain = exp.Column | exp.Literal | exp.Identifier
    parts = [part for part in (node.this, node.expression) if isinstance(part, exp.Expression)]
    odd = next((part for part in parts if not isinstance(part, plain)), node)
    return InputError(
        "a condition may compare a column with constants or another column, test for NULL, and "
        f"use IN, BETWEEN, AND, OR, NOT; got {_shown(odd)}"
    )


# -- the allow-list -----------------------------------------------------------------------------

#: Kinds of pieces, and the properties that they may have. One that readers do not know (a
#: negation, a collation, a sampling clause) would be dropped without a word, and change the
#: question.
ALLOWED: dict[str, frozenset[str]] = {
    kind: frozenset(properties.split())
    for kinds, properties in {
        "Select": "expressions from where group order limit",
        "Subquery Alias": "this alias",
        "Table": "this db alias",
        "Identifier": "this quoted",
        "Column": "this table",
        "Star Null": "",
        "Group Order Distinct": "expressions",
        "Ordered": "this desc nulls_first",
        "Limit": "expression",
        "Count": "this big_int",
        "Case": "this ifs default",
        "If": "this true false",
        "Coalesce In": "this expressions",
        "Cast": "this to _type",
        "TryCast": "this to _type safe requires_string",
        "DataType": "this nested",
        "DateFromParts": "year month day",
        "Literal": "this is_string",
        "Between": "this low high",
        "Is": "this expression negate",
        "Div": "this expression typed safe",
        "WidthBucket": "this min_value max_value num_buckets",
        "Quantile": "this quantile",
        "From TableAlias Where Boolean Neg Paren Not": "this",
        "CountIf Sum Min Max Avg Floor Ceil Median Mode": "this",
        "Filter WithinGroup PercentileDisc PercentileCont": "this expression",
        "And Or EQ NEQ GT GTE LT LTE Add Sub Mul IntDiv Mod": "this expression",
    }.items()
    for kind in kinds.split()
}


def check_pieces(tree: Any) -> None:
    """Refuse SQL with a piece, or a property of a piece, that is not on the list.

    >>> import sqlglot
    >>> check_pieces(sqlglot.parse_one("select count(*) from people where age > 3"))
    >>> check_pieces(sqlglot.parse_one("select count(*) from people where pg_sleep(9)"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: this SQL uses something that questions may not use: PG_SLEEP(9)
    """
    for node in tree.walk():
        known = ALLOWED.get(type(node).__name__)
        there = [name.rstrip("_") for name, value in node.args.items() if value]
        extra = [] if known is None else sorted(set(there) - known)
        if known is None or extra:
            more = f" ({', '.join(extra)})" if extra else ""
            raise InputError(
                f"this SQL uses something that questions may not use{more}: {_shown(node)}"
            )
