"""One release from beginning to end: understand, reserve, charge, read, draw, record, sign."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.accounts import RESERVED, Charge
from tightrope.publish.addresses import LedgerError
from tightrope.publish.amounts import amount_text, budget_of
from tightrope.publish.answers import answer_of, mapped_answer
from tightrope.publish.fact_files import read_facts
from tightrope.publish.facts import Column, Facts
from tightrope.publish.labels import plain_label, read_label
from tightrope.publish.ledger import Ledger
from tightrope.publish.paying import charges_of, open_ledger, set_budgets
from tightrope.publish.receipts import SigningKey, key_path, receipt_of
from tightrope.publish.shape_reader import read_shape
from tightrope.publish.shape_sql import shape_sql
from tightrope.publish.shapes import Kind, Shape
from tightrope.publish.sources import Source, SourceFailed, dialect_of, open_source

if TYPE_CHECKING:
    from tightrope.certify import Mechanism
    from tightrope.publish.ledger import Ticket


#: Most mechanisms whose verification a process remembers.
VERIFIED_LIMIT = 1000
_VERIFIED: set[bytes] = set()


@dataclass(frozen=True)
class Release:
    """A released answer, what it cost and the proof that it was paid for.

    Attributes
    ----------
    answer
        The reported output.
    guess
        What the mechanism's reader takes it for, where the file holds noise and a remap.
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

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope release`` prints as JSON."""
        return {
            "answer": self.answer,
            "guess": self.guess,
            "groups": self.groups or None,
            "epsilon": str(self.epsilon),
            "charged": amount_text(self.charged),
            "remaining": amount_text(self.remaining),
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

    The mechanism is verified, the SQL understood, the facts compared and the budget reserved
    before the source is opened; the budget is charged before a row is read; the answer is
    recorded before it is returned.

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
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
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
    asked = budget_of(budget) if budget is not None else shape.table.budget
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, asked)
    # An answer that could not be signed would be paid for in vain.
    signing = SigningKey(key_path(book.store.file, book.id))
    charges = charges_of(judged.epsilon, shape, user)
    set_budgets(book, known, shape.table, asked, user)
    name = key if key is not None else secrets.token_hex(16)
    request = _request(judged, shape, user, declared)
    ticket = book.reserve(name, request, charges)
    fresh = not ticket.is_released
    if fresh:
        try:
            ticket = _answer(book, ticket, judged, shape, place, request, charges, declared)
        except (SourceFailed, LedgerError) as failed:
            # Whoever named no key needs the one that was made up.
            raise failed if key is not None else type(failed)(f"{failed} (key {name})") from None
    return _finished(book, ticket, judged, charges, shape, fresh, signing)


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
        if len(_VERIFIED) < VERIFIED_LIMIT:
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
    >>> made = certify(GeometricChannel(6, "ln(2)"), PathPower(6), "ln(2)", query="count(5)")
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
    if declared is None:
        text = shape.question
    else:
        text = query(declared.query, neighbours=near).text
        for label in (*declared.answers.values(), declared.otherwise):
            mechanism.input_index(label)
    answered = query(mechanism.query, neighbours=mechanism.neighbours).text
    if (text, near) != (answered, mechanism.neighbours):
        raise InputError(
            f"this SQL asks {text} under {near}; the mechanism answers {answered} under "
            f"{mechanism.neighbours}: design one for {text}"
        )
    return shape


def _likely_place(data: Any, facts: Facts) -> Any:
    """Return where the table will be, as far as that is known before the SQL is read."""
    sources = {table.source for table in facts.tables.values()}
    return sources.pop() if data is None and len(sources) == 1 else data


def _answer(
    book: Ledger,
    ticket: Ticket,
    mechanism: Mechanism,
    shape: Shape,
    place: Any,
    request: Mapping[str, Any],
    charges: list[Charge],
    declared: DeclaredQuestion | None,
) -> Ticket:
    try:
        with open_source(place, shape.table) as source:
            source.check_columns(_columns(shape))
            book.charge(ticket.key)
            truth = _truth(source, shape, declared)
    except BaseException:  # an interrupt too: nobody may know the key that was made up
        if ticket.phase == RESERVED:
            _free(book, ticket.key)
        raise
    from tightrope.publish.sampler import Sampler

    drawn = Sampler(mechanism, mechanism.input_index(truth)).draw()
    paid = [charge.as_dict() for charge in charges]
    content = {**request, "charges": paid, "answer": plain_label(drawn)}
    return book.answer(ticket.key, content)


def _free(book: Ledger, key: str) -> None:
    """Give a reservation back, unless it has been charged in the meantime."""
    known = book.ticket(key)
    if known is not None and known.phase == RESERVED:
        book.cancel(key)


def _truth(source: Source, shape: Shape, declared: DeclaredQuestion | None) -> Hashable:
    rows = source.run(shape_sql(shape, source.dialect, source.relation))
    if declared is not None and shape.kind is Kind.DECLARED:
        return mapped_answer(rows[0][0], declared.answers, declared.otherwise)
    found = answer_of(shape, rows)
    if declared is not None:
        return mapped_answer(found, declared.answers, declared.otherwise)
    return found


def _finished(
    book: Ledger,
    ticket: Ticket,
    mechanism: Mechanism,
    charges: list[Charge],
    shape: Shape,
    fresh: bool,
    signing: SigningKey,
) -> Release:
    answer = read_label(ticket.entry.body["answer"])
    return Release(
        answer=answer,
        guess=mechanism.guess(answer),
        groups=shape.groups if shape.kind in (Kind.GROUPS, Kind.MOST) else (),
        epsilon=mechanism.epsilon,
        charged=charges[0].amount,
        remaining=book.remaining(charges[0].account),
        receipt=receipt_of(ticket.entry, book.id, signing),
        key=ticket.key,
        fresh=fresh,
    )


def _columns(shape: Shape) -> list[Column]:
    names = {*shape.used}
    if shape.part is not None:
        names.add(shape.part[0].column)
    found = [shape.table.columns[name] for name in sorted(names - {shape.table.person or ""})]
    return found


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
        "sql": shape_sql(shape, "duckdb", shape.table.name),
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
    if isinstance(facts, Facts):
        return facts
    if facts is not None:
        return read_facts(facts)
    from tightrope.publish.bare_facts import facts_of_mechanism

    return facts_of_mechanism(mechanism, sql, data, columns or {})
