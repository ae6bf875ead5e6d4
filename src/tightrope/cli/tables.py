"""Commands about a table of people: ``init``, ``ask`` and ``release``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

import tightrope as tr
from tightrope.cli.output import (
    facts_table,
    grid,
    json_wanted,
    paragraphs,
    progress_bar,
    show,
    tell,
    unused,
)
from tightrope.errors import InputError, whole_number
from tightrope.files import check_goals, parse_json, read_json, read_text, write_text
from tightrope.kinds import DEFAULT_RELATION, RELATIONS, protected
from tightrope.report.texts import label_text

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.asking import Answer, Plan
    from tightrope.asking.disclosure import Disclosure
    from tightrope.asking.planning import Question
    from tightrope.publish import Column
    from tightrope.publish.facts import Table
    from tightrope.publish.releasing import DeclaredQuestion
    from tightrope.texts import TextTable

T = TypeVar("T")

#: The most rows of an answer that are drawn on the screen. A million took eight minutes.
SCREEN_ROWS = 1000
#: How long the bar of a whole is on the screen: with its names it fits 80 characters.
BAR_WIDTH = 24


def init(
    file: str | None = None,
    *,
    table: str | None = None,
    population: int | None = None,
    neighbours: str | None = None,
    budget: str | None = None,
    person: str | None = None,
    contributions: int = 1,
    column: list[str] | None = None,
    frozen: bool = False,
    data_is_public: bool = False,
    out: Path = Path("tightrope.toml"),
    replace: bool = False,
) -> None:
    """Write the public facts of a table, tightrope.toml.

    Asks for what is not given. Names and types of columns come from the catalogue of the source,
    or the first line of a text file. No row is read, unless --data-is-public says that the data is
    public.

    Parameters
    ----------
    file : FILE
        Where the table is: a file or an address.
    table : NAME
        The name of the table in SQL; that of a file by default.
    population : N
        The number of people: public knowledge. With --data-is-public, the rows by default.
    budget : E
        The budget of the table: 2, 1/3 or 3*ln(2).
    person : COLUMN
        Whose row it is, if people may have several.
    contributions : K
        With --person: how many rows of one person count.
    column : NAME:WHAT
        A column and its public facts, such as age:0..120, region:north,south or born:date; with
        ':complete' behind it, everybody has such a value. A column within another:
        'county:within region:north=Ash,Birch;south=Cedar'. May be given several times.
    frozen
        The table stays as it is, so that published answers can be sharpened later.
    data_is_public
        Read columns, bounds and values from the source. Only for data that is public.
    out : FILE
        The file to write.
    replace
        Overwrite an existing file.

    Examples:
      tightrope init
      tightrope init people.csv --population 5000 --budget 2
      tightrope init people.csv --population 5000 --budget 2 \\
          --column age:0..120 --column region:north,south

    >>> init(population=5)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: there is no terminal to ask on: give --table
    """
    from tightrope.publish import facts
    from tightrope.publish.accounts import budget_of
    from tightrope.publish.sources import own_name
    from tightrope.queries import Neighbours

    facts.check_free(out, replace=replace)  # before anything is asked
    # A script cannot answer questions: what is missing is an error there.
    talk = not json_wanted.get() and sys.stdin.isatty()

    def answered(
        given: Any, question: str, read: Callable[[str], T], option: str = ""
    ) -> T:
        """Read what was given or typed; a wrong answer is asked for again at once."""
        if given is not None:
            return read(str(given))
        if not talk:
            if option:
                raise InputError(f"there is no terminal to ask on: give {option}")
            return read("")
        while True:
            text = typer.prompt(question, default="", show_default=False)
            try:
                return read(text.strip())
            except InputError as wrong:
                typer.echo(f"{wrong}. Try again:")

    # The source is opened before anything is written: facts about a table that cannot be read
    # would be found wrong only when somebody pays for an answer.
    catalogue: dict[str, str] = {}

    def read_source(text: str) -> str:
        # The catalogue is read once the table is known: from the option, or from the file's name.
        named = table or own_name(text)
        if text and named and not data_is_public:
            catalogue.update(facts.columns_of_catalogue(text, named))
        return text

    def read_name(text: str) -> str:
        if source and not catalogue and not data_is_public:
            catalogue.update(facts.columns_of_catalogue(source, text))
        return text

    source = answered(
        file,
        "Where is the table? (a file or an address; empty to say later)",
        read_source,
    )
    name = answered(
        table or own_name(source), "The name of the table in SQL", read_name, "--table"
    )
    public: Mapping[str, facts.Column] = {}
    if data_is_public:
        if not source:
            raise InputError("--data-is-public needs the FILE of the table")
        # The only place where rows are read for facts, and only if the user says they are public.
        public, rows = facts.columns_of_public_data(source, name)
        population = rows if population is None else population

    def read_people(text: str) -> int:
        number = int(text) if text.isdigit() else text
        return whole_number(number, "the population", most=10**15)

    people = answered(
        population, "How many people is it about? (public)", read_people, "--population"
    )
    choices = "; ".join(f"{name}: {what}" for name, what in RELATIONS.items())
    relation = answered(
        neighbours,
        f"What is protected? {choices} [{DEFAULT_RELATION}]",
        lambda text: Neighbours.of(text or DEFAULT_RELATION),
    )
    allowed = answered(
        budget,
        "The budget of the table, the sum of all ε (empty to say later)",
        lambda text: budget_of(text) if text else None,
    )
    known = ", ".join(catalogue) or "not known yet"
    declared: dict[str, facts.Column] = {}

    def check_known(column: str | None) -> None:
        if catalogue and column not in (None, *catalogue):
            raise InputError(f"{source} has no column {column!r} (it has {known})")

    def declare(text: str) -> bool:
        if text:
            read = facts.read_column(text)
            check_known(read.name)
            declared[read.name] = read
        return bool(text)

    check_known(person)
    for text in column or ():
        declare(text)
    question = f"A column of {known}, such as age:0..120 or region:a,b; empty to end"
    # Columns given as options end the questions.
    while talk and column is None and not data_is_public:
        if not answered(None, question, declare):
            break
    typed = {one: facts.Column(one, kind) for one, kind in catalogue.items() if kind}
    # What was declared wins over the catalogue, and that over the data.
    columns = facts.nested_columns({**public, **typed, **declared}, "columns")
    undeclared = [one for one in catalogue if one not in declared and one != person]
    made = facts.Table(
        name=name, population=people, neighbours=relation, columns=columns, person=person,
        contributions=contributions, budget=allowed, frozen=frozen,
        source=facts.source_beside(source, out) if source else None,
    )  # fmt: skip
    facts.write_facts(
        made, out, [one for one in undeclared if one not in columns], replace=replace
    )

    def draw(console: Console) -> None:
        console.print(read_text(out), markup=False, end="", soft_wrap=True)
        console.print(f"written: {out}", markup=False, soft_wrap=True)
        if undeclared:
            console.print(
                f"Add what is public about {', '.join(undeclared)} there before you sum, group or "
                "compare them.",
                markup=False,
            )

    data = {
        "file": str(out),
        "table": name,
        "columns": list(columns),
        "undeclared": undeclared,
    }
    show(data, draw)


def ask(
    sql: str | None = None,
    *,
    epsilon: str | None = None,
    error: str | None = None,
    relative_error: str | None = None,
    levels: str | None = None,
    confidence: str = "0.95",
    file: Path | None = None,
    check_facts: str | None = None,
    check_bounds: str | None = None,
    dry_run: bool = False,
    simultaneous: bool = False,
    data: str | None = None,
    facts: Path | None = None,
    ledger: str | None = None,
    budget: str | None = None,
    column: list[str] | None = None,
    population: int | None = None,
    neighbours: str | None = None,
    user: str | None = None,
    key: str | None = None,
    delta: str = "0",
    series: str | None = None,
    receipt: Path | None = None,
    report: Path | None = None,
    title: str | None = None,
    registry: Path | None = None,
    whole: bool = False,
    largest: bool = False,
    point: bool = False,
    tables: Path | None = None,
    synthetic: Path | None = None,
) -> None:
    """Publish numbers from a table, each with its margin.

    Reads the SQL, designs noise for it (or takes it from the cache), proves and verifies it,
    charges the ledger once, and draws. Each interval contains the true number with the probability
    that --confidence states.

    Parameters
    ----------
    error : R
        Instead of --epsilon: find the smallest ε whose margins are at most R.
    relative_error : R
        On a frozen table: pay step by step until every interval is within R of its number, such as
        5%; --epsilon is the limit, and what is not needed of it is not paid.
    levels : E,E,…
        On a frozen table, instead of --epsilon: an answer and a receipt at each level, for several
        readers. All together cost the largest level.
    confidence : C
        The probability that an interval contains the true number.
    file : FILE
        Several SELECTs that share ε, each ended by a semicolon. Lines before one may say
        '-- name: …', '-- weight: 2' or '-- error: 20'. Asked again, what is paid is not paid again.
    check_facts : TABLE
        Instead of SQL: count the rows that violate each fact about the columns of a table, as
        private numbers with their margins.
    check_bounds : TABLE
        Instead of SQL: estimate how much the bounds of a table cut off, as private numbers with
        their margins: people with more rows than count, how many rows that are, values outside
        the bounds of their columns.
    dry_run
        Show margins, cost and what is left; nothing is paid and no row is read.
    simultaneous
        Intervals that hold for all numbers of an answer at once, not for each.
    ledger : URL
        The ledger; ledger.db beside the facts by default.
    report : FILE
        Write one HTML page with the numbers, the method and the receipts, to be cited.
    title : TEXT
        The title of the report and of the entry.
    registry : FILE
        Write an entry (.yaml) for the public registry of differential privacy deployments, all
        three tiers; [publisher] of the public facts says who publishes.
    whole
        For counts: beside each number a whole one of at least 0, which agree across all tables.
        They are biased; the others are not.
    largest
        For several tables of counts: plan for the smallest largest margin of a table, not for the
        smallest mean square error.
    point
        For a median or quantile: the value alone, without an interval, which would move it.
    tables : FILE
        Write the numbers as .csv, .parquet or .xlsx. Several tables are one file each, named by
        their columns, or one sheet each of a spreadsheet.
    synthetic : FILE
        Write made-up people, one row each, who reproduce every whole number, as .csv, .parquet
        or .xlsx; implies --whole.
    neighbours : RELATION
        Without a facts file: what is protected. change-one (the default): what one person's row
        says; add-remove: whether one person is in the table at all; either: both.
    receipt : FILE
        Write the signed receipt into a file too; several are numbered, FILE-1.json, FILE-2.json.
    delta : D
        For groups by a column without declared values: the probability, such as 1e-6, with which
        one person may be shown at all. The table's budget needs a δ too.
    series : NAME
        A declared series that has paid for the answer already; see 'tightrope ledger series'.
    key : KEY
        Names the request: asked again with it, the answer is the same and nothing more is charged.
        On a frozen table, with a larger --epsilon the answer is sharpened for the difference.

    Examples:
      tightrope ask "select count(*) from people" --epsilon 0.5
      tightrope ask "select count(*) from people" --levels 0.25,0.5,1 --key births
      tightrope ask "select sex, count(*) from people group by sex" --error 20
      tightrope ask "select city, count(*) from people group by city" \\
          --epsilon 1 --delta 1e-6
      tightrope ask --file job.sql --epsilon 1 --dry-run
      tightrope ask --check-facts people --epsilon 0.1
      tightrope ask --check-bounds visits --epsilon 0.1
      tightrope ask "select count(*) from people" --data people.csv \\
          --population 5000 --epsilon 0.5 --budget 2

    >>> ask()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: give one SELECT, --file FILE with several, --check-facts TABLE or
    --check-bounds TABLE
    """
    from tightrope.asking import ask_all, plan
    from tightrope.asking.answers import releases_of, told_costs, write_answers
    from tightrope.asking.disclosure import (
        Disclosure,
        need_publisher,
        registry_entry,
        yaml_text,
    )
    from tightrope.asking.jobs import QuestionSpec
    from tightrope.asking.planning import job_key, positive, read_job
    from tightrope.asking.writing import check_ending
    from tightrope.publish.facts import bound_checks, fact_checks, read_facts
    from tightrope.publish.receipts import write_receipt

    if (sql, file, check_facts, check_bounds).count(None) != 3:
        raise InputError(
            "give one SELECT, --file FILE with several, --check-facts TABLE or --check-bounds TABLE"
        )
    if error is not None and (epsilon is not None or file is not None):
        raise InputError(
            "give --error or --epsilon, not both; in a file, write -- error: 20"
        )
    if dry_run:
        unused(
            "--dry-run",
            receipt=receipt, report=report, registry=registry, tables=tables,
            synthetic=synthetic,
        )  # fmt: skip
    if report is None and registry is None:
        unused("an answer without --report or --registry", title=title)
    check_goals(receipt, report, registry, tables, synthetic)
    # Every goal is checked before anything is paid.
    check_ending(tables)
    check_ending(synthetic)
    known, columns = public_facts(facts, column)
    if registry is not None:
        # Missing facts about the publisher would be found after the charge otherwise.
        publisher = need_publisher(read_facts(known).publisher if known else None)
    if check_facts is not None:
        sql = fact_checks(_checked_table(check_facts, known, columns))
    if check_bounds is not None:
        sql = bound_checks(_checked_table(check_bounds, known, columns))
    if file is not None:
        wanted = read_job(read_text(file))
    else:
        wanted = [
            QuestionSpec(
                sql, error=None if error is None else positive(error, "--error")
            )
        ]
    with progress_bar("reading the question") as report_progress:
        made = plan(
            wanted, epsilon=epsilon, confidence=confidence, data=data, facts=known,
            ledger=ledger, budget=budget, columns=columns, population=population,
            neighbours=neighbours, user=user, delta=delta, series=series,
            simultaneous=simultaneous, whole=whole or synthetic is not None,
            largest=largest, point=point, key=key if file is None else None,
            levels=[] if levels is None else levels.split(","),
            relative_error=relative_error, progress=report_progress,
        )  # fmt: skip
    if dry_run:
        show(made.as_dict(), lambda console: _draw_plan(console, made))
        return
    with progress_bar("reading the table"):
        # A file asked again with the same content finds its paid answers.
        answers = ask_all(
            made, key=job_key(made) if file is not None and key is None else key
        )
    costs = told_costs(answers)
    receipts = [release.receipt for release in releases_of(answers)]
    table = made.questions[0].parts[0].shape.table.name
    disclosure = Disclosure(made, answers, title or f"Statistics from table {table}")
    if report is not None:
        write_text(report, _report(disclosure, costs))
    if registry is not None:
        entry = registry_entry(disclosure, publisher)
        write_text(registry, yaml_text(entry) + "\n")
    if receipt is not None:
        for place, one in _numbered(receipt, receipts):
            write_receipt(one, place)
    if tables is not None:
        write_answers(answers, tables)
    if synthetic is not None:
        # Answers of one job share their synthetic people: one file for each job.
        jobs = {id(one.people): one.people for one in answers if one.people is not None}
        for place, people in _numbered(synthetic, list(jobs.values())):
            people.write(place)
    # Files come first: a pipe that is closed early, as by head, ends the program here.
    # Of a million numbers the JSON is half a gigabyte of dictionaries: made only to be printed.
    several = file is not None or levels is not None
    data_of = _as_json(made, answers, several) if json_wanted.get() else {}
    show(data_of, lambda console: _draw_answers(console, answers, costs))


def _as_json(made: Plan, answers: list[Answer], several: bool) -> dict[str, Any]:
    """Return the JSON of one answer, or of those of a file or a chain with their plan."""
    if not several:
        return answers[0].as_dict()
    measured = [table for one in made.questions for table in one.measured]
    return {
        "answers": [one.as_dict() for one in answers],
        **({"plan": measured} if measured else {}),
    }


def _numbered(file: Path, results: Sequence[T]) -> list[tuple[Path, T]]:
    """Return results with the files that they are written to: several are numbered.

    >>> [(str(file), result) for file, result in _numbered(Path("a.csv"), ["x", "y"])]
    [('a-1.csv', 'x'), ('a-2.csv', 'y')]
    """
    if len(results) == 1:
        return [(file, results[0])]
    return [
        (file.with_name(f"{file.stem}-{number}{file.suffix}"), result)
        for number, result in enumerate(results, 1)
    ]


def _report(disclosure: Disclosure, costs: Mapping[str, str]) -> str:
    from tightrope.asking.disclosure import sp_800_226
    from tightrope.publish.accounts import shown
    from tightrope.report.page import Publication, published_report
    from tightrope.report.texts import plain

    people = disclosure.table.population
    drawn = [
        answer.plot()
        for answer in disclosure.answers
        # Several tables are heat maps: as points their numbers would fill pages.
        if len(answer.tables) == 1
        and any(x.low is not None for _, numbers in answer.rows for x in numbers)
    ]
    return published_report(
        Publication(
            title=disclosure.title,
            tables=[table for one in disclosure.answers for table in _in_report(one)],
            about={
                "table": disclosure.table.name,
                "published": disclosure.date,
                "population": f"{people:,}" if people else "not stated",
                "protects": costs["protects"],
                "ε": shown(disclosure.epsilon),
            },
            facts={"asked": disclosure.asked}
            | {k: v for k, v in costs.items() if k != "protects"},
            pictures=drawn,
            plans=[
                (one.margins(disclosure.plan.confidence), one.shares)
                for one in disclosure.plan.questions
                if one.published
            ],
            receipts=[plain(receipt) for receipt in disclosure.receipts],
            sheet=sp_800_226(disclosure),
        )
    )


def _in_report(answer: Answer) -> list[TextTable]:
    """Return the tables of an answer; the notes about all of them stand below the last."""
    *before, last = answer.layouts()
    return [*before, replace(last, notes=answer.notes)]


def _draw_answers(
    console: Console, answers: list[Answer], costs: Mapping[str, str]
) -> None:
    for answer in answers:
        # Drawing is slow and nobody reads more; files have all rows.
        shown = replace(answer, rows=answer.rows[:SCREEN_ROWS])
        head, *lines = shown.table()
        # The answers of a chain are distinguished by their levels.
        levels = {one.epsilon for one in answers if one.name == answer.name}
        at = f"ε = {answer.epsilon}" if len(levels) > 1 and not answer.name else ""
        if answer.name or at:
            console.print(answer.name or at, style="bold", markup=False)
        grid(console, head, lines)
        more = len(answer.rows) - len(shown.rows)
        if more:
            console.print(
                f"… and {more:,} more rows: --tables FILE writes all of them.",
                markup=False,
            )
        paragraphs(console, answer.notes)
        console.print()
    facts_table(console, "", costs)


def _checked_table(
    name: str, facts: Path | None, columns: Mapping[str, Column | str]
) -> Table:
    """Return the table whose facts are checked, from their file or the options."""
    from tightrope.publish.facts import Table, declared_columns, read_facts

    if facts is not None:
        return read_facts(facts).table(name)
    return Table(name, columns=declared_columns(columns))


def _draw_plan(console: Console, made: Plan) -> None:
    from tightrope.asking.answers import about_text
    from tightrope.publish.accounts import shown

    for one in made.questions:
        title = f"{one.name or 'question'} at ε = {one.epsilon}"
        if one.published:
            _draw_job(console, title, one, made.confidence)
        else:
            facts_table(console, title, one.errors)
        paragraphs(console, one.notes)
        console.print()
    left = made.remaining
    relation = made.questions[0].parts[0].shape.table.neighbours.value
    scopes = [scope for one in made.questions for scope in one.about]
    rows = {
        "about": about_text(scopes),
        "protects": protected(relation),
        "cost": f"ε = {shown(made.cost)}; nothing is paid yet. Once paid it is spent for good, "
        "also for a mistaken question",
    }
    if left is not None:
        # Known before paying: the ledger would refuse it.
        short = "" if made.cost <= left else f" (short by {shown(made.cost - left)})"
        rows["left now"] = f"{shown(left)}{short}"
    facts_table(console, "", rows)


def _draw_job(
    console: Console, title: str, question: Question, confidence: Fraction
) -> None:
    """Draw the plan of several tables: what is published, and what is measured for it."""
    console.print(title, style="bold", markup=False)
    head, *rows = question.margins(confidence).lines
    grid(console, head, rows)
    console.print()
    grid(
        console,
        ["measured", "ε", "share of ε", ""],
        [
            [name, table["epsilon"], f"{share:.0%}", "█" * round(BAR_WIDTH * share)]
            for (name, share), table in zip(
                question.shares.items(), question.measured, strict=True
            )
        ],
        ["share of ε"],
    )
    console.print()


def release(
    mechanism: Path,
    *,
    sql: str,
    ledger: str = "ledger.db",
    data: str | None = None,
    facts: Path | None = None,
    budget: str | None = None,
    column: list[str] | None = None,
    user: str | None = None,
    key: str | None = None,
    part: str | None = None,
    query: str | None = None,
    answers: Path | None = None,
    otherwise: str | None = None,
    series: str | None = None,
    receipt: Path | None = None,
) -> None:
    """Release one answer with a given mechanism file.

    The budget is charged before a row is read. With --key, asking again after a crash gives the
    same answer and costs nothing. 'tightrope ask' designs the mechanism too.

    Parameters
    ----------
    mechanism : FILE
        The mechanism file (.tightrope).
    part : PARTITION=PART
        Ask about one part of a declared partition only.
    query : QUERY
        For SQL without a known shape: what it answers.
    answers : FILE
        With --query: a JSON object from the SQL's result to the answer.
    otherwise : ANSWER
        With --query: the answer for every other result.
    series : NAME
        A declared series that has paid for this release already; see 'tightrope ledger series'.

    Examples:
      tightrope release count.tightrope --data people.csv --budget 2 \\
          --sql "select count(*) from people" --ledger ledger.db

    >>> release(Path("no-such.tightrope"), sql="select count(*) from t", ledger="ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.asking.answers import published_numbers
    from tightrope.certify import read
    from tightrope.publish.accounts import shown
    from tightrope.publish.receipts import write_receipt

    try:
        check_goals(receipt)
    except InputError as refused:
        # The receipt is written last, so its place is checked first.
        raise InputError(f"{refused}; nothing was released") from None
    facts, columns = public_facts(facts, column)
    made = read(mechanism)
    done = tr.release(
        made, data=data, sql=sql, ledger=ledger, facts=facts, budget=budget,
        columns=columns, user=user, key=key, part=_part(part),
        declared=_declared(query, answers, otherwise), series=series,
    )  # fmt: skip
    # Show what was drawn only where the published number differs from it.
    moved = done.guess != done.answer or {"offset", "step"} & set(
        done.receipt.get("reading", ())
    )
    rows = {
        "answer": str(published_numbers(done.receipt, [made])),
        **({"drawn": label_text(done.answer)} if moved else {}),
        "ε": str(done.epsilon),
        **(
            {} if series is None else {"series": f"{series}: {done.left} releases left"}
        ),
        "remaining": f"{shown(done.remaining)} of the budget of table {done.receipt['table']}",
        "key": done.key
        if done.fresh
        else f"{done.key} (answered before: nothing charged)",
        # Without user and password of the address.
        "entry": f"{done.receipt['position']} of ledger {ledger.rpartition('@')[2]}",
    }
    tell(
        done.as_dict(), f"{done.receipt['query']}  ({done.receipt['neighbours']})", rows
    )
    if receipt is not None:
        write_receipt(done.receipt, receipt)


def public_facts(
    facts: Path | None, column: list[str] | None
) -> tuple[Path | None, dict[str, Column]]:
    """Return the file of public facts, or the columns that are declared instead of one."""
    from tightrope.publish.facts import FACTS_FILE, read_column

    columns = {declared.name: declared for declared in map(read_column, column or [])}
    if facts is None and Path(FACTS_FILE).exists():
        if columns:
            raise InputError(
                f"there is a {FACTS_FILE} here, and columns are declared there: add "
                f"{', '.join(columns)} to it and leave --column out"
            )
        facts = Path(FACTS_FILE)
    return facts, columns


def _part(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    partition, sign, part = text.partition("=")
    if not sign:
        raise InputError(f"a part looks like region=north, got {text[:60]!r}")
    return partition, part


def _declared(
    query: str | None, answers: Path | None, otherwise: str | None
) -> DeclaredQuestion | None:
    if (query, answers, otherwise) == (None, None, None):
        return None
    if query is None or answers is None or otherwise is None:
        raise InputError(
            "--query needs --answers FILE and --otherwise ANSWER, and these go with --query"
        )
    from tightrope.publish.intervals import read_label
    from tightrope.publish.releasing import DeclaredQuestion

    mapping = read_json(answers, typed=True)
    if not isinstance(mapping, dict):
        raise InputError(
            f"{answers}: this must be a JSON object from results to answers"
        )
    try:
        # A plain word is an answer too, although it is no JSON.
        last = read_label(parse_json(otherwise, "--otherwise"))
    except InputError:
        last = otherwise
    return DeclaredQuestion(
        query, {text: read_label(label) for text, label in mapping.items()}, last
    )
