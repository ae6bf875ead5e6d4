"""One release from beginning to end: understand, reserve, charge, read, draw, record, sign."""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tightrope.certify import ScoreMechanism
from tightrope.certify.make import encode_label
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.accounts import Binding, Charge, budget_of, charge_of, check_account
from tightrope.publish.entries import LedgerError, digest, plain
from tightrope.publish.facts import Column, Facts, Table, given_facts
from tightrope.publish.intervals import ConfidenceSet, ScoreError, interval_of
from tightrope.publish.ledger import Ledger, Ticket
from tightrope.publish.receipts import SigningKey, key_path, named_key, receipt_of
from tightrope.publish.sealed import SealedQuery, SourceFailed
from tightrope.publish.series import curve_digest, curve_of
from tightrope.publish.shapes import Draw, Kind, Shape, read_label
from tightrope.publish.sources import Source, dialect_of, open_source
from tightrope.publish.store import Store

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism, Mechanism
    from tightrope.certify.judge import Verification

#: What was found about mechanisms in this process, by digest: a file is verified once.
_VERIFIED: dict[str, Verification] = {}


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
    series, left
        The series that has paid for it, and how many releases are left in that.

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
    interval: ConfidenceSet | ScoreError | None = None
    series: str | None = None
    left: int | None = None

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
            **({} if self.series is None else {"series": self.series, "left": self.left}),
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

    def nodes(self, mechanism: AnyMechanism) -> tuple[dict[str, int], int]:
        """Return the nodes that results stand for, and the node of every other result."""
        if isinstance(mechanism, ScoreMechanism):
            raise InputError("a question with an answer graph of its own has no scores")
        nodes = {text: mechanism.input_index(label) for text, label in self.answers.items()}
        return nodes, mechanism.input_index(self.otherwise)


