"""One release from beginning to end: understand, reserve, charge, read, draw, record, sign."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.accounts import Binding, Charge, budget_of, charge_of
from tightrope.publish.entries import LedgerError, digest
from tightrope.publish.facts import Column, Facts, Table, facts_of_mechanism, read_facts
from tightrope.publish.intervals import ConfidenceSet, interval_of
from tightrope.publish.ledger import Ledger, Ticket
from tightrope.publish.receipts import SigningKey, key_path, named_key, receipt_of
from tightrope.publish.sealed import SealedQuery, SourceFailed, question_text
from tightrope.publish.shapes import Kind, Shape, plain_label, read_label
from tightrope.publish.sources import Source, dialect_of, open_source
from tightrope.publish.sql_reader import read_shape
from tightrope.publish.store import Store

if TYPE_CHECKING:
    from tightrope.certify import Mechanism

#: Digests of mechanisms that this process has verified: a file is verified once.
_VERIFIED: set[bytes] = set()


@dataclass(frozen=True)
class Release:
    """A released answer, what it cost and the proof that it was paid for.

    Attributes
    ----------
    answer
        The reported output.
    guess
        What the mechanism's consumer takes it for, where the file holds noise and a remap.
    groups
        The names behind the places of the answer, for questions about groups.
    epsilon
        The privacy level.
    charged
        What the ledger was charged.
    remaining
        What is left of the table's budget.
    receipt
        The signed receipt.
    key
        The request key: asking again with it returns the same answer.
    fresh
        Whether the answer was drawn now, not found in the ledger.
    interval
        The confidence set of the answer; ``None`` where the mechanism is too large for one.

    Examples
    --------
    >>> Release(3, 3, (), Epsilon.of(1), Fraction(1), Fraction(2), {}, "k", True).answer
    3
    """

    answer: Hashable
    guess: Hashable
    groups: tuple[Any, ...]
    epsilon: Epsilon
    charged: Fraction
    remaining: Fraction
    receipt: Mapping[str, Any]
    key: str
    fresh: bool
    interval: ConfidenceSet | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope release`` prints as JSON."""
        return {
            "answer": self.answer,
            "guess": self.guess,
            "groups": self.groups or None,
            "interval": None if self.interval is None else self.interval.as_dict(),
            "epsilon": str(self.epsilon),
            "charged": str(self.charged),
            "remaining": str(self.remaining),
            "key": self.key,
            "fresh": self.fresh,
            "receipt": self.receipt,
        }


@dataclass(frozen=True)
class DeclaredQuestion:
    """How results of SQL without a known shape become answers: the user's own responsibility.

    Attributes
    ----------
    query
        The text of the query whose answer graph is right for this SQL.
    answers
        From the result, as text, to the answer.
    otherwise
        The answer for every other result.

    Examples
    --------
    >>> DeclaredQuestion("path(3)", {"0": 0, "1": 1}, 2).otherwise
    2
    """

    query: str
    answers: Mapping[str, Hashable]
    otherwise: Hashable


def release(
    mechanism: Mechanism | str | Path,
    *,
    data: Any = None,
    sql: Any,
    ledger: Ledger | str | Path,
    facts: Facts | str | Path | None = None,
    budget: Fraction | float | str | None = None,
    columns: Mapping[str, Column] | None = None,
    user: str | None = None,
    key: str | None = None,
    part: tuple[str, str] | None = None,
    declared: DeclaredQuestion | None = None,
) -> Release:
    """Answer a question about a real table with a mechanism, and charge the ledger for it.

    Before the charge the mechanism is verified, the SQL understood and compiled, the source
    found and its catalogue compared with the facts; no row is read. The budget is charged before
    a row is read; the answer is recorded before it is returned.

    Parameters
    ----------
    mechanism
        A mechanism or the path of its file.
    data
        Where the table is; the ``source`` of the facts by default.
    sql
        One SELECT, or an Ibis expression.
    ledger
        The ledger or its address. A missing one is made if a budget is known.
    facts
        Public facts, or the path of ``tightrope.toml``. Without them, the population and the
        neighbour relation are those of the mechanism.
    budget
        The table's budget, for a table that the ledger does not know yet.
    columns
        Declared columns, when there are no facts.
    user
        Who asks; charged as well as the table.
    key
        Names this request: asked again with the same key, the answer is the same and nothing
        more is charged. A new key by default.
    part
        A declared partition and one of its parts, ``("region", "north")``.
    declared
        For SQL without a known shape.

    Examples
    --------
    >>> import tempfile, pyarrow
    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> people = pyarrow.table({"age": [31, 44, 27]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer = release(
    ...         made,
    ...         data=people,
    ...         sql="select count(*) from people",
    ...         ledger=f"{folder}/ledger.db",
    ...         budget="3*ln(2)",
    ...     )
    >>> answer.answer in range(6), answer.remaining == 2 * answer.charged
    (True, True)
    """
    judged = checked_mechanism(mechanism)
    known = _facts(facts, judged, sql, data, columns)
    shape = understand(judged, sql, known, _likely_place(data, known), part, declared)
    place = data if data is not None else shape.table.source
    if place is None:
        raise InputError(
            f"the data of table {shape.table.name!r} must be named: give data, or set "
            f"tables.{shape.table.name}.source in the public facts"
        )
    charges = charges_of(judged.epsilon, shape, user)
    budgets = _budgets(known, shape.table, budget, user)
    request = _request(judged, shape, user, declared)
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, budgets)
    # An answer that could not be signed would be paid for in vain.
    number = book.id
    signing = SigningKey(key_path(book.store.file, number))
    name = key if key is not None else secrets.token_hex(16)
    before = book.ticket(name)
    try:
        if before is not None and before.is_released:
            ticket, fresh = book.reserve(name, request, charges), False
        else:
            with open_source(place, shape.table) as source:
                binding = _binding(source, place, shape.table, facts is not None)
                sealed = SealedQuery(source, shape, _nodes(judged, declared))
                ticket = book.reserve(name, request, charges, binding=binding, budgets=budgets)
                fresh = not ticket.is_released
                if fresh:
                    ticket = _answer(book, ticket, judged, sealed)
    except (SourceFailed, LedgerError) as failed:
        # Whoever named no key needs the one that was made up.
        more = "" if key is not None else f" (key {name})"
        if isinstance(failed, SourceFailed):
            raise SourceFailed(more) from None
        raise LedgerError(f"{failed}{more}") from None
    answer = read_label(ticket.entry.body["answer"])
    interval = interval_of(judged, answer)
    told = {} if interval is None else {"interval": interval.as_dict()}
    return Release(
        answer=answer,
        guess=judged.guess(answer),
        groups=shape.groups if shape.kind in (Kind.GROUPS, Kind.MOST) else (),
        epsilon=judged.epsilon,
        charged=charges[0].amount,
        remaining=book.remaining(charges[0].account),
        receipt=receipt_of(ticket.entry, number, signing, told),
        key=name,
        fresh=fresh,
        interval=interval,
    )


