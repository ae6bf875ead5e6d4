"""Attacks on the budget: second names for one table, other sources, flags, links, forged texts."""

import json
import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from tightrope import Epsilon
from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import CheckFailed, InputError, TightropeError
from tightrope.publish import (
    Ledger,
    LedgerError,
    SourceFailed,
    parse_facts,
    release,
    verify_receipt,
)
from tightrope.publish.accounts import Charge
from tightrope.publish.receipts import SigningKey, apply_remap

COUNT = "select count(*) from {}"


def counting(epsilon="1/2", neighbours="change-one"):
    return certify(
        GeometricChannel(41, epsilon), "count(40)", epsilon,
        neighbours=neighbours)  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIGHTROPE_KEY", raising=False)
    counting().save("count.tightrope")
    for name, rows in (("people", 40), ("weather", 40)):
        lines = ["id,age,region", *(f"{i},{i * 3},north" for i in range(rows))]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


def ask(table="people", **more):
    options = {
        "data": "people.csv",
        "sql": COUNT.format(table),
        "ledger": "ledger.db",
        "budget": 1,
    }
    return release("count.tightrope", **{**options, **more})


def command(*more, table="people", data="people.csv"):
    return ["release", "count.tightrope", "--data", data, "--sql", COUNT.format(table),
            "--ledger", "ledger.db", "--json", *more]  # fmt: skip


def facts_of(*tables, more=""):
    return parse_facts(
        "\n".join(
            f"[tables.{name}]\npopulation = 40\nbudget = '1'\n{rest}"
            for name, rest in tables
        )
        + more
    )


def spent():
    return sum(account.spent for account in Ledger("ledger.db").accounts().values())


# -- accounts belong to data ----------------------------------------------------------------


def test_data_of_one_table_under_the_name_of_another():
    facts = facts_of(
        ("people", "source = 'people.csv'"), ("weather", "source = 'weather.csv'")
    )
    with pytest.raises(InputError, match="weather"):
        ask("weather", facts=facts, budget=None)
    ask("people", facts=facts, budget=None)
    with pytest.raises(InputError, match="weather"):
        ask("weather", facts=facts, budget=None)
    assert spent() == Fraction(1, 2)


@pytest.mark.parametrize(
    "other", ["./people.csv", "sub/../people.csv", "link.csv", "hard.csv"]
)
def test_a_second_name_for_one_file(other):
    Path("sub").mkdir()
    os.symlink("people.csv", "link.csv")
    os.link("people.csv", "hard.csv")
    facts = facts_of(("people", ""), ("others", ""))
    ask("people", facts=facts, budget=None)
    with pytest.raises(InputError, match="table people"):
        ask("others", facts=facts, data=other, budget=None)
    # The same account by its own name, wherever the file is reached.
    assert ask("people", facts=facts, data=other, budget=None).remaining == 0


def test_another_source_for_one_name():
    facts = facts_of(("people", ""))
    ask(facts=facts, budget=None)
    with pytest.raises(InputError, match="account of file:"):
        ask(facts=facts, data="weather.csv", budget=None)


def test_a_file_that_is_written_anew_keeps_its_account_and_frees_its_old_place():
    facts = facts_of(("people", ""), ("weather", ""))
    ask(facts=facts, budget=None)
    text = Path("people.csv").read_text()
    old = os.stat("people.csv").st_ino
    for number in range(50):  # until the file system gives the number of the file away
        Path("new.csv").write_text(text)
        os.replace("new.csv", "people.csv")
        Path(f"spare{number}.csv").write_text(text)
        if os.stat(f"spare{number}.csv").st_ino == old:
            break
    assert ask(facts=facts, budget=None).remaining == 0
    assert ask("weather", facts=facts, data=f"spare{number}.csv", budget=None).fresh


def test_names_that_only_look_different():
    """ſ is an s: one account, whatever the letters."""
    shutil.copy("people.csv", "visits.csv")
    for name in ("visits", "VISITS", '"viſits"'):
        ask(name, data="visits.csv", budget=2)
    assert list(Ledger("ledger.db").accounts()) == ["table visits"]
    assert spent() == Fraction(3, 2)


