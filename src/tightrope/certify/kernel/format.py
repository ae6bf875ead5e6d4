"""The bytes of a mechanism file: header schema, sections of integers, digest.

Kinds of weights and of certificates, and optional fields, register themselves here. Each brings
its part of the header, its sections and what must hold of the rest of the header.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import inf, isfinite
from typing import Any, ClassVar, TypeVar

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Rule = Callable[[Any, str], Any]
Header = Mapping[str, Any]
#: How many integers a section has, and the range ``low <= x < high`` of each.
Sizes = dict[str, tuple[int, int, int]]

MAGIC = b"\x89tightrope"
VERSION = 3
MASK = (1 << 31) - 1  # the lower limb of a product
CHUNK = 1 << 20  # integers in a compressed chunk; of weights, whole columns up to this
WIDE = 1 << 511  # range of integers that may have 64 bytes


class Refused(ValueError):
    """Why a file is not checked any further."""


def need(holds: bool | np.bool_, message: str) -> None:
    """Stop with a message unless a condition holds."""
    if not holds:
        raise Refused(message)


#: Nanoseconds that the pieces of one judgement were charged, while there is one.
_charged: ContextVar[list[float] | None] = ContextVar("charged", default=None)


def need_work(what: str, steps: int, nanoseconds: float = 10, size: int = 0) -> None:
    """Stop before work that takes more than 20 seconds or 1.5 GB on one core.

    The pieces of one judgement together may take 50 seconds.
    """
    # Outside a judgement each piece of work is charged for itself.
    charged = _charged.get() or [0.0]
    charged[0] += steps * nanoseconds
    fits = steps * nanoseconds <= 2e10 and charged[0] <= 5e10 and size <= 3 << 29
    much = f"{what}, of {steps} steps and {size} bytes"
    need(fits, f"too large: {much}, is more than the judge takes on")


@contextmanager
def one_judgement() -> Iterator[list[float]]:
    """Add up what the pieces of work in this block are charged, in nanoseconds."""
    charged = [0.0]
    token = _charged.set(charged)
    try:
        yield charged
    finally:
        _charged.reset(token)


# -- validators: each takes a value and its place in the header ---------------------------


def satisfying(what: str, sound: Callable[[Any], bool]) -> Rule:
    """Return a validator for values that satisfy a predicate."""

    def rule(value: Any, where: str) -> Any:
        need(sound(value), f"{where} must be {what}")
        return value

    return rule


def whole(low: int, high: int) -> Rule:
    """Return a validator for whole numbers in ``low <= x < high``."""
    what = f"a whole number from {low} to below 2^{high.bit_length()}"
    return satisfying(what, lambda value: type(value) is int and low <= value < high)


def fraction(above: int | None = None, digits: int = 1300) -> Rule:
    """Return a validator for exact numbers in lowest terms, ``"3"`` or ``"3/4"``."""
    natural = rf"[1-9][0-9]{{0,{digits - 1}}}"
    form = re.compile(rf"-?(0|{natural})(/{natural})?")

    def rule(value: Any, where: str) -> Fraction:
        sound = isinstance(value, str) and form.fullmatch(value) is not None
        exact = f"an exact number such as 3/4, of at most {digits} digits"
        need(sound, f"{where} must be {exact}")
        number = Fraction(value)
        # One spelling per number, so that equal headers have equal bytes.
        need(str(number) == value, f"{where} must be in lowest terms")
        need(above is None or number > above, f"{where} must be larger than {above}")
        return number

    return rule


def word(*allowed: str) -> Rule:
    """Return a validator for one of several words."""
    return satisfying(" or ".join(allowed), lambda value: value in allowed)


def _is_line(value: Any) -> bool:
    # A line break would let a file write lines of its own into the verdict.
    return isinstance(value, str) and 0 < len(value) <= 1000 and value.isprintable()


text = satisfying("a short text in one line", _is_line)
flag = satisfying("true or false", lambda value: isinstance(value, bool))


def listing(rule: Rule, least: int, most: int) -> Rule:
    """Return a validator for lists of one kind of value."""

    def check(value: Any, where: str) -> list[Any]:
        sound = isinstance(value, list) and least <= len(value) <= most
        need(sound, f"{where} must be a list of {least} to {most}")
        return [rule(part, f"{where}[{at}]") for at, part in enumerate(value)]

    return check


def record(**rules: Rule) -> Rule:
    """Return a validator for objects with exactly these keys."""

    def check(value: Any, where: str) -> dict[str, Any]:
        need(isinstance(value, dict), f"{where} must be an object")
        # Missing and unknown keys are both refused: nothing in a file is ignored.
        for name in sorted(set(value) ^ set(rules))[:1]:
            # Names come from the file: escaped and cut, they cannot fake a line of the verdict.
            shown = ascii(name[:40])[1:-1]
            wrong = "is missing" if name in rules else "is unknown"
            need(False, f"{where}.{shown} {wrong}")
        return {
            name: rule(value[name], f"{where}.{name}") for name, rule in rules.items()
        }

    return check


def maybe(rule: Rule) -> Rule:
    """Return a validator for null or what another validator takes."""
    return lambda value, where: None if value is None else rule(value, where)


def kinds(**rules: dict[str, Rule]) -> Rule:
    """Return a validator for objects whose other keys depend on their ``kind``."""

    def check(value: Any, where: str) -> Any:
        kind = value.get("kind") if isinstance(value, dict) else None
        need(isinstance(kind, str) and kind in rules, f"{where}.kind is unknown")
        return record(kind=text, **rules[str(kind)])(value, where)

    return check


def label(value: Any, where: str, depth: int = 0) -> Hashable:
    """Read the label of an answer: a whole number, a text, null, true or false.

    ``{"fraction": "1/2"}`` is a fraction, ``{"float": "0x1.8p+1"}`` a finite float, a list a tuple.
    """
    if isinstance(value, list):
        need(depth < 3 and len(value) <= 1000, f"{where} is too deep or too long")
        return tuple(label(part, where, depth + 1) for part in value)
    if isinstance(value, dict) and list(value) == ["fraction"]:
        exact: Fraction = fraction()(value["fraction"], where)
        need(exact.denominator > 1, f"{where} is a whole number: write it as one")
        return exact
    if isinstance(value, dict) and list(value) == ["float"]:
        try:
            number = float.fromhex(value["float"])
        except (TypeError, ValueError, OverflowError):
            number = inf
        # One spelling per float: the hexadecimal form that Python writes.
        sound = isfinite(number) and number.hex() == value["float"]
        need(sound, f"{where} is no finite float")
        return number
    if isinstance(value, str):
        # A lone surrogate has no UTF-8 form.
        sound = len(value) <= 1000 and not re.search("[\ud800-\udfff]", value)
        need(sound, f"{where} is too long, or no text")
        return value
    need(value is None or type(value) in (bool, int), f"{where} is no label")
    need(type(value) is not int or abs(value) < 1 << 200, f"{where} is too large")
    return value  # type: ignore[no-any-return]


# -- registers ----------------------------------------------------------------------------


class Part:
    """A part of the header that a theorem describes: its fields, sections and conditions."""

    fields: ClassVar[dict[str, Rule]] = {}

    @classmethod
    def check_header(cls, header: Header) -> None:
        """Stop where the rest of the header does not go with this part."""

    @classmethod
    def sections(cls, header: Header, nodes: int, guesses: int) -> Sizes:
        """Return the sections that this part calls for."""
        return {}


class Option(Part):
    """A field of the header that may be null, with the theorem about it."""

    rule: ClassVar[Any]  # the validator of the field

    @classmethod
    def restrict(cls, header: Header, graph: Any) -> Any:
        """Return the part of a question's graph that the weights are for."""
        return graph

    @classmethod
    def restriction_words(cls, header: Header, weights: Any) -> tuple[str, ...]:
        """Return in words what the weights are for, where it is less than the question."""
        return ()

    @classmethod
    def deduction(cls, consumer: Any) -> Fraction:
        """Return what the bound of dual feasible prices loses."""
        return Fraction(0)


