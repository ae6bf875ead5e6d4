"""Arithmetic on published numbers: its ranges hold every value over the box."""

import itertools
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from tightrope.asking import ask
from tightrope.errors import InputError
from tightrope.publish import parse_facts
from tightrope.publish.arithmetic import (
    Case,
    Chosen,
    Constant,
    IsNull,
    Leaf,
    Logic,
    Neighbour,
    NoInterval,
    NullIf,
    Operation,
    OutputComparison,
    PublishedLines,
    PublishedNumber,
    Range,
    Rank,
    Rising,
    WindowAggregate,
    estimate_of,
)
from tightrope.publish.intervals import MISSING, Estimate
from tightrope.publish.sql_reader import read_shapes

NAMES = ("a", "b", "c")
LEAVES = {name: PublishedNumber(Leaf(name)) for name in NAMES}
A, B, C = LEAVES.values()


def published(ends, leaves=()):
    """Return one line whose numbers have these intervals, and the least ends as values."""
    numbers = {
        (0, name): Estimate(low, low, high)
        for name, (low, high) in zip(NAMES, ends, strict=False)
    }
    known = {name: Leaf(name) for name in NAMES} | {leaf.title: leaf for leaf in leaves}
    return PublishedLines(({},), numbers, known).line(0)


def at(point):
    """Return one line whose numbers are a point."""
    return published([(x, x) for x in point])


numbers = st.integers(1, 9).map(Fraction)
leaves = st.sampled_from([A, B, C]) | st.builds(Constant, numbers)
expressions = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Operation, st.sampled_from("+-*/"), inner, inner)
        | st.builds(Rising, st.sampled_from(["round", "floor", "ceil"]), inner)
        | st.builds(
            lambda *x: Chosen("greatest", x), inner, inner
        )
        | st.builds(lambda x, y: Chosen("coalesce", (NullIf(x, y), y)), inner, inner)
        | st.builds(
            lambda sign, x, y, z: Case(((OutputComparison(sign, x, y), z),), x),
            st.sampled_from(["<", ">=", "=", "<>"]), inner, inner, inner,
        )
    ),
    max_leaves=6,
)  # fmt: skip
intervals = st.tuples(st.integers(-4, 8), st.integers(0, 4)).map(
    lambda x: (x[0], x[0] + x[1])
)


@given(expressions, st.tuples(intervals, intervals, intervals), st.data())
@settings(max_examples=300, deadline=None)
def test_a_range_holds_the_value_at_every_point_of_the_box(expression, ends, data):
    try:
        held = expression.range_on(published(ends))
    except NoInterval:
        return
    thirds = [st.integers(3 * low, 3 * high) for low, high in ends]
    point = [Fraction(data.draw(third), 3) for third in thirds]
    value = expression.value(at(point))
    assert value is None or held.low <= value <= held.high


comparisons = st.builds(
    OutputComparison, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), leaves, leaves
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(lambda one: Logic("not", (one,)), inner)
        | st.builds(
            lambda word, *some: Logic(word, some),
            st.sampled_from(["and", "or"]), inner, inner,
        )
    ),
    max_leaves=5,
)  # fmt: skip