def test_two_schemas_names_for_one_table_of_a_database():
    with sqlite3.connect("all.db") as raw:
        raw.execute("create table people (id integer, age integer)")
        raw.executemany("insert into people values (?, 3)", [(i,) for i in range(40)])
    raw.close()
    ask(data="all.db")
    facts = facts_of(
        ("folk", "relation = 'people'"), ("crowd", "relation = 'main.people'")
    )
    for name in ("folk", "crowd"):
        with pytest.raises(InputError, match="table people"):
            ask(name, data="all.db", facts=facts, budget=None)
    assert spent() == Fraction(1, 2)


def test_relations_do_not_mix():
    ask()
    with pytest.raises(InputError, match="change-one"):
        release(counting(neighbours="add-remove"), data="people.csv", sql=COUNT.format("people"),
                ledger="ledger.db")  # fmt: skip
    assert spent() == Fraction(1, 2)


def test_who_a_person_is_does_not_change():
    rows, people = ("people", ""), ("people", "person = 'id'")
    ask(facts=facts_of(rows), budget=None)
    with pytest.raises(InputError, match="person"):
        ask(facts=facts_of(people), budget=None)


def test_a_flag_does_not_beat_the_facts(run):
    Path("tightrope.toml").write_text(
        "[tables.people]\npopulation = 40\nbudget = '1'\n"
    )
    refused = run(*command("--budget", "50"))
    assert refused.code == 2
    assert "facts" in refused.err
    assert not Path("ledger.db").exists() or spent() == 0
    assert run(*command("--budget", "1")).code == 0
    assert run(*command("--budget", "50")).code == 2


def test_a_column_by_flag_does_not_put_the_facts_aside(run):
    Path("tightrope.toml").write_text(
        "[tables.people]\npopulation = 40\nbudget = '1'\n"
    )
    refused = run(*command("--column", "age:0..90", "--budget", "50"))
    assert refused.code == 2
    assert "tightrope.toml" in refused.err
    assert not Path("ledger.db").exists()


@pytest.mark.parametrize("pair", [("Tromsø", "Tromso"), ("Łódź", "Lodz"), ("no\u200brth", "north"),
                                  ("Straße", "strasse"), ("x\u2060", "x"), ("Đà", "da"),
                                  ("ﬁn", "fin"), ("north ", "north"), ("ａ", "A"),
                                  ("カ", "か")])  # fmt: skip
def test_parts_that_a_collation_takes_for_one(pair):
    first, second = (json.dumps(text, ensure_ascii=False) for text in pair)
    text = (
        "[tables.people]\npopulation = 40\n[tables.people.columns]\nregion = {type = 'text'}\n"
        "[tables.people.partitions.region]\ncolumn = 'region'\n"
        f"parts = {{ one = [{first}], two = [{second}] }}\n"
    )
    with pytest.raises(InputError, match="disjoint"):
        parse_facts(text)


def test_partitions_go_by_a_full_digest():
    more = (
        "[tables.people.columns]\nregion = { values = ['north', 'south'] }\n"
        "[tables.people.partitions.region]\nparts = { n = ['north'], s = ['south'] }\n"
    )
    facts = facts_of(("people", ""), more=more)
    ask(facts=facts, budget=None, part=("region", "n"))
    (held,) = Ledger("ledger.db").account("table people").partitions
    assert len(held.rpartition(" ")[2]) == 64


# -- ledgers that are gone, or reached through links ----------------------------------------


def test_with_a_key_in_the_environment_a_deleted_ledger_is_not_made_anew(
    run, monkeypatch
):
    monkeypatch.setenv("TIGHTROPE_KEY", "mine.key")
    assert run(*command("--budget", "1")).code == 0
    Path("ledger.db").unlink()
    refused = run(*command("--budget", "1"))
    assert refused.code == 2
    assert "ledger init" in refused.err
    assert not Path("ledger.db").exists()
    assert run("ledger", "init", "ledger.db", "--json").data["entries"] == 1
    assert run(*command("--budget", "1")).code == 0
    assert run("ledger", "init", "ledger.db").code == 2


