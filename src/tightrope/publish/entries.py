r"""Entries of a ledger, each holding the hash of the one before it, and what they mean.

The hash of entry k is SHA-256 over the canonical JSON of its position, the previous hash, its
time and its body. Whoever changes, removes or moves an entry changes every later hash. The hash
of the last entry (the *head*) therefore stands for the whole ledger up to there; a copy of it
kept elsewhere, as every receipt is one, shows whether the tail was cut off or written anew.

Budgets, accounts and requests are a pure function of the entries. The state is a mapping from
names to small JSON objects: ``account:…`` for each table and each user, ``source:…`` for each
name of data that has an account, ``request:…`` for each request key, ``open`` for the
reservations that are neither charged nor freed. :func:`apply_entry` is the only thing that
changes it, for a living ledger and for one that is being verified alike:

======== ==================== =========== ===================================================
entry    acts on a request    that is now if
======== ==================== =========== ===================================================
reserve  without reservation  reserved    the charges fit into the budgets
charge   reserved             charged     its reservation has not expired
answer   charged              released    request and charges are those of its reservation
cancel   reserved             freed       always
expire   reserved             freed       its reservation has expired
======== ==================== =========== ===================================================

``series`` declares many releases that are paid for at once: its statement must be what composing
them again gives. Their charges take places in it.

Every step but the first names the position and the hash of its reservation. A key alone says
nothing: somebody else may have reserved it anew in the meantime.

A request that ``follows`` another one sharpens its answer. It names the key and the reservation of
that one, and its own key is the next of the chain (:func:`next_key`): so no answer is sharpened
twice, and a finer one is recorded only after the one that it follows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tightrope.errors import InputError, TightropeError
from tightrope.publish.accounts import (
    Account,
    Binding,
    Charge,
    SourceIdentity,
    folded_name,
    read_amount,
    shown,
)
from tightrope.publish.series import composed, series_of, statement

State = MutableMapping[str, dict[str, Any]]

#: What a request goes through; a freed one is as if it had never been.
RESERVED = "reserved"
CHARGED = "charged"
RELEASED = "released"
FREED = "freed"
#: What an answer's entry says beside the request that it answers.
STEP_WORDS = frozenset({"kind", "key", "reservation", "charges", "answer", "clock"})
#: What the first entry holds in the place of the hash of the entry before it.
NOTHING_BEFORE = "0" * 64


class LedgerError(TightropeError):
    """The ledger could not be reached, read or written; nothing was half done.

    >>> from tightrope.publish.ledger import Ledger
    >>> Ledger("no-such-folder/ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.publish.entries.LedgerError: no-such-folder/ledger.db: there is no ledger here; ...
    """


# -- JSON with one meaning ----------------------------------------------------------------


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no blanks, ASCII only.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    # NaN and infinity have no JSON: refusing them keeps the text readable by every parser.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value, as hexadecimal text.

    >>> digest({})[:16]
    '44136fa355b3678a'
    """
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def plain(record: Any) -> Any:
    """Return a record as JSON: amounts as texts, and no field that has its default.

    >>> from fractions import Fraction
    >>> plain(Charge("table people", Fraction(1, 2)))
    {'account': 'table people', 'amount': '1/2'}
    """
    if is_dataclass(record):
        # Defaults are left out, so that a new field with a default changes no existing hash.
        pairs = ((one, getattr(record, one.name)) for one in fields(record))
        return {
            one.name: plain(value)
            for one, value in pairs
            if value
            != (
                one.default if one.default_factory is MISSING else one.default_factory()
            )
        }
    if isinstance(record, Mapping):
        return {name: plain(value) for name, value in record.items()}
    if isinstance(record, tuple):
        return [plain(value) for value in record]
    return str(record) if isinstance(record, Fraction) else record


def read_record(kind: Any, data: Any) -> Any:
    """Return the record that JSON is, by the types of its fields; refuse whatever does not fit.

    >>> read_record(Charge, {"account": "table people", "amount": "1/2"}).amount
    Fraction(1, 2)
    """
    if isinstance(kind, type) and is_dataclass(kind):
        # Unknown names raise KeyError: a misspelt field is refused, never ignored.
        types = _types(kind)
        return kind(
            **{name: read_record(types[name], value) for name, value in data.items()}
        )
    if isinstance(kind, dict):
        return {name: read_record(one, data[name]) for name, one in kind.items()}
    if kind is Fraction:
        # Amounts are texts p/q: a JSON number would be read as a float and rounded.
        return read_amount(data)
    origin = get_origin(kind)
    inner = get_args(kind)
    if origin is UnionType:  # a record or nothing
        return None if data is None else read_record(inner[0], data)
    if origin is Mapping:
        return {name: read_record(inner[1], value) for name, value in data.items()}
    if origin is tuple and isinstance(data, list):
        # tuple[X, ...] repeats its type; tuple[X, Y] has a fixed length, which strict=True checks.
        kinds = inner[:1] * len(data) if inner[-1] is ... else inner
        return tuple(
            read_record(one, value) for one, value in zip(kinds, data, strict=True)
        )
    if kind is SourceIdentity:
        return SourceIdentity(read_record(tuple[str, ...], data))
    # type(), not isinstance: True is an int in Python but not in JSON.
    if kind is not Any and type(data) is not kind:
        raise InputError(f"{data!r:.40} is no {getattr(kind, '__name__', 'list')}")
    return data


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


# -- the chain ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One entry: where it stands, what was before it, when, what, and the hash of all that.

    >>> first = Entry.after(None, {"kind": "open"}, "2030-01-01T00:00:00.000Z")
    >>> second = Entry.after(first, {"kind": "budget"}, "2029-01-01T00:00:00.000Z")
    >>> second.position, second.is_whole, second.previous == first.hash, second.time[:4]
    (2, True, True, '2030')
    """

    position: int
    previous: str
    time: str
    body: Mapping[str, Any]
    hash: str

    @classmethod
    def after(cls, last: Entry | None, body: Mapping[str, Any], now: str) -> Entry:
        """Make the entry that follows another one.

        Times never run backwards. When the clock has been moved back, time goes on from the entry
        before by what the clock has gone on since then, and the entry says what the clock said:
        if time stood still until the clock is there again, no reservation would end.
        """
        position = 1 if last is None else last.position + 1
        previous = NOTHING_BEFORE if last is None else last.hash
        # Never earlier than the entry before, whatever the clock says.
        time = now if last is None else last.time_at(now)
        # Keep what the clock said, so that the next entry can measure how far it went on.
        body = body if time == now else {**body, "clock": now}
        return cls(
            position, previous, time, body, _hash(position, previous, time, body)
        )

    def time_at(self, now: str) -> str:
        """Return the time of the ledger when the clock of its database says another one.

        >>> ahead = Entry.after(None, {}, "2100-01-01T00:00:00.000Z")
        >>> back = Entry.after(ahead, {}, "2030-01-01T00:00:00.000Z")
        >>> back.time, back.time_at("2030-01-01T00:05:00.000Z")
        ('2100-01-01T00:00:00.000Z', '2100-01-01T00:05:00.000Z')
        """
        if now >= self.time:
            return now
        # Compare with the clock at the last entry, not with its time, which may be ahead.
        then = datetime.fromisoformat(str(self.body.get("clock", self.time)))
        passed = datetime.fromisoformat(now) - then
        # A clock moved back once more gives no negative step.
        return later(self.time, max(passed, timedelta(0)))

    @property
    def is_whole(self) -> bool:
        """Whether the hash is that of the content."""
        return self.hash == _hash(self.position, self.previous, self.time, self.body)

    @property
    def kind(self) -> str:
        """What the entry does: open, budget, bind, facts, reserve, charge, answer, …."""
        return str(self.body.get("kind"))

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as one JSON object, as it is exported."""
        return {**vars(self), "body": dict(self.body)}


def later(time: str, passed: timedelta) -> str:
    """Return a time of a ledger after another one, as it is written.

    >>> later("2030-01-01T00:00:00.000Z", timedelta(minutes=10))
    '2030-01-01T00:10:00.000Z'
    """
    then = datetime.fromisoformat(time) + passed
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _hash(position: int, previous: str, time: str, body: Mapping[str, Any]) -> str:
    # The hash covers the previous hash: altering an entry invalidates all later ones.
    return digest(
        {"position": position, "previous": previous, "time": time, "body": dict(body)}
    )


# -- the machine --------------------------------------------------------------------------


def account_of(state: Mapping[str, dict[str, Any]], name: str) -> Account | None:
    """Return an account from the state, or ``None`` where no budget was ever set.

    >>> account_of({}, "table people") is None
    True
    """
    found = state.get(_account_place(name))
    return None if found is None else read_record(Account, found)


def accounts_of(state: Mapping[str, dict[str, Any]]) -> dict[str, Account]:
    """Return every account of the state by its name."""
    places = sorted(place for place in state if place.startswith("account:"))
    return {
        one.name: one
        for one in (read_record(Account, state[place]) for place in places)
    }


def _account_place(name: str) -> str:
    # Two spellings of one name must not be two budgets.
    return f"account:{folded_name(name)}"


def known_account(state: Mapping[str, dict[str, Any]], name: str) -> Account:
    """Return an account from the state; one without a budget is refused.

    >>> known_account({}, "table people")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: table people has no budget in this ledger: set one first
    """
    found = account_of(state, name)
    if found is None:
        raise InputError(f"{name} has no budget in this ledger: set one first")
    return found


def is_sound(name: str, value: Any) -> bool:
    """Whether an object of the state has the form that the machine gives it.

    >>> is_sound("head", {"position": 3, "hash": "0" * 64}), is_sound("head", {"position": "3"})
    (True, False)
    """
    try:
        found = read_record(_FORMS[name.partition(":")[0]], value)
    except (InputError, LookupError, TypeError, ValueError, AttributeError):
        return False
    # An account stored at another's place would lend that one its budget.
    is_there = not isinstance(found, Account) or name == _account_place(found.name)
    # The round trip: whatever the machine itself would write differently was altered.
    return bool(plain(found) == value and is_there)


#: What the state holds, by the first word of its names.
_FORMS: dict[str, Any] = {
    "account": Account,
    "request": {
        "phase": str,
        "request": str,
        "charges": tuple[Charge, ...],
        "reservation": tuple[int, str],
        "entry": int,
    },
    "source": {"account": str | None},
    "open": Mapping[str, str],
    "head": {"position": int, "hash": str},
    "ledger": {"id": str, "version": int},
}


def request_digest(request: Mapping[str, Any], charges: Any) -> str:
    """Return what makes two requests the same: all of them but words, of question and columns.

    >>> request_digest({"sql": "a"}, []) == request_digest({"sql": "b"}, [])
    False
    >>> request_digest({"asked": "a", "columns": ["n"]}, []) == request_digest({}, [])
    True
    """
    # What the wording means is the compiled SQL: another wording of it is the same request.
    words = ("asked", "columns")
    meant = {name: value for name, value in request.items() if name not in words}
    return digest({"request": meant, "charges": charges})


def next_key(key: str) -> str:
    """Return the only key that a request which sharpens the answer of a key may have.

    >>> next_key("births"), next_key("births #2")
    ('births #2', 'births #3')
    """
    # Only a number after the mark continues a chain; a mark in the key's own text does not.
    name, mark, number = key.rpartition(" #")
    if mark and number.isdecimal():
        return f"{name} #{int(number) + 1}"
    return f"{key} #2"


def apply_entry(state: State, entry: Entry) -> None:
    """Change the state by one entry, or refuse the entry and leave the state as it was.

    Examples
    --------
    >>> state, noon = {}, "2030-01-01T12:00:00.000Z"
    >>> budget = {"kind": "budget", "account": "table people", "amount": "1"}
    >>> first = Entry.after(None, budget, noon)
    >>> apply_entry(state, first)
    >>> charges = [{"account": "table people", "amount": "1/3"}]
    >>> reserve = {"kind": "reserve", "key": "k", "request": {}, "charges": charges}
    >>> apply_entry(state, Entry.after(first, {**reserve, "expires": noon}, noon))
    >>> account_of(state, "table people").remaining
    Fraction(2, 3)
    """
    step = _STEPS.get(entry.kind)
    if step is None:
        # An unknown kind may spend budget in a newer format, so it cannot be skipped.
        raise InputError(f"an entry of kind {entry.kind[:40]!r} is unknown")
    step(state, entry)


def _open(state: State, entry: Entry) -> None:
    # A second "open" would change the number that receipts refer to.
    if entry.position != 1:
        raise InputError(
            f"a ledger is opened by its first entry, not by entry {entry.position}"
        )
    state["ledger"] = {
        "id": str(entry.body["id"]),
        "version": int(entry.body["version"]),
    }


def _budget(state: State, entry: Entry) -> None:
    name = str(entry.body["account"])
    budget = read_amount(entry.body["amount"])
    delta = read_amount(entry.body.get("delta", "0"))
    before = account_of(state, name) or Account(name, budget)
    for what, spent, new in (
        ("", before.spent, budget),
        ("δ of ", before.spent_delta, delta),
    ):
        # A budget below what is spent would leave a negative remainder, which no release can
        # repair.
        if spent > new:
            raise InputError(
                f"the {what}budget of {name} cannot be less than what is spent: {shown(spent)} is "
                f"spent, got {shown(new)}"
            )
    _keep(state, replace(before, budget=budget, delta=delta))


def _series(state: State, entry: Entry) -> None:
    """Declare a series: its statement is computed again, and the account pays for all of it."""
    body = entry.body
    account = known_account(state, str(body["account"]))
    name = str(body["series"])
    epsilon = read_amount(body["epsilon"])
    delta = read_amount(body["delta"])
    # A declared series is immutable: its price was computed from its steps.
    if name in account.series:
        raise InputError(
            f"{account.name} has a series {name!r} already: use another name"
        )
    series = series_of(body["steps"], epsilon, delta)
    losses = composed(body["steps"], delta)
    # δ(ε) of the composed loss must be at most the declared δ: that is the privacy statement.
    if losses.delta(epsilon) > delta:
        raise InputError(
            f"the series {name!r} needs δ = {float(losses.delta(epsilon)):.6g} for ε = "
            f"{shown(epsilon)}, more than {float(delta):.6g}: declare fewer releases or a larger ε"
        )
    # Recomputed from the steps, so a forged statement fails here and in every verification.
    if statement(losses, epsilon, delta) != body["statement"]:
        raise InputError(
            f"the statement of the series {name!r} is not what its releases cost"
        )
    # The check is against the account before: the whole series is paid at once.
    _keep(
        state, replace(account, series={**account.series, name: series}).check(account)
    )


def _bind(state: State, entry: Entry) -> None:
    account = known_account(state, str(entry.body["account"]))
    new = read_record(Binding, entry.body["binding"])
    if not new.source:
        raise InputError("data that an account is bound to has a name")
    # Every name of the data is checked: sharing one means sharing the people.
    for name in new.source:
        owner = state.get(_place(name), {}).get("account")
        if owner not in (None, account.name):
            raise InputError(
                f"this data has an account already: {owner} ({new.source}); the same people have "
                f"one budget, so it cannot be {account.name} too"
            )
    old = account.bound
    if old is not None:
        # A name that was the account's once is still its own: by a hard link the file has another
        # path, and whoever used one would have set the first path free.
        places = (state.get(_place(name), {}) for name in new.source)
        owners = [place.get("account") for place in places]
        if account.name not in owners:
            old.check_source(account.name, new)
        old.check(account.name, new)
        # A file that was written anew has another inode, a table that was made anew another
        # number: the old one may become somebody else's. Where data is called stays taken.
        for name in set(old.source[1:]) - set(new.source):
            state[_place(name)] = {"account": None}
    for name in new.source:
        state[_place(name)] = {"account": account.name}
    _keep(state, replace(account, bound=new))


def _facts(state: State, entry: Entry) -> None:
    account = known_account(state, str(entry.body["account"]))
    if account.bound is None:
        raise InputError(
            f"{account.name} is not bound to data yet: its first use does that"
        )
    bound = replace(account.bound, facts=str(entry.body["facts"]))
    _keep(state, replace(account, bound=bound))


def _place(name: str) -> str:
    """Return where the state holds the owner of data; a path may be no text."""
    return f"source:{digest(name)}"


def _reserve(state: State, entry: Entry) -> None:
    key, request, charges = (entry.body[word] for word in ("key", "request", "charges"))
    known = state.get(f"request:{key}")
    # A key in use names one request for good; only a freed one may be reserved anew.
    if known is not None and known["phase"] != FREED:
        raise InputError(
            f"the key {key!r} is in use since entry {known['reservation'][0]}"
        )
    # Such words would overwrite the fields of the answer's entry.
    if not STEP_WORDS.isdisjoint(request):
        raise InputError(
            f"a request does not say {', '.join(sorted(STEP_WORDS & set(request)))}"
        )
    # A reservation that is expired at birth could never be charged.
    if not entry.time <= str(entry.body["expires"]):
        raise InputError("a reservation expires after it was made")
    _check_follows(state, str(key), request, (RESERVED, CHARGED, RELEASED))
    # Several charges may hit one account: each sees the account after the ones before.
    after: dict[str, Account] = {}
    for charge in read_record(tuple[Charge, ...], charges):
        name = folded_name(charge.account)
        account = after.get(name) or known_account(state, charge.account)
        # All or nothing: the state is written only after every charge fits.
        after[name] = account.with_charge(charge).check(account)
        if charge.series is not None:
            wanted = (
                account.known_series(charge.series).steps[charge.step or 0].mechanism
            )
            # The series was composed for this mechanism; another one may have a worse trade-off
            # curve.
            if wanted not in (None, request.get("mechanism")):
                raise InputError(
                    f"step {charge.step or 0} of the series {charge.series!r} is for the mechanism "
                    f"{wanted[:16]}…, not for this one"
                )
    for account in after.values():
        _keep(state, account)
    state[f"request:{key}"] = {
        "phase": RESERVED,
        # Only the digest is kept: entries hold the request, and later steps compare.
        "request": request_digest(request, charges),
        "charges": list(charges),
        "reservation": [entry.position, entry.hash],
        "entry": entry.position,
    }
    expiry = str(entry.body["expires"])
    state["open"] = {**state.get("open", {}), str(key): expiry}


def _charge(state: State, entry: Entry) -> None:
    known = _at(state, entry, RESERVED, CHARGED)
    expires = _end(state, entry)
    # After expiry the amount may be promised to others; charging it too would overspend.
    if entry.time > expires:
        raise InputError(
            f"the reservation of {entry.body['key']!r} expired at {expires}: nothing was charged; "
            "ask again"
        )
    _advance(state, entry, known, CHARGED)


def _answer(state: State, entry: Entry) -> None:
    known = _at(state, entry, CHARGED, RELEASED)
    if "answer" not in entry.body:
        raise InputError("an entry of kind 'answer' holds an answer")
    request = {
        name: value for name, value in entry.body.items() if name not in STEP_WORDS
    }
    # Receipts quote this entry, so it must say what was reserved and paid.
    if request_digest(request, entry.body.get("charges")) != known["request"]:
        raise InputError(
            "an answer repeats the request and the charges of its reservation"
        )
    # The finer answer was drawn by the one that it follows, which is recorded by now.
    _check_follows(state, str(entry.body["key"]), request, (RELEASED,))
    _advance(state, entry, known, RELEASED)


def _check_follows(
    state: State, key: str, request: Mapping[str, Any], phases: Sequence[str]
) -> None:
    """Refuse to sharpen what is not there, or what another key sharpens."""
    follows = request.get("follows")
    if follows is None:
        return
    before = str(follows["key"])
    # An unknown key is treated as freed: there is nothing to sharpen.
    known = state.get(f"request:{before}", {"phase": FREED, "reservation": None})
    # Position and hash pin the answer: a key that was freed and reused is another answer.
    if known["phase"] not in phases or known["reservation"] != follows["reservation"]:
        raise InputError(
            f"{key!r} sharpens the answer of {before!r}, which is not there: ask again"
        )
    # One successor per answer: two sharpenings of one answer are not covered by the chain's proof.
    if key != next_key(before):
        raise InputError(
            f"only {next_key(before)!r} may sharpen the answer of {before!r}, not {key!r}"
        )


def _cancel(state: State, entry: Entry) -> None:
    known = _at(state, entry, RESERVED, FREED)
    # Expiring early would free an amount that its owner may still charge.
    if entry.kind == "expire" and entry.time <= _end(state, entry):
        raise InputError(f"the reservation of {entry.body['key']!r} has not expired")
    for charge in read_record(tuple[Charge, ...], known["charges"]):
        # The same charge with the other sign: partitions, series and δ are undone alike.
        _keep(state, known_account(state, charge.account).with_charge(charge, -1))
    _advance(state, entry, known, FREED)


def _at(state: State, entry: Entry, before: str, now: str) -> dict[str, Any]:
    """Return the request that a step acts on, if the step holds the ticket of its reservation."""
    key = entry.body["key"]
    ticket = entry.body["reservation"]
    known = state.get(f"request:{key}")
    # Threat: a slow process acting on a reservation that was freed and made anew by another.
    if known is not None and known["reservation"] != ticket:
        raise InputError(
            f"the key {key!r} was reserved anew by entry {known['reservation'][0]}: the "
            f"reservation of entry {ticket[0]} is no longer its own; ask again"
        )
    if known is None or known["phase"] != before:
        found = "unknown" if known is None else known["phase"]
        raise InputError(
            f"a request must be {before} before it is {now}; {key!r} is {found}"
        )
    return known


def _end(state: State, entry: Entry) -> str:
    """Return when the reservation that a step acts on expires."""
    key = str(entry.body["key"])
    ends = state.get("open", {})
    # Without an end the reservation could be neither charged nor expired.
    if key not in ends:
        raise LedgerError(
            f"the reservation of {key!r} has lost its end: the ledger is damaged"
        )
    return str(ends[key])


def _advance(state: State, entry: Entry, known: dict[str, Any], phase: str) -> None:
    key = str(entry.body["key"])
    state[f"request:{key}"] = {**known, "phase": phase, "entry": entry.position}
    ends = state.get("open", {})
    if key in ends:
        # Only open reservations have an end; a charge never expires.
        state["open"] = {name: end for name, end in ends.items() if name != key}


def _keep(state: State, account: Account) -> None:
    state[_account_place(account.name)] = plain(account)


_STEPS = {
    "open": _open,
    "budget": _budget,
    "bind": _bind,
    "facts": _facts,
    "series": _series,
    "reserve": _reserve,
    "charge": _charge,
    "answer": _answer,
    "cancel": _cancel,
    "expire": _cancel,
}


class Replay:
    """Checks entries one after another and keeps the state that they lead to.

    >>> replay = Replay()
    >>> replay.add(Entry.after(None, {"kind": "open", "id": "a", "version": 1}, "2030"))
    >>> replay.reasons, replay.position
    ([], 1)
    """

    def __init__(self) -> None:
        self.state: dict[str, dict[str, Any]] = {}
        self.reasons: list[str] = []
        self.hashes: list[str] = []
        self.position = 0
        self.hash = NOTHING_BEFORE
        self._time = ""

    def add(self, entry: Entry) -> None:
        """Check one entry against all before it."""
        here = f"entry {entry.position}"
        # A gap and a wrong link are one finding, not two.
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
            self.reasons.append(
                f"{here} was altered: its hash is not that of its content"
            )
        if entry.time < self._time:
            self.reasons.append(f"{here} is older than the entry before it")
        if entry.position == 1 and entry.kind != "open":
            self.reasons.append("entry 1 does not open a ledger")
        # Keep going after a finding. A tampered body can have any shape, hence all exceptions.
        try:
            apply_entry(self.state, entry)
        except (
            InputError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ) as wrong:
            self.reasons.append(f"{here} could not have been written: {wrong}")
        self.hashes.append(entry.hash)
        self.position = entry.position
        # Follow the stored hash, not the computed one: later entries are judged by their own links.
        self.hash = entry.hash
        self._time = entry.time