PartType = TypeVar("PartType", bound=type[Part])
#: Kinds of weights and of certificates, priors with a name, and fields that may be null.
WEIGHTS: dict[str, Any] = {}
CERTIFICATES: dict[str, Any] = {}
PRIORS: dict[str, dict[str, Rule]] = {}
OPTIONS: dict[str, Any] = {}


def registered(register: dict[str, Any], name: str) -> Callable[[PartType], PartType]:
    """Enter a class into a register, under the name that files have for it."""

    def enter(part: PartType) -> PartType:
        register[name] = part
        return part

    return enter


def present(header: Header) -> list[Any]:
    """Return the optional parts that a header has."""
    return [part for name, part in OPTIONS.items() if header[name] is not None]


# -- the header ---------------------------------------------------------------------------


@lru_cache(maxsize=1)
def header_schema() -> Rule:
    """Return the validator of a header, with what is registered."""

    def fields(register: dict[str, Any]) -> dict[str, dict[str, Rule]]:
        return {name: part.fields for name, part in register.items()}

    # Every number is bounded here: a hostile header cannot ask for much memory or time.
    count = whole(0, 1 << 40)
    number = fraction(0, 60)
    exact = fraction()
    graph = record(
        nodes=whole(1, 1 << 20),
        labels=maybe(listing(label, 1, 1 << 20)),
        edges=whole(0, 1 << 22),
        lengths=listing(number, 1, 1 << 17),
    )
    # Below 2^62, so that entries of a prior fit int64.
    total = {"total": whole(1, 1 << 62)}
    matrix = {"denominator": whole(1, 1 << 1024), "guesses": whole(1, 1 << 24)}
    consumer = record(
        prior=maybe(kinds(uniform={}, listed=total, **PRIORS)),
        support=maybe(kinds(all={}, listed={"count": whole(1, 1 << 31)})),
        loss=kinds(binary={}, absolute={}, squared={}, distance={}, listed=matrix),
        remapped=flag,
    )
    sizes = listing(count, 1, 1 << 20)
    section = record(
        name=text, width=whole(8, 65), count=whole(1, 1 << 40), bytes=sizes
    )
    return record(
        query=maybe(text),
        neighbours=word("change-one", "add-remove", "either"),
        graph=maybe(graph),
        epsilon=record(multiple=fraction(0, 210), base=maybe(fraction(1, 210))),
        ratios=listing(fraction(0), 1, 1 << 17),
        weights=kinds(**fields(WEIGHTS)),
        outputs=maybe(listing(label, 1, 1 << 20)),
        consumer=maybe(consumer),
        expected_loss=maybe(exact),
        certificate=maybe(kinds(**fields(CERTIFICATES))),
        bound=maybe(exact),
        sections=listing(section, 0, 20),
        **{name: maybe(part.rule) for name, part in OPTIONS.items()},
    )


