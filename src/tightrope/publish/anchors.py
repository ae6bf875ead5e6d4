"""Anchors: entries that were seen earlier, by which a ledger that was cut off is noticed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tightrope.errors import CheckFailed, InputError
from tightrope.publish.receipts import read_receipt, verify_receipt


def anchors_of_receipts(receipts: Sequence[str | Path], ledger_id: str) -> list[tuple[int, str]]:
    """Return the positions and hashes that receipts hold, after checking the receipts.

    >>> anchors_of_receipts([], "a1b2")
    []
    """
    anchors = []
    for path in receipts:
        receipt = read_receipt(path)
        check = verify_receipt(receipt)
        if not check.genuine:
            raise CheckFailed(f"{path}: {check.reasons[0]}")
        if receipt["ledger"] != ledger_id:
            raise CheckFailed(f"{path}: this is a receipt of another ledger, {receipt['ledger']}")
        anchors.append((int(receipt["position"]), str(receipt["hash"])))
    return anchors


def read_anchor(text: str) -> tuple[int, str]:
    """Read an anchor from a text.

    >>> read_anchor("12:" + "ab" * 32)[0]
    12
    >>> read_anchor("12")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: an anchor is POSITION:HASH with 64 hexadecimal digits, got '12'
    """
    found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
    if not found:
        raise InputError(
            f"an anchor is POSITION:HASH with 64 hexadecimal digits, got {text[:80]!r}"
        )
    return int(found[1]), found[2]
