"""Each answer says which table it is about, in the words of the facts that were applied."""

import pytest

from tightrope.publish import parse_facts
from tightrope.publish.scopes import scope_of
from tightrope.publish.sql_reader import read_shape

FACTS = """
[tables.visits]
population = 400
neighbours = "{near}"
{person}

[tables.visits.columns]
income = {{ bounds = [0, 200000] }}
age = {{ bounds = [18, 90] }}
height = {{ bounds = [0.5, 2.5], step = 0.5 }}
region = {{ values = ["north", "south"] }}
sex = {{ values = ["f", "m", "x"], other = "x" }}
"""


def rules(sql, near="add-remove", person=""):
    facts = parse_facts(FACTS.format(near=near, person=person))
    return list(scope_of(read_shape(sql, facts)).rules)


CUT = "numbers cut to what so many can have: intervals are about what remains"
LIMITED = f"at most 400 people, {CUT}"


@pytest.mark.parametrize(
    ("near", "people"),
    [
        ("change-one", "exactly 400 people"),
        ("add-remove", LIMITED),
        ("either", LIMITED),
    ],
)
def test_the_number_of_people_is_exact_or_a_limit(near, people):
    assert rules("select count(*) from visits", near) == [people]


@pytest.mark.parametrize(
    ("sql", "near", "rule"),
    [
        ("sum(income)", "add-remove", "income clipped to 0..200000, missing values left out"),
        ("avg(income)", "either", "income clipped to 0..200000, missing values left out"),
        ("median(income)", "change-one", "income clipped to 0..200000, missing values left out"),
        ("sum(age)", "change-one", "age clipped to 18..90, missing values counted as 18"),
        ("sum(height)", "add-remove",
         "height clipped to 0.5..2.5 in steps of 0.5, missing values left out"),
    ],
)  # fmt: skip
def test_values_are_clipped_and_what_is_missing_is_named(sql, near, rule):
    assert rules(f"select {sql} from visits", near)[1:] == [rule]


@pytest.mark.parametrize(
    ("name", "near", "rule"),
    [
        ("region", "add-remove", "other values of region left out"),
        ("region", "change-one", "other values of region counted as (other)"),
        ("sex", "change-one", "other values of sex counted as x"),
    ],
)
def test_undeclared_groups_have_a_fate(name, near, rule):
    sql = f"select {name}, count(*) from visits group by {name}"
    assert rules(sql, near)[1:] == [rule]


def test_rows_of_one_person_are_limited():
    person = 'person = "id"\ncontributions = 3'
    assert rules("select count(*) from visits", person=person)[1:] == [
        "at most 3 rows for each id, chosen at random, rows without one left out: intervals are "
        "about what remains"
    ]
    assert rules("select count(distinct id) from visits", person=person)[1:] == [
        "each id counted once, rows without one left out"
    ]
    by_group = "select sex, count(distinct id) from visits group by sex"
    assert rules(by_group, person=person)[1].startswith("at most 3 groups for each id")