def check_header(raw: Any) -> dict[str, Any]:
    """Return the header with its numbers read; refuse parts that do not go together."""
    header: dict[str, Any] = header_schema()(raw, "header")
    own = header["graph"]
    consumer = header["consumer"]
    certificate = header["certificate"]
    weights = WEIGHTS[header["weights"]["kind"]]
    proof = None if certificate is None else CERTIFICATES[certificate["kind"]]
    one = (header["query"] is None) == (own is not None)
    need(one, "a file names a question or holds a graph of its own, one of the two")
    lengths = [Fraction(1)] if own is None else own["lengths"]
    fits = len(lengths) == len(header["ratios"])
    need(fits, "there must be one ratio for each edge length")
    # Length 1 comes first, then the others: the first ratio belongs to ε itself.
    first, *others = lengths
    # No set of them: numbers can be chosen such that it takes quadratic time.
    rising = all(a < b for a, b in pairwise(others))
    ordered = "lengths are 1 and then the others in increasing order"
    need(first == 1 and rising and 1 not in others, ordered)
    stated = (consumer is None) == (header["expected_loss"] is None)
    need(stated, "a loss belongs to a consumer")
    stated = (certificate is None) == (header["bound"] is None)
    need(stated, "a bound belongs to a certificate")
    whose = consumer is not None or (certificate is None and header["limit"] is None)
    need(whose, "a certificate or a limit needs the consumer whose loss it is about")
    fits = proof is None or proof.on_lattice == weights.on_lattice
    need(fits, "noise on a lattice has certificates of its own")
    if consumer is not None:
        averse = consumer["support"] is not None
        # A risk-averse consumer has a prior only where the proof needs one.
        known = not averse or (proof is not None and proof.needs_prior)
        need((consumer["prior"] is not None) == known, "the consumer needs a prior")
    for part in (weights, *OPTIONS.values()):
        part.check_header(header)
    return header


