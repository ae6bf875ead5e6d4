"""The list of commands. Each lives in a file of its own and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from tightrope import __version__
from tightrope.cli.graph import graph

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


app.command()(graph)
