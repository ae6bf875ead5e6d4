"""One release from beginning to end: understand, reserve, charge, read, draw, record, sign."""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.certify.make import encode_label
from tightrope.certify.second_judge import require_second_judge
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError
from tightrope.publish.accounts import (
    Binding,
    Charge,
    SourceIdentity,
    budget_of,
    charge_of,
    check_account,
)
from tightrope.publish.entries import LedgerError, digest, plain
from tightrope.publish.facts import Column, Facts, Table, given_facts
from tightrope.publish.intervals import ConfidenceSet, read_label
from tightrope.publish.ledger import Ledger, Ticket
from tightrope.publish.noise import (
    Noise,
    ScoreError,
    checked_mechanism,
    interval_of,
    noise_of,
)
from tightrope.publish.receipts import SigningKey, key_path, named_key, receipt_of
from tightrope.publish.relations import declared_tables
from tightrope.publish.sealed import SealedQuery, SourceFailed
from tightrope.publish.series import curve_digest
from tightrope.publish.sources import (
    Source,
    dialect_of,
    open_source,
    open_sources,
    place_of,
)
from tightrope.publish.store import Store

if TYPE_CHECKING:
    from tightrope.certify import AnyMechanism
    from tightrope.publish.shapes import Shape


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
            **(
                {}
                if self.series is None
                else {"series": self.series, "left": self.left}
            ),
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

    def nodes(self, noise: Noise) -> tuple[dict[str, int], int]:
        """Return the nodes that results stand for, and the node of every other result."""
        # A result that the user did not map still has a node: an error would depend on the data.
        labels = self.answers.items()
        nodes = {text: noise.node(label) for text, label in labels}
        return nodes, noise.node(self.otherwise)


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
    >>> people = pyarrow.table({"age": [31, 44, 27, 60, 18]})
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
    # Everything that can be refused is refused here, before any budget is reserved.
    judged = checked_mechanism(mechanism)
    known = given_facts(facts, sql, data, columns, mechanism=judged.file)
    shape = understand(judged, sql, known, likely_place(data, known), part, declared)
    # A random key: two people who ask the same question without keys do not share a request.
    made_up = secrets.token_hex(16) if key is None else ""
    request = Request(
        (judged,), shape, known, data=data, user=user, budget=budget, declared=declared,
        has_facts=facts is not None, key=made_up if key is None else key, made_up=made_up,
        series=series, asked=wording([sql]),
    )  # fmt: skip
    return carry_out([request], ledger)[0]