def section_table(header: Header, nodes: int) -> Sizes:
    """Return the sections that a header calls for, from the sizes that it states."""
    own = header["graph"] or {"edges": 0, "lengths": [1]}
    weights = header["weights"]
    consumer = header["consumer"] or {}
    proof = header["certificate"]
    guesses = consumer.get("loss", {}).get("guesses", nodes)
    outputs = weights.get("outputs", nodes)
    rows = nodes if header["window"] is None else header["window"]["size"]
    lengths = len(own["lengths"])

    def listed(part: str) -> bool:
        stated = consumer.get(part) or {}
        return stated.get("kind") == "listed"

    # Noise on a lattice lists guesses only for the outputs at the ends.
    named = (proof or {}).get("ends", outputs) if consumer.get("remapped") else 0
    table: Sizes = {
        "edges": (2 * own["edges"], 0, nodes),
        "edge_lengths": (own["edges"] * (lengths > 1), 0, lengths),
        "prior": (rows * listed("prior"), 0, 1 << 62),
        "support": (consumer["support"]["count"] if listed("support") else 0, 0, nodes),
        "loss": (nodes * guesses * listed("loss"), -WIDE, WIDE),
        "guess_of": (named, 0, guesses),
    }
    parts = [WEIGHTS[weights["kind"]], *present(header)]
    parts += [] if proof is None else [CERTIFICATES[proof["kind"]]]
    for part in parts:
        table |= part.sections(header, nodes, guesses)
    # Sections of length 0 are absent.
    return {name: size for name, size in table.items() if size[0]}


# -- the file -----------------------------------------------------------------------------


class Contents:
    """A header and sections of integers in memory; a :class:`File` reads them when asked."""

    def __init__(self, raw: dict[str, Any], sections: dict[str, Array]) -> None:
        self.raw_header = raw
        self.sections = sections
        self.header = check_header({**raw, "sections": []})

    def section(self, name: str) -> Array:
        """Return a section, in int64 where its range or its width allow it."""
        return self.sections[name].ravel()

    def columns(self, nodes: int) -> Iterator[Array]:
        """Yield the section of weights in blocks of whole columns, one row for each answer."""
        yield self.sections["weights"].reshape(-1, nodes).T


