"""One day's job on a real table: nine questions, ε = 1 together, each with its interval.

python examples/ask_fair.py
"""

import os
import tempfile
import time
from pathlib import Path

import statsmodels.api as sm

from tightrope.asking import ask_all, plan
from tightrope.asking.planning import read_job

DATA = Path(__file__).parent / "data"


def main() -> None:
    started = time.perf_counter()
    folder = Path(tempfile.mkdtemp())
    os.environ.setdefault("TIGHTROPE_CACHE", str(folder / "mechanisms"))
    questions = read_job((DATA / "fair.sql").read_text(encoding="utf-8"))
    job = plan(
        questions,
        epsilon=1,
        data=sm.datasets.fair.load_pandas().data,
        facts=DATA / "fair.toml",
        ledger=folder / "ledger.db",
    )
    print(
        f"{len(questions)} questions will cost ε = {job.cost}; nothing is paid yet.\n"
    )
    answers = ask_all(job)
    for answer in answers:
        print(f"{answer.name} (ε = {answer.epsilon})")
        print(f"{answer}\n")
    took = time.perf_counter() - started
    print(f"paid {job.cost}, left {answers[-1].remaining}", end="; ")
    print(f"{took:.0f} s, with designs and proofs")


if __name__ == "__main__":
    main()
