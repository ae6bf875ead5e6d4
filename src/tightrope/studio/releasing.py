"""What the page asks of the library for a release: one answer, and the ledger's accounts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.cli.output import plain
from tightrope.errors import TightropeError
from tightrope.studio.refusal import Refused, blame
from tightrope.studio.work import name_of


@dataclass(frozen=True)
class Asked:
    """The fields of the release card, as texts; empty where nothing was given.

    >>> Asked(sql="select count(*) from people").ledger
    ''
    """

    data: str = ""
    sql: str = ""
    ledger: str = ""
    budget: str = ""
    columns: str = ""
    facts: str = ""
    user: str = ""
    key: str = ""

    @property
    def column_texts(self) -> tuple[str, ...]:
        """The columns and their public facts, one by one."""
        return tuple(text.strip() for text in self.columns.split(";") if text.strip())


def give(mechanism: bytes, asked: Asked) -> dict[str, Any]:
    """Release one answer and return it with what it cost.

    >>> give(b"", Asked(sql="select 1"))
    Traceback (most recent call last):
    ...
    tightrope.studio.refusal.Refused: name the ledger that pays for the answer
    """
    from tightrope.certify import Mechanism
    from tightrope.publish.accounts import shown
    from tightrope.publish.bare_facts import read_column
    from tightrope.publish.releasing import release

    if not asked.ledger:
        raise Refused("ledger", "name the ledger that pays for the answer")
    if not asked.sql:
        raise Refused("sql", "write the question as one SELECT")
    if not asked.data and not asked.facts:
        raise Refused("data", "upload a table or name one")
    with blame("columns"):
        columns = {column.name: column for column in map(read_column, asked.column_texts)}
    with blame("release"):
        done = release(
            Mechanism(mechanism),
            data=asked.data or None,
            sql=asked.sql,
            ledger=asked.ledger,
            facts=asked.facts or None,
            budget=asked.budget or None,
            columns=columns,
            user=asked.user or None,
            key=asked.key or None,
        )
    named = done.groups and isinstance(done.answer, tuple)
    answer = (
        ", ".join(f"{g}: {n}" for g, n in zip(done.groups, done.answer, strict=True))  # type: ignore[call-overload]
        if named
        else name_of(done.answer)
    )
    if done.guess != done.answer:
        answer += f", best guess from it: {name_of(done.guess)}"
    told: dict[str, Any] = plain({
        "answer": answer,
        "charged": shown(done.charged),
        "remaining": shown(done.remaining),
        "key": done.key,
        "fresh": done.fresh,
        "receipt": dict(done.receipt),
        "json": done.as_dict(),
    })  # fmt: skip
    return told


def accounts(ledger: str) -> list[tuple[str, str, str, str]]:
    """Return the accounts of a ledger: name, budget, spent, remaining.

    >>> accounts("no-such-folder/ledger.db")
    []
    """
    from tightrope.publish import Ledger
    from tightrope.publish.accounts import shown

    if "://" not in ledger and not Path(ledger).is_file():
        return []
    try:
        found = Ledger(ledger).accounts()
    except TightropeError as refused:
        raise Refused("ledger", str(refused)) from None
    return [
        (name, shown(one.budget), shown(one.spent), shown(one.remaining))
        for name, one in found.items()
    ]
