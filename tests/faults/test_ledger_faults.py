"""Disks, clocks and servers that fail: clear errors, and a ledger that still verifies."""

import contextlib
import copy
import functools
import json
import operator
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tightrope.errors import TightropeError
from tightrope.publish import Ledger, LedgerError
from tightrope.publish.accounts import Binding, Charge, SourceIdentity
from tightrope.publish.entries import Entry, canonical

HALF = Fraction(1, 2)
TABLE = "table people"


def opened(address, budget=100):
    ledger = Ledger.create(address)
    ledger.set_budget(TABLE, budget)
    return ledger


def spend(ledger, key):
    ticket = ledger.reserve(key, {"sql": "…"}, [Charge(TABLE, HALF)])
    ledger.charge(ticket)
    return ledger.answer(ticket, 7)


# -- disks ----------------------------------------------------------------------------------

FILL = """
import json, resource, signal, sys
from tightrope.publish import Ledger, LedgerError
from tests.faults.test_ledger_faults import spend
ledger = Ledger(sys.argv[1])
room = int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write fails like that on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
done = 0
try:
    for number in range(10000):
        spend(ledger, f"key{number}")
        done += 1
except LedgerError as refused:
    print(json.dumps({"done": done, "error": str(refused)}))
"""


def test_a_full_disk(tmp_path):
    address = f"{tmp_path}/ledger.db"
    ledger = opened(address)
    room = os.path.getsize(address) + 60_000
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", FILL, address, str(room)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["done"] > 5
    assert "this step was not written" in told["error"]
    report = ledger.verify()
    assert report.intact, report.reasons
    # What was begun and not written can be asked again, and the ledger goes on.
    spend(ledger, f"key{told['done']}")
    assert ledger.account(TABLE).spent == (told["done"] + 1) * HALF
    assert ledger.verify().intact


def test_a_read_only_ledger(address, tmp_path):
    ledger = opened(address)
    spend(ledger, "before")
    if address.startswith("sqlite"):
        # Permissions do not bind root; the address of a database opened for reading does.
        path = address.removeprefix("sqlite:///")
        barred = Ledger(address)
        barred.store._url = sa.make_url(f"sqlite:///file:{path}?mode=ro&uri=true")
        del barred.store._engine
    else:
        with psycopg.connect(address, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(
                f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'
            )
        barred = Ledger(address)
    with pytest.raises(LedgerError, match="read-only: nothing was charged"):
        spend(barred, "during")
    assert barred.verify().intact
    assert barred.account(TABLE).spent == HALF


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LedgerError, match="no folder"):
        Ledger.create(tmp_path / "nowhere" / "ledger.db")


def test_a_file_that_is_no_ledger(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("Dear diary, " * 200)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)


def test_a_ledger_that_was_deleted_does_not_start_afresh(tmp_path):
    path = tmp_path / "ledger.db"
    opened(path)
    path.rename(tmp_path / "elsewhere.db")
    (tmp_path / "ledger.db.key").write_text("the key stayed behind")
    with pytest.raises(LedgerError, match="is gone but its key"):
        Ledger.create(path)
    (tmp_path / "ledger.db.key").unlink()
    assert Ledger.create(path).verify().intact


# -- clocks ---------------------------------------------------------------------------------


def test_a_clock_moved_back(address, monkeypatch):
    ledger = opened(address)
    spend(ledger, "noon")
    noon = ledger.head().time

    yesterday = "2001-01-01T00:00:00.000Z"
    monkeypatch.setattr("tightrope.publish.store.Transaction.now", lambda _: yesterday)
    spend(ledger, "yesterday")
    entries = list(ledger.entries())
    assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[-1].time == noon
    assert ledger.verify().intact


# -- servers --------------------------------------------------------------------------------


def test_a_server_dropped_in_the_middle_of_a_transaction(server):
    address = server.new_database("dropped")
    ledger = opened(address)
    spend(ledger, "before")

    def work(change):
        change.append({"kind": "budget", "account": TABLE, "amount": "99"})
        server.stop("immediate")
        change.connection.exec_driver_sql("SELECT 1")

    with pytest.raises(LedgerError, match="went away: ask again with the same key"):
        ledger.store.write(work)
    with pytest.raises(LedgerError, match="went away: ask again with the same key"):
        spend(ledger, "while it is down")
    server.start()
    assert ledger.verify().intact
    assert ledger.account(TABLE).spent == HALF
    spend(ledger, "while it is down")
    assert ledger.account(TABLE).spent == 2 * HALF
    assert ledger.verify().intact


def test_a_connection_cut_by_the_server(server):
    address = server.new_database("cut")
    ledger = opened(address)

    def work(change):
        connection = change.connection
        own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        with psycopg.connect(address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [own])
        connection.exec_driver_sql("SELECT 1")

    with pytest.raises(LedgerError, match="went away"):
        ledger.store.write(work)
    assert ledger.verify().intact


