"""Past one machine: a study on Dask workers that is killed and resumed, and releases by Spark.

    python -m benchmarks.cluster [--quick] [--row NAME]

The measurements are made by sweep.py and spark.py, which can be run for themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

HERE = Path(__file__).resolve().parent
NO = {
    "qif": "no studies, no tables",
    "opendp": "no studies; tables come from its caller",
}

ROWS = (
    Row("sweep-2000", "2,000 designs: one worker, two workers, killed twice and resumed",
        {"script": "sweep", "options": ["--designs", "2000"]}, {"tightrope": 600, **NO}, once=True),
    Row("spark-10000000", "counts of rows and of people, 10,000,000 rows, Spark in local mode",
        {"script": "spark", "options": ["--rows", "10000000", "--rounds", "5"]},
        {"tightrope": 600, **NO}, once=True),
    Row("spark-100000", "counts of rows and of people, 100,000 rows, Spark in local mode",
        {"script": "spark", "options": ["--rows", "100000", "--rounds", "3"]},
        {"tightrope": 600, **NO}, quick=True, once=True),
)  # fmt: skip

COMPARISON = Comparison(
    "cluster",
    "Past one machine",
    "A study of designs on local Dask workers, the time being that of two workers; and releases "
    "through Spark in local mode, the time being that of the count of rows.",
    ROWS,
    by="wall",
    unit="rows",
)


def tightrope(script: str, options: list[str]) -> Work:
    command = [sys.executable, str(HERE / f"{script}.py"), *options, "--json"]

    def call() -> dict[str, Any]:
        called = subprocess.run(command, capture_output=True, text=True, check=False)
        if called.returncode:
            last = (called.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(f"{script}.py: {last}")
        found: dict[str, Any] = json.loads(called.stdout.strip().splitlines()[-1])
        return found

    return _sweep(call) if script == "sweep" else _spark(call)


def _sweep(call: Any) -> Work:
    def facts(found: dict[str, Any]) -> dict[str, Any]:
        one, two = (found[key]["designs_per_second"] for key in ("one", "two"))
        same = "the same bytes" if found["same_bytes"] else "OTHER BYTES"
        return {
            "designs": found["designs"],
            "speedup": found["speedup"],
            "speedup_cpu": found["speedup_cpu"],
            "same_bytes": found["same_bytes"],
            "killed_at_chunks": found["killed_at_chunks"],
            "note": f"{found['designs']:,} designs; {one:.0f} designs a second with one worker, "
            f"{two:.0f} with two, {found['speedup']:.2f} times; killed twice and resumed: {same}",
        }

    def times(found: dict[str, Any]) -> list[tuple[float, float]]:
        two = found["two"]
        return [
            (sum(two["worker_cpu_seconds"]) + two["driver_cpu_seconds"], two["seconds"])
        ]

    return Work(call, facts, children=True, times=times)


def _spark(call: Any) -> Work:
    def facts(found: dict[str, Any]) -> dict[str, Any]:
        said = "; ".join(
            f"{one['question']}: Spark alone {one['spark_seconds']:.2f} s, "
            f"added {one['extra_seconds']:.2f} s"
            for one in found["questions"]
        )
        return {
            "added_seconds": max(one["extra_seconds"] for one in found["questions"]),
            "ratio": max(one["ratio"] for one in found["questions"]),
            "note": said,
        }

    def times(found: dict[str, Any]) -> list[tuple[float, float]]:
        first = found["questions"][0]
        return [(first["release_cpu_seconds"], first["release_seconds"])]

    return Work(call, facts, children=True, times=times)


if __name__ == "__main__":
    main("benchmarks.cluster")
