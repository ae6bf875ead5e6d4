"""Answers of a frozen table that are sharpened later, for several readers, and step by step."""

import json
import re
import shutil
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from tightrope.asking import ask, ask_all, plan
from tightrope.errors import InputError, TightropeError
from tightrope.publish import Ledger, verify_receipt
from tightrope.publish.sealed import SealedQuery

FACTS = """
[tables.people]
source = "people.csv"
population = 400
budget = "10"
frozen = true
[tables.people.columns]
age = { bounds = [20, 60] }
sex = { values = ["f", "m"], complete = true }
"""
COUNT = "select count(*) as n from people where age > 30"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "shelf"))
    rows = [f"{20 + i % 41},{'fm'[i % 2]}" for i in range(400)]
    Path("people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    Path("tightrope.toml").write_text(FACTS)


def remaining() -> Fraction:
    return Ledger("ledger.db").remaining("table people")


@pytest.mark.parametrize(
    "sql",
    [
        COUNT,
        "select sum(age) as s from people",
        "select avg(age) as m from people where sex = 'f'",
        "select sex, count(*) as n from people group by sex",
        "select sex, sum(age) as s from people group by sex",
        "select sex, avg(age) as m from people group by sex",
        "select sex, avg(age) as m, count(age) as n from people group by sex",
        "select count(*) as n, sum(age) as s from people",
        "select count(*) filter (where sex = 'f') as f, count(*) as n from people",
    ],
)
def test_a_larger_level_costs_the_difference(sql):
    coarse = ask(sql, epsilon="0.5", key="k")
    fine = ask(sql, epsilon=2, key="k")
    assert (coarse.charged, fine.charged) == (Fraction(1, 2), Fraction(3, 2))
    assert remaining() == 8
    for first, second in zip(coarse.releases, fine.releases, strict=True):
        assert verify_receipt(second.receipt).genuine
        assert second.receipt["follows"]["key"] == first.key
        assert second.receipt["follows"]["reservation"] == first.receipt["reservation"]
    # Asked again, both are as they were, and nothing is paid.
    for level, before in (("0.5", coarse), (2, fine)):
        again = ask(sql, epsilon=level, key="k")
        assert (again.rows, again.fresh) == (before.rows, False)
    assert remaining() == 8
    assert Ledger("ledger.db").verify().intact


def test_the_price_and_the_fact_are_told_before_anything_is_paid(run):
    run("ask", COUNT, "--epsilon", "0.25", "--key", "k")
    planned = run("ask", COUNT, "--epsilon", "1", "--key", "k", "--dry-run", "--json")
    assert planned.data["cost"] == "3/4"
    assert "had they changed" in planned.data["statement"]
    assert "at most ε = 1.5 together" in planned.data["statement"]
    assert remaining() == Fraction(39, 4)
    told = run("ask", COUNT, "--epsilon", "1", "--key", "k").out
    assert "ε = 0.75; with all answers of the chain ε = 1" in told


def test_several_readers_get_an_answer_and_a_receipt_each(run):
    words = ["ask", COUNT, "--levels", "0.25,0.5,1", "--key", "k"]
    told = run(*words, "--receipt", "r.json", "--json").data
    answers = told["answers"]
    assert [one["epsilon"] for one in answers] == ["0.25", "0.5", "1"]
    assert [one["charged"] for one in answers] == ["1/4", "1/4", "1/2"]
    receipts = [json.loads(Path(f"r-{k}.json").read_text()) for k in (1, 2, 3)]
    assert all(verify_receipt(receipt).genuine for receipt in receipts)
    assert [r.get("follows", {}).get("key") for r in receipts] == [None, "k", "k #2"]
    assert remaining() == 9
    shown = run(*words).out
    assert shown.index("ε = 0.25") < shown.index("ε = 0.5") < shown.index("ε = 1\n")
    assert "nothing: answered before" in shown
    # One of them by itself, and a finer one.
    one = ask(COUNT, epsilon="0.5", key="k")
    assert one.records()[0]["n"] == answers[1]["rows"][0]["n"]["value"]
    assert ask(COUNT, epsilon=3, key="k").charged == 2


def test_levels_that_do_not_fit_the_budget_are_not_begun():
    with pytest.raises(TightropeError, match="too small"):
        ask_all(plan([COUNT], levels=[1, 11], key="k"))
    assert remaining() == 10
    assert not Ledger("ledger.db").paid()[0]


def test_a_relative_error_is_paid_for_step_by_step(run):
    told = run("ask", COUNT, "--relative-error", "10%", "--epsilon", "4", "--json").data
    number = told["rows"][0]["n"]
    assert number["high"] - number["value"] <= number["value"] / 10
    paid = Fraction(told["charged"])
    assert paid == Fraction(told["epsilon"]) < 4
    assert remaining() == 10 - paid
    assert f"ε = {told['epsilon']} was enough, of a limit of 4" in told["statement"]
    receipts = told["receipt"]
    assert sum(Fraction(r["charges"][0]["amount"]) for r in receipts) == paid
    assert Ledger("ledger.db").verify().intact


def test_a_relative_error_beyond_the_limit_is_told():
    # In the middle: an interval that lies beyond the ends ends there with both ends.
    sql = "select count(*) as n from people where sex = 'f'"
    answer = ask(sql, relative_error="1%", epsilon="0.5", key="k")
    assert answer.charged == Fraction(1, 2)
    assert "was not enough" in answer.notes[-1]
    again = ask(sql, relative_error="1%", epsilon="0.5", key="k")
    assert (again.rows, again.fresh) == (answer.rows, False)
    assert remaining() == Fraction(19, 2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--levels", "1,0.5"], "levels must increase"),
        (
            ["--levels", "0.5,1", "--epsilon", "1"],
            "give --levels or --epsilon, not both",
        ),
        (["--relative-error", "5%"], "needs a limit"),
        (["--relative-error", "500%", "--epsilon", "1"], "above 0 and below 1"),
    ],
)
def test_what_does_not_go_together_is_refused(run, words, says):
    assert says in run("ask", COUNT, *words).err
    assert not Path("ledger.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--levels", ",2"],
        ["--levels", "1,1"],
        ["--levels", "abc"],
        ["--levels", "2,-3"],
        ["--levels", "2,nan"],
        ["--levels", "inf"],
        ["--levels", ""],
        ["--levels", "1e400"],
        ["--relative-error", "0%", "--epsilon", "2"],
        ["--relative-error", "x", "--epsilon", "2"],
        ["--relative-error", "5%", "--levels", "1,2"],
        ["--epsilon", "0.7"],
        ["--epsilon", "0"],
    ],
)
def test_odd_input_is_refused_in_one_line_and_changes_nothing(run, words):
    run("ask", COUNT, "--levels", "0.5,1", "--key", "k")
    before = Path("ledger.db").read_bytes()
    refused = run("ask", COUNT, "--key", "k", *words)
    assert refused.code == 2
    assert refused.err.startswith("tightrope: ")
    assert refused.err.count("\n") == 1
    assert Path("ledger.db").read_bytes() == before


