"""From a table and clicks to published numbers: what the first panel asks of the library.

Nothing here reads a row before the ledger is charged: the names of the columns come from the
public facts, the catalogue or the first line of a file, everything else is said by the user.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tightrope.accounting.curves import delta_of
from tightrope.asking import Plan, ask_all, plan as plan_of
from tightrope.asking.answers import PublishedNumbers, published_numbers
from tightrope.asking.cache import drawn_from
from tightrope.asking.planning import PlannedRelease
from tightrope.epsilon import Epsilon
from tightrope.errors import TightropeError
from tightrope.kinds import protected
from tightrope.progress import ProgressCallback
from tightrope.publish import Ledger, facts as public
from tightrope.publish.accounts import Account, budget_of, charge_of, shown
from tightrope.publish.receipts import SigningKey, key_path, receipt_of
from tightrope.publish.sources import dialect_of, own_name
from tightrope.publish.store import Store
from tightrope.queries import Neighbours
from tightrope.report.texts import plain
from tightrope.studio.asking import FieldError, blame
from tightrope.studio.state import ConsumerText, PageState
from tightrope.texts import TextTable, bound_text

#: What can be asked by clicking: its name on the page, its SQL, and of which kinds of columns.
MEASURES = {
    "count": ("how many people", "COUNT(*)", ()),
    "sum": ("the sum of", "SUM({})", ("range",)),
    "mean": ("the mean of", "AVG({})", ("range",)),
    "median": ("the median of", "MEDIAN({})", ("range",)),
    "most_common": ("the most common", "MODE({})", ("values", "range", "boolean")),
}
#: The texts that the form asks for, under the names of ``TableAsked``: label, and an example.
TEXTS = {
    "data": ("Table", "people.csv, duckdb:///FILE, postgresql://…"),
    "table": ("Name in SQL", "people"),
    "population": ("Number of people", "5000"),
    "budget": ("Budget (sum of all ε)", "2"),
    "budget_delta": ("Budget of δ", "none"),
    "ledger": ("Ledger", "ledger.db"),
    "facts": ("Public facts (file)", "tightrope.toml"),
    "sql": ("The question as SQL", "select count(*) from t"),
    "epsilon": ("ε of this answer", "0.5"),
    "delta": ("δ, for groups not declared", "none"),
    "key": ("Request key", "new"),
}
#: What can be public about a column: its name on the page, and an example of what to write.
KINDS = {
    "": ("not used", ""),
    "range": ("numbers from … to", "0..120"),
    "values": ("one of these", "north, south"),
    "integer": ("any whole number", ""),
    "number": ("any number", ""),
    "text": ("any text", ""),
    "boolean": ("true or false", ""),
    "date": ("any date", ""),
}


@dataclass(frozen=True)
class Clicked:
    """A question as it is clicked together.

    Attributes
    ----------
    measure
        A key of ``MEASURES``.
    of
        The column that is summed or averaged.
    by
        The columns to group by.
    where
        A column, a comparison and a value; or nothing.
    margins
        Whether all tables of some of these columns are wanted too, as one job.

    Examples
    --------
    >>> Clicked(by=("sex", "age"), margins=True).sql("people")
    'SELECT sex, age, COUNT(*) AS n FROM people GROUP BY CUBE (sex, age)'
    >>> Clicked("mean", "age", ("region",), ("smokes", "=", "yes")).sql("people")
    "SELECT region, AVG(age) AS mean FROM people WHERE smokes = 'yes' GROUP BY region"
    """

    measure: str = "count"
    of: str = ""
    by: tuple[str, ...] = ()
    where: tuple[str, str, str] = ("", "=", "")
    margins: bool = False

    def sql(self, table: str) -> str:
        """Return the question as SQL about a table."""
        _, form, kinds = MEASURES[self.measure]
        if kinds and not self.of:
            # COUNT needs no column, everything else does.
            raise FieldError("table of", "choose the column")
        by = ", ".join(map(_name, self.by))
        what = f"{form.format(_name(self.of))} AS {self.measure if kinds else 'n'}"
        column, sign, value = self.where
        chosen = (
            f" WHERE {_name(column)} {sign} {_literal(value)}"
            if column and value
            else ""
        )
        head = f"SELECT {by}, {what}" if by else f"SELECT {what}"
        groups = f"CUBE ({by})" if self.margins and by else by
        return f"{head} FROM {_name(table)}{chosen}" + (
            f" GROUP BY {groups}" if groups else ""
        )


def _name(text: str) -> str:
    return (
        text
        # Plain identifiers stay readable; all others are quoted and cannot break out.
        if re.fullmatch(r"[A-Za-z_]\w*", text)
        else '"' + text.replace('"', '""') + '"'
    )


def _literal(text: str) -> str:
    number = re.fullmatch(r"-?\d+(\.\d+)?", text.strip())
    # Doubling the quote is the only escape that standard SQL needs.
    return text.strip() if number else "'" + text.strip().replace("'", "''") + "'"


@dataclass(frozen=True)
class TableAsked:
    """Everything in the form of the first panel, as texts.

    Attributes
    ----------
    data
        Where the table is.
    table
        Its name in SQL.
    columns
        The declared columns, such as ``age:0..120``.
    population, neighbours, budget, budget_delta
        How many people, which tables are neighbours, and the budget of a new table with its δ.
    facts
        The file of public facts that says all of this instead.
    ledger
        The ledger that pays.
    sql, epsilon, key
        The question, the privacy level, and the key of the request.
    delta
        For groups by a column without declared values: the δ of the answer.
    """

    data: str = ""
    table: str = ""
    columns: tuple[str, ...] = ()
    population: str = ""
    neighbours: str = "change-one"
    budget: str = ""
    budget_delta: str = ""
    facts: str = ""
    ledger: str = "ledger.db"
    sql: str = ""
    epsilon: str = "0.5"
    key: str = ""
    delta: str = ""


def columns_of(place: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return what a table is called, and its columns with what the form says; no row is read.

    >>> columns_of("no-such-file.csv")
    Traceback (most recent call last):
    ...
    tightrope.studio.asking.FieldError: ...
    """
    with blame("table data"):
        # The name decides the account, so it comes from the place and not from the form.
        name = own_name(place) or ""
        found = public.columns_of_catalogue(place, name or "table")
    return name, {column: (kind, "") for column, kind in found.items()}


