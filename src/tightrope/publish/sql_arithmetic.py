"""From SQL to arithmetic on published numbers: the SELECT list, HAVING and ORDER BY.

An aggregate is a number that will be published; the same aggregate, wherever it is written, is one
number and is paid once. What is written around it is computed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlglot import exp

from tightrope.errors import InputError
from tightrope.publish.arithmetic import (
    Case,
    Chosen,
    Constant,
    Expression,
    Grouping,
    Held,
    IsNull,
    Key,
    Leaf,
    Logic,
    Neighbour,
    NullIf,
    Operation,
    OutputComparison,
    OutputCondition,
    PublishedNumber,
    Range,
    Rank,
    Rising,
    WindowAggregate,
)
from tightrope.publish.axes import Axis
from tightrope.publish.facts import Column
from tightrope.publish.shapes import Count, Moments, Parsed, RunningCount, Sum
from tightrope.publish.shapes.count import marks
from tightrope.publish.shapes.moments import Power, product_range
from tightrope.publish.shapes.tables import PLACE
from tightrope.publish.spreads import SPREADS, VARIANCES, Sums
from tightrope.publish.sql_pieces import (
    OF_ALL_ROWS,
    ConditionReader,
    all_of,
    is_number,
    numbered,
    shown_sql,
    title_of,
    unaliased,
    whole_literal,
    without_default,
)
from tightrope.publish.sql_refusals import RowValue, row_window, unknown_piece

_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "/"}
_COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_RISING = {exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sqrt: "sqrt",
           exp.Trunc: "trunc"}  # fmt: skip
_CHOSEN = {exp.Greatest: "greatest", exp.Least: "least", exp.Coalesce: "coalesce"}
_WINDOWS = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
_RANKS = {exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.RowNumber: "row_number"}
_NEIGHBOURS = {exp.Lag: -1, exp.Lead: 1}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a SELECT: the SQL, what is known of its number, and what it asks."""

    node: Any
    leaf: Leaf
    fields: Parsed