def test_a_ledger_through_a_link_signs_with_one_key():
    first = ask()
    Path("else").mkdir()
    os.symlink("../ledger.db", "else/alias.db")
    second = ask(ledger="else/alias.db")
    assert first.receipt["public_key"] == second.receipt["public_key"]
    assert not Path("else/alias.db.key").exists()


def test_a_ledger_with_two_names_is_refused():
    """It had a second key, and a crash under one name was invisible under the other."""
    ask()
    os.link("ledger.db", "other.db")
    for name in ("other.db", "ledger.db"):
        with pytest.raises(LedgerError, match=r"has 2 names \(hard links\)"):
            ask(ledger=name)
    assert not Path("other.db.key").exists()
    Path("other.db").unlink()
    assert ask().fresh


# -- texts that cannot succeed --------------------------------------------------------------


def test_a_very_long_epsilon_is_refused_and_the_account_stays_usable():
    long = Epsilon(Fraction(10**997 + 1, 10**998 + 7))
    with pytest.raises(InputError, match="digits"):
        certify(GeometricChannel(41, "1/10"), "count(40)", long)
    assert not Path("ledger.db").exists()
    assert ask().fresh


def test_many_awkward_fractions_never_lock_an_account(tmp_path):
    ledger = Ledger.create(tmp_path / "many.db")
    ledger.set_budget("table people", 1)
    truth = Fraction(0)
    for number in range(40):
        amount = Fraction(1, 10**38 + 2 * number + 1)
        truth += amount
        ledger.reserve(f"k{number}", {}, [Charge("table people", amount)])
    account = ledger.account("table people")
    assert truth <= account.spent < truth + Fraction(1, 10**40)
    ledger.reserve("plain", {}, [Charge("table people", Fraction(1, 2))])
    assert ledger.verify().intact


def test_a_receipt_that_says_a_thing_twice(run):
    assert run(*command("--budget", "1", "--receipt", "r.json")).code == 0
    text = Path("r.json").read_text()
    Path("r.json").write_text(text.replace('"answer"', '"answer": 40, "answer"', 1))
    refused = run("verify", "r.json")
    assert refused.code == 2
    assert "twice" in refused.err


def test_answers_that_say_a_thing_twice(run):
    Path("answers.json").write_text('{"1": 2, "1": 3}')
    refused = run(*command("--budget", "1", "--query", "count(40)", "--answers", "answers.json",
                           "--otherwise", "0"))  # fmt: skip
    assert refused.code == 2
    assert "twice" in refused.err


def test_an_entry_that_says_a_thing_twice_is_noticed():
    ask()
    with sqlite3.connect("ledger.db") as raw:
        raw.execute("drop trigger ledger_no_UPDATE")
        raw.execute("update ledger_entries set body = '{\"answer\":1,' || substr(body, 2) "
                    "where position = (select max(position) from ledger_entries)")  # fmt: skip
    raw.close()
    assert not Ledger("ledger.db").verify().intact


@pytest.mark.parametrize(
    "name", ["ledger", "position", "hash", "previous", "time", "answer"]
)
def test_a_receipt_without_a_field(run, name):
    done = ask()
    kept = {k: v for k, v in done.receipt.items()
            if k not in (name, "signature", "public_key", "format", "version")}  # fmt: skip
    forged = SigningKey(Path("forger.key")).sign(kept)
    assert not verify_receipt(forged).genuine
    Path("r.json").write_text(json.dumps(forged))
    refused = run("ledger", "verify", "ledger.db", "--receipt", "r.json")
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 1
    with pytest.raises(CheckFailed):
        apply_remap(Path("r.json"), {0: 0})


def test_what_cannot_succeed_is_refused_before_the_charge(monkeypatch):
    """The query is compiled, and the table looked at, while nothing is spent."""

    def no_sql(*_):
        raise InputError("this source has no such word")

    monkeypatch.setattr("tightrope.publish.sql_writer.compiled", no_sql)
    with pytest.raises(InputError, match="no such word"):
        ask()
    assert not Path("ledger.db").exists() or spent() == 0


