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
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tightrope.errors import in_one_line
from tightrope.studio.asking import Refused


class Ended(Exception):
    """The work was ended before it had a result."""


def context() -> Any:
    """Return how processes are started: as copies of a prepared one, where that is possible.

    >>> context().get_start_method() in ("forkserver", "spawn")
    True
    """
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


class Job:
    """One call in a process of its own.

    Parameters
    ----------
    function
        A function of a module; its arguments and result must be picklable.
    arguments
        What it is called with.
    progress
        Told each report; then the function gets a callable as its last argument.

    Attributes
    ----------
    result
        To be waited for; raises what the work raised, or ``Ended``.

    Examples
    --------
    >>> async def length():
    ...     return await Job(len, "abc").result
    >>> asyncio.run(length())
    3
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Callable[[Any], None] | None = None,
    ) -> None:
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[Any] = self._loop.create_future()
        chosen = context()
        self._ours, theirs = chosen.Pipe()
        self._process = chosen.Process(
            target=_work, args=(theirs, function, arguments, progress is not None), daemon=True
        )
        threading.Thread(target=self._read, args=(theirs,), daemon=True).start()

    def stop(self) -> None:
        """Ask the work to finish with the best it has."""
        with contextlib.suppress(OSError):
            self._ours.send("stop")

    def end(self) -> None:
        """End the work now, without a result, unless there is one."""
        if self.result.done():
            return
        self.result.set_exception(Ended())
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
                kind, value = self._ours.recv()
                if kind != "progress":
                    break
                self._tell(self._report, value)
        except (EOFError, OSError):
            kind, value = "refused", ("page", "the work ended without a result (out of memory?)")
        self._tell(self._finish, kind, value)
        # Not closed: ``end`` may look at it until the loop knows the result.
        self._process.join()
        self._ours.close()

    def _tell(self, what: Callable[..., None], *values: Any) -> None:
        # The event loop is closed together with its page.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *values)

    def _report(self, value: Any) -> None:
        if self._progress is not None and not self.result.done():
            self._progress(value)

    def _finish(self, kind: str, value: Any) -> None:
        if self.result.done():
            return
        if kind == "done":
            self.result.set_result(value)
        else:
            self.result.set_exception(Refused(*value))


def _work(
    theirs: Connection, function: Callable[..., Any], arguments: Any, told: bool, pause: float = 0.1
) -> None:
    """Run in the process: call the function, report progress, send the result.

    Between two reports of progress there are ``pause`` seconds at least.
    """
    last = 0.0
    stopped = False

    def report(value: Any) -> bool:
        nonlocal last, stopped
        now = time.monotonic()
        if isinstance(value, str) or now - last >= pause:
            last = now
            theirs.send(("progress", value))
        while theirs.poll():
            stopped = theirs.recv() == "stop" or stopped
        return stopped

    try:
        result = function(*arguments, report) if told else function(*arguments)
        theirs.send(("done", result))
    except Exception as problem:
        field = problem.field if isinstance(problem, Refused) else "page"
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
        self._jobs: dict[str, Job] = {}

    async def run(
        self,
        slot: str,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Callable[[Any], None] | None = None,
    ) -> Any:
        """End what runs in the slot, run the function there and return its result."""
        self.end(slot)
        job = self._jobs[slot] = Job(function, *arguments, progress=progress)
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
        for slot in [slot for slot in self._jobs if slot != but]:
            self.end(slot)
