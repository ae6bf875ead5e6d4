"""Release from a large Parquet file: what a release adds to DuckDB's own time, in one run.

    python benchmarks/release.py [--rows 100000000] [--folder DIR]

DuckDB makes the file. Each round times DuckDB alone on the SQL that Tightrope builds, then a
whole release of the same question: verification of the mechanism, reading the SQL, three
transactions of the ledger, the count, the draw, the receipt. The best of each are compared.

The count is held to the declared population, 100,000: a mechanism lists its answers, and a
hundred million of them do not fit into memory.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import tightrope as tr
from tightrope.certify import certify, write
from tightrope.channels import GeometricChannel
from tightrope.graphs import Band
from tightrope.release import Column

POPULATION = 100_000
LIMIT = 0.3
QUESTION = "select count(*) from people where age > 40 and region = 'north' and score < 12"
COLUMNS = {
    "age": Column("age", "integer"),
    "region": Column("region", "text"),
    "score": Column("score", "integer"),
}


def make(path: Path, rows: int) -> None:
    duckdb.execute(
        f"""COPY (
            SELECT (hash(range) % 90)::INTEGER AS age,
                   CASE hash(range + 1) % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'south'
                        WHEN 2 THEN 'west' ELSE 'east' END AS region,
                   (hash(range + 2) % 1000)::INTEGER AS score
            FROM range({rows})
        ) TO '{path}' (FORMAT parquet)"""
    )


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        data = folder / "people.parquet"
        print(f"making {given.rows:,} rows")
        make(data, given.rows)
        noise = GeometricChannel(POPULATION + 1, "ln(2)")
        made = certify(noise, Band(POPULATION + 1), "ln(2)", query=f"count({POPULATION})")
        file = write(made, folder / "count.tightrope")
        alone_sql = QUESTION.replace("people", f"'{data}'")

        def alone() -> object:
            return duckdb.connect().execute(alone_sql).fetchall()

        def release() -> object:
            return tr.release(
                file,
                data=data,
                sql=QUESTION,
                ledger=folder / "ledger.db",
                budget="100*ln(2)",
                columns=COLUMNS,
            )

        # The first call loads libraries, and the file into the system's cache.
        first = timed(release)
        alone()
        pairs = [(timed(alone), timed(release)) for _ in range(given.rounds)]
        # The least of each: other work on the machine only ever adds.
        base, whole = (min(column) for column in zip(*pairs, strict=True))
        extra = whole - base
        print(
            f"{'rows':>12} {'MiB':>6} {'DuckDB s':>9} {'release s':>10} {'ratio':>6} {'extra s':>8}"
        )
        print(
            f"{given.rows:>12,} {data.stat().st_size / 2**20:>6.0f} {base:>9.3f} {whole:>10.3f} "
            f"{whole / base:>6.2f} {extra:>8.3f}"
        )
        print(f"first release in a new process, libraries loaded on the way: {first:.2f} s")
        print(f"limit: {LIMIT} s more than DuckDB: {'kept' if extra < LIMIT else 'BROKEN'}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
