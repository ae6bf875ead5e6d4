"""A job of several questions whose processes are killed is paid once and answered once."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from tightrope.publish import Ledger

ASKER = Path(__file__).with_name("asker.py")
JOB = """
select count(*) as n from people where age > 30;
select sex, count(*) as n from people group by sex;
select sum(age) as s from people;
select avg(age) as m from people where sex = 'f';
select age, sex, count(*) as n from people where age > 25 group by grouping sets (age, sex);
"""
FACTS = """
[tables.people]
population = 200
budget = "3"
[tables.people.columns]
age = { bounds = [20, 60] }
sex = { values = ["f", "m"] }
"""


CHAIN = "select sex, count(*) as n from people group by sex"


def killed_askers(folder: Path, job: str, facts: str, **more: object) -> Ledger:
    """Let processes ask, kill them, and check that whoever got through saw the same answers."""
    rows = "\n".join(f"{20 + i % 41},{'fm'[i % 2]}" for i in range(200))
    for name, text in {
        "job.sql": job,
        "facts.toml": facts,
        "people.csv": f"age,sex\n{rows}\n",
    }.items():
        (folder / name).write_text(text)
    work = {
        "job": "job.sql",
        "facts": "facts.toml",
        "data": "people.csv",
        "ledger": "ledger.db",
        "out": "left",
        "kills": int(os.environ.get("TIGHTROPE_KILLS", "60")) // 3,
        "seed": 7,
        **more,
    }
    done = subprocess.run(
        [sys.executable, str(ASKER), json.dumps(work)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        cwd=folder,
        env={
            **os.environ,
            "TIGHTROPE_CACHE": str(folder / "shelf"),
            "OPENBLAS_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob("*.crash")), [
        p.read_text() for p in folder.glob("*.crash")
    ]
    assert json.loads(done.stdout)["killed"] > 0
    left = [json.loads(line) for line in (folder / "left").read_text().splitlines()]
    assert left
    for told in left:
        assert [records for records, _ in told] == [records for records, _ in left[0]]
    return Ledger(folder / "ledger.db")


def test_a_job_that_is_killed_is_paid_once(tmp_path):
    book = killed_askers(tmp_path, JOB, FACTS)
    assert book.remaining("table people") == Fraction(2)
    kinds = [entry.body["kind"] for entry in book.entries()]
    assert kinds.count("answer") == kinds.count("charge") == 5
    assert book.verify().intact


def test_a_chain_that_is_killed_is_drawn_and_paid_once(tmp_path):
    """Killed at any instant, also between a charge and the finer draw that it pays for."""
    frozen = FACTS.replace("population", "frozen = true\npopulation")
    levels = ["0.25", "0.5", "1", "2"]
    book = killed_askers(tmp_path, CHAIN, frozen, levels=levels)
    assert book.remaining("table people") == Fraction(1)
    answers, waiting = book.paid()
    assert [entry.body["level"] for entry in answers] == levels
    assert not waiting
    kinds = [entry.kind for entry in book.entries()]
    assert kinds.count("charge") == 4
    assert book.verify().intact
