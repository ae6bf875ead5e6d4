"""How long a fresh process takes to import Tightrope and to print its help.

python -m benchmarks.cold_start [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

HELP = "has no command line"


def _row(name: str, what: str, **ways: float | str) -> Row:
    return Row(name, what, {"task": name}, ways, quick=True)


ROWS = (
    _row("python", "an empty Python process, for scale", tightrope=30),
    _row("import", "`import` of the library in a fresh process",
         tightrope=30, opendp=30, qif=30, diffprivlib=30),
    _row("help", "`tightrope --help` in a fresh process",
         tightrope=30, opendp=HELP, qif=HELP, diffprivlib=HELP),
)  # fmt: skip

COMPARISON = Comparison(
    "cold_start",
    "Cold start",
    "Whole processes, start and end included, files in the system's cache. Libraries are imported "
    "as their documents say: `tightrope`, `opendp.prelude`, `qif`, `diffprivlib`.",
    ROWS,
    by="wall",
)


def _import(name: str) -> Work:
    return _whole([sys.executable, "-W", "ignore", "-c", f"import {name}" if name else ""])


def _whole(command: list[str]) -> Work:
    return Work(lambda: subprocess.run(command, check=True, capture_output=True), children=True)


def tightrope(task: str) -> Work:
    if task == "help":
        return _whole([str(Path(sys.executable).parent / "tightrope"), "--help"])
    return _import("tightrope" if task == "import" else "")


def opendp(task: str) -> Work:
    return _import("opendp.prelude")


def qif(task: str) -> Work:
    return _import("qif")


def diffprivlib(task: str) -> Work:
    return _import("diffprivlib")


if __name__ == "__main__":
    main("benchmarks.cold_start")
