"""The sealed room between charge and answer: the only place where rows are run.

Everything that can be refused is refused while a :class:`SealedQuery` is made, from the catalogue
and the declared facts alone. Once it runs, it ends in a node of the answer graph or in one and
the same sentence.

Every rule that privacy rests on is part of the SQL:

- Columns are read through the source's cells, which no row can make fail.
- Only declared groups are asked for, and which of them a row is in depends on that row alone.
- Values are moved to the nearest declared bound before they are added up or ranked.
- Where one person may have several rows, ``ROW_NUMBER`` over that person's rows keeps as many as
  the ``contributions`` rule allows, and which ones depends on that person's rows alone. Rows that
  do not say whose they are are left out: together they would be one person more, whom everybody
  could change.
- A part of a partition is a condition on rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.certify import Mechanism, ScoreMechanism
from tightrope.errors import TightropeError
from tightrope.publish.facts import Column
from tightrope.publish.sampler import ScoreSampler, draw_output
from tightrope.publish.shapes import (
    Axis,
    Kind,
    Shape,
    answer_of,
    answers_of,
    found_groups,
    mapped_text,
    plain_label,
)
from tightrope.publish.sources import Source, check_columns, quietly
from tightrope.publish.sql_reader import constant, one_of, quoted
from tightrope.queries import query

if TYPE_CHECKING:
    from sqlglot import exp

    from tightrope.certify import AnyMechanism

_ROWS, _NUMBER, _PERSON = "tightrope_rows", "tightrope_row", "tightrope_person"


class SourceFailed(TightropeError):
    """A source that broke off while it answered. What it said is not shown: it may tell of rows.

    >>> str(SourceFailed())
    'the source failed while it answered; what was charged stays charged and no answer was ...
    """

    def __init__(self, more: str = "") -> None:
        super().__init__(
            "the source failed while it answered; what was charged stays charged and no answer "
            f"was drawn: mend the source and ask again with the same key{more}"
        )


class SealedQuery:
    """A question about one open source, ready to run.

    Parameters
    ----------
    source
        The open source.
    shape
        The question.
    declared
        For a question with an answer graph of its own: the node of each result, as text, and the
        node for every other result.

    Examples
    --------
    >>> import pyarrow
    >>> from tightrope.publish.facts import Table
    >>> from tightrope.publish.sources import open_source
    >>> people = Table("people", 5)
    >>> with open_source(pyarrow.table({"age": [31, 44]}), people) as source:
    ...     SealedQuery(source, Shape(Kind.COUNT, people)).node()
    2
    """

    def __init__(
        self,
        source: Source,
        shape: Shape,
        declared: tuple[Mapping[str, int], int] | None = None,
    ) -> None:
        self._source, self._shape, self._declared = source, shape, declared
        self._columns = list(dict.fromkeys([*shape.columns, *itertools.chain(*_key(shape))]))
        found = check_columns(source, self._columns)
        self._sql = compiled(shape, source, found)
        if declared is None:
            self._graphs = [
                None if draw.by_score else query(draw.query, neighbours=draw.neighbours).graph
                for draw in shape.draws
            ]
        source.check(self._sql)

    def draw(self, mechanisms: Sequence[AnyMechanism]) -> Any:
        """Run the question and draw one output for each answer, as the ledger holds them.

        The mechanisms are those of the question's draws. One answer of one draw is recorded as
        it is, answers of several groups or draws as a list for each draw.
        """
        try:
            if self._shape.kind is Kind.FOUND:
                return self._found(*mechanisms)
            drawn = [
                [self._drawn(mechanism, node) for node in nodes]
                for mechanism, nodes in zip(mechanisms, self._nodes(), strict=True)
            ]
            plain = [[plain_label(output) for output in outputs] for outputs in drawn]
        except Exception:
            raise SourceFailed from None
        return plain[0][0] if len(plain) == len(plain[0]) == 1 else plain

    def _found(self, choice: AnyMechanism, counting: AnyMechanism) -> list[list[Any]]:
        """Return the groups that are kept, each with a count; a larger one counts as the largest.

        They are in the order of their names: that of the database might tell of rows.
        """
        assert isinstance(choice, Mechanism)
        assert isinstance(counting, Mechanism)
        drawn = []
        for name, number in found_groups(self._rows()).items():
            if draw_output(choice, min(number, choice.shape[0] - 1)) == "keep":
                output = draw_output(counting, min(number, counting.shape[0] - 1))
                drawn.append([plain_label(name), plain_label(output)])
        return drawn

    def _drawn(self, mechanism: AnyMechanism, node: Any) -> Hashable:
        if not isinstance(mechanism, ScoreMechanism):
            return draw_output(mechanism, node)
        low = 0 if mechanism.rank is None else self._shape.bounds[0]
        return low + ScoreSampler(mechanism, node).draw_index()

    def node(self) -> Any:
        """Run the question and return the node of the true answer, where it is one."""
        return self.nodes()[0][0]

    def nodes(self) -> list[list[Any]]:
        """Run the question and return the nodes of the true answers of each draw.

        What is drawn by score has the counts of all values in the place of a node.
        """
        try:
            return self._nodes()
        except Exception:
            raise SourceFailed from None

    def _rows(self) -> list[tuple[Any, ...]]:
        with quietly():
            self._source.prepare(self._columns)
            return [tuple(row) for row in self._source.fetch(self._sql)]

    def _nodes(self) -> list[list[Any]]:
        rows = self._rows()
        if self._declared is None:
            answers = answers_of(self._shape, rows)
            pairs = zip(self._graphs, answers, strict=True)
            return [
                list(mine) if graph is None else [int(graph.index(answer)) for answer in mine]
                for graph, mine in pairs
            ]
        nodes, otherwise = self._declared
        is_known = self._shape.kind is not Kind.DECLARED
        value = answer_of(self._shape, rows) if is_known else rows[0][0]
        return [[nodes.get(mapped_text(value), otherwise)]]


def compiled(shape: Shape, source: Source, found: Mapping[str, str]) -> str:
    """Return the SQL of a question for one source: its cells first, then the question on them."""
    cells = [
        f"{source.cell(column, found[column.name])} AS {source.name(column.name)}"
        for column in shape.columns
    ]
    for key, declared in _key(shape):
        whose = f"NULLIF({source.cell(key, found[key.name])}, {source.text('')})"
        is_one = f"{source.cell(declared, found[key.name])} IS NOT NULL"
        cells.append(f"CASE WHEN {is_one} THEN {whose} END AS {source.name(_PERSON)}")
    question = _select(shape, _ROWS, source.wide).transform(_constants, source)
    return (
        f"WITH {source.name(_ROWS)} AS (SELECT {', '.join(cells) or '1 AS one'} "
        f"FROM {source.rows()}) {question.sql(dialect=source.dialect)}"
    )


def _key(shape: Shape) -> list[tuple[Column, Column]]:
    """Return the column that says whose row it is: as text, and as it is declared.

    People are told apart by the text: as a whole number, ``1.5`` might become the person 2. What
    is not of the declared type is nobody.
    """
    person = shape.table.person
    if person is None:
        return []
    key = Column(person, "text")
    return [(key, shape.table.columns.get(person, key))]


def question_text(shape: Shape) -> str:
    """Return a question in the words of SQL, the same for every source.

    >>> from tightrope.publish.facts import Table
    >>> age = Column("age", "integer", bounds=(0, 120))
    >>> print(question_text(Shape(Kind.SUM, Table("people", 9), column=age)))
    SELECT COALESCE(SUM(CASE WHEN "age" IS NULL THEN 0 WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN
    120 ELSE "age" END), 0) AS "a0", COALESCE(SUM(CASE WHEN NOT "age" IS NULL THEN 1 ELSE 0 END), 0)
    AS "a1", COUNT(*) AS "a2" FROM "people"
    """
    key = shape.table.person or _PERSON
    return str(_select(shape, shape.table.name, key=key).sql(dialect="duckdb"))


def _constants(node: Any, source: Source) -> Any:
    """Write texts and dates as the source compares them."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.to.is_type("date"):
        return exp.Var(this=source.day(node.this.this))
    if isinstance(node, exp.Literal) and node.is_string:
        return exp.Var(this=source.text(node.this))
    return node


