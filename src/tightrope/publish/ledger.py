r"""The ledger of spent budget.

A request goes through four steps, each a transaction of its own:

1. **reserve**: the amount is set aside, if it fits. Nothing has been read.
2. **charge**: the amount is spent, for good. Only now may data be read.
3. **answer**: one answer is drawn and recorded.
4. The recorded answer, and nothing else, leaves with its receipt.

Steps 2 and 3 act on a :class:`Ticket`, the position and the hash of the reservation, never on a
key alone. A crash before 2 leaves a reservation, which the same request takes up again, ``cancel``
frees, or time ends: an expired reservation cannot be charged. A crash between 2 and 3 leaves a
charge without an answer: no draw was recorded, so none has left, and asking again with the same
key draws under the charge that is already paid. A crash after 3 leaves the answer in the ledger,
and asking again returns that one. When two processes work on the same ticket, the first to record
wins and the other returns the recorded answer, not its own. So at most one answer per charge ever
leaves, and none without a charge.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from tightrope.accounting.curves import delta_of
from tightrope.errors import InputError
from tightrope.publish.accounts import (
    Account,
    Binding,
    Charge,
    budget_of,
    check_account,
    exactly,
)
from tightrope.publish.entries import (
    CHARGED,
    FREED,
    RELEASED,
    Entry,
    LedgerError,
    Replay,
    account_of,
    accounts_of,
    known_account,
    later,
    plain,
    request_digest,
)
from tightrope.publish.receipts import key_beside
from tightrope.publish.store import Store, Transaction
from tightrope.texts import html_table

#: Version of the entries' format.
VERSION = 3


@dataclass(frozen=True)
class Ticket:
    """Where a request stands, and the reservation that its next step acts on.

    Attributes
    ----------
    key, position, hash
        The request key, and where its reservation stands.
    phase
        ``reserved``, ``charged`` or ``released``.
    entry
        The entry that says so.
    own
        Whether this call made the reservation. Who joined another's does not cancel it.
    """

    key: str
    position: int
    hash: str
    phase: str
    entry: Entry
    own: bool = False

    @property
    def is_released(self) -> bool:
        """Whether an answer is recorded."""
        return self.phase == RELEASED

    def step(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return the body of an entry that acts on this reservation."""
        return {
            **more,
            "kind": kind,
            "key": self.key,
            # Position and hash: a key alone could act on a later reservation of the same key.
            "reservation": [self.position, self.hash],
        }


