"""``tightrope ask``: from SQL and ε to published numbers, in one step."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from tightrope.cli.output import facts_table, paragraphs, progress_bar, show
from tightrope.cli.release import public_facts
from tightrope.errors import InputError
from tightrope.files import check_goals, read_text, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.asking import Answer, Plan


def ask(
    sql: str | None = None,
    *,
    epsilon: str | None = None,
    error: str | None = None,
    confidence: str = "0.95",
    file: Path | None = None,
    dry_run: bool = False,
    simultaneous: bool = False,
    data: str | None = None,
    facts: Path | None = None,
    ledger: str | None = None,
    budget: str | None = None,
    column: list[str] | None = None,
    population: int | None = None,
    neighbours: str = "change-one",
    user: str | None = None,
    key: str | None = None,
    delta: str = "0",
    series: str | None = None,
    receipt: Path | None = None,
    report: Path | None = None,
    as_json: bool = False,
) -> None:
    """Publish numbers about a table: the best noise for the question, charged once, with errors.

    Understands the SQL, designs the noise (or takes it from earlier), proves and verifies it,
    charges the ledger, and draws. Every number comes with an interval that holds the true one.

    Parameters
    ----------
    error : R
        Instead of --epsilon: find the least ε at which every number is within R.
    confidence : C
        The probability of the intervals, and with which --error is kept.
    file : FILE
        Several SELECTs that share ε, each ended by a semicolon. Lines before one may say
        '-- name: …', '-- weight: 2' or '-- error: 20'. Asked again, what is paid is not paid again.
    dry_run
        Show the errors, the cost and what is left; nothing is paid and no row is read.
    simultaneous
        Intervals that hold for all numbers of an answer at once, not for each.
    ledger : URL
        The ledger; ledger.db beside the facts by default.
    report : FILE
        Write one HTML page that opens with the numbers, beside what the usual noise would have.
    delta : D
        For groups by a column without declared values: the probability, such as 1e-6, with which
        one person may be told of at all. The table's budget needs a δ too.
    series : NAME
        A declared series that has paid for the answer already; see 'tightrope ledger series'.

    Examples:
      tightrope ask "select count(*) from people" --epsilon 0.5
      tightrope ask "select region, sex, count(*) from people group by region, sex" --error 20
      tightrope ask "select city, count(*) from people group by city" --epsilon 1 --delta 1e-6
      tightrope ask --file job.sql --epsilon 1 --dry-run
      tightrope ask "select count(*) from people" --data people.csv --population 5000 \\
          --epsilon 0.5 --budget 2

    >>> ask()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: give one SELECT, or --file FILE with several
    """
    from tightrope.asking import ask_all, plan
    from tightrope.asking.planning import Wanted, positive, read_job
    from tightrope.publish.receipts import write_receipt

    if (sql is None) == (file is None):
        raise InputError("give one SELECT, or --file FILE with several")
    if error is not None and (epsilon is not None or file is not None):
        raise InputError("--error stands instead of --epsilon; in a file, write -- error: 20")
    check_goals(receipt, report)
    known, columns = public_facts(facts, column)
    if file is not None:
        wanted = read_job(read_text(file))
    else:
        wanted = [Wanted(sql, error=None if error is None else positive(error, "--error"))]
    with progress_bar("understanding", as_json) as told:
        made = plan(
            wanted, epsilon=epsilon, confidence=confidence, data=data, facts=known,
            ledger=ledger, budget=budget, columns=columns, population=population,
            neighbours=neighbours, user=user, delta=delta, series=series,
            simultaneous=simultaneous, progress=told,
        )  # fmt: skip
    if dry_run:
        show(as_json, made.as_dict(), lambda console: _draw_plan(console, made))
        return
    answers = ask_all(made, key=key)
    data_of = {"answers": [one.as_dict() for one in answers]} if file else answers[0].as_dict()
    show(as_json, data_of, lambda console: _draw_answers(console, answers))
    receipts = [release.receipt for one in answers for release in one.releases]
    if report is not None:
        _write_report(report, [str(one.sql) for one in wanted], answers)
    if receipt is not None:
        for number, one in enumerate(receipts, 1):
            several = receipt.with_name(f"{receipt.stem}-{number}{receipt.suffix}")
            write_receipt(one, receipt if len(receipts) == 1 else several)


def _write_report(path: Path, asked: list[str], answers: list[Answer]) -> None:
    from tightrope.report.page import published_report

    tables = [(one.name, one.table(usual=True), one.notes) for one in answers]
    shown = [one for one in answers if any(e.low is not None for _, told in one.rows for e in told)]
    told = {"asked": "; ".join(" ".join(sql.split()) for sql in asked), **_facts(answers)}
    write_text(path, published_report(tables, told, [one.plot() for one in shown]))


def _draw_answers(console: Console, answers: list[Answer]) -> None:
    from rich.table import Table
    from rich.text import Text

    for answer in answers:
        head, *lines = answer.table()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
        for text in head:
            table.add_column(Text(text), header_style="bold", overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        if answer.name:
            console.print(Text(answer.name, style="bold"))
        console.print(table)
        paragraphs(console, answer.notes)
        console.print()
    facts_table(console, "", _facts(answers))


def _facts(answers: list[Answer]) -> dict[str, str]:
    """Say how sure the numbers are, what was paid for all of them, and what is left."""
    from tightrope.publish.accounts import shown

    paid, last = sum((one.charged for one in answers if one.fresh), Fraction(0)), answers[-1]
    again = "" if all(one.fresh for one in answers) else " (the rest was answered before)"
    rows = {
        "intervals": f"{float(last.confidence) * 100:.4g} % "
        + ("for all of an answer at once" if last.simultaneous else "each"),
        "paid": f"ε = {shown(paid)}{again}" if paid else "nothing: answered before",
        "left": f"{shown(last.remaining)} of the budget of table "
        f"{last.releases[-1].receipt['table']}",
        "key": _keys([release.key for one in answers for release in one.releases]),
    }
    slack = sum((one.delta for one in answers if one.fresh), Fraction(0))
    rows["paid"] += f", δ = {float(slack):g}" if slack else ""
    by = last.releases[-1]
    if by.series is not None:
        rows["paid"] = f"by the series {by.series}, in which {by.left} releases are left"
    return rows


def _keys(keys: list[str]) -> str:
    """Say the keys of a job in short: its own, and the first and last number."""
    first, last = keys[0], keys[-1]
    job = first.rpartition("/")[0] or first.rpartition(".")[0]
    return f"{first} to {last.removeprefix(job)}" if len(keys) > 1 and job else ", ".join(keys)


def _draw_plan(console: Console, made: Plan) -> None:
    from tightrope.publish.accounts import shown

    for one in made.questions:
        title = f"{one.wanted.name or 'question'} at ε = {one.epsilon}"
        facts_table(console, title, one.errors(made.level(one)))
        paragraphs(console, one.notes(made.level(one)))
        console.print()
    left = made.remaining
    rows = {"cost": f"ε = {shown(made.cost)}; nothing is paid yet"}
    if left is not None:
        short = "" if made.cost <= left else f" (short by {shown(made.cost - left)})"
        rows["left now"] = f"{shown(left)}{short}"
    facts_table(console, "", rows)
