"""How long a fresh process takes to import Tightrope, to print its help, and to design.

python -m benchmarks.cold_start [--quick] [--alone] [--row NAME]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.child import Work
from benchmarks.harness import Comparison, Row, main

NO_COMMAND = "has no command line"
#: A small question that no theorem answers: the engine is loaded for it.
DESIGN = ["design", "sum(5,2)", "--epsilon", "1", "--prior", "binomial(.3)"]


def _row(name: str, what: str, **ways: float | str) -> Row:
    return Row(name, what, {"task": name}, ways, quick=True)


ROWS = (
    _row("python", "an empty Python process, for scale", tightrope=30),
    _row("import", "`import` of the library in a fresh process",
         tightrope=30, opendp=30, qif=30, diffprivlib=30),
    _row("help", "`tightrope --help` in a fresh process",
         tightrope=30, opendp=NO_COMMAND, qif=NO_COMMAND, diffprivlib=NO_COMMAND),
    _row("design", "`tightrope design` of 11 answers in a fresh process",
         tightrope=30, opendp=NO_COMMAND, qif=NO_COMMAND, diffprivlib=NO_COMMAND),
)  # fmt: skip

COMPARISON = Comparison(
    "cold_start",
    "Cold start",
    "Whole processes, start and end included, files in the system's cache. Libraries are imported "
    "as their documents say: `tightrope`, `opendp.prelude`, `qif`, `diffprivlib`.",
    ROWS,
    by="wall",
)


#: Prints the peak memory of a process in MiB: a parent does not see less than its own.
PEAK = """
from pathlib import Path
status = Path("/proc/self/status").read_text().split()
print("\\n", int(status[status.index("VmHWM:") + 1]) / 1024)
"""


def _fresh(code: str, command: list[str] | None = None) -> Work:
    """Time a command, by default Python with some code; the code shows the memory."""
    python = [sys.executable, "-W", "ignore", "-c"]

    def run(words: list[str]) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    return Work(
        lambda: run(command or [*python, code]),
        children=True,
        memory=lambda: float(run([*python, code + PEAK]).split()[-1]),
    )


def tightrope(task: str) -> Work:
    if task in ("help", "design"):
        words = ["--help"] if task == "help" else DESIGN
        command = [str(Path(sys.executable).parent / "tightrope"), *words]
        return _fresh(f"from tightrope.cli import main\nmain({words})", command)
    return _fresh("import tightrope" if task == "import" else "")


def opendp(task: str) -> Work:
    return _fresh("import opendp.prelude")


def qif(task: str) -> Work:
    return _fresh("import qif")


def diffprivlib(task: str) -> Work:
    return _fresh("import diffprivlib")


if __name__ == "__main__":
    main("benchmarks.cold_start")
