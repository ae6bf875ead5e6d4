"""The container of a mechanism file: magic, header, compressed integers, digest.

Nothing is unpacked before its size is known to be reasonable, and nothing larger than one
chunk is ever unpacked at once.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, BinaryIO

import numpy as np

# -- the file -----------------------------------------------------------------------------

MAGIC, VERSION = b"\x89tightrope", 1
HEADER_LIMIT = 1 << 24  # bytes of the header
CHUNK_LIMIT = 1 << 23  # integers in one compressed chunk
SECTION_LIMIT = 1 << 25  # integers in a section that is read as a whole
Array = np.ndarray[Any, np.dtype[Any]]


class Damaged(ValueError):
    """What makes a file unfit to be checked any further.

    >>> raise Damaged("the file is too short")
    Traceback (most recent call last):
    ...
    tightrope.certify.container.Damaged: the file is too short
    """


def need(holds: bool, message: str) -> None:
    """Stop with a message unless a condition holds.

    >>> need(True, "never said")
    """
    if not holds:
        raise Damaged(message)


class Container:
    """The file: magic, version, header, compressed sections of integers, SHA-256 digest.

    >>> Container(b"no such thing")
    Traceback (most recent call last):
    ...
    tightrope.certify.container.Damaged: not a mechanism file: it is only 13 bytes long
    """

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        self.stream: BinaryIO
        if isinstance(source, bytes):
            self.stream = io.BytesIO(source)
        else:
            if os.path.exists(source) and not os.path.isfile(source):  # a pipe would be waited for
                raise OSError(22, "this is not a regular file", os.fspath(source))
            self.stream = open(source, "rb")  # noqa: SIM115 - open as long as this lives
        self.size = self.stream.seek(0, os.SEEK_END)
        need(self.size >= 48, f"not a mechanism file: it is only {self.size} bytes long")
        start = self.read(0, 16)
        need(start[:10] == MAGIC, "not a mechanism file: it does not start with its mark")
        need(int.from_bytes(start[10:12], "little") == VERSION, "unknown version of the format")
        length = int.from_bytes(start[12:16], "little")
        need(
            length <= min(HEADER_LIMIT, self.size - 48), "the header is longer than the file allows"
        )
        text = self.read(16, length)
        try:
            self.header: dict[str, Any] = json.loads(text)
            written = json.dumps(self.header, sort_keys=True, separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            raise Damaged("the header is not JSON of a reasonable depth and size") from None
        need(
            isinstance(self.header, dict) and written == text, "the header is not in canonical form"
        )
        self.places: dict[str, tuple[dict[str, Any], int]] = {}
        place = 16 + length
        for part in self.get("sections", list):
            sound = isinstance(part, dict) and isinstance(part.get("bytes"), list)
            need(sound and isinstance(part.get("name"), str), "a section is not described")
            numbers = [part.get(key) for key in ("width", "count", "chunk")] + part["bytes"]
            need(all(type(x) is int and 0 < x < 1 << 40 for x in numbers), "a section has no size")
            need(part["width"] % 8 == 0 and part["width"] <= 64, "integers have 8 to 64 bytes")
            need(part["chunk"] * part["width"] <= CHUNK_LIMIT * 8, "a chunk is too large")
            chunks = -(-part["count"] // part["chunk"])
            need(chunks == len(part["bytes"]), "a section has the wrong number of chunks")
            need(part["name"] not in self.places, f"the section {part['name']!r} comes twice")
            self.places[part["name"]] = (part, place)
            place += sum(part["bytes"])
        lacks = place + 32 - self.size
        need(lacks <= 0, f"the file is truncated: {lacks} bytes are missing")
        need(lacks == 0, f"the file has {-lacks} bytes too many")

    def __del__(self) -> None:
        stream = getattr(self, "stream", None)
        if stream is not None:
            stream.close()

    def read(self, place: int, length: int) -> bytes:
        """Read bytes from a place."""
        self.stream.seek(place)
        return self.stream.read(length)

    def get(self, name: str, kind: type, inside: dict[str, Any] | None = None) -> Any:
        """Return a field of the header, of the kind it must have."""
        value = (self.header if inside is None else inside).get(name)
        need(type(value) is kind, f"the header has no proper {name!r}")
        return value

    def number(self, name: str, inside: dict[str, Any] | None = None) -> Fraction:
        """Return an exact number that the header holds as text."""
        return number(self.get(name, str, inside), name)

    def digest(self) -> tuple[str, str]:
        """Return the digest of the bytes and the digest that the file states."""
        found = hashlib.sha256()
        for place in range(0, self.size - 32, 1 << 20):
            found.update(self.read(place, min(1 << 20, self.size - 32 - place)))
        return found.hexdigest(), self.read(self.size - 32, 32).hex()

    def chunks(self, name: str) -> Iterator[Array]:
        """Yield a section piece by piece: int64, or Python integers when they are wider."""
        need(name in self.places, f"the section {name!r} is missing")
        part, place = self.places[name]
        width, left = part["width"], part["count"]
        for packed in part["bytes"]:
            size = min(left, part["chunk"]) * width
            # zlib cannot shrink by more than 1032 : 1, so nothing is unpacked for a false claim.
            need(size <= 1100 * packed + 1100, f"the section {name!r} cannot hold what it claims")
            worker = zlib.decompressobj()
            try:
                raw = worker.decompress(self.read(place, packed), size + 1)
            except zlib.error:
                raise Damaged(f"the section {name!r} is damaged") from None
            whole = len(raw) == size and worker.eof and not worker.unused_data
            need(whole, f"the section {name!r} does not hold what it claims")
            place, left = place + packed, left - size // width
            if width == 8:
                yield np.frombuffer(raw, "<i8").astype(np.int64)
            else:
                cut = (raw[at : at + width] for at in range(0, size, width))
                yield np.array([int.from_bytes(c, "little", signed=True) for c in cut], object)

    def whole(self, name: str, count: int, low: int | None = 0, high: int | None = None) -> Array:
        """Return a section of a known length with all its numbers in a range."""
        need(name in self.places, f"the section {name!r} is missing")
        stated = self.places[name][0]["count"]
        need(
            stated == count <= SECTION_LIMIT,
            f"the section {name!r} has {stated} numbers, not {count}",
        )
        found = np.concatenate(list(self.chunks(name)))
        out = (low is not None and found.min() < low) or (high is not None and found.max() >= high)
        need(not out, f"the section {name!r} has numbers out of range")
        return found


def number(text: object, name: str) -> Fraction:
    """Read an integer or a fraction written as ``p/q``.

    >>> number("3/4", "loss")
    Fraction(3, 4)
    """
    found = (
        re.fullmatch(r"(-?\d{1,2000})(?:/([1-9]\d{0,1999}))?", text)
        if isinstance(text, str)
        else None
    )
    if found is None:
        raise Damaged(f"{name!r} must be an exact number such as 3/4")
    return Fraction(int(found[1]), int(found[2] or 1))