def test_a_role_that_may_only_add_entries(server):
    """The rights that the page on PostgreSQL tells to give are enough, and are not too many."""
    address = server.new_database("rights")
    opened(address)
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS clerk")
        owner.execute("CREATE ROLE clerk LOGIN")
        owner.execute("GRANT SELECT, INSERT ON ledger_entries TO clerk")
        owner.execute("GRANT SELECT, INSERT, UPDATE ON ledger_state TO clerk")
    clerk = Ledger(address.replace("user=postgres", "user=clerk"))
    spend(clerk, "k")
    assert clerk.verify().intact
    with pytest.raises(LedgerError, match="permission denied"):
        clerk.store.write(
            lambda change: change.connection.exec_driver_sql("TRUNCATE ledger_entries")
        )
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("DROP OWNED BY clerk")
        owner.execute("DROP ROLE clerk")


@pytest.mark.parametrize("address", ["postgresql://me:secret@127.0.0.1:1/ledger",
                                     "postgresql:///ledger?host=127.0.0.1&port=1&password=secret",
                                     "postgresql://me:secret@127.0.0.1:x/ledger"])  # fmt: skip
def test_errors_hold_no_password(address):
    with pytest.raises(TightropeError) as refused:
        Ledger(address)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


# -- hands ----------------------------------------------------------------------------------


def unguarded(path):
    """A connection to the ledger's file with its guards removed: somebody with intent."""
    raw = sqlite3.connect(path)
    for verb in ("UPDATE", "DELETE"):
        raw.execute(f"drop trigger ledger_no_{verb}")
    return raw


ALTER = (
    "update ledger_entries set body = replace(body, '1/2', '1/4') where position = 3"
)
REMOVE = "delete from ledger_entries where position = 4"
SWAP = (
    "update ledger_entries set position = case position when 4 then -5 when 5 then -4 else "
    "position end; update ledger_entries set position = abs(position)"
)
CUT = "delete from ledger_entries where position > 5"
REDATE = (
    "update ledger_entries set time = '2030-01-01T00:00:00.000Z' where position = 2"
)
REFUND = (
    'update ledger_state set value = replace(value, \'"whole":"1"\', \'"whole":"0"\')'
)
FORGET = "delete from ledger_state where name = 'request:first'"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (ALTER, "entry 3 was altered"),
        (REMOVE, "entries are missing"),
        (SWAP, "entry 4 was altered"),
        (CUT, "the end of the ledger is not what the entries say"),
        (REDATE, "entry 2 was altered"),
        (REFUND, "the stored account:table people is not what the entries say"),
        (FORGET, "the stored request:first is not what the entries say"),
    ],
)
def test_tampering_is_found(tmp_path, change, says):
    path = tmp_path / "ledger.db"
    ledger = opened(path)
    spend(ledger, "first")
    spend(ledger, "second")
    assert ledger.verify().intact
    with closing(unguarded(path)) as raw:
        raw.executescript(change)
        raw.commit()
    report = ledger.verify()
    assert not report.intact
    assert any(says in reason for reason in report.reasons), report.reasons


def test_a_tail_cut_off_with_its_balances_needs_an_anchor(tmp_path):
    path, copy = tmp_path / "ledger.db", tmp_path / "old.db"
    ledger = opened(path)
    spend(ledger, "first")
    copy.write_bytes(path.read_bytes())
    spend(ledger, "second")
    anchor = (ledger.head().position, ledger.head().hash)
    assert ledger.verify([anchor]).intact
    path.write_bytes(copy.read_bytes())
    assert ledger.verify().intact  # whole up to there: the chain alone cannot know
    assert "its end was cut off" in ledger.verify([anchor]).reasons[0]
    # Nor does it help to go on from there.
    spend(ledger, "another")
    assert "was written anew" in ledger.verify([anchor]).reasons[0]


def test_accidents_are_refused_by_the_database(address):
    ledger = opened(address)
    for statement in (
        "delete from ledger_entries",
        "update ledger_entries set time = ''",
    ):
        with pytest.raises(LedgerError, match="never changed or removed"):
            ledger.store.write(
                lambda change, s=statement: change.connection.exec_driver_sql(s)
            )
    assert ledger.verify().intact


# -- balances that were damaged -------------------------------------------------------------


