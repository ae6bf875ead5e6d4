r"""The ledger of spent budget.

A request goes through four steps, each a transaction of its own:

1. **reserve**: the amount is set aside, if it fits. Nothing has been read.
2. **charge**: the amount is spent, for good. Only now may data be read.
3. **answer**: one answer is drawn and recorded.
4. The recorded answer, and nothing else, leaves with its receipt.

A crash before 2 leaves a reservation, which the same key takes up again or ``cancel`` frees. A
crash between 2 and 3 leaves a charge without an answer: no draw was recorded, so none has left,
and asking again with the same key draws under the charge that is already paid. A crash after 3
leaves the answer in the ledger, and asking again returns that one. When two processes work on
the same key, the first to record wins and the other returns the recorded answer, not its own.
So at most one answer per charge ever leaves, and none without a charge.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.accounts import (
    CANCELLED,
    CHARGED,
    RELEASED,
    RESERVED,
    Account,
    Charge,
    account_of,
    apply_entry,
)
from tightrope.publish.addresses import LedgerError
from tightrope.publish.amounts import amount_text, budget_of
from tightrope.publish.chain import Entry, digest
from tightrope.publish.receipts import key_beside
from tightrope.publish.store import Store

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from tightrope.publish.ledger_check import LedgerReport

#: Version of the entries' format.
VERSION = 1
#: Longest request key.
KEY_LIMIT = 200


@dataclass(frozen=True)
class Ticket:
    """Where a request stands: its key, its phase and the entry that says so.

    >>> Ticket("k", "charged", Entry.after(None, {})).is_released
    False
    """

    key: str
    phase: str
    entry: Entry

    @property
    def is_released(self) -> bool:
        """Whether an answer is recorded."""
        return self.phase == RELEASED


class Ledger:
    """A ledger that exists already; :meth:`create` makes one.

    Parameters
    ----------
    url
        A file name, ``sqlite:///FILE`` or ``postgresql://…``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> ledger.set_budget("table people", "1")
    >>> charges = [Charge("table people", Fraction(1, 3))]
    >>> ticket = ledger.reserve("first", {"sql": "…"}, charges)
    >>> ledger.remaining("table people")
    Fraction(2, 3)
    >>> _ = ledger.charge("first")
    >>> ledger.answer("first", {"answer": 7}).entry.body["answer"]
    7
    >>> ledger.verify().intact
    True
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path) -> None:
        self.store = Store(url)
        if not self.store.exists:
            raise LedgerError(
                f"{self.store.name}: there is no ledger here; make one with Ledger.create, or "
                "let tightrope release make it with --budget"
            )

    @classmethod
    def create(cls, url: str | Path, *, exist_ok: bool = False) -> Ledger:
        """Make an empty ledger; one that exists is refused, or returned if that is all right.

        A file whose signing key is there while the file is not was a ledger once: it is not
        made anew, because its budgets would start afresh.
        """
        store = Store(url)
        if not store.exists and store.file is not None:
            lost = key_beside(store.file)
            if lost.exists() and not store.exists:
                raise LedgerError(
                    f"{store.name}: the ledger is gone but its key {lost.name} is here: put the "
                    "ledger back, or move the key away to start anew"
                )
        body = {"kind": "open", "id": secrets.token_hex(16), "version": VERSION}

        def first(connection: Connection) -> None:
            _append(store, connection, body)

        try:
            store.create(first)
        except InputError:
            if not exist_ok:
                raise
        return cls(url)

    # -- accounts -------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The number that this ledger got when it was made."""
        with self.store.reading() as connection:
            known = self.store.state(connection).get("ledger")
        if known is None:
            raise LedgerError(f"{self.store.name}: the ledger has lost its number")
        return str(known["id"])

    def account(self, name: str) -> Account | None:
        """Return the account of ``table NAME`` or ``user NAME``, if it has a budget."""
        with self.store.reading() as connection:
            return account_of(self.store.state(connection), name)

    def accounts(self) -> dict[str, Account]:
        """Return every account by name."""
        with self.store.reading() as connection:
            state = self.store.state(connection)
            names = [name for name in state if name.startswith("account:")]
            return {name.removeprefix("account:"): Account.from_dict(state[name]) for name in names}

    def remaining(self, name: str) -> Fraction:
        """Return what is left of a budget."""
        account = self.account(name)
        if account is None:
            raise InputError(f"{name} has no budget in this ledger: set one first")
        return account.remaining

    def set_budget(self, name: str, budget: Fraction | float | str, *, new: bool = False) -> None:
        """Set the budget of an account; ``new`` leaves one that has a budget as it is."""
        amount, stored = budget_of(budget), f"account:{name}"
        _check_account(name)

        def work(connection: Connection) -> None:
            state = self.store.state(connection)
            known = account_of(state, name)
            alike = [] if known else [one for one in state if one.lower() == stored.lower()]
            if alike:
                raise InputError(
                    f"{name} has no budget, {alike[0].partition(':')[2]} has one: write the name "
                    "as it stands in the ledger, because the same people have one budget"
                )
            if known is None or (not new and known.budget != amount):
                body = {"kind": "budget", "account": name, "amount": amount_text(amount)}
                _append(self.store, connection, body)

        self.store.write(work)

    # -- the way of a request -------------------------------------------------------------

    def reserve(self, key: str, request: Mapping[str, Any], charges: Sequence[Charge]) -> Ticket:
        """Set the charges aside, or return where the request with this key stands.

        The same key with another request or other charges is refused.
        """
        _check_key(key)
        if not charges:
            raise InputError("a request must be charged to at least one account, got none")
        plain = [charge.as_dict() for charge in charges]
        print_ = digest({"request": dict(request), "charges": plain})

        def work(connection: Connection) -> Ticket:
            known = self._known(connection, key)
            if known is not None and known["phase"] != CANCELLED:
                if known["request"] != print_:
                    raise InputError(
                        f"the key {key!r} belongs to another request (entry {known['reserve']}): "
                        "use a new key for a new request"
                    )
                return self._ticket(connection, key)
            body = {
                "kind": "reserve",
                "key": key,
                "request": print_,
                "details": dict(request),
                "charges": plain,
            }
            return Ticket(key, RESERVED, _append(self.store, connection, body))

        return self.store.write(work)

    def charge(self, key: str) -> Ticket:
        """Spend what was set aside; a request that is charged already stays as it is."""

        def work(connection: Connection) -> Ticket:
            known = self._known(connection, key)
            if known is not None and known["phase"] in (CHARGED, RELEASED):
                return self._ticket(connection, key)
            entry = _append(self.store, connection, {"kind": "charge", "key": key})
            return Ticket(key, CHARGED, entry)

        return self.store.write(work)

    def answer(self, key: str, content: Mapping[str, Any]) -> Ticket:
        """Record an answer; when one is recorded already, that one is returned."""

        def work(connection: Connection) -> Ticket:
            known = self._known(connection, key)
            if known is not None and known["phase"] == RELEASED:
                return self._ticket(connection, key)
            body = {**content, "kind": "answer", "key": key}
            return Ticket(key, RELEASED, _append(self.store, connection, body))

        return self.store.write(work)

    def cancel(self, key: str) -> None:
        """Free a reservation that was not charged: nothing had been read for it."""

        def work(connection: Connection) -> None:
            _append(self.store, connection, {"kind": "cancel", "key": key})

        self.store.write(work)

    def ticket(self, key: str) -> Ticket | None:
        """Return where a request stands, or ``None`` for an unknown or cancelled key."""
        with self.store.reading() as connection:
            known = self._known(connection, key)
            if known is None or known["phase"] == CANCELLED:
                return None
            return self._ticket(connection, key)

    # -- the whole ------------------------------------------------------------------------

    def head(self) -> Entry:
        """Return the last entry: its hash stands for the whole ledger."""
        with self.store.reading() as connection:
            last = self.store.last(connection)
        if last is None:
            raise LedgerError(f"{self.store.name}: the ledger has lost all its entries")
        return last

    def entries(self) -> Iterator[Entry]:
        """Walk through all entries."""
        with self.store.reading() as connection:
            yield from self.store.entries(connection)

    def verify(self, anchors: Sequence[tuple[int, str]] = ()) -> LedgerReport:
        """Check every entry, every balance and the anchors; see :func:`check_ledger`."""
        from tightrope.publish.ledger_check import check_ledger

        return check_ledger(self, anchors)

    def __repr__(self) -> str:
        return f"Ledger({self.store.name!r})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(a.spent))} of {escape(str(a.budget))} "
            f"spent</td><td>{escape(str(a.remaining))} left</td></tr>"
            for name, a in self.accounts().items()
        )
        return f"<table><caption>ledger of spent budget</caption>{rows}</table>"

    def _known(self, connection: Connection, key: str) -> dict[str, Any] | None:
        return self.store.state(connection).get(f"request:{key}")

    def _ticket(self, connection: Connection, key: str) -> Ticket:
        known = self.store.state(connection)[f"request:{key}"]
        word = {RESERVED: "reserve", CHARGED: "charge", RELEASED: "answer"}[known["phase"]]
        return Ticket(key, known["phase"], self.store.entry(connection, known[word]))


def _append(store: Store, connection: Connection, body: Mapping[str, Any]) -> Entry:
    last, state = store.last(connection), store.state(connection)
    end = None if last is None else {"position": last.position, "hash": last.hash}
    if state.get("head") != end or not (last is None or last.is_whole):
        raise LedgerError(
            f"{store.name}: the end of the ledger was altered, so nothing is added to it: "
            "'tightrope ledger verify' says what is wrong"
        )
    entry = Entry.after(last, body)
    apply_entry(state, entry.position, body)
    store.append(connection, entry)
    state["head"] = {"position": entry.position, "hash": entry.hash}
    state.save()
    return entry


def _check_key(key: str) -> None:
    if not isinstance(key, str) or not key.strip() or len(key) > KEY_LIMIT or not key.isprintable():
        raise InputError(
            f"a request key is a printable text of 1 to {KEY_LIMIT} characters, got {key!r:.60}"
        )


def _check_account(name: str) -> None:
    kind, _, rest = name.partition(" ")
    if kind not in ("table", "user") or not rest or not rest.isprintable():
        raise InputError(f"an account is 'table NAME' or 'user NAME', got {name!r:.80}")
