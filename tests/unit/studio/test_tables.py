"""The form of the first panel: filled from public facts, and what it asks for."""

import re
from dataclasses import replace

import pytest

from tightrope.asking.answers import published_numbers
from tightrope.asking.cache import drawn_from
from tightrope.publish import Ledger
from tightrope.publish.shapes import FoundGroups
from tightrope.studio.asking import FieldError
from tightrope.studio.tables import (
    LedgerView,
    TableAsked,
    columns_of,
    declared,
    facts_form,
    forecast,
    ledger_view,
    publish_answer,
    relation_costs,
)

FACTS = """
[tables.people]
source = "people.csv"
population = 40
budget = "9"
[tables.people.columns]
sex = { values = ["f", "m"], complete = true }
age = { bounds = [20, 60] }

[tables.visits]
population = 40
neighbours = "add-remove"
budget = "2"
delta = "1e-6"
person = "id"
contributions = 3
[tables.visits.columns]
ward = { type = "text" }
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "shelf"))
    rows = [f"{'fm'[i % 2]},{20 + i}" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,age", *rows]) + "\n")
    (tmp_path / "tightrope.toml").write_text(FACTS)


def test_facts_fill_the_form_and_alone_say_what_they_say():
    form, columns = facts_form("tightrope.toml", "visits")
    assert (form.table, form.population, form.neighbours) == (
        "visits",
        "40",
        "add-remove",
    )
    assert (form.budget, form.budget_delta) == ("2", "1e-06")
    assert columns["ward"] == ("text", "")
    # What the form has no field for holds too.
    table = declared(replace(form, data="elsewhere.csv"))
    assert (table.person, table.contributions, table.source) == (
        "id",
        3,
        "elsewhere.csv",
    )
    form, columns = facts_form("tightrope.toml", "")
    assert (form.table, form.data) == ("people", "people.csv")
    assert columns == {"sex": ("values", "f, m"), "age": ("range", "20..60")}
    with pytest.raises(FieldError, match="no such file") as refused:
        facts_form("no.toml", "")
    assert refused.value.field == "table facts"


def test_a_budget_is_filled_in_as_people_write_it(tmp_path):
    (tmp_path / "log.toml").write_text(FACTS.replace('"9"', '"3*ln(2)"'))
    form, _ = facts_form("log.toml", "people")
    assert form.budget == "2.07944154167984"


def test_columns_come_without_a_look_at_the_rows():
    assert columns_of("people.csv") == ("people", {"sex": ("", ""), "age": ("", "")})


@pytest.mark.parametrize(
    ("sql", "delta", "words"),
    [
        ("select sex, count(*) from people group by sex", "1e-6", "leave it empty"),
        (
            "select ward, count(*) from visits group by ward",
            "",
            "nobody declared these groups",
        ),
    ],
)
def test_a_delta_is_for_groups_that_nobody_declared(sql, delta, words):
    table = "people" if "people" in sql else "visits"
    asked = TableAsked(
        "people.csv", table, facts="tightrope.toml", sql=sql, delta=delta
    )
    with pytest.raises(FieldError, match=words) as refused:
        forecast(asked)
    assert refused.value.field == "table delta"


@pytest.mark.parametrize(
    "sql",
    [
        "select sex, sum(age) as s from people group by sex",
        "select sum(age) from people",
        "select sex, avg(age) as m, sum(age) as s, count(age) as c from people group by sex",
        "select avg(age) from people",
        "select mode(sex) from people",
        "select sex, count(*) from people group by sex",
        "select median(age) from people",
        "select sex, count(*) as n, count_if(age > 40) as k from people group by sex",
    ],
)
def test_every_answer_is_listed_with_what_was_paid(sql):
    """A list that fails on one kind of answer would hide all that were paid for."""
    asked = TableAsked(
        "people.csv", "people", facts="tightrope.toml", sql=sql, epsilon="4"
    )
    asked = replace(asked, key="k")
    assert not forecast(asked).shortfall
    found = publish_answer(asked)
    assert found["rows"]
    view = ledger_view("ledger.db")
    assert [account.spent for account in view.accounts] == [4]
    # What was published is listed again: the numbers of the table, not the outputs behind them.
    ((numbers, _),) = view.answers
    words = str(numbers)
    keys = 1 if "group by" in sql else 0
    for row in found["rows"]:
        said = [", ".join(part) for part in (row[:keys], row[keys:]) if part]
        assert ": ".join(said) in words
    if keys:
        titles = re.findall(r" as (\w+)", sql) or ["count(*)"]
        assert numbers.heads == (("sex", ", ".join(titles)),)
    # The same question is recognised; another level is another question.
    earlier = forecast(replace(asked, key="")).earlier
    assert (earlier.key, earlier.text) == ("k", words)
    assert forecast(replace(asked, key="", epsilon="3")).earlier is None
    # Asked again with its key, it costs nothing.
    assert forecast(asked).price["price"].startswith("nothing more")
    assert publish_answer(asked)["rows"] == found["rows"]
    assert Ledger("ledger.db").remaining("table people") == 5


def test_a_ledger_with_an_address_is_one_too():
    """Before its first answer it is not there, and what was paid from it is not paid again."""
    ledger = "sqlite:///spent.db"
    assert ledger_view(ledger) == LedgerView()
    sql = "select count(*) from people"
    asked = TableAsked(
        "people.csv", "people", facts="tightrope.toml", sql=sql, epsilon="9"
    )
    asked = replace(asked, ledger=ledger, key="k")
    publish_answer(asked)
    again = forecast(asked)
    assert not again.shortfall
    assert again.price["price"].startswith("nothing more")
    assert len(ledger_view(ledger).answers) == 1


def test_a_receipt_that_does_not_name_its_columns_is_listed_without_headings():
    sql = "select sex, count(*) from people group by sex"
    asked = TableAsked(
        "people.csv", "people", facts="tightrope.toml", sql=sql, epsilon="4", key="k"
    )
    publish_answer(asked)
    ((numbers, receipt),) = ledger_view("ledger.db").answers
    del receipt["columns"]
    noises = drawn_from(receipt)
    assert published_numbers(receipt, noises) == replace(numbers, heads=())
    # An entry of another version hides no other entry.
    assert published_numbers({**receipt, "columns": 3}, noises).heads == ()


def test_no_group_that_is_large_enough_is_an_answer_too():
    nothing = {"answer": [], "reading": {"kind": FoundGroups.kind}}
    assert str(published_numbers(nothing, [None, None])) == "no group was large enough"


def test_cube_has_a_plan_before_it_is_paid_and_heat_maps_after():
    sql = "select sex, age < 40 as young, count(*) as n from people group by cube (sex, young)"
    asked = TableAsked(
        "people.csv", "people", facts="tightrope.toml", sql=sql, epsilon="4", key="k"
    )
    told = forecast(asked)
    tables = ["sex × young", "sex", "young", "in all"]
    assert [line[0].removeprefix("n by ").removeprefix("n ") for line in
            told.margins.lines[1:]] == tables  # fmt: skip
    assert sum(told.shares.values()) == pytest.approx(1)
    # The largest margin of a table is the one that is announced.
    margins = [int(line[1].removeprefix("± ")) for line in told.margins.lines[1:]]
    assert told.error == f"± {max(margins)} at most (95 %)"
    published = publish_answer(asked)["tables"]
    # The list of answers has the same tables, and no name for a column that is summed over.
    ((numbers, _),) = ledger_view("ledger.db").answers
    assert [len(lines) for lines in numbers.tables] == [4, 2, 2, 1]
    assert [lines[0][0] for lines in numbers.tables][1::2] == ["f", "all"]
    assert "None" not in str(numbers)
    assert [head for head, _ in numbers.heads] == [
        "sex × young",
        "sex",
        "young",
        "total",
    ]
    assert {title for _, title in numbers.heads} == {"n"}
    assert [title for title, _ in published] == ["sex × young", "sex", "young", "all"]
    assert published[0][1].count("--heat:") > published[1][1].count("--heat:") == 2
    # One table has neither.
    alone = forecast(replace(asked, sql="select count(*) from people", key=""))
    assert alone.shares == {}
    assert alone.error.startswith("± ")


def test_level_above_the_budget_is_named_before_another_refusal():
    sql = "select avg(nothing) from people"
    asked = TableAsked("people.csv", "people", facts="tightrope.toml", sql=sql)
    with pytest.raises(FieldError, match=r"more than the .* left") as refused:
        forecast(replace(asked, epsilon="50"))
    assert refused.value.field == "table epsilon"
    # Within the budget the refusal is that of the question.
    with pytest.raises(FieldError, match="column 'nothing'") as refused:
        forecast(replace(asked, epsilon="1"))
    assert refused.value.field == "table sql"
    # In the words of the form, not of the command line.
    assert "under Columns" in str(refused.value)
    assert "--column" not in str(refused.value)


def test_relation_has_a_price_where_it_is_chosen():
    sql = "select sex, count(*) as n from people group by sex"
    asked = TableAsked("people.csv", "people", facts="tightrope.toml", sql=sql)
    costs = relation_costs(replace(asked, epsilon="1/2"))
    assert list(costs) == ["change-one", "add-remove"]
    # The chosen relation has the margin that is forecast; a level that is none has no price.
    assert (
        forecast(replace(asked, epsilon="1/2")).error == f"{costs['change-one']} (95 %)"
    )
    assert relation_costs(replace(asked, epsilon="nan")) == {}
