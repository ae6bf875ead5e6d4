r"""What entries mean: budgets, charges and requests, as a pure function of the entries.

The state is a mapping from names to small JSON objects: ``account:…`` for each table and each
user, ``request:…`` for each request key. :func:`apply_entry` is the only thing that changes it,
for a living ledger and for one that is being verified alike.

**Sequential composition.** Answers about the same people add up:
:math:`\varepsilon = \sum_k \varepsilon_k`.

**Parallel composition.** Answers about disjoint parts of a table do not all concern the same
person. Let :math:`s_1 \ge s_2 \ge \dots` be the sums spent on the parts of one partition. When
one person comes or goes, one part changes: the partition costs :math:`s_1`. When one person's
value changes, they may leave one part and enter another: it costs :math:`s_1 + s_2`. The number
of parts that one person can touch is the *width* of the partition.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tightrope.errors import InputError
from tightrope.publish.amounts import amount_text, read_amount, shown, stored_text

State = MutableMapping[str, dict[str, Any]]

#: What a request goes through; ``cancelled`` is as if it had never been.
RESERVED, CHARGED, RELEASED, CANCELLED = "reserved", "charged", "released", "cancelled"


class OverBudget(InputError):
    """A request that would spend more than is left.

    >>> raise OverBudget("table people", Fraction(1, 2), Fraction(1, 3))
    Traceback (most recent call last):
    ...
    tightrope.publish.accounts.OverBudget: the budget of table people is too small: requested 0.5
    (exactly 1/2), remaining 1/3 (exactly 1/3), short by 1/6 (exactly 1/6)
    """

    def __init__(self, account: str, requested: Fraction, remaining: Fraction) -> None:
        self.account = account
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining
        parts = (
            f"{word} {shown(amount)} (exactly {amount_text(amount)})"
            for word, amount in (
                ("requested", requested),
                ("remaining", remaining),
                ("short by", self.difference),
            )
        )
        super().__init__(f"the budget of {account} is too small: {', '.join(parts)}")


@dataclass(frozen=True)
class SourceIdentity:
    """Which data a source holds, whatever name somebody gives it.

    Two identities are the same data if they share one of their names. A file has two: its
    resolved path, which stays when the file is written anew, and its device and inode, which
    hard links share.

    Attributes
    ----------
    names
        Canonical names: ``file:/data/people.csv`` and ``inode:2049:131``; for a table inside a
        database file the same with ``#schema.table``; ``postgresql:SYSTEM/DATABASE/schema.table``
        for a server; ``memory:people`` for a table that was handed over.

    Examples
    --------
    >>> here = SourceIdentity(("file:/data/people.csv", "inode:1:7"))
    >>> here.is_same(SourceIdentity(("file:/data/link.csv", "inode:1:7")))
    True
    """

    names: tuple[str, ...]

    def is_same(self, other: SourceIdentity) -> bool:
        """Whether both are the same data."""
        return not set(self.names).isdisjoint(other.names)

    def __str__(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class Charge:
    """What one release takes from one account.

    Attributes
    ----------
    account
        ``table people`` or ``user alice``.
    amount
        The fraction of ε.
    partition, part
        The declared partition of the table and the part that is asked about, or ``None``.
    width
        The number of parts that one person can touch.

    Examples
    --------
    >>> Charge("table people", Fraction(1, 2)).as_dict()
    {'account': 'table people', 'amount': '1/2'}
    """

    account: str
    amount: Fraction
    partition: str | None = None
    part: str | None = None
    width: int = 1

    def as_dict(self) -> dict[str, Any]:
        """Return the charge as it stands in an entry."""
        plain: dict[str, Any] = {"account": self.account, "amount": amount_text(self.amount)}
        if self.partition is not None:
            plain |= {"partition": self.partition, "part": self.part, "width": self.width}
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Charge:
        """Read a charge from an entry."""
        return cls(
            str(data["account"]),
            read_amount(data["amount"]),
            data.get("partition"),
            data.get("part"),
            int(data.get("width", 1)),
        )


@dataclass(frozen=True)
class Account:
    """The budget of a table or a user and what was taken from it.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> account = Account(Fraction(2))
    >>> for part in ("north", "south"):
    ...     account = account.with_charge(Charge("table people", half, "region", part))
    >>> account.spent, account.remaining
    (Fraction(1, 2), Fraction(3, 2))
    """

    budget: Fraction
    whole: Fraction = Fraction(0)
    partitions: Mapping[str, tuple[int, Mapping[str, Fraction]]] = field(default_factory=dict)

    @property
    def spent(self) -> Fraction:
        """What counts against the budget: the sum, and of each partition its widest parts."""
        total = self.whole
        for width, parts in self.partitions.values():
            total += sum(sorted(parts.values(), reverse=True)[:width], Fraction(0))
        return total

    @property
    def remaining(self) -> Fraction:
        """What is left."""
        return self.budget - self.spent

    def with_charge(self, charge: Charge, sign: int = 1) -> Account:
        """Return the account after a charge, or with one taken back."""
        amount = sign * charge.amount
        if charge.partition is None:
            return Account(self.budget, self.whole + amount, self.partitions)
        width, parts = self.partitions.get(charge.partition, (charge.width, {}))
        if width != charge.width:
            raise InputError(
                f"one person can touch {width} parts of partition {charge.partition!r} of "
                f"{charge.account} according to the ledger, got {charge.width}: the facts have "
                "changed; use another name for the new partition"
            )
        part = str(charge.part)
        changed = {**parts, part: parts.get(part, Fraction(0)) + amount}
        return Account(
            self.budget, self.whole, {**self.partitions, charge.partition: (width, changed)}
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the account as it stands in the state."""
        return {
            "budget": stored_text(self.budget),
            "whole": stored_text(self.whole),
            "partitions": {
                name: {"width": width, "parts": {p: stored_text(a) for p, a in parts.items()}}
                for name, (width, parts) in self.partitions.items()
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Account:
        """Read an account from the state."""
        return cls(
            read_amount(data["budget"]),
            read_amount(data["whole"]),
            {
                name: (
                    int(entry["width"]),
                    {part: read_amount(amount) for part, amount in entry["parts"].items()},
                )
                for name, entry in data["partitions"].items()
            },
        )


def account_of(state: Mapping[str, dict[str, Any]], name: str) -> Account | None:
    """Return an account from the state, or ``None`` where no budget was ever set.

    >>> account_of({}, "table people") is None
    True
    """
    found = state.get(f"account:{name}")
    return None if found is None else Account.from_dict(found)


def apply_entry(state: State, position: int, body: Mapping[str, Any]) -> None:
    """Change the state by one entry, or refuse the entry and leave the state as it was.

    Examples
    --------
    >>> state = {}
    >>> apply_entry(state, 1, {"kind": "budget", "account": "table people", "amount": "1"})
    >>> charge = {"account": "table people", "amount": "1/3"}
    >>> apply_entry(
    ...     state, 2, {"kind": "reserve", "key": "k", "request": "…", "charges": [charge]}
    ... )
    >>> account_of(state, "table people").remaining
    Fraction(2, 3)
    """
    step = _STEPS.get(str(body.get("kind")))
    if step is None:
        raise InputError(f"an entry of kind {str(body.get('kind'))[:40]!r} is unknown")
    step(state, position, body)


def _open(state: State, position: int, body: Mapping[str, Any]) -> None:
    if position != 1:
        raise InputError(f"a ledger is opened by its first entry, not by entry {position}")
    state["ledger"] = {"id": str(body["id"]), "version": int(body["version"])}


def _budget(state: State, position: int, body: Mapping[str, Any]) -> None:
    name, budget = str(body["account"]), read_amount(body["amount"])
    before = account_of(state, name) or Account(budget)
    if before.spent > budget:
        raise InputError(
            f"the budget of {name} cannot be less than what is spent: {shown(before.spent)} is "
            f"spent, got {shown(budget)}"
        )
    state[f"account:{name}"] = Account(budget, before.whole, before.partitions).as_dict()


def _reserve(state: State, position: int, body: Mapping[str, Any]) -> None:
    name = f"request:{body['key']}"
    known = state.get(name)
    if known is not None and known["phase"] != CANCELLED:
        raise InputError(f"the key {body['key']!r} is in use since entry {known['reserve']}")
    after: dict[str, dict[str, Any]] = {}
    for charge in map(Charge.from_dict, body["charges"]):
        account = account_of(state, charge.account)
        if account is None:
            raise InputError(f"{charge.account} has no budget in this ledger: set one first")
        changed = account.with_charge(charge)
        if changed.spent > account.budget:
            raise OverBudget(charge.account, changed.spent - account.spent, account.remaining)
        after[f"account:{charge.account}"] = changed.as_dict()
    state.update(after)
    state[name] = {
        "phase": RESERVED,
        "request": str(body["request"]),
        "charges": list(body["charges"]),
        "reserve": position,
    }


def _charge(state: State, position: int, body: Mapping[str, Any]) -> None:
    _advance(state, body, RESERVED, CHARGED, "charge", position)


def _answer(state: State, position: int, body: Mapping[str, Any]) -> None:
    if "answer" not in body:
        raise InputError("an entry of kind 'answer' holds an answer")
    _advance(state, body, CHARGED, RELEASED, "answer", position)


def _cancel(state: State, position: int, body: Mapping[str, Any]) -> None:
    _advance(state, body, RESERVED, CANCELLED, "cancel", position)
    for charge in map(Charge.from_dict, state[f"request:{body['key']}"]["charges"]):
        account = account_of(state, charge.account)
        if account is not None:
            state[f"account:{charge.account}"] = account.with_charge(charge, -1).as_dict()


def _advance(
    state: State, body: Mapping[str, Any], before: str, now: str, word: str, position: int
) -> None:
    name = f"request:{body['key']}"
    known = state.get(name)
    if known is None or known["phase"] != before:
        found = "unknown" if known is None else known["phase"]
        raise InputError(
            f"a request must be {before} before it is {now}; {body['key']!r} is {found}"
        )
    state[name] = {**known, "phase": now, word: position}


_STEPS = {
    "open": _open,
    "budget": _budget,
    "reserve": _reserve,
    "charge": _charge,
    "answer": _answer,
    "cancel": _cancel,
}
