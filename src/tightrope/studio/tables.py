"""From a table and clicks to published numbers: what the first panel asks of the library.

Nothing here reads a row before the ledger is charged: the names of the columns come from the
public facts, the catalogue or the first line of a file, everything else is said by the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tightrope.accounting.curves import delta_of
from tightrope.asking import Plan, ask_all, plan
from tightrope.asking.answers import published_text
from tightrope.asking.shelf import drawn_from
from tightrope.certify import AnyMechanism, Mechanism
from tightrope.channels import UnboundedNoise
from tightrope.epsilon import Epsilon
from tightrope.errors import TightropeError
from tightrope.publish import Ledger, facts as public
from tightrope.publish.accounts import Account, budget_of, shown
from tightrope.publish.receipts import SigningKey, key_path, receipt_of
from tightrope.publish.shapes import Kind
from tightrope.publish.sources import dialect_of, own_name
from tightrope.publish.store import Store
from tightrope.queries import Neighbours
from tightrope.report.texts import plain
from tightrope.studio.asking import Refused, blame

#: What can be asked by clicking: its name on the page, its SQL, and of which kinds of columns.
MEASURES = {
    "count": ("how many people", "COUNT(*)", ()),
    "sum": ("the sum of", "SUM({})", ("range",)),
    "mean": ("the mean of", "AVG({})", ("range",)),
    "median": ("the median of", "MEDIAN({})", ("range",)),
    "commonest": ("the commonest", "MODE({})", ("values", "range", "boolean")),
}
#: The texts that the form asks for, under the names of ``TableAsked``: label, and an example.
TEXTS = {
    "data": ("Table", "people.csv, duckdb:///FILE, postgresql://…"),
    "table": ("Name in SQL", "people"),
    "population": ("People, at most", "5000"),
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

    Examples
    --------
    >>> Clicked("mean", "age", ("region",), ("smokes", "=", "yes")).sql("people")
    "SELECT region, AVG(age) AS mean FROM people WHERE smokes = 'yes' GROUP BY region"
    """

    measure: str = "count"
    of: str = ""
    by: tuple[str, ...] = ()
    where: tuple[str, str, str] = ("", "=", "")

    def sql(self, table: str) -> str:
        """Return the question as SQL about a table."""
        _, form, kinds = MEASURES[self.measure]
        if kinds and not self.of:
            raise Refused("table of", "choose the column")
        by = ", ".join(map(_name, self.by))
        what = f"{form.format(_name(self.of))} AS {self.measure if kinds else 'n'}"
        column, sign, value = self.where
        chosen = f" WHERE {_name(column)} {sign} {_literal(value)}" if column and value else ""
        head = f"SELECT {by}, {what}" if by else f"SELECT {what}"
        return f"{head} FROM {_name(table)}{chosen}" + (f" GROUP BY {by}" if by else "")


def _name(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_]\w*", text) else '"' + text.replace('"', '""') + '"'


def _literal(text: str) -> str:
    number = re.fullmatch(r"-?\d+(\.\d+)?", text.strip())
    return text.strip() if number else "'" + text.strip().replace("'", "''") + "'"


@dataclass(frozen=True)
class TableAsked:
    """Everything the first panel was told, as texts.

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
    tightrope.studio.asking.Refused: ...
    """
    with blame("table data"):
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
    if column.bounds is not None:
        ends = "..".join(shown(end * column.step) for end in column.bounds)
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
    if asked.facts:
        with blame("table facts"):
            table = public.read_facts(asked.facts).table(asked.table)
            return replace(table, source=asked.data or table.source)
    if not asked.data:
        raise Refused("table data", "upload a table or name one")
    if not asked.population.isdigit() or not int(asked.population):
        raise Refused(
            "table population", "how many people can the table hold? Everybody may know it"
        )
    with blame("table columns"):
        columns = {column.name: column for column in map(public.read_column, asked.columns)}
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


def _plan(asked: TableAsked, epsilon: str, told: Callable[..., Any] | None) -> Plan:
    from tightrope.publish.sql_reader import read_shapes

    table = declared(asked)
    if not asked.sql:
        raise Refused("table sql", "click a question together, or write one SELECT")
    if not asked.ledger:
        raise Refused("table ledger", "name the ledger that pays for the answer")

    def tell(share: float | None, step: str) -> None:
        if told is not None:
            told(step if share is None else f"{step}: {share:.0%}")

    with blame("table epsilon"):
        level = Epsilon.of(epsilon)
    facts = public.Facts({table.name: table})
    with blame("table sql"):
        shapes = read_shapes(asked.sql, facts, dialect_of(table.source))
    if any(shape.kind is Kind.FOUND for shape in shapes) != bool(asked.delta):
        needed = (
            "nobody declared these groups: large ones can be shown, and one person alone only with "
            "a probability δ that you choose, such as 1e-6"
        )
        wrong = "not for these groups: leave it empty" if asked.delta else needed
        raise Refused("table delta", wrong)
    with blame("table delta" if asked.delta else "table sql"):
        return plan(
            [asked.sql], epsilon=level, delta=asked.delta or 0, facts=facts, ledger=asked.ledger,
            progress=tell,
        )  # fmt: skip


