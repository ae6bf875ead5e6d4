"""The list of commands. Each imports what it needs when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, get_type_hints

import typer

from tightrope import __version__
from tightrope.cli.design import design
from tightrope.cli.init import init
from tightrope.cli.ledger import COMMANDS as LEDGER_COMMANDS
from tightrope.cli.mechanisms import analyse, audit, certify, curve, derive, generalise, remap
from tightrope.cli.papers import papers
from tightrope.cli.privacy import axioms, explain
from tightrope.cli.questions import exists, graph, regular, universal
from tightrope.cli.release import release
from tightrope.cli.studio import studio
from tightrope.cli.sweep import sweep
from tightrope.cli.verify import verify

app = typer.Typer(
    name="tightrope",
    help="Find the best differentially private mechanism for a question, prove it, and see "
    "what it leaks.",
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
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options that come before a command.

    >>> options(version=False)
    """


def help_text(command: Callable[..., None]) -> str:
    """Return what ``--help`` says: the docstring without its doctest, examples kept as lines.

    >>> ">>>" in help_text(graph), help_text(graph).splitlines()[0]
    (False, 'Show the answer graph of a question: size, distances, shape and symmetry.')
    """
    text = inspect.getdoc(command) or ""
    paragraphs = text.split(">>>")[0].strip().split("\n\n")
    # Click re-flows a paragraph unless it starts with \b.
    return "\n\n".join(f"\b\n{p}" if "\n  " in p else p for p in paragraphs)


def _register(group: typer.Typer, command: Callable[..., None], name: str | None = None) -> None:
    # Typer evaluates string annotations four times; resolve them once.
    command.__annotations__ = get_type_hints(command, include_extras=True)
    group.command(name, help=help_text(command))(command)


for command in (
    graph,
    exists,
    regular,
    design,
    sweep,
    remap,
    explain,
    analyse,
    certify,
    verify,
    audit,
    derive,
    generalise,
    universal,
    curve,
    axioms,
    init,
    release,
    papers,
    studio,
):
    _register(app, command)

ledger = typer.Typer(
    help="Show, verify and export the ledger of spent budget.", no_args_is_help=True
)
for word, step in LEDGER_COMMANDS.items():
    _register(ledger, step, word)
app.add_typer(ledger, name="ledger")
