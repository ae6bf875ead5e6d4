"""One day's job with each library: a count, a two-way table, a sum and a median of one table.

And a publication with each: all one- and two-way tables of five columns of the same table.

    python -m benchmarks.job [--quick] [--alone]

The scripts stand in the folder `jobs`, as somebody would write them who knows the library. Each
is run as a program for its time, and called many times for its errors.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
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
    Row("tables", "all 15 one- and two-way tables of 4 × 5 × 6 × 6 × 6 classes, ε = 1 in all",
        {"home": sys.executable, "kind": "tables"},
        {"tightrope": 600, "opendp": 600, "smartnoise": 600, "tumult": 600},
        quick=True, once=True),
)  # fmt: skip
#: The classes of the five columns whose tables are published.
VALUES = {
    "religious": (1, 2, 3, 4),
    "rate_marriage": (1, 2, 3, 4, 5),
    "occupation": (1, 2, 3, 4, 5, 6),
    "occupation_husb": (1, 2, 3, 4, 5, 6),
    "educ": (9, 12, 14, 16, 17, 20),
}

COMPARISON = Comparison(
    "job",
    "A day's job",
    "Four questions about statsmodels' table `fair` (6,366 people, one may come or go), a quarter "
    "of ε = 1 for each: how many had affairs, how many by religiousness and rating of the "
    "marriage, the sum and the median of years of education. And a publication: all one- and "
    "two-way tables of five of its columns. Seconds of the whole program, from its start (those of "
    "Java, for Tumult, are not counted); `benchmarks/jobs` has the scripts.",
    ROWS,
)


def write_table(path: Path) -> None:
    """Write `fair` as CSV, whole numbers as such."""
    from statsmodels.datasets import fair

    data = fair.load_pandas().data
    whole = [name for name in data if (data[name] % 1 == 0).all()]
    data.astype(dict.fromkeys(whole, int)).to_csv(path, index=False)


def read_rows(path: Path) -> list[dict[str, float]]:
    """Return the rows of the table."""
    import csv

    with path.open(encoding="utf-8") as file:
        return [
            {name: float(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def truth(path: Path) -> dict[str, Any]:
    """Return the true answers of the four questions."""
    rows = read_rows(path)
    pairs = [(r, m) for r in range(1, 5) for m in range(1, 6)]
    return {
        "count": sum(row["affairs"] > 0 for row in rows),
        "table": [
            sum((row["religious"], row["rate_marriage"]) == pair for row in rows)
            for pair in pairs
        ],
        "sum": sum(row["educ"] for row in rows),
        "median": statistics.median(row["educ"] for row in rows),
    }


def true_tables(path: Path) -> dict[str, list[float]]:
    """Return the true one- and two-way tables, by their columns."""
    rows = read_rows(path)
    found = {}
    for size in (1, 2):
        for names in itertools.combinations(VALUES, size):
            counts = Counter(tuple(row[name] for name in names) for row in rows)
            groups = itertools.product(*(VALUES[name] for name in names))
            found[",".join(names)] = [float(counts[group]) for group in groups]
    return found


def table_facts(
    way: str, told: list[Any], true: dict[str, list[float]]
) -> dict[str, Any]:
    """Return the errors of published tables, and how many numbers they contradict each other in.

    The error is the root of the mean over tables of the mean square of their cells; what is
    expected of it comes from the law of the noise, not from these few runs.
    """
    squares = [
        statistics.fmean(
            (number - held) ** 2 for number, held in zip(one[by], true[by], strict=True)
        )
        for one in told
        for by in true
    ]
    return {
        "error": math.sqrt(statistics.fmean(squares)),
        **expected_errors(way, len(true)),
        "contradicted": contradicted(told[0]),
        "numbers": sum(map(len, VALUES.values())),
    }


def expected_errors(way: str, tables: int) -> dict[str, float]:
    """Return root mean square error and mean 95 % margin by the law of the noise, at ε = 1.

    Whoever splits ε adds two-sided geometric noise at ε/15 to each cell; the plan of one job has
    its own law.
    """
    if way != "tightrope":
        alpha = math.exp(-1 / tables)
        # P(|z| > m) = 2α^(m + 1) / (1 + α)
        margin = math.ceil(math.log(0.05 * (1 + alpha) / 2) / math.log(alpha) - 1)
        return {"expected": math.sqrt(0.5) / math.sinh(0.5 / tables), "margin": margin}
    from tightrope.tables import Job, error_law, plan

    sizes = {name: len(values) for name, values in VALUES.items()}
    sets = [names for size in (1, 2) for names in itertools.combinations(VALUES, size)]
    best = plan(Job.of(sizes, sets), 1)
    laws = [error_law(best, (names, (0,) * len(names))) for names in sets]
    margin = statistics.fmean(float(law.margin(0.95)) for law in laws)
    return {"expected": best.error, "margin": margin}


def expected_numbers(way: str) -> dict[str, float]:
    """Return the mean absolute error of the count, a cell and the sum by the law of the noise.

    Each has a quarter of ε = 1. Others add two-sided geometric noise; a person who comes or goes
    moves a count by 1 and the sum by at most 20. A median has no such law: its error depends on
    the data.
    """
    from benchmarks.floor_peers import Spread

    if way != "tightrope":
        one = Spread(4, is_whole=True).absolute
        return {"count": one, "table": one, "sum": Spread(80, is_whole=True).absolute}
    from benchmarks.jobs.tightrope_job import FACTS
    from tightrope.asking.planning import plan
    from tightrope.publish import parse_facts

    selects = {
        "count": "select count(*) from fair where affairs > 0",
        "table": "select religious, rate_marriage, count(*) from fair "
        "group by religious, rate_marriage",
        "sum": "select sum(educ) from fair",
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "ledger.db")
        for name, sql in selects.items():
            planned = plan(
                [sql], facts=parse_facts(FACTS), ledger=ledger, epsilon="1/4"
            )
            noise = planned.questions[0].parts[0].noises[-1].file.noise
            numbers = 20 if name == "table" else 1
            found[name] = float(noise.worst("absolute")) / numbers
    return found


def contradicted(tables: dict[str, list[float]]) -> int:
    """Return for how many classes of a column two tables state different numbers of people."""
    count = 0
    for name, values in VALUES.items():
        stated: list[set[float]] = [set() for _ in values]
        for by, cells in tables.items():
            names = by.split(",")
            if name not in names:
                continue
            sums = [0.0] * len(values)
            groups = itertools.product(*(range(len(VALUES[other])) for other in names))
            for group, cell in zip(groups, cells, strict=True):
                sums[group[names.index(name)]] += cell
            for place, total in enumerate(sums):
                # Sums of floats of one estimate differ in their last digits.
                stated[place].add(round(total, 6))
        count += sum(len(known) > 1 for known in stated)
    return count


def errors(answers: list[dict[str, Any]], true: dict[str, Any]) -> dict[str, float]:
    """Return the mean absolute error of each kind of number."""
    found = {}
    for name in QUESTIONS:
        if name in answers[0]:
            pairs = [(one[name], true[name]) for one in answers]
            if name == "table":
                pairs = [
                    pair
                    for told, held in pairs
                    for pair in zip(told, held, strict=True)
                ]
            found[name] = statistics.fmean(abs(told - held) for told, held in pairs)
    return found


def _work(way: str, home: str, kind: str, times: int) -> Work:
    folder = tempfile.TemporaryDirectory()
    table = Path(folder.name, "fair.csv")
    script = JOBS / f"{way}_{kind}.py"
    subprocess.run([home, "-m", "benchmarks.job", "--table", str(table)], check=True)

    def once() -> tuple[float, float]:
        before, start = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter(),
        )
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([sys.executable, "-W", "ignore", str(script), str(table)], check=True,
                           cwd=place, capture_output=True)  # fmt: skip
        after, wall = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter() - start,
        )
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall

    def facts(_: Any) -> dict[str, Any]:
        spec = importlib.util.spec_from_file_location("job", script)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ask = module.tables if kind == "tables" else module.answers
        told = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as place:
                os.chdir(place)
                told.append(ask(str(table)))
                os.chdir("/")
        code = [
            line.strip() for line in script.read_text(encoding="utf-8").splitlines()
        ]
        lines = sum(bool(line) and not line.startswith(("#", '"""')) for line in code)
        found: dict[str, Any] = {"lines": lines, "runs": times}
        if kind == "tables":
            found |= table_facts(way, told, true_tables(table))
            found["note"] = (
                f"root mean square error {found['expected']:.3g}; "
                f"{found['contradicted']} contradictions"
            )
        else:
            found["errors"] = errors(told, truth(table))
            found["expected"] = expected_numbers(way)
            found["note"] = ", ".join(
                f"{QUESTIONS[name]} ± {error:.3g}"
                for name, error in found["errors"].items()
            )
        folder.cleanup()
        return found

    return Work(once, facts, children=True, times=lambda seconds: [seconds])


def tightrope(home: str, kind: str = "job") -> Work:
    return _work("tightrope", home, kind, 40 if kind == "job" else 10)


def opendp(home: str, kind: str = "job") -> Work:
    return _work("opendp", home, kind, 20 if kind == "job" else 10)


def smartnoise(home: str, kind: str = "job") -> Work:
    return _work("smartnoise", home, kind, 40 if kind == "job" else 10)


def tumult(home: str, kind: str = "job") -> Work:
    return _work("tumult", home, kind, 3 if kind == "job" else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        write_table(Path(sys.argv[2]))
    else:
        main("benchmarks.job")
