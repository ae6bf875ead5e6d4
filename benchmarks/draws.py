"""Draws: one at a time and 100,000 at once, against OpenDP and diffprivlib, in one run.

    python benchmarks/draws.py [--peers PYTHON]

``--peers`` names a Python that has opendp and diffprivlib installed (a virtual environment of
its own); the present one is tried by default. A peer that cannot be used says "no". All draw
from the same question: a count of 100 people, ε = 1, true answer 50, answers kept in 0 … 100.
Peers have no call for many draws, so their 100,000 are as many single ones, timed on fewer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np

from tightrope.certify import certify, verify
from tightrope.channels import GeometricChannel
from tightrope.graphs import Band
from tightrope.release import Sampler
from tightrope.release.audit import spearman, time_draws

PEOPLE, EPSILON, TRUTH, BULK = 100, "1", 50, 100_000

OPENDP = """
import sys, time
import opendp.prelude as dp
dp.enable_features("contrib")
draw = dp.m.make_geometric(
    dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0, bounds=(0, 100)
)
"""
DIFFPRIVLIB = """
import sys, time, types
# Its models do not import with today's scikit-learn, and its mechanisms do not need them.
for name in ("models", "tools"):
    sys.modules["diffprivlib." + name] = types.ModuleType(name)
from diffprivlib.mechanisms import GeometricTruncated
draw = GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=100).randomise
"""
MEASURE = """
times, outputs = [], []
draw(50)
for _ in range(int(sys.argv[1])):
    start = time.perf_counter_ns()
    drawn = draw(50)
    times.append(time.perf_counter_ns() - start)
    outputs.append(drawn)
print(*times)
print(*outputs)
"""


def peer(python: str, code: str, draws: int) -> tuple[list[int], list[int]] | None:
    words = [python, "-W", "ignore", "-c", code + MEASURE, str(draws)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    times, outputs = done.stdout.splitlines()[-2:]
    return [int(x) for x in times.split()], [int(x) for x in outputs.split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    python = parser.parse_args().peers
    size = PEOPLE + 1
    made = certify(GeometricChannel(size, EPSILON), Band(size), EPSILON, query=f"count({PEOPLE})")
    print(f"verified: {'yes' if verify(made) else 'no'}")
    sampler = Sampler(made, TRUTH)
    outputs, times = time_draws(sampler, BULK)
    single = float(np.median(times)) / 1e9
    start = time.perf_counter()
    sampler.draw_indices(BULK)
    bulk = (time.perf_counter() - start) / BULK
    print(f"{'':14}{'one draw':>14}{'of 100,000':>14}{'single':>10}{'bulk':>10}  |ρ| output, noise")
    rho = abs(spearman(outputs, times)), abs(spearman(abs(outputs - TRUTH), times))
    print(
        f"{'tightrope':14}{single * 1e6:11.2f} µs{bulk * 1e6:11.4f} µs{'':20}"
        f"  {rho[0]:.4f}, {rho[1]:.4f}"
    )
    for name, code, draws in (("opendp", OPENDP, 5_000), ("diffprivlib", DIFFPRIVLIB, 50_000)):
        found = peer(python, code, draws)
        if found is None:
            print(f"{name:14}no")
            continue
        theirs = float(np.median(found[0])) / 1e9
        drawn, taken = np.array(found[1]), np.array(found[0])
        rho = abs(spearman(drawn, taken)), abs(spearman(abs(drawn - TRUTH), taken))
        print(
            f"{name:14}{theirs * 1e6:11.2f} µs{theirs * 1e6:11.2f} µs{theirs / single:9.0f}×"
            f"{theirs / bulk:9.0f}×  {rho[0]:.4f}, {rho[1]:.4f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