def checked_mechanism(mechanism: Mechanism | str | Path) -> Mechanism:
    """Return a mechanism after its privacy was verified in exact arithmetic.

    >>> checked_mechanism("no-such-file.tightrope")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.tightrope: No such file or directory
    """
    from tightrope.certify import Mechanism, read, verify

    # The bytes that are verified are the bytes that are drawn from: a file could change.
    opened = read(mechanism) if isinstance(mechanism, str | Path) else mechanism
    raw = opened.to_bytes()
    number = hashlib.sha256(raw).digest()
    held = Mechanism(raw)
    if number not in _VERIFIED:
        verdict = verify(held)
        if not verdict.private:
            reason = verdict.reasons[0] if verdict.reasons else "its privacy is not proved"
            raise CheckFailed(f"the mechanism is not released from: {reason}")
        if len(_VERIFIED) < 1000:
            _VERIFIED.add(number)
    return held


def understand(
    mechanism: Mechanism,
    sql: Any,
    facts: Facts,
    data: Any = None,
    part: tuple[str, str] | None = None,
    declared: DeclaredQuestion | None = None,
) -> Shape:
    """Return what a question asks, if that is what the mechanism answers.

    >>> from tightrope.certify import certify
    >>> from tightrope.channels import GeometricChannel
    >>> from tightrope.graphs import PathPower
    >>> from tightrope.publish.facts import Table
    >>> made = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)")
    >>> understand(made, "select count(*) from people", Facts({"people": Table("people", 9)}))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: this SQL asks count(9) under change-one; the mechanism answers
    count(5) under change-one: design one for count(9)
    """
    from tightrope.queries import query

    shape = read_shape(sql, facts, dialect_of(data), declared=declared is not None)
    if part is not None:
        shape = replace(shape, part=(shape.table.partition(*part), part[1]))
    near = shape.table.neighbours.value
    asked = query(shape.question if declared is None else declared.query, neighbours=near)
    for label in () if declared is None else (*declared.answers.values(), declared.otherwise):
        mechanism.input_index(label)
    # A graph of one's own is that of a declared question, compared by its content.
    if not mechanism.answers(asked):
        raise InputError(
            f"this SQL asks {asked.text} under {near}; the mechanism answers {mechanism.query} "
            f"under {mechanism.neighbours}: design one for {asked.text}"
        )
    return shape


def _likely_place(data: Any, facts: Facts) -> Any:
    """Return where the table will be, as far as that is known before the SQL is read."""
    sources = {table.source for table in facts.tables.values()}
    return sources.pop() if data is None and len(sources) == 1 else data


def _nodes(
    mechanism: Mechanism, declared: DeclaredQuestion | None
) -> tuple[dict[str, int], int] | None:
    """Return the nodes that a declared question's results stand for."""
    if declared is None:
        return None
    nodes = {text: mechanism.input_index(label) for text, label in declared.answers.items()}
    return nodes, mechanism.input_index(declared.otherwise)


