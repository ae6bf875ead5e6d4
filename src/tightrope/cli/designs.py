"""Commands that search for the best mechanism: ``design`` and ``sweep``."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tightrope as tr
from tightrope.cli.output import grid, json_wanted, progress_bar, show, tell, unused
from tightrope.errors import InputError
from tightrope.files import check_goals, write_text
from tightrope.progress import Progress, ProgressCallback
from tightrope.report.texts import about_query, answer_order, design_rows, score_hint

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.studies import StudyOutcome


def design(
    question: str,
    *,
    epsilon: str | None = None,
    prior: str = "uniform",
    loss: str | None = None,
    risk_averse: str | None = None,
    consumers: Path | None = None,
    max_vulnerability: float | None = None,
    max_loss: float | None = None,
    route: str | None = None,
    gap: float = 1e-9,
    time_limit: float | None = None,
    out: Path | None = None,
    report: Path | None = None,
    neighbours: str = "change-one",
) -> None:
    """Find the best private mechanism and prove how good it is.

    Ctrl-C ends a search as the time limit does: with the best mechanism found so far.

    Parameters
    ----------
    risk_averse : S
        The answers that the consumer thinks possible ('all', '0,3..5'): the worst loss over them
        counts, and no prior.
    consumers : FILE
        One mechanism for all consumers in a JSON or CSV file: least worst regret.
    max_vulnerability : V
        Least loss with this chance, at most, of guessing the true answer; ε optional.
    max_loss : L
        Least chance of guessing the true answer with this loss, at most; ε optional.
    route : R
        Force a route, such as 'rays' or 'plain'; any other word lists them all.
    out : FILE
        Write the mechanism with its proofs into a file.
    report : FILE
        Write one self-contained HTML page about the design.

    Examples:
      tightrope design "count(20)" --epsilon 0.5 --loss absolute
      tightrope design "sum(20,3)" --epsilon "ln(2)" --prior "binomial(.3)" \\
          --out sum.tightrope
      tightrope design "sum(20,3)" --epsilon "ln(2)" --report sum.html
      tightrope design "sum(99,9)" --epsilon "ln(2)" --time-limit 30
      tightrope design "choice(6)" --epsilon 1 --risk-averse all
      tightrope design "cycle(5)" --epsilon 1 --consumers consumers.json
      tightrope design "count(5)" --max-vulnerability 0.5 --loss absolute
      tightrope design "commonest(5)" --epsilon 0.2 --out regions.tightrope
      tightrope design "quantile(1/2,121)" --epsilon 0.2 --out ages.tightrope

    >>> from tightrope.cli import main
    >>> main(["design", "choice(3)", "--epsilon", "ln(2)", "--json"])
    {"query": "choice(3)", "neighbours": "change-one", "route": "regular", ...}
    0
    """
    from tightrope.certify import is_by_score
    from tightrope.consumers import read_consumers
    from tightrope.optimize import design_limited, design_many
    from tightrope.queries import usual_loss

    # Options that would be ignored are refused: the user would believe they had an effect.
    limited = max_vulnerability is not None or max_loss is not None
    known = None if prior == "uniform" else prior
    alone = {"risk_averse": risk_averse, "route": route, "report": report}
    if risk_averse is not None:
        unused("--risk-averse", prior=known)
    if limited:
        unused("a limit", consumers=consumers, **alone)
        unused("a limit without --epsilon", out=out if epsilon is None else None)
    if consumers is not None:
        unused("--consumers", prior=known, loss=loss, **alone)
    if is_by_score(question):
        unused(
            f"{question}, which is answered by scores",
            prior=known,
            loss=loss,
            **alone,
            consumers=consumers,
            max_vulnerability=max_vulnerability,
            max_loss=max_loss,
        )
    level = epsilon or ""
    if not level and not limited:
        raise InputError(
            "a design needs a privacy level: add --epsilon (or a limit on leakage)"
        )
    # Before the search: a wrong file name must not be found after an hour.
    check_goals(out, report)
    if is_by_score(question):
        _by_score(question, level, neighbours, out)
        return
    asked = tr.query(question, neighbours=neighbours)
    # The size of the error for numbers, right or wrong for everything else.
    loss = loss or usual_loss(asked)
    with progress_bar("searching") as report_progress:
        options: dict[str, Any] = {
            "gap": gap,
            "progress": report_progress,
            "time_limit": time_limit,
        }
        if limited:
            limits: dict[str, Any] = {
                "max_vulnerability": max_vulnerability,
                "max_loss": max_loss,
            }
            consumer = tr.Consumer.of(asked.graph, prior=prior, loss=loss)
            # ε is optional here: the limit on leakage determines it.
            found = design_limited(
                asked, consumer, epsilon=epsilon, **limits, **options
            )
        elif consumers is not None:
            everybody = read_consumers(consumers, asked.graph)
            found = design_many(asked, level, everybody, **options)
        else:
            belief = (
                {"prior": prior} if risk_averse is None else {"support": risk_averse}
            )
            consumer = tr.Consumer.of(asked.graph, loss=loss, **belief)
            found = tr.design(asked, level, consumer, route=route, **options)
    data: dict[str, Any] = {**about_query(asked), **found.as_dict()}
    rows = design_rows(found) | answer_order(asked.graph)
    rows["time"] = f"{found.seconds:.3g} s"
    if out is not None:
        with progress_bar("proving") as report_progress:
            # The search is in floats; the file is proved in integers, whatever the search did.
            made = tr.prove(found, asked, report_progress)
        data |= {"out": str(made.save(out)), "digest": made.digest}
        rows["written to"] = _checked_by(out)
    if report is not None:
        from tightrope.report.page import html_report

        write_text(report, html_report(found))
        # The same path for scripts and for people.
        data["report"] = rows["report"] = str(report)
    level = "" if found.epsilon is None else f" at ε = {found.epsilon}"
    whose = f" for {len(found.consumers)} consumers of" if found.many else " for"
    kind = (
        "mechanism" if found.limit is None else f"mechanism of least {found.minimised}"
    )
    hint = score_hint(asked.text)
    kind += " that sees only the true answer" if hint else ""
    # A stopped search still has a proved bound; the claim states its gap.
    proved = f"Stopped early. {found.claim}" if found.stopped else found.claim
    title = f"{kind}{whose} {asked.text}{level}"
    tell(data, title, rows, [proved, *([f"{hint}."] if hint else [])])


def _by_score(question: str, level: str, near: str, out: Path | None) -> None:
    """Make a mechanism by scores, which needs no search; say what it promises."""
    from tightrope.certify import by_score
    from tightrope.publish.noise import noise_of

    made = by_score(question, level, near)
    # The error by scores does not depend on the answer.
    kept = noise_of(made).interval(None)
    data = {"query": made.query, "neighbours": made.neighbours, "route": "scores",
            "epsilon": str(made.epsilon), "steps": made.steps, "error": kept.as_dict()}  # fmt: skip
    rows = {
        "route": made.route,
        "one person": f"moves two scores apart by at most {made.steps} steps",
        "error": str(kept),
    }
    if out is not None:
        data |= {"out": str(made.save(out)), "digest": made.digest}
        rows["written to"] = _checked_by(out)
    tell(data, f"mechanism by scores for {made.query} at ε = {made.epsilon}", rows)


def _checked_by(out: Path) -> str:
    return f"{out}  (check it: tightrope verify {out})"


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
) -> None:
    """Design for every combination of questions, levels and losses.

    Parameters
    ----------
    questions : QUERY
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
      tightrope sweep "cycle(8)" "sum(9,3)" --epsilons "ln(2),1" \\
          --loss binary --loss distance
      tightrope sweep "sum(20,3)" --epsilons 0.1:3:0.01 \\
          --workers 2 --out study.parquet
      tightrope sweep "sum(20,3)" --epsilons 0.1:3:0.01 --out study.parquet \\
          --scheduler tcp://head:8786

    >>> from tightrope.cli import main
    >>> main(["sweep", "path(4)", "--epsilons", "0.5:1:0.5", "--json"])
    {"queries": ["path(4)"], ..."rows": [{"place": 0, "query": "path(4)", ...}]}
    0
    """  # noqa: E501
    # Work is shared among processes: threads of linear algebra would only get in their way. It
    # has to be said before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tightrope.queries import usual_loss
    from tightrope.studies import Study, run_study

    if workers is not None and scheduler is not None:
        raise InputError(
            "give --workers for processes here or --scheduler for others, not both"
        )
    # One loss for all, or the rows of a study could not be compared.
    losses = loss or sorted({usual_loss(question) for question in questions})
    if loss is None and len(losses) > 1:
        raise InputError("these questions have no common loss: say which with --loss")
    study = Study.of(
        questions, epsilons, priors=prior or ["uniform"], losses=losses, routes=route or [None],
        neighbours=neighbours, gap=gap, chunk=chunk, time_limit=time_limit,
    )  # fmt: skip
    with _study_progress(out) as report:
        outcome = run_study(
            study, out, workers=workers, scheduler=scheduler, progress=report
        )
    # Rows in a file are not read back, unless JSON wants them.
    rows = list(outcome.rows()) if json_wanted.get() or out is None else []
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
    show(data, lambda console: _draw(console, outcome, rows))


@contextmanager
def _study_progress(
    out: Path | None, every: float = 30.0
) -> Iterator[ProgressCallback]:
    """Show progress on standard error: a bar on a terminal, else a line now and then."""
    began = said = time.monotonic()
    start: int | None = None
    with progress_bar("designing") as bar:

        def report(now: Progress) -> None:
            nonlocal said, start
            done = int(now.done)
            total = int(now.total or 0)
            # The first report says how much an earlier run has left.
            if start is None:
                start = done
                if start and not json_wanted.get():
                    there = (
                        f"in {out}.parts: going on from there"
                        if start < total
                        else f"in {out}"
                    )
                    _say(f"found {start:,} of {total:,} designs {there}")
            bar(replace(now, step=f"designed {done:,} of {total:,}"))
            # In a log a line now and then; on a terminal the bar says it.
            quiet = json_wanted.get() or sys.stderr.isatty() or done <= start
            if not quiet and time.monotonic() - said >= every:
                said = time.monotonic()
                # Speed of this run only: designs found in the store took no time.
                left = (said - began) / (done - start) * (total - done)
                _say(f"{done:,} of {total:,} designs, about {_span(left)} left")

        try:
            yield report
        except KeyboardInterrupt:
            if out is not None:
                _say(
                    f"what is finished is kept in {out}.parts: the same command goes on there"
                )
            raise


def _say(line: str) -> None:
    print(f"tightrope: {line}", file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _draw(console: Console, outcome: StudyOutcome, rows: list[dict[str, Any]]) -> None:
    if outcome.out is not None:
        size = outcome.study.size
        study = outcome.out
        console.print(
            f"{size:,} designs in {study}: {outcome.certified:,} certified, "
            f"{outcome.refused:,} refused",
            markup=False,
            soft_wrap=True,
        )
        return
    baselines = sorted({name for row in rows for name in row.get("baselines", {})})
    # A column that says the same in every row is left out.
    names = ("query", "prior", "loss", "route")
    kinds = [name for name in names if len({row[name] for row in rows}) > 1]
    numbers = ("expected loss", "gap", *baselines, "s")
    grid(
        console,
        ("ε", *kinds, *numbers),
        [_cells(row, kinds, baselines) for row in rows],
        numbers,
    )


def _cells(row: dict[str, Any], kinds: list[str], baselines: list[str]) -> list[str]:
    start = [row["epsilon_text"], *(row[name] or "" for name in kinds)]
    if "error" in row:
        return [*start, row["error"]]
    # Not every question has every kind of noise to compare with.
    others = [f"{row['baselines'].get(name, math.nan):.6g}" for name in baselines]
    loss = f"{row['expected_loss']:.6g}"
    gap = f"{row['gap']:.1g}"
    seconds = f"{row['seconds']:.2g}"
    return [*start, loss, gap, *others, seconds]
