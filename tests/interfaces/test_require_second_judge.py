"""Facts that require the second judge: nothing is charged unless it agrees."""

from fractions import Fraction
from pathlib import Path

import pytest

import tightrope as tr
from tightrope.errors import CheckFailed, InputError
from tightrope.publish import Ledger

FACTS = """
[tables.people]
source = "people.csv"
population = 200
frozen = true
budget = "3"
second_judge = true
[tables.people.columns]
age = { bounds = [0, 90], complete = true }
sex = { values = ["f", "m"], complete = true }
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path / "cache"))
    rows = [f"{i % 91},{'fm'[i % 2]}" for i in range(200)]
    Path("people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    Path("tightrope.toml").write_text(FACTS)


def judge_that_says(monkeypatch, verdict):
    program = Path("judge").absolute()
    program.write_text(f"#!/bin/sh\nwhile read -r name; do echo '{verdict}'; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("TIGHTROPE_SECOND_JUDGE", str(program))


def spent():
    return sum(account.spent for account in Ledger("ledger.db").accounts())


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from people where age > 40",
        "select sum(age) from people",
        "select sex, count(*) from people group by sex",
        "select count(*) filter (where age > 40), count(*) filter (where sex = 'f') from people",
        "select median(age) from people",
    ],
)
def test_usual_questions_pass_both_judges(sql):
    assert tr.ask(sql, epsilon=1).charged == 1


def test_a_sharpened_answer_passes_both_judges():
    question = "select count(*) from people where age > 40"
    tr.ask(question, epsilon="1/2", key="k")
    assert tr.ask(question, epsilon=1, key="k").charged == Fraction(1, 2)


def test_a_mechanism_that_it_refuses_costs_nothing(monkeypatch):
    judge_that_says(monkeypatch, "refused: the noise is not private")
    with pytest.raises(CheckFailed, match=r"second judge does not find .* private"):
        tr.ask("select count(*) from people where age > 40", epsilon=1)
    assert not Path("ledger.db").exists() or spent() == 0


def test_a_mechanism_that_it_does_not_know_costs_nothing(monkeypatch):
    judge_that_says(monkeypatch, "not covered: scores")
    with pytest.raises(InputError, match="take second_judge out of the facts"):
        tr.ask("select count(*) from people where age > 40", epsilon=1)
    assert not Path("ledger.db").exists() or spent() == 0


def test_without_the_fact_nobody_is_asked(monkeypatch):
    judge_that_says(monkeypatch, "refused: the noise is not private")
    Path("tightrope.toml").write_text(FACTS.replace("second_judge = true\n", ""))
    assert tr.ask("select count(*) from people", epsilon=1).charged == 1
