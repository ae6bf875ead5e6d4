"""``tightrope release``: one private answer from a real table, paid from the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.output import AsJson, tell
from tightrope.errors import InputError

if TYPE_CHECKING:
    from tightrope.publish.releasing import DeclaredQuestion


def release(
    mechanism: Annotated[
        Path, typer.Argument(metavar="FILE", help="The mechanism file (.tightrope).")
    ],
    sql: Annotated[
        str, typer.Option("--sql", metavar="SQL", help="The question: one SELECT on one table.")
    ],
    ledger: Annotated[
        str,
        typer.Option(
            "--ledger", metavar="URL", help="The ledger: a file, sqlite:///FILE or postgresql://…."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="URL",
            help="The table: a CSV or Parquet file, or an address such as duckdb:///FILE or "
            "postgresql://…. By default the source in the facts.",
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The public facts; tightrope.toml where there is one by default."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="E", help="The table's budget, when the ledger does not know it yet."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:WHAT",
            help="Without a facts file: a column and its public facts, such as age:0..120, "
            "region:north,south or born:date. May be given several times.",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who asks; charged as well as the table.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Names this request: asked again, it gives the same answer."
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="PARTITION=PART", help="Ask about one part of a declared partition only."
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="For SQL without a known shape: what it answers."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --query: a JSON object from the SQL's result to the answer."
        ),
    ] = None,
    otherwise: Annotated[
        str | None,
        typer.Option(metavar="ANSWER", help="With --query: the answer for every other result."),
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the signed receipt into a file too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Release one private answer from a real table, paid from the ledger.

    The budget is charged before a row is read. With --key, asking again after a crash gives the
    same answer and costs nothing.

    Examples:
      tightrope release count.tightrope --data people.csv --sql "select count(*) from people" \\
          --ledger ledger.db --budget 2

    >>> release(Path("no-such.tightrope"), "select count(*) from t", "ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.files import check_goals
    from tightrope.publish.accounts import shown
    from tightrope.publish.facts import FACTS_FILE, read_column
    from tightrope.publish.receipts import write_receipt
    from tightrope.publish.releasing import release as do_release
    from tightrope.report.texts import answer_text

    try:
        check_goals(receipt)
    except InputError as refused:
        raise InputError(f"{refused}; nothing was released") from None
    columns = {declared.name: declared for declared in map(read_column, column or [])}
    if facts is None and Path(FACTS_FILE).exists():
        if columns:
            raise InputError(
                f"there is a {FACTS_FILE} here, and columns are declared there: add "
                f"{', '.join(columns)} to it and leave --column out"
            )
        facts = Path(FACTS_FILE)
    done = do_release(
        mechanism,
        data=data,
        sql=sql,
        ledger=ledger,
        facts=facts,
        budget=budget,
        columns=columns,
        user=user,
        key=key,
        part=_part(part),
        declared=_declared(query, answers, otherwise),
    )

    rows = {
        "answer": answer_text(done.answer, done.groups, done.interval),
        **({} if done.guess == done.answer else {"best guess from it": str(done.guess)}),
        "ε": str(done.epsilon),
        "remaining": f"{shown(done.remaining)} of the budget of table {done.receipt['table']}",
        "key": done.key if done.fresh else f"{done.key} (answered before: nothing charged)",
        "entry": f"{done.receipt['position']} of ledger {ledger.rpartition('@')[2]}",
    }
    tell(as_json, done.as_dict(), f"{done.receipt['query']}  ({done.receipt['neighbours']})", rows)
    if receipt is not None:
        write_receipt(done.receipt, receipt)


def _part(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    partition, sign, part = text.partition("=")
    if not sign:
        raise InputError(f"a part looks like region=north, got {text[:60]!r}")
    return partition, part


def _declared(
    query: str | None, answers: Path | None, otherwise: str | None
) -> DeclaredQuestion | None:
    if query is None:
        if answers is not None or otherwise is not None:
            raise InputError("--answers and --otherwise go with --query")
        return None
    if answers is None or otherwise is None:
        raise InputError("--query needs --answers FILE and --otherwise ANSWER")
    from tightrope.files import read_text
    from tightrope.publish.entries import read_json
    from tightrope.publish.releasing import DeclaredQuestion
    from tightrope.publish.shapes import read_label

    text = read_text(answers)
    try:
        mapping = read_json(text)
    except InputError as wrong:
        raise InputError(f"{answers}: {wrong}") from None
    if not isinstance(mapping, dict):
        raise InputError(f"{answers}: this must be a JSON object from results to answers")
    try:
        last = read_label(read_json(otherwise))
    except InputError:
        last = otherwise
    return DeclaredQuestion(
        query, {text: read_label(label) for text, label in mapping.items()}, last
    )
