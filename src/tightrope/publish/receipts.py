"""Receipts: signed statements that an answer was released and paid for.

A receipt is one JSON object: the ledger and the place in it, the digest of the mechanism, ε, what
was charged, the question and the answer, how its outputs become numbers, the time, and an Ed25519
signature over the canonical JSON of all of that. Anybody can check it with the public key that it
holds; whether that key is the right one is not for the receipt to say, so the publisher states it
elsewhere too.

The private key is made with the ledger's first receipt and kept beside the ledger, readable by
its owner only.

A receipt is also an *anchor*: an entry that was seen earlier, by which a ledger that was cut off
is noticed.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
import secrets
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tightrope.errors import CheckFailed, InputError, refusing
from tightrope.files import read_json, read_text, write_text
from tightrope.publish.entries import Entry, canonical, read_record
from tightrope.publish.intervals import read_label

#: What a receipt says it is.
FORMAT = "tightrope-receipt"
VERSION = 1
#: Where the entry of a receipt stands.
_PLACE = ("ledger", "position", "hash", "previous", "time")


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
    """An Ed25519 key in a file; a missing file is made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            _make_key(path)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        text = read_text(path).strip()
        with refusing(f"{path}: this is not a signing key of Tightrope", ValueError):
            self._key = Ed25519PrivateKey.from_private_bytes(
                base64.b64decode(text, validate=True)
            )

    @property
    def public(self) -> str:
        """The public key, as text."""
        return _text(self._key.public_key().public_bytes_raw())

    def secret(self, ledger_id: str) -> str:
        """Return what decides which rows of a person count: it follows from the private key.

        The same for all questions of a ledger, and given to nobody but the source that is asked.
        """
        # Derived from the signing key, so that one file has to be kept secret and backed up.
        seed = self._key.private_bytes_raw()
        # The purpose separates this use of the key from signing.
        purpose = f"which rows count: {ledger_id}".encode()
        # The choice of rows must be unpredictable, or a person could arrange which rows count.
        return hmac.new(seed, purpose, "sha256").hexdigest()[:32]

    def sign(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content as a receipt; the same content makes the same receipt."""
        body = {
            "format": FORMAT,
            "version": VERSION,
            **content,
            "public_key": self.public,
        }
        return {
            **body,
            # The signature covers the public key as well, so it cannot be exchanged.
            "signature": _text(self._key.sign(canonical(body).encode("ascii"))),
        }


def named_key() -> Path | None:
    """Return the signing key that the environment names by ``TIGHTROPE_KEY``, if it does."""
    name = os.environ.get("TIGHTROPE_KEY")
    return Path(name) if name else None


def key_path(ledger_file: Path | None, ledger_id: str) -> Path:
    """Return where the key of a ledger is: beside its file, or in the user's data folder.

    >>> key_path(Path("ledger.db"), "").name
    'ledger.db.key'
    """
    # The environment decides first: services keep the key away from the ledger's folder.
    named = named_key()
    if named is not None:
        return named
    if ledger_file is not None:
        return key_beside(ledger_file)
    default = Path.home() / ".local" / "share"
    home = os.environ.get("XDG_DATA_HOME") or default
    return Path(home) / "tightrope" / f"{ledger_id}.key"


def key_beside(ledger_file: Path) -> Path:
    """Return where the key of a ledger's file is, unless the environment names another."""
    return ledger_file.with_name(ledger_file.name + ".key")


def receipt_of(
    entry: Entry, ledger_id: str, key: SigningKey, said: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the receipt of an entry that records an answer.

    What is said beside the entry (the ``interval`` of the answer) is signed too; the ledger does
    not hold it, because it follows from mechanism and answer.

    >>> import tempfile
    >>> entry = Entry.after(None, {"kind": "answer", "key": "k", "answer": 3}, "2030-01-01")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     receipt = receipt_of(entry, "a1b2", SigningKey(Path(folder, "key")))
    >>> receipt["answer"], receipt["position"], receipt["hash"] == entry.hash
    (3, 1, True)
    >>> verify_receipt(receipt).genuine
    True
    >>> verify_receipt({**receipt, "answer": 8}).reasons
    ('the signature is not that of this content: something was altered',)
    """
    content = {name: value for name, value in entry.body.items() if name != "kind"}
    place = {word: value for word, value in entry.as_dict().items() if word != "body"}
    # Place last: fields of a request cannot overwrite position, hash and time.
    return key.sign({**content, **(said or {}), **place, "ledger": ledger_id})


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
    missing = [word for word in ("answer", *_PLACE) if word not in data]
    reasons = []
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        reasons.append(f"this is not a receipt of format {FORMAT} {VERSION}")
    elif missing:
        reasons.append(f"this receipt does not say its {', '.join(missing)}")
    elif not _is_signed(data):
        reasons.append(
            "the signature is not that of this content: something was altered"
        )
    # A valid signature over a false entry is possible, so the hash is computed again.
    elif not _is_entry(data):
        reasons.append(
            "the content is not that of the entry whose hash the receipt states"
        )
    # Anybody can sign with a key of their own; only a key known from elsewhere identifies.
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
    data = read_json(path, typed=True)
    if not isinstance(data, dict):
        raise InputError(f"{path}: this is not a receipt: it is no JSON object")
    return data


def write_receipt(receipt: Mapping[str, Any], path: str | Path) -> None:
    """Write a receipt into a file."""
    write_text(path, json.dumps(receipt, ensure_ascii=False, indent=1) + "\n")


def apply_remap(
    receipt: Mapping[str, Any] | str | Path, remap: Mapping[Hashable, Hashable]
) -> Hashable:
    """Return the guess that a remap makes from a released answer.

    A remap knows the released answer and nothing else. It needs no data and costs no budget: what
    is computed from a private answer is as private as the answer [C, §2.4].

    Parameters
    ----------
    receipt
        The receipt of the answer, or the path of its file; its signature is checked.
    remap
        From outputs to guesses.
    """
    data = read_receipt(receipt) if isinstance(receipt, str | Path) else receipt
    check = verify_receipt(data)
    if not check.genuine:
        raise CheckFailed(f"the receipt is not genuine: {check.reasons[0]}")
    answer = read_label(data["answer"])
    if answer not in remap:
        raise InputError(f"the remap has no guess for the answer {answer!r}")
    return remap[answer]


def anchors_of_receipts(
    receipts: Sequence[str | Path], ledger_id: str
) -> list[tuple[int, str]]:
    """Return the positions and hashes that receipts hold, after checking the receipts."""
    anchors = []
    for path in receipts:
        receipt = read_receipt(path)
        check = verify_receipt(receipt)
        if not check.genuine:
            raise CheckFailed(f"{path}: {check.reasons[0]}")
        if receipt["ledger"] != ledger_id:
            raise CheckFailed(
                f"{path}: this is a receipt of another ledger, {receipt['ledger']}"
            )
        # Position and hash are what a truncated ledger cannot contain.
        anchors.append((receipt["position"], receipt["hash"]))
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


def _is_entry(data: Mapping[str, Any]) -> bool:
    """Whether a receipt holds the entry whose hash it states."""
    # What the entry's hash does not cover: the receipt's frame, and the interval.
    apart = {"format", "version", "public_key", "signature", "interval", *_PLACE}
    body = {name: value for name, value in data.items() if name not in apart}
    place = {word: data[word] for word in _PLACE if word != "ledger"}
    try:
        entry: Entry = read_record(Entry, {**place, "body": {**body, "kind": "answer"}})
        return entry.is_whole
    except (InputError, TypeError, ValueError):
        return False


def _is_signed(data: Mapping[str, Any]) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    body = {name: value for name, value in data.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(_raw(data["public_key"]))
        # Verify over the canonical JSON: whitespace and order of a file do not matter.
        key.verify(_raw(data["signature"]), canonical(body).encode("ascii"))
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        return False
    return True


def _make_key(path: Path) -> None:
    """Write a new key, whole or not at all; when two try, one key stays."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Private from its creation: a chmod afterwards would leave a moment in which others can
        # read.
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(_text(secrets.token_bytes(32)) + "\n")
                file.flush()
                os.fsync(file.fileno())
            # link fails where the name exists: of two processes one key wins, and it is complete.
            os.link(part, path)
        except FileExistsError:
            pass
        finally:
            part.unlink(missing_ok=True)
    except OSError as refused:
        raise InputError(
            f"{path}: the signing key cannot be made: {refused.strerror}"
        ) from None


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _raw(text: str) -> bytes:
    """Return the bytes of a text; a second text of the same bytes is refused."""
    raw = base64.b64decode(text, validate=True)
    # Base64 has several texts for some bytes; one of them could pass as another receipt.
    if _text(raw) != text:
        raise ValueError("this is not how these bytes are written")
    return raw