def test_the_ledger_shows_a_chain(run):
    run("ask", COUNT, "--levels", "0.5,1", "--key", "k")
    told = run("ledger", "show").out
    assert told.count("sharpens") == 1
    assert "key k #2, sharpens k to" in " ".join(told.split())
    answers = run("ledger", "show", "--json").data["answers"]
    assert [answer["follows"] for answer in answers] == [None, "k"]


def test_the_ledger_shows_sharpened_numbers_with_their_margins(run, monkeypatch):
    told = run("ask", COUNT, "--levels", "0.25,0.5,1", "--key", "k").out
    margins = re.findall(r"± \d+", told)
    assert len(set(margins)) == 3
    assert re.findall(r"± \d+", run("ledger", "show").out) == margins
    # Without the mechanism that the chain begins with, its law is not known.
    monkeypatch.setenv("TIGHTROPE_CACHE", "empty")
    assert "±" not in run("ledger", "show").out


def test_where_nothing_derives_the_ordinary_price_is_offered(run):
    median = "select median(age) as m from people"
    run("ask", median, "--epsilon", "0.5", "--key", "m")
    told = run("ask", median, "--epsilon", "1", "--key", "m").err
    assert "does not derive from finer noise" in told
    assert "with a new key the answer costs the ordinary ε = 1" in told
    run("ask", COUNT, "--epsilon", "1", "--key", "k")
    told = run("ask", COUNT, "--epsilon", "0.5", "--key", "k").err
    assert "published at ε = 1 already" in told
    wide = FACTS.replace("[20, 60]", "[0, 5000]")
    Path("tightrope.toml").write_text(wide)
    total = run("ask", "select sum(age) as s from people", "--levels", "0.5,1").err
    assert "at most 1,000 steps apart" in total
    assert remaining() == Fraction(17, 2)


