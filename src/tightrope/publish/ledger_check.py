"""Verification of a ledger: every hash, every balance, every anchor, computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.publish.accounts import Account, apply_entry
from tightrope.publish.addresses import LedgerError
from tightrope.publish.chain import NOTHING_BEFORE, Entry

if TYPE_CHECKING:
    from tightrope.publish.ledger import Ledger

#: Number of reasons after which the check stops.
REASON_LIMIT = 20


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


class Replay:
    """Checks entries one after another and keeps the state that they lead to.

    >>> replay = Replay()
    >>> replay.add(Entry.after(None, {"kind": "open", "id": "a", "version": 1}))
    >>> replay.reasons, replay.position
    ([], 1)
    """

    def __init__(self) -> None:
        self.state: dict[str, dict[str, Any]] = {}
        self.reasons: list[str] = []
        self.position = 0
        self.hash = NOTHING_BEFORE
        self.hashes: list[str] = []
        self._time = ""

    def add(self, entry: Entry) -> None:
        """Check one entry against all before it."""
        here = f"entry {entry.position}"
        if entry.position != self.position + 1:
            self.reasons.append(
                f"{here} follows entry {self.position}: entries are missing or out of order"
            )
        elif entry.previous != self.hash:
            self.reasons.append(
                f"{here} does not follow the entry before it: one of them was altered, removed "
                "or moved"
            )
        if not entry.is_whole:
            self.reasons.append(f"{here} was altered: its hash is not that of its content")
        if entry.time < self._time:
            self.reasons.append(f"{here} is older than the entry before it")
        if entry.position == 1 and entry.kind != "open":
            self.reasons.append("entry 1 does not open a ledger")
        try:
            apply_entry(self.state, entry.position, entry.body)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as wrong:
            self.reasons.append(f"{here} could not have been written: {wrong}")
        self.position, self.hash, self._time = entry.position, entry.hash, entry.time
        self.hashes.append(entry.hash)

    @property
    def is_hopeless(self) -> bool:
        """Whether so much is wrong that more reasons would not help."""
        return len(self.reasons) >= REASON_LIMIT


def check_ledger(ledger: Ledger, anchors: Sequence[tuple[int, str]] = ()) -> LedgerReport:
    """Check a ledger from its first entry to its last.

    Altered, removed, inserted and reordered entries break the chain of hashes. Balances and
    requests are computed again from the entries and compared with the stored ones. Entries cut
    off at the end, together with the balances, leave a ledger that is whole up to there: that is
    found only with an *anchor*, a position and a hash that were seen earlier. Every receipt
    holds one.

    Parameters
    ----------
    ledger
        The ledger.
    anchors
        Pairs of a position and a hash that this ledger must contain.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.publish.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> check_ledger(ledger).intact, check_ledger(ledger, [(2, "0" * 64)]).reasons
    (True, ('entry 2 is missing: the ledger ends at entry 1, so its end was cut off',))
    >>> folder.cleanup()
    """
    replay = Replay()
    with ledger.store.reading() as connection:
        for entry in ledger.store.entries(connection):
            replay.add(entry)
            if replay.is_hopeless:
                break
        stored = ledger.store.state(connection)
        kept: dict[str, Any] = {}
        for name in list(stored):
            try:
                kept[name] = stored[name]
            except LedgerError:
                kept[name] = "damaged"
    if not replay.position:
        replay.reasons.append("the ledger has no entries")
    replay.state["head"] = {"position": replay.position, "hash": replay.hash}
    if not replay.is_hopeless:
        replay.reasons += _differences(replay.state, kept)
        replay.reasons += _missing_anchors(replay.hashes, anchors)
    accounts = {
        name.removeprefix("account:"): Account.from_dict(value)
        for name, value in sorted(replay.state.items())
        if name.startswith("account:")
    }
    return LedgerReport(replay.position, replay.hash, tuple(replay.reasons), accounts)


def _differences(computed: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    reasons = []
    for name in sorted({*computed, *stored}):
        if computed.get(name) != stored.get(name):
            what = "the end of the ledger" if name == "head" else f"the stored {name}"
            reasons.append(f"{what} is not what the entries say")
    return reasons[:REASON_LIMIT]


def _missing_anchors(hashes: list[str], anchors: Sequence[tuple[int, str]]) -> list[str]:
    reasons = []
    for position, wanted in anchors:
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


def require_intact(report: LedgerReport) -> None:
    """Raise when a report says that something is wrong.

    >>> require_intact(LedgerReport(1, "", ()))
    """
    if not report.intact:
        raise LedgerError(f"the ledger is damaged: {report.reasons[0]}")