class Ledger:
    """A ledger that exists already; :meth:`create` makes one.

    Parameters
    ----------
    url
        A file name, ``sqlite:///FILE`` or ``postgresql://…``.
    hold
        Seconds after which a reservation that was not charged is free again. A release needs
        that long between finding its source and starting to read: the default is generous.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> ledger.set_budget("table people", "1")
    >>> ticket = ledger.reserve("first", {"sql": "…"}, [Charge("table people", Fraction(1, 3))])
    >>> ledger.remaining("table people")
    Fraction(2, 3)
    >>> _ = ledger.charge(ticket)
    >>> ledger.answer(ticket, 7).entry.body["answer"]
    7
    >>> ledger.verify().intact
    True
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path, *, hold: float = 600.0) -> None:
        self.store = Store(url)
        self.hold = hold
        if not self.store.exists:
            raise LedgerError(
                f"{self.store.name}: there is no ledger here; make one with "
                "'tightrope ledger init', or let ask or release make it: give --budget, or set "
                "budget in the public facts"
            )
        version = VERSION
        # Never refuse to open a damaged ledger: verification is how the damage gets diagnosed.
        with contextlib.suppress(LedgerError), self.store.reading() as look:
            # A ledger that is damaged here is opened all the same, to be verified.
            version = look.state.get("ledger", {}).get("version", VERSION)
        if version != VERSION:
            raise LedgerError(
                f"{self.store.name}: this ledger is of format {version}, and this program writes "
                f"format {VERSION}: go on with the program that wrote it, or start a new ledger"
            )

    @classmethod
    def create(
        cls, url: str | Path, *, exist_ok: bool = False, hold: float = 600.0
    ) -> Ledger:
        """Make an empty ledger; one that exists is refused, or returned if that is all right.

        A file whose signing key is there while the file is not was a ledger once: it is not
        made anew, because its budgets would start afresh.
        """
        store = Store(url)
        # Threat: delete the file and start again with the full budget; the key left behind tells.
        if not store.exists and store.file is not None:
            lost = key_beside(store.file)
            if lost.exists() and not store.exists:
                raise LedgerError(
                    f"{store.name}: the ledger is gone but its key {lost.name} is here: put the "
                    "ledger back, or move the key away to start anew"
                )
        body = {"kind": "open", "id": secrets.token_hex(16), "version": VERSION}
        try:
            # One transaction makes the tables and the first entry, so two creators cannot both
            # succeed.
            store.create(lambda transaction: transaction.append(body))
        except InputError:
            if not exist_ok:
                raise
        return cls(url, hold=hold)

    # -- accounts -------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The number that this ledger got when it was made."""
        with self.store.reading() as look:
            known = look.state.get("ledger")
        if known is None:
            raise LedgerError(f"{self.store.name}: the ledger has lost its number")
        return str(known["id"])

    def account(self, name: str) -> Account | None:
        """Return the account of ``table NAME`` or ``user NAME``, if it has a budget."""
        with self.store.reading() as look:
            return account_of(look.state, name)

    def accounts(self) -> dict[str, Account]:
        """Return every account by name."""
        with self.store.reading() as look:
            return accounts_of(look.state)

    def remaining(self, name: str) -> Fraction:
        """Return what is left of a budget."""
        with self.store.reading() as look:
            return known_account(look.state, name).remaining

    def set_budget(
        self,
        name: str,
        budget: Fraction | float | str,
        delta: Fraction | float | str | None = None,
    ) -> None:
        r"""Set the budget of an account, with a :math:`\delta` for series and for groups."""
        # Parse before the transaction: bad input must not hold the write lock.
        amount = budget_of(budget)
        spare = None if delta is None else delta_of(delta)

        def work(change: Transaction) -> None:
            known = account_of(change.state, name)
            # A δ that is not given is kept, not reset to 0.
            slack = (
                spare if spare is not None else known.delta if known else Fraction(0)
            )
            # Setting the same budget twice writes no entry, so that scripts may be run again.
            if known is None or (known.budget, known.delta) != (amount, slack):
                _budget(change, name, amount, slack)

        self.store.write(work)

    def declare_series(self, body: Mapping[str, Any]) -> Entry:
        """Declare a series of releases and pay for all of it.

        Parameters
        ----------
        body
            What :func:`~tightrope.publish.series.series_entry` made.

        Examples
        --------
        >>> import tempfile
        >>> from tightrope.publish.series import series_entry
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
        >>> ledger.set_budget("table people", 1, "1e-6")
        >>> daily = series_entry("table people", "daily", [("0.01", 562)], "1e-6")
        >>> float(Fraction(ledger.declare_series(daily).body["epsilon"])) < 1
        True
        >>> folder.cleanup()
        """
        return self.store.write(lambda change: change.append(body))

    def accept_facts(self, name: str, facts: str) -> bool:
        """Record that the facts of a table have changed; return whether that was news."""

        def work(change: Transaction) -> bool:
            known = account_of(change.state, name)
            if known is None or known.bound is None or known.bound.facts == facts:
                return False
            change.append({"kind": "facts", "account": name, "facts": facts})
            return True

        return self.store.write(work)

    # -- the way of a request -------------------------------------------------------------

    def reserve(
        self,
        key: str,
        request: Mapping[str, Any],
        charges: Sequence[Charge],
        *,
        binding: Binding | None = None,
        budgets: Mapping[str, Fraction | None] | None = None,
        deltas: Mapping[str, Fraction | None] | None = None,
    ) -> Ticket:
        """Set the charges aside, or return where the request with this key stands.

        Parameters
        ----------
        key
            Names the request. The same key with another request or other charges is refused.
        request
            What is asked, for the ledger and the receipt.
        charges
            What it costs, the table first.
        binding
            The data behind the first charge's account, which belongs to that data alone.
        budgets, deltas
            Budgets of accounts, as declared: new accounts get them, and the ledger's must agree.
        """
        check_key(key)
        if not charges:
            raise InputError(
                "a request must be charged to at least one account, got none"
            )
        # Canonical plain data: the same charges always have the same digest.
        asked = plain(tuple(charges))

        def work(change: Transaction) -> Ticket:
            known = change.state.get(f"request:{key}")
            # The digest covers request and charges: a reused key cannot fetch a cheaper or other
            # answer.
            same = known is not None and known["request"] == request_digest(
                request, asked
            )
            # A recorded answer is returned without any check of budgets: it has been paid for.
            if known is not None and known["phase"] == RELEASED and same:
                return self._ticket(change, key)
            # Expire first, so that forgotten reservations do not block the budget of this one.
            self._expire(change)
            for account, budget in (budgets or {}).items():
                _agree(change, account, budget, (deltas or {}).get(account))
            # The binding ties the account to one data set: the same budget cannot pay for other
            # rows.
            if binding is not None:
                _bind(change, charges[0].account, binding)
            # Read again: expiry may have freed this very key.
            known = change.state.get(f"request:{key}")
            if known is not None and known["phase"] != FREED:
                if not same:
                    raise InputError(
                        f"the key {key!r} belongs to another request (entry "
                        f"{known['reservation'][0]}): use a new key for a new request"
                    )
                return self._ticket(change, key)
            # Appending checks the balance: the state machine refuses what does not fit.
            entry = change.append({
                "kind": "reserve",
                "key": key,
                "request": dict(request),
                "charges": asked,
                "expires": later(_time(change), timedelta(seconds=self.hold)),
            })  # fmt: skip
            return replace(self._ticket(change, key), entry=entry, own=True)

        return self.store.write(work)

    def charge(self, ticket: Ticket) -> Ticket:
        """Spend what was set aside; a request that is charged already stays as it is."""

        def work(change: Transaction) -> Ticket:
            # Idempotent: charging twice, by two processes or after a crash, costs once.
            if self._phase(change, ticket) not in (CHARGED, RELEASED):
                change.append(ticket.step("charge"))
            return self._ticket(change, ticket.key)

        return self.store.write(work)

    def answer(self, ticket: Ticket, answer: Any) -> Ticket:
        """Record an answer; when one is recorded already, that one is returned."""

        def work(change: Transaction) -> Ticket:
            # First answer wins. A second draw under one charge would leak twice for one price.
            if self._phase(change, ticket) != RELEASED:
                held = change.entry(ticket.position).body
                change.append({
                    **held.get("request", {}),
                    **ticket.step("answer", charges=held.get("charges"), answer=answer),
                })  # fmt: skip
            return self._ticket(change, ticket.key)

        return self.store.write(work)

    def cancel(self, ticket: Ticket) -> None:
        """Free a reservation that was not charged: nothing had been read for it."""
        # The state machine refuses to cancel a charge: data may have been read under it.
        self.store.write(lambda change: change.append(ticket.step("cancel")))

    def ticket(self, key: str) -> Ticket | None:
        """Return where a request stands, or ``None`` for an unknown or freed key."""
        with self.store.reading() as look:
            known = look.state.get(f"request:{key}")
            return (
                None
                if known is None or known["phase"] == FREED
                else self._ticket(look, key)
            )

    def _phase(self, change: Transaction, ticket: Ticket) -> str | None:
        """Return the phase of the reservation of a ticket, if the key is still its own."""
        known = change.state.get(f"request:{ticket.key}")
        # A freed key may be in use again by another reservation; that one is not ours to touch.
        held = [ticket.position, ticket.hash]
        return (
            known["phase"]
            if known is not None and known["reservation"] == held
            else None
        )

    def _ticket(self, look: Transaction, key: str) -> Ticket:
        known = look.state[f"request:{key}"]
        position, number = known["reservation"]
        return Ticket(key, position, number, known["phase"], look.entry(known["entry"]))

    def _expire(self, change: Transaction) -> None:
        """Free every reservation whose time is over."""
        now = _time(change)
        for key, expires in change.state.get("open", {}).items():
            # ISO times in UTC with fixed width compare as texts.
            if expires < now:
                change.append(self._ticket(change, key).step("expire"))

    # -- the whole ------------------------------------------------------------------------

    def head(self) -> Entry:
        """Return the last entry: its hash stands for the whole ledger."""
        with self.store.reading() as look:
            last = look.last()
        if last is None:
            raise LedgerError(f"{self.store.name}: the ledger has lost all its entries")
        return last

    def entries(self) -> Iterator[Entry]:
        """Walk through all entries."""
        with self.store.reading() as look:
            yield from look.entries()

    def paid(self) -> tuple[list[Entry], list[str]]:
        """Return the answers that were paid for, and the keys of requests that have none yet.

        Such a request was charged before its process ended: asked again with its key, it is
        answered and costs nothing more.
        """
        answers: list[Entry] = []
        waiting: dict[str, None] = {}
        for entry in self.entries():
            if entry.kind == "charge":
                waiting[entry.body["key"]] = None
            # An answer removes its charge from the waiting list; what remains can be asked again
            # free.
            elif entry.kind == "answer":
                waiting.pop(entry.body["key"], None)
                answers.append(entry)
        return answers, list(waiting)

    def verify(
        self, anchors: Sequence[tuple[int, str]] = (), *, most: int = 20
    ) -> LedgerReport:
        """Check the ledger from its first entry to its last.

        Altered, removed, inserted and reordered entries break the chain of hashes. The state
        machine is run again: every step must follow from the one before it, every answer must
        repeat the request and the amounts of its own reservation, no reservation may be charged
        after it expired. Balances and requests are compared with the stored ones. Entries cut off
        at the end, together with the balances, leave a ledger that is whole up to there: that is
        found only with an *anchor*, a position and a hash that were seen earlier. Every receipt
        holds one.

        Parameters
        ----------
        anchors
            Pairs of a position and a hash that this ledger must contain.
        most
            The number of reasons after which the check stops.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
        >>> ledger.verify().intact, ledger.verify([(2, "0" * 64)]).reasons
        (True, ('entry 2 is missing: the ledger ends at entry 1, so its end was cut off',))
        >>> folder.cleanup()
        """
        # Replay computes balances from the entries alone, so altered balances cannot hide.
        replay = Replay()
        with self.store.reading() as look:
            for entry in look.entries():
                replay.add(entry)
                # After this many findings the rest are most likely consequences.
                if len(replay.reasons) >= most:
                    break
            kept = look.state.kept()
        if not replay.position:
            replay.reasons.append("the ledger has no entries")
        if len(replay.reasons) < most:
            # The head is part of the stored state and must equal the last entry that was replayed.
            computed = {
                **replay.state,
                "head": {"position": replay.position, "hash": replay.hash},
            }
            replay.reasons += _differences(computed, kept)[:most]
            replay.reasons += _missing_anchors(replay.hashes, anchors)
        # Report what the entries say: the stored balances are what is under test.
        accounts = accounts_of(replay.state)
        return LedgerReport(
            replay.position, replay.hash, tuple(replay.reasons), accounts
        )

    def __repr__(self) -> str:
        return f"Ledger({self.store.name!r})"

    def _repr_html_(self) -> str:
        return html_table(self.accounts().items(), caption="ledger of spent budget")


