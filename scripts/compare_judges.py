"""Compare the two judges on designed files and on mutations of them, each with a digest that fits.

    python scripts/compare_judges.py --designs 500 --mutations 100000

``make proofs`` must have built the second judge. One line says how often both hold or refuse; every
disagreement is printed, and the exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tightrope as tr
from tightrope.certify import by_score, certify_sharpened, verify
from tightrope.certify.second_judge import SecondVerdict, second_verdicts
from tightrope.consumers import Consumer
from tightrope.errors import TightropeError
from tightrope.optimize import design_limited
from tightrope.proofs import prove

Sections = dict[str, list[int]]

QUESTIONS = """
    count(1) count(3) count(6) count(12) sum(2,2) sum(3,2) sum(4,3) counts(2,2) counts(1,3)
    histogram(2,3) histogram(3,3) histogram(4,2) choice(3) choice(6) count_mod(8,5) cycle(5)
    cycle(6) path(4) grid(2,3) grid(3,3) hypercube(3) star(5) tree(2,2) clique(4) mean(2,3)
"""
# So large that the best known mechanism is noise on a lattice.
LONG = """
    count(50000) sum(3000,7) sum(40000,3) mean(5000,4) path(90000)
    counts(300,2) counts(2000,4) histogram(500,3) histogram(40000,6)
"""
# Sums whose ends lengthen distances, where nobody can join all people.
ENDED = """
    sum(9,4) sum(40,9) sum(700,2) sum(3000,7) sum(60,300) sum(20000,3)
"""
# By scores of the whole table.
SCORES = """
    commonest(5) commonest(40,3) quantile(1/2,121) quantile(9/10,30) quantile(3/7,12,2)
"""
# A quantile with its interval, and several quantiles at once.
JOINT = """
    bracket(1/2,121,40,10) bracket(9/10,30,5,1) bracket(3/7,12,3,2,2)
    quantiles(1/4,1/2,3/4,121,999) quantiles(1/10,1/2,40,50,3)
"""
# Finer outputs after coarse ones: questions, and the two levels.
FINER = """
    count(1) count(30) count(5000) path(90000) sum(40,1)
"""
STEPS = (("1/4", "1"), ("1/2", "3/4"), ("ln(2)", "2"), ("1/10", "1/5"), ("1", "5/2"))
# Whose weights have a rule; files of this size list them unless they are told not to.
RULES = """
    count(12) count(30) path(9) sum(6,2) mean(4,3) counts(3,2)
    cycle(6) cycle(9) hypercube(3) clique(4) choice(6) count_mod(8,5)
"""
LEVELS = ("1", "ln(2)", "1/4", "5/2")
LOSSES = ("binary", "absolute", "squared", "distance")
STATEMENTS = """
    ratio ratio epsilon base delta query neighbours bits bound loss loss_kind remapped certificate
    certificate_bits start start core coarse coarse limit limit levels levels rest steps
