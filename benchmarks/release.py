"""Release from a large Parquet file: what a release adds to DuckDB's own time.

    python -m benchmarks.release [--quick] [--row NAME]

DuckDB makes the file. Each round times DuckDB alone on the same SQL, then a whole release:
verification of the mechanism, reading the SQL, three transactions of the ledger, the count, the
draw, the receipt. The count is held to the declared population, 100,000: a mechanism lists its
answers, and a hundred million of them do not fit into memory.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.child import Work, bound, timed
from benchmarks.harness import Comparison, Row, main

POPULATION, ROUNDS, LIMIT = 100_000, 5, 600
QUESTION = (
    "select count(*) from people where age > 40 and region = 'north' and score < 12"
)
NO = {
    "opendp": "gets the true answer from its caller; reads no table by SQL and keeps no ledger",
    "diffprivlib": "gets the data as an array; its budget lives in memory",
}

ROWS = tuple(
    Row(f"rows-{rows}", f"count with three conditions, {rows:,} rows of Parquet", {"rows": rows},
        {"tightrope": LIMIT, **NO}, series="release, DuckDB and Parquet", size=rows,
        quick=rows <= 10**6)
    for rows in (10**6, 10**7, 10**8)
)  # fmt: skip

COMPARISON = Comparison(
    "release",
    "Release",
    "A whole release from a Parquet file through DuckDB, in a process that has released before: "
    "verification, SQL, ledger, count, draw and receipt. *Added* is what remains after DuckDB's "
    "own time for the same count, the least of five rounds each.",
    ROWS,
    by="wall",
    unit="rows",
)


def _make(path: Path, rows: int) -> None:
    import duckdb

    duckdb.execute(
        f"""COPY (
            SELECT (hash(range) % 90)::INTEGER AS age,
                   CASE hash(range + 1) % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'south'
                        WHEN 2 THEN 'west' ELSE 'east' END AS region,
                   (hash(range + 2) % 1000)::INTEGER AS score
            FROM range({rows})
        ) TO '{path}' (FORMAT parquet)"""
    )


def tightrope(rows: int) -> Work:
    import duckdb

    import tightrope as tr
    from tightrope.certify import certify
    from tightrope.channels import GeometricChannel
    from tightrope.publish import Column

    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    folder = Path(kept.name)
    data = folder / "people.parquet"
    _make(data, rows)
    noise = GeometricChannel(POPULATION + 1, "ln(2)")
    # Under add-remove the population is a limit; under change-one the rows must be so many.
    question = tr.query(f"count({POPULATION})", neighbours="add-remove")
    made = certify(noise, question, "ln(2)")
    file = made.save(folder / "count.tightrope")
    columns = {name: Column(name, kind) for name, kind in
               (("age", "integer"), ("region", "text"), ("score", "integer"))}  # fmt: skip

    def alone() -> object:
        return (
            duckdb.connect().execute(QUESTION.replace("people", f"'{data}'")).fetchall()
        )

    def release() -> object:
        return tr.release(file, data=data, sql=QUESTION, ledger=folder / "ledger.db",
                          budget="100*ln(2)", columns=columns)  # fmt: skip

    def one(work: Callable[[], object]) -> tuple[float, float]:
        return timed(work, lambda: bound(LIMIT))[0]

    # The first of each loads libraries, and the file into the system's cache.
    first = one(release)[1]
    alone()

    def facts(pairs: Any) -> dict[str, Any]:
        # The least of each: other work on the machine only ever adds.
        base, whole = (min(pair[k][1] for pair in pairs) for k in (0, 1))
        return {
            "duckdb_seconds": base,
            "added_seconds": whole - base,
            "ratio": whole / base,
            "first_seconds": first,
            "note": f"DuckDB alone {base:.3f} s, added {whole - base:.3f} s, "
            f"first release of a process {first:.2f} s",
        }

    return Work(
        lambda: [(one(alone), one(release)) for _ in range(ROUNDS)],
        facts,
        times=lambda pairs: [whole for _, whole in pairs],
    )


if __name__ == "__main__":
    main("benchmarks.release")
