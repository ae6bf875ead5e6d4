"""Long work in a process of its own: it can be watched, asked to stop, and ended.

A page has one slot for each thing it computes. New work in a slot ends the old work there, so
that moving a slider leaves nothing behind, and no tab waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from tightrope.errors import in_one_line
from tightrope.progress import Progress, ProgressCallback
from tightrope.studio.asking import FieldError

if TYPE_CHECKING:
    from tightrope.studio.tables import TableAsked


class Ended(Exception):
    """The work was ended before it had a result."""


def context() -> Any:
    """Return how processes are started: as copies of a prepared one, where that is possible.

    >>> context().get_start_method() in ("forkserver", "spawn")
    True
    """
    # fork copies locks of other threads in whatever state they are; forkserver has no threads.
    if "forkserver" in multiprocessing.get_all_start_methods():
        made = multiprocessing.get_context("forkserver")
        # Loaded once; every job starts from a copy of the process that has them.
        heavy = ["highspy", "scipy.linalg", "scipy.signal", "scipy.sparse.linalg"]
        rooms = ["axioms", "certify.make", "proofs", "studio.work"]
        made.set_forkserver_preload([*heavy, *(f"tightrope.{room}" for room in rooms)])
        return made
    return multiprocessing.get_context("spawn")


def warm_up() -> None:
    """Start the prepared process, so that the first job does not wait for it; return at once."""
    if context().get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()


class WorkerJob:
    """One call in a process of its own.

    Parameters
    ----------
    function
        A function of a module; its arguments and result must be picklable.
    arguments
        What it is called with.
    progress
        Called with each report; then the function gets a callable as its last argument.

    Attributes
    ----------
    result
        To be waited for; raises what the work raised, or ``Ended``.

    Examples
    --------
    >>> async def length():
    ...     return await WorkerJob(len, "abc").result
    >>> asyncio.run(length())
    3
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: ProgressCallback | None = None,
    ) -> None:
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[Any] = self._loop.create_future()
        chosen = context()
        self._ours, theirs = chosen.Pipe()
        self._process = chosen.Process(
            target=_work,
            args=(theirs, function, arguments, progress is not None),
            daemon=True,
        )
        # A thread: starting a process and reading its pipe both block the event loop.
        threading.Thread(target=self._read, args=(theirs,), daemon=True).start()

    def stop(self) -> None:
        """Ask the work to finish with the best it has."""
        with contextlib.suppress(OSError):
            self._ours.send("stop")

    def end(self) -> None:
        """End the work now, without a result, unless there is one."""
        if self.result.done():
            return
        # Set before the kill, so that the reader's "ended without a result" is not reported.
        self.result.set_exception(Ended())
        # Retrieve it once: asyncio warns of exceptions that nobody looked at.
        self.result.exception()
        if self._process.pid is not None:
            self._process.kill()

    def _read(self, theirs: Connection) -> None:
        """Start the process and pass on what it says; runs in a thread, as both may wait."""
        try:
            self._process.start()
            theirs.close()
            if self.result.done():  # ended while it was started
                self._process.kill()
            while True:
                # Blocks until the process says something; EOFError means that it died.
                kind, value = self._ours.recv()
                if kind != "progress":
                    break
                self._tell(self._report, value)
        except (EOFError, OSError):
            kind = "refused"
            value = ("page", "the work ended without a result (out of memory?)")
        self._tell(self._finish, kind, value)
        # Not closed: ``end`` may look at it until the loop knows the result.
        # Reap the process, or it stays as a zombie.
        self._process.join()
        self._ours.close()

    def _tell(self, what: Callable[..., None], *values: Any) -> None:
        # The event loop is closed together with its page.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *values)

    def _report(self, now: Progress) -> None:
        if self._progress is not None and not self.result.done():
            self._progress(now)

    def _finish(self, kind: str, value: Any) -> None:
        # The first outcome counts: a result may cross an end() on its way.
        if self.result.done():
            return
        if kind == "done":
            self.result.set_result(value)
        else:
            self.result.set_exception(FieldError(*value))


