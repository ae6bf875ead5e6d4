"""Running a study: here or on workers, into memory or into a file that can be gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tightrope.errors import CheckFailed
from tightrope.studies.cluster import compute
from tightrope.studies.store import Store, read_rows
from tightrope.studies.study import Chunk, Row, Study

#: Told how many designs are done, and how many there are.
Callback = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
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
    _rows: tuple[Row, ...] = field(default=(), repr=False)

    def rows(self) -> Iterator[Row]:
        """Yield the rows in the order of the study; those in a file come without timings."""
        yield from self._rows if self.out is None else read_rows(self.out)


def sweep(study: Study, progress: Callback | None = None) -> Iterator[Row]:
    """Yield the rows of a study one by one, computed in this process as they are asked for.

    Parameters
    ----------
    study
        What to design.
    progress
        Told after each design.

    Examples
    --------
    >>> for row in sweep(Study.of("path(4)", ["ln(2)", "ln(3)"])):
    ...     print(row["epsilon_text"], row["route"], round(row["expected_loss"], 6))
    ln(2) geometric 0.5
    ln(3) geometric 0.375
    """
    for _, rows in _here(study, study.chunks(), 0, progress):
        yield from rows


def run_study(
    study: Study,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callback | None = None,
) -> Outcome:
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
        Told at the start how many designs are there already, and after each chunk.

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
    if out is None:
        if progress is not None:
            progress(0, study.size)
        parts = dict(_parts(study, (), workers, scheduler, progress))
        rows = tuple(row for number in sorted(parts) for row in parts[number])
        certified = sum(bool(row.get("certified")) for row in rows)
        refused = sum("error" in row for row in rows)
        return Outcome(study, None, 0, certified, refused, time.perf_counter() - clock, rows)
    with Store(study, out) as store:
        there = store.found()
        found = sum(study.rows_in(number) for number in there)
        if progress is not None:
            progress(found, study.size)
        try:
            for number, part in _parts(study, there, workers, scheduler, progress):
                store.put(number, part)
        except CheckFailed as failed:
            raise CheckFailed(
                f"{failed}; what is finished is kept in {store.parts}: run again to go on"
            ) from None
        store.finish()
        certified, refused = store.tally()
        return Outcome(study, store.out, found, certified, refused, time.perf_counter() - clock)


def _parts(
    study: Study,
    there: Iterable[int],
    workers: int | None,
    scheduler: str | None,
    progress: Callback | None,
) -> Iterator[tuple[int, list[Row]]]:
    there = set(there)
    done = sum(study.rows_in(number) for number in there)
    if done == study.size:
        return
    chunks = study.chunks(without=there)
    if workers is None and scheduler is None:
        for chunk, parts in _here(study, chunks, done, progress):
            yield chunk.number, list(parts)
        return
    for chunk, rows in compute(chunks, workers=workers, scheduler=scheduler):
        yield chunk.number, rows
        done += len(rows)
        if progress is not None:
            progress(done, study.size)


def _here(
    study: Study, chunks: Iterable[Chunk], done: int, progress: Callback | None
) -> Iterator[tuple[Chunk, Iterator[Row]]]:
    """Yield chunks with their rows, which are computed while they are read."""

    def told(chunk: Chunk, before: int) -> Iterator[Row]:
        for step, row in enumerate(chunk.rows(), 1):
            if progress is not None:
                progress(before + step, study.size)
            yield row

    for chunk in chunks:
        yield chunk, told(chunk, done)
        done += len(chunk.epsilons)