def _budget(
    change: Transaction, name: str, amount: Fraction, delta: Fraction = Fraction(0)
) -> None:
    check_account(name)
    body = {"kind": "budget", "account": name, "amount": str(amount)}
    # δ = 0 is the default when an entry is read, so it is left out.
    change.append(body | ({"delta": str(delta)} if delta else {}))


def _agree(
    change: Transaction, name: str, budget: Fraction | None, delta: Fraction | None
) -> None:
    """Give a new account its budget; refuse one that contradicts the ledger."""
    account = account_of(change.state, name)
    if account is None:
        if budget is None:
            raise InputError(
                f"{name} has no budget: set one in the public facts, or give budget"
            )
        _budget(change, name, budget, delta or Fraction(0))
        return
    # Two sources for one number must agree; silently preferring one would change the guarantee.
    if delta not in (None, account.delta):
        raise InputError(
            f"{name} has δ = {float(account.delta):g} in the ledger, not {float(delta or 0):g}: "
            "change it with 'tightrope ledger budget … --delta', or correct the facts"
        )
    if budget is not None and account.budget != budget:
        raise InputError(
            f"{name} has the budget {exactly(account.budget)} in the ledger, not "
            f"{exactly(budget)}: change it with 'tightrope ledger budget', or correct the facts"
        )


