"""From SQL or an Ibis expression to a shape: one SELECT on one declared table, and no more.

What a user wrote is never sent to a database. SQL is taken apart; each piece and each property of
a piece must be on the allow-list, each column declared, each constant of the column's type; and
a new question is built from what was understood. What each shape accepts, the shape says itself.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import Dialect, errors, exp

from tightrope.errors import InputError
from tightrope.publish.arithmetic import OutputCondition, PublishedNumber
from tightrope.publish.axes import Axis, read_axis
from tightrope.publish.facts import Facts, Table, check_text
from tightrope.publish.post_processing import (
    AS_PUBLISHED,
    OutputColumn,
    PostProcessing,
)
from tightrope.publish.shapes import (
    SHAPES,
    Crossed,
    Declared,
    Parsed,
    SelectParts,
    Shape,
    Tables,
)
from tightrope.publish.sql_arithmetic import ArithmeticReader
from tightrope.publish.sql_from import read_rows, without_layer
from tightrope.publish.sql_pieces import (
    ConditionReader,
    all_of,
    clauses_of,
    numbered,
    shown_sql,
    source_of,
    title_of,
    unaliased,
    whole_literal,
    without_default,
)
from tightrope.publish.sql_refusals import RowValue, unread
from tightrope.publish.sql_scalars import check_totals, without_scalars
from tightrope.publish.sql_spelling import spelled_alike

#: The shapes, for messages.
KNOWN = (
    "COUNT(*), COUNT(DISTINCT person), SUM, AVG, MEDIAN, MIN, MAX, PERCENTILE_DISC or MODE of a "
    "column, each whole or with columns or bins and GROUP BY; several COUNT(*) FILTER (WHERE …), "
    "the group with the largest count, or COUNT(*) % m"
)


def read_shape(
    sql: Any, facts: Facts, dialect: str = "duckdb", *, declared: bool = False
) -> Shape:
    """Understand SQL that asks one question; see :func:`read_shapes`.

    >>> facts = Facts({"people": Table("people", 100)})
    >>> read_shape("select count(*) from people", facts).question
    'count(100)'
    """
    first, *more = read_shapes(sql, facts, dialect, declared=declared)
    if first.after != AS_PUBLISHED:
        raise InputError(
            "a release has all groups, in the declared order, and its numbers as they are drawn: "
            "leave arithmetic, HAVING, ORDER BY and LIMIT out, or ask with 'tightrope ask', which "
            "computes and sorts what is published"
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
    moment = select.find(*_MOMENTS)
    if moment is not None:
        raise InputError(
            f"{shown_sql(moment)} is another day whenever it is asked, and an answer is recorded "
            "and repeated as it was written: write the day, such as DATE '2024-01-01'"
        )
    with _readable():
        shapes = _Reader(facts).shapes(select, declared)
        # An allow-list: what no reader knows might change the meaning without being noticed.
        # Last, because the reader's own refusals say more.
        check_pieces(select)
    return shapes


#: What has another value tomorrow.
_MOMENTS = (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.CurrentDatetime)


def one_select(sql: Any, dialect: str, longest: int = 100_000) -> Any:
    """Return the tree of one SELECT, from its text or from an Ibis expression."""
    if not isinstance(sql, str):
        if not hasattr(sql, "op"):
            raise InputError(
                f"the question must be SQL or an Ibis expression, got {type(sql).__name__}"
            )
        import ibis

        # Ibis is compiled to one dialect, so there is one parser to trust.
        sql = str(ibis.to_sql(sql, dialect="duckdb"))
        dialect = "duckdb"
    # The parser is recursive, so the length of untrusted input is bounded.
    if len(sql) > longest:
        raise InputError(f"SQL has at most {longest} characters, got {len(sql)}")
    check_text(sql, "SQL")
    parsed = _parsed(sql, dialect)
    if len(parsed) != 1:
        raise InputError(
            f"the question must be one SELECT, got {len(parsed)} statements"
        )
    if isinstance(parsed[0], exp.Union):
        raise InputError(
            "the question must be one SELECT, got UNION: ask for its parts as groups of one "
            "SELECT, or as COUNT(*) FILTER (WHERE …) beside each other, or each by itself, in one "
            "file with --file"
        )
    if not isinstance(parsed[0], exp.Select):
        raise InputError(
            f"the question must be one SELECT, got {parsed[0].key.upper()}: nothing else is run"
        )
    return parsed[0]


@functools.lru_cache(maxsize=64)
def _parsed(sql: str, dialect: str) -> list[Any]:
    """Parse a text once; readers copy what they change."""
    with _readable(sql):
        nodes = sqlglot.parse(sql, read=dialect)
        return [
            # Spellings of one function in several dialects become one node, which readers know.
            spelled_alike(node)
            for node in nodes
            if not isinstance(node, exp.Semicolon | None)
        ]


def statements(sql: str, dialect: str = "duckdb") -> list[tuple[str, str]]:
    """Return the statements of SQL, each behind the comments before it.

    >>> statements("/* a; b */ select ';' from t; -- end")
    [('/* a; b */ ', "select ';' from t")]
    """
    with _readable(sql):
        pieces = Dialect.get_or_raise(dialect).tokenize(sql)
    # Tokens, not a split at ';': a semicolon inside a string ends no statement.
    ends = [piece.start for piece in pieces if piece.token_type.name == "SEMICOLON"]
    found = []
    for before, end in itertools.pairwise([-1, *ends, len(sql)]):
        first = next(
            (piece.start for piece in pieces if before < piece.start < end), None
        )
        if first is not None:
            found.append((sql[before + 1 : first], sql[first:end].strip()))
    return found


@contextlib.contextmanager
def _readable(sql: str = "") -> Iterator[None]:
    """Refuse SQL that cannot be taken apart in one line."""
    try:
        yield
    except (errors.SqlglotError, RecursionError) as wrong:
        raise InputError(
            f"this is not SQL that can be read: {_trouble(wrong, sql)}"
        ) from None


def _trouble(wrong: Exception, sql: str) -> str:
    """Say where SQL cannot be read: sqlglot's own message is for terminals with colours."""
    mistake: dict[str, Any] = next(iter(getattr(wrong, "errors", [])), {})
    if "line" not in mistake:
        return (
            "it is nested too deeply"
            if isinstance(wrong, RecursionError)
            else "unknown signs"
        )
    lines = sql.splitlines()[mistake["line"] - 1 : mistake["line"]]
    before = (lines[0] if lines else "")[
        : max(mistake["col"] - len(mistake["highlight"] or ""), 0)
    ]
    if re.match(r"\s*select\s+top\b", sql, re.IGNORECASE):
        return "TOP n is written as LIMIT n behind ORDER BY"
    near = f"{before[-30:]}{mistake['highlight']}".strip()
    what = str(mistake["description"]).partition(" for <class")[0].rstrip(".")
    return f"{what}, at line {mistake['line']}, column {mistake['col']}, after {near!r}"


