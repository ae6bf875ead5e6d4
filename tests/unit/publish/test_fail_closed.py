"""What was charged for nothing, shown or set free: each with the case that found it."""

import base64
import itertools
import os
import shutil
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

from tightrope.asking.cache import cached_mechanism, proved
from tightrope.certify import by_score
from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.proofs import prove_selection
from tightrope.publish import Column, LedgerError, verify_receipt
from tightrope.publish.accounts import Binding, Charge, SourceIdentity
from tightrope.publish.entries import Entry
from tightrope.publish.facts import Table, columns_of_catalogue
from tightrope.publish.ledger import Ledger
from tightrope.publish.receipts import SigningKey, receipt_of
from tightrope.publish.releasing import checked_mechanism
from tightrope.publish.shapes.declared import mapped_text
from tightrope.publish.sources import open_source
from tightrope.publish.store import Store, Transaction
from tightrope.queries import query

PEOPLE = "table people"
KEYS = itertools.count()


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    for name in (PEOPLE, "table others"):
        made.set_budget(name, 1)
    return made


# -- the paths of an account ----------------------------------------------------------------------


def bind(ledger, account, path):
    with open_source(path, Table("people", 9)) as source:
        binding = Binding(source.identity(), "change-one")
    charge = Charge(account, Fraction(1, 100))
    return ledger.reserve(f"k{next(KEYS)}", {}, [charge], binding=binding)


def test_a_hard_link_sets_no_path_free(ledger, tmp_path):
    people, link = tmp_path / "people.csv", tmp_path / "link.csv"
    people.write_text("age\n31\n")
    bind(ledger, PEOPLE, people)
    os.link(people, link)
    bind(ledger, PEOPLE, link)
    # The people again, written anew: the path is still theirs.
    people.unlink()
    shutil.copy(link, people)
    with pytest.raises(InputError, match="has an account already: table people"):
        bind(ledger, "table others", people)
    bind(ledger, PEOPLE, people)
    assert ledger.verify().intact


def test_an_inode_that_is_no_longer_a_table_s_is_free(ledger, tmp_path):
    people = tmp_path / "people.csv"
    names = [SourceIdentity((f"file:{people}", f"inode:1:{k}")) for k in (7, 8)]
    for source in names:
        ledger.reserve(
            str(source[1]), {}, [Charge(PEOPLE, Fraction(1, 9))],
            binding=Binding(source, "change-one"),
        )  # fmt: skip
    other = SourceIdentity((f"file:{tmp_path}/others.csv", "inode:1:7"))
    charges = [Charge("table others", Fraction(1, 9))]
    ledger.reserve("o", {}, charges, binding=Binding(other, "change-one"))
    taken = SourceIdentity((f"file:{tmp_path}/more.csv", "inode:1:8"))
    with pytest.raises(InputError, match="has an account already: table people"):
        ledger.reserve("p", {}, charges, binding=Binding(taken, "change-one"))


# -- numbers that are too long to be written out --------------------------------------------------


@pytest.mark.parametrize("text", ["1E+1000000", "-1E+999999", "1E-1000000"])
def test_a_long_decimal_is_read_at_once(text):
    rows = {"age": [Decimal(text), Decimal(3)], "name": ["a", "b"]}
    with open_source(pd.DataFrame(rows), Table("people", 9)) as source:
        column = Column("age", "integer", bounds=(0, 9))
        source.prepare([column])
        found = source.fetch(f"SELECT {source.cell(column, '')} FROM {source.rows()}")
    assert found in ([(None,), (3,)], [(0,), (3,)])
    assert len(mapped_text(Decimal(text))) < 20
    assert mapped_text(Decimal("3.0")) == "3"


# -- mechanisms -----------------------------------------------------------------------------------


def test_a_cached_mechanism_with_a_delta_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_CACHE", str(tmp_path))
    asked, level = query("count(5)", neighbours="add-remove"), Epsilon.of(1)
    proved(asked, level)
    (place,) = tmp_path.iterdir()
    # For the same question and the same ε, and outputs that are no counts at all.
    weaker = prove_selection(5, level, Fraction(1, 1000), neighbours="add-remove")
    assert (weaker.query, weaker.epsilon) == ("count(5)", level)
    weaker.save(place)
    assert cached_mechanism(asked, level) is None
    assert not proved(asked, level).delta
    assert cached_mechanism(asked, level) is not None