def release(
    mechanism: AnyMechanism | str | Path,
    *,
    data: Any = None,
    sql: Any,
    ledger: Ledger | str | Path,
    facts: Facts | str | Path | None = None,
    budget: Fraction | float | str | None = None,
    columns: Mapping[str, Column | str] | None = None,
    user: str | None = None,
    key: str | None = None,
    part: tuple[str, str] | None = None,
    declared: DeclaredQuestion | None = None,
    series: str | None = None,
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
    series
        A declared series of the table's account, which has paid for this release already.

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
    known = given_facts(facts, sql, data, columns, mechanism=judged)
    shape = understand(judged, sql, known, likely_place(data, known), part, declared)
    made_up = secrets.token_hex(16) if key is None else ""
    request = Request(
        (judged,), shape, known, data=data, user=user, budget=budget, declared=declared,
        has_facts=facts is not None, key=made_up if key is None else key, made_up=made_up,
        series=series,
    )  # fmt: skip
    return carry_out([request], ledger)[0]


@dataclass(frozen=True)
class Request:
    """One question with its mechanisms, checked as far as that needs no source and no ledger.

    Attributes
    ----------
    mechanisms
        One for each draw of the question.
    shape, facts
        The question, and the public facts.
    data, user, budget, declared, series
        As for :func:`release`.
    has_facts
        Whether public facts were given, so that the account is bound to them.
    key, made_up
        The request key; and where nobody chose one, what asks for all of it again.
    step
        The place in the series.
    """

    mechanisms: tuple[AnyMechanism, ...]
    shape: Shape
    facts: Facts
    data: Any = None
    user: str | None = None
    budget: Fraction | float | str | None = None
    declared: DeclaredQuestion | None = None
    has_facts: bool = True
    key: str = ""
    made_up: str = ""
    series: str | None = None
    step: int | None = None

    def __post_init__(self) -> None:
        _ = self.place, self.charges, self.budgets, self.body  # each refuses what cannot be done

    @property
    def place(self) -> Any:
        """Where the table is."""
        table = self.shape.table
        if self.data is None and table.source is None:
            raise InputError(
                f"the data of table {table.name!r} must be named: give data, or set "
                f"tables.{table.name}.source in the public facts"
            )
        return table.source if self.data is None else self.data

    @property
    def groups(self) -> tuple[Any, ...]:
        """The names behind the places of the answer, for questions about groups."""
        return self.shape.groups if self.shape.axes and self.declared is None else ()

    @functools.cached_property
    def charges(self) -> list[Charge]:
        """Who pays what; the table first."""
        first, *more = charges_of(self.mechanisms, self.shape, self.user)
        if self.step is not None:  # the series has paid, whatever the part
            first = Charge(
                first.account, first.amount, series=self.series, step=self.step, delta=first.delta
            )
        return [first, *more]

    @functools.cached_property
    def budgets(self) -> dict[str, Fraction | None]:
        """The declared budgets of the accounts that pay."""
        table, budget = self.shape.table, self.shape.table.budget
        if self.budget is not None:
            budget = budget_of(self.budget)
            if table.budget not in (None, budget):
                raise InputError(
                    f"the public facts give table {table.name} the budget {table.budget}, not "
                    f"{budget}: leave the budget out, or change the facts"
                )
        budgets = {f"table {table.name}": budget}
        if self.user is not None:
            budgets[f"user {self.user}"] = self.facts.user_budget(self.user)
        elif self.facts.users:
            raise InputError(
                f"the facts give budgets to users ({', '.join(self.facts.users)}): say who asks"
            )
        return budgets

    @functools.cached_property
    def body(self) -> dict[str, Any]:
        """What makes two requests the same; it stands in the ledger and in the receipt."""
        from tightrope.publish.sql_writer import question_text

        shape, declared = self.shape, self.declared
        listed = [
            {
                "mechanism": one.digest,
                "query": one.query,
                "neighbours": one.neighbours,
                "epsilon": str(one.epsilon),
            }
            for one in self.mechanisms
        ]
        request: dict[str, Any] = {
            **{key: ", ".join(one[key] for one in listed) for key in listed[0]},
            "table": shape.table.name,
            "sql": question_text(shape),
        }
        if declared is None:
            request["reading"] = plain(shape.reading)
        if shape.ends is not None:
            request["ends"] = list(shape.ends)
        if self.user is not None:
            request["user"] = self.user
        if shape.part is not None:
            request["part"] = [shape.part[0].name, shape.part[1]]
        if declared is not None:
            answers = {text: encode_label(label) for text, label in declared.answers.items()}
            request["answers"] = {"map": answers, "otherwise": encode_label(declared.otherwise)}
        return request

    def placed(self, book: Ledger) -> Request:
        """Return the request with its place in its series, if it is in one."""
        if self.series is None:
            return self
        first, one = self.charges[0], self.mechanisms[0]
        account = book.account(first.account)
        if account is None:
            raise InputError(f"{first.account} has no budget in this ledger, and so no series")
        series = account.known_series(self.series)
        alone = len(self.mechanisms) == 1 and first.amount == charge_of(one.epsilon)
        step = series.place(
            self.series, first.amount, one.digest if alone else "", pure=not first.delta
        )
        if series.steps[step].curve not in (None, _curve_number(one.to_bytes())):
            raise CheckFailed(f"the series {self.series!r} holds another curve of this mechanism")
        return replace(self, step=step)


def carry_out(requests: Sequence[Request], ledger: Ledger | str | Path) -> list[Release]:
    """Answer requests: reserve all of them, then charge, draw and record one after the other.

    What is already in the ledger under a request's key is returned as it is. If one cannot be
    reserved, none is charged; if one fails later, what was reserved after it is freed.
    """
    budgets: dict[str, Fraction | None] = {}
    for request in requests:
        budgets |= request.budgets
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, budgets)
    requests = [request.placed(book) for request in requests]
    # An answer that could not be signed would be paid for in vain.
    signing = SigningKey(key_path(book.store.file, book.id))
    done: list[tuple[Ticket, bool]] = []
    with contextlib.ExitStack() as stack:
        ready: list[tuple[Ticket, SealedQuery | None]] = []
        try:
            for request in requests:
                ready.append(_reserved(book, request, stack))
            for request, (ticket, sealed) in zip(requests, ready, strict=True):
                if sealed is None or ticket.is_released:
                    done.append((ticket, False))
                    continue
                book.charge(ticket)
                done.append((book.answer(ticket, sealed.draw(request.mechanisms)), True))
        except BaseException as failed:  # an interrupt too: nobody may know a key that was made up
            for ticket, _ in ready[len(done) :]:
                if ticket.own:  # unless it was charged after all; time frees what stays
                    with contextlib.suppress(InputError, LedgerError):
                        book.cancel(ticket)
            # Include the generated key in the error: it is needed to ask again.
            more = f" (key {requests[0].made_up})" if requests[0].made_up else ""
            if isinstance(failed, SourceFailed):
                raise SourceFailed(more) from None
            if isinstance(failed, LedgerError):
                raise LedgerError(f"{failed}{more}") from None
            if done and isinstance(failed, InputError):
                raise InputError(f"{failed}{more}") from None
            raise
    return [
        _released(book, request, ticket, fresh, signing)
        for request, (ticket, fresh) in zip(requests, done, strict=True)
    ]