class _Reader:
    """Takes one SELECT apart."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def shapes(self, select: Any, declared: bool) -> list[Shape]:
        """Return what it asks."""
        # These change which rows are counted; ignoring one would answer another question.
        for word in ("distinct", "offset"):
            if select.args.get(word):
                raise unread(select, [word])
        # Without a window it is HAVING under another name, which no database takes.
        if select.args.get("qualify") and select.find(exp.Window) is None:
            raise unread(select, ["qualify"])
        select = without_layer(_without_winner_layers(select))
        select, totals = without_scalars(select)
        select, rows = read_rows(select, self.facts)
        called = {alias for member in rows.members for alias in member.aliases}
        reader = ConditionReader(rows.table, called)
        reader.rules |= dict.fromkeys(rows.rules)
        select = reader.named(select)
        # Conditions are rebuilt from known pieces: no text of the user reaches the database.
        wheres = [reader.named(condition) for condition in rows.wheres]
        where = all_of([reader.read(condition) for condition in wheres])
        grouped, rest, sets = self._axes(select, list(select.expressions), reader)
        axes = tuple(axis for _, axis in grouped)
        check_totals(totals, axes)
        parts = SelectParts(select, axes, rest, sets=sets)
        whole = _joint(parts, reader.table) if not rest else None
        if declared:
            asked = self._declared_answer(parts, reader)
        elif whole is not None:  # the group with the largest count is no number
            asked = [whole]
        else:
            numbers = ArithmeticReader(
                grouped,
                select,
                lambda node: _aggregate(node, reader, bool(axes)),
                reader,
            )
            after = self._after(select, rest, axes, numbers)
            asked = self._asked(parts, numbers, reader.table)
        # The group with the largest count has no keys: it is one value.
        is_table = all("keys" not in fields for fields in asked)
        keys = tuple(axis.title for axis in axes) if is_table else ()
        shared: dict[str, Any] = {
            "table": reader.table,
            "keys": keys,
            "used": tuple(reader.used),
            "rules": tuple(reader.rules),
        }
        # Declared answers and the largest group are released as they are, without post-processing.
        if not declared and whole is None:
            shared["after"] = after
            _check_names(
                (*keys, *after.titles([x.leaf.title for x in numbers.aggregates]))
            )
        return [_built({**shared, **fields}, where) for fields in asked]

    # -- what it asks ---------------------------------------------------------------------

    def _axes(
        self, select: Any, targets: list[Any], reader: ConditionReader
    ) -> tuple[list[tuple[Any, Axis]], list[Any], tuple[tuple[int, ...], ...]]:
        """Return what is grouped by, the targets that are not, and several grouping sets."""
        group = select.args.get("group")
        if group is None:
            return [], targets, ()
        keys, sets = grouping_sets(group)
        aliases = {
            node.alias.lower(): node for node in targets if isinstance(node, exp.Alias)
        }
        named: list[Any] = []
        for key in keys:
            node = numbered(key, targets)
            # SQL prefers a column of the table over an alias of the same name.
            if isinstance(node, exp.Column) and reader.table.find(node.name) is None:
                node = aliases.get(node.name.lower(), node)
            named.append(
                next((t for t in targets if unaliased(t) == unaliased(node)), None)
            )
        for key, target in zip(keys, named, strict=True):
            # Of several tables a column may be named by what stands for NULL in totals.
            is_named = sets and any(
                key in node.find_all(exp.Column) for node in targets
            )
            if target is None and not is_named:
                raise InputError(
                    f"GROUP BY {shown_sql(key)}: lines are named by what they are grouped by, so "
                    "SELECT must name it too"
                )
        # Two keys that resolve to one target would group by it twice.
        named = [
            key if target is None else target
            for key, target in zip(keys, named, strict=True)
        ]
        if len({id(node) for node in named}) < len(named):
            raise InputError("GROUP BY takes each column or bin once")
        rest = [node for node in targets if not any(node is one for one in named)]
        return [(node, read_axis(node, reader)) for node in named], rest, sets

    def _after(
        self,
        select: Any,
        targets: Sequence[Any],
        axes: Sequence[Axis],
        numbers: ArithmeticReader,
    ) -> PostProcessing:
        """Return what is done to the published numbers."""
        # Aggregates that are columns themselves come first: they have names of their own.
        for node in targets:
            if numbers.is_aggregate(node):
                numbers.column(node)
        columns = [OutputColumn(*numbers.column(node)) for node in targets]
        having = select.args.get("having")
        condition = None if having is None else _having(having.this, numbers)
        chosen = select.args.get("qualify")
        qualify = None if chosen is None else numbers.condition(chosen.this)
        order = []
        clause = select.args.get("order")
        for term in [] if clause is None else clause.expressions:
            titles = [column.title for column in columns]
            title, expression = numbers.sorted_by(term, select.expressions, titles)
            if expression is not None:
                columns.append(OutputColumn(title, expression, is_shown=False))
            order.append((title, bool(term.args.get("desc"))))
        # A prefix of the declared order sorts nothing: the answer has that order already.
        if order == [(axis.title, False) for axis in axes][: len(order)]:
            order = []  # the declared order, which the answer has
        published = [
            OutputColumn(aggregate.leaf.title, PublishedNumber(aggregate.leaf))
            for aggregate in numbers.aggregates
        ]
        if columns == published:
            columns = []  # every published number is a column
        limit = select.args.get("limit")
        if limit is not None and not whole_literal(limit.expression):
            raise InputError(
                f"LIMIT takes a whole number above 0, got {shown_sql(limit)}"
            )
        most = None if limit is None else whole_literal(limit.expression)
        return PostProcessing(tuple(columns), condition, qualify, tuple(order), most)

    def _asked(
        self, parts: SelectParts, numbers: ArithmeticReader, table: Table
    ) -> list[Parsed]:
        """Return the shapes that the aggregates ask for, with their fields."""
        if not numbers.aggregates:
            raise InputError(
                "this SELECT publishes no number: ask for COUNT(*), or for another aggregate; the "
                "rows and the values of a table are not shown"
            )
        for aggregate in numbers.aggregates:
            fields = dict(aggregate.fields)
            fields["titles"] = (aggregate.leaf.title,)
            fields["axes"] = (*parts.axes, *fields.get("axes", ()))
            parts.asked.append(fields)
        joint = _joint(parts, table)
        if joint is not None:
            return [joint]
        if parts.sets:
            gathered = Crossed.gather(parts, table)
            return Tables.of_each(replace(parts, asked=gathered))
        for shape in SHAPES.values():
            # Each shape may merge several requests into one draw, in order of registration.
            parts = replace(parts, asked=shape.gather(parts, table))
        return parts.asked

    def _declared_answer(
        self, parts: SelectParts, reader: ConditionReader
    ) -> list[Parsed]:
        """Return the one answer of a SELECT whose answer graph the user names."""
        parsed = [read_target(node, reader) for node in parts.targets]
        if not parts.axes and len(parsed) == 1:
            fields = parsed[0]
            # A graph of the user's own replaces that of the shape, so any single value will do.
            if fields is None or not fields["shape"].keeps_its_graph(fields):
                return [Declared.of_target(unaliased(parts.targets[0]), reader, KNOWN)]
        fitting = [fields for fields in parsed if fields is not None]
        if parts.axes:  # one answer for all groups
            fitting = [x for x in fitting if x["shape"].fits_groups(True)]
        if len(fitting) < len(parsed):
            raise InputError(f"this SELECT has no known shape; known are: {KNOWN}")
        for fields, node in zip(fitting, parts.targets, strict=True):
            fields["titles"] = (title_of(node),)
            fields["axes"] = (*parts.axes, *fields.get("axes", ()))
            parts.asked.append(fields)
        joint = _joint(parts, reader.table)
        if joint is not None:
            return [joint]
        if not parts.asked:
            raise InputError(f"this SELECT has no known shape; known are: {KNOWN}")
        return parts.asked


def _having(node: Any, numbers: ArithmeticReader) -> OutputCondition:
    """Return the condition on published numbers that HAVING is."""
    try:
        return numbers.condition(node)
    except RowValue:
        raise InputError(
            f"HAVING {shown_sql(node)} is about rows: put that into WHERE. HAVING chooses groups "
            "by their published numbers, such as HAVING COUNT(*) > 20, and costs nothing"
        ) from None


def _joint(parts: SelectParts, table: Table) -> Parsed | None:
    """Return the one shape that a whole SELECT asks for, if there is one."""
    for shape in SHAPES.values():
        fields = shape.accept_select(parts, table)
        if fields is not None:
            return {"shape": shape, **fields}
    return None


def _aggregate(node: Any, reader: ConditionReader, grouped: bool) -> Parsed | None:
    """Return what an aggregate asks for; nothing where a piece of SQL is none."""
    fields = read_target(node, reader)
    if fields is None or not grouped or fields["shape"].fits_groups(False):
        return fields
    raise InputError(
        f"{shown_sql(node)} is known for the whole table only: leave GROUP BY out"
    )


def _check_names(names: Sequence[str]) -> None:
    """Refuse two columns with one name."""
    # Names are keys of the answer: two alike would overwrite each other.
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns of the answer are called {twice!r}: name them apart with AS"
        )


def grouping_sets(group: Any) -> tuple[list[Any], tuple[tuple[int, ...], ...]]:
    """Return the keys of GROUP BY, and its grouping sets by their places; none where it is plain.

    Several terms are combined, each set of one with each of the other.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("select 1 from t group by a, rollup (b, c)")
    >>> keys, sets = grouping_sets(select.args["group"])
    >>> [key.name for key in keys], sets
    (['a', 'b', 'c'], ((0, 1, 2), (0, 1), (0,)))
    """
    several = (exp.Cube, exp.Rollup, exp.GroupingSets)
    if not any(isinstance(term, several) for term in group.expressions):
        return list(group.expressions), ()
    keys: list[Any] = []
    terms: list[list[list[Any]]] = []
    for term in group.expressions:
        inner = [_keys_of(part) for part in term.expressions]
        match term:
            case exp.Cube():
                # 2^16 grouping sets are the limit of what is enumerated.
                if len(inner) > 16:
                    raise InputError(
                        f"CUBE takes at most 16 columns, got {len(inner)}: name the tables that "
                        "are wanted with GROUPING SETS"
                    )
                sizes = range(len(inner), -1, -1)
                chosen = (itertools.combinations(inner, size) for size in sizes)
                sets = [list(itertools.chain(*one)) for some in chosen for one in some]
            case exp.Rollup():
                ends = range(len(inner), -1, -1)
                # ROLLUP(a, b, c): all prefixes, the longest first.
                sets = [list(itertools.chain(*inner[:end])) for end in ends]
            case exp.GroupingSets():
                sets = inner
            case _:
                sets = [[term]]
        terms.append(sets)
        for key in itertools.chain(*sets):
            if key not in keys:
                keys.append(key)
    found = []
    # The product of all terms, as the standard defines GROUP BY a, ROLLUP (b).
    for combined in itertools.product(*terms):
        places = {keys.index(key) for one in combined for key in one}
        found.append(tuple(sorted(places)))
    if len(set(found)) < len(found):
        raise InputError(
            "each grouping set is published once: leave out the second one"
        )
    return keys, tuple(found)


def _keys_of(part: Any) -> list[Any]:
    """Return the keys of one part of a grouping term: a key, or several in brackets."""
    if isinstance(part, exp.Tuple):
        return list(part.expressions)
    return [part.this if isinstance(part, exp.Paren) else part]


def read_target(node: Any, reader: ConditionReader) -> Parsed | None:
    """Return the shape that one target asks for, with its fields, or nothing if none is known.

    >>> import sqlglot
    >>> from tightrope.publish.facts import Column
    >>> people = Table("people", columns={"age": Column("age", "integer")})
    >>> reader = ConditionReader(people, {"people"})
    >>> target = sqlglot.parse_one("sum(case when age > 3 then 1 else 0 end)")
    >>> read_target(target, reader)["condition"].sql()
    '"age" > 3'
    """
    # COALESCE(SUM(x), 0) asks for the sum: a published sum is never NULL.
    node = without_default(node)
    if isinstance(node, exp.Filter) and isinstance(node.expression, exp.Where):
        fields = read_target(node.this, reader)
        if fields is None:
            return None
        condition = reader.read(node.expression.this)
        # A condition of FILTER restricts the rows further, like one more AND.
        return {**fields, "condition": all_of([fields.get("condition"), condition])}
    for shape in SHAPES.values():
        accepted = shape.accept(node, reader)
        if accepted is not None:
            return {"shape": shape, **accepted}
    return None


def _built(fields: Parsed, where: Any) -> Shape:
    shape: type[Shape] = fields.pop("shape")
    return shape(where=all_of([where, fields.pop("condition", None)]), **fields)


def _without_winner_layers(select: Any) -> Any:
    """Undo the two subqueries that Ibis puts around the group with the largest count."""
    layers = [select]
    while isinstance(source_of(layers[-1]), exp.Subquery):
        layers.append(source_of(layers[-1]).this)
    plain = {"expressions", "from"}
    # Match exactly what Ibis emits; anything else stays as it is and is read or refused.
    if len(layers) < 3 or [clauses_of(x) for x in layers[:2]] != [
        plain,
        {*plain, "order", "limit"},
    ]:
        return select
    _, middle, groups, *_ = layers
    if clauses_of(groups) & {"group", "order", "limit"} != {"group"}:
        return select
    names = {node.alias_or_name: unaliased(node) for node in groups.expressions}
    wanted, (first, *rest) = select.expressions, middle.args["order"].expressions
    key = names.get(wanted[0].name)
    count = names.get(first.this.name)
    is_whole = len(wanted) == 1 and [type(node) for node in middle.expressions] == [
        exp.Star
    ]
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


# -- the allow-list -----------------------------------------------------------------------------

#: Kinds of pieces, and the properties that they may have. One that readers do not know (a
#: negation, a collation, a sampling clause) would be dropped without a word, and change the
#: question.
ALLOWED: dict[str, frozenset[str]] = {
    kind: frozenset(properties.split())
    for kinds, properties in {
        "Select": "expressions from where group having qualify order limit with joins",
        "Subquery Alias CTE": "this alias",
        "With": "expressions",
        "Join": "this side kind on using",
        "Union": "this expression",
        "Table": "this db alias",
        "Identifier": "this quoted",
        "Column": "this table",
        "Star Null": "",
        "Group Order Distinct": "expressions",
        "Ordered": "this desc nulls_first",
        "Cube Rollup GroupingSets Tuple": "expressions",
        "Limit": "expression",
        "Count": "this big_int",
        "Case": "this ifs default",
        "If": "this true false",
        "Coalesce In": "this expressions",
        "Cast": "this to _type",
        "TryCast": "this to _type safe requires_string",
        "DataType": "this nested expressions",
        "DataTypeParam": "this",
        "DateFromParts": "year month day",
        "Literal": "this is_string",
        "Between": "this low high",
        "Is": "this expression negate",
        "Div": "this expression typed safe",
        "WidthBucket": "this min_value max_value num_buckets",
        "Quantile": "this quantile",
        "From TableAlias Where Having Boolean Neg Paren Not Abs Sqrt": "this",
        "Round Trunc": "this decimals",
        "Greatest Least": "this expressions ignore_nulls",
        "Variance VariancePop Stddev StddevPop StddevSamp": "this",
        "CovarPop CovarSamp Corr RegrSlope RegrIntercept RegrR2": "this expression",
        "Window": "this partition_by order over",
        "Rank DenseRank RowNumber": "",
        "Lag Lead": "this offset",
        "Grouping": "expressions",
        "Qualify": "this",
        "LogicalOr LogicalAnd": "this",
        "CountIf Sum Min Max Avg Floor Ceil Median Mode": "this",
        "Monthname Dayname LastDay": "this",
        "Year Quarter Month Day DayOfMonth Week WeekOfYear DayOfWeekIso DayOfYear": "this",
        "TsOrDsToDate TsOrDsToTimestamp TimeStrToTime Upper Lower Trim Length Var": "this",
        "Extract Escape StartsWith Left Right": "this expression",
        "Like ILike": "this expression negate",
        "TimestampTrunc DateTrunc": "this unit",
        "TimeToStr": "this format",
        "DateDiff": "this expression unit date_part_boundary",
        "DPipe": "this expression safe",
        "Concat": "expressions safe coalesce",
        "Substring": "this start length",
        "Replace": "this expression replacement",
        "Filter WithinGroup PercentileDisc PercentileCont": "this expression",
        "And Or EQ NEQ GT GTE LT LTE Add Sub Mul IntDiv Mod Nullif Pow": "this expression",
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
    tightrope.errors.InputError: PG_SLEEP(9) is not read in questions: leave it out, or write it
    with columns, constants, comparisons and the aggregates that are known
    """
    for node in tree.walk():
        known = ALLOWED.get(type(node).__name__)
        there = [name.rstrip("_") for name, value in node.args.items() if value]
        # Properties count too: DISTINCT inside COUNT, or a sampling clause, changes the question.
        extra = [] if known is None else sorted(set(there) - known)
        if known is None or extra:
            raise unread(node, extra)