@given(conditions, st.tuples(intervals, intervals, intervals), st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_possible_of_a_condition_holds_at_some_point(condition, ends, data):
    """In the whole box its truth at any point is possible, and at a point nothing else is."""
    point = [data.draw(st.integers(low, high)) for low, high in ends]
    truth = condition.holds(at(point))
    assert condition.possible(at(point)) == {truth}
    assert truth in condition.possible(published(ends))


@given(st.tuples(*[st.tuples(st.integers(1, 9), st.integers(0, 9))] * 3))
@settings(max_examples=100, deadline=None)
def test_a_quotient_of_linear_forms_has_the_exact_range(sizes):
    ends = [(low, low + more) for low, more in sizes]
    share = Operation(
        "/", Operation("+", A, B), Operation("+", A, Operation("+", B, C))
    )
    vertices = [share.value(at(point)) for point in itertools.product(*ends)]
    assert share.range_on(published(ends)) == Range(min(vertices), max(vertices))


def test_a_number_outside_the_box_leaves_the_range():
    share = Operation("/", A, Operation("+", A, B))
    held = share.range_on(published([(1, 3), (2, 4)]))
    assert held == Range(Fraction(1, 5), Fraction(3, 5))
    assert share.value(at((4, 2))) > held.high


def test_a_share_of_a_count_is_between_0_and_1():
    part = Leaf("a", True, True, frozenset({"smoker"}))
    total = Leaf("b", True, True)
    share = Operation("/", PublishedNumber(part), PublishedNumber(total))
    line = published([(0, 9), (0, 5)], [part, total])
    assert share.range_on(line) == Range(0, 1)
    percent = Operation(
        "/",
        Operation("*", Constant(Fraction(100)), PublishedNumber(part)),
        PublishedNumber(total),
    )
    assert percent.range_on(line) == Range(0, 100)
    # The whole divided by its part may be as large as the box allows.
    assert Operation("/", PublishedNumber(total), PublishedNumber(part)).range_on(
        line
    ) == Range(0, 5)


def test_a_divisor_that_may_be_0_has_no_interval():
    line = published([(1, 2), (-1, 1)])
    found = estimate_of(Operation("/", A, B), line)
    assert (found.low, found.note) == (None, "no interval: a divisor may be 0")
    assert estimate_of(Operation("/", A, Constant(Fraction(0))), line) == MISSING


def test_what_is_undecided_names_the_other_text():
    small = OutputComparison("<", A, Constant(Fraction(10)))
    label = Case(((small, Constant("few")),), Constant("many"))
    assert estimate_of(label, published([(8, 12)])) == Estimate("few", note="or many")
    assert estimate_of(label, published([(8, 9)])) == Estimate("few")


def test_conditions_have_three_values():
    missing = NullIf(A, A)
    line = published([(1, 2)])
    unknown = OutputComparison("<", missing, A)
    true = OutputComparison("=", A, A)
    assert unknown.holds(line) is None
    assert Logic("or", (unknown, true)).holds(line) is True
    assert Logic("and", (unknown, true)).holds(line) is None
    assert Logic("not", (unknown,)).holds(line) is None
    assert IsNull(missing).holds(line)
    assert not Logic("not", (IsNull(missing),)).holds(line)


def test_a_window_takes_lines_with_the_same_names():
    numbers = {(k, "a"): Estimate(k, k - 1, k + 1) for k in range(4)}
    names = tuple({"key": "x" if k < 3 else "y"} for k in range(4))
    lines = PublishedLines(names, numbers, {"a": Leaf("a")})
    total = WindowAggregate("sum", A, ("key",))
    assert total.value(lines.line(0)) == 3
    assert total.range_on(lines.line(0)) == Range(0, 6)
    assert WindowAggregate("max", A, ()).range_on(lines.line(0)) == Range(2, 4)
    assert len(total.variables(lines.line(0))) == 3


def test_the_least_and_the_largest_of_a_window():
    numbers = {(k, "a"): Estimate(k, k - 1, k + 1) for k in range(3)}
    line = PublishedLines(({},) * 3, numbers, {"a": Leaf("a")}).line(0)
    assert WindowAggregate("min", A, ()).value(line) == 0
    assert WindowAggregate("max", A, ()).value(line) == 2
    assert WindowAggregate("min", A, ()).range_on(line) == Range(-1, 1)


def test_numbers_that_occur_in_several_lines_cancel():
    """Deviations from a mean sum to 0, whatever the numbers are."""
    numbers = {(k, "a"): Estimate(k, k - 1, k + 1) for k in range(3)}
    line = PublishedLines(({},) * 3, numbers, {"a": Leaf("a")}).line(0)
    deviation = Operation("-", A, WindowAggregate("avg", A, ()))
    assert WindowAggregate("sum", deviation, ()).range_on(line) == Range(0, 0)


def test_a_root_has_an_interval_unless_its_number_is_negative():
    root = Rising("sqrt", A)
    assert root.range_on(published([(4, 9)])) == Range(2, 3)
    assert root.range_on(published([(-4, 9)])) == Range(0, 3)
    with pytest.raises(NoInterval, match="root of a negative number"):
        root.range_on(published([(-4, -1)]))


def test_a_rank_is_what_the_intervals_leave():
    numbers = {(0, "a"): Estimate(9, 8, 10), (1, "a"): Estimate(7, 6, 8)}
    numbers |= {(2, "a"): Estimate(7, 6, 9), (3, "a"): Estimate(1, 0, 2)}
    lines = PublishedLines(({},) * 4, numbers, {"a": Leaf("a")})
    falling = Rank(A, (), is_falling=True)
    found = [estimate_of(falling, lines.line(k)) for k in range(4)]
    assert found == [
        Estimate(1, 1, 2), Estimate(2, 1, 3), Estimate(2, 1, 3), Estimate(4, 4, 4)
    ]  # fmt: skip
    rising = Rank(A, (), is_falling=False)
    assert [rising.value(lines.line(k)) for k in range(4)] == [4, 2, 2, 1]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("sum(12 * age)", 60), ("sum(age * 0.5)", Fraction(5, 2)), ("sum(-age)", -5),
        ("sum(age / 2)", Fraction(5, 2)), ("power(sum(age), 2)", 25),
    ],
)  # fmt: skip
def test_multiples_are_taken_after_publication(sql, value):
    (shape,) = read_shapes(f"select {sql} as x from people", FACTS)
    assert shape.titles == ("sum(age)",)
    numbers = {(): (Estimate(5, 4, 6),)}
    ((_, (shown,)),) = shape.after.rows((), shape.titles, lambda many: numbers)
    assert shown.value == value


