"""Whether the facts hold, told by private counts: the rows that violate each of them."""

from pathlib import Path

import pytest
from tests.data.conftest import truth_of

from tightrope.errors import InputError
from tightrope.publish import Ledger, parse_facts
from tightrope.publish.facts import fact_checks

FACTS = """
[tables.people]
source = "people.csv"
population = 300
neighbours = "add-remove"
budget = "30"
[tables.people.columns]
age = { bounds = [0, 90], complete = true }
height = { bounds = [0.5, 2.5], step = 0.1 }
region = { values = ["north", "so'uth"] }
party = { values = ["red", "other"], other = "other" }
smoker = { type = "boolean" }
"""
#: 40 ages are missing and 30 too high, 25 heights too low, 20 regions unknown.
ROWS = [
    (
        "" if i < 40 else 99 if i < 70 else 31,
        0.25 if i < 25 else 1.5,
        "atlantis" if i < 20 else "so'uth",
        "blue",
        "",
    )
    for i in range(300)
]
TRUTH = {
    "age: missing": 40,
    "age: outside 0..90": 30,
    "height: outside 0.5..2.5": 25,
    "region: not a declared value": 20,
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    lines = [",".join(map(str, row)) for row in ROWS]
    text = "\n".join(["age,height,region,party,smoker", *lines]) + "\n"
    Path("people.csv").write_text(text)
    Path("tightrope.toml").write_text(FACTS)


def test_every_fact_has_its_count():
    facts = parse_facts(FACTS)
    sql = fact_checks(facts.table("people"))
    assert truth_of("people.csv", sql, facts) == tuple(TRUTH.values())


def test_the_counts_are_asked_for_like_any_other(run):
    words = ("ask", "--check-facts", "people", "--epsilon", "10")
    price = run(*words, "--dry-run", "--json").data
    assert not Path("ledger.db").exists()
    assert price["questions"][0]["cost"] == "10"
    told = run(*words, "--json").data
    (row,) = told["rows"]
    assert list(row) == list(TRUTH)
    for title, number in TRUTH.items():
        assert abs(row[title]["value"] - number) < 15
        assert row[title]["low"] <= row[title]["value"] <= row[title]["high"]
    assert Ledger("ledger.db").account("table people").spent == 10


def test_there_is_one_question(run):
    for words in (("--check-facts", "people", "select count(*) from people"), ()):
        refused = run("ask", *words, "--epsilon", "1")
        assert refused.code == 2
        assert "or --check-facts TABLE" in refused.err
    assert "'folk' is not declared" in run("ask", "--check-facts", "folk").err


def test_facts_without_a_limit_have_nothing_to_check():
    bare = parse_facts("[tables.people]\n[tables.people.columns]\nx = {type = 'date'}")
    with pytest.raises(InputError, match="state nothing that a row could violate"):
        fact_checks(bare.table("people"))