def _bind(change: Transaction, name: str, binding: Binding) -> None:
    if known_account(change.state, name).bound != binding:
        change.append({"kind": "bind", "account": name, "binding": plain(binding)})


def _time(change: Transaction) -> str:
    """Return the time that the next entry will have."""
    last = change.last()
    # Never earlier than the last entry, even if the clock was set back.
    return change.now() if last is None else last.time_at(change.now())


def check_key(key: str, longest: int = 200) -> None:
    """Refuse a request key that is no plain text."""
    if (
        not isinstance(key, str)
        or not key.strip()
        or len(key) > longest
        # Keys are shown in messages and receipts: control characters could forge lines.
        or not key.isprintable()
    ):
        raise InputError(
            f"a request key is a printable text of 1 to {longest} characters, got {key!r:.60}"
        )


# -- verification -------------------------------------------------------------------------


@dataclass(frozen=True)
class LedgerReport:
    """What the check of a ledger found.

    Attributes
    ----------
    intact
        Whether nothing was found.
    entries
        The number of entries.
    head
        The hash of the last entry.
    reasons
        What is wrong, where.
    accounts
        The accounts as the entries say, not as the stored balances say.

    Examples
    --------
    >>> LedgerReport(0, "", ("entry 3 was altered",)).intact
    False
    """

    entries: int
    head: str
    reasons: tuple[str, ...]
    accounts: dict[str, Account] = field(default_factory=dict)

    @property
    def intact(self) -> bool:
        """Whether nothing wrong was found."""
        return not self.reasons


def _differences(computed: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    # The union of names: a removed state is a difference as much as an added one.
    wrong = [
        name for name in {*computed, *stored} if computed.get(name) != stored.get(name)
    ]
    differing = [
        "the end of the ledger" if name == "head" else f"the stored {name}"
        for name in wrong
    ]
    return sorted(f"{what} is not what the entries say" for what in differing)


def _missing_anchors(
    hashes: list[str], anchors: Sequence[tuple[int, str]]
) -> list[str]:
    reasons = []
    for position, wanted in anchors:
        # Truncation leaves a valid chain, so only an anchor from outside can show it.
        if position > len(hashes):
            reasons.append(
                f"entry {position} is missing: the ledger ends at entry {len(hashes)}, so its end "
                "was cut off"
            )
        elif position < 1 or hashes[position - 1] != wanted:
            reasons.append(
                f"entry {position} is not the one that was seen earlier: the ledger was written "
                "anew"
            )
    return reasons