"""
RELATIONS = ("change-one", "add-remove", "either")


def scored_designs() -> Iterator[tuple[str, bytes]]:
    """Yield files by scores of the whole table with what they are."""
    for level, relation, text in product(LEVELS, RELATIONS, SCORES.split()):
        mechanism = by_score(text, level, neighbours=relation)
        yield f"{text} {relation} ε={level}", mechanism.to_bytes()


def joint_designs() -> Iterator[tuple[str, bytes]]:
    """Yield files of values that are drawn together, with what they are."""
    for level, relation, text in product(LEVELS, RELATIONS, JOINT.split()):
        mechanism = by_score(text, level, neighbours=relation)
        yield f"{text} {relation} ε={level}", mechanism.to_bytes()


def line_designs() -> Iterator[tuple[str, bytes]]:
    """Yield noise on sums whose loss counts steps, with what it is."""
    for level, text in product(LEVELS, ENDED.split()):
        question = tr.query(text, neighbours="add-remove")
        worst = Consumer.of(question.graph, support="all", loss="distance")
        found = tr.design(question, level, worst, route="unbounded")
        yield f"{text} ends ε={level}", prove(found, question).to_bytes()


def finer_designs() -> Iterator[tuple[str, bytes]]:
    """Yield noise that follows coarser noise, with what it is."""
    for (coarse, fine), text in product(STEPS, FINER.split()):
        question = tr.query(text)
        worst = Consumer.of(question.graph, support="all", loss="absolute")
        first = prove(tr.design(question, coarse, worst, route="unbounded"), question)
        pair = certify_sharpened(first, fine)
        yield f"{text} after ε={coarse} ε={fine}", pair.to_bytes()


def rule_designs() -> Iterator[tuple[str, bytes]]:
    """Yield files with weights by a rule with what they are."""
    for level, loss, text in product(LEVELS, LOSSES, RULES.split()):
        question = tr.query(text)
        try:
            consumer = Consumer.of(question.graph, loss=loss)
            mechanism = tr.design(question, level, consumer)
            with patch("tightrope.certify.make.RULE_FROM", 2):
                data = prove(mechanism, question).to_bytes()
        except TightropeError:
            continue  # answers without numbers have no absolute loss
        if unpack(data)[0]["weights"]["kind"] != "dense":
            yield f"{text} by rule ε={level} {loss}", data


def designs() -> Iterator[tuple[str, bytes]]:
    """Yield designed files with what they are, in an order that mixes all kinds."""
    cases = list(product(LEVELS, LOSSES, RELATIONS, QUESTIONS.split()))
    cases += product(LEVELS, ("absolute", "squared"), RELATIONS, LONG.split())
    random.Random(0).shuffle(cases)
    others = [
        *scored_designs(),
        *rule_designs(),
        *line_designs(),
        *finer_designs(),
        *joint_designs(),
    ]
    random.Random(0).shuffle(others)
    for number, (level, loss, relation, text) in enumerate(cases):
        if number % 3 == 2 and others:
            yield others.pop()
        try:
            question = tr.query(text, neighbours=relation)
        except TightropeError:
            continue  # some questions are asked under one relation only
        long = text in LONG.split()
        averse = long or number % 5 == 4
        whose: dict[str, Any] = {"loss": loss}
        if averse:
            whose["support"] = "all"
        elif number % 2:
            prior = random.Random(number).choices(range(1, 9), k=question.graph.size)
            whose["prior"] = [Fraction(x, sum(prior)) for x in prior]
        try:
            consumer = Consumer.of(question.graph, **whose)
            # Every fifth keeps a limit on what an attacker guesses.
            if number % 5 == 1:
                likeliest = max(whose.get("prior", [1 / question.graph.size]))
                made = design_limited(
                    question,
                    consumer,
                    epsilon=level,
                    max_vulnerability=1.3 * float(likeliest),
                )
            else:
                made = tr.design(question, level, consumer)
            found = prove(made, question)
        except TightropeError:
            continue  # answers without numbers have no absolute loss
        yield f"{text} {relation} ε={level} {loss} {sorted(whose)}", found.to_bytes()


def unpack(data: bytes) -> tuple[dict[str, Any], Sections]:
    """Take a file apart: its header without sections, and the integers of each."""
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(data[16 : 16 + length])
    place = 16 + length
    sections = {}
    for part in header.pop("sections"):
        raw = b""
        for size in part["bytes"]:
            raw += zlib.decompress(data[place : place + size])
            place += size
        width = part["width"]
        cuts = (raw[at : at + width] for at in range(0, len(raw), width))
        sections[part["name"]] = [
            int.from_bytes(c, "little", signed=True) for c in cuts
        ]
    return header, sections


def pack(header: dict[str, Any], sections: Sections) -> bytes:
    """Put a file together, with its digest; every section is short enough for one chunk."""
    listed = []
    chunks = b""
    for name, numbers in sections.items():
        bits = max(max(x.bit_length() for x in numbers) + 1, 64)
        width = min(64, 8 * -(-bits // 64))
        wrapped = (x % (1 << 8 * width) for x in numbers)
        chunk = zlib.compress(b"".join(x.to_bytes(width, "little") for x in wrapped))
        chunks += chunk
        listed.append(
            {"name": name, "width": width, "count": len(numbers), "bytes": [len(chunk)]}
        )
    text = json.dumps(
        header | {"sections": listed}, sort_keys=True, separators=(",", ":")
    ).encode()
    size = len(text).to_bytes(4, "little")
    body = b"\x89tightrope" + (3).to_bytes(2, "little") + size + text + chunks
    return body + hashlib.sha256(body).digest()


def _bare(header: dict[str, Any], sections: Sections) -> None:
    """Leave only the weights and the graph: what remains to be checked is privacy."""
    header |= dict.fromkeys(
        ["consumer", "expected_loss", "certificate", "bound", "limit"]
    )
    for name in set(sections) - {"weights", "factors", "edges", "edge_lengths"}:
        del sections[name]


def _reprice(
    header: dict[str, Any], sections: Sections, change: dict[int, int]
) -> None:
    """Change prices, and state the bound that they would prove."""
    proof = header["certificate"]
    for i, by in change.items():
        sections["prices"][i] += by
    repeated = 1
    if proof.get("constant"):
        weights = header["weights"]
        repeated = len(sections["weights"]) // weights["outputs"]
    added = Fraction(repeated * sum(change.values()), 1 << proof["bits"])
    header["bound"] = str(Fraction(header["bound"]) + added)


def _nudge(rng: random.Random, number: int) -> int:
    step = rng.choice([1, 1, 2, 1 << rng.randrange(70)])
    return rng.choice([number + step, number - step, number - step, 0, -number])


def _nudge_header(rng: random.Random, header: dict[str, Any]) -> None:
    """Change one statement of the header."""
    proof = header["certificate"] or {}
    consumer = header["consumer"] or {}
    change = rng.choice(STATEMENTS.split())
    if change == "ratio":
        p, _, q = header["ratios"][0].partition("/")
        more = Fraction(int(p) + rng.choice([-1, 1, -2, 5]), int(q or 1))
        header["ratios"] = [str(more), *header["ratios"][1:]]
    elif change == "epsilon":
        multiple = Fraction(header["epsilon"]["multiple"])
        times = rng.choice(
            [Fraction(1, 2), Fraction(999, 1000), Fraction(1001, 1000), 2]
        )
        header["epsilon"] = header["epsilon"] | {"multiple": str(multiple * times)}
    elif change == "base":
        header["epsilon"] = header["epsilon"] | {
            "base": rng.choice([None, "2", "3", "1"])
        }
    elif change == "query" and header["query"]:
        at = [i for i, c in enumerate(header["query"]) if c.isdigit()]
        if at:
            i = rng.choice(at)
            text = header["query"]
            header["query"] = text[:i] + rng.choice("123456") + text[i + 1 :]
    elif change == "neighbours":
        header["neighbours"] = rng.choice(RELATIONS)
    elif change == "bits":
        bits = header["weights"]["bits"] + rng.choice([-1, 1])
        header["weights"] = header["weights"] | {"bits": bits}
    elif change in ("bound", "loss"):
        name = "bound" if change == "bound" else "expected_loss"
        if header[name] is not None:
            by = Fraction(rng.choice([1, -1]), 1 << rng.choice([10, 60, 120]))
            header[name] = str(Fraction(header[name]) + by)
    elif change == "loss_kind" and consumer:
        header["consumer"] = consumer | {"loss": {"kind": rng.choice(LOSSES)}}
    elif change == "remapped" and consumer:
        header["consumer"] = consumer | {"remapped": not consumer["remapped"]}
    elif change == "certificate" and proof:
        kinds = ["multipliers", "tree", "line", "phi", "envelope"]
        header["certificate"] = proof | {"kind": rng.choice(kinds)}
    elif change == "certificate_bits" and "bits" in proof:
        header["certificate"] = proof | {"bits": proof["bits"] + rng.choice([-1, 1])}
    elif change == "coarse" and "coarse" in header["weights"]:
        coarse = dict(header["weights"]["coarse"])
        name = rng.choice(["bits", "ratio", "start"])
        if name == "ratio":
            coarse[name] = str(
                Fraction(coarse[name]) + Fraction(rng.choice([1, -1]), 1 << 40)
            )
        else:
            step = 1 << rng.randrange(coarse[name].bit_length())
            coarse[name] += rng.choice([1, -1, step, -step])
        header["weights"] = header["weights"] | {"coarse": coarse}
    elif change in ("start", "core") and change in header["weights"]:
        number = header["weights"][change]
        step = rng.choice([1, 1 << rng.randrange(number.bit_length() + 1)])
        moved = number + rng.choice([step, -step])
        header["weights"] = header["weights"] | {change: moved}
    elif change in ("levels", "steps") and change in header["weights"]:
        listed = list(header["weights"][change])
        listed[rng.randrange(len(listed))] += rng.choice([1, -1, 2, 1 << 30])
        header["weights"] = header["weights"] | {change: listed}
    elif change == "rest" and change in header["weights"]:
        header["weights"] = header["weights"] | {change: rng.randrange(8)}
    elif change == "limit" and header["limit"]:
        name = rng.choice(["most", "vulnerability", "limited", "weight"])
        if name == "limited":
            header["limit"] = header["limit"] | {
                name: rng.choice(["loss", "vulnerability"])
            }
        elif name == "weight" and proof.get("weight"):
            header["certificate"] = proof | {name: _nudge(rng, proof[name])}
        elif name != "weight":
            more = Fraction(header["limit"][name]) + Fraction(
                rng.choice([1, -1]), 1 << 20
            )
            header["limit"] = header["limit"] | {name: str(more)}
    elif change == "delta":
        header["delta"] = rng.choice(["1/1000", "1/2", "1", "1/1000000000000"])


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a file with one or two changes, and a digest that fits."""
    header, sections = unpack(data)
    priced = "prices" in sections and header["certificate"]["kind"] != "stairs"
    if priced and header["certificate"].get("constant"):
        priced = "weights" in sections  # which tell how many answers have that price
    for _ in range(rng.choice([1, 1, 2])):
        ways = ["section", "section", "price", "slack", "weights", "swap"]
        way = rng.choice(["header", *(ways if sections else ["bare"])])
        if way == "header":
            _nudge_header(rng, header)
        elif way == "bare":
            _bare(header, sections)
        elif way == "price" and priced and "prices" in sections:
            i = rng.randrange(len(sections["prices"]))
            step = 1 << rng.choice([0, 0, 1, 8, 20, 40, 55])
            _reprice(header, sections, {i: rng.choice([-step, step])})
        elif way == "slack" and priced and "prices" in sections:
            many = range(len(sections["prices"]))
            _reprice(
                header, sections, dict.fromkeys(many, -(1 << rng.choice([30, 59])))
            )
        elif way == "weights" and "weights" in sections:
            _bare(header, sections)
            weights = sections["weights"]
            rows = len(weights) // header["weights"]["outputs"]
            first = rng.randrange(len(weights))
            # Another output of the same row, so that the row keeps its sum.
            other = (first + rows * rng.randrange(1, 9)) % len(weights)
            step = 1 << rng.randrange(max(1, header["weights"]["bits"] - 2))
            step = min(step, weights[first])
            weights[first] -= step
            weights[other] += step
        elif sections:
            numbers = sections[rng.choice(sorted(sections))]
            i = rng.randrange(len(numbers))
            k = rng.randrange(len(numbers))
            if way == "swap":
                numbers[i], numbers[k] = numbers[k], numbers[i]
            else:
                numbers[i] = _nudge(rng, numbers[i])
    return pack(header, sections)


