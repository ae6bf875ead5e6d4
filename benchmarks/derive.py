"""Derivability with a checked remap or witness: against qif where it is at hand.

    python benchmarks/derive.py [--qif PYTHON] [--limit SECONDS]

``--qif`` names a Python that has qif installed (a virtual environment of its own); without it,
or when it cannot be used, its column says "no". A peer that takes longer than the limit is
stopped and counted with the limit, so its ratio is a lower bound. Ours decide in integers and
check what they return; the peer gets the same matrices as floats. The exit status is 1 when one
of ours is wrong or takes longer than 10 s.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from tightrope.channels import (
    GeometricChannel,
    IntegerChannel,
    cascade,
    derivable,
    rational,
)
from tightrope.channels.base import Channel

#: Seconds within which one of ours must be decided.
LIMIT = 10.0

PEER = """
import sys, time
import numpy as np
from qif import refinement
x, y = np.load(sys.argv[1]), np.load(sys.argv[2])
start = time.perf_counter()
found = refinement.refined_by_witness(y, x)
print("seconds", time.perf_counter() - start, "value", bool(found[0]))
"""


def random_channel(rng: np.random.Generator, rows: int, columns: int) -> IntegerChannel:
    total = 10_000
    return IntegerChannel(
        [rng.multinomial(total - columns, rng.dirichlet(np.ones(columns))) + 1 for _ in range(rows)]
    )


def sharper(channel: IntegerChannel, t: Fraction) -> IntegerChannel:
    """Move every row away from the mean row: derivable for t ≤ 0, not for t > 0."""
    rows, columns = channel.shape
    mean = [
        Fraction(int(channel.weights[:, o].sum()), rows * channel.total) for o in range(columns)
    ]
    cells = range(columns)
    return rational(
        [[channel.fraction(i, o) * (1 + t) - t * mean[o] for o in cells] for i in range(rows)]
    )


def cases(rng: np.random.Generator) -> list[tuple[str, Channel, Channel, bool]]:
    square, wide = random_channel(rng, 60, 60), random_channel(rng, 60, 120)
    joined = np.zeros((120, 60), dtype=int)
    joined[np.arange(120), rng.integers(0, 60, 120)] = 1
    made = cascade(square, random_channel(rng, 60, 60))
    small = random_channel(rng, 5, 5)
    listed: list[tuple[str, Channel, Channel, bool]] = [
        ("60×60 from 60×60, yes", made, square, True),
        ("60×60 from 60×60, no", square, made, False),
        ("60×60 from 60×120, yes", cascade(wide, random_channel(rng, 120, 60)), wide, True),
        ("60×60 from 60×120, outputs joined", cascade(wide, IntegerChannel(joined)), wide, True),
        ("60×60 from 60×120, no", random_channel(rng, 60, 60), wide, False),
        ("60×120 from 60×60, yes", cascade(square, random_channel(rng, 60, 120)), square, True),
        ("geometric(1/2) from geometric(1), n = 60", GeometricChannel(60, "1/2"),
         GeometricChannel(60, 1), True),
        ("geometric(1) from geometric(1/2), n = 60", GeometricChannel(60, 1),
         GeometricChannel(60, "1/2"), False),
    ]  # fmt: skip
    for power in (3, 6, 9, 12):
        step = Fraction(1, 10**power)
        listed.append((f"5×5, 1e-{power} inside", sharper(small, -step), small, True))
        listed.append((f"5×5, 1e-{power} outside", sharper(small, step), small, False))
    return listed


def peer(python: str | None, x: Channel, y: Channel, limit: float) -> tuple[float | None, str]:
    if python is None:
        return None, "no"
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "x.npy"), Path(folder, "y.npy")]
        for path, channel in zip(paths, (x, y), strict=True):
            np.save(path, channel.matrix())
        try:
            done = subprocess.run(
                [python, "-c", PEER, *map(str, paths)],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return limit, f"over {limit:g} s"
        except OSError:
            return None, "no"
    words = done.stdout.split()
    if done.returncode or "seconds" not in words:
        return None, f"no ({(done.stderr.strip().splitlines() or ['?'])[-1][:50]})"
    return float(words[1]), words[3]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qif")
    parser.add_argument("--limit", type=float, default=200)
    arguments = parser.parse_args()
    good, wrong_peer = True, 0
    for what, x, y, wanted in cases(np.random.default_rng(1)):
        start = time.perf_counter()
        found = derivable(x, y)
        ours = time.perf_counter() - start
        right = found.derivable == wanted and ours < LIMIT
        good &= right
        theirs, answer = peer(arguments.qif, x, y, arguments.limit)
        wrong_peer += answer in ("True", "False") and answer != str(wanted)
        ratio = "" if theirs is None else f"ratio {theirs / ours:8.2f}"
        shown = answer if theirs is None else f"{theirs:8.3f} s {answer}"
        exact = "exact" if found.exact else "floats"
        print(
            f"{what:<44} {ours:7.3f} s {found.derivable!s:<5} {exact:<6} "
            f"{'right' if right else 'WRONG'}   qif {shown}   {ratio}",
            flush=True,
        )
    print(f"verdict: {'all right and within the limit' if good else 'NOT GOOD'}; "
          f"qif wrong {wrong_peer} times")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