class ArithmeticReader:
    """Takes expressions over aggregates apart.

    Parameters
    ----------
    axes
        What is grouped by, each with its SQL.
    select
        The SELECT.
    parse
        Returns what an aggregate asks for, or nothing where a piece of SQL is none.
    reader
        Reads columns and conditions of the table.
    """

    def __init__(
        self,
        axes: Sequence[tuple[Any, Axis]],
        select: Any,
        parse: Callable[[Any], Parsed | None],
        reader: ConditionReader,
    ) -> None:
        self.reader = reader
        self.table = reader.table
        self.keys = {unaliased(node): axis.title for node, axis in axes}
        self.classes = [axis.classes for _, axis in axes]
        self.is_found = any(axis.column is not None for _, axis in axes)
        self.named = {
            node.alias.lower(): node
            for node in select.expressions
            # An alias of a group key is a name, not a number.
            if isinstance(node, exp.Alias) and unaliased(node) not in self.keys
        }
        group = select.args.get("group")
        sets = (exp.Cube, exp.Rollup, exp.GroupingSets)
        self.has_sets = group is not None and group.find(*sets) is not None
        self.select = select
        self.parse = parse
        self.aggregates: list[Aggregate] = []

    # -- numbers --------------------------------------------------------------------------

    def column(self, node: Any) -> tuple[str, Expression]:
        """Return a target of the SELECT: what it is called, and how it is computed."""
        title = title_of(node)
        return title, self.expression(node, title)

    def is_aggregate(self, node: Any) -> bool:
        """Whether a target is a published number as it is."""
        node = unaliased(node)
        # What is rewritten below is computed from other aggregates and not published itself.
        rewritten = (self._as_counts(node), self._linear(node), self._defaulted(node))
        is_mean = self.has_sets and isinstance(_unfiltered(node)[0], exp.Avg)
        is_made = is_mean or self._sum_beside_mean(node) is not None
        if is_made or any(piece is not None for piece in rewritten):
            return False
        return not self._is_spread(node) and self.parse(node) is not None

    def expression(self, node: Any, title: str = "") -> Expression:
        """Return a piece of SQL as an expression over published numbers."""
        node = unaliased(node)
        if node in self.keys:
            return Key(self.keys[node])
        linear = self._linear(node)
        if linear is not None:
            return self.expression(linear, title)
        of_tables = self._mean_of_tables(node) or self._sum_beside_mean(node)
        if of_tables is not None:
            return of_tables
        defaulted = self._defaulted(node)
        if defaulted is not None:
            return self.expression(defaulted, title)
        rewritten = self._as_counts(node)
        if rewritten is not None:
            counts = self.expression(rewritten, title)
            is_share = isinstance(counts, Operation)
            # A share of noisy counts may leave [0, 1]; the truth does not, so clamping only helps.
            return Held(counts, Range(0, 1)) if is_share else counts
        if self._is_spread(node):
            return self._spread(node)
        fields = self.parse(node)
        if fields is not None:
            node = without_default(node)
            return self._number(node, fields, title or title_of(node))
        read = self._readers.get(type(node))
        if read is None:
            raise unknown_piece(node)
        return read(node)

    @cached_property
    def _readers(self) -> dict[type[Any], Callable[[Any], Expression]]:
        """Every piece of SQL that may stand around aggregates."""
        return {
            **dict.fromkeys(_SIGNS, self._operation),
            **dict.fromkeys(_RISING, self._rising),
            **dict.fromkeys(_CHOSEN, self._chosen),
            exp.Neg: self._negative,
            exp.Abs: self._absolute,
            exp.Pow: self._power,
            exp.Literal: self._literal,
            exp.Null: lambda node: Constant(None),
            exp.Nullif: self._nullif,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Column: self._column,
            exp.Grouping: self._grouping,
            exp.Window: self._window,
        }

    def _number(self, node: Any, fields: Parsed, title: str) -> PublishedNumber:
        """Return the number of an aggregate, which is published once."""
        kept = fields.get("kept")
        for known in self.aggregates:
            # One aggregate, one draw: asking for it twice in a SELECT must not cost twice.
            if known.node == node and known.fields.get("kept") == kept:
                return PublishedNumber(known.leaf)
        titles = {known.leaf.title for known in self.aggregates}
        name = title
        while name in titles:
            name += "'"
        shape = fields["shape"]
        is_count = shape in (Count, RunningCount) or fields.get("powers") == ((0, 0),)
        is_whole = is_count or (shape is Sum and fields["column"].type == "integer")
        keys = self.keys.values() if kept is None else kept
        # The conditions on its rows tell which counts are parts of others (for exact share bounds).
        rows = {f"group {key}" for key in keys} | {
            part.sql() for part in _conjuncts(fields.get("condition"))
        }
        if shape is RunningCount:
            # Part of the total, and of no single line.
            rows = {f"up to {key}" for key in keys} | rows - {
                f"group {k}" for k in keys
            }
        if shape is Moments:
            rows.add(f"values {node.sql()}")
        if fields.get("people"):
            rows.add("people")
        leaf = Leaf(name, is_whole, is_count, frozenset(rows))
        self.aggregates.append(Aggregate(node, leaf, fields))
        return PublishedNumber(leaf)

    # -- variances and slopes -------------------------------------------------------------

    def _is_spread(self, node: Any) -> bool:
        """Whether an aggregate comes from sums of products.

        So does the mean beside a variance of the same column: nothing is drawn twice.
        """
        # So a mean beside a variance needs no draws of its own.
        function, condition = _unfiltered(node)
        if isinstance(function, exp.Avg):
            return (unaliased(function.this), condition) in self._with_variance
        return type(function) in SPREADS

    @cached_property
    def _with_variance(self) -> list[tuple[Any, Any]]:
        """The columns whose variance is asked for, with the condition of FILTER."""
        found = []
        for function in self.select.find_all(*VARIANCES):
            parent = function.parent
            is_filtered = isinstance(parent, exp.Filter)
            condition = parent.expression.this if is_filtered else None
            # FILTER is part of the identity: a variance among others is over other rows.
            found.append((unaliased(function.this), condition))
        return found

    def _spread(self, node: Any) -> Expression:
        """Return a variance, a covariance or what is made of them, from sums of products."""
        function, condition = _unfiltered(node)
        # A slope is that of the first column by the second one: SQL names y before x.
        names = [unaliased(function.this)]
        if function.args.get("expression") is not None:
            names.append(unaliased(function.expression))
        columns = [self.reader.column(name) for name in names]
        chosen = None if condition is None else self.reader.read(condition)
        sums = Sums(columns, lambda power: self._moment(columns, power, chosen))
        return SPREADS[type(function)](sums)

    def _moment(
        self, columns: Sequence[Column], power: Power, condition: Any
    ) -> Expression:
        """Return a sum of products of columns, as a published number from its centre."""
        # Fails before anything is drawn.
        product_range(columns, power)  # refuses columns without bounds
        first, *others = columns
        fields: Parsed = {"shape": Moments, "column": first, "powers": (power,)}
        if others:
            fields["other"] = others[0]
        if condition is not None:
            fields["condition"] = condition
        names = [column.name for column in columns]
        factors = [
            name + "²" * (exponent == 2)
            for name, exponent in zip(names, power, strict=False)
            if exponent
        ]
        of_rows = f"number of {' and '.join(names)}"
        title = f"sum of {' × '.join(factors)}" if factors else of_rows
        where = "" if condition is None else f" where {shown_sql(condition)}"
        key = exp.Tuple(
            expressions=[exp.Literal.string(x) for x in (*names, str(power), where)]
        )
        return self._number(key, fields, title + where)

    # -- sums and means of multiples ------------------------------------------------------

    def _linear(self, node: Any) -> Any:
        """Return SUM(12 * x) as 12 * SUM(x), SUM(x + 1) as SUM(x) + COUNT(x), and AVG likewise.

        Nothing is computed on rows: a product of a row's value might fail, and say so.
        """
        inner, condition = _unfiltered(node)
        if not isinstance(inner, exp.Sum | exp.Avg):
            return None
        term = unaliased(inner.this)
        if not isinstance(term, exp.Mul | exp.Div | exp.Neg | exp.Add | exp.Sub):
            return None
        left = unaliased(term.this)
        right = unaliased(term.args.get("expression"))
        # SUM(x / 2) with integer division is not SUM(x) / 2: it cuts row by row.
        if isinstance(term, exp.Div) and (
            term.args.get("typed") or not is_number(right)
        ):
            return None
        sides = [left, right] if is_number(left) else [right, left]
        factor, variable = sides if right is not None else [None, left]
        if not _is_of_column(variable) or (
            factor is not None and not is_number(factor)
        ):
            return None
        plain = _filtered(type(inner)(this=variable.copy()), condition)
        if factor is None:
            return exp.Neg(this=plain)
        constant = factor.copy()
        if isinstance(term, exp.Add | exp.Sub) and isinstance(inner, exp.Sum):
            # A constant is added once for each row that has a value.
            (column,) = variable.find_all(exp.Column)
            valued = _filtered(exp.Count(this=column.copy()), condition)
            constant = exp.Mul(this=constant, expression=valued)
        both = [constant, plain] if factor is left else [plain, constant]
        return exp.paren(type(term)(this=both[0], expression=both[1]))

    # -- several tables -------------------------------------------------------------------

    def _mean_of_tables(self, node: Any) -> Expression | None:
        """Return a mean in several tables as a sum divided by a count, which both add up."""
        function, condition = _unfiltered(node)
        if not self.has_sets or not isinstance(function, exp.Avg):
            return None
        if self._as_counts(node) is not None:
            return None
        column, total, many = self._centred(unaliased(function.this), condition)
        low, high = map(Fraction, column.value_range or (0, 0))
        mean = Operation("/", total, many)
        # A mean is between the bounds of its column, so clamping only helps.
        return Held(mean, Range(low * column.step, high * column.step))

    def _sum_beside_mean(self, node: Any) -> Expression | None:
        """Return a sum in several tables whose mean is shown too, from what the mean is made of."""
        function, condition = _unfiltered(node)
        if not self.has_sets or not isinstance(function, exp.Sum):
            return None
        mean = _filtered(exp.Avg(this=function.this.copy()), condition)
        shown = self.select.find_all(exp.Avg, exp.Filter)
        if mean not in shown or self._as_counts(mean) is not None:
            return None
        _, total, _ = self._centred(unaliased(function.this), condition)
        return total

    def _centred(
        self, cell: Any, condition: Any
    ) -> tuple[Column, Expression, Expression]:
        """Return the sum and the number of a column's values, from the sum less its centre.

        Less the centre of the bounds one person moves a sum by half their width at most, and of the
        error of the count a mean has no more than its distance from the centre.
        """
        column = self.reader.column(cell)
        total = _filtered(exp.Sum(this=cell.copy()), condition)
        fields = self.parse(total)
        if fields is None:
            raise unknown_piece(total)
        # Where everybody has a value, the count beside the mean is the same number.
        rows = exp.Count(this=cell.copy(), big_int=True)
        valued = _counted(condition) if column.complete else _filtered(rows, condition)
        many = self.expression(valued)
        centre = sum(column.value_range or (0, 0)) // 2
        if centre:
            fields = {**fields, "centre": centre}
        taken = centre * column.step
        # As people write it: 100, not 100.0.
        shown = int(taken) if taken == int(taken) else float(taken)
        named = exp.Sub(this=cell.copy(), expression=exp.convert(shown))
        from_centre = _filtered(exp.Sum(this=named), condition)
        rest = self._number(from_centre, fields, title_of(from_centre))
        return column, Operation("+", rest, Operation("*", Constant(taken), many)), many

    def _grouping(self, node: Any) -> Expression:
        """Return which columns a line is a total over."""
        keys = tuple(self._key(part) for part in node.expressions)
        return Grouping(keys) if self.has_sets else Constant(Fraction(0))

    # -- sums, means and counts with a default --------------------------------------------

    def _defaulted(self, node: Any) -> Any:
        """Return SUM(COALESCE(x, c)) as SUM(x) + c * (rows without x), if it is one.

        A mean is that sum divided by all rows, and a count of values with a default is one of rows.
        """
        inner, condition = _unfiltered(node)
        if not isinstance(inner, exp.Sum | exp.Avg | exp.Count):
            return None
        value = unaliased(inner.this)
        if not isinstance(value, exp.Coalesce) or len(value.expressions) != 1:
            return None
        cell = unaliased(value.this)
        default = unaliased(value.expressions[0])
        size = default.this if isinstance(default, exp.Neg) else default
        if not isinstance(cell, exp.Column) or not is_number(size):
            return None
        if isinstance(inner, exp.Count):
            return _counted(condition)
        column = self.reader.column(cell)
        if column.complete:  # nobody is without a value
            return _filtered(type(inner)(this=cell.copy()), condition)
        # A sum over exactly the declared people moves a missing value to the bounds, like 0.
        # Where 0 is beyond them, only rows with a value may be added up.
        low, high = column.value_range or (0, 0)
        valued = None if low <= 0 <= high else exp.not_(cell.is_(exp.null()))
        total = _filtered(exp.Sum(this=cell.copy()), condition, valued)
        if Fraction(size.this):
            missing = _counted(cell.is_(exp.null()), condition)
            total = exp.Add(
                this=total, expression=exp.Mul(this=missing, expression=default.copy())
            )
        if isinstance(inner, exp.Sum):
            return total
        # 1.0 keeps databases that divide integers without a rest from cutting the mean.
        exact = exp.paren(total) * exp.Literal.number("1.0")
        return exp.Div(this=exact, expression=_counted(condition))

    # -- sums and means of 0 and 1 --------------------------------------------------------

    def _as_counts(self, node: Any) -> Any:
        """Return a sum or a mean of 0 and 1 as counts of rows, if it is one.

        By group the counts of both values are cells of one table, which one person changes by 1;
        a sum and a count by group would share ε. The mean of a whole column keeps its own draw,
        which needs no count where everybody has a value.
        """
        inner, condition = _unfiltered(node)
        if not isinstance(inner, exp.Sum | exp.Avg):
            return None
        ones, divisors = self._binary(unaliased(inner.this), isinstance(inner, exp.Avg))
        if ones is None:
            return None
        one = _counted(ones, condition)
        if isinstance(inner, exp.Sum):
            return one
        divisor = _counted(divisors[0], condition)
        # The divisor as a sum of cells: the same noisy numbers as in the numerator.
        for more in divisors[1:]:
            divisor = exp.Add(this=divisor, expression=_counted(more, condition))
        # 1.0 keeps databases that divide integers without a rest from cutting the share to 0.
        exact = one * exp.Literal.number("1.0")
        return exp.Div(this=exact, expression=exp.paren(divisor))

    def _binary(self, value: Any, is_mean: bool) -> tuple[Any, tuple[Any, ...]]:
        """Return when a value is 1, and which rows a mean is divided by, if it is 0 or 1.

        The rows of a column are those that have 1 and those that have 0; of CASE all rows, because
        where a condition is neither true nor false, the value is 0.
        """
        match value:
            case exp.Column() if self.keys:
                column = self.table.find(value.name)
                if column is not None and column.is_binary:
                    cell = exp.column(column.name)
                    return cell.eq(1), (cell.eq(1), cell.eq(0))
            case exp.Case() if is_mean and marks(value, with_zero=True):
                return value.args["ifs"][0].this, (None,)
            case exp.Cast(this=exp.Column() as truth) if is_mean:
                column = self.table.find(truth.name)
                if column is not None and column.type == "boolean":
                    cell = exp.column(column.name)
                    return cell.eq(True), (cell.eq(True), cell.eq(False))
        return None, ()

    def _operation(self, node: Any) -> Expression:
        left = self.expression(node.this)
        right = self.expression(node.expression)
        operation = Operation(_SIGNS[type(node)], left, right)
        # Some databases divide whole numbers without a rest, and cut towards 0.
        cuts = isinstance(node, exp.IntDiv) or bool(node.args.get("typed"))
        # Truncation is monotone, so the interval of the quotient maps to its ends.
        if operation.sign == "/" and cuts and left.is_whole and right.is_whole:
            return Rising("trunc", operation)
        return operation

    def _chosen(self, node: Any) -> Expression:
        parts = (node.this, *node.expressions)
        return Chosen(_CHOSEN[type(node)], tuple(map(self.expression, parts)))

    def _negative(self, node: Any) -> Expression:
        zero = Constant(Fraction(0), has_point=False)
        return Operation("-", zero, self.expression(node.this))

    def _absolute(self, node: Any) -> Expression:
        part = self.expression(node.this)
        zero = Constant(Fraction(0), has_point=False)
        # |x| = max(x, -x), whose range is known from that of x.
        return Chosen("greatest", (part, Operation("-", zero, part)))

    def _power(self, node: Any) -> Expression:
        exponent = whole_literal(node.expression)
        if not 1 <= exponent <= 4:
            raise InputError(
                f"POWER takes a whole exponent from 1 to 4, got {shown_sql(node.expression)}"
            )
        part = self.expression(node.this)
        product = part
        for _ in range(exponent - 1):
            # Repeated products: interval arithmetic knows a square, no other power.
            product = Operation("*", product, part)
        return product

    def _rising(self, node: Any) -> Expression:
        decimals = node.args.get("decimals")
        digits = 0 if decimals is None else whole_literal(decimals)
        if not 0 <= digits <= 12 or (decimals is not None and not is_number(decimals)):
            raise InputError(
                f"numbers are rounded to 0 to 12 digits, got {shown_sql(decimals)}"
            )
        return Rising(_RISING[type(node)], self.expression(node.this), digits)

    def _literal(self, node: Any) -> Expression:
        if node.is_string:
            return Constant(str(node.this))
        if not is_number(node):
            raise InputError(f"a constant has at most 40 digits, got {shown_sql(node)}")
        return Constant(Fraction(node.this), has_point="." in node.this)

    def _nullif(self, node: Any) -> Expression:
        return NullIf(self.expression(node.this), self.expression(node.expression))

    def _case(self, node: Any) -> Expression:
        branches = []
        for branch in node.args.get("ifs") or []:
            test = branch.this
            if node.this is not None:
                # CASE x WHEN v is CASE WHEN x = v.
                test = exp.EQ(this=node.this, expression=test)
            result = self.expression(branch.args["true"])
            branches.append((self.condition(test), result))
        default = node.args.get("default")
        otherwise = Constant(None) if default is None else self.expression(default)
        return Case(tuple(branches), otherwise)

    def _if(self, node: Any) -> Expression:
        return self._case(exp.Case(ifs=[node], default=node.args.get("false")))

    def _cast(self, node: Any) -> Expression:
        part = self.expression(node.this)
        to = node.to
        if to.is_type("double", "float", "real"):
            # No longer whole: it is divided with a rest.
            return Operation("*", Constant(Fraction(1)), part)
        if to.is_type("int", "bigint", "smallint"):
            return Rising("round", part)
        if to.is_type("decimal"):
            sizes = [int(size.this.this) for size in to.expressions]
            digits = sizes[1] if len(sizes) > 1 else 0
            plain = Operation("*", Constant(Fraction(1)), part)
            return Rising("round", plain, digits) if sizes else plain
        raise InputError(
            f"a published number is cast to a number (double, decimal(p, s), integer), got "
            f"{shown_sql(node)}"
        )

    def _column(self, node: Any) -> Expression:
        alias = self.named.get(node.name.lower())
        if alias is not None and not node.table:
            return self.expression(alias, title_of(alias))
        grouped = ", ".join(self.keys.values()) or "nothing"
        # The value of a single row is never shown: refuse, and say what to write.
        raise RowValue(
            f"{node.name!r} would be the value of one row: put it into an aggregate such as "
            f"AVG({node.name}), or into GROUP BY (grouped by: {grouped})"
        )

    def _window(self, node: Any) -> Expression:
        """Return a sum over lines of the answer; of counts it is a margin of their table."""
        function = unaliased(node.this)
        order = node.args.get("order")
        keys = self._partition(node.args.get("partition_by") or [])
        terms = [] if order is None else order.expressions
        ties = _RANKS.get(type(function))
        if ties is not None and len(terms) == 1:
            (term,) = terms
            part = self.expression(term.this)
            return Rank(part, tuple(keys), bool(term.args.get("desc")), ties)
        if type(function) in _NEIGHBOURS:
            return self._neighbour(node, keys, terms)
        if order and not keys:
            return self._running(node, order)
        if order or node.args.get("spec") or type(function) not in _WINDOWS:
            raise row_window(node)
        try:
            part = self.expression(function.this)
        except RowValue:
            raise row_window(node) from None
        name = _WINDOWS[type(function)]
        aggregate = self._aggregate_of(part)
        leaves_some = self.select.args.get("having") is not None
        # A number of the whole table, whatever lines HAVING leaves.
        of_all = leaves_some and bool(node.meta.get(OF_ALL_ROWS))
        # As a margin it is estimated together with its cells, and adds up with them.
        if (
            name == "sum"
            and aggregate is not None
            and (of_all or not leaves_some)
            and self.is_margin(aggregate.fields)
        ):
            fields = {**aggregate.fields, "kept": tuple(keys)}
            return self._number(aggregate.node, fields, title_of(node))
        return WindowAggregate(name, part, tuple(keys), of_all)

    def _partition(self, parts: Sequence[Any]) -> list[str]:
        """Return the keys of lines that a window takes together."""
        marks = [piece for part in parts for piece in part.find_all(exp.Grouping)]
        marked = {self._key(key) for mark in marks for key in mark.expressions}
        # By all marks of GROUPING, lines are together with those of their table.
        is_table = self.has_sets and len(marks) == len(parts) > 0
        if is_table and marked == {*self.keys.values()}:
            return [PLACE]
        return [self._key(part) for part in parts]

    def _neighbour(
        self, node: Any, keys: Sequence[str], terms: Sequence[Any]
    ) -> Expression:
        """Return LAG or LEAD of a published number along the one other column of GROUP BY."""
        function = unaliased(node.this)
        offset = function.args.get("offset")
        steps = 1 if offset is None else whole_literal(offset)
        along = [self._key(term.this) for term in terms]
        rest = [key for key in self.keys.values() if key not in keys]
        if (
            not steps
            or function.args.get("default")
            or along != rest
            or len(along) != 1
        ):
            raise row_window(node)
        place = [*self.keys.values()].index(along[0])
        classes = self.classes[place]
        if self.is_found or not _is_rising(classes):
            raise row_window(node)
        falls = -1 if terms[0].args.get("desc") else 1
        distance = falls * _NEIGHBOURS[type(function)] * steps
        return Neighbour(self.expression(function.this), tuple(keys), distance)

    def _running(self, node: Any, order: Any) -> Expression:
        """Return a running count up the classes of the one column that is grouped by."""
        function = unaliased(node.this)
        fields = self.parse(function.this) if isinstance(function, exp.Sum) else None
        terms = [unaliased(term.this) for term in order.expressions]
        falls = any(term.args.get("desc") for term in order.expressions)
        # Classes that are declared in another order would be added up in another one.
        keys = [self.keys.get(term, term.name) for term in terms]
        is_rising = keys == [*self.keys.values()] and all(map(_is_rising, self.classes))
        if fields is None or not self.is_margin(fields) or falls or not is_rising:
            raise row_window(node)
        if self.select.args.get("having") is not None:
            raise InputError(
                f"{shown_sql(node)} adds up all groups, and HAVING leaves some of them out: leave "
                "HAVING out"
            )
        titles = (title_of(x) for x in self.select.expressions if unaliased(x) == node)
        fields = {**fields, "shape": RunningCount}
        return self._number(node, fields, next(titles, title_of(node)))

    def is_margin(self, fields: Parsed) -> bool:
        """Whether a sum over lines is a margin of their table: that of counts of rows is."""
        of_rows = fields["shape"] is Count and not fields.get("people")
        return of_rows and bool(self.keys) and not (self.is_found or self.has_sets)

    def _aggregate_of(self, part: Expression) -> Aggregate | None:
        for aggregate in self.aggregates:
            is_plain = "kept" not in aggregate.fields
            if is_plain and part == PublishedNumber(aggregate.leaf):
                return aggregate
        return None

    def _key(self, node: Any) -> str:
        node = unaliased(node)
        names = [*self.keys.values()]
        key = self.keys.get(node)
        if key is None and isinstance(node, exp.Column) and node.name in names:
            key = node.name
        if key is None:
            raise InputError(
                f"PARTITION BY takes columns of GROUP BY ({', '.join(names) or 'none'}), got "
                f"{shown_sql(node)}"
            )
        return key

    # -- conditions -----------------------------------------------------------------------

    def condition(self, node: Any) -> OutputCondition:
        """Return a condition on published numbers and on what is grouped by."""
        node = unaliased(node)
        if type(node) in _COMPARISONS:
            left = self.expression(node.this)
            right = self.expression(node.expression)
            return OutputComparison(_COMPARISONS[type(node)], left, right)
        match node:
            case exp.And() | exp.Or():
                both = (self.condition(node.this), self.condition(node.expression))
                return Logic(type(node).__name__.lower(), both)
            case exp.Not():
                return Logic("not", (self.condition(node.this),))
            case exp.Between():
                part = self.expression(node.this)
                low = self.expression(node.args["low"])
                high = self.expression(node.args["high"])
                ends = (
                    OutputComparison(">=", part, low),
                    OutputComparison("<=", part, high),
                )
                return Logic("and", ends)
            case exp.In() if node.expressions:
                part = self.expression(node.this)
                values = map(self.expression, node.expressions)
                same = tuple(OutputComparison("=", part, value) for value in values)
                return Logic("or", same)
            case exp.Is(expression=exp.Null()):
                return IsNull(self.expression(node.this))
        raise InputError(
            "HAVING and CASE on published numbers compare aggregates, columns of GROUP BY and "
            f"constants, with AND, OR, NOT, BETWEEN, IN and IS NULL; got {shown_sql(node)}"
        )

    # -- sorting --------------------------------------------------------------------------

    def sorted_by(
        self, term: Any, targets: Sequence[Any], titles: Sequence[str]
    ) -> tuple[str, Expression | None]:
        """Return what a term of ORDER BY is called, and its expression if no column has it."""
        node = numbered(term.this, targets)
        title = title_of(node).lower()
        for target in targets:
            # A term that is a column of the answer sorts by that column.
            if title_of(target).lower() == title or unaliased(target) == node:
                return title_of(target), None
        expression = self.expression(node)
        name = title_of(node)
        while name in titles:
            name += "'"
        return name, expression


