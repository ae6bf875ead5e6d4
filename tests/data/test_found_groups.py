"""Groups that nobody declared: found in every kind of source, and shown only if large enough."""

import sqlite3
from collections import Counter
from fractions import Fraction

import pyarrow
import pytest
from tests.data.conftest import ROWS

import tightrope as tr
from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.proofs import prove_selection
from tightrope.publish import Ledger, OverBudget, parse_facts
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape

SQL = "select region, count(*) as n from people group by region"


def facts(near="add-remove", more="", column='region = { type = "text" }'):
    return parse_facts(
        f'[tables.people]\npopulation = 150\nneighbours = "{near}"\nbudget = "9"\n{more}\n'
        f"[tables.people.columns]\n{column}\nsmoker = {{ type = 'boolean' }}\n"
    )


@pytest.fixture(scope="module")
def loud():
    """Mechanisms so exact that they show every group with its true size."""
    noise = GeometricChannel(151, "40")
    counting = certify(noise, "count(150)", "40", neighbours="add-remove")
    return prove_selection(150, "40", "0.9999999999"), counting


def found(place, sql, known, mechanisms):
    shape = read_shape(sql, known, dialect_of(place))
    with open_source(place, shape.table) as opened:
        return SealedQuery(opened, shape).draw(mechanisms)


def test_every_source_finds_the_same_groups(source, loud):
    sizes = Counter(row[2] for row in ROWS if row[2] is not None)
    assert found(source, SQL, facts(), loud) == [list(pair) for pair in sorted(sizes.items())]
    smokers = Counter(row[2] for row in ROWS if row[2] is not None and row[3])
    asked = "select region, count(*) from people where smoker group by region"
    assert found(source, asked, facts(), loud) == [list(pair) for pair in sorted(smokers.items())]


def test_one_row_of_each_person_counts(source, loud):
    """Who has several rows is in the group of the first that has one."""
    rows = sorted(
        (row for row in ROWS if row[0] is not None and row[2] is not None),
        key=lambda row: (row[0], row[2]),
    )
    sizes = Counter({row[0]: row[2] for row in reversed(rows)}.values())
    known = facts(
        more='person = "id"', column='region = { type = "text" }\nid = { type = "integer" }'
    )
    assert found(source, SQL, known, loud) == [list(pair) for pair in sorted(sizes.items())]


def test_names_are_compared_byte_by_byte(tmp_path, loud):
    """A collation that takes two names for one must not show one person's spelling."""
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as table:
        table.execute("create table people (region text collate nocase, smoker boolean)")
        table.executemany(
            "insert into people values (?, 0)", [("north",)] * 30 + [("NORTH",), (b"\xff",), ("",)]
        )
    table.close()
    groups = dict(map(tuple, found(f"sqlite:///{path}", SQL, facts(), loud)))
    assert groups == {"north": 30, "NORTH": 1}


def test_small_groups_are_shown_as_often_as_the_mechanism_says(loud):
    """A group of nine at ε = ln 2 and δ = 1e-3: 0.511, from the draws of the sealed room."""
    choice = prove_selection(150, "ln(2)", "1e-3")
    rows = pyarrow.table({"region": [f"r{k}" for k in range(1500) for _ in range(9)]})
    shape = read_shape(SQL.replace("smoker", "region"), facts(), "duckdb")
    with open_source(rows, shape.table) as opened:
        shown = SealedQuery(opened, shape).draw((choice, loud[1]))
    assert abs(len(shown) / 1500 - 0.511) < 5 * (0.25 / 1500) ** 0.5
    assert {size for _, size in shown} == {9}