def _work(
    theirs: Connection,
    function: Callable[..., Any],
    arguments: Any,
    reports: bool,
    pause: float = 0.1,
) -> None:
    """Run in the process: call the function, report progress, send the result.

    Between two reports of the same step there are ``pause`` seconds at least.
    """
    last = 0.0
    step = ""
    stopped = False

    def report(now: Progress) -> bool:
        nonlocal last, step, stopped
        clock = time.monotonic()
        # Progress is throttled: a fast loop would flood the page.
        if now.step != step or clock - last >= pause:
            last = clock
            step = now.step
            theirs.send(("progress", now))
        # The answer to a report tells the work whether to go on.
        while theirs.poll():
            stopped = theirs.recv() == "stop" or stopped
        return stopped

    # Nobody may be there to read: the page was closed, or the studio ended.
    with contextlib.suppress(BrokenPipeError):
        try:
            result = function(*arguments, report) if reports else function(*arguments)
            theirs.send(("done", result))
        # Only one line crosses the pipe: a traceback may hold values of the table.
        except Exception as problem:
            field = problem.field if isinstance(problem, FieldError) else "page"
            theirs.send(("refused", (field, in_one_line(problem))))


class Slots:
    """The running work of one page, one job for each name.

    Examples
    --------
    >>> async def lengths():
    ...     slots = Slots()
    ...     return await slots.run("a", len, "abc"), await slots.run("a", len, "ab")
    >>> asyncio.run(lengths())
    (3, 2)
    """

    def __init__(self) -> None:
        self._jobs: dict[str, WorkerJob] = {}

    async def run(
        self,
        slot: str,
        function: Callable[..., Any],
        *arguments: Any,
        progress: ProgressCallback | None = None,
    ) -> Any:
        """End what runs in the slot, run the function there and return its result."""
        # One job for each slot: the newest question replaces the older one.
        self.end(slot)
        job = self._jobs[slot] = WorkerJob(function, *arguments, progress=progress)
        return await job.result

    def stop(self, slot: str) -> None:
        """Ask the work in a slot to finish with the best it has."""
        if slot in self._jobs:
            self._jobs[slot].stop()

    def end(self, slot: str) -> None:
        """End the work in a slot."""
        if slot in self._jobs:
            self._jobs.pop(slot).end()

    def end_all(self, but: str = "release") -> None:
        """End all work of the page, but what has been paid for."""
        # Paid work goes on without its page: the answer is recorded in the ledger.
        for slot in [slot for slot in self._jobs if slot != but]:
            self.end(slot)


class RunningReleases:
    """The releases in progress in this studio, whichever page started them.

    A reload ends a page, not the release that was paid on it: the next page lists it.

    Examples
    --------
    >>> from tightrope.studio.tables import TableAsked
    >>> releases = RunningReleases()
    >>> with releases.running(TableAsked(ledger="ledger.db", key="k")):
    ...     [asked.key for asked in releases.of_ledger("ledger.db")]
    ['k']
    >>> releases.of_ledger("ledger.db")
    []
    """

    def __init__(self) -> None:
        self._running: list[TableAsked] = []
        self.watchers: list[Callable[[], None]] = []

    def of_ledger(self, ledger: str) -> list[TableAsked]:
        """Return what is being released from a ledger."""
        return [asked for asked in self._running if asked.ledger == ledger]

    @contextlib.contextmanager
    def running(self, asked: TableAsked) -> Iterator[None]:
        """List a release while it runs; every page hears of its start and its end."""
        self._running.append(asked)
        self._notify()
        try:
            yield
        finally:
            self._running.remove(asked)
            self._notify()

    def _notify(self) -> None:
        # A copy: a watcher may remove itself.
        for watcher in tuple(self.watchers):
            watcher()
