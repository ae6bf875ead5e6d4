"""Chunks on processes here and on Dask, and what is said when they fail."""

import gc
import json
import logging
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import distributed
import psutil
import pytest

from tightrope import InputError
from tightrope.errors import CheckFailed
from tightrope.progress import Progress
from tightrope.studies import Study, run_study, running as how
from tightrope.studies.running import compute
from tightrope.studies.study import Chunk

STUDY = Study.of(["path(4)", "cycle(5)", "sum(3,2)"], "0.5:2:0.25", chunk=3)


def test_local_processes_give_the_same_bytes(tmp_path: Path) -> None:
    before = {connection.laddr for connection in psutil.Process().net_connections()}
    seen: list[int] = []
    listening: set[str] = set()

    def told(now: Progress) -> None:
        seen.append(now.done)
        assert now.total == STUDY.size
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            for connection in process.net_connections():
                if (
                    connection.status == psutil.CONN_LISTEN
                    and connection.laddr not in before
                ):
                    listening.add(connection.laddr.ip)

    level = logging.getLogger("distributed").level
    run_study(STUDY, tmp_path / "many.parquet", workers=2, progress=told)
    run_study(STUDY, tmp_path / "one.parquet")
    assert (tmp_path / "many.parquet").read_bytes() == (
        tmp_path / "one.parquet"
    ).read_bytes()
    assert seen[0] == 0
    assert seen == sorted(seen)
    assert seen[-1] == STUDY.size
    # Whoever reached a socket of theirs could run code with this user's rights.
    assert listening == set()
    assert logging.getLogger("distributed").level == level


def wait_for(what: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def start(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def end(process: subprocess.Popen) -> None:
    """Kill a process and those it started."""
    children = psutil.Process(process.pid).children(recursive=True)
    for one in [process, *children]:
        one.kill()
    process.wait()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[subprocess.Popen]]:
    """A scheduler without workers, on a port of this machine."""
    file = tmp_path / "scheduler.json"
    words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    processes = [start("scheduler", *words, "--scheduler-file", str(file))]
    yield processes
    for process in processes:
        if process.poll() is None:
            end(process)


def address(tmp_path: Path) -> str:
    file = tmp_path / "scheduler.json"
    wait_for(lambda: file.exists() and file.stat().st_size)
    return json.loads(file.read_text())["address"]


def worker(at: str, tmp_path: Path) -> subprocess.Popen:
    words = ("--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard")
    return start("worker", at, *words, "--local-directory", str(tmp_path / "scratch"))


def test_a_cluster_whose_parts_die(
    running: list[subprocess.Popen],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    at = address(tmp_path)
    out = tmp_path / "study.parquet"
    study = Study.of(
        ["sum(4,3)", "cycle(7)"], "0.1:3:0.1", losses=["absolute", "binary"], chunk=2
    )

    monkeypatch.setattr(how, "WORKER_SECONDS", 0.2)
    with pytest.raises(
        InputError, match=f"has no workers: start some with 'dask worker {at}'"
    ):
        run_study(study, out, scheduler=at)
    monkeypatch.undo()

    running += [worker(at, tmp_path), worker(at, tmp_path)]

    def scheduler_dies(now: Progress) -> None:
        if now.done >= 4:
            end(running[0])

    with pytest.raises(
        CheckFailed, match=f"the scheduler {at} went away.*run again to go on"
    ):
        run_study(study, out, scheduler=at, progress=scheduler_dies)
    assert capfd.readouterr().err == ""  # Dask would write a traceback
    for process in running[1:]:
        end(process)

    (tmp_path / "scheduler.json").unlink()
    words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    running[0] = start(
        "scheduler", *words, "--scheduler-file", str(tmp_path / "scheduler.json")
    )
    at = address(tmp_path)
    running[1:] = [worker(at, tmp_path), worker(at, tmp_path)]
    ended: list[int] = []

    def worker_dies(now: Progress) -> None:
        if now.done >= study.size // 2 and not ended:
            ended.append(now.done)
            end(running[1])

    outcome = run_study(study, out, scheduler=at, progress=worker_dies)
    assert 4 <= outcome.found < study.size // 2
    assert ended
    run_study(study, tmp_path / "alone.parquet")
    assert out.read_bytes() == (tmp_path / "alone.parquet").read_bytes()


def test_nobody_answers() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(
            InputError, match=f"no Dask scheduler answers at tcp://127.0.0.1:{port}"
        ):
            run_study(STUDY, scheduler=f"tcp://127.0.0.1:{port}")
        assert time.monotonic() - began < 60


def test_somebody_else_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reply = (
            "import socket, sys\n"
            "one = socket.socket(fileno=int(sys.argv[1])).accept()[0]\n"
            "one.sendall(b'HTTP/1.1 400 Bad Request' * 9); one.recv(1)\n"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", reply, str(server.fileno())],
            pass_fds=[server.fileno()],
        )
        try:
            with pytest.raises(InputError, match="no Dask scheduler answers"):
                run_study(STUDY, scheduler=f"tcp://127.0.0.1:{port}")
        finally:
            other.kill()
            other.wait()
    # One that is left half made would be closed wherever it is collected, and may block there.
    # By type(): isinstance() follows weak proxies, whose objects may be gone.
    clients = [
        candidate
        for candidate in gc.get_objects()
        if issubclass(type(candidate), distributed.Client)
    ]
    assert [client for client in clients if client.status == "connecting"] == []


@pytest.mark.parametrize("text", ["", "host:8786", "http://host", "tcp:/host"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InputError, match="must look like tcp://host:8786"):
        run_study(STUDY, scheduler=text)


class Deadly:
    def __hash__(self) -> int:
        os._exit(1)
        return 0


class Broken:
    def __hash__(self) -> int:
        raise ZeroDivisionError("on the worker")


def test_chunks_that_fail_do_not_stop_the_others() -> None:
    """One chunk ends its worker, one raises what nobody expects; the rest is computed."""
    good = list(STUDY.chunks())
    bad = [replace(good[0], route=Deadly()), replace(good[1], route=Broken())]
    found = []

    def work() -> None:
        for chunk, rows in compute([*bad, *good[2:]], workers=1):
            assert len(rows) == len(chunk.epsilons)
            found.append(chunk.number)

    with pytest.raises(CheckFailed) as said:
        work()
    assert sorted(found) == [chunk.number for chunk in good[2:]]
    line = str(said.value)
    assert "(and 1 more)" in line
    assert "more memory" in line or "ZeroDivisionError: on the worker" in line


def test_a_worker_that_dies_while_idle_is_replaced() -> None:
    """A worker killed between two chunks cannot be sent the next one."""
    chunks = list(STUDY.chunks())

    def killing_between() -> Iterator[Chunk]:
        yield chunks[0]
        for worker in multiprocessing.active_children():
            worker.kill()
            worker.join()
        yield chunks[1]

    numbers = [chunk.number for chunk, _ in compute(killing_between(), workers=1)]
    assert numbers == [chunks[0].number, chunks[1].number]


def test_a_worker_of_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(how, "build", lambda: "9.9.9")
    with pytest.raises(
        CheckFailed, match=r"a worker has tightrope .*, this is 9\.9\.9"
    ):
        list(compute(STUDY.chunks(), workers=1))
