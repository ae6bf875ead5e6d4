"""How ``tightrope verify`` shows a receipt, and ``tightrope remap`` a guess from one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tightrope.cli.output import facts_table, paragraphs, show

if TYPE_CHECKING:
    from rich.console import Console


def is_receipt(file: Path) -> bool:
    """Whether a file looks like a receipt: JSON, where mechanism files are binary.

    >>> is_receipt(Path("no-such-file"))
    False
    """
    if not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            return opened.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False


def show_receipt(file: Path, as_json: bool, signer: str | None = None) -> None:
    """Check a receipt and show what it says; exit with 1 when it is not genuine.

    >>> show_receipt(Path("no-such-file"), True)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-file: there is no such file
    """
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
