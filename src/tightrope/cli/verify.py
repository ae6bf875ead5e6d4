"""``tightrope verify``: check a mechanism file in integers, or the signature of a receipt."""

from __future__ import annotations

from pathlib import Path

import typer

import tightrope as tr
from tightrope.cli.output import tell
from tightrope.errors import InputError
from tightrope.report.texts import score_hint, verdict_rows


def verify(
    file: Path | None = None,
    *,
    script: bool = False,
    signer: str | None = None,
    as_json: bool = False,
) -> None:
    """Check a mechanism file: its question, privacy, rows, digest, loss and optimality.

    The exit code is 1 when a check fails; then it is said what fails, where and by how much.

    Parameters
    ----------
    file : FILE
        A mechanism file (.tightrope) or a receipt (JSON).
    script
        Print the judge as one file that needs only NumPy.
    signer : KEY
        For a receipt: the public key of its publisher.

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
    found = tr.verify(file)
    data = found.as_dict()
    lines = [f"Holds: {line}." for line in found.checked]
    lines += [f"FAILS: {line}." for line in found.reasons]
    hint = score_hint(found.question.get("query"))
    lines += [f"{hint}."] if hint and found.optimal_within is not None else []
    tell(as_json, data, file.name, verdict_rows(data), lines)
    if found.reasons:
        raise typer.Exit(1)


def _is_receipt(file: Path) -> bool:
    """Whether a file looks like a receipt: JSON, where mechanism files are binary."""
    if not file.is_file():  # opening a pipe would block until something writes to it
        return False
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
    names = "answer interval query neighbours epsilon mechanism ledger position time"
    said = {name: receipt.get(name) for name in names.split()}
    told = {"genuine": check.genuine, "reasons": check.reasons, "public_key": check.public_key}

    rows = {"genuine": "yes" if check.genuine else "no"}
    rows |= {name: str(value) for name, value in said.items() if value is not None}
    if isinstance(said["interval"], dict):
        rows["interval"] = str(said["interval"].get("text"))
    if check.public_key:
        doubt = " (is it the publisher's? give theirs with --signer)" if signer is None else ""
        rows["public key"] = check.public_key + doubt
    lines = [f"FAILS: {reason}." for reason in check.reasons]
    tell(as_json, {**told, **said}, f"receipt {file.name}", rows, lines)
    if not check.genuine:
        raise typer.Exit(1)
