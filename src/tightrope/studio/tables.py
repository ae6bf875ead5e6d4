"""From a table and clicks to published numbers: what the first panel asks of the library.

Nothing here reads a row before the ledger is charged: the names of the columns come from the
catalogue or the first line of a file, everything else about them is said by the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tightrope.errors import TightropeError
from tightrope.report.texts import plain
from tightrope.studio.asking import Refused, blame

if TYPE_CHECKING:
    from tightrope.asking import Plan
    from tightrope.certify import AnyMechanism
    from tightrope.publish.facts import Table

#: What can be asked by clicking: its name on the page, its SQL, and whether it is of a column.
MEASURES = {
    "count": ("how many people", "COUNT(*)", False),
    "sum": ("the sum of", "SUM({})", True),
    "mean": ("the mean of", "AVG({})", True),
    "median": ("the median of", "MEDIAN({})", True),
}
#: What can be public about a column: its name on the page, and an example of what to write.
KINDS = {
    "": ("not used", ""),
    "range": ("whole numbers from … to", "0..120"),
    "values": ("one of these values", "north, south"),
    "integer": ("any whole number", ""),
    "number": ("any number", ""),
    "text": ("any text", ""),
    "boolean": ("true or false", ""),
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
        _, form, needs = MEASURES[self.measure]
        if needs and not self.of:
            raise Refused("table of", "choose the column")
        by = ", ".join(map(_name, self.by))
        what = f"{form.format(_name(self.of))} AS {self.measure if needs else 'n'}"
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
    population, neighbours, budget, ledger
        How many people, which tables are neighbours, the budget of a new table, and the ledger.
    sql, epsilon, key
        The question, the privacy level, and the key of the request.
    delta
        For groups by a column of any text or number: the δ of the answer.
    """

    data: str = ""
    table: str = ""
    columns: tuple[str, ...] = ()
    population: str = ""
    neighbours: str = "change-one"
    budget: str = ""
    ledger: str = "ledger.db"
    sql: str = ""
    epsilon: str = "0.5"
    key: str = ""
    delta: str = ""


def table_name(place: str) -> str:
    """Return what a table is called that is named after its file.

    >>> table_name("data/people.csv.gz"), table_name("postgresql://db/registry")
    ('people', '')
    """
    from tightrope.publish.sources import own_name

    with blame("table data"):
        return own_name(place) or ""


def columns_of(place: str, table: str) -> dict[str, str]:
    """Return the columns of a table and their declared types; no row is read.

    >>> columns_of("no-such-file.csv", "people")
    Traceback (most recent call last):
    ...
    tightrope.studio.asking.Refused: ...
    """
    from tightrope.publish.facts import Table
    from tightrope.publish.sources import open_source

    if not place:
        raise Refused("table data", "upload a table or name one")
    with blame("table data"), open_source(place, Table(table or "table", 1)) as source:
        return dict(source.columns())


def declared(asked: TableAsked) -> Table:
    """Return the public facts that the form states.

    >>> form = TableAsked("people.csv", "people", ("age:0..120",), "500", budget="2")
    >>> declared(form).columns["age"].bounds
    (0, 120)
    """
    from tightrope.publish.accounts import budget_of
    from tightrope.publish.facts import Table, read_column
    from tightrope.queries import Neighbours

    if not asked.data:
        raise Refused("table data", "upload a table or name one")
    if not asked.population.isdigit() or not int(asked.population):
        raise Refused(
            "table population", "how many people can the table hold? Everybody may know it"
        )
    with blame("table columns"):
        columns = {column.name: column for column in map(read_column, asked.columns)}
    with blame("table budget"):
        budget = budget_of(asked.budget) if asked.budget else None
    with blame("table table"):
        return Table(
            name=asked.table,
            population=int(asked.population),
            neighbours=Neighbours.of(asked.neighbours),
            columns=columns,
            budget=budget,
            source=asked.data,
        )


def facts_file(asked: TableAsked) -> str:
    """Return the form as ``tightrope.toml``."""
    from tightrope.publish.facts import facts_text

    return facts_text(declared(asked))


def _plan(asked: TableAsked, epsilon: str, told: Callable[..., Any] | None) -> Plan:
    from tightrope.asking import plan
    from tightrope.epsilon import Epsilon
    from tightrope.publish.facts import Facts

    table = declared(asked)
    if not asked.sql:
        raise Refused("table sql", "click a question together, or write one SELECT")
    if not asked.ledger:
        raise Refused("table ledger", "name the ledger that pays for the answer")

    def tell(share: float | None, step: str) -> None:
        if told is not None:
            told(step if share is None else f"{step}: {share:.0%}")

    with blame("table level"):
        level = Epsilon.of(epsilon)
    facts = Facts({table.name: table})
    with blame("table sql"):
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
    from tightrope.asking.planning import error_text
    from tightrope.publish.accounts import shown

    made = _plan(asked, asked.epsilon, told)
    question, left = made.questions[0], made.remaining
    error = "; ".join(error_text(part, made.confidence) for part in question.parts)
    price = {
        "question": asked.sql,
        "expected error": error,
        "price": f"ε = {shown(made.cost)}, paid from the budget of table {asked.table}",
    }
    if left is None:
        raise Refused(
            "table budget", f"table {asked.table} is new in this ledger: give it a budget"
        )
    price |= {"left now": shown(left), "left afterwards": shown(left - made.cost)}
    curve = noise_curve(question.parts[0].numbers)
    return Forecast(error, question.notes(made.confidence), price, made.cost <= left, curve)


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
    usual = part.usual(made.confidence)
    if usual is None:
        return None
    return float(made.cost), float(max(part.error(made.confidence))), float(usual)


def noise_curve(mechanism: AnyMechanism, most: int = 81) -> tuple[tuple[float, float], ...]:
    """Return the noise around an answer in the middle: differences, and their probabilities.

    Of noise on a lattice it is that of one number. Nothing for answers that are not numbers.

    >>> import tightrope as tr
    >>> curve = noise_curve(tr.prove(tr.design("count(40)", "ln(3)")))
    >>> [(by, round(share, 3)) for by, share in curve if abs(by) <= 1]
    [(-1.0, 0.167), (0.0, 0.5), (1.0, 0.167)]
    """
    from tightrope.certify import Mechanism
    from tightrope.channels import UnboundedNoise

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
    from tightrope.asking import ask_all

    made = _plan(asked, asked.epsilon, told)
    with blame("table publish"):
        answer = ask_all(made, key=asked.key or None)[0]
    head, *rows = answer.table()
    found: dict[str, Any] = plain({
        "head": head, "rows": rows, "facts": answer.facts(), "notes": answer.notes,
        "json": answer.as_dict(),
    })  # fmt: skip
    return found