@pytest.mark.parametrize(("near", "width"), [("add-remove", 1), ("change-one", 2), ("either", 2)])
def test_asking(tmp_path, monkeypatch, near, width):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    names = ["Oslo"] * 100 + ["Rome"] * 90 + ["Hay"]
    people = pyarrow.table({"region": names, "smoker": [True] * len(names)})
    ledger = Ledger.create(tmp_path / "ledger.db")
    known = facts(near)
    given = {"data": people, "facts": known, "ledger": ledger, "epsilon": 4}
    with pytest.raises(InputError, match="give --delta"):
        tr.ask(SQL, **given)
    with pytest.raises(InputError, match="leave it out"):
        tr.ask("select count(*) from people", delta="1e-9", **given)
    with pytest.raises(OverBudget, match="δ of table people is too small"):
        tr.ask(SQL, delta="1e-9", **given)
    ledger.set_budget("table people", 9, "1e-6")
    answer = tr.ask(SQL, delta="1e-9", key="k", **given)
    assert [name for (name,), _ in answer.rows] == ["Oslo", "Rome"]
    assert answer.keys == ("region",)
    for (_, (told,)), true in zip(answer.rows, (100, 90), strict=True):
        assert told.low <= told.value <= told.high
        assert abs(told.value - true) < 40
    account = ledger.account("table people")
    assert (account.spent, account.spent_delta) == (4, Fraction(1, 10**9))
    assert any("for certain" in note for note in answer.notes)
    assert (answer.delta, answer.as_dict()["delta"]) == (account.spent_delta, "1/1000000000")
    assert "δ = 1e-09" in answer.facts()["paid"]
    assert "Oslo" in answer._repr_html_()
    again = tr.ask(SQL, delta="1e-9", key="k", **given)
    assert (again.rows, again.fresh, ledger.remaining("table people")) == (answer.rows, False, 5)
    levels = [Fraction(x) for x in answer.releases[0].receipt["epsilon"].split(", ")]
    assert width * sum(levels) == 4
    # Two groups: at once at 90 % is each at 95 %.
    limited = tr.ask(
        f"{SQL} order by region limit 9", delta="1e-9", key="k", confidence="0.9", **given
    )
    at_once = tr.ask(SQL, delta="1e-9", key="k", confidence="0.9", simultaneous=True, **given)
    assert limited.rows == at_once.rows == answer.rows
    assert ledger.verify().intact


@pytest.mark.parametrize(
    "sql",
    [
        "select region, sum(age) from people group by region",
        "select region, smoker, count(*) from people group by region, smoker",
        "select region from people group by region order by count(*) desc limit 1",
        "select mode(region) from people",
        "select region, count(*), count(*) filter (where smoker) from people group by region",
    ],
)
def test_more_than_counts_needs_declared_values(sql):
    column = 'region = { type = "text" }\nage = { bounds = [0, 90] }'
    with pytest.raises(InputError, match="possible values"):
        read_shape(sql, facts(column=column), "duckdb")


def test_several_rows_for_each_person_are_refused():
    known = facts(
        more='person = "id"\ncontributions = 2',
        column='region = { type = "text" }\nid = { type = "integer" }',
    )
    with pytest.raises(InputError, match="contributions to 1"):
        _ = read_shape(SQL, known, "duckdb").draws


def test_a_single_mechanism_is_not_enough():
    with pytest.raises(InputError, match="tightrope ask"):
        _ = read_shape(SQL, facts(), "duckdb").question


def test_the_delta_of_a_new_table_is_in_its_facts(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    people = pyarrow.table({"region": ["Oslo"] * 100, "smoker": [True] * 100})
    given = {"data": people, "ledger": str(tmp_path / "ledger.db"), "epsilon": 2, "delta": "1e-6"}
    known = facts(more='delta = "1e-5"')
    answer = tr.ask(SQL, facts=known, **given)
    assert [name for (name,), _ in answer.rows] == ["Oslo"]
    account = Ledger(tmp_path / "ledger.db").account("table people")
    assert (account.delta, account.spent_delta) == (Fraction(1, 10**5), Fraction(1, 10**6))
    with pytest.raises(InputError, match=r"has δ = 1e-05 in the ledger, not 0\.01"):
        tr.ask(SQL, facts=facts(more='delta = "0.01"'), **given)
    with pytest.raises(InputError, match=r"tables.people.delta: δ must be"):
        facts(more='delta = "2"')


def test_the_studio_asks_for_groups(tmp_path, monkeypatch):
    from tightrope.studio.tables import TableAsked, forecast, publish_answer

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "people.csv").write_text("region\n" + "Oslo\n" * 100 + "Hay\n")
    Ledger.create("ledger.db").set_budget("table people", 9, "1e-6")
    asked = TableAsked(
        "people.csv", "people", ("region:text",), "150", sql=SQL, epsilon="4", delta="1e-9"
    )
    seen = forecast(asked)
    assert seen.affordable
    assert seen.noise
    assert any("for certain" in note for note in seen.notes)
    assert [row[0] for row in publish_answer(asked)["rows"]] == ["Oslo"]