def _unfiltered(node: Any) -> tuple[Any, Any]:
    """Return an aggregate and the condition of its FILTER."""
    if isinstance(node, exp.Filter) and isinstance(node.expression, exp.Where):
        return unaliased(node.this), node.expression.this
    return node, None


def _counted(*conditions: Any) -> Any:
    """Return the count of the rows that all conditions hold for, as SQL; ``None`` is none."""
    return _filtered(exp.Count(this=exp.Star(), big_int=True), *conditions)


def _filtered(aggregate: Any, *conditions: Any) -> Any:
    """Return an aggregate of the rows that all conditions hold for; ``None`` is none."""
    both = all_of(conditions)
    if both is None:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=both.copy()))


def _is_of_column(term: Any) -> bool:
    """Whether a term is a column, or made of one column and numbers by + - * /."""
    term = unaliased(term)
    if isinstance(term, exp.Column):
        return True
    if isinstance(term, exp.Neg):
        return _is_of_column(term.this)
    if not isinstance(term, exp.Mul | exp.Div | exp.Add | exp.Sub):
        return False
    sides = [unaliased(term.this), unaliased(term.expression)]
    others = [side for side in sides if not is_number(side)]
    return len(others) == 1 and _is_of_column(others[0])


def _conjuncts(condition: Any) -> list[Any]:
    """Return the conditions that all hold where a condition holds."""
    if condition is None:
        return []
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _is_rising(classes: Sequence[Any]) -> bool:
    """Whether classes are declared in their own order."""
    return tuple(classes) == tuple(sorted(classes, key=_sortable))


def _sortable(value: Any) -> tuple[bool, Any]:
    """Return what orders classes: numbers before texts."""
    return isinstance(value, str), value
