"""Chunks on Dask: processes of this machine, or the workers of a scheduler.

Dask is loaded by the functions that need it. A worker that dies costs the chunks it was at, which
the scheduler gives to another. Results come back to the process that asked and are kept there:
workers need neither the files of the study nor a folder to write to.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import signal
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from tightrope import __version__
from tightrope.errors import CheckFailed, InputError
from tightrope.studies.study import Chunk, Row, build, design_chunk

#: Seconds to wait for an answer of the scheduler, and for its first worker.
CONNECT_SECONDS, WORKER_SECONDS = 5, 60
#: Seconds after which workers are counted again: they may come and go.
COUNT_SECONDS = 2
#: Chunks under way for each worker: enough that none waits for the next.
AHEAD = 4
#: Dask watches itself, which costs local processes a share of the very cores that they work on.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.host-cpu": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
#: Most local processes.
MOST_WORKERS = 1024


def compute(
    chunks: Iterable[Chunk], *, workers: int | None = None, scheduler: str | None = None
) -> Iterator[tuple[Chunk, list[Row]]]:
    """Yield chunks with their rows as they are finished, in any order.

    Parameters
    ----------
    chunks
        What to compute; taken from as workers become free.
    workers
        The number of processes to start on this machine, each with one thread.
    scheduler
        The address of a Dask scheduler, such as ``tcp://host:8786``, instead.

    Examples
    --------
    >>> next(compute([], scheduler="host"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a scheduler must look like tcp://host:8786, got 'host'
    """
    with _logs_off(), _client(workers, scheduler) as client:
        yield from _stream(client, iter(chunks), scheduler)


def _stream(
    client: Any, chunks: Iterator[Chunk], scheduler: str | None
) -> Iterator[tuple[Chunk, list[Row]]]:
    from distributed import as_completed

    where = f"the scheduler {scheduler}" if scheduler else "the local workers"
    run = uuid.uuid4().hex[:12]
    asked: dict[Any, Chunk] = {}
    finished = as_completed()
    counted, threads = -math.inf, 1

    def fill() -> None:
        nonlocal counted, threads
        if time.monotonic() - counted > COUNT_SECONDS:
            counted, threads = time.monotonic(), max(1, sum(client.nthreads().values()))
        for _ in range(AHEAD * threads - len(asked)):
            chunk = next(chunks, None)
            if chunk is None:
                return
            # A name of its own: a result that an earlier study left there is not taken for ours.
            future = client.submit(
                design_chunk, chunk, key=f"tightrope-{run}-{chunk.number}", pure=False
            )
            asked[future] = chunk
            finished.add(future)

    lost: list[str] = []
    fill()
    for future in finished:
        chunk = asked.pop(future)
        try:
            version, rows = future.result()
        except Exception as problem:
            lost.append(_why(problem, chunk, where))
        else:
            if version != build():
                raise CheckFailed(
                    f"a worker has tightrope {version}, this is {build()}: install the same "
                    "code everywhere"
                )
            yield chunk, rows
        try:
            fill()
        except OSError as gone:
            raise CheckFailed(f"{where} went away: {gone}") from None
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise CheckFailed(lost[0] + more)


def _why(problem: Exception, chunk: Chunk, where: str) -> str:
    """Say what became of a chunk; raise when the others will fare no better."""
    from distributed import CancelledError, KilledWorker

    at = f"{chunk.query} with prior {chunk.prior[:40]} and loss {chunk.loss[:40]}"
    if isinstance(problem, KilledWorker):
        return (
            f"the designs for {at} from ε = {chunk.epsilons[0]} ended their worker each time they "
            "were tried: it may need more memory"
        )
    if isinstance(problem, CancelledError):
        raise CheckFailed(f"{where} went away") from None
    if isinstance(problem, ModuleNotFoundError):
        raise CheckFailed(
            f"a worker has no module {problem.name!r}: install tightrope {__version__} on every "
            "worker"
        ) from None
    line = " ".join(f"{type(problem).__name__}: {problem}".split())
    return f"the designs for {at} from ε = {chunk.epsilons[0]} failed on a worker: {line[:200]}"


@contextlib.contextmanager
def _client(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    if scheduler is not None and not scheduler.startswith(("tcp://", "tls://")):
        raise InputError(f"a scheduler must look like tcp://host:8786, got {scheduler[:80]!r}")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"workers must be between 1 and {MOST_WORKERS}, got {workers}")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            "workers need Dask, which is not installed: pip install 'tightrope[cluster]'"
        ) from None
    with contextlib.ExitStack() as open_ones:
        if scheduler is None:
            open_ones.enter_context(dask.config.set(QUIET))
            with _interrupts_kept_from_children():
                cluster = open_ones.enter_context(
                    LocalCluster(
                        n_workers=workers or 1,
                        threads_per_worker=1,
                        processes=True,
                        # Nothing listens beyond this machine. Without a dashboard the scheduler
                        # would still take a fixed port, which another study may hold.
                        host="127.0.0.1",
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
                )
            yield open_ones.enter_context(Client(cluster))
            return
        client = None
        with contextlib.suppress(Exception):  # whatever listens there may answer anything
            client = Client(scheduler, timeout=CONNECT_SECONDS, name="tightrope")
        if client is None:
            # A half-made client closes itself when it is collected. Later, in a thread that Dask
            # is just starting, it would wait for that thread, and the thread for it.
            gc.collect()
            raise InputError(
                f"no Dask scheduler answers at {scheduler} within {CONNECT_SECONDS} s: start one "
                "with 'dask scheduler', or use --workers for processes here"
            )
        open_ones.callback(client.close, timeout=CONNECT_SECONDS)
        if not client.nthreads():
            try:
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
            except TimeoutError:
                raise InputError(
                    f"{scheduler} has no workers: start some with 'dask worker {scheduler}'"
                ) from None
        yield client


@contextlib.contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this one hears it, and ends them in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _logs_off() -> Iterator[None]:
    """Keep Dask from writing: what matters is raised."""
    with contextlib.suppress(ImportError):
        import distributed  # noqa: F401  gives each of its loggers a level of its own
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in (*known, "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
