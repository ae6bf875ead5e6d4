"""A job of several questions whose processes are killed is paid once and answered once."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

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


def asked(folder: Path, job: str, facts: str, **more: object) -> tuple[int, list[Any]]:
    """Let processes ask; return how many were killed, and what left the others."""
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
    left = [json.loads(line) for line in (folder / "left").read_text().splitlines()]
    return json.loads(done.stdout)["killed"], left


def killed_askers(folder: Path, job: str, facts: str, **more: object) -> Ledger:
    """Let processes ask, kill them, and check that whoever got through saw the same answers."""
    killed, left = asked(folder, job, facts, **more)
    assert killed > 0
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


def test_processes_that_sharpen_one_answer_at_once(tmp_path):
    """One draws, whoever is killed after the charge is finished later, nobody draws again."""
    frozen = FACTS.replace("population", "frozen = true\npopulation")
    killed, left = asked(tmp_path, CHAIN, frozen, race=["1", "0.5", "1"])
    book = Ledger(tmp_path / "ledger.db")
    answers, waiting = book.paid()
    paid = [Fraction(entry.body["level"]) for entry in answers]
    # The chain holds increasing levels, each drawn once under one charge, and costs its last.
    assert paid == sorted(set(paid))
    assert not waiting
    assert book.remaining("table people") == 3 - paid[-1]
    kinds = [entry.kind for entry in book.entries()]
    assert kinds.count("charge") == kinds.count("answer") == len(paid)
    assert book.verify().intact
    # Everybody who was answered at a level was told the same numbers.
    told = [line[0][0] for line in left if not isinstance(line, str)]
    assert len({json.dumps(one) for one in told}) <= len(paid) - 1
    assert told
    refused = [line for line in left if isinstance(line, str)]
    assert all("another request" in x or "published at" in x for x in refused)
    assert killed <= 1