# -- from SQL ---------------------------------------------------------------------------------

FACTS = parse_facts(
    """
[tables.people]
population = 400
neighbours = "add-remove"
[tables.people.columns]
age = { bounds = [0, 90] }
region = { values = ["north", "south"] }
sex = { values = ["f", "m"] }
smoker = { type = "boolean" }
"""
)


def test_one_aggregate_is_published_once_wherever_it_is_written():
    sql = (
        "select sum(age) / count(*) as mean, sum(AGE) as total, 2 * coalesce(sum(age), 0) as twice "
        "from people having count(*) > 3 order by sum(people.age)"
    )
    shapes = read_shapes(sql, FACTS)
    assert [shape.titles for shape in shapes] == [("total",), ("count(*)",)]


@pytest.mark.parametrize(
    ("dialect", "value"), [("duckdb", Fraction(3, 2)), ("postgres", 1)]
)
def test_whole_numbers_are_divided_as_the_database_does(dialect, value):
    sql = "select count(*) / count(age) as q, count(*) * 1.0 / count(age) as r from people"
    (shape,) = read_shapes(sql, FACTS, dialect)
    numbers = {(): (Estimate(3, 2, 4), Estimate(2, 1, 3))}
    ((_, shown),) = shape.after.rows((), shape.titles, lambda many: numbers)
    assert [number.value for number in shown] == [value, Fraction(3, 2)]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("select region, age, count(*) from people group by region", "value of one row"),
        ("select array_agg(age) from people", "lists the values of single rows"),
        ("select any_value(age) from people", "is the value of one row"),
        ("select * from people", "shows single rows"),
        ("select ln(count(*)) from people", "not known around published numbers"),
        ("select round(count(*), -2) from people", "rounded to 0 to 12 digits"),
        ("select cast(count(*) as varchar) from people", "cast to a number"),
        ("select region, avg(count(*)) over (order by region) from people group by region",
         "the one column of GROUP BY"),
        ("select avg(age) over () from people", "over groups that are published, not over rows"),
        ("select region, count(*) from people group by region qualify count(*) > 3", "HAVING"),
        ("select region, count(*) from people group by region limit 1 offset 1", "with LIMIT"),
        ("select distinct region from people", r"COUNT\(\*\) with GROUP BY"),
        ("select count(*) from people tablesample 10 percent", "about all of them"),
        ("select count(*) * random() from people", "noise is drawn once"),
        ("select sum(age + smoker) from people", r"ask for SUM\(age\) and SUM\(smoker\)"),
        ("select sum(distinct age) from people", "ask without DISTINCT"),
        ("select kurtosis(age) from people", "known are COUNT, SUM"),
        ("select (select count(*) from people limit 1) / count(*) from people",
         "question of its own"),
        ("select power(count(*), 9) from people", "exponent from 1 to 4"),
        ("select avg(weight) from people", "If the table has it, add"),
        ("select count(*) from people group by region", "SELECT must name it too"),
        ("select region, sum(count(*)) over (partition by sex) from people group by region",
         "PARTITION BY takes columns of GROUP BY"),
        ("select region from people group by region", "publishes no number"),
        ("select count(*) from people having age > 3", "put that into WHERE. HAVING chooses"),
        ("select count(*) from people having count(*) like '3'", "HAVING and CASE"),
        ("select region, count(*) % 2 from people group by region", "whole table only"),
    ],
)  # fmt: skip
def test_what_is_not_computed_says_why(sql, says):
    with pytest.raises(InputError, match=says):
        read_shapes(sql, FACTS)


