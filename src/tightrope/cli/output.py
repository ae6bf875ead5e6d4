"""What every command shares: options, one JSON object or a table, progress."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError
from tightrope.kinds import LOSSES, PRIORS, RELATIONS, forms, listed
from tightrope.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from rich.console import Console


#: Whether the command that runs was given ``--json``.
json_wanted: ContextVar[bool] = ContextVar("json_wanted", default=False)


def shared_words() -> dict[str, tuple[str, str]]:
    """Return the metavariable and the meaning of the parameters that many commands have.

    >>> shared_words()["epsilon"]
    ('E', "The privacy level: 0.5, 1/2 or 'ln(2)'.")
    """
    priors = listed(["numbers 0.1,0.2,…", *forms(PRIORS)])
    return {
        "question": (
            "QUERY",
            "The question, such as 'sum(150,5)', 'cycle(8)', 'graph:FILE' or 'points:FILE'.",
        ),
        "mechanism": (
            "MECHANISM",
            "A mechanism file, a CSV matrix (with --query), or a named mechanism "
            "such as 'geometric:count(5)' (with --epsilon).",
        ),
        "query": ("QUERY", "The question that a CSV matrix answers."),
        "epsilon": ("E", "The privacy level: 0.5, 1/2 or 'ln(2)'."),
        "prior": ("P", f"What the consumer knows: {priors}."),
        "loss": (
            "L",
            f"What a wrong guess costs: {listed(forms(LOSSES))}. By default absolute for one "
            "number, distance for several, and binary for other questions.",
        ),
        "gap": ("G", "Relative gap to the bound at which to stop."),
        "time_limit": (
            "SECONDS",
            "Stop then with the best mechanism found so far, and the gap that is proved.",
        ),
        "neighbours": (
            "RELATION",
            "What is protected. "
            + "; ".join(f"{name}: {words}" for name, words in RELATIONS.items())
            + ".",
        ),
        "sql": ("SQL", "The question: one SELECT statement."),
        "data": (
            "URL",
            "The table: a CSV or Parquet file, or an address such as duckdb:///FILE or "
            "postgresql://…. By default the source in the facts.",
        ),
        "facts": (
            "FILE",
            "The public facts; tightrope.toml where there is one by default.",
        ),
        "ledger": ("URL", "The ledger: a file, sqlite:///FILE or postgresql://…."),
        "budget": ("E", "The table's budget, when the ledger does not know it yet."),
        "column": (
            "NAME:WHAT",
            "Without a facts file: a column and its public facts, such as age:0..120, "
            "region:north,south or born:date; with ':complete' behind it, everybody has such a "
            "value. May be given several times.",
        ),
        "population": (
            "N",
            "Without a facts file: the number of people, which is public.",
        ),
        "user": ("NAME", "Who asks; charged as well as the table."),
        "key": ("KEY", "Names this request: asked again, it gives the same answer."),
        "receipt": ("FILE", "Write the signed receipt into a file too."),
        "url": ("URL", "The ledger: a file, sqlite:///FILE or postgresql://…."),
        "as_json": ("", "Print one JSON object instead of a table."),
    }


def show(data: Mapping[str, Any], draw: Callable[[Console], None]) -> None:
    """Print the data as one JSON object, or draw it for a person.

    >>> show({}, lambda console: console.print("three nodes"))
    three nodes
    """
    if json_wanted.get():
        from tightrope.report.texts import plain

        unicode = (
            # A terminal without UTF-8 gets \u escapes instead of an error.
            (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
        )
        print(json.dumps(plain(data), ensure_ascii=not unicode, allow_nan=False))
        return
    from rich.console import Console

    # No guessing of colours for numbers and paths.
    console = Console(highlight=False)
    with console.capture() as drawn:
        draw(console)
    # Rich fills lines up with blanks, which whoever copies them would get.
    print(re.sub(r" +$", "", drawn.get(), flags=re.MULTILINE), end="")


def tell(
    data: Mapping[str, Any],
    title: str = "",
    rows: Mapping[str, str] | None = None,
    lines: Iterable[str] = (),
) -> None:
    """Print the data as one JSON object, or facts and sentences for a person.

    >>> tell({}, "cycle(5)", {"answers": "5"}, ["A ring."])
    cycle(5)
      answers  5
    <BLANKLINE>
    A ring.
    """

    def draw(console: Console) -> None:
        sentences = list(lines)
        if rows is not None:
            facts_table(console, title, rows)
            if sentences:
                console.print()
        paragraphs(console, sentences)

    show(data, draw)


def facts_table(console: Console, title: str, rows: Mapping[str, str]) -> None:
    """Draw a table of names and values under a title.

    >>> from rich.console import Console
    >>> facts_table(Console(width=40, color_system=None), "cycle(5)", {"answers": "5"})
    cycle(5)
      answers  5
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        # Text, not markup: [x] in a name must be printed as it is.
        table.add_row(Text(f" {name}"), Text(value))
    if title:
        console.print(Text(title, style="bold"))
    console.print(table)


def grid(
    console: Console,
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    numbers: Collection[str] = (),
) -> None:
    """Draw a table below titles; columns of numbers stand at the right.

    >>> from rich.console import Console
    >>> grid(Console(width=40, color_system=None), ["ε", "loss"], [["1", "0.5"]], ["loss"])
    ε  loss
    1   0.5
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        justify: Any = "right" if head in numbers else "left"
        table.add_column(Text(head), overflow="fold", justify=justify)
    for row in rows:
        # As above: cells come from tables and questions of the user.
        table.add_row(*map(Text, row))
    console.print(table)


def paragraphs(console: Console, sentences: Iterable[str]) -> None:
    """Print sentences as paragraphs, broken between words.

    >>> from rich.console import Console
    >>> paragraphs(Console(width=40, color_system=None), ["One.", "Two."])
    One.
    Two.
    """
    for sentence in sentences:
        console.print(sentence, markup=False)


def unused(beside: str, **options: object) -> None:
    """Refuse options that would be ignored beside what was given.

    >>> unused("--consumers", route=None, report="design.html")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: --report does not go together with --consumers
    """
    for name, value in options.items():
        # 0 and "" were given, None and False were not.
        if value is not None and value is not False:
            word = name.replace("_", "-")
            raise InputError(f"--{word} does not go together with {beside}")


@contextmanager
def progress_bar(what: str) -> Iterator[ProgressCallback]:
    """Show a bar on standard error while long work runs; gives what the work reports to.

    Until the first share is known the bar only moves, beside the time that has passed. Nothing
    is drawn when standard error is not a terminal or JSON was asked for.

    >>> with progress_bar("solving") as report:
    ...     report(Progress("solving", 1, 2))
    """
    # Logs and scripts get no control characters.
    if json_wanted.get() or not sys.stderr.isatty():
        yield lambda now: None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        *rich_progress.Progress.get_default_columns(),
        rich_progress.TimeElapsedColumn(),
    )
    with rich_progress.Progress(
        *columns, console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=None)

        def report(now: Progress) -> None:
            # A bar without a total only moves.
            words = now.step or what
            bar.update(task, total=now.total, completed=now.done, description=words)

        yield report
