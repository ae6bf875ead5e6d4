#!/usr/bin/env python3
r"""Check a mechanism file in integers: whose question it answers, privacy, loss, optimality.

* *Question.* A file for a named question holds no graph: the judge derives answers, labels and
  neighbours from the text and the neighbour relation. Only a graph of one's own travels in the
  file; then privacy is proved on that graph, and no question is named.
* *Ratio.* For every edge length l the file names p/q, and p/q is at most exp(ε·l).
* *Rows.* Every row of weights is non-negative and sums to 2^bits.
* *Privacy.* ``W[i,o]·q <= W[h,o]·p`` for neighbours i ~ h and every output o.
* *Loss.* The expected loss that the file states is the loss of these weights.
* *Optimality.* No private mechanism, with whatever outputs, has a loss below the bound: for
  every guess k the file gives multipliers m >= 0 on arcs such that, for all i,
  ``π_i·loss(i,k) - λ_i >= Σ_h m(h→i) - α·Σ_h m(i→h)``. A private column x has
  ``x_h >= α·x_i``, so ``Σ_i (π_i·loss(i,k) - λ_i)·x_i >= Σ m(i→h)·(x_h - α·x_i) >= 0``;
  summed over the columns of a mechanism its loss is at least ``Σ λ_i``. On a *tree* the
  multipliers need not be listed: from the leaves on, every answer hands what it has left to the
  next one towards a root; on a *line* this is summed up for all guesses at once. For binary loss
  y >= 0 with ``Σ_i y_i·α^d(i,k) >= π_k`` (*phi*) does the same: ``π_k·x_k <= Σ_i y_i·x_i``. There
  the prices are -y, and the bound is 1 more than their sum.
  On a tree so does the *envelope* v, the least v >= π with ``v_h >= α·v_i`` on edges: with
  Φ[i,h] = α^d(i,h) and y = Φ⁻¹v, seen from any k,
  ``Σ_i y_i·x_i = v_k·x_k + Σ (v_c - α·v_p)·(x_c - α·x_p)/(1 - α²)`` over children c and parents p,
  and the sum of y is ``Σ_j v_j·(1 - (deg_j - 1)·α)/(1 + α)``. A risk-averse consumer loses at least
  as much as under any prior over the possible answers, so there the file names such a prior.
* *Slack.* A file may name δ beside ε. Then ``Σ_o max(0, W[i,o]·q - W[h,o]·p) <= δ·q·2^bits`` for
  neighbours. A column has ``x_h >= α·(x_i - e)`` with some e >= 0 that sum to at most δ over the
  columns, so the bound is ``Σ λ_i - α·δ·Σ max_k m_k``, summed over the arcs.
  On a power of a path, where neighbours differ by at most v, *stairs* name a core for every
  guess. From both ends towards it, what an answer has left over pays for answers up to v nearer
  to the core, at α a piece: first those it must, and what is left at last goes to the one v
  nearer. The answers of the core are paid from both sides.
* *Window.* A file may hold a mechanism for the answers start … start + size - 1 alone: an answer
  before them counts as the first, one behind them as the last. That moves no two answers further
  apart, so what is private on the window is private. The prior must lie in the window; a private
  column restricted to it is private there, and a guess outside costs no less than the nearest
  one inside, so the bound of the window is one for the question.
* *Limit.* An attacker who gains a_w(i) by doing w under answer i gains ``V = Σ_x max_w a_w·x``
  over the outputs x, which the file states. Under a limit on V the proof names θ >= 0 and for
  each guess k choices q_k(w) >= 0 of sum θ, and adds ``Σ_w q_k(w)·a_w(i)`` to the costs
  ``π_i·loss(i,k)``: summed over the columns that is at most θ·V, so the loss of a mechanism with
  ``V <= v`` is at least ``Σ λ_i - θ·v``. Under a limit on the loss, V is least: there the costs
  are counted θ times and the choices sum to 1.

Weights are a matrix (``dense``) or a rule (``levels``): ``W[i,o] = w[d(i,o)]·Z[o]``, and what
is missing to 2^bits goes to one output. The rule is private when w falls by no more than p/q
over the distance that one edge can make, and the missing part does not vary by more than p/q
between any two rows: a sum of private columns is private. On cycles and Hamming graphs, where
all answers look alike, ``W[i,o] = w[d(i,o)]`` alone is a rule (``radial``).

* *Scores.* A file for ``commonest(c)`` or ``quantile(t/D,c)`` holds no matrix: it is read off the
  counts of c values. Of a value at gap g (its score is g below the best) the weight is w_g, with
  ``w_0 = 2^bits`` and ``w_{g+1} = ⌈w_g·q/p⌉``. Each value is accepted with probability
  f = w/2^bits, and the first accepted one in a random order is the output (permute-and-flip,
  McKenna and Sheldon 2020). So ``P(r) = f_r·∫_0^1 Π_{s≠r} (1 - v·f_s) dv``. One person moves two
  scores apart by at most T steps (:func:`score_question`). If the gap of r grows by t >= 0, f_r
  falls to no less than ``(q/p)^t`` of it, and the gaps of the others fall by at most T - t, so
  their f grow to at most c = (p/q)^(T-t) times: ``∫_0^1 Π(1 - v·f'_s) dv >=
  ∫_0^(1/c) Π(1 - v·c·f_s) dv = 1/c·∫_0^1 Π(1 - u·f_s) du``. If it shrinks, f_r grows, and the same
  holds for t = 0. So P falls by at most ``(p/q)^T <= exp(ε)``.

This file needs Python 3.11 and NumPy, nothing else: ``python verify_mechanism.py FILE``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import zlib
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, combinations, pairwise, permutations
from math import ceil, comb, inf, isfinite, lcm, log2, nextafter, prod
from operator import mul
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Rule = Callable[[Any, str], Any]
MAGIC, VERSION = b"\x89tightrope", 3
MASK = (1 << 31) - 1  # the lower limb of a product
CHUNK = 1 << 20  # integers in one compressed chunk; of weights, whole columns up to this


class Refused(ValueError):
    """Why a file is not checked any further."""


def need(holds: bool, message: str) -> None:
    """Stop with a message unless a condition holds."""
    if not holds:
        raise Refused(message)


def need_work(what: str, steps: int, nanoseconds: float = 10, size: int = 0) -> None:
    """Stop before a piece of work that takes more than 20 seconds or 1.5 GB on one core."""
    much = f"too large: {what}, of {steps} steps and {size} bytes, is more than the judge takes on"
    need(steps * nanoseconds <= 2e10 and size <= 3 << 29, much)


# -- the header: what may stand in it -----------------------------------------------------


def taken(what: str, sound: Callable[[Any], bool]) -> Rule:
    """Take what a condition holds for, and say of anything else what it must be."""

    def rule(value: Any, where: str) -> Any:
        need(sound(value), f"{where} must be {what}")
        return value

    return rule


def whole(low: int, high: int) -> Rule:
    """Take a whole number in ``low <= x < high``."""
    what = f"a whole number from {low} to below 2^{high.bit_length()}"
    return taken(what, lambda value: type(value) is int and low <= value < high)


def fraction(above: int | None = None, digits: int = 1300) -> Rule:
    """Take an exact number in lowest terms, ``"3"`` or ``"3/4"``."""
    form = re.compile(rf"-?(0|[1-9][0-9]{{0,{digits - 1}}})(/[1-9][0-9]{{0,{digits - 1}}})?")

    def rule(value: Any, where: str) -> Fraction:
        sound = isinstance(value, str) and form.fullmatch(value) is not None
        need(sound, f"{where} must be an exact number such as 3/4, of at most {digits} digits")
        found = Fraction(value)
        need(str(found) == value, f"{where} must be in lowest terms")
        need(above is None or found > above, f"{where} must be larger than {above}")
        return found

    return rule


def word(*allowed: str) -> Rule:
    """Take one of several words."""
    return taken(" or ".join(allowed), lambda value: value in allowed)


# A line break would let a file write lines of its own into the verdict.
text = taken(
    "a short text in one line",
    lambda value: isinstance(value, str) and 0 < len(value) <= 1000 and value.isprintable(),
)
flag = taken("true or false", lambda value: isinstance(value, bool))


def listing(rule: Rule, least: int, most: int) -> Rule:
    """Take a list of things of one kind."""

    def check(value: Any, where: str) -> list[Any]:
        sound = isinstance(value, list) and least <= len(value) <= most
        need(sound, f"{where} must be a list of {least} to {most}")
        return [rule(part, f"{where}[{at}]") for at, part in enumerate(value)]

    return check


def record(**rules: Rule) -> Rule:
    """Take an object with exactly these keys."""

    def check(value: Any, where: str) -> dict[str, Any]:
        need(isinstance(value, dict), f"{where} must be an object")
        for name in sorted(set(value) ^ set(rules))[:1]:
            told = ascii(name[:40])[1:-1]
            need(False, f"{where}.{told} {'is missing' if name in rules else 'is unknown'}")
        return {name: rule(value[name], f"{where}.{name}") for name, rule in rules.items()}

    return check


def maybe(rule: Rule) -> Rule:
    """Take null, or what a rule says."""
    return lambda value, where: None if value is None else rule(value, where)


def kinds(**rules: dict[str, Rule]) -> Rule:
    """Take an object whose other keys depend on its ``kind``."""

    def check(value: Any, where: str) -> dict[str, Any]:
        kind = value.get("kind") if isinstance(value, dict) else None
        need(isinstance(kind, str) and kind in rules, f"{where}.kind is unknown")
        found: dict[str, Any] = record(kind=text, **rules[str(kind)])(value, where)
        return found

    return check


def label(value: Any, where: str, depth: int = 0) -> Hashable:
    """Read the label of an answer: a whole number, a text, null, true or false.

    ``{"fraction": "1/2"}`` is a fraction, ``{"float": "0x1.8p+1"}`` a finite float, a list a tuple.
    """
    if isinstance(value, list):
        need(depth < 3 and len(value) <= 1000, f"{where} is too deep or too long")
        return tuple(label(part, where, depth + 1) for part in value)
    if isinstance(value, dict) and list(value) == ["fraction"]:
        found = fraction()(value["fraction"], where)
        need(found.denominator > 1, f"{where} is a whole number: write it as one")
        return found  # type: ignore[no-any-return]
    if isinstance(value, dict) and list(value) == ["float"]:
        try:
            number = float.fromhex(value["float"])
        except (TypeError, ValueError, OverflowError):
            number = inf
        need(isfinite(number) and number.hex() == value["float"], f"{where} is no finite float")
        return number
    if isinstance(value, str):
        sound = len(value) <= 1000 and not re.search("[\ud800-\udfff]", value)
        need(sound, f"{where} is too long, or no text")
        return value
    need(value is None or type(value) in (bool, int), f"{where} is no label")
    need(type(value) is not int or abs(value) < 1 << 200, f"{where} is too large")
    return value  # type: ignore[no-any-return]


@lru_cache
def header_rule() -> Rule:
    """Say what may stand in a header."""
    count, wide, number, exact = whole(0, 1 << 40), whole(1, 1 << 1024), fraction(0, 60), fraction()
    named, bits, weight = {"number": number}, {"bits": whole(1, 401)}, maybe(whole(0, 1 << 512))
    levels = {"bits": whole(0, 481), "levels": listing(whole(1, 1 << 480), 1, 1 << 17)}
    graph = record(
        nodes=whole(1, 1 << 20),
        labels=maybe(listing(label, 1, 1 << 20)),
        edges=whole(0, 1 << 22),
        lengths=listing(number, 1, 1 << 17),
    )
    weights = kinds(
        dense={"bits": whole(0, 481), "outputs": whole(1, 1 << 31)},
        levels=levels | {"steps": listing(whole(1, 1 << 40), 1, 64), "rest": count},
        radial=levels,
        lattice={"bits": whole(1, 4001), "start": whole(1, 1 << 4000), "core": whole(0, 1 << 60)},
        scores={"bits": whole(40, 63)},
    )
    total = {"total": whole(1, 1 << 62)}
    prior = kinds(uniform={}, listed=total, binomial=named, geometric=named, poisson=named)
    matrix = {"denominator": wide, "guesses": whole(1, 1 << 24)}
    consumer = record(
        prior=maybe(prior),
        support=maybe(kinds(all={}, listed={"count": whole(1, 1 << 31)})),
        loss=kinds(binary={}, absolute={}, squared={}, distance={}, listed=matrix),
        remapped=flag,
    )
    limit = record(
        limited=word("loss", "vulnerability"),
        most=exact,
        vulnerability=exact,
        attacker=kinds(guesser={}, listed={"actions": whole(1, 1 << 24), "denominator": wide}),
    )
    many, step = whole(1, 1 << 20), whole(1, 1 << 40)
    certificate = kinds(
        multipliers=bits | {"arcs": count, "weight": weight},
        tree=bits | {"weight": weight},
        line=bits,
        stairs=bits,
        phi=bits | {"constant": flag},
        envelope=bits,
        unbounded={"slope": fraction(0, 30)},
        stretched={"bits": whole(1, 61), "ends": many, "layers": many, "stride": step},
    )
    sizes = listing(count, 1, 1 << 20)
    section = record(name=text, width=whole(8, 65), count=whole(1, 1 << 40), bytes=sizes)
    return record(
        query=maybe(text),
        neighbours=word("change-one", "add-remove", "either"),
        graph=maybe(graph),
        epsilon=record(multiple=fraction(0, 210), base=maybe(fraction(1, 210))),
        delta=maybe(fraction(0, 210)),
        ratios=listing(fraction(0), 1, 1 << 17),
        weights=weights,
        outputs=maybe(listing(label, 1, 1 << 20)),
        window=maybe(record(start=whole(0, 1 << 62), size=whole(1, 1 << 31))),
        consumer=maybe(consumer),
        expected_loss=maybe(exact),
        limit=maybe(limit),
        certificate=maybe(certificate),
        bound=maybe(exact),
        sections=listing(section, 0, 20),
    )


def check_header(told: Any) -> dict[str, Any]:
    """Return the header with its numbers read; whatever does not belong together is refused."""
    found: dict[str, Any] = header_rule()(told, "header")
    own, window, delta, limit = (found[name] for name in ("graph", "window", "delta", "limit"))
    consumer, certificate = found["consumer"], found["certificate"]
    weights, proof = found["weights"]["kind"], certificate and certificate["kind"]
    one = (found["query"] is None) == (own is not None)
    need(one, "a file names a question or holds a graph of its own, one of the two")
    lengths = [Fraction(1)] if own is None else own["lengths"]
    need(len(lengths) == len(found["ratios"]), "there must be one ratio for each edge length")
    rising = lengths[0] == 1 and all(a < b for a, b in pairwise(lengths[1:]))
    need(rising and 1 not in lengths[1:], "lengths are 1 and then the others in increasing order")
    plain = weights == "dense" and limit is None and proof in (None, "multipliers")
    sound = delta is None or (plain and delta < 1)
    need(sound, "δ < 1 goes with listed weights and with multipliers")
    need((consumer is None) == (found["expected_loss"] is None), "a loss belongs to a consumer")
    need((certificate is None) == (found["bound"] is None), "a bound belongs to a certificate")
    whose = consumer is not None or (certificate is None and limit is None)
    need(whose, "a certificate or a limit needs the consumer whose loss it is about")
    named = proof is None or (proof in ("unbounded", "stretched")) == (weights == "lattice")
    need(named, "noise on a lattice has certificates of its own")
    single = window is None or weights not in ("lattice", "scores") or proof == "stretched"
    need(single, "a window is for weights of single answers, or for the prior of noise on a line")
    parts = (consumer, found["outputs"], own, found["sections"] or None)
    bare = weights != "scores" or all(part is None for part in parts)
    need(bare, "scores have a question, and neither lists nor a consumer")
    weighed = certificate is not None and certificate.get("weight") is not None
    sound = certificate is None or weighed == (limit is not None)
    need(sound, "the weight of a limit belongs to a limit, with multipliers or a tree")
    if consumer is not None:
        prior, averse = consumer["prior"], consumer["support"] is not None
        law = None if prior is None else prior["kind"]
        known = proof not in (None, "unbounded") or not averse
        need((prior is not None) == known, "the consumer needs a prior")
        need(limit is None or not averse, "a limit is for a prior")
        # Of answers outside a window nothing may be said but that they are impossible.
        alone = law not in (None, "uniform") and not averse and limit is None
        sound = window is None or (alone and consumer["loss"]["kind"] != "listed")
        need(sound, "a window is for a prior of its own and a loss with a name")
        inside = window is not None or law in (None, "uniform", "listed")
        need(inside, "a prior by its name lies in a window")
    return found


def section_table(header: Mapping[str, Any], nodes: int) -> dict[str, tuple[int, int, int]]:
    """Return the sections that a header calls for: how many numbers, in which range."""

    def listed(part: Mapping[str, Any] | None) -> bool:
        return part is not None and part["kind"] == "listed"

    own = header["graph"] or {"edges": 0, "lengths": [1]}
    weights, limit, proof = header["weights"], header["limit"] or {}, header["certificate"] or {}
    consumer = header["consumer"] or {"prior": None, "support": None, "loss": {"kind": "binary"}}
    loss, support, attacker = consumer["loss"], consumer["support"], limit.get("attacker")
    kind, arcs, ends = proof.get("kind", ""), proof.get("arcs", 0), proof.get("ends", 0)
    outputs, guesses = weights.get("outputs", nodes), loss.get("guesses", nodes)
    actions, lengths, wide = (attacker or {}).get("actions", nodes), len(own["lengths"]), 1 << 511
    rows = nodes if header["window"] is None else header["window"]["size"]
    priced = {"envelope": 0, "unbounded": 0, "": 0, "stretched": ends}.get(kind, nodes)
    priced = 1 if proof.get("constant") else priced
    price = {"phi": (-1 << 62, 1), "stretched": (-1 << 61, 1 << 61)}.get(kind, (-wide, wide))
    places = {
        "tree": (guesses, 0, nodes),
        "line": (nodes - 1, 0, nodes + 1),
        "stairs": (2 * guesses, 0, nodes),
        "stretched": (2 * ends, 0, 2 * nodes),
    }
    table = {
        "edges": (2 * own["edges"], 0, nodes),
        "edge_lengths": (own["edges"] * (lengths > 1), 0, lengths),
        "weights": (nodes * outputs * (weights["kind"] == "dense"), 0, (1 << weights["bits"]) + 1),
        "factors": (nodes * (weights["kind"] == "levels"), 0, 1 << 100),
        "prior": (rows * listed(consumer["prior"]), 0, 1 << 62),
        "support": (support["count"] if listed(support) else 0, 0, nodes),
        "loss": (nodes * guesses * listed(loss), -wide, wide),
        "guess_of": ((ends or outputs) * consumer.get("remapped", False), 0, guesses),
        "attack": (actions * nodes * listed(attacker), -wide, wide),
        "choices": (guesses * actions * (attacker is not None and kind != ""), 0, wide),
        "prices": (priced, *price),
        "places": places.get(kind, (0, 0, 0)),
        "arc_guess": (arcs, 0, guesses),
        "arc_from": (arcs, 0, nodes),
        "arc_to": (arcs, 0, nodes),
        "arc_value": (arcs, 0, wide),
    }
    return {name: part for name, part in table.items() if part[0]}


# -- the file -----------------------------------------------------------------------------


class Contents:
    """A header and sections of integers, in memory; a :class:`File` reads them when asked."""

    def __init__(self, told: dict[str, Any], sections: dict[str, Array]) -> None:
        self.told, self.sections = told, sections
        self.header = check_header({**told, "sections": []})

    @cached_property
    def alphas(self) -> list[int]:
        """α' of every edge length, after its ratio was checked."""
        return check_ratios(self.header)

    def whole(self, name: str) -> Array:
        """Return a section, in int64 where its range or its width allow it."""
        return self.sections[name].ravel()

    def columns(self, nodes: int) -> Iterator[Array]:
        """Yield the section of weights in blocks of whole columns, one row for each answer."""
        yield self.sections["weights"].reshape(-1, nodes).T


