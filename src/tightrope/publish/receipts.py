"""Receipts: signed statements that an answer was released and paid for.

A receipt is one JSON object: the ledger and the place in it, the digest of the mechanism, ε, what
was charged, the question and the answer, the time, and an Ed25519 signature over the canonical
JSON of all of that. Anybody can check it with the public key that it holds; whether that key is
the right one is for the reader to know, so the publisher states it elsewhere too.

The private key is made with the ledger's first receipt and kept beside the ledger, readable by
its owner only.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.files import read_text, write_text
from tightrope.publish.chain import Entry, canonical

#: What a receipt says it is.
FORMAT, VERSION = "tightrope-receipt", 1
#: Variable of the environment that names the file of the signing key.
KEY_VARIABLE = "TIGHTROPE_KEY"


@dataclass(frozen=True)
class ReceiptCheck:
    """What the check of a receipt found.

    >>> ReceiptCheck(False, ("the signature is wrong",), "").genuine
    False
    """

    genuine: bool
    reasons: tuple[str, ...]
    public_key: str


class SigningKey:
    """An Ed25519 key in a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = SigningKey(Path(folder, "ledger.db.key"))
    ...     receipt = key.sign({"answer": 7})
    ...     again = SigningKey(key.path).sign({"answer": 7})
    >>> receipt == again, verify_receipt(receipt).genuine
    (True, True)
    >>> verify_receipt({**receipt, "answer": 8}).reasons
    ('the signature is not that of this content: something was altered',)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            _make_key(path)
        try:
            raw = base64.b64decode(read_text(path).strip(), validate=True)
            if len(raw) != 32:
                raise ValueError
        except ValueError as wrong:
            if isinstance(wrong, InputError):
                raise
            raise InputError(f"{path}: this is not a signing key of Tightrope") from None
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(raw)

    @property
    def public(self) -> str:
        """The public key, as text."""
        return _text(self._key.public_key().public_bytes_raw())

    def sign(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content as a receipt; the same content makes the same receipt."""
        body = {"format": FORMAT, "version": VERSION, **content, "public_key": self.public}
        return {**body, "signature": _text(self._key.sign(canonical(body).encode("ascii")))}


def key_path(ledger_file: Path | None, ledger_id: str) -> Path:
    """Return where the key of a ledger is: beside its file, or in the user's data folder.

    >>> key_path(Path("ledger.db"), "").name
    'ledger.db.key'
    """
    if KEY_VARIABLE in os.environ:
        return Path(os.environ[KEY_VARIABLE])
    if ledger_file is not None:
        return key_beside(ledger_file)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "tightrope" / f"{ledger_id}.key"


def key_beside(ledger_file: Path) -> Path:
    """Return where the key of a ledger's file is, unless the environment names another.

    >>> key_beside(Path("ledger.db")).name
    'ledger.db.key'
    """
    return ledger_file.with_name(ledger_file.name + ".key")


def receipt_of(entry: Entry, ledger_id: str, key: SigningKey) -> dict[str, Any]:
    """Return the receipt of an entry that records an answer.

    >>> import tempfile
    >>> entry = Entry.after(None, {"kind": "answer", "key": "k", "answer": 3})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     receipt = receipt_of(entry, "a1b2", SigningKey(Path(folder, "key")))
    >>> receipt["answer"], receipt["position"], receipt["hash"] == entry.hash
    (3, 1, True)
    """
    content = {name: value for name, value in entry.body.items() if name != "kind"}
    place = {
        "ledger": ledger_id,
        "position": entry.position,
        "hash": entry.hash,
        "previous": entry.previous,
        "time": entry.time,
    }
    return key.sign({**content, **place})


def verify_receipt(
    receipt: Mapping[str, Any] | str | Path, public_key: str | None = None
) -> ReceiptCheck:
    """Check the signature of a receipt, and that it is the entry whose hash it states.

    Parameters
    ----------
    receipt
        The receipt, or the path of its file.
    public_key
        The key that the signer is known by; the receipt must hold this one.

    Examples
    --------
    >>> verify_receipt({"format": "something else"}).genuine
    False
    """
    data = read_receipt(receipt) if isinstance(receipt, str | Path) else dict(receipt)
    held = str(data.get("public_key", ""))
    reasons = []
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        reasons.append(f"this is not a receipt of format {FORMAT} {VERSION}")
    elif not _is_signed(data):
        reasons.append("the signature is not that of this content: something was altered")
    elif "position" in data and _entry_of(data) is None:
        reasons.append("the content is not that of the entry whose hash the receipt states")
    if public_key is not None and held != public_key.strip():
        reasons.append("the receipt is signed with another key than the one expected")
    return ReceiptCheck(not reasons, tuple(reasons), held)


def read_receipt(path: str | Path) -> dict[str, Any]:
    """Read a receipt from a file.

    >>> read_receipt("no-such-receipt.json")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such-receipt.json: there is no such file
    """
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as wrong:
        if isinstance(wrong, InputError):
            raise
        raise InputError(f"{path}: this is not a receipt: it is no JSON") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: this is not a receipt: it is no JSON object")
    return data


def write_receipt(receipt: Mapping[str, Any], path: str | Path) -> None:
    """Write a receipt into a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_receipt({"answer": 3}, Path(folder, "r.json"))
    ...     read_receipt(Path(folder, "r.json"))
    {'answer': 3}
    """
    write_text(path, json.dumps(receipt, ensure_ascii=False, indent=1) + "\n")


def _entry_of(data: Mapping[str, Any]) -> Entry | None:
    """Return the entry that a receipt was made from, if its hash fits."""
    apart = {"format", "version", "public_key", "signature"}
    place = {"ledger", "position", "hash", "previous", "time"}
    body = {name: value for name, value in data.items() if name not in apart | place}
    try:
        entry = Entry(
            int(data["position"]),
            str(data["previous"]),
            str(data["time"]),
            {**body, "kind": "answer"},
            str(data["hash"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return entry if entry.is_whole else None


def _is_signed(data: Mapping[str, Any]) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    body = {name: value for name, value in data.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(data["public_key"]))
        signature = base64.b64decode(data["signature"])
        key.verify(signature, canonical(body).encode("ascii"))
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        return False
    return True


def _make_key(path: Path) -> None:
    """Write a new key, whole or not at all; when two try, one key stays."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(_text(secrets.token_bytes(32)) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)
        except FileExistsError:
            pass
        finally:
            part.unlink(missing_ok=True)
    except OSError as refused:
        raise InputError(f"{path}: the signing key cannot be made: {refused.strerror}") from None


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