def _select(shape: Shape, relation: str, wide: str | None = None, key: str = _PERSON) -> Any:
    from sqlglot import exp

    where = _all_rows(shape, key)
    rows = _numbered(shape, where, exp.table_(exp.to_identifier(relation, quoted=True)), key)
    places = [_place(axis) for axis in shape.axes]
    if shape.people:  # numbered by person and group, below
        places = [quoted(_group(k)) for k in range(len(places))]
    if shape.kind is Kind.QUANTILE and shape.column is not None:
        places.append(_clamped(shape.column, shape.bounds, exp.null()))
    if shape.kind is Kind.FOUND and shape.column is not None:
        places.append(quoted(shape.column.name))  # a cell: compared byte by byte
    targets = [*places, *_targets(shape, wide)]
    named = [exp.alias_(t, f"a{k}", quoted=True) for k, t in enumerate(targets)]
    select = exp.select(*named).from_(rows)
    if places:
        select = select.group_by(*(place.copy() for place in places))
    if shape.table.person is not None:
        number = exp.LTE(this=quoted(_NUMBER), expression=exp.Literal.number(shape.rows_per_person))
        return select.where(number)
    return select if where is None else select.where(where)


def _place(axis: Axis) -> exp.Expression:
    """Return the place of a row's class on an axis, or -1.

    The database groups by this number and not by the column, whose names it would show.
    """
    from sqlglot import exp

    place = exp.case()
    for number, condition in enumerate(axis.conditions):
        place = place.when(condition.copy(), constant(number), copy=False)
    return place.else_(constant(-1 if axis.rest is None else axis.rest), copy=False)


