"""Leakage of dense channels: against one NumPy expression, and against qif where it is at hand.

    python benchmarks/leakage.py [--qif PYTHON] [--limit SECONDS]

``--qif`` names a Python that has qif installed (a virtual environment of its own); without it,
or when it cannot be used, its column says "no". A peer that takes longer than the limit is
stopped and counted with the limit, so its ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tightrope.channels import Channel
from tightrope.channels.privacy import smallest_epsilon
from tightrope.graphs import Band
from tightrope.leakage import (
    min_entropy_leakage,
    posterior_g_vulnerability,
    posterior_vulnerability,
    shannon_capacity,
)

PEER = """
import sys, time
import numpy as np
from qif import measure
task, path = sys.argv[1], sys.argv[2]
X = np.load(path)
n = X.shape[0]
pi = np.full(n, 1 / n)
start = time.perf_counter()
if task == "min-entropy":
    value = np.log2(measure.bayes_vuln.mult_leakage(pi, X))
elif task == "g-leakage":
    G = np.load(path + ".gain.npy")
    value = measure.g_vuln.posterior(G.T, pi, X)
elif task == "epsilon":
    value = measure.d_privacy.smallest_epsilon(X, lambda i, j: abs(int(i) - int(j)))
elif task == "capacity":
    value = measure.shannon.add_capacity(X)[0]
print("seconds", time.perf_counter() - start, "value", float(value))
"""


def best_of(call: Callable[[], float], repeats: int) -> tuple[float, float]:
    """Return the shortest time of several calls, and what the last one gave."""
    times, value = [], 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return min(times), value


def race(
    ours: Callable[[], float], other: Callable[[], float], repeats: int
) -> tuple[float, float]:
    """Return both shortest times, the two called in turn so that a busy machine slows both."""
    times: list[tuple[float, float]] = []
    for _ in range(repeats):
        mine, a = best_of(ours, 1)
        theirs, b = best_of(other, 1)
        assert abs(a - b) < 1e-9, (a, b)
        times.append((mine, theirs))
    return min(t[0] for t in times), min(t[1] for t in times)


def peer(python: str | None, task: str, path: Path, limit: float) -> tuple[float | None, str]:
    """Time qif in its own interpreter, without its start."""
    if python is None:
        return None, "no"
    try:
        done = subprocess.run(
            [python, "-c", PEER, task, str(path)],
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
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        return None, f"no ({last[:60]})"
    return float(words[words.index("seconds") + 1]), f"value {words[words.index('value') + 1]}"


def line(what: str, ours: float, other: str, theirs: float | None, note: str = "") -> None:
    ratio = "" if theirs is None else f"ratio {theirs / ours:10.1f}"
    shown = "no" if theirs is None else f"{theirs:10.5f} s"
    print(f"{what:<44} {ours:10.5f} s   {other} {shown}   {ratio}   {note}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--qif")
    parser.add_argument("--limit", type=float, default=120)
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        one_pass(rng, Path(folder), arguments.qif, arguments.limit)
        path_epsilon(Path(folder), arguments.qif, arguments.limit)
        capacity(rng, Path(folder), arguments.qif, arguments.limit)


def one_pass(rng: np.random.Generator, folder: Path, qif: str | None, limit: float) -> None:
    n = 1000
    matrix = rng.dirichlet(np.ones(n), size=n)
    gain = rng.random((n, n))
    prior = rng.dirichlet(np.ones(n))
    path = folder / "dense.npy"
    np.save(path, matrix)
    np.save(f"{path}.gain.npy", gain)
    channel, uniform = Channel(matrix), np.full(n, 1 / n)

    ours, numpy = race(
        lambda: min_entropy_leakage(channel),
        lambda: float(np.log2(matrix.max(axis=0).sum())),
        40,
    )
    line("min-entropy leakage 1000×1000, uniform", ours, "NumPy", numpy)
    line("", ours, "qif  ", *peer(qif, "min-entropy", path, limit))

    ours, numpy = race(
        lambda: posterior_vulnerability(channel, prior),
        lambda: float((matrix * prior[:, None]).max(axis=0).sum()),
        40,
    )
    line("posterior vulnerability 1000×1000, any prior", ours, "NumPy", numpy)

    ours, numpy = race(
        lambda: posterior_g_vulnerability(channel, gain),
        lambda: float(((gain.T * uniform) @ matrix).max(axis=0).sum()),
        10,
    )
    line("posterior g-vulnerability 1000×1000×1000", ours, "NumPy", numpy)
    line("", ours, "qif  ", *peer(qif, "g-leakage", path, limit))


def path_epsilon(folder: Path, qif: str | None, limit: float) -> None:
    n = 1000
    alpha = np.exp(-0.1)
    matrix = alpha ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    scale = np.full(n, (1 - alpha) / (1 + alpha))
    scale[[0, -1]] = 1 / (1 + alpha)
    matrix = matrix * scale
    path = folder / "path.npy"
    np.save(path, matrix)
    channel, graph = Channel(matrix), Band(n)
    ours, value = best_of(lambda: float(smallest_epsilon(channel, graph)), 5)
    print(f"{'':44} smallest ε found: {value:.12g}")
    line("smallest ε 1000×1000 on a path", ours, "qif  ", *peer(qif, "epsilon", path, limit))


def capacity(rng: np.random.Generator, folder: Path, qif: str | None, limit: float) -> None:
    n = 200
    matrix = rng.dirichlet(np.ones(n), size=n)
    path = folder / "capacity.npy"
    np.save(path, matrix)
    channel = Channel(matrix)
    ours, value = best_of(lambda: shannon_capacity(channel).bits, 8)
    found = shannon_capacity(channel)
    print(f"{'':44} capacity {value:.12g} bits, certified gap {found.gap:.1e}")
    line("Shannon capacity 200×200", ours, "qif  ", *peer(qif, "capacity", path, limit))


if __name__ == "__main__":
    sys.exit(main())
