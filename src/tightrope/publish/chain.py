r"""Entries of a ledger, each holding the hash of the one before it.

The hash of entry k is SHA-256 over the canonical JSON of its position, the previous hash, its
time and its body. Whoever changes, removes or moves an entry changes every later hash. The hash
of the last entry (the *head*) therefore stands for the whole ledger up to there; a copy of it
kept elsewhere, as every receipt is one, shows whether the tail was cut off or written anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tightrope.errors import InputError

#: What the first entry holds in the place of the hash of the entry before it.
NOTHING_BEFORE = "0" * 64


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: keys sorted, no blanks, ASCII only.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value, as hexadecimal text.

    >>> digest({})[:16]
    '44136fa355b3678a'
    """
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One entry: where it stands, what was before it, when, what, and the hash of all that.

    >>> first = Entry.after(None, {"kind": "open"})
    >>> second = Entry.after(first, {"kind": "budget"})
    >>> second.position, second.is_whole, second.previous == first.hash
    (2, True, True)
    """

    position: int
    previous: str
    time: str
    body: Mapping[str, Any]
    hash: str

    @classmethod
    def after(cls, last: Entry | None, body: Mapping[str, Any]) -> Entry:
        """Make the entry that follows another one.

        The time is information for people. The order is the position's: when the clock has been
        moved back, the time of the entry before is written again.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        position = 1 if last is None else last.position + 1
        previous = NOTHING_BEFORE if last is None else last.hash
        time = now if last is None else max(now, last.time)
        return cls(position, previous, time, body, _hash(position, previous, time, body))

    @property
    def is_whole(self) -> bool:
        """Whether the hash is that of the content."""
        return self.hash == _hash(self.position, self.previous, self.time, self.body)

    @property
    def kind(self) -> str:
        """What the entry does: open, budget, reserve, charge, answer or cancel."""
        return str(self.body.get("kind"))

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as one JSON object, as it is exported."""
        return {
            "position": self.position,
            "previous": self.previous,
            "time": self.time,
            "body": dict(self.body),
            "hash": self.hash,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Entry:
        """Read an entry as it is exported; its hash is not yet checked."""
        if not isinstance(data, dict) or set(data) != {
            "position",
            "previous",
            "time",
            "body",
            "hash",
        }:
            raise InputError("an entry holds position, previous, time, body and hash, nothing else")
        if not isinstance(data["position"], int) or not isinstance(data["body"], dict):
            raise InputError("an entry has a whole number as position and an object as body")
        return cls(
            data["position"],
            str(data["previous"]),
            str(data["time"]),
            data["body"],
            str(data["hash"]),
        )


def _hash(position: int, previous: str, time: str, body: Mapping[str, Any]) -> str:
    return digest({"position": position, "previous": previous, "time": time, "body": dict(body)})