@pytest.mark.parametrize("question", ["commonest(3)", "quantile(1/2,121)"])
def test_a_level_that_cannot_be_drawn_is_refused_before_the_charge(question):
    assert checked_mechanism(by_score(question, "0.001"))
    with pytest.raises(InputError, match=r"is too small for .* give a larger ε"):
        checked_mechanism(by_score(question, "1e-6"))


# -- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hu@sh@host/db",
        "postgresql://me:hu@s@h@host:5432/db?sslmode=require",
    ],
)
def test_no_part_of_a_password_is_a_host(address):
    with pytest.raises(InputError, match="write each of the others as %40") as refused:
        Store(address)
    assert "hu" not in str(refused.value)
    assert "host/" not in str(refused.value)
    assert "hu" not in Store("postgresql://me:hu%40sh@host/db").name


def test_the_first_line_of_a_key_names_no_column(tmp_path):
    key = SigningKey(tmp_path / "ledger.db.key")
    link = tmp_path / "people.csv"
    link.symlink_to(key.path)
    with pytest.raises(InputError, match="must name the columns") as refused:
        columns_of_catalogue(str(link), "people")
    assert key.path.read_text().strip() not in str(refused.value)


# -- receipts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["signature", "public_key"])
@pytest.mark.parametrize("change", ["{} ", " {}", "{}\n", "{}=", "{}@"])
def test_a_receipt_has_one_text(tmp_path, word, change):
    entry = Entry.after(None, {"kind": "answer", "key": "k", "answer": 3}, "2030-01-01")
    receipt = receipt_of(entry, "a1", SigningKey(tmp_path / "key"))
    assert verify_receipt(receipt).genuine
    assert not verify_receipt({**receipt, word: change.format(receipt[word])}).genuine


def test_bits_that_no_byte_has_are_no_signature(tmp_path):
    entry = Entry.after(None, {"kind": "answer", "key": "k", "answer": 3}, "2030-01-01")
    receipt = receipt_of(entry, "a1", SigningKey(tmp_path / "key"))
    text = receipt["signature"]
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    # The last digit but "==" has four bits that say nothing.
    other = text[:-3] + digits[digits.index(text[-3]) ^ 1] + "=="
    assert base64.b64decode(other) == base64.b64decode(text)
    assert not verify_receipt({**receipt, "signature": other}).genuine


# -- clocks ---------------------------------------------------------------------------------------


def set_clock(monkeypatch, text):
    monkeypatch.setattr(Transaction, "now", lambda self: text)


def test_a_clock_that_jumped_ends_reservations_all_the_same(ledger, monkeypatch):
    charge = [Charge(PEOPLE, Fraction(1))]
    set_clock(monkeypatch, "2100-01-01T00:00:00.000Z")
    ledger.reserve("in the future", {}, charge)
    set_clock(monkeypatch, "2030-01-01T00:00:00.000Z")
    with pytest.raises(InputError, match="too small"):
        ledger.reserve("now", {}, charge)
    ledger.set_budget("table others", 2)  # an entry, which says what the clock said
    set_clock(monkeypatch, "2030-01-01T00:09:00.000Z")
    with pytest.raises(InputError, match="too small"):
        ledger.reserve("soon", {}, charge)
    set_clock(monkeypatch, "2030-01-01T00:11:00.000Z")
    ticket = ledger.reserve("later", {}, charge)
    ledger.charge(ticket)
    ledger.answer(ticket, 3)
    assert ledger.verify().intact


@pytest.mark.parametrize("year", ["9999", "10000", "1999"])
def test_a_clock_that_cannot_be_right_writes_nothing(tmp_path, monkeypatch, year):
    from tightrope.publish import store

    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.set_budget(PEOPLE, 1)
    before = ledger.head()
    wrong = f"SELECT '{year}-12-31T23:59:59.999Z'"
    monkeypatch.setitem(store._CLOCKS, "sqlite", wrong)
    with pytest.raises(LedgerError, match=rf"says {year}-12-31.*: set it"):
        ledger.reserve("k", {}, [Charge(PEOPLE, Fraction(1, 2))])
    assert ledger.head() == before
