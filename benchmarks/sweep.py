"""A study of 2,000 designs: killed twice and gone on with, and one worker against two.

    python benchmarks/sweep.py [--designs 2000] [--json]

Five runs of the same study, each into its own Parquet file:

- twice with one worker and twice with two, timed; the faster of each counts, as other work on the
  machine only ever adds. The wall clock counts from the first finished chunk to the
  last, when the workers are at work; what the start of processes adds is shown beside it. On a
  busy machine look at the processor seconds instead: the speed-up that two free cores would give is
  the work of one worker, divided by the most that either of the two had to do;
- in a process that is killed (SIGKILL) at a third and at two thirds, and started again.

All five files must have the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import psutil

from tightrope.progress import Progress
from tightrope.studies import Study, run_study

QUERIES = ["sum(3,3)", "sum(4,3)", "sum(5,2)", "sum(6,3)"]
PRIORS = ["uniform", "poisson(3)"]
LOSSES = ["absolute", "binary"]
KINDS = len(QUERIES) * len(PRIORS) * len(LOSSES)


def levels(designs: int) -> str:
    """Return the range that gives about so many designs."""
    return f"0.02:{designs // KINDS / 50}:0.02"


def measure(study: Study, out: Path, workers: int) -> dict[str, Any]:
    """Run a study on local workers; return seconds by the wall and by the processor."""
    began = time.perf_counter()
    moments: list[tuple[float, int]] = []
    before: dict[int, float] = {}
    after: dict[int, float] = {}

    def report(now: Progress) -> None:
        done = int(now.done)
        total = int(now.total or 0)
        moments.append((time.perf_counter(), done))
        # Workers have loaded what they need by their first chunk.
        if len(moments) != 2 and done < total:
            return
        seen = before if done < total else after
        for child in psutil.Process().children():
            if "spawn_main" in " ".join(child.cmdline()):
                times = child.cpu_times()
                seen[child.pid] = times.user + times.system

    own = time.process_time()
    outcome = run_study(study, out, workers=workers, progress=report)
    (first, some), (last, total) = moments[1], moments[-1]
    return {
        "workers": workers,
        "seconds": last - began,
        "start_seconds": first - began,
        "designs_per_second": (total - some) / (last - first),
        "worker_cpu_seconds": sorted(after[pid] - before.get(pid, 0) for pid in after),
        "driver_cpu_seconds": time.process_time() - own,
        "certified": outcome.certified,
        "refused": outcome.refused,
    }


def killed_twice(study: Study, out: Path, designs: int) -> list[int]:
    """Run a study in another process, kill it twice; return how many chunks it had each time."""
    command = [sys.executable, "-m", "tightrope", "sweep", *QUERIES, "--out", str(out)]
    command += ["--epsilons", levels(designs), "--workers", "2", "--json"]
    command += [word for prior in PRIORS for word in ("--prior", prior)]
    command += [word for loss in LOSSES for word in ("--loss", loss)]
    parts = Path(f"{out}.parts")
    had = []
    for share in (1 / 3, 2 / 3):
        # What a killed process leaves behind is cleaned up with a warning that nobody needs.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = subprocess.Popen(command, **quiet)
        while len(list(parts.glob("*.parquet"))) < share * study.chunk_count:
            if running.poll() is not None:
                raise SystemExit(
                    "the study ended before it could be killed: ask for more designs"
                )
            time.sleep(0.02)
        running.kill()
        running.wait()
        had.append(len(list(parts.glob("*.parquet"))))
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return had


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--designs", type=int, default=2000)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    given = options.parse_args()
    study = Study.of(QUERIES, levels(given.designs), priors=PRIORS, losses=LOSSES)
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / f"{number}.parquet" for number in range(5)]
        runs = [
            measure(study, out, n) for n, out in zip((1, 2, 2, 1), outs, strict=False)
        ]
        one, two = (
            max(
                (run for run in runs if run["workers"] == n),
                key=itemgetter("designs_per_second"),
            )
            for n in (1, 2)
        )
        had = killed_twice(study, outs[-1], given.designs)
        digests = [hashlib.sha256(out.read_bytes()).hexdigest() for out in outs]
        size = outs[0].stat().st_size
    result = {
        "designs": study.size,
        "chunks": study.chunk_count,
        "one": one,
        "two": two,
        "speedup": two["designs_per_second"] / one["designs_per_second"],
        "speedup_with_start": one["seconds"] / two["seconds"],
        "speedup_cpu": sum(one["worker_cpu_seconds"]) / max(two["worker_cpu_seconds"]),
        "killed_at_chunks": had,
        "same_bytes": len(set(digests)) == 1,
        "sha256": digests[0],
        "bytes": size,
    }
    if given.json:
        print(json.dumps(result))
    else:
        show(result)
    if not result["same_bytes"]:
        raise SystemExit(1)


def show(result: dict[str, Any]) -> None:
    print(
        f"{result['designs']:,} designs in {result['chunks']} chunks, {result['bytes']:,} bytes"
    )
    print(f"{'workers':>7} {'wall s':>7} {'start s':>8} {'designs/s':>10}  processor s")
    for one in (result["one"], result["two"]):
        work = ", ".join(f"{seconds:.1f}" for seconds in one["worker_cpu_seconds"])
        print(
            f"{one['workers']:>7} {one['seconds']:>7.1f} {one['start_seconds']:>8.1f} "
            f"{one['designs_per_second']:>10.1f}  workers {work}; "
            f"driver {one['driver_cpu_seconds']:.1f}"
        )
    print(
        f"two workers against one: {result['speedup']:.2f} by the wall clock at work, "
        f"{result['speedup_with_start']:.2f} with the start, "
        f"{result['speedup_cpu']:.2f} by processor seconds"
    )
    at = " and ".join(str(count) for count in result["killed_at_chunks"])
    same = "the same bytes" if result["same_bytes"] else "OTHER BYTES"
    print(f"killed at {at} of {result['chunks']} chunks and gone on with: {same}")


if __name__ == "__main__":
    main()