def column_form(column: public.Column) -> tuple[str, str]:
    """Return what the form says of a declared column.

    >>> from tightrope.publish.facts import read_column
    >>> column_form(read_column("age:0..120")), column_form(read_column("born:date"))
    (('range', '0..120'), ('date', ''))
    >>> column_form(read_column("height:1.2..2.3:0.01"))
    ('range', '1.2..2.3:0.01')
    """
    # The step belongs to the range: without it the form would declare whole numbers.
    if column.ends is not None:
        ends = "..".join(column.ends)
        return "range", ends if column.step == 1 else f"{ends}:{shown(column.step)}"
    if column.values is not None:
        return "values", ", ".join(map(str, column.values))
    return column.type, ""


def facts_form(path: str, table: str) -> tuple[TableAsked, dict[str, tuple[str, str]]]:
    """Return the form as a file of public facts fills it: fields, and columns.

    Of several tables it is the named one, or the first.
    """
    with blame("table facts"):
        tables = public.read_facts(path).tables
    one = tables.get(table) or next(iter(tables.values()))
    form = TableAsked(
        one.source or "", one.name, (), str(one.population or ""), one.neighbours.value,
        shown(one.budget) if one.budget else "", f"{float(one.delta):g}" if one.delta else "", path,
    )  # fmt: skip
    return form, {name: column_form(column) for name, column in one.columns.items()}


