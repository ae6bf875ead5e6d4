"""The list of commands. Each imports what it needs when it runs."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from tightrope import __version__
from tightrope.cli import designs, ledger, mechanisms, papers, questions, studio, tables
from tightrope.cli.output import json_wanted, shared_words

app = typer.Typer(
    name="tightrope",
    help="Publish numbers about people with the best noise that privacy allows, and see what it "
    "leaks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    # Wide enough for the first sentence of every command, where the terminal is.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tightrope {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
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
    text = (inspect.getdoc(command) or "").split(">>>")[0]
    before, _, section = text.partition("Parameters\n----------\n")
    listed, _, after = section.partition("\n\n")
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
    as_json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False)
    parameters = []
    for parameter in (*inspect.signature(command).parameters.values(), as_json):
        word = parameter.name
        metavar, meaning = words[word]
        described: Any = typer.Argument(metavar=metavar, help=meaning)
        if parameter.kind is parameter.KEYWORD_ONLY:
            # Without a name of its own, a flag that is off would get a --no- twin.
            name_of_flag = f"--{word.removeprefix('as_').replace('_', '-')}"
            names = [name_of_flag] if parameter.default is False else []
            described = typer.Option(*names, metavar=metavar or None, help=meaning)
        parameters.append(parameter.replace(annotation=Annotated[hints[word], described]))

    @functools.wraps(command)
    def run(*, as_json: bool, **given: Any) -> None:
        before = json_wanted.set(as_json)
        try:
            command(**given)
        finally:
            json_wanted.reset(before)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    group.command(help=text)(run)


for command in (
    tables.init, tables.ask, questions.explain, studio.studio, designs.design, mechanisms.verify,
    tables.release, mechanisms.interval, mechanisms.analyse, mechanisms.curve, mechanisms.remap,
    mechanisms.certify, mechanisms.audit, designs.sweep, questions.graph, questions.exists,
    questions.regular, mechanisms.derive, mechanisms.generalise, questions.universal,
    questions.axioms, papers.papers,
):  # fmt: skip
    _register(app, command)

book = typer.Typer(help="Show, verify and export the ledger of spent budget.", no_args_is_help=True)
for step in (
    ledger.init, ledger.show, ledger.verify, ledger.export, ledger.budget, ledger.series,
    ledger.facts,
):  # fmt: skip
    _register(book, step)
app.add_typer(book, name="ledger")
