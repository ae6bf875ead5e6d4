"""``tightrope release``: one private answer from a real table, paid from the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tightrope as tr
from tightrope.cli.output import tell
from tightrope.errors import InputError
from tightrope.files import check_goals, read_text
from tightrope.report.texts import answer_text

if TYPE_CHECKING:
    from tightrope.publish import Column
    from tightrope.publish.releasing import DeclaredQuestion


def release(
    mechanism: Path,
    *,
    sql: str,
    ledger: str = "ledger.db",
    data: str | None = None,
    facts: Path | None = None,
    budget: str | None = None,
    column: list[str] | None = None,
    user: str | None = None,
    key: str | None = None,
    part: str | None = None,
    query: str | None = None,
    answers: Path | None = None,
    otherwise: str | None = None,
    series: str | None = None,
    receipt: Path | None = None,
    as_json: bool = False,
) -> None:
    """Release one private answer from a real table, paid from the ledger.

    The budget is charged before a row is read. With --key, asking again after a crash gives the
    same answer and costs nothing. 'tightrope ask' designs the mechanism too.

    Parameters
    ----------
    mechanism : FILE
        The mechanism file (.tightrope).
    part : PARTITION=PART
        Ask about one part of a declared partition only.
    query : QUERY
        For SQL without a known shape: what it answers.
    answers : FILE
        With --query: a JSON object from the SQL's result to the answer.
    otherwise : ANSWER
        With --query: the answer for every other result.
    series : NAME
        A declared series that has paid for this release already; see 'tightrope ledger series'.

    Examples:
      tightrope release count.tightrope --data people.csv --sql "select count(*) from people" \\
          --ledger ledger.db --budget 2

    >>> release(Path("no-such.tightrope"), sql="select count(*) from t", ledger="ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.publish.accounts import shown
    from tightrope.publish.receipts import write_receipt

    try:
        check_goals(receipt)
    except InputError as refused:
        raise InputError(f"{refused}; nothing was released") from None
    facts, columns = public_facts(facts, column)
    done = tr.release(
        mechanism, data=data, sql=sql, ledger=ledger, facts=facts, budget=budget,
        columns=columns, user=user, key=key, part=_part(part),
        declared=_declared(query, answers, otherwise), series=series,
    )  # fmt: skip

    rows = {
        "answer": answer_text(done.answer, done.groups, done.interval),
        **({} if done.guess == done.answer else {"best guess from it": str(done.guess)}),
        "ε": str(done.epsilon),
        **({} if series is None else {"series": f"{series}: {done.left} releases left"}),
        "remaining": f"{shown(done.remaining)} of the budget of table {done.receipt['table']}",
        "key": done.key if done.fresh else f"{done.key} (answered before: nothing charged)",
        "entry": f"{done.receipt['position']} of ledger {ledger.rpartition('@')[2]}",
    }
    tell(as_json, done.as_dict(), f"{done.receipt['query']}  ({done.receipt['neighbours']})", rows)
    if receipt is not None:
        write_receipt(done.receipt, receipt)


def public_facts(
    facts: Path | None, column: list[str] | None
) -> tuple[Path | None, dict[str, Column]]:
    """Return the file of public facts, or the columns that are declared instead of one."""
    from tightrope.publish.facts import FACTS_FILE, read_column

    columns = {declared.name: declared for declared in map(read_column, column or [])}
    if facts is None and Path(FACTS_FILE).exists():
        if columns:
            raise InputError(
                f"there is a {FACTS_FILE} here, and columns are declared there: add "
                f"{', '.join(columns)} to it and leave --column out"
            )
        facts = Path(FACTS_FILE)
    return facts, columns


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
