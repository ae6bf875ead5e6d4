"""Commands about a table of people: ``init``, ``ask`` and ``release``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tightrope as tr
from tightrope.cli.output import facts_table, grid, paragraphs, progress_bar, show, tell, unused
from tightrope.errors import InputError, whole_number
from tightrope.files import check_goals, parse_json, read_json, read_text, write_text
from tightrope.kinds import RELATIONS, listed
from tightrope.report.texts import label_text

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.asking import Answer, Plan
    from tightrope.publish import Column
    from tightrope.publish.releasing import DeclaredQuestion


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
    data_is_public: bool = False,
    out: Path = Path("tightrope.toml"),
    replace: bool = False,
) -> None:
    """Write tightrope.toml, the public facts of a table, by asking for what is not given.

    Names and types of columns come from the catalogue of the source, or the first line of a text
    file. No row is looked at, unless --data-is-public says that everybody may know them.

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
        ':complete' behind it, everybody has such a value. May be given several times.
    data_is_public
        Read columns, bounds and values from the source. Only for data that is public.
    out : FILE
        The file to write.
    replace
        Replace a file.

    Examples:
      tightrope init
      tightrope init people.csv --population 5000 --budget 2
      tightrope init people.csv --population 5000 --budget 2 \\
          --column age:0..120 --column region:north,south

    >>> init(population=5)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: nobody is here to ask: give --table
    """
    from tightrope.cli.output import json_wanted
    from tightrope.publish import facts
    from tightrope.publish.accounts import budget_of
    from tightrope.publish.sources import own_name
    from tightrope.queries import Neighbours

    facts.check_free(out, replace=replace)  # before anything is asked
    talk = not json_wanted.get() and sys.stdin.isatty()

    def told(given: Any, question: str, option: str = "") -> Any:
        """Return what was given, or what somebody says; nothing where nobody must."""
        if given is not None or not (talk or option):
            return given
        if not talk:
            raise InputError(f"nobody is here to ask: give {option}")
        return str(typer.prompt(question, default="", show_default=False)).strip()

    source = told(file, "Where the table is (a file or an address; empty: said later)")
    name = table or own_name(source) or told(None, "The name of the table in SQL", "--table")
    public: Mapping[str, facts.Column] = {}
    if data_is_public:
        if not source:
            raise InputError("--data-is-public needs the FILE of the table")
        public, rows = facts.columns_of_public_data(source, name)
        population = rows if population is None else population
    many = told(population, "How many people it is about (public knowledge)", "--population")
    people = whole_number(int(many) if str(many).isdigit() else many, "the population", most=10**15)
    neighbours = told(neighbours, f"Neighbours: {listed(RELATIONS)} [change-one]")
    budget = told(budget, "The budget of the table, an ε (empty: said later)")
    catalogue: dict[str, str] = {}
    if source and not data_is_public:
        with contextlib.suppress(InputError):  # the table may come later
            catalogue = facts.columns_of_catalogue(source, name)
    there, declared = ", ".join(catalogue) or "not known yet", {}

    def declare(text: str) -> None:
        found = facts.read_column(text)
        check_there(found.name)
        declared[found.name] = found

    def check_there(one: str | None) -> None:
        if catalogue and one not in (None, *catalogue):
            raise InputError(f"{source} has no column {one!r} (it has {there})")

    check_there(person)
    for text in column or ():
        declare(text)
    while talk and column is None and not data_is_public:
        text = told(None, f"A column of {there}, such as age:0..120 or region:a,b; empty: no more")
        if not text:
            break
        try:
            declare(text)
        except InputError as wrong:
            typer.echo(f"{wrong}. Once more:")
    typed = {one: facts.Column(one, kind) for one, kind in catalogue.items() if kind}
    columns = {**public, **typed, **declared}
    undeclared = [one for one in catalogue if one not in declared and one != person]
    made = facts.Table(
        name=name, population=people, neighbours=Neighbours.of(neighbours or "change-one"),
        columns=columns, person=person, contributions=contributions,
        budget=budget_of(budget) if budget else None, source=source or None,
    )  # fmt: skip
    facts.write_facts(made, out, [one for one in undeclared if one not in columns], replace=replace)

    def draw(console: Console) -> None:
        console.print(read_text(out), markup=False, end="", soft_wrap=True)
        console.print(f"written: {out}", markup=False, soft_wrap=True)
        if undeclared:
            console.print(
                f"Add what is public about {', '.join(undeclared)} there before you sum, group or "
                "compare them.",
                markup=False,
            )

    data = {"file": str(out), "table": name, "columns": list(columns), "undeclared": undeclared}
    show(data, draw)


def ask(
    sql: str | None = None,
    *,
    epsilon: str | None = None,
    error: str | None = None,
    confidence: str = "0.95",
    file: Path | None = None,
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
) -> None:
    """Publish numbers about a table: the best noise for the question, charged once, with errors.

    Understands the SQL, designs the noise (or takes it from earlier), proves and verifies it,
    charges the ledger, and draws. Every number comes with an interval that holds the true one.

    Parameters
    ----------
    error : R
        Instead of --epsilon: find the least ε at which every number is within R.
    confidence : C
        The probability of the intervals, and with which --error is kept.
    file : FILE
        Several SELECTs that share ε, each ended by a semicolon. Lines before one may say
        '-- name: …', '-- weight: 2' or '-- error: 20'. Asked again, what is paid is not paid again.
    dry_run
        Show the errors, the cost and what is left; nothing is paid and no row is read.
    simultaneous
        Intervals that hold for all numbers of an answer at once, not for each.
    ledger : URL
        The ledger; ledger.db beside the facts by default.
    report : FILE
        Write one HTML page that opens with the numbers, beside what the usual noise would have.
    neighbours : RELATION
        Without a facts file: which databases are neighbours, change-one by default, add-remove or
        either.
    receipt : FILE
        Write the signed receipt into a file too; several are numbered, FILE-1.json, FILE-2.json.
    delta : D
        For groups by a column without declared values: the probability, such as 1e-6, with which
        one person may be told of at all. The table's budget needs a δ too.
    series : NAME
        A declared series that has paid for the answer already; see 'tightrope ledger series'.

    Examples:
      tightrope ask "select count(*) from people" --epsilon 0.5
      tightrope ask "select region, sex, count(*) from people group by region, sex" --error 20
      tightrope ask "select city, count(*) from people group by city" --epsilon 1 --delta 1e-6
      tightrope ask --file job.sql --epsilon 1 --dry-run
      tightrope ask "select count(*) from people" --data people.csv --population 5000 \\
          --epsilon 0.5 --budget 2

    >>> ask()
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: give one SELECT, or --file FILE with several
    """
    from tightrope.asking import ask_all, plan
    from tightrope.asking.answers import told_costs
    from tightrope.asking.planning import Wanted, job_key, positive, read_job
    from tightrope.publish.receipts import write_receipt

    if (sql is None) == (file is None):
        raise InputError("give one SELECT, or --file FILE with several")
    if error is not None and (epsilon is not None or file is not None):
        raise InputError("--error stands instead of --epsilon; in a file, write -- error: 20")
    if dry_run:
        unused("--dry-run", receipt=receipt, report=report)
    check_goals(receipt, report)
    known, columns = public_facts(facts, column)
    if file is not None:
        wanted = read_job(read_text(file))
    else:
        wanted = [Wanted(sql, error=None if error is None else positive(error, "--error"))]
    with progress_bar("understanding") as told:
        made = plan(
            wanted, epsilon=epsilon, confidence=confidence, data=data, facts=known,
            ledger=ledger, budget=budget, columns=columns, population=population,
            neighbours=neighbours, user=user, delta=delta, series=series,
            simultaneous=simultaneous, progress=told,
        )  # fmt: skip
    if dry_run:
        show(made.as_dict(), lambda console: _draw_plan(console, made))
        return
    with progress_bar("reading the table"):
        answers = ask_all(made, key=job_key(made) if file is not None and key is None else key)
    data_of = {"answers": [one.as_dict() for one in answers]} if file else answers[0].as_dict()
    costs = told_costs(answers)
    show(data_of, lambda console: _draw_answers(console, answers, costs))
    receipts = [release.receipt for one in answers for release in one.releases]
    if report is not None:
        _write_report(report, [str(one.sql) for one in wanted], answers, costs)
    if receipt is not None:
        for number, one in enumerate(receipts, 1):
            several = receipt.with_name(f"{receipt.stem}-{number}{receipt.suffix}")
            write_receipt(one, receipt if len(receipts) == 1 else several)


def _write_report(
    path: Path, asked: list[str], answers: list[Answer], costs: Mapping[str, str]
) -> None:
    from tightrope.report.page import published_report

    tables = [(one.name, one.table(usual=True), one.notes) for one in answers]
    shown = [one for one in answers if any(e.low is not None for _, told in one.rows for e in told)]
    told = {"asked": "; ".join(" ".join(sql.split()) for sql in asked), **costs}
    write_text(path, published_report(tables, told, [one.plot() for one in shown]))


def _draw_answers(console: Console, answers: list[Answer], costs: Mapping[str, str]) -> None:
    for answer in answers:
        head, *lines = answer.table()
        if answer.name:
            console.print(answer.name, style="bold", markup=False)
        grid(console, head, lines)
        paragraphs(console, answer.notes)
        console.print()
    facts_table(console, "", costs)


def _draw_plan(console: Console, made: Plan) -> None:
    from tightrope.publish.accounts import shown

    for one in made.questions:
        title = f"{one.wanted.name or 'question'} at ε = {one.epsilon}"
        facts_table(console, title, one.errors)
        paragraphs(console, one.notes)
        console.print()
    left = made.remaining
    rows = {"cost": f"ε = {shown(made.cost)}; nothing is paid yet"}
    if left is not None:
        short = "" if made.cost <= left else f" (short by {shown(made.cost - left)})"
        rows["left now"] = f"{shown(left)}{short}"
    facts_table(console, "", rows)


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
    """Release one private answer from a real table, paid from the ledger.

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
      tightrope release count.tightrope --data people.csv --sql "select count(*) from people" \\
          --ledger ledger.db --budget 2

    >>> release(Path("no-such.tightrope"), sql="select count(*) from t", ledger="ledger.db")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.asking.answers import published_text
    from tightrope.certify import read
    from tightrope.publish.accounts import shown
    from tightrope.publish.receipts import write_receipt

    try:
        check_goals(receipt)
    except InputError as refused:
        raise InputError(f"{refused}; nothing was released") from None
    facts, columns = public_facts(facts, column)
    made = read(mechanism)
    done = tr.release(
        made, data=data, sql=sql, ledger=ledger, facts=facts, budget=budget,
        columns=columns, user=user, key=key, part=_part(part),
        declared=_declared(query, answers, otherwise), series=series,
    )  # fmt: skip
    moved = done.guess != done.answer or {"offset", "step"} & set(done.receipt.get("reading", ()))
    rows = {
        "answer": published_text(done.receipt, [made]),
        **({"drawn": label_text(done.answer)} if moved else {}),
        "ε": str(done.epsilon),
        **({} if series is None else {"series": f"{series}: {done.left} releases left"}),
        "remaining": f"{shown(done.remaining)} of the budget of table {done.receipt['table']}",
        "key": done.key if done.fresh else f"{done.key} (answered before: nothing charged)",
        "entry": f"{done.receipt['position']} of ledger {ledger.rpartition('@')[2]}",
    }
    tell(done.as_dict(), f"{done.receipt['query']}  ({done.receipt['neighbours']})", rows)
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
    from tightrope.publish.releasing import DeclaredQuestion
    from tightrope.publish.shapes import read_label

    mapping = read_json(answers, typed=True)
    if not isinstance(mapping, dict):
        raise InputError(f"{answers}: this must be a JSON object from results to answers")
    try:
        last = read_label(parse_json(otherwise, "--otherwise"))
    except InputError:
        last = otherwise
    return DeclaredQuestion(
        query, {text: read_label(label) for text, label in mapping.items()}, last
    )
