"""Lookups of rows among declared values: few comparisons, and what the values say."""

import datetime
from fractions import Fraction

import pyarrow
import pytest
import sqlglot

from tightrope.errors import InputError
from tightrope.publish import values
from tightrope.publish.axes import column_axis, read_axis
from tightrope.publish.facts import Column, Table, read_column
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import Count
from tightrope.publish.sources import open_source
from tightrope.publish.sql_pieces import ConditionReader

NUMBERS = [None, -500, -21, -20, -19, -1, 0, 1, 5, 5, 77, 78, 79, 80, 2**40]
DAYS = [
    "1999-01-01",
    "2010-01-01",
    "2010-01-02",
    "2015-12-31",
    "2016-02-29",
    "2030-05-05",
]
TEXTS = ["north", "south", "north-east", "Ünder", "atlantis", None, "", "NORTH"]


def places(axis, column, cells):
    """Return the place of each value, as the database finds it."""
    row = Column("row", "integer", values=tuple(range(len(cells))))
    people = Table("people", 100, columns={column.name: column, "row": row})
    data = pyarrow.table({column.name: cells, "row": range(len(cells))})
    shape = Count(
        people,
        axes=(column_axis("row", row, people), axis),
        used=(column.name, "row"),
    )
    with open_source(data, people) as source:
        found = {row: place for row, place, _ in SealedQuery(source, shape)._rows()}
    return [found[row] for row in range(len(cells))]


def axis_of(sql, column):
    people = Table("people", 100, columns={column.name: column})
    return read_axis(
        sqlglot.parse_one(sql, read="duckdb"), ConditionReader(people, set())
    )


@pytest.mark.parametrize("complete", [False, True])
def test_numbers_within_bounds_have_their_places(complete):
    age = Column("age", "integer", bounds=(-20, 79), complete=complete)
    axis = column_axis("age", age, Table("people", 100, columns={"age": age}))
    expected = [
        (0 if complete else -1) if x is None else min(max(x, -20), 79) + 20
        for x in NUMBERS
    ]
    assert places(axis, age, NUMBERS) == expected


def test_many_values_are_searched_for_in_a_tree():
    age = Column("age", "integer", values=tuple(range(0, 4000, 2)))
    axis = column_axis("age", age, Table("people", 100, columns={"age": age}))
    depth = max(
        sum(1 for _ in _cases_above(node))
        for node in axis.place().find_all(sqlglot.exp.EQ)
    )
    assert depth <= 10  # 2 ** 8 leaves of 8 values each
    assert places(axis, age, [0, 2, 3, 1998, 3998, 3999, -1]) == [
        0,
        1,
        -1,
        999,
        1999,
        -1,
        -1,
    ]


def _cases_above(node):
    while node is not None:
        if isinstance(node, sqlglot.exp.Case):
            yield node
        node = node.parent


def test_days_are_looked_up_as_python_counts_them():
    joined = read_column("joined:2010-01-01..2020-12-31")
    low, high = map(datetime.date.fromordinal, joined.bounds)
    held = [min(max(datetime.date.fromisoformat(day), low), high) for day in DAYS]
    cells = [datetime.date.fromisoformat(day) for day in DAYS]
    rules = {
        "extract(year from joined)": lambda day: day.year,
        "extract(dow from joined)": lambda day: day.isoweekday() % 7,
        "date_trunc('week', joined)": lambda day: (
            day - datetime.timedelta(days=day.weekday())
        ).isoformat(),
        "strftime(joined, '%Y-%m')": lambda day: f"{day:%Y-%m}",
    }
    for sql, rule in rules.items():
        axis = axis_of(sql, joined)
        assert list(axis.classes) == sorted(axis.classes)
        found = [axis.classes[place] for place in places(axis, joined, cells)]
        assert found == list(map(rule, held)), sql


def test_days_of_the_week_are_a_short_question():
    joined = read_column("joined:1950-01-01..2049-12-31")
    assert len(axis_of("extract(dow from joined)", joined).place().sql()) < 1000
    # Nearly the same numbers do not repeat: the leap years see to that.
    assert values._period([day % 7 for day in range(99)] + [0]) is None
    with pytest.raises(InputError, match="declare narrower bounds"):
        axis_of("extract(dow from joined) * extract(day from joined) % 9", joined)


def test_texts_are_worked_out_on_declared_values():
    region = Column("region", "text", values=("south", "north", "north-east", "Ünder"))
    axis = axis_of("upper(left(region, 1))", region)
    assert axis.classes == ("S", "N", "Ü")
    assert places(axis, region, TEXTS) == [1, 0, 1, 2, -1, -1, -1, -1]
    assert places(axis, region, [None]) == [-1]  # a column without a type