class File(Contents):
    """The bytes: magic, version, header, compressed sections of integers, SHA-256 digest."""

    def __init__(self, source: str | os.PathLike[str] | bytes) -> None:
        if isinstance(source, bytes):
            self.data = source
        else:
            if os.path.exists(source) and not os.path.isfile(source):  # a pipe would be waited for
                raise OSError(22, "this is not a regular file", os.fspath(source))
            small = os.path.getsize(source) <= 1 << 30
            need(small, "too large: a mechanism file has at most 2^30 bytes")
            with open(source, "rb") as stream:  # at once: what is hashed is what is checked
                self.data = stream.read()
        size, head = len(self.data), self.data[:16]
        need(size >= 48, f"not a mechanism file: it is only {size} bytes long")
        need(head[:10] == MAGIC, "not a mechanism file: it does not start with its mark")
        need(int.from_bytes(head[10:12], "little") == VERSION, "unknown version of the format")
        length = int.from_bytes(head[12:], "little")
        need(length <= min(1 << 24, size - 48), "the header is longer than the file allows")
        written = self.data[16 : 16 + length]
        try:
            self.told = json.loads(written, parse_float=_no_float, parse_constant=_no_float)
            again = json.dumps(self.told, sort_keys=True, separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            raise Refused("the header is not JSON of whole numbers, of a reasonable size") from None
        need(again == written, "the header is not in canonical form")
        self.header = check_header(self.told)
        self.table: dict[str, tuple[int, int, int]] = {}
        self.places: dict[str, tuple[dict[str, Any], int]] = {}
        place = 16 + length
        for part in self.header["sections"]:
            need(part["width"] % 8 == 0, "integers have 8, 16, … 64 bytes")
            need(part["name"] not in self.places, f"the section {part['name']!r} comes twice")
            self.places[part["name"]] = (part, place)
            place += sum(part["bytes"])
        lacks = place + 32 - size
        need(lacks <= 0, f"the file is truncated: {lacks} bytes are missing")
        need(lacks == 0, f"the file has {-lacks} bytes too many")

    def digest(self) -> tuple[str, str]:
        """Return the digest of the bytes and the digest that the file states."""
        return hashlib.sha256(memoryview(self.data)[:-32]).hexdigest(), self.data[-32:].hex()

    def expect(self, nodes: int) -> None:
        """Check that the sections are those the header calls for, of the right lengths."""
        self.table = section_table(self.header, nodes)
        for name in sorted(set(self.table) ^ set(self.places))[:1]:
            missing = name in self.table
            need(False, f"the section {name!r} {'is missing' if missing else 'has no meaning'}")
        held = 0
        for name, (count, low, high) in self.table.items():
            part = self.places[name][0]
            need(part["count"] == count, f"the section {name!r} must have {count} numbers")
            narrow = low >= -1 << 62 and high <= (1 << 62) + 1
            need(part["width"] == 8 or not narrow, f"integers of {name!r} have 8 bytes")
            held += count * (8 if part["width"] == 8 else 80) if name != "weights" else 0
            chunk = section_chunk(name, nodes)
            chunks = -(-count // chunk)
            need(chunks == len(part["bytes"]), f"the section {name!r} has too few or many chunks")
        need_work("the sections", 0, 0, held)

    def pieces(self, name: str, nodes: int = 1) -> Iterator[Array]:
        """Yield a section chunk by chunk: int64, or Python integers when they are wider."""
        part, place = self.places[name]
        _, low, high = self.table[name]
        width, left = part["width"], part["count"]
        for packed in part["bytes"]:
            size = min(left, section_chunk(name, nodes)) * width
            # zlib cannot shrink by more than 1032 : 1, so nothing is unpacked for a false claim.
            need(size <= 1100 * packed + 1100, f"the section {name!r} cannot hold what it claims")
            worker = zlib.decompressobj()
            try:
                raw = worker.decompress(self.data[place : place + packed], size + 1)
            except zlib.error:
                raise Refused(f"the section {name!r} is damaged") from None
            whole = len(raw) == size and worker.eof and not worker.unused_data
            need(whole, f"the section {name!r} does not hold what it claims")
            place, left = place + packed, left - size // width
            if width == 8:
                found: Array = np.frombuffer(raw, "<i8").astype(np.int64)
            else:
                cut = (raw[at : at + width] for at in range(0, size, width))
                found = np.array([int.from_bytes(c, "little", signed=True) for c in cut], object)
            sound = found.min() >= low and found.max() < high
            need(sound, f"the section {name!r} has numbers out of range")
            yield found

    def whole(self, name: str) -> Array:
        """Return a section that :meth:`expect` found sound, with its numbers in their range."""
        return np.concatenate(list(self.pieces(name)))

    def columns(self, nodes: int) -> Iterator[Array]:
        """Yield the section of weights in blocks of whole columns, one row for each answer."""
        yield from (piece.reshape(-1, nodes).T for piece in self.pieces("weights", nodes))


def section_chunk(name: str, nodes: int) -> int:
    """Return how many integers one chunk of a section holds."""
    return max(1, CHUNK // nodes) * nodes if name == "weights" else CHUNK


def _no_float(told: str) -> Any:
    raise ValueError(told)


# -- exp(ε), from below and above ---------------------------------------------------------


@lru_cache(maxsize=16)
def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(x) for 0 < x <= 700: halve x, sum the series in integers, square again.

    >>> low, high = exp_bounds(Fraction(1))
    >>> float(low), high - low < Fraction(1, 10**60)
    (2.718281828459045, True)
    """
    halvings = ceil(x).bit_length()
    y, one = x / 2**halvings, 1 << 320
    total = term = one
    terms = 0
    while term:  # a term is short by less than 2 units, and so is the rest of the series
        terms += 1
        term = term * y.numerator // (y.denominator * terms)
        total += term
    low, high = total, total + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low // one, -(-high * high // one)
    return Fraction(low, one), Fraction(high, one)


@lru_cache(maxsize=16)
def ln_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound ln(x) for x > 1: take out powers of 2, then 2·artanh((x-1)/(x+1)).

    >>> low, high = ln_bounds(Fraction(10))
    >>> float(low), high - low < Fraction(1, 10**60)
    (2.302585092994046, True)
    """
    twos = max(0, x.numerator.bit_length() - x.denominator.bit_length() - 1)
    x /= 2**twos
    one, low, terms = 1 << 400, 0, 0
    for times, y in ((2, (x - 1) / (x + 1)), (2 * twos, Fraction(1, 3))):
        power, odd = one * y.numerator // y.denominator, 1
        while power:
            low += times * (power // odd)
            power, odd, terms = power * y.numerator**2 // y.denominator**2, odd + 2, terms + times
    return Fraction(low, one), Fraction(low + 3 * terms + 3 + 3 * twos, one)


def level_bounds(multiple: Fraction, base: Fraction | None, ratio: Fraction) -> tuple[bool, int]:
    """Whether p/q <= exp(ε), and α' = ⌊2^62·exp(-ε)⌋.

    >>> level_bounds(Fraction(1), Fraction(2), Fraction(2)) == (True, 2**61)
    True
    >>> level_bounds(Fraction(1), None, Fraction(2718281829, 10**9))[0]
    False
    """
    power, root = multiple.numerator, multiple.denominator
    below, above = (Fraction(1), Fraction(1)) if base is None else ln_bounds(base)
    if multiple * above > 600:  # e^599 from below, 0 from above: both are safe
        return ratio <= exp_bounds(Fraction(599))[0], 0
    top = 0 if base is None else base.numerator.bit_length() * power
    short = max(ratio.numerator.bit_length() * root, top) <= 1 << 14
    if base is not None and short and ratio**root == base**power:
        return True, (ratio.denominator << 62) // ratio.numerator
    low, high = exp_bounds(multiple * below)[0], exp_bounds(multiple * above)[1]
    return ratio <= low, (high.denominator << 62) // high.numerator


def check_ratios(header: Mapping[str, Any]) -> list[int]:
    """Check 1 <= p/q <= exp(ε·length) for every length; return α' for each."""
    multiple, base = header["epsilon"]["multiple"], header["epsilon"]["base"]
    lengths = [Fraction(1)] if header["graph"] is None else header["graph"]["lengths"]
    if header["weights"]["kind"] == "scores":
        lengths = [Fraction(1, score_question(header["query"], header["neighbours"])[2])]
    low, high = (Fraction(1), Fraction(1)) if base is None else ln_bounds(base)
    sound = multiple * low >= Fraction(1, 10**12) and multiple * high <= 500
    need(sound, "ε must be between 1e-12 and 500")
    need_work("exp(ε·length) of every length", len(lengths), 150_000)
    alphas = []
    for length, ratio in zip(lengths, header["ratios"], strict=True):
        sound, alpha = level_bounds(multiple * length, base, ratio)
        need(ratio >= 1 and sound, f"ratio: {_short(ratio)} is not in 1 … exp(ε·{_short(length)})")
        alphas.append(alpha)
    return alphas


def score_question(question: str, relation: str) -> tuple[Fraction | None, int, int]:
    """Read a question by scores: which quantile, of how many values, and T.

    T is how far one person, with k rows, can move two scores apart. Counts: who comes or goes
    moves one of them by k; who changes moves one up and another down. Quantiles of rank t/D: value
    v has the gap ``max(0, D·L - t·n, t·n - D·U)`` with L people below v, U not above, n in all.
    A row that comes moves ``D·L - t·n`` and ``D·U - t·n`` by -t or D - t, one that changes by D.

    >>> score_question("commonest(5)", "add-remove"), score_question("commonest(5)", "change-one")
    ((None, 5, 1), (None, 5, 2))
    >>> score_question("quantile(1/2,121)", "add-remove")
    (Fraction(1, 2), 121, 2)
    """
    size = r"([1-9][0-9]{0,6})"
    form = rf"(?:commonest\(|quantile\({size}/{size},){size}(?:,{size})?\)"
    told = re.fullmatch(form, question)
    if told is None:
        raise Refused(f"question: {question[:60]!r} is not known as a question by scores")
    values, rows, change = int(told[3]), int(told[4] or 1), relation != "add-remove"
    need(told[4] != "1", "question: one row each is not written out")
    need(values <= 1 << 20, f"question: {values} values are more than 2^20")
    if told[1] is None:
        return None, values, rows * (2 if change else 1)
    rank = Fraction(int(told[1]), int(told[2]))
    lowest = rank.denominator == int(told[2]) and rank < 1
    need(lowest, "question: the rank of a quantile is below 1 and in lowest terms")
    most = max(rank.numerator, rank.denominator - rank.numerator)
    return rank, values, 2 * rows * (rank.denominator if change else most)


def _short(number: Fraction) -> str:
    told = str(number)
    return told if len(told) < 40 else f"{float(number):.9g}…"


# -- graphs -------------------------------------------------------------------------------


@dataclass(eq=False)
class Graph:
    """Who is whose neighbour, and what each answer is called.

    ``sides`` lists ``(size, width)``: answers are tuples of coordinates, numbered with the last one
    fastest. In a *box* two answers are neighbours when every coordinate differs by at most its
    width: a sum is a box with one side, a bundle of counts one with several. In a *product* one
    coordinate differs, by at most its width: grids, and Hamming graphs, whose widths are their
    sizes less 1. A *ring* has one side, which closes. A *capped* line lacks the edges among its
    last ``width`` answers, and a mechanism is for a window of the others. A *list* has edges i < h
    in increasing order and for each the place of its length in ``lengths``.

    >>> Graph("box", 3, ((3, 1),)).smallest_near(np.array([[5], [1], [7]])).ravel().tolist()
    [1, 1, 1]
    """

    form: str
    nodes: int
    sides: tuple[tuple[int, int], ...] = ()
    edges: Array = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    length: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    lengths: Sequence[Fraction] = (Fraction(1),)
    label: Callable[[int], Hashable] = int
    line: tuple[Fraction, Fraction] | None = None  # label i is start + i·step

    def __post_init__(self) -> None:
        if self.form == "list":
            need(bool((self.edges[:, 0] < self.edges[:, 1]).all()), "an edge must be i < h")
            self.keys = self.edges[:, 0] * self.nodes + self.edges[:, 1]
            need(bool((np.diff(self.keys) > 0).all()), "edges must be in increasing order")
            need(self.connected(), "the graph is not connected")

    @property
    def is_path(self) -> bool:
        """Whether the answers stand in a row."""
        return self.form == "box" and len(self.sides) == 1 and self.sides[0][1] == 1

    @property
    def looks_alike(self) -> bool:
        """Whether every answer has as many answers at each distance: rings and Hamming graphs."""
        full = self.form == "product" and all(width >= size - 1 for size, width in self.sides)
        return self.form == "ring" or full

    def connected(self) -> bool:
        """Whether the listed edges connect all answers."""
        group, before = np.arange(self.nodes), np.zeros(0, np.int64)
        while not np.array_equal(group, before):  # joined groups take the smaller number
            before = group.copy()
            one, other = before[self.edges[:, 0]], before[self.edges[:, 1]]
            np.minimum.at(group, one, other)
            np.minimum.at(group, other, one)
            group = group[group[group]]
        return not group.any()

    def ratio_of(self, i: Array, h: Array) -> Array:
        """Return for each pair which of the lengths joins it, -1 for strangers."""
        if self.form == "list":
            key = np.minimum(i, h) * self.nodes + np.maximum(i, h)
            if not len(self.keys):
                return np.full(len(i), -1)
            at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
            return np.where(self.keys[at] == key, self.length[at], -1)
        if self.form == "ring":
            return np.where(np.isin(abs(i - h), (1, self.nodes - 1)), 0, -1)
        changed, near = np.zeros(len(i), np.int64), np.ones(len(i), bool)
        for size, width in reversed(self.sides):
            gap = abs(i % size - h % size)
            changed, near = changed + (gap > 0), near & (gap <= width)
            i, h = i // size, h // size
        return np.where(near & (changed > 0 if self.form == "box" else changed == 1), 0, -1)

    def spheres(self) -> list[int]:
        """Return how many answers lie at distance 0, 1, 2, … from any, where all look alike."""
        if self.form == "ring":
            return np.bincount(self.distances_from(0)).tolist()  # type: ignore[no-any-return]
        found = [1]
        for size, _ in self.sides:  # one more coordinate: the same, or one of size - 1 others
            more = [0, *(count * (size - 1) for count in found)]
            found = [a + b for a, b in zip([*found, 0], more, strict=True)]
        return found

    def distances_from(self, i: int, steps: Sequence[int] | None = None) -> Array:
        """Return the distances from node i to all o, in listed graphs over :attr:`unit`.

        These are ``max ⌈|i_k - o_k| / step_k⌉`` (a sum in products), with the widths as steps.
        """
        if self.form == "list":
            return np.asarray(self.all_distances[i])
        need_work("one row of distances", 0, 0, 16 * self.nodes)
        if self.form == "ring":
            away = abs(np.arange(self.nodes) - i)
            return np.minimum(away, self.nodes - away)
        far = np.zeros(1, np.int64)
        widths = [width for _, width in self.sides] if steps is None else steps
        for (size, _), digit, step in zip(self.sides, digits(i, self.sides), widths, strict=True):
            gap = -(-abs(np.arange(size) - digit) // step)
            joined = np.maximum if self.form == "box" else np.add
            far = joined(far[:, None], gap[None, :]).ravel()
        return far

    @cached_property
    def unit(self) -> int:
        """The common denominator of all edge lengths."""
        unit = common_unit(self.lengths, 60)
        need(unit > 0, "the lengths have too many digits to add up distances")
        return unit

    @cached_property
    def all_distances(self) -> Array:
        """All distances of a listed graph over :attr:`unit`: down the tree, or until none falls."""
        n, steps = self.nodes, [int(x * self.unit) for x in self.lengths]
        need(sum(steps) * n < 1 << 60, "the lengths have too many digits to add up distances")
        if len(self.edges) == n - 1:
            need_work("all distances of a tree", n * n, 4, 16 * n * n)
            far, tree = np.zeros((n, n), np.int64), Tree(self)
            for at, c in enumerate(tree.order[1:], 1):
                done, p = tree.order[:at], tree.parent[c]
                far[c, done] = far[done, c] = far[p, done] + steps[tree.ratio[c]]
            return far
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(ends[:, 1], kind="stable")
        start, end = ends[order].T
        cuts = np.flatnonzero(np.diff(end, prepend=-1))
        cost = np.array(steps)[np.tile(self.length, 2)[order], None]

        def relaxed(sources: Array) -> Array:
            far, rounds = np.full((n, len(sources)), 1 << 60), 0
            far[sources, np.arange(len(sources))] = 0
            while True:
                need_work("all distances", rounds * n * len(ends), 4, 16 * n * n)
                low = np.minimum.reduceat(far[start] + cost, cuts, axis=0)
                before, far, rounds = far, np.minimum(far, low), rounds + 1
                if np.array_equal(far, before):
                    return np.asarray(far)

        block = max(1, (1 << 21) // len(ends))
        starts = (np.arange(at, min(n, at + block)) for at in range(0, n, block))
        return np.concatenate([relaxed(some) for some in starts], axis=1)

    def smallest_near(self, block: Array) -> Array:
        """Return for each row of a block the smallest entries among its neighbours and itself."""
        shaped = block.reshape(*(size for size, _ in self.sides), -1)
        least = shaped
        for axis, (size, width) in enumerate(self.sides):
            reach = min(width, size - 1)
            if self.form == "ring":
                wall = [np.take(shaped, [-1], 0), np.take(shaped, [0], 0)]
            else:
                shape = [reach if k == axis else n for k, n in enumerate(shaped.shape)]
                wall = [np.full(shape, shaped.max(), shaped.dtype)] * 2
            low, done, wanted = np.concatenate([wall[0], shaped, wall[1]], axis), 1, 2 * reach + 1
            while done < wanted:  # windows of 1, 2, 4, … rows, then the rest
                step = min(done, wanted - done)
                cut = low.shape[axis] - step
                ahead = (slice(None),) * axis
                low = np.minimum(low[(*ahead, slice(cut))], low[(*ahead, slice(step, None))])
                done += step
            if self.form == "box":
                shaped = low
            least = np.minimum(least, low)
        return least.reshape(block.shape)

    @cached_property
    def coordinates(self) -> tuple[Array, int]:
        """The labels as numbers over one denominator, one row for each answer."""
        first = self.label(0)
        many = self.nodes * (len(first) if isinstance(first, tuple) else 1)
        need_work("the labels as numbers", many, 3000, 150 * many)
        rows: list[tuple[Fraction, ...]] = []
        for i in range(self.nodes):
            told = self.label(i)
            parts = told if isinstance(told, tuple) else (told,)
            sound = all(type(x) in (int, float, Fraction) for x in parts)
            need(sound, "absolute and squared loss need answers that are numbers or tuples of them")
            # A float stands for the decimal that prints as it.
            rows.append(tuple(Fraction(repr(x) if isinstance(x, float) else x) for x in parts))
        need(len({len(row) for row in rows}) == 1, "answers must be tuples of one length")
        unit = common_unit((x for row in rows for x in row), 512)
        need(unit > 0, "the labels have no common denominator of less than 512 bits")
        return np.array([[int(x * unit) for x in row] for row in rows], object), unit


def common_unit(numbers: Iterable[Fraction], bits: int) -> int:
    """Return the common denominator of some numbers, or 0 where it has more than so many bits.

    >>> common_unit([Fraction(1, 4), Fraction(1, 6)], 4), common_unit([Fraction(1, 8)], 3)
    (12, 0)
    """
    unit = 1
    for number in numbers:
        unit = lcm(unit, number.denominator)
        if unit >> bits:
            return 0
    return unit


def need_names(labels: list[Hashable] | None, count: int, what: str) -> None:
    """Stop unless labels, where there are any, name so many different things."""
    if labels is not None:
        need(len(labels) == count, f"labels: {len(labels)} {what} are named, not {count}")
        # Numbers can be chosen such that a set of them takes quadratic time.
        most = np.unique(np.array([*map(hash, labels)]), return_counts=True)[1].max()
        need(most < 1000, f"labels: {most} {what} have one hash")
        need(len(set(labels)) == count, f"labels: two {what} have the same name")


def own_graph(file: Contents) -> Graph:
    """Read the graph that a file holds: edges in order that connect all answers."""
    told = file.header["graph"]
    nodes, count = told["nodes"], told["edges"]
    edges, length = np.zeros((0, 2), np.int64), np.zeros(count, np.int64)
    if count:
        edges = file.whole("edges").reshape(-1, 2)
    if len(told["lengths"]) > 1 and count:
        length = file.whole("edge_lengths")
        used = np.bincount(length, minlength=len(told["lengths"]))[1:]
        need(bool((used > 0).all()), "no edge has one of the lengths")
    labels = told["labels"]
    need_names(labels, nodes, "answers")
    named = int if labels is None else labels.__getitem__
    return simplest(Graph("list", nodes, (), edges, length, told["lengths"], named))


def simplest(graph: Graph) -> Graph:
    """Return a listed power of a path as a box, and other listed graphs as they are.

    >>> simplest(Graph("list", 3, (), np.array([[0, 1], [1, 2]]), np.zeros(2, int))).form
    'box'
    """
    row, n = np.arange(graph.nodes), graph.nodes
    width = int(np.diff(graph.edges).max(initial=1))
    most = np.minimum(width, n - 1 - row)  # so many answers behind each are its neighbours
    if len(graph.lengths) == 1 and len(graph.edges) == most.sum():
        start = np.repeat(row, most)
        ahead = np.arange(len(start)) - np.repeat(np.cumsum(most) - most, most) + 1
        if np.array_equal(graph.edges, np.column_stack([start, start + ahead])):
            graph = replace(graph, form="box", sides=((n, width),))
    graph.line = even_line(graph)
    return graph


def even_line(graph: Graph) -> tuple[Fraction, Fraction] | None:
    """Return start and step when the labels are numbers in even steps, else ``None``.

    >>> even_line(Graph("box", 3, ((3, 1),), label=lambda i: Fraction(i, 2)))
    (Fraction(0, 1), Fraction(1, 2))
    """
    found: list[Any] = [graph.label(i) for i in range(min(graph.nodes, 1 << 20))]
    if len(found) < graph.nodes or any(type(x) not in (int, Fraction) for x in found):
        return None
    step = found[1] - found[0] if len(found) > 1 else 1
    if any(b - a != step for a, b in pairwise(found)):
        return None
    return (Fraction(found[0]), Fraction(step)) if step else None


def called(question: str) -> tuple[str, list[int]]:
    """Read the name of a question and its numbers, of which only the height of a tree may be 0.

    >>> called("sum(150,5)")
    ('sum', [150, 5])
    """
    number = "(?:0|[1-9][0-9]{0,14})"
    told = re.fullmatch(rf"([a-z_]+)(?:\(({number}(?:,{number})*)\))?", question)
    sizes = [int(x) for x in ((told and told[2]) or "").split(",") if x]
    if told is None or (0 in sizes and told[1] != "tree"):
        raise Refused(f"question: {question!r} is not the text of a question")
    return told[1], sizes


def question_graph(question: str, relation: str) -> Graph:
    """Derive answers, labels and neighbours of a common question from its text.

    The judge in the package knows every question; this rule, read alone, knows these. A person
    has one value; under change-one it changes, under either one may also come or go.

    >>> question_graph("sum(150,5)", "change-one").sides
    ((751, 5),)
    """
    name, sizes = called(question)
    change, absent = relation != "add-remove", relation != "change-one"
    large = f"question: {question} is too large"
    need(not sizes or max(sizes) < 1 << 23, large)
    form, sides, edges = "box", [(0, 0)], None
    match named_lattice(name, sizes, relation) or (name, sizes):
        case Lattice("line" | "cube") as found if found.inner == found.people:
            sides = [(found.people + 1, found.width)] * min(found.parts, 65)
        case Lattice("line") as found if found.people >= 1 << 12:
            form, sides = "capped", [(found.people + 1, found.width)]
        case Lattice("line", _, last, width) as found:  # nobody can join those that all people have
            ends = ((i, range(i + 1, min(last, i + width) + 1)) for i in range(found.inner + 1))
            edges = [(i, h) for i, near in ends for h in near]
        case Lattice("roots" | "cross") as found:
            return histogram_graph(found)
        case "clique" | "choice", [n]:
            sides = [(n, n - 1)]
        case "cycle", [n] if n > 2:
            form, sides = ("ring", [(n, 1)]) if n != 3 else ("box", [(3, 2)])
        case "count_mod", [n, m] if n >= m > 3:
            form, sides = "ring", [(m, 1)]
        case "count_mod", [n, m]:
            sides = [(min(n + 1, m), 1 + (n >= m == 3))]
        case "grid", [_, *_]:
            form, sides = "product", [(n, 1) for n in sizes]
        case "hypercube", [d]:
            form, sides = "product", [(2, 1)] * min(d, 65)
        case "databases", [u, v] if change:
            form, sides = "product", [(v + absent, v - 1 + absent)] * min(u, 65)
        case "star", [k]:
            need(k < 1 << 20, large)
            edges = [(0, i) for i in range(1, k + 1)]
        case "tree", [b, height]:
            need(height < 20 or b == 1, large)
            nodes = sum(b**row for row in range(height + 1))
            need(nodes <= 1 << 20, large)
            edges = [((i - 1) // b, i) for i in range(1, nodes)]
        case _:
            short = f"question: {question} under {relation} is not known here"
            need(False, f"{short}, but to tightrope verify")
    if edges is not None:
        listed = np.array(edges, np.int64).reshape(-1, 2)
        nodes = 1 + int(listed.max(initial=0))
        return simplest(Graph("list", nodes, (), listed, listed[:, 0] * 0))
    need(len(sides) <= 64, large)
    wide = [(size, max(1, min(width, size - 1))) for size, width in sides]
    if form == "product":  # sides of one answer say nothing
        wide = [side for side in wide if side[0] > 1] or [(1, 1)]
        form = "product" if len(wide) > 1 else "box"
    graph = Graph(form, prod(size for size, _ in wide), tuple(wide))
    if name in ("counts", "grid", "hypercube", "databases"):
        shift = int(absent) if name == "databases" else 0
        graph.label = lambda i: tuple(d - shift if d >= shift else None for d in digits(i, sides))
    elif name == "mean":
        graph.label = lambda i: Fraction(i, sizes[0])
        graph.line = Fraction(0), Fraction(1, sizes[0])
    else:
        graph.line = Fraction(0), Fraction(1)
    return graph


def window_graph(graph: Graph, start: int, size: int) -> Graph:
    """Return the part of a line that a mechanism is made for.

    >>> window_graph(Graph("box", 9, ((9, 2),)), 4, 3).label(0)
    4
    """
    line = graph.form in ("box", "capped") and len(graph.sides) == 1
    last = graph.nodes - (graph.sides[0][1] if graph.form == "capped" else 0)
    need(line and start + size <= last, "a window must be a part of a line of answers")
    wide, whole = max(1, min(graph.sides[0][1], size - 1)), graph.label
    found = Graph("box", size, ((size, wide),), label=lambda i: whole(i + start))
    if graph.line is not None:
        found.line = graph.line[0] + start * graph.line[1], graph.line[1]
    return found


def digits(i: int, sides: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the coordinates of node i, the last one fastest.

    >>> digits(7, ((3, 1), (5, 1)))
    (1, 2)
    """
    found = []
    for size, _ in reversed(sides):
        i, digit = divmod(i, size)
        found.append(digit)
    return tuple(reversed(found))


def histogram_graph(lattice: Lattice) -> Graph:
    """Derive ``histogram(n,c)``: counts in lexicographic order; a neighbour moves one person.

    Absent people are one more class, which labels do not show; under add-remove every move is
    into it or out of it.

    >>> histogram_graph(Lattice("roots", 3, 1)).edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    people, change = lattice.people, lattice.form == "roots"
    bins, classes = lattice.parts + (not change), lattice.parts - lattice.hidden
    small = people * bins < 1 << 20 and comb(people + bins - 1, bins - 1) <= 1 << 16
    need(small, "question: this histogram is too large")
    need_work("listing a histogram", comb(people + bins - 1, bins - 1) * bins**3, 50)

    # Bars between the people: the places of the bars and the counts have the same order.
    places = combinations(range(people + bins - 1), bins - 1)
    bars = ((-1, *some, people + bins - 1) for some in places)
    vectors = [tuple(b - a - 1 for a, b in pairwise(ends)) for ends in bars]
    place = {vector: i for i, vector in enumerate(vectors)}
    moves = [move for move in permutations(range(bins), 2) if change or bins - 1 in move]
    found = []
    for i, vector in enumerate(vectors):
        for give, take in moves:
            moved = list(vector)
            moved[give], moved[take] = moved[give] - 1, moved[take] + 1
            found.append((i, place.get(tuple(moved), i)))
    edges = np.array(sorted(pair for pair in found if pair[0] < pair[1]), np.int64).reshape(-1, 2)
    label = [vector[:classes] for vector in vectors].__getitem__
    return simplest(Graph("list", len(vectors), (), edges, edges[:, 0] * 0, label=label))


# -- exact sums ---------------------------------------------------------------------------


def box_sums(
    sides: Sequence[tuple[int, int]], steps: Sequence[int], levels: Sequence[int], z: Array
) -> Array:
    r"""Return ``Σ_o levels[d(i,o)]·z[o]`` for all i, d = max ⌈\|i_k - o_k\| / steps_k⌉, exactly.

    Summed by parts: ``Σ_d (levels[d] - levels[d+1])·(sum of z in the box of radius d)``. The
    last level goes on for ever. Products are kept in four limbs of 31 bits; wider numbers, which
    only a line may have, are convolved.

    >>> box_sums([(3, 1)], [1], [4, 2, 1], np.array([1, 1, 1])).tolist()
    [7, 8, 7]
    """
    mass = sum(z.tolist())
    falls = [above - below for above, below in pairwise(levels)]
    sound = mass < 1 << 100 and all(0 <= fall < 1 << 124 for fall in falls)
    need(sound, "levels must fall, each by less than 2^124, and factors sum to less than 2^100")
    if mass >> 62 or max(falls, default=0) >> 62:
        need(len(sides) == 1, "the factors are too large")
        return far_sums(levels, steps[0], z, np.zeros(z.size, np.int64), 0)
    held = 24 * prod(size + 1 for size, _ in sides) + 120 * z.size
    need_work("the sums of all rows", len(levels) * z.size, 3 * len(sides) + 5, held)
    table = z.astype(np.int64).reshape([size for size, _ in sides])
    for axis in range(table.ndim):
        sums = np.cumsum(table, axis)
        table = np.concatenate([np.zeros_like(np.take(sums, [0], axis)), sums], axis)

    def block(first: Array) -> Array:
        """Return the sums of nodes with the given first coordinates, but for the last level."""
        limbs = [np.zeros(1, np.int64)] * 4
        axes = [first, *(np.arange(size) for size, _ in sides[1:])]
        for d, fall in enumerate(falls):
            ball = table
            for axis, (i, (size, _), step) in enumerate(zip(axes, sides, steps, strict=True)):
                high = np.minimum(i + d * step + 1, size)
                ball = ball.take(high, axis) - ball.take(np.maximum(i - d * step, 0), axis)
            b0, b1, f0, f1 = ball.ravel() & MASK, ball.ravel() >> 31, fall & MASK, fall >> 31
            low, middle, high = b0 * f0, b0 * f1 + b1 * f0, b1 * f1
            carried = (low >> 31) + (middle & MASK), (middle >> 31) + (high & MASK)
            added = (low & MASK, *carried, high >> 31)
            limbs = [limb + more for limb, more in zip(limbs, added, strict=True)]
        nodes = len(first) * prod(size for size, _ in sides[1:])
        total = np.broadcast_to(limbs[3], nodes).astype(object)
        for limb in reversed(limbs[:3]):
            total = total * (1 << 31) + limb
        return total

    rows = max(1, (1 << 15) * sides[0][0] // z.size)  # blocks that stay close to the processor
    firsts = (np.arange(at, min(at + rows, sides[0][0])) for at in range(0, sides[0][0], rows))
    return np.asarray(np.concatenate([block(first) for first in firsts]) + levels[-1] * mass)


def convolved(kernel: Array, values: Array) -> Array:
    """Return the middle of a convolution, as the product of two long integers.

    Every number gets as many bytes as the largest sum needs (Kronecker's substitution).

    >>> convolved(np.array([1, 0, -1], object), np.array([1 << 70, 2, 3], object)).tolist()
    [2, -1180591620717411303421, -2]
    """
    sizes = [len(kernel), len(values)]
    bits = sum(int(abs(array).max()).bit_length() for array in (kernel, values))
    width, count = (bits + min(sizes).bit_length()) // 8 + 1, sum(sizes) - 1
    # Karatsuba's method, on digits of 30 bits; the other sums of a file take about as long each.
    steps = max(sizes) / min(sizes) * (min(sizes) * width / 3.75) ** 1.585
    work = "a convolution of levels (a larger ε has fewer)"
    need_work(work, int(steps), 25, 40 * width * count)

    def packed(array: Array) -> int:
        signs = np.maximum(array, 0).tolist(), np.maximum(-array, 0).tolist()
        more, less = (b"".join([x.to_bytes(width, "little") for x in some]) for some in signs)
        return int.from_bytes(more, "little") - int.from_bytes(less, "little")

    half = 1 << 8 * width - 1  # added to every sum, which makes it positive
    shift = int.from_bytes(half.to_bytes(width, "little") * count, "little")
    found = (packed(kernel) * packed(values) + shift).to_bytes(width * count, "little")
    first = len(kernel) // 2 * width
    places = range(first, first + len(values) * width, width)
    sums = (int.from_bytes(found[at : at + width], "little") - half for at in places)
    return np.array([*sums], object)


def far_sums(levels: Sequence[int], step: int, z: Array, shift: Array, power: int) -> Array:
    r"""Return ``Σ_o levels[⌈\|i-o\|/step⌉]·z[o]·\|i-o-shift[o]\|^power`` for all i, exactly.

    The last level goes on for ever and is added up by moments. The others are convolutions in
    t = i - o: with m for the shift ``(t-m)² = t² - 2tm + m²``, ``(t-m)⁰ = 1``, and ``\|t-m\|`` is
    ``\|m\| - t·sgn(m)`` where m is out of reach, else ``\|t\| - m·sgn(t) + \|m\|·[t=0]`` and
    between 0 and m 2(\|m\|-\|t\|) more.

    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.zeros(4, int), 1).tolist()
    [7, 6, 6, 7]
    >>> far_sums([4, 2, 1], 1, np.array([1, 1, 1, 1]), np.array([1, 1, 0, -2]), 1).tolist()
    [11, 6, 3, 13]
    """
    n, last = len(z), levels[-1]
    need_work("the sums of all rows", n, 0, 700 * n)
    z = z.astype(object)
    reach = min(n, step * (len(levels) - 1) + 1)
    node, many = np.arange(n).astype(object), np.full(n, 0, object)
    np.add.at(many, np.arange(n) + shift, z)
    sums = [np.cumsum(many * node**p) for p in range(power + 1)]
    half = np.array([levels[-(-t // step)] - last for t in range(reach)], object)
    kernel, t = np.concatenate([half[:0:-1], half]), np.arange(1 - reach, reach)
    if power != 1:
        signed = [(power - q, q, (-1) ** q * comb(power, q)) for q in range(power + 1)]
        far = sum(node**p * sums[q][-1] * times for p, q, times in signed)
        parts = [(kernel * t**p, z * shift**q * times) for p, q, times in signed]
        return np.asarray(far * last + sum(convolved(*part) for part in parts))
    far = node * (2 * sums[0] - sums[0][-1]) - (2 * sums[1] - sums[1][-1])
    out, inside = z * (abs(shift) >= reach), shift * (abs(shift) < reach)
    need_work("guesses away from their outputs", int(abs(inside).sum()), 500)
    parts = [(kernel * abs(t), z - out), (kernel * np.sign(t), -z * inside)]
    parts += [(kernel, out * abs(shift)), (kernel * t, -out * np.sign(shift))]
    total = np.asarray(far * last + half[0] * z * abs(inside))
    total += sum(convolved(*part) for part in parts)
    for side in (1, -1):
        some = np.flatnonzero(side * inside > 1)
        for d in range(1, int(abs(inside).max(initial=0))):
            some = some[side * inside[some] > d]
            total[some + side * d] += z[some] * (side * inside[some] - d) * (2 * half[d])
    return total


# -- weights: rows and privacy ------------------------------------------------------------


def exceeds(a: Array, b: Array, p: int, q: int) -> Array:
    """Return where ``a·q > b·p``, for non-negative integers below 2^62, without rounding.

    >>> exceeds(np.array([6, 7]), np.array([3, 3]), 2, 1).tolist()
    [False, True]
    """
    if object in (a.dtype, b.dtype) or max(p, q) > MASK:
        return np.asarray(a.astype(object) * q > b.astype(object) * p, dtype=bool)
    a0, b0 = (a & MASK) * q, (b & MASK) * p
    a1, b1 = (a >> 31) * q + (a0 >> 31), (b >> 31) * p + (b0 >> 31)
    found: Array = (a1 > b1) | ((a1 == b1) & ((a0 & MASK) > (b0 & MASK)))
    return found


class Weights:
    """Integer weights ``W[i,o]`` with rows of sum ``2^bits``, listed or by rule."""

    def __init__(self, file: Contents, graph: Graph, answers: int | None = None) -> None:
        self.file, self.graph = file, graph
        self.answers = answers or graph.nodes  # of the question, also those outside a window
        need(graph.form != "capped", "a sum of people who come and go needs a window here")
        self.ratios = [(r.numerator, r.denominator) for r in file.header["ratios"]]
        told = file.header["weights"]
        self.kind, self.bits = str(told["kind"]), int(told["bits"])
        self.total, self.slack = 1 << self.bits, file.header["delta"]
        self.outputs, named = int(told.get("outputs", graph.nodes)), file.header["outputs"]
        own = named is not None or self.outputs == graph.nodes
        need(own, "outputs without names are the answers")
        need_names(named, self.outputs, "outputs")
        if self.kind == "dense":
            return
        self.levels: list[int] = told["levels"]
        need(all(a >= b for a, b in pairwise(self.levels)), "the levels must not rise")
        if self.kind == "radial":
            need(graph.looks_alike, "radial weights need a ring or a Hamming graph")
            return
        box = graph.form == "box" and graph.nodes <= 1 << 23
        need(box, "levels need a box of at most 2^23 answers")
        self.steps: list[int] = told["steps"]
        self.rest_at: int = told["rest"]
        need(len(self.steps) == len(graph.sides), "there must be one step for each side")
        need(self.rest_at < self.outputs, "the output of the rest does not exist")

    @cached_property
    def factors(self) -> Array:
        """The factor of each output of a rule."""
        return self.file.whole("factors")

    @cached_property
    def rest(self) -> Array:
        """What each row of a rule lacks to the total."""
        held = box_sums(self.graph.sides, self.steps, self.levels, self.factors)
        return np.asarray(self.total - held)

    def by_line(self) -> bool:
        """Whether the weights are a rule for answers on one line."""
        return self.kind == "levels" and len(self.steps) == 1

    def columns(self) -> Iterator[tuple[int, Array]]:
        """Yield blocks of columns, each with the number of its first output."""
        n, start = self.graph.nodes, 0
        if self.kind == "dense":
            for block in self.file.columns(n):
                yield start, block
                start += block.shape[1]
            return
        need_work("listing the columns of a rule", n * n, 100)
        yield from ((o, self.column(o)[:, None]) for o in range(n))

    def column(self, o: int) -> Array:
        """Return one column, without computing any other by a rule."""
        if self.kind == "dense":
            return next(b[:, o - s] for s, b in self.columns() if s <= o < s + b.shape[1])
        column = self.by_distance(o)
        if self.kind == "levels":
            column = column * int(self.factors[o])
        return column + self.rest if self.kind == "levels" and o == self.rest_at else column

    def row(self, i: int) -> Array:
        """Return one row, without computing any other by a rule."""
        if self.kind == "dense":
            return np.concatenate([block[i] for _, block in self.columns()])
        row = self.by_distance(i)  # distances are symmetric
        if self.kind == "levels":
            row = row * self.factors.astype(object)
            row[self.rest_at] += self.total - sum(row.tolist())
        return row

    def by_distance(self, i: int) -> Array:
        """Return the level of every node seen from node i."""
        return np.asarray(np.array(self.levels, object)[self.depths(i)])

    def depths(self, i: int) -> Array:
        """Return for every node which level it has seen from node i."""
        steps = self.steps if self.kind == "levels" else None
        return np.minimum(self.graph.distances_from(i, steps), len(self.levels) - 1)

    def proved(self) -> str:
        """Return what was checked, where nothing is wrong."""
        excess = "W[i,o]·q <= W[h,o]·p"
        if self.slack:
            excess = f"Σ max(0, W[i,o]·q - W[h,o]·p) <= δ·q·2^{self.bits} with δ = {self.slack}"
        nodes, outputs = self.graph.nodes, self.outputs
        return f"{excess} for each of {outputs} outputs, on every edge of the {nodes} answers"

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with rows and privacy."""
        yield from self._dense_faults() if self.kind == "dense" else self._rule_faults()

    def _rule_faults(self) -> Iterator[str]:
        p, q = self.ratios[0]
        reach = 1
        if self.kind == "levels":
            sides = zip(self.graph.sides, self.steps, strict=True)
            reach = max(-(-min(width, size - 1) // step) for (size, width), step in sides)
        for d, level in enumerate(self.levels):
            after = self.levels[min(d + reach, len(self.levels) - 1)]
            if level * q > after * p:
                short = f"{level * q - after * p}/{p} too little for the ratio {p}/{q}"
                yield f"privacy: level {d} weighs {level}, {reach} steps further {after} is {short}"
                break
        if self.kind == "radial":
            # Every row has as many outputs at each distance, so every row has the same sum.
            last = len(self.levels) - 1
            spheres = enumerate(self.graph.spheres())
            found = sum(count * self.levels[min(d, last)] for d, count in spheres)
            if found != self.total:
                yield f"total: every row sums to {found}, which is {found - self.total:+d} off"
            return
        low, high = int(self.rest.argmin()), int(self.rest.argmax())
        if self.rest[low] < 0:
            yield f"total: row {low} weighs {-self.rest[low]} more than 2^{self.bits}"
        elif self.rest[high] * q > self.rest[low] * p:
            rests = f"{self.rest[high]} in row {high} and {self.rest[low]} in row {low}"
            yield f"privacy: missing to 2^{self.bits} is {rests}, more than the ratio {p}/{q}"

    def _dense_faults(self) -> Iterator[str]:
        graph, plain = self.graph, self.bits <= 62 and max(max(r) for r in self.ratios) <= MASK
        each = 2 * len(graph.edges) if graph.form == "list" else 2 * graph.nodes
        for size, width in graph.sides:
            each += graph.nodes * (2 + min(width, size).bit_length()) // 2
        need_work("comparing neighbours", (each + graph.nodes) * self.outputs, 14 if plain else 250)
        blocks = -(-self.outputs * graph.nodes // CHUNK)
        need_work("comparing edges of many lengths", len(self.ratios) * blocks, 50_000)
        sums: list[Array | int] = [0, 0]
        breach = None
        for start, block in self.columns():
            sums[0] += (block & MASK).sum(axis=1).astype(object)
            sums[1] += (block >> 31).sum(axis=1).astype(object)
            breach = breach or (None if self.slack else self._breach(start, block))
        yield from self._slack_faults() if self.slack else filter(None, [breach])
        found = np.asarray(sums[1] * (1 << 31) + sums[0])
        for i in np.flatnonzero(found != self.total)[:1].tolist():
            yield f"total: row {i} sums to {found[i]}, which is {found[i] - self.total:+d} off"

    def _slack_faults(self) -> Iterator[str]:
        """Yield an edge where the outputs exceed the ratio by more than δ together."""
        need(self.graph.is_path, "δ is for answers in a row")
        need_work("adding up what exceeds the ratio", self.graph.nodes * self.outputs, 1000)
        p, q = self.ratios[0]
        for step in (1, -1):
            over = np.zeros(self.graph.nodes - 1, object)
            for _, block in self.columns():
                rows = block.astype(object)[::step]
                over += np.maximum(rows[:-1] * q - rows[1:] * p, 0).sum(axis=1)
            for k in np.flatnonzero(over > self.slack * q * self.total)[:1].tolist():
                i = k if step == 1 else self.graph.nodes - 1 - k
                beyond = float(Fraction(int(over[k]), q * self.total))
                yield f"privacy: row {i} exceeds its neighbour {i + step} by {beyond:.12g} beyond δ"

    def _breach(self, start: int, block: Array) -> str | None:
        """Return the first breach of privacy in a block of columns."""
        for first, ends, a, b, which in compared(self.graph, block):
            p, q = self.ratios[which]
            for k, o in np.argwhere(exceeds(a, b, p, q))[:1].tolist():
                i, h = (k, -1) if ends is None else ends[k].tolist()
                if ends is None:  # the smallest of its neighbours
                    nodes = np.arange(self.graph.nodes)
                    near = np.flatnonzero(self.graph.ratio_of(nodes * 0 + k, nodes) >= 0)
                    h = int(near[a[near, o].argmin()])
                one, other = int(block[i, first + o]), int(block[h, first + o])
                rows = f"{one} in row {i} and {other} in the neighbouring row {h}"
                over = f"{one}·{q} exceeds {other}·{p} by {one * q - other * p}"
                return f"privacy: output {start + first + o} weighs {rows}: {over}"
        return None


def compared(graph: Graph, block: Array) -> Iterator[tuple[int, Array | None, Array, Array, int]]:
    """Yield what must not exceed what, a few million numbers at a time.

    Each piece has the number of its first column, the arcs that its rows are (``None`` where every
    row is compared with the smallest one near it), both sides, and which ratio binds them.
    """
    together = 1 << 21
    if graph.form != "list":
        step = max(1, together // len(block))
        for first in range(0, block.shape[1], step):
            some = block[:, first : first + step]
            yield first, None, some, graph.smallest_near(some), 0
        return
    step = max(1, together // block.shape[1])
    order = np.argsort(graph.length, kind="stable")
    cuts = np.searchsorted(graph.length[order], np.arange(len(graph.lengths) + 1))
    for which in range(len(graph.lengths)):
        mine = graph.edges[order[cuts[which] : cuts[which + 1]]]
        for at in range(0, len(mine), step):
            for ends in (mine[at : at + step], mine[at : at + step, ::-1]):
                yield 0, ends, block[ends[:, 0]], block[ends[:, 1]], which


# -- prices on trees and lines ------------------------------------------------------------
#
# What is left of π_i·loss(i,k) - λ_i at the leaves is sent towards one answer, the *root* of the
# guess k. A surplus s at a node is worth α·s at the next one, because x_c >= α·x_p; a debt s costs
# s/α there, because x_c <= x_p/α. All rounding is downwards. If nothing is owed at the root, the
# inequality of the guess holds for every private column x.


class Tree:
    """A tree seen from node 0: parents, and for each node the length of the edge above it.

    >>> path = Tree(Graph("box", 3, ((3, 1),)))
    >>> path.left_at(1, [4, -3, 4], [1 << 61]), path.left_at(1, [4, -5, 4], [1 << 61])
    ((1, 1), (1, -1))
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.nodes
        self.parent, self.ratio, self.order = [-1] * n, [0] * n, [0]
        if graph.is_path:
            self.parent, self.order = list(range(-1, n - 1)), list(range(n))
            return
        need(graph.form == "list" and len(graph.edges) == n - 1, "certificate: this is no tree")
        near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for (i, h), which in zip(graph.edges.tolist(), graph.length.tolist(), strict=True):
            near[i].append((h, which))
            near[h].append((i, which))
        for i in self.order:  # grows while it is read; the graph is known to be connected
            for h, which in near[i]:
                if h != self.parent[i]:
                    self.parent[h], self.ratio[h] = i, which
                    self.order.append(h)

    def left_at(self, root: int, weights: list[int], alphas: Sequence[int]) -> tuple[int, int]:
        """Send what is left at every node towards the root; return it and what arrives there.

        Debts grow on their way. One that grows beyond all surpluses is returned with its node.
        """
        left, parent, ratio = weights.copy(), self.parent, self.ratio
        debtor = list(range(len(left)))
        # Later surpluses are no more than this: who owes more will always owe.
        most = sum(x for x in left if x > 0)
        way = [root]
        while parent[way[-1]] >= 0:
            way.append(parent[way[-1]])
        turned = set(way)
        steps = [(c, parent[c], ratio[c]) for c in reversed(self.order) if c not in turned]
        steps += [(p, c, ratio[c]) for c, p in zip(way[-2::-1], way[:0:-1], strict=True)]
        for c, p, which in steps:
            x = left[c]
            if x >= 0:
                left[p] += x * alphas[which] >> 62
            elif -x > most or not alphas[which]:
                return debtor[c], weights[debtor[c]]
            else:
                left[p] += (x << 62) // alphas[which]
                debtor[p] = debtor[c]
        return root, left[root]


class Side:
    r"""Sums over the answers from j on of a line, the one at distance t times α^t.

    ``costs`` are c_i and guess k costs ``c_i·|i - k|^power``. All sums are times 2^62 and rounded
    down; each step loses less than 1, so over m answers Σ α^t lacks at most m and Σ t·α^t m².

    >>> side = Side([1, 1, 1], [0, 0, 0], 1 << 61, 1)
    >>> [side.least(0, k) / 2**62 for k in (0, 1, 2)], side.least(2, 0) / 2**62
    ([1.0, 1.25, 2.5], 2.0)
    """

    def __init__(self, costs: list[int], prices: list[int], alpha: int, power: int) -> None:
        n, self.power = len(costs), power
        self.owed = [0] * (n + 1)
        self.low: list[list[int]] = [[0] * (n + 1) for _ in range(power + 1)]
        zeroth, first, last = self.low[0], self.low[1], self.low[-1]
        for j in range(n - 1, -1, -1):
            self.owed[j] = (prices[j] << 62) - (-alpha * self.owed[j + 1] >> 62)
            a, b = zeroth[j + 1], first[j + 1]  # Σ t^p becomes Σ (t+1)^p
            zeroth[j] = (a * alpha >> 62) + (costs[j] << 62)
            first[j] = (a + b) * alpha >> 62
            if power == 2:
                last[j] = (a + 2 * b + last[j + 1]) * alpha >> 62
        self.powers = [1 << 62]
        while self.powers[-1] and len(self.powers) <= n:
            self.powers.append(self.powers[-1] * alpha >> 62)

    def high(self, p: int, j: int) -> int:
        """Bound the sum from j on from above, for p = 0 or 1."""
        many = len(self.owed) - 1 - j
        return self.low[p][j] + (many * many if p else many)

    def beyond(self, p: int, j: int, k: int) -> int:
        """Bound ``α^(k-j)·(sum from k on)`` from below."""
        steps = k - j
        return self.powers[steps] * self.low[p][k] >> 62 if steps < len(self.powers) else 0

    def least(self, j: int, k: int) -> int:
        """Bound the cost of guess k over the answers from j on, from below."""
        gap = abs(k - j)
        if self.power == 2:
            first = self.low[1][j] if k <= j else -self.high(1, j)
            return self.low[2][j] + 2 * gap * first + gap * gap * self.low[0][j]
        if k <= j:
            return self.low[1][j] + gap * self.low[0][j]
        return gap * self.low[0][j] - self.high(1, j) + 2 * self.beyond(1, j, k)

    def rise(self, j: int, k: int) -> int:
        """Bound from above, or by 0, what guess k costs more than guess k - 1 from j on."""
        if k <= j:
            return 0
        if self.power == 2:
            return max(0, (2 * (k - j) - 1) * self.high(0, j) - 2 * self.low[1][j])
        return max(0, self.high(0, j) - 2 * self.beyond(0, j, k))

    def room(self, j: int, k: int) -> int:
        """Bound from below what is left from j on for guess k and for every guess before it.

        The cost is convex in the guess: it rises by no more before k than it does there.
        """
        return self.least(j, k) - k * self.rise(j, k) - self.owed[j]


def line_rooms(
    costs: list[int], prices: list[int], alpha: int, power: int, cuts: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return what is left of every guess, times 2^62: at each edge from both sides, and its root.

    Guesses up to ``cuts[j]`` have their root at j or before, the others behind.

    >>> [side[0] >> 62 for side in line_rooms([3, 3], [1, 1], 1 << 61, 1, [0])]
    [2, 2, 0]
    """
    n = len(costs)
    right = Side(costs, prices, alpha, power)
    left = Side(costs[::-1], prices[::-1], alpha, power)
    ahead = [right.room(j + 1, k) if k >= 0 else 0 for j, k in enumerate(cuts)]
    behind = [left.room(n - 1 - j, n - 2 - k) if k < n - 1 else 0 for j, k in enumerate(cuts)]
    at_root, root = [], 0
    for k in range(n):
        while root < n - 1 and cuts[root] < k:
            root += 1
        found = (costs[root] * abs(root - k) ** power - prices[root]) << 62
        if root < n - 1:
            found += (right.least(root + 1, k) - right.owed[root + 1]) * alpha >> 62
        if root:
            j = n - root
            found += (left.least(j, n - 1 - k) - left.owed[j]) * alpha >> 62
        at_root.append(found)
    return ahead, behind, at_root


# -- the consumer and the loss ------------------------------------------------------------


class Consumer:
    """Who uses the answer: a prior (or a set of possible answers) and a loss, as the file says.

    A named loss has no list: it follows from the answers' labels and distances.
    """

    def __init__(self, weights: Weights) -> None:
        file, graph, outputs = weights.file, weights.graph, weights.outputs
        self.file, self.graph, self.told = file, graph, file.header["consumer"]
        self.n, self.outputs, self.weights = graph.nodes, outputs, weights
        self.answers = weights.answers
        self.bits = int((file.header["certificate"] or {"bits": 0})["bits"])
        loss, prior = self.told["loss"], self.told["prior"] or {}
        self.kind, self.guesses = str(loss["kind"]), int(loss.get("guesses", self.n))
        self.binary = self.kind == "binary"
        # Where ``power`` is not 0, the loss is ``factor/unit`` times that power of the distance.
        self.power, self.unit, self.factor = 0, 1, 1
        self.effort = 1  # how much longer a loss takes than to look it up
        degree = {"absolute": 1, "squared": 2}.get(self.kind, 0)
        if self.kind == "listed":
            self.unit = int(loss["denominator"])
            need_work("the listed losses", 0, 0, 90 * self.n * self.guesses)
        elif self.kind == "distance":
            self.power, self.unit = int(graph.is_path), graph.unit
        elif degree and graph.line is not None:
            step = abs(graph.line[1]) ** degree
            self.power, self.factor, self.unit = degree, step.numerator, step.denominator
        elif degree:
            numbers, unit = graph.coordinates
            self.unit, self.effort = unit**degree, 1 + numbers.shape[1]
        self.remapped = bool(self.told["remapped"])
        need(self.remapped or outputs <= self.guesses, "an output has no guess")
        # What is released is the name of an output; the guesses of a listed loss have no names.
        named = None if self.remapped or self.kind == "listed" else file.header["outputs"]
        own = all(graph.label(o) == name for o, name in enumerate(named or ()))
        need(own, "labels: an output is its own guess and has another name")
        self.uniform = prior.get("kind") == "uniform"
        self.prior_total = self.n if self.uniform else int(prior.get("total", 1 << 61))
        if self.told["support"] is not None:
            possible, inside = self.support, np.zeros(self.n, bool)
            inside[possible] = True
            need(int(inside.sum()) == len(possible), "a possible answer is listed twice")
            if self.told["prior"] is not None:
                need(not self.prior[~inside].any(), "the prior has weight on impossible answers")

    @cached_property
    def prior(self) -> Array:
        """The prior in units of its total, as Python integers."""
        need_work("the prior", 0, 0, 80 * self.n)
        if self.uniform:
            return np.full(self.n, 1, object)
        return window_prior(self.file, self.answers)[0]

    @cached_property
    def support(self) -> Array:
        """The possible answers of a risk-averse consumer."""
        need_work("the possible answers", 0, 0, 80 * self.n)
        listed = self.told["support"]["kind"] == "listed"
        return self.file.whole("support") if listed else np.arange(self.n)

    @property
    def scale(self) -> int:
        """The denominator of prior times loss."""
        return self.prior_total * self.unit

    @cached_property
    def arcs(self) -> tuple[Array, ...]:
        """Guess, start, end and value of every multiplier."""
        names = ("arc_guess", "arc_from", "arc_to", "arc_value")
        if not self.file.header["certificate"]["arcs"]:
            return (np.zeros(0, np.int64),) * 4
        guess, start, end, value = map(self.file.whole, names)
        return guess, start, end, value.astype(object)

    @property
    def cores(self) -> Array:
        """First and last answer of the core of each guess."""
        return self.file.whole("places").astype(np.int64).reshape(-1, 2).T

    @cached_property
    def guess_of(self) -> Array:
        """The guess that the consumer makes for each output."""
        return self.file.whole("guess_of") if self.remapped else np.arange(self.outputs)

    @cached_property
    def _listed(self) -> Array:
        return self.file.whole("loss").astype(object).reshape(self.guesses, self.n)

    def losses(self, guess: int) -> Array:
        """Return the losses of one guess under every answer, times the unit."""
        if self.kind == "listed":
            return np.asarray(self._listed[guess])
        if self.power:
            gaps = abs(np.arange(self.n) - guess) ** self.power  # of less than 2^62
            return np.asarray(gaps.astype(object) * self.factor)
        if self.binary:
            return np.asarray((np.arange(self.n) != guess) * 1, dtype=object)
        if self.kind == "distance":
            return self.graph.distances_from(guess).astype(object)
        numbers = self.graph.coordinates[0]
        gaps = abs(numbers - numbers[guess]) ** (1 if self.kind == "absolute" else 2)
        return np.asarray(gaps.sum(axis=1))

    def expected(self) -> Fraction:
        """Return the expected loss (the worst one over a set of possible answers), exactly."""
        weights = self.weights
        if weights.kind == "radial" and self.binary and not self.remapped:
            return 1 - Fraction(weights.levels[0], weights.total)
        averse = self.told["support"] is not None
        counted = self.support if averse else self.prior  # before arrays of this size are made
        each = np.full(self.n, weights.total if self.binary else 0, object)
        if self.binary and weights.kind == "levels" and (weights.by_line() or not self.remapped):
            shift = self.guess_of - np.arange(weights.outputs)
            depth = np.minimum(-(-abs(shift) // weights.steps[0]), len(weights.levels) - 1)
            right = np.array(weights.levels, object)[depth] * weights.factors
            np.subtract.at(each, self.guess_of, right)
            last = int(self.guess_of[weights.rest_at])
            each[last] -= weights.rest[last]
        elif self.power and weights.by_line():
            shift = self.guess_of - np.arange(weights.outputs)
            sums = far_sums(weights.levels, weights.steps[0], weights.factors, shift, self.power)
            at_rest = self.losses(int(self.guess_of[weights.rest_at]))
            each = sums * self.factor + at_rest * weights.rest
        else:
            work = 1 if self.binary else self.n * weights.outputs * self.effort
            need_work("adding up the losses", work, 150)
            for start, block in weights.columns():
                guesses = self.guess_of[start : start + block.shape[1]]
                if self.binary:
                    right = block[guesses, np.arange(len(guesses))]
                    np.subtract.at(each, guesses, right.astype(object))
                    continue
                for o, guess in enumerate(guesses.tolist()):
                    each += self.losses(guess) * block[:, o].astype(object)
        if averse:
            return Fraction(max(each[counted].tolist()), weights.total * self.unit)
        return Fraction(sum((each * counted).tolist()), weights.total * self.scale)

    def price_bound(self, prices: Array) -> Fraction:
        """Return Σ λ_i, less α·δ times the sum over arcs of the largest multiplier of a guess.

        With *phi* it is 1 - Σ y_i, where one number stands for a constant.
        """
        bound, slack = Fraction(sum(prices.tolist()), 1 << self.bits), self.file.header["delta"]
        if self.file.header["certificate"]["kind"] == "phi":
            return 1 + bound * (self.n if len(prices) == 1 else 1)
        if slack is None:
            return bound
        need_work("the largest multiplier of each arc", len(self.arcs[0]), 2000)
        each: dict[tuple[int, int, int], int] = {}
        most: dict[tuple[int, int], int] = {}
        for k, i, h, value in zip(*(part.tolist() for part in self.arcs), strict=True):
            each[k, i, h] = each.get((k, i, h), 0) + value
            most[i, h] = max(most.get((i, h), 0), each[k, i, h])
        alpha = Fraction(self.file.alphas[0], 1 << 62)
        return Fraction(bound - alpha * slack * sum(most.values()) / (1 << self.bits))

    def as_dict(self) -> dict[str, Any]:
        """Return in words whose loss was checked."""
        told, loss, whose = self.told["support"], self.kind, "Bayesian"
        prior = support = None
        if told is not None:
            whose = "risk-averse"
            support = "all" if told["kind"] == "all" else _listed_words(self.support, 1)
        else:
            prior = "uniform" if self.uniform else window_prior(self.file, self.answers)[1]
        if loss == "listed":
            loss = _listed_words(self._listed.ravel(), self.unit)
        words = {"kind": whose, "prior": prior, "support": support}
        return words | {"loss": loss, "guesses": self.guesses}


def window_prior(file: Contents, nodes: int) -> tuple[Array, str]:
    """Return a prior in units of its total, where it lies, and what it is in words.

    Nodes are all answers of the question, of which a window may be a part.
    """
    told, window = file.header["consumer"]["prior"], file.header["window"]
    if told["kind"] == "listed":
        found = file.whole("prior").astype(object)
        need(sum(found.tolist()) == told["total"], "the prior does not sum to 1")
        place = "" if window is None else f" from answer {window['start']} on"
        return found, _listed_words(found, told["total"]) + place
    found = named_prior(told["kind"], told["number"], nodes, window["start"], window["size"])
    return found, f"{told['kind']}({told['number']})"


@lru_cache(maxsize=2)
def named_prior(kind: str, number: Fraction, nodes: int, start: int, size: int) -> Array:
    """Return a law with a name on a window of the answers, in units of 2^-61.

    ``π(k+1)/π(k)`` is a fraction that falls with k. From the largest value outwards every one is
    computed to 2^-128; the window must hold all of the law but 2^-40.

    >>> [x >> 57 for x in named_prior("geometric", Fraction(1, 2), 1000, 0, 90)[:3]]
    [8, 4, 2]
    """
    p, q, end = number.numerator, number.denominator, start + size
    need(kind == "poisson" or 0 < number < 1, f"the {kind} prior needs a number between 0 and 1")
    need(end <= nodes, "the prior reaches beyond the answers")
    need_work("the prior", size, 600, 200 * size)

    def ratio(k: int) -> tuple[int, int]:
        if kind == "binomial":
            return (nodes - 1 - k) * p, (k + 1) * (q - p)
        return (q - p, q) if kind == "geometric" else (p, q * (k + 1))

    def falls(k: int) -> bool:
        up, down = ratio(k)
        return up < down

    def times(weight: int, part: tuple[int, int]) -> int:
        return weight * part[0] // part[1]

    mode = bisect_left(range(start, end - 1), True, key=falls) + start
    below = (ratio(k)[::-1] for k in range(mode - 1, start - 1, -1))
    left = [*accumulate(below, times, initial=1 << 128)]
    right = accumulate(map(ratio, range(mode, end - 1)), times, initial=1 << 128)
    found = [*left[:0:-1], *right]
    total, rest = sum(found), 0
    for edge, k, outside in ((found[0], start - 1, start > 0), (found[-1], end - 1, end < nodes)):
        up, down = sorted(ratio(k)) if outside else (0, 1)
        inwards = not outside or falls(k) == (k >= start)
        need(inwards and up < down, "the prior does not lie in the window")
        rest += (edge + 1) * up // (down - up) + 1
    need(rest << 40 <= total, "the prior does not lie in the window")
    units = [(x << 61) // total for x in found]
    units[mode - start] += (1 << 61) - sum(units)
    return np.array(units, object)


def _listed_words(numbers: Array, unit: int) -> str:
    """Return a list of numbers in words: all of a short one, the digest of a long one."""
    if len(numbers) <= 12:
        return "listed: " + ", ".join(str(Fraction(int(x), unit)) for x in numbers.tolist())
    found = hashlib.sha256(" ".join([*map(str, numbers.tolist()), str(unit)]).encode()).hexdigest()
    return f"listed: {len(numbers)} numbers over {unit} with digest {found[:32]}"


class LimitedCosts(Consumer):
    """A consumer whose costs count in what a limit on vulnerability or loss is about.

    An attacker who does w gains a_w(i) under answer i: by default he knows the prior and gains 1
    by a right guess. Outputs x have the vulnerability Σ_x max_w a_w·x.
    """

    def __init__(self, consumer: Consumer) -> None:
        vars(self).update(vars(consumer))  # but for the costs, all is the consumer's
        self.consumer, self.limit = consumer, self.file.header["limit"]
        self.prior_total, self.binary, self.power = 1, False, 0
        self.attack, self.parts = consumer.prior, consumer.prior_total
        attacker = self.limit["attacker"]
        if attacker["kind"] == "listed":
            self.parts = attacker["denominator"]
            listed = self.file.whole("attack").astype(object)
            need(bool(listed.any()), "limit: an attacker who can gain nothing limits nothing")
            self.attack = listed.reshape(-1, self.n)
        work = self.attack.size * max(self.guesses, consumer.outputs)
        need_work("the gains of the attacker", work, 150)

    @cached_property
    def vulnerability(self) -> Fraction:
        """What the attacker gains from the outputs, exactly."""
        found = 0
        for _, block in self.weights.columns():
            each = block.astype(object)
            gains = self.attack[:, None] * each if self.attack.ndim == 1 else self.attack @ each
            found += sum(gains.max(axis=0).tolist())
        return Fraction(found, self.weights.total * self.parts)

    def kept(self, loss: Fraction) -> tuple[str, str, Fraction]:
        """Check that the limit is kept; return it in words, and what is least under it."""
        found, most, limited = self.vulnerability, self.limit["most"], self.limit["limited"]
        _agreed("limit: an attacker gains", found, self.limit["vulnerability"])
        other, value, has = "expected loss", loss, found
        if limited == "loss":
            other, value, has = "vulnerability", found, loss
        need(has <= most, f"limit: the {limited} passes it by {float(has - most):.3g}")
        return f"{limited} at most {float(most):.12g}", other, value

    def weigh(self) -> Fraction:
        """Read the weight of the limit and the choices; return the weight times the limit."""
        one, weight = 1 << self.bits, int(self.file.header["certificate"]["weight"])
        share, self.times = weight, one
        if self.limit["limited"] == "loss":
            share, self.times = one, weight
        self.choices = self.file.whole("choices").astype(object).reshape(self.guesses, -1)
        for k in np.flatnonzero(self.choices.sum(axis=1) != share)[:1].tolist():
            need(False, f"certificate: the choices at guess {k} do not sum to their weight")
        self.prior = np.full(self.n, 1, object)
        self.unit = self.consumer.scale * self.parts << self.bits
        return Fraction(weight, one) * Fraction(self.limit["most"])

    def losses(self, guess: int) -> Array:
        """Return what a guess costs under every answer, with the limit counted in."""
        own = self.consumer.prior * self.consumer.losses(guess) * (self.times * self.parts)
        chosen = self.choices[guess]
        taken = chosen * self.attack if self.attack.ndim == 1 else chosen @ self.attack
        return np.asarray(own + taken * self.consumer.scale)


# -- optimality ---------------------------------------------------------------------------


def lower_bound(consumer: Consumer) -> Fraction:
    """Return the bound that the certificate proves, or stop where it proves nothing."""
    kind = consumer.file.header["certificate"]["kind"]
    if isinstance(consumer, LatticeConsumer) and kind == "unbounded":
        return consumer.ended_bound()
    if kind == "envelope":
        return envelope_bound(consumer)
    prices = consumer.file.whole("prices").astype(object)
    for k, answers, _ in debts(consumer, prices):
        for i in answers[:1].tolist():
            need(False, f"certificate: guess {k} is not priced at answer {i}")
    return consumer.price_bound(prices)


#: For a guess the answers whose prices are too high, and by how many units of a price.
Debts = Iterator[tuple[int, Array, Array]]


def debts(consumer: Consumer, prices: Array) -> Debts:
    """Return what prices of any kind lack to prove a bound: nothing, if they prove it."""
    found: dict[str, Callable[[Any, Array], Debts]] = {
        "multipliers": _arc_debts,
        "phi": _phi_debts,
        "tree": _tree_debts,
        "line": _line_debts,
        "stairs": _stair_debts,
        "stretched": _end_debts,
    }
    return found[consumer.file.header["certificate"]["kind"]](consumer, prices)


def _arc_debts(consumer: Consumer, prices: Array) -> Debts:
    """Send along every arc what its multiplier says."""
    guess, start, end, value = consumer.arcs
    need(bool((np.diff(guess) >= 0).all()), "multipliers must be sorted by guess")
    work = consumer.n * consumer.guesses * consumer.effort + len(guess)
    need_work("the conditions of all guesses", work, 300)
    which = consumer.graph.ratio_of(start, end)
    need(bool((which >= 0).all()), "certificate: a multiplier joins answers that are no neighbours")
    alpha = np.array(consumer.file.alphas, object)[which]
    cuts = np.searchsorted(guess, np.arange(consumer.guesses + 1))
    for k in range(consumer.guesses):
        mine = slice(cuts[k], cuts[k + 1])
        owed = prices * (1 << 62)
        np.add.at(owed, end[mine], value[mine] * (1 << 62))
        np.subtract.at(owed, start[mine], value[mine] * alpha[mine])
        cost = consumer.prior * consumer.losses(k) * (1 << (62 + consumer.bits))
        room = cost - owed * consumer.scale
        i = np.flatnonzero(room < 0)
        yield k, i, -(room[i] // (consumer.scale << 62))


def _tree_debts(consumer: Consumer, prices: Array) -> Debts:
    """Send everything to the root of each guess."""
    work = consumer.n * consumer.guesses * consumer.effort
    need_work("the conditions on a tree", work, 900)
    tree, owed = Tree(consumer.graph), prices * consumer.scale
    for k, root in enumerate(consumer.file.whole("places").tolist()):
        cost = consumer.prior * consumer.losses(k) * (1 << consumer.bits)
        place, left = tree.left_at(root, (cost - owed).tolist(), consumer.file.alphas)
        if left < 0:
            yield k, np.array([place]), np.array([-(left // consumer.scale)], object)


def _stair_debts(consumer: Consumer, prices: Array, digits: int = 48) -> Debts:
    """Send everything towards the core of each guess, in units that fit into machine integers.

    Answers so far from the core that a piece of them counts less than 2^-digits there pay nothing,
    and must owe nothing.
    """
    graph, alpha, n = consumer.graph, consumer.file.alphas[0], consumer.n
    one = graph.form == "box" and len(graph.sides) == 1
    need(one and 0 < alpha < 1 << 62, "certificate: stairs are for answers on a line")
    width, layers, left = graph.sides[0][1], 1, alpha
    while left >> (62 - digits) and layers * width < n:
        left, layers = left * alpha >> 62, layers + 1
    reach = layers * width
    work = consumer.guesses * (min(n, 2 * reach) + n // 3) * consumer.effort
    need_work("the conditions of all guesses", work, 1000)
    low, high = consumer.cores
    sound = (low >= 0) & (low <= high) & (high < n)
    need(bool(sound.all()), "certificate: a core has no answers")
    owed, step = prices * consumer.scale, max(16, (1 << 20) // min(n, 3 * reach))
    share, added = consumer.prior * (1 << consumer.bits), added_up(width, layers, alpha, high - low)
    for at in range(0, consumer.guesses, step):
        k = np.arange(at, min(at + step, consumer.guesses))
        some = slice(max(0, int(low[k].min()) - reach), min(n, int(high[k].max()) + reach + 1))
        rows = []
        for guess in k.tolist():
            left = share * consumer.losses(guess) - owed
            rows.append(left[some].copy())
            left[some] = 0
            out = np.flatnonzero(left < 0)  # out of reach nobody pays, and nothing may be owed
            if len(out):
                yield guess, out, -(left[out] // consumer.scale)
        weights = np.array(rows)
        shift = max(0, (int(abs(weights).max()) * added).bit_length() - 61)
        core = low[k] - some.start, high[k] - some.start
        short = unpaid((weights >> shift).astype(np.int64), *core, width, alpha)
        for row in np.flatnonzero(short.any(axis=1)).tolist():
            places = np.flatnonzero(short[row])
            debt = short[row, places].astype(object) << shift
            yield int(k[row]), places + some.start, -(-debt // consumer.scale)


def added_up(width: int, layers: int, alpha: int, cores: Array) -> int:
    """Return how many times the largest weight sums of what answers have can be."""
    grown = min(layers, (1 << 62) // ((1 << 62) - alpha) + 1)
    return max((2 * width + 2) * grown, int(cores.max()) + 1)


def unpaid(weights: Array, low: Array, high: Array, width: int, alpha: int) -> Array:
    """Return what answers owe when everything is sent towards the core of each guess.

    One row for each guess. A piece t of the coefficient of x_j is worth ⌊α·t⌋ at a neighbour i,
    because x_j >= α·x_i. Outside the core an answer is paid by those v to 1 further out in the
    next layer of v answers: the furthest reach the fewest others, and what is left goes to the one
    v nearer. By Hall's theorem the core is paid when every interval of it owes no more than all
    who may pay for one of its answers have.

    >>> row = np.array([[8, -2, -4, -1, 4]])
    >>> unpaid(row, np.array([1]), np.array([2]), 1, 1 << 61).tolist()
    [[0, 0, 4, 0, 0]]
    """
    rows, n = np.arange(len(weights))[:, None], weights.shape[1]
    owed, reached = np.zeros_like(weights), []
    for start, out in ((high + 1, 1), (low - 1, -1)):
        spare = np.zeros((len(weights), width), np.int64)
        far = int((n - start if out > 0 else start + 1).max())
        for t in range(-(-far // width) - 1, -1, -1):
            i = start[:, None] + out * np.arange(t * width, (t + 1) * width)
            inside, i = (i >= 0) & (i < n), np.clip(i, 0, n - 1)
            w = np.where(inside, weights[rows, i], 0)
            has, debt = _part(spare, alpha), np.maximum(-w, 0)
            late = np.cumsum((debt - has)[:, ::-1], axis=1)
            late -= np.minimum(np.minimum.accumulate(late, axis=1), 0)
            rest = late[:, -1:]  # of the debts up to each answer, those before it
            if rest.any():
                short = np.clip(rest - np.cumsum(debt, axis=1) + debt, 0, debt)
                owed[np.broadcast_to(rows, i.shape)[inside], i[inside]] = short[inside]
            spare = np.maximum(w + has + np.diff(late, axis=1, prepend=0)[:, ::-1], 0)
        reached.append(np.cumsum(_part(spare, alpha), axis=1))
    size = high - low + 1
    p = np.arange(int(size.max()))
    inside, i = p < size[:, None], np.minimum(low[:, None] + p, n - 1)
    debt = np.where(inside, np.maximum(-weights[rows, i], 0), 0)
    due, left = np.cumsum(debt, axis=1), np.maximum(size[:, None] - 1 - p, 0)
    right, before = (
        np.where(far < width, sums[rows, np.maximum(width - 1 - far, 0)], 0)
        for sums, far in zip(reached, (left, np.broadcast_to(p, inside.shape)), strict=True)
    )
    opened = np.where(inside, due - debt + before, 1 << 62)
    short = np.where(inside, due - right - np.minimum.accumulate(opened, axis=1), 0)
    # What the worst interval of a core lacks is shared by its answers that owe something.
    for at in np.flatnonzero((short > 0).any(axis=1)).tolist():
        last = int(short[at].argmax())
        first = int(opened[at, : last + 1].argmin())
        some = first + np.flatnonzero(debt[at, first : last + 1])
        owed[at, low[at] + some] = -(-short[at, last] // len(some))
    return owed


def _line_debts(consumer: Consumer, prices: Array) -> Debts:
    """Send everything to the root of each guess on a path, for all guesses at once."""
    costs, owed = line_numbers(consumer, prices)
    narrow = max(consumer.factor, consumer.unit) < 1 << 128 and max(abs(prices)) < 1 << 192
    need(narrow and consumer.bits <= 128, "the certificate is too wide for a line")
    cuts = (np.cumsum(consumer.file.whole("places")) - 1).tolist()
    need(cuts[-1] < consumer.n, "certificate: a cut lies behind the last guess")
    rooms = line_rooms(costs, owed, consumer.file.alphas[0], consumer.power, cuts)
    roots = np.searchsorted(cuts, np.arange(consumer.n)).tolist()
    # The last guess with its root before an edge, the first one behind it, and all at their roots.
    guesses = (cuts, [cut + 1 for cut in cuts], range(consumer.n))
    answers = (range(1, consumer.n), range(consumer.n), roots)
    for ks, at, side in zip(guesses, answers, rooms, strict=True):
        for k, i, room in zip(ks, at, side, strict=False):
            if room < 0:
                short = -(room // (consumer.scale << 62))
                yield k, np.array([i]), np.array([short], object)


def line_numbers(consumer: Consumer, prices: Array) -> tuple[list[int], list[int]]:
    """Return costs per distance and prices over one denominator."""
    path = consumer.graph.is_path and consumer.n > 1 and consumer.power > 0
    need(path, "certificate: a line needs a path and a loss by distance")
    need_work("the conditions on a line", consumer.n, 60_000, 3000 * consumer.n)
    costs = consumer.prior * (consumer.factor << consumer.bits)
    return costs.tolist(), (prices * consumer.scale).tolist()


def _phi_debts(consumer: Consumer, prices: Array) -> Debts:
    """Raise y = -prices where it does not reach the prior: an answer first of all by itself."""
    room = phi_room(consumer, (-prices).astype(np.int64))
    k = np.flatnonzero(room < 0)
    if len(k):
        short = -(room[k] // (((1 << 62) - 1) * consumer.prior_total))
        yield int(k[0]), k if len(prices) > 1 else k * 0, short


def phi_room(consumer: Consumer, y: Array) -> Array:
    """Return ``Σ_i y_i·α^d(i,k) - π_k`` for all k, in units of 2^-62-bits of the prior's.

    Powers of α are rounded down to multiples of 2^-62, one after another, and a product is summed
    up coordinate by coordinate, rounded down each time. One number y stands for a constant; where
    all answers look alike and the prior is uniform, one k stands for all.
    """
    graph, alpha, n = consumer.graph, consumer.file.alphas[0], consumer.n
    one = consumer.binary and len(graph.lengths) == 1
    need(one, "certificate: phi is for binary loss and edges of length 1")
    alike, powers = len(y) == 1 and graph.looks_alike, [1 << 62]
    if len(y) == 1 and not alike:
        y = np.full(n, int(y[0]))
    # No distance is longer than this: the last power goes on, if it is 0.
    longest = max(len(graph.sides), *(size for size, _ in graph.sides)) if graph.sides else n
    while powers[-1] and len(powers) <= longest:
        powers.append(powers[-1] * alpha >> 62)
    reached: Any
    if alike:
        reached = int(y[0]) * sum(map(mul, graph.spheres(), powers))
    elif graph.form == "box":
        powers = [powers[0] - 1, *powers[1:], 0]  # differences stay below 2^62
        reached = box_sums(graph.sides, [width for _, width in graph.sides], powers, y)
    elif graph.form == "product":
        reached = _product_sums(graph, alpha, y)
    elif graph.form == "ring":
        half = [*powers, *[0] * n][: n // 2 + 1]
        kernel = np.array([*half[:0:-1], *half], object)
        kernel[0] *= n % 2  # the opposite answer of an even ring is reached once
        around = np.concatenate([y[-(n // 2) :], y, y[: n // 2]]).astype(object)
        reached = convolved(kernel, around)[n // 2 : n // 2 + n]
    else:
        far = np.minimum(graph.all_distances, len(powers) - 1)
        need_work("the sums of phi", n * n, 150, 24 * n * n)
        reached = np.array(powers, object)[far] @ y.astype(object)
    prior = np.ones(1, object) if alike and consumer.uniform else consumer.prior
    return np.asarray(reached * consumer.prior_total - prior * (1 << (62 + consumer.bits)))


def _product_sums(graph: Graph, alpha: int, y: Array) -> Array:
    """Return ``2^62·Σ_i y_i·α^d(i,k)`` rounded down, where d is a sum over coordinates."""
    need_work("the sums of phi", graph.nodes * len(graph.sides), 800, 400 * graph.nodes)
    found = y.astype(object).reshape([size for size, _ in graph.sides]) * (1 << 62)
    for axis, (size, width) in enumerate(graph.sides):
        lines = np.moveaxis(found, axis, 0)
        if width >= size - 1:
            lines = lines + ((lines.sum(axis=0) - lines) * alpha >> 62)
        else:
            need(width == 1, "certificate: phi is for paths and cliques in a product")
            before, behind = lines * 0, lines * 0
            for j in range(1, size):
                before[j] = (before[j - 1] + lines[j - 1]) * alpha >> 62
                behind[-1 - j] = (behind[-j] + lines[-j]) * alpha >> 62
            lines = lines + before + behind
        found = np.moveaxis(lines, 0, axis)
    return found.ravel()


def envelope_bound(consumer: Consumer) -> Fraction:
    """Raise the prior to the least v with ``v_h >= α·v_i`` on edges of a tree; return its bound.

    From the leaves to the root and back, rounded up: ⌈α·v⌉ is at most v, so what the way up made
    true the way back keeps true.
    """
    graph, alpha = consumer.graph, consumer.file.alphas[0]
    one = consumer.binary and len(graph.lengths) == 1
    need(one, "certificate: an envelope is for binary loss and edges of length 1")
    need_work("the envelope of the prior", graph.nodes, 5000, 600 * graph.nodes)
    tree, total = Tree(graph), consumer.prior_total
    v = [-((-weight << consumer.bits) // total) for weight in consumer.prior.tolist()]
    links = [(c, tree.parent[c]) for c in tree.order[1:]]
    for i, h in [*reversed(links), *((p, c) for c, p in links)]:
        v[h] = max(v[h], -(-v[i] * alpha >> 62))
    degree = np.bincount(np.array(links, np.int64).ravel(), minlength=graph.nodes).tolist()
    right = sum(x * ((1 << 62) - (many - 1) * alpha) for x, many in zip(v, degree, strict=True))
    return 1 - Fraction(right, (1 << 62) + alpha << consumer.bits)


# -- questions without ends ---------------------------------------------------------------


@dataclass(frozen=True)
class Lattice:
    r"""The lattice that the answers of a question are a part of, and its layers.

    Neighbours differ on a *line* by 1 … width, on a *cube* by 1 in any coordinates, on a *range*
    by +1 in any or -1 in any, on a *cross* by 1 in one coordinate, among *roots* (of one sum) by
    one up and another one down. A line with a core r has the layer -r … r first.

    >>> Lattice("cube", 2, 9).layers(3), Lattice("roots", 3, 9).layers(3)
    ([1, 8, 16], [1, 6, 12])
    """

    form: str
    parts: int
    people: int  # the largest coordinate of an answer; the sum of the coordinates of roots
    width: int = 1
    hidden: bool = False  # whether answers do not show their last coordinate
    step: Fraction = Fraction(1)
    inner: int = 0  # answers up to this one are as far apart as in the lattice
    core: int = 0

    @property
    def nodes(self) -> int:
        """The number of answers."""
        if self.form == "roots":
            return comb(self.people + self.parts - 1, self.parts - 1)
        if self.form == "cross":
            return comb(self.people + self.parts, self.parts)
        return int((self.people + 1) ** self.parts)

    def ball(self, t: int) -> int:
        """Return how many points of a line, cube or range lie up to distance t."""
        k = self.parts
        if self.form == "range":
            return int((t + 1) ** (k + 1) - t ** (k + 1))
        return int((2 * (self.core + t * self.width) + 1) ** k)

    def series(self) -> tuple[list[int], int]:
        """Return P and m: the sizes of the layers are the coefficients of P(x)/(1-x)^m."""
        k = self.parts
        if self.form == "cross":
            return [comb(k, j) for j in range(k + 1)], k
        if self.form == "roots":
            return [comb(k - 1, j) ** 2 for j in range(k)], k - 1
        return numerator([self.ball(t) for t in range(k + 1)]), k

    def layer(self, t: int) -> int:
        """Return how many points lie at distance t, for one t."""
        top, m = self.series()
        return sum(c * comb(t - j + m - 1, m - 1) for j, c in enumerate(top[: t + 1]))

    def layers(self, count: int) -> list[int]:
        """Return how many points lie at distance 0, 1, …, up to a count."""
        k = self.parts
        need_work("the layers of a lattice", count * (k + 1), 400, count * (k + 20) * 8)
        return _series(*self.series(), count)

    def lost(self, loss: str, count: int) -> list[int]:
        """Return the sums of a loss over the layers, in units of the step (or its square)."""
        k, each = self.parts, self.layers(count)
        if loss == "binary":
            return [each[0] - 1, *each[1:]]
        if loss == "distance" and self.form != "line":
            return [t * n for t, n in enumerate(each)]
        if self.form in ("line", "cube", "range"):
            balls = [0, *(self.lost_within(loss, t) for t in range(count))]
            return [b - a for a, b in pairwise(balls)]
        shown = k - self.hidden
        if loss == "absolute":
            return [shown * ((2 - (self.form == "cross")) * t * n // k) for t, n in enumerate(each)]
        if self.form == "cross":
            return _series([0, *(2 * k * comb(k, j) for j in range(k + 1))], k + 2, count)
        need_work("the losses of a lattice", count * k, 4000)
        return [shown * _square_sum(k, t) for t in range(count)]

    def lost_within(self, loss: str, t: int) -> int:
        """Return the sum of a loss over all points of a line, cube or range up to distance t."""
        k, r = self.parts, self.core + t * self.width
        if loss == "binary":
            return self.ball(t) - 1
        if self.form == "range":
            ends = ((m, 2 if loss == "absolute" else m) for m in (t, t + 1))
            less, more = (k * m**k * (m * m - 1) * times // 6 for m, times in ends)
            return int(more - less)
        if loss == "distance":
            whole, rest = divmod(r, self.width)
            return (self.width * whole + 2 * rest) * (whole + 1)
        side = r * (r + 1) if loss == "absolute" else r * (r + 1) * (2 * r + 1) // 3
        return int(k * (2 * r + 1) ** (k - 1) * side)

    def units(self, loss: str) -> Fraction:
        """Return what a loss by steps counts in units of the answers."""
        return self.step ** {"absolute": 1, "squared": 2}.get(loss, 0)

    def around(self, reach: int) -> int:
        """Return how many points a box (for roots a simplex) has that holds all within reach."""
        if self.form == "roots":
            return comb(self.people + self.parts * (reach + 1) - 1, self.parts - 1)
        return int((self.people + 1 + 2 * (self.core + reach * self.width)) ** self.parts)

    def largest(self, loss: str, reach: int) -> int:
        """Bound the loss between an answer and a point around the answers."""
        far = self.people + self.core + reach * self.width
        far = self.people + self.parts * reach if self.form == "roots" else far
        if loss == "binary":
            return 1
        return (2 * self.parts * far) ** 2 if loss == "squared" else 2 * self.parts * far


def numerator(values: list[int]) -> list[int]:
    """Return P with ``Σ_t f(t)·x^t = P(x)/(1-x)^n`` by n values of an f of degree less than n.

    >>> numerator([1, 9, 25])
    [1, 6, 1]
    """
    for _ in values:
        values = [b - a for a, b in pairwise([0, *values])]
    return values


def evaluated(top: list[int], x: Fraction) -> Fraction:
    """Return a polynomial at x, by Horner's rule in integers.

    >>> evaluated([1, 6, 1], Fraction(1, 2))
    Fraction(17, 4)
    """
    value, scale = 0, 1
    for coefficient in reversed(top):
        value = value * x.numerator + coefficient * scale
        scale *= x.denominator
    return Fraction(value * x.denominator, scale)


def _series(top: list[int], power: int, count: int) -> list[int]:
    """Return the first coefficients of a polynomial over (1-x)^power."""
    found = [*top[:count], *[0] * (count - len(top))]
    for _ in range(power):
        found = list(accumulate(found))
    return found


def _square_sum(k: int, t: int) -> int:
    """Return Σ z_1² over the roots of k coordinates at distance t.

    The others have sum t - a upwards and t downwards if z_1 = a: the coefficient of x^t·y^t in
    2·x(1+x)/(1-x)³ times ((1-xy)/((1-x)(1-y)))^(k-1).
    """
    total = 0
    for j in range(min(k - 1, t) + 1):
        squares = comb(t - j + k, k + 1) + comb(t - j + k - 1, k + 1)
        total += 2 * (-1) ** j * comb(k - 1, j) * squares * comb(t - j + k - 2, k - 2)
    return total


def question_lattice(question: str, relation: str) -> Lattice:
    """Derive the lattice of a question from its text.

    >>> question_lattice("histogram(6000,8)", "change-one").form
    'roots'
    """
    found = named_lattice(*called(question), relation)
    known = found is not None and found.people > 0 and found.parts <= 1000
    if found is None or not known or (found.form, found.parts) == ("roots", 1):
        raise Refused(f"question: {question} under {relation} has no lattice that is known here")
    return found


def named_lattice(name: str, sizes: list[int], relation: str) -> Lattice | None:
    """Return the lattice that the answers of a question are a part of, if there is one."""
    change, absent = relation != "add-remove", relation != "change-one"
    match name, sizes:
        case "count", [n]:
            return Lattice("line", 1, n, inner=n)
        case "path", [n]:
            return Lattice("line", 1, n - 1, inner=n - 1)
        case "sum", [n, k]:
            inner = n * k if change or k == 1 else (n - 1) * k
            return Lattice("line", 1, n * k, k, inner=inner)
        case "mean", [n, k] if not absent:
            return Lattice("line", 1, n * k, k, step=Fraction(1, n), inner=n * k)
        case "counts", [n, k]:
            return Lattice("cube" if change else "range", k, n, inner=n if change else n - 1)
        case "histogram", [n, k]:
            form, parts = ("roots", k + absent) if change else ("cross", k)
            return Lattice(form, parts, n, hidden=absent and change, inner=n // parts)
    return None


def falling_levels(first: Sequence[int], ratio: Fraction, most: int = 1 << 62) -> list[int]:
    """Go on from r levels with always ⌈w·q/p⌉, r levels later, up to the first one that stays.

    >>> falling_levels([8], Fraction(2)), falling_levels([8, 6], Fraction(2), 3)
    ([8, 4, 2, 1], [8, 6, 4, 3])
    """
    p, q, step = ratio.numerator, ratio.denominator, len(first)
    many = min(most, int(step * first[0].bit_length() / max(p / q - 1, 1e-9)) + 1)
    need_work("the levels of a rule", many, 500, many * (first[0].bit_length() // 8 + 40))
    found = [*first]
    while len(found) <= most:
        found.append(-(-found[-step] * q // p))
        if found[-1] == found[-1 - step]:
            break
    return found[: found.index(found[-1]) + 1]


class LatticeWeights:
    r"""Noise on a lattice: ``W[x,y] = w[min(t, T)]`` for points y at distance t from the answer x.

    The outputs are the points of a box (for roots a simplex) that holds all within distance T of
    an answer. What is reported of y depends on y alone: each number is held between its ends,
    which brings it further from no answer. One step changes t by at most 1, so W is private when
    ``w_t >= w_(t+1)`` and ``w_t·q <= w_(t+1)·p``. Every row has the same sum ``Σ N_t·(w_t - w_T) +
    w_T·(points of the box)``: the balls up to T-1 lie in the box. The file names w_1; then every
    level is ⌈w·q/p⌉, T is the first that stays as it is, and w_0 is what is left to 2^bits.
    """

    kind = "lattice"

    def __init__(self, file: Contents) -> None:
        told, header = file.header["weights"], file.header
        need(header["query"] is not None, "a lattice belongs to a named question")
        plain = header["outputs"] is None and header["delta"] is None
        need(plain, "the outputs of a lattice are the answers, and it has no δ")
        named = question_lattice(header["query"], header["neighbours"])
        need(named.form == "line" or not told["core"], "only a line has a core")
        self.lattice = replace(named, core=told["core"])
        need(self.lattice.core < self.lattice.width, "the core must be less than the largest step")
        self.file, self.bits, self.total = file, told["bits"], 1 << told["bits"]
        self.outputs, self.ratio = self.lattice.nodes, header["ratios"][0]
        levels = falling_levels([told["start"]], self.ratio)
        self.reach = len(levels)  # T
        self.sizes = self.lattice.layers(self.reach)
        self.floor = levels[-1] * self.lattice.around(self.reach)
        rest = sum(n * (w - levels[-1]) for n, w in zip(self.sizes[1:], levels, strict=False))
        need(self.floor + rest < self.total, f"total: the layers weigh more than 2^{self.bits}")
        first, odd = divmod(self.total - self.floor - rest, self.sizes[0])
        # What does not divide by the points of the first layer goes to the one in its middle.
        self.levels, self.odd = [first + levels[-1], *levels], odd

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with privacy."""
        p, q = self.ratio.numerator, self.ratio.denominator
        first, second = self.levels[:2]
        if not second <= first or (first + self.odd) * q > second * p:
            yield f"privacy: the first layers weigh {first} and {second}, not within {p}/{q}"

    def proved(self) -> str:
        """Return what was checked, where nothing is wrong."""
        many = str(self.lattice.nodes)
        many = many if len(many) < 16 else f"10^{len(many) - 1}"
        return f"w_t·q <= w_(t+1)·p over the {self.reach} layers around each of {many} answers"

    def worst(self, loss: str) -> Fraction:
        """Bound the worst loss: what lies beyond the ends is moved towards every answer."""
        lattice, last = self.lattice, self.levels[-1]
        each = zip(lattice.lost(loss, self.reach), self.levels, strict=False)
        lost = sum(x * (w - last) for x, w in each)
        found = Fraction(lost + self.floor * lattice.largest(loss, self.reach), self.total)
        return found * lattice.units(loss)


def unbounded_bound(lattice: Lattice, loss: str, gamma: int) -> Fraction:
    r"""Bound ``Σ p·loss / Σ p`` from below for all p >= 0 with ``p(z') >= γ·p(z)`` on neighbours.

    γ is in units of 2^-62. On the unbounded question noise that does not depend on the answer is
    as good as any: averaged over shifts, a mechanism loses no more than in its worst case.

    *Lines.* The sets {p > s} have sizes a_t with a_(t+1) >= a_t + 2·width, and a set loses least
    as an interval around 0. What the middle a + 2·width·t points lose, summed with γ^t, is convex
    in a, and linear between odd a; how many they are is linear. So their ratio has no minimum but
    the least one, at an odd a.

    *Crosses.* Along each coordinate p is private on a line, and the losses are sums over them.
    On cubes and ranges this is a bound as well.

    *Sizes.* On a cube the sizes have ``a_(t+1)^(1/k) >= a_t^(1/k) + 2`` (Brunn and Minkowski, for
    the unit cells around the points), and a set of a size has at least the absolute loss of as
    many points next to 0. What a set loses less μ times its size is convex in the size, so
    the worst sizes are (r + 2t)^k, r >= 1; bounded over intervals of r.

    *Layers.* Let weights g_t have ``g_(t+1) <= γ·g_t``, let N_t be the layer sizes, φ_t rising, and
    μ = Σ g·N·φ / Σ g·N. If a point of layer t, uniformly drawn, can be moved by one step to
    a uniform point of layer t+1, then a flow of T_t/(γ·g_t), T_t = Σ_(s<=t) g_s·N_s·(μ - φ_s) >= 0,
    from each layer to the next proves Σ p·φ >= μ·Σ p. *Cubes*: stretch the shell of unit cells
    of layer t radially to the shell of layer t+1 such that volume stays in proportion. The k-th
    power of the new radius is linear in that of the old one, the k-th power of (radius + 1)
    concave, and both ends meet: no coordinate moves by more than 1.
    *Roots*: p may be taken to fall with spread (put the points of {p > s} on each line e_i - e_j
    into its middle: sets grow by steps at least as before and lose no more). Let z with positive
    parts a and negative parts b send ``a·(b+1) + (a+1)·b`` to z + e_i - e_j, where only one of
    the two places may have been 0. What arrives at a point with s coordinates other than 0 is
    t·(2t - s), what leaves it t·(2t + 2k - s). With u_t as the flow over the sum of these,
    loss less flow rises with s in a layer if ``u_(t-1) >= γ·u_t``, which is checked. And points
    with s+1 such coordinates are, on average, weighed at least as those with s: joining two
    neighbouring parts of one sign leads from uniform ones to uniform ones, since the number of
    positive parts grows with s by 0 or 1 (its likelihood ratios are monotone).
    """
    if lattice.form == "line":
        return _line_bound(lattice, loss, gamma)
    k, one = lattice.parts, 1 << 62
    side = Fraction(gamma, one)
    alone = 2 * side / (1 - side * side), 2 * side / (1 - side) ** 2
    found = Fraction(0)
    if lattice.form != "roots" and loss != "binary":
        many = 1 if loss == "distance" and lattice.form != "cross" else k
        found = many * alone[loss == "squared"]
        if lattice.form != "cube":
            return found

    roots, shown = lattice.form == "roots", k - lattice.hidden
    # The numbers that are shown of a root at distance t have absolute values of this sum.
    each = 2 - lattice.hidden if roots and loss != "distance" else 1

    def least(t: int) -> int:
        """Bound the loss of the points at distance t from below."""
        if loss == "binary":
            return int(t > 0)
        if loss == "squared":
            return max(-(-((each * t) ** 2) // (shown if roots else 1)), each * t)
        return each * t

    powers, sizes = _powers(lattice, gamma)
    mass = [g * n for g, n in zip(powers, sizes, strict=True)]
    lost = sum(m * least(t) for t, m in enumerate(mass))
    if lattice.form == "roots" and loss != "binary":
        _check_flow(lattice, gamma, powers, sizes, [least(t) for t in range(len(sizes))])
    if lattice.form == "cube" and loss == "absolute":
        found = max(found, _size_bound(k, powers))
    return max(found, Fraction(lost, sum(mass)))


def _size_bound(k: int, powers: list[int], parts: int = 64) -> Fraction:
    """Return the least loss over size of sets with (r + 2t)^k points, over intervals of r."""
    best: Fraction | None = None
    sums, losses = [1], [0]  # points up to each absolute loss, and their losses
    start, unit = parts, parts**k
    while True:
        need_work("the sizes of a bound", len(powers) * start.bit_length() * parts, 100 * k + 3000)
        end = start + max(1, start // parts)
        lost = size = 0
        for t, g in enumerate(powers):
            low = (start + 2 * parts * t) ** k  # sizes in units of parts^-k
            while sums[-1] * unit < low:
                layers = Lattice("cross", k, 1).layers(2 * len(sums))
                sums = [*accumulate(layers)]
                losses = [*accumulate(r * many for r, many in enumerate(layers))]
            r = bisect_left(sums, -(-low // unit))
            far = losses[r] * unit - r * (sums[r] * unit - low)
            if not t and best is not None and far * best.denominator >= best.numerator * low:
                return best
            lost, size = lost + g * far, size + g * (end + 2 * parts * t) ** k
        found = Fraction(lost, size)
        best = found if best is None else min(best, found)
        start = end


def _powers(lattice: Lattice, gamma: int) -> tuple[list[int], list[int]]:
    """Return γ^t as integers, rounded down, and the layers, up to where both are negligible."""
    need(0 < gamma < 1 << 62, "certificate: γ must be between 0 and 1")
    fall = -log2(gamma / 2**62)
    far = 8
    while True:
        need_work("the layers of a bound", far * lattice.parts, 2000)
        sizes = lattice.layers(far)
        if log2(sizes[-1]) - (far - 1) * fall < -80:
            break
        far *= 2
    powers = [1 << int(far * fall) + 128]
    for _ in range(far - 1):
        powers.append(powers[-1] * gamma >> 62)
    return powers, sizes


def _check_flow(
    lattice: Lattice, gamma: int, powers: list[int], sizes: list[int], least: list[int]
) -> None:
    """Check that the loss of roots less the flow rises with spread in every layer."""
    k, count = lattice.parts, len(sizes)
    fewer = replace(lattice, parts=k - 1).layers(count) if k > 2 else [1, *[0] * (count - 1)]
    # All that leaves a layer: a point has as many coordinates other than 0 as others have one 0.
    pairs = enumerate(zip(sizes, fewer, strict=True))
    leaves = [t * (n * (2 * t + 2 * k) - k * (n - m)) for t, (n, m) in pairs]
    mass = sum(g * n for g, n in zip(powers, sizes, strict=True))
    lost = sum(g * n * x for g, n, x in zip(powers, sizes, least, strict=True))
    owed = 0
    for t in range(count - 1):
        before, owed = owed, owed + powers[t] * sizes[t] * (lost - least[t] * mass)
        need(owed >= 0, f"certificate: layer {t} owes more than there is")
        if t > 1:
            there = before * powers[t] * leaves[t] << 62
            sound = there >= owed * powers[t - 1] * leaves[t - 1] * gamma
            need(sound, f"certificate: the flow out of layer {t} is too large")


def _line_bound(lattice: Lattice, loss: str, gamma: int) -> Fraction:
    """Return the least ratio over all cores of a line: it falls up to the best core, then rises."""

    def ratio(core: int) -> Fraction:
        """Return Σ γ^t·loss over Σ γ^t·points of the balls around a core: both are cubic in t."""
        line = replace(lattice, core=core)
        values = zip(*((line.lost_within(loss, t), line.ball(t)) for t in range(4)), strict=True)
        lost, points = (evaluated(numerator([*f]), Fraction(gamma, 1 << 62)) for f in values)
        return lost / points

    low, high = 0, lattice.width - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if ratio(middle + 1) >= ratio(middle) else (middle + 1, high)
    return ratio(low)


def ended_bound(lattice: Lattice, loss: str, alpha: int, slope: Fraction) -> Fraction:
    r"""Bound the worst loss of every private mechanism on the question itself.

    Let the prior be β^d(z,c), c in the middle, on the whole lattice, and let a mechanism for the
    answers be asked for the answer next to z: a map r that moves no two points further apart
    (the nearest point of a box; for roots 0 for numbers below 0, and what is too much then taken
    from the first classes). Its columns times the prior are private for γ = α·β, so it loses at
    least ``unbounded_bound(γ)``. At answers it loses at most its worst loss V; elsewhere at
    most what z is away from r(z) more. All points within M of c are answers, so that is at most
    twice what d(z,c) is above M, and weighs Σ_(t>M) N_t·β^t·(t-M) / Σ N_t·β^t: the ratios of
    N_t fall, so from M on this is less than a geometric series. For squared loss
    ``μ <= (1+s)·V + (1+1/s)·Σ(z-r(z))²``.
    """
    beta, lattice, form = slope, replace(lattice, core=0), lattice.form
    inside = lattice.inner // (1 if form == "roots" else 2 * lattice.width)
    near, far = lattice.layer(inside), lattice.layer(inside + 1)
    rho = beta * far / near
    if not inside or rho >= 1:
        return Fraction(0)
    top, power = lattice.series()
    whole = evaluated(top, beta) / (1 - beta) ** power
    places = near.bit_length() + 128
    share = _power_above(beta, inside, places) * near / whole
    per_step = {"line": lattice.width, "cross": 1, "roots": 2}.get(form, lattice.parts)
    best = unbounded_bound(lattice, loss, int(alpha * beta))
    if loss == "binary":
        return best - share * rho / (1 - rho)
    if loss == "squared":
        away = share * rho * (1 + rho) / (1 - rho) ** 3 * (2 * per_step) ** 2
        split = 1 << 20
        return (best - (1 + split) * away) / (1 + Fraction(1, split))
    return best - share * rho / (1 - rho) ** 2 * 2 * (1 if loss == "distance" else per_step)


def _power_above(base: Fraction, power: int, places: int) -> Fraction:
    """Return base^power, rounded up to so many binary places at each step."""
    found, square = 1 << places, -(-(base.numerator << places) // base.denominator)
    while power:
        if power & 1:
            found = -(-found * square >> places)
        square, power = -(-square * square >> places), power >> 1
    return Fraction(found, 1 << places)


class LatticeConsumer(Consumer):
    """Whose loss noise on a lattice has: the worst one, or on a line one for a prior.

    A prior that rises once and falls once is a mixture of uniform ones on intervals, and to know
    which one helps: the least loss is at least the mixture of theirs.
    A line of N answers with a uniform prior looks the same everywhere but at its ends. A file lists
    prices for the first answers, times N: the last one goes on, and the others are those of the
    last answers too. Guesses whose staircases reach no listed answer but the last are all alike, so
    those near one end and one more are all that there is to check. With a *stride* s the prices are
    those of every s-th answer: a private column is private there, for steps of ⌊v/s⌋, and the
    answers are s such rows, each with a uniform prior. For an absolute loss the best guess is one
    of the row; for a squared one it loses at most 1/4 of a step squared to the best number.
    """

    def __init__(self, weights: LatticeWeights) -> None:
        header = weights.file.header
        self.file, self.noise, self.lattice = weights.file, weights, weights.lattice
        self.told, self.proof = header["consumer"], header["certificate"]
        self.kind, self.answers = str(self.told["loss"]["kind"]), self.lattice.nodes
        self.guesses, self.bits = self.answers, int((self.proof or {}).get("bits", 0))
        self.uniform = self.told["prior"] == {"kind": "uniform"}
        ends = self.proof is not None and self.proof["kind"] == "stretched"
        sound = ends and self.uniform == (header["window"] is None)
        if self.told["support"] is not None:
            all_of = self.told["support"]["kind"] == "all"
            sound = all_of and not self.told["remapped"] and not ends
        sound = sound and self.kind != "listed" and header["limit"] is None
        need(sound, "noise on a lattice has a worst loss, or one for a prior with prices")

    @cached_property
    def unbounded(self) -> Fraction | None:
        """The worst loss of no private mechanism on the unbounded question is below this."""
        if self.uniform or self.proof is None:
            return None
        best = unbounded_bound(replace(self.lattice, core=0), self.kind, self.file.alphas[0])
        return _floor(best * self.lattice.units(self.kind))

    def ended_bound(self) -> Fraction:
        """Return the bound by rule on the worst loss on the question itself."""
        lattice, slope = self.lattice, self.proof["slope"]
        need(slope < 1, "certificate: the slope must be below 1")
        own = ended_bound(lattice, self.kind, self.file.alphas[0], slope)
        assert self.unbounded is not None
        return min(self.unbounded, _floor(max(Fraction(0), own) * lattice.units(self.kind)))

    @cached_property
    def row(self) -> Lattice:
        """The row of every ``stride``-th answer of a line, the shortest there is."""
        lattice, stride = self.lattice, self.proof["stride"]
        need(stride <= lattice.width, "certificate: the stride is longer than the largest step")
        last = (lattice.inner + 1) // stride - 1
        step, width = lattice.step * stride, lattice.width // stride
        return replace(lattice, width=width, inner=last, people=last, step=step)

    def price_bound(self, prices: Array) -> Fraction:
        """Return the bound that prices for the ends prove, if nothing is owed for them."""
        lattice, row, told = self.lattice, self.row, self.proof
        one, stride, last = 1 << self.bits, told["stride"], int(prices[-1])
        ends = Fraction(2 * stride * (sum(prices.tolist()) - len(prices) * last), one)
        middle = Fraction(last, one) - Fraction(int(stride > 1 and self.kind == "squared"), 4)
        # Both ends of an interval must have room for what their guesses see.
        least = (2 * len(prices) + 2 * told["layers"] * row.width + 2) * stride
        least = max(least, ceil(-ends / middle)) if middle > 0 else lattice.nodes + 1
        if self.uniform:
            high, total = int(lattice.inner + 1 >= least), lattice.nodes
            mass = high * (lattice.inner + 1)
        else:
            window = self.file.header["window"]
            inside = window["start"] + window["size"] <= lattice.inner + 1
            need(inside, "the prior reaches answers between which edges are missing")
            numbers = window_prior(self.file, lattice.nodes)[0]
            # Lowered until it rises once and falls once, a prior is even on its largest values.
            peak, total = int(np.argmax(numbers)), sum(numbers.tolist())
            sides = np.minimum.accumulate(numbers[peak::-1]), np.minimum.accumulate(numbers[peak:])
            heights = sorted(np.concatenate([sides[0], sides[1][1:]]).tolist(), reverse=True)
            high = heights[least - 1] if least <= len(heights) else 0
            mass = least * high + sum(heights[least:])
        return (middle * mass + ends * high) / total * row.units(self.kind)

    def expected(self) -> Fraction:
        """Bound the loss of noise on a line, with what is guessed near the ends.

        Who takes the output itself loses no more than in the worst case. Else noise up to the last
        layer but one is added up exactly, output by output where it reaches an end; of what is
        beyond, at most 2^-64 of a unit of loss, the largest loss is taken.
        """
        weights, lattice, loss = self.noise, self.lattice, self.kind
        if not self.told["remapped"]:
            return weights.worst(loss)
        need(self.uniform, "guesses near the ends are for a uniform prior")
        n, v, last = lattice.nodes, lattice.width, weights.levels[-1]
        far = lattice.core + (weights.reach - 1) * v
        need_work("the noise of outputs near the ends", 4 * far, 20_000, 800 * far)
        half = [w - last for w in weights.levels[: weights.reach]]
        noise = [half[-(-max(z - lattice.core, 0) // v)] for z in range(far + 1)]
        excess = [*noise[:0:-1], noise[0] + weights.odd, *noise[1:]]
        away, powers = range(-far, far + 1), range(3 if loss == "squared" else 2)
        sums = [[0, *accumulate(map(mul, excess, (z**p for z in away)))] for p in powers]
        ends = self.file.whole("guess_of").tolist()
        need(2 * len(ends) <= n, "the guesses of the two ends overlap")

        def lost(y: int) -> int:
            """Add up what output y costs over the answers within reach."""
            o = max(y, 0)
            guess = ends[o] if o < len(ends) else o
            a, b = max(0, far - y), min(2 * far + 1, far + n - y)  # answers' places in ``excess``
            if a >= b:
                return 0
            s = guess - y
            all_of: list[int] = [side[b] - side[a] for side in sums]
            if loss == "binary":
                return all_of[0] - int(excess[s + far] if a <= s + far < b else 0)
            if loss == "squared":
                return all_of[2] - 2 * s * all_of[1] + s * s * all_of[0]
            cut = min(max(s + far, a), b)
            before: list[int] = [side[cut] - side[a] for side in sums]
            return all_of[1] - s * all_of[0] - 2 * (before[1] - s * before[0])

        # Both ends cost the same, and between them all outputs do.
        edge = min(max(far, len(ends)), n // 2)
        total = 2 * sum(map(lost, range(-far, edge))) + (n - 2 * edge) * lost(edge)
        found = Fraction(total, weights.total * n)
        found += Fraction(weights.floor * lattice.largest(loss, weights.reach), weights.total)
        return found * lattice.units(loss)


def _floor(bound: Fraction) -> Fraction:
    """Round a bound down to 80 binary places."""
    return Fraction(int(bound * (1 << 80)), 1 << 80)


def distances(loss: str, far: Array) -> Array:
    """Return a loss by name at a distance on a line.

    >>> distances("squared", np.array([3])).tolist()
    [9]
    """
    need(loss in ("absolute", "squared", "binary"), f"the {loss} loss has no ends by rule")
    return far**2 if loss == "squared" else far if loss == "absolute" else np.minimum(far, 1)


def _end_debts(consumer: LatticeConsumer, prices: Array) -> Debts:
    """Yield for guesses near an end what their cores and the answers outside them owe.

    Answers beyond ``layers`` times v pay nothing.
    """
    told, alpha, ends = consumer.proof, consumer.file.alphas[0], len(prices)
    lattice, prices = consumer.row, prices.astype(np.int64)
    v, reach = lattice.width, told["layers"] * lattice.width
    count, cores = ends + reach + 1, consumer.cores
    need(lattice.form == "line" and 0 < alpha < 1 << 62, "certificate: ends are those of a line")
    apart = lattice.inner >= count + reach + ends  # none of these guesses sees the other end
    need(apart, "certificate: the ends are too close to each other")
    need_work("the guesses near an end", count * (2 * reach + 1), 250)
    away = np.arange(-reach, reach + 1)
    cost = distances(consumer.kind, abs(away).astype(object)) * (1 << consumer.bits)
    need(int(min(cost[0], cost[-1])) >= int(max(prices)), "certificate: there are too few layers")
    step = max(1, (1 << 19) // len(away))
    low, high = (np.append(side, side[-1] + np.arange(1, reach + 2)) for side in cores)
    guess = np.arange(count)
    near = (low <= high) & (guess - low < reach - v) & (high - guess < reach - v)
    need(bool(near.all()), "certificate: a core is empty or too far from its guess")
    # No weight is larger than ``most``, so R is at most ``grown`` + 1 times that; v of them, or all
    # the debts of a core, are added up.
    most = int(max(cost)) + int(max(abs(prices)))
    added = added_up(v, told["layers"], alpha, high - low)
    need(most * added < 1 << 61, "certificate: the prices are too wide")
    cost = cost.astype(np.int64)
    for first in range(0, count, step):
        k = np.arange(first, min(first + step, count))
        i = k[:, None] + away
        w = np.where(i >= 0, cost - prices[np.clip(i, 0, ends - 1)], 0)
        owed = unpaid(w, low[k] - k + reach, high[k] - k + reach, v, alpha)
        for at in np.flatnonzero((owed > 0).any(axis=1)).tolist():
            some = np.flatnonzero(owed[at])
            yield int(k[at]), np.clip(i[at, some], 0, ends - 1), owed[at, some]


def _part(x: Array, alpha: int) -> Array:
    """Return at most α·x where x is positive, else 0, for integers below 2^61."""
    some, high, low = np.maximum(x, 0), alpha >> 31, alpha & MASK
    top, rest = some >> 31, some & MASK
    return np.asarray(top * high + (top * low >> 31) + (rest * high >> 31))


# -- the verdict --------------------------------------------------------------------------


@dataclass
class Verification:
    """What the checks of a mechanism found, and what it was that they checked.

    Attributes
    ----------
    private
        Whether the weights are private for ε on their graph, the rows are sound and the bytes
        untouched.
    named
        Whether the file answers a question with a name; else it holds a graph of its own.
    optimal_within
        The expected loss (or the vulnerability, where loss is limited) less the proved bound,
        exactly; ``None`` without a sound certificate.
    unbounded_within
        For noise on a lattice the same among all private mechanisms on the unbounded question.
    ratio
        The p/q that probabilities of neighbours may differ by.
    digest
        The SHA-256 digest of the bytes.
    under
        The limit that the mechanism keeps, in words; no mechanism that keeps it is below the bound.
    question
        The question, the neighbour relation and ε that the file names.
    consumer
        Whose loss was checked: kind, prior or support, loss, and the attacker of a limit.
    reasons
        What fails, where and by how much; empty when everything holds.
    checked
        What was found to hold.
    """

    private: bool = False
    named: bool | None = None
    optimal_within: Fraction | None = None
    unbounded_within: Fraction | None = None
    ratio: str | None = None
    digest: str | None = None
    under: str | None = None
    question: dict[str, Any] = field(default_factory=dict)
    consumer: dict[str, Any] | None = None
    reasons: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.reasons

    @property
    def private_for_question(self) -> bool | None:
        """Whether it is private for the question that the file names; ``None`` without a name."""
        return None if self.named is False else self.private

    def holds(self, line: str) -> None:
        """Note what was found to hold."""
        self.checked += (line,)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``tightrope verify --json`` prints; gaps as floats that are not below."""
        names = "private private_for_question optimal_within unbounded_within consumer ratio"
        names += " reasons checked digest under question"
        found = {name: getattr(self, name) for name in names.split()}
        for name in ("optimal_within", "unbounded_within"):
            if (gap := found[name]) is not None:
                near = float(gap)
                found[name] = near if Fraction(near) >= gap else nextafter(near, inf)
        return found | {"reasons": list(self.reasons), "checked": list(self.checked)}

    def __str__(self) -> str:
        within = self.optimal_within
        lines = [f"{name}: {value}" for name, value in self.question.items()]
        lines += [f"{name}: {value}" for name, value in (self.consumer or {}).items()]
        lines += [f"holds: {line}" for line in self.checked]
        lines += [f"FAILS: {line}" for line in self.reasons]
        lines.append(f"private: {'yes' if self.private else 'no'}")
        on = "its question" if self.named else "a graph of its own, no question is named"
        lines.append(f"on the graph of: {on}")
        lines.append(f"optimal within: {'not known' if within is None else f'{float(within):.3g}'}")
        lines += [f"among mechanisms with {self.under}"] if self.under else []
        return "\n".join(lines)


def read_weights(file: File, derive: Callable[[str, str], Graph]) -> Weights | LatticeWeights:
    """Return the weights of a file on the graph of its question, or on one of its own."""
    header = file.header
    if header["weights"]["kind"] == "lattice":
        noise = LatticeWeights(file)
        file.expect(noise.outputs)
        return noise
    if header["query"] is None:
        need(header["window"] is None, "a window belongs to a question with a name")
        file.expect(header["graph"]["nodes"])
        return Weights(file, own_graph(file))
    graph = derive(header["query"], header["neighbours"])
    answers = graph.nodes
    if header["window"] is not None:
        graph = window_graph(graph, header["window"]["start"], header["window"]["size"])
    file.expect(graph.nodes)
    return Weights(file, graph, answers)


def check(
    source: str | os.PathLike[str] | bytes, derive: Callable[[str, str], Graph] = question_graph
) -> Verification:
    """Check a file, or its bytes; whatever is wrong becomes a reason.

    ``derive`` gives the graph of a question under a neighbour relation.

    >>> check(b"nothing").reasons
    ('not a mechanism file: it is only 7 bytes long',)
    """
    report = Verification()
    try:
        _judge(File(source), derive, report)
    except Refused as refused:
        report.reasons += (str(refused),)
    except OverflowError:
        report.reasons += ("a number of the file is too large to mean anything",)
    except MemoryError:
        report.reasons += ("too large: the memory of this machine does not suffice",)
    if report.reasons:
        report.optimal_within = report.unbounded_within = report.under = None
    return report


def _judge(file: File, derive: Callable[[str, str], Graph], report: Verification) -> None:
    header, told = file.header, file.told
    report.digest, stated = file.digest()
    differ = f"digest: the bytes have {report.digest[:16]}…, the file states {stated[:16]}…"
    need(report.digest == stated, differ)
    alphas, ratio = file.alphas, header["ratios"][0]
    report.ratio = f"{ratio.numerator}/{ratio.denominator}"
    report.named = header["query"] is not None
    named = ("query", "neighbours", "epsilon", *(("delta",) if told["delta"] is not None else ()))
    report.question = {name: told[name] for name in named}
    whose = f"{header['query']} under {header['neighbours']}"
    if header["weights"]["kind"] == "scores":
        _, values, steps = score_question(header["query"], header["neighbours"])
        report.private = True
        report.holds(f"p/q = {_short(ratio)}, and (p/q)^{steps} is at most exp(ε)")
        moves = f"one person moves two of the {values} scores of {whose} apart"
        report.holds(f"{moves} by at most {steps} steps, each worth p/q")
        return
    others = f", and so are {len(alphas) - 1} for other lengths" if len(alphas) > 1 else ""
    report.holds(f"p/q = {_short(ratio)} is at most exp(ε) for edges of length 1{others}")
    weights = read_weights(file, derive)
    if header["window"] is not None and isinstance(weights, Weights):
        start, size = header["window"]["start"], header["window"]["size"]
        report.holds(f"answers count as the nearest of {start} … {start + size - 1}")
    report.reasons += tuple(weights.faults())
    report.private = not report.reasons
    if report.private:
        whose = whose if report.named else "a graph of the file's own"
        report.holds(f"{weights.proved()} of {whose}; rows sum to 2^{weights.bits}")
    if header["consumer"] is not None:
        _judge_loss(weights, report)


def _judge_loss(weights: Weights | LatticeWeights, report: Verification) -> None:
    """Check the stated loss, limit and bound; what it is above the bound goes into the report."""
    header = weights.file.header
    consumer: Consumer
    if isinstance(weights, LatticeWeights):
        consumer, about = LatticeConsumer(weights), "at most "
    else:
        consumer, about = Consumer(weights), ""
    costs, report.consumer = consumer, consumer.as_dict()
    value = consumer.expected()
    what = "expected loss" if header["consumer"]["support"] is None else "worst loss"
    stated = _agreed("loss: the weights have", value, header["expected_loss"])
    report.holds(f"the {what} is {about}{stated}")
    counted, others = Fraction(0), "no private mechanism that sees only the true answer"
    if header["limit"] is not None:
        costs = limited = LimitedCosts(consumer)
        report.under, what, value = limited.kept(value)
        report.holds(f"the vulnerability is {float(limited.vulnerability):.12g}")
        gains = "knows the prior, gains 1 by a right guess"
        if limited.attack.ndim > 1:
            gains = _listed_words(limited.attack.ravel(), limited.parts)
        report.consumer |= {"limit": report.under, "attacker": gains}
        counted = limited.weigh() if header["certificate"] is not None else counted
        others += f" with {report.under}"
    if header["certificate"] is None:
        return
    bound = lower_bound(costs) - counted
    stated = _agreed("bound: what is proved is", bound, header["bound"])
    # Whatever the proof: these weights are private, so no bound for all such is above theirs.
    need(bound <= value or not report.private, f"bound: {stated} is above what these weights have")
    report.holds(f"the {what} of {others} is below {stated}")
    report.optimal_within = value - bound
    if isinstance(consumer, LatticeConsumer) and (best := consumer.unbounded) is not None:
        report.unbounded_within = value - best
        whole = "the worst loss of no private mechanism on the unbounded question"
        report.holds(f"{whole} is below {float(best):.12g}")


def _agreed(what: str, found: Fraction, stated: Fraction) -> str:
    """Stop unless a number is the stated one; return it in words."""
    told = f"{float(found):.12g}"
    need(found == stated, f"{what} {told}, {float(found - stated):+.3g} from the stated")
    return told


def main(arguments: Sequence[str]) -> int:
    """Check the file that is named and print what was found; 0 when everything holds.

    >>> main([])
    give the name of one mechanism file
    2
    """
    if len(arguments) != 1:
        sys.stdout.write("give the name of one mechanism file\n")
        return 2
    report = check(arguments[0])
    sys.stdout.write(f"{report}\n")
    return 1 if report.reasons else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
