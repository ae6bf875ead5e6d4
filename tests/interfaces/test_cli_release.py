"""The commands release, ledger, verify and remap: one answer from a table to its reader."""

import csv
import json
import re
import sqlite3
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import pytest

from tightrope import Epsilon, proofs
from tightrope.certify import certify, make
from tightrope.channels import GeometricChannel, ScaledPhi
from tightrope.consumers import Consumer
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import Clique
from tightrope.optimize import design
from tightrope.publish import (
    Column,
    DeclaredQuestion,
    Ledger,
    OverBudget,
    SourceFailed,
    parse_facts,
    release,
    verify_receipt,
)
from tightrope.publish.accounts import Charge, charge_of
from tightrope.queries import query

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "data"
PEOPLE = "select count(*) from people"
FACTS = """
[tables.people]
population = 40
budget = "5*ln(2)"
[tables.people.columns]
age = { bounds = [0, 90] }
region = { values = ["north", "south"] }
[tables.people.partitions.region]
column = "region"
parts = { north = ["north"], south = ["south"] }
[users.ann]
budget = "ln(2)"
[users.bob]
budget = "9"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def counting(tmp_path):
    made = certify(GeometricChannel(41, "ln(2)"), "count(40)", "ln(2)")
    return made.save(tmp_path / "count.tightrope")


@pytest.fixture
def people(tmp_path):
    lines = [
        "id,age,region",
        *(f"{i},{i * 3},{['north', 'south'][i % 2]}" for i in range(40)),
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def words(counting, people, *more):
    return [
        "release",
        str(counting),
        "--data",
        str(people),
        "--sql",
        PEOPLE,
        "--ledger",
        "ledger.db",
        *more,
    ]


# -- the way of one answer ------------------------------------------------------------------


def test_from_a_table_to_a_reader(run, counting, people):
    done = run(
        *words(counting, people, "--budget", "2*ln(2)", "--key", "monday", "--json"),
        *("--receipt", "r.json"),
    ).data
    assert 0 <= done["answer"] <= 40
    assert done["epsilon"] == "ln(2)"
    assert Fraction(done["remaining"]) == Fraction(done["charged"])
    assert done["receipt"] == json.loads(Path("r.json").read_text())
    assert verify_receipt(done["receipt"]).genuine

    again = run(*words(counting, people, "--key", "monday", "--json")).data
    assert again == {**done, "fresh": False}

    shown = run("ledger", "show", "ledger.db", "--json").data
    assert shown["accounts"]["table people"]["remaining"] == done["remaining"]
    whole = run("ledger", "verify", "ledger.db", "--receipt", "r.json", "--json").data
    assert whole["intact"]
    assert whole["anchors"] == 1
    exported = run("ledger", "export", "ledger.db").out.splitlines()
    kinds = [json.loads(line)["body"]["kind"] for line in exported]
    assert kinds == ["open", "budget", "bind", "reserve", "charge", "answer"]
    assert len(run("ledger", "export", "ledger.db", "--json").data["entries"]) == 6
    both = run("ledger", "export", "ledger.db", "--out", "all.jsonl", "--json")
    assert (
        len(both.data["entries"])
        == len(Path("all.jsonl").read_text().splitlines())
        == 6
    )
    assert run("ledger", "export", "ledger.db", "--out", "all.jsonl").code == 0
    assert Path("all.jsonl").read_text().splitlines() == exported

    checked = run("verify", "r.json", "--json").data
    assert checked["genuine"]
    assert checked["answer"] == done["answer"]
    guess = run("remap", "geometric:count(40)", "--epsilon", "ln(2)", "--prior", "binomial(.6)",
                "--receipt", "r.json", "--json").data  # fmt: skip
    assert guess["guess"] == guess["remap"][done["answer"]]
    other = run("remap", "geometric:count(40)", "--epsilon", "1", "--receipt", "r.json")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "is the receipt of count(40) (change-one) at ε = ln(2)" in other.err


def test_for_a_person(run, counting, people):
    shown = run(*words(counting, people, "--budget", "2"))
    assert shown.code == 0
    assert "remaining" in shown.out
    assert run("ledger", "show", "ledger.db").code == 0
    assert "intact" in run("ledger", "verify", "ledger.db").out


def test_over_budget_is_exact(run, counting, people):
    assert run(*words(counting, people, "--budget", "3/4")).code == 0
    refused = run(*words(counting, people))
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    charge = Fraction(693147180559945309417232121459, 10**30)
    for amount in (charge, Fraction(3, 4) - charge, 2 * charge - Fraction(3, 4)):
        assert f"exactly {amount}" in refused.err


def test_a_changed_receipt_fails(run, counting, people):
    run(*words(counting, people, "--budget", "3", "--receipt", "r.json"))
    receipt = json.loads(Path("r.json").read_text())
    Path("r.json").write_text(json.dumps({**receipt, "answer": receipt["answer"] + 1}))
    assert run("verify", "r.json").code == 1
    assert run("ledger", "verify", "ledger.db", "--receipt", "r.json").code == 1


def test_a_receipt_signed_by_somebody_else_fails(run, counting, people, monkeypatch):
    asked = words(counting, people, "--budget", "2", "--receipt", "r.json", "--json")
    key = run(*asked).data["receipt"]["public_key"]
    assert run("verify", "r.json", "--signer", key, "--json").data["genuine"]
    monkeypatch.setenv("TIGHTROPE_KEY", "forger.key")
    for name in (
        "one.db",
        "two.db",
    ):  # one key may serve several ledgers, made on purpose
        assert run("ledger", "init", name).code == 0
        assert run(*[word.replace("ledger.db", name) for word in asked]).code == 0
    assert run("verify", "r.json").code == 0  # whole in itself, whoever signed it
    told = run("verify", "r.json", "--signer", key)
    assert told.code == 1
    assert "another key than the one expected" in told.out
    assert run("verify", str(counting), "--signer", key).code == 2


def test_a_damaged_ledger_fails(run, counting, people):
    run(*words(counting, people, "--budget", "3"))
    raw = sqlite3.connect("ledger.db")
    raw.execute("drop trigger ledger_no_UPDATE")
    raw.execute("update ledger_entries set time = '2030' where position = 2")
    raw.commit()
    raw.close()
    failed = run("ledger", "verify", "ledger.db", "--json")
    assert failed.code == 1
    assert not json.loads(failed.out)["intact"]
    head = f"9:{'a' * 64}"
    assert run("ledger", "verify", "ledger.db", "--head", head).code == 1


def test_budgets_by_command(run):
    made = run("ledger", "budget", "ledger.db", "table people", "2", "--json").data
    assert made == {"account": "table people", "budget": "2", "remaining": "2"}
    assert run("ledger", "budget", "ledger.db", "people", "2").code == 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "--budget"),
        (["--budget", "lots"], "a budget must be"),
        (["--budget", "2", "--user", "eve"], "user 'eve' has no budget"),
        (["--budget", "2", "--part", "north"], "a part looks like"),
        (["--budget", "2", "--part", "region=north"], "not declared"),
        (["--budget", "2", "--query", "path(3)"], "--query needs"),
        (["--budget", "2", "--otherwise", "3"], "go with --query"),
        (["--budget", "2", "--column", "age"], "a column looks like"),
        (["--budget", "2", "--facts", "no-such.toml"], "no such file"),
        (["--budget", "2", "--key", " "], "a request key"),
    ],
)
def test_bad_input_charges_nothing(run, counting, people, more, says):
    refused = run(*words(counting, people, *more))
    assert refused.code == 2
    assert says in refused.err
    assert refused.err.count("\n") == 1
    if Path("ledger.db").exists():
        assert Ledger("ledger.db").accounts().get("table people") is None or (
            Ledger("ledger.db").account("table people").spent == 0
        )


# -- the library ----------------------------------------------------------------------------


def ask(counting, people, **more):
    options = {
        "data": people,
        "sql": PEOPLE,
        "ledger": "ledger.db",
        "facts": parse_facts(FACTS),
    }
    return release(counting, **{**options, **more})


def test_users_and_tables_both_pay(counting, people):
    done = ask(counting, people, user="ann")
    ledger = Ledger("ledger.db")
    assert ledger.remaining("user ann") == 0
    assert ledger.remaining("table people") == 4 * done.charged
    with pytest.raises(OverBudget, match="user ann"):
        ask(counting, people, user="ann")
    with pytest.raises(InputError, match="say who asks"):
        ask(counting, people)
    with pytest.raises(InputError, match="belongs to another request"):
        ask(counting, people, user="bob", key=done.key)


def test_parts_compose_in_parallel(counting, people):
    for part in ("north", "south"):
        done = ask(counting, people, user="bob", part=("region", part))
    # Under change-one a person may move from one part to the other: both count.
    assert Ledger("ledger.db").account("table people").spent == 2 * done.charged
    facts = parse_facts(
        FACTS.replace('budget = "5', 'neighbours = "add-remove"\nbudget = "5')
    )
    near = certify(GeometricChannel(41, "ln(2)"), "count(40)", "ln(2)",
                   neighbours="add-remove")  # fmt: skip
    for part in ("north", "south"):
        done = ask(
            near,
            people,
            user="bob",
            part=("region", part),
            facts=facts,
            ledger="two.db",
        )
    assert Ledger("two.db").account("table people").spent == done.charged


def test_parts_that_are_drawn_anew_are_paid_anew(counting, people):
    """Otherwise north could be asked about twice for the price of once, as north and as south."""
    facts = FACTS.partition("[users.ann]")[0].replace(
        "budget", 'neighbours = "add-remove"\nbudget'
    )
    swapped = facts.replace('{ north = ["north"], south', '{ south = ["north"], north')
    made = certify(GeometricChannel(41, "ln(2)"), "count(40)", "ln(2)",
                   neighbours="add-remove")  # fmt: skip
    ledger = Ledger.create("parts.db")
    for text, part, parts_paid in (
        (facts, "north", 1),
        (facts, "south", 1),
        (swapped, "south", 2),
    ):
        done = release(made, data=people, sql=PEOPLE, ledger=ledger, facts=parse_facts(text),
                       part=("region", part))  # fmt: skip
        assert ledger.account("table people").spent == parts_paid * done.charged


def test_the_same_table_in_other_letters_has_no_second_budget(run, counting, people):
    asked = words(counting, people, "--budget", "2")
    assert run(*asked).code == 0
    again = [word.replace("from people", "from People") for word in asked]
    assert Fraction(run(*again, "--json").data["remaining"]) < 1
    assert list(run("ledger", "show", "ledger.db", "--json").data["accounts"]) == [
        "table people"
    ]


@pytest.mark.parametrize("place", ["people.csv", "people.parquet", "spark:people.parquet",
                                   "spark:lake.people"])  # fmt: skip
def test_a_file_has_no_second_budget_under_another_name(run, counting, people, place):
    asked = words(counting, place, "--budget", "2")
    refused = run(*[word.replace("from people", "from nobody") for word in asked])
    assert refused.code == 2
    assert "is called people" in refused.err
    assert not Path("ledger.db").exists()


def test_a_rule_with_a_remap_beside_it_releases_the_guess_too(
    run, people, tmp_path, monkeypatch
):
    """A large count by rule is noise alone: its reader needs the remap that the file holds."""
    for module in (make, proofs):
        monkeypatch.setattr(module, "LISTED_WEIGHTS", 1)
    monkeypatch.setattr(make, "RULE_FROM", 2)
    count = query("count(40)")
    sure = Consumer.of(
        count.graph, prior=[0.0] * 7 + [1.0] + [0.0] * 33, loss="absolute"
    )
    made = proofs.prove(design(count, "ln(2)", sure), count).save(
        tmp_path / "sure.tightrope"
    )
    done = run(*words(made, people, "--budget", "2", "--json", "--key", "a")).data
    assert done["guess"] == 7
    again = run(*words(made, people, "--key", "a")).out
    assert ("drawn" in again) == (done["answer"] != 7)


def test_other_answers_are_their_own_guess(run, counting, people):
    done = run(*words(counting, people, "--budget", "2", "--json", "--key", "a")).data
    assert done["guess"] == done["answer"]
    assert "drawn" not in run(*words(counting, people, "--key", "a")).out


def test_an_answer_that_cannot_be_handed_over_is_not_paid_for(
    run, counting, people, monkeypatch
):
    asked = words(counting, people, "--budget", "2")
    told = run(*asked, "--receipt", "nowhere/r.json")
    assert told.code == 2
    assert "nothing was released" in told.err
    assert not Path("ledger.db").exists()
    Path("bad.key").write_text("junk")
    assert run("ledger", "init", "ledger.db").code == 0
    monkeypatch.setenv("TIGHTROPE_KEY", "bad.key")
    told = run(*asked)
    assert told.code == 2
    assert "not a signing key" in told.err
    assert run("ledger", "show", "ledger.db", "--json").data["accounts"] == {}


def test_who_gave_no_key_is_told_the_one_that_was_paid_with(
    counting, people, monkeypatch
):
    ask = {"data": people, "sql": PEOPLE, "ledger": "ledger.db", "budget": 2}
    with monkeypatch.context() as broken:
        broken.setattr(
            "tightrope.publish.sources.TextFile.fetch",
            Mock(side_effect=[[(40,)], OSError("it broke off")]),  # counted, then read
        )
        with pytest.raises(
            SourceFailed, match=r"same key \(key [0-9a-f]{32}\)"
        ) as failed:
            release(counting, **ask)
    key = str(failed.value)[-33:-1]
    assert Ledger("ledger.db").ticket(key).phase == "charged"
    assert release(counting, **ask, key=key).remaining == 2 - charge_of(
        Epsilon.of("ln(2)")
    )


def test_an_interrupt_before_the_charge_frees_the_reservation(
    counting, people, monkeypatch
):
    monkeypatch.setattr(Ledger, "charge", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        release(counting, data=people, sql=PEOPLE, ledger="ledger.db", budget=2)
    ledger = Ledger("ledger.db")
    assert ledger.account("table people").spent == 0
    assert [entry.kind for entry in ledger.entries()][-2:] == ["reserve", "cancel"]


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"1": {"fraction": "1/0"}}', '{"1": {"a": 1}}']
)
def test_answers_that_are_none(run, counting, people, text):
    Path("answers.json").write_text(text)
    more = ("--query", "count(40)", "--answers", "answers.json", "--otherwise", "3")
    told = run(*words(counting, people, "--budget", "2", *more))
    assert told.code == 2
    assert len(told.err.splitlines()) == 1
    assert not Path("ledger.db").exists()


def test_the_facts_and_the_ledger_must_agree(counting, people):
    ask(counting, people, user="bob")
    with pytest.raises(InputError, match="correct the facts"):
        ask(
            counting,
            people,
            user="bob",
            facts=parse_facts(FACTS.replace("5*ln(2)", "6*ln(2)")),
        )


def test_the_mechanism_must_answer_the_question(counting, people):
    with pytest.raises(InputError, match=r"asks sum\(40,90\) under change-one"):
        ask(counting, people, user="bob", sql="select sum(age) from people")
    changed = FACTS.replace("population", 'neighbours = "add-remove"\npopulation')
    with pytest.raises(InputError, match="under add-remove"):
        ask(counting, people, user="bob", facts=parse_facts(changed))


def test_a_mechanism_that_is_not_private_releases_nothing(counting, people):
    raw = bytearray(counting.read_bytes())
    raw[len(raw) // 2] ^= 1
    counting.write_bytes(raw)
    with pytest.raises((CheckFailed, InputError)):
        ask(counting, people, user="bob")
    assert not Path("ledger.db").exists()


def test_a_missing_source_costs_nothing(counting):
    with pytest.raises(InputError, match="no such file"):
        ask(counting, "gone.csv", user="bob", key="k")
    ledger = Ledger("ledger.db")
    assert ledger.ticket("k") is None
    assert ledger.accounts() == {}
    assert ledger.verify().intact


def test_a_crash_after_the_charge_is_paid_once(counting, people, monkeypatch):
    def broken(*_):
        raise SourceFailed("broken off")

    with monkeypatch.context() as patch:
        patch.setattr("tightrope.publish.shapes.Count.answers", broken)
        with pytest.raises(SourceFailed):
            ask(counting, people, user="bob", key="k")
    ledger = Ledger("ledger.db")
    spent = ledger.account("table people").spent
    assert spent > 0
    done = ask(counting, people, user="bob", key="k")
    assert ledger.account("table people").spent == spent == done.charged
    assert ask(counting, people, user="bob", key="k").answer == done.answer


def test_groups_have_names(people, run):
    made = certify(ScaledPhi(Clique(2), "ln(2)", 2 / 3), "choice(2)", "ln(2)")
    made.save("most.tightrope")
    shown = run(
        "release", "most.tightrope", "--data", str(people), "--ledger", "ledger.db",
        "--sql", "select region from people group by region order by count(*) desc limit 1",
        "--column", "region:north,south", "--budget", "2",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    assert "north" in shown.out or "south" in shown.out


def test_an_answer_graph_of_ones_own(people, run):
    made = certify(GeometricChannel(3, "ln(2)"), "path(3)", "ln(2)")
    path = made.save("path.tightrope")
    Path("answers.json").write_text('{"72": 2, "0": 0}')
    done = run(
        "release", str(path), "--data", str(people), "--ledger", "ledger.db", "--budget", "2",
        "--sql", "select max(age) from people", "--column", "age:integer", "--query", "path(3)",
        "--answers", "answers.json", "--otherwise", "1", "--json",
    ).data  # fmt: skip
    assert done["answer"] in (0, 1, 2)
    assert done["receipt"]["answers"] == {"map": {"0": 0, "72": 2}, "otherwise": 1}
    with pytest.raises(InputError, match="is not an answer"):
        release(
            made,
            data=people,
            sql="select max(age) from people",
            ledger="ledger.db",
            columns={"age": Column("age", "integer")},
            declared=DeclaredQuestion("path(3)", {"72": 9}, 0),
        )


def test_the_example_table(run, tmp_path):
    made = certify(GeometricChannel(2001, "1/2"), "count(2000)", "1/2")
    path = made.save(tmp_path / "count.tightrope")
    done = run(
        "release", str(path), "--facts", str(EXAMPLE / "tightrope.toml"), "--ledger", "ledger.db",
        "--sql", "select count(*) from people where smokes = 'yes' and age < 60", "--json",
    ).data  # fmt: skip
    with (EXAMPLE / "people.csv").open(encoding="utf-8") as file:
        truth = sum(
            r["smokes"] == "yes" and int(r["age"]) < 60 for r in csv.DictReader(file)
        )
    assert abs(done["answer"] - truth) < 200
    assert done["remaining"] == "19/2"


# -- what was published -----------------------------------------------------------------------


def test_a_sum_is_told_as_the_number_itself(run, tmp_path):
    """What is drawn counts from the least sum: it was shown as if it were the sum."""
    (tmp_path / "young.csv").write_text("age\n" + "22\n" * 25)
    Path("tightrope.toml").write_text(
        '[tables.young]\nsource = "young.csv"\npopulation = 25\nbudget = "9"\n'
        "[tables.young.columns]\nage = { bounds = [20, 24] }\n"
    )
    made = (
        "certify",
        "geometric:sum(25,4)",
        "--epsilon",
        "2",
        "--out",
        "sum.tightrope",
    )
    assert run(*made).code == 0
    asked = (
        "release",
        "sum.tightrope",
        "--sql",
        "select sum(age) from young",
        "--key",
        "a",
    )
    drawn = run(*asked, "--json").data["answer"]
    shown = run(*asked).out
    assert re.search(rf"answer +{drawn + 500} ± ", shown)
    assert re.search(rf"drawn +{drawn} *\n", shown)
    listed = run("ledger", "show").out
    assert re.search(rf"\b{drawn + 500} *\n", listed)
    assert "sum(age)" in listed


def test_what_was_paid_and_not_answered_is_listed(run):
    ledger = Ledger.create("ledger.db")
    ledger.set_budget("table people", 2)
    charges = [Charge("table people", Fraction(1))]
    ledger.charge(ledger.reserve("lost", {"sql": "select 1"}, charges))
    assert run("ledger", "show", "--json").data["unanswered"] == ["lost"]
    assert "lost (asked again with its key" in run("ledger", "show").out
    ledger.answer(ledger.ticket("lost"), 3)
    assert run("ledger", "show", "--json").data["unanswered"] == []


def test_a_budget_that_is_refused_leaves_no_ledger_behind(run):
    refused = run("ledger", "budget", "ledger.db", "people", "2")
    assert refused.code == 2
    assert "an account is 'table NAME' or 'user NAME'" in refused.err
    assert not Path("ledger.db").exists()
