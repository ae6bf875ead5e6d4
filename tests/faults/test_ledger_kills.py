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

from tightrope.certify import certify, write
from tightrope.channels import GeometricChannel
from tightrope.graphs import PathPower
from tightrope.publish import Ledger
from tightrope.publish.amounts import budget_of

#: Releases that are killed: 500 in all.
KILLS = {"sqlite": 350, "postgresql": 150}
#: How many of those releases the budget allows.
AFFORDED = {"sqlite": 210, "postgresql": 90}
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
    made = certify(GeometricChannel(101, "ln(2)"), PathPower(101), "ln(2)", query="count(100)")
    people = tmp_path / "people.sqlite"
    with sqlite3.connect(people) as table:
        table.execute("create table people (id integer)")
        table.executemany("insert into people values (?)", [(i,) for i in range(60)])
    table.close()
    left = tmp_path / "left"
    left.mkdir()
    plan = {
        "mechanism": str(write(made, tmp_path / "count.tightrope")),
        "data": str(people),
        "ledger": address,
        "left": str(left),
        **work,
    }
    done = subprocess.run(
        [sys.executable, str(NURSERY), json.dumps(plan)],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
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
    kind = address.partition(":")[0]
    kills, afforded = KILLS[kind], AFFORDED[kind]
    result = play(
        tmp_path,
        address,
        work="kills",
        kills=kills,
        together=3,
        seed=20,
        budget=f"{afforded}*ln(2)",
    )
    killed = Counter(result["codes"])[-9]
    assert killed > kills // 3, "the random instants must fall into the releases"

    ledger = Ledger(address)
    report = ledger.verify()
    assert report.intact, report.reasons

    kinds = {"reserve": {}, "charge": {}, "answer": {}}
    for entry in ledger.entries():
        if entry.kind in kinds:
            seen = kinds[entry.kind]
            assert entry.body["key"] not in seen, f"two entries of kind {entry.kind} for one key"
            seen[entry.body["key"]] = entry
    account = ledger.account("table people")

    # Nothing overspent, and the budget is used to the last release.
    assert account.spent == len(kinds["reserve"]) * price == afforded * price
    assert account.remaining == 0
    # No charge lost: every paid request has been answered by asking again.
    assert kinds["charge"].keys() == kinds["reserve"].keys() == kinds["answer"].keys()
    # No answer without a charge, and the charge comes first.
    for key, entry in kinds["answer"].items():
        assert kinds["reserve"][key].position < kinds["charge"][key].position < entry.position
    # What left, before the kill or after, is what the ledger holds.
    for key, answers in answers_that_left(tmp_path).items():
        assert set(answers) == {kinds["answer"][key].body["answer"]}
    # Asking again gives the same answer each time, and refused ones stay refused.
    assert result["twice"].items() <= result["again"].items()
    assert result["twice"]
    for key, answer in result["again"].items():
        assert answer == (kinds["answer"][key].body["answer"] if key in kinds["answer"] else None)


def test_a_race_for_a_budget_that_fits_ten(address: str, tmp_path: Path) -> None:
    result = play(tmp_path, address, work="race", racers=RACERS, budget=f"{PLACES}*ln(2)")
    assert Counter(result["codes"]) == {0: PLACES, 3: RACERS - PLACES}
    assert len(answers_that_left(tmp_path)) == PLACES
    ledger = Ledger(address)
    assert ledger.remaining("table people") == Fraction(0)
    assert ledger.verify().intact


def test_the_check_notices_a_spent_budget_that_is_not_recorded(tmp_path: Path) -> None:
    """The negative twin: a ledger whose balance was set back does not verify."""
    address = f"{tmp_path}/ledger.db"
    ledger = Ledger.create(address)
    ledger.set_budget("table people", 1)
    with sqlite3.connect(address) as raw:
        raw.execute("update ledger_state set value = replace(value, '\"1\"', '\"2\"')")
    raw.close()
    report = ledger.verify()
    assert not report.intact
    with pytest.raises(AssertionError):
        assert report.intact, report.reasons