ACCOUNT = "where name = 'account:table people'"


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        (
            f"update ledger_state set value = '{{' {ACCOUNT}",
            "new",
            "table people is damaged",
        ),
        (
            f"update ledger_state set value = '[]' {ACCOUNT}",
            "new",
            "table people is damaged",
        ),
        ("update ledger_state set value = '{}'", "old", "request:old is damaged"),
        (
            "delete from ledger_state where name = 'head'",
            "new",
            "the end of the ledger",
        ),
        (
            "delete from ledger_entries where position > 4",
            "new",
            "the end of the ledger",
        ),
        (
            "update ledger_entries set body = 'x' where position > 4",
            "new",
            "the end of the ledger",
        ),
        ("delete from ledger_entries", "new", "the end of the ledger"),
        # An answer is not given from a damaged entry, nor drawn anew.
        (
            "update ledger_entries set body = 'x' where position > 4",
            "old",
            "entry 5 was altered",
        ),
    ],
)
def test_nothing_is_added_to_a_damaged_ledger(tmp_path, change, key, says):
    path = tmp_path / "ledger.db"
    ledger = opened(path)
    spend(ledger, "old")
    with closing(unguarded(path)) as raw:
        raw.executescript(change)
        raw.commit()
        before = raw.execute("select * from ledger_entries").fetchall()
    with pytest.raises(LedgerError, match=says):
        spend(ledger, key)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("select * from ledger_entries").fetchall() == before
    assert not ledger.verify().intact


def test_a_ledger_of_another_format_is_left_alone(tmp_path):
    path = tmp_path / "ledger.db"
    opened(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("update ledger_state set value = replace(value, ':3', ':4') "
                    "where name = 'ledger'")  # fmt: skip
        raw.commit()
    with pytest.raises(
        LedgerError, match="of format 4, and this program writes format 3"
    ):
        Ledger(path)


def test_a_ledger_that_lost_its_number(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = opened(path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("delete from ledger_state where name = 'ledger'")
        raw.commit()
    with pytest.raises(LedgerError, match="lost its number"):
        _ = ledger.id
    assert ledger.verify().reasons == ("the stored ledger is not what the entries say",)


# -- anything at all in the place of anything -------------------------------------------------

JUNK = [
    None,
    True,
    0,
    -1,
    5,
    1e300,
    "",
    "x",
    "1/2",
    [],
    [1],
    {},
    {"a": 1},
    "9" * 300,
    10**40,
    "\udcff",
]


def mutated(value, chance):
    """The value with one thing in it removed or replaced by something else."""
    places = [()]
    for place in places:
        held = functools.reduce(operator.getitem, place, value)
        inside = (
            held
            if isinstance(held, dict)
            else range(len(held) if isinstance(held, list) else 0)
        )
        places += [(*place, key) for key in inside]
    *way, last = chance.choice(places[1:]) if len(places) > 1 else ["none"]
    value = copy.deepcopy(value)
    held = functools.reduce(operator.getitem, way, value)
    if chance.random() < 0.2:
        held.pop(last, None) if isinstance(held, dict) else held.pop(last)
    else:
        held[last] = chance.choice(JUNK)
    return value


def everything(path):
    """Use a ledger in every way; only what is said on purpose may come out."""
    binding = Binding(SourceIdentity(("file:/p", "inode:1")), "change-one")
    for look in (Ledger.verify, Ledger.accounts, Ledger.head, lambda ledger: ledger.id):
        with contextlib.suppress(TightropeError):
            look(Ledger(path))
    for key in "abcd":
        with contextlib.suppress(TightropeError):
            ledger = Ledger(path)
            charges = [
                Charge(TABLE, HALF / 5, "r x", "n", 2),
                Charge("user a", HALF / 5),
            ]
            ticket = ledger.reserve(key, {"sql": key}, charges, binding=binding)
            if key != "c":
                ledger.charge(ticket)
            if key == "a":
                ledger.answer(ticket, [3, "x"])


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_ledger_holds_the_errors_are_clear(tmp_path, seed):
    path = tmp_path / "ledger.db"
    ledger = opened(path)
    ledger.set_budget("user a", 100)
    everything(path)
    whole, entries, chance = (
        path.read_bytes(),
        list(ledger.entries()),
        random.Random(seed),
    )
    for _ in range(25):
        path.write_bytes(whole)
        with closing(unguarded(path)) as raw:
            if chance.random() < 0.5:
                rows = raw.execute("select name, value from ledger_state").fetchall()
                name, value = chance.choice(rows)
                raw.execute(
                    "update ledger_state set value = ? where name = ?",
                    [json.dumps(mutated(json.loads(value), chance)), name],
                )
            else:
                # Somebody who computes hashes: a whole chain with one wrong entry in it.
                raw.execute("delete from ledger_entries")
                wrong, last = chance.randrange(len(entries)), None
                for place, entry in enumerate(entries):
                    body = mutated(entry.body, chance) if place == wrong else entry.body
                    last = Entry.after(last, body, entry.time)
                    row = {**last.as_dict(), "body": canonical(dict(body))}
                    raw.execute("insert into ledger_entries values "
                                "(:position, :previous, :time, :body, :hash)", row)  # fmt: skip
            raw.commit()
        assert not ledger.verify().intact
        everything(path)
