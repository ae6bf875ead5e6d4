"""One day's job with each library: a count, a two-way table, a sum and a median of one table.

    python -m benchmarks.job [--quick] [--alone]

The scripts stand in the folder `jobs`, as somebody would write them who knows the library. Each
is run as a program for its time, and called many times for its errors.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

JOBS = Path(__file__).with_name("jobs")
#: What is asked, in words.
QUESTIONS = {
    "count": "a count",
    "table": "a cell of the 4 × 5 table",
    "sum": "a sum",
    "median": "a median",
}

ROWS = (
    Row("job", "count, two-way table, sum and median of 6,366 people, ε = 1 in all",
        # The peers' Python has no statsmodels: the table is written by the project's.
        {"home": sys.executable},
        {"tightrope": 600, "opendp": 600, "smartnoise": 600, "tumult": 600},
        quick=True, once=True),
)  # fmt: skip

COMPARISON = Comparison(
    "job",
    "A day's job",
    "Four questions about statsmodels' table `fair` (6,366 people, one may come or go), a quarter "
    "of ε = 1 for each: how many had affairs, how many by religiousness and rating of the "
    "marriage, the sum and the median of years of education. Seconds of the whole program, from "
    "its start (those of Java, for Tumult, are not counted); `benchmarks/jobs` has the scripts.",
    ROWS,
)


def write_table(path: Path) -> None:
    """Write `fair` as CSV, whole numbers as such."""
    from statsmodels.datasets import fair

    data = fair.load_pandas().data
    whole = [name for name in data if (data[name] % 1 == 0).all()]
    data.astype(dict.fromkeys(whole, int)).to_csv(path, index=False)


def truth(path: Path) -> dict[str, Any]:
    """Return the true answers."""
    import csv

    with path.open(encoding="utf-8") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    pairs = [(r, m) for r in range(1, 5) for m in range(1, 6)]
    return {
        "count": sum(row["affairs"] > 0 for row in rows),
        "table": [
            sum((row["religious"], row["rate_marriage"]) == pair for row in rows) for pair in pairs
        ],
        "sum": sum(row["educ"] for row in rows),
        "median": statistics.median(row["educ"] for row in rows),
    }


def errors(answers: list[dict[str, Any]], true: dict[str, Any]) -> dict[str, float]:
    """Return the mean absolute error of each kind of number."""
    found = {}
    for name in QUESTIONS:
        if name in answers[0]:
            pairs = [(one[name], true[name]) for one in answers]
            if name == "table":
                pairs = [pair for told, held in pairs for pair in zip(told, held, strict=True)]
            found[name] = statistics.fmean(abs(told - held) for told, held in pairs)
    return found


def _work(way: str, home: str, times: int) -> Work:
    folder = tempfile.TemporaryDirectory()
    table, script = Path(folder.name, "fair.csv"), JOBS / f"{way}_job.py"
    subprocess.run([home, "-m", "benchmarks.job", "--table", str(table)], check=True)

    def once() -> tuple[float, float]:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([sys.executable, "-W", "ignore", str(script), str(table)], check=True,
                           cwd=place, capture_output=True)  # fmt: skip
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall

    def facts(_: Any) -> dict[str, Any]:
        spec = importlib.util.spec_from_file_location("job", script)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        told = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as place:
                os.chdir(place)
                told.append(module.answers(str(table)))
                os.chdir("/")
        code = [line.strip() for line in script.read_text(encoding="utf-8").splitlines()]
        lines = sum(bool(line) and not line.startswith(("#", '"""')) for line in code)
        found = errors(told, truth(table))
        note = ", ".join(f"{QUESTIONS[name]} ± {error:.3g}" for name, error in found.items())
        folder.cleanup()
        return {"lines": lines, "errors": found, "runs": times, "note": note}

    return Work(once, facts, children=True, times=lambda seconds: [seconds])


def tightrope(home: str) -> Work:
    return _work("tightrope", home, 40)


def opendp(home: str) -> Work:
    return _work("opendp", home, 20)


def smartnoise(home: str) -> Work:
    return _work("smartnoise", home, 40)


def tumult(home: str) -> Work:
    return _work("tumult", home, 3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        write_table(Path(sys.argv[2]))
    else:
        main("benchmarks.job")
