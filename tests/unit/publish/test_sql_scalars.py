"""Defaults and scalar subqueries ask what the same SELECT with aggregates asks."""

import pytest

from tightrope.errors import InputError
from tightrope.publish.facts import Column, Facts, Table
from tightrope.publish.sql_reader import read_shapes

COLUMNS = {
    "age": Column("age", "integer", bounds=(0, 100)),
    "score": Column("score", "integer", bounds=(10, 20)),
    "full": Column("full", "integer", bounds=(0, 9), complete=True),
    "sex": Column("sex", "text", values=("f", "m"), complete=True),
    "town": Column("town", "text", values=("a", "b")),
}
FACTS = Facts({"people": Table("people", 100, columns=COLUMNS)})

SAME = [
    ("sum(coalesce(age, 0)) as n from people", "sum(age) as n from people"),
    (
        "sum(coalesce(score, 0)) as n from people",
        "sum(score) filter (where not score is null) as n from people",
    ),
    (
        "sum(coalesce(age, -3)) as n from people",
        "sum(age) + count(*) filter (where age is null) * -3 as n from people",
    ),
    (
        "avg(coalesce(age, 0)) as n from people",
        "(sum(age)) * 1.0 / count(*) as n from people",
    ),
    ("avg(coalesce(full, 3)) as n from people", "avg(full) as n from people"),
    ("count(coalesce(age, 3)) as n from people", "count(*) as n from people"),
    (
        "count(*) * 1.0 / (select count(*) from people) as n from people where age > 9",
        "count(*) filter (where age > 9) * 1.0 / (count(*)) as n from people",
    ),
    (
        "count(*) filter (where sex = 'f') - (select count(*) from people q where q.age < 5) as n "
        "from people where age > 9",
        "count(*) filter (where sex = 'f' and age > 9) - (count(*) filter (where age < 5)) as n "
        "from people",
    ),
    (
        "sex, count(*) * 1.0 / (select count(*) from people) as n from people group by sex",
        "sex, count(*) * 1.0 / (sum(count(*)) over ()) as n from people group by sex",
    ),
    (
        "sex, count(*) * 1.0 / (select sum(age) from people where full > 3) as n from people "
        "where age > 9 group by sex",
        "sex, count(*) filter (where age > 9) * 1.0 / "
        "(sum(sum(age) filter (where full > 3)) over ()) as n from people group by sex",
    ),
]


@pytest.mark.parametrize(("written", "same"), SAME)
def test_both_ask_the_same(written, same):
    assert read_shapes(f"select {written}", FACTS) == read_shapes(
        f"select {same}", FACTS
    )


def test_a_default_outside_the_bounds_is_no_plain_sum():
    with_default = read_shapes("select sum(coalesce(score, 0)) as n from people", FACTS)
    assert with_default != read_shapes("select sum(score) as n from people", FACTS)


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("town, count(*) * 1.0 / (select count(*) from people) as n from people group by town",
         "rows may be in no group of 'town'"),
        ("sex, avg(age) - (select avg(age) from people) as n from people group by sex",
         "is a question of its own"),
        ("sex, count(*) / (select count(distinct age) from people) as n from people group by sex",
         "is a question of its own"),
        ("sex, town, count(*) / (select count(*) from people) from people group by cube(sex, town)",
         "is a question of its own"),
    ],
)  # fmt: skip
def test_what_is_no_sum_over_groups_is_refused(sql, says):
    with pytest.raises(InputError, match=says):
        read_shapes(f"select {sql}", FACTS)


@pytest.mark.parametrize(
    "inner",
    [
        "select count(*) from people group by sex",
        "select count(*) from people limit 1",
        "select distinct count(*) from people",
        "select count(*) from people having count(*) > 3",
        "select count(*) from other.people",
        "select count(*) from people q where q.age < people.age",
    ],
)
def test_a_subquery_with_more_than_a_condition_is_not_read_as_an_aggregate(inner):
    with pytest.raises(InputError):
        read_shapes(f"select count(*) - ({inner}) as n from people", FACTS)