def wording(questions: Iterable[Any]) -> str:
    """Return questions as they were asked, in one line; an expression has no wording.

    >>> wording(["select count(*)", "select 1"]), wording([object()])
    ('select count(*); select 1', '')
    """
    texts = (one for one in questions if isinstance(one, str))
    return "; ".join(" ".join(text.split()) for text in texts)


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
    level
        The privacy level of the question, where its answer can be sharpened.
    follows, reservation
        The key of the answer that this one sharpens, and where that is reserved.
    asked
        The question as it was asked, for people who read the ledger.
    """

    mechanisms: tuple[Noise, ...]
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
    level: str = ""
    follows: str = ""
    reservation: tuple[int, str] | None = None
    asked: str = ""

    def __post_init__(self) -> None:
        # Finer noise is correlated with the published answer; drawn alone it would not be private.
        if any(one.needs_earlier for one in self.mechanisms) and not self.follows:
            raise InputError(
                "the mechanism draws a finer answer after one that is published: ask for it with "
                "'tightrope ask' and the key of that one"
            )
        if self.shape.table.second_judge:
            require_second_judge([one.file for one in self.mechanisms])
        # A series was composed for independent draws, and a finer answer depends on an earlier one.
        if self.follows and self.series is not None:
            raise InputError(
                "a finer answer costs the difference and is not in a series: leave the series out"
            )
        _ = (
            self.place,
            self.charges,
            self.budgets,
            self.body,
        )  # each refuses what cannot be done

    @property
    def place(self) -> Any:
        """Where the table is."""
        return place_of(self.data, self.shape.table)

    @property
    def family(self) -> list[Table]:
        """All tables about the people of the question: what it reads first, then the others."""
        table = self.shape.table
        known = self.facts.tables.values()
        own = {one.name: one for one in declared_tables(table)}
        # Tables about the same people share one account, so their sources are bound together.
        more = {one.name: one for one in known if one.account == table.account}
        return list({**own, **more}.values())

    @property
    def groups(self) -> tuple[Any, ...]:
        """The names behind the places of the answer, for questions about groups."""
        return self.shape.groups if self.shape.axes and self.declared is None else ()

    @functools.cached_property
    def charges(self) -> list[Charge]:
        """Who pays what; the table first."""
        first, *more = charges_of(self.mechanisms, self.shape, self.user)
        # The place carries no partition: a series is paid in full, whichever part it is about.
        if self.step is not None:  # the series has paid, whatever the part
            first = Charge(
                first.account,
                first.amount,
                series=self.series,
                step=self.step,
                delta=first.delta,
            )
        return [first, *more]

    @functools.cached_property
    def budgets(self) -> dict[str, Fraction | None]:
        """The declared budgets of the accounts that pay."""
        table = self.shape.table
        budget = self.shape.table.budget
        if self.budget is not None:
            budget = budget_of(self.budget)
            if table.budget not in (None, budget):
                raise InputError(
                    f"the public facts give table {table.name} the budget {table.budget}, not "
                    f"{budget}: leave the budget out, or change the facts"
                )
        budgets = {table.account: budget}
        if self.user is not None:
            budgets[f"user {self.user}"] = self.facts.user_budget(self.user)
        # Budgets per user mean that nobody may ask anonymously: that would be free for everyone.
        elif self.facts.users:
            raise InputError(
                f"the facts give budgets to users ({', '.join(self.facts.users)}): say who asks"
            )
        return budgets

    @functools.cached_property
    def body(self) -> dict[str, Any]:
        """The request as the ledger and the receipt record it."""
        from tightrope.publish.scopes import scope_of
        from tightrope.publish.sql_writer import question_text

        shape = self.shape
        declared = self.declared
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
            # One text per field for all draws of the question, as the digest needs plain values.
            **{key: ", ".join(one[key] for one in listed) for key in listed[0]},
            "table": shape.table.name,
            "sql": question_text(shape),
            "about": scope_of(shape).as_dict(),
        }
        if self.asked:
            request["asked"] = self.asked
            # A list of answers is read without the facts: it needs the names of the columns.
            request["columns"] = [*shape.keys, *shape.titles]
        if any(one.delta for one in self.mechanisms):
            deltas = (str(one.delta) for one in self.mechanisms)
            request["step_delta"] = ", ".join(deltas)
        if declared is None:
            # The reading travels with the receipt, so that it can be understood without the facts.
            request["reading"] = plain(shape.reading)
        if shape.can_sharpen and self.level:
            request["level"] = self.level
        if self.reservation is not None:
            request["follows"] = {
                "key": self.follows,
                "reservation": list(self.reservation),
            }
        if self.user is not None:
            request["user"] = self.user
        if shape.part is not None:
            request["part"] = [shape.part[0].name, shape.part[1]]
        if declared is not None:
            answers = {
                text: encode_label(label) for text, label in declared.answers.items()
            }
            request["answers"] = {
                "map": answers,
                "otherwise": encode_label(declared.otherwise),
            }
        return request

    def placed(self, book: Ledger) -> Request:
        """Return the request with its place in its series, or in its chain, if it is in one."""
        if self.follows:
            before = book.ticket(self.follows)
            if before is None:
                raise InputError(
                    f"there is no answer with the key {self.follows!r} to sharpen: ask for it first"
                )
            return replace(self, reservation=(before.position, before.hash))
        if self.series is None:
            return self
        first = self.charges[0]
        one = self.mechanisms[0]
        account = book.account(first.account)
        if account is None:
            raise InputError(
                f"{first.account} has no budget in this ledger, and so no series"
            )
        series = account.known_series(self.series)
        # A step declared for a mechanism was composed by its curve, for one draw of width 1 only.
        alone = len(self.mechanisms) == 1 and first.amount == charge_of(one.epsilon)
        step = series.place(
            self.series, first.amount, one.digest if alone else "", pure=not first.delta
        )
        # Same digest of the mechanism, other curve: one of the two files was altered.
        if series.steps[step].curve not in (None, _curve_digest(one)):
            raise CheckFailed(
                f"the series {self.series!r} holds another curve of this mechanism"
            )
        return replace(self, step=step)

    def following(self, book: Ledger) -> tuple[Noise, ...]:
        """Return the mechanisms that draw by what this chain has published before."""
        if not self.follows:
            return self.mechanisms
        answers: list[list[list[int]]] = []
        before = self.follows
        # Walk the chain back to its first answer: the finer law depends on all published numbers.
        while before:
            ticket = book.ticket(before)
            if ticket is None or not ticket.is_released:
                raise InputError(
                    f"the answer with the key {before!r} is not there yet: ask for it first"
                )
            body = ticket.entry.body
            answer = body["answer"]
            answers.insert(0, answer if isinstance(answer, list) else [[answer]])
            before = body.get("follows", {}).get("key", "")
        # From one list a step to one list a draw: for each cell its numbers, the first first.
        draws = zip(*answers, strict=True)
        numbers = [list(zip(*steps, strict=True)) for steps in draws]
        return tuple(
            one.after(mine) for one, mine in zip(self.mechanisms, numbers, strict=True)
        )


def carry_out(
    requests: Sequence[Request],
    ledger: Ledger | str | Path,
    enough: Callable[[int, Any], bool] | None = None,
) -> list[Release]:
    """Answer requests: reserve all of them, then charge, draw and record one after the other.

    What is already in the ledger under a request's key is returned as it is. If one cannot be
    reserved, none is charged; if one fails later, what was reserved after it is freed.

    Parameters
    ----------
    requests
        The requests, in the order in which they are answered.
    ledger
        The ledger or its address.
    enough
        Told the place of a request and its published answer: whether the rest is not needed, so
        that what is reserved for it is freed. It may depend on published answers alone.
    """
    budgets: dict[str, Fraction | None] = {}
    # Budgets are needed before the ledger exists: the first request may create it.
    for request in requests:
        budgets |= request.budgets
    book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger, budgets)
    # An answer that could not be signed would be paid for in vain.
    signing = SigningKey(key_path(book.store.file, book.id))
    done: list[tuple[Ticket, bool]] = []
    placed: list[Request] = []
    with contextlib.ExitStack() as stack:
        ready: list[tuple[Ticket, SealedQuery | None]] = []
        try:
            # All are reserved before one is charged: a job that does not fit as a whole costs
            # nothing.
            for request in requests:
                placed.append(request.placed(book))
                secret = signing.secret(book.id)
                ready.append(_reserved(book, placed[-1], stack, secret))
            for request, (ticket, sealed) in zip(placed, ready, strict=True):
                # Asked again with its key: return the recorded answer and touch no data.
                if sealed is None or ticket.is_released:
                    done.append((ticket, False))
                else:
                    noises = request.following(book)  # refuses before the charge
                    # The charge is durable before a row is read; a crash in between costs budget,
                    # not privacy.
                    book.charge(ticket)
                    # Only the recorded answer leaves: of two processes the one that records first
                    # wins.
                    done.append((book.answer(ticket, sealed.draw(noises)), True))
                answer = done[-1][0].entry.body["answer"]
                # enough() sees published answers only, so stopping early is post-processing.
                if enough is not None and enough(len(done) - 1, read_label(answer)):
                    _cancel(book, [later for later, _ in ready[len(done) :]])
                    break
        except (
            BaseException
        ) as failed:  # an interrupt too: nobody may know a key that was made up
            _cancel(book, [ticket for ticket, _ in ready[len(done) :]])
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
        for request, (ticket, fresh) in zip(placed, done, strict=False)
    ]


def _cancel(book: Ledger, tickets: Sequence[Ticket]) -> None:
    """Free what this process has reserved, unless it was charged; time frees what stays."""
    # The last first: what sharpens an answer is freed before that answer is.
    for ticket in reversed(tickets):
        # A reservation that another process made is not ours to free.
        if ticket.own:
            with contextlib.suppress(InputError, LedgerError):
                book.cancel(ticket)


def _reserved(
    book: Ledger, request: Request, stack: contextlib.ExitStack, secret: str
) -> tuple[Ticket, SealedQuery | None]:
    """Set the amount of a request aside, and make its query ready, unless it is answered."""
    before = book.ticket(request.key)
    shape = request.shape
    # Answered already: reserve() compares the digests and returns the recorded answer.
    if before is not None and before.is_released:
        return book.reserve(request.key, request.body, request.charges), None
    family = request.family
    # All sources of the family are opened, also those not read: the account is bound to each.
    sources = stack.enter_context(open_sources(request.data, family))
    binding = _binding(sources, request, family)
    declared = request.declared
    nodes = None if declared is None else declared.nodes(request.mechanisms[0])
    sealed = SealedQuery(sources, shape, nodes, secret)
    # Under change-one the number of people is public, so checking it costs nothing.
    sealed.check_people()
    ticket = book.reserve(
        request.key, request.body, request.charges, binding=binding, budgets=request.budgets,
        deltas={shape.table.account: shape.table.delta},
    )  # fmt: skip
    return ticket, sealed


def _released(
    book: Ledger, request: Request, ticket: Ticket, fresh: bool, signing: SigningKey
) -> Release:
    judged = request.mechanisms
    shape = request.shape
    answer = read_label(ticket.entry.body["answer"])
    is_one = len(judged) == 1 and (
        request.declared is not None
        or (shape.draws[0].times == 1 and not shape.draws_freely)
    )
    # Several draws have no single confidence set; their intervals are computed by line.
    interval = interval_of(judged[0], answer) if is_one else None
    extra = {} if interval is None else {"interval": interval.as_dict()}
    account = book.account(request.charges[0].account)
    assert account is not None
    return Release(
        answer=answer,
        guess=judged[0].guess(answer) if is_one else answer,
        groups=request.groups,
        epsilon=judged[0].epsilon if is_one else Epsilon.of(_whole_level(request)),
        charged=request.charges[0].amount,
        remaining=account.remaining,
        receipt=receipt_of(ticket.entry, book.id, signing, extra),
        key=request.key,
        fresh=fresh,
        interval=interval,
        series=request.series,
        left=None
        if request.series is None
        else account.known_series(request.series).left,
    )


def _whole_level(request: Request) -> Fraction:
    """Return the level of an answer, together with those that it sharpens."""
    pairs = zip(request.shape.draw_widths, request.mechanisms, strict=True)
    # Sequential composition over draws: Σ width · ε.
    charges = (width * charge_of(one.epsilon) for width, one in pairs)
    return sum(charges, Fraction(0))


def understand(
    mechanism: Any,
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

    noise = noise_of(mechanism)
    shape = read_shape(sql, facts, dialect_of(data), declared=declared is not None)
    if part is not None:
        part_of = shape.table.partition(*part)
        shape = replace(shape, part=(part_of, part[1]))
    shape = shape.drawn_by(noise)
    near = shape.table.neighbours
    if declared is None:
        text = shape.question  # refuses what needs several draws
        # The relation of the draw may differ from that of the table, as for several rows each.
        near = shape.draws[0].neighbours
    else:
        declared.nodes(noise)
        text = query(declared.query, neighbours=near).text
    # A mechanism for another graph may be private for fewer neighbours than the question has.
    fits = noise.is_for(text if declared is None else declared.query, near.value)
    if not fits:
        more = "" if noise.neighbours == near.value else f" --neighbours {near.value}"
        raise InputError(
            f"this SQL asks {text} under {near.value}; the mechanism answers {noise.query} "
            f"under {noise.neighbours}: design one with 'tightrope design \"{text}\"{more} …'"
        )
    return shape


def likely_place(data: Any, facts: Facts) -> Any:
    """Return where the table will be, as far as that is known before the SQL is read."""
    private = (table for table in facts.tables.values() if not table.public)
    sources = {table.source for table in private}
    if data is not None or len(sources) != 1:
        return data
    return sources.pop()


@functools.lru_cache(maxsize=16)
def _curve_digest(noise: Noise) -> str | None:
    """Return the digest of the worst curve of a mechanism."""
    curve = noise.curve()
    return None if curve is None else curve_digest(curve)


def charges_of(
    mechanisms: Sequence[Any], shape: Shape, user: str | None = None
) -> list[Charge]:
    """Return what a release takes from the table's account and, if one asks, the user's.

    Draws about the same people add up; in a draw for each of several disjoint groups, one person
    is in as many as its width says.

    >>> from tightrope.certify import by_score
    >>> from tightrope.publish.shapes import Count
    >>> shape = Count(Table("people", 5))
    >>> made = by_score("commonest(3)", 1)
    >>> [charge.account for charge in charges_of([made], shape, "alice")]
    ['table people', 'user alice']
    """
    steps = zip(shape.draw_widths, map(noise_of, mechanisms), strict=True)
    # Σ width · ε: each step of one person in a draw costs the draw's ε once more.
    charges = (width * one.charge for width, one in steps)
    amount = sum(charges, Fraction(0))
    deltas = shape.draw_deltas([one.epsilon for one in mechanisms])
    slack = sum(
        (many * one.delta for many, one in zip(deltas, mechanisms, strict=True)),
        Fraction(0),
    )
    # A part of a partition is charged to that part: disjoint parts compose in parallel.
    charge = Charge(shape.table.account, amount, delta=slack)
    if shape.part is not None:
        partition, part = shape.part
        width = partition.width(shape.table.neighbours)
        charge = replace(charge, partition=partition.account, part=part, width=width)
    return (
        [charge]
        if user is None
        else [charge, Charge(f"user {user}", amount, delta=slack)]
    )


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
    # Without a budget there is nothing to enforce, so no ledger is made by accident.
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


def _binding(
    sources: Mapping[str, Source], request: Request, family: Sequence[Table]
) -> Binding:
    """Return which data and which people the account of a table stands for.

    Tables about the same people have one account, which is that of all their data.
    """
    names: list[str] = []
    # Tables of the people themselves first: messages show the first name of an identity.
    for table in sorted(family, key=lambda table: table.people is not None):
        source = sources[table.name]
        identity = source.identity()
        place = place_of(request.data, table)
        # Threat: the facts of one table with the data of another, under the first one's account.
        if table.source is not None and place is not table.source:
            with open_source(table.source, table) as other:
                if not other.identity().is_same(identity):
                    raise InputError(
                        f"the public facts say that table {table.name} is at {other.shown}: "
                        "leave the data out, or ask about the table that it holds"
                    )
        names += identity
    table = request.shape.table.people or declared_tables(request.shape.table)[0]
    known = facts_digest(table, family) if request.has_facts else ""
    return Binding(
        SourceIdentity(names),
        table.neighbours.value,
        table.person,
        table.contributions,
        known,
    )


def facts_digest(table: Table, family: Sequence[Table] = ()) -> str:
    """Return the digest of the facts that privacy rests on and that no binding names apart.

    With a population that is too small, with parts that are called fixed and are not, and with a
    table that is called frozen and is not, an answer may cost more than its ε; so may one about
    events that are called somebody else's.

    Parameters
    ----------
    table
        The table, or that of the people.
    family
        All tables about the same people.

    Examples
    --------
    >>> facts_digest(Table("people", 5)) == facts_digest(Table("people", 6))
    False
    """
    fixed = [
        partition.column for partition in table.partitions.values() if partition.fixed
    ]
    known = {"population": table.population, "fixed": sorted(fixed)}
    # A finer answer from rows that have changed costs more than the difference.
    known |= {"frozen": True} if table.frozen else {}
    events = {
        one.name: [one.person, one.contributions, one.source, one.relation]
        for one in family
        if one.people is not None
    }
    return digest({**known, "key": table.key, "events": events} if events else known)