def second_opinions(files: Iterable[bytes]) -> list[SecondVerdict]:
    """Return the second judge's verdicts on files in memory."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, data in enumerate(files):
            name = Path(folder) / f"{number}.tightrope"
            name.write_bytes(data)
            names.append(name)
        return list(second_verdicts(names))


def agree(data: bytes, first: Any, second: SecondVerdict) -> bool:
    """Whether two verdicts say the same, or differ as docs/concepts/proofs.md explains.

    The second judge knows not all kinds. Where a certificate names no multipliers, it rounds less:
    prices that the first judge cannot decide may hold for it. Of noise on a line it proves the
    bound itself, so it accepts every bound that is not above its own; the first judge wants the
    one that the certificate's slope gives. Of weights by a rule the first judge compares all
    levels and all rests; the second the weights of neighbours, which is less.
    """
    if second.verdict == "not covered":
        return True
    if second.verdict == "private":  # all that the second judge knows of noise
        breaches = ("privacy", "total", "ratio", "question", "ε must")
        return not any(reason.startswith(breaches) for reason in first.reasons)
    if bool(first) == (second.verdict == "holds"):
        return True
    header = unpack(data)[0]
    proof = header["certificate"] or {"kind": ""}
    own_limits = [
        "too large",
        "the factors are too large",
        "the certificate is too wide",
    ]
    if proof["kind"] in ("tree", "line", "phi", "envelope"):
        own_limits += ["certificate: guess"]
    if proof["kind"] == "unbounded":
        own_limits += ["bound: what is proved"]
    if header["weights"]["kind"] in ("levels", "radial"):
        own_limits += ["privacy: level", "privacy: missing", "levels must fall"]
    return any(reason.startswith(tuple(own_limits)) for reason in first.reasons)


def _processor_seconds() -> float:
    """Return what this process and its children have used."""
    return sum(os.times()[:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=50)
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    files = list(islice(designs(), told.designs))
    print(f"{len(files)} designed files")
    rng = random.Random(told.seed)
    counts: Counter[str] = Counter()
    seconds = [0.0, 0.0]
    wrong = 0
    for start in range(0, len(files) + told.mutations, 1000):
        batch = []
        for number in range(start, min(start + 1000, len(files) + told.mutations)):
            name, data = files[number] if number < len(files) else rng.choice(files)
            batch.append((name, data if number < len(files) else mutated(data, rng)))
        began = _processor_seconds()
        others = second_opinions(data for _, data in batch)
        seconds[1] += _processor_seconds() - began
        for (name, data), second in zip(batch, others, strict=True):
            began = _processor_seconds()
            first = verify(data)
            seconds[0] += _processor_seconds() - began
            counts[f"{'holds' if first else 'refused'} / {second.verdict}"] += 1
            if not agree(data, first, second):
                wrong += 1
                print(f"{name}: {first.reasons or 'holds'} / {second}")
                (
                    Path(tempfile.gettempdir()) / f"disagree-{wrong}.tightrope"
                ).write_bytes(data)
    for pair, count in sorted(counts.items()):
        print(f"{count:8} {pair}")
    used = f"{seconds[0]:.1f} s and {seconds[1]:.1f} s of processor time"
    print(f"{used}; {wrong} disagreements")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