def _reserved(
    book: Ledger, request: Request, stack: contextlib.ExitStack
) -> tuple[Ticket, SealedQuery | None]:
    """Set the amount of a request aside, and make its query ready, unless it is answered."""
    before, shape = book.ticket(request.key), request.shape
    if before is not None and before.is_released:
        return book.reserve(request.key, request.body, request.charges), None
    source = stack.enter_context(open_source(request.place, shape.table))
    binding = _binding(source, request.place, shape.table, request.has_facts)
    declared = request.declared
    nodes = None if declared is None else declared.nodes(request.mechanisms[0])
    sealed = SealedQuery(source, shape, nodes)
    ticket = book.reserve(
        request.key, request.body, request.charges, binding=binding, budgets=request.budgets,
        deltas={f"table {shape.table.name}": shape.table.delta},
    )  # fmt: skip
    return ticket, sealed


def _released(
    book: Ledger, request: Request, ticket: Ticket, fresh: bool, signing: SigningKey
) -> Release:
    judged, shape = request.mechanisms, request.shape
    answer = read_label(ticket.entry.body["answer"])
    is_one = len(judged) == 1 and (request.declared is not None or shape.draws[0].times == 1)
    interval = interval_of(judged[0], answer) if is_one else None
    told = {} if interval is None else {"interval": interval.as_dict()}
    account = book.account(request.charges[0].account)
    assert account is not None
    return Release(
        answer=answer,
        guess=judged[0].guess(answer) if is_one else answer,
        groups=request.groups,
        epsilon=judged[0].epsilon if is_one else Epsilon.of(request.charges[0].amount),
        charged=request.charges[0].amount,
        remaining=account.remaining,
        receipt=receipt_of(ticket.entry, book.id, signing, told),
        key=request.key,
        fresh=fresh,
        interval=interval,
        series=request.series,
        left=None if request.series is None else account.known_series(request.series).left,
    )


@overload
def checked_mechanism(mechanism: Mechanism) -> Mechanism: ...
@overload
def checked_mechanism(mechanism: AnyMechanism | str | Path) -> AnyMechanism: ...
def checked_mechanism(mechanism: AnyMechanism | str | Path) -> AnyMechanism:
    """Return a mechanism after its privacy was verified in exact arithmetic.

    >>> checked_mechanism("no-such-file.tightrope")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file.tightrope: No such file or directory
    """
    from tightrope.certify import read

    if not hasattr(mechanism, "to_bytes") and not isinstance(mechanism, str | Path):
        raise InputError(
            "a release needs a mechanism or the path of its file (a design becomes one with "
            f"tightrope.prove), got {type(mechanism).__name__}"
        )
    # The bytes that are verified are the bytes that are drawn from: a file could change.
    given = read(mechanism) if isinstance(mechanism, str | Path) else mechanism
    held = read(given.to_bytes())
    verdict = verdict_of(held)
    if not verdict.private:
        reason = verdict.reasons[0] if verdict.reasons else "its privacy is not proved"
        raise CheckFailed(f"the mechanism is not released from: {reason}")
    return held


