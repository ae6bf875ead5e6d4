"""Studies that are killed, interrupted, or lose their workers: nothing is lost, nothing differs."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

#: 124 designs in 64 chunks, some of them refused, none of them at once.
WORDS = (
    *("sum(4,3)", "cycle(7)", "--epsilons", "0.1:3.1:0.1", "--chunk", "2"),
    *("--prior", "uniform", "--prior", "poisson(4)", "--loss", "absolute"),
)
CHUNKS = 64


class Run:
    """``tightrope sweep`` in a process group of its own."""

    def __init__(self, out: Path, *more: str) -> None:
        self.parts = Path(f"{out}.parts")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tightrope",
                "sweep",
                *WORDS,
                "--out",
                str(out),
                *more,
            ],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finished(self) -> int:
        return len(list(self.parts.glob("*.parquet"))) if self.parts.is_dir() else 0

    def until(self, count: int) -> None:
        """Wait until so many chunks are kept, while the process is at work."""
        end = time.monotonic() + 120
        while self.finished() < count:
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < end, "waited too long"
            time.sleep(0.005)

    def workers(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children()
        return [one for one in children if "spawn_main" in " ".join(one.cmdline())]

    def end(self) -> tuple[int, str]:
        said = self.process.communicate(timeout=120)[0]
        return self.process.returncode, said


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Undo what a shell does to jobs in the background, where tests may run: they ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a study that nobody disturbed leaves."""
    out = tmp_path_factory.mktemp("alone") / "study.parquet"
    code, said = Run(out).end()
    assert code == 0, said
    assert "124 designs" in said
    return out.read_bytes()


def kill_the_driver(run: Run) -> int:
    run.process.kill()
    return -signal.SIGKILL


def interrupt_all(run: Run) -> int:
    os.killpg(run.process.pid, signal.SIGINT)
    return 130


@pytest.mark.parametrize("stop", [kill_the_driver, interrupt_all])
def test_a_study_stopped_twice_ends_as_one_left_alone(
    alone: bytes, tmp_path: Path, stop: Callable[[Run], int]
) -> None:
    out = tmp_path / "study.parquet"
    first = Run(out)
    first.until(5)
    wanted = stop(first)
    code, said = first.end()
    assert code == wanted, said
    kept = first.finished()
    assert 5 <= kept < CHUNKS

    second = Run(out, "--workers", "2")
    second.until(kept + 5)
    workers = second.workers()
    assert len(workers) == 2
    wanted = stop(second)
    code, said = second.end()
    assert code == wanted, said
    assert re.search(r"found \d+ of 124 designs in .*: going on from there", said)
    # Workers do not outlive the process that started them.
    assert not psutil.wait_procs(workers, timeout=30)[1]
    assert kept + 5 <= second.finished() < CHUNKS

    code, said = Run(out).end()
    assert code == 0, said
    assert "124 designs" in said
    assert out.read_bytes() == alone
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "study.parquet",
        "study.seconds.csv",
    ]


def test_a_worker_killed_in_the_middle_loses_nothing(
    alone: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "study.parquet"
    run = Run(out, "--workers", "2")
    run.until(5)
    workers = run.workers()
    assert len(workers) == 2
    workers[0].kill()
    code, said = run.end()
    assert code == 0, said
    assert out.read_bytes() == alone


def test_a_difference_would_be_seen(alone: bytes, tmp_path: Path) -> None:
    """The negative twin: other chunks start their searches elsewhere, and the file says so."""
    out = tmp_path / "study.parquet"
    code, said = Run(out, "--chunk", "31").end()
    assert code == 0, said
    assert out.read_bytes() != alone