@dataclass(frozen=True)
class Forecast:
    """What an answer will be like and cost, before anything is paid.

    Attributes
    ----------
    error
        The error that is kept with 95 %, in words.
    notes
        How good the noise is.
    price
        What is shown before paying.
    affordable
        Whether the budget suffices.
    noise
        Differences from the truth, and the probability of each.
    """

    error: str
    notes: tuple[str, ...]
    price: dict[str, str]
    affordable: bool
    noise: tuple[tuple[float, float], ...]


def forecast(asked: TableAsked, told: Callable[..., Any] | None = None) -> Forecast:
    """Say how exact an answer will be and what it will cost; nothing is paid or read."""
    made = _plan(asked, asked.epsilon, told)
    question, left = made.questions[0], made.remaining
    error = "; ".join(question.errors.values())
    if left is None:
        raise Refused(
            "table budget", f"table {asked.table} is new in this ledger: give it a budget"
        )
    cost, delta = made.cost, f" and δ = {asked.delta}" if asked.delta else ""
    words = f"ε = {shown(cost)}{delta}, paid from the budget of table {asked.table}"
    if asked.key and Store(asked.ledger).exists:
        keys = (asked.key, f"{asked.key}.1")  # an answer of several parts has a key for each
        known = (Ledger(asked.ledger).ticket(key) for key in keys)
        if any(ticket is not None and ticket.phase != "reserved" for ticket in known):
            cost, words = Fraction(0), "nothing more: this request was paid for"
    price = {
        "question": asked.sql,
        "expected error": error,
        "price": words,
        "left now": shown(left),
        "left afterwards": shown(left - cost),
    }
    curve = noise_curve(question.parts[0].numbers)
    return Forecast(error, question.notes, price, cost <= left, curve)


def error_at(asked: TableAsked, epsilon: str) -> tuple[float, float, float] | None:
    """Return a level, the error kept with 95 % there, and what the usual noise would have.

    ``None`` where the error depends on the data, or the question is too large at this level.
    """
    try:
        made = _plan(asked, epsilon, None)
    except Refused:
        raise
    except TightropeError:
        return None
    part = made.questions[0].parts[0]
    usual = part.usual
    if usual is None:
        return None
    return float(made.cost), float(max(part.error)), float(usual)


def noise_curve(mechanism: AnyMechanism, most: int = 81) -> tuple[tuple[float, float], ...]:
    """Return the noise around an answer in the middle: differences, and their probabilities.

    Of noise on a lattice it is that of one number. Nothing for answers that are not numbers.

    >>> import tightrope as tr
    >>> curve = noise_curve(tr.prove(tr.design("count(40)", "ln(3)")))
    >>> [(by, round(share, 3)) for by, share in curve if abs(by) <= 1]
    [(-1.0, 0.167), (0.0, 0.5), (1.0, 0.167)]
    """
    if not isinstance(mechanism, Mechanism):
        return ()
    seen = 1e-4  # what comes once in ten thousand times would make the rest too small to see
    if mechanism.kind == "lattice":
        noise, far = mechanism.channel(), most // 2
        assert isinstance(noise, UnboundedNoise)
        step = float(noise.lattice.step)
        shares = [(by * step, noise.coordinate(by)) for by in range(-far, far + 1)]
        return tuple((by, share) for by, share in shares if share > seen)
    try:
        rows, outputs = mechanism.shape
        middle = rows // 2
        truth = mechanism.input_label(middle)
        if isinstance(truth, bool) or not isinstance(truth, int | Fraction):
            return ()
        first, last = max(0, middle - most // 2), min(outputs, middle + most // 2 + 1)
        weights = mechanism.row_weights(middle)[first:last].tolist()
        guesses = [mechanism.guess(mechanism.output_label(o)) for o in range(first, last)]
    except TightropeError:
        return ()
    sums: dict[float, float] = {}
    for guess, weight in zip(guesses, weights, strict=True):
        by = float(Fraction(guess) - truth)  # type: ignore[call-overload]
        sums[by] = sums.get(by, 0.0) + weight / mechanism.total
    return tuple((by, share) for by, share in sorted(sums.items()) if share > seen)


def publish_answer(asked: TableAsked, told: Callable[..., Any] | None = None) -> dict[str, Any]:
    """Pay for an answer and return it: titles, rows with intervals, costs, and the JSON."""
    made = _plan(asked, asked.epsilon, told)
    with blame("table publish"):
        answer = ask_all(made, key=asked.key or None)[0]
    head, *rows = answer.table()
    found: dict[str, Any] = plain({
        "head": head, "rows": rows, "facts": answer.facts(), "notes": answer.notes,
        "json": answer.as_dict(),
    })  # fmt: skip
    return found


# -- what was paid for --------------------------------------------------------------------------


@dataclass(frozen=True)
class LedgerView:
    """A ledger as the page lists it: accounts, and every answer paid for, the newest first.

    An answer is what is said of it, with its error where that is known, and its signed receipt.
    Requests that were paid for and have no answer yet are listed by their keys.
    """

    accounts: tuple[Account, ...] = ()
    answers: tuple[tuple[str, dict[str, Any]], ...] = ()
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
        signing = SigningKey(key_path(book.store.file, book.id)) if answers else None
        receipts = [
            plain(receipt_of(entry, book.id, signing)) for entry in reversed(answers) if signing
        ]
        listed = tuple((published_text(one, drawn_from(one)), one) for one in receipts)
        return LedgerView(tuple(book.accounts().values()), listed, tuple(waiting))
