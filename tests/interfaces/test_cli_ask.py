"""The command ask: from SQL and ε to published numbers with their error."""

import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.asking import plan
from tightrope.certify import certify
from tightrope.channels import UnboundedNoise
from tightrope.errors import InputError, TightropeError
from tightrope.publish import Ledger, verify_receipt
from tightrope.publish.shapes import Quantile

FACTS = """
[tables.people]
source = "people.csv"
population = 40
budget = "10"
[tables.people.columns]
age = { bounds = [20, 60] }
sex = { values = ["f", "m"], complete = true }
region = { values = ["north", "south"] }
"""
COUNT = "select count(*) as n from people"
JOB = """
-- name: grown up
-- weight: 3
select count(*) from people where age > 20;
-- name: sexes
select sex, count(*) as n from people group by sex;
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "shelf"))
    rows = [
        f"{20 + i},{'fm'[i % 2]},{['north', 'south', 'east'][i % 3]}" for i in range(40)
    ]
    Path("people.csv").write_text("\n".join(["age,sex,region", *rows]) + "\n")
    Path("tightrope.toml").write_text(FACTS)


def test_a_count_with_its_interval_its_cost_and_what_is_left(run):
    told = run("ask", COUNT, "--epsilon", "0.5", "--key", "monday", "--json").data
    (row,) = told["rows"]
    assert row["n"]["low"] <= row["n"]["value"] <= row["n"]["high"]
    assert told["columns"] == ["n"]
    assert told["charged"] == "1/2"
    assert told["remaining"] == "19/2"
    assert told["certified"]
    assert "Proved optimal" in told["statement"]
    assert told["usual_loss"] >= row["n"]["high"] - row["n"]["value"]
    assert verify_receipt(told["receipt"]).genuine
    again = run("ask", COUNT, "--epsilon", "0.5", "--key", "monday", "--json").data
    assert again["rows"] == told["rows"]
    assert not again["fresh"]
    assert again["remaining"] == "19/2"


def test_groups_are_a_table_charged_once(run):
    sql = "select sex, region, count(*) as n from people group by sex, region"
    told = run("ask", sql, "--epsilon", "3", "--json").data
    assert [(row["sex"], row["region"]) for row in told["rows"]] == [
        ("f", "north"), ("f", "south"), ("m", "north"), ("m", "south"), ("(other)", ""),
    ]  # fmt: skip
    cells = [row["n"] for row in told["rows"]]
    assert all(0 <= one["low"] <= one["value"] <= one["high"] <= 40 for one in cells)
    assert told["charged"] == "3"
    shown = run(
        "ask", "select sex, count(*) from people group by sex", "--epsilon", "1"
    )
    assert shown.code == 0
    assert "(other)" not in shown.out
    assert "±" in shown.out or " to " in shown.out


def test_sums_means_and_bins_by_group(run):
    sql = "select sex, sum(age) as s, avg(age) as m from people group by sex"
    told = run("ask", sql, "--epsilon", "4", "--json").data
    assert [row["sex"] for row in told["rows"]] == ["f", "m"]
    means = [row["m"] for row in told["rows"]]
    assert all(20 <= one["low"] <= one["value"] <= one["high"] <= 60 for one in means)
    assert told["charged"] == "4"
    assert len(told["releases"]) == 1  # sums and counts give the means too
    assert told["columns"] == ["sex", "s", "m"]
    bins = "select floor(age / 10) * 10 as decade, count(*) from people group by decade"
    told = run("ask", bins, "--epsilon", "1", "--json").data
    assert [row["decade"] for row in told["rows"]] == [20, 30, 40, 50, 60, "(other)"]
    whole = run(
        "ask", "select avg(age) as m from people", "--epsilon", "1", "--json"
    ).data
    assert 20 <= whole["rows"][0]["m"]["value"] <= 60


def test_several_counts_of_each_group(run):
    """They were asked as counts of the whole table: paid for, and then failed."""
    sql = "select sex, count(*) as n, count(*) filter (where age > 5) as k from people group by sex"
    told = run("ask", sql, "--epsilon", "4", "--json").data
    assert [row["sex"] for row in told["rows"]] == ["f", "m"]
    queries = [one["query"] for one in run("ledger", "show", "--json").data["answers"]]
    assert queries == ["histogram(40,4)"]


@pytest.mark.parametrize(
    "wrong", [OSError("gone"), InputError("the reservation expired")]
)
def test_the_key_that_is_told_after_a_failure_pays_nothing_twice(monkeypatch, wrong):
    """That of the part that failed was told: asked again with it, all parts were paid anew."""
    asked = {"sql": "select sum(age) as s, median(age) as m from people", "epsilon": 4}
    charge, charged = Ledger.charge, []
    answers = Quantile.answers

    def fails(*words):
        charged.append(words)
        if len(charged) > 1 and isinstance(wrong, InputError):
            raise wrong
        return charge(*words)

    def breaks(*words):
        if len(charged) > 1:
            raise wrong
        return answers(*words)

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "charge", fails)
        broken.setattr("tightrope.publish.shapes.Quantile.answers", breaks)
        with pytest.raises(TightropeError, match="key") as refused:
            tr.ask(**asked)
    key = str(refused.value).rpartition("(key ")[2].rstrip(")")
    answer = tr.ask(**asked, key=key)
    assert [release.fresh for release in answer.releases] == [False, True]
    assert Ledger("ledger.db").remaining("table people") == 6


def test_the_commonest_value_of_each_group(run):
    sql = "select sex, mode(region) as most, count(*) as n from people group by sex"
    told = run("ask", sql, "--epsilon", "4", "--json").data
    assert told["columns"] == ["sex", "most", "n"]
    assert {row["most"]["value"] for row in told["rows"]} <= {"north", "south"}
    assert all("of the largest" in row["most"]["note"] for row in told["rows"])
    paid = run("ledger", "show", "--json").data[
        "answers"
    ]  # ledger.db, where none is named
    assert [one["query"] for one in paid] == ["commonest(2)", "histogram(40,2)"]
    assert paid[1]["hash"] == told["receipt"][1]["hash"]


def test_intervals_that_hold_at_once_are_wider(run):
    sql = "select region, count(*) as n from people group by region"
    words = ("ask", sql, "--epsilon", "1", "--dry-run", "--json")
    each, at_once = run(*words).data, run(*words, "--simultaneous").data
    errors = [
        told["questions"][0]["questions"][0]["error"][0] for told in (each, at_once)
    ]
    assert errors[0] < errors[1]
    told = run("ask", sql, "--epsilon", "1", "--simultaneous")
    assert "at once" in told.out
    words = ("ask", sql, "--error", "9", "--simultaneous", "--dry-run", "--json")
    assert run(*words).data["questions"][0]["questions"][0]["error"][0] <= 9


def test_everybody_else_counts_among_the_numbers_that_hold_at_once():
    sql = "select region, avg(age), count(age) from people group by region"
    made = plan([sql], epsilon=1, simultaneous=True)
    (part,) = made.questions[
        0
    ].parts  # two means, and three counts: others have no region
    assert 1 - part.confidence <= (1 - made.confidence) / 5


def test_the_largest_groups_are_told_to_hold_at_once(run):
    sql = "select region, count(*) as n from people group by region order by n desc limit 1"
    told = run("ask", sql, "--epsilon", "1", "--json").data
    assert (told["simultaneous"], len(told["rows"])) == (True, 1)
    assert "hold for all groups at once" in told["statement"]
    assert "for all of an answer at once" in run("ask", sql, "--epsilon", "1").out


def test_a_dry_run_pays_nothing_and_reads_nothing(run):
    Path("people.csv").unlink()
    told = run("ask", COUNT, "--epsilon", "0.5", "--dry-run", "--json").data
    assert told["cost"] == "1/2"
    assert told["remaining"] == "10"
    assert told["questions"][0]["questions"][0]["error"] == [6.0]
    assert not Path("ledger.db").exists()
    assert "nothing is paid" in run("ask", COUNT, "--epsilon", "0.5", "--dry-run").out


def test_the_least_epsilon_for_an_error(run):
    told = run("ask", COUNT, "--error", "4", "--dry-run", "--json").data
    level = Fraction(told["cost"])
    assert told["questions"][0]["questions"][0]["error"] == [4.0]
    less = str(level - Fraction(1, 1000))
    worse = run("ask", COUNT, "--epsilon", less, "--dry-run", "--json").data
    assert worse["questions"][0]["questions"][0]["error"] == [5.0]


def test_an_error_that_only_the_best_noise_keeps(run):
    """The usual noise keeps it at no level that is proved: the search began and ended there."""
    told = run(
        "ask",
        "select sum(age) as s from people",
        "--error",
        "0.5",
        "--dry-run",
        "--json",
    )
    assert told.data["questions"][0]["questions"][0]["error"] == [0.0]
    assert float(Fraction(told.data["cost"])) < 20


def test_a_job_shares_epsilon_and_is_not_paid_twice(run):
    Path("job.sql").write_text(JOB)
    told = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    assert [one["name"] for one in told] == ["grown up", "sexes"]
    assert [one["charged"] for one in told] == ["3/4", "1/4"]
    again = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    assert [one["rows"] for one in again] == [one["rows"] for one in told]
    assert Ledger("ledger.db").remaining("table people") == 9
    assert "answered before" in run("ask", "--file", "job.sql", "--epsilon", "1").out
    Path("job.sql").write_text(f"{JOB};\n-- name: wrong\nselect colour from people")
    refused = run("ask", "--file", "job.sql", "--epsilon", "1")
    assert refused.err.startswith("tightrope: wrong: ")
    assert Ledger("ledger.db").remaining("table people") == 9


def test_a_job_of_one_question_is_not_paid_twice(run):
    Path("job.sql").write_text(
        "-- name: all; of them\nselect count(*) from people; /* end */ ;"
    )
    first = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    again = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    assert [one["name"] for one in first] == ["all; of them"]
    assert again[0]["rows"] == first[0]["rows"]
    assert not again[0]["fresh"]


def test_the_report_of_a_job_says_what_was_asked_and_what_all_of_it_cost(run):
    Path("job.sql").write_text(JOB)
    assert (
        run("ask", "--file", "job.sql", "--epsilon", "1", "--report", "a.html").code
        == 0
    )
    page = Path("a.html").read_text(encoding="utf-8")
    assert page.index("<h2>grown up</h2>") < page.index("<h2>sexes</h2>")
    assert page.index("<h2>sexes</h2>") < page.index("ε = 1<")  # not 1/4, the last part
    asked = "select count(*) from people where age &gt; 20; select sex, count(*) as n"
    assert asked in page
    assert "9 of the budget of table people" in page
    # Whoever has the page can check every receipt; one altered number is noticed.
    checked = run("verify", "a.html", "--json")
    assert checked.code == 0
    assert len(checked.data["receipts"]) == 2
    text = re.sub(r'"answer": \d+', '"answer": 999', page, count=2)
    Path("b.html").write_text(text, encoding="utf-8")
    altered = run("verify", "b.html")
    assert altered.code == 1
    assert "something was altered" in altered.out


def test_a_job_that_breaks_off_is_taken_up_again(run, monkeypatch):
    from tightrope.publish.sealed import SealedQuery

    Path("job.sql").write_text(JOB)
    draw, calls = SealedQuery.draw, []

    def second_fails(self, mechanisms):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return draw(self, mechanisms)

    monkeypatch.setattr(SealedQuery, "draw", second_fails)
    assert run("ask", "--file", "job.sql", "--epsilon", "1").code == 130
    book = Ledger("ledger.db")
    assert book.remaining("table people") == 9  # both are charged, one is answered
    told = run("ask", "--file", "job.sql", "--epsilon", "1", "--json").data["answers"]
    assert [one["fresh"] for one in told] == [False, True]
    assert book.remaining("table people") == 9
    assert book.verify().intact


def test_a_job_that_does_not_fit_pays_nothing(run):
    Path("job.sql").write_text(JOB)
    refused = run("ask", "--file", "job.sql", "--epsilon", "12")
    assert refused.code == 2
    assert "short by" in refused.err
    assert Ledger("ledger.db").remaining("table people") == 10


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "give one SELECT"),
        ((COUNT,), "--epsilon E, or --error R"),
        ((COUNT, "--error", "3", "--epsilon", "1"), "--error or --epsilon, not both"),
        ((COUNT, "--error", "-3"), "positive"),
        (
            ("select count(*) from people where sex = 'w'", "--epsilon", "1"),
            "they know 'f', 'm'",
        ),
        (("select count(* from people", "--epsilon", "1"), "line 1, column"),
        (("select sum(height) from people", "--epsilon", "1"), "columns.height"),
        (("select listagg(age) from people", "--epsilon", "1"), "GROUP_CONCAT"),
        (
            (COUNT, "--epsilon", "1", "--population", "7"),
            "--population and --neighbours out",
        ),
        ((COUNT, "--epsilon", "1", "--neighbours", "add-remove"), "--neighbours out"),
        (
            (COUNT, "--epsilon", "1", "--dry-run", "--receipt", "r.json"),
            "--receipt does not go",
        ),
        ((COUNT, "--epsilon", "1", "--confidence", "2"), "confidence"),
    ],
)
def test_refusals_help(run, words, told):
    refused = run("ask", *words)
    assert refused.code == 2
    assert told in refused.err
    assert refused.err.count("\n") == 1
    assert "\x1b" not in refused.err
    assert not Path("ledger.db").exists()


def test_words_that_help(run, monkeypatch):
    refused = run(
        "ask", COUNT, "--epsilon", "1", "--data", "people.csv", "--budget", "1000"
    )
    assert "at most 500" in refused.err
    refused = run("design", COUNT, "--epsilon", "1")
    assert "tightrope ask" in refused.err
    run("ask", COUNT, "--epsilon", "1", "--key", "first")
    shown = run("ledger", "show", "ledger.db")
    # The question, the answer with its margin, the cost and the key.
    assert COUNT in shown.out
    assert "(95 %)" in shown.out
    assert "ε = 1, key first" in shown.out
    listed = run("ledger", "show", "ledger.db", "--json").data["answers"]
    assert [one["key"] for one in listed] == ["first"]
    # As in a process that starts without it.
    monkeypatch.setitem(sys.modules, "psycopg", None)
    server = ("--data", "postgresql://host/base", "--ledger", "ledger.db")
    refused = run("ask", COUNT, "--epsilon", "1", *server)
    assert refused.code == 2
    assert "'postgresql'" in refused.err


def test_the_answer_is_sorted_after_the_draw(run):
    sql = "select sex, count(*) as n from people group by sex"
    whole = run("ask", sql, "--epsilon", "1", "--key", "k", "--json").data
    first = max(whole["rows"], key=lambda row: row["n"]["value"])
    again = run(
        "ask",
        f"{sql} order by n desc limit 1",
        "--epsilon",
        "1",
        "--key",
        "k",
        "--json",
    )
    (shown,) = again.data["rows"]
    assert (shown["sex"], shown["n"]["value"]) == (first["sex"], first["n"]["value"])
    assert again.data["fresh"] is False
    ((part,),) = (one.parts for one in plan([f"{sql} limit 1"], epsilon=1).questions)
    assert (
        part.confidence == 1 - Fraction(1, 20) / part.shape.answered > Fraction(19, 20)
    )


def test_without_facts(run):
    Path("tightrope.toml").unlink()
    words = ("--data", "people.csv", "--epsilon", "1", "--budget", "2", "--json")
    refused = run("ask", COUNT, *words)
    assert "--population N" in refused.err
    refused = run("ask", f"{COUNT} where age > 30", *words, "--population", "40")
    assert "--column age:0..120" in refused.err
    done = run(
        "ask",
        f"{COUNT} where age > 30",
        *words,
        "--population",
        "40",
        "--column",
        "age:20..60",
    )
    assert done.data["charged"] == "1"


def test_in_python():
    assert {"ask", "design", "release", "query"} <= set(dir(tr))
    answer = tr.ask("select sex, count(*) as n from people group by sex", epsilon=1)
    assert [row["sex"] for row in answer.to_pandas().to_dict("records")] == ["f", "m"]
    assert answer.to_polars().columns == ["sex", "n", "n low", "n high", "about"]
    assert "<table>" in answer._repr_html_()
    assert len(answer.plot().axes) == 1
    assert str(answer).splitlines()[0].split() == ["sex", "n"]
    json.dumps(answer.as_dict()["rows"])
    with pytest.raises(InputError, match="2 × 1 numbers"):
        _ = answer.value
    assert tr.ask(COUNT, epsilon="ln(2)").value in range(41)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sql": 5}, "SQL or an Ibis expression, got int"),
        ({"epsilon": [1]}, "ε must be a number"),
        ({"facts": 4}, "path of a TOML file"),
        ({"ledger": 5}, "a file or an address, got int"),
        ({"key": 5}, "printable text"),
        ({"error": "much", "epsilon": None}, "positive number"),
        ({"error": "1e999999999", "epsilon": None}, "positive number"),
        ({"population": "40", "facts": None}, "population must be a whole number"),
        ({"columns": ["age"], "facts": None}, "columns must map names"),
    ],
)
def test_wrong_types_get_one_sentence(given, told):
    words = {"sql": COUNT, "epsilon": 1, "data": "people.csv", "budget": 10, **given}
    with pytest.raises(InputError, match=told):
        tr.ask(words.pop("sql"), **words)
    assert not Path("ledger.db").exists()


def test_a_design_is_saved_and_not_released(tmp_path):
    found = tr.design("count(5)", 1)
    with pytest.raises(InputError, match=r"tightrope\.prove"):
        tr.release(found, data="people.csv", sql=COUNT, ledger="ledger.db", budget=1)
    assert tr.verify(tr.prove(found).save(tmp_path / "count.tightrope")).private


def test_interval_of_a_file_says_its_set_and_coverage(run, tmp_path):
    file = str(tmp_path / "count.tightrope")
    assert run("design", "count(50)", "--epsilon", "1", "--out", file).code == 0
    told = run("interval", file, "--answer", "17", "--json").data
    assert told["set"] == [told["low"], told["high"]] == [14, 20]
    assert told["coverage"] == 0.95
    wide = run(
        "interval", file, "--answer", "17", "--confidence", "0.99", "--json"
    ).data
    assert wide["low"] < told["low"]
    assert run("interval", file, "--answer", "51").code == 2


def test_a_median_has_an_interval_of_values_and_a_mean_an_error_before_it_is_paid(run):
    sql = "select median(age) as middle, avg(age) as mean from people where sex = 'f'"
    told = run("ask", sql, "--epsilon", "4", "--dry-run", "--json").data
    parts = {one["titles"][0]: one for one in told["questions"][0]["questions"]}
    assert told["columns"] == ["middle", "mean"]
    assert parts["mean"]["people"] == 40
    assert 0 < parts["mean"]["error"][0] < 40
    (query,) = parts["middle"]["queries"]
    assert query.startswith("bracket(1/2,41,")
    row = run("ask", sql, "--epsilon", "4", "--json").data["rows"][0]
    for one in (row["middle"], row["mean"]):
        assert 20 <= one["low"] <= one["value"] <= one["high"] <= 60
    shown = run("ask", sql, "--epsilon", "4", "--dry-run").out
    assert "for 40 people (95 %)" in shown
    assert "people from the median (95 %)" in shown


def test_a_median_without_its_interval_is_drawn_by_itself(run):
    sql = "select sex, median(age) as middle, count(*) as n from people group by sex"
    asked = ("ask", sql, "--epsilon", "4", "--json")
    own = run(*asked, "--point", "--dry-run").data["questions"][0]["questions"]
    both = run(*asked, "--dry-run").data["questions"][0]["questions"]
    queries = [part["queries"][0].partition("(")[0] for part in (own[0], both[0])]
    assert queries == ["quantile", "bracket"]
    assert own[1] == both[1]
    row = run(*asked, "--point").data["rows"][0]
    assert 20 <= row["middle"]["value"] <= 60
    assert row["middle"]["low"] is None
    assert "people from the median" in row["middle"]["note"]
    assert row["n"]["low"] is not None


@pytest.mark.parametrize("what", ["count(*)", "quantile(age, 0.25), median(age)"])
def test_what_has_no_interval_of_values_is_not_asked_for_without_one(run, what):
    refused = run("ask", f"select {what} from people", "--epsilon", "1", "--point")
    assert refused.code == 2
    assert "--point is for a median or a quantile by itself" in refused.err


def test_an_error_that_depends_on_the_data_cannot_be_asked_for(run):
    """A median is off by so many people, which may be any number of years."""
    for what in ("median(age)", "mode(region)"):
        refused = run("ask", f"select {what} from people", "--error", "2", "--dry-run")
        assert refused.code == 2
        assert "depends on the data" in refused.err


def test_groups_that_nobody_declared_stand_in_the_report_with_their_intervals(run):
    Path("people.csv").write_text(
        "town\n" + "Oslo\n" * 60 + "Rome <&>\n" * 50 + "Hay\n"
    )
    Path("tightrope.toml").write_text(
        '[tables.people]\nsource = "people.csv"\npopulation = 150\nneighbours = "add-remove"\n'
        'budget = "9"\ndelta = "1e-5"\n[tables.people.columns]\ntown = { type = "text" }\n'
    )
    sql = "select town, count(*) as n from people group by town"
    told = run(
        "ask", sql, "--epsilon", "4", "--delta", "1e-6", "--report", "a.html", "--json"
    ).data
    page = Path("a.html").read_text()
    assert [row["town"] for row in told["rows"]] == ["Oslo", "Rome <&>"]
    for row, name in zip(told["rows"], ("Oslo", "Rome &lt;&amp;&gt;"), strict=True):
        n = row["n"]
        assert n["low"] < n["value"] < n["high"]
        # The style of the cell is its place in the heat map.
        cell = rf'<td>{name}</td><td style="--heat:[\d.]+%">(\d+ ± \d+)</td>'
        shown = re.search(cell, page)
        assert shown is not None
        assert shown[1] == f"{n['value']} ± {n['high'] - n['value']}"
    assert "Hay" not in page
    assert "A group is shown if it is large enough" in page
    assert "δ = 1e-06" in page
    assert "<svg" in page


def test_groups_that_nobody_declared_have_the_name_that_they_are_given(run):
    Path("people.csv").write_text("town\n" + "Oslo\n" * 60 + "Rome\n" * 50)
    Path("tightrope.toml").write_text(
        '[tables.people]\nsource = "people.csv"\npopulation = 150\nneighbours = "add-remove"\n'
        'budget = "9"\ndelta = "1e-5"\n[tables.people.columns]\ntown = { type = "text" }\n'
    )
    sql = "select town as place, count(*) as n from people group by place order by place desc"
    told = run("ask", sql, "--epsilon", "4", "--delta", "1e-6", "--json").data
    assert [row["place"] for row in told["rows"]] == ["Rome", "Oslo"]


@pytest.mark.parametrize(
    "what", ["sum(age)", "mode(region)", "count(*)", "avg(age)", "max(age)"]
)
def test_one_group_alone(run, what):
    """An answer for one group stands in the ledger as it is, not as a list."""
    sql = f"select case when sex = 'f' then 'f' end as g, {what} as x from people group by g"
    told = run("ask", sql, "--epsilon", "2", "--json").data
    assert told["rows"][0]["g"] == "f"
    assert told["rows"][0]["x"]["value"] is not None


def test_bins_named_by_texts_and_by_numbers_are_sorted(run):
    """The answer was paid for, and shown was that 'one' and 2 cannot be compared."""
    bins = "case when sex = 'f' then 'one' else 2 end"
    sql = f"select sex, mode({bins}) as m from people group by sex order by m"
    told = run("ask", sql, "--epsilon", "8", "--json").data
    assert [row["m"]["value"] for row in told["rows"]] == [2, "one"]


def test_a_number_that_a_group_does_not_have_is_missing_in_a_data_frame():
    """A column of numbers, of which one is a dash, is no column to Polars."""
    sql = "select region, avg(age) as age, count(*) as n from people group by region"
    answer = tr.ask(sql, epsilon=5)
    assert answer.rows[-1][0] == ("(other)",)
    assert str(answer.rows[-1][1][0]) == "–"
    ages = answer.to_polars()["age"].to_list()
    assert ages[-1] is None
    assert all(20 <= age <= 60 for age in ages[:-1])
    assert answer.to_pandas()["age"].isna().tolist() == [False, False, True]


def test_an_answer_whose_numbers_are_held_at_their_ends_has_an_interval(run):
    """The classes of such a histogram need not sum to all people; it was called no answer."""
    asked = tr.query("histogram(600,3)")
    certify(UnboundedNoise(asked.graph, 1), asked, 1).save("noise.tightrope")
    told = run("interval", "noise.tightrope", "--answer", "0, 3,598", "--json").data
    assert told["low"] == [0, 0, 594]
    assert told["high"] == [4, 7, 600]
    for wrong in ("0,3", "0,3,601", "3", "x,y,z", ""):
        refused = run("interval", "noise.tightrope", "--answer", wrong)
        assert refused.code == 2
        assert "a defect" not in refused.err


def test_facts_name_a_source_from_their_own_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "few.csv").write_text("age\n31\n", encoding="utf-8")
    words = ("--population", "1", "--budget", "1", "--out", "data/few.toml")
    assert run("init", "data/few.csv", *words).code == 0
    assert 'source = "few.csv"' in (tmp_path / "data" / "few.toml").read_text("utf-8")


def test_ledger_names_the_question_as_it_was_asked(run):
    first = "select  count(*) as n\nfrom people where age > 30"
    again = "SELECT COUNT(*) AS n FROM people WHERE age > 30"
    paid = [
        run("ask", sql, "--epsilon", "1", "--key", "k", "--json").data
        for sql in (first, again)
    ]
    # Another wording of the same question is the same request; the first wording stays.
    assert [one["fresh"] for one in paid] == [True, False]
    (entry,) = run("ledger", "show", "ledger.db", "--json").data["answers"]
    assert entry["asked"] == "select count(*) as n from people where age > 30"
    assert run("ledger", "verify", "ledger.db", "--json").data["intact"]


def test_init_writes_nested_columns(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["init", "--table", "people", "--population", "9", "--budget", "1"]
    region = ("--column", "region:north,south")
    county = ("--column", "county:within region:north=Ash,Birch;south=Cedar")
    assert run(*words, *region, *county, "--replace").code == 0
    text = (tmp_path / "tightrope.toml").read_text("utf-8")
    assert 'county = { within = "region", values = { north = ["Ash", "Birch"]' in text
    alone = run(*words, *county, "--replace")
    assert alone.code == 2
    assert "must name a declared column" in alone.err
