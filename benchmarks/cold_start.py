"""How long a fresh process takes to import Tightrope and to print its help.

Prints the median of several fresh processes beside the limit, and a verdict. The exit status
is 1 when a limit is passed.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

PYTHON = sys.executable
COMMAND = Path(PYTHON).parent / "tightrope"

#: What a fresh process runs, and the limit in seconds for all of it, start and end included.
LIMITS = (
    ("import tightrope", [PYTHON, "-c", "import tightrope"], 0.3),
    ("tightrope --help", [str(COMMAND), "--help"], 0.5),
)


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9, help="fresh processes for each line")
    runs = parser.parse_args().runs

    within = True
    for what, command, limit in LIMITS:
        seconds(command)  # fills the file cache and compiles what is not yet compiled
        times = [seconds(command) for _ in range(runs)]
        median = statistics.median(times)
        within &= median < limit
        print(
            f"{what}   median {median:.3f} s   limit {limit} s   "
            f"(fastest {min(times):.3f}, slowest {max(times):.3f}, {runs} processes)"
        )
    print("verdict: within the limits" if within else "verdict: TOO SLOW")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