@pytest.mark.parametrize("listed", [False, True])
def test_a_function_with_one_value_has_one_place(listed):
    bounds = {"values": (1, 5, 9)} if listed else {"bounds": (0, 99)}
    age = Column("age", "integer", **bounds)
    axis = axis_of("floor(age / 1000)", age)
    assert axis.classes == (0,)
    outside = (
        -1 if listed else 0
    )  # a number beyond its bounds is the nearest within them
    assert places(axis, age, [5, 9, 700, None]) == [0, 0, outside, -1]


def test_numbers_of_any_type_may_have_listed_values():
    degree = Column("degree", "number", values=(1, 2, 4))
    axis = axis_of("degree * 2", degree)
    assert axis.classes == (2, 4, 8)
    assert places(axis, degree, [1.0, 2.0, 2.5, 4.0, None]) == [0, 1, -1, 2, -1]


def test_other_stands_for_what_is_not_declared():
    region = Column("region", "text", values=("south", "north", "rest"), other="rest")
    axis = axis_of(
        "case when region = 'rest' then 'r' else left(region, 1) end || '!'", region
    )
    assert axis.classes == ("s!", "n!", "r!")
    assert axis.rest == 2


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("a like 'n_rth%'", "north-east", True),
        ("a not like 'n!%' escape '!'", "n%", False),
        ("a like '%\n%'", "a\nb", True),
        ("a ilike 'NOR%'", "north", True),
        ("substr(a, 2, 3)", "north", "ort"),
        ("right(a, 9)", "north", "north"),
        ("a || '-' || 3", "x", "x-3"),
        ("coalesce(nullif(a, 'x'), 'none')", "x", "none"),
        ("a in ('x', null)", "y", None),
        ("a is null or a = 'y'", "y", True),
        ("round(a / 10)", Fraction(25), Fraction(3)),
        ("round(-a / 10)", Fraction(25), Fraction(-3)),
        ("round(a, -2)", Fraction(250), Fraction(300)),
        ("round(a, -1)", Fraction(-1244), Fraction(-1240)),
        ("round(a, 1)", Fraction("2.25"), Fraction("2.3")),
        ("a // 10 % 7", Fraction(-85), Fraction(-1)),
        ("a - date '2020-01-01'", datetime.date(2020, 3, 1), Fraction(60)),
        ("year(a) between 2019 and 2020", datetime.date(2020, 3, 1), True),
        ("case a when 1 then 'one' when 2 then 'two' end", Fraction(3), None),
    ],
)
def test_functions(sql, value, expected):
    node = sqlglot.parse_one(sql, read="duckdb")
    assert values.worked_out(node, lambda column: value) == expected


TRUTHS = {True: "1 = 1", False: "1 = 0", None: "1 = null"}


@pytest.mark.parametrize("left", TRUTHS)
@pytest.mark.parametrize("right", TRUTHS)
def test_truth_has_three_values(left, right):
    both = {left, right}
    expected = {
        "and": False if False in both else None if None in both else True,
        "or": True if True in both else None if None in both else False,
    }
    for word, value in expected.items():
        sql = f"({TRUTHS[left]}) {word} ({TRUTHS[right]})"
        node = sqlglot.parse_one(sql, read="duckdb")
        assert values.worked_out(node, lambda column: None) is value
    node = sqlglot.parse_one(f"not ({TRUTHS[left]})", read="duckdb")
    opposite = None if left is None else not left
    assert values.worked_out(node, lambda column: None) is opposite


@pytest.mark.parametrize("many", [3, 12])
def test_a_long_case_is_that_of_its_first_branch_too(many):
    """Branches beyond a handful are looked up; a missing subject is in none of them."""
    first = [f"b{2 * k}" if 2 * k < many else "none" for k in range(3)]
    for subject, test in (("a", ""), ("", "a = ")):
        branches = " ".join(f"when {test}{k // 2} then 'b{k}'" for k in range(many))
        sql = f"case {subject} {branches} else 'none' end"
        node = sqlglot.parse_one(sql, read="duckdb")
        found = [
            values.worked_out(node, lambda _, k=k: k) for k in map(Fraction, range(3))
        ]
        assert found == first
        assert values.worked_out(node, lambda column: None) == "none"


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("a / 0", Fraction(1)),
        ("a + 1", True),
        ("a < 'x'", "w"),  # databases order texts in different ways
        ("substr(a, -1)", "north"),
        ("strftime(a, '%A')", datetime.date(2020, 1, 1)),
        ("a + date '2020-01-01'", "x"),
        ("pg_sleep(a)", Fraction(1)),
    ],
)
def test_functions_without_one_meaning_are_refused(sql, value):
    node = sqlglot.parse_one(sql, read="duckdb")
    with pytest.raises(InputError, match="a function of a column"):
        values.worked_out(node, lambda column: value)
