"""``tightrope verify``: check a mechanism file in integers, or the signature of a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tightrope.cli.output import AsJson, facts_table, paragraphs, show
from tightrope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A mechanism file (.tightrope) or a receipt (JSON)."),
    ] = None,
    script: Annotated[
        bool,
        typer.Option(
            "--script",
            help="Print the judge as one file that needs only NumPy.",
        ),
    ] = False,
    signer: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="For a receipt: the public key of its publisher."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a mechanism file: its question, privacy, rows, digest, loss and optimality.

    The exit code is 1 when a check fails; then it is said what fails, where and by how much.

    Examples:
      tightrope verify cities.tightrope
      tightrope verify --script > verify_mechanism.py

    >>> verify(script=True)
    #!/usr/bin/env python3
    ...
    """
    if script:
        from tightrope.certify import judge_script

        print(judge_script(), end="")
        return
    if file is None:
        raise InputError("name the mechanism file to verify")
    if _is_receipt(file):
        _show_receipt(file, as_json, signer)
        return
    if signer is not None:
        raise InputError(f"--signer goes with a receipt, and {file} is none")
    from tightrope.certify import verify as judge

    found = judge(file)

    def draw(console: Console) -> None:
        within = found.optimal_within
        under = f" with {found.under}" if found.under else ""
        owner = "for the question" if found.private_for_question is not None else "on its own graph"
        rows = {
            **{name: str(value or "a graph of its own") for name, value in found.question.items()},
            "private": f"yes, {owner}" if found.private else "no",
            **{name: str(value) for name, value in (found.consumer or {}).items() if value},
            "optimal within": ("not proved" if within is None else f"{float(within):.3g}") + under,
            "ratio": found.ratio or "not known",
            "digest": found.digest or "not known",
        }
        facts_table(console, file.name, rows)
        console.print()
        paragraphs(console, [f"Holds: {line}." for line in found.checked])
        paragraphs(console, [f"FAILS: {line}." for line in found.reasons])

    show(as_json, found.as_dict(), draw)
    if found.reasons:
        raise typer.Exit(1)


def _is_receipt(file: Path) -> bool:
    """Whether a file looks like a receipt: JSON, where mechanism files are binary."""
    try:
        with file.open("rb") as opened:
            return opened.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False


def _show_receipt(file: Path, as_json: bool, signer: str | None = None) -> None:
    """Check a receipt and show what it says; exit with 1 when it is not genuine."""
    from tightrope.publish.receipts import read_receipt, verify_receipt

    receipt = read_receipt(file)
    check = verify_receipt(receipt, signer)
    names = ("answer", "query", "neighbours", "epsilon", "mechanism", "ledger", "position", "time")
    said = {name: receipt.get(name) for name in names}
    data = {
        "genuine": check.genuine,
        "reasons": list(check.reasons),
        "public_key": check.public_key,
        **said,
    }

    def draw(console: Console) -> None:
        rows = {"genuine": "yes" if check.genuine else "no"}
        rows |= {name: str(value) for name, value in said.items() if value is not None}
        if check.public_key:
            doubt = " (is it the publisher's? give theirs with --signer)" if signer is None else ""
            rows["public key"] = check.public_key + doubt
        facts_table(console, f"receipt {file.name}", rows)
        paragraphs(console, [f"FAILS: {reason}." for reason in check.reasons])

    show(as_json, data, draw)
    if not check.genuine:
        raise typer.Exit(1)
