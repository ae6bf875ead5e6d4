"""``tightrope ledger``: show, verify and export what was spent."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tightrope as tr
from tightrope.cli.output import json_wanted, tell
from tightrope.errors import whole_number

if TYPE_CHECKING:
    from tightrope.publish.entries import Entry


def show(url: str = "ledger.db", *, last: int = 20) -> None:
    """Show the budgets, what is left, and the published answers.

    Parameters
    ----------
    last : N
        How many of the newest answers to list.

    Examples:
      tightrope ledger show
      tightrope ledger show ledger.db --last 100
    """
    from tightrope.publish.entries import plain

    ledger = tr.Ledger(url)
    head = ledger.head()
    accounts = ledger.accounts()
    paid, waiting = ledger.paid()
    # The last ones, also where fewer exist; --last 0 lists none.
    newest = paid[max(len(paid) - whole_number(last, "--last", 0), 0) :]
    amounts = ("budget", "spent", "remaining", "delta", "spent_delta")
    listed = ("key", "query", "epsilon", "asked", "sql", "user", "answer", "charges")
    data = {
        "ledger": ledger.id,
        "entries": head.position,
        "head": head.hash,
        "time": head.time,
        "accounts": {
            name: {
                **{what: str(getattr(account, what)) for what in amounts},
                "series": plain(account.series),
                "source": str(account.bound.source) if account.bound else None,
                "neighbours": account.bound.neighbours if account.bound else None,
            }
            for name, account in accounts.items()
        },
        "answers": [
            {"position": entry.position, "time": entry.time, "hash": entry.hash}
            | {word: entry.body.get(word) for word in listed}
            | {"follows": entry.body.get("follows", {}).get("key")}
            for entry in newest
        ],
        "unanswered": waiting,
    }

    rows = {name: str(account) for name, account in accounts.items()}
    for account in accounts.values():
        rows |= {
            f"series {name}": str(series) for name, series in account.series.items()
        }
    rows |= {"entries": str(head.position), "head": head.hash, "last": head.time}
    rows["answers"] = str(len(paid)) if paid else "none yet"
    bodies = {entry.body["key"]: entry.body for entry in paid}
    rows |= {f"  {entry.position}": _published(entry, bodies) for entry in newest}
    if waiting:
        keys = ", ".join(waiting[:last])
        rows["paid, not answered"] = (
            f"{keys} (asked again with its key, a request costs nothing more)"
        )
    tell(data, f"ledger {ledger.store.name}", rows)


def _published(entry: Entry, bodies: Mapping[str, Mapping[str, Any]]) -> str:
    """Say what was published when, to whom, for how much, and the question behind it."""
    from tightrope.asking.answers import published_numbers
    from tightrope.asking.cache import drawn_from
    from tightrope.publish.accounts import shown

    body = entry.body
    answer = str(published_numbers(body, drawn_from(body, bodies)))
    cost = shown(Fraction(body["charges"][0]["amount"]))
    user = f" by {body['user']}" if body.get("user") else ""
    chain = ""
    if "follows" in body:
        # What it costs is the difference; the level is that of the chain up to here.
        chain = f", sharpens {body['follows']['key']} to ε = {body['level']}"
    return "\n".join([
        # A table of many groups would fill the screen; the receipt holds all of it.
        answer if len(answer) <= 160 else f"{answer[:159]}…",
        str(body.get("asked") or body.get("sql") or body.get("query")),
        f"{entry.time[:10]} {entry.time[11:16]}{user}, ε = {cost}, key {body['key']}{chain}",
    ])  # fmt: skip


def verify(
    url: str = "ledger.db",
    *,
    receipt: list[Path] | None = None,
    head: list[str] | None = None,
) -> None:
    """Prove that nothing in a ledger was altered or removed.

    The steps are run again from the first entry: every answer must repeat the request and the
    amounts of its own reservation, and no reservation may be charged after it expired.

    A ledger whose end was cut off is valid up to that point. To notice that, name something
    that was seen earlier: a receipt, or the head that 'ledger show' printed.

    Parameters
    ----------
    receipt : FILE
        A receipt that the ledger must contain; may be given several times.
    head : POSITION:HASH
        An entry that was seen earlier and must still be there.

    Examples:
      tightrope ledger verify ledger.db --receipt answer.json
    """
    from tightrope.publish.receipts import anchors_of_receipts, read_anchor

    ledger = tr.Ledger(url)
    # Receipts are verified first: a forged one must not vouch for a ledger.
    seen = anchors_of_receipts(receipt, ledger.id) if receipt else []
    anchors = [*seen, *map(read_anchor, head or [])]
    report = ledger.verify(anchors)
    data = {
        "intact": report.intact,
        "entries": report.entries,
        "head": report.head,
        "anchors": len(anchors),
        "reasons": list(report.reasons),
        "remaining": {name: str(a.remaining) for name, a in report.accounts.items()},
    }

    rows = {
        "intact": "yes" if report.intact else "no",
        "entries": str(report.entries),
        "head": report.head,
        # Found only if nothing failed: a missing anchor is among the reasons.
        "anchors": f"{len(anchors)} found" if report.intact else str(len(anchors)),
    }
    series = sum(len(account.series) for account in report.accounts.values())
    rows |= {"series": f"{series} composed again"} if series else {}
    lines = [f"FAILS: {reason}." for reason in report.reasons]
    tell(data, f"ledger {ledger.store.name}", rows, lines)
    if not report.intact:
        # The exit code is the verdict, for scripts.
        raise typer.Exit(1)


def export(url: str = "ledger.db", *, out: Path | None = None) -> None:
    """Export every entry of a ledger as JSON lines.

    With --json, as one JSON object.

    Parameters
    ----------
    out : FILE
        Write into a file, not to the terminal.

    Examples:
      tightrope ledger export ledger.db --out ledger.jsonl
    """
    from tightrope.files import write_text

    # As stored, so that anybody can recompute the hashes.
    entries = [entry.as_dict() for entry in tr.Ledger(url).entries()]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    if out is not None:
        write_text(out, lines)
    if json_wanted.get():
        print(json.dumps({"entries": entries}))
    elif out is None:
        sys.stdout.write(lines)


def budget(url: str, account: str, amount: str, *, delta: str | None = None) -> None:
    """Set the budget of a table or a user.

    The change is an entry of the ledger.

    A ledger that does not exist yet is made. A budget cannot be less than what is spent.

    Parameters
    ----------
    account : ACCOUNT
        'table NAME' or 'user NAME'.
    amount : E
        The new budget: 2, 1/3 or 3*ln(2).
    delta : D
        The δ that goes with it, for series and for groups that nobody declared.

    Examples:
      tightrope ledger budget ledger.db "table people" 2
      tightrope ledger budget ledger.db "table people" 1 --delta 1e-6

    >>> budget("ledger.db", "people", "lots")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), at most ...
    """
    from tightrope.publish.accounts import budget_of, shown
    from tightrope.publish.releasing import open_ledger

    # Read before the ledger is made: a typo must not leave an empty one behind.
    level = budget_of(amount)
    ledger = open_ledger(url, {account: level})
    ledger.set_budget(account, level, delta)
    known = ledger.account(account)
    left, slack = (known.remaining, known.delta) if known else (level, Fraction(0))
    data = {"account": account, "budget": str(level), "remaining": str(left)}

    rows = {"budget": shown(level), "remaining": shown(left)}
    if slack:
        data["delta"] = str(slack)
        rows["δ"] = f"{float(slack):g}"
    tell(data, account, rows)


def series(
    url: str,
    account: str,
    name: str,
    *,
    step: list[str],
    delta: str,
    epsilon: str | None = None,
    dry_run: bool = False,
) -> None:
    """Declare a series of releases, cheaper than the sum of its ε.

    Levels, or mechanisms, are fixed now; questions and their order are chosen as one goes, each
    with 'tightrope release … --series NAME'. The account pays ε and δ for the whole series at once:
    the exact composition of the privacy losses, which 'ledger verify' computes again. A level that
    was not declared is refused: for levels chosen as one goes only the sum is safe.

    Parameters
    ----------
    account : ACCOUNT
        'table NAME' or 'user NAME'; it has a budget with a δ.
    name : NAME
        What the series is called.
    step : KIND
        How many releases of what, 100x0.1 or 20xcount.tightrope; may be given several times. One
        level alone, 0.1, with --epsilon: as many as it holds.
    delta : D
        The δ of the series, such as 1e-6.
    epsilon : E
        The ε of the series; the least that δ allows by default.
    dry_run
        Show what it would cost; the ledger stays as it is, and need not be there.

    Examples:
      tightrope ledger series ledger.db "table people" daily \\
          --step 100x0.1 --delta 1e-6
      tightrope ledger series ledger.db "table people" daily \\
          --step 0.01 --epsilon 1 --delta 1e-6
    """
    from tightrope.accounting.curves import delta_of
    from tightrope.publish.accounts import shown
    from tightrope.publish.series import read_steps, series_entry, series_of

    spare = delta_of(delta)
    # Composed before anything is written: it may take a while, and may be refused.
    body = series_entry(account, name, read_steps(step, epsilon, spare), spare, epsilon)
    made = series_of(body["steps"], Fraction(body["epsilon"]), spare)
    left = None
    if not dry_run:
        ledger = tr.Ledger(url)
        ledger.declare_series(body)
        left = ledger.remaining(account)
    data = {
        **body,
        "sum": str(made.total),
        "remaining": None if left is None else str(left),
    }
    for one in data["steps"]:
        # A curve has thousands of numbers; the ledger keeps it.
        one.pop("curve", None)

    rows = {
        "costs": f"ε = {shown(made.epsilon)} with δ = {float(spare):g}",
        "instead of": f"{shown(made.total)}, the sum of {made.left} releases",
        "remaining": "nothing is paid yet" if left is None else shown(left),
    }
    tell(data, f"series {name} of {account}", rows)


def init(url: str) -> None:
    """Make an empty ledger; an existing one is refused.

    A release makes a missing ledger by itself when it knows a budget, unless TIGHTROPE_KEY names
    a signing key that exists: then a ledger may have been lost, and only this command replaces it.

    Examples:
      tightrope ledger init ledger.db
    """
    ledger = tr.Ledger.create(url)
    data = {
        "ledger": ledger.id,
        "entries": ledger.head().position,
        "head": ledger.head().hash,
    }

    tell(data, f"ledger {ledger.store.name}", {k: str(v) for k, v in data.items()})


def facts(url: str = "ledger.db", *, facts: Path | None = None) -> None:
    """Record that the public facts of a table have changed.

    That is the population, or which partitions are fixed.

    An account is bound to these at its first use, so that nobody who asks can bring other facts.

    Parameters
    ----------
    facts : FILE
        The public facts; tightrope.toml here.

    Examples:
      tightrope ledger facts ledger.db --facts tightrope.toml
    """
    from tightrope.publish.facts import FACTS_FILE, read_facts
    from tightrope.publish.releasing import facts_digest

    ledger = tr.Ledger(url)
    known = read_facts(facts or FACTS_FILE)
    everyone = known.tables.values()
    digests = {
        table.account: facts_digest(
            table, [one for one in everyone if one.account == table.account]
        )
        for table in everyone
        # Events share the account of their people; public tables have none.
        if table.people is None and not table.public
    }
    changed = [
        name for name, number in digests.items() if ledger.accept_facts(name, number)
    ]

    rows = {"recorded for": ", ".join(changed) or "none, nothing changed"}
    tell({"accounts": changed}, f"ledger {ledger.store.name}", rows)