def test_a_table_that_is_not_frozen_is_not_sharpened(run):
    Path("tightrope.toml").write_text(FACTS.replace("frozen = true\n", ""))
    run("ask", COUNT, "--epsilon", "0.5", "--key", "k")
    told = run("ask", COUNT, "--epsilon", "1", "--key", "k").err
    assert "frozen = true" in told
    assert "ordinary ε = 1" in told
    # Declared afterwards: the first answer was drawn from other noise.
    Path("tightrope.toml").write_text(FACTS)
    told = run("ask", COUNT, "--epsilon", "1", "--key", "k").err
    assert "before the table was declared frozen" in told
    assert remaining() == Fraction(19, 2)


def test_the_facts_that_the_account_is_bound_to_hold_frozen(run):
    run("ask", COUNT, "--epsilon", "0.5")
    Path("tightrope.toml").write_text(FACTS.replace("frozen = true\n", ""))
    assert "facts" in run("ask", COUNT, "--epsilon", "0.5").err


def test_another_question_under_the_key_is_refused():
    ask(COUNT, epsilon="0.5", key="k")
    with pytest.raises(InputError, match="belongs to another request"):
        ask("select count(*) as n from people where age > 31", epsilon=1, key="k")
    assert remaining() == Fraction(19, 2)


def test_a_process_that_ends_between_charge_and_second_draw(monkeypatch):
    """The charge stays, nothing is drawn; asked again, the finer answer is drawn under it."""
    ask(COUNT, epsilon="0.5", key="k")
    real = SealedQuery.draw

    def killed(self, noises):
        raise KeyboardInterrupt

    monkeypatch.setattr(SealedQuery, "draw", killed)
    with pytest.raises(KeyboardInterrupt):
        ask(COUNT, epsilon=1, key="k")
    assert remaining() == 9
    assert Ledger("ledger.db").paid()[1] == ["k #2"]
    # While it waits, no other level may take its place: nothing is drawn twice.
    monkeypatch.setattr(SealedQuery, "draw", real)
    with pytest.raises(InputError, match="belongs to another request"):
        ask(COUNT, epsilon=2, key="k")
    assert ask(COUNT, epsilon=1, key="k").fresh
    assert remaining() == 9
    assert ask(COUNT, epsilon=2, key="k").charged == 1
    assert Ledger("ledger.db").verify().intact


def test_two_processes_sharpen_one_answer_once():
    """Of two levels that are asked for at once, one is the second of the chain."""
    ask(COUNT, epsilon="0.25", key="k")
    plans = [plan([COUNT], epsilon=level, key="k") for level in ("0.5", "1", "1")]
    told: list[object] = []

    def work(made):
        try:
            told.append(ask_all(made)[0].rows)
        except TightropeError as refused:
            told.append(str(refused))

    workers = [threading.Thread(target=work, args=(made,)) for made in plans]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    book = Ledger("ledger.db")
    second = book.ticket("k #2")
    assert second.is_released
    assert book.ticket("k #3") is None
    winner = Fraction(second.entry.body["level"])
    assert remaining() == 10 - winner
    refused = [text for text in told if isinstance(text, str)]
    assert len(refused) == (2 if winner == Fraction(1, 2) else 1)
    assert all("belongs to another request" in text for text in refused)
    kinds = [entry.kind for entry in book.entries()]
    assert kinds.count("answer") == kinds.count("charge") == 2
    assert book.verify().intact


def test_a_copied_ledger_is_found_by_the_receipt_of_either(run):
    """Two copies may each sharpen, as each may spend; a receipt of one shows it in the other."""
    run("ask", COUNT, "--epsilon", "0.5", "--key", "k")
    shutil.copy("ledger.db", "copy.db")
    shutil.copy("ledger.db.key", "copy.db.key")
    run("ask", COUNT, "--epsilon", "1", "--key", "k", "--receipt", "a.json")
    run("ask", COUNT, "--epsilon", "1", "--key", "k", "--ledger", "copy.db")
    assert run("ledger", "verify", "--receipt", "a.json").code == 0
    told = run("ledger", "verify", "copy.db", "--receipt", "a.json")
    assert told.code == 1
    assert "entry 9 is not the one that was seen earlier" in told.out