PEOPLE = pd.DataFrame(
    {
        "age": [k % 91 for k in range(380)],
        "region": ["north" if k % 3 else "south" for k in range(380)],
        "sex": ["f" if k % 2 else "m" for k in range(380)],
        "smoker": [k % 5 == 0 for k in range(380)],
    }
)


def asked(sql, tmp_path, **more):
    given = {
        "data": PEOPLE,
        "facts": FACTS,
        "ledger": tmp_path / "ledger.db",
        "budget": 9,
    }
    return ask(sql, epsilon=1, **given, **more)


def test_columns_are_computed_from_what_is_published(tmp_path):
    answer = asked(
        "select region, sex, count(*) as n, count(*) filter (where smoker) as s, "
        "round(100.0 * count(*) filter (where smoker) / count(*), 1) as percent, "
        "count(*) * 1.0 / sum(count(*)) over (partition by region) as share, "
        "sum(count(*)) over (partition by region) as total "
        "from people group by region, sex order by count(*) - 1 desc",
        tmp_path,
    )
    assert answer.charged == 1
    assert answer.titles == ("n", "s", "percent", "share", "total")
    for names, (n, s, percent, share, total) in answer.rows:
        regions = [numbers for other, numbers in answer.rows if other[0] == names[0]]
        assert total.value == sum(numbers[0].value for numbers in regions)
        assert share.value == Fraction(n.value) / total.value
        assert percent.value == pytest.approx(100 * s.value / n.value, abs=0.051)
        assert 0 <= share.low <= share.value <= share.high <= 1
    sizes = [numbers[0].value for _, numbers in answer.rows]
    assert sizes == sorted(sizes, reverse=True)


def test_groups_are_filtered_after_publication(tmp_path):
    sql = "select region, count(*) as n from people group by region having n > 200"
    answer = asked(sql, tmp_path)
    assert [names for names, _ in answer.rows] == [("north",)]
    assert answer.simultaneous
    with pytest.raises(InputError, match="HAVING, LIMIT and arithmetic"):
        asked(sql, tmp_path, whole=True)


def test_a_wanted_error_is_not_one_of_a_ratio(tmp_path):
    with pytest.raises(InputError, match="error of q depends on the data"):
        ask("select count(*) / 7 as q from people", error=3, data=PEOPLE, facts=FACTS,
            ledger=tmp_path / "ledger.db", budget=9)  # fmt: skip


