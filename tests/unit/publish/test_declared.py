"""Values whose answer graph the user names: what is asked of the database."""

import pytest
import sqlglot

from tightrope.publish.facts import Column, Table
from tightrope.publish.shapes import Declared

PEOPLE = Table("people")


@pytest.mark.parametrize(
    ("sql", "kind", "asked"),
    [
        # Whole numbers of any size may overflow when they are added up; doubles do not.
        ("sum(a)", "integer", "SUM(CAST(a AS DOUBLE))"),
        ("sum(a)", "number", "SUM(a)"),
        ("max(a)", "integer", "MAX(a)"),
        ("max(a)", "date", "CAST(MAX(a) AS TEXT)"),
    ],
)
def test_values_are_asked_for_in_a_type_that_holds_them(sql, kind, asked):
    value = sqlglot.parse_one(sql)
    shape = Declared(PEOPLE, expression=value, column=Column("a", kind))
    assert [target.sql() for target in shape.targets()] == [asked]
    assert value.sql() == sqlglot.parse_one(sql).sql()


def test_the_number_of_rows_is_asked_for_as_it_is():
    shape = Declared(PEOPLE, expression=sqlglot.parse_one("count(*)"))
    assert [target.sql() for target in shape.targets()] == ["COUNT(*)"]