def declared(asked: TableAsked) -> public.Table:
    """Return the public facts that the form states, or the file that it names.

    >>> form = TableAsked("people.csv", "people", ("age:0..120",), "500", budget="2")
    >>> declared(form).columns["age"].bounds
    (0, 120)
    """
    # The file is the only authority then: fields on the page may be stale.
    if asked.facts:
        with blame("table facts"):
            table = public.read_facts(asked.facts).table(asked.table)
            return replace(table, source=asked.data or table.source)
    if not asked.data:
        raise FieldError("table data", "upload a table or name one")
    # A declared limit, never a count: a number read from the rows would be published exactly.
    if not asked.population.isdigit() or not int(asked.population):
        raise FieldError(
            "table population",
            "how many people is it about? A whole number, which is public",
        )
    with blame("table columns"):
        columns = {
            column.name: column for column in map(public.read_column, asked.columns)
        }
    with blame("table budget"):
        budget = budget_of(asked.budget) if asked.budget else None
    with blame("table budget_delta"):
        delta = delta_of(asked.budget_delta) if asked.budget_delta else None
    with blame("table table"):
        return public.Table(
            name=asked.table, population=int(asked.population), columns=columns, budget=budget,
            delta=delta, neighbours=Neighbours.of(asked.neighbours), source=asked.data,
        )  # fmt: skip


def facts_file(asked: TableAsked) -> str:
    """Return the form as ``tightrope.toml``."""
    return public.facts_text(declared(asked))


def _plan(
    asked: TableAsked,
    epsilon: str,
    progress: ProgressCallback | None = None,
    neighbours: Neighbours | None = None,
) -> Plan:
    from tightrope.publish.sql_reader import read_shapes

    table = declared(asked)
    table = replace(table, neighbours=neighbours or table.neighbours)
    if not asked.sql:
        raise FieldError("table sql", "click a question together, or write one SELECT")
    if not asked.ledger:
        raise FieldError("table ledger", "name the ledger that pays for the answer")

    with blame("table epsilon"):
        level = Epsilon.of(epsilon)
    facts = public.Facts({table.name: table})
    with blame("table sql"):
        try:
            shapes = read_shapes(asked.sql, facts, dialect_of(table.source))
        except public.UndeclaredColumn as refused:
            # In the words of the form: the message names a file and a flag.
            raise FieldError(
                "table sql",
                f"nothing is public about a column {refused.name!r} (declared: {refused.known}): "
                "correct its name, or say under Columns what everybody may know about it",
            ) from None
    # A δ that no shape needs would be charged for nothing, so it is refused.
    if any(shape.needs_delta for shape in shapes) != bool(asked.delta):
        needed = (
            "nobody declared these groups: large ones can be shown, and one person alone only with "
            "a probability δ that you choose, such as 1e-6"
        )
        wrong = "not for these groups: leave it empty" if asked.delta else needed
        raise FieldError("table delta", wrong)
    with blame("table delta" if asked.delta else "table sql"):
        return plan_of(
            [asked.sql], epsilon=level, delta=asked.delta or 0, facts=facts, ledger=asked.ledger,
            progress=progress,
        )  # fmt: skip


@dataclass(frozen=True)
class Earlier:
    """An answer in the ledger to the very question that is asked.

    Attributes
    ----------
    text
        The published numbers with their margins.
    time
        When they were published, to the minute.
    key
        The request key: with it the same answer comes back and costs nothing.
    """

    text: str
    time: str
    key: str


@dataclass(frozen=True)
class Forecast:
    """The error and the price of an answer, before anything is paid.

    Attributes
    ----------
    error
        The margin at 95 %, in words.
    protects
        What the margin's neighbour relation protects, in words.
    notes
        How good the noise is.
    price
        What is shown before paying.
    cost, shortfall
        What it costs, and what the budget lacks for it.
    noise
        Differences from the truth, and the probability of each.
    earlier
        The newest answer to the same question, if the ledger has one.
    theory
        The question behind the numbers as Study shows it; none for a draw by scores, which sees
        more than one answer.
    margins, shares
        Of several tables: the margins of each, and which share of ε each measured one has.
    """

    error: str
    protects: str
    notes: tuple[str, ...]
    price: dict[str, str]
    cost: float
    shortfall: Fraction
    noise: tuple[tuple[float, float], ...]
    earlier: Earlier | None
    theory: PageState | None
    margins: TextTable
    shares: dict[str, float]


