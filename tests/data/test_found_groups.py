"""Groups that nobody declared: found in every kind of source, and shown only if large enough."""

import math
import sqlite3
from collections import Counter
from fractions import Fraction

import pyarrow
import pytest
from tests.data.conftest import ROWS, rows_that_count

import tightrope as tr
from tightrope.asking.cache import proved
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.proofs import prove_shown_count
from tightrope.publish import Ledger, OverBudget, parse_facts
from tightrope.publish.noise import noise_of
from tightrope.publish.sealed import SealedQuery
from tightrope.publish.shapes import estimates
from tightrope.publish.sources import dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.queries import query as query_of

SQL = "select region, count(*) as n from people group by region"


def facts(near="add-remove", more="", column='region = { type = "text" }'):
    return parse_facts(
        f'[tables.people]\npopulation = 150\nneighbours = "{near}"\nbudget = "9"\n{more}\n'
        f"[tables.people.columns]\n{column}\nsmoker = {{ type = 'boolean' }}\n"
    )


@pytest.fixture(scope="module")
def loud():
    """A mechanism so exact that it shows every group with its true size."""
    return prove_shown_count(150, "40", "0.9999999999")


def found(place, sql, known, mechanism):
    shape = read_shape(sql, known, dialect_of(place))
    with open_source(place, shape.table) as opened:
        return SealedQuery(opened, shape).draw([noise_of(mechanism)])


def test_every_source_finds_the_same_groups(source, loud):
    sizes = Counter(row[2] for row in ROWS if row[2] is not None)
    assert found(source, SQL, facts(), loud) == [
        list(pair) for pair in sorted(sizes.items())
    ]
    smokers = Counter(row[2] for row in ROWS if row[2] is not None and row[3])
    asked = "select region, count(*) from people where smoker group by region"
    assert found(source, asked, facts(), loud) == [
        list(pair) for pair in sorted(smokers.items())
    ]


def test_one_row_of_each_person_counts(source, loud):
    """Who has several rows is in the group of one that a hash chooses, the same everywhere."""
    rows = [row for row in ROWS if row[0] is not None and row[2] is not None]
    chosen = rows_that_count(rows, 1, lambda row: row[2])
    sizes = Counter(row[2] for row in chosen)
    known = facts(
        more='person = "id"',
        column='region = { type = "text" }\nid = { type = "integer" }',
    )
    assert found(source, SQL, known, loud) == [
        list(pair) for pair in sorted(sizes.items())
    ]


def test_names_are_compared_byte_by_byte(tmp_path, loud):
    """A collation that takes two names for one must not show one person's spelling."""
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as table:
        table.execute(
            "create table people (region text collate nocase, smoker boolean)"
        )
        table.executemany(
            "insert into people values (?, 0)",
            [("north",)] * 30 + [("NORTH",), (b"\xff",), ("",)],
        )
    table.close()
    groups = dict(map(tuple, found(f"sqlite:///{path}", SQL, facts(), loud)))
    assert groups == {"north": 30, "NORTH": 1}


@pytest.mark.parametrize(("size", "share"), [(4, 0.015), (9, 0.511), (40, 1)])
def test_groups_are_shown_and_covered_as_often_as_the_mechanism_says(size, share):
    """At ε = ln 2 and δ = 1e-3, from the draws of the sealed room: small groups too."""
    groups = 10_000
    noise = noise_of(prove_shown_count(150, "ln(2)", "1e-3"))
    names = [f"r{k}" for k in range(groups) for _ in range(size)]
    shape = read_shape(SQL, facts(), "duckdb")
    with open_source(pyarrow.table({"region": names}), shape.table) as opened:
        shown = SealedQuery(opened, shape).draw([noise])
    # Six standard deviations: a test in ten million fails by chance.
    assert abs(len(shown) / groups - share) <= 6 * (share * (1 - share) / groups) ** 0.5
    level = Fraction(9, 10)
    held = [noise.estimates(number, level)[0] for _, number in shown]
    covered = sum(one.low <= size <= one.high for one in held)
    assert covered / len(held) > 0.9 - 6 * (0.09 / len(held)) ** 0.5


