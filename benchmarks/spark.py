"""Release through Spark, in local mode: what a release adds to Spark's own time, in one run.

    python benchmarks/spark.py [--rows 10000000] [--folder DIR] [--json]

DuckDB makes a Parquet file. One Spark session on all cores of this machine reads it. Each round
times Spark alone on the SQL that Tightrope builds, then a whole release of the same question:
verification of the mechanism, reading the SQL, three transactions of the ledger, the aggregate,
the draw, the receipt. One question needs a scan only; the other keeps one row for each person, for
which Spark sorts and moves the rows. The medians are compared, by the wall clock and by the
processor seconds of this process and of Spark's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psutil

import tightrope as tr
from tightrope.certify import certify
from tightrope.channels import GeometricChannel
from tightrope.publish import parse_facts
from tightrope.publish.sources import Spark
from tightrope.publish.sql_reader import read_shape
from tightrope.publish.sql_writer import compiled

POPULATION = 100_000
QUESTIONS = {
    "rows, by a scan": "select count(*) from people where age > 40 and region = 'north'",
    "people, by a sort": "select count(distinct id) from people where age > 40",
}
FACTS = f"""
[tables.people]
population = {POPULATION}
person = "id"
contributions = 1
neighbours = "add-remove"
budget = "400"

[tables.people.columns]
age = {{ bounds = [0, 90] }}
region = {{ values = ["north", "south", "west", "east"] }}
"""
#: The same table where everybody has one row: nothing has to be moved to count them.
ONE_ROW = FACTS.replace('person = "id"\ncontributions = 1\n', "")


def make(path: Path, rows: int) -> None:
    duckdb.execute(
        f"""COPY (
            SELECT (range // 2)::BIGINT AS id, (hash(range) % 90)::INTEGER AS age,
                   CASE hash(range + 1) % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'south'
                        WHEN 2 THEN 'west' ELSE 'east' END AS region
            FROM range({rows})
        ) TO '{path}' (FORMAT parquet)"""
    )


def session(folder: Path) -> Any:
    """Start Spark on this machine alone."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    started = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(4 * (os.cpu_count() or 1)))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(folder / "spark"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    started.sparkContext.setLogLevel("OFF")
    return started


def processor() -> float:
    """Return the processor seconds of this process and of those that it started."""
    own = psutil.Process()
    times = [one.cpu_times() for one in [own, *own.children(recursive=True)]]
    return sum(one.user + one.system for one in times)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), processor()
    work()
    return time.perf_counter() - wall, processor() - cpu


def measure(
    spark: Any, mechanism: Path, name: str, folder: Path, rounds: int
) -> dict[str, Any]:
    facts = parse_facts(FACTS if "people," in name else ONE_ROW)
    question = QUESTIONS[name]
    shape = read_shape(question, facts, "spark")
    there = Spark(spark, shape.table)
    there.connect()
    sql = compiled(shape, there, there.columns())
    ledger = folder / f"{'scan' if 'scan' in name else 'sort'}.db"

    def alone() -> object:
        return spark.sql(sql).collect()

    def release() -> object:
        return tr.release(
            mechanism, data=spark, sql=question, facts=facts, ledger=ledger
        )

    first = timed(release)[0]
    alone()
    pairs = [(timed(alone), timed(release)) for _ in range(rounds)]
    base, whole = (
        [statistics.median(one[way][unit] for one in pairs) for unit in (0, 1)]
        for way in (0, 1)
    )
    return {
        "question": name,
        "sql": sql,
        "spark_seconds": base[0],
        "release_seconds": whole[0],
        "extra_seconds": whole[0] - base[0],
        "ratio": whole[0] / base[0],
        "spark_cpu_seconds": base[1],
        "release_cpu_seconds": whole[1],
        "first_release_seconds": first,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        os.environ.setdefault("XDG_DATA_HOME", str(folder / "share"))
        data = folder / "people.parquet"
        make(data, given.rows)
        noise = GeometricChannel(POPULATION + 1, "ln(2)")
        question = f"count({POPULATION})"
        made = certify(noise, question, "ln(2)", neighbours="add-remove")
        mechanism = made.save(folder / "count.tightrope")
        start = time.perf_counter()
        spark = session(folder)
        spark.read.parquet(str(data)).createOrReplaceTempView("people")
        started = time.perf_counter() - start
        try:
            rows = [
                measure(spark, mechanism, name, folder, given.rounds)
                for name in QUESTIONS
            ]
        finally:
            spark.stop()
        result = {
            "rows": given.rows,
            "bytes": data.stat().st_size,
            "cores": os.cpu_count(),
            "session_seconds": started,
            "questions": rows,
        }
    if given.json:
        print(json.dumps(result))
    else:
        show(result)


def show(result: dict[str, Any]) -> None:
    size = result["bytes"] / 2**20
    print(f"{result['rows']:,} rows, {size:.0f} MiB, Spark on {result['cores']} cores")
    print(f"Spark started in {result['session_seconds']:.1f} s")
    print(
        f"{'question':<18} {'Spark s':>8} {'release s':>10} {'ratio':>6} {'extra s':>8} "
        f"{'Spark cpu':>10} {'release cpu':>12}"
    )
    for row in result["questions"]:
        print(
            f"{row['question']:<18} {row['spark_seconds']:>8.3f} {row['release_seconds']:>10.3f} "
            f"{row['ratio']:>6.2f} {row['extra_seconds']:>8.3f} {row['spark_cpu_seconds']:>10.2f} "
            f"{row['release_cpu_seconds']:>12.2f}"
        )


if __name__ == "__main__":
    main()
