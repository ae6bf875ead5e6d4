"""The list of commands. Each imports what it needs when it runs."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from tightrope import __version__
from tightrope.cli import designs, ledger, mechanisms, papers, questions, studio, tables
from tightrope.cli.output import json_wanted, shared_words

#: The commands, by what they are for; the ledger is a group of its own and joins the first.
COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Publish": (tables.init, tables.ask, questions.explain, studio.studio, tables.release),
    "Check": (mechanisms.verify, mechanisms.interval, mechanisms.analyse, mechanisms.curve,
              mechanisms.audit),
    "Study": (designs.design, designs.sweep, mechanisms.certify, mechanisms.remap,
              mechanisms.derive, mechanisms.sharpen, mechanisms.generalise, questions.graph,
              questions.exists, questions.regular, questions.universal, questions.axioms,
              papers.papers),
}  # fmt: skip


#: Looks like a hyphen, and no line is broken at it.
_UNBROKEN = "\u2011"
#: What Typer writes behind the name of an argument, such as ``<str>``.
_PYTHON_TYPE = re.compile(r" <[a-z[\]]+>$")
_Context: Any = TyperCommand.context_class


class UnbrokenHelp(_Context.formatter_class):  # type: ignore[misc]
    """Help whose lines are broken at blanks only: names of options stay in one piece."""

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *widths: int) -> None:
        """Write names beside their meanings, without the names of Python types."""
        unbroken = [
            (_PYTHON_TYPE.sub("", name), meaning.replace("-", _UNBROKEN))
            for name, meaning in rows
        ]
        super().write_dl(unbroken, *widths)

    def getvalue(self) -> str:
        """Return the text, with the hyphens that people can type."""
        return str(super().getvalue()).replace(_UNBROKEN, "-")


class HelpContext(_Context):  # type: ignore[misc]
    """Where a command's help is written."""

    formatter_class = UnbrokenHelp


class CommandSections(TyperGroup):
    """The list of all commands, under a title for each purpose."""

    context_class = HelpContext

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their summaries."""
        # As Click computes it: what is left of a line beside the longest name.
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, commands in COMMANDS.items():
            names = [command.__name__ for command in commands]
            # The ledger is a group of commands, not a function in the table above.
            names += ["ledger"] if title == "Publish" else []
            with formatter.section(title):
                formatter.write_dl(
                    [(n, self.commands[n].get_short_help_str(width)) for n in names]
                )


class Command(TyperCommand):
    """A command whose usage line names a required argument without braces."""

    context_class = HelpContext

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


app = typer.Typer(
    name="tightrope",
    help="Publish statistics about people with differential privacy, and prove how good "
    "the noise is.",
    cls=CommandSections,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tightrope {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take the options that come before a command.

    >>> options(version=False)
    """


def help_text(command: Callable[..., None]) -> tuple[str, dict[str, tuple[str, str]]]:
    r"""Return what ``--help`` says: the text, and each parameter's metavariable and meaning.

    The docstring is the help: its doctest is left out, examples are kept as lines, and the
    section of parameters describes the words of the command line (``epsilon : E``).

    >>> help_text(questions.graph)[1]["plot"]
    ('FILE', 'Draw the graph into a PNG, SVG or PDF file.')
    """
    # The docstring is the only description: help, documentation and doctest cannot drift apart.
    text = (inspect.getdoc(command) or "").split(">>>")[0]
    before, _, section = text.partition("Parameters\n----------\n")
    listed, _, after = section.partition("\n\n")
    # A command's own description of a parameter overrides the shared one.
    words = dict(shared_words())
    for entry in re.split(r"\n(?=\S)", listed.strip("\n")) if listed else ():
        head, _, meaning = entry.partition("\n")
        name, _, metavar = head.partition(" : ")
        words[name] = (metavar, " ".join(meaning.split()))
    paragraphs = (before + after).strip().split("\n\n")
    # Click re-flows a paragraph unless it starts with \b.
    shown = "\n\n".join(f"\b\n{p}" if "\n  " in p else p for p in paragraphs)
    return shown, words


def _register(group: typer.Typer, command: Callable[..., None]) -> None:
    """Add a command: parameters before ``*`` are arguments, those behind it options, then --json.

    Each of them has a meaning, in the command's docstring or among the shared words.
    """
    text, words = help_text(command)
    # Typer evaluates string annotations four times; resolve them once.
    hints = get_type_hints(command) | {"as_json": bool}
    as_json = inspect.Parameter(
        "as_json", inspect.Parameter.KEYWORD_ONLY, default=False
    )
    parameters = []
    for parameter in (*inspect.signature(command).parameters.values(), as_json):
        word = parameter.name
        # KeyError for a parameter without a meaning: every option is documented.
        metavar, meaning = words[word]
        # The signature decides: positional parameters are arguments, keyword-only ones options.
        described: Any = typer.Argument(metavar=metavar, help=meaning)
        if parameter.kind is parameter.KEYWORD_ONLY:
            # Without a name of its own, a flag that is off would get a --no- twin.
            name_of_flag = f"--{word.removeprefix('as_').replace('_', '-')}"
            names = [name_of_flag] if parameter.default is False else []
            described = typer.Option(*names, metavar=metavar or None, help=meaning)
        parameters.append(
            parameter.replace(annotation=Annotated[hints[word], described])
        )

    @functools.wraps(command)
    def run(*, as_json: bool, **given: Any) -> None:
        # A context variable: commands need not pass --json through every function.
        before = json_wanted.set(as_json)
        try:
            command(**given)
        finally:
            json_wanted.reset(before)

    # Typer reads the signature and the annotations, so both must be replaced.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    group.command(help=text, cls=Command)(run)


for command in chain.from_iterable(COMMANDS.values()):
    _register(app, command)

book = typer.Typer(
    help="Show, verify and export the ledger of spent budget.", no_args_is_help=True
)
for step in (
    ledger.init, ledger.show, ledger.verify, ledger.export, ledger.budget, ledger.series,
    ledger.facts,
):  # fmt: skip
    _register(book, step)
app.add_typer(book, name="ledger")
