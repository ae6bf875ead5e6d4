r"""Accounts: exact amounts, what a release takes, and to which data an account belongs.

**Amounts** are fractions, written as text. A release at level :math:`\varepsilon` is charged
:attr:`tightrope.Epsilon.above`, which is never below :math:`\varepsilon`: the level itself when
it is rational, at most 1e-15 more when it is a logarithm. A budget written as a logarithm is
read with the same fraction, so that ``3*ln(2)`` pays for three releases at ``ln(2)``, to the
last digit. Sums of charges are sums of upper bounds: what the ledger calls spent is never less
than what was spent.

**Sequential composition.** Answers about the same people add up:
:math:`\varepsilon = \sum_k \varepsilon_k`.

**Parallel composition.** Answers about disjoint parts of a table do not all concern the same
person. Let :math:`s_1 \ge s_2 \ge \dots` be the sums spent on the parts of one partition. When
one person comes or goes, one part changes: the partition costs :math:`s_1`. When one person's
value changes, they may leave one part and enter another: it costs :math:`s_1 + s_2`. The number
of parts that one person can touch is the *width* of the partition.

**Names.** Two names are one account if they are equal after NFKC and case folding. An account is
bound at its first use to the identity of its source, so that the same people have one budget,
whatever somebody calls their table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

#: Most digits of the numerator and of the denominator of an amount.
AMOUNT_DIGITS = 60


# -- amounts ------------------------------------------------------------------------------


def charge_of(epsilon: Epsilon) -> Fraction:
    """Return what a release at this level costs.

    >>> charge_of(Epsilon.of(0.1)) * 10
    Fraction(1, 1)
    """
    amount = epsilon.above
    if not _fits(amount):
        raise InputError(
            f"an ε that is paid from a ledger has at most {AMOUNT_DIGITS} digits above and below "
            "the line: use an ε that is written with fewer digits"
        )
    return amount


def budget_of(value: Epsilon | float | Fraction | Decimal | str) -> Fraction:
    """Read a budget: a number, ``p/q``, or a multiple of a logarithm.

    >>> budget_of("3*ln(2)") == 3 * charge_of(Epsilon.of("ln(2)"))
    True
    >>> budget_of("lots")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), got 'lots'
    """
    try:
        return charge_of(Epsilon.of(value))
    except InputError:
        raise InputError(
            f"a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), got {repr(value)[:80]}"
        ) from None


def read_amount(text: object) -> Fraction:
    """Read an amount as the ledger writes it.

    >>> read_amount("1/3")
    Fraction(1, 3)
    >>> read_amount("0.5")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: an amount in a ledger is p or p/q in lowest terms, got '0.5'
    """
    if isinstance(text, str) and text.isascii() and len(text) <= 2 * AMOUNT_DIGITS + 1:
        top, _, bottom = text.partition("/")
        if top.isdigit() and (bottom or "1").isdigit() and int(bottom or "1"):
            amount = Fraction(int(top), int(bottom or "1"))
            if str(amount) == text and _fits(amount):
                return amount
    raise InputError(f"an amount in a ledger is p or p/q in lowest terms, got {str(text)[:60]!r}")


def shown(amount: Fraction) -> str:
    """Write an amount for a person: exactly where that is short, else to 15 digits.

    >>> shown(Fraction(1, 4)), shown(Fraction(1, 3)), shown(budget_of("ln(2)"))
    ('0.25', '1/3', '0.693147180559945')
    """
    decimal = repr(float(amount))
    if Fraction(decimal) == amount:
        return decimal.removesuffix(".0")
    return str(amount) if amount.denominator < 1000 else f"{float(amount):.15g}"


def _fits(amount: Fraction) -> bool:
    limit: int = 10**AMOUNT_DIGITS
    return amount.numerator < limit and amount.denominator < limit


def _held(amount: Fraction) -> Fraction:
    """Return a sum that fits: itself, or the next multiple of 1e-50 above it.

    Without this, a few releases with unrelated denominators would make a sum that is too long to
    be written, and the account could not be used again.
    """
    return amount if _fits(amount) else Fraction(-(-amount * 10**50 // 1), 10**50)


# -- names --------------------------------------------------------------------------------


def folded_name(name: str) -> str:
    """Return a name as names are compared: after NFKC and case folding.

    >>> folded_name("viſits") == folded_name("Visits")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def collation_key(text: str) -> str:
    """Return the same text for all texts that a collation of some database may take for one.

    Case, compatibility forms, marks, strokes and other additions to a letter, kinds of kana,
    characters that show nothing and blanks do not count. Texts with different keys are different
    to every collation that we know; texts with one key may be.

    >>> collation_key("Tromsø") == collation_key("TROMSO"), collation_key("Łódź")
    (True, 'lodz')
    """
    apart = unicodedata.normalize("NFKD", folded_name(text))
    return " ".join("".join(map(_base_letter, apart)).split())


