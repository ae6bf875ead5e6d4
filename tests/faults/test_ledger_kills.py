"""Processes that die or race: no answer without a charge, no charge lost, nothing overspent."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from tightrope.accounting import optimal_composition
from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.errors import InputError
from tightrope.publish import Ledger
from tightrope.publish.accounts import Charge, budget_of
from tightrope.publish.entries import Entry
from tightrope.publish.series import series_entry

#: Releases that are killed, on both databases together; ``TIGHTROPE_KILLS=1000`` kills more.
KILLS = int(os.environ.get("TIGHTROPE_KILLS", "60"))
#: Seconds after which a reservation expires: some expire while others are still being killed.
HOLD = 2
#: Processes that race, and releases that their budget allows.
RACERS, PLACES = 32, 10

NURSERY = Path(__file__).with_name("nursery.py")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill is no power cut, so disks need not be slow."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def play(tmp_path: Path, address: str, **work: object) -> dict:
    """Let the nursery do its work; everything it needs is made here."""
    made = certify(GeometricChannel(101, "ln(2)"), "count(100)", "ln(2)")
    people = tmp_path / "people.sqlite"
    with sqlite3.connect(people) as table:
        table.execute("create table people (id integer)")
        table.executemany("insert into people values (?)", [(i,) for i in range(100)])
    table.close()
    left = tmp_path / "left"
    left.mkdir()
    plan = {
        "mechanism": str(made.save(tmp_path / "count.tightrope")),
        "data": str(people),
        "ledger": address,
        "left": str(left),
        "hold": 60,
        **work,
    }
    done = subprocess.run(
        [sys.executable, str(NURSERY), json.dumps(plan)],
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert not list(left.glob("*.crash")), [p.read_text() for p in left.glob("*.crash")]
    assert not list(left.glob("*.error")), [p.read_text() for p in left.glob("*.error")]
    return json.loads(done.stdout.splitlines()[-1])


def answers_that_left(tmp_path: Path) -> dict[str, list[int]]:
    # A process killed between opening and writing leaves an empty file: nothing left it.
    return {
        path.name: [int(line) for line in path.read_text().split()]
        for path in (tmp_path / "left").iterdir()
        if path.stat().st_size
    }


def test_killed_releases(address: str, tmp_path: Path) -> None:
    price = budget_of("ln(2)")
    kills = KILLS // 2
    afforded = kills * 3 // 5
    result = play(
        tmp_path,
        address,
        work="kills",
        kills=kills,
        together=3,
        seed=20,
        hold=HOLD,
        budget=f"{afforded}*ln(2)",
    )
    killed = Counter(result["codes"])[-9]
    assert killed > kills // 3, "the random instants must fall into the releases"

    ledger = Ledger(address)
    report = ledger.verify()
    assert report.intact, report.reasons

    steps: dict[str, dict[tuple[int, str], Entry]] = {
        kind: {} for kind in ("reserve", "charge", "answer", "cancel", "expire")
    }
    for entry in ledger.entries():
        if entry.kind in steps:
            ticket = entry.body.get("reservation", [entry.position, entry.hash])
            assert tuple(ticket) not in steps[entry.kind], (
                f"two {entry.kind} for one ticket"
            )
            steps[entry.kind][tuple(ticket)] = entry
    freed = {**steps["cancel"], **steps["expire"]}
    account = ledger.account("table people")

    # Nothing overspent, and the budget is used to the last release.
    assert account.spent == len(steps["charge"]) * price == afforded * price
    assert account.remaining == 0
    # No charge lost: every paid ticket has been answered by asking again.
    assert steps["charge"].keys() == steps["answer"].keys()
    # Every reservation was paid or came back, and none both.
    assert steps["reserve"].keys() == steps["charge"].keys() | freed.keys()
    assert not steps["charge"].keys() & freed.keys()
    # No answer without a charge, and the charge comes first; no key is answered twice.
    for ticket, entry in steps["answer"].items():
        assert ticket[0] < steps["charge"][ticket].position < entry.position
    answers = {
        entry.body["key"]: entry.body["answer"] for entry in steps["answer"].values()
    }
    assert len(answers) == len(steps["answer"])
    # What left, before the kill or after, is what the ledger holds.
    for key, left in answers_that_left(tmp_path).items():
        assert set(left) == {answers[key]}
    # Asking again gives the same answer each time, and refused ones stay refused.
    assert result["twice"].items() <= result["again"].items()
    assert result["twice"]
    for key, answer in result["again"].items():
        assert answer == answers.get(key)
    print(
        f"{killed} of {kills} killed: {len(steps['expire'])} reservations expired, "
        f"{len(answers)} answered, none lost, unpaid or twice"
    )


def test_a_race_for_a_budget_that_fits_ten(address: str, tmp_path: Path) -> None:
    result = play(
        tmp_path, address, work="race", racers=RACERS, budget=f"{PLACES}*ln(2)"
    )
    assert Counter(result["codes"]) == {0: PLACES, 3: RACERS - PLACES}
    assert len(answers_that_left(tmp_path)) == PLACES
    ledger = Ledger(address)
    assert ledger.remaining("table people") == Fraction(0)
    assert ledger.verify().intact


def declared(address: str, releases: int) -> Ledger:
    ledger = Ledger.create(address)
    ledger.set_budget("table people", 200, "1e-6")
    daily = series_entry("table people", "daily", [("ln(2)", releases)], "1e-6")
    ledger.declare_series(daily)
    return ledger


def test_a_series_of_500_releases_killed_twenty_times(
    address: str, tmp_path: Path
) -> None:
    """The statement is exact, and the same as that of a series that nobody broke off."""
    ledger = declared(address, 500)
    result = play(
        tmp_path,
        address,
        work="series",
        kills=20,
        releases=500,
        seed=22,
        budget="ln(2)",
    )
    assert Counter(result["codes"]) == {-9: 20, 0: 1}
    report = ledger.verify()
    assert report.intact, report.reasons

    answered = [entry for entry in ledger.entries() if entry.kind == "answer"]
    assert len({entry.body["key"] for entry in answered}) == len(answered) == 500
    whole = declared(f"{tmp_path}/whole.db", 500)
    places = [Charge("table people", budget_of("ln(2)"), series="daily")]
    for number in range(500):
        ticket = whole.reserve(f"key{number}", {"sql": "…"}, places)
        whole.answer(whole.charge(ticket), number)
    series = [book.verify().accounts["table people"].series for book in (ledger, whole)]
    assert series[0] == series[1]
    assert series[0]["daily"].left == 0
    statements = [
        entry.body
        for book in (ledger, whole)
        for entry in book.entries()
        if entry.kind == "series"
    ]
    assert statements[0] == statements[1]
    exact = optimal_composition([(budget_of("ln(2)"), 500)])
    assert statements[0]["epsilon"] == str(exact.epsilon("1e-6"))
    with pytest.raises(InputError, match="all 500 are used"):
        ledger.reserve("one more", {}, places)


def test_the_check_notices_a_spent_budget_that_is_not_recorded(tmp_path: Path) -> None:
    """The negative twin: a ledger whose balance was set back does not verify."""
    address = f"{tmp_path}/ledger.db"
    ledger = Ledger.create(address)
    ledger.set_budget("table people", 1)
    with sqlite3.connect(address) as raw:
        raw.execute("update ledger_state set value = replace(value, '\"1\"', '\"2\"')")
    raw.close()
    assert ledger.verify().reasons == (
        "the stored account:table people is not what the entries say",
    )
