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
"""
FACTS = """
[tables.people]
population = 200
budget = "3"
[tables.people.columns]
age = { bounds = [20, 60] }
sex = { values = ["f", "m"] }
"""


def test_a_job_that_is_killed_is_paid_once(tmp_path):
    rows = "\n".join(f"{20 + i % 41},{'fm'[i % 2]}" for i in range(200))
    for name, text in {
        "job.sql": JOB,
        "facts.toml": FACTS,
        "people.csv": f"age,sex\n{rows}\n",
    }.items():
        (tmp_path / name).write_text(text)
    work = {
        "job": "job.sql",
        "facts": "facts.toml",
        "data": "people.csv",
        "ledger": "ledger.db",
        "out": "left",
        "kills": int(os.environ.get("TIGHTROPE_KILLS", "60")) // 3,
        "seed": 7,
    }
    done = subprocess.run(
        [sys.executable, str(ASKER), json.dumps(work)],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        cwd=tmp_path,
        env={**os.environ, "TIGHTROPE_CACHE": str(tmp_path / "shelf"), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.crash")), [p.read_text() for p in tmp_path.glob("*.crash")]
    assert json.loads(done.stdout)["killed"] > 0
    left = [json.loads(line) for line in (tmp_path / "left").read_text().splitlines()]
    assert left
    for told in left:  # whoever got through saw the same answers
        assert [records for records, _ in told] == [records for records, _ in left[0]]
    book = Ledger(tmp_path / "ledger.db")
    assert book.remaining("table people") == Fraction(2)
    kinds = [entry.body["kind"] for entry in book.entries()]
    assert kinds.count("answer") == kinds.count("charge") == 4
    assert book.verify().intact
