"""How long Φz = 1 takes, by structure, against a dense solve and against qif where it installs.

The second part grows sums and bundles of counts to a million answers, each in a fresh process
that reports its largest memory. `--qif PYTHON` names an interpreter that has qif; without it, or
when it fails, its column says "no".
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from tightrope.graphs import AnswerGraph, Band, StrongProduct
from tightrope.phi import Phi

CASES = (("sum(150,5)", Band(751, 5), 1.0), ("counts(30,2)", StrongProduct([Band(31)] * 2), 1.2))
SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: The largest memory of a process that solves for a million answers, in MiB.
MEMORY_LIMIT = 1024

PEER = """
import sys, time, qif
kind, epsilon = sys.argv[1], float(sys.argv[2])
if kind == "sum(150,5)":
    n, far = 751, lambda i, j: epsilon * -(-abs(int(i) - int(j)) // 5)
else:
    def far(i, j):
        (a, b), (c, d) = divmod(int(i), 31), divmod(int(j), 31)
        return epsilon * max(abs(a - c), abs(b - d))
    n = 961
start = time.perf_counter()
channel = qif.mechanism.d_privacy.tight_constraints(n, far)
print(time.perf_counter() - start, channel.diagonal().mean())
"""

GROWTH = """
import sys, time
from benchmarks_phi import graph_of
from tightrope.phi import Phi
graph = graph_of(sys.argv[1], int(sys.argv[2]))
Phi(graph_of(sys.argv[1], 100), float(sys.argv[3]) + 0.1).solve_ones()   # loads the solvers
start = time.perf_counter()
found = Phi(graph, float(sys.argv[3])).solve_ones()
seconds = time.perf_counter() - start
lines = open("/proc/self/status").read().splitlines()
memory = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
print(graph.size, seconds, memory, found.residual, found.error, found.positive)
"""


def graph_of(kind: str, answers: int) -> AnswerGraph:
    if kind == "sum":
        return Band(answers, 5)
    side = round(answers**0.5)
    return StrongProduct([Band(side), Band(side)])


def best_of(runs: int, work) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def dense(graph: AnswerGraph, epsilon: float) -> float:
    phi = np.exp(-epsilon * graph.distance_matrix())
    return float(np.linalg.solve(phi, np.ones(graph.size)).mean())


def peer(python: str | None, name: str, epsilon: float) -> tuple[str, str]:
    if python is None:
        return "no", ""
    call = subprocess.run(
        [python, "-c", PEER, name, str(epsilon)], capture_output=True, text=True, check=False
    )
    if call.returncode:
        return "no", call.stderr.strip().splitlines()[-1][:60] if call.stderr else ""
    seconds, utility = map(float, call.stdout.split())
    return f"{seconds:.3f} s", f"{utility:.6f}"


def growth(kind: str, answers: int, epsilon: float) -> dict[str, object]:
    script = GROWTH.replace("from benchmarks_phi import graph_of", _source_of_graphs())
    call = subprocess.run(
        [sys.executable, "-c", script, kind, str(answers), str(epsilon)],
        capture_output=True,
        text=True,
        check=True,
    )
    size, seconds, memory, residual, error, positive = call.stdout.split()
    return {
        "kind": kind,
        "answers": int(size),
        "seconds": float(seconds),
        "memory_mib": float(memory),
        "residual": float(residual),
        "error": float(error),
        "positive": positive,
    }


def _source_of_graphs() -> str:
    import inspect

    needed = "from tightrope.graphs import AnswerGraph, Band, StrongProduct\n"
    return needed + inspect.getsource(graph_of)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qif", metavar="PYTHON", help="an interpreter that has qif")
    parser.add_argument("--runs", type=int, default=5, help="runs of which the fastest counts")
    parser.add_argument("--json", action="store_true", help="print the growth as JSON too")
    given = parser.parse_args()

    print("query          ours       dense      qif          mean of z (ours, dense, qif)")
    for name, graph, epsilon in CASES:
        ours = best_of(given.runs, lambda g=graph, e=epsilon: Phi(g, e).solve_ones())
        theirs = best_of(min(given.runs, 3), lambda g=graph, e=epsilon: dense(g, e))
        beside, value = peer(given.qif, name, epsilon)
        mean = Phi(graph, epsilon).solve_ones().values.mean()
        print(
            f"{name:<14} {ours:.4f} s   {theirs:.4f} s   {beside:<12} "
            f"{mean:.6f} {dense(graph, epsilon):.6f} {value}"
        )

    print("\nkind     answers    seconds   memory     residual   error      z > 0 proven")
    rows = [growth(kind, n, e) for kind, e in (("sum", 1.0), ("counts", 1.2)) for n in SIZES]
    for row in rows:
        print(
            f"{row['kind']:<8} {row['answers']:>8}   {row['seconds']:7.3f}   "
            f"{row['memory_mib']:5.0f} MiB  {row['residual']:.1e}   {row['error']:.1e}    "
            f"{row['positive']}"
        )
    if given.json:
        print(json.dumps(rows))
    within = all(float(str(row["memory_mib"])) < MEMORY_LIMIT for row in rows)
    print("verdict: within 1 GiB" if within else "verdict: TOO MUCH MEMORY")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