def forecast(asked: TableAsked, progress: ProgressCallback | None = None) -> Forecast:
    """Return the error and the price of an answer; nothing is paid and no row is read."""
    try:
        plan = _plan(asked, asked.epsilon, progress)
    except FieldError:
        # A level far above the budget may be more than any noise is proved for: the budget is
        # what the user can do something about.
        _check_level(asked)
        raise
    question = plan.questions[0]
    left = plan.remaining
    # No account yet, and no budget given: the price cannot be compared with anything.
    if left is None:
        raise FieldError(
            "table budget",
            f"table {asked.table} is new in this ledger: give it a budget",
        )
    earlier = _earlier(plan, asked.ledger) if Store(asked.ledger).exists else None
    cost = plan.cost
    delta = f" and δ = {asked.delta}" if asked.delta else ""
    words = f"ε = {shown(cost)}{delta}, paid from the budget of table {asked.table}"
    # Asked again with its key: the recorded answer comes back free.
    if asked.key and _is_paid(asked):
        cost = Fraction(0)
        words = "nothing more: this request was paid for"
    relation = question.parts[0].shape.table.neighbours.value
    protects = protected(relation)
    # Several tables have a line each; the largest margin is the one to know.
    error = (
        f"± {bound_text(max(table.margin for table in question.published))} at most (95 %)"
        if question.published
        else "; ".join(question.errors.values())
    )
    price = {
        "question": asked.sql,
        "expected error": error,
        "protects": protects,
        "price": words,
        "left now": shown(left),
        "left afterwards": shown(left - cost),
    }
    if earlier is not None:
        price["answered before"] = f"{earlier.text}, {earlier.time}"
    return Forecast(
        error,
        protects,
        question.notes,
        price,
        # The price is shown as computed even if this request was paid for.
        float(plan.cost),
        max(cost - left, Fraction(0)),
        question.parts[0].noises[0].differences(),
        earlier,
        _theory(question.parts[0]),
        question.margins(plan.confidence),
        question.shares,
    )


def _check_level(asked: TableAsked) -> None:
    """Refuse a level above what the budget has left, as far as that is known."""
    table = declared(asked)
    with blame("table epsilon"):
        cost = charge_of(Epsilon.of(asked.epsilon))
    with blame("table ledger"):
        book = Ledger(asked.ledger) if Store(asked.ledger).exists else None
        account = book.account(table.account) if book else None
    left = account.remaining if account else table.budget
    if left is not None and cost > left:
        raise FieldError("table epsilon", f"more than the {shown(left)} left")


def relation_costs(asked: TableAsked) -> dict[str, str]:
    """Return what the largest margin of the question would be under both neighbour relations.

    A relation is left out where the question cannot be asked under it, or its error is not known.
    """
    costs = {}
    for relation in (Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE):
        try:
            question = _plan(asked, asked.epsilon, neighbours=relation).questions[0]
        except TightropeError:
            continue
        known = [error for part in question.parts for error in part.errors]
        if known:
            costs[relation.value] = f"± {bound_text(max(known))}"
    return costs


def _theory(part: PlannedRelease) -> PageState | None:
    """Return the first draw, which is also the one that is drawn, as a question of Study."""
    noise = part.noises[0]
    # A draw by scores sees counts of all values, so no single answer graph describes it.
    consumer = None if noise.sees_counts else noise.verdict.consumer
    if consumer is None:
        return None
    reader = ConsumerText(
        "the reader",
        prior=consumer["prior"] or ConsumerText.prior,
        support=consumer["support"] or "",
        loss=consumer["loss"],
    )
    return PageState(
        question=noise.query,
        neighbours=noise.neighbours,
        epsilon=str(noise.epsilon),
        consumers=(reader,),
    )


def _is_paid(asked: TableAsked) -> bool:
    """Whether the ledger was charged for the request with this key."""
    if not Store(asked.ledger).exists:
        return False
    ledger = Ledger(asked.ledger)
    # An answer of several parts has a key for each.
    tickets = map(ledger.ticket, (asked.key, f"{asked.key}.1"))
    # Anything beyond a reservation was charged.
    return any(ticket is not None and ticket.phase != "reserved" for ticket in tickets)


