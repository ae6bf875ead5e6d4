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

**Series.** A budget may have a :math:`\delta` beside its :math:`\varepsilon`. A declared series
takes both at once, for all its releases; see :mod:`tightrope.publish.series`.

**Names.** Two names are one account if they are equal after NFKC and case folding. An account is
bound at its first use to the identity of its source, so that the same people have one budget,
whatever somebody calls their table.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from tightrope.epsilon import LARGEST, Epsilon
from tightrope.errors import InputError

#: Most digits of the numerator and of the denominator of an amount.
AMOUNT_DIGITS = 60
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_TIME = "[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
#: Texts of numbers and of times whose fraction ends in zeros. How many decimals a program writes
#: is a matter of the others in the column: beside 0.125 a price of 2.5 becomes 2.500.
PADDED_TEXT = f"^([+-]?[0-9]+|{_DAY}[ T]{_TIME})(?:[.]0+|([.][0-9]*[1-9])0+)$"
#: Texts of days with the time of midnight.
MIDNIGHT_TEXT = f"^({_DAY})[ T]00:00:00$"


# -- amounts ------------------------------------------------------------------------------


def charge_of(epsilon: Epsilon) -> Fraction:
    """Return what a release at this level costs.

    >>> charge_of(Epsilon.of(0.1)) * 10
    Fraction(1, 1)
    """
    # The fraction above ε, never below it: rounding a charge down would overspend the budget.
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
    tightrope.errors.InputError: a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), at most 500,
    got 'lots'
    """
    try:
        return charge_of(Epsilon.of(value))
    except InputError:
        raise InputError(
            f"a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), at most {LARGEST}, got "
            f"{repr(value)[:80]}"
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
    most = AMOUNT_DIGITS
    if isinstance(text, str) and re.fullmatch(
        rf"[0-9]{{1,{most}}}(/[1-9][0-9]{{0,{most}}})?", text
    ):
        amount = Fraction(text)
        # One text per amount: 2/4 would hash differently from 1/2. The limit also bounds the
        # parsing.
        if str(amount) == text and _fits(amount):
            return amount
    raise InputError(
        f"an amount in a ledger is p or p/q in lowest terms, got {str(text)[:60]!r}"
    )


def shown(amount: Fraction) -> str:
    """Write an amount for a person: exactly where that is short, else to 15 digits.

    >>> shown(Fraction(1, 4)), shown(Fraction(1, 3)), shown(budget_of("ln(2)"))
    ('0.25', '1/3', '0.693147180559945')
    """
    decimal = repr(float(amount))
    # repr is the shortest text of the float; it is shown only where it is the amount itself.
    if Fraction(decimal) == amount:
        return decimal.removesuffix(".0")
    if amount.denominator < 1000:
        return str(amount)
    return f"{float(amount):.15g}"


def exactly(amount: Fraction) -> str:
    """Write an amount for a person, and the fraction behind it where the digits are rounded.

    >>> exactly(Fraction(1, 2)), exactly(Fraction(1, 1001))
    ('0.5', '0.000999000999000999 (exactly 1/1001)')
    """
    words = shown(amount)
    if Fraction(words) == amount:
        return words
    return f"{words} (exactly {amount})"


def _fits(amount: Fraction) -> bool:
    limit: int = 10**AMOUNT_DIGITS
    return amount.numerator < limit and amount.denominator < limit


def _held(amount: Fraction) -> Fraction:
    """Return a sum that fits: itself, or the next multiple of 1e-50 above it.

    Without this, a few releases with unrelated denominators would make a sum that is too long to
    be written, and the account could not be used again.
    """
    # -(-x // 1) is the ceiling: what is spent is rounded up, never down.
    if _fits(amount):
        return amount
    rounded_up = -(-amount * 10**50 // 1)
    return Fraction(rounded_up, 10**50)


# -- names --------------------------------------------------------------------------------


def check_account(name: str) -> None:
    """Refuse a name that no account can have.

    >>> check_account("people")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: an account is 'table NAME' or 'user NAME', got 'people'
    """
    kind, _, rest = name.partition(" ")
    # A name is shown in messages and receipts, where control characters could forge lines.
    if kind not in ("table", "user") or not rest.strip() or not rest.isprintable():
        raise InputError(f"an account is 'table NAME' or 'user NAME', got {name!r:.80}")


def folded_name(name: str) -> str:
    """Return a name as names are compared: after NFKC and case folding.

    >>> folded_name("viſits") == folded_name("Visits")
    True
    """
    # Case folding can undo the normal form, so NFKC comes again: the result must be a fixed point.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def collation_key(text: str) -> str:
    """Return the same text for all texts that a collation of some database may take for one.

    Case, compatibility forms, marks, strokes and other additions to a letter, kinds of kana,
    characters that show nothing and blanks do not count. Texts with different keys are different
    to every collation that we know; texts with one key may be.

    >>> collation_key("Tromsø") == collation_key("TROMSO"), collation_key("Łódź")
    (True, 'lodz')
    """
    # NFKD separates letters from their marks, which are dropped one by one below.
    apart = unicodedata.normalize("NFKD", folded_name(text))
    return " ".join("".join(map(_base_letter, apart)).split())


def canonical_text(text: str) -> str:
    """Return the one text of all spellings of a text, as the cells of every source write it.

    >>> canonical_text("1.0"), canonical_text("1990-05-17 00:00:00"), canonical_text("True")
    ('1', '1990-05-17', '1')
    >>> canonical_text("2.50"), canonical_text("10"), canonical_text("north")
    ('2.5', '10', 'north')
    """
    # fullmatch: to Python alone $ is also the place before a last line feed.
    padded = re.fullmatch(PADDED_TEXT, text)
    if padded is not None:
        text = padded[1] + (padded[2] or "")
    midnight = re.fullmatch(MIDNIGHT_TEXT, text)
    if midnight is not None:
        return midnight[1]
    words = {"true": "1", "false": "0"}
    # Programs write a truth value in one of three ways, and as a number beside numbers.
    is_word = text in (text.lower(), text.upper(), text.title())
    return words.get(text.lower(), text) if is_word else text


def _base_letter(sign: str) -> str:
    """Return a letter without what is added to it: "LATIN SMALL LETTER O WITH STROKE" is an o."""
    # All blanks are one blank, whatever their width.
    if sign.isspace():
        return " "
    if unicodedata.category(sign)[0] in "MC" or sign in "\u115f\u1160\u3164\uffa0":
        return ""  # marks, controls, formats; and the fillers of Hangul, which show nothing
    alike = {"æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ŋ": "n"}
    if sign in alike:
        return alike[sign]
    plain = (
        unicodedata.name(sign, "")
        .partition(" WITH ")[0]
        .replace("KATAKANA", "HIRAGANA")
    )
    # Small kana are the same letter to some collations.
    if plain.startswith("HIRAGANA"):
        plain = plain.replace("LETTER SMALL", "LETTER")
    try:
        return unicodedata.lookup(plain)
    except KeyError:
        return sign


class SourceIdentity(tuple[str, ...]):
    """Which data a source holds, whatever name somebody gives it: its canonical names.

    Two identities are the same data if they share a name. The first name says where the data is
    and stays its own; a system may give the others again. A file has two: its resolved path,
    which stays when the file is written anew, and its device and inode, which hard links share:
    ``file:/data/people.csv`` and ``inode:2049:131``. A table inside a database file has the same
    with ``#schema.table``; one of a server ``postgresql:SYSTEM/DATABASE/schema.table``; one that
    was handed over ``memory:people``.

    >>> here = SourceIdentity(("file:/data/people.csv", "inode:1:7"))
    >>> here.is_same(SourceIdentity(("file:/data/link.csv", "inode:1:7")))
    True
    """

    __slots__ = ()

    def is_same(self, other: SourceIdentity) -> bool:
        """Whether both are the same data."""
        # One shared name suffices: a file moved or hard-linked must not get a second budget.
        return not set(self).isdisjoint(other)

    def __str__(self) -> str:
        # A path may hold bytes that are no text.
        return self[0].encode(errors="backslashreplace").decode()


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
    """

    source: SourceIdentity
    neighbours: str
    person: str | None = None
    contributions: int = 1
    facts: str = ""

    def check_source(self, account: str, new: Binding) -> None:
        """Refuse to use an account for other data."""
        # Data first: people in other data are other people, and their budget is another account.
        if not self.source.is_same(new.source):
            raise InputError(
                f"{account} is the account of {self.source}, and this data is {new.source}: give "
                "another table another name, or use another ledger"
            )

    def check(self, account: str, new: Binding) -> None:
        """Refuse to use an account for another relation or other people."""
        # An ε under add/remove and one under change bound different changes of a table.
        if self.neighbours != new.neighbours:
            raise InputError(
                f"{account} is spent under {self.neighbours}, this request is under "
                f"{new.neighbours}: amounts under two relations do not add up; keep to one"
            )
        # An account opened without facts accepts the first that are given.
        if self.facts and self.facts != new.facts:
            raise InputError(
                f"{account} was opened with other public facts (its population, or which of its "
                "partitions are fixed): give those, or have the change recorded with 'tightrope "
                "ledger facts'"
            )
        # The unit of privacy: an ε per person and an ε per row cannot be summed.
        for word in ("person", "contributions"):
            old = getattr(self, word)
            now = getattr(new, word)
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
    tightrope.publish.accounts.OverBudget: the budget of table people is too small: requested
    0.5, remaining 1/3, short by 1/6
    """

    def __init__(
        self,
        account: str,
        requested: Fraction,
        remaining: Fraction,
        what: str = "budget",
    ) -> None:
        self.account = account
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining
        amounts = {
            "requested": requested,
            "remaining": remaining,
            "short by": self.difference,
        }
        parts = (f"{word} {exactly(one)}" for word, one in amounts.items())
        more = (
            ""
            if what == "budget"
            else "; set it with 'tightrope ledger budget … --delta D'"
        )
        super().__init__(
            f"the {what} of {account} is too small: {', '.join(parts)}{more}"
        )


@dataclass(frozen=True)
class Step:
    """Releases of one kind in a series.

    Attributes
    ----------
    amount
        Their ε: at most that of each of them.
    times, used
        How many there are, and how many are taken.
    mechanism
        The digest of the one mechanism they use; ``None`` for any of this level.
    curve
        The digest of its worst trade-off curve.
    """

    amount: Fraction
    times: int
    used: int
    mechanism: str | None = None
    curve: str | None = None


@dataclass(frozen=True)
class Series:
    """A declared series and how much of it is used.

    Attributes
    ----------
    epsilon, delta
        What the account pays for all of it.
    steps
        The kinds of releases.
    """

    epsilon: Fraction
    delta: Fraction
    steps: tuple[Step, ...]

    @property
    def total(self) -> Fraction:
        """The sum of all levels, which the series would cost without composition."""
        # Basic composition, Σ ε_k, shown as the price that the composition theorem undercuts.
        amounts = (step.amount * step.times for step in self.steps)
        return sum(amounts, Fraction(0))

    @property
    def left(self) -> int:
        """How many releases are left."""
        return sum(step.times - step.used for step in self.steps)

    def __str__(self) -> str:
        kinds = (
            f"{step.used} of {step.times} at ε = {shown(step.amount)}"
            + ("" if step.mechanism is None else f" with {step.mechanism[:12]}…")
            for step in self.steps
        )
        return (
            f"ε = {shown(self.epsilon)}, δ = {float(self.delta):g} for {', '.join(kinds)} "
            f"(a sum of {shown(self.total)})"
        )

    def place(self, name: str, amount: Fraction, mechanism: str, pure: bool) -> int:
        """Return the step that a release belongs to: that of its mechanism, or the nearest level.

        It depends on the declaration alone, so a request that is asked again finds the same one.
        """
        # A named mechanism was composed by its own curve, so it must use the place declared for it.
        for k, step in enumerate(self.steps):
            if step.mechanism == mechanism:
                return k
        levels = sorted(
            (s.amount, k) for k, s in enumerate(self.steps) if s.mechanism is None
        )
        # A δ of its own was not composed into a step that is declared by its ε alone.
        for level, k in levels if pure else ():
            # The smallest declared level that covers ε: a cheaper place would break the statement.
            if level >= amount:
                return k
        shown_levels = [shown(level) for level, _ in levels]
        declared = ", ".join(shown_levels) or "none"
        raise InputError(
            f"the series {name!r} has no place for this mechanism: levels and mechanisms are fixed "
            f"when a series is declared (levels: {declared}), and this one has ε = {shown(amount)}"
            + ("" if pure else " and a δ of its own")
        )

    def taken(self, charge: Charge, sign: int) -> Series:
        """Return the series with one more place taken, or one given back."""
        place = charge.step or 0
        if not 0 <= place < len(self.steps):
            raise InputError(f"the series {charge.series!r} has no step {place}")
        old = self.steps[place]
        # The series was composed for at most this ε; a larger one would exceed its (ε, δ).
        if charge.amount > old.amount or (charge.delta and old.mechanism is None):
            raise InputError(
                f"a release of ε = {charge.amount} and δ = {charge.delta} does not fit into step "
                f"{place} of the series {charge.series!r}, which has ε = {old.amount}"
            )
        # 0 ≤ used ≤ times, in both directions: a cancelled request gives back only what it took.
        if not 0 <= old.used + sign <= old.times:
            raise InputError(
                f"the series {charge.series!r} has no release of ε = {shown(old.amount)} left: all "
                f"{old.times} are used; declare another series"
            )
        changed = replace(old, used=old.used + sign)
        before = self.steps[:place]
        steps = (*before, changed, *self.steps[place + 1 :])
        return replace(self, steps=steps)


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
    delta
        The probability δ that goes with it.
    series, step
        The declared series that has paid already, and the place in it (the first by default).
    """

    account: str
    amount: Fraction
    partition: str | None = None
    part: str | None = None
    width: int = 1
    delta: Fraction = Fraction(0)
    series: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class Parts:
    """What was spent on the parts of a partition, and how many of them one person can touch."""

    width: int
    spent: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def total(self) -> Fraction:
        """What the partition costs: its dearest parts."""
        # Parallel composition: s_1 + … + s_w, the sums of the w dearest parts.
        dearest = sorted(self.spent.values(), reverse=True)
        return sum(dearest[: self.width], Fraction(0))


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
    partitions: Mapping[str, Parts] = field(default_factory=dict)
    bound: Binding | None = None
    delta: Fraction = Fraction(0)
    whole_delta: Fraction = Fraction(0)
    series: Mapping[str, Series] = field(default_factory=dict)

    @property
    def spent(self) -> Fraction:
        """What counts against the budget: sums, series, and of each partition its dearest parts."""
        # A series counts in full from its declaration on, however little of it is used.
        charged = (one.epsilon for one in self.series.values())
        series = sum(charged, Fraction(0))
        return (
            self.whole
            + series
            + sum((one.total for one in self.partitions.values()), Fraction(0))
        )

    @property
    def remaining(self) -> Fraction:
        """What is left."""
        return self.budget - self.spent

    @property
    def spent_delta(self) -> Fraction:
        """What counts against δ: it adds up."""
        # δ adds up over sequential composition. Partitions take none of it.
        return self.whole_delta + sum(
            (one.delta for one in self.series.values()), Fraction(0)
        )

    def __str__(self) -> str:
        summary = f"{shown(self.spent)} of {shown(self.budget)} spent, {shown(self.remaining)} left"
        slack = (
            f"; δ: {float(self.spent_delta):g} of {float(self.delta):g}"
            if self.delta
            else ""
        )
        return summary + slack

    def check(self, before: Account) -> Account:
        """Return the account, if it is not overspent; ``before`` says what is new."""
        # The excess and what was left before the request are reported, not the totals.
        if self.spent > self.budget:
            raise OverBudget(self.name, self.spent - before.spent, before.remaining)
        if self.spent_delta > self.delta:
            left = self.delta - before.spent_delta
            raise OverBudget(
                self.name, self.spent_delta - before.spent_delta, left, "δ"
            )
        return self

    def known_series(self, name: str) -> Series:
        """Return a series that was declared."""
        if name not in self.series:
            declared = ", ".join(self.series) or "none"
            raise InputError(
                f"{self.name} has no series {name[:60]!r} (declared: {declared}): declare it with "
                "'tightrope ledger series'"
            )
        return self.series[name]

    def with_charge(self, charge: Charge, sign: int = 1) -> Account:
        """Return the account after a charge, or with one taken back."""
        # Cancelling is the charge with the other sign, so both follow the same rules.
        amount = sign * charge.amount
        if charge.series is not None:
            series = self.known_series(charge.series)
            # A series was paid when it was declared: a release takes a place and no budget.
            changed_series = series.taken(charge, sign)
            return replace(self, series={**self.series, charge.series: changed_series})
        if charge.delta:
            # ε and δ are booked apart: recurse for ε without δ.
            plain = replace(charge, delta=Fraction(0))
            # δ is booked for the whole table, also for a part: an upper bound of what it costs.
            spent = _held(self.whole_delta + sign * charge.delta)
            return replace(self.with_charge(plain, sign), whole_delta=spent)
        if charge.partition is None:
            return replace(self, whole=_held(self.whole + amount))
        parts = self.partitions.get(charge.partition, Parts(charge.width))
        # A wider partition would make what was spent so far too small after the fact.
        if parts.width != charge.width:
            raise InputError(
                f"one person can touch {parts.width} parts of partition {charge.partition!r} of "
                f"{charge.account} according to the ledger, got {charge.width}: the facts have "
                "changed; use another name for the new partition"
            )
        part = str(charge.part)
        # Only the sum of this part grows; the partition's price may stay the same.
        spent = parts.spent.get(part, Fraction(0))
        mine = {part: _held(spent + amount)}
        changed = replace(parts, spent={**parts.spent, **mine})
        return replace(self, partitions={**self.partitions, charge.partition: changed})
