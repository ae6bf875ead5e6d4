"""Running a study: in this process, on processes of this machine, or on a Dask cluster.

The rows go into memory, or into a file that can be gone on with. Processes of this machine are
reached by pipes: no socket is opened that another user of the machine could send work to. Dask is
loaded by the functions that need it. A worker that dies costs the chunks it was at, which another
gets. Results come back to the process that asked and are kept there: workers need neither the
files of the study nor a folder to write to.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import multiprocessing
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tightrope import __version__
from tightrope.errors import CheckFailed, InputError, in_one_line, refusing
from tightrope.files import FilePath
from tightrope.progress import Progress, ProgressCallback
from tightrope.studies.store import StudyStore, read_rows
from tightrope.studies.study import Chunk, Study, StudyRow, build, design_chunk

#: What became of a chunk: the version that computed it and its rows, or why there are none.
Fate = tuple[str, list[StudyRow]] | str
#: Seconds to wait for an answer of the scheduler, and for its first worker.
CONNECT_SECONDS = 5
WORKER_SECONDS = 60


@dataclass(frozen=True)
class StudyOutcome:
    """A finished study.

    Attributes
    ----------
    study
        What was asked.
    out
        The Parquet file, or ``None`` when the rows are in memory.
    found
        Designs that an earlier run had left in the store.
    certified, refused
        How many designs are proved to be within the gap, and how many were refused.
    seconds
        How long this run took.

    Examples
    --------
    >>> outcome = run_study(Study.of("path(4)", "ln(2),1"))
    >>> outcome.certified, outcome.refused, [row["route"] for row in outcome.rows()]
    (2, 0, ['geometric', 'geometric'])
    """

    study: Study
    out: Path | None
    found: int
    certified: int
    refused: int
    seconds: float
    _rows: tuple[StudyRow, ...] = field(default=(), repr=False)

    def rows(self) -> Iterator[StudyRow]:
        """Yield the rows in the order of the study; those in a file come without timings."""
        yield from self._rows if self.out is None else read_rows(self.out)


def run_study(
    study: Study,
    out: FilePath | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: ProgressCallback | None = None,
) -> StudyOutcome:
    """Run a study to its end; one that was broken off goes on where it stopped.

    The rows do not depend on where or in how many pieces they were computed: the unit of work is a
    chunk with fixed limits. In a script, start workers below ``if __name__ == "__main__":``, as
    each of them imports the script.

    Parameters
    ----------
    study
        What to design.
    out
        A Parquet file. Finished chunks are kept beside it, in a folder with ``.parts`` added to
        its name, until all are there; a folder of another study is refused.
    workers
        Start this many processes on this machine.
    scheduler
        The address of a Dask scheduler, to use its workers instead.
    progress
        Called at the start with how many designs are there already, and after each of them.

    Examples
    --------
    >>> import tempfile
    >>> study = Study.of(["path(4)", "cycle(5)"], "0.5:1:0.25")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run_study(study, f"{folder}/study.parquet")
    ...     again = run_study(study, f"{folder}/study.parquet")
    >>> (first.found, first.certified), (again.found, again.certified)
    ((0, 6), (6, 6))
    """
    clock = time.perf_counter()

    def report(done: int) -> None:
        if progress is not None:
            progress(Progress("designing", done, study.size))

    if out is None:
        report(0)
        parts = dict(_parts(study, (), workers, scheduler, report))
        # In the order of the chunks, whichever worker finished first.
        rows = tuple(row for number in sorted(parts) for row in parts[number])
        certified = sum(bool(row.get("certified")) for row in rows)
        refused = sum("error" in row for row in rows)
        return StudyOutcome(
            study, None, 0, certified, refused, time.perf_counter() - clock, rows
        )
    with StudyStore(study, out) as store:
        # Only whole parts with the right fingerprint count: damaged ones are computed again.
        there = store.found()
        found = sum(study.rows_in(number) for number in there)
        report(found)
        try:
            for number, part in _parts(study, there, workers, scheduler, report):
                # Each part is durable before the next one is reported.
                store.put(number, part)
        except CheckFailed as failed:
            raise CheckFailed(
                f"{failed}; what is finished is kept in {store.parts}: run again to go on"
            ) from None
        store.finish()
        certified, refused = store.tally()
        return StudyOutcome(
            study, store.out, found, certified, refused, time.perf_counter() - clock
        )


def _parts(
    study: Study,
    there: Iterable[int],
    workers: int | None,
    scheduler: str | None,
    report: Callable[[int], None],
) -> Iterator[tuple[int, list[StudyRow]]]:
    there = set(there)
    done = sum(study.rows_in(number) for number in there)
    # Nothing to compute: do not start workers.
    if done == study.size:
        return
    chunks = study.chunks(without=there)
    if workers is not None or scheduler is not None:
        # Any order: the store sorts by the number of the chunk.
        for chunk, rows in compute(chunks, workers=workers, scheduler=scheduler):
            yield chunk.number, rows
            done += len(rows)
            report(done)
        return
    for chunk in chunks:
        rows = []
        for row in chunk.rows():
            rows.append(row)
            report(done := done + 1)
        yield chunk.number, rows


# -- on many processes ---------------------------------------------------------------------------


def compute(
    chunks: Iterable[Chunk], *, workers: int | None = None, scheduler: str | None = None
) -> Iterator[tuple[Chunk, list[StudyRow]]]:
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
    here = _on_this_machine(iter(chunks), 1 if workers is None else workers)
    lost: list[str] = []
    # Closing the generator ends the workers, also when the caller breaks off.
    with contextlib.closing(
        here if scheduler is None else _on(scheduler, iter(chunks))
    ) as fates:
        for chunk, fate in fates:
            if isinstance(fate, str):
                lost.append(fate)
                continue
            version, rows = fate
            # Another version could compute other rows, and they would be mixed in one table.
            if version != build():
                raise CheckFailed(
                    f"a worker has tightrope {version}, this is {build()}: install the same code "
                    "everywhere"
                )
            yield chunk, rows
    # The other chunks are finished first: what can be kept is kept.
    if lost:
        raise CheckFailed(
            lost[0] + (f" (and {len(lost) - 1} more)" if len(lost) > 1 else "")
        )


# -- processes of this machine ------------------------------------------------------------------


def _on_this_machine(
    chunks: Iterator[Chunk], workers: int, tries: int = 4
) -> Generator[tuple[Chunk, Fate]]:
    if not 1 <= workers <= 1024:
        raise InputError(f"workers must be between 1 and 1024, got {workers}")
    failed: Counter[int] = Counter()
    waiting: list[Chunk] = []
    with contextlib.ExitStack() as started:
        idle = [started.enter_context(_Worker()) for _ in range(workers)]
        busy: dict[Any, tuple[_Worker, Chunk]] = {}
        while True:
            # Chunks whose worker died come first.
            while idle and (chunk := waiting.pop() if waiting else next(chunks, None)):
                worker = idle.pop()
                # One that died while idle refuses the chunk; wait() hears its end below.
                with contextlib.suppress(OSError):
                    worker.line.send(chunk)
                busy[worker.line] = worker, chunk
            if not busy:
                break
            # Blocks until a worker answers or dies; both make its pipe readable.
            for line in wait(list(busy)):
                worker, chunk = busy.pop(line)
                try:
                    fate: Fate = worker.line.recv()
                except (
                    EOFError,
                    OSError,
                ):  # it died: its chunk is tried again, by a new one
                    worker = started.enter_context(_Worker())
                    failed[chunk.number] += 1
                    # A chunk that kills its worker each time would otherwise run for ever.
                    if failed[chunk.number] < tries:
                        waiting.append(chunk)
                    else:
                        yield chunk, _ended(chunk)
                else:
                    yield chunk, fate
                idle.append(worker)


class _Worker:
    """A process that designs one chunk after the other until its pipe is closed."""

    def __enter__(self) -> _Worker:
        # spawn: a fork would copy threads of linear algebra in an unknown state.
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupts_kept_from_children():
            self._process.start()
        theirs.close()  # so that its end is heard here
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()
        self._process.terminate()
        self._process.join()


def _work(line: Any) -> None:
    from threadpoolctl import threadpool_limits

    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # who asked hears it, and ends this process
    # One thread each: the processes share the cores already.
    with threadpool_limits(1), contextlib.suppress(EOFError, OSError):
        while True:
            chunk = line.recv()
            try:
                # A failure is a result as well, so that the worker lives on.
                fate: Fate = design_chunk(chunk)
            except Exception as problem:
                fate = _failed(chunk, problem)
            line.send(fate)


def _at(chunk: Chunk) -> str:
    return (
        f"the designs for {chunk.query} with prior {chunk.prior[:40]} and loss {chunk.loss[:40]} "
        f"from ε = {chunk.epsilons[0]}"
    )


def _ended(chunk: Chunk) -> str:
    return f"{_at(chunk)} ended their worker each time they were tried: it may need more memory"


def _failed(chunk: Chunk, problem: Exception) -> str:
    return f"{_at(chunk)} failed on a worker: {in_one_line(problem)[:200]}"


# -- the workers of a scheduler -----------------------------------------------------------------


def _on(scheduler: str, chunks: Iterator[Chunk]) -> Generator[tuple[Chunk, Fate]]:
    with _logs_off(), _client(scheduler) as client:
        yield from _stream(client, chunks, f"the scheduler {scheduler}")


def _stream(
    client: Any,
    chunks: Iterator[Chunk],
    where: str,
    ahead: int = 4,
    recount: float = 2.0,
) -> Generator[tuple[Chunk, Fate]]:
    """Keep so many chunks under way for each worker that none waits for the next.

    Workers may come and go: they are counted again after so many seconds.
    """
    from distributed import as_completed

    # Unique in this run, so that equal chunks of two runs are not confused.
    run = uuid.uuid4().hex[:12]
    asked: dict[Any, Chunk] = {}
    finished = as_completed()
    counted = -math.inf
    threads = 1

    def fill() -> None:
        nonlocal counted, threads
        if time.monotonic() - counted > recount:
            counted, threads = time.monotonic(), max(1, sum(client.nthreads().values()))
        # A few chunks ahead for each thread hide the latency of the scheduler.
        for _ in range(ahead * threads - len(asked)):
            chunk = next(chunks, None)
            if chunk is None:
                return
            # A name of its own: a result that an earlier study left there is not taken for ours.
            future = client.submit(
                design_chunk, chunk, key=f"tightrope-{run}-{chunk.number}", pure=False
            )
            asked[future] = chunk
            finished.add(future)

    fill()
    for future in finished:
        chunk = asked.pop(future)
        try:
            # A lost worker is the fate of one chunk; a lost scheduler ends the run.
            fate: Fate = future.result()
        except Exception as problem:
            fate = _why(problem, chunk, where)
        yield chunk, fate
        try:
            fill()
        except OSError as gone:
            raise CheckFailed(f"{where} went away: {gone}") from None


def _why(problem: Exception, chunk: Chunk, where: str) -> str:
    """Say what became of a chunk; raise when the others will fare no better."""
    from distributed import CancelledError, KilledWorker

    if isinstance(problem, KilledWorker):
        return _ended(chunk)
    # From here on: what will happen to every other chunk as well.
    if isinstance(problem, CancelledError):
        raise CheckFailed(f"{where} went away") from None
    if isinstance(problem, ModuleNotFoundError):
        raise CheckFailed(
            f"a worker has no module {problem.name!r}: install tightrope {__version__} on every "
            "worker"
        ) from None
    return _failed(chunk, problem)


@contextlib.contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    if not scheduler.startswith(("tcp://", "tls://")):
        raise InputError(
            f"a scheduler must look like tcp://host:8786, got {scheduler[:80]!r}"
        )
    from distributed import Client

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
    try:
        if not client.nthreads():
            with refusing(
                f"{scheduler} has no workers: start some with 'dask worker {scheduler}'",
                TimeoutError,
            ):
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
        yield client
    finally:
        client.close(timeout=CONNECT_SECONDS)


@contextlib.contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this one hears it, and ends them in good order."""
    # Signal handlers can only be set in the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Children inherit "ignore": Ctrl-C in a terminal goes to the whole process group.
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
    known = [
        name
        for name in logging.root.manager.loggerDict
        if name.startswith("distributed")
    ]
    loggers = [logging.getLogger(name) for name in (*known, "tornado", "asyncio")]
    # Restored afterwards: the caller may use Dask as well.
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