def _targets(shape: Shape, wide: str | None) -> list[Any]:
    from sqlglot import exp

    if shape.kind is Kind.DECLARED:
        return [_declared_value(shape, wide)]
    if shape.kind is Kind.COUNTS:
        return [_number_of(condition) for condition in shape.conditions]
    if shape.kind in (Kind.GROUPS, Kind.MOST, Kind.QUANTILE, Kind.FOUND):
        return [exp.Count(this=exp.Star())]
    first = exp.EQ(this=quoted(_NUMBER), expression=constant(1))
    people = exp.Count(this=exp.Star()) if shape.table.person is None else _number_of(first)
    if shape.column is not None and shape.kind in (Kind.SUM, Kind.MEAN):
        there = exp.Is(this=quoted(shape.column.name), expression=exp.null()).not_()
        return [_total(shape), _number_of(there), people]
    return [exp.Count(this=exp.Star()), people]


def _declared_value(shape: Shape, wide: str | None) -> Any:
    """Return the value of a declared question; sums do not overflow, dates come as texts."""
    from sqlglot import exp

    value, column = shape.expression, shape.column
    if value is None or column is None:
        return value
    if isinstance(value, exp.Sum) and column.type == "integer" and wide:
        return exp.Sum(this=exp.Cast(this=value.this.copy(), to=exp.DataType.build(wide)))
    return exp.cast(value.copy(), "TEXT") if column.type == "date" else value


def _total(shape: Shape) -> exp.Expression:
    from sqlglot import exp

    # Where exactly the declared people add to a sum, each must add a value within the bounds.
    missing = shape.missing if shape.is_fixed and not shape.is_divided else 0
    assert shape.column is not None
    clamped = _clamped(shape.column, shape.bounds, constant(missing))
    return exp.Coalesce(this=exp.Sum(this=clamped), expressions=[constant(0)])


def _clamped(column: Column, bounds: tuple[int, int], missing: exp.Expression) -> exp.Expression:
    """Return a column's value in steps, moved to the nearest bound, or what a missing one adds."""
    from sqlglot import exp

    (low, high), cell = bounds, quoted(column.name)
    first, last, value = constant(low), constant(high), cell
    if column.type == "number":

        def double(number: Fraction) -> exp.Expression:
            text = exp.Literal.number(repr(abs(float(number))))
            return exp.cast(exp.Neg(this=text) if number < 0 else text, "DOUBLE")

        # Between the bounds neither the product nor the cast can fail.
        first, last = double(low * column.step), double(high * column.step)
        steps = exp.Mul(this=cell.copy(), expression=double(1 / column.step))
        value = exp.cast(exp.Round(this=steps), "BIGINT")
    return (
        exp.case()
        .when(exp.Is(this=cell.copy(), expression=exp.null()), missing)
        .when(exp.LT(this=cell.copy(), expression=first), constant(low))
        .when(exp.GT(this=cell.copy(), expression=last), constant(high))
        .else_(value)
    )


def _number_of(condition: Any) -> exp.Expression:
    from sqlglot import exp

    if condition is None:
        return exp.Count(this=exp.Star())
    one = exp.case().when(condition.copy(), constant(1)).else_(constant(0))
    return exp.Coalesce(this=exp.Sum(this=one), expressions=[constant(0)])


def _all_rows(shape: Shape, key: str) -> Any:
    """Return the whole condition on rows: what is asked, the part, whose they are, the groups."""
    from sqlglot import exp

    conditions: list[Any] = [] if shape.where is None else [shape.where.copy()]
    if shape.part is not None:
        partition, part = shape.part
        conditions.append(one_of(partition.column, partition.parts[part]))
    if shape.table.person is not None:
        missing = exp.Is(this=quoted(key), expression=exp.null())
        conditions.append(exp.Not(this=missing))
        # The row of a person that counts is one in a declared group, if there is one.
        for axis in shape.axes:
            if axis.rest is None:
                conditions.append(exp.or_(*(one.copy() for one in axis.conditions)))
        if shape.kind in (Kind.QUANTILE, Kind.FOUND) and shape.column is not None:
            there = exp.Is(this=quoted(shape.column.name), expression=exp.null()).not_()
            conditions.append(there)
    return exp.and_(*conditions) if conditions else None


def _group(place: int) -> str:
    return f"tightrope_group_{place}"


def _numbered(shape: Shape, where: Any, table: Any, key: str) -> Any:
    """Return the rows with numbers for each person's, where people may have several."""
    from sqlglot import exp

    if shape.table.person is None:
        return table
    names = sorted(column.name for column in shape.columns)
    if shape.people and shape.axes:  # somebody counts once in each of several groups
        groups = [exp.alias_(_place(x), _group(k), quoted=True) for k, x in enumerate(shape.axes)]
        names = [_group(k) for k in range(len(groups))]
        table = exp.select(quoted(key), *groups).distinct().from_(table)
        table = (table if where is None else table.where(where)).subquery("tightrope_people")
        where = None
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[quoted(key)],
        # By every column that is read: rows that tie are alike.
        order=exp.Order(
            expressions=[
                exp.Ordered(this=quoted(name), nulls_first=False) for name in names or [key]
            ]
        ),
    )
    named = exp.alias_(number, _NUMBER, quoted=True)
    rows = exp.select(*(quoted(name) for name in names), named).from_(table)
    return (rows if where is None else rows.where(where)).subquery("tightrope_numbered")