@pytest.mark.parametrize(
    ("near", "width"), [("add-remove", 1), ("change-one", 2), ("either", 2)]
)
def test_asking(tmp_path, monkeypatch, near, width):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    names = ["Oslo"] * 80 + ["Rome"] * 69 + ["Hay"]
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
    for (_, (told,)), true in zip(answer.rows, (80, 69), strict=True):
        assert told.low <= told.value <= told.high
        assert abs(told.value - true) < 40
    account = ledger.account("table people")
    assert (account.spent, account.spent_delta) == (4, Fraction(1, 10**9))
    assert any("for certain" in note for note in answer.notes)
    assert (answer.delta, answer.as_dict()["delta"]) == (
        account.spent_delta,
        "1/1000000000",
    )
    assert "δ = 1e-09" in answer.facts()["paid"]
    assert "Oslo" in answer._repr_html_()
    again = tr.ask(SQL, delta="1e-9", key="k", **given)
    assert (again.rows, again.fresh, ledger.remaining("table people")) == (
        answer.rows,
        False,
        5,
    )
    levels = [Fraction(x) for x in answer.releases[0].receipt["epsilon"].split(", ")]
    assert [width * level for level in levels] == [4]
    # Two groups: at once at 90 % is each at 95 %.
    limited = tr.ask(
        f"{SQL} order by region limit 9",
        delta="1e-9",
        key="k",
        confidence="0.9",
        **given,
    )
    at_once = tr.ask(
        SQL, delta="1e-9", key="k", confidence="0.9", simultaneous=True, **given
    )
    assert limited.rows == at_once.rows == answer.rows
    assert ledger.verify().intact


@pytest.mark.parametrize(
    "sql",
    [
        "select region, sum(age), sum(age) filter (where smoker) from people group by region",
        "select region, median(age) from people group by region",
        "select region, smoker, count(*) from people group by region, smoker",
        "select region from people group by region order by count(*) desc limit 1",
        "select mode(region) from people",
        "select region, count(*), count(*) filter (where smoker) from people group by region",
    ],
)
def test_more_than_counts_and_means_needs_declared_values(sql):
    column = 'region = { type = "text" }\nage = { bounds = [0, 90] }'
    with pytest.raises(InputError, match="possible values"):
        read_shape(sql, facts(column=column), "duckdb")


MEANS = "select region, count(age) as n, sum(age) as s, avg(age) as m from people group by region"
AGE = 'region = { type = "text" }\nage = { type = "integer", bounds = [0, 90] }'


def test_every_source_adds_up_the_same_groups(source, loud):
    """Values are moved to their bounds; rows without one, or without a group, do not count."""
    known = facts(column=AGE)
    shape = read_shape(MEANS, known, dialect_of(source)).with_delta(Fraction(1, 2))
    rows = [row for row in ROWS if row[1] is not None and row[2] is not None]
    exact = proved(query_of(shape.draws[1].query, neighbours="either"), Epsilon.of(40))
    with open_source(source, shape.table) as opened:
        drawn = SealedQuery(opened, shape).draw([noise_of(loud), exact])
    sizes = Counter(row[2] for row in rows)
    # Less the middle of the bounds for each row, and as far from the lowest sum.
    sums = Counter()
    for row in rows:
        sums[row[2]] += min(max(row[1], 0), 90) - 45
    offset = shape.draws[1].offset
    assert drawn == [
        [name, size, sums[name] - offset] for name, size in sorted(sizes.items())
    ]


