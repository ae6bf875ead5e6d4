"""``tightrope sweep``: many designs, here or on many machines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.cli.output import progress_bar, show

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.studies import Outcome


def sweep(
    questions: list[str],
    *,
    epsilons: str,
    prior: list[str] | None = None,
    loss: list[str] | None = None,
    route: list[str] | None = None,
    gap: float = 1e-9,
    time_limit: float | None = None,
    neighbours: str = "change-one",
    out: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    chunk: int = 10,
    as_json: bool = False,
) -> None:
    """Design for every combination of questions, levels, priors, losses and routes.

    Parameters
    ----------
    questions : QUERY...
        One or more questions, such as 'sum(150,5)' or 'graph:FILE'.
    epsilons : LO:HI:STEP
        The levels: a range with both ends, or a list 0.5,ln(2).
    prior : P
        A prior; may be given several times (default uniform).
    loss : L
        A loss; may be given several times. By default absolute for one number, distance for several,
        and binary for other questions.
    route : R
        Force a route; may be given several times.
    out : FILE.parquet
        Keep the results in a Parquet file; run again to go on after a stop.
    workers : N
        Start this many processes on this machine.
    scheduler : tcp://HOST:PORT
        Use the workers of a Dask scheduler.
    chunk : K
        Neighbouring levels that are computed in one go.

    Examples:
      tightrope sweep "count(20)" --epsilons 0.2:2:0.2 --loss absolute
      tightrope sweep "cycle(8)" "sum(9,3)" --epsilons "ln(2),1" --loss binary --loss distance
      tightrope sweep "sum(20,3)" --epsilons 0.1:3:0.01 --workers 2 --out study.parquet
      tightrope sweep "sum(20,3)" --epsilons 0.1:3:0.01 --scheduler tcp://head:8786 --out study.parquet

    >>> sweep(["path(4)"], epsilons="0.5:1:0.5", as_json=True)
    {"queries": ["path(4)"], ..."rows": [{"place": 0, "query": "path(4)", ...}]}
    """  # noqa: E501
    # Work is shared among processes: threads of linear algebra would only get in their way. It
    # has to be said before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tightrope.errors import InputError
    from tightrope.queries import usual_loss
    from tightrope.studies import Study, run_study

    if workers is not None and scheduler is not None:
        raise InputError("give --workers for processes here or --scheduler for others, not both")
    losses = loss or sorted({usual_loss(question) for question in questions})
    if loss is None and len(losses) > 1:
        raise InputError("these questions have no common loss: say which with --loss")
    study = Study.of(
        questions, epsilons, priors=prior or ["uniform"], losses=losses, routes=route or [None],
        neighbours=neighbours, gap=gap, chunk=chunk, time_limit=time_limit,
    )  # fmt: skip
    with _progress(out, as_json) as told:
        outcome = run_study(study, out, workers=workers, scheduler=scheduler, progress=told)
    rows = list(outcome.rows()) if as_json or out is None else []
    data = {
        "queries": study.queries,
        "designs": study.size,
        "certified": outcome.certified,
        "refused": outcome.refused,
        "found": outcome.found,
        "seconds": outcome.seconds,
        "out": None if out is None else str(out),
        "fingerprint": study.fingerprint,
        "rows": rows,
    }
    show(as_json, data, lambda console: _draw(console, outcome, rows))


@contextmanager
def _progress(
    out: Path | None, as_json: bool, every: float = 30.0
) -> Iterator[Callable[[int, int], None]]:
    """Tell of the progress on standard error: a bar on a terminal, else a line now and then."""
    began = said = time.monotonic()
    start: int | None = None
    with progress_bar("designing", as_json) as bar:

        def told(done: int, total: int) -> None:
            nonlocal said, start
            if start is None:
                start = done
                if start and not as_json:
                    there = f"in {out}.parts: going on from there" if start < total else f"in {out}"
                    _say(f"found {start:,} of {total:,} designs {there}")
            bar(done / total, f"designed {done:,} of {total:,}")
            quiet = as_json or sys.stderr.isatty() or done <= start
            if not quiet and time.monotonic() - said >= every:
                said = time.monotonic()
                left = (said - began) / (done - start) * (total - done)
                _say(f"{done:,} of {total:,} designs, about {_span(left)} left")

        try:
            yield told
        except KeyboardInterrupt:
            if out is not None:
                _say(f"what is finished is kept in {out}.parts: the same command goes on there")
            raise


def _say(line: str) -> None:
    print(f"tightrope: {line}", file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _draw(console: Console, outcome: Outcome, rows: list[dict[str, Any]]) -> None:
    if outcome.out is not None:
        size, study = outcome.study.size, outcome.out
        console.print(
            f"{size:,} designs in {study}: {outcome.certified:,} certified, "
            f"{outcome.refused:,} refused",
            markup=False,
            soft_wrap=True,
        )
        return
    from rich.table import Table

    baselines = sorted({name for row in rows for name in row.get("baselines", {})})
    # A column that says the same in every row is left out.
    names = ("query", "prior", "loss", "route")
    kinds = [name for name in names if len({row[name] for row in rows}) > 1]
    table = Table(box=None)
    for heading in ("ε", *kinds):
        table.add_column(heading)
    for heading in ("expected loss", "gap", *baselines, "s"):
        table.add_column(heading, justify="right")
    for row in rows:
        start = [row["epsilon_text"], *(row[name] or "" for name in kinds)]
        if "error" in row:
            table.add_row(*start, row["error"])
            continue
        numbers = [f"{row['expected_loss']:.6g}", f"{row['gap']:.1g}"]
        others = [f"{row['baselines'].get(name, float('nan')):.6g}" for name in baselines]
        table.add_row(*start, *numbers, *others, f"{row['seconds']:.2g}")
    console.print(table)