def _base_letter(sign: str) -> str:
    """Return a letter without what is added to it: "LATIN SMALL LETTER O WITH STROKE" is an o."""
    if sign.isspace():
        return " "
    if unicodedata.category(sign)[0] in "MC" or sign in "\u115f\u1160\u3164\uffa0":
        return ""  # marks, controls, formats; and the fillers of Hangul, which show nothing
    alike = {"æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ŋ": "n"}
    if sign in alike:
        return alike[sign]
    plain = unicodedata.name(sign, "").partition(" WITH ")[0].replace("KATAKANA", "HIRAGANA")
    if plain.startswith("HIRAGANA"):
        plain = plain.replace("LETTER SMALL", "LETTER")
    try:
        return unicodedata.lookup(plain)
    except KeyError:
        return sign


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
        # A path may hold bytes that are no text.
        return self.names[0].encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class Binding:
    """What an account is bound to at its first use.

    Attributes
    ----------
    source
        Which data. The account is this data's alone, and this data has no other.
    neighbours
        The relation: amounts under two relations do not add up.
    person, contributions
        The column that says whose row it is, and how many rows of one person count.
    facts
        The digest of the other declared facts that privacy rests on: the population and which
        partitions are fixed. Empty where no facts were given.

    Examples
    --------
    >>> here = SourceIdentity(("file:/data/people.csv", "inode:1:7"))
    >>> Binding.from_dict(Binding(here, "add-remove").as_dict()).source == here
    True
    """

    source: SourceIdentity
    neighbours: str
    person: str | None = None
    contributions: int = 1
    facts: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the binding as it stands in an entry."""
        return {
            "source": list(self.source.names),
            "neighbours": self.neighbours,
            "person": self.person,
            "contributions": self.contributions,
            "facts": self.facts,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Binding:
        """Read a binding from an entry."""
        return cls(
            SourceIdentity(tuple(map(str, data["source"]))),
            str(data["neighbours"]),
            data["person"],
            int(data["contributions"]),
            str(data["facts"]),
        )

    def check(self, account: str, new: Binding) -> None:
        """Refuse to use an account for other data, another relation or other people."""
        if not self.source.is_same(new.source):
            raise InputError(
                f"{account} is the account of {self.source}, and this data is {new.source}: give "
                "another table another name, or use another ledger"
            )
        if self.neighbours != new.neighbours:
            raise InputError(
                f"{account} is spent under {self.neighbours}, this request is under "
                f"{new.neighbours}: amounts under two relations do not add up; keep to one"
            )
        if self.facts and self.facts != new.facts:
            raise InputError(
                f"{account} was opened with other public facts (its population, or which of its "
                "partitions are fixed): give those, or have the change recorded with 'tightrope "
                "ledger facts'"
            )
        for word in ("person", "contributions"):
            old, now = getattr(self, word), getattr(new, word)
            if old != now:
                raise InputError(
                    f"{account} is spent with {word} = {old!r}, the facts now say {now!r}: what "
                    "one person is must stay; use another ledger for another unit of privacy"
                )


# -- charges and accounts -----------------------------------------------------------------


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
        amounts = {"requested": requested, "remaining": remaining, "short by": self.difference}
        parts = (f"{word} {shown(one)} (exactly {one})" for word, one in amounts.items())
        super().__init__(f"the budget of {account} is too small: {', '.join(parts)}")


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
        plain: dict[str, Any] = {"account": self.account, "amount": str(self.amount)}
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
    >>> account = Account("table people", Fraction(2))
    >>> for part in ("north", "south"):
    ...     account = account.with_charge(Charge("table people", half, "region", part))
    >>> account.spent, account.remaining
    (Fraction(1, 2), Fraction(3, 2))
    """

    name: str
    budget: Fraction
    whole: Fraction = Fraction(0)
    partitions: Mapping[str, tuple[int, Mapping[str, Fraction]]] = field(default_factory=dict)
    bound: Binding | None = None

    @property
    def spent(self) -> Fraction:
        """What counts against the budget: the sum, and of each partition its dearest parts."""
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
            return replace(self, whole=_held(self.whole + amount))
        width, parts = self.partitions.get(charge.partition, (charge.width, {}))
        if width != charge.width:
            raise InputError(
                f"one person can touch {width} parts of partition {charge.partition!r} of "
                f"{charge.account} according to the ledger, got {charge.width}: the facts have "
                "changed; use another name for the new partition"
            )
        part = str(charge.part)
        changed = {**parts, part: _held(parts.get(part, Fraction(0)) + amount)}
        return replace(self, partitions={**self.partitions, charge.partition: (width, changed)})

    def as_dict(self) -> dict[str, Any]:
        """Return the account as it stands in the state."""
        return {
            "name": self.name,
            "budget": str(self.budget),
            "whole": str(self.whole),
            "partitions": {
                name: {"width": width, "parts": {part: str(one) for part, one in parts.items()}}
                for name, (width, parts) in self.partitions.items()
            },
            "bound": None if self.bound is None else self.bound.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Account:
        """Read an account from the state."""
        return cls(
            str(data["name"]),
            read_amount(data["budget"]),
            read_amount(data["whole"]),
            {
                name: (
                    int(entry["width"]),
                    {part: read_amount(amount) for part, amount in entry["parts"].items()},
                )
                for name, entry in data["partitions"].items()
            },
            None if data["bound"] is None else Binding.from_dict(data["bound"]),
        )