class Panic(BaseException):
    """What libraries written in Rust raise: no Exception."""


def test_after_the_charge_every_failure_is_one_sentence(monkeypatch):
    told = set()
    for wrong in (
        KeyError("somebody's row"),
        InputError("17 is no answer"),
        IndexError(17),
        Panic("no room for 17"),
    ):

        def fails(*_, wrong=wrong):
            raise wrong

        with monkeypatch.context() as broken:
            broken.setattr("tightrope.publish.shapes.Count.answers", fails)
            with pytest.raises(TightropeError) as refused:
                ask(key="k")
            told.add((type(refused.value), str(refused.value)))
    assert len(told) == 1
    assert next(iter(told))[0] is SourceFailed
    assert "17" not in next(iter(told))[1]


def test_a_file_whose_name_is_no_text(run, monkeypatch):
    """Bytes that are no UTF-8: refused in an address, a place like any other above it."""
    odd = os.fsdecode(b"odd\xff")
    Path(odd).mkdir()
    shutil.copy("people.csv", f"{odd}/people.csv")
    refused = run(*command("--budget", "1", data=f"{odd}/people.csv"))
    assert refused.code == 2
    assert "plain text" in refused.err
    monkeypatch.chdir(odd)
    counting().save("count.tightrope")
    done = run(*command("--budget", "1"))
    assert done.code == 0, done.err
    with pytest.raises(InputError, match="has an account already"):
        ask("others", facts=facts_of(("others", "")), budget=None)
    assert run("ledger", "show", "ledger.db").code == 0


def test_the_ledger_shows_what_an_account_is_bound_to(run):
    ask()
    run("ledger", "budget", "ledger.db", "user ann", "1")
    shown = run("ledger", "show", "ledger.db", "--json").data["accounts"]
    assert shown["table people"]["source"] == f"file:{Path('people.csv').resolve()}"
    assert shown["table people"]["neighbours"] == "change-one"
    assert shown["user ann"]["source"] is None


REGION = (
    "[tables.people.columns]\nregion = { values = ['north', 'south'] }\n"
    "[tables.people.partitions.region]\nparts = { n = ['north'], s = ['south'] }\n"
)


def test_another_facts_file_does_not_change_what_privacy_rests_on(run):
    """With fixed = true two parts cost one: that is for whoever opened the account to say."""
    Path("mine.toml").write_text(
        "[tables.people]\npopulation = 40\nbudget = '2'\n" + REGION
    )
    facts = parse_facts(Path("mine.toml").read_text())
    asked = {"budget": None, "facts": facts}
    ask(part=("region", "n"), **asked)
    ask(part=("region", "s"), **asked)
    assert spent() == 1
    fixed = parse_facts(Path("mine.toml").read_text() + "fixed = true\n")
    with pytest.raises(InputError, match="ledger facts"):
        ask(budget=None, facts=fixed, part=("region", "n"))
    with pytest.raises(InputError, match="ledger facts"):
        ask(budget=None)  # nor does leaving the facts out
    more = parse_facts(Path("mine.toml").read_text().replace("region =", "age = {}\nregion =", 1)
                       .replace("age = {}", "age = { bounds = [0, 9] }"))  # fmt: skip
    assert ask(budget=None, facts=more).fresh  # a column more is no matter
    # Whoever keeps the ledger may record that the facts have changed.
    grown = (
        "[tables.people]\npopulation = 40\nbudget = '2'\n" + REGION + "fixed = true\n"
    )
    Path("grown.toml").write_text(grown)
    told = run("ledger", "facts", "ledger.db", "--facts", "grown.toml", "--json").data
    assert told["accounts"] == ["table people"]
    assert ask(budget=None, facts=fixed).fresh
    with pytest.raises(InputError, match="ledger facts"):
        ask(budget=None, facts=facts)
    assert run(
        "ledger", "facts", "ledger.db", "--facts", "grown.toml", "--json"
    ).data == {"accounts": []}
    assert run("ledger", "verify", "ledger.db").code == 0
