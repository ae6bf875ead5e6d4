"""One measurement, in its own process: `python -m benchmarks.child MODULE WAY ARGUMENTS LIMIT`.

Runs in the project's environment and in that of the peers, so it needs the standard library
only. The last line of its output is the result as JSON.
"""

from __future__ import annotations

import importlib
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A first call below this many seconds counts as warming up: it loads what others find loaded.
WARMING = 5.0
#: Calls below this many seconds are repeated in their process.
SHORT = 1.0
#: Short calls are timed in batches of this many seconds: some systems count processor time in
#: steps of milliseconds.
BATCH = 0.1
#: Fewest and most batches, and the seconds after which no other is begun.
LEAST, MOST, ENOUGH = 3, 11, 1.0
#: Memory, in bytes of address space, above which an allocation fails.
MEMORY = 12 * 2**30


@dataclass(frozen=True)
class Work:
    """What a way of a comparison returns: a call to be timed, and what to say of its value.

    Parameters
    ----------
    call
        The work. What it needs has been prepared.
    facts
        Says what was found, outside the time.
    per
        One call does the work so many times.
    children
        The work is done by processes that the call starts: their memory counts.
    memory
        The peak in MiB, where it must be asked for in another way.
    times
        Processor and wall seconds, where the value itself holds them; one call is then enough.
    """

    call: Callable[[], Any]
    facts: Callable[[Any], dict[str, Any]] = lambda _: {}
    per: int = 1
    children: bool = False
    memory: Callable[[], float] | None = None
    times: Callable[[Any], list[tuple[float, float]]] | None = None


def main() -> None:
    module, way, arguments, limit = sys.argv[1:5]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Programs started by the work may reserve far more addresses than they use.
    work: Work = getattr(importlib.import_module(module), way)(**json.loads(arguments))
    if not work.children:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    times, value = measure(work, lambda: bound(float(limit)))
    memory = peak(work.children) if work.memory is None else work.memory()
    bound(float(limit))
    found = {
        "cpu": [cpu / work.per for cpu, _ in times],
        "wall": [wall / work.per for _, wall in times],
        "memory_mib": memory,
        "facts": work.facts(value),
    }
    print("\n" + json.dumps(found))


def measure(
    work: Work, before: Callable[[], None] = lambda: None
) -> tuple[list[tuple[float, float]], Any]:
    """Time the work, several times where it is short; the first is not counted if others follow.

    What is to be done before each of them, such as setting its limit, is no part of the time.
    """
    first, value = timed(work.call, before)
    if work.times is not None:
        return work.times(value), value
    if first[1] >= WARMING:
        return [first], value
    second, value = timed(work.call, before)
    if second[1] >= SHORT:
        return [second], value
    calls = math.ceil(BATCH / max(second[1], 1e-7))

    def batch() -> Any:
        for _ in range(calls - 1):
            work.call()
        return work.call()

    times: list[tuple[float, float]] = []
    while len(times) < LEAST or (
        len(times) < MOST and sum(wall for _, wall in times) < ENOUGH
    ):
        value = None
        took, value = timed(batch, before)
        times.append(took)
    return [(cpu / calls, wall / calls) for cpu, wall in times], value


def timed(
    call: Callable[[], Any], before: Callable[[], None]
) -> tuple[tuple[float, float], Any]:
    """Return processor and wall seconds of a call, and its value."""
    before()
    cpu, wall = processor(), time.perf_counter()
    value = call()
    return (processor() - cpu, time.perf_counter() - wall), value


def processor() -> float:
    """Seconds of the processor that this process and those it waited for have used."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def bound(limit: float) -> None:
    """Let the system end this process when it has used so many more seconds of the processor."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(
        resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), hard)
    )


def peak(children: bool) -> float:
    """Largest memory so far, in MiB."""
    if children:
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