def lines_of(ends):
    """Return lines whose numbers A have these intervals."""
    numbers = {(k, "a"): Estimate(low, low, high) for k, (low, high) in enumerate(ends)}
    return PublishedLines(
        tuple({"k": k} for k in range(len(ends))), numbers, {"a": Leaf("a")}
    )


#: For each rule of ties, the places of 5, 3, 3 and 1 from above.
TIES = {"rank": [1, 2, 2, 4], "dense_rank": [1, 2, 2, 3], "row_number": [1, 2, 3, 4]}


@pytest.mark.parametrize("ties", TIES)
def test_lines_with_one_value_have_the_places_of_their_function(ties):
    lines = lines_of([(5, 5), (3, 3), (3, 3), (1, 1)])
    rank = Rank(A, (), is_falling=True, ties=ties)
    assert [rank.value(lines.line(k)) for k in range(4)] == TIES[ties]
    # Which of two equal lines comes first is not known.
    widest = rank.range_on(lines.line(1))
    assert widest == (Range(2, 3) if ties == "row_number" else Range(2, 2))


@given(st.lists(intervals, min_size=1, max_size=4), st.sampled_from([*TIES]), st.data())
def test_a_place_is_in_its_range_whatever_the_numbers_are(ends, ties, data):
    whole_lines = lines_of(ends)
    rank = Rank(A, (), is_falling=data.draw(st.booleans()), ties=ties)
    point = [data.draw(st.integers(low, high)) for low, high in ends]
    true = lines_of([(x, x) for x in point])
    for k in range(len(ends)):
        within = rank.range_on(whole_lines.line(k))
        assert within.low <= rank.value(true.line(k)) <= within.high


def test_lines_before_and_after_one():
    lines = lines_of([(1, 2), (4, 5), (9, 9)])
    growth = Operation("-", A, Neighbour(A, (), -1))
    assert [growth.value(lines.line(k)) for k in range(3)] == [None, 3, 5]
    assert growth.range_on(lines.line(1)) == Range(2, 4)
    assert estimate_of(growth, lines.line(0)) == MISSING
    assert Neighbour(A, (), 2).value(lines.line(0)) == 9
    with pytest.raises(NoInterval, match="no line before the first"):
        Neighbour(A, (), 1).range_on(lines.line(2))


def test_windows_are_over_the_lines_that_having_leaves():
    facts = parse_facts(
        "[tables.t]\npopulation = 90\n[tables.t.columns]\n"
        'k = { values = ["a", "b", "c"], complete = true }\n'
    )
    numbers = {("a",): (Estimate(5),), ("b",): (Estimate(20),), ("c",): (Estimate(30),)}

    def shown(sql):
        (shape,) = read_shapes(sql, facts)
        # A second number of each line is the margin of all.
        known = {
            k: (*line, Estimate(55))[: len(shape.titles)] for k, line in numbers.items()
        }
        rows = shape.after.rows(("k",), shape.titles, lambda many: known)
        return [(names[0], *(x.value for x in line)) for names, line in rows]

    having = "group by k having count(*) > 9"
    total = "sum(count(*)) over () as total"
    assert shown(f"select k, count(*) as n, {total} from t {having}") == [
        ("b", 20, 50),
        ("c", 30, 50),
    ]
    place = "rank() over (order by count(*)) as place"
    assert shown(f"select k, count(*) as n, {place} from t {having}") == [
        ("b", 20, 1),
        ("c", 30, 2),
    ]
    first = "qualify row_number() over (order by count(*)) = 1"
    assert shown(f"select k, count(*) as n from t {having} {first}") == [("b", 20)]
    # A scalar subquery is about the whole table, whatever HAVING leaves.
    whole = "count(*) - (select count(*) from t) as rest"
    assert shown(f"select k, {whole} from t {having}") == [("b", -35), ("c", -25)]