def verdict_of(mechanism: AnyMechanism) -> Verification:
    """Return what the judge finds about a mechanism that is held in memory."""
    from tightrope.certify import verify

    number = mechanism.digest
    if number not in _VERIFIED:
        _VERIFIED[number] = verify(mechanism)
    return _VERIFIED[number]


def understand(
    mechanism: AnyMechanism,
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
    count(5) under change-one: design one with 'tightrope design "count(9)" …'
    """
    from tightrope.publish.sql_reader import read_shape
    from tightrope.queries import query

    shape = read_shape(sql, facts, dialect_of(data), declared=declared is not None)
    if part is not None:
        shape = replace(shape, part=(shape.table.partition(*part), part[1]))
    shape = replace(shape, by_score=isinstance(mechanism, ScoreMechanism))
    if declared is not None:
        draw = Draw(declared.query, shape.table.neighbours)
        declared.nodes(mechanism)
    else:
        _ = shape.question  # refuses what needs several draws
        (draw,) = shape.draws
    text, near = draw.query, draw.neighbours
    if draw.by_score or isinstance(mechanism, ScoreMechanism):
        fits = (mechanism.query, mechanism.neighbours) == (text, near.value)
    else:
        # A graph of one's own is that of a declared question, compared by its content.
        fits = mechanism.answers(asked := query(text, neighbours=near))
        text = asked.text
    if not fits:
        more = "" if mechanism.neighbours == near.value else f" --neighbours {near.value}"
        raise InputError(
            f"this SQL asks {text} under {near.value}; the mechanism answers {mechanism.query} "
            f"under {mechanism.neighbours}: design one with 'tightrope design \"{text}\"{more} …'"
        )
    return shape


def likely_place(data: Any, facts: Facts) -> Any:
    """Return where the table will be, as far as that is known before the SQL is read."""
    sources = {table.source for table in facts.tables.values()}
    return sources.pop() if data is None and len(sources) == 1 else data


@functools.lru_cache(maxsize=16)
def _curve_number(raw: bytes) -> str | None:
    """Return the digest of the worst curve of a mechanism."""
    from tightrope.certify import read

    curve = curve_of(read(raw))
    return None if curve is None else curve_digest(curve)


def charges_of(
    mechanisms: Sequence[AnyMechanism], shape: Shape, user: str | None = None
) -> list[Charge]:
    """Return what a release takes from the table's account and, if one asks, the user's.

    Draws about the same people add up; in a draw for each of several disjoint groups, one person
    is in as many as its width says.

    >>> from tightrope.certify import by_score
    >>> shape = Shape(Kind.COUNT, Table("people", 5))
    >>> made = by_score("commonest(3)", 1)
    >>> [charge.account for charge in charges_of([made], shape, "alice")]
    ['table people', 'user alice']
    """
    widths = [1] if shape.kind is Kind.DECLARED else [draw.width for draw in shape.draws]
    pairs = list(zip(widths, mechanisms, strict=True))
    amount = sum((width * charge_of(one.epsilon) for width, one in pairs), Fraction(0))
    slack = sum((width * one.delta for width, one in pairs), Fraction(0))
    charge = Charge(f"table {shape.table.name}", amount, delta=slack)
    if shape.part is not None:
        partition, part = shape.part
        width = partition.width(shape.table.neighbours)
        charge = replace(charge, partition=partition.account, part=part, width=width)
    return [charge] if user is None else [charge, Charge(f"user {user}", amount, delta=slack)]


def open_ledger(url: str | Path, budgets: Mapping[str, Fraction | None]) -> Ledger:
    """Open a ledger; make a missing one only if there is a budget to put into it.

    >>> open_ledger("no-such-ledger.db", {})
    Traceback (most recent call last):
    ...
    tightrope.publish.entries.LedgerError: no-such-ledger.db: there is no ledger here; ...
    """
    for name in budgets:
        check_account(name)
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