def _earlier(plan: Plan, ledger: str) -> Earlier | None:
    """Return the newest answer whose recorded request equals that of the plan.

    The whole request is compared (SQL as compiled, mechanism, level, relation), not its text:
    another spelling of the same question is found, the same text about other facts is not.
    """
    part = plan.questions[0].parts[0]
    request = plain(plan.request(part.noises, part.shape, key="").body)
    answers, _ = Ledger(ledger).paid()
    # The newest first: that is what the user remembers.
    for entry in reversed(answers):
        # Compared on the recorded request, where equal questions have equal text.
        if {name: entry.body.get(name) for name in request} == request:
            text = str(published_numbers(entry.body, list(part.noises)))
            several = len(plan.questions[0].parts) > 1
            key = str(entry.body["key"])
            return Earlier(
                text,
                to_the_minute(entry.time),
                key.removesuffix(".1") if several else key,
            )
    return None


def to_the_minute(time: str) -> str:
    """Write a time of the ledger without its seconds.

    >>> to_the_minute("2030-01-02T03:04:05.678Z")
    '2030-01-02 03:04'
    """
    return f"{time[:10]} {time[11:16]}"


def error_curve(
    asked: TableAsked, levels: tuple[str, ...]
) -> list[tuple[float, float, float]]:
    """Return levels with the error at 95 % there, and the error of the usual noise.

    Levels are left out where the error depends on the data or the question is too large.
    """
    points = []
    for level in levels:
        try:
            plan = _plan(asked, level, None)
        # A mistake in a field is the same at each level: report it instead of an empty curve.
        except FieldError:
            raise
        except TightropeError:
            continue
        part = plan.questions[0].parts[0]
        usual = [error for error in part.usual_errors if error is not None]
        if usual:
            error = float(max(part.errors))
            points.append((float(plan.cost), error, float(max(usual))))
    return sorted(points)


def publish_answer(
    asked: TableAsked, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """Pay for an answer and return it: tables for the page, rows, costs, and the JSON."""
    plan = _plan(asked, asked.epsilon, progress)
    with blame("table publish"):
        # Keyed, so that a second click returns the same answer and pays nothing.
        answer = ask_all(plan, key=asked.key or None)[0]
    published: dict[str, Any] = plain({
        "tables": [(one.title, one.html) for one in answer.layouts(usual=False)],
        "rows": answer.table()[1:], "facts": answer.facts(), "notes": answer.notes,
        "json": answer.as_dict(),
    })  # fmt: skip
    return published


# -- what was paid for --------------------------------------------------------------------------


@dataclass(frozen=True)
class LedgerView:
    """A ledger as the page lists it: accounts, and every answer paid for, the newest first.

    An answer is what is said of it, with its error where that is known, and its signed receipt.
    Requests that were paid for and have no answer yet are listed by their keys.
    """

    accounts: tuple[Account, ...] = ()
    answers: tuple[tuple[PublishedNumbers, dict[str, Any]], ...] = ()
    unanswered: tuple[str, ...] = ()


def ledger_view(ledger: str) -> LedgerView:
    """Return what a ledger holds; nothing where there is none.

    >>> ledger_view("no-such-folder/ledger.db")
    LedgerView(accounts=(), answers=(), unanswered=())
    """
    with blame("table ledger"):
        if not Store(ledger).exists:
            return LedgerView()
        book = Ledger(ledger)
        answers, waiting = book.paid()
        # Without answers nothing needs signing, and no key should be made.
        signing = SigningKey(key_path(book.store.file, book.id)) if answers else None
        receipts = [
            plain(receipt_of(entry, book.id, signing))
            for entry in reversed(answers)
            if signing
        ]
        by_key = {receipt["key"]: receipt for receipt in receipts}
        listed = tuple(
            (published_numbers(receipt, drawn_from(receipt, by_key)), receipt)
            for receipt in receipts
        )
        return LedgerView(tuple(book.accounts().values()), listed, tuple(waiting))