class File(Contents):
    """The bytes: magic, version, header, compressed sections of integers, SHA-256 digest."""

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        self.data = source if isinstance(source, bytes) else _read_whole(source)
        size = len(self.data)
        head = self.data[:16]
        need(size >= 48, f"not a mechanism file: it is only {size} bytes long")
        need(
            head[:10] == MAGIC, "not a mechanism file: it does not start with its mark"
        )
        known = head[10:12] == VERSION.to_bytes(2, "little")
        need(known, "unknown version of the format")
        # Bytes 12 … 15: the length of the header, little-endian.
        length = int.from_bytes(head[12:], "little")
        fits = length <= min(1 << 24, size - 48)
        need(fits, "the header is longer than the file allows")
        self.raw_header = _parse_canonical(self.data[16 : 16 + length])
        self.header = check_header(self.raw_header)
        self.table: Sizes = {}
        self.places: dict[str, tuple[dict[str, Any], int]] = {}
        place = 16 + length
        for part in self.header["sections"]:
            name = part["name"]
            need(part["width"] % 8 == 0, "integers have 8, 16, … 64 bytes")
            need(name not in self.places, f"the section {name!r} comes twice")
            self.places[name] = (part, place)
            place += sum(part["bytes"])
        # 32 bytes of digest follow the sections; the sizes must account for every byte.
        lacks = place + 32 - size
        need(lacks <= 0, f"the file is truncated: {lacks} bytes are missing")
        need(lacks == 0, f"the file has {-lacks} bytes too many")

    def digest(self) -> tuple[str, str]:
        """Return the digest of the bytes and the digest that the file states."""
        body = memoryview(self.data)[:-32]
        return hashlib.sha256(body).hexdigest(), self.data[-32:].hex()

    def expect(self, nodes: int) -> None:
        """Check that the sections are those the header calls for, of the right lengths."""
        self.table = section_table(self.header, nodes)
        for name in sorted(set(self.table) ^ set(self.places))[:1]:
            wrong = "is missing" if name in self.table else "has no meaning"
            need(False, f"the section {name!r} {wrong}")
        held = 0
        for name, (count, low, high) in self.table.items():
            part = self.places[name][0]
            fits = part["count"] == count
            need(fits, f"the section {name!r} must have {count} numbers")
            narrow = low >= -1 << 62 and high <= (1 << 62) + 1
            # Numbers within 62 bits have one form only: 8 bytes.
            need(part["width"] == 8 or not narrow, f"integers of {name!r} have 8 bytes")
            chunks = -(-count // section_chunk(name, nodes))
            fits = chunks == len(part["bytes"])
            need(fits, f"the section {name!r} has too few or many chunks")
            # Read in pieces and joined; numbers that may be wide become Python integers.
            if name != "weights":  # which are read block by block
                held += count * (24 if narrow and low >= 0 else 60 + part["width"])
        need_work("the sections", 0, 0, held)

    def pieces(self, name: str, nodes: int = 1) -> Iterator[Array]:
        """Yield a section chunk by chunk: int64, or Python integers when they are wider."""
        part, place = self.places[name]
        _, low, high = self.table[name]
        width = part["width"]
        left = part["count"]
        for packed in part["bytes"]:
            size = min(left, section_chunk(name, nodes)) * width
            # zlib cannot shrink by more than 1032 : 1, so nothing is unpacked for a false claim.
            fits = size <= 1100 * packed + 1100
            need(fits, f"the section {name!r} cannot hold what it claims")
            worker = zlib.decompressobj()
            try:
                # One byte more than claimed is enough to detect a longer chunk.
                raw = worker.decompress(self.data[place : place + packed], size + 1)
            except zlib.error:
                raise Refused(f"the section {name!r} is damaged") from None
            ended = len(raw) == size and worker.eof and not worker.unused_data
            need(ended, f"the section {name!r} does not hold what it claims")
            place += packed
            left -= size // width
            numbers: Array
            if width == 8:
                numbers = np.frombuffer(raw, "<i8").astype(np.int64)
            else:
                cuts = (raw[at : at + width] for at in range(0, size, width))
                signed = [int.from_bytes(cut, "little", signed=True) for cut in cuts]
                numbers = np.array(signed, object)
            sound = numbers.min() >= low and numbers.max() < high
            need(sound, f"the section {name!r} has numbers out of range")
            yield numbers

    def section(self, name: str) -> Array:
        """Return a section that :meth:`expect` found sound, with its numbers in their range."""
        return np.concatenate(list(self.pieces(name)))

    def columns(self, nodes: int) -> Iterator[Array]:
        """Yield the section of weights in blocks of whole columns, one row for each answer."""
        yield from (
            piece.reshape(-1, nodes).T for piece in self.pieces("weights", nodes)
        )


def section_chunk(name: str, nodes: int) -> int:
    """Return how many integers one chunk of a section holds."""
    return max(1, CHUNK // nodes) * nodes if name == "weights" else CHUNK


def _read_whole(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file, read at once: what is hashed is what is checked."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would block
        raise OSError(22, "this is not a regular file", os.fspath(path))
    large = "too large: a mechanism file has at most 2^30 bytes"
    need(os.path.getsize(path) <= 1 << 30, large)
    with open(path, "rb") as stream:
        return stream.read()


def _parse_canonical(written: bytes) -> Any:
    """Return the JSON of a header: sorted keys, no spaces, no floats, no key twice."""
    try:
        raw = json.loads(written, parse_float=_no_float, parse_constant=_no_float)
        # Serialised again: repeated keys, spaces or another order change the bytes.
        again = json.dumps(raw, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        message = "the header is not JSON of whole numbers, of a reasonable size"
        raise Refused(message) from None
    need(again == written, "the header is not in canonical form")
    return raw


def _no_float(number: str) -> Any:
    raise ValueError(number)