def _answer(book: Ledger, ticket: Ticket, mechanism: Mechanism, sealed: SealedQuery) -> Ticket:
    """Charge, draw and record; a reservation that was made here and not charged is freed."""
    try:
        book.charge(ticket)
    except BaseException:  # an interrupt too: nobody may know the key that was made up
        if ticket.own:
            _free(book, ticket)
        raise
    return book.answer(ticket, sealed.draw(mechanism))


def _free(book: Ledger, ticket: Ticket) -> None:
    """Give a reservation back, unless it was charged after all; time frees what stays."""
    with contextlib.suppress(InputError, LedgerError):
        book.cancel(ticket)


def charges_of(epsilon: Epsilon, shape: Shape, user: str | None) -> list[Charge]:
    """Return what a release takes from the table's account and, if one asks, the user's.

    >>> shape = Shape(Kind.COUNT, Table("people", 5))
    >>> [charge.account for charge in charges_of(Epsilon.of(1), shape, "alice")]
    ['table people', 'user alice']
    """
    amount = charge_of(epsilon)
    charge = Charge(f"table {shape.table.name}", amount)
    if shape.part is not None:
        partition, part = shape.part
        width = partition.width(shape.table.neighbours)
        charge = replace(charge, partition=partition.account, part=part, width=width)
    return [charge] if user is None else [charge, Charge(f"user {user}", amount)]


def open_ledger(url: str | Path, budgets: Mapping[str, Fraction | None]) -> Ledger:
    """Open a ledger; make a missing one only if there is a budget to put into it.

    >>> open_ledger("no-such-ledger.db", {})
    Traceback (most recent call last):
    ...
    tightrope.publish.entries.LedgerError: no-such-ledger.db: there is no ledger here; ...
    """
    store = Store(url)
    if not any(budgets.values()) or store.exists:
        return Ledger(url)
    key = named_key()
    if key is not None and key.exists():
        # The key has signed receipts of some ledger. If it was this one, its budgets are spent.
        raise InputError(
            f"{store.name}: there is no ledger here, but there is a signing key ({key}): put the "
            "ledger back, or make a new one with 'tightrope ledger init'"
        )
    return Ledger.create(url, exist_ok=True)


def _budgets(
    facts: Facts, table: Table, asked: Fraction | float | str | None, user: str | None
) -> dict[str, Fraction | None]:
    """Return the declared budgets of the accounts that pay."""
    budget = table.budget
    if asked is not None:
        budget = budget_of(asked)
        if table.budget not in (None, budget):
            raise InputError(
                f"the public facts give table {table.name} the budget {table.budget}, not "
                f"{budget}: leave the budget out, or change the facts"
            )
    budgets = {f"table {table.name}": budget}
    if user is not None:
        budgets[f"user {user}"] = facts.user_budget(user)
    elif facts.users:
        raise InputError(
            f"the facts give budgets to users ({', '.join(facts.users)}): say who asks"
        )
    return budgets


def _binding(source: Source, place: Any, table: Table, declared: bool) -> Binding:
    """Return which data and which people the account of a table stands for."""
    identity = source.identity()
    if table.source is not None and place is not table.source:
        with open_source(table.source, table) as other:
            if not other.identity().is_same(identity):
                raise InputError(
                    f"the public facts say that table {table.name} is at {other.shown}: "
                    "leave the data out, or ask about the table that it holds"
                )
    known = facts_digest(table) if declared else ""
    return Binding(identity, table.neighbours.value, table.person, table.contributions, known)


def facts_digest(table: Table) -> str:
    """Return the digest of the facts that privacy rests on and that no binding names apart.

    With a population that is too small, and with parts that are called fixed and are not, an
    answer may cost more than its ε.

    >>> facts_digest(Table("people", 5)) == facts_digest(Table("people", 6))
    False
    """
    fixed = [partition.column for partition in table.partitions.values() if partition.fixed]
    return digest({"population": table.population, "fixed": sorted(fixed)})


def _request(
    mechanism: Mechanism,
    shape: Shape,
    user: str | None,
    declared: DeclaredQuestion | None,
) -> dict[str, Any]:
    """Return what makes two requests the same; it stands in the ledger and in the receipt."""
    request: dict[str, Any] = {
        "mechanism": mechanism.digest,
        "query": mechanism.query,
        "neighbours": mechanism.neighbours,
        "epsilon": str(mechanism.epsilon),
        "table": shape.table.name,
        "sql": question_text(shape),
    }
    if user is not None:
        request["user"] = user
    if shape.part is not None:
        request["part"] = [shape.part[0].name, shape.part[1]]
    if declared is not None:
        answers = {text: plain_label(label) for text, label in declared.answers.items()}
        request["answers"] = {"map": answers, "otherwise": plain_label(declared.otherwise)}
    return request


def _facts(
    facts: Facts | str | Path | None,
    mechanism: Mechanism,
    sql: Any,
    data: Any,
    columns: Mapping[str, Column] | None,
) -> Facts:
    if facts is not None:
        if columns:
            raise InputError(
                "columns are declared in the public facts where there are any: add "
                f"{', '.join(columns)} there"
            )
        return facts if isinstance(facts, Facts) else read_facts(facts)
    return facts_of_mechanism(mechanism, sql, data, columns or {})
