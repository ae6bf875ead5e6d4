"""Rows, comparisons and results: each measurement in its own process, with a limit.

A comparison is a module with a constant ``COMPARISON`` and one function for each way to do the
work: ``tightrope`` and the peers by name. A function takes the arguments of a row, prepares, and
returns a `benchmarks.child.Work`. Modules import libraries inside these functions only: they are
read by the process that runs the table, which stays small, and by the peers' Python.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine, peers, show
from benchmarks.child import WARMING

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
OURS = "tightrope"
#: The wall clock may run this many times the limit before a process is ended.
PATIENCE = 3
#: Seconds that a process may take before its work begins.
START = 120
#: Work that is warmed up but too long for several calls is repeated in this many processes.
PROCESSES = 3
#: One thread for linear algebra, for everyone: processor seconds then mean the same for all.
THREADS = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "1",
)


@dataclass(frozen=True)
class Row:
    """One problem, and who is asked to solve it.

    Parameters
    ----------
    name
        Short and unique in its comparison.
    what
        The problem in words.
    arguments
        Given to each way.
    ways
        For each way its limit in processor seconds, or the reason why it cannot do it.
    series, size
        The curve to which the row belongs and where it stands on it.
    quick
        Small enough for a look: run with ``--quick``.
    once
        Never repeated in other processes, however short.
    """

    name: str
    what: str
    arguments: Mapping[str, Any]
    ways: Mapping[str, float | str]
    series: str = ""
    size: int = 0
    quick: bool = False
    once: bool = False


@dataclass(frozen=True)
class Comparison:
    """Rows of one kind, with a title and a text for the page.

    ``by`` says which seconds are compared: ``cpu``, so that other work on the machine does not
    count, or ``wall``, where waiting is part of the work. ``unit`` is what a size counts.
    """

    name: str
    title: str
    text: str
    rows: tuple[Row, ...]
    by: str = "cpu"
    unit: str = "answers"


@dataclass(frozen=True)
class Result:
    """What came of one way on one row.

    ``status`` is ``ok``; ``over`` when the limit was reached, and all that is known is a lower
    bound; or ``no``, with the reason.
    """

    status: str
    cpu: tuple[float, ...] = ()
    wall: tuple[float, ...] = ()
    memory_mib: float | None = None
    limit: float | None = None
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Result:
        """Return the result that JSON holds."""
        times = {key: tuple(found.get(key, ())) for key in ("cpu", "wall")}
        return cls(**{**found, **times})

    def times(self, by: str) -> show.Times:
        """Return the seconds that are compared."""
        if self.status == "over":
            return show.Times((self.limit or 0.0,), over=True)
        return show.Times(self.cpu if by == "cpu" else self.wall)

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON holds: only what is known."""
        return {
            key: value
            for key, value in asdict(self).items()
            if value not in ((), None, "", {})
        }


def run_way(module: str, way: str, row: Row, limit: float) -> Result:
    """Measure one way on one row: in one process, or in several when it is short."""
    arguments = row.arguments
    python = sys.executable if way in peers.AT_HOME else str(peers.python_of(way))
    first = _process(python, module, way, arguments, limit)
    found = [first]
    total = sum(first.wall)
    # Many short calls in one process already show their spread.
    if (
        first.status == "ok"
        and len(first.wall) == 1
        and total < WARMING
        and not row.once
    ):
        found += [
            _process(python, module, way, arguments, limit)
            for _ in range(PROCESSES - 1)
        ]
    good = [one for one in found if one.status == "ok"]
    if len(good) < len(found):
        return next(one for one in found if one.status != "ok")
    return Result(
        "ok",
        cpu=tuple(seconds for one in good for seconds in one.cpu),
        wall=tuple(seconds for one in good for seconds in one.wall),
        memory_mib=max(one.memory_mib or 0.0 for one in good),
        facts=first.facts,
    )


def _process(
    python: str, module: str, way: str, arguments: Mapping[str, Any], limit: float
) -> Result:
    words = [python, "-W", "ignore", "-m", "benchmarks.child", module, way,
             json.dumps(arguments), str(limit)]  # fmt: skip
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env={**os.environ, **THREADS},
                stdout=out,
                stderr=errors,
            )
        except OSError as failed:
            return Result("no", why=str(failed.strerror))
        watch = threading.Timer(PATIENCE * limit + START, process.kill)
        watch.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            process.kill()
            raise
        finally:
            watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        return read_result(
            process.returncode, out.read(), errors.read(), limit, used.ru_maxrss / 1024
        )


def read_result(
    status: int, out: str, errors: str, limit: float, memory: float
) -> Result:
    """Return what a process says: its last line, or the reason why there is none."""
    lines = out.strip().splitlines()
    if status == 0 and lines:
        return Result.read({"status": "ok", **json.loads(lines[-1])})
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return Result("over", memory_mib=memory, limit=limit)
    last = (errors.strip().splitlines() or [f"ended with status {status}"])[-1]
    return Result("no", why=show.without_places(last)[:160])


def run_comparison(
    comparison: Comparison,
    module: str,
    *,
    quick: bool = False,
    rows: tuple[str, ...] = (),
    alone: bool = False,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run a comparison and return what its JSON file holds."""
    chosen = [row for row in comparison.rows if row.quick or not quick]
    if rows:
        chosen = [row for row in comparison.rows if row.name in rows]
    asked = {way for row in chosen for way in row.ways}
    missing = {} if alone else peers.missing(asked)
    found = []
    say(f"\n{comparison.title}")
    for number, row in enumerate(chosen, start=1):
        say(f"[{number}/{len(chosen)}] {row.name}: {row.what}")
        results: dict[str, Result] = {}
        for way, limit in row.ways.items():
            if alone and way != OURS:
                continue
            results[way] = (
                Result("no", why=limit)
                if isinstance(limit, str)
                else Result("no", why=missing[way])
                if way in missing
                else run_way(module, way, row, limit)
            )
            say(show.line(way, results[way], results.get(OURS), comparison.by))
        found.append(
            {
                "name": row.name,
                "what": row.what,
                **({"series": row.series, "size": row.size} if row.series else {}),
                "results": {way: result.as_dict() for way, result in results.items()},
            }
        )
    return {
        "comparison": comparison.name,
        "title": comparison.title,
        "text": comparison.text,
        "by": comparison.by,
        "unit": comparison.unit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine.describe(),
        "versions": {**machine.versions(), **peers.versions(asked)},
        "rows": found,
    }


def write_results(found: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write the JSON file of a comparison."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['comparison']}.json"
    path.write_text(
        json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    return path


def read_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return what the JSON files hold, by comparison."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def options(description: str) -> argparse.ArgumentParser:
    """Return the options that the whole table and each comparison share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; nothing is written"
    )
    parser.add_argument(
        "--alone", action="store_true", help="without the peers; nothing is written"
    )
    parser.add_argument(
        "--out", type=Path, help="write the JSON files into this folder"
    )
    return parser


def main(module: str) -> None:
    """Run one comparison: what `python -m benchmarks.NAME` does."""
    comparison: Comparison = importlib.import_module(module).COMPARISON
    parser = options(comparison.title)
    parser.add_argument(
        "--row", action="append", default=[], help="this row only; may be repeated"
    )
    asked = parser.parse_args()
    known = [row.name for row in comparison.rows]
    unknown = [name for name in asked.row if name not in known]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; there are: {', '.join(known)}")
    if not asked.alone:
        peers.install()
    found = run_comparison(
        comparison, module, quick=asked.quick, rows=tuple(asked.row), alone=asked.alone
    )
    if asked.out:
        write_results(found, asked.out)