def test_sums_and_means_are_asked_with_their_intervals(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    rows = {"region": ["Oslo"] * 90 + ["Rome"] * 59 + ["Hay"], "age": [40] * 150}
    known = facts(column=AGE, more='delta = "1e-6"')
    ledger = Ledger.create(tmp_path / "ledger.db")
    given = {"data": pyarrow.table(rows), "facts": known, "ledger": ledger}
    answer = tr.ask(MEANS, epsilon=8, delta="1e-6", **given)
    assert answer.keys == ("region",)
    truth = {"Oslo": (90, 3600, 40), "Rome": (59, 2360, 40)}
    for (name,), numbers in answer.rows:
        for told, true in zip(numbers, truth.pop(name), strict=True):
            assert told.low <= told.value <= told.high
            assert abs(told.value - true) < 12 * 40
    assert not truth
    account = ledger.account("table people")
    assert (account.spent, account.spent_delta) == (8, Fraction(1, 10**6))
    whole = MEANS.replace("count(age)", "count(*)")
    with pytest.raises(InputError, match=r"write COUNT\(age\), or add complete = true"):
        tr.ask(whole, epsilon=8, delta="1e-6", **given)
    with pytest.raises(InputError, match="the error of n, s, m depends on the data"):
        tr.ask(MEANS, error=9, delta="1e-6", **given)


@pytest.mark.parametrize(("size", "share"), [(9, 0.511), (40, 1)])
def test_sums_and_means_of_shown_groups_are_covered(size, share):
    """Of small groups, which are shown half of the time, as well as of large ones."""
    groups = 1000
    noises = [
        noise_of(prove_shown_count(150, "ln(2)", "1e-3")),
        proved(query_of("sum(300,45)", neighbours="either"), Epsilon.of("ln(2)")),
    ]
    names = [f"r{k}" for k in range(groups) for _ in range(size)]
    rows = pyarrow.table({"region": names, "age": [70] * len(names)})
    shape = read_shape(MEANS, facts(column=AGE), "duckdb").with_delta(Fraction(1, 1000))
    with open_source(rows, shape.table) as opened:
        shown = SealedQuery(opened, shape).draw(noises)
    # Six standard deviations: a test in ten million fails by chance.
    assert abs(len(shown) / groups - share) <= 6 * (share * (1 - share) / groups) ** 0.5
    level = Fraction(9, 10)
    lines = estimates(shape.reading, noises, tuple(map(tuple, shown)), level)
    for place, true in enumerate((size, 70 * size, 70)):
        held = [numbers[place] for numbers in lines.values()]
        covered = sum(one.low <= true <= one.high for one in held)
        assert covered / len(held) > 0.9 - 6 * (0.09 / len(held)) ** 0.5


PEOPLE = "select region, count(distinct id) as n from people group by region"
ID = 'region = { type = "text" }\nid = { type = "integer" }'


@pytest.mark.parametrize("near", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", [SQL, PEOPLE])
def test_people_with_several_rows(tmp_path, monkeypatch, near, sql):
    """Who has two rows is counted with both, or in both groups; ε and δ are paid for both."""
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    rows = {"region": ["Oslo", "Rome"] * 150, "id": [k // 2 for k in range(300)]}
    known = facts(near, 'person = "id"\ncontributions = 2\ndelta = "1e-6"', ID)
    ledger = Ledger.create(tmp_path / "ledger.db")
    given = {"data": pyarrow.table(rows), "facts": known, "ledger": ledger}
    answer = tr.ask(sql, epsilon=8, delta="1e-6", **given)
    assert [name for (name,), _ in answer.rows] == ["Oslo", "Rome"]
    for _, (told,) in answer.rows:
        assert abs(told.value - 150) < 30
    account = ledger.account("table people")
    assert account.spent == 8
    assert Fraction(999, 10**9) < account.spent_delta <= Fraction(1, 10**6)
    sides = 1 if near == "add-remove" else 2
    (level,) = (Fraction(x) for x in answer.releases[0].receipt["epsilon"].split(", "))
    assert level == Fraction(8, 2 * sides)
    # Two rows in one group are two steps on its path, the second e^ε' times as dear in δ.
    factor = 2 if sql == PEOPLE else 1 + math.exp(level)
    step = Fraction(answer.releases[0].receipt["step_delta"])
    assert float(step) == pytest.approx(1e-6 / sides / factor, rel=1e-3)


def test_a_single_mechanism_is_not_enough():
    with pytest.raises(InputError, match="tightrope ask"):
        _ = read_shape(SQL, facts(), "duckdb").question


def test_the_delta_of_a_new_table_is_in_its_facts(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    people = pyarrow.table({"region": ["Oslo"] * 100, "smoker": [True] * 100})
    given = {
        "data": people,
        "ledger": str(tmp_path / "ledger.db"),
        "epsilon": 2,
        "delta": "1e-6",
    }
    known = facts(more='delta = "1e-5"')
    answer = tr.ask(SQL, facts=known, **given)
    assert [name for (name,), _ in answer.rows] == ["Oslo"]
    account = Ledger(tmp_path / "ledger.db").account("table people")
    assert (account.delta, account.spent_delta) == (
        Fraction(1, 10**5),
        Fraction(1, 10**6),
    )
    with pytest.raises(InputError, match=r"has δ = 1e-05 in the ledger, not 0\.01"):
        tr.ask(SQL, facts=facts(more='delta = "0.01"'), **given)
    with pytest.raises(InputError, match=r"tables.people.delta: δ must be"):
        facts(more='delta = "2"')


def test_the_studio_asks_for_groups(tmp_path, monkeypatch):
    from tightrope.studio.tables import TableAsked, forecast, publish_answer

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "people.csv").write_text("region\n" + "Oslo\n" * 149 + "Hay\n")
    Ledger.create("ledger.db").set_budget("table people", 9, "1e-6")
    asked = TableAsked(
        "people.csv",
        "people",
        ("region:text",),
        "150",
        sql=SQL,
        epsilon="4",
        delta="1e-9",
    )
    seen = forecast(asked)
    assert not seen.shortfall
    assert seen.noise
    assert any("for certain" in note for note in seen.notes)
    assert [row[0] for row in publish_answer(asked)["rows"]] == ["Oslo"]
